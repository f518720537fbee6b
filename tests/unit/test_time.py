"""The time on P processors: Brent's bounds against schedules that are played, and what is said of them."""

from __future__ import annotations

import heapq
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from random import Random

import pytest

import archline as al
from archline.language.diagnostics import ArchlineError
from archline.language.loader import load_text
from cli_support import cli
from test_growth_claims import decided

SQUARES = "algorithm f(x: inout real[n]):\n    parallel for i in 0..n:\n        x[i] += 1.0\n"
# work 1 + 2n: the call, and an iteration and an addition each; span 1 + ceil(log2 n) + 2.
PARALLEL = "parallel for i in 0..n:\n    x[i] += 1.0"


# A program as a tree, told to the analyser as text and to the scheduler as a graph of units.
@dataclass
class Graph:
    """Units of time by number: what each waits for; those in `waits` need no processor."""

    before: list[list[int]] = field(default_factory=list)
    waits: set[int] = field(default_factory=set)

    def chain(self, units: int, after: list[int], free: bool = False) -> list[int]:
        """So many units, one after the other; what comes next waits for the result."""
        for _ in range(units):
            self.before.append(after)
            after = [len(self.before) - 1]
            self.waits |= set(after) if free else set()
        return after


def program(random: Random, depth: int) -> list[object]:
    """A sequence of numbers of additions and of parallel loops (iterations, body)."""
    parts: list[object] = []
    for _ in range(random.randint(1, 3)):
        if depth and random.random() < 0.6:
            parts.append((random.randint(1, 6), program(random, depth - 1)))
        else:
            parts.append(random.randint(1, 4))
    return parts


def text(parts: list[object], indent: str, names: Iterator[int]) -> str:
    lines = [f"{indent}local s{(own := next(names))}: real = 0"]
    for part in parts:
        match part:
            case int():
                lines += [f"{indent}s{own} += 1.0"] * part
            case (trips, body):
                lines.append(f"{indent}parallel for i{next(names)} in 0..{trips}:")
                lines.append(text(body, indent + "    ", names))
    return "\n".join(lines)


def graph(parts: list[object], into: Graph, after: list[int]) -> list[int]:
    for part in parts:
        match part:
            case int():
                after = into.chain(part, after)
            case (trips, body):
                start = into.chain((trips - 1).bit_length(), after, free=True)
                ends = [graph(body, into, into.chain(1, start)) for _ in range(trips)]
                after = [end for each in ends for end in each]
    return after


def greedy(units: Graph, processors: int, random: Random) -> int:
    """The time of a schedule that leaves no processor idle while something is ready, picked at random."""
    missing = [len(set(each)) for each in units.before]
    next_: list[list[int]] = [[] for _ in units.before]
    for unit, before in enumerate(units.before):
        for each in set(before):
            next_[each].append(unit)
    ready = [(random.random(), unit) for unit, count in enumerate(missing) if not count]
    heapq.heapify(ready)
    time = 0
    while ready:
        time += 1
        waiting = [pair for pair in ready if pair[1] in units.waits]
        working = [pair for pair in ready if pair[1] not in units.waits]
        done, ready = [*waiting, *working[:processors]], working[processors:]
        for _, unit in done:
            for each in next_[unit]:
                missing[each] -= 1
                if not missing[each]:
                    ready.append((random.random(), each))
        random.shuffle(ready)
    return time


@pytest.mark.parametrize("seed", range(12))
def test_greedy_schedules_keep_between_the_bounds(seed: int) -> None:
    random = Random(seed)
    parts = program(random, 3)
    cost = al.loads(f"algorithm f():\n{text(parts, '    ', iter(range(10_000)))}\n")["f"].cost()
    units = Graph()
    graph(parts, units, units.chain(1, []))
    assert len(units.before) - len(units.waits) == cost.work.at()
    assert greedy(units, len(units.before), random) == cost.span.at()
    for processors in (1, 2, 3, 5, 16):
        least, most = cost.time(processors).at()
        assert least <= greedy(units, processors, random) <= most


def test_bounds_of_a_parallel_loop() -> None:
    cost = al.loads(SQUARES)["f"].cost()
    # 8 elements: work 17, span 6; steps are whole.
    assert cost.time(4).at(n=8) == (6, 10)
    assert cost.time(1).at(n=8) == (17, 23)
    assert cost.time().at(n=8, P=2) == (9, 14)
    assert cost.time("n").at(n=8) == (6, 8)
    assert cost.time().name == "time(P)"
    assert cost.time().status == "bounded"


def test_the_bounds_are_expressions() -> None:
    found = al.loads(SQUARES)["f"].cost().time()
    assert found.text == "max(2*n/P + 1/P, ceil(log2(n)) + 3) to ceil(log2(n)) + 3 + 2*n/P + 1/P"
    symbols = {each.name: each for each in found.upper.free_symbols}
    assert found.upper.subs({symbols["n"]: 8, symbols["P"]: 4}) == 6 + Fraction(17, 4)


def test_serial_programs_take_their_work() -> None:
    cost = al.loads("algorithm f(n: size):\n    for i in 0..n:\n        pass\n")["f"].cost()
    assert cost.time().lower == cost.work.lower


