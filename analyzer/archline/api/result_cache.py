"""Keep results in the user's cache folder: the texts that commands print, and the outcomes of targets.

The key of an entry is a question (a command and its options), the current folder, and the state of this program. An
entry has the digests of all files that were looked for, and is ignored once one of them changes or appears. It begins
with a digest of its text, so that a damaged entry is ignored. If the folder cannot be written, nothing is stored.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import cache
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from archline import __version__
from archline.algebra.effort import Clock
from archline.algebra.lp import failures
from archline.language.source import Read, is_path, read_current_text, record_reads
from archline.resources import PACKAGE, find_cache_folder, find_resource, write_whole

ENTRY_FORMAT = 4
"""The number of the format of entries, to be increased when the format changes."""
MAX_ENTRIES = 2_000
SHIPPED_FOLDERS = ("grammar", "bounds", "papers", "machines", "stdlib")
"""Folders that results depend on; a new file in one of the last two may take precedence over an existing one."""


def find_or_make(asked: object, targets: Iterable[str], make: Callable[[], tuple[str, int]]) -> tuple[str, int]:
    """Return the cached text and exit code for a question about targets, if still valid; else make and store them."""
    question = asked, [(target, is_path(target.partition("::")[0])) for target in targets]
    entry = find(question)
    match entry:
        case [str(text), int(code)]:
            return text, code
        case _:
            with record_reads() as read:
                result = make()
            store(question, read, result)
            return result


def find(asked: object) -> Any:
    """Return the stored answer to a question, as JSON data, if it is still valid; else None."""
    try:
        digest, _, text = _make_entry_path(asked).read_text(encoding="utf-8").partition("\n")
        if digest != _compute_digest(text):
            return None
        entry = json.loads(text)
        return (
            None if any(_compute_file_digest(path) != then for path, then in entry["read"].items()) else entry["found"]
        )
    except (OSError, RuntimeError, ValueError, LookupError, TypeError, AttributeError):
        return None


def store(asked: object, read: Read, found: object) -> None:
    """Store the answer `found` to a question, which depends on the files `read`.

    Nothing is stored if a solver failed or time ran out.
    """
    if failures or Clock.late:
        return
    digests = {str(path): None if text is None else _compute_digest(text) for path, text in read.items()}
    text = json.dumps({"read": digests, "found": found})
    with suppress(OSError, RuntimeError):
        file = _make_entry_path(asked)
        write_whole(file, f"{_compute_digest(text)}\n{text}".encode())
        _forget_oldest(file.parent)


def _compute_digest(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _compute_file_digest(path: str) -> str | None:
    """Return the digest of the current text of a file; None if it cannot be read."""
    text = read_current_text(Path(path))
    return None if text is None else _compute_digest(text)


def _make_entry_path(asked: object) -> Path:
    """Return the path of an entry's file. Raises RuntimeError or OSError without a cache folder or a current folder."""
    name = _compute_digest(
        repr((ENTRY_FORMAT, __version__, sys.version_info[:3], _compute_program_digest(), os.getcwd(), asked))
    )
    return find_cache_folder() / "results" / f"{name}.json"


@cache
def _compute_program_digest() -> str:
    """Return a digest of the files of this program and the solvers, which may change without a new version."""
    solver = find_spec("flint")
    site = os.stat(Path(solver.origin).parents[1]).st_mtime_ns if solver and solver.origin else 0
    return _compute_digest(repr((site, sorted(_iterate_file_states((PACKAGE, *map(find_resource, SHIPPED_FOLDERS)))))))


def _iterate_file_states(folders: Iterable[Path]) -> Iterable[tuple[str, int, int]]:
    """Yield path, size and time of change of each file below some folders."""
    for folder in folders:
        for root, _, names in os.walk(folder):
            for name in names:
                if not name.endswith(".pyc"):
                    state = os.stat(os.path.join(root, name))
                    yield os.path.join(root, name), state.st_size, state.st_mtime_ns


def _forget_oldest(folder: Path) -> None:
    """Delete the older half of the entries if there are too many."""
    entries = list(folder.iterdir())
    if len(entries) > MAX_ENTRIES:
        for entry in sorted(entries, key=lambda entry: entry.stat().st_mtime_ns)[: len(entries) // 2]:
            entry.unlink(missing_ok=True)
