"""The growth of lower bounds on io for any schedule: of compulsory misses, and of HBL bounds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

from archline.algebra import atoms as a
from archline.algebra.facts import Facts
from archline.algebra.polynomial import ZERO, Monomial, Poly, Symbol
from archline.analysis.cost import AnyScheduleBound, Cost, Costs
from archline.cost_growth.forms import at_least, without_differences
from archline.expr import build as b
from archline.ir.layout import LINE
from archline.language import syntax as s
from archline.numbers import fmpq
from archline.recurrences.exact.base_cases import growth_lower_bound


def io_growth_lower_bound(costs: Costs, cost: Cost, facts: Facts, *, touched: bool = False) -> s.Expr | None:
    """Bound the growth of io over all schedules from below; with `touched`, of compulsory misses alone.

    None without a bound.
    """
    bound = cost.orderless
    if bound is None:
        return None
    terms = (*_compulsory_growths(costs, bound, facts), *_hbl_growths(costs, bound, facts, touched))
    return b.sum_terms((False, term) for term in terms) if terms else None


def above_one(bound: AnyScheduleBound, sizes: Sequence[str], known: Facts) -> tuple[s.Fact, ...]:
    """Require sizes of at least 2 if nothing may be touched at size 1, as growth needs positive values."""
    if bound.some or not bound.touched or known.positive(bound.touched):
        return ()
    return b.lower_bound_facts(sizes, 2)


def _compulsory_growths(costs: Costs, bound: AnyScheduleBound, facts: Facts) -> Iterator[s.Expr]:
    if bound.some:
        yield b.ONE
    if not bound.touched:
        return
    for touched in dict.fromkeys((bound.touched, bound.plain or bound.touched)):
        for value, over in _forms(touched, int(bound.some), facts):
            count = without_differences(costs, value, facts)
            if count is not None:
                yield b.divide_products([count], over)
                return
    if not bound.floors:
        yield at_least(costs, bound.touched, facts)


def _forms(touched: Poly, some: int, known: Facts) -> Iterator[tuple[Poly, list[s.Expr]]]:
    """Yield forms of the touched lines that are easy to compare, each with its divisor; 1 is added if `some`."""
    relaxed, plain = (growth_lower_bound(value, known) for value in (_relax_floors(touched, known), touched))
    if relaxed != plain:
        # Words are easier to compare than words over L.
        yield (relaxed + some) * LINE, [b.name("L")]
    yield from ((plain + some, []), (plain, []))


def _relax_floors(value: Poly, known: Facts) -> Poly:
    """Bound a value from below without floors by L in its terms."""
    total = ZERO
    for monomial, coefficient in value.terms.items():
        total = total + (_floor_free_bound(monomial, coefficient, known) or Poly({monomial: coefficient}))
    return total


def _floor_free_bound(monomial: Monomial, coefficient: fmpq, facts: Facts) -> Poly | None:
    """Bound a term with floor(e/L) from below without the floor; None if that is not possible."""
    for atom, power in monomial:
        if not isinstance(atom, a.Floor) or atom.modulus != LINE or power < 1:
            continue
        rest = Poly({monomial: coefficient}) * Poly.of_atom(atom, -1)
        if coefficient < 0 and dict(monomial).get(Symbol("L"), 0) > 0 and facts.nonnegative(-rest):
            return rest * atom.argument * LINE**-1
        if coefficient > 0 and not facts.nonnegative(atom.argument) and facts.nonnegative(rest):
            return rest * ((atom.argument + 1) * LINE**-1 - 1)
    return None


def _hbl_growths(costs: Costs, bound: AnyScheduleBound, known: Facts, touched: bool) -> Iterator[s.Expr]:
    """Yield the growths of HBL bounds by power of Z, bodies of equal or lower power summed.

    Includes 1 if any line is touched, as some bodies have no iterations at small sizes.
    """
    for power in sorted({floor.power for floor in bound.floors if not (touched and floor.power)}):
        some = (floor.iterations for floor in bound.floors if floor.power <= power)
        count = at_least(costs, sum(some, Poly.constant(int(bound.some))), known)
        yield per_line(count, power)


def sum_hbl_iterations(bound: AnyScheduleBound) -> dict[Fraction, Poly]:
    """Sum the iterations of the bodies with HBL bounds of one power of Z, for each power above 0."""
    sums: dict[Fraction, Poly] = {}
    for floor in sorted(bound.floors, key=lambda floor: floor.power):
        if floor.power:
            sums[floor.power] = sums.get(floor.power, ZERO) + floor.iterations
    return sums


def per_line(count: s.Expr, power: Fraction) -> s.Expr:
    """Divide a count by L*Z^power."""
    return b.divide_products([count], [b.name("L"), *power_of_words(power)])


def power_of_words(power: Fraction) -> list[s.Expr]:
    """List Z^power as a factor; empty if it is 1."""
    return [b.power(b.name("Z"), b.number(power))] if power else []
