"""`cost` on a grid: what each statement adds, the case of several processors along each axis, whole numbers."""

from __future__ import annotations

import json
import math
from fractions import Fraction

import pytest

import archline as al
from archline.algebra.evaluate.exact import evaluate
from archline.algebra.polynomial import ZERO, Poly
from archline.api.running import Run, run_at
from archline.cli.main import main
from archline.costs.sizes import convert_python_values
from archline.energy.caches import Settings
from archline.energy.machines import Machine
from archline.execution.data import generate_arguments
from archline.execution.run import execute
from archline.language.diagnostics import ArchlineError
from archline.language.loader import load_text
from archline.report.paths import PathTable, subtract_step_bounds
from effort import MODES, long, some
from energy_support import made

METRICS = ("words", "messages", "node_words", "node_messages", "flops")
TARGETS = [
    "distributed.matmul::cannon",
    "distributed.matmul::summa",
    "distributed.matmul::matmul_25d",
    "distributed.matmul::matmul_two_level",
    "distributed.stencil::jacobi_walls",
    "distributed.qr::tsqr",
    "distributed.fft::fft_bruck",
    "distributed.nbody::nbody_replicated",
    "distributed.collectives::alltoall_bruck",
]


def _table(target: str) -> PathTable:
    return al.algorithm(target).report().path_table()


@long
@pytest.mark.parametrize("target", TARGETS)
def test_messages_of_the_statements_add_up_to_the_bound(target: str) -> None:
    """Messages are bounded statement by statement: nothing is left over."""
    table = _table(target)
    rows = {row.metric: row for row in table.view.rows}
    assert subtract_step_bounds(table.steps, rows["messages"]) == ZERO
    assert sum((each.upper("messages") for each in table.steps), ZERO) == rows["messages"].upper


@long
def test_the_steps_of_cannon_by_hand() -> None:
    """Two shifts of blocks of n^2/g^2 words before the loop, two in each of its g iterations, and 2*b^3 flops in it."""
    table = _table("distributed.matmul::cannon")
    n, g = Poly.symbol("n"), Poly.symbol("g")
    block = n**2 * g**-2
    assert table.case == "g >= 2"
    words = [(each.source, each.upper("words")) for each in table.steps if "words" in each.amounts]
    assert words == [
        ("shift x along j by -i", block),
        ("shift y along i by -j", block),
        ("shift x along j by -1", g * block),
        ("shift y along i by -1", g * block),
    ]
    flops = [
        (each.source, each.times.upper, each.once["flops"].upper) for each in table.steps if "flops" in each.amounts
    ]  # type: ignore[union-attr]
    assert flops == [("matmul_basic(x, y, z)", g, n**3 * g**-3 * 2)]


@long
@pytest.mark.parametrize(
    ("target", "sizes"),
    [
        ("distributed.matmul::matmul_25d", {"n": 12, "g": 4, "c": 2}),
        ("distributed.matmul::matmul_25d", {"n": 6, "g": 3, "c": 3}),
        ("distributed.matmul::summa", {"n": 4, "m": 12, "p": 6, "g": 2, "h": 3, "w": 2}),
        ("distributed.stencil::jacobi_walls", {"n": 6, "m": 4, "steps": 3, "g": 3, "h": 2}),
    ],
)
def test_each_statement_is_an_upper_bound_of_what_runs_do(target: str, sizes: dict[str, int]) -> None:
    """No path goes through more of a statement than its row says; the bound of the case holds what runs count."""
    table = _table(target)
    ran = al.algorithm(target).run(sizes)
    rows = {row.metric: row for row in table.view.rows}
    for metric in ("words", "messages", "flops"):
        most = {each.span.line: evaluate(each.upper(metric), sizes) for each in table.steps}
        upper, lower = rows[metric].upper, rows[metric].lower
        count = ran.counts.communication.get(metric, ran.counts.flops)
        assert evaluate(lower, sizes) <= count <= evaluate(upper, sizes)
        # What any one path adds in a statement, here the longest one's.
        traced = _traced(target, sizes, metric)
        for line, amount in traced.items():
            assert amount <= most[line], (metric, line)