def test_recursive_programs_have_the_time_of_their_recurrence() -> None:
    cost = al.load("dense.matmul")["matmul_co"].cost()
    work, span = (cost[metric].at(n=40, m=33, p=20) for metric in ("work", "span"))
    assert cost.work.status == "bounded"
    assert cost.time(7).at(n=40, m=33, p=20) == (max(span[0], -(-work[0] // 7)), span[0] + work[0] // 7)


def test_what_is_unknown_stays_unknown() -> None:
    cost = al.loads("algorithm f(n: size, m: size):\n    for i in 0..m^n:\n        pass\n")["f"].cost()
    assert cost.work.status == "unknown"
    assert cost.time().status == "unknown"
    assert cost.time().reason == cost.work.reason


def test_declared_costs_are_named() -> None:
    cost = al.loads("algorithm f(n: size):\n    costs n work\n")["f"].cost()
    assert cost.time().status == "declared"
    assert cost.time().declared == cost.work.declared


@pytest.mark.parametrize(("processors", "code"), [("m", "AL401"), ("x", "AL401"), (0, "AL406"), (-3, "AL406")])
def test_wrong_processors(processors: int | str, code: str) -> None:
    cost = al.loads(SQUARES)["f"].cost()
    with pytest.raises(ArchlineError) as caught:
        cost.time(processors)
    assert caught.value.diagnostics[0].rule.code == code


# The command
def test_the_command_shows_a_row(tmp_path: Path) -> None:
    path = tmp_path / "squares.algo"
    path.write_text(SQUARES)
    target = f"{path}::f"
    shown = cli("cost", target, "--all", "--procs", "P").out
    assert re.search(r"time\(P\) +bounded +>=", shown)
    # Lemma 2.1 of the ICE paper, and the condition under which it holds.
    assert re.search(r"io\(P\) +bounded +>= +ceil\(n/L\)", shown)
    assert "every processor runs its part in serial order" in shown
    assert "time" not in cli("cost", target).out
    found = json.loads(cli("cost", target, "--procs", "4", "--at", "n=8", "--format", "json").out)
    assert found["costs"]["time(4)"]["value"] == {"lower": "6", "upper": "10"}
    assert found["costs"]["time(4)"]["upper"] == "1/2*n + ceil(log2(n)) + 13/4"
    named = json.loads(cli("cost", target, "--procs", "P", "--at", "n=8,P=4", "--format", "json").out)
    assert named["costs"]["time(P)"]["value"] == {"lower": "6", "upper": "10"}
    for form in ("latex", "markdown"):
        assert "time" in cli("cost", target, "--procs", "n", "--format", form).out


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (("--procs", "P", "--at", "n=8"), "AL402"),
        (("--procs", "4", "--at", "n=8,P=5"), "AL411"),
        (("--procs", "q"), "AL401"),
        (("--procs", "0"), "--procs"),
    ],
)
def test_wrong_options(tmp_path: Path, options: tuple[str, ...], code: str) -> None:
    path = tmp_path / "squares.algo"
    path.write_text(SQUARES)
    done = cli("cost", f"{path}::f", *options)
    assert done.code == 2
    assert code in done.err


# Promises
@pytest.mark.parametrize(
    "claim",
    [
        "time(P) <= 3 + ceil(log2(n)) + (1 + 2*n)/P",
        "time(P) >= (1 + 2*n)/P",
        "time(P) >= 3 + ceil(log2(n))",
        "time(n) is Theta(log2(n))",
        "time(P) is Theta(n/P + log2(n))",
        "time(P) is Theta(n/P) when P*log2(n) <= n",
    ],
)
def test_claims_that_hold(claim: str) -> None:
    assert decided(claim, PARALLEL).outcome == "holds"


@pytest.mark.parametrize(
    ("claim", "told"),
    [
        # time(1) is between 1 + 2n and 4 + 2n + ceil(log2 n).
        ("time(P) <= 2*n/P", "claimed <= "),
        ("time(P) >= 6*n", "claimed >= "),
        # P processors and more take the span.
        ("time(P) is O(n/P)", "cost/claim is unbounded along"),
        ("time(P) is Omega(n)", "claim/cost is unbounded along"),
        ("time(n) is O(1)", "cost/claim is unbounded along"),
    ],
)
def test_claims_that_fail(claim: str, told: str) -> None:
    found = decided(claim, PARALLEL)
    assert found.outcome == "fails"
    assert told in found.reason


def test_claims_between_the_bounds_are_open() -> None:
    assert decided("time(P) <= 3 + ceil(log2(n)) + 2*n/P", PARALLEL).outcome == "unknown"


@pytest.mark.parametrize(
    ("subject", "code"), [("time", "AL208"), ("work(P)", "AL208"), ("time(x)", "AL201"), ("time(q)", "AL201")]
)
def test_wrong_subjects(subject: str, code: str) -> None:
    with pytest.raises(ArchlineError) as caught:
        load_text(f"algorithm f(x: inout real[n], q: index):\n    ensures {subject} <= n\n    pass\n")
    assert caught.value.diagnostics[0].rule.code == code


@pytest.mark.parametrize("name", ["basic", "co"])
def test_ice_equations_19_and_20(name: str) -> None:
    """What the paper calls the span of its products, 2nmp/N, is the time on N cores, as far as log2(N) allows."""
    found = al.load("dense.matmul_rows")[f"matmul_rows_{name}"].cost()
    claims = {each.ensures.subject: each.outcome for each in found.ensures}
    assert claims["time(N)"] == "holds"
    for n, m, p, blocks in ((48, 5, 7, 4), (50, 3, 3, 7), (64, 8, 8, 64)):
        low, high = found.time("N").at(n=n, m=m, p=p, N=blocks)
        share = Fraction(2 * n * m * p, blocks)
        # Three units an inner step instead of two, blocks of a row more, and a loose bound of the recursion.
        assert share <= low <= high <= 16 * share
