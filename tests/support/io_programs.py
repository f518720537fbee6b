"""Generated recursive programs that access arrays: vectors and matrices, divided in many ways, walked in many ways."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

Lines = list[str]


@dataclass(frozen=True)
class ArrayProgram:
    """A program whose entry `main` takes arrays of `shapes`, by size names, which may be chosen freely."""

    text: str
    shapes: dict[str, tuple[str, ...]]
    sizes: tuple[str, ...]


def array_program_from_seed(seed: int) -> ArrayProgram:
    """The program of a seed: one algorithm of vectors, or one of a matrix that calls one of vectors."""
    source = random.Random(seed)
    vectors = _Vectors(source, "main", 1 + source.randrange(2))
    if source.random() < 0.55:
        return ArrayProgram("\n".join(vectors.text()) + "\n", dict.fromkeys(vectors.names, ("n",)), ("n",))
    vectors = _Vectors(source, "walk", 1 + source.randrange(2))
    layout = source.choice(("", "", " colmajor", " zmorton"))
    text = _Matrix(source, vectors, layout).text()
    return ArrayProgram("\n".join([*text, "", *vectors.text()]) + "\n", {"A": ("n", "m")}, ("n", "m"))


def indented(lines: Sequence[str]) -> Lines:
    """Lines one level deeper."""
    return [f"    {line}" for line in lines]


class _Vectors:
    """An algorithm of one or two vectors of one length."""

    def __init__(self, source: random.Random, name: str, count: int) -> None:
        self._source = source
        self.name = name
        self.names = ("x", "y")[:count]
        self._fresh = 0

    def text(self) -> Lines:
        parameters = ", ".join(f"{name}: inout real[n]" for name in self.names)
        least = self._source.choice((3, 4, 6))
        body = ["let h = n//2", "let g = n//3"]
        locals_: tuple[str, ...] = ()
        if self._source.random() < 0.4:
            extent = self._source.choice(("n", "n", "n + 2", "2*n"))
            body += [f"local W: real[{extent}]" + self._source.choice((" = 0", " = 0.5"))]
            locals_ = ("W",)
        slow = self._source.random() < 0.25
        for _ in range(1 if slow else self._source.randrange(1, 4)):
            body += self._call(locals_, slow)
            if self._source.random() < 0.7:
                body += self.walk((*self.names, *locals_), "n")
        leaf = self.walk(self.names, "n")
        return [
            f"algorithm {self.name}({parameters}):",
            f"    if n <= {least}:",
            *indented(indented(leaf)),
            "    else:",
            *indented(indented(body)),
        ]

    def _call(self, locals_: tuple[str, ...], slow: bool) -> Lines:
        source = self._source
        halves = ("0..h", "h..n", "1..h + 1", "n - h..n", "g..n - g", "0..n step 2", "g..g + h", "1..n step 3")
        part = source.choice(("0..n - 1", "1..n", "2..n", "0..n - 2") if slow else halves)
        same = [part, *({"0..h": ["n - h..n", "1..h + 1", "g..g + h"]}.get(part, []))]
        arguments = [f"{source.choice((*self.names, *locals_))}[{source.choice(same)}]" for _ in self.names]
        if source.random() < 0.15 and part in ("0..h", "h..n"):
            return ["for q in 0..2:", *indented([f"{self.name}({', '.join(arguments)})"])]
        if source.random() < 0.15:
            return [f"if {self.names[0]}[0] > 0.5:", *indented([f"{self.name}({', '.join(arguments)})"])]
        if source.random() < 0.1:
            return ["if n % 2 == 0:", *indented([f"{self.name}({', '.join(arguments)})"])]
        return [f"{self.name}({', '.join(arguments)})"]

    def walk(self, names: Sequence[str], size: str) -> Lines:
        """A loop over elements, perhaps several times."""
        source = self._source
        lo = source.choice(("0", "0", "1", "2"))
        one, two = source.choice(names), source.choice(names)
        back = ("i", f"{size} - 1 - i", "i//2", "0", f"{size} - 1", *(("i - 1",) if lo != "0" else ()))
        places = [source.choice(back) for _ in range(3)]
        line = f"{one}[{places[0]}] += {two}[{places[1]}]*{one}[{places[2]}]"
        loop = source.choice(("{lo}..{size}", "{lo}..{size}", "{lo}..{size} step 2", "{size} - 1 downto {lo}"))
        body = [line]
        if source.random() < 0.2:
            condition = source.choice(("i % 2 == 0", f"{one}[i] > 0.5", "i > 1"))
            body = [f"if {condition}:", *indented(body)]
        lines = [f"for i in {loop.format(lo=lo, size=size)}:", *indented(body)]
        if source.random() < 0.4:
            lines = [f"for t in 0..{source.choice((2, 3))}:", *indented(lines)]
        return lines


class _Matrix:
    """An algorithm of a matrix, which calls itself and one of vectors on its rows and columns."""

    def __init__(self, source: random.Random, vectors: _Vectors, layout: str) -> None:
        self._source, self._vectors, self._layout = source, vectors, layout

    def text(self) -> Lines:
        source = self._source
        body = ["let h = n//2", "let g = m//2"]
        slow = source.random() < 0.25
        for _ in range(1 if slow else source.randrange(1, 4)):
            body += self._call(slow)
            if source.random() < 0.6:
                body += self._find_walk()
        return [
            f"algorithm main(A: inout real[n, m]{self._layout}):",
            f"    if n <= {source.choice((1, 2, 3))} or m <= {source.choice((1, 2, 4))}:",
            *indented(indented(self._find_walk())),
            "    else:",
            *indented(indented(body)),
        ]

    def _call(self, slow: bool) -> Lines:
        source = self._source
        if source.random() < 0.35:
            views = [
                source.choice(("A[0, :]", "A[n - 1, :]", "A[h, :]")) if source.random() < 0.5 else "A[:, 0]"
            ] * len(self._vectors.names)
            return [f"{self._vectors.name}({', '.join(views)})"]
        rows = source.choice(("1..n", ":", "0..n - 1") if slow else ("0..h", "h..n", "0..n step 2", "1..h + 1"))
        columns = source.choice(("1..m", "0..m - 1") if slow else ("0..g", "g..m", ":", "0..m step 2"))
        if self._layout == " zmorton":
            rows, columns = rows.replace("0..n step 2", "0..h"), columns.replace("0..m step 2", "g..m")
        return [f"main(A[{rows}, {columns}])"]

    def _find_walk(self) -> Lines:
        source = self._source
        places = [
            "A[i, j]",
            "A[n - 1 - i, j]",
            "A[i, m - 1 - j]",
            "A[0, j]",
            "A[i, 0]",
            "A[i, j//2]",
            "A[min(i, n - 1), j]",
        ]
        picked = [source.choice(places) for _ in range(2)]
        outer, inner = source.choice(
            (
                ("for i in 0..n:", "for j in 0..m:"),
                ("for j in 0..m:", "for i in 0..n:"),
                ("for i in 0..n:", "for j in min(i, m)..m:"),
            )
        )
        lines = [outer, *indented([inner, *indented([f"{picked[0]} += {picked[1]}"])])]
        if source.random() < 0.4:
            lines = ["for t in 0..2:", *indented(lines)]
        return lines


# Generated recursions by indices: arrays are given whole, and indices say which part a call works on


RANGE = """
algorithm go(x: real[n], s: inout real[1], lo: index, hi: index):
    where hi > lo
    decreases hi - lo
    if hi - lo <= 4:
        for i in lo..hi:
            s[0] += x[i]
    else:
        let m = (lo + hi)//2
        go(x, s, {})
        go(x, s, {})
