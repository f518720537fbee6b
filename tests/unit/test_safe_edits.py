"""An edit that is made without a question leaves the one meaning that a text can have; all others are left to readers."""

from __future__ import annotations

import pytest

import archline as al
from archline.language.diagnostics import Diagnostic
from archline.language.edits import apply_edits, choose_edits
from test_edits import MISTAKES, PROGRAM, REARRANGED, find_problems
from test_hints_are_accepted import EDITS, PARTS
from test_wrong_programs import PROGRAMS

MAX_ROUNDS = 6


def body(*lines: str, header: str = "def f(x: inout real[n]):") -> str:
    """A program of statements below a header."""
    return header + "\n" + "".join(f"    {line}\n" for line in lines)


def fix(text: str, rounds: int = MAX_ROUNDS) -> str:
    """Return a text with the safe edits of repeated checks, as `check --fix` makes them."""
    for _ in range(rounds):
        safe = [problem for problem in find_problems(text) if problem.safe]
        if not safe:
            break
        text = apply_edits(text, choose_edits(safe, safe[0].edits[0].span.source))
    return text


THEN = "    x[0] = 2.0"
K, REAL, MEAN = "def f(x: inout real[n], k: int):", "def f(x: real[n]) -> real:", "def f(a: int[n]) -> real:"
Y = "def f(x: real[n], y: out real[n]):"
SEARCH = "def f(a: int[n], key: int) -> int:"

# A program and what safe edits make of it, which is accepted.
MEANT = [
    # Bodies of C on the lines of their headers
    (
        "def f(a: int) -> int:\n    int s = 0; int i;\n    for (i = 0; i < a; i++) s += i; s += 100;\n    return s\n",
        "def f(a: int) -> int:\n    int s = 0; int i;\n    for (i = 0; i < a; i++) s += i\n    s += 100;\n    return s\n",
    ),
    (
        "def f(a: int) -> int:\n    i = 3\n    if (a > 9) i = 1; else i = 2; i += 5;\n    return i\n",
        "def f(a: int) -> int:\n    i = 3\n    if (a > 9) i = 1\n    else i = 2\n    i += 5;\n    return i\n",
    ),
    # Comparisons of other languages
    *(
        (body(f"if x[0] {written} 1:", THEN), body(f"if x[0] {meant} 1:", THEN))
        for written, meant in [
            ("===", "=="), ("!==", "!="), ("=>", ">="), ("=<", "<="), ("=!", "!="), ("=", "=="), ("=+", "=="),
        ]
    ),
    (body("while x[0] => 1:", "    x[0] -= 2"), body("while x[0] >= 1:", "    x[0] -= 2")),
    (body("where n => 2", "x[1] = 2"), body("where n >= 2", "x[1] = 2")),
    (body("if x[0] === 1 and x[1] =< 2:", THEN), body("if x[0] == 1 and x[1] <= 2:", THEN)),
    (body("x[0] === 1"), body("x[0] = 1")),
    (body("loop:", "    x[0] += 1", "    if x[0] > 9:", "        break"), body("while true:", "    x[0] += 1", "    if x[0] > 9:", "        break")),
    # Statements on several lines
    (body("if x[0] == 1 and", "   x[1] == 2:", THEN), body("if x[0] == 1 and x[1] == 2:", THEN)),
    (body("if x[0] == 1", "   and x[1] == 2:", THEN), body("if x[0] == 1 and x[1] == 2:", THEN)),
    (body("if x[0] == 1 or \\", "   x[1] == 2:", THEN), body("if x[0] == 1 or x[1] == 2:", THEN)),
    (body("x[0] = x[1] +", "    x[2] *", "    x[3]"), body("x[0] = x[1] + x[2] * x[3]")),
    (body("x[0] = x[1]", "    - x[2]  # less"), body("x[0] = x[1] - x[2]  # less")),
    (body("x[0] =", "    x[1]"), body("x[0] = x[1]")),
    (body("where n >= 2 and", "    n <= 9", "x[0] = 1"), body("where n >= 2 and n <= 9", "x[0] = 1")),
    # Quotients where integers belong
    (body("x[k/2] = 1", header=K), body("x[k//2] = 1", header=K)),
    (body("for i in 0..k/2:", "    x[i] = 1", header=K), body("for i in 0..k//2:", "    x[i] = 1", header=K)),
    (body("local t: int = min(k/2, 3)", "x[t] = 1", header=K), body("local t: int = min(k//2, 3)", "x[t] = 1", header=K)),
    (body("c = k", "while c > 0:", "    if c % 2 == 1: x[0] += 1", "    c = c/2", header=K), body("c = k", "while c > 0:", "    if c % 2 == 1: x[0] += 1", "    c = c//2", header=K)),
    (body("x[k/2 % n] = 1", header=K), body("x[k//2 % n] = 1", header=K)),
    (body("return key/2", header=SEARCH), body("return key//2", header=SEARCH)),
    (
        body("lo = 0", "hi = n", "while lo < hi:", "    mid = (lo + hi)/2", "    if a[mid] < key: lo = mid + 1", "    else: hi = mid", "return lo", header=SEARCH),
        body("lo = 0", "hi = n", "while lo < hi:", "    mid = (lo + hi)//2", "    if a[mid] < key: lo = mid + 1", "    else: hi = mid", "return lo", header=SEARCH),
    ),
    (
        body("j = k/2", "while j > 0:", "    x[0] += xor(k, j)", "    j /= 2", header="def f(x: inout int[n], k: int):"),
        body("j = k//2", "while j > 0:", "    x[0] += xor(k, j)", "    j //= 2", header="def f(x: inout int[n], k: int):"),
    ),
    # Races on registers
    (
        body("s = 0", "parallel for i in 0..n:", "    s += x[i]", "return s", header=REAL),
        body("s = 0", "parallel for i in 0..n with + on s:", "    s += x[i]", "return s", header=REAL),
    ),
    (
        body("m = x[0]", "parallel for i in range(1, n):", "    m = max(m, x[i])", "return m", header=REAL),
        body("m = x[0]", "parallel for i in range(1, n) with max on m:", "    m = max(m, x[i])", "return m", header=REAL),
    ),
    (
        body("s = 0", "parallel for i in 0..n step 2:", "    parallel for j in 0..n:", "        s = x[i]*x[j] + s", "return s", header=REAL),
        body("s = 0", "parallel for i in 0..n step 2 with + on s:", "    parallel for j in 0..n with + on s:", "        s = x[i]*x[j] + s", "return s", header=REAL),
    ),
    (
        body("t = 0.0", "parallel for i in 0..n:", "    t = 2*x[i]", "    y[i] = t", header=Y),
        body("parallel for i in 0..n:", "    local t: real = 2*x[i]", "    y[i] = t", header=Y),
    ),
    # Values
    (body("A = np.zeros((n, n))", "x[0] = A[0, 0]"), body("A = zeros(n, n)", "x[0] = A[0, 0]")),
    (body("x[0] = √x[1] + √(x[0]) + √2"), body("x[0] = sqrt(x[1]) + sqrt(x[0]) + sqrt(2)")),
    (body("x[0] = log n + ln n"), body("x[0] = log(n) + log(n)")),
    (body("// of C", "if x[0] = 1:", THEN), body("// of C", "if x[0] == 1:", THEN)),
]  # fmt: skip

