"""Machines, as text and for JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from archline.energy.machines import Machine, Quantity
from archline.energy.model import Model
from archline.energy.quantities import LEVELS, OF_LEVEL
from archline.energy.units import format_si, parse_unit
from archline.report.layout import Columns, Inside, page, table, wrap
from archline.report.numbers import exact


def listed(machines: Sequence[Machine], models: Sequence[Model], width: int) -> str:
    """One line a machine, with the models that it feeds; those that feed none by their names alone."""
    rows = [[each.name, each.collection, each.title, ", ".join(fed(each, models))] for each in machines]
    shown = [["machine", "source", "title", "models"], *(row for row in rows if row[-1])]
    notes = (
        "A machine with `@` has variants: `archline machines NAME` lists them. `--parameter NAME=VALUE` gives what a "
        f"model needs and a machine lacks. These feed none alone: {', '.join(row[0] for row in rows if not row[-1])}."
    )
    return "\n".join([*table(shown, width), "", *wrap(notes, width)]) + "\n"


def fed(machine: Machine, models: Sequence[Model]) -> list[str]:
    """The models for which the machine has all quantities, given or converted."""
    return [model.name for model in models if not model.missing(machine)]


def one(machine: Machine, models: Sequence[Model], width: int) -> str:
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
        ["models", Inside([Columns([_feeds(machine, each) for each in models])])],
        [["variants: " + ", ".join(f"{plain}@{each}" for each in machine.variants)]] if machine.variants else [],
        ["printed numbers that also follow from others", Inside([Columns(checks)])] if checks else [],
        ["sources", Inside(f"{numbers[source]} {source}" for source in sources)],
        ["notes", Inside(machine.notes)] if machine.notes else [],
    )


def _row(each: Quantity, numbers: Mapping[str, str]) -> list[str]:
    meaning = f"{each.meaning} ({each.scope})" if each.scope else each.meaning
    return [each.name, _value(each), each.kind, numbers.get(str(each.source), ""), meaning]


def _value(each: Quantity) -> str:
    value = each.as_written
    if each.formula is not None:
        value = f"{format_si(each.value, '' if each.unit == '1' else each.unit)} = {each.as_written}"
    if each.doubling is not None:
        value += f", {'doubles' if each.doubling > 0 else 'halves'} in {float(abs(each.doubling)):g} years"
    if each.error is not None:
        value += f" +- {_margin(each)}" + (" (standard error)" if each.kind == "fitted" else "")
    return value


def _levels(machine: Machine, numbers: Mapping[str, str]) -> list[list[str]]:
    """A row for each level of caches: what is known of it, with kind and source."""
    known = machine.quantities
    held = {level: [known.get(f"{level}_{name}") for name in OF_LEVEL] for level in LEVELS}

    def cell(each: Quantity | None) -> str:
        return "-" if each is None else f"{_value(each)} ({each.kind}) {numbers.get(str(each.source), '')}".rstrip()

    rows = [[level, *map(cell, row)] for level, row in held.items() if any(row)]
    return [["level", *(f"{name} by cores" if name == "shared" else name for name in OF_LEVEL)], *rows]


def _margin(each: Quantity) -> str:
    """The error of a number, in the unit in which that is written."""
    assert each.error is not None
    written = each.as_written.partition(" ")[2]
    unit = None if each.formula is not None else parse_unit(written or "1")
    return f"{float(each.error / unit.factor):.4g} {written}".rstrip() if unit else format_si(each.error, each.unit)


def _feeds(machine: Machine, model: Model) -> list[str]:
    """What the machine lacks for the model, and which of its answers there are without that."""
    on = model.applied(machine)
    lacking = {"time": on.lacking("time"), "energy": on.lacking(*model.energy)}
    answers = [name for name, each in lacking.items() if not each]
    if on.missing or len(answers) == len(lacking):
        return [model.name, f"lacks {', '.join(on.missing)}" if on.missing else "has all that it takes"]
    rest = (f"{name} lacks {', '.join(each)}" for name, each in lacking.items() if each)
    return [model.name, "; ".join([*answers, *rest])]


def _check(each: Quantity, value: Any) -> list[str]:
    from archline.expr.text import format_expression

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
        "notes": list(machine.notes),
        "variants": list(machine.variants),
        "year": machine.year,
        "models": fed(machine, models),
        "quantities": {each.name: _quantity(each) for each in machine.quantities.values()},
    }


def _quantity(each: Quantity) -> dict[str, Any]:
    source = each.source
    return {
        "value": exact(each.value),
        "unit": each.unit,
        "as_written": each.as_written,
        "kind": each.kind,
        "meaning": each.meaning,
        "from": each.as_written if each.formula is not None else None,
        "error": None if each.error is None else exact(each.error),
        "source": {
            "document": source.document,
            "citation": source.citation,
            "place": source.place,
            "quote": source.quote,
            "note": source.note,
        },
    }
