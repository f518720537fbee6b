"""Solve the costs of recursive algorithms: closed forms if found, else bounds, and values at any sizes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import permutations

from archline.algebra.effort import TooComplexError, limit_effort
from archline.algebra.facts import Facts
from archline.algebra.lp import append_failures
from archline.algebra.polynomial import ZERO, Poly
from archline.analysis.metrics.extraction import ExtractedSystems, Extraction
from archline.analysis.metrics.relations import may_exceed
from archline.analysis.metrics.solution import (
    MetricSolution,
    amount_in_sizes,
    bound_over_recursive_calls,
    combine_recursive_and_base_cases,
)
from archline.analysis.metrics.statements import Statements
from archline.analysis.metrics.tally import Tally
from archline.expr.intervals import EvaluationError, Interval, Point
from archline.ir.amounts import ZERO_AMOUNT, Amount, KnownAmount, UnknownAmount, exact_amount, map_bounds
from archline.ir.declarations import declared_scope, read_index_properties
from archline.language import syntax as s
from archline.language.call_graph import find_recursive_component, has_forks, traverse_reachable
from archline.records import memoised, replace
from archline.recurrences.closed.levels import bound_function_by_levels
from archline.recurrences.closed.measures import bound_by_halves, bound_by_measure, has_several_calls_by_steps
from archline.recurrences.evaluate import PointTable, ValueTable
from archline.recurrences.exact import indexed
from archline.recurrences.exact.at_call import (
    NotComparableError,
    bound_below_at_foreign_call,
    compute_symbol_values_in_call,
    replace_halvings_by_logs,
)
from archline.recurrences.exact.base_cases import (
    always_terminates,
    clamp_lower_bound,
    is_bound_at_leaves,
    remove_caps,
    resolve_maxima_at_call,
    transform_inside_clamp,
)
from archline.recurrences.exact.constraints import InductionProof, ProvedBound
from archline.recurrences.exact.explain import explain_recurrence
from archline.recurrences.exact.indexed import LengthRecurrence, reduce_alike, reduce_to_length
from archline.recurrences.exact.leaves import remove_leaf_counts
from archline.recurrences.exact.search import (
    SearchInputs,
    bound_functions_by_component,
    search_bound,
    search_exact_form,
)
from archline.recurrences.exact.transitions import ForeignBounds
from archline.recurrences.model import (
    BoundSide,
    IntegerRecurrence,
    Recurrence,
    RecurrenceSystem,
    SizeFunction,
    find_calls,
)

MAX_EFFORT = 6_000_000
"""The maximum number of term products for one metric of one algorithm."""


class RecursionSolver:
    """Solves the recurrences of recursive algorithms, for each algorithm and metric once."""

    def __init__(self, outer: Statements) -> None:
        self._outer = outer
        self._extraction = Extraction(outer)
        self._alike: dict[tuple[s.Algorithm, str], MetricSolution] = {}
        self.totals: RecursionSolver | None = None
        """A solver for a model that has some metrics in common, whose solutions are used."""
        self._everywhere: dict[tuple[str, bool], Poly | None] = {}
        self._without_caps: dict[str, Poly | None] = {}
        self._inside: dict[tuple[str, bool], SizeFunction] = {}
        self._exact: dict[str, ProvedBound | None] = {}
        self._values: dict[str, ValueTable] = {}
        self._narrow: dict[SizeFunction, ValueTable] = {}
        self._places: dict[s.Algorithm, PointTable] = {}

    def extract_systems(self, algorithm: s.Algorithm) -> ExtractedSystems:
        """Return the systems of recurrences of a recursive algorithm."""
        return self._extraction.extract_systems(algorithm)

    @memoised
    def derive_tally(self, algorithm: s.Algorithm, called: bool = False) -> Tally:
        """Return the costs of the body of a recursive algorithm, to which the call itself adds 1.

        Only what a call needs, if it is `called` from outside of the recursion.
        """
        extracted, model = self.extract_systems(algorithm), self._outer.model
        if (gap := self._missing_termination_proof(algorithm) or extracted.gap) is not None:
            return Tally(gap=gap)
        declared = frozenset[str]().union(*(case.tally.declared for case in extracted.cases))
        names = [
            name
            for name in extracted.systems
            if model.get_metric(name).name in model.asked and model.needs_solution(name, called)
        ]
        solved = model.build_tally({name: self.solve_metric(algorithm, name).amount for name in names}, declared)
        return replace(solved, rounds=self.derive_iteration_costs(algorithm))

    @memoised
    def derive_iteration_costs(self, algorithm: s.Algorithm) -> Mapping[str, Tally]:
        """Return the cost of an iteration of each loop without a bound, by the qualified name of its iterations.

        It is bounded over all calls of the recursion, in the sizes of the first call.
        """
        extracted = self.extract_systems(algorithm)
        total = Tally()
        for case in extracted.cases:
            total = total.with_iterations(
                {
                    name: once.map_amounts(partial(map_bounds, function=case.facts.restore))
                    for name, once in case.tally.rounds.items()
                },
                case.facts,
            )
        functions = (extracted.get_function(metric, True) for metric in self._outer.model.recurrence_metrics)
        function = next(filter(None, functions), None)
        if not total.rounds or function is None:
            return total.rounds
        called = find_recursive_component(self._outer.module, algorithm)
        total = total.with_parallel_iterations() if has_forks(called) else total
        changing: dict[str, bool] = {}
        for equation in function.equations:
            for call in find_calls(equation.value):
                if call.function != function.name:
                    continue
                for name, argument in zip(function.parameters, call.arguments, strict=True):
                    distance = Poly.symbol(name).substitute(equation.facts.rewrites) - argument
                    if equation.facts.simplify(distance):
                        changing[name] = changing.get(name, True) and equation.facts.nonnegative(distance)
        bound = partial(bound_over_recursive_calls, function=function, changing=changing)
        return {name: once.map_amounts(bound) for name, once in total.rounds.items()}

    def single_expression_tally(self, algorithm: s.Algorithm) -> Tally:
        """Return the costs of a recursive algorithm with each bound in one expression, which loops can sum more easily.

        Bounds by regimes are replaced by bounds that hold at all sizes, where such are found.
        """
        costs = self.derive_tally(algorithm, called=True)
        amounts = {name: self._merge_regimes(algorithm, name, costs.amount(name)) for name in costs.names}
        return replace(self._outer.model.build_tally(amounts, costs.declared), gap=costs.gap, rounds=costs.rounds)

    def _merge_regimes(self, algorithm: s.Algorithm, metric: str, amount: Amount) -> Amount:
        if isinstance(amount, UnknownAmount) or not self.solve_metric(algorithm, metric).pieces:
            return amount
        extracted = self.extract_systems(algorithm)
        least, most = extracted.get_function(metric, False), extracted.get_function(metric, True)
        high = None if most is None else self.find_bound_at_all_sizes(most, metric, True)
        if least is None or most is None or high is None:
            return amount
        low = self.find_bound_at_all_sizes(least, metric, False) or ZERO
        if low != high:
            # Sums of capped sizes over a loop are long, and few proofs succeed for them.
            low, high = remove_caps(low, least.facts, upper=False), remove_caps(high, most.facts, upper=True)
        facts = declared_scope(self._outer.module, algorithm).facts
        return KnownAmount(facts.restore(low), facts.restore(high))

    @memoised
    def _missing_termination_proof(self, algorithm: s.Algorithm) -> UnknownAmount | None:
        """Return the reason why termination is not proved, so that no induction is valid; None if it is proved."""
        # The upper function of any metric contains all calls; without any function, all costs are unknown.
        extracted = self.extract_systems(algorithm)
        functions = (extracted.get_function(metric, True) for metric in self._outer.model.recurrence_metrics)
        function = next(filter(None, functions), None)
        promised = read_index_properties(algorithm, declared_scope(self._outer.module, algorithm)).facts
        missing = "" if function is None else self._suggest_declaration(function, promised)
        reason = f"the recursion of `{algorithm.name}` is not proved to end: no size is known to shrink in all calls; "
        return UnknownAmount(append_failures(reason + missing), algorithm.span) if missing else None

    def _suggest_declaration(self, function: SizeFunction, promised: Sequence[Poly]) -> str:
        """Suggest a declaration that would prove termination; empty if it is proved."""
        if always_terminates(function, promised):
            return ""
        for low, high in permutations(self._outer.module.signatures[function.algorithm].indices, 2):
            if always_terminates(function, (*promised, Poly.symbol(high) - Poly.symbol(low))):
                return f"`where {low} <= {high}` in its header would prove it"
        by_data, plain = _find_data_of_calls(function.algorithm)
        if by_data:
            return f"{' and '.join(by_data)} in its calls {'is' if len(by_data) == 1 else 'are'} computed from data"
        if plain:
            return _suggest_minima(plain)
        return "declare what decreases with `decreases` in its header"

    @memoised
    def solve_metric(self, algorithm: s.Algorithm, metric: str) -> MetricSolution:
        """Return the solution of a metric of a recursive algorithm; its amount is unknown if none is found."""
        system = self._missing_termination_proof(algorithm) or self.extract_systems(algorithm).get_system(metric)
        if not isinstance(system, RecurrenceSystem):
            return MetricSolution(system or ZERO_AMOUNT)
        solution = self._sum_over_kinds(algorithm, metric) or self._solve_system(algorithm, metric, system)
        functions = self._extraction.collect_functions(metric)
        names = tuple(system.functions)
        if not all(_depends_on_sizes(function, functions) for function in system.functions.values()):
            return solution
        values = self._value_table(metric)

        def enclose_metric(point: Point) -> Interval:
            sizes = {name: int(value) for name, value in point.items()}
            bounds = [values.evaluate_at(name, sizes) for name in names]
            return Interval(bounds[0], bounds[-1])

        return replace(solution, interval_at=enclose_metric)

    def _sum_over_kinds(self, algorithm: s.Algorithm, metric: str) -> MetricSolution | None:
        """Sum the solutions of all kinds of a metric; None if a solution is not exact in a single expression."""
        if metric not in self._outer.model.asked or not self._outer.model.get_metric(metric).by_kind:
            return None
        systems = self.extract_systems(algorithm).systems
        kinds = [self.solve_metric(algorithm, name) for name in systems if name.startswith(f"{metric}.")]
        exact = [
            kind.amount.upper
            for kind in kinds
            if isinstance(kind.amount, KnownAmount) and kind.amount.exact and not kind.pieces
        ]
        if len(exact) < len(kinds):
            return None
        return MetricSolution(exact_amount(sum(exact, ZERO)))

    def _solve_system(self, algorithm: s.Algorithm, metric: str, system: RecurrenceSystem) -> MetricSolution:
        """Solve the recurrences of a metric; metrics with equal systems share one solution."""
        key, totals = (algorithm, _system_key(system)), self.totals
        if totals is not None and metric in (common := totals._outer.model).asked:
            solution = totals._alike.get(key)
            if solution is not None and common.get_metric(metric) == self._outer.model.get_metric(metric):
                return solution
        if key not in self._alike:
            try:
                with limit_effort(MAX_EFFORT, own=True):
                    self._alike[key] = self._solve_metric_by_length_or_index(algorithm, metric)
            except (TooComplexError, NotComparableError, EvaluationError, OverflowError) as problem:
                reason = str(problem) or "the sizes of its calls cannot be compared with its own"
                self._alike[key] = MetricSolution(
                    UnknownAmount(f"`{algorithm.name}` is recursive: {reason}", algorithm.span)
                )
        return self._alike[key]

    def describe_recurrence(self, algorithm: s.Algorithm, metric: str, more: int) -> Recurrence | None:
        """Describe the recurrence of a metric for readers; None if there is none.

        `more` is added for the outermost call.
        """
        extracted = self.extract_systems(algorithm)
        system = extracted.get_system(metric)
        lower, upper = extracted.get_function(metric, False), extracted.get_function(metric, True)
        if not isinstance(system, RecurrenceSystem) or lower is None or upper is None:
            return None
        proofs = self._solve_system(algorithm, metric, system).proofs
        least, most = self._length_recurrences(lower, upper)
        if most.indices is None:
            return explain_recurrence(system, lower, upper, proofs, more)
        meanings = {most.indices.size: most.indices.distance}
        return replace(explain_recurrence(system, least.function, most.function, proofs, more), meanings=meanings)

    def build_recurrence(self, algorithm: s.Algorithm, metric: str) -> IntegerRecurrence | None:
        """Return the recurrence from which the growth of a metric is derived; None if termination is not proved."""
        extracted = self.extract_systems(algorithm)
        lower, upper = extracted.get_function(metric, False), extracted.get_function(metric, True)
        if lower is None or upper is None or self._missing_termination_proof(algorithm) is not None:
            return None
        least, most = self._length_recurrences(lower, upper)

        def foreign_bounds(above: bool) -> ForeignBounds:
            return self._foreign_bounds(metric, upper, BoundSide.UPPER if above else BoundSide.LOWER)

        return IntegerRecurrence(least.function, most.function, most.indices, foreign_bounds)

    def find_bound_at_all_sizes(self, function: SizeFunction, metric: str, upper: bool) -> Poly | None:
        """Return a bound of a function that is one expression and holds at all sizes; None if none is found."""
        key = function.name, upper
        if key not in self._everywhere:
            function = self._inside.get(key, function)
            closed = self.solve_metric(function.algorithm, metric)
            if isinstance(closed.amount, UnknownAmount):
                self._everywhere[key] = None
            elif not closed.pieces:
                self._everywhere[key] = closed.amount.upper if upper else closed.amount.lower
            else:
                recursive = closed.pieces[-1].upper if upper else closed.pieces[-1].lower
                fits = is_bound_at_leaves(function, recursive, upper)
                self._everywhere[key] = recursive if fits else self._search_bound(function, metric, upper)
        return self._everywhere[key]

    def _search_bound(self, function: SizeFunction, metric: str, upper: bool, capped: bool = True) -> Poly | None:
        reduced = self._length_recurrence(function)
        if reduced.partial:
            return None
        with limit_effort(MAX_EFFORT, own=True):
            inputs = replace(self._search_inputs(metric, reduced.function), capped=capped)
            bound = search_bound(reduced.function, upper, inputs, everywhere=True)
        return None if bound is None else reduced.restore_indices(bound.value)

    def _find_bound_without_maxima(self, function: SizeFunction, metric: str, upper: bool, found: Poly) -> Poly:
        """Return a bound without maxima in place of `found`, for proofs about powers of two."""
        uncapped = remove_caps(found, function.facts, upper)
        if upper or uncapped == found:
            return uncapped
        # Uncapped levels are negative at leaves; a lower bound that is searched without caps is tighter.
        if function.name not in self._without_caps:
            inside = self._inside.get((function.name, upper), function)
            self._without_caps[function.name] = self._search_bound(inside, metric, upper, capped=False)
        return self._without_caps[function.name] or uncapped

    @memoised
    def _length_recurrence(self, function: SizeFunction) -> LengthRecurrence:
        return reduce_to_length(function)

    def _length_recurrences(
        self, lower: SizeFunction, upper: SizeFunction
    ) -> tuple[LengthRecurrence, LengthRecurrence]:
        """Reduce both functions to the length of one range of indices, or neither."""
        most = self._length_recurrence(upper)
        least = self._length_recurrence(lower) if lower.own_calls else reduce_alike(lower, most)
        if least.indices is None or most.indices is None:
            return LengthRecurrence(lower), LengthRecurrence(upper)
        return least, most

    def _make_call_bound(
        self, function: SizeFunction, metric: str, side: BoundSide
    ) -> Callable[[tuple[Poly, ...], Facts], Poly]:
        """Return a function from the arguments of a call of `function`, and facts, to a bound of the cost of the call.

        The function raises TooComplexError if no bound is found.
        """

        def bound_at_call(arguments: tuple[Poly, ...], facts: Facts) -> Poly:
            form = self.find_bound_at_all_sizes(function, metric, side is BoundSide.UPPER)
            if form is None or (side is BoundSide.EXACT and not self._is_exact(function, metric)):
                needed = "closed form" if side is BoundSide.EXACT else "bound"
                raise TooComplexError(f"no {needed} of `{function.algorithm.name}`, which it calls, was found")
            sizes = compute_symbol_values_in_call(function, arguments)
            if side is not BoundSide.EXACT:
                form = transform_inside_clamp(form, partial(remove_leaf_counts, upper=side is BoundSide.UPPER))
            if facts.powers and side is not BoundSide.EXACT:
                # At powers of two the logarithm that replaces halvings from below equals their number.
                form = form if side is BoundSide.UPPER else replace_halvings_by_logs(form, function.facts)
                resolved = resolve_maxima_at_call(form, sizes, facts)
                if resolved is not None:
                    return resolved
                form = self._find_bound_without_maxima(function, metric, side is BoundSide.UPPER, form)
            elif side is BoundSide.LOWER:
                # Few proofs succeed for the form itself at halves that are rounded up.
                return facts.simplify(bound_below_at_foreign_call(form, function.facts, sizes, facts))
            return facts.simplify(form.substitute(sizes))

        return bound_at_call

    def _is_exact(self, function: SizeFunction, metric: str) -> bool:
        amount = self.solve_metric(function.algorithm, metric).amount
        return self._exact.get(function.name) is not None or (isinstance(amount, KnownAmount) and amount.exact)

    def _search_inputs(self, metric: str, function: SizeFunction) -> SearchInputs:
        """Collect the inputs of a search for bounds of a function: bounds of other algorithms, and sampled values."""
        functions = self._extraction.collect_functions(metric)
        foreign = {side: self._foreign_bounds(metric, function, side) for side in BoundSide}
        # Metrics share sample points, as their bounds have many terms in common.
        places = self._places.setdefault(function.algorithm, PointTable())
        if not _depends_on_sizes(function, functions):
            return SearchInputs(foreign, None, places=places)
        if function is functions[function.name]:
            return SearchInputs(foreign, self._value_table(metric), places=places)
        narrow = self._narrow.setdefault(function, ValueTable({**functions, function.name: function}))
        return SearchInputs(foreign, narrow, places=places)

    def _foreign_bounds(self, metric: str, function: SizeFunction, side: BoundSide) -> ForeignBounds:
        """Map the functions of all other algorithms, by name, to the bounds of their calls."""
        functions = self._extraction.collect_functions(metric)
        foreign = {name: called for name, called in functions.items() if called.algorithm is not function.algorithm}
        return {name: self._make_call_bound(called, called.metric, side) for name, called in foreign.items()}

    def _value_table(self, metric: str) -> ValueTable:
        """Return the table that computes values of all functions of a metric."""
        values = self._values.setdefault(metric, ValueTable({}))
        values.add_functions(self._extraction.collect_functions(metric))
        return values

    def _solve_side(self, function: SizeFunction, metric: str, upper: bool) -> ProvedBound | None:
        """Return the closed form of a function in its recursive cases, or a bound of it; None if not found."""
        inputs = self._search_inputs(metric, function)
        if not upper and inputs.values is None and self._outer.model.upper_only:
            return None
        if function.name not in self._exact:
            self._exact[function.name] = None if inputs.values is None else search_exact_form(function, inputs)
        if self._exact[function.name] is None and has_several_calls_by_steps(function):
            # No search has exponentials with a proof for it, and each takes long.
            return None
        return self._exact[function.name] or search_bound(function, upper, inputs)

    def _solve_metric_by_length_or_index(self, algorithm: s.Algorithm, metric: str) -> MetricSolution:
        extracted = self.extract_systems(algorithm)
        lower, upper = extracted.get_function(metric, False), extracted.get_function(metric, True)
        assert lower is not None
        assert upper is not None
        least, most = self._length_recurrences(lower, upper)
        if most.indices is None:
            by_indices = self._solve_metric_by_indices(metric, upper)
            if by_indices is not None:
                return by_indices
        return self._solve_bounds(metric, least, most, (lower, upper))

    def _solve_bounds(
        self, metric: str, least: LengthRecurrence, most: LengthRecurrence, whole: tuple[SizeFunction, SizeFunction]
    ) -> MetricSolution:
        """Solve the functions `least` and `most`, in one length if reduced, exactly or by bounds.

        `whole` are the same functions before the reduction.
        """
        lower, upper, algorithm = least.function, most.function, most.function.algorithm
        low = self._solve_side(lower, metric, False)
        if low is not None and whole[0] is whole[1] and self._exact[upper.name] is not None:
            value = least.restore_indices(low.value)
            return replace(
                combine_recursive_and_base_cases(*whole, value, value), proofs=(InductionProof.from_bound("=", low),)
            )
        by_levels = self._sum_levels(least, most, whole)
        if by_levels is not None and isinstance(by_levels.amount, KnownAmount) and by_levels.amount.exact:
            return by_levels
        high = self._solve_side(upper, metric, True)
        below = above = None
        if low is None:
            below = bound_by_measure(lower, False, self._foreign_bounds(metric, lower, BoundSide.LOWER))
        if high is None:
            # Sizes that calls divide have a measure too, by which the bound would be far larger than the cost.
            foreign = self._foreign_bounds(metric, upper, BoundSide.UPPER)
            several = has_several_calls_by_steps(upper)
            above = bound_by_measure(upper, True, foreign) if several else bound_by_halves(upper, foreign)
        by_layers = None
        if most.indices is None and above is None:
            by_layers = self._bound_groups_of_cases(lower, upper, metric, (low, high))
        if by_layers is not None:
            return by_layers
        if low is high is None and above is not None and not most.partial:
            # Bounds by measures hold in base cases too.
            below = below or InductionProof(">=", ZERO, reason="a count is never negative")
            ends = least.restore_indices(below.value), most.restore_indices(above.value)
            return MetricSolution(amount_in_sizes(whole[1].facts, *ends), proofs=(below, above))
        if high is not None:
            above = InductionProof.from_bound("<=", high)
        elif above is None and (limit := self._limiting_upper_bound(algorithm, metric)) is not None:
            above = InductionProof("<=", limit, reason="it is at most the work")
        if above is None:
            reason = f"no closed form or bound of the recursion of `{algorithm.name}` was found"
            if len(indices := self._outer.module.signatures[algorithm].indices) == 1:
                reason += f"; {_suggest_minima(indices)}"
            return by_levels or MetricSolution(UnknownAmount(append_failures(reason), algorithm.span))
        recursive = [equation for equation in lower.equations if equation.recursive]
        if low is not None:
            below = InductionProof.from_bound(">=", low)
        bottom = ZERO if below is None else below.value if low is None else clamp_lower_bound(recursive, low.value)
        below = below or InductionProof(">=", ZERO, reason="a count is never negative")
        top = above.value if high is None else high.value
        return replace(
            combine_recursive_and_base_cases(*whole, least.restore_indices(bottom), most.restore_indices(top)),
            proofs=(below, above),
        )

    def _sum_levels(
        self, least: LengthRecurrence, most: LengthRecurrence, whole: tuple[SizeFunction, SizeFunction]
    ) -> MetricSolution | None:
        """Bound `least` below and `most` above by sums over the levels, if calls multiply all sizes by constants.

        None for other recursions, or if no upper bound is found.
        """
        below, above = bound_function_by_levels(least.function), bound_function_by_levels(most.function)
        if above.upper is None:
            return None
        low, high = (
            ZERO if below.lower is None else least.restore_indices(below.lower),
            most.restore_indices(above.upper),
        )
        reason = "the sum over the levels, by induction"
        proofs: tuple[InductionProof, ...] = (InductionProof("=", high, reason=reason),)
        if low != high:
            proofs = (InductionProof(">=", low, reason=reason), InductionProof("<=", high, reason=reason))
        if below.leaf is None and above.leaf is None and not most.partial:
            return MetricSolution(amount_in_sizes(whole[1].facts, low, high), proofs=proofs)
        return replace(combine_recursive_and_base_cases(*whole, low, high), proofs=proofs)

    def _bound_groups_of_cases(
        self, least: SizeFunction, most: SizeFunction, metric: str, known: tuple[ProvedBound | None, ProvedBound | None]
    ) -> MetricSolution | None:
        """Bound groups of cases separately, if the `known` bounds of all cases do not have the function's growth.

        None if the known bounds have that growth, or if no bounds of groups are found.
        """
        inputs = self._search_inputs(metric, most)
        if inputs.values is None or all(bound is not None and bound.steady for bound in known):
            return None
        components = bound_functions_by_component(least, most, known, inputs)
        if components is None:
            return None
        self._inside[least.name, False], self._inside[most.name, True] = components.least, components.most
        low, high = components.layers[-1].low.value, components.layers[-1].high.value
        proofs = tuple(
            proof
            for layer, where in zip(components.layers, components.conditions, strict=True)
            for proof in (
                InductionProof.from_bound(">=", layer.low, where),
                InductionProof.from_bound("<=", layer.high, where),
            )
        )
        return replace(combine_recursive_and_base_cases(components.least, components.most, low, high), proofs=proofs)

    def _solve_metric_by_indices(self, metric: str, function: SizeFunction) -> MetricSolution | None:
        """Solve a recursion by its index parameters; None if it has none or no form is found."""
        if len(function.parameters) == len(function.least) or not self.extract_systems(function.algorithm).is_exact(
            metric
        ):
            return None
        scope = declared_scope(self._outer.module, function.algorithm)
        bounds = indexed.search_index_bounds(
            function, read_index_properties(function.algorithm, scope), self._search_inputs(metric, function).values
        )
        if bounds is None:
            return None
        low, high = bounds
        if low == high:
            proofs: tuple[InductionProof, ...] = (
                InductionProof("=", low, reason="each case is an identity in the indices"),
            )
        else:
            reason = "by induction over the differences of the indices"
            proofs = InductionProof(">=", low, reason=reason), InductionProof("<=", high, reason=reason)
        return MetricSolution(amount_in_sizes(function.facts, low, high), proofs=proofs)

    def _limiting_upper_bound(self, algorithm: s.Algorithm, metric: str) -> Poly | None:
        """Return the upper bound of the metric that limits this one: work limits flops, and span unless it is declared.

        None if no metric limits it in this algorithm, or if the limit is unknown.
        """
        limit = self._outer.model.get_metric(metric).at_most
        if limit is None or may_exceed(metric, self._outer.module, algorithm):
            return None
        solution = self.solve_metric(algorithm, limit)
        if isinstance(solution.amount, UnknownAmount):
            return None
        return solution.pieces[-1].upper if solution.pieces else solution.amount.upper


def _suggest_minima(names: Sequence[str]) -> str:
    """Suggest the facts that make parameters sizes."""
    facts, sizes = ", ".join(f"{name} >= 0" for name in names), " and ".join(f"`{name}`" for name in names)
    return f"`where {facts}` in its header makes {sizes} {'a size' if len(names) == 1 else 'sizes'}"


def _find_data_of_calls(algorithm: s.Algorithm) -> tuple[list[str], list[str]]:
    """Return the `int` parameters that recursive calls change: those by results of calls and other data, then the rest.

    A parameter of the second list could be a size.
    """
    calls = [call for call in s.find_nodes(algorithm.body, s.Call) if call.function == algorithm.name]
    names = {parameter.name for parameter in algorithm.parameters}
    by_data, plain = [], []
    for place, parameter in enumerate(algorithm.parameters):
        passed = [call.arguments[place] for call in calls if place < len(call.arguments)]
        if isinstance(parameter.type, s.ScalarType) and parameter.type.element == "int" and parameter.mode == "in":
            nested = any(isinstance(node, s.Call | s.Element) for node in s.iterate_nodes(tuple(passed)))
            if nested or not s.find_names(tuple(passed)) <= names:
                by_data.append(f"`{parameter.name}`")
            elif not all(isinstance(value, s.Name) and value.id == parameter.name for value in passed):
                plain.append(parameter.name)
    return by_data, plain


def _depends_on_sizes(function: SizeFunction, functions: Mapping[str, SizeFunction]) -> bool:
    """Test whether a function, and all functions that it calls directly or not, depend on sizes alone."""

    def called_functions(name: str) -> list[str]:
        return [call.function for equation in functions[name].equations for call in find_calls(equation.value)]

    names = (function.name, *traverse_reachable(called_functions, function.name))
    return not any(equation.data for name in names for equation in functions[name].equations)


def _system_key(system: RecurrenceSystem) -> str:
    """Return the equations as text without the name of the metric: a key that is the same for equal systems."""
    functions = system.functions.values()
    text = "\n".join(equation.value.key for function in functions for equation in function.equations)
    for function in functions:
        text = text.replace(f"{system.metric} of {function.algorithm.name}", "itself")
    return text
