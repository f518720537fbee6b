"""Printed and derived forms as symbolic expressions over positive reals: whether they are equal, and where they differ.

That two forms differ is shown by exact intervals at a point; that they are equal, by a normal form in which nothing is
left of their difference. `max` becomes a positive part, and a root of a sum the letter whose square it is.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from random import Random
from typing import Any

from archline.energy.formulas import fold, names_in, value_of
from archline.energy.optimise.closed_forms import SympyDomain
from archline.expr.intervals import EvaluationError, Interval
from archline.expr.tree import rewritten
from archline.language import syntax as s
from archline.language.parser import parse_expression

TRIES = 40
"""Points at which a form is tried; at some a root may be imaginary."""
MOST_TERMS = 4
MOST_CHARACTERS = 240
Point = Mapping[str, Fraction]


class _Symbols(dict[str, Any]):
    """Positive symbols, made when they are first named."""

    def __missing__(self, name: str) -> Any:
        import sympy

        self[name] = sympy.Symbol(name, positive=True)
        return self[name]


class Forms(SympyDomain):
    """The number domain of forms: exact for all values of positive names, max and min included."""

    def call(self, function: str, values: Sequence[Any], expr: s.Call) -> Any:
        import sympy

        match function:
            case "max" | "min":
                found = values[0]
                for each in values[1:]:
                    found = each + part(found - each) if function == "max" else found - part(found - each)
                return found
            case "log2":
                return sympy.expand_log(sympy.log(sympy.factor(values[0]))) / sympy.log(2)
            case "floor" | "ceil":
                return (sympy.floor if function == "floor" else sympy.ceiling)(values[0])
            case _:
                return super().call(function, values, expr)


@lru_cache(maxsize=2048)
def form(expr: s.Expr) -> Any:
    """The symbolic form of an expression."""
    import sympy

    return fold(expr, Forms(_Symbols(), {}, sympy.Rational))


def part(value: Any) -> Any:
    """The positive part of a form, max(0, value), with its positive factors in front."""
    import sympy

    outside = inside = sympy.Integer(1)
    for factor, power in sympy.factor(sympy.together(sympy.expand(value))).as_powers_dict().items():
        if factor.is_number:
            outside, inside = outside * abs(factor) ** power, inside * sympy.sign(factor) ** power
        elif signs(factor) == {1}:
            outside *= factor**power
        else:
            inside *= factor**power
    if not inside.free_symbols:
        return outside * sympy.Max(0, inside)
    positive = sympy.Function("positive_part")
    if inside.could_extract_minus_sign():
        return outside * (positive(-inside) + inside)
    return outside * positive(inside)


def signs(value: Any) -> set[int]:
    """The signs of the terms of a form, expanded: 1 or -1, 0 where they are not known."""
    import sympy

    terms: dict[Any, Any] = {}
    for each in sympy.Add.make_args(sympy.expand(value)):
        number, rest = each.as_independent(*each.free_symbols) if each.free_symbols else (each, sympy.Integer(1))
        terms[rest] = terms.get(rest, 0) + number
    found = (number * (1 if rest.is_positive else sympy.nan) for rest, number in terms.items())
    return {1 if each.is_positive else -1 if each.is_negative else 0 for each in found}


def sign(value: Any) -> int | None:
    """The sign of a form whose terms above and below the line have one sign each; None: they do not."""
    import sympy

    ends = [signs(each) for each in sympy.fraction(sympy.together(sympy.expand(sympy.expand_log(value))))]
    return ends[0].pop() * ends[1].pop() or None if all(len(each) == 1 for each in ends) else None


def vanishes(value: Any) -> bool:
    """Whether a form is 0 for all values of its names. False: it is not, or that was not seen."""
    import sympy

    top = sympy.expand(sympy.fraction(sympy.together(sympy.expand(sympy.expand_log(value, force=True))))[0])
    # A positive part times itself is that part times what it is of; the outermost first, as one may stand in another.
    for each in sorted(top.atoms(sympy.Function("positive_part")), key=lambda each: -each.count_ops()):
        letter = sympy.Dummy(positive=True)
        top = sympy.expand(sympy.rem(top.xreplace({each: letter}), letter**2 - letter * each.args[0], letter))
    while roots := _roots(top):
        # The outermost first: a root may stand in another.
        root = max(roots, key=lambda each: each.count_ops())
        if not root.exp.is_Rational:
            return False
        letter, step = sympy.Dummy(positive=True), int(root.exp.q)
        powers = {
            each: letter ** int(each.exp * step)
            for each in roots
            if each.base == root.base and (each.exp * step).is_Integer
        }
        below = -min(0, *(int(each.exp * step) for each in powers))
        polynomial = sympy.Poly(sympy.expand(top.xreplace(powers) * letter**below), letter)
        top = sympy.expand(polynomial.rem(sympy.Poly(letter**step - root.base, letter)).as_expr())
        if letter in top.free_symbols:
            # A root that is no form itself: all that stands next to its powers would have to vanish.
            return all(vanishes(each) for each in sympy.Poly(top, letter).all_coeffs())
    return bool(top == 0)


def text(value: Any) -> str:
    """A form in the language's syntax."""
    import sympy

    # Logarithms stand in quotients with that of 2 only, so that all may be to base 2.
    log = sympy.Function("log2")
    written = value.replace(sympy.log, lambda each: sympy.Integer(1) if each == 2 else log(each))
    shown = str(written).replace("**", "^").replace("positive_part(", "max(0, ").replace("ceiling(", "ceil(")
    return re.sub(r"\bMax\(", "max(", shown)


