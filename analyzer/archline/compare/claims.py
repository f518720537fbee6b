"""Decide the claims of a file, which compare formulas of costs of algorithms, in sizes and on machines."""

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
    """The algorithms in the claims of a file, each with its derived costs."""

    module: Module
    _subjects: dict[tuple[str, ...], AlgorithmSubject] = field(default_factory=dict)

    def subject(self, name: str, *where: s.Fact) -> AlgorithmSubject:
        """Return the algorithm of a name, under further facts. Raises ArchlineError."""
        key = (name, *map(format_fact, where))
        if key not in self._subjects:
            module, node = self.module, self.module.visible[name]
            if name not in module.algorithms:
                module = load_path(Path(node.span.source.path))
            algorithm = AlgorithmUnderFacts(module, module.algorithms[name]).assuming(where)
            self._subjects[key] = AlgorithmSubject(algorithm)
        return self._subjects[key]


@record(eq=False)
class _Setting:
    """An algorithm at the sizes of a claim; `least` is the least value of each of its sizes.

    Where messages are `limited`, they have at most K words.
    """

    subject: AlgorithmSubject
    sizes: Mapping[str, s.Expr]
    least: Mapping[str, int]
    limited: bool

    @property
    def program(self) -> tuple[Module, s.Algorithm]:
        """The definition of the algorithm, under the facts of a claim that hold in all of its calls."""
        return self.subject.algorithm.executed

    @property
    def own(self) -> tuple[str, ...]:
        """The names of its sizes and indices, and P if the grid is given by it."""
        signature = self.subject.algorithm.signature
        return (*signature.size_names, *signature.indices, *(("P",) if self.subject.takes_processors else ()))

    @property
    def constants(self) -> frozenset[int]:
        module, node = self.program
        return constants_of(node, *reachable(module, node))

    @cached_property
    def values(self) -> Mapping[str, s.Expr]:
        """The expressions for its names, P of a grid included."""
        processors = processors_of(self.program[1])
        product = {} if processors is None else {"P": substituted(processors, self.sizes)}
        return {**product, **self.sizes}

    def has_runs(self, point: Point) -> bool:
        """Whether some run may end at these values of its sizes."""
        return refusal(*self.program, {name: point[name] for name in self.own if name in point}) is None

    def cost(self, metric: str) -> Cost:
        """Return a derived cost, or one that is unknown."""
        with suppress(KeyError):
            return (self.subject.report.with_longest if self.limited else self.subject.report).cost(metric)
        return Cost(metric, "unknown", None, None, f"it is not derived of `{self.subject.name}`")

    def facts(self) -> Iterator[s.Fact]:
        """Yield the facts about the sizes of a claim that all runs of the algorithm need."""
        (module, node), tree = self.program, self.subject.report.costs.tree
        needed: list[s.Fact] = [*facts_in_sizes(node), *assumed(node), *assumed_facts(module, node)]
        needed += [
            b.binary("<=", tree(rule.low), tree(rule.high)) for rule in offsets_rules(declared_scope(module, node))
        ]
        needed += [b.binary(">=", b.name(name), b.number(least)) for name, least in self.least.items()]
        names = {*self.own, *MACHINE_SYMBOLS}
        for fact in needed:
            if s.names(fact) <= names and not any(isinstance(node, s.Element) for node in s.nodes(fact)):
                yield substituted_fact(fact, self.values)
        for part in (part for value in self.sizes.values() for part in divisions(value)):
            if isinstance(part, s.Binary) and part.op == "/":
                yield s.Divides(part.right, part.left, span=part.span)


