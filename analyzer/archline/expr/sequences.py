"""Evaluate the sequences of integers that costs of recursions are written with."""

from __future__ import annotations

from math import factorial

from archline.numbers import fmpz

SEQUENCES = ("fibonacci", "factorial", "arrangements")
"""The names of the sequences; `arrangements(n)` is the sum of n!/k! over 0 <= k <= n."""
MAX_ARGUMENT, MAX_ARRANGED = 200_000, 5_000


def compute_sequence(name: str, argument: int) -> int | None:
    """Return a term of a sequence; None for large arguments, and for factorials of negative numbers."""
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
