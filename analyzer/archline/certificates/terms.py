"""Expand expressions exactly to sums of products of factors, which are all parts but arithmetic, and read facts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from fractions import Fraction
from functools import cached_property, lru_cache, reduce
from typing import TypeAlias

from archline.certificates.constants import (
    Number,
    RejectedError,
    evaluate_constant,
    log2,
    make_rational,
    raise_to_power,
)
from archline.certificates.constants import read_constant as constant_text
from archline.expr.text import format_expression
from archline.language import syntax as s
from archline.language.parser import parse_expression, parse_fact_list
from archline.records import field, record

MAX_EXPANDED_POWER, _MAX_TERMS = 12, 500
ONE, HALF = make_rational(1), make_rational(Fraction(1, 2))


@record
class Factor:
    """A part of an expression that is not expanded; two factors are equal if their keys are."""

    key: object
    expr: s.Expr = field(compare=False, repr=False)


@record
class Term:
    """A product of powers of factors; no exponent is 0."""

    powers: frozenset[tuple[Factor, Number]] = frozenset()

    def __mul__(self, other: Term) -> Term:
        total = dict(self.powers)
        for factor, times in other.powers:
            total[factor] = total[factor] + times if factor in total else times
        return Term(frozenset(pair for pair in total.items() if not pair[1].is_zero))

    def __pow__(self, by: Number) -> Term:
        return Term() if by.is_zero else Term(frozenset((factor, times * by) for factor, times in self.powers))

    @property
    def single_factor(self) -> s.Expr | None:
        """The expression of the term if it is a single factor, else None."""
        if len(self.powers) == 1:
            ((factor, times),) = self.powers
            if times == ONE:
                return factor.expr
        return None

    def get_power_of(self, name: str) -> Fraction:
        """Return the exponent if the term is a rational power of the size `name`; 0 for other terms."""
        if len(self.powers) == 1:
            ((factor, times),) = self.powers
            if factor.key == name:
                return times.fraction or Fraction(0)
        return Fraction(0)


Sum: TypeAlias = dict[Term, Number]


def add_terms(parts: Iterable[tuple[Term, Number]]) -> Sum:
    """Add up the coefficients of equal terms. Raises RejectedError if the sum is too long."""
    result: Sum = {}
    for term, value in parts:
        result[term] = result[term] + value if term in result else value
    if len(result) > _MAX_TERMS:
        raise RejectedError("a sum is too long to check")
    return {term: value for term, value in result.items() if not value.is_zero}


def add_sums(a: Sum, b: Sum, sign: int = 1) -> Sum:
    """Return the sum a + sign*b."""
    return add_terms([*a.items(), *((term, value * make_rational(sign)) for term, value in b.items())])


def multiply_sums(a: Sum, b: Sum) -> Sum:
    """Return the product of two sums. Raises RejectedError if it is too long."""
    if len(a) * len(b) > _MAX_TERMS:
        raise RejectedError("a sum is too long to check")
    return add_terms((x * y, c * d) for x, c in a.items() for y, d in b.items())


def shift_factors(term: Term, value: Number, least: Mapping[Factor, Number]) -> Sum:
    """Expand value*term with x replaced by least[x] + x for each factor x in `least`."""
    result = {Term(): value}
    for factor, by in term.powers:
        factor_power = Term(frozenset([(factor, by)]))
        if factor not in least:
            result = multiply_sums(result, {factor_power: ONE})
            continue
        whole = by.fraction
        if whole is None or whole.denominator != 1 or not 0 < whole <= MAX_EXPANDED_POWER:
            raise RejectedError("the power of a factor with a minimum is not a small natural number")
        shifted = {Term(): least[factor], Term(frozenset([(factor, ONE)])): ONE}
        result = reduce(multiply_sums, [shifted] * int(whole), result)
    return result


def find_single_term(value: Sum) -> tuple[Term, Number] | None:
    """Return the term and coefficient of a sum of one term, else None."""
    return next(iter(value.items())) if len(value) == 1 else None


def expand(expr: s.Expr) -> Sum:
    """Expand an expression to a sum, equal to it where all its parts have values. Raises RejectedError."""
    if not s.find_names(expr):
        with suppress(RejectedError):
            return add_terms([(Term(), evaluate_constant(expr))])
    match expr:
        case s.Unary(op="-", operand=operand):
            return add_sums({}, expand(operand), -1)
        case s.Binary(op="+" | "-" as op, left=left, right=right):
            return add_sums(expand(left), expand(right), 1 if op == "+" else -1)
        case s.Binary(op="*", left=left, right=right):
            return multiply_sums(expand(left), expand(right))
        case s.Binary(op="/", left=left, right=right):
            return multiply_sums(expand(left), _expand_power(right, make_rational(-1)))
        case s.Binary(op="^", left=left, right=right) if not s.find_names(right):
            return _expand_power(left, evaluate_constant(right))
        case s.Binary(op="^", left=left, right=right) if not s.find_names(left) and (
            expanded := _expand_exponential(left, right)
        ):
            return expanded
        case s.Call(function="sqrt", arguments=(inner,)):
            return _expand_power(inner, HALF)
        case s.Call(function="abs", arguments=(inner,)) if _has_positive_terms(expand(inner)):
            return expand(inner)
        case _:
            return _make_single_factor(expr, _make_key(expr), ONE)


def _expand_exponential(base: s.Expr, exponent: s.Expr) -> Sum | None:
    """Return b^(c*n + d) as b^d*(2^n)^(c*log2(b)); None if the exponent is not such a sum of sizes."""
    value, result, coefficient = evaluate_constant(base), Term(), ONE
    if value.sign <= 0:
        return None
    for term, times in expand(exponent).items():
        name = term.single_factor
        if not term.powers:
            coefficient = raise_to_power(value, times)
        elif isinstance(name, s.Name):
            two = s.Binary("^", s.Integer(2, span=name.span), name, span=name.span)
            result *= Term(frozenset([(Factor(("2^", name.id), two), ONE)])) ** (times * log2(value))
        else:
            return None
    return {result: coefficient}


def _expand_power(base: s.Expr, by: Number) -> Sum:
    value, whole = expand(base), by.fraction
    term = find_single_term(value)
    if whole is not None and whole.denominator == 1:
        if term is not None:
            return {term[0] ** by: raise_to_power(term[1], by)}
        if 0 <= whole <= MAX_EXPANDED_POWER:
            return reduce(multiply_sums, [value] * int(whole), {Term(): ONE})
    elif term is not None and (_has_positive_terms(value) or (term[1] == ONE and term[0].single_factor is not None)):
        return {term[0] ** by: raise_to_power(term[1], by)}
    return _make_single_factor(base, ("sum", frozenset(value.items())), by)


def _make_single_factor(expr: s.Expr, key: object, by: Number) -> Sum:
    return {Term(frozenset([(Factor(key, expr), by)])): ONE}


def _has_positive_terms(value: Sum) -> bool:
    """Test whether all terms are positive multiples of products of sizes and logarithms."""
    factors = (factor.expr for term in value for factor, _ in term.powers)
    atoms = all(isinstance(x, s.Name) or (isinstance(x, s.Call) and x.function == "log2") for x in factors)
    return atoms and all(coefficient.sign > 0 for coefficient in value.values())


def _make_key(expr: s.Expr) -> object:
    """Return a key that is the same for calls and operations whose arguments expand to the same sums."""
    match expr:
        case s.Name(id=name) if name != "pi":
            return name
        case s.Call(function="min" | "max" as function, arguments=arguments):
            return function, frozenset(_make_items_key(argument) for argument in arguments)
        case s.Call(function="floor" | "ceil" | "abs" | "log2" | "log" as function, arguments=(inner,)):
            return function, _make_items_key(inner)
        case s.Binary(op="//"):
            return "floor", _make_items_key(make_quotient(expr))
        case s.Binary(op="%" | "^" as op, left=left, right=right):
            return op, _make_items_key(left), _make_items_key(right)
        case _:
            raise RejectedError(f"`{format_expression(expr)}` is not an expression in sizes")


def _make_items_key(expr: s.Expr) -> object:
    return frozenset(expand(expr).items())


def make_quotient(expr: s.Binary) -> s.Expr:
    """Return left/right of left//right."""
    return s.Binary("/", expr.left, expr.right, span=expr.span)


