"""Proves that an expression of sizes is never negative, by quick proofs first, then by longer tactics.

If floors prevent a quick proof, cases on remainders are tried. `enumerate` and `handelman` have the tactics.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from math import prod
from typing import TypeAlias, cast

from archline.algebra import atoms as a
from archline.algebra.bounds import Bounds
from archline.algebra.effort import OutOfBudgetError, limit_effort
from archline.algebra.facts import Facts
from archline.algebra.polynomial import Atom, Poly, Symbol

MAX_RESIDUES = 8
MAX_NESTED_CASES = 3

_RemainderCase = tuple[Facts, Poly]


Tactic: TypeAlias = Callable[[Poly, Facts], bool]
"""A method that proves that a simplified value is never negative."""


def prove_never_negative(value: Poly, facts: Facts, tactics: Sequence[Tactic] = (), effort: int | None = None) -> bool:
    """Test whether the value is proved never negative, by a quick proof, or by tactics in order, which may take longer.

    `effort` limits the proof, in products of terms.
    """
    if effort is not None:
        try:
            with limit_effort(effort):
                return prove_never_negative(value, facts, tactics)
        except OutOfBudgetError:
            return False
    value = facts.simplify(value)
    if tactics:
        return not facts.refutes(value) and any(tactic(value, facts) for tactic in tactics)
    facts = facts.without_younger_symbols(value.names)
    proved = cast(dict[Poly, bool], facts.found.setdefault(prove_never_negative, {}))
    if value not in proved:
        proved[value] = not facts.refutes(value) and (
            facts.nonnegative(value)
            or _prove_by_residues(value, facts, MAX_NESTED_CASES)
            or ((multiplied := _clear_denominators(value, facts)) != value and prove_never_negative(multiplied, facts))
        )
    return proved[value]


def _clear_denominators(value: Poly, facts: Facts) -> Poly:
    """Return the value times its divisors if they are known to be positive, which keeps its sign: n/b - 1 -> n - b."""
    divisors: dict[Atom, int] = {}
    for monomial in value.terms:
        for atom, power in monomial:
            if power < 0:
                divisors[atom] = max(divisors.get(atom, 0), -power)
    if not all(facts.nonnegative(Poly.of_atom(divisor) - 1) for divisor in divisors):
        return value
    return prod((Poly.of_atom(divisor) ** power for divisor, power in divisors.items()), start=value)


def find_first_true(end: int, holds: Callable[[int], bool]) -> int | None:
    """Return the first of 0, ..., end - 1 from which on a monotone condition holds, or None.

    The last number is tried first: if nothing is known there, usually nothing is known of smaller ones.
    """
    if not holds(end - 1):
        return None
    return bisect_left(range(end - 1), True, key=holds)


def bounds_of_floor(atom: a.Floor) -> tuple[Poly, ...]:
    """Return nonnegative expressions from e - m + 1 <= m*floor(e/m) <= e for an integer e and a number m."""
    if not atom.modulus.is_constant or not a.is_integral(atom.argument):
        return ()
    multiple = Poly.of_atom(atom).scaled(atom.modulus.constant_term)
    return atom.argument - multiple, multiple + atom.modulus - 1 - atom.argument


def _prove_by_residues(value: Poly, facts: Facts, depth: int) -> bool:
    """Prove value >= 0 by writing a size as m*k + r for each r with 0 <= r < m, which resolves floors by m.

    At most `depth` such rewrites are nested.
    """
    divided = _find_floor_by_constant(value)
    if divided is None or not depth:
        return False
    name, modulus = divided
    if name not in facts.bounds:
        return False
    for residue in range(modulus):
        inner, written = _cached_remainder_case(facts, name, modulus, residue)
        case = inner.simplify(value.substitute({name: written}))
        if not (inner.nonnegative(case) or _prove_by_residues(case, inner, depth - 1)):
            return False
    return True


def _cached_remainder_case(facts: Facts, name: str, modulus: int, residue: int) -> _RemainderCase:
    cases = cast(dict[tuple[str, int, int], _RemainderCase], facts.found.setdefault(_cached_remainder_case, {}))
    case = name, modulus, residue
    if case not in cases:
        cases[case] = _with_remainder(facts, name, modulus, residue)
    return cases[case]


def _with_remainder(facts: Facts, name: str, modulus: int, residue: int) -> _RemainderCase:
    """Return the facts where the size `name` is replaced by modulus*k + residue, and that expression."""
    index = f"{name} // {modulus}"
    written = Poly.symbol(index).scaled(modulus) + residue

    def rewrite_bound(bound: Poly) -> Poly:
        return bound.substitute({name: written})

    bounds: dict[str, Bounds] = {}
    for old, limits in facts.bounds.items():
        if old == name:
            bounds[index] = Bounds(
                tuple(_divide_bound(bound - residue, modulus, upwards=True) for bound in limits.lower),
                tuple(_divide_bound(bound - residue, modulus, upwards=False) for bound in limits.upper),
            )
        else:
            bounds[old] = Bounds(tuple(map(rewrite_bound, limits.lower)), tuple(map(rewrite_bound, limits.upper)))
    return facts.with_bounds(bounds), written


def _divide_bound(bound: Poly, modulus: int, upwards: bool) -> Poly:
    if not bound.is_constant:
        return bound / modulus
    number = bound.constant_term / modulus
    return Poly.constant(int(number.ceil() if upwards else number.floor()))


def _find_floor_by_constant(value: Poly) -> tuple[str, int] | None:
    for atom in sorted(value.atoms(), key=str):
        if isinstance(atom, a.Floor) and atom.modulus.is_constant:
            modulus = int(atom.modulus.constant_term.p)
            for symbol in atom.argument.atoms():
                if isinstance(symbol, Symbol) and modulus <= MAX_RESIDUES:
                    return symbol.name, modulus
        for part in atom.parts:
            inner = _find_floor_by_constant(part)
            if inner is not None:
                return inner
    return None
