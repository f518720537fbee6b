"""Two versions of each cost of an algorithm: what is proved of them at all sizes, and what values show at some."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from fractions import Fraction
from functools import cached_property
from itertools import chain, islice, product, starmap
from math import floor

from archline.algebra.effort import OUT_OF_TIME, Clock, LazyList, TooComplexError
from archline.algebra.evaluate.exact import evaluate
from archline.algebra.polynomial import Poly
from archline.algebra.prove.prover import never_negative
from archline.analysis.cost import Cost, cost_text, whole_ends_at
from archline.analysis.sampling import constants_of
from archline.changes import results as r
from archline.changes.baseline import NO_BASELINE, by_metric, recorded, regimes, written
from archline.changes.git import NO_VERSION
from archline.changes.results import CostChange
from archline.claims.decide import with_cost_symbols
from archline.claims.growth_claims import growth_text
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
from archline.growth.growths import Growth, decide_side
from archline.ir.declarations import declared_scope
from archline.ir.lower import Lowering
from archline.ir.scope import NotStaticError
from archline.ir.tree import UntracedError
from archline.language import syntax as s
from archline.language.diagnostics import ArchlineError, error
from archline.language.metrics import METRICS, Event
from archline.numbers import percent
from archline.records import memoised, record, replace

Move = tuple[str, str | None, Point | None]
"""A verdict, at which sizes it holds, and sizes that show it."""
UNMOVED = (r.EQUAL, r.OTHER_FORM, r.OTHER_BOUNDS, r.UNKNOWN)
FURTHER = {"divisions": "flops", "other_flops": "flops", "accesses": "work", "bytes": "io"}
"""Further costs that models take, each with the cost that it moves with; additions and multiplications are the rest."""
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
            found += _Versions(old, new, metric, tolerance, at).find_changes(plain)
    if old is not None and new is not None and not isinstance(old, RecordedSubject):
        for metric in _list_further_metrics(old, new):
            moved = {change.verdict for change in found if change.metric == FURTHER[metric]}.difference(UNMOVED)
            further = _Versions(old, new, metric, tolerance, at, OF_COSTS if moved else OF_VALUES)
            whole = _Versions(old, new, FURTHER[metric], tolerance, at)
            changes = further.find_changes(CostChange(metric, r.EQUAL, _text(old, metric), _text(new, metric)))
            changes = [change for change in changes if change.verdict in further.verdicts]
            if not all(change.verdict in moved and further.keeps_step(change, whole) for change in changes):
                found += changes
        found += [CostChange(r.SIZES, r.NOW_TAKES, new=", ".join(more))] if more else []
        found += [CostChange(r.SIZES, r.NO_LONGER_TAKES, old=", ".join(fewer))] if fewer else []
        before, after = _more_required(new.algorithm, old.algorithm), _more_required(old.algorithm, new.algorithm)
        found += [CostChange(r.WHERE, r.NOW_REQUIRES, new=after)] if after else []
        found += [CostChange(r.WHERE, r.NO_LONGER_REQUIRES, old=before)] if before else []
    return found


def _list_further_metrics(old: AlgorithmSubject, new: AlgorithmSubject) -> Iterator[str]:
    """List the metrics of FURTHER that may have moved: those with other bounds of flops, or other accesses."""
    kinds = (side.report.without_io.flops_by_kind.items() for side in (old, new))
    before, after = ({(kind, cost.lower, cost.upper) for kind, cost in costs} for costs in kinds)
    moved = [Event(kind, real=True) for kind, _, _ in before ^ after]
    for metric, whole in () if old.on_grid or new.on_grid else FURTHER.items():
        counts = METRICS[metric].counts
        may_move = any(map(counts, moved)) if counts else _write_accesses(old) != _write_accesses(new)
        if may_move and all(side.report.cost(whole).upper is not None for side in (old, new)):
            yield metric


def _write_accesses(subject: AlgorithmSubject) -> str:
    """Write the accesses of a run in order; the name of an algorithm whose accesses cannot be followed."""
    with suppress(UntracedError, TooComplexError):
        if not subject.report.recursive:
            return repr(Lowering(subject.report.module).trace(subject.report.node)[1])
    return subject.name


def _text(subject: AlgorithmSubject | None, metric: str) -> str | None:
    """A cost in one line; None where there is none."""
    if subject is None or metric not in (*subject.report.metrics, *FURTHER):
        return None
    cost = subject.report.cost(metric)
    if cost.upper is None:
        return "unknown"
    # The last regime is the general one.
    general = regimes(cost)[-1:]
    shown = replace(cost, upper=general[0].upper) if general else replace(cost, regimes=cost.regimes[::-1])
    return cost_text(subject.report.costs, shown) + (f" when {general[0].when}" if general else "")


def _more_required(one: AlgorithmUnderFacts, other: AlgorithmUnderFacts) -> str:
    """The facts of the other that some sizes do not satisfy which the one takes."""
    facts, signature = other.node.where, one.signature
    sizes = Sizes.of((*signature.size_names, *signature.indices), signature.indices, one.node.where)
    taken = list(replace(sizes, constants=constants_of(*facts)).points())
    return ", ".join(format_fact(fact) for fact in facts if any(holds(fact, each) is False for each in taken))


@record(eq=False)
class _Versions:
    """The derived costs of two versions in one metric; values are searched for that show one of the `verdicts`."""

    old: AlgorithmSubject
    new: AlgorithmSubject
    metric: str
    tolerance: Fraction
    at: Sequence[Point]
    verdicts: Sequence[str] = OF_VALUES

    def find_changes(self, plain: CostChange) -> list[CostChange]:
        """Find what changed, with a remark on changes without a proof if the time is up."""
        changes, remark = self.changes(plain), OUT_OF_TIME if Clock.late else None
        proved = r.EVERYWHERE, r.SOMEWHERE
        return [x if x.extent in proved else replace(x, reason=x.reason or remark) for x in changes]

    def changes(self, plain: CostChange) -> list[CostChange]:
        """What changed, regime by regime; the entry that is given where nothing did."""
        old, new = (each.report.cost(self.metric) for each in (self.old, self.new))
        if old.upper is None and new.upper is None:
            return [replace(plain, verdict=r.UNKNOWN)]
        if old.upper is None:
            found = [replace(plain, verdict=r.BECAME_KNOWN)]
        elif new.upper is None:
            found = [replace(plain, verdict=r.BECAME_UNKNOWN)]
        else:
            both = regimes(replace(new, alternatives=(*old.alternatives, *new.alternatives)))
            conditions = {each.when: each.where for each in both if self.metric not in FURTHER}
            last = next(reversed(conditions), "")
            found = [*self._explained(plain, self._moves_of_whole(), *self._whole)]
            found += (x for when, fact in conditions.items() for x in self._in_regime(plain, fact, when == last))
        changed = [each for each in found if each.verdict not in UNMOVED]
        changed = changed or list(self._of_values(plain))
        if not changed:
            return [next((each for each in found if each.verdict != r.EQUAL), plain)]
        # Bounds that were written need not show all of the growth that was derived.
        known = old.exact or not isinstance(self.old, RecordedSubject)
        reports = self.old.report.including(self.metric), self.new.report.including(self.metric)
        growths = (reports[0].growths(old) if known else ()), reports[1].growths(new)
        growth = dict(zip(("old", "new"), map(growth_text, growths), strict=True))
        order = _compare_growths(*growths, (*self.old.where, *self.new.where))
        return [replace(each, growth=growth, order=order) for each in changed]

    def _in_regime(self, plain: CostChange, where: s.Fact, last: bool) -> Iterator[CostChange]:
        """What changed where a condition on the cache holds.

        Other bounds that a version has there count as well. Where it has none under this condition itself, that of the
        older version may have risen only, that of the newer one fallen only. All regimes have one lower bound, of which
        the last one speaks.
        """
        old, new, sizes = self._amounts((where,))
        when = format_fact(where)
        (olds, of_old), (news, of_new) = (_bounds_in(each, when, sizes) for each in (old, new))
        falls = of_new and not _some_at_most(olds[of_old:], news[0], sizes)
        rises = of_old and not _some_at_most(news[of_new:], olds[0], sizes)
        if not rises and not falls:
            return
        before, after = (
            cost_text(each.report.costs, bounds[0].cost) for each, bounds in ((self.old, olds), (self.new, news))
        )
        shown = replace(plain, old=before, new=after, when=when)
        lower = last and of_old and of_new
        for each in self._explained(shown, _moves(olds[0], news[0], sizes, lower), olds[0], news[0], sizes, lower):
            if (rises or each.verdict not in r.RISES) and (falls or each.verdict not in r.FALLS):
                yield each

    def _moves_of_whole(self) -> list[Move]:
        """Compare whole costs by values at realistic sizes; without conditions on the cache by proofs too."""
        old, new, sizes = self._whole
        proved = [] if regimes(old.cost) or regimes(new.cost) else _moves(old, new, sizes)
        moves = {move[0]: move for move in proved if move[0] in OF_COSTS}
        for point in self._realistic:
            left = [x for x in OF_COSTS if x not in moves and self._may_show(x, point)]
            if left and (values := self._values_at(point)):
                shown = [x for x in left if _shows(x, *values, Fraction(1), False)]
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
        for verdict in self.verdicts:
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
        usual, last = [*asked, *(each for each in sizes.interest if each not in asked)], [point] if point else []
        if others:
            usual, last = ([*chain.from_iterable(map(self._with_caches, each))] for each in (usual, last))
        # A bound moved if forms show it, too, which have values far sooner.
        of_bound, verdict = others and found.verdict in (r.ROSE, r.FELL), found.verdict
        more = chain.from_iterable(map(self._with_caches, islice(sizes.points(), TRIED))) if of_bound else ()
        for share in dict.fromkeys((least, Fraction(1))) if others else (least,):
            for each in filter(sizes.allowed, chain(usual, self._realistic, last, more)):
                forms = self._values_at(each, by_forms=True) if of_bound else None
                may = forms and _shows(verdict, *forms, share, lower) if of_bound else self._may_show(verdict, each)
                values = self._values_at(each) if may else None
                if values is not None and _shows(verdict, *values, share, lower) and self._has_runs(each):
                    found = replace(found, at=_texts(each), values=_both(*values))
                    whole = dict(zip((r.ROSE, r.FELL), OF_COSTS, strict=True)).get(verdict)
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
        needs = (need for side in self._whole[:2] for each in regimes(side.cost) for need in each.needs)
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

    def keeps_step(self, change: CostChange, whole: _Versions) -> bool:
        """Whether the values of a change show no larger move, in proportion, than those of another cost there."""
        point = {name: int(value) for name, value in (change.at or {}).items()}
        values, wholes = self._values_at(point), whole._values_at(point)
        if values is None or wholes is None:
            return False
        (less, more), (before, after) = (pair[:: -1 if change.verdict in r.FALLS else 1] for pair in (values, wholes))
        return more.lower * before.lower <= less.upper * after.upper

    def _may_show(self, verdict: str, point: Point) -> bool:
        """Whether values may show that the cost grew, or shrank: its least value did, which is found far sooner."""
        least = self._least_at(tuple(point.items())) if verdict in OF_COSTS else None
        return least is None or (least[0] < least[1] if verdict == r.GREW else least[0] > least[1])

    @memoised
    def _least_at(self, point: tuple[tuple[str, int], ...]) -> tuple[Fraction, ...] | None:
        """Evaluate the least values of both costs; None if one has none that is found by itself."""
        sides = [(side.cost.least_at, side) for side in self._whole[:2] if not side.cost.at_least]
        with suppress(*NO_VALUE):
            values = tuple(least(side.at(dict(point))) for least, side in sides if least is not None)
            return values if len(values) == 2 else None
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


def _compare_growths(olds: Sequence[Growth], news: Sequence[Growth], facts: Sequence[s.Fact]) -> str | None:
    """Compare growths: a change is proved, equal ones may be known less sharply; None if a version has none."""
    moves = set[str]()
    for old, new in () if growth_text(olds) == growth_text(news) else product(olds, news):
        known = tuple(dict.fromkeys((*facts, *old.facts, *old.where, *new.facts, *new.where)))
        before, after = Growth(old.upper, old.upper), Growth(new.upper, new.upper)
        for move, side, one, two in (
            (r.GREW, "O", new, old),
            (r.SHRANK, "Omega", new, old),
            (r.ROSE, "O", after, before),
        ):
            moves |= {move} if decide_side(side, one, two, known).outcome == "fails" else set()
    return r.verdict_of_whole(moves or {r.EQUAL}) if olds and news else None


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
    every = regimes(cost)
    at = next((at for at, each in enumerate(every) if each.when == when), None)
    known = [each for each in every[:at] if all(never_negative(facts.simplify(need), facts) for need in each.needs)]
    held = [*([] if at is None else every[at : at + 1]), *known]
    uppers = [each.upper for each in held] or [each for each in (cost.upper,) if each is not None]
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
    cost, own = amount.cost, amount.at(point)
    held = [each.upper for each in regimes(cost) if all(evaluate(need, own) >= 0 for need in each.needs)]
    forms: Iterable[Poly | None] = held or [cost.upper]
    ends = [whole_ends_at(Cost(cost.metric, cost.status, cost.lower, each), own) for each in forms]
    return Interval(ends[0][0], min(high for _, high in ends))


def _texts(point: Point) -> dict[str, str]:
    return {name: str(value) for name, value in point.items()}


def _both(old: Interval, new: Interval) -> dict[str, str]:
    """Values of both versions as texts."""
    sides = (" to ".join(dict.fromkeys(map(str, (each.lower, each.upper)))) for each in (old, new))
    return dict(zip(("old", "new"), sides, strict=True))
