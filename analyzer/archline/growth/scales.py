"""Compare expressions in one size by their logarithms: n^n, n!, 2^(2^n), log2(n)^log2(n), 2^ceil(log2(n)), log_star(n).

An expression is a sum of multiples of scales plus a remainder. A scale is n, an iterated logarithm of n, log_star(n) or
one of its iterated logarithms, or 2^E for a sum E of multiples of scales: n^2 is 2^(2*log2(n)). Two scales compare as
their logarithms do, which are of smaller height. f and g have the same order if log2(f) - log2(g) is bounded; f has
the larger order if that difference grows beyond every bound.

Statements are about all sizes from some size on. A logarithm is read both as log2(w) and as log2(2 + w); a comparison
that depends on this is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cmp_to_key, lru_cache, reduce
from typing import TypeAlias

from archline.algebra.reals import HALF, LOG_2, ONE_CONSTANT, PI, ZERO_CONSTANT, Constant, OutOfReachError
from archline.expr import build as b
from archline.expr.text import format_expression
from archline.growth import normal_form as e
from archline.language import syntax as s
from archline.records import record

ORDER = 5
"""The power of the infinitesimal part at which the series of powers, logarithms and exponentials end."""
MAX_TERMS = 40
TWO = Constant.of(2)
GOLDEN_RATIO = (ONE_CONSTANT + Constant.of(5).power(HALF)) * HALF
FUNCTIONS_READ = frozenset(("max", "min", "sqrt", "rsqrt", "log2", "log", "abs", "floor", "ceil", "log_star"))
"""The functions that `ScaleReader.read` reads by themselves; others are read by their logarithms."""


@record(slots=True)
class IteratedLogarithm:
    """The logarithm of n, iterated `level` times; if `slow`, that of log_star(n)."""

    slow: bool
    level: int


@record(slots=True)
class Exponential:
    """2^E for a sum E of multiples of scales, the largest first; 1 if there are none."""

    exponent: tuple[tuple[Scale, Constant], ...]


Scale: TypeAlias = IteratedLogarithm | Exponential
Terms: TypeAlias = tuple[tuple[Scale, Constant], ...]
UNIT = Exponential(())
SIZE = IteratedLogarithm(slow=False, level=0)


@record(slots=True)
class Value:
    """A sum of terms, the largest first, plus a remainder that is O of `rest`, which is below the terms.

    With a `sign` and without terms, the value has that sign and is of the order of `rest` from below too. No `rest`:
    the sum is exact.
    """

    terms: Terms
    rest: Scale | None = None
    sign: int = 0


def _take_logarithm(scale: Scale) -> Terms:
    """Return the logarithm of a scale."""
    return (
        scale.exponent
        if isinstance(scale, Exponential)
        else ((IteratedLogarithm(scale.slow, scale.level + 1), ONE_CONSTANT),)
    )


def _make_exponential(exponent: Terms) -> Scale:
    """Return 2^E: an atom where E is the logarithm of one."""
    match exponent:
        case ((IteratedLogarithm(slow=slow, level=level), factor),) if level and factor == ONE_CONSTANT:
            return IteratedLogarithm(slow, level - 1)
        case _:
            return Exponential(exponent)


@lru_cache(maxsize=1 << 16)
def compare_scales(left: Scale, right: Scale) -> int:
    """Return 1 if the left scale grows faster, -1 if the right does, 0 if they are equal. Raises OutOfReachError."""
    if left == right:
        return 0
    if isinstance(left, IteratedLogarithm) and isinstance(right, IteratedLogarithm):
        return 1 if (left.slow, left.level) < (right.slow, right.level) else -1
    gap = _merge_terms([*_take_logarithm(left), *((scale, -factor) for scale, factor in _take_logarithm(right))])
    return gap[0][1].sign() if gap else 0


def _merge_terms(terms: Iterable[tuple[Scale, Constant]]) -> Terms:
    total: dict[Scale, Constant] = {}
    for scale, factor in terms:
        total[scale] = total.get(scale, ZERO_CONSTANT) + factor
    # A constant of several irrational units may vanish, which `sign` refuses to decide.
    present = [scale for scale, factor in total.items() if factor and factor.sign()]
    return tuple((scale, total[scale]) for scale in sorted(present, key=cmp_to_key(compare_scales), reverse=True))


def _multiply_scales(left: Scale, right: Scale) -> Scale:
    return _make_exponential(_merge_terms([*_take_logarithm(left), *_take_logarithm(right)]))


def _raise_scale(scale: Scale, exponent: Constant) -> Scale:
    return _make_exponential(tuple((part, factor * exponent) for part, factor in _take_logarithm(scale) if exponent))


def _make_value(terms: Iterable[tuple[Scale, Constant]], rests: Iterable[tuple[Scale, int]] = ()) -> Value:
    """Sum up terms and remainders; a remainder with a sign is of its scale's order from below too."""
    merged = _merge_terms(terms)
    rest: Scale | None = None
    sign = 0
    for scale, its_sign in rests:
        order = 1 if rest is None else compare_scales(scale, rest)
        if order >= 0:
            sign = its_sign if order > 0 or its_sign == sign else 0
            rest = scale
    if len(merged) > MAX_TERMS and (rest is None or compare_scales(merged[MAX_TERMS][0], rest) > 0):
        return Value(merged[:MAX_TERMS], merged[MAX_TERMS][0])
    if rest is None:
        return Value(merged)
    above = tuple(term for term in merged if compare_scales(term[0], rest) > 0)
    beside = [factor.sign() for scale, factor in merged if scale == rest]
    return Value(above, rest, 0 if above or any(other != sign for other in beside) else sign)


