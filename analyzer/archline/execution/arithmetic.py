"""Define the arithmetic of generated code: on reals by IEEE 754, on ints with a check for overflow.

Nothing raises: 1/0 is inf and sqrt(-1) is nan; an int beyond 64 bits is `NO_INT`, which the caller reports.
`PLAIN_FUNCTIONS` and `COMPILED_FUNCTIONS` hold, under the same names, the functions that differ between plain Python
and compiled code.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from archline.execution.jit import helper
from archline.execution.slots import INT_LIMIT, NO_INT


# Arithmetic on reals
def to_nearest_real(value: float) -> float:
    """Convert a number to the nearest float; an int that is too large becomes inf with its sign."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _plain_divide(a: float, b: float) -> float:
    try:
        return a / b
    except ZeroDivisionError:
        if a == 0 or a != a:
            return math.nan
        return math.copysign(math.inf, a) * math.copysign(1.0, b)


def _guard_errors(function: Callable[[float], float], limits: Callable[[float], float]) -> Callable[[float], float]:
    def call(x: float) -> float:
        try:
            return function(x)
        except (ValueError, OverflowError):
            return limits(x)

    return call


def _plain_power(a: float, b: float) -> float:
    try:
        return math.pow(a, b)
    except OverflowError:
        odd = b % 2 == 1
        return -math.inf if a < 0 and odd else math.inf
    except ValueError:
        # Zero to a negative power is a pole; anything else is a negative number to a fractional power.
        if a == 0:
            return math.copysign(math.inf, a) if b % 2 == 1 else math.inf
        return math.nan


def _guard_rounding(function: Callable[[float], int]) -> Callable[[float], float]:
    return lambda x: float(function(x)) if math.isfinite(x) else x


def _log_limits(x: float) -> float:
    return -math.inf if x == 0 else math.nan


_plain_sqrt = _guard_errors(math.sqrt, lambda x: math.nan)
_plain_log2 = _guard_errors(math.log2, _log_limits)

PLAIN_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "float": to_nearest_real,
    "divide": _plain_divide,
    "power": _plain_power,
    "real_sqrt": _plain_sqrt,
    "real_rsqrt": lambda x: _plain_divide(1.0, _plain_sqrt(x)),
    "real_exp": _guard_errors(math.exp, lambda x: math.inf),
    "real_log": _guard_errors(math.log, _log_limits),
    "real_log2": _plain_log2,
    "real_sin": _guard_errors(math.sin, lambda x: math.nan),
    "real_cos": _guard_errors(math.cos, lambda x: math.nan),
    "real_floor": _guard_rounding(math.floor),
    "real_ceil": _guard_rounding(math.ceil),
}


# For compiled code: numba's functions follow IEEE 754 and do not raise.
COMPILED_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "divide": helper(lambda a, b: a / b),
    "power": helper(lambda a, b: math.pow(a, b)),
    "real_sqrt": helper(lambda x: math.sqrt(x)),
    "real_rsqrt": helper(lambda x: 1.0 / math.sqrt(x)),
    "real_exp": helper(lambda x: math.exp(x)),
    "real_log": helper(lambda x: math.log(x)),
    "real_log2": helper(lambda x: math.log2(x)),
    "real_sin": helper(lambda x: math.sin(x)),
    "real_cos": helper(lambda x: math.cos(x)),
    "real_floor": helper(lambda x: float(np.floor(x))),
    "real_ceil": helper(lambda x: float(np.ceil(x))),
}


@helper
def real_min(a: float, b: float) -> float:
    """Return the second number if it is less, else the first."""
    return b if b < a else a


@helper
def real_max(a: float, b: float) -> float:
    """Return the second number if it is greater, else the first."""
    return b if b > a else a


# Arithmetic on ints, wrapping in compiled code and unbounded in plain Python
@helper
def to_int(a: float) -> int:
    """Return a whole real as an int, or NO_INT beyond 64 bits and for nan."""
    return int(a) if -9.2e18 < a < 9.2e18 else NO_INT


@helper
def add_int(a: int, b: int) -> int:
    """Return a + b, or NO_INT beyond 64 bits."""
    total = a + b
    if (b >= 0 and a > INT_LIMIT - b) or (b < 0 and a < -INT_LIMIT - b):
        return NO_INT
    return total


@helper
def sub_int(a: int, b: int) -> int:
    """Return a - b, or NO_INT beyond 64 bits."""
    return add_int(a, -b)


@helper
def add_infinite(a: int, b: int) -> int:
    """Return a + b, where +-INT_LIMIT is infinite; NO_INT beyond 64 bits, or for infinities of both signs."""
    if abs(a) == INT_LIMIT:
        return NO_INT if a == -b else a
    return b if abs(b) == INT_LIMIT else add_int(a, b)


@helper
def mul_int(a: int, b: int) -> int:
    """Return a * b, or NO_INT beyond 64 bits."""
    if -3037000499 < a < 3037000499 and -3037000499 < b < 3037000499:
        return a * b
    if a == 0 or b == 0:
        return 0
    if abs(a) > INT_LIMIT // abs(b):
        return NO_INT
    return a * b


@helper
def pow_int(base: int, exponent: int) -> int:
    """Return base ^ exponent for an exponent >= 0, or NO_INT beyond 64 bits."""
    if base == 0 or base == 1:
        return base if exponent > 0 else 1
    if base == -1:
        return 1 if exponent % 2 == 0 else -1
    result = 1
    for _ in range(exponent):
        result = mul_int(result, base)
        if result == NO_INT:
            return NO_INT
    return result
