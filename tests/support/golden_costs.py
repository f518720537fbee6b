"""Snapshots of what is derived for the standard library: forms, growth, and values at sizes and capacities.

A file of `tests/golden` a module. A snapshot is compared by value: a form may be written in another way as long as its
values at the recorded points are the same, and a bound may become sharper, never weaker.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from math import ceil
from pathlib import Path
from typing import Any, TypeAlias

import archline as al
from archline.api.growth import order
from archline.costs.arrays import list_needed_names
from archline.language.loader import load_target

FOLDER = Path(__file__).parents[1] / "golden"
METRICS = ("flops", "work", "span", "io")
ON_GRID = ("flops", "work", "words", "messages", "memory")
"""The metrics of processors on a grid."""
LINES = (1, 8)
CAPACITIES = 9
SMALL = (9, 10, 7, 11, 8, 16, 3, 4, 2, 1, 27, 12, 100)
LARGE = (30, 33, 25, 36, 32, 64, 9, 16, 4, 2, 1, 27, 81, 48, 200)
"""Sizes, the likeliest first: each algorithm takes the first of them that its facts allow."""
BLOCKS = (4, 2, 8, 3)
WITHOUT_VALUE = ("AL414", "AL415")
"""Diagnostics of a cost that is unknown, or irrational, at a point."""
RANKS = ("unknown", "bounded", "declared", "exact")
Entry: TypeAlias = dict[str, Any]


def algorithms(module: str) -> list[str]:
    """The names of a module's algorithms."""
    return list(load_target(module)[0].algorithms)


def path(module: str) -> Path:
    """Where the snapshot of a module is."""
    return FOLDER / f"{module}.json"


def recorded(module: str) -> dict[str, Entry]:
    """The snapshot of a module; empty where there is none."""
    place = path(module)
    found: dict[str, Entry] = json.loads(place.read_text(encoding="utf-8")) if place.exists() else {}
    return found


