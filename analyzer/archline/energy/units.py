"""Units of machine quantities, and numbers with SI prefixes for people."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

# Prefixes the reader accepts and the formatter writes; `u` stands for micro, so that output stays ASCII.
_PREFIXES = {"f": -15, "p": -12, "n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15}
_WRITTEN = {exponent: prefix for prefix, exponent in _PREFIXES.items()}
_READ = {**_PREFIXES, "µ": -6, "μ": -6}
_BASES = ("J", "s", "W", "Hz", "B", "flop", "op", "word", "line", "message")
_BINARY = {"KiB": 1024, "MiB": 1024**2, "GiB": 1024**3}


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit as a factor times base units: `nJ/B` is 10^-9 of `J/B`."""

    factor: Fraction
    base: str


def parse_unit(text: str) -> Unit | None:
    """Read a unit such as `nJ`, `Gflop/s` or `pJ/word/s`; None where it is not one."""
    parts = [_parse_single(part) for part in text.strip().split("/")]
    factor = Fraction(1)
    names: list[str] = []
    for position, part in enumerate(parts):
        if part is None or (position > 0 and part.base == "1"):
            return None
        factor = factor / part.factor if position else part.factor
        names.append(part.base)
    return Unit(factor, "/".join([names[0], *sorted(names[1:])]))


def _parse_single(text: str) -> Unit | None:
    if text == "1" or text in _BASES:
        return Unit(Fraction(1), text)
    if text in _BINARY:
        return Unit(Fraction(_BINARY[text]), "B")
    # No base unit begins with a prefix that leaves another base unit, so one way of cutting is enough.
    if text[:1] in _READ and text[1:] in _BASES:
        return Unit(Fraction(10) ** _READ[text[:1]], text[1:])
    return None


def format_si(value: Fraction, unit: str, digits: int = 4) -> str:
    """A number with an SI prefix, rounded half-even to `digits` significant digits: `4.213 mJ`.

    Beyond the prefixes (below a femto, from a thousand peta on) powers of ten are written
    instead. The rounding is done on the exact fraction. An empty unit gives the bare number.
    """
    if value < 0:
        return "-" + format_si(-value, unit, digits)
    if value == 0:
        return f"0 {unit}".rstrip()
    exponent = _decimal_exponent(value)
    scaled = round(value * Fraction(10) ** (digits - 1 - exponent))
    if scaled == 10**digits:
        exponent += 1
        scaled //= 10
    group = 3 * (exponent // 3)
    if group not in _WRITTEN:
        return f"{_place_point(scaled, digits, 1)}e{exponent:+d} {unit}".rstrip()
    return f"{_place_point(scaled, digits, exponent - group + 1)} {_WRITTEN[group]}{unit}".rstrip()


def _decimal_exponent(value: Fraction) -> int:
    """The e with 10^e <= value < 10^(e+1), for value > 0."""
    # 0.30103 is log10(2): the first guess is off by at most one or two for any size.
    bits = value.numerator.bit_length() - value.denominator.bit_length()
    exponent = bits * 30103 // 100000
    while Fraction(10) ** exponent > value:
        exponent -= 1
    while Fraction(10) ** (exponent + 1) <= value:
        exponent += 1
    return exponent


def _place_point(digits: int, length: int, before: int) -> str:
    text = str(digits).ljust(before, "0")
    if before >= length:
        return text
    return f"{text[:before]}.{text[before:]}"
