"""References of loops that begin or end at a remainder of counters around them, in a form that rows have in common.

    for i: for j in 1 + (i + color) % 2 .. m - 1 step 2: u[i, j] = ...        touches words 1 to m - 2 of row i at most

Where the columns of a row depend on a remainder, they are others in each row, and few closed forms are found. A bound
may take what lies between them too: floor(x/m) is x/m at most, and (x - m + 1)/m at least, so that counters cancel.
Iterations and places that are added make io no less.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from archline.algebra import atoms as a
from archline.algebra.polynomial import ZERO, Poly
from archline.analysis.io.accesses import Loop
from archline.analysis.io.footprint import Reference
from archline.analysis.io.layout import Interval


def eased(references: Sequence[Reference]) -> list[Reference] | None:
    """The references with simpler loops and places; None where nothing is simpler."""
    loops: dict[Loop, Loop] = {}
    found = [_reference(each, loops) for each in references]
    changed = any(one is not other for one, other in zip(found, references, strict=True))
    return found if changed else None


def _reference(reference: Reference, loops: dict[Loop, Loop]) -> Reference:
    counters: set[str] = set()
    chain = []
    for loop in reference.chain:
        chain.append(loops.setdefault(loop, _loop(loop, frozenset(counters))))
        counters.add(loop.variable)
    place = tuple(None if each is None else _interval(each, frozenset(counters)) for each in reference.place)
    if place == reference.place and all(one is other for one, other in zip(chain, reference.chain, strict=True)):
        return reference
    return replace(reference, place=place, chain=tuple(chain), _lines={}, _hulls={})


def _loop(loop: Loop, counters: frozenset[str]) -> Loop:
    hi, trips = (_bound(each, counters, True) for each in (loop.hi, loop.trips))
    lo = _bound(loop.lo, counters, False)
    return loop if (lo, hi, trips) == (loop.lo, loop.hi, loop.trips) else replace(loop, lo=lo, hi=hi, trips=trips)


def _interval(interval: Interval, counters: frozenset[str]) -> Interval:
    return _bound(interval[0], counters, False), _bound(interval[1], counters, True)


def _bound(value: Poly, counters: frozenset[str], upper: bool) -> Poly:
    """At most (`upper`) or at least a value, without floors of counters; the value where they stand in products."""
    found = ZERO
    for monomial, number in value.terms.items():
        term = Poly({monomial: number})
        if counters.isdisjoint(name for atom, _ in monomial if isinstance(atom, a.Floor) for name in atom.names):
            found = found + term
            continue
        match monomial:
            case ((a.Floor(argument=argument, modulus=modulus), 1),) if modulus.is_constant:
                rises = upper == (number > 0)
                inner = _bound(argument, counters, rises)
                found = found + (inner if rises else inner - modulus + 1).scaled(number / modulus.constant_term)
            case _:
                return value
    return found
