"""Sizes that recursion brings down to 0 are at least 0: pages say so, and bounds and claims hold there."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from archline.api.costs import CostReport
from archline.api.metrics import Metric, Number
from archline.api.modules import loads
from archline.execution.run import try_run
from archline.language.diagnostics import ArchlineError, Diagnostic
from cli_support import cli
from effort import all_of, long, some

FIB = """algorithm f(n: size, x: inout real[1]):
    if n >= 2:
        x[0] += 1.0
        f(n - 1, x)
        f(n - 2, x)
"""
HANOI = """algorithm f(n: size, x: inout real[1]):
    if n > 0:
        f(n - 1, x)
        x[0] += 1.0
        f(n - 1, x)
"""
QUICKSORT = """algorithm f(a: inout real[n]):
    if n > 1:
        local p: int = 0
        let q = n - 1
        for i in 0..q:
            if a[i] < a[q]:
                local t: real = a[i]
                a[i] = a[p]
                a[p] = t
                p += 1
        local t: real = a[q]
        a[q] = a[p]
        a[p] = t
        f(a[0..p])
        f(a[p+1..n])
"""


def body(text: str, header: str = "n: size, x: inout real[1]", where: str = "") -> str:
    facts = f"    where {where}\n" if where else ""
    return f"algorithm f({header}):\n{facts}    x[0] += 1.0\n    {text}\n"


ARRAY = "x: inout real[n]"
REACHED = {
    "fibonacci": (FIB, ["n"]),
    "hanoi": (HANOI, ["n"]),
    "quicksort": (QUICKSORT, ["n"]),
    "one less": (body("if n >= 1:\n        f(n - 1, x)"), ["n"]),
    "half": (body("if n >= 1:\n        f(n//2, x)"), ["n"]),
    "far away": (body("if n > 36:\n        f(n - 37, x)"), ["n"]),
    "two sizes": (body("if n >= m:\n        f(n - m, m, x)", "n: size, m: size, x: inout real[1]"), ["n"]),
    "both sizes": (
        "algorithm f(x: real[n], y: real[m], t: inout real[1]):\n"
        "    if n >= 1 and m >= 1:\n        t[0] += 1.0\n        f(x[1..n], y[1..m], t)\n",
        ["n", "m"],
    ),
    "the second size after the first": (
        "algorithm f(n: size, m: size, x: inout real[1]):\n"
        "    if n > 0:\n        x[0] += 1.0\n        f(n - 1, n - 1, x)\n",
        ["n", "m"],
    ),
    "a slice": ("algorithm f(x: inout real[n]):\n    if n > 0:\n        x[0] += 1.0\n        f(x[1..n])\n", ["n"]),
    "a name": (body("if n > 1:\n        let h = n - 2\n        f(h, x)"), ["n"]),
    "a loop": (body("for i in 0..n:\n        f(i, x)"), ["n"]),
    "a loop in steps": (body("if n > 1:\n        for i in 0..n step n - 1:\n            f(i//2, x)"), ["n"]),
    "an index": (
        "algorithm f(x: inout real[n], i: index):\n    where i >= 0\n"
        "    if n > i:\n        x[0] += 1.0\n        f(x[0..n-i-1], i)\n",
        ["n"],
    ),
    "a multiple": (body("if n > 1:\n        f(n - 2, x)", where="2 divides n"), ["n"]),
    "data may go on": (
        "algorithm f(x: inout real[n]):\n    if n > 0:\n        if x[0] > 0.5:\n            f(x[1..n])\n",
        ["n"],
    ),
    "binary search": (
        "algorithm f(x: real[n], key: real) -> int:\n    local r: int = 0\n    if n >= 1:\n        let h = n//2\n"
        "        if x[h] < key:\n            r = f(x[h+1..n], key)\n        else:\n            r = f(x[0..h], key)\n"
        "    return r\n",
        ["n"],
    ),
    "in a circle": (
        "algorithm f(n: size, x: inout real[1]):\n    x[0] += 1.0\n    if n >= 1:\n        g(n, x)\n\n"
        "algorithm g(n: size, x: inout real[1]):\n    x[0] += 2.0\n    f(n - 1, x)\n",
        ["n"],
    ),
}
NOT_REACHED = {
    "a test against 1": body("if n > 1:\n        f(n - 1, x)"),
    "halves": body("if n > 1:\n        let h = n//2\n        f(h, x)\n        f(n - h, x)"),
    "a `where`": body("if n > 1:\n        f(n - 1, x)", where="n >= 1"),
    "powers": body("if n > 1:\n        f(n//2, x)", where="n is power of 2"),
    "another test": body("if n > 1:\n        if n > 2:\n            f(n - 2, x)"),
    "a test of the data": QUICKSORT.replace("f(a[0..p])", "if p > 0:\n            f(a[0..p])").replace(
        "f(a[p+1..n])", "if p < n - 1:\n            f(a[p+1..n])"
    ),
    "an assumption": QUICKSORT.replace("f(a[0..p])", "assume p > 0, p < n - 1\n        f(a[0..p])"),
    "no recursion": "algorithm f(n: size, x: inout real[1]):\n    if n > 0:\n        g(n - 1, x)\n\n"
    "algorithm g(n: size, x: inout real[1]):\n    x[0] += 1.0\n",
}
HAVE_NO_RUN = {
    "reads outside": body("if n > 1:\n        f(x[0..n-2])", ARRAY),
    "reads outside at once": body("if n >= 1:\n        f(x[0..n-1])", ARRAY),
    "divides by it": "algorithm f(n: size, x: inout real[1]):\n    for i in 0..10//n:\n        x[0] += 1.0\n"
    "    if n >= 1:\n        f(n - 1, x)\n",
    "`where n >= 1`": HANOI.replace("    if", "    where n >= 1\n    if"),
    "`where` and two less": body("if n >= 2:\n        f(n - 2, x)", where="n >= 1"),
    "a power of 2": body("if n >= 1:\n        f(n//2, x)", where="n is power of 2"),
    "a callee": "algorithm f(x: inout real[n]):\n    g(x)\n    if n >= 1:\n        f(x[0..n-1])\n\n"
    "algorithm g(x: inout real[n]):\n    for i in 0..n:\n        x[i] = 1.0\n",
    "a callee of the library": "use sort.insertion_sort\n\nalgorithm f(x: inout real[n]):\n    insertion_sort(x)\n"
    "    if n >= 1:\n        f(x[0..n-1])\n",
}


def ends_at(cost: Metric, **sizes: int) -> tuple[Number, Number]:
    """The bounds at sizes, equal where the cost is exact."""
    found = cost.at(**sizes)
    return found if isinstance(found, tuple) else (found, found)


def check_against_runs(text: str, most: int) -> CostReport:
    """The costs, between whose bounds runs at sizes from 0 on lie."""
    algorithm = loads(text)["f"]
    report = algorithm.cost()
    for size in range(most):
        sizes = {name: max(size, least) for name, least in algorithm.signature.at_least.items()}
        sizes |= dict.fromkeys(algorithm.signature.indices, 0)
        run = try_run(algorithm.module, algorithm.node, sizes)
        if isinstance(run, Diagnostic) or run is None:
            assert run is None or run.rule.code in ("AL506", "AL507", "AL524"), run
            continue
        for metric in ("flops", "work", "span"):
            cost = report[metric]
            if cost.upper is not None:
                low, high = ends_at(cost, **sizes)
                counted = getattr(run.counts, metric)
                assert low <= counted <= high <= cost.upper_at(**sizes) + 1e-6, (metric, sizes)
    return report


@pytest.mark.parametrize(("text", "names"), some([*REACHED.values()]), ids=some([*REACHED]))
def test_the_fact_is_on_the_page_and_bounds_hold_from_0_on(text: str, names: list[str]) -> None:
    report = check_against_runs(text, 8)
    facts = [fact for fact in map(str, report.assumptions) if fact.endswith(" >= 0") and "i" not in fact]
    assert facts == [f"{name} >= 0" for name in names]


@pytest.mark.parametrize("text", NOT_REACHED.values(), ids=NOT_REACHED)
def test_other_sizes_are_at_least_1(text: str) -> None:
    assert set(loads(text)["f"].signature.at_least.values()) == {1}


@pytest.mark.parametrize("text", HAVE_NO_RUN.values(), ids=HAVE_NO_RUN)
def test_a_call_at_0_without_a_run_is_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "f.algo"
    path.write_text(text)
    for command in ("cost", "check"):
        done = cli(command, f"{path}::f")
        assert done.refused("AL504"), done
        assert "at n = " in done.err
        assert "0" in done.err


def test_known_costs() -> None:
    hanoi, quicksort = loads(HANOI)["f"].cost(), loads(QUICKSORT)["f"].cost()
    fib = loads(FIB)["f"].cost()
    numbers = [0, 0]
    for n in range(8):
        assert hanoi.flops.at(n=n) == 2**n - 1
        assert quicksort.flops.upper_at(n=n) == Fraction(n * (n - 1), 2)
        assert ends_at(quicksort.flops, n=n)[0] <= max(n - 1, 0)
        numbers.append(numbers[-1] + numbers[-2] + 1)
        assert ends_at(fib.flops, n=n) == (numbers[n], numbers[n])


def test_claims_are_decided_at_0(tmp_path: Path) -> None:
    path = tmp_path / "f.algo"
    claims = ("flops == 2^n - 1", "flops >= 1", "flops >= 1 when n >= 1")
    header, rest = HANOI.split("\n", 1)
    path.write_text("\n".join((header, *(f"    ensures {claim}" for claim in claims), rest)))
    done = cli("check", str(path))
    assert done.code == 1
    assert "at n = 0: derived 0, claimed >= 1" in done.out
    assert "2 claims hold, 1 fails" in done.out


def test_what_only_data_passes_is_assumed() -> None:
    text = QUICKSORT.replace("    if n > 1", "    where n >= 1\n    if n > 1", 1)
    said = "the size `n` of `f` is at least 1 (lines 15, 16)"
    assert said in map(str, loads(text)["f"].cost().assumptions)
    called = "algorithm f(x: real[n], k: int[1], y: out real[n]):\n    g(x[0..k[0]], y[0..k[0]])\n\n"
    called += "algorithm g(x: real[n], y: out real[n]):\n    for i in 0..n:\n        y[i] = x[i]\n"
    said = "the size `n` of `g` is at least 1 (line 2)"
    assert said in map(str, loads(called)["f"].cost().assumptions)


def test_a_fault_of_another_size_is_an_assumption() -> None:
    text = "algorithm f(n: size, x: inout real[m]):\n    if n > 0:\n        f(n - 1, x)\n    else:\n        x[m-2] += 1.0\n"
    assert list(map(str, loads(text)["f"].cost().assumptions)) == ["n >= 0", "m >= 2 where n <= 0 at each call"]


@long
@given(st.integers(0, 6), st.lists(st.integers(1, 5), min_size=1, max_size=2))
@settings(max_examples=all_of(5, 2), deadline=None)
def test_bounds_of_drawn_recursions(least: int, steps: list[int]) -> None:
    calls = "\n".join(f"        f(n - {step}, x)" for step in steps)
    text = body(f"if n >= {least}:\n{calls}")
    if least >= max(steps):
        check_against_runs(text, 8)
    else:
        # A call passes less than 0, or 0 for ever.
        with pytest.raises(ArchlineError, match=r"AL302|AL504"):
            loads(text)["f"].cost()
