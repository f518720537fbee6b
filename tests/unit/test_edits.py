"""Edits of diagnostics: they are applied to a text, by `check --fix` to files, and are part of JSON and SARIF."""

from __future__ import annotations

import json
import os
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import archline as al
from archline.api.checks import Task, check_tasks
from archline.api.written_files import write_file_atomically
from archline.expr.tree import Source, Span
from archline.language.diagnostics import ArchlineError, Diagnostic, Edit, Proposal
from archline.language.edits import apply_edits, choose_edits, select_edits
from archline.language.syntax_rules import UNEXPECTED
from archline.report.view import CheckView
from archline.resources import find_resource
from cli_support import cli

WRONG = """\
# A count of zeros
algorithm zeros(a: int[n], b: out int[n]) -> int:
    local c: int = 0
    for i in 0..n:
        if a[i] = 0 then
            c += 1
        b[i] = a[i]/2 + a[i]/3
    return c
"""
RIGHT = WRONG.replace("= 0 then", "== 0 then").replace("a[i]/", "a[i]//")


def find_problems(text: str) -> tuple[Diagnostic, ...]:
    """Return what a check of a program refuses."""
    (outcome,) = check_tasks([Task("f.algo", source=Source("f.algo", text))], 1, cached=False)
    return outcome.errors if isinstance(outcome, CheckView) else outcome


def make_edit(text: str, start: int, end: int, new: str) -> Edit:
    """Return the edit that replaces the characters from `start` to `end` of a text."""
    places = []
    for place in (start, end):
        before = text[:place]
        places += [before.count("\n") + 1, place - (before.rfind("\n") + 1) + 1]
    return Edit(Span(Source("f.algo", text), *places), new)


# Texts
@given(
    st.text("ab\n", max_size=30),
    st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30), st.text("xy\n", max_size=3)), max_size=5),
)
def test_edits_are_replacements_from_right_to_left(text: str, drawn: list[tuple[int, int, str]]) -> None:
    ranges = [(min(a, b, len(text)), min(max(a, b), len(text)), new) for a, b, new in drawn]
    edits = [make_edit(text, *entry) for entry in ranges]
    chosen = [
        entry for entry, edit in zip(ranges, edits, strict=True) if any(edit is each for each in select_edits(edits))
    ]
    expected = text
    for start, end, new in sorted(chosen, key=lambda entry: entry[:2], reverse=True):
        expected = expected[:start] + new + expected[end:]
    assert apply_edits(text, edits) == expected
    # The first edit is always made, and no two that overlap are.
    assert not ranges or ranges[0] in chosen
    spans = sorted(entry[:2] for entry in chosen)
    assert all(first[1] <= second[0] for first, second in pairwise(spans))


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_end_as_before(end: str) -> None:
    text = "a\nbc\nd\n"
    edits = [make_edit(text, 2, 4, "x\ny"), make_edit(text, 5, 6, "z")]
    assert apply_edits(text.replace("\n", end), edits) == "a\nx\ny\nz\n".replace("\n", end)


def test_a_range_may_end_behind_the_last_line() -> None:
    assert apply_edits("a\nb", [Edit(Span(Source("f.algo", "a\nb"), 2, 1, 3, 1), "")]) == "a\n"


