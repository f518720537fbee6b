"""What an energy model answers on a machine: sound bounds on time, energy and further figures for amounts."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from fractions import Fraction
from functools import cached_property

from archline.energy import rules
from archline.energy.formulas import elasticities, names_in, parsed, value_of
from archline.energy.machines import Machine, without_capacity
from archline.energy.model import Model
from archline.energy.models import model, models
from archline.energy.quantities import CONSTANTS, LEVELS, METRICS, PER_LEVEL, QUANTITIES
from archline.expr.intervals import EvaluationError, Interval, Number
from archline.expr.tree import substituted
from archline.language import syntax as s
from archline.language.diagnostics import ArchlineError, did_you_mean, error
from archline.language.metrics import DERIVABLE
from archline.records import field, record

BALANCED = "balanced"
TIMED = ("time", "power", "energy_delay")
"""What the time decides."""


def check_amounts(amounts: Mapping[str, Interval]) -> None:
    """Raise ArchlineError (AL460) for amounts that no execution has."""
    for name, amount in amounts.items():
        if amount.lower < 0:
            raise error(rules.WRONG_AMOUNT, f"the {name} is {amount.lower}, a negative number")
    span, work = amounts.get("span"), amounts.get("work")
    processors = amounts.get("P")
    if processors is not None and processors.lower < 1:
        raise error(rules.WRONG_AMOUNT, f"P is {processors.lower}; there is at least 1 processor")
    if span is not None and span.lower == 0:
        raise error(rules.WRONG_AMOUNT, "the span is 0; an execution has a span of at least 1")
    if span is not None and work is not None and span.lower > work.upper:
        raise error(
            rules.WRONG_AMOUNT, f"the span, {float(span.lower):.6g}, is above the work, {float(work.upper):.6g}"
        )


@record
class ModelOnMachine:
    """A model on a machine, for algorithms of which these metrics are known."""

    model: Model
    machine: Machine
    metrics: Collection[str]

    @cached_property
    def _known(self) -> frozenset[str]:
        return frozenset((*self.machine.quantities, *CONSTANTS, *self.metrics))

    @cached_property
    def converted(self) -> Mapping[str, str]:
        """The conversions that are needed: formulas of metrics and quantities that are not known."""
        held = frozenset().union(*(names_in(self.model.formula(name)) for name in ("time", *self.model.energy)))
        conversions = {name: text for name, text in self.model.conversions.items() if name not in self._known}
        while more := frozenset().union(*(names_in(parsed(conversions[n])) for n in held & conversions.keys())) - held:
            held |= more
        return {name: text for name, text in conversions.items() if name in held}

    def complete(self, expr: s.Expr) -> s.Expr:
        """A formula with what is not known replaced by its conversion."""
        conversions = self.model.conversions
        while known := {
            name: parsed(conversions[name]) for name in names_in(expr) - self._known if name in conversions
        }:
            expr = substituted(expr, known)
        return expr

    def formula(self, name: str) -> s.Expr:
        """The formula of `time`, of a term of the energy or of a figure, in what is known."""
        return self.complete(self.model.formula(name))

    def quantity(self, name: str) -> s.Expr:
        """One of the answers, in what is known. Raises ArchlineError (AL458) where the machine lacks a quantity."""
        return self.known(self.model.answer(name))

    @cached_property
    def missing(self) -> tuple[str, ...]:
        """The quantities of the machine without which there is no answer."""
        essential = self.model.energy if self.model.essential == "energy" else ("time",)
        return self.lacking(*essential)

    def lacking(self, *names: str) -> tuple[str, ...]:
        """The quantities that formulas of the model take, and that the machine neither has nor allows to convert."""
        held = frozenset().union(*(names_in(self.formula(name)) for name in names))
        return tuple(sorted((held & QUANTITIES.keys()) - self._known))

    @property
    def _missing_metrics(self) -> list[str]:
        held = frozenset().union(*(names_in(self.formula(name)) for name in ("time", *self.model.energy)))
        return sorted((held & METRICS.keys()) - self._known)

    def require(self) -> None:
        """Raise ArchlineError where a quantity (AL458) or a metric (AL460) is missing."""
        if self.missing:
            raise self._blame_machine(self.missing)
        self._require_positive()
        for held in self._missing_metrics:
            hint = did_you_mean(held, self.metrics)
            raise error(rules.WRONG_AMOUNT, f"model `{self.model.name}` needs `{held}`", hint=hint)

    @property
    def without_energy(self) -> str:
        """Which quantities the machine lacks for an energy; empty where it has them."""
        lacking = self.lacking(*self.model.energy)
        return f"machine `{self.machine.name}` lacks {_write_units(lacking)}" if lacking else ""

    def known(self, expr: s.Expr) -> s.Expr:
        """A formula in what is known. Raises ArchlineError (AL458) where it takes a quantity that is missing."""
        found = self.complete(expr)
        if missing := sorted((names_in(found) & QUANTITIES.keys()) - self._known):
            raise self._blame_machine(missing)
        return found

    def _blame_machine(self, missing: Sequence[str]) -> ArchlineError:
        units = _write_units(missing)
        given = " ".join(f"--parameter {name}={'8' if name == 'word' else '...'}" for name in missing)
        message = f"machine `{self.machine.name}` lacks quantities that model `{self.model.name}` needs: {units}"
        others = (ModelOnMachine(each, self.machine, self.metrics) for each in models())
        fed = [each.model.name for each in others if not (each.missing or each._missing_metrics)]
        models_ = f", or use --model {' or '.join(fed)}, for which the machine has all quantities" if fed else ""
        return error(rules.UNSUITED_MACHINE, message, hint=f"give {given}{models_}")

    def _require_positive(self) -> None:
        for text in self.model.positive:
            expr = self.complete(parsed(text))
            if names_in(expr) <= self.constants.keys() and value_of(expr, self.constants).lower <= 0:
                where = f"machine `{self.machine.name}` is not usable with model `{self.model.name}`"
                hint = "give " + " ".join(f"--parameter {name}=..." for name in sorted(names_in(expr)))
                raise error(rules.UNSUITED_MACHINE, f"{where}: {text} is not above 0", hint=hint)

    @cached_property
    def read(self) -> frozenset[str]:
        """The machine's quantities that an answer depends on, also through formulas of the machine's own."""
        texts = (self.model.time, *self.model.energy.values(), *self.model.sides.values())
        held = frozenset().union(*(names_in(self.complete(self.model.expanded(text))) for text in texts))
        held |= frozenset().union(*(names_in(self.formula(name)) for name in self.model.figures))
        own = self.machine.quantities
        formulas = {name: names_in(each.formula) for name, each in own.items() if each.formula is not None}
        while more := frozenset().union(*(formulas[name] for name in held & formulas.keys())) - held:
            held |= more
        return held & own.keys()

    @cached_property
    def needed(self) -> frozenset[str]:
        """The metrics that the answer depends on; the flops too, for flops per joule."""
        texts = [self.model.time, *self.model.energy.values(), *self.model.sides.values()]
        held = [self.complete(self.model.expanded(text)) for text in texts]
        held += [self.formula(name) for name in self.model.figures]
        return frozenset({"flops"}.union(*(names_in(each) & METRICS.keys() for each in held)))

    def coarser(self, estimate: Estimate) -> Interval | None:
        """The energy by the model's coarser reading; None where it has none, or lacks an amount."""
        texts = self.model.coarser
        values = {**self.constants, **estimate.amounts}
        exprs = [self.complete(self.model.expanded(text)) for text in texts.values()]
        if not texts or estimate.energy is None or not all(names_in(each) <= values.keys() for each in exprs):
            return None
        rest = [each for name, each in estimate.terms.items() if name not in texts]
        return sum([*rest, *(value_of(each, values) for each in exprs)], Interval.of(0))

    @cached_property
    def constants(self) -> dict[str, Interval]:
        """The values of the machine's quantities and of the constants."""
        return {name: Interval.of(value) for name, value in self.machine.values.items()}

    def estimate(self, amounts: Mapping[str, Interval]) -> Estimate:
        """The answer for amounts. Raises ArchlineError (AL458, AL460)."""
        self.require()
        values = {**self.constants, **amounts}
        reasons: dict[str, str] = {}

        def known(name: str) -> Interval | None:
            missing = self.lacking(name)
            if missing:
                reasons[name] = f"machine `{self.machine.name}` has no {', '.join(f'`{each}`' for each in missing)}"
                return None
            try:
                found = value_of(self.formula(name), values)
                return Interval(Fraction(0), found.upper) if name in self.model.energy and self.model.at_most else found
            except EvaluationError as problem:
                reasons[name] = str(problem)
                return None

        time = known("time")
        terms = {name: known(name) for name in self.model.energy}
        given = {name: each for name, each in terms.items() if each is not None}
        energy = sum(given.values(), Interval.of(0)) if len(given) == len(terms) else None
        if energy is None:
            undefined = (reasons[name] for name, each in terms.items() if each is None)
            reasons["energy"] = self.without_energy or next(undefined)
        figures = {name: known(name) for name in self.model.figures}
        quotients: dict[str, Interval] = {}
        for name in () if energy is None or self.model.at_most else ("power", "flops_per_joule"):
            with suppress(EvaluationError):
                if names_in(formula := self.complete(self.model.answer(name))) <= values.keys():
                    quotients[name] = value_of(formula, values)
        return Estimate(
            self.model,
            self.machine,
            dict(amounts),
            time,
            given,
            energy,
            self._find_sides(values),
            {name: each for name, each in figures.items() if each is not None},
            reasons,
            self.converted,
            quotients,
        )

    def _find_sides(self, values: Mapping[str, Interval]) -> dict[str, Interval]:
        sides = {name: self.complete(self.model.expanded(text)) for name, text in self.model.sides.items()}
        found: dict[str, Interval] = {}
        for name, expr in sides.items():
            if not (names_in(expr) & QUANTITIES.keys()) - self._known:
                with suppress(EvaluationError):
                    found[name] = value_of(expr, values)
        return found

    def elasticities(self, estimate: Estimate) -> dict[str, float]:
        """By how many % the energy (the time, where the model gives no energy) grows per % of each quantity.

        At the upper bounds of the amounts, where these are only bounded.
        """
        values = {name: each.upper for name, each in {**self.constants, **estimate.amounts}.items()}
        text = self.model.expression if estimate.energy is not None else self.model.time
        expr = self.complete(self.model.expanded(text))
        own = self.machine.quantities
        # Named is what a quantity is computed from, also where a file and not the model computes it.
        computed = {name: own[name].formula for name in self.model.conversions.keys() & own.keys()}
        expr = substituted(expr, {name: formula for name, formula in computed.items() if formula is not None})
        # The bytes that are moved depend on the word too: how many are in a line.
        quantities = sorted(
            name for name in names_in(expr) & own.keys() if own[name].kind != "definition" and name != "word"
        )
        found = elasticities(expr, values, quantities)
        return dict(sorted(found.items(), key=lambda pair: -abs(pair[1])))


