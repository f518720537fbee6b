"""Render results as JSON, stable and versioned, and CSV. Expressions are as in programs, numbers exact."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from fractions import Fraction
from io import StringIO
from operator import attrgetter
from typing import Any

from archline.algebra.polynomial import Poly
from archline.expr.intervals import Number
from archline.language.iterations import IterationCount
from archline.numbers import format_exact
from archline.report.view import Contract, SourcePlace, ValueRange

VERSION = 1
COSTS_VERSION = 2
"""The version of documents with costs, which may depend on iterations of loops: sizes that no caller gives."""


def render(value: Mapping[str, Any] | Sequence[Mapping[str, Any]]) -> str:
    """Return a value as the text of a JSON document."""
    return json.dumps(to_json_value(value), indent=2, ensure_ascii=False) + "\n"


def pick(result: object, *names: str) -> dict[str, Any]:
    """Return attributes of a result by name; `key=path` puts the attribute at a dotted path under another key."""
    keys = (name.partition("=") for name in names)
    return {key: attrgetter(path or key)(result) for key, _, path in keys}


def to_json_value(value: Any, write: Callable[[Poly], str] = str) -> Any:
    """Convert a value to JSON: expressions and fractions to text, records by their fields."""
    match value:
        case None | str() | int() | float():
            return value
        case Mapping():
            return {name: to_json_value(item, write) for name, item in value.items()}
        case list() | tuple():
            return [to_json_value(item, write) for item in value]
        case Fraction():
            return format_exact(value)
        case Poly():
            return write(value)
        case SourcePlace():
            return str(value)
        case ValueRange(lower, upper):
            return {"lower": format_exact(lower), "upper": format_exact(upper)}
        case _:
            return {attribute.name: to_json_value(getattr(value, attribute.name), write) for attribute in fields(value)}


def format_csv(rows: Iterable[Sequence[Any]]) -> str:
    """Return rows as CSV, a line each; unknown values are empty cells."""
    target = StringIO()
    csv.writer(target, lineterminator="\n").writerows(rows)
    return target.getvalue()


def make_point_document(point: Mapping[str, Number] | None) -> dict[str, str] | None:
    """Return the JSON document of sizes: their exact values as text; None for None."""
    return None if point is None else {name: format_exact(value) for name, value in point.items()}


def make_iterations_document(
    counted: IterationCount, name: str | None = None, count: int | None = None
) -> dict[str, Any]:
    """Return the JSON document of an iteration count: its name or another `name`, its loop, and its bounds.

    A bound is None if it is unknown; both bounds are the `count` of a run if that is given.
    """
    return {
        "name": name or counted.name,
        "place": str(SourcePlace.of(counted.loop.span)),
        "algorithm": counted.algorithm.name,
        "lower": counted.least if count is None else count,
        "upper": count,
        **({} if counted.reason is None else {"reason": counted.reason}),
    }


def make_contract_document(contract: Contract) -> dict[str, Any]:
    """Return the JSON document of an `ensures` or a claim."""
    result = {
        **pick(contract, "text", "outcome", "reason"),
        "at": make_point_document(contract.point),
        "place": contract.place,
    }
    more = pick(contract, "derived", "fails_where", "suggestion", "assumptions")
    return result | {key: value for key, value in more.items() if value}
