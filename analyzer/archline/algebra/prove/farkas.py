"""Proves expressions nonnegative as sums of nonnegative multiples of facts (Farkas certificates).

Products of indices count as unknowns of their own. An index between two numbers, such as a slope from -1 to 1, is
tried at each of its values. An expression that is an integer is at least 0 if it is above -1.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product

from archline.algebra import atoms as a
from archline.algebra.lp.exact import Infeasible, Optimum, Unbounded, maximise
from archline.algebra.polynomial import Poly
from archline.algebra.prove.prover import bounds_of_floor
from archline.numbers import fmpq
from archline.records import record, replace


@record
class Situation:
    """Premises of proofs: facts (values >= 0), ranges of indices, and indices in terms of other ones (`pinned`)."""

    facts: tuple[Poly, ...]
    ranges: Mapping[str, range]
    pinned: Mapping[str, Poly]

    def with_facts(self, more: Sequence[Poly]) -> Situation:
        return replace(self, facts=(*self.facts, *more)) if more else self

    def proves(self, value: Poly) -> bool:
        return all(
            _is_farkas_combination(
                *(expression.substitute(self.pinned).substitute(numbers) for expression in (value, *self.facts))
            )
            for numbers in self.iterate_choices()
        )

    def iterate_choices(self) -> Iterator[dict[str, Poly]]:
        """Yield all combinations of values of the indices in `ranges`."""
        for values in product(*self.ranges.values()):
            yield {name: Poly.constant(number) for name, number in zip(self.ranges, values, strict=True)}


def _is_farkas_combination(value: Poly, *facts: Poly) -> bool:
    """Test whether the value is a number >= 0 plus multiples >= 0 of facts, or the facts contradict each other."""
    premises = [*facts, *_bounds_of_floors((value, *facts))]
    unknowns = list(dict.fromkeys(monomial for poly in (value, *premises) for monomial in poly.terms if monomial))
    rows = [[poly.terms.get(monomial, fmpq(0)) for poly in premises] for monomial in unknowns]
    sums = [value.terms.get(monomial, fmpq(0)) for monomial in unknowns]
    # The sum equals the value except for its constant, which is minimised.
    solution = maximise(
        [-poly.constant_term for poly in premises],
        [*rows, *([-number for number in row] for row in rows)],
        [*sums, *(-number for number in sums)],
    )
    match solution:
        case Unbounded():
            # The facts contradict each other.
            return True
        case Infeasible():
            return False
        case Optimum():
            pass
    minimum = value.constant_term + solution.value
    return bool(minimum >= 0 or (minimum > -1 and a.is_integral(value)))


def _bounds_of_floors(values: Sequence[Poly]) -> Iterator[Poly]:
    for atom in sorted({atom for value in values for atom in value.atoms()}, key=str):
        if isinstance(atom, a.Floor):
            yield from bounds_of_floor(atom)
