"""Decides the claims of a file: formulas of costs of algorithms, in sizes and on machines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from pathlib import Path

from archline.algebra.asymptotic.is_big_o import Proved
from archline.algebra.asymptotic.simplify import ONE, ZERO
from archline.analysis.checks.failures import assumed_facts, refusal
from archline.analysis.cost import Cost
from archline.analysis.sampling import assumed, offsets_rules
from archline.api.algorithms import Algorithm
from archline.api.caches import DEFAULT_CACHE
from archline.api.subjects import AlgorithmSubject, model_for
from archline.claims.decide import decide
from archline.compare.growth import Half, half, together
from archline.compare.orders import CostOrder, OrderVerdict, apart
from archline.compare.sizes import Amount, Point, Sizes, fact
from archline.energy.formulas import names_in
from archline.energy.growth import Growth, of_formula
from archline.energy.machines import machine as machine_of
from archline.energy.model import Applied
from archline.energy.models import model as model_of
from archline.energy.quantities import METRICS
from archline.ir.scope import declared
from archline.language import syntax as s
from archline.language.checking.contracts import costs_in
from archline.language.checking.scopes import MACHINE_SYMBOLS
from archline.language.diagnostics import ArchlineError, Diagnostic
from archline.language.format_expressions import format_expression, format_fact
from archline.language.format_statements import format_claim
from archline.language.loader import load_path
from archline.language.metrics import ON_GRID, ON_MACHINE
from archline.language.model import Module
from archline.language.parser import parse_facts
from archline.language.substitution import (
    divisions,
    facts_in_sizes,
    processors_of,
    rewritten,
    substituted,
    substituted_fact,
)
from archline.records import record, replace
from archline.report.view import Contract, Place

GROWTHS = ("O", "Omega", "Theta")


def claims(module: Module, where: str | None = None, *, certificates: bool = False) -> tuple[Contract, ...]:
    """The verdicts on the claims of a file, in order. Raises ArchlineError (AL45x) for machines and models."""
    known = ClaimedAlgorithms(module)
    found = [each for each in module.program.items if isinstance(each, s.Claim)]
    return tuple(_contract(each, known, where, certificates) for each in found)


def _contract(claim: s.Claim, known: ClaimedAlgorithms, where: str | None, certificates: bool) -> Contract:
    more = parse_facts(where, "where") if where else ()
    about = ClaimOfCosts(claim, known, more)
    found = about.decided()
    shown = [each.certificate for each in about.proofs] if certificates and found.outcome == "holds" else []
    return Contract(
        format_claim(claim), found.outcome, found.reason, found.point, Place.of(claim.span), tuple(shown),
        found.bounds, assumptions=tuple(about.assumed),
    )  # fmt: skip


@dataclass
class ClaimedAlgorithms:
    """The algorithms that a file's claims speak of, each with what was derived of it."""

    module: Module
    _subjects: dict[tuple[str, str], AlgorithmSubject] = field(default_factory=dict)

    def subject(self, name: str, where: str = "") -> AlgorithmSubject:
        """The algorithm of a name, under further facts. Raises ArchlineError."""
        if (name, where) not in self._subjects:
            module, node = self.module, self.module.visible[name]
            if name not in module.algorithms:
                module = load_path(Path(node.span.source.path))
            found = Algorithm(module, module.algorithms[name]).assuming(where)
            self._subjects[name, where] = AlgorithmSubject(found)
        return self._subjects[name, where]


