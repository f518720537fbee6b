"""Generated programs with a guard of one to three parts, over loops, steps and the coordinate of a grid."""

from __future__ import annotations

import random
from dataclasses import dataclass

ALWAYS, NEVER = "0 == 0", "0 == 1"


@dataclass(frozen=True)
class GuardedProgram:
    """A program with its guard; where that is taken always, and never, it costs the most, and the least."""

    text: str
    guard: str
    sizes: tuple[str, ...]
    on_grid: bool

    @property
    def guarded(self) -> str:
        return self.text.format(guard=self.guard, received=_at_sender(self.guard))

    def taken(self, guard: str) -> str:
        return self.text.format(guard=guard, received=guard)


def guarded_program_from_seed(seed: int) -> GuardedProgram:
    """The program of a seed."""
    source = random.Random(seed)
    return _on_grid(source) if seed % 3 == 2 else _on_one(source)


def _on_one(source: random.Random) -> GuardedProgram:
    names = ["i", "j", "k"][: source.choice((1, 2, 2, 3))]
    parallel = len(names) > 1 and source.random() < 0.4
    lines = ["algorithm main(d: inout real[n, n], t: inout real[1], m: size):"]
    space = "    "
    for index, name in enumerate(names):
        inner = parallel and index >= len(names) - 2
        ends = ("0..n",) if inner else ("0..n", "0..m", "1..n + 1", "0..n step 2", "n - 1 downto 0")
        if index and not inner:
            ends = (*ends, f"0..{names[index - 1]} + 1", f"{names[index - 1]}..n")
        lines.append(f"{space}{'parallel for' if inner else 'for'} {name} in {source.choice(ends)}:")
        space += "    "
    lines.append(f"{space}if {{guard}}:")
    place = f"d[{names[-2]}, {names[-1]}]" if parallel else "t[0]"
    body = f"{place} += 1.0"
    kind = source.randrange(4)
    if kind == 0:
        lines.append(f"{space}    for u in 0..{source.choice(('m', 'n', names[-1]))}:")
        lines.append(f"{space}        {body}")
    else:
        lines.append(f"{space}    {body}")
    if kind == 1:
        lines.append(f"{space}else:")
        lines.append(f"{space}    {place} = {place} * 2.0 + 1.0")
    guard = _guard(source, names, ("n", "m"))
    return GuardedProgram("\n".join(lines) + "\n", guard, ("n", "m"), on_grid=False)


def _on_grid(source: random.Random) -> GuardedProgram:
    lines = [
        "algorithm main(Y: out real[P], m: size, w: size) on grid(r: P):",
        "    local a: real = 0",
        "    local z: real[w] = 0",
        f"    for s in 0..{source.choice(('m', 'm + P', 'P'))}:",
    ]
    kind = source.randrange(3)
    if kind == 2:
        lines.append("        exchange z to ((r + 1)%P) when {guard} into z from ((r - 1)%P) when {received}")
    else:
        lines.append("        if {guard}:")
        lines.append("            for u in 0..w:")
        lines.append("                a += 1.0")
        if kind == 1:
            lines.append("        else:")
            lines.append("            a += 2.0")
    lines.append("        shift a along r by 1")
    lines.append("    output Y[r] = a")
    guard = _guard(source, ["s", "r"] if source.random() < 0.6 else ["r", "s"], ("P", "m"))
    return GuardedProgram("\n".join(lines) + "\n", guard, ("P", "m", "w"), on_grid=True)


def _at_sender(guard: str) -> str:
    """The guard of the processor before this one."""
    words = guard.replace("(", "( ").replace(")", " )").split(" ")
    return " ".join("((r - 1)%P)" if word == "r" else word for word in words)


def _guard(source: random.Random, names: list[str], sizes: tuple[str, ...]) -> str:
    parts = [_part(source, names, sizes) for _ in range(source.randint(1, 3))]
    found = parts[0]
    for part in parts[1:]:
        found = f"({found}) {source.choice(('and', 'and', 'or'))} ({part})"
        if source.random() < 0.15:
            found = f"not ({found})"
    return found


def _part(source: random.Random, names: list[str], sizes: tuple[str, ...]) -> str:
    one = source.choice(names)
    two = source.choice(names)
    size = source.choice(sizes)
    compared = source.choice(("<", "<=", ">", ">=", "==", "!="))
    number = source.randint(0, 4)
    match source.randrange(8):
        case 0:
            return f"{one} {compared} {number}"
        case 1:
            return f"{one} {compared} {size} - {number}"
        case 2:
            return f"{one} + {two} {compared} {size} + {number}"
        case 3:
            return f"{one} {compared} {two} + {number}"
        case 4:
            return f"{one} * {one} {compared} {number} + {one}"
        case 5:
            return f"{one} * {one} {compared} {source.choice((size, two))} + {number}"
        case 6:
            return f"( {one} + {two} + {number} ) % {source.choice((2, 3))} == {source.randint(0, 1)}"
        case _:
            return f"( {two} + {number} ) % ( {one} + 1 ) {source.choice(('==', '!=', '<'))} {source.randint(0, 1)}"
