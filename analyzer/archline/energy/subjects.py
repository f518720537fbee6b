"""Subjects of energies and comparisons are algorithms, with derived or executed metrics, or formulas of sizes."""

from __future__ import annotations

import os
import re
from collections import OrderedDict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import TypeAlias

from archline.algebra.polynomial import ZERO as NOTHING
from archline.analysis.cost import Cost, enclose_cost, enclose_count
from archline.costs import rules
from archline.costs.algorithms import AlgorithmUnderFacts, select_facts
from archline.costs.derived import DerivedCosts
from archline.costs.sizes import Given, Point, SizeNames, check_point
from archline.energy.caches import Settings, select_cache_at_point
from archline.energy.estimates import ModelOnMachine
from archline.energy.in_sizes import CostsInSizes
from archline.energy.model import Model
from archline.energy.models import find_model
from archline.energy.quantities import PER_LEVEL
from archline.energy.results import CacheUsed, EnergyFloor, Input, SymbolicMetric, TextBounds
from archline.energy.running import ExecutedRun, run_at_sizes
from archline.energy.targets import FormulaTarget, is_formula, read_target
from archline.execution.results import Cache
from archline.expr import build as b
from archline.expr.build import ZERO
from archline.expr.intervals import EvaluationError, Interval, Number
from archline.expr.text import Formula
from archline.growth.growths import Growth, is_integer_literal, reduce_sum_by_order
from archline.growth.log_domain import Domain
from archline.language import syntax as s
from archline.language.diagnostics import ArchlineError, error
from archline.language.metrics import METRICS, OF_CACHE, Derived, select_metrics
from archline.language.parser import parse_facts
from archline.language.source import Read, is_path, note_read, read_current_text, record_reads
from archline.language.substitution import build_processor_count
from archline.records import field, record, replace

INPUTS = select_metrics(lambda metric: metric.taken and metric.derived is not Derived.NEVER)
"""Metrics of an algorithm that are derived for models."""
GRID_INPUTS = ("flops", "work", "span", "words", "messages", "node_words", "node_messages", "memory", "P", "nodes")
"""Metrics on a grid that are derived for models: on the longest path, memory of a processor, extents of the grid."""
EXECUTED_METRICS = select_metrics(lambda metric: metric.taken and metric.executed)
FLOPS_BY_KIND = select_metrics(lambda metric: metric.taken and not metric.executed and metric.counts is not None)
"""Flops by kind, which runs count too."""
DERIVED_NOTE = "all inputs derived; nothing executed"
MAX_CACHED = 16
"""The number of algorithms whose derived metrics are cached."""
TYPED_FORMULAS_NOTE = "formulas typed by hand; nothing derived or executed"


LINE_MENTION = re.compile(r"(^line \d+(?=:))|((?<=\()(lines? [\d, ]+|assumed at line \d+)(?=\)))")


@record
class Basis:
    """The inputs of an energy: sizes, metrics, the cache, the origin of the data, and reasons for unknown metrics."""

    at: Mapping[str, Number]
    inputs: Mapping[str, Input]
    cache: CacheUsed | None
    data: str
    unknown: Mapping[str, str] = field(default_factory=dict)

    def amounts(self) -> dict[str, Interval]:
        return {name: entry.amount for name, entry in self.inputs.items()}


