"""Whether a certificate of f = O(g) proves it, and whether a counterexample stands.

PROOFS of BOUNDS are products of monomials that multiply up, and distinctions of cases.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import Any, TypeAlias

from archline.certificates import forms as fm
from archline.certificates.constants import RejectedError, at, rational, read, require
from archline.certificates.counterexamples import Counterexample
from archline.certificates.differences import Differences
from archline.certificates.forms import Clause, Form, Monomial
from archline.certificates.terms import Comparison, Facts
from archline.language import syntax as s
from archline.language.diagnostics import ArchlineError
from archline.language.parser import parse_expression
from archline.records import record

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
            case "log of quotient, above":
                log = fm.monomial({data["log"]: "1"})
                above, _ = _parts(log)
                exhaustive = bool(above) and _covered([{(log, each)} for each in above], cases)
            case "log of quotient, below":
                log, of = fm.monomial({data["log"]: "1"}), fm.monomial({data["of"]: "1"})
                above, below = _parts(log)
                exhaustive = of in above and _covered([{(of, each)} for each in (log, *below)], cases)
            case _:
                exhaustive = False
        require(exhaustive, "the cases are not all there are")


def _covered(alternatives: Sequence[set[Inequality]], cases: Sequence[Sequence[Inequality]]) -> bool:
    """Whether for each alternative, of which at least one holds, there is a case that assumes nothing else."""
    return all(any(alternative.issuperset(case) for case in cases) for alternative in alternatives)


def _parts(log: Monomial) -> tuple[list[Monomial], list[Monomial]]:
    """The logarithms of the atoms that a logarithm's argument multiplies, and that it divides by."""
    of = fm.argument(log) or fm.ONE
    above = [log for atom, by in of.powers if by.sign > 0 for log in fm.logs(fm.alone(atom))]
    below = [log for atom, by in of.powers if by.sign < 0 for log in fm.logs(fm.alone(atom))]
    return above, below


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