MISTAKES = [
    ("        x[i] = 1.0\n", "        x[i] == 1.0\n"),
    ("        x[i] = 1.0\n", "        x[j] = 1.0\n"),
    ("        x[i] = 1.0\n", "        x[i] = 2x[i]\n"),
    ("        x[i] = 1.0\n", "        x[i] = sqtr(x[i])\n"),
    ("        x[i] = 1.0\n", "        x[i] = .5\n"),
    ("    for i in 0..n:\n", "    for i in 0...n:\n"),
    ("    for i in 0..n:\n", "    for (int i = 0; i < n; i++) {\n"),
    ("    for i in 0..n:\n", "    fro i in 0..n:\n"),
    ("    for i in 0..n:\n", "    parfor i in 0..n:\n"),
    ("        k[i] = k[i]//2\n", "        k[i] = k[i]/2\n"),
    ("        k[i] = k[i]//2\n", "        k[i] /= 2\n"),
    ("x: inout real[n]", "x: real[n]"),
    ("k: inout int[n]", "k: int[n] inout"),
    ("    x[0] = 2.0\n", "    x[-1] = 2.0\n"),
    ("    x[0] = 2.0\n", "    print(x)\n"),
    ("    if n > 1:\n", "    if n = 1:\n"),
]
PROGRAM = """\
algorithm f(x: inout real[n], k: inout int[n]):
    for i in 0..n:
        x[i] = 1.0
        k[i] = k[i]//2
    if n > 1:
        x[1] = 3.0
    x[0] = 2.0
"""


@given(st.sets(st.sampled_from(range(len(MISTAKES))), min_size=1, max_size=4))
def test_a_diagnostic_is_gone_once_its_edits_are_made(chosen: set[int]) -> None:
    text = PROGRAM
    for number in sorted(chosen):
        right, wrong = MISTAKES[number]
        text = text.replace(right, wrong, 1)
    for problem in find_problems(text):
        if problem.edits:
            left = [(each.code, each.message) for each in find_problems(apply_edits(text, problem.edits))]
            alike = [(each.code, each.message) for each in find_problems(text)].count((problem.code, problem.message))
            assert left.count((problem.code, problem.message)) < alike


# A text, and what its only proposal makes of it.
REARRANGED = [
    (
        "algorithm f(a: int[n], x: real[n]) -> (int, real):\n    if n > 1:\n        return 0, x[0]\n    return (1, x[1])\n",
        "algorithm f(a: int[n], x: real[n], result1: out int, result2: out real):\n    if n > 1:\n"
        "        result1, result2 = 0, x[0]; return\n    result1, result2 = 1, x[1]; return\n",
    ),
    (
        "algorithm f(a: inout int[n], k: int):\n    where n >= 2\n\n    def turn(lo, hi):\n        while lo < hi:\n"
        "            swap(a[lo], a[hi])\n            lo += 1\n            hi -= 1\n\n    turn(0, n - 1)\n    turn(0, k)\n",
        "algorithm turn(a: inout int[n], lo: int, hi: int):\n    while lo < hi:\n        swap(a[lo], a[hi])\n        lo += 1\n"
        "        hi -= 1\n\n\nalgorithm f(a: inout int[n], k: int):\n    where n >= 2\n\n    turn(a, 0, n - 1)\n    turn(a, 0, k)\n",
    ),
    (
        "algorithm f(x: real[n], pi: out real):\n    pi = 4.0*min(x[0], 1.0)\n",
        "algorithm f(x: real[n], pi_: out real):\n    pi_ = 4.0*min(x[0], 1.0)\n",
    ),
    (
        "algorithm f(x, i, w):\n    x[i] = w*2.0\n",
        "algorithm f(x: inout real[n], i: int, w: real):\n    x[i] = w*2.0\n",
    ),
    (
        "algorithm f(x: inout int[n], t: real) -> real:\n    fill(x, 3)\n    return scale(x, t, n)\n\n"
        "def fill(a, v):\n    for i in 0..n:\n        a[i] = v\n\n"
        "def scale(a, s, n):\n    r = 0.0\n    for i in 0..n:\n        r += a[i]*s\n    return r\n",
        "algorithm f(x: inout int[n], t: real) -> real:\n    fill(x, 3)\n    return scale(x, t, n)\n\n"
        "def fill(a: inout int[n], v: int):\n    for i in 0..n:\n        a[i] = v\n\n"
        "def scale(a: int[m], s: real, n: int):\n    r = 0.0\n    for i in 0..n:\n        r += a[i]*s\n    return r\n",
    ),
    (
        "algorithm f(x: int[n], y: out real[n]):\n    for i in 0..n:\n        y[i] = part(x[i])\n\n"
        "    def part(k):\n        return half(k + 1) + 2\n\n    def half(k):\n        if k < 2: return 0\n"
        "        return x[k//2 % n]\n",
        "algorithm part(x: int[n], k: int):\n    return half(x, k + 1) + 2\n\n\n"
        "algorithm half(x: int[n], k: int):\n    if k < 2: return 0\n    return x[k//2 % n]\n\n\n"
        "algorithm f(x: int[n], y: out real[n]):\n    for i in 0..n:\n        y[i] = part(x, x[i])\n\n",
    ),
    (
        "algorithm f(b: real[n], x: inout real[n]):\n    local w: real[n] = 2\n    def change(i):\n"
        "        r = b[i] - x[i]\n        return w[i]*r\n    def sweep():\n        for i in 0..n:\n"
        "            x[i] += change(i)\n    sweep()\n    sweep()\n",
        "algorithm change(b: real[n], x: real[n], w: real[n], i: int):\n    r = b[i] - x[i]\n    return w[i]*r\n\n\n"
        "algorithm sweep(x: inout real[n], b: real[n], w: real[n]):\n    for i in 0..n:\n"
        "        x[i] += change(b, x, w, i)\n\n\nalgorithm f(b: real[n], x: inout real[n]):\n"
        "    local w: real[n] = 2\n    sweep(x, b, w)\n    sweep(x, b, w)\n",
    ),
    (
        "algorithm f(s: inout int[L, L], l: int):\n    where L >= 2\n    for i in 0..L:  # L\n        s[i, L - 1] = l\n",
        "algorithm f(s: inout int[size_L, size_L], l: int):\n    where size_L >= 2\n    for i in 0..size_L:  # L\n"
        "        s[i, size_L - 1] = l\n",
    ),
    (
        "algorithm f(p: out int[n]):\n    q = NIL\n    for i in 0..n:\n        p[i] = NIL\n    p[0] = q\n",
        "let NIL = -1\n\nalgorithm f(p: out int[n]):\n    q = NIL\n    for i in 0..n:\n        p[i] = NIL\n    p[0] = q\n",
    ),
]


