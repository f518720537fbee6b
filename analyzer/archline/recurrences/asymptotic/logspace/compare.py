"""Compare terms on a cone, find one formula for many cones, and print formulas.

A term is at most a constant times the greatest of its rivals on a cone unless in some direction of the cone the powers
of all rivals are smaller, or equal with smaller logarithms. If this is not decided, the tests return False.

One formula for many cones is a max of mins of terms: if a continuous function is linear on each of several cones, take
for each cone the minimum of the linear functions that are at least the function there; the function is the maximum of
these minima (Ovchinnikov 2002). With logarithms of sizes in the terms, the formula is only a proposal, which is then
compared with the function on each cone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import product
from typing import TypeAlias

from archline.expr import build as b
from archline.expr import tree as s
from archline.expr.text import format_expression
from archline.numbers import fmpq
from archline.records import record
from archline.recurrences.asymptotic.logspace.cones import (
    ZERO,
    Irrational,
    LogMonomial,
    RayCone,
    Vector,
    add_scaled,
    approximate,
    as_constant,
    inner_product,
    make_logarithm_term,
    make_unit_vector,
    prove_sign,
    to_integer_vector,
)

TermsByRegion: TypeAlias = Sequence[tuple[RayCone, tuple[LogMonomial, ...]]]
MAX_PATTERNS = 8


def is_covered(term: LogMonomial, rivals: Sequence[LogMonomial], region: RayCone) -> bool:
    """Test whether the term is proved to be O(the greatest of its rivals) on the region."""
    if term in rivals:
        return True
    if not rivals:
        return False
    for form in dict.fromkeys(form for monomial in (term, *rivals) for form, _ in monomial.logs):
        if region.compute_sign(form) is None:
            opposite = tuple(-x for x in form)
            return all(is_covered(term, rivals, region.cut(part)) for part in (form, opposite))
    gaps = [_compute_signs(add_scaled(term.powers, rival.powers, fmpq(-1)), region) for rival in rivals]
    if any(all(gap[i] > 0 for gap in gaps) for i in range(len(region.rays))):
        return False
    peers_by_gap: dict[tuple[int, ...], list[LogMonomial]] = {}
    for rival, gap in zip(rivals, gaps, strict=True):
        if max(gap, default=0) <= 0:
            peers_by_gap.setdefault(tuple(gap), []).append(rival)
    for gap_signs, peers in peers_by_gap.items():
        ties = [ray for ray, s in zip(region.rays, gap_signs, strict=True) if s == 0]
        if _has_covered_logs(term, peers, ties):
            return True
    return _is_covered_jointly(term, rivals, region)


def _compute_signs(form: Vector, region: RayCone) -> list[int]:
    return [prove_sign(inner_product(form, ray)) for ray in region.rays]


def _is_covered_jointly(term: LogMonomial, rivals: Sequence[LogMonomial], region: RayCone) -> bool:
    """Test whether in each direction of the cone some rival is at least as great as the term."""
    for rival in rivals:
        region = region.cut(add_scaled(term.powers, rival.powers, fmpq(-1)))
        if not region.rays:
            return True
    gaps = [_compute_signs(add_scaled(term.powers, rival.powers, fmpq(-1)), region) for rival in rivals]
    equal = [rival for rival, gap in zip(rivals, gaps, strict=True) if not any(gap)]
    return bool(equal) and _has_covered_logs(term, equal, region.rays)


def _has_covered_logs(term: LogMonomial, rivals: Sequence[LogMonomial], rays: Iterable[Vector]) -> bool:
    """Test whether the logarithms of the term are O(the greatest of its rivals') on the cone, if all powers are equal.

    At a point x, the sum of c_k*r_k over the rays, log2(2 + w) is up to a constant the greatest log(2 + c_k) of the
    rays on which w grows. For a fixed order of the c_k all sides are linear in the log(2 + c_k), and such an order is
    spanned by the points whose i greatest c_k are equal and the rest 1: a rival that is as large at every such
    point covers the term there.
    """
    if all(power < 0 for _, power in term.logs) and any(not rival.logs for rival in rivals):
        return True
    forms = list(dict.fromkeys(form for monomial in (term, *rivals) for form, _ in monomial.logs))
    patterns = {
        frozenset(i for i, form in enumerate(forms) if prove_sign(inner_product(form, ray)) > 0) for ray in rays
    }
    patterns.discard(frozenset())
    if len(patterns) > MAX_PATTERNS:
        return False
    powers = [{forms.index(form): power for form, power in monomial.logs} for monomial in (term, *rivals)]

    @cache
    def can_cover(grown: frozenset[int], pending: frozenset[frozenset[int]], candidates: tuple[int, ...]) -> bool:
        values = [sum((p for i, p in form_powers.items() if i in grown), ZERO) for form_powers in powers]
        candidates = tuple(j for j in candidates if values[j] >= values[0])
        return bool(candidates) and all(
            can_cover(grown | pattern, pending - {pattern}, candidates) for pattern in pending
        )

    return can_cover(frozenset(), frozenset(patterns), tuple(range(1, len(powers))))


def complexity_key(term: LogMonomial) -> tuple[object, ...]:
    """Return a key by which terms are sorted from simple to complicated ones."""
    used = [x for x in term.powers if x]
    return (
        sum(isinstance(x, Irrational) for x in used),
        len(term.logs),
        sum(1 for x in used if prove_sign(x) < 0),
        sum(1 for x in used if not isinstance(x, Irrational) and x.q != 1),
        len(used),
        [9.0 if isinstance(x, Irrational) else abs(int(x.p)) / int(x.q) for x in term.powers],
        str(term),
    )


def remove_covered(terms: Iterable[LogMonomial], region: RayCone) -> tuple[LogMonomial, ...]:
    """Remove the terms that other terms cover, complicated ones first."""
    remaining = sorted(dict.fromkeys(terms), key=complexity_key, reverse=True)
    for term in tuple(remaining):
        rest = [x for x in remaining if x is not term]
        if rest and is_covered(term, rest, region):
            remaining = rest
    return tuple(reversed(remaining))


def simplify_logarithms(terms: tuple[LogMonomial, ...], region: RayCone) -> tuple[LogMonomial, ...]:
    """Return terms whose sum has the same growth on the region, with simpler logarithms.

    log2(n) replaces log2(n/m) if other terms cover the difference; log2(n/Z) replaces log2(n/m) + log2(m/Z).
    """
    while (better := next(_iterate_simplifications(terms, region), None)) is not None:
        terms = remove_covered(better, region)
    return terms


def _iterate_simplifications(terms: tuple[LogMonomial, ...], region: RayCone) -> Iterator[list[LogMonomial]]:
    """Iterate over the sums of the same growth that have fewer names in logarithms."""
    for place, term in enumerate(terms):
        rest_of_sum = [x for i, x in enumerate(terms) if i != place]
        for plainer in _iterate_simpler_logarithms(term):
            if is_covered(plainer, terms, region) and is_covered(term, [*rest_of_sum, plainer], region):
                yield [*rest_of_sum, plainer]
        for i, second in enumerate(terms[:place]):
            rest = [x for j, x in enumerate(rest_of_sum) if j != i]
            for joined in _iterate_merged_logarithms(term, second):
                candidate = [*rest, joined]
                if is_covered(joined, terms, region) and all(is_covered(x, candidate, region) for x in (term, second)):
                    yield candidate


def _iterate_simpler_logarithms(term: LogMonomial) -> Iterator[LogMonomial]:
    """Iterate over the terms in which a name in the numerator of a logarithm's argument replaces the argument."""
    for i, (form, power) in enumerate(term.logs):
        rising = [j for j, x in enumerate(form) if prove_sign(x) > 0]
        if power > 0 and (len(rising) > 1 or len(rising) < len([x for x in form if x])):
            rest = LogMonomial(term.powers, term.logs[:i] + term.logs[i + 1 :])
            for j in rising:
                yield rest.multiply(make_logarithm_term(make_unit_vector(j, len(form)), power))


def _iterate_merged_logarithms(term: LogMonomial, second: LogMonomial) -> Iterator[LogMonomial]:
    """Iterate over terms for the sum of two that differ in the argument of one logarithm, where a name cancels."""
    own_logs, other_logs = set(term.logs) - set(second.logs), set(second.logs) - set(term.logs)
    if term.powers != second.powers or len(own_logs) != 1 or len(other_logs) != 1:
        return
    ((form, power),), ((with_, same),) = own_logs, other_logs
    if power != same or power < 0:
        return
    rest = LogMonomial(term.powers, tuple(log for log in term.logs if log not in own_logs))
    for x, y in zip(form, with_, strict=True):
        if prove_sign(x) * prove_sign(y) < 0:
            scale = (y if prove_sign(y) > 0 else -y, x if prove_sign(x) > 0 else -x)
            yield rest.multiply(
                make_logarithm_term(add_scaled(tuple(scale[0] * z for z in form), with_, scale[1]), power)
            )


MinimumGroup: TypeAlias = tuple[LogMonomial, ...]
Formula: TypeAlias = tuple[MinimumGroup, ...]
"""The sum (or max) over the groups of the minimum of each group."""
MAX_BRANCHES = 400


def find_formula(pieces: TermsByRegion, others: Iterable[LogMonomial] = ()) -> Formula | None:
    """Return a max of mins that is Theta of the greatest term of each piece on its region; None if none is found.

    The terms `others` may occur in it: a min may need them if the pieces do not cover all sizes.
    """
    return _FormulaSearch(pieces, others).search()


def is_theta_of(formula: Formula, terms: Sequence[LogMonomial], region: RayCone) -> bool:
    """Test whether the formula is proved to be Theta(the greatest of the terms) on the region."""
    return all(_is_group_below(group, terms, region) for group in formula) and all(
        _is_covered_by_formula(term, formula, region) for term in terms
    )


class _FormulaSearch:
    """Searches for a formula, a max of mins, that equals the largest term of each piece.

    `_above` has, for each term of each piece, the terms that are at least that term where it is the greatest: the
    groups to choose from.
    """

    def __init__(self, pieces: TermsByRegion, others: Iterable[LogMonomial]) -> None:
        self._pieces = pieces
        parts = [(_compute_dominance_cone(term, terms, region), term) for region, terms in pieces for term in terms]
        candidates = sorted({*others, *(term for _, term in parts)}, key=complexity_key)
        # For each piece and each of its terms: the terms that are at least that term where it is the greatest.
        self._above = [
            tuple(x for x in candidates if is_covered(term, (x,), region)) for region, term in parts if region.rays
        ]
        self._below = cache(self._is_below)

    def search(self) -> Formula | None:
        """Return the formula, without unneeded terms and groups; None if none is found."""
        groups = [group for group in dict.fromkeys(self._above) if self._below(group)]
        if not self._covers_all_terms(groups):
            return None
        groups = self._remove_unneeded_groups(
            list(dict.fromkeys(self._remove_unneeded_terms(group) for group in self._remove_unneeded_groups(groups)))
        )
        formula = tuple(groups)
        right = all(_is_covered_by_formula(term, formula, region) for region, terms in self._pieces for term in terms)
        return formula if right else None

    def _is_below(self, group: MinimumGroup) -> bool:
        """Test whether the minimum of the group is a lower bound of the function on every piece."""
        return all(_is_group_below(group, terms, region) for region, terms in self._pieces)

    def _covers_all_terms(self, groups: Sequence[MinimumGroup]) -> bool:
        """Test whether for each term of each piece some group has only terms that are above it where it is the
        greatest.
        """
        members = [frozenset(group) for group in groups]
        return all(any(group_ <= above for group_ in members) for above in map(frozenset, self._above))

    def _remove_unneeded_groups(self, groups: list[MinimumGroup]) -> list[MinimumGroup]:
        for group in sorted(groups, key=len, reverse=True):
            rest = [x for x in groups if x is not group]
            if rest and self._covers_all_terms(rest):
                groups = rest
        return groups

    def _remove_unneeded_terms(self, group: MinimumGroup) -> MinimumGroup:
        """Remove the terms of a group that its minimum does not need."""
        for term in sorted(group, key=complexity_key, reverse=True):
            rest = tuple(x for x in group if x is not term)
            if rest and self._below(rest):
                group = rest
        return group


def _compute_dominance_cone(term: LogMonomial, terms: Sequence[LogMonomial], region: RayCone) -> RayCone:
    """Return the part of the region where the powers of the term are the greatest."""
    for rival in terms:
        region = region.cut(add_scaled(term.powers, rival.powers, fmpq(-1)))
    return region


def _is_group_below(group: MinimumGroup, terms: Sequence[LogMonomial], region: RayCone) -> bool:
    """Test whether the minimum of the group is proved to be O(the greatest of the terms) on the region."""
    if any(is_covered(member, terms, region) for member in group):
        return True
    for member, term in product(group, terms):
        region = region.cut(add_scaled(member.powers, term.powers, fmpq(-1)))
        if not region.rays:
            return True
    return any(is_covered(member, terms, region) for member in group)


def _is_covered_by_formula(term: LogMonomial, formula: Formula, region: RayCone) -> bool:
    """Test whether the term is proved to be O(the formula): nowhere is it above a member of each of the groups."""
    if any(all(is_covered(term, (member,), region) for member in group) for group in formula):
        return True
    branches = 0

    def can_escape(chosen: MinimumGroup, groups: Sequence[MinimumGroup], part: RayCone) -> bool:
        """Test whether the term may exceed the chosen terms and a member of each group somewhere in the part."""
        nonlocal branches
        branches += 1
        if not groups or branches > MAX_BRANCHES:
            return branches > MAX_BRANCHES or not is_covered(term, chosen, part)
        for peer in groups[0]:
            inside = part.cut(add_scaled(term.powers, peer.powers, fmpq(-1)))
            if (
                inside.rays
                and not is_covered(term, (peer,), inside)
                and can_escape((*chosen, peer), groups[1:], inside)
            ):
                return True
        return False

    return not can_escape((), sorted(formula, key=len), region)


@record
class FormulaPrinter:
    """Prints forms in the names' logarithms as products of the names."""

    names: Sequence[str]

    def format_monomial(self, powers: Vector) -> str:
        """Return the product of the names to these powers as text."""
        return self.format_term(LogMonomial(powers))

    def format_term(self, term: LogMonomial) -> str:
        """Return a term as text, with at most one division."""
        return format_expression(b.divide_products(*self._list_factors(term)))

    def format_equation(self, form: Vector) -> str:
        """Return the text of form . y = 0, for the names' logarithms y, as an equation of products of names."""
        above, below = self._split_sides(form)
        return f"{above} = {below}"

    def format_comparison(self, form: Vector) -> str:
        """Return the text of form . y >= 0, for the names' logarithms y, as an inequality of products of names."""
        above, below = self._split_sides(form)
        return f"{above} >= {below}"

    def _split_sides(self, form: Vector) -> tuple[str, str]:
        form = to_integer_vector(form)
        above = tuple(x if prove_sign(x) > 0 else x - x for x in form)
        below = tuple(-x if prove_sign(x) < 0 else x - x for x in form)
        return self.format_monomial(above), self.format_monomial(below)

    def build_sum(self, terms: Iterable[LogMonomial]) -> s.Expr:
        """Return the tree of a sum, in which terms with a common denominator are combined."""
        groups: dict[tuple[str, ...], list[tuple[list[s.Expr], list[s.Expr]]]] = {}
        for term in sorted(terms, key=_make_sort_key):
            above, below = self._list_factors(term)
            key = (*below, *filter(_is_logarithm, above)) if below else ()
            groups.setdefault(tuple(map(format_expression, key)), []).append((above, below))
        summands = []
        for members in groups.values():
            (first, below), *more = members
            if not more or not below:
                summands += [b.divide_products(*member) for member in members]
                continue
            logs = list(filter(_is_logarithm, first))
            inner = [b.product([x for x in above if not _is_logarithm(x)]) for above, _ in members]
            summands.append(b.divide_products([b.sum_terms((False, x) for x in inner), *logs], below))
        return b.sum_terms((False, summand) for summand in summands)

    def build_formula(self, formula: Formula) -> s.Expr:
        """Return the tree of the sum of the groups' minima."""
        single = [group[0] for group in formula if len(group) == 1]
        parts = [self.build_sum(single)] if single or not formula else []
        for group in formula:
            if len(group) > 1:
                least = (b.divide_products(*self._list_factors(term)) for term in sorted(group, key=_make_sort_key))
                parts.append(b.call("min", *least))
        return b.sum_terms((False, part) for part in parts)

    def _list_factors(self, term: LogMonomial) -> tuple[list[s.Expr], list[s.Expr]]:
        above: list[s.Expr] = []
        below: list[s.Expr] = []
        for name, power in zip(self.names, term.powers, strict=True):
            if power:
                rising = prove_sign(power) > 0
                (above if rising else below).append(
                    b.power(b.name(name), as_constant(power if rising else -power).tree)
                )
        for form, power in term.logs:
            level = b.call("log2", b.divide_products(*self._list_factors(LogMonomial(form))))
            (above if power > 0 else below).append(b.power(level, b.number(abs(power))))
        return above, below


def _is_logarithm(expr: s.Expr) -> bool:
    """Test whether an expression is a power of a logarithm."""
    base = expr.left if isinstance(expr, s.Binary) else expr
    return isinstance(base, s.Call) and base.function == "log2"


def _make_sort_key(term: LogMonomial) -> tuple[object, ...]:
    """Return a key that sorts simple terms first, and equally simple ones by falling powers."""
    return (*complexity_key(term)[:-2], [-approximate(x) for x in term.powers])
