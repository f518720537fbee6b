"""Generated nests over triangles of matrices, as factorisations have them: ranges that begin or end at other counters."""

from __future__ import annotations

import random

from io_programs import ArrayProgram, Lines, indented

Ranges = tuple[tuple[str, str], ...]


def triangle_program_from_seed(seed: int) -> ArrayProgram:
    """The program of a seed: two square matrices and one or two nests of two or three loops."""
    source = random.Random(seed)
    layout = " colmajor" if source.random() < 0.2 else ""
    shape = ("n", "n")
    head = ", ".join([*(f"{name}: inout real[n, n]{layout}" for name in "AB"), "n: size"])
    body = [line for _ in range(source.choice((1, 1, 1, 2))) for line in _nest(source)]
    lines = [f"algorithm main({head}):", *indented(body)]
    return ArrayProgram("\n".join(lines) + "\n", dict.fromkeys("AB", shape), ("n",))


def _nest(source: random.Random) -> Lines:
    """A loop over all rows, and in it one or two nests whose ranges depend on the row."""
    inner: Lines = []
    for _ in range(source.choice((1, 1, 2))):
        if source.random() < 0.3:
            inner += _statement(source, ["i"])
        inner += _triangle(source)
    return [f"for i in {_range(source, ('0', 'n'))}:", *indented(inner)]


def _triangle(source: random.Random) -> Lines:
    """A loop from or to the row, with statements and mostly another loop in it."""
    rows = source.choice((("0", "i"), ("0", "i"), ("i + 1", "n"), ("i", "n"), ("0", "i + 1"), ("0", "n")))
    ranges: Ranges = (("0", "i"), ("i + 1", "n"), ("0", "j"), ("j + 1", "n"), ("j", "n"), ("0", "n"), ("0", "j + 1"))
    if rows[0].startswith("i"):
        ranges = (*ranges, ("i", "j"), ("i", "j + 1"))
    body: Lines = []
    if source.random() < 0.3:
        body += _statement(source, ["i", "j"])
    if source.random() < 0.8:
        innermost = _statement(source, ["i", "j", "k"])
        body += [f"for k in {_range(source, source.choice(ranges))}:", *indented(innermost)]
    if not body or source.random() < 0.2:
        body += _statement(source, ["i", "j"])
    return [f"for j in {_range(source, rows)}:", *indented(body)]


def _range(source: random.Random, ends: tuple[str, str]) -> str:
    low, high = ends
    if source.random() < 0.15:
        return f"{high} - 1 downto {low}"
    return f"{low}..{high}"


def _statement(source: random.Random, counters: list[str]) -> Lines:
    def place() -> str:
        row, column = source.choice(counters), source.choice(counters)
        turned = f"n - 1 - {row}" if source.random() < 0.08 else row
        return f"{source.choice('AAB')}[{turned}, {column}]"

    read = [place() for _ in range(source.choice((1, 2, 2, 3)))]
    return [f"{place()} {source.choice(('=', '+=', '-='))} {' + '.join(read)}"]
