"""Proofs for few values, each tried, and for one size with its logarithm, binade by binade.

One size n and its logarithm: n = t*2^k with 1/2 < t <= 1. With k = ceil(log2(n)) a term c*n^i*k^j*b^k is c*t^i * k^j *
(2^i*b)^k. Between two values of t it is at least what one of them gives, and a sum of terms c*k^j*B^k is decided
exactly: it is checked at each k up to where its leading term outweighs the others for good.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import lcm, prod

from archline.algebra import atoms as a
from archline.algebra.bounds import Bounds
from archline.algebra.evaluate.compiled import Compiler, Number
from archline.algebra.evaluate.exact import evaluate
from archline.algebra.facts import Facts
from archline.algebra.polynomial import ZERO, Atom, Poly, Symbol
from archline.algebra.prove.prover import never_negative
from archline.expr.intervals import EvaluationError
from archline.numbers import fmpq
from archline.records import record

MAX_MODULUS = 24
MAX_SPLITS = 5
MAX_CHECKS = 400
MAX_FIRST = 64
MAX_POINTS = 5_000


@record
class _Term:
    """c * w^i * k^j * b^k, with w = t*2^k."""

    coefficient: fmpq
    size: int
    logs: int
    base: fmpq

    @property
    def growth(self) -> fmpq:
        """What the term is multiplied by as k grows by 1 and t stays."""
        return self.base * fmpq(2) ** self.size


def holds_in_binades(value: Poly, facts: Facts) -> bool:
    """Whether value >= 0 is proved for an expression of one size, its logarithm, and powers of numbers to it."""
    names = [name for name in value.names if name in facts.bounds]
    if len(names) != 1 or value.names != set(names):
        return False
    name = names[0]
    least = facts.bounds[name].least
    if least is None:
        return False
    if _is_exponent(value, name):
        terms = _terms(value, name, 0)
        return terms is not None and _sum_nonnegative([(t.coefficient, t.logs, t.base) for t in terms], least)
    shift, modulus = _shift(value, name), _period(value)
    if shift is None or modulus > MAX_MODULUS or not _first_sizes(value, name, least, 1 - shift):
        return False
    least = max(least, 1 - shift)
    for case in _without_floors(value, name, modulus):
        terms = _terms(case, name, shift)
        if terms is None or not _all_binades(terms, least + shift):
            return False
    return True


def _first_sizes(value: Poly, name: str, least: int, start: int) -> bool:
    """Whether value >= 0 at the sizes below `start`, where the logarithm is of less than 1; False for too many."""
    try:
        return start - least <= MAX_FIRST and all(evaluate(value, {name: size}) >= 0 for size in range(least, start))
    except EvaluationError:
        return False


def _is_exponent(value: Poly, name: str) -> bool:
    """Whether the symbol stands in exponents and in no logarithm."""
    atoms = list(value.atoms_within())
    return any(isinstance(each, a.Exponential) and each.exponent == Poly.symbol(name) for each in atoms) and not any(
        isinstance(each, a.CeilLog2 | a.Floor) for each in atoms
    )


def _shift(value: Poly, name: str) -> int | None:
    """The s of the one logarithm ceil(log2(n + s)) that occurs, 0 where none does; None for others."""
    shifts = {each.argument - Poly.symbol(name) for each in value.atoms_within() if isinstance(each, a.CeilLog2)}
    if len(shifts) > 1 or not all(each.is_constant and each.constant_term.q == 1 for each in shifts):
        return None
    return int(next(iter(shifts)).constant_term.p) if shifts else 0


def _period(value: Poly) -> int:
    """A number after which the remainders repeat that the floors of n depend on; too large where there is none."""
    periods = [1]
    for atom in value.atoms():
        if isinstance(atom, a.Floor):
            divisor = atom.modulus.constant_term if atom.modulus.is_constant else fmpq(0)
            if divisor.q != 1 or divisor < 1 or any(each.q != 1 for each in atom.argument.terms.values()):
                return MAX_MODULUS + 1
            periods.append(int(divisor.p) * _period(atom.argument))
        elif any(isinstance(each, a.Floor) for part in atom.parts for each in part.atoms_within()):
            return MAX_MODULUS + 1
    return lcm(*periods)


def _without_floors(value: Poly, name: str, modulus: int) -> Iterator[Poly]:
    """The value for each remainder of n by the modulus, with floors of n by numbers as fractions."""
    for residue in range(modulus):

        def flat(atom: Atom, residue: int = residue) -> Poly | None:
            if not isinstance(atom, a.Floor):
                return None
            inner = atom.argument.map_atoms(flat)
            rest = atom.argument.substitute({name: Poly.constant(residue)}).constant_term
            divisor = atom.modulus.constant_term
            return (inner - (rest - (rest / divisor).floor() * divisor)) / divisor

        yield value.map_atoms(flat)


def _terms(value: Poly, name: str, shift: int) -> list[_Term] | None:
    """The value in w = n + shift, its logarithm k, and powers to k; for an exponent n itself is k."""
    exponent = _is_exponent(value, name)
    level = Poly.symbol(name) if exponent else Poly.of_atom(a.CeilLog2(Poly.symbol(name) + shift))
    moved = value if not shift else _with_size(value, name, shift)
    found = []
    for monomial, coefficient in moved.terms.items():
        size, logs, base = 0, 0, fmpq(1)
        for atom, power in monomial:
            match atom:
                case Symbol() if exponent:
                    logs += power
                case Symbol():
                    size += power
                case a.CeilLog2() if Poly.of_atom(atom) == level:
                    logs += power
                case a.Exponential() if atom.exponent == level:
                    base *= fmpq(atom.base) ** power
                case _:
                    return None
        if size < 0 or logs < 0:
            return None
        found.append(_Term(coefficient, size, logs, base))
    return found


def _with_size(value: Poly, name: str, shift: int) -> Poly:
    """Plain occurrences of n as w - shift; those in logarithms stay."""
    moved = Poly.symbol(name) - shift
    return value.map_atoms(lambda atom: moved if isinstance(atom, Symbol) else None)


def _all_binades(terms: list[_Term], least: int) -> bool:
    """From w = least on: the binade that it lies in from there only, the others whole."""
    if least == 1:
        # The binade of 1 is 1 alone, with a logarithm of 0.
        alone = sum((t.coefficient * (t.base**0 if not t.logs else fmpq(0)) for t in terms), fmpq(0))
        return alone >= 0 and _all_binades(terms, 2)
    first = (least - 1).bit_length()
    return _between(terms, fmpq(1, 2), fmpq(1), first + 1, MAX_SPLITS) and _first_binade(terms, least, first)


def _first_binade(terms: list[_Term], least: int, k: int) -> bool:
    return (
        all(
            sum((t.coefficient * fmpq(w) ** t.size * fmpq(k) ** t.logs * t.base**k for t in terms), fmpq(0)) >= 0
            for w in range(least, (1 << k) + 1)
        )
        if k <= 12
        else _between(terms, fmpq(1, 2), fmpq(1), k, MAX_SPLITS)
    )


def _between(terms: list[_Term], low: fmpq, high: fmpq, start: int, splits: int) -> bool:
    """Whether the sum is >= 0 for every k >= start and every t between low and high."""
    least = [(t.coefficient * (low if t.coefficient > 0 else high) ** t.size, t.logs, t.growth) for t in terms]
    if _sum_nonnegative(least, start):
        return True
    middle = (low + high) / 2
    return splits > 0 and all(_between(terms, *ends, start, splits - 1) for ends in ((low, middle), (middle, high)))


def _sum_nonnegative(terms: list[tuple[fmpq, int, fmpq]], start: int) -> bool:
    """Whether the sum of c*k^j*B^k is >= 0 for every integer k >= start; B > 0."""
    together: dict[tuple[fmpq, int], fmpq] = {}
    for coefficient, logs, base in terms:
        together[base, logs] = together.get((base, logs), fmpq(0)) + coefficient
    together = {key: coefficient for key, coefficient in together.items() if coefficient}
    if not together:
        return True
    lead = max(together)
    if together[lead] < 0:
        return False
    others = {key: coefficient for key, coefficient in together.items() if coefficient < 0}
    for k in range(start, start + MAX_CHECKS):
        if sum((c * fmpq(k) ** j * b**k for (b, j), c in together.items()), fmpq(0)) < 0:
            return False
        if k >= 1 and _outweighed(lead, together[lead], others, k):
            return True
    return False


def _outweighed(lead: tuple[fmpq, int], weight: fmpq, others: dict[tuple[fmpq, int], fmpq], k: int) -> bool:
    """Whether the leading term dominates the negative ones at k, and from there on the ratio of each to it falls."""
    base, power = lead
    falling = all(b * fmpq(k + 1, k) ** (j - power) <= base if j > power else b <= base for b, j in others)
    total = sum((-c * fmpq(k) ** j * b**k for (b, j), c in others.items()), fmpq(0))
    return falling and total <= weight * fmpq(k) ** power * base**k


def by_enumeration(value: Poly, facts: Facts) -> bool:
    """At each of a few sizes that the facts allow, binade by binade, or quickly."""
    ranges = _ranges(value, facts)
    if ranges is not None and (prod(map(len, ranges.values())) <= 1 or all(map(_plain, value.atoms()))):
        return _at_all(value, ranges)
    return (
        holds_in_binades(value, facts)
        or never_negative(value, facts)
        or (ranges is not None and _at_all(value, ranges))
    )


def _ranges(value: Poly, facts: Facts) -> dict[str, range] | None:
    """The values of every symbol between constant bounds; None where one has no such bounds or there are too many."""
    found: dict[str, range] = {}
    for name in sorted(value.names):
        known = facts.bounds.get(name, Bounds())
        if known.least is None or known.most is None or known.most - known.least > MAX_POINTS:
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
