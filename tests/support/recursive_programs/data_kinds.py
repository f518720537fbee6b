"""The ways to divide in which the data has a say: which part goes on, and where the cut is."""

from __future__ import annotations

from recursive_programs import splits
from recursive_programs.algorithm import Header, Maker, Parts
from recursive_programs.kinds import Others, leaf_size, on_axis
from recursive_programs.model import Call, Case, Size
from recursive_programs.nests import Lines, indented
from recursive_programs.splits import Part


def either(maker: Maker, target: Header, others: Others) -> Lines:
    """The data decides which part goes on."""
    choose, header = maker.choose, maker.header
    n = header.sizes[0]
    split = choose.pick((splits.halves, splits.unequal))(choose, n)
    low = leaf_size(choose, split)
    lines = [f"if {n} <= {low}:", *indented(maker.leaf(lambda sizes: sizes[n] <= low)), "else:"]
    first, second = on_axis(target, n, split.parts[:2])
    before, nests = maker.work() if choose.chance(50) else ([], [])
    condition = f"x_{n}[0] < 0.5" if header.style == "vectors" else "d < 0.5"
    body = [*split.lets, *before, f"if {condition}:", *indented(maker.group(target, [first])), "else:"]
    body += indented(maker.group(target, [second]) if choose.chance(85) else ["s += 1.0"])
    calls = [Call(target.name, {name: part.length for name, part in parts.items()}) for parts in (first, second)]
    maker.cases.append(Case(lambda sizes: True, tuple(calls), tuple(nests)))
    maker.features.add("data")
    return [*lines, *indented(body)]


def pivot(maker: Maker, target: Header, others: Others) -> Lines:
    """The data divides: what is less than the last element, and what is not, as far as a run calls on both."""
    choose, header = maker.choose, maker.header
    n = header.sizes[0]
    maker.features.add("data")
    length = Size(f"{n} - 1", lambda sizes: sizes[n] - 1)
    low = choose.pick((1, 1, 4))
    lines = [f"if {n} > {low}:"]
    body = ["local q: int = 0", f"for i in 0..{n} - 1:", f"    if x_{n}[i] < x_{n}[{n} - 1]:", "        q += 1"]
    chosen: list[Parts] = [{n: Part(length, "0", "q")}, {n: Part(length, "q + 1", n)}]
    body += maker.group(target, chosen if choose.chance(80) else chosen[:1])
    if choose.chance(40):
        body += maker.work()[0]
    # Half of the sizes are about what the data makes of it; the worst is as deep as the size.
    half = Size(f"{n}//2", lambda sizes: sizes[n] // 2)
    nests = ((Size.of(n), Size.of(n)),)
    maker.cases.append(Case(lambda sizes: sizes[n] > low, tuple(Call(target.name, {n: half}) for _ in chosen), nests))
    return [*lines, *indented(body), "else:", *indented(maker.leaf(lambda sizes: True))]


def narrow(maker: Maker, target: Header, others: Others) -> Lines:
    """The data moves a cut a little, within facts that the program assumes."""
    choose, header = maker.choose, maker.header
    n = header.sizes[0]
    maker.features.add("data")
    divisor, low = choose.pick((2, 3, 4)), choose.pick((8, 4))
    cut = Size("q", lambda sizes: sizes[n] // divisor + 1)
    rest = Size(f"{n} - q", lambda sizes: sizes[n] - sizes[n] // divisor)
    body = [f"local q: int = {n}//{divisor}", "if d < 0.5:", "    q += 1"]
    body += choose.pick(
        ([f"assume q >= {n}//{divisor}, q <= {n}//{divisor} + 1"], [f"assume {divisor}*q <= {n} + {divisor}"])
    )
    body += maker.group(target, [{n: Part(cut, "0", "q")}, {n: Part(rest, "q", n)}])
    text, nests = maker.work() if choose.chance(60) else ([], [])
    calls = tuple(Call(target.name, {n: each}) for each in (cut, rest))
    lines = [f"if {n} <= {low}:", *indented(maker.leaf(lambda sizes: sizes[n] <= low)), "else:"]
    maker.cases.append(Case(lambda sizes: True, calls, tuple(nests)))
    return [*lines, *indented([*body, *text])]
