"""Terms for leaves of a fixed size: how large a size is at a leaf, and how many leaves there are along it.

Where sizes above T are halved, down to s at least, a size v is at most min(v, T) and at least min(v, s) at a leaf, and
there are at most max(v, s)/s and at least max(v, T)/T leaves along it. At v > T the halves v' and v" of v keep all of
it: min(v', T) <= T, min(v', s) = s, max(v', s) + max(v", s) = v, max(v', T) + max(v", T) >= v.

Exactly there are 2^k + max(0, v - T*2^k) leaves (`pieces`) with k = ceil(log2(floor(v/(T + 1)) + 1)) halvings at least,
so that v lies from (T + 1)*2^(k - 1) to (T + 1)*2^k - 1: all parts have been halved k - 1 times and are above T. Halved
once more they are T + 1 at most, and v - T*2^k of them are that, if any. At both halves of v > T the numbers add up to
that of v; where v is at most T it is 1. With a*v + b times this number a bound has a line through what leaves cost in
place of a multiple, and so sees leaves of T/2 and of T apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, combinations_with_replacement

from archline.algebra import atoms as a
from archline.algebra.polynomial import ONE, Atom, Monomial, Poly, Symbol, product, total
from archline.algebra.prove.logarithms import counted
from archline.numbers import fmpq
from archline.records import record
from archline.recurrences.exact.at_call import halvings, most_halvings, sizes_of_call
from archline.recurrences.exact.basis import (
    BasisTerm,
    ProofTerm,
    absolute,
    distinct,
    divisors,
    monomial_sort_key,
    signed_logarithms,
    sizes_in,
    times,
)
from archline.recurrences.exact.transitions import Transition, least_of
from archline.recurrences.model import SizeFunction


def leaf_count(size: Poly, most: Poly) -> Poly:
    """The number of leaves of at most `most`."""
    least = a.exponential(2, halvings(size, most + 1))
    return least + a.positive_part(size - most * least)


def is_divided_evenly(name: str, most: int, steps: Sequence[Transition], function: SizeFunction) -> bool:
    """Whether each call has all of a size, or two calls have the halves of one above `most`."""
    return all(_keeps(name, most, step, function) for step in steps if step.calls)


def _keeps(name: str, most: int, step: Transition, function: SizeFunction) -> bool:
    size, facts = Poly.symbol(name), step.facts
    given = [sizes_of_call(function, call.arguments)[name] for _, call in step.calls]
    if any(factor != ONE for factor, _ in step.calls) or total(given) != size:
        return False
    halves = [size + 1 - each.scaled(2) for each in given]
    return len(given) == 1 or all(facts.nonnegative(facts.simplify(each)) for each in (size - most - 1, *halves))


def without_pieces(value: Poly, upper: bool) -> Poly:
    """What a value is at most (upper) or at least, with max(v, T)/T or max(v, s)/s for a number of leaves.

    s = floor((T + 1)/2) is the size of the smallest leaf of those that are halved.
    """
    for atom in sorted(value.atoms(), key=lambda each: each.key):
        if isinstance(atom, a.PositivePart):
            value = _without(value, atom, upper)
    return value


def _without(value: Poly, part: a.PositivePart, upper: bool) -> Poly:
    """The value without the number of leaves that holds max(0, ...), where there is one."""
    floor = next(filter(None, map(_halvings_floor, part.argument.atoms())), None)
    if floor is None:
        return value
    size, most, number = floor.argument, floor.modulus - 1, Symbol("pieces")
    rest = leaf_count(size, most) - Poly.of_atom(part)
    counting = value.map_atoms(lambda atom: Poly.of_atom(number) - rest if atom == part else None)
    slope = counting.coefficients(number).get(1)
    left = any(_halvings_floor(each) is floor for each in counting.atoms())
    if part in rest.atoms() or left or slope is None or not slope.is_constant:
        return value
    end = a.floor_div(most + 1, Poly.constant(2)) if (slope.constant_term > 0) == upper else most
    return counting.substitute({number.name: a.maximum(size, end) / end.constant_term})


def _halvings_floor(power: Atom) -> a.Floor | None:
    """The floor(v/k) of 2^halvings."""
    if not isinstance(power, a.Exponential) or power.base != 2:
        return None
    return next((floor for each in power.exponent.atoms() if (floor := counted(each)) is not None), None)


MAX_LEAF_SIZE = 1 << 10


@record
class SizeDivision:
    """How calls divide a size: in one call at a time or in several one after the other, down to `least` at least.

    At leaves it is at most `most`. `whole`: the calls of each step have all of it together.
    """

    size: Poly
    serial: bool
    least: Poly
    most: Poly
    whole: bool = False

    def along(self, power: int, upper: bool) -> Poly:
        """What a leaf's term with the size to this power sums up to, along the size."""
        leaf = self.at_leaf(upper)
        if not self.serial:
            return leaf**power
        return self.size * leaf ** (power - 1) if power else a.maximum(self.size, self.least if upper else self.most)

    def halvings(self, upper: bool) -> BasisTerm:
        """How often at most, or at least, it is halved until it is at most that.

        The one falls by at least 1 at ceil(v/2), the other by at most 1 at floor(v/2).
        """
        if not upper:
            return BasisTerm(halvings(self.size, self.most + 1), sign=-1)
        counted = most_halvings(self.size, self.most)
        depth = a.exponent_of_two(self.most)
        # Of powers of two it is the same, and easier to read.
        value = counted if depth is None else a.positive_part(a.ceil_log2(self.size) - depth)
        return BasisTerm(value, sign=1, inner=ProofTerm(counted))

    def at_leaf(self, upper: bool) -> Poly:
        """What the size is at most, or at least, at a leaf."""
        return a.minimum(self.size, self.most if upper else self.least)


