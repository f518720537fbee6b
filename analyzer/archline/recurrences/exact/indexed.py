"""Closed forms of recursions by indices, such as those that cut a trapezoid of points in space and in time.

Sizes shrink by halves; indices are moved about. What shrinks with them is in the text: the differences in `where`,
`decreases` and conditions, t1 - t0, x1 - x0. Products of these linear quantities are the elements of closed forms.

- An exact form satisfies the equation of every case identically: linear equations for its coefficients.
- So do forms that each case hands on whole, f(x) = sum of f over the calls: areas and volumes. A bound is made of them,
  of the quantities and a constant. A linear program finds it together with
  the proof that every case keeps it, which adds up multiples of what is known in the case.
- Calls may only be made where more holds than at the start: where a case cuts what is wide, both halves are still
  fairly wide, and so are all that they call in turn. `invariants` finds such a fact, and where it holds the bound is
  one of its own.

Recursion on a range from one index to another, whose cost depends on how far they are apart alone.

With hi = lo + d, f(lo, hi) is a function of d where lo drops out of every case: an ordinary recursion on one size.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from itertools import chain, combinations, combinations_with_replacement
from random import Random

import numpy as np

from archline.algebra import atoms as a
from archline.algebra.atoms import positive_part
from archline.algebra.effort import TooComplexError, budget
from archline.algebra.evaluate.exact import evaluate
from archline.algebra.index_range import IndexRange, index_range
from archline.algebra.polynomial import ONE, ZERO, Monomial, Poly, combination, product, total
from archline.algebra.prove.farkas import Situation
from archline.algebra.prove.handelman import constraints, proposals
from archline.expr.intervals import EvaluationError
from archline.expr.solutions import SizeSearch
from archline.ir.declarations import Declaration
from archline.language import syntax as s
from archline.numbers import fmpq, fmpq_mat
from archline.records import record, replace
from archline.recurrences.evaluate import FunctionCases, Point, ValueTable
from archline.recurrences.model import Equation, SizeFunction, by_call, calls, with_calls

MAX_DEGREE = 3
MAX_TERM_PRODUCTS = 4_000_000
MAX_SAMPLES, ROUNDS = 120, 2
MAX_STEPS = 1_500
WIDEST, SHIFTS = 4, 3


@record(eq=False)
class CaseCalls:
    """What a case adds, and the arguments of its calls by name, with how often each is made."""

    forcing: Poly
    calls: tuple[tuple[int, Mapping[str, Poly]], ...]
    pinned: Mapping[str, Poly]

    def less_calls(self, form: Poly, inner: Poly) -> Poly:
        """A form at the sizes of the case less what another one is at the calls."""
        for times, given in self.calls:
            form = form - inner.substitute(given).scaled(times)
        return form


@record(eq=False)
class IndexCase(CaseCalls):
    """A case of a function."""

    equation: Equation


class NotIndexedError(Exception):
    """The recursion is not one that indices alone decide."""


def index_cases(function: SizeFunction) -> tuple[IndexCase, ...]:
    """The cases of a function that calls only itself. Raises NotIndexedError."""
    return tuple(_move(function, equation) for equation in function.equations)


def _move(function: SizeFunction, equation: Equation) -> IndexCase:
    try:
        forcing, factors = by_call(equation.value)
    except TooComplexError:
        raise NotIndexedError from None
    known = equation.facts.bounds
    pinned = {name: low for name, each in known.items() for low in each.lower if low in each.upper}
    made = []
    for call, factor in factors.items():
        number = factor.constant_term
        plain = call.function == function.name and not any(map(calls, call.arguments))
        if not plain or not factor.is_constant or number.q != 1 or number < 0:
            raise NotIndexedError
        made.append((int(number.p), dict(zip(function.parameters, call.arguments, strict=True))))
    if calls(forcing) or equation.data:
        raise NotIndexedError
    return IndexCase(forcing, tuple(made), pinned, equation)


# Exact forms
def index_products(quantities: Sequence[Poly]) -> tuple[Poly, ...]:
    """Products of up to three quantities, the constant first."""
    found = [ONE]
    for degree in range(1, MAX_DEGREE + 1):
        found.extend(product(factors) for factors in combinations_with_replacement(quantities, degree))
    return tuple(dict.fromkeys(found))


def exact(all_moves: Sequence[IndexCase], forms: Sequence[Poly]) -> Poly | None:
    """The sum of multiples of forms that is what every case says, for all indices."""
    rows = [row for move in all_moves for row in _identities(move, forms, move.forcing)]
    if not rows:
        return None
    reduced, rank = fmpq_mat(rows).rref()
    leads = _leads(reduced, rank)
    if len(forms) in leads:
        return None
    return total(forms[lead].scaled(reduced[row, len(forms)]) for row, lead in enumerate(leads))


def handed_on(all_moves: Sequence[CaseCalls], forms: Sequence[Poly]) -> list[Poly]:
    """Forms that every case with calls hands on whole to them."""
    rows = [row[:-1] for move in all_moves if move.calls for row in _identities(move, forms, ZERO)]
    if not rows:
        return []
    reduced, rank = fmpq_mat(rows).rref()
    leads = _leads(reduced, rank)
    found = []
    for free in (each for each in range(len(forms)) if each not in leads):
        form = forms[free]
        for row, lead in enumerate(leads):
            form = form - forms[lead].scaled(reduced[row, free])
        found.append(form)
    return found


def _leads(reduced: fmpq_mat, rank: int) -> list[int]:
    """Of each row of a reduced echelon form, where its first 1 is."""
    return [next(column for column in range(reduced.ncols()) if reduced[row, column]) for row in range(rank)]


def _identities(move: CaseCalls, forms: Sequence[Poly], forcing: Poly) -> Iterator[list[fmpq]]:
    """The equations for the coefficients, one for each product of indices that occurs; what they add up to is last."""
    columns = [each.substitute(move.pinned) for each in (*(move.less_calls(form, form) for form in forms), forcing)]
    monomials: dict[Monomial, None] = {}
    for column in columns:
        monomials |= dict.fromkeys(column.terms)
    for monomial in monomials:
        yield [column.terms.get(monomial, fmpq(0)) for column in columns]


# Bounds
def weakened_conditions(condition: Poly, quantities: Sequence[Poly]) -> Iterator[Poly]:
    """What is somewhat less than a value that is at least 0, and may still be handed on."""
    for more in range(1, WIDEST + 1):
        for quantity in quantities:
            for shift in range(SHIFTS + 1):
                yield condition + quantity.scaled(more) + shift


@record
class Invariant:
    """A value that is never negative in the calls of some cases, nor in any call where it is not."""

    value: Poly
    begins: frozenset[int]


@record(eq=False)
class Sample:
    """Indices at which the case `number` applies, the function's value there, and the calls."""

    number: int
    point: Point
    value: Fraction
    calls: tuple[tuple[int, Point], ...]


