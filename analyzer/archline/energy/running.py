"""Run an algorithm on generated or given data, or on a matrix, and count the misses of several levels of caches."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, TypeVar

from archline.costs import rules
from archline.costs.algorithms import AlgorithmUnderFacts
from archline.costs.derived import DerivedCosts
from archline.costs.sizes import Given, Point, diagnose_broken_facts
from archline.energy.caches import Processors, Settings, select_cache_at_point, select_machine_cache
from archline.energy.estimates import ModelOnMachine
from archline.energy.formulas import bound_value, parse_formula
from archline.energy.machines import Machine
from archline.energy.models import find_model
from archline.execution import run_rules
from archline.execution.binding import describe_output
from archline.execution.cache import (
    Chunked,
    Policy,
    PrivateCaches,
    StaticSchedule,
    WorkStealing,
    lru,
    optimal,
    private_caches,
)
from archline.execution.data import bind_matrix, generate_arguments
from archline.execution.matrix_market import read_matrix
from archline.execution.paths import METRICS
from archline.execution.results import Cache, MatrixView, RunCounts
from archline.execution.results import Run as Execution
from archline.execution.run import execute
from archline.execution.run_rules import ENDLESS_HINT, LONGER_HINT
from archline.expr.intervals import Number
from archline.expr.tree import Span
from archline.language import syntax as s
from archline.language.diagnostics import ArchlineError, Diagnostic, error, suggest_closest
from archline.numbers import format_readable
from archline.records import field, record, replace

MAX_PROCESSORS = 65536
GIVEN_DATA = "the data was given"
DEFAULT_SETTINGS = Settings(chosen_cache=True)
"""The default settings of a run: compiled if that is faster, on simulated processors."""


@record(eq=False)
class ExecutedRun:
    """A run, with its arguments and further counts: private caches, the levels of a machine."""

    algorithm: AlgorithmUnderFacts
    execution: Execution
    given: Mapping[str, Number]
    cache: Cache | None
    settings: Settings
    data: str
    matrix: MatrixView | None
    private: PrivateCaches | None
    levels: Mapping[str, tuple[Cache, RunCounts]]
    """The counts of each level of the machine's caches, simulated separately."""
    _report: DerivedCosts | None = field(repr=False)

    @property
    def generated(self) -> bool:
        """Whether some of the data was generated."""
        return self.data != GIVEN_DATA

    @property
    def counts(self) -> RunCounts:
        """Flops, work, span, accesses, io, writebacks, memory; io is None if a cache is missing."""
        return self.execution.counts

    @property
    def sizes(self) -> Mapping[str, int]:
        return self.execution.sizes

    @property
    def at(self) -> Mapping[str, Number]:
        return {**self.sizes, **self.counted, **self.given}

    @property
    def counted(self) -> Mapping[str, int]:
        """The counted iterations of loops that have no derived bound, where the costs depend on these."""
        counts = self.execution.iterations
        used = self.algorithm.cost().parameters if counts else ()
        return {name: counts[name] for name in counts if name in used}


R = TypeVar("R", bound=ExecutedRun)


def run_at_sizes(
    kind: type[R], algorithm: AlgorithmUnderFacts, at: Given, cache: Cache | None, settings: Settings = DEFAULT_SETTINGS
) -> R:
    """Run on data generated for sizes; a sparse kernel on a matrix, for which `at` gives the remaining sizes.

    Raises ArchlineError: AL401 to AL407 for wrong sizes, AL420 to AL434 for a wrong matrix, and as a run does.
    """
    report, file, seed = algorithm.report(), settings.matrix, settings.seed
    refuse_counted_sizes(report, at)
    at, numbers = split_numbers(report, at, settings.option)
    point = report.point(at, () if file is not None else report.names.data_names, settings.option)
    # On a grid there is no cache unless one is asked for.
    cache = None if algorithm.node.grid and not settings.chosen_cache else cache
    cache, chosen = select_cache_at_point(point, cache, settings.chosen_cache)
    sizes, symbols = split_arguments(algorithm, point)
    view = None
    if file is None:
        subject, arguments = "data was", generate_arguments(*algorithm.executed, sizes, seed, numbers)
    else:
        matrix, block = read_matrix(file), settings.block
        view = MatrixView(str(file), matrix.n, matrix.m, matrix.nz, matrix.nr, matrix.nc, block)
        subject = "vectors were"
        arguments = bind_matrix(*algorithm.executed, matrix, sizes, block=block, seed=seed, numbers=numbers)
    settings, data = replace(settings, chosen_cache=chosen), _describe_data(subject, numbers, seed)
    try:
        return run_on_arguments(kind, algorithm, {**arguments, **symbols}, cache, settings, data, view, report)
    except ArchlineError as problem:
        raise ArchlineError([_explain_endless_loop(stopped) for stopped in problem.diagnostics]) from None


