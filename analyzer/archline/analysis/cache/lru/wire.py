"""What the process that asks and the one that counts tell each other: accesses one way, expressions the other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from archline.algebra import atoms as a
from archline.algebra.evaluate.exact import evaluate
from archline.algebra.polynomial import ONE, Atom, Poly, Symbol, product, total
from archline.numbers import fmpq
from archline.records import record

THRESHOLD = "T"
"""The symbol of the distance that an access has at least."""


@record
class Column:
    """A column of a time: a place in a block, a counter, or the quotient ("q") or rest ("r") of one by L."""

    counter: str = ""
    part: str = ""
    place: int = 0

    def text(self, names: Mapping[str, str]) -> str:
        """As isl has it."""
        return names[self.counter] + self.part if self.counter else str(self.place)

    def value(self, line: int) -> Poly:
        """In loop variables, with L = `line`."""
        counter = Poly.symbol(self.counter) if self.counter else ONE * self.place
        match self.part:
            case "q":
                return a.floor_div(counter, ONE * line)
            case "r":
                return a.modulo(counter, ONE * line)
            case _:
                return counter


@record
class Reference:
    """An access of the program, `times` in a row: the `relation` of its times to lines of `array`, as isl has it."""

    array: str
    times: int
    relation: str
    time: tuple[Column, ...]


@record
class Problem:
    """References in serial order; `context` says what sizes may be. Sizes are those that were left symbols."""

    sizes: tuple[str, ...]
    context: str
    references: tuple[Reference, ...]


@record
class Condition:
    """At least 0, or equal to 0."""

    value: Poly
    equal: bool

    def holds(self, point: Mapping[str, int]) -> bool:
        """Whether it holds at a point."""
        found = evaluate(self.value, point)
        return found == 0 if self.equal else found >= 0


@record
class Piece:
    """A value where all conditions of one of the `cases` hold."""

    cases: tuple[tuple[Condition, ...], ...]
    value: Poly

    def holds(self, point: Mapping[str, int]) -> bool:
        """Whether the piece is the one that a point is in."""
        return any(all(each.holds(point) for each in case) for case in self.cases)


Piecewise = tuple[Piece, ...]
"""0 where no piece holds."""


def value_at(pieces: Piecewise, point: Mapping[str, int]) -> int:
    """The value at a point: an integer."""
    for piece in pieces:
        if piece.holds(point):
            found = evaluate(piece.value, point)
            assert found.denominator == 1
            return int(found)
    return 0


def write(value: Poly) -> list[Any]:
    """A list of terms."""
    return [
        [int(coefficient.p), int(coefficient.q), [[_write_atom(atom), power] for atom, power in monomial]]
        for monomial, coefficient in value.terms.items()
    ]


def _write_atom(atom: Atom) -> Any:
    if isinstance(atom, a.Floor):
        return [write(atom.argument), int(atom.modulus.constant_term.p)]
    assert isinstance(atom, Symbol)
    return atom.name


def read(terms: list[Any], names: Mapping[str, str]) -> Poly:
    """The expression that `write` wrote, its symbols renamed."""
    return total(
        product((_read_atom(atom, names) ** power for atom, power in monomial), fmpq(top, bottom))
        for top, bottom, monomial in terms
    )


def _read_atom(atom: Any, names: Mapping[str, str]) -> Poly:
    if isinstance(atom, str):
        return Poly.symbol(names.get(atom, atom))
    argument, by = atom
    return a.floor_div(read(argument, names), ONE * by)


def write_pieces(pieces: Piecewise) -> list[Any]:
    """As JSON."""
    return [
        {"cases": [[[write(each.value), each.equal] for each in case] for case in piece.cases],
         "value": write(piece.value)}
        for piece in pieces
    ]  # fmt: skip


def read_pieces(pieces: list[Any], names: Mapping[str, str]) -> Piecewise:
    """What `write_pieces` wrote."""
    return tuple(
        Piece(
            tuple(tuple(Condition(read(value, names), equal) for value, equal in case) for case in piece["cases"]),
            read(piece["value"], names),
        )
        for piece in pieces
    )
