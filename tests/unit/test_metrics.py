"""Metrics of the registry: derived through the steps that CONTRIBUTING.md gives, and counted by runs."""

from __future__ import annotations

import random
import re

import numpy as np
import pytest

from archline.algebra.facts import Facts
from archline.analysis.analyse import derive, derive_metric
from archline.analysis.cost import Costs, enclose_cost
from archline.analysis.metrics.operations import CostModel
from archline.analysis.metrics.tally import Tally
from archline.api.algorithms import algorithm as algorithm_of
from archline.api.modules import loads
from archline.api.running import run_at
from archline.costs.sizes import convert_python_values
from archline.execution.results import RunCounts
from archline.execution.run import execute
from archline.ir.amounts import UNIT_AMOUNT, UnknownAmount
from archline.ir.max_plus import serial_map
from archline.language import metrics
from archline.language.loader import load_target, load_text
from archline.language.metrics import METRICS, Composition, Derived, MetricDefinition
from cli_support import ROOT, cli
from effort import long, some
from programs import program_from_seed
from programs.choice import Seeded

FLOP_KINDS = ("additions", "multiplications", "divisions")
PAGE = ROOT / "CONTRIBUTING.md"


def documented() -> MetricDefinition:
    """The metric of the worked example."""
    block = re.search(
        r"```python in=\S+\n(MetricDefinition\(\n.*?\n\))\n```", PAGE.read_text(encoding="utf-8"), re.DOTALL
    )
    found = eval(block[1], vars(metrics))
    assert isinstance(found, MetricDefinition)
    return found


@pytest.fixture
def branches(monkeypatch: pytest.MonkeyPatch) -> MetricDefinition:
    """The worked example in the registry."""
    metric = documented()
    monkeypatch.setitem(METRICS, metric.name, metric)
    return metric


def test_the_worked_example_by_hand(branches: MetricDefinition) -> None:
    text = """algorithm main(x: inout real[n]):
    for i in 0..n:
        if i > 2:
            x[i] += 1.0
            if x[i] > 0.0:
                x[i] = 0.0
"""
    module = load_text(text)
    cost = derive_metric(module, module.algorithms["main"], branches.name)[branches.name]
    # The outer test in each iteration, the inner one from the fourth on.
    assert [enclose_cost(cost, {"n": n}).ends for n in (1, 3, 4, 10)] == [(1, 1), (3, 3), (5, 5), (17, 17)]


def test_the_worked_example_in_a_recursion(branches: MetricDefinition) -> None:
    text = """algorithm main(x: inout real[n]):
    if n > 1:
        main(x[0..n//2])
        main(x[n//2..n])
"""
    module = load_text(text)
    cost = derive_metric(module, module.algorithms["main"], branches.name)[branches.name]
    # A test in each call: the tree of halves has n leaves and n - 1 inner nodes.
    assert [enclose_cost(cost, {"n": n}).ends for n in (1, 2, 7, 64)] == [(m, m) for m in (1, 3, 13, 127)]


def _holds(costs: Costs, metric: MetricDefinition, counts: RunCounts, sizes: dict[str, int]) -> bool:
    lower, upper = enclose_cost(costs[metric.name], sizes).ends
    return lower <= counts.counted(metric) <= upper


@pytest.mark.parametrize(
    "name",
    ["branches", "comparisons", "other_flops", *(pytest.param(each, marks=long) for each in ("calls", *FLOP_KINDS))],
)
@pytest.mark.parametrize("first", some([0, 20, 40], 3))
def test_what_runs_count_lies_in_what_is_derived(name: str, first: int, branches: MetricDefinition) -> None:
    metric, exact = METRICS[name], 0
    for number in range(first, first + 20):
        program = program_from_seed(number)
        module = load_text(program.text)
        algorithm = module.algorithms[program.entry]
        costs = derive_metric(module, algorithm, name)
        sizes = program.choose_sizes(Seeded(number))
        run = execute(module, algorithm, program.arguments(sizes, number), compiled=False)
        if costs[name].lower is not None:
            exact += costs[name].exact
            assert _holds(costs, metric, run.counts, dict(run.sizes)), program.text
    assert exact > 5