@pytest.mark.parametrize(("text", "rearranged"), REARRANGED)
def test_what_is_written_in_several_places_is_rearranged(text: str, rearranged: str) -> None:
    problems = [problem for problem in find_problems(text) if problem.edits]
    source = problems[0].edits[0].span.source
    assert not problems[0].safe
    assert apply_edits(text, choose_edits(problems, source)) == rearranged
    assert not find_problems(rearranged)


# Texts of other languages, and what their proposals make of them in one go.
TRANSLATED = [
    (
        "void f(int n, const double *x, double *y) {\n    for (int i = 0; i < n; i++) y[i] = x[i];\n}\n",
        "algorithm f(n: int, x: real[n], y: inout real[n]) {\n    for (int i = 0; i < n; i++) y[i] = x[i];\n}\n",
    ),
    (
        "double dotp(double x[n], double y[n])\n{\n    double s = 0;\n    for (int i = 0; i < n; i++)\n"
        "        s += x[i]*y[i];\n    return s;\n}\n",
        "algorithm dotp(x: real[n], y: real[n]) -> real\n{\n    double s = 0;\n    for (int i = 0; i < n; i++)\n"
        "        s += x[i]*y[i];\n    return s;\n}\n",
    ),
    (
        "void scale(int n, double **A, double *B) {\n    A[0][0] += B[0*n + 1];\n}\n",
        "algorithm scale(n: int, A: inout real[n, m], B: real[n*n]) {\n    A[0][0] += B[0*n + 1];\n}\n",
    ),
    (
        "double f(int n,  // the extent\n         const double *x) {\n    return x[0];\n}\n",
        "algorithm f(n: int, x: real[n]) -> real {\n    return x[0];\n}\n",
    ),
    (
        "public static int find(int[] a, int key) {\n    if (a[0] == key) return 0;\n    return -1;\n}\n",
        "algorithm find(a: int[n], key: int) -> int {\n    if (a[0] == key) return 0;\n    return -1;\n}\n",
    ),
    (
        "fn f(a: f64, x: &[f64], y: &mut [f64]) {\n    y[0] += a*x[0];\n}\n",
        "algorithm f(a: real, x: real[n], y: inout real[n]) {\n    y[0] += a*x[0];\n}\n",
    ),
    (
        "func f(x []float64) float64 {\n    return x[0]\n}\n",
        "algorithm f(x: real[n]) -> real {\n    return x[0]\n}\n",
    ),
    (
        "function f(x::Vector{Float64}, A::Array{Float64,2})::Float64\n    x[0] = A[0, 0]\n    return x[0]\nend\n",
        "algorithm f(x: inout real[n], A: real[n, m]) -> real\n    x[0] = A[0, 0]\n    return x[0]\nend\n",
    ),
    (
        "def f(x: list[float], y: List[int]) -> float:\n    return x[0]\n",
        "algorithm f(x: real[n], y: int[n]) -> real:\n    return x[0]\n",
    ),
    (
        "import numpy as np\nfrom math import sqrt\n\ndef f(x: inout real[n]):\n    x[0] = np.sqrt(x[0])\n",
        "\ndef f(x: inout real[n]):\n    x[0] = np.sqrt(x[0])\n",
    ),
    (
        "algorithm f(x: real[n], y: out real[n]):\n    y = sorted(x)\n",
        "use sort.sort\n\nalgorithm f(x: real[n], y: out real[n]):\n    y[:] = x; sort(y)\n",
    ),
    (
        "algorithm f(x: inout real[n]):\n    x.sort()\n",
        "use sort.sort\n\nalgorithm f(x: inout real[n]):\n    x.sort()\n",
    ),
    (
        "algorithm f(x: inout real[n]):\n    for i = 1:n\n        x[i] = 0\n    end\n",
        "algorithm f(x: inout real[n]):\n    for i in 0..n\n        x[i] = 0\n    end\n",
    ),
    (
        "algorithm f(x: inout real[n]):\n    for i in 1:n\n        x[i - 1] = 0\n    end\n",
        "algorithm f(x: inout real[n]):\n    for i in 1..n + 1\n        x[i - 1] = 0\n    end\n",
    ),
    (
        "algorithm f(x: real[n]) on grid(r: P):\n    local s: real = 0\n    local all: real[P]\n    s = allreduce(s, max)\n"
        "    broadcast(s, 0)\n    scan(s, sum)\n    shift(s, 1)\n    reduce(s, 0)\n    barrier()\n    allgather(s, all)\n",
        "algorithm f(x: real[n]) on grid(r: P):\n    local s: real = 0\n    local all: real[P]\n    allreduce s with max\n"
        "    broadcast s from 0\n    scan s with +\n    shift s along r by 1\n    reduce s onto 0 with +\n    barrier\n"
        "    allgather s into all\n",
    ),
    (
        "algorithm f() on grid(r: P):\n    local s: real = 0\n    reduce(s, +, 0)\n",
        "algorithm f() on grid(r: P):\n    local s: real = 0\n    reduce s onto 0 with +\n",
    ),
    (
        "algorithm f(x: list[float], y: vector[n], z: str, u: matrix):\n    pass\n",
        "algorithm f(x: real[n], y: real[n], z: char[n], u: real[n, m]):\n    pass\n",
    ),
    (
        "algorithm f(x: real, n: size) -> real:\n    return x[n - 1]\n",
        "algorithm f(x: real[n], n: size) -> real:\n    return x[n - 1]\n",
    ),
    (
        "algorthm f(x: inout real[n]):\n    ensures flops ~ n\n    for i in 0..n: x[i] *= 2\n",
        "algorithm f(x: inout real[n]):\n    ensures flops is Theta(n)\n    for i in 0..n: x[i] *= 2\n",
    ),
    (
        "algorithm f(A: real[n, m], x: real[m]):\n    return A @ x\n",
        "algorithm f(A: real[n, m], x: real[m], result: out real[n]):\n    result[:] = A @ x\n",
    ),
    (
        "algorithm f(x: real[n]) -> real[n]:\n    local y: real[n] = 0\n    if n > 3:\n        return x\n    return y\n",
        "algorithm f(x: real[n], result: out real[n]):\n    local y: real[n] = 0\n    if n > 3:\n"
        "        result[:] = x; return\n    result[:] = y\n",
    ),
]


