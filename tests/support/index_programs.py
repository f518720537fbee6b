"""Generated recursions by indices: arrays are given whole, and indices say which part a call works on."""

from __future__ import annotations

import random

from io_programs import ArrayProgram, Lines, indented

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
