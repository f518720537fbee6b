"""Generated sweeps over grids of two and three dimensions that read neighbours, in any order of the loops."""

from __future__ import annotations

import random

from io_programs import ArrayProgram, Lines, indented

REACH = 2


def stencil_program_from_seed(seed: int) -> ArrayProgram:
    """The program of a seed: arrays with a border of two entries on all sides, swept once or several times."""
    source = random.Random(seed)
    sizes = ("n", "m") if source.random() < 0.7 else ("n", "m", "q")
    shape = tuple(f"{size} + {2 * REACH}" for size in sizes)
    layout = " colmajor" if source.random() < 0.2 else ""
    head = ", ".join(
        [*(f"{name}: inout real[{', '.join(shape)}]{layout}" for name in "AB"), *(f"{s}: size" for s in sizes)]
    )
    body = [line for _ in range(source.choice((1, 1, 2))) for line in _sweep(source, sizes)]
    if source.random() < 0.5:
        body = ["for t in 0..3:", *indented(body)]
    lines = [f"algorithm main({head}):", *indented(body)]
    return ArrayProgram("\n".join(lines) + "\n", dict.fromkeys("AB", shape), sizes)


def _sweep(source: random.Random, sizes: tuple[str, ...]) -> Lines:
    """Loops over all dimensions, and a statement."""
    names = ("i", "j", "k")[: len(sizes)]
    order = list(zip(names, sizes, strict=True))
    if source.random() < 0.2:
        source.shuffle(order)
    low = source.choice((0, REACH, REACH, 1))

    def place() -> str:
        around = [source.choice((0, 0, 0, -1, 1, -2, 2)) for _ in names]
        moved = [f"{name} + {each + REACH - low}" for name, each in zip(names, around, strict=True)]
        return ", ".join(each.replace("+ -", "- ").replace(" + 0", "") for each in moved)

    written = source.choice("AB")
    read = [f"{source.choice('AAB')}[{place()}]" for _ in range(source.choice((1, 2, 3, 5)))]
    lines = [f"{written}[{place()}] {source.choice(('=', '+='))} {' + '.join(read)}"]
    if source.random() < 0.15:
        lines = [f"if {read[0]} > 0.5:", *indented(lines)]
    for name, size in reversed(order):
        up = f"{low}..{size} + {low}", f"{size} + {low - 1} downto {low}"
        lines = [f"for {name} in {source.choice((up[0], up[0], up[0], up[1]))}:", *indented(lines)]
    return lines
