"""Derives facts from conditions that must be split first: those with max and min, and those on powers of two."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice, product
from math import prod

from archline.algebra import atoms as a
from archline.algebra.bounds import ceil_log, floor_log
from archline.algebra.facts import Facts
from archline.algebra.polynomial import ONE, ZERO, Atom, Poly
from archline.records import record

MAX_ALTERNATIVES = 64
"""The number of combinations of alternatives up to which a disjunction is used; beyond it, it is ignored."""
MAX_VALUES = 512
"""The number of values of one alternative up to which it is used."""
MAX_BOUND_RAISE = 64
"""The most by which the lower bound of a symbol is raised."""
Values = tuple[Poly, ...]


@record
class Knowledge:
    """Facts, the nonnegative values that they were made from, and disjunctions that are not decided yet."""

    facts: Facts
    nonnegative: Values = ()
    pending: tuple[tuple[Values, ...], ...] = ()

    def assume_disjunction(self, ways: Sequence[Values]) -> Knowledge | None:
        """Assume that in at least one of the alternatives `ways` all values are >= 0; None if all are impossible.

        max(x, y) <= z means x <= z and y <= z. max(x, y) >= z means x >= z or y >= z: what all possible alternatives
        have in common is learned, and the disjunction remains pending.
        """
        expanded = list(map(_expand_to_disjunction, ways))
        if None in expanded:
            return self
        pending = (*self.pending, tuple(part for parts in expanded for part in parts or ()))
        candidates = [sum(combination, ()) for combination in islice(product(*pending), MAX_ALTERNATIVES + 1)]
        if len(candidates) > MAX_ALTERNATIVES:
            return self
        possible = [
            extended for candidate in candidates if not (extended := self._with_nonnegative(candidate)).impossible
        ]
        if not possible:
            return None
        if len(possible) == 1:
            return possible[0]
        values = {value.key: value for candidate in candidates for value in candidate}
        common = tuple(v for _, v in sorted(values.items()) if all(case.facts.nonnegative(v) for case in possible))
        return Knowledge(self._with_nonnegative(common).facts, (*self.nonnegative, *common), pending)

    def _with_nonnegative(self, values: Values) -> Knowledge:
        nonnegative = (*self.nonnegative, *values)
        return Knowledge(_assume_nonnegative(self.facts, nonnegative), nonnegative)

    @property
    def impossible(self) -> bool:
        """Whether the facts are found to contradict each other."""
        return any(self.facts.nonnegative(-self.facts.simplify(value) - ONE) for value in self.nonnegative)


def _assume_nonnegative(facts: Facts, values: Values) -> Facts:
    """Assume that every value is >= 0, in two passes, since one value may decide a max in another one."""
    for _ in range(2):
        for value in values:
            if not facts.nonnegative(value):
                facts = facts.with_nonnegative(_reduce_to_exponent(facts.simplify(value)))
    return _close_transitively(facts)


def _close_transitively(facts: Facts) -> Facts:
    """Derive that lower bounds are <= upper bounds, youngest symbol first: 17 <= m and m <= n -> n >= 17."""
    for name in reversed(facts.bounds):
        bounds = facts.bounds[name]
        for low, high in product(bounds.lower, bounds.upper):
            value = high - low
            if not value.is_constant and not facts.nonnegative(value):
                facts = _increase_integer_bound(facts.with_nonnegative(_reduce_to_exponent(value)), value)
    return facts


def _increase_integer_bound(facts: Facts, value: Poly) -> Facts:
    """Assume value >= 0 of one integer symbol, and raise its lower bound where that follows: 2^k < 4^k -> k >= 1."""
    names = [name for name in value.names if name in facts.bounds]
    if len(names) != 1 or value.names != set(names):
        return facts
    (name,) = names
    minimum = facts.bounds[name].minimum
    if minimum is None:
        return facts
    raised = minimum
    while raised < minimum + MAX_BOUND_RAISE:
        result = value.substitute({name: Poly.constant(raised)})
        if not result.is_constant or result.constant_term >= 0:
            break
        raised = raised + 1
    return facts if raised == minimum else facts.with_nonnegative(Poly.symbol(name) - raised)


def _expand_to_disjunction(values: Values) -> list[Values] | None:
    split = [alternatives for value in values if (alternatives := split_into_disjuncts(value)) is not None]
    if len(split) < len(values) or prod(map(len, split)) > MAX_ALTERNATIVES:
        return None
    return [sum(choice, ()) for choice in product(*split)]


def split_into_disjuncts(value: Poly) -> list[Values] | None:
    """Write value >= 0 as a list of alternatives, each of values without max(0, e) that are all >= 0.

    None if there are more than MAX_ALTERNATIVES, or more than MAX_VALUES in one.
    """
    for atom in sorted(value.atoms(), key=str, reverse=True):
        if not isinstance(atom, a.PositivePart):
            continue
        parts = value.coefficients(atom)
        if set(parts) - {0, 1} or not parts[1].is_constant:
            continue
        first = split_into_disjuncts(_replace_atom(value, atom, ZERO))
        second = None if first is None else split_into_disjuncts(_replace_atom(value, atom, atom.argument))
        if first is None or second is None:
            return None
        either = parts[1].constant_term > 0
        if (len(first) + len(second) if either else len(first) * len(second)) > MAX_ALTERNATIVES:
            return None
        alternatives = [*first, *second] if either else [(*x, *y) for x in first for y in second]
        return None if max(map(len, alternatives)) > MAX_VALUES else alternatives
    return [(value,)]


@record
class Alternatives:
    """A value as the maximum (if `least`, the minimum) of parts, which may be alternatives themselves."""

    parts: tuple[Poly | Alternatives, ...]
    least: bool


def split_into_alternatives(value: Poly, kind: type[Atom]) -> Poly | Alternatives:
    """Split a maximum or minimum into its operands if an atom of class `kind` occurs in it; else return the value."""
    for atom in sorted(value.atoms(), key=lambda candidate: -len(candidate.key)):
        if isinstance(atom, a.PositivePart) and any(isinstance(inner, kind) for inner in atom.argument.atoms_within()):
            parts = value.coefficients(atom)
            if set(parts) - {0, 1} or not parts[1].is_constant:
                continue
            # c*max(0, e) with c < 0 makes a minimum; it lies between its values at 0 and at e.
            ends = (_replace_atom(value, atom, ZERO), _replace_atom(value, atom, atom.argument))
            return Alternatives(tuple(split_into_alternatives(end, kind) for end in ends), parts[1].constant_term < 0)
    return value


def _replace_atom(value: Poly, atom: Atom, new: Poly) -> Poly:
    return value.map_atoms(lambda candidate: new if candidate == atom else None)


def _reduce_to_exponent(value: Poly) -> Poly:
    """Rewrite c*2^e - d >= 0 or d - c*2^e >= 0 as a condition on the exponent: 2^k - 5 >= 0 -> k - 3 >= 0."""
    match [(monomial, coefficient) for monomial, coefficient in value.terms.items() if monomial]:
        case [(((a.Exponential() as atom, power),), coefficient)] if atom.base == 2 and power > 0:
            limit = -value.constant_term / coefficient
            exponent = atom.exponent.scaled(power)
            if limit <= 0:
                # 2^e + d >= 0 is always true, and -2^e - d >= 0 never.
                return ONE if coefficient > 0 else -ONE
            if not a.is_integral(exponent):
                return value
            return exponent - ceil_log(2, limit) if coefficient > 0 else floor_log(2, limit) - exponent
        case _:
            return value