@pytest.mark.parametrize(("text", "translated"), TRANSLATED)
def test_what_other_languages_write_becomes_a_program(text: str, translated: str) -> None:
    for _ in range(2):
        text = apply_edits(text, [edit for problem in find_problems(text) for edit in problem.edits])
    assert text == translated
    assert not find_problems(translated)


def test_a_file_with_braces_is_fixed(tmp_path: Path) -> None:
    path = tmp_path / "f.algo"
    path.write_text("algorithm f(k: inout int[n]) {\n    k[0] = k[0]/2;\n}\n", encoding="utf-8")
    assert cli("check", "--fix", str(path)).code == 0
    assert path.read_text(encoding="utf-8") == "algorithm f(k: inout int[n]) {\n    k[0] = k[0]//2;\n}\n"


@pytest.mark.parametrize(
    ("statement", "declared"),
    [
        ("k[0] = h(k[1]) % 7", "h(a: int) -> int"),
        ("k[h(n)] = 1", "h(n: int) -> int"),
        ("j = h(k[0]) % 7; k[j] = 1", "h(a: int) -> int"),
        ("if h(x[0], k[0]) == k[1]: k[0] = 2", "h(a: real, b: int) -> int"),
        ("y = 2.0*h(x[0]); x[1] = y", "h(a: real) -> real"),
        ("h(x[0])", "h(a: real)"),
    ],
)
def test_an_unknown_function_is_declared_with_the_types_of_its_calls(statement: str, declared: str) -> None:
    text = f"algorithm f(x: inout real[n], k: inout int[n]):\n    where n >= 2\n    {statement}\n"
    (problem,) = find_problems(text)
    assert problem.edits[0].text == f"extern {declared} costs 1 work\n\n"
    assert not find_problems(apply_edits(text, problem.edits))