@pytest.mark.parametrize("target", ["sort.mergesort::mergesort", "sort.insertion_sort::insertion_sort"])
@pytest.mark.parametrize("n", [1, 2, 7, 16, 33])
def test_comparisons_of_sorting(target: str, n: int) -> None:
    module, algorithm = load_target(target)
    assert algorithm is not None
    costs = derive_metric(module, algorithm, "comparisons")
    data = np.array([random.Random(n).random() for _ in range(n)])
    counts = execute(module, algorithm, {"a": data}).counts
    assert _holds(costs, METRICS["comparisons"], counts, {"n": n})
    assert counts.counted(METRICS["comparisons"]) == counts.flops_by_kind.get("compare", 0)


def test_steps_and_flops_are_the_work() -> None:
    for number in range(40):
        program = program_from_seed(number)
        if " work" in program.text:
            continue
        module = load_text(program.text)
        sizes = program.choose_sizes(Seeded(number))
        run = execute(module, module.algorithms[program.entry], program.arguments(sizes, number), compiled=False)
        assert run.counts.counted(METRICS["work"]) == run.counts.work
        assert run.counts.counted(METRICS["flops"]) == run.counts.flops
        by_kind = sum(run.counts.counted(METRICS[name]) for name in (*FLOP_KINDS, "other_flops"))
        assert by_kind == run.counts.flops


PATH = MetricDefinition(
    "flop_path", "flop", "flops of the critical path", Derived.ON_REQUEST, Composition.MAX_PLUS,
    lambda event: event.real, at_most="flops",
)  # fmt: skip


