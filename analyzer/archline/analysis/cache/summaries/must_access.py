"""Find must-access regions: parts of arrays that every call touches in full, for any data.

    sort(a[0..h]); sort(a[h..n])
    split(b[0..q], c[0..h + q]); c[h + q] = ...; split(b[q..m], c[h + q + 1..n + m])

By induction over all calls: on each path through a body, the elements that it accesses and the regions that
its calls touch in full cover the claimed region. Claims are the whole array, all but its first or last row and
column, or one side of its diagonal. Some claims require extents of at least 1 or 2, as a single key needs no
sorting. If indices select the work of a call, claims are boxes in terms of these: the regions of leaves are tried.
A data-dependent integer that does not change between two calls is a symbol, so that regions which end and begin
with it are known to be adjacent; slices lie in their arrays, as a run stops otherwise. Code that is not followed
touches nothing here.

A recursion by indices receives whole arrays, and indices select the work of a call. A leaf that touches
u[t1%2, x0..x1] where t1 - t0 is 1 may be the last of calls that all touch u[(t0 + 1)%2, x0..x1].
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import gcd
from typing import Protocol

from archline.algebra import atoms as a
from archline.algebra.effort import TooComplexError, limit_effort
from archline.algebra.facts import Facts
from archline.algebra.polynomial import ONE, ZERO, Poly
from archline.algebra.sums.summation import UnresolvedError, sum_over
from archline.analysis.cache.footprint.windows import find_coefficient
from archline.analysis.cache.summaries.regions import (
    ArrayPart,
    Claims,
    Half,
    HalfOpenBox,
    MustTouchRegion,
    RegionCollector,
)
from archline.analysis.cost import TouchedRegion
from archline.ir.layout import LINE, count_array_lines
from archline.ir.recursive import MustLowering, TooManyPathsError, enumerate_paths, find_recursive_calls
from archline.ir.recursive import lower_recursive_body as body_of
from archline.ir.tree import Array, Node, UntracedError, contiguous_dimension, iterate_accesses, remove_pure_reads
from archline.language import syntax as s
from archline.language.call_graph import list_components
from archline.language.model import Module
from archline.records import memoised, record, replace

MAX_LEAF_BOXES = 12
"""The maximum number of regions of leaves that are tried as claims."""


def list_array_claims(array: Array) -> list[MustTouchRegion]:
    """List candidate must-access regions (claims) of an array that do not depend on indices, strongest first."""
    dimensions = len(array.extents)
    zeros, units, twos = (0,) * dimensions, (1,) * dimensions, (2,) * dimensions
    single = [(*units[:dimension], 2, *units[dimension + 1 :]) for dimension in range(dimensions)]
    claims = [MustTouchRegion(least) for least in dict.fromkeys((zeros, units, *single, twos))]
    if dimensions == 2 and array.extents[0] == array.extents[1]:
        halves: tuple[Half, ...] = ("lower", "upper")
        claims += [MustTouchRegion(zeros, half=half, beside=beside) for beside in (False, True) for half in halves]
    return [*claims, *(MustTouchRegion(zeros, *margins) for margins in ((1, 0), (0, 1), (1, 1)))]


def list_box_claims(
    boxes: Iterable[HalfOpenBox], known: Sequence[Poly], names: Iterable[str], facts: Facts
) -> list[MustTouchRegion]:
    """List candidate must-access regions (claims) from boxes that a base case touches, in terms of `names`.

    Each box is also tried with an index replaced by a sum that equals it by the conditions `known`.
    """
    largest = _select_maximal_boxes(dict.fromkeys(boxes), facts.nonnegative)
    equations = list(_iterate_index_equations(known))
    result: dict[HalfOpenBox, None] = {}
    for box in largest[:MAX_LEAF_BOXES]:
        for name, value in (("", ZERO), *equations):
            shifted = tuple((lo.substitute({name: value}), hi.substitute({name: value})) for lo, hi in box)
            if all(end.names.issubset(names) and facts.restore(end) == end for ends in shifted for end in ends):
                result[shifted] = None
    return [MustTouchRegion((0,) * len(box), own=box) for box in result]


def _select_maximal_boxes(boxes: Iterable[HalfOpenBox], nonnegative: Callable[[Poly], bool]) -> list[HalfOpenBox]:
    result: list[HalfOpenBox] = []
    for box in boxes:
        if not any(_is_contained(box, existing, nonnegative) for existing in result):
            result = [*(existing for existing in result if not _is_contained(existing, box, nonnegative)), box]
    return result


def _is_contained(one: HalfOpenBox, other: HalfOpenBox, nonnegative: Callable[[Poly], bool]) -> bool:
    pairs = zip(one, other, strict=True)
    return all(nonnegative(lo - low) and nonnegative(high - hi) for (lo, hi), (low, high) in pairs)


def _iterate_index_equations(known: Sequence[Poly]) -> Iterator[tuple[str, Poly]]:
    """Yield names with the sums that they equal if all values of `known` are nonnegative."""
    for first, second in combinations(known, 2):
        if first + second == ZERO:
            for name in sorted(first.names):
                slope = find_coefficient(first, name)
                if slope is not None and slope * slope == Poly.constant(1):
                    yield name, Poly.symbol(name) - first * slope


# Claims that count together
def select_separate_claims(array: Array, claims: Iterable[MustTouchRegion], facts: Facts) -> list[MustTouchRegion]:
    """Select claimed regions of an array that share no line pairwise, the first one among them."""
    result: list[MustTouchRegion] = []
    for claim in claims:
        if all(_are_in_separate_rows(array, claim, other, facts) for other in result):
            result.append(claim)
    return result


def _are_in_separate_rows(array: Array, one: MustTouchRegion, other: MustTouchRegion, facts: Facts) -> bool:
    if one.own is None or other.own is None or array.layout == "zmorton":
        return False
    for dimension, ((lo, hi), (low, high)) in enumerate(zip(one.own, other.own, strict=True)):
        is_single = hi - lo == high - low == Poly.constant(1)
        disjoint = (
            facts.nonnegative(low - hi) or facts.nonnegative(lo - high) or (is_single and _is_never_equal(lo, low))
        )
        if disjoint and dimension != contiguous_dimension(array):
            return True
    return False


def _is_never_equal(one: Poly, other: Poly) -> bool:
    """Test whether two integers are never equal, as their remainders by some number differ: t%2 and (t + 1)%2."""
    difference = one - other
    rest = difference - difference.constant_term
    if not a.is_integral(rest):
        return False
    divisor, remainder = gcd(*(int(factor.p) for factor in rest.terms.values())), difference.constant_term
    return remainder != 0 if divisor == 0 else remainder.q == 1 and int(remainder.p) % divisor != 0


MAX_TESTED_BOXES = 200
"""The maximum number of boxes that are tested while a box is cut at the ends of parts."""
_TRANSPOSED_HALF: Mapping[Half, Half] = {"": "", "lower": "upper", "upper": "lower"}
"""The half that results from exchanging rows and columns."""


class SizeBounds(Protocol):
    """A prover of bounds on sizes."""

    def nonnegative(self, value: Poly) -> bool:
        """Test whether a value is proved nonnegative."""


@dataclass(eq=False)
class BoxCover:
    """Decides whether parts cover a box or half of it, by cutting it where a part that covers its beginning ends.

    `way` proves bounds on a path, and `tries` counts the boxes that were tested.
    """

    way: SizeBounds
    tries: int = 0

    def is_covered(self, box: HalfOpenBox, parts: Sequence[ArrayPart]) -> bool:
        self.tries += 1
        if any(self.way.nonnegative(lo - hi) for lo, hi in box):
            return True
        for number, part in enumerate(parts):
            if self.tries > MAX_TESTED_BOXES:
                return False
            rest = (*parts[:number], *parts[number + 1 :])
            if not part.half and self._is_at_beginning(part.box, box) and self._is_covered_from(box, part.box, rest):
                return True
        return False

    def is_half_covered(self, box: HalfOpenBox, half: Half, parts: Sequence[ArrayPart]) -> bool:
        """Test whether parts cover half of a square box."""
        if half == "upper":
            # Exchange rows and columns.
            return self._is_lower_half_covered(
                box[::-1], [ArrayPart(part.box[::-1], _TRANSPOSED_HALF[part.half]) for part in parts]
            )
        return self._is_lower_half_covered(box, parts)

    def _is_lower_half_covered(self, box: HalfOpenBox, parts: Sequence[ArrayPart]) -> bool:
        self.tries += 1
        (top, bottom), (left, right) = box
        if self.way.nonnegative(top - bottom):
            return True
        for number, part in enumerate(parts):
            if (
                self.tries > MAX_TESTED_BOXES
                or not self._is_at_beginning(part.box, box)
                or not self._contains_triangle(part, top - left)
            ):
                continue
            # The part contains all rows before the middle.
            middle, column = part.box[0][1], left + part.box[0][1] - top
            rest = (*parts[:number], *parts[number + 1 :])
            if not self.way.nonnegative(part.box[1][1] - column):
                middle, column = top + part.box[1][1] - left, part.box[1][1]
                if not self.way.nonnegative(part.box[0][1] - middle) or not self.way.nonnegative(middle - top - 1):
                    continue
                rest = (*parts,)
            if self.way.nonnegative(middle - bottom):
                return True
            if self._is_lower_half_covered(((middle, bottom), (column, right)), rest) and self.is_covered(
                ((middle, bottom), (left, column)), rest
            ):
                return True
        return False

    def _contains_triangle(self, part: ArrayPart, diagonal: Poly) -> bool:
        """Test whether a part contains all elements of its box below a diagonal, given as row minus column."""
        (top, _), (left, _) = part.box
        return not part.half or (part.half == "lower" and self.way.nonnegative(diagonal - (top - left)))

    def _is_at_beginning(self, part: HalfOpenBox, box: HalfOpenBox) -> bool:
        return all(self.way.nonnegative(low - lo) for (low, _), (lo, _) in zip(box, part, strict=True))

    def _is_covered_from(self, box: HalfOpenBox, part: HalfOpenBox, others: Sequence[ArrayPart]) -> bool:
        """Test whether a part at the beginning of a box, and further parts, cover the box."""
        short = [index for index, (_, end) in enumerate(box) if not self.way.nonnegative(part[index][1] - end)]
        if not short:
            return True
        dimension, (start, end) = short[0], box[short[0]]
        middle = part[dimension][1]
        behind = (*box[:dimension], (middle, end), *box[dimension + 1 :])
        before = (*box[:dimension], (start, middle), *box[dimension + 1 :])
        return self.is_covered(behind, others) and self._is_covered_from(before, part, others)


ArrayClaims = tuple[tuple[Array, MustTouchRegion], ...]
MAX_TERM_PRODUCTS = 400_000
"""The effort limit for each body, for the claims of mutually recursive algorithms, and for those of local arrays."""


@record(eq=False)
class MustAccess:
    """The must-access regions of an algorithm and its callees: `claims` about arguments, `made` about local arrays.

    `bodies` has the algorithms that can be followed.
    """

    bodies: Mapping[s.Algorithm, FollowedBody]
    claims: Claims
    made: Mapping[s.Algorithm, ArrayClaims]

    def list_separate_regions(self, algorithm: s.Algorithm) -> ArrayClaims:
        """List regions that a call touches and that share no line, in its arguments and local arrays."""
        body, claimed = self.bodies[algorithm], self.claims[algorithm]
        result: list[tuple[Array, MustTouchRegion]] = []
        for array in body.given:
            nonempty = [claim for claim in claimed.get(array.name, ()) if body.can_be_nonempty(array, claim)]
            result += [(array, claim) for claim in select_separate_claims(array, nonempty, body.facts)]
        return (*result, *self.made[algorithm])

    def bound_lines_below(
        self, algorithm: s.Algorithm, *, plain: bool = False, of: frozenset[str] | None = None
    ) -> Poly:
        """Bound the lines that one call touches from below, in its sizes and L; its arrays are aligned to lines.

        `plain` gives a weaker bound that is easier to compare; `of` restricts the count to named arguments.
        """
        body = self.bodies.get(algorithm)
        if body is None:
            return ZERO
        total = ZERO
        for array, claim in self.list_separate_regions(algorithm):
            if of is not None and (array.local or array.name not in of):
                continue
            # Regions without a closed form count nothing.
            with suppress(UnresolvedError, TooComplexError):
                total = total + _bound_claim_lines_below(array, claim, body.facts, plain)
        return body.facts.restore(total)

    def list_touched_regions(self, algorithm: s.Algorithm) -> tuple[TouchedRegion, ...]:
        """List the must-access regions of a call as result records."""
        body = self.bodies.get(algorithm)
        if body is None:
            return ()
        restore, regions = body.facts.restore, []
        for array, claim in self.list_separate_regions(algorithm):
            ends = tuple((restore(lo), restore(hi - 1)) for lo, hi in claim.box_in_array(array))
            pairs = zip(array.extents, claim.least, strict=True)
            minima = tuple((restore(extent), least) for extent, least in pairs if least > 1)
            regions.append(TouchedRegion(array.name, ends, minima, claim.half))
        return tuple(regions)


def derive_must_access(module: Module, algorithm: s.Algorithm, written: bool = False) -> MustAccess:
    """Derive the regions that calls touch in full, or write in full if `written`."""
    bodies: dict[s.Algorithm, FollowedBody] = {}
    claims: dict[s.Algorithm, Mapping[str, Sequence[MustTouchRegion]]] = {}
    local_claims: dict[s.Algorithm, ArrayClaims] = {}
    for together in list_components(module, algorithm):
        followed = {callee: body for callee in together if (body := _follow_body(module, callee, written)) is not None}
        bodies |= followed
        try:
            with limit_effort(MAX_TERM_PRODUCTS, own=True):
                claims |= _compute_greatest_fixpoint(followed, claims)
        except (TooComplexError, RecursionError):
            claims |= {callee: {} for callee in followed}
        local_claims |= {callee: _derive_local_array_claims(body, claims) for callee, body in followed.items()}
    return MustAccess(bodies, claims, local_claims)


# Claims
def _compute_greatest_fixpoint(bodies: Mapping[s.Algorithm, FollowedBody], known: Claims) -> Claims:
    """Remove claimed must-access regions that the claims of callees do not imply, until all that remain are implied.

    In place of a claim about a whole array, the next weaker one is tried. `known` has the claims of other
    algorithms.
    """
    weaker = {callee: {array.name: list_array_claims(array) for array in body.given} for callee, body in bodies.items()}
    current = {
        callee: {
            array.name: [weaker[callee][array.name].pop(0), *body.iterate_leaf_claims(array, known)]
            for array in body.given
        }
        for callee, body in bodies.items()
    }
    assumed, changed = {**known, **current}, True
    while changed:
        changed = False
        for algorithm, body in bodies.items():
            for array in body.given:
                claimed, untried = current[algorithm][array.name], weaker[algorithm][array.name]
                for claim in list(claimed):
                    if body.implies(array, claim, assumed):
                        continue
                    changed = True
                    touched = body.is_touched_on_all_paths(array, assumed)
                    claimed.remove(claim)
                    if claim.own is None and untried and touched:
                        claimed.insert(0, untried.pop(0))
    return current


def _derive_local_array_claims(body: FollowedBody, claims: Claims) -> ArrayClaims:
    """Derive claims about local arrays, for the largest group that lies one above the other on the stack."""
    result: dict[Array, MustTouchRegion] = {}
    try:
        with limit_effort(MAX_TERM_PRODUCTS, own=True):
            for array in body.local_arrays:
                claim = _find_first_valid_claim(body, array, claims)
                if claim is not None:
                    result[array] = claim
    except (TooComplexError, RecursionError):
        return ()
    stacks = ([member for member in (*array.beneath, array) if member in result] for array in result)
    return tuple((array, result[array]) for array in max(stacks, key=len, default=[]))


def _find_first_valid_claim(body: FollowedBody, array: Array, claims: Claims) -> MustTouchRegion | None:
    """Find the first claim about a local array that holds and whose region can be nonempty. None if there is none."""
    candidates = list_array_claims(array) if body.is_touched_on_all_paths(array, claims) else []
    return next(
        (claim for claim in candidates if body.can_be_nonempty(array, claim) and body.implies(array, claim, claims)),
        None,
    )


# Lines of claims
def _bound_claim_lines_below(array: Array, claim: MustTouchRegion, facts: Facts, plain: bool) -> Poly:
    if claim.half:
        return _bound_half_square_lines_below(array, claim, facts, plain)
    if claim.before or claim.behind or claim.own is not None:
        return _bound_inner_region_lines_below(array, claim, facts)
    return _make_extents_indicator(claim.least, array, facts) * (
        _bound_zmorton_lines_below(array) or count_array_lines(array)
    )


def _bound_zmorton_lines_below(array: Array) -> Poly | None:
    """Bound the lines of an array in Z-Morton order from below; None in other layouts."""
    if array.layout != "zmorton":
        return None
    rows, columns = array.extents
    return a.ceil_div(rows * columns, LINE)


def _make_extents_indicator(least: Sequence[int], array: Array, facts: Facts) -> Poly:
    """Build a factor of at most 1 that is 0 if an extent is below its minimum, unless the array is empty."""
    factor = ONE
    for extent in dict.fromkeys(extent for extent, minimum in zip(array.extents, least, strict=True) if minimum > 1):
        if not facts.nonnegative(extent - 2):
            factor = a.minimum(factor, a.positive_part(extent - 1))
    return factor


def _bound_half_square_lines_below(array: Array, claim: MustTouchRegion, facts: Facts, plain: bool) -> Poly:
    """Bound the lines of half a square from below, row by row or column by column; `plain` gives a weaker bound."""
    extent, row = array.extents[0], Poly.symbol("row")
    if array.layout == "zmorton":
        count = extent - int(claim.beside)
        return a.ceil_div(count * (count + 1) / 2, LINE)
    if plain or (claim.half == "lower") == (array.layout == "rowmajor"):
        # w words are at least ceil(w/L) lines, wherever they begin.
        return sum_over(a.ceil_div(row + int(not claim.beside), LINE), "row", ZERO, extent, facts)
    row_lines = a.ceil_div(extent, LINE) - a.floor_div(row + int(claim.beside), LINE)
    # Without the diagonal the last row is empty.
    return sum_over(row_lines, "row", ZERO, extent - int(claim.beside), facts)


def _bound_inner_region_lines_below(array: Array, claim: MustTouchRegion, facts: Facts) -> Poly:
    """Bound the lines of a region from below: w words of a row are at least ceil(w/L) lines."""
    part = replace(array, extents=tuple(facts.positive_part(hi - lo) for lo, hi in claim.box_in_array(array)))
    return _bound_zmorton_lines_below(part) or count_array_lines(part)


# Bodies
@record(eq=False)
class PathFacts:
    """The facts on a path through a body: those of the body, and values `known` to be nonnegative."""

    facts: Facts
    known: tuple[Poly, ...]

    @cached_property
    def refined(self) -> Facts:
        """The facts, with the symbol bounds that follow from the path's conditions."""
        facts = self.facts
        # One condition may decide a maximum in another one.
        for value in (*self.known, *self.known):
            facts = facts.with_nonnegative(facts.simplify(value))
        return facts

    @cached_property
    def is_impossible(self) -> bool:
        """True if no sizes satisfy the path's conditions."""
        return any(self.refined.nonnegative(-condition - 1) for condition in self.known)

    def nonnegative(self, value: Poly) -> bool:
        """Test whether a value is nonnegative, by the facts or because it is at least a condition."""
        return self.refined.nonnegative(value) or any(
            self.facts.nonnegative(value - condition) for condition in self.known
        )


