"""Find the part of an array that a recursion by indices reaches, as for trapezoids of points in time and space.

Its calls are passed whole arrays, and indices that select their work. The extreme subscript of a call in a
dimension is sought as a sum of its indices, and of terms with slopes: x1 + max(0, dx1)*(t1 - t0). A linear
program proposes it. Induction proves it: in every case, all accesses and the extreme subscripts of all calls are
within the proposed one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from random import Random

import numpy as np

from archline.algebra import atoms as a
from archline.algebra.evaluate.exact import evaluate
from archline.algebra.polynomial import ONE, ZERO, Poly, linear_combination
from archline.algebra.prove.farkas import Situation
from archline.algebra.prove.handelman import ConeConstraint, iterate_cone_constraints, iterate_proposals
from archline.expr.intervals import EvaluationError
from archline.expr.solutions import SizeSearch
from archline.ir.declarations import IndexProperties, declared_scope, read_index_properties
from archline.ir.factored import UnboundedError, bound_max_in_loop
from archline.ir.layout import ClosedInterval
from archline.ir.recursive import (
    RecursiveBody,
    TooManyPathsError,
    contains_recursive_call,
    enumerate_paths,
    find_recursive_calls,
)
from archline.ir.tree import Access, Array, Chain, Loop, RecursiveCall, contiguous_dimension, iterate_accesses
from archline.records import record

MAX_SAMPLES = 60
"""The number of sample points."""
SAMPLE_ORIGINS = (0, 5, 40)
"""The values from which on indices without a minimum are sampled, and the distances of sizes from their minimum."""
MAX_FOLLOWED_CALLS = 20_000
"""The maximum number of calls whose case is evaluated at samples."""
Point = Mapping[str, int]
ClosedBox = tuple[ClosedInterval, ...]
"""The first and the last entry in each dimension."""
SubscriptEnd = tuple[Array, int, int]
"""An array, a dimension, and a sign: 1 for the largest subscript of accesses, -1 for the smallest."""


def derive_reached_boxes(body: RecursiveBody) -> ReachedBoxes | None:
    """Derive the boxes that calls reach; None if the recursion has no indices, or if calls pass parts of arrays."""
    if not body.scope.module.signatures[body.algorithm].indices:
        return None
    try:
        return ReachedBoxes(body, tuple(_iterate_access_paths(body)))
    except UnknownReachError:
        return None


class UnknownReachError(Exception):
    """The recursion does not work by indices on whole arrays, or its paths are not known."""


@record(eq=False)
class AccessPath:
    """A path through a body: its conditions (nonnegative values), its accesses, and the sizes and indices of calls."""

    known: tuple[Poly, ...]
    accesses: tuple[tuple[Access, Chain], ...]
    calls: tuple[Mapping[str, Poly], ...]

    def iterate_extreme_subscripts(self, end: SubscriptEnd) -> Iterator[Poly]:
        """Yield the extreme subscript of each access, times the sign of `end`. Raises UnboundedError."""
        array, dimension, sign = end
        for access, chain in self.accesses:
            if access.array is array:
                place = access.place[dimension]
                if place is None:
                    raise UnboundedError
                value = place.scaled(sign)
                for loop in reversed(chain):
                    value = bound_max_in_loop(value, loop, loop.facts)
                yield value


@dataclass(eq=False)
class ReachedBoxes:
    """The may-access boxes of a recursive algorithm's calls."""

    body: RecursiveBody
    cases: tuple[AccessPath, ...]

    @cached_property
    def declaration(self) -> IndexProperties:
        """The declared facts and ranges of the indices."""
        return read_index_properties(self.body.algorithm, declared_scope(self.body.scope.module, self.body.algorithm))

    @cached_property
    def samples(self) -> IndexSamples:
        """Sample indices that satisfy the declaration."""
        return IndexSamples(self.body, self.declaration, self.cases)

    @cached_property
    def boxes(self) -> dict[Array, ClosedBox]:
        """The boxes that contain the accesses of a call to its array arguments, for arrays where one is found."""
        return {array: box for array in self.body.given if (box := self._derive_box(array)) is not None}

    def build_situation(self, known: Iterable[Poly]) -> Situation:
        """Combine the declared facts with the nonnegative values `known`."""
        return Situation((*self.declaration.facts, *known), self.declaration.ranges, {})

    def _derive_box(self, array: Array) -> ClosedBox | None:
        """Derive the box of a call's accesses to an array, in its indices; None if no bound depends on indices.

        The box may extend beyond the array.
        """
        if array.layout == "zmorton":
            return None
        result = []
        for dimension, extent in enumerate(array.extents):
            low, high = (self._derive_end((array, dimension, sign)) for sign in (-1, 1))
            result.append((ZERO if low is None else -low, extent - 1 if high is None else high))
        return (
            tuple(result) if any(_mentions_index(end, self.body) for interval in result for end in interval) else None
        )

    def _derive_end(self, end: SubscriptEnd) -> Poly | None:
        """Derive the extreme subscript of a call's accesses, times the sign of `end`; None if no proof is found."""
        try:
            accessed = [tuple(case.iterate_extreme_subscripts(end)) for case in self.cases]
        except UnboundedError:
            return None
        proposed = (
            bound
            for forms in (self._template_forms, *self._index_forms)
            for bound in self._propose_bounds(accessed, forms)
        )
        return next((bound for bound in proposed if self._is_proved(bound, accessed)), None)

    def _propose_bounds(self, accessed: Sequence[Sequence[Poly]], forms: Sequence[Poly]) -> Iterator[Poly]:
        """Yield sums of `forms` that may bound the accesses of every case and the sums at its calls, tightest first."""
        parts: list[ConeConstraint] = []
        for case, subscripts in zip(self.cases, accessed, strict=True):
            situation = self.build_situation(case.known)
            for call in case.calls:
                parts += iterate_cone_constraints(situation, [form - form.substitute(call) for form in forms], ZERO)
            for value in subscripts:
                parts += iterate_cone_constraints(situation, forms, -value)
        points = self.samples.points
        mean = np.array([float(sum(evaluate(form, point) for point in points)) for form in forms])
        for numbers in iterate_proposals(parts, mean):
            yield linear_combination(forms, numbers)

    def _is_proved(self, bound: Poly, accessed: Sequence[Sequence[Poly]]) -> bool:
        """Test whether in every case the accesses, and the bounds of the calls, are proved not to exceed the bound."""
        for case, subscripts in zip(self.cases, accessed, strict=True):
            situation = self.build_situation(case.known)
            at_calls = (bound.substitute(call) for call in case.calls)
            if not all(situation.proves(bound - value) for value in (*at_calls, *subscripts)):
                return False
        return True

    @cached_property
    def _template_forms(self) -> tuple[Poly, ...]:
        """The constant 1, indices, positive parts of slopes, and the parts times differences of indices."""
        ranges = self.declaration.ranges
        parts = [
            a.positive_part(Poly.symbol(name).scaled(sign))
            for name, values in ranges.items()
            for sign in (1, -1)
            if any(sign * value > 0 for value in values)
        ]
        differences = [quantity for quantity in self.declaration.quantities if quantity.names.isdisjoint(ranges)]
        indices = (index for _, index in self._index_forms)
        return (ONE, *indices, *parts, *(part * difference for part in parts for difference in differences))

    @property
    def _index_forms(self) -> tuple[tuple[Poly, Poly], ...]:
        """Pairs of the constant 1 and an index, for indices without an enumerated range."""
        indices = self.body.scope.module.signatures[self.body.algorithm].indices
        return tuple((ONE, Poly.symbol(name)) for name in indices if name not in self.declaration.ranges)


