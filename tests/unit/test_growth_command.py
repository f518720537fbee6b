"""`archline order`: answers, exit codes, JSON, and how bad input is refused."""

from __future__ import annotations

import json
import re

import pytest

from archline.api.growth import order
from archline.certificates.check import check
from cli_support import cli


@pytest.mark.parametrize(
    ("arguments", "code", "head"),
    [
        (("n", "n^2"), 0, "holds: n is O(n^2)"),
        (("n^2", "n"), 1, "fails: n^2 is not O(n)"),
        (("n^2", "n", "--relation", "Omega"), 0, "holds: n^2 is Omega(n)"),
        (("2*n", "n", "--relation", "Theta"), 0, "holds: 2*n is Theta(n)"),
        (("n^2", "n", "--relation", "Theta"), 1, "fails: n^2 is not Theta(n)"),
        (("(n + 1)^m", "n"), 1, "unknown: (n + 1)^m is O(n)"),
        (("nz + n", "nz", "--where", "nz >= n"), 0, "holds: nz + n is O(nz)\nwhere nz >= n"),
        (("n", "m", "--relation", "compare"), 0, "holds: neither n nor m is O of the other"),
        (("n", "3*n", "--relation", "compare"), 0, "holds: n and 3*n have the same order"),
        (("n", "n^2", "--relation", "compare"), 0, "holds: n has a smaller order than n^2"),
        (("n^2", "n", "--relation", "compare"), 0, "holds: n^2 has a larger order than n"),
        # A point where one side is 0 decides nothing about large sizes.
        (
            ("1 - 1/n", "ceil(n) - n + 1", "--relation", "compare"),
            1,
            "unknown: the order of 1 - 1/n and ceil(n) - n + 1",
        ),
        (("n*m", "n*m - m", "--relation", "compare"), 1, "unknown: the order of n*m and n*m - m"),
        (("n^2", "n^2 - n", "--relation", "compare"), 0, "holds: n^2 and n^2 - n have the same order"),
        (("(n + 1)^m", "n", "--relation", "compare"), 1, "unknown: the order of (n + 1)^m and n"),
        (("n - m + 1", "n - m + 1", "--where", "n >= m"), 0, "holds: n - m + 1 is O(n - m + 1)"),
        (("2*n - 2*m", "m - n", "--where", "n >= m"), 1, "fails: 2*n - 2*m is not O(m - n)"),
        (("n - m", "m - n"), 1, "fails: n - m is not O(m - n)"),
    ],
)
def test_answers(arguments: tuple[str, ...], code: int, head: str) -> None:
    ran = cli("order", *arguments)
    assert (ran.code, ran.err) == (code, "")
    assert ran.out.startswith(head + "\n")


@pytest.mark.parametrize("of", ["n - m", "n - 2*m", "n%m", "(n - m)^2*m - n", "log2(n)*m - n"])
@pytest.mark.parametrize("times", ["3", "1/5", "sqrt(2)"])
def test_a_multiple_has_the_same_order_whatever_its_sign(of: str, times: str) -> None:
    for f, g in ((of, f"{times}*({of})"), (f"{times}*({of})", of)):
        found = json.loads(cli("order", f, g, "--relation", "Theta", "--verify", "--format", "json").out)
        assert (found["holds"], found["verified"]) == (True, True)
        certificate = found["certificate"]["upper"]
        if "multiple" in certificate:
            assert not check({**certificate, "multiple": "7"}).accepted
            assert not check({**certificate, "multiple": f"-({certificate['multiple']})"}).accepted


def test_json() -> None:
    ran = cli("order", "n", "n^2", "--where", "n >= 2", "--format", "json")
    document = json.loads(ran.out)
    assert list(document) == ["version", "f", "g", "where", "relation", "holds", "certificate"]
    assert (document["version"], document["where"], document["holds"]) == (1, ["n >= 2"], True)
    failed = json.loads(cli("order", "n^2", "n", "--relation", "Theta", "--format", "json").out)
    assert failed["holds"] is False
    assert set(failed["counterexample"]) == {"upper"}
    assert set(failed["certificate"]) == {"lower"}
    unknown = json.loads(cli("order", "(n + 1)^m", "n", "--format", "json").out)
    assert unknown["holds"] is None
    assert "a sum is raised to the power" in unknown["reason"]
    compared = json.loads(cli("order", "n", "m", "--relation", "compare", "--format", "json").out)
    assert compared["order"] == "incomparable"


def test_explanations() -> None:
    explained = cli("order", "n*log2(n)", "n*log2(m) + n^2/m", "--explain").out
    assert "if n <= m^2:" in explained
    assert "if m^2 <= n:" in explained
    assert "log2(n) <= C*log2(m)" in explained
    differences = cli("order", "n^2", "n^2 - n/2", "--explain").out
    assert "n^2 - n/2 >= c*n^2\n" in differences
    assert "1/2*n <= 1/2*n^2" in differences
    assert "sqrt(n)" in cli("order", "n*log2(n)", "n^(3/2)", "--explain").out


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("n +", "n"), "AL101"),
        (("", "n"), "AL101"),
        (("n", "a[i]"), "AL480"),
        (("n", "f(n)"), "AL480"),
        (("n", "n and m"), "AL480"),
        (("0", "n"), "AL481"),
        (("n", "m", "--where", "n"), "AL482"),
        (("n", "m", "--where", "n >="), "AL101"),
        (("n", "m", "--where", "m <= 0"), "AL483"),
        (("n", "n", "--explain", "--format", "json"), "AL411"),
        (("n", "1e999999999"), "AL480"),
        (("n" + "+(n" * 3000 + ")" * 3000, "n"), "AL1"),
    ],
)
def test_bad_input_is_refused(arguments: tuple[str, ...], code: str) -> None:
    ran = cli("order", *arguments)
    assert ran.code == 2
    assert f"{code}" in ran.err
    assert "Traceback" not in ran.err


