"""Sum and maximise amounts over the ranges of loops, which are expressions in sizes or depend on data."""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations

from archline.algebra import atoms as a
from archline.algebra.effort import OutOfBudgetError, TooComplexError
from archline.algebra.facts import Facts
from archline.algebra.maximise import max_over
from archline.algebra.polynomial import ONE, ZERO, Poly, Symbol
from archline.algebra.relax import bound_nonnegative_maximum, bound_sum, replace_atom_by_bound
from archline.algebra.sums.summation import UnresolvedError, is_composite_in, sum_over
from archline.expr.tree import Span, make_structural_key
from archline.ir import max_plus
from archline.ir.amounts import (
    ZERO_AMOUNT,
    Amount,
    KnownAmount,
    UnknownAmount,
    add_amounts,
    exact_amount,
    map_bounds,
    maximum_amount,
    scale_amount,
    widen_to_zero,
)
from archline.ir.factors import count_divisions, count_multiplications
from archline.ir.max_plus import MaxPlusMap
from archline.ir.scope import NotStaticError, Scope, has_data_symbol, known_value, static_value
from archline.language import syntax as s
from archline.numbers import fmpq
from archline.records import field, record, replace


@record
class IterationRange:
    """The iterations of a loop, lo <= counter < hi with lo <= hi.

    `variable` names the counter, `value` is the loop variable as an expression in it; `facts` hold around the loop.
    If there is an iteration, the `distance` between the ends of the values is at least 0.
    """

    variable: str
    lo: Poly
    hi: Poly
    value: Poly
    facts: Facts
    span: Span
    distance: Poly = ZERO
    # Results, as the amounts of a body for flops of several kinds, work and span are often one expression.
    _done: dict[tuple[str, KnownAmount], Amount] = field(default_factory=dict, compare=False, repr=False)

    @property
    def trips(self) -> Poly:
        """The number of iterations."""
        return self.hi - self.lo

    @property
    def counter_substitution(self) -> tuple[str, Poly] | None:
        """The name of the counter, and the counter as an expression in which that name stands for the loop variable.

        None if counter and loop variable are equal.
        """
        now = Poly.symbol(self.variable)
        parts = self.value.coefficients(next(iter(now.atoms())))
        if self.value == now or 1 not in parts or set(parts) - {0, 1}:
            return None
        return self.variable, (now - parts.get(0, ZERO)) * parts[1] ** -1

    @property
    def inside(self) -> Facts:
        """The facts in the body, where the range is not empty."""
        facts = self._nonempty_facts
        return facts.with_symbol(self.variable, (self.lo,), (facts.simplify(self.hi) - 1,))

    @property
    def _nonempty_facts(self) -> Facts:
        """The facts around the loop, and the fact that it has an iteration: trips >= 1; e >= 1 for trips max(0, e)."""
        trips = self.trips
        for atom in self.trips.atoms():
            rest = self.trips - Poly.of_atom(atom)
            if isinstance(atom, a.PositivePart) and (not rest or rest == -atom.argument):
                trips = rest or atom.argument
        return self.facts.with_nonnegative(trips - 1).with_nonnegative(self.distance)

    def sum(self, amount: Amount) -> Amount:
        """Sum an amount over the iterations."""
        return self._accumulate_amount(amount, sum_over, bound_sum, self.facts, "sum")

    def maximum(self, amount: Amount) -> Amount:
        """Return the maximum over the iterations, 0 if there are none."""
        largest = self.maximum_if_nonempty(amount)
        return take_if_nonempty(largest, exact_amount(self.trips), self.facts)

    def maximum_if_nonempty(self, amount: Amount) -> Amount:
        """Return the maximum over the iterations; it has no meaning if there are none."""
        return self._accumulate_amount(amount, max_over, bound_nonnegative_maximum, self._nonempty_facts, "maximum")

    def bound_amount(self, amount: Amount) -> Amount:
        """Return bounds of an amount in all iterations; they have no meaning if there are none."""
        if isinstance(amount, UnknownAmount) or self.variable not in amount.lower.names | amount.upper.names:
            return amount
        largest = self.maximum_if_nonempty(exact_amount(amount.upper))
        if isinstance(largest, UnknownAmount):
            return largest
        try:
            negated = max_over(-amount.lower, self.variable, self.lo, self.hi, self._nonempty_facts)
        except OutOfBudgetError:
            raise
        except (UnresolvedError, TooComplexError):
            negated = ZERO
        return KnownAmount(self.facts.positive_part(-negated), largest.upper)

    def _accumulate_amount(
        self,
        amount: Amount,
        exact: Callable[[Poly, str, Poly, Poly, Facts], Poly],
        bounded: Callable[[Poly, str, Poly, Poly, Facts, bool], Poly | None],
        facts: Facts,
        what: str,
    ) -> Amount:
        """Sum or maximise (`what`) both bounds of an amount over the iterations: by `exact`, or else by `bounded`."""

        def accumulate_bound(value: Poly, upper: bool, must: bool) -> Poly | None:
            try:
                return exact(value, self.variable, self.lo, self.hi, facts)
            except UnresolvedError:
                bound = bounded(value, self.variable, self.lo, self.hi, facts, upper)
                # A sum or maximum of nonnegative amounts is nonnegative, even if the bound found is not.
                return bound if upper or bound is None else facts.positive_part(bound)
            except TooComplexError as problem:
                if must or isinstance(problem, OutOfBudgetError):
                    raise
                return None

        def accumulate_bounds(amount: KnownAmount) -> Amount:
            try:
                lower, upper = (
                    accumulate_bound(amount.lower, False, amount.exact),
                    accumulate_bound(amount.upper, True, amount.exact),
                )
            except OutOfBudgetError:
                raise
            except TooComplexError as problem:
                return UnknownAmount(str(problem), self.span)
            if upper is None:
                return UnknownAmount(
                    f"no closed form or bound was found for the {what} over `{self.variable}`", self.span
                )
            return KnownAmount(lower or ZERO, upper)

        if amount is ZERO_AMOUNT or isinstance(amount, UnknownAmount):
            return amount
        # Counts of flops are mostly multiples of each other, and so are their sums and maxima.
        scale = a.compute_content(amount.lower) if amount.exact else fmpq(1)
        primitive = exact_amount(amount.lower.scaled(1 / scale)) if scale != 1 else amount
        result = self._done.get((what, primitive))
        if result is None:
            result = self._done[what, primitive] = accumulate_bounds(primitive)
        return result if scale == 1 else map_bounds(result, lambda value: value.scaled(scale))


