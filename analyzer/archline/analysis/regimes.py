"""From one expression with conditions on sizes in it to bounds by regimes: one for each way that they turn out.

Where an integer e is at least 1, max(0, e) - max(0, e - 1) is 1, and 0 elsewhere. What a recursive algorithm costs is
written with such differences for those that call it.
"""

from __future__ import annotations

from collections.abc import Iterator

from archline.algebra import atoms as a
from archline.algebra.disjunctions import Knowledge
from archline.algebra.facts import Facts
from archline.algebra.polynomial import ZERO, Atom, Poly, Symbol
from archline.algebra.printing import to_tree
from archline.analysis.cost import Cost, Regime
from archline.expr import build as b
from archline.language import syntax as s
from archline.records import record, replace

MAX_REGIMES = 12


@record
class _Part:
    """Bounds `where` facts hold, and what is known there."""

    lower: Poly
    upper: Poly
    known: Knowledge
    names: tuple[str, ...]
    where: tuple[s.Fact, ...] = ()

    @property
    def condition(self) -> Poly | None:
        """The shortest integer e of which a bound holds max(0, e) - max(0, e - 1)."""
        found = {
            atom.argument
            for bound in (self.lower, self.upper)
            for atom in bound.atoms()
            if isinstance(atom, a.PositivePart) and self._is_plain(atom) and _factor(bound, atom.argument)
        }
        return min(found, key=lambda each: (len(each.key), each.key), default=None)

    def _is_plain(self, atom: Atom) -> bool:
        """Whether an atom is made of sizes by adding and comparing them."""
        if isinstance(atom, Symbol):
            return atom.name in self.names
        return isinstance(atom, a.PositivePart) and all(map(self._is_plain, atom.argument.atoms()))

    def split(self, condition: Poly) -> Iterator[_Part]:
        """The part where an integer is at most 0, and where it is at least 1, as far as either can be."""
        size = condition - condition.constant_term
        limit = int(-condition.constant_term.p)
        written = to_tree(size, self.names)
        ways = (
            (-condition, b.binary("<=", written, b.number(limit))),
            (condition - 1, b.binary(">=", written, b.number(limit + 1))),
        )
        known = [self.known.learn([(value,)]) for value, _ in ways]
        for holds, (now, (_, fact)) in enumerate(zip(known, ways, strict=True)):
            if now is not None:
                lower, upper = (
                    now.facts.simplify(_decided(each, condition, holds)) for each in (self.lower, self.upper)
                )
                yield replace(
                    self,
                    lower=lower,
                    upper=upper,
                    known=now,
                    where=self.where if None in known else (*self.where, fact),
                )


def with_regimes(cost: Cost, facts: Facts, names: tuple[str, ...]) -> Cost:
    """The cost with regimes, if it has none and its bounds hold conditions on the sizes, which have these names."""
    if cost.regimes or cost.lower is None or cost.upper is None or facts.rewrites:
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
    parts[-1] = replace(parts[-1], where=())
    regimes = (Regime(each.where, (each.known.facts,), each.lower, each.upper) for each in parts)
    return replace(cost, regimes=tuple(regimes))


def _factor(value: Poly, condition: Poly) -> Poly:
    """The c of a value that is c*(max(0, e) - max(0, e - 1)) and a rest without them; 0 where it is no such value."""
    above, below = (value.coefficients(a.PositivePart(each)) for each in (condition, condition - 1))
    if not a.is_integral(condition) or not {0, 1} >= set(above) | set(below) or 1 not in above or 1 not in below:
        return ZERO
    return ZERO if above[1] + below[1] else above[1]


def _decided(value: Poly, condition: Poly, holds: int) -> Poly:
    """The value where the condition is known to hold, or not to."""
    factor = _factor(value, condition)
    difference = Poly.of_atom(a.PositivePart(condition)) - Poly.of_atom(a.PositivePart(condition - 1))
    return value - factor * (difference - holds)
