"""Finds the folders of the grammar, the standard library, machines, papers and bounds, and the cache folder."""

import os
import sys
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent


def find_resource(folder: str) -> Path:
    """Return the path of the folder ``grammar``, ``stdlib``, ``machines``, ``papers`` or ``bounds`` that is in use."""
    installed = PACKAGE / "_data" / folder
    return installed if installed.is_dir() else PACKAGE.parents[1] / folder


def find_cache_folder() -> Path:
    """Return archline's cache folder, which may not exist yet. Raises RuntimeError without a home folder."""
    variables = ("XDG_CACHE_HOME", "LOCALAPPDATA") if sys.platform == "win32" else ("XDG_CACHE_HOME",)
    root = next((folder for name in variables if (folder := os.environ.get(name))), None)
    usual = ("Library", "Caches") if sys.platform == "darwin" else (".cache",)
    return (Path.home().joinpath(*usual) if root is None else Path(root)) / "archline"
