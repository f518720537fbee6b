"""Changes of layout, order of loops, blocking and statements, whose effect on io runs show: 30 of them, and their reverses."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import archline as al


@dataclass(frozen=True)
class PlantedChange:
    """Two versions of an algorithm `f`, and sizes at which runs tell them apart, or do not."""

    name: str
    old: str
    new: str
    sizes: tuple[tuple[str, int], ...]


def _loops(heads: str, body: str) -> str:
    """`i:n j:m` as loops over a body, whose statements are lines."""
    lines: list[str] = []
    for depth, head in enumerate(heads.split(), 1):
        name, _, bounds = head.partition(":")
        lines.append(f"{'    ' * depth}for {name} in {bounds if '..' in bounds else f'0..{bounds}'}:")
    indent = "    " * (len(lines) + 1)
    return "\n".join([*lines, *(indent + each.strip() for each in body.split(";"))]) + "\n"


def _nests(header: str, *nests: tuple[str, str]) -> str:
    where = "    where n >= 4\n"
    return f"algorithm f({header}):\n{where}" + "".join(_loops(heads, body) for heads, body in nests)


MATRICES = "A: real[n, n], B: real[n, n], C: inout real[n, n]"
PRODUCT = "C[i, j] += A[i, k]*B[k, j]"
GEMV = "A: real[n, n], x: real[n], y: inout real[n]"
STEP = "y[i] += A[i, j]*x[j]"
STENCIL = "u: real[n, n], v: out real[n, n]"
SOLVE = "T: real[n, n], x: inout real[n]"
FORWARD = "    for i in 0..n:\n        for j in 0..i:\n            x[i] -= T[i, j]*x[j]\n        x[i] /= T[i, i]\n"
BY_COLUMNS = (
    "    for j in 0..n:\n        x[j] /= T[j, j]\n        for i in j + 1..n:\n            x[i] -= T[i, j]*x[j]\n"
)
BLOCKED = """    for i in 0..n step 4:
        for j in 0..n step 4:
            for k in 0..n step 4:
                for p in i..i + 4:
                    for q in j..j + 4:
                        for r in k..k + 4:
                            C[p, q] += A[p, r]*B[r, q]
"""
TILES = """    for i in 0..n step 4:
        for j in 0..n step 4:
            for p in i..i + 4:
                for q in j..j + 4:
                    B[p, q] = A[q, p]