@record(eq=False)
class FollowedBody:
    """A lowered body: its array arguments (`given`), sizes and indices, and its paths (`ways`).

    A path is a pair of its conditions, which are nonnegative values, and its nodes.
    """

    given: tuple[Array, ...]
    sizes: tuple[str, ...]
    indices: tuple[str, ...]
    facts: Facts
    ways: tuple[tuple[tuple[Poly, ...], tuple[Node, ...]], ...]

    def implies(self, array: Array, claim: MustTouchRegion, claims: Claims) -> bool:
        """Test whether a claimed region is touched in full on all paths, by accesses or by claims of callees."""
        large = tuple(extent - least for extent, least in zip(array.extents, claim.least, strict=True) if least)
        box = claim.box_in_array(array)
        for known, nodes in self.ways:
            way = self.path_facts(known, large)
            if way.is_impossible:
                continue
            regions = RegionCollector(array, claims).collect(nodes, way.refined)
            parts = dict.fromkeys(region.part for region in regions if all(map(way.nonnegative, region.needs)))
            cover = BoxCover(way)
            covered = (
                cover.is_half_covered(box, claim.half, list(parts))
                if claim.half
                else cover.is_covered(box, list(parts))
            )
            if not covered:
                return False
        return True

    def iterate_leaf_claims(self, array: Array, claims: Claims) -> Iterator[MustTouchRegion]:
        """Yield candidate claims from the boxes that base cases touch, if indices select the work of calls."""
        result: dict[MustTouchRegion, None] = {}
        for conditions, nodes in self.ways:
            targets = {call.target for call in find_recursive_calls(nodes)}
            of_callees = (
                claim
                for callee in targets & claims.keys()
                for array_claims in claims[callee].values()
                for claim in array_claims
            )
            if targets <= claims.keys() and (self.indices or any(claim.own is not None for claim in of_callees)):
                way = self.path_facts(conditions)
                parts = RegionCollector(array, claims).collect(nodes, way.refined)
                certain = (region for region in parts if all(map(way.nonnegative, region.needs)))
                boxes = (region.part.box for region in certain if not region.part.half)
                names = (*self.sizes, *self.indices)
                result |= dict.fromkeys(list_box_claims(boxes, conditions, names, way.refined))
        return iter(result)

    def can_be_nonempty(self, array: Array, claim: MustTouchRegion) -> bool:
        """Test whether the claimed region of an array can be nonempty."""
        missing = [least - 1 - extent for extent, least in zip(array.extents, claim.least, strict=True)]
        return not any(map(self.facts.nonnegative, (*missing, *(lo - hi for lo, hi in claim.box_in_array(array)))))

    def is_touched_on_all_paths(self, array: Array, claims: Claims) -> bool:
        """Test whether every path accesses an array, or passes it to a call with a claim about it."""
        large = tuple(extent - 2 for extent in array.extents)
        return all(
            self.path_facts(known, large).is_impossible or _mentions_array(nodes, array, claims)
            for known, nodes in self.ways
        )

    @cached_property
    def local_arrays(self) -> tuple[Array, ...]:
        """The local arrays that a call makes exactly once, at a fixed address."""
        arrays = dict.fromkeys(array for _, nodes in self.ways for array in _iterate_mentioned_arrays(nodes))
        return tuple(array for array in arrays if array.local and array.exact and not array.within and not array.moves)

    @memoised
    def path_facts(self, known: tuple[Poly, ...], large: tuple[Poly, ...] = ()) -> PathFacts:
        """Return the facts of a path on which the conditions `known` and the values `large` are nonnegative."""
        return PathFacts(self.facts, (*large, *known))


