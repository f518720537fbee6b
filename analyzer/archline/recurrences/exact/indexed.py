"""Find closed forms of recursions by indices, such as those that cut a trapezoid of points in space and in time.

Calls do not halve sizes but move indices. The quantities that shrink are differences of indices, such as t1 - t0 and
x1 - x0, in `where`, `decreases` and conditions. Their products are the basis terms of closed forms.

- An exact form satisfies the equation of every case identically, which gives linear equations for its coefficients.
- Each case may preserve some forms, such as areas and volumes: f(x) = sum of f over the calls. A bound consists of
  these, of the quantities and a constant. A linear program finds it together with the proof for every case, which adds
  up multiples of the facts of the case.
- A fact may hold in all calls that some case leads to, though not at the start: if a case cuts something wide, both
  halves are still fairly wide, and so are all that they call. `invariants` finds such facts, and where one holds, a
  separate bound applies.

The second part reduces recursions on a range between two indices whose cost depends only on their distance. With hi =
lo + d, f(lo, hi) is a function of d if lo cancels in every case: an ordinary recursion on one size.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from fractions import Fraction
from functools import cached_property
from itertools import chain, combinations, combinations_with_replacement, permutations
from random import Random

import numpy as np

from archline.algebra import atoms as a
from archline.algebra.atoms import positive_part
from archline.algebra.effort import TooComplexError, limit_effort
from archline.algebra.evaluate.exact import evaluate
from archline.algebra.index_range import IndexRange, find_index_range
from archline.algebra.polynomial import ONE, ZERO, Monomial, Poly, linear_combination, product, sum_polynomials
from archline.algebra.prove.farkas import Situation
from archline.algebra.prove.handelman import iterate_cone_constraints, iterate_proposals
from archline.expr.intervals import EvaluationError, Point
from archline.expr.solutions import SizeSearch
from archline.ir.declarations import IndexProperties
from archline.language import syntax as s
from archline.numbers import fmpq, fmpq_mat
from archline.records import record, replace
from archline.recurrences.evaluate import FunctionCases, ValueTable
from archline.recurrences.model import Equation, SizeFunction, find_calls, replace_calls, split_value_by_call

MAX_DEGREE = 3
MAX_TERM_PRODUCTS = 4_000_000
MAX_SAMPLES, NUM_SAMPLE_SETS = 120, 2
MAX_EVALUATION_STEPS = 1_500
MAX_WEAKENING, MAX_SHIFT = 4, 3
MAX_RANGE_SHIFT = 2


@record(eq=False)
class CaseCalls:
    """The cost that a case adds, its calls (the number of each and its arguments by name), and names of fixed value."""

    forcing: Poly
    calls: tuple[tuple[int, Mapping[str, Poly]], ...]
    pinned: Mapping[str, Poly]

    def subtract_calls(self, form: Poly, inner: Poly) -> Poly:
        """Return `form` at the sizes of the case less the sum of `inner` over the calls."""
        for count, arguments in self.calls:
            form = form - inner.substitute(arguments).scaled(count)
        return form


@record(eq=False)
class IndexCase(CaseCalls):
    """A case of a function of indices, with its equation."""

    equation: Equation


class NotIndexedError(Exception):
    """Raised if a recursion does not depend on indices alone."""


def build_index_cases(function: SizeFunction) -> tuple[IndexCase, ...]:
    """Return the cases of a function that calls only itself. Raises NotIndexedError."""
    return tuple(_build_case(function, equation) for equation in function.equations)


def _build_case(function: SizeFunction, equation: Equation) -> IndexCase:
    try:
        forcing, factors = split_value_by_call(equation.value)
    except TooComplexError:
        raise NotIndexedError from None
    bounds_of = equation.facts.bounds
    pinned = {name: low for name, bounds in bounds_of.items() for low in bounds.lower if low in bounds.upper}
    own_calls = []
    for call, factor in factors.items():
        number = factor.constant_term
        plain = call.function == function.name and not any(map(find_calls, call.arguments))
        if not plain or not factor.is_constant or number.q != 1 or number < 0:
            raise NotIndexedError
        own_calls.append((int(number.p), dict(zip(function.parameters, call.arguments, strict=True))))
    if find_calls(forcing) or equation.data:
        raise NotIndexedError
    return IndexCase(forcing, tuple(own_calls), pinned, equation)


# Exact forms
def build_products(quantities: Sequence[Poly]) -> tuple[Poly, ...]:
    """Return products of up to MAX_DEGREE quantities, the constant 1 first."""
    products = [ONE]
    for degree in range(1, MAX_DEGREE + 1):
        products.extend(product(factors) for factors in combinations_with_replacement(quantities, degree))
    return tuple(dict.fromkeys(products))


def solve_exact_form(all_cases: Sequence[IndexCase], forms: Sequence[Poly]) -> Poly | None:
    """Return the linear combination of forms that satisfies every case for all indices; None if there is none."""
    rows = [row for case in all_cases for row in _iterate_identities(case, forms, case.forcing)]
    if not rows:
        return None
    reduced, rank = fmpq_mat(rows).rref()
    leads = _find_pivots(reduced, rank)
    if len(forms) in leads:
        return None
    return sum_polynomials(forms[lead].scaled(reduced[row, len(forms)]) for row, lead in enumerate(leads))


def find_preserved_forms(all_cases: Sequence[CaseCalls], forms: Sequence[Poly]) -> list[Poly]:
    """Return the combinations of forms that every case preserves: the value is the sum of the values at the calls."""
    rows = [row[:-1] for case in all_cases if case.calls for row in _iterate_identities(case, forms, ZERO)]
    if not rows:
        return []
    reduced, rank = fmpq_mat(rows).rref()
    leads = _find_pivots(reduced, rank)
    preserved = []
    for free in (index for index in range(len(forms)) if index not in leads):
        form = forms[free]
        for row, lead in enumerate(leads):
            form = form - forms[lead].scaled(reduced[row, free])
        preserved.append(form)
    return preserved


def _find_pivots(reduced: fmpq_mat, rank: int) -> list[int]:
    """Return the column of the first 1 of each row of a reduced echelon form."""
    return [next(column for column in range(reduced.ncols()) if reduced[row, column]) for row in range(rank)]


def _iterate_identities(case: CaseCalls, forms: Sequence[Poly], forcing: Poly) -> Iterator[list[fmpq]]:
    """Iterate over the linear equations of a case for the coefficients of forms, one a monomial; `forcing` is last."""
    columns = [form.substitute(case.pinned) for form in (*(case.subtract_calls(form, form) for form in forms), forcing)]
    monomials: dict[Monomial, None] = {}
    for column in columns:
        monomials |= dict.fromkeys(column.terms)
    for monomial in monomials:
        yield [column.terms.get(monomial, fmpq(0)) for column in columns]


# Bounds
def iterate_weakened_conditions(condition: Poly, quantities: Sequence[Poly]) -> Iterator[Poly]:
    """Iterate over expressions somewhat larger than a condition (>= 0), weaker facts that calls may preserve."""
    for factor in range(1, MAX_WEAKENING + 1):
        for quantity in quantities:
            for shift in range(MAX_SHIFT + 1):
                yield condition + quantity.scaled(factor) + shift


@record
class Invariant:
    """A value that is >= 0 in the calls of the cases in `begins`, and in all calls of callers in which it is >= 0."""

    value: Poly
    begins: frozenset[int]


@record(eq=False)
class Sample:
    """A point of the indices at which case `number` applies, the function's value there, and the points of calls."""

    number: int
    point: Point
    value: Fraction
    calls: tuple[tuple[int, Point], ...]


