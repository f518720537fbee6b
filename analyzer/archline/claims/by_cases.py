"""Decide claims and derive costs under additional facts, such as more than one processor per axis.

A cost for all sizes contains conditions: along an axis of one processor nothing is sent, for example. Costs that are
derived under the `when` of a claim, or in a case of a grid's axes (extent 1, or at least 2), have fewer of them.

On an axis of one processor the general form is exact too: `min(g, 2) - 1` is 0 at g = 1, and 1 if g >= 2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product

from archline.algebra.effort import is_out_of_time
from archline.algebra.polynomial import ZERO, Poly
from archline.analysis.analyse import derive, derive_longest_message_costs, derive_steps_on_grid
from archline.analysis.communication.path_steps import PathStep
from archline.analysis.cost import Cost, Costs
from archline.analysis.sampling import list_assumed_facts
from archline.claims.verdicts import Verdict, join_case_verdicts
from archline.expr import build as b
from archline.expr.text import format_expression, format_fact
from archline.expr.tree import has_same_structure
from archline.growth.log_domain import Domain
from archline.ir.conditions import has_false_fact, with_facts
from archline.ir.declarations import declared_scope
from archline.ir.recursive import inherited_facts
from archline.ir.scope import Scope, known_value
from archline.language import model
from archline.language import syntax as s
from archline.language.call_graph import find_reachable
from archline.language.diagnostics import ArchlineError
from archline.language.extra_facts import add_where_facts
from archline.language.model import Module
from archline.language.substitution import express_facts_in_sizes
from archline.records import record, replace

MAX_SPLITS = 3
"""A claim is decided in at most 2^MAX_SPLITS cases."""
MAX_AXES = 2
"""The maximum number of axes with different extents; costs are derived in all combinations of their cases."""
MAX_DERIVATIONS = 40
"""The maximum number of times that the costs of an algorithm are derived for its claims."""
MAX_NODES = 3000
"""The costs of an algorithm with more nodes, callees included, are not derived in cases."""
Decide = Callable[[s.Ensures, s.Algorithm, Costs, Scope], Verdict]


@record(eq=False)
class AlgorithmInCase:
    """An algorithm, in a scope with facts about its outermost call."""

    algorithm: s.Algorithm
    scope: Scope

    @cached_property
    def costs(self) -> Costs:
        return derive(self.scope.module, self.algorithm)


def is_too_long_to_rederive(module: Module, algorithm: s.Algorithm) -> bool:
    """Test whether an algorithm is too long to derive its costs more than once."""
    callees = (algorithm, *find_reachable(module, algorithm))
    return sum(1 for callee in callees for _ in s.iterate_nodes(callee.body)) > MAX_NODES


@record
class _Split:
    """The facts of two complementary cases of an integer: it is 1 (`one`), or at least 2 (`several`)."""

    number: s.Expr
    one: tuple[s.Fact, ...]
    several: tuple[s.Fact, ...]


@dataclass
class CaseDecider:
    """Decides the claims of one algorithm by cases, with derivations shared among claims."""

    module: Module
    algorithm: s.Algorithm
    decide: Decide
    _derived: dict[tuple[str, ...], AlgorithmInCase | None] = field(default_factory=dict)

    def decide_by_cases(self, ensures: s.Ensures, before: Verdict) -> Verdict:
        """Decide a claim by cases; return `before`, its verdict so far, if they do not decide it."""
        if (
            not (self.algorithm.grid or ensures.when)
            or is_too_long_to_rederive(self.module, self.algorithm)
            or is_out_of_time()
        ):
            return before
        for decide_cases in (self._decide_by_axes, self._decide_by_when):
            by_cases = decide_cases(ensures)
            if by_cases is not None and by_cases.outcome in ("holds", "fails"):
                return by_cases
        return before

    def _decide_by_axes(self, ensures: s.Ensures) -> Verdict | None:
        """Decide a claim in all cases of the axes' extents that its facts allow; None if it is not decided."""
        extents = dict.fromkeys(extent.id for axis in self.algorithm.grid if isinstance(extent := axis.extent, s.Name))
        axis_cases = [_list_allowed_axis_cases(self.module, self.algorithm, ensures, name) for name in extents]
        if not 1 <= len(axis_cases) <= MAX_AXES or not all(axis_cases):
            return None

        def iterate_case_verdicts() -> Iterator[Verdict | None]:
            for facts in (sum(case, ()) for case in product(*axis_cases)):
                narrowed = self._derive_under_facts_once(facts)
                if narrowed is None:
                    yield None
                elif not has_false_fact(ensures.when, narrowed.scope):
                    yield _prefix_case_to_failure(
                        self.decide(ensures, narrowed.algorithm, narrowed.costs, narrowed.scope), facts
                    )

        return join_case_verdicts(iterate_case_verdicts())

    def _decide_by_when(self, ensures: s.Ensures) -> Verdict | None:
        """Decide a claim with costs derived under its `when`, split in cases; None if these costs cannot be derived."""
        return self._decide_under_facts(ensures, ensures.when, MAX_SPLITS)

    def _decide_under_facts(self, ensures: s.Ensures, facts: tuple[s.Fact, ...], splits: int) -> Verdict | None:
        """Decide a claim under facts, in at most 2^splits cases; None if costs cannot be derived under these facts."""
        narrowed = self._derive_under_facts_once(facts)
        if narrowed is None:
            return None
        verdict = self.decide(ensures, narrowed.algorithm, narrowed.costs, narrowed.scope)
        if verdict.outcome != "unknown" or not splits or ensures.metric not in narrowed.costs.metrics:
            # Io, and metrics that are derived on request, are not derived in cases.
            return verdict
        split = next(_iterate_undecided_splits(self.algorithm, ensures, narrowed), None)
        if split is None:
            return verdict
        cases = (split.several, split.one)
        return join_case_verdicts(
            _prefix_case_to_failure(self._decide_under_facts(ensures, (*facts, *case), splits - 1), case)
            for case in cases
        )

    def _derive_under_facts_once(self, facts: tuple[s.Fact, ...]) -> AlgorithmInCase | None:
        """Return the algorithm under facts about its outermost call; None if its costs cannot be derived under these.

        Results are cached by the texts of the facts, in order. None is returned too after MAX_DERIVATIONS derivations.
        """
        key = tuple(map(format_fact, facts))
        if key not in self._derived:
            if len(self._derived) >= MAX_DERIVATIONS:
                return None
            self._derived[key] = self._derive_under_facts(facts)
        return self._derived[key]

    def _derive_under_facts(self, facts: tuple[s.Fact, ...]) -> AlgorithmInCase | None:
        """Add facts to the algorithm; None if its recursive calls do not satisfy them, or they are contradictory."""
        if inherited_facts(self.module, self.algorithm, facts) != facts:
            # The costs of recursive calls would be derived under facts that hold for the outermost call only.
            return None
        try:
            module, algorithm = add_where_facts(self.module, self.algorithm, facts)
        except ArchlineError:
            return None
        return AlgorithmInCase(algorithm, declared_scope(module, algorithm))


