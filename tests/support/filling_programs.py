"""Generated programs that touch all of a matrix or a triangle, part by part, or all but a little, for tests of bounds from below."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass
from itertools import pairwise

from io_programs import ArrayProgram, Lines, indented

Ends = tuple[str, str]


def filling_program_from_seed(seed: int, flaw: bool = False) -> ArrayProgram:
    """The program of a seed: a matrix is cut across again and again, where sizes or the data say, down to some loops.

    With a `flaw` one part of one cut is left out, or falls short by a row or column.
    """
    return _Filling(random.Random(seed), flaw).program()


@dataclass(frozen=True)
class _Part:
    rows: Ends
    columns: Ends

    @property
    def view(self) -> str:
        return f"A[{'..'.join(self.rows)}, {'..'.join(self.columns)}]"


class _Filling:
    """An algorithm `fill` of a matrix, which calls itself and `touch`; `main` calls it."""

    def __init__(self, source: random.Random, flaw: bool) -> None:
        self._source = source
        self._flaw = flaw
        self._fresh = 0
        self._cuts = 0
        self._flawed = -1

    def program(self) -> ArrayProgram:
        source = self._source
        layout = source.choice(("", "", "", " colmajor"))
        given = f"A: inout real[n, m]{layout}"
        state = source.getstate()
        lines = self._body(given)
        if self._flaw:
            # The same again, with one of the cuts that were made spoiled.
            flawed = source.randrange(self._cuts)
            source.setstate(state)
            self._fresh = self._cuts = 0
            self._flawed = flawed
            lines = self._body(given)
        around = source.choice((["fill(A, 4)"], ["for k in 0..2:", "    fill(A, 8)"], ["if n > 0:", "    fill(A, 4)"]))
        text = [*lines, "", f"algorithm main({given}):", *indented(around)]
        return ArrayProgram("\n".join(text) + "\n", {"A": ("n", "m")}, ("n", "m"))

    def _body(self, given: str) -> Lines:
        source = self._source
        least = source.choice((1, 2, 5))
        touch = [
            f"algorithm touch({given}):",
            "    where n >= 0, m >= 0",
            *indented(self._loops(_Part(("0", "n"), ("0", "m")))),
        ]
        body = [f"if d <= 1 or n <= {least} or m <= {least}:", *indented(self._loops(_Part(("0", "n"), ("0", "m"))))]
        if source.random() < 0.4:
            body += ["elif A[0, 0] < 0.5:", *indented(self._cut(_Part(("0", "n"), ("0", "m")), 2))]
        body += ["else:", *indented(self._cut(_Part(("0", "n"), ("0", "m")), 2))]
        fill = [f"algorithm fill({given}, d: size):", "    where n >= 0, m >= 0", "    decreases d", *indented(body)]
        return [*touch, "", *fill]

    def _cut(self, part: _Part, depth: int) -> Lines:
        """A part in two, each of which is touched, called or cut again."""
        source = self._source
        number = self._cuts
        self._cuts += 1
        across = source.random() < 0.5
        low, high = part.rows if across else part.columns
        lines, middle = self._middle(low, high)
        parts = [self._within(part, across, (low, middle)), self._within(part, across, (middle, high))]
        if number == self._flawed:
            flaw = source.randrange(3)
            short = self._within(part, across, (f"min({middle} + 1, {high})", high))
            parts = [parts[:1], parts[1:], [parts[0], short]][flaw]
        source.shuffle(parts)
        for each in parts:
            way = source.random()
            if depth and way < 0.3:
                lines += self._cut(each, depth - 1)
            elif way < 0.6:
                lines += [f"fill({each.view}, d//2)"]
            elif way < 0.8:
                lines += [f"touch({each.view})"]
            else:
                lines += self._loops(each)
        return lines

    def _within(self, part: _Part, across: bool, ends: Ends) -> _Part:
        return _Part(ends, part.columns) if across else _Part(part.rows, ends)

    def _middle(self, low: str, high: str) -> tuple[Lines, str]:
        """Where it is cut: some part of the way, or as the data says."""
        source = self._source
        self._fresh += 1
        name = f"p{self._fresh}"
        half = f"{low} + ({high} - {low})//{source.choice('23')}" if low != "0" else f"{high}//{source.choice('23')}"
        way = source.random()
        if way < 0.5:
            static = {low, high} <= {"0", "n", "m"}
            return [f"let {name} = {half}" if static else f"local {name}: int = {half}"], name
        if way < 0.75:
            return [
                f"local {name}: int = {half}",
                "if A[0, 0] < 0.7:",
                f"    {name} = {low}",
                f"assume {name} >= {low}, {name} <= {high}",
            ], name
        count = [
            f"local {name}: int = {low}",
            f"for i in {low}..{high}:",
            "    if A[0, 0] < 0.4:",
            f"        {name} += 1",
        ]
        return [*count, f"assume {name} >= {low}, {name} <= {high}"], name

    def _loops(self, part: _Part) -> Lines:
        """All elements of a part, in one of some ways."""
        source = self._source
        (top, bottom), (left, right) = part.rows, part.columns
        rows, columns = f"for i in {top}..{bottom}:", f"for j in {left}..{right}:"
        element = ["A[i, j] = 0.25"]
        if source.random() < 0.2:
            element = ["if A[i, j] < 0.5:", "    A[i, j] = 0.25", "else:", "    A[i, j] = 0.5"]
        return source.choice(
            (
                [rows, f"    {columns}", *indented(indented(element))],
                [columns, f"    {rows}", *indented(indented(element))],
                [f"for i in {bottom} - 1 downto {top}:", f"    {columns}", *indented(indented(element))],
                [f"{part.view} = 0.75"],
                [rows, f"    A[i, {left}..{right}] = 0.75"],
            )
        )


def upper_program_from_seed(seed: int, flaw: bool = False) -> ArrayProgram:
    """The same on the diagonal and above it: rows and columns change places."""
    lower = lower_program_from_seed(seed, flaw)
    fill, main = lower.text.index("algorithm fill"), lower.text.index("algorithm main")
    body = re.sub(r"A\[([^],]*), ([^]]*)\]", r"A[\2, \1]", lower.text[fill:main])
    # What is touched by blocks is touched whole.
    return ArrayProgram(lower.text[:fill] + body + lower.text[main:], lower.shapes, lower.sizes)


def lower_program_from_seed(seed: int, flaw: bool = False) -> ArrayProgram:
    """The program of a seed that touches what lies on the diagonal of a square and below it, by blocks or data's cuts.

    With a `flaw` an element of each loop on the diagonal, or a row or column of a block beside it, is left out.
    """
    source = random.Random(seed)
    layout = source.choice(("", "", " colmajor"))
    given = f"A: inout real[n, n]{layout}"
    spoiled = source.choice(("loops", "block")) if flaw else ""
    leaf, whole = _triangle(source, spoiled == "loops"), ["A[:, :] = 0.5"]
    count = source.choice((2, 2, 3))
    names = ["0", *(f"p{each}" for each in range(1, count)), "n"]
    lines: Lines = []
    for before, name, part in zip(names, names[1:-1], range(count, 1, -1), strict=False):
        share = f"{before} + (n - {before})//{part}" if before != "0" else f"n//{part}"
        lines += [f"local {name}: int = {share}"]
        if source.random() < 0.4:
            lines += ["if A[0, 0] < 0.5:", f"    {name} = {before}"]
    calls = []
    for number, (low, high) in enumerate(pairwise(names)):
        calls += [f"fill(A[{low}..{high}, {low}..{high}], d//2)"]
        if low != "0":
            short = spoiled == "block" and number == count - 1
            columns = source.choice((f"0..max(0, {low} - 1)", f"min(1, {low})..{low}")) if short else f"0..{low}"
            calls += [f"touch(A[{low}..{high}, {columns}])"]
    source.shuffle(calls)
    fill = [f"if d <= 1 or n <= {source.choice((1, 3))}:", *indented(leaf), "else:", *indented([*lines, *calls])]
    text = [
        "algorithm touch(A: inout real[n, m]" + f"{layout}):",
        "    where n >= 0, m >= 0",
        *indented(whole),
        f"algorithm fill({given}, d: size):",
        "    where n >= 0",
        "    decreases d",
        *indented(fill),
        f"algorithm main({given}):",
        "    fill(A, 8)",
    ]
    return ArrayProgram("\n".join(text) + "\n", {"A": ("n", "n")}, ("n",))


def _triangle(source: random.Random, short: bool) -> Lines:
    """Loops over a triangle by rows or by columns, the diagonal with the rest or by itself."""
    less = int(short)
    return source.choice(
        (
            ["for i in 0..n:", f"    for j in 0..i + {1 - less}:", "        A[i, j] = 0.25"],
            ["for j in 0..n:", f"    for i in j + {less}..n:", "        A[i, j] = 0.25"],
            ["for i in 0..n:", f"    for j in {less}..i:", "        A[i, j] = 0.25", "    A[i, i] = 0.5"],
            ["for i in 0..n:", "    for j in 0..i:", "        A[i, j] = 0.25"]
            + ([] if short else ["    A[i, i] = 0.5"]),
        )
    )
