"""Loop work: nests of degree 0 to 3 over sizes, parallel or not, some with a branch on data inside."""

from __future__ import annotations

from collections.abc import Sequence

from programs.choice import Chooser
from recursive_programs.model import Size

Lines = list[str]
Nest = tuple[Size, ...]
OPERATIONS = ("t += 1.5", "t = t*0.5 + 1.0", "t = max(t, 0.25)", "t = 0.75")


def indented(lines: Sequence[str]) -> Lines:
    """The lines one level in."""
    return [f"    {line}" for line in lines]


def work(
    choose: Chooser, extents: Sequence[Size], most: int, condition: str | None, features: set[str]
) -> tuple[Lines, list[Nest]]:
    """Some statements of up to a degree. A `condition` on data stands in some of them."""
    lines: Lines = []
    nests: list[Nest] = []
    for _ in range(choose.weighted([(5, 1), (2, 2)])):
        degree = choose.weighted([(3, 0), (5, 1), (3, 2), (1, 3)])
        chosen = tuple(choose.pick(extents) for _ in range(min(degree, most)))
        lines += _nest(choose, chosen, condition, features)
        nests.append(chosen)
    return lines, nests


def _nest(choose: Chooser, extents: Nest, condition: str | None, features: set[str]) -> Lines:
    if not extents:
        return ["s += 1.0"] if condition is None or choose.chance(50) else _branch(condition, "s += 1.0", features)
    inner = ["local t: real = 0.5", choose.weighted([(6, OPERATIONS[0]), *((1, each) for each in OPERATIONS[1:])])]
    if condition is not None and choose.chance(60):
        inner = [inner[0], *_branch(condition, inner[1], features)]
    ranges = [f"0..{extent.text}" for extent in extents]
    if len(ranges) > 1 and choose.chance(20):
        ranges[-1] = "0..i + 1"
        features.add("triangle")
    elif choose.chance(8):
        ranges[-1] += " step 2"
    for name, bounds in reversed(list(zip("ijk", ranges, strict=False))):
        parallel = choose.chance(40)
        features |= {"parallel"} if parallel else set()
        inner = [f"{'parallel ' if parallel else ''}for {name} in {bounds}:", *indented(inner)]
    features.add(f"degree {len(extents)}")
    return inner


def _branch(condition: str, statement: str, features: set[str]) -> Lines:
    features.add("data")
    return [f"if {condition}:", f"    {statement}", "else:", "    pass"]
