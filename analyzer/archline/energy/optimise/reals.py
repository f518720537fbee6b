"""Solve a problem over real numbers: its formulas become sums of products of powers, and the answer is read back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import ceil, exp, floor, inf, log

import numpy as np

from archline.energy import rules
from archline.energy.formulas import fold
from archline.energy.optimise import problem as p
from archline.energy.optimise.branch import MAX_LOGARITHM, TINY_SUM, BranchAndBound, SignomialProgram
from archline.energy.optimise.closed_forms import derive_closed_forms
from archline.energy.optimise.enclosures import Pair, Vector
from archline.energy.optimise.local import FEASIBILITY_TOLERANCE, LocalOptimum, find_local_optimum
from archline.energy.optimise.points import find_minimal_conflict
from archline.energy.optimise.signomials import ONE, SignomialDomain, Sum, add_sums, iterate_choices, split_by_sign
from archline.language.diagnostics import error

SOLVER_TOLERANCE = 1e-6
MIN_MULTIPLIER = 1e-7
"""A constraint binds if its multiplier is larger."""
CONNECTED_RANGES_NOTE = (
    "ranges cover only points that one search connects with the optimum: others may be within 1 % too"
)


def solve_over_reals(problem: p.EnergyProblem, values: Mapping[str, float]) -> p.EnergyOptimum:
    """Return the optimum over real variables; all other names have `values`. Raises ArchlineError (AL491, AL492)."""
    every = range(len(problem.constraints))
    models = list(_iterate_signomial_programs(problem, values, every))
    searches = [BranchAndBound(model) for model in models]
    method = p.GEOMETRIC if all(model.convex for model in models) else p.BRANCHING
    boxes = sum(search.boxes for search in searches)
    bound = min((search.bound for search in searches), default=inf)
    place = min(range(len(models)), key=lambda index: searches[index].value)
    best, value = searches[place].best, searches[place].value
    if best is None and bound < inf:
        return p.EnergyOptimum(p.BRACKETED, method, points=boxes)
    if best is None:

        def is_feasible(kept: Sequence[int]) -> bool:
            return any(
                BranchAndBound(model).bound < inf for model in _iterate_signomial_programs(problem, values, kept)
            )

        texts = [problem.constraints[index].text for index in find_minimal_conflict(every, is_feasible)]
        return p.EnergyOptimum(p.INFEASIBLE, method, conflict=tuple(dict.fromkeys(texts)), points=boxes)
    gap = (value - bound) / value if value > bound else 0.0
    closed = gap <= SOLVER_TOLERANCE
    answer = _Solution(problem, models[place], best, closed=closed)
    answer.require_bounded()
    at, variables = answer.compute_variables()
    return p.EnergyOptimum(
        p.OPTIMAL if closed else p.BRACKETED,
        method,
        value=value,
        lower=value,
        bound=bound,
        gap=gap,
        variables=variables,
        at=at,
        ranges=answer.compute_ranges(value, zip(models, searches, strict=True)) if closed else {},
        binding=tuple(answer.iterate_binding_texts()),
        closed_form=answer.closed_forms(values, at) if closed else {},
        points=boxes,
        notes=() if models[place].convex or not closed else (CONNECTED_RANGES_NOTE,),
    )


def _iterate_signomial_programs(
    problem: p.EnergyProblem, values: Mapping[str, float], kept: Sequence[int]
) -> Iterator[SignomialProgram]:
    """Yield a program for each choice of the arguments of max and min; the minimum of their optima is the answer."""
    integers = [index for index, item in enumerate(problem.variables) if item.integer]
    low, high = (np.array(ends) for ends in zip(*map(_compute_log_range, problem.variables), strict=True))
    low[integers] = np.log(np.ceil(np.exp(np.maximum(low[integers], 0)) * (1 - FEASIBILITY_TOLERANCE)))

    def read(reader: SignomialDomain) -> list[Sum]:
        sides = [(fold(left, reader), fold(right, reader)) for left, right in map(problem.sides, kept)]
        sides += [
            ({}, fold(end.lower, reader)) for name, end in problem.bounds.items() if name.startswith(p.AMOUNT_PREFIX)
        ]
        return [fold(problem.select_end(problem.bounds["objective"]), reader), *(add_sums(*side, -1) for side in sides)]

    for reader, (objective, *sides) in iterate_choices(
        {item.key: i for i, item in enumerate(problem.variables)}, values, read
    ):
        every = [split_by_sign(terms) for terms in (*sides, *reader.sides)]
        filled = [index for index, (left, _) in enumerate(every) if left]
        varies = {key: value for key, value in objective.items() if key}
        constant = objective.get((), 0.0)
        objective_sum: Sum = ONE
        if not varies and constant > 0:
            # Unscaled, a small value keeps its digits.
            objective_sum, constant = add_sums({}, {(): constant}), 0.0
        elif not varies:
            constant -= 1.0
        pairs = tuple((every[index][0], every[index][1] or TINY_SUM) for index in filled)
        origins = tuple(kept[index] if index < len(kept) else -1 for index in filled)
        yield SignomialProgram(
            varies or objective_sum, constant, tuple(reader.sums), pairs, origins, low, high, integers
        )


def _convert_range_to_floats(variable: p.Variable) -> tuple[float | None, float | None]:
    low, high = (None if end is None else float(end) for end in (variable.low, variable.high))
    return (1.0 if low is None and variable.name == "P" else low), high


def _compute_log_range(variable: p.Variable) -> tuple[float, float]:
    low, high = _convert_range_to_floats(variable)
    return log(low) if low else -MAX_LOGARITHM, MAX_LOGARITHM if high is None else log(high or exp(-MAX_LOGARITHM))


class _Solution:
    """The optimum of a signomial program, read back as values of the problem; `free` variables do not affect it."""

    def __init__(self, problem: p.EnergyProblem, model: SignomialProgram, best: LocalOptimum, *, closed: bool) -> None:
        self.problem, self.model, self.best = problem, model, best
        weighted = zip([model.compare_objective(1.0), *model.pairs], best.weights, strict=True)
        used = {
            index
            for pair, weight in weighted
            if weight > MIN_MULTIPLIER
            for terms in pair
            for key in terms
            for index, _ in key
        }
        for number, terms in reversed([*enumerate(model.sums, len(best.y))]):
            used |= {index for key in terms for index, _ in key} if number in used else set()
        self.free = [index for index in range(len(best.y)) if closed and index not in used]

    def _convert_value(self, index: int, y: float) -> p.Number:
        """Return the value of a variable from its logarithm `y`, clipped to its range because of rounding errors."""
        variable = self.problem.variables[index]
        low, high = _convert_range_to_floats(variable)
        value = min(max(float(f"{exp(min(y, 700)):.14g}"), low or 0.0), inf if high is None else high)
        return round(value) if variable.integer else value

    def require_bounded(self) -> None:
        """Raise ArchlineError (AL491) if the optimum is at the limit of a variable that has no range."""
        for index, variable in enumerate(self.problem.variables):
            (low, high), y = _convert_range_to_floats(variable), self.best.y[index]
            if index not in self.free and (
                (low is None and y <= 1 - MAX_LOGARITHM) or (high is None and y >= MAX_LOGARITHM - 1)
            ):
                direction = "rises" if y > 0 else "falls"
                message = f"{self.problem.minimise} decreases without bound as `{variable.name}` {direction}"
                raise error(rules.UNBOUNDED, message, hint=f"give it a range: --over {variable.name}=...")

    def compute_variables(self) -> tuple[dict[str, p.Number], dict[str, p.Number | p.Span]]:
        """Return a value of each variable, and these with ranges for the variables that do not affect the optimum."""
        y = self.best.y.copy()
        spans: dict[int, p.Span] = {}
        for index in self.free:
            low, high = y.copy(), y.copy()
            low[index], high[index] = self.model.low[index], self.model.high[index]
            first, last = _find_reachable_log_range(self.model, index, y, low, high)
            if last - first > SOLVER_TOLERANCE:
                y[index], spans[index] = (first + last) / 2, self._convert_span(index, first, last)
        at = {
            variable.name: self._convert_value(index, y[index]) for index, variable in enumerate(self.problem.variables)
        }
        return at, {name: spans.get(index, value) for index, (name, value) in enumerate(at.items())}

    def compute_ranges(
        self, value: float, cases: Iterable[tuple[SignomialProgram, BranchAndBound]]
    ) -> dict[str, p.Span]:
        """Return the range of each variable among points near the optimum, over all choices of max and min."""
        limit, spans = value * (1 + p.NEAR_OPTIMUM_SHARE), [[y] for y in self.best.y]
        for model, search in cases:
            if search.best is not None and search.value <= limit:
                near = model.compare_objective(limit - model.constant)
                for index, ends in enumerate(spans):
                    ends += _find_reachable_log_range(model, index, search.best.y, model.low, model.high, near)
        numbers = [self._convert_span(index, min(ends), max(ends)) for index, ends in enumerate(spans)]
        return {variable.name: span for variable, span in zip(self.problem.variables, numbers, strict=True)}

    def _convert_span(self, index: int, first: float, last: float) -> p.Span:
        """Return a range of values, of integers inside it if the variable is an integer."""
        if self.problem.variables[index].integer:
            return ceil(exp(first) - SOLVER_TOLERANCE), floor(exp(last) + SOLVER_TOLERANCE)
        return self._convert_value(index, first), self._convert_value(index, last)

    def closed_forms(self, values: Mapping[str, float], at: Mapping[str, p.Number]) -> dict[str, str]:
        """Return formulas of the variables that are real and inside their ranges, not at their limits."""
        every = self.problem.variables
        numbers = {**values, **{variable.key: float(at[variable.name]) for variable in every}}
        fixed = {*self.free, *np.flatnonzero(np.abs(self.best.slopes) > MIN_MULTIPLIER)}
        unknown = [variable.key for index, variable in enumerate(every) if index not in fixed and not variable.integer]
        objective = self.problem.select_end(self.problem.bounds["objective"])
        formulas = derive_closed_forms(
            objective, [self.problem.sides(index) for index in self._binding_indices], unknown, numbers
        )
        return {variable.name: formulas[variable.key] for variable in every if variable.key in formulas}

    @property
    def _binding_indices(self) -> list[int]:
        """The indices of the constraints that bind at the optimum."""
        weights = zip(self.model.origins, self.best.weights[1:], strict=True)
        return [origin for origin, weight in weights if origin >= 0 and weight > MIN_MULTIPLIER]

    def iterate_binding_texts(self) -> Iterator[str]:
        yield from dict.fromkeys(self.problem.constraints[index].text for index in self._binding_indices)
        for index, variable in enumerate(self.problem.variables):
            (low, high), y, slope = _convert_range_to_floats(variable), self.best.y[index], self.best.slopes[index]
            if low is not None and y <= self.model.low[index] + SOLVER_TOLERANCE and slope > MIN_MULTIPLIER:
                yield f"{variable.name} >= {low:.12g}"
            if high is not None and y >= self.model.high[index] - SOLVER_TOLERANCE and slope < -MIN_MULTIPLIER:
                yield f"{variable.name} <= {high:.12g}"


def _find_reachable_log_range(
    model: SignomialProgram, index: int, y: Vector, low: Vector, high: Vector, *more: Pair
) -> tuple[float, float]:
    """Return the smallest and largest logarithm of a variable that a search reaches from a feasible point."""
    ends = [y[index]]
    for sign in (1.0, -1.0):
        reached = find_local_optimum(
            model.build_comparisons(({((index, sign),): 1.0}, ONE), *more).evaluate_derivatives, y, low, high
        )
        ends += [reached.y[index]] if reached.feasible else []
    return min(ends), max(ends)
