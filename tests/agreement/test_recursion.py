"""Recursions by hand: bounds hold what runs count and what recurrences give far out; claims, and counts that are known."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from functools import cache
from itertools import product
from math import ceil, log2

import pytest

from archline.algebra.evaluate.exact import evaluate
from archline.algebra.polynomial import Poly
from archline.analysis.analyse import derive
from archline.analysis.cost import Costs
from archline.analysis.metrics.relations import time_cost
from archline.claims.decide import decide_claims
from archline.cost_growth.growth_of_cost import growth_of_cost
from archline.execution.run import execute
from archline.expr.values import evaluate_static
from archline.language.loader import load_text
from archline.language.model import Module
from archline.language.parser import parse_expression
from effort import drawn
from io_points import arguments
from recursive_programs.agreement import Sizes, disagreements, executed, outside, value_or_none
from recursive_programs.by_hand import PROGRAMS, QUADRANTS, of_n
from stdlib_cases import derived as derived_of_library


@cache
def derived(text: str, name: str = "main") -> tuple[Module, Costs]:
    module = load_text(text)
    return module, derive(module, module.algorithms[name])


@pytest.mark.parametrize("name", PROGRAMS)
def test_bounds_hold_what_runs_count(name: str) -> None:
    program = PROGRAMS[name]
    module, costs = derived(program.text, program.name)
    algorithm = module.algorithms[program.name]
    assert {cost.metric for cost in costs if cost.exact} >= set(program.exact.split())
    for sizes, seed in product(program.runs, (0, 1)):
        data = arguments(algorithm, sizes, random.Random(seed))
        run = execute(module, algorithm, data, compiled=False, races=False)
        assert not list(disagreements(costs, executed(run.counts), {**sizes, **run.sizes}))


@pytest.mark.parametrize("name", [name for name, each in PROGRAMS.items() if each.far])
def test_bounds_hold_the_recurrence_at_far_sizes(name: str) -> None:
    program = PROGRAMS[name]
    costs = derived(program.text, program.name)[1]
    for cost, sizes in product(costs, program.far):
        value = value_or_none(cost, sizes)
        assert value is not None
        assert not list(outside(cost, value, sizes))


@pytest.mark.parametrize("name", [name for name, each in PROGRAMS.items() if each.claims])
def test_claims_are_decided(name: str) -> None:
    """Of quadrants S(n, m) = 3*S(n/2, m/2) until one size is narrow, and n*m from there on: (m/n)*3^log2(n) for n <= m."""
    program = PROGRAMS[name]
    module, costs = derived(program.text, program.name)
    verdicts = decide_claims(module, module.algorithms[program.name], costs)
    for verdict, wanted in zip(verdicts, program.claims.split(), strict=True):
        assert (verdict.outcome == wanted.removeprefix("!")) != wanted.startswith("!"), verdict.reason


@pytest.mark.parametrize("claim", ["n*m", "n + m", "max(n, m)*min(n, m)^(3/5)", "max(n, m)*min(n, m)^(1/2)"])
def test_other_growth_is_refuted(claim: str) -> None:
    """log2(3) - 1 is 0.58496..., between 1/2 and 3/5."""
    module = load_text(QUADRANTS.format(most=4, growth=claim))
    *_, span = decide_claims(module, module.algorithms["main"], derived(PROGRAMS["quadrants of 4"].text)[1])
    assert span.outcome == "fails", span.reason


# What is known by hand
@cache
def path_length(n: int) -> int:
    """T(n) = T(floor(n/2)) + T(ceil(n/2)) + n, T(1) = 0: the external path length of a balanced tree."""
    return 0 if n == 1 else path_length(n // 2) + path_length(n - n // 2) + n


def length(at: Sizes) -> int:
    return at["hi"] - at["lo"]


def area(at: Sizes) -> int:
    return length(at) * (at["right"] - at["left"])


ANYWHERE = [
    {"n": 200, "lo": lo, "hi": lo + more, "left": 2, "right": 3 + more // 2}
    for lo, more in product((0, 4), (1, 2, 3, 7, 20, 100))
]
KNOWN: list[tuple[str, str, Callable[[Sizes], int], Sequence[Sizes]]] = [
    ("halves", "flops", lambda at: path_length(at["n"]), of_n(*range(1, 300))),
    # T(2^k) = 3*T(2^(k - 1)) + 4^k, T(1) = 0: 4*4^k - 4*3^k.
    (
        "powers",
        "flops",
        lambda at: 4 * at["n"] ** 2 - 4 * 3 ** (at["n"].bit_length() - 1),
        of_n(*(2**k for k in range(12))),
    ),
    ("range in halves", "flops", lambda at: path_length(length(at)), ANYWHERE),
    ("range less the last", "flops", length, ANYWHERE),
    ("range twice", "flops", lambda at: 2 ** length(at) - 1, ANYWHERE),
    # A binary tree with m leaves has m - 1 inner nodes: the call and a test, and an iteration's addition.
    ("range of a tree", "flops", length, ANYWHERE),
    ("range of a tree", "work", lambda at: 5 * length(at) - 2, ANYWHERE),
    ("range of stairs", "flops", lambda at: sum(range(length(at) + 1)), ANYWHERE),
    ("range of stairs", "work", lambda at: 2 + sum(2 + 2 * k for k in range(1, length(at) + 1)), ANYWHERE),
    # Two tests at an inner node.
    ("rectangle", "flops", area, ANYWHERE),
    ("rectangle", "work", lambda at: 6 * area(at) - 3, ANYWHERE),
]


@pytest.mark.parametrize(("name", "metric", "count", "points"), KNOWN, ids=[f"{each[0]} {each[1]}" for each in KNOWN])
def test_counts_by_hand(name: str, metric: str, count: Callable[[Sizes], int], points: Sequence[Sizes]) -> None:
    cost = derived(PROGRAMS[name].text)[1][metric]
    assert cost.exact
    assert all(evaluate(cost.lower, at) == count(at) for at in points)


def test_path_lengths_have_a_closed_form() -> None:
    assert all(path_length(n) == n * ceil(log2(n)) - 2 ** ceil(log2(n)) + n for n in range(1, 300))


@pytest.mark.parametrize("target", ["scan.recursive::sum_tree", "scan.recursive::dot_tree"])
def test_trees(target: str) -> None:
    costs = derived_of_library(target)
    for n in (1, 2, 3, 7, 64, 65, 1000):
        assert evaluate(costs["flops"].lower, {"n": n}) == (n - 1 if "sum" in target else 2 * n - 1)
        # A level costs 4: the call, the test, its own call and the addition.
        assert evaluate(costs["span"].lower, {"n": n}) == 4 * ceil(log2(n)) + (2 if "sum" in target else 3)


def test_recursive_lu_does_the_work_of_elimination() -> None:
    """Golub and Van Loan, Matrix Computations (4th ed.), section 3.2: the same operations in any order of the blocks."""
    flops = derived_of_library("dense.lu_recursive::lu_co")["flops"]
    for n in (1, 2, 15, 16, 17, 40, 101):
        assert evaluate(flops.lower, {"n": n}) == sum(n - k - 1 + 2 * (n - k - 1) ** 2 for k in range(n))


def test_calls_that_nest_deeply_are_followed() -> None:
    """Far more calls within each other than Python allows."""
    flops = derived("algorithm main(x: inout real[n]):\n    if n > 1:\n        x[0] += 1.0\n        main(x[1..n])\n")[
        1
    ]["flops"]
    assert [flops.interval_at({"n": n}).ends for n in (50, 20_000, 60)] == [(49, 49), (19_999, 19_999), (59, 59)]


@pytest.mark.parametrize("seed", range(drawn(24)))
def test_loops_of_a_few_iterations_more_or_less_than_a_power(seed: int) -> None:
    """Each level of a recursion by halves has parallel loops of a*n/b + c iterations: the span is of order log2(n)^2."""
    source = random.Random(seed)
    loops = [
        f"parallel for i in {source.randint(0, 2)}..{source.choice((1, 1, 2, 3))}*n//{source.choice((1, 2, 4))}"
        f" {source.choice('+-')} {source.randint(0, 2)}:\n            pass"
        for _ in range(source.randint(1, 3))
    ]
    loops.insert(source.randrange(len(loops) + 1), "main(x[0..n//2])")
    body = "\n        ".join(loops)
    text = "algorithm main(x: inout real[n]):\n    where n is power of 2\n    ensures span is O(log2(n)^2)\n"
    text += f"    ensures span is O(log2(n))\n    if n > {source.choice((4, 8, 11))}:\n        {body}\n"
    module, costs = derived(text)
    right, wrong = decide_claims(module, module.algorithms["main"], costs)
    assert right.outcome == "holds", body
    assert wrong.outcome != "holds", body
    for k in range(9):
        run = execute(module, module.algorithms["main"], {"x": [0.0] * 2**k}, compiled=False, races=False)
        assert not list(disagreements(costs, executed(run.counts), run.sizes)), body


SPLIT_BY_DATA = """
algorithm main(x: inout real[n]):
    local p: int = 0
    if n > 1:
        for i in 0..n:
            if x[i] < x[0]:
                p += 1
        assume 4*p <= 3*n, p >= 1
        main(x[0..p])