class AlgorithmSubject:
    """An algorithm whose derived or executed costs are the inputs of energy models."""

    def __init__(self, subject: AlgorithmUnderFacts) -> None:
        self.algorithm = subject
        self._derived: dict[object, Basis] = {}

    @property
    def name(self) -> str:
        return self.algorithm.name

    @cached_property
    def report(self) -> DerivedCosts:
        return self.algorithm.cost()

    @property
    def names(self) -> SizeNames:
        """The names, such as sizes, to which values may be given."""
        return self.report.names

    @property
    def where(self) -> tuple[s.Fact, ...]:
        return self.report.where

    @property
    def needed(self) -> tuple[str, ...]:
        """The assumptions of the costs in addition to the facts of the algorithm's `where`."""
        return self.report.needed

    @property
    def assumptions(self) -> tuple[str, ...]:
        """The assumptions of the costs; line numbers are followed by the name of the algorithm."""
        texts = self.report.assumptions
        return tuple(
            LINE_MENTION.sub(rf"\g<0> of `{self.name}`", text) if LINE_MENTION.search(text) else text for text in texts
        )

    @property
    def on_grid(self) -> bool:
        return bool(self.algorithm.node.grid)

    @property
    def derivable(self) -> tuple[str, ...]:
        """The metrics that may be derived for the algorithm."""
        if not self.on_grid:
            return (*INPUTS, *PER_LEVEL)
        available = {*self.report.without_io.metrics, *self.report.extents}
        return tuple(name for name in GRID_INPUTS if name in available)

    @property
    def metrics(self) -> Collection[str]:
        """The metrics that models may take."""
        return self.derivable if self.on_grid else (*self.derivable, "Z", "L")

    def cost(self, metric: str, procs: int | None = None) -> Cost:
        """Return the derived cost of a metric; on `procs` processors the span is the time, io that of all caches."""
        _, metric = PER_LEVEL.get(metric, ("", metric))
        if procs is not None and metric == "span":
            return self.report.time_on(procs)
        if procs is not None and metric == "io":
            return self.report.misses_on(procs)
        return self.report.cost(metric)

    @property
    def _required_names(self) -> tuple[str, ...]:
        """The names that must have a value; P is one if it determines the extents of the grid."""
        names = self.report.names.data_names
        return (*names, "P") if self.takes_processors else names

    @property
    def takes_processors(self) -> bool:
        """Whether the extents of the grid are given by P."""
        return any("P" in s.find_names(axis.extent) for axis in self.algorithm.node.grid)

    def processors(self, at: Given, option: str = "") -> Number:
        """Return the number of processors of a grid. Raises ArchlineError (AL401 to AL408) for wrong sizes."""
        return enclose_cost(self.cost("P"), self.report.point_of_run(at, self._required_names, option)).upper

    def basis(self, at: Given, metrics: Collection[str], settings: Settings) -> Basis:
        """Return the inputs at sizes: executed if `settings` say so or if some cannot be derived, else derived.

        Raises ArchlineError: AL401 to AL408 for wrong sizes, AL414 if an input can be neither derived nor executed, and
        as a run does.
        """
        if not settings.runs and settings.cache.policy == "optimal":
            derived_basis = self.get_derived_basis(at, metrics, settings)
            if not derived_basis.unknown.keys() & {*EXECUTED_METRICS, *FLOPS_BY_KIND, "P", "nodes"}:
                return derived_basis
        ran = self.run(at, settings)
        return self.make_executed_basis(ran, metrics, settings)

    def get_derived_basis(self, at: Given, metrics: Collection[str], settings: Settings) -> Basis:
        """Return the inputs that can be derived, and why inputs are unknown. Raises ArchlineError for wrong sizes."""
        key = (tuple(sorted((name, value) for name, (value, _) in at.items())), frozenset(metrics), settings)
        if key not in self._derived:
            self._derived[key] = self._derive_basis(at, metrics, settings)
        return self._derived[key]

    def _derive_basis(self, at: Given, metrics: Collection[str], settings: Settings) -> Basis:
        report = self.report
        point = report.point_of_run(at, (*self._required_names, *report.names.counted_iterations), settings.option)
        if self.on_grid:
            values, unknown = self._derive_inputs(point, metrics, settings)
            return Basis(point, values, None, DERIVED_NOTE, unknown)
        cache, chosen = select_cache_at_point(point, settings.cache, settings.chosen_cache)
        assert cache is not None
        values, unknown = self._derive_inputs({**point, "Z": cache.Z, "L": cache.L}, metrics, settings)
        used = CacheUsed(cache.Z, cache.L, cache.policy, chosen, settings.of_machine)
        return Basis(
            _drop_cache_words(point), {**values, **_make_cache_inputs(cache, metrics)}, used, DERIVED_NOTE, unknown
        )

    def _derive_inputs(
        self, point: Point, metrics: Collection[str], settings: Settings
    ) -> tuple[dict[str, Input], dict[str, str]]:
        inputs: dict[str, Input] = {}
        unknown: dict[str, str] = {}
        procs = None if self.on_grid else settings.procs
        caches = {level: {"Z": cache.Z, "L": cache.L} for level, cache in settings.levels}
        for name in (metric for metric in self.derivable if metric in metrics):
            level, _ = PER_LEVEL.get(name, ("", name))
            cost = self.cost(name, procs)
            try:
                lower, upper = enclose_count(cost, {**point, **caches.get(level, {})}).ends
            except EvaluationError as problem:
                unknown[name] = str(problem)
                continue
            # The misses of several caches are derived, under a condition in the report, even where io is declared.
            several = procs is not None and name == "io"
            origin = "declared" if cost.status == "declared" and cost.declared and not several else "derived"
            status = "exact" if lower == upper and cost.exact else "bounded"
            inputs[name] = Input(Interval(Fraction(lower), Fraction(upper)), origin, status)
        return inputs, unknown

    def run(self, at: Given, settings: Settings) -> ExecutedRun:
        """Run the algorithm on generated data, or on a matrix. Raises ArchlineError."""
        return run_at_sizes(ExecutedRun, self.algorithm, at, None if self.on_grid else settings.cache, settings)

    def make_executed_basis(self, ran: ExecutedRun, metrics: Collection[str], settings: Settings) -> Basis:
        """Return inputs counted by a run: all if `measured`, else those not derived. Raises ArchlineError (AL414)."""
        cache = ran.cache
        assert cache is not None or self.on_grid
        point = {**ran.at} if cache is None else {**ran.at, "Z": cache.Z, "L": cache.L}
        derived = ("P", "nodes") if settings.measured else metrics
        optimal = [name for name in derived if name not in OF_CACHE or cache is None or cache.policy == "optimal"]
        inputs, unknown = self._derive_inputs(point, optimal, settings)
        counts = {name: getattr(ran.counts, name) for name in EXECUTED_METRICS}
        counts |= {name: ran.counts.counted(METRICS[name]) for name in FLOPS_BY_KIND if name in metrics}
        for level, (_, level_counts) in ran.levels.items():
            counts |= {f"{level}_io": level_counts.io, f"{level}_bytes": level_counts.bytes}
        for name in counts:
            if name in metrics and name not in inputs and not (settings.procs and name in ("span", "io")):
                inputs[name] = Input(Interval.of(counts[name]), "executed")
        missing = [name for name in self.derivable if name in metrics and name not in inputs]
        if missing:
            reason = unknown.get(missing[0], "runs count the span and io of one processor")
            raise error(rules.NEEDS_BOUND, f"the {missing[0]} of `{self.name}` is unknown: {reason}")
        data = f"{ran.matrix.path}; {ran.data}" if ran.matrix is not None else ran.data
        if cache is None:
            return Basis(ran.at, inputs, None, data)
        used = CacheUsed(cache.Z, cache.L, cache.policy, ran.settings.chosen_cache, settings.of_machine)
        return Basis(_drop_cache_words(ran.at), {**inputs, **_make_cache_inputs(cache, metrics)}, used, data)

    def express_in_sizes(self, *, everywhere: bool = False) -> CostsInSizes:
        """Return forms and growths of the metrics; a grid has several processors per axis, unless `everywhere`."""
        return self._costs_everywhere if everywhere or not self.on_grid else self._costs_in_general

    @cached_property
    def _costs_everywhere(self) -> CostsInSizes:
        return CostsInSizes(self.report)

    @cached_property
    def _costs_in_general(self) -> CostsInSizes:
        general = self.report.general
        if general is None:
            return replace(self._costs_everywhere, shorten=True)
        return CostsInSizes(general, self.report.case.when, shorten=True)


