"""What runs need and is not proved stands on every page, in every document, and with every claim."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import archline as al
from archline.api.modules import loads
from archline.language.diagnostics import ArchlineError
from cli_support import cli
from effort import drawn, long

PAIRS = """algorithm pairs(x: real[n], y: inout real[m]):
    ensures flops <= 4*m
    for i in 0..n/2:
        y[i] += x[2*i] + x[2*i + 1]
"""
OTHER = """
algorithm other(x: inout real[n]):
    for i in 0..n:
        x[i] += 1.0
"""
STATED = ["2 divides n", "n <= 2*m"]
MACHINE = "xeon-e5-2650l-v3"
TEXTS = {
    "a subscript of the data": ("local k: int = 0\n    x[k] = 1.0", "subscripts from data lie inside their arrays (line 3)"),
    "a branch of the data": ("if x[0] > 9.0:\n        x[n] = 1.0", "`x[n]` lies inside `x` (line 3)"),
    "a bound of a while": ("while x[0] > 9.0 at most n + 1 times:\n        x[0] -= 1.0", "line 2: at most n + 1 times"),
    "a root": ("let r = sqrt(n)\n    x[r - 1] = 1.0", "n is square"),
    "steps": ("for j in 0..n step m:\n        x[j + m - 1] = 1.0", "m divides n"),
    "a guard of sizes": ("if m > 2:\n        x[m] = 1.0", "m < n where m >= 3"),
    "an index": ("x[i] = 1.0", "i >= 0"),
    "set at some sizes": (
        "local w: real[n]\n    for j in 0..min(n, m):\n        w[j] = 1.0\n    for j in 0..n:\n        x[j] = w[j]",
        "`w[j]` is set before it is read (line 6)",
    ),
}  # fmt: skip
PROVED = {
    "guards": "for j in 0..m:\n        if j > 0 and j < n:\n            x[j - 1] = x[j]",
    "steps": "for j in 0..n step m:\n        for k in j..min(n, j + m):\n            x[k] = 1.0",
    "blocks": "for j in 0..n//m:\n        let v = x[j*m ..+ m]\n        v[m - 1] = 1.0",
    "parts": "for j in 0..m:\n        let v = x[j*n//m..(j + 1)*n//m]\n        pass",
    "remainders": "for j in 0..m:\n        x[(j + m)%n] = 1.0",
    "a local": "local w: real[n]\n    for j in 0..n:\n        w[j] = x[j]\n    for j in 0..n:\n        x[j] = w[j]",
}


@pytest.fixture
def path(tmp_path: Path) -> str:
    file = tmp_path / "pairs.algo"
    file.write_text(PAIRS + OTHER)
    return str(file)


def body(text: str) -> str:
    return f"algorithm f(x: inout real[n], m: size, i: index):\n    {text}\n"


@pytest.mark.parametrize(("text", "stated"), TEXTS.values(), ids=TEXTS)
def test_what_is_assumed(text: str, stated: str) -> None:
    assert stated in loads(body(text))["f"].cost().assumptions


@pytest.mark.parametrize("text", PROVED.values(), ids=PROVED)
def test_what_is_proved_is_not_said(text: str) -> None:
    assert loads(body(text))["f"].cost().assumptions == ()


def test_pages_and_documents_say_it(path: str) -> None:
    text = ", ".join(STATED)
    for arguments in (
        ("cost", f"{path}::pairs", "--at", "n=8,m=4"),
        ("cost", f"{path}::pairs", "--explain"),
        ("check", path),
        ("energy", f"{path}::pairs", "--machine", MACHINE),
        ("compare", f"{path}::pairs", f"{path}::other"),
    ):
        done = cli(*arguments)
        assert done.code == 0, done
        assert f"assuming {text}" in done.out, done.out
    assert json.loads(cli("cost", f"{path}::pairs", "--format", "json").out)["assumptions"] == STATED
    (found, _) = json.loads(cli("check", path, "--format", "json").out)["targets"][0]["algorithms"]
    assert found["assumptions"] == STATED
    assert found["ensures"][0]["outcome"] == "holds"


@long
def test_an_assumption_with_several_conditions_is_one_sentence() -> None:
    page = cli("cost", "distributed.matmul::carma", "--metric", "flops").out
    assert "2 divides p where P >= 2 and n < max(m, p) and m <= p at each call, 2 divides m" in " ".join(page.split())


@pytest.mark.parametrize(("sizes", "code"), [("n=8,m=3", "AL501"), ("n=7,m=4", "AL507")])
def test_sizes_without_runs_are_refused(path: str, sizes: str, code: str) -> None:
    for arguments in (
        ("cost", f"{path}::pairs", "--at", sizes),
        ("energy", f"{path}::pairs", "--machine", MACHINE, "--at", sizes),
        ("compare", f"{path}::pairs", f"{path}::other", "--machine", MACHINE, "--at", sizes),
        ("run", f"{path}::pairs", "--at", sizes),
    ):
        done = cli(*arguments)
        assert done.code == 2, done
        assert f"{code}: " in done.err


def test_python_refuses_them() -> None:
    report = loads(PAIRS)["pairs"].cost()
    assert list(report.assumptions) == STATED
    assert report.flops.at(n=8, m=4) == 8
    with pytest.raises(ArchlineError):
        report.flops.at(n=8, m=3)
    assert list(report.flops.upper_at(n=np.array([2, 4]), m=2)) == [2, 4]
    with pytest.raises(al.ArchlineError) as caught:
        report.flops.upper_at(n=np.array([2, 3]), m=np.array([2, 2]))
    assert caught.value.diagnostics[0].rule.code == "AL507"


@given(st.integers(1, 4), st.integers(1, 4), st.integers(1, 3), st.integers(1, 40))
@settings(max_examples=drawn(8), deadline=None)
def test_what_others_imply_is_not_assumed(first: int, times: int, others: int, n: int) -> None:
    """Of divisors the multiple of all is left, of two opposite bounds the equality; what is left decides runs."""
    divisors = [first, first * times, first * times * others]
    loops = "".join(f"    for i in 0..n/{each}:\n        x[i] = y[i]\n" for each in divisors)
    program = (
        f"algorithm f(x: inout real[n], y: real[m]):\n{loops}    for i in 0..floor(sqrt(m)):\n        x[i] = y[i]\n"
    )
    equal = "    for i in 0..m:\n        x[i] = y[i]\n    for i in 0..n:\n        x[i] = y[i]\n"
    algorithm = loads(program + equal)["f"]
    expected = [f"{divisors[-1]} divides n"] if divisors[-1] > 1 else []
    found = [each.replace("n == m", "m == n") for each in algorithm.cost().assumptions]
    assert sorted(found) == sorted([*expected, "m == n"])
    try:
        algorithm.run(x=[0.0] * n, y=[0.0] * n)
    except ArchlineError:
        assert n % divisors[-1]
    else:
        assert n % divisors[-1] == 0