@pytest.mark.parametrize(
    ("body", "value"),
    [
        ("for i in 0..n:\n        s[0] += x[i]", lambda n: n),
        # Starting a parallel loop is no flop.
        ("parallel for i in 0..n:\n        x[i] += 1.0", lambda n: 1),
        ("parallel for i in 0..n:\n        for j in 0..n:\n            x[i] = x[i]*0.5 + 1.0", lambda n: 2 * n),
        ("spawn add(x)\n    for i in 0..3:\n        s[0] += 1.0\n    sync\n    s[0] *= 2.0", lambda n: max(n, 3) + 1),
    ],
)
def test_another_metric_of_the_critical_path(body: str, value, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(METRICS, PATH.name, PATH)
    helper = "algorithm add(y: inout real[n]):\n    for i in 0..n:\n        y[i] += 1.0\n\n"
    module = load_text(f"{helper}algorithm main(x: inout real[n], s: inout real[1]):\n    {body}\n")
    cost = derive(module, module.algorithms["main"], CostModel((PATH,)))[PATH.name]
    assert [enclose_cost(cost, {"n": n}).ends for n in (1, 2, 5, 9)] == [(value(n), value(n)) for n in (1, 2, 5, 9)]


@long
def test_metrics_together_are_what_they_are_apart() -> None:
    names = ("flops", "work", "span", "comparisons", "calls")
    for number in range(20):
        program = program_from_seed(number)
        module = load_text(program.text)
        algorithm = module.algorithms[program.entry]
        together = derive(module, algorithm, CostModel(METRICS[name] for name in names))
        apart = derive(module, algorithm).metrics | {
            name: derive_metric(module, algorithm, name)[name] for name in ("comparisons", "calls")
        }
        for name in names:
            assert (together[name].lower, together[name].upper) == (apart[name].lower, apart[name].upper), name


def test_ensures_may_name_what_is_derived_on_request() -> None:
    text = """algorithm main(x: inout real[n]):
    ensures comparisons == n
    ensures accesses <= 3*n
    ensures comparisons is O(1)
    for i in 0..n:
        if x[i] < 0.5:
            x[i] += 1.0
"""
    verdicts = [each.outcome for each in loads(text)["main"].cost().ensures]
    assert verdicts == ["holds", "holds", "fails"]


def test_the_command_shows_metrics_on_request() -> None:
    assert "accesses  4*n*m*p  exact" in cli("cost", "dense.matmul::matmul_basic", "--metric", "accesses").out
    explained = cli("cost", "dense.matmul::matmul_basic", "--metric", "accesses", "--explain").out
    assert "together: accesses = 4*n*m*p" in explained


def test_what_is_counted_beside_a_gap_is_not_taken_for_all() -> None:
    """Where neither of two derivations counts all, a path without its unknown parts is no span."""
    nothing = UnknownAmount("of one thing")
    here = Tally({"work": nothing}, {"span": serial_map(nothing)})
    elsewhere = Tally({}, {"span": serial_map(UNIT_AMOUNT)}, gap=UnknownAmount("of another"))
    facts = Facts()
    assert isinstance(here.tighten(elsewhere, facts).amount("span"), UnknownAmount)
    assert isinstance(elsewhere.tighten(here, facts).amount("span"), UnknownAmount)
    assert here.tighten(Tally({"work": UNIT_AMOUNT}, {"span": serial_map(UNIT_AMOUNT)}), facts).known


SKIPPED = """algorithm main(x: inout real[n]):
    for i in 0..n:
        if x[i] > 0.5 and x[0] > x[n - 1]:
            x[i] = 0.0
        elif x[i] > 0.2:
            x[i] = x[0]
"""


@pytest.mark.parametrize("value", [0.0, 0.3, 0.9])
def test_accesses_that_may_be_left_out(value: float) -> None:
    """The test before `and` reads one; its right side two more, the second test one, what follows one or two."""
    module = load_text(SKIPPED)
    algorithm = module.algorithms["main"]
    lower, upper = enclose_cost(derive_metric(module, algorithm, "accesses")["accesses"], {"n": 5}).ends
    assert (lower, upper) == (5 * 1, 5 * (4 + 2))
    assert lower <= execute(module, algorithm, {"x": np.full(5, value)}).counts.accesses <= upper


@pytest.mark.parametrize("first", [0, *(pytest.param(start, marks=long) for start in range(12, 200, 12))])
def test_accesses_of_runs_lie_in_what_is_derived(first: int) -> None:
    exact = 0
    for number in range(first, first + 12):
        program = program_from_seed(number)
        module = load_text(program.text)
        algorithm = module.algorithms[program.entry]
        cost = derive_metric(module, algorithm, "accesses")["accesses"]
        if cost.lower is not None:
            sizes = program.choose_sizes(Seeded(number))
            run = execute(module, algorithm, program.arguments(sizes, number), compiled=False)
            lower, upper = enclose_cost(cost, dict(run.sizes)).ends
            assert lower <= run.counts.accesses <= upper, program.text
            exact += lower == upper
    assert exact > 5


@pytest.mark.parametrize("n", [1, 2, 7, 16, 33])
@pytest.mark.parametrize("target", ["sort.mergesort::mergesort", "dense.matmul_recursive::matmul_co_serial"])
def test_accesses_of_recursion(target: str, n: int) -> None:
    subject = algorithm_of(target)
    sizes = dict.fromkeys(subject.sizes, n)
    counts = run_at(subject, convert_python_values(sizes), None).counts
    cost = derive_metric(subject.module, subject.node, "accesses")["accesses"]
    lower, upper = enclose_cost(cost, sizes).ends
    assert lower <= counts.accesses <= upper
    assert lower > 0 or n == 1


@pytest.mark.parametrize("n", [1, 4, 9])
def test_the_test_of_a_while_reads_each_time(n: int) -> None:
    text = "algorithm main(x: inout real[n]):\n    while x[0] < real_of(n) at most n times:\n        x[0] += 1.0\n"
    module = load_text(text)
    algorithm = module.algorithms["main"]
    counts = execute(module, algorithm, {"x": np.zeros(n)}).counts
    # n + 1 tests, n updates that read and write.
    assert counts.accesses == 3 * n + 1
    assert enclose_cost(derive_metric(module, algorithm, "accesses")["accesses"], {"n": n}).upper == 3 * n + 1
