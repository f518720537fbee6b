"""The costs of recursive algorithms: closed forms where they are found, bounds elsewhere, and values at any sizes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction

from archline.algebra.atoms import positive_part
from archline.algebra.evaluation import EvaluationError
from archline.algebra.facts import Facts
from archline.algebra.polynomial import ONE, ZERO, Poly, TooComplexError
from archline.analysis import paths
from archline.analysis.amounts import Amount, Known, Unknown
from archline.analysis.costs import Regime
from archline.analysis.recursion import indexed
from archline.analysis.recursion.bodies import Decision
from archline.analysis.recursion.calls import NotComparableError, sizes_of_call
from archline.analysis.recursion.extraction import Extracted, Extraction
from archline.analysis.recursion.finite import holds_everywhere
from archline.analysis.recursion.potentials import Bound, Given, bound, exact_form
from archline.analysis.recursion.quantities import declaration
from archline.analysis.recursion.steps import Foreign
from archline.analysis.recursion.system import Equation, Function, System
from archline.analysis.recursion.values import Values
from archline.analysis.scope import declared
from archline.analysis.statements import Statements
from archline.analysis.tally import Tally
from archline.language import syntax as s
from archline.language.printer import format_expression


@dataclass(frozen=True, eq=False)
class Closed:
    """What is known of a metric: bounds in one expression, and by regimes where that reads better.

    `value` gives the exact count at sizes, for functions of the sizes alone.
    """

    amount: Amount
    regimes: tuple[Regime, ...] = ()
    value: Callable[[Mapping[str, int]], Fraction] | None = field(default=None, repr=False)


class Recursions:
    """Solves recursive algorithms; each metric of each once."""

    def __init__(self, outer: Statements) -> None:
        self._outer = outer
        self._extraction = Extraction(outer)
        self._closed: dict[tuple[s.Algorithm, str], Closed] = {}
        self._alike: dict[tuple[s.Algorithm, str], Closed] = {}
        self._everywhere: dict[tuple[s.Algorithm, str, bool], Poly | None] = {}

    def extracted(self, algorithm: s.Algorithm) -> Extracted:
        """The recurrences of a recursive algorithm."""
        return self._extraction.of(algorithm)

    def tally(self, algorithm: s.Algorithm) -> Tally:
        """The costs of one execution of the body, at all sizes, without the 1 of the call."""
        extracted = self.extracted(algorithm)
        flops = {kind: self._amount(algorithm, f"flops.{kind}") for kind in extracted.kinds}
        declared = frozenset[str]().union(*(case.tally.declared for case in extracted.cases))
        span = self._amount(algorithm, "span")
        return Tally(flops, self._amount(algorithm, "work"), paths.serial(span), declared)

    def smooth(self, algorithm: s.Algorithm) -> Tally:
        """The costs, with bounds in one expression instead of bounds by regimes, which a loop does not sum up well."""
        known = self.tally(algorithm)
        flops = {kind: self._smooth(algorithm, f"flops.{kind}", amount) for kind, amount in known.flops.items()}
        work, span = self._smooth(algorithm, "work", known.work), self._smooth(algorithm, "span", known.span)
        return replace(known, flops=flops, work=work, path=paths.serial(span))

    def _smooth(self, algorithm: s.Algorithm, metric: str, amount: Amount) -> Amount:
        if isinstance(amount, Unknown) or amount.exact or not self.closed(algorithm, metric).regimes:
            return amount
        low, high = (self.everywhere(algorithm, metric, upper) for upper in (False, True))
        function = self.extracted(algorithm).function(metric, True)
        if high is None or function is None:
            return amount
        sure = low is not None and all(holds_everywhere(low, each.facts) for each in function.equations)
        return _known(function.facts, low if low is not None and sure else ZERO, high)

    def _amount(self, algorithm: s.Algorithm, metric: str) -> Amount:
        return self.closed(algorithm, metric).amount

    def closed(self, algorithm: s.Algorithm, metric: str) -> Closed:
        """A metric of a recursive algorithm."""
        key = algorithm, metric
        if key not in self._closed:
            self._closed[key] = self._close(algorithm, metric)
        return self._closed[key]

    def _close(self, algorithm: s.Algorithm, metric: str) -> Closed:
        system = self.extracted(algorithm).systems[metric]
        if isinstance(system, Unknown):
            return Closed(system)
        given = self._given(metric)
        values = given.values
        same = algorithm, _signature(system)
        try:
            if same not in self._alike:
                self._alike[same] = self._solved(algorithm, metric, system, given)
            found = self._alike[same]
        except (TooComplexError, NotComparableError, EvaluationError, OverflowError) as problem:
            reason = str(problem) or "the sizes of its calls do not compare with its own"
            found = Closed(Unknown(f"`{algorithm.name}` is recursive: {reason}", algorithm.span))
        if not system.exact or values is None:
            return found
        (name,) = system.functions

        def value(sizes: Mapping[str, int]) -> Fraction:
            return values.at(name, sizes)

        return Closed(found.amount, found.regimes, value)

    def _given(self, metric: str) -> Given:
        functions = self._extraction.systems(metric)
        lower, upper = (self._foreign(functions, metric, side) for side in (False, True))
        return Given(lower, upper, Values(functions))

    def _foreign(self, functions: Mapping[str, Function], metric: str, upper: bool) -> Foreign:
        return {name: self._bound_at_call(function, metric, upper) for name, function in functions.items()}

    def _bound_at_call(self, function: Function, metric: str, upper: bool) -> Callable[[tuple[Poly, ...], Facts], Poly]:
        def at(arguments: tuple[Poly, ...], facts: Facts) -> Poly:
            found = self.everywhere(function.algorithm, metric, upper)
            if found is None:
                raise TooComplexError(f"no bound of `{function.algorithm.name}`, which it calls, was found")
            return facts.simplify(found.substitute(sizes_of_call(function, arguments)))

        return at

    def everywhere(self, algorithm: s.Algorithm, metric: str, upper: bool) -> Poly | None:
        """A bound in one expression that holds at all sizes."""
        key = algorithm, metric, upper
        if key not in self._everywhere:
            extracted = self.extracted(algorithm)
            system, function = extracted.systems[metric], extracted.function(metric, upper)
            closed = self.closed(algorithm, metric)
            if isinstance(system, Unknown) or function is None or isinstance(closed.amount, Unknown):
                self._everywhere[key] = None
            elif not closed.regimes:
                self._everywhere[key] = closed.amount.upper if upper else closed.amount.lower
            else:
                found = bound(system, function, upper, self._without(metric, algorithm), everywhere=True)
                self._everywhere[key] = None if found is None else found.value
        return self._everywhere[key]

    def _without(self, metric: str, algorithm: s.Algorithm) -> Given:
        """What is given for a search: the bounds of other algorithms, not the one searched for."""
        given = self._given(metric)
        own = {f.name for f in self._extraction.systems(metric).values() if f.algorithm is algorithm}
        lower, upper = ({n: b for n, b in side.items() if n not in own} for side in (given.lower, given.upper))
        return Given(lower, upper, given.values)

    def _solved(self, algorithm: s.Algorithm, metric: str, system: System, given: Given) -> Closed:
        extracted = self.extracted(algorithm)
        lower, upper = extracted.function(metric, False), extracted.function(metric, True)
        assert lower is not None
        assert upper is not None
        given = self._without(metric, algorithm)
        given = given if system.exact else Given(given.lower, given.upper, None)
        by_indices = self._by_indices(system, upper, given)
        if by_indices is not None:
            return by_indices
        exact = exact_form(system, upper, given) if system.exact else None
        if exact is not None:
            return _by_regimes(upper, exact, exact)
        low, high = bound(system, lower, False, given), bound(system, upper, True, given)
        most = self._most(algorithm, metric) if high is None else high.value
        if most is None:
            return Closed(
                Unknown(f"no closed form or bound of the recursion of `{algorithm.name}` was found", algorithm.span)
            )
        return _by_regimes(upper, _clamped(upper, low), most)

    def _by_indices(self, system: System, function: Function, given: Given) -> Closed | None:
        """The closed form of a recursion that moves indices about."""
        if len(function.parameters) == len(function.least):
            return None
        scope = declared(self._outer.module, function.algorithm)
        found = indexed.closed(system, function, declaration(function.algorithm, scope), given.values)
        return None if found is None else Closed(_known(function.facts, *found))

    def _most(self, algorithm: s.Algorithm, metric: str) -> Poly | None:
        """Flops and span are at most the work."""
        if metric == "work":
            return None
        work = self.closed(algorithm, "work")
        if isinstance(work.amount, Unknown):
            return None
        return work.regimes[-1].upper if work.regimes else work.amount.upper


def _signature(system: System) -> str:
    """The equations without the metric's name: flops of one kind and of all, work and span often have the same."""
    equations = next(iter(system.functions.values())).equations
    text = "\n".join(f"{each.lower.key} {each.upper.key}" for each in equations)
    for function in system.functions.values():
        text = text.replace(f"{system.metric} of {function.algorithm.name}", "itself")
    return text