"""
"""The sum of a range, by two calls on parts of it."""
MARGIN = 24
"""Calls may get so far beyond what they are first given."""


def index_program_from_seed(seed: int) -> ArrayProgram:
    """The program of a seed: a range of a vector, or a rectangle of a matrix, that is halved or cut in three."""
    source = random.Random(seed)
    return (_range if source.random() < 0.5 else _rectangle)(source)


def _range(source: random.Random) -> ArrayProgram:
    slope = source.random() < 0.4
    more, facts = (", d: index", ", abs(d) <= 1") if slope else ("", "")

    def beside(names: tuple[str, ...]) -> str:
        step = source.choice(("", "", "+ 1", "- 1", "+ 2", *(["+ d", "- d"] if slope else [])))
        return f"{source.choice(names)} {step}".strip()

    def call(low: str, high: str) -> str:
        turn = f", {source.choice(('d', '-d', '0', '1'))}" if slope else ""
        return f"go(x, y, {low}{_near(source)}, {high}{_near(source)}{turn})"

    cut = source.choice(("(lo + hi)//2", "lo + (hi - lo)//2", "lo + (hi - lo)//3", "hi - (hi - lo)//3"))
    small: Lines = ["for i in lo..hi:", f"    y[{beside(('i',))}] += x[{beside(('i', 'i', 'lo', 'hi'))}]"]
    large: Lines = [f"let m = {cut}", call("lo", "m"), call("m", "hi")]
    if source.random() < 0.3:
        large.append(f"y[{beside(('lo', 'hi', 'm'))}] += 1.0")
    lines = [
        f"algorithm go(x: inout real[n], y: inout real[n], lo: index, hi: index{more}):",
        f"    where hi > lo{facts}",
        "    decreases hi - lo",
        *indented([f"if hi - lo <= {source.choice((9, 9, 14))}:", *indented(small), "else:", *indented(large)]),
        "algorithm main(x: inout real[n], y: inout real[n]):",
        f"    where n >= {2 * MARGIN + 1}",
        f"    go(x, y, {MARGIN}, n - {MARGIN}{', 1' if slope else ''})",
    ]
    return ArrayProgram("\n".join(lines) + "\n", dict.fromkeys("xy", ("n",)), ("n",))


def _rectangle(source: random.Random) -> ArrayProgram:
    def place(first: str, second: str) -> str:
        return f"{first}{_near(source)}, {second}{_near(source)}"

    turned = source.random() < 0.5
    other = place("j", "i") if turned else place("i", "j")
    small: Lines = ["for i in i0..i1:", "    for j in j0..j1:", f"        A[{place('i', 'j')}] += B[{other}]"]
    halves: Lines = []
    for name, ends, kept in (("i", "i0, h, {0}", "h, i1, {0}"), ("j", "{0}, j0, h", "{0}, h, j1")):
        rest = "j0, j1" if name == "i" else "i0, i1"
        wide = "elif i1 - i0 >= j1 - j0:" if name == "i" else "else:"
        calls = [f"go(A, B, {each.format(rest)})" for each in (ends, kept)]
        halves += [wide, *indented([f"let h = ({name}0 + {name}1)//2", *calls])]
    layout = " colmajor" if source.random() < 0.3 else ""
    body = [f"if i1 - i0 + j1 - j0 <= {source.choice((4, 8))}:", *indented(small), *halves]
    arrays = f"A: inout real[n, n], B: real[n, n]{layout}"
    lines = [
        f"algorithm go({arrays}, i0: index, i1: index, j0: index, j1: index):",
        "    where i1 > i0, j1 > j0",
        "    decreases i1 - i0 + j1 - j0",
        *indented(body),
        f"algorithm main({arrays}):",
        "    where n >= 4",
        f"    go(A, B, 1, n - {source.choice((1, 2))}, 1, n - {source.choice((1, 2))})",
    ]
    return ArrayProgram("\n".join(lines) + "\n", dict.fromkeys("AB", ("n", "n")), ("n",))


def _near(source: random.Random) -> str:
    return source.choice(("", "", "", " + 1", " - 1"))


# Generated recursions of which the data decides how vectors, or rows or columns of a matrix, are divided


HELPER = """
algorithm add(x: inout real[n], y: inout real[m]):
    where n >= 0, m >= 0
    for i in 0..n:
        x[i] += 1.0
    for i in 0..m:
        y[i] += 0.5

