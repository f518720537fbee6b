"""Compare the two versions of each cost of an algorithm: by proofs for all sizes, and by values at some sizes."""

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
from archline.algebra.prove.prover import prove_never_negative
from archline.analysis.bounds import Region
from archline.analysis.cost import Cost, enclose_count, format_cost
from archline.analysis.sampling import find_constants
from archline.changes import results as r
from archline.changes.baseline import NO_BASELINE, group_by_metric, list_bounds_by_cache, read_cost, write_costs
from archline.changes.git import NO_VERSION
from archline.changes.results import CostChange
from archline.claims.decide import with_cost_symbols
from archline.claims.growth_claims import format_growths
from archline.compare.claims import ClaimedAlgorithms, ClaimOfCosts
from archline.compare.orders import NO_VALUE, OrderVerdict, decide_cost_order
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
from archline.language.iterations import list_iterations
from archline.language.metrics import METRICS, Event
from archline.numbers import format_percent
from archline.records import memoised, record, replace

Move = tuple[str, str | None, Point | None]
"""How a cost moved: a verdict, the extent of the sizes where it applies, and a point that shows it."""
UNMOVED_VERDICTS = (r.EQUAL, r.OTHER_FORM, r.OTHER_BOUNDS, r.UNKNOWN)
FURTHER_METRICS = {"divisions": "flops", "other_flops": "flops", "accesses": "work", "bytes": "io"}
"""Further costs that models use, each with the cost on which it depends; changes in proportion to it are not reported.
Additions and multiplications are the remaining flops."""
PROVED_VERDICTS = (r.EQUAL, r.OTHER_FORM, r.UNKNOWN, r.BECAME_KNOWN, r.BECAME_UNKNOWN)
PROVED = (r.EVERYWHERE, r.SOMEWHERE)
"""The extents of changes that are proved for all sizes: a cost that grew at some sizes shrank at none."""
UNCHANGED: Move = r.EQUAL, None, None
BOUND_VERDICTS = {r.GREW: r.ROSE, r.SHRANK: r.FELL, r.ROSE: r.ROSE}
COST_VERDICTS = r.GREW, r.SHRANK
VALUE_VERDICTS = *COST_VERDICTS, r.ROSE, r.FELL
USUAL_CACHE = {"Z": DEFAULT_CACHE.Z, "L": DEFAULT_CACHE.L}
UNREADABLE_COST = "the baseline's cost differs and cannot be parsed: regenerate the baseline if the new cost is right"
REALISTIC_EXTENTS = ((64, 8), (256, 8), (16, 4))
"""Realistic extents of arrays and words of a line, each in caches of 2, 4, 8, ..., 2^`CACHE_DOUBLINGS` lines."""
CACHE_DOUBLINGS, BLOCK_SIZE = 11, 8
"""`BLOCK_SIZE` is the value of sizes that are not extents of arrays, such as sizes of blocks."""
MAX_LARGER_CACHES = 32
"""The maximum number of cache sizes to try, each twice the one before."""
MAX_TRIED_SIZES = 100
"""The maximum number of points, each with several caches, at which a cost is compared after its bound moved."""
MAX_REMAINDERS = 5_000
"""The maximum number of sizes with different remainders, above each number in two forms, where the forms are compared.
"""
NOT_SHOWN_REASONS = {
    r.ROSE: "a bound is higher under a condition on the cache; no sizes were found at which the whole cost is higher",
    r.FELL: "a bound is lower under a condition on the cache; no sizes were found at which the whole cost is lower",
}
EXACT_NOT_SHOWN = "the counts are exact and written in other ways, and no sizes were found at which they differ"
USUAL_SIZE = 64
"""The default size at which values are shown."""