def _list_allowed_axis_cases(
    module: Module, algorithm: s.Algorithm, ensures: s.Ensures, name: str
) -> list[tuple[s.Fact, ...]]:
    """List the cases of an axis' extent `name`, 1 or at least 2, that the facts of a claim do not exclude."""
    scope = declared_scope(module, algorithm)
    facts = with_facts(scope.facts, ensures.when, scope)
    split = _make_split(s.Name(name, span=algorithm.span))
    size = facts.rewrite_symbol(name)
    several, one = not facts.nonnegative(1 - size), not facts.nonnegative(size - 2)
    return [split.several] * several + [split.one] * one


def _prefix_case_to_failure(verdict: Verdict | None, case: tuple[s.Fact, ...]) -> Verdict | None:
    """Put the case in front of the reason of a verdict that fails; None and other verdicts are unchanged."""
    if verdict is None or verdict.outcome != "fails":
        return verdict
    return replace(verdict, reason=f"where {' and '.join(map(format_fact, case))}: {verdict.reason}")


def _iterate_undecided_splits(
    algorithm: s.Algorithm, ensures: s.Ensures, narrowed: AlgorithmInCase
) -> Iterator[_Split]:
    """Yield the splits that the facts do not decide and whose names occur in conditions of the cost."""
    scope = narrowed.scope
    conditions = _find_sizes_in_atoms(narrowed.costs.metrics[ensures.metric])
    for split in _iterate_splits(algorithm, ensures):
        number = known_value(split.number, scope)
        if number is None:
            continue
        number = scope.facts.simplify(number)
        facts = scope.facts
        if not facts.positive(number) or facts.nonnegative(number - 2) or facts.nonnegative(1 - number):
            continue
        if facts.restore(number).names <= conditions:
            yield split


def _find_sizes_in_atoms(cost: Cost) -> frozenset[str]:
    """Find the sizes inside maxima, floors and similar atoms of a cost."""
    bounds = [bound for bound in (cost.lower, cost.upper) if bound is not None]
    names = [part.names for bound in bounds for atom in bound.atoms() for part in atom.parts]
    return frozenset[str]().union(*names)


