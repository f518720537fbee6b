"""Compare the costs of algorithms: growth, verdicts at sizes on machines, and where the smaller of two changes."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import combinations

from archline.compare.executions import iterate_paired_runs
from archline.compare.growth import GrowthRelation, compare_growths, with_equal_ratios
from archline.compare.iterations import ComparedIterations
from archline.compare.results import ComparedPoint, CostComparison, Pair
from archline.compare.verdicts import (
    OPEN,
    QUANTITIES,
    Crossover,
    Execution,
    PointVerdict,
    bracket_changes,
    decide_by_executions,
    divide_amounts,
    judge_estimates,
)
from archline.costs import rules
from archline.costs.sizes import Given, convert_python_values, require_known_names
from archline.energy.answers import apply_to_subject, derive_numeric
from archline.energy.caches import Settings
from archline.energy.estimates import TIME_DEPENDENT, Estimate, ModelOnMachine, choose_default_model, estimate_amounts
from archline.energy.formulas import names_in
from archline.energy.growth import derive_growth, derive_term_growths
from archline.energy.in_sizes import CostsInSizes
from archline.energy.machines import Machine, Provenance, Quantity
from archline.energy.model import Model
from archline.energy.quantities import METRICS
from archline.energy.quantities import QUANTITIES as MACHINE_QUANTITIES
from archline.energy.results import CacheUsed
from archline.energy.running import ExecutedRun
from archline.energy.subjects import (
    AlgorithmSubject,
    FormulaSubject,
    Subject,
    check_facts,
    choose_model,
    has_only_numbers,
    iterate_processor_counts,
    make_processor_facts,
    select_values,
    with_common_processor_count,
    with_facts,
)
from archline.energy.sweeps import SizeSweep
from archline.expr.text import format_fact
from archline.growth.growths import Growth
from archline.language.conditions import SIZE_RULES
from archline.language.diagnostics import ArchlineError, error
from archline.language.metrics import ON_REQUEST, select_metrics

SKIPPED_RULES = {rules.FACT_FAILS, rules.TOO_SMALL, *SIZE_RULES}
COMPARED_METRICS = select_metrics(lambda metric: metric.taken and metric.declared)
"""Metrics whose growth is compared."""


def compare_subjects(
    subjects: Sequence[Subject],
    machines: Sequence[Machine],
    given_model: Model | None,
    given_by: str | None,
    at: Given | None,
    sweep: SizeSweep | None,
    settings: Settings,
    execute: bool = False,
    where: str | None = None,
    *,
    everywhere: bool = False,
) -> CostComparison:
    """Compare all pairs of subjects in growth, and at sizes on machines if these are given.

    The growth of programs on a grid is that for several processors along each axis, unless `everywhere`. With
    `execute`, programs are run on generated data where the bounds do not decide. Raises
    ArchlineError (AL411 for fewer than two subjects, or sizes without a machine).
    """
    if given_by == "bytes" and not machines:
        machines = [_BARE_MACHINE]
    if at is None and machines and has_only_numbers(subjects):
        at = {}
    _check_options(subjects, machines, given_by, at, sweep, settings)
    check_facts(where, subjects)
    sized = at is not None or sweep is not None or settings.matrix is not None
    levels = sized and settings.takes_levels({*(at or ()), *(sweep.names if sweep else ())})
    model = given_model or _choose_model(subjects, machines, levels, given_by)
    without = "" if given_by else _explain_missing_energy(subjects, machines, model)
    by = given_by or ("time" if without else "energy")
    names = _make_distinct_names(subjects)
    pairs = list(combinations(range(len(subjects)), 2))
    iterations = ComparedIterations(subjects, _make_labels(subjects))
    in_sizes = [subject.express_in_sizes(everywhere=everywhere) for subject in subjects]
    growths = [
        {
            name: iterations.rename_growth(index, growth)
            for name, growth in _derive_growths(subject, in_sizes[index], model, by).items()
        }
        for index, subject in enumerate(subjects)
    ]

    def relate_growths(i: int, j: int) -> dict[str, GrowthRelation]:
        facts = make_processor_facts(subjects[i], subjects[j])
        first, second = (with_facts(growths[index], facts) for index in (i, j))
        relations = {
            name: iterations.reject_refutations(relation, (first[name], second[name]))
            for name, relation in compare_growths(first, second).items()
        }
        shared = [name for name in COMPARED_METRICS if all(_is_shared(index, name) for index in (i, j))]
        return with_equal_ratios(
            relations, _derive_constant_ratios(shared, subjects[i], in_sizes[i], in_sizes[j], model)
        )

    def _is_shared(index: int, metric: str) -> bool:
        subject = subjects[index]
        upper = (
            subject.cost(metric).upper if isinstance(subject, AlgorithmSubject) and metric in subject.metrics else None
        )
        return upper is None or iterations.is_shared(index, upper.names)

    growth = {(names[i], names[j]): relate_growths(i, j) for i, j in pairs}
    when = tuple(dict.fromkeys(format_fact(fact) for sizes in in_sizes for fact in sizes.when))
    implied = {format_fact(fact) for sizes in in_sizes for fact in sizes.where}.difference(when)
    valued_names = {*(at or ()), *(() if sweep is None else sweep.names)}
    assumed = iterations.iterate_assumptions(valued_names)
    result = CostComparison(
        tuple(names),
        model,
        by,
        growth,
        assumptions=(*dict.fromkeys(text for subject in subjects for text in subject.assumptions), *assumed),
        iterations=tuple(iterations.iterate_loops()),
        when=when,
        implied=frozenset(implied),
        processors=dict(iterate_processor_counts(names, subjects)),
        shorten=any(sizes.shorten for sizes in in_sizes),
    )
    if not (machines and sized):
        return result
    sizes_given = dict(at or {})
    tied = () if sweep is None else sweep.names
    if sweep is not None:
        sweep.combine_with(sizes_given)
    named = [*(subject.names for subject in subjects), iterations.further_names]
    require_known_names({**sizes_given, **dict.fromkeys(tied, (1, None))}, named)
    if settings.matrix is None:
        iterations.require_values(
            valued_names, dict.fromkeys(name for subject in subjects for name in subject.names.needed)
        )
    work = _PairwiseComparison(subjects, names, iterations, machines, model, by, sizes_given, sweep, settings, execute)
    points = tuple(work.compare_points())
    return replace(
        result,
        points=points,
        crossovers=tuple(work.find_crossovers(points)),
        caches=work.caches,
        variable="" if sweep is None else sweep.variable,
        data="; ".join(filter(None, (*work.sources, work.executed))),
        without=without,
    )


def _check_options(
    subjects: Sequence[Subject],
    machines: Sequence[Machine],
    by: str | None,
    at: Given | None,
    sweep: SizeSweep | None,
    settings: Settings,
) -> None:
    if len(subjects) < 2:
        raise error(rules.OPTIONS_CLASH, "a comparison needs at least two algorithms", hint="archline compare A B ...")
    if by is not None and by not in QUANTITIES:
        raise error(rules.OPTIONS_CLASH, f"`--by` must be one of {', '.join(QUANTITIES)}, not `{by}`")
    for lacking in (chosen.name for chosen in subjects if by == "bytes" and by not in chosen.metrics):
        hint = "algorithms of shared memory have bytes, and so do formulas that give them: bytes=..."
        raise error(rules.OPTIONS_CLASH, f"`{lacking}` has no bytes to compare by", hint=hint)
    if not machines and (at is not None or sweep is not None or settings.matrix is not None):
        raise error(rules.OPTIONS_CLASH, "sizes require a machine", hint="give --machine NAME")


def _choose_model(subjects: Sequence[Subject], machines: Sequence[Machine], levels: bool, by: str | None) -> Model:
    """Return the model that formulas and grids among the subjects need, else the default one for `by`.

    With `levels` the default may be the model with the levels of caches.

    Raises ArchlineError (AL411) if they need different ones.
    """
    deciding = [x for x in subjects if isinstance(x, FormulaSubject) or x.on_grid] or subjects[:1]
    default = choose_default_model(machines, at_sizes=levels, asked=by or "energy")
    models = {model.name: model for model in (choose_model(x, None, default) for x in deciding)}
    if len(models) > 1:
        raise error(rules.OPTIONS_CLASH, f"the targets need models {' and '.join(models)}", hint="give --model NAME")
    return next(iter(models.values()))


def _explain_missing_energy(subjects: Sequence[Subject], machines: Sequence[Machine], model: Model) -> str:
    """Explain why energies cannot be compared although times can; empty if energies can, or neither can."""
    lacks = (
        ModelOnMachine(model.with_machine_formulas(on), on, (*subjects[0].metrics, "Z", "L")).energy_problem
        for on in machines
    )
    return next(filter(None, lacks), "") if model.essential == "time" else ""


def _make_distinct_names(subjects: Sequence[Subject]) -> list[str]:
    """List the names of the subjects; equal names are numbered."""
    names = [subject.name for subject in subjects]
    return [name if names.count(name) == 1 else f"{name} ({index})" for index, name in enumerate(names, 1)]


def _make_labels(subjects: Sequence[Subject]) -> list[str]:
    """List a label for each subject, such as `jacobi` in the size `jacobi.T`; equal names are numbered."""
    names = [subject.name for subject in subjects]
    return [name if names.count(name) == 1 else f"{name}_{index}" for index, name in enumerate(names, 1)]


def _derive_growths(
    chosen: Subject, in_sizes: CostsInSizes | FormulaSubject, model: Model, by: str
) -> dict[str, Growth]:
    """Return the growth of the metrics, the energy terms, and the time if it is compared, for quantities above 0.

    If bytes are compared, which no model has, return the growth of the metrics and the bytes.
    """
    metrics = {name: in_sizes.growth(name) for name in COMPARED_METRICS if name in chosen.metrics}
    if by == "bytes":
        return {**metrics, by: in_sizes.growth(by)}
    model = model.with_machine_formulas(_UNIT_MACHINE)
    on = ModelOnMachine(
        model, _UNIT_MACHINE, frozenset({*chosen.metrics, "Z", "L"}.difference({*ON_REQUEST} - model.formula_names))
    )
    held = on.metrics_needed - {"flops"}
    if model.at_most or not held & METRICS.keys() <= {*chosen.metrics, "Z", "L"}:
        return metrics
    inputs = {**metrics, **{name: in_sizes.growth(name) for name in held - metrics.keys() - {"Z", "L"}}}
    time = {"time": derive_growth(on.formula("time"), inputs)} if by in TIME_DEPENDENT else {}
    terms = derive_term_growths(on, inputs)
    return {
        **metrics,
        **time,
        **{name if name == "energy" else f"energy.{name}": g for name, g in terms.items()},
    }


def _derive_constant_ratios(
    metrics: Collection[str],
    chosen: Subject,
    one: CostsInSizes | FormulaSubject,
    other: CostsInSizes | FormulaSubject,
    model: Model,
) -> dict[str, str]:
    """Return the ratios of `metrics` that are constant, and "1" for terms of the energy whose metrics are equal."""
    if isinstance(one, FormulaSubject) or isinstance(other, FormulaSubject):
        return {}
    candidates = {name: one.prove_ratio(other, name) for name in metrics if name in chosen.metrics}
    ratios = {name: ratio for name, ratio in candidates.items() if ratio is not None}
    if model.at_most:
        return ratios
    equal = {name for name, ratio in ratios.items() if ratio == "1"}
    on = ModelOnMachine(model, _UNIT_MACHINE, frozenset(chosen.metrics))
    same = {
        name for name in ("time", *model.energy) if names_in(on.formula(name)) & METRICS.keys() <= {*equal, "Z", "L"}
    }
    terms = [f"energy.{name}" for name in model.energy if name in same]
    both = (*terms, *(("energy",) if len(terms) == len(model.energy) else ()), *({"time"} & same))
    return {**ratios, **dict.fromkeys(both, "1")}


_UNIT_MACHINE = Machine(
    "any", "", "any machine", "", (),
    {
        name: Quantity(name, Fraction(1), "1", "assumed", Provenance())
        for name in MACHINE_QUANTITIES
    },
)  # fmt: skip
_BARE_MACHINE = replace(
    _UNIT_MACHINE,
    title="",
    quantities={n: each for n, each in _UNIT_MACHINE.quantities.items() if MACHINE_QUANTITIES[n].unit != "B"},
)
"""A machine without caches, for quantities that do not depend on a machine."""


@dataclass
class _PairwiseComparison:
    """The comparison of all pairs of subjects at sizes on machines; estimates are cached."""

    subjects: Sequence[Subject]
    names: Sequence[str]
    iterations: ComparedIterations
    machines: Sequence[Machine]
    model: Model
    by: str
    at: Given
    sweep: SizeSweep | None
    settings: Settings
    execute: bool
    caches: dict[str, CacheUsed] = field(default_factory=dict)
    sources: dict[str, None] = field(default_factory=dict)
    executed: str = ""
    _known: dict[tuple[int, int, int], Estimate | ArchlineError] = field(default_factory=dict)

    def compare_points(self) -> Iterator[ComparedPoint]:
        """Yield the verdict on each pair, at each size on each machine, or on the matrix if one is given."""
        if self.settings.matrix is not None:
            yield from self._compare_on_matrix()
            return
        for size in [0] if self.sweep is None else self.sweep.points:
            for machine in range(len(self.machines)):
                for i, j in combinations(range(len(self.subjects)), 2):
                    yield self._compare_at(size, machine, i, j)

    def _make_given_sizes(self, size: int) -> Given:
        """Return the given sizes at the point `size` of the sweep, with the processors of the subjects."""
        given = self.at if self.sweep is None else {**self.at, **self.sweep.assign_value(size)}
        return with_common_processor_count(given, self.subjects, self.settings.option)

    def _compare_at(self, size: int, machine: int, i: int, j: int) -> ComparedPoint:
        pair = (self.names[i], self.names[j])
        first, second = (self._estimate_subject(index, machine, size) for index in (i, j))
        at = {name: value for name, (value, _) in self._make_given_sizes(size).items()}
        for result in (first, second):
            if isinstance(result, ArchlineError):
                verdict = PointVerdict(OPEN, None, None, "", result.diagnostics[0].message)
                return ComparedPoint(at, self.machines[machine], pair, verdict)  # type: ignore[arg-type]
        assert isinstance(first, Estimate)
        assert isinstance(second, Estimate)
        verdict = judge_estimates(first, second, self.by)
        if self.execute and verdict.verdict == OPEN and verdict.ratio is not None:
            verdict = self._decide_by_runs(verdict, size, machine, i, j)
        return ComparedPoint(at, self.machines[machine], pair, verdict, first, second)  # type: ignore[arg-type]

    def _estimate_subject(self, index: int, machine: int, size: int) -> Estimate | ArchlineError:
        """Return the estimate of a subject at a point of the sweep, or the error that its facts exclude the point.

        `index`, `machine` and `size` are positions in the lists of subjects, machines and points.
        """
        key = (index, machine, size)
        if key not in self._known:
            try:
                at = self.iterations.select_values(index, self._make_given_sizes(size))
                self._known[key] = self._estimate_in_numbers(index, machine, at, self.settings)
            except ArchlineError as problem:
                # Facts of the sizes may fail at some points of a sweep; other errors occur at all points.
                if self.sweep is None or not {diagnostic.rule for diagnostic in problem.diagnostics} <= SKIPPED_RULES:
                    raise
                self._known[key] = problem
        return self._known[key]

    def _estimate_in_numbers(self, index: int, machine: int, at: Given, settings: Settings) -> Estimate:
        """Estimate a subject at sizes on a machine, and note the cache and the source of the inputs."""
        result = derive_numeric(
            self.subjects[index], self._complete_machine(machine), self.model, at, settings, self._metric_of_comparison
        )
        assert result.estimate is not None
        if result.cache is not None:
            self.caches.setdefault(result.machine.name, result.cache)
        self.sources.setdefault(result.data)
        return result.estimate

    def _complete_machine(self, index: int) -> Machine:
        """Return a machine in which missing quantities are set to 1 if ratios of estimates do not depend on them."""
        machine = self.machines[index]
        missing = [name for name in self.model.scale if name not in machine.quantities]
        quantities = {name: Quantity(name, Fraction(1), "1", "assumed", Provenance()) for name in missing}
        return machine.with_parameters(quantities)

    # Executions
    def _decide_by_runs(self, verdict: PointVerdict, size: int, machine: int, i: int, j: int) -> PointVerdict:
        """Decide an open verdict on subjects `i` and `j` by runs on generated data, if they can be executed.

        `size` and `machine` are positions in the lists of points and machines.
        """
        first, second = self.subjects[i], self.subjects[j]
        if not isinstance(first, AlgorithmSubject) or not isinstance(second, AlgorithmSubject):
            return verdict
        at = self._make_given_sizes(size)
        try:
            runs = list(
                iterate_paired_runs(
                    first,
                    second,
                    self.iterations.select_values(i, at),
                    self.iterations.select_values(j, at),
                    self._make_run_settings(machine),
                )
            )
        except ArchlineError as problem:
            return replace(verdict, reason=f"not executed: {problem.diagnostics[0].message}")
        return self._judge_runs(verdict, [(run.data, run.first, run.second) for run in runs], machine, i, j)

    def _make_run_settings(self, machine: int) -> Settings:
        """Return the settings of runs for a machine, with its caches."""
        on = self._complete_machine(machine)
        return self.settings.with_machine_caches(on, self.model.with_machine_formulas(on).levels)

    def _judge_runs(
        self, verdict: PointVerdict, runs: Sequence[tuple[str, ExecutedRun, ExecutedRun]], machine: int, i: int, j: int
    ) -> PointVerdict:
        ratios: list[Execution] = []
        decides = ""
        for data, first, second in runs:
            estimates = [self._estimate_run(index, machine, ran) for index, ran in ((i, first), (j, second))]
            values = [estimate.by(self.by) for estimate in estimates]
            assert values[0] is not None
            assert values[1] is not None
            ratio = divide_amounts(values[0], values[1])
            if ratio is not None:
                ratios.append(Execution(data, ratio))
                decides = decides or judge_estimates(estimates[0], estimates[1], self.by).decides
        if ratios:
            self.executed = "where runs decide the verdict, their inputs are as counted under the cache above"
        return decide_by_executions(verdict, ratios, decides)

    @property
    def _metric_of_comparison(self) -> frozenset[str]:
        """The compared quantity if it is a metric; the model need not use it."""
        return frozenset({self.by} & METRICS.keys())

    def _estimate_run(self, index: int, machine: int, ran: ExecutedRun) -> Estimate:
        chosen = self.subjects[index]
        assert isinstance(chosen, AlgorithmSubject)
        measured = replace(self._make_run_settings(machine), measured=True)
        on, used = apply_to_subject(chosen, self._complete_machine(machine), self.model, measured)
        basis = chosen.make_executed_basis(
            ran, on.metrics_needed | {"flops", "work"} | self._metric_of_comparison, measured
        )
        return estimate_amounts(on.model, used, basis.amounts())

    def _compare_on_matrix(self) -> Iterator[ComparedPoint]:
        """Yield the verdicts on a matrix: by the bounds at its sizes, else by runs on it."""
        derived_settings = replace(self.settings, matrix=None, block=None)
        for machine in range(len(self.machines)):
            runs = []
            for subject in self.subjects:
                if not isinstance(subject, AlgorithmSubject):
                    raise error(rules.OPTIONS_CLASH, "`--matrix` is for algorithms", hint="omit formulas")
                runs.append(subject.run(select_values(self.at, subject), self._make_run_settings(machine)))
            executed = [{**run.sizes, **run.counted} for run in runs]
            for i, j in combinations(range(len(self.subjects)), 2):
                estimates = [
                    self._estimate_in_numbers(index, machine, convert_python_values(executed[index]), derived_settings)
                    for index in (i, j)
                ]
                verdict = judge_estimates(estimates[0], estimates[1], self.by)
                if verdict.verdict == OPEN:
                    data = str(self.settings.matrix)
                    verdict = self._judge_runs(verdict, [(data, runs[i], runs[j])], machine, i, j)
                at_both = {**runs[j].sizes, **runs[i].sizes}
                at_both |= self.iterations.merge_counts({index: runs[index].counted for index in (i, j)})
                pair: Pair = (self.names[i], self.names[j])
                yield ComparedPoint(at_both, self.machines[machine], pair, verdict, *estimates)

    # Crossovers
    def find_crossovers(self, points: Sequence[ComparedPoint]) -> Iterator[Crossover]:
        """Yield where along the sweep the algorithm of a pair that takes less changes, for each pair and machine."""
        if self.sweep is None:
            return
        for number, machine in enumerate(self.machines):
            for i, j in combinations(range(len(self.subjects)), 2):
                pair = (self.names[i], self.names[j])
                pair_points = [point for point in points if point.pair == pair and point.machine is machine]
                sizes = list(zip(self.sweep.points, (point.verdict for point in pair_points), strict=True))

                def judge_at(size: int, number: int = number, i: int = i, j: int = j) -> PointVerdict | None:
                    first, second = (self._estimate_subject(index, number, size) for index in (i, j))
                    if isinstance(first, ArchlineError) or isinstance(second, ArchlineError):
                        return None
                    return judge_estimates(first, second, self.by)

                for start, end in bracket_changes(sizes, judge_at):
                    before, after = judge_at(start), judge_at(end)
                    assert before is not None
                    assert after is not None
                    who = {"A": pair[0], "B": pair[1]}
                    yield Crossover(
                        self.sweep.variable, start, end, machine.name,
                        who[str(before.less)], who[str(after.less)], pair,
                    )  # fmt: skip
