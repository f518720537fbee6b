"""The texts of recurrences: what they mean, and what is said of those that mean nothing."""

from __future__ import annotations

import json
import math
from fractions import Fraction

import pytest

from archline.algebra.evaluate.formulas import EvaluationRefusedError, value_at
from archline.api.growth import recurrence
from archline.expr.text import format_expression, format_fact
from archline.language.diagnostics import ArchlineError
from archline.language.parser import parse_expression
from archline.recurrences.asymptotic.evaluate import evaluate
from archline.recurrences.asymptotic.read import MAX_LENGTH, parse_recurrence
from cli_support import cli, process


def shown(text: str) -> list[tuple[str, list[str], list[str], list[str]]]:
    """Name, parameters, cases and bases of each definition, as text."""
    found = []
    for each in parse_recurrence(text).definitions:
        cases = [
            format_expression(case.value) + (f" when {format_fact(case.condition)}" if case.condition else "")
            for case in each.cases
        ]
        bases = [
            f"({', '.join(map(format_expression, base.arguments))}) {format_expression(base.value)}"
            for base in each.bases
        ]
        found.append((each.name, list(each.parameters), cases, bases))
    return found


def test_a_definition_and_a_base() -> None:
    assert shown("T(n) = 7*T(n/2) + n^2, T(1) = 1") == [("T", ["n"], ["7*T(n/2) + n^2"], ["(1) 1"])]


def test_cases_in_order() -> None:
    text = "Q(n, m) = n + m + n*m/L when n*m <= Z; 2*Q(n/2, m) + 1 when n >= max(m, 3) and m > 1; 2*Q(n, m/2) + 1"
    cases = ["n + m + n*m/L when n*m <= Z", "2*Q(n/2, m) + 1 when n >= max(m, 3) and m > 1", "2*Q(n, m/2) + 1"]
    assert shown(text) == [("Q", ["n", "m"], cases, [])]


def test_all_conditions_of_a_case_are_read() -> None:
    text = "T(n, m) = 1 when n <= 2 and m <= 3 and n <= m; T(n/2, m/2) + 1"
    assert shown(text)[0][2][0] == "1 when n <= 2 and m <= 3 and n <= m"


@pytest.mark.parametrize("separator", [",", ";", ";\n", " ,\t"])
def test_systems(separator: str) -> None:
    text = separator.join(["A(n) = 2*B(n/2) + n", " B(n) = A(n/2) + 1", " A(1) = 3", " B(1/2) = c"])
    assert shown(text) == [
        ("A", ["n"], ["2*B(n/2) + n"], ["(1) 3"]),
        ("B", ["n"], ["A(n/2) + 1"], ["(1/2) c", "(1) c"]),
    ]


@pytest.mark.parametrize(
    ("written", "read"),
    [("lg n", "log2(n)"), ("lg lg n", "log2(log2(n))"), ("n/ln n", "n/log(n)"), ("(n + 1)!", "factorial(n + 1)")],
)
def test_terms_are_read_as_textbooks_write_them(written: str, read: str) -> None:
    assert shown(f"T(n) = T(n-1) + {written}, T(1) = 1") == [("T", ["n"], [f"T(n - 1) + {read}"], ["(1) 1"])]


@pytest.mark.parametrize("written", ["sum(T(i), i=1..n-1)", "sum_{i=1}^{n-1} T(i)", "sum(T(i) for i=1..n)"])
def test_sums_with_bounds_are_told_of_those_that_are_read(written: str) -> None:
    with pytest.raises(ArchlineError) as caught:
        parse_recurrence(f"T(n) = {written} + n")
    assert "write sum(T(i))" in str(caught.value.diagnostics[0].hint)


def test_bases_before_definitions_and_a_trailing_comma() -> None:
    assert shown("F(0) = 0, F(1) = 1, F(n) = F(n-1) + F(n-2),") == [
        ("F", ["n"], ["F(n - 1) + F(n - 2)"], ["(0) 0", "(1) 1"])
    ]


def test_the_first_definition_is_asked_for_and_facts_are_kept() -> None:
    problem = parse_recurrence("A(n) = B(n); B(n) = n", "Z >= L^2, n is power of 2")
    assert problem.asked.name == "A"
    assert [format_fact(each) for each in problem.facts] == ["Z >= L^2", "n is power of 2"]


