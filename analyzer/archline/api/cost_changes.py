"""Two versions of each cost of an algorithm: what is proved of them at all sizes, and what values show at some."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction

from archline.algebra.polynomial import Poly
from archline.analysis.cost import Cost, cost_text, whole_ends_at
from archline.api.algorithms import Algorithm
from archline.api.caches import DEFAULT_CACHE
from archline.api.claims import ClaimedAlgorithms, ClaimOfCosts
from archline.api.costs import CostReport
from archline.api.subjects import AlgorithmSubject
from archline.changes import results as r
from archline.changes.baseline import by_metric, recorded, written
from archline.changes.results import CostChange
from archline.claims.decide import with_cost_symbols
from archline.compare.orders import NO_VALUE, at_most
from archline.compare.sizes import Amount, Sizes
from archline.energy.intervals import Interval
from archline.ir.scope import NotStaticError, declared
from archline.language import syntax as s
from archline.language.diagnostics import ArchlineError
from archline.language.evaluate import holds
from archline.language.parser import parse_facts, parse_program
from archline.language.source import Source
from archline.records import record, replace
from archline.report.numbers import percent

Point = Mapping[str, int]
Move = tuple[str, str | None, Point | None]
"""A verdict, at which sizes it holds, and sizes that show it."""
UNCHANGED: Move = r.EQUAL, None, None
OF_BOUNDS = {r.GREW: r.ROSE, r.SHRANK: r.FELL, r.ROSE: r.ROSE}
USUAL = {"Z": DEFAULT_CACHE.Z, "L": DEFAULT_CACHE.L}
USUAL_SIZE = 64
"""Where values are shown if nothing else is asked for."""


class RecordedSubject(AlgorithmSubject):
    """An algorithm with the costs that were written of an earlier version of it.

    `texts` has what was written by metric; `unread` are the metrics of which that cannot be read back, each
    with the name that the algorithm does not have, if that is why.
    """

    def __init__(self, algorithm: Algorithm, texts: Sequence[str]) -> None:
        super().__init__(algorithm)
        self.texts = by_metric(texts)
        scope, metrics = with_cost_symbols(declared(algorithm.module, algorithm.node)), {}
        self.unread: dict[str, str | None] = {}
        for metric in dict.fromkeys((*algorithm.report().metrics, *self.texts)):
            metrics[metric] = Cost(metric, "unknown", None, None)
            try:
                metrics |= recorded(self.texts.get(metric, ()), scope)
            except ArchlineError:
                self.unread[metric] = None
            except NotStaticError as problem:
                self.unread[metric] = problem.expr.id if isinstance(problem.expr, s.Name) else None
        costs = replace(algorithm.report().costs, metrics=metrics)
        self.report = CostReport(algorithm.module, algorithm.node, costs, lambda: metrics["io"])


def compared(
    old: AlgorithmSubject | None, new: AlgorithmSubject | None, tolerance: Fraction, at: Sequence[Point]
) -> list[CostChange]:
    """What changed of each metric; None in place of the version that a new or removed algorithm lacks.

    The algorithms have different names, and the same names of sizes. A metric that did not change has one entry that
    says so. `at` are sizes of interest. Raises ArchlineError for a version that certainly fails.
    """
    found: list[CostChange] = []
    texts = {} if new is None else by_metric(written(new.report.costs))
    for metric in dict.fromkeys(name for each in (new, old) if each is not None for name in each.report.metrics):
        before, after = _text(old, metric), _text(new, metric)
        plain = CostChange(metric, r.EQUAL, before, after)
        if old is None or new is None or before is None or after is None:
            found.append(replace(plain, verdict=r.NEW if before is None else r.REMOVED))
        elif isinstance(old, RecordedSubject) and old.texts.get(metric) == texts.get(metric):
            found.append(replace(plain, verdict=r.EQUAL if metric in texts else r.UNKNOWN))
        elif isinstance(old, RecordedSubject) and metric in old.unread:
            before = "; ".join(old.texts[metric])
            found.append(replace(plain, verdict=r.ROSE, old=before, reason=old.unread[metric]))
        else:
            found += _Versions(old, new, metric, tolerance, at).changes(plain)
    return found


def _text(subject: AlgorithmSubject | None, metric: str) -> str | None:
    """A cost in one line; None where there is none."""
    cost = None if subject is None else subject.report.costs.metrics.get(metric)
    if subject is None or cost is None:
        return None
    if cost.upper is None:
        return "unknown"
    regimes = [each for each in cost.alternatives if each.told]
    # The last regime is the general one.
    shown = replace(cost, upper=regimes[-1].upper) if regimes else replace(cost, regimes=cost.regimes[::-1])
    return cost_text(subject.report.costs, shown) + (f" when {regimes[-1].when}" if regimes else "")


@record(eq=False)
class _Versions:
    """Both versions of one metric, each of which is derived."""

    old: AlgorithmSubject
    new: AlgorithmSubject
    metric: str
    tolerance: Fraction
    at: Sequence[Point]

    def changes(self, plain: CostChange) -> list[CostChange]:
        """What changed, regime by regime; the entry that is given where nothing did."""
        old, new = (each.report.costs[self.metric] for each in (self.old, self.new))
        if old.upper is None and new.upper is None:
            return [replace(plain, verdict=r.UNKNOWN)]
        if old.upper is None:
            found = [replace(plain, verdict=r.BECAME_KNOWN)]
        elif new.upper is None:
            found = [replace(plain, verdict=r.BECAME_UNKNOWN)]
        else:
            regimes = (each.when for cost in (new, old) for each in cost.alternatives if each.told)
            found = [each for when in dict.fromkeys(regimes) or [None] for each in self._where(plain, when)]
        changed = [each for each in found if each.verdict not in (r.EQUAL, r.OTHER_FORM)]
        if not changed:
            return [next((each for each in found if each.verdict != r.EQUAL), plain)]
        growth = {"old": self.old.report.growth(old), "new": self.new.report.growth(new)}
        return [replace(each, growth=growth) for each in changed]

    def _where(self, plain: CostChange, when: str | None) -> Iterator[CostChange]:
        """What changed where a condition on the cache holds, or at all sizes."""
        old, new, sizes = self._amounts(() if when is None else parse_facts(when))
        shown = plain
        if when is not None:
            old, new = (replace(each, cost=_in_regime(each.cost, when, sizes)) for each in (old, new))
            before, after = cost_text(self.old.report.costs, old.cost), cost_text(self.new.report.costs, new.cost)
            shown = replace(plain, old=before, new=after, when=when)
        for verdict, extent, point in _moves(old, new, sizes):
            found = replace(shown, verdict=verdict, extent=extent)
            if verdict in (r.GREW, r.ROSE) and self._tolerates(verdict, old, new, sizes):
                found = replace(found, tolerance=percent(self.tolerance))
            yield self._with_values(found, old, new, sizes, point)

    def _amounts(self, more: Sequence[s.Fact]) -> tuple[Amount, Amount, Sizes]:
        """Both costs, and the sizes that both allow under further facts, as a claim about both reads them."""
        sides = [f"{self.metric}({each.name})" for each in (self.old, self.new)]
        (claim,) = parse_program(Source("<diff>", f"claim {sides[1]} <= {sides[0]}\n")).items
        assert isinstance(claim, s.Claim)
        both = {(each.name, ""): each for each in (self.old, self.new)}
        about = ClaimOfCosts(claim, ClaimedAlgorithms(self.new.algorithm.module, both), tuple(more))
        for side in (claim.left, claim.right):
            about.formula(side)
        return about.amounts[sides[0]], about.amounts[sides[1]], about.sizes()

    def _tolerates(self, verdict: str, old: Amount, new: Amount, sizes: Sizes) -> bool:
        """Whether a cost is within the tolerance of the least that it was, or its bound within that of the bound."""
        before = old.cost.lower if verdict == r.GREW else old.cost.upper
        assert before is not None
        most = _exactly(old, before.scaled(1 + self.tolerance))
        return self.tolerance > 0 and at_most(new, most, sizes).outcome == "holds"

    def _with_values(
        self, found: CostChange, old: Amount, new: Amount, sizes: Sizes, point: Point | None
    ) -> CostChange:
        """A change with its values at sizes of interest that show it too, or else at those that showed it."""
        sign = {r.GREW: 1, r.SHRANK: -1}.get(found.verdict, 0)
        usual = {name: USUAL.get(name, USUAL_SIZE) for name in sizes.names}
        for each in (*self.at, usual, point):
            try:
                if each is None or any(holds(fact, each) is False for fact in sizes.facts):
                    continue
                before, after = (Interval(*whole_ends_at(amount.cost, each)) for amount in (old, new))
            except NO_VALUE:
                continue
            shown = after.lower > before.upper if sign > 0 else after.upper < before.lower
            if not sign or (shown and all(amount.has_runs(each) for amount in (old, new))):
                at = {name: str(value) for name, value in each.items()}
                return replace(found, at=at, values={"old": _shown(before), "new": _shown(after)})
        return found


def _moves(old: Amount, new: Amount, sizes: Sizes) -> list[Move]:
    """How a cost changed: up, down, or both, as proofs and values show; else how its bounds did."""
    same = old.cost.lower == new.cost.lower and old.cost.upper == new.cost.upper
    if same and (old.cost.exact or not old.cost.ends):
        return [UNCHANGED]
    rises, falls = at_most(new, old, sizes, "<="), at_most(new, old, sizes, ">=")
    if rises.outcome == falls.outcome == "holds":
        return [(r.OTHER_FORM, None, None)]
    found: list[Move] = []
    for verdict, shown, contrary, strict in ((r.GREW, rises, falls, ">"), (r.SHRANK, falls, rises, "<")):
        if shown.outcome == "fails":
            extent = r.SOMEWHERE if contrary.outcome == "holds" else r.SHOWN
            if extent == r.SOMEWHERE and at_most(new, old, sizes, strict).outcome == "holds":
                extent = r.EVERYWHERE
            found.append((verdict, extent, shown.point))
    return found or ([UNCHANGED] if same else _moves_of_bounds(old, new, sizes))


def _moves_of_bounds(old: Amount, new: Amount, sizes: Sizes) -> list[Move]:
    """How bounds moved: the upper one, or the lower one where that is the same. Rose, where nothing is shown."""
    if old.cost.exact and new.cost.exact:
        return [(r.ROSE, None, None)]
    for before, after in ((old.cost.upper, new.cost.upper), (old.cost.lower, new.cost.lower)):
        assert before is not None
        assert after is not None
        found = _moves(_exactly(old, before), _exactly(new, after), sizes)
        if found[0][0] not in (r.EQUAL, r.OTHER_FORM):
            return [(OF_BOUNDS[verdict], None, None) for verdict, *_ in found]
    return [(r.OTHER_FORM, None, None)]


def _exactly(amount: Amount, bound: Poly) -> Amount:
    """A bound of a cost as a cost of its own."""
    return replace(amount, cost=Cost(amount.cost.metric, "exact", bound, bound))


def _in_regime(cost: Cost, when: str, sizes: Sizes) -> Cost:
    """The bounds of a cost in the regime of a condition; else the least of those that are known to hold there."""
    facts = sizes.scope.facts
    regimes = [each for each in cost.alternatives if each.told]
    found = [each.upper for each in regimes if each.when == when] or [
        each.upper for each in regimes if all(facts.nonnegative(facts.simplify(need)) for need in each.needs)
    ]
    upper = cost.upper
    for each in found:
        upper = each if len(found) == 1 or upper is None or facts.nonnegative(facts.simplify(upper - each)) else upper
    return Cost(cost.metric, "exact" if cost.lower == upper else "bounded", cost.lower, upper)


def _shown(value: Interval) -> str:
    return " to ".join(dict.fromkeys(map(str, (value.lower, value.upper))))
