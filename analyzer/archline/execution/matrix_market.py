"""Read the Matrix Market files (Boisvert, Pozo, Remington, NISTIR 5935), with each deviation reported as an error.

The text is read in chunks of a few megabytes. numpy parses and checks a chunk as a whole; only a chunk that it rejects
is read line by line, to name the line and its mistake.
"""

from __future__ import annotations

import gzip
import io
import os
import re
import stat
import warnings
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO, NoReturn, cast

import numpy as np
from numpy.typing import NDArray

from archline.execution import matrix_rules as rules
from archline.execution.sparse_matrix import Integers, Reals, SparseMatrix, require_memory
from archline.language.diagnostics import Rule, error, suggest_closest
from archline.records import record

Progress = Callable[[int, int], None]

_PIECE = 4 * 1024 * 1024
_MAX_LINE_BYTES = 64 * 1024
MAX_HEADER = 4 * 1024 * 1024
# Peak memory for an entry of a coordinate file: three words, which are read, sorted and copied.
_BYTES_PER_ENTRY = 96
_INDEX = re.compile(r"[+-]?\d{1,18}", re.ASCII)
_INTEGER = re.compile(r"[+-]?\d{1,18}", re.ASCII)
_REAL = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_NONFINITE_VALUE = re.compile(r"[+-]?(nan|inf|infinity)", re.ASCII | re.IGNORECASE)
_FORMATS = ("coordinate", "array")
_FIELDS = ("real", "integer", "pattern", "complex")
_SYMMETRIES = ("general", "symmetric", "skew-symmetric", "hermitian")


def read_matrix(path: str | os.PathLike[str], progress: Progress | None = None) -> SparseMatrix:
    """Read a Matrix Market file, plain or gzipped (recognised by its first bytes, not by its name).

    Pattern entries are 1.0. Symmetric and skew-symmetric files are expanded; duplicates are summed; stored zeros are
    kept, except in dense (`array`) files, where only nonzeros are. `progress` is called with the numbers of entries
    read so far and announced. Memory grows with the entries that are read, not with the size line.

    Raises ArchlineError (AL420 to AL433) with the line if there is one.
    """
    reader = _MatrixReader(str(path), progress)
    try:
        with _open_regular_file(Path(path), reader.fail) as stream:
            return reader.read(stream)
    except (EOFError, gzip.BadGzipFile, zlib.error) as problem:
        reason = "it ends early" if isinstance(problem, EOFError) else str(problem)
        hint = "fetch it again, and try `gzip -t` on it"
        message = f"the gzip file is damaged: {reason}"
        raise error(rules.BROKEN_GZIP, message, path=str(path), hint=hint) from None
    except OSError as problem:
        message = f"`{path}` cannot be read: {problem.strerror or problem}"
        raise error(rules.UNREADABLE_MATRIX, message, path=str(path)) from None


def _open_regular_file(path: Path, fail: Callable[..., NoReturn]) -> BinaryIO:
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        fail(rules.UNREADABLE_MATRIX, f"there is no file `{path}`")
    except ValueError as problem:
        fail(rules.UNREADABLE_MATRIX, f"the path is invalid: {problem}")
    if stat.S_ISDIR(mode):
        fail(rules.UNREADABLE_MATRIX, f"`{path}` is a directory", hint="name a `.mtx` file in it")
    # Reading a pipe or a device might never end.
    if not stat.S_ISREG(mode):
        fail(rules.UNREADABLE_MATRIX, f"`{path}` is not a regular file")
    with path.open("rb") as stream:
        start = stream.read(2)
    if start == b"\x1f\x8b":
        return cast(BinaryIO, gzip.open(path, "rb"))
    if path.suffix == ".gz" and start != b"%%":
        if not start:
            fail(rules.EMPTY_MATRIX_FILE, "the file is empty")
        fail(rules.BROKEN_GZIP, "the name ends in `.gz`, but this is not a gzip file")
    return path.open("rb")