class InductiveSearch:
    """Searches for bounds of one function of indices, each with a proof by induction."""

    def __init__(
        self, function: SizeFunction, all_cases: Sequence[IndexCase], declaration: IndexProperties, values: ValueTable
    ) -> None:
        self._function, self._cases, self._values = function, all_cases, values
        self._declaration = declaration
        self._situations = [
            Situation((*declaration.facts, *case.equation.known), declaration.ranges, case.pinned) for case in all_cases
        ]
        self._samples = [list(self._iterate_samples(seed)) for seed in range(NUM_SAMPLE_SETS)]

    def _iterate_samples(self, seed: int) -> Iterator[Sample]:
        function, random, cases = self._function, Random(seed), FunctionCases(self._function)
        search = SizeSearch(function.parameters, function.where, function.least)
        for _ in range(MAX_SAMPLES):
            if (sizes := self._declaration.draw(search, function.least, random)) is None:
                continue
            try:
                equation, point = cases.find_equation_at(tuple(sizes[name] for name in function.parameters))
                number = function.equations.index(equation)
                yield self._build_sample(
                    number, point, self._values.evaluate_at(function.name, sizes, MAX_EVALUATION_STEPS)
                )
            except EvaluationError:
                continue

    def _build_sample(self, number: int, point: Point, value: Fraction) -> Sample:
        case = self._cases[number]
        calls_at_point = tuple(
            (count, {**point, **{name: evaluate(argument, point) for name, argument in arguments.items()}})
            for count, arguments in case.calls
        )
        return Sample(number, point, value, calls_at_point)

    @cached_property
    def invariants(self) -> tuple[Invariant, ...]:
        """The facts that hold in all calls that a case leads to: its conditions, weakened as little as necessary."""
        return tuple(self._iterate_invariants())

    def _iterate_invariants(self) -> Iterator[Invariant]:
        for number, case in enumerate(self._cases):
            for condition in case.equation.known if case.calls else ():
                for candidate in iterate_weakened_conditions(condition, self._declaration.quantities):
                    if self._is_invariant(candidate, number):
                        begins = frozenset(
                            n for n in range(len(self._cases)) if self._is_proved_in_calls(candidate, n, ())
                        )
                        yield Invariant(candidate, begins)
                        break

    def _is_invariant(self, value: Poly, begin: int) -> bool:
        return (
            self._is_plausible_at_samples(value, begin)
            and self._is_proved_in_calls(value, begin, ())
            and all(self._is_proved_in_calls(value, number, (value,)) for number in range(len(self._cases)))
        )

    def _is_plausible_at_samples(self, value: Poly, begin: int) -> bool:
        """Test whether no sample contradicts the fact and it fails at one: a fact that always holds is useless."""
        negative = False
        for sample in self._samples[0]:
            inside = evaluate(value, sample.point) >= 0
            negative = negative or not inside
            is_kept = inside or sample.number == begin
            if is_kept and any(evaluate(value, called) < 0 for _, called in sample.calls):
                return False
        return negative

    def _is_proved_in_calls(self, value: Poly, number: int, more: tuple[Poly, ...]) -> bool:
        """Test whether a value >= 0 is proved in every call of a case, if the values `more` are >= 0 in the caller."""
        situation = self._situations[number].with_facts(more)
        return all(situation.proves(value.substitute(arguments)) for _, arguments in self._cases[number].calls)

    def search_bound(self, forms: Sequence[Poly], upper: bool, invariant: Invariant | None) -> Poly | None:
        """Return a bound made of forms, proved together with a second one where the invariant holds; else None."""
        sign, width = (1 if upper else -1), len(forms) * (1 if invariant is None else 2)
        margins = list(self._iterate_margins(forms, sign, invariant))
        mean = np.zeros(width)
        for sample in chain(*self._samples):
            weight = sign / float(1 + sample.value)
            mean[: len(forms)] += [float(evaluate(form, sample.point)) * weight for form in forms]
        parts = [part for margin in margins for part in iterate_cone_constraints(*margin)]
        for numbers in iterate_proposals(parts, mean, sign):
            if all(situation.proves(linear_combination(gains, numbers, rest)) for situation, gains, rest in margins):
                return linear_combination(forms, numbers[: len(forms)])
        return None

    def _iterate_margins(
        self, forms: Sequence[Poly], sign: int, invariant: Invariant | None
    ) -> Iterator[tuple[Situation, list[Poly], Poly]]:
        """Iterate over the inequalities of a bound: sum of coefficient*gain + rest >= 0 in a situation.

        With an `invariant`, forms have separate coefficients for the sizes at which it holds.
        """
        zeros = [ZERO] * len(forms)
        for number, case in enumerate(self._cases):
            situation, negated_forcing = self._situations[number], case.forcing.scaled(-sign)
            whole = [case.subtract_calls(form, form).scaled(sign) for form in forms]
            if invariant is None:
                yield situation, whole, negated_forcing
                continue
            own_forms = [form.scaled(sign) for form in forms]
            calls = [case.subtract_calls(ZERO, form).scaled(sign) for form in forms]
            enters = number in invariant.begins
            yield situation, [*own_forms, *calls] if enters else [*whole, *zeros], negated_forcing
            yield situation.with_facts((invariant.value,)), [*zeros, *whole], negated_forcing

    def clamp_lower_bound(self, bound: Poly) -> Poly:
        """Clamp a lower bound to 0 if it is negative at a sample."""
        below = any(evaluate(bound, sample.point) < 0 for sample in self._samples[0])
        return positive_part(bound) if below else bound

    def sum_ratios(self, bound: Poly) -> Fraction:
        """Return the sum over samples of the ratio of a bound to the function."""
        return sum((evaluate(bound, sample.point) / (1 + sample.value) for sample in self._samples[0]), Fraction(0))


