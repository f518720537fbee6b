"""The pieces of reports: layout, numbers, LaTeX, and expressions that read back as what they were."""

from __future__ import annotations

from fractions import Fraction
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import archline as al
from archline.algebra.evaluate.exact import evaluate as evaluate_polynomial
from archline.expr import build as b
from archline.expr.intervals import EvaluationError
from archline.expr.values import evaluate as evaluate_expression
from archline.language import syntax as s
from archline.language.parser import parse_expression
from archline.numbers import format_exact, format_point, format_readable
from archline.report import documents, latex, layout, runs
from archline.report.costs import full
from archline.report.view import CheckedCounts, ValueRange
from effort import drawn, some
from stdlib_targets import TRIED, report

words = st.text("abn+-*/(), 0123456789", min_size=1, max_size=200).map(lambda t: " ".join(t.split()) or "n")


# Layout
@given(words, st.integers(10, 80))
def test_wrapping_loses_nothing(sentence: str, width: int) -> None:
    lines = layout.wrap(sentence, width)
    assert "".join("".join(lines).split()) == "".join(sentence.split())


# Numbers
@given(st.fractions())
def test_exact_numbers_read_back(value: Fraction) -> None:
    assert Fraction(format_exact(value)) == value
    assert abs(Fraction(format_readable(value)) - value) <= abs(value) / 10**8 or len(format_exact(value)) > 60


def test_long_numbers() -> None:
    # Python itself refuses to write more than 4300 digits.
    assert format_exact(10**10_000) == "1" + "0" * 10_000
    assert format_readable(10**10_000) == "1" + "0" * 19 + "... (10001 digits)"
    assert format_readable(-(10**100)) == "-1" + "0" * 19 + "... (101 digits)"
    assert format_point({"n": 3, "f": Fraction(7, 2)}) == "n = 3, f = 3.5"


def test_bounds_hold_counts() -> None:
    counts = CheckedCounts(
        {"work": 5, "span": 9},
        {"work": ValueRange(5, 5), "span": ValueRange(1, 8)},
        {},
        {"add": 1},
        {"add": ValueRange(0, 0)},
    )
    assert counts.outside == ("span", "flops (add)")


# LaTeX
@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("2*n*m", r"2\,n\,m"),
        ("1/2*n^2 - n + 1", r"\frac{1}{2}\,n^{2} - n + 1"),
        ("-n", "-n"),
        ("ceil(log2(n))", r"\left\lceil \log_2 n\right\rceil"),
        ("floor((n - 1)/b)", r"\left\lfloor \frac{n - 1}{b}\right\rfloor"),
        ("max(0, n - 3)*n", r"\max\left(0, n - 3\right)\,n"),
        ("(n + 1)*steps", r"\left(n + 1\right)\,\mathit{steps}"),
        ("3*2^k", r"3 \cdot 2^{k}"),
        ("2^(n - 1)", "2^{n - 1}"),
        ("(n + 1)^2", r"{\left(n + 1\right)}^{2}"),
        ("sqrt(n)", r"\sqrt{n}"),
        ("a_b", r"\mathit{a\_b}"),
        ("n - (m - p)", r"n - \left(m - p\right)"),
        ("n*(m - p)", r"n\,\left(m - p\right)"),
        ("n%m", r"n \bmod m"),
        ("n%m + 1", r"\left(n \bmod m\right) + 1"),
        ("min(m, n%(2*m))", r"\min\left(m, n \bmod \left(2\,m\right)\right)"),
        ("-1/2*n", r"-\frac{1}{2}\,n"),
        ("m - 2*n", r"m - 2\,n"),
        ("-2*n/3", r"-\frac{2\,n}{3}"),
        ("m - (-n)*m", r"m - \left(-n\,m\right)"),
    ],
)
def test_latex(expression: str, expected: str) -> None:
    assert latex.render_expression(parse_expression(expression)) == expected


def test_latex_of_a_sum_longer_than_the_parser_takes() -> None:
    assert latex.render_expression(b.sum_terms([(False, b.name("n"))] * 1000)).count("n") == 1000


def test_text_in_latex_and_markdown_is_escaped() -> None:
    assert latex.escape_text("50% of a_b & {c}") == r"50\% of a\_b \& \{c\}"
    view = al.loads('algorithm f(x: inout real[n]):\n    "a | b"\n    x[0] = 1\n')["f"].cost().view()
    assert "a \\| b" in documents.markdown(full.make_page(view))


