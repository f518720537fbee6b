"""Whether an expression of sizes is never negative: the prover, which tries quick proofs first, then longer tactics.

Where floors stand in the way a quick proof is by cases on remainders. `enumerate` and `handelman` have the tactics.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from math import prod
from typing import TypeAlias, cast

from archline.algebra import atoms as a
from archline.algebra.bounds import Bounds
from archline.algebra.effort import OutOfBudgetError, budget
from archline.algebra.facts import Facts
from archline.algebra.polynomial import Atom, Poly, Symbol

MAX_RESIDUES = 8
MAX_RESOLVED = 3

_Resolved = tuple[Facts, Poly]


Tactic: TypeAlias = Callable[[Poly, Facts], bool]
"""A way to prove that a simplified value is never negative."""


def never_negative(value: Poly, facts: Facts, tactics: Sequence[Tactic] = (), effort: int | None = None) -> bool:
    """Whether the value is proved never negative: at once, or by tactics, the quick ones first, which may take longer.

    `effort` limits the proof, in products of terms.
    """
    if effort is not None:
        try:
            with budget(effort):
                return never_negative(value, facts, tactics)
        except OutOfBudgetError:
            return False
    value = facts.simplify(value)
    if tactics:
        return not facts.refutes(value) and any(tactic(value, facts) for tactic in tactics)
    facts = facts.oldest(value.names)
    known = cast(dict[Poly, bool], facts.found.setdefault(never_negative, {}))
    if value not in known:
        known[value] = not facts.refutes(value) and (
            facts.nonnegative(value)
            or _by_residues(value, facts, MAX_RESOLVED)
            or ((whole := _without_quotients(value, facts)) != value and never_negative(whole, facts))
        )
    return known[value]


def _without_quotients(value: Poly, facts: Facts) -> Poly:
    """The value times the sizes that it is divided by, where these are positive: of the same sign."""
    divisors: dict[Atom, int] = {}
    for monomial in value.terms:
        for atom, power in monomial:
            if power < 0:
                divisors[atom] = max(divisors.get(atom, 0), -power)
    if not all(facts.nonnegative(Poly.of_atom(each) - 1) for each in divisors):
        return value
    return prod((Poly.of_atom(each) ** power for each, power in divisors.items()), start=value)


def first(end: int, holds: Callable[[int], bool]) -> int | None:
    """The first of 0, ..., end - 1 at which something holds that then holds from there on; None where there is none.

    What is not known of the last of them, which is the least to ask, is mostly known of none.
    """
    if not holds(end - 1):
        return None
    return bisect_left(range(end - 1), True, key=holds)


def of_floor(atom: a.Floor) -> tuple[Poly, ...]:
    """What is never negative about the floor of an integer e by a number m: e - m + 1 <= m*floor(e/m) <= e."""
    if not atom.modulus.is_constant or not a.is_integral(atom.argument):
        return ()
    times = Poly.of_atom(atom).scaled(atom.modulus.constant_term)
    return atom.argument - times, times + atom.modulus - 1 - atom.argument


def _by_residues(value: Poly, facts: Facts, depth: int) -> bool:
    """Write a size as m*k + r for each r in 0..m, which resolves floors by m."""
    found = _floor_by_constant(value)
    if found is None or not depth:
        return False
    name, modulus = found
    if name not in facts.bounds:
        return False
    for residue in range(modulus):
        inner, written = _remembered(facts, name, modulus, residue)
        case = inner.simplify(value.substitute({name: written}))
        if not (inner.nonnegative(case) or _by_residues(case, inner, depth - 1)):
            return False
    return True


def _remembered(facts: Facts, name: str, modulus: int, residue: int) -> _Resolved:
    known = cast(dict[tuple[str, int, int], _Resolved], facts.found.setdefault(_remembered, {}))
    case = name, modulus, residue
    if case not in known:
        known[case] = _with_remainder(facts, name, modulus, residue)
    return known[case]


def _with_remainder(facts: Facts, name: str, modulus: int, residue: int) -> _Resolved:
    """The facts where the size `name` is modulus*k + residue, k in its place; and that expression."""
    index = f"{name} // {modulus}"
    written = Poly.symbol(index).scaled(modulus) + residue

    def moved(bound: Poly) -> Poly:
        return bound.substitute({name: written})

    bounds: dict[str, Bounds] = {}
    for old, known in facts.bounds.items():
        if old == name:
            bounds[index] = Bounds(
                tuple(_quotient(bound - residue, modulus, upwards=True) for bound in known.lower),
                tuple(_quotient(bound - residue, modulus, upwards=False) for bound in known.upper),
            )
        else:
            bounds[old] = Bounds(tuple(map(moved, known.lower)), tuple(map(moved, known.upper)))
    return facts.with_bounds(bounds), written


def _quotient(bound: Poly, modulus: int, upwards: bool) -> Poly:
    if not bound.is_constant:
        return bound / modulus
    number = bound.constant_term / modulus
    return Poly.constant(int(number.ceil() if upwards else number.floor()))


def _floor_by_constant(value: Poly) -> tuple[str, int] | None:
    for atom in sorted(value.atoms(), key=str):
        if isinstance(atom, a.Floor) and atom.modulus.is_constant:
            modulus = int(atom.modulus.constant_term.p)
            for symbol in atom.argument.atoms():
                if isinstance(symbol, Symbol) and modulus <= MAX_RESIDUES:
                    return symbol.name, modulus
        for part in atom.parts:
            found = _floor_by_constant(part)
            if found is not None:
                return found
    return None
