"""Bound the io of every schedule of a recursion from below, if its calls have disjoint boxes of iterations.

    mm(A[0..h, :], B, C[0..h, :]); mm(A[h..n, :], B, C[h..n, :])    else loops of C[i, j] += A[i, k]*B[k, j]

A call works on parts of the outermost call's arrays. If in every call all arrays that determine i begin at the
same row, that row + i is a global coordinate of an iteration; likewise for j and k. If the calls of a body differ
in one coordinate, no two iterations of the run have the same coordinates, and each element determines those
coordinates that its subscripts contain. Then the iterations of the run form one loop nest over the outermost
call's sizes, and the inequality of Loomis and Whitney applies (`hbl`). Their number follows by induction: a
leaf has the iterations of its loops, and the iterations of a body's calls sum to those of the call itself.

Calls of other recursive algorithms count if their iterations access the same elements by the same coordinates, as
the products and the solves that a factorisation by halves calls do (`maps`). An algorithm that does not call
itself has the iterations of any call that it is certain to make. The lines that the run is certain to touch
follow from the must-access regions (`must_access`).

    product(A[h..n, 0..h], B[0..h, :], B[h..n, :])    in C[i, j] -= A[i, k]*B[k, j]: those at (h + i, j, k)

A call's iterations are embedded in its caller's if each element that they access by some coordinates is accessed
by the caller's iterations, with each coordinate shifted by the same amount in all elements that determine it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, permutations

from archline.algebra.effort import TooComplexError
from archline.algebra.evaluate.exact import evaluate
from archline.algebra.facts import Facts
from archline.algebra.polynomial import ONE, ZERO, Poly
from archline.algebra.prove.prover import prove_never_negative
from archline.analysis.cache.lower.hbl import (
    HblBody,
    HblBound,
    count_iterations,
    derive_hbl_bound,
    find_tiling_loops,
    group_certain_accesses,
    has_certain_access,
    solve_hbl_body,
)
from archline.analysis.cache.summaries.must_access import MustAccess, derive_must_access
from archline.ir.layout import ClosedInterval
from archline.ir.recursive import OneLevelLowering, TooManyPathsError, contains_recursive_call, enumerate_paths
from archline.ir.recursive import RecursiveBody as Called
from archline.ir.recursive import lower_recursive_body as body_of
from archline.ir.tree import Access, Array, Chain, Loop, Node, RecursiveCall, UntracedError, View
from archline.language import syntax as s
from archline.language.call_graph import find_recursive_component
from archline.language.model import Module
from archline.records import memoised, record, replace

ArrayDimension = tuple[Array, int]
"""A dimension of an array."""


@record(eq=False)
class AccessMap:
    """The element of `array` that each iteration accesses: by dimension, a coordinate and an offset.

    The subscript is their sum; dimensions with other subscripts are left out.
    """

    array: Array
    coordinates: Mapping[int, tuple[int, Poly]]

    @property
    def determined(self) -> frozenset[int]:
        """The coordinates that the element determines."""
        return frozenset(coordinate for coordinate, _ in self.coordinates.values())

    def is_same_element(self, other: AccessMap) -> bool:
        """Test whether both maps give the same element for each iteration."""
        return self.array is other.array and self.coordinates == other.coordinates


@record(eq=False)
class IterationFamily:
    """Iterations that each call of an algorithm runs, all with distinct coordinates.

    `body` has their number in the algorithm's sizes, and one exponent for each access map of `maps`; `coordinates` is
    the number of coordinates.
    """

    body: HblBody
    maps: tuple[AccessMap, ...]
    coordinates: int

    def has_same_elements(self, other: IterationFamily) -> bool:
        """Test whether the iterations of both families access the same elements by the same coordinates."""
        pairs = zip(self.maps, other.maps, strict=False)
        return len(self.maps) == len(other.maps) and all(one.is_same_element(two) for one, two in pairs)

    def joined_with(self, other: IterationFamily) -> IterationFamily:
        """Add the iterations of a family that access the same elements at other coordinates."""
        return replace(self, body=replace(self.body, iterations=self.body.iterations + other.body.iterations))

    def dimensions_of(self, coordinate: int) -> Iterator[ArrayDimension]:
        """Yield the dimensions of arrays whose subscript contains a coordinate."""
        for access_map in self.maps:
            items = access_map.coordinates.items()
            yield from ((access_map.array, dimension) for dimension, (contained, _) in items if contained == coordinate)


@record(eq=False)
class EmbeddedIterations:
    """The iterations of a call embedded in its caller's family.

    `ends` has for each of the caller's coordinates intervals that contain it.
    """

    call: RecursiveCall
    iterations: Poly
    ends: tuple[tuple[ClosedInterval, ...], ...]

    def is_disjoint_from(self, other: EmbeddedIterations, facts: Facts) -> bool:
        """Test whether two embedded calls have no common iteration: some coordinate is never equal in both."""
        return any(
            facts.nonnegative(low - hi) or facts.nonnegative(lo - high)
            for intervals, other_intervals in zip(self.ends, other.ends, strict=True)
            for lo, hi in intervals
            for low, high in other_intervals
        )


def build_access_map(access: Access, chain: Chain, coordinates: Mapping[int, int]) -> AccessMap:
    """Build the access map of an access; `coordinates` maps the depth of a loop to its coordinate."""
    result = {}
    for dimension, subscript in enumerate(access.place):
        if subscript is None:
            continue
        depths = [depth for depth, loop in enumerate(chain) if loop.variable in subscript.names]
        if len(depths) == 1 and depths[0] in coordinates:
            offset = subscript - Poly.symbol(chain[depths[0]].variable)
            if offset.is_constant:
                result[dimension] = coordinates[depths[0]], offset
    return AccessMap(access.array, result)


@record(eq=False)
class _Shift:
    """The amount `by` by which a call shifts a coordinate, and the interval `ends` of the caller's coordinate."""

    by: Poly
    ends: ClosedInterval


