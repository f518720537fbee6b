"""Expressions and conditions of equations as text in Python, where these take arithmetic and comparisons alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import islice
from math import ceil, lcm

from archline.algebra import atoms as a
from archline.algebra.evaluate.compiled import Number, condition
from archline.algebra.polynomial import Atom, Poly, Symbol
from archline.recurrences.model import Equation

MAX_LINES = 400
MAX_MAXIMA = 3
"""How many maxima in one condition are told by those of their parts."""
DEEPEST = 40
"""Levels of blocks; the interpreter allows 100."""


class NotWrittenError(Exception):
    """An expression may have no value, or takes more than arithmetic."""


def _levels(value: Number) -> int:
    """ceil(log2(value)), and 0 below 1."""
    return max(0, ceil(value) - 1).bit_length()


def _whole(value: Number, by: int) -> Number:
    """A part of a value, an integer where it is one."""
    part = Fraction(value) / by
    return part.numerator if part.denominator == 1 else part


HELPERS = {"levels": _levels, "whole": _whole}
"""What the text of an expression calls."""


@dataclass(frozen=True)
class EquationWriter:
    """Writes expressions in the sizes, whose names in Python it has, and in the values of `functions` at calls."""

    names: Mapping[str, str]
    functions: Mapping[str, str] = field(default_factory=dict)

    def text(self, value: Poly) -> str:
        ends = _ends(value)
        if ends is not None:
            return f"max({self.text(ends[0])}, {self.text(ends[1])})"
        scale = lcm(*(int(each.q) for each in value.terms.values()))
        parts = []
        for monomial, coefficient in value.scaled(scale).terms.items():
            factors = [self._power(atom, power) for atom, power in monomial]
            number = [str(abs(coefficient))] if abs(coefficient) != 1 or not factors else []
            parts.append(f"{'-' if coefficient < 0 else '+'} {'*'.join([*number, *factors])}")
        text = " ".join(parts).removeprefix("+ ") or "0"
        return text if scale == 1 else f"whole({text}, {scale})"

    def _power(self, atom: Atom, power: int) -> str:
        if power < 1:
            raise NotWrittenError
        return self._atom(atom) if power == 1 else f"{self._atom(atom)}**{power}"

    def _atom(self, atom: Atom) -> str:
        match atom:
            case Symbol() if atom.name in self.names:
                return self.names[atom.name]
            case a.PositivePart():
                return f"max(0, {self.text(atom.argument)})"
            case a.CeilLog2():
                return f"levels({self.text(atom.argument)})"
            case a.Floor() if atom.modulus.is_constant and atom.modulus.constant_term.q == 1:
                return f"(({self.text(atom.argument)})//{atom.modulus.constant_term})"
            case a.Applied() if atom.function in self.functions:
                return f"{self.functions[atom.function]}({', '.join(map(self.text, atom.arguments))})"
            case _:
                raise NotWrittenError

    def condition(self, indicator: Poly) -> str:
        """Whether an indicator is 1."""
        known = condition(indicator)
        if known is None:
            return f"{self.text(indicator)} == 1"
        least, expected = known
        return self._positive(least) if expected else f"not {self._positive(least)}"

    def _positive(self, value: Poly) -> str:
        """Whether an integer is at least 1; of a maximum, whether what it is the larger of is, or both are."""
        maxima = [each for each in value.atoms() if isinstance(each, a.PositivePart)]
        for atom in maxima if len(maxima) <= MAX_MAXIMA else ():
            slope = value.terms.get(((atom, 1),))
            rest = value - Poly.of_atom(atom).scaled(slope or 0)
            if slope is not None and atom not in rest.atoms():
                both = map(self._positive, (rest, rest + atom.argument.scaled(slope)))
                return f"({(' or ' if slope > 0 else ' and ').join(both)})"
        more = value - 1
        left = Poly({monomial: number for monomial, number in more.terms.items() if number > 0})
        return f"{self.text(left)} >= {self.text(left - more)}"


def _ends(value: Poly) -> tuple[Poly, Poly] | None:
    """The two values that a value is the larger of, where these are no longer than what its maximum is of."""
    for atom in value.atoms():
        if isinstance(atom, a.PositivePart) and value.terms.get(((atom, 1),)) == 1:
            rest = value - Poly.of_atom(atom)
            other = rest + atom.argument
            if rest and len(other.terms) <= len(atom.argument.terms):
                return rest, other
    return None


@dataclass(frozen=True)
class CodedCase:
    """An equation: the conditions that lead to it, each with its outcome, and the statement that it then is."""

    outcomes: Sequence[tuple[str, bool]]
    statement: str


def outcomes(equation: Equation, writer: EquationWriter) -> list[tuple[str, bool]]:
    """The conditions that lead to an equation, each with its outcome."""
    return [(writer.condition(each.indicator), each.taken) for each in equation.decisions]


def written(cases: Sequence[CodedCase], otherwise: str, depth: int) -> list[str]:
    """The conditions and what follows from them, line by line. Raises NotWrittenError where that is long."""
    lines = list(islice(_tree(cases, {}, otherwise, depth), MAX_LINES))
    if len(lines) == MAX_LINES:
        raise NotWrittenError
    return lines


def _tree(cases: Sequence[CodedCase], known: Mapping[str, bool], otherwise: str, depth: int) -> Iterator[str]:
    """The conditions in their order, each asked once on every way, down to the case that applies."""
    if depth > DEEPEST:
        raise NotWrittenError
    space = " " * depth
    for case in cases:
        ask = None
        for question, taken in case.outcomes:
            if question not in known:
                ask = question
                break
            if known[question] != taken:
                break
        else:
            yield space + case.statement
            return
        if ask is not None:
            for head, outcome in ((f"if {ask}:", True), ("else:", False)):
                yield space + head
                yield from _tree(cases, {**known, ask: outcome}, otherwise, depth + 1)
            return
    yield space + otherwise
