"""Hold the results of strong scaling: time and energy of one problem on more and more processors."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import cached_property

from archline.energy.fixed_memory import FixedMemory
from archline.energy.model import Model
from archline.energy.results import EnergyResult
from archline.expr.intervals import Interval
from archline.records import record

PERFECT_FACTOR = Fraction(3, 2)
WITHIN, BEYOND, OPEN = "within", "beyond", "open"


@record
class ScaleStep:
    """The result at `sizes` of a sweep, which have a number of processors, or the `reason` if it is missing."""

    sizes: Mapping[str, object]
    result: EnergyResult | None
    reason: str = ""

    @property
    def processors(self) -> Interval:
        return self.amount("P")

    def amount(self, name: str) -> Interval:
        assert self.result is not None
        return self.result.inputs[name].amount

    def quantity(self, name: str) -> Interval | None:
        """Return the energy if `name` is `energy`, else the time times the processors; None if unknown."""
        assert self.result is not None
        assert self.result.estimate is not None
        if name == "energy":
            return self.result.estimate.energy
        time = self.result.estimate.time
        return None if time is None else time * self.processors

    @property
    def fits(self) -> bool:
        """Whether there is a result, and the memory of a processor is large enough."""
        if self.result is None:
            return False
        limit = self.result.machine.values.get("memory_max")
        needed = self.result.inputs.get("memory")
        return limit is None or needed is None or needed.amount.lower <= limit


@record
class PerfectRange:
    """The first and the last step at which a quantity (`time*P`, `energy`) stays within the factor, or None.

    `below` and `above` are the reasons why the range ends on either side.
    """

    quantity: str
    first: ScaleStep | None
    last: ScaleStep | None
    below: str
    above: str


@record
class Scaling:
    """The scaling of an algorithm on a machine.

    `growth` has for each term of the time the growth of P times the term, and how it depends on the varied sizes;
    `fixed_memory` is the growth of the energy in P at constant memory per processor, for algorithms on a grid.
    `assumptions` are those in addition to the facts of `where`.
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
        """The first step at which the memory of the processors suffices for the problem; None if there is none."""
        return next((step for step in self.steps if step.fits), None)

    def base(self, quantity: str) -> ScaleStep | None:
        """Return the step that a quantity is compared with: the first one whose memory suffices and where it is not 0.

        None if there is none.
        """
        known = ((step, step.quantity(quantity)) for step in self.steps if step.fits and step.result is not None)
        return next((step for step, value in known if value is not None and value.upper > 0), None)

    def ratio(self, step: ScaleStep, quantity: str) -> Interval | None:
        """Return the ratio of a quantity at a step to its value at the base step; None if the latter may be 0."""
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
        """Return whether a quantity is `within` the factor of its base value, `beyond` it, or `open` (undecided)."""
        ratio, base = self.ratio(step, quantity), self.base(quantity)
        bottom = None if base is None else base.quantity(quantity)
        if ratio is None and step.fits and step.result is not None and bottom is not None and bottom.lower <= 0:
            return OPEN
        if ratio is None or ratio.lower > self.factor or ratio.upper * self.factor < 1:
            return BEYOND
        return WITHIN if ratio.upper <= self.factor and ratio.lower * self.factor >= 1 else OPEN

    @cached_property
    def moved(self) -> Interval | None:
        """The range of the words that all processors move, relative to those at the first step that fits.

        None if the latter are unknown or may be 0.
        """
        counted = [step for step in self.steps if step.result is not None and "words" in step.result.inputs]
        if self.first is None or self.first not in counted:
            return None
        base_words = self.first.amount("words") * self.first.processors
        if base_words.lower <= 0:
            return None
        rest = [step.amount("words") * step.processors / base_words for step in counted if step is not self.first]
        ratios = [Interval.of(1), *rest]
        return Interval(min(ratio.lower for ratio in ratios), max(ratio.upper for ratio in ratios))

    @cached_property
    def ranges(self) -> tuple[PerfectRange, ...]:
        """The ranges in which time and energy scale perfectly, and the reasons that they end."""
        return tuple(self._find_perfect_range(name) for name in ("time*P", "energy"))

    def _find_perfect_range(self, quantity: str) -> PerfectRange:
        base = self.base(quantity)
        if base is None:
            return PerfectRange(quantity, None, None, self._describe_start(), "")
        last = index = self.steps.index(base)
        while last + 1 < len(self.steps) and self._is_perfect_at(self.steps[last + 1], quantity):
            last += 1
        above = "the sweep ends here"
        if last + 1 < len(self.steps):
            above = self._describe_end(self.steps[last + 1], quantity)
        return PerfectRange(quantity, self.steps[index], self.steps[last], self._describe_start(), above)

    def _is_perfect_at(self, step: ScaleStep, quantity: str) -> bool:
        return step.fits and self.verdict(step, quantity) == WITHIN

    def _describe_start(self) -> str:
        before = self.steps if self.first is None else self.steps[: self.steps.index(self.first)]
        return _describe_lack(before[-1]) if before else "the sweep starts here"

    def _describe_end(self, step: ScaleStep, quantity: str) -> str:
        if not step.fits:
            return _describe_lack(step)
        ratio = self.ratio(step, quantity)
        if ratio is None:
            return f"the bounds do not decide: the {quantity} on the fewest processors may be 0"
        ends = " .. ".join(dict.fromkeys(f"{float(end):.3g}" for end in (ratio.lower, ratio.upper)))
        if self.verdict(step, quantity) == OPEN:
            return f"the bounds do not decide: {ends} times as much at P = {step.processors.lower}"
        growing = self._find_fastest_growing_term(step, quantity)
        return f"{ends} times as much at P = {step.processors.lower}; {growing} grows most"

    def _find_fastest_growing_term(self, step: ScaleStep, quantity: str) -> str:
        """Return the term of a quantity that increases most between its base step and a later step."""
        base = self.base(quantity)
        assert base is not None
        before, after = (_collect_terms(point, quantity) for point in (base, step))
        return max(after, key=lambda name: after[name] - before.get(name, Fraction(0)))


def _collect_terms(step: ScaleStep, quantity: str) -> dict[str, Fraction]:
    assert step.result is not None
    estimate = step.result.estimate
    assert estimate is not None
    if quantity == "energy":
        return {name: term.upper for name, term in estimate.terms.items()}
    return {name: (side * step.processors).upper for name, side in estimate.sides.items()}


def _describe_lack(step: ScaleStep) -> str:
    at = ", ".join(f"{name} = {value}" for name, value in step.sizes.items())
    if step.result is None:
        return f"{at}: {step.reason}"
    needed, limit = step.amount("memory").lower, step.result.machine.values["memory_max"]
    return f"{at}: a processor needs {float(needed):.4g} words, but memory_max is {float(limit):.4g}"
