"""Represent printed and derived forms as symbolic expressions over positive reals, and decide where they differ.

A difference is shown by exact intervals at a point; equality by a normal form in which the difference is 0. There `max`
is written by a positive part, and a root of a sum is a new symbol, a power of which is that sum.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from random import Random
from typing import Any

from archline.energy.formulas import bound_value, fold, names_in
from archline.energy.optimise.closed_forms import SympyDomain
from archline.expr.intervals import EvaluationError, Interval
from archline.expr.tree import rewrite_parts
from archline.language import syntax as s
from archline.language.parser import parse_expression

SAMPLE_COUNT = 40
"""The number of random points at which forms are evaluated; at some a root may be imaginary."""
MAX_SHOWN_TERMS = 4
MAX_SHOWN_CHARACTERS = 240
Point = Mapping[str, Fraction]


class _Symbols(dict[str, Any]):
    """A mapping of names to positive symbols, created on first use."""

    def __missing__(self, name: str) -> Any:
        import sympy

        self[name] = sympy.Symbol(name, positive=True)
        return self[name]


class FormDomain(SympyDomain):
    """Evaluates formulas to sympy expressions that are exact for all positive values of names, also for max and min."""

    def call(self, function: str, values: Sequence[Any], expr: s.Call) -> Any:
        import sympy

        match function:
            case "max" | "min":
                best = values[0]
                for value in values[1:]:
                    best = (
                        value + take_positive_part(best - value)
                        if function == "max"
                        else best - take_positive_part(best - value)
                    )
                return best
            case "log2":
                return sympy.expand_log(sympy.log(sympy.factor(values[0]))) / sympy.log(2)
            case "floor" | "ceil":
                return (sympy.floor if function == "floor" else sympy.ceiling)(values[0])
            case _:
                return super().call(function, values, expr)


@lru_cache(maxsize=2048)
def build_form(expr: s.Expr) -> Any:
    """Return the symbolic form of an expression."""
    import sympy

    return fold(expr, FormDomain(_Symbols(), {}, sympy.Rational))


def take_positive_part(value: Any) -> Any:
    """Return the positive part of a form, max(0, value), with its positive factors in front."""
    import sympy

    outside = inside = sympy.Integer(1)
    for factor, power in sympy.factor(sympy.together(sympy.expand(value))).as_powers_dict().items():
        if factor.is_number:
            outside, inside = outside * abs(factor) ** power, inside * sympy.sign(factor) ** power
        elif compute_term_signs(factor) == {1}:
            outside *= factor**power
        else:
            inside *= factor**power
    if not inside.free_symbols:
        return outside * sympy.Max(0, inside)
    positive = sympy.Function("positive_part")
    if inside.could_extract_minus_sign():
        return outside * (positive(-inside) + inside)
    return outside * positive(inside)


def compute_term_signs(value: Any) -> set[int]:
    """Return the signs of the terms of a form, expanded: 1 or -1, 0 if unknown."""
    import sympy

    terms: dict[Any, Any] = {}
    for term in sympy.Add.make_args(sympy.expand(value)):
        number, rest = term.as_independent(*term.free_symbols) if term.free_symbols else (term, sympy.Integer(1))
        terms[rest] = terms.get(rest, 0) + number
    numbers = (number * (1 if rest.is_positive else sympy.nan) for rest, number in terms.items())
    return {1 if total.is_positive else -1 if total.is_negative else 0 for total in numbers}


def compute_sign(value: Any) -> int | None:
    """Return the sign of a form if all terms of its numerator, and all of its denominator, have one sign; else None."""
    import sympy

    ends = [compute_term_signs(side) for side in sympy.fraction(sympy.together(sympy.expand(sympy.expand_log(value))))]
    return ends[0].pop() * ends[1].pop() or None if all(len(end_signs) == 1 for end_signs in ends) else None


def is_zero(value: Any) -> bool:
    """Whether a form is proved to be 0 for all values of its names."""
    import sympy

    top = sympy.expand(sympy.fraction(sympy.together(sympy.expand(sympy.expand_log(value, force=True))))[0])
    # max(0, x)^2 = max(0, x)*x; the outermost first, as parts may be nested.
    for piece in sorted(top.atoms(sympy.Function("positive_part")), key=lambda factor: -factor.count_ops()):
        letter = sympy.Dummy(positive=True)
        top = sympy.expand(sympy.rem(top.xreplace({piece: letter}), letter**2 - letter * piece.args[0], letter))
    while roots := _find_sum_roots(top):
        # The outermost first, as roots may be nested.
        root = max(roots, key=lambda power: power.count_ops())
        if not root.exp.is_Rational:
            return False
        letter, step = sympy.Dummy(positive=True), int(root.exp.q)
        powers = {
            power: letter ** int(power.exp * step)
            for power in roots
            if power.base == root.base and (power.exp * step).is_Integer
        }
        below = -min(0, *(int(power.exp * step) for power in powers))
        polynomial = sympy.Poly(sympy.expand(top.xreplace(powers) * letter**below), letter)
        top = sympy.expand(polynomial.rem(sympy.Poly(letter**step - root.base, letter)).as_expr())
        if letter in top.free_symbols:
            # The root remains: all coefficients of its powers would have to vanish.
            return all(is_zero(coefficient) for coefficient in sympy.Poly(top, letter).all_coeffs())
    return bool(top == 0)


def format_form(value: Any) -> str:
    """Format a form in the language's syntax."""
    import sympy

    # Logarithms occur only in log(x)/log(2), so that all may be to base 2.
    log = sympy.Function("log2")
    written = value.replace(sympy.log, lambda argument: sympy.Integer(1) if argument == 2 else log(argument))
    shown = str(written).replace("**", "^").replace("positive_part(", "max(0, ").replace("ceiling(", "ceil(")
    return re.sub(r"\bMax\(", "max(", shown)


