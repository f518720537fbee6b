"""The last step before an answer: does the recurrence itself, followed at many sizes, grow as claimed?"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction

from archline.algebra.asymptotic.constants import OutOfReachError
from archline.language import syntax as s
from archline.language.parser import parse_expression
from archline.numbers import arb, fmpq
from archline.recurrences.asymptotic.arithmetic import EXACT, FLOATS, WIDE, Arithmetic, NoValueError
from archline.recurrences.asymptotic.evaluate import EvaluationRefusedError, Evaluator, Formula, value_at
from archline.recurrences.asymptotic.problem import Recurrence
from archline.recurrences.asymptotic.terms import Term
from archline.recurrences.asymptotic.univariate import ROOTS, SPLITS, STEPS, Found

SYMBOL_VALUES = (3, 17, 101)
"""What symbols are while an answer is checked, in turn."""
_SPREAD = 2.3
_EVALUATIONS = 20_000
_PLACES = 5
_CLOSE = 1e-9
Symbols = Mapping[str, int]


def check_answer(problem: Recurrence, found: Found) -> None:
    """Raise OutOfReachError unless the recurrence, followed at several scales, agrees with what was found."""
    symbols = symbols_of(problem)
    sizes = _sizes(problem, found)
    values = followed(problem, sizes, symbols)
    points = [
        (math.log2(size.numerator) - math.log2(size.denominator), value)
        for size, value in zip(sizes, values, strict=True)
    ]
    if found.beyond is None:
        _check_level([value - _log_of(found.terms, scale, symbols) for scale, value in points], found, points)
    elif found.growth is None:
        _check_rising(points)
    else:
        size = problem.asked.parameters[0]
        growth = parse_expression(found.growth)
        logs = [_log(value_at(growth, {size: each, **symbols}, WIDE)) for each in sizes]
        _check_level([value - log for value, log in zip(values, logs, strict=True)], found, points)
    if found.exact is not None:
        _check_exact(problem, found, symbols)


def _check_level(ratios: list[float], found: Found, points: list[tuple[float, float]]) -> None:
    """The ratio of the function to its growth changes little between the last scales.

    Where two exponents are close, the slower one has not yet gone, and the ratio may rise as the scale does.
    """
    allowed = _SPREAD
    scale = points[-2][0]
    if found.shrinking == ROOTS:
        allowed *= 2 if found.gap * math.log2(scale) < 5 else 1
    elif found.gap * scale < 16:
        allowed *= 8 if found.gap * scale < 5 else 4
    if found.shrinking == SPLITS and found.factor is None:
        allowed *= 2
    if abs(ratios[-1] - ratios[-2]) > math.log2(allowed):
        raise OutOfReachError("the growth found does not agree with the recurrence at the sizes checked")


def _check_rising(points: list[tuple[float, float]]) -> None:
    """Beyond polynomials, the function's logarithm rises ever faster with that of the size."""
    (a, x), (b, y), (c, z) = points[-3:]
    if not (z - y) / (c - b) > (y - x) / (b - a) > 0:
        raise OutOfReachError("the growth found does not agree with the recurrence at the sizes checked")


def _sizes(problem: Recurrence, found: Found) -> list[int | Fraction]:
    """Sizes at three scales, as far apart as the number of sizes between them and the base allows.

    They are whole numbers of steps or of divisions from the base: between them functions jump by a constant.
    """
    least = max(Fraction(1), Fraction(int(found.start.p), int(found.start.q)))
    if found.shrinking == STEPS:
        stride = Fraction(int(found.stride.p), int(found.stride.q))
        return [least + stride * count for count in (40, 120, 360)]
    factor = Fraction(2) if found.factor is None else Fraction(int(found.factor.p), int(found.factor.q))
    if found.shrinking == ROOTS:
        start = math.ceil(least) if least > 1 else 2
        depths = [round(bits / math.log2(factor)) for bits in (4, 8, 11)]
        return [start ** round(factor**depth) for depth in depths]
    bits = 64
    if found.factor is None:
        shares = _shares(problem)
        # So many sizes lie on the way as there are products of shares above 1.
        while bits > 24 and math.prod(bits / each for each in shares) / math.factorial(len(shares)) > 800:
            bits -= 8
    depth = round(bits / math.log2(factor))
    return [least * factor ** (depth >> 2), least * factor ** (depth >> 1), least * factor**depth]


