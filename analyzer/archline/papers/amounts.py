"""Printed numbers: their value, their last digit, and their unit."""

from __future__ import annotations

import re
from fractions import Fraction

from archline.energy.hints import NUMERAL
from archline.energy.units import NUMBER, Unit, parse_unit
from archline.expr.intervals import Interval
from archline.records import record

_AMOUNT = re.compile(rf"({NUMERAL})\s*(.*)")
_BIT = re.compile(r"\b([kMGTP]?)bit\b")


@record
class Printed:
    """A number as it is printed: its value in base units, half of its last digit, numeral and unit."""

    value: Fraction
    half: Fraction
    numeral: str
    unit: str
    counted: bool = False

    @property
    def rounded(self) -> Interval:
        """What the number may have been before it was rounded; a count was not."""
        return Interval.of(self.value) if self.counted else Interval(self.value - self.half, self.value + self.half)

    def shows(self, value: Fraction) -> bool:
        """Whether a value has these digits when it is rounded to them, half a digit upwards."""
        return -self.half <= value - self.value < self.half or value == self.value

    def like(self, value: Fraction) -> str:
        """Another value with as many digits, in the same unit."""
        own = parsed_unit(self.unit)
        assert own is not None
        value /= own.factor
        mantissa, _, exponent = self.numeral.lower().partition("e")
        if exponent:
            digits = len(re.sub(r"\D", "", mantissa).lstrip("0") or "0") - 1
            shown = f"{float(value):.{digits}e}"
        else:
            shown = f"{float(value):.{len(mantissa.partition('.')[2])}f}"
        return f"{shown} {self.unit}".rstrip()


def parsed_unit(text: str) -> Unit | None:
    """A unit of machine files, or one of bits."""
    unit = parse_unit(_BIT.sub(r"\1B", text) or "1")
    if unit is None:
        return None
    power = sum(-1 if text[: found.start()].endswith("/") else 1 for found in _BIT.finditer(text))
    return Unit(unit.factor / Fraction(8) ** power, unit.dimension)


def read_amount(text: str) -> Printed | None:
    """A printed number with its unit; None where it is none."""
    found = _AMOUNT.fullmatch(text.strip())
    unit = parsed_unit(found[2]) if found else None
    if found is None or unit is None:
        return None
    numeral = found[1]
    mantissa, _, exponent = numeral.lower().partition("e")
    last = Fraction(10) ** (int(exponent or 0) - len(mantissa.partition(".")[2]))
    counted = unit.dimension == NUMBER and not exponent and "." not in numeral
    return Printed(Fraction(numeral) * unit.factor, last * unit.factor / 2, numeral, found[2], counted)
