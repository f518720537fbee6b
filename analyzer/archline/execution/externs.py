"""Register the Python functions that give externs their values in runs."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from archline.execution.jit import helper
from archline.execution.slots import INT_LIMIT, NO_INT

_REGISTERED: dict[str, Callable[..., Any]] = {}


def register_extern(name: str, function: Callable[..., Any] | None) -> None:
    """Let the extern `name` take its value from a Python function of its arguments (floats and ints); None removes it.

    Without one, an extern is a fixed smooth function of its arguments, which is good for testing only. A function that
    numba cannot compile keeps the programs that call it from being compiled.
    """
    if function is None:
        _REGISTERED.pop(name, None)
    else:
        _REGISTERED[name] = function


def find_extern(name: str) -> Callable[..., Any] | None:
    """Return the function registered for an extern; None if there is none."""
    return _REGISTERED.get(name)


def make_placeholder_function(arity: int, result: str | None) -> Callable[..., Any]:
    """Return the fixed smooth function of `arity` arguments: cos(x1 + 2 x2 + ...), in thousandths for an int."""
    names = ", ".join(f"x{k}" for k in range(1, arity + 1))
    phase = " + ".join(f"{k} * x{k}" for k in range(1, arity + 1)) or "0.0"
    value = f"cos({phase})" if result in (None, "real") else f"int(floor(1000.0 * cos({phase})))"
    namespace: dict[str, Any] = {"cos": _compute_cosine, "floor": math.floor}
    exec(f"def smooth({names}):\n return {value}\n", namespace)
    function: Callable[..., Any] = namespace["smooth"]
    return function


@helper
def _compute_cosine(x: float) -> float:
    return math.cos(x) if math.isfinite(x) else math.nan


def wrap_extern_function(name: str, function: Callable[..., Any], result: str | None) -> Callable[..., Any]:
    """Wrap a function so that its value has the type `result`, ints beyond 64 bits as NO_INT; `name` has no effect."""

    def call(*arguments: Any) -> Any:
        value = function(*arguments)
        if result is None:
            return 0
        if result == "real":
            return float(value)
        whole = int(value)
        return whole if -INT_LIMIT <= whole <= INT_LIMIT else NO_INT

    return call