@record
class Estimate:
    """A model's answer on one machine, all of it in base units, between sound bounds.

    `terms` are those of the energy, `sides` what is compared to say what binds, `figures` further numbers.
    What is None has its reason in `reasons`. `converted` are formulas that gave what machine or algorithm lack.
    `quotients` are answers in which energy and time, or flops and energy, are those of the same amounts.
    """

    model: Model
    machine: Machine
    amounts: Mapping[str, Interval]
    time: Interval | None
    terms: Mapping[str, Interval]
    energy: Interval | None
    sides: Mapping[str, Interval]
    figures: Mapping[str, Interval]
    reasons: Mapping[str, str]
    converted: Mapping[str, str]
    quotients: Mapping[str, Interval] = field(default_factory=dict)

    @property
    def power(self) -> Interval | None:
        """Average power in W: energy over time; under a cap, that at most, and so under a thermal design power."""
        found, values = self.quotients.get("power", _divide(self.energy, self.time)), self.machine.values
        limits = {"power_limit": "power cap" in self.sides, "power_rated": self.model.at_most}
        for limit in (values[name] for name, holds in limits.items() if holds and name in values):
            found = None if found is None else found.smallest(Interval.of(limit))
        return found

    @property
    def flops_per_joule(self) -> Interval | None:
        """Flops per joule; None where the flops are not known."""
        return self.quotients.get("flops_per_joule")

    @property
    def energy_delay(self) -> Interval | None:
        """The energy-delay product in J*s."""
        return None if self.energy is None or self.time is None else self.energy * self.time

    @property
    def times_peak(self) -> Fraction | None:
        """How many times the machine's peak the flop rate is at least; None where it may be within the peak."""
        peak, flops = self.machine.values.get("peak"), self.amounts.get("flops")
        if not self.model.unlimited or not peak or flops is None or self.time is None or not self.time.upper:
            return None
        found = flops.lower / self.time.upper / peak
        return found if found > 1 else None

    def by(self, quantity: str) -> Interval | None:
        """`energy`, `time`, `power`, `energy_delay`, or a metric that the answer was asked for with."""
        found = {"energy": self.energy, "time": self.time, "power": self.power, "energy_delay": self.energy_delay}
        return found[quantity] if quantity in found else self.amounts.get(quantity)

    @property
    def binds(self) -> str:
        """The side that is the largest; `balanced` for a tie, `A or B` where the bounds do not decide."""
        sides = self.sides
        if not sides:
            return ""
        least = max(each.lower for each in sides.values())
        largest = [name for name, each in sides.items() if each.upper >= least]
        if len(largest) == 1:
            return largest[0]
        ends = {(sides[name].lower, sides[name].upper) for name in largest}
        return BALANCED if len(ends) == 1 and sides[largest[0]].exact else " or ".join(largest)

    @property
    def margin(self) -> Interval | None:
        """The largest side over the next one, where one side is the largest."""
        rest = [self.sides[name] for name in self.next_sides]
        if not rest:
            return None
        following = Interval(max(side.lower for side in rest), max(side.upper for side in rest))
        return _divide(self.sides[self.binds], following)

    @property
    def next_sides(self) -> tuple[str, ...]:
        """The sides that may be the largest but for the one that binds, where one side binds."""
        rest = {name: side for name, side in self.sides.items() if name != self.binds}
        least = max((side.lower for side in rest.values()), default=0)
        return tuple(name for name, side in rest.items() if side.upper >= least) if self.binds in self.sides else ()


