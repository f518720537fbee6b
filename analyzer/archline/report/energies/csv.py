"""Energies as CSV: a line a result, numbers in base units as decimals."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from fractions import Fraction

from archline.energy.results import EnergyResult
from archline.report.energies import shown


def render(results: Sequence[EnergyResult], width: int) -> str:
    """The table; empty cells are what is not known, terms are columns of their own."""
    sizes = list(dict.fromkeys(name for each in results for name in each.at or {}))
    terms = list(dict.fromkeys(name for each in results for name in each.model.energy))
    answers = [f"{name}_{end}" for name, _ in shown.ANSWERS for end in ("lower", "upper")]
    parts = [f"{name}_{end}" for name in terms for end in ("lower", "upper")]
    target = io.StringIO()
    writer = csv.writer(target, lineterminator="\n")
    writer.writerow(["algorithm", "machine", "model", *sizes, "Z", "L", *answers, *parts, "binds"])
    for each in results:
        writer.writerow(_row(each, sizes, terms))
    return target.getvalue()


def _row(result: EnergyResult, sizes: Sequence[str], terms: Sequence[str]) -> list[str]:
    at, cache, estimate = result.at or {}, result.cache, result.estimate
    head = [result.algorithm, result.machine.name, result.model.name, *(str(at.get(name, "")) for name in sizes)]
    head += ["", ""] if cache is None else [str(cache.words), str(cache.line)]
    if result.symbolic is not None:
        found = [result.symbolic.terms.get(name) for name in terms]
        texts = [end for each in found for end in (("", "") if each is None else (each.lower, each.upper))]
        return [*head, *[""] * (2 * len(shown.ANSWERS)), *texts, ""]
    assert estimate is not None
    amounts = [*shown.answers(estimate).values(), *(estimate.terms.get(name) for name in terms)]
    numbers = [
        end for each in amounts for end in (("", "") if each is None else (decimal(each.lower), decimal(each.upper)))
    ]
    return [*head, *numbers, estimate.binds]


def decimal(value: Fraction) -> str:
    """A number as a decimal, as near as a floating-point number is."""
    try:
        return repr(float(value))
    except OverflowError:
        return shown.approximate(value, 17)
