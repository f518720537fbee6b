"""Relate an algorithm on a grid to the problem that it solves: lower bounds, and whether runs replicate its input."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from archline.claims.communication_bounds import (
    PROBLEM,
    CommunicationBounds,
    SolvedProblem,
    derive_communication_bounds,
    find_library_problem,
    parse_problem,
)
from archline.costs.trials import COST_GRID, find_replicating_run
from archline.expr.intervals import Point
from archline.language import syntax as s
from archline.language.checking.contracts import find_cost_symbols
from archline.language.diagnostics import error
from archline.language.model import Module
from archline.numbers import format_point
from archline.records import record

REPLICATED_INPUT = "replicated input"


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
            find_library_problem(algorithm)
            if problem is None
            else parse_problem(problem, [*names.size_names, "P", *find_cost_symbols(module.externs.values())])
        )
        return ProblemBounds(module, algorithm, solved)

    @cached_property
    def replicating_run(self) -> Mapping[str, int] | None:
        """The sizes of a small run in which several processors read one element of the input; None if there is none."""
        return find_replicating_run(self.module, self.algorithm, COST_GRID)

    @cached_property
    def bounds(self) -> CommunicationBounds | None:
        """The lower bounds for the problem that the algorithm solves; None if the problem is unknown."""
        return None if self.solved is None else derive_communication_bounds(self.module, self.algorithm, self.solved)


def describe_replication(point: Point, problem: bool) -> str:
    """Describe a run that replicates input; with `problem` also that lower bounds do not apply to it."""
    at = f"in a run at {format_point(point)} " if point else ""
    note = f"{REPLICATED_INPUT}: {at}several processors read one element of the input"
    return f"{note}; lower bounds on communication assume one copy, so none is given" if problem else note