def read_term(data: Mapping[str, str]) -> Term:
    """Read a TERM of a certificate. Raises RejectedError."""
    return reduce(Term.__mul__, (_read_factor(text) ** constant_text(by) for text, by in data.items()), Term())


@lru_cache(maxsize=4096)
def _read_factor(text: str) -> Term:
    expr = parse_expression(text)
    value = expand(expr)
    single_term = find_single_term(value)
    if single_term is None:
        (term,) = _make_single_factor(expr, ("sum", frozenset(value.items())), ONE)
        return term
    if single_term[1] != ONE:
        raise RejectedError(f"`{text}` is not a factor")
    return single_term[0]


@record
class Comparison:
    """A comparison small <= large, each term on the side where it is positive; `sides` are the sides in the fact."""

    small: Sum
    large: Sum
    sides: tuple[s.Expr, ...]
    positive: tuple[s.Expr, ...] = ()
    """The expressions that have to be positive for the comparison to hold."""


class Facts:
    """The facts of a certificate; their comparisons are derived when first used."""

    def __init__(self, texts: list[str]) -> None:
        self._texts = texts
        self._known: dict[int, list[Comparison]] = {}

    @cached_property
    def facts(self) -> list[s.Fact]:
        """The facts as syntax trees."""
        parsed = [parse_fact_list(text) for text in self._texts]
        if any(len(facts) != 1 for facts in parsed):
            raise RejectedError("each entry of `facts` must be one fact")
        return [fact for (fact,) in parsed]

    def list_comparisons(self, index: object) -> list[Comparison]:
        """Return the comparisons of the fact with this index. Raises RejectedError for a wrong index."""
        if not isinstance(index, int) or isinstance(index, bool) or not 0 <= index < len(self.facts):
            raise RejectedError(f"there is no fact {index}")
        if index not in self._known:
            self._known[index] = list(_iterate_comparisons(self.facts[index]))
        return self._known[index]


