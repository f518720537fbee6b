"""Proofs by trying every value, where the facts leave only a few."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import lcm, prod
from typing import Any

from archline.algebra import atoms as a
from archline.algebra.bounds import Bounds
from archline.algebra.evaluate.exact import EvaluationError, evaluate
from archline.algebra.facts import Facts
from archline.algebra.polynomial import ZERO, Atom, Poly, Symbol
from archline.algebra.prove.binades import holds_in_binades
from archline.algebra.prove.powers import holds_beside_power
from archline.algebra.prove.residues import never_negative

MAX_POINTS = 5_000
MAX_INTEGER = 1 << 62
Integers = Any
"""An array of integers of numpy, which takes long to import and is needed for few programs only."""


def holds_everywhere(value: Poly, facts: Facts) -> bool:
    """Whether the value is proved to be at least 0: by algebra, or at each of a few sizes that the facts allow."""
    value = facts.simplify(value)
    return not facts.refutes(value) and holds_simplified(value, facts)


def holds_simplified(value: Poly, facts: Facts) -> bool:
    """The same, of a simplified value that is not known to be below 0 somewhere."""
    ranges = _ranges(value, facts)
    if ranges is not None and prod(map(len, ranges.values())) <= 1:
        return _at_all(value, ranges)
    if ranges is not None and _integers(value, ranges) is not None:
        return _at_all(value, ranges)
    return (
        holds_in_binades(value, facts)
        or holds_beside_power(value, facts)
        or never_negative(value, facts)
        or (ranges is not None and _at_all(value, ranges))
    )


def _ranges(value: Poly, facts: Facts) -> dict[str, range] | None:
    """The values of every symbol between constant bounds; None where one has no such bounds or there are too many."""
    found: dict[str, range] = {}
    for name in sorted(value.names):
        known = facts.bounds.get(name, Bounds())
        if known.least is None or known.most is None:
            return None
        found[name] = range(known.least, known.most + 1)
        if prod(map(len, found.values())) > MAX_POINTS:
            return None
    return found


def points(facts: Facts, names: frozenset[str], most: int) -> list[dict[str, int]] | None:
    """The values that the facts allow of some symbols; None where they are more than `most`, or not all of them."""
    ranges = _ranges(sum(map(Poly.symbol, sorted(names)), ZERO), facts)
    if ranges is None or prod(map(len, ranges.values())) > most or not names.isdisjoint(facts.rewrites):
        return None
    return list(_points(ranges))


def counterexamples(value: Poly, facts: Facts) -> Iterator[dict[str, int]]:
    """The sizes at which the value is below 0, where the facts leave only a few."""
    value = facts.simplify(value)
    ranges = _ranges(value, facts)
    if ranges is None:
        return
    found = _integers(value, ranges)
    if found is None:
        yield from (point for point in _points(ranges) if evaluate(value, point) < 0)
        return
    numbers, points = found
    for index in (numbers < 0).nonzero()[0]:
        yield {name: int(each[index]) for name, each in points.items()}


def _at_all(value: Poly, ranges: dict[str, range]) -> bool:
    try:
        found = _integers(value, ranges)
        if found is not None:
            return bool((found[0] >= 0).all())
        return all(evaluate(value, point) >= 0 for point in _points(ranges))
    except EvaluationError:
        return False


def _integers(value: Poly, ranges: dict[str, range]) -> tuple[Integers, dict[str, Integers]] | None:
    """A multiple of the value at every point, exact, and the points; None for more than sizes and logarithms."""
    if not ranges or not all(_plain(atom) for atom in value.atoms()):
        return None
    import numpy as np

    scale = lcm(*(int(each.q) for each in value.terms.values()))
    grid = np.meshgrid(*(np.arange(each.start, each.stop, dtype=np.int64) for each in ranges.values()), indexing="ij")
    points = {name: each.reshape(-1) for name, each in zip(ranges, grid, strict=True)}
    factors = {atom: _at(atom, points) for atom in value.atoms()}
    most = {atom: int(np.abs(each).max(initial=0)) for atom, each in factors.items()}
    total = np.zeros(len(next(iter(points.values()))), dtype=np.int64)
    reach = 0
    for monomial, coefficient in value.terms.items():
        number = int((coefficient * scale).p)
        reach += abs(number) * prod(max(most[atom], 1) ** power for atom, power in monomial)
        if reach > MAX_INTEGER and total.dtype != object:
            # Python's own integers from here on.
            factors = {atom: each.astype(object) for atom, each in factors.items()}
            total = total.astype(object)
        term = np.full_like(total, number)
        for atom, power in monomial:
            term = term * factors[atom] ** power
        total = total + term
    return total, points


def _plain(atom: Atom) -> bool:
    return isinstance(atom, Symbol) or (
        isinstance(atom, a.CeilLog2)
        and all(isinstance(each, Symbol) for each in atom.argument.atoms())
        and all(each.q == 1 for each in atom.argument.terms.values())
    )


def _at(atom: Atom, points: dict[str, Integers]) -> Integers:
    if isinstance(atom, a.CeilLog2):
        import numpy as np

        argument = np.zeros_like(next(iter(points.values())))
        for monomial, coefficient in atom.argument.terms.items():
            term = np.full_like(argument, int(coefficient.p))
            for each, power in monomial:
                term *= points[each.key] ** power
            argument += term
        return np.array([max(0, int(each) - 1).bit_length() for each in argument], dtype=np.int64)
    return points[atom.key]


def _points(ranges: dict[str, range]) -> Iterator[dict[str, int]]:
    for values in product(*ranges.values()):
        yield dict(zip(ranges, values, strict=True))
