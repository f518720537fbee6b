"""The printer: canonical text, every comment kept, meaning unchanged, and a second pass changes nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings

from archline.expr.text import format_expression, format_fact
from archline.expr.tree import Source, make_structural_key
from archline.language.parser import parse_expression, parse_facts, parse_program
from archline.language.printer import format_program
from effort import drawn
from programs import programs

DATA = Path(__file__).parents[1] / "data"
PROGRAM_FILES = sorted(DATA.glob("**/*.algo"))


def formatted(text: str) -> str:
    return format_program(parse_program(Source("test.algo", text)))


def assert_round_trip(text: str) -> None:
    before = parse_program(Source("test.algo", text))
    printed = format_program(before)
    after = parse_program(Source("test.algo", printed))
    assert make_structural_key(after.items) == make_structural_key(before.items)
    assert [comment.text for comment in after.comments] == [comment.text for comment in before.comments]
    assert format_program(after) == printed


@pytest.mark.parametrize("path", PROGRAM_FILES, ids=lambda path: path.stem)
def test_every_sketch_round_trips(path: Path) -> None:
    assert_round_trip(path.read_text(encoding="utf-8"))


@settings(max_examples=drawn(150), deadline=None)
@given(program=programs())
def test_generated_programs_round_trip(program) -> None:
    assert_round_trip(program.text)


def test_comments_in_nasty_places() -> None:
    text = (DATA / "comments.algo").read_text(encoding="utf-8")
    assert formatted(text) == (DATA / "comments.formatted.algo").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("written", "canonical"),
    [
        ("a+b*c", "a + b*c"),
        ("(a+b)*c", "(a + b)*c"),
        ("(a*b)+c", "a*b + c"),
        ("a-(b-c)", "a - (b - c)"),
        ("(a-b)-c", "a - b - c"),
        ("a/(b*c)", "a/(b*c)"),
        ("(a/b)*c", "a/b*c"),
        ("a // b % c", "a//b%c"),
        ("a^(b^c)", "a^b^c"),
        ("(a^b)^c", "(a^b)^c"),
        ("-(a^2)", "-a^2"),
        ("(-a)^2", "(-a)^2"),
        ("2^(-a)", "2^-a"),
        ("-(-a)", "--a"),
        ("-(a*b)", "-(a*b)"),
        ("(-a)*b", "-a*b"),
        ("a*(-b)", "a*-b"),
        ("-(a+b)", "-(a + b)"),
        ("(a<b)==(c<d)", "(a < b) == (c < d)"),
        ("not (a<b)", "not a < b"),
        ("not (a and b)", "not (a and b)"),
        ("(not a) and b", "not a and b"),
        ("(a and b) or c", "a and b or c"),
        ("a and (b or c)", "a and (b or c)"),
        ("a or (b or c)", "a or (b or c)"),
        ("x[ i*b ..+ b-1 ]", "x[i*b ..+ b - 1]"),
        ("x[h + 1 .. n step 2 * k]", "x[h+1..n step 2*k]"),
        ("x[(h + 1)//2 .. r[i + 1]]", "x[(h + 1)//2..r[i+1]]"),
        ("A[ : ,: step 2, i+1]", "A[:, : step 2, i + 1]"),
        ("f( )", "f()"),
        ("min( a,b )", "min(a, b)"),
        ("1.50e3 + 007", "1.50e3 + 7"),
    ],
)
def test_expressions(written: str, canonical: str) -> None:
    expr = parse_expression(written)
    assert format_expression(expr) == canonical
    assert make_structural_key(parse_expression(canonical)) == make_structural_key(expr)


@pytest.mark.parametrize(
    "fact",
    ["n is power of 2", "n*m is square", "c^2 divides P", "n >= 2*m", "(a < b) divides n", "P is power of b + 1"],
)
def test_facts(fact: str) -> None:
    assert [format_fact(each) for each in parse_facts(fact)] == [fact]


@pytest.mark.parametrize(
    "line",
    [
        "let A11 = A[0..h, 0..h]",
        "local t: real",
        "local W: int[n, m + 1] zmorton = 0 when i == 0",
        "atomic y[row[k]] += val[k]*x[j]",
        "y[i] min= 3",
        "spawn f(x as [p, q], A[i, :])",
        "return lo",
        "assume c divides n, 4*q <= 3*m",
        "costs 3*n flops, n/L io, 2*n words, 1 messages",
        "input a[u, :] = A[(u*g + i)*b ..+ b] when k == 0",
        "output F[t*s ..+ s] = force",
        "shift x along j by -(i + k*(g/c))",
        "alltoall t along r counts cnt into got using bruck",
        "alltoall t along r counts cnt into y, got",
        "reduce force along k onto 0 with + using reduce_scatter_gather",
        "reduce force along k onto 0 with min",
        "send x to (i + 1, j)",
        "send x to (i)",
        "receive y from (i, j)",
        "receive y from (i) when i > 0",
        "exchange x to (i + 1) when i < g - 1 into y from (i - 1)",
        "exchange to (i) from (i)",
        "scan x along i, j with op",
        "halve(t, 0, op) along i, j",
        "x[e] op= y[e]",
        "barrier along i",
        "barrier",
        "for s in 1..n step *2:\n        pass",
        "for s in n-1 downto 1 step /10:\n        pass",
        "parallel for s in m..n step *3 with + on t:\n        pass",
        "for s in 1..k[0] step *2 iterations T:\n        pass",
        "while a < b at most 2*n + m times in total:\n        pass",
        "while a < b at most n times in total iterations T:\n        pass",
    ],
)
def test_statements_in_canonical_form_stay(line: str) -> None:
    text = f"algorithm f():\n    {line}\n"
    assert formatted(text) == text
    assert_round_trip(text)


def test_block_headers_and_indentation() -> None:
    text = """\
