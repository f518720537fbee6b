"""The sizes at which a recurrence ends, and what it is worth there."""

from __future__ import annotations

from dataclasses import dataclass

from archline.algebra.asymptotic.constants import OutOfReachError
from archline.numbers import fmpq
from archline.recurrences.asymptotic.evaluate import default_base
from archline.recurrences.asymptotic.normal_form import base_number
from archline.recurrences.asymptotic.problem import Definition
from archline.recurrences.asymptotic.read_terms import TermReader
from archline.recurrences.asymptotic.terms import Term


@dataclass(frozen=True)
class Bases:
    """Values up to thresholds, the least threshold first. `growing` is what they add: nothing where one may be 0."""

    values: tuple[tuple[fmpq, tuple[Term, ...]], ...]
    growing: tuple[Term, ...]

    @property
    def threshold(self) -> fmpq:
        """The size up to which a base value holds."""
        return self.values[-1][0]


def bases_of(definition: Definition, functions: frozenset[str]) -> Bases:
    """The bases of a function of one size. Raises OutOfReachError where one is negative or no number."""
    size = definition.parameters[0]
    values = [(base_number(each.arguments[0]), TermReader(size).read(each.value)) for each in definition.bases]
    if not values:
        values = [(fmpq(default_base(definition, functions)), (Term(fmpq(1)),))]
    values.sort(key=lambda pair: pair[0])
    for _, terms in values:
        if any(term.coefficient < 0 for term in terms):
            raise OutOfReachError("a base value with a minus sign")
    if len(values) == 1:
        return Bases(tuple(values), values[0][1])
    if any(term.symbols for _, terms in values for term in terms):
        raise OutOfReachError("several base values with symbols")
    positive = all(terms for _, terms in values)
    return Bases(tuple(values), (Term(fmpq(1)),) if positive else ())