class InductiveSearch:
    """Looks for bounds of one function."""

    def __init__(
        self, function: SizeFunction, all_moves: Sequence[IndexCase], declaration: Declaration, values: ValueTable
    ) -> None:
        self._function, self._moves, self._values = function, all_moves, values
        self._declaration = declaration
        self._situations = [
            Situation((*declaration.facts, *move.equation.known), declaration.ranges, move.pinned) for move in all_moves
        ]
        self._samples = [list(self._drawn(seed)) for seed in range(ROUNDS)]

    def _drawn(self, seed: int) -> Iterator[Sample]:
        function, random, cases = self._function, Random(seed), FunctionCases(self._function)
        search = SizeSearch(function.parameters, function.where, function.least)
        for _ in range(MAX_SAMPLES):
            if (sizes := self._declaration.draw(search, function.least, random)) is None:
                continue
            try:
                equation, point = cases.at(tuple(sizes[name] for name in function.parameters))
                number = function.equations.index(equation)
                yield self._sample(number, point, self._values.at(function.name, sizes, MAX_STEPS))
            except EvaluationError:
                continue

    def _sample(self, number: int, point: Point, value: Fraction) -> Sample:
        move = self._moves[number]
        made = tuple(
            (times, {**point, **{name: evaluate(argument, point) for name, argument in given.items()}})
            for times, given in move.calls
        )
        return Sample(number, point, value, made)

    @cached_property
    def invariants(self) -> tuple[Invariant, ...]:
        """Facts that hold in all calls from some case on: a condition of the case, weakened as little as it takes."""
        return tuple(self._invariants())

    def _invariants(self) -> Iterator[Invariant]:
        for number, move in enumerate(self._moves):
            for condition in move.equation.known if move.calls else ():
                for candidate in weakened_conditions(condition, self._declaration.quantities):
                    if self._kept(candidate, number):
                        begins = frozenset(n for n in range(len(self._moves)) if self._always(candidate, n, ()))
                        yield Invariant(candidate, begins)
                        break

    def _kept(self, value: Poly, begin: int) -> bool:
        return (
            self._plausible(value, begin)
            and self._always(value, begin, ())
            and all(self._always(value, number, (value,)) for number in range(len(self._moves)))
        )

    def _plausible(self, value: Poly, begin: int) -> bool:
        """Whether no sample speaks against it; and some for it: it says nothing where it always holds."""
        negative = False
        for sample in self._samples[0]:
            inside = evaluate(value, sample.point) >= 0
            negative = negative or not inside
            kept = inside or sample.number == begin
            if kept and any(evaluate(value, there) < 0 for _, there in sample.calls):
                return False
        return negative

    def _always(self, value: Poly, number: int, more: tuple[Poly, ...]) -> bool:
        """Whether it is proved to be at least 0 in every call of a case, where `more` is."""
        situation = self._situations[number].knowing(more)
        return all(situation.proves(value.substitute(given)) for _, given in self._moves[number].calls)

    def bound(self, forms: Sequence[Poly], upper: bool, invariant: Invariant | None) -> Poly | None:
        """A bound that is proved, made of forms: one at any indices, and one where the invariant holds."""
        sign, width = (1 if upper else -1), len(forms) * (1 if invariant is None else 2)
        margins = list(self._margins(forms, sign, invariant))
        mean = np.zeros(width)
        for sample in chain(*self._samples):
            weight = sign / float(1 + sample.value)
            mean[: len(forms)] += [float(evaluate(form, sample.point)) * weight for form in forms]
        parts = [part for margin in margins for part in constraints(*margin)]
        for numbers in proposals(parts, mean, sign):
            if all(situation.proves(combination(gains, numbers, rest)) for situation, gains, rest in margins):
                return combination(forms, numbers[: len(forms)])
        return None

    def _margins(
        self, forms: Sequence[Poly], sign: int, invariant: Invariant | None
    ) -> Iterator[tuple[Situation, list[Poly], Poly]]:
        """By case, what must be at least 0 for the bounds to be ones: what each coefficient is of, and the rest."""
        nothing = [ZERO] * len(forms)
        for number, move in enumerate(self._moves):
            situation, due = self._situations[number], move.forcing.scaled(-sign)
            whole = [move.less_calls(form, form).scaled(sign) for form in forms]
            if invariant is None:
                yield situation, whole, due
                continue
            own = [form.scaled(sign) for form in forms]
            calls = [move.less_calls(ZERO, form).scaled(sign) for form in forms]
            enters = number in invariant.begins
            yield situation, [*own, *calls] if enters else [*whole, *nothing], due
            yield situation.knowing((invariant.value,)), [*nothing, *whole], due

    def clamped(self, bound: Poly) -> Poly:
        """A lower bound that says something where it is below 0."""
        below = any(evaluate(bound, each.point) < 0 for each in self._samples[0])
        return positive_part(bound) if below else bound

    def size(self, bound: Poly) -> Fraction:
        """How large a bound is relative to the function, at the samples."""
        return sum((evaluate(bound, each.point) / (1 + each.value) for each in self._samples[0]), Fraction(0))


