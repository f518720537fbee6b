"""Bound the io of recursions whose call sizes depend on data, by the volume that calls divide, at sizes, Z and L.

About the calls in a loop, only the sum of their volumes may be known: N calls with a concave bound f cost at most
N*f(V/N) if their volumes sum to V. If a size q that is not in the volume varies, and its values sum to Q, they cost
at most N*g(V/N) + p*Q for any price p, with g a concave function that is at least f - p*q for all q.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product, starmap
from typing import NamedTuple

from archline.algebra import atoms as a
from archline.algebra.concave import RATIONAL_ZERO, ConcaveFunction, concave_majorant
from archline.algebra.effort import TooComplexError, limit_effort
from archline.algebra.evaluate.exact import PointValues
from archline.algebra.facts import Facts
from archline.algebra.polynomial import ONE, ZERO, Atom, Poly, Symbol
from archline.algebra.relax import replace_atoms_by_bounds
from archline.analysis.cache.data_dependent.cases import (
    CallState,
    CaseCache,
    ConcaveSolver,
    FetchedLinesSolver,
    StackWordsBound,
    StackWordsSolver,
    compute_size_weights,
)
from archline.analysis.cache.data_dependent.divided import (
    DividedAlgorithm,
    UndividedError,
    bound_parameter_words_above,
    extract_divided_algorithms,
)
from archline.analysis.metrics.accesses import (
    METRIC,
    LineSharing,
    LocalArrayWordModel,
    StreamedWordModel,
    WordModel,
    find_contiguous_arrays,
)
from archline.analysis.metrics.data import amount_at_sizes, contains_kind
from archline.analysis.metrics.derivation import Derivation
from archline.analysis.metrics.tally import Tally
from archline.expr.intervals import EvaluationError
from archline.ir.amounts import Amount, UnknownAmount, exact_amount
from archline.ir.scope import NotStaticError, Scope
from archline.ir.tree import require_traceable
from archline.language import syntax as s
from archline.language.call_graph import find_reachable, find_recursive_component, has_recursion, iterate_local_arrays
from archline.language.model import Module
from archline.numbers import fmpq
from archline.records import memoised, record, replace
from archline.recurrences.exact.at_call import NotComparableError

CALL_COUNT = "calls"
DATA_ATOMS = a.Data | a.Offset | a.Gap
MAX_ENUMERATED_VALUES = 512
"""The maximum number of values of a size that are enumerated."""
MAX_TERM_PRODUCTS = 2_000_000


@record(eq=False)
class CallSiteSummary:
    """Bounds on the calls that one call site makes, in sizes of the caller.

    `count` bounds the number of calls, `same` has sizes that are equal in all calls, and `most` bounds other sizes
    from above. `sums` has for each other size pairs of a total and a divisor: where the divisor is at least 1, the
    values of the size in all calls add up to at most the total divided by it.
    """

    target: s.Algorithm
    count: Poly
    same: Mapping[str, Poly]
    most: Mapping[str, Poly]
    sums: Mapping[str, tuple[tuple[Poly, Poly], ...]]


@record(eq=False)
class NonRecursiveCaller:
    """An algorithm that does not call itself: its cost without recursive calls, and its sites of recursive calls.

    `given` and `made` are the words of its arguments and of its local arrays, rounded up to whole lines.
    """

    cost: Poly
    sites: tuple[CallSiteSummary, ...] = ()
    given: Poly = ZERO
    made: Poly = ZERO


def summarise_caller(module: Module, algorithm: s.Algorithm, model: WordModel) -> NonRecursiveCaller:
    """Summarise an algorithm that does not call itself, under a cost model. Raises UndividedError."""
    collector = _CallSiteCollector(module, model)
    tally, _ = collector.derive_algorithm(algorithm)
    if tally.gap is not None or tally.rounds:
        # The iterations of a loop without a bound are no size of a call.
        raise UndividedError
    cost = _require_upper_bound(tally.sums, METRIC) if METRIC in tally.sums else ZERO
    return NonRecursiveCaller(cost, tuple(context.build_summary(tally.sums) for context in collector.places.values()))


@record(eq=False)
class _CallSite:
    """A call site: sizes that are the `same` in all its calls, the names of other sizes, and their bounds `most`."""

    label: str
    target: s.Algorithm
    same: Mapping[str, Poly]
    most: Mapping[str, Poly]
    others: tuple[str, ...]

    def iterate_call_amounts(
        self, call: s.Call, sizes: Mapping[str, Poly], facts: Facts
    ) -> Iterator[tuple[str, Amount]]:
        """Yield the name of each total of the call site, and the amount that one call adds to it."""
        yield f"{self.label} {CALL_COUNT}", exact_amount(ONE)
        for name in self.others:
            for factor in (None, *self.same):
                value = Poly.symbol(name) * (ONE if factor is None else Poly.symbol(factor))
                yield self._make_total_name(name, factor), amount_at_sizes(exact_amount(value), sizes, facts, call)

    def build_summary(self, amounts: Mapping[str, Amount]) -> CallSiteSummary:
        """Build the summary of the call site from the totals of all calls."""
        count = _require_upper_bound(amounts, f"{self.label} {CALL_COUNT}")
        sums = {name: tuple(self._iterate_totals(name, amounts)) for name in self.others}
        return CallSiteSummary(self.target, count, self.same, self.most, sums)

    def _iterate_totals(self, name: str, amounts: Mapping[str, Amount]) -> Iterator[tuple[Poly, Poly]]:
        for factor, number in ((None, ONE), *self.same.items()):
            amount = amounts.get(self._make_total_name(name, factor))
            if amount is not None and not isinstance(amount, UnknownAmount):
                yield amount.upper, number

    def _make_total_name(self, name: str, factor: str | None) -> str:
        return f"{self.label} {name}" + ("" if factor is None else f" times {factor}")


class _CallSiteCollector(Derivation):
    """Collects calls of recursive algorithms and sums their sizes, instead of deriving their cost."""

    def __init__(self, module: Module, model: WordModel) -> None:
        super().__init__(module, coarse=False, model=model)
        self.places: dict[s.Call, _CallSite] = {}

    def derive_call(self, call: s.Call, scope: Scope) -> Tally:
        target = self.module.targets[call]
        if not isinstance(target, s.Algorithm) or not has_recursion(self.module, target):
            return super().derive_call(call, scope)
        sizes = self.evaluate_callee_sizes(call, target, scope)
        context = self.places.setdefault(call, _build_call_site(f"call {len(self.places)}", target, sizes, scope))
        return Tally(dict(context.iterate_call_amounts(call, sizes, scope.facts)))


def _build_call_site(label: str, target: s.Algorithm, sizes: Mapping[str, Poly], scope: Scope) -> _CallSite:
    caller_symbols = scope.fixed
    restored = {name: scope.facts.restore(value) for name, value in sizes.items()}
    same = {
        name: value for name, value in restored.items() if value.names <= caller_symbols and not _depends_on_data(value)
    }
    varying = tuple(name for name in sizes if name not in same)
    ends = {name: _bound_above_in_caller_symbols(sizes[name], scope.facts, caller_symbols) for name in varying}
    most = {name: scope.facts.restore(end) for name, end in ends.items() if end is not None}
    return _CallSite(label, target, same, most, varying)


def _depends_on_data(value: Poly) -> bool:
    return any(contains_kind(DATA_ATOMS, atom) for atom in value.atoms())


def _bound_above_in_caller_symbols(value: Poly, facts: Facts, caller_symbols: frozenset[str]) -> Poly | None:
    """Bound a value from above in symbols of the caller alone; None if that fails."""

    def find_foreign_atom(value: Poly) -> Atom | None:
        last_name = next((name for name in reversed(facts.bounds) if name in value.names - caller_symbols), None)
        return (
            next((atom for atom in value.atoms() if contains_kind(DATA_ATOMS, atom)), None)
            if last_name is None
            else Symbol(last_name)
        )

    bound = replace_atoms_by_bounds(value, find_foreign_atom, facts, upper=True)
    return bound if bound is not None and bound.names <= caller_symbols else None


def _require_upper_bound(amounts: Mapping[str, Amount], kind: str) -> Poly:
    amount = amounts.get(kind)
    if amount is None or isinstance(amount, UnknownAmount):
        raise UndividedError
    return amount.upper


Sizes = Mapping[str, int]


@record(eq=False)
class FetchBounds:
    """Bounds the lines, times L, that calls of recursive algorithms (`divided`) and of their callers (`around`) fetch.

    `solving` and `making` bound the fetched lines and the stack words of divided algorithms; `room` is the cache
    size in words.
    """

    around: Mapping[s.Algorithm, NonRecursiveCaller]
    divided: Mapping[s.Algorithm, DividedAlgorithm]
    solving: ConcaveSolver
    making: StackWordsBound
    room: int

    def at(self, algorithm: s.Algorithm, sizes: Sizes) -> fmpq:
        """Bound the lines that one call of an algorithm fetches, times L. Raises UndividedError."""
        if algorithm not in self.around:
            return (
                self.bound_batch_fetches_above(CallBatch.of_one(self.divided[algorithm], sizes))
                if algorithm in self.divided
                else RATIONAL_ZERO
            )
        try:
            return self._bound_caller_fetches_above(self.around[algorithm], PointValues(sizes))
        except EvaluationError as problem:
            raise UndividedError from problem

    def _bound_caller_fetches_above(self, caller: NonRecursiveCaller, place: PointValues) -> fmpq:
        touched = self._compute_fitting_footprint(caller, place)
        fetched = place.evaluate_expression(caller.cost)
        if touched is not None and touched <= fetched:
            return touched
        try:
            fetched += sum((self._bound_site_fetches_above(site, place) for site in caller.sites), RATIONAL_ZERO)
        except UndividedError:
            if touched is None:
                raise
            return touched
        return fetched if touched is None else min(fetched, touched)

    def _compute_fitting_footprint(self, caller: NonRecursiveCaller, place: PointValues) -> fmpq | None:
        """Return an upper bound on the footprint of a call in words if it fits in the cache, and otherwise None."""
        touched = place.evaluate_expression(caller.given) + place.evaluate_expression(caller.made)
        if touched <= self.room:
            try:
                touched += max(
                    (self._bound_stack_words_above(site, place) for site in caller.sites), default=RATIONAL_ZERO
                )
            except UndividedError:
                return None
        return touched if touched <= self.room else None

    def _bound_site_fetches_above(self, site: CallSiteSummary, place: PointValues) -> fmpq:
        """Bound the lines that all calls of a call site fetch, times L."""
        if site.target in self.divided:
            return self.bound_batch_fetches_above(CallBatch.of(self.divided[site.target], site, place))
        evaluated = _EvaluatedSite(site, place)
        return evaluated.count * self.at(site.target, evaluated.same) if evaluated.count > 0 else RATIONAL_ZERO

    def _bound_stack_words_above(self, site: CallSiteSummary, place: PointValues) -> fmpq:
        """Bound the stack words of any call of a call site."""
        if site.target in self.divided:
            calls = CallBatch.of(self.divided[site.target], site, place)
            return max(
                (self.making(state, calls.largest).evaluate(calls.largest) for _, state in calls.states),
                default=RATIONAL_ZERO,
            )
        if site.target not in self.around:
            return RATIONAL_ZERO
        inner = self.around[site.target]
        at_call = PointValues(_EvaluatedSite(site, place).same)
        return at_call.evaluate_expression(inner.made) + max(
            (self._bound_stack_words_above(call, at_call) for call in inner.sites), default=RATIONAL_ZERO
        )

    def bound_batch_fetches_above(self, calls: CallBatch) -> fmpq:
        """Bound the lines that a batch of calls of a recursive algorithm fetches, times L."""
        if calls.count <= 0:
            return RATIONAL_ZERO
        bounds = [(size, self.solving.bound_state_cost_above(state, calls.largest)) for size, state in calls.states]
        mean = min(calls.volume / calls.count, calls.largest)
        if len(bounds) == 1:
            return calls.count * bounds[0][1].evaluate(mean)
        by_size = concave_majorant((fmpq(size), bound.evaluate(mean)) for size, bound in bounds)
        prices = [RATIONAL_ZERO, *(slope for _, slope in by_size.pieces)]
        return min(
            calls.count * _build_discounted_upper_bound(bounds, price, calls.largest).evaluate(mean)
            + price * calls.differing
            for price in prices
        )


def _build_discounted_upper_bound(
    bounds: Sequence[tuple[int, ConcaveFunction]], price: fmpq, end: fmpq
) -> ConcaveFunction:
    """Build the smallest concave function that is at least each bound less `price` times its size.

    `end` is the largest volume.
    """
    return concave_majorant(
        (volume, value - price * size)
        for size, bound in bounds
        for volume, value in bound.iterate_breakpoints(RATIONAL_ZERO, end)
    )


@record
class CallBatch:
    """A number of calls of a recursive algorithm, with their total volume and the largest volume.

    `states` are the possible call states, by the value of the only known size that varies (0 if none does);
    `differing` bounds the sum of that size over all calls.
    """

    count: int
    volume: fmpq
    largest: fmpq
    states: tuple[tuple[int, CallState], ...]
    differing: fmpq = RATIONAL_ZERO

    @classmethod
    def of_one(cls, target: DividedAlgorithm, sizes: Sizes) -> CallBatch:
        """Build the batch of one call with given sizes. Raises UndividedError if a size is missing."""
        if not sizes.keys() >= set(target.function.parameters):
            raise UndividedError
        caps = {name: fmpq(sizes[name]) for name in target.measured}
        state = CallState.of(target, sizes, caps)
        volume = _sum_volume(compute_size_weights(target, state.known_sizes), caps)
        return cls(1, volume, volume, ((0, state),))

    @classmethod
    def of(cls, target: DividedAlgorithm, site: CallSiteSummary, place: PointValues) -> CallBatch:
        """Build the batch of the calls that a call site makes at sizes of the caller. Raises UndividedError."""
        evaluated = _EvaluatedSite(site, place)
        if evaluated.count <= 0:
            return cls(0, RATIONAL_ZERO, RATIONAL_ZERO, ())
        caps = {name: evaluated.bound_size_above(name) for name in target.measured}
        differing = [name for name in target.known_sizes if name not in evaluated.same]
        if len(differing) > 1:
            raise UndividedError
        if differing:
            (name,) = differing
            states = {
                size: CallState.of(target, {**evaluated.same, name: size}, caps)
                for size in evaluated.list_possible_values(target, name)
            }
        else:
            states = {0: CallState.of(target, evaluated.same, caps)}
        state_weights = [compute_size_weights(target, state.known_sizes) for state in states.values()]
        most = {name: max(weights[name] for weights in state_weights) for name in target.measured}
        sums = {name: evaluated.bound_size_sum_above(name) for name in target.measured}
        differs = sum(map(evaluated.bound_size_sum_above, differing), RATIONAL_ZERO)
        return cls(evaluated.count, _sum_volume(most, sums), _sum_volume(most, caps), tuple(states.items()), differs)


def _sum_volume(counts: Mapping[str, fmpq], sizes: Mapping[str, fmpq]) -> fmpq:
    return sum((count * sizes[name] for name, count in counts.items()), RATIONAL_ZERO)


class _EvaluatedSite:
    """A call site at sizes of the caller: the number of calls, and the sizes that are equal in all calls."""

    def __init__(self, site: CallSiteSummary, place: PointValues) -> None:
        self._site, self._place = site, place
        self.count = int(place.evaluate_expression(site.count).floor())
        self.same = {name: int(place.evaluate_expression(value)) for name, value in site.same.items()}

    def bound_size_sum_above(self, name: str) -> fmpq:
        """Bound the sum of a size over all calls. Raises UndividedError."""
        if name in self.same:
            return fmpq(self.count * self.same[name])
        number = self._place.evaluate_expression
        pairs = [(number(total), number(divisor)) for total, divisor in self._site.sums[name]]
        totals = [total / divisor for total, divisor in pairs if divisor >= 1]
        if not totals:
            raise UndividedError
        return min(totals)

    def bound_size_above(self, name: str) -> fmpq:
        """Bound a size from above. Raises UndividedError."""
        if name in self.same:
            return fmpq(self.same[name])
        ends = [self._place.evaluate_expression(self._site.most[name])] if name in self._site.most else []
        return min([self.bound_size_sum_above(name), *ends])

    def list_possible_values(self, target: DividedAlgorithm, name: str) -> range:
        """List the values that a size may have. Raises UndividedError if there are none or too many."""
        candidates = range(target.function.least[name], int(self.bound_size_above(name).floor()) + 1)
        if not 0 < len(candidates) <= MAX_ENUMERATED_VALUES:
            raise UndividedError
        return candidates


class _SharingPolicy(NamedTuple):
    """The loops in which accesses share lines, and whether volumes are measured in words instead of costs."""

    sharing: LineSharing
    by_words: bool


@dataclass(eq=False)
class DataDivisionBounds:
    """Upper bounds on the io of an algorithm with data-dependent call sizes."""

    module: Module
    algorithm: s.Algorithm

    def at(self, point: Mapping[str, int]) -> int:
        """Bound the lines fetched at sizes, Z and L. Raises UndividedError."""
        bounds = [
            bound
            for policy in self._iterate_sharing_policies(point)
            if (bound := self._bound_policy_fetches_above(point, policy)) is not None
        ]
        if not bounds:
            raise UndividedError
        return min(bounds)

    def _iterate_sharing_policies(self, point: Mapping[str, int]) -> Iterator[_SharingPolicy]:
        """Yield the policies that are worth evaluating: their shared lines fit in the cache, and no two are equal."""
        for policy in starmap(_SharingPolicy, product(LineSharing, (True, False))):
            table = self._get_policy_table(point["L"], policy)
            if (
                table is not None
                and table.kept <= point["Z"] // point["L"]
                and (policy.by_words or table.has_several_sizes)
            ):
                yield policy

    def _bound_policy_fetches_above(self, point: Mapping[str, int], policy: _SharingPolicy) -> int | None:
        line, lines = point["L"], point["Z"] // point["L"]
        table = self._get_policy_table(line, policy)
        if table is None:
            return None
        solving = FetchedLinesSolver(table.volumes, line=line, room=lines * line, making=table.stack_words_bound)
        totals = FetchBounds(table.around, table.lines, solving, table.stack_words_bound, lines * line)
        try:
            return int((totals.at(self.algorithm, point) / line).floor())
        except (UndividedError, TooComplexError, RecursionError):
            # Calls are nested more deeply than Python's recursion limit.
            return None

    @memoised
    def _get_policy_table(self, line: int, policy: _SharingPolicy) -> _PolicyTable | None:
        try:
            with limit_effort(MAX_TERM_PRODUCTS, own=True):
                return _build_policy_table(self.module, self.algorithm, line, policy)
        except (UndividedError, TooComplexError, NotComparableError, NotStaticError):
            return None


@record(eq=False)
class _PolicyTable:
    """The divided algorithms under a policy at one L, with costs in fetched lines (`lines`) or stack words (`made`).

    `around` has the algorithms that are not recursive; `kept` is the number of lines that loops hold at a time.
    """

    lines: Mapping[s.Algorithm, DividedAlgorithm]
    made: Mapping[s.Algorithm, DividedAlgorithm]
    around: Mapping[s.Algorithm, NonRecursiveCaller]
    kept: int
    volumes: CaseCache = field(default_factory=CaseCache)

    @property
    def has_several_sizes(self) -> bool:
        """True if some algorithm has several data-dependent sizes, so that their weights in the volume matter."""
        return any(len(divided.measured) > 1 for divided in self.lines.values())

    @cached_property
    def stack_words_bound(self) -> StackWordsBound:
        """A bound on the stack words of divided algorithms, which does not depend on Z."""
        made = {divided: self.made[algorithm] for algorithm, divided in self.lines.items() if algorithm in self.made}
        stack = StackWordsSolver(self.volumes)

        def bound_stack_words(state: CallState, end: fmpq) -> ConcaveFunction:
            words = made.get(state.own)
            return ConcaveFunction() if words is None else stack.bound_state_cost_above(state._replace(own=words), end)

        return bound_stack_words


def _build_policy_table(module: Module, algorithm: s.Algorithm, line: int, policy: _SharingPolicy) -> _PolicyTable:
    require_traceable(module, algorithm)
    reached = tuple(dict.fromkeys((algorithm, *find_reachable(module, algorithm))))
    together = find_contiguous_arrays(module, reached)
    streamed = StreamedWordModel(module, reached, line, together, policy.sharing)
    if policy.sharing is LineSharing.NESTED and not streamed.nested:
        # No loop with inner loops shares lines: the policy equals that of innermost loops.
        raise UndividedError
    lines = extract_divided_algorithms(module, reached, streamed, together, line, policy.by_words)
    callers = _summarise_callers(module, reached, streamed)
    makers: Mapping[s.Algorithm, NonRecursiveCaller] = {}
    stacks: Mapping[s.Algorithm, DividedAlgorithm] = {}
    if any(iterate_local_arrays(module, algorithm)):
        making = LocalArrayWordModel(module, reached, line)
        stacks = extract_divided_algorithms(module, reached, making, together, line, policy.by_words, lines)
        makers = _summarise_callers(module, reached, making)
        if any(stacks[callee].measured != divided.measured for callee, divided in lines.items() if callee in stacks):
            raise UndividedError
    around = {
        root: replace(
            form,
            given=bound_parameter_words_above(module, root, together[root], line),
            made=makers[root].cost if makers else ZERO,
        )
        for root, form in callers.items()
    }
    return _PolicyTable(lines, stacks, around, streamed.lines)


def _summarise_callers(
    module: Module, reached: tuple[s.Algorithm, ...], model: WordModel
) -> dict[s.Algorithm, NonRecursiveCaller]:
    """Summarise the first algorithm and all callers of recursive ones, except for the recursive algorithms."""
    around = [candidate for candidate in reached if candidate is reached[0] or has_recursion(module, candidate)]
    return {
        caller: summarise_caller(module, caller, model)
        for caller in around
        if not find_recursive_component(module, caller)
    }
