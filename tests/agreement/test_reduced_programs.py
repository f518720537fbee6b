"""Tails of blocks, padded windows, tiles and blocked factorisations: short exact forms, compared with executions."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from archline.algebra.evaluate.exact import evaluate
from archline.analysis.analyse import derive
from archline.claims.growth_of_cost import growth
from archline.execution.data import generate
from archline.execution.run import execute
from archline.language.loader import load_text
from archline.language.model import Module
from derived_counts import assert_agreement
from effort import drawn

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


@pytest.mark.parametrize(("form", "loops"), FORMS)
def test_a_nest_counts_what_is_known_of_it(form: str, loops: str) -> None:
    module = counting(loops)
    algorithm = module.algorithms["f"]
    costs = derive(module, algorithm)
    flops = costs["flops"]
    assert flops.exact
    assert flops.upper is not None
    assert costs.text(flops.upper) == form
    for metric in ("flops", "work"):
        assert (growth(module, algorithm, costs, costs[metric]).text or "").startswith("Theta("), metric
    for point in ((1, 1, 1), (2, 3, 4), (9, 5, 4), (12, 7, 3), (3, 2, 7)):
        sizes = dict(zip("nmb", point, strict=True))
        run = execute(module, algorithm, generate(module, algorithm, sizes, seed=1), compiled=False)
        assert_agreement(costs, run, loops)


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
    module = counting(loops)
    algorithm = module.algorithms["f"]
    run = execute(module, algorithm, generate(module, algorithm, {"n": n, "m": m, "b": b}, seed=1), compiled=False)
    costs = derive(module, algorithm)
    assert costs["flops"].exact, loops
    assert_agreement(costs, run, loops)


@pytest.mark.parametrize("block", ["2", "5", "m"])
def test_blocks_dealt_to_processors_in_turn_are_bounded(block: str) -> None:
    """Each processor tests its loop once at least, and executes no more than its blocks have."""
    module = counting(f"for r in 0..b: | for k in {block}*r..n step {block}*b: | for i in k..min(n, k + {block}):")
    algorithm = module.algorithms["f"]
    costs = derive(module, algorithm)
    assert block != "m" or (growth(module, algorithm, costs, costs["work"]).text or "").endswith("Omega(b)")
    for n, m, b in ((1, 1, 1), (2, 3, 4), (9, 5, 4), (12, 7, 3), (30, 2, 7)):
        sizes = {"n": n, "m": m, "b": b}
        run = execute(module, algorithm, generate(module, algorithm, sizes, seed=1), compiled=False)
        assert_agreement(costs, run, block)
        assert evaluate(costs["work"].lower, sizes) >= b + 1
        assert evaluate(costs["flops"].upper, sizes) <= n + b * (m if block == "m" else int(block))
