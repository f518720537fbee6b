"""Relate an algorithm on a grid to the problem that it solves: lower bounds, and whether runs replicate its input."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from archline.claims.communication_bounds import (
    PROBLEM,
    CommunicationBounds,
    SolvedProblem,
    communication_bounds,
    named_problem,
    problem_of,
)
from archline.costs.trials import COST_GRID, replicated_input
from archline.expr.intervals import Point
from archline.language import syntax as s
from archline.language.checking.contracts import find_cost_symbols
from archline.language.diagnostics import error
from archline.language.model import Module
from archline.numbers import point_text
from archline.records import record

REPLICATED = "replicated input"


@record(eq=False)
class ProblemBounds:
    """Lower bounds on the communication of an algorithm on a grid, and whether runs replicate its input."""

    module: Module
    algorithm: s.Algorithm
    solved: SolvedProblem | None

    @staticmethod
    def of(module: Module, algorithm: s.Algorithm, problem: str | None) -> ProblemBounds | None:
        """Build the bounds; None for algorithms that are not on a grid. Raises ArchlineError (AL419)."""
        if not algorithm.grid:
            if problem is not None:
                raise error(PROBLEM, f"`{algorithm.name}` is not on a grid", hint="`--problem` is for those that are")
            return None
        names = module.signatures[algorithm]
        solved = (
            problem_of(algorithm)
            if problem is None
            else named_problem(problem, [*names.size_names, "P", *find_cost_symbols(module.externs.values())])
        )
        return ProblemBounds(module, algorithm, solved)

    @cached_property
    def replicated(self) -> Mapping[str, int] | None:
        """The sizes of a small run in which several processors read one element of the input; None without one."""
        return replicated_input(self.module, self.algorithm, COST_GRID)

    @cached_property
    def bounds(self) -> CommunicationBounds | None:
        """The lower bounds for the problem that the algorithm solves; None if the problem is unknown."""
        return None if self.solved is None else communication_bounds(self.module, self.algorithm, self.solved)


def replication_note(point: Point, problem: bool) -> str:
    """Describe a run that replicates input; with `problem` also that lower bounds do not apply to it."""
    at = f"in a run at {point_text(point)} " if point else ""
    note = f"{REPLICATED}: {at}several processors read one element of the input"
    return f"{note}; lower bounds on communication assume one copy, so none is given" if problem else note
