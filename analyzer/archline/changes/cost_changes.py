"""Compare the two versions of each cost of an algorithm: by proofs at all sizes, and by values at some."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from fractions import Fraction
from functools import cached_property
from itertools import chain, islice, product, starmap
from math import floor, lcm

from archline.algebra.atoms import Floor, PositivePart
from archline.algebra.effort import OUT_OF_TIME, Clock, LazyList, TooComplexError
from archline.algebra.evaluate.exact import evaluate
from archline.algebra.polynomial import Poly
from archline.algebra.prove.prover import never_negative
from archline.analysis.bounds import Region
from archline.analysis.cost import Cost, cost_text, enclose_count
from archline.analysis.sampling import constants_of
from archline.changes import results as r
from archline.changes.baseline import NO_BASELINE, group_by_metric, read_cost, sort_by_cache, write_costs
from archline.changes.git import NO_VERSION
from archline.changes.results import CostChange
from archline.claims.decide import with_cost_symbols
from archline.claims.growth_claims import growth_text
from archline.compare.claims import ClaimedAlgorithms, ClaimOfCosts
from archline.compare.orders import NO_VALUE, OrderVerdict, decide_at_most
from archline.compare.sizes import Point, SizedCost, Sizes
from archline.costs.algorithms import AlgorithmUnderFacts
from archline.costs.derived import DerivedCosts
from archline.energy.caches import DEFAULT_CACHE
from archline.energy.subjects import AlgorithmSubject
from archline.expr import build as b
from archline.expr.intervals import Interval
from archline.expr.text import format_fact
from archline.expr.values import evaluate_fact
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
"""A verdict, at which sizes it applies, and sizes that show it."""
UNMOVED = (r.EQUAL, r.OTHER_FORM, r.OTHER_BOUNDS, r.UNKNOWN)
FURTHER = {"divisions": "flops", "other_flops": "flops", "accesses": "work", "bytes": "io"}
"""Further costs that models take, each with the cost that it moves with: a move in step with that one says nothing new.
Additions and multiplications are the rest of the flops."""
UNCHANGED: Move = r.EQUAL, None, None
BOUND_VERDICTS = {r.GREW: r.ROSE, r.SHRANK: r.FELL, r.ROSE: r.ROSE}
COST_VERDICTS = r.GREW, r.SHRANK
VALUE_VERDICTS = *COST_VERDICTS, r.ROSE, r.FELL
USUAL_CACHE = {"Z": DEFAULT_CACHE.Z, "L": DEFAULT_CACHE.L}
UNREAD = "the baseline's cost differs and cannot be parsed: regenerate the baseline if the new cost is right"
GRIDS = ((64, 8), (256, 8), (16, 4))
"""Realistic extents of arrays and words of a line, each in caches of 2, 4, 8, ..., 2^CACHES lines."""
CACHES, BLOCK = 11, 8
"""The value of sizes that are no extents of arrays, such as those of blocks."""
LARGER_CACHES = 32
"""The number of cache sizes that are tried, each twice the one before."""
MAX_TRIED_SIZES = 100
MAX_REMAINDERS = 5_000
"""The number of sizes with different remainders at which two forms are compared, beyond each number in them."""
"""The number of sizes, each with several caches, at which a cost is compared after its bound moved."""
NOWHERE = {
    r.ROSE: "a bound is higher under a condition on the cache; no sizes were found at which the whole cost is higher",
    r.FELL: "a bound is lower under a condition on the cache; no sizes were found at which the whole cost is lower",
}
UNSHOWN = "the counts are exact and written in other ways, and no sizes were found at which they differ"
USUAL_SIZE = 64
"""The size at which values are shown by default."""


class RecordedSubject(AlgorithmSubject):
    """An algorithm with the costs in the `texts` of an earlier version of it, by metric.

    A metric whose texts cannot be read back is `unread`. `latest` has the costs that are derived of it now. Raises
    ArchlineError (AL442) for a text with names that the algorithm does not have.
    """

    def __init__(self, algorithm: AlgorithmUnderFacts, texts: Sequence[str], latest: DerivedCosts) -> None:
        super().__init__(algorithm)
        self.texts, self.unread = group_by_metric(texts), set[str]()
        scope = with_cost_symbols(declared_scope(algorithm.module, algorithm.node))
        metrics = {metric: Cost(metric, "unknown", None, None) for metric in (*latest.metrics, *self.texts)}
        for metric, lines in self.texts.items():
            try:
                metrics[metric] = read_cost(metric, lines, scope)
            except (ArchlineError, NotStaticError, KeyError) as problem:
                if isinstance(problem, ArchlineError) and problem.diagnostics[0].rule == NO_BASELINE:
                    raise
                self.unread.add(metric)
        costs = replace(latest.costs, metrics=metrics)
        self.report = DerivedCosts(algorithm.module, algorithm.node, costs, lambda: metrics["io"])


def compare_versions(
    old: AlgorithmSubject | None, new: AlgorithmSubject | None, tolerance: Fraction, at: Sequence[Point]
) -> list[CostChange]:
    """Return the changes of each metric and of the facts about sizes; a new or removed algorithm lacks a side.

    The algorithms have different names, and the same names of sizes. A metric that did not change has one entry that
    says so. `at` are sizes of interest. Raises ArchlineError for a version that certainly fails.
    """
    sides = [side.algorithm.signature.size_names if side else () for side in (old, new)]
    fewer, more = ([name for name in some if name not in rest] for some, rest in (sides, sides[::-1]))
    if all(sides) and len(fewer) == len(sides[0]):
        raise error(NO_VERSION, "the sizes of the two versions cannot be matched")
    changes: list[CostChange] = []
    texts = {} if new is None else group_by_metric(write_costs(new.report.costs))
    for metric in dict.fromkeys(name for side in (new, old) if side is not None for name in side.report.metrics):
        before, after = _format_cost(old, metric), _format_cost(new, metric)
        plain = CostChange(metric, r.EQUAL, before, after)
        if old is None or new is None or before is None or after is None:
            changes.append(replace(plain, verdict=r.NEW_METRIC if before is None else r.REMOVED))
        elif isinstance(old, RecordedSubject) and old.texts.get(metric) == texts.get(metric):
            changes.append(replace(plain, verdict=r.EQUAL if metric in texts else r.UNKNOWN))
        elif isinstance(old, RecordedSubject) and metric in old.unread:
            changes.append(replace(plain, verdict=r.BECAME_UNKNOWN, old="; ".join(old.texts[metric]), reason=UNREAD))
        else:
            changes += _MetricVersions(old, new, metric, tolerance, at).find_changes(plain)
    if old is not None and new is not None and not isinstance(old, RecordedSubject):
        for metric in _list_further_metrics(old, new):
            moved = {change.verdict for change in changes if change.metric == FURTHER[metric]}.difference(UNMOVED)
            further = _MetricVersions(old, new, metric, tolerance, at, COST_VERDICTS if moved else VALUE_VERDICTS)
            whole = _MetricVersions(old, new, FURTHER[metric], tolerance, at)
            shown = further.find_changes(
                CostChange(metric, r.EQUAL, _format_cost(old, metric), _format_cost(new, metric))
            )
            shown = [change for change in shown if change.verdict in further.verdicts]
            if not all(change.verdict in moved and further.keeps_step(change, whole) for change in shown):
                changes += shown
        changes += [CostChange(r.SIZES, r.NOW_TAKES, new=", ".join(more))] if more else []
        changes += [CostChange(r.SIZES, r.NO_LONGER_TAKES, old=", ".join(fewer))] if fewer else []
        before, after = _find_added_facts(new.algorithm, old.algorithm), _find_added_facts(old.algorithm, new.algorithm)
        changes += [CostChange(r.WHERE, r.NOW_REQUIRES, new=after)] if after else []
        changes += [CostChange(r.WHERE, r.NO_LONGER_REQUIRES, old=before)] if before else []
    return changes


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


def _format_cost(subject: AlgorithmSubject | None, metric: str) -> str | None:
    """Format a cost in one line; None if there is none."""
    if subject is None or metric not in (*subject.report.metrics, *FURTHER):
        return None
    cost = subject.report.cost(metric)
    if cost.upper is None:
        return "unknown"
    # The last bound by cache is the general one, and the last case of the sizes comes first.
    general = sort_by_cache(cost)[-1:]
    shown = replace(cost, upper=general[0].value) if general else cost
    return cost_text(subject.report.costs, shown) + (f" when {general[0].where.when}" if general else "")


def _find_added_facts(first: AlgorithmUnderFacts, second: AlgorithmUnderFacts) -> str:
    """Return the facts of the second that some sizes which the first takes do not satisfy."""
    facts, signature = second.node.where, first.signature
    sizes = Sizes.of((*signature.size_names, *signature.indices), signature.indices, first.node.where)
    taken = list(replace(sizes, constants=constants_of(*facts)).points())
    return ", ".join(format_fact(fact) for fact in facts if any(evaluate_fact(fact, point) is False for point in taken))


@record(eq=False)
class _MetricVersions:
    """The derived costs of two versions in one metric; values are searched for that show one of the `verdicts`."""

    old: AlgorithmSubject
    new: AlgorithmSubject
    metric: str
    tolerance: Fraction
    at: Sequence[Point]
    verdicts: Sequence[str] = VALUE_VERDICTS

    def find_changes(self, plain: CostChange) -> list[CostChange]:
        """Find what changed, with a remark on changes without a proof if the time is up."""
        changes, remark = self.changes(plain), OUT_OF_TIME if Clock.late else None
        proved = r.EVERYWHERE, r.SOMEWHERE
        return [x if x.extent in proved else replace(x, reason=x.reason or remark) for x in changes]

    def changes(self, plain: CostChange) -> list[CostChange]:
        """Return the changes, region by region; `plain` if nothing changed."""
        old, new = (subject.report.cost(self.metric) for subject in (self.old, self.new))
        if old.upper is None and new.upper is None:
            return [replace(plain, verdict=r.UNKNOWN)]
        if old.upper is None:
            changes = [replace(plain, verdict=r.BECAME_KNOWN)]
        elif new.upper is None:
            changes = [replace(plain, verdict=r.BECAME_UNKNOWN)]
        else:
            bounds = sort_by_cache(old, new) if self.metric not in FURTHER else []
            conditions = {bound.where.when: bound.where for bound in bounds}
            last = next(reversed(conditions), "")
            changes = [*self._explain_moves(plain, self._moves_of_whole(), *self._whole)]
            changes += (x for when, region in conditions.items() for x in self._in_region(plain, region, when == last))
        changed = [change for change in changes if change.verdict not in UNMOVED]
        changed = changed or list(self._compare_values(plain))
        if not changed:
            return [next((change for change in changes if change.verdict != r.EQUAL), plain)]
        # Written bounds need not show all of the derived growth.
        is_growth_known = old.exact or not isinstance(self.old, RecordedSubject)
        reports = self.old.report.including(self.metric), self.new.report.including(self.metric)
        growths = (reports[0].growths(old) if is_growth_known else ()), reports[1].growths(new)
        growth = dict(zip(("old", "new"), map(growth_text, growths), strict=True))
        order = _compare_growths(*growths, (*self.old.where, *self.new.where))
        return [replace(change, growth=growth, order=order) for change in changed]

    def _in_region(self, plain: CostChange, region: Region, last: bool) -> Iterator[CostChange]:
        """Yield the changes where a condition on the cache holds.

        Other bounds that a version has there count as well. If a version has none under this condition itself, the
        bound of the older version may only rise, that of the newer one only fall. All regions share one lower bound,
        which is compared in the last one.
        """
        old, new, sizes = self._build_amounts(region.facts)
        (olds, of_old), (news, of_new) = (_find_bounds_in(amount, region.when, sizes) for amount in (old, new))
        falls = of_new and not _is_any_at_most(olds[of_old:], news[0], sizes)
        rises = of_old and not _is_any_at_most(news[of_new:], olds[0], sizes)
        if not rises and not falls:
            return
        before, after = (
            cost_text(subject.report.costs, bounds[0].cost) for subject, bounds in ((self.old, olds), (self.new, news))
        )
        shown = replace(plain, old=before, new=after, when=region.when)
        lower = last and of_old and of_new
        for change in self._explain_moves(
            shown, _find_moves(olds[0], news[0], sizes, lower), olds[0], news[0], sizes, lower
        ):
            if (rises or change.verdict not in r.RISES) and (falls or change.verdict not in r.FALLS):
                yield change

    def _moves_of_whole(self) -> list[Move]:
        """Compare whole costs by values at realistic sizes; without conditions on the cache by proofs too."""
        old, new, sizes = self._whole
        proved = [] if old.cost.by_cache or new.cost.by_cache else _find_moves(old, new, sizes)
        moves = {move[0]: move for move in proved if move[0] in COST_VERDICTS}
        for point in self._realistic:
            left = [x for x in COST_VERDICTS if x not in moves and self._may_show(x, point)]
            if left and (values := self._values_at(point)):
                shown = [x for x in left if _is_shown_by_values(x, *values, Fraction(1), False)]
                moves |= {verdict: (verdict, r.AT_SHOWN_SIZES, point) for verdict in shown if self._has_runs(point)}
            if len(moves) == len(COST_VERDICTS):
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

        def iterate_caches(given: Point, size: int, line: int) -> Iterator[Point]:
            line = given.get("L", line)
            for power in range(1, CACHES + 1):
                usual = {"L": line, "Z": line << power}
                values = {x: given.get(x, usual.get(x, size if x in arrays else BLOCK)) for x in sizes.names}
                yield {name: bounds[name].nearest(value) for name, value in values.items()}

        grids = [*((at, USUAL_SIZE, USUAL_CACHE["L"]) for at in self.at), *(({}, *grid) for grid in GRIDS)]
        points = chain(*map(self._with_caches, sizes.interest), *starmap(iterate_caches, grids))
        return LazyList(filter(sizes.allowed, points))

    def _compare_values(self, plain: CostChange) -> Iterator[CostChange]:
        """Yield the change of values at sizes of interest, which may differ where forms are equal."""
        *whole, sizes = self._whole
        if not all(amount.cost.interval_at and amount.cost.status == "bounded" for amount in whole):
            return
        for verdict in self.verdicts:
            factor = 1 + self.tolerance if verdict in r.RISES else Fraction(1)
            shown = replace(plain, verdict=verdict, extent=r.AT_SHOWN_SIZES)
            change = self._with_values(shown, sizes, None, factor, lower=True, wide=False)
            if change.values is not None:
                yield change
                return

    def _explain_moves(
        self, shown: CostChange, moves: Sequence[Move], old: SizedCost, new: SizedCost, sizes: Sizes, lower: bool = True
    ) -> Iterator[CostChange]:
        """Explain how two costs moved, with values that show it; `lower` bounds count too."""
        for verdict, extent, point in moves:
            change, factor = replace(shown, verdict=verdict, extent=extent), Fraction(1)
            if self.tolerance and verdict in r.RISES:
                within = self._decide_tolerance(verdict, old, new, sizes)
                if within.outcome == "holds":
                    change = replace(change, tolerance=percent(self.tolerance))
                else:
                    fails = within.outcome == "fails" and within.point is not None
                    beyond = "exceeds the tolerance of" if fails else "not proved to be within"
                    change = replace(change, reason=f"{beyond} {percent(self.tolerance)}")
                    factor, point = (1 + self.tolerance, within.point) if fails else (factor, point)
            yield self._with_values(change, sizes, point, factor, lower and old.cost.upper == new.cost.upper)

    def _with_values(
        self,
        change: CostChange,
        sizes: Sizes,
        point: Point | None,
        least: Fraction,
        lower: bool,
        wide: bool = True,
    ) -> CostChange:
        """Add the values of both costs, each by its sharpest bound, at sizes where they show the change.

        Requested sizes come first; if they do not show the change, their values are given apart. `lower` bounds show it
        too, if only they moved. If a bound moved and the cost as a whole nowhere did, the reason says so.
        """
        asked = [trial for trial in sizes.interest if any(at.items() <= trial.items() for at in self.at)]
        usual, last = [*asked, *(trial for trial in sizes.interest if trial not in asked)], [point] if point else []
        if wide:
            usual, last = ([*chain.from_iterable(map(self._with_caches, trials))] for trials in (usual, last))
        # A bound moved if forms show it, too, which have values far sooner.
        of_bound, verdict = wide and change.verdict in (r.ROSE, r.FELL), change.verdict
        more = chain.from_iterable(map(self._with_caches, islice(sizes.points(), MAX_TRIED_SIZES))) if of_bound else ()
        for share in dict.fromkeys((least, Fraction(1))) if wide else (least,):
            trials = chain(usual, self._realistic, last, more, self._at_remainders() if of_bound else ())
            for trial in filter(sizes.allowed, trials):
                forms = self._values_at(trial, by_forms=True) if of_bound else None
                may = (
                    forms and _is_shown_by_values(verdict, *forms, share, lower)
                    if of_bound
                    else self._may_show(verdict, trial)
                )
                values = self._values_at(trial) if may else None
                if values is not None and _is_shown_by_values(verdict, *values, share, lower) and self._has_runs(trial):
                    change = replace(change, at=_format_sizes(trial), values=_format_both(*values))
                    whole = dict(zip((r.ROSE, r.FELL), COST_VERDICTS, strict=True)).get(verdict)
                    if whole and change.tolerance is None and _is_shown_by_values(whole, *values, least, False):
                        change = replace(change, verdict=whole, extent=r.AT_SHOWN_SIZES)
                    break
            if change.values is not None:
                break
        else:
            if of_bound and all(side.cost.exact for side in self._whole[:2]):
                change = replace(change, reason=UNSHOWN)
            elif of_bound:
                change = replace(change, verdict=r.OTHER_BOUNDS, reason=NOWHERE[change.verdict])
        first = next(
            (trial for trial in asked if self._values_at(trial) is not None and self._has_runs(trial)),
            None,
        )
        at = change.at or {}
        if first is not None and wide and any(at.get(name) != text for name, text in _format_sizes(first).items()):
            values = self._values_at(first)
            assert values is not None
            change = replace(change, asked={"at": _format_sizes(first), **_format_both(*values)})
        return change

    def _at_remainders(self) -> Iterator[Point]:
        """Yield sizes beyond each number that a size is compared with, one for each remainder by divisors in forms."""
        *sides, sizes = self._whole
        forms = [form for side in sides for form in (side.cost.lower, side.cost.upper) if form is not None]
        atoms = {atom for form in forms for atom in form.atoms_within()}
        usual = {name: sizes.scope.facts.bounds[name].nearest(USUAL_SIZE) for name in sizes.names}
        for name in sizes.names:
            parts = [atom for atom in atoms if atom.names == {name}]
            floors = [atom.modulus for atom in parts if isinstance(atom, Floor) and atom.modulus.is_constant]
            period = min(MAX_REMAINDERS, lcm(*(int(modulus.constant_term) for modulus in floors)))
            maxima = (atom.argument.constant_term for atom in parts if isinstance(atom, PositivePart))
            for start in sorted({0, *(abs(int(number)) for number in maxima)}) if floors else ():
                yield from ({**usual, name: start + step} for step in range(1, period + 1))

    def _with_caches(self, point: Point) -> Iterator[Point]:
        """Yield sizes, then the same with caches at which bounds of the costs begin to hold."""
        yield point
        if "Z" not in point or any("Z" in at for at in self.at):
            return
        needs = (need for side in self._whole[:2] for bound in side.cost.by_cache for need in bound.where.needs)
        thresholds = set[int]()
        for need in needs:
            with suppress(*NO_VALUE):
                thresholds.add(point["Z"] - floor(evaluate(need, point)))
        yield from ({**point, "Z": words} for words in sorted(thresholds, reverse=True) if words >= point.get("L", 1))

    @cached_property
    def _whole(self) -> tuple[SizedCost, SizedCost, Sizes]:
        return self._build_amounts(())

    def _values_at(self, point: Point, by_forms: bool = False) -> tuple[Interval, Interval] | None:
        """Evaluate both costs, or their forms alone, as written costs have them; None if one has no value."""
        return self._pair_at(tuple(point.items()), by_forms)

    @memoised
    def _pair_at(self, point: tuple[tuple[str, int], ...], by_forms: bool) -> tuple[Interval, Interval] | None:
        with suppress(*NO_VALUE):
            old, new, _ = self._whole
            sides = (old, by_forms or isinstance(self.old, RecordedSubject)), (new, by_forms)
            before, after = (_evaluate_forms(x, dict(point)) if forms else x.ends(dict(point)) for x, forms in sides)
            return before, after
        return None

    def keeps_step(self, change: CostChange, whole: _MetricVersions) -> bool:
        """Whether the values of a change show no larger move, in proportion, than those of another cost there."""
        point = {name: int(value) for name, value in (change.at or {}).items()}
        values, wholes = self._values_at(point), whole._values_at(point)
        if values is None or wholes is None:
            return False
        (less, more), (before, after) = (pair[:: -1 if change.verdict in r.FALLS else 1] for pair in (values, wholes))
        return more.lower * before.lower <= less.upper * after.upper

    def _may_show(self, verdict: str, point: Point) -> bool:
        """Whether values may show that the cost grew, or shrank: its least value did, which is found far sooner."""
        least = self._least_at(tuple(point.items())) if verdict in COST_VERDICTS else None
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

    def _build_amounts(self, more: Sequence[s.Fact]) -> tuple[SizedCost, SizedCost, Sizes]:
        """Return both costs, and the sizes that both allow under further facts, as a claim about both reads them."""
        sides = [f"{self.metric}({subject.name})" for subject in (self.old, self.new)]
        left, right = (b.call(self.metric, b.name(subject.name)) for subject in (self.new, self.old))
        claim = s.Claim(None, left, "<=", right, (), None, (), span=b.DERIVED)
        both: dict[tuple[str, ...], AlgorithmSubject] = {(subject.name,): subject for subject in (self.old, self.new)}
        about = ClaimOfCosts(claim, ClaimedAlgorithms(self.new.algorithm.module, both), tuple(more))
        for side in (claim.left, claim.right):
            about.formula(side)
        sizes = about.sizes()
        return (
            about.amounts[sides[0]],
            about.amounts[sides[1]],
            replace(sizes, interest=tuple(self._sizes_of_interest(sizes))),
        )

    def _sizes_of_interest(self, sizes: Sizes) -> Iterator[Point]:
        """Yield the requested sizes, then usual ones; the first cache that facts allow."""
        bounds = {name: sizes.scope.facts.bounds[name] for name in sizes.names}
        usual = {name: within.nearest(USUAL_CACHE.get(name, USUAL_SIZE)) for name, within in bounds.items()}
        for requested in (*(at for at in self.at if bounds.keys() <= at.keys() | USUAL_CACHE.keys()), {}):
            point = {name: requested.get(name, value) for name, value in usual.items()}
            larger = range(LARGER_CACHES) if "Z" in usual.keys() - requested.keys() else ()
            caches = (point, *({**point, "Z": point["Z"] << power} for power in larger))
            yield from islice(filter(sizes.allowed, caches), 1)

    def _decide_tolerance(self, verdict: str, old: SizedCost, new: SizedCost, sizes: Sizes) -> OrderVerdict:
        """Decide whether a cost stays within the tolerance of its former minimum, or its bound of the former bound."""
        before = old.cost.lower if verdict == r.GREW else old.cost.upper
        assert before is not None
        return decide_at_most(new, _as_exact_cost(old, before.scaled(1 + self.tolerance)), sizes)


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


def _is_shown_by_values(verdict: str, before: Interval, after: Interval, least: Fraction, lower: bool) -> bool:
    """Whether values show a change, a rise to `least` times the cost or its bound, which may be the `lower` one."""
    if verdict in r.FALLS:
        before, after, verdict = after, before, r.RISES[r.FALLS.index(verdict)]
    if verdict == r.ROSE:
        return after.upper > least * before.upper or (
            lower and after.upper == before.upper and after.lower > before.lower
        )
    return verdict != r.GREW or after.lower > max(before.upper, least * before.lower)


def _find_moves(old: SizedCost, new: SizedCost, sizes: Sizes, lower: bool = True) -> list[Move]:
    """Return how a cost changed: up, down, or both, as proofs and values show; else how its bounds did."""
    is_same = old.cost.lower == new.cost.lower and old.cost.upper == new.cost.upper
    if is_same and (old.cost.exact or not old.cost.interval_at):
        return [UNCHANGED]
    rises, falls = decide_at_most(new, old, sizes, "<="), decide_at_most(new, old, sizes, ">=")
    if rises.outcome == falls.outcome == "holds":
        return [(r.OTHER_FORM, None, None)]
    moves: list[Move] = []
    for verdict, shown, contrary, strict in ((r.GREW, rises, falls, ">"), (r.SHRANK, falls, rises, "<")):
        if shown.outcome == "fails":
            extent = r.SOMEWHERE if contrary.outcome == "holds" else r.AT_SHOWN_SIZES
            if extent == r.SOMEWHERE and decide_at_most(new, old, sizes, strict).outcome == "holds":
                extent = r.EVERYWHERE
            moves.append((verdict, extent, shown.point))
    return moves or ([UNCHANGED] if is_same else _find_moves_of_bounds(old, new, sizes, lower))


def _find_moves_of_bounds(old: SizedCost, new: SizedCost, sizes: Sizes, lower: bool) -> list[Move]:
    """Return how bounds moved: the upper one, else the lower one. Rose, if nothing is shown."""
    if old.cost.exact and new.cost.exact:
        return [(r.ROSE, None, None)]
    ends = [(old.cost.upper, new.cost.upper), *([(old.cost.lower, new.cost.lower)] if lower else [])]
    for before, after in ends:
        assert before is not None
        assert after is not None
        moves = _find_moves(_as_exact_cost(old, before), _as_exact_cost(new, after), sizes)
        if moves[0][0] not in (r.EQUAL, r.OTHER_FORM):
            return [(BOUND_VERDICTS[verdict], None, point) for verdict, _, point in moves]
    return [(r.OTHER_FORM, None, None)]


def _as_exact_cost(amount: SizedCost, bound: Poly) -> SizedCost:
    return replace(amount, cost=Cost(amount.cost.metric, "exact", bound, bound))


def _find_bounds_in(amount: SizedCost, when: str, sizes: Sizes) -> tuple[list[SizedCost], bool]:
    """Return the bounds of a cost in the regime of a condition, and whether the first one is that of the regime.

    Bounds of larger caches may hold there too, those of the largest first.
    """
    cost, facts = amount.cost, sizes.scope.facts
    every = sort_by_cache(cost)
    at = next((at for at, bound in enumerate(every) if bound.where.when == when), None)
    larger = [x for x in every[:at] if all(never_negative(facts.simplify(need), facts) for need in x.where.needs)]
    holding = [*([] if at is None else every[at : at + 1]), *larger]
    uppers = [bound.value for bound in holding] or [upper for upper in (cost.upper,) if upper is not None]
    costs = (Cost(cost.metric, "exact" if cost.lower == upper else "bounded", cost.lower, upper) for upper in uppers)
    return [replace(amount, cost=cost_in_regime) for cost_in_regime in costs], at is not None


def _is_any_at_most(bounds: Sequence[SizedCost], limit: SizedCost, sizes: Sizes) -> bool:
    """Whether the upper bound of any of some costs is at most that of another."""
    ends = ((bound.cost.upper, limit.cost.upper) for bound in bounds)
    return any(
        decide_at_most(_as_exact_cost(limit, upper), _as_exact_cost(limit, maximum), sizes).outcome == "holds"
        for upper, maximum in ends
        if upper is not None and maximum is not None
    )


def _evaluate_forms(amount: SizedCost, point: Point) -> Interval:
    """Evaluate the forms of a cost: the least of the upper bounds that hold there. Raises EvaluationError."""
    forms = replace(amount.cost, interval_at=None, at_most=(), at_least=())
    return enclose_count(forms, amount.at(point))


def _format_sizes(point: Point) -> dict[str, str]:
    return {name: str(value) for name, value in point.items()}


def _format_both(old: Interval, new: Interval) -> dict[str, str]:
    sides = (" to ".join(dict.fromkeys(map(str, (value.lower, value.upper)))) for value in (old, new))
    return dict(zip(("old", "new"), sides, strict=True))
