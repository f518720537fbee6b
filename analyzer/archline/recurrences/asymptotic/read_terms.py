"""Expressions without recursive calls as sums of log-exp-power terms in one size."""

from __future__ import annotations

from archline.algebra.reals import Constant, OutOfReachError
from archline.growth.normal_form import expand
from archline.language import syntax as s
from archline.language.printer import format_expression
from archline.numbers import fmpq
from archline.records import replace
from archline.recurrences.asymptotic.terms import Term, leading, multiplied, order, power, summed

Terms = tuple[Term, ...]
MAX_EXPANDED = 8


class TermReader:
    """Reads expressions in the size `size`; other names are symbols, at least 1."""

    def __init__(self, size: str) -> None:
        self._size = size

    def read(self, expr: s.Expr) -> Terms:
        """The sum of terms. Raises OutOfReachError."""
        found: list[Term] = []
        for product, coefficient in expand(expr).items():
            rational = coefficient.is_rational
            terms: Terms = (Term(coefficient.rational if rational else fmpq(coefficient.sign()), exact=rational),)
            for factor, exponent in product.powers.items():
                terms = multiplied(terms, self._raised(factor.expr, exponent))
            found += terms
        return summed(found)

    def _raised(self, base: s.Expr, exponent: Constant) -> Terms:
        """A power of what is no product of powers itself."""
        match base:
            case s.Name(id=name) if name == self._size:
                return (Term(fmpq(1), power(0, exponent)),)
            case s.Name(id=name):
                terms: Terms = (Term(fmpq(1), symbols=((name, fmpq(1)),)),)
            case s.Call(function=function, arguments=arguments):
                terms = self._call(base, function, arguments)
            case s.Binary(op="+" | "-" | "*" | "/") | s.Unary():
                terms = self.read(base)
            case s.Binary(op="^", right=varying):
                raise OutOfReachError(f"an exponent that varies: {format_expression(varying)}")
            case _:
                raise OutOfReachError(f"`{format_expression(base)}` is no term of logarithms and powers")
        if not exponent.is_rational:
            raise OutOfReachError(f"an irrational power of something other than {self._size} alone")
        return self.power(terms, exponent.rational)

    def power(self, terms: Terms, exponent: fmpq) -> Terms:
        """A power of a sum: multiplied out where that is short, else a term of the same growth."""
        if len(terms) == 1:
            return (terms[0].to_the(exponent),)
        if not terms:
            if exponent > 0:
                return ()
            raise OutOfReachError("division by zero")
        if exponent.q == 1 and 0 <= exponent.p <= MAX_EXPANDED:
            found: Terms = (Term(fmpq(1)),)
            for _ in range(int(exponent.p)):
                found = multiplied(found, terms)
            return found
        if exponent < 0:
            _no_difference(terms)
        return _alike(tuple(each.to_the(exponent) for each in _lead(terms)))

    def _call(self, expr: s.Expr, function: str, arguments: tuple[s.Expr, ...]) -> Terms:
        given = [self.read(each) for each in arguments]
        match function, given:
            case "log2", [terms]:
                return self._log(terms)
            case "log", [terms]:
                return _alike(self._log(terms))
            case "min", _:
                return self._least(given)
            case "max", _:
                return _alike(tuple(term for terms in given for term in _lead(terms)))
            case "ceil", [terms]:
                # At least 1 where its argument is positive.
                return _alike(leading((*_lead(terms), Term(fmpq(1)))))
            case _:
                raise OutOfReachError(f"`{format_expression(expr)}`: {function} is not treated")

    def _log(self, terms: Terms) -> Terms:
        """The logarithm of a sum, in growth that of its fastest term.

        Exact for that of the size, or of its logarithm: log2(2 + n^2) is not 2*log2(2 + n).
        """
        _no_difference(terms)
        term, *others = _lead(terms)
        if others or (term.symbols and term.varies):
            raise OutOfReachError("a logarithm of sizes and symbols together")
        if term.symbols:
            return self._log_of_symbols(term)
        if not term.varies:
            return (Term(fmpq(1), exact=False),)
        place, first = next((place, each) for place, each in enumerate(term.powers) if each)
        if first.sign() < 0:
            # The logarithm of 2 plus something small.
            return (Term(fmpq(1), exact=False),)
        alone = terms == (Term(fmpq(1), power(place)),)
        return (Term(first.rational if first.is_rational else fmpq(1), power(place + 1), exact=alone),)

    def _log_of_symbols(self, term: Term) -> Terms:
        if len(term.symbols) > 1 or term.symbols[0][1] <= 0:
            raise OutOfReachError("a logarithm of several symbols")
        ((name, power),) = term.symbols
        return (Term(power, symbols=((f"log2({name})", fmpq(1)),), exact=term.coefficient == power == 1),)

    def _least(self, alternatives: list[Terms]) -> Terms:
        found: Term | None = None
        for terms in alternatives:
            term, *others = _lead(terms)
            if others or term.symbols:
                raise OutOfReachError("a minimum with symbols")
            if found is None or order(term, found) < 0:
                found = term
        assert found is not None
        return _alike((found,))


def _no_difference(terms: Terms) -> None:
    """Raise OutOfReachError where a minus sign may bring a sum to 0."""
    if any(term.coefficient < 0 for term in terms):
        raise OutOfReachError("a function of a difference")


def _lead(terms: Terms) -> Terms:
    """What a sum grows as. Raises OutOfReachError where a minus sign leaves that open."""
    lead = leading(terms)
    if any(term.coefficient < 0 for term in terms):
        kinds = {each.kind for each in lead}
        if len(lead) != 1 or any(term.coefficient < 0 for term in terms if term.kind in kinds) or lead[0].symbols:
            raise OutOfReachError("a function of a difference")
    if not lead:
        raise OutOfReachError("a function of 0")
    known = {term.kind: term for term in terms}
    return tuple(known[each.kind] for each in lead)


def _alike(terms: Terms) -> Terms:
    """The terms as a stand-in for something that grows alike."""
    return tuple(replace(each, exact=False) for each in leading(terms))
