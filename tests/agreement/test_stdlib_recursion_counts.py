"""What the recursive part of the standard library costs: what it ensures exactly, and the counts of textbooks.

The closed forms below solve the recurrences of the programs by hand, with the cost of each line by docs/reference/cost-rules.md.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from stdlib_cases import Ran, execute_case, load
from stdlib_recursive_cases import RECURSIVE

INNER = {"stencil.trapezoid::trapezoid"}
"""Parts of an algorithm whose costs are ensured of the whole."""


def ran(target: str, **sizes: int) -> Ran:
    return ran_on(target, **RECURSIVE[target].at(0, **sizes))


def ran_on(target: str, **arguments: Any) -> Ran:
    # What takes longer than tests should is still shorter than its compilation.
    return execute_case(target, arguments, RECURSIVE[target].results(arguments), compiled=False)


@pytest.mark.parametrize("target", RECURSIVE)
def test_work_and_span_are_ensured(target: str) -> None:
    algorithm = load(target)[1]
    assert algorithm.doc
    assert {"work", "span"} <= {each.metric for each in algorithm.ensures} or target in INNER


@pytest.mark.parametrize("k", [0, 1, 2])
def test_strassen_multiplies_seven_times(k: int) -> None:
    """T(n) = 7*T(n/2) + 18*(n/2)^2 from leaves of 16: Cormen and others (3rd ed.), section 4.2."""
    run = ran("dense.strassen::strassen", n=16 * 2**k)
    assert run.counts.flops_by_kind["mul"] == 7**k * 16**3
    assert run.counts.flops == 7**k * 2 * 16**3 + 6 * 16**2 * (7**k - 4**k)


@pytest.mark.parametrize("k", [0, 1, 2, 3, 4])
def test_karatsuba_multiplies_three_times(k: int) -> None:
    run = ran("arithmetic.karatsuba::karatsuba", n=16 * 2**k)
    assert run.counts.flops_by_kind["mul"] == 3**k * 16**2
    # T(n) = 3*T(n/2) + 4*n - 3: n sums of halves, and three times 2*(n/2) - 1 to put the products together.
    assert run.counts.flops == 512 * 3**k + 128 * (3**k - 2**k) - 3 * (3**k - 1) // 2


@pytest.mark.parametrize("k", range(8))
def test_fft_is_n_log_n(k: int) -> None:
    """n/2 butterflies a level: a complex product, sum and difference, of 10 real operations, and a twiddle factor."""
    n = 2**k
    kinds = ran("fft.fft::fft", n=n).counts.flops_by_kind
    assert kinds.get("add", 0) + kinds.get("sub", 0) == 3 * n * k
    assert kinds.get("cos", 0) == kinds.get("sin", 0) == n // 2 * k
    assert kinds.get("mul", 0) == (4 + 2) * (n // 2 * k)


def interleaved(n: int) -> list[float]:
    """Keys in which every merge takes from both halves by turns."""
    if n == 1:
        return [0.0]
    half = interleaved(n // 2)
    return [2 * key for key in half] + [2 * key + 1 for key in half]


@pytest.mark.parametrize("k", range(7))
def test_mergesort_compares_between_the_bounds(k: int) -> None:
    n = 2**k
    least, most = n * k // 2, n * k - n + 1
    assert ran_on("sort.mergesort::mergesort", a=np.arange(n)).counts.flops == least
    assert ran_on("sort.mergesort::mergesort", a=np.array(interleaved(n))).counts.flops == most
    assert least <= ran("sort.mergesort::mergesort", n=n).counts.flops <= most


def worst_split(n: int, upper: bool) -> Any:
    """Zeros and ones such that as many as can be lie on one side of the pivot, which is among those that do not."""
    groups = n // 5
    apart = groups // 2 if not upper else groups - groups // 2 - 1
    keys = np.full(n, 0.0 if not upper else 1.0)
    for group in range(apart, groups):
        keys[5 * group : 5 * group + 3] = 1.0 if not upper else 0.0
    return keys


@pytest.mark.parametrize("n", [*range(33, 70), 99, 124, 325, 1000])
def test_select_splits_well_at_worst(n: int) -> None:
    """The run checks the facts on the split; the pieces are the largest that the pivot leaves."""
    rng = np.random.default_rng(n)
    for keys in (worst_split(n, False), worst_split(n, True), np.zeros(n), rng.permutation(n).astype(float)):
        for k in (0, n // 2, n - 1):
            run = ran_on("sort.select::select", a=keys, k=k)
            # T(n) = T(n/5) + T(3*n/4) + 4*n at most: 10 comparisons to put five in order, 2 a key to part them.
            assert run.counts.flops <= 80 * n


@pytest.mark.parametrize(("n", "steps"), [(3, 1), (3, 17), (40, 1), (40, 7), (12, 30), (100, 33)])
def test_trapezoids_do_what_steps_do(n: int, steps: int) -> None:
    cut, stepped = (ran(f"stencil.trapezoid::{name}", n=n, steps=steps) for name in ("heat_1d", "heat_1d_steps"))
    np.testing.assert_array_equal(cut.results["u"], stepped.results["u"])
    assert cut.counts.flops == stepped.counts.flops


@pytest.mark.parametrize("n", range(40))
def test_binary_search_asks_as_often_as_it_must(n: int) -> None:
    keys = np.arange(n, dtype=float)
    asked = [ran_on("sort.search::binary_search", a=keys, key=key - 0.5).counts.flops for key in range(n + 1)]
    # n + 1 answers; the least even tree of them has its leaves on two neighbouring levels.
    assert max(asked) == n.bit_length()
    assert min(asked) == (n + 1).bit_length() - 1