"""


def test_the_data_decides_a_split() -> None:
    work = derived(SPLIT_BY_DATA)[1]["work"]
    # At least the first pass; at most as many as three quarters each time allow.
    assert 64 <= evaluate(work.lower, {"n": 64}) <= evaluate(work.upper, {"n": 64}) <= 4 * (5 * 64 + 10)


# Regimes, and what is unknown
def test_a_leaf_of_its_own_is_a_regime() -> None:
    leaf, other = derived_of_library("dense.matmul::matmul_co")["work"].by_case
    assert (leaf.when, other.when) == ("max(n, m, p) <= 16", "otherwise")
    assert leaf.exact
    # matmul_basic's 1 + n + n*p + 3*n*m*p, the call of the leaf, its test and the outermost call.
    assert evaluate(leaf.lower, {"n": 2, "m": 3, "p": 5}) == 1 + 2 + 10 + 90 + 2


def test_a_caller_has_the_regimes_of_what_it_calls() -> None:
    """Each way that the conditions turn out, as far as there are such sizes, whatever their order."""
    costs = derived(PROGRAMS["quadrants twice"].text, "twice")[1]
    assert [each.when == "otherwise" for each in costs["work"].by_case] == [False, True]
    *narrow, wide = (frozenset(each.when.split(" and ")) for each in costs["span"].by_case)
    assert wide == {"otherwise"}
    assert set(narrow) == {
        frozenset(("n <= 4", "m <= 4")),
        frozenset(("n <= 4", "m >= 5")),
        frozenset(("n >= 5", "m <= 4")),
    }


def test_the_time_has_the_regimes_of_the_finer_one() -> None:
    costs = derived(PROGRAMS["quadrants of 4"].text)[1]
    time = time_cost(costs, Poly.symbol("P"), "P")
    assert [each.when for each in time.by_case] == [each.when for each in costs["span"].by_case]
    for n, m, processors in [(3, 4, 2), (3, 50, 1), (50, 3, 3), (40, 41, 4)]:
        point = {"n": n, "m": m, "P": processors}
        work, span = (value_or_none(costs[metric], {"n": n, "m": m}) for metric in ("work", "span"))
        assert evaluate(time.lower, point) <= max(span, work / processors)  # type: ignore[arg-type]
        assert span + work / processors <= evaluate(time.upper, point)  # type: ignore[arg-type]


def test_recursion_by_an_index_that_nothing_bounds_is_unknown() -> None:
    text = (
        "algorithm main(k: index):\n    decreases max(0, k)\n    if k > 0:\n        main(k - 1)\n        main(k//2)\n"
    )
    work = derived(text)[1]["work"]
    assert work.status == "unknown"
    assert work.reason


@pytest.mark.parametrize(
    "body",
    [
        # hi - lo halves that are all walked through: n*log2(n).
        "for i in lo..hi:\n            x[i] += 1.0\n        main(x, lo, (lo + hi)//2, k + 1)\n        main(x, (lo + hi)//2, hi, k)",
        # 2^(hi - lo) calls.
        "x[lo] += 1.0\n        main(x, lo, hi - 1, k + 1)\n        main(x, lo, hi - 1, k)",
    ],
)
def test_what_is_no_polynomial_of_three_indices_stays_unknown(body: str) -> None:
    header = "algorithm main(x: inout real[n], lo: index, hi: index, k: index)"
    costs = derived(f"{header}:\n    where hi > lo\n    if hi - lo >= 2:\n        {body}\n")[1]
    for metric in ("flops", "work", "span"):
        assert costs[metric].status == "unknown"
        assert "no closed form or bound" in (costs[metric].reason or "")


# What is written in the length of a range
SUMS = """
algorithm main(x: inout real[n], lo: index, hi: index):
    where 0 <= lo, lo < hi, hi <= n
    decreases hi - lo
    ensures work is Theta((hi - lo)*log2(hi - lo) + 1)
    ensures work is O(hi - lo)
    if hi - lo > 1:
        let mid = lo + (hi - lo)//2
        main(x, lo, mid)
        main(x, mid, hi)
        for i in lo..hi:
            x[i] += 1.0

