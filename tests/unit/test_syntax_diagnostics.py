"""What people get wrong at first, and what they are told: code, place and hint."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from archline.expr.tree import Source, make_structural_key
from archline.language import lark_parser
from archline.language.diagnostics import ArchlineError
from archline.language.loader import load_text
from archline.language.parser import parse
from cli_support import cli
from effort import some

HEAD = "algorithm f(A: real[n, m], x: inout real[n]):\n"
INNER = "        x[0] = 1\n"

# Statements below HEAD, so on line 2 and indented by 4: code, line:column, and words of the hint.
STATEMENTS = [
    (
        "for i = 0..n:\n" + INNER,
        "AL101",
        "2:5",
        "`for i in 0..n:` without the last value, or `for i in 0..n + 1:` with",
    ),
    ("for i in 0:n:\n" + INNER, "AL101", "2:18", "`for i in 0..n:`"),
    ("for (i = 0; i < n; i++);\n" + INNER, "AL101", "2:28", "leave the `;` out"),
    ("if (n > 2);\n" + INNER, "AL101", "2:15", "leave the `;` out"),
    ("for i in n downto 0..2:\n" + INNER, "AL101", "2:24", "`n-1 downto 0`"),
    ("for i in 0...n:\n" + INNER, "AL101", "2:17", "two dots"),
    ("parallel i in 0..n:\n" + INNER, "AL101", "2:14", "`parallel for i in 0..n:`"),
    ("parfor i in 0..n:\n" + INNER, "AL101", "2:12", "`parallel for i in 0..n:`"),
    ("while x[0] > 1 at most n:\n" + INNER, "AL101", "2:29", "times"),
    ("while x[0] > 1 atmost n times:\n" + INNER, "AL101", "2:20", "at most"),
    ("whiel x[0] > 1 at most n times:\n" + INNER, "AL101", "2:11", "`while`"),
    ("if n = 2:\n" + INNER, "AL101", "2:10", "equality is written `==`"),
    ("x[0] == 1", "AL101", "2:10", "assignment is written `=`"),
    ("x[0] = .5", "AL101", "2:12", "`0.5`"),
    ("x[0] = 1.", "AL101", "2:13", "`1.0`"),
    ("x[0] = 3x", "AL101", "2:13", "`3*x`"),
    ("x[0..] = 1", "AL101", "2:10", "`x[0..n]`"),
    ("x[..3] = 1", "AL101", "2:7", "`x[0..n]`"),
    ("spawn x[0] = 1", "AL101", "2:12", "before the call"),
    ("atomic for i in 0..n:\n" + INNER, "AL101", "2:16", "one element"),
    ('pass\n    "late"', "AL101", "3:5", "below the header"),
    ("pass\n    where m > 1", "AL101", "3:11", "at the top"),
    ("pass\n    ensures work == 1", "AL101", "3:13", "at the top"),
    ("ensures work = n\n    pass", "AL101", "2:18", "equality is written `==`"),
    ("ensures work is theta(n)\n    pass", "AL101", "2:21", "`is Theta(n)`"),
    ("ensures work O(n)\n    pass", "AL101", "2:18", "`is Theta(n)`"),
    ("ensures work is O(n) if n > 1\n    pass", "AL101", "2:26", "`when`"),
    ("where n is a power of 2\n    pass", "AL101", "2:16", "`n is power of 2`"),
    ("where n power of 2\n    pass", "AL101", "2:13", "`n is power of 2`"),
    ("where n is even\n    pass", "AL101", "2:16", "`2 divides n`"),
    ("print x", "AL101", "2:11", "no output"),
    ("switch m:\n        case 0:\n            x[0] = 1", "AL101", "2:12", "`elif k == 1:`"),
    ("a, b = x.pop()", "AL101", "2:19", "`u = x.pop()`"),
    ("a, b = g(x)", "AL101", "2:16", "`hi: out int`"),
    ("for i, a in x:\n" + INNER, "AL101", "2:9", "elements such as `x[i]` and `y[i]`"),
    ("for i in 1:n:\n" + INNER, "AL101", "2:18", "`for i in 1..n + 1:`, with subscripts `x[i - 1]`"),
    ("ensures flops ~ n^2\n    pass", "AL102", "2:19", "`is Theta(n^2)`"),
]

# What other languages write, and the canonical form that has the same tree.
ACCEPTED = [
    ("for i in 0..n\n" + INNER, "for i in 0..n:\n" + INNER),
    ("for i in range(n):\n" + INNER, "for i in 0..n:\n" + INNER),
    ("for i in 0 to n:\n" + INNER, "for i in 0..n + 1:\n" + INNER),
    ("for i := 0 to n - 1 do\n" + INNER, "for i in 0..n:\n" + INNER),
    ("for i in 0..n: x[i] = 0", "for i in 0..n:\n        x[i] = 0"),
    ("repeat n times:\n" + INNER, "for i in 0..n:\n" + INNER),
    ("if n == 2\n" + INNER, "if n == 2:\n" + INNER),
    ("if n == 2 then:\n" + INNER, "if n == 2:\n" + INNER),
    ("if n > 1 && m > 1:\n" + INNER, "if n > 1 and m > 1:\n" + INNER),
    ("if n > 1 || m > 1:\n" + INNER, "if n > 1 or m > 1:\n" + INNER),
    ("if (n > 1) & (m > 1):\n" + INNER, "if n > 1 and m > 1:\n" + INNER),
    ("if !(n > 1):\n" + INNER, "if not (n > 1):\n" + INNER),
    ("if 0 < n < 3:\n" + INNER, "if 0 < n and n < 3:\n" + INNER),
    ("if n > 1:\n" + INNER + "    else if m > 1:\n" + INNER, "if n > 1:\n" + INNER + "    elif m > 1:\n" + INNER),
    ("if n > 1:\n" + INNER + "    elseif m > 1:\n" + INNER, "if n > 1:\n" + INNER + "    elif m > 1:\n" + INNER),
    ("if n > 1:\n" + INNER + "    elsif m > 1:\n" + INNER, "if n > 1:\n" + INNER + "    elif m > 1:\n" + INNER),
    ("x[0] = 2**3", "x[0] = 2^3"),
    ("x[0] = A[0][1]", "x[0] = A[0, 1]"),
    ("x[0] = math.sqrt(x[1])", "x[0] = sqrt(x[1])"),
    ("x[0] := 1", "x[0] = 1"),
    ("x[0]++", "x[0] += 1"),
    ("x[0] = 1;", "x[0] = 1"),
    ("x[0] = 1; x[1] = 2;", "x[0] = 1\n    x[1] = 2"),
    ("x[0] = 'a'", "x[0] = 97"),
    ("x[0:3] = 1", "x[0..3] = 1"),
    ("k = n div 2", "k = n//2"),
    ("k //= 2", "k = k//2"),
    ("k %= 2", "k = k % 2"),
    ("k <<= 2", "k = k*2^2"),
    ("k >>= m", "k = k//2^m"),
    ("k **= 2", "k = k^2"),
    ("if k & 1:\n" + INNER, "if k % 2 == 1:\n" + INNER),
    ("if k & 1 == 0:\n" + INNER, "if k % 2 == 0:\n" + INNER),
    ("if (k & (1 << m)) != 0:\n" + INNER, "if k//2^m % 2 != 0:\n" + INNER),
    ("k = k & 1", "k = k % 2"),
    ("k = (k >> 3) & 1", "k = k//2^3 % 2"),
    ("x[0] = x[1] if n > 1 else 0", "if n > 1:\n        x[0] = x[1]\n    else:\n        x[0] = 0"),
    ("x[0] = n > 1 ? 2 : 3", "if n > 1:\n        x[0] = 2\n    else:\n        x[0] = 3"),
    ("x[0] += (2 if n > 1 else 3)", "if n > 1:\n        x[0] += 2\n    else:\n        x[0] += 3"),
    (
        "t = 1 if n > 1 else 2 if m > 1 else 3",
        "if n > 1:\n        t = 1\n    elif m > 1:\n        t = 2\n    else:\n        t = 3",
    ),
    (
        "local t: int = n > 1 ? 2 : 3",
        "local t: int\n    if n > 1:\n        t = 2\n    else:\n        t = 3",
    ),
    ("return 1 if n > 1 else 2", "if n > 1:\n        return 1\n    else:\n        return 2"),
    ("local t = 0", "t = 0"),
    ("let mut t = 0", "t = 0"),
    ("var t = 0", "t = 0"),
    ("auto t = x[0]", "t = x[0]"),
    ("t: real = 0", "local t: real = 0"),
    ("var t: int := 0", "local t: int = 0"),
    ("real t = 0", "local t: real = 0"),
    ("int lo = 0, hi = n - 1", "lo = 0\n    hi = n - 1"),
    ("let h: size = n//2", "let h = n//2"),
    ("double t = 0;", "local t: real = 0"),
    ("local t: float = 0", "local t: real = 0"),
    ("local t: double[n][m] = 0", "local t: real[n, m] = 0"),
    ("t = [0] * n", "local t: int[n] = 0"),
    ("t = [0.0] * n", "local t: real[n] = 0.0"),
    ("t = [0] * n\n    t[0] = x[0]", "local t: real[n] = 0\n    t[0] = x[0]"),
    ("t = [0] * n\n    q = x[0]\n    t[0] = q", "local t: real[n] = 0\n    q = x[0]\n    t[0] = q"),
    ("t = [[0] * m for i in range(n)]", "local t: int[n, m] = 0"),
    ("x = [1] * n", "x = 1"),
    ("let t[0..n] be a new array\n    t[0] = x[0]", "local t: real[n + 1]\n    t[0] = x[0]"),
    (
        "let t[0..n, 0..m] and u[1..n - 1] be new tables",
        "local t: int[n + 1, m + 1]\n    local u: int[n]",
    ),
    ("exchange x[0] with x[1]", "x[0], x[1] = x[1], x[0]"),
    ("exchange k with m", "k, m = m, k"),
    ("swap x[0] and x[1]", "x[0], x[1] = x[1], x[0]"),
    ("while n > 2:\n        exit", "while n > 2:\n        break"),
]

# Whole files.
FILES = [
    ("import dense\n", "AL108", "1:1", "`use dense.matmul`"),
    ("use dense/matmul\n", "AL101", "1:10", "`use dense.matmul`"),
    ('use "dense"\n', "AL101", "1:5", "`use dense.matmul`"),
    ("x = 1\n", "AL108", "1:1", "`use`, `extern`, `algorithm` and `claim`"),
    ("algorithm f(A real[n]):\n    pass\n", "AL101", "1:15", "`x: real[n]`"),
    ("algorithm f(n):\n    pass\n", "AL101", "1:14", "`x: real[n]`"),
    ("algorithm f(A: real[n] inout):\n    pass\n", "AL101", "1:24", "`A: inout real[n]`"),
    ('claim time(f) <= 1 ms on "gtx-580"\n', "AL101", "1:20", "1 ms is written `0.001`"),
    ('claim energy(f) <= (2^10)J on "gtx-580"\n', "AL101", "1:26", "its numbers have no unit"),
    ('claim power(f) <= 3W where n >= 2 on "gtx-580"\n', "AL101", "1:20", "its numbers have no unit"),
    ("claim work(f) <= 3n\n", "AL101", "1:19", "written with `*`: `3*n`"),
]


@pytest.mark.parametrize(
    ("text", "code", "place", "hint"),
    [(f"{HEAD}    {text}\n", code, place, hint) for text, code, place, hint in STATEMENTS] + FILES,
    ids=[text.split("\n")[0] for text, *_ in STATEMENTS + FILES],
)
def test_beginners_mistakes(text: str, code: str, place: str, hint: str) -> None:
    first = parse(Source("f.algo", text)).diagnostics[0]
    assert (first.rule.code, first.place) == (code, f"f.algo:{place}")
    assert hint in (first.hint or "")


@pytest.mark.parametrize(("written", "canonical"), ACCEPTED)
def test_what_other_languages_write_has_the_tree_of_the_canonical_form(written: str, canonical: str) -> None:
    trees = []
    for text in (written, canonical):
        parsed = parse(Source("f.algo", f"{HEAD}    {text}\n"))
        assert not parsed.diagnostics
        trees.append([make_structural_key(item) for item in parsed.program.items])
    assert trees[0] == trees[1]


@pytest.mark.parametrize(
    ("written", "canonical"),
    [
        ("def f():\n    pass\n", "algorithm f():\n    pass\n"),
        ("algorithm f()\n    pass\n", "algorithm f():\n    pass\n"),
        ("algorithm f(A: double[n]):\n    pass\n", "algorithm f(A: real[n]):\n    pass\n"),
        ("algorithm f(A: real[n][m]):\n    pass\n", "algorithm f(A: real[n, m]):\n    pass\n"),
        (
            "algorithm f(x: real[n], s: index below n, t: out index below n):\n    t = s\n",
            "algorithm f(x: real[n], s: int, t: out int):\n    assume 0 <= s, s < n\n    t = s\n",
        ),
        (
            "algorithm f(n: size):\n    local s: index below n = 0\n    s = n - 1\n",
            "algorithm f(n: size):\n    local s: int = 0\n    assume 0 <= s, s < n\n    s = n - 1\n",
        ),
    ],
)
def test_headers_of_other_languages_have_the_tree_of_the_canonical_form(written: str, canonical: str) -> None:
    first, second = (parse(Source("f.algo", text)) for text in (written, canonical))
    assert not first.diagnostics
    assert make_structural_key(first.program.items[0]) == make_structural_key(second.program.items[0])


@pytest.mark.parametrize(
    ("text", "place"),
    [
        (f"{HEAD}    x[0] = (1 + 2\n", "2:12"),
        (f"{HEAD}    x[0] = (1 + 2\n    x[1] = 3\n", "2:12"),
        (f"{HEAD}    x[0 = 1\n    x[1] = 3\n", None),
        ("algorithm f(A: real[n, m]:\n    pass\n", None),
        (f"{HEAD}    x[0] = min(x[1], x[2]\n    x[1] = 3\n", "2:15"),
    ],
)
def test_open_brackets(text: str, place: str | None) -> None:
    """A bracket that stays open is shown where it opens, unless its own line already goes wrong."""
    first = parse(Source("f.algo", text)).diagnostics[0]
    assert ("is not closed" in first.message) == (place is not None)
    assert place is None or first.place == f"f.algo:{place}"


def test_words_of_the_language_are_shown_as_written() -> None:
    """No name of a terminal of the grammar reaches the reader."""
    for text, *_ in STATEMENTS:
        for diagnostic in parse(Source("f.algo", f"{HEAD}    {text}\n")).diagnostics:
            assert not any(word in diagnostic.message for word in ("anon", "scalar", "layout`", "growth", "by_length"))


def test_several_mistakes_in_one_run() -> None:
    text = f"{HEAD}    x[0] == 1\n    x[1] = 2\n    if n = 2:\n        x[0] ~= 3\n    x[2] = 3x\n"
    assert [each.place for each in parse(Source("f.algo", text)).diagnostics] == [
        "f.algo:2:10",
        "f.algo:4:10",
        "f.algo:5:14",
        "f.algo:6:13",
    ]


def test_clauses_behind_a_faulty_one_are_no_mistakes() -> None:
    text = """algorithm f(x: inout real[n], m: size):
    "Adds."
    where n >= m
    ensures flops < n*m
    ensures work <= 9*n
    ensures span == 2 +
    where m >= 2
    for i in 0..n:
        x[i] += 1.0
