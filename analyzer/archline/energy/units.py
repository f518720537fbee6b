"""Read and write the units of quantities, with the arithmetic of their dimensions."""

from __future__ import annotations

import re
from fractions import Fraction

from archline.expr.intervals import Interval, Point
from archline.records import record

# The reader accepts these prefixes, the formatter writes them; `u` stands for micro, so that output stays ASCII.
_PREFIXES = {"f": -15, "p": -12, "n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15}
_WRITTEN_PREFIXES = {exponent: prefix for prefix, exponent in _PREFIXES.items()}
_READ_PREFIXES = {**_PREFIXES, "µ": -6, "μ": -6}
BASE_UNITS = ("J", "s", "B", "flop", "op", "word", "line", "message")
_BINARY_UNITS = {"KiB": 1024, "MiB": 1024**2, "GiB": 1024**3, "TiB": 1024**4}


@record(slots=True)
class Dimension:
    """A product of powers of base units, such as J/flop; `powers` are sorted, none is 0."""

    powers: tuple[tuple[str, Fraction], ...] = ()

    @classmethod
    def of(cls, powers: Point) -> Dimension:
        return cls(tuple(sorted((base, Fraction(power)) for base, power in powers.items() if power)))

    def times(self, other: Dimension, power: int | Fraction = 1) -> Dimension:
        """Return the product with a power of another dimension; `power=-1` divides."""
        powers = dict(self.powers)
        for base, exponent in other.powers:
            powers[base] = powers.get(base, Fraction(0)) + exponent * power
        return Dimension.of(powers)

    def power(self, exponent: int | Fraction) -> Dimension:
        return Dimension().times(self, exponent)

    def __str__(self) -> str:
        powers = dict(self.powers)
        # A power of 1 J and -1 s is a watt.
        watt = powers.get("J") == 1 and powers.get("s") == -1
        if watt:
            del powers["J"], powers["s"]
        above = ["W"] * watt + [_format_power(base, power) for base, power in powers.items() if power > 0]
        below = [_format_power(base, -power) for base, power in powers.items() if power < 0]
        return "/".join(["*".join(above) or "1", *below])


def _format_power(base: str, power: Fraction) -> str:
    return base if power == 1 else f"{base}^{power}"


DIMENSIONLESS = Dimension()
_NAMED_UNITS = {
    **{base: Dimension.of({base: 1}) for base in BASE_UNITS},
    "W": Dimension.of({"J": 1, "s": -1}),
    "Hz": Dimension.of({"s": -1}),
    "1": DIMENSIONLESS,
}


@record(slots=True)
class Unit:
    """A unit as a factor times base units: `nJ/B` is 10^-9 of J/B."""

    factor: Fraction
    dimension: Dimension


def parse_unit(text: str) -> Unit | None:
    """Parse a unit such as `nJ`, `Gflop/s` or `pJ/word/s`; None if the text is not a unit."""
    unit = Unit(Fraction(1), DIMENSIONLESS)
    sign = 1
    for position, part in enumerate(re.split(r"\s*([*/])\s*", text.strip())):
        if position % 2:
            sign = 1 if part == "*" else -1
            continue
        single = _parse_single_unit(part)
        if single is None or (position > 0 and part == "1"):
            return None
        unit = Unit(unit.factor * single.factor**sign, unit.dimension.times(single.dimension, sign))
    return unit


def parse_dimension(text: str) -> Dimension:
    """Return the dimension of the text of a unit; any other text is an AssertionError."""
    unit = parse_unit(text)
    assert unit is not None, text
    return unit.dimension


def _parse_single_unit(text: str) -> Unit | None:
    if text in _NAMED_UNITS:
        return Unit(Fraction(1), _NAMED_UNITS[text])
    if text in _BINARY_UNITS:
        return Unit(Fraction(_BINARY_UNITS[text]), _NAMED_UNITS["B"])
    # No named unit is a prefix followed by another unit, so that there is one way to split a text.
    if text[:1] in _READ_PREFIXES and text[1:] in _NAMED_UNITS and text[1:] != "1":
        return Unit(Fraction(10) ** _READ_PREFIXES[text[:1]], _NAMED_UNITS[text[1:]])
    return None


def format_si(value: Fraction, unit: str, digits: int = 4) -> str:
    """Format a number with an SI prefix, rounded half-even to `digits` significant digits: `4.213 mJ`.

    Numbers without a prefix (below a femto, from a thousand peta on) have a power of ten instead. The exact fraction is
    rounded. An empty unit gives the number alone.
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
    if group not in _WRITTEN_PREFIXES:
        return f"{_insert_decimal_point(scaled, digits, 1)}e{exponent:+d} {unit}".rstrip()
    return f"{_insert_decimal_point(scaled, digits, exponent - group + 1)} {_WRITTEN_PREFIXES[group]}{unit}".rstrip()


def format_binary(size: Fraction) -> str:
    """Format a size as `32 KiB` if that is an integer below 1024; else in bytes with SI prefixes."""
    for name, factor in _BINARY_UNITS.items():
        if size.denominator == 1 and size % factor == 0 and 0 < size < 1024 * factor:
            return f"{size // factor} {name}"
    return f"{size} B" if size.denominator == 1 and size < 10**6 else format_si(size, "B")


def _decimal_exponent(value: Fraction) -> int:
    """Return the e with 10^e <= value < 10^(e+1), for value > 0."""
    # 0.30103 is log10(2): the first guess differs by at most one or two for any size.
    bits = value.numerator.bit_length() - value.denominator.bit_length()
    exponent = bits * 30103 // 100000
    while Fraction(10) ** exponent > value:
        exponent -= 1
    while Fraction(10) ** (exponent + 1) <= value:
        exponent += 1
    return exponent


def _insert_decimal_point(digits: int, length: int, before: int) -> str:
    text = str(digits).ljust(before, "0")
    if before >= length:
        return text
    return f"{text[:before]}.{text[before:]}"


def format_amount(amount: Interval, unit: str) -> str:
    """Format an amount: `4.213 mJ`, or `4.213 .. 5.000 mJ`."""
    low, high = format_si(amount.lower, unit), format_si(amount.upper, unit)
    if low == high:
        return low
    number, _, unit_text = low.partition(" ")
    return f"{number} .. {high}" if unit_text == high.partition(" ")[2] else f"{low} .. {high}"
