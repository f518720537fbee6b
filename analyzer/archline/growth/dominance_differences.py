"""Bound differences: negative terms are covered by parts of positive terms, at every point, constants included.

n^2 - n/2 >= n^2/2, since n <= n^2. In n^2 - n nothing remains at n = 1, unless a fact says n >= 2.

In terms of factor - minimum (`shift_to_minima`): n^2 - n + 1 = x^2 + x + 1 for n = 1 + x. If no coefficient of this
sum is negative, the difference is never negative, and it is at least s times a term if its coefficients are at least s
times those of the term, written in the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import combinations
from typing import TypeAlias

from archline.algebra.lp.exact import Optimum, maximise
from archline.algebra.reals import ONE, ZERO, ZERO_CONSTANT, Constant, OutOfReachError, exact_midpoint
from archline.growth import normal_form as e
from archline.growth.monomials import Factor, Term, make_monomial
from archline.language import syntax as s
from archline.numbers import arb, fmpq, fmpq_mpoly, fmpq_mpoly_ctx
from archline.records import field, record

PRECISION = 64
SCALE = 1 << 40
LOG_FACTOR = fmpq(8, 5)
"""log2(2 + n) <= 8/5*n for n >= 1, since log2(3) < 8/5 and the quotient falls."""
MIN_LOG_FACTOR = fmpq(2, 3)
"""1 <= 2/3*log2(2 + n) for n >= 1, since log2(3) > 3/2."""
EXPONENTIAL_FACTOR = fmpq(27, 50)
"""n^k <= (27/50*k)^k*2^n, since n^k/2^n is largest at n = k/ln(2), and 1/(e*ln(2)) < 27/50."""
POWERS_BELOW_EXPONENTIAL = 3
MAX_EXPONENT = 64


@record(slots=True)
class DominanceBound:
    """The bound small <= factor*large at all points; `because` holds the rule, for certificates."""

    small: Term
    large: Term
    factor: fmpq
    because: dict[str, object] = field(hash=False)


_Gap: TypeAlias = "tuple[DominanceBound, dict[Factor, fmpq]]"
Product: TypeAlias = tuple[tuple[DominanceBound, Constant], ...]
"""Bounds, each raised to a nonnegative power, and multiplied."""


@record(slots=True)
class Share:
    """The bound `amount`*term <= `factor`*`amount`*into; a product of powers of `uses` proves it."""

    term: Term
    amount: fmpq
    into: Term
    factor: fmpq
    uses: Product


@record(slots=True)
class MeanShare:
    """The bound `amount`*term <= sum of part*into over `parts`, by the means of weights `weight` that add up to 1.

    The term is the product of the powers into^weight, and the product of the powers (part/weight)^weight is at least
    the amount: n*m <= n^2/2 + m^2/2.
    """

    term: Term
    amount: fmpq
    parts: tuple[tuple[Term, fmpq, fmpq], ...]


@record(slots=True)
class Covering:
    """A cover of negative terms: what remains of each positive term (`left`), and the parts used (`shares`)."""

    left: dict[Term, fmpq]
    shares: tuple[Share | MeanShare, ...]


class NegativeTermCover:
    """Proves that a difference is not negative: parts of its positive terms cover its negative terms, under facts."""

    def __init__(self, bounds: Sequence[DominanceBound]) -> None:
        self._bounds = bounds

    @cached_property
    def _gaps(self) -> list[_Gap]:
        return list(_iterate_rational_gaps(self._bounds))

    def find_sharpest_lower_bound(self, factor: Factor) -> DominanceBound | None:
        """Return the bound 1 <= c*factor with the smallest c, or None."""
        term = make_monomial(factor)
        bounds = [*self._bounds, *_iterate_function_bounds([factor], self._bounds)]
        if _is_at_least_one(factor.expr):
            bounds.append(make_at_least_one_bound(factor))
        usable = (bound for bound in bounds if bound.small == e.UNIT_TERM and bound.large == term)
        return min(usable, key=lambda bound: bound.factor, default=None)

    def __call__(self, positive: e.Sum, negative: e.Sum) -> Covering | None:
        """Cover all negative terms; None if one is not covered, so that the difference may be negative."""
        left = {term: round_to_rational_below(coefficient) for term, coefficient in positive.items()}
        shares: list[Share | MeanShare] = []
        for term, coefficient in negative.items():
            amount = -round_to_rational_below(-coefficient)
            term_shares = self._cover_term(term, amount, left) or _cover_by_mean(term, amount, left)
            if term_shares is None:
                return None
            shares.extend(term_shares)
        return Covering(left, tuple(shares))

    def _cover_term(self, term: Term, amount: fmpq, left: dict[Term, fmpq]) -> list[Share] | None:
        """Cover `amount` times a term by parts of the positive terms that are never smaller.

        Each gives the same fraction of its coefficient in `left`, and `left` is reduced. None if they do not suffice.
        """
        covers = []
        for into, has in left.items():
            bound = self._bound_ratio_above(term, into) if has > 0 else None
            if bound is not None:
                covers.append((into, has / bound[0], bound))
        room = sum((capacity for _, capacity, _ in covers), ZERO)
        if room < amount:
            return None
        shares = []
        for into, capacity, (factor, uses) in covers:
            part = amount * capacity / room
            left[into] -= part * factor
            shares.append(Share(term, part, into, factor, uses))
        return shares

    def _bound_ratio_above(self, small: Term, large: Term) -> tuple[fmpq, Product] | None:
        """Find a factor with small <= factor*large, and its proof. None if no proof is found."""
        quotient = large / small
        gap = quotient.powers
        factor_bounds = list(_iterate_function_bounds(dict.fromkeys((*small.powers, *large.powers)), self._bounds))
        is_at_least_one = all(power.sign() >= 0 and _is_at_least_one(factor.expr) for factor, power in gap.items())
        if not quotient.is_rational or (is_at_least_one and not self._bounds and not factor_bounds):
            uses = self._prove_gap_by_minima(gap) if is_at_least_one else self._prove_gap_by_one_bound(gap)
            return None if uses is None else (_bound_product_of_factors_above(uses), uses)
        usable = [*self._gaps, *_iterate_rational_gaps(factor_bounds)]
        return _bound_ratio_above_by_program({factor: power.rational for factor, power in gap.items()}, usable)

    def _prove_gap_by_minima(self, gap: Mapping[Factor, Constant]) -> Product:
        """Prove that 1 is at most a product of powers of factors that are at least 1."""
        return tuple(
            (self.find_sharpest_lower_bound(factor) or make_at_least_one_bound(factor), power)
            for factor, power in gap.items()
        )

    def _prove_gap_by_one_bound(self, gap: Mapping[Factor, Constant]) -> Product | None:
        """Prove that 1 is at most a product of irrational powers: (n/m)^(log2(7) - 2) where m <= n.

        None if no single bound proves it.
        """
        below = next(((factor, power) for factor, power in gap.items() if power.sign() < 0), None)
        for bound, powers in self._gaps if below is not None else ():
            assert below is not None
            step = powers.get(below[0], ZERO)
            if step >= 0:
                continue
            times = below[1] * Constant(1 / step)
            rest = {
                factor: gap.get(factor, Constant(ZERO)) - times * Constant(powers.get(factor, ZERO))
                for factor in {**gap, **powers}
            }
            left = {factor: power for factor, power in rest.items() if power}
            if all(power.sign() >= 0 and _is_at_least_one(factor.expr) for factor, power in left.items()):
                return ((bound, times), *self._prove_gap_by_minima(left))
        return None


def _cover_by_mean(term: Term, amount: fmpq, left: dict[Term, fmpq]) -> list[MeanShare] | None:
    """Cover a term by a weighted mean of two positive terms; `left` is reduced. None if none suffices."""
    for first, second in combinations([into for into, has in left.items() if has > 0], 2):
        weight = _find_weight(term, first, second)
        if weight is None or not all(e.is_surely_positive(base.expr) for base in (*first.powers, *second.powers)):
            continue
        weights = ((first, weight), (second, 1 - weight))
        powers = [(left[into] / by, by) for into, by in weights]
        room = powers[0][0] if powers[0][0] == powers[1][0] else _bound_product_of_powers_below(powers)
        if room >= amount:
            parts = tuple((into, left[into] * amount / room, by) for into, by in weights)
            for into, part, _ in parts:
                left[into] -= part
            return [MeanShare(term, amount, parts)]
    return None


def _find_weight(term: Term, first: Term, second: Term) -> fmpq | None:
    """Return the weight w between 0 and 1 for which the term is first^w*second^(1 - w); None if there is none."""
    whole, part = (first / second).powers, (term / second).powers
    weight = next((part.get(factor, ZERO_CONSTANT) / power for factor, power in whole.items()), ZERO_CONSTANT)
    if not weight.is_rational or not 0 < weight.rational < 1:
        return None
    return weight.rational if (first / second).power(weight) == term / second else None


def _bound_ratio_above_by_program(gap: dict[Factor, fmpq], usable: Sequence[_Gap]) -> tuple[fmpq, Product] | None:
    """Find powers of bounds whose product is small <= factor*large with the smallest factor. None if there are none."""
    factors = list(dict.fromkeys([*gap, *(factor for _, exponents in usable for factor in exponents)]))
    powers = _tabulate_gaps(factors, [exponents for _, exponents in usable])
    rows, limits = [], []
    for factor, row in powers.items():
        rows.append(row)
        limits.append(gap.get(factor, ZERO))
        if not _is_at_least_one(factor.expr):
            rows.append([-entry for entry in row])
            limits.append(-gap.get(factor, ZERO))
    solution = maximise([-_approximate_log2(bound.factor) for bound, _ in usable], rows, limits)
    if not isinstance(solution, Optimum):
        return None
    uses = [(bound, Constant(times)) for (bound, _), times in zip(usable, solution.point, strict=True) if times]
    nonzero = [(index, times) for index, times in enumerate(solution.point) if times]
    for factor, row in powers.items():
        rest = gap.get(factor, ZERO) - sum((row[index] * times for index, times in nonzero), ZERO)
        if rest:
            uses.append((make_at_least_one_bound(factor), Constant(rest)))
    return _bound_product_of_powers_above([(bound.factor, times.rational) for bound, times in uses]), tuple(uses)


def _tabulate_gaps(factors: Iterable[Factor], gaps: Sequence[Mapping[Factor, fmpq]]) -> dict[Factor, list[fmpq]]:
    """Return for each factor its power in each gap (the quotient large/small of a bound), 0 where it does not occur."""
    rows = {factor: [ZERO] * len(gaps) for factor in factors}
    for index, gap in enumerate(gaps):
        for factor, power in gap.items():
            rows[factor][index] = power
    return rows


def _iterate_rational_gaps(bounds: Iterable[DominanceBound]) -> Iterator[_Gap]:
    """Yield each bound whose quotient large/small has only rational powers, with these powers."""
    for bound in bounds:
        gap = bound.large / bound.small
        if gap.is_rational:
            yield bound, {factor: power.rational for factor, power in gap.powers.items()}


def make_at_least_one_bound(factor: Factor) -> DominanceBound:
    """Return the bound 1 <= factor."""
    match factor.expr:
        case s.Call(function=function):
            rule = "log" if function == "log2" else "least"
        case _:
            rule = "exponential" if e.is_exponential(factor.expr) else "size"
    return DominanceBound(e.UNIT_TERM, make_monomial(factor), ONE, {"rule": rule})


def _iterate_function_bounds(factors: Iterable[Factor], known: Sequence[DominanceBound]) -> Iterator[DominanceBound]:
    """Yield bounds of functions by their arguments, such as min(a, b) <= a, a <= max(a, b) and x <= ceil(x)."""
    for factor in factors:
        term = make_monomial(factor)
        match factor.expr:
            case s.Call(function="log2", arguments=(s.Name() as inner,)):
                yield DominanceBound(term, _read_single_term(inner)[0], LOG_FACTOR, {"rule": "log below size"})
                yield DominanceBound(e.UNIT_TERM, term, MIN_LOG_FACTOR, {"rule": "log of size"})
            case s.Binary(op="^", left=s.Integer(value=2), right=s.Name() as inner):
                yield from _iterate_exponential_bounds(term, _read_single_term(inner)[0], known)
            case s.Call(function="min" | "floor" as name, arguments=arguments):
                yield from _iterate_argument_bounds(term, arguments, name, above=False)
            case s.Call(function="max" | "ceil" as name, arguments=arguments):
                yield from _iterate_argument_bounds(term, arguments, name, above=True)
            case s.Binary(op="//", left=left, right=right):
                quotient = s.Binary("/", left, right, span=left.span)
                yield from _iterate_argument_bounds(term, (quotient,), "floor", above=False)
            case s.Binary(op="%", left=left, right=right):
                yield from _iterate_argument_bounds(term, (left, right), "remainder", above=False)
            case _:
                pass


def _iterate_exponential_bounds(
    term: Term, exponent: Term, known: Sequence[DominanceBound]
) -> Iterator[DominanceBound]:
    """Yield lower bounds of 2^n: powers of n, and 2^c for n >= c."""
    for power in range(1, POWERS_BELOW_EXPONENTIAL + 1):
        small = exponent.power(Constant.of(power))
        yield DominanceBound(small, term, (EXPONENTIAL_FACTOR * power) ** power, {"rule": "size below exponential"})
    yield DominanceBound(e.UNIT_TERM, term, fmpq(1, 2), {"rule": "exponential"})
    for bound in known:
        if bound.small == e.UNIT_TERM and bound.large == exponent and bound.factor < 1:
            minimum = min(int((1 / bound.factor).floor()), MAX_EXPONENT)
            yield DominanceBound(e.UNIT_TERM, term, fmpq(1, 2**minimum), {**bound.because, "rule": "exponential"})


def _iterate_argument_bounds(
    own: Term, arguments: Iterable[s.Expr], rule: str, *, above: bool
) -> Iterator[DominanceBound]:
    """Yield bounds of a function's value `own` by its arguments: argument <= own if `above`, else own <= argument.

    Nothing is yielded unless all arguments are positive terms.
    """
    parts = [_read_single_term(argument) for argument in arguments]
    if not all(coefficient > 0 for _, coefficient in parts):
        return
    for term, coefficient in parts:
        if above:
            yield DominanceBound(term, own, 1 / coefficient, {"rule": rule})
        else:
            yield DominanceBound(own, term, coefficient, {"rule": rule})


def _read_single_term(expr: s.Expr) -> tuple[Term, fmpq]:
    """Read an expression as one term with a positive rational coefficient; 0 for other expressions."""
    terms = e.expand(expr)
    if len(terms) == 1:
        ((term, coefficient),) = terms.items()
        is_positive_term = all(_is_at_least_one(factor.expr) for factor in term.powers)
        if coefficient.is_rational and coefficient.rational > 0 and is_positive_term:
            return term, coefficient.rational
    return e.UNIT_TERM, ZERO


def _is_at_least_one(expr: s.Expr) -> bool:
    """Whether an expression is at least 1 by its form: a size, 2^n, log2(2 + w), or their min, max or rounding up."""
    match expr:
        case s.Name():
            return True
        case s.Call(function="log2", arguments=(inner,)):
            return not e.has_minus(inner)
        case s.Call(function="min" | "max", arguments=arguments):
            return all(_is_at_least_one(argument) for argument in arguments)
        case s.Call(function="ceil", arguments=(inner,)):
            return bool(_read_single_term(inner)[1])
        case _:
            return e.is_exponential(expr)


def round_to_rational_below(value: Constant) -> fmpq:
    """Return the constant if it is rational, or a rational just below it."""
    if value.is_rational:
        return value.rational
    return exact_midpoint(value.enclose_at_precision(PRECISION).lower())


def _approximate_log2(value: fmpq) -> fmpq:
    if value == 1:
        return ZERO
    return fmpq(round(float((arb(value).log() / arb.const_log2()).mid()) * SCALE), SCALE)


def _bound_product_of_factors_above(uses: Product) -> fmpq:
    """Return a rational that is at least the product of the factors of bounds, each to its power."""
    bounded = [(bound.factor, power) for bound, power in uses if bound.factor != 1]
    if all(power.is_rational for _, power in bounded):
        return _bound_product_of_powers_above([(factor, power.rational) for factor, power in bounded])
    product = arb(1)
    for factor, power in bounded:
        product *= arb(factor) ** power.enclose_at_precision(PRECISION)
    return exact_midpoint(product.upper())


def _bound_product_of_powers_below(powers: Sequence[tuple[fmpq, fmpq]]) -> fmpq:
    return 1 / _bound_product_of_powers_above([(1 / base, power) for base, power in powers])


def _bound_product_of_powers_above(powers: Iterable[tuple[fmpq, fmpq]]) -> fmpq:
    """Return a rational that is at least the product of rationals to rational powers."""
    exact, rest = ONE, arb(1)
    for base, power in powers:
        if base == 1:
            continue
        if power.q == 1:
            exact *= base ** int(power.p)
        else:
            rest *= arb(base) ** arb(power)
    if rest == 1:
        return exact
    return exact * exact_midpoint(rest.upper())


MAX_TERMS = 300

Least: TypeAlias = Callable[[Factor], fmpq]


@record(slots=True)
class Shifted:
    """A difference that is never negative, and at least `share` times the sum of the terms in `left`."""

    left: tuple[Term, ...]
    share: fmpq


def shift_to_minima(positive: e.Sum, negative: e.Sum, least: Least) -> Shifted | None:
    """Prove that positive - negative is not negative, from its expansion in x = factor - minimum for each factor.

    `least` gives the minimum of a factor. None unless all coefficients of the expansion are rational and >= 0.
    """
    factors = dict.fromkeys(factor for term in (*positive, *negative) for factor in term.powers)
    context = fmpq_mpoly_ctx.get([f"x{index}" for index in range(len(factors))], "lex")
    excess = {factor: x + least(factor) for factor, x in zip(factors, context.gens(), strict=True)}
    try:
        parts = {
            term: _expand_shifted_term(context, term, times, excess)
            for term, times in (*positive.items(), *negative.items())
        }
    except OutOfReachError:
        return None
    whole = sum(map(parts.__getitem__, positive), context.constant(0)) - sum(map(parts.__getitem__, negative))
    values = whole.to_dict()
    if len(values) > MAX_TERMS or min(values.values(), default=ZERO) < 0:
        return None
    # The largest multiple of each term that no coefficient of the difference falls below.
    shares = {
        term: min(values.get(powers, ZERO) / value for powers, value in parts[term].to_dict().items())
        for term in positive
    }
    terms = tuple(term for term, share in shares.items() if share > 0)
    # The difference is at least each multiple, so at least their mean.
    amounts = (shares[term] * positive[term].rational for term in terms)
    return Shifted(terms, min(amounts, default=ZERO) / max(1, len(terms)))


def _expand_shifted_term(
    context: fmpq_mpoly_ctx, term: Term, coefficient: Constant, excess: Mapping[Factor, fmpq_mpoly]
) -> fmpq_mpoly:
    """Expand a multiple of a term to a polynomial; `excess` has each factor as x + minimum."""
    product = context.constant(_require_rational(coefficient))
    for factor, power in term.powers.items():
        product *= excess[factor] ** _require_small_natural(power)
    return product


def _require_rational(value: Constant) -> fmpq:
    if not value.is_rational:
        raise OutOfReachError("a coefficient that is not rational")
    return value.rational


def _require_small_natural(power: Constant) -> int:
    value = _require_rational(power)
    if value.q != 1 or not 0 < value.p <= e.MAX_WHOLE_POWER:
        raise OutOfReachError("a power that is not a small natural number")
    return int(value.p)