"""
    found = parse(Source("f.algo", text)).diagnostics
    assert [(each.rule.code, each.span.line) for each in found] == [("AL101", 4), ("AL101", 6)]


@pytest.mark.parametrize(
    "text", ['    "doc"\n', '    "doc"\n' + HEAD + INNER, HEAD + INNER + '"doc"\n', HEAD + '"doc"\n' + INNER]
)
def test_strings_outside_an_algorithm_are_not_lost(text: str) -> None:
    """A string alone on its line is code: it must not vanish with what is cut out of lines to find their brackets."""
    assert parse(Source("f.algo", text)).diagnostics


# Names of machine symbols as names of a program's own: they hide the symbol, or are refused where it is needed


# The name stands as `@`.
PROGRAMS = {
    "size": "algorithm f(x: inout real[@]):\n    where @ >= 0\n    for i in 0..@:\n        x[i] += 1\n",
    "declared": "algorithm f(x: inout real[n], @: size):\n    where @ <= n, @ >= 2\n    for i in 0..@:\n        x[i] += 1\n",
    "index": "algorithm f(x: inout real[n], @: index):\n    where @ >= 0, @ < n\n    for i in @..n:\n        x[i] += 1\n",
    "loop": "algorithm f(x: inout real[n]):\n    for @ in 0..n:\n        for j in 0..@:\n            x[j] += 1\n",
    "let": "algorithm f(x: inout real[n]):\n    let @ = n//2\n    for i in 0..@:\n        x[i] += 1\n",
    "called": "algorithm g(y: inout real[@], k: size):\n    for i in 0..@:\n        y[i] += 1\n"
    "algorithm f(x: inout real[@], k: size):\n    where k <= @\n    g(x[0..k], @)\n    g(x, k)\n",
    "recursive": "algorithm f(x: inout real[@]):\n    ensures work is Theta(@)\n    if @ <= 2:\n        x[0] += 1\n"
    "    else:\n        spawn f(x[0..@//2])\n        f(x[@//2..@])\n",
    "array": "algorithm f(@: inout real[n]):\n    for i in 0..n:\n        @[i] += 1\n",
    "scalar": "algorithm f(x: inout real[n], @: real):\n    for i in 0..n:\n        x[i] += @\n",
    "integer": "algorithm f(x: inout real[n], @: int):\n    for i in 0..n:\n        if i < @:\n            x[i] += 1\n",
    "bound": "algorithm f(x: inout real[n]):\n    local @: int = 1\n    for i in 0..@:\n        x[i] += 1\n",
    "register": "algorithm f(x: inout real[n]):\n    local @: int = 0\n    while @ < n at most n times:\n        @ += 1\n",
    "view": "algorithm f(x: inout real[n]):\n    let @ = x[n//2..n]\n    @[0] = 1\n",
}
STATIC = ("size", "declared", "index", "loop", "let", "called", "recursive")
SIZES = {"size": "@=9", "recursive": "@=9", "called": "@=9,k=5", "declared": "n=9,@=5", "index": "n=9,@=5"}
COMMANDS = {
    "cost": ["cost", "FILE::f"],
    "cost at sizes": ["cost", "FILE::f", "--at", "SIZES", "--cache", "Z=64,L=8"],
    "run": ["run", "FILE::f", "--at", "SIZES", "--cache", "Z=64,L=8"],
    "check": ["check", "FILE"],
    "energy": ["energy", "FILE::f", "--machine", "xeon-e5-2650l-v3", "--at", "SIZES"],
}


def said(tmp_path: Path, kind: str, name: str, command: list[str]) -> tuple[int, str]:
    """The exit code, and the names and numbers that a command prints of a program with a name in it."""
    path = tmp_path / "own.algo"
    path.write_text(PROGRAMS[kind].replace("@", name), encoding="utf-8")
    sizes = SIZES.get(kind, "n=9").replace("@", name)
    ran = cli(*(each.replace("FILE", str(path)).replace("SIZES", sizes) for each in command))
    return ran.code, re.sub(r"[ -]+", " ", ran.out + ran.err)


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
@pytest.mark.parametrize("name", some(["K", "P", "L", "Z", "size"]))
@pytest.mark.parametrize("kind", some(list(PROGRAMS)))
def test_a_name_of_ones_own_hides_the_symbol(tmp_path: Path, kind: str, name: str, command: list[str]) -> None:
    """All that is said is what is said of the program with another name; sizes called Z or L are refused."""
    code, found = said(tmp_path, kind, name, command)
    if name in "ZL" and kind in STATIC:
        assert code == 2
        assert "AL205" in found
        assert f"such as `{name.lower()}`" in found
        return
    # Another name of the same length and place in the alphabet.
    other = {"K": "H", "P": "Q", "size": "sizf"}.get(name, "W")
    expected_code, expected = said(tmp_path, kind, other, command)
    assert code == expected_code == 0
    if name in "ZL":
        # Both the program's name and the symbol are in the text.
        assert found.replace(name, "") == re.sub(rf"\b{other}\b", "", expected).replace(name, "")
    else:
        assert found == re.sub(rf"\b{other}\b", name, expected)


SPEAKING = [
    "algorithm f(x: inout real[n]):\n    ensures io <= n/L + Z\n    let L = x[0..n]\n    L[0] = 1\n",
    "algorithm f(x: inout real[n]):\n    ensures time(P) <= 9*n\n    for P in 0..n:\n        x[P] += 1\n",
    "algorithm f(x: inout real[n]):\n    costs n/K flops\n    local K: real = 1\n    x[0] = K\n",
    "extern g(a: real) -> real costs K flops\nalgorithm f(x: inout real[K]):\n    x[0] = g(x[0])\n",
    "algorithm g(x: inout real[n]):\n    costs n*P flops\nalgorithm f(x: inout real[P]):\n    g(x)\n",
]


@pytest.mark.parametrize("text", SPEAKING)
@pytest.mark.parametrize("command", ["cost", "check"])
def test_a_name_that_costs_or_contracts_need_is_refused(tmp_path: Path, text: str, command: str) -> None:
    path = tmp_path / "own.algo"
    path.write_text(text, encoding="utf-8")
    ran = cli(command, str(path))
    assert ran.code == 2
    assert "AL205" in ran.err
    assert "choose another name" in ran.err


def test_every_terminal_has_a_text_in_messages() -> None:
    """A message about what is expected shows what a user writes, and no name of the grammar."""
    texts = lark_parser._load_literals()
    tables = lark_parser._TERMINAL_NAMES, lark_parser._UNNAMED_TERMINALS, lark_parser._OPERATOR_TERMINALS, texts
    assert {terminal.name for terminal in lark_parser.load_grammar().terminals} <= set().union(*tables)
    with pytest.raises(ArchlineError, match=r"unexpected `x`, expected `if`, `\?` or `\)`"):
        load_text("algorithm f(x: real[n]):\n    y = (x[0] x[1])\n")


@pytest.mark.parametrize(
    ("header", "said"),
    [
        ("for s in 1..n step *1:", "the variable of a loop is multiplied by a whole number from 2 on"),
        ("for s in 1..n step *m:", "the variable of a loop is multiplied by a whole number from 2 on"),
        ("for s in n downto 1 step /-2:", "the variable of a loop is divided by a whole number from 2 on"),
        ("for s in 1..n step /2:", "a loop that goes up multiplies its variable"),
        ("for s in n downto 1 step *2:", "a loop that goes down divides its variable"),
        ("for s in 0..n step *2:", "no factor moves 0"),
    ],
)
def test_steps_of_loops_by_factors(tmp_path: Path, header: str, said: str) -> None:
    path = tmp_path / "f.algo"
    path.write_text(f"algorithm f(n: size, m: size):\n    {header}\n        pass\n", encoding="utf-8")
    done = cli("check", str(path))
    assert done.code == 2
    assert said in done.err


def test_messages_show_what_the_author_wrote(tmp_path: Path) -> None:
    path = tmp_path / "f.algo"
    path.write_text(
        "algorithm f(x: inout real[n]) {\n    if (m > 1) {  // one\n        x[0] = 1;\n    }\n}\n", encoding="utf-8"
    )
    assert "    2 |     if (m > 1) {  // one\n" in cli("check", str(path)).err
    path.write_text("algorithm f(x: inout real[n]) {\n    x[0] = g(1, {\n}\n", encoding="utf-8")
    said = cli("check", str(path)).err
    assert "unexpected `{`" in said
    assert "    2 |     x[0] = g(1, {\n" in said


@pytest.mark.parametrize(
    ("body", "place", "said", "hint"),
    [
        ("größe = 1", "2:7", "`ö` (U+00F6) in `größe`: names are made of ASCII", "write `grosse`"),
        (
            "x[0] = 2*Δ",
            "2:14",
            "`Δ` (U+0394): names are made of ASCII letters, digits and underscores",
            "write `Delta`",
        ),
        ("λ_1 = 2", "2:5", "`λ` (U+03BB) in `λ_1`", "write `lambda_1`"),
        ("x₁ = 2", "2:6", "`₁` (U+2081) in `x₁`", "write `x1`"),
        ("x[0] = 2π", "2:13", "`π` (U+03C0): names", "write `pi`"),
        # A Cyrillic letter that looks like a Latin one, letters of other scripts, and a word of the language.
        ("n\u0430me = 2", "2:6", "`\u0430` (U+0430) in `n\u0430me`", None),
        ("変数 = 2", "2:5", "`変` (U+5909) in `変数`", None),
        ("fòr = 2", "2:6", "`ò` (U+00F2) in `fòr`", None),
        # A letter with a mark of its own.
        ("e\u0301t = 2", "2:6", "(U+0301) in `e\u0301t`", "write `et`"),
        # What has a hint of its own, and what is no letter.
        ("ensures work is ω(n)\n    pass", "2:21", "`ω` (U+03C9)", "growth is `O`, `Theta` or `Omega`"),
        ("x[0] = ñ × 2", "2:12", "`ñ` (U+00F1)", "write `n`"),
        ("x[0] = n²", "2:13", "unexpected `²`", "write `^2`"),
        ("x[0] = 2 ∘ 3", "2:14", "no token starts with '∘'", None),
    ],
)
def test_names_of_other_letters_are_refused_by_name(body: str, place: str, said: str, hint: str | None) -> None:
    problem = parse(Source("f.algo", f"{HEAD}    {body}\n")).diagnostics[0]
    assert problem.place == f"f.algo:{place}"
    assert said in problem.message
    assert (problem.hint or "").startswith(hint or "")
    assert (problem.hint is None) == (hint is None)


def test_comments_and_docstrings_have_any_letters() -> None:
    load_text('algorithm f(x: inout real[n]):\n    "Größe Δ."\n    x[0] = 1  # größe\n')
