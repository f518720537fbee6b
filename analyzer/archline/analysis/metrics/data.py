"""Bound data-dependent costs in sizes: at the end of an algorithm, at calls, and after an `assume`.

Integers in an `assume` are symbols from there to the end of their block, with the bounds that it gives them. `assume
(c - 1)*b <= 2*w` bounds c only roughly, but c*b well: the costs of a statement are first written with c, and in each
term c is then replaced by the bound that suits it. Bounds of c do not leave the block.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import permutations
from types import UnionType

from archline.algebra import atoms as a
from archline.algebra.bounds import Bounds
from archline.algebra.facts import Facts
from archline.algebra.polynomial import ZERO, Atom, Monomial, Poly, Symbol
from archline.algebra.relax import replace_atoms_by_bounds
from archline.analysis.metrics.tally import Tally
from archline.ir.amounts import Amount, KnownAmount, UnknownAmount, map_bounds
from archline.ir.conditions import implied_constraints
from archline.ir.max_plus import MaxPlusMap, serial_map
from archline.ir.scope import Scope
from archline.language import syntax as s
from archline.language.checking.scopes import MACHINE_SYMBOLS
from archline.numbers import fmpq


def bind_assumed_integers(
    facts: tuple[s.Fact, ...], before: Sequence[s.Stmt], rest: Sequence[s.Stmt], scope: Scope
) -> Scope:
    """Return the scope after an `assume`: integers in it that keep their values from there on become symbols.

    `before` are the statements of the block before the `assume`; `rest` are the `assume` and those after it.
    """
    # Integers of this block that no later statement assigns.
    integers = {statement.integer_register for statement in before if statement.integer_register}
    settled = integers - s.find_assigned_names(tuple(rest)).union(MACHINE_SYMBOLS)
    names = sorted(name for name in settled & s.find_names(facts) if name not in scope.values)
    for name in names:
        scope = scope.with_value(name, Poly.symbol(name)).with_facts(scope.facts.with_symbol(name))
    scope = replace(scope, settled=scope.settled | set(names))
    for fact in facts if names else ():
        for value in implied_constraints(fact, replace(scope, reads_offsets=True)):
            for name in names:
                scope = scope.with_facts(_with_linear_bound(value, name, scope.facts))
    return scope


def _with_linear_bound(value: Poly, name: str, facts: Facts) -> Facts:
    """Add the bound of an integer that a nonnegative value implies, if it is linear in the integer.

    The factor of the integer must be a number times powers 2^x; other values leave the facts unchanged.
    """
    parts = value.coefficients(Symbol(name))
    if set(parts) - {0, 1} or 1 not in parts or len(parts[1].terms) != 1:
        return facts
    ((monomial, coefficient),) = parts[1].terms.items()
    if not all(isinstance(atom, a.Exponential) for atom, _ in monomial):
        return facts
    inverse: Monomial = tuple((atom, -power) for atom, power in monomial)
    bound = -parts.get(0, ZERO) * Poly({inverse: 1 / coefficient})
    prior = facts.bounds[name]
    changed = (
        Bounds((*prior.lower, bound), prior.upper) if coefficient > 0 else Bounds(prior.lower, (*prior.upper, bound))
    )
    return facts.with_bounds({**facts.bounds, name: changed})


def bound_settled_integers(tally: Tally, scope: Scope) -> Tally:
    """Replace the integers that an `assume` made symbols by their bounds, in the costs of a statement."""

    def bound_amount(amount: Amount) -> Amount:
        for name in sorted(scope.settled):
            amount = _bound_integer(amount, name, scope.facts)
        return amount

    def bound_path(path: MaxPlusMap) -> MaxPlusMap:
        if path.serial:
            return serial_map(bound_amount(path.finish))
        joined = None if path.joined is None else bound_amount(path.joined)
        return MaxPlusMap(
            bound_amount(path.advance), bound_amount(path.finish), joined, bound_amount(path.kept), path.certain
        )

    return tally.map(bound_amount, bound_path)


def _bound_integer(amount: Amount, name: str, facts: Facts) -> Amount:
    if isinstance(amount, UnknownAmount) or name not in amount.lower.names | amount.upper.names:
        return amount
    lower, upper = (
        _bound_without_integer(amount.lower, name, facts, False),
        _bound_without_integer(amount.upper, name, facts, True),
    )
    if upper is None:
        return UnknownAmount(f"depends on the data value `{name}`; add an `assume` that bounds it")
    if lower is None or facts.nonnegative(_drop_offset_differences(lower, facts)):
        return KnownAmount(lower or ZERO, upper)
    return KnownAmount(facts.positive_part(lower), upper)


def _drop_offset_differences(value: Poly, facts: Facts) -> Poly:
    """Drop nonnegative summands of the form c*(array[e + w] - array[e]), with w >= 0 and c > 0, from a value."""
    entries = sorted((atom for atom in value.atoms() if isinstance(atom, a.Offset)), key=str)
    for low, high in permutations(entries, 2):
        less, more = (value.terms.get(((atom, 1),), fmpq(0)) for atom in (low, high))
        if less < 0 and more >= -less and low.segments == high.segments and facts.nonnegative(high.index - low.index):
            value = value + (Poly.of_atom(high) - Poly.of_atom(low)).scaled(less)
    return value


def _bound_without_integer(value: Poly, name: str, facts: Facts, upper: bool) -> Poly | None:
    """Bound a value by one without the integer `name`; None if no bound is found.

    Inside other atoms it is replaced by its bounds without divisions, elsewhere term by term.
    """
    symbol = Symbol(name)
    bounds = facts.bounds[name]
    whole = facts.with_bounds(
        {
            **facts.bounds,
            name: Bounds(tuple(filter(_has_no_division, bounds.lower)), tuple(filter(_has_no_division, bounds.upper))),
        }
    )

    def nested_symbol(value: Poly) -> Atom | None:
        return symbol if any(atom != symbol and name in atom.names for atom in value.atoms()) else None

    bounded = replace_atoms_by_bounds(value, nested_symbol, whole, upper)
    return None if bounded is None else _bound_by_terms(bounded, symbol, facts, upper)


def _bound_by_terms(value: Poly, symbol: Symbol, facts: Facts, upper: bool) -> Poly | None:
    total = ZERO
    ends = facts.bounds[symbol.name]
    for monomial, coefficient in value.terms.items():
        rest = tuple(pair for pair in monomial if pair[0] != symbol)
        factor = Poly({rest: coefficient})
        match dict(monomial).get(symbol, 0):
            case 0:
                total = total + factor
            case 1 if all(facts.nonnegative(Poly.of_atom(atom)) for atom, _ in rest):
                bounds = ends.upper if upper == (coefficient > 0) else ends.lower
                terms = [factor * bound for bound in sorted(bounds, key=_has_no_division)]
                if not terms:
                    return None
                total = total + next(filter(_has_no_division, terms), terms[0])
            case _:
                return None
    return total


def _has_no_division(value: Poly) -> bool:
    """Test whether no term of a value has a factor with a negative exponent."""
    return all(power > 0 for monomial in value.terms for _, power in monomial)


_AtomKinds = type[Atom] | UnionType


def amount_at_sizes(amount: Amount, sizes: Mapping[str, Poly], facts: Facts, call: s.Call) -> Amount:
    """Express an amount of a callee in the sizes of the caller: `sizes` are the callee's sizes at the call."""
    moved = map_bounds(amount, lambda value: facts.simplify(value.substitute(sizes)))
    if isinstance(moved, UnknownAmount):
        return UnknownAmount(moved.reason, moved.span or call.span)
    # Segments of the caller's arrays stay: the loops around the call sum them.
    return _bound_amount_without_kinds(a.Data, moved, facts, f"a data-dependent size of `{call.function}`", call)