def _iterate_splits(algorithm: s.Algorithm, ensures: s.Ensures) -> Iterator[_Split]:
    """Yield splits of axis extents that are sizes, of divisors and quotients in facts, and then of other extents."""
    extents = sorted((axis.extent for axis in algorithm.grid), key=lambda extent: not isinstance(extent, s.Name))
    yield from (_make_split(extent) for extent in extents if isinstance(extent, s.Name))
    for fact in (*algorithm.where, *ensures.when):
        if isinstance(fact, s.Divides):
            for name in sorted(s.find_names(fact.divisor) - {"P"}):
                yield _make_split(s.Name(name, span=fact.span))
            yield _make_split(s.Binary("/", fact.value, fact.divisor, span=fact.span))
    yield from (_make_split(extent) for extent in extents if not isinstance(extent, s.Name))


def _make_split(number: s.Expr) -> _Split:
    """Make the split of a number; for a quotient x/y its cases are x == y and x >= 2*y."""
    match number:
        case s.Binary(op="/", left=left, right=right):
            above, below = left, right
        case _:
            above, below = number, b.ONE
    twice = b.number(2) if has_same_structure(below, b.ONE) else b.product([b.number(2), below])
    return _Split(number, (b.binary("==", above, below),), (b.binary(">=", above, twice),))


@record(eq=False)
class GeneralCase:
    """An algorithm with its costs under the facts `when`; `longest` bounds the words of a message, if it is given."""

    module: model.Module
    node: s.Algorithm
    when: tuple[s.Fact, ...]
    costs: Costs
    longest: Poly | None = None

    @property
    def steps(self) -> tuple[PathStep, ...]:
        """The steps of the critical path that the statements make."""
        return derive_steps_on_grid(self.module, self.node, self.longest)


def derive_general_case(module: model.Module, node: s.Algorithm, costs: Costs, longest: Poly | None) -> GeneralCase:
    """Derive the case of at least two processors on every axis; the general `costs` if that fails or is implied."""
    when = _list_multiple_processor_facts(module, node)
    everywhere = GeneralCase(module, node, (), costs, longest)
    if not when or is_too_long_to_rederive(module, node):
        return everywhere
    try:
        narrowed, narrowed_node = add_where_facts(module, node, when)
        Domain((*express_facts_in_sizes(narrowed_node), *list_assumed_facts(narrowed_node)))
    except ArchlineError:
        # No sizes satisfy these facts.
        return everywhere
    if inherited_facts(module, node, when) != when:
        # Recursive calls may have axes of one processor.
        return everywhere
    derived = (
        derive(narrowed, narrowed_node) if longest is None else derive_longest_message_costs(narrowed, narrowed_node)
    )
    if any(cost.upper is None and costs[cost.metric].upper is not None for cost in derived):
        return everywhere
    metrics = {cost.metric: _select_sharper_cost(cost, costs[cost.metric]) for cost in derived}
    return GeneralCase(narrowed, narrowed_node, when, replace(costs, metrics={**costs.metrics, **metrics}), longest)


def _list_multiple_processor_facts(module: model.Module, node: s.Algorithm) -> tuple[s.Fact, ...]:
    """List the facts that an axis has at least two processors, for axes where that is neither implied nor excluded."""
    scope = declared_scope(module, node)
    result: dict[str, s.Fact] = {}
    for axis in node.grid:
        extent = known_value(axis.extent, scope)
        if extent is None:
            return ()
        if not scope.facts.nonnegative(extent - 2) and not scope.facts.nonnegative(1 - extent):
            result[format_expression(axis.extent)] = b.binary(">=", axis.extent, b.number(2))
    return tuple(result.values())


def _select_sharper_cost(found: Cost, everywhere: Cost) -> Cost:
    """Return the cost `found` under facts, or the cost `everywhere` for all sizes if only the latter is exact."""
    return everywhere if everywhere.exact and not found.exact else found


def has_shorter_forms(case: GeneralCase, costs: Costs) -> bool:
    """Test whether the bounds of the case are shorter, as texts, than those of `costs`."""
    return sum(_count_form_length(case.costs, cost) for cost in case.costs) < sum(
        _count_form_length(costs, cost) for cost in costs
    )


def _count_form_length(costs: Costs, cost: Cost) -> int:
    return sum(len(costs.text(bound)) for bound in (cost.lower or ZERO, cost.upper or ZERO))
