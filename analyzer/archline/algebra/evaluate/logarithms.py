"""Products of powers with logarithms in their exponents, exactly: 4^(log2(P)/log2(7)) is 16 at P = 49.

Factors may be irrational where their product is not, as 7^(log2(n))/7^(log2(m)) at n = 28, m = 14. So exponents are
kept as sums of logarithms of primes: log2(28) is 2 + log2(7).
"""

from __future__ import annotations

from collections.abc import Callable

from archline.algebra import atoms as a
from archline.algebra.polynomial import Atom, Monomial, Poly
from archline.numbers import fmpq, primes

MAX_NUMBER = 1 << 64
MAX_EXPONENT = 1 << 16
Logs = dict[int, fmpq]
"""The sum of x*log2(p) over primes p: a rational number r is {2: r}."""
Number = Callable[[Poly], fmpq]
Factor = Callable[[Atom], fmpq]


class IrrationalError(Exception):
    """The product is not seen to be rational."""


def rational_product(monomial: Monomial, number: Number, factor: Factor) -> fmpq:
    """The product of the factors; `number` evaluates arguments of logarithms, `factor` what is neither power nor
    logarithm. Raises IrrationalError.
    """
    product = fmpq(1)
    exponents: dict[int, Logs] = {}
    above: list[Logs] = []
    below: list[Logs] = []
    for atom, power in monomial:
        match atom:
            case a.Exponential(base=base, exponent=exponent):
                exponents[base] = _plus(exponents.get(base, {}), _sum(exponent, number, factor), fmpq(power))
            case a.RealFunction(function="log2", argument=argument):
                (above if power > 0 else below).extend([_logs(number(argument))] * abs(power))
            case _:
                product *= _power(factor(atom), power)
    for base, logs in exponents.items():
        product *= fmpq(base) ** _integer(logs)
    return product * _rational(_ratio(above, below))


def _power(number: fmpq, power: int) -> fmpq:
    if power < 0 and not number:
        raise IrrationalError
    return number**power


def _sum(value: Poly, number: Number, factor: Factor) -> Logs:
    """An exponent as a sum of logarithms."""
    total: Logs = {}
    for monomial, coefficient in value.terms.items():
        above: list[Logs] = []
        below: list[Logs] = []
        for atom, power in monomial:
            if isinstance(atom, a.RealFunction) and atom.function == "log2":
                (above if power > 0 else below).extend([_logs(number(atom.argument))] * abs(power))
            else:
                coefficient *= _power(factor(atom), power)
        total = _plus(total, _ratio(above, below), coefficient)
    return total


def _ratio(above: list[Logs], below: list[Logs]) -> Logs:
    """A product of logarithms over another one, as a sum of them."""
    left = list(above)
    scale = fmpq(1)
    for divisor in below:
        for index, each in enumerate(left):
            factor = _multiple(each, divisor)
            if factor is not None:
                scale *= factor
                del left[index]
                break
        else:
            # A rational divisor needs no logarithm above it.
            rational = _rational(divisor)
            if not rational:
                raise IrrationalError
            scale /= rational
    result: Logs = {2: scale}
    for each in left:
        result = _times(result, each)
    return result


def _multiple(value: Logs, divisor: Logs) -> fmpq | None:
    """The x with value = x*divisor."""
    if not divisor or set(value) != set(divisor):
        return None if value else fmpq(0)
    ratios = {value[prime] / divisor[prime] for prime in divisor}
    return ratios.pop() if len(ratios) == 1 else None


def _times(one: Logs, other: Logs) -> Logs:
    for rational, logs in ((one, other), (other, one)):
        if set(rational) <= {2}:
            return {prime: share * rational.get(2, fmpq(0)) for prime, share in logs.items()}
    raise IrrationalError


def _plus(one: Logs, other: Logs, scale: fmpq) -> Logs:
    total = dict(one)
    for prime, share in other.items():
        total[prime] = total.get(prime, fmpq(0)) + scale * share
    return {prime: share for prime, share in total.items() if share}


def _rational(logs: Logs) -> fmpq:
    if not set(logs) <= {2}:
        raise IrrationalError
    return logs.get(2, fmpq(0))


def _integer(logs: Logs) -> int:
    found = _rational(logs)
    if found.q != 1 or abs(found) > MAX_EXPONENT:
        raise IrrationalError
    return int(found.p)


def _logs(number: fmpq) -> Logs:
    """log2 of a positive number."""
    if number <= 0 or max(number.p, number.q) > MAX_NUMBER:
        raise IrrationalError
    found: Logs = {}
    for part, sign in ((number.p, 1), (number.q, -1)):
        for prime, power in primes(part):
            found[prime] = found.get(prime, fmpq(0)) + sign * power
    return found
