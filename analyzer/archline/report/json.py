"""Results for programs: JSON, stable and versioned, and CSV. Expressions are as in programs, numbers exact."""

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
from archline.numbers import exact
from archline.report.view import Contract, Number, SourcePlace, ValueRange

VERSION = 1


def render(value: Mapping[str, Any] | Sequence[Mapping[str, Any]]) -> str:
    """A JSON document."""
    return json.dumps(to_json_value(value), indent=2, ensure_ascii=False) + "\n"


def pick(found: object, *names: str) -> dict[str, Any]:
    """Some attributes of a result, each under its name, or as `key=attribute` under another."""
    keys = (name.partition("=") for name in names)
    return {key: attrgetter(path or key)(found) for key, _, path in keys}


def to_json_value(value: Any, write: Callable[[Poly], str] = str) -> Any:
    """What JSON has values for: expressions and fractions as text, records by their fields."""
    match value:
        case None | str() | int() | float():
            return value
        case Mapping():
            return {name: to_json_value(each, write) for name, each in value.items()}
        case list() | tuple():
            return [to_json_value(each, write) for each in value]
        case Fraction():
            return exact(value)
        case Poly():
            return write(value)
        case SourcePlace():
            return str(value)
        case ValueRange(lower, upper):
            return {"lower": exact(lower), "upper": exact(upper)}
        case _:
            return {each.name: to_json_value(getattr(value, each.name), write) for each in fields(value)}


def csv_text(rows: Iterable[Sequence[Any]]) -> str:
    """Rows as CSV, a line each; an empty cell where there is no value."""
    target = StringIO()
    csv.writer(target, lineterminator="\n").writerows(rows)
    return target.getvalue()


def point(point: Mapping[str, Number] | None) -> dict[str, str] | None:
    """Sizes with their values."""
    return None if point is None else {name: exact(value) for name, value in point.items()}


def contract(contract: Contract) -> dict[str, Any]:
    """One `ensures` or claim."""
    found = {**pick(contract, "text", "outcome", "reason"), "at": point(contract.point), "place": contract.place}
    more = pick(contract, "derived", "fails_where", "suggestion", "assumptions")
    return found | {key: value for key, value in more.items() if value}
