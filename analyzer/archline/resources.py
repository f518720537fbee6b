"""Where the grammar, the standard library, machines and published bounds are, installed or in a checkout; the cache."""

import os
import sys
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent


def resource(folder: str) -> Path:
    """The path of ``grammar``, ``stdlib``, ``machines``, ``papers`` or ``bounds``: package data, or the checkout's."""
    installed = PACKAGE / "_data" / folder
    return installed if installed.is_dir() else PACKAGE.parents[1] / folder


def cache_folder() -> Path:
    """The folder in the user's cache, which need not exist. Raises RuntimeError where nobody is at home."""
    variables = ("XDG_CACHE_HOME", "LOCALAPPDATA") if sys.platform == "win32" else ("XDG_CACHE_HOME",)
    own = next((found for name in variables if (found := os.environ.get(name))), None)
    usual = ("Library", "Caches") if sys.platform == "darwin" else (".cache",)
    return (Path.home().joinpath(*usual) if own is None else Path(own)) / "archline"
