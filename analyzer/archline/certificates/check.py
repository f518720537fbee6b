"""Whether a certificate of f = O(g) proves it, and whether a counterexample stands.

PROOFS of BOUNDS are products of monomials that multiply up, and distinctions of cases. DIFFERENCES show what is left of
a sum with negative terms once positive ones have covered those, exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import product
from typing import Any, TypeAlias

from archline.certificates import forms as fm
from archline.certificates import terms as t
from archline.certificates.bounds import Bounds
from archline.certificates.constants import Number, RejectedError, at, log2, power, rational, read, require
from archline.certificates.counterexamples import Counterexample
from archline.certificates.forms import Clause, Form, Monomial
from archline.certificates.terms import Comparison, Facts
from archline.language import syntax as s
from archline.language.diagnostics import ArchlineError
from archline.language.parser import parse_expression
from archline.records import record

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
                require(factor.sign > 0 and small == _NOTHING and large.alone is not None, "it is not a least value")
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


Data: TypeAlias = Mapping[str, Any]
# small <= C*large for some C.
Inequality: TypeAlias = tuple[Monomial, Monomial]
_ZERO, _ONE, _INVERSE = rational(0), rational(1), rational(-1)


class Proofs:
    """Checks the proofs of one certificate."""

    def __init__(self, differences: Differences, cache: bool) -> None:
        self._differences, self._cache = differences, cache
        self._facts: dict[int, list[tuple[Form, Form]]] = {}

    def bound(self, data: Data) -> tuple[frozenset[Monomial], frozenset[Monomial]]:
        """A BOUND: the smallest of the ones is at most a constant times the largest of the others."""
        left, right = (frozenset(map(fm.monomial, data[side])) for side in ("smallest_of", "largest_of"))
        with at("proof"):
            self._proof(data["proof"], left, right, ())
        return left, right

    def _proof(
        self, data: Data, left: frozenset[Monomial], right: frozenset[Monomial], cases: tuple[Sequence[Inequality], ...]
    ) -> None:
        if "split" not in data:
            self._leaf(data, left, right, cases)
            return
        assumed = [[_sides(each) for each in case["assume"]] for case in data["cases"]]
        with at("split"):
            self._split(data["split"], assumed)
        for index, case in enumerate(data["cases"]):
            with at("cases", index, "proof"):
                self._proof(case["proof"], left, right, (*cases, assumed[index]))

    def _leaf(
        self, data: Data, left: frozenset[Monomial], right: frozenset[Monomial], cases: tuple[Sequence[Inequality], ...]
    ) -> None:
        total = fm.ONE
        for side, allowed, sign in (("left", left, _INVERSE), ("right", right, _ONE)):
            weights = _ZERO
            for entry, text in data[side]:
                monomial, weight = fm.monomial(entry), read(text)
                require(monomial in allowed, f"a monomial on the {side} is not one of those bounded")
                require(weight.sign >= 0, f"a weight on the {side} is negative")
                weights, total = weights + weight, total * monomial ** (weight * sign)
            require((weights - _ONE).is_zero, f"the weights on the {side} do not add up to 1")
        require((total * self._uses(data["uses"], cases)) == fm.ONE, "the two sides are not equal")

    def _uses(self, data: Sequence[Data], cases: tuple[Sequence[Inequality], ...]) -> Monomial:
        """The product of small/large, each to its power: at most a constant."""
        total = fm.ONE
        for index, use in enumerate(data):
            with at("uses", index):
                (small, large), times = _sides(use), read(use["times"])
                require(times.sign >= 0, "a multiplier is negative")
                require(self._holds(small, large, use, cases), "the inequality is not what its rule shows")
                total *= (small * large**_INVERSE) ** times
        return total

    def _holds(self, small: Monomial, large: Monomial, use: Data, cases: tuple[Sequence[Inequality], ...]) -> bool:
        """Whether small <= C*large by a rule."""
        because = use["because"]
        match because["rule"]:
            case "size":
                return small == fm.ONE and _is_size(large)
            case "exponential":
                return small == fm.ONE and fm.is_exponential(large)
            case "log":
                return small == fm.ONE and fm.argument(large) is not None
            case "powers" if len(small.powers) == len(large.powers) == 1:
                ((low, one),), ((high, by),) = small.powers, large.powers
                return one == _ONE and fm.below_power(low, high, by)
            case "cache":
                return self._cache and (small, large) == (fm.size("L"), fm.size("Z"))
            case "case":
                depth = because["depth"]
                return type(depth) is int and 0 <= depth < len(cases) and (small, large) in cases[depth]
            case "fact":
                return any(
                    all(small in clause for clause in low) and all(large in clause for clause in high)
                    for low, high in self._sides_of_fact(because["fact"])
                )
            case "log below power" | "log of bounded" | "order of logs" as rule:
                with at("uses"):
                    shown = self._uses(use["uses"], cases) ** _INVERSE
                return self._logarithm(rule, small, large, because, shown)
            case _:
                return False

    def _logarithm(self, rule: str, small: Monomial, large: Monomial, because: Data, shown: Monomial) -> bool:
        """An inequality of logarithms; `shown` is at least a positive constant."""
        of, by = fm.argument(small), read(because.get("power", "0"))
        if of is None:
            return False
        match rule:
            case "log below power":
                return by.sign > 0 and large == of**by and shown == of
            case "log of bounded":
                return large == fm.ONE and shown == of**_INVERSE
            case _:
                pass
        above = fm.argument(large)
        return above is not None and by.sign >= 0 and shown == above**by * of**_INVERSE

    # Facts and cases
    def _sides_of_fact(self, index: int) -> list[tuple[Form, Form]]:
        """Lower bounds of the small sides and upper bounds of the large sides of what a fact says."""
        if index not in self._facts:
            self._facts[index] = [pair for each in self._differences.comparisons(index) for pair in self._pair(each)]
        return self._facts[index]

    def _pair(self, fact: Comparison) -> list[tuple[Form, Form]]:
        bounds = self._differences.bounds
        low = bounds.sum_lower(fact.small)
        return [] if low is None else [(low, bounds.sum_upper(fact.large))]

    def _split(self, data: Data, cases: Sequence[Sequence[Inequality]]) -> None:
        """At every point the assumptions of at least one case hold, up to constants."""
        match data["rule"]:
            case "compare":
                left, right = fm.monomial(data["left"]), fm.monomial(data["right"])
                exhaustive = _covered([{(left, right)}, {(right, left)}], cases)
            case "fact":
                exhaustive = any(
                    _covered([set(product(small, large)) for small in low for large in high], cases)
                    for low, high in self._sides_of_fact(data["fact"])
                )
            case _:
                exhaustive = False
        require(exhaustive, "the cases are not all there are")


def _covered(alternatives: Sequence[set[Inequality]], cases: Sequence[Sequence[Inequality]]) -> bool:
    """Whether for each alternative, of which at least one holds, there is a case that assumes nothing else."""
    return all(any(alternative.issuperset(case) for case in cases) for alternative in alternatives)


def _sides(data: Data) -> Inequality:
    return fm.monomial(data["small"]), fm.monomial(data["large"])


def _is_size(monomial: Monomial) -> bool:
    return len(monomial.powers) == 1 and monomial == fm.size(monomial.powers[0][0].text)


FORMAT = 1


@record
class Checked:
    """Accepted, or rejected for a reason at a place, such as `bounds[0].proof.uses[1]`."""

    accepted: bool
    reason: str = ""
    place: str = ""

    def __str__(self) -> str:
        where = f" (at {self.place})" if self.place else ""
        return "accepted" if self.accepted else f"rejected: {self.reason}{where}"


def check(certificate: Mapping[str, Any]) -> Checked:
    """Check a certificate of f = O(g)."""
    return _outcome(lambda: _check(certificate))


def check_counterexample(f: str, g: str, facts: Sequence[str], data: Mapping[str, Any]) -> Checked:
    """Check a counterexample to f = O(g) under facts."""
    return _outcome(lambda: Counterexample(f, g, facts).check(data))


def _outcome(run: Callable[[], None]) -> Checked:
    try:
        run()
    except RejectedError as problem:
        return Checked(False, problem.reason, "".join(problem.place).lstrip("."))
    except ArchlineError as problem:
        return Checked(False, f"an expression cannot be read: {problem.diagnostics[0].message}")
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError) as problem:
        return Checked(False, f"it is not of the format: {type(problem).__name__}: {problem}")
    return Checked(True)


def _check(data: Mapping[str, Any]) -> None:
    require(data["format"] == FORMAT, "the format is not known")
    f, g = parse_expression(data["f"]), parse_expression(data["g"])
    facts = Facts(data["facts"])
    if "multiple" in data:
        with at("multiple"):
            times = read(data["multiple"])
            require(times.sign > 0, "the constant is not positive")
            of = {term: value * times for term, value in t.expand(g).items()}
            require(t.expand(f) == of, "the one is not that multiple of the other")
        return
    cache = {"L", "Z"} <= s.names((f, g, *facts.facts))
    differences = Differences(data["differences"], facts, cache)
    differences.check_all()
    proofs = Proofs(differences, cache)
    bounds = []
    for index, bound in enumerate(data["bounds"]):
        with at("bounds", index):
            bounds.append(proofs.bound(bound))
    with at("f"):
        differences.bounds.defined(f)
        largest = differences.bounds.upper(f)
    with at("g"):
        differences.bounds.defined(g)
        smallest = differences.bounds.lower(g)
        require(smallest is not None, f"`{data['g']}` is not shown to be positive")
    for one in largest:
        for other in smallest or ():
            require(
                any((left <= one and right <= other for left, right in bounds)),
                f"nothing bounds {_text('min', one)} by {_text('max', other)}",
            )


def _text(function: str, clause: Clause) -> str:
    texts = sorted(map(str, clause))
    return texts[0] if len(texts) == 1 else f"{function}({', '.join(texts)})"
