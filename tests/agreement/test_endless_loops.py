"""A loop about which a warning says that it never ends, against runs that are stopped after some iterations."""

from __future__ import annotations

from contextlib import suppress
from itertools import product
from random import Random

import numpy as np
import pytest

from archline.analysis.checks.endless_loops import iterate_endless_loops
from archline.execution.run import execute
from archline.language.diagnostics import ArchlineError
from archline.language.loader import load_text
from effort import drawn

STARTS = ["0", "1", "n", "n - 1", "-1", "2*n"]
TESTS = [
    "i < n",
    "i <= n",
    "i > 0",
    "i >= 0",
    "i != n",
    "i != 0",
    "j < i",
    "i + j < n",
    "i - j > 0",
    "2*i < n",
    "k < n",
]
JOINED = ["{}", "{}", "{}", "{} and {}", "{} or {}", "not ({})", "{} and a[0] > 0"]
MOVES = [
    "i += 1",
    "i -= 1",
    "i = i + 2",
    "i = 1 + i",
    "i += -1",
    "j += 1",
    "j -= 1",
    "i = j",
    "i = i//2",
    "i += n",
    "a[0] -= 1",
    "j = i - 1",
    "k += j",
]
LEAVES = ["if a[0] == 1: break", "if i == 3: return", "if j < 0: continue"]


def write_loop(draw: Random) -> str:
    """Write a loop that counts its iterations, with moves that may be under a condition or in an inner loop."""
    tests = draw.sample(TESTS, 2)
    lines = ["algorithm f(a: inout int[n], t: inout real[1]):"]
    lines += [f"    int {name} = {draw.choice(STARTS)}" for name in "ijk"]
    lines += [f"    while {draw.choice(JOINED).format(*tests)} at most 40 times:", "        t[0] += 1.0"]
    for move in draw.sample(MOVES, draw.choice([0, 1, 1, 2])) + draw.sample(LEAVES, draw.choice([0, 0, 0, 1])):
        before = draw.choice(["", "", "", "if a[0] > 1", "if j < n", "for x in 0..2"])
        lines += [f"        {before}:", f"            {move}"] if before else [f"        {move}"]
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("seed", range(drawn(300, 60)))
def test_no_run_leaves_a_loop_that_never_ends(seed: int) -> None:
    text = write_loop(Random(seed))
    module = load_text(text)
    if not list(iterate_endless_loops(module, module.algorithms["f"])):
        return
    for size, first in product(range(1, 6), range(4)):
        data = {"a": np.full(size, first), "t": np.zeros(1)}
        with suppress(ArchlineError):
            # A run that is not stopped has not entered the loop.
            run = execute(module, module.algorithms["f"], data, compiled=False, races=False)
            assert run.counts.flops == 0, text


ENDLESS = {
    "while i < n:\n        t += a[i]": "where `0 < n`",
    "while i < n:\n        i -= 1": "where `0 < n`",
    "while i < n:\n        i += -1": "where `0 < n`",
    "while i != n:\n        if t > 1.0:\n            i -= 1": "where `0 != n`",
    "while i < n and t < 1.0:\n        i -= 1": "",
    "while i <= n or j > 0:\n        j += 1": "",
    "while true:\n        t += 1.0": "its condition is true",
}


@pytest.mark.parametrize("loop", ENDLESS)
def test_the_warning_says_where_the_loop_is_entered(loop: str) -> None:
    text = f"def f(a: real[n]) -> real:\n    i = 0\n    j = 1\n    real t = 0.0\n    {loop}\n    return t\n"
    module = load_text(text.replace("[i]", "[0]"))
    ((place, warning),) = iterate_endless_loops(module, module.algorithms["f"])
    assert place == "while in line 5"
    assert ENDLESS[loop] in warning.message


@pytest.mark.parametrize(
    "loop",
    [
        "while i < n:\n        i += 1",
        "while i != n:\n        i += 2",
        "while i < n:\n        i -= 1\n        if a[0] > 1.0: break",
    ],
)
def test_other_loops_have_no_warning(loop: str) -> None:
    module = load_text(f"def f(a: real[n]) -> int:\n    i = 0\n    {loop}\n    return i\n")
    assert not list(iterate_endless_loops(module, module.algorithms["f"]))