def _clamped(function: Function, low: Bound | None) -> Poly:
    """A lower bound that is not below 0 in any recursive case."""
    if low is None:
        return ZERO
    sure = all(holds_everywhere(low.value, each.facts) for each in function.equations if each.recursive)
    return low.value if sure else positive_part(low.value)


def _by_regimes(function: Function, lower: Poly, upper: Poly) -> Closed:
    """What the recursive cases are bounded by, and what the others are themselves."""
    facts = function.facts
    ends = [each for each in function.equations if not each.recursive]
    same = all(facts.simplify(each.lower) == lower and facts.simplify(each.upper) == upper for each in ends)
    if same or all(_fits(each, lower, upper) for each in ends):
        return Closed(_known(facts, lower, upper))
    taken = [_indicator(each.decisions) for each in ends]
    rest = ONE - sum(taken, ZERO)
    low = sum((one * each.lower for one, each in zip(taken, ends, strict=True)), rest * lower)
    high = sum((one * each.upper for one, each in zip(taken, ends, strict=True)), rest * upper)
    regimes = [Regime(_condition(each.decisions), (each.facts,), each.lower, each.upper) for each in ends]
    recursive = tuple(each.facts for each in function.equations if each.recursive)
    regimes.append(Regime("otherwise", recursive, lower, upper))
    return Closed(_known(facts, low, high), tuple(_restored(each, facts) for each in regimes))


