"""Energies as Markdown: a table for a README or a pull request."""

from __future__ import annotations

from collections.abc import Sequence

from archline.energy.results import EnergyResult
from archline.report.energies import shown


def render(results: Sequence[EnergyResult], width: int) -> str:
    """A heading, a table and its notes for each result."""
    return "\n".join(_one(each) for each in results)


def _one(result: EnergyResult) -> str:
    lines = [f"### {shown.heading(result)}", ""]
    if result.symbolic is not None:
        lines += ["| term | formula | growth |", "| --- | --- | --- |"]
        growth = result.symbolic.growth
        rows = [*result.model.energy.items(), ("energy", result.model.expression)]
        lines += [f"| {name} | `{text}` | {_code(growth.get(name, ''))} |" for name, text in rows]
        lines += ["", "| metric | status | lower | upper |", "| --- | --- | --- | --- |"]
        for each in result.symbolic.metrics:
            assert each.bounds is not None
            lines.append(f"| {each.name} | {each.status} | `{each.bounds.lower}` | `{each.bounds.upper}` |")
    else:
        lines += ["| | amount | share | formula |", "| --- | --- | --- | --- |", *_rows(result)]
    model = result.model
    notes = [
        result.data,
        f"convention: {model.convention}",
        f"stated error: {model.error}",
        f"leaves out: {'; '.join(model.leaves_out)}",
    ]
    return "\n".join([*lines, "", *(f"- {note}" for note in notes if note)]) + "\n"


def _rows(result: EnergyResult) -> Sequence[str]:
    estimate = result.estimate
    assert estimate is not None
    shares = shown.shares(estimate.terms)
    rows = [
        f"| {name} | {each.text('J')} | {float(100 * shares[name]):.1f} % | `{result.model.energy[name]}` |"
        for name, each in estimate.terms.items()
    ]
    found = shown.answers(estimate)
    formulas = {"energy": f"`{result.model.expression}`", "time": f"`{result.model.time}`"}
    for name, unit in shown.ANSWERS:
        amount = found[name]
        text = "not known" if amount is None else amount.text(unit)
        rows.append(f"| {name.replace('_', ' ')} | {text} | | {formulas.get(name, '')} |")
    return [*rows, f"| bound by | {estimate.binds} | | |"]


def _code(text: str) -> str:
    return f"`{text}`" if text else ""
