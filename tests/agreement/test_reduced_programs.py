"""Tails of blocks, padded windows, tiles and blocked factorisations: short exact forms, compared with executions."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from archline.algebra.evaluate.exact import evaluate
from archline.analysis.analyse import derive
from archline.analysis.cost import Costs
from archline.cost_growth.growth_of_cost import growth_of_cost
from archline.execution.data import generate_arguments
from archline.execution.run import execute
from archline.language.loader import load_text
from archline.language.model import Module
from derived_counts import assert_agreement
from effort import drawn
from programs import GeneratedProgram, program_from_seed, programs

# What each nest counts is known beforehand: every element once, every pair of a window inside the borders.
FORMS = [
    ("n", "for k in 0..ceil(n/8): | for i in 0..8: | if 8*k + i < n:"),
    ("n", "for k in 0..ceil(n/64): | for i in 0..64: | if 64*k + i < n:"),
    ("n", "for k in 0..ceil(n/b): | for i in 0..b: | if b*k + i < n:"),
    ("n", "for k in 0..n step b: | for i in k..min(n, k + b):"),
    ("n", "for s in 0..3: | for i in s..n step 3:"),
    # Elements dealt to b processors: one by one, in equal or nearly equal blocks, by their owner's test.
    ("n", "for r in 0..b: | for i in r..n step b:"),
    ("n", "for r in 0..b: | for k in 0..ceil((n - r)/b):"),
    ("n", "for r in 0..b: | for k in 0..ceil(n/b): | if r + b*k < n:"),
    ("n", "for r in 0..b: | for i in 0..n: | if i % b == r:"),
    ("n", "for r in 0..b: | for i in r*n//b..(r + 1)*n//b:"),
    ("n", "for r in 0..b: | for i in min(n, r*ceil(n/b))..min(n, (r + 1)*ceil(n/b)):"),
    ("n", "for r in 0..b: | for i in r*(n//b) + min(r, n%b)..(r + 1)*(n//b) + min(r + 1, n%b):"),
    ("n*m", "for r in 0..b: | for i in r..n step b: | for j in 0..m:"),
    ("n", "for kk in 0..n step 16: | for k in kk..min(n, kk + 16) step 4: | for i in k..min(n, k + 4):"),
    ("n", "for w in 0..ceil((n + m)/b): | for i in max(m, w*b)..min(n + m, (w + 1)*b):"),
    ("n*m", "for u in 0..m: | for w in 0..ceil((n + m)/b): | for i in max(0, w*b - u)..min(n, (w + 1)*b - u):"),
    # Skewed tiles, whose loops the derivation interchanges.
    ("n*m", "for w in 0..ceil((n + m)/b): | for u in 0..m: | for i in max(0, w*b - u)..min(n, (w + 1)*b - u):"),
    ("n*m", "for w in 0..n + 2*m: | for u in 0..m: | if w - 2*u >= 0 and w - 2*u < n:"),
    ("n*m - min(m, n)", "for i in 0..n: | for j in 0..m: | if i + j != m - 1:"),
    ("n*m", "for k in 0..ceil(n/4): | for l in 0..ceil(m/3): | for i in 0..4: | for j in 0..3: | "
            "if 4*k + i < n and 3*l + j < m:"),
    ("3*n - 2", "for i in 0..n: | for a in 0..3: | if i + a >= 1 and i + a <= n:"),
    ("9*n*m - 6*n - 6*m + 4", "for i in 0..n: | for j in 0..m: | for a in 0..3: | for c in 0..3: | "
            "if i + a >= 1 and i + a < n + 1 and j + c >= 1 and j + c < m + 1:"),
    ("1/2*n^2 + 1/2*n", "for p in 0..n step b: | for q in 0..p + 1 step b: | for i in p..min(n, p + b): | "
            "for j in q..min(i + 1, q + b):"),
    ("n^3", "for p in 0..n step b: | for q in 0..n step b: | for i in 0..n: | for j in q..min(n, q + b): | "
            "for k in p..min(n, p + b):"),
    ("1/3*n^3 - 1/2*n^2 + 1/6*n", "for p in 0..n step b: | for k in p..min(n, p + b): | for i in k + 1..n: | "
            "for j in k + 1..n:"),
    ("1/2*n^2 + 1/2*(n%2)", "for i in 0..n: | for j in 0..n: | if (i + j) % 2 == 0:"),
]  # fmt: skip


def counting(loops: str) -> Module:
    """The algorithm `f` that counts in a nest, a line of it between bars."""
    lines = [*loops.split(" | "), "t[0] += 1.0"]
    body = "".join(f"{'    ' * depth}{line}\n" for depth, line in enumerate(lines, 1))
    return load_text(f"algorithm f(t: inout real[1], n: size, m: size, b: size):\n{body}")


def agreed(module: Module, text: str, *points: dict[str, int]) -> Costs:
    """The costs of `f`, which hold what runs at some sizes count."""
    algorithm = module.algorithms["f"]
    costs = derive(module, algorithm)
    for sizes in points:
        run = execute(module, algorithm, generate_arguments(module, algorithm, sizes, seed=1), compiled=False)
        assert_agreement(costs, run, text)
    return costs


@pytest.mark.parametrize(("form", "loops"), FORMS)
def test_a_nest_counts_what_is_known_of_it(form: str, loops: str) -> None:
    module = counting(loops)
    points = ((1, 1, 1), (2, 3, 4), (9, 5, 4), (12, 7, 3), (3, 2, 7))
    costs = agreed(module, loops, *(dict(zip("nmb", point, strict=True)) for point in points))
    flops = costs["flops"]
    assert flops.exact
    assert flops.upper is not None
    assert costs.text(flops.upper) == form
    for metric in ("flops", "work"):
        found = growth_of_cost(module, module.algorithms["f"], costs, costs[metric]).text
        assert (found or "").startswith("Theta("), metric


@st.composite
def nests(draw: st.DrawFn) -> str:
    """A tail, a window inside borders, a stride, tiles or two levels of blocks, of any small numbers, or of sizes."""
    k, c, d = draw(st.integers(2, 6)), draw(st.integers(0, 3)), draw(st.integers(0, 3))
    block = draw(st.sampled_from((str(k), str(k + 6), "b", "b + 1")))
    window = f"for i in 0..n: | for a in 0..{k}: | if i + a >= {c} and i + a < n + {d}:"
    return draw(
        st.sampled_from(
            (
                window,
                f"for j in 0..m: | {window} | for e in 0..{c + 1}: | if j + e < m:",
                f"for q in 0..ceil(n/({block})): | for i in 0..{block}: | if ({block})*q + i < n:",
                f"for q in 0..n step {block}: | for i in q..min(n, q + {block}): | for j in i..n:",
                f"for s in 0..{k}: | for i in s..n - {c} step {k}:",
                f"for s in 0..m: | for i in s + {c}..n step m:",
                f"for w in 0..n + {k}*m: | for u in 0..m: | if w - {k}*u >= {c} and w - {k}*u < n:",
                f"for w in 0..n + m step b: | for u in {c}..m: | for i in max(0, w - u)..min(n, w - u + b):",
                f"for q in 0..n step b: | for i in q..min(n, q + b) step {k}: | for j in i..min(q + b, i + {k}):",
                f"for q in 0..n step {k * 2}: | for p in q..min(n, q + {k * 2}) step 2: | for i in p..min(n, p + 2):",
                f"for w in 0..ceil((n + m)/({block})): | for i in max({c}, w*({block}))..min(n, (w + 1)*({block})):",
                f"for i in 0..n: | if (i + m) % {k} == {c}: | for j in 0..i // {k}:",
            )
        )
    )


@settings(max_examples=drawn(60), deadline=None)
@given(nests(), st.integers(1, 12), st.integers(1, 12), st.integers(1, 12))
def test_nests_cost_what_they_execute(loops: str, n: int, m: int, b: int) -> None:
    assert agreed(counting(loops), loops, {"n": n, "m": m, "b": b})["flops"].exact, loops


@pytest.mark.parametrize("block", ["2", "5", "m"])
def test_blocks_dealt_to_processors_in_turn_are_bounded(block: str) -> None:
    """Each processor tests its loop once at least, and executes no more than its blocks have."""
    module = counting(f"for r in 0..b: | for k in {block}*r..n step {block}*b: | for i in k..min(n, k + {block}):")
    algorithm = module.algorithms["f"]
    costs = derive(module, algorithm)
    assert block != "m" or (growth_of_cost(module, algorithm, costs, costs["work"]).text or "").endswith("Omega(b)")
    for n, m, b in ((1, 1, 1), (2, 3, 4), (9, 5, 4), (12, 7, 3), (30, 2, 7)):
        sizes = {"n": n, "m": m, "b": b}
        run = execute(module, algorithm, generate_arguments(module, algorithm, sizes, seed=1), compiled=False)
        assert_agreement(costs, run, block)
        assert evaluate(costs["work"].lower, sizes) >= b + 1
        assert evaluate(costs["flops"].upper, sizes) <= n + b * (m if block == "m" else int(block))


# Rounds of parallel loops, strides that double, and few iterations: spans, work and flops hold what is executed


def algorithm_of(nest: str) -> Module:
    """The algorithm `f` of a nest, a line of it between bars."""
    body = "".join(f"{'    ' * depth}{line}\n" for depth, line in enumerate(nest.split(" | "), 1))
    return load_text(f"algorithm f(n: size, m: size, x: inout real[n + 9]):\n    where n >= 3 and m >= 1\n{body}")


# What is known of a nest beforehand: its costs, or how they grow.
KNOWN = [
    ("for c in 0..2: | parallel for i in 1 + c..n - 1 step 2: | x[i] = x[i - 1] + x[i + 1]", "span", "Theta(log2(n))"),
    ("for c in 0..3: | parallel for i in c..n step 3: | x[i] += 1.0", "span", "Theta(log2(n))"),
    ("for i in n - 1 downto 0 step 2: | parallel for j in i..n: | x[j] += 1.0", "span", "O(n*log2(n)), Omega(n)"),
    ("for d in 0..ceil(log2(n)): | parallel for i in 0..n step 2^(d + 1): | if i + 2^d < n: | x[i] += x[i + 2^d]",
     "flops", "n - 1"),
    ("for d in 0..ceil(log2(n)): | parallel for i in 0..n - 2^d step 2^(d + 1): | x[i] += x[i + 2^d]", "flops", "n - 1"),
    ("for d in 0..ceil(log2(n)): | parallel for i in 0..n - 2^d step 2^(d + 1): | x[i] += x[i + 2^d]",
     "work", "2*n + ceil(log2(n)) - 1"),
    ("for d in 0..ceil(log2(n)): | parallel for i in 0..n step 2^(d + 1): | if i + 2^d < n: | x[i] += x[i + 2^d]",
     "span", "Theta(log2(n)^2)"),
    ("for j in 0..floor(log2(n)): | for i in 0..n step 2^j: | x[i] += 1.0", "flops", "Theta(n)"),
    ("for i in 0..n: | if i // m == 2: | x[i] += 1.0", "flops", "m + max(0, 2*m - n) - max(0, 3*m - n)"),
]  # fmt: skip


@pytest.mark.parametrize(("nest", "metric", "known"), KNOWN)
def test_what_is_known_of_a_nest_is_derived(nest: str, metric: str, known: str) -> None:
    module = algorithm_of(nest)
    algorithm = module.algorithms["f"]
    costs = derive(module, algorithm)
    cost = costs[metric]
    assert cost.upper is not None
    assert known in (costs.text(cost.upper) if cost.exact else "", growth_of_cost(module, algorithm, costs, cost).text)
    for n, m in ((3, 1), (4, 1), (5, 2), (8, 3), (13, 4), (16, 5), (17, 8)):
        run = execute(
            module, algorithm, generate_arguments(module, algorithm, {"n": n, "m": m}, seed=1), compiled=False
        )
        assert_agreement(costs, run, nest)


@st.composite
def rounds(draw: st.DrawFn) -> str:
    """Rounds with strides, guards or copies, loops that get shorter, and few iterations, with any small numbers."""
    k, c, d = draw(st.integers(2, 4)), draw(st.integers(0, 3)), draw(st.integers(0, 2))
    loop = draw(st.sampled_from(("for", "parallel for")))
    rounds = draw(st.sampled_from(("for d in 0..ceil(log2(n)):", "for d in 0..floor(log2(n)):", f"for d in 0..{k}:")))
    step = draw(st.sampled_from(("2^d", "2^(d + 1)", f"{k}*2^d", f"d + {d + 1}", f"2^(d + {d})")))
    guard = draw(
        st.sampled_from(("if i + 2^d < n:", f"if i >= 2^d - {c}:", f"if i // m == {c}:", f"if i // {k} == d:"))
    )
    return draw(
        st.sampled_from(
            (
                f"{rounds} | {loop} i in {c}..n step {step}: | x[i] += 1.0",
                f"{rounds} | {loop} i in {c}..n - 2^d step {step}: | x[i] += 1.0",
                f"{rounds} | {loop} i in 0..n step {step}: | {guard} | x[i] += 1.0",
                f"{rounds} | {loop} i in {c}..n: | {guard} | x[i] += 1.0",
                f"{rounds} | {loop} i in {c}..n: | {guard} | for e in 0..d: | x[i] += 1.0",
                f"for c in 0..{k}: | {loop} i in {d} + c..n - {c} step {k}: | x[i] += 1.0",
                f"for c in 0..{k}: | parallel for e in c..m: | {loop} i in c..n step {k}: | atomic x[i] += 1.0",
                f"for i in n - 1 downto {c} step {k}: | {loop} j in i..n + {d}: | x[j] += 1.0",
                f"for i in {c}..n step {k}: | {loop} j in i // {k}..n step {d + 1}: | x[j] += 1.0",
                f"for i in 0..n: | if i // m != {c}: | x[i] += 1.0",
                f"for i in 0..n: | if i // m >= {c} and i // m < {k}: | x[i] += 1.0",
            )
        )
    )


@settings(max_examples=drawn(60), deadline=None)
@given(rounds(), st.integers(3, 18), st.integers(1, 9))
def test_rounds_cost_what_they_execute(nest: str, n: int, m: int) -> None:
    costs = agreed(algorithm_of(nest), nest, {"n": n, "m": m})
    assert costs["flops"].status != "unknown", nest
    assert costs["span"].status != "unknown", nest


# The two witnesses: what the analysis derives is what the execution counts, over generated programs and sizes


PROGRAMS = drawn(150)
"""Programs a test draws; there are four such tests, so that they run side by side."""


def check(program: GeneratedProgram, data: st.DataObject) -> None:
    module = load_text(program.text)
    algorithm = module.algorithms[program.entry]
    costs = derive(module, algorithm)
    for number in range(2):
        sizes = data.draw(program.sizes())
        run = execute(module, algorithm, program.arguments(sizes, number), compiled=False, races=number == 0)
        assert_agreement(costs, run, program.text)


@pytest.mark.parametrize("stream", range(4))
def test_generated_programs(stream: int) -> None:
    """Programs that Hypothesis draws."""

    @seed(stream)
    @settings(
        max_examples=PROGRAMS,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(programs(), st.data())
    def agree(program: GeneratedProgram, data: st.DataObject) -> None:
        check(program, data)

    agree()


def test_nine_in_ten_without_data_branches_are_exact() -> None:
    exact = []
    for number in range(drawn(200)):
        program = program_from_seed(number)
        if not program.has_data_branch:
            module = load_text(program.text)
            exact.append(all(cost.exact for cost in derive(module, module.algorithms[program.entry])))
    print(f"{sum(exact)} of {len(exact)} programs without data branches are exact")
    assert sum(exact) >= 0.9 * len(exact)
