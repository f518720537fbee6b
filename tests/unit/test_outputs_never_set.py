"""Outputs of which no run sets an element are a warning of `check` and `cost`, and nothing else is."""

import json
import re
from math import isnan
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from archline.analysis.checks.failures import find_unset_outputs
from archline.execution.data import generate_arguments
from archline.execution.run import execute
from archline.language.loader import list_stdlib_modules, load_target, load_text
from cli_support import cli
from effort import drawn, long

MATMUL = """algorithm product(A: real[n, m], B: real[m, p], C: out real[n, p]):{}
    for i in 1..n:
        for j in 0..p:
            C[i, j] = 0.0
            for k in 0..m:
                C[i, j] += A[i, k]*B[k, j]
"""
MESSAGE = "`C` is never set at [0, 0]; ranges are half-open and begin at 0 (seen at n = 2, m = 2, p = 2)"
HEADER = "x: real[n], key: index[n] below n, y: out real[n]"
UNSET = {
    "the first": (HEADER, "for i in 1..n:\n        y[i] = x[i]", "[0]", "n = 2"),
    "the last": (HEADER, "where n >= 2\n    for i in 0..n - 1:\n        y[i] = x[i]", "[1]", "n = 2"),
    "the last of an odd number": (HEADER, "for i in 0..n//2:\n        y[2*i ..+ 2] = 1.0", "[2]", "n = 3"),
    "the last downwards": (HEADER, "for i in n - 2 downto 0:\n        y[i] = x[i]", "[1]", "n = 2"),
    "the lower triangle": (
        "x: real[n], y: out real[n, n]",
        "for i in 0..n:\n        for j in i..n:\n            y[i, j] = x[i]",
        "[1, 0]",
        "n = 2",
    ),
    "a column, by a view": ("x: real[n], y: out real[n, 2]", "let v = y[:, 0]\n    v = x", "[0, 1]", "n = 2"),
    "a row of rows": ("n: size, y: out real[4*n]", "let A = y as [n, 4]\n    A[0..n, 1..4] = 1.0", "[0]", "n = 2"),
    "the first, in branches of the data": (
        HEADER,
        "for i in 1..n:\n        if x[i] > 0.0:\n            y[i] = x[i]\n        else:\n            y[i] = 0.0",
        "[0]",
        "n = 2",
    ),
    "the second half, by a call": (HEADER, "zeros(y[0..(n + 1)//2])", "[1]", "n = 2"),
    "the first, before a loop on the data": (
        HEADER,
        "y[1..n] = 0.0\n    local k: int = 0\n    while x[0] > 9.0 at most n times:\n        k += 1\n        y[n - 1] = 2.0",
        "[0]",
        "n = 2",
    ),
}
NOWHERE = {
    "nothing is done": (HEADER, "pass", " (seen at n = 2)"),
    "another is set": (HEADER, "local w: real[n]\n    w[:] = x", " (seen at n = 2)"),
    "a recursion without a base": (
        "x: real[n], y: out real[n]",
        "if n > 1:\n        f(x[0..n//2], y[0..n//2])\n        f(x[n//2..n], y[n//2..n])",
        " (seen at n = 2)",
    ),
    "with an index": ("x: real[n], k: index, y: out real[n]", "local s: real = x[k]", ""),
}
SET = {
    "all": (HEADER, "for i in 0..n:\n        y[i] = x[i]"),
    "all at once": (HEADER, "y[:] = x"),
    "from both ends": (HEADER, "for i in 0..(n + 1)//2:\n        y[i] = x[i]\n        y[n - 1 - i] = x[i]"),
    "by halves": (
        "x: real[n], y: out real[n]",
        "if n == 1:\n        y[0] = x[0]\n    else:\n        f(x[0..n//2], y[0..n//2])\n        f(x[n//2..n], y[n//2..n])",
    ),
    "by the data": (HEADER, "for i in 0..n:\n        y[key[i]] = x[i]"),
    "where the data says so": (HEADER, "for i in 0..n:\n        if x[i] > 0.0:\n            y[i] = x[i]"),
    "in a loop on the data": (
        HEADER,
        "local k: int = 0\n    while x[k] > 0.5 at most n times:\n        y[k] = 1.0\n        k += 1",
    ),
    "in a loop from the data to the data": (
        "p: offsets[n] into nz longest nr, y: out real[nz]",
        "for i in 0..n:\n        for k in p[i]..p[i + 1]:\n            y[k] = 1.0",
    ),
    "by a view from the data": (
        HEADER,
        "local k: int = 0\n    let v = y[key[0]..n]\n    v[0] = 1.0\n    y[1..n] = x[1..n]",
    ),
    "by a call with a part from the data": (HEADER, "zeros(y[key[0]..n])"),
    "an index decides": ("x: real[n], k: index, y: out real[n]", "where k >= 0, k < n\n    y[k] = x[k]"),
    "`inout`": ("x: real[n], y: inout real[n]", "y[0] = x[0]"),
    "sizes that have no run": (HEADER, "y[0..n] = 0.0\n    y[0..n/2*2] = 1.0"),
    "empty": ("n: size, y: out real[n]", "where n >= 0\n    for i in 0..n:\n        y[i] = 0.0"),
}
ZEROS = "\nalgorithm zeros(v: out real[k]):\n    where k >= 0\n    v[:] = 0.0\n"


