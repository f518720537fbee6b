"""Source text is read and decoded here, from files or from snapshots of an earlier state."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from types import MappingProxyType

from archline.expr.tree import Source
from archline.language import syntax_rules as rules
from archline.language.diagnostics import ArchlineError, error
from archline.records import record

MAX_BYTES = 256 * 1024
Read = dict[Path, str | None]
"""The files that were looked for, and the text of each; None for a missing file."""
Snapshot = Mapping[str, bytes]
"""The contents of files of an earlier state, by paths with a common beginning."""
_MODULE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*")
_read: ContextVar[Read | None] = ContextVar("read", default=None)
_snapshots: ContextVar[Mapping[str, Snapshot]] = ContextVar("snapshots", default=MappingProxyType({}))


@record
class Comment:
    """A `#` comment: its text with the sign, and whether it is alone on its line."""

    line: int
    column: int
    text: str
    alone: bool


@contextmanager
def record_reads() -> Iterator[Read]:
    """Record the files, and their texts, that the enclosed code looks for."""
    reads: Read = {}
    token = _read.set(reads)
    try:
        yield reads
    finally:
        _read.reset(token)


def note_read(path: Path, text: str | None) -> None:
    """Add a file that was looked for, and its text (None if missing), to the reads that `record_reads` collects."""
    read = _read.get()
    if read is not None:
        read[path] = text


@contextmanager
def use_snapshot(start: str, files: Snapshot) -> Iterator[None]:
    """Let the enclosed code read paths that begin with `start` from the given files, not from the disk."""
    token = _snapshots.set({**_snapshots.get(), start: files})
    try:
        yield
    finally:
        _snapshots.reset(token)


def _find_snapshot(path: Path) -> Snapshot | None:
    """Return the snapshot that a path belongs to; None for one on the disk."""
    name = str(path)
    return next((files for start, files in _snapshots.get().items() if name.startswith(start)), None)


def is_path(place: str) -> bool:
    """Whether a target's place is a path, and not a module of the standard library."""
    return place.endswith(".algo") or not _MODULE.fullmatch(place) or path_exists(Path(place))


def path_exists(path: Path) -> bool:
    """Whether there is a file, or anything else, of this name."""
    snapshot = _find_snapshot(path)
    if snapshot is not None:
        return str(path) in snapshot
    try:
        return path.exists()
    except (OSError, ValueError):
        return False


def read_source(path: Path) -> Source:
    """Read a UTF-8 `.algo` file.

    Raises ArchlineError (AL001 to AL006) for a file that cannot be read as text: a missing file, a directory, an
    unreadable or too large file, bytes that are not UTF-8, a NUL.
    """
    name, snapshot = str(path), _find_snapshot(path)
    try:
        if snapshot is not None:
            if name not in snapshot:
                raise FileNotFoundError
            data = snapshot[name]
        else:
            with path.open("rb") as stream:
                data = stream.read(MAX_BYTES + 1)
    except FileNotFoundError:
        raise error(rules.MISSING_FILE, f"there is no file `{name}`", path=name) from None
    except IsADirectoryError:
        first = next((file for form in ("*.algo", "*/*.algo") for file in sorted(path.glob(form))), None)
        hint = f"name a file in it, such as `{first}`; `check`, `fmt` and `list` take folders" if first else None
        message = f"`{name}` is a folder; a file is expected"
        raise error(rules.DIRECTORY, message, path=name, hint=hint) from None
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or str(problem)
        raise error(rules.UNREADABLE, f"`{name}` cannot be read: {reason}", path=name) from None
    source = decode_source(name, data)
    note_read(path, source.text)
    return source


def read_current_text(path: Path) -> str | None:
    """Return the present text of a file; None if it is missing or cannot be read."""
    try:
        return read_source(path).text
    except ArchlineError:
        return None


def decode_source(name: str, data: bytes) -> Source:
    """Turn a file's bytes into a Source; raises ArchlineError as `read_source` does."""
    if len(data) > MAX_BYTES:
        message = f"`{name}` is larger than {MAX_BYTES // 1024} KiB, the most that is read"
        raise error(rules.TOO_LARGE, message, path=name, hint="split it, and join the parts with `use`")
    if b"\0" in data:
        line = data[: data.index(b"\0")].count(b"\n") + 1
        raise error(rules.NUL, f"`{name}` has a NUL byte on line {line}: it is not a text file", path=name)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        line = data[: problem.start].count(b"\n") + 1
        message = f"`{name}` is not UTF-8: byte 0x{data[problem.start]:02x} on line {line}"
        raise error(rules.NOT_UTF8, message, path=name, hint="save the file as UTF-8") from None
    return Source(name, text.replace("\r\n", "\n").replace("\r", "\n"))