def _shares(problem: Recurrence) -> list[float]:
    """log2(1/r) for the calls at r*n, as far as they are seen at once."""
    found = set()
    for node in s.nodes(tuple(case.value for each in problem.definitions for case in each.cases)):
        if isinstance(node, s.Call) and node.function in {each.name for each in problem.definitions}:
            try:
                ratio = float(value_at(node.arguments[0], {problem.asked.parameters[0]: 1 << 40}, FLOATS)) / (1 << 40)
            except (NoValueError, EvaluationRefusedError):
                continue
            if 0 < ratio < 1 - 1e-6:
                found.add(round(-math.log2(ratio), 9))
    return sorted(found)


def followed(problem: Recurrence, sizes: list[int | Fraction], symbols: Symbols) -> list[float]:
    """log2 of the function at the sizes. Raises OutOfReachError."""
    for arithmetic in (FLOATS, WIDE):
        found = _followed(problem, sizes, symbols, arithmetic)
        if found is not None:
            return found
    raise OutOfReachError("the recurrence has no value at the sizes checked")


def _followed(
    problem: Recurrence, sizes: list[int | Fraction], symbols: Symbols, arithmetic: Arithmetic
) -> list[float] | None:
    try:
        evaluator = Evaluator(problem, symbols, arithmetic, limit=_EVALUATIONS)
        values = [arb(evaluator.of(problem.asked.name, size)) for size in sizes]
    except (NoValueError, OverflowError):
        return None
    except EvaluationRefusedError as reason:
        raise OutOfReachError(f"the recurrence could not be followed to check the answer: {reason}") from None
    if not all(value.is_finite() for value in values):
        return None
    if not all(value > 0 for value in values):
        raise OutOfReachError("the function is not positive at the sizes checked")
    return [_log(value) for value in values]


def _log(value: arb) -> float:
    return float(value.log().mid()) / math.log(2)


def _log_of(terms: tuple[Term, ...], scale: float, symbols: Symbols) -> float:
    """log2 of the sum of terms at the size 2^scale, logarithms read as log2(2 + w)."""
    log = math.log2(2 + 2**scale) if scale < 60 else scale
    loglog = math.log2(2 + log)
    found = []
    for term in terms:
        value = float(term.power.ball()) * scale
        value += float(term.log.ball()) * math.log2(log) + float(arb(term.loglog)) * math.log2(loglog)
        value += sum(float(arb(power)) * math.log2(_symbol(name, symbols)) for name, power in term.symbols)
        found.append(value)
    top = max(found)
    return top + math.log2(sum(2 ** (each - top) for each in found))


def _symbol(name: str, symbols: Symbols) -> float:
    return math.log2(2 + symbols[name[5:-1]]) if name.startswith("log2(") else symbols[name]


def symbols_of(problem: Recurrence) -> dict[str, int]:
    """Values for the names that are no sizes."""
    sizes = {name for each in problem.definitions for name in each.parameters}
    parts = [case.value for each in problem.definitions for case in each.cases]
    parts += [base.value for each in problem.definitions for base in each.bases]
    names = {node.id for node in s.nodes(tuple(parts)) if isinstance(node, s.Name)} - sizes - {"pi"}
    return {name: SYMBOL_VALUES[at % len(SYMBOL_VALUES)] for at, name in enumerate(sorted(names))}


def _check_exact(problem: Recurrence, found: Found, symbols: Symbols) -> None:
    """The closed form is the recurrence's value on its domain: exactly where both are rational."""
    assert found.exact is not None
    closed = parse_expression(found.exact)
    size = problem.asked.parameters[0]
    for arithmetic in (EXACT, WIDE):
        try:
            evaluator = Evaluator(problem, symbols, arithmetic, exact_logs=True, limit=_EVALUATIONS)
            formula = Formula(closed, arithmetic)
            for each in found.places[:_PLACES]:
                left = evaluator.of(problem.asked.name, each)
                right = formula.at({size: each, **symbols})
                if not _equal(left, right):
                    raise OutOfReachError("the closed form found does not agree with the recurrence")
        except NoValueError:
            continue
        return
    raise OutOfReachError("the closed form found could not be checked")


def _equal(left: fmpq | arb, right: fmpq | arb) -> bool:
    """Whether two numbers are equal; balls, whether they may be, or nearly so."""
    if isinstance(left, fmpq):
        return bool(left == right)
    difference = left - right
    return bool(difference.contains(0)) or bool(abs(difference) < _CLOSE * abs(left))