def sampled(entry: Entry, effort: str) -> Entry:
    """A snapshot with all its forms, and io at as many of its points as an effort asks for.

    `deep` asks for all; `full` for the smallest, the middle and the largest capacity; `quick` for these at the first
    point and the longest line.
    """
    points, lines, step = {
        "quick": (1, LINES[-1:], CAPACITIES // 2),
        "full": (None, LINES, CAPACITIES // 2),
        "deep": (None, LINES, 1),
    }[effort]
    return {**entry, "at": {at: _few(values, lines, step) for at, values in list(entry["at"].items())[:points]}}


def _few(values: Entry, lines: Sequence[int], step: int) -> Entry:
    rows = {key: list(values[key].items()) for line in lines if (key := f"io, L = {line}") in values}
    return {
        **{each: value for each, value in values.items() if not isinstance(value, dict)},
        **{key: dict(row[::step]) for key, row in rows.items()},
    }


def taken(module: str, name: str, before: Entry | None) -> Entry:
    """The snapshot of an algorithm now, at the points of the one before."""
    algorithm = al.algorithm(f"{module}::{name}")
    cost, grid = algorithm.cost(), bool(algorithm.node.grid)
    metrics = ON_GRID if grid else METRICS
    entry: Entry = {each: _form(cost[each]) for each in metrics}
    known = None if before is None else before["at"]
    if known is not None and any(set(cost.parameters) - _point(text).keys() for text in known):
        # The costs have sizes that they had not before, such as the iterations of a loop.
        known = None
    if known is None:
        known = {_point_text(each): None for each in _points(cost, grid)}
    values = _values_on_grid if grid else _values
    entry["at"] = {text: values(cost, _point(text), before_it) for text, before_it in known.items()}
    return entry


def _form(metric: al.Metric) -> Entry:
    lower, *_, upper = metric.text.split(" to ") if " to " in metric.text else (metric.text, metric.text)
    return {"status": metric.status, "lower": lower, "upper": upper, "growth": metric.growth}


def _points(cost: al.CostReport, grid: bool) -> Iterator[Mapping[str, int]]:
    """A small and a large point that the facts allow, with different sizes where they may differ."""
    metrics = ON_GRID if grid else METRICS
    names = sorted({each for metric in metrics for each in _names(cost[metric], grid)})
    for sizes in (SMALL, LARGE):
        own = [(*(BLOCKS if name == "b" else sizes[first:]), *sizes)[: len(sizes)] for first, name in enumerate(names)]
        for places in _places(len(names), len(sizes)):
            point = {name: each[place] for name, each, place in zip(names, own, places, strict=True)}
            try:
                if grid:
                    _values_on_grid(cost, point, None)
                else:
                    cost.work.at({name: value for name, value in point.items() if name in _names(cost.work, grid)})
                    cost.io.at({**point, "Z": 64, "L": 1})
            except al.ArchlineError as problem:
                if problem.diagnostics[0].rule.code not in WITHOUT_VALUE:
                    continue
            yield point
            break


def _names(metric: al.Metric, grid: bool) -> list[str]:
    try:
        return [
            each
            for each in list_needed_names(metric._report, metric._cost)
            if each not in ("Z", "L") and (grid or each != "P")
        ]
    except al.ArchlineError:
        return []


def _places(count: int, sizes: int) -> Iterator[tuple[int, ...]]:
    """Indices into the sizes of each name, those near the first first."""
    if count == 0:
        yield ()
        return
    for total in range(count * (sizes - 1) + 1):
        yield from (each for each in _summing(count, total) if max(each) < sizes)


def _summing(count: int, total: int) -> Iterator[tuple[int, ...]]:
    if count == 1:
        yield (total,)
        return
    for first in range(total + 1):
        yield from ((first, *rest) for rest in _summing(count - 1, total - first))


def _values(cost: al.CostReport, point: Mapping[str, int], before: Entry | None) -> Entry:
    values: Entry = {each: _ends(getattr(cost, each), point) for each in METRICS if each != "io"}
    for line in LINES:
        key = f"io, L = {line}"
        if before and key not in before:
            continue
        capacities = list(map(int, before[key])) if before else _capacities(cost, point, line)
        values[key] = {str(each): _ends(cost.io, {**point, "Z": each, "L": line}) for each in capacities}
    return values


def _values_on_grid(cost: al.CostReport, point: Mapping[str, int], _: Entry | None) -> Entry:
    return {each: _ends(cost[each], point) for each in ON_GRID}


def _capacities(cost: al.CostReport, point: Mapping[str, int], line: int) -> list[int]:
    """From one line to all that fits, as many lines as are fetched at least and a few; in equal ratios."""
    ends = _ends(cost.io, {**point, "Z": 10**9, "L": line})
    most = max(CAPACITIES, 4 if ends is None else ceil(_number(ends.split(" ")[-1])) + 4)
    lines = [round(most ** (step / (CAPACITIES - 1))) for step in range(CAPACITIES)]
    for index in range(1, CAPACITIES):
        lines[index] = max(lines[index], lines[index - 1] + 1)
    return [line * each for each in lines]


def _ends(metric: al.Metric, point: Mapping[str, int]) -> str | None:
    """The value or both bounds as text; None where there is none."""
    try:
        found = metric.at(
            {name: value for name, value in point.items() if name in list_needed_names(metric._report, metric._cost)}
        )
    except al.ArchlineError as problem:
        if problem.diagnostics[0].rule.code not in WITHOUT_VALUE:
            raise
        return None
    return " ".join(map(str, found)) if isinstance(found, tuple) else str(found)


def _point_text(point: Mapping[str, int]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in point.items())


def _point(text: str) -> dict[str, int]:
    return {name: int(value) for name, value in (each.split(" = ") for each in text.split(", "))} if text else {}


def worse(name: str, before: Entry, now: Entry) -> Iterator[str]:
    """What is weaker or different now: an exact value that changed, a bound that widened, growth that is not proved."""
    for metric in (each for each in before if each != "at"):
        was, is_ = before[metric], now[metric]
        if RANKS.index(is_["status"]) < RANKS.index(was["status"]):
            yield f"{name}: {metric} was {was['status']}, is {is_['status']}"
        if was["growth"] != is_["growth"] and not _grows_alike(was["growth"], is_["growth"]):
            yield f"{name}: growth of {metric} was {was['growth']}, is {is_['growth']}"
    for point, values in before["at"].items():
        for key, value in _flat(values):
            other = dict(_flat(now["at"][point])).get(key)
            if value != other and not _contained(other, value):
                yield f"{name} at {point}, {key}: was {value}, is {other}"


def _flat(values: Entry) -> Iterator[tuple[str, str | None]]:
    for key, value in values.items():
        if isinstance(value, dict):
            yield from ((f"{key}, Z = {capacity}", each) for capacity, each in value.items())
        else:
            yield key, value


def _contained(now: str | None, before: str | None) -> bool:
    """Whether these bounds lie between those of before; an exact value stays what it was."""
    if before is None:
        return True
    if now is None:
        return False
    was, is_ = ([_number(each) for each in text.split(" ")] for text in (before, now))
    return was[0] <= is_[0] <= is_[-1] <= was[-1]


def _number(text: str) -> Fraction:
    return Fraction(text)


def _grows_alike(before: str | None, now: str | None) -> bool:
    """Whether all that was proved of the growth before follows from what is proved now."""
    if before is None:
        return True
    if now is None:
        return False
    was, is_ = _proved(before), _proved(now)
    return all(
        each in is_ and bool(order(*((is_[each], was[each]) if each == "O" else (was[each], is_[each]))).holds)
        for each in was
    )


def _proved(growth: str) -> dict[str, str]:
    """The upper and the lower order of `Theta(f)` or `O(f), Omega(g)`; of `Theta(f) where n >= 2` the upper one."""
    found: dict[str, str] = {}
    for part in re.split(r", (?=(?:Theta|O|Omega)\()", growth):
        kind, _, rest = part.partition("(")
        text, _, where = rest.partition(") where ")
        text = text if where else text.removesuffix(")")
        found |= dict.fromkeys((kind,) if kind != "Theta" else ("O",) if where else ("O", "Omega"), text)
    return found


def written(entries: Mapping[str, Entry]) -> str:
    """The file: a line a form and a line a row of values, so that differences are read line by line."""
    return json.dumps(entries, indent=1, ensure_ascii=False) + "\n"