def take_if_nonempty(amount: Amount, trips: Amount, facts: Facts) -> Amount:
    """Return the amount if a loop has iterations, else 0."""

    def indicate_nonempty(count: Poly) -> Poly:
        return ONE if facts.positive(count) else facts.positive_part(count) - facts.positive_part(count - 1)

    return scale_amount(amount, map_bounds(trips, indicate_nonempty))


def fork_depth(iterations: IterationRange) -> Amount:
    """Return ceil(log2 t), the depth of the binary tree of forks that starts t parallel iterations."""
    return exact_amount(iterations.facts.simplify(a.ceil_log2(iterations.trips)))


def static_range(loop: s.Loop, scope: Scope) -> IterationRange:
    """Return the range of a loop with known bounds, counted from 0 unless the step is 1. Raises NotStaticError."""
    facts = scope.facts
    lo = facts.simplify(static_value(loop.lo, scope))
    hi = facts.simplify(static_value(loop.hi, scope))
    step = Poly.constant(1) if loop.step is None else static_value(loop.step, scope)
    variable = Poly.symbol(loop.variable)
    if loop.scales:
        return _count_scaled_range(loop, scope, lo, hi)
    if not loop.down and step == Poly.constant(1):
        return IterationRange(loop.variable, lo, facts.maximum(lo, hi), variable, facts, loop.span)
    if not facts.positive(step):
        raise NotStaticError("its step is not known to be positive", loop.hi)
    if loop.down:
        count, value = a.floor_div(lo - hi, step) + 1, lo - step * variable
    else:
        count, value = a.ceil_div(hi - lo, step), lo + step * variable
    return IterationRange(loop.variable, ZERO, facts.positive_part(facts.simplify(count)), value, facts, loop.span)


