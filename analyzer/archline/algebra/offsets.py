"""Defines atoms for entries of offsets arrays, gaps between entries, and integers known only from the data."""

from __future__ import annotations

from archline.algebra.polynomial import ZERO, Atom, Poly
from archline.records import record, replace


@record
class Segments:
    """An offsets array: `count` segments, entries from 0 to `total`, no gap above `longest` (None: not promised).

    `attained` states that `longest` is the largest gap itself, not only a bound on it.
    """

    array: str
    count: Poly
    total: Poly
    longest: Poly | None
    attained: bool

    @property
    def ceiling(self) -> Poly:
        """An upper bound of every gap."""
        return self.total if self.longest is None else self.longest

    @property
    def key(self) -> str:
        """A text that identifies the array in the atoms that refer to it."""
        longest = "" if self.longest is None else f"{self.longest.key}{'' if self.attained else '?'}"
        return f"{self.array}|{self.count.key}|{self.total.key}|{longest}"

    @property
    def parts(self) -> tuple[Poly, ...]:
        shared = (self.count, self.total)
        return shared if self.longest is None else (*shared, self.longest)

    def rebuilt(self, parts: tuple[Poly, ...]) -> Segments:
        return replace(self, count=parts[0], total=parts[1], longest=parts[2] if len(parts) == 3 else None)


class Offset(Atom):
    """The entry `array[index]` of an offsets array: 0 at 0, `total` at `count`, nondecreasing."""

    __slots__ = ("index", "segments")

    def __init__(self, segments: Segments, index: Poly) -> None:
        super().__init__(f"offset({segments.key}[{index.key}])", index, *segments.parts)
        self.segments, self.index = segments, index

    def rebuild(self, parts: tuple[Poly, ...]) -> Poly:
        return offset(self.segments.rebuilt(parts[1:]), parts[0])


class Gap(Atom):
    """`array[index + 1] - array[index]` of an offsets array, between 0 and its `ceiling`."""

    __slots__ = ("index", "segments")

    def __init__(self, segments: Segments, index: Poly) -> None:
        super().__init__(f"gap({segments.key}[{index.key}])", index, *segments.parts)
        self.segments, self.index = segments, index

    def rebuild(self, parts: tuple[Poly, ...]) -> Poly:
        return Poly.of_atom(Gap(self.segments.rebuilt(parts[1:]), parts[0]))


class Data(Atom):
    """An integer known only from the data, between `low` and `high` (None: unbounded)."""

    __slots__ = ("high", "low", "name")

    def __init__(self, name: str, low: Poly | None, high: Poly | None) -> None:
        ends = (end.key if end is not None else "" for end in (low, high))
        super().__init__(f"data({name}|{'|'.join(ends)})")
        self.name, self.low, self.high = name, low, high

    @property
    def names(self) -> frozenset[str]:
        return frozenset()


def offset(segments: Segments, index: Poly) -> Poly:
    """Return `array[index]` of an offsets array: 0 at 0, and `total` at `count`."""
    if not index:
        return ZERO
    return segments.total if index == segments.count else Poly.of_atom(Offset(segments, index))


def as_gaps(value: Poly) -> Poly:
    """Write every c*(array[e + 1] - array[e]) in the value as c*gap."""
    for low in sorted((atom for atom in value.atoms() if isinstance(atom, Offset)), key=str):
        high = Offset(low.segments, low.index + 1)
        factor = value.coefficients(low).get(1)
        if factor is not None and value.coefficients(high).get(1) == -factor:
            gap = Poly.of_atom(Gap(low.segments, low.index))
            value = value - factor * (gap + Poly.of_atom(low) - Poly.of_atom(high))
    return value
