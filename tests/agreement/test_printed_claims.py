"""What `cost` prints holds: each bound and each growth, pasted into its program as an `ensures`, is proved."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import archline as al
from archline.language.loader import load_text
from archline.report.view import format_contract
from effort import EFFORT
from printed_claims import verdicts
from stdlib_targets import ALL

REPORTS = Path(__file__).parent.parent / "data" / "reports"
REFUSED = {
    case["algorithm"]
    for case in json.loads((REPORTS / "cases.json").read_text())
    if any("at" not in each for each in case["expect"].get("refused", ()))
}
"""Programs without costs, whatever the sizes."""
EVERY = {"quick": 48, "full": 8, "deep": 1}[EFFORT]
"""The pages of so many algorithms are compared by one of them."""


def check(target: str) -> None:
    found = verdicts(target)
    assert found
    others = [each for each in found if each.outcome != "holds"]
    texts = [f"{each.outcome}: {format_contract(each.ensures)}: {each.reason}" for each in others]
    assert not texts, "\n".join(texts)


@pytest.mark.parametrize("target", ALL[5::EVERY])
def test_library(target):
    check(target)


REPORTED = [
    f"{file.name}::{name}"
    for file in sorted(REPORTS.glob("*.algo"))
    for name in re.findall(r"^algorithm (\w+)", file.read_text(), flags=re.M)
    if name not in REFUSED
]


@pytest.mark.parametrize("target", REPORTED[:: max(1, EVERY // 4)])
def test_reported(target):
    check(f"{REPORTS}/{target}")


# Formulas as pages write them
FORMULAS = """
algorithm product(n: size, b: size, t: inout real[1]):
    ensures work == 2*n + 1 + gcd(b, n) - gcd(n, b)
    ensures work == 2*n + 1 + n^log2(7) - 7^log2(n)
    ensures work == 2*n + 1 + (3/2)^log2(n) - 3^log2(n)/n
    for i in 0..n:
        t[0] += 1.0
"""


def test_formulas_that_pages_use():
    from archline.analysis.analyse import derive
    from archline.claims.decide import decide_claims

    module = load_text(FORMULAS)
    algorithm = module.algorithms["product"]
    assert [each.outcome for each in decide_claims(module, algorithm, derive(module, algorithm))] == ["holds"] * 3


# Loops and recursions that do nothing at the least sizes, where logarithms and ranges are 0
DOUBLED = "where n is power of 2\n    for i in 0..log2(n):\n        "
HALVED = "if n > 1:\n        f(x[0..n//2])\n        "
RANGE = "x: in real[n], lo: index, hi: index"
HALVES = "if hi - lo > 1:\n        let m = (lo + hi)//2\n        f(x, lo, m)"
AT_LEAST_SIZES = {
    "a line": ("x: inout real[n]", DOUBLED + "x[0] += x[n - 1]"),
    "a plane": ("x: inout real[n]", DOUBLED + "for j in 0..n:\n            x[j] += 1.0"),
    "shrinking": ("x: inout real[n]", DOUBLED + "for j in 0..n//2^i:\n            x[j] += 1.0"),
    "no iteration": ("x: inout real[n]", "for i in 0..n - 1:\n        x[i] += 1.0"),
    "two sizes": ("x: inout real[n, m]", "for i in 1..n:\n        for j in 1..m:\n            x[i, j] += 1.0"),
    "empty": ("x: inout real[n]", "where n >= 0\n    for i in 1..n:\n        x[i] += 1.0"),
    "doubling": (
        "x: inout real[n]",
        "where n is power of 2\n    local i: int = 1\n    while i < n at most log2(n) times:\n        x[0] += x[i - 1]\n        i = 2*i",
    ),
    "recursion": ("x: inout real[n]", HALVED + "for i in 0..n:\n            x[i] += 1.0"),
    "logarithms": ("x: inout real[n]", HALVED + "for i in 0..log2(n):\n            x[i % n] += 1.0"),
    "range": (RANGE, f"where 0 <= lo, lo <= hi, hi <= n\n    {HALVES}\n        f(x, m, hi)"),
    "half a range": (RANGE, f"where 0 <= lo, lo <= hi, hi <= n\n    {HALVES}"),
}


@pytest.mark.parametrize("name", AT_LEAST_SIZES)
def test_at_least_sizes(name, tmp_path):
    parameters, body = AT_LEAST_SIZES[name]
    file = tmp_path / "program.algo"
    file.write_text(f"algorithm f({parameters}):\n    {body}\n")
    check(f"{file}::f")


def test_what_a_page_prints_of_a_loop_that_may_be_empty(tmp_path):
    file = tmp_path / "program.algo"
    file.write_text(f"algorithm f(x: inout real[n]):\n    {DOUBLED}for j in 0..n:\n            x[j] += 1.0\n")
    # The loop over i has no iteration at n = 1, and x is read in full from n = 2 on.
    rows = {row.metric: row.growth for row in al.algorithm(f"{file}::f").cost().view().rows}
    assert rows["io"] == "O(n*log2(n)/L + log2(n)), Omega(n/L + 1) where n >= 2"