def read_segment_ends(loop: s.Loop, scope: Scope) -> tuple[Poly, Poly] | None:
    """Return the ends of a range between entries of offsets arrays; None for others, or if it may be negative."""
    reading = replace(scope, reads_offsets=True)
    lo, hi = known_value(loop.lo, reading), known_value(loop.hi, reading)
    if loop.down or loop.step is not None or lo is None or hi is None:
        return None
    facts = scope.facts
    nonnegative = is_nonnegative_distance(hi - lo, facts) or facts.nonnegative(a.as_gaps(hi - lo))
    return (lo, hi) if nonnegative else None


def segment_range(loop: s.Loop, scope: Scope) -> IterationRange | None:
    """Return the range of a loop over a segment of an offsets array, counted from 0; None for other loops."""
    ends = read_segment_ends(loop, scope)
    if ends is None:
        return None
    lo, hi = ends
    value = lo + Poly.symbol(loop.variable)
    return IterationRange(loop.variable, ZERO, a.as_gaps(hi - lo), value, scope.facts, loop.span)


def _count_scaled_range(loop: s.Loop, scope: Scope, lo: Poly, hi: Poly) -> IterationRange:
    """Return the range of a loop by factors. Raises NotStaticError."""
    facts, variable = scope.facts, Poly.symbol(loop.variable)
    if not facts.positive(hi if loop.down else lo):
        raise NotStaticError("its values are not known to be positive", loop.hi if loop.down else loop.lo)
    factor = _read_factor(loop)
    power = a.exponential(factor, variable)
    if loop.down:
        steps, value, distance = count_divisions(lo, hi, factor, facts), a.floor_div(lo, power), lo - hi
    else:
        steps, value, distance = count_multiplications(lo, hi, factor, facts), lo * power, hi - lo - 1
    return IterationRange(loop.variable, ZERO, steps, value, facts, loop.span, distance)


def _count_scaled(lo: KnownAmount, hi: KnownAmount, loop: s.Loop, facts: Facts) -> KnownAmount | None:
    """Count the values of a loop by factors between bounds of its ends; None unless the least value is positive."""
    factor = _read_factor(loop)
    if not facts.positive(hi.lower if loop.down else lo.lower):
        return None
    if loop.down:
        fewest, most = (
            count_divisions(lo.lower, hi.upper, factor, facts),
            count_divisions(lo.upper, hi.lower, factor, facts),
        )
    else:
        fewest = count_multiplications(lo.upper, hi.lower, factor, facts)
        most = count_multiplications(lo.lower, hi.upper, factor, facts)
    return KnownAmount(fewest, most)


def _read_factor(loop: s.Loop) -> int:
    assert isinstance(loop.step, s.Integer)
    return loop.step.value


def compose_iterations(body: MaxPlusMap, iterations: IterationRange) -> MaxPlusMap:
    """Return the map of all iterations of a body in sequence; spawned calls may run until a sync after the loop."""
    advance = iterations.sum(body.advance)
    if body.serial:
        return max_plus.serial_map(advance)
    if body.joined is None:
        return MaxPlusMap(advance, _latest_spawn_end(body, iterations, advance))
    certain = body.certain and iterations.facts.positive(iterations.trips)
    if body.finish == body.advance:
        return MaxPlusMap(advance, advance, widen_to_zero(advance), widen_to_zero(advance), certain)
    if isinstance(advance, UnknownAmount):
        return max_plus.serial_map(advance)
    late = iterations.sum(body.finish)
    upper = late if isinstance(late, UnknownAmount) else KnownAmount(advance.lower, late.upper)
    return MaxPlusMap(upper, upper, widen_to_zero(upper), widen_to_zero(upper), certain)