def _iterate_comparisons(fact: s.Fact) -> Iterator[Comparison]:
    match fact:
        case s.Binary(op="and", left=left, right=right):
            yield from _iterate_comparisons(left)
            yield from _iterate_comparisons(right)
        case s.Binary(op="==" | "<=" | "<" | ">=" | ">" as op, left=left, right=right):
            if op in ("==", "<=", "<"):
                yield _make_comparison(left, right)
            if op in ("==", ">=", ">"):
                yield _make_comparison(right, left)
        case s.Divides(divisor=divisor, value=value):
            yield _make_comparison(divisor, value, (divisor, value))
        case s.IsPower(value=value, base=base) if _is_at_least_one(base):
            yield _separate_signs(add_sums(expand(value), {Term(): ONE}, -1), (value, base))
        case _:
            pass


def _make_comparison(small: s.Expr, large: s.Expr, positive: tuple[s.Expr, ...] = ()) -> Comparison:
    return _separate_signs(add_sums(expand(large), expand(small), -1), (small, large), positive)


def _separate_signs(gap: Sum, sides: tuple[s.Expr, ...], positive: tuple[s.Expr, ...] = ()) -> Comparison:
    """Return the comparison 0 <= gap with its negative terms on the left side and its positive ones on the right."""
    return Comparison(
        {term: -value for term, value in gap.items() if value.sign < 0},
        {term: value for term, value in gap.items() if value.sign > 0},
        sides,
        positive,
    )


def _is_at_least_one(base: s.Expr) -> bool:
    return isinstance(base, s.Name) or (not s.find_names(base) and make_rational(1) <= evaluate_constant(base))