def embed_in_caller(
    caller: IterationFamily, call: RecursiveCall, callee: IterationFamily, facts: Facts
) -> EmbeddedIterations | None:
    """Embed the iterations of a call in those of its caller; None if no order of the coordinates allows it."""
    if caller.coordinates != callee.coordinates:
        return None
    for order in permutations(range(caller.coordinates)):
        shifts = _find_coordinate_shifts(caller.maps, call, callee, order, facts)
        if shifts is not None:
            ends = tuple(tuple(shift.ends for shift in shifts[coordinate]) for coordinate in range(caller.coordinates))
            values = {name: facts.restore(size) for name, size in call.sizes.items()}
            return EmbeddedIterations(call, callee.body.iterations.substitute(values), ends)
    return None


def _find_coordinate_shifts(
    maps: Sequence[AccessMap], call: RecursiveCall, callee: IterationFamily, order: Sequence[int], facts: Facts
) -> dict[int, list[_Shift]] | None:
    """Find the shifts of each of the caller's coordinates, one for each element that determines it.

    `maps` are the caller's access maps, and `order` gives the caller's coordinate for each one of the callee.
    Returns None if an element is not accessed by the callee, or the shifts of a coordinate differ.
    """
    if not maps:
        return {}
    rest = _find_coordinate_shifts(maps[1:], call, callee, order, facts)
    if rest is None:
        return None
    for seen in callee.maps:
        element_shifts = _find_element_shifts(maps[0], call, seen, order, facts)
        if element_shifts is not None:
            joint = {key: [*element_shifts.get(key, ()), *rest.get(key, ())] for key in (*element_shifts, *rest)}
            if all(shift.by == shifts[0].by for shifts in joint.values() for shift in shifts):
                return joint
    return None


def _find_element_shifts(
    access_map: AccessMap, call: RecursiveCall, seen: AccessMap, order: Sequence[int], facts: Facts
) -> dict[int, list[_Shift]] | None:
    """Find the shifts of an element's coordinates; None unless the map `seen` of the call accesses that element."""
    view = call.views.get(seen.array.name)
    if view is None or not is_exact_untransposed_part(view, access_map.array):
        return None
    result: dict[int, list[_Shift]] = {}
    for dimension, (coordinate, off) in access_map.coordinates.items():
        start, inner = view.starts[dimension], seen.coordinates.get(dimension)
        if start is None or inner is None or order[inner[0]] != coordinate:
            return None
        ends = start - off, start - off + view.extents[dimension]
        result.setdefault(coordinate, []).append(_Shift(facts.simplify(start - off + inner[1]), ends))
    return result


