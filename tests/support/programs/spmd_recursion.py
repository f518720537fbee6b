"""Generated recursive programs on a grid: groups split again and again, and what they send on the way."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random


@dataclass(frozen=True)
class Recursive:
    """A program, whose last algorithm is to be run, and sizes for it; `features` name what it has."""

    text: str
    points: tuple[dict[str, int], ...]
    features: frozenset[str]


def recursion_from_seed(seed: int) -> Recursive:
    """The program of a seed."""
    return _Writer(Random(seed)).program()


class _Writer:
    """Writes `rec`, which halves (or divides by more) the processors of its group, and what calls it."""

    def __init__(self, random: Random) -> None:
        self._random = random
        self._parts = random.choice((2, 2, 2, 3, 4))
        self._counted = random.random() < 0.4
        self._by_size = not self._counted and random.random() < 0.3
        self._features: set[str] = set()

    def program(self) -> Recursive:
        header = f"    where P is power of {self._parts}{', d >= 0' if self._counted else ''}"
        depth = ", d: size" if self._counted else ""
        second = ", m: size" if self._by_size else ""
        lines = [
            f"algorithm rec(a: inout local real[s]{depth}{second}) on grid(r: P):",
            header,
            f"    decreases {'d, P' if self._counted else 'P'}",
            "    if P == 1:",
            *self._leaf(),
        ]
        if self._counted:
            lines += ["    elif d > 0:", *self._with_all()]
        if self._by_size:
            lines += ["    elif s >= m:", *self._with_parts("m + 1"), "    else:", *self._with_parts("m")]
        else:
            lines += ["    else:", *self._with_parts("m")]
        lines += self._get_context()
        return Recursive("\n".join(lines) + "\n", tuple(self._points()), frozenset(self._features))

    def _leaf(self) -> list[str]:
        return self._random.choice(
            (
                ["        a[0] += 1.0"],
                ["        for u in 0..s:", "            a[u] += a[u]*a[0]"],
                [
                    "        local w: real[s] = a",
                    "        for u in 0..s:",
                    "            for v in 0..u:",
                    "                a[u] += w[v]",
                ],
            )
        )

    def _with_all(self) -> list[str]:
        self._features.add("count")
        calls = self._random.choice((1, 2, 3))
        body = [f"        local x: real[{self._random.choice(('s', '2*s'))}] = 0"]
        if self._random.random() < 0.5:
            self._features.add("all")
            body.append("        shift a along r by 1")
        if calls == 1:
            return [*body, "        rec(x, d - 1)"]
        return [*body, f"        for f in 0..{calls}:", "            rec(x, d - 1)"]

    def _with_parts(self, second: str) -> list[str]:
        b = self._parts
        more = (", 0" if self._counted else "") + (f", {second}" if self._by_size else "")
        steps = {
            "gather": [f"local y: real[{b}*s]", "allgather a along g into y", f"rec(y{more})"],
            "scatter": [f"local y: real[{b}*s] = 1", f"rec(y{more})", "reduce_scatter y along g into a with +"],
            "shift": ["shift a along g by 1", f"rec(a{more})"],
            "reduce": [f"rec(a{more})", "allreduce a along g with +"],
            "broadcast": ["broadcast a along g from 0", f"rec(a{more})", "reduce a along g onto 0 with +"],
            "guard": ["exchange a to (r) when g == 0 into a from (r) when g == 0", f"rec(a{more})"],
            "twice": [f"rec(a{more})", "shift a along g by 1", f"rec(a{more})"],
        }
        name = self._random.choice([each for each in steps if each != "guard"])
        self._features.add(name)
        lines = [f"        split r by {b} as g:", *(f"            {each}" for each in steps[name])]
        if self._random.random() < 0.3:
            self._features.add("whole group")
            lines.append("        shift a along r by 1")
        return lines

    def _get_context(self) -> list[str]:
        """The program that is run: the recursion on all processors, or on the rows of a grid."""
        more = (", d" if self._counted else "") + (", m" if self._by_size else "")
        sizes = "".join(f"{name}: size, " for name, used in (("d", self._counted), ("m", self._by_size)) if used)
        facts = ["d >= 0"] if self._counted else []
        if self._random.random() < 0.5:
            self._features.add("rows")
            where = [f"g is power of {self._parts}", *facts]
            return ["", f"algorithm f(n: size, {sizes}g: size, h: size) on grid(i: h, j: g):", f"    where {', '.join(where)}",
                    "    local a: real[n] = 1", "    shift a along i by 1", f"    rec(a{more}) along j"]  # fmt: skip
        where = [f"P is power of {self._parts}", *facts]
        return ["", f"algorithm f(n: size, {sizes.removesuffix(', ')}) on grid(r: P):".replace(", )", ")"),
                f"    where {', '.join(where)}", "    local a: real[n] = 1", f"    rec(a{more})"]  # fmt: skip

    def _points(self) -> Iterator[dict[str, int]]:
        rows = "rows" in self._features
        for processors in (1, self._parts, self._parts**2, self._parts**3):
            if processors > 32:
                continue
            for n in self._random.sample((1, 2, 3, 4, 5, 8), 2):
                point = {"n": n} | ({"d": self._random.choice((0, 1, 2))} if self._counted else {})
                point |= {"m": self._random.choice((1, 3, 4, 9))} if self._by_size else {}
                if not rows:
                    yield {**point, "P": processors}
                elif processors <= 16:
                    yield {**point, "g": processors, "h": self._random.choice((1, 2))}
