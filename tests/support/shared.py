"""What the tests of a process share: a text is checked once, and a checked algorithm derived once, for all that ask.

Programs and costs are frozen, and checking and deriving depend on nothing else, so a test sees what it would have made
itself. One that plants a defect in a derivation, or counts its work, writes a program that no other has.
"""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path

import pytest

from archline.analysis import analyse
from archline.expr.tree import Source
from archline.language.loader import _Loader
from archline.language.model import Module
from archline.resources import find_resource

KEPT = 64
"""Texts, and derivations: those that tests of one file share. What facts remember of proofs takes tens of MB for some."""
USE = re.compile(r"^\s*use\b", re.MULTILINE)

_load_source = _Loader.load_source
_derived = lru_cache(KEPT)(analyse._derive_costs)
_on_grid = lru_cache(KEPT)(analyse._derive_on_grid)


def _loaded(loader: _Loader, source: Source, folder: Path | None) -> Module:
    """The module of a text that uses the standard library alone, as it was checked before; others are read anew."""
    if folder is None or find_resource("stdlib") in folder.parents or not USE.search(source.text):
        return _checked(source.path, source.text, folder)
    return _load_source(loader, source, folder)


@lru_cache(KEPT)
def _checked(path: str, text: str, folder: Path | None) -> Module:
    return _load_source(_Loader(), Source(path, text), folder)


def share(monkeypatch: pytest.MonkeyPatch) -> None:
    """Check and derive what this process has not met before."""
    monkeypatch.setattr(_Loader, "load_source", _loaded)
    monkeypatch.setattr(analyse, "_derive_costs", _derived)
    monkeypatch.setattr(analyse, "_derive_on_grid", _on_grid)