algorithm whole(x: inout real[n]):
    ensures work is Theta(n*log2(n) + 1)
    main(x, 0, n)
"""


def test_claims_on_the_length_are_decided() -> None:
    module, costs = derived(SUMS)
    holds, fails = decide_claims(module, module.algorithms["main"], costs)
    assert (holds.outcome, fails.outcome) == ("holds", "fails")
    assert "(hi - lo) = 65536" in fails.reason
    module, costs = derived(SUMS, "whole")
    assert [each.outcome for each in decide_claims(module, module.algorithms["whole"], costs)] == ["holds"]


def test_costs_and_growth_are_written_in_the_length() -> None:
    module, costs = derived(SUMS)
    work = costs["work"]
    recurrence = work.recurrence
    assert recurrence.parameters == ("d",)
    assert evaluate(recurrence.meanings["d"], {"lo": 3, "hi": 10}) == 7
    text = costs.text(work.lower)
    assert "lo" not in text.replace("(hi - lo)", "").replace("log2", "")
    for low, high in ((0, 1), (3, 40)):
        at = {"lo": low, "hi": high}
        assert evaluate_static(parse_expression(text), at) == evaluate(work.lower, at)
    assert growth_of_cost(module, module.algorithms["main"], costs, work).text == "Theta((hi - lo)*log2(hi - lo))"
