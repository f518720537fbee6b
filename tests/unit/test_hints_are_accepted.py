"""A text that a hint proposes is accepted where it is written, and means what was meant."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from archline.expr.tree import Source
from archline.language.diagnostics import ArchlineError
from archline.language.edits import apply_edits
from archline.language.loader import load_text
from archline.language.parser import parse
from cli_support import cli
from doc_blocks import last

HEAD = "algorithm g(A: inout real[m, w]):\n    A[0, 0] = 1.0\n\n\nalgorithm h(v: inout real[w], c: real):\n    v[0] = c\n\n\n"
ROWS = HEAD + "algorithm f(M: inout real[p, n, m], N: inout real[p, p, n, m]):\n"
ONE = HEAD + "algorithm f(x: inout real[n], k: int[n], b: int, d: int):\n"
LOOPS = ONE + "    for i in 0..n:\n"


def lines(*written: str, depth: int = 1) -> str:
    """Statements of a body."""
    return "".join(f"{' ' * 4 * depth}{each}\n" for each in written)


def hints(text: str) -> list[str]:
    """The hints of what is wrong with a program."""
    with pytest.raises(ArchlineError) as refused:
        load_text(text)
    return [each.hint or "" for each in refused.value.diagnostics]


# A program, what stands there, and what the only hint says to write in its place.
EDITS = [
    # Integers that keep one value, and parameters
    (ONE + lines("local j: int = n + 1", "while x[0] > 0.0 at most 2*j times:", "    x[0] -= 1.0"), "local j: int =", "let j ="),
    (ONE + lines("while x[0] > 0.0 at most b times:", "    x[0] -= 1.0"), "b: int", "b: size"),
    (ONE + lines("while x[0] > 0.0 at most log2(b) times:", "    x[0] -= 1.0"), "b: int", "b: size"),
    (ONE + lines("while x[0] > 0.0 at most sqrt(b) + 1 times:", "    x[0] -= 1.0"), "b: int", "b: size"),
    (ONE + lines("for i in 0..log2(b):", "    x[0] -= 1.0"), "b: int", "b: size"),
    (ONE + lines("local j: int = n", "while x[0] > 0.0 at most log2(j) times:", "    x[0] -= 1.0"), "local j: int =", "let j ="),
    (ONE + lines("local t: int = log2(d)"), "d: int", "d: size"),
    (ONE + lines("x[log2(d)] = 1.0"), "d: int", "d: size"),
    # Signs of mathematics and of other languages
    (ONE + lines("x[0] = |x[0] - x[n - 1]|"), "|x[0] - x[n - 1]|", "abs(x[0] - x[n - 1])"),
    (ONE + lines("if |x[0] - 1| <= 2.0:", "    x[0] = 1.0"), "|x[0] - 1|", "abs(x[0] - 1)"),
    (ONE + lines("where n = 2^q", "x[0] = 1.0"), "n = 2^q", "n is power of 2"),
    (ONE + lines("where n == 3^q", "x[0] = 1.0"), "n == 3^q", "n is power of 3"),
    (ONE + lines("where n >= 2, n = 2**q", "x[0] = 1.0"), "n = 2**q", "n is power of 2"),
    (ONE + lines("where n is even", "x[0] = 1.0"), "n is even", "2 divides n"),
    (ONE + lines("where n is odd", "x[0] = 1.0"), "n is odd", "n % 2 == 1"),
    # Growth
    (ONE + lines("ensures work = O(n)", "x[0] = 1"), "work = O(n)", "work is O(n)"),
    (ONE + lines("ensures work: Theta(1)", "x[0] = 1"), "work: Theta(1)", "work is Theta(1)"),
    (ONE + lines("ensures work in O(n)", "x[0] = 1"), "work in O(n)", "work is O(n)"),
    (ONE + lines("ensures work < O(n*(n + 1)) when n >= 2", "x[0] = 1"), "work < O(n*(n + 1))", "work is O(n*(n + 1))"),
    (ONE + lines("ensures flops == n + O(log2(n))", "x[0] = 1"), "flops == n + O(log2(n))", "flops is O(n + log2(n))"),
    (ONE + lines("ensures work = O(n log n)", "x[0] = 1"), "work = O(n log n)", "work is O(n*log2(n))"),
    (ONE + lines("ensures work <= O(log log n) when n > 4", "x[0] = 1"), "work <= O(log log n)", "work is O(log2(log2(n)))"),
    (ONE + lines("ensures work is O(n log^2 n)", "x[0] = 1"), "work is O(n log^2 n)", "work is O(n*log2(n)^2)"),
    (ONE + lines("ensures work <= 2n + O(3n lg(n))", "x[0] = 1"), "work <= 2n + O(3n lg(n))", "work is O(2*n + 3*n*log2(n))"),
    (ONE + lines("ensures work == O(log(log(n)))", "x[0] = 1"), "work == O(log(log(n)))", "work is O(log2(log2(n)))"),
    (ONE + lines("ensures ops <= n", "x[0] = 1"), "ops", "work"),
    (ONE + lines("x[0] = 1") + "\n\nclaim work(f) = O(n)\n", "work(f) = O(n)", "work(f) is O(n)"),
    (ONE + lines("x[0] = 1") + "\n\nclaim work(f) <= O(n)\n", "work(f) <= O(n)", "work(f) is O(n)"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "written", "proposed"), EDITS)
def test_the_only_hint_is_accepted(text: str, written: str, proposed: str) -> None:
    (hint,) = hints(text)
    assert proposed.removeprefix("= ") in hint
    assert text.count(written) == 1
    load_text(text.replace(written, proposed))


PARTS = [
    (ROWS + lines("g(M[0])"), "M[0]", "M[0, :, :]"),
    (ROWS + lines("for q in 0..p:", "    M[q] = 1.0"), "M[q]", "M[q, :, :]"),
    (ROWS + lines("for q in 0..p:", "    g(N[q, p - q - 1])"), "N[q, p - q - 1]", "N[q, p - q - 1, :, :]"),
    (ROWS + lines("M[0..1, 0] = 2.0"), "M[0..1, 0]", "M[0..1, 0, :]"),
    (ROWS + lines("local T: real[n, m] = M[0]"), "M[0]", "M[0, :, :]"),
    (ROWS + lines("local T: real[p, n, m] = M[:]"), "M[:]", "M[:, :, :]"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "written", "meant"), PARTS)
def test_dimensions_that_are_left_out_are_taken_whole(text: str, written: str, meant: str) -> None:
    costs, full = last(text).cost(), last(text.replace(written, meant)).cost()
    assert [costs[metric].text for metric in ("work", "span", "io")] == [
        full[metric].text for metric in ("work", "span", "io")
    ]


SUM = lines("for q in i..j:", "    x[q] += 1.0", depth=2)
BOUNDS = [
    ("local j: int = i + l - 1", "for q in i..min(j, n):", "x[q] += 1.0"),
    ("local j: int = min(i + l, n)", "for q in i..j:", "x[q] += 1.0"),
    ("local j: int = n - i", "for q in 0..j step 2:", "x[q] += 1.0"),
    ("local j: int = 3", "for q in j..n:", "x[q] += 1.0"),
    ("local j: int = i//2", "for q in n-1 downto j:", "x[q] += 1.0"),
]


@pytest.mark.parametrize(("made", "loop", "inside"), BOUNDS)
def test_a_register_that_keeps_its_value_bounds_loops_as_a_let_does(made: str, loop: str, inside: str) -> None:
    """Operations that make the value of a register count, those of a `let` do not."""
    nest = "algorithm f(x: inout real[n]):\n    for l in 2..n:\n        for i in 0..n - l:\n"
    text = nest + lines(made, loop, f"    {inside}", depth=3)
    costs = last(text).cost()
    known = last(text.replace(made, made.replace("local", "let").replace(": int", ""))).cost()
    assert costs["flops"].text == known["flops"].text
    assert "unknown" not in {costs[metric].status for metric in ("flops", "work", "span", "io")}


def test_a_chain_of_registers_is_named_in_order() -> None:
    text = LOOPS + lines("local a: int = i + 1", "local j: int = 2*a", "local V: real[j] = 0", depth=2)
    assert hints(text) == ["write `let a = i + 1` and write `let j = 2*a`"]
    load_text(text.replace("local a: int", "let a").replace("local j: int", "let j"))


@pytest.mark.parametrize("growth", ["n*O(n)", "O(n) - n", "O(n) + O(n*O(n))"])
def test_growth_that_is_no_sum_is_left_open(growth: str) -> None:
    assert set(hints(ONE + lines(f"ensures work == {growth}", "x[0] = 1"))) == {"growth is written `work is O(...)`"}


def test_what_is_no_metric_is_left_out() -> None:
    text = ONE + lines("ensures swaps <= n", "x[0] = 1")
    with pytest.raises(ArchlineError) as refused:
        load_text(text)
    (problem,) = refused.value.diagnostics
    assert not problem.safe
    assert apply_edits(text, problem.edits) == text.replace("    ensures swaps <= n\n", "")


@pytest.mark.parametrize("line", ["M[0, 0, 0] = 1.0 + M[0]", "M[0, 0, 0] += N[0, 0, 0]"])
def test_no_part_of_an_array_is_proposed_for_a_number(line: str) -> None:
    assert hints(ROWS + lines(line)) == [""]


@pytest.mark.parametrize("made", ["local j: int = k[i]", "local j: int = i\n        j += 1", "local j: int = k[i] + b"])
def test_no_let_is_proposed_where_none_is_accepted(made: str) -> None:
    text = LOOPS + lines(made, "local V: real[j] = 0", depth=2)
    assert "let" not in hints(text)[0]
    loop = LOOPS + lines(made, "for q in 0..j:", "    x[0] += 1.0", depth=2)
    assert "let" not in (last(loop).cost().flops.reason or "")


def test_each_register_of_a_name_has_its_own_value() -> None:
    inner = lines("local V: real[j] = 0", depth=2)
    text = (
        LOOPS + "        local j: int = i + 1\n" + inner + "    for i in 0..n:\n        local j: int = n - i\n" + inner
    )
    assert "let" not in text
    load_text(text)


@pytest.mark.parametrize("head", ["if d = 2:", "if (d > 1 and) d:"])
@pytest.mark.parametrize(
    "rest", [("else:", "    x[0] = 2"), ("elif d > 0:", "    x[0] = 2", "else:", "    x[0] = 3"), ()]
)
def test_the_branches_behind_a_faulty_one_are_no_mistakes(head: str, rest: tuple[str, ...]) -> None:
    text = ONE + lines(head, "    x[0] = 1", *rest)
    assert len(parse(Source("f.algo", text)).diagnostics) == 1
    more = ONE + lines(head, "    x[0] = 1 ++ 2", *rest, "x[0] = 3x")
    assert len(parse(Source("f.algo", more)).diagnostics) == 3


def test_an_else_without_an_if_is_one_mistake() -> None:
    text = ONE + lines("x[0] = 1", "else:", "    x[0] = 2", "x[0] = 3x")
    assert [each.span.line - ONE.count("\n") for each in parse(Source("f.algo", text)).diagnostics if each.span] == [
        2,
        4,
    ]


NOTE = "`/` divides exactly; `//` rounds down"


@pytest.mark.parametrize(
    ("size", "noted"),
    [("n/2", True), ("n/2^l", True), ("2/2^l", True), ("n//2", False), ("n//2^l", False), ("ceil(n/2)", False)],
)
def test_a_page_that_assumes_a_quotient_says_how_to_round(tmp_path: Path, size: str, noted: bool) -> None:
    file = tmp_path / "f.algo"
    text = f"algorithm f(x: inout real[n]):\n    for l in 0..2:\n        for i in 0..{size}:\n            x[0] += 1.0\n"
    file.write_text(text)
    page = cli("cost", str(file)).out
    assert (NOTE in page) == noted
    # A division of the `where` is meant.
    file.write_text(
        text.replace(
            "    for l", "    where 2^l divides n\n    for l" if "l" in size else "    where 2 divides n\n    for l", 1
        )
    )
    assert NOTE not in cli("cost", str(file)).out or "l" in size


def test_a_division_rounds_down_as_the_note_says(tmp_path: Path) -> None:
    program = "algorithm f(x: inout real[n]):\n    for i in 0..n{}2:\n        x[i] += 1.0\n"
    assert last(program.format("/")).cost().assumptions == ("2 divides n",)
    assert last(program.format("//")).cost().assumptions == ()


# What people write in other languages, what stands there, and what the first hint says to write in its place.
FOREIGN = [
    (ONE + lines("x[0] = pow(x[0], 2)"), "pow(x[0], 2)", "x[0]^2"),
    (ONE + lines("x[0] = float(d)"), "float(", "real_of("),
    (ONE + lines("for i in 0..x.shape[0]:", "    x[i] = 1.0"), "x.shape[0]", "n"),
    (ONE + lines("requires n >= 2", "x[0] = 1.0"), "requires", "where"),
    ("algorithm f(x: in out real[n]):\n    x[0] = 1.0\n", "in out", "inout"),
    ("algorithm f(x: &real[n]):\n    x[0] = 1.0\n", "&", "inout "),
    ("algorithm f(x: inout real[n]) -> void:\n    x[0] = 1.0\n", " -> void", ""),
]  # fmt: skip
ACCEPTED = [
    (ONE + lines("for (int i = 0; i < n; i++)", "    x[i] = 1.0"), "for (int i = 0; i < n; i++)", "for i in 0..n:"),
    (ONE + lines("for (i = 1; i <= n - 1; ++i)", "    x[i] = 1.0"), "for (i = 1; i <= n - 1; ++i)", "for i in 1..n:"),
    (ONE + lines("local y: real[n] = zeros(n)", "y[0] = x[0]"), "zeros(n)", "0"),
    (ONE + lines("for i in range(n):", "    x[i] = 1.0"), "for i in range(n):", "for i in 0..n:"),
    (ONE + lines("for i in range(1, n):", "    x[i] = 1.0"), "for i in range(1, n):", "for i in 1..n:"),
    (ONE + lines("for i in range(1, n, 2):", "    x[i] = 1.0"), "for i in range(1, n, 2):", "for i in 1..n step 2:"),
    (ONE + lines("for i in range(n - 1, -1, -1):", "    x[i] = 1.0"), "for i in range(n - 1, -1, -1):", "for i in n - 1 downto 0:"),
    (ONE + lines("for i in 0..=n:", "    x[0] = 1.0"), "..=n", "..n + 1"),
    (ONE + lines("s: real = 0.0", "s += x[0]"), "s: real = 0.0", "local s: real = 0.0"),
    (ONE + lines("float s = 0.0", "s += x[0]"), "float s = 0.0", "local s: real = 0.0"),
    (ONE + lines("double s = 0;", "s += x[0]"), "double s = 0;", "local s: real = 0"),
    (ONE + lines("x[0] = math.sqrt(x[1])"), "math.sqrt(", "sqrt("),
    (ONE + lines("x[0] <- 1.0"), "<-", "="),
    (ONE + lines("x[0] = x[0]**2"), "**", "^"),
    (ONE + lines("for i in 0..len(x):", "    x[i] = 1.0"), "len(x)", "n"),
    (ONE + lines("swap(x[0], x[1])"), "swap(x[0], x[1])", "local t: real = x[0]\n    x[0] = x[1]\n    x[1] = t"),
    (ONE + lines("x[0], x[1] = x[1], x[0]"), "x[0], x[1] = x[1], x[0]", "local t: real = x[0]\n    x[0] = x[1]\n    x[1] = t"),
]  # fmt: skip
SAID = {"n": "`n` of `x: real[n]`", "0": "= 0`", "x[0]^2": "`^`", "1.0": "1 and 0", "": "leave out `-> void`"}
"""What hints say that do not have the very text."""


@pytest.mark.parametrize(("text", "written", "proposed"), FOREIGN)
def test_what_other_languages_write_has_a_hint_that_is_accepted(text: str, written: str, proposed: str) -> None:
    hint = hints(text)[0]
    assert SAID.get(proposed, proposed.partition("\n")[0].replace("= x[0]", "= a").strip()) in hint
    assert text.count(written) == 1
    load_text(text.replace(written, proposed))


@pytest.mark.parametrize(("text", "written", "meant"), ACCEPTED)
def test_what_other_languages_write_costs_what_the_canonical_form_costs(text: str, written: str, meant: str) -> None:
    assert text.count(written) == 1
    costs = [last(program).cost() for program in (text, text.replace(written, meant))]
    for n in (2, 5, 9):
        assert costs[0].work.at(n=n) == costs[1].work.at(n=n)
        assert costs[0].flops.at(n=n) == costs[1].flops.at(n=n)


RANGES = [
    ("0..n", lambda n: range(n)),
    ("1..n", lambda n: range(1, n)),
    ("1..n step 2", lambda n: range(1, n, 2)),
    ("n - 1 downto 0", lambda n: range(n - 1, -1, -1)),
]


@pytest.mark.parametrize(("loop", "python"), RANGES)
def test_ranges_run_as_often_as_in_python(loop: str, python: Callable[[int], range]) -> None:
    """The proposed loops have as many iterations as Python's ranges."""
    flops = last(ONE + lines(f"for i in {loop}:", "    x[i] += 1.0")).cost().flops
    assert [flops.at(n=n) for n in (2, 5, 8)] == [len(python(n)) for n in (2, 5, 8)]


def test_a_name_whose_value_has_a_mistake_is_not_unknown() -> None:
    (hint,) = hints(ONE + lines("h = flor(n)", "x[h] = 2.0"))
    assert "did you mean" in hint


@pytest.mark.parametrize(
    ("name", "record"), [("queue", "queue"), ("Q", "queue"), ("frontier", "queue"), ("todo", "stack")]
)
def test_an_empty_list_is_a_record_of_the_library(name: str, record: str) -> None:
    assert f"write `{record}()`" in hints(ONE + lines(f"{name} = []", "x[0] = 1.0"))[0]


def test_growth_behind_a_bound_is_no_claim() -> None:
    assert hints(ONE + lines("ensures work == n on O", "x[0] = 1")) == [""]
