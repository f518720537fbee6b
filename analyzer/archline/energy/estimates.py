"""Evaluate an energy model on a machine: sound bounds on time, energy and further figures, from given amounts."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from fractions import Fraction
from functools import cached_property

from archline.energy import rules
from archline.energy.formulas import bound_value, derive_elasticities, names_in, parse_formula
from archline.energy.machines import Machine, find_levels_without_capacity
from archline.energy.model import Model
from archline.energy.models import find_model, load_models
from archline.energy.quantities import CONSTANTS, LEVELS, METRICS, PER_LEVEL, QUANTITIES
from archline.expr.intervals import EvaluationError, Interval, Number
from archline.expr.tree import substitute_names
from archline.language import syntax as s
from archline.language.diagnostics import ArchlineError, error, suggest_closest
from archline.language.metrics import DERIVABLE
from archline.records import field, record

BALANCED = "balanced"
TIME_DEPENDENT = ("time", "power", "energy_delay")
"""The answers that depend on the time."""


def check_amounts(amounts: Mapping[str, Interval]) -> None:
    """Raise ArchlineError (AL460) for impossible amounts: below 0, no processor, a span of 0 or above the work."""
    for name, amount in amounts.items():
        if amount.lower < 0:
            raise error(rules.WRONG_AMOUNT, f"the {name} is {amount.lower}, a negative number")
    span, work = amounts.get("span"), amounts.get("work")
    processors = amounts.get("P")
    if processors is not None and processors.lower < 1:
        raise error(rules.WRONG_AMOUNT, f"P is {processors.lower}; it must be at least 1")
    if span is not None and span.lower == 0:
        raise error(rules.WRONG_AMOUNT, "the span is 0; an execution has a span of at least 1")
    if span is not None and work is not None and span.lower > work.upper:
        raise error(
            rules.WRONG_AMOUNT, f"the span, {float(span.lower):.6g}, is above the work, {float(work.upper):.6g}"
        )


@record
class ModelOnMachine:
    """An energy model applied to a machine, for algorithms with known metrics; `metrics` has their names."""

    model: Model
    machine: Machine
    metrics: Collection[str]

    @cached_property
    def _known(self) -> frozenset[str]:
        return frozenset((*self.machine.quantities, *CONSTANTS, *self.metrics))

    @cached_property
    def converted(self) -> Mapping[str, str]:
        """The conversions that the model's formulas need: a formula for each unknown metric and quantity."""
        used = frozenset().union(*(names_in(self.model.formula(name)) for name in ("time", *self.model.energy)))
        conversions = {name: text for name, text in self.model.conversions.items() if name not in self._known}
        while (
            more := frozenset().union(*(names_in(parse_formula(conversions[n])) for n in used & conversions.keys()))
            - used
        ):
            used |= more
        return {name: text for name, text in conversions.items() if name in used}

    def replace_unknown_names(self, expr: s.Expr) -> s.Expr:
        """Replace the metrics and quantities in a formula that are unknown by the model's conversion formulas."""
        conversions = self.model.conversions
        while replacements := {
            name: parse_formula(conversions[name]) for name in names_in(expr) - self._known if name in conversions
        }:
            expr = substitute_names(expr, replacements)
        return expr

    def formula(self, name: str) -> s.Expr:
        """Return the formula of `time`, of a term of the energy or of a figure, in known names."""
        return self.replace_unknown_names(self.model.formula(name))

    def answer_formula(self, name: str) -> s.Expr:
        """Return the formula of an answer, in known names. Raises ArchlineError (AL458) for a missing quantity."""
        return self.require_known(self.model.answer_formula(name))

    @cached_property
    def missing_quantities(self) -> tuple[str, ...]:
        """The quantities that the machine lacks for any answer."""
        essential = self.model.energy if self.model.essential == "energy" else ("time",)
        return self.list_missing_quantities(*essential)

    def list_missing_quantities(self, *names: str) -> tuple[str, ...]:
        """Return the quantities in the named formulas that the machine neither has nor gives by a conversion."""
        used = frozenset().union(*(names_in(self.formula(name)) for name in names))
        return tuple(sorted((used & QUANTITIES.keys()) - self._known))

    @property
    def _missing_metrics(self) -> list[str]:
        used = frozenset().union(*(names_in(self.formula(name)) for name in ("time", *self.model.energy)))
        return sorted((used & METRICS.keys()) - self._known)

    def require_inputs(self) -> None:
        """Raise ArchlineError if a quantity (AL458) or a metric (AL460) is missing."""
        if self.missing_quantities:
            raise self._make_machine_error(self.missing_quantities)
        self._require_positive()
        for metric in self._missing_metrics:
            hint = suggest_closest(metric, self.metrics)
            raise error(rules.WRONG_AMOUNT, f"model `{self.model.name}` needs `{metric}`", hint=hint)

    @property
    def energy_problem(self) -> str:
        """The message that the machine lacks quantities for the energy; empty if it has all."""
        lacking = self.list_missing_quantities(*self.model.energy)
        return f"machine `{self.machine.name}` lacks {_write_quantities(lacking)}" if lacking else ""

    def require_known(self, expr: s.Expr) -> s.Expr:
        """Express a formula in known names. Raises ArchlineError (AL458) if a quantity in it is missing."""
        completed = self.replace_unknown_names(expr)
        if missing := sorted((names_in(completed) & QUANTITIES.keys()) - self._known):
            raise self._make_machine_error(missing)
        return completed

    def _make_machine_error(self, missing: Sequence[str]) -> ArchlineError:
        units = _write_quantities(missing)
        options = " ".join(f"--parameter {name}={'8' if name == 'word' else '...'}" for name in missing)
        message = f"machine `{self.machine.name}` lacks quantities that model `{self.model.name}` needs: {units}"
        candidates = (ModelOnMachine(other_model, self.machine, self.metrics) for other_model in load_models())
        suited = [item.model.name for item in candidates if not (item.missing_quantities or item._missing_metrics)]
        models_ = f", or use --model {' or '.join(suited)}, for which the machine has all quantities" if suited else ""
        return error(rules.UNSUITED_MACHINE, message, hint=f"give {options}{models_}")

    def _require_positive(self) -> None:
        for text in self.model.positive:
            expr = self.replace_unknown_names(parse_formula(text))
            if names_in(expr) <= self.constants.keys() and bound_value(expr, self.constants).lower <= 0:
                where = f"machine `{self.machine.name}` is not usable with model `{self.model.name}`"
                hint = "give " + " ".join(f"--parameter {name}=..." for name in sorted(names_in(expr)))
                raise error(rules.UNSUITED_MACHINE, f"{where}: {text} is not above 0", hint=hint)

    @cached_property
    def quantities_read(self) -> frozenset[str]:
        """The machine's quantities that the answers depend on, also through formulas of the machine."""
        texts = (self.model.time, *self.model.energy.values(), *self.model.sides.values())
        held = frozenset().union(
            *(names_in(self.replace_unknown_names(self.model.expand_formula(text))) for text in texts)
        )
        held |= frozenset().union(*(names_in(self.formula(name)) for name in self.model.figures))
        quantities = self.machine.quantities
        formulas = {name: names_in(item.formula) for name, item in quantities.items() if item.formula is not None}
        while more := frozenset().union(*(formulas[name] for name in held & formulas.keys())) - held:
            held |= more
        return held & quantities.keys()

    @cached_property
    def metrics_needed(self) -> frozenset[str]:
        """The metrics that the answers depend on, and the flops, for flops per joule."""
        texts = [self.model.time, *self.model.energy.values(), *self.model.sides.values()]
        held = [self.replace_unknown_names(self.model.expand_formula(text)) for text in texts]
        held += [self.formula(name) for name in self.model.figures]
        return frozenset({"flops"}.union(*(names_in(expr) & METRICS.keys() for expr in held)))

    def estimate_coarser(self, estimate: Estimate) -> Interval | None:
        """Return the energy with the model's `coarser` terms; None if it has none, or an amount is missing."""
        texts = self.model.coarser
        values = {**self.constants, **estimate.amounts}
        exprs = [self.replace_unknown_names(self.model.expand_formula(text)) for text in texts.values()]
        if not texts or estimate.energy is None or not all(names_in(expr) <= values.keys() for expr in exprs):
            return None
        rest = [term for name, term in estimate.terms.items() if name not in texts]
        return sum([*rest, *(bound_value(expr, values) for expr in exprs)], Interval.of(0))

    @cached_property
    def constants(self) -> dict[str, Interval]:
        return {name: Interval.of(value) for name, value in self.machine.values.items()}

    def estimate(self, amounts: Mapping[str, Interval]) -> Estimate:
        """Return the model's answer for the amounts of an execution. Raises ArchlineError (AL458, AL460)."""
        self.require_inputs()
        values = {**self.constants, **amounts}
        reasons: dict[str, str] = {}

        def value_of_formula(name: str) -> Interval | None:
            missing = self.list_missing_quantities(name)
            if missing:
                reasons[name] = f"machine `{self.machine.name}` has no {', '.join(f'`{item}`' for item in missing)}"
                return None
            try:
                value = bound_value(self.formula(name), values)
                return Interval(Fraction(0), value.upper) if name in self.model.energy and self.model.at_most else value
            except EvaluationError as problem:
                reasons[name] = str(problem)
                return None

        time = value_of_formula("time")
        terms = {name: value_of_formula(name) for name in self.model.energy}
        defined = {name: term for name, term in terms.items() if term is not None}
        energy = sum(defined.values(), Interval.of(0)) if len(defined) == len(terms) else None
        if energy is None:
            undefined = (reasons[name] for name, term in terms.items() if term is None)
            reasons["energy"] = self.energy_problem or next(undefined)
        figures = {name: value_of_formula(name) for name in self.model.figures}
        quotients: dict[str, Interval] = {}
        for name in () if energy is None or self.model.at_most else ("power", "flops_per_joule"):
            with suppress(EvaluationError):
                if names_in(formula := self.replace_unknown_names(self.model.answer_formula(name))) <= values.keys():
                    quotients[name] = bound_value(formula, values)
        return Estimate(
            self.model,
            self.machine,
            dict(amounts),
            time,
            defined,
            energy,
            self._evaluate_sides(values),
            {name: figure for name, figure in figures.items() if figure is not None},
            reasons,
            self.converted,
            quotients,
        )

    def _evaluate_sides(self, values: Mapping[str, Interval]) -> dict[str, Interval]:
        sides = {
            name: self.replace_unknown_names(self.model.expand_formula(text)) for name, text in self.model.sides.items()
        }
        bounds: dict[str, Interval] = {}
        for name, expr in sides.items():
            if not (names_in(expr) & QUANTITIES.keys()) - self._known:
                with suppress(EvaluationError):
                    bounds[name] = bound_value(expr, values)
        return bounds

    def derive_elasticities(self, estimate: Estimate) -> dict[str, float]:
        """Return by how many % the energy (the time, in a model without energy) grows per % of each quantity.

        Amounts that are only bounded enter by their upper bounds.
        """
        values = {name: value.upper for name, value in {**self.constants, **estimate.amounts}.items()}
        text = self.model.expression if estimate.energy is not None else self.model.time
        expr = self.replace_unknown_names(self.model.expand_formula(text))
        quantities_of_machine = self.machine.quantities
        # A quantity is replaced by the quantities it is computed from, even if a file and not the model computes it.
        computed = {
            name: quantities_of_machine[name].formula
            for name in self.model.conversions.keys() & quantities_of_machine.keys()
        }
        expr = substitute_names(expr, {name: formula for name, formula in computed.items() if formula is not None})
        # The bytes that are moved depend on the word too, by the number of words in a line.
        quantities = sorted(
            name
            for name in names_in(expr) & quantities_of_machine.keys()
            if quantities_of_machine[name].kind != "definition" and name != "word"
        )
        result = derive_elasticities(expr, values, quantities)
        return dict(sorted(result.items(), key=lambda pair: -abs(pair[1])))


