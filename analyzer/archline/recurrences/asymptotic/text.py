"""Terms, growth and arguments as text in the language's own syntax."""

from __future__ import annotations

from collections.abc import Iterable

from archline.algebra.product_text import power_text as written_power
from archline.algebra.product_text import quotient_text
from archline.numbers import fmpq
from archline.recurrences.asymptotic.exponents import Exponent, rational
from archline.recurrences.asymptotic.normal_form import Argument, CallSum, WeightedCall
from archline.recurrences.asymptotic.terms import Term


def growth_text(terms: Iterable[Term], size: str) -> str:
    """The sum of terms without their coefficients."""
    return " + ".join(kind_text(term, size) for term in terms) or "0"


def kind_text(term: Term, size: str) -> str:
    """A term without its coefficient."""
    return product_text(fmpq(1), _factors(term, size))


def term_text(term: Term, size: str) -> str:
    """A term with its coefficient."""
    return product_text(term.coefficient, _factors(term, size))


def terms_text(terms: Iterable[Term], size: str) -> str:
    """A sum of terms with their coefficients and signs."""
    return sum_text((term.coefficient, _factors(term, size)) for term in terms)


Factors = list[tuple[str, Exponent]]


def _factors(term: Term, size: str) -> Factors:
    factors = [(name, rational(power)) for name, power in term.symbols]
    log = f"log2({size})"
    return [*factors, (size, term.power), (log, term.log), (f"log2({log})", rational(term.loglog))]


def sum_text(terms: Iterable[tuple[fmpq, Factors]]) -> str:
    """Products with signs between them."""
    parts: list[str] = []
    for coefficient, factors in terms:
        text = product_text(abs(coefficient), factors)
        if parts:
            parts.append(f"{'-' if coefficient < 0 else '+'} {text}")
        else:
            parts.append(f"-{text}" if coefficient < 0 else text)
    return " ".join(parts) or "0"


def product_text(coefficient: fmpq, factors: Factors) -> str:
    """Powers multiplied, those with negative exponents below a bar."""
    above: list[str] = []
    below: list[str] = []
    for base, exponent in factors:
        if exponent.is_zero:
            continue
        if exponent.ball() < 0:
            below.append(power_text(base, exponent.times(fmpq(-1))))
        else:
            above.append(power_text(base, exponent))
    if coefficient != 1 or not above:
        above.insert(0, str(coefficient) if coefficient.q == 1 or not below else f"({coefficient})")
    return quotient_text(above, below)


def power_text(base: str, exponent: Exponent) -> str:
    """base^exponent."""
    return written_power(base, exponent.text())


def argument_text(argument: Argument, size: str) -> str:
    """The size of a call."""
    if argument.is_root:
        return power_text(size, rational(argument.root))
    ratio, offset = argument.ratio, argument.offset
    share = size if ratio.p == 1 else f"{ratio.p}*{size}"
    if ratio.q != 1:
        share += f"/{ratio.q}"
    if offset == 0:
        return share
    return f"{share} {'-' if offset < 0 else '+'} {abs(offset)}"


def call_text(call: WeightedCall, size: str) -> str:
    """A call with its weight."""
    weight = term_text(call.weight, size)
    text = f"{call.function}({argument_text(call.argument, size)})"
    return text if weight == "1" else f"{weight}*{text}"


def branch_text(branch: CallSum, size: str) -> str:
    """A branch as a sum."""
    calls = " + ".join(call_text(call, size) for call in branch.calls)
    if not branch.terms:
        return calls or "0"
    terms = terms_text(branch.terms, size)
    if not calls:
        return terms
    return f"{calls} - {terms[1:]}" if terms.startswith("-") else f"{calls} + {terms}"
