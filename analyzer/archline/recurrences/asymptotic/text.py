"""Print the terms and sizes of recurrences in the language's syntax, and solutions in lines as in a textbook."""

from __future__ import annotations

from collections.abc import Iterable

from archline.algebra.reals import HALF, ONE_CONSTANT, ZERO_CONSTANT, Constant
from archline.expr import build as b
from archline.expr import tree as s
from archline.expr.text import format_expression
from archline.growth.candidates import make_factor
from archline.growth.monomials import Factor, make_size_factor
from archline.numbers import fmpq
from archline.recurrences.asymptotic.normal_form import (
    LOG2_OF_E,
    CallArgument,
    CallSum,
    InitialValues,
    WeightedCall,
)
from archline.recurrences.asymptotic.terms import GrowthTerm, Powers, add_powers
from archline.recurrences.asymptotic.theorems import GrowthResult, Parts, compare_exponent, integrate_term

Factors = list[tuple[Factor, Constant]]


def build_growth_tree(terms: Iterable[GrowthTerm], size: str) -> s.Expr:
    """Return the syntax tree of the sum of terms without their coefficients."""
    return b.sum_terms((False, build_product_tree(fmpq(1), _list_factors(term, size))) for term in terms)


def format_growth(terms: Iterable[GrowthTerm], size: str) -> str:
    """Return the text of the sum of terms without their coefficients."""
    return format_expression(build_growth_tree(terms, size))


def format_kind(term: GrowthTerm, size: str) -> str:
    """Return the text of a term without its coefficient."""
    return format_growth([term], size)


def format_terms(terms: Iterable[GrowthTerm], size: str) -> str:
    """Return the text of a sum of terms with their coefficients and signs."""
    return format_expression(build_sum_tree((term.coefficient, _list_factors(term, size)) for term in terms))


def _multiply(constant: Constant, size: s.Expr) -> s.Expr:
    number, factors = constant.factors()
    return b.rational_multiple(number, [*factors, size], [])


def _list_steep_factors(term: GrowthTerm, size: s.Expr) -> tuple[Factors, Powers]:
    """Return the powers of n!, n^n, exp(n) and b^n in a term, and the powers of the size and its logarithms left."""
    factorial, exponential = (*term.steep, ZERO_CONSTANT, ZERO_CONSTANT)[:2]
    if factorial and exponential == factorial * LOG2_OF_E:
        # By Stirling's formula n! is Theta(n^n*exp(-n)*sqrt(n)).
        power = b.power(size, _multiply(factorial, size))
        return [(make_factor(power), ONE_CONSTANT)], add_powers(term.powers, (factorial * HALF,))
    factors = [(make_factor(b.call("factorial", size)), factorial)] if factorial else []
    sign = exponential.sign()
    rate = exponential.scaled(sign)
    base, natural = rate.exp2(), rate / LOG2_OF_E
    if sign and natural.is_rational:
        factors.append((make_factor(b.call("exp", size)), exponential / LOG2_OF_E))
    elif sign and base is not None and base > 1:
        factors.append((make_factor(b.power(b.number(base), size)), Constant.of(sign)))
    elif sign:
        factors.append((make_factor(b.power(b.number(2), _multiply(rate, size))), Constant.of(sign)))
    return factors, term.powers


def make_symbol_factor(name: str) -> Factor:
    """Return the factor for a symbol `X`, or for the logarithm of one, `log2(X)`."""
    inner = name.removeprefix("log2(")
    return make_size_factor(name) if inner == name else make_factor(b.call("log2", make_symbol_factor(inner[:-1]).expr))


def _list_factors(term: GrowthTerm, size: str) -> Factors:
    factors = [(make_symbol_factor(name), Constant(exponent)) for name, exponent in term.symbols]
    base = make_size_factor(size)
    steep, powers = _list_steep_factors(term, b.name(size))
    for exponent in powers:
        factors.append((base, exponent))
        base = make_factor(b.call("log2", base.expr))
    return [*factors, *steep]


def build_sum_tree(terms: Iterable[tuple[fmpq, Factors]]) -> s.Expr:
    """Return the syntax tree of a sum of coefficients times products of powers."""
    return b.sum_terms(
        (coefficient < 0, build_product_tree(abs(coefficient), factors)) for coefficient, factors in terms
    )


def build_product_tree(coefficient: fmpq, factors: Factors) -> s.Expr:
    """Return the syntax tree of a coefficient times powers, those with negative exponents in the denominator."""
    above = [b.power(base.expr, exponent.tree) for base, exponent in factors if exponent.sign() > 0]
    below = [b.power(base.expr, (-exponent).tree) for base, exponent in factors if exponent.sign() < 0]
    return b.divide_products([b.number(coefficient)] * (coefficient != 1 or not above) + above, below)


def format_argument(argument: CallArgument, size: str) -> str:
    """Return the text of the size of a call."""
    if argument.is_root:
        return _format_power(size, Constant(argument.root))
    if argument.less is not None:
        return f"{size} - {format_terms([argument.less], size)}"
    ratio, offset = argument.ratio, argument.offset
    share = size if ratio.p == 1 else f"{ratio.p}*{size}"
    if ratio.q != 1:
        share += f"/{ratio.q}"
    if offset == 0:
        return share
    return f"{share} {'-' if offset < 0 else '+'} {abs(offset)}"


def _format_power(size: str, exponent: Constant) -> str:
    return format_expression(b.power(b.name(size), exponent.tree))


def format_call(call: WeightedCall, size: str) -> str:
    """Return the text of a call times its weight."""
    weight = format_terms([call.weight, *call.tail], size)
    if call.factor != ONE_CONSTANT:
        weight = f"{call.factor}" if weight == "1" else f"{call.factor}*{weight}"
    text = f"{call.function}({format_argument(call.argument, size)})"
    return text if weight == "1" else f"({weight})*{text}" if " " in weight else f"{weight}*{text}"


