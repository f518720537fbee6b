"""What is known at a point of a path: registers, constraints, and elements of arrays."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeAlias

from archline.ir.amortised.linear import Column, Linear, add_forms, constant_part, freeze_form, is_constant
from archline.language import syntax as s
from archline.numbers import fmpq
from archline.records import field, record, replace

ElementKey: TypeAlias = "tuple[str, tuple[frozenset[tuple[Column, fmpq]], ...]]"
"""An array, and the forms of the subscripts of an element of it."""


@record(eq=False)
class PathState:
    """The registers and the constraints on a path so far, and the loops and branches that it entered.

    `source` is the node that it starts at. `stored` has the elements that no later write can have changed; the key
    without subscripts is for all elements of an array. `writes` numbers the writes to each array.
    """

    source: str
    values: Mapping[str, Linear]
    constraints: tuple[Linear, ...] = ()
    entered: tuple[s.Loop | s.While, ...] = ()
    lines: tuple[int, ...] = ()
    stored: Mapping[ElementKey, Linear] = field(default_factory=dict)
    writes: Mapping[str, int] = field(default_factory=dict)

    def with_value(self, name: str, value: Linear) -> PathState:
        return replace(self, values={**self.values, name: value})

    def with_constraints(self, more: Iterable[Linear]) -> PathState:
        return replace(self, constraints=(*self.constraints, *more))

    def is_at_least(self, form: Linear, least: int) -> bool:
        """Test whether a form is at least a number, as a constant or by its difference from a constraint."""
        if is_constant(form):
            return constant_part(form) >= least
        above = (add_forms(form, constraint, -1) for constraint in self.constraints)
        return any(is_constant(rest) and constant_part(rest) >= least for rest in above)

    def find_stored(self, key: ElementKey) -> Linear | None:
        """Return the value of an element that was written on the path."""
        return self.stored.get(key, self.stored.get((key[0], ())))

    def with_write(self, array: str, stored: Mapping[ElementKey, Linear]) -> PathState:
        """Return the state after a write to an array, of whose elements only those in `stored` are known."""
        kept = {key: element for key, element in self.stored.items() if key[0] != array}
        writes = {**self.writes, array: self.writes.get(array, 0) + 1}
        return replace(self, stored={**kept, **stored}, writes=writes)


def make_element_key(array: str, subscripts: Iterable[Linear]) -> ElementKey:
    """Return the key of an element in the elements that are known on a path."""
    return array, tuple(map(freeze_form, subscripts))
