"""Results as text, JSON, LaTeX and Markdown: one renderer a format over the views of `archline.report.view`."""

from __future__ import annotations

from pathlib import Path


def formats(kind: str) -> tuple[str, ...]:
    """The formats of a kind of results, sorted: the modules of its folder, each of which renders one, by `render`."""
    folder = Path(__file__).parent / kind
    return tuple(sorted(path.stem for path in folder.glob("*.py") if path.stem != "__init__"))
