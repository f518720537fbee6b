"""Generated programs that step through rows by strides: those of a size, and those that double or halve from loop to loop."""

from __future__ import annotations

import random

from io_programs import ArrayProgram, Lines, indented


def stride_program_from_seed(seed: int) -> ArrayProgram:
    """The program of a seed: loops over a vector and a matrix of 2^r entries a row."""
    shapes = {"a": ("n",), "b": ("n",), "A": ("m", "n")}
    return ArrayProgram("\n".join(_Strides(random.Random(seed)).text()) + "\n", shapes, ("n", "m"))


class _Strides:
    def __init__(self, source: random.Random) -> None:
        self._source = source

    def text(self) -> Lines:
        body: Lines = []
        for _ in range(self._source.choice((1, 1, 2))):
            body += self._nest()
        return [
            "algorithm main(a: inout real[n], b: inout real[n], A: inout real[m, n]):",
            "    where n is power of 2, n >= 16",
            *indented(body),
        ]

    def _nest(self) -> Lines:
        source = self._source
        if source.random() < 0.3:
            # A stride of a size: parts of m entries each.
            head = source.choice(("for i in 0..n//m - 3:", "for i in n//m - 4 downto 0:"))
            places = [f"i*m + {source.choice(('0', '1', 'm - 1', 'm', '2*m', '2*m', '3*m'))}" for _ in range(3)]
            return [head, *indented(self._body(places))]
        far = source.random() < 0.3
        last = 3 if far else 1
        outer = source.choice((f"for d in 0..log2(n) - {last}:", f"for d in log2(n) - {last + 1} downto 0:"))
        count = f"n/2^(d + {3 if far else 2})"
        head = source.choice((f"for i in 0..{count}:", f"for i in {count} - 1 downto 0:"))
        near = (
            "4*i*2^d", "(4*i + 1)*2^d", "(4*i + 2)*2^d", "(4*i + 3)*2^d", "4*(i + 1)*2^d - 1", "(4*i + 2)*2^d - 1",
            "2*i*2^d", "i*2^d + 1",
        )  # fmt: skip
        places = [source.choice((*near, *(("(4*i + 5)*2^d", "(4*i + 9)*2^d") if far else ()))) for _ in range(3)]
        return [outer, *indented([head, *indented(self._body(places))])]

    def _body(self, places: list[str]) -> Lines:
        source = self._source
        rows = [source.choice(("0", "m - 1", "min(i, m - 1)")) for _ in range(2)]
        names = ("a[{}]",) * 4 + ("b[{}]",) + tuple(f"A[{row}, {{}}]" for row in rows)
        arrays = [source.choice(names if source.random() < 0.7 else names[5:]) for _ in places]
        one, two, three = (array.format(place) for array, place in zip(arrays, places, strict=True))
        lines = [f"{one} += {two}"]
        if source.random() < 0.6:
            lines.append(f"{source.choice((one, two, three))} = {source.choice((two, three))}*0.5")
        if source.random() < 0.2:
            lines = [f"if {three} > 0.5:", *indented(lines)]
        return lines
