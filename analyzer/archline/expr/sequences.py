"""Evaluate the sequences of integers that costs are written with: of recursions, and of loops with rounded ends."""

from __future__ import annotations

from functools import lru_cache
from math import comb, factorial, isqrt

from archline.numbers import fmpz

SEQUENCES = {
    "fibonacci": 1,
    "factorial": 1,
    "arrangements": 1,
    "ceil_log": 2,
    "digit_sum": 2,
    "quotient_sum": 2,
    "quotient_powers": 4,
    "floor_sum": 4,
}
"""The names of the sequences, with the number of their arguments."""
MEANINGS = {
    "arrangements": "arrangements(n) is the sum of n!/k! for k from 0 to n",
    "ceil_log": "ceil_log(n, b) is the logarithm of n to the base b, rounded up; 0 for n <= 1",
    "digit_sum": "digit_sum(n, b) is the sum of the digits of n to the base b",
    "quotient_sum": "quotient_sum(n, k) is the sum of floor(n/i) for i from 1 to k",
    "quotient_powers": "quotient_powers(n, k, w, p) is the sum of i^w*floor(n/i)^p for i from 1 to k",
    "floor_sum": "floor_sum(n, m, a, b) is the sum of floor((a*i + b)/m) for i from 0 to n - 1",
}
"""What the sequences are whose names do not say so."""
PARAMETERS = {"ceil_log": 1, "digit_sum": 1, "quotient_powers": 2}
"""The place of the first argument that is a number in all costs: a base, or the powers."""
RECURSIVE_SEQUENCES = frozenset(("fibonacci", "factorial", "arrangements"))
"""The sequences with costs of recursions; they grow at least like 2^(n/2), and all terms from 1 on are at least 1."""
MAX_ARGUMENT, MAX_ARRANGED = 200_000, 5_000
MAX_QUOTIENTS = 200_000
"""The maximum number of different quotients floor(n/i) that are added up."""
MAX_EXPONENT = 8


def compute_sequence(name: str, *arguments: int) -> int | None:
    """Return a term of a sequence; None for large arguments, and outside of its domain, such as (-1)!."""
    match name, arguments:
        case "ceil_log", (value, base) if base > 1:
            return _count_digits(value - 1, base)
        case "digit_sum", (value, base) if base > 1 and value >= 0:
            return _add_digits(value, base)
        case "quotient_sum", (value, last):
            return _sum_quotients(value, last, 0, 1)
        case "quotient_powers", (value, last, weight, power):
            return _sum_quotients(value, last, weight, power)
        case "floor_sum", (count, modulus, slope, start) if modulus > 0:
            return _sum_floors(count, modulus, slope, start) if count > 0 else 0
        case _, (argument,):
            return _compute_recursive_sequence(name, argument)
        case _:
            return None


def _compute_recursive_sequence(name: str, argument: int) -> int | None:
    most = MAX_ARRANGED if name == "arrangements" else MAX_ARGUMENT
    if abs(argument) > most or (argument < 0 and name != "fibonacci"):
        return None
    if name == "fibonacci":
        value = int(fmpz.fib_ui(fmpz(abs(argument))))
        return -value if argument < 0 and argument % 2 == 0 else value
    if name == "factorial":
        return factorial(argument)
    value = 1
    for factor in range(1, argument + 1):
        value = value * factor + 1
    return value


def _count_digits(value: int, base: int) -> int:
    """Count the digits of a number, none for numbers below 1."""
    count, power = 0, 1
    while power <= value:
        count, power = count + 1, power * base
    return count


def _add_digits(value: int, base: int) -> int:
    if base == 2:
        return value.bit_count()
    total = 0
    while value:
        value, digit = divmod(value, base)
        total += digit
    return total


@lru_cache(maxsize=4096)
def _sum_quotients(value: int, last: int, weight: int, power: int) -> int | None:
    """Sum i^weight*floor(value/i)^power over 1 <= i <= last, in one step for all i of one quotient."""
    last = min(last, value)
    small = 0 <= weight <= MAX_EXPONENT and 1 <= power <= MAX_EXPONENT
    if value < 0 or not small or min(last, 2 * isqrt(value)) > MAX_QUOTIENTS:
        return None
    total, start = 0, 1
    while start <= last:
        quotient = value // start
        end = min(last, value // quotient)
        total += quotient**power * (_sum_powers(end, weight) - _sum_powers(start - 1, weight))
        start = end + 1
    return total


def _sum_powers(last: int, power: int) -> int:
    """Sum i^power over 1 <= i <= last."""
    # A function of `power` places with j values is a choice of these and a surjection onto them.
    return sum(count * comb(last + 1, j + 1) for j, count in enumerate(_count_surjections(power))) if power else last


@lru_cache(maxsize=MAX_EXPONENT)
def _count_surjections(size: int) -> tuple[int, ...]:
    """Count the functions of a set of some size onto sets of 0, 1, ... elements."""
    if not size:
        return (1,)
    fewer = (*_count_surjections(size - 1), 0)
    return (0, *(j * (fewer[j] + fewer[j - 1]) for j in range(1, size + 1)))


def _sum_floors(count: int, modulus: int, slope: int, start: int) -> int:
    """Sum floor((slope*i + start)/modulus) over 0 <= i < count, by the steps of Euclid's algorithm."""
    total = 0
    while count:
        quotient, slope = divmod(slope, modulus)
        whole, start = divmod(start, modulus)
        total += quotient * (count * (count - 1) // 2) + whole * count
        # The sum counts points below a line; those of the other axis are counted next.
        count, start = divmod(slope * count + start, modulus)
        modulus, slope = slope, modulus
    return total
