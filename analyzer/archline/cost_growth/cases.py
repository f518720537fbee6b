"""Split a cost in cases of its sizes, and enclose it in each case by bounds with the same leading terms.

A floor by a number is replaced by a quotient and a bounded remainder: with floor(n/8) = (n - r)/8, n*floor(n/8) -
4*floor(n/8)^2 is n^2/16 plus terms of lower order. Maxima are resolved by the sign of their argument.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import combinations, islice, product
from math import gcd, lcm, prod
from typing import TypeAlias

from archline.algebra import atoms as a
from archline.algebra.facts import Facts
from archline.algebra.polynomial import ZERO, Atom, Poly, Symbol
from archline.algebra.reduce import pin_symbol, split_in_blocks
from archline.algebra.relax import replace_atom_by_bound
from archline.algebra.sums.summation import clear_single_floor
from archline.analysis.regimes import build_needed_comparisons
from archline.expr import build as b
from archline.language import syntax as s
from archline.numbers import fmpq
from archline.records import memoised, record

MAX_CASES = 12
MAX_REMAINDER_CLASSES, MAX_ENUMERATED_VALUES = 64, 4
Conditions: TypeAlias = tuple[Poly, ...]
MAX_ENUMERATED_REMAINDER = 100
REMAINDER_PREFIX, FRACTION_PREFIX = "rest ", "part "
"""Prefixes of symbols for integer and for fractional remainders; the blank keeps them apart from names of programs."""


@record
class GrowthCase:
    """The sizes where all `conditions` are >= 0, and bounds on a cost there, without floors of divisions by numbers.

    With `some_classes` the bounds hold only at some remainders of the sizes, or the conditions admit a few sizes more.
    """

    conditions: Conditions
    facts: Facts
    lower: Poly
    upper: Poly
    some_classes: bool = False


def build_union_condition(cases: Sequence[GrowthCase]) -> tuple[s.Fact, ...]:
    """Return the condition that one of several cases holds; complementary conditions cancel."""
    lists = [case.conditions for case in cases]
    while pair := next((candidates for candidates in combinations(lists, 2) if _are_complementary(*candidates)), None):
        lists = [part for part in lists if part not in pair] + [tuple(x for x in pair[0] if x in pair[1])]
    alternatives = [build_needed_comparisons(conditions) for conditions in lists]
    if len(alternatives) == 1 or not all(alternatives):
        return alternatives[0] if len(alternatives) == 1 else ()
    return (b.join_conditions("or", [b.join_conditions("and", parts) for parts in alternatives]),)


def _are_complementary(first: Conditions, second: Conditions) -> bool:
    """Test whether two lists of conditions differ by one condition each, and these two exclude each other."""
    only_first, only_second = (
        [condition for condition in ours if condition not in theirs]
        for ours, theirs in ((first, second), (second, first))
    )
    if len(only_first) != 1 or len(only_second) != 1:
        return False
    # One of e >= 0 and c - e >= 0 holds at all sizes if c >= 0, or if c is -1 and e an integer.
    both = only_first[0] + only_second[0]
    return both.is_constant and both.constant_term >= -int(a.is_integral(only_first[0]))


def iterate_case_splits(value: Poly, facts: Facts) -> Iterator[list[GrowthCase]]:
    """Yield lists of cases that cover all sizes, one for each way to split a value, the fastest way first.

    Ways with too many cases, or with a case without bounds, are skipped.
    """
    for split in (_iterate_cases_with_remainders, _iterate_cases_by_class):
        cases = list(islice(split(value, facts), MAX_CASES + 1))
        if cases and None not in cases and len(cases) <= MAX_CASES:
            yield [case for case in cases if case is not None]


def _iterate_cases_with_remainders(value: Poly, facts: Facts) -> Iterator[GrowthCase | None]:
    """Yield cases of a value, with bounds in which rounding is replaced by bounded remainders; None without bounds."""
    for conditions, known, part in _split_value_by_signs(facts.simplify(value), facts, (), linear=True):
        remainders = _RemainderSymbols(known)
        unrounded = part.map_atoms(remainders.replace_rounding)
        for more, there, branch in _split_value_by_signs(
            remainders.facts.simplify(unrounded), remainders.facts, conditions
        ):
            lower, upper = (_bound_remainders(remainders.names, branch, there, upper) for upper in (False, True))
            if lower is None or upper is None:
                yield None
            else:
                yield GrowthCase(more, there, there.simplify(lower), there.simplify(upper))


def _iterate_cases_by_class(value: Poly, facts: Facts) -> Iterator[GrowthCase | None]:
    """Yield cases by the remainders of the sizes, with polynomials as bounds; None for a case without such bounds."""
    by_leads: dict[frozenset[Poly], tuple[dict[Poly, fmpq], list[Poly]]] = {}
    regions, classes = Counter[frozenset[Poly]](), list(_iterate_remainder_classes(value, facts))
    for within, part, sizes in classes:
        for conditions, _, form in _split_value_by_signs(within.simplify(part), within, (), strip=1):
            here = [condition.substitute(sizes) for condition in conditions]
            scaled = [condition / a.compute_content(condition - condition.constant_term) for condition in here]
            regions[frozenset(scaled)] += 1
            leads = {condition - condition.constant_term: condition.constant_term for condition in scaled}
            limits, forms = by_leads.setdefault(frozenset(leads), (leads, []))
            limits |= {lead: max(number, limits[lead]) for lead, number in leads.items()}
            forms.append(form.substitute(sizes))
    some_classes = min(regions.values(), default=0) < len(classes)
    for limits, forms in by_leads.values():
        conditions, there = tuple(lead + most for lead, most in limits.items()), facts
        for condition in conditions:
            there = there.with_nonnegative(condition)
        atoms = {atom for form in forms for atom in form.atoms()}
        settled = all(isinstance(atom, Symbol) and facts.nonnegative(Poly.of_atom(atom)) for atom in atoms)
        envelope = _combine_coefficients(forms, min), _combine_coefficients(forms, max)
        yield GrowthCase(conditions, there, *envelope, some_classes) if settled else None


def _iterate_remainder_classes(value: Poly, facts: Facts) -> Iterator[tuple[Facts, Poly, dict[str, Poly]]]:
    """Yield for each combination of remainders of the sizes its facts, the value, and the quotients of the sizes.

    The value is in terms of the quotients ("blocks"), which map to expressions of the sizes.
    """
    periods = _compute_remainder_periods(value)
    for rests in product(*(range(period) for period in periods.values())):
        known_facts: Facts | None = facts
        part, sizes = value, dict[str, Poly]()
        for (name, period), number in zip(periods.items(), rests, strict=True):
            if known_facts is None:
                break
            block, rest = known_facts.make_unused_name("block'"), known_facts.make_unused_name("rest'")
            whole = Poly.symbol(block).scaled(period)
            within = split_in_blocks(
                known_facts, name, Poly.constant(period), False, whole + Poly.symbol(rest), (block, rest)
            )
            known_facts, part = pin_symbol(within, rest, number), part.substitute({name: whole + number})
            sizes[block] = (Poly.symbol(name) - number) / period
        if known_facts is not None and periods:
            yield known_facts, part, sizes


def _combine_coefficients(forms: Sequence[Poly], end: Callable[[Iterable[fmpq]], fmpq]) -> Poly:
    """Build the polynomial whose coefficients are the minima (or maxima, by `end`) of the coefficients of `forms`."""
    monomials = dict.fromkeys(monomial for form in forms for monomial in form.terms)
    ends = {monomial: end([form.terms.get(monomial, fmpq(0)) for form in forms]) for monomial in monomials}
    return Poly({monomial: coefficient for monomial, coefficient in ends.items() if coefficient})


def _compute_remainder_periods(value: Poly) -> dict[str, int]:
    """Find for each size the period with which its remainders repeat; empty if there are too many combinations."""
    result: dict[str, int] = {}
    for atom in value.atoms_within():
        if isinstance(atom, a.Floor) and atom.modulus.is_constant and a.is_integral(atom.argument):
            modulus = int(atom.modulus.constant_term.p)
            for part in atom.argument.atoms():
                if isinstance(part, Symbol) and atom.argument.degree(part) == 1:
                    slope = atom.argument.coefficients(part)[1].constant_term
                    result[part.name] = lcm(result.get(part.name, 1), modulus // gcd(modulus, int(slope.p)))
    return result if prod(result.values()) <= MAX_REMAINDER_CLASSES else {}


def _split_value_by_signs(
    value: Poly, facts: Facts, conditions: Conditions, linear: bool = False, strip: int = MAX_ENUMERATED_VALUES
) -> Iterator[tuple[Conditions, Facts, Poly]]:
    """Yield cases of a value by the signs in its maxima: the conditions, the facts, and the value without maxima.

    The maximum that leaves the fewest others is resolved first. With `linear`, maxima whose sign depends on rounding
    remain. A symbol with at most `strip` possible values is enumerated.
    """
    if conditions and (narrow := _find_narrow_symbol(value, facts, strip)) is not None:
        name, possible = narrow
        for symbol_value in possible:
            difference = Poly.symbol(name) - symbol_value
            there, ends = facts.with_nonnegative(difference).with_nonnegative(-difference), (difference, -difference)
            part = there.simplify(value.substitute({name: symbol_value}))
            yield from _split_value_by_signs(
                part, there, (*conditions, *(ends if len(possible) > 1 else ())), linear, strip
            )
        return
    atoms = [atom for atom in _find_innermost_maxima(value) if not linear or _has_sign_without_rounding(atom.argument)]
    alternatives = [chosen for atom in atoms if (chosen := _resolve_maximum(value, facts, atom)) or not linear]
    if not alternatives:
        yield conditions, facts, value
        return
    chosen = min(alternatives, key=lambda split: sum(len(set(_find_innermost_maxima(part))) for _, _, part in split))
    if not chosen:
        # The sign stays unknown: too many cases are yielded, so that this way is skipped.
        yield from ((conditions, facts, value) for _ in range(MAX_CASES + 1))
    for sign, known, part in chosen:
        yield from _split_value_by_signs(part, known, (*conditions, sign), linear, strip)


def _has_sign_without_rounding(argument: Poly) -> bool:
    """Test whether the sign of an expression does not depend on rounding."""
    return not any(isinstance(atom, a.Floor) for atom in clear_single_floor(argument, Facts()).atoms_within())


def _find_innermost_maxima(value: Poly) -> list[a.PositivePart]:
    """List the maxima in a value that contain no other maximum."""
    maxima = dict.fromkeys(atom for atom in value.atoms_within() if isinstance(atom, a.PositivePart))
    innermost = [maximum for maximum in maxima if not maxima.keys() & set(maximum.argument.atoms_within())]
    return sorted(innermost, key=lambda maximum: maximum.key)


def _resolve_maximum(whole: Poly, facts: Facts, atom: a.PositivePart) -> list[tuple[Poly, Facts, Poly]]:
    """Resolve a maximum: return its sign condition, the facts and the value, for both signs of its argument.

    Empty if a sign cannot be added to the facts.
    """
    argument = atom.argument
    result = []
    below = -argument - 1 if a.is_integral(argument) else -argument
    for exact, now in ((argument, argument), (below, ZERO)):
        sign = clear_single_floor(exact, facts)
        signed = facts.with_nonnegative(sign)
        if signed is facts:
            return []
        value = whole.replace_atom(atom, now)
        result.append((sign, signed, signed.simplify(value)))
    return result


def _find_narrow_symbol(value: Poly, facts: Facts, most: int) -> tuple[str, list[Poly]] | None:
    """Find a symbol with at most `most` possible values, and list these; None if there is none."""
    for name in sorted(value.names & facts.bounds.keys()):
        for low, high in product(facts.bounds[name].lower, facts.bounds[name].upper):
            width = high - low
            count = 1 if low.is_constant else most
            if width.is_constant and 0 <= width.constant_term < count and a.is_integral(low):
                return name, [low + offset for offset in range(int(width.constant_term.floor()) + 1)]
    return None


def _bound_remainders(names: list[str], value: Poly, facts: Facts, upper: bool) -> Poly | None:
    """Return a bound on a value that has no remainder symbols `names`; None if that fails."""
    for name in names:
        most = facts.bounds[name].maximum
        alone = Poly({m: c for m, c in value.terms.items() if [atom.key for atom, _ in m] == [name]})
        if (
            len(alone.terms) > 1
            and name.startswith(REMAINDER_PREFIX)
            and most is not None
            and most <= MAX_ENUMERATED_REMAINDER
        ):
            # A single remainder is bounded by trying each of its values.
            values = [alone.substitute({name: Poly.constant(number)}).constant_term for number in range(most + 1)]
            value = value - alone + (max(values) if upper else min(values))
        bound = replace_atom_by_bound(value, Symbol(name), facts, upper)
        if bound is None:
            return None
        value = bound
    return value


class _RemainderSymbols:
    """Replaces rounding by symbols with bounds, and collects their names and the facts about them."""

    def __init__(self, facts: Facts) -> None:
        self.facts, self.names = facts, list[str]()

    def _add_symbol(self, kind: str, most: Poly) -> Poly:
        """Add a symbol between 0 and `most`, and return it; its name begins with `kind`."""
        self.names.append(f"{kind}{len(self.names)}")
        self.facts = self.facts.with_symbol(self.names[-1], (ZERO,), (most,))
        return Poly.symbol(self.names[-1])

    @memoised
    def replace_rounding(self, atom: Atom) -> Poly | None:
        """Return an expression with remainder symbols for an atom; None if the atom stays."""
        match atom:
            case a.Floor(argument=argument, modulus=modulus) if modulus.is_constant and a.is_integral(argument):
                return (
                    argument.map_atoms(self.replace_rounding) - self._add_symbol(REMAINDER_PREFIX, modulus - 1)
                ) * modulus**-1
            case a.Floor(argument=argument, modulus=block) if len(block.terms) == 1 and self.facts.positive(block):
                return argument.map_atoms(self.replace_rounding) * block**-1 - self._add_symbol(
                    FRACTION_PREFIX, Poly.constant(1)
                )
            case a.PositivePart(argument=argument):
                return self._replace_positive_part(argument)
            case _:
                return None

    def _replace_positive_part(self, argument: Poly) -> Poly:
        """Return max(0, argument) with remainder symbols outside of the maximum, if possible."""
        if self.facts.nonnegative(1 - argument):
            return self._add_symbol(FRACTION_PREFIX, Poly.constant(1))
        inner = argument.map_atoms(self.replace_rounding)
        rounded = inner.names.intersection(self.names)
        if not rounded:
            return a.positive_part(inner)
        rest = Poly({monomial: c for monomial, c in inner.terms.items() if {x.key for x, _ in monomial} <= rounded})
        low, high = (_bound_remainders(self.names, rest, self.facts, upper) for upper in (False, True))
        if (inner - rest).names.intersection(self.names) or low is None or high is None:
            return a.positive_part(argument)
        # max(0, e + r) lies between max(0, e) + min(0, r) and max(0, e) + max(0, r).
        least, most = min(low.constant_term, fmpq(0)), max(high.constant_term, fmpq(0))
        return (
            a.positive_part(inner - rest)
            + self._add_symbol(FRACTION_PREFIX, Poly.constant(most - least))
            + Poly.constant(least)
        )
