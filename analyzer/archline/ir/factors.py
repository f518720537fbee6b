"""Count the steps by which a value reaches another one if each multiplies it, or divides it, by a number."""

from __future__ import annotations

from archline.algebra import atoms as a
from archline.algebra.facts import Facts
from archline.algebra.polynomial import Poly


def count_multiplications(start: Poly, end: Poly, factor: int, facts: Facts) -> Poly:
    """Count the k from 0 on with start*factor^k < end, for whole numbers, start at least 1."""
    return ceil_log(Poly.constant(factor), a.ceil_div(end, start), facts)


def count_divisions(start: Poly, least: Poly, factor: int, facts: Facts) -> Poly:
    """Count the k from 0 on with floor(start/factor^k) >= least, for whole numbers, least at least 1."""
    return ceil_log(Poly.constant(factor), a.floor_div(start, least) + 1, facts)


def ceil_log(base: Poly, value: Poly, facts: Facts) -> Poly:
    """Return ceil(log(value)) to a constant base from 2 on, and 0 for values below 1.

    It is also the number of k >= 0 with base^k < value, so that x^(2^k) < y for those k with 2^k < ceil(log_x(y)).
    """
    return facts.simplify(a.make_sequence_term("ceil_log", facts.simplify(value), base))
