"""Render the page, the JSON, the machine file and the fitted parameters of a machine."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from json import dumps
from typing import Any

from archline.energy.drafts import Draft
from archline.energy.estimates import apply_model
from archline.energy.fitting import MAX_CONDITION, Fit, get_quantity_definition
from archline.energy.machines import Machine, Quantity
from archline.energy.model import Model
from archline.energy.quantities import LEVEL_QUANTITIES, LEVELS, QUANTITIES
from archline.energy.units import format_si, parse_unit
from archline.expr.text import format_expression
from archline.language.diagnostics import format_count
from archline.report.json import VERSION, pick
from archline.report.layout import Columns, Indented, align_table, render_block, render_page, wrap

SCIENTIFIC_NUMBER = re.compile(r"[\d.]+[eE]")
"""The start of a number in scientific notation, which is shown with an SI prefix instead."""


def format_machine_list(machines: Sequence[Machine], models: Sequence[Model], width: int) -> str:
    """Return a line for each machine, with the models that it has all quantities for; others are named below them."""
    rows = [
        [machine.name, machine.collection, machine.title, ", ".join(find_feasible_models(machine, models))]
        for machine in machines
    ]
    shown = [["machine", "source", "title", "models"], *(row for row in rows if row[-1])]
    notes = (
        "A machine with `@` has variants: `archline machines NAME` lists them. `--parameter NAME=VALUE` gives a "
        "quantity that a model needs and a machine lacks. These lack quantities of every model: "
        f"{', '.join(row[0] for row in rows if not row[-1])}."
    )
    return "\n".join([*align_table(shown, width), "", *wrap(notes, width)]) + "\n"


def find_feasible_models(machine: Machine, models: Sequence[Model]) -> list[str]:
    """Return the models for which the machine has all quantities, given or converted."""
    return [model.name for model in models if not apply_model(model, machine).missing_quantities]


def render_machine_page(machine: Machine, models: Sequence[Model], width: int) -> str:
    """Return every number of a machine with its kind and source, the quantities that models lack, and the notes."""
    sources = list(
        dict.fromkeys(str(quantity.source) for quantity in machine.quantities.values() if str(quantity.source))
    )
    numbers = {source: f"[{number}]" for number, source in enumerate(sources, 1)}
    rows = [["quantity", "value", "kind", "source", "meaning"]]
    rows += [
        _make_quantity_row(quantity, numbers)
        for quantity in machine.quantities.values()
        if quantity.name[:2] not in LEVELS
    ]
    head = f"{machine.name}: {machine.title}" + (f" ({machine.year})" if machine.year is not None else "")
    levels = _make_level_rows(machine, numbers)
    plain = machine.name.partition("@")[0]
    checks = [_make_check_row(machine.quantities[name], value) for name, value in machine.checked().items()]
    return render_page(
        width,
        head,
        [Columns(rows)],
        [Columns(levels)] if len(levels) > 1 else [],
        ["models", Indented([Columns([_make_model_row(machine, model) for model in models])])],
        [["variants: " + ", ".join(f"{plain}@{variant}" for variant in machine.variants)]] if machine.variants else [],
        ["given numbers that can also be computed from others", Indented([Columns(checks)])] if checks else [],
        ["sources", Indented(f"{numbers[source]} {source}" for source in sources)],
        ["notes", Indented(machine.notes)] if machine.notes else [],
    )


def _make_quantity_row(quantity: Quantity, numbers: Mapping[str, str]) -> list[str]:
    meaning = f"{quantity.meaning} ({quantity.scope})" if quantity.scope else quantity.meaning
    return [quantity.name, _format_quantity(quantity), quantity.kind, numbers.get(str(quantity.source), ""), meaning]


def _format_quantity(quantity: Quantity) -> str:
    value = quantity.as_written
    if quantity.formula is not None or SCIENTIFIC_NUMBER.match(value):
        value = format_si(quantity.value, "" if quantity.unit == "1" else quantity.unit)
    written = value.partition(" ")[2]
    if quantity.formula is not None:
        value += f" = {quantity.as_written}"
    if quantity.doubling is not None:
        value += f", {'doubles' if quantity.doubling > 0 else 'halves'} in {float(abs(quantity.doubling)):g} years"
    if quantity.error is not None:
        value += f" +- {_format_error(quantity, written)}" + (" (standard error)" if quantity.kind == "fitted" else "")
    return value


def _make_level_rows(machine: Machine, numbers: Mapping[str, str]) -> list[list[str]]:
    """Return a row for each level of caches with the known values, their kind and source."""
    quantities = machine.quantities
    held = {level: [quantities.get(f"{level}_{name}") for name in LEVEL_QUANTITIES] for level in LEVELS}

    def format_cell(quantity: Quantity | None) -> str:
        return (
            "-"
            if quantity is None
            else f"{_format_quantity(quantity)} ({quantity.kind}) {numbers.get(str(quantity.source), '')}".rstrip()
        )

    rows = [[level, *map(format_cell, row)] for level, row in held.items() if any(row)]
    return [["level", *(f"{name} by cores" if name == "shared" else name for name in LEVEL_QUANTITIES)], *rows]


def _format_error(quantity: Quantity, written: str) -> str:
    """Return the error of a number in the unit in which the number is written."""
    assert quantity.error is not None
    unit = parse_unit(written or "1")
    return (
        f"{float(quantity.error / unit.factor):.4g} {written}".rstrip()
        if unit
        else format_si(quantity.error, quantity.unit)
    )


def _make_model_row(machine: Machine, model: Model) -> list[str]:
    """Return a model with the quantities that the machine lacks for it, and the answers that do not need these."""
    on = apply_model(model, machine)
    lacking = {"time": on.list_missing_quantities("time"), "energy": on.list_missing_quantities(*model.energy)}
    answers = [name for name, missing in lacking.items() if not missing]
    if on.missing_quantities or len(answers) == len(lacking):
        return [
            model.name,
            f"lacks {', '.join(on.missing_quantities)}" if on.missing_quantities else "has all required quantities",
        ]
    rest = (f"{name} lacks {', '.join(missing)}" for name, missing in lacking.items() if missing)
    return [model.name, "; ".join([*answers, *rest])]


def _make_check_row(quantity: Quantity, value: Any) -> list[str]:
    """Return a row that compares a given quantity with the `value` of its `check`, a formula of other quantities."""
    assert quantity.check is not None
    apart = (
        "equal" if value == quantity.value else f"{float(100 * (quantity.value / value - 1)):+.2g} %" if value else "-"
    )
    unit = "" if quantity.unit == "1" else quantity.unit
    return [
        quantity.name,
        format_si(quantity.value, unit),
        f"{format_expression(quantity.check)} = {format_si(value, unit)}",
        apart,
    ]


def make_json_document(machine: Machine, models: Sequence[Model]) -> dict[str, Any]:
    """Return a machine for JSON; values are exact, in base units."""
    return {
        "version": 2,
        "machine": machine.name,
        "collection": machine.collection,
        "title": machine.title,
        "processor": machine.processor,
        "notes": machine.notes,
        "variants": machine.variants,
        "year": machine.year,
        "models": find_feasible_models(machine, models),
        "quantities": {quantity.name: _make_quantity_document(quantity) for quantity in machine.quantities.values()},
    }


def _make_quantity_document(quantity: Quantity) -> dict[str, Any]:
    return {
        "value": quantity.value,
        "unit": quantity.unit,
        "as_written": quantity.as_written,
        "kind": quantity.kind,
        "meaning": quantity.meaning,
        "from": quantity.as_written if quantity.formula is not None else None,
        "error": quantity.error,
        "source": quantity.source,
    }


_LOOKUP_HINTS = {
    "simd": ": 4 in vectors of 128 bits, 16 in 512",
    "flop_per_cycle": ": 2 with one unit for fused multiply-adds, 4 with two",
    "peak": " in double precision",
    "bandwidth": ": channels * 8 B * transfers a second, of GPUs 2 * clock * bits of the bus / 8",
    "line": ": `lscpu -C` prints them",
    "L1_capacity": ": `lscpu -B` prints all of them, `lscpu -C` one",
}


def render_toml(head: Mapping[str, object], tables: Mapping[str, Mapping[str, str]]) -> str:
    """Return a machine file with the keys `head`, and a table of keys for each quantity: `peak`, `peak@single`."""
    lines = _format_toml_keys(head)
    for name, keys in tables.items():
        lines += ["", *_list_toml_lines(name, keys)]
    return "\n".join(lines) + "\n"


def _list_toml_lines(name: str, keys: Mapping[str, str]) -> list[str]:
    plain, _, variant = name.partition("@")
    level, _, of_level = plain.partition("_")
    path = ("level", level, "quantity", of_level) if level in LEVELS else ("quantity", plain)
    return [f"[{'.'.join((*(('variant', variant) if variant else ()), *path))}]", *_format_toml_keys(keys)]


def _format_toml_keys(keys: Mapping[str, object]) -> list[str]:
    """Return a line for each key; strings and lists in JSON are valid TOML."""
    return [f"{key} = {dumps(value, ensure_ascii=False)}" for key, value in keys.items()]


def render_draft(listing: Draft, name: str) -> str:
    """Return a machine file with the values of a listing; tables of missing values are in comments, to be completed."""
    text = (
        f"# A draft of {name}.toml from {listing.listing}. Quantities that are not in it are at the end:\n"
        "# replace each ? by the number and its source, and remove the #: before the lines.\n"
    )
    text += render_toml(
        {"title": listing.processor, **({"notes": listing.notes} if listing.notes else {})}, listing.stated
    )
    for name_of_quantity in listing.lacking:
        definition = QUANTITIES[name_of_quantity]
        text += f"\n# {name_of_quantity}: {definition.meaning}{_LOOKUP_HINTS.get(name_of_quantity, '')}\n"
        kind = "peak" if definition.unit.endswith("/s") else "rated"
        keys = {"value": "?", "unit": definition.unit, "kind": kind, "source": "?"}
        if name_of_quantity == "peak" and "flop_per_cycle" in listing.lacking:
            keys = {"from": "cores*simd*flop_per_cycle*frequency/2", "unit": definition.unit}
        text += "".join(f"#: {line}\n" for line in _list_toml_lines(name_of_quantity, keys))
    return text


BYTES_PER_WORD = {"half": 2, "single": 4, "double": 8}


def make_fit_document(fit: Fit) -> dict[str, Any]:
    """Return the JSON document of `archline fit`."""
    return {
        "version": VERSION,
        **pick(fit, "model", "parameters", "condition"),
        "residuals": {**fit.residuals, "runs": fit.data.runs, "repeated": fit.data.repeated},
        "rates": {
            name: {"value": value, "unit": get_quantity_definition(name).unit} for name, value in fit.rates.items()
        },
    }


def render_fit(fit: Fit, width: int) -> str:
    """Return the parameters with their 95 % intervals, and the quality of the fit."""
    from scipy.special import stdtrit

    # Quantile of Student's t, with the degrees of freedom of the fit.
    standard_errors = float(stdtrit(fit.data.runs - len(fit.parameters), 0.975))
    rows = [["parameter", "value", "95 % interval", "meaning"]]
    for name, parameter in fit.parameters.items():
        margin = standard_errors * parameter.standard_error
        share = f" ({100 * margin / parameter.value:.2g} %)" if parameter.value else ""
        rows.append(
            [
                name,
                _format_si(name, parameter.value),
                f"+- {_format_si(name, margin, 2)}{share}",
                get_quantity_definition(name).meaning,
            ]
        )
    repeated = f" ({format_count(fit.data.repeated, 'repeated one')} left out)" if fit.data.repeated else ""
    title = f"{fit.data.source}: model {fit.model}, {fit.data.runs} runs{repeated}"
    spread, largest = (100 * fit.residuals[name] for name in ("root_mean_square", "largest"))
    rates = ", ".join(f"{name} {_format_si(name, value)}" for name, value in fit.rates.items())
    stands = (
        f"condition number {fit.condition:.3g} ({MAX_CONDITION:g} at most); errors of the energies {spread:.2g} % "
        f"(root mean square), {largest:.2g} % at most",
        *([f"largest rates seen: {rates}"] if rates else ()),
    )
    return (
        render_page(width, [(title,)], [Columns(rows)])
        + "\n"
        + "".join(f"{line}\n" for line in render_block(stands, width))
    )


def _format_si(name: str, value: float, digits: int = 4) -> str:
    return format_si(Fraction(value), get_quantity_definition(name).unit, digits)


def render_fitted_machine(fit: Fit, title: str) -> str:
    """Return a machine file that the fit's model can use: each number with its kind, error and source."""
    variants = [name.partition("@")[2] for name in fit.parameters if "@" in name]
    source = f"fit of {fit.data.source}, {fit.data.runs} runs, condition number {fit.condition:.3g} (archline fit)"
    note_of_rates = f"the largest of {fit.data.source}, {fit.data.runs} runs"
    tables: dict[str, dict[str, str]] = {}
    for name, parameter in fit.parameters.items():
        tables[name] = _make_quantity_table(f"{parameter.value:.9g}", parameter.unit, "fitted", source)
        tables[name]["error"] = f"{parameter.standard_error:.3g}"
    for name, value in fit.rates.items():
        tables[name] = _make_quantity_table(
            f"{value:.9g}", get_quantity_definition(name).unit, "measured", note_of_rates
        )
        time = name.replace("peak_sustained", "tau_flop").replace("bandwidth_sustained", "tau_mem")
        tables[time] = {"from": f"1/{name.partition('@')[0]}", "unit": get_quantity_definition(time).unit}
    for variant in variants or [""] if fit.rates else []:
        note = f"{variant} precision" if variant else "double precision, as the measurements name none"
        name = f"word@{variant}" if variant else "word"
        tables[name] = _make_quantity_table(str(BYTES_PER_WORD[variant or "double"]), "B/word", "definition", note)
    return render_toml({"title": title, **({"default_variant": variants[0]} if variants else {})}, tables)


def _make_quantity_table(value: str, unit: str, kind: str, note: str) -> dict[str, str]:
    return {"value": value, "unit": unit, "kind": kind, "source.note": note}
