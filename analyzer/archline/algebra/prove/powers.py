"""Proofs for expressions with a size that is 2^e: others give way to their bounds, and what is left is of e alone.

Powers may be negative, as in r*e*2^-e, a size shared out over a power. Logarithms of other sizes give way to bounds in
e: ceil(log2(r)) is at most 2*e where r is at most 4^e, and at most e + r/2^e anywhere. An expression of e alone is then
decided exactly. The least few e, for which such bounds are rough, are taken one by one.
"""

from __future__ import annotations

from collections.abc import Iterator

from archline.algebra import atoms as a
from archline.algebra.bounds import Bounds
from archline.algebra.effort import spend
from archline.algebra.evaluate.exact import evaluate
from archline.algebra.facts import Facts
from archline.algebra.polynomial import ZERO, Atom, Poly, Symbol
from archline.algebra.prove.binades import holds_in_binades
from archline.expr.intervals import EvaluationError

MAX_STEPS = 60
MAX_POINTS = 300
LARGEST = 2
SHIFTS = (0, 1, 2)
ALONE = 3
"""How many exponents are taken one by one."""


def holds_beside_power(value: Poly, facts: Facts) -> bool:
    """Whether value >= 0 is proved for an expression of a power of 2 and of sizes bounded by expressions of it."""
    exponents = [power.exponent for power in facts.powers if power.exponent in value.names]
    if len(exponents) != 1 or value.names == set(exponents):
        return False
    (exponent,) = exponents
    if _Proof(facts, exponent).holds(value):
        return True
    least = facts.bounds[exponent].least
    if least is None:
        return False
    above = facts.with_nonnegative(Poly.symbol(exponent) - least - ALONE)
    return _Proof(above, exponent).holds(value) and all(
        _holds_at(value, facts, exponent, Poly.constant(least + more)) for more in range(ALONE)
    )


def _holds_at(value: Poly, facts: Facts, exponent: str, number: Poly) -> bool:
    """Whether it holds where the exponent is this number."""

    def there(poly: Poly) -> Poly:
        return poly.substitute({exponent: number})

    bounds = {
        name: Bounds(tuple(map(there, known.lower)), tuple(map(there, known.upper)))
        for name, known in facts.bounds.items()
        if name != exponent
    }
    return _Proof(facts.with_bounds(bounds), exponent).holds(there(value))


def _holds_at_all(value: Poly, points: range) -> bool:
    (name,) = value.names
    try:
        return all(evaluate(value, {name: point}) >= 0 for point in points)
    except EvaluationError:
        return False


class _Proof:
    """One search, with a bound on its steps."""

    def __init__(self, facts: Facts, exponent: str) -> None:
        self._facts, self._exponent = facts, exponent
        self._steps = MAX_STEPS
        self._known: dict[Poly, bool] = {}

    def holds(self, value: Poly) -> bool:
        """Whether the value is proved to be at least 0."""
        if value.is_constant:
            return bool(value.constant_term >= 0)
        if value not in self._known:
            self._steps -= 1
            spend(len(value.terms))
            self._known[value] = self._steps >= 0 and not self._facts.refutes(value) and self._decided(value)
        return self._known[value]

    def _decided(self, value: Poly) -> bool:
        others = [atom for atom in value.atoms() if not self._of_exponent(atom)]
        if not others:
            return self._facts.nonnegative(value) or holds_in_binades(value, self._facts)
        if (points := self._points(value)) is not None:
            return _holds_at_all(value, points)
        atom = max(others, key=self._facts.ages.__getitem__)
        parts = value.coefficients(atom)
        if set(parts) - {0, 1}:
            return False
        slope, rest = parts[1], parts.get(0, ZERO)
        rises = self.holds(slope)
        if not rises and not self.holds(-slope):
            return False
        return any(self.holds(slope * bound + rest) for bound in self._bounds(atom, upper=not rises))

    def _points(self, value: Poly) -> range | None:
        """The values of the one symbol of an expression, where they are few."""
        if len(value.names) != 1:
            return None
        known = self._facts.bounds.get(next(iter(value.names)), Bounds())
        low, high = known.least, known.most
        return None if low is None or high is None or high - low >= MAX_POINTS else range(low, high + 1)

    def _of_exponent(self, atom: Atom) -> bool:
        """Whether the atom is the exponent, or its power."""
        return isinstance(atom, Symbol | a.Exponential) and atom.names == {self._exponent}

    def _bounds(self, atom: Atom, upper: bool) -> Iterator[Poly]:
        match atom:
            case Symbol() if atom.name in self._facts.bounds:
                known = self._facts.bounds[atom.name]
                yield from known.upper if upper else known.lower
            case a.CeilLog2() if self._exponent in self._facts.bounds:
                yield from self._most(atom.argument) if upper else self._least(atom.argument)
            case _:
                pass

    def _most(self, argument: Poly) -> Iterator[Poly]:
        """What ceil(log2(argument)) is at most: the logarithm of a power that the argument does not pass."""
        for level in self._levels():
            if self._facts.nonnegative(a.exponential(2, level) - argument):
                yield level
                break
        if self._facts.nonnegative(argument):
            # ceil(log2(t)) <= t for every t > 0: where t is more than 2^(k - 1), that is at least k.
            exponent = Poly.symbol(self._exponent)
            yield exponent + argument * a.exponential(2, -exponent)

    def _least(self, argument: Poly) -> Iterator[Poly]:
        """What it is at least: one more than the logarithm of a power that the argument passes."""
        for level in reversed(list(self._levels())):
            if self._facts.nonnegative(argument - a.exponential(2, level) - 1):
                yield level + 1
                break
        yield ZERO

    def _levels(self) -> Iterator[Poly]:
        exponent = Poly.symbol(self._exponent)
        for factor in range(1, LARGEST + 1):
            for shift in SHIFTS:
                yield exponent.scaled(factor) + shift
