"""Compiles formulas to numpy operations for many points; each distinct subexpression is computed once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from archline.expr import tree as s
from archline.expr.values import fold

POINTS_PER_CHUNK = 2**13
"""Points that are evaluated at a time, so that operands stay in a core's cache."""
Array: TypeAlias = NDArray[np.float64]
_BINARY: Mapping[str, Callable[..., Any]] = {
    "+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide, "^": np.power,
    "max": np.maximum, "min": np.minimum,
}  # fmt: skip
_UNARY: Mapping[str, Callable[..., Any]] = {"sqrt": np.sqrt, "log2": np.log2, "floor": np.floor, "ceil": np.ceil}


@dataclass
class ArrayFormulas:
    """Formulas compiled for arrays of their names; call it with a number or an array for each name."""

    names: tuple[str, ...]
    steps: list[tuple[str, tuple[Any, ...]]] = field(default_factory=list)
    results: dict[str, Any] = field(default_factory=dict)

    def __call__(self, values: Mapping[str, Any]) -> dict[str, Array]:
        """Return the values of the formulas, as arrays of the shape that the names' values broadcast to."""
        arrays = {name: np.asarray(values[name], dtype=np.float64) for name in self.names}
        shape = np.broadcast_shapes(*(array.shape for array in arrays.values())) if arrays else ()
        length = int(np.prod(shape))
        scalars = {name: float(array) for name, array in arrays.items() if array.ndim == 0}
        columns = {name: np.broadcast_to(array, shape).ravel() for name, array in arrays.items() if array.ndim}
        outputs = {name: np.empty(length) for name in self.results}
        buffers: dict[int, Array] = {}
        for start in range(0, length, POINTS_PER_CHUNK):
            stop = min(start + POINTS_PER_CHUNK, length)
            chunk: dict[str, Any] = {name: array[start:stop] for name, array in columns.items()}
            slots = self._run({**scalars, **chunk}, buffers, stop - start)
            for name, place in self.results.items():
                outputs[name][start:stop] = _operand_value(place, slots)
        return {name: array.reshape(shape) for name, array in outputs.items()}

    def _run(self, names: Mapping[str, Any], buffers: dict[int, Array], length: int) -> list[Any]:
        slots: list[Any] = []
        for number, (operation, places) in enumerate(self.steps):
            if operation == "name":
                slots.append(names[places[0]])
                continue
            operands = [_operand_value(place, slots) for place in places]
            function = _UNARY.get(operation) or _BINARY[operation]
            if not any(isinstance(operand, np.ndarray) for operand in operands):
                slots.append(float(function(*operands)))
                continue
            if number not in buffers or len(buffers[number]) < length:
                buffers[number] = np.empty(length)
            slots.append(function(*operands, out=buffers[number][:length]))
        return slots


def _operand_value(place: Any, slots: Sequence[Any]) -> Any:
    return slots[place] if isinstance(place, int) else place


def compile_formulas(formulas: Mapping[str, s.Expr]) -> ArrayFormulas:
    """Compile named formulas for arrays of the names that occur in them."""
    builder = _Builder()
    results = {name: fold(expr, builder) for name, expr in formulas.items()}
    names = tuple(dict.fromkeys(places[0] for operation, places in builder.steps if operation == "name"))
    return ArrayFormulas(names, builder.steps, results)


class _Builder:
    """Folds an expression into steps; an operand is the number of a step, or a float if it is constant."""

    def __init__(self) -> None:
        self.steps: list[tuple[str, tuple[Any, ...]]] = []
        self._known: dict[tuple[str, tuple[Any, ...]], int] = {}

    def _add_step(self, operation: str, *places: Any) -> Any:
        if operation != "name" and all(isinstance(place, float) for place in places):
            function = _UNARY.get(operation) or _BINARY[operation]
            return float(function(*places))
        key = (operation, places)
        if key not in self._known:
            self._known[key] = len(self.steps)
            self.steps.append(key)
        return self._known[key]

    def number(self, value: int | Fraction, expr: s.Expr) -> Any:
        return float(value)

    def name(self, name: s.Name) -> Any:
        return self._add_step("name", name.id)

    def negated(self, value: Any, expr: s.Unary) -> Any:
        return self._add_step("*", -1.0, value)

    def binary(self, op: str, left: Any, right: Any, expr: s.Binary) -> Any:
        if op == "^" and right in (2.0, 3.0):
            square = self._add_step("*", left, left)
            return square if right == 2.0 else self._add_step("*", square, left)
        if op == "^" and right == 0.5:
            return self._add_step("sqrt", left)
        return self._add_step(op, left, right)

    def call(self, function: str, values: Sequence[Any], expr: s.Call) -> Any:
        if function in _UNARY:
            return self._add_step(function, values[0])
        result = values[0]
        for value in values[1:]:
            result = self._add_step(function, result, value)
        return result