def index_bounds(
    function: SizeFunction, declaration: Declaration, values: ValueTable | None
) -> tuple[Poly, Poly] | None:
    """A lower and an upper bound, the same where the form is exact; None where none is found."""
    if values is None or function.facts.rewrites or not declaration.quantities:
        return None
    try:
        with budget(MAX_TERM_PRODUCTS):
            return _index_bounds(index_cases(function), function, declaration, values)
    except (NotIndexedError, TooComplexError, EvaluationError):
        return None


def _index_bounds(
    all_moves: Sequence[IndexCase], function: SizeFunction, declaration: Declaration, values: ValueTable
) -> tuple[Poly, Poly] | None:
    forms = index_products(declaration.quantities)
    form = exact(all_moves, forms)
    if form is not None:
        return form, form
    search = InductiveSearch(function, all_moves, declaration, values)
    kept = handed_on(all_moves, forms)
    lower, upper = (_bound(search, kept, declaration.quantities, side) for side in (False, True))
    return None if lower is None or upper is None else (search.clamped(lower), upper)


def _bound(search: InductiveSearch, kept: Sequence[Poly], quantities: Sequence[Poly], upper: bool) -> Poly | None:
    """The tightest of the bounds without invariants; where there is none, the first with one, of few quantities."""
    sets = [(*kept, *each, ONE) for count in range(len(quantities) + 1) for each in combinations(quantities, count)]
    plain = [found for forms in sets if (found := search.bound(forms, upper, None)) is not None]
    if plain:
        return (min if upper else max)(plain, key=search.size)
    inside = (search.bound(forms, upper, invariant) for invariant in search.invariants for forms in sets)
    return next((found for found in inside if found is not None), None)


