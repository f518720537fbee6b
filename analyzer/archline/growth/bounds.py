"""Bound expressions by lattices of monomials from below and above, up to constant factors.

Without subtraction and rounding the two bounds are one. Every step that loses something, or needs a proof, is kept as
a `DifferenceStep`, which a certificate shows.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator
from functools import reduce

from archline.algebra.reals import HALF, ONE_CONSTANT, Constant, OutOfReachError
from archline.expr.sequences import SEQUENCES
from archline.expr.text import format_expression
from archline.growth import normal_form as e
from archline.growth import rules
from archline.growth.dominance_differences import DominanceBound, MeanShare, NegativeTermCover, Share, shift_to_minima
from archline.growth.lattices import (
    ONE,
    Lattice,
    Powers,
    make_exponent_size,
    make_exponential,
    make_extremum,
    make_size_power,
    multiply_lattices,
    power_of_atom,
    power_of_lattice,
    take_lattice_logarithm,
)
from archline.growth.monomials import Factor, Monomial, Term, make_monomial
from archline.language import syntax as s
from archline.language.diagnostics import error
from archline.numbers import fmpq
from archline.records import record


@record(slots=True)
class Envelope:
    """Lattices `lower` and `upper` that bound an expression up to constants at all sizes.

    No `lower`: it may be zero, or negative where it is not `nonnegative`. No `upper`: it is never positive.
    """

    lower: Lattice | None
    upper: Lattice | None
    nonnegative: bool = True


@record(slots=True)
class DifferenceStep:
    """A proof that the difference `of` has the order of its positive terms `left`, from below.

    Either the `shares` of positive terms cover the negative terms, and a part of each term in `left` remains; or the
    difference is at least `share` times their sum, since no coefficient is negative when it is expanded in
    factor - minimum (`shift_to_minima`); `least` are the bounds that give the minima.
    """

    of: str
    left: tuple[Term, ...]
    shares: tuple[Share | MeanShare, ...] = ()
    share: fmpq | None = None
    least: tuple[DominanceBound, ...] = ()


CONSTANT_ENVELOPE = Envelope(ONE, ONE)
NEVER_POSITIVE = Envelope(None, None, nonnegative=False)
ZERO = Envelope(None, None)
MINUS_ONE = Constant(fmpq(-1))
ZERO_MINIMUM = fmpq(0)


class EnvelopeReader:
    """Reads expressions as envelopes under the facts of `absorb`; `steps` collects the proofs about differences.

    `exponents` are the sizes n for which 2^n occurs too.
    """

    def __init__(self, absorb: NegativeTermCover, exponents: frozenset[str] = frozenset()) -> None:
        self._absorb = absorb
        self._exponents = exponents
        self.steps: dict[str, DifferenceStep] = {}
        self._known: dict[str, Envelope] = {}

    def read(self, expr: s.Expr) -> Envelope:
        """Return the bounds of an expression. Raises OutOfReachError or ArchlineError where there are none."""
        match expr:
            case s.Name(id=name) if name != "pi":
                return Envelope(*(make_exponent_size(name) if name in self._exponents else make_size_power(name),) * 2)
            case _:
                pass
        value = e.evaluate_constant(expr)
        if value is not None:
            sign = value.sign()
            return CONSTANT_ENVELOPE if sign > 0 else NEVER_POSITIVE if sign else ZERO
        match expr:
            case s.Unary() | s.Binary(op="-"):
                return self._read_difference(expr)
            case s.Binary(op="+" | "*" | "/") if e.has_minus(expr):
                return self._read_difference(expr)
            case s.Binary(op="+", left=left, right=right):
                return _add_envelopes(self.read(left), self.read(right))
            case s.Binary(op="*", left=left, right=right):
                return _multiply_envelopes(self.read(left), self.read(right))
            case s.Binary(op="/", left=left, right=right):
                return _multiply_envelopes(self.read(left), self._read_power(right, MINUS_ONE))
            case s.Binary(op="^", left=left, right=right):
                return self._read_general_power(left, right)
            case s.Binary(op="//", left=left, right=right):
                return self._read_floor(s.Binary("/", left, right, span=expr.span))
            case s.Binary(op="%", left=left, right=right):
                return self._read_remainder(self.read(left), self.read(right))
            case s.Call(function=function, arguments=arguments) if arguments:
                return self._read_call(expr, function, arguments)
            case _:
                raise error(rules.NOT_A_SIZE_EXPRESSION, "this is not an expression in sizes", span=expr.span)

    # Sums and differences
    def _read_difference(self, expr: s.Expr) -> Envelope:
        key = format_expression(expr)
        if key not in self._known:
            self._known[key] = self.read_sum(e.expand(expr), key)
        return self._known[key]

    def read_sum(self, terms: e.Sum, key: str) -> Envelope:
        """Return the bounds of a sum of terms; `key` names it in certificates."""
        signs = {term: coefficient.sign() for term, coefficient in terms.items()}
        positive = {term: terms[term] for term, sign in signs.items() if sign > 0}
        negative = {term: -terms[term] for term, sign in signs.items() if sign < 0}
        read = {term: self._read_term(term) for term in terms}
        if not positive:
            return NEVER_POSITIVE if negative else ZERO
        uppers = [upper for term in positive if (upper := read[term].upper) is not None]
        if not uppers:
            return ZERO if not negative else NEVER_POSITIVE
        upper = make_extremum("max", uppers)
        if not negative:
            chosen = [term for rest in _choose_arguments_of_maxima(positive) for term in rest]
            lowers = [*(read[term].lower for term in positive), *(self._read_term(term).lower for term in chosen)]
            return Envelope(_make_maximum_of_present(lowers), upper)
        step = self._cover_negative(positive, negative, key)
        if step is None or len(step.left) < len(positive):
            shift = self._shift_to_minima(positive, negative, key)
            if shift is not None and (step is None or len(shift.left) > len(step.left)):
                step = shift
        if step is None:
            return Envelope(None, upper, nonnegative=False)
        self.steps[key] = step
        return Envelope(_make_maximum_of_present([read[term].lower for term in step.left]), upper)

    def _cover_negative(self, positive: e.Sum, negative: e.Sum, key: str) -> DifferenceStep | None:
        covering = self._absorb(positive, negative)
        if covering is None:
            return None
        return DifferenceStep(key, tuple(term for term, amount in covering.left.items() if amount > 0), covering.shares)

    def _shift_to_minima(self, positive: e.Sum, negative: e.Sum, key: str) -> DifferenceStep | None:
        factors = dict.fromkeys(factor for term in (*positive, *negative) for factor in term.powers)
        least = {factor: self._absorb.find_sharpest_lower_bound(factor) for factor in factors}
        values = {factor: ZERO_MINIMUM if bound is None else 1 / bound.factor for factor, bound in least.items()}
        shift = shift_to_minima(positive, negative, values.__getitem__)
        if shift is None:
            return None
        return DifferenceStep(key, shift.left, share=shift.share, least=tuple(filter(None, least.values())))

    def _read_term(self, term: Term) -> Envelope:
        result = CONSTANT_ENVELOPE
        for factor, times in term.powers.items():
            result = _multiply_envelopes(result, self._power_of_envelope(self.read(factor.expr), times, factor.key))
        return result

    def proves_at_least_one(self, expr: s.Expr) -> bool:
        """Whether expr >= 1 is proved at all sizes."""
        match expr:
            case s.Call(function="sqrt" | "floor", arguments=(inner,)):
                return self.proves_at_least_one(inner)
            case _:
                pass
        terms = e.add_sums(e.expand(expr), {e.UNIT_TERM: MINUS_ONE})
        return self.read_sum(terms, f"{format_expression(expr)} - 1").nonnegative

    # Powers
    def _read_power(self, base: s.Expr, exponent: Constant) -> Envelope:
        return self._power_of_envelope(self.read(base), exponent, format_expression(base))

    def _power_of_envelope(self, base: Envelope, exponent: Constant, text: str) -> Envelope:
        sign = exponent.sign()
        if not sign:
            return CONSTANT_ENVELOPE
        if not base.nonnegative:
            raise OutOfReachError(f"`{text}` may be negative")
        if exponent == ONE_CONSTANT:
            return base
        if sign > 0:
            return Envelope(
                None if base.lower is None else power_of_lattice(base.lower, exponent),
                None if base.upper is None else power_of_lattice(base.upper, exponent),
            )
        if base.lower is None or base.upper is None:
            raise OutOfReachError(f"it divides by `{text}`, which may be zero")
        return Envelope(power_of_lattice(base.upper, exponent), power_of_lattice(base.lower, exponent))

    def _read_general_power(self, base: s.Expr, by: s.Expr) -> Envelope:
        value = e.evaluate_constant(by)
        if value is not None:
            if value.is_rational and value.rational.q == 1 and value.rational.p > 1 and e.has_minus(base):
                inner = self.read(base)
                if not inner.nonnegative:
                    return self._read_expanded_power(base, by)
            return self._read_power(base, value)
        text, bases = format_expression(by), e.expand(base)
        if len(bases) != 1:
            raise OutOfReachError(f"a sum is raised to the power `{text}`, which is not constant")
        # b^(c*log2(w) + e*n + d) is w^(c*log2(b)) times (2^n)^(e*log2(b)), times b^d; (c*w)^x is c^x times w^x.
        ((factors, number),) = bases.items()
        result: Lattice = ONE
        for term, coefficient in e.expand(by).items():
            if term.powers and number != ONE_CONSTANT:
                result = multiply_lattices(
                    result, power_of_lattice(self._power_of_two(term, text), coefficient * number.log2())
                )
            for factor, times in factors.powers.items():
                result = multiply_lattices(
                    result, power_of_lattice(self._power_of_factor(factor.expr, term, text), coefficient * times)
                )
        return Envelope(result, result)

    def _power_of_factor(self, base: s.Expr, by: Term, text: str) -> Lattice:
        """Raise a size, 2^n or a logarithm to a product of sizes, exponentials and logarithms."""
        if isinstance(base, s.Binary) and e.is_exponential(base):
            return self._power_of_two(by * make_monomial(Factor(format_expression(base.right), base.right)), text)
        (atom,) = self._read_exact_atom(base, text).powers
        return power_of_atom(atom, self._read_exact_product(by, text)) if by.powers else make_monomial(atom)

    def _read_exact_product(self, term: Term, text: str) -> Powers:
        parts = (self._read_exact_atom(factor.expr, text).power(times) for factor, times in term.powers.items())
        return reduce(operator.mul, parts, ONE)

    def _read_exact_atom(self, expr: s.Expr, text: str) -> Powers:
        """Read a size, 2^n or a logarithm as the atom of exactly this value."""
        upper = self.read(expr).upper
        if isinstance(upper, Monomial) and str(upper) == format_expression(expr):
            return upper
        raise OutOfReachError(f"`{text}` as an exponent is not a sum of products of sizes and logarithms")

    def _power_of_two(self, term: Term, text: str) -> Lattice:
        """Return 2^term, up to a constant factor; `text` is the exponent that contains the term."""
        match e.find_single_factor(term):
            case s.Name(id=name):
                return make_exponential(name)
            case s.Call(function="log2", arguments=(inner,)):
                argument = self.read(inner)
                if argument.lower is None or argument.upper is None or argument.lower != argument.upper:
                    raise OutOfReachError(f"the growth of the exponent `{text}` is known only within bounds")
                # log2(w) is read as log2(2 + w), which is log2(w) again for a w that is never below 1.
                whole = isinstance(argument.upper, Monomial) and argument.upper.never_shrinks
                return argument.upper if whole else make_extremum("max", (ONE, argument.upper))
            case _:
                return power_of_atom(None, self._read_exact_product(term, text))

    def _read_expanded_power(self, base: s.Expr, by: s.Expr) -> Envelope:
        whole = s.Binary("^", base, by, span=base.span)
        return self.read_sum(e.expand(whole), format_expression(whole))

    # Rounding and functions
    def _read_floor(self, inner: s.Expr) -> Envelope:
        value = self.read(inner)
        if not value.nonnegative:
            # floor(x) <= x, and may be negative.
            return Envelope(None, value.upper, nonnegative=False)
        return Envelope(value.lower if self.proves_at_least_one(inner) else None, value.upper)

    def _read_ceil(self, inner: s.Expr) -> Envelope:
        value = self.read(inner)
        upper = ONE if value.upper is None else make_extremum("max", (value.upper, ONE))
        if not value.nonnegative:
            return Envelope(None, upper, nonnegative=False)
        return Envelope(None if value.lower is None else make_extremum("max", (value.lower, ONE)), upper)

    def _read_remainder(self, left: Envelope, right: Envelope) -> Envelope:
        if not (left.nonnegative and right.nonnegative) or right.lower is None:
            raise OutOfReachError("a remainder of a value that may be negative, or by one that may be zero")
        if left.upper is None or right.upper is None:
            return ZERO
        return Envelope(None, make_extremum("min", (left.upper, right.upper)))

    def _read_call(self, expr: s.Expr, function: str, arguments: tuple[s.Expr, ...]) -> Envelope:
        match function, arguments:
            case "max", _:
                return _take_maximum([self.read(argument) for argument in arguments])
            case "min", _:
                return _take_minimum([self.read(argument) for argument in arguments])
            case "sqrt" | "rsqrt", (argument,):
                return self._read_power(argument, HALF if function == "sqrt" else -HALF)
            case "log2" | "log", (argument,):
                return self._read_log(argument)
            case "floor", (argument,):
                return self._read_floor(argument)
            case "ceil", (argument,):
                return self._read_ceil(argument)
            case "abs", (argument,):
                return self._read_abs(argument)
            case "exp" | "log_star", (argument,):
                raise OutOfReachError(f"`{function}` is compared from some size on only")
            case _ if function in SEQUENCES:
                raise OutOfReachError(f"a difference with `{function}`")
            case _:
                raise error(rules.NOT_A_SIZE_EXPRESSION, f"`{function}` has no growth here", span=expr.span)

    def _read_log(self, inner: s.Expr) -> Envelope:
        value = self.read(inner)
        if not value.nonnegative:
            raise OutOfReachError(f"the argument `{format_expression(inner)}` of a logarithm may be negative")
        return Envelope(
            ONE if value.lower is None else take_lattice_logarithm(value.lower),
            ONE if value.upper is None else take_lattice_logarithm(value.upper),
        )

    def _read_abs(self, inner: s.Expr) -> Envelope:
        value = self.read(inner)
        if value.nonnegative:
            return value
        opposite = self.read(s.Unary("-", inner, span=inner.span))
        uppers = [envelope.upper for envelope in (value, opposite) if envelope.upper is not None]
        return Envelope(None, make_extremum("max", uppers) if uppers else None)


def _choose_arguments_of_maxima(terms: e.Sum) -> Iterator[e.Sum]:
    """Yield the sums, without negative terms, in which an argument stands for a maximum: they are at most the sum.

    max(n - m, 0) + m >= n - m + m.
    """
    for term, times in terms.items():
        match e.find_single_factor(term):
            case s.Call(function="max", arguments=arguments):
                rest = {key: coefficient for key, coefficient in terms.items() if key != term}
                for argument in arguments:
                    chosen = e.add_sums(rest, e.multiply_sum_by_constant(e.expand(argument), times))
                    if all(coefficient.sign() > 0 for coefficient in chosen.values()):
                        yield chosen
            case _:
                continue


def _make_maximum_of_present(parts: list[Lattice | None]) -> Lattice | None:
    present = [part for part in parts if part is not None]
    return make_extremum("max", present) if present else None


def _add_envelopes(left: Envelope, right: Envelope) -> Envelope:
    if not (left.nonnegative and right.nonnegative):
        return Envelope(None, _make_maximum_of_present([left.upper, right.upper]), nonnegative=False)
    upper = _make_maximum_of_present([left.upper, right.upper])
    if left.lower is left.upper and right.lower is right.upper:
        return Envelope(upper, upper)
    return Envelope(_make_maximum_of_present([left.lower, right.lower]), upper)


def _multiply_envelopes(left: Envelope, right: Envelope) -> Envelope:
    if not (left.nonnegative and right.nonnegative):
        raise OutOfReachError("a factor of a product may be negative")
    if left is CONSTANT_ENVELOPE:
        return right
    if left.upper is None or right.upper is None:
        return ZERO
    upper = multiply_lattices(left.upper, right.upper)
    if left.lower is left.upper and right.lower is right.upper:
        return Envelope(upper, upper)
    return Envelope(
        None if left.lower is None or right.lower is None else multiply_lattices(left.lower, right.lower), upper
    )


def _take_maximum(parts: list[Envelope]) -> Envelope:
    """Return the maximum of parts: if any is never negative, the rest matter only where they are positive."""
    sure = any(part.nonnegative for part in parts)
    return Envelope(
        _make_maximum_of_present([part.lower for part in parts]),
        _make_maximum_of_present([part.upper for part in parts]),
        sure,
    )


def _take_minimum(parts: list[Envelope]) -> Envelope:
    lowers = [part.lower for part in parts if part.lower is not None]
    uppers = [part.upper for part in parts if part.upper is not None]
    return Envelope(
        make_extremum("min", lowers) if len(lowers) == len(parts) else None,
        make_extremum("min", uppers) if len(uppers) == len(parts) else None,
        all(part.nonnegative for part in parts),
    )