def _make_constant(value: Constant) -> Value:
    return _make_value([(UNIT, value)])


ONE, BOUNDED = _make_constant(ONE_CONSTANT), Value((), UNIT)


def _find_remainders(value: Value, times: Scale = UNIT, sign: int = 1) -> list[tuple[Scale, int]]:
    return [] if value.rest is None else [(_multiply_scales(value.rest, times), value.sign * sign)]


def _add_values(left: Value, right: Value) -> Value:
    return _make_value([*left.terms, *right.terms], [*_find_remainders(left), *_find_remainders(right)])


def _scale_value(value: Value, factor: Constant) -> Value:
    return _multiply_values(value, _make_constant(factor))


def _multiply_values(left: Value, right: Value) -> Value:
    terms = [(_multiply_scales(a, c), x * y) for a, x in left.terms for c, y in right.terms]
    rests = []
    for one, other in ((left, right), (right, left)):
        for scale, factor in one.terms[:1]:
            rests += _find_remainders(other, scale, factor.sign())
    if left.rest is not None:
        rests += _find_remainders(right, left.rest, left.sign)
    return _make_value(terms, rests)


def determine_sign(value: Value) -> int:
    """Return the sign of a value from some size on. Raises OutOfReachError."""
    if value.terms:
        return value.terms[0][1].sign()
    if value.rest is not None and not value.sign:
        raise OutOfReachError("leading terms cancel, up to what is not known exactly")
    return value.sign


def _find_leading_scale(value: Value) -> Scale:
    if determine_sign(value) <= 0:
        raise OutOfReachError("a logarithm or a power of what is not positive")
    scale = value.terms[0][0] if value.terms else value.rest
    assert scale is not None
    return scale


def _divide_by_leading(value: Value) -> tuple[Scale, Constant, Value]:
    """Return the scale m, the factor c and the rest x of a value c*m*(1 + x), where x tends to 0."""
    scale, factor = value.terms[0]
    by = _make_value([(_raise_scale(scale, -ONE_CONSTANT), factor.inverse())])
    return scale, factor, _multiply_values(Value(value.terms[1:], value.rest), by)


def _sum_series(small: Value, coefficient: Callable[[int], Constant]) -> Value:
    """Return the power series in a value that tends to 0, without its constant term."""
    total, power = Value(()), ONE
    for index in range(1, ORDER + 1):
        power = _multiply_values(power, small)
        total = _add_values(total, _scale_value(power, coefficient(index)))
        if not power.terms:
            return total
    return _make_value(total.terms, [*_find_remainders(total), (power.terms[0][0], 0)])


def _raise_value(value: Value, exponent: Constant) -> Value:
    """Return a power with a constant exponent."""
    if not exponent:
        return ONE
    if exponent.is_rational and exponent.rational.q == 1 and 0 < exponent.rational.p <= ORDER:
        return reduce(_multiply_values, [value] * int(exponent.rational.p))
    leading = _find_leading_scale(value)
    if not value.terms:
        return Value((), _raise_scale(leading, exponent), 1)
    scale, factor, small = _divide_by_leading(value)
    binomials = [ONE_CONSTANT]
    for index in range(ORDER):
        binomials.append(binomials[-1] * (exponent - Constant.of(index)) * Constant.of(index + 1).inverse())
    whole = _make_value([(_raise_scale(scale, exponent), factor.power(exponent))])
    return _multiply_values(whole, _add_values(ONE, _sum_series(small, binomials.__getitem__)))