@record(eq=False)
class LengthRecurrence:
    """A function of the length of a range in place of its two indices; without a range a function as it is."""

    function: SizeFunction
    indices: IndexRange | None = None

    def restored(self, value: Poly) -> Poly:
        """The value with the indices."""
        return value if self.indices is None else value.substitute({self.indices.size: self.indices.distance})


def by_distance(function: SizeFunction) -> LengthRecurrence:
    """The function in terms of the distance of its two indices, where it has such and they matter in no other way."""
    indices = [name for name in function.parameters if name not in function.least]
    used = {*function.parameters, *(name for each in function.equations for name in each.facts.bounds)}
    found = index_range(indices, function.facts, used)
    try:
        return (
            LengthRecurrence(function)
            if found is None
            else LengthRecurrence(_Reduction(function, found).reduced(), found)
        )
    except _IndexMattersError:
        return LengthRecurrence(function)


class _IndexMattersError(Exception):
    """Where the range lies matters, not only how long it is."""


class _Reduction:
    def __init__(self, function: SizeFunction, indices: IndexRange) -> None:
        self._function, self._indices = function, indices
        self._sizes = self._that_matter()

    def _that_matter(self) -> tuple[str, ...]:
        """The sizes that are more than handed on, as that of an array is whose range is meant."""
        function = self._function

        def changed(call: a.Applied) -> Poly:
            pairs = zip(function.parameters, call.arguments, strict=True)
            return total(value for name, value in pairs if value != Poly.symbol(name))

        used = [self._mapped(each.value, changed) for each in function.equations]
        used += [each.indicator for equation in function.equations for each in equation.decisions]
        names = frozenset().union(*(value.names for value in used))
        return tuple(name for name in function.parameters if name in function.least and name in names)

    def reduced(self) -> SizeFunction:
        """The whole function. Raises _IndexMattersError."""
        function, indices = self._function, self._indices
        return replace(
            function,
            parameters=(*self._sizes, indices.size),
            least={**{name: function.least[name] for name in self._sizes}, indices.size: indices.least},
            facts=indices.facts(function.facts),
            equations=tuple(map(self._equation, function.equations)),
            where=tuple(fact for fact in function.where if s.names(fact) <= set(self._sizes)),
        )

    def _equation(self, equation: Equation) -> Equation:
        moved = map(self._indices.moved, equation.known)
        return replace(
            equation,
            decisions=tuple(replace(each, indicator=self._free(each.indicator)) for each in equation.decisions),
            facts=self._indices.facts(equation.facts),
            value=self._free(self._mapped(equation.value, self._called)),
            known=tuple(each for each in moved if self._indices.low not in each.names),
        )

    def _called(self, call: a.Applied) -> Poly:
        """A call of the function itself, given the distance of its indices."""
        given = dict(zip(self._function.parameters, map(self._indices.moved, call.arguments), strict=True))
        apart = given[self._indices.high] - given[self._indices.low]
        return Poly.of_atom(a.Applied(call.function, (*(given[name] for name in self._sizes), apart)))

    def _mapped(self, value: Poly, change: Callable[[a.Applied], Poly]) -> Poly:
        """The value with its calls of the function itself changed."""
        return with_calls(value, lambda call: change(call) if call.function == self._function.name else None)

    def _free(self, value: Poly) -> Poly:
        """The value in terms of the distance."""
        moved = self._indices.moved(value)
        if self._indices.low in moved.names:
            raise _IndexMattersError
        return moved