"""


def divided_program_from_seed(seed: int) -> ArrayProgram:
    """The program of a seed: parts by the data, down to a number of levels or of entries."""
    return DividedProgram(random.Random(seed)).program()


class DividedProgram:
    """An algorithm of two vectors of one length, or of a vector and as many rows or columns of a matrix."""

    def __init__(self, source: random.Random) -> None:
        self._source = source
        self._fresh = 0
        self._matrix = source.choice(("", "", "", "n, c", "c, n"))
        self._leveled = source.random() < 0.4
        self._local = source.random() < 0.4
        self._three = source.random() < 0.3
        self._level, self._below = (", d: size", ", {0}") if self._leveled else ("", "")

    def program(self) -> ArrayProgram:
        given = self._given()
        deep = self._below.format(self._source.choice((2, 4, 8)))
        around = [f"algorithm main({given}):", *indented(self._around(f"go(x, y{deep})"))]
        lines = [*self._recursive(), *around]
        extents = self._matrix.split(", ") if self._matrix else ["n"]
        shapes = {"x": ("n",), "y": tuple(extents)}
        return ArrayProgram(HELPER + "\n".join(lines) + "\n", shapes, ("n", "c") if self._matrix else ("n",))

    def _given(self) -> str:
        return f"x: inout real[n], y: inout real[{self._matrix or 'n'}]"

    def _recursive(self) -> Lines:
        least = self._source.choice((1, 2, 5))
        leaf = f"d <= 1 or n <= {least}" if self._leveled else f"n <= {max(least, 4)}"
        return [
            f"algorithm go({self._given()}{self._level}):",
            "    where n >= 0",
            f"    decreases {'d' if self._leveled else 'n'}",
            *indented([f"if {leaf}:", *indented(self._loops()), "else:", *indented(self._divided())]),
        ]

    def _around(self, call: str) -> Lines:
        return [call] if self._source.random() < 0.7 else ["for k in 0..3:", f"    {call}"]

    def _divided(self) -> Lines:
        source = self._source
        found = self._loops() if source.random() < 0.5 else []
        found += self._cut("p", "0", "n")
        if self._three:
            found += self._cut("q", "p", "n")
        if self._local:
            found += [f"local z: real[n]{source.choice((' = x', ' = 0.25'))}"]
        if source.random() < 0.3:
            found += ["local few: real[3] = 0.5", "add(few, x)" if source.random() < 0.5 else "add(few, few)"]
        parts = [("0", "p"), ("p", "q"), ("q", "n")] if self._three else [("0", "p"), ("p", "n")]
        source.shuffle(parts)
        for lo, hi in parts:
            first = "z" if self._local and source.random() < 0.3 else "x"
            found += [self._call(first, lo, hi)]
            if self._local and source.random() < 0.3:
                found += [f"{first}[{lo}..{hi}] = z[{lo}..{hi}]"]
        return found

    def _cut(self, name: str, low: str, high: str) -> Lines:
        """An integer between two others, chosen by entries; without levels, parts of all are known to be left."""
        source = self._source
        if self._leveled and source.random() < 0.5:
            step = [f"local {name}: int = {low}", f"for i in {low}..{high}:", f"    if x[i] < {source.random():.1f}:"]
            return [*step, f"        {name} += 1", f"assume {name} >= {low}, {name} <= {high}"]
        length = f"({high} - {low})"
        first, second = source.sample((f"{length}//2", f"{length}//3", f"{length} - {length}//3", f"{length}//4"), 2)
        found = [f"local {name}: int = {low} + {first}", f"if x[{low if low == '0' else 'n - 1'}] < 0.5:"]
        found += [f"    {name} = {low} + {second}"]
        most = f"4*({name} - {low}) <= 3*{length} + 3"
        return [*found, f"assume {name} >= {low}, {name} <= {high}, 4*({name} - {low}) >= {length} - 3, {most}"]

    def _call(self, first: str, lo: str, hi: str) -> str:
        view = {"": f"{lo}..{hi}", "n, c": f"{lo}..{hi}, :", "c, n": f":, {lo}..{hi}"}[self._matrix]
        other = "x" if not self._matrix and self._source.random() < 0.2 else "y"
        parts = ("d//2", "max(1, d - d//2 - 1)" if self._three else "d//2")
        level = self._below.format(self._source.choice(parts)) if self._leveled else ""
        return f"go({first}[{lo}..{hi}], {other}[{view}]{level})"

    def _loops(self) -> Lines:
        source = self._source
        own = {"": "y[{0}]", "n, c": f"y[{{0}}, {source.choice(('0', 'c - 1'))}]", "c, n": "y[0, {0}]"}[self._matrix]
        y = own.format
        found: Lines = []
        back = ["    elif x[i] < 0.8:", f"        {y('n - 1 - i')} += x[i]"]
        for _ in range(source.randrange(1, 3)):
            self._fresh += 1
            w = f"w{self._fresh}"
            up = [f"        {y(w)} = x[i]", f"        {w} += {source.choice('112')}"]
            down = [f"        {w} -= 1", f"        x[{w}] += {y(w)}"]
            found += source.choice(
                (
                    ["for i in 0..n:", f"    {y('i')} += x[i]"],
                    ["for i in 0..n:", "    if x[i] < 0.5:", f"        {y('i')} += 1.0", *back],
                    ["for i in 1..n:", f"    x[i] += x[i - 1]*{y('i')}"],
                    ["for i in 0..n step 2:", f"    {y('i')} += x[i]"],
                    ["for i in 0..n:", "    for j in 0..2:", f"        x[i] += {y('i')}"],
                    ["for i in 0..n:", "    if x[i] < 0.3 and x[n - 1] < 0.7:", f"        {y('i')} = x[i]"],
                    ["if n > 0:", f"    {y('0')} += x[n//2]"],
                    [f"local {w}: int = 0", "for i in 0..n:", f"    if x[i] < 0.6 and {w} < n:", *up],
                    [f"local {w}: int = n", "for i in 0..n:", f"    if {w} > 0:", *down],
                    ["for i in n - 1 downto 1:", "    x[i - 1] += x[i]"],
                )
            )
        if self._matrix == "n, c" and source.random() < 0.5:
            found += ["for i in 0..n:", "    for j in 0..c:", "        y[i, j] += x[i]"]
        if self._matrix == "c, n" and source.random() < 0.5:
            found += ["for j in 0..c:", "    for i in 0..n:", "        y[j, i] += x[i]"]
        if source.random() < 0.3:
            found += ["add(x, y[:, 0])" if self._matrix == "n, c" else "add(x, x)"]
        return found


# Generated algorithms that call a recursive one in loops, of segments and with sizes that only the data tells


LEVELS = 4


def around_program_from_seed(seed: int) -> ArrayProgram:
    """The program of a seed: `main` loops over segments, itself or in what it calls."""
    return _Around(random.Random(seed)).program()


class _Around(DividedProgram):
    """A recursion of vectors or of rows of a matrix, down to a number of levels that is the length of an array."""

    def __init__(self, source: random.Random) -> None:
        super().__init__(source)
        self._matrix = source.choice(("", "", "n, c"))
        if self._leveled:
            self._level, self._below = ", lev: real[d]", ", lev[0..{0}]"

    def program(self) -> ArrayProgram:
        source, extent = self._source, self._matrix or "n"
        given = f"({self._given()}, o: offsets[m] into n):"
        body = self._segments()
        lines = [*self._recursive()]
        if source.random() < 0.3:
            call = "inner(x, y, o)"
            lines += [f"algorithm inner{given}", *indented(body)]
            body = [call] if source.random() < 0.5 else ["for t in 0..m:", f"    {call}"]
        lines += [f"algorithm main{given}", *indented(body)]
        shapes = {"x": ("n",), "y": tuple(extent.split(", ")), "o": ("m",)}
        sizes = ("n", "c", "m") if self._matrix else ("n", "m")
        return ArrayProgram(HELPER + "\n".join(lines) + "\n", shapes, sizes)

    def _segments(self) -> Lines:
        source = self._source
        rows = "o[i]..o[i + 1]" + (", :" if self._matrix else "")
        found: Lines = []
        level = f", lev[0..{source.randint(1, LEVELS)}]" if self._leveled else ""
        inner: Lines = []
        if self._leveled and source.random() < 0.6:
            inner += ["local e: int = 1", "if n > 2:", "    if x[2] < 0.4:", f"        e = {LEVELS - 1}"]
            inner += [f"assume e >= 1, e <= {LEVELS}"]
            level = ", lev[0..e]"
        if source.random() < 0.3:
            inner += ["local few: real[m] = 0.5", "add(few, few)"]
        call = [f"go(x[o[i]..o[i + 1]], y[{rows}]{level})"]
        if source.random() < 0.3:
            call = [source.choice(("if i > 1:", "if n > 1 and o[i] < 3:")), *indented(call)]
        inner += call
        if source.random() < 0.3:
            inner += ["for k in o[i]..o[i + 1]:", "    x[k] += 1.0"]
        loop = ["for i in 0..m:", *indented(inner)]
        if source.random() < 0.3:
            loop = ["for t in 0..2:", *indented(loop)]
        if self._leveled:
            found += [f"local lev: real[{LEVELS}] = 0.5"]
        return [*found, *(self._loops() if source.random() < 0.3 else []), *loop]
