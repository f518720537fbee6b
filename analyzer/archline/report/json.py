"""Results for programs: JSON, stable and versioned, and CSV. Expressions are as in programs, numbers exact."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from fractions import Fraction
from io import StringIO
from typing import Any

from archline.algebra.polynomial import Poly
from archline.numbers import exact
from archline.report.view import Contract, Number, ValueRange

VERSION = 1


def render(value: Mapping[str, Any] | Sequence[Mapping[str, Any]]) -> str:
    """A JSON document."""
    return json.dumps(plain(value), indent=2, ensure_ascii=False) + "\n"


def plain(value: Any, write: Callable[[Poly], str] = str) -> Any:
    """What JSON has values for: expressions and fractions as text, records by their fields."""
    match value:
        case None | str() | int() | float():
            return value
        case Mapping():
            return {name: plain(each, write) for name, each in value.items()}
        case list() | tuple():
            return [plain(each, write) for each in value]
        case Fraction():
            return exact(value)
        case Poly():
            return write(value)
        case _:
            return {each.name: plain(getattr(value, each.name), write) for each in fields(value)}


def csv_text(rows: Iterable[Sequence[Any]]) -> str:
    """Rows as CSV, a line each; an empty cell where there is no value."""
    target = StringIO()
    csv.writer(target, lineterminator="\n").writerows(rows)
    return target.getvalue()


def ends(values: ValueRange) -> dict[str, str]:
    """Both ends of a value."""
    return {"lower": exact(values.lower), "upper": exact(values.upper)}


def point(point: Mapping[str, Number]) -> dict[str, str]:
    """Sizes with their values."""
    return {name: exact(value) for name, value in point.items()}


def contract(contract: Contract) -> dict[str, Any]:
    """One `ensures` or claim."""
    found: dict[str, Any] = {
        "text": contract.text,
        "outcome": contract.outcome,
        "reason": contract.reason,
        "at": None if contract.point is None else point(contract.point),
        "place": str(contract.place),
    }
    more: dict[str, Any] = {"derived": contract.derived, "fails_where": contract.fails_where}
    more |= {"suggestion": contract.suggestion, "assumptions": list(contract.assumptions)}
    return found | {key: value for key, value in more.items() if value}