# A program with several meanings, or one that a hint alone explains: none of its edits is safe.
OPEN = [
    (body("x[0] =+ 1"), "`+= 1`, a value without its sign `= 1`"),
    (body("x[0] = 1/2x[1]"), "`2*x`"),
    (body("x[0] = √x[1]^2"), "sqrt"),
    (body("ensures flops is o(n)", "x[0] += 1"), "which say less than `o`"),
    (body("ensures flops is omega(n)", "x[0] += 1"), "which say less than `omega`"),
    (body("x[0] = x[1] +  # a note", "    x[2]"), "join the lines"),
    # Quotients
    (body("x[0] = k/3*x[1]", header=K), "`real_of(k)/3`, to round down `//`"),
    (body("x[0] = 1/k", header=K), "`1.0/k`"),
    (body("if x[0] < (k + 1)/2:", THEN, header=K), "`real_of(k + 1)/2`"),
    (body("x[0] = sqrt(k/2)", header=K), "`real_of(k)/2`"),
    (body("t = k/2", "x[0] = t", header=K), "`real_of(k)/2`"),
    (body("if k/2 < k - 1:", THEN, header=K), "to round down `//`"),
    (body("s = 0", "for i in 0..n:", "    s += a[i]", "return s/n", header=MEAN), "`real_of(s)/n`"),
    (body("s = 0", "for i in 0..n:", "    s += a[i]", "return s/n", header="def f(a: int[n]):"), "`real_of(s)/n`"),
    (body("s = 0", "for i in 0..n:", "    s += a[i]", "s /= n", "return s", header=MEAN), "let `s` be a real from the start"),
    (body("j = k/2", "while j > 0:", "    x[0] += 1", "    j /= 2", header=K), "let `j` be a real from the start"),
    # Races
    (body("parallel for i in 0..n:", "    x[0] += 1"), "make the update atomic"),
    (body("parallel for i in 1..n:", "    x[i] = x[i - 1]"), "one iteration reads what another writes"),
    (body("t = 0.0", "parallel for i in 0..n:", "    t = x[i]", "    y[i] = t", "y[0] = t", header=Y), "the iterations share `t`"),
    (body("s = 0.0", "parallel for i in 0..n:", "    s += x[i]", "    y[i] = s", header=Y), "the iterations share `s`"),
    # Structures
    (body("where n >= 2", "H = heap(n)", "H.push(0, 1)"), "in this order: `H.insert(v: int, k: real)`"),
    (body("where n >= 2", "H = heap(n)", "H.push(1)"), "in this order: `H.insert(v: int, k: real)`"),
    (body("x.append(3)"), "an array does not grow"),
    (body("x.push(3)"), "an array does not grow"),
    # Extents of parameters
    (body("for i in range(1, n + 1):", "    x[i] = i", header="def f(x: out real[n]):"), "`for i in 0..n:`"),
    (body("for i in 1 to n:", "    x[i] = i", header="def f(x: out real[n]):"), "declare `x: out real[n + 1]`"),
    # Words behind `//`
    (body("c = k", "c = c + 1 // note", "x[0] = c", header=K), "a comment begins with `#`"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "meant"), MEANT)