@record
class Estimate:
    """A model's answer on one machine, in base units, between sound bounds.

    `terms` are the terms of the energy; the largest of the `sides`, such as compute and memory time, is the bottleneck;
    `figures` are further numbers. `reasons` explains each value that is None. `converted` are the formulas that replace
    missing quantities or metrics. `quotients` are bounds on power and flops per joule, evaluated at the same amounts.
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
        """Average power in W: energy over time; at most the limit under a power cap or a thermal design power.

        None if it is unknown.
        """
        bound, values = self.quotients.get("power", _divide_amounts(self.energy, self.time)), self.machine.values
        limits = {"power_limit": "power cap" in self.sides, "power_rated": self.model.at_most}
        for limit in (values[name] for name, holds in limits.items() if holds and name in values):
            bound = None if bound is None else bound.minimum(Interval.of(limit))
        return bound

    @property
    def flops_per_joule(self) -> Interval | None:
        """Flops per joule; None if the flops are unknown."""
        return self.quotients.get("flops_per_joule")

    @property
    def energy_delay(self) -> Interval | None:
        """The energy-delay product in J*s; None if energy or time is unknown."""
        return None if self.energy is None or self.time is None else self.energy * self.time

    @property
    def times_peak(self) -> Fraction | None:
        """The minimum ratio of the flop rate to the machine's peak; None if it may be within the peak."""
        peak, flops = self.machine.values.get("peak"), self.amounts.get("flops")
        if not self.model.unlimited or not peak or flops is None or self.time is None or not self.time.upper:
            return None
        ratio = flops.lower / self.time.upper / peak
        return ratio if ratio > 1 else None

    def by(self, quantity: str) -> Interval | None:
        """Return `energy`, `time`, `power`, `energy_delay` or a requested metric; None if it is unknown."""
        answers = {"energy": self.energy, "time": self.time, "power": self.power, "energy_delay": self.energy_delay}
        return answers[quantity] if quantity in answers else self.amounts.get(quantity)

    @property
    def binds(self) -> str:
        """The name of the largest of the `sides`; `balanced` for a tie, `A or B` if the bounds do not decide."""
        sides = self.sides
        if not sides:
            return ""
        largest_lower = max(side.lower for side in sides.values())
        largest = [name for name, side in sides.items() if side.upper >= largest_lower]
        if len(largest) == 1:
            return largest[0]
        ends = {(sides[name].lower, sides[name].upper) for name in largest}
        return BALANCED if len(ends) == 1 and sides[largest[0]].exact else " or ".join(largest)

    @property
    def margin(self) -> Interval | None:
        """The ratio of the largest of the `sides` to the second largest; None if the latter is missing or may be 0."""
        rest = [self.sides[name] for name in self.next_sides]
        if not rest:
            return None
        following = Interval(max(side.lower for side in rest), max(side.upper for side in rest))
        return _divide_amounts(self.sides[self.binds], following)

    @property
    def next_sides(self) -> tuple[str, ...]:
        """The names of the `sides` that may be second largest; empty if the bounds do not decide which is largest."""
        rest = {name: side for name, side in self.sides.items() if name != self.binds}
        largest_lower = max((side.lower for side in rest.values()), default=0)
        return (
            tuple(name for name, side in rest.items() if side.upper >= largest_lower)
            if self.binds in self.sides
            else ()
        )