def warned(header: str, body: str) -> list[str]:
    module = load_text(f"algorithm f({header}):\n    {body}\n{ZEROS}")
    return [each.message for each in find_unset_outputs(module, module.algorithms["f"]).values()]


@pytest.mark.parametrize(("header", "body", "element", "sizes"), UNSET.values(), ids=UNSET)
def test_an_element_that_no_run_sets_is_named(header: str, body: str, element: str, sizes: str) -> None:
    # Where a loop leaves out a first or last subscript, the range may be why; and never where it leaves out others.
    rest = "; ranges are half-open and begin at 0" if header == HEADER and "for " in body else ""
    assert warned(header, body) == [f"`y` is never set at {element}{rest} (seen at {sizes})"]


@pytest.mark.parametrize(("header", "body", "at"), NOWHERE.values(), ids=NOWHERE)
def test_an_output_that_is_never_set(header: str, body: str, at: str) -> None:
    assert warned(header, body) == [f"`y` is never set at [0], nor anywhere else{at}"]


COPIED_BACK = """algorithm stencil(u: inout real[n, n], v: out real[n, n], T: size):
    for t in 0..T:
        for i in {first}..n:
            for j in {first}..n:
                v[i, j] = 0.5*u[i, j]
        {copy}
"""
COPIES = {
    "by elements": "for i in 0..n:\n            for j in 0..n:\n                u[i, j] = v[i, j]",
    "all at once": "u[:, :] = v",
    "by a call": "copy_back(u, v)",
}
CALLEE = "\nalgorithm copy_back(u: inout real[n, n], v: real[n, n]):\n    u[:, :] = v\n"


@pytest.mark.parametrize("copy", COPIES.values(), ids=COPIES)
def test_an_element_that_runs_read_before_it_is_set_is_named(copy: str) -> None:
    for first in (1, 0):
        module = load_text(COPIED_BACK.format(first=first, copy=copy) + CALLEE)
        messages = [each.message for each in find_unset_outputs(module, module.algorithms["stencil"]).values()]
        expected = r"`v` is not set at \[0, 0\] where line \d+ reads it, which stops the run \(seen at n = 2, T = \d\)"
        assert len(messages) == first
        assert all(re.fullmatch(expected, each) for each in messages), messages


def test_a_read_that_only_runs_of_some_sizes_stop_at_is_an_assumption() -> None:
    body = "for i in 0..min(n, 3):\n        y[i] = x[i]\n    local s: real = y[n - 1]\n    y[:] = s"
    assert warned(HEADER, body) == []


@pytest.mark.parametrize(("header", "body"), SET.values(), ids=SET)
def test_what_may_be_set_is_no_warning(header: str, body: str) -> None:
    assert warned(header, body) == []


def test_on_a_grid_an_output_that_is_not_named() -> None:
    text = "algorithm f(X: real[n], Y: out real[n]) on grid(r: P):\n    where n == P\n    local x: real[1]\n"
    for more, expected in (("", ["`Y` is never set at [0], nor anywhere else"]), ("    output Y[r ..+ 1] = x\n", [])):
        module = load_text(f"{text}    input x = X[r ..+ 1]\n{more}")
        assert [each.message for each in find_unset_outputs(module, module.algorithms["f"]).values()] == expected


@pytest.mark.long
def test_the_library_has_one_that_is_meant() -> None:
    modules = [load_target(name)[0] for name in list_stdlib_modules()]
    every = [(each, algorithm) for each in modules for algorithm in each.algorithms.values()]
    assert [algorithm.name for each, algorithm in every if find_unset_outputs(each, algorithm)] == ["prefix_sum_up"]