def _mentions_index(value: Poly, body: RecursiveBody) -> bool:
    return not value.names.isdisjoint(body.scope.module.signatures[body.algorithm].indices)


class IndexSamples:
    """Sample points that satisfy the declaration of the indices, and the calls that are made at a point."""

    def __init__(self, body: RecursiveBody, declaration: IndexProperties, cases: Sequence[AccessPath]) -> None:
        self._body, self._declaration, self._cases = body, declaration, cases
        self._followed: dict[tuple[int, ...], tuple[int, tuple[Point, ...]]] = {}

    @cached_property
    def points(self) -> tuple[Point, ...]:
        """The sample points."""
        body, random = self._body, Random(0)
        signature = body.scope.module.signatures[body.algorithm]
        names = (*signature.size_names, *signature.indices)
        search = SizeSearch(names, body.algorithm.where, signature.at_least)
        points = (
            self._declaration.draw(search, signature.size_names, random, SAMPLE_ORIGINS) for _ in range(MAX_SAMPLES)
        )
        return tuple(point for point in points if point is not None)

    def find_case_and_calls(self, point: Point) -> tuple[int, tuple[Point, ...]]:
        """Return the number of the case that applies, and the points of its calls. Raises EvaluationError."""
        key = tuple(point.values())
        if key not in self._followed:
            if len(self._followed) > MAX_FOLLOWED_CALLS:
                raise EvaluationError("too many calls")
            applying = (
                (position, case)
                for position, case in enumerate(self._cases)
                if all(evaluate(value, point) >= 0 for value in case.known)
            )
            number, case = next(applying, (None, None))
            if number is None or case is None:
                raise EvaluationError("no case applies")
            calls = tuple(
                {**point, **{name: int(evaluate(value, point)) for name, value in call.items()}} for call in case.calls
            )
            self._followed[key] = number, calls
        return self._followed[key]


# Cases
def _iterate_access_paths(body: RecursiveBody) -> Iterator[AccessPath]:
    if not all(call.target is body.algorithm for call in find_recursive_calls(body.nodes)):
        raise UnknownReachError
    try:
        every = enumerate_paths(body.nodes)
    except TooManyPathsError:
        raise UnknownReachError from None
    for conditions, nodes in every:
        if conditions is None or any(isinstance(node, Loop) and contains_recursive_call(node) for node in nodes):
            raise UnknownReachError
        calls = [node for node in nodes if isinstance(node, RecursiveCall)]
        if not all(_is_passed_whole(call, array) for call in calls for array in body.given):
            raise UnknownReachError
        yield AccessPath(conditions, tuple(iterate_accesses(nodes)), tuple(call.sizes for call in calls))


def _is_passed_whole(call: RecursiveCall, array: Array) -> bool:
    view = call.views[array.name]
    identity = tuple((dimension, ONE) for dimension in range(len(array.extents)))
    return view.array is array and view.axes == identity and view.extents == array.extents


# Lines
def count_box_lines(array: Array, box: Sequence[tuple[int, int]], extents: Sequence[int], line: int) -> int:
    """Bound the lines of the part of a box that lies in an array of given extents, with lines of `line` words."""
    along, total = contiguous_dimension(array), 1
    for dimension, ((low, high), extent) in enumerate(zip(box, extents, strict=True)):
        first, last = max(0, low), min(high, extent - 1)
        if last < first:
            return 0
        if dimension != along or array.strided:
            total *= last - first + 1
        elif array.aligned:
            total *= last // line - first // line + 1
        else:
            total *= min(last - first + 1, (last - first - 1) // line + 2)
    return total