def is_exact_untransposed_part(view: View, array: Array) -> bool:
    """Test whether a view is a part of `array` of exactly known extents, with the same axes in the same order."""
    return view.array is array and view.exact and view.axes == identity_axes(array)


def identity_axes(array: Array) -> tuple[tuple[int, Poly], ...]:
    """Return the axes of a view that keeps all dimensions of the array in order, with step 1."""
    return tuple((dimension, ONE) for dimension in range(len(array.extents)))


class NoDistinctIterationsError(Exception):
    """The iterations of a recursion are not known to be distinct boxes; the message gives the reason."""


@record(eq=False)
class CallTreeBound:
    """A lower bound on io for any schedule: the larger of the lines `touched` and the HBL bound `hbl_bound`.

    If `touches_a_line`, every call accesses memory, so that the bound is at least 1. `reason` says why `hbl_bound` is
    empty.
    """

    touched: Poly
    hbl_bound: HblBound
    touches_a_line: bool = False
    reason: str = ""

    def at(self, point: Mapping[str, int]) -> int:
        """Evaluate the bound at sizes, Z and L; Z >= L. Raises EvaluationError."""
        return max(int(self.touches_a_line), int(evaluate(self.touched, point)), self.hbl_bound.at(point))


@record(eq=False)
class _PathCalls:
    """A path through a body: its calls of recursive algorithms, and its other nodes.

    On the path all values of `known` are nonnegative.
    """

    known: tuple[Poly, ...]
    calls: tuple[RecursiveCall, ...]
    nodes: tuple[Node, ...]


def derive_call_tree_bound(module: Module, body: Called, known: MustAccess | None = None) -> CallTreeBound:
    """Bound the io of a recursion from below, for any schedule; `known` has must-access regions if already derived."""
    touched = (known or derive_must_access(module, body.algorithm)).bound_lines_below(body.algorithm)
    result, touches_a_line, reason = list[HblBody](), False, ""
    try:
        paths = _list_body_paths(module, body)
        touches_a_line = all(_calls_itself(path, body) or has_certain_access(path.nodes) for path in paths)
        result = list(_FamilyTable(module).derive_bodies(body, paths))
    except NoDistinctIterationsError as problem:
        reason = str(problem)
    return CallTreeBound(touched, HblBound(tuple(result)), touches_a_line, reason)


# Paths through a body
def _list_body_paths(module: Module, body: Called) -> list[_PathCalls]:
    if len(circle := find_recursive_component(module, body.algorithm)) > 1:
        raise NoDistinctIterationsError(f"`{circle[0].name}` and `{circle[1].name}` are mutually recursive")
    try:
        every = enumerate_paths(body.nodes)
    except TooManyPathsError:
        raise NoDistinctIterationsError("too many paths through its branches") from None
    return [_split_path(known or (), nodes) for known, nodes in every]


def _split_path(known: tuple[Poly, ...], nodes: Sequence[Node]) -> _PathCalls:
    if any(isinstance(node, Loop) and contains_recursive_call(node) for node in nodes):
        raise NoDistinctIterationsError("recursive calls inside a loop")
    calls = tuple(node for node in nodes if isinstance(node, RecursiveCall))
    return _PathCalls(known, calls, tuple(node for node in nodes if not isinstance(node, RecursiveCall)))


def _calls_itself(path: _PathCalls, body: Called) -> bool:
    return any(call.target is body.algorithm for call in path.calls)


