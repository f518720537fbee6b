"""Comparisons as CSV: a line a point, machine and pair; without points a line a metric and pair."""

from __future__ import annotations

import csv
import io

from archline.compare.results import Comparison
from archline.report.energies.csv import decimal


def render(found: Comparison, width: int, *, certificates: bool = False, growth: bool = False) -> str:
    """The table; numbers are decimals in base units."""
    target = io.StringIO()
    writer = csv.writer(target, lineterminator="\n")
    if not found.points:
        writer.writerow(["first", "second", "quantity", "relation", "ratio"])
        for pair, relations in found.growth.items():
            for name, relation in relations.items():
                writer.writerow([*pair, name, relation.relation, relation.ratio or ""])
        return target.getvalue()
    sizes = list(dict.fromkeys(name for each in found.points for name in each.at))
    processors = ["first_P", "second_P"] if any(each.processors for each in found.points) else []
    values = [f"{which}_{end}" for which in ("first", "second", "ratio") for end in ("lower", "upper")]
    writer.writerow(
        [*sizes, "machine", "model", "by", "first", "second", *processors, *values, "less", "verdict", "decides"]
    )
    for each in found.points:
        amounts = each.amounts(found.by)
        numbers = [
            end
            for one in (*amounts, each.verdict.ratio)
            for end in (("", "") if one is None else (decimal(one.lower), decimal(one.upper)))
        ]
        at = [str(each.at.get(name, "")) for name in sizes]
        head = [*at, each.machine.name, found.model.name, found.by, *each.pair]
        head += [decimal(one) for one in each.processors] or [""] * len(processors)
        writer.writerow([*head, *numbers, each.winner or "", each.verdict.verdict, each.verdict.decides])
    return target.getvalue()