WRONG = [
    ("", "AL470", 1),
    ("n + 1", "AL470", 1),
    ("T(n)", "AL470", 1),
    ("T(1) = 3", "AL470", 1),
    ("T(n) = n, n >= 3", "AL470", 11),
    ("(((", "AL470", 1),
    ("T(n) = ", "AL101", 8),
    ("T(n) = 2*T(n/2) +, T(1) = 1", "AL101", 18),
    ("T(n) = 2*T(n/2) + n, T(1) = ", "AL101", 29),
    ("T(n) = n n, T(1) = 1", "AL101", 10),
    ("T(n) = T(n/2) + '", "AL101", 17),
    ("T(n) = 1 when ; 3", "AL101", 15),
    ("T(n, n) = 3", "AL471", 6),
    ("T(n-1) = 3", "AL471", 3),
    ("T(log2) = T(log2/2) + 1, T(1) = 1", "AL471", 3),
    ("sqrt(n) = 3", "AL471", 1),
    ("T(pi) = 3, T(n) = 2, T() = 1", "AL471", 22),
    ("T(n) = T(n/2, 3)", "AL471", 8),
    ("T(n) = T(n/2), T(1, 1) = 3", "AL471", 16),
    ("T(n) = n; T(m) = m", "AL472", 11),
    ("T(n) = T(n/2), T(1) = 1, T(1) = 2", "AL472", 26),
    ("T(n) = U(n/2)", "AL473", 8),
    ("T(n) = T(n/2), U(1) = 2", "AL473", 16),
    ("T(n) = max(n)", "AL473", 8),
    ("T(n) = sin(n)", "AL473", 8),
    ("T(n) = T(n/2) + n; T(n/3)", "AL474", 20),
    ("Q(n) = 1 when n <= Z", "AL474", 1),
    ("T(n) = T(T(n/2))", "AL475", 10),
    ("T(n) = x[3]", "AL475", 8),
    ("T(n) = 1, T(1) = n", "AL475", 18),
    ("T(n) = 1 when T(n) > 3; 2", "AL475", 15),
    ("T(n) = T(n/2), T(1) = T(0)", "AL475", 23),
    ("T(n) = T(n/2), T(1) = x[3]", "AL475", 23),
    ("T(n) = T(n/2), T(1) = sin(1)", "AL473", 23),
    ("T(n) = T(n/2), T(sin(1)) = 1", "AL473", 18),
    ("T(n) = T(n/2) when n > 3 or T(2) > 1; 1", "AL475", 29),
    ("T(n) = n > 3", "AL475", 8),
    ("T(n) = " + "n + " * MAX_LENGTH + "1", "AL476", None),
]


@pytest.mark.parametrize(("text", "code", "column"), WRONG, ids=[each[0][:40] for each in WRONG])
def test_what_is_no_recurrence_has_a_code_and_a_place(text: str, code: str, column: int | None) -> None:
    with pytest.raises(ArchlineError) as raised:
        parse_recurrence(text)
    (found,) = raised.value.diagnostics
    assert found.rule.code == code
    if column is None:
        assert found.span is None
    else:
        assert (found.span.line, found.span.column) == (1, column)
        # The caret stands under the text as it was given.
        assert text.strip()[:10] in found.render()


def test_wrong_facts_are_told_of_their_own_option() -> None:
    with pytest.raises(ArchlineError) as raised:
        parse_recurrence("T(n) = n", "n >=")
    assert "--where:1:5" in raised.value.diagnostics[0].render()


def test_deep_text_is_refused_and_not_followed() -> None:
    with pytest.raises(ArchlineError):
        parse_recurrence("T(n) = " + "(" * 900 + "n" + ")" * 900 + "+" + "-" * 900 + "n")


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("T(n) = n,  n >= 3  ", (12, 18)), ("T(n) = T(n/2),  U(1) = 2", (17, 21)), ("T(n) = U(n/2) + 1", (8, 14)), ("T(n) = n;  T(n/3) ", (12, 18)), ("", (1, 2)),
        ("  sqrt(n) = 3", (3, 10)), ("T(n) = 1 when n > 3 ", (1, 5)), ("T(n) = n,, T(1) = 1", (10, 11)), ("T(n) = 1, T(1) = 2*n", (20, 21)), ("A(n) = n; A(m) = 1", (11, 15)),
    ],
)  # fmt: skip
def test_places_end_where_the_text_does(text: str, place: tuple[int, int]) -> None:
    with pytest.raises(ArchlineError) as raised:
        parse_recurrence(text)
    (found,) = raised.value.diagnostics
    assert (found.span.column, found.span.end_column) == place


def test_brackets_hold_commas_conditions_and_signs_together() -> None:
    assert shown("T(n) = max(T(n/2), 3) + min(n, m); T(1) = max(1, 2)") == [
        ("T", ["n"], ["max(T(n/2), 3) + min(n, m)"], ["(1) max(1, 2)"])
    ]
    assert shown("Q(n, m) = 1 when (n <= m or n <= 2); Q(n/2, m), Q(3, 4) = 7, Q(4, 3) = 8") == [
        ("Q", ["n", "m"], ["1 when n <= m or n <= 2", "Q(n/2, m)"], ["(3, 4) 7", "(4, 3) 8"])
    ]


# Following recurrences down to their bases, against values that are known otherwise


def value(text: str, *, limit: int = 100_000, **point: float) -> Fraction | float:
    return evaluate(parse_recurrence(text), point, limit=limit)


def test_merge_sort_is_exact_far_out() -> None:
    assert value("T(n) = 2*T(n/2) + n, T(1) = 1", n=2**40) == 2**40 * 41


def test_sizes_are_real_numbers() -> None:
    # 10, 5, 5/2, 5/4, 5/8: four sizes above 1.
    assert value("T(n) = T(n/2) + n, T(1) = 1", n=10) == Fraction(10 + 5) + Fraction(5, 2) + Fraction(5, 4) + 1


