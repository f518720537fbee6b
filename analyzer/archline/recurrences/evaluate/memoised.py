"""Recurrences as functions in Python that call each other: the quickest way to values, where calls nest little."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from archline.algebra import atoms as a
from archline.algebra.evaluate.compiled import Number
from archline.algebra.evaluate.exact import EvaluationError
from archline.algebra.polynomial import Poly
from archline.recurrences.evaluate.codegen import (
    HELPERS,
    CodedCase,
    EquationWriter,
    NotWrittenError,
    outcomes,
    written,
)
from archline.recurrences.evaluate.decisions import Place
from archline.recurrences.model import Function, by_call, calls

Known = dict[Place, Number]
Direct = Callable[..., Number]
"""From sizes to the value. Raises EvaluationError, RecursionError where calls nest too deeply."""


class TooManyError(EvaluationError):
    """The recurrence takes too many steps."""


class Directly:
    """Those functions of a system that can be written; their values are kept in `known`."""

    def __init__(self, functions: Mapping[str, Function], known: Known) -> None:
        self._left = [0]
        names, lines = _writable(functions)
        scope: dict[str, Any] = {
            "known": known, "left": self._left, "no_case": _no_case, "too_many": _too_many, **HELPERS,
        }  # fmt: skip
        # The text is made of numbers and of names that are given here.
        exec("\n".join(lines), scope)
        self._functions: dict[str, Direct] = {name: scope[each] for name, each in names.items()}

    def at(self, name: str, arguments: tuple[int, ...], most: int) -> Number | None:
        """The value of a function at up to `most` new places, None where it is not written.

        Raises EvaluationError, TooManyError and RecursionError.
        """
        self._left[0] = most
        found = self._functions.get(name)
        return None if found is None else found(*arguments)


def _writable(functions: Mapping[str, Function]) -> tuple[dict[str, str], list[str]]:
    """The functions that can be written and call no other ones, with their names in Python, and the lines of all."""
    names = {name: f"f{index}" for index, name in enumerate(functions)}
    while True:
        lines: list[str] = []
        left = dict(names)
        for name in names:
            try:
                lines += _function(functions[name], names)
            except NotWrittenError:
                del left[name]
        if len(left) == len(names):
            return names, lines
        names = left


def _function(function: Function, names: Mapping[str, str]) -> list[str]:
    """The lines of a function. Raises NotWrittenError."""
    if function.facts.quotients:
        raise NotWrittenError
    own = {name: f"v{index}" for index, name in enumerate(function.parameters)}
    writer = EquationWriter(own, names)
    cases = [CodedCase(outcomes(each, writer), f"found = {_value(each.value, writer)}") for each in function.equations]
    parameters = ", ".join(own.values())
    least = " or ".join(f"{own[name]} < {low}" for name, low in function.least.items())
    return [
        f"def {names[function.name]}({parameters}):",
        f" place = {function.name!r}, ({''.join(f'{each}, ' for each in own.values())})",
        " found = known.get(place)",
        " if found is not None:",
        "  return found",
        *([f" if {least}:", "  no_case()"] if least else []),
        " left[0] -= 1",
        " if left[0] < 0:",
        "  too_many()",
        *written(cases, "no_case()", 1),
        " known[place] = found",
        " return found",
    ]


def _value(value: Poly, writer: EquationWriter) -> str:
    _, factors = by_call(value)
    if not all(factor.is_constant for factor in factors.values()):
        # One that is 0 may stand at a call whose sizes are none.
        raise NotWrittenError
    if not all(a.is_integral(argument) for call in calls(value) for argument in call.arguments):
        raise NotWrittenError
    return writer.text(value)


def _no_case() -> None:
    raise EvaluationError("no case of the recurrence applies at these sizes")


def _too_many() -> None:
    raise TooManyError("the recurrence takes too many steps at these sizes")