def _explain_endless_loop(stopped: Diagnostic) -> Diagnostic:
    """Return an error of a run on generated data; for too many iterations, with a hint that the data may cause it."""
    if stopped.rule is not run_rules.TOO_MANY_ITERATIONS or stopped.hint != ENDLESS_HINT:
        return stopped
    reason = "the generated data may never make its condition false: pass data from Python"
    return replace(stopped, hint=f"{reason}, or a sparse matrix by `--matrix FILE`; {LONGER_HINT}")


def refuse_counted_sizes(report: DerivedCosts, at: Given) -> None:
    """Raise ArchlineError (AL411) if a size of a run is a number of iterations, which the run itself counts."""
    for name in (name for name in at if name in report.names.iterations):
        message = f"`{name}` is a number of iterations, which the run counts"
        raise error(rules.OPTIONS_CLASH, message, span=at[name][1], hint=f"leave out `{name}`")


def split_numbers(report: DerivedCosts, at: Given, option: str) -> tuple[Given, dict[str, int | float]]:
    """Split the values that a run is given into those of sizes and those of scalar parameters.

    Raises ArchlineError (AL401, AL404, AL405).
    """
    names, types = report.names, {part.name: part.type for part in report.node.parameters}
    numbers: dict[str, int | float] = {}
    for name, (value, span) in at.items():
        if name in names.numbers:
            type_ = types[name]
            real = isinstance(type_, s.ScalarType) and type_.element == "real"
            numbers[name] = _convert_number(name, value, real, span)
        elif report.node.takes_no_value(name):
            message, advice = describe_output(report.node, name)
            raise error(rules.UNKNOWN_SIZE, message, span=span, hint=advice)
        elif name not in names.all:
            message = f"`{report.node.name}` has no size, and no number, `{name}`"
            accepted_names = dict.fromkeys((*names.run_input_names, *(size for size in at if size in names.all)))
            listed = ", ".join(f"`{accepted}`" for accepted in accepted_names)
            hint = suggest_closest(name, names.run_input_names) or (f"a run takes {listed}" if listed else None)
            raise error(rules.UNKNOWN_SIZE, message, span=span, hint=hint)
    return {name: size for name, size in at.items() if name not in numbers}, numbers


def _convert_number(name: str, value: object, real: bool, span: Span | None) -> int | float:
    if isinstance(value, bool) or not isinstance(value, int | Fraction | float):
        raise error(rules.NOT_A_NUMBER, f"the value of `{name}` is not a number", span=span)
    if real:
        return float(value)
    if value != int(value):
        message = f"`{name}` is {format_readable(Fraction(value))}, and its type is `int`"
        raise error(rules.NOT_AN_INTEGER, message, span=span)
    return int(value)


def _describe_data(subject: str, numbers: Mapping[str, int | float], seed: int) -> str:
    """Describe where data comes from: `k = 3; the other data was generated (seed 0)`."""
    if not numbers:
        return f"the {subject} generated (seed {seed})"
    given = ", ".join(f"{name} = {value}" for name, value in numbers.items())
    return f"{given}; the other {subject} generated (seed {seed})"


def split_arguments(algorithm: AlgorithmUnderFacts, point: Point) -> tuple[dict[str, int], Point]:
    """Split a point into sizes and indices of the algorithm (P on a grid), and symbols of cost and of the machine."""
    names = {*algorithm.sizes, *algorithm.signature.indices, *(["P"] if algorithm.node.grid else [])}
    sizes = {name: int(value) for name, value in point.items() if name in names}
    return sizes, {name: value for name, value in point.items() if name not in names}


