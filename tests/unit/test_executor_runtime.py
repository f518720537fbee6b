"""What generated code calls, on its own: arithmetic against Python and numpy, facts, placement, memory."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from archline.execution import arithmetic, runtime
from archline.execution.arithmetic import add_int, mul_int, pow_int, sub_int
from archline.execution.slots import INT_LIMIT

ROOT = 3037000499  # the integer part of sqrt(2^63)
edges = [0, 1, 2, 3, ROOT - 1, ROOT, ROOT + 1, 2**62, 2**63 - 2, 2**63 - 1]
ints = st.one_of(st.sampled_from([*edges, *(-edge for edge in edges)]), st.integers(-INT_LIMIT, INT_LIMIT))


def fitting(value: int) -> int:
    return value if -(2**63) < value < 2**63 else -(2**63)


@given(ints, ints)
def test_checked_arithmetic_is_that_of_integers(a: int, b: int) -> None:
    assert add_int(a, b) == fitting(a + b)
    assert sub_int(a, b) == fitting(a - b)
    assert mul_int(a, b) == fitting(a * b)


def test_checked_arithmetic_at_the_edges() -> None:
    for a, b in itertools.product([*edges, *(-edge for edge in edges)], repeat=2):
        found = add_int(a, b), sub_int(a, b), mul_int(a, b)
        assert found == (fitting(a + b), fitting(a - b), fitting(a * b)), (a, b)


@pytest.mark.parametrize("base", [*range(-4, 5), 10, ROOT, -ROOT, 2**62])
def test_powers_are_those_of_integers(base: int) -> None:
    for exponent in range(66):
        assert pow_int(base, exponent) == fitting(base**exponent), exponent
    for huge in (10**12, 10**12 + 1):
        if abs(base) < 2:
            assert pow_int(base, huge) == base ** (huge % 2 + 2)


SPECIAL = [0.0, -0.0, 1.0, -1.0, 1.5, 2.0, -3.0, 2.5, -2.5, 800.0, -800.0, 1e300, -1e300, math.inf, -math.inf, math.nan]
ONE = {
    "real_sqrt": np.sqrt,
    "real_rsqrt": lambda x: 1 / np.sqrt(x),
    "real_exp": np.exp,
    "real_log": np.log,
    "real_log2": np.log2,
    "real_sin": np.sin,
    "real_cos": np.cos,
    "real_floor": np.floor,
    "real_ceil": np.ceil,
}


@pytest.mark.parametrize("x", SPECIAL)
@pytest.mark.parametrize("name", ONE)
def test_functions_of_one_real_follow_ieee_754(name: str, x: float) -> None:
    with np.errstate(all="ignore"):
        expected = ONE[name](np.float64(x))
    np.testing.assert_allclose(arithmetic.PLAIN_FUNCTIONS[name](x), expected, rtol=1e-14)
    # numba's functions do not raise where Python's do; elsewhere the two have one source.
    if math.isfinite(x) and math.isfinite(expected):
        np.testing.assert_allclose(arithmetic.COMPILED_FUNCTIONS[name](x), expected, rtol=1e-14)


def test_division_and_powers_follow_ieee_754() -> None:
    for a, b in itertools.product(SPECIAL, repeat=2):
        with np.errstate(all="ignore"):
            quotient, power = np.float64(a) / np.float64(b), np.power(np.float64(a), np.float64(b))
        for name, expected in (("divide", quotient), ("power", power)):
            found = arithmetic.PLAIN_FUNCTIONS[name](a, b)
            np.testing.assert_allclose(found, expected, rtol=1e-14, err_msg=f"{a} {name} {b}")
            assert math.isnan(expected) or math.copysign(1, found) == math.copysign(1, expected), (a, name, b)
            if math.isfinite(a) and math.isfinite(expected) and b != 0:
                np.testing.assert_allclose(arithmetic.COMPILED_FUNCTIONS[name](a, b), expected, rtol=1e-14)


def test_least_and_greatest_keep_the_first_of_equals() -> None:
    for a, b in itertools.product([-0.0, 0.0, 1.0, 2.0, math.inf], repeat=2):
        least, greatest = arithmetic.real_min(a, b), arithmetic.real_max(a, b)
        assert (least, greatest) == (min(a, b), max(a, b))
        if a == b:
            assert math.copysign(1, least) == math.copysign(1, greatest) == math.copysign(1, a)


def test_facts_about_integers() -> None:
    for value in range(-3, 70):
        log = value.bit_length() - 1 if value > 0 and bin(value).count("1") == 1 else -1
        assert runtime.exact_log2(value) == log
        if value > 0:
            assert runtime.ceil_log2(value) == math.ceil(math.log2(value))
        root = math.isqrt(value) if value >= 0 and math.isqrt(value) ** 2 == value else -1
        assert runtime.plain_exact_sqrt(value) == runtime.compiled_exact_sqrt(value) == root
        assert value < 0 or runtime.compiled_floor_sqrt(value) == math.isqrt(value)
        for base in range(-2, 8):
            assert runtime.is_power(value, base) == (value in {base**k for k in range(8)} if base > 1 else value == 1)


@pytest.mark.parametrize("root", [ROOT, ROOT - 1, 2**31, 94906267, 94906266])
def test_roots_that_a_real_cannot_hold(root: int) -> None:
    for find in (runtime.plain_exact_sqrt, runtime.compiled_exact_sqrt):
        assert [find(root * root + change) for change in (-1, 0, 1)] == [-1, root, -1]
    assert [runtime.compiled_floor_sqrt(root * root + change) for change in (-1, 0, 1)] == [root - 1, root, root]


# Every other word belongs to the array, which starts at word 1.
