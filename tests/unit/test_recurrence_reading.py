"""The texts of recurrences: what they mean, and what is said of those that mean nothing."""

from __future__ import annotations

import pytest

from archline.language.diagnostics import ArchlineError
from archline.language.printer import format_expression, format_fact
from archline.recurrences.asymptotic.read import MAX_LENGTH, parse_recurrence


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


@pytest.mark.parametrize("separator", [",", ";", ";\n", " ,\t"])
def test_systems(separator: str) -> None:
    text = separator.join(["A(n) = 2*B(n/2) + n", " B(n) = A(n/2) + 1", " A(1) = 3", " B(1/2) = c"])
    assert shown(text) == [("A", ["n"], ["2*B(n/2) + n"], ["(1) 3"]), ("B", ["n"], ["A(n/2) + 1"], ["(1/2) c"])]


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
    ("T(n) = T(n/2) + '", "AL102", 17),
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
