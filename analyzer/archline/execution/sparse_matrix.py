"""Represent a sparse matrix, and convert it to the forms that programs take: by rows, by columns, by blocks."""

from __future__ import annotations

import os

import numpy as np
from numpy.typing import NDArray

from archline.execution import matrix_rules as rules
from archline.language.diagnostics import error
from archline.records import record

Integers = NDArray[np.int64]
Reals = NDArray[np.float64]


@record(eq=False)
class SparseMatrix:
    """An n x m matrix as nz triples, sorted row-major, each position at most once; indices count from 0.

    `rows` and `cols` are int64[nz], `values` float64[nz]; a stored zero counts as a nonzero.
    """

    n: int
    m: int
    rows: Integers
    cols: Integers
    values: Reals

    @classmethod
    def from_triples(cls, n: int, m: int, rows: Integers, cols: Integers, values: Reals) -> SparseMatrix:
        """Return a matrix of triples in any order; the values of one position are summed in the order given."""
        order = np.lexsort((cols, rows))
        rows, cols, values = rows[order], cols[order], values[order]
        first = np.ones(len(rows), dtype=np.bool_)
        first[1:] = (rows[1:] != rows[:-1]) | (cols[1:] != cols[:-1])
        if not first.all():
            with np.errstate(over="ignore", invalid="ignore"):
                summed = np.zeros(int(first.sum()))
                np.add.at(summed, np.cumsum(first) - 1, values)
            rows, cols, values = rows[first], cols[first], summed
        return cls(n, m, rows, cols, values)

    @property
    def nz(self) -> int:
        return len(self.values)

    @property
    def nr(self) -> int:
        """The maximum number of entries in a row."""
        return _count_most_frequent(self.rows)

    @property
    def nc(self) -> int:
        """The maximum number of entries in a column."""
        return _count_most_frequent(self.cols)

    def build_csr(self) -> tuple[Integers, Integers, Reals]:
        """Return `(rowptr[n+1], col[nz], val[nz])`: row i is at rowptr[i]..rowptr[i+1], in order of columns."""
        return _compute_offsets(self.rows, self.n), self.cols.copy(), self.values.copy()

    def build_csc(self) -> tuple[Integers, Integers, Reals]:
        """Return `(colptr[m+1], row[nz], val[nz])`: column j is at colptr[j]..colptr[j+1], in order of rows."""
        order = np.argsort(self.cols, kind="stable")
        return _compute_offsets(self.cols, self.m), self.rows[order], self.values[order]

    def blocks(self, b: int, *, square: bool = False, zmorton: bool = False) -> BlockedMatrix:
        """Return the matrix in b x b blocks; the last blocks may reach beyond the matrix.

        With `square` there are ceil(max(n, m)/b) blocks in each direction. Entries of a block are in row-major order,
        or with `zmorton` by quadrants, recursively: upper left, upper right, lower left, lower right, the order of
        Buluc, Fineman, Frigo, Gilbert, Leiserson, SPAA 2009.

        Raises ArchlineError: AL434 for a block size that is not usable, AL433 if the offsets of the blocks do not fit
        memory.
        """
        # For larger blocks the position of an entry in Z-Morton order would not fit 64 bits.
        if not 1 <= b <= 1 << 31:
            raise error(rules.WRONG_BLOCK_SIZE, f"the block size {b} is not in 1 to 2^31")
        if zmorton and b & (b - 1):
            hint = f"{1 << b.bit_length() - 1} and {1 << b.bit_length()} are powers of 2"
            raise error(rules.WRONG_BLOCK_SIZE, f"the block size {b} is not a power of 2", hint=hint)
        block_rows, block_cols = -(-self.n // b), -(-self.m // b)
        if square:
            block_rows = block_cols = max(block_rows, block_cols)
        needed = 8 * (block_rows * block_cols + 1) + 80 * self.nz
        what = f"a matrix of {block_rows} x {block_cols} blocks"
        require_memory(needed, what, hint="choose larger blocks")
        block = self.rows // b * block_cols + self.cols // b
        row, col = self.rows % b, self.cols % b
        within = (_interleave_bits(row, col, b),) if zmorton else (col, row)
        order = np.lexsort((*within, block))
        offsets = _compute_offsets(block, block_rows * block_cols)
        return BlockedMatrix(b, block_rows, block_cols, offsets, row[order], col[order], self.values[order])


@record(eq=False)
class BlockedMatrix:
    """A matrix in b x b blocks: block (I, J) has number I*block_cols + J.

    Its entries are at offsets[number]..offsets[number + 1] of `row`, `col` (both below b, counted within the
    block) and `val`; `offsets` is int64[block_rows*block_cols + 1].
    """

    b: int
    block_rows: int
    block_cols: int
    offsets: Integers
    row: Integers
    col: Integers
    val: Reals

    @property
    def longest(self) -> int:
        """The maximum number of entries in a block."""
        return int(np.diff(self.offsets).max())


def require_memory(needed: int, what: str, *, path: str | None = None, hint: str | None = None) -> None:
    """Raise ArchlineError (AL433) if `needed` bytes are more than the machine has available."""
    available = available_memory()
    if needed > available:
        message = f"{what} would need about {_format_size(needed)} of memory; {_format_size(available)} are available"
        raise error(rules.MATRIX_TOO_LARGE, message, path=path, hint=hint)


def available_memory() -> int:
    """Return the bytes of memory available without swapping, if the operating system says so; else 4 GiB."""
    try:
        with open("/proc/meminfo", encoding="ascii") as stream:
            for line in stream:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) * 1024
    except (OSError, ValueError):
        pass
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return 4 * 1024**3


def _format_size(count: int) -> str:
    for unit in ("bytes", "KiB", "MiB", "GiB", "TiB", "PiB"):
        if count < 10 * 1024 or unit == "PiB":
            return f"{count} {unit}"
        count //= 1024
    raise AssertionError("the loop ends at the largest unit")


def _count_most_frequent(indices: Integers) -> int:
    # Sorting needs memory for the entries only, not for the rows or columns.
    if not len(indices):
        return 0
    _, counts = np.unique(indices, return_counts=True)
    return int(counts.max())


def _compute_offsets(segments: Integers, count: int) -> Integers:
    """Return `int64[count + 1]`: for each segment the number of entries in earlier ones, and the number of all."""
    offsets = np.zeros(count + 1, dtype=np.int64)
    np.cumsum(np.bincount(segments, minlength=count), out=offsets[1:])
    return offsets


def _interleave_bits(row: Integers, col: Integers, b: int) -> Integers:
    """Return positions in Z-Morton order: interleaved bits of row and column, with the row's bit the higher."""
    key = np.zeros(len(row), dtype=np.int64)
    for bit in range(b.bit_length() - 1):
        key |= ((col >> bit) & 1) << (2 * bit) | ((row >> bit) & 1) << (2 * bit + 1)
    return key
