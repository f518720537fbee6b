"""Decides the claims of a file: formulas of costs of algorithms, in sizes and on machines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import chain
from pathlib import Path

from archline.analysis.checks.failures import assumed_facts, refusal
from archline.analysis.cost import Cost
from archline.analysis.sampling import assumed, constants_of, offsets_rules
from archline.claims.decide import decide_claims
from archline.compare.orders import CostOrder, OrderVerdict, apart
from archline.compare.sizes import Point, SizedCost, Sizes
from archline.costs.algorithms import AlgorithmUnderFacts
from archline.energy.caches import DEFAULT_CACHE, cache_of, level_caches
from archline.energy.estimates import ModelOnMachine, usual_model
from archline.energy.formulas import names_in
from archline.energy.growth import of_formula
from archline.energy.machine_files import machine as machine_of
from archline.energy.machine_files import without_variant
from archline.energy.models import model as model_of
from archline.energy.optimise.constraints import UNITS
from archline.energy.quantities import METRICS, PER_LEVEL
from archline.energy.rules import UNSUITED_MACHINE
from archline.energy.subjects import AlgorithmSubject, model_for
from archline.execution.results import Cache
from archline.expr import build as b
from archline.expr.build import ONE, ZERO
from archline.expr.text import format_expression, format_fact
from archline.expr.tree import divisions, rewritten, substituted, substituted_fact
from archline.growth.growths import Growth, GrowthVerdict, decide_side, together
from archline.growth.is_big_o import Proved
from archline.ir.declarations import declared_scope
from archline.language import syntax as s
from archline.language.call_graph import reachable
from archline.language.checking.contracts import costs_in
from archline.language.checking.scopes import MACHINE_SYMBOLS
from archline.language.diagnostics import ArchlineError, Diagnostic
from archline.language.loader import load_path
from archline.language.metrics import OF_CACHE, ON_MACHINE
from archline.language.model import Module
from archline.language.source import exists, note_read
from archline.language.substitution import facts_in_sizes, processors_of
from archline.records import record, replace

GROWTHS = ("O", "Omega", "Theta")


@dataclass
class ClaimedAlgorithms:
    """The algorithms that a file's claims speak of, each with what was derived of it."""

    module: Module
    _subjects: dict[tuple[str, ...], AlgorithmSubject] = field(default_factory=dict)

    def subject(self, name: str, *where: s.Fact) -> AlgorithmSubject:
        """The algorithm of a name, under further facts. Raises ArchlineError."""
        key = (name, *map(format_fact, where))
        if key not in self._subjects:
            module, node = self.module, self.module.visible[name]
            if name not in module.algorithms:
                module = load_path(Path(node.span.source.path))
            found = AlgorithmUnderFacts(module, module.algorithms[name]).assuming(where)
            self._subjects[key] = AlgorithmSubject(found)
        return self._subjects[key]


