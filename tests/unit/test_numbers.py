"""Exact numbers come from one module, so that another library can take the place of python-flint."""

from __future__ import annotations

import re
from pathlib import Path

import archline

FLINT = re.compile(r"^\s*(from|import) flint\b", re.MULTILINE)


def test_python_flint_is_named_in_one_module() -> None:
    package = Path(archline.__path__[0])
    found = [path for path in package.rglob("*.py") if FLINT.search(path.read_text(encoding="utf-8"))]
    assert found == [package / "numbers.py"]
