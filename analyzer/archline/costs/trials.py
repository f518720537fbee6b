"""Run programs at small sizes: find faults that stop them, and on small grids whether messages are lost."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import islice, product

from archline.analysis.checks.failures import list_assumed_size_facts
from archline.analysis.cost import Cost, enclose_count
from archline.analysis.sampling import build_grid_facts, build_size_search
from archline.execution import run as executor
from archline.execution import run_rules as rules
from archline.expr.intervals import EvaluationError
from archline.expr.solutions import SizeSearch
from archline.expr.text import format_expression
from archline.expr.tree import Span
from archline.expr.values import evaluate_static
from archline.ir.declarations import declared_scope
from archline.language import syntax as s
from archline.language.call_graph import find_reachable
from archline.language.diagnostics import Diagnostic, format_count
from archline.language.model import Module
from archline.language.substitution import find_exact_divisions
from archline.numbers import format_point
from archline.records import record, replace

TRIED_SIZES = (1, 2, 3, 5, 10)
MAX_WORK = 10_000
STOPPING_FAULTS = (
    rules.OUT_OF_BOUNDS,
    rules.SLICE_OUT_OF_BOUNDS,
    rules.UNSET,
    rules.SIZE_TOO_SMALL,
    rules.SHAPE,
    rules.WHERE,
    rules.TOO_MANY_ITERATIONS,
    rules.NOT_DECREASING,
    rules.TOO_DEEP_RECURSION,
    rules.BAD_STEP,
    rules.RACE,
)
"""The rules of faults that stop a run, except sizes that do not divide and data that an `assume` or a type excludes."""


def find_stopping_run(module: Module, algorithm: s.Algorithm, work: Cost) -> tuple[Diagnostic, Point] | None:
    """Find a run at small, mostly equal, sizes that stops with a fault; return the fault and the sizes, or None.

    Algorithms with `int` data or indices are not run, as programs do not declare their meaningful values.
    """
    if any(_has_undeclared_values(parameter.type) for parameter in algorithm.parameters):
        return None
    for size in TRIED_SIZES:
        sizes = {name: max(size, least) for name, least in module.signatures[algorithm].at_least.items()}
        if not _is_short_run(work, sizes):
            break
        run = executor.try_run(module, algorithm, sizes)
        if isinstance(run, Diagnostic) and run.rule in STOPPING_FAULTS and run.span is not None:
            return run, sizes
    return None


def _has_undeclared_values(kind: s.Type) -> bool:
    """Test whether a type is that of `int` data or an index."""
    match kind:
        case s.IndexType():
            return True
        case s.ScalarType(element=element) | s.ArrayType(element=element):
            return element in ("int", "bool", "char")
        case _:
            return False


def _is_short_run(work: Cost, sizes: Mapping[str, int]) -> bool:
    """Test whether a run takes at most MAX_WORK; if its work is unknown, whether no size is above TRIED_SIZES[1]."""
    try:
        if work.has_values:
            return enclose_count(work, sizes).upper <= MAX_WORK
    except EvaluationError:
        pass
    return max(sizes.values(), default=0) <= TRIED_SIZES[1]


LARGEST_GRID, MAX_LONG_GRID = 32, 8
COST_GRID = 8
"""The largest grid on which messages are checked before costs are derived; `check` uses larger grids."""
MESSAGE_FAULTS = frozenset(
    (rules.PARTNER, rules.MESSAGE_SIZE, rules.DEADLOCK, rules.LOST_MESSAGE, rules.OUTPUT_TWICE, rules.UNSET)
)
MAX_REPEATED_GRID, RUNS_ON_SMALL_GRID = 3, 2
"""On each grid of at most `MAX_REPEATED_GRID` processors `RUNS_ON_SMALL_GRID` runs are made, on larger ones one run."""
TOTAL_WORK, MESSAGE_WORK = 1_000_000, 30
"""The limit of work of all runs of an algorithm, about a second, and the work that a message or a processor counts as.
"""
MAX_TRIALS, MAX_CANDIDATES = 64, 400
"""The maximum numbers of points that are tried on a grid, and of candidates from which they are chosen."""
Point = Mapping[str, int]


@record
class MessageCheck:
    """The result of runs on grids: a failure, or the number of `processors` up to which there is none.

    If nothing was run that number is 0, and `reason` says why. `replicated` are the sizes of the first run in which
    several processors read one element of the input.
    """

    failure: Diagnostic | None
    processors: int
    reason: str = ""
    replicated: Point | None = None

    @property
    def text(self) -> str:
        """The line of a report."""
        if not self.processors:
            return f"not checked: {self.reason}"
        where = f"; replicated input at {format_point(self.replicated)}" if self.replicated else ""
        return f"checked up to P = {self.processors}{where}"


def check_messages(module: Module, algorithm: s.Algorithm, most: int = LARGEST_GRID) -> MessageCheck | None:
    """Check messages by runs on grids of 1 to `most` processors.

    None if the algorithm sends no messages, unless an element is output twice.
    """
    agreements = module.agreements.get(algorithm)
    messages = _check_on_grids(module, algorithm, most)
    fails = messages is not None and messages.failure is not None and messages.failure.rule is rules.OUTPUT_TWICE
    return messages if (agreements is not None and agreements.axes) or fails else None


@lru_cache(maxsize=256)
def _check_on_grids(module: Module, algorithm: s.Algorithm, most: int) -> MessageCheck | None:
    """Run an algorithm on grids of 1 to `most` processors until a run fails; None if it is not on a grid."""
    agreements = module.agreements.get(algorithm)
    if not algorithm.grid or agreements is None:
        return None
    if agreements.axes and agreements.data is not None:
        unpaired = _find_unpaired_message(module, algorithm)
        if unpaired is not None:
            return MessageCheck(unpaired, 0)
        return MessageCheck(None, 0, f"the messages of line {agreements.data.line} depend on data")
    left, reached = TOTAL_WORK, most
    replicated: Point | None = None
    ran = False
    # Failures and refusals on several processors are reported in preference to those on one.
    alone: Diagnostic | None = None
    refusals: dict[bool, Diagnostic] = {}
    for number, points in enumerate(_iterate_grid_points(module, algorithm, most)):
        # The smallest sizes may hide failures that the next ones show.
        few = bool(points) and points[0]["P"] <= MAX_REPEATED_GRID
        tried = points if few else points[number % 2 :] or points
        runs = (_run_trial(module, algorithm, point, left) for point in islice(tried, MAX_TRIALS))
        outcome, refused = _find_failure_or_completed_run(runs, RUNS_ON_SMALL_GRID if few else 1)
        if refused is not None:
            refusals.setdefault(points[0]["P"] == 1, refused)
        if isinstance(outcome, Diagnostic) and outcome.rule is rules.OUTPUT_TWICE and agreements.output is not None:
            return MessageCheck(None, 0, f"the output of line {agreements.output.line} depends on data")
        if isinstance(outcome, Diagnostic):
            if points[0]["P"] > 1:
                return _make_failed_check(module, algorithm, outcome)
            alone, outcome = outcome, None
            continue
        if outcome is None and refused is not None and not ran:
            # The algorithm may run on more processors.
            continue
        ran = ran or outcome is not None
        if outcome is not None and outcome.replicated and replicated is None:
            replicated = outcome.at
        left -= outcome.work if outcome is not None and outcome.work else left
        if left <= 0:
            reached = points[0]["P"] - 1 if points else 0
            break
    if alone is not None:
        return _make_failed_check(module, algorithm, alone)
    if not ran:
        if refusals:
            return _make_failed_check(module, algorithm, refusals.get(False) or refusals[True])
        reached = 0
    return MessageCheck(None, reached, "" if reached else "no small sizes were found at which it runs", replicated)


def _find_failure_or_completed_run(
    runs: Iterable[Diagnostic | CompletedRun | Refusal | None], most: int
) -> tuple[Diagnostic | CompletedRun | None, Diagnostic | None]:
    """Return the first failure, or else the first of up to `most` completed runs, and the reason of the first refusal.

    The result has None for a part that does not occur.
    """
    refused: Diagnostic | None = None
    ran: list[CompletedRun] = []
    for run in runs:
        if isinstance(run, Refusal):
            refused = refused or run.reason
        elif isinstance(run, Diagnostic):
            return run, refused
        elif run is not None:
            ran.append(run)
            if len(ran) == most:
                break
    return ran[0] if ran else None, refused


@lru_cache(maxsize=256)
def find_replicating_run(module: Module, algorithm: s.Algorithm, most: int) -> Point | None:
    """Find a run on up to `most` processors in which several read one element of a global array; return its sizes.

    None if no run shows that; runs at larger sizes still may.
    """
    if not algorithm.grid:
        return None
    messages = _check_on_grids(module, algorithm, most)
    if messages is not None and messages.processors:
        return messages.replicated
    # If the messages depend on data, nothing has been run yet.
    for points in _iterate_grid_points(module, algorithm, most):
        ran = next((run for point in points if (run := _run_trial(module, algorithm, point, TOTAL_WORK // most))), None)
        if isinstance(ran, CompletedRun) and ran.replicated:
            return ran.at
    return None


@record
class CompletedRun:
    """A run that ended or reached the limit of work, with its sizes, its work, and whether its input was replicated."""

    at: Point
    work: int
    replicated: bool


@record
class Refusal:
    """A run that stopped because the `where` of a callee is false."""

    reason: Diagnostic


def _make_failed_check(module: Module, algorithm: s.Algorithm, failure: Diagnostic) -> MessageCheck:
    """Report a failure, unless it may be due to an index that callers restrict."""
    where = s.find_names(algorithm.where)
    free = ", ".join(f"`{name}`" for name in module.signatures[algorithm].indices if name not in where)
    if free:
        return MessageCheck(None, 0, f"no `where` restricts {free}")
    left = _find_unpaired_message(module, algorithm) if failure.rule in (rules.DEADLOCK, rules.LOST_MESSAGE) else None
    if left is not None:
        failure = replace(left, rule=failure.rule, message=f"{left.message}; {failure.message}")
    return MessageCheck(failure, 0)


def _find_unpaired_message(module: Module, algorithm: s.Algorithm) -> Diagnostic | None:
    """Find the first `send` or `receive` that has no partner in the text of its algorithm; None if all have."""
    for caller in (algorithm, *find_reachable(module, algorithm)):
        by_operation: dict[str, list[s.Communicate]] = {"send": [], "receive": []}
        for node in s.iterate_nodes(caller.body):
            if isinstance(node, s.Communicate) and node.operation in by_operation:
                by_operation[node.operation].append(node)
        (fewer, some), (more, surplus) = sorted(by_operation.items(), key=lambda pair: len(pair[1]))
        if len(surplus) > len(some):
            counts = " and ".join(format_count(len(nodes), name) for name, nodes in by_operation.items())
            message = f"this `{more}` has no `{fewer}`: the text of `{caller.name}` has {counts}"
            hint = "the k-th `send` in the text of an algorithm pairs with its k-th `receive`"
            return Diagnostic(rules.LOST_MESSAGE, message, surplus[len(some)].span, hint=hint)
    return None


def _run_trial(
    module: Module, algorithm: s.Algorithm, point: Point, most: int
) -> Diagnostic | CompletedRun | Refusal | None:
    """Run an algorithm at a point with at most `most` work: return a failure, a completed run or a refusal.

    None if it cannot be run, or another fault stops it.
    """
    run = executor.try_run(module, algorithm, point, max(most // point["P"], 1))
    if isinstance(run, Diagnostic):
        if run.rule is rules.WHERE:
            bound = _describe_callee_sizes(module, algorithm, run.span)
            message = f"{run.message}{bound}, at {format_point(point)} and all other sizes tried"
            return Refusal(replace(run, message=message))
        if run.rule in MESSAGE_FAULTS:
            return replace(run, message=f"{run.message}, at {format_point(point)}")
        return CompletedRun(point, most, False) if run.rule is rules.INTERRUPTED else None
    if run is None:
        return None
    work = run.counts.total["work"] + MESSAGE_WORK * run.counts.total["messages"] + MESSAGE_WORK * point["P"]
    return CompletedRun(point, work, run.replicated)


def _describe_callee_sizes(module: Module, algorithm: s.Algorithm, span: Span | None) -> str:
    """Describe the sizes of the callee in the call at a span, as `, with n = m/2`; empty if they are unknown."""
    calls = (node for node in s.iterate_nodes(algorithm.body) if isinstance(node, s.Call) and node.span == span)
    bindings = next((module.bindings[call] for call in calls if call in module.bindings), {})
    values = [f"{name} = {format_expression(value)}" for name, value in bindings.items() if value is not None]
    return f", with {', '.join(values)}" if values else ""


# Sizes
def _iterate_grid_points(module: Module, algorithm: s.Algorithm, most: int) -> Iterator[list[Point]]:
    """Yield for grids of 1, 2, ... processors a list of points with small sizes.

    For each number there is the most square grid; for small numbers also the longest one.
    """
    signature = module.signatures[algorithm]
    names = ("P", *signature.size_names, *signature.indices)
    # These divisions hold in every run; runs that other assumptions exclude are made, to see that they are refused.
    facts = (*build_grid_facts(algorithm), *algorithm.where, *find_exact_divisions(algorithm))
    search = build_size_search(algorithm, declared_scope(module, algorithm), names, facts)
    likely = build_size_search(
        algorithm, declared_scope(module, algorithm), names, (*facts, *list_assumed_size_facts(module, algorithm))
    )
    of_axes = s.find_names(tuple(axis.extent for axis in algorithm.grid))
    chosen = [name for name in names[1:] if name in of_axes]
    for processors in range(1, most + 1):
        shapes: dict[tuple[int, ...], Point] = {}
        divisors = [divisor for divisor in range(1, processors + 1) if processors % divisor == 0]
        for values in product(divisors, repeat=len(chosen)):
            point = {"P": processors, **dict(zip(chosen, values, strict=True))}
            if search.is_allowed(point):
                extents = tuple(evaluate_static(axis.extent, point) for axis in algorithm.grid)
                shapes.setdefault(extents, point)
        ordered = sorted(shapes, key=lambda extents_of_shape: (sum(extents_of_shape), extents_of_shape))
        for shape in dict.fromkeys((*ordered[:1], *(ordered[-1:] if processors <= MAX_LONG_GRID else ()))):
            points = {
                tuple(run[name] for name in names): run for run in _iterate_small_sizes(search, likely, shapes[shape])
            }
            yield [points[values] for values in sorted(points, key=lambda values: (sum(map(abs, values)), values))]


def _iterate_small_sizes(search: SizeSearch, likely: SizeSearch, shape: Point) -> Iterator[Point]:
    """Yield points with the `shape` of a grid and small values of the other sizes, `likely` ones first."""
    processors, free = shape["P"], [name for name in search.names if name not in shape]
    small = dict.fromkeys((processors, 2 * processors, processors**2, 1, 2, 3, processors + 1))
    width = max(2, int(MAX_CANDIDATES ** (1 / max(1, len(free)))))
    values = [
        [*small][:width]
        if name in search.least
        else (0, 1, processors - 1)
        if name in s.find_names(likely.facts)
        else (0,)
        for name in free
    ]
    for source in (likely, search):
        yield from source.iterate_solutions(
            ({**shape, **dict(zip(free, asked, strict=True))} for asked in product(*values)), shape
        )
