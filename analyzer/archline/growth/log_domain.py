"""Prepare facts about sizes for proofs: inequalities between monomials, alternatives, and exact bounds of terms."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property

from archline.algebra.reals import ONE_CONSTANT, Constant, OutOfReachError
from archline.growth import normal_form as e
from archline.growth import rules
from archline.growth.bounds import EnvelopeReader
from archline.growth.direction_lp import Inequality, InequalityCone
from archline.growth.dominance_differences import DominanceBound, NegativeTermCover
from archline.growth.lattices import Lattice, make_size_power, to_maximum_of_minima, to_minimum_of_maxima
from archline.growth.monomials import Term, make_monomial, make_size_factor
from archline.language import syntax as s
from archline.language.diagnostics import ArchlineError, error
from archline.numbers import fmpq
from archline.records import memoised, record

_COMPARISONS = frozenset(("<=", "<", ">=", ">", "==", "!="))
CACHE_NAMES = ("Z", "L")


@record(eq=False)
class Alternatives:
    """A fact by which the inequalities of at least one branch hold at each point."""

    document: dict[str, object]
    branches: tuple[tuple[Inequality, ...], ...]


@record
class _Comparison:
    """The comparison left <= right, from the fact of the given number."""

    fact: int
    left: s.Expr
    right: s.Expr


class Domain:
    """The real sizes >= 1 that satisfy facts, prepared for proofs. Raises ArchlineError (AL482, AL483)."""

    def __init__(self, facts: Sequence[s.Fact] = ()) -> None:
        self.facts = tuple(facts)
        for fact in self.facts:
            _check_fact(fact)
        self.names = frozenset(name for fact in self.facts for name in find_sizes(fact))
        self._exponents = frozenset(name for fact in self.facts for name in e.find_exponent_sizes(fact))
        comparisons = [c for number, fact in enumerate(self.facts) for c in _read_comparisons(number, fact)]
        for number in _find_contradictions(comparisons):
            raise _make_no_sizes_error(self.facts[number], "no sizes satisfy this fact and those before it")
        self.bounds: list[DominanceBound] = []
        for c in comparisons:
            self.bounds.extend(_find_term_bounds(c))
        self.inequalities: list[Inequality] = []
        self.alternatives: list[Alternatives] = []
        for c in comparisons:
            self._add_comparison(c)

    def make_reader(self, names: Iterable[str], exponents: frozenset[str] = frozenset()) -> EnvelopeReader:
        """Make a reader of expressions in these names under the facts; `exponents` are the names in exponents."""
        return EnvelopeReader(self._make_negative_term_cover(self.has_cache(names)), exponents | self._exponents)

    @memoised
    def _make_negative_term_cover(self, cached: bool) -> NegativeTermCover:
        return NegativeTermCover([*self.bounds, *([_make_cache_bound()] if cached else [])])

    def get_shared_reader(self, names: Iterable[str], exponents: frozenset[str]) -> EnvelopeReader:
        """Return a reader that questions without certificates share; it collects the steps of all questions."""
        return self._make_shared_reader(self.has_cache(names), exponents)

    @memoised
    def _make_shared_reader(self, cached: bool, exponents: frozenset[str]) -> EnvelopeReader:
        return EnvelopeReader(self._make_negative_term_cover(cached), exponents | self._exponents)

    def has_cache(self, names: Iterable[str]) -> bool:
        """Whether Z >= L is implied, since both occur in the facts or in `names`."""
        occurring = self.names | frozenset(names)
        return all(name in occurring for name in CACHE_NAMES)

    def list_inequalities(self, names: Iterable[str]) -> list[Inequality]:
        """Return the inequalities that hold at all points, when expressions in these names are compared."""
        return [*self.inequalities, self.cache_inequality] if self.has_cache(names) else self.inequalities

    def get_shared_cone(self, names: Iterable[str], slow: fmpq) -> InequalityCone:
        """Return the cone of the inequalities that hold at all points, shared by questions."""
        return self._make_cone(self.has_cache(names), slow)

    @memoised
    def _make_cone(self, cached: bool, slow: fmpq) -> InequalityCone:
        return InequalityCone([*self.inequalities, self.cache_inequality] if cached else self.inequalities, slow)

    @cached_property
    def cache_inequality(self) -> Inequality:
        return Inequality(make_size_power("L"), make_size_power("Z"), {"rule": "cache"})

    def _add_comparison(self, comparison: _Comparison) -> None:
        """Read a comparison; one that is out of reach is omitted, which only weakens proofs."""
        try:
            sides = self._read_sides(comparison)
        except OutOfReachError:
            return
        if sides is None:
            return
        small, large = sides
        lefts, rights = to_minimum_of_maxima(small), to_maximum_of_minima(large)
        branches = []
        for left in lefts:
            for right in rights:
                because = {"rule": "fact", "fact": comparison.fact}
                pairs = [Inequality(a, b, because) for a in left for b in right]
                branches.append(tuple(inequality for inequality in pairs if not inequality.gap.never_shrinks))
        if not all(branches):
            return
        if len(branches) == 1:
            self.inequalities.extend(branches[0])
        else:
            self.alternatives.append(Alternatives({"rule": "fact", "fact": comparison.fact}, tuple(branches)))

    def _read_sides(self, comparison: _Comparison) -> tuple[Lattice, Lattice] | None:
        """Return a lower bound of the smaller side and an upper bound of the larger; None if none follows."""
        terms = e.add_sums(
            e.expand(comparison.left), e.multiply_sum_by_constant(e.expand(comparison.right), Constant(fmpq(-1)))
        )
        small = {term: coefficient for term, coefficient in terms.items() if coefficient.sign() > 0}
        large = {term: -coefficient for term, coefficient in terms.items() if coefficient.sign() < 0}
        if not small:
            return None
        if not large:
            raise _make_no_sizes_error(self.facts[comparison.fact], "no sizes satisfy this fact")
        reader = EnvelopeReader(NegativeTermCover([]))
        lower, upper = reader.read_sum(small, "").lower, reader.read_sum(large, "").upper
        return None if lower is None or upper is None else (lower, upper)


def _make_no_sizes_error(fact: s.Fact, message: str) -> ArchlineError:
    return error(rules.NO_SIZES, message, span=fact.span)


def _find_contradictions(comparisons: Iterable[_Comparison]) -> Iterator[int]:
    """Yield the numbers of facts by which a size is at least one number and at most a smaller one."""
    lower: dict[str, int] = {}
    upper: dict[str, int] = {}
    for comparison in comparisons:
        match comparison.left, comparison.right:
            case s.Integer(value=number), s.Name(id=name):
                lower[name] = max(number, lower.get(name, number))
            case s.Name(id=name), s.Integer(value=number):
                upper[name] = min(number, upper.get(name, number))
            case _:
                continue
        if name in lower and name in upper and lower[name] > upper[name]:
            yield comparison.fact


def _check_fact(fact: s.Fact) -> None:
    """Raise ArchlineError (AL482) unless this is a fact about sizes."""
    match fact:
        case s.Binary(op="and" | "or", left=left, right=right):
            _check_fact(left)
            _check_fact(right)
        case s.Unary(op="not", operand=operand):
            _check_fact(operand)
        case s.Binary(op=op) if op in _COMPARISONS:
            pass
        case s.IsPower() | s.IsSquare() | s.Divides():
            pass
        case _:
            raise error(rules.NOT_A_FACT, "this is not a fact about sizes", span=fact.span)


def _read_comparisons(number: int, fact: s.Fact) -> Iterator[_Comparison]:
    match fact:
        case s.Binary(op="and", left=left, right=right):
            yield from _read_comparisons(number, left)
            yield from _read_comparisons(number, right)
        case s.Binary(op="<=" | "<", left=left, right=right):
            yield _Comparison(number, left, right)
        case s.Binary(op=">=" | ">", left=left, right=right):
            yield _Comparison(number, right, left)
        case s.Binary(op="==", left=left, right=right):
            yield _Comparison(number, left, right)
            yield _Comparison(number, right, left)
        case s.Divides(divisor=divisor, value=value) if _is_surely_positive(value):
            yield _Comparison(number, divisor, value)
        case s.IsPower(value=value, base=base) if _is_surely_at_least_one(base):
            yield _Comparison(number, s.Integer(1, span=fact.span), value)
        case _:
            pass


def _is_surely_positive(expr: s.Expr) -> bool:
    """Whether an expression is proved positive without a `DifferenceStep`; certificates have those of f and g only."""
    reader = EnvelopeReader(NegativeTermCover([]))
    try:
        return reader.read(expr).lower is not None and not reader.steps
    except OutOfReachError:
        return False


def _is_surely_at_least_one(base: s.Expr) -> bool:
    """Whether powers of the base are at least 1: powers of 1/2 are at most 1."""
    if isinstance(base, s.Name):
        return True
    try:
        value = e.evaluate_constant(base)
        return value is not None and (value - ONE_CONSTANT).sign() >= 0
    except OutOfReachError:
        return False


def _is_never_negative(term: Term) -> bool:
    """Whether a term has no factor that may be negative: only such a term may be dropped from a sum with a bound."""
    reader = EnvelopeReader(NegativeTermCover([]))
    return all(isinstance(base.expr, s.Name) or reader.read(base.expr).nonnegative for base in term.powers)


def _find_term_bounds(comparison: _Comparison) -> Iterator[DominanceBound]:
    """Yield a bound of each term of the smaller side of a comparison if its larger side is a single term."""
    try:
        terms = e.add_sums(
            e.expand(comparison.left), e.multiply_sum_by_constant(e.expand(comparison.right), Constant(fmpq(-1)))
        )
        if not (all(coefficient.is_rational for coefficient in terms.values()) and all(map(_is_never_negative, terms))):
            return
        large = [(term, -coefficient.rational) for term, coefficient in terms.items() if coefficient.rational < 0]
        if len(large) == 1:
            ((greatest, amount),) = large
            for term, coefficient in terms.items():
                if coefficient.rational > 0:
                    yield DominanceBound(
                        term, greatest, amount / coefficient.rational, {"rule": "fact", "fact": comparison.fact}
                    )
    except OutOfReachError:
        return


def _make_cache_bound() -> DominanceBound:
    terms = [make_monomial(make_size_factor(name)) for name in ("L", "Z")]
    return DominanceBound(terms[0], terms[1], fmpq(1), {"rule": "cache"})


def find_sizes(value: s.Fact) -> frozenset[str]:
    """Return the sizes in an expression or fact."""
    return s.find_names(value) - {"pi"}
