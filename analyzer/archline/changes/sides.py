"""Read the two sides of a comparison: the programs of a folder, of a file, or of a revision."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

from archline.changes.git import NO_VERSION, SUFFIX, find_merge_base, list_programs, read_programs
from archline.language.diagnostics import error, suggest_closest
from archline.language.source import replace_files

Side = Mapping[str, Path]
"""The programs of a side: the path to read each one from, by its path below the folder of the side."""


def read_sides(
    base: str, head: str | None, stack: ExitStack, left_out: Callable[[Path], bool], within: Sequence[str] = ()
) -> tuple[Side, Side]:
    """Read both sides of a comparison; `head` is the work tree by default. Raises ArchlineError (AL441).

    The programs of a revision are read below the folder, or from the file, that the opposite side names, by default
    below the current folder. `A...B` compares B with the last commit that it has in common with A. Files of revisions
    can be read until `stack` is closed. In folders and revisions, only programs below the paths `within` are compared,
    without programs that `left_out` accepts; at least one side must have each path.
    """
    name = base
    if "..." in base and not os.path.exists(base):
        base, _, tip = base.partition("...")
        head = head or tip or None
    existing = [Path(path) for path in (head, base) if path is not None and os.path.exists(path)]
    files = [path for path in existing if path.is_file()]
    folder = next((path if path.is_dir() else path.parent for path in existing), Path())
    if name != base:
        base = find_merge_base(folder, base, head if head is not None and not os.path.exists(head) else "HEAD")

    def read_side(text: str) -> Side:
        root = Path(text)
        if root.is_file():
            return {root.name: root}
        if not os.path.exists(text):
            return _read_revision(folder, text, stack)
        if all(map(os.path.exists, (base, head or "."))):
            names = [file.relative_to(root).as_posix() for file in sorted(root.rglob(f"*{SUFFIX}")) if file.is_file()]
        else:
            names = list_programs(root)
        return {file: root / file for file in names}

    old, new = read_side(base), read_side(head or ".")
    if len(files) == 2:
        # Two files are versions of one program, whatever their names.
        return dict(zip(new, old.values(), strict=True)), new

    # Paths are those of the newer side.
    folder = Path() if head is None else folder

    def is_inside(path: str, place: str) -> bool:
        return (folder / path).resolve().is_relative_to(Path(place).resolve())

    def is_compared(path: str) -> bool:
        if files:
            return path == files[0].name
        return not left_out(folder / path) and (not within or any(is_inside(path, place) for place in within))

    for place in () if files else within:
        if not os.path.exists(place) and not any(is_inside(path, place) for path in (*old, *new)):
            folders = sorted({str(above) for path in (*old, *new) for above in (folder / path).parents})
            hint = suggest_closest(place, folders) or "correct `paths` in the project's configuration"
            raise error(NO_VERSION, f"neither version has `{place}`, one of the `paths` of the project", hint=hint)
    before, after = ({path: file for path, file in side.items() if is_compared(path)} for side in (old, new))
    if not before and not after:
        hint = "go to a folder of the project, or name one; `paths` and `exclude` of its configuration leave files out"
        raise error(NO_VERSION, f"neither version has a program below `{folder}`", hint=hint)
    return before, after


def _read_revision(folder: Path, revision: str, stack: ExitStack) -> Side:
    """Read the programs of a revision, under paths that `git show` understands."""
    start = f"{revision}:./{os.path.relpath(folder)}/".replace("/./", "/")
    files = {f"{start}{path}": content for path, content in read_programs(folder, revision).items()}
    stack.enter_context(replace_files(files, start))
    return {path.removeprefix(start): Path(path) for path in files}
