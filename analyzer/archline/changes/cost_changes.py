"""Two versions of each cost of an algorithm: what is proved of them at all sizes, and what values show at some."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from fractions import Fraction
from functools import cached_property
from itertools import chain, islice, starmap
from math import floor

from archline.algebra.effort import LazyList
from archline.algebra.evaluate.exact import evaluate
from archline.algebra.polynomial import Poly
from archline.algebra.prove.prover import never_negative
from archline.analysis.bounds import Region
from archline.analysis.cost import Cost, cost_text, whole_ends_at
from archline.analysis.sampling import constants_of
from archline.changes import results as r
from archline.changes.baseline import NO_BASELINE, by_metric, recorded, sort_by_cache, written
from archline.changes.git import NO_VERSION
from archline.changes.results import CostChange
from archline.claims.decide import with_cost_symbols
from archline.compare.claims import ClaimedAlgorithms, ClaimOfCosts
from archline.compare.orders import NO_VALUE, OrderVerdict, at_most
from archline.compare.sizes import Point, SizedCost, Sizes
from archline.costs.algorithms import AlgorithmUnderFacts
from archline.costs.derived import DerivedCosts
from archline.energy.caches import DEFAULT_CACHE
from archline.energy.subjects import AlgorithmSubject
from archline.expr import build as b
from archline.expr.intervals import Interval
from archline.expr.text import format_fact
from archline.expr.values import holds
from archline.ir.declarations import declared_scope
from archline.ir.scope import NotStaticError
from archline.language import syntax as s
from archline.language.diagnostics import ArchlineError, error
from archline.numbers import percent
from archline.records import memoised, record, replace

Move = tuple[str, str | None, Point | None]
"""A verdict, at which sizes it holds, and sizes that show it."""
UNCHANGED: Move = r.EQUAL, None, None
OF_BOUNDS = {r.GREW: r.ROSE, r.SHRANK: r.FELL, r.ROSE: r.ROSE}
OF_COSTS = r.GREW, r.SHRANK
OF_VALUES = *OF_COSTS, r.ROSE, r.FELL
USUAL = {"Z": DEFAULT_CACHE.Z, "L": DEFAULT_CACHE.L}
UNREAD = "the baseline's cost differs and cannot be parsed: regenerate the baseline if the new cost is right"
GRIDS = ((64, 8), (256, 8), (16, 4))
"""Realistic extents of arrays and words of a line, each in caches of 2, 4, 8 ... lines, up to 2^CACHES of them."""
CACHES, BLOCK = 11, 8
"""Sizes that are no extents of arrays, such as those of blocks, are BLOCK."""
LARGER_CACHES = 32
"""So many sizes of a cache are tried, each of them twice as large as the one before."""
TRIED = 100
"""At so many sizes, each with several caches, it is looked whether a cost changed where a bound of it did."""
NOWHERE = {
    r.ROSE: "a bound is higher under a condition on the cache; no sizes were found at which the whole cost is higher",
    r.FELL: "a bound is lower under a condition on the cache; no sizes were found at which the whole cost is lower",
}
USUAL_SIZE = 64
"""Where values are shown if nothing else is asked for."""


class RecordedSubject(AlgorithmSubject):
    """An algorithm with the costs that were written of an earlier version of it: `texts`, by metric.

    A metric whose texts cannot be read back is `unread`. `latest` has the costs that are derived of it now. Raises
    ArchlineError (AL442) for a text that names what the algorithm does not have.
    """

    def __init__(self, algorithm: AlgorithmUnderFacts, texts: Sequence[str], latest: DerivedCosts) -> None:
        super().__init__(algorithm)
        self.texts, self.unread = by_metric(texts), set[str]()
        scope = with_cost_symbols(declared_scope(algorithm.module, algorithm.node))
        metrics = {each: Cost(each, "unknown", None, None) for each in (*latest.metrics, *self.texts)}
        for metric, lines in self.texts.items():
            try:
                metrics[metric] = recorded(metric, lines, scope)
            except (ArchlineError, NotStaticError, KeyError) as problem:
                if isinstance(problem, ArchlineError) and problem.diagnostics[0].rule == NO_BASELINE:
                    raise
                self.unread.add(metric)
        costs = replace(latest.costs, metrics=metrics)
        self.report = DerivedCosts(algorithm.module, algorithm.node, costs, lambda: metrics["io"])


def compared(
    old: AlgorithmSubject | None, new: AlgorithmSubject | None, tolerance: Fraction, at: Sequence[Point]
) -> list[CostChange]:
    """What changed of each metric, and of the facts about sizes; None for what a new or removed algorithm lacks.

    The algorithms have different names, and the same names of sizes. A metric that did not change has one entry that
    says so. `at` are sizes of interest. Raises ArchlineError for a version that certainly fails.
    """
    sides = [each.algorithm.signature.size_names if each else () for each in (old, new)]
    fewer, more = ([name for name in one if name not in other] for one, other in (sides, sides[::-1]))
    if all(sides) and len(fewer) == len(sides[0]):
        raise error(NO_VERSION, "the sizes of the two versions cannot be matched")
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
            found.append(replace(plain, verdict=r.BECAME_UNKNOWN, old="; ".join(old.texts[metric]), reason=UNREAD))
        else:
            found += _Versions(old, new, metric, tolerance, at).changes(plain)
    if old is not None and new is not None and not isinstance(old, RecordedSubject):
        found += [CostChange(r.SIZES, r.NOW_TAKES, new=", ".join(more))] if more else []
        found += [CostChange(r.SIZES, r.NO_LONGER_TAKES, old=", ".join(fewer))] if fewer else []
        before, after = _more_required(new.algorithm, old.algorithm), _more_required(old.algorithm, new.algorithm)
        found += [CostChange(r.WHERE, r.NOW_REQUIRES, new=after)] if after else []
        found += [CostChange(r.WHERE, r.NO_LONGER_REQUIRES, old=before)] if before else []
    return found


def _text(subject: AlgorithmSubject | None, metric: str) -> str | None:
    """A cost in one line; None where there is none."""
    cost = None if subject is None else subject.report.costs.metrics.get(metric)
    if subject is None or cost is None:
        return None
    if cost.upper is None:
        return "unknown"
    # The last bound by cache is the general one, and the last case of the sizes comes first.
    general = sort_by_cache(cost)[-1:]
    shown = replace(cost, upper=general[0].value) if general else replace(cost, bounds=cost.bounds[::-1])
    return cost_text(subject.report.costs, shown) + (f" when {general[0].where.when}" if general else "")


def _more_required(one: AlgorithmUnderFacts, other: AlgorithmUnderFacts) -> str:
    """The facts of the other that some sizes do not satisfy which the one takes."""
    facts, signature = other.node.where, one.signature
    sizes = Sizes.of((*signature.size_names, *signature.indices), signature.indices, one.node.where)
    taken = list(replace(sizes, constants=constants_of(*facts)).points())
    return ", ".join(format_fact(fact) for fact in facts if any(holds(fact, each) is False for each in taken))


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
            conditions = {bound.where.when: bound.where for bound in sort_by_cache(old, new)}
            last = next(reversed(conditions), "")
            found = [*self._explained(plain, self._moves_of_whole(), *self._whole)]
            found += (x for when, region in conditions.items() for x in self._in_region(plain, region, when == last))
        changed = [each for each in found if each.verdict not in (r.EQUAL, r.OTHER_FORM, r.OTHER_BOUNDS)]
        changed = changed or list(self._of_values(plain))
        if not changed:
            return [next((each for each in found if each.verdict != r.EQUAL), plain)]
        # Bounds that were written need not show all of the growth that was derived.
        known = old.exact or not isinstance(self.old, RecordedSubject)
        growth = {"old": self.old.report.growth(old) if known else None, "new": self.new.report.growth(new)}
        return [replace(each, growth=growth) for each in changed]

    def _in_region(self, plain: CostChange, region: Region, last: bool) -> Iterator[CostChange]:
        """What changed where a condition on the cache holds.

        Other bounds that a version has there count as well. Where it has none under this condition itself, that of the
        older version may have risen only, that of the newer one fallen only. All regions have one lower bound, of which
        the last one speaks.
        """
        old, new, sizes = self._amounts(region.facts)
        (olds, of_old), (news, of_new) = (_bounds_in(each, region.when, sizes) for each in (old, new))
        falls = of_new and not _some_at_most(olds[of_old:], news[0], sizes)
        rises = of_old and not _some_at_most(news[of_new:], olds[0], sizes)
        if not rises and not falls:
            return
        before, after = (
            cost_text(each.report.costs, bounds[0].cost) for each, bounds in ((self.old, olds), (self.new, news))
        )
        shown = replace(plain, old=before, new=after, when=region.when)
        lower = last and of_old and of_new
        for each in self._explained(shown, _moves(olds[0], news[0], sizes, lower), olds[0], news[0], sizes, lower):
            if (rises or each.verdict not in r.RISES) and (falls or each.verdict not in r.FALLS):
                yield each

    def _moves_of_whole(self) -> list[Move]:
        """Compare whole costs by values at realistic sizes; without conditions on the cache by proofs too."""
        old, new, sizes = self._whole
        proved = [] if old.cost.by_cache or new.cost.by_cache else _moves(old, new, sizes)
        moves = {move[0]: move for move in proved if move[0] in OF_COSTS}
        for point in self._realistic:
            if values := self._values_at(point):
                shown = [x for x in OF_COSTS if x not in moves and _shows(x, *values, Fraction(1), False)]
                moves |= {verdict: (verdict, r.SHOWN, point) for verdict in shown if self._has_runs(point)}
            if len(moves) == len(OF_COSTS):
                break
        return [*moves.values()] or proved

    @cached_property
    def _realistic(self) -> LazyList[Point]:
        """Sizes of interest, then sizes of `--at` and usual ones in caches of few to many lines."""
        *_, sizes = self._whole
        if "Z" not in sizes.names:
            return LazyList(iter(()))
        bounds = {name: sizes.scope.facts.bounds[name] for name in sizes.names}
        arrays = s.names(self.new.algorithm.signature.parameters)

        def in_caches(asked: Point, size: int, line: int) -> Iterator[Point]:
            line = asked.get("L", line)
            for power in range(1, CACHES + 1):
                usual = {"L": line, "Z": line << power}
                values = {x: asked.get(x, usual.get(x, size if x in arrays else BLOCK)) for x in sizes.names}
                yield {name: bounds[name].nearest(value) for name, value in values.items()}

        grids = [*((at, USUAL_SIZE, USUAL["L"]) for at in self.at), *(({}, *grid) for grid in GRIDS)]
        points = chain(*map(self._with_caches, sizes.interest), *starmap(in_caches, grids))
        return LazyList(filter(sizes.allowed, points))

    def _of_values(self, plain: CostChange) -> Iterator[CostChange]:
        """How values at sizes of interest changed, which may say more than forms that are the same for all sizes."""
        *whole, sizes = self._whole
        if not all(each.cost.ends and each.cost.status == "bounded" for each in whole):
            return
        for verdict in OF_VALUES:
            least = 1 + self.tolerance if verdict in r.RISES else Fraction(1)
            shown = replace(plain, verdict=verdict, extent=r.SHOWN)
            found = self._with_values(shown, sizes, None, least, lower=True, others=False)
            if found.values is not None:
                yield found
                return

    def _explained(
        self, shown: CostChange, moves: Sequence[Move], old: SizedCost, new: SizedCost, sizes: Sizes, lower: bool = True
    ) -> Iterator[CostChange]:
        """Explain how two costs moved, with values that show it; `lower` bounds count too."""
        for verdict, extent, point in moves:
            found, least = replace(shown, verdict=verdict, extent=extent), Fraction(1)
            if self.tolerance and verdict in r.RISES:
                within = self._within(verdict, old, new, sizes)
                if within.outcome == "holds":
                    found = replace(found, tolerance=percent(self.tolerance))
                else:
                    fails = within.outcome == "fails" and within.point is not None
                    beyond = "exceeds the tolerance of" if fails else "not proved to be within"
                    found = replace(found, reason=f"{beyond} {percent(self.tolerance)}")
                    least, point = (1 + self.tolerance, within.point) if fails else (least, point)
            yield self._with_values(found, sizes, point, least, lower and old.cost.upper == new.cost.upper)

    def _with_values(
        self, found: CostChange, sizes: Sizes, point: Point | None, least: Fraction, lower: bool, others: bool = True
    ) -> CostChange:
        """A change with the values of both costs, each by its sharpest bound, at sizes where they show the change.

        Those that are asked for come first; where they do not show it, they have their values apart. `lower` bounds
        show it too, if only they moved. Where a bound moved and the cost as a whole nowhere did, that is said.
        """
        asked = [each for each in sizes.interest if any(at.items() <= each.items() for at in self.at)]
        tried = [*asked, *(each for each in (*sizes.interest, point) if each is not None and each not in asked)]
        if others:
            tried = [*chain.from_iterable(self._with_caches(each) for each in tried)]
        of_bound = others and found.verdict in (r.ROSE, r.FELL)
        more = chain.from_iterable(map(self._with_caches, islice(sizes.points(), TRIED))) if of_bound else ()
        for share in dict.fromkeys((least, Fraction(1))) if others else (least,):
            for each in filter(sizes.allowed, chain(tried, self._realistic, more)):
                values = self._values_at(each)
                pairs = (values, self._values_at(each, by_forms=True)) if of_bound else (values,)
                shows = all(pair is not None and _shows(found.verdict, *pair, share, lower) for pair in pairs)
                if values is not None and shows and self._has_runs(each):
                    found = replace(found, at=_texts(each), values=_both(*values))
                    whole = dict(zip((r.ROSE, r.FELL), OF_COSTS, strict=True)).get(found.verdict)
                    if whole and found.tolerance is None and _shows(whole, *values, least, False):
                        found = replace(found, verdict=whole, extent=r.SHOWN)
                    break
            if found.values is not None:
                break
        else:
            if of_bound:
                found = replace(found, verdict=r.OTHER_BOUNDS, reason=NOWHERE[found.verdict])
        first = next((each for each in asked if self._values_at(each) is not None and self._has_runs(each)), None)
        at = found.at or {}
        if first is not None and others and any(at.get(name) != text for name, text in _texts(first).items()):
            values = self._values_at(first)
            assert values is not None
            found = replace(found, asked={"at": _texts(first), **_both(*values)})
        return found

    def _with_caches(self, point: Point) -> Iterator[Point]:
        """Sizes, then those with caches at which bounds of the costs begin to hold."""
        yield point
        if "Z" not in point or any("Z" in at for at in self.at):
            return
        needs = (need for side in self._whole[:2] for bound in side.cost.by_cache for need in bound.where.needs)
        least = set[int]()
        for need in needs:
            with suppress(*NO_VALUE):
                least.add(point["Z"] - floor(evaluate(need, point)))
        yield from ({**point, "Z": words} for words in sorted(least, reverse=True) if words >= point.get("L", 1))

    @cached_property
    def _whole(self) -> tuple[SizedCost, SizedCost, Sizes]:
        """Both costs, and their sizes."""
        return self._amounts(())

    def _values_at(self, point: Point, by_forms: bool = False) -> tuple[Interval, Interval] | None:
        """The values of both costs, or of their forms alone, as written costs have them; None where one has none."""
        return self._pair_at(tuple(point.items()), by_forms)

    @memoised
    def _pair_at(self, point: tuple[tuple[str, int], ...], by_forms: bool) -> tuple[Interval, Interval] | None:
        with suppress(*NO_VALUE):
            old, new, _ = self._whole
            sides = (old, by_forms or isinstance(self.old, RecordedSubject)), (new, by_forms)
            before, after = (_of_forms(x, dict(point)) if forms else x.ends(dict(point)) for x, forms in sides)
            return before, after
        return None

    def _has_runs(self, point: Point) -> bool:
        return all(side.has_runs(side.at(point)) for side in self._whole[:2])

    def _amounts(self, more: Sequence[s.Fact]) -> tuple[SizedCost, SizedCost, Sizes]:
        """Both costs, and the sizes that both allow under further facts, as a claim about both reads them."""
        sides = [f"{self.metric}({each.name})" for each in (self.old, self.new)]
        left, right = (b.call(self.metric, b.name(each.name)) for each in (self.new, self.old))
        claim = s.Claim(None, left, "<=", right, (), None, (), span=b.DERIVED)
        both: dict[tuple[str, ...], AlgorithmSubject] = {(each.name,): each for each in (self.old, self.new)}
        about = ClaimOfCosts(claim, ClaimedAlgorithms(self.new.algorithm.module, both), tuple(more))
        for side in (claim.left, claim.right):
            about.formula(side)
        sizes = about.sizes()
        return about.amounts[sides[0]], about.amounts[sides[1]], replace(sizes, interest=tuple(self._interest(sizes)))

    def _interest(self, sizes: Sizes) -> Iterator[Point]:
        """The sizes that are asked for, then usual ones; of a cache that is not given, the first that facts allow."""
        bounds = {name: sizes.scope.facts.bounds[name] for name in sizes.names}
        usual = {name: within.nearest(USUAL.get(name, USUAL_SIZE)) for name, within in bounds.items()}
        for each in (*(at for at in self.at if bounds.keys() <= at.keys() | USUAL.keys()), {}):
            point = {name: each.get(name, value) for name, value in usual.items()}
            larger = range(LARGER_CACHES) if "Z" in usual.keys() - each.keys() else ()
            caches = (point, *({**point, "Z": point["Z"] << power} for power in larger))
            yield from islice(filter(sizes.allowed, caches), 1)

    def _within(self, verdict: str, old: SizedCost, new: SizedCost, sizes: Sizes) -> OrderVerdict:
        """Whether a cost stays within the tolerance of the least that it was, or its bound within that of the bound."""
        before = old.cost.lower if verdict == r.GREW else old.cost.upper
        assert before is not None
        return at_most(new, _exactly(old, before.scaled(1 + self.tolerance)), sizes)


def _shows(verdict: str, before: Interval, after: Interval, least: Fraction, lower: bool) -> bool:
    """Whether values show a change, a rise to so many times the cost or its bound, which may be the `lower` one."""
    if verdict in r.FALLS:
        before, after, verdict = after, before, r.RISES[r.FALLS.index(verdict)]
    if verdict == r.ROSE:
        return after.upper > least * before.upper or (
            lower and after.upper == before.upper and after.lower > before.lower
        )
    return verdict != r.GREW or after.lower > max(before.upper, least * before.lower)


def _moves(old: SizedCost, new: SizedCost, sizes: Sizes, lower: bool = True) -> list[Move]:
    """How a cost changed: up, down, or both, as proofs and values show; else how its bounds did, `lower` ones too."""
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
    return found or ([UNCHANGED] if same else _moves_of_bounds(old, new, sizes, lower))


def _moves_of_bounds(old: SizedCost, new: SizedCost, sizes: Sizes, lower: bool) -> list[Move]:
    """How bounds moved: the upper one, or the lower one where that is the same. Rose, where nothing is shown."""
    if old.cost.exact and new.cost.exact:
        return [(r.ROSE, None, None)]
    ends = [(old.cost.upper, new.cost.upper), *([(old.cost.lower, new.cost.lower)] if lower else [])]
    for before, after in ends:
        assert before is not None
        assert after is not None
        found = _moves(_exactly(old, before), _exactly(new, after), sizes)
        if found[0][0] not in (r.EQUAL, r.OTHER_FORM):
            return [(OF_BOUNDS[verdict], None, point) for verdict, _, point in found]
    return [(r.OTHER_FORM, None, None)]


def _exactly(amount: SizedCost, bound: Poly) -> SizedCost:
    """A bound of a cost as a cost of its own."""
    return replace(amount, cost=Cost(amount.cost.metric, "exact", bound, bound))


def _bounds_in(amount: SizedCost, when: str, sizes: Sizes) -> tuple[list[SizedCost], bool]:
    """The bounds of a cost in the regime of a condition, and whether the first one is that of the regime.

    Others hold there too, those of large caches first; besides that of the regime only those of larger caches.
    """
    cost, facts = amount.cost, sizes.scope.facts
    every = sort_by_cache(cost)
    at = next((at for at, bound in enumerate(every) if bound.where.when == when), None)
    known = [x for x in every[:at] if all(never_negative(facts.simplify(need), facts) for need in x.where.needs)]
    held = [*([] if at is None else every[at : at + 1]), *known]
    uppers = [bound.value for bound in held] or [each for each in (cost.upper,) if each is not None]
    found = (Cost(cost.metric, "exact" if cost.lower == each else "bounded", cost.lower, each) for each in uppers)
    return [replace(amount, cost=each) for each in found], at is not None


def _some_at_most(bounds: Sequence[SizedCost], other: SizedCost, sizes: Sizes) -> bool:
    """Whether the upper bound of one of some costs is at most that of another."""
    ends = ((each.cost.upper, other.cost.upper) for each in bounds)
    return any(
        at_most(_exactly(other, one), _exactly(other, most), sizes).outcome == "holds"
        for one, most in ends
        if one is not None and most is not None
    )


def _of_forms(amount: SizedCost, point: Point) -> Interval:
    """The values of the forms of a cost: the least of the upper bounds that hold there. Raises an EvaluationError."""
    forms = replace(amount.cost, ends=None, at_most=(), at_least=())
    return Interval(*whole_ends_at(forms, amount.at(point)))


def _texts(point: Point) -> dict[str, str]:
    return {name: str(value) for name, value in point.items()}


def _both(old: Interval, new: Interval) -> dict[str, str]:
    """Values of both versions as texts."""
    sides = (" to ".join(dict.fromkeys(map(str, (each.lower, each.upper)))) for each in (old, new))
    return dict(zip(("old", "new"), sides, strict=True))