def _write_units(names: Sequence[str]) -> str:
    return ", ".join(f"`{name}` ({QUANTITIES[name].unit})" for name in names)


def _divide(top: Interval | None, bottom: Interval | None) -> Interval | None:
    if top is None or bottom is None or bottom.lower <= 0:
        return None
    return top / bottom


def applied(model: Model, machine: Machine) -> ModelOnMachine:
    """A model on a machine, for algorithms of which all is known that may be derived."""
    return ModelOnMachine(model.on(machine), machine, (*DERIVABLE, *PER_LEVEL, "Z", "L"))


def estimate_of(
    model: Model, machine: Machine, given: Mapping[str, Interval | Number | tuple[Number, Number]]
) -> Estimate:
    """The model's answer for amounts (metric to number or interval).

    Raises ArchlineError: AL458 where the machine does not suit the model, AL460 for missing or impossible amounts.
    """
    try:
        amounts = {name: Interval.of(value) for name, value in given.items()}
    except ValueError as problem:
        raise error(rules.WRONG_AMOUNT, str(problem)) from None
    check_amounts(amounts)
    return ModelOnMachine(model.on(machine), machine, amounts.keys()).estimate(amounts)


def usual_model(machines: Sequence[Machine], *, at_sizes: bool, asked: str = "energy") -> Model:
    """The model of shared memory where none is chosen: the first that all machines can feed.

    Levels of caches come first, and are for numbers of one cache `at_sizes` alone. For the energy ICE is next. Its time
    is that of unlimited cores, so that it is the last one where the time decides what is `asked`, such as the power. A
    model without an energy is taken where no other one can be fed, and where none can, that which lacks the least.
    """
    plain = ("roofline", "ice") if asked in TIMED else ("ice", "roofline")
    of_levels = at_sizes and all(map(has_levels, machines))
    known = map(model, (*(("roofline+levels",) if of_levels else ()), *plain))
    fed = [each for each in known if not any(applied(each, on).missing for on in machines)]
    whole = [each for each in fed if asked == "time" or not any(applied(each, on).without_energy for on in machines)]
    least = min(
        map(model, ("ice", "roofline")), key=lambda each: sum(len(applied(each, on).missing) for on in machines)
    )
    return (*whole, *fed, least)[0]


def has_levels(machine: Machine) -> bool:
    """Whether a level takes time or energy."""
    known = machine.quantities.keys()
    several = any(f"{level}_{name}" in known for level in LEVELS for name in ("bandwidth", "energy"))
    return several and not without_capacity(known)