def take_log2(value: Value) -> Value:
    """Return the binary logarithm. Raises OutOfReachError."""
    leading = _find_leading_scale(value)
    logarithm = _take_logarithm(leading)
    if not value.terms:
        return _make_value(logarithm, [(UNIT, 0)])
    _, factor, small = _divide_by_leading(value)
    series = _sum_series(small, lambda index: Constant.of((-1) ** (index + 1) * index).inverse())
    return _add_values(_make_value([*logarithm, (UNIT, factor.log2())]), _scale_value(series, LOG_2.inverse()))


def _exponentiate_value(value: Value) -> Value:
    """Return 2^value, up to a constant factor where the value is known up to a constant. Raises OutOfReachError."""
    parts: dict[int, list[tuple[Scale, Constant]]] = {1: [], 0: [], -1: []}
    for term in value.terms:
        parts[compare_scales(term[0], UNIT)].append(term)
    whole = _make_exponential(tuple(parts[1]))
    order = -1 if value.rest is None else compare_scales(value.rest, UNIT)
    if order > 0:
        raise OutOfReachError("an exponent is not known up to a constant")
    if not order:
        return Value((), whole, 1)
    constant = reduce(lambda _, term: term[1], parts[0], ZERO_CONSTANT)
    powers = [ONE_CONSTANT]
    for index in range(ORDER):
        powers.append(powers[-1] * LOG_2 * Constant.of(index + 1).inverse())
    series = _sum_series(Value(tuple(parts[-1]), value.rest), powers.__getitem__)
    return _multiply_values(_make_value([(whole, TWO.power(constant))]), _add_values(ONE, series))


def _is_infinite(value: Value) -> bool:
    return compare_scales(_find_leading_scale(value), UNIT) > 0


def _take_factorial_logarithm(value: Value) -> Value:
    """Return log2 of the gamma function at 1 + value, by Stirling's series."""
    if not _is_infinite(value):
        raise OutOfReachError("a factorial of what does not grow")
    logarithm = take_log2(value)
    main = _multiply_values(value, _add_values(logarithm, _make_constant(-LOG_2.inverse())))
    root = _add_values(logarithm, _make_constant((TWO * PI).log2()))
    after = (_raise_scale(_find_leading_scale(value), -ONE_CONSTANT), 0)
    return _make_value(
        [*main.terms, *_scale_value(root, HALF).terms], [*_find_remainders(_add_values(main, root)), after]
    )


def _iterate_logarithm(value: Value) -> Value:
    """Return log_star of a value: exact for an iterated logarithm of the size, else up to a constant."""
    leading = _find_leading_scale(value)
    exact = isinstance(leading, IteratedLogarithm) and value == _make_value([(leading, ONE_CONSTANT)])
    below = Constant.of(-leading.level if isinstance(leading, IteratedLogarithm) else 0)
    while isinstance(leading, Exponential):
        if not leading.exponent or compare_scales(leading, UNIT) < 0:
            raise OutOfReachError("`log_star` of what does not grow")
        leading = leading.exponent[0][0]
    if leading.slow:
        raise OutOfReachError("`log_star` of `log_star`")
    return _make_value(
        [(IteratedLogarithm(slow=True, level=0), ONE_CONSTANT), (UNIT, below)], [] if exact else [(UNIT, 0)]
    )


