"""Names of machine symbols as names of a program's own: they hide the symbol, or are refused where it is needed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cli_support import cli
from effort import some

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
