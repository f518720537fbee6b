"""Check whether a certificate proves f = O(g), and whether a counterexample refutes it.

The PROOF of a BOUND is a product of inequalities of monomials, or distinguishes cases. A DIFFERENCE lists terms that
remain of a sum after its positive terms have covered all negative ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import product
from typing import Any, TypeAlias

from archline.certificates import forms as fm
from archline.certificates import logarithms
from archline.certificates import terms as t
from archline.certificates.bounds import BoundDeriver
from archline.certificates.constants import (
    Number,
    RejectedError,
    log2,
    make_rational,
    raise_to_power,
    read_constant,
    require,
    track_place,
)
from archline.certificates.counterexamples import CounterexampleChecker
from archline.certificates.forms import Clause, Form, Monomial
from archline.certificates.terms import Comparison, Facts
from archline.language import syntax as s
from archline.language.diagnostics import ArchlineError
from archline.language.parser import parse_expression
from archline.records import record

_ONE, _LOG2_OF_3 = make_rational(1), log2(make_rational(3))
_TWO, _SMALL_POWERS = make_rational(2), range(1, 20)
_UNIT_TERM = t.Term()


class DifferenceChecker:
    """Checks the DIFFERENCES of a certificate, proofs that a sum has the order of some of its positive terms."""

    def __init__(self, data: Sequence[Data], facts: Facts, cache: bool) -> None:
        self._data, self._facts, self._cache = data, facts, cache
        self._sums = [t.expand(parse_expression(entry["of"])) for entry in data]
        self._shown: dict[int, list[t.Term] | None] = {}
        self.bounds = BoundDeriver(self.find_remaining_terms)

    def check_all(self) -> None:
        """Check all differences, including ones that no proof used."""
        for index in range(len(self._data)):
            self._check_once(index)

    def find_remaining_terms(self, terms: t.Sum) -> list[t.Term] | None:
        """Return terms that bound a sum from below, up to a constant, by a DIFFERENCE; None if there is none for it."""
        return next((self._check_once(index) for index, known in enumerate(self._sums) if known == terms), None)

    def _check_once(self, index: int) -> list[t.Term] | None:
        if index not in self._shown:
            self._shown[index] = None
            with track_place("differences", index):
                self._shown[index] = self._check_difference(self._data[index], self._sums[index])
        return self._shown[index]

    def _check_difference(self, data: Data, terms: t.Sum) -> list[t.Term]:
        self.bounds.require_defined(parse_expression(data["of"]))
        for term in terms:
            self.bounds.require_nonnegative(term)
        keeps = [t.read_term(entry) for entry in data["keeps"]]
        require(all(term in terms and terms[term].sign > 0 for term in keeps), "a term in `keeps` is not positive")
        if "least" in data:
            self._check_shift(data, terms, keeps)
            return keeps
        rest = dict(terms)
        for index, cover in enumerate(data["covers"]):
            with track_place("covers", index):
                self._check_cover(cover, rest, terms)
        for term, value in terms.items():
            remainder = rest[term].sign
            require(value.sign > 0 or remainder >= 0, "a negative term is not fully covered")
            require(value.sign < 0 or remainder >= 0, "a positive term covers more than its coefficient allows")
        for term in keeps:
            require(rest[term].sign > 0, "nothing remains of a term in `keeps`")
        return keeps

    def _check_shift(self, data: Data, terms: t.Sum, keeps: Sequence[t.Term]) -> None:
        """Check that the sum is at least a share of its terms `keeps`, from its expansion in factors less their minima.

        No coefficient of the expansion of sum - share*keeps may be negative.
        """
        share = read_constant(data["share"])
        require(share.sign > 0 or not keeps, "the share is not positive")
        minima: dict[t.Factor, Number] = {}
        for index, bound in enumerate(data["least"]):
            with track_place("least", index):
                small, large, factor = (
                    t.read_term(bound["small"]),
                    t.read_term(bound["large"]),
                    read_constant(bound["factor"]),
                )
                require(
                    factor.sign > 0 and small == _UNIT_TERM and large.single_factor is not None,
                    "not a minimum of a factor",
                )
                require(
                    self._is_valid_rule(small, large, factor, bound["because"]),
                    "its rule does not prove the minimum",
                )
                ((factor_, _),) = large.powers
                minima[factor_] = _ONE / factor
        rest = t.add_sums(terms, t.add_terms((term, share) for term in keeps), -1)
        shifted = t.add_terms(
            pair for term, value in rest.items() for pair in t.shift_factors(term, value, minima).items()
        )
        require(all(value.sign > 0 for value in shifted.values()), "a coefficient is negative")

    def _check_cover(self, data: Data, rest: t.Sum, terms: t.Sum) -> None:
        """Check amount*term <= factor*amount*into, by which the positive term `into` covers the negative one `term`."""
        if "mean" in data:
            self._check_mean(data, rest, terms)
            return
        term, into = t.read_term(data["term"]), t.read_term(data["into"])
        amount, factor = read_constant(data["amount"]), read_constant(data["factor"])
        require(amount.sign > 0 and factor.sign > 0, "an amount is not positive")
        require(term in terms and terms[term].sign < 0, "the covered term is not a negative term of the sum")
        require(into in terms and terms[into].sign > 0, "the covering term is not a positive term of the sum")
        product, logarithm = into, make_rational(0)
        for index, use in enumerate(data["uses"]):
            with track_place("uses", index):
                ratio, by, log = self._check_use(use, term)
                product *= ratio**by
                logarithm += log * by
        require(product == term, "the inequalities do not imply the cover")
        require(logarithm <= log2(factor), "the factor is too small")
        rest[term] += amount
        rest[into] -= factor * amount

    def _check_mean(self, data: Data, rest: t.Sum, terms: t.Sum) -> None:
        """Check amount*term <= the sum of part*into, from the inequality of weighted means."""
        term, amount = t.read_term(data["term"]), read_constant(data["amount"])
        require(term in terms and terms[term].sign < 0, "the covered term is not a negative term of the sum")
        require(amount.sign > 0, "an amount is not positive")
        product, logarithm, total = _UNIT_TERM, make_rational(0), make_rational(0)
        for index, entry in enumerate(data["mean"]):
            with track_place("mean", index):
                into, part, weight = t.read_term(entry["into"]), *map(read_constant, (entry["part"], entry["weight"]))
                require(into in terms and terms[into].sign > 0, "the covering term is not a positive term of the sum")
                require(part.sign > 0 and weight.sign > 0, "a part or a weight is not positive")
                require(self.bounds.bound_term_below(into) is not None, "the covering term may be zero")
                product *= into**weight
                logarithm += log2(part / weight) * weight
                total += weight
                rest[into] -= part
        require(product == term and total == _ONE, "the term is no weighted mean of the covering terms")
        require(log2(amount) <= logarithm, "the parts are too small")
        rest[term] += amount

    def _check_use(self, data: Data, covered: t.Term) -> tuple[t.Term, Number, Number]:
        """Check an inequality small <= factor*large; return small/large, the power to raise it to, and log2(factor)."""
        small, large = t.read_term(data["small"]), t.read_term(data["large"])
        factor, times = read_constant(data["factor"]), read_constant(data["times"])
        require(times.sign >= 0 and factor.sign > 0, "a multiplier is negative")
        for term in (small, large):
            self.bounds.require_nonnegative(term)
        for factor_, _ in (*small.powers, *large.powers):
            self.bounds.require_defined(factor_.expr)
            positive = self.bounds.bound_below(factor_.expr) is not None
            zero_covered = any(x == factor_ and by.sign > 0 for x, by in covered.powers)
            require(positive or zero_covered, "a factor that may be zero is cancelled")
        require(self._is_valid_rule(small, large, factor, data["because"]), "its rule does not prove the inequality")
        return small * large ** make_rational(-1), times, log2(factor)

    def _is_valid_rule(self, small: t.Term, large: t.Term, factor: Number, because: Data) -> bool:
        """Test whether the rule in `because` proves small <= factor*large."""
        is_one, of, above = small == _UNIT_TERM, small.single_factor, large.single_factor
        match because["rule"], of, above:
            case "size", _, s.Name():
                return is_one and factor >= _ONE
            case "log", _, s.Call(function="log2", arguments=(inner,)):
                return is_one and factor >= _ONE and self.bounds.is_nonnegative(inner)
            case "log of size", _, s.Call(function="log2", arguments=(s.Name(),)):
                return is_one and factor * _LOG2_OF_3 >= _ONE
            case "exponential", _, s.Binary(op="^", left=s.Integer(value=2), right=s.Name(id=name)):
                return is_one and any(
                    raise_to_power(_TWO, low) * factor >= _ONE for low in self._iterate_minima(name, because)
                )
            case "size below exponential", _, s.Binary(op="^", left=s.Integer(value=2), right=s.Name(id=name)):
                by = small.get_power_of(name)
                return by in _SMALL_POWERS and factor >= make_rational((Fraction(27, 50) * by) ** int(by))
            case "log below size", s.Call(function="log2", arguments=(s.Name(id=name),)), s.Name(id=above_name):
                return name == above_name and factor >= _LOG2_OF_3
            case "least", _, s.Call():
                return is_one and factor >= _ONE and self._is_at_least_one(above)
            case "cache", s.Name(id="L"), s.Name(id="Z"):
                return self._cache and factor >= _ONE
            case "fact", _, _:
                return any(
                    self._is_implied_by_fact(x, small, large, factor) for x in self.list_comparisons(because["fact"])
                )
            case ("min" | "floor" | "remainder") as rule, s.Call() | s.Binary(), _:
                return any(c <= factor for c in self._find_argument_coefficients(rule, of, large))
            case ("max" | "ceil") as rule, _, s.Call():
                return any(c * factor >= _ONE for c in self._find_argument_coefficients(rule, above, small))
            case _:
                return False

    def _iterate_minima(self, name: str, because: Data) -> Iterator[Number]:
        """Iterate over lower bounds of a size: 1, and constants from the fact in `because`."""
        yield _ONE
        for comparison in self.list_comparisons(because["fact"]) if "fact" in because else ():
            single = t.find_single_term(comparison.large)
            if single is not None and single[0] == t.read_term({name: "1"}) and _UNIT_TERM in comparison.small:
                yield comparison.small[_UNIT_TERM] / single[1]

    def _find_argument_coefficients(self, rule: str, call: s.Expr, term: t.Term) -> list[Number]:
        """Return the positive coefficients c of all arguments c*term of a function `call`."""
        match rule, call:
            case (("min" | "max" | "floor" | "ceil"), s.Call(function=function, arguments=parts)) if function == rule:
                arguments: tuple[s.Expr, ...] = parts
            case "floor", s.Binary(op="//"):
                arguments = (t.make_quotient(call),)
            case "remainder", s.Binary(op="%", left=left, right=right) if self.bounds.is_nonnegative(left):
                arguments = (left, right)
            case _:
                return []
        singles = [t.find_single_term(t.expand(argument)) for argument in arguments]
        return [single[1] for single in singles if single is not None and single[0] == term and single[1].sign > 0]

    def _is_at_least_one(self, expr: s.Expr) -> bool:
        match expr:
            case s.Name():
                return True
            case s.Call(function="log2", arguments=(inner,)):
                return self.bounds.is_nonnegative(inner)
            case s.Call(function="min", arguments=parts):
                return all(map(self._is_at_least_one, parts))
            case s.Call(function="max", arguments=parts):
                return any(map(self._is_at_least_one, parts))
            case s.Call(function="ceil", arguments=(inner,)):
                return self.bounds.bound_below(inner) is not None
            case _:
                pass
        single = t.find_single_term(t.expand(expr))
        if single is None or single[0].single_factor is expr:
            return False
        return single[1] >= _ONE and all(by.sign > 0 and self._is_at_least_one(x.expr) for x, by in single[0].powers)

    def list_comparisons(self, index: object) -> list[Comparison]:
        """Return the comparisons of fact number `index` that hold, as the parts that must be positive are proved so.

        Raises RejectedError if a side may be undefined.
        """
        comparisons = self._facts.list_comparisons(index)
        for comparison in comparisons:
            for side in comparison.sides:
                self.bounds.require_defined(side)
        return [x for x in comparisons if all(self.bounds.bound_below(side) is not None for side in x.positive)]

    def _is_implied_by_fact(self, fact: Comparison, small: t.Term, large: t.Term, factor: Number) -> bool:
        single = t.find_single_term(fact.large)
        if single is None or single[0] != large or small not in fact.small:
            return False
        for term in fact.small:
            self.bounds.require_nonnegative(term)
        return single[1] <= factor * fact.small[small]


Data: TypeAlias = Mapping[str, Any]
# Monomials (small, large) with small <= C*large for some constant C.
Inequality: TypeAlias = tuple[Monomial, Monomial]
_ZERO, _INVERSE = make_rational(0), make_rational(-1)


class ProofChecker:
    """Checks the proofs of one certificate."""

    def __init__(self, differences: DifferenceChecker, cache: bool) -> None:
        self._differences, self._cache = differences, cache
        self._facts: dict[int, list[tuple[Form, Form]]] = {}

    def check_bound(self, data: Data) -> tuple[frozenset[Monomial], frozenset[Monomial]]:
        """Check a BOUND: the minimum of the left monomials is O(the maximum of the right ones). Return both sides."""
        left, right = (frozenset(map(fm.read_monomial, data[side])) for side in ("smallest_of", "largest_of"))
        with track_place("proof"):
            self._check_proof(data["proof"], left, right, ())
        return left, right

    def _check_proof(
        self, data: Data, left: frozenset[Monomial], right: frozenset[Monomial], cases: tuple[Sequence[Inequality], ...]
    ) -> None:
        if "split" not in data:
            self._check_leaf(data, left, right, cases)
            return
        assumed = [[_read_inequality(entry) for entry in case["assume"]] for case in data["cases"]]
        with track_place("split"):
            self._check_split(data["split"], assumed)
        for index, case in enumerate(data["cases"]):
            with track_place("cases", index, "proof"):
                self._check_proof(case["proof"], left, right, (*cases, assumed[index]))

    def _check_leaf(
        self, data: Data, left: frozenset[Monomial], right: frozenset[Monomial], cases: tuple[Sequence[Inequality], ...]
    ) -> None:
        """Check a proof without further cases: weights of monomials, and inequalities whose product compares them."""
        total = fm.ONE
        for side, allowed, sign in (("left", left, _INVERSE), ("right", right, _ONE)):
            weights = _ZERO
            for entry, text in data[side]:
                monomial, weight = fm.read_monomial(entry), read_constant(text)
                require(monomial in allowed, f"a monomial on the {side} is not in the bound")
                require(weight.sign >= 0, f"a weight on the {side} is negative")
                weights, total = weights + weight, total * monomial ** (weight * sign)
            require((weights - _ONE).is_zero, f"the weights on the {side} do not add up to 1")
        require((total * self._check_uses(data["uses"], cases)) == fm.ONE, "the inequalities do not imply the bound")

    def _check_uses(self, data: Sequence[Data], cases: tuple[Sequence[Inequality], ...]) -> Monomial:
        """Check inequalities, and return the product of small/large, each to its power: at most a constant."""
        total = fm.ONE
        for index, use in enumerate(data):
            with track_place("uses", index):
                (small, large), times = _read_inequality(use), read_constant(use["times"])
                require(times.sign >= 0, "a multiplier is negative")
                require(self._is_valid_rule(small, large, use, cases), "its rule does not prove the inequality")
                total *= (small * large**_INVERSE) ** times
        return total

    def _is_valid_rule(
        self, small: Monomial, large: Monomial, use: Data, cases: tuple[Sequence[Inequality], ...]
    ) -> bool:
        """Test whether the rule in the `because` of a use proves small <= C*large for some C."""
        because = use["because"]
        match because["rule"]:
            case "size":
                return small == fm.ONE and _is_size(large)
            case "exponential":
                return small == fm.ONE and fm.is_exponential(large)
            case "log":
                return small == fm.ONE and fm.find_log_argument(large) is not None
            case "powers" if len(small.powers) == len(large.powers) == 1:
                ((low, low_power),), ((high, by),) = small.powers, large.powers
                return low_power == _ONE and fm.is_below_power(low, high, by)
            case "cache":
                return self._cache and (small, large) == (fm.make_size("L"), fm.make_size("Z"))
            case "case":
                depth = because["depth"]
                return type(depth) is int and 0 <= depth < len(cases) and (small, large) in cases[depth]
            case "fact":
                return any(
                    all(small in clause for clause in low) and all(large in clause for clause in high)
                    for low, high in self._bound_fact(because["fact"])
                )
            case "log below power" | "log of bounded" | "order of logs" as rule:
                with track_place("uses"):
                    shown = self._check_uses(use["uses"], cases) ** _INVERSE
                return self._is_valid_logarithm_rule(rule, small, large, because, shown)
            case _:
                return False

    def _is_valid_logarithm_rule(
        self, rule: str, small: Monomial, large: Monomial, because: Data, shown: Monomial
    ) -> bool:
        """Test whether a rule proves an inequality of logarithms; `shown` is at least a positive constant."""
        argument, by = fm.find_log_argument(small), read_constant(because.get("power", "0"))
        if argument is None:
            return False
        match rule:
            case "log below power":
                return by.sign > 0 and large == argument**by and shown == argument
            case "log of bounded":
                return large == fm.ONE and shown == argument**_INVERSE
            case _:
                pass
        above = fm.find_log_argument(large)
        return above is not None and by.sign >= 0 and shown == above**by * argument**_INVERSE

    # Facts and cases
    def _bound_fact(self, index: int) -> list[tuple[Form, Form]]:
        """Return for each comparison of a fact a lower bound of its small side and an upper bound of its large side."""
        if index not in self._facts:
            self._facts[index] = [
                pair for fact in self._differences.list_comparisons(index) for pair in self._bound_comparison(fact)
            ]
        return self._facts[index]

    def _bound_comparison(self, fact: Comparison) -> list[tuple[Form, Form]]:
        bounds = self._differences.bounds
        low = bounds.bound_sum_below(fact.small)
        return [] if low is None else [(low, bounds.bound_sum_above(fact.large))]

    def _check_split(self, data: Data, cases: Sequence[Sequence[Inequality]]) -> None:
        """Check that at every point the assumptions of at least one case hold, up to constants."""
        match data["rule"]:
            case "compare":
                left, right = fm.read_monomial(data["left"]), fm.read_monomial(data["right"])
                exhaustive = _is_exhaustive([{(left, right)}, {(right, left)}], cases)
            case "fact":
                exhaustive = any(
                    _is_exhaustive([set(product(small, large)) for small in low for large in high], cases)
                    for low, high in self._bound_fact(data["fact"])
                )
            case _:
                exhaustive = False
        require(exhaustive, "the cases are not exhaustive")


def _is_exhaustive(alternatives: Sequence[set[Inequality]], cases: Sequence[Sequence[Inequality]]) -> bool:
    """Test whether the cases cover all points: each alternative (one always holds) has the assumptions of a case."""
    return all(any(alternative.issuperset(case) for case in cases) for alternative in alternatives)


def _read_inequality(data: Data) -> Inequality:
    return fm.read_monomial(data["small"]), fm.read_monomial(data["large"])


def _is_size(monomial: Monomial) -> bool:
    return len(monomial.powers) == 1 and monomial == fm.make_size(monomial.powers[0][0].text)


FORMAT_VERSION = 1


@record
class Checked:
    """The result of a check: accepted, or rejected for a reason at a position, such as `bounds[0].proof.uses[1]`."""

    accepted: bool
    reason: str = ""
    place: str = ""

    def __str__(self) -> str:
        where = f" (at {self.place})" if self.place else ""
        return "accepted" if self.accepted else f"rejected: {self.reason}{where}"


def check(certificate: Mapping[str, Any]) -> Checked:
    """Check a certificate of f = O(g)."""
    return _run_check(lambda: _check_certificate(certificate))


def check_counterexample(f: str, g: str, facts: Sequence[str], data: Mapping[str, Any]) -> Checked:
    """Check a counterexample to f = O(g) under facts."""
    if data["kind"] == "logarithms":
        return _run_check(lambda: _check_drift(f, g, data["difference"]))
    return _run_check(lambda: CounterexampleChecker(f, g, facts).check(data))


def _check_drift(f: str, g: str, claim: str) -> None:
    require(claim == logarithms.ABOVE, "f does not grow faster than g")
    logarithms.check_gap(parse_expression(f), parse_expression(g), claim)


def _run_check(run: Callable[[], None]) -> Checked:
    try:
        run()
    except RejectedError as problem:
        return Checked(False, problem.reason, "".join(problem.place).lstrip("."))
    except ArchlineError as problem:
        return Checked(False, f"an expression cannot be read: {problem.diagnostics[0].message}")
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError) as problem:
        return Checked(False, f"the format is wrong: {type(problem).__name__}: {problem}")
    return Checked(True)


def _check_certificate(data: Mapping[str, Any]) -> None:
    require(data["format"] == FORMAT_VERSION, "the version of the format is unknown")
    f, g = parse_expression(data["f"]), parse_expression(data["g"])
    facts = Facts(data["facts"])
    if "logarithms" in data:
        claim = data["logarithms"]["difference"]
        require(claim != logarithms.ABOVE, "f grows faster than g")
        logarithms.check_gap(f, g, claim)
        return
    if "multiple" in data:
        with track_place("multiple"):
            multiple = read_constant(data["multiple"])
            require(multiple.sign > 0, "the constant is not positive")
            scaled = {term: value * multiple for term, value in t.expand(g).items()}
            require(t.expand(f) == scaled, "f is not that multiple of g")
        return
    cache = {"L", "Z"} <= s.find_names((f, g, *facts.facts))
    differences = DifferenceChecker(data["differences"], facts, cache)
    differences.check_all()
    proofs = ProofChecker(differences, cache)
    bounds = []
    for index, bound in enumerate(data["bounds"]):
        with track_place("bounds", index):
            bounds.append(proofs.check_bound(bound))
    with track_place("f"):
        differences.bounds.require_defined(f)
        largest = differences.bounds.bound_above(f)
    with track_place("g"):
        differences.bounds.require_defined(g)
        smallest = differences.bounds.bound_below(g)
        require(smallest is not None, f"`{data['g']}` is not shown to be positive")
    for upper_clause in largest:
        for lower_clause in smallest or ():
            require(
                any((left <= upper_clause and right <= lower_clause for left, right in bounds)),
                f"no bound proves {_format_clause('min', upper_clause)} = O({_format_clause('max', lower_clause)})",
            )


def _format_clause(function: str, clause: Clause) -> str:
    texts = sorted(map(str, clause))
    return texts[0] if len(texts) == 1 else f"{function}({', '.join(texts)})"
