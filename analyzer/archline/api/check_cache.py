"""A cache of what was decided of targets, in the user's cache folder.

An entry is for one target, the options, the current folder, and the state of this program. It has the digests of all
files that loading the target looked for, and is ignored once one of them has another text, or appears. It begins with
its own digest: a damaged entry is ignored. Where the folder cannot be written, nothing is stored.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

from archline import __version__
from archline.language.diagnostics import ArchlineError
from archline.language.loader import Read, is_path
from archline.language.source import Source, read_source
from archline.report.view import CheckView, Contract, Group, Place, Stop
from archline.resources import PACKAGE, cache_folder, resource

FORMAT = 2
"""The format of entries; a change of it needs another number."""
MAX_ENTRIES = 2_000


@dataclass(frozen=True)
class Task:
    """A target to check, under further facts, with the certificates of growth that holds or without.

    `source` is the program itself where it was read from standard input; its outcome is not cached.
    """

    target: str
    where: str | None = None
    certificates: bool = False
    source: Source | None = None


def find(task: Task) -> CheckView | None:
    """What was decided of a task, if its entry is still valid."""
    if task.source is not None:
        return None
    try:
        digest, _, text = _place(task).read_text(encoding="utf-8").partition("\n")
        if digest != _digest(text):
            return None
        entry = json.loads(text)
        if any(_current(path) != known for path, known in entry["read"].items()):
            return None
        return _view(entry["view"])
    except (OSError, RuntimeError, ValueError, LookupError, TypeError, AttributeError):
        return None


def store(task: Task, read: Read, view: CheckView) -> None:
    """Write an entry for what was decided of a task with these files."""
    if task.source is not None:
        return
    digests = {str(path): None if text is None else _digest(text) for path, text in read.items()}
    text = json.dumps({"read": digests, "view": asdict(view)})
    with suppress(OSError, RuntimeError):
        place = _place(task)
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with NamedTemporaryFile("w", encoding="utf-8", dir=place.parent, delete=False) as stream:
            stream.write(f"{_digest(text)}\n{text}")
        os.replace(stream.name, place)
        _forget_oldest(place.parent)


def _digest(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _current(path: str) -> str | None:
    """The digest of a file as it is now; None where there is none, or nothing that can be read."""
    try:
        return _digest(read_source(Path(path)).text)
    except ArchlineError:
        return None


def _place(task: Task) -> Path:
    """The file of a task's entry. Raises RuntimeError or OSError where there can be none."""
    place = task.target.partition("::")[0]
    asked = task.target, is_path(place), task.where, task.certificates, os.getcwd()
    name = _digest(repr((FORMAT, __version__, sys.version_info[:3], _program(), asked)))
    return cache_folder() / "check" / f"{name}.json"


@cache
def _program() -> str:
    """A digest of the state of this program's files, which may change without its version."""
    found = sorted(_states((PACKAGE, resource("grammar"), resource("bounds"))))
    return _digest(repr(found))


def _states(folders: Iterable[Path]) -> Iterable[tuple[str, int, int]]:
    """The files of folders, with their sizes and times."""
    for folder in folders:
        for root, _, names in os.walk(folder):
            for name in names:
                if not name.endswith(".pyc"):
                    state = os.stat(os.path.join(root, name))
                    yield os.path.join(root, name), state.st_size, state.st_mtime_ns


def _forget_oldest(folder: Path) -> None:
    """Delete the older half of the entries where there are too many."""
    entries = list(folder.iterdir())
    if len(entries) > MAX_ENTRIES:
        for each in sorted(entries, key=lambda each: each.stat().st_mtime_ns)[: len(entries) // 2]:
            each.unlink(missing_ok=True)


def _view(data: Any) -> CheckView:
    return CheckView(data["target"], tuple(map(_group, data["algorithms"])), tuple(map(_contract, data["claims"])))


def _group(data: Any) -> Group:
    stop = data["stop"]
    found = None if stop is None else Stop(**{**stop, "place": Place(**stop["place"])})
    return Group(data["name"], tuple(map(_contract, data["contracts"])), found, data["messages"])


def _contract(data: Any) -> Contract:
    return Contract(**{**data, "place": Place(**data["place"]), "certificates": tuple(data["certificates"])})
