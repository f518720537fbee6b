"""Build basis terms for recursions with leaves of a fixed size: numbers of leaves, and bounds of the size at a leaf.

Calls halve sizes above T; the smallest leaf has size s. Then a leaf of a size v has at most min(v, T) and at least
min(v, s) of it, and there are at most max(v, s)/s and at least max(v, T)/T leaves along it. Induction proves these, as
for the halves v' and v" of v > T: min(v', T) <= T, min(v', s) = s, max(v', s) + max(v", s) = v, max(v', T) +
max(v", T) >= v.

The exact number of leaves is 2^k + max(0, v - T*2^k) (`build_leaf_count`), where k = ceil(log2(floor(v/(T + 1)) + 1))
is the minimum number of halvings, so that v lies from (T + 1)*2^(k - 1) to (T + 1)*2^k - 1: after k - 1 halvings all
parts are above T. After one more they are at most T + 1, and max(0, v - T*2^k) of them are T + 1. The numbers of the
two halves of v > T add up to that of v; it is 1 for v of at most T. With the terms v and this number a bound is linear
in the size of leaves, instead of a multiple of it, and so distinguishes leaves of T/2 from those of T.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, combinations_with_replacement

from archline.algebra import atoms as a
from archline.algebra.polynomial import ONE, Atom, Monomial, Poly, Symbol, product, sum_polynomials
from archline.algebra.prove.logarithms import match_minimum_halvings
from archline.numbers import fmpq
from archline.records import record
from archline.recurrences.exact.at_call import build_max_halvings, build_min_halvings, compute_symbol_values_in_call
from archline.recurrences.exact.basis import (
    BasisTerm,
    ProofTerm,
    iterate_divisors,
    iterate_signed_logarithms,
    make_coefficients_positive,
    monomial_sort_key,
    multiply_terms,
    replace_atoms_by_sizes,
    select_distinct_terms,
)
from archline.recurrences.exact.transitions import Transition, find_proved_minimum
from archline.recurrences.model import SizeFunction


def build_leaf_count(size: Poly, most: Poly) -> Poly:
    """Return the number of leaves if a size is halved until it is at most `most`."""
    lower = a.exponential(2, build_min_halvings(size, most + 1))
    return lower + a.positive_part(size - most * lower)


def is_divided_evenly(name: str, most: int, steps: Sequence[Transition], function: SizeFunction) -> bool:
    """Test whether each step passes a size whole to one call, or one half to each of two if it is above `most`."""
    return all(_is_divided_evenly_by_step(name, most, step, function) for step in steps if step.calls)


def _is_divided_evenly_by_step(name: str, most: int, step: Transition, function: SizeFunction) -> bool:
    size, facts = Poly.symbol(name), step.facts
    parts = [compute_symbol_values_in_call(function, call.arguments)[name] for _, call in step.calls]
    if any(factor != ONE for factor, _ in step.calls) or sum_polynomials(parts) != size:
        return False
    halves = [size + 1 - part.scaled(2) for part in parts]
    return len(parts) == 1 or all(facts.nonnegative(facts.simplify(margin)) for margin in (size - most - 1, *halves))


def remove_leaf_counts(value: Poly, upper: bool) -> Poly:
    """Return an upper (or a lower) bound of a value; max(v, T)/T or max(v, s)/s replaces exact numbers of leaves.

    s = floor((T + 1)/2) is the smallest size of a leaf of a size that is halved.
    """
    for atom in sorted(value.atoms(), key=lambda candidate: candidate.key):
        if isinstance(atom, a.PositivePart):
            value = _remove_leaf_count(value, atom, upper)
    return value


def _remove_leaf_count(value: Poly, part: a.PositivePart, upper: bool) -> Poly:
    """Replace the number of leaves that has the maximum `part`, max(0, v - T*2^k), if the value is linear in it.

    It is replaced by an upper bound of the value if `upper`, else by a lower one.
    """
    floor = next(filter(None, map(_find_halvings_floor, part.argument.atoms())), None)
    if floor is None:
        return value
    size, most, number = floor.argument, floor.modulus - 1, Symbol("pieces")
    rest = build_leaf_count(size, most) - Poly.of_atom(part)
    counting = value.map_atoms(lambda atom: Poly.of_atom(number) - rest if atom == part else None)
    slope = counting.coefficients(number).get(1)
    is_left = any(_find_halvings_floor(atom) is floor for atom in counting.atoms())
    if part in rest.atoms() or is_left or slope is None or not slope.is_constant:
        return value
    end = a.floor_div(most + 1, Poly.constant(2)) if (slope.constant_term > 0) == upper else most
    return counting.substitute({number.name: a.maximum(size, end) / end.constant_term})


def _find_halvings_floor(power: Atom) -> a.Floor | None:
    """Return the floor that counts halvings of a size in the exponent of a power of 2; None for other atoms."""
    if not isinstance(power, a.Exponential) or power.base != 2:
        return None
    return next((floor for atom in power.exponent.atoms() if (floor := match_minimum_halvings(atom)) is not None), None)


MAX_LEAF_SIZE = 1 << 10


@record
class SizeDivision:
    """The division of a size by calls: at leaves it is at least min(size, `least`) and at most `most`.

    `serial`: some step makes several calls with a part of the size each, so that there are several leaves along it.
    `whole`: the parts of the size in the calls of a step add up to the size.
    """

    size: Poly
    serial: bool
    least: Poly
    most: Poly
    whole: bool = False

    def sum_over_leaves(self, power: int, upper: bool) -> Poly:
        """Return a bound of the sum of size^power over the leaves along the size."""
        leaf = self.bound_size_at_leaf(upper)
        if not self.serial:
            return leaf**power
        return self.size * leaf ** (power - 1) if power else a.maximum(self.size, self.least if upper else self.most)

    def halvings_term(self, upper: bool) -> BasisTerm:
        """Return the maximum number of halvings of the size until it is at most `most`; the minimum for a lower bound.

        From v to ceil(v/2) the maximum falls by at least 1; from v to floor(v/2) the minimum falls by at most 1.
        """
        if not upper:
            return BasisTerm(build_min_halvings(self.size, self.most + 1), sign=-1)
        number = build_max_halvings(self.size, self.most)
        depth = a.find_exponent_of_two(self.most)
        # If `most` is a power of 2, this is the same value and easier to read.
        value = number if depth is None else a.positive_part(a.ceil_log2(self.size) - depth)
        return BasisTerm(value, sign=1, inner=ProofTerm(number))

    def bound_size_at_leaf(self, upper: bool) -> Poly:
        """Return an upper (or a lower) bound of the size at a leaf."""
        return a.minimum(self.size, self.most if upper else self.least)


def find_size_divisions(function: SizeFunction, steps: Sequence[Transition]) -> dict[str, SizeDivision]:
    """Return the division of each size that has bounds at leaves, by name; empty if calls divide no size."""
    splits: dict[str, SizeDivision] = {}
    divided = False
    for name in function.sizes:
        size = Poly.symbol(name)
        changed = [
            (factor, value, step)
            for step in steps
            for factor, call in step.calls
            if (value := compute_symbol_values_in_call(function, call.arguments)[name]) != size
        ]
        high = _find_largest_leaf_size(name, steps)
        low = min((find_proved_minimum(value, step.facts) or 0 for _, value, step in changed), default=0)
        if high is None or high <= 1:
            continue
        if not changed:
            # Only calls of other functions may divide it.
            splits[name] = SizeDivision(size, False, Poly.constant(high // 2), Poly.constant(high))
        elif low > 0:
            counts = [step.call_count for _, _, step in changed]
            if all(
                0 < count <= 1 << _count_divided_sizes(step, function)
                for count, (_, _, step) in zip(counts, changed, strict=True)
            ):
                whole = is_divided_evenly(name, high, steps, function)
                splits[name] = SizeDivision(size, max(counts) > 1, Poly.constant(low), Poly.constant(high), whole)
                divided = True
    return splits if divided else {}


def _count_divided_sizes(step: Transition, function: SizeFunction) -> int:
    calls_sizes = [compute_symbol_values_in_call(function, call.arguments) for _, call in step.calls]
    return sum(any(sizes[name] != Poly.symbol(name) for sizes in calls_sizes) for name in function.sizes)


def _find_largest_leaf_size(name: str, steps: Iterable[Transition]) -> int | None:
    """Return the largest value of a size in base cases; None if it is unknown or above MAX_LEAF_SIZE."""
    limits = [step.facts.bounds[name].maximum for step in steps if not step.equation.recursive]
    if not limits or None in limits:
        return None
    largest = max(limit for limit in limits if limit is not None)
    return largest if largest <= MAX_LEAF_SIZE else None


def iterate_leaf_sums(splits: dict[str, SizeDivision], monomials: Iterable[Monomial], upper: bool) -> Iterator[Poly]:
    """Iterate over bounds of the sums of each monomial, a cost of a leaf, over all leaves."""
    for monomial in monomials:
        powers = {atom.name: power for atom, power in monomial if isinstance(atom, Symbol)}
        rest = Poly({tuple((x, k) for x, k in monomial if not (isinstance(x, Symbol) and x.name in splits)): fmpq(1)})
        yield (
            product(
                (split.sum_over_leaves(powers.get(name, 0), upper) for name, split in splits.items()), ONE.constant_term
            )
            * rest
        )


def iterate_leaf_term_sets(
    function: SizeFunction, steps: Sequence[Transition], upper: bool
) -> Iterator[tuple[BasisTerm, ...]]:
    """Iterate over sets of basis terms for leaves of a fixed size, simple ones first; none if calls divide no size."""
    splits = find_size_divisions(function, steps)
    if not splits:
        return
    forcing, costs = (
        {
            part
            for step in steps
            if step.equation.recursive == inner
            for monomial in _find_size_monomials(step.forcing, function)
            for part in (iterate_divisors(monomial) if inner else (monomial,))
        }
        for inner in (True, False)
    )
    inner_terms = [BasisTerm(Poly({monomial: fmpq(1)})) for monomial in sorted(forcing, key=monomial_sort_key)]
    leaves = [
        BasisTerm(x, sign=1 if upper else -1)
        for x in iterate_leaf_sums(splits, sorted(costs, key=monomial_sort_key), upper)
    ]
    leaves.extend(
        BasisTerm(build_leaf_count(s.size, s.most), leaf=ONE) for s in splits.values() if s.whole and s.serial
    )
    plain = [term for term in iterate_signed_logarithms(function) if term.value.names.isdisjoint(splits)]
    logs = [*_iterate_halving_terms(splits, upper), *plain]
    serial = [log for log in logs if any(splits[name].serial for name in log.value.names if name in splits)]
    squares = [multiply_terms(x, y) for x, y in combinations_with_replacement(logs, 2) if x.sign == y.sign]
    linear = [term for term in inner_terms if term.degree <= 1]
    yield select_distinct_terms([*inner_terms, *leaves])
    sums = list(_iterate_level_sum_sets(linear, leaves, splits, upper))
    if not upper:
        yield from sums
    yield select_distinct_terms([*inner_terms, *leaves, *logs])
    yield select_distinct_terms([*linear, *leaves, *logs, *squares])
    yield select_distinct_terms(
        [*linear, *leaves, *logs, *(multiply_terms(x, y) for x in inner_terms for y in serial if x.degree)]
    )
    if upper:
        yield from sums
    deep = [*serial, *(multiply_terms(x, y) for x, y in combinations_with_replacement(serial, 2) if x.sign == y.sign)]
    yield select_distinct_terms(
        [*linear, *leaves, *logs, *(multiply_terms(x, y) for x in inner_terms for y in deep if x.degree)]
    )


def build_halving_terms(function: SizeFunction, steps: Sequence[Transition]) -> list[BasisTerm]:
    """Return a term for each divided size, for upper bounds: the maximum number of its halvings down to a leaf."""
    return [split.halvings_term(True) for split in find_size_divisions(function, steps).values()]


def _iterate_level_sum_sets(
    linear: Sequence[BasisTerm], leaves: Sequence[BasisTerm], splits: Mapping[str, SizeDivision], upper: bool
) -> Iterator[tuple[BasisTerm, ...]]:
    """Iterate over sets for costs that calls of other functions add at each level, and for their sums over levels.

    For upper bounds there are none if all sizes are serial: other sets give bounds as near.
    """
    has_serial, has_single_leaf = (any(split.serial == serial for split in splits.values()) for serial in (True, False))
    if has_serial and (has_single_leaf or not upper):
        yield from (_build_level_terms(linear, leaves, splits, most, upper) for most in (1, 2))


def _build_level_terms(
    linear: Sequence[BasisTerm], leaves: Sequence[BasisTerm], splits: Mapping[str, SizeDivision], most: int, upper: bool
) -> tuple[BasisTerm, ...]:
    """Return few terms for the cost of a level: products of sizes, sizes at leaves and numbers of halvings.

    Numbers of halvings have powers up to `most`.
    """
    long = [term for term in linear if term.degree]
    wide = [
        BasisTerm(x.value * split.bound_size_at_leaf(upper))
        for x in long
        for split in splits.values()
        if not split.serial
    ]
    levels = {name: split.halvings_term(upper) for name, split in splits.items()}
    deep = [power for name, split in splits.items() if split.serial for power in _build_term_powers(levels[name], most)]
    counts = [power for level in levels.values() for power in _build_term_powers(level, most)]
    return select_distinct_terms(
        [*linear, *leaves, *counts, *(multiply_terms(x, y) for x in [*long, *wide] for y in deep)]
    )


def _build_term_powers(element: BasisTerm, most: int) -> list[BasisTerm]:
    return list(accumulate([element] * most, multiply_terms))


def _iterate_halving_terms(splits: Mapping[str, SizeDivision], upper: bool) -> Iterator[BasisTerm]:
    """Iterate over numbers of halvings down to leaves; in a lower bound also of size + 1 down to the smallest leaf."""
    for split in splits.values():
        for offset in (0, 1):
            limits = (split.most,) if upper or not offset else (split.most, split.least)
            for depth in dict.fromkeys(a.ceil_log2(limit + offset) for limit in limits):
                yield BasisTerm(a.positive_part(a.ceil_log2(split.size + offset) - depth), sign=1 - 2 * offset)


def _find_size_monomials(value: Poly, function: SizeFunction) -> list[Monomial]:
    """Return the products of sizes in a value, in which 1 replaces sizes that are cut off at a number."""

    def replace_cap(atom: Atom) -> Poly | None:
        if not isinstance(atom, a.PositivePart) or not (limit := atom.argument.constant_term):
            return None
        # min(v, c) is v - max(0, v - c), and c - max(0, c - v).
        return ONE if limit > 0 else atom.argument - limit - 1

    return list(replace_atoms_by_sizes(make_coefficients_positive(value.map_atoms(replace_cap)), function).terms)
