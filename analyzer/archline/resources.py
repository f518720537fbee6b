"""Where the grammar, the standard library, machines and published bounds are, installed or in a checkout."""

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent


def resource(folder: str) -> Path:
    """The path of ``grammar``, ``stdlib``, ``machines`` or ``bounds``: package data, else the checkout's folder."""
    installed = _PACKAGE / "_data" / folder
    return installed if installed.is_dir() else _PACKAGE.parents[1] / folder
