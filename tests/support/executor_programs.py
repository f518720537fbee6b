"""Helpers of the executor's tests: programs as text, run at once."""

from __future__ import annotations

from functools import cache
from typing import Any

from archline.execution.results import Run
from archline.execution.run import execute
from archline.language.diagnostics import ArchlineError
from archline.language.loader import load_text

# What is kept of a module is its compiled code too.
_load = cache(load_text)


def run(text: str, arguments: dict[str, Any], name: str | None = None, **options: Any) -> Run:
    """Run the last algorithm of a program, or the one named, as plain Python unless told otherwise."""
    module = _load(text)
    algorithm = module.algorithms[name] if name else list(module.algorithms.values())[-1]
    options.setdefault("compiled", False)
    return execute(module, algorithm, arguments, **options)


def codes(text: str, arguments: dict[str, Any], name: str | None = None, **options: Any) -> list[str]:
    """The codes of the diagnostics that the run raises; none if it succeeds."""
    try:
        run(text, arguments, name, **options)
    except ArchlineError as problem:
        return [each.rule.code for each in problem.diagnostics]
    return []


def message(text: str, arguments: dict[str, Any], name: str | None = None, **options: Any) -> str:
    """The diagnostics that the run raises, as text."""
    try:
        run(text, arguments, name, **options)
    except ArchlineError as problem:
        return str(problem)
    return ""
