"""`--explain` on recursive programs: the recurrence that a reader would write down, its solution and the proof."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from functools import cache

import pytest
from flint import fmpq

import archline as al
from archline.algebra.evaluate.exact import evaluate
from archline.algebra.polynomial import Poly, to_rational
from archline.analysis.cost import Cost
from archline.expr.intervals import EvaluationError
from archline.expr.values import evaluate_fact
from archline.language.parser import parse_expression
from archline.recurrences.model import Recurrence, RecurrenceCase
from cli_support import cli
from effort import long, some

HALVES = """algorithm halves(x: inout real[n]):
    if n > 1:
        for i in 0..n:
            x[i] += 1.0
        halves(x[0..n//2])
        halves(x[n//2..n])
"""
NESTED = """algorithm nested(x: inout real[n]):
    let h = n//2
    if h <= 2:
        x[0] += 1.0
    elif n <= 12:
        x[0] = x[0]*x[0] + 1.0
    else:
        nested(x[0..h])
        nested(x[h..n])
"""


@cache
def derived(text: str) -> al.CostReport:
    module = al.loads(text)
    return module[list(module)[-1]].cost()


def explained(text: str, metric: str) -> list[str]:
    return derived(text).explain(metric).splitlines()


def test_the_recurrence_of_two_halves() -> None:
    """n additions and both halves: F(n) = n + F(floor(n/2)) + F(ceil(n/2)), F(1) = 0."""
    lines = explained(HALVES, "flops")
    assert lines[0] == "derivation of the flops of halves: F(n) stands for that of a call"
    assert "  n > 1:      F(n) =  n + F(ceil(n/2)) + F(floor(n/2))" in lines
    assert "  otherwise:  F(n) =  0" in lines
    assert lines[lines.index("  otherwise:  F(n) =  0") + 1].strip() == "(no calls)"
    # The sum of all levels: n*ceil(log2(n)) + n - 2^ceil(log2(n)).
    assert "  F(n) =  n*ceil(log2(n)) + n - 2^ceil(log2(n))" in lines
    assert not any("together:" in line or "max(0, n - 1)" in line for line in lines)


def test_the_call_itself_counts_in_work() -> None:
    """The call, a test, and n iterations with an addition each; arithmetic on sizes is free."""
    lines = explained(HALVES, "work")
    assert "  n > 1:      W(n) =  2*n + W(ceil(n/2)) + W(floor(n/2)) + 2" in lines
    assert "  otherwise:  W(n) =  2" in lines


@long
def test_the_proof_of_an_exact_form_is_one_identity_a_case() -> None:
    """F = 2nmp of a product halved along its largest size: both parts of every cut add up to 2nmp."""
    lines = al.algorithm("dense.matmul::matmul_co").cost().explain("flops").splitlines()
    assert "  F(n, m, p) =  2*n*m*p" in lines
    start = next(index for index, line in enumerate(lines) if "by induction" in line)
    proof = [line.split(":  ")[1].strip() for line in lines[start + 1 :] if ":  " in line]
    assert proof == [
        # Calls are made where a size is 17 or more: one that calls have is then at least 8.
        "2*n*m*p = C(n, m, p) for n >= 8 or m >= 8 or p >= 8",
        "C(ceil(n/2), m, p) + C(floor(n/2), m, p) = 2*n*m*p = C(n, m, p)",
        "C(n, ceil(m/2), p) + C(n, floor(m/2), p) = 2*n*m*p = C(n, m, p)",
        "C(n, m, ceil(p/2)) + C(n, m, floor(p/2)) = 2*n*m*p = C(n, m, p)",
    ]


def test_an_unknown_recurrence_has_its_reason_once() -> None:
    text = "algorithm f(x: inout real[n]):\n    while x[0] < 1.0 at most n^n times:\n        f(x)\n"
    (line,) = explained(text, "work")
    assert line.startswith("the work of f is unknown: ")


def test_the_command_prints_the_recurrence() -> None:
    shown = cli("cost", "sort.mergesort::mergesort", "--explain", "--metric", "flops").out
    # At most one comparison for each element that is merged.
    assert "F(n) <=  n + F(ceil(n/2)) + F(floor(n/2))" in shown
    assert "together:" not in shown


# The lines hold
TARGETS = (
    "dense.matmul::matmul_co",
    "fft.fft::fft",
    "scan.recursive::sum_tree",
    "dense.transpose_recursive::transpose_co",
)
LARGE = ((64, 64, 64), (100, 3, 40), (17, 17, 17), (1, 2, 3), (257, 1, 99), (16, 33, 5))


def points(report: al.CostReport) -> Iterator[dict[str, int]]:
    for values in LARGE:
        sizes = dict(zip(report.parameters, values, strict=False))
        if all(evaluate_fact(fact, sizes) for fact in report.where):
            yield sizes


def first_case(recurrence: Recurrence, sizes: Mapping[str, int]) -> RecurrenceCase:
    return next(each for each in recurrence.cases if not each.when or evaluate_fact(parse_expression(each.when), sizes))


def applied(recurrence: Recurrence, value: Callable[[Mapping[str, int]], Fraction]) -> Callable[..., fmpq]:
    """The value at the sizes of a call."""

    def at(letter: str, arguments: tuple[fmpq, ...]) -> fmpq:
        return to_rational(value(dict(zip(recurrence.parameters, map(int, arguments), strict=True))))

    return at


def exact(report: al.CostReport) -> Iterator[tuple[Cost, Recurrence]]:
    for cost in report.costs:
        if cost.recurrence is not None and cost.interval_at is not None:
            yield cost, cost.recurrence


@pytest.mark.parametrize("target", some([*TARGETS, HALVES, NESTED]), ids=lambda each: each.split("(")[0][-20:])
def test_the_case_that_is_shown_gives_the_cost(target: str) -> None:
    """At sizes: the first case whose condition holds, with the costs of its calls, is the cost."""
    report = derived(target) if "\n" in target else al.algorithm(target).cost()
    tried = 0
    for cost, recurrence in exact(report):
        ends = cost.interval_at
        for sizes in points(report):
            case = first_case(recurrence, sizes)
            for end, value in enumerate((case.lower, case.upper)):
                there = applied(recurrence, lambda at, ends=ends, end=end: ends(at).ends[end])
                assert evaluate(value, sizes, there) == ends(sizes).ends[end]
            tried += 1
    assert tried >= 6


@pytest.mark.parametrize("target", some([*TARGETS, HALVES, NESTED]), ids=lambda each: each.split("(")[0][-20:])
def test_the_lines_of_the_proof_hold_at_sizes(target: str) -> None:
    report = derived(target) if "\n" in target else al.algorithm(target).cost()
    tried = 0
    for _, recurrence in exact(report):
        for sizes in points(report):
            case = first_case(recurrence, sizes)
            for claim in recurrence.claims if case.recursive else ():
                bound = evaluate(claim.value, sizes)
                claimed = applied(recurrence, lambda at, value=claim.value: evaluate(value, at))
                for line in claim.lines:
                    if line.when != case.when:
                        continue
                    shown = evaluate(line.calls, sizes, claimed)
                    assert related(shown, line.relation, bound)
                    assert line.written is None or at_most_one_value(line.written, sizes, shown)
                    tried += 1
    assert tried >= 3


def related(left: Fraction, relation: str, right: Fraction) -> bool:
    return left == right if relation == "=" else left <= right if relation == "<=" else left >= right


def at_most_one_value(written: Poly, sizes: Mapping[str, int], shown: Fraction) -> bool:
    try:
        return evaluate(written, sizes) == shown
    except EvaluationError:
        return True
