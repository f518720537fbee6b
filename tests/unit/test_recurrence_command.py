"""`archline recurrence`: text, JSON, explanations, exit codes, diagnostics; and the Python API below it."""

from __future__ import annotations

import json
from fractions import Fraction

import pytest

from archline.api.growth import recurrence
from cli_support import cli, process

STRASSEN = "T(n) = 7*T(n/2) + n^2, T(1) = 1"


def test_text() -> None:
    ran = cli("recurrence", STRASSEN)
    assert (ran.code, ran.err) == (0, "")
    assert "Theta(n^log2(7))" in ran.out
    assert "7/3*n^log2(7) - 4/3*n^2 where n = 2^k" in ran.out
    assert "solution" not in ran.out


def test_explained() -> None:
    ran = cli("recurrence", STRASSEN, "--explain")
    for line in ("T(n) = 7*T(n/2) + n^2 for n > 1", "7*(1/2)^p = 1 at p = log2(7)", "so T(n) is Theta(n^log2(7))"):
        assert f"  {line}\n" in ran.out


def test_json() -> None:
    ran = cli("recurrence", STRASSEN, "--format", "json")
    found = json.loads(ran.out)
    assert ran.code == 0
    assert set(found) == {
        "version", "recurrence", "growth", "exact", "domain", "method", "regimes", "steps", "outcome", "reason"
    }  # fmt: skip
    assert (found["version"], found["recurrence"], found["outcome"]) == (1, STRASSEN, "solved")
    assert (found["growth"], found["domain"], found["reason"]) == ("n^log2(7)", "n = 2^k", None)


def test_exponential_growth_is_an_answer() -> None:
    ran = cli("recurrence", "T(n) = 2*T(n-1) + 1, T(0) = 0", "--format", "json")
    found = json.loads(ran.out)
    assert (ran.code, found["outcome"], found["growth"], found["exact"]) == (0, "exponential", "2^n", "2^n - 1")


def test_refusals_exit_with_1() -> None:
    ran = cli("recurrence", "T(n) = T(n/2)*T(n/3)")
    assert (ran.code, ran.err) == (1, "")
    assert "not linear" in ran.out
    found = json.loads(cli("recurrence", "T(n) = T(n)", "--format", "json").out)
    assert (found["outcome"], found["growth"]) == ("refused", None)
    assert "same size" in found["reason"]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["T(n) = "], "AL101"),
        (["T(n) = T(n/2"], "AL101"),
        (["n^2"], "AL470"),
        (["T(n) = U(n)"], "AL473"),
        (["T(n) = n", "--where", "n >"], "AL101"),
    ],
)
def test_bad_input_exits_with_2(arguments: list[str], code: str) -> None:
    assert cli("recurrence", *arguments).refused(code)


def test_every_rule_is_explained() -> None:
    for number in range(470, 477):
        assert cli("explain", f"AL{number}").code == 0


def test_facts_reach_the_solver() -> None:
    text = "Q(n) = 1 + n/L when n <= Z; 2*Q(n/2) + 1 + n/L"
    ran = cli("recurrence", text, "--where", "Z >= L^2, n >= Z", "--format", "json")
    assert ran.code == 0
    assert json.loads(ran.out)["growth"]


def test_as_a_process() -> None:
    ran = process("recurrence", "T(n) = 2*T(n/2) + n")
    assert ran.code == 0
    assert "Theta(n*log2(n))" in ran.out


def test_the_api_solves_and_follows() -> None:
    solution = recurrence("T(n) = 2*T(n/2) + n")
    assert (solution.outcome, solution.growth, solution.exact) == ("solved", "n*log2(n)", "n*log2(n) + n")
    assert solution.at(n=1024) == 11264
    assert solution.at(n=3) == Fraction(3 + 3 + 4)
    assert recurrence("T(n) = T(n)").growth is None


def test_text_is_never_run() -> None:
    ran = cli("recurrence", "T(n) = __import__(n)")
    assert ran.refused("AL473")