def test_safe_edits_leave_the_one_meaning(text: str, meant: str) -> None:
    assert fix(text) == meant
    assert not find_problems(meant)


@pytest.mark.parametrize(("text", "hint"), OPEN)
def test_what_has_several_meanings_is_left(text: str, hint: str) -> None:
    problems = find_problems(text)
    assert problems
    assert not any(problem.safe for problem in problems)
    assert any(hint in (problem.hint or "") for problem in problems)


@pytest.mark.parametrize(
    "text", [text for text, _ in OPEN if "k/3" in text or "sqrt(k" in text or "s/n" in text or "t = k" in text]
)
def test_the_proposed_quotient_of_reals_is_accepted(text: str) -> None:
    (problem,) = find_problems(text)
    assert not find_problems(apply_edits(text, problem.edits))


@pytest.mark.parametrize(
    ("line", "accepted"),
    [
        ("x[0] += x[1]  // note", True),
        ("x[0] += x[1]  // twice", True),
        ("x[0] += x[1] // note", False),
        ("t = 2; c = k + 1  // t", True),
        ("half = 2; c = k + 1  // halv", False),
        ("x[0] += (x[1]  // note)", False),
    ],
)
def test_a_word_behind_a_gap_is_a_comment(line: str, accepted: bool) -> None:
    assert (not find_problems(body(line, header=K))) == accepted


def test_a_race_of_a_run_on_a_register_says_how_it_is_combined() -> None:
    text = body("s = 0", "parallel for i in 0..n:", "    if x[i] > 0: s += x[i]", "return s", header=REAL)
    with pytest.raises(al.ArchlineError) as stopped:
        al.loads(text)["f"].run(x=[1.0, 2.0])
    assert "`parallel for ... with + on s:`" in (stopped.value.diagnostics[0].hint or "")
    meant = text.replace("0..n:", "0..n with + on s:")
    assert al.loads(meant)["f"].run(x=[1.0, -2.0, 3.0]).value == 4.0


def test_a_divisor_behind_a_gap_divides() -> None:
    text = "def f(k: inout int[n], m: int):\n    k[0] = 7  // m\n"
    plain = "def f(k: inout int[n], m: int):\n    k[0] = 7//m\n"
    assert not find_problems(text)
    assert al.loads(text)["f"].cost().work.text == al.loads(plain)["f"].cost().work.text


WRONG = [
    *(text for text, _ in MEANT + OPEN),
    *(PROGRAM.replace(right, wrong, 1) for right, wrong in MISTAKES),
    *(text for text, _ in REARRANGED),
    *(text for text, *_ in EDITS + PARTS),
    *(right.replace(old, new, 1) for right, old, new, *_ in PROGRAMS),
]


def identify(problem: Diagnostic) -> tuple[object, ...]:
    """What a mistake is known by: its code, its words and its place."""
    span = problem.span
    return problem.code, problem.message, span and (span.line, span.column)


@pytest.mark.parametrize("text", WRONG)
def test_safe_edits_leave_fewer_mistakes(text: str) -> None:
    """Each round mends what it was made for, and all rounds together leave fewer mistakes than there were."""
    before = problems = find_problems(text)
    for _ in range(MAX_ROUNDS):
        safe = [problem for problem in problems if problem.safe]
        if not safe:
            break
        text = apply_edits(text, choose_edits(safe, safe[0].edits[0].span.source))
        problems = find_problems(text)
        assert not {identify(problem) for problem in safe} & {identify(problem) for problem in problems}
    else:
        pytest.fail("safe edits do not end")
    assert len(problems) < len(before) or problems == before
