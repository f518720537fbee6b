"""Generated programs of affine loop nests: triangular, strided, guarded, one behind the other, with local arrays."""

from __future__ import annotations

import random

LOOPS = ("0..n", "0..n", "1..n", "n - 1 downto 0", "0..n step 2", "0..{outer} + 1", "{outer}..n", "0..3")
PLACES = ("{0}", "{0}", "{0} + 1", "n + 3 - {0}", "2*{0}", "{0} + {1}", "n - {0} + {1}", "0", "{0}//2")
GUARDS = ("{0} % 2 == 0", "{0} + {1} >= n", "{0} >= 1", "{0} <= {1}", "{0} > 0 and {1} < n - 1")


def affine_program(seed: int) -> str:
    """An algorithm `main` of the size n >= 3; counters are below n, so that subscripts lie between 0 and 2*n + 7."""
    source = random.Random(seed)
    layout = source.choice(("", "", " colmajor"))
    head = f"algorithm main(A: inout real[2*n + 8, 2*n + 8]{layout}, x: inout real[2*n + 8], n: size):"
    body: list[str] = ["where n >= 3"]
    for _ in range(source.choice((1, 1, 2))):
        body += _nest(source, [], source.choice((1, 2, 2, 3)), ["A", "x"])
    if source.random() < 0.2:
        body = [body[0], "for t in 0..2:", *_indented(body[1:])]
    return "\n".join([head, *_indented(body)]) + "\n"


def _indented(lines: list[str]) -> list[str]:
    return [f"    {line}" for line in lines]


def _nest(source: random.Random, around: list[str], depth: int, arrays: list[str]) -> list[str]:
    if not depth:
        return _statements(source, around, arrays)
    variable = "ijk"[len(around)]
    range_ = source.choice(LOOPS).format(outer=around[-1] if around else "1")
    body: list[str] = []
    if source.random() < 0.2 and "W" not in arrays and "W2" not in arrays:
        extent = source.choice(("2*n + 8", "2*n + 9", "2*n + 8, 2"))
        body.append(f"local W: real[{extent}] = 0.5")
        arrays = [*arrays, "W" if "," not in extent else "W2"]
    if source.random() < 0.3:
        body += _statements(source, [*around, variable], arrays)
    body += _nest(source, [*around, variable], depth - 1, arrays)
    return [f"for {variable} in {range_}:", *_indented(body)]


def _statements(source: random.Random, around: list[str], arrays: list[str]) -> list[str]:
    op = source.choice(("=", "+=", "+="))
    line = f"{_element(source, around, arrays)} {op} {_element(source, around, arrays)}"
    if source.random() < 0.5:
        line += f"*{_element(source, around, arrays)}"
    if source.random() < 0.25:
        guard = source.choice(GUARDS).format(source.choice(around), source.choice(around))
        return [f"if {guard}:", *_indented([line])]
    return [line]


def _element(source: random.Random, around: list[str], arrays: list[str]) -> str:
    def place() -> str:
        return source.choice(PLACES).format(source.choice(around), source.choice(around))

    array = source.choice(arrays)
    if array == "A":
        return f"A[{place()}, {place()}]"
    return f"W[{place()}, {source.choice((0, 1))}]" if array == "W2" else f"{array}[{place()}]"