def expanded(expr: s.Expr) -> str:
    """An expression multiplied out, as text."""
    import sympy

    return text(sympy.expand(form(expr)))


def read(text: str) -> s.Expr:
    """A text that was made here."""
    return parse_expression(text, "derived")


def value_at(expr: s.Expr, point: Point) -> Interval | None:
    """The value of a form at a point; None where it has none."""
    try:
        return value_of(expr, {name: Interval(value, value) for name, value in point.items()})
    except EvaluationError:
        return None


def points(names: frozenset[str], own: Point, tries: int = TRIES) -> list[Point]:
    """Points to evaluate at: the paper's own numbers, with 1 for what is 0 there, and others of any size."""
    drawn = Random("papers")
    found: list[Point] = [{name: own.get(name) or Fraction(1) for name in names}]
    for _ in range(tries):
        found.append({name: Fraction(drawn.randint(2, 9999), 10 ** drawn.randint(0, 4)) for name in sorted(names)})
    exact = {name: own[name] for name in names if name in own}
    return [exact, *found] if len(exact) == len(names) else found


def points_around(names: frozenset[str], own: Point) -> Iterator[Point]:
    """Sample points, and a fine geometric grid through each of them along every name."""
    for point in points(names, own)[:4]:
        yield point
        for name in sorted(names):
            yield from ({**point, name: point[name] * Fraction(9, 8) ** power} for power in range(-160, 161))


def apart(one: s.Expr, other: s.Expr, own: Point) -> Point | None:
    """A point at which two forms certainly differ, the paper's own if that is one; None: none was met."""
    for at in points(names_in(one) | names_in(other), own):
        left, right = value_at(one, at), value_at(other, at)
        if left is not None and right is not None and (left.upper < right.lower or right.upper < left.lower):
            return at
    return None


