"""Verdicts in the formats that `archline check` prints: each module of this folder renders one, by `render`."""

from __future__ import annotations

from pathlib import Path


def formats() -> tuple[str, ...]:
    """The names of the formats, sorted."""
    return tuple(sorted(path.stem for path in Path(__file__).parent.glob("*.py") if path.stem != "__init__"))
