"""Machines, as text and for JSON; machine files, and parameters that are fitted."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from json import dumps
from typing import Any

from archline.energy.drafts import Draft
from archline.energy.estimates import apply_model
from archline.energy.fitting import MAX_CONDITION, Fit, find_definition
from archline.energy.machines import Machine, Quantity
from archline.energy.model import Model
from archline.energy.quantities import LEVELS, OF_LEVEL, QUANTITIES
from archline.energy.units import format_si, parse_unit
from archline.expr.text import format_expression
from archline.language.diagnostics import format_count
from archline.report.json import VERSION, pick
from archline.report.layout import Columns, Indented, block_lines, page, table, wrap

POWER_OF_TEN = re.compile(r"[\d.]+[eE]")
"""A number as it is written that is shown with a prefix of SI."""


def listed(machines: Sequence[Machine], models: Sequence[Model], width: int) -> str:
    """One line a machine, with the models that it feeds; those that feed none by their names alone."""
    rows = [[each.name, each.collection, each.title, ", ".join(feasible_models(each, models))] for each in machines]
    shown = [["machine", "source", "title", "models"], *(row for row in rows if row[-1])]
    notes = (
        "A machine with `@` has variants: `archline machines NAME` lists them. `--parameter NAME=VALUE` gives what a "
        f"model needs and a machine lacks. These feed none alone: {', '.join(row[0] for row in rows if not row[-1])}."
    )
    return "\n".join([*table(shown, width), "", *wrap(notes, width)]) + "\n"


def feasible_models(machine: Machine, models: Sequence[Model]) -> list[str]:
    """The models for which the machine has all quantities, given or converted."""
    return [model.name for model in models if not apply_model(model, machine).missing]


def machine_page(machine: Machine, models: Sequence[Model], width: int) -> str:
    """Every number of a machine with its kind and source, what each model lacks, and the notes."""
    sources = list(dict.fromkeys(str(each.source) for each in machine.quantities.values() if str(each.source)))
    numbers = {source: f"[{number}]" for number, source in enumerate(sources, 1)}
    rows = [["quantity", "value", "kind", "source", "meaning"]]
    rows += [_row(each, numbers) for each in machine.quantities.values() if each.name[:2] not in LEVELS]
    head = f"{machine.name}: {machine.title}" + (f" ({machine.year})" if machine.year is not None else "")
    levels = _levels(machine, numbers)
    plain = machine.name.partition("@")[0]
    checks = [_check(machine.quantities[name], value) for name, value in machine.checked().items()]
    return page(
        width,
        head,
        [Columns(rows)],
        [Columns(levels)] if len(levels) > 1 else [],
        ["models", Indented([Columns([_feeds(machine, each) for each in models])])],
        [["variants: " + ", ".join(f"{plain}@{each}" for each in machine.variants)]] if machine.variants else [],
        ["printed numbers that also follow from others", Indented([Columns(checks)])] if checks else [],
        ["sources", Indented(f"{numbers[source]} {source}" for source in sources)],
        ["notes", Indented(machine.notes)] if machine.notes else [],
    )


def _row(each: Quantity, numbers: Mapping[str, str]) -> list[str]:
    meaning = f"{each.meaning} ({each.scope})" if each.scope else each.meaning
    return [each.name, _value(each), each.kind, numbers.get(str(each.source), ""), meaning]


def _value(each: Quantity) -> str:
    value = each.as_written
    if each.formula is not None or POWER_OF_TEN.match(value):
        value = format_si(each.value, "" if each.unit == "1" else each.unit)
    written = value.partition(" ")[2]
    if each.formula is not None:
        value += f" = {each.as_written}"
    if each.doubling is not None:
        value += f", {'doubles' if each.doubling > 0 else 'halves'} in {float(abs(each.doubling)):g} years"
    if each.error is not None:
        value += f" +- {_margin(each, written)}" + (" (standard error)" if each.kind == "fitted" else "")
    return value


def _levels(machine: Machine, numbers: Mapping[str, str]) -> list[list[str]]:
    """A row for each level of caches: what is known of it, with kind and source."""
    known = machine.quantities
    held = {level: [known.get(f"{level}_{name}") for name in OF_LEVEL] for level in LEVELS}

    def cell(each: Quantity | None) -> str:
        return "-" if each is None else f"{_value(each)} ({each.kind}) {numbers.get(str(each.source), '')}".rstrip()

    rows = [[level, *map(cell, row)] for level, row in held.items() if any(row)]
    return [["level", *(f"{name} by cores" if name == "shared" else name for name in OF_LEVEL)], *rows]


def _margin(each: Quantity, written: str) -> str:
    """The error of a number, in the unit in which that is written."""
    assert each.error is not None
    unit = parse_unit(written or "1")
    return f"{float(each.error / unit.factor):.4g} {written}".rstrip() if unit else format_si(each.error, each.unit)


def _feeds(machine: Machine, model: Model) -> list[str]:
    """What the machine lacks for the model, and which of its answers there are without that."""
    on = apply_model(model, machine)
    lacking = {"time": on.lacking("time"), "energy": on.lacking(*model.energy)}
    answers = [name for name, each in lacking.items() if not each]
    if on.missing or len(answers) == len(lacking):
        return [model.name, f"lacks {', '.join(on.missing)}" if on.missing else "has all required quantities"]
    rest = (f"{name} lacks {', '.join(each)}" for name, each in lacking.items() if each)
    return [model.name, "; ".join([*answers, *rest])]


def _check(each: Quantity, value: Any) -> list[str]:
    assert each.check is not None
    apart = "equal" if value == each.value else f"{float(100 * (each.value / value - 1)):+.2g} %" if value else "-"
    unit = "" if each.unit == "1" else each.unit
    return [
        each.name,
        format_si(each.value, unit),
        f"{format_expression(each.check)} = {format_si(value, unit)}",
        apart,
    ]


def document(machine: Machine, models: Sequence[Model]) -> dict[str, Any]:
    """A machine for JSON; values are exact, in base units."""
    return {
        "version": 2,
        "machine": machine.name,
        "collection": machine.collection,
        "title": machine.title,
        "processor": machine.processor,
        "notes": machine.notes,
        "variants": machine.variants,
        "year": machine.year,
        "models": feasible_models(machine, models),
        "quantities": {each.name: _quantity(each) for each in machine.quantities.values()},
    }


def _quantity(each: Quantity) -> dict[str, Any]:
    return {
        "value": each.value,
        "unit": each.unit,
        "as_written": each.as_written,
        "kind": each.kind,
        "meaning": each.meaning,
        "from": each.as_written if each.formula is not None else None,
        "error": each.error,
        "source": each.source,
    }


_HOW = {
    "simd": ": 4 in vectors of 128 bits, 16 in 512",
    "flop_per_cycle": ": 2 with one unit for fused multiply-adds, 4 with two",
    "peak": " in double precision",
    "bandwidth": ": channels * 8 B * transfers a second, of GPUs 2 * clock * bits of the bus / 8",
    "line": ": `lscpu -C` prints them",
    "L1_capacity": ": `lscpu -B` prints all of them, `lscpu -C` one",
}


def toml(head: Mapping[str, object], tables: Mapping[str, Mapping[str, str]]) -> str:
    """A file of these keys and tables, by the names of quantities: `peak`, `peak@single`."""
    lines = _lines(head)
    for name, keys in tables.items():
        lines += ["", *_toml_table(name, keys)]
    return "\n".join(lines) + "\n"


def _toml_table(name: str, keys: Mapping[str, str]) -> list[str]:
    plain, _, variant = name.partition("@")
    level, _, of_level = plain.partition("_")
    path = ("level", level, "quantity", of_level) if level in LEVELS else ("quantity", plain)
    return [f"[{'.'.join((*(('variant', variant) if variant else ()), *path))}]", *_lines(keys)]


def _lines(keys: Mapping[str, object]) -> list[str]:
    """Strings and lists in JSON are those of TOML."""
    return [f"{key} = {dumps(value, ensure_ascii=False)}" for key, value in keys.items()]


def draft(found: Draft, name: str) -> str:
    """A machine file with what a listing says; what it lacks is there as comments that become tables."""
    text = (
        f"# A draft of {name}.toml from {found.listing}. What that does not say is at the end:\n"
        "# write the numbers in place of ?, say where they are from, and take away the #: before the lines.\n"
    )
    text += toml({"title": found.processor, **({"notes": found.notes} if found.notes else {})}, found.stated)
    for each in found.lacking:
        known = QUANTITIES[each]
        text += f"\n# {each}: {known.meaning}{_HOW.get(each, '')}\n"
        kind = "peak" if known.unit.endswith("/s") else "rated"
        keys = {"value": "?", "unit": known.unit, "kind": kind, "source": "?"}
        if each == "peak" and "flop_per_cycle" in found.lacking:
            keys = {"from": "cores*simd*flop_per_cycle*frequency/2", "unit": known.unit}
        text += "".join(f"#: {line}\n" for line in _toml_table(each, keys))
    return text


BYTES = {"half": 2, "single": 4, "double": 8}


def fit_document(fit: Fit) -> dict[str, Any]:
    """`archline fit --format json`."""
    return {
        "version": VERSION,
        **pick(fit, "model", "parameters", "condition"),
        "residuals": {**fit.residuals, "runs": fit.data.runs, "repeated": fit.data.repeated},
        "rates": {name: {"value": value, "unit": find_definition(name).unit} for name, value in fit.rates.items()},
    }


def fit_text(fit: Fit, width: int) -> str:
    """The parameters with their 95 % intervals, and how well the fit stands."""
    from scipy.special import stdtrit

    # Of Student's t, with as many degrees as runs are left over.
    standard_errors = float(stdtrit(fit.data.runs - len(fit.parameters), 0.975))
    rows = [["parameter", "value", "95 % interval", "meaning"]]
    for name, each in fit.parameters.items():
        margin = standard_errors * each.standard_error
        share = f" ({100 * margin / each.value:.2g} %)" if each.value else ""
        rows.append(
            [
                name,
                _format_si(name, each.value),
                f"+- {_format_si(name, margin, 2)}{share}",
                find_definition(name).meaning,
            ]
        )
    repeated = f" ({format_count(fit.data.repeated, 'repeated one')} left out)" if fit.data.repeated else ""
    title = f"{fit.data.source}: model {fit.model}, {fit.data.runs} runs{repeated}"
    spread, largest = (100 * fit.residuals[name] for name in ("root_mean_square", "largest"))
    seen = ", ".join(f"{name} {_format_si(name, value)}" for name, value in fit.rates.items())
    stands = (
        f"condition number {fit.condition:.3g} ({MAX_CONDITION:g} at most); errors of the energies {spread:.2g} % "
        f"(root mean square), {largest:.2g} % at most",
        *([f"largest rates seen: {seen}"] if seen else ()),
    )
    return page(width, [(title,)], [Columns(rows)]) + "\n" + "".join(f"{line}\n" for line in block_lines(stands, width))


def _format_si(name: str, value: float, digits: int = 4) -> str:
    return format_si(Fraction(value), find_definition(name).unit, digits)


def fitted_machine(fit: Fit, title: str) -> str:
    """A fitted_machine file that the fit's model can use: each number with its kind, error and source."""
    variants = [name.partition("@")[2] for name in fit.parameters if "@" in name]
    source = f"fit of {fit.data.source}, {fit.data.runs} runs, condition number {fit.condition:.3g} (archline fit)"
    seen = f"the largest of {fit.data.source}, {fit.data.runs} runs"
    tables: dict[str, dict[str, str]] = {}
    for name, each in fit.parameters.items():
        tables[name] = _entry(f"{each.value:.9g}", each.unit, "fitted", source)
        tables[name]["error"] = f"{each.standard_error:.3g}"
    for name, value in fit.rates.items():
        tables[name] = _entry(f"{value:.9g}", find_definition(name).unit, "measured", seen)
        time = name.replace("peak_sustained", "tau_flop").replace("bandwidth_sustained", "tau_mem")
        tables[time] = {"from": f"1/{name.partition('@')[0]}", "unit": find_definition(time).unit}
    for variant in variants or [""] if fit.rates else []:
        note = f"{variant} precision" if variant else "double precision, as the measurements name none"
        name = f"word@{variant}" if variant else "word"
        tables[name] = _entry(str(BYTES[variant or "double"]), "B/word", "definition", note)
    return toml({"title": title, **({"default_variant": variants[0]} if variants else {})}, tables)


def _entry(value: str, unit: str, kind: str, note: str) -> dict[str, str]:
    return {"value": value, "unit": unit, "kind": kind, "source.note": note}
