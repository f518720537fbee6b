"""Machines, as text and for JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from archline.energy.machines import Machine
from archline.report.layout import indented, table, wrap
from archline.report.numbers import exact


def listed(machines: Sequence[Machine], width: int) -> str:
    """One line a machine."""
    rows = [["machine", "title"], *([each.name, each.title] for each in machines)]
    return "\n".join(table(rows, width)) + "\n"


def one(machine: Machine, width: int) -> str:
    """Every number of a machine, as its file has it, with its meaning and source; then the notes."""
    quantities = machine.quantities.values()
    rows = [
        ["quantity", "value", "meaning"],
        *([q.name, q.as_written.removesuffix(" 1"), q.meaning] for q in quantities),
    ]
    sources: dict[str, list[str]] = {}
    for quantity in quantities:
        sources.setdefault(quantity.source, []).append(quantity.name)
    lines = [f"{machine.name}: {machine.title}", "", *indented(table(rows, width - 2)), "", "  sources"]
    for source, names in sources.items():
        lines += indented(wrap(f"{', '.join(names)}: {source}", width - 4), 4)
    if machine.notes:
        lines += ["", "  notes", *indented([line for note in machine.notes for line in wrap(note, width - 4)], 4)]
    return "\n".join(lines) + "\n"


def document(machine: Machine) -> dict[str, Any]:
    """A machine for JSON; values are exact, in base units."""
    return {
        "version": 1,
        "machine": machine.name,
        "collection": machine.collection,
        "title": machine.title,
        "processor": machine.processor,
        "notes": list(machine.notes),
        "quantities": {
            quantity.name: {
                "value": exact(quantity.value),
                "unit": quantity.unit,
                "as_written": quantity.as_written,
                "meaning": quantity.meaning,
                "source": quantity.source,
            }
            for quantity in machine.quantities.values()
        },
    }
