"""Finds the folders of the grammar, the standard library, machines, papers and bounds, and the cache folder."""

import os
import sys
from functools import partial
from pathlib import Path
from threading import get_ident

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


def write_whole(file: Path, data: bytes) -> None:
    """Write a file that the user alone can read; others see it when it is whole. Raises OSError.

    `tempfile` would do, but takes longer to load than most files take to write.
    """
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    part = file.with_name(f"{file.name}.{os.getpid()}.{get_ident()}")
    with open(part, "wb", opener=partial(os.open, mode=0o600)) as stream:
        stream.write(data)
    os.replace(part, file)
