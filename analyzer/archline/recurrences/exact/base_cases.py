"""Decide termination and bounds of base cases, and remove caps and maxima from bounds.

A cap cuts a size off at a number, such as min(n, 16); some users of bounds cannot handle caps, and a bound without
them replaces each. For a number c, max(0, v - c) lies between v - c and v - l, if v is proved to be at least l <= c.
Which of the two preserves a bound depends on the sign of its factor; if that is not proved, the maximum stays.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from archline.algebra import atoms as a
from archline.algebra.atoms import AppliedFunction, PositivePart, positive_part
from archline.algebra.facts import Facts
from archline.algebra.maximise import find_direction
from archline.algebra.polynomial import ONE, ZERO, Poly, Symbol, sum_polynomials
from archline.algebra.prove import enumerate
from archline.algebra.prove.prover import prove_never_negative
from archline.algebra.prove.strong import STRONG_TACTICS
from archline.recurrences.exact import leaves
from archline.recurrences.exact.at_call import (
    CallContext,
    NotComparableError,
    replace_halvings_by_logs,
    replace_halvings_by_ratio,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from archline.algebra.polynomial import Atom
    from archline.recurrences.model import Equation, SizeFunction

MAX_PROOF_EFFORT = 20_000


def is_bound_at_leaves(function: SizeFunction, value: Poly, upper: bool) -> bool:
    """Test whether `value`, in terms of the sizes, is proved to be an upper (or a lower) bound of every base case."""
    value = value.substitute(function.facts.rewrites)
    differences = ((case.facts, value - case.value) for case in function.equations if not case.recursive)
    sign = 1 if upper else -1
    return all(
        prove_never_negative(margin.scaled(sign), facts, [enumerate.prove_by_enumeration], MAX_PROOF_EFFORT)
        for facts, margin in differences
    )


def clamp_lower_bound(cases: Sequence[Equation], low: Poly) -> Poly:
    """Raise a lower bound of some cases to at least 0, or to the forcing that all cases share if that is at least 1."""
    if all(prove_never_negative(low - 1, case.facts, STRONG_TACTICS) for case in cases):
        return low
    forcing = _find_common_forcing(cases)
    if all(prove_never_negative(forcing - 1, case.facts, STRONG_TACTICS) for case in cases):
        return forcing + positive_part(low - forcing)
    return low if all(prove_never_negative(low, case.facts, STRONG_TACTICS) for case in cases) else positive_part(low)


def _find_common_forcing(cases: Sequence[Equation]) -> Poly:
    """Return the cost that cases add to their calls, if it is the same polynomial of the sizes in all cases; else 0."""
    first, *rest = (
        case.facts.simplify(case.value.map_atoms(lambda atom: ZERO if isinstance(atom, AppliedFunction) else None))
        for case in cases
    )
    plain = all(isinstance(atom, Symbol) for atom in first.atoms()) and all(value == first for value in rest)
    return first if plain and all(first.names.isdisjoint(case.data) for case in cases) else ZERO


def transform_inside_clamp(value: Poly, change: Callable[[Poly], Poly]) -> Poly:
    """Apply `change` to x if `value` is c*max(0, x) + d for a number c > 0, else to the whole value."""
    atom = _find_clamp(value)
    return change(value) if atom is None else _replace_atom(value, atom, positive_part(change(atom.argument)))


def remove_clamp(low: Poly) -> Poly:
    """Replace max(0, x) by x in a lower bound c*max(0, x) + d, so that the bound may be below 0."""
    atom = _find_clamp(low)
    return low if atom is None else _replace_atom(low, atom, atom.argument)


def _find_clamp(value: Poly) -> PositivePart | None:
    match list(value.atoms()):
        case [PositivePart() as atom] if value.degree(atom) == 1 and value.coefficients(atom)[1].constant_term > 0:
            return atom
        case _:
            return None


def _replace_atom(value: Poly, atom: Atom, new: Poly) -> Poly:
    return value.map_atoms(lambda candidate: new if candidate == atom else None)


MIN_DECREASE = ONE / 1024
CallUnderFacts = tuple[Facts, Mapping[str, Poly]]
"""The facts where a call is made, and its arguments by parameter."""


def always_terminates(function: SizeFunction, promised: Iterable[Poly]) -> bool:
    """Test whether every recursion ends, as every recursive call decreases a lexicographic order of measures.

    Measures are the sizes, their sum, the expressions `promised` to be >= 0, and the conditions that all calls have. If
    the header declares measures (`decreases`), the recursion ends: a run in which they do not decrease, or the `where`
    fails, stops with an error.
    """
    if function.algorithm.decreases:
        return True
    sizes = [Poly.symbol(name) for name in function.least]
    calling = {equation: None for equation, _ in function.own_calls}
    known = (value for equation in calling for value in equation.known)
    # A measure need not be >= 0 in a base case.
    tested = (value for value in known if all(equation.facts.nonnegative(value) for equation in calling))
    measures = dict.fromkeys((sum_polynomials(sizes), *sizes, *promised, *tested))
    pending: list[CallUnderFacts] = [(equation.facts, arguments) for equation, arguments in function.own_calls]
    while pending:
        for measure in measures:
            # Find a measure that decreases in some calls and does not increase in any.
            rest = [call for call in pending if not _decreases_in_call(measure, call)]
            if len(rest) < len(pending) and all(
                prove_never_negative(_compute_decrease(measure, call), call[0], STRONG_TACTICS) for call in pending
            ):
                break
        else:
            return False
        pending = rest
    return True


def _decreases_in_call(measure: Poly, call: CallUnderFacts) -> bool:
    """Test whether a measure is proved to decrease in a call by at least a constant, so that recursion ends."""
    decrease = _compute_decrease(measure, call)
    # Integers decrease by at least 1, but 4*p <= 3*n and n >= 1 only prove that n - p is at least n/4.
    return any(prove_never_negative(decrease - amount, call[0], STRONG_TACTICS) for amount in (ONE, MIN_DECREASE))


def _compute_decrease(measure: Poly, call: CallUnderFacts) -> Poly:
    facts, arguments = call
    return (measure - measure.substitute(arguments)).substitute(facts.rewrites)


DIVISOR_NAME = "common divisor "
"""The symbol of a common divisor; no program has such a name."""


def remove_caps(value: Poly, facts: Facts, upper: bool) -> Poly:
    """Return an upper (or a lower) bound of `value` without maxima max(0, v - c) of sizes and logarithms v."""
    value = remove_divisors(value, facts, upper)
    value = transform_inside_clamp(value, lambda term: leaves.remove_leaf_counts(term, upper))
    value = value if upper else transform_inside_clamp(value, lambda term: replace_halvings_by_logs(term, facts))
    value = value if upper else remove_clamp(value)
    for atom in sorted(value.atoms(), key=lambda atom_: atom_.key):
        if not isinstance(atom, a.PositivePart):
            continue
        parts = value.coefficients(atom)
        low = _bound_argument_below(atom.argument, facts)
        if low is None or max(parts, default=0) != 1 or min(parts) < 0:
            # The atom cannot be bounded, is not linear, or was removed with another one.
            continue
        slope, rest = parts[1], parts.get(0, ZERO)
        sign = slope.substitute(facts.rewrites)
        rises = facts.nonnegative(sign)
        if rises or facts.nonnegative(-sign):
            without_maximum = atom.argument - min(low, 0)
            value = slope * (without_maximum if rises == upper else atom.argument) + rest
    return value


def remove_divisors(value: Poly, facts: Facts, upper: bool) -> Poly:
    """Return an upper (or a lower) bound of `value`: 1 or y replaces each gcd(x, y) in which the value is monotonic."""
    for atom in dict.fromkeys(value.atoms_within()):
        if not isinstance(atom, a.CommonDivisor) or not facts.positive(atom.right):
            continue
        free = value.replace_atom(atom, Poly.symbol(DIVISOR_NAME))
        inside = facts.with_symbol(DIVISOR_NAME, (ONE,), (atom.right,))
        sense = find_direction(free, DIVISOR_NAME, atom.right + 1, inside)
        if sense is not None:
            value = free.substitute({DIVISOR_NAME: atom.right if (sense == 1) == upper else ONE})
    return value


def relax_lower_bound(low: Poly, facts: Facts) -> Poly:
    """Relax a lower bound: simpler terms replace numbers of leaves, logarithms of sizes replace numbers of halvings."""
    plain = transform_inside_clamp(low, lambda term: leaves.remove_leaf_counts(term, upper=False))
    return transform_inside_clamp(
        plain,
        lambda term: replace_halvings_by_logs(replace_halvings_by_ratio(_resolve_maxima(term, facts), facts), facts),
    )


def _resolve_maxima(value: Poly, facts: Facts) -> Poly:
    """Replace each max(0, x) of a value by x if the facts imply x >= 0."""

    def resolve_maximum(atom: Atom) -> Poly | None:
        is_positive = isinstance(atom, a.PositivePart) and facts.nonnegative(atom.argument.substitute(facts.rewrites))
        return atom.parts[0] if is_positive else None

    return value.map_atoms(resolve_maximum)


def _bound_argument_below(argument: Poly, facts: Facts) -> int | None:
    """Return a lower bound of an argument v - c, v a size or a logarithm and c a number >= 0; None if it is unknown."""
    limit = argument.constant_term
    atoms = list(argument.atoms())
    if limit > 0 or len(atoms) != 1 or argument - limit != Poly.of_atom(atoms[0]):
        return None
    match atoms[0]:
        case Symbol(name=name):
            bounds = facts.bounds.get(name)
            low = None if bounds is None else bounds.minimum
        case a.CeilLog2():
            low = 0
        case _:
            low = None
    return None if low is None else int((low + limit).floor())


def resolve_maxima_at_call(bound: Poly, arguments: Mapping[str, Poly], facts: Facts) -> Poly | None:
    """Return a bound at the arguments of a call if the facts decide all maxima in it; else None."""
    try:
        value = CallContext(facts, ()).express_at_call(bound, arguments)
    except NotComparableError:
        return None
    return None if any(isinstance(atom, a.PositivePart) for atom in value.atoms()) else value