def difference(printed: Any, derived: Any) -> tuple[str, Any, Any]:
    """In words, where a printed form differs from the derived one, empty where that takes more than a line or two; and
    the terms of either that the other lacks, of a few; else both forms.
    """
    import sympy

    one, other = (dict.fromkeys(terms(each)) for each in (printed, derived))
    extra, lacking = ([each for each in a if each not in b] for a, b in ((one, other), (other, one)))
    said = min(filter(None, _said(extra, lacking)), key=len, default="")
    if not 0 < len(said) <= MOST_CHARACTERS:
        said = f"printed less derived is {text(sympy.factor(sympy.expand(printed - derived)))}"
    few = 0 < min(len(extra), len(lacking)) <= MOST_TERMS
    parts = (sympy.Add(*extra), sympy.Add(*lacking)) if few else (printed, derived)
    return said if len(said) <= MOST_CHARACTERS else "", *parts


def _said(extra: list[Any], lacking: list[Any]) -> Iterator[str]:
    """What is said of the terms by which a printed form and the derived one differ."""
    import sympy

    if max(len(extra), len(lacking)) <= MOST_TERMS:
        texts = [text(sympy.factor(sympy.Add(*each))) for each in (extra, lacking)]
        ratios = {sympy.powsimp(a / b) for a, b in zip(extra, lacking, strict=False)}
        single = len(extra) == len(lacking) and len(ratios) == 1 and not any(map(_roots, ratios))
        ratio = f": {text(ratios.pop())} times" if single else ""
        if extra and lacking:
            yield f"prints {texts[0]} where {texts[1]} follows{ratio}"
        else:
            yield f"the term {texts[0]} is too much" if extra else f"the term {texts[1]} is missing"
        yield describe_exchange(extra, lacking)
    squares = [sympy.expand(sympy.Add(*each) ** 2) for each in (extra, lacking)]
    if len(extra) == len(lacking) == 1 and _roots(extra[0] / lacking[0]) and not any(map(_roots, squares)):
        yield f"in the square of the root, printed less derived is {text(sympy.factor(squares[0] - squares[1]))}"
        one, other = (list(terms(each)) for each in squares)
        under = describe_exchange([e for e in one if e not in other], [e for e in other if e not in one])
        yield under and f"under the root {under}"


def multiplied_out(value: Any) -> Any:
    """The sum of the terms of a form."""
    import sympy

    return sympy.Add(*terms(value))


def describe_exchange(extra: list[Any], lacking: list[Any]) -> str:
    """Say which name or exponent stands for another, or which factor is too much or missing, if that is all by which
    the terms differ.
    """
    import sympy

    phrases: Counter[str] = Counter()
    left = list(lacking) if len(extra) == len(lacking) else []
    for term in extra if left else ():
        nearest = min(left, key=lambda candidate: len(text(sympy.powsimp(term / candidate))))
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
                phrase = f"{text(name ** printed[name])} stands where {text(name ** derived[name])} follows"
            case [name] if name.is_Symbol:
                which, whole = ("too much", term) if name in printed else ("missing", nearest)
                phrase = f"the factor {text(name ** abs(gaps[name]))} of {text(whole)} is {which}"
            case _:
                return ""
        phrases[phrase] += 1
    return ", ".join(phrase + (f", in {count} terms" if count > 1 else "") for phrase, count in phrases.items())


def factored(value: Any) -> Any:
    """A form factored into irreducible factors."""
    import sympy

    return sympy.factor(sympy.cancel(sympy.together(sympy.powsimp(value))))


def terms(value: Any) -> Iterator[Any]:
    """The terms of a form, multiplied out."""
    import sympy

    return map(sympy.powsimp, sympy.Add.make_args(sympy.expand(value)))


def _roots(value: Any) -> set[Any]:
    import sympy

    return {each for each in value.atoms(sympy.Pow) if each.base.is_Add and not each.exp.is_Integer}


def names_within(expr: s.Expr, values: Mapping[str, s.Expr]) -> s.Expr:
    """An expression with definitions put in until none is left."""
    for _ in range(8):
        if not names_in(expr) & set(values):
            break
        expr = rewritten(expr, lambda each: values.get(each.id) if isinstance(each, s.Name) else None)
    return expr
