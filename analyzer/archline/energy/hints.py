"""What a reader of data sheets types, and how a machine file says it: `GFLOPS` is Gflop/s, `tdp` is `power_rated`."""

from __future__ import annotations

import re

from archline.energy.quantities import QUANTITIES
from archline.energy.units import dimension, parse_unit, respelt
from archline.language.diagnostics import closest

NUMERAL = r"[+-]?(?:[0-9]{1,40}(?:\.[0-9]{0,40})?|\.[0-9]{1,40})(?:[eE][+-]?[0-9]{1,2})?"
AMOUNT = re.compile(rf"({NUMERAL})\s*(?![eE][0-9+-])([^\W\d_].*)")
"""A decimal numeral and a unit behind it: `10pJ/flop`, `10 pJ/flop`."""
_SEPARATED = re.compile(r"\d{1,3}(?:[ ,'_]\d{3})+(?:\.\d+)?")
_WORDS = {
    "tdp": "power_rated",
    "clock": "frequency",
    "cache": "fast_memory",
    "l2": "fast_memory",
    "l3": "fast_memory",
    "flops": "peak",
    "performance": "peak",
}


def unit_hint(written: str, base: str) -> str:
    """What to write for a unit that is none, or not one of this dimension."""
    meant = respelt(written)
    unit = parse_unit(meant)
    if unit is not None and base != "1":
        lacking = str(dimension(base).times(unit.dimension, -1))
        if lacking == "1":
            return f"write {meant}"
        if lacking.startswith("1/"):
            return f"write {meant}{lacking[1:]}"
    prefix = {"J": "p", "s": "n", "W": "", "1": ""}.get(base.partition("/")[0], "G")
    plain = base.startswith("B/") and base != "B/s"
    return f"its unit is {base}" + (f", or {prefix}{base}, ..." if prefix and not plain else "")


def number_hint(written: str) -> str | None:
    """What to write for a number that is none, where that is clear."""
    found = AMOUNT.fullmatch(written)
    if found is not None and parse_unit(respelt(found[2])) is not None:
        return f'write value = "{found[1]}" and unit = "{respelt(found[2])}"'
    if _SEPARATED.fullmatch(written):
        return f'write "{re.sub("[^0-9.]", "", written)}", without separators of thousands'
    if re.fullmatch(r"\d+,\d+", written):
        return f'write "{written.replace(",", ".")}", with a decimal point'
    return None


def quantity_meant(name: str) -> str | None:
    """The quantity that is called so, or nearly so: `memory_bandwidth` is `bandwidth`."""
    parts = [part for part in re.split(r"\W|_", name.lower()) if part]
    known = [part for part in parts if part in QUANTITIES] or [_WORDS[part] for part in parts if part in _WORDS]
    return closest(name, QUANTITIES, 0.85) or next(iter(known), None) or closest(name, QUANTITIES)
