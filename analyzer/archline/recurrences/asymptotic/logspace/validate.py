"""The last word before an answer is given: the recurrence is evaluated at many sizes over several scales.

Roots lie along the corners and through the middle of each region, at sizes 2^s for rising s, and a little beside. The
value over the growth may vary within a constant; where it drifts with the scale, the answer is withdrawn.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import fsum, inf, isfinite, log, log2

from archline.language import syntax as s
from archline.numbers import arb
from archline.recurrences.asymptotic.arithmetic import FLOATS, WIDE, Arithmetic, NoValueError
from archline.recurrences.asymptotic.evaluate import EvaluationRefusedError, Evaluator
from archline.recurrences.asymptotic.logspace.cones import Vector
from archline.recurrences.asymptotic.logspace.costs import PathCosts
from archline.recurrences.asymptotic.logspace.lattice import Formula
from archline.recurrences.asymptotic.logspace.numbers import approximate
from archline.recurrences.asymptotic.logspace.regimes import GrowthRegime
from archline.recurrences.asymptotic.logspace.system import System
from archline.recurrences.asymptotic.logspace.terms import LogMonomial
from archline.recurrences.asymptotic.problem import Definition, EquationCase, Recurrence

SCALES = (24.0, 48.0, 96.0)
FAR = (192.0, 384.0, 768.0)
"""Where a ratio drifts, it is followed further: exponents that are nearly equal part late."""
NUDGES = (0.0, 0.83, -0.47, 0.29, -0.91, 0.61, -0.23, 0.44)
MAX_DIRECTIONS = 48
STEPS = 30_000
FLOATING = 100.0
"""Up to which logarithm of sizes products of several of them are floats."""
STEADY = 0.75
"""A logarithm too many or too few adds 1 to the ratio's logarithm with every doubling of the scale."""
SLACK = 3.0
SPREAD = 16.0
Point = tuple[float, ...]


@dataclass(frozen=True)
class NumericCheck:
    """What the evaluation found: `trouble` is what speaks against the answer; `points` sizes were evaluated."""

    trouble: str | None
    points: int


def check(
    problem: Recurrence, system: System, found: Sequence[GrowthRegime], pieces: Sequence[PathCosts]
) -> NumericCheck:
    """Compare the regimes' growth with the recurrence's own values."""
    witness = _Witness(problem, system, found)
    noise = _noise(system)
    count = 0
    for number, direction in enumerate(_directions(pieces)):
        for scales in (SCALES, FAR):
            drifts = []
            for nudged in (False, True):
                points = [_point(direction, scale, number, nudged) for scale in scales]
                ratios = [ratio for point in points if (ratio := witness.ratio(point)) is not None]
                count += len(ratios)
                drifts.append(_drift(ratios, noise))
            if max(drifts) < inf and min(drifts) <= STEADY:
                break
        else:
            where = witness.shown(points[-1])
            return NumericCheck(f"the growth found does not agree with the recurrence's own values near {where}", count)
    if not count:
        return NumericCheck("the recurrence could not be evaluated at any of the sizes checked, to check the answer", 0)
    return NumericCheck(None, count)


def _noise(system: System) -> float:
    """How much the last level's cost varies as its sizes lie anywhere within one cut of the cut-off, in bits."""
    cuts = [max(map(abs, rule.step.strides)) for rule in system.rules if rule.step is not None]
    degrees = [sum(abs(approximate(x)) for x in term.powers) for rule in system.rules for term in rule.terms]
    return SLACK + max(cuts) * max(degrees, default=0.0)


def _drift(ratios: list[float], noise: float) -> float:
    """How much the ratio moves the same way with each doubling of the scale; infinite where it leaves every bound."""
    moves = [after - before for before, after in pairwise(ratios)]
    if any(not isfinite(ratio) or abs(ratio) > SPREAD + noise for ratio in ratios):
        return inf
    if any(abs(move) > noise for move in moves):
        return inf
    if len(ratios) < len(SCALES):
        return 0.0
    return max(min(moves), -max(moves))


