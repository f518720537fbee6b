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
                body += self._walk()
        return [
            f"algorithm main(A: inout real[n, m]{self._layout}):",
            f"    if n <= {source.choice((1, 2, 3))} or m <= {source.choice((1, 2, 4))}:",
            *indented(indented(self._walk())),
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

    def _walk(self) -> Lines:
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