def search_index_bounds(
    function: SizeFunction, declaration: IndexProperties, values: ValueTable | None
) -> tuple[Poly, Poly] | None:
    """Return a lower and an upper bound of a function, equal if exact; None unless both are found.

    None also if no `values` of the function are available.
    """
    if values is None or function.facts.rewrites or not declaration.quantities:
        return None
    try:
        with limit_effort(MAX_TERM_PRODUCTS):
            return _search_bounds_of_cases(build_index_cases(function), function, declaration, values)
    except (NotIndexedError, TooComplexError, EvaluationError):
        return None


def _search_bounds_of_cases(
    all_cases: Sequence[IndexCase], function: SizeFunction, declaration: IndexProperties, values: ValueTable
) -> tuple[Poly, Poly] | None:
    forms = build_products(declaration.quantities)
    form = solve_exact_form(all_cases, forms)
    if form is not None:
        return form, form
    search = InductiveSearch(function, all_cases, declaration, values)
    preserved = find_preserved_forms(all_cases, forms)
    lower, upper = (_search_tightest_bound(search, preserved, declaration.quantities, side) for side in (False, True))
    return None if lower is None or upper is None else (search.clamp_lower_bound(lower), upper)


def _search_tightest_bound(
    search: InductiveSearch, preserved: Sequence[Poly], quantities: Sequence[Poly], upper: bool
) -> Poly | None:
    """Return the tightest bound without an invariant; if all fail, the first with one, few quantities first.

    None if all fail.
    """
    sets = [(*preserved, *chosen, ONE) for k in range(len(quantities) + 1) for chosen in combinations(quantities, k)]
    bounds = [bound for forms in sets if (bound := search.search_bound(forms, upper, None)) is not None]
    if bounds:
        return (min if upper else max)(bounds, key=search.sum_ratios)
    inside = (search.search_bound(forms, upper, invariant) for invariant in search.invariants for forms in sets)
    return next((bound for bound in inside if bound is not None), None)