def _follow_body(module: Module, algorithm: s.Algorithm, written: bool) -> FollowedBody | None:
    """Lower a body and list its paths; None if it cannot be followed.

    If `written`, accesses that only read are left out.
    """
    try:
        with limit_effort(MAX_TERM_PRODUCTS, own=True):
            body = body_of(module, algorithm, MustLowering())
        nodes = tuple(remove_pure_reads(body.nodes)) if written else body.nodes
        paths = tuple((known or (), path_nodes) for known, path_nodes in enumerate_paths(nodes))
    except (UntracedError, TooManyPathsError, TooComplexError, RecursionError):
        return None
    signature = module.signatures[algorithm]
    return FollowedBody(body.given, signature.size_names, signature.indices, body.scope.facts, paths)


def _iterate_mentioned_arrays(nodes: Sequence[Node]) -> Iterator[Array]:
    """Yield the arrays that nodes access or pass to calls."""
    yield from (access.array for access, _ in iterate_accesses(tuple(nodes)))
    yield from (view.array for call in find_recursive_calls(nodes) for view in call.views.values())


def _mentions_array(nodes: Sequence[Node], array: Array, claims: Claims) -> bool:
    """Test whether nodes access an array, or pass it to a call with a claim about it."""
    return any(access.array is array for access, _ in iterate_accesses(tuple(nodes))) or any(
        view.array is array and bool(claims.get(call.target, {}).get(name))
        for call in find_recursive_calls(nodes)
        for name, view in call.views.items()
    )
