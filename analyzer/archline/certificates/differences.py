"""DIFFERENCES: what is left of a sum with negative terms once positive ones have covered those, exactly."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, TypeAlias

from archline.certificates import terms as t
from archline.certificates.bounds import Bounds
from archline.certificates.constants import Number, at, log2, power, rational, read, require
from archline.certificates.terms import Comparison, Facts
from archline.language import syntax as s
from archline.language.parser import parse_expression

Data: TypeAlias = Mapping[str, Any]
_ONE, _LOG3 = rational(1), log2(rational(3))
_TWO, _SMALL_POWERS = rational(2), range(1, 20)
_NOTHING = t.Term()


class Differences:
    """Those of a certificate; each is checked when it is first asked for."""

    def __init__(self, data: Sequence[Data], facts: Facts, cache: bool) -> None:
        self._data, self._facts, self._cache = data, facts, cache
        self._sums = [t.expand(parse_expression(each["of"])) for each in data]
        self._shown: dict[int, list[t.Term] | None] = {}
        self.bounds = Bounds(self.remaining)

    def check_all(self) -> None:
        """Those that were not needed, too."""
        for index in range(len(self._data)):
            self._checked(index)

    def remaining(self, terms: t.Sum) -> list[t.Term] | None:
        """The terms that a sum is a constant times; None: it is not shown to be that, or not negative."""
        return next((self._checked(index) for index, each in enumerate(self._sums) if each == terms), None)

    def _checked(self, index: int) -> list[t.Term] | None:
        if index not in self._shown:
            self._shown[index] = None
            with at("differences", index):
                self._shown[index] = self._check(self._data[index], self._sums[index])
        return self._shown[index]

    def _check(self, data: Data, terms: t.Sum) -> list[t.Term]:
        self.bounds.defined(parse_expression(data["of"]))
        for term in terms:
            self.bounds.require_nonnegative(term)
        keeps = [t.read(each) for each in data["keeps"]]
        require(all(term in terms and terms[term].sign > 0 for term in keeps), "a term is not one of the positive ones")
        if "least" in data:
            self._shift(data, terms, keeps)
            return keeps
        rest = dict(terms)
        for index, cover in enumerate(data["covers"]):
            with at("covers", index):
                self._cover(cover, rest, terms)
        for term, value in terms.items():
            left = rest[term].sign
            require(value.sign > 0 or left >= 0, "a negative term is not covered whole")
            require(value.sign < 0 or left >= 0, "a positive term covers more than itself")
        for term in keeps:
            require(rest[term].sign > 0, "nothing is left of a term")
        return keeps

    def _shift(self, data: Data, terms: t.Sum, keeps: Sequence[t.Term]) -> None:
        """With factors as their least values and more, no coefficient is negative once the share is taken away."""
        share = read(data["share"])
        require(share.sign > 0 or not keeps, "the share is not positive")
        least: dict[t.Factor, Number] = {}
        for index, bound in enumerate(data["least"]):
            with at("least", index):
                small, large, factor = t.read(bound["small"]), t.read(bound["large"]), read(bound["factor"])
                require(factor.sign > 0 and small == _NOTHING and large.alone is not None, "it is no least value")
                require(
                    self._holds(small, large, factor, bound["because"]), "the least value is not what its rule shows"
                )
                ((least_of, _),) = large.powers
                least[least_of] = _ONE / factor
        rest = t.plus(terms, t.total((term, share) for term in keeps), -1)
        moved = t.total(pair for term, value in rest.items() for pair in t.shifted(term, value, least).items())
        require(all(value.sign > 0 for value in moved.values()), "a coefficient is negative")

    def _cover(self, data: Data, rest: t.Sum, terms: t.Sum) -> None:
        """amount*term <= factor*amount*into, of a negative and a positive term."""
        term, into = t.read(data["term"]), t.read(data["into"])
        amount, factor = read(data["amount"]), read(data["factor"])
        require(amount.sign > 0 and factor.sign > 0, "an amount is not positive")
        require(term in terms and terms[term].sign < 0, "the term is not one of the negative ones")
        require(into in terms and terms[into].sign > 0, "the term to cover with is not one of the positive ones")
        product, logarithm = into, rational(0)
        for index, use in enumerate(data["uses"]):
            with at("uses", index):
                ratio, by, log = self._use(use, term)
                product *= ratio**by
                logarithm += log * by
        require(product == term, "the inequalities do not multiply up to it")
        require(logarithm <= log2(factor), "the factor is too small")
        rest[term] += amount
        rest[into] -= factor * amount

    def _use(self, data: Data, covered: t.Term) -> tuple[t.Term, Number, Number]:
        """small/large, the power it is taken to, and log2 of what it is at most."""
        small, large = t.read(data["small"]), t.read(data["large"])
        factor, times = read(data["factor"]), read(data["times"])
        require(times.sign >= 0 and factor.sign > 0, "a multiplier is negative")
        for term in (small, large):
            self.bounds.require_nonnegative(term)
        for each, _ in (*small.powers, *large.powers):
            self.bounds.defined(each.expr)
            positive = self.bounds.lower(each.expr) is not None
            zero_covered = any(one == each and by.sign > 0 for one, by in covered.powers)
            require(positive or zero_covered, "a factor that may be zero is cancelled")
        require(self._holds(small, large, factor, data["because"]), "the inequality is not what its rule shows")
        return small * large ** rational(-1), times, log2(factor)

    def _holds(self, small: t.Term, large: t.Term, factor: Number, because: Data) -> bool:
        """Whether small <= factor*large by a rule."""
        one, of, above = small == _NOTHING, small.alone, large.alone
        match because["rule"], of, above:
            case "size", _, s.Name():
                return one and factor >= _ONE
            case "log", _, s.Call(function="log2", arguments=(inner,)):
                return one and factor >= _ONE and self.bounds.nonnegative(inner)
            case "log of size", _, s.Call(function="log2", arguments=(s.Name(),)):
                return one and factor * _LOG3 >= _ONE
            case "exponential", _, s.Binary(op="^", left=s.Integer(value=2), right=s.Name(id=name)):
                return one and any(power(_TWO, each) * factor >= _ONE for each in self._least(name, because))
            case "size below exponential", _, s.Binary(op="^", left=s.Integer(value=2), right=s.Name(id=name)):
                by = small.power_of(name)
                return by in _SMALL_POWERS and factor >= rational((Fraction(27, 50) * by) ** int(by))
            case "log below size", s.Call(function="log2", arguments=(s.Name(id=name),)), s.Name(id=other):
                return name == other and factor >= _LOG3
            case "least", _, s.Call():
                return one and factor >= _ONE and self._at_least_one(above)
            case "cache", s.Name(id="L"), s.Name(id="Z"):
                return self._cache and factor >= _ONE
            case "fact", _, _:
                return any(self._by_fact(each, small, large, factor) for each in self.comparisons(because["fact"]))
            case ("min" | "floor" | "remainder") as rule, s.Call() | s.Binary(), _:
                return any(c <= factor for c in self._arguments(rule, of, large))
            case ("max" | "ceil") as rule, _, s.Call():
                return any(c * factor >= _ONE for c in self._arguments(rule, above, small))
            case _:
                return False

    def _least(self, name: str, because: Data) -> Iterator[Number]:
        """What a size is at least: 1, or what a fact says."""
        yield _ONE
        for each in self.comparisons(because["fact"]) if "fact" in because else ():
            one = t.single(each.large)
            if one is not None and one[0] == t.read({name: "1"}) and _NOTHING in each.small:
                yield each.small[_NOTHING] / one[1]

    def _arguments(self, rule: str, of: s.Expr, term: t.Term) -> list[Number]:
        """The coefficients of the arguments of a function that are multiples of a term."""
        match rule, of:
            case (("min" | "max" | "floor" | "ceil"), s.Call(function=function, arguments=found)) if function == rule:
                arguments: tuple[s.Expr, ...] = found
            case "floor", s.Binary(op="//"):
                arguments = (t.quotient(of),)
            case "remainder", s.Binary(op="%", left=left, right=right) if self.bounds.nonnegative(left):
                arguments = (left, right)
            case _:
                return []
        found_terms = [t.single(t.expand(each)) for each in arguments]
        return [each[1] for each in found_terms if each is not None and each[0] == term and each[1].sign > 0]

    def _at_least_one(self, expr: s.Expr) -> bool:
        match expr:
            case s.Name():
                return True
            case s.Call(function="log2", arguments=(inner,)):
                return self.bounds.nonnegative(inner)
            case s.Call(function="min", arguments=parts):
                return all(map(self._at_least_one, parts))
            case s.Call(function="max", arguments=parts):
                return any(map(self._at_least_one, parts))
            case s.Call(function="ceil", arguments=(inner,)):
                return self.bounds.lower(inner) is not None
            case _:
                pass
        one = t.single(t.expand(expr))
        if one is None or one[0].alone is expr:
            return False
        return one[1] >= _ONE and all(by.sign > 0 and self._at_least_one(each.expr) for each, by in one[0].powers)

    def comparisons(self, index: object) -> list[Comparison]:
        """What a fact says, if all its parts have values."""
        found = self._facts.comparisons(index)
        for each in found:
            for side in each.sides:
                self.bounds.defined(side)
        return [each for each in found if all(self.bounds.lower(side) is not None for side in each.positive)]

    def _by_fact(self, fact: Comparison, small: t.Term, large: t.Term, factor: Number) -> bool:
        one = t.single(fact.large)
        if one is None or one[0] != large or small not in fact.small:
            return False
        for term in fact.small:
            self.bounds.require_nonnegative(term)
        return one[1] <= factor * fact.small[small]
