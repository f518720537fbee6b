"""Source text is read and decoded here, from files or from what replaces them: buffers, or an earlier state."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

from archline.expr.tree import Source
from archline.language import syntax_rules as rules
from archline.language.diagnostics import ArchlineError, error, find_closest
from archline.records import record

MAX_BYTES = 256 * 1024
MAX_LISTED_FILES = 5
"""The maximum number of files that the hint for a missing file lists."""
Read = dict[Path, str | None]
"""The files that were looked for, and the text of each; None for a missing file."""
_MODULE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*")
_read: ContextVar[Read | None] = ContextVar("read", default=None)
_replacements: ContextVar[tuple[_Replacement, ...]] = ContextVar("replacements", default=())


@record(eq=False)
class _Replacement:
    """Contents of files, which are read in place of the files on the disk; the `folder` has no other files."""

    contents: Mapping[Path, bytes]
    folder: Path | None


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


def note_reads(reads: Read) -> None:
    """Add files that were looked for, with their texts, to the reads that `record_reads` collects."""
    for path, text in reads.items():
        note_read(path, text)


@contextmanager
def replace_files(contents: Mapping[str, bytes], folder: str | None = None) -> Iterator[None]:
    """Let the enclosed code read the given contents, by path, in place of files on the disk.

    A `folder`, such as that of a revision, has no other files than these.
    """
    by_path = {Path(path).absolute(): content for path, content in contents.items()}
    new = _Replacement(by_path, None if folder is None else Path(folder).absolute())
    token = _replacements.set((new, *_replacements.get()))
    try:
        yield
    finally:
        _replacements.reset(token)


def _find_replacement(path: Path) -> Mapping[Path, bytes] | None:
    """Return the contents among which that of a path is; None if the path is read from the disk."""
    for new in _replacements.get():
        if path.absolute() in new.contents or (new.folder is not None and path.absolute().is_relative_to(new.folder)):
            return new.contents
    return None


def is_path(place: str) -> bool:
    """Whether a target's place is a path, and not a module of the standard library."""
    return place.endswith(".algo") or not _MODULE.fullmatch(place) or path_exists(Path(place))


def path_exists(path: Path) -> bool:
    """Whether there is a file, or anything else, of this name."""
    replacement = _find_replacement(path)
    if replacement is not None:
        return path.absolute() in replacement
    try:
        return path.exists()
    except (OSError, ValueError):
        return False


def read_source(path: Path) -> Source:
    """Read a UTF-8 `.algo` file.

    Raises ArchlineError (AL001 to AL006) for a file that cannot be read as text: a missing file, a directory, an
    unreadable or too large file, bytes that are not UTF-8, a NUL.
    """
    name, replacement = str(path), _find_replacement(path)
    try:
        if replacement is not None:
            if path.absolute() not in replacement:
                raise FileNotFoundError
            data = replacement[path.absolute()]
        else:
            with path.open("rb") as stream:
                data = stream.read(MAX_BYTES + 1)
    except FileNotFoundError:
        raise error(rules.MISSING_FILE, f"there is no file `{name}`", path=name, hint=_suggest_file(path)) from None
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


def _suggest_file(path: Path) -> str:
    """Return the hint for a missing file: the file in its folder with the closest name, or what the folder has."""
    if str(path) == "-":
        return "`archline check` and `archline fmt` read standard input"
    replacement, folder, kind = _find_replacement(path), path.parent, path.suffix or ".algo"
    place = "this folder" if folder == Path() else f"the folder `{folder}`"
    if replacement is not None:
        files = [file for file in replacement if file.parent == path.absolute().parent]
    elif not folder.is_dir():
        return f"there is no folder `{folder}`"
    else:
        try:
            files = list(folder.iterdir())
        except OSError:
            return f"{place} cannot be read"
    names = {file.stem: file.name for file in sorted(files) if file.suffix == kind}
    if (closest := find_closest(path.stem, names)) is not None:
        return f"did you mean `{folder / names[closest]}`?"
    listed = ", ".join(f"`{name}`" for name in [*names.values()][:MAX_LISTED_FILES])
    more = f" and {len(names) - MAX_LISTED_FILES} more" if len(names) > MAX_LISTED_FILES else ""
    return f"{place} has {listed}{more}" if names else f"{place} has no `{kind}` file"


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
