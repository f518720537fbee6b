"""Random programs with loops whose iterations the data decides: `while` and `repeat` in loops, branches and calls."""

from __future__ import annotations

import random

HEADER = "k: int[n], x: inout real[n]"
SPAWNING = f"{HEADER}, y: inout real[n]"
CONDITIONS = ("k[{index}] % 3 == 1", "n > 3", "{index} > 2", "k[{index}] > 2 and k[0] > 1")
STEPS = (
    "x[{index}] += 1.5",
    "x[{index}] = x[{index}]*2.0 + 1.0",
    "for j{level} in {index}..n:\n    x[j{level}] += 1.0",
)


def while_program_from_seed(seed: int) -> str:
    """Return a program whose last algorithm is `f`; it may call `g`, and `h`, which calls itself."""
    source = random.Random(seed)
    maker = _Maker(source)
    recursive = [*maker.loop("0", 1), "if n > 1:", "    h(k[1..n], x[1..n])"]
    if source.random() < 0.3:
        recursive[-1] = "    h(k[0..n // 2], x[0..n // 2])"
        recursive += ["    h(k[n // 2..n], x[n // 2..n])"]
    parts = [
        _algorithm("h", recursive),
        _algorithm("g", maker.block("0", 1, ())),
        _algorithm("f", maker.block("0", 3, ("g", "h")), SPAWNING),
    ]
    return "\n".join(parts)


def _algorithm(name: str, body: list[str], header: str = HEADER) -> str:
    return "\n".join([f"algorithm {name}({header}):", *_indented(body), ""])


def _indented(lines: list[str]) -> list[str]:
    return [f"    {line}" for line in lines]


class _Maker:
    def __init__(self, source: random.Random) -> None:
        self._source = source
        self._names = 0
        self._spawned = False

    def block(self, index: str, depth: int, callees: tuple[str, ...], parallel: bool = False) -> list[str]:
        lines: list[str] = []
        for _ in range(self._source.randint(1, 3 if depth > 1 else 2)):
            lines += self._statement(index, depth, callees, parallel)
        return lines

    def loop(self, index: str, depth: int, callees: tuple[str, ...] = (), parallel: bool = False) -> list[str]:
        """Return a loop without a bound, of at most 4 iterations."""
        self._names += 1
        name, counted = f"a{self._names}", self._source.choice(("", f" iterations N{self._names}"))
        inner = [f"{name} -= 1", *self._with_exit(self.block(index, depth - 1, callees, parallel), index, parallel)]
        small = self._source.random() < 0.4
        if self._source.random() < 0.1:
            return [f"local {name}: int = k[{index}] % 4", f"while {name} > 0 at most 4 times:", *_indented(inner)]
        if self._source.random() < 0.3:
            loop = [
                f"repeat{counted}:",
                *_indented(inner),
                f"until {name} <= 0{f' or x[{index}] > 20.0' if small else ''}",
            ]
        else:
            loop = [f"while {f'x[{index}] < 20.0 and ' if small else ''}{name} > 0{counted}:", *_indented(inner)]
        return [f"local {name}: int = k[{index}] % {self._source.randint(2, 4)}", *loop]

    def _with_exit(self, body: list[str], index: str, parallel: bool = False) -> list[str]:
        """Return the body of a loop that data may leave, perhaps: before all else, or after it."""
        if self._source.random() < 0.7:
            return body
        leave = [
            f"if x[{index}] > {self._source.choice((2, 8))}.0:",
            f"    {self._source.choice(('break', 'continue'))}",
        ]
        return [*leave, *body] if self._source.random() < 0.5 else [*body, *leave]

    def _statement(self, index: str, depth: int, callees: tuple[str, ...], parallel: bool) -> list[str]:
        choice = self._source.random()
        if depth == 0 or choice < 0.2:
            steps = STEPS[:2] if parallel else STEPS
            self._names += 1
            return self._source.choice(steps).format(index=index, level=self._names).split("\n")
        if choice < 0.3 and callees and not parallel:
            return [f"{self._source.choice(callees)}(k[{index}..n], x[{index}..n])"]
        if choice < 0.4 and callees and not parallel and not self._spawned:
            return self._spawn(index, depth, callees)
        if choice < 0.5:
            self._names += 1
            variable = f"i{self._names}"
            spread = not parallel and index == "0" and self._source.random() < 0.3
            low = index if not parallel else "0"
            head = f"{'parallel ' if spread else ''}for {variable} in {low}..n:"
            if parallel:
                return [head, *_indented(self.block(index, depth - 1, (), True))]
            body = self.block(variable, depth - 1, callees, spread)
            return [head, *_indented(body if spread else self._with_exit(body, variable))]
        if choice < 0.65:
            condition = self._source.choice(CONDITIONS).format(index=index)
            lines = [f"if {condition}:", *_indented(self.block(index, depth - 1, callees, parallel))]
            if self._source.random() < 0.5:
                lines += ["else:", *_indented(self.block(index, depth - 1, callees, parallel))]
            return lines
        return self.loop(index, depth, callees, parallel)

    def _spawn(self, index: str, depth: int, callees: tuple[str, ...]) -> list[str]:
        """Return a spawned call, code beside it, and a sync, perhaps in a loop that need not have an iteration."""
        self._spawned = True
        beside = self._statement(index, depth - 1, callees, False)
        if self._source.random() < 0.4:
            head, loop, *body = self.loop(index, 1)
            beside = [head, loop, "    sync", *body] if self._source.random() < 0.5 else [head, loop, *body, *beside]
        self._spawned = False
        return [f"spawn {self._source.choice(callees)}(k[{index}..n], y[{index}..n])", *beside, "sync"]
