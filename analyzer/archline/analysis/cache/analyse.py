"""Derive the io of an algorithm as a cost: bounds at sizes, Z and L, and the regimes of Z that they come from."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from functools import cached_property, partial
from itertools import product
from typing import TYPE_CHECKING

from archline.algebra.effort import OutOfBudgetError, TooComplexError, limit_effort
from archline.algebra.evaluate.exact import evaluate
from archline.algebra.facts import Facts
from archline.algebra.polynomial import ZERO, Atom, Poly, Symbol
from archline.algebra.printing import shorten_expression, to_tree
from archline.algebra.relax import replace_atoms_by_bounds
from archline.analysis.bounds import Bound, BoundUse, Piece, Region, Residency
from archline.analysis.cache.data_dependent import analyse, divided
from archline.analysis.cache.footprint.references import build_references, relax_remainders
from archline.analysis.cache.lower import recursive_hbl, recursive_segments
from archline.analysis.cache.lower.hbl import HblBound, has_certain_access
from archline.analysis.cache.lower.segments import SegmentBound, derive_segment_bound
from archline.analysis.cache.recursive import asymptotic
from archline.analysis.cache.recursive import evaluate as recursion
from archline.analysis.cache.residency.base import Resident
from archline.analysis.cache.samples import choose_sample_points
from archline.analysis.cache.summaries import must_access
from archline.analysis.cache.upper import split_outer
from archline.analysis.cache.upper.allocation import AllocationPlanner, select_pareto_plans
from archline.analysis.cache.upper.cold import TotalFootprint, derive_total_footprint
from archline.analysis.cache.upper.evaluate import AllocationPlan, PlanUpperBound
from archline.analysis.cost import AnyScheduleBound, Cost, HblTerm, enclose_cost, map_cost
from archline.analysis.metrics.accesses import bound_accesses
from archline.expr import build as b
from archline.expr.intervals import EvaluationError, Interval, Point
from archline.expr.text import format_fact
from archline.growth.growths import Growth
from archline.ir.declarations import declared_scope
from archline.ir.factored import UnboundedError
from archline.ir.iteration_bounds import bound_iterations
from archline.ir.layout import LINE, ONE_LINE_FITS, WORDS, count_array_lines
from archline.ir.lower import Lowering
from archline.ir.tree import UntracedError, contiguous_dimension, iterate_accesses, require_traceable
from archline.language import syntax as s
from archline.language.call_graph import find_reachable, has_recursion, iterate_local_arrays
from archline.language.iterations import list_iterations, name_unbounded_loops, relative_name
from archline.language.model import Module
from archline.records import record

if TYPE_CHECKING:
    from archline.analysis.cache.upper.split_outer import SplitLoopBound

RECOUNT_RATIO = 2
"""If upper and lower bound differ by more than this factor, the number of accesses is tried as an upper bound."""
Sizes = Mapping[str, int]
MAX_SIZE_BITS = 256
"""For sizes of more bits, retention in spare lines is not searched, as the number of steps grows with the bits."""


@record(eq=False)
class MissBounds:
    """Bounds on the io of a program, evaluated at given sizes: the sum of `lower` and the smallest upper bound.

    Upper bounds are the allocation plans (`upper`), the two parts of a split loop (`phases`), the lines of all
    arrays if they fit in the cache (`everything`), and the number of accesses (`count`).
    """

    lower: tuple[SegmentBound, ...]
    upper: PlanUpperBound
    phases: SplitLoopBound
    everything: TotalFootprint | None
    count: Callable[[], Cost]

    def at(self, sizes: Sizes) -> Interval:
        """Return the lower and the upper bound at sizes, Z and L. Raises EvaluationError."""
        try:
            return self._tightest_bounds(sizes)
        except EvaluationError:
            # In a branch that is not taken, log2(n) need not be a number.
            return Interval(Fraction(0), self._access_count_upper_bound(sizes))

    def sum_lower_bounds(self, sizes: Sizes) -> int:
        """Sum the lower bounds at sizes, Z and L. Raises EvaluationError."""
        return sum(bound.at(sizes) for bound in self.lower)

    def _tightest_bounds(self, sizes: Sizes) -> Interval:
        """Evaluate the sum of the lower bounds and the smallest upper bound that applies at sizes, Z and L."""
        least = self.sum_lower_bounds(sizes)
        if any(value >> MAX_SIZE_BITS for value in sizes.values()):
            most = Fraction(self.upper.at(sizes, spare=False))
        else:
            most = Fraction(self.phases.at(sizes, least, self.upper.at(sizes)))
        if self.everything is not None and most > least:
            lines, moved = self.everything.at(sizes)
            most = min(most, Fraction(moved)) if lines <= sizes["Z"] // sizes["L"] else most
        if most > RECOUNT_RATIO * least:
            # Plans count conditional accesses in full, and fewer may be made.
            with suppress(EvaluationError):
                most = min(most, self._access_count_upper_bound(sizes))
        # If no loop is entered, a bound that assumes iterations may be negative.
        return Interval(Fraction(least), max(most, Fraction(0)))

    def _access_count_upper_bound(self, sizes: Sizes) -> Fraction:
        cost = self.access_cost
        if cost.upper is None:
            raise EvaluationError(cost.reason or "the number of accesses is unknown")
        return enclose_cost(cost, sizes).upper

    @cached_property
    def access_cost(self) -> Cost:
        """The number of accesses, or an unknown cost with the reason."""
        return self.count()


MAX_TERM_PRODUCTS, RECURSION_FACTOR = 400_000, 20
"""The effort limit for the io of loops, and its multiple for recursive programs."""
MAX_CACHED_COSTS = 256
"""The number of derived costs that are cached."""
MAX_VARIED_SIZES = 6
"""The maximum number of sizes that are varied when a bound is evaluated at small sizes."""

_solved: OrderedDict[tuple[Module, s.Algorithm], Cost] = OrderedDict()


def derive_io_cost(module: Module, algorithm: s.Algorithm) -> Cost:
    """Bound the cache lines that one call fetches under optimal replacement, for all sizes, L >= 1 and Z >= L.

    If accesses cannot be followed, every access counts as a miss, and `reason` of the cost states why. Never raises
    for a program that passes the checks.
    """
    key = module, algorithm
    if key not in _solved:
        cost = _derive_io_by_reuse_or_accesses(module, algorithm)
        _solved[key] = _bound_iterations_in_cost(cost, module, algorithm)
        if len(_solved) > MAX_CACHED_COSTS:
            _solved.popitem(last=False)
    return _solved[key]


def _derive_io_by_reuse_or_accesses(module: Module, algorithm: s.Algorithm) -> Cost:
    """Bound io by reuse of lines; if that fails, by the number of accesses, with the reason of the failure."""
    by_reuse = _derive_or_explain(algorithm, partial(_derive_io_by_reuse, module, algorithm))
    if by_reuse.status != "unknown":
        return by_reuse
    accesses = _derive_or_explain(algorithm, partial(_derive_io_by_access_count, module, algorithm))
    if accesses.status == "unknown":
        return by_reuse
    return replace(accesses, metric="io", reason=by_reuse.reason, span=by_reuse.span)


def _bound_iterations_in_cost(cost: Cost, module: Module, algorithm: s.Algorithm) -> Cost:
    """Replace the iterations of loops by their bounds over a whole call, where these are known.

    Bounds under conditions on iterations are left out.
    """
    qualified = name_unbounded_loops(module)
    derived = bound_iterations(module, algorithm)
    names = {relative_name(qualified[loop], algorithm): amount for loop, amount in derived.items()}
    if cost.lower is None or cost.upper is None or not names:
        return cost
    values = [cost.lower, cost.upper, *(bound.value for bound in cost.bounds)]
    needs = [need for bound in cost.bounds for need in bound.where.needs]
    if not any(value.names & names.keys() for value in (*values, *needs)):
        return cost
    facts = declared_scope(module, algorithm).facts
    for name, amount in names.items():
        facts = facts.with_symbol(name, (amount.lower,), (amount.upper,))

    def find_iterations(value: Poly) -> Atom | None:
        return next((Symbol(name) for name in sorted(names) if name in value.names), None)

    def bound_value(value: Poly, upper: bool) -> Poly | None:
        bounded = replace_atoms_by_bounds(value, find_iterations, facts, upper)
        return None if bounded is None else facts.simplify(bounded)

    upper = bound_value(cost.upper, True)
    if upper is None:
        return cost
    bounds = tuple(
        replace(bound, value=value, smooth=lambda: None)
        for bound in cost.bounds
        if not any(need.names & names.keys() for need in bound.where.needs)
        and (value := bound_value(bound.value, bound.side == "upper")) is not None
    )
    lower = facts.positive_part(bound_value(cost.lower, False) or ZERO)
    return replace(
        cost,
        status="exact" if lower == upper else "bounded",
        lower=lower,
        upper=upper,
        bounds=bounds,
        interval_at=None,
        least_at=None,
        upper_growths=None,
        any_schedule_bound=None,
    )


def _derive_or_explain(algorithm: s.Algorithm, derivation: Callable[[], Cost]) -> Cost:
    """Return the derived cost, or an unknown cost with the reason for which it cannot be derived."""
    try:
        return derivation()
    except UntracedError as problem:
        return Cost("io", "unknown", None, None, problem.reason, problem.span)
    except UnboundedError:
        return _unknown_io_cost("no closed form was found for the lines that are touched", algorithm)
    except TooComplexError as problem:
        return _unknown_io_cost(str(problem), algorithm)
    except RecursionError:
        return _unknown_io_cost("its closed form is nested too deeply to derive", algorithm)


def _derive_io_by_reuse(module: Module, algorithm: s.Algorithm) -> Cost:
    """Derive io from the reuse of cache lines: by allocation plans for loops, or call by call for a recursion."""
    require_traceable(module, algorithm)
    if has_recursion(module, algorithm):
        with limit_effort(MAX_TERM_PRODUCTS * RECURSION_FACTOR):
            return _derive_recursive_io_cost(module, algorithm)
    with limit_effort(MAX_TERM_PRODUCTS):
        return derive_loop_io_cost(module, algorithm)


def _derive_io_by_access_count(module: Module, algorithm: s.Algorithm) -> Cost:
    """Derive io from the number of accesses, as each access fetches at most one line."""
    with limit_effort(MAX_TERM_PRODUCTS * RECURSION_FACTOR):
        accesses = bound_accesses(module, algorithm)
        if accesses.upper is None:
            return accesses
        lines = _sum_argument_lines(module, algorithm)
        touched = must_access.derive_must_access(module, algorithm)
    least, windows = touched.bound_lines_below(algorithm), recursive_segments.RecursiveSegmentBound(touched, algorithm)
    divisions = analyse.DataDivisionBounds(module, algorithm)

    def enclose_misses(point: Point) -> Interval:
        sizes = _convert_to_integer_point(point)
        most = enclose_cost(accesses, sizes).upper
        everything = None if lines is None else evaluate(lines, sizes)
        if everything is not None and everything <= sizes["Z"] // sizes["L"]:
            most = min(most, everything)
        with suppress(divided.UndividedError):
            most = min(most, Fraction(divisions.at(sizes)))
        return Interval(max(evaluate(least, sizes), Fraction(windows.at(sizes))), most)

    bounds = _replace_lower_bounds(least, accesses.by_case)
    return replace(
        accesses,
        lower=least,
        bounds=bounds,
        interval_at=enclose_misses,
        touched=touched.list_touched_regions(algorithm),
    )


def _replace_lower_bounds(lines: Poly, pieces: Iterable[Piece]) -> tuple[Bound, ...]:
    """Return the bounds of all pieces, with each lower bound set to `lines`, or to 0 where the upper bound is 0.

    `lines` is simplified under the facts of the piece, one of the disjoint parts of the sizes.
    """
    return tuple(
        bound
        if bound.side == "upper"
        else replace(bound, value=_simplify_in_all_cases(lines, piece.where.cases) if piece.upper else ZERO)
        for piece in pieces
        for bound in piece.bounds
    )


def _simplify_in_all_cases(lines: Poly, cases: Iterable[Facts]) -> Poly:
    """Simplify an amount under the facts of each case; return the result if all are equal, else the amount itself."""
    values = {
        facts.restore(facts.simplify(lines.substitute({**facts.rewrites, **_constant_symbols(facts)})))
        for facts in cases
    }
    return values.pop() if len(values) == 1 else lines


def _constant_symbols(facts: Facts) -> dict[str, Poly]:
    """Map each symbol whose bounds admit a single number to that number."""
    return {
        name: Poly.constant(bound.minimum)
        for name, bound in facts.bounds.items()
        if bound.minimum is not None and bound.minimum == bound.maximum
    }


def _sum_argument_lines(module: Module, algorithm: s.Algorithm) -> Poly | None:
    """Sum the lines of the array arguments; None for a program that has local arrays."""
    if any(iterate_local_arrays(module, algorithm)):
        return None
    scope, views = Lowering(module).bind_parameters(algorithm)
    return scope.facts.restore(sum((count_array_lines(view.array) for view in views.values()), ZERO))


def derive_loop_io_cost(module: Module, algorithm: s.Algorithm, traffic: bool = False) -> Cost:
    """Derive the io of a program without recursion; with `traffic`, the lines fetched and written back.

    A plan writes back each line that it changes as often as it fetches it; any replacement writes back at least as
    many lines as the writes alone would fetch. Raises UntracedError, UnboundedError, TooComplexError.
    """
    scope, nodes = Lowering(module).trace(algorithm)
    refs = build_references(iterate_accesses(nodes), scope.facts, traffic)
    if not refs:
        return Cost("io", "exact", ZERO, ZERO, interval_at=lambda _: Interval.of(0))
    points = choose_sample_points(algorithm, scope)
    planners = [AllocationPlanner(group, scope.facts, points) for group in (refs, relax_remainders(refs)) if group]
    planner_of = {plan: planner for planner in planners for plan in planner.derive_plans()}
    if not planner_of:
        raise UnboundedError
    upper = PlanUpperBound(list(planner_of), scope.facts)
    lower, phases = derive_segment_bound(nodes, scope.facts, points), split_outer.SplitLoopBound(planners[0], upper)
    best = select_pareto_plans(planner_of, points)
    footprint = derive_total_footprint(refs, scope.facts)
    written = derive_segment_bound(nodes if traffic else (), scope.facts, points, written=True)
    counted = partial(_bound_moves_by_accesses, module, algorithm, traffic)
    values = MissBounds((lower, written), upper, phases, footprint, partial(_derive_or_explain, algorithm, counted))
    small = planners[0].iterate_single_line_variants(plan for plan in best if planner_of[plan] is planners[0])
    alternatives = (
        *(_make_plan_bound(plan, planners[0], "growth") for plan in small),
        *(_make_plan_bound(plan, planner_of[plan], "values") for plan in planner_of if plan not in best),
        *(_make_plan_bound(plan, planner_of[plan], "page") for plan in best),
    )
    if footprint is not None and _is_footprint_best_at_a_sample(footprint, upper.plans, planners[0]):
        fitting = _make_all_arrays_fit_bound(footprint.lines(scope.facts))
        alternatives = (*alternatives, replace(fitting, value=footprint.lines(scope.facts, moved=True)))
    iterations = {counted.name for counted in list_iterations(module, algorithm)}
    bounded = any(bound_iterations(module, part) for part in (algorithm, *find_reachable(module, algorithm)))
    if bounded or any(iterations & bound.value.names for bound in alternatives):
        alternatives = _drop_bounds_above_access_count(alternatives, values.access_cost, points)
    with_one_line = scope.facts.with_nonnegative(ONE_LINE_FITS)
    shown = [bound for bound in reversed(alternatives) if bound.shown == "page"]
    always = next((bound for bound in shown if _is_unconditional(bound, with_one_line)), None)
    written_by_loop = dict(reversed(written.bounds_by_loop))
    levels = tuple(
        (name, _simplify_under_facts(value + written_by_loop.get(name, written.first_touch_bound), scope.facts))
        for name, value in lower.bounds_by_loop
    )
    once = levels[0][1] if levels else ZERO
    most = (always or alternatives[-1]).value if alternatives else ZERO

    def evaluate_any_schedule_bound(point: Point) -> Fraction:
        return max(evaluate(once, point), Fraction(lower.hbl_bound.at(_convert_to_integer_point(point))))

    any_schedule_bound = AnyScheduleBound(
        once, _make_hbl_terms(lower.hbl_bound), has_certain_access(nodes), evaluate_any_schedule_bound
    )
    cost = Cost(
        "io",
        "bounded",
        once,
        most,
        bounds=(
            *reversed(alternatives),
            *(Bound("lower", lines, source="footprint", by=name) for name, lines in levels[1:]),
        ),
        any_schedule_bound=None if traffic else any_schedule_bound,
        interval_at=lambda point: values.at(_convert_to_integer_point(point)),
        least_at=lambda point: Fraction(values.sum_lower_bounds(_convert_to_integer_point(point))),
    )
    return cost if always else _add_access_count_bound(cost, counted())


def _bound_moves_by_accesses(module: Module, algorithm: s.Algorithm, traffic: bool) -> Cost:
    """Bound the lines that accesses move: each access fetches a line and, with `traffic`, writes it back."""
    accesses = bound_accesses(module, algorithm)
    if not traffic or accesses.upper is None:
        return accesses
    return map_cost(
        accesses, lambda _: ZERO, lambda most: most * 2, lambda _, count: Interval(Fraction(0), count.upper * 2)
    )


def _is_footprint_best_at_a_sample(
    all_: TotalFootprint, plans: Sequence[AllocationPlan], planner: AllocationPlanner
) -> bool:
    """Test whether the total footprint is less than the misses of every plan at some sample."""
    restored = [planner.facts.restore(plan.misses) for plan in plans]
    for point in planner.points:
        with suppress(EvaluationError):
            if all_.at(point)[0] < min(evaluate(misses, point) for misses in restored):
                return True
    return False


def _simplify_under_facts(value: Poly, facts: Facts) -> Poly:
    """Simplify a value under facts, which may decide its maxima."""
    return facts.restore(facts.simplify(value.substitute(facts.rewrites)))


def _is_unconditional(alternative: Bound, facts: Facts) -> bool:
    """Test whether facts imply the condition of a bound: each of its `needs` is provably nonnegative."""
    needs = alternative.where.needs
    return not any(map(facts.refutes, needs)) and all(map(facts.nonnegative, needs))


def _make_hbl_terms(orders: HblBound) -> tuple[HblTerm, ...]:
    return tuple(dict.fromkeys(HblTerm(body.iterations, body.cache_exponent) for body in orders.bodies))


def _drop_bounds_above_access_count(
    alternatives: tuple[Bound, ...], accesses: Cost, points: Sequence[Point]
) -> tuple[Bound, ...]:
    """Drop upper bounds that exceed the number of accesses at every sample; keep all if that number is unknown.

    If data decides the iteration count T of an inner loop, T is the total over the outer loops, but plans multiply
    it by the iterations of the outer loops too.
    """
    most = accesses.upper
    if most is None:
        return alternatives
    return tuple(bound for bound in alternatives if _is_below_at_a_sample(bound.value, most, points))


def _is_below_at_a_sample(value: Poly, other: Poly, points: Sequence[Point]) -> bool:
    for point in points:
        with suppress(EvaluationError):
            if evaluate(value, point) <= evaluate(other, point):
                return True
    return False


def _add_access_count_bound(cost: Cost, accesses: Cost) -> Cost:
    """Add the access count as an upper bound for caches into which no plan is known to fit."""
    if accesses.upper is None:
        raise UnboundedError
    always = Bound("upper", accesses.upper, Region((ONE_LINE_FITS,), written=_make_one_line_fact))
    return replace(cost, upper=accesses.upper, bounds=(*reversed(cost.plans), always, *cost.by_loop))


def _derive_recursive_io_cost(module: Module, algorithm: s.Algorithm) -> Cost:
    """Derive the io of a recursion: upper bounds from its calls and accesses, lower bounds from its call tree."""
    recursions = recursion.RecursiveMissBounds(module, algorithm)
    recursions.prepare_bodies()
    accesses = replace(bound_accesses(module, algorithm), metric="io")
    if accesses.upper is None:
        return accesses
    body = recursions.body_of(algorithm)
    restore = body.body.scope.facts.restore

    touched = must_access.derive_must_access(module, algorithm)
    below, windows = (
        recursive_hbl.derive_call_tree_bound(module, body.body, touched),
        recursive_segments.RecursiveSegmentBound(touched, algorithm),
    )

    def evaluate_any_schedule_bound(point: Point) -> Fraction:
        return Fraction(below.at(_convert_to_integer_point(point)))

    def enclose_misses(point: Point) -> Interval:
        sizes = _convert_to_integer_point(point)
        most: list[Fraction] = []
        with suppress(OutOfBudgetError):
            most.append(Fraction(recursions.at(sizes)))
        if body.boxes or not most:
            # A call by indices may access few of the elements between its ends.
            most.append(enclose_cost(accesses, sizes).upper)
        return Interval(max(evaluate_any_schedule_bound(point), Fraction(windows.at(sizes))), min(most))

    growths: dict[tuple[str, ...], tuple[Growth, ...] | str] = {}

    def derive_cached_growth(facts: Sequence[s.Fact]) -> tuple[Growth, ...] | str:
        key = tuple(map(format_fact, facts))
        if key not in growths:
            try:
                growths[key] = asymptotic.derive_io_growth(recursions, facts)
            except asymptotic.UnsolvedRecursionError as problem:
                growths[key] = str(problem)
        return growths[key]

    shown: BoundUse = "values" if accesses.by_case else "page"
    always = Bound("upper", accesses.upper, Region((ONE_LINE_FITS,), written=_make_one_line_fact), shown=shown)
    fitting = () if recursions.has_local_arrays else (_make_all_arrays_fit_bound(restore(body.given)),)
    return replace(
        accesses,
        lower=below.touched,
        bounds=(*fitting, always, *_replace_lower_bounds(below.touched, accesses.by_case)),
        upper_growths=derive_cached_growth,
        any_schedule_bound=AnyScheduleBound(
            below.touched,
            _make_hbl_terms(below.hbl_bound),
            below.touches_a_line,
            evaluate_any_schedule_bound,
            below.reason,
            touched.bound_lines_below(algorithm, plain=True),
        ),
        interval_at=enclose_misses,
        reached=recursions.list_reached_regions,
        touched=touched.list_touched_regions(algorithm),
    )


def _make_all_arrays_fit_bound(lines: Poly) -> Bound:
    """Make the upper bound for a cache that holds all arrays: each of the `lines` is fetched once."""
    return Bound(
        "upper",
        lines,
        Region((WORDS - LINE * lines,), written=lambda: (_make_cache_size_fact(_lines_to_words(lines)),)),
    )


def _convert_to_integer_point(point: Point) -> dict[str, int]:
    """Convert the values of a point to integers. Raises EvaluationError if Z or L is missing, or Z < L."""
    missing = [name for name in ("Z", "L") if name not in point]
    if missing:
        raise EvaluationError(f"`{missing[0]}` has no value; set Z and L with --cache")
    if point["Z"] < point["L"]:
        raise EvaluationError("the cache of Z words is smaller than one line of L words")
    return {name: int(value) for name, value in point.items()}


def _make_plan_bound(plan: AllocationPlan, planner: AllocationPlanner, shown: BoundUse) -> Bound:
    """Convert an allocation plan to a bound with the condition under which the plan fits."""
    restore, room = planner.facts.restore, planner.spare_words

    def unrounded_form() -> tuple[list[list[Poly]], Poly] | None:
        try:
            needs, misses = planner.bound_unrounded_needs_and_misses(plan)
        except (UnboundedError, TooComplexError):
            return None
        return [list(map(room, need)) for need in needs], restore(misses)

    misses = plan.misses
    if shown == "page" and _may_be_negative(misses):
        misses = planner.facts.positive_part(misses)
    return Bound(
        "upper",
        restore(misses),
        Region(tuple(map(room, plan.needs)), written=lambda: (_make_fit_condition(plan, planner),)),
        shown=shown,
        smooth=unrounded_form,
        keeping=lambda: tuple(_describe_residency(unit, restore) for unit in plan.units),
    )


def _may_be_negative(misses: Poly) -> bool:
    """Test whether misses are negative or undefined at some small sizes, for example if a loop has no iterations."""
    names = sorted(misses.names)
    sizes = (
        dict(zip(names, values, strict=False)) for values in product((1, 3), repeat=min(len(names), MAX_VARIED_SIZES))
    )
    try:
        return any(evaluate(misses, dict.fromkeys(names, 1) | point) < 0 for point in sizes)
    except EvaluationError:
        return True


def _describe_residency(unit: Resident, restore: Callable[[Poly], Poly]) -> Residency:
    """Describe a residency for reports: its array, loop, source lines, held lines and fetched lines."""
    places = sorted({access.line for reference in unit.references for access in reference.accesses})
    loop = None if unit.loop is None else unit.loop.name
    held = ZERO if unit.scratch else restore(unit.space)
    array = unit.references[0].array
    extents, along = tuple(map(restore, array.extents)), contiguous_dimension(array)
    inside = tuple(dict.fromkeys(loop.name for loop in unit.given_up))
    return Residency(unit.name, extents, along, tuple(places), loop, held, restore(unit.fetched), inside)


def _unknown_io_cost(reason: str, algorithm: s.Algorithm) -> Cost:
    return Cost("io", "unknown", None, None, reason, algorithm.span)


def _make_fit_condition(plan: AllocationPlan, planner: AllocationPlanner) -> s.Fact:
    """Make the condition that Z is at least the words of every need of a plan, without needs below another need."""
    needs: list[Poly] = []
    for need in plan.needs:
        if not any(planner.facts.nonnegative(existing - need) for existing in needs):
            needs = [existing for existing in needs if not planner.facts.nonnegative(need - existing)]
            needs.append(need)
    words = [_lines_to_words(planner.facts.restore(need)) for need in needs]
    return _make_cache_size_fact(words[0] if len(words) == 1 else b.call("max", *words))


def _make_one_line_fact() -> tuple[s.Fact, ...]:
    """Make the condition that the cache has at least one line: Z >= L."""
    return (_make_cache_size_fact(b.name("L")),)


def _make_cache_size_fact(words: s.Expr) -> s.Fact:
    """Make the condition that the cache has at least a number of words: Z >= words."""
    return b.binary(">=", b.name("Z"), words)


def _lines_to_words(lines: Poly) -> s.Expr:
    return (
        to_tree(LINE * lines) if len(shorten_expression(lines).terms) <= 1 else b.product([b.name("L"), to_tree(lines)])
    )
