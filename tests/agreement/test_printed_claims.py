"""What `cost` prints holds: each bound and each growth, pasted into its program as an `ensures`, is proved."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from archline.language.loader import load_text
from archline.report.view import contract_text
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
    texts = [f"{each.outcome}: {contract_text(each.ensures)}: {each.reason}" for each in others]
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
    from archline.claims.decide import decide

    module = load_text(FORMULAS)
    algorithm = module.algorithms["product"]
    assert [each.outcome for each in decide(module, algorithm, derive(module, algorithm))] == ["holds"] * 3
