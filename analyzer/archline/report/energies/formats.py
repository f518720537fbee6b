"""Render energies in the formats that `archline energy` prints: each is a function of this module."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from typing import Any

from archline.energy.levels import Level, iterate_levels
from archline.energy.results import CacheUsed, EnergyFloor, EnergyResult, Input, SymbolicEnergy, TextBounds
from archline.energy.units import format_amount
from archline.expr.intervals import Interval
from archline.expr.text import join_phrases, join_with_mark
from archline.numbers import format_exact
from archline.report import json
from archline.report.documents import markdown
from archline.report.energies import shown
from archline.report.energies.text import as_text, make_page
from archline.report.latex import escape_text, render_display_text, render_expression

__all__ = ["as_csv", "as_json", "as_latex", "as_markdown", "as_text"]
VERSION = 2


def as_json(results: Sequence[EnergyResult], width: int) -> str:
    """Return a JSON document of the results; amounts are in base units. `width` has no effect."""
    return json.render({"version": VERSION, "results": [_make_result_document(result) for result in results]})


def _make_result_document(result: EnergyResult) -> dict[str, Any]:
    answer = (
        _make_numeric_answers(result) if result.symbolic is None else _make_symbolic_answers(result, result.symbolic)
    )
    return {
        **json.pick(result, "algorithm", "machine=machine.name", "model=model.name"),
        "at": json.make_point_document(result.at),
        **answer,
        **json.pick(result, "expression=model.expression", "converted"),
        "cache": make_cache_document(result.cache),
        "processors": result.processors,
        "inputs": {name: make_input_document(given) for name, given in result.inputs.items()},
        **json.pick(result.model, *shown.STATEMENTS),
        "notes": shown.list_notes(result),
        "data": result.data,
    }


def make_input_document(value: Input) -> dict[str, Any]:
    """Return the JSON document of an input; its `from` is derived, executed or declared, or given for Z and L."""
    return json.pick(value, "lower=amount.lower", "upper=amount.upper", "from=origin")


def make_cache_document(used: CacheUsed | None) -> dict[str, Any] | None:
    if used is None:
        return None
    return {**json.pick(used, "Z=words", "L=line", "policy"), "assumed": used.origin == "assumed"}


def _make_numeric_answers(result: EnergyResult) -> dict[str, Any]:
    estimate = result.estimate
    assert estimate is not None
    answers = shown.collect_answers(estimate)
    amounts = {name: make_amount_document(answers[name], unit) for name, unit in shown.ANSWERS}
    if amounts["energy"] is not None:
        formulas = result.model.energy
        amounts["energy"]["terms"] = {
            name: _make_term_document(formulas[name], term) for name, term in estimate.terms.items()
        }
    defined = result.model.figures
    return {
        **amounts,
        **json.pick(estimate, "binds", "margin"),
        "figures": {
            name: {**_make_term_document(defined[name].formula, amount), "unit": defined[name].unit}
            for name, amount in estimate.figures.items()
        },
        "elasticities": {name: f"{value:.6g}" for name, value in result.elasticities.items()},
        "reasons": estimate.reasons,
        **(
            {"levels": [_make_level_document(level) for level in iterate_levels(estimate)]}
            if estimate.model.levels
            else {}
        ),
        **({} if result.floor is None else {"lower_bound": make_floor_document(result.floor)}),
    }


def _make_term_document(formula: str, amount: Interval | TextBounds) -> dict[str, Any]:
    return {"formula": formula, **json.pick(amount, "lower", "upper")}


def _make_level_document(level: Level) -> dict[str, Any]:
    """Describe the bytes that a level serves, its misses and its cost; null for unknown values and for slow memory."""
    sizes = json.pick(level, "capacity", "line", "share")
    return {
        "level": level.name,
        **{name: None if size is None else format_exact(size) for name, size in sizes.items()},
        **json.pick(level, "served", "misses", "bytes", "time", "energy"),
    }


def make_floor_document(floor: EnergyFloor) -> dict[str, Any]:
    """Return the JSON document of the lower bounds for any algorithm of the same problem, in base units."""
    costs = {name: floor.estimate.by(name) for name in ("energy", "time")}
    return {
        "any": floor.any,
        **{name: None if amount is None else amount.lower for name, amount in costs.items()},
        "inputs": {name: amount.lower for name, amount in floor.estimate.amounts.items()},
        "assumptions": floor.assumptions,
    }


def make_amount_document(amount: Interval | None, unit: str) -> dict[str, Any] | None:
    """Return the JSON document of an amount: both bounds, and the unit; None for None."""
    return None if amount is None else {**json.pick(amount, "lower", "upper"), "unit": unit}


def _make_symbolic_answers(result: EnergyResult, symbolic: SymbolicEnergy) -> dict[str, Any]:
    terms = {name: _make_term_document(result.model.energy[name], term) for name, term in symbolic.terms.items()}
    total = None
    if len(terms) == len(result.model.energy):
        low, high = (" + ".join(getattr(term, end) for term in symbolic.terms.values()) for end in ("lower", "upper"))
        total = {"lower": low, "upper": high, "unit": "J", "terms": terms}
    return {
        "time": None if symbolic.time is None else {**vars(symbolic.time), "unit": "s"},
        "energy": total,
        "power": None,
        "flops_per_joule": None,
        "energy_delay": None,
        "binds": None,
        "metrics": {
            metric.name: {
                "status": metric.status,
                **({"lower": None, "upper": None} if metric.bounds is None else vars(metric.bounds)),
                "regimes": [{"when": when, "upper": upper} for when, upper in metric.regimes],
                "growth": metric.growth,
            }
            for metric in symbolic.metrics
        },
        "growth": symbolic.growth,
    }


def as_markdown(results: Sequence[EnergyResult], width: int) -> str:
    """Return a heading, a table and its notes for each result in Markdown. `width` has no effect."""
    return "\n".join(markdown(make_page(result)) for result in results)


def as_csv(results: Sequence[EnergyResult], width: int) -> str:
    """Return a row for each result as CSV; unknown values are empty cells, and each term has a column.

    `width` has no effect.
    """
    sizes = list(dict.fromkeys(name for result in results for name in result.at or {}))
    terms = list(dict.fromkeys(name for result in results for name in result.model.energy))
    answers = [f"{name}_{end}" for name, _ in shown.ANSWERS for end in ("lower", "upper")]
    parts = [f"{name}_{end}" for name in terms for end in ("lower", "upper")]
    head = ["algorithm", "machine", "model", *sizes, "Z", "L", *answers, *parts, "binds"]
    return json.format_csv([head, *(_csv_row(result, sizes, terms) for result in results)])


def _csv_row(result: EnergyResult, sizes: Sequence[str], terms: Sequence[str]) -> list[str]:
    at, cache, estimate = result.at or {}, result.cache, result.estimate
    head = [result.algorithm, result.machine.name, result.model.name, *(str(at.get(name, "")) for name in sizes)]
    head += ["", ""] if cache is None else [str(cache.words), str(cache.line)]
    if result.symbolic is not None:
        symbolic_terms = [result.symbolic.terms.get(name) for name in terms]
        texts = [end for term in symbolic_terms for end in (("", "") if term is None else (term.lower, term.upper))]
        return [*head, *[""] * (2 * len(shown.ANSWERS)), *texts, ""]
    assert estimate is not None
    amounts = [*shown.collect_answers(estimate).values(), *(estimate.terms.get(name) for name in terms)]
    return [*head, *iterate_decimal_ends(amounts), estimate.binds]


def iterate_decimal_ends(amounts: Iterable[Interval | None]) -> Iterator[str]:
    """Yield both bounds of each amount as decimals; empty texts if unknown."""
    for amount in amounts:
        yield from ("", "") if amount is None else (format_decimal(amount.lower), format_decimal(amount.upper))


def format_decimal(value: Fraction) -> str:
    """Return a number as a decimal with the precision of a floating-point number."""
    try:
        return repr(float(value))
    except OverflowError:
        return shown.format_approximate(value, 17)


def as_latex(results: Sequence[EnergyResult], width: int) -> str:
    """Return a block of aligned equations in LaTeX for each result. `width` has no effect."""
    return "\n".join(_align_equations(result) for result in results)


def _align_equations(result: EnergyResult) -> str:
    relation = r"\le" if result.model.at_most else "="
    rows = [rf"  E &{relation} {render_expression(shown.build_energy_formula(result.model).tree)}"]
    if result.symbolic is not None:
        if result.symbolic.when:
            where = join_phrases("where ", join_with_mark(result.symbolic.when, " and "))
            rows.append(rf"  &\quad {render_display_text(where)}")
        for metric in result.symbolic.metrics:
            assert metric.ends is not None
            name, (lower, upper) = rf"\mathrm{{{metric.name}}}", metric.ends
            if lower is upper:
                rows.append(rf"  {name} &= {render_expression(upper)}")
            else:
                rows.append(rf"  {name} &\ge {render_expression(lower)}")
                rows.append(rf"  {name} &\le {render_expression(upper)}")
    else:
        estimate = result.estimate
        assert estimate is not None
        for name, amount in estimate.terms.items():
            rows.append(rf"  E_{{\text{{{name}}}}} &= {_render_amount(format_amount(amount, 'J'))}")
        for name, unit in shown.ANSWERS:
            answer = shown.collect_answers(estimate)[name]
            if answer is not None:
                rows.append(rf"  \text{{{name.replace('_', ' ')}}} &= {_render_amount(format_amount(answer, unit))}")
    return (
        "\n".join([f"% {shown.format_heading(result)}", r"\begin{align*}", " \\\\\n".join(rows), r"\end{align*}"])
        + "\n"
    )


def _render_amount(text: str) -> str:
    """Return the LaTeX of an amount such as `4.213 mJ`, with its unit upright, and bounds as a range."""
    return rf"\text{{{escape_text(text.replace(' .. ', ' to '))}}}"