class FormulaSubject:
    """Formulas typed by hand, which give the inputs of energy models in place of an algorithm."""

    def __init__(self, target: FormulaTarget) -> None:
        self.target = target

    where: tuple[s.Fact, ...] = ()
    assumptions: tuple[str, ...] = ()
    needed: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return self.target.name

    @property
    def metrics(self) -> Collection[str]:
        return self.target.formulas.keys()

    @property
    def names(self) -> SizeNames:
        """The sizes of the formulas: numbers, 0 or more."""
        amounts = tuple(name for name in self.target.sizes if name not in ("Z", "L", "P", "K"))
        return SizeNames({}, amounts=amounts, needed=self.target.sizes)

    def basis(self, at: Given, metrics: Collection[str], settings: Settings) -> Basis:
        """Return the values of the formulas at sizes as inputs. Raises ArchlineError (AL401 to AL408, AL462)."""
        words = {"Z": (settings.cache.Z, None), "L": (settings.cache.L, None)}
        held = {name: word for name, word in words.items() if name in self.target.sizes and name not in at}
        if settings.procs is not None and at.get("P", (settings.procs, None))[0] != settings.procs:
            raise error(rules.OPTIONS_CLASH, f"`--procs {settings.procs}` contradicts the P given by `--at`")
        if settings.procs is not None and "P" in self.target.sizes and "P" not in at:
            held["P"] = (settings.procs, None)
        point = check_point({**at, **held}, self.names, option=settings.option)
        amounts = self.target.amounts(point)
        cache = settings.cache
        used = CacheUsed(cache.Z, cache.L, cache.policy, settings.chosen_cache, settings.of_machine)
        inputs = {name: Input(amount, "declared") for name, amount in amounts.items()}
        read = {"Z", "L"} & held.keys()
        return Basis(
            point, {**_make_cache_inputs(cache, metrics), **inputs}, used if read else None, TYPED_FORMULAS_NOTE
        )

    when: tuple[s.Fact, ...] = ()
    shorten = False

    def express_in_sizes(self, *, everywhere: bool = False) -> FormulaSubject:
        """Return the formulas themselves, which are valid for all sizes; `everywhere` has no effect."""
        del everywhere
        return self

    def growth(self, metric: str) -> Growth:
        """Return the growth of a metric, which is its formula up to constants; without bounds if terms may cancel."""
        expr = self.target.formulas.get(metric)
        if expr is None or any(
            isinstance(node, s.Unary) or getattr(node, "op", "") == "-" for node in s.iterate_nodes(expr)
        ):
            # A difference may vanish, or be below 0, where its terms do not.
            return Growth(None, None)
        simplest = ZERO if is_integer_literal(expr, 0) else reduce_sum_by_order(expr, Domain(())) or expr
        return Growth(simplest, simplest)

    def make_symbolic_metric(self, metric: str) -> SymbolicMetric:
        expr = self.target.formulas.get(metric) or b.name(metric)
        text = Formula(expr)
        return SymbolicMetric(metric, "declared", TextBounds(text, text), ends=(expr, expr))