@pytest.mark.parametrize("target", some(TRIED, 8))
def test_every_report_of_the_standard_library(target: str) -> None:
    view = report(target).view()
    page = full.make_page(view)
    display = documents.latex(page)
    assert display.count("{") - display.count(r"\{") == display.count("}") - display.count(r"\}")
    assert display.count(r"\left") == display.count(r"\right")
    # One cell more than there are bars inside a row, the same in every row of a table.
    for table in documents.markdown(page).split("\n\n"):
        assert len({line.count(" | ") for line in table.splitlines() if line.startswith("| ")}) <= 1
    assert full.make_json_document(view)["costs"].keys() == {"flops", "work", "span", "io"}
    assert documents.text(page, 100).startswith(f"{view.algorithm}: ")


# Expressions in the language's own syntax
@cache
def written(target: str, metric: str, side: str) -> s.Expr | None:
    """A bound as the JSON has it, parsed."""
    expression = full.make_json_document(report(target).view())["costs"][metric][side]
    return None if expression is None else parse_expression(expression)


@pytest.mark.parametrize("target", some(TRIED, 8))
@settings(max_examples=drawn(10, least=4), deadline=None)
@given(data=st.data())
def test_reported_expressions_read_back(target: str, data: st.DataObject) -> None:
    known = report(target)
    sizes = st.one_of(st.integers(1, 30), st.sampled_from([32, 33, 64]))
    point = {name: data.draw(sizes, name) for name in known.parameters} | {"Z": 64, "L": 4}
    for metric, cost in known.costs.metrics.items():
        for side, value in (("lower", cost.lower), ("upper", cost.upper)):
            read = written(target, metric, side)
            if value is None:
                assert read is None
                continue
            try:
                expected = evaluate_polynomial(value, point)
            except EvaluationError:
                continue
            assert read is not None
            assert evaluate_expression(read, point) == expected


NONFINITE = """algorithm f(x: real[n], s: out real, y: out real[n], z: out real[n]) -> real
    s = (x[0] - x[0])/(x[1] - x[1])
    y[1] = 1/(x[0] - x[0])
    z[0] = 0
    return s

algorithm farthest(x: real[n], d: out real[n])
    d[:] = inf
    d[0] = x[0]
"""


@pytest.mark.parametrize("compiled", [False, True])
def test_run_tells_which_outputs_are_not_finite(compiled: bool) -> None:
    module = al.loads(NONFINITE)
    done = module["f"].run({"n": 3}, compiled=compiled)
    assert "y holds infinities (first at y[1]), the result is NaN, s is NaN: the generated data" in " ".join(
        str(done).split()
    )
    found = runs.make_json_document(done.view)["nonfinite"]
    assert found[0] == {"name": "y", "value": "inf", "first": [1]}
    assert [each["name"] for each in found] == ["y", None, "s"]
    given = {"x": [1.0, 2.0, 3.0], "y": [0.0] * 3, "z": [0.0] * 3}
    assert "s is NaN, and all inputs are finite" in " ".join(str(module["f"].run(given, compiled=compiled)).split())
    assert not module["f"].run(given | {"x": [float("nan")] * 3}, compiled=compiled).execution.nonfinite
    assert not module["farthest"].run({"n": 3}, compiled=compiled).execution.nonfinite


PLACES = """algorithm scale(x: inout real[n], a: real):
    for i in 0..n:
        x[i] *= a

algorithm twice(x: inout real[n], a: real):
    scale(x, a)
    scale(x, a)

algorithm places(A: real[n,n], x: inout real[n], y: inout real[n]):
    twice(x, 2.0)
    y = A @ x
    for v in x:
        y[0] += v
    y[0] += sum(y[j]*x[j] for j in 0..n)
    repeat n times:
        y[0] += y[1]
    y[0] += dot(x, y)
    for k from 0 to n-1:
        y[k] += x[k]
"""


def test_a_line_of_another_algorithm_is_named_with_it() -> None:
    """A loop of a callee has its line there and that of the call; references of a callee have the line of the call."""
    (io,) = [row for row in al.loads(PLACES)["places"].cost().view().rows if row.metric == "io"]
    kept = {(each["loop"], *each["lines"]) for bound in io.by_cache for each in full.list_kept(bound) if each["loop"]}
    assert ("`for i` (line 2 of `scale`, called in line 10)", 10) in kept
    assert {line for _, *lines in kept for line in lines} == {10, 11, 12, 13, 14, 16, 17, 19}


def test_loops_have_the_names_that_the_program_has_for_them() -> None:
    (io,) = [row for row in al.loads(PLACES)["places"].cost().view().rows if row.metric == "io"]
    kept = {each["loop"] for bound in io.by_cache for each in full.list_kept(bound)} - {None}
    own = {"the elements (line 11)", "`for v` (line 12)", "`for j` (line 14)", "`repeat` (line 15)"}
    own |= {"the elements (line 17)", "`for k` (line 18)"}
    assert {name for name in kept if "scale" not in name} == own
