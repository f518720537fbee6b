"""Nests that are the same but for their counters: bounds found once for all are those found of each by itself."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from archline.analysis.cache.footprint.upper import Reference
from archline.analysis.cache.lower import segments
from archline.ir.lower import Lowering
from archline.ir.shape import of_nest
from archline.ir.tree import Loop
from archline.language.loader import load_text
from effort import drawn
from io_points import Point, Subject, stencils, strides, subject, tiles, triangles, walks

TIMES = 2


def repeated(given: Subject) -> Subject:
    """The statements of a program, so many times one after the other."""
    head, *lines = given.text.strip().splitlines()
    first = [each for each in lines if each.strip().startswith("where")]
    body = [each for each in lines if each not in first and not each.startswith("    local")]
    local = [each for each in lines if each.startswith("    local")]
    found = subject("\n".join([head, *first, *local, *body * TIMES, ""]))
    return Subject(given.name, found.module, found.algorithm, found.text, given.draw)


def points(given: Subject, seed: int) -> list[Point]:
    """Bounds and what is fetched, at the same points for the same seed."""
    source = random.Random(seed)
    return list(given.points(given.draw(source), source, 6))


@pytest.mark.parametrize("kind", [triangles, tiles, walks, strides, stencils])
@pytest.mark.parametrize("number", range(drawn(3, 1)))
def test_bounds_of_repeated_statements(
    kind: Callable[[int], Subject], number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = kind(number)
    found = points(repeated(program), number)
    assert all(point.holds for point in found)
    monkeypatch.setattr(Reference, "shape", property(lambda _: object()))
    monkeypatch.setattr(segments, "of_nest", lambda *_: (object(),))
    assert points(repeated(program), number) == found


CALLS = """
algorithm triangle(A: inout real[n, n]):
    for i in 0..n:
        for j in 0..i:
            A[i, j] += A[j, i]

algorithm whole(A: inout real[n, n]):
    for i in 0..n:
        for j in 0..n:
            A[i, j] += A[j, i]

algorithm main(A: inout real[n, n], B: inout real[n, n]):
    where n >= 2
    triangle(A)
    triangle(A)
    triangle(B)
    whole(A)
    triangle(A[0..n - 1, 0..n - 1])
    for k in 0..n:
        triangle(A)
        triangle(A)
"""


def test_shapes_tell_arrays_ranges_and_loops_around_apart() -> None:
    module = load_text(CALLS)
    scope, nodes = Lowering(module).trace(module.algorithms["main"])
    first, again, other, square, part, around = (node for node in nodes if isinstance(node, Loop))
    shape = of_nest(first, (), scope.facts)
    assert first.variable != again.variable
    assert of_nest(again, (), scope.facts) == shape
    assert shape not in [of_nest(each, (), scope.facts) for each in (other, square, part)]
    one, two = (node for node in around.body if isinstance(node, Loop))
    assert of_nest(one, (around,), scope.facts) == of_nest(two, (around,), scope.facts) != shape