"""


def _pairs() -> list[tuple[str, str, str]]:
    """The name of each change, and both versions."""

    def algorithm(header: str, body: str, where: str = "n >= 4") -> str:
        return f"algorithm f({header}):\n    where {where}\n{body}"

    def matmul(order: str, header: str = MATRICES) -> str:
        return _nests(header, (" ".join(f"{name}:n" for name in order), PRODUCT))

    def gemv(order: str = "i:n j:n", header: str = GEMV, more: str = "") -> str:
        return _nests(header, (order, STEP), *([("i:n", more)] if more else []))

    def stencil(order: str, header: str = STENCIL, body: str = "v[i, j] = u[i - 1, j] + u[i + 1, j]") -> str:
        return _nests(header, (order, body))

    def column(header: str, name: str) -> str:
        return header.replace(f"{name} real[n, n]", f"{name} real[n, n] colmajor", 1)

    rows, columns = "i:1..n-1 j:n", "j:n i:1..n-1"
    copy, cubes = "A: real[n, n], B: out real[n, n]", "u: real[n, n, n], v: out real[n, n, n]"
    vectors = "x: real[n], y: inout real[n], z: inout real[n]"
    add = "C[i, j] = A[i, j] + B[i, j]"
    seven = "v[i, j, k] = u[i, j, k] + u[i, j, k - 1]"
    half = _nests("A: real[n, n], y: inout real[n]", ("i:n j:i", "y[i] += A[i, j]"))
    return [
        ("forward substitution, colmajor", algorithm(SOLVE, FORWARD), algorithm(column(SOLVE, "T:"), FORWARD)),
        ("forward substitution by columns", algorithm(SOLVE, FORWARD), algorithm(SOLVE, BY_COLUMNS)),
        (
            "columns of colmajor",
            algorithm(column(SOLVE, "T:"), BY_COLUMNS),
            algorithm(column(SOLVE, "T:"), FORWARD),
        ),
        ("ijk to ikj", matmul("ijk"), matmul("ikj")),
        ("ijk to jki", matmul("ijk"), matmul("jki")),
        ("ikj to kij", matmul("ikj"), matmul("kij")),
        ("jki to kji", matmul("jki"), matmul("kji")),
        ("ijk, B colmajor", matmul("ijk"), matmul("ijk", column(MATRICES, "B:"))),
        ("ijk, A colmajor", matmul("ijk"), matmul("ijk", column(MATRICES, "A:"))),
        ("ikj, C colmajor", matmul("ikj"), matmul("ikj", column(MATRICES, "C: inout"))),
        ("ijk blocked", algorithm(MATRICES, matmul("ijk").split("\n", 2)[2], "4 divides n"), algorithm(MATRICES, BLOCKED, "4 divides n")),
        ("gemv swapped", gemv(), gemv("j:n i:n")),
        ("gemv colmajor", gemv(), gemv(header=column(GEMV, "A:"))),
        ("gemv, one more vector", gemv(), gemv(header=f"{GEMV}, w: real[n]", more="y[i] += w[i]")),
        ("gemv, one more matrix", gemv(), _nests(f"{GEMV}, B: real[n, n]", ("i:n j:n", f"{STEP}*B[i, j]"))),
        ("gemv, a second pass", gemv(), _nests(GEMV, ("i:n j:n", STEP), ("i:n j:n", STEP))),
        ("gemv of half", gemv(), _nests(GEMV, ("i:n j:n//2", STEP))),
        ("stencil swapped", stencil(rows), stencil(columns)),
        ("stencil, u colmajor", stencil(rows), stencil(rows, column(STENCIL, "u:"))),
        ("stencil, both colmajor", stencil(columns), stencil(columns, column(column(STENCIL, "u:"), "v: out"))),
        ("stencil of a third row", stencil(rows), stencil(rows, body="v[i, j] = u[i - 1, j] + u[i, j] + u[i + 1, j]")),
        ("transposition to copy", _nests(copy, ("i:n j:n", "B[i, j] = A[j, i]")), _nests(copy, ("i:n j:n", "B[i, j] = A[i, j]"))),
        ("transposition by tiles", algorithm(copy, _loops("i:n j:n", "B[i, j] = A[j, i]"), "4 divides n"), algorithm(copy, TILES, "4 divides n")),
        ("sum, one colmajor", _nests(MATRICES, ("i:n j:n", add)), _nests(column(MATRICES, "B:"), ("i:n j:n", add))),
        ("sum swapped", _nests(MATRICES, ("i:n j:n", add)), _nests(MATRICES, ("j:n i:n", add))),
        ("passes fused", _nests(vectors, ("i:n", "y[i] += x[i]"), ("i:n", "z[i] += x[i]")), _nests(vectors, ("i:n", "y[i] += x[i]; z[i] += x[i]"))),
        ("a statement dropped", _nests(vectors, ("i:n", "y[i] += x[i]"), ("i:n", "z[i] += x[i]")), _nests(vectors, ("i:n", "y[i] += x[i]"))),
        ("cubes swapped", _nests(cubes, ("i:n j:n k:1..n", seven)), _nests(cubes, ("k:1..n j:n i:n", seven))),
        ("half of a matrix by columns", half, half.replace("A[i, j]", "A[j, i]")),
        ("strided", _nests("x: real[n, 8], y: out real[n]", ("i:n", "y[i] = x[i, 0]")), _nests("x: real[8, n], y: out real[n]", ("i:n", "y[i] = x[0, i]"))),
    ]  # fmt: skip


CHANGES = [
    change
    for name, old, new in _pairs()
    for change in (
        PlantedChange(name, old, new, (("n", 16),)),
        PlantedChange(f"{name}, reversed", new, old, (("n", 16),)),
    )
]
CACHES = (16, 4), (32, 4), (64, 4), (128, 4), (64, 8)
"""Words of the cache and of a line: where a few lines fit, where rows do, and where a matrix does."""


@cache
def executed(text: str, sizes: tuple[tuple[str, int], ...], words: int, line: int) -> int:
    """The misses of a run with optimal replacement."""
    found = al.loads(text)["f"].run(dict(sizes), cache=al.Cache(words, line), compiled=False).counts.io
    assert found is not None
    return int(found)