@pytest.mark.parametrize("text", ["+".join(["n"] * 900), "*".join(["(n + m)"] * 40), "n" + "^2" * 9, "n^(10^40)"])
def test_large_expressions_are_answered_or_given_up(text: str) -> None:
    ran = cli("order", text, "n")
    assert ran.code in (0, 1, 2)
    assert "AL999" not in ran.err


def test_in_python() -> None:
    answer = order("n*log2(n)", "n^1.001")
    assert answer.holds
    assert answer.document["certificate"]["format"] == 1
    assert str(answer) == "holds: n*log2(n) is O(n^1.001)\n"
    with pytest.raises(ValueError, match="relation"):
        order("n", "n", relation="o")


@pytest.mark.parametrize(
    ("f", "g", "row"),
    [
        ("n^n", "n!", ["4", "256", "24", "10.6667"]),
        ("n^2", "lg n", ["16", "256", "4", "64"]),
        ("4^lg n", "n", ["16", "256", "16", "16"]),
        ("fibonacci(n)", "n", ["16", "987", "16", "61.6875"]),
        ("arrangements(n)", "n^2", ["4", "65", "16", "4.06250"]),
    ],
)
def test_tables_have_the_values_of_the_expressions_as_asked(f: str, g: str, row: list[str]) -> None:
    lines = [line.split() for line in cli("order", f, g).out.splitlines()]
    assert row in lines
    assert json.loads(cli("order", f, g, "--verify", "--format", "json").out).get("verified") is not False


def test_rows_at_which_a_logarithm_vanishes_are_left_out() -> None:
    shown = cli("order", "log2(n)*m", "1").out
    assert "f/g" not in shown
    assert "log2(w) is read as log2(2 + w)" in shown


@pytest.mark.parametrize(
    ("f", "g", "growth"),
    [
        ("2^n", "factorial(sqrt(n))", "2^T, up to factors of lower order"),
        ("n^n", "n!", "2^(log2(exp(1))*T), up to factors of lower order"),
        ("(2*n)^n", "n^n", "2^T"),
        ("2^n", "n^100", "2^T/T^100"),
    ],
)
def test_a_growth_of_which_a_leading_exponent_is_known_says_so(f: str, g: str, growth: str) -> None:
    shown = " ".join(cli("order", f, g).out.split())
    assert re.search(rf"grows like {re.escape(growth)} n f g f/g", shown)


def test_a_table_has_the_first_expression_in_the_first_column() -> None:
    rows = [line.split() for line in cli("order", "n", "n^2", "--relation", "compare").out.splitlines()]
    assert ["n", "f", "g", "g/f"] in rows
    assert ["16", "16", "256", "16"] in rows
    rows = [line.split() for line in cli("order", "n^2", "n", "--relation", "compare").out.splitlines()]
    assert ["n", "f", "g", "f/g"] in rows
    assert ["16", "256", "16", "16"] in rows


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("lg n!", "write `lg(n!)` or `(lg n)!`"),
        ("n + ln n^2", "write `ln(n^2)` or `ln(n)^2`"),
        ("lg lg n ^ 2", "write `lg(n^2)` or `lg(n)^2`"),
        ("n*lg 2*n", "write `lg(2*n)` or `lg(2)*n`"),
        ("lg* n!", "write `lg*(n!)` or `(lg* n)!`"),
        ("e^n", "write `exp(n)` for the exponential of n"),
        ("n*e^(n + 1)", "write `exp(n)` for the exponential of n"),
    ],
)
def test_what_may_be_read_in_two_ways_is_refused(text: str, hint: str) -> None:
    ran = cli("order", text, "n")
    assert ran.code == 2
    assert "AL101" in ran.err
    assert f"hint: {hint}" in ran.err


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("(lg n)!", "factorial(log2(n))"),
        ("lg(n)^2", "log2(n)^2"),
        ("lg n*lg n", "log2(n)*log2(n)"),
        ("2^lg n", "2^log2(n)"),
        ("lg lg lg n", "log2(log2(log2(n)))"),
        ("n*ln lg lg lg* n + lg lg(n + 1)", "n*log(log2(log2(log_star(n)))) + log2(log2(n + 1))"),
        ("e^2*n", "e^2*n"),
        ("e^n + e", "e^n + e"),
    ],
)
def test_what_is_read_in_one_way_is_answered(text: str, read: str) -> None:
    assert json.loads(cli("order", text, "n", "--format", "json").out)["f"] == read
