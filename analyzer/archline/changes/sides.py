"""The two sides of a comparison: the programs of a folder, of a file, or of a revision."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path

from archline.changes.git import SUFFIX, merge_base, present, programs
from archline.language.source import with_snapshot

Side = Mapping[str, Path]
"""The paths that programs are read from, by their paths below the folder of the side."""


def sides(base: str, head: str | None, stack: ExitStack, left_out: Callable[[Path], bool]) -> tuple[Side, Side]:
    """Both sides; the second is the work tree unless it is given. Raises ArchlineError (AL441).

    A revision is that of the folder, or file, that the other side names, or else of the current folder. `A...B` is B
    compared with the last commit that it has in common with A. Files of revisions are read until the stack is closed.
    """
    name = base
    if "..." in base and not os.path.exists(base):
        base, _, tip = base.partition("...")
        head = head or tip or None
    given = [Path(each) for each in (head, base) if each is not None and os.path.exists(each)]
    files = [each for each in given if each.is_file()]
    folder = next((each if each.is_dir() else each.parent for each in given), Path())
    if name != base:
        base = merge_base(folder, base, head if head is not None and not os.path.exists(head) else "HEAD")

    def side(text: str) -> Side:
        place = Path(text)
        if place.is_file():
            return {place.name: place}
        if not os.path.exists(text):
            return _of_revision(folder, text, stack)
        if all(map(os.path.exists, (base, head or "."))):
            names = [each.relative_to(place).as_posix() for each in sorted(place.rglob(f"*{SUFFIX}")) if each.is_file()]
        else:
            names = present(place)
        return {each: place / each for each in names}

    old, new = side(base), side(head or ".")
    if len(files) == 2:
        # Two files are versions of one, whatever they are called.
        return dict(zip(new, old.values(), strict=True)), new

    def compared(path: str) -> bool:
        return path == files[0].name if files else not left_out(folder / path)

    before, after = ({path: each for path, each in found.items() if compared(path)} for found in (old, new))
    return before, after


def _of_revision(folder: Path, revision: str, stack: ExitStack) -> Side:
    """The programs of a revision, under paths as `git show` takes them."""
    start = f"{revision}:./{os.path.relpath(folder)}/".replace("/./", "/")
    files = {f"{start}{path}": content for path, content in programs(folder, revision).items()}
    stack.enter_context(with_snapshot(start, files))
    return {path.removeprefix(start): Path(path) for path in files}