def _latest_spawn_end(body: MaxPlusMap, iterations: IterationRange, advance: Amount) -> Amount:
    """Return the latest end of a spawned call: the time of all iterations before it, plus `finish` of its iteration."""
    before = IterationRange(
        iterations.variable + "'",
        iterations.lo,
        Poly.symbol(iterations.variable),
        iterations.value,
        iterations.inside,
        iterations.span,
    )

    def with_renamed_counter(amount: Amount) -> Amount:
        shift = {iterations.variable: Poly.symbol(before.variable)}
        return map_bounds(amount, lambda value: value.substitute(shift))

    ends = add_amounts(before.sum(with_renamed_counter(body.advance)), body.finish)
    return maximum_amount(advance, iterations.maximum(ends), iterations.facts)


@record
class DataRange:
    """Bounds on the trip count of a loop; its variable lies between `first` and `last`."""

    trips: KnownAmount
    first: Poly
    last: Poly


def bound_data_range(loop: s.Loop, scope: Scope) -> DataRange | None:
    """Bound the range of a loop whose ends depend on data, by declarations of the arrays that they are read from.

    None if the declarations do not bound them, or if the step may not be positive.
    """
    low, high = (loop.hi, loop.lo) if loop.down else (loop.lo, loop.hi)
    step = _positive_step(loop, scope)
    low_range, high_range = bound_integer(low, scope), bound_integer(high, scope)
    if step is None or low_range is None or high_range is None:
        return None
    # The end of `downto` is included.
    included = ONE if loop.down else ZERO
    facts = scope.facts
    if loop.scales:
        ends = KnownAmount(*low_range), KnownAmount(*high_range)
        scaled = _count_scaled(*(ends[::-1] if loop.down else ends), loop, facts)
        return None if scaled is None else DataRange(scaled, low_range[0], high_range[1] - 1 + included)
    distance = _bound_segment_distance(low, high, included, scope)
    if distance is None:
        distance = KnownAmount(
            facts.positive_part(high_range[0] - low_range[1] + included),
            facts.positive_part(high_range[1] - low_range[0] + included),
        )
    trips = KnownAmount(a.ceil_div(distance.lower, step), a.ceil_div(distance.upper, step))
    return DataRange(trips, low_range[0], high_range[1] - 1 + included)


def _positive_step(loop: s.Loop, scope: Scope) -> Poly | None:
    if loop.step is None:
        return ONE
    step = known_value(loop.step, scope)
    return None if step is None or not scope.facts.positive(step) else step


def _bound_segment_distance(low: s.Expr, high: s.Expr, more: Poly, scope: Scope) -> KnownAmount | None:
    """Bound max(0, high - low + more) for entries of offsets arrays; None if a difference of data values remains."""
    try:
        distance = _evaluate_difference(s.Binary("-", high, low, span=high.span), scope)
    except NotStaticError:
        segments = _match_segment(low, high, scope)
        return None if segments is None else KnownAmount(ZERO, segments.ceiling)
    distance = a.as_gaps(distance) + more
    return exact_amount(
        distance if is_nonnegative_distance(distance, scope.facts) else scope.facts.positive_part(distance)
    )


def has_row_length_bound(loop: s.Loop, scope: Scope) -> bool:
    """Test whether the trip count of a loop has a better bound than the number of all entries of an offsets array.

    It has none if the loop runs over a row that data selects and the array does not declare the length `longest`.
    """
    segments = None if loop.down else _match_segment(loop.lo, loop.hi, scope)
    return segments is None or segments.longest is not None


def _match_segment(low: s.Expr, high: s.Expr, scope: Scope) -> a.Segments | None:
    """Return the segments of the offsets array a if the range is `a[e]..a[e + 1]` for any e, else None."""
    match low, high:
        case (
            s.Element(array=array, subscripts=(start,)),
            s.Element(array=end_array, subscripts=(s.Binary(op="+", left=left, right=s.Integer(value=1)),)),
        ) if array == end_array and make_structural_key(left) == make_structural_key(start):
            return scope.segments.get(array)
        case _:
            return None


def is_nonnegative_distance(value: Poly, facts: Facts) -> bool:
    """Test whether a value is proved nonnegative as `a[e + w] - a[e]` of offsets, w >= 0, plus a nonnegative value."""
    entries = [atom for atom in value.atoms() if isinstance(atom, a.Offset)]
    for high, low in permutations(entries, 2):
        rest = value - Poly.of_atom(high) + Poly.of_atom(low)
        ordered = high.segments == low.segments and facts.nonnegative(high.index - low.index)
        if ordered and not rest.atoms() & {high, low} and facts.nonnegative(rest):
            return True
    return False