algorithm f( n : size )->int:
  parallel  for i in n - 1 downto 0 step 1+1:
      while x<3 at   most n+1 times :
       x+=1
  split r by 7 as g:
   return x
"""
    canonical = """\
algorithm f(n: size) -> int:
    parallel for i in n-1 downto 0 step 1+1:
        while x < 3 at most n + 1 times:
            x += 1
    split r by 7 as g:
        return x
"""
    assert formatted(text) == canonical


def test_items_are_set_apart_and_one_blank_line_is_kept() -> None:
    text = """

use a.b
use c
algorithm f():

    pass


    pass
algorithm g():
    if a:
        pass

    else:
        pass
claim a <= b



claim c is O(n)


"""
    canonical = """\
use a.b
use c

algorithm f():
    pass

    pass

algorithm g():
    if a:
        pass
    else:
        pass

claim a <= b

claim c is O(n)
"""
    assert formatted(text) == canonical


def test_long_header_fills_lines_below_its_bracket() -> None:
    parameters = [f"argument_{k}: real[n, m]" for k in range(5)]
    lines = formatted(f"algorithm f({', '.join(parameters)}):\n    pass\n").splitlines()
    assert lines == [
        f"algorithm f({parameters[0]}, {parameters[1]}, {parameters[2]},",
        f"            {parameters[3]}, {parameters[4]}):",
        "    pass",
    ]
    assert all(len(line) <= 100 for line in lines)


def test_contract_lines_keep_their_order() -> None:
    text = """\
algorithm f(n: size):
    decreases n
    where n >= 1
    ensures flops == n
    where n is square, n >= 2
    where n <= 9
    pass
"""
    assert formatted(text) == text


def test_a_file_of_comments_alone() -> None:
    assert formatted("\n\n# one\n\n\n# two  \n\n") == "# one\n\n# two\n"
    assert formatted("") == ""


def test_deep_blocks_do_not_exhaust_the_stack() -> None:
    depth = 300
    lines = ["algorithm f(n: size):"]
    lines += [f"{'    ' * (level + 1)}for i{level} in 0..n:" for level in range(depth)]
    lines.append(f"{'    ' * (depth + 1)}pass")
    text = "\n".join(lines) + "\n"
    assert formatted(text) == text