# Families of distinct iterations
@dataclass(eq=False)
class _FamilyTable:
    """Derives the iteration families of algorithms, each once."""

    module: Module

    def derive_bodies(self, body: Called, paths: Sequence[_PathCalls]) -> Iterator[HblBody]:
        """Yield iterations that an algorithm is certain to run. Raises NoDistinctIterationsError if none are found."""
        if find_recursive_component(self.module, body.algorithm):
            yield from (family.body for family in self._derive_families(body, paths))
            return
        if len(paths) != 1:
            raise NoDistinctIterationsError(f"`{body.algorithm.name}` is not recursive but has branches")
        facts = body.scope.facts
        bodies = list(derive_hbl_bound(paths[0].nodes, facts).bodies)
        for call in paths[0].calls:
            converted = (
                _convert_body_to_caller(call, family, facts) for family in self.derive_callee_families(call.target)
            )
            bodies += [body_in_caller for body_in_caller in converted if body_in_caller is not None]
        if not bodies:
            raise NoDistinctIterationsError(
                f"`{body.algorithm.name}` is not recursive, and no lower bound is known for its loops and calls"
            )
        yield from bodies

    @memoised
    def derive_callee_families(self, algorithm: s.Algorithm) -> tuple[IterationFamily, ...]:
        """Return the families of a callee; empty if they are not known."""
        try:
            body = body_of(self.module, algorithm, OneLevelLowering())
            return tuple(self._derive_families(body, _list_body_paths(self.module, body)))
        except (NoDistinctIterationsError, UntracedError, TooComplexError):
            return ()

    def _derive_families(self, body: Called, paths: Sequence[_PathCalls]) -> list[IterationFamily]:
        leaves = [path for path in paths if not _calls_itself(path, body)]
        if len(leaves) != 1:
            raise NoDistinctIterationsError(f"{len(leaves) or 'no'} branches without recursive calls, instead of one")
        problem = NoDistinctIterationsError(
            "no loop nest in its base case has array subscripts that use all loop variables"
        )
        result = []
        for choices in _list_leaf_families(leaves[0].nodes, body.scope.facts):
            for number, family in enumerate(choices):
                try:
                    for path in paths:
                        self._require_disjoint_cover(path, family, body)
                except NoDistinctIterationsError as error:
                    problem = problem if number else error
                else:
                    result.append(family)
                    break
        if not result:
            raise problem
        return result

    def _require_disjoint_cover(self, path: _PathCalls, caller: IterationFamily, body: Called) -> None:
        """Raise NoDistinctIterationsError unless calls of a path have distinct iterations that cover the caller's."""
        if not _calls_itself(path, body):
            return
        facts, parts = body.scope.facts, list[EmbeddedIterations]()
        for call in path.calls:
            is_self_call = call.target is body.algorithm
            families = (caller,) if is_self_call else self.derive_callee_families(call.target)
            embedding = next(
                (new for callee in families if (new := embed_in_caller(caller, call, callee, facts)) is not None), None
            )
            if is_self_call:
                _require_common_origins(caller, call, facts)
            if embedding is not None:
                parts.append(embedding)
            elif is_self_call:
                raise NoDistinctIterationsError(
                    f"the call in line {call.span.line} may not access the elements that its caller's loops access"
                )
        for first, second in combinations(parts, 2):
            if not first.is_disjoint_from(second, facts):
                raise NoDistinctIterationsError(
                    f"the calls in lines {first.call.span.line} and {second.call.span.line} may run the same iterations"
                )
        surplus = sum((part.iterations for part in parts), ZERO) - caller.body.iterations
        for value in path.known:
            facts = facts.with_nonnegative(value)
        if not prove_never_negative(surplus.substitute(facts.rewrites), facts):
            raise NoDistinctIterationsError(
                f"the calls from line {parts[0].call.span.line} on may not cover all iterations of their caller"
            )


def _require_common_origins(family: IterationFamily, call: RecursiveCall, facts: Facts) -> None:
    """Raise NoDistinctIterationsError unless a call's parts of arrays with a common coordinate begin at one index."""
    for coordinate in range(family.coordinates):
        starts = {_find_view_start(call, place, facts) for place in family.dimensions_of(coordinate)}
        if len(starts) != 1:
            names = " and ".join(dict.fromkeys(f"`{array.name}`" for array, _ in family.dimensions_of(coordinate)))
            raise NoDistinctIterationsError(
                f"the parts of {names} in the call in line {call.span.line} begin at different indices"
            )


def _find_view_start(call: RecursiveCall, place: ArrayDimension, facts: Facts) -> Poly:
    """Find the index at which the part that a call receives begins. Raises NoDistinctIterationsError."""
    array, dimension = place
    view, line = call.views.get(array.name), call.span.line
    if view is None or view.array is not array or not is_exact_untransposed_part(replace(view, exact=True), array):
        raise NoDistinctIterationsError(
            f"the call in line {line} does not pass a part of `{array.name}` in the same position"
        )
    start = view.starts[dimension]
    if start is None or not view.exact:
        raise NoDistinctIterationsError(f"the position of the parts in the call in line {line} depends on data")
    end = start + view.extents[dimension]
    if not (facts.nonnegative(start) and facts.nonnegative(array.extents[dimension] - end)):
        raise NoDistinctIterationsError(f"the call in line {line} may access outside `{array.name}`")
    return facts.simplify(start)