def _write_quantities(names: Sequence[str]) -> str:
    return ", ".join(f"`{name}` ({QUANTITIES[name].unit})" for name in names)


def _divide_amounts(top: Interval | None, bottom: Interval | None) -> Interval | None:
    if top is None or bottom is None or bottom.lower <= 0:
        return None
    return top / bottom


def apply_model(model: Model, machine: Machine) -> ModelOnMachine:
    """Apply a model to a machine, for algorithms whose derivable metrics are all known."""
    return ModelOnMachine(model.with_machine_formulas(machine), machine, (*DERIVABLE, *PER_LEVEL, "Z", "L"))


def estimate_amounts(
    model: Model, machine: Machine, given: Mapping[str, Interval | Number | tuple[Number, Number]]
) -> Estimate:
    """Return the model's answer for amounts (metric to number or interval).

    Raises ArchlineError: AL458 if the machine does not suit the model, AL460 for missing or impossible amounts.
    """
    try:
        amounts = {name: Interval.of(value) for name, value in given.items()}
    except ValueError as problem:
        raise error(rules.WRONG_AMOUNT, str(problem)) from None
    check_amounts(amounts)
    return ModelOnMachine(model.with_machine_formulas(machine), machine, amounts.keys()).estimate(amounts)


def choose_default_model(machines: Sequence[Machine], *, at_sizes: bool, asked: str = "energy") -> Model:
    """Return the default model for shared memory: the first for which all machines have the quantities.

    The order is the roofline with levels of caches (only `at_sizes`), ICE, the roofline. If the answer `asked` for
    depends on time, such as the power, ICE is last, since its time is that of unlimited cores. A model that cannot give
    the energy is chosen only if no other one fits; if none fits, the one that lacks the fewest quantities.
    """
    names = ("roofline", "ice") if asked in TIME_DEPENDENT else ("ice", "roofline")
    use_levels = at_sizes and all(map(has_levels, machines))
    ordered = map(find_model, (*(("roofline+levels",) if use_levels else ()), *names))
    suited = [
        item for item in ordered if not any(apply_model(item, machine).missing_quantities for machine in machines)
    ]
    with_energy = [
        item
        for item in suited
        if asked == "time" or not any(apply_model(item, machine).energy_problem for machine in machines)
    ]
    nearest = min(
        map(find_model, ("ice", "roofline")),
        key=lambda item: sum(len(apply_model(item, machine).missing_quantities) for machine in machines),
    )
    return (*with_energy, *suited, nearest)[0]


def has_levels(machine: Machine) -> bool:
    """Whether a machine has the bandwidth or the energy of some level, and the capacity of each level."""
    quantities = machine.quantities.keys()
    has_costs = any(f"{level}_{name}" in quantities for level in LEVELS for name in ("bandwidth", "energy"))
    return has_costs and not find_levels_without_capacity(quantities)