@record
class _Header:
    """The content of the banner and of the size line; `entries` is the number of entries that follow."""

    dense: bool
    field: str
    symmetry: str
    n: int
    m: int
    entries: int

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the items on the line of an entry of the file, in order."""
        if self.dense:
            return ("value",)
        return ("row", "col") if self.field == "pattern" else ("row", "col", "value")

    @property
    def value_type(self) -> type[np.generic]:
        return np.int64 if self.field == "integer" else np.float64


class _MatrixReader:
    """The state of reading one file: the path and the line, for errors."""

    def __init__(self, path: str, progress: Progress | None) -> None:
        self.path = path
        self.progress = progress
        self.line = 0

    def fail(self, rule: Rule, message: str, *, line: int | None = None, hint: str | None = None) -> NoReturn:
        raise error(rule, message, path=self.path, line=line, hint=hint)

    def read(self, stream: BinaryIO) -> SparseMatrix:
        header = self.read_size_line(stream, *self.read_banner(stream))
        pieces = self.read_entries(stream, header)
        rows, cols, values = (np.concatenate(arrays) for arrays in zip(*pieces, strict=True))
        if header.dense:
            positions = np.flatnonzero(values)
            rows, cols, values = positions % header.n, positions // header.n, values[positions]
        elif header.symmetry != "general":
            mirrored = rows != cols
            sign = -1.0 if header.symmetry == "skew-symmetric" else 1.0
            rows, cols, values = (
                np.concatenate((rows, cols[mirrored])),
                np.concatenate((cols, rows[mirrored])),
                np.concatenate((values, sign * values[mirrored])),
            )
        matrix = SparseMatrix.from_triples(header.n, header.m, rows, cols, values)
        if not np.isfinite(matrix.values).all():
            self.fail(rules.NOT_FINITE, "duplicate entries add up beyond the range of a 64-bit real")
        return matrix

    def read_line(self, stream: BinaryIO) -> str | None:
        """Return the next line, or None at the end of the file."""
        data = stream.readline(_MAX_LINE_BYTES)
        if not data:
            return None
        self.line += 1
        if len(data) == _MAX_LINE_BYTES and not data.endswith(b"\n"):
            self.fail(rules.WRONG_ENTRY, f"the line is longer than {_MAX_LINE_BYTES} bytes", line=self.line)
        return self.decode(data, self.line)

    def decode(self, data: bytes, line: int) -> str:
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError as problem:
            line += data.count(b"\n", 0, problem.start)
            self.fail(rules.NOT_TEXT, f"byte 0x{data[problem.start]:02x} is not UTF-8 text", line=line)

    def read_banner(self, stream: BinaryIO) -> tuple[str, str, str]:
        text = self.read_line(stream)
        if text is None:
            self.fail(rules.EMPTY_MATRIX_FILE, "the file is empty")
        words = text.removeprefix("\ufeff").lower().split()
        hint = "it must be like `%%MatrixMarket matrix coordinate real general`"
        if len(words) != 5 or words[:2] != ["%%matrixmarket", "matrix"]:
            self.fail(rules.WRONG_BANNER, "the first line is not the banner of a Matrix Market file", line=1, hint=hint)
        for word, allowed in zip(words[2:], (_FORMATS, _FIELDS, _SYMMETRIES), strict=True):
            if word not in allowed:
                names = ", ".join(f"`{name}`" for name in allowed)
                hint = suggest_closest(word, allowed) or f"it must be one of {names}"
                self.fail(rules.WRONG_BANNER, f"unknown word `{word[:40]}` in the first line", line=1, hint=hint)
        kind, field, symmetry = words[2:]
        if field == "complex" or symmetry == "hermitian":
            self.fail(rules.UNSUPPORTED_MATRIX, "complex matrices are not supported", line=1)
        if kind == "array" and (symmetry != "general" or field == "pattern"):
            self.fail(rules.UNSUPPORTED_MATRIX, f"`array {field} {symmetry}` is not supported", line=1)
        if (field, symmetry) == ("pattern", "skew-symmetric"):
            self.fail(rules.WRONG_BANNER, "a pattern matrix has no signs, so it cannot be skew-symmetric", line=1)
        return kind, field, symmetry

    def read_size_line(self, stream: BinaryIO, kind: str, field: str, symmetry: str) -> _Header:
        length = 0
        while (text := self.read_line(stream)) is not None:
            length += len(text)
            if text.strip() and not text.startswith("%"):
                break
            if length > MAX_HEADER:
                self.fail(rules.WRONG_SIZE_LINE, "no size line in the first 4 MiB", line=self.line)
        if text is None:
            self.fail(rules.WRONG_SIZE_LINE, "the file ends before its size line")
        names = ("rows", "columns") if kind == "array" else ("rows", "columns", "entries")
        words = text.split()
        if len(words) != len(names) or not all(re.fullmatch(r"[+-]?\d+", word, re.ASCII) for word in words):
            message = f"the size line is not {len(names)} integers: {', '.join(names)}"
            self.fail(rules.WRONG_SIZE_LINE, message, line=self.line)
        for word, name, minimum in zip(words, names, (1, 1, 0), strict=False):
            if word.startswith("-") or int(word[:19]) < minimum:
                message = f"{word[:40]} {name} are announced; there must be at least {minimum}"
                self.fail(rules.WRONG_SIZE_LINE, message, line=self.line)
            if len(word) > 19:
                message = f"the number of {name} has {len(word)} digits"
                self.fail(rules.MATRIX_TOO_LARGE, message, line=self.line)
        n, m, *rest = (int(word) for word in words)
        if symmetry != "general" and n != m:
            self.fail(rules.WRONG_SIZE_LINE, f"a {symmetry} matrix is square; this is {n} x {m}", line=self.line)
        entries = rest[0] if rest else n * m
        stored = entries if symmetry == "general" else 2 * entries
        what = f"a matrix of {n} x {m} with {stored} entries"
        require_memory(_BYTES_PER_ENTRY * stored + 16 * (n + m), what, path=self.path)
        return _Header(kind == "array", field, symmetry, n, m, entries)

    def read_entries(self, stream: BinaryIO, header: _Header) -> list[tuple[Integers, Integers, Reals]]:
        none = np.zeros(0, dtype=np.int64)
        pieces = [(none, none, np.zeros(0))]
        left = header.entries
        while data := stream.read(_PIECE):
            tail = stream.readline(_MAX_LINE_BYTES)
            if len(tail) == _MAX_LINE_BYTES and not tail.endswith(b"\n"):
                line = self.line + data.count(b"\n") + 1
                self.fail(rules.WRONG_ENTRY, f"the line is longer than {_MAX_LINE_BYTES} bytes", line=line)
            piece = self.parse_piece(header, data + tail, left)
            # A few compressed bytes can expand to endless blank lines.
            if not len(piece[2]) and len(data) == _PIECE:
                self.fail(rules.WRONG_ENTRY, "4 MiB without an entry", line=self.line)
            left -= len(piece[2])
            pieces.append(piece)
            if self.progress is not None:
                self.progress(header.entries - left, header.entries)
        if left:
            message = f"the file ends after {header.entries - left} of the {header.entries} entries announced"
            hint = "the file is most likely truncated"
            self.fail(rules.TOO_FEW_ENTRIES, message, line=self.line, hint=hint)
        return pieces

    def parse_piece(self, header: _Header, data: bytes, left: int) -> tuple[Integers, Integers, Reals]:
        text = self.decode(data, self.line + 1)
        arrays = _parse_by_numpy(header, text, left)
        if arrays is None:
            arrays = self.parse_by_line(header, text, left)
        self.line += data.count(b"\n") + (not data.endswith(b"\n"))
        return arrays

    def parse_by_line(self, header: _Header, text: str, left: int) -> tuple[Integers, Integers, Reals]:
        """Parse a piece line by line: raise an error for the first wrong line, or accept what numpy rejects."""
        rows: list[int] = []
        cols: list[int] = []
        values: list[float] = []
        for line, content in enumerate(text.split("\n"), self.line + 1):
            words = content.split()
            if not words:
                continue
            if len(values) == left:
                message = f"an entry follows after the {header.entries} that the size line announces"
                self.fail(rules.TOO_MANY_ENTRIES, message, line=line)
            if len(words) != len(header.columns):
                names = ", ".join({"col": "column"}.get(name, name) for name in header.columns)
                self.fail(rules.WRONG_ENTRY, f"{len(words)} words where an entry has: {names}", line=line)
            if not header.dense:
                rows.append(self.parse_index(words[0], "row", header.n, line))
                cols.append(self.parse_index(words[1], "column", header.m, line))
                self.check_triangle(header.symmetry, rows[-1], cols[-1], line)
            values.append(1.0 if header.field == "pattern" else self.parse_value(header, words[-1], line))
        return (
            np.array(rows, dtype=np.int64),
            np.array(cols, dtype=np.int64),
            np.array(values, dtype=np.float64),
        )

    def parse_index(self, word: str, name: str, limit: int, line: int) -> int:
        if not _INDEX.fullmatch(word):
            self.fail(rules.WRONG_ENTRY, f"the {name} `{_shorten_word(word)}` is not an integer", line=line)
        if not 1 <= int(word) <= limit:
            message = f"the {name} {int(word)} is not in 1 to {limit}"
            hint = "indices count from 1" if int(word) == 0 else None
            self.fail(rules.INDEX_OUT_OF_RANGE, message, line=line, hint=hint)
        return int(word) - 1

    def parse_value(self, header: _Header, word: str, line: int) -> float:
        if header.field == "integer":
            if not _INTEGER.fullmatch(word):
                message = f"the value `{_shorten_word(word)}` is not an integer of at most 18 digits"
                self.fail(rules.WRONG_ENTRY, message, line=line)
            return float(int(word))
        if not _NONFINITE_VALUE.fullmatch(word) and not _REAL.fullmatch(word):
            hint = "exponents are written with e" if "d" in word.lower() else None
            self.fail(rules.WRONG_ENTRY, f"the value `{_shorten_word(word)}` is not a number", line=line, hint=hint)
        value = float(word)
        if not np.isfinite(value):
            self.fail(rules.NOT_FINITE, f"the value `{_shorten_word(word)}` is not a finite number", line=line)
        return value

    def check_triangle(self, symmetry: str, row: int, col: int, line: int) -> None:
        if symmetry != "general" and (row < col or (row == col and symmetry == "skew-symmetric")):
            where = "on" if row == col else "above"
            message = f"entry ({row + 1}, {col + 1}) is {where} the diagonal of a {symmetry} matrix"
            self.fail(rules.WRONG_TRIANGLE, message, line=line, hint="such a file stores the lower triangle")


def _shorten_word(word: str) -> str:
    shown = "".join(character if character.isprintable() else "?" for character in word[:40])
    return shown + ("..." if len(word) > 40 else "")


def _parse_by_numpy(header: _Header, text: str, left: int) -> tuple[Integers, Integers, Reals] | None:
    """Parse and check a piece as arrays by numpy; None for any mistake."""
    if not text.strip():
        none = np.zeros(0, dtype=np.int64)
        return none, none, np.zeros(0)
    kinds = {"row": np.int64, "col": np.int64, "value": header.value_type}
    dtype = np.dtype([(name, kinds[name]) for name in header.columns])
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            table = np.loadtxt(io.StringIO(text, newline="\n"), dtype=dtype, comments=None, ndmin=1)
    except (ValueError, OverflowError, Warning):
        return None
    if len(table) > left:
        return None
    count = len(table)
    values = np.ones(count) if header.field == "pattern" else table["value"].astype(np.float64)
    if not np.isfinite(values).all():
        return None
    if header.dense:
        none = np.zeros(0, dtype=np.int64)
        return none, none, values
    rows: Integers = table["row"] - 1
    cols: Integers = table["col"] - 1
    if not _has_valid_indices(header, rows, cols):
        return None
    return rows, cols, values


def _has_valid_indices(header: _Header, rows: NDArray[np.int64], cols: NDArray[np.int64]) -> bool:
    if rows.min() < 0 or cols.min() < 0 or rows.max() >= header.n or cols.max() >= header.m:
        return False
    match header.symmetry:
        case "symmetric":
            return bool((rows >= cols).all())
        case "skew-symmetric":
            return bool((rows > cols).all())
        case _:
            return True