@record(eq=False)
class _Setting:
    """An algorithm at sizes that a claim sets; `least` is the least value of each of its sizes.

    Where messages are `limited`, they have K words at most.
    """

    subject: AlgorithmSubject
    sizes: Mapping[str, s.Expr]
    least: Mapping[str, int]
    limited: bool

    @property
    def program(self) -> tuple[Module, s.Algorithm]:
        """Its definition, under the facts of a claim that hold in all of its calls."""
        return self.subject.algorithm.executed

    @property
    def own(self) -> tuple[str, ...]:
        """The names of its sizes and indices; P, of a grid that is given by it."""
        signature = self.subject.algorithm.signature
        return (*signature.size_names, *signature.indices, *(("P",) if self.subject.takes_processors else ()))

    @property
    def constants(self) -> frozenset[int]:
        """The integers in its program."""
        module, node = self.program
        return constants_of(node, *reachable(module, node))

    @cached_property
    def values(self) -> Mapping[str, s.Expr]:
        """What its names stand for: P of a grid in its sizes too."""
        processors = processors_of(self.program[1])
        product = {} if processors is None else {"P": substituted(processors, self.sizes)}
        return {**product, **self.sizes}

    def has_runs(self, point: Point) -> bool:
        """Whether some run may end at values of its own sizes."""
        return refusal(*self.program, {name: point[name] for name in self.own if name in point}) is None

    def cost(self, metric: str) -> Cost:
        """A derived cost; one that is unknown where it is not derived."""
        with suppress(KeyError):
            return (self.subject.report.with_longest if self.limited else self.subject.report).cost(metric)
        return Cost(metric, "unknown", None, None, f"it is not derived of `{self.subject.name}`")

    def facts(self) -> Iterator[s.Fact]:
        """What holds of the sizes of a claim wherever the algorithm has a run."""
        (module, node), tree = self.program, self.subject.report.costs.tree
        own: list[s.Fact] = [*facts_in_sizes(node), *assumed(node), *assumed_facts(module, node)]
        own += [b.binary("<=", tree(rule.low), tree(rule.high)) for rule in offsets_rules(declared_scope(module, node))]
        own += [b.binary(">=", b.name(name), b.number(least)) for name, least in self.least.items()]
        names = {*self.own, *MACHINE_SYMBOLS}
        for each in own:
            if s.names(each) <= names and not any(isinstance(part, s.Element) for part in s.nodes(each)):
                yield substituted_fact(each, self.values)
        for part in (part for value in self.sizes.values() for part in divisions(value)):
            if isinstance(part, s.Binary) and part.op == "/":
                yield s.Divides(part.right, part.left, span=part.span)


