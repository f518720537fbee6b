"""Wrong programs are refused with a message that mends them: by its edits, or by its words where a person must choose."""

from __future__ import annotations

import pytest

from archline.api.checks import Task, check_tasks
from archline.expr.tree import Source
from archline.language.diagnostics import Diagnostic
from archline.language.edits import apply_edits, choose_edits
from archline.report.view import CheckView

SUM = "algorithm f(x: real[n]) -> real:\n    local s: real = 0\n    for i in 0..n:\n        s += x[i]\n    return s\n"
AXPY = "algorithm f(a: real, x: real[n], y: inout real[n]):\n    for i in 0..n:\n        y[i] += a*x[i]\n"
PREFIX = (
    "algorithm f(x: real[n], y: out real[n]):\n    y[0] = x[0]\n    for i in 1..n:\n        y[i] = y[i - 1] + x[i]\n"
)
MATMUL = (
    "algorithm f(A: real[n, m], B: real[m, p], C: out real[n, p]):\n    for i in 0..n:\n        for j in 0..p:\n"
    "            C[i, j] = 0\n            for k in 0..m:\n                C[i, j] += A[i, k]*B[k, j]\n"
)
HALF = "algorithm f(x: inout real[n]):\n    if n > 1:\n        f(x[0..n//2])\n        f(x[n//2..n])\n    else:\n        x[0] += 1.0\n"

MOST = "algorithm f(x: int[n], s: int) -> int:\n    local c: int = 0\n    for i in 0..n:\n        if x[i] == s:\n            c += 1\n    return c\n"
CALL = AXPY + "\n\nalgorithm g(x: real[n], y: inout real[n]):\n    f(2.0, x, y)\n"