def size_divisions(function: SizeFunction, steps: Sequence[Transition]) -> dict[str, SizeDivision]:
    """The sizes that calls divide, with what is known of them at leaves; none of others."""
    found: dict[str, SizeDivision] = {}
    divided = False
    for name in function.sizes:
        size = Poly.symbol(name)
        given = [
            (factor, value, step)
            for step in steps
            for factor, call in step.calls
            if (value := sizes_of_call(function, call.arguments)[name]) != size
        ]
        most = _most(name, steps)
        least = min((least_of(value, step.facts) or 0 for _, value, step in given), default=0)
        if most is None or most <= 1:
            continue
        if not given:
            # Other functions divide it, if any.
            found[name] = SizeDivision(size, False, Poly.constant(most // 2), Poly.constant(most))
        elif least > 0:
            counts = [step.count for _, _, step in given]
            if all(
                0 < count <= 1 << _divided(step, function) for count, (_, _, step) in zip(counts, given, strict=True)
            ):
                whole = is_divided_evenly(name, most, steps, function)
                found[name] = SizeDivision(size, max(counts) > 1, Poly.constant(least), Poly.constant(most), whole)
                divided = True
    return found if divided else {}


def _divided(step: Transition, function: SizeFunction) -> int:
    """How many sizes its calls divide."""
    given = [sizes_of_call(function, call.arguments) for _, call in step.calls]
    return sum(any(each[name] != Poly.symbol(name) for each in given) for name in function.sizes)


def _most(name: str, steps: Iterable[Transition]) -> int | None:
    """The greatest value of a size in cases without calls, where there is one."""
    known = [step.facts.bounds[name].most for step in steps if not step.equation.recursive]
    if not known or None in known:
        return None
    most = max(each for each in known if each is not None)
    return most if most <= MAX_LEAF_SIZE else None


def at_leaves(found: dict[str, SizeDivision], monomials: Iterable[Monomial], upper: bool) -> Iterator[Poly]:
    """What terms of leaves sum up to."""
    for monomial in monomials:
        powers = {atom.name: power for atom, power in monomial if isinstance(atom, Symbol)}
        rest = Poly({tuple((x, k) for x, k in monomial if not (isinstance(x, Symbol) and x.name in found)): fmpq(1)})
        yield (
            product((split.along(powers.get(name, 0), upper) for name, split in found.items()), ONE.constant_term)
            * rest
        )


def leaf_term_sets(function: SizeFunction, steps: Sequence[Transition], upper: bool) -> Iterator[tuple[BasisTerm, ...]]:
    """Sets of elements with terms for leaves of a fixed size, from the plain to the rich; none for other functions."""
    found = size_divisions(function, steps)
    if not found:
        return
    added, own = (
        {
            part
            for step in steps
            if step.equation.recursive == inner
            for monomial in _monomials(step.forcing, function)
            for part in (divisors(monomial) if inner else (monomial,))
        }
        for inner in (True, False)
    )
    few = [BasisTerm(Poly({each: fmpq(1)})) for each in sorted(added, key=monomial_sort_key)]
    leaves = [
        BasisTerm(each, sign=1 if upper else -1) for each in at_leaves(found, sorted(own, key=monomial_sort_key), upper)
    ]
    leaves.extend(
        BasisTerm(leaf_count(each.size, each.most), leaf=ONE) for each in found.values() if each.whole and each.serial
    )
    plain = [each for each in signed_logarithms(function) if each.value.names.isdisjoint(found)]
    logs = [*_levels(found, upper), *plain]
    serial = [each for each in logs if any(found[n].serial for n in each.value.names if n in found)]
    squares = [times(x, y) for x, y in combinations_with_replacement(logs, 2) if x.sign == y.sign]
    some = [each for each in few if each.degree <= 1]
    yield distinct([*few, *leaves])
    sums = list(_sums(some, leaves, found, upper))
    if not upper:
        yield from sums
    yield distinct([*few, *leaves, *logs])
    yield distinct([*some, *leaves, *logs, *squares])
    yield distinct([*some, *leaves, *logs, *(times(x, y) for x in few for y in serial if x.degree)])
    if upper:
        yield from sums
    deep = [*serial, *(times(x, y) for x, y in combinations_with_replacement(serial, 2) if x.sign == y.sign)]
    yield distinct([*some, *leaves, *logs, *(times(x, y) for x in few for y in deep if x.degree)])


def counts(function: SizeFunction, steps: Sequence[Transition]) -> list[BasisTerm]:
    """How often at most sizes are halved down to leaves of a fixed size, for upper bounds."""
    return [each.halvings(True) for each in size_divisions(function, steps).values()]


def _sums(
    some: Sequence[BasisTerm], leaves: Sequence[BasisTerm], found: Mapping[str, SizeDivision], upper: bool
) -> Iterator[tuple[BasisTerm, ...]]:
    """Sets for what calls of others add at each level, once and as a sum over levels.

    Without sizes that are divided at once, other sets are as near from above.
    """
    in_turn, at_once = (any(each.serial == serial for each in found.values()) for serial in (True, False))
    if in_turn and (at_once or not upper):
        yield from (_product_leaf_terms(some, leaves, found, most, upper) for most in (1, 2))


def _product_leaf_terms(
    some: Sequence[BasisTerm], leaves: Sequence[BasisTerm], found: Mapping[str, SizeDivision], most: int, upper: bool
) -> tuple[BasisTerm, ...]:
    """Few terms for what each level adds, also times what a leaf has of a size, as where calls are of products.

    With the powers of numbers of halvings up to `most`.
    """
    long = [each for each in some if each.degree]
    wide = [BasisTerm(x.value * each.at_leaf(upper)) for x in long for each in found.values() if not each.serial]
    levels = {name: each.halvings(upper) for name, each in found.items()}
    deep = [power for name, each in found.items() if each.serial for power in _powers(levels[name], most)]
    counts = [power for each in levels.values() for power in _powers(each, most)]
    return distinct([*some, *leaves, *counts, *(times(x, y) for x in [*long, *wide] for y in deep)])


def _powers(element: BasisTerm, most: int) -> list[BasisTerm]:
    return list(accumulate([element] * most, times))


def _levels(found: Mapping[str, SizeDivision], upper: bool) -> Iterator[BasisTerm]:
    """How often sizes are halved; in a lower bound also counted from the smallest leaf, where others have one more."""
    for split in found.values():
        for more in (0, 1):
            ends = (split.most,) if upper or not more else (split.most, split.least)
            for depth in dict.fromkeys(a.ceil_log2(end + more) for end in ends):
                yield BasisTerm(a.positive_part(a.ceil_log2(split.size + more) - depth), sign=1 - 2 * more)


def _monomials(value: Poly, function: SizeFunction) -> list[Monomial]:
    """The products of sizes in a value, with 1 for what is cut off at a number."""

    def short(atom: Atom) -> Poly | None:
        if not isinstance(atom, a.PositivePart) or not (limit := atom.argument.constant_term):
            return None
        # min(v, c) is v - max(0, v - c), and c - max(0, c - v).
        return ONE if limit > 0 else atom.argument - limit - 1

    return list(sizes_in(absolute(value.map_atoms(short)), function).terms)
