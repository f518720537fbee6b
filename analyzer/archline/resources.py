"""Where the grammar, the standard library and the machine files are, installed or in a checkout."""

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent


def resource(folder: str) -> Path:
    """The path of ``grammar``, ``stdlib`` or ``machines``: package data in a wheel, else the checkout's folder."""
    installed = _PACKAGE / "_data" / folder
    return installed if installed.is_dir() else _PACKAGE.parents[1] / folder
