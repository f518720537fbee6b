"""Problems over real numbers: formulas read as signomials, solved, and put in the terms of the problem."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from math import ceil, exp, floor, log

import numpy as np

from archline.energy import rules
from archline.energy.formulas import fold
from archline.energy.optimise.branch import Model, box, minimise
from archline.energy.optimise.closed_forms import closed_form
from archline.energy.optimise.geometric import FAR, TIGHT, GeometricProgram, Posynomial, Solution, span
from archline.energy.optimise.points import minimal
from archline.energy.optimise.problem import (
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
from archline.energy.optimise.signomials import ONE, Reader, Signomial, Sum, inequality, uses
from archline.language.diagnostics import error
from archline.records import record, replace

CLOSE = 1e-6
INNER = "ranges are of points that one search connects with the optimum: others may be within 1 % of it too"
HELD = 1e-7
"""A constraint binds whose multiplier is above this."""


@record(eq=False)
class _Case:
    """A model, of which constraint of the problem each of its own is (-1: of none), and what the objective adds."""

    model: Model
    origins: tuple[int, ...]
    constant: float


def solve(problem: Problem, values: Mapping[str, float]) -> Optimum:
    """The optimum over real variables; names that do not vary have values. Raises ArchlineError (AL491, AL492)."""
    every = range(len(problem.constraints))
    outcomes = [(case, minimise(case.model)) for case in _cases(problem, values, every)]
    method = GEOMETRIC if len(outcomes) == 1 and outcomes[0][0].model.convex else BRANCHING
    nodes = sum(each.nodes for _, each in outcomes)
    known = [(case, outcome, outcome.best) for case, outcome in outcomes if outcome.best is not None]
    if not known:
        if any(outcome.bound < float("inf") for _, outcome in outcomes):
            return Optimum(BRACKETED, method, points=nodes)

        def feasible(kept: Sequence[int]) -> bool:
            found = (minimise(case.model) for case in _cases(problem, values, kept))
            return any(each.best is not None or each.bound < float("inf") for each in found)

        left = minimal(every, feasible)
        conflict = tuple(dict.fromkeys(problem.constraints[index].text for index in left))
        return Optimum(INFEASIBLE, method, conflict=conflict, points=nodes)
    case, outcome, best = min(known, key=lambda each: each[0].constant + exp(each[2].value))
    value = case.constant + exp(best.value)
    bound = min(each.constant + exp(found.bound) if found.bound < FAR else value for each, found in outcomes)
    gap = max(0.0, (value - bound) / value)
    assert outcome.program is not None
    answer = _Answer(problem, case, best, outcome.program, solved=gap <= CLOSE)
    answer.require_ends()
    at, variables = answer.variables()
    # Where large parts cancel, the search has the value less exactly than the formulas at its point.
    value = _value(problem, {**values, **answer.point(at)}, bound)
    gap = max(0.0, (value - bound) / value)
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
        points=nodes,
        notes=() if case.model.convex or gap > CLOSE else (INNER,),
    )


def _value(problem: Problem, point: Mapping[str, float], bound: float) -> float:
    """The objective at a point, by the formulas themselves.

    Raises ArchlineError (AL492) where it is below what is proved, or a constraint is broken: the search takes all
    parts for positive, and those that are below 0 have other values.
    """
    numbers = Reader({}, point)
    found = fold(problem.end(problem.bounds["objective"]), numbers).constant
    sides = [[fold(each, numbers).constant for each in problem.sides(i)] for i in range(len(problem.constraints))]
    kept = all(
        left is not None and right is not None and left <= right + 1e-5 * (abs(left) + abs(right))
        for left, right in sides
    )
    if found is None or found < bound - 1e-5 * abs(bound) or not kept:
        message = f"{problem.minimise} has parts below 0, which the search over real numbers does not follow"
        raise error(rules.NOT_SIGNOMIAL, message, hint="name what varies in --integer, with ranges")
    return found


# From formulas to models
def _cases(problem: Problem, values: Mapping[str, float], kept: Sequence[int]) -> Iterator[_Case]:
    """The models of which the best is the optimum: one for each choice of the argument that is a max or a min."""
    variables = problem.variables
    reader = Reader({each.key: index for index, each in enumerate(variables)}, values)
    objective = fold(problem.end(problem.bounds["objective"]), reader)
    sides: list[tuple[tuple[Sum, Sum], int]] = []
    for index in kept:
        left, right = (fold(each, reader) for each in problem.sides(index))
        sides.append((inequality(left, right), index))
    goal, constant = dict(objective.top), 0.0
    if objective.bottom == ONE and min(goal.values(), default=1.0) > 0:
        constant = goal.pop((), 0.0)
    else:
        top = Signomial({((reader.count, 1.0),): 1.0}, ONE)
        sides.append((inequality(objective, top), -1))
        goal = dict(top.top)
        reader.count += 1
    choices: list[list[tuple[Sum, Sum]]] = []
    for each in reversed(reader.definitions):
        own = Signomial({((each.variable, 1.0),): 1.0}, ONE)
        outward = [
            (inequality(*((value, own) if each.function == "max" else (own, value))), -1) for value in each.values
        ]
        inward = [inequality(*((own, value) if each.function == "max" else (value, own))) for value in each.values]
        used = uses(_parts(goal, [*sides, *((pair, -1) for choice in choices for pair in choice)]), each.variable)
        if (-1 if each.function == "max" else 1) in used:
            choices.append(inward)
        sides += outward
    ends = [box(*_range(each)) for each in variables] + [(-2 * FAR, 2 * FAR)] * (reader.count - len(variables))
    low, high = (np.array(each, float) for each in zip(*ends, strict=True))
    whole = frozenset(index for index, each in enumerate(variables) if each.integer)
    for index in whole:
        low[index] = max(low[index], 0.0)
    for chosen in product(*choices):
        model = Model(goal or ONE, (*(pair for pair, _ in sides), *chosen), low, high, whole)
        origins = (*(origin for _, origin in sides), *(-1 for _ in chosen))
        filled = [origin for (left, _), origin in zip(model.constraints, origins, strict=True) if left]
        yield _Case(model, tuple(filled), constant if goal else constant - 1.0)


def _parts(goal: Sum, sides: Sequence[tuple[tuple[Sum, Sum], int]]) -> Iterator[tuple[Sum, int]]:
    yield goal, 1
    for (left, right), _ in sides:
        yield left, 1
        yield right, -1


def _range(variable: Variable) -> tuple[float | None, float | None]:
    low, high = (None if end is None else float(end) for end in (variable.low, variable.high))
    return (1.0 if low is None and variable.name == "P" else low), high


# From solutions to answers
class _Answer:
    """A solution in the problem's terms."""

    def __init__(
        self, problem: Problem, case: _Case, best: Solution, program: GeometricProgram, *, solved: bool
    ) -> None:
        self.problem, self.case, self.best = problem, case, best
        # Whole variables may be others than those of the box in which the optimum was found.
        self.program = replace(program, low=case.model.low, high=case.model.high)
        held = [index for index, each in enumerate(best.multipliers) if each > HELD]
        uses_of = [program.objective, *(program.constraints[index] for index in held)]
        if not case.model.objective or set(case.model.objective) == {()}:
            uses_of = []
        count = len(problem.variables)
        free = [index for index in range(count) if not any(_holds(each, index) for each in uses_of)]
        self.free = free if solved else []

    def _number(self, index: int, y: float) -> Number:
        variable, model = self.problem.variables[index], self.case.model
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
                low[index], high[index] = self.program.low[index], self.program.high[index]
                fixed = replace(self.program, low=low, high=high, objective=_one(len(y)))
                first, last = span(fixed, index, y)
                middle = (log(first) + log(last)) / 2 if first > 0 and last < float("inf") else y[index]
                if not each.integer:
                    y[index] = min(max(middle, low[index]), high[index])
                at[each.name] = self._number(index, y[index])
                ends = self._within(each, first, last)
                found[each.name] = ends if ends[1] > ends[0] * (1 + CLOSE) else at[each.name]
            else:
                found[each.name] = at[each.name] = self._number(index, y[index])
        return at, found

    def point(self, at: Mapping[str, Number]) -> dict[str, float]:
        """A point by the keys of its variables."""
        return {each.key: float(at[each.name]) for each in self.problem.variables}

    def ranges(self, value: float) -> dict[str, Span]:
        """The range of each variable among points within a share of the optimum."""
        limit = value * (1 + NEAR) - self.case.constant
        goal = self.program.objective
        bounded = Posynomial(goal.powers, goal.logs - log(limit))
        near = replace(self.program, constraints=(*self.program.constraints, bounded))
        found: dict[str, Span] = {}
        for index, each in enumerate(self.problem.variables):
            first, last = span(near, index, self.best.y)
            found[each.name] = self._within(each, first, last)
        return found

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
            for origin, multiplier in zip(self.case.origins, self.best.multipliers, strict=True)
            if origin >= 0 and multiplier > HELD
        ]
        yield from dict.fromkeys(texts)
        for index, each in enumerate(self.problem.variables):
            low, high = _range(each)
            y, slope = self.best.y[index], self.best.ends[index]
            if low is not None and y <= self.case.model.low[index] + CLOSE and slope > HELD:
                yield f"{each.name} >= {low:.12g}"
            if high is not None and y >= self.case.model.high[index] - CLOSE and slope < -HELD:
                yield f"{each.name} <= {high:.12g}"


def _holds(side: Posynomial, index: int) -> bool:
    return bool(np.abs(side.powers[:, index]).max() > 0)


def _one(count: int) -> Posynomial:
    return Posynomial(np.zeros((1, count)), np.zeros(1))
