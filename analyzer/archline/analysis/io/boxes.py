"""io of recursion from below, for any order: calls whose parts of the arrays are disjoint boxes of iterations.

    mm(A[0..h, :], B, C[0..h, :]); mm(A[h..n, :], B, C[h..n, :])       else the loops of C[i, j] += A[i, k]*B[k, j]

A call works on parts of the outermost call's arrays. Where all arrays that tell i begin at the same row of theirs, in
every call, that row + i tells of an iteration where it is in the whole run; so with j and k. If calls side by side are
apart in one of these, no two iterations of the run are at the same place, and each element tells those coordinates of
the place that its subscripts hold. Then the iterations of the run are such as those of one nest of loops over the
outermost call's sizes, and the inequality of Loomis and Whitney holds for them (`any_order`). How many there are
follows by induction: as many as the loops of a leaf have at its sizes, and those of a call's parts make up its own.

Which arrays are touched whole follows from all calls, also those of other algorithms (`filled`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from archline.algebra.evaluation import evaluate
from archline.algebra.facts import Facts
from archline.algebra.polynomial import ONE, ZERO, Poly, Symbol
from archline.analysis.io.accesses import Access, Array, Chain, Loop, Node, Recursion, View
from archline.analysis.io.any_order import AnyOrder, Body, bodies_in, covered, decided_by, iterations_of, touches
from archline.analysis.io.bodies import Body as Called
from archline.analysis.io.bodies import TooManyWaysError, recurses, ways
from archline.analysis.io.filled import Filled, filled
from archline.analysis.recursion.graph import component
from archline.language.model import Module

Dimension = tuple[Array, int]


class NoBoxesError(Exception):
    """Why iterations of a recursion are not told apart."""


@dataclass(frozen=True, eq=False)
class Boxes:
    """io >= `touched`, the lines of arrays that are touched whole, and >= what `orders` has.

    Where there is `some`, it is 1 at least. `reason` tells why `orders` has no bodies.
    """

    touched: Poly
    orders: AnyOrder
    some: bool = False
    reason: str = ""

    def at(self, point: Mapping[str, int]) -> int:
        """The bound at sizes, Z and L; Z >= L. Raises EvaluationError."""
        return max(int(self.some), int(evaluate(self.touched, point)), self.orders.at(point))


@dataclass(frozen=True, eq=False)
class _Path:
    """What one way through a body does: the calls of the algorithm itself, and what is not recursive."""

    calls: tuple[Recursion, ...]
    nodes: tuple[Node, ...]


def boxes(module: Module, body: Called, known: Filled | None = None) -> Boxes:
    """The lower bounds of a recursive algorithm, in its sizes; `known` is what its calls touch in full."""
    nothing, touched = AnyOrder(()), (known or filled(module, body.algorithm)).lines(body.algorithm)
    try:
        paths = _paths(module, body)
    except NoBoxesError as problem:
        return Boxes(touched, nothing, reason=str(problem))
    some = all(path.calls or touches(path.nodes) for path in paths)
    try:
        return Boxes(touched, AnyOrder(tuple(_bodies(body, paths))), some)
    except NoBoxesError as problem:
        return Boxes(touched, nothing, some, str(problem))


# Ways through a body
def _paths(module: Module, body: Called) -> list[_Path]:
    name = body.algorithm.name
    match component(module, body.algorithm):
        case ():
            raise NoBoxesError(f"`{name}` does not call itself")
        case (_, other, *_):
            raise NoBoxesError(f"`{name}` and `{other.name}` call each other in a circle")
    found = []
    try:
        every = ways(body.nodes)
    except TooManyWaysError:
        raise NoBoxesError("there are too many ways through its branches") from None
    for _, nodes in every:
        calls = tuple(node for node in nodes if isinstance(node, Recursion))
        if any(isinstance(node, Loop) and recurses(node) for node in nodes):
            raise NoBoxesError("recursive calls stand in a loop")
        own = tuple(call for call in calls if call.target is body.algorithm)
        found.append(_Path(own, tuple(node for node in nodes if not isinstance(node, Recursion))))
    return found


def _parts(array: Array, call: Recursion) -> Iterator[View]:
    """The part of an array that a call is given in the place of that array itself."""
    view = call.views.get(array.name)
    if view is not None and view.array is array and view.axes == _straight(array):
        yield view


def _straight(array: Array) -> tuple[tuple[int, Poly], ...]:
    return tuple((dimension, ONE) for dimension in range(len(array.extents)))


# Iterations that are told apart
def _bodies(body: Called, paths: Sequence[_Path]) -> Iterator[Body]:
    leaves = [path for path in paths if not path.calls]
    if len(leaves) != 1:
        raise NoBoxesError(f"{len(leaves) or 'no'} branches without recursive calls")
    problem = NoBoxesError("no loops of its leaves see arrays by all of their variables")
    found = False
    for chain, own in bodies_in(leaves[0].nodes):
        for seen in _choices(own):
            try:
                candidate = _Leaf.of(body, chain, seen)
                for path in paths:
                    candidate.check(path)
            except NoBoxesError as why:
                problem = why if seen is own else problem
            else:
                found = True
                yield candidate.body
                break
    if not found:
        raise problem


def _choices(own: Sequence[Access]) -> Iterator[Sequence[Access]]:
    """All accesses, and those to all arrays but one: the parts of some arrays may overlap where others lie apart."""
    yield own
    for array in dict.fromkeys(access.array for access in own):
        yield [access for access in own if access.array is not array]


@dataclass(frozen=True, eq=False)
class _Leaf:
    """Loops of a leaf: what they bound, and for each loop the dimensions of arrays that tell its variable."""

    body: Body
    telling: tuple[tuple[Dimension, ...], ...]
    facts: Facts

    @staticmethod
    def of(body: Called, chain: Chain, own: Sequence[Access]) -> _Leaf:
        decided = decided_by(chain)
        free = [place for place in range(len(chain)) if place not in decided.values()]
        told: dict[tuple[Array, tuple[Poly | None, ...]], dict[int, list[int]]] = {}
        for access in own:
            if not access.array.local:
                told[access.array, access.place] = _told(access, chain)
        seen = {
            key: frozenset(loops) | {decided[each] for each in loops if each in decided} for key, loops in told.items()
        }
        found = covered(seen, free, iterations_of(chain), body.scope.facts)
        if found is None:
            raise NoBoxesError("no loops of its leaves see arrays by all of their variables")
        telling: dict[int, dict[Dimension, None]] = {place: {} for place in free}
        for ((array, _), loops), exponent in zip(told.items(), found.exponents, strict=True):
            for place, dimensions in loops.items():
                if exponent and place in telling:
                    telling[place] |= dict.fromkeys((array, dimension) for dimension in dimensions)
        return _Leaf(found, tuple(map(tuple, telling.values())), body.scope.facts)

    def check(self, path: _Path) -> None:
        """Raises NoBoxesError unless the calls of a way keep iterations apart, and make up all of them."""
        for call in path.calls:
            for dimensions in self.telling:
                self._same_start(call, dimensions)
        for one, other in combinations(path.calls, 2):
            if not any(self._apart(one, other, each) for dimensions in self.telling for each in dimensions):
                raise NoBoxesError(f"the calls in lines {one.span.line} and {other.span.line} may do the same")
        if path.calls:
            self._make_up(path.calls)

    def _same_start(self, call: Recursion, dimensions: Sequence[Dimension]) -> None:
        starts = set()
        for array, dimension in dimensions:
            view = next(_parts(array, call), None)
            if view is None:
                raise NoBoxesError(f"the call in line {call.span.line} takes no part of `{array.name}` in its place")
            start = view.starts[dimension]
            end = None if start is None else start + view.extents[dimension]
            if start is None or end is None or not view.exact:
                raise NoBoxesError(f"the data says where the parts of the call in line {call.span.line} are")
            inside = self.facts.nonnegative(start) and self.facts.nonnegative(array.extents[dimension] - end)
            if not inside:
                raise NoBoxesError(f"the call in line {call.span.line} may reach out of `{array.name}`")
            starts.add(self.facts.simplify(start))
        if len(starts) != 1:
            names = " and ".join(dict.fromkeys(f"`{array.name}`" for array, _ in dimensions))
            raise NoBoxesError(f"parts of {names} in the call in line {call.span.line} begin at different places")

    def _apart(self, one: Recursion, other: Recursion, at: Dimension) -> bool:
        array, dimension = at
        ends = []
        for call in (one, other):
            view = next(_parts(array, call))
            start = view.starts[dimension]
            assert start is not None
            ends.append((start, start + view.extents[dimension]))
        (first, after), (second, beyond) = ends
        return self.facts.nonnegative(second - after) or self.facts.nonnegative(first - beyond)

    def _make_up(self, calls: Sequence[Recursion]) -> None:
        restore = self.facts.restore
        own = self.body.iterations
        parts = (own.substitute({name: restore(size) for name, size in call.sizes.items()}) for call in calls)
        more = (sum(parts, ZERO) - own).substitute(self.facts.rewrites)
        if not self.facts.nonnegative(self.facts.simplify(more)):
            raise NoBoxesError(f"the calls from line {calls[0].span.line} on do not make up all of its iterations")


def _told(access: Access, chain: Chain) -> dict[int, list[int]]:
    """The loops whose variables stand by themselves in subscripts, up to a number, and in which dimensions."""
    names = {loop.variable: place for place, loop in enumerate(chain)}
    found: dict[int, list[int]] = {}
    for dimension, subscript in enumerate(access.place):
        if subscript is None:
            continue
        inside = [atom for atom in subscript.atoms() if isinstance(atom, Symbol) and atom.name in names]
        if len(inside) == 1 and (subscript - Poly.of_atom(inside[0])).is_constant:
            found.setdefault(names[inside[0].name], []).append(dimension)
    return found
