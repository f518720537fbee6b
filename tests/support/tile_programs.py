"""Generated nests by tiles: loops that step by a size or a number, and loops within a tile, cut short at the edges."""

from __future__ import annotations

import random

from io_programs import ArrayProgram, Lines, indented

STEPS = ("b", "b", "b", "c", "2*b", "4", "8")


def tile_program_from_seed(seed: int) -> ArrayProgram:
    """The program of a seed: matrices of n by n, one or two nests over tiles of some of their rows or columns."""
    source = random.Random(seed)
    layout = " colmajor" if source.random() < 0.2 else ""
    head = ", ".join([*(f"{name}: inout real[n, n]{layout}" for name in "AB"), "n: size", "b: size", "c: size"])
    body = [line for _ in range(source.choice((1, 1, 2))) for line in _nest(source)]
    lines = [f"algorithm main({head}):", *indented(body)]
    return ArrayProgram("\n".join(lines) + "\n", dict.fromkeys("AB", ("n", "n")), ("n", "b", "c"))


WHOLE = {
    "b divides n, and tiles are counted": ("b divides n", "0..n//b", "{0}{0}*b + {0}", "0..b"),
    "b divides n, and loops step by b": ("b divides n", "0..n step b", "{0}", "{0}{0}..{0}{0} + b"),
    "n is k tiles": ("n == k*b", "0..k", "{0}{0}*b + {0}", "0..b"),
}
"""How whole tiles are written: the facts, the loops over tiles, a subscript, and the loops within tiles."""


def product_by_whole_tiles(
    way: str, inner: str = "ijq", layouts: tuple[str, str, str] = ("", "", ""), ensures: str = ""
) -> ArrayProgram:
    """C += A B of n by n by tiles of b by b, with the loops within tiles in some order."""
    facts, tiles, subscript, within = WHOLE[way]
    i, j, q = (subscript.format(name) for name in "ijq")
    loops = [f"for {name}{name} in {tiles}:" for name in "ijq"]
    loops += [f"for {name} in {within.format(name)}:" for name in inner]
    body = [f"C[{i}, {j}] += A[{i}, {q}]*B[{q}, {j}]"]
    for line in reversed(loops):
        body = [line, *indented(body)]
    arrays = [f"{name}: inout real[n, n]{layout}" for name, layout in zip("ABC", layouts, strict=True)]
    sizes = ["b", *(["k"] if "k*b" in facts else [])]
    head = ", ".join([*arrays, *(f"{name}: size" for name in sizes)])
    given = [f"where {facts}", *([f"ensures {ensures}"] if ensures else [])]
    lines = [f"algorithm main({head}):", *indented([*given, *body])]
    return ArrayProgram("\n".join(lines) + "\n", dict.fromkeys("ABC", ("n", "n")), ("n", *sizes))


def _nest(source: random.Random) -> Lines:
    """Loops over tiles, then loops within them, some of them over all, in any order."""
    names = ["i", "j", "k"][: source.choice((2, 2, 3))]
    outer: Lines = []
    inner: Lines = []
    for name in names:
        if source.random() < 0.7:
            step = source.choice(STEPS)
            first = source.choice(("0", "0", "0", "1", step))
            outer.append(f"for {name * 2} in {first}..n step {step}:")
            inner.append(f"for {name} in {name * 2}..min({name * 2} + {source.choice((step, step, '3'))}, n):")
        else:
            inner.append(source.choice((f"for {name} in 0..n:", f"for {name} in n - 1 downto 0:")))
    source.shuffle(inner)
    loops = [*outer, *inner]
    tiles = [line[4:6] for line in outer]
    body = _statement(source, names, tiles)
    for line in reversed(loops):
        body = [line, *indented(body)]
    return body


def _statement(source: random.Random, names: list[str], tiles: list[str]) -> Lines:
    def place() -> str:
        row, column = (source.choice(names + (tiles if source.random() < 0.2 else [])) for _ in range(2))
        return f"{source.choice('AAB')}[{row}, {column}]"

    read = [place() for _ in range(source.choice((1, 2, 2)))]
    return [f"{place()} {source.choice(('=', '+='))} {' + '.join(read)}"]
