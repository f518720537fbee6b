"""io of recursion from below, for any order: calls whose parts of the arrays are disjoint boxes of iterations.

    mm(A[0..h, :], B, C[0..h, :]); mm(A[h..n, :], B, C[h..n, :])       else the loops of C[i, j] += A[i, k]*B[k, j]

A call works on parts of the outermost call's arrays. Where all arrays that determine i begin at the same row of theirs,
in every call, that row + i says of an iteration where it is in the whole run; so with j and k. If calls side by side
are apart in one of these, no two iterations of the run are at the same place, and each element determines those
coordinates of the place that its subscripts hold. Then the iterations of the run are such as those of one nest of loops
over the outermost call's sizes, and the inequality of Loomis and Whitney holds for them (`any_order`). How many there
are follows by induction: as many as the loops of a leaf have at its sizes, and those of a call's parts make up its own.

Calls of other recursive algorithms count where their iterations see the same elements in the same way, as the products
and the solves that a factorisation by halves calls do (`maps`). An algorithm that does not call itself has the
iterations of any call that it makes for certain. Which arrays are touched whole follows from all calls (`filled`).

    product(A[h..n, 0..h], B[0..h, :], B[h..n, :])    in C[i, j] -= A[i, k]*B[k, j]: those at (h + i, j, k)

A call's iterations are among its caller's where each element that these see by some coordinates is seen by the call's
own, moved by as much in all elements that determine a coordinate.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, permutations

from archline.algebra.effort import TooComplexError
from archline.algebra.evaluate.exact import evaluate
from archline.algebra.facts import Facts
from archline.algebra.polynomial import ONE, ZERO, Poly
from archline.algebra.prove.prover import never_negative
from archline.analysis.cache.lower.hbl import (
    HblBound,
    IterationSpace,
    any_order,
    bodies_in,
    decided_by,
    hbl_iteration_space,
    iterations_of,
    touches_memory,
)
from archline.analysis.cache.summaries.must_access import MustAccess, must_access
from archline.ir.layout import ClosedInterval
from archline.ir.recursive import OneLevel, TooManyPathsError, enumerate_paths, recurses
from archline.ir.recursive import RecursiveBody as Called
from archline.ir.recursive import lower_recursive_body as body_of
from archline.ir.tree import Access, Array, Chain, Loop, Node, RecursiveCall, UntracedError, View
from archline.language import syntax as s
from archline.language.call_graph import component
from archline.language.model import Module
from archline.records import memoised, record, replace

Place = tuple[Array, int]
"""A dimension of an array."""


@record(eq=False)
class AccessMap:
    """An element that each iteration sees: in which dimensions a coordinate stands, and how much is added to it."""

    array: Array
    coordinates: Mapping[int, tuple[int, Poly]]

    @property
    def determined(self) -> frozenset[int]:
        """The coordinates that the element determines."""
        return frozenset(each for each, _ in self.coordinates.values())

    def sees_same_element(self, other: AccessMap) -> bool:
        """Whether both see the same element."""
        return self.array is other.array and self.coordinates == other.coordinates


@record(eq=False)
class IterationFamily:
    """Iterations that each call of an algorithm runs, no two of them with the same coordinates: how many, in its sizes.

    Its exponents are those of its access maps.
    """

    body: IterationSpace
    maps: tuple[AccessMap, ...]
    coordinates: int

    def sees_same_elements(self, other: IterationFamily) -> bool:
        """Whether iterations of both see the same elements by the same coordinates."""
        pairs = zip(self.maps, other.maps, strict=False)
        return len(self.maps) == len(other.maps) and all(one.sees_same_element(two) for one, two in pairs)

    def with_(self, other: IterationFamily) -> IterationFamily:
        """These iterations and others that see the same, none of which have the same coordinates."""
        return replace(self, body=replace(self.body, iterations=self.body.iterations + other.body.iterations))

    def dimensions_of(self, coordinate: int) -> Iterator[Place]:
        """The dimensions of arrays in which a coordinate stands."""
        for access_map in self.maps:
            found = access_map.coordinates.items()
            yield from ((access_map.array, place) for place, (each, _) in found if each == coordinate)


@record(eq=False)
class EmbeddedIterations:
    """The iterations of a call in a family of its caller, and for each coordinate intervals that it lies in."""

    call: RecursiveCall
    iterations: Poly
    ends: tuple[tuple[ClosedInterval, ...], ...]

    def apart_from(self, other: EmbeddedIterations, facts: Facts) -> bool:
        """Whether some coordinate is never the same in both."""
        return any(
            facts.nonnegative(low - hi) or facts.nonnegative(lo - high)
            for ours, theirs in zip(self.ends, other.ends, strict=True)
            for lo, hi in ours
            for low, high in theirs
        )


def seen_by(access: Access, chain: Chain, coordinates: Mapping[int, int]) -> AccessMap:
    """The access map of an access: `coordinates` gives the coordinate of a loop, by its place in the chain."""
    found = {}
    for dimension, subscript in enumerate(access.place):
        if subscript is None:
            continue
        inside = [place for place, loop in enumerate(chain) if loop.variable in subscript.names]
        if len(inside) == 1 and inside[0] in coordinates:
            rest = subscript - Poly.symbol(chain[inside[0]].variable)
            if rest.is_constant:
                found[dimension] = coordinates[inside[0]], rest
    return AccessMap(access.array, found)


@record(eq=False)
class _Shift:
    """By how much a coordinate is moved, and in which interval it lies then."""

    by: Poly
    ends: ClosedInterval


def embed_in_caller(
    own: IterationFamily, call: RecursiveCall, other: IterationFamily, facts: Facts
) -> EmbeddedIterations | None:
    """Where the iterations of a call lie among those of its caller; None where that is not known."""
    if own.coordinates != other.coordinates:
        return None
    for order in permutations(range(own.coordinates)):
        found = _coordinate_shifts(own.maps, call, other, order, facts)
        if found is not None:
            ends = tuple(tuple(each.ends for each in found[coordinate]) for coordinate in range(own.coordinates))
            values = {name: facts.restore(size) for name, size in call.sizes.items()}
            return EmbeddedIterations(call, other.body.iterations.substitute(values), ends)
    return None


def _coordinate_shifts(
    maps: Sequence[AccessMap], call: RecursiveCall, other: IterationFamily, order: Sequence[int], facts: Facts
) -> dict[int, list[_Shift]] | None:
    """How each coordinate is moved, one shift for each time that it stands somewhere; all are by as much."""
    if not maps:
        return {}
    found = _coordinate_shifts(maps[1:], call, other, order, facts)
    if found is None:
        return None
    for seen in other.maps:
        own = _shifts_of_element(maps[0], call, seen, order, facts)
        if own is not None:
            joint = {key: [*own.get(key, ()), *found.get(key, ())] for key in (*own, *found)}
            if all(each.by == shifts[0].by for shifts in joint.values() for each in shifts):
                return joint
    return None


def _shifts_of_element(
    access_map: AccessMap, call: RecursiveCall, seen: AccessMap, order: Sequence[int], facts: Facts
) -> dict[int, list[_Shift]] | None:
    """How the coordinates of an element are moved, if it is that element which the call sees."""
    view = call.views.get(seen.array.name)
    if view is None or not in_its_place(view, access_map.array):
        return None
    found: dict[int, list[_Shift]] = {}
    for dimension, (coordinate, off) in access_map.coordinates.items():
        start, inner = view.starts[dimension], seen.coordinates.get(dimension)
        if start is None or inner is None or order[inner[0]] != coordinate:
            return None
        ends = start - off, start - off + view.extents[dimension]
        found.setdefault(coordinate, []).append(_Shift(facts.simplify(start - off + inner[1]), ends))
    return found


def in_its_place(view: View, array: Array) -> bool:
    """Whether a view is a part of an array, and not of a transposed one or of some of its rows only."""
    return view.array is array and view.exact and view.axes == identity_axes(array)


def identity_axes(array: Array) -> tuple[tuple[int, Poly], ...]:
    """The axes of an array as it is."""
    return tuple((dimension, ONE) for dimension in range(len(array.extents)))


class NoBoxesError(Exception):
    """Why iterations of a recursion are not distinct."""


@record(eq=False)
class CallTreeBound:
    """io >= `touched`, the lines of arrays that are touched whole, and >= what `orders` has.

    Where there is `some`, it is 1 at least. `reason` says why `orders` has no bodies.
    """

    touched: Poly
    orders: HblBound
    some: bool = False
    reason: str = ""

    def at(self, point: Mapping[str, int]) -> int:
        """The bound at sizes, Z and L; Z >= L. Raises EvaluationError."""
        return max(int(self.some), int(evaluate(self.touched, point)), self.orders.at(point))


@record(eq=False)
class _Path:
    """What one way through a body does: its calls of recursive algorithms, and what is not recursive.

    All of `known` are at least 0 there.
    """

    known: tuple[Poly, ...]
    calls: tuple[RecursiveCall, ...]
    nodes: tuple[Node, ...]


def recursive_hbl_bound(module: Module, body: Called, known: MustAccess | None = None) -> CallTreeBound:
    """The lower bounds of a recursive algorithm, in its sizes; `known` is what its calls touch in full."""
    touched = (known or must_access(module, body.algorithm)).lines(body.algorithm)
    found, some, reason = list[IterationSpace](), False, ""
    try:
        paths = _body_paths(module, body)
        some = all(_calls_itself(path, body) or touches_memory(path.nodes) for path in paths)
        found = list(_FamilyTable(module).bodies(body, paths))
    except NoBoxesError as problem:
        reason = str(problem)
    return CallTreeBound(touched, HblBound(tuple(found)), some, reason)


# Ways through a body
def _body_paths(module: Module, body: Called) -> list[_Path]:
    if len(circle := component(module, body.algorithm)) > 1:
        raise NoBoxesError(f"`{circle[0].name}` and `{circle[1].name}` are mutually recursive")
    try:
        every = enumerate_paths(body.nodes)
    except TooManyPathsError:
        raise NoBoxesError("too many paths through its branches") from None
    return [_body_path(known or (), nodes) for known, nodes in every]


def _body_path(known: tuple[Poly, ...], nodes: Sequence[Node]) -> _Path:
    if any(isinstance(node, Loop) and recurses(node) for node in nodes):
        raise NoBoxesError("recursive calls inside a loop")
    calls = tuple(node for node in nodes if isinstance(node, RecursiveCall))
    return _Path(known, calls, tuple(node for node in nodes if not isinstance(node, RecursiveCall)))


def _calls_itself(path: _Path, body: Called) -> bool:
    return any(call.target is body.algorithm for call in path.calls)


# Iterations that are distinct
@dataclass(eq=False)
class _FamilyTable:
    """The families of algorithms, each found once."""

    module: Module

    def bodies(self, body: Called, paths: Sequence[_Path]) -> Iterator[IterationSpace]:
        """What an algorithm runs for certain, in its sizes. Raises NoBoxesError if nothing is known."""
        if component(self.module, body.algorithm):
            yield from (family.body for family in self._of(body, paths))
            return
        if len(paths) != 1:
            raise NoBoxesError(f"`{body.algorithm.name}` is not recursive but has several paths")
        facts = body.scope.facts
        found = list(any_order(paths[0].nodes, facts).bodies)
        for call in paths[0].calls:
            given = (_space_in_caller(call, family, facts) for family in self.of(call.target))
            found += [each for each in given if each is not None]
        if not found:
            raise NoBoxesError(f"`{body.algorithm.name}` does not call itself, nor what is known to bound it")
        yield from found

    @memoised
    def of(self, algorithm: s.Algorithm) -> tuple[IterationFamily, ...]:
        """Those of an algorithm that another one calls; none where they are not known."""
        try:
            body = body_of(self.module, algorithm, OneLevel())
            return tuple(self._of(body, _body_paths(self.module, body)))
        except (NoBoxesError, UntracedError, TooComplexError):
            return ()

    def _of(self, body: Called, paths: Sequence[_Path]) -> list[IterationFamily]:
        leaves = [path for path in paths if not _calls_itself(path, body)]
        if len(leaves) != 1:
            raise NoBoxesError(f"{len(leaves) or 'no'} branches without recursive calls")
        problem = NoBoxesError("no loop nest in its base cases has array subscripts that use all loop variables")
        found = []
        for choices in _leaf_families(leaves[0].nodes, body.scope.facts):
            for number, family in enumerate(choices):
                try:
                    for path in paths:
                        self._check(path, family, body)
                except NoBoxesError as why:
                    problem = problem if number else why
                else:
                    found.append(family)
                    break
        if not found:
            raise problem
        return found

    def _check(self, path: _Path, own: IterationFamily, body: Called) -> None:
        """Raises NoBoxesError unless the calls of a way keep iterations apart, and make up all of them."""
        if not _calls_itself(path, body):
            return
        facts, found = body.scope.facts, list[EmbeddedIterations]()
        for call in path.calls:
            itself = call.target is body.algorithm
            others = (own,) if itself else self.of(call.target)
            each = next(
                (one for other in others if (one := embed_in_caller(own, call, other, facts)) is not None), None
            )
            if itself:
                _require_parts(own, call, facts)
            if each is not None:
                found.append(each)
            elif itself:
                raise NoBoxesError(f"the call in line {call.span.line} is not known to see what its caller's loops do")
        for one, other in combinations(found, 2):
            if not one.apart_from(other, facts):
                raise NoBoxesError(
                    f"the calls in lines {one.call.span.line} and {other.call.span.line} may do the same"
                )
        more = sum((each.iterations for each in found), ZERO) - own.body.iterations
        for value in path.known:
            facts = facts.with_nonnegative(value)
        if not never_negative(more.substitute(facts.rewrites), facts):
            raise NoBoxesError(f"the calls from line {found[0].call.span.line} on do not cover all of its iterations")


def _require_parts(own: IterationFamily, call: RecursiveCall, facts: Facts) -> None:
    """Raises NoBoxesError unless all arrays that determine a coordinate are given from the same place on."""
    for coordinate in range(own.coordinates):
        starts = {_view_start(call, place, facts) for place in own.dimensions_of(coordinate)}
        if len(starts) != 1:
            names = " and ".join(dict.fromkeys(f"`{array.name}`" for array, _ in own.dimensions_of(coordinate)))
            raise NoBoxesError(f"parts of {names} in the call in line {call.span.line} have different origins")


def _view_start(call: RecursiveCall, place: Place, facts: Facts) -> Poly:
    """Where the part that a call is given begins. Raises NoBoxesError."""
    array, dimension = place
    view, line = call.views.get(array.name), call.span.line
    if view is None or view.array is not array or not in_its_place(replace(view, exact=True), array):
        raise NoBoxesError(f"the call in line {line} does not pass a part of `{array.name}` in the same position")
    start = view.starts[dimension]
    if start is None or not view.exact:
        raise NoBoxesError(f"the position of the parts in the call in line {line} depends on data")
    end = start + view.extents[dimension]
    if not (facts.nonnegative(start) and facts.nonnegative(array.extents[dimension] - end)):
        raise NoBoxesError(f"the call in line {line} may access outside `{array.name}`")
    return facts.simplify(start)


# Leaves
@record(eq=False)
class _Leaf:
    """Loops of a leaf, and the iterations that they run."""

    chains: tuple[Chain, ...]
    family: IterationFamily

    def with_(self, other: _Leaf) -> _Leaf:
        """Both as one."""
        return _Leaf((*self.chains, *other.chains), self.family.with_(other.family))


def _leaf_families(nodes: tuple[Node, ...], facts: Facts) -> list[list[IterationFamily]]:
    """What the loops of a leaf run: for each nest, or several as one, families to be tried one after the other."""
    found: list[list[_Leaf]] = []
    for chain, own in bodies_in(nodes):
        choices = [leaf for some in _array_subsets(own) if (leaf := _leaf_of_nest(chain, some, facts)) is not None]
        beside = next((place for place, known in enumerate(found) if _go_together(known, choices)), None)
        if beside is None:
            found.append(choices)
        else:
            found[beside] = [one.with_(other) for one, other in zip(found[beside], choices, strict=True)]
    return [[leaf.family for leaf in choices] for choices in found if choices]


def _array_subsets(own: Sequence[Access]) -> Iterator[Sequence[Access]]:
    """All accesses, and those to all arrays but one: the parts of some arrays may overlap where others lie apart."""
    yield own
    for array in dict.fromkeys(access.array for access in own):
        yield [access for access in own if access.array is not array]


def _leaf_of_nest(chain: Chain, own: Sequence[Access], facts: Facts) -> _Leaf | None:
    decided = decided_by(chain)
    free = [place for place in range(len(chain)) if place not in decided.values()]
    coordinates = {place: number for number, place in enumerate(free)}
    seen = {
        (access.array, access.place): seen_by(access, chain, coordinates) for access in own if not access.array.local
    }
    determined = {key: access_map.determined for key, access_map in seen.items()}
    body = hbl_iteration_space(determined, range(len(free)), iterations_of(chain), facts)
    if body is None:
        return None
    used = [number for number, exponent in enumerate(body.exponents) if exponent]
    exponents, times = tuple(body.exponents[number] for number in used), tuple(body.times[number] for number in used)
    maps = tuple(each for number, each in enumerate(seen.values()) if number in used)
    return _Leaf((chain,), IterationFamily(IterationSpace(body.iterations, exponents, times), maps, len(free)))


def _go_together(some: Sequence[_Leaf], others: Sequence[_Leaf]) -> bool:
    """Whether nests see the same, and have no iteration in common."""
    return len(some) == len(others) and all(
        one.family.sees_same_elements(other.family)
        and all(_are_disjoint_nests(chain, new) for chain in one.chains for new in other.chains)
        for one, other in zip(some, others, strict=True)
    )


def _are_disjoint_nests(one: Chain, other: Chain) -> bool:
    """Whether two nests have common loops outside, and inside those run over other numbers."""
    for ours, theirs in zip(one, other, strict=False):
        if ours is not theirs:
            facts = ours.facts
            return facts.nonnegative(theirs.lo - ours.hi) or facts.nonnegative(ours.lo - theirs.hi)
    return False


# What an algorithm calls
def _space_in_caller(call: RecursiveCall, family: IterationFamily, facts: Facts) -> IterationSpace | None:
    """The iterations of a call as its caller's, which see what the call is given of the caller's arrays."""
    determined: dict[tuple[Array, tuple[Poly | None, ...]], frozenset[int]] = {}
    for number, access_map in enumerate(family.maps):
        view = call.views.get(access_map.array.name)
        if view is not None and view.exact and not view.array.local:
            determined[view.array, (Poly.constant(number),)] = access_map.determined
    iterations = family.body.iterations.substitute({name: facts.restore(size) for name, size in call.sizes.items()})
    return hbl_iteration_space(determined, range(family.coordinates), iterations, facts)