@record(eq=False)
class _Setting:
    """An algorithm at sizes that a claim sets."""

    subject: AlgorithmSubject
    sizes: Mapping[str, s.Expr]

    @property
    def node(self) -> s.Algorithm:
        """Its definition."""
        return self.subject.algorithm.node

    @property
    def own(self) -> tuple[str, ...]:
        """The names of its sizes and indices; P, of a grid that is given by it."""
        signature = self.subject.algorithm.signature
        return (*signature.size_names, *signature.indices, *(("P",) if self.subject.takes_processors else ()))

    @cached_property
    def values(self) -> Mapping[str, s.Expr]:
        """What its names stand for: P of a grid in its sizes too."""
        processors = processors_of(self.node)
        product = {} if processors is None else {"P": substituted(processors, self.sizes)}
        return {**product, **self.sizes}

    def text(self, metric: str) -> str:
        """A metric of it, as a claim writes it."""
        return format_expression(_call(metric, self, self.node))

    def has_runs(self, point: Point) -> bool:
        """Whether some run may end at values of its own sizes."""
        module = self.subject.algorithm.module
        return refusal(module, self.node, {name: point[name] for name in self.own if name in point}) is None

    def facts(self) -> Iterator[s.Fact]:
        """What holds of the sizes of a claim wherever the algorithm has a run."""
        module, node = self.subject.algorithm.module, self.node
        scope, signature = declared(module, node), self.subject.algorithm.signature
        offsets = (
            f"{self.subject.report.write(rule.low)} <= {self.subject.report.write(rule.high)}"
            for rule in offsets_rules(scope)
        )
        own: list[s.Fact] = [*facts_in_sizes(node), *assumed(node), *assumed_facts(module, node)]
        own += [fact(each) for each in offsets]
        own += [fact(f"{name} >= {least}") for name, least in signature.at_least.items()]
        own += parse_facts("P >= 1") if self.subject.takes_processors else ()
        names = {*self.own, *MACHINE_SYMBOLS}
        for each in own:
            if s.names(each) <= names and not any(isinstance(node, s.Element) for node in s.nodes(each)):
                yield substituted_fact(each, self.values)
        for value in self.sizes.values():
            for part in divisions(value):
                if isinstance(part, s.Binary) and part.op == "/":
                    yield s.Divides(part.right, part.left, span=part.span)


def _call(metric: str, setting: _Setting, place: s.Node) -> s.Call:
    name = s.Name(setting.node.name, span=place.span)
    return s.Call(metric, (name,), tuple(setting.sizes.items()), span=place.span)


