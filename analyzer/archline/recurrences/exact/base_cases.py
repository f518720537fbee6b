"""Whether a recursion ends, where a bound of its recursive cases holds of the others too, and plainer bounds.

These are without sizes that are cut off at a number, for what does not read those: 1 <= min(n, 16) <= 16. For a number
c, max(0, v - c) lies between v - c and v - l, where v is known to be at least l <= c. Which of the two keeps a bound
depends on the sign of its factor; where that is not proved, the maximum stays.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from archline.algebra import atoms as a
from archline.algebra.atoms import Applied, PositivePart, positive_part
from archline.algebra.facts import Facts
from archline.algebra.maximise import direction
from archline.algebra.polynomial import ONE, ZERO, Atom, Poly, Symbol, total
from archline.algebra.prove.enumerate import by_enumeration
from archline.algebra.prove.handelman import STRONG
from archline.algebra.prove.prover import never_negative
from archline.recurrences.exact.at_call import CallContext, NotComparableError, in_logarithms, without_halvings
from archline.recurrences.exact.leaves import without_pieces
from archline.recurrences.model import Equation, SizeFunction

MAX_PROOF = 20_000


def holds_at_leaves(function: SizeFunction, value: Poly, upper: bool) -> bool:
    """Whether the value, in the sizes of the declaration, is proved to bound every case without calls."""
    value = value.substitute(function.facts.rewrites)
    differences = ((each.facts, value - each.value) for each in function.equations if not each.recursive)
    sign = 1 if upper else -1
    return all(never_negative(each.scaled(sign), facts, [by_enumeration], MAX_PROOF) for facts, each in differences)


def clamp_lower_bound(cases: Sequence[Equation], low: Poly) -> Poly:
    """A lower bound in some cases that is not below 0, nor 0 where all cases are known to add something themselves."""
    if all(never_negative(low - 1, each.facts, STRONG) for each in cases):
        return low
    own = _added(cases)
    if all(never_negative(own - 1, each.facts, STRONG) for each in cases):
        return own + positive_part(low - own)
    return low if all(never_negative(low, each.facts, STRONG) for each in cases) else positive_part(low)


def _added(cases: Sequence[Equation]) -> Poly:
    """What some cases cost without their calls, where that is the same sum of products of sizes; else 0."""
    first, *others = (
        each.facts.simplify(each.value.map_atoms(lambda atom: ZERO if isinstance(atom, Applied) else None))
        for each in cases
    )
    plain = all(isinstance(atom, Symbol) for atom in first.atoms()) and all(each == first for each in others)
    return first if plain and all(first.names.isdisjoint(each.data) for each in cases) else ZERO


def transform_inside_clamp(value: Poly, change: Callable[[Poly], Poly]) -> Poly:
    """A bound with a change to its terms, inside of max(0, ...) where it is that, times a number and with one added."""
    atom = _clamp(value)
    return change(value) if atom is None else _replaced(value, atom, positive_part(change(atom.argument)))


def unclamped(low: Poly) -> Poly:
    """A lower bound that may be below 0, where the bound is max(0, ...), times a number and with one added."""
    atom = _clamp(low)
    return low if atom is None else _replaced(low, atom, atom.argument)


def _clamp(value: Poly) -> PositivePart | None:
    match list(value.atoms()):
        case [PositivePart() as atom] if value.degree(atom) == 1 and value.coefficients(atom)[1].constant_term > 0:
            return atom
        case _:
            return None


def _replaced(value: Poly, atom: Atom, new: Poly) -> Poly:
    return value.map_atoms(lambda each: new if each == atom else None)


SOME = ONE / 1024
Call = tuple[Facts, Mapping[str, Poly]]
"""What is known where a call is made, and its arguments by parameter."""


def always_terminates(function: SizeFunction, promised: Iterable[Poly]) -> bool:
    """Whether every recursion ends: amounts decrease in lexicographic order with every recursive call.

    They are its sizes, what is promised to be >= 0, or what its header declares.
    Runs in which the `where` fails, or a measure that the header declares does not decrease, are refused.
    """
    if function.algorithm.decreases:
        return True
    sizes = [Poly.symbol(name) for name in function.least]
    measures = dict.fromkeys((total(sizes), *sizes, *promised))
    open_: list[Call] = [(equation.facts, given) for equation, given in function.own_calls]
    while open_:
        for measure in measures:
            # One that grows in no call, and falls in some.
            left = [call for call in open_ if not _decreases_in_call(measure, call)]
            if len(left) < len(open_) and all(never_negative(_fall(measure, call), call[0], STRONG) for call in open_):
                break
        else:
            return False
        open_ = left
    return True


def _decreases_in_call(measure: Poly, call: Call) -> bool:
    """Whether a measure is proved to be smaller in a call, by so much that it cannot be for ever."""
    fall = _fall(measure, call)
    # Integers fall by 1 where they fall at all, but 4*p <= 3*n and n >= 1 prove of n - p that it is n/4 only.
    return any(never_negative(fall - each, call[0], STRONG) for each in (ONE, SOME))


def _fall(measure: Poly, call: Call) -> Poly:
    facts, arguments = call
    return (measure - measure.substitute(arguments)).substitute(facts.rewrites)


DIVISOR = "common divisor "
"""No program has such a name."""


def uncapped(value: Poly, facts: Facts, upper: bool) -> Poly:
    """What the value is at most (upper) or at least, without such maxima of sizes and of logarithms."""
    value = without_divisors(value, facts, upper)
    value = transform_inside_clamp(value, lambda each: without_pieces(each, upper))
    value = value if upper else transform_inside_clamp(value, lambda each: without_halvings(each, facts))
    value = value if upper else unclamped(value)
    for atom in sorted(value.atoms(), key=lambda each: each.key):
        if not isinstance(atom, a.PositivePart):
            continue
        parts = value.coefficients(atom)
        least = _least(atom.argument, facts)
        if least is None or max(parts, default=0) != 1 or min(parts) < 0:
            # Of no use, or gone with another one.
            continue
        slope, rest = parts[1], parts.get(0, ZERO)
        known = slope.substitute(facts.rewrites)
        rises = facts.nonnegative(known)
        if rises or facts.nonnegative(-known):
            most = atom.argument - min(least, 0)
            value = slope * (most if rises == upper else atom.argument) + rest
    return value


def without_divisors(value: Poly, facts: Facts, upper: bool) -> Poly:
    """What the value is at most (upper) or at least, without common divisors where it rises or falls with them."""
    for atom in dict.fromkeys(value.atoms_within()):
        if not isinstance(atom, a.CommonDivisor) or not facts.positive(atom.right):
            continue
        free = value.with_atom(atom, Poly.symbol(DIVISOR))
        among = facts.with_symbol(DIVISOR, (ONE,), (atom.right,))
        sense = direction(free, DIVISOR, atom.right + 1, among)
        if sense is not None:
            value = free.substitute({DIVISOR: atom.right if (sense == 1) == upper else ONE})
    return value


def growth_lower_bound(low: Poly, facts: Facts) -> Poly:
    """What a lower bound is at least, in logarithms of sizes in place of numbers of leaves and of halvings."""
    plain = transform_inside_clamp(low, lambda each: without_pieces(each, upper=False))
    return transform_inside_clamp(
        plain, lambda each: without_halvings(in_logarithms(_decided(each, facts), facts), facts)
    )


def _decided(value: Poly, facts: Facts) -> Poly:
    """The value without maxima that the facts show not to be 0."""

    def decided(atom: Atom) -> Poly | None:
        known = isinstance(atom, a.PositivePart) and facts.nonnegative(atom.argument.substitute(facts.rewrites))
        return atom.parts[0] if known else None

    return value.map_atoms(decided)


def _least(argument: Poly, facts: Facts) -> int | None:
    """What v - c is at least, for a size or a logarithm v and a number c >= 0."""
    limit = argument.constant_term
    atoms = list(argument.atoms())
    if limit > 0 or len(atoms) != 1 or argument - limit != Poly.of_atom(atoms[0]):
        return None
    match atoms[0]:
        case Symbol(name=name):
            known = facts.bounds.get(name)
            least = None if known is None else known.least
        case a.CeilLog2():
            least = 0
        case _:
            least = None
    return None if least is None else int((least + limit).floor())


def without_maxima(found: Poly, given: Mapping[str, Poly], facts: Facts) -> Poly | None:
    """A bound at the sizes of a call, where the facts decide all maxima in it; else None."""
    try:
        there = CallContext(facts, ()).at(found, given)
    except NotComparableError:
        return None
    return None if any(isinstance(each, a.PositivePart) for each in there.atoms()) else there
