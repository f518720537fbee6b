"""Closed forms: where two powers of a variable balance, as M and 1/M do in the energy of n-body algorithms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from archline.energy.formulas import fold, names_in
from archline.energy.optimise.signomials import Monomial, Reader, Sum
from archline.energy.quantities import CONSTANTS
from archline.energy.targets import SIZE
from archline.language import syntax as s
from archline.language.diagnostics import ArchlineError

EXACT = 1e-6


def closed_form(objective: s.Expr, key: str, values: Mapping[str, float], at: float) -> str | None:
    """The value of a variable at which an objective is least, as a formula of the names that it holds.

    None where the objective has not just one positive and one negative power of the variable, or where the formula
    does not give what was found.
    """
    known = {name: 1.0 if name in CONSTANTS else 0.0 for name in names_in(objective) if _plain(name, values)}
    names = sorted(names_in(objective) - known.keys())
    if key not in names:
        return None
    reader = Reader({name: index for index, name in enumerate(names)}, known)
    try:
        found = fold(objective, reader)
    except ArchlineError:
        return None
    place = names.index(key)
    groups: dict[float, dict[Monomial, float]] = {}
    for monomial, coefficient in found.items():
        powers = dict(monomial)
        power = powers.pop(place, 0.0)
        groups.setdefault(power, {})[tuple(powers.items())] = coefficient
    groups.pop(0.0, None)
    if reader.sums or reader.undecided or len(groups) != 2 or min(groups) > 0 or max(groups) < 0:
        return None
    low, high = min(groups), max(groups)
    below, above = ({key: abs(power) * each for key, each in groups[power].items()} for power in (high, low))
    numbers = [values.get(name, 0.0) for name in names]
    if abs((_value(above, numbers) / _value(below, numbers)) ** (1 / (high - low)) / at - 1) > EXACT:
        return None
    shared = _shared([*below, *above])
    top, bottom = (_text(each, shared, names) for each in (above, below))
    ratio = f"{f'({top})' if len(above) > 1 else top}/({bottom})"
    root = Fraction(1 / (high - low)).limit_denominator(1000)
    return (
        ratio if root == 1 else f"sqrt({ratio})" if root == Fraction(1, 2) else f"({ratio})^{_number(1 / (high - low))}"
    )


def _plain(name: str, values: Mapping[str, float]) -> bool:
    return name in CONSTANTS or values.get(name) == 0


def _value(terms: Sum, numbers: Sequence[float]) -> float:
    total = 0.0
    for monomial, coefficient in terms.items():
        for index, power in monomial:
            coefficient *= numbers[index] ** power
        total += coefficient
    return total


def _shared(monomials: Sequence[Monomial]) -> dict[int, float]:
    """The powers that all products have."""
    every = [dict(each) for each in monomials]
    indices = {index for each in every for index in each}
    return {index: min(each.get(index, 0.0) for each in every) for index in indices}


def _text(terms: Sum, shared: Mapping[int, float], names: Sequence[str]) -> str:
    parts = []
    for monomial, coefficient in terms.items():
        own = dict(monomial)
        powers = {index: own.get(index, 0.0) - shared.get(index, 0.0) for index in own.keys() | shared.keys()}
        factors = [] if coefficient == 1 else [_number(coefficient)]
        factors += [_power(names[index].removeprefix(SIZE), power) for index, power in sorted(powers.items()) if power]
        parts.append("*".join(factors) or "1")
    return " + ".join(parts)


def _power(name: str, power: float) -> str:
    return name if power == 1 else f"{name}^{_number(power)}"


def _number(value: float) -> str:
    found = Fraction(value).limit_denominator(1000)
    if abs(float(found) - value) > 1e-12:
        return f"{value:.12g}" if value > 0 else f"({value:.12g})"
    return str(found) if found.denominator == 1 and found > 0 else f"({found})"