def _fits(equation: Equation, lower: Poly, upper: Poly) -> bool:
    """Whether a case without calls has the recursive cases' closed form."""
    if lower != upper:
        return False
    difference = equation.facts.simplify(equation.upper - upper)
    pinned = {
        name: low
        for name, known in equation.facts.bounds.items()
        for low in known.lower
        if low.is_constant and low in known.upper
    }
    return not equation.facts.simplify(difference.substitute(pinned))


def _known(facts: Facts, lower: Poly, upper: Poly) -> Known:
    low = facts.restore(lower)
    return Known(low, low if upper == lower else facts.restore(upper))


def _restored(regime: Regime, facts: Facts) -> Regime:
    known = _known(facts, regime.lower, regime.upper)
    return replace(regime, lower=known.lower, upper=known.upper)


def _indicator(decisions: tuple[Decision, ...]) -> Poly:
    product = ONE
    for each in decisions:
        product = product * (each.indicator if each.taken else ONE - each.indicator)
    return product


def _condition(decisions: tuple[Decision, ...]) -> str:
    """The conditions as text, those that fail with `not`."""
    parts = []
    for each in decisions:
        condition = each.branch.condition
        assert condition is not None
        text = format_expression(condition)
        parts.append(text if each.taken else f"not ({text})")
    return " and ".join(parts) or "always"
