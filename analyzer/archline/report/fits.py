"""Fitted parameters: as text, for JSON, and as a machine file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from json import dumps
from typing import Any

from archline.energy.fitting import MAX_CONDITION, Fit
from archline.energy.quantities import QUANTITIES
from archline.energy.units import format_si
from archline.report.json import VERSION
from archline.report.layout import indented, table, wrap

BYTES = {"half": 2, "single": 4, "double": 8}


def interval(fit: Fit) -> float:
    """Standard errors on either side of a 95 % interval: of Student's t, with as many degrees as runs are left over."""
    from scipy.special import stdtrit

    return float(stdtrit(fit.runs - len(fit.parameters), 0.975))


def document(fit: Fit) -> dict[str, Any]:
    """`archline fit --format json`."""
    parameters = {
        name: {"value": each.value, "standard_error": each.standard_error, "unit": each.unit}
        for name, each in fit.parameters.items()
    }
    residuals = {**fit.residuals, "runs": fit.runs}
    rates = {name: {"value": value, "unit": _unit(name)} for name, value in fit.rates.items()}
    return {
        "version": VERSION,
        "model": fit.model,
        "parameters": parameters,
        "condition": fit.condition,
        "residuals": residuals,
        "rates": rates,
    }


def render(fit: Fit, width: int) -> str:
    """The parameters with their 95 % intervals, and how well the fit stands."""
    rows, width_of = [["parameter", "value", "95 % interval", "meaning"]], interval(fit)
    for name, each in fit.parameters.items():
        margin = width_of * each.standard_error
        share = f" ({100 * margin / each.value:.2g} %)" if each.value else ""
        meaning = QUANTITIES[name.partition("@")[0]].meaning
        rows.append([name, _si(each.value, each.unit), f"+- {_si(margin, each.unit, 2)}{share}", meaning])
    lines = [f"{fit.source}: model {fit.model}, {fit.runs} runs", "", *indented(table(rows, width - 2)), ""]
    spread, largest = (100 * fit.residuals[name] for name in ("root_mean_square", "largest"))
    lines += wrap(
        f"condition number {fit.condition:.3g} ({MAX_CONDITION:g} at most); errors of the energies {spread:.2g} % "
        f"(root mean square), {largest:.2g} % at most",
        width,
    )
    if fit.rates:
        seen = ", ".join(f"{name} {_si(value, _unit(name))}" for name, value in fit.rates.items())
        lines += wrap(f"largest rates seen: {seen}", width, "  ")
    return "\n".join(lines) + "\n"


def _si(value: float, unit: str, digits: int = 4) -> str:
    return format_si(Fraction(value), unit, digits)


def _unit(name: str) -> str:
    return QUANTITIES[name.partition("@")[0]].unit


def machine(fit: Fit, title: str) -> str:
    """A machine file that the fit's model can use: each number with its kind, error and source."""
    lines = [f"title = {dumps(title)}"]
    named = [each for each in fit.precisions if each]
    if named:
        lines.append(f"default_variant = {dumps('double' if 'double' in named else named[0])}")
    source = f"fit of {fit.source}, {fit.runs} runs, condition number {fit.condition:.3g} (archline fit)"
    for name, each in fit.parameters.items():
        more = {"error": f"{each.standard_error:.3g}"}
        lines += _quantity(name, f"{each.value:.9g}", each.unit, "fitted", source, more)
    for name, value in fit.rates.items():
        seen = f"the largest of {fit.source}, {fit.runs} runs"
        lines += _quantity(name, f"{value:.9g}", _unit(name), "measured", seen, {})
        time = name.replace("peak_sustained", "tau_flop").replace("bandwidth_sustained", "tau_mem")
        lines += ["", f"[{_table(time)}]", f'from = "1/{name.partition("@")[0]}"', f"unit = {dumps(_unit(time))}"]
    if fit.rates:
        for precision in named or [""]:
            note = f"{precision or 'double'} precision" + ("" if precision else ", as the measurements name none")
            name = f"word@{precision}" if precision else "word"
            lines += _quantity(name, str(BYTES[precision or "double"]), "B/word", "definition", note, {})
    return "\n".join(lines) + "\n"


def _quantity(name: str, value: str, unit: str, kind: str, source: str, more: Mapping[str, str]) -> Iterator[str]:
    yield from ("", f"[{_table(name)}]", f"value = {dumps(value)}", f"unit = {dumps(unit)}", f"kind = {dumps(kind)}")
    yield f"source = {{ note = {dumps(source, ensure_ascii=False)} }}"
    yield from (f"{key} = {dumps(text)}" for key, text in more.items())


def _table(name: str) -> str:
    plain, _, variant = name.partition("@")
    return f"variant.{variant}.quantity.{plain}" if variant else f"quantity.{plain}"
