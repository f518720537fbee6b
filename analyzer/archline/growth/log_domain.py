"""Facts about sizes, made ready for proofs: inequalities between monomials, alternatives, and exact bounds of terms."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property

from archline.algebra.reals import UNITY, Constant, OutOfReachError
from archline.growth import normal_form as e
from archline.growth import rules
from archline.growth.bounds import Reader
from archline.growth.direction_lp import Cone, Inequality
from archline.growth.dominance_differences import Absorption, DominanceBound
from archline.growth.lattices import Lattice, largest_of_smallest, size, smallest_of_largest
from archline.growth.monomials import Term, factor, single
from archline.language import syntax as s
from archline.language.diagnostics import ArchlineError, error
from archline.numbers import fmpq
from archline.records import memoised, record

_COMPARISONS = frozenset(("<=", "<", ">=", ">", "==", "!="))
CACHE_NAMES = ("Z", "L")


@record(eq=False)
class Alternatives:
    """A fact that says: the inequalities of one of these branches hold at each point."""

    document: dict[str, object]
    branches: tuple[tuple[Inequality, ...], ...]


@record
class _Comparison:
    """left <= right, from the fact of this number."""

    fact: int
    left: s.Expr
    right: s.Expr


class Domain:
    """The points that questions are about: real sizes, each at least 1, that satisfy facts."""

    def __init__(self, facts: Sequence[s.Fact] = ()) -> None:
        self.facts = tuple(facts)
        for fact in self.facts:
            _check(fact)
        self.names = frozenset(name for fact in self.facts for name in names_of(fact))
        self._exponents = frozenset(name for fact in self.facts for name in e.exponents(fact))
        comparisons = [each for number, fact in enumerate(self.facts) for each in _comparisons(number, fact)]
        for number in _against_numbers(comparisons):
            raise _nowhere(self.facts[number], "no sizes satisfy this fact and those before it")
        self.bounds: list[DominanceBound] = []
        for each in comparisons:
            self.bounds.extend(_bounds(each))
        self.inequalities: list[Inequality] = []
        self.alternatives: list[Alternatives] = []
        for each in comparisons:
            self._add(each)

    def reader(self, names: Iterable[str], exponents: frozenset[str] = frozenset()) -> Reader:
        """What reads expressions in these names under the facts; some of them are exponents."""
        return Reader(self._absorption(self.has_cache(names)), exponents | self._exponents)

    @memoised
    def _absorption(self, cached: bool) -> Absorption:
        return Absorption([*self.bounds, *([_cache_bound()] if cached else [])])

    def shared_reader(self, names: Iterable[str], exponents: frozenset[str]) -> Reader:
        """A reader kept from one question to the next, with the steps of all: for questions without certificates."""
        return self._reader(self.has_cache(names), exponents)

    @memoised
    def _reader(self, cached: bool, exponents: frozenset[str]) -> Reader:
        return Reader(self._absorption(cached), exponents | self._exponents)

    def has_cache(self, names: Iterable[str]) -> bool:
        """Whether Z >= L is understood."""
        held = self.names | frozenset(names)
        return all(name in held for name in CACHE_NAMES)

    def known(self, names: Iterable[str]) -> list[Inequality]:
        """The inequalities that hold at all points, when expressions in these names are compared."""
        return [*self.inequalities, self.cache_inequality] if self.has_cache(names) else self.inequalities

    def cone(self, names: Iterable[str], slow: fmpq) -> Cone:
        """What is known everywhere, kept from one question to the next."""
        return self._cone(self.has_cache(names), slow)

    @memoised
    def _cone(self, cached: bool, slow: fmpq) -> Cone:
        return Cone([*self.inequalities, self.cache_inequality] if cached else self.inequalities, slow)

    @cached_property
    def cache_inequality(self) -> Inequality:
        return Inequality(size("L"), size("Z"), {"rule": "cache"})

    def _add(self, comparison: _Comparison) -> None:
        """Read a comparison; one that is out of reach is left out, which weakens what can be proved and no more."""
        try:
            sides = self._sides(comparison)
        except OutOfReachError:
            return
        if sides is None:
            return
        small, large = sides
        lefts, rights = smallest_of_largest(small), largest_of_smallest(large)
        branches = []
        for left in lefts:
            for right in rights:
                because = {"rule": "fact", "fact": comparison.fact}
                pairs = [Inequality(a, b, because) for a in left for b in right]
                branches.append(tuple(each for each in pairs if not each.gap.never_shrinks))
        if not all(branches):
            return
        if len(branches) == 1:
            self.inequalities.extend(branches[0])
        else:
            self.alternatives.append(Alternatives({"rule": "fact", "fact": comparison.fact}, tuple(branches)))

    def _sides(self, comparison: _Comparison) -> tuple[Lattice, Lattice] | None:
        """What the smaller side is at least, and the larger at most; None where the fact says nothing."""
        terms = e.added(e.expand(comparison.left), e.scaled(e.expand(comparison.right), Constant(fmpq(-1))))
        small = {term: each for term, each in terms.items() if each.sign() > 0}
        large = {term: -each for term, each in terms.items() if each.sign() < 0}
        if not small:
            return None
        if not large:
            raise _nowhere(self.facts[comparison.fact], "no sizes satisfy this fact")
        reader = Reader(Absorption([]))
        lower, upper = reader.read_sum(small, "").lower, reader.read_sum(large, "").upper
        return None if lower is None or upper is None else (lower, upper)


def _nowhere(fact: s.Fact, message: str) -> ArchlineError:
    return error(rules.NO_SIZES, message, span=fact.span)


def _against_numbers(comparisons: Iterable[_Comparison]) -> Iterator[int]:
    """The facts by which a size is above one number and below a smaller one."""
    least: dict[str, int] = {}
    most: dict[str, int] = {}
    for each in comparisons:
        match each.left, each.right:
            case s.Integer(value=number), s.Name(id=name):
                least[name] = max(number, least.get(name, number))
            case s.Name(id=name), s.Integer(value=number):
                most[name] = min(number, most.get(name, number))
            case _:
                continue
        if name in least and name in most and least[name] > most[name]:
            yield each.fact


def _check(fact: s.Fact) -> None:
    """Raise ArchlineError (AL482) for what is no fact about sizes."""
    match fact:
        case s.Binary(op="and" | "or", left=left, right=right):
            _check(left)
            _check(right)
        case s.Unary(op="not", operand=operand):
            _check(operand)
        case s.Binary(op=op) if op in _COMPARISONS:
            pass
        case s.IsPower() | s.IsSquare() | s.Divides():
            pass
        case _:
            raise error(rules.NOT_A_FACT, "this is not a fact about sizes", span=fact.span)


def _comparisons(number: int, fact: s.Fact) -> Iterator[_Comparison]:
    match fact:
        case s.Binary(op="and", left=left, right=right):
            yield from _comparisons(number, left)
            yield from _comparisons(number, right)
        case s.Binary(op="<=" | "<", left=left, right=right):
            yield _Comparison(number, left, right)
        case s.Binary(op=">=" | ">", left=left, right=right):
            yield _Comparison(number, right, left)
        case s.Binary(op="==", left=left, right=right):
            yield _Comparison(number, left, right)
            yield _Comparison(number, right, left)
        case s.Divides(divisor=divisor, value=value) if _surely_positive(value):
            yield _Comparison(number, divisor, value)
        case s.IsPower(value=value, base=base) if _surely_at_least_one(base):
            yield _Comparison(number, s.Integer(1, span=fact.span), value)
        case _:
            pass


def _surely_positive(expr: s.Expr) -> bool:
    """Whether it is, without a difference: a certificate shows those of the two sides only."""
    reader = Reader(Absorption([]))
    try:
        return reader.read(expr).lower is not None and not reader.steps
    except OutOfReachError:
        return False


def _surely_at_least_one(base: s.Expr) -> bool:
    """Whether powers of the base are at least 1: those of 1/2 are at most that."""
    if isinstance(base, s.Name):
        return True
    try:
        value = e.constant(base)
        return value is not None and (value - UNITY).sign() >= 0
    except OutOfReachError:
        return False


def _never_negative(term: Term) -> bool:
    """Whether no factor may be negative: dropping a negative term would turn a bound round."""
    reader = Reader(Absorption([]))
    return all(isinstance(each.expr, s.Name) or reader.read(each.expr).nonnegative for each in term.powers)


def _bounds(comparison: _Comparison) -> Iterator[DominanceBound]:
    """What a comparison with one term on its larger side says exactly of each term on the smaller."""
    try:
        terms = e.added(e.expand(comparison.left), e.scaled(e.expand(comparison.right), Constant(fmpq(-1))))
        if not (all(each.is_rational for each in terms.values()) and all(map(_never_negative, terms))):
            return
        large = [(term, -each.rational) for term, each in terms.items() if each.rational < 0]
        if len(large) == 1:
            ((greatest, amount),) = large
            for term, each in terms.items():
                if each.rational > 0:
                    yield DominanceBound(
                        term, greatest, amount / each.rational, {"rule": "fact", "fact": comparison.fact}
                    )
    except OutOfReachError:
        return


def _cache_bound() -> DominanceBound:
    terms = [single(factor(name)) for name in ("L", "Z")]
    return DominanceBound(terms[0], terms[1], fmpq(1), {"rule": "cache"})


def names_of(value: s.Fact) -> frozenset[str]:
    """The sizes in an expression or fact."""
    return s.names(value) - {"pi"}
