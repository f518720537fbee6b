"""Energies in the formats that `archline energy` prints: each is a function of this module."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from typing import Any

from archline.energy.levels import Level, by_level
from archline.energy.results import CacheUsed, Ends, EnergyFloor, EnergyResult, Input, SymbolicEnergy
from archline.energy.units import format_amount
from archline.expr.intervals import Interval
from archline.expr.text import join_phrases, join_with_mark
from archline.numbers import exact
from archline.report import json
from archline.report.documents import markdown
from archline.report.energies import shown
from archline.report.energies.text import as_text, document
from archline.report.latex import display_text, escape_text, expression

__all__ = ["as_csv", "as_json", "as_latex", "as_markdown", "as_text"]
VERSION = 2


def as_json(results: Sequence[EnergyResult], width: int) -> str:
    """The document."""
    return json.render({"version": VERSION, "results": [_document(each) for each in results]})


def _document(result: EnergyResult) -> dict[str, Any]:
    """One result."""
    answer = _numbers(result) if result.symbolic is None else _symbols(result, result.symbolic)
    return {
        **json.pick(result, "algorithm", "machine=machine.name", "model=model.name"),
        "at": json.point(result.at),
        **answer,
        **json.pick(result, "expression=model.expression", "converted"),
        "cache": cache(result.cache),
        "processors": result.processors,
        "inputs": {name: input_(each) for name, each in result.inputs.items()},
        **json.pick(result.model, *shown.STATEMENTS),
        "notes": shown.notes(result),
        "data": result.data,
    }


def input_(given: Input) -> dict[str, Any]:
    """An input; `from` is derived, executed or declared, or given for Z and L."""
    return json.pick(given, "lower=amount.lower", "upper=amount.upper", "from=origin")


def cache(used: CacheUsed | None) -> dict[str, Any] | None:
    """The cache that io is of."""
    if used is None:
        return None
    return {**json.pick(used, "Z=words", "L=line", "policy"), "assumed": used.origin == "assumed"}


def _numbers(result: EnergyResult) -> dict[str, Any]:
    estimate = result.estimate
    assert estimate is not None
    found = shown.answers(estimate)
    amounts = {name: with_unit(found[name], unit) for name, unit in shown.ANSWERS}
    if amounts["energy"] is not None:
        formulas = result.model.energy
        amounts["energy"]["terms"] = {name: _term(formulas[name], each) for name, each in estimate.terms.items()}
    defined = result.model.figures
    return {
        **amounts,
        **json.pick(estimate, "binds", "margin"),
        "figures": {
            name: {**_term(defined[name].formula, each), "unit": defined[name].unit}
            for name, each in estimate.figures.items()
        },
        "elasticities": {name: f"{value:.6g}" for name, value in result.elasticities.items()},
        "reasons": estimate.reasons,
        **({"levels": [_level(each) for each in by_level(estimate)]} if estimate.model.levels else {}),
        **({} if result.floor is None else {"lower_bound": floor_document(result.floor)}),
    }


def _term(formula: str, amount: Interval | Ends) -> dict[str, Any]:
    return {"formula": formula, **json.pick(amount, "lower", "upper")}


def _level(level: Level) -> dict[str, Any]:
    """What a level serves, fetches and takes; null of slow memory, or where the machine does not say it."""
    sizes = json.pick(level, "capacity", "line", "share")
    return {
        "level": level.name,
        **{name: None if each is None else exact(each) for name, each in sizes.items()},
        **json.pick(level, "served", "misses", "bytes", "time", "energy"),
    }


def floor_document(floor: EnergyFloor) -> dict[str, Any]:
    """What any algorithm of the same problem takes at least, in base units."""
    found = {name: floor.estimate.by(name) for name in ("energy", "time")}
    return {
        "any": floor.any,
        **{name: None if each is None else each.lower for name, each in found.items()},
        "inputs": {name: each.lower for name, each in floor.estimate.amounts.items()},
        "assumptions": floor.assumptions,
    }


def with_unit(amount: Interval | None, unit: str) -> dict[str, Any] | None:
    """Both ends of an amount."""
    return None if amount is None else {**json.pick(amount, "lower", "upper"), "unit": unit}


def _symbols(result: EnergyResult, symbolic: SymbolicEnergy) -> dict[str, Any]:
    terms = {name: _term(result.model.energy[name], each) for name, each in symbolic.terms.items()}
    total = None
    if len(terms) == len(result.model.energy):
        low, high = (" + ".join(getattr(each, end) for each in symbolic.terms.values()) for end in ("lower", "upper"))
        total = {"lower": low, "upper": high, "unit": "J", "terms": terms}
    return {
        "time": None if symbolic.time is None else {**vars(symbolic.time), "unit": "s"},
        "energy": total,
        "power": None,
        "flops_per_joule": None,
        "energy_delay": None,
        "binds": None,
        "metrics": {
            each.name: {
                "status": each.status,
                **({"lower": None, "upper": None} if each.bounds is None else vars(each.bounds)),
                "regimes": [{"when": when, "upper": upper} for when, upper in each.regimes],
                "growth": each.growth,
            }
            for each in symbolic.metrics
        },
        "growth": symbolic.growth,
    }


def as_markdown(results: Sequence[EnergyResult], width: int) -> str:
    """A heading, a table and its notes for each result."""
    return "\n".join(markdown(document(each)) for each in results)


def as_csv(results: Sequence[EnergyResult], width: int) -> str:
    """The table; empty cells are what is not known, terms are columns of their own."""
    sizes = list(dict.fromkeys(name for each in results for name in each.at or {}))
    terms = list(dict.fromkeys(name for each in results for name in each.model.energy))
    answers = [f"{name}_{end}" for name, _ in shown.ANSWERS for end in ("lower", "upper")]
    parts = [f"{name}_{end}" for name in terms for end in ("lower", "upper")]
    head = ["algorithm", "machine", "model", *sizes, "Z", "L", *answers, *parts, "binds"]
    return json.csv_text([head, *(_csv_row(each, sizes, terms) for each in results)])


def _csv_row(result: EnergyResult, sizes: Sequence[str], terms: Sequence[str]) -> list[str]:
    at, cache, estimate = result.at or {}, result.cache, result.estimate
    head = [result.algorithm, result.machine.name, result.model.name, *(str(at.get(name, "")) for name in sizes)]
    head += ["", ""] if cache is None else [str(cache.words), str(cache.line)]
    if result.symbolic is not None:
        found = [result.symbolic.terms.get(name) for name in terms]
        texts = [end for each in found for end in (("", "") if each is None else (each.lower, each.upper))]
        return [*head, *[""] * (2 * len(shown.ANSWERS)), *texts, ""]
    assert estimate is not None
    amounts = [*shown.answers(estimate).values(), *(estimate.terms.get(name) for name in terms)]
    return [*head, *decimal_ends(amounts), estimate.binds]


def decimal_ends(amounts: Iterable[Interval | None]) -> Iterator[str]:
    """Both ends of each amount as decimals; empty where it is not known."""
    for each in amounts:
        yield from ("", "") if each is None else (decimal(each.lower), decimal(each.upper))


def decimal(value: Fraction) -> str:
    """A number as a decimal, as near as a floating-point number is."""
    try:
        return repr(float(value))
    except OverflowError:
        return shown.approximate(value, 17)


def as_latex(results: Sequence[EnergyResult], width: int) -> str:
    """The blocks."""
    return "\n".join(_align(each) for each in results)


def _align(result: EnergyResult) -> str:
    relation = r"\le" if result.model.at_most else "="
    rows = [rf"  E &{relation} {expression(shown.energy_formula(result.model).tree)}"]
    if result.symbolic is not None:
        if result.symbolic.when:
            rows.append(
                rf"  &\quad {display_text(join_phrases('where ', join_with_mark(result.symbolic.when, ' and ')))}"
            )
        for each in result.symbolic.metrics:
            assert each.ends is not None
            name, (lower, upper) = rf"\mathrm{{{each.name}}}", each.ends
            if lower is upper:
                rows.append(rf"  {name} &= {expression(upper)}")
            else:
                rows.append(rf"  {name} &\ge {expression(lower)}")
                rows.append(rf"  {name} &\le {expression(upper)}")
    else:
        estimate = result.estimate
        assert estimate is not None
        for name, amount in estimate.terms.items():
            rows.append(rf"  E_{{\text{{{name}}}}} &= {_amount(format_amount(amount, 'J'))}")
        for name, unit in shown.ANSWERS:
            found = shown.answers(estimate)[name]
            if found is not None:
                rows.append(rf"  \text{{{name.replace('_', ' ')}}} &= {_amount(format_amount(found, unit))}")
    return "\n".join([f"% {shown.heading(result)}", r"\begin{align*}", " \\\\\n".join(rows), r"\end{align*}"]) + "\n"


def _amount(text: str) -> str:
    """`4.213 mJ` with its unit upright, and bounds as a range."""
    return rf"\text{{{escape_text(text.replace(' .. ', ' to '))}}}"
