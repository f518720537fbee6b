"""What an energy model is, and what it answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from archline.energy import rules
from archline.energy.machines import Machine
from archline.energy.units import format_si
from archline.language.diagnostics import did_you_mean, error

Number = int | Fraction


@dataclass(frozen=True, slots=True)
class Interval:
    """What is known of an amount: lower <= amount <= upper, both exact."""

    lower: Fraction
    upper: Fraction

    @classmethod
    def of(cls, value: Interval | Number | tuple[Number, Number]) -> Interval:
        """An interval, a pair of ends, or a single exact number as an interval. Raises ArchlineError
        (AL460).
        """
        match value:
            case Interval():
                result = value
            case (lower, upper):
                result = cls(Fraction(lower), Fraction(upper))
            case number:
                result = cls(Fraction(number), Fraction(number))
        if result.lower > result.upper:
            raise error(rules.WRONG_AMOUNT, f"the lower end {result.lower} is above the upper end {result.upper}")
        return result

    @property
    def exact(self) -> bool:
        """Whether the ends meet."""
        return self.lower == self.upper

    def times(self, factor: Fraction) -> Interval:
        """The interval scaled by a factor >= 0."""
        return Interval(self.lower * factor, self.upper * factor)

    def text(self, unit: str) -> str:
        """`4.213 mJ`, or `4.213 mJ to 5 mJ`."""
        low, high = format_si(self.lower, unit), format_si(self.upper, unit)
        return low if self.exact else f"{low} to {high}"


@dataclass(frozen=True, slots=True)
class Part:
    """A named amount of an answer; `unit` is a base unit, `formula` says how it comes about."""

    name: str
    amount: Interval
    unit: str
    formula: str


@dataclass(frozen=True, slots=True)
class Estimate:
    """A model's answer for one machine: the parts, their total, a verdict, and why the verdict holds.

    `total` is not the sum of the parts' intervals where the parts depend on each other: it is the tighter
    one.
    """

    model: str
    machine: str
    parts: tuple[Part, ...]
    total: Part
    verdict: str
    reason: str
    convention: str


@dataclass(frozen=True, slots=True)
class Model:
    """An energy model.

    `quantities` are what it reads of a machine (name to base unit), `inputs` the metrics it takes of an
    algorithm. `estimate` maps a machine and an interval for each input to an answer.
    """

    name: str
    title: str
    source: str
    inputs: tuple[str, ...]
    quantities: Mapping[str, str] = field(hash=False)
    estimate: Callable[[Machine, Mapping[str, Interval]], Estimate]

    def __call__(self, machine: Machine, amounts: Mapping[str, Interval | Number | tuple[Number, Number]]) -> Estimate:
        """The model's answer for the amounts (metric to number or interval).

        Raises ArchlineError: AL458 where the machine does not suit the model, AL460 for missing or impossible
        amounts.
        """
        for name in self.inputs:
            if name not in amounts:
                hint = did_you_mean(name, amounts)
                raise error(rules.WRONG_AMOUNT, f"model `{self.name}` needs `{name}`", hint=hint)
        return self.estimate(machine, {name: Interval.of(amounts[name]) for name in self.inputs})
