"""Drafts of machine files from listings of `lscpu` and `nvidia-smi`, and how machine files are written."""

from __future__ import annotations

from pathlib import Path

from archline.api import rules
from archline.energy.drafts import read_draft
from archline.language.diagnostics import error
from archline.report import machine_files


def machine_draft(name: str, command: str, listing: str | Path) -> str:
    """The text of a machine file from a listing of a command: numbers that it lacks are there as comments.

    Raises ArchlineError: AL493 for what is not such a listing.
    """
    return machine_files.draft(read_draft(Path(listing), command), name)


def write_machine(path: str | Path, text: str) -> None:
    """Write a machine to a new file. Raises ArchlineError (AL413) where that cannot be, or there is one."""
    target = Path(path)
    reason = "" if target.suffix == ".toml" else "the name of a machine ends in `.toml`"
    try:
        if not reason:
            with target.open("x", encoding="utf-8") as stream:
                stream.write(text)
    except FileExistsError:
        reason = "it is there already; remove it, or name another file"
    except OSError as problem:
        reason = problem.strerror or str(problem)
    if reason:
        raise error(rules.NOT_WRITTEN, f"`{target}` cannot be written: {reason}", path=str(target))
