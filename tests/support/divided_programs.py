"""Generated recursions of which the data decides how vectors, or rows or columns of a matrix, are divided."""

from __future__ import annotations

import random

from io_programs import ArrayProgram, Lines, indented

HELPER = """
algorithm add(x: inout real[n], y: inout real[m]):
    where n >= 0, m >= 0
    for i in 0..n:
        x[i] += 1.0
    for i in 0..m:
        y[i] += 0.5

"""


def divided_program_from_seed(seed: int) -> ArrayProgram:
    """The program of a seed: parts by the data, down to a number of levels or of entries."""
    return DividedProgram(random.Random(seed)).program()


class DividedProgram:
    """An algorithm of two vectors of one length, or of a vector and as many rows or columns of a matrix."""

    def __init__(self, source: random.Random) -> None:
        self._source = source
        self._fresh = 0
        self._matrix = source.choice(("", "", "", "n, c", "c, n"))
        self._leveled = source.random() < 0.4
        self._local = source.random() < 0.4
        self._three = source.random() < 0.3
        self._level, self._below = (", d: size", ", {0}") if self._leveled else ("", "")

    def program(self) -> ArrayProgram:
        given = self._given()
        deep = self._below.format(self._source.choice((2, 4, 8)))
        around = [f"algorithm main({given}):", *indented(self._around(f"go(x, y{deep})"))]
        lines = [*self._recursive(), *around]
        extents = self._matrix.split(", ") if self._matrix else ["n"]
        shapes = {"x": ("n",), "y": tuple(extents)}
        return ArrayProgram(HELPER + "\n".join(lines) + "\n", shapes, ("n", "c") if self._matrix else ("n",))

    def _given(self) -> str:
        return f"x: inout real[n], y: inout real[{self._matrix or 'n'}]"

    def _recursive(self) -> Lines:
        least = self._source.choice((1, 2, 5))
        leaf = f"d <= 1 or n <= {least}" if self._leveled else f"n <= {max(least, 4)}"
        return [
            f"algorithm go({self._given()}{self._level}):",
            "    where n >= 0",
            f"    decreases {'d' if self._leveled else 'n'}",
            *indented([f"if {leaf}:", *indented(self._loops()), "else:", *indented(self._divided())]),
        ]

    def _around(self, call: str) -> Lines:
        return [call] if self._source.random() < 0.7 else ["for k in 0..3:", f"    {call}"]

    def _divided(self) -> Lines:
        source = self._source
        found = self._loops() if source.random() < 0.5 else []
        found += self._cut("p", "0", "n")
        if self._three:
            found += self._cut("q", "p", "n")
        if self._local:
            found += [f"local z: real[n]{source.choice((' = x', ' = 0.25'))}"]
        if source.random() < 0.3:
            found += ["local few: real[3] = 0.5", "add(few, x)" if source.random() < 0.5 else "add(few, few)"]
        parts = [("0", "p"), ("p", "q"), ("q", "n")] if self._three else [("0", "p"), ("p", "n")]
        source.shuffle(parts)
        for lo, hi in parts:
            first = "z" if self._local and source.random() < 0.3 else "x"
            found += [self._call(first, lo, hi)]
            if self._local and source.random() < 0.3:
                found += [f"{first}[{lo}..{hi}] = z[{lo}..{hi}]"]
        return found

    def _cut(self, name: str, low: str, high: str) -> Lines:
        """An integer between two others, chosen by entries; without levels, parts of all are known to be left."""
        source = self._source
        if self._leveled and source.random() < 0.5:
            step = [f"local {name}: int = {low}", f"for i in {low}..{high}:", f"    if x[i] < {source.random():.1f}:"]
            return [*step, f"        {name} += 1", f"assume {name} >= {low}, {name} <= {high}"]
        length = f"({high} - {low})"
        first, second = source.sample((f"{length}//2", f"{length}//3", f"{length} - {length}//3", f"{length}//4"), 2)
        found = [f"local {name}: int = {low} + {first}", f"if x[{low if low == '0' else 'n - 1'}] < 0.5:"]
        found += [f"    {name} = {low} + {second}"]
        most = f"4*({name} - {low}) <= 3*{length} + 3"
        return [*found, f"assume {name} >= {low}, {name} <= {high}, 4*({name} - {low}) >= {length} - 3, {most}"]

    def _call(self, first: str, lo: str, hi: str) -> str:
        view = {"": f"{lo}..{hi}", "n, c": f"{lo}..{hi}, :", "c, n": f":, {lo}..{hi}"}[self._matrix]
        other = "x" if not self._matrix and self._source.random() < 0.2 else "y"
        parts = ("d//2", "max(1, d - d//2 - 1)" if self._three else "d//2")
        level = self._below.format(self._source.choice(parts)) if self._leveled else ""
        return f"go({first}[{lo}..{hi}], {other}[{view}]{level})"

    def _loops(self) -> Lines:
        source = self._source
        own = {"": "y[{0}]", "n, c": f"y[{{0}}, {source.choice(('0', 'c - 1'))}]", "c, n": "y[0, {0}]"}[self._matrix]
        y = own.format
        found: Lines = []
        back = ["    elif x[i] < 0.8:", f"        {y('n - 1 - i')} += x[i]"]
        for _ in range(source.randrange(1, 3)):
            self._fresh += 1
            w = f"w{self._fresh}"
            up = [f"        {y(w)} = x[i]", f"        {w} += {source.choice('112')}"]
            down = [f"        {w} -= 1", f"        x[{w}] += {y(w)}"]
            found += source.choice(
                (
                    ["for i in 0..n:", f"    {y('i')} += x[i]"],
                    ["for i in 0..n:", "    if x[i] < 0.5:", f"        {y('i')} += 1.0", *back],
                    ["for i in 1..n:", f"    x[i] += x[i - 1]*{y('i')}"],
                    ["for i in 0..n step 2:", f"    {y('i')} += x[i]"],
                    ["for i in 0..n:", "    for j in 0..2:", f"        x[i] += {y('i')}"],
                    ["for i in 0..n:", "    if x[i] < 0.3 and x[n - 1] < 0.7:", f"        {y('i')} = x[i]"],
                    ["if n > 0:", f"    {y('0')} += x[n//2]"],
                    [f"local {w}: int = 0", "for i in 0..n:", f"    if x[i] < 0.6 and {w} < n:", *up],
                    [f"local {w}: int = n", "for i in 0..n:", f"    if {w} > 0:", *down],
                    ["for i in n - 1 downto 1:", "    x[i - 1] += x[i]"],
                )
            )
        if self._matrix == "n, c" and source.random() < 0.5:
            found += ["for i in 0..n:", "    for j in 0..c:", "        y[i, j] += x[i]"]
        if self._matrix == "c, n" and source.random() < 0.5:
            found += ["for j in 0..c:", "    for i in 0..n:", "        y[j, i] += x[i]"]
        if source.random() < 0.3:
            found += ["add(x, y[:, 0])" if self._matrix == "n, c" else "add(x, x)"]
        return found