@record(eq=False)
class LengthRecurrence:
    """A function of the length of a range (`indices`) instead of its two indices, or unchanged without a range.

    It is `partial` if some base case also has indices that no call has, at which the function is not considered.
    """

    function: SizeFunction
    indices: IndexRange | None = None
    partial: bool = False

    def restore_indices(self, value: Poly) -> Poly:
        """Replace the length in a value by the distance of the indices."""
        return value if self.indices is None else value.substitute({self.indices.size: self.indices.distance})


def reduce_to_length(function: SizeFunction) -> LengthRecurrence:
    """Return the function in terms of the distance of its two indices; unchanged if the indices matter otherwise."""
    indices = [name for name in function.parameters if name not in function.least]
    used = {*function.parameters, *(name for equation in function.equations for name in equation.facts.bounds)}
    fixed = (
        name
        for name in function.sizes
        if function.own_calls and all(arguments[name] == Poly.symbol(name) for _, arguments in function.own_calls)
    )
    ends = tuple(fixed)
    index_range, reached = find_index_range(indices, function.facts, used, ends), function
    for shift in range(MAX_RANGE_SHIFT + 1) if index_range is None else ():
        reached = _assume_reached_ranges(function, indices, ends, shift)
        index_range = None if reached is function else find_index_range(indices, reached.facts, used, ends, shift)
        if index_range is not None:
            break
    if index_range is None:
        return LengthRecurrence(function)
    ranges = [index_range]
    if index_range.high in function.least:
        ranges.append(replace(index_range, high_stays=True))
    for candidate in ranges:
        with suppress(_IndexMattersError):
            return LengthRecurrence(
                _LengthReduction(reached, candidate).reduce(), candidate, partial=reached is not function
            )
    return LengthRecurrence(function)


def reduce_alike(function: SizeFunction, reduced: LengthRecurrence) -> LengthRecurrence:
    """Return a function that makes no calls in terms of the range of a bound of the same metric."""
    indices = reduced.indices
    if indices is not None:
        with suppress(_IndexMattersError):
            reached = _assume_nonnegative(function, indices.distance) if reduced.partial else function
            return LengthRecurrence(_LengthReduction(reached, indices).reduce(), indices, reduced.partial)
    return LengthRecurrence(function)


