"""What a reader of data sheets types, and how a machine file says it: `GFLOPS` is Gflop/s, `tdp` is `power_rated`."""

from __future__ import annotations

import re

from archline.energy.quantities import QUANTITIES
from archline.energy.units import dimension, parse_unit
from archline.language.diagnostics import closest

NUMERAL = r"[+-]?(?:[0-9]{1,40}(?:\.[0-9]{0,40})?|\.[0-9]{1,40})(?:[eE][+-]?[0-9]{1,2})?"
AMOUNT = re.compile(rf"({NUMERAL})\s*(?![eE][0-9+-])([^\W\d_].*)")
"""A decimal numeral and a unit behind it: `10pJ/flop`, `10 pJ/flop`."""
_QUANTITIES = {"tdp": "power_rated", "clock": "frequency", "cache": "fast_memory", "flops": "peak"}
_UNITS = {
    "/": r"\s*(?:/|\bper\b)\s*",
    "s": r"(?<=/)s(?:ec(?:onds?)?)?\b",
    "flop/s": r"flop(?:s?/s|s)\b",
    "flop": r"flop\b",
    "B": r"bytes?\b",
    "J": r"j(?:oules?)?\b",
    "W": r"w(?:atts?)?\b",
    "Hz": r"hz\b",
}


def respelt(text: str) -> str:
    """A unit as it is written here: `GFLOPS` is Gflop/s, `MB/sec` MB/s, `pJ per FLOP` pJ/flop. A b means bits."""
    for right, wrong in _UNITS.items():
        text = re.sub(wrong, right, text, flags=re.IGNORECASE)
    return re.sub(r"\b[gtK](?=flop|B\b|J|W|Hz)", lambda prefix: prefix[0].swapcase(), text)


def unit_hint(written: str, base: str) -> str:
    """What to write for a unit that is none, or not one of this dimension."""
    meant = respelt(written)
    unit = parse_unit(meant)
    lacking = "" if unit is None or base == "1" else str(dimension(base).times(unit.dimension, -1))
    if lacking == "1" or lacking.startswith("1/"):
        return f"write {meant}{lacking[1:]}"
    prefix = {"J": "p", "s": "n", "W": "", "1": ""}.get(
        base.partition("/")[0], "" if base in ("B/word", "B/line") else "G"
    )
    bits = "; 8 bits are 1 B" if re.search(r"bit|b(?:ps)?\b", written) else ""
    return f"its unit is {base}" + (f", or {prefix}{base}, ..." if prefix else "") + bits


def number_hint(written: str) -> str | None:
    """What to write for a number that is none, where that is clear."""
    found = AMOUNT.fullmatch(written)
    if found is not None and parse_unit(respelt(found[2])) is not None:
        return f'write value = "{found[1]}" and unit = "{respelt(found[2])}"'
    plain = re.sub(r"(?<=\d)[ ,'_](?=\d{3}\b)", "", written).replace(",", ".")
    return f'write "{plain}", with a decimal point alone' if re.fullmatch(NUMERAL, plain) and plain != written else None


def quantity_meant(name: str) -> str | None:
    """The quantity that is called so, or nearly so: `memory_bandwidth` is `bandwidth`."""
    parts = re.split(r"\W|_", name.lower())
    held = [part for part in (*parts, *map(_QUANTITIES.get, parts)) if part in QUANTITIES]
    return closest(name, QUANTITIES, 0.85) or next(iter(held), None) or closest(name, QUANTITIES)


def quantity_hint(name: str) -> str | None:
    """The hint for a name that is no quantity."""
    meant = quantity_meant(name)
    return f"did you mean `{meant}`?" if meant else None
