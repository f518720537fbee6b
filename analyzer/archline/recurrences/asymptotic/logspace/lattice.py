"""One formula for many cones: a max of mins of terms, where there is one.

A continuous function that is linear on each of some cones is the greatest, over the cones, of the least of those of the
linear functions that are at least the cone's own on it (Ovchinnikov 2002). Logarithms make this a proposal, which is
then compared with the function on each cone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from itertools import product
from typing import TypeAlias

from archline.numbers import fmpq
from archline.recurrences.asymptotic.logspace.compare import Piecewise, as_maximum, covered, weight
from archline.recurrences.asymptotic.logspace.cones import Cone, plus
from archline.recurrences.asymptotic.logspace.terms import LogMonomial

Group: TypeAlias = tuple[LogMonomial, ...]
Formula: TypeAlias = tuple[Group, ...]
"""The sum (or max) of the least of each group."""
MAX_BRANCHES = 400


def formula_for(pieces: Piecewise, others: Iterable[LogMonomial] = ()) -> Formula | None:
    """One formula that is right on all pieces, the function being the greatest of the terms on each.

    Terms from elsewhere may take part: a min may need one where the pieces do not fill all space.
    """
    lower = as_maximum(pieces)
    return as_lattice(pieces, others) if lower is None else tuple((each,) for each in lower)


def as_lattice(pieces: Piecewise, others: Iterable[LogMonomial] = ()) -> Formula | None:
    """A max of mins that is right on all pieces."""
    return _Search(pieces, others).formula()


def equals(formula: Formula, terms: Sequence[LogMonomial], region: Cone) -> bool:
    """Whether the formula is Theta(the greatest of the terms) on the region, surely."""
    return all(_below(group, terms, region) for group in formula) and all(
        _covered_by(term, formula, region) for term in terms
    )


class _Search:
    """Looks for a max of mins."""

    def __init__(self, pieces: Piecewise, others: Iterable[LogMonomial]) -> None:
        self._pieces = pieces
        parts = [(_where(term, terms, region), term) for region, terms in pieces for term in terms]
        names = sorted({*others, *(term for _, term in parts)}, key=weight)
        # For each piece and each of its terms: the terms that are at least that one where it is the greatest.
        self._above = [
            tuple(each for each in names if covered(term, (each,), region)) for region, term in parts if region.rays
        ]
        self._below = cache(self._is_below)

    def formula(self) -> Formula | None:
        """The formula, its members and groups reduced to what is needed."""
        groups = [group for group in dict.fromkeys(self._above) if self._below(group)]
        if not self._reached(groups):
            return None
        groups = self._needed(list(dict.fromkeys(self._fewest(group) for group in self._needed(groups))))
        formula = tuple(groups)
        right = all(_covered_by(term, formula, region) for region, terms in self._pieces for term in terms)
        return formula if right else None

    def _is_below(self, group: Group) -> bool:
        """Whether the group's least term is a lower bound on every piece."""
        return all(_below(group, terms, region) for region, terms in self._pieces)

    def _reached(self, groups: Sequence[Group]) -> bool:
        """Whether each piece's term is at most every member of some group."""
        members = [frozenset(group) for group in groups]
        return all(any(each <= above for each in members) for above in map(frozenset, self._above))

    def _needed(self, groups: list[Group]) -> list[Group]:
        for group in sorted(groups, key=len, reverse=True):
            others = [each for each in groups if each is not group]
            if others and self._reached(others):
                groups = others
        return groups

    def _fewest(self, group: Group) -> Group:
        """The group without the terms that its least does not need."""
        for term in sorted(group, key=weight, reverse=True):
            others = tuple(each for each in group if each is not term)
            if others and self._below(others):
                group = others
        return group


def _where(term: LogMonomial, terms: Sequence[LogMonomial], region: Cone) -> Cone:
    """The part of the region where the term is the greatest."""
    for other in terms:
        region = region.cut(plus(term.powers, other.powers, fmpq(-1)))
    return region


def _below(group: Group, terms: Sequence[LogMonomial], region: Cone) -> bool:
    """Whether the least of the group is O(the greatest of the terms) on the region, surely."""
    if any(covered(each, terms, region) for each in group):
        return True
    for each, other in product(group, terms):
        region = region.cut(plus(each.powers, other.powers, fmpq(-1)))
        if not region.rays:
            return True
    return any(covered(each, terms, region) for each in group)


def _covered_by(term: LogMonomial, formula: Formula, region: Cone) -> bool:
    """Whether the term is O(the formula): where it is not, each group has a member below the term."""
    if any(all(covered(term, (each,), region) for each in group) for group in formula):
        return True
    branches = 0

    def escapes(chosen: Group, groups: Sequence[Group], part: Cone) -> bool:
        """Whether somewhere in the part the term may exceed the chosen terms and a member of each group."""
        nonlocal branches
        branches += 1
        if not groups or branches > MAX_BRANCHES:
            return branches > MAX_BRANCHES or not covered(term, chosen, part)
        for each in groups[0]:
            smaller = part.cut(plus(term.powers, each.powers, fmpq(-1)))
            if smaller.rays and not covered(term, (each,), smaller) and escapes((*chosen, each), groups[1:], smaller):
                return True
        return False

    return not escapes((), sorted(formula, key=len), region)
