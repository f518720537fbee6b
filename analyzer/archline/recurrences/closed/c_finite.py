"""Exact solutions of linear recurrences in a counter k: sums of c*k^i*r^k with rational r, and Fibonacci numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from archline.numbers import fmpq, fmpq_mat, fmpq_poly

MAX_UNKNOWNS = 40
FIBONACCI = fmpq_poly([-1, -1, 1])
"""x^2 - x - 1, whose roots give the Fibonacci numbers."""


@dataclass(frozen=True)
class ClosedTerm:
    """c*k^power*ratio^k; or c*fibonacci(k + shift), where `ratio` is None."""

    coefficient: fmpq
    power: int
    ratio: fmpq | None
    shift: int = 0


Forcing = Mapping[fmpq, Sequence[fmpq]]
"""By r, the coefficients of the polynomial in k that multiplies r^k."""
Calls = Sequence[tuple[fmpq, int]]
"""Pairs (a, e): a*T[k - e]."""


def solve_sequence(calls: Calls, initial: Callable[[int], fmpq], forcing: Forcing) -> tuple[ClosedTerm, ...] | None:
    """T[k] = sum a*T[k - e] + f(k) for k >= 1, where T[k] is `initial(k)` for k <= 0; None where roots are irrational.

    The unknown coefficients are found from as many values as there are: both sides then satisfy one linear recurrence
    of that order, and agree wherever they agree so often in a row.
    """
    roots = _roots(calls)
    if roots is None:
        return None
    multiplicities, golden = roots
    basis: list[tuple[fmpq | None, int]] = [(None, 0), (None, 1)] if golden else []
    for ratio in {**multiplicities, **forcing}:
        count = multiplicities.get(ratio, 0) + len(forcing.get(ratio, ()))
        basis += [(ratio, power) for power in range(count)]
    if not basis or len(basis) > MAX_UNKNOWNS:
        return None
    values = _values(calls, initial, forcing, len(basis))
    rows = [[_basis_value(each, k) for each in basis] for k in range(len(basis))]
    solution = fmpq_mat(rows).solve(fmpq_mat([[value] for value in values]))
    coefficients = [solution[at, 0] for at in range(len(basis))]
    pieces = [
        ClosedTerm(coefficient, power, ratio)
        for coefficient, (ratio, power) in zip(coefficients, basis, strict=True)
        if coefficient and ratio is not None
    ]
    return (*(_fibonacci(coefficients[0], coefficients[1]) if golden else ()), *pieces)


def _roots(calls: Calls) -> tuple[dict[fmpq, int], bool] | None:
    """The rational roots of the characteristic polynomial with multiplicities, and whether the golden ratio is one."""
    degree = max(step for _, step in calls)
    if degree > MAX_UNKNOWNS:
        return None
    coefficients = [fmpq(0)] * (degree + 1)
    coefficients[degree] = fmpq(1)
    for weight, step in calls:
        coefficients[degree - step] -= weight
    polynomial = fmpq_poly(coefficients)
    found: dict[fmpq, int] = {}
    golden = False
    for factor, multiplicity in (polynomial * polynomial.denom()).numer().factor()[1]:
        if factor.degree() == 1:
            found[fmpq(-factor[0], factor[1])] = multiplicity
        elif fmpq_poly(factor) == FIBONACCI and multiplicity == 1:
            golden = True
        else:
            return None
    return found, golden


def _values(calls: Calls, initial: Callable[[int], fmpq], forcing: Forcing, count: int) -> list[fmpq]:
    values = [initial(0)]
    for k in range(1, count):
        total = forcing_at(forcing, k)
        for weight, step in calls:
            total += weight * (values[k - step] if k >= step else initial(k - step))
        values.append(total)
    return values


def forcing_at(forcing: Forcing, k: int) -> fmpq:
    """f(k)."""
    total = fmpq(0)
    for ratio, coefficients in forcing.items():
        total += ratio**k * sum((each * k**power for power, each in enumerate(coefficients)), fmpq(0))
    return total


def _basis_value(basis: tuple[fmpq | None, int], k: int) -> fmpq:
    ratio, power = basis
    if ratio is None:
        return fmpq(fibonacci(k + power))
    return fmpq(ratio**k * k**power)


def fibonacci(k: int) -> int:
    """The Fibonacci number, for negative k too."""
    if k < 0:
        return (1 if k % 2 else -1) * fibonacci(-k)
    a, b = 0, 1
    for _ in range(k):
        a, b = b, a + b
    return a


def _fibonacci(first: fmpq, second: fmpq) -> tuple[ClosedTerm, ...]:
    """first*fibonacci(k) + second*fibonacci(k + 1), as one Fibonacci number where it is one."""
    for shift in range(-2, 5):
        before, at = fibonacci(shift - 1), fibonacci(shift)
        # fibonacci(k + shift) = fibonacci(shift - 1)*fibonacci(k) + fibonacci(shift)*fibonacci(k + 1)
        factor = second / at if at else first / before if before else fmpq(0)
        if factor * before == first and factor * at == second:
            return (ClosedTerm(factor, 0, None, shift),) if factor else ()
    return tuple(ClosedTerm(c, 0, None, shift) for c, shift in ((first, 0), (second, 1)) if c)