def format_expanded(expr: s.Expr) -> str:
    """Format an expression multiplied out."""
    import sympy

    return format_form(sympy.expand(build_form(expr)))


def parse_form(text: str) -> s.Expr:
    """Parse a text that this package formatted."""
    return parse_expression(text, "derived")


def evaluate_at(expr: s.Expr, point: Point) -> Interval | None:
    """Return the value of a form at a point; None if it has none."""
    try:
        return bound_value(expr, {name: Interval(value, value) for name, value in point.items()})
    except EvaluationError:
        return None


def sample_points(names: frozenset[str], numbers: Point, tries: int = SAMPLE_COUNT) -> list[Point]:
    """Return points for evaluations: the paper's numbers, with 1 for names that have none, and random points."""
    drawn = Random("papers")
    result: list[Point] = [{name: numbers.get(name) or Fraction(1) for name in names}]
    for _ in range(tries):
        result.append({name: Fraction(drawn.randint(2, 9999), 10 ** drawn.randint(0, 4)) for name in sorted(names)})
    exact = {name: numbers[name] for name in names if name in numbers}
    return [exact, *result] if len(exact) == len(names) else result


def iterate_points_around(names: frozenset[str], own: Point) -> Iterator[Point]:
    """Yield sample points, and a fine geometric grid through each along every name."""
    for point in sample_points(names, own)[:4]:
        yield point
        for name in sorted(names):
            yield from ({**point, name: point[name] * Fraction(9, 8) ** power} for power in range(-160, 161))


def find_separating_point(first: s.Expr, second: s.Expr, own: Point) -> Point | None:
    """Return a point at which two forms certainly differ, preferably with the paper's numbers; None if none is."""
    for at in sample_points(names_in(first) | names_in(second), own):
        left, right = evaluate_at(first, at), evaluate_at(second, at)
        if left is not None and right is not None and (left.upper < right.lower or right.upper < left.lower):
            return at
    return None


def describe_difference(printed: Any, derived: Any) -> tuple[str, Any, Any]:
    """Return how forms differ, in words (empty if too long), and their differing terms, if few, else both forms."""
    import sympy

    left, right = (dict.fromkeys(iterate_terms(side)) for side in (printed, derived))
    extra, lacking = ([term for term in a if term not in b] for a, b in ((left, right), (right, left)))
    description = min(filter(None, _iterate_difference_phrases(extra, lacking)), key=len, default="")
    if not 0 < len(description) <= MAX_SHOWN_CHARACTERS:
        description = f"printed less derived is {format_form(sympy.factor(sympy.expand(printed - derived)))}"
    few = 0 < min(len(extra), len(lacking)) <= MAX_SHOWN_TERMS
    parts = (sympy.Add(*extra), sympy.Add(*lacking)) if few else (printed, derived)
    return description if len(description) <= MAX_SHOWN_CHARACTERS else "", *parts