def test_a_sum_of_quotients_is_told_to_begin_with_a_real() -> None:
    text = "algorithm f(n: size):\n    s = 0\n    for i in 1..n:\n        s += OF\n    return s\n"
    (problem,) = find_problems(text.replace("OF", "i/(i + 1)"))
    assert apply_edits(text, problem.edits) == text.replace("s = 0", "s = 0.0")
    with pytest.raises(ArchlineError) as stopped:
        al.loads(text.replace("OF", "1/i"))["f"].run(n=4)
    (edit,) = stopped.value.diagnostics[0].edits
    assert al.loads(apply_edits(text.replace("OF", "1/i"), [edit]))["f"].run(n=4).value == pytest.approx(11 / 6)


def test_all_edits_of_a_diagnostic_are_made_or_none() -> None:
    source = Source("f.algo", "abcdef\n")
    edits = [Edit(Span(source, 1, start, 1, start + 2), "x") for start in (1, 2, 5)]
    first = Diagnostic(UNEXPECTED, "", hint=Proposal("", edits[:1]))
    second = Diagnostic(UNEXPECTED, "", hint=Proposal("", edits[1:]))
    assert choose_edits([first, second], source) == first.edits
    assert choose_edits([second, first], source) == second.edits
    assert choose_edits([second, second], source) == second.edits


