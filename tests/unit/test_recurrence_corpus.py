"""Recurrences from textbooks and papers: their growth, proved equal to the known one, and their exact solutions."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import pytest
import sympy

from archline.algebra.evaluate.formulas import BALL_ARITHMETIC, EXACT_ARITHMETIC, NoValueError, value_at
from archline.expr.text import format_expression
from archline.growth.is_big_o import Proved
from archline.language import syntax as s
from archline.language.parser import parse_expression
from archline.recurrences.asymptotic.evaluate import evaluate
from archline.recurrences.asymptotic.problem import SolvedGrowth, Superpolynomial
from archline.recurrences.asymptotic.read import parse_recurrence
from archline.recurrences.asymptotic.solve import solve
from cli_support import ROOT
from growth_questions import order_texts

ROWS: list[dict[str, Any]] = [
    row
    for row in json.loads((ROOT / "tests" / "data" / "recurrences.json").read_text(encoding="utf-8"))
    if " when " not in row["recurrence"] and "," not in row["recurrence"].partition("=")[0]
]
POLYNOMIAL = [row for row in ROWS if row["growth"] is not None and not row["growth"].endswith("^n")]
EXACT_ROWS = [row for row in ROWS if "exact" in row]
SIZES = {
    "n=b^k": lambda b: [b**k for k in range(12)],
    "n even": lambda _: list(range(0, 60, 2)),
    None: lambda _: list(range(1, 60)),
    "n=2^(2^k)": lambda _: [2 ** (2**k) for k in range(8)],
}


def named(rows: list[dict[str, Any]]) -> Any:
    return pytest.mark.parametrize("row", rows, ids=[row["name"] for row in rows])


def test_the_corpus_is_there() -> None:
    assert (len(ROWS), len(POLYNOMIAL), len(EXACT_ROWS)) == (50, 47, 28)


@named(POLYNOMIAL)
def test_growth(row: dict[str, Any]) -> None:
    answer = solve(parse_recurrence(row["recurrence"]))
    assert isinstance(answer, SolvedGrowth), answer
    assert isinstance(order_texts(format_expression(answer.growth), row["growth"]), Proved)
    assert isinstance(order_texts(row["growth"], format_expression(answer.growth)), Proved)


def test_growth_beyond_polynomials() -> None:
    expected = {row["recurrence"]: row["growth"] for row in ROWS if row not in POLYNOMIAL}
    assert len(expected) == 3
    for text, growth in expected.items():
        answer = solve(parse_recurrence(text))
        assert isinstance(answer, Superpolynomial)
        assert format_expression(answer.growth) == growth


def sizes(row: dict[str, Any]) -> list[int]:
    domain = row["exact_domain"]
    base = next((b for b in (4, 3, 2) if f"/{b})" in row["recurrence"]), 2)
    return SIZES[domain.partition(",")[0] if domain else None](base)


@named(EXACT_ROWS)
def test_exact_solutions_at_many_sizes(row: dict[str, Any]) -> None:
    """Ours, the known one and the recurrence itself are equal: in rationals where these are rational."""
    problem = parse_recurrence(row["recurrence"])
    answer = solve(problem)
    assert isinstance(answer, SolvedGrowth | Superpolynomial)
    assert answer.exact is not None
    (name,) = problem.asked.parameters
    texts = [
        answer.exact,
        parse_expression(row["exact"].replace("n", name) if name != "n" else row["exact"]),
    ]
    for n in sizes(row):
        itself = evaluate(problem, {name: n})
        for expr in texts:
            assert equal(expr, {name: n}, itself), (n, row["exact"], answer.exact)


def equal(expr: s.Expr, point: dict[str, int], itself: Fraction | float) -> bool:
    try:
        return EXACT_ARITHMETIC.to_python_number(value_at(expr, point)) == itself
    except NoValueError:
        return float(value_at(expr, point, BALL_ARITHMETIC)) == pytest.approx(float(itself), rel=1e-12)


@named(EXACT_ROWS)
def test_exact_solutions_in_sympy(row: dict[str, Any]) -> None:
    problem = parse_recurrence(row["recurrence"])
    answer = solve(problem)
    assert isinstance(answer, SolvedGrowth | Superpolynomial)
    assert answer.exact is not None
    (name,) = problem.asked.parameters
    known = in_sympy(parse_expression(row["exact"]))
    ours = in_sympy(answer.exact).subs(sympy.Symbol(name, positive=True), sympy.Symbol("n", positive=True))
    known = known.subs(sympy.Symbol(name, positive=True), sympy.Symbol("n", positive=True))
    assert sympy.simplify(ours - known) == 0


def in_sympy(expr: s.Expr) -> Any:
    match expr:
        case s.Integer(value=value):
            return sympy.Integer(value)
        case s.Name(id=name):
            return sympy.Symbol(name, positive=True)
        case s.Unary(operand=operand):
            return -in_sympy(operand)
        case s.Binary(op=op, left=left, right=right):
            a, b = in_sympy(left), in_sympy(right)
            return {"+": a + b, "-": a - b, "*": a * b, "/": a / b, "^": a**b}[op]
        case s.Call(function="log2", arguments=(inner,)):
            return sympy.log(in_sympy(inner)) / sympy.log(2)
        case s.Call(function=function, arguments=(inner,)):
            return {"sqrt": sympy.sqrt, "harmonic": sympy.harmonic, "fibonacci": sympy.fibonacci}[function](
                in_sympy(inner)
            )
    raise AssertionError(expr)