class RecordedSubject(AlgorithmSubject):
    """An algorithm with costs that are read from `texts` of a baseline, not derived; `texts` groups these by metric.

    Metrics whose texts cannot be parsed are in `unread`. `latest` has the costs that are derived for the algorithm now.
    Raises ArchlineError (AL442) for a text with names that the algorithm does not have.
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
    """Compare two versions of an algorithm: return the changes of each metric, of the sizes and of facts about them.

    A version is None for a new or removed algorithm. The algorithms have different names, and the same names of sizes.
    A metric that did not change has one entry with the verdict EQUAL. `at` are points of interest. Raises ArchlineError
    for a version that certainly fails.
    """
    sides = [side.algorithm.signature.size_names if side else () for side in (old, new)]
    removed, added = ([name for name in side if name not in rest] for side, rest in (sides, sides[::-1]))
    if all(sides) and len(removed) == len(sides[0]):
        raise error(NO_VERSION, "the sizes of the two versions cannot be matched")
    changes: list[CostChange] = []
    texts = {} if new is None else group_by_metric(write_costs(new.report.costs))
    for metric in dict.fromkeys(name for side in (new, old) if side is not None for name in side.report.metrics):
        before, after = _format_cost(old, metric), _format_cost(new, metric)
        equal = CostChange(metric, r.EQUAL, before, after)
        if old is None or new is None or before is None or after is None:
            changes.append(replace(equal, verdict=r.NEW_METRIC if before is None else r.REMOVED))
        elif isinstance(old, RecordedSubject) and old.texts.get(metric) == texts.get(metric):
            changes.append(replace(equal, verdict=r.EQUAL if metric in texts else r.UNKNOWN))
        elif isinstance(old, RecordedSubject) and metric in old.unread:
            changes.append(
                replace(equal, verdict=r.BECAME_UNKNOWN, old="; ".join(old.texts[metric]), reason=UNREADABLE_COST)
            )
        else:
            changes += _MetricVersions(old, new, metric, tolerance, at).find_changes(equal)
    if old is not None and new is not None and not isinstance(old, RecordedSubject):
        for metric in _iterate_further_metrics(old, new):
            moved = {change.verdict for change in changes if change.metric == FURTHER_METRICS[metric]}.difference(
                UNMOVED_VERDICTS
            )
            further = _MetricVersions(old, new, metric, tolerance, at, COST_VERDICTS if moved else VALUE_VERDICTS)
            whole = _MetricVersions(old, new, FURTHER_METRICS[metric], tolerance, at)
            shown = further.find_changes(
                CostChange(metric, r.EQUAL, _format_cost(old, metric), _format_cost(new, metric))
            )
            shown = [change for change in shown if change.verdict in further.verdicts]
            if not all(change.verdict in moved and further.is_in_step(change, whole) for change in shown):
                changes += shown
        changes += [CostChange(r.SIZES, r.NOW_TAKES, new=", ".join(added))] if added else []
        changes += [CostChange(r.SIZES, r.NO_LONGER_TAKES, old=", ".join(removed))] if removed else []
        before, after = (
            _format_added_facts(new.algorithm, old.algorithm),
            _format_added_facts(old.algorithm, new.algorithm),
        )
        changes += [CostChange(r.WHERE, r.NOW_REQUIRES, new=after)] if after else []
        changes += [CostChange(r.WHERE, r.NO_LONGER_REQUIRES, old=before)] if before else []
    return changes


def _iterate_further_metrics(old: AlgorithmSubject, new: AlgorithmSubject) -> Iterator[str]:
    """Yield the metrics of `FURTHER_METRICS` that may have changed, because bounds of flops or the accesses differ."""
    kinds = (side.report.without_io.flops_by_kind.items() for side in (old, new))
    before, after = ({(kind, cost.lower, cost.upper) for kind, cost in costs} for costs in kinds)
    moved = [Event(kind, real=True) for kind, _, _ in before ^ after]
    for metric, whole in () if old.on_grid or new.on_grid else FURTHER_METRICS.items():
        counts = METRICS[metric].counts
        may_move = any(map(counts, moved)) if counts else _write_accesses(old) != _write_accesses(new)
        if may_move and all(side.report.cost(whole).upper is not None for side in (old, new)):
            yield metric


def _write_accesses(subject: AlgorithmSubject) -> str:
    """Write the ordered accesses of an algorithm as text; the name of the algorithm if they cannot be traced."""
    with suppress(UntracedError, TooComplexError):
        if not subject.report.recursive:
            program = Lowering(subject.report.module)
            return repr(program.trace(subject.report.node)[1])
    return subject.name


def _format_cost(subject: AlgorithmSubject | None, metric: str) -> str | None:
    """Format a cost of a version in one line; None if the version is missing or does not have the metric."""
    if subject is None or metric not in (*subject.report.metrics, *FURTHER_METRICS):
        return None
    cost = subject.report.cost(metric)
    if cost.upper is None:
        return "unknown"
    # The last bound by cache is the general one, and the last case of the sizes comes first.
    general = list_bounds_by_cache(cost)[-1:]
    shown = replace(cost, upper=general[0].value) if general else cost
    return format_cost(subject.report.costs, shown) + (f" when {general[0].where.when}" if general else "")


def _format_added_facts(first: AlgorithmUnderFacts, second: AlgorithmUnderFacts) -> str:
    """Return, as text, the facts of the second algorithm that exclude sizes which the first algorithm allows."""
    facts, signature = second.node.where, first.signature
    sizes = Sizes.of((*signature.size_names, *signature.indices), signature.indices, first.node.where)
    points = list(replace(sizes, constants=find_constants(*facts)).points())
    return ", ".join(format_fact(fact) for fact in facts if any(evaluate_fact(fact, at) is False for at in points))


@record(eq=False)
class _MetricVersions:
    """Compares the costs of two versions in one metric; values at single sizes may show any of the `verdicts`.

    The costs are compared under the facts `alike` about iterations of both.
    """

    old: AlgorithmSubject
    new: AlgorithmSubject
    metric: str
    tolerance: Fraction
    at: Sequence[Point]
    verdicts: Sequence[str] = VALUE_VERDICTS
    alike: tuple[s.Fact, ...] = ()

    def find_changes(self, plain: CostChange) -> list[CostChange]:
        """Find the changes of the cost; if time ran out, those without a proof have a remark.

        A cost that depends on iterations which only one version has is not decided without a proof for all sizes.
        """
        counted, unmatched = self._iterations
        changes, remark = self.find_changes_by_region(plain), OUT_OF_TIME if Clock.late else None
        if unmatched and not all(change.verdict in PROVED_VERDICTS or change.extent in PROVED for change in changes):
            growth = next((change.growth for change in changes if change.growth["new"] is not None), plain.growth)
            changes = [
                replace(plain, verdict=r.NOT_DECIDED, growth=growth, reason=self._compare_iteration_by_iteration())
            ]
            with suppress(*NO_VALUE):
                sizes = self._whole_costs[-1]
                changes = [self._with_asked_values(change, self._list_asked_points(sizes)) for change in changes]
        elif unmatched:
            # Their growth may be compared only if the iterations may.
            changes = [replace(change, order=None) for change in changes]
        changes = [
            change if change.extent in PROVED else replace(change, reason=change.reason or remark) for change in changes
        ]
        return [replace(change, counted=counted) for change in changes]

    def _compare_iteration_by_iteration(self) -> str | None:
        """Describe how the cost changed if the one loop that differs has as many iterations; None if not proved."""
        counted, unmatched = self._iterations
        olds = [item.name for item in list_iterations(*self.old.algorithm.executed) if item.name in unmatched]
        news = [name for name in counted if name in unmatched and name not in olds]
        if len(olds) != 1 or len(news) != 1:
            return None
        alike = replace(self, alike=(b.binary("==", b.name(news[0]), b.name(olds[0])),))
        changes = alike.find_changes_by_region(CostChange(self.metric, r.EQUAL))
        verdict = r.merge_verdicts({change.verdict for change in changes})
        extents = {change.extent for change in changes}
        if verdict in (r.EQUAL, r.OTHER_FORM):
            return "with as many iterations as before it is the same"
        if len(extents) == 1 and extents <= {*PROVED} and verdict in COST_VERDICTS:
            return f"with as many iterations as before it {verdict} {extents.pop()}"
        return None

    @property
    def _iterations(self) -> tuple[tuple[str, ...], frozenset[str]]:
        """The iterations that the costs of the versions contain, and the subset whose loop only one version has."""
        sides = [{item.name for item in list_iterations(*side.algorithm.executed)} for side in (self.old, self.new)]
        costs = [side.report.cost(self.metric) for side in (self.old, self.new)]
        bounds = [
            bound for cost in costs for bound in (cost.lower, cost.upper, *(case.value for case in cost.by_cache))
        ]
        held = frozenset(name for bound in bounds if bound is not None for name in bound.names)
        return tuple(sorted(held & (sides[0] | sides[1]))), held & (sides[0] ^ sides[1])

    def find_changes_by_region(self, plain: CostChange) -> list[CostChange]:
        """Find the changes of the cost, region by region; only `plain` if nothing changed."""
        old, new = (subject.report.cost(self.metric) for subject in (self.old, self.new))
        if old.upper is None and new.upper is None:
            return [replace(plain, verdict=r.UNKNOWN)]
        if old.upper is None:
            changes = [replace(plain, verdict=r.BECAME_KNOWN)]
        elif new.upper is None:
            changes = [replace(plain, verdict=r.BECAME_UNKNOWN)]
        else:
            bounds = list_bounds_by_cache(old, new) if self.metric not in FURTHER_METRICS else []
            conditions = {bound.where.when: bound.where for bound in bounds}
            last = next(reversed(conditions), "")
            changes = [*self._iterate_explained_changes(plain, self._decide_moves_of_whole_cost(), *self._whole_costs)]
            changes += (
                x
                for when, region in conditions.items()
                for x in self._iterate_changes_in_region(plain, region, when == last)
            )
        changed = [change for change in changes if change.verdict not in UNMOVED_VERDICTS]
        changed = changed or list(self._iterate_value_changes(plain))
        if not changed:
            return [next((change for change in changes if change.verdict != r.EQUAL), plain)]
        # Written bounds need not show all of the derived growth.
        is_growth_known = old.exact or not isinstance(self.old, RecordedSubject)
        reports = self.old.report.including(self.metric), self.new.report.including(self.metric)
        growths = (reports[0].growths(old) if is_growth_known else ()), reports[1].growths(new)
        growth = dict(zip(("old", "new"), map(format_growths, growths), strict=True))
        order = _compare_growths(*growths, (*self.old.where, *self.new.where))
        return [replace(change, growth=growth, order=order) for change in changed]

    def _iterate_changes_in_region(self, plain: CostChange, region: Region, last: bool) -> Iterator[CostChange]:
        """Yield the changes in a region, where a condition on the cache holds.

        All bounds that hold in the region are compared. If only the older version has a bound under this condition,
        only rises are reported; if only the newer one has, only falls. All regions have the same lower bound, which is
        compared in the last region.
        """
        old, new, sizes = self._build_sized_costs(region.facts)
        (olds, of_old), (news, of_new) = (
            _list_costs_under_condition(amount, region.when, sizes) for amount in (old, new)
        )
        falls = of_new and not _is_any_at_most(olds[of_old:], news[0], sizes)
        rises = of_old and not _is_any_at_most(news[of_new:], olds[0], sizes)
        if not rises and not falls:
            return
        before, after = (
            format_cost(subject.report.costs, bounds[0].cost)
            for subject, bounds in ((self.old, olds), (self.new, news))
        )
        shown = replace(plain, old=before, new=after, when=region.when)
        lower = last and of_old and of_new
        for change in self._iterate_explained_changes(
            shown, _decide_moves(olds[0], news[0], sizes, lower), olds[0], news[0], sizes, lower
        ):
            if (rises or change.verdict not in r.RISES) and (falls or change.verdict not in r.FALLS):
                yield change

    def _decide_moves_of_whole_cost(self) -> list[Move]:
        """Find whether a cost grew or shrank, by values at realistic sizes, and by proofs if no bound is by cache."""
        old, new, sizes = self._whole_costs
        proved = [] if old.cost.by_cache or new.cost.by_cache else _decide_moves(old, new, sizes)
        moves = {move[0]: move for move in proved if move[0] in COST_VERDICTS}
        for point in self._realistic_points:
            left = [x for x in COST_VERDICTS if x not in moves and self._can_show(x, point)]
            if left and (values := self._evaluate_costs(point)):
                shown = [x for x in left if _is_shown_by_values(x, *values, Fraction(1), False)]
                moves |= {verdict: (verdict, r.AT_SHOWN_SIZES, point) for verdict in shown if self._has_runs(point)}
            if len(moves) == len(COST_VERDICTS):
                break
        return [*moves.values()] or proved

    @cached_property
    def _realistic_points(self) -> LazyList[Point]:
        """The points of interest, then points of `--at` and realistic ones, each in caches of few to many lines."""
        *_, sizes = self._whole_costs
        if "Z" not in sizes.names:
            return LazyList(iter(()))
        bounds = {name: sizes.scope.facts.bounds[name] for name in sizes.names}
        arrays = s.find_names(self.new.algorithm.signature.parameters)

        def iterate_caches(given: Point, size: int, line: int) -> Iterator[Point]:
            line = given.get("L", line)
            for power in range(1, CACHE_DOUBLINGS + 1):
                usual = {"L": line, "Z": line << power}
                values = {x: given.get(x, usual.get(x, size if x in arrays else BLOCK_SIZE)) for x in sizes.names}
                yield {name: bounds[name].clamp_value(value) for name, value in values.items()}

        grids = [*((at, USUAL_SIZE, USUAL_CACHE["L"]) for at in self.at), *(({}, *grid) for grid in REALISTIC_EXTENTS)]
        points = chain(*map(self._iterate_caches, sizes.interest), *starmap(iterate_caches, grids))
        return LazyList(filter(sizes.is_allowed, points))

    def _iterate_value_changes(self, plain: CostChange) -> Iterator[CostChange]:
        """Yield the change that values at points of interest show; they may differ even if the forms are equal."""
        *whole, sizes = self._whole_costs
        if not all(amount.cost.interval_at and amount.cost.status == "bounded" for amount in whole):
            return
        for verdict in self.verdicts:
            factor = 1 + self.tolerance if verdict in r.RISES else Fraction(1)
            shown = replace(plain, verdict=verdict, extent=r.AT_SHOWN_SIZES)
            change = self._with_values(shown, sizes, None, factor, lower=True, wide=False)
            if change.values is not None:
                yield change
                return

    def _iterate_explained_changes(
        self, shown: CostChange, moves: Sequence[Move], old: SizedCost, new: SizedCost, sizes: Sizes, lower: bool = True
    ) -> Iterator[CostChange]:
        """Yield a change for each move of two costs, with values that show it; with `lower`, lower bounds count too."""
        for verdict, extent, point in moves:
            change, factor = replace(shown, verdict=verdict, extent=extent), Fraction(1)
            if self.tolerance and verdict in r.RISES:
                within = self._decide_tolerance(verdict, old, new, sizes)
                if within.outcome == "holds":
                    change = replace(change, tolerance=format_percent(self.tolerance))
                else:
                    fails = within.outcome == "fails" and within.point is not None
                    beyond = "exceeds the tolerance of" if fails else "not proved to be within"
                    change = replace(change, reason=f"{beyond} {format_percent(self.tolerance)}")
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
        """Add the values of both costs, by their sharpest bounds, at a point where they show the change.

        A rise must be by the factor `least`. Requested points are tried first; if they do not show the change, their
        values are added separately. With `lower`, lower bounds may show the change. If only a bound moved, and the cost
        at no point that was tried, the reason says so. Without `wide` only the points of interest are tried.
        """
        asked = self._list_asked_points(sizes)
        usual, last = [*asked, *(trial for trial in sizes.interest if trial not in asked)], [point] if point else []
        if wide:
            usual, last = ([*chain.from_iterable(map(self._iterate_caches, trials))] for trials in (usual, last))
        # Forms must show that a bound moved, too; they are tried first, as they are evaluated faster.
        of_bound, verdict = wide and change.verdict in (r.ROSE, r.FELL), change.verdict
        more = (
            chain.from_iterable(map(self._iterate_caches, islice(sizes.points(), MAX_TRIED_SIZES))) if of_bound else ()
        )
        for share in dict.fromkeys((least, Fraction(1))) if wide else (least,):
            trials = chain(
                usual, self._realistic_points, last, more, self._iterate_points_by_remainder() if of_bound else ()
            )
            for trial in filter(sizes.is_allowed, trials):
                forms = self._evaluate_costs(trial, by_forms=True) if of_bound else None
                is_possible = (
                    forms and _is_shown_by_values(verdict, *forms, share, lower)
                    if of_bound
                    else self._can_show(verdict, trial)
                )
                values = self._evaluate_costs(trial) if is_possible else None
                if values is not None and _is_shown_by_values(verdict, *values, share, lower) and self._has_runs(trial):
                    change = replace(change, at=_format_sizes(trial), values=_format_old_and_new(*values))
                    whole = dict(zip((r.ROSE, r.FELL), COST_VERDICTS, strict=True)).get(verdict)
                    if whole and change.tolerance is None and _is_shown_by_values(whole, *values, least, False):
                        change = replace(change, verdict=whole, extent=r.AT_SHOWN_SIZES)
                    break
            if change.values is not None:
                break
        else:
            if of_bound and all(side.cost.exact for side in self._whole_costs[:2]):
                change = replace(change, reason=EXACT_NOT_SHOWN)
            elif of_bound:
                change = replace(change, verdict=r.OTHER_BOUNDS, reason=NOT_SHOWN_REASONS[change.verdict])
        return self._with_asked_values(change, asked) if wide else change

    def _list_asked_points(self, sizes: Sizes) -> list[Point]:
        """List the points of interest that `--at` asks for."""
        return [trial for trial in sizes.interest if any(at.items() <= trial.items() for at in self.at)]

    def _with_asked_values(self, change: CostChange, asked: Sequence[Point]) -> CostChange:
        """Add the values of both costs at the first point asked for that has some, if they are not shown yet."""
        first = next(
            (trial for trial in asked if self._evaluate_costs(trial) is not None and self._has_runs(trial)),
            None,
        )
        at = change.at or {}
        if first is not None and any(at.get(name) != text for name, text in _format_sizes(first).items()):
            values = self._evaluate_costs(first)
            assert values is not None
            change = replace(change, asked={"at": _format_sizes(first), **_format_old_and_new(*values)})
        return change

    def _iterate_points_by_remainder(self) -> Iterator[Point]:
        """Yield points above each number with which a form compares a size, one for each remainder by its divisors."""
        *sides, sizes = self._whole_costs
        forms = [form for side in sides for form in (side.cost.lower, side.cost.upper) if form is not None]
        atoms = {atom for form in forms for atom in form.atoms_within()}
        usual = {name: sizes.scope.facts.bounds[name].clamp_value(USUAL_SIZE) for name in sizes.names}
        for name in sizes.names:
            parts = [atom for atom in atoms if atom.names == {name}]
            floors = [atom.modulus for atom in parts if isinstance(atom, Floor) and atom.modulus.is_constant]
            period = min(MAX_REMAINDERS, lcm(*(int(modulus.constant_term) for modulus in floors)))
            maxima = (atom.argument.constant_term for atom in parts if isinstance(atom, PositivePart))
            for start in sorted({0, *(abs(int(number)) for number in maxima)}) if floors else ():
                yield from ({**usual, name: start + step} for step in range(1, period + 1))

    def _iterate_caches(self, point: Point) -> Iterator[Point]:
        """Yield a point, then the same sizes with the smallest caches at which bounds of the costs hold."""
        yield point
        if "Z" not in point or any("Z" in at for at in self.at):
            return
        needs = (need for side in self._whole_costs[:2] for bound in side.cost.by_cache for need in bound.where.needs)
        thresholds = set[int]()
        for need in needs:
            with suppress(*NO_VALUE):
                thresholds.add(point["Z"] - floor(evaluate(need, point)))
        yield from ({**point, "Z": words} for words in sorted(thresholds, reverse=True) if words >= point.get("L", 1))

    @cached_property
    def _whole_costs(self) -> tuple[SizedCost, SizedCost, Sizes]:
        """The costs of both versions without conditions on the cache, and their sizes."""
        return self._build_sized_costs(())

    def _evaluate_costs(self, point: Point, by_forms: bool = False) -> tuple[Interval, Interval] | None:
        """Evaluate both costs at a point, with `by_forms` only their closed forms; None if one has no value."""
        return self._evaluate_pair(tuple(point.items()), by_forms)

    @memoised
    def _evaluate_pair(self, point: tuple[tuple[str, int], ...], by_forms: bool) -> tuple[Interval, Interval] | None:
        with suppress(*NO_VALUE):
            old, new, _ = self._whole_costs
            sides = (old, by_forms or isinstance(self.old, RecordedSubject)), (new, by_forms)
            before, after = (
                _evaluate_forms(x, dict(point)) if forms else x.enclose_value(dict(point)) for x, forms in sides
            )
            return before, after
        return None

    def is_in_step(self, change: CostChange, whole: _MetricVersions) -> bool:
        """Test whether this cost changes relatively at most as much as the cost `whole`, at the point of `change`."""
        point = {name: int(value) for name, value in (change.at or {}).items()}
        values, wholes = self._evaluate_costs(point), whole._evaluate_costs(point)
        if values is None or wholes is None:
            return False
        (less, more), (before, after) = (pair[:: -1 if change.verdict in r.FALLS else 1] for pair in (values, wholes))
        return more.lower * before.lower <= less.upper * after.upper

    def _can_show(self, verdict: str, point: Point) -> bool:
        """Test whether values at a point can show that the cost grew or shrank: False if its minimum did not.

        The minimum is computed faster than the values.
        """
        least = self._evaluate_minima(tuple(point.items())) if verdict in COST_VERDICTS else None
        return least is None or (least[0] < least[1] if verdict == r.GREW else least[0] > least[1])

    @memoised
    def _evaluate_minima(self, point: tuple[tuple[str, int], ...]) -> tuple[Fraction, ...] | None:
        """Evaluate the minima of both costs at a point; None if one cannot be computed separately."""
        sides = [(side.cost.least_at, side) for side in self._whole_costs[:2] if not side.cost.at_least]
        with suppress(*NO_VALUE):
            values = tuple(least(side.evaluate_sizes(dict(point))) for least, side in sides if least is not None)
            return values if len(values) == 2 else None
        return None

    def _has_runs(self, point: Point) -> bool:
        return all(side.has_runs(side.evaluate_sizes(point)) for side in self._whole_costs[:2])

    def _build_sized_costs(self, more: Sequence[s.Fact]) -> tuple[SizedCost, SizedCost, Sizes]:
        """Return both costs, and the sizes that both allow under further facts, as for a claim that compares them."""
        sides = [f"{self.metric}({subject.name})" for subject in (self.old, self.new)]
        left, right = (b.call(self.metric, b.name(subject.name)) for subject in (self.new, self.old))
        claim = s.Claim(None, left, "<=", right, (), None, (), span=b.DERIVED)
        both: dict[tuple[str, ...], AlgorithmSubject] = {(subject.name,): subject for subject in (self.old, self.new)}
        about = ClaimOfCosts(
            claim, ClaimedAlgorithms(self.new.algorithm.module, both), (*self.alike, *more), joint=True
        )
        for side in (claim.left, claim.right):
            about.build_formula(side)
        sizes = about.build_sizes()
        return (
            about.amounts[sides[0]],
            about.amounts[sides[1]],
            replace(sizes, interest=tuple(self._iterate_sizes_of_interest(sizes))),
        )

    def _iterate_sizes_of_interest(self, sizes: Sizes) -> Iterator[Point]:
        """Yield the requested points, then the usual one, each with the usual cache or the next larger allowed one."""
        bounds = {name: sizes.scope.facts.bounds[name] for name in sizes.names}
        usual = {name: within.clamp_value(USUAL_CACHE.get(name, USUAL_SIZE)) for name, within in bounds.items()}
        for requested in (*(at for at in self.at if bounds.keys() <= at.keys() | USUAL_CACHE.keys()), {}):
            point = {name: requested.get(name, value) for name, value in usual.items()}
            larger = range(MAX_LARGER_CACHES) if "Z" in usual.keys() - requested.keys() else ()
            caches = (point, *({**point, "Z": point["Z"] << power} for power in larger))
            yield from islice(filter(sizes.is_allowed, caches), 1)

    def _decide_tolerance(self, verdict: str, old: SizedCost, new: SizedCost, sizes: Sizes) -> OrderVerdict:
        """Decide whether a cost that grew is within the tolerance of its old lower bound; a bound, of the old bound."""
        before = old.cost.lower if verdict == r.GREW else old.cost.upper
        assert before is not None
        return decide_cost_order(new, _make_exact_cost(old, before.scaled(1 + self.tolerance)), sizes)


def _compare_growths(olds: Sequence[Growth], news: Sequence[Growth], facts: Sequence[s.Fact]) -> str | None:
    """Return the verdict on two growths: a change if it is proved, else equal; None if a version has no growth."""
    moves = set[str]()
    for old, new in () if format_growths(olds) == format_growths(news) else product(olds, news):
        both_facts = tuple(dict.fromkeys((*facts, *old.facts, *old.where, *new.facts, *new.where)))
        before, after = Growth(old.upper, old.upper), Growth(new.upper, new.upper)
        for move, side, one, two in (
            (r.GREW, "O", new, old),
            (r.SHRANK, "Omega", new, old),
            (r.ROSE, "O", after, before),
        ):
            moves |= {move} if decide_side(side, one, two, both_facts).outcome == "fails" else set()
    return r.merge_verdicts(moves or {r.EQUAL}) if olds and news else None


def _is_shown_by_values(verdict: str, before: Interval, after: Interval, least: Fraction, lower: bool) -> bool:
    """Test whether values show a change; a rise must be to more than `least` times the cost or its bound.

    With `lower`, a rise of the lower bound counts if the upper bounds are equal.
    """
    if verdict in r.FALLS:
        before, after, verdict = after, before, r.RISES[r.FALLS.index(verdict)]
    if verdict == r.ROSE:
        return after.upper > least * before.upper or (
            lower and after.upper == before.upper and after.lower > before.lower
        )
    return verdict != r.GREW or after.lower > max(before.upper, least * before.lower)


def _decide_moves(old: SizedCost, new: SizedCost, sizes: Sizes, lower: bool = True) -> list[Move]:
    """Find how a cost moved: up, down, or both, by proofs and values; if neither is known, how its bounds moved.

    Lower bounds are compared only with `lower`.
    """
    is_same = old.cost.lower == new.cost.lower and old.cost.upper == new.cost.upper
    if is_same and (old.cost.exact or not old.cost.interval_at):
        return [UNCHANGED]
    rises, falls = decide_cost_order(new, old, sizes, "<="), decide_cost_order(new, old, sizes, ">=")
    if rises.outcome == falls.outcome == "holds":
        return [(r.OTHER_FORM, None, None)]
    moves: list[Move] = []
    for verdict, shown, contrary, strict in ((r.GREW, rises, falls, ">"), (r.SHRANK, falls, rises, "<")):
        if shown.outcome == "fails":
            extent = r.SOMEWHERE if contrary.outcome == "holds" else r.AT_SHOWN_SIZES
            if extent == r.SOMEWHERE and decide_cost_order(new, old, sizes, strict).outcome == "holds":
                extent = r.EVERYWHERE
            moves.append((verdict, extent, shown.point))
    return moves or ([UNCHANGED] if is_same else _decide_moves_of_bounds(old, new, sizes, lower))


def _decide_moves_of_bounds(old: SizedCost, new: SizedCost, sizes: Sizes, lower: bool) -> list[Move]:
    """Find how the upper bound of a cost moved, or else the lower one; for exact costs, report that the bound rose."""
    if old.cost.exact and new.cost.exact:
        return [(r.ROSE, None, None)]
    ends = [(old.cost.upper, new.cost.upper), *([(old.cost.lower, new.cost.lower)] if lower else [])]
    for before, after in ends:
        assert before is not None
        assert after is not None
        moves = _decide_moves(_make_exact_cost(old, before), _make_exact_cost(new, after), sizes)
        if moves[0][0] not in (r.EQUAL, r.OTHER_FORM):
            return [(BOUND_VERDICTS[verdict], None, point) for verdict, _, point in moves]
    return [(r.OTHER_FORM, None, None)]


def _make_exact_cost(amount: SizedCost, bound: Poly) -> SizedCost:
    return replace(amount, cost=Cost(amount.cost.metric, "exact", bound, bound))


def _list_costs_under_condition(amount: SizedCost, when: str, sizes: Sizes) -> tuple[list[SizedCost], bool]:
    """List a cost for each upper bound that holds under the condition `when`, and whether one has exactly `when`.

    That bound comes first; bounds of larger caches whose conditions are implied follow.
    """
    cost, facts = amount.cost, sizes.scope.facts
    bounds = list_bounds_by_cache(cost)
    at = next((at for at, bound in enumerate(bounds) if bound.where.when == when), None)
    larger = [
        x for x in bounds[:at] if all(prove_never_negative(facts.simplify(need), facts) for need in x.where.needs)
    ]
    holding = [*([] if at is None else bounds[at : at + 1]), *larger]
    uppers = [bound.value for bound in holding] or [upper for upper in (cost.upper,) if upper is not None]
    costs = (Cost(cost.metric, "exact" if cost.lower == upper else "bounded", cost.lower, upper) for upper in uppers)
    return [replace(amount, cost=cost_in_regime) for cost_in_regime in costs], at is not None


def _is_any_at_most(bounds: Sequence[SizedCost], limit: SizedCost, sizes: Sizes) -> bool:
    """Test whether any of the costs `bounds` has an upper bound that is at most that of `limit`."""
    ends = ((bound.cost.upper, limit.cost.upper) for bound in bounds)
    return any(
        decide_cost_order(_make_exact_cost(limit, upper), _make_exact_cost(limit, maximum), sizes).outcome == "holds"
        for upper, maximum in ends
        if upper is not None and maximum is not None
    )


def _evaluate_forms(amount: SizedCost, point: Point) -> Interval:
    """Enclose a cost by its closed forms, without bounds evaluated at the point. Raises EvaluationError."""
    forms = replace(amount.cost, interval_at=None, at_most=(), at_least=())
    return enclose_count(forms, amount.evaluate_sizes(point))


def _format_sizes(point: Point) -> dict[str, str]:
    return {name: str(value) for name, value in point.items()}


def _format_old_and_new(old: Interval, new: Interval) -> dict[str, str]:
    sides = (" to ".join(dict.fromkeys(map(str, (value.lower, value.upper)))) for value in (old, new))
    return dict(zip(("old", "new"), sides, strict=True))
