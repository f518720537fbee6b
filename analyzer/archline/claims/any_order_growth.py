"""io in any order of the same iterations, as an expression that it is Omega of at every size and Z >= L >= 1."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

from archline.algebra import atoms as a
from archline.algebra.facts import Facts
from archline.algebra.polynomial import ZERO, Monomial, Poly, Symbol
from archline.analysis.cost import AnyScheduleBound, Cost, Costs
from archline.claims.growth import at_least, without_differences
from archline.expr import build as b
from archline.ir.layout import LINE
from archline.language import syntax as s
from archline.numbers import fmpq
from archline.recurrences.exact.base_cases import growing


def least(costs: Costs, cost: Cost, known: Facts, *, touched: bool = False) -> s.Expr | None:
    """An expression that io in any order is Omega of; only what is `touched` where that is wanted.

    None where there is none.
    """
    found = cost.orderless
    if found is None:
        return None
    terms = (*_touched(costs, found, known), *_floors(costs, found, known, touched))
    return b.total((False, each) for each in terms) if terms else None


def above_one(found: AnyScheduleBound, sizes: Sequence[str], known: Facts) -> tuple[s.Fact, ...]:
    """Sizes from 2 on, where nothing may be touched at 1: growth is of what is positive."""
    if found.some or not found.touched or known.positive(found.touched):
        return ()
    return b.least(sizes, 2)


def _touched(costs: Costs, found: AnyScheduleBound, known: Facts) -> Iterator[s.Expr]:
    if found.some:
        yield b.ONE
    if not found.touched:
        return
    for touched in dict.fromkeys((found.touched, found.plain or found.touched)):
        for value, over in _forms(touched, int(found.some), known):
            count = without_differences(costs, value, known)
            if count is not None:
                yield b.quotient([count], over)
                return
    if not found.floors:
        yield at_least(costs, found.touched, known)


def _forms(touched: Poly, some: int, known: Facts) -> Iterator[tuple[Poly, list[s.Expr]]]:
    """What is touched in forms to be compared, and what each is divided by; with 1 where there is `some`."""
    relaxed, plain = (growing(each, known) for each in (_without_floors(touched, known), touched))
    if relaxed != plain:
        # Words are easier to compare than words over L.
        yield (relaxed + some) * LINE, [b.name("L")]
    yield from ((plain + some, []), (plain, []))


def _without_floors(value: Poly, known: Facts) -> Poly:
    """No more than a value: e for L*floor(e/L) where that is subtracted, and (e + 1)/L - 1 for one that may be -1."""
    total = ZERO
    for monomial, coefficient in value.terms.items():
        total = total + (_less(monomial, coefficient, known) or Poly({monomial: coefficient}))
    return total


def _less(monomial: Monomial, coefficient: fmpq, known: Facts) -> Poly | None:
    """No more than a term with a floor(e/L) that is easier to compare; None where there is none."""
    for atom, power in monomial:
        if not isinstance(atom, a.Floor) or atom.modulus != LINE or power < 1:
            continue
        rest = Poly({monomial: coefficient}) * Poly.of_atom(atom, -1)
        if coefficient < 0 and dict(monomial).get(Symbol("L"), 0) > 0 and known.nonnegative(-rest):
            return rest * atom.argument * LINE**-1
        if coefficient > 0 and not known.nonnegative(atom.argument) and known.nonnegative(rest):
            return rest * ((atom.argument + 1) * LINE**-1 - 1)
    return None


def _floors(costs: Costs, found: AnyScheduleBound, known: Facts, touched: bool) -> Iterator[s.Expr]:
    """What the iterations of bodies fetch, those together that fetch as much each.

    Others that fetch more each may be added, and 1 where any line is touched: at small sizes some bodies have no
    iterations.
    """
    for power in sorted({each.power for each in found.floors if not (touched and each.power)}):
        some = (each.iterations for each in found.floors if each.power <= power)
        count = at_least(costs, sum(some, Poly.constant(int(found.some))), known)
        yield per_line(count, power)


def per_line(count: s.Expr, power: Fraction) -> s.Expr:
    """A count over L*Z^power."""
    return b.quotient([count], [b.name("L"), *power_of_words(power)])


def power_of_words(power: Fraction) -> list[s.Expr]:
    """Z^power as a factor, unless it is 1."""
    return [b.power(b.name("Z"), b.number(power))] if power else []