@dataclass
class ClaimOfCosts:
    """What a claim speaks of: its costs, as amounts in formulas, and the constants of a machine.

    `more` are further facts. `assumed` are assumptions of the verdict that are neither facts of the claim nor of the
    algorithms, `proofs` show growth.
    """

    claim: s.Claim
    known: ClaimedAlgorithms
    more: tuple[s.Fact, ...] = ()
    amounts: dict[str, SizedCost] = field(default_factory=dict)
    constants: dict[str, Fraction] = field(default_factory=dict)
    of_amounts: dict[str, tuple[_Setting, str]] = field(default_factory=dict)
    assumed: dict[str, None] = field(default_factory=dict)
    proofs: tuple[Proved, ...] = ()

    def decided(self) -> OrderVerdict:
        """The verdict; unknown where the machine cannot feed the model. Raises ArchlineError for unknown ones."""
        try:
            sides = self.formula(self.claim.left), self.formula(self.claim.right)
        except ArchlineError as problem:
            if problem.diagnostics[0].rule is UNSUITED_MACHINE:
                return OrderVerdict("unknown", problem.diagnostics[0].message)
            raise
        (left, right), parts = apart(sides, self.amounts.keys() | self.constants.keys())
        try:
            sizes = self.sizes()
        except ArchlineError as problem:
            return OrderVerdict("unknown", problem.diagnostics[0].message)
        values = {**parts, **self.constants}
        order = CostOrder(left, self.claim.relation, right, self.amounts, values, sizes, self._units())
        return self._growth(order, parts) if self.claim.relation in GROWTHS else order.decided()

    @cached_property
    def facts(self) -> tuple[s.Fact, ...]:
        """What the claim itself says of sizes."""
        at = (b.binary("==", b.name(name), value) for name, value in self.claim.at)
        return (*self.claim.where, *at, *self.more)

    @cached_property
    def settings(self) -> dict[str, _Setting]:
        """The algorithms at their sizes, by what is written between the brackets."""
        return {_inside(each): self._setting(each) for each in costs_in(self.claim)}

    def _setting(self, cost: s.Call) -> _Setting:
        """The algorithm of a cost, derived under the claim's own facts about sizes that it does not set."""
        (name,) = cost.arguments
        assert isinstance(name, s.Name)
        sizes = dict(cost.sizes)
        subject, limited = self.known.subject(name.id), "K" in sizes or "K" in s.names((*self.facts, cost))
        plain = _Setting(subject, sizes, subject.algorithm.signature.at_least, limited)
        names = {*plain.own, *MACHINE_SYMBOLS} - sizes.keys()
        own = [each for each in self.claim.where if s.names(each) <= names]
        with suppress(ArchlineError):
            # There is no cost where the facts leave no sizes, or none with a run.
            narrowed = self.known.subject(name.id, *own)
            return replace(plain, subject=narrowed) if narrowed.report else plain
        return plain

    def _units(self) -> tuple[str, str]:
        """The units of the values of both sides, as far as they are known; a side without a cost is in the other's."""
        one, other = (_unit(each, costs_in(self.claim)) for each in (self.claim.left, self.claim.right))
        return (one if one is not None else other) or "", (other if other is not None else one) or ""

    # Formulas
    def formula(self, side: s.Expr) -> s.Expr:
        """A side with its costs as names of amounts, those on a machine as the model's formulas of amounts."""
        costs = costs_in(self.claim)

        def named(part: s.Expr) -> s.Expr | None:
            if not isinstance(part, s.Call) or part not in costs:
                return None
            return self._on_machine(part) if part.function in ON_MACHINE else self._amount(part.function, part)

        return rewritten(side, named)

    def _amount(self, metric: str, cost: s.Call) -> s.Name:
        """The name of an amount: a metric of what a cost of the claim is about."""
        text, setting = f"{metric}({_inside(cost)})", self.settings[_inside(cost)]
        if text not in self.amounts:
            self.of_amounts[text] = setting, metric
            self.assumed |= dict.fromkeys(f"{each} (`{setting.subject.name}`)" for each in setting.subject.needed)
            self.amounts[text] = SizedCost(text, setting.cost(metric), setting.values, setting.has_runs)
        return s.Name(text, span=cost.span)

    def _on_machine(self, cost: s.Call) -> s.Expr:
        """Energy, time, power or energy-delay as the model's formula. Raises ArchlineError."""
        on, setting = self.claim.on, self.settings[_inside(cost)]
        assert on is not None
        try:
            machine = machine_of(self._beside(on.machine))
            given = None if on.model is None else model_of(on.model)
            every = {each.function for each in costs_in(self.claim)}.intersection(ON_MACHINE)
            asked = cost.function if len(every) == 1 else "energy_delay"
            usual = usual_model([machine], at_sizes=self._of_machine, asked=asked)
            model = model_for(setting.subject, given, usual).on(machine)
            applied = ModelOnMachine(model, machine, frozenset({*setting.subject.metrics, *PER_LEVEL, "Z", "L"}))
            applied.require()
            formula = applied.quantity(cost.function)
        except ArchlineError as problem:
            found = (Diagnostic(each.rule, each.message, on.span, hint=each.hint) for each in problem.diagnostics)
            raise ArchlineError(tuple(found)) from None
        if given is None:
            unlimited = "; its time takes unlimited cores" if model.unlimited and cost.function != "energy" else ""
            self.assumed[f"model {model.name} (the claim names none{unlimited})"] = None
        names = names_in(formula)
        held = {name: each.lower for name, each in applied.constants.items() if name in names}
        self.constants |= {f"machine {name}": value for name, value in held.items()}
        values: dict[str, s.Expr] = {name: s.Name(f"machine {name}", span=on.span) for name in held}
        caches = dict(level_caches(machine)) if model.levels else {}
        for name in sorted(names & METRICS.keys() - {"Z", "L"}):
            level, metric = PER_LEVEL.get(name, ("", name))
            cache = caches.get(level) or (cache_of(machine) if caches and metric in OF_CACHE else None)
            values[name] = self._amount(metric, cost if cache is None else self._through(cost, cache))
        return substituted(formula, {**values, **{name: setting.sizes[name] for name in "ZL" if name in setting.sizes}})

    def _through(self, cost: s.Call, cache: Cache) -> s.Call:
        """The same cost with this cache."""
        words = (("Z", s.Integer(cache.Z, span=cost.span)), ("L", s.Integer(cache.L, span=cost.span)))
        found = replace(cost, sizes=(*(each for each in cost.sizes if each[0] not in ("Z", "L")), *words))
        self.settings[_inside(found)] = self._setting(found)
        return found

    def _beside(self, machine: str) -> str:
        """The name of a machine; a path is relative to the claim's file if that exists, else to the current folder."""
        near = Path(self.claim.span.source.path).parent / machine
        if not without_variant(machine)[0].endswith(".toml"):
            return machine
        if exists(Path(without_variant(str(near))[0])):
            return str(near)
        note_read(near, None)
        return machine

    # Growth
    def _growth(self, order: CostOrder, parts: Mapping[str, s.Expr]) -> OrderVerdict:
        """The verdict on O, Omega or Theta: by both growths, and as an `ensures` where a side is one cost."""
        growths = {name: self._growth_of(name) for name in self.amounts}
        growths |= {name: Growth(part, part) for name, part in parts.items()}
        factors = {name: ONE if value else ZERO for name, value in self.constants.items()}
        one, other = (of_formula(substituted(each, factors), growths) for each in (order.left, order.right))
        own = (each for setting in self.settings.values() for each in setting.facts())
        facts = tuple(dict.fromkeys((*own, *self.facts)))
        found: dict[str, GrowthVerdict] = {}
        for side, turned in (("O", "Omega"), ("Omega", "O")):
            if self.claim.relation in (side, "Theta"):
                halves = chain(
                    [decide_side(side, one, other, facts)],
                    self._as_ensures(side, order.left, other, facts),
                    self._as_ensures(turned, order.right, one, facts),
                )
                first = next(halves)
                each = next((each for each in (first, *halves) if each.outcome != "unknown"), first)
                if each.outcome == "fails":
                    each = replace(each, reason=order.refutation(side, each.refuted) or each.reason)
                elif each.outcome == "holds" and (zero := order.vanishing(side)):
                    each = GrowthVerdict("fails", zero)
                found[side] = each
        whole = together(found)
        self.proofs = whole.proofs
        known = whole.outcome != "holds" and one.text and other.text
        return OrderVerdict(whole.outcome, whole.reason, bounds=f"{one.text} against {other.text}" if known else "")

    def _as_ensures(
        self, side: str, cost: s.Expr, growth: Growth, facts: tuple[s.Fact, ...]
    ) -> Iterator[GrowthVerdict]:
        """The verdict on one half as an `ensures` of the algorithm of a cost, proved or refuted by a growth."""
        if not isinstance(cost, s.Name) or cost.id not in self.of_amounts:
            return
        setting, metric = self.of_amounts[cost.id]
        names = {*setting.own, *MACHINE_SYMBOLS}
        when = tuple(each for each in facts if s.names(each) <= names)
        needed, facing = (growth.lower, growth.upper) if side == "O" else (growth.upper, growth.lower)
        for bound, outcome in ((needed, "holds"), (facing, "fails")):
            if bound is not None and not setting.sizes and s.names(bound) <= names:
                ensures = s.Ensures(metric, None, side, bound, when, span=self.claim.span)
                costs = setting.subject.report.including(metric).costs
                (found,) = decide_claims(*setting.program, costs, [ensures], assumed_facts(*setting.program))
                if found.outcome == outcome:
                    yield GrowthVerdict(found.outcome, found.reason, found.proofs)

    def _growth_of(self, name: str) -> Growth:
        """How a cost grows, in the sizes of the claim; nothing under conditions of which the claim says nothing."""
        setting, metric = self.of_amounts[name]
        known = setting.subject.in_sizes(everywhere=True)
        found = known.growth(metric)
        if any(each not in known.where for each in found.facts):
            return Growth(None, None)
        lower, upper = (each and substituted(each, setting.values) for each in (found.lower, found.upper))
        return Growth(lower, upper)

    # Sizes
    @property
    def _held(self) -> set[str]:
        """The sizes and machine symbols that the claim speaks of."""
        settings = self.settings.values()
        held = {name for each in settings for name in each.own if name not in each.values}
        held |= s.names(tuple(value for each in settings for value in each.sizes.values()))
        held |= s.names(self.claim.where) | {name for name, _ in self.claim.at}
        return held | s.names((self.claim.left, self.claim.right)) & {*MACHINE_SYMBOLS}

    def _assume(self, held: set[str]) -> None:
        """Record the further facts about these names as assumptions of the verdict."""
        own = {format_fact(each) for each in self.claim.where}
        texts = (format_fact(each) for each in self.more if s.names(each) <= held)
        self.assumed |= dict.fromkeys(each for each in texts if each not in own)

    def sizes(self) -> Sizes:
        """The sizes of all costs together. Raises ArchlineError."""
        settings, held = self.settings.values(), self._held
        every = [each for setting in settings for each in setting.facts()]
        for amount in self.amounts.values():
            ends = (each for each in (amount.cost.lower, amount.cost.upper) if each is not None)
            free = frozenset(("Z", "L") if amount.cost.metric in OF_CACHE else ()).union(*(each.names for each in ends))
            symbols = free - amount.sizes.keys() - held
            every += b.least(sorted(symbols - {*MACHINE_SYMBOLS}), 0)
            held |= symbols
        if "P" in held:
            grids = (each.values["P"] for each in settings if "P" in each.values)
            every += [*(b.binary("==", b.name("P"), each) for each in grids), *b.least(["P"], 1)]
        if held >= {"Z", "L"}:
            every += [b.binary(">=", b.name("Z"), b.name("L")), *self._cache()]
        self._assume(held)
        own = dict.fromkeys(name for each in settings for name in each.own if name in held)
        names = [name for name in (*own, *sorted(held)) if name not in MACHINE_SYMBOLS]
        names += [name for name in ("P", "K", "L", "Z") if name in held]
        signed = {name for each in settings for name in each.subject.algorithm.signature.indices}
        given = {name for each in settings for name in each.sizes}
        found = Sizes.of(names, signed - given, (*every, *(each for each in self.facts if s.names(each) <= held)))
        return replace(found, constants=constants_of(self.claim).union(*(each.constants for each in settings)))

    @property
    def _of_machine(self) -> bool:
        """Whether the caches are those of a machine: where one is named, and the claim is of no growth or cache."""
        sides = s.names((*self.facts, self.claim.left, self.claim.right))
        named = sides.union(*(dict(each.sizes) for each in costs_in(self.claim)))
        return self.claim.on is not None and self.claim.relation not in GROWTHS and not {"Z", "L"} & named

    def _cache(self) -> Iterator[s.Fact]:
        """The cache that is taken on a machine where a claim names none, as commands do: at sizes the usual one."""
        if self.claim.on is None or not self._of_machine:
            return
        own = cache_of(machine_of(self._beside(self.claim.on.machine)))
        if own is not None or self.claim.at:
            cache, whose = own or DEFAULT_CACHE, ", the machine's" if own is not None else ""
            self.assumed[f"Z = {cache.Z}, L = {cache.L}{whose}, as the claim names no cache"] = None
            for name, words in (("Z", cache.Z), ("L", cache.L)):
                yield b.binary("==", b.name(name), b.number(words))


def _unit(side: s.Expr, costs: Sequence[s.Call]) -> str | None:
    """The unit of a cost, of its multiples, and of sums of such; empty for others, None for what holds no cost."""
    match side:
        case s.Call() if side in costs:
            return UNITS.get(side.function, "")
        case s.Unary():
            return _unit(side.operand, costs)
        case s.Binary(op="+" | "-" | "*" | "/"):
            one, other = _unit(side.left, costs), _unit(side.right, costs)
            if other is None or (one == other and side.op in "+-"):
                return one
            return other if one is None and side.op != "/" else ""
        case _:
            return "" if any(part in costs for part in s.nodes(side)) else None


def _inside(cost: s.Call) -> str:
    """What stands between the brackets of a cost."""
    return format_expression(replace(cost, function=""))[1:-1]
