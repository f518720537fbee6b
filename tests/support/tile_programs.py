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
