"""Facts from conditions that need taking apart first: those with max and min, and those on powers of two."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice, product

from archline.algebra import atoms as a
from archline.algebra.facts import Facts
from archline.algebra.polynomial import ONE, ZERO, Atom, Poly
from archline.records import record

MAX_WAYS = 64
MAX_RAISED = 64
Values = tuple[Poly, ...]


@record
class Knowledge:
    """Facts; the values >= 0 that they were made from; and of what at least one way is true, all of its values >= 0."""

    facts: Facts
    nonnegative: Values = ()
    pending: tuple[tuple[Values, ...], ...] = ()

    def learn(self, ways: Sequence[Values]) -> Knowledge | None:
        """What follows where, in at least one way, all values are >= 0; None where no way is possible.

        A max at most something is all of its arguments at most that. A max at least something is one of them at least
        that: what all possible ways have in common is learned, and the rest waits for more.
        """
        pending = (*self.pending, tuple(each for values in ways for each in _together(values)))
        candidates = [sum(each, ()) for each in islice(product(*pending), MAX_WAYS + 1)]
        if len(candidates) > MAX_WAYS:
            return self
        possible = [known for each in candidates if not (known := self._with(each)).impossible]
        if not possible:
            return None
        if len(possible) == 1:
            return possible[0]
        values = {value.key: value for each in candidates for value in each}
        common = tuple(v for _, v in sorted(values.items()) if all(each.facts.nonnegative(v) for each in possible))
        return Knowledge(self._with(common).facts, (*self.nonnegative, *common), pending)

    def _with(self, values: Values) -> Knowledge:
        together = (*self.nonnegative, *values)
        return Knowledge(_taught(self.facts, together), together)

    @property
    def impossible(self) -> bool:
        """Whether the facts contradict each other, as far as that can be decided."""
        return any(self.facts.nonnegative(-self.facts.simplify(value) - ONE) for value in self.nonnegative)


def _taught(facts: Facts, values: Values) -> Facts:
    """The facts with every value known to be >= 0; in two rounds, as one may decide a max in another."""
    for _ in range(2):
        for value in values:
            if not facts.nonnegative(value):
                facts = facts.with_nonnegative(_of_exponents(facts.simplify(value)))
    return _transitive(facts)


def _transitive(facts: Facts) -> Facts:
    """Lower bounds are at most upper bounds: 17 <= m and m <= n make n >= 17. From the youngest symbol on."""
    for name in reversed(facts.bounds):
        known = facts.bounds[name]
        for low, high in product(known.lower, known.upper):
            value = high - low
            if not value.is_constant and not facts.nonnegative(value):
                facts = _raised(facts.with_nonnegative(_of_exponents(value)), value)
    return facts


def _raised(facts: Facts, value: Poly) -> Facts:
    """The facts where a value of one integer is >= 0, of which the least one may be raised: 2^k < 4^k makes k >= 1."""
    names = [name for name in value.names if name in facts.bounds]
    if len(names) != 1 or value.names != set(names):
        return facts
    (name,) = names
    least = facts.bounds[name].least
    if least is None:
        return facts
    raised = least
    while raised < least + MAX_RAISED:
        there = value.substitute({name: Poly.constant(raised)})
        if not there.is_constant or there.constant_term >= 0:
            break
        raised = raised + 1
    return facts if raised == least else facts.with_nonnegative(Poly.symbol(name) - raised)


def _together(values: Values) -> list[Values]:
    return [sum(each, ()) for each in product(*map(conjunctions, values))]


def conjunctions(value: Poly) -> list[Values]:
    """Value >= 0 as alternatives, in each of which all of some values without max(0, e) are >= 0."""
    for atom in sorted(value.atoms(), key=str, reverse=True):
        if not isinstance(atom, a.PositivePart):
            continue
        parts = value.coefficients(atom)
        if set(parts) - {0, 1} or not parts[1].is_constant:
            continue
        first, second = (conjunctions(_replaced(value, atom, new)) for new in (ZERO, atom.argument))
        if parts[1].constant_term > 0:
            return [*first, *second]
        return [(*x, *y) for x in first for y in second]
    return [(value,)]


@record
class Alternatives:
    """A value as the largest (or, `least`, the smallest) of others, each of which may again be one."""

    parts: tuple[Poly | Alternatives, ...]
    least: bool


def alternatives(value: Poly, kind: type[Atom]) -> Poly | Alternatives:
    """A maximum or minimum taken apart, as far as it holds an atom of a kind."""
    for atom in sorted(value.atoms(), key=lambda each: -len(each.key)):
        if isinstance(atom, a.PositivePart) and any(isinstance(each, kind) for each in atom.argument.atoms_within()):
            parts = value.coefficients(atom)
            if set(parts) - {0, 1} or not parts[1].is_constant:
                continue
            # c*max(0, e) with c = -1 makes the smaller of two; with another factor it still lies between its ends.
            ends = (_replaced(value, atom, ZERO), _replaced(value, atom, atom.argument))
            return Alternatives(tuple(alternatives(each, kind) for each in ends), parts[1].constant_term < 0)
    return value


def _replaced(value: Poly, atom: Atom, new: Poly) -> Poly:
    return value.map_atoms(lambda each: new if each == atom else None)


def _of_exponents(value: Poly) -> Poly:
    """c*2^e - d >= 0 or d - c*2^e >= 0 as a condition on the exponent e."""
    match [(monomial, coefficient) for monomial, coefficient in value.terms.items() if monomial]:
        case [(((a.Exponential() as atom, power),), coefficient)] if atom.base == 2 and power > 0:
            limit = -value.constant_term / coefficient
            exponent = atom.exponent.scaled(power)
            if coefficient > 0:
                return exponent - (max(0, int(limit.ceil()) - 1).bit_length() if limit > 0 else 0)
            return int(limit.floor()).bit_length() - 1 - exponent if limit >= 1 else -ONE
        case _:
            return value
