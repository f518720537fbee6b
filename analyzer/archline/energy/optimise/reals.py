"""Problems over real numbers: formulas read as sums of products of powers, solved, and put in the problem's terms."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import ceil, exp, floor, inf, log

import numpy as np

from archline.energy import rules
from archline.energy.formulas import fold
from archline.energy.optimise import problem as p
from archline.energy.optimise.branch import FAR, LEAST, Branching, SignomialProgram
from archline.energy.optimise.closed_forms import closed_forms
from archline.energy.optimise.enclosures import Pair, Vector
from archline.energy.optimise.local import TIGHT, LocalOptimum, optimum
from archline.energy.optimise.points import minimal
from archline.energy.optimise.signomials import ONE, SignomialDomain, Sum, cases, parts, plus
from archline.language.diagnostics import error

CLOSE = 1e-6
HELD = 1e-7
"""A constraint binds whose multiplier is above this."""
INNER = "ranges are of points that one search connects with the optimum: others may be within 1 % of it too"


def solve(problem: p.EnergyProblem, values: Mapping[str, float]) -> p.EnergyOptimum:
    """The optimum over real variables; names that do not vary have values. Raises ArchlineError (AL491, AL492)."""
    every = range(len(problem.constraints))
    models = list(_models(problem, values, every))
    found = [Branching(each) for each in models]
    method = p.GEOMETRIC if all(each.convex for each in models) else p.BRANCHING
    boxes = sum(each.boxes for each in found)
    bound = min((each.bound for each in found), default=inf)
    place = min(range(len(models)), key=lambda index: found[index].value)
    best, value = found[place].best, found[place].value
    if best is None and bound < inf:
        return p.EnergyOptimum(p.BRACKETED, method, points=boxes)
    if best is None:

        def feasible(kept: Sequence[int]) -> bool:
            return any(Branching(each).bound < inf for each in _models(problem, values, kept))

        texts = [problem.constraints[index].text for index in minimal(every, feasible)]
        return p.EnergyOptimum(p.INFEASIBLE, method, conflict=tuple(dict.fromkeys(texts)), points=boxes)
    gap = (value - bound) / value if value > bound else 0.0
    closed = gap <= CLOSE
    answer = _Answer(problem, models[place], best, closed=closed)
    answer.require_ends()
    at, variables = answer.variables()
    return p.EnergyOptimum(
        p.OPTIMAL if closed else p.BRACKETED,
        method,
        value=value,
        lower=value,
        bound=bound,
        gap=gap,
        variables=variables,
        at=at,
        ranges=answer.ranges(value, zip(models, found, strict=True)) if closed else {},
        binding=tuple(answer.binding()),
        closed_form=answer.closed_forms(values, at) if closed else {},
        points=boxes,
        notes=() if models[place].convex or not closed else (INNER,),
    )


def _models(problem: p.EnergyProblem, values: Mapping[str, float], kept: Sequence[int]) -> Iterator[SignomialProgram]:
    """The models of which the best is the optimum: one for each choice of the argument that a max or a min is."""
    whole = [index for index, each in enumerate(problem.variables) if each.integer]
    low, high = (np.array(each) for each in zip(*map(_logs, problem.variables), strict=True))
    low[whole] = np.log(np.ceil(np.exp(np.maximum(low[whole], 0)) * (1 - TIGHT)))

    def read(reader: SignomialDomain) -> list[Sum]:
        sides = [(fold(left, reader), fold(right, reader)) for left, right in map(problem.sides, kept)]
        sides += [({}, fold(each.lower, reader)) for name, each in problem.bounds.items() if name.startswith(p.AMOUNT)]
        return [fold(problem.end(problem.bounds["objective"]), reader), *(plus(*each, -1) for each in sides)]

    for reader, (objective, *sides) in cases({each.key: i for i, each in enumerate(problem.variables)}, values, read):
        every = [parts(each) for each in (*sides, *reader.sides)]
        filled = [index for index, (left, _) in enumerate(every) if left]
        varies = {key: value for key, value in objective.items() if key}
        constant = objective.get((), 0.0)
        least: Sum = ONE
        if not varies and constant > 0:
            # As it stands, a small value keeps its digits.
            least, constant = plus({}, {(): constant}), 0.0
        elif not varies:
            constant -= 1.0
        pairs = tuple((every[index][0], every[index][1] or LEAST) for index in filled)
        origins = tuple(kept[index] if index < len(kept) else -1 for index in filled)
        yield SignomialProgram(varies or least, constant, tuple(reader.sums), pairs, origins, low, high, whole)


def _range(variable: p.Variable) -> tuple[float | None, float | None]:
    low, high = (None if end is None else float(end) for end in (variable.low, variable.high))
    return (1.0 if low is None and variable.name == "P" else low), high


def _logs(variable: p.Variable) -> tuple[float, float]:
    """The logarithms of a range."""
    low, high = _range(variable)
    return log(low) if low else -FAR, FAR if high is None else log(high or exp(-FAR))


class _Answer:
    """A solution in the problem's terms."""

    def __init__(self, problem: p.EnergyProblem, model: SignomialProgram, best: LocalOptimum, *, closed: bool) -> None:
        self.problem, self.model, self.best = problem, model, best
        held = zip([model.level(1.0), *model.pairs], best.weights, strict=True)
        used = {index for pair, weight in held if weight > HELD for each in pair for key in each for index, _ in key}
        for number, each in reversed([*enumerate(model.sums, len(best.y))]):
            used |= {index for key in each for index, _ in key} if number in used else set()
        self.free = [index for index in range(len(best.y)) if closed and index not in used]

    def _number(self, index: int, y: float) -> p.Number:
        """The value of a variable, without what rounding puts outside its range."""
        variable = self.problem.variables[index]
        low, high = _range(variable)
        value = min(max(float(f"{exp(min(y, 700)):.14g}"), low or 0.0), inf if high is None else high)
        return round(value) if variable.integer else value

    def require_ends(self) -> None:
        """Raise ArchlineError (AL491) where the optimum is at the end of a variable that has no range."""
        for index, each in enumerate(self.problem.variables):
            (low, high), y = _range(each), self.best.y[index]
            if index not in self.free and ((low is None and y <= 1 - FAR) or (high is None and y >= FAR - 1)):
                way = "rises" if y > 0 else "falls"
                message = f"{self.problem.minimise} decreases without bound as `{each.name}` {way}"
                raise error(rules.UNBOUNDED, message, hint=f"give it a range: --over {each.name}=...")

    def variables(self) -> tuple[dict[str, p.Number], dict[str, p.Number | p.Span]]:
        """A value of each variable, and the values; of those on which nothing depends, all they may have."""
        y = self.best.y.copy()
        spans: dict[int, p.Span] = {}
        for index in self.free:
            low, high = y.copy(), y.copy()
            low[index], high[index] = self.model.low[index], self.model.high[index]
            first, last = _span(self.model, index, y, low, high)
            if last - first > CLOSE:
                y[index], spans[index] = (first + last) / 2, self._numbers(index, first, last)
        at = {each.name: self._number(index, y[index]) for index, each in enumerate(self.problem.variables)}
        return at, {name: spans.get(index, value) for index, (name, value) in enumerate(at.items())}

    def ranges(self, value: float, cases: Iterable[tuple[SignomialProgram, Branching]]) -> dict[str, p.Span]:
        """The range of each variable among points within a share of the optimum, whichever argument a max or min is."""
        most, spans = value * (1 + p.NEAR), [[y] for y in self.best.y]
        for model, found in cases:
            if found.best is not None and found.value <= most:
                near = model.level(most - model.constant)
                for index, ends in enumerate(spans):
                    ends += _span(model, index, found.best.y, model.low, model.high, near)
        numbers = [self._numbers(index, min(ends), max(ends)) for index, ends in enumerate(spans)]
        return {each.name: span for each, span in zip(self.problem.variables, numbers, strict=True)}

    def _numbers(self, index: int, first: float, last: float) -> p.Span:
        """A range, of whole numbers inside it where the variable is one."""
        if self.problem.variables[index].integer:
            return ceil(exp(first) - CLOSE), floor(exp(last) + CLOSE)
        return self._number(index, first), self._number(index, last)

    def closed_forms(self, values: Mapping[str, float], at: Mapping[str, p.Number]) -> dict[str, str]:
        """Formulas of the variables that are real and not at ends of their ranges."""
        every = self.problem.variables
        known = {**values, **{each.key: float(at[each.name]) for each in every}}
        fixed = {*self.free, *np.flatnonzero(np.abs(self.best.slopes) > HELD)}
        unknown = [each.key for index, each in enumerate(every) if index not in fixed and not each.integer]
        objective = self.problem.end(self.problem.bounds["objective"])
        found = closed_forms(objective, [self.problem.sides(index) for index in self._binding], unknown, known)
        return {each.name: found[each.key] for each in every if each.key in found}

    @property
    def _binding(self) -> list[int]:
        """The constraints that hold the optimum."""
        weights = zip(self.model.origins, self.best.weights[1:], strict=True)
        return [origin for origin, weight in weights if origin >= 0 and weight > HELD]

    def binding(self) -> Iterator[str]:
        """The constraints and ends of ranges that hold the optimum."""
        yield from dict.fromkeys(self.problem.constraints[index].text for index in self._binding)
        for index, each in enumerate(self.problem.variables):
            (low, high), y, slope = _range(each), self.best.y[index], self.best.slopes[index]
            if low is not None and y <= self.model.low[index] + CLOSE and slope > HELD:
                yield f"{each.name} >= {low:.12g}"
            if high is not None and y >= self.model.high[index] - CLOSE and slope < -HELD:
                yield f"{each.name} <= {high:.12g}"


def _span(
    model: SignomialProgram, index: int, y: Vector, low: Vector, high: Vector, *more: Pair
) -> tuple[float, float]:
    """The least and the largest logarithm of a variable at points that one search connects with a feasible one."""
    ends = [y[index]]
    for sign in (1.0, -1.0):
        found = optimum(model.compared(({((index, sign),): 1.0}, ONE), *more).at, y, low, high)
        ends += [found.y[index]] if found.feasible else []
    return min(ends), max(ends)