# Files
@pytest.mark.parametrize(
    ("before", "after"),
    [
        (WRONG.encode(), RIGHT.encode()),
        (WRONG.replace("\n", "\r\n").encode(), RIGHT.replace("\n", "\r\n").encode()),
        (b"\xef\xbb\xbf" + WRONG.encode(), b"\xef\xbb\xbf" + RIGHT.encode()),
        (
            WRONG.replace("zeros\n", "z\u00e9ros\n").rstrip().encode(),
            RIGHT.replace("zeros\n", "z\u00e9ros\n").rstrip().encode(),
        ),
    ],
    ids=["plain", "CRLF", "byte order mark", "other letters and no last line end"],
)
def test_fix_changes_nothing_but_the_mistakes(tmp_path: Path, before: bytes, after: bytes) -> None:
    path = tmp_path / "f.algo"
    path.write_bytes(before)
    path.chmod(0o640)
    ran = cli("check", "--fix", str(path))
    assert ran.code == 0
    assert ran.err == f"fixed {path}: 3 edits (AL101, AL222)\n"
    assert path.read_bytes() == after
    assert path.stat().st_mode & 0o777 == 0o640
    assert list(tmp_path.iterdir()) == [path]
    again = cli("check", "--fix", str(path))
    assert (again.code, again.err) == (0, "")


def test_diff_writes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "f.algo"
    path.write_text(WRONG, encoding="utf-8")
    ran = cli("check", "--fix", "--diff", str(path))
    assert ran.code == 1
    assert "-        if a[i] = 0 then\n" in ran.out
    assert "+        b[i] = a[i]//2 + a[i]//3\n" in ran.out
    assert path.read_text(encoding="utf-8") == WRONG
    path.write_text(RIGHT, encoding="utf-8")
    same = cli("check", "--fix", "--diff", str(path))
    assert (same.code, same.out) == (0, "")


def test_what_is_not_safe_is_left(tmp_path: Path) -> None:
    path = tmp_path / "f.algo"
    text = "algorithm f(x: inout real[n]):\n    for i = 0..n - 1:\n        x[i] = 0.0\n"
    path.write_text(text, encoding="utf-8")
    ran = cli("check", "--fix", str(path))
    assert ran.code == 2
    assert "`for i in 0..n - 1:` without the last value, or `for i in 0..n:` with it" in ran.err
    assert path.read_text(encoding="utf-8") == text


def test_a_folder_and_the_files_that_it_uses_are_fixed(tmp_path: Path) -> None:
    used = WRONG.replace("zeros(", "count(")
    (tmp_path / "used.algo").write_text(used, encoding="utf-8")
    user = (
        "use used\n\n\nalgorithm g(a: int[n], b: out int[n]) -> int:\n    local c: int = count(a, b)\n    return c/2\n"
    )
    (tmp_path / "user.algo").write_text(user, encoding="utf-8")
    ran = cli("check", "--fix", str(tmp_path))
    assert ran.code == 0
    assert "return c//2" in (tmp_path / "user.algo").read_text(encoding="utf-8")
    # A file that is used and not named is left.
    (tmp_path / "used.algo").write_text(used, encoding="utf-8")
    alone = cli("check", "--fix", str(tmp_path / "user.algo"))
    assert alone.code == 2
    assert (tmp_path / "used.algo").read_text(encoding="utf-8") == used


def test_a_link_stays_one(tmp_path: Path) -> None:
    (tmp_path / "real.algo").write_text(WRONG, encoding="utf-8")
    (tmp_path / "link.algo").symlink_to(tmp_path / "real.algo")
    assert cli("check", "--fix", str(tmp_path / "link.algo")).code == 0
    assert (tmp_path / "link.algo").is_symlink()
    assert (tmp_path / "real.algo").read_text(encoding="utf-8") == RIGHT


@pytest.mark.parametrize("step", ["replace", "fsync"])
def test_a_file_is_whole_if_writing_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    path = tmp_path / "f.algo"
    path.write_text(WRONG, encoding="utf-8")

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, step, fail)
    ran = cli("check", "--fix", str(path))
    monkeypatch.undo()
    assert ran.refused("AL413")
    assert path.read_text(encoding="utf-8") == WRONG
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_that_changed_since_it_was_read_is_left(tmp_path: Path) -> None:
    path = tmp_path / "f.algo"
    path.write_text("new", encoding="utf-8")
    with pytest.raises(ArchlineError, match="it has changed since it was read"):
        write_file_atomically(path, "ours", b"old")
    assert path.read_text(encoding="utf-8") == "new"
    assert list(tmp_path.iterdir()) == [path]


