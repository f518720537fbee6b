"""Results of strong scaling: time and energy of one problem on more and more processors, and where both are perfect."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import cached_property

from archline.energy.fixed_memory import FixedMemory
from archline.energy.model import Model
from archline.energy.results import EnergyResult
from archline.expr.intervals import Interval
from archline.records import record

FACTOR = Fraction(3, 2)
WITHIN, BEYOND, OPEN = "within", "beyond", "open"


@record
class ScaleStep:
    """One number of processors: the result there, or the `reason` why there is none."""

    sizes: Mapping[str, object]
    result: EnergyResult | None
    reason: str = ""

    @property
    def processors(self) -> Interval:
        """P."""
        return self.amount("P")

    def amount(self, name: str) -> Interval:
        """An input of the model."""
        assert self.result is not None
        return self.result.inputs[name].amount

    def quantity(self, name: str) -> Interval | None:
        """`time*P`, or `energy`."""
        assert self.result is not None
        assert self.result.estimate is not None
        if name == "energy":
            return self.result.estimate.energy
        time = self.result.estimate.time
        return None if time is None else time * self.processors

    @property
    def fits(self) -> bool:
        """Whether there is a result, and the memory of a processor is no smaller than what is needed."""
        if self.result is None:
            return False
        limit = self.result.machine.values.get("memory_max")
        needed = self.result.inputs.get("memory")
        return limit is None or needed is None or needed.amount.lower <= limit


@record
class PerfectRange:
    """From and to which step a quantity (`time*P`, `energy`) stays within the factor; None where nowhere."""

    quantity: str
    first: ScaleStep | None
    last: ScaleStep | None
    below: str
    above: str


@record
class Scaling:
    """How an algorithm scales on a machine.

    `growth` is that of P times each term of the time, as text, and whether it is free of what is varied;
    `fixed_memory` that of the energy in P where a processor keeps its memory, of algorithms on a grid. `assumptions`
    are those besides the `where`.
    """

    algorithm: str
    model: Model
    varied: tuple[str, ...]
    factor: Fraction
    steps: tuple[ScaleStep, ...]
    growth: Mapping[str, tuple[str, str]]
    fixed_memory: FixedMemory | None = None
    assumptions: tuple[str, ...] = ()

    @cached_property
    def first(self) -> ScaleStep | None:
        """The fewest processors with room for the problem, to which the others are compared."""
        return next((each for each in self.steps if each.fits), None)

    def base(self, quantity: str) -> ScaleStep | None:
        """The fewest processors that a quantity is compared with: those with room, on which it is not 0."""
        known = ((each, each.quantity(quantity)) for each in self.steps if each.fits and each.result is not None)
        return next((each for each, found in known if found is not None and found.upper > 0), None)

    def ratio(self, step: ScaleStep, quantity: str) -> Interval | None:
        """A quantity over that on the fewest processors; None where that may be 0, by its bounds."""
        base = self.base(quantity)
        if base is None or step.result is None:
            return None
        top, bottom = step.quantity(quantity), base.quantity(quantity)
        if top is None or bottom is None:
            return None
        if step is base:
            return Interval.of(1)
        return None if bottom.lower <= 0 else top / bottom

    def verdict(self, step: ScaleStep, quantity: str) -> str:
        """Whether a quantity is `within` the factor of the first, `beyond` it, or `open`, by the bounds."""
        found, base = self.ratio(step, quantity), self.base(quantity)
        bottom = None if base is None else base.quantity(quantity)
        if found is None and step.fits and step.result is not None and bottom is not None and bottom.lower <= 0:
            return OPEN
        if found is None or found.lower > self.factor or found.upper * self.factor < 1:
            return BEYOND
        return WITHIN if found.upper <= self.factor and found.lower * self.factor >= 1 else OPEN

    @cached_property
    def moved(self) -> Interval | None:
        """The words of all processors, P times those of the longest path, over those on the fewest: between these."""
        known = [each for each in self.steps if each.result is not None and "words" in each.result.inputs]
        if self.first is None or self.first not in known:
            return None
        least = self.first.amount("words") * self.first.processors
        if least.lower <= 0:
            return None
        others = [each.amount("words") * each.processors / least for each in known if each is not self.first]
        ratios = [Interval.of(1), *others]
        return Interval(min(each.lower for each in ratios), max(each.upper for each in ratios))

    @cached_property
    def ranges(self) -> tuple[PerfectRange, ...]:
        """Where time and energy scale perfectly, and what ends that at both sides."""
        return tuple(self._range(name) for name in ("time*P", "energy"))

    def _range(self, quantity: str) -> PerfectRange:
        base = self.base(quantity)
        if base is None:
            return PerfectRange(quantity, None, None, self._below(), "")
        last = index = self.steps.index(base)
        while last + 1 < len(self.steps) and self._goes_on(self.steps[last + 1], quantity):
            last += 1
        above = "the sweep ends here"
        if last + 1 < len(self.steps):
            above = self._end(self.steps[last + 1], quantity)
        return PerfectRange(quantity, self.steps[index], self.steps[last], self._below(), above)

    def _goes_on(self, step: ScaleStep, quantity: str) -> bool:
        return step.fits and self.verdict(step, quantity) == WITHIN

    def _below(self) -> str:
        before = self.steps if self.first is None else self.steps[: self.steps.index(self.first)]
        return _no_room(before[-1]) if before else "the sweep starts here"

    def _end(self, step: ScaleStep, quantity: str) -> str:
        if not step.fits:
            return _no_room(step)
        ratio = self.ratio(step, quantity)
        if ratio is None:
            return f"the bounds do not decide: on fewer processors the {quantity} may be 0"
        ends = " .. ".join(dict.fromkeys(f"{float(each):.3g}" for each in (ratio.lower, ratio.upper)))
        if self.verdict(step, quantity) == OPEN:
            return f"the bounds do not decide: {ends} times as much at P = {step.processors.lower}"
        return f"{ends} times as much at P = {step.processors.lower}; {self._grown(step, quantity)} grows most"

    def _grown(self, step: ScaleStep, quantity: str) -> str:
        """The term that grows most between the first step and a later one."""
        base = self.base(quantity)
        assert base is not None
        before, after = (_terms(each, quantity) for each in (base, step))
        return max(after, key=lambda name: after[name] - before.get(name, Fraction(0)))


def _terms(step: ScaleStep, quantity: str) -> dict[str, Fraction]:
    assert step.result is not None
    estimate = step.result.estimate
    assert estimate is not None
    if quantity == "energy":
        return {name: each.upper for name, each in estimate.terms.items()}
    return {name: (each * step.processors).upper for name, each in estimate.sides.items()}


def _no_room(step: ScaleStep) -> str:
    at = ", ".join(f"{name} = {value}" for name, value in step.sizes.items())
    if step.result is None:
        return f"{at}: {step.reason}"
    needed, limit = step.amount("memory").lower, step.result.machine.values["memory_max"]
    return f"{at}: a processor needs {float(needed):.4g} words, and memory_max is {float(limit):.4g}"
