"""The growth of lower bounds on io for any schedule: of compulsory misses, and of HBL bounds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

from archline.algebra import atoms as a
from archline.algebra.facts import Facts
from archline.algebra.polynomial import ZERO, Monomial, Poly, Symbol
from archline.analysis.cost import AnyScheduleBound, Cost, Costs
from archline.cost_growth.forms import bound_below_without_differences, build_lower_growth
from archline.expr import build as b
from archline.ir.layout import LINE
from archline.language import syntax as s
from archline.numbers import fmpq
from archline.recurrences.exact.base_cases import relax_lower_bound


def find_any_schedule_growth(costs: Costs, cost: Cost, facts: Facts, *, touched: bool = False) -> s.Expr | None:
    """Return a lower bound on the growth of io that holds for any schedule, as an expression; None if there is none.

    With `touched`, it counts compulsory misses alone, with the HBL bounds that do not depend on Z.
    """
    bound = cost.any_schedule_bound
    if bound is None:
        return None
    terms = (*_iterate_compulsory_growths(costs, bound, facts), *_iterate_hbl_growths(costs, bound, facts, touched))
    return b.sum_terms((False, term) for term in terms) if terms else None


def list_facts_above_one(bound: AnyScheduleBound, sizes: Sequence[str], known: Facts) -> tuple[s.Fact, ...]:
    """List the facts that all `sizes` are at least 2, if a run of size 1 may touch no line: growth needs values > 0."""
    if bound.touches_a_line or not bound.touched or known.positive(bound.touched):
        return ()
    return b.lower_bound_facts(sizes, 2)


def _iterate_compulsory_growths(costs: Costs, bound: AnyScheduleBound, facts: Facts) -> Iterator[s.Expr]:
    """Yield lower bounds on the growth of the compulsory misses; 1 is among them if a line is touched at all sizes."""
    if bound.touches_a_line:
        yield b.ONE
    if not bound.touched:
        return
    for touched in dict.fromkeys((bound.touched, bound.simple_touched or bound.touched)):
        for value, divisor in _iterate_comparable_forms(touched, int(bound.touches_a_line), facts):
            count = bound_below_without_differences(costs, value, facts)
            if count is not None:
                yield b.divide_products([count], divisor)
                return
    if not bound.hbl_terms:
        yield build_lower_growth(costs, bound.touched, facts)


def _iterate_comparable_forms(touched: Poly, some: int, known: Facts) -> Iterator[tuple[Poly, list[s.Expr]]]:
    """Yield lower bounds on `touched` as pairs of a numerator and the factors of its divisor, the easiest first.

    `some` is the number of lines, 0 or 1, that are touched at all sizes; the last form does not add it.
    """
    relaxed, unrelaxed = (relax_lower_bound(value, known) for value in (_relax_line_floors(touched, known), touched))
    if relaxed != unrelaxed:
        # Words are easier to compare than words over L.
        yield (relaxed + some) * LINE, [b.name("L")]
    yield from ((unrelaxed + some, []), (unrelaxed, []))


def _relax_line_floors(value: Poly, known: Facts) -> Poly:
    """Return a lower bound on a value: each term with floor(e/L) is replaced by a bound without it, where possible."""
    total = ZERO
    for monomial, coefficient in value.terms.items():
        total = total + (_bound_term_below_without_floor(monomial, coefficient, known) or Poly({monomial: coefficient}))
    return total


def _bound_term_below_without_floor(monomial: Monomial, coefficient: fmpq, facts: Facts) -> Poly | None:
    """Return a lower bound on a term without its factor floor(e/L); None if it has no such factor or no such bound."""
    for atom, power in monomial:
        if not isinstance(atom, a.Floor) or atom.modulus != LINE or power < 1:
            continue
        rest = Poly({monomial: coefficient}) * Poly.of_atom(atom, -1)
        if coefficient < 0 and dict(monomial).get(Symbol("L"), 0) > 0 and facts.nonnegative(-rest):
            return rest * atom.argument * LINE**-1
        if coefficient > 0 and not facts.nonnegative(atom.argument) and facts.nonnegative(rest):
            return rest * ((atom.argument + 1) * LINE**-1 - 1)
    return None


def _iterate_hbl_growths(costs: Costs, bound: AnyScheduleBound, known: Facts, touched: bool) -> Iterator[s.Expr]:
    """Yield lower bounds on the growth of io, iterations/(L*Z^p), one for each power p among the HBL bounds.

    The iterations are those of all bounds with a power of at most p. 1 is added if every run touches a line. With
    `touched`, p = 0 only.
    """
    for power in sorted({term.power for term in bound.hbl_terms if not (touched and term.power)}):
        iterations = (term.iterations for term in bound.hbl_terms if term.power <= power)
        count = build_lower_growth(costs, sum(iterations, Poly.constant(int(bound.touches_a_line))), known)
        yield build_hbl_growth(count, power)


def sum_hbl_iterations(bound: AnyScheduleBound) -> dict[Fraction, Poly]:
    """Return for each power of Z above 0 the sum of the iterations of the HBL bounds with this power."""
    sums: dict[Fraction, Poly] = {}
    for term in sorted(bound.hbl_terms, key=lambda term: term.power):
        if term.power:
            sums[term.power] = sums.get(term.power, ZERO) + term.iterations
    return sums


def build_hbl_growth(count: s.Expr, power: Fraction) -> s.Expr:
    """Return the growth of an HBL bound, `count` iterations divided by L*Z^power."""
    return b.divide_products([count], [b.name("L"), *list_cache_power_factors(power)])


def list_cache_power_factors(power: Fraction) -> list[s.Expr]:
    """List the factor Z^power; empty if the power is 0."""
    return [b.power(b.name("Z"), b.number(power))] if power else []