def _traced(target: str, sizes: dict[str, int], metric: str) -> dict[int, int]:
    from archline.execution.data import generate_arguments
    from archline.execution.run import execute

    subject = al.algorithm(target)
    ran = execute(*subject.executed, generate_arguments(*subject.executed, sizes, seed=0), path=metric)
    found: dict[int, int] = {}
    for each in ran.path:
        span = each.called or each.span
        if span is not None and not each.computed:
            found[span.line] = found.get(span.line, 0) + int(each.amount)
    return found


def test_several_processors_along_each_axis_come_first(capsys: pytest.CaptureFixture[str]) -> None:
    """2*g + 2 messages of n^2/g^2 words, as Cannon's algorithm is taught, where g >= 2."""
    assert main(["cost", "distributed.matmul::cannon"]) == 0
    text = capsys.readouterr().out
    assert "2*g + 2 " in text
    assert "2*n^2/g + 2*n^2/g^2" in text
    assert "where g >= 2; for all sizes see --all" in text
    assert main(["cost", "distributed.matmul::cannon", "--all"]) == 0
    assert "max(0, g - 2)" in capsys.readouterr().out


def test_the_case_is_as_at_sizes() -> None:
    """The forms of the case and those for all sizes agree where there are several processors, if both are exact."""
    report = al.algorithm("distributed.matmul::cannon").report()
    for g in (2, 3, 5):
        point = {"n": 30, "g": g}
        for cost in report.case.costs:
            everywhere = report.costs[cost.metric]
            if cost.upper is not None and everywhere.upper is not None and everywhere.exact:
                assert evaluate(cost.upper, point) == evaluate(everywhere.upper, point)


@long
def test_bounds_at_sizes_are_whole_numbers() -> None:
    report = al.algorithm("distributed.matmul::matmul_25d").report()
    point = {"n": 12, "g": 4, "c": 2}
    upper = report.costs["words"].upper
    exact = evaluate(upper, point)
    assert exact.denominator > 1
    low, high = report["words"].at(point)  # type: ignore[misc]
    assert isinstance(low, int)
    assert high == math.floor(exact)
    assert Fraction(al.algorithm("distributed.matmul::matmul_25d").run(point).counts.words or 0) <= high