class ScaleReader:
    """Reads expressions in one size; log2(w) as log2(`shift` + w)."""

    def __init__(self, shift: int) -> None:
        self._shift = _make_constant(Constant.of(shift))

    def read(self, expr: s.Expr) -> Value:
        """Return the value of an expression as its size grows. Raises OutOfReachError."""
        if not s.find_names(expr) - {"pi"}:
            value = e.evaluate_constant(expr)
            return Value(()) if value is None or not value else _make_constant(value)
        match expr:
            case s.Name():
                return _make_value([(SIZE, ONE_CONSTANT)])
            case s.Unary(op="-", operand=operand):
                return _scale_value(self.read(operand), -ONE_CONSTANT)
            case s.Binary(op="+", left=left, right=right):
                return _add_values(self.read(left), self.read(right))
            case s.Binary(op="-", left=left, right=right):
                return _add_values(self.read(left), _scale_value(self.read(right), -ONE_CONSTANT))
            case s.Binary(op="*", left=left, right=right):
                return _multiply_values(self.read(left), self.read(right))
            case s.Binary(op="/", left=left, right=right):
                return _multiply_values(self.read(left), _raise_value(self.read(right), -ONE_CONSTANT))
            case s.Binary(op="//", left=left, right=right):
                return self._round_value(b.binary("/", left, right))
            case s.Binary(op="^", left=left, right=right) if not s.find_names(right) - {"pi"}:
                exponent = e.evaluate_constant(right)
                assert exponent is not None
                return _raise_value(self.read(left), exponent)
            case s.Binary(op="^", left=left, right=right):
                return _exponentiate_value(_multiply_values(self.read(right), self.read_log2(left)))
            case s.Call(function=function, arguments=arguments):
                return self._read_call(expr, function, arguments)
            case _:
                raise OutOfReachError("an operation that has no scale")

    def _read_call(self, expr: s.Expr, function: str, arguments: Sequence[s.Expr]) -> Value:
        match function, arguments:
            case "max" | "min", [first, *others]:
                sign = 1 if function == "max" else -1
                return reduce(lambda a, c: _take_extreme(a, self.read(c), sign), others, self.read(first))
            case "sqrt" | "rsqrt", [inner]:
                return _raise_value(self.read(inner), HALF if function == "sqrt" else -HALF)
            case "log2" | "log", [inner]:
                value = take_log2(_add_values(self.read(inner), self._shift))
                return value if function == "log2" else _scale_value(value, LOG_2)
            case "abs", [inner]:
                value = self.read(inner)
                return _scale_value(value, Constant.of(determine_sign(value)))
            case "floor" | "ceil", [inner]:
                return self._round_value(inner)
            case "log_star", [s.Call(function="log2", arguments=(inner,))] if s.find_names(inner):
                return _add_values(self._read_call(expr, "log_star", (inner,)), _make_constant(-ONE_CONSTANT))
            case "log_star", [inner]:
                return _iterate_logarithm(self.read(inner))
            case _:
                return _exponentiate_value(self.read_log2(expr))

    def _round_value(self, inner: s.Expr) -> Value:
        value = self.read(inner)
        if value.terms and compare_scales(value.terms[0][0], UNIT) > 0:
            return _make_value(value.terms, [*_find_remainders(value), (UNIT, 0)])
        if value.sign > 0 and _is_infinite(value):
            return value
        raise OutOfReachError("a rounding of what does not grow")

    def read_log2(self, expr: s.Expr) -> Value:
        """Return the binary logarithm of a positive expression as its size grows. Raises OutOfReachError.

        Where the expression is not known exactly enough, its logarithm may be.
        """
        match expr:
            case s.Call(function="exp", arguments=(inner,)):
                return _scale_value(self.read(inner), LOG_2.inverse())
            case s.Call(function="factorial" | "arrangements" as function, arguments=(inner,)):
                logarithm = _take_factorial_logarithm(self.read(inner))
                return logarithm if function == "factorial" else _add_values(logarithm, BOUNDED)
            case s.Call(function="fibonacci", arguments=(inner,)):
                return _add_values(_scale_value(self.read(inner), GOLDEN_RATIO.log2()), BOUNDED)
            case s.Binary(op="*" | "/" as op, left=left, right=right):
                factor = ONE_CONSTANT if op == "*" else -ONE_CONSTANT
                return _add_values(self.read_log2(left), _scale_value(self.read_log2(right), factor))
            case s.Binary(op="^", left=left, right=right):
                return _multiply_values(self.read(right), self.read_log2(left))
            case s.Call(function="sqrt", arguments=(inner,)):
                return _scale_value(self.read_log2(inner), HALF)
            case s.Call(function="floor" | "ceil", arguments=(inner,)):
                logarithm = self.read_log2(inner)
                if determine_sign(logarithm) > 0 and _is_infinite(logarithm):
                    return _make_value(logarithm.terms, [*_find_remainders(logarithm), (UNIT, 0)])
            case s.Call(function="max", arguments=(left, right)) | s.Binary(op="+", left=left, right=right):
                try:
                    return take_log2(self.read(expr))
                except OutOfReachError:
                    return _take_extreme(self.read_log2(left), self.read_log2(right), 1, near=True)
            case s.Call(function=function) if function not in FUNCTIONS_READ:
                raise OutOfReachError(f"`{function}` has no scale")
            case _:
                pass
        return take_log2(self.read(expr))