def run_on_arguments(
    kind: type[R],
    algorithm: AlgorithmUnderFacts,
    arguments: Mapping[str, Any],
    cache: Cache | None = None,
    settings: Settings = DEFAULT_SETTINGS,
    data: str = GIVEN_DATA,
    matrix: MatrixView | None = None,
    report: DerivedCosts | None = None,
) -> R:
    """Run on arguments by parameter name; `data` describes their origin. Raises ArchlineError.

    `settings.processors`, which have private caches, need a `cache`.
    """
    module, node = algorithm.executed
    processors, machine, levels, compiled = settings.processors, settings.machine, settings.levels, settings.compiled
    if node.grid and processors is not None:
        names = sorted(set().union(*(s.find_names(axis.extent) for axis in node.grid)))
        sizes = "P=8" if "P" in names else ",".join(f"{name}=..." for name in names)
        hint = f"give them among the sizes: `--at {sizes}`"
        raise error(rules.WRONG_SCHEDULE, f"the grid of `{node.name}` determines the number of processors", hint=hint)
    events = processors is not None
    # On one processor a machine gives the caches to count; on a grid it gives the times of paths.
    priced = machine is not None and (bool(node.grid) or select_machine_cache(machine) is None)
    prices = _compute_seconds_per_unit(node, machine) if machine and priced else ()
    execution = execute(module, node, arguments, cache=None if events else cache, line=_get_line_words(cache),
                        events=events, compiled=compiled, engine=settings.engine, timeout=settings.timeout,
                        trace=bool(levels), prices=prices, path=settings.path,
                        seconds=settings.seconds)  # fmt: skip
    broken = diagnose_broken_facts(execution.sizes, algorithm.of_first_call)
    if broken:
        raise ArchlineError(broken)
    private = None
    if processors is not None and cache is not None:
        private = _simulate_private(execution, processors, cache)
    parameters = set(algorithm.parameters)
    given = {name: value for name, value in arguments.items() if name not in parameters}
    counted: dict[str, tuple[Cache, RunCounts]] = {}
    traces = {_get_line_words(cache): execution.trace}
    for name, level_cache in levels:
        if level_cache.L not in traces:
            again = execute(
                module,
                node,
                arguments,
                line=level_cache.L,
                trace=True,
                races=False,
                compiled=compiled,
                seconds=settings.seconds,
            )
            traces[level_cache.L] = again.trace
        trace = traces[level_cache.L]
        assert trace is not None
        simulated = (optimal if level_cache.policy == "optimal" else lru)(trace.lines, level_cache.lines, trace.writes)
        counted[name] = level_cache, execution.counts.with_cache(simulated.io, simulated.writebacks, level_cache.L)
    return kind(algorithm, execution, given, cache, settings, data, matrix, private, counted, report)


def _compute_seconds_per_unit(algorithm: s.Algorithm, machine: Machine) -> tuple[Fraction, ...]:
    """Return the seconds that a unit of each metric of paths takes. Raises ArchlineError (AL411, AL458)."""
    if not algorithm.grid:
        message = f"machine `{machine.name}` has no cache to count: its size or its line is missing"
        raise error(rules.OPTIONS_CLASH, message, hint="give --parameter line=64, or --cache in place of --machine")
    on = ModelOnMachine(find_model("two_level"), machine, (*METRICS, "memory", "P", "nodes"))
    on.answer_formula("time")
    prices = {"flops": "gamma_t", "words": "beta_t", "messages": "alpha_t"}
    prices |= {"node_words": "node_beta_t", "node_messages": "node_alpha_t"}
    seconds = {
        name: bound_value(on.replace_unknown_names(parse_formula(text)), on.constants).lower
        for name, text in prices.items()
    }
    return tuple(seconds.get(name, Fraction(0)) for name in METRICS)


def _get_line_words(cache: Cache | None) -> int:
    return 1 if cache is None else cache.L


def _simulate_private(execution: Execution, processors: Processors, cache: Cache) -> PrivateCaches:
    trace, events = execution.trace, execution.events
    assert trace is not None
    assert events is not None
    policy: Policy = "lru" if cache.policy == "lru" else "optimal"
    return private_caches(trace.lines, events, processors.schedule, processors.count, cache.lines, policy, trace.writes)


def read_schedule(text: str, count: int, seed: int) -> Processors:
    """Read `static`, `chunked:C`, `stealing` or `stealing:SEED` for some processors. Raises ArchlineError (AL409)."""
    kind, separator, number = text.partition(":")
    if not 1 <= count <= MAX_PROCESSORS:
        raise error(rules.WRONG_SCHEDULE, f"an execution can have 1 to {MAX_PROCESSORS} processors, not {count}")
    if separator and not (number.isascii() and number.isdigit() and len(number) < 19):
        raise error(rules.WRONG_SCHEDULE, f"`{text}`: a whole number must follow the colon")
    match kind:
        case "static" if not separator:
            return Processors(count, StaticSchedule(), "static")
        case "chunked" if separator and int(number) >= 1:
            return Processors(count, Chunked(int(number)), f"chunked ({number} iterations)")
        case "stealing":
            chosen = int(number) if separator else seed
            return Processors(count, WorkStealing(chosen), f"work-stealing (seed {chosen})")
        case _:
            pass
    hint = "schedules are `static`, `chunked:C` with C >= 1, `stealing` and `stealing:SEED`"
    raise error(rules.WRONG_SCHEDULE, f"there is no schedule `{text}`", hint=hint)
