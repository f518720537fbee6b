"""The problem and its answer: what is minimised, over which variables, and under which constraints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TypeAlias

from archline.energy.estimates import Estimate
from archline.energy.formulas import FormulaBounds, names_in
from archline.energy.results import CacheUsed
from archline.expr.intervals import Point
from archline.language import syntax as s
from archline.records import field, record, replace

Number: TypeAlias = int | float
Span: TypeAlias = tuple[Number, Number]
OPTIMAL, INFEASIBLE, BRACKETED = "optimal", "infeasible", "bracketed"
LATTICE, GEOMETRIC, BRANCHING = "lattice", "geometric program", "branch and bound"
AMOUNT_PREFIX = "amount "
"""The prefix of the names, among a problem's bounds, of formulas that have to be at least 0."""
NEAR_OPTIMUM_SHARE = 0.01
"""Ranges are over the points whose objective is within this share of the optimum."""


@record
class Variable:
    """A variable; `key` is its name in formulas. Without a range, the facts of the sizes give its values."""

    name: str
    key: str
    integer: bool
    low: Fraction | None = None
    high: Fraction | None = None

    @property
    def text(self) -> str:
        """The range as a constraint: `P = 1 .. 64`."""
        low, high = ("" if end is None else f"{float(end):.12g}" for end in (self.low, self.high))
        return f"{self.name} = {low} .. {high}"


@record
class Constraint:
    """The inequality `left <= right`, as typed in `text`, between formulas of metrics, quantities and sizes.

    If one side is a number, the other one is `bounded`, as typed, and has the `unit`.
    """

    text: str
    left: s.Expr
    right: s.Expr
    bounded: str = ""
    unit: str = ""


@record
class EnergyProblem:
    """A formula to minimise, in a unit, over variables under constraints.

    `bounds` are on the `objective`, on both sides of each constraint ("left 0", "right 0") and on amounts that are
    typed as formulas, in names that have numbers. `upper` selects the upper or the lower ends of bounded costs.
    """

    minimise: str
    unit: str
    objective: s.Expr
    constraints: tuple[Constraint, ...]
    variables: tuple[Variable, ...]
    bounds: Mapping[str, FormulaBounds[s.Expr]] = field(hash=False)
    upper: bool = True

    def select_necessary_ends(self, sharp: bool) -> tuple[s.Expr, list[tuple[s.Expr, s.Expr]]]:
        """Return bounds on the objective and on both sides of each constraint, for tests that exclude points.

        If `upper` and `sharp`, these are the bounds to minimise; else the weakest ones: lower bounds on the objective
        and left sides, upper bounds on right sides.
        """
        upper, places = self.upper and sharp, range(len(self.constraints))
        objective = self.bounds["objective"]
        sides = [(self.bounds[f"left {index}"], self.bounds[f"right {index}"]) for index in places]
        if upper:
            return objective.upper, [(left.upper, right.lower) for left, right in sides]
        return objective.lower, [(left.lower, right.upper) for left, right in sides]

    def with_constraints(self, kept: Sequence[int], objective: FormulaBounds[s.Expr] | None = None) -> EnergyProblem:
        """Return the problem with only the constraints of indices `kept`, and with a given objective instead."""
        rest = {name: bound for name, bound in self.bounds.items() if not name.startswith(("left ", "right "))}
        bounds = {**rest, "objective": objective or self.bounds["objective"]}
        for place, index in enumerate(kept):
            bounds |= {f"{side} {place}": self.bounds[f"{side} {index}"] for side in ("left", "right")}
        return replace(self, constraints=tuple(self.constraints[index] for index in kept), bounds=bounds)

    def make_attainment_problem(self, index: int, kept: Sequence[int]) -> EnergyProblem:
        """Return the problem to minimise the bounded side of a constraint, or the reciprocal of a side to maximise."""
        constraint, is_upper_bound = self.constraints[index], not names_in(self.constraints[index].right)
        if is_upper_bound:
            return replace(self.with_constraints(kept, self.bounds[f"left {index}"]), objective=constraint.left)
        sides = self.bounds[f"right {index}"]
        low, high, inverse = (
            s.Binary("/", s.Integer(1, span=end.span), end, span=end.span)
            for end in (sides.upper, sides.lower, constraint.right)
        )
        return replace(self.with_constraints(kept, FormulaBounds(low, high)), objective=inverse)

    def select_end(self, value: FormulaBounds[s.Expr]) -> s.Expr:
        """Return the upper bound of a formula; the lower one if the problem is about lower bounds of costs."""
        return value.upper if self.upper else value.lower

    def sides(self, index: int) -> tuple[s.Expr, s.Expr]:
        """Return bounds on both sides of a constraint with which it certainly holds, or may hold if not `upper`."""
        left, right = self.bounds[f"left {index}"], self.bounds[f"right {index}"]
        return (left.upper, right.lower) if self.upper else (left.lower, right.upper)


@record
class EnergyOptimum:
    """The answer to a problem.

    `value` and `lower` are both ends of the objective at the optimum; no feasible point is below `bound`, and `gap` is
    its distance from the end that was minimised, relative to that end. A variable that may have several values without
    a change of the optimum is a pair of ends in `variables`; `at` has one value of each, where the model's answer is
    `estimate`. `ranges` are over points within 1 % of the optimum. If only some values between two ends are possible,
    `some` has those of `variables`, and `some_near` those of `ranges`. Without one of the `binding` constraints the
    optimum would be lower; those in `conflict` exclude each other; `attainable` has the best bound of each in the rest.
    """

    status: str
    method: str
    value: float | None = None
    lower: float | None = None
    bound: float | None = None
    gap: float | None = None
    variables: Mapping[str, Number | Span] = field(default_factory=dict, hash=False)
    at: Mapping[str, Number] = field(default_factory=dict, hash=False)
    ranges: Mapping[str, Span] = field(default_factory=dict, hash=False)
    some: Mapping[str, tuple[int, ...]] = field(default_factory=dict, hash=False)
    some_near: Mapping[str, tuple[int, ...]] = field(default_factory=dict, hash=False)
    binding: tuple[str, ...] = ()
    conflict: tuple[str, ...] = ()
    attainable: tuple[str, ...] = ()
    closed_form: Mapping[str, str] = field(default_factory=dict, hash=False)
    points: int = 0
    notes: tuple[str, ...] = ()
    estimate: Estimate | None = None


@record
class Optimisation:
    """An optimisation problem for a target on a machine by a model, at fixed sizes, with its answer `found`."""

    target: str
    machine: str
    model: str
    fixed: Point = field(hash=False)
    problem: EnergyProblem
    found: EnergyOptimum
    assumptions: tuple[str, ...] = ()
    cache: CacheUsed | None = None
