"""Generated algorithms that call a recursive one in loops, of segments and with sizes that only the data tells."""

from __future__ import annotations

import random

from divided_programs import HELPER, DividedProgram
from io_programs import ArrayProgram, Lines, indented

LEVELS = 4


def around_program_from_seed(seed: int) -> ArrayProgram:
    """The program of a seed: `main` loops over segments, itself or in what it calls."""
    return _Around(random.Random(seed)).program()


class _Around(DividedProgram):
    """A recursion of vectors or of rows of a matrix, down to a number of levels that is the length of an array."""

    def __init__(self, source: random.Random) -> None:
        super().__init__(source)
        self._matrix = source.choice(("", "", "n, c"))
        if self._leveled:
            self._level, self._below = ", lev: real[d]", ", lev[0..{0}]"

    def program(self) -> ArrayProgram:
        source, extent = self._source, self._matrix or "n"
        given = f"({self._given()}, o: offsets[m] into n):"
        body = self._segments()
        lines = [*self._recursive()]
        if source.random() < 0.3:
            call = "inner(x, y, o)"
            lines += [f"algorithm inner{given}", *indented(body)]
            body = [call] if source.random() < 0.5 else ["for t in 0..m:", f"    {call}"]
        lines += [f"algorithm main{given}", *indented(body)]
        shapes = {"x": ("n",), "y": tuple(extent.split(", ")), "o": ("m",)}
        sizes = ("n", "c", "m") if self._matrix else ("n", "m")
        return ArrayProgram(HELPER + "\n".join(lines) + "\n", shapes, sizes)

    def _segments(self) -> Lines:
        source = self._source
        rows = "o[i]..o[i + 1]" + (", :" if self._matrix else "")
        found: Lines = []
        level = f", lev[0..{source.randint(1, LEVELS)}]" if self._leveled else ""
        inner: Lines = []
        if self._leveled and source.random() < 0.6:
            inner += ["local e: int = 1", "if n > 2:", "    if x[2] < 0.4:", f"        e = {LEVELS - 1}"]
            inner += [f"assume e >= 1, e <= {LEVELS}"]
            level = ", lev[0..e]"
        if source.random() < 0.3:
            inner += ["local few: real[m] = 0.5", "add(few, few)"]
        call = [f"go(x[o[i]..o[i + 1]], y[{rows}]{level})"]
        if source.random() < 0.3:
            call = [source.choice(("if i > 1:", "if n > 1 and o[i] < 3:")), *indented(call)]
        inner += call
        if source.random() < 0.3:
            inner += ["for k in o[i]..o[i + 1]:", "    x[k] += 1.0"]
        loop = ["for i in 0..m:", *indented(inner)]
        if source.random() < 0.3:
            loop = ["for t in 0..2:", *indented(loop)]
        if self._leveled:
            found += [f"local lev: real[{LEVELS}] = 0.5"]
        return [*found, *(self._loops() if source.random() < 0.3 else []), *loop]
