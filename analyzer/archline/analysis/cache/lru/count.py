"""Count the accesses at each stack distance: the lines accessed since the last access to the same line.

A distance that is constant in a set of times is a row of the distribution. For a distance that is affine in the
time, the times at which it is at least T are counted, with T a symbol. For any other distance, a column of the time
is enumerated at given sizes, until the rest is affine (as in Gysi et al., section 3.3).

This module runs in a process of its own and imports isl, which is an extra; a count may need any amount of time
and memory.
"""

from __future__ import annotations

import pickle
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import islpy as isl

from archline.algebra import atoms as a
from archline.algebra.polynomial import ONE, ZERO, Poly, Symbol, product
from archline.analysis.cache.lru.distribution import (
    THRESHOLD,
    Condition,
    CountPiece,
    DistanceCount,
    DistanceRange,
    LruCounts,
)
from archline.analysis.cache.lru.schedule import CountProblem, NotAffineError, TimedReference, make_scaled_text
from archline.numbers import fmpq
from archline.records import record

PARAMETER, COLUMN, SET, FLOOR = isl.dim_type.param, isl.dim_type.in_, isl.dim_type.set, isl.dim_type.div


def to_rational(value: isl.Val) -> fmpq:
    """Convert an isl value to a rational."""
    return fmpq(*map(int, str(value).split("/")))


def list_parameter_names(space: isl.Space) -> list[str]:
    """List the names of the size parameters."""
    return [str(space.get_dim_name(PARAMETER, place)) for place in range(space.dim(PARAMETER))]


def list_symbols(space: isl.Space, kind: isl.dim_type) -> list[Poly]:
    """List the symbols of a space: parameters by their names, time columns as x0, x1 and so on."""
    if kind == PARAMETER:
        return list(map(Poly.symbol, list_parameter_names(space)))
    return [Poly.symbol(f"x{place}") for place in range(space.dim(kind))]


def to_polynomial(value: isl.QPolynomial) -> Poly:
    """Convert a quasi-polynomial; floors become atoms."""
    space = value.get_domain_space()
    names = {PARAMETER: list_symbols(space, PARAMETER), SET: list_symbols(space, SET)}
    result = ZERO
    for term in value.get_terms():
        factors = [
            symbol ** term.get_exp(kind, place) for kind, all_ in names.items() for place, symbol in enumerate(all_)
        ]
        for place in range(term.dim(FLOOR)):
            power = term.get_exp(FLOOR, place)
            if power:
                factors.append(floor_to_polynomial(term.get_div(place)) ** power)
        result = result + product(factors, to_rational(term.get_coefficient_val()))
    return result


def floor_to_polynomial(value: isl.Aff) -> Poly:
    """Convert the floor of an affine expression."""
    scale = int(str(value.get_denominator_val()))
    return a.floor_div(affine_to_polynomial(value) * scale, Poly.constant(scale))


def affine_to_polynomial(value: isl.Aff) -> Poly:
    """Convert an affine expression, which may contain floors."""
    space = value.get_domain_space()
    result = Poly.constant(to_rational(value.get_constant_val()))
    for kind, all_ in ((PARAMETER, list_symbols(space, PARAMETER)), (COLUMN, list_symbols(space, SET))):
        for place, symbol in enumerate(all_):
            result = result + symbol * to_rational(value.get_coefficient_val(kind, place))
    for place in range(value.dim(FLOOR)):
        factor = to_rational(value.get_coefficient_val(FLOOR, place))
        if factor:
            result = result + floor_to_polynomial(value.get_div(place)) * factor
    return result


def _iterate_conditions(part: isl.BasicSet, sizes: Mapping[str, Poly]) -> Iterator[Condition]:
    """Yield the constraints of a basic set, with sizes renamed."""
    for constraint in part.get_constraints():
        if not constraint.is_div_constraint():
            yield Condition(affine_to_polynomial(constraint.get_aff()).substitute(sizes), constraint.is_equality())