def express_in_sizes(amount: Amount, facts: Facts, algorithm: s.Algorithm) -> Amount:
    """Express an amount at the end of an algorithm in its sizes alone, without values of data."""
    if isinstance(amount, UnknownAmount):
        return amount
    settled = map_bounds(amount, lambda value: facts.restore(facts.simplify(value)))
    return _bound_amount_without_kinds(
        a.Data | a.Gap | a.Offset, settled, facts, "data values without a bound", algorithm
    )


def _bound_amount_without_kinds(kinds: _AtomKinds, amount: Amount, facts: Facts, what: str, node: s.Node) -> Amount:
    """Bound an amount by expressions without atoms of the given kinds; without an upper bound, it is unknown.

    `what` describes the atoms in the reason.
    """
    if isinstance(amount, UnknownAmount):
        return amount
    lower, upper = (
        bound_value_without_kinds(kinds, amount.lower, facts, False),
        bound_value_without_kinds(kinds, amount.upper, facts, True),
    )
    if upper is None:
        return UnknownAmount(f"it depends on {what}", node.span)
    if lower is amount.lower and upper is amount.upper:
        return amount
    return KnownAmount(ZERO if lower is None else facts.positive_part(lower), upper)


def bound_value_without_kinds(kinds: _AtomKinds, value: Poly, facts: Facts, upper: bool) -> Poly | None:
    """Bound a value, from above (`upper`) or below, by one without atoms of the given kinds; None if that fails."""

    def first_atom(value: Poly) -> Atom | None:
        return min((atom for atom in value.atoms() if contains_kind(kinds, atom)), key=str, default=None)

    return replace_atoms_by_bounds(value, first_atom, facts, upper)


def contains_kind(kinds: _AtomKinds, atom: Atom) -> bool:
    """Test whether an atom, or one inside it, is of one of the kinds."""
    return isinstance(atom, kinds) or any(contains_kind(kinds, inner) for part in atom.parts for inner in part.atoms())
