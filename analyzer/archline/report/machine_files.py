"""Machine files as text: tables of TOML, and drafts with what is still to be looked up as comments."""

from __future__ import annotations

from collections.abc import Mapping
from json import dumps

from archline.energy.drafts import Draft
from archline.energy.quantities import LEVELS, QUANTITIES

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
        lines += ["", *_table(name, keys)]
    return "\n".join(lines) + "\n"


def _table(name: str, keys: Mapping[str, str]) -> list[str]:
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
        text += "".join(f"#: {line}\n" for line in _table(each, keys))
    return text