def test_every_smaller_size_has_the_base_value() -> None:
    assert value("T(n) = T(n-2) + n^2, T(0) = 7", n=3) == 9 + 1 + 7
    assert value("F(n) = F(n-1) + F(n-2), F(0) = 0, F(1) = 1", n=90) == 2880067194370816120
    assert value("T(n) = T(n/2), T(2) = 5, T(1) = 3", n=Fraction(3, 2)) == 5


def test_the_base_that_goes_without_saying() -> None:
    assert value("T(n) = 2*T(n/2)", n=8) == 8
    assert value("T(n) = T(sqrt(n)) + 1", n=16) == 3
    assert value("T(n) = T(n^(1/2)) + 1", n=2) == 1
    assert value("A(n) = B(sqrt(n)) + 1; B(n) = A(sqrt(n)) + 10", n=256) == 1 + 10 + 1 + 1


def test_logarithms_at_points_are_ordinary_ones() -> None:
    assert value("T(n) = log2(n)", n=16) == 4
    assert value("T(n) = n^log2(4)", n=3) == pytest.approx(9)
    assert value("T(n) = log(n)", n=3) == pytest.approx(math.log(3))
    with pytest.raises(EvaluationRefusedError):
        value("T(n) = T(n/2) + log2(n - 2), T(1) = 0", n=2)


@pytest.mark.parametrize(
    ("text", "expected"),
    [("T(n) = T(n/2) + log2(n), T(1) = 0", (0, 1, 3, 6)), ("T(n) = 2*T(n/2) + n*log2(n), T(1) = 1", (1, 4, 16, 56))],
)
def test_values_at_points_are_those_of_the_closed_form(text: str, expected: tuple[int, ...]) -> None:
    solution = recurrence(text)
    assert solution.exact is not None
    for k, value in enumerate(expected):
        assert solution.at(n=2**k) == value
        assert value_at(parse_expression(solution.exact), {"n": 2**k}) == value


def test_huge_sizes_by_roots() -> None:
    assert value("T(n) = T(sqrt(n)) + log2(n), T(2) = 1", n=2 ** (2**12)) == 2**13 - 1
    found = value("T(n) = 2*sqrt(n)*T(sqrt(n)) + n, T(2) = 1", n=3 ** (2**6))
    assert found / 3.0 ** (2**6) == pytest.approx(2**6 * found_at_three() - 1)


def found_at_three() -> float:
    """(T(3)/3 + 1) for T(3) = 2*sqrt(3) + 3, from U(mu) = 2*U(mu/2) + 1."""
    return (2 * math.sqrt(3) + 3) / 3 + 1


def test_cases_symbols_and_several_sizes() -> None:
    text = "Q(n, m) = n*m/L when n*m <= Z; 2*Q(n/2, m) + 1 when n >= m; 2*Q(n, m/2) + 1"
    # 8 x 4 halves to 4 x 4, 2 x 4 and, as m is greater, 2 x 2.
    assert value(text, n=8, m=4, Z=4, L=2) == 1 + 2 * (1 + 2 * (1 + 2 * 2))
    conditions = "T(n) = 1 when not (n > 4 and n != 6) or n == 9; T(n - 1) + 1"
    assert [value(conditions, n=n) for n in (4, 5, 6, 8, 9, 10)] == [1, 2, 1, 3, 1, 2]


def test_maxima_and_systems() -> None:
    assert value("T(n) = max(T(n/2), T(n/4)) + 1", n=64) == 7
    assert value("T(n) = T(n/2) + 1, T(0) = 0", n=64) == 6
    assert value("A(n) = 2*B(n/2) + n; B(n) = A(n/2) + 1", n=8) == 2 * (2 * 1 + 2 + 1) + 8


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("T(n) = T(n) + 1", "calls itself at the same size"),
        ("A(n) = B(n); B(n) = A(n)", "calls itself at the same size"),
        ("T(n) = T(2*n) + 1", "more than 1000 sizes"),
        ("T(n) = T(n-1) + n/(n - 5)", "division by zero"),
        ("T(n) = T(n/2) + sqrt(3 - n)", "negative|not real"),
        ("T(n) = T(n/2) + m", "`m` has no value"),
        ("T(n) = 1 when n is square; 2", "comparisons"),
    ],
)
def test_what_has_no_value_is_refused(text: str, said: str) -> None:
    with pytest.raises(EvaluationRefusedError, match=said):
        value(text, n=9, limit=1000)


def test_a_missing_size_is_named() -> None:
    with pytest.raises(EvaluationRefusedError, match="`n` has no value"):
        value("T(n) = n")


def test_depth_is_no_limit() -> None:
    n = 20_000
    assert value("T(n) = T(n-1) + n, T(0) = 0", n=n) == n * (n + 1) // 2


# `archline recurrence`: text, JSON, explanations, exit codes, diagnostics; and the Python API below it


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
        "version", "recurrence", "growth", "exact", "domain", "method", "regimes", "steps", "assumptions", "outcome", "reason"
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
