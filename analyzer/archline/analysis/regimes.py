"""Split an expression that contains conditions on sizes into bounds by regimes: one for each outcome of the conditions.

For an integer e, max(0, e) - max(0, e - 1) is 1 if e is at least 1, else 0. Such differences occur in the costs of
branches that the sizes choose, and in those of calls of recursive algorithms.
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
NO_FACTS = Facts()
MIRRORED_RELATIONS = {">=": "<=", ">": "<", "==": "=="}


@record
class _ConditionalBounds:
    """Bounds where all `conditions` are at least 0, with the facts `known` there and the `names` of the sizes."""

    lower: Poly
    upper: Poly
    known: Knowledge
    names: tuple[str, ...]
    conditions: tuple[Poly, ...] = ()

    @property
    def split_condition(self) -> Poly | None:
        """The shortest integer e at which a split simplifies a bound; None if there is none."""
        arguments = {
            atom.argument
            for bound in (self.lower, self.upper)
            for atom in bound.atoms()
            if isinstance(atom, a.PositivePart)
            and self._is_built_from_sizes(atom)
            and self._is_simplified_by_split(bound, atom.argument)
        }
        return min(arguments, key=lambda argument: (len(argument.key), argument.key), default=None)

    def _is_built_from_sizes(self, atom: Atom) -> bool:
        """Test whether an atom is built from sizes by sums and comparisons."""
        if isinstance(atom, Symbol):
            return atom.name in self.names
        return isinstance(atom, a.PositivePart) and all(map(self._is_built_from_sizes, atom.argument.atoms()))

    def _is_simplified_by_split(self, bound: Poly, condition: Poly) -> bool:
        """Test whether a split at e = `condition` simplifies a bound.

        It does if the bound has the form c*(max(0, e) - max(0, e - 1)) + rest, or if both parts together have fewer
        maxima. If e is at most 1, the difference is max(0, e) alone.
        """
        if _find_indicator_factor(bound, condition):
            return True
        if not a.is_integral(condition):
            return False
        if a.PositivePart(condition - 1) not in bound.atoms() and not self.known.facts.nonnegative(1 - condition):
            return False
        parts = (replace(self, lower=bound, upper=bound), *replace(self, lower=bound, upper=bound).split(condition))
        whole, *counts = [_count_terms_with_maxima(part.upper) for part in parts]
        return sum(counts) < whole

    def split(self, condition: Poly) -> Iterator[_ConditionalBounds]:
        """Yield the bounds where the integer `condition` is <= 0 and where it is >= 1, without impossible cases."""
        signs = (-condition, condition - 1)
        learned = [self.known.assume_disjunction([(value,)]) for value in signs]
        for holds, (side, value) in enumerate(zip(learned, signs, strict=True)):
            if side is not None:
                lower, upper = (
                    side.facts.simplify(_substitute_outcome(bound, condition, bool(holds)))
                    for bound in (self.lower, self.upper)
                )
                conditions = self.conditions if None in learned else (*self.conditions, value)
                yield _ConditionalBounds(lower, upper, side, self.names, conditions)


def split_into_regimes(cost: Cost, facts: Facts, names: tuple[str, ...]) -> Cost:
    """Split the bounds of a cost by the conditions on the sizes `names` in them; a cost with cases stays unchanged."""
    if cost.by_case or cost.lower is None or cost.upper is None or facts.rewrites:
        return cost
    pending, parts = [_ConditionalBounds(cost.lower, cost.upper, Knowledge(facts), names)], list[_ConditionalBounds]()
    while pending:
        part = pending.pop()
        condition = part.split_condition
        if condition is None:
            parts.append(part)
        else:
            pending.extend(reversed(list(part.split(condition))))
        if len(pending) + len(parts) > MAX_REGIMES:
            return cost
    if len(parts) < 2:
        return cost
    pieces = [
        _build_piece(part, tuple(_drop_implied_conditions(part.conditions, facts)), part is parts[-1]) for part in parts
    ]
    return replace(cost, bounds=tuple(bound for piece in pieces for bound in piece.bounds))


def _build_piece(part: _ConditionalBounds, conditions: tuple[Poly, ...], last: bool) -> Piece:
    """Make the piece of one part of the sizes; of sizes that are equal in it, only one occurs in the bounds.

    The `last` piece is written without conditions, as it has all remaining sizes.
    """
    lower, upper = part.lower, part.upper
    for value in conditions:
        alone = [name for name in part.names if value.coefficients(Symbol(name)).get(1) in (ONE, -ONE)]
        if -value in conditions and alone:
            equal = {alone[-1]: Poly.symbol(alone[-1]) - value * value.coefficients(Symbol(alone[-1]))[1]}
            lower, upper = (part.known.facts.simplify(bound.substitute(equal)) for bound in (lower, upper))
    written = tuple if last else partial(_build_comparisons, conditions)
    return build_piece(Region(conditions, (part.known.facts,), written), lower, upper)


def build_needed_comparisons(conditions: Sequence[Poly]) -> tuple[s.Expr, ...]:
    """Build comparisons that state that all `conditions` are at least 0, without comparisons that the rest imply."""
    return _build_comparisons(_drop_implied_conditions(conditions))


def _build_comparisons(conditions: Sequence[Poly]) -> tuple[s.Expr, ...]:
    """Build a comparison for each integer that is at least 0; c and -c together become the equation of c with 0."""
    once = [condition for place, condition in enumerate(conditions) if -condition not in conditions[:place]]
    return tuple(_build_comparison(condition, "==" if -condition in conditions else ">=") for condition in once)


def _drop_implied_conditions(conditions: Sequence[Poly], facts: Facts = NO_FACTS) -> list[Poly]:
    """Drop those of `conditions`, expressions that are at least 0, for which this follows from the rest."""
    remaining = list(dict.fromkeys(conditions))
    for condition in conditions:
        rest = [candidate for candidate in remaining if candidate != condition]
        if condition in remaining and _is_implied(facts, rest, condition):
            remaining = rest
    return remaining


def _is_implied(facts: Facts, known: Sequence[Poly], value: Poly) -> bool:
    """Test whether a value is at least 0 if all `known` ones are."""
    for name in sorted(value.names.union(*(condition.names for condition in known)) - facts.bounds.keys()):
        facts = facts.with_symbol(name)
    learned = Knowledge(facts).assume_disjunction([tuple(known)])
    return learned is None or learned.facts.nonnegative(value)


def _build_comparison(value: Poly, relation: str) -> s.Expr:
    """Build the comparison of a value with 0: `n > m` for n - m - 1 >= 0, `n <= 2*m` for 2*m - n >= 0."""
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
    return b.binary(MIRRORED_RELATIONS[relation], right, left) if mirrored else b.binary(relation, left, right)


def _count_terms_with_maxima(value: Poly) -> int:
    """Count the terms that have a factor max(0, e)."""
    return sum(any(isinstance(atom, a.PositivePart) for atom, _ in monomial) for monomial in value.terms)


def _find_indicator_factor(value: Poly, condition: Poly) -> Poly:
    """Return c if a value is c*(max(0, e) - max(0, e - 1)) + rest, the rest without these maxima; 0 otherwise."""
    above, below = (value.coefficients(a.PositivePart(argument)) for argument in (condition, condition - 1))
    if not a.is_integral(condition) or not {0, 1} >= set(above) | set(below) or 1 not in above or 1 not in below:
        return ZERO
    return ZERO if above[1] + below[1] else above[1]


def _substitute_outcome(value: Poly, condition: Poly, holds: bool) -> Poly:
    """Simplify a value by an integer `condition` that is at least 1 if it `holds`, else at most 0."""
    # A maximum inside another one may leave the larger of both.
    for argument in (condition - 1, condition):
        value = value.replace_atom(a.PositivePart(argument), argument if holds else ZERO)
    return value