@record
class ReuseDistance:
    """The stack distance of the accesses of a reference at a set of times, as a polynomial of the time."""

    reference: TimedReference
    times: isl.Set
    distance: isl.QPolynomial


@record
class ReuseDistances:
    """The times of all accesses and of first accesses, by reference, and the distances of the other accesses."""

    all: tuple[tuple[TimedReference, isl.Set], ...]
    first: tuple[tuple[TimedReference, isl.Set], ...]
    reused: tuple[ReuseDistance, ...]


def derive_reuse_distances(references: Sequence[TimedReference], context: isl.Set) -> ReuseDistances:
    """Derive the stack distances of all accesses; repeated accesses of a reference at one time are left out."""
    relations = [isl.Map(reference.relation).intersect_params(context) for reference in references]
    arrays: dict[str, isl.Map] = {}
    for reference, relation in zip(references, relations, strict=True):
        joined = arrays.get(reference.array)
        arrays[reference.array] = relation if joined is None else joined.union(relation)
    arrays = {name: relation.coalesce() for name, relation in arrays.items()}
    first, reused = [], []
    for reference, relation in zip(references, relations, strict=True):
        last = _map_to_last_access(relation, arrays[reference.array])
        first.append((reference, relation.domain().subtract(last.domain()).coalesce()))
        reused += [ReuseDistance(reference, *pair) for pair in _count_lines_between_accesses(last, arrays)]
    times = [(reference, relation.domain()) for reference, relation in zip(references, relations, strict=True)]
    return ReuseDistances(tuple(times), tuple(first), tuple(reused))


def _map_to_last_access(relation: isl.Map, accesses: isl.Map) -> isl.Map:
    """Map each time of a reference to the last earlier time at which any of `accesses` is to the same line."""
    earlier = isl.Map.lex_gt(relation.get_space().domain())
    return relation.apply_range(accesses.reverse()).intersect(earlier).lexmax().coalesce()


def _count_lines_between_accesses(
    last: isl.Map, arrays: dict[str, isl.Map]
) -> Iterator[tuple[isl.Set, isl.QPolynomial]]:
    """Yield sets of times with the number of lines of all arrays accessed since the last access to the line.

    `last` maps each time to that of the last access. Its parts are counted separately, as isl then keeps smaller
    sets disjoint.
    """
    for part in last.make_disjoint().get_basic_maps():
        times = _map_to_times_since_last(isl.Map.from_basic_map(part))
        counts = [times.apply_range(relation).coalesce().card() for relation in arrays.values()]
        lines = counts[0]
        for count in counts[1:]:
            lines = lines.add(count)
        for domain, distance in lines.get_pieces():
            for basic_set in domain.make_disjoint().get_basic_sets():
                # On a part, isl simplifies the polynomial by the equalities of the part.
                yield from isl.PwQPolynomial.alloc(basic_set.to_set(), distance).get_pieces()


def _map_to_times_since_last(last: isl.Map) -> isl.Map:
    """Map each time to the times after that of the last access, up to and including itself."""
    space = last.get_space().domain()
    return last.apply_range(isl.Map.lex_lt(space)).intersect(isl.Map.lex_ge(space))


Key = TypeVar("Key")


