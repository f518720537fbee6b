"""Generated programs on a grid whose collectives have another root in each iteration of a loop, some under guards."""

from __future__ import annotations

import random

METHODS = {"broadcast": ("tree", "naive", "chain", "scatter_allgather"), "reduce": ("tree", "naive")}
ROOTS = ("t%{p}", "(2*t + 1)%{p}", "{p} - 1 - t%{p}", "t//2%{p}")
GUARDS = ("r == t%{r}", "r != t%{r}", "r > 0", "r%2 == 0", "r >= t", "r < t and t < 3", "r == 0 or r > t", "t > 1")
GRIDS = ("r: P", "r: P", "r: g, c: h")


def rotating_program_from_seed(seed: int) -> str:
    """The program of a seed."""
    source = random.Random(seed)
    grid = source.choice(GRIDS)
    flat = grid == "r: P"
    axis, extent = source.choice((("r", "g"), ("c", "h"))) if not flat else ("r", "P")
    body: list[str] = []
    for _ in range(source.choice((1, 1, 2))):
        lines = [_step(source, axis, extent)]
        if source.random() < 0.3:
            # All processors of a group come to a collective: its guard is one of sizes and of t.
            lines = ["if t > 1:", *(f"    {each}" for each in lines)]
        body += lines
    if source.random() < 0.6:
        body += [
            f"if {source.choice(GUARDS).format(r='P' if flat else 'g')}:",
            "    for u in 0..w:",
            "        a += x[u]",
        ]
    heads = "T: size, w: size" if flat else "T: size, w: size, g: size, h: size"
    lines = [f"algorithm main({heads}) on grid({grid}):", "    local x: real[w] = 1", "    local a: real = 0"]
    lines += ["    for t in 0..T:", *(f"        {each}" for each in body)]
    return "\n".join(lines) + "\n"


def _step(source: random.Random, axis: str, extent: str) -> str:
    root = source.choice(ROOTS).format(p=extent)
    match source.choice(("broadcast", "broadcast", "reduce", "shift", "exchange")):
        case "broadcast":
            return f"broadcast x along {axis} from {root} using {source.choice(METHODS['broadcast'])}"
        case "reduce":
            return f"reduce x along {axis} onto {root} with + using {source.choice(METHODS['reduce'])}"
        case "shift":
            return f"shift x along {axis} by {source.choice(('1', 't', 't + 1', '2'))}"
        case _:
            other = "" if axis == "r" and extent == "P" else ", c" if axis == "r" else "r, "
            to, back = f"({axis} + 1)%{extent}", f"({axis} - 1)%{extent}"
            to, back = (f"{other}{each}" if axis == "c" else f"{each}{other}" for each in (to, back))
            return f"exchange x to ({to}) into x from ({back})"