@dataclass
class ClaimOfCosts:
    """The costs in a claim, as amounts in formulas, and the constants of a machine.

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
        """Return the verdict; unknown if the machine lacks quantities. Raises ArchlineError for unknown ones."""
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
        """The facts about sizes that the claim states."""
        at = (b.binary("==", b.name(name), value) for name, value in self.claim.at)
        return (*self.claim.where, *at, *self.more)

    @cached_property
    def settings(self) -> dict[str, _Setting]:
        """The algorithms at their sizes, by the text between the brackets of a cost."""
        return {_inside(cost): self._setting(cost) for cost in costs_in(self.claim)}

    def _setting(self, cost: s.Call) -> _Setting:
        """Derive the algorithm of a cost under the facts of the claim about sizes that it does not set."""
        (name,) = cost.arguments
        assert isinstance(name, s.Name)
        sizes = dict(cost.sizes)
        subject, limited = self.known.subject(name.id), "K" in sizes or "K" in s.names((*self.facts, cost))
        plain = _Setting(subject, sizes, subject.algorithm.signature.at_least, limited)
        names = {*plain.own, *MACHINE_SYMBOLS} - sizes.keys()
        facts = [fact for fact in self.claim.where if s.names(fact) <= names]
        with suppress(ArchlineError):
            # There is no cost where the facts leave no sizes, or none with a run.
            narrowed = self.known.subject(name.id, *facts)
            return replace(plain, subject=narrowed) if narrowed.report else plain
        return plain

    def _units(self) -> tuple[str, str]:
        """Return the known units of both sides; a side without a cost has that of the opposite side."""
        left, right = (_unit(side, costs_in(self.claim)) for side in (self.claim.left, self.claim.right))
        return (left if left is not None else right) or "", (right if right is not None else left) or ""

    # Formulas
    def formula(self, side: s.Expr) -> s.Expr:
        """Replace the costs of a side by names of amounts, and costs on a machine by the model's formulas."""
        costs = costs_in(self.claim)

        def replace_cost(part: s.Expr) -> s.Expr | None:
            if not isinstance(part, s.Call) or part not in costs:
                return None
            return self._on_machine(part) if part.function in ON_MACHINE else self._amount(part.function, part)

        return rewritten(side, replace_cost)

    def _amount(self, metric: str, cost: s.Call) -> s.Name:
        """Return the name of an amount: a metric of the algorithm of a cost."""
        text, setting = f"{metric}({_inside(cost)})", self.settings[_inside(cost)]
        if text not in self.amounts:
            self.of_amounts[text] = setting, metric
            self.assumed |= dict.fromkeys(f"{need} (`{setting.subject.name}`)" for need in setting.subject.needed)
            self.amounts[text] = SizedCost(text, setting.cost(metric), setting.values, setting.has_runs)
        return s.Name(text, span=cost.span)

    def _on_machine(self, cost: s.Call) -> s.Expr:
        """Return energy, time, power or energy-delay as the model's formula. Raises ArchlineError."""
        on, setting = self.claim.on, self.settings[_inside(cost)]
        assert on is not None
        try:
            machine = machine_of(self._beside(on.machine))
            named_model = None if on.model is None else model_of(on.model)
            functions = {machine_cost.function for machine_cost in costs_in(self.claim)}.intersection(ON_MACHINE)
            asked = cost.function if len(functions) == 1 else "energy_delay"
            usual = usual_model([machine], at_sizes=self._of_machine, asked=asked)
            model = model_for(setting.subject, named_model, usual).on(machine)
            applied = ModelOnMachine(model, machine, frozenset({*setting.subject.metrics, *PER_LEVEL, "Z", "L"}))
            applied.require()
            formula = applied.quantity(cost.function)
        except ArchlineError as problem:
            diagnostics = (Diagnostic(d.rule, d.message, on.span, hint=d.hint) for d in problem.diagnostics)
            raise ArchlineError(tuple(diagnostics)) from None
        if named_model is None:
            unlimited = "; its time takes unlimited cores" if model.unlimited and cost.function != "energy" else ""
            self.assumed[f"model {model.name} (the claim names none{unlimited})"] = None
        names = names_in(formula)
        constants = {name: interval.lower for name, interval in applied.constants.items() if name in names}
        self.constants |= {f"machine {name}": value for name, value in constants.items()}
        values: dict[str, s.Expr] = {name: s.Name(f"machine {name}", span=on.span) for name in constants}
        caches = dict(level_caches(machine)) if model.levels else {}
        for name in sorted(names & METRICS.keys() - {"Z", "L"}):
            level, metric = PER_LEVEL.get(name, ("", name))
            cache = caches.get(level) or (cache_of(machine) if caches and metric in OF_CACHE else None)
            values[name] = self._amount(metric, cost if cache is None else self._through(cost, cache))
        return substituted(formula, {**values, **{name: setting.sizes[name] for name in "ZL" if name in setting.sizes}})

    def _through(self, cost: s.Call, cache: Cache) -> s.Call:
        words = (("Z", s.Integer(cache.Z, span=cost.span)), ("L", s.Integer(cache.L, span=cost.span)))
        cached_cost = replace(cost, sizes=(*(pair for pair in cost.sizes if pair[0] not in ("Z", "L")), *words))
        self.settings[_inside(cached_cost)] = self._setting(cached_cost)
        return cached_cost

    def _beside(self, machine: str) -> str:
        """Return the name of a machine; a path is relative to the claim's file if that exists, else to the current
        folder.
        """
        near = Path(self.claim.span.source.path).parent / machine
        if not without_variant(machine)[0].endswith(".toml"):
            return machine
        if exists(Path(without_variant(str(near))[0])):
            return str(near)
        note_read(near, None)
        return machine

    # Growth
    def _growth(self, order: CostOrder, parts: Mapping[str, s.Expr]) -> OrderVerdict:
        """Decide O, Omega or Theta: by both growths, and as an `ensures` if a side is one cost."""
        growths = {name: self._growth_of(name) for name in self.amounts}
        growths |= {name: Growth(part, part) for name, part in parts.items()}
        factors = {name: ONE if value else ZERO for name, value in self.constants.items()}
        left, right = (of_formula(substituted(formula, factors), growths) for formula in (order.left, order.right))
        required = (fact for setting in self.settings.values() for fact in setting.facts())
        facts = tuple(dict.fromkeys((*required, *self.facts)))
        verdicts: dict[str, GrowthVerdict] = {}
        for side, opposite in (("O", "Omega"), ("Omega", "O")):
            if self.claim.relation in (side, "Theta"):
                halves = chain(
                    [decide_side(side, left, right, facts)],
                    self._as_ensures(side, order.left, right, facts),
                    self._as_ensures(opposite, order.right, left, facts),
                )
                first = next(halves)
                verdict = next((half for half in (first, *halves) if half.outcome != "unknown"), first)
                if verdict.outcome == "fails":
                    verdict = replace(verdict, reason=order.refutation(side, verdict.refuted) or verdict.reason)
                elif verdict.outcome == "holds" and (zero := order.vanishing(side)):
                    verdict = GrowthVerdict("fails", zero)
                verdicts[side] = verdict
        whole = together(verdicts)
        self.proofs = whole.proofs
        is_shown = whole.outcome != "holds" and left.text and right.text
        return OrderVerdict(whole.outcome, whole.reason, bounds=f"{left.text} against {right.text}" if is_shown else "")

    def _as_ensures(
        self, side: str, cost: s.Expr, growth: Growth, facts: tuple[s.Fact, ...]
    ) -> Iterator[GrowthVerdict]:
        """Decide one half as an `ensures` of the algorithm of a cost, proved or refuted by a growth."""
        if not isinstance(cost, s.Name) or cost.id not in self.of_amounts:
            return
        setting, metric = self.of_amounts[cost.id]
        names = {*setting.own, *MACHINE_SYMBOLS}
        when = tuple(fact for fact in facts if s.names(fact) <= names)
        needed, facing = (growth.lower, growth.upper) if side == "O" else (growth.upper, growth.lower)
        for bound, outcome in ((needed, "holds"), (facing, "fails")):
            if bound is not None and not setting.sizes and s.names(bound) <= names:
                ensures = s.Ensures(metric, None, side, bound, when, span=self.claim.span)
                costs = setting.subject.report.including(metric).costs
                (verdict,) = decide_claims(*setting.program, costs, [ensures], assumed_facts(*setting.program))
                if verdict.outcome == outcome:
                    yield GrowthVerdict(verdict.outcome, verdict.reason, verdict.proofs)

    def _growth_of(self, name: str) -> Growth:
        """Return the growth of a cost in the sizes of the claim; unknown under conditions that it does not imply."""
        setting, metric = self.of_amounts[name]
        in_sizes = setting.subject.in_sizes(everywhere=True)
        growth = in_sizes.growth(metric)
        if any(fact not in in_sizes.where for fact in growth.facts):
            return Growth(None, None)
        lower, upper = (bound and substituted(bound, setting.values) for bound in (growth.lower, growth.upper))
        return Growth(lower, upper)

    # Sizes
    @property
    def _held(self) -> set[str]:
        """The sizes and machine symbols in the claim."""
        settings = self.settings.values()
        names = {name for setting in settings for name in setting.own if name not in setting.values}
        names |= s.names(tuple(value for setting in settings for value in setting.sizes.values()))
        names |= s.names(self.claim.where) | {name for name, _ in self.claim.at}
        return names | s.names((self.claim.left, self.claim.right)) & {*MACHINE_SYMBOLS}

    def _assume(self, held: set[str]) -> None:
        """Record the further facts about these names as assumptions of the verdict."""
        stated = {format_fact(fact) for fact in self.claim.where}
        texts = (format_fact(fact) for fact in self.more if s.names(fact) <= held)
        self.assumed |= dict.fromkeys(text for text in texts if text not in stated)

    def sizes(self) -> Sizes:
        """Return the sizes of all costs together. Raises ArchlineError."""
        settings, held = self.settings.values(), self._held
        facts = [fact for setting in settings for fact in setting.facts()]
        for amount in self.amounts.values():
            ends = (end for end in (amount.cost.lower, amount.cost.upper) if end is not None)
            free = frozenset(("Z", "L") if amount.cost.metric in OF_CACHE else ()).union(*(end.names for end in ends))
            symbols = free - amount.sizes.keys() - held
            facts += b.least(sorted(symbols - {*MACHINE_SYMBOLS}), 0)
            held |= symbols
        if "P" in held:
            grids = (setting.values["P"] for setting in settings if "P" in setting.values)
            facts += [*(b.binary("==", b.name("P"), processors) for processors in grids), *b.least(["P"], 1)]
        if held >= {"Z", "L"}:
            facts += [b.binary(">=", b.name("Z"), b.name("L")), *self._cache()]
        self._assume(held)
        ordered = dict.fromkeys(name for setting in settings for name in setting.own if name in held)
        names = [name for name in (*ordered, *sorted(held)) if name not in MACHINE_SYMBOLS]
        names += [name for name in ("P", "K", "L", "Z") if name in held]
        signed = {name for setting in settings for name in setting.subject.algorithm.signature.indices}
        set_names = {name for setting in settings for name in setting.sizes}
        sizes = Sizes.of(names, signed - set_names, (*facts, *(fact for fact in self.facts if s.names(fact) <= held)))
        return replace(sizes, constants=constants_of(self.claim).union(*(setting.constants for setting in settings)))

    @property
    def _of_machine(self) -> bool:
        """Whether the caches are those of a machine: if one is named, and the claim is not of growth or cache."""
        sides = s.names((*self.facts, self.claim.left, self.claim.right))
        named = sides.union(*(dict(cost.sizes) for cost in costs_in(self.claim)))
        return self.claim.on is not None and self.claim.relation not in GROWTHS and not {"Z", "L"} & named

    def _cache(self) -> Iterator[s.Fact]:
        """Yield the cache of the machine if a claim names none, as commands do; at sizes the default cache."""
        if self.claim.on is None or not self._of_machine:
            return
        machine_cache = cache_of(machine_of(self._beside(self.claim.on.machine)))
        if machine_cache is not None or self.claim.at:
            cache, whose = machine_cache or DEFAULT_CACHE, ", the machine's" if machine_cache is not None else ""
            self.assumed[f"Z = {cache.Z}, L = {cache.L}{whose}, as the claim names no cache"] = None
            for name, words in (("Z", cache.Z), ("L", cache.L)):
                yield b.binary("==", b.name(name), b.number(words))


def _unit(side: s.Expr, costs: Sequence[s.Call]) -> str | None:
    """Return the unit of a cost, its multiples and sums; empty for other formulas, None without a cost."""
    match side:
        case s.Call() if side in costs:
            return UNITS.get(side.function, "")
        case s.Unary():
            return _unit(side.operand, costs)
        case s.Binary(op="+" | "-" | "*" | "/"):
            left, right = _unit(side.left, costs), _unit(side.right, costs)
            if right is None or (left == right and side.op in "+-"):
                return left
            return right if left is None and side.op != "/" else ""
        case _:
            return "" if any(part in costs for part in s.nodes(side)) else None


def _inside(cost: s.Call) -> str:
    """Return the text between the brackets of a cost."""
    return format_expression(replace(cost, function=""))[1:-1]
