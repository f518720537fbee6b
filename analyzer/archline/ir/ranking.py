"""What a declaration says of indices: the differences it speaks of, the facts it promises, values to try."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from math import prod
from random import Random

from archline.algebra.disjunctions import conjunctions
from archline.algebra.evaluate.exact import EvaluationError, evaluate
from archline.algebra.facts import Facts
from archline.algebra.polynomial import Poly, Symbol
from archline.ir.scope import OPPOSITE, NotStaticError, Scope, never_negative, static_value
from archline.language import syntax as s
from archline.language.checking.scopes import machine_symbols
from archline.records import record

MAX_QUANTITIES = 4
MAX_RANGE, MAX_CHOICES = 5, 64
SPREADS = (3, 8, 24)


@record
class Declaration:
    """`quantities`: linear, and the same wherever the indices are moved to. `facts`: values that are >= 0.

    `ranges`: the indices that have only a few values.
    """

    quantities: tuple[Poly, ...]
    facts: tuple[Poly, ...]
    ranges: Mapping[str, range]

    def drawn(
        self,
        names: Sequence[str],
        sizes: Collection[str],
        facts: Facts,
        random: Random,
        origins: Sequence[int] = (),
        spreads: Sequence[int] = SPREADS,
    ) -> dict[str, int]:
        """Sizes, and indices at random, near the least that the ones before allow; 0 where these do not matter.

        Where they do, indices without a least are at an origin, and sizes as far above theirs.
        """
        found: dict[str, int] = {}
        for name in names:
            least = _least(facts, name, found)
            if name in self.ranges:
                found[name] = random.choice(self.ranges[name])
            elif name in sizes or least is None:
                found[name] = (least or 0) + (random.choice(origins) if origins else 0)
            else:
                found[name] = least + int(random.random() ** 2 * random.choice(spreads))
        return found


def _least(facts: Facts, name: str, found: Mapping[str, int]) -> int | None:
    limits = []
    for bound in facts.bounds[name].lower:
        try:
            limits.append(int(evaluate(bound, found)))
        except EvaluationError:
            continue
    return max(limits, default=None)


def declaration(algorithm: s.Algorithm, scope: Scope) -> Declaration:
    """What is said in the header and in the conditions of the body; `scope` is that of the header."""
    facts = tuple(value for fact in algorithm.where for value in _promised(fact, scope))
    machine = machine_symbols(scope.module.signatures[algorithm])
    indices = frozenset(name for name in scope.fixed if name not in machine)
    return Declaration(_quantities(algorithm, scope, indices), facts, _ranges(facts))


def _promised(fact: s.Fact, scope: Scope) -> Iterator[Poly]:
    match fact:
        case s.Binary(op="and", left=left, right=right):
            yield from _promised(left, scope)
            yield from _promised(right, scope)
        case s.Binary(op=op, left=left, right=right) if op in OPPOSITE:
            try:
                difference = static_value(left, scope) - static_value(right, scope)
            except NotStaticError:
                return
            for value in never_negative(op, difference):
                ways = conjunctions(value)
                if len(ways) == 1:
                    yield from ways[0]
        case _:
            pass


def _quantities(algorithm: s.Algorithm, scope: Scope, indices: frozenset[str]) -> tuple[Poly, ...]:
    found: dict[Poly, None] = {}
    for node in s.nodes((algorithm.where, algorithm.decreases, algorithm.body)):
        value = _linear_in(node, scope)
        if value is None:
            continue
        value = value - value.constant_term
        if _is_difference(value, indices) and -value not in found:
            found[value] = None
    return tuple(found)[:MAX_QUANTITIES]


def _linear_in(node: object, scope: Scope) -> Poly | None:
    """What a sum is, or a comparison compares with 0."""
    try:
        match node:
            case s.Binary(op="+" | "-"):
                return static_value(node, scope)
            case s.Binary(op=op, left=left, right=right) if op in OPPOSITE:
                return static_value(left, scope) - static_value(right, scope)
            case _:
                pass
    except NotStaticError:
        pass
    return None


def _is_difference(value: Poly, indices: frozenset[str]) -> bool:
    """Whether it is linear and stays the same where all indices in it grow alike."""
    linear = all(
        len(monomial) == 1 and isinstance(monomial[0][0], Symbol) and monomial[0][1] == 1 for monomial in value.terms
    )
    return bool(value) and linear and value.names <= indices and not sum(value.terms.values())


def _ranges(facts: tuple[Poly, ...]) -> dict[str, range]:
    """The indices between two numbers that are not far apart."""
    low: dict[str, int] = {}
    high: dict[str, int] = {}
    for value in facts:
        match value.atoms():
            case atoms if len(atoms) == 1 and isinstance(atom := next(iter(atoms)), Symbol) and value.degree(atom) == 1:
                slope = value.coefficients(atom)[1].constant_term
                limit = -value.constant_term / slope
                if slope > 0:
                    low[atom.name] = max(int(limit.ceil()), low.get(atom.name, int(limit.ceil())))
                else:
                    high[atom.name] = min(int(limit.floor()), high.get(atom.name, int(limit.floor())))
            case _:
                pass
    found: dict[str, range] = {}
    for name in sorted(low.keys() & high.keys()):
        values = range(low[name], high[name] + 1)
        if len(values) <= MAX_RANGE and prod(map(len, (*found.values(), values))) <= MAX_CHOICES:
            found[name] = values
    return found
