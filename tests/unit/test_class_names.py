"""A public class name means one thing: at most two modules may use the same one."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

import archline

MOST = 2


def classes(text: str) -> list[str]:
    """The public classes of a module."""
    return [each.name for each in ast.parse(text).body if isinstance(each, ast.ClassDef) and each.name[0] != "_"]


def shared(texts: list[str]) -> set[str]:
    """Names that more than two of the modules give to a class."""
    found = Counter(name for text in texts for name in set(classes(text)))
    return {name for name, times in found.items() if times > MOST}


def test_no_class_name_is_in_three_modules() -> None:
    paths = Path(archline.__path__[0]).rglob("*.py")
    assert not shared([path.read_text(encoding="utf-8") for path in paths])


def test_a_third_class_of_a_name_is_noticed() -> None:
    assert not shared(["class Case: ...", "class Case: ...", "class _Case: ..."])
    assert shared(["class Case: ...", "class Case: ...", "def f(): ...\n\nclass Case: ..."]) == {"Case"}