@pytest.mark.parametrize("metric", ["words", "messages", "memory"])
def test_a_metric_alone(metric: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cost", "distributed.matmul::cannon", "--metric", metric]) == 0
    text = capsys.readouterr().out
    assert f"  {metric} " in text
    assert "flops" not in text


@pytest.mark.parametrize(
    ("target", "metric"),
    [
        ("dense.matmul::matmul_basic", "words"),
        ("distributed.matmul::cannon", "node_words"),
        ("distributed.matmul::cannon", "calls"),
    ],
)
def test_metrics_that_there_are_not(target: str, metric: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cost", target, "--metric", metric]) == 2
    assert "AL411" in capsys.readouterr().err


def test_explained_at_sizes(capsys: pytest.CaptureFixture[str]) -> None:
    """n = 12, g = 3: blocks of 16 words; 2 + 2*3 shifts."""
    assert main(["cost", "distributed.matmul::cannon", "--at", "n=12,g=3", "--explain", "--metric", "words"]) == 0
    text = capsys.readouterr().out
    assert "words of cannon at n = 12, g = 3, on its critical path" in text
    rows = [line.split()[-1] for line in text.splitlines() if "shift" in line]
    assert rows == ["16", "16", "48", "48"]
    assert text.splitlines()[-1].split() == ["together", "128"]


@pytest.mark.parametrize(("metric", "says"), [("memory", "not a sum over a path"), ("span", "--metric work")])
def test_metrics_without_steps(metric: str, says: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cost", "distributed.matmul::cannon", "--explain", "--metric", metric]) == 0
    assert says in capsys.readouterr().out


def test_all_shows_the_statements_of_callees(capsys: pytest.CaptureFixture[str]) -> None:
    """A shift is one exchange, in another file."""
    assert main(["cost", "distributed.matmul::cannon", "--explain", "--all", "--metric", "messages"]) == 0
    text = capsys.readouterr().out
    assert text.count("collectives:26") == 4
    assert "| exchange x to" in text


# The longest path of a run, piece by piece: it adds up to what is counted, and goes where a path by hand goes


SUBJECTS = [
    ("distributed.matmul::matmul_25d", {"n": 12, "g": 4, "c": 2}),
    ("distributed.matmul::cannon", {"n": 6, "g": 3}),
    ("distributed.matmul::matmul_two_level", {"n": 8, "g": 2, "h": 2}),
    ("distributed.stencil::jacobi_walls", {"n": 6, "m": 4, "steps": 3, "g": 3, "h": 2}),
]


@pytest.mark.parametrize(("target", "sizes"), SUBJECTS)
@pytest.mark.parametrize("metric", some(["words", "messages", "flops", "work", "node_words", "node_messages"]))
def test_the_pieces_add_up_to_the_count(target: str, sizes: dict[str, int], metric: str) -> None:
    subject = al.algorithm(target)
    plain = execute(*subject.executed, generate_arguments(*subject.executed, sizes, seed=0))
    ran = execute(*subject.executed, generate_arguments(*subject.executed, sizes, seed=0), path=metric)
    assert ran.counts == plain.counts
    assert plain.path == ()
    count = ran.counts.communication.get(metric, getattr(ran.counts, metric))
    # The outermost call is work of no step.
    assert sum(each.amount for each in ran.path) == (count or 0)


# Processor 0 sends 3 words to 1, which sends 5 to 2: the path of 8 words goes through 1 alone, as 1 receives 3 of its
# own, and 2 receives 5. Processor 3 and 4 exchange 7 words, which no path goes on from.
CHAIN = """
algorithm f() on grid(t: P):
    local x: real[9] = 0
    exchange x[0..3] to (1) when t == 0 into x[0..3] from (0) when t == 1
    if t == 1:
        x[0] = x[0]*2.0
    exchange x[0..5] to (2) when t == 1 into x[0..5] from (1) when t == 2
    exchange x[0..7] to (7 - t) when t == 3 or t == 4 into x[0..7] from (7 - t) when t == 3 or t == 4
"""


def test_a_path_by_hand() -> None:
    module = load_text(CHAIN)
    algorithm = list(module.algorithms.values())[-1]
    ran = execute(module, algorithm, generate_arguments(module, algorithm, {"P": 5}, seed=0), path="words")
    assert ran.counts.words == 8
    # Processor 2's path is that of its sender when that began the step: 3 words, received on line 4.
    lines = [(each.coordinates, each.span.line, each.amount) for each in ran.path if each.span is not None]
    assert lines in ([((1,), 4, 3), ((1,), 7, 5)], [((1,), 4, 3), ((2,), 7, 5)])


FOLLOWED = """
algorithm f() on grid(t: P):
    local x: real[9] = 0
    for s in 0..P-1:
        exchange x[0..2*s+1] to (t + 1) when t == s into x[0..2*s+1] from (t - 1) when t == s + 1
"""


def test_a_path_follows_its_senders() -> None:
    """Each hands on a longer message: the path ends at the last, and each of its steps is on another processor."""
    module = load_text(FOLLOWED)
    algorithm = list(module.algorithms.values())[-1]
    ran = execute(module, algorithm, generate_arguments(module, algorithm, {"P": 4}, seed=0), path="words")
    assert [each.amount for each in ran.path] == [1, 3, 5]
    assert ran.counts.words == 1 + 3 + 5


def test_the_time_adds_up(capsys: pytest.CaptureFixture[str]) -> None:
    machine = "jaketown"
    arguments = ["run", "distributed.matmul::cannon", "--at", "n=6,g=3", "--explain", "--machine", machine]
    assert main([*arguments, "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["path"]["metric"] == "time"
    assert Fraction(found["path"]["total"]) == Fraction(found["time"]["seconds"])
    assert sum(Fraction(each["amount"]) for each in found["path"]["pieces"]) == Fraction(found["time"]["seconds"])


@long
def test_the_text_names_the_statements(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "distributed.matmul::matmul_25d", "--at", "n=12,g=4,c=2", "--explain"]) == 0
    text = capsys.readouterr().out
    # b = 3: a shift moves 9 words; the path has 4 by the shifts of the loop and 2 before it.
    assert "critical path of the words: 84 in 12 steps" in text
    assert "broadcast x along k from 0 using scatter_allgather" in text
    assert len(text.splitlines()) <= 50


@pytest.mark.parametrize(
    ("more", "code"),
    [
        (["--metric", "words"], "AL411"),
        (["--explain", "--engine", "mpi"], "AL411"),
        (["--explain", "--metric", "time"], "AL411"),
    ],
)
def test_options_that_do_not_fit(more: list[str], code: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "distributed.matmul::cannon", "--at", "n=6,g=3", *more]) == 2
    assert code in capsys.readouterr().err


def test_one_processor_has_no_path(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "dense.matmul::matmul_basic", "--at", "n=2,m=2,p=2", "--explain"]) == 2
    assert "AL538" in capsys.readouterr().err


# Paths that a message takes out of a branch or a loop: what was done before it, and what is done after, by hand


HANDED_ON = """
algorithm chain(x: inout local real[n]) on grid(r: P):
    "Each adds 1 to what it is handed, and hands it on."
    if r > 0:
        receive x from (r - 1)
    x[0] += 1.0
    if r + 1 < P:
        send x to (r + 1)
"""
PIPELINE = """
algorithm pipeline(X: real[n], Y: out real[P]) on grid(r: P):
    "Each of n numbers passes through all processors."
    local a: real = 0.0
    local sum: real = 0.0
    for t in 0..n:
        if r > 0:
            receive a from (r - 1)
        else:
            input a = X[t]
        sum += a
        if r + 1 < P:
            send a to (r + 1)
    output Y[r] = sum
"""
NESTED = """
algorithm nested(x: inout local real[n]) on grid(r: P):
    "The same in a loop around, and in a branch."
    for t in 0..2:
        x[0] += 1.0
        if n >= 1:
            x[0] += 1.0
            if r > 0:
                receive x from (r - 1)
            x[0] += 1.0
            if r + 1 < P:
                send x to (r + 1)
"""


@pytest.mark.parametrize("compiled", MODES)
@pytest.mark.parametrize("processors", [1, 2, 4, 7])
def test_what_each_adds_to_a_chain_is_one_path(processors: int, compiled: bool) -> None:
    found = al.loads(HANDED_ON)["chain"].run(n=3, P=processors, compiled=compiled).counts
    # One call; then on each processor two tests and the addition, of which the last test is behind the message.
    assert found.flops == processors
    assert found.work == 1 + 2 * processors + 1
    assert found.words == 3 * (processors - 1)


@pytest.mark.parametrize(("n", "processors"), [(3, 4), (5, 3), (1, 5), (4, 1)])
def test_a_pipeline_is_as_long_as_all_numbers_and_processors(n: int, processors: int) -> None:
    found = al.loads(PIPELINE)["pipeline"].run(n=n, P=processors).counts
    assert found.flops == n + processors - 1


@pytest.mark.parametrize("processors", [1, 2, 5])
def test_paths_leave_nested_branches(processors: int) -> None:
    """Two iterations of three additions on one processor; each further one adds what follows the second message."""
    found = al.loads(NESTED)["nested"].run(n=1, P=processors).counts
    assert found.flops == 6 + (processors - 1)


# The time along one path that weighs flops, words and messages, in runs on grids


SLOW_LINKS = made(gamma_t=1, beta_t=2, alpha_t=3, node_beta_t="1/3", node_alpha_t=5)
UNEVEN = """
algorithm uneven(x: real[n], y: out real[P, n]) on grid(r: P):
    local v: real[n] = 0
    if r == 0:
        for i in 0..n:
            for j in 0..3:
                v[i] += 1
    exchange v to (r + 1) when r == 1 into v from (r - 1) when r == 2
    output y[r, :] = v
"""


def timed(algorithm: al.Algorithm, on: Machine = SLOW_LINKS, **sizes: int) -> Run:
    return run_at(algorithm, convert_python_values(sizes), None, Settings(machine=on))


@pytest.mark.parametrize(("gamma", "time"), [(1, 2 * 10 + 3), (100, 100 * 30)])
def test_the_longer_of_two_paths(gamma: int, time: int) -> None:
    """Processor 0 computes 30 flops, and processor 1 sends 10 words: no path has both."""
    machine = made({**SLOW_LINKS.values, "gamma_t": gamma})
    done = timed(al.loads(UNEVEN)["uneven"], machine, n=10, P=3)
    assert done.counts.time == (max(time, gamma * 30), gamma * 30 + 2 * 10 + 3)
    assert done.time == max(time, gamma * 30)


def test_cores_of_a_node_take_turns_on_its_link() -> None:
    # n = 8: F = 64, of a core 24 words and 6 messages between nodes of 4 cores, 40 and 10 within; all cores alike.
    done = timed(al.load("distributed.matmul")["matmul_two_level"], n=8, g=2, h=2)
    assert done.time == 64 + 4 * (2 * 24 + 3 * 6) + Fraction(40, 3) + 5 * 10
    model = al.energy("distributed.matmul::matmul_two_level", machine=SLOW_LINKS.with_parameters({}), **ENERGIES)
    assert model.time == done.time


ENERGIES = {
    "n": 8, "g": 2, "h": 2,
    "parameters": {"gamma_e": 1, "beta_e": 1, "alpha_e": 1, "delta_e": 1, "eps_e": 1},
}  # fmt: skip


@pytest.mark.parametrize(
    ("target", "sizes"),
    some(
        [
            ("distributed.matmul::cannon", {"n": 16, "g": 4}),
            ("distributed.matmul::matmul_25d", {"n": 16, "g": 4, "c": 2}),
            ("distributed.matmul::summa", {"n": 12, "m": 12, "p": 12, "g": 2, "h": 3, "w": 2}),
            ("distributed.nbody::nbody_replicated", {"n": 24, "P": 12, "c": 2, "f": 3}),
        ]
    ),
)
@pytest.mark.parametrize("prices", some([(1, 2, 3), (1, 50, 0), (0, 1, 100), (100, 0, 1)]))
def test_one_path_takes_at_most_each_of_three_and_at_least_a_third(
    target: str, sizes: dict[str, int], prices: tuple[int, int, int]
) -> None:
    module, _, name = target.partition("::")
    machine = made(dict(zip(("gamma_t", "beta_t", "alpha_t"), prices, strict=True)))
    done = timed(al.load(module)[name], machine, **sizes)
    assert done.counts.time is not None
    time, apart = done.counts.time
    flops, words, messages = done.counts.flops, done.counts.words, done.counts.messages
    assert apart == prices[0] * flops + prices[1] * words + prices[2] * messages
    assert time <= apart <= 3 * time
    assert f"{float(time / apart):.4g} times that of F, W and S" in " ".join(str(done).split())


def test_without_a_machine_there_is_no_time() -> None:
    done = al.load("distributed.matmul")["cannon"].run(n=8, g=2)
    assert (done.time, done.counts.time, done.view.timing) == (None, None, None)


def test_what_has_no_paths() -> None:
    with pytest.raises(ArchlineError) as refused:
        timed(al.load("dense.matmul")["matmul_basic"], n=4, m=4, p=4)
    assert refused.value.diagnostics[0].rule.code == "AL411"
    with pytest.raises(ArchlineError) as refused:
        timed(al.load("distributed.matmul")["cannon"], made(gamma_t=1), n=8, g=2)
    assert refused.value.diagnostics[0].rule.code == "AL458"
