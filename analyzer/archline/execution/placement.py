"""Place the arrays in a memory of words: rows begin with lines, arrays share none (docs/reference/cost-rules.md)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from archline.execution.runtime import enclosing_square
from archline.execution.slots import NO_INT, UNSET_REAL
from archline.records import record

MORTON_STRIDES = (0, 0, 1, 0, 0, 1)
"""The strides of a whole matrix in Z-Morton order, in the form of `list_addresses`."""


@record(eq=False)
class Placement:
    """The position of an array: words `base..base + words`. `strides` are None for Z-Morton order.

    `unit` is the contiguous dimension; if it has the extent 1, another stride may be 1 too.
    """

    base: int
    words: int
    shape: tuple[int, ...]
    strides: tuple[int, ...] | None
    unit: int = 0

    @property
    def elements(self) -> int:
        return math.prod(self.shape)

    @property
    def form(self) -> str:
        """A character for each dimension: 1 if contiguous, s if strided, z in Z-Morton order; as `ArrayValue.form`."""
        if self.strides is None:
            return "zz"
        return "".join("1" if dimension == self.unit else "s" for dimension in range(len(self.shape)))

    def list_call_arguments(self) -> tuple[int, ...]:
        """Return the arguments that stand for the array in calls of generated functions."""
        if self.strides is None:
            return (self.base, *self.shape, *MORTON_STRIDES)
        strided = [stride for dimension, stride in enumerate(self.strides) if dimension != self.unit]
        return (self.base, *self.shape, *strided)

    def compute_addresses(self) -> NDArray[np.int64]:
        """Return the address of every element, in the array's shape."""
        strides = MORTON_STRIDES if self.strides is None else self.strides
        return list_addresses(self.base, self.shape, strides).reshape(self.shape)


def list_addresses(base: int, extents: tuple[int, ...], strides: tuple[int, ...]) -> NDArray[np.int64]:
    """Return the address of every element in row-major order.

    In Z-Morton order `strides` has the row and the column of the first element, then for each dimension the step in
    rows, then for each the step in columns.
    """
    rank = len(extents)
    subscripts = np.indices(extents, dtype=np.int64).reshape(rank, -1)
    steps = np.array(strides, np.int64)
    if len(strides) == rank:
        return base + steps @ subscripts
    rows, columns = steps[2 : 2 + rank] @ subscripts, steps[2 + rank :] @ subscripts
    return base + 2 * _spread_bits(steps[0] + rows) + _spread_bits(steps[1] + columns)


def _spread_bits(index: NDArray[np.int64]) -> NDArray[np.int64]:
    """Move bit k of every index to bit 2*k, as `runtime.spread` does for one."""
    for shift, mask in (
        (16, 0x0000FFFF0000FFFF),
        (8, 0x00FF00FF00FF00FF),
        (4, 0x0F0F0F0F0F0F0F0F),
        (2, 0x3333333333333333),
        (1, 0x5555555555555555),
    ):
        index = (index | (index << shift)) & mask
    return index


def place_array(base: int, shape: tuple[int, ...], layout: str, line: int) -> Placement:
    """Place an array at `base`, with rows (or columns, or the Z-Morton square) rounded up to lines."""
    if layout == "zmorton" and len(shape) == 2:
        return Placement(base, _round_to_lines(enclosing_square(*shape), line), shape, None)
    column_major = layout == "colmajor" and len(shape) > 1
    order = shape if column_major else shape[::-1]
    words = _round_to_lines(order[0], line)
    strides = [1]
    for extent in order[1:]:
        strides.append(words)
        words *= extent
    if column_major:
        return Placement(base, words, shape, tuple(strides), 0)
    return Placement(base, words, shape, tuple(strides[::-1]), len(shape) - 1)


def _round_to_lines(words: int, line: int) -> int:
    return -(-words // line) * line


def write_array(memory: Any, placement: Placement, array: NDArray[Any]) -> None:
    """Copy an array into memory: a list, or the numpy array of the element's type."""
    if isinstance(memory, list):
        addresses = placement.compute_addresses().ravel().tolist()
        for address, value in zip(addresses, array.ravel().tolist(), strict=True):
            memory[address] = value
    elif placement.strides is None:
        memory[placement.compute_addresses()] = array
    else:
        _make_strided_view(memory, placement)[...] = array


def read_array(memory: Any, placement: Placement, real: bool, unset: float = math.nan) -> NDArray[Any]:
    """Copy an array out of memory; an element left unset is `unset` if the array is `real`, else -2^63."""
    if isinstance(memory, list):
        missing = unset if real else NO_INT
        values = [memory[address] for address in placement.compute_addresses().ravel().tolist()]
        values = [missing if value is None else value for value in values]
        return np.array(values, np.float64 if real else np.int64).reshape(placement.shape)
    if placement.strides is None:
        result: NDArray[Any] = memory[placement.compute_addresses()]
    else:
        result = _make_strided_view(memory, placement).copy()
    if real:
        is_unset = result.view(np.int64) == UNSET_REAL
        result[np.isnan(result)] = np.nan
        result[is_unset] = unset
    return result


def _make_strided_view(memory: NDArray[Any], placement: Placement) -> NDArray[Any]:
    assert placement.strides is not None
    part = memory[placement.base : placement.base + placement.words]
    strides = tuple(stride * memory.itemsize for stride in placement.strides)
    return np.lib.stride_tricks.as_strided(part, placement.shape, strides)