Subject: TypeAlias = AlgorithmSubject | FormulaSubject


def make_subject(target: str | AlgorithmUnderFacts, where: str | None = None) -> Subject:
    """Return the subject of a target: an algorithm, under facts of its sizes, or formulas. Raises ArchlineError.

    An algorithm is derived once: its subject is cached while its files have the same texts.
    """
    if isinstance(target, AlgorithmUnderFacts):
        return _make_algorithm_subject(target, where)
    if is_formula(target):
        return FormulaSubject(read_target(target))
    named = _load_algorithm(target)
    return _make_algorithm_subject(named, select_facts(named, where))


@lru_cache(maxsize=MAX_CACHED)
def _make_algorithm_subject(algorithm: AlgorithmUnderFacts, where: str | tuple[s.Fact, ...] | None) -> AlgorithmSubject:
    return AlgorithmSubject(algorithm.assuming(where))


_known: OrderedDict[object, tuple[Read, AlgorithmUnderFacts]] = OrderedDict()


def _load_algorithm(target: str) -> AlgorithmUnderFacts:
    key = target, is_path(target.partition("::")[0]), os.getcwd()
    read, algorithm = _known.pop(key, ({}, None))
    if algorithm is None or any(read_current_text(path) != text for path, text in read.items()):
        with record_reads() as read:
            algorithm = AlgorithmUnderFacts.named(target)
    _known[key] = read, algorithm
    if len(_known) > MAX_CACHED:
        _known.popitem(last=False)
    for path, text in read.items():
        note_read(path, text)
    return algorithm


def has_only_numbers(subjects: Iterable[Subject]) -> bool:
    """Whether all subjects are formulas of numbers only, which have a value though no sizes are given."""
    return all(isinstance(candidate, FormulaSubject) and not candidate.target.sizes for candidate in subjects)


def check_facts(where: str | None, subjects: Iterable[Subject]) -> None:
    """Raise ArchlineError (AL401) for a fact in `where` about a size that no algorithm has."""
    if not where:
        return
    allowed = {"Z", "L", "P", "K"}.union(*(candidate.names.all for candidate in subjects))
    for fact in parse_facts(where, "--where"):
        for name in sorted(s.find_names(fact) - allowed):
            raise error(rules.UNKNOWN_SIZE, f"there is no size `{name}`", span=fact.span)


def choose_model(chosen: Subject, given: Model | None, usual: Model) -> Model:
    """Return the `given` model, else the model that the formulas or the grid of a subject need, else `usual`."""
    if given is not None:
        return given
    if isinstance(chosen, FormulaSubject):
        return chosen.target.model
    if chosen.on_grid:
        return find_model("two_level" if "node_words" in chosen.derivable else "linear")
    return usual


def require_one_cache(model: Model, what: str) -> None:
    """Raise ArchlineError (AL411) for a model with several cache levels, as the command `what` supports only one."""
    if model.levels:
        message = f"{what} uses the misses of one cache, but model `{model.name}` those of each level"
        raise error(rules.OPTIONS_CLASH, message, hint="use model `roofline`, with the Z and L of a level")


