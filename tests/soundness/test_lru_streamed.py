"""LRU simulated while generated programs run counts the misses and write-backs of LRU on their traces."""

from __future__ import annotations

import random
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from archline.execution.cache import streamed
from archline.execution.cache.streamed import SPARE
from archline.execution.codegen.writer import AT_ONCE
from archline.execution.results import Cache
from archline.execution.run import execute
from archline.language.loader import load_text
from effort import drawn
from programs import program_from_seed
from programs.choice import Seeded

STREAMED = """
algorithm part(x: inout real[n], depth: size):
    decreases depth
    where depth >= 0, n >= 1
    local w: real[n] = x
    if depth > 0:
        spawn part(x[0..(n + 1)//2], depth - 1)
        sync
    x[0] += w[n - 1]

algorithm f(x: inout real[n], y: out real[m, n], k: int[m]):
    y[0..m, 0..n] = 0
    parallel for i in 0..m:
        for j in 0..n:
            y[i, j] += x[j]*x[n - 1 - j]
            if x[j] > 0.5:
                y[i, 0] = y[i, j] + x[k[i]]
    local i: int = 0
    while i < n at most n times:
        part(x, 2)
        i += 1
"""


@pytest.mark.parametrize("number", range(drawn(8, 2)))
def test_generated_programs(number: int) -> None:
    program, source = program_from_seed(1000 + number), random.Random(number)
    module = load_text(program.text)
    algorithm = module.algorithms[program.entry]
    line = source.choice([1, 2, 3, 4, 7, 8])
    for each in range(4):
        arguments = program.arguments(program.choose_sizes(Seeded(10 * number + each)), each)
        for capacity in (1, 2, 5, 30):
            cache = Cache(capacity * line, line, "lru")
            beside = execute(module, algorithm, arguments, cache=cache, compiled=True, progress=False)
            traced = execute(module, algorithm, arguments, cache=cache, trace=True, compiled=False, progress=False)
            assert beside.trace is None
            assert beside.counts == traced.counts, program.text


def test_rings_of_all_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    module = load_text(STREAMED)
    counted = partial(execute, module, module.algorithms["f"], progress=False)
    lines = st.integers(1, 60), st.integers(1, 9)

    @given(st.integers(1, 9), st.integers(1, 9), *lines, st.sampled_from([AT_ONCE, SPARE]), st.integers(0, 2**32 - 1))
    def check(n: int, m: int, capacity: int, line: int, spare: int, seed: int) -> None:
        monkeypatch.setattr(streamed, "SPARE", spare)
        source = np.random.default_rng(seed)
        arguments = {"x": source.random(n), "y": np.zeros((m, n)), "k": source.integers(0, n, m)}
        cache = Cache(capacity * line, line, "lru")
        beside = counted(arguments, cache=cache, compiled=True)
        assert beside.compiled
        assert beside.trace is None
        traced = counted(arguments, cache=cache, trace=True, compiled=False)
        assert beside.counts == traced.counts
        assert np.array_equal(beside.outputs["y"], traced.outputs["y"])

    check()
