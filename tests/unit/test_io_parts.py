"""The parts of io's upper bound against what brute force finds: lines in windows, windows that slide, one cached line."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import pytest

from archline.algebra.evaluate.exact import evaluate
from archline.algebra.polynomial import Poly
from archline.analysis.cache.footprint.grouping import references
from archline.analysis.cache.footprint.union import Union
from archline.analysis.cache.footprint.upper import Lines
from archline.analysis.cache.residency.single import crossings
from archline.analysis.cache.samples import samples
from archline.analysis.cache.upper.allocation import Planner
from archline.ir.factored import UnboundedError
from archline.ir.lower import Lowering
from archline.ir.tree import accesses
from archline.language.loader import load_text
from effort import long
from stdlib_cases import load

Values = dict[str, int]


@pytest.mark.parametrize("line", [1, 2, 3, 4, 8, 32])
def test_crossings_of_one_line(line: int) -> None:
    """One line is fetched first, then one whenever an access is in another than the one before.

    Accesses no further apart than a line pass one end at a time, so that the number is exact; others are bounded.
    """
    source = random.Random(line)
    for _ in range(200):
        offsets = [source.randint(-6, 6) for _ in range(source.randint(2, 5))]
        first, last = -min(offsets), -min(offsets) + source.randint(1, 40)
        touched = [(v + offset) // line for v in range(first, last) for offset in offsets]
        changes = sum(x != y for x, y in pairwise(touched))
        ends = max(touched) - min(touched)
        assert changes <= ends * crossings(offsets)
        if line > 12:
            # Far from where the walk begins and ends, every end of a line is passed equally often.
            walk = [(v + offset) // line for v in range(line + 12, 3 * line - 12) for offset in offsets]
            assert sum(x != y for x, y in pairwise(walk)) == crossings(offsets)


# Random references.
@dataclass(frozen=True)
class Nest:
    """Loops with ends that are affine in the loops around, and one access with affine subscripts.

    An affine expression is its constant and the factors of the loops from the outermost in.
    """

    ends: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]
    subscripts: tuple[tuple[int, ...], ...]
    extents: tuple[int, ...]

    @property
    def text(self) -> str:
        """The nest as a program."""
        extents = ", ".join(map(str, self.extents))
        lines = [f"algorithm main(A: real[{extents}]) -> real:", "    local s: real = 0"]
        for depth, (lo, hi) in enumerate(self.ends):
            lines.append(f"{'    ' * (depth + 1)}for v{depth} in {_shown(lo)}..{_shown(hi)}:")
        place = ", ".join(map(_shown, self.subscripts))
        lines += [f"{'    ' * (len(self.ends) + 1)}s += A[{place}]", "    return s"]
        return "\n".join(lines) + "\n"

    def touched(self, fixed: tuple[int, ...], line: int) -> set[tuple[int, ...]]:
        """The lines touched with the outer loops fixed."""
        if len(fixed) == len(self.ends):
            *rows, entry = (_value(each, fixed) for each in self.subscripts)
            return {(*rows, entry // line)}
        return set().union(*(self.touched((*fixed, value), line) for value in self.counters(fixed)))

    def counters(self, fixed: tuple[int, ...]) -> range:
        """The values of the first loop that is not fixed."""
        lo, hi = self.ends[len(fixed)]
        return range(_value(lo, fixed), _value(hi, fixed))

    def fixings(self, depth: int) -> Iterator[tuple[int, ...]]:
        """Every choice of the outer loops."""
        if not depth:
            yield ()
            return
        for outer in self.fixings(depth - 1):
            yield from ((*outer, value) for value in self.counters(outer))


def _value(expression: tuple[int, ...], fixed: tuple[int, ...]) -> int:
    return expression[0] + sum(factor * value for factor, value in zip(expression[1:], fixed, strict=False))


def _shown(expression: tuple[int, ...]) -> str:
    terms = [str(expression[0]), *(f"({factor})*v{place}" for place, factor in enumerate(expression[1:]) if factor)]
    return " + ".join(terms)


def nest(source: random.Random) -> Nest:
    """Two to four loops, rectangles and triangles, with subscripts that loops share, turn round and step through."""
    count = source.randint(2, 4)
    ends = []
    for depth in range(count):
        lo = (source.choice((0, 0, 1)), *(source.choice((0, 0, 0, 1)) for _ in range(depth)))
        hi = (source.randint(2, 5), *(source.choice((0, 0, 0, 1, -1)) for _ in range(depth)))
        ends.append((lo, hi))
    factors = [0, 0, 0, 1, 1, -1, 2, 3, -4]
    subscripts = [(0, *(source.choice(factors) for _ in range(count))) for _ in range(source.randint(1, 3))]
    found = Nest(tuple(ends), tuple(subscripts), ())
    places = [[_value(each, fixed) for fixed in found.fixings(count)] for each in subscripts]
    shifted = []
    for subscript, taken in zip(subscripts, places, strict=True):
        shifted.append((-min(taken, default=0) + source.choice((0, 0, 1)), *subscript[1:]))
    extents = tuple(max(taken, default=0) - min(taken, default=0) + 2 for taken in places)
    return Nest(tuple(ends), tuple(shifted), extents)


def lines_of(subject: Nest) -> list[Lines]:
    """What is derived for each number of fixed loops."""
    module = load_text(subject.text)
    scope, nodes = Lowering(module).trace(module.algorithms["main"])
    (reference,) = references(accesses(nodes), scope.facts)
    return [reference.lines(depth) for depth in range(len(subject.ends) + 1)]


def number(value: Poly, known: Lines, fixed: tuple[int, ...], line: int) -> Fraction:
    """The value of an expression in a window."""
    restored = known.reference.facts.restore(value)
    return evaluate(restored, {**{f"v{place}": each for place, each in enumerate(fixed)}, "L": line, "Z": line})


@pytest.mark.parametrize("stream", range(6))
def test_lines_and_sliding_windows(stream: int) -> None:
    """Counts are at least what is touched; where windows are said to slide, no line comes back after a window without."""
    source = random.Random(stream)
    for _ in range(25):
        subject = nest(source)
        line = source.choice((1, 2, 3, 4))
        for depth, known in enumerate(lines_of(subject)):
            try:
                count = known.count.value
            except UnboundedError:
                continue
            for fixed in list(subject.fixings(depth))[:40]:
                touched = subject.touched(fixed, line)
                assert len(touched) <= number(count, known, fixed, line) or not touched, subject.text
            if depth and known.slides:
                for outer in list(subject.fixings(depth - 1))[:20]:
                    windows = [subject.touched((*outer, value), line) for value in subject.counters(outer)]
                    assert_unbroken([window for window in windows if window], subject.text)


@pytest.mark.parametrize("stream", range(6))
def test_largest_and_total_of_windows(stream: int) -> None:
    """No window touches more than the largest, and all together, each for itself, no more than the total."""
    source = random.Random(stream)
    for _ in range(25):
        subject = nest(source)
        line = source.choice((1, 2, 3, 4))
        for depth, known in enumerate(lines_of(subject)):
            touched = [len(subject.touched(fixed, line)) for fixed in subject.fixings(depth)]
            for found, most in ((lambda known: known.largest, max), (lambda known: known.total, sum)):
                try:
                    value = found(known).value
                except UnboundedError:
                    continue
                if touched and max(touched):
                    assert most(touched) <= number(value, known, (), line), subject.text


TRIANGLES: dict[str, Callable[[int, int], range]] = {
    "i..n": lambda i, n: range(i, n),
    "i + 1..n + 1": lambda i, n: range(i + 1, n + 1),
    "0..i + 1": lambda i, n: range(i + 1),
    "n - i..n + 1": lambda i, n: range(n - i, n + 1),
}


@pytest.mark.parametrize("ends", TRIANGLES)
@pytest.mark.parametrize("line", [1, 2, 3, 5, 8])
def test_triangles_are_counted_exactly(ends: str, line: int) -> None:
    """Rows of a triangle that begin or end on a diagonal, whatever lines they begin in."""
    text = f"algorithm main(A: real[n, n + 1], y: inout real[1]):\n    for i in 0..n:\n        for j in {ends}:\n"
    module = load_text(f"{text}            y[0] += A[i, j]\n")
    scope, nodes = Lowering(module).trace(module.algorithms["main"])
    (triangle,) = (each for each in references(accesses(nodes), scope.facts) if each.name == "A")
    for n in (1, 2, 7, 8, 9, 24):
        rows = [TRIANGLES[ends](i, n) for i in range(n)]
        exact = sum(len({j // line for j in row}) for row in rows)
        for count in (triangle.lines(0).total, triangle.lines(0).largest, triangle.lines(1).total):
            assert evaluate(scope.facts.restore(count.value), {"n": n, "L": line, "Z": line}) == exact


def assert_unbroken(windows: list[set[tuple[int, ...]]], text: str) -> None:
    """No line leaves and comes back."""
    gone: set[tuple[int, ...]] = set()
    for before, now in pairwise(windows):
        gone |= before - now
        assert not gone & now, text


@pytest.mark.parametrize("line", [1, 2, 4, 8])
def test_rectangles_from_the_start_of_lines_are_counted_exactly(line: int) -> None:
    source = random.Random(line)
    for _ in range(20):
        dimensions = source.randint(1, 3)
        sides = [source.randint(1, 9) for _ in range(dimensions)]
        order = source.sample(range(dimensions), dimensions)
        ends = tuple(((0,), (sides[place],)) for place in order)
        subscripts = tuple((0, *(int(other == place) for other in order)) for place in range(dimensions))
        subject = Nest(ends, subscripts, tuple(side + 1 for side in sides))
        for depth, known in enumerate(lines_of(subject)):
            if order[-1] == dimensions - 1 and depth < dimensions:
                fixed = (0,) * depth
                assert len(subject.touched(fixed, line)) == number(known.count.value, known, fixed, line)


Place = Callable[[int, int], tuple[int, int]]


@pytest.mark.parametrize(
    "places",
    [
        {"i, j": lambda i, j: (i, j), "i, j + 2": lambda i, j: (i, j + 2)},
        {"i, j": lambda i, j: (i, j), "i + 1, j": lambda i, j: (i + 1, j)},
        {"i, i": lambda i, j: (i, i), "i, i + 1": lambda i, j: (i, i + 1)},
        {"i + j, j": lambda i, j: (i + j, j), "i, j": lambda i, j: (i, j)},
        {"i, 7 - j": lambda i, j: (i, 7 - j), "7 - i, j": lambda i, j: (7 - i, j)},
    ],
)
@pytest.mark.parametrize("line", [1, 2, 3, 4])
def test_unions(places: dict[str, Place], line: int) -> None:
    """References together: no fewer lines than all of them touch."""
    reads = [f"            s += A[{place}]" for place in places]
    head = ["algorithm main(A: real[16, 16]) -> real:", "    local s: real = 0"]
    loops = ["    for i in 0..8:", "        for j in 0..8:"]
    module = load_text("\n".join([*head, *loops, *reads, "    return s"]) + "\n")
    scope, nodes = Lowering(module).trace(module.algorithms["main"])
    found = references(accesses(nodes), scope.facts)
    for depth in range(3):
        counted = scope.facts.restore(Union(found, depth).lines.value)
        for i in range(8):
            rows, columns = [i] if depth else range(8), [3] if depth == 2 else range(8)
            at = [place(row, j) for row in rows for j in columns for place in places.values()]
            touched = {(row, entry // line) for row, entry in at}
            assert len(touched) <= evaluate(counted, {"i": i, "j": 3, "L": line, "Z": line})


# What spare lines could do
@pytest.mark.parametrize(
    "target", ["dense.lu::lu", pytest.param("polybench.nussinov::nussinov", marks=long), "polybench.durbin::durbin"]
)
def test_ways_concern_whole_units(target: str) -> None:
    """Ways with no reference in common save other fetches: what a unit fetches is saved by ways that hold all of it."""
    module, algorithm = load(target)
    scope, nodes = Lowering(module).trace(algorithm)
    found = references(accesses(nodes), scope.facts)
    plans = Planner(found, scope.facts, list(samples(algorithm, scope))).plans()
    known = 0
    for plan in plans:
        for held in (each.references for of_array in plan.retentions for each in of_array):
            assert all(held.isdisjoint(unit.references) or held.issuperset(unit.references) for unit in plan.units)
            known += 1
    assert known > 100
