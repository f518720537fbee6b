"""Read the header of an algorithm: its scope, its `where` facts, and the differences and ranges of its indices."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from math import prod
from random import Random

from archline.algebra import atoms as a
from archline.algebra import disjunctions
from archline.algebra.facts import Facts
from archline.algebra.polynomial import ONE, ZERO, Poly, Symbol
from archline.expr.solutions import SizeSearch
from archline.ir.amounts import KnownAmount
from archline.ir.conditions import NEGATED_OPERATORS, assume_facts, implied_constraints, subtract_sides
from archline.ir.scope import NotStaticError, Scope, floor_while_bound, known_value, static_value
from archline.language import syntax as s
from archline.language.checking.scopes import list_machine_symbols
from archline.language.iterations import list_iterations
from archline.language.model import Module
from archline.language.substitution import build_processor_count, express_facts_in_sizes, find_exact_divisions
from archline.records import record, replace

MAX_QUANTITIES = 4
MAX_LISTED_VALUES, MAX_VALUE_COMBINATIONS = 5, 64
"""Values of one index that are listed, and combinations of those of all indices."""
SPREADS = (3, 8, 24)
"""Lengths of the intervals, from the least value of an index on, from which its value is drawn."""


def declared_scope(module: Module, algorithm: s.Algorithm) -> Scope:
    """Build the scope at the start of an algorithm's body: its sizes, `where` facts and arrays.

    Its facts share no cached proofs with earlier scopes, so that results do not depend on earlier derivations.
    """
    scope = _build_declared_scope(module, algorithm)
    return scope.with_facts(scope.facts.without_cached_proofs())


@lru_cache(maxsize=128)
def _build_declared_scope(module: Module, algorithm: s.Algorithm) -> Scope:
    signature = module.signatures[algorithm]
    facts = Facts()
    values: dict[str, Poly] = {}
    for name in signature.size_names:
        facts = facts.with_symbol(name, (Poly.constant(signature.at_least[name]),))
        values[name] = Poly.symbol(name)
    for name in signature.indices:
        facts = facts.with_symbol(name)
        values[name] = Poly.symbol(name)
    for counted in list_iterations(module, algorithm):
        facts = facts.with_symbol(counted.name, (Poly.constant(counted.least),))
        values[counted.name] = Poly.symbol(counted.name)
    # Z comes last, so that facts about it are bounds of Z itself.
    redefined = s.find_assigned_names(algorithm.body).union(parameter.name for parameter in algorithm.parameters)
    for name in sorted(list_machine_symbols(signature), key=("P", "K", "L", "Z").index):
        facts = facts.with_symbol(name, (ONE,))
        if name not in redefined:
            values[name] = Poly.symbol(name)
    # On a grid P is a size like others.
    minimums = {**signature.at_least, "P": 1} if algorithm.grid else signature.at_least
    facts = _apply_divisibility_facts(facts, (*algorithm.where, *find_exact_divisions(algorithm)), minimums)
    values = {name: value.substitute(facts.rewrites) for name, value in values.items()}
    scope = Scope(module, facts, values, fixed=frozenset(facts.bounds), on_grid=bool(algorithm.grid))
    processors = build_processor_count(algorithm)
    if processors is not None:
        scope = scope.with_value("P", static_value(processors, scope))
    for fact in express_facts_in_sizes(algorithm):
        scope = assume_facts(scope, fact)
    return _with_array_properties(scope, algorithm)


@lru_cache(maxsize=128)
def bound_declared_iterations(module: Module, algorithm: s.Algorithm) -> Mapping[s.While | s.Loop, KnownAmount]:
    """Map the loops `while ... at most E times in total` of an algorithm to bounds of their iterations in a call of it.

    Loops whose iterations have a name by the author keep that.
    """
    totals = {
        loop: loop.total for loop in s.find_nodes(algorithm.body, s.While) if loop.total is not None and loop.chosen
    }
    result: dict[s.While | s.Loop, KnownAmount] = {}
    scope = declared_scope(module, algorithm) if totals else None
    for loop, total in totals.items():
        assert scope is not None
        with suppress(NotStaticError):
            most = floor_while_bound(static_value(total, scope), scope.facts)
            result[loop] = KnownAmount(ZERO, scope.facts.restore(scope.facts.positive_part(most)))
    return result


def _apply_divisibility_facts(facts: Facts, where: tuple[s.Fact, ...], at_least: Mapping[str, int]) -> Facts:
    """Add the facts of `where` on equal sizes, powers of 2 and divisors; a size n with b | n is rewritten as b*(n/b).

    `at_least` maps each size to its minimum.
    """
    facts = _substitute_equal_sizes(facts, where, at_least)
    later: list[tuple[str, Poly]] = []
    for fact in where:
        match fact:
            case s.Divides(divisor=s.Name(id=divisor), value=s.Name(id=name)) if (
                divisor != name and divisor in facts.bounds and facts.nonnegative(Poly.symbol(divisor))
            ):
                by = Poly.symbol(divisor)
            case s.IsPower(value=s.Name(id=name), base=s.Integer(value=base)) if base >= 2 and base.bit_count() == 1:
                if name in at_least and name not in facts.rewrites:
                    facts = facts.with_power_of_two(name, base.bit_length() - 1, 0 if at_least[name] <= 1 else 1)
                continue
            case s.Divides(divisor=s.Integer(value=number), value=s.Name(id=name)) if number > 1:
                by = Poly.constant(number)
            case s.Divides(divisor=s.Binary() as product, value=s.Name(id=name)) if (
                factors := _read_product(product, facts)
            ) is not None:
                by = factors
            case s.Divides(divisor=divisor, value=s.Binary() as product):
                # A divisor of b*g need divide neither b nor g.
                value, whole = _read_product(product, facts), _read_product(divisor, facts)
                facts = facts if value is None or whole is None else facts.with_divisible_product(value, whole)
                continue
            case _:
                continue
        # If b divides n and n divides b, the divisor may itself be rewritten in terms of n.
        written = by.substitute(facts.rewrites)
        if name not in at_least or name in written.names or written == ONE:
            continue
        if name in facts.rewrites:
            later.append((name, by))
        else:
            facts = facts.with_quotient(name, by, 1 if at_least[name] >= 1 else 0)
    for name, by in later:
        # A size is rewritten by one divisor only; its quotients by other divisors are recorded as integers.
        if len(facts.rewrites[name].terms) == 1 and facts.positive(by.substitute(facts.rewrites)):
            facts = facts.with_divisible_product(Poly.symbol(name), by, min(at_least[name], 1))
    return facts


def _substitute_equal_sizes(facts: Facts, where: tuple[s.Fact, ...], at_least: Mapping[str, int]) -> Facts:
    """Replace a size that equals a number or a product of other sizes, as in c == 1 or P == c^2, by that value.

    Z and L never replace a size, as counts do not depend on them.
    """
    for fact in where:
        match fact:
            case s.Binary(op="==", left=left, right=right):
                pairs = [(left, right), (right, left)]
            case _:
                continue
        for var, expr in pairs:
            value = Poly.constant(expr.value) if isinstance(expr, s.Integer) else _read_product(expr, facts)
            if not isinstance(var, s.Name) or value is None or not {var.id, *value.names} <= at_least.keys():
                continue
            value = value.substitute(facts.rewrites)
            if var.id in facts.rewrites or var.id in value.names or not facts.nonnegative(value - at_least[var.id]):
                continue
            facts = facts.with_value(var.id, value)
            break
    return facts


def _read_product(expr: s.Expr, facts: Facts) -> Poly | None:
    """Read a product of numbers and positive sizes, such as 2*b*g^2; None for other expressions."""
    match expr:
        case s.Name(id=name) if name in facts.bounds and facts.positive(Poly.symbol(name)):
            return Poly.symbol(name)
        case s.Integer(value=number) if number >= 1:
            return Poly.constant(number)
        case s.Binary(op="^", left=left, right=s.Integer(value=power)) if power >= 1:
            base = _read_product(left, facts)
            return None if base is None else base**power
        case s.Binary(op="*", left=left, right=right):
            first, second = _read_product(left, facts), _read_product(right, facts)
            return None if first is None or second is None else first * second
        case _:
            return None


def _with_array_properties(scope: Scope, algorithm: s.Algorithm) -> Scope:
    below: dict[str, Poly] = {}
    segments: dict[str, a.Segments] = {}
    for parameter in algorithm.parameters:
        try:
            match parameter.type:
                case s.IndexArrayType(below=bound):
                    below[parameter.name] = static_value(bound, scope)
                case s.OffsetsType(count=count, into=into, longest=longest):
                    bare = isinstance(longest, s.Name) and _binds_longest(scope.module, algorithm, longest.id)
                    segments[parameter.name] = a.Segments(
                        parameter.name,
                        static_value(count, scope),
                        static_value(into, scope),
                        None if longest is None else static_value(longest, scope),
                        bare,
                    )
                case s.SizeType() | s.IndexType() | s.ScalarType() | s.OperatorType() | s.ArrayType():
                    pass
        except NotStaticError:
            continue
    facts = scope.facts
    for segment in segments.values():
        if segment.longest is not None and segment.attained:
            facts = facts.with_nonnegative(segment.total - segment.longest)
    return replace(scope, facts=facts, below=below, segments=segments)


def _binds_longest(module: Module, algorithm: s.Algorithm, name: str) -> bool:
    signature = module.signatures[algorithm]
    return any(binding.name == name and binding.by.name == "LONGEST" for binding in signature.sizes)


@record
class IndexProperties:
    """Properties of the indices of an algorithm.

    `quantities` are linear expressions that do not change if all indices are shifted by one distance; `facts` are
    expressions promised to be nonnegative; `ranges` maps each index with few possible values to these.
    """

    quantities: tuple[Poly, ...]
    facts: tuple[Poly, ...]
    ranges: Mapping[str, range]

    def draw(
        self,
        search: SizeSearch,
        sizes: Collection[str],
        random: Random,
        origins: Sequence[int] = (0,),
        spreads: Sequence[int] = SPREADS,
    ) -> dict[str, int] | None:
        """Draw sizes and indices at random, near the least values that the choices before allow; None if none fit.

        An index without a least value is one of `origins`; a size exceeds its least value by one of `origins`.
        """

        def draw_value(name: str, low: int | None, high: int | None) -> int:
            if name in self.ranges:
                return random.choice(self.ranges[name])
            distance = random.choice(origins if name in sizes or low is None else spreads)
            return (low or 0) + (distance if name in sizes or low is None else int(random.random() ** 2 * distance))

        return search.solve(draw_value)


def read_index_properties(algorithm: s.Algorithm, scope: Scope) -> IndexProperties:
    """Read the properties of indices from the header, and from sums and comparisons in the body."""
    promised = (
        disjunctions.split_into_disjuncts(value)
        for fact in algorithm.where
        for value in implied_constraints(fact, scope)
    )
    facts = tuple(
        value
        for alternatives in promised
        if alternatives is not None and len(alternatives) == 1
        for value in alternatives[0]
    )
    machine = list_machine_symbols(scope.module.signatures[algorithm])
    indices = frozenset(name for name in scope.fixed if name not in machine)
    return IndexProperties(_find_index_differences(algorithm, scope, indices), facts, _find_small_ranges(facts))


def _find_index_differences(algorithm: s.Algorithm, scope: Scope, indices: frozenset[str]) -> tuple[Poly, ...]:
    """Find up to MAX_QUANTITIES sums and comparisons in a program whose values a shift of all indices leaves equal."""
    result: dict[Poly, None] = {}
    for node in s.iterate_nodes((algorithm.where, algorithm.decreases, algorithm.body)):
        value = _evaluate_sum_or_comparison(node, scope)
        if value is None:
            continue
        value = value - value.constant_term
        if _is_shift_invariant(value, indices) and -value not in result:
            result[value] = None
    return tuple(result)[:MAX_QUANTITIES]


def _evaluate_sum_or_comparison(node: object, scope: Scope) -> Poly | None:
    """Evaluate a sum or a difference, or the difference of the sides of a comparison; None for other nodes."""
    match node:
        case s.Binary(op="+" | "-"):
            return known_value(node, scope)
        case s.Binary(op=op) if op in NEGATED_OPERATORS:
            return subtract_sides(node, scope)
        case _:
            return None


def _is_shift_invariant(value: Poly, indices: frozenset[str]) -> bool:
    """Test whether a value is linear in indices alone, with coefficients that add up to 0."""
    linear = all(
        len(monomial) == 1 and isinstance(monomial[0][0], Symbol) and monomial[0][1] == 1 for monomial in value.terms
    )
    return bool(value) and linear and value.names <= indices and not sum(value.terms.values())


def _find_small_ranges(facts: tuple[Poly, ...]) -> dict[str, range]:
    """Map each index between two constants to its range, within MAX_LISTED_VALUES and MAX_VALUE_COMBINATIONS."""
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
    result: dict[str, range] = {}
    for name in sorted(low.keys() & high.keys()):
        values = range(low[name], high[name] + 1)
        if len(values) <= MAX_LISTED_VALUES and prod(map(len, (*result.values(), values))) <= MAX_VALUE_COMBINATIONS:
            result[name] = values
    return result
