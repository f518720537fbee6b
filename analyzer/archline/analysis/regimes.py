"""From one expression with conditions on sizes in it to bounds by regimes: one for each way that they turn out.

Where an integer e is at least 1, max(0, e) - max(0, e - 1) is 1, and 0 elsewhere. With such differences is written what
branches cost that the sizes choose, and what a recursive algorithm costs those that call it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from archline.algebra import atoms as a
from archline.algebra.disjunctions import Knowledge
from archline.algebra.facts import Facts
from archline.algebra.polynomial import ONE, ZERO, Atom, Poly, Symbol
from archline.algebra.printing import to_tree
from archline.analysis.bounds import Piece, Region, build_piece
from archline.analysis.cost import Cost
from archline.expr import build as b
from archline.language import syntax as s
from archline.records import record, replace

MAX_REGIMES = 12
NOTHING = Facts()
MIRRORED = {">=": "<=", ">": "<", "==": "=="}


@record
class _Part:
    """Bounds where all `conditions` are at least 0, and what is known there."""

    lower: Poly
    upper: Poly
    known: Knowledge
    names: tuple[str, ...]
    conditions: tuple[Poly, ...] = ()

    @property
    def condition(self) -> Poly | None:
        """The shortest integer e of which a bound holds max(0, e) - max(0, e - 1)."""
        found = {
            atom.argument
            for bound in (self.lower, self.upper)
            for atom in bound.atoms()
            if isinstance(atom, a.PositivePart) and self._is_plain(atom) and self._decides(bound, atom.argument)
        }
        return min(found, key=lambda each: (len(each.key), each.key), default=None)

    def _is_plain(self, atom: Atom) -> bool:
        """Whether an atom is made of sizes by adding and comparing them."""
        if isinstance(atom, Symbol):
            return atom.name in self.names
        return isinstance(atom, a.PositivePart) and all(map(self._is_plain, atom.argument.atoms()))

    def _decides(self, bound: Poly, condition: Poly) -> bool:
        """Whether a bound is c*(max(0, e) - max(0, e - 1)) and a rest, or has fewer maxima in both parts together.

        max(0, e) stands for the difference where e is 1 at most.
        """
        if _factor(bound, condition):
            return True
        if not a.is_integral(condition):
            return False
        if a.PositivePart(condition - 1) not in bound.atoms() and not self.known.facts.nonnegative(1 - condition):
            return False
        parts = (replace(self, lower=bound, upper=bound), *replace(self, lower=bound, upper=bound).split(condition))
        whole, *found = [_maxima(each.upper) for each in parts]
        return sum(found) < whole

    def split(self, condition: Poly) -> Iterator[_Part]:
        """The part where an integer is at most 0, and where it is at least 1, as far as either can be."""
        ways = (-condition, condition - 1)
        known = [self.known.learn([(value,)]) for value in ways]
        for holds, (now, value) in enumerate(zip(known, ways, strict=True)):
            if now is not None:
                lower, upper = (
                    now.facts.simplify(_decided(each, condition, bool(holds))) for each in (self.lower, self.upper)
                )
                conditions = self.conditions if None in known else (*self.conditions, value)
                yield _Part(lower, upper, now, self.names, conditions)


def with_regimes(cost: Cost, facts: Facts, names: tuple[str, ...]) -> Cost:
    """The cost by cases, if it has none and its bounds hold conditions on the sizes, which have these names."""
    if cost.by_case or cost.lower is None or cost.upper is None or facts.rewrites:
        return cost
    pending, parts = [_Part(cost.lower, cost.upper, Knowledge(facts), names)], list[_Part]()
    while pending:
        part = pending.pop()
        condition = part.condition
        if condition is None:
            parts.append(part)
        else:
            pending.extend(reversed(list(part.split(condition))))
        if len(pending) + len(parts) > MAX_REGIMES:
            return cost
    if len(parts) < 2:
        return cost
    pieces = [_build_piece(part, tuple(_needed(part.conditions, facts)), part is parts[-1]) for part in parts]
    return replace(cost, bounds=tuple(bound for piece in pieces for bound in piece.bounds))


def _build_piece(part: _Part, conditions: tuple[Poly, ...], last: bool) -> Piece:
    """Make the piece of a part, where equal sizes are written as one; of the last one no conditions are written."""
    lower, upper = part.lower, part.upper
    for value in conditions:
        alone = [name for name in part.names if value.coefficients(Symbol(name)).get(1) in (ONE, -ONE)]
        if -value in conditions and alone:
            equal = {alone[-1]: Poly.symbol(alone[-1]) - value * value.coefficients(Symbol(alone[-1]))[1]}
            lower, upper = (part.known.facts.simplify(each.substitute(equal)) for each in (lower, upper))
    written = tuple if last else partial(_written, conditions)
    return build_piece(Region(conditions, (part.known.facts,), written), lower, upper)


def comparisons(conditions: Sequence[Poly]) -> tuple[s.Expr, ...]:
    """Comparisons that say that all values are at least 0, without those that follow from the others."""
    return _written(_needed(conditions))


def _written(conditions: Sequence[Poly]) -> tuple[s.Expr, ...]:
    """A comparison for each of some integers that are at least 0, and one for two that are 0 together."""
    once = [each for place, each in enumerate(conditions) if -each not in conditions[:place]]
    return tuple(_comparison(each, "==" if -each in conditions else ">=") for each in once)


def _needed(conditions: Sequence[Poly], facts: Facts = NOTHING) -> list[Poly]:
    """The conditions, each that something is at least 0, without those that follow from the others and the facts."""
    kept = list(dict.fromkeys(conditions))
    for each in conditions:
        others = [other for other in kept if other != each]
        if each in kept and _follows(facts, others, each):
            kept = others
    return kept


def _follows(facts: Facts, known: Sequence[Poly], value: Poly) -> bool:
    """Whether a value is at least 0 where others are."""
    for name in sorted(value.names.union(*(each.names for each in known)) - facts.bounds.keys()):
        facts = facts.with_symbol(name)
    learned = Knowledge(facts).learn([tuple(known)])
    return learned is None or learned.facts.nonnegative(value)


def _comparison(value: Poly, relation: str) -> s.Expr:
    """`n > m` for an integer n - m - 1 that is at least 0, `n <= 2*m` for 2*m - n; or an equation."""
    value = value.scaled(1 / a.compute_content(value))
    above = value.positive_terms()
    below = above - value
    strict = relation == ">=" and below.constant_term == 1 and not below.is_constant and a.is_integral(value)
    left, right = to_tree(above), to_tree(below - 1 if strict else below)
    match left, right:
        case s.Name(id=larger), s.Name(id=smaller):
            mirrored = smaller < larger
        case _:
            mirrored = above.is_constant or isinstance(right, s.Name)
    relation = relation.replace("=", "") if strict else relation
    return b.binary(MIRRORED[relation], right, left) if mirrored else b.binary(relation, left, right)


def _maxima(value: Poly) -> int:
    """How many terms have a maximum of sizes."""
    return sum(any(isinstance(atom, a.PositivePart) for atom, _ in monomial) for monomial in value.terms)


def _factor(value: Poly, condition: Poly) -> Poly:
    """The c of a value that is c*(max(0, e) - max(0, e - 1)) and a rest without them; 0 where it is no such value."""
    above, below = (value.coefficients(a.PositivePart(each)) for each in (condition, condition - 1))
    if not a.is_integral(condition) or not {0, 1} >= set(above) | set(below) or 1 not in above or 1 not in below:
        return ZERO
    return ZERO if above[1] + below[1] else above[1]


def _decided(value: Poly, condition: Poly, holds: bool) -> Poly:
    """The value where an integer is at least 1, or at most 0."""
    # A maximum inside another one may leave the larger of both.
    for each in (condition - 1, condition):
        value = value.with_atom(a.PositivePart(each), each if holds else ZERO)
    return value
