"""Changes of programs whose effect on costs is known: edits that are none, and edits of loops that are counted by hand."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

from archline.expr.tree import Source
from archline.language import syntax as s
from archline.language.parser import parse_program, split_items
from archline.resources import find_resource

WORD = re.compile(r'"[^"\n]*"|#.*|\b[A-Za-z_]\w*\b(?!\()')
CONTEXTUAL = ("flops", "words", "messages", "work", "span", "io", "memory", "node", "times")
"""Words that mean something where no name can stand, whatever is called so."""


def library() -> list[Path]:
    """The files of the standard library."""
    return sorted(find_resource("stdlib").rglob("*.algo"))


# Edits that change nothing
def unchanged(text: str, random: random.Random) -> str:
    """A program that costs the same: other names, another order of algorithms, other comments and spaces."""
    found = ["\n".join(lines).rstrip() + "\n" for _, lines in split_items(Source("", text))]
    uses = [each for each in found if each.startswith("use")]
    others = [each for each in found if not each.startswith(("use", "claim"))]
    random.shuffle(others)
    return "\n".join(_commented(_spaced(_renamed(each, random), random), random) for each in (*uses, *others))


def _renamed(text: str, random: random.Random) -> str:
    """An item under other names of sizes, arrays and variables."""
    (item,) = parse_program(Source("", text)).items
    if not isinstance(item, s.Algorithm):
        return text
    names = (
        {each.name for each in item.parameters} | {each.name for each in item.grid} | s.find_assigned_names(item.body)
    )
    names |= {each.id for part in item.parameters for each in s.iterate_nodes(part) if isinstance(each, s.Name)}
    methods = {
        word for node in s.iterate_nodes(item.body) if isinstance(node, s.Clause) for word in s.find_names(node.values)
    }
    names -= {*CONTEXTUAL, *(methods - s.find_assigned_names(item.body)), "P", "Z", "L", "K", "pi"}
    chosen = [name for name in sorted(names) if random.random() < 0.7]
    free = [each for each in (f"{letter}{number}" for letter, number in product("qwa", range(50))) if each not in text]
    fresh = random.sample(free, len(chosen))
    new = dict(zip(chosen, fresh, strict=True))
    return WORD.sub(lambda found: new.get(found[0], found[0]), text)


def _spaced(text: str, random: random.Random) -> str:
    """An item with spaces around some of its operators."""
    pattern = re.compile(r'"[^"\n]*"|#.*|(?<=[\w)\]])([*+/]|//)(?=[\w(])')
    return pattern.sub(lambda found: f" {found[0]} " if found[1] and random.random() < 0.5 else found[0], text)


def _commented(text: str, random: random.Random) -> str:
    """An item with comments and blank lines."""
    lines = []
    for line in text.splitlines():
        if random.random() < 0.1 and line.startswith(" "):
            lines.append(f"{re.match(' *', line)[0]}# {random.random()}")
        lines.append(f"{line}  # {random.random()}" if random.random() < 0.2 and "#" not in line else line)
    return f"# {random.random()}\n" + "\n".join(lines) + "\n" * random.randint(1, 3)


def one_more_flop(text: str) -> str:
    """A program of which each algorithm does one flop more, before its last statement."""
    found: list[str] = []
    for _, lines in split_items(Source("", text)):
        if lines[0].startswith("algorithm"):
            last = max(at for at, line in enumerate(lines) if re.match(r" {4}(?!elif|else)[^ #)\]]", line))
            lines = [*lines[:last], "    local one_more: real = 1.0 + 1.0", *lines[last:]]
        found += lines
    return "\n".join(found) + "\n"


# Edits of loops
BOUNDS = ("n", "m", "n + 1", "2*n", "n + m", "n//2", "3")
INNER = (*BOUNDS, "i", "i + 1")


@dataclass(frozen=True)
class Nest:
    """A loop nest with so many flops in its innermost body, which may run at one n `only`."""

    bounds: tuple[str, ...]
    flops: int
    only: int | None = None

    @property
    def text(self) -> str:
        heads = [f"for {'ijk'[depth]} in 0..{bound}:" for depth, bound in enumerate(self.bounds)]
        heads[:0] = [] if self.only is None else [f"if n == {self.only}:"]
        heads.append("x[0] += " + " + ".join(["x[0]", *["2.0"] * (self.flops - 1)]))
        return "".join(f"{'    ' * depth}{head}\n" for depth, head in enumerate(heads, 1))

    def whole(self, n: int, m: int) -> tuple[int, int]:
        """Its flops and its work with the test."""
        if self.only is None:
            return self.counted(n, m)
        flops, work = self.counted(n, m) if n == self.only else (0, 0)
        return flops, work + 1

    def counted(self, n: int, m: int, i: int = 0, depth: int = 0) -> tuple[int, int]:
        """Its flops and its work, counted one by one."""
        if depth == len(self.bounds):
            return self.flops, self.flops
        flops = work = 0
        for value in range(eval(self.bounds[depth], {"n": n, "m": m, "i": i})):
            inner = self.counted(n, m, value if depth == 0 else i, depth + 1)
            flops, work = flops + inner[0], work + inner[1] + 1
        return flops, work


@dataclass(frozen=True)
class Nests:
    """An algorithm of loop nests, one after the other."""

    nests: tuple[Nest, ...]

    @property
    def text(self) -> str:
        return "algorithm f(x: inout real[n], y: real[m]):\n" + "".join(each.text for each in self.nests)

    def counted(self, n: int, m: int) -> dict[str, int]:
        """Its flops, and its work with the call."""
        flops, work = (sum(parts) for parts in zip(*(each.whole(n, m) for each in self.nests), strict=True))
        return {"flops": flops, "work": work + 1, "span": work + 1}

    @staticmethod
    def drawn(random: random.Random) -> Nests:
        return Nests(tuple(_nest(random) for _ in range(random.randint(1, 3))))

    def edited(self, random: random.Random) -> Nests:
        """The same with one change: a nest more or less, another bound, more or fewer flops, some at one n only."""
        at = random.randrange(len(self.nests))
        nest = self.nests[at]
        match random.randrange(5):
            case 4:
                return Nests((*self.nests, replace(_nest(random), only=random.randint(5, 300))))
            case 0:
                return Nests((*self.nests, _nest(random)))
            case 1 if len(self.nests) > 1:
                return Nests(self.nests[:at] + self.nests[at + 1 :])
            case 2:
                depth = random.randrange(len(nest.bounds))
                bound = random.choice(INNER if depth else BOUNDS)
                new = replace(nest, bounds=(*nest.bounds[:depth], bound, *nest.bounds[depth + 1 :]))
            case _:
                new = replace(nest, flops=random.choice([each for each in range(1, 6) if each != nest.flops]))
        return Nests((*self.nests[:at], new, *self.nests[at + 1 :]))


def _nest(random: random.Random) -> Nest:
    depth = random.randint(1, 3)
    inner = tuple(random.choice(INNER) for _ in range(depth - 1))
    return Nest((random.choice(BOUNDS), *inner), random.randint(1, 4))