def _iterate_difference_phrases(extra: list[Any], lacking: list[Any]) -> Iterator[str]:
    """Yield phrases on the terms by which a printed form and the derived one differ."""
    import sympy

    if max(len(extra), len(lacking)) <= MAX_SHOWN_TERMS:
        texts = [format_form(sympy.factor(sympy.Add(*side))) for side in (extra, lacking)]
        ratios = {sympy.powsimp(a / b) for a, b in zip(extra, lacking, strict=False)}
        single = len(extra) == len(lacking) and len(ratios) == 1 and not any(map(_find_sum_roots, ratios))
        ratio = f": {format_form(ratios.pop())} times" if single else ""
        if extra and lacking:
            yield f"prints {texts[0]} where {texts[1]} follows{ratio}"
        else:
            yield f"the term {texts[0]} is too much" if extra else f"the term {texts[1]} is missing"
        yield describe_exchange(extra, lacking)
    squares = [sympy.expand(sympy.Add(*side) ** 2) for side in (extra, lacking)]
    if (
        len(extra) == len(lacking) == 1
        and _find_sum_roots(extra[0] / lacking[0])
        and not any(map(_find_sum_roots, squares))
    ):
        yield f"in the square of the root, printed less derived is {format_form(sympy.factor(squares[0] - squares[1]))}"
        left, right = (list(iterate_terms(square)) for square in squares)
        under = describe_exchange(
            [term for term in left if term not in right],
            [term for term in right if term not in left],
        )
        yield under and f"under the root {under}"


def multiply_out(value: Any) -> Any:
    """Return the sum of the terms of a form."""
    import sympy

    return sympy.Add(*iterate_terms(value))


def describe_exchange(extra: list[Any], lacking: list[Any]) -> str:
    """Describe a name or exponent in place of another, or a superfluous or missing factor; empty for other errors."""
    import sympy

    phrases: Counter[str] = Counter()
    left = list(lacking) if len(extra) == len(lacking) else []
    for term in extra if left else ():
        nearest = min(left, key=lambda candidate: len(format_form(sympy.powsimp(term / candidate))))
        left.remove(nearest)
        printed, derived = term.as_powers_dict(), nearest.as_powers_dict()
        gaps = {base: sympy.expand(printed.get(base, 0) - derived.get(base, 0)) for base in {**printed, **derived}}
        # First the name that is in the printed term alone.
        match sorted((base for base in gaps if gaps[base] != 0), key=lambda base: (base in derived, str(base))):
            case [here, there] if (
                here.is_Symbol and there.is_Symbol and there in derived and gaps[here] == -gaps[there]
            ):
                phrase = f"{here} stands where {there} follows"
            case [name] if name.is_Symbol and name in printed and name in derived:
                phrase = (
                    f"{format_form(name ** printed[name])} stands where {format_form(name ** derived[name])} follows"
                )
            case [name] if name.is_Symbol:
                which, whole = ("too much", term) if name in printed else ("missing", nearest)
                phrase = f"the factor {format_form(name ** abs(gaps[name]))} of {format_form(whole)} is {which}"
            case _:
                return ""
        phrases[phrase] += 1
    return ", ".join(phrase + (f", in {count} terms" if count > 1 else "") for phrase, count in phrases.items())


def factor_form(value: Any) -> Any:
    """Return a form factored into irreducible factors."""
    import sympy

    return sympy.factor(sympy.cancel(sympy.together(sympy.powsimp(value))))


def iterate_terms(value: Any) -> Iterator[Any]:
    """Iterate over the terms of a form that is multiplied out."""
    import sympy

    return map(sympy.powsimp, sympy.Add.make_args(sympy.expand(value)))


def _find_sum_roots(value: Any) -> set[Any]:
    import sympy

    return {power for power in value.atoms(sympy.Pow) if power.base.is_Add and not power.exp.is_Integer}


def substitute_definitions(expr: s.Expr, values: Mapping[str, s.Expr]) -> s.Expr:
    """Substitute definitions in an expression until none is left, at most 8 times."""
    for _ in range(8):
        if not names_in(expr) & set(values):
            break
        expr = rewrite_parts(expr, lambda node: values.get(node.id) if isinstance(node, s.Name) else None)
    return expr
