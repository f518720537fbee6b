"""Fitted parameters: as text, for JSON, and as a machine file."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from archline.energy.fitting import MAX_CONDITION, Fit, definition
from archline.energy.units import format_si
from archline.language.diagnostics import counted
from archline.report.json import VERSION
from archline.report.layout import Columns, block_lines, page
from archline.report.machine_files import toml

BYTES = {"half": 2, "single": 4, "double": 8}


def document(fit: Fit) -> dict[str, Any]:
    """`archline fit --format json`."""
    return {
        "version": VERSION,
        "model": fit.model,
        "parameters": {name: vars(each) for name, each in fit.parameters.items()},
        "condition": fit.condition,
        "residuals": {**fit.residuals, "runs": fit.data.runs, "repeated": fit.data.repeated},
        "rates": {name: {"value": value, "unit": definition(name).unit} for name, value in fit.rates.items()},
    }


def render(fit: Fit, width: int) -> str:
    """The parameters with their 95 % intervals, and how well the fit stands."""
    from scipy.special import stdtrit

    # Of Student's t, with as many degrees as runs are left over.
    standard_errors = float(stdtrit(fit.data.runs - len(fit.parameters), 0.975))
    rows = [["parameter", "value", "95 % interval", "meaning"]]
    for name, each in fit.parameters.items():
        margin = standard_errors * each.standard_error
        share = f" ({100 * margin / each.value:.2g} %)" if each.value else ""
        rows.append([name, _si(name, each.value), f"+- {_si(name, margin, 2)}{share}", definition(name).meaning])
    repeated = f" ({counted(fit.data.repeated, 'repeated one')} left out)" if fit.data.repeated else ""
    title = f"{fit.data.source}: model {fit.model}, {fit.data.runs} runs{repeated}"
    spread, largest = (100 * fit.residuals[name] for name in ("root_mean_square", "largest"))
    seen = ", ".join(f"{name} {_si(name, value)}" for name, value in fit.rates.items())
    stands = (
        f"condition number {fit.condition:.3g} ({MAX_CONDITION:g} at most); errors of the energies {spread:.2g} % "
        f"(root mean square), {largest:.2g} % at most",
        *([f"largest rates seen: {seen}"] if seen else ()),
    )
    return page(width, [(title,)], [Columns(rows)]) + "\n" + "".join(f"{line}\n" for line in block_lines(stands, width))


def _si(name: str, value: float, digits: int = 4) -> str:
    return format_si(Fraction(value), definition(name).unit, digits)


def machine(fit: Fit, title: str) -> str:
    """A machine file that the fit's model can use: each number with its kind, error and source."""
    variants = [name.partition("@")[2] for name in fit.parameters if "@" in name]
    source = f"fit of {fit.data.source}, {fit.data.runs} runs, condition number {fit.condition:.3g} (archline fit)"
    seen = f"the largest of {fit.data.source}, {fit.data.runs} runs"
    tables: dict[str, dict[str, str]] = {}
    for name, each in fit.parameters.items():
        tables[name] = _quantity(f"{each.value:.9g}", each.unit, "fitted", source)
        tables[name]["error"] = f"{each.standard_error:.3g}"
    for name, value in fit.rates.items():
        tables[name] = _quantity(f"{value:.9g}", definition(name).unit, "measured", seen)
        time = name.replace("peak_sustained", "tau_flop").replace("bandwidth_sustained", "tau_mem")
        tables[time] = {"from": f"1/{name.partition('@')[0]}", "unit": definition(time).unit}
    for variant in variants or [""] if fit.rates else []:
        note = f"{variant} precision" if variant else "double precision, as the measurements name none"
        name = f"word@{variant}" if variant else "word"
        tables[name] = _quantity(str(BYTES[variant or "double"]), "B/word", "definition", note)
    return toml({"title": title, **({"default_variant": variants[0]} if variants else {})}, tables)


def _quantity(value: str, unit: str, kind: str, note: str) -> dict[str, str]:
    return {"value": value, "unit": unit, "kind": kind, "source.note": note}