def test_check_warns_in_every_format(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "product.algo"
    file.write_text(MATMUL.format(""), encoding="utf-8")
    run = cli("check", "product.algo")
    assert run.code == 0
    assert "product.algo:1: warning: product: `C` is never set at [0, 0]; ranges are" in run.out
    assert run.out.endswith("1 output is not set\n")
    assert cli("check", "product.algo", "--strict").code == 1
    found = json.loads(cli("check", "product.algo", "--format", "json").out)["findings"]
    assert [(each["code"], each["level"], each["line"], each["algorithm"]) for each in found] == [
        ("AL606", "warning", 1, "product")
    ]
    assert MESSAGE in found[0]["message"]
    sarif = json.loads(cli("check", "product.algo", "--format", "sarif").out)
    assert [each["ruleId"] for each in sarif["runs"][0]["results"]] == ["AL606"]
    assert cli("check", "product.algo", "--format", "github").out.startswith("::warning file=prod")
    assert MESSAGE in cli("check", "product.algo", "--format", "junit", "--strict").out


def test_check_ignores_what_a_comment_or_an_option_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "product.algo"
    file.write_text(MATMUL.format(""), encoding="utf-8")
    run = cli("check", "product.algo", "--strict", "--ignore", "AL606")
    assert (run.code, "AL606" in run.out) == (0, False)
    file.write_text(MATMUL.format("  # archline: ignore AL606"), encoding="utf-8")
    run = cli("check", "product.algo", "--strict")
    assert (run.code, "AL606" in run.out) == (0, False)
    assert "AL606" not in cli("cost", "product.algo::product").out
    file.write_text(MATMUL.format("  # archline: ignore AL606").replace("1..n", "0..n"), encoding="utf-8")
    assert "no AL606 is found here" in cli("check", "product.algo").out.replace("\n    ", " ")


def test_a_baseline_takes_the_warning_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "product.algo"
    file.write_text(MATMUL.format(""), encoding="utf-8")
    assert cli("check", "product.algo", "--write-baseline", "costs.txt").code == 0
    assert "accept AL606 product.algo::product  C: out\n" in (tmp_path / "costs.txt").read_text(encoding="utf-8")
    run = cli("check", "product.algo", "--baseline", "costs.txt", "--strict")
    assert (run.code, "AL606" in run.out) == (0, False)


@long
def test_the_page_of_costs_warns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "product.algo").write_text(MATMUL.format(""), encoding="utf-8")
    for options in ([], ["--all"], ["--at", "n=3,m=3,p=3"], ["--metric", "flops"]):
        run = cli("cost", "product.algo::product", *options)
        assert run.code == 0
        assert MESSAGE in " ".join(run.out.split()), options
    found = json.loads(cli("cost", "product.algo::product", "--format", "json").out)
    assert [(each["code"], each["path"], each["line"]) for each in found["warnings"]] == [("AL606", "product.algo", 1)]
    whole = cli("cost", "dense.gemv::gemv", "--metric", "flops", "--format", "json")
    assert "warnings" not in json.loads(whole.out)


@st.composite
def programs(draw: st.DrawFn) -> str:
    """A program that sets parts of its output, under conditions of the sizes and of the data."""
    lines = []
    for _ in range(draw(st.integers(1, 3))):
        first, step = draw(st.integers(0, 2)), draw(st.integers(1, 2))
        end = draw(st.sampled_from(("n", "n", "n - 1", "n//2", "2")))
        guard = draw(st.sampled_from(("", "", "if x[0] > 1.0:", "if x[0] <= 1.0:", "if n > 2:", "if n % 2 == 1:")))
        indent = "    " if guard else ""
        place = draw(st.sampled_from(("i", "i", "n - 1 - i", "key[i]", "i//2")))
        lines += [guard] if guard else []
        lines += [f"{indent}for i in {first}..min({end}, n) step {step}:", f"{indent}    y[{place}] = x[i]"]
    body = "\n    ".join(lines)
    return f"algorithm f({HEADER}):\n    where n >= 2\n    {body}\n"


@settings(max_examples=drawn(60), deadline=None, suppress_health_check=list(HealthCheck))
@given(programs())
def test_no_run_sets_what_is_warned_of(text: str) -> None:
    module = load_text(text)
    algorithm = module.algorithms["f"]
    for warning in find_unset_outputs(module, algorithm).values():
        size = int(warning.message.rpartition(" = ")[2].rstrip(")"))
        place = int(warning.message.partition("[")[2].partition("]")[0])
        for seed in range(3):
            data = generate_arguments(module, algorithm, {"n": size}, seed=seed)
            y = execute(module, algorithm, data, compiled=False).outputs["y"]
            assert isnan(y[place]), (text, warning.message)