def test_the_library_is_never_fixed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    library = tmp_path / "stdlib"
    library.mkdir()
    (library / "f.algo").write_text(WRONG, encoding="utf-8")
    monkeypatch.setattr(
        "archline.api.fixes.find_resource", lambda name: library if name == "stdlib" else find_resource(name)
    )
    assert cli("check", "--fix", str(library / "f.algo")).code == 2
    assert (library / "f.algo").read_text(encoding="utf-8") == WRONG


@pytest.mark.parametrize("options", [("--diff",), ("--fix", "-")])
def test_options_that_clash(tmp_path: Path, options: tuple[str, ...]) -> None:
    (tmp_path / "f.algo").write_text(RIGHT, encoding="utf-8")
    assert cli("check", *options, str(tmp_path / "f.algo")).refused("AL411")


# Documents
def test_json_and_sarif_have_the_edits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("f.algo").write_text(WRONG.replace("= 0 then", "== 0 then"), encoding="utf-8")
    (found, _) = json.loads(cli("check", "--format", "json", "f.algo").out)["findings"]
    assert found["safe"] is True
    edits = [
        {**place, "path": "f.algo", "line": 7, "end_line": 7, "text": "//"}
        for place in ({"column": 20, "end_column": 21}, {"column": 29, "end_column": 30})
    ]
    assert found["edits"] == edits
    run = json.loads(cli("check", "--format", "sarif", "f.algo").out)["runs"][0]
    (fix,) = run["results"][0]["fixes"]
    assert fix["description"]["text"] == "write `//`, which rounds down"
    (change,) = fix["artifactChanges"]
    assert change["artifactLocation"]["uri"] == "f.algo"
    assert change["replacements"][0] == {
        "deletedRegion": {"startLine": 7, "startColumn": 20, "endLine": 7, "endColumn": 21},
        "insertedContent": {"text": "//"},
    }


def test_a_warning_has_edits_from_the_cache_too(tmp_path: Path) -> None:
    text = "algorithm f(x: real[n], y: out real[n]):\n    for i in 1..n:\n        y[i] = x[i]\n"
    (tmp_path / "f.algo").write_text(text, encoding="utf-8")
    first, second = (cli("check", "--format", "json", str(tmp_path / "f.algo")).out for _ in range(2))
    assert first == second
    (found,) = json.loads(first)["findings"]
    assert (found["code"], found["safe"], found["edits"][0]["text"]) == ("AL606", False, "0")
    assert "write `for i in 0..n:`" in found["message"]


@pytest.mark.parametrize(
    ("written", "fixed"),
    [
        ("n <= flops", ["flops >= n"]),
        ("2*n + 1 >= flops when n >= 2", ["flops <= 2*n + 1 when n >= 2"]),
        ("flops == n and work <= 5*n", ["flops == n", "work <= 5*n"]),
        ("flops == n and work <= 5*n and span <= 5*n", ["flops == n", "work <= 5*n", "span <= 5*n"]),
        ("flops == n, work is O(n)", ["flops == n", "work is O(n)"]),
        ("flops == n and work is O(n) when n >= 2", ["flops == n when n >= 2", "work is O(n) when n >= 2"]),
    ],
)
def test_a_claim_gets_its_metric_first_and_a_line_for_each(tmp_path: Path, written: str, fixed: list[str]) -> None:
    file = tmp_path / "f.algo"
    file.write_text(f"algorithm f(x: inout real[n])\n    ensures {written}\n    for i in 0..n:\n        x[i] += 1.0\n")
    assert cli("check", str(file)).err.count(": AL") == 1
    done = cli("check", "--fix", str(file))
    assert [line.strip() for line in file.read_text().splitlines() if "ensures" in line] == [
        f"ensures {c}" for c in fixed
    ]
    assert done.code == 0
