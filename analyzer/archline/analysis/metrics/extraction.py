"""From a recursive algorithm to its systems of recurrences, one for each metric."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial

from archline.algebra import atoms as a
from archline.algebra.facts import Facts
from archline.algebra.polynomial import Poly
from archline.analysis.metrics.cases import BodyCase, TooManyCasesError
from archline.analysis.metrics.recursive_bodies import Bodies, CostsAt
from archline.analysis.metrics.statements import Statements
from archline.ir.amounts import Amount, Known, Unknown
from archline.ir.declarations import declared
from archline.language import syntax as s
from archline.language.call_graph import component
from archline.records import field, record
from archline.recurrences.model import Function, System

LEAST, MOST = "least ", "most "
"""What the names of a function's bounds begin with where the data decides part of its cost."""


@record(eq=False)
class Extracted:
    """By metric and kind, the system of an algorithm, or why there is none; its cases, for the derivation as text.

    What has no system is 0, or unknown where there is a `gap`.
    """

    algorithm: s.Algorithm
    systems: Mapping[str, System | Unknown]
    cases: tuple[BodyCase, ...] = field(repr=False, default=())
    gap: Unknown | None = None

    def system(self, metric: str) -> System | Unknown | None:
        """The system of a metric or why there is none; None where it is 0."""
        return self.systems.get(metric, self.gap)

    def exact(self, metric: str) -> bool:
        """Whether a metric is one function of the sizes."""
        system = self.system(metric)
        return isinstance(system, System) and system.exact

    def function(self, metric: str, upper: bool) -> Function | None:
        """The function that the metric is, or that bounds it."""
        system = self.system(metric)
        if not isinstance(system, System):
            return None
        return system.functions[_name(metric, self.algorithm, system.exact, upper)]


def _name(metric: str, algorithm: s.Algorithm, exact: bool, upper: bool) -> str:
    side = "" if exact else MOST if upper else LEAST
    return f"{side}{metric} of {algorithm.name}"


class Extraction:
    """Extracts systems; each algorithm once."""

    def __init__(self, outer: Statements) -> None:
        self._outer = outer
        self._done: dict[s.Algorithm, Extracted] = {}
        self._facts: dict[s.Algorithm, Facts] = {}

    def recursive(self, algorithm: s.Algorithm) -> bool:
        """Whether the algorithm calls itself, directly or not."""
        return bool(component(self._outer.module, algorithm))

    def of(self, algorithm: s.Algorithm) -> Extracted:
        """The systems of a recursive algorithm."""
        if algorithm not in self._done:
            self._done[algorithm] = self._extract(algorithm)
        return self._done[algorithm]

    def _extract(self, algorithm: s.Algorithm) -> Extracted:
        try:
            first = self._bodies(algorithm, (), split=False).cases()
            names, ways = self._names(first), [case.way for case in first]
            cases = tuple(self._bodies(algorithm, names, split=False).along(ways))
            systems = {metric: self._system(metric, algorithm, cases, split=False) for metric in names}
            if None in systems.values():
                bounded = tuple(self._bodies(algorithm, names, split=True).along(ways))
                for metric, found in systems.items():
                    if found is None:
                        systems[metric] = self._system(metric, algorithm, bounded, split=True)
        except TooManyCasesError:
            reason = Unknown(f"`{algorithm.name}` has too many cases to follow", algorithm.span)
            return Extracted(algorithm, {}, gap=reason)
        gap = next((case.tally.gap for case in cases if case.tally.gap is not None), None)
        return Extracted(algorithm, {metric: found for metric, found in systems.items() if found}, cases, gap)

    def _names(self, cases: Iterable[BodyCase]) -> tuple[str, ...]:
        """The metrics and kinds that occur in the body itself, and so in all."""
        found = frozenset[str]().union(*(case.tally.names for case in cases))
        return tuple(sorted(found | set(self._outer.model.expected)))

    def _bodies(self, algorithm: s.Algorithm, names: tuple[str, ...], split: bool) -> Bodies:
        """The bodies of an algorithm; if `split` its own calls lie between a least and a most."""
        circle = component(self._outer.module, algorithm)

        def applied(target: s.Algorithm) -> CostsAt | None:
            """Of the algorithm itself, and of other recursive ones that do not call it back."""
            if target is algorithm:
                return partial(_applied, target, dict.fromkeys(names, not split))
            if target in circle or not self.recursive(target):
                return None
            extracted = self.of(target)
            if (gap := extracted.gap) is not None:
                return lambda _: gap
            return partial(
                _applied,
                target,
                {name: each if isinstance(each, Unknown) else each.exact for name, each in extracted.systems.items()},
            )

        return Bodies(self._outer, algorithm, applied)

    def _system(
        self, metric: str, algorithm: s.Algorithm, cases: tuple[BodyCase, ...], split: bool
    ) -> System | Unknown | None:
        """The system of a metric; None where an exact one is wanted and the data decides."""
        amounts = [case.tally.amount(metric) for case in cases]
        known = [each for each in amounts if not isinstance(each, Unknown)]
        if len(known) < len(amounts):
            return next(each for each in amounts if isinstance(each, Unknown))
        if not split and not all(
            amount.exact and amount.lower.names.isdisjoint(case.data) for case, amount in zip(cases, known, strict=True)
        ):
            return None
        module = self._outer.module
        signature = module.signatures[algorithm]
        functions: dict[str, Function] = {}
        for upper in (False, True) if split else (True,):
            name = _name(metric, algorithm, not split, upper)
            both = zip(cases, known, strict=True)
            equations = [case.equation(amount.upper if upper else amount.lower) for case, amount in both]
            functions[name] = Function(
                name,
                algorithm,
                (*signature.size_names, *signature.indices),
                {each: signature.at_least[each] for each in signature.size_names},
                self._declared(algorithm),
                tuple(equations),
                algorithm.where,
            )
        return System(metric, functions, not split)

    def _declared(self, algorithm: s.Algorithm) -> Facts:
        """What the declaration says of sizes: one for all metrics, which then share what is found by it."""
        if algorithm not in self._facts:
            self._facts[algorithm] = declared(self._outer.module, algorithm).facts
        return self._facts[algorithm]

    def systems(self, metric: str) -> dict[str, Function]:
        """All functions of a metric that were extracted so far, by name."""
        found: dict[str, Function] = {}
        for each in self._done.values():
            system = each.systems.get(metric)
            if isinstance(system, System):
                found |= system.functions
        return found


def _applied(
    target: s.Algorithm, exact: Mapping[str, bool | Unknown], arguments: tuple[Poly, ...]
) -> Mapping[str, Amount]:
    """The costs of a call as functions of its sizes: one for each metric that is `exact`, else a least and a most."""

    def cost(metric: str, known: bool | Unknown) -> Amount:
        if isinstance(known, Unknown):
            return known
        low, high = (a.Applied(_name(metric, target, known, upper), arguments) for upper in (False, True))
        return Known(Poly.of_atom(low), Poly.of_atom(high))

    return {metric: cost(metric, known) for metric, known in exact.items()}
