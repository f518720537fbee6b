"""Prepare the traces for simulators: with dense line numbers, and immediate repetitions merged."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from archline.execution.jit import Buffer, kernel, make_buffer, to_array, to_buffer
from archline.records import record

_SMALL_TABLE = 1 << 16
_LOW_HALF = (1 << 32) - 1
_NONE = -1  # no line
MAX_INT32_ENTRIES = (1 << 30) - 1

Lines: TypeAlias = NDArray[np.integer[Any]]
Writes: TypeAlias = NDArray[np.bool_] | NDArray[np.uint8]


@record(eq=False, slots=True)
class CompactTrace:
    """A trace in a form that any number of simulations can share.

    `lines` numbers the distinct lines 0, 1, ... in order of first access (int32 unless the trace has 2^30 accesses or
    more) and has one entry for a run of accesses to one line: after the first, the accesses of a run hit in every cache
    with any replacement. `writes` has for each entry whether an access of the run writes; it is None if no flags were
    given. `distinct` counts lines, `accesses` those of the original trace.
    """

    lines: Lines
    writes: NDArray[np.uint8] | None
    distinct: int
    accesses: int


def compact(lines: Lines | CompactTrace, writes: Writes | None = None) -> CompactTrace:
    """Prepare a trace of line numbers >= 0, however sparse, and the flags of the accesses that write.

    A compact trace is returned unchanged. ValueError if `lines` is not a 1-D array of integers >= 0
    below 2^63, or `writes` (bool or uint8) is of another length.
    """
    if isinstance(lines, CompactTrace):
        return lines
    check_trace(lines, writes)
    lines = _convert_to_signed(lines)
    merged, distinct = _number_lines_densely(lines)
    marks = None
    if writes is not None:
        marks = make_buffer(len(merged), 0, np.uint8)
        _merge_writes(to_buffer(lines), to_buffer(writes.view(np.uint8)), marks)
    return CompactTrace(merged, None if marks is None else to_array(marks, np.uint8), distinct, len(lines))


@record(eq=False, slots=True)
class TraceBuffers:
    """A trace as kernels read it: line numbers below `bound`; runs of accesses to one line may be merged.

    `writes` has a flag for each entry, or is empty without flags. `numbers` is the integer type for positions in it.
    """

    lines: Buffer
    writes: Buffer
    bound: int
    numbers: type[np.signedinteger[Any]]


def prepare_trace(lines: Lines | CompactTrace, writes: Writes | None = None) -> TraceBuffers:
    """Return the buffers of a trace, which is compacted if its line numbers are too large for tables."""
    if not isinstance(lines, CompactTrace):
        check_trace(lines, writes)
        lines = _convert_to_signed(lines)
        top = _compute_largest_line(lines)
        if _is_dense(top, len(lines)):
            flags = np.empty(0, np.uint8) if writes is None else writes.view(np.uint8)
            return TraceBuffers(to_buffer(lines), to_buffer(flags), top + 1, _select_type(lines))
    trace = compact(lines, writes)
    flags = np.empty(0, np.uint8) if trace.writes is None else trace.writes
    return TraceBuffers(to_buffer(trace.lines), to_buffer(flags), trace.distinct, _select_type(trace.lines))


def _convert_to_signed(lines: Lines) -> Lines:
    return lines.astype(np.int64) if lines.dtype.kind == "u" else lines


def _compute_largest_line(lines: Lines) -> int:
    return int(lines.max(initial=0))


def _is_dense(top: int, accesses: int) -> bool:
    return top < max(_SMALL_TABLE, 2 * accesses)


def _select_type(lines: Lines) -> type[np.signedinteger[Any]]:
    return np.int32 if len(lines) <= MAX_INT32_ENTRIES else np.int64


def check_trace(lines: Lines, writes: Writes | None) -> None:
    """Raise ValueError unless `lines` and `writes` are valid arguments of `compact`."""
    if lines.ndim != 1 or lines.dtype.kind not in "iu":
        raise ValueError(f"a trace is a 1-D array of integers, not {lines.ndim}-D of {lines.dtype}")
    if writes is not None and (writes.shape != lines.shape or writes.dtype not in (np.bool_, np.uint8)):
        raise ValueError(f"writes is an array of {len(lines)} bool or uint8, not {writes.shape} of {writes.dtype}")
    signed = lines.dtype.kind == "i"
    if len(lines) and (int(lines.min()) < 0 if signed else int(lines.max()) >= 1 << 63):
        raise ValueError("line numbers are at least 0 and below 2^63")


def _number_lines_densely(lines: Lines) -> tuple[Lines, int]:
    """Return the trace with dense line numbers and runs merged, and the number of distinct lines."""
    source = to_buffer(lines)
    dtype = _select_type(lines)
    target = make_buffer(len(lines), 0, dtype)
    top = _compute_largest_line(lines)
    if _is_dense(top, len(lines)):
        entries, distinct = _number_by_table(source, make_buffer(top + 1, _NONE, dtype), target)
    else:
        entries, distinct = _number_by_growing_hash(source, target, dtype)
    return to_array(target[:entries], dtype), distinct


def _number_by_growing_hash(source: Buffer, target: Buffer, dtype: type[np.signedinteger[Any]]) -> tuple[int, int]:
    slots = _SMALL_TABLE
    while True:
        entries, distinct = _number_in_hash_table(
            source, make_buffer(slots, _NONE, np.int64), make_buffer(slots, 0, dtype), target
        )
        if entries >= 0:
            return entries, distinct
        slots *= 4


@kernel
def _number_by_table(lines: Buffer, table: Buffer, target: Buffer) -> tuple[int, int]:
    entries = 0
    distinct = 0
    previous = _NONE
    for line in lines:
        if line == previous:
            continue
        previous = line
        number = table[line]
        if number < 0:
            number = distinct
            table[line] = number
            distinct += 1
        target[entries] = number
        entries += 1
    return entries, distinct


@kernel
def _number_in_hash_table(lines: Buffer, keys: Buffer, numbers: Buffer, target: Buffer) -> tuple[int, int]:
    """Number lines densely with an open-addressing hash table; return (-1, 0) as soon as that is half full."""
    mask = len(keys) - 1
    entries = 0
    distinct = 0
    previous = _NONE
    for line in lines:
        if line == previous:
            continue
        previous = line
        # Odd multipliers below 2^30 on the two halves: well mixed, and no product leaves 63 bits.
        mixed = (line & _LOW_HALF) * 0x1E3779B1 + (line >> 32) * 0x27D4EB2F
        slot = (mixed ^ (mixed >> 29)) & mask
        while keys[slot] != line and keys[slot] >= 0:
            slot = (slot + 1) & mask
        if keys[slot] < 0:
            if 2 * distinct > mask:
                return -1, 0
            keys[slot] = line
            numbers[slot] = distinct
            distinct += 1
        target[entries] = numbers[slot]
        entries += 1
    return entries, distinct


@kernel
def _merge_writes(lines: Buffer, writes: Buffer, marks: Buffer) -> None:
    entry = -1
    previous = _NONE
    for access in range(len(lines)):
        if lines[access] != previous:
            previous = lines[access]
            entry += 1
        if writes[access]:
            marks[entry] = 1