def _evaluate_difference(difference: s.Expr, scope: Scope) -> Poly:
    """Evaluate a difference in which data-dependent integers may cancel. Raises NotStaticError."""
    scope = replace(scope, reads_offsets=True)
    try:
        return static_value(difference, scope)
    except NotStaticError:
        value = static_value(difference, replace(scope, names_data=True))
        if has_data_symbol(value):
            raise
        return value


def evaluate_extent(expr: s.Expr, scope: Scope) -> Poly:
    """Evaluate an extent, which may be a distance of entries of offsets arrays (then at least 0).

    Raises NotStaticError.
    """
    value = a.as_gaps(_evaluate_difference(expr, scope))
    if not any(isinstance(atom, a.Offset | a.Gap) for atom in value.atoms()) or is_nonnegative_distance(
        value, scope.facts
    ):
        return value
    return scope.facts.positive_part(value)


def bound_extent(expr: s.Expr, scope: Scope) -> KnownAmount | None:
    """Bound an extent from both sides, None if nothing is known; a negative extent would stop the run."""
    try:
        value = evaluate_extent(expr, scope)
    except NotStaticError:
        interval = bound_integer(expr, scope)
        return None if interval is None else KnownAmount(*map(scope.facts.positive_part, interval))
    return exact_amount(
        value if is_nonnegative_distance(value, scope.facts) else scope.facts.positive_part(scope.facts.simplify(value))
    )


def bound_integer(expr: s.Expr, scope: Scope) -> tuple[Poly, Poly] | None:
    """Return the least and the greatest value of an integer, by the declarations of the arrays that it is read from.

    None if nothing is known.
    """
    value = known_value(expr, scope)
    if value is not None:
        return value, value
    match expr:
        case s.Name(id=name) if name in scope.intervals:
            return scope.intervals[name]
        case s.Element(array=array) if array in scope.below:
            return ZERO, scope.below[array] - 1
        case s.Element(array=array) if array in scope.segments:
            return ZERO, scope.segments[array].total
        case s.Binary(op="+" | "-" as op, left=left, right=right):
            first, second = bound_integer(left, scope), bound_integer(right, scope)
            if first is None or second is None:
                return None
            return (
                (first[0] + second[0], first[1] + second[1])
                if op == "+"
                else (first[0] - second[1], first[1] - second[0])
            )
        case _:
            return None


def bound_amount_over_loop(amount: Amount, loop: s.Loop, facts: Facts, values: IterationRange | None = None) -> Amount:
    """Bound an amount for all values of a loop variable, which are among `values`.

    The result is unknown if no upper bound is found.
    """
    if isinstance(amount, UnknownAmount) or loop.variable not in amount.lower.names | amount.upper.names:
        return amount
    lower, upper = (
        _bound_for_all_values(amount.lower, loop, facts, False),
        _bound_for_all_values(amount.upper, loop, facts, True),
    )
    if upper is None and values is not None:
        # Without values there are no iterations, but perhaps a bound of their number that is not 0.
        return map_bounds(values.bound_amount(amount), values.facts.positive_part)
    if upper is None:
        return UnknownAmount(f"the body depends on `{loop.variable}`, whose values depend on data", loop.span)
    return KnownAmount(ZERO if lower is None else lower, upper)


def _bound_for_all_values(value: Poly, loop: s.Loop, facts: Facts, upper: bool) -> Poly | None:
    if any(is_composite_in(atom, loop.variable) for atom in value.atoms()):
        return None
    return replace_atom_by_bound(value, Symbol(loop.variable), facts, upper)


def bound_fork_depth(trips: Amount) -> Amount:
    """Bound the fork depth of a parallel loop with a data-dependent trip count t: from 0 to ceil(log2 t)."""
    return trips if isinstance(trips, UnknownAmount) else KnownAmount(ZERO, a.ceil_log2(trips.upper))
