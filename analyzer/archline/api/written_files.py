"""Write files so that none is lost or half written."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from archline.costs import rules
from archline.language.diagnostics import error


def write_file_atomically(path: Path, text: str, replaced: bytes | None = None) -> None:
    """Write a text to a temporary file and move that to the path, so that the file is never lost or half written.

    If the file does not have the contents `replaced`, it is left unchanged. A device, such as /dev/stdout, is
    written to. Raises ArchlineError (AL413).
    """
    # If the path is a link, the file to which it points is replaced.
    target = path.resolve()
    temporary = None
    try:
        if target.exists() and not target.is_file():
            target.write_text(text, encoding="utf-8", newline="\n")
            return
        handle, temporary = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        os.chmod(temporary, target.stat().st_mode & 0o7777 if target.exists() else 0o666 & ~_read_file_mode_mask())
        if replaced is not None and target.read_bytes() != replaced:
            raise OSError(0, "it has changed since it was read")
        os.replace(temporary, target)
    except OSError as problem:
        if temporary is not None and os.path.exists(temporary):
            os.unlink(temporary)
        message = f"`{path}` cannot be written: {problem.strerror}"
        hint = "name a file in a folder that exists and may be written to"
        raise error(rules.NOT_WRITTEN, message, path=str(path), hint=hint) from None


def _read_file_mode_mask() -> int:
    """Return the process's file mode creation mask, which can be read only by setting it."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
