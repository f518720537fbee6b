"""Evaluate upper bounds on costs at arrays of sizes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from archline.algebra.polynomial import Poly
from archline.analysis.cost import Cost
from archline.analysis.vectorised import NoBoundError, evaluate_upper_at_points, find_false_fact
from archline.costs import rules
from archline.costs.derived import DerivedCosts
from archline.costs.sizes import check_point, convert_python_values
from archline.expr.text import format_fact
from archline.language import syntax as s
from archline.language.diagnostics import error
from archline.language.metrics import OF_CACHE
from archline.numbers import format_point

MAX_CHECKED_POINTS = 64


def require_bounds(derived: DerivedCosts, cost: Cost) -> tuple[Poly, Poly]:
    """Return the lower and upper bound of a cost. Raises ArchlineError (AL414) if they are unknown."""
    if cost.lower is None or cost.upper is None:
        raise error(rules.NEEDS_BOUND, f"the {cost.metric} of `{derived.name}` is unknown: {cost.reason}")
    return cost.lower, cost.upper


def list_needed_names(derived: DerivedCosts, cost: Cost) -> list[str]:
    """List the names that need values to evaluate a cost. Raises ArchlineError (AL414) if the cost is unknown."""
    bounds = () if cost.has_values and cost.upper is None else require_bounds(derived, cost)
    free = frozenset[str]().union(*(bound.names for bound in bounds))
    if cost.interval_at is not None and derived.recursive:
        # To evaluate it, the program's calls are followed, which may use sizes that the closed forms do not contain.
        free |= {*derived.names.sizes, *({"Z", "L"} if cost.metric in OF_CACHE else ())}
    if cost.plans:
        free |= {"Z", "L"}.union(*(bound.value.names for bound in cost.plans))
    return sorted(free, key=derived.names.all.index)


def evaluate_upper_bound(derived: DerivedCosts, cost: Cost, given: Mapping[str, Any]) -> NDArray[Any]:
    """Evaluate the upper bound of a cost at arrays of values by name, which are broadcast against each other.

    That runs may end is checked at the first `MAX_CHECKED_POINTS` points, and assumed at later ones. Raises
    ArchlineError (AL401 to AL407, AL414 to AL416).
    """
    require_bounds(derived, cost)
    needed = list_needed_names(derived, cost)
    arrays = {name: _convert_to_integers(value) for name, value in given.items()}
    smallest = {name: value if isinstance(value, str) else _compute_minimum(value) for name, value in arrays.items()}
    check_point(convert_python_values(smallest), derived.names, needed=needed)
    try:
        together = np.broadcast_arrays(*arrays.values())
    except ValueError:
        shapes = ", ".join(f"`{name}` {value.shape}" for name, value in arrays.items())
        raise error(rules.ARRAYS_DIFFER, f"the arrays of the values cannot be combined: {shapes}") from None
    shape = together[0].shape if together else ()
    points = {name: values.ravel() for name, values in zip(arrays, together, strict=True)}
    length = int(np.prod(shape))
    _require_facts(points, length, derived.where)
    for place in range(min(length, MAX_CHECKED_POINTS)):
        derived.require_runs({name: int(values[place]) for name, values in points.items()})
    try:
        return evaluate_upper_at_points(cost, points, length).reshape(shape)
    except NoBoundError as problem:
        raise error(rules.NO_VALUE, f"{problem}: {_format_point(points, problem.place)}") from None


def _convert_to_integers(value: Any) -> Any:
    """Convert a value to an array of int64 or Python integers; return an item that is not an integer, as text."""
    if isinstance(value, np.ndarray) and value.dtype.kind in "iu":
        return value.astype(np.int64) if np.can_cast(value.dtype, np.int64) else _convert_to_int64(value.astype(object))
    array = np.array(value, dtype=object)
    for item in array.flat:
        if isinstance(item, bool | np.bool_) or not isinstance(item, int | np.integer):
            return str(item)
    return _convert_to_int64(array)


def _convert_to_int64(array: NDArray[Any]) -> NDArray[Any]:
    """Convert an array to int64; to Python integers if a value does not fit."""
    try:
        return array.astype(np.int64)
    except OverflowError:
        return np.array(np.frompyfunc(int, 1, 1)(array), dtype=object)


def _compute_minimum(array: NDArray[Any]) -> int | None:
    return int(array.min()) if array.size else 1


def _require_facts(points: Mapping[str, NDArray[Any]], length: int, where: Iterable[s.Fact]) -> None:
    violation = find_false_fact(where, points, length)
    if violation is not None:
        fact, place = violation
        raise error(rules.FACT_FAILS, f"`{format_fact(fact)}` does not hold: {_format_point(points, place)}")
    if "Z" in points and "L" in points:
        low = points["Z"] < points["L"]
        if low.any():
            raise error(
                rules.NO_VALUE, f"Z is less than a line of L words: {_format_point(points, int(np.argmax(low)))}"
            )


def _format_point(points: Mapping[str, NDArray[Any]], place: int) -> str:
    return "at " + format_point({name: int(values[place]) for name, values in points.items()})
