"""io of recursive algorithms at given sizes: what fits is fetched once, the rest is the sum of what it is made of.

The rule of M. Frigo, C. E. Leiserson, H. Prokop, S. Ramachandran, Cache-Oblivious Algorithms (FOCS 1999): a call whose
arrays fit into fast memory fetches no more than their lines, any other no more than its parts do, each from an empty
cache.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import floor

from archline.algebra.compiled import Compiler, Compute
from archline.algebra.evaluation import EvaluationError
from archline.algebra.facts import Facts
from archline.algebra.polynomial import ONE, ZERO, Poly
from archline.analysis.io.accesses import Access, Array, Branch, Choice, Loop, Node, Recursion, accesses
from archline.analysis.io.bodies import Bodies, Body, at_lines, calls, in_rows, recurses
from archline.analysis.io.footprint import references
from archline.analysis.io.layout import run, whole
from archline.analysis.io.plans import Planner
from archline.analysis.io.product import UnboundedError
from archline.analysis.io.program import shape_of
from archline.analysis.io.samples import samples
from archline.analysis.io.upper import Upper
from archline.language import syntax as s
from archline.language.model import Module

MAX_CALLS = 200_000
MAX_ITERATIONS = 20_000
Point = Mapping[str, int]


@dataclass(frozen=True, eq=False)
class Piece:
    """A part without recursive calls."""

    upper: Upper
    planner: Planner


@dataclass(frozen=True, eq=False)
class Called:
    """A recursive call at sizes."""

    call: Recursion


@dataclass(frozen=True, eq=False)
class Repeated:
    """Iterations that hold recursive calls, one after the other."""

    loop: Loop
    parts: tuple[Part, ...]


@dataclass(frozen=True, eq=False)
class Chosen:
    """Branches, and what is done in each."""

    branches: tuple[tuple[Branch, tuple[Part, ...]], ...]


Part = Piece | Called | Repeated | Chosen


@dataclass(eq=False)
class Solved:
    """The parts of a body, and the lines of all that a call may touch but what its own calls make."""

    body: Body
    parts: tuple[Part, ...]
    given: Poly
    made: Poly
    _compiled: dict[Poly, tuple[tuple[str, ...], Compiler, Compute]] = field(default_factory=dict)

    def value(self, expression: Poly, point: Point) -> int:
        """The value of an expression of the body at a point, rounded up. Raises EvaluationError."""
        if expression not in self._compiled:
            restored = self.body.scope.facts.restore(expression)
            names = tuple(sorted(restored.names))
            compiler = Compiler(names)
            self._compiled[expression] = names, compiler, compiler.of(restored)
        names, compiler, compute = self._compiled[expression]
        missing = [name for name in names if name not in point]
        if missing:
            raise EvaluationError(f"`{missing[0]}` has no value")
        return -floor(-compute(compiler.environment([point[name] for name in names])))


@dataclass(eq=False)
class Recursions:
    """Bounds on io of one recursive algorithm and all that it calls.

    Raises UntracedError where accesses cannot be followed, UnboundedError where nothing is found for a part.
    """

    module: Module
    algorithm: s.Algorithm
    _solved: dict[s.Algorithm, Solved] = field(default_factory=dict)

    @cached_property
    def _flags(self) -> dict[s.Algorithm, tuple[frozenset[str], frozenset[str]]]:
        """Of each algorithm the array parameters whose rows always begin with a line, and those with strides.

        All begin so in the outermost call; what some call passes otherwise does not.
        """
        found: dict[s.Algorithm, tuple[frozenset[str], frozenset[str]]] = {}
        pending = [(self.algorithm, _arrays(self.algorithm), frozenset[str]())]
        while pending:
            algorithm, aligned, strided = pending.pop()
            known = found.get(algorithm)
            if known is not None:
                aligned, strided = aligned & known[0], strided | known[1]
            if (aligned, strided) == known:
                continue
            found[algorithm] = aligned, strided
            for call in calls(Bodies(self.module, aligned=aligned, strided=strided).body(algorithm).nodes):
                own = frozenset(name for name, view in call.views.items() if at_lines(view))
                apart = frozenset(name for name, view in call.views.items() if not in_rows(view))
                pending.append((call.target, own - apart, apart))
        return found

    def solved(self, algorithm: s.Algorithm) -> Solved:
        """The parts of an algorithm."""
        if algorithm not in self._solved:
            aligned, strided = self._flags[algorithm]
            body = Bodies(self.module, aligned=aligned, strided=strided).body(algorithm)
            facts = body.scope.facts
            parts = tuple(self._parts(body, body.nodes, facts))
            given = sum((_lines(array, facts) for array in body.given), ZERO)
            made = sum((whole(array) for array in body.made), ZERO)
            self._solved[algorithm] = Solved(body, parts, given, made)
        return self._solved[algorithm]

    def solve(self) -> None:
        """Find the parts of all algorithms."""
        for algorithm in self._flags:
            self.solved(algorithm)

    @property
    def makes(self) -> bool:
        """Whether some call makes local arrays."""
        return any(self.solved(each).made for each in self._flags)

    @cached_property
    def accesses(self) -> int:
        """The most accesses that one call or iteration makes outside of the loops and calls that it holds."""
        return max(_together(self.solved(each).body.nodes) for each in self._flags)

    def at(self, point: Point) -> int:
        """At most so many lines are fetched at sizes, Z and L. Raises EvaluationError."""
        return _Evaluation(self, point["Z"], point["L"]).upper(self.solved(self.algorithm), point)

    def _parts(self, body: Body, nodes: Iterable[Node], facts: Facts) -> Iterator[Part]:
        plain: list[Node] = []
        for node in nodes:
            if isinstance(node, Choice) or recurses(node):
                yield from self._piece(body, plain, facts)
                plain = []
                yield self._part(body, node, facts)
            else:
                plain.append(node)
        yield from self._piece(body, plain, facts)

    def _part(self, body: Body, node: Node, facts: Facts) -> Part:
        match node:
            case Recursion():
                return Called(node)
            case Loop():
                return Repeated(node, tuple(self._parts(body, node.body, node.inside)))
            case Choice(branches=branches):
                return Chosen(tuple((each, tuple(self._parts(body, each.body, facts))) for each in branches))
        raise AssertionError("an access is no part by itself")

    def _piece(self, body: Body, nodes: Sequence[Node], facts: Facts) -> Iterator[Piece]:
        found = references(accesses(tuple(nodes)), facts)
        if not found:
            return
        planner = Planner(found, facts, list(samples(body.algorithm, body.scope)))
        plans = planner.plans()
        if not plans:
            raise UnboundedError
        yield Piece(Upper(plans, facts), planner)


@dataclass(eq=False)
class _Evaluation:
    """Bounds at one Z and L."""

    recursions: Recursions
    words: int
    line: int
    _uppers: dict[tuple[Solved, tuple[tuple[str, int], ...]], int] = field(default_factory=dict)
    _made: dict[tuple[Solved, tuple[tuple[str, int], ...]], int] = field(default_factory=dict)

    @cached_property
    def _capacity(self) -> int:
        return self.words // self.line

    def _within(self, sizes: Point) -> dict[str, int]:
        return {**sizes, "Z": self.words, "L": self.line}

    def upper(self, solved: Solved, point: Point) -> int:
        """What a call fetches at most."""
        point = self._within(point)
        key = solved, tuple(sorted(point.items()))
        if key not in self._uppers:
            if len(self._uppers) > MAX_CALLS:
                raise EvaluationError("the recursion has too many calls of different sizes to follow")
            total = self._sum(solved, solved.parts, point)
            touched = solved.value(solved.given, point) + self.made(solved, point)
            self._uppers[key] = min(total, touched) if touched <= self._capacity else total
        return self._uppers[key]

    def made(self, solved: Solved, point: Point) -> int:
        """The lines of local arrays of a call and of all calls in it, of which one at a time is active."""
        key = solved, tuple(sorted(point.items()))
        if key not in self._made:
            inner = (self.made(*each) for each in self._inner(solved, solved.parts, point))
            self._made[key] = solved.value(solved.made, point) + max(inner, default=0)
        return self._made[key]

    def _sum(self, solved: Solved, parts: Iterable[Part], point: Point) -> int:
        return sum(self._part(solved, part, point) for part in parts)

    def _part(self, solved: Solved, part: Part, point: Point) -> int:
        match part:
            case Piece(upper=upper):
                return upper.at(point)
            case Called(call=call):
                return self.upper(*self._target(solved, call, point))
            case Repeated(loop=loop, parts=parts):
                found = (self._sum(solved, parts, inside) for inside in self._iterations(solved, loop, point))
                # One iteration whose counter the data gives may have any of the values.
                return max(found, default=0) if loop.trips == ONE else sum(found)
            case Chosen(branches=branches):
                return max(
                    (self._sum(solved, parts, point) for parts in self._taken(solved, branches, point)), default=0
                )

    def _taken(
        self, solved: Solved, branches: Sequence[tuple[Branch, tuple[Part, ...]]], point: Point
    ) -> Iterator[tuple[Part, ...]]:
        for branch, parts in branches:
            holds = None if branch.taken is None else solved.value(branch.taken, point)
            if holds != 0:
                yield parts
            if holds:
                return

    def _iterations(self, solved: Solved, loop: Loop, point: Point) -> Iterator[Point]:
        first, end = solved.value(loop.lo, point), solved.value(loop.hi, point)
        if end - first > MAX_ITERATIONS:
            raise EvaluationError("a loop around recursive calls has too many iterations to follow")
        for number in range(first, end):
            yield {**point, loop.variable: number}

    def _target(self, solved: Solved, call: Recursion, point: Point) -> tuple[Solved, Point]:
        sizes = {name: solved.value(value, point) for name, value in call.sizes.items()}
        return self.recursions.solved(call.target), self._within(sizes)

    def _inner(self, solved: Solved, parts: Iterable[Part], point: Point) -> Iterator[tuple[Solved, Point]]:
        """The calls of a body with their sizes."""
        for part in parts:
            match part:
                case Called(call=call):
                    yield self._target(solved, call, point)
                case Repeated(loop=loop, parts=inner):
                    for inside in self._iterations(solved, loop, point):
                        yield from self._inner(solved, inner, inside)
                case Chosen(branches=branches):
                    for taken in self._taken(solved, branches, point):
                        yield from self._inner(solved, taken, point)


def _lines(array: Array, facts: Facts) -> Poly:
    """The lines of an array that is part of another."""
    if array.layout == "zmorton":
        rows, columns = array.extents
        return rows * columns
    along = 0 if array.layout == "colmajor" else len(array.extents) - 1
    lines = run((ZERO, array.extents[along] - 1), facts, array)
    for dimension, extent in enumerate(array.extents):
        if dimension != along:
            lines = lines * facts.positive_part(extent)
    return lines


def _together(nodes: Iterable[Node]) -> int:
    """The most accesses of a body, or of the body of a loop in it, outside of loops."""
    found = list(_outside_loops(nodes))
    inner = (_together(node.body) for node in found if isinstance(node, Loop))
    return max(sum(isinstance(node, Access) for node in found), *inner, 0)


def _outside_loops(nodes: Iterable[Node]) -> Iterator[Node]:
    for node in nodes:
        if isinstance(node, Choice):
            for each in node.branches:
                yield from _outside_loops(each.body)
        else:
            yield node


def _arrays(algorithm: s.Algorithm) -> frozenset[str]:
    """The parameters that are arrays."""
    return frozenset(each.name for each in algorithm.parameters if shape_of(each.type)[0] is not None)
