"""Runs of the distributed algorithms of the standard library: arguments at given sizes, and what must come out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

Random = np.random.Generator
Array = NDArray[Any]
INTERACTION = 5
"""The declared flops of one interaction."""


@dataclass(frozen=True)
class Example:
    """The arguments of a run, the results that it must have, and what makes them comparable with its outputs."""

    arguments: dict[str, Any]
    results: dict[str, Array]
    seen: Callable[[dict[str, Array]], dict[str, Array]] = dict


def square_product(rng: Random, n: int, **sizes: int) -> Example:
    """Two n by n matrices and their product."""
    return product(rng, n=n, m=n, p=n, **sizes)


def product(rng: Random, n: int, m: int, p: int, **sizes: int) -> Example:
    """An n by m and an m by p matrix and their product."""
    A, B = rng.normal(size=(n, m)), rng.normal(size=(m, p))
    return Example({"A": A, "B": B, "C": np.zeros((n, p)), **sizes}, {"C": A @ B})


def quadrant_product(rng: Random, n: int, m: int, d: int, P: int) -> Example:
    """Two n by n matrices as vectors, quadrant after quadrant down to m by m, and their product."""
    order = quadrants(np.arange(n * n).reshape(n, n), m)
    A, B = rng.normal(size=(n, n)), rng.normal(size=(n, n))
    given = {"A": A.ravel()[order], "B": B.ravel()[order], "C": np.zeros(n * n)}
    return Example({**given, "n": n, "m": m, "d": d, "P": P}, {"C": (A @ B).ravel()[order]})


def quadrants(A: Array, m: int) -> Array:
    """The elements of a square matrix, quadrant after quadrant down to leaves of m by m."""
    h = len(A) // 2
    if len(A) == m:
        return A.ravel()
    return np.concatenate([quadrants(A[i : i + h, j : j + h], m) for i in (0, h) for j in (0, h)])


def carma_product(rng: Random, n: int, m: int, p: int, P: int) -> Example:
    """Pieces of two matrices on each processor as CARMA leaves them where they are, and their product."""
    A, B = rng.normal(size=(n, m)), rng.normal(size=(m, p))
    held = carma_pieces(
        np.arange(n * m).reshape(n, m), np.arange(m * p).reshape(m, p), np.arange(n * p).reshape(n, p), P
    )
    a, b = np.array([A.ravel()[each[0]] for each in held]), np.array([B.ravel()[each[1]] for each in held])
    where = np.array([each[2] for each in held])

    def seen(outputs: dict[str, Array]) -> dict[str, Array]:
        C = np.full(n * p, np.nan)
        C[where] = outputs["c"]
        return {"c": C.reshape(n, p)}

    given = {"a": a, "b": b, "c": np.zeros((P, n * p // P)), "n": n, "m": m, "p": p, "P": P}
    return Example(given, {"c": A @ B}, seen)


def carma_pieces(A: Array, B: Array, C: Array, P: int) -> list[list[Array]]:
    """The elements of A, B and C that each of P processors holds: of the matrix not halved, each of two holds half."""
    (n, m), p = A.shape, B.shape[1]
    if P == 1:
        return [[A.ravel(), B.ravel(), C.ravel()]]
    if n >= max(m, p):
        kept = 1
        halves = [(A[: n // 2], B, C[: n // 2]), (A[n // 2 :], B, C[n // 2 :])]
    elif p >= m:
        kept = 0
        halves = [(A, B[:, : p // 2], C[:, : p // 2]), (A, B[:, p // 2 :], C[:, p // 2 :])]
    else:
        kept = 2
        halves = [(A[:, : m // 2], B[: m // 2], C), (A[:, m // 2 :], B[m // 2 :], C)]
    found = []
    for side, half in enumerate(halves):
        for pieces in carma_pieces(*half, P // 2):
            length = len(pieces[kept]) // 2
            pieces[kept] = pieces[kept][side * length : (side + 1) * length]
            found.append(pieces)
    return found


def factors(rng: Random, n: int, **sizes: int) -> Example:
    """A matrix whose leading blocks are regular: the product of its factors is to be the matrix again."""
    A = rng.uniform(-1, 1, size=(n, n)) + 2 * n * np.eye(n)

    def seen(outputs: dict[str, Array]) -> dict[str, Array]:
        F = outputs["F"]
        return {"F": (np.tril(F, -1) + np.eye(n)) @ np.triu(F)}

    return Example({"A": A, "F": np.zeros((n, n)), **sizes}, {"F": A}, seen)


def forces(rng: Random, n: int, **sizes: int) -> Example:
    """Particles, and the sum of the test function of an extern over all pairs."""
    X = rng.normal(size=n)
    F = np.cos(X[:, None] + 2 * X[None, :]).sum(axis=1)
    return Example({"X": X, "F": np.zeros(n), "f": INTERACTION, **sizes}, {"F": F})


def transform(rng: Random, n: int, P: int) -> Example:
    """Real and imaginary parts, and those of the discrete Fourier transform."""
    X, Y = rng.normal(size=n), rng.normal(size=n)
    F = np.fft.fft(X + 1j * Y)
    return Example({"X": X, "Y": Y, "FR": np.zeros(n), "FI": np.zeros(n), "P": P}, {"FR": F.real, "FI": F.imag})


def sorted_keys(rng: Random, n: int, **sizes: int) -> Example:
    """Different keys in random order, and sorted."""
    A = rng.permutation(n) + rng.uniform(0, 0.5, size=n)
    return Example({"A": A, "S": np.zeros(n), **sizes}, {"S": np.sort(A)})


def torus(rng: Random, n: int, m: int, steps: int, **sizes: int) -> Example:
    """Means of four neighbours, the edges joined."""
    U = rng.normal(size=(n, m))
    V = U
    for _ in range(steps):
        V = 0.25 * (np.roll(V, 1, 0) + np.roll(V, -1, 0) + np.roll(V, 1, 1) + np.roll(V, -1, 1))
    return Example({"U": U, "steps": steps, **sizes}, {"U": V})


def walls(rng: Random, n: int, m: int, steps: int, **sizes: int) -> Example:
    """Means of four neighbours, with zeros outside."""
    U = rng.normal(size=(n, m))
    V = U
    for _ in range(steps):
        w = np.pad(V, 1)
        V = 0.25 * (w[:-2, 1:-1] + w[2:, 1:-1] + w[1:-1, :-2] + w[1:-1, 2:])
    return Example({"U": U, "steps": steps, **sizes}, {"U": V})


def sparse_product(rng: Random, n: int, m: int, P: int) -> Example:
    """A random sparse matrix by rows, a vector and their product; room for the most elements of a processor."""
    A = scipy.sparse.random_array((n, m), density=0.4, format="csr", rng=rng)
    A.sort_indices()
    x = rng.normal(size=m)
    rowptr = A.indptr.astype(np.int64)
    nb = max(int(np.diff(rowptr[:: n // P]).max()), 1)
    given = {"rowptr": rowptr, "col": A.indices.astype(np.int64), "val": A.data, "x": x, "y": np.zeros(n)}
    return Example({**given, "nb": nb, "P": P}, {"y": A @ x})


def triangle(rng: Random, n: int, m: int, P: int) -> Example:
    """A tall matrix and R of its A = Q R, whose rows may differ in sign."""
    A = rng.normal(size=(n, m))

    def seen(outputs: dict[str, Array]) -> dict[str, Array]:
        R = outputs["R"]
        return {"R": np.where(np.diag(R) < 0, -1, 1)[:, None] * R}

    R = np.linalg.qr(A).R
    return Example({"A": A, "R": np.zeros((m, m)), "P": P}, {"R": np.where(np.diag(R) < 0, -1, 1)[:, None] * R}, seen)


Point = dict[str, int]


def points(names: str, values: str) -> list[Point]:
    """Sizes by name; points stand between commas."""
    return [dict(zip(names.split(), map(int, each.split()), strict=True)) for each in values.split(",")]


@dataclass(frozen=True)
class Family:
    """How to make a run, where (the first points in every run of the tests), and the number of its processors."""

    example: Callable[..., Example]
    points: list[Point]
    axes: tuple[str, ...] = ("P",)

    def processors(self, point: Point) -> int:
        """The product of the axes."""
        return prod(point[axis] for axis in self.axes)


_CANNON = points("n g", "5 1, 12 2, 9 3, 7 7, 20 5, 16 8, 6 6")
_UNEQUAL = points("n m p g", "5 3 4 1, 7 11 10 3, 5 2 9 4, 2 3 4 2, 7 7 7 7, 8 4 12 4, 9 1 11 5")
_SUMMA = points(
    "n m p g h w",
    "3 4 2 1 1 2, 6 24 8 2 4 3, 6 12 6 3 2 1, 5 10 4 5 1 2, 8 16 4 4 4 2, 2 8 16 1 8 1, 14 14 7 7 7 2, 4 16 4 4 2 4",
)
_LAYERS = points(
    "n g c",
    "5 1 1, 9 3 1, 8 2 2, 8 4 2, 8 4 4, 9 3 3, 12 6 3, 14 7 1, 12 6 2, 18 6 3, 16 8 4, 16 8 2, 25 5 5, 36 6 6, 32 8 8",
)
_CAPS = points("n m d P", "12 3 0 1, 8 2 1 1, 14 7 0 7, 28 7 1 7, 28 7 0 49, 28 14 0 7, 28 7 0 7, 56 7 2 7, 56 7 1 49")
_CARMA = points(
    "n m p P", "2 3 4 1, 2 2 2 2, 4 4 4 8, 16 4 2 8, 2 32 4 8, 8 2 16 4, 2 16 8 8, 8 8 8 64, 32 4 4 16, 12 8 24 16"
)
_LU = points(
    "n g c b",
    "3 1 1 1, 8 2 1 1, 8 2 2 1, 9 3 1 1, 4 1 1 2, 16 2 4 2, 32 2 2 2, 18 3 3 1, 36 3 2 2, 32 4 2 1, 64 4 4 1, 50 5 1 1",
)
_REPLICATED = points(
    "n c P", "5 1 1, 9 1 3, 8 2 4, 16 2 8, 24 2 12, 18 3 9, 21 1 7, 32 4 16, 36 3 18, 128 4 64, 50 5 25"
)
_TRANSFORMS = points("n P", "1 1, 8 1, 8 2, 64 4, 64 8, 256 2, 512 16")
_HALOS = points(
    "n m g h steps", "3 4 1 1 2, 6 12 2 2 3, 6 12 1 3 2, 6 4 2 1 1, 6 12 3 4 2, 5 7 5 7 2, 10 10 5 2 0, 20 30 2 3 5"
)

FAMILIES: dict[str, Family] = {
    "matmul::cannon": Family(square_product, _CANNON, ("g", "g")),
    "matmul::cannon_unequal": Family(product, _UNEQUAL, ("g", "g")),
    "matmul::summa": Family(product, _SUMMA, ("g", "h")),
    "matmul::matmul_25d": Family(square_product, _LAYERS, ("g", "g", "c")),
    "matmul::matmul_two_level": Family(
        square_product, points("n g h", "3 1 1, 12 2 3, 4 1 2, 6 3 1, 12 3 2, 16 2 4, 30 5 2"), ("g", "g", "h", "h")
    ),
    "matmul::caps_strassen": Family(quadrant_product, _CAPS),
    "matmul::carma": Family(carma_product, _CARMA),
    "lu::lu_25d": Family(factors, _LU, ("g", "g", "c")),
    "nbody::nbody_replicated": Family(forces, _REPLICATED),
    "nbody::nbody_two_level": Family(
        forces, points("n pn pl", "4 1 1, 12 3 2, 6 1 3, 6 3 1, 16 2 4, 70 7 5"), ("pn", "pl")
    ),
    "fft::fft_naive": Family(transform, _TRANSFORMS),
    "fft::fft_bruck": Family(transform, _TRANSFORMS),
    "sort::samplesort": Family(
        sorted_keys, points("n v P", "5 1 1, 8 2 2, 27 3 3, 128 8 4, 6 1 6, 98 7 7, 60 2 5, 512 16 8")
    ),
    "stencil::jacobi_torus": Family(torus, _HALOS, ("g", "h")),
    "stencil::jacobi_walls": Family(walls, _HALOS, ("g", "h")),
    "sparse::spmv_rows": Family(sparse_product, points("n m P", "4 5 1, 4 6 2, 9 6 3, 14 7 7, 16 8 8, 40 20 5")),
    "qr::tsqr": Family(triangle, points("n m P", "4 3 1, 4 1 2, 12 3 3, 24 4 2, 20 2 5, 64 4 8, 26 2 13")),
}