@dataclass
class ClaimOfCosts:
    """What a claim speaks of, under `more` facts: its costs, as amounts in formulas, and the constants of a machine.

    `assumed` is what the verdict rests on beside the facts of the claim and of the algorithms, `proofs` show growth.
    """

    claim: s.Claim
    known: ClaimedAlgorithms
    more: tuple[s.Fact, ...] = ()
    amounts: dict[str, Amount] = field(default_factory=dict)
    constants: dict[str, Fraction] = field(default_factory=dict)
    of_amounts: dict[str, tuple[_Setting, str]] = field(default_factory=dict)
    assumed: dict[str, None] = field(default_factory=dict)
    proofs: tuple[Proved, ...] = ()

    def decided(self) -> OrderVerdict:
        """The verdict. Raises ArchlineError for a machine or model that is unknown or does not fit."""
        left, right = self.formula(self.claim.left), self.formula(self.claim.right)
        if self.claim.relation in GROWTHS:
            return self._growth(left, right)
        try:
            sizes = self.sizes()
        except ArchlineError as problem:
            return OrderVerdict("unknown", problem.diagnostics[0].message)
        return CostOrder(left, self.claim.relation, right, self.amounts, self.constants, sizes).decided()

    @cached_property
    def facts(self) -> tuple[s.Fact, ...]:
        """What the claim itself says of sizes."""
        at = (fact(f"{name} == {format_expression(value)}") for name, value in self.claim.at)
        return (*self.claim.where, *at, *self.more)

    @cached_property
    def settings(self) -> dict[str, _Setting]:
        """The algorithms at their sizes, by what is written between the brackets."""
        found: dict[str, _Setting] = {}
        for cost in costs_in(self.claim):
            (name,) = cost.arguments
            assert isinstance(name, s.Name)
            setting = _Setting(self.known.subject(name.id), dict(cost.sizes))
            found.setdefault(setting.text(""), setting)
        return found

    # Formulas
    def formula(self, side: s.Expr) -> s.Expr:
        """A side with its costs as names of amounts, those on a machine as the model's formulas of amounts."""

        def named(part: s.Expr) -> s.Expr | None:
            if not isinstance(part, s.Call) or part not in costs:
                return None
            setting = self.settings[format_expression(replace(part, function=""))]
            if part.function in ON_MACHINE:
                return self._on_machine(part.function, setting)
            return self._amount(part.function, setting, part)

        costs = costs_in(self.claim)
        return rewritten(side, named)

    def _amount(self, metric: str, setting: _Setting, place: s.Node) -> s.Name:
        text = setting.text(metric)
        if text not in self.amounts:
            self.of_amounts[text] = setting, metric
            cost = _cost(setting.subject, metric)
            self.assumed |= dict.fromkeys(f"{each} (`{setting.node.name}`)" for each in setting.subject.needed)
            self.amounts[text] = Amount(text, cost, setting.values, setting.has_runs)
        return s.Name(text, span=place.span)

    def _on_machine(self, quantity: str, setting: _Setting) -> s.Expr:
        """Energy, time, power or energy-delay as the model's formula. Raises ArchlineError."""
        on = self.claim.on
        assert on is not None
        try:
            applied = self._applied(on, setting.subject)
        except ArchlineError as problem:
            raise _at(problem, on) from None
        model = applied.model
        energy, time = applied.complete(model.expanded(model.expression)), applied.formula("time")
        pairs = {"power": "/", "energy_delay": "*"}
        whole = energy if quantity == "energy" else time
        if quantity in pairs:
            whole = s.Binary(pairs[quantity], energy, time, span=on.span)
        names = names_in(whole)
        held = {name: each.lower for name, each in applied.constants.items() if name in names}
        self.constants |= {f"machine {name}": value for name, value in held.items()}
        values: dict[str, s.Expr] = {
            name: self._amount(name, setting, on) for name in sorted(names & METRICS.keys() - {"Z", "L"})
        }
        values |= {name: value for name, value in setting.values.items() if name in ("Z", "L")}
        values |= {name: s.Name(f"machine {name}", span=on.span) for name in held}
        return substituted(whole, values)

    def _applied(self, on: s.On, subject: AlgorithmSubject) -> Applied:
        model = model_for(subject, model_of(on.model or "ice"), on.model is not None)
        metrics = {*subject.metrics, "Z", "L"}
        found = Applied(model, machine_of(on.machine), frozenset(metrics))
        found.require()
        return found

    # Growth
    def _growth(self, left: s.Expr, right: s.Expr) -> OrderVerdict:
        """The verdict on O, Omega or Theta: by both growths, and as an `ensures` where a side is one cost."""
        formulas, parts = apart((left, right), self.amounts.keys() | self.constants.keys())
        growths = {name: self._growth_of(name) for name in self.amounts}
        growths |= {name: Growth(part, part) for name, part in parts.items()}
        factors = {name: ONE if value else ZERO for name, value in self.constants.items()}
        one, other = (of_formula(substituted(each, factors), growths) for each in formulas)
        own = (fact for each in self.settings.values() for fact in each.facts())
        facts = tuple(dict.fromkeys((*own, *self.facts)))
        found: dict[str, Half] = {}
        for side, turned in (("O", "Omega"), ("Omega", "O")):
            if self.claim.relation in (side, "Theta"):
                halves = (
                    half(side, one, other, facts),
                    *self._as_ensures(side, left, other, facts),
                    *self._as_ensures(turned, right, one, facts),
                )
                found[side] = next((each for each in halves if each.outcome != "unknown"), halves[0])
        whole = together(found)
        self.proofs = whole.proofs
        shown = "" if whole.outcome == "holds" else f"{one.text or 'unknown'} against {other.text or 'unknown'}"
        return OrderVerdict(whole.outcome, whole.reason, bounds=shown)

    def _as_ensures(self, side: str, cost: s.Expr, growth: Growth, facts: tuple[s.Fact, ...]) -> Iterator[Half]:
        """The verdict on one half as an `ensures` of the algorithm of a cost, proved or refuted by a growth."""
        if not isinstance(cost, s.Name) or cost.id not in self.of_amounts:
            return
        setting, metric = self.of_amounts[cost.id]
        subject, names = self._narrowed(setting), {*setting.own, *MACHINE_SYMBOLS}
        when = tuple(each for each in facts if s.names(each) <= names)
        needed, telling = (growth.lower, growth.upper) if side == "O" else (growth.upper, growth.lower)
        for bound, outcome in ((needed, "holds"), (telling, "fails")):
            if bound is None or setting.values.keys() & names - {"P"} or not s.names(bound) <= names:
                continue
            costs = subject.report.including(metric).costs
            ensures = s.Ensures(metric, None, side, bound, when, span=self.claim.span)
            (found,) = decide(subject.algorithm.module, subject.algorithm.node, costs, [ensures])
            if found.outcome == outcome:
                yield Half(found.outcome, found.reason, found.proofs)

    def _growth_of(self, name: str) -> Growth:
        """How a cost grows, in the sizes of the claim; nothing under conditions of which the claim says nothing."""
        setting, metric = self.of_amounts[name]
        known = self._narrowed(setting).in_sizes(everywhere=True)
        found = known.growth(metric)
        if any(each not in known.where for each in found.facts):
            return Growth(None, None)
        lower, upper = (each and substituted(each, setting.values) for each in (found.lower, found.upper))
        return Growth(lower, upper)

    def _narrowed(self, setting: _Setting) -> AlgorithmSubject:
        """An algorithm under the facts of the claim about sizes that it does not set."""
        names = {*setting.own, *MACHINE_SYMBOLS} - setting.sizes.keys()
        own = [each for each in self.facts if s.names(each) <= names]
        return self.known.subject(setting.node.name, ", ".join(map(format_fact, own)))

    # Sizes
    def sizes(self) -> Sizes:
        """The sizes of all costs together. Raises ArchlineError."""
        facts = self.facts
        names: dict[str, None] = {}
        indices: set[str] = set()
        every: list[s.Fact] = []
        for each in self.settings.values():
            names |= dict.fromkeys(name for name in each.own if name not in each.values)
            names |= dict.fromkeys(name for value in each.sizes.values() for name in sorted(s.names(value)))
            indices.update(each.subject.algorithm.signature.indices)
            every += each.facts()
        held = s.names((self.claim.left, self.claim.right, facts)) - {*self.known.module.visible}
        for amount in self.amounts.values():
            values = [amount.cost.lower, amount.cost.upper, *(each.upper for each in amount.cost.alternatives)]
            free = frozenset[str]().union(*(each.names for each in values if each is not None))
            more = sorted(name for name in free if name not in amount.sizes and name not in names)
            held |= {name for name in more if name in MACHINE_SYMBOLS}
            if amount.cost.metric == "io":
                held |= {"Z", "L"} - amount.sizes.keys()
            symbols = [name for name in more if name not in MACHINE_SYMBOLS]
            names |= dict.fromkeys(symbols)
            every += [fact(f"{name} >= 0") for name in symbols]
        names |= dict.fromkeys(name for name in ("P", "K", "L", "Z") if name in held)
        if {"Z", "L"} <= names.keys():
            every += [fact("Z >= L"), *self._cache()]
        return Sizes.of(
            names, indices - {name for each in self.settings.values() for name in each.sizes}, (*every, *facts)
        )

    def _cache(self) -> Iterator[s.Fact]:
        """The cache that is taken on a machine at sizes that name none, as commands do."""
        if self.claim.on is None or not self.claim.at or s.names(self.facts) & {"Z", "L"}:
            return
        self.assumed[f"Z = {DEFAULT_CACHE.Z}, L = {DEFAULT_CACHE.L}, as the claim names no cache"] = None
        yield fact(f"Z == {DEFAULT_CACHE.Z}")
        yield fact(f"L == {DEFAULT_CACHE.L}")


def _cost(subject: AlgorithmSubject, metric: str) -> Cost:
    """A derived cost; one that is unknown where it is not derived."""
    if metric in ("P", "nodes") or (subject.on_grid and metric in ON_GRID):
        return subject.cost(metric)
    try:
        return subject.report.including(metric).costs[metric]
    except KeyError:
        return Cost(metric, "unknown", None, None, f"the {metric} of `{subject.name}` is not derived")


def _at(problem: ArchlineError, place: s.Node) -> ArchlineError:
    """The same error at a place of the program."""
    found = [Diagnostic(each.rule, each.message, place.span, hint=each.hint) for each in problem.diagnostics]
    return ArchlineError(found)