@dataclass(eq=False)
class DistanceTally:
    """Counts of all accesses, of first accesses, and of others by stack distance, if it is constant (`settled`).

    `ranged` counts, by a and b, the accesses whose distance is at least a + T/b, for distances affine in the time;
    `open` counts accesses with other distances, each a polynomial of the time of a reference. `context` constrains
    the sizes.
    """

    context: isl.Set
    accesses: isl.PwQPolynomial = field(init=False)
    first: isl.PwQPolynomial = field(init=False)
    settled: dict[Poly, isl.PwQPolynomial] = field(default_factory=dict)
    ranged: dict[tuple[Poly, int], isl.PwQPolynomial] = field(default_factory=dict)
    open: list[tuple[Poly, TimedReference, isl.PwQPolynomial]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.accesses = self.first = isl.PwQPolynomial(
            f"[{', '.join(list_parameter_names(self.context.get_space()))}] -> {{ 0 }}"
        )

    def add(self, distances: ReuseDistances) -> None:
        """Add the accesses of references to the counts."""
        for reference, times in distances.all:
            count = times.card()
            self.accesses = self.accesses.add(_scale_count(count, reference.times))
            if reference.times > 1:
                _add_count(self.settled, ONE, _scale_count(count, reference.times - 1))
        for _, times in distances.first:
            self.first = self.first.add(times.card())
        for reuse in distances.reused:
            self._add_reused(reuse)

    def _add_reused(self, reuse: ReuseDistance) -> None:
        """Add accesses to `settled`, `ranged` or `open`, according to the form of their distance."""
        fixed, moving = _split_columns(_substitute_fixed_columns(to_polynomial(reuse.distance), reuse.times))
        if not moving:
            _add_count(self.settled, fixed, reuse.times.card())
            return
        for times, distance in self._split_into_affine_parts(reuse.times, moving):
            constant, rest = _split_columns(distance)
            if not rest:
                _add_count(self.settled, fixed + constant, times.card())
                continue
            try:
                scale, count = _count_at_least(times, rest)
                _add_count(self.ranged, (fixed + constant, scale), count)
            except NotAffineError:
                self.open.append((fixed + distance, reuse.reference, times.card()))

    def _split_into_affine_parts(self, times: isl.Set, distance: Poly) -> Iterator[tuple[isl.Set, Poly]]:
        """Split times by the values of time columns, until the distance is affine; only if all sizes are numbers."""
        column = _choose_column_to_enumerate(distance) if times.dim(isl.dim_type.param) == 0 else None
        if column is None:
            yield times, distance
            return
        place = int(column[1:])
        first, last = (int(str(end)) for end in (times.dim_min_val(place), times.dim_max_val(place)))
        for value in range(first, last + 1):
            part = times.fix_val(SET, place, isl.Val(value))
            if not part.is_empty():
                yield from self._split_into_affine_parts(part, distance.substitute({column: Poly.constant(value)}))


def _substitute_fixed_columns(value: Poly, times: isl.Set) -> Poly:
    """Substitute the time columns that equalities of `times` determine from sizes."""
    equalities = [
        affine_to_polynomial(constraint.get_aff())
        for constraint in times.affine_hull().get_constraints()
        if constraint.is_equality()
    ]
    for equality in equalities:
        for name in set(_list_columns(equality)) & set(_list_columns(value)):
            factor = equality.coefficients(Symbol(name)).get(1, ZERO)
            rest = equality - factor * Poly.symbol(name)
            if not _list_columns(rest) and abs(factor.constant_term) == 1:
                value = value.substitute({name: rest * -factor})
    return value


def _add_count(table: dict[Key, isl.PwQPolynomial], key: Key, count: isl.PwQPolynomial) -> None:
    table[key] = table[key].add(count) if key in table else count


def _scale_count(count: isl.PwQPolynomial, factor: int) -> isl.PwQPolynomial:
    return count.scale_val(isl.Val(factor))


def _list_columns(value: Poly) -> list[str]:
    return sorted(name for name in value.names if name.startswith("x"))


def _split_columns(value: Poly) -> tuple[Poly, Poly]:
    """Split a value into the terms of sizes alone, and the terms with time columns."""
    fixed = Poly(
        {
            monomial: coefficient
            for monomial, coefficient in value.terms.items()
            if not _list_columns(Poly({monomial: coefficient}))
        }
    )
    return fixed, value - fixed


def _choose_column_to_enumerate(value: Poly) -> str | None:
    """Find the time column in the most nonlinear products; None if the value is affine."""
    products = [Poly({monomial: number}) for monomial, number in value.terms.items() if sum(p for _, p in monomial) > 1]
    columns = [name for term in products for name in _list_columns(term)]
    return max(sorted(set(columns)), key=columns.count, default=None)


def _count_at_least(times: isl.Set, distance: Poly) -> tuple[int, isl.PwQPolynomial]:
    """Count the accesses whose affine distance is at least T/scale, with T a symbol; return the scale and the count.

    The scale makes all coefficients integers. Raises NotAffineError.
    """
    space = times.get_space()
    sizes = list_parameter_names(space)
    columns = [f"x{place}" for place in range(space.dim(SET))]
    names = {name: name for name in (*sizes, *columns)}
    text, scale = make_scaled_text(distance, names)
    axes = ", ".join(columns)
    far_times = isl.Set(f"[{', '.join([*sizes, THRESHOLD])}] -> {{ [{axes}] : {text} >= {THRESHOLD} }}")
    return scale, times.align_params(far_times.get_space()).intersect(far_times).card()


def count_accesses_by_distance(asked: CountProblem) -> LruCounts:
    """Count accesses by stack distance, in terms of sizes and loop variables."""
    context = isl.Set(asked.context)
    tally = DistanceTally(context)
    tally.add(derive_reuse_distances(asked.references, context))
    sizes = {f"p{place}": Poly.symbol(name) for place, name in enumerate(asked.sizes)}

    def iterate_nonzero_pieces(count: isl.PwQPolynomial) -> Iterator[CountPiece]:
        """Simplify a count under the context of sizes, and yield its nonzero pieces."""
        for domain, value in count.coalesce().gist(context).get_pieces():
            amount, parts = to_polynomial(value).substitute(sizes), domain.compute_divs().get_basic_sets()
            if amount:
                yield CountPiece(tuple(tuple(_iterate_conditions(part, sizes)) for part in parts), amount)

    def build_distance_rows(
        found: Iterable[tuple[Poly, Mapping[str, Poly], isl.PwQPolynomial]],
    ) -> tuple[DistanceCount, ...]:
        return tuple(
            DistanceCount(distance.substitute(values), tuple(iterate_nonzero_pieces(count)))
            for distance, values, count in found
        )

    def map_columns_to_values(reference: TimedReference) -> dict[str, Poly]:
        return sizes | {f"x{place}": column.value(asked.line) for place, column in enumerate(reference.time)}

    return LruCounts(
        asked.line,
        asked.sizes,
        tuple(iterate_nonzero_pieces(tally.accesses)),
        tuple(iterate_nonzero_pieces(tally.first)),
        build_distance_rows((distance, sizes, count) for distance, count in tally.settled.items()),
        tuple(
            DistanceRange(least.substitute(sizes), scale, tuple(iterate_nonzero_pieces(count)))
            for (least, scale), count in tally.ranged.items()
        ),
        build_distance_rows(
            (distance, map_columns_to_values(reference), count) for distance, reference, count in tally.open
        ),
    )


def _count_within_memory(asked: CountProblem, memory: int) -> LruCounts | str | None:
    """Run the count and return it, or the reason of a failure; None if isl is built without barvinok."""
    if not hasattr(isl.Set, "card"):
        return None
    _limit_memory(memory)
    try:
        return count_accesses_by_distance(asked)
    except isl.Error as problem:
        # isl reports a lack of memory in many ways, not all of them explicit.
        return f"isl failed, with a memory limit of {memory >> 20} MB: {problem}"
    except MemoryError:
        return f"the count takes more than {memory >> 20} MB of memory"


def _limit_memory(memory: int) -> None:
    """Limit the memory of this process in bytes, if the system supports that."""
    try:
        import resource
    except ImportError:
        return
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


if __name__ == "__main__":
    pickle.dump(_count_within_memory(*pickle.load(sys.stdin.buffer)), sys.stdout.buffer)
