"""Generated loops that begin or end at a remainder of the counters around them, as those of red and black points."""

from __future__ import annotations

import random

from io_programs import ArrayProgram, Lines

MARGIN = 3
"""Places lie so far from the ends of arrays, or farther."""


def parity_program_from_seed(seed: int) -> ArrayProgram:
    """The program of a seed: sweeps over a matrix, each row of which begins and ends elsewhere."""
    source = random.Random(seed)
    layout = source.choice(("", "", " colmajor"))
    first = source.choice(("i", "i + t", "2*i + t", "i + 1", "3*i"))
    least, modulus, step = source.randrange(3), source.choice((2, 2, 3, 4)), source.choice(("", " step 2", " step 3"))
    lo = f"{MARGIN + least} + ({first}) % {modulus}"
    hi = f"m - {MARGIN}" if source.random() < 0.7 else f"m - {MARGIN} - ({first}) % {modulus}"
    body: Lines = []
    for _ in range(source.randint(1, 3)):
        body.append(
            f"            {_target(source)} += {' + '.join(_place(source) for _ in range(source.randint(1, 3)))}"
        )
    lines = [
        f"algorithm main(A: inout real[n, m]{layout}, B: inout real[n, m], y: inout real[m], steps: size):",
        f"    where n >= {2 * MARGIN + 1}, m >= {2 * MARGIN + 8}",
        "    for t in 0..steps:",
        f"        for i in {MARGIN}..n - {MARGIN}:",
        f"            for j in {lo}..{hi}{step}:",
        *(f"    {each}" for each in body),
    ]
    shapes = {"A": ("n", "m"), "B": ("n", "m"), "y": ("m",)}
    return ArrayProgram("\n".join(lines) + "\n", shapes, ("n", "m", "steps"))


def _target(source: random.Random) -> str:
    return source.choice(("A[i, j]", "A[i, j]", "B[i, j]", "y[j]"))


def _place(source: random.Random) -> str:
    def near(name: str) -> str:
        return name + source.choice(("", "", " - 1", " + 1", " + 2"))

    return source.choice((f"A[{near('i')}, {near('j')}]", f"B[{near('i')}, {near('j')}]", f"y[{near('j')}]"))
