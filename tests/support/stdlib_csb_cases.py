"""Matrices in compressed sparse blocks, and parts of them, for the cases of `stdlib_recursive_cases`."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse

from stdlib_cases import Arguments, Random, Results


def by_quadrants(places: Any, side: int) -> Any:
    """Places in a square of this side, row by row, in Z-Morton order: by the halves they lie in, from the largest."""
    code = np.zeros(len(places), dtype=np.int64)
    for bit in reversed(range(side.bit_length())):
        code = 4 * code + 2 * (places // side >> bit & 1) + (places % side >> bit & 1)
    return places[np.argsort(code, kind="stable")]


def crowd(rng: Random, b: int) -> Any:
    """The places of a block: none, few, more than b, or all."""
    count = int(rng.choice([0, 1, b // 2, b, b + 1, b * b]))
    return by_quadrants(rng.permutation(b * b)[: min(count, b * b)], b)


def compressed_blocks(rng: Random, nb: int, b: int) -> Arguments:
    places = [crowd(rng, b) if rng.random() < 0.6 else crowd(rng, 1)[:0] for _ in range(nb * nb)]
    place = np.concatenate(places)
    entries = {"row": place // b, "col": place % b, "val": rng.normal(size=len(place))}
    ends = np.concatenate(([0], np.cumsum([len(each) for each in places])))
    return {"blk": ends, **entries, "x": rng.normal(size=nb * b), "y": rng.normal(size=nb * b), "nb": nb, "b": b}


def one_square(rng: Random, d: int) -> Arguments:
    """A quadrant of a larger block knows its entries by their places in the block."""
    place = crowd(rng, d)
    shift = d * int(rng.integers(3))
    entries = {"row": place // d + shift, "col": place % d + shift, "val": rng.normal(size=len(place))}
    return {**entries, "x": rng.normal(size=d), "y": rng.normal(size=d)}


def square_product(a: Any) -> Results:
    d = len(a.x)
    return {"y": a.y + scipy.sparse.coo_array((a.val, (a.row % d, a.col % d)), shape=(d, d)) @ a.x}


def one_row(rng: Random, nb: int, b: int) -> Arguments:
    """Neighbouring blocks of a row: chunks of several blocks that hold b entries at most, and of one."""
    arguments = compressed_blocks(rng, nb, b)
    place = int(rng.integers(nb)) * nb
    ends = arguments["blk"][place : place + nb + 1]
    chunk = [0]
    while chunk[-1] < nb:
        fits = [j for j in range(chunk[-1] + 1, nb + 1) if ends[j] - ends[chunk[-1]] <= b or j == chunk[-1] + 1]
        chunk.append(int(rng.choice(fits)))
    entries = {name: arguments[name][ends[0] : ends[-1]] for name in ("row", "col", "val")}
    starts = np.array(chunk[:-1]) + int(rng.integers(3))
    return {"chunk": starts, "blk": ends, **entries, "x": rng.normal(size=(nb, b)), "y": rng.normal(size=b)}


def few_entries(rng: Random, g: int, b: int) -> Arguments:
    """Blocks of a row that are one chunk."""
    block = np.sort(rng.integers(0, g, int(rng.integers(b + 1))))
    ends = np.searchsorted(block, np.arange(g + 1))
    entries = {name: rng.integers(0, b, len(block)) for name in ("row", "col")}
    return {"blk": ends, **entries, "val": rng.normal(size=len(block)), "x": rng.normal(size=(g, b)), "y": np.zeros(b)}


def row_product(a: Any) -> Results:
    g, b = a.x.shape
    block = np.repeat(np.arange(g), np.diff(a.blk))
    return {"y": a.y + scipy.sparse.coo_array((a.val, (a.row, block * b + a.col)), shape=(b, g * b)) @ a.x.ravel()}


def halves(rng: Random, lower: int, upper: int, d: int) -> Arguments:
    size = 2 * d
    values = [rng.integers(0, d, lower), rng.integers(d, size, upper)]
    return {"key": np.concatenate(values) + size * rng.integers(0, 3, lower + upper), "d": size}