def _assume_reached_ranges(
    function: SizeFunction, indices: Sequence[str], ends: Sequence[str], shift: int
) -> SizeFunction:
    """Return the function where low <= high + shift, if all calls are made there and lead there; else the function."""
    if len(indices) not in (1, 2) or not function.own_calls:
        return function
    pairs = [(indices[0], end) for end in ends] if len(indices) == 1 else list(permutations(indices))
    for low, high in pairs:
        distance = Poly.symbol(high) - Poly.symbol(low) + shift
        if all(
            equation.facts.nonnegative(value)
            for equation, arguments in function.own_calls
            for value in (distance, distance.substitute(arguments))
        ):
            return _assume_nonnegative(function, distance)
    return function


def _assume_nonnegative(function: SizeFunction, value: Poly) -> SizeFunction:
    return replace(
        function,
        facts=function.facts.with_nonnegative(value),
        equations=tuple(replace(x, facts=x.facts.with_nonnegative(value)) for x in function.equations),
    )


class _IndexMattersError(Exception):
    """Raised if a function depends on the position of its range of indices, not only on the length."""


class _LengthReduction:
    """Rewrites a function of the two indices of a range as a function of its length."""

    def __init__(self, function: SizeFunction, indices: IndexRange) -> None:
        self._function, self._indices = function, indices
        self._sizes = self._find_used_sizes()

    def _find_used_sizes(self) -> tuple[str, ...]:
        """Return the sizes in costs, decisions or changed arguments of calls, not those only passed on unchanged."""
        function = self._function

        def sum_changed(call: a.AppliedFunction) -> Poly:
            pairs = zip(function.parameters, call.arguments, strict=True)
            return sum_polynomials(value for name, value in pairs if value != Poly.symbol(name))

        used = [self._map_own_calls(equation.value, sum_changed) for equation in function.equations]
        used += [decision.indicator for equation in function.equations for decision in equation.decisions]
        names = frozenset().union(*(value.names for value in used))
        kept = (name for name in function.parameters if name in function.least and name in names)
        return tuple(name for name in kept if name != self._indices.high or self._indices.high_stays)

    def reduce(self) -> SizeFunction:
        """Return the function of the length. Raises _IndexMattersError."""
        function, indices = self._function, self._indices
        return replace(
            function,
            parameters=(*self._sizes, indices.size),
            least={**{name: function.least[name] for name in self._sizes}, indices.size: indices.least},
            facts=indices.substitute_high_in_facts(function.facts),
            equations=tuple(map(self._reduce_equation, function.equations)),
            where=tuple(fact for fact in function.where if s.find_names(fact) <= set(self._sizes)),
            promised=tuple(
                fact
                for fact in map(indices.substitute_high, function.promised)
                if fact.names <= {*self._sizes, indices.size}
            ),
        )

    def _reduce_equation(self, equation: Equation) -> Equation:
        moved = map(self._indices.substitute_high, equation.known)
        return replace(
            equation,
            decisions=tuple(
                replace(test, indicator=self._remove_indices(test.indicator)) for test in equation.decisions
            ),
            facts=self._indices.substitute_high_in_facts(equation.facts),
            value=self._remove_indices(self._map_own_calls(equation.value, self._reduce_call)),
            known=tuple(fact for fact in moved if self._indices.low not in fact.names),
        )

    def _reduce_call(self, call: a.AppliedFunction) -> Poly:
        """Return a recursive call with the distance of its indices as argument."""
        arguments = dict(
            zip(self._function.parameters, map(self._indices.substitute_high, call.arguments), strict=True)
        )
        distance = arguments[self._indices.high] - arguments[self._indices.low] + self._indices.shift
        length = self._indices.substitute_high(distance)
        return Poly.of_atom(a.AppliedFunction(call.function, (*(arguments[name] for name in self._sizes), length)))

    def _map_own_calls(self, value: Poly, change: Callable[[a.AppliedFunction], Poly]) -> Poly:
        return replace_calls(value, lambda call: change(call) if call.function == self._function.name else None)

    def _remove_indices(self, value: Poly) -> Poly:
        """Return the value in terms of the distance. Raises _IndexMattersError."""
        moved = self._indices.substitute_high(value)
        if self._indices.low in moved.names:
            raise _IndexMattersError
        return moved
