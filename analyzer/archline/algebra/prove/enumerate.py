"""Proofs by trying every value, where the facts leave only a few."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import prod

from archline.algebra import atoms as a
from archline.algebra.bounds import Bounds
from archline.algebra.evaluate.compiled import Compiler, Number
from archline.algebra.facts import Facts
from archline.algebra.polynomial import ZERO, Atom, Poly, Symbol
from archline.algebra.prove.binades import holds_in_binades
from archline.algebra.prove.powers import holds_beside_power
from archline.algebra.prove.residues import never_negative
from archline.expr.intervals import EvaluationError

MAX_POINTS = 5_000


def holds_everywhere(value: Poly, facts: Facts) -> bool:
    """Whether the value is proved to be at least 0: by algebra, or at each of a few sizes that the facts allow."""
    value = facts.simplify(value)
    return not facts.refutes(value) and holds_simplified(value, facts)


def holds_simplified(value: Poly, facts: Facts) -> bool:
    """The same, of a simplified value that is not known to be below 0 somewhere."""
    ranges = _ranges(value, facts)
    if ranges is not None and (prod(map(len, ranges.values())) <= 1 or all(map(_plain, value.atoms()))):
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
    return [dict(zip(ranges, values, strict=True)) for values in product(*ranges.values())]


def _at_all(value: Poly, ranges: dict[str, range]) -> bool:
    try:
        return all(number >= 0 for number in _numbers(value, ranges))
    except EvaluationError:
        return False


def _numbers(value: Poly, ranges: dict[str, range]) -> Iterator[Number]:
    """The value at every point. Raises EvaluationError."""
    compiler = Compiler(ranges)
    compute = compiler.of(value)
    for numbers in product(*ranges.values()):
        yield compute(compiler.environment(numbers))


def _plain(atom: Atom) -> bool:
    """Whether it is a size, or the logarithm of a sum of sizes."""
    return isinstance(atom, Symbol) or (
        isinstance(atom, a.CeilLog2)
        and all(isinstance(each, Symbol) for each in atom.argument.atoms())
        and all(each.q == 1 for each in atom.argument.terms.values())
    )