def format_branch(branch: CallSum, size: str) -> str:
    """Return the text of a branch: the sum of its calls and terms."""
    calls = " + ".join(format_call(call, size) for call in branch.calls)
    if not branch.terms:
        return calls or "0"
    terms = format_terms(branch.terms, size)
    if not calls:
        return terms
    return f"{calls} - {terms[1:]}" if terms.startswith("-") else f"{calls} + {terms}"


Lines = tuple[str, ...]


def format_statement(name: str, size: str, branches: tuple[CallSum, ...], bases: InitialValues) -> Lines:
    """Return lines that state the recurrence in its normal form, and its base values."""
    texts = [format_branch(branch, size) for branch in branches]
    right = texts[0] if len(texts) == 1 else f"max({', '.join(texts)})"
    lines = [f"{name}({size}) = {right} for {size} > {bases.threshold}"]
    below: fmpq | None = None
    for threshold, terms in bases.values:
        above = "" if below is None else f"{below} < "
        lines.append(f"{name}({size}) = {format_terms(terms, size)} for {above}{size} <= {threshold}")
        below = threshold
    return tuple(lines)


def explain_split_recurrence(branches: tuple[CallSum, ...], result: GrowthResult, size: str) -> Lines:
    """Return the lines that derive the growth by the theorem of Akra and Bazzi."""
    lines = [format_exponent_equation(result.parts, result.exponent)]
    bottom = _format_leaf_growth(size, result)
    for term in _collect_positive_terms(branches):
        side = -term.side or compare_exponent(result.parts, term.power)
        lines.append(_format_comparison(term, size, side, bottom))
    return tuple(lines)


def explain_root_recurrence(
    name: str, branches: tuple[CallSum, ...], result: GrowthResult, scale: Constant, size: str
) -> Lines:
    """Return lines that derive the growth with mu = log2(n), for which square roots of the size n are halves."""
    divided = f"{name}({size})/{_format_power(size, scale)}" if scale else f"{name}({size})"
    lines = [f"with mu = log2({size}), U(mu) = {divided} calls itself at parts of mu"]
    lines.append(format_exponent_equation(result.parts, result.exponent))
    for term in _collect_positive_terms(branches):
        text = format_kind(term, size)
        sign = term.side or (term.power - scale).sign()
        if sign > 0:
            lines.append(f"{text} is exponential in mu, unlike the calls: the root of the recursion tree dominates")
        elif sign < 0:
            lines.append(f"{text} is dominated by the calls as mu grows: the leaves of the recursion tree dominate")
        else:
            in_mu = GrowthTerm(fmpq(1), term.powers[1:])
            lines.append(
                _format_comparison(
                    in_mu, "mu", compare_exponent(result.parts, in_mu.power), _format_leaf_growth("mu", result)
                )
            )
    return tuple(lines)


def _format_leaf_growth(size: str, found: GrowthResult) -> str:
    """Return the text of the growth of the calls alone."""
    return _format_power(size, found.exponent) if found.exponent else "1"


def _collect_positive_terms(branches: tuple[CallSum, ...]) -> list[GrowthTerm]:
    """Return the positive terms of the branches, one of each kind."""
    kinds = {term.kind: term for branch in branches for term in branch.terms if term.coefficient > 0}
    return list(kinds.values())


def _format_comparison(term: GrowthTerm, size: str, side: int, bottom: str) -> str:
    """Return a line that compares a term with the calls alone (`bottom`); it grows faster if `side` is below 0."""
    text = format_kind(term, size)
    if side < 0:
        return f"{text} dominates {bottom}: the root of the recursion tree dominates"
    if side > 0:
        return f"{text} is dominated by {bottom}: the leaves of the recursion tree dominate"
    level = GrowthTerm(fmpq(1), (ZERO_CONSTANT, *term.powers[1:]))
    cost = format_kind(level, size)
    total = format_kind(integrate_term(level), size)
    return f"{text} is {bottom} times {cost}: no level dominates, and the sum over levels is {total}"


def format_exponent_equation(parts: Parts, p: Constant) -> str:
    """Return the text of the equation of the exponent p and its solution."""
    sides = []
    for weight, share in parts:
        power = f"{share}^p" if share.q == 1 else f"({share})^p"
        sides.append(power if weight == ONE_CONSTANT else f"{weight}*{power}")
    about = " to nine digits, the only solution" if "." in str(p) else ""
    return f"{' + '.join(sides)} = 1 at p = {p}{about}"


def explain_subtractive_recurrence(
    branches: tuple[CallSum, ...], found: GrowthResult, stride: fmpq, size: str, base: s.Expr | None = None
) -> Lines:
    """Return lines that derive growth by a sum over sizes, or by the root base^(1/stride) if `base` is given."""
    weights = max(sum((call.weight.coefficient for call in branch.calls), fmpq(0)) for branch in branches)
    if base is not None:
        terms = [
            f"{'' if call.weight.coefficient == 1 else f'{call.weight.coefficient}*'}x^({call.argument.offset})"
            for call in branches[0].calls
        ]
        if len(branches) > 1:
            return (f"the weights of the calls sum to {weights} > 1: the growth is exponential",)
        root = format_expression(b.power(base, b.number(1 / stride)))
        return (f"characteristic equation {' + '.join(terms)} = 1: the positive solution is x = {root}",)
    if found.exponent:
        return (f"the weights of the calls sum to {weights} < 1: the non-recursive cost dominates",)
    amounts = format_growth(_collect_positive_terms(branches), size)
    return (f"the weights of the calls sum to 1: the base value plus the sum of {amounts} over the sizes",)