def _point(direction: Point, scale: float, number: int, nudged: bool) -> Point:
    """The root at a scale; nudged, it stands a little beside the grid of powers of 2."""
    if not nudged:
        return tuple(scale * x for x in direction)
    beside = [NUDGES[(number + i) % len(NUDGES)] if x else 0.0 for i, x in enumerate(direction)]
    return tuple(max(0.0, scale * x + shift) for x, shift in zip(direction, beside, strict=True))


def _directions(pieces: Sequence[PathCosts]) -> Iterator[Point]:
    """Corners and middles of the regions, the greatest coordinate 1."""
    seen: set[Point] = set()
    middles = [piece.region.inner() for piece in pieces]
    corners = [ray for piece in pieces for ray in piece.region.rays]
    for vector in (*middles, *corners):
        values = [approximate(x) for x in vector]
        point = tuple(round(x / max(values), 9) for x in values)
        if point not in seen and len(seen) < MAX_DIRECTIONS:
            seen.add(point)
            yield point


class _Witness:
    """Values of the recurrence beside the growth claimed for them."""

    def __init__(self, problem: Recurrence, system: System, found: Sequence[GrowthRegime]) -> None:
        self._problem = problem
        self._names = system.names.all
        self._sorter = _sorter(problem, system)
        self._formulas: dict[int, Formula] = {}
        for regime in reversed(found):
            for case in regime.cases:
                self._formulas[case] = regime.formula
        self._other = found[-1].formula

    def ratio(self, point: Point) -> float | None:
        """log2 of the value over the growth at sizes 2^point; None where it cannot be had or the facts exclude it."""
        sizes = {name: 2.0**x for name, x in zip(self._names, point, strict=True)}
        try:
            arithmetic = WIDE if max(point) > FLOATING else FLOATS
            case = int(float(Evaluator(self._sorter, sizes, arithmetic).at(sizes))) - 1
            if case < 0:
                return None
            value = self._log2_value(sizes, (WIDE,) if max(point) > FLOATING else (FLOATS, WIDE))
        except (EvaluationRefusedError, NoValueError, OverflowError):
            return None
        expected = _value(self._formulas.get(case, self._other), point)
        if value is None or expected is None:
            return 0.0 if value is expected else inf
        return value - expected

    def _log2_value(self, sizes: dict[str, float], ways: Sequence[Arithmetic]) -> float | None:
        """log2 of the recurrence's value, None where it is 0."""
        for arithmetic in ways:
            try:
                value = arb(Evaluator(self._problem, sizes, arithmetic, limit=STEPS).at(sizes))
            except (NoValueError, OverflowError):
                continue
            if value.is_finite():
                return float(value.log()) / log(2) if value > 0 else None
        raise EvaluationRefusedError("a value beyond all numbers")

    def shown(self, point: Point) -> str:
        """The sizes in words."""
        return ", ".join(f"{name} = 2^{x:.4g}" for name, x in zip(self._names, point, strict=True))


def _sorter(problem: Recurrence, system: System) -> Recurrence:
    """A function that is 0 where a fact fails, else 1 + the number of the case that applies."""
    asked = problem.asked
    span = asked.cases[0].value.span
    cases = [
        EquationCase(s.Integer(0, span=span), s.Unary("not", fact, span=span))
        for fact in problem.facts
        if isinstance(fact, s.Binary)
    ]
    for number, rule in enumerate(system.rules):
        cases.append(EquationCase(s.Integer(number + 1, span=span), rule.condition))
    return Recurrence((Definition("case", asked.parameters, tuple(cases)),))


def _value(formula: Formula, point: Point) -> float | None:
    """log2 of the formula at sizes 2^point; None where it is 0."""
    values: list[float] = [min(_term(term, point) for term in group) for group in formula]
    if not values:
        return None
    top = max(values)
    return top + log2(fsum(2.0 ** (x - top) for x in values))


def _term(term: LogMonomial, point: Point) -> float:
    total = _at(term.powers, point)
    for form, power in term.logs:
        inner = _at(form, point)
        total += approximate(power) * log2(log2(2 + 2.0**inner) if inner < 500 else inner)
    return total


def _at(form: Vector, point: Point) -> float:
    return fsum(approximate(p) * x for p, x in zip(form, point, strict=True) if p)