# A right program, what of it is replaced by what, the code, and how it is mended: by the edits of the diagnostics ("edit"),
# or by a text in place of another one,
# as words of the hint say. None: the message says what is wrong, and no more.
Mended = str | tuple[str, str, str] | None
PROGRAMS: list[tuple[str, str, str, str, Mended]] = [
    # Misspelled names
    (SUM, "return s", "return su", "AL201", "edit"),
    (SUM, "s += x[i]", "s += X[i]", "AL201", "edit"),
    (SUM, "for i in 0..n", "for i in 0..N", "AL201", "edit"),
    (AXPY, "a*x[i]", "alpha*x[i]", "AL201", ("    for", "    local alpha: real = 0\n    for", "local alpha: real = 0")),
    (MATMUL, "for k in 0..m", "for k in 0..mm", "AL201", "edit"),
    (HALF, "f(x[0..n//2])", "ff(x[0..n//2])", "AL202", "edit"),
    (SUM, "x[i]", "sqr(x[i])", "AL202", "edit"),
    (SUM, "    local s", "    ensures flop == n\n    local s", "AL208", "edit"),
    (SUM, "    local s", "    ensures wrok == 2*n\n    local s", "AL208", "edit"),
    (SUM, "return s\n", "return s\n\n\nclaim flops(g) == n\n", "AL202", ("flops(g)", "flops(f)", "the algorithms are f")),
    ("use dense.matmul\n\n\n" + SUM, "dense.matmul", "dense.matmull", "AL209", "edit"),
    # Misspelled words
    (SUM, "for i in", "fro i in", "AL101", "edit"),
    (SUM, "return s", "retrun s", "AL101", "edit"),
    (SUM, "local s", "locla s", "AL101", "edit"),
    (HALF, "else:", "esle:", "AL101", "edit"),
    # Signs
    (MOST, "if x[i] == s:", "if x[i] = s:", "AL101", "edit"),
    (SUM, "s += x[i]", "s == x[i]", "AL101", "edit"),
    (SUM, "0..n", "0...n", "AL101", "edit"),
    (AXPY, "a*x[i]", "2x[i]", "AL101", "edit"),
    (AXPY, "a*x[i]", ".5*x[i]", "AL101", "edit"),
    (SUM, "return s", "return (s", "AL101", "edit"),
    (SUM, "s += x[i]", "s =+ x[i]", "AL101", "edit"),
    (SUM, "-> real", "returns real", "AL101", "edit"),
    (HALF, "x[n//2..n]", "x[n//2..]", "AL101", "edit"),
    (HALF, "n > 1", "n > 1 ∧ n > 0", "AL102", "edit"),
    (SUM, "    local s", "    ensures work = 2*n\n    local s", "AL101", "edit"),
    (SUM, "    local s", "    ensures work = O(n)\n    local s", "AL101", "edit"),
    (SUM, "    local s", "    where n is even\n    local s", "AL101", "edit"),
    # Modes and types
    (AXPY, "y: inout real[n]", "y: real[n]", "AL240", "edit"),
    (AXPY, "y: inout real[n]", "y: out real[n]", "AL503", "edit"),
    (AXPY, "y: inout real[n]", "y: real[n] inout", "AL101", "edit"),
    (AXPY, "a: real, ", "a, ", "AL101", "edit"),
    (AXPY, "x: real[n]", "real x[n]", "AL101", "edit"),
    (MATMUL, "A[i, k]", "A[i]", "AL230", None),
    (HALF, "n//2..n", "n//2..n, 0", "AL230", None),
    (
        "algorithm f(k: int[n], m: out int[n]):\n    for i in 0..n:\n        m[i] = k[i]//2\n",
        "//",
        "/",
        "AL222",
        "edit",
    ),
    ("algorithm f(k: inout int[n]):\n    for i in 0..n:\n        k[i] //= 2\n", "//=", "/=", "AL222", "edit"),
    (SUM, "-> real", "-> float", "AL101", "edit"),
    (SUM.replace(" -> real", "").replace("    return s\n", ""), "]):", "]) -> void:", "AL101", "edit"),
    # Bounds
    (PREFIX, "y[0] = x[0]", "y[0] = x[n]", "AL303", "edit"),
    (PREFIX, "1..n", "1..n + 1", "AL303", "edit"),
    (
        "algorithm f(x: real[n], y: out real[n + 1]):\n    for i in 1..n + 1:\n        y[i] = x[i - 1]\n",
        "y: out real[n + 1]",
        "y: out real[n]",
        "AL303",
        "edit",
    ),
    # Parallel loops
    (PREFIX, "for i in 1..n", "parallel for i in 1..n", "AL301", "edit"),
    (SUM.replace(") -> real", ", s: inout real[1])").replace("    local s: real = 0\n", "").replace("    return s\n", "").replace("s +=", "s[0] +="), "for i", "parallel for i", "AL301", "edit"),
    # Calls
    (HALF, "f(x[n//2..n])", "f(x[n//2..n], n)", "AL251", (", n)", ")", "it is `f(x)`")),
    (CALL, "f(2.0, x, y)", "f(x, y)", "AL251", ("    f(x, y)", "    f(2.0, x, y)", "it is `f(a, x, y)`")),
    (CALL, "f(2.0, x, y)", "axpi(2.0, x, y)", "AL202", None),
    (HALF, "if n > 1", "if n > 0", "AL504", ("n > 0", "n > 1", "end the recursion earlier")),
    # Text of other languages
    (HALF, "x[0] += 1.0", "print(x[0])", "AL202", "edit"),
    (SUM, "for i in 0..n:", "for i = 0..n:", "AL101", "edit"),
    (AXPY, "for i in", "parfor i in", "AL101", "edit"),
    (SUM, "return s", "return s, n", "AL101", "edit"),
]  # fmt: skip


def find_problems(text: str) -> tuple[Diagnostic, ...]:
    """Return what a check of a program refuses."""
    (outcome,) = check_tasks([Task("f.algo", source=Source("f.algo", text))], 1, cached=False)
    return outcome.errors if isinstance(outcome, CheckView) else outcome


@pytest.mark.parametrize("right", sorted({right for right, *_ in PROGRAMS}))
def test_the_right_programs_are_accepted(right: str) -> None:
    assert not find_problems(right)


@pytest.mark.parametrize(("right", "old", "new", "code", "mended"), PROGRAMS)
def test_a_wrong_program_has_a_message_that_mends_it(right: str, old: str, new: str, code: str, mended: Mended) -> None:
    assert old in right
    wrong = right.replace(old, new, 1)
    problems = find_problems(wrong)
    assert problems[0].code == code
    if mended == "edit":
        assert problems[0].edits
        text = apply_edits(wrong, choose_edits(problems, problems[0].edits[0].span.source))
    elif isinstance(mended, tuple):
        written, meant, said = mended
        assert said in (problems[0].hint or "")
        text = wrong.replace(written, meant, 1)
    else:
        # A person must know what was meant: nothing is proposed that leads to another error.
        assert not problems[0].edits
        return
    assert text != wrong
    assert not find_problems(text)


def test_most_wrong_programs_are_mended() -> None:
    assert len(PROGRAMS) >= 48
    assert sum(mended is not None for *_, mended in PROGRAMS) >= 44 / 48 * len(PROGRAMS)
