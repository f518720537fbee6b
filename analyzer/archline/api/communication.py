"""Lower bounds on the words and messages of an algorithm on a grid, as reports show them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import cached_property
from math import floor

from archline.analysis.cost import Cost, Costs, ends_at
from archline.claims.communication_bounds import CommunicationBounds, Ends, LowerBound, communication_bounds
from archline.claims.communication_nearness import Nearness, nearness
from archline.claims.communication_problems import PROBLEM, SolvedProblem, named_problem, problem_of
from archline.execution.results import Counts
from archline.expr.intervals import EvaluationError
from archline.expr.text import format_expression
from archline.growth.normal_form import multiplied_out, sum_text
from archline.language import syntax as s
from archline.language.checking.contracts import cost_symbols
from archline.language.diagnostics import error
from archline.language.model import Module
from archline.language.substitution import processors_of
from archline.records import record
from archline.report.communication import BoundView, CommunicationView
from archline.report.view import Number

COST_GRID = 8
"""Before costs are derived, messages are looked at on grids of so many processors; `check` looks at larger ones."""


@record(eq=False)
class Communication:
    """Lower bounds for the communication of an algorithm on a grid, and whether runs replicate its input."""

    module: Module
    algorithm: s.Algorithm
    solved: SolvedProblem | None

    @staticmethod
    def of(module: Module, algorithm: s.Algorithm, problem: str | None) -> Communication | None:
        """None for algorithms that are not on a grid. Raises ArchlineError (AL419) for a problem that is unknown."""
        if not algorithm.grid:
            if problem is not None:
                raise error(PROBLEM, f"`{algorithm.name}` is not on a grid", hint="`--problem` is for those that are")
            return None
        names = module.signatures[algorithm]
        solved = (
            problem_of(algorithm)
            if problem is None
            else named_problem(problem, [*names.size_names, "P", *cost_symbols(module.externs.values())])
        )
        return Communication(module, algorithm, solved)

    @cached_property
    def replicated(self) -> Mapping[str, int] | None:
        """The sizes of a small run in which several processors read one element of the input; None without one."""
        from archline.api.trials import replicated_input

        return replicated_input(self.module, self.algorithm, COST_GRID)

    @cached_property
    def bounds(self) -> CommunicationBounds | None:
        """The lower bounds of the problem that it solves; None where that is not known."""
        return None if self.solved is None else communication_bounds(self.module, self.algorithm, self.solved)

    def view(self, costs: Costs, at: Mapping[str, Number] | None) -> CommunicationView | None:
        """The lower bounds, compared with derived costs; None where the problem is not known."""
        return None if self.bounds is None else communication_view(self.module, costs, self.bounds, self.replicated, at)

    def counted(self, at: Mapping[str, Number], counts: Counts, replicated: bool) -> CommunicationView | None:
        """The lower bounds for the memory of a run, compared with its counts."""
        if self.bounds is None:
            return None
        if replicated:
            return _without(self.bounds, at)
        words, messages = ((Fraction(each or 0),) * 2 for each in (counts.words, counts.messages))
        # Nothing is compared in symbols here: that takes time, and a run is of numbers.
        return _view(self.bounds, at, Fraction(counts.memory), words, messages, lambda _: Nearness())


def communication_view(
    module: Module,
    costs: Costs,
    bounds: CommunicationBounds,
    replicated: Mapping[str, int] | None,
    at: Mapping[str, Number] | None,
) -> CommunicationView:
    """The lower bounds, compared with derived costs, with values at a point."""
    if replicated is not None:
        return _without(bounds, replicated)
    memory = None if at is None else _at(costs["memory"], at)
    words, messages = (None if at is None else _at(costs[name], at) for name in ("words", "messages"))
    # Words of memory are whole numbers.
    held = None if memory is None else Fraction(floor(memory[1]))
    return _view(bounds, at, held, words, messages, lambda each: nearness(module, costs, bounds, each))


def _without(bounds: CommunicationBounds, replicated: Mapping[str, Number]) -> CommunicationView:
    problem = bounds.solved.problem
    return CommunicationView(bounds.solved.name, str(problem["any"]), bounds.title, (), (), replicated)


def _view(
    bounds: CommunicationBounds,
    at: Mapping[str, Number] | None,
    memory: Fraction | None,
    words: Ends | None,
    messages: Ends | None,
    near: Callable[[LowerBound], Nearness],
) -> CommunicationView:
    values = {} if at is None else bounds.at(at, memory)
    shown = tuple(BoundView.of(each, near(each), values.get(each.kind)) for each in bounds.bounds)
    placed = {} if at is None else bounds.placed(at)
    return CommunicationView(
        bounds.solved.name,
        str(bounds.solved.problem["any"]),
        bounds.title,
        tuple(_letters(bounds)),
        shown,
        None,
        words,
        messages,
        memory,
        placed.get("P"),
    )


def _letters(bounds: CommunicationBounds) -> list[str]:
    """What the letters of the bounds are, in the sizes of the algorithm."""
    processors = processors_of(bounds.algorithm)
    found = [] if processors is None else [f"P = {sum_text(multiplied_out(processors))}"]
    exact = any(each.needs_memory and each.held is not None for each in bounds.bounds)
    if bounds.registers and exact:
        found.append(f"{bounds.letter} = memory + {bounds.registers}, of registers")
    elif bounds.letter != "memory":
        found.append(f"{bounds.letter} = memory")
    texts = " ".join(f"{case.condition} {case.bound}" for each in bounds.bounds for case in each.cases)
    solved = bounds.solved
    if "a/b" in texts:
        sizes = ", ".join(format_expression(each) for each in solved.sizes.values())
        found.append(f"a >= b >= c are {sizes} in order")
    if solved.most is not None and "Q" in texts:
        count = format_expression(solved.count)
        found.append(f"Q = {count}/({format_expression(solved.most)})")
    return found


def _at(cost: Cost, point: Mapping[str, Number]) -> Ends | None:
    if cost.lower is None or cost.upper is None:
        return None
    try:
        return ends_at(cost, point)
    except EvaluationError:
        return None
