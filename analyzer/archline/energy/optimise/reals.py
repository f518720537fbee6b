"""Problems over real numbers: formulas read as signomials, solved, and put in the terms of the problem."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import ceil, exp, floor, inf, log

import numpy as np

from archline.energy import rules
from archline.energy.formulas import fold
from archline.energy.optimise.branch import FAR, LEAST, Model, box, exponential, minimise
from archline.energy.optimise.closed_forms import closed_form
from archline.energy.optimise.enclosures import Comparisons, Vector
from archline.energy.optimise.local import TIGHT, Local, optimum
from archline.energy.optimise.points import minimal
from archline.energy.optimise.problem import (
    AMOUNT,
    BRACKETED,
    BRANCHING,
    GEOMETRIC,
    INFEASIBLE,
    NEAR,
    OPTIMAL,
    Number,
    Optimum,
    Problem,
    Span,
    Variable,
)
from archline.energy.optimise.signomials import ONE, Reader, Sum, cases, inequality
from archline.language.diagnostics import error
from archline.records import record

CLOSE = 1e-6
INNER = "ranges are of points that one search connects with the optimum: others may be within 1 % of it too"
HELD = 1e-7
"""A constraint binds whose multiplier is above this."""


@record(eq=False)
class _Case:
    """A model; for each of its pairs the constraint of the problem that it is (-1: none)."""

    model: Model
    origins: tuple[int, ...]


def solve(problem: Problem, values: Mapping[str, float]) -> Optimum:
    """The optimum over real variables; names that do not vary have values. Raises ArchlineError (AL491, AL492)."""
    every = range(len(problem.constraints))
    outcomes = [(case, minimise(case.model)) for case in _cases(problem, values, every)]
    method = GEOMETRIC if all(case.model.convex for case, _ in outcomes) else BRANCHING
    boxes = sum(each.boxes for _, each in outcomes)
    known = [(case, outcome, outcome.best) for case, outcome in outcomes if outcome.best is not None]
    if not known:
        if any(outcome.bound < inf for _, outcome in outcomes):
            return Optimum(BRACKETED, method, points=boxes)

        def feasible(kept: Sequence[int]) -> bool:
            return any(minimise(case.model).bound < inf for case in _cases(problem, values, kept))

        left = minimal(every, feasible)
        conflict = tuple(dict.fromkeys(problem.constraints[index].text for index in left))
        return Optimum(INFEASIBLE, method, conflict=conflict, points=boxes)
    case, outcome, best = min(known, key=lambda each: each[1].value)
    value, bound = outcome.value, min(each.bound for _, each in outcomes)
    gap = max(0.0, value - bound) / abs(value) if value else 0.0
    answer = _Answer(problem, case, best, solved=gap <= CLOSE)
    answer.require_ends()
    at, variables = answer.variables()
    return Optimum(
        OPTIMAL if gap <= CLOSE else BRACKETED,
        method,
        value=value,
        lower=value,
        bound=bound,
        gap=gap,
        variables=variables,
        at=at,
        ranges=answer.ranges(value) if gap <= CLOSE else {},
        binding=(binding := tuple(answer.binding())),
        closed_form={} if binding else dict(answer.closed_forms(values, at)),
        points=boxes,
        notes=() if case.model.convex or gap > CLOSE else (INNER,),
    )


# From formulas to models
def _cases(problem: Problem, values: Mapping[str, float], kept: Sequence[int]) -> Iterator[_Case]:
    """The models of which the best is the optimum: one for each choice of the argument that a max or a min is."""
    variables = problem.variables
    ends = [box(*_range(each)) for each in variables]
    low, high = (np.array(each, float) for each in zip(*ends, strict=True))
    whole = frozenset(index for index, each in enumerate(variables) if each.integer)
    for index in whole:
        low[index] = log(ceil(exp(max(low[index], 0.0)) * (1 - TIGHT)))

    def read(reader: Reader) -> list[tuple[Sum, Sum]]:
        objective = fold(problem.end(problem.bounds["objective"]), reader)
        sides = [(fold(left, reader), fold(right, reader)) for left, right in map(problem.sides, kept)]
        amounts = [each.lower for name, each in problem.bounds.items() if name.startswith(AMOUNT)]
        return [(objective, {}), *sides, *(({}, fold(each, reader)) for each in amounts)]

    for reader, ((objective, _), *sides) in cases({each.key: i for i, each in enumerate(variables)}, values, read):
        pairs = [inequality(*each) for each in (*sides, *reader.sides)]
        origins = [*kept, *[-1] * (len(pairs) - len(kept))]
        filled = [(pair, origin) for pair, origin in zip(pairs, origins, strict=True) if pair[0]]
        constant = objective.get((), 0.0)
        varies = {key: value for key, value in objective.items() if key}
        model = Model(
            varies or ONE,
            constant if varies else constant - 1.0,
            tuple(reader.sums),
            tuple((left, right or LEAST) for (left, right), _ in filled),
            low,
            high,
            whole,
        )
        yield _Case(model, tuple(origin for _, origin in filled))


def _range(variable: Variable) -> tuple[float | None, float | None]:
    low, high = (None if end is None else float(end) for end in (variable.low, variable.high))
    return (1.0 if low is None and variable.name == "P" else low), high


# From solutions to answers
class _Answer:
    """A solution in the problem's terms."""

    def __init__(self, problem: Problem, case: _Case, best: Local, *, solved: bool) -> None:
        self.problem, self.case, self.best, self.model = problem, case, best, case.model
        self.comparisons = self.model.comparisons
        held = [index for index, each in enumerate(best.weights) if each > HELD]
        used = frozenset().union(*map(self.comparisons.uses, held))
        self.free = [each for each in range(len(problem.variables)) if solved and each not in used]

    def _number(self, index: int, y: float) -> Number:
        variable, model = self.problem.variables[index], self.model
        if variable.integer:
            return round(exp(y))
        low, high = _range(variable)
        if y <= model.low[index] + TIGHT and low:
            return low
        return high if y >= model.high[index] - TIGHT and high else exp(y)

    def require_ends(self) -> None:
        """Raise ArchlineError (AL491) where the optimum is at the end of a variable that has no range."""
        for index, each in enumerate(self.problem.variables):
            low, high = _range(each)
            far = (low is None and self.best.y[index] <= 1 - FAR) or (high is None and self.best.y[index] >= FAR - 1)
            if far and index not in self.free:
                way = "rises" if self.best.y[index] > 0 else "falls"
                hint = f"give it a range: --over {each.name}=..."
                message = f"{self.problem.minimise} falls without end where `{each.name}` {way}"
                raise error(rules.UNBOUNDED, message, hint=hint)

    def variables(self) -> tuple[dict[str, Number], dict[str, Number | Span]]:
        """A value of each variable, and the values; of those on which nothing depends, all they may have."""
        y = self.best.y.copy()
        at: dict[str, Number] = {}
        found: dict[str, Number | Span] = {}
        for index, each in enumerate(self.problem.variables):
            if index in self.free:
                low, high = y.copy(), y.copy()
                low[index], high[index] = self.model.low[index], self.model.high[index]
                first, last = (exponential(end) for end in self._span(self.comparisons, index, y, low, high))
                middle = (log(first) + log(last)) / 2 if first > 0 and last < inf else y[index]
                if not each.integer:
                    y[index] = min(max(middle, low[index]), high[index])
                at[each.name] = self._number(index, y[index])
                ends = self._within(each, first, last)
                found[each.name] = ends if ends[1] > ends[0] * (1 + CLOSE) else at[each.name]
            else:
                found[each.name] = at[each.name] = self._number(index, y[index])
        return at, found

    def ranges(self, value: float) -> dict[str, Span]:
        """The range of each variable among points within a share of the optimum."""
        limit = value + NEAR * abs(value) - self.model.constant
        near = self.comparisons.with_pairs([self.model.level(1.0), self.model.level(limit)], after=1)
        y, low, high = self.best.y, self.model.low, self.model.high
        found: dict[str, Span] = {}
        for index, each in enumerate(self.problem.variables):
            first, last = self._span(near, index, y, low, high)
            found[each.name] = self._within(each, exponential(first), exponential(last))
        return found

    @staticmethod
    def _span(within: Comparisons, index: int, y: Vector, low: Vector, high: Vector) -> tuple[float, float]:
        """The least and the largest logarithm of a variable at points that one search connects with a feasible one."""
        ends = [y[index]]
        for sign in (1.0, -1.0):
            moved = within.with_pairs([({((index, sign),): 1.0}, ONE)], after=1)
            found = optimum(moved.at, y, low, high)
            ends += [found.y[index]] if found.feasible else []
        return min(ends), max(ends)

    def _within(self, variable: Variable, first: float, last: float) -> Span:
        """A range, of whole numbers where the variable is one, without what rounding puts outside its own."""
        if variable.integer:
            return ceil(first - CLOSE), floor(last + CLOSE)
        low, high = _range(variable)
        return max(first, low or 0.0), last if high is None else min(last, high)

    def closed_forms(self, values: Mapping[str, float], at: Mapping[str, Number]) -> Iterator[tuple[str, str]]:
        """Formulas of the variables that nothing but the objective determines."""
        known = {**values, **{each.key: float(at[each.name]) for each in self.problem.variables}}
        for index, each in enumerate(self.problem.variables):
            if index not in self.free and not each.integer:
                objective = self.problem.end(self.problem.bounds["objective"])
                found = closed_form(objective, each.key, known, known[each.key])
                if found is not None:
                    yield each.name, found

    def binding(self) -> Iterator[str]:
        """The constraints and ends of ranges that hold the optimum."""
        texts = [
            self.problem.constraints[origin].text
            for origin, weight in zip(self.case.origins, self.best.weights[1:], strict=True)
            if origin >= 0 and weight > HELD
        ]
        yield from dict.fromkeys(texts)
        for index, each in enumerate(self.problem.variables):
            low, high = _range(each)
            y, slope = self.best.y[index], self.best.slopes[index]
            if low is not None and y <= self.model.low[index] + CLOSE and slope > HELD:
                yield f"{each.name} >= {low:.12g}"
            if high is not None and y >= self.model.high[index] - CLOSE and slope < -HELD:
                yield f"{each.name} <= {high:.12g}"