def select_values(at: Given, chosen: Subject) -> Given:
    """Select the values that a subject has names for."""
    return {name: value for name, value in at.items() if name in chosen.names.all}


def _make_cache_inputs(cache: Cache, metrics: Collection[str]) -> dict[str, Input]:
    words = {"Z": cache.Z, "L": cache.L}
    return {name: Input(Interval.of(value), "given") for name, value in words.items() if name in metrics}


def _drop_cache_words(point: Mapping[str, Number]) -> dict[str, Number]:
    return {name: value for name, value in point.items() if name not in ("Z", "L")}


def iterate_processor_counts(names: Sequence[str], subjects: Sequence[Subject]) -> Iterator[tuple[str, str]]:
    """Yield the name of each algorithm on a grid, with its number of processors in sizes."""
    for name, candidate in zip(names, subjects, strict=True):
        if isinstance(candidate, AlgorithmSubject) and candidate.on_grid:
            yield name, candidate.report.write(candidate.cost("P").upper or NOTHING)


def make_processor_facts(one: Subject, other: Subject) -> tuple[s.Fact, ...]:
    """Return the fact that P, a size of one target, is the number of processors of the other, a product of sizes."""
    for first, second in ((one, other), (other, one)):
        if takes_processors(first) and isinstance(second, AlgorithmSubject):
            product = build_processor_count(second.algorithm.node)
            if product is not None:
                return (b.binary("==", b.name("P"), product),)
    return ()


def takes_processors(chosen: Subject) -> bool:
    """Whether P is a size of the target."""
    return "P" in chosen.target.sizes if isinstance(chosen, FormulaSubject) else chosen.takes_processors


def with_facts(growths: Mapping[str, Growth], facts: tuple[s.Fact, ...]) -> dict[str, Growth]:
    """Return the growths, each with further facts."""
    return {name: replace(growth, facts=(*growth.facts, *facts)) for name, growth in growths.items()}


def with_common_processor_count(at: Given, subjects: Sequence[Subject], option: str) -> Given:
    """Return the sizes, and P if some target takes it and all grids without P have the same number of processors.

    `option` gave the sizes. Sizes that are wrong are returned unchanged.
    """
    if "P" in at or not any(map(takes_processors, subjects)):
        return at
    products = [grid for grid in subjects if isinstance(grid, AlgorithmSubject) and grid.on_grid]
    products = [grid for grid in products if not grid.takes_processors]
    try:
        counts = {grid.processors(select_values(at, grid), option) for grid in products}
    except ArchlineError:
        # What is wrong with the sizes is reported where they are used.
        return at
    return {**at, "P": (int(counts.pop()), None)} if len(counts) == 1 else at


FLOOR_AMOUNTS = ("memory", "node_memory", "P", "nodes")
"""The amounts of an energy floor that are those of the algorithm."""


def derive_energy_floor(
    report: DerivedCosts, on: ModelOnMachine, amounts: Mapping[str, Interval], at: Mapping[str, Number]
) -> EnergyFloor | None:
    """Return a lower bound on the energy of any algorithm for the problem with this memory and these processors.

    None if no bound is known.
    """
    communication = report.communication
    memory, processors = amounts.get("memory"), amounts.get("P")
    if on.model.processors != "P" or communication is None or memory is None or processors is None or not memory.lower:
        return None
    bounds = communication.bounds
    flops = None if bounds is None else bounds.bound_flops_from_below(at)
    if bounds is None or flops is None or communication.replicating_run is not None:
        return None
    values = [low for low, _ in bounds.evaluate_bounds(at, memory.upper).values()]
    words = max([Fraction(0), *values])
    lower_amounts = {name: Interval.of(0) for name in amounts}
    lower_amounts |= {name: Interval.of(amounts[name].lower) for name in FLOOR_AMOUNTS if name in amounts}
    lower_amounts |= {"flops": Interval.of(flops / processors.upper), "words": Interval.of(words)}
    lower_amounts["messages"] = Interval.of(words / memory.upper)
    estimate = on.estimate(lower_amounts)
    if estimate.energy is None and estimate.time is None:
        return None
    assumptions = dict.fromkeys(assumption for bound in bounds.bounds for assumption in bound.assumptions)
    return EnergyFloor(str(bounds.solved.problem["any"]), estimate, tuple(assumptions))
