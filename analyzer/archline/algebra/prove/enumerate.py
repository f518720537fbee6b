"""Proves values nonnegative by trying few points, and values of one size and its logarithm binade by binade.

One size n and its logarithm: n = t*r^k with 1/r < t <= 1; the radix r is mostly 2. With k = ceil(log_r(n)) a term
c*n^i*k^j*b^k is c*t^i * k^j * (r^i*b)^k. Between two values of t it is at least its value at one of them, and a sum of
terms c*k^j*B^k is decided exactly: it is checked at each k up to where its leading term exceeds the remaining ones for
all larger k.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import lcm, prod

from archline.algebra import atoms as a
from archline.algebra.bounds import Bounds
from archline.algebra.evaluate.compiled import Compiler
from archline.algebra.evaluate.exact import evaluate
from archline.algebra.facts import Facts
from archline.algebra.polynomial import ZERO, Atom, Poly, Symbol
from archline.algebra.prove.prover import prove_never_negative
from archline.expr.intervals import EvaluationError, Number
from archline.expr.sequences import compute_sequence
from archline.numbers import fmpq
from archline.records import record

MAX_MODULUS = 24
MAX_SPLITS = 5
MAX_CHECKS = 400
MAX_FIRST_SIZES = 64
MAX_POINTS = 5_000
MAX_FIRST_BINADE = 1 << 12


@record
class _Term:
    """A term c * w^i * k^j * b^k of a size w and its rounded logarithm k: i is `size`, j is `logs`, b is `base`."""

    radix: int

    coefficient: fmpq
    size: int
    logs: int
    base: fmpq

    @property
    def growth(self) -> fmpq:
        """The factor by which w^i * b^k grows when k increases by 1 and w becomes r*w."""
        return self.base * fmpq(self.radix) ** self.size


def prove_in_binades(value: Poly, facts: Facts) -> bool:
    """Test whether value >= 0 is proved for an expression of one size n, ceil(log_r(n)) and powers b^ceil(log_r(n))."""
    names = [name for name in value.names if name in facts.bounds]
    if len(names) != 1 or value.names != set(names):
        return False
    name = names[0]
    first = facts.bounds[name].minimum
    radices = {logarithm[1] for atom in value.atoms_within() if (logarithm := a.read_logarithm(atom)) is not None}
    if first is None or len(radices) > 1:
        return False
    radix = next(iter(radices), 2)
    if _is_only_exponent(value, name):
        terms = _collect_terms(value, name, 0, radix)
        return terms is not None and _is_sum_nonnegative([(t.coefficient, t.logs, t.base) for t in terms], first)
    shift, modulus = _find_shift(value, name), _compute_period(value)
    if shift is None or modulus > MAX_MODULUS or not _is_nonnegative_at_first_sizes(value, name, first, 1 - shift):
        return False
    first = max(first, 1 - shift)
    for case in _iterate_residue_cases(value, name, modulus):
        terms = _collect_terms(case, name, shift, radix)
        if terms is None or not _prove_all_binades(terms, first + shift, radix):
            return False
    return True


def _is_nonnegative_at_first_sizes(value: Poly, name: str, least: int, start: int) -> bool:
    """Test whether value >= 0 at the sizes from `least` to `start` - 1; False if there are too many.

    The value may have logarithms of numbers below 1.
    """
    try:
        return start - least <= MAX_FIRST_SIZES and all(
            evaluate(value, {name: size}) >= 0 for size in range(least, start)
        )
    except EvaluationError:
        return False


def _is_only_exponent(value: Poly, name: str) -> bool:
    """Test whether the symbol occurs in exponents and in no logarithm."""
    atoms = list(value.atoms_within())
    return any(isinstance(atom, a.Exponential) and atom.exponent == Poly.symbol(name) for atom in atoms) and not any(
        isinstance(atom, a.Floor) or a.read_logarithm(atom) is not None for atom in atoms
    )


def _find_shift(value: Poly, name: str) -> int | None:
    """Return the s of the only logarithm ceil(log_r(n + s)), 0 if there is none; None for other logarithms."""
    logarithms = filter(None, map(a.read_logarithm, value.atoms_within()))
    shifts = {argument - Poly.symbol(name) for argument, _ in logarithms}
    if len(shifts) > 1 or not all(shift.is_constant and shift.constant_term.q == 1 for shift in shifts):
        return None
    return int(next(iter(shifts)).constant_term.p) if shifts else 0


def _compute_period(value: Poly) -> int:
    """Return a period of the remainders that the floors of n depend on; above MAX_MODULUS if there is none."""
    periods = [1]
    for atom in value.atoms():
        if isinstance(atom, a.Floor):
            divisor = atom.modulus.constant_term if atom.modulus.is_constant else fmpq(0)
            if divisor.q != 1 or divisor < 1 or any(coefficient.q != 1 for coefficient in atom.argument.terms.values()):
                return MAX_MODULUS + 1
            periods.append(int(divisor.p) * _compute_period(atom.argument))
        elif any(isinstance(inner, a.Floor) for part in atom.parts for inner in part.atoms_within()):
            return MAX_MODULUS + 1
    return lcm(*periods)


def _iterate_residue_cases(value: Poly, name: str, modulus: int) -> Iterator[Poly]:
    """Yield the value for each remainder of n by the modulus, with floors of n by numbers as fractions."""
    for residue in range(modulus):

        def without_floor(atom: Atom, residue: int = residue) -> Poly | None:
            if not isinstance(atom, a.Floor):
                return None
            inner = atom.argument.map_atoms(without_floor)
            rest = atom.argument.substitute({name: Poly.constant(residue)}).constant_term
            divisor = atom.modulus.constant_term
            return (inner - (rest - (rest / divisor).floor() * divisor)) / divisor

        yield value.map_atoms(without_floor)


def _collect_terms(value: Poly, name: str, shift: int, radix: int) -> list[_Term] | None:
    """Return the value as terms in w = n + shift, its logarithm k and powers b^k; a symbol only in exponents is k.

    None if the value has other atoms or negative powers.
    """
    exponent = _is_only_exponent(value, name)
    argument = Poly.symbol(name) + shift
    level = Poly.symbol(name) if exponent else a.make_sequence_term("ceil_log", argument, Poly.constant(radix))
    moved = value if not shift else _shift_size(value, name, shift)
    terms = []
    for monomial, coefficient in moved.terms.items():
        size, logs, base = 0, 0, fmpq(1)
        for atom, power in monomial:
            match atom:
                case Symbol() if exponent:
                    logs += power
                case Symbol():
                    size += power
                case a.CeilLog2() | a.Sequence() if Poly.of_atom(atom) == level:
                    logs += power
                case a.Exponential() if atom.exponent == level:
                    base *= fmpq(atom.base) ** power
                case _:
                    return None
        if size < 0 or logs < 0:
            return None
        terms.append(_Term(radix, coefficient, size, logs, base))
    return terms


def _shift_size(value: Poly, name: str, shift: int) -> Poly:
    """Replace n by w - shift, except in logarithms."""
    moved = Poly.symbol(name) - shift
    return value.map_atoms(lambda atom: moved if isinstance(atom, Symbol) else None)


def _prove_all_binades(terms: list[_Term], least: int, radix: int) -> bool:
    """Prove that the sum is >= 0 for all w >= least, first in the binade of `least`, then in all later binades."""
    if least == 1:
        # The binade of 1 contains only 1, with logarithm 0.
        alone = sum((t.coefficient * (t.base**0 if not t.logs else fmpq(0)) for t in terms), fmpq(0))
        return alone >= 0 and _prove_all_binades(terms, 2, radix)
    first = compute_sequence("ceil_log", least, radix) or 0
    return _prove_between(terms, fmpq(1, radix), fmpq(1), first + 1, MAX_SPLITS) and _prove_first_binade(
        terms, least, first, radix
    )


def _prove_first_binade(terms: list[_Term], least: int, k: int, radix: int) -> bool:
    return (
        all(
            sum((t.coefficient * fmpq(w) ** t.size * fmpq(k) ** t.logs * t.base**k for t in terms), fmpq(0)) >= 0
            for w in range(least, radix**k + 1)
        )
        if radix**k <= MAX_FIRST_BINADE
        else _prove_between(terms, fmpq(1, radix), fmpq(1), k, MAX_SPLITS)
    )


def _prove_between(terms: list[_Term], low: fmpq, high: fmpq, start: int, splits: int) -> bool:
    """Test whether the sum is >= 0 for every k >= start and every t between low and high.

    The range of t is halved up to `splits` times.
    """
    minima = [(t.coefficient * (low if t.coefficient > 0 else high) ** t.size, t.logs, t.growth) for t in terms]
    if _is_sum_nonnegative(minima, start):
        return True
    middle = (low + high) / 2
    return splits > 0 and all(
        _prove_between(terms, *ends, start, splits - 1) for ends in ((low, middle), (middle, high))
    )


def _is_sum_nonnegative(terms: list[tuple[fmpq, int, fmpq]], start: int) -> bool:
    """Test whether the sum of c*k^j*B^k is >= 0 for every integer k >= start; B > 0."""
    combined: dict[tuple[fmpq, int], fmpq] = {}
    for coefficient, logs, base in terms:
        combined[base, logs] = combined.get((base, logs), fmpq(0)) + coefficient
    combined = {key: coefficient for key, coefficient in combined.items() if coefficient}
    if not combined:
        return True
    lead = max(combined)
    if combined[lead] < 0:
        return False
    negative = {key: coefficient for key, coefficient in combined.items() if coefficient < 0}
    for k in range(start, start + MAX_CHECKS):
        if sum((c * fmpq(k) ** j * b**k for (b, j), c in combined.items()), fmpq(0)) < 0:
            return False
        if k >= 1 and _dominates_negative_terms(lead, combined[lead], negative, k):
            return True
    return False


def _dominates_negative_terms(
    lead: tuple[fmpq, int], weight: fmpq, negative: dict[tuple[fmpq, int], fmpq], k: int
) -> bool:
    """Test whether `weight` times the leading term plus the negative terms is >= 0 at k and at all larger integers.

    For that the ratios of the negative terms to the leading term must not rise from k on.
    """
    base, power = lead
    falling = all(b * fmpq(k + 1, k) ** (j - power) <= base if j > power else b <= base for b, j in negative)
    total = sum((-c * fmpq(k) ** j * b**k for (b, j), c in negative.items()), fmpq(0))
    return falling and total <= weight * fmpq(k) ** power * base**k


def prove_by_enumeration(value: Poly, facts: Facts) -> bool:
    """Prove value >= 0 at each size if the facts allow only a few, else by binades or by a quick proof."""
    ranges = _find_constant_ranges(value, facts)
    if ranges is not None and (
        prod(map(len, ranges.values())) <= 1 or all(map(_is_symbol_or_integral_log, value.atoms()))
    ):
        return _is_nonnegative_at_points(value, ranges)
    return (
        prove_in_binades(value, facts)
        or prove_never_negative(value, facts)
        or (ranges is not None and _is_nonnegative_at_points(value, ranges))
    )


def _find_constant_ranges(value: Poly, facts: Facts) -> dict[str, range] | None:
    """Return the values of every symbol between constant bounds; None if a symbol has none, or for too many values."""
    ranges: dict[str, range] = {}
    for name in sorted(value.names):
        bounds = facts.bounds.get(name, Bounds())
        if bounds.minimum is None or bounds.maximum is None or bounds.maximum - bounds.minimum > MAX_POINTS:
            return None
        ranges[name] = range(bounds.minimum, bounds.maximum + 1)
        if prod(map(len, ranges.values())) > MAX_POINTS:
            return None
    return ranges


def list_allowed_points(facts: Facts, names: frozenset[str], most: int) -> list[dict[str, int]] | None:
    """Return all points of some symbols within constant bounds; None if unbounded, rewritten or more than `most`."""
    ranges = _find_constant_ranges(sum(map(Poly.symbol, sorted(names)), ZERO), facts)
    if ranges is None or prod(map(len, ranges.values())) > most or not names.isdisjoint(facts.rewrites):
        return None
    return [dict(zip(ranges, values, strict=True)) for values in product(*ranges.values())]


def _is_nonnegative_at_points(value: Poly, ranges: dict[str, range]) -> bool:
    try:
        return all(number >= 0 for number in _iterate_values(value, ranges))
    except EvaluationError:
        return False


def _iterate_values(value: Poly, ranges: dict[str, range]) -> Iterator[Number]:
    """Yield the value at every point. Raises EvaluationError."""
    compiler = Compiler(ranges)
    compute = compiler.compile_expression(value)
    for numbers in product(*ranges.values()):
        yield compute(compiler.make_environment(numbers))


def _is_symbol_or_integral_log(atom: Atom) -> bool:
    return isinstance(atom, Symbol) or (
        isinstance(atom, a.CeilLog2)
        and all(isinstance(inner, Symbol) for inner in atom.argument.atoms())
        and all(coefficient.q == 1 for coefficient in atom.argument.terms.values())
    )