# Leaves
@record(eq=False)
class _LeafNests:
    """Loop nests of a base case that access the same elements, and the family of their iterations."""

    chains: tuple[Chain, ...]
    family: IterationFamily

    def joined_with(self, other: _LeafNests) -> _LeafNests:
        return _LeafNests((*self.chains, *other.chains), self.family.joined_with(other.family))


def _list_leaf_families(nodes: tuple[Node, ...], facts: Facts) -> list[list[IterationFamily]]:
    """List the families of a base case: for each nest, or several joined ones, alternatives in order of preference."""
    result: list[list[_LeafNests]] = []
    for chain, accesses in group_certain_accesses(nodes):
        choices = [
            leaf
            for subset in _iterate_array_subsets(accesses)
            if (leaf := _build_leaf(chain, subset, facts)) is not None
        ]
        joined = next((index for index, previous in enumerate(result) if _can_join_leaves(previous, choices)), None)
        if joined is None:
            result.append(choices)
        else:
            result[joined] = [leaf.joined_with(other) for leaf, other in zip(result[joined], choices, strict=True)]
    return [[leaf.family for leaf in choices] for choices in result if choices]


def _iterate_array_subsets(accesses: Sequence[Access]) -> Iterator[Sequence[Access]]:
    """Yield all accesses, then for each array those to other arrays, as the calls' parts of an array may overlap."""
    yield accesses
    for array in dict.fromkeys(access.array for access in accesses):
        yield [access for access in accesses if access.array is not array]


def _build_leaf(chain: Chain, own: Sequence[Access], facts: Facts) -> _LeafNests | None:
    decided = find_tiling_loops(chain)
    free = [depth for depth in range(len(chain)) if depth not in decided.values()]
    coordinates = {depth: number for number, depth in enumerate(free)}
    access_maps = {
        (access.array, access.place): build_access_map(access, chain, coordinates)
        for access in own
        if not access.array.local
    }
    determined = {key: access_map.determined for key, access_map in access_maps.items()}
    body = solve_hbl_body(determined, range(len(free)), count_iterations(chain), facts)
    if body is None:
        return None
    used = [number for number, exponent in enumerate(body.exponents) if exponent]
    exponents, times = tuple(body.exponents[number] for number in used), tuple(body.times[number] for number in used)
    maps = tuple(access_map for number, access_map in enumerate(access_maps.values()) if number in used)
    return _LeafNests((chain,), IterationFamily(HblBody(body.iterations, exponents, times), maps, len(free)))


def _can_join_leaves(left: Sequence[_LeafNests], right: Sequence[_LeafNests]) -> bool:
    """Test whether the nests of both lists access the same elements and have no iteration in common."""
    return len(left) == len(right) and all(
        first.family.has_same_elements(second.family)
        and all(_are_disjoint_nests(chain, new) for chain in first.chains for new in second.chains)
        for first, second in zip(left, right, strict=True)
    )


def _are_disjoint_nests(one: Chain, other: Chain) -> bool:
    """Test whether two nests have disjoint ranges in the first loop that they do not share."""
    for first, second in zip(one, other, strict=False):
        if first is not second:
            facts = first.facts
            return facts.nonnegative(second.lo - first.hi) or facts.nonnegative(first.lo - second.hi)
    return False


# Calls of other algorithms
def _convert_body_to_caller(call: RecursiveCall, family: IterationFamily, facts: Facts) -> HblBody | None:
    """Express the iterations of a call in the caller's sizes, with the arrays that the caller passes.

    None if these do not determine all coordinates.
    """
    determined: dict[tuple[Array, tuple[Poly | None, ...]], frozenset[int]] = {}
    for number, access_map in enumerate(family.maps):
        view = call.views.get(access_map.array.name)
        if view is not None and view.exact and not view.array.local:
            determined[view.array, (Poly.constant(number),)] = access_map.determined
    iterations = family.body.iterations.substitute({name: facts.restore(size) for name, size in call.sizes.items()})
    return solve_hbl_body(determined, range(family.coordinates), iterations, facts)