def _take_extreme(left: Value, right: Value, sign: int, *, near: bool = False) -> Value:
    """Return the maximum (`sign` 1) or minimum; if `near`, up to a constant."""
    gap = _add_values(left, _scale_value(right, -ONE_CONSTANT))
    chosen = left
    if gap.terms or gap.sign:
        chosen = left if determine_sign(gap) == sign else right
    elif gap.rest is not None and not (near and compare_scales(gap.rest, UNIT) <= 0):
        leading = _find_leading_scale(left)
        if leading != _find_leading_scale(right):
            raise OutOfReachError("which of two is larger is not decided")
        return Value((), leading, 1)
    return _make_value(chosen.terms, [*_find_remainders(chosen), *([(UNIT, 0)] if near else [])])


@record
class LogarithmGap:
    """The logarithms of f and g, and the sign of their difference where it is unbounded, else 0."""

    f: Value
    g: Value
    order: int

    def encode(self, size: str) -> dict[str, str]:
        """Encode the logarithms as plain data, for people and programs."""
        drift = {
            0: "log2(f) - log2(g) is bounded",
            1: "log2(f) - log2(g) exceeds every bound",
            -1: "log2(g) - log2(f) exceeds every bound",
        }
        return {"f": format_value(self.f, size), "g": format_value(self.g, size), "difference": drift[self.order]}


def format_value(value: Value, size: str) -> str:
    """Format the unbounded terms of a value in the language's syntax, with what else there is as O(...)."""
    shown = [term for term in value.terms if compare_scales(term[0], UNIT) > 0]
    signs = [(factor.sign(), factor, scale) for scale, factor in shown]
    terms = (
        (sign < 0, b.product([x.tree for x in [factor.scaled(sign)] if x != ONE_CONSTANT] + [_build_tree(scale, size)]))
        for sign, factor, scale in signs
    )
    rest = value.rest if value.rest and compare_scales(value.rest, UNIT) > 0 else UNIT
    whole = [format_expression(b.sum_terms(terms))] if shown else []
    return " + ".join([*whole, f"{'Theta' if value.sign else 'O'}({format_expression(_build_tree(rest, size))})"])


def _build_tree(scale: Scale, size: str) -> s.Expr:
    if isinstance(scale, IteratedLogarithm):
        whole: s.Expr = b.call("log_star", b.name(size)) if scale.slow else b.name(size)
        return reduce(lambda inner, _: b.call("log2", inner), range(scale.level), whole)
    factors = []
    for part, factor in scale.exponent:
        if isinstance(part, IteratedLogarithm) and part.level:
            factors.append(b.power(_build_tree(IteratedLogarithm(part.slow, part.level - 1), size), factor.tree))
        else:
            exponent = _build_tree(part, size)
            exponent = exponent if factor == ONE_CONSTANT else b.product([factor.tree, exponent])
            factors.append(b.power(b.number(2), exponent))
    return b.product(factors)


def compare_logarithms(f: s.Expr, g: s.Expr) -> LogarithmGap:
    """Compare the orders of two expressions in one size from some size on. Raises OutOfReachError."""
    gaps = [_compare_logarithms(f, g, ScaleReader(shift)) for shift in (0, 2)]
    if gaps[0].order != gaps[1].order:
        raise OutOfReachError("it depends on whether log2(w) is read as log2(2 + w)")
    return gaps[0]


def _compare_logarithms(f: s.Expr, g: s.Expr, reader: ScaleReader) -> LogarithmGap:
    left, right = reader.read_log2(f), reader.read_log2(g)
    gap = _add_values(left, _scale_value(right, -ONE_CONSTANT))
    leading = gap.terms[0][0] if gap.terms else gap.rest
    if leading is None or compare_scales(leading, UNIT) <= 0:
        return LogarithmGap(left, right, 0)
    return LogarithmGap(left, right, determine_sign(gap))


def is_surely_positive(expr: s.Expr) -> bool:
    """Whether an expression is positive at all sizes >= 1, and bounded where the size is."""
    match expr:
        case s.Name():
            return True
        case s.Binary(op="+" | "^", left=left, right=right):
            return is_surely_positive(left) and (is_surely_positive(right) or _is_log_star(right))
        case s.Binary(op="*" | "/", left=left, right=right):
            return is_surely_positive(left) and is_surely_positive(right)
        case s.Call(function="log2" | "log" | "exp", arguments=(inner,)):
            return is_surely_positive(inner) or _is_log_star(inner)
        case s.Call(function=function, arguments=arguments) if function not in ("floor", "abs", "log_star"):
            return all(map(is_surely_positive, arguments))
        case _:
            value = None if s.find_names(expr) else e.evaluate_constant(expr)
            return value is not None and value.sign() > 0


def _is_log_star(expr: s.Expr) -> bool:
    return isinstance(expr, s.Call) and expr.function == "log_star"
