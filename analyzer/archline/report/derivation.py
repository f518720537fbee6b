"""Print the steps of a derivation as a textbook does: each statement, its rule, and its cost when it is reached."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from archline.algebra.atoms import AppliedFunction
from archline.algebra.polynomial import Poly
from archline.analysis.bounds import EVERYWHERE, OTHERWISE, Region, Residency
from archline.analysis.cost import FEW_LINES, AnyScheduleBound, ReachedRegion, TouchedRegion
from archline.analysis.metrics.tally import DerivationStep
from archline.claims.optimality import OptimalityResult
from archline.cost_growth.any_schedule import build_hbl_growth
from archline.expr import build as b
from archline.expr.text import Formula, format_expression, join_phrases, join_with_mark
from archline.growth.growths import make_order_formula
from archline.ir.amounts import Amount, UnknownAmount, map_bounds
from archline.language.metrics import CALL, ITERATION, METRICS, OF_CACHE, Composition, Event
from archline.numbers import format_ratio, format_readable
from archline.records import replace
from archline.report.cost_view import CostRow, CostView
from archline.report.layout import Columns, Indented, Part, render_block, wrap

if TYPE_CHECKING:
    from archline.analysis.cache.parallel import SchedulerBound
    from archline.claims.published import PublishedComparison
    from archline.recurrences.model import InductionCase, ProvedClaim, Recurrence, RecurrenceCase, ValueRange


def render_derivation(view: CostView, metric: str, width: int) -> str:
    """Return the derivation of one metric (flops, work, span or io)."""
    row = next(row for row in view.rows if row.metric == metric)
    of_cache = metric in OF_CACHE and row.lower is not None
    recurrence = None if of_cache or row.explain is None else row.explain()
    if of_cache:
        parts = explain_io(view, row)
    elif recurrence is not None:
        parts = explain_recursion(view, row, recurrence)
    elif not view.derivation and row.lower is None:
        parts = iter([f"the {metric} of {view.algorithm} is unknown: {row.why}"])
    else:
        parts = _explain_statements(view, row, width)
    return "\n".join(render_block(parts, width)) + "\n"


def _explain_statements(view: CostView, row: CostRow, width: int) -> Iterator[Part]:
    metric = row.metric
    yield [f"derivation of the {metric} of {view.algorithm}: the cost of one execution of each statement", ""]
    yield [line for item in iterate_steps(view.derivation) for line in _iterate_step_lines(view, item, metric, width)]
    call = "; 1 is the call itself" if _is_counted(metric, CALL) else ""
    yield ""
    if not row.by_case:
        yield f"together: {metric} {_format_bounds(view, row.lower, row.upper, row.why)}{call}"
        return
    yield f"together{call}:"
    for where, lower, upper in row.cases:
        amount = _format_bounds(replace(view, text=view.restrict_to(where).text), lower, upper, None)
        yield _indent_twice(f"{where.head}{metric} {amount}")


Counters = tuple[tuple[str, Poly], ...]
"""The values of the variables of the loops around a step, innermost first."""


def iterate_steps(
    steps: Iterable[DerivationStep], depth: int = 0, counters: Counters = ()
) -> Iterator[tuple[DerivationStep, int, Counters]]:
    """Yield steps and those inside them, each with its depth and the counters of the loops around it."""
    for step in steps:
        around = counters if step.counter is None else (step.counter, *counters)
        yield step, depth, around
        yield from iterate_steps(step.children, depth + 1, around)


def compute_step_amount(step: DerivationStep, metric: str, counters: Counters) -> Amount:
    """Return the cost of one execution of a step in the variables of the loops around it."""
    # The line of a step of operators alone shows its cost; the cost still gives their number.
    return map_bounds(step.tally.total_amount(metric), lambda value: _substitute_counters(value, counters))


def _iterate_step_lines(
    view: CostView, item: tuple[DerivationStep, int, Counters], metric: str, width: int
) -> Iterator[str]:
    """Yield the lines of a step."""
    step, depth, counters = item
    source = step.span.source.written_lines[step.span.line - 1].strip()
    indent = " " * (4 * depth)
    yield f"{step.span.line:>5} | {indent}{source}"
    amount = compute_step_amount(step, metric, counters)
    cost = (
        _format_bounds(view, None, None, amount.reason)
        if isinstance(amount, UnknownAmount)
        else _format_bounds(view, amount.lower, amount.upper, None)
    )
    of_path = METRICS[metric].composition is Composition.MAX_PLUS
    rule = step.span_rule if of_path and step.span_rule is not None else step.rule
    if not _is_counted(metric, ITERATION):
        rule = rule.replace("(1 + body)", "body").replace("1 + body", "body")
    margin = "      | " + indent + "    "
    for line in wrap(f"{metric} {cost}  ({rule})", max(30, width - len(margin))):
        yield margin + line


def _is_counted(metric: str, event: Event) -> bool:
    counts = METRICS[metric].counts
    return counts is not None and counts(event)


def _substitute_counters(value: Poly, counters: Counters) -> Poly:
    for name, number in counters:
        value = value.substitute({name: number})
    return value


def _format_bounds(view: CostView, lower: Poly | None, upper: Poly | None, reason: str | None) -> str:
    if lower is None or upper is None:
        return f"is unknown: {reason}"
    if lower == upper:
        return f"= {view.text(lower)}"
    return f">= {view.text(lower)} and <= {view.text(upper)}"


MAX_EQUAL_RATIO = 1.05
"""Leading terms with a ratio below this count as equal."""
COMPULSORY_LABELS = {
    "io": "the compulsory misses",
    "writebacks": "each line that is written, once",
    "bytes": "each line once, and twice if it is written",
}
"""What the lower bound of a metric of the cache counts, in words."""
CERTAIN_LABEL = "compulsory misses of accesses made in every run"


def label_compulsory_misses(row: CostRow, lower: Poly) -> str:
    """Name the misses that a lower bound counts: compulsory ones if it is an upper bound, else those of all runs."""
    uppers = (row.upper, *(bound.value for bound in row.by_cache), *(piece.upper for piece in row.by_case))
    return COMPULSORY_LABELS[row.metric] if row.metric != "io" or lower in uppers else CERTAIN_LABEL


def explain_io(view: CostView, row: CostRow) -> Iterator[Part]:
    """Yield each upper bound with the resident lines and the fetched lines, then the lower bounds."""
    yield f"derivation of the {row.metric} of {view.algorithm}: which references stay resident in cache"
    if not row.by_cache:
        yield from _explain_every_access(view, row)
    for bound in row.by_cache:
        yield ""
        yield f"{bound.where.head}{row.metric} <= {view.text(bound.value)}"
        for residency in bound.residencies:
            yield _indent_twice(_describe_residency(view, residency))
    for region in () if row.reached is None else row.reached():
        yield ""
        yield from _explain_reached_region(view, region)
    assert row.lower is not None
    yield ""
    yield f"{row.metric} >= {view.text(row.lower)}, {label_compulsory_misses(row, row.lower)}"
    for part in row.touched:
        yield _indent_twice(_describe_touched_region(view, part))
    if row.touched:
        fetched = "its footprint less Z/L lines, or the sum of what its calls and the loops between them fetch"
        yield f"at sizes: a call fetches at least {fetched}"
    if row.any_schedule_bound is not None:
        yield from _explain_schedule_bound(view, row.any_schedule_bound)
    for bound in row.by_loop:
        yield f"{row.metric} >= {view.text(bound.value)}, by {bound.by}: each fetches its footprint less Z/L lines"
    if row.published is not None:
        yield ""
        yield from _compare_published_bounds(row.published)


def _explain_reached_region(view: CostView, region: ReachedRegion) -> Iterator[Part]:
    """Yield the boxes of arrays that a call by indices may access, and the upper bound on its io."""
    for array, box in region.parts:
        ends = ", ".join(f"{view.text(low)}..{view.text(high + 1)}" for low, high in box)
        yield f"a call of `{region.algorithm}` accesses at most {array}[{ends}], and fetches that once where it fits"
    if region.most is not None:
        where = f"where Z >= {FEW_LINES}*L"
        yield f"{where}: its io <= {view.text(region.most)}, that of its own calls included"


def _explain_schedule_bound(view: CostView, bound: AnyScheduleBound) -> Iterator[Part]:
    """Yield the lower bounds for any order of the same iterations."""
    for floor_term in bound.hbl_terms:
        count = view.text(floor_term.iterations)
        growth = format_expression(build_hbl_growth(view.tree(floor_term.iterations), floor_term.power))
        yield f"io is Omega({growth}) under any schedule: {count} iterations and the data they access (HBL bound)"
    if not bound.hbl_terms and bound.reason:
        yield f"no lower bound for every schedule: {bound.reason}"


_GROWTH_RELATIONS = {
    "the same": "of the same growth as ours",
    "larger": "larger in growth than ours",
    "smaller": "smaller in growth than ours",
    "unknown": "it is not known whether the growth is the same",
}


def _compare_published_bounds(published: PublishedComparison) -> Iterator[Part]:
    """Yield the bounds of the literature, compared with the derived bound."""
    yield f"published for PolyBench's {published.kernel}, in leading order, lines of one word (L = 1):"
    for bound in published.bounds:
        compared = _GROWTH_RELATIONS[bound.relation]
        if bound.times is not None:
            compared += f", its leading term is {format_ratio(bound.times)} times ours"
        yield _indent_twice(f"io >= {bound.text} ({bound.by}): {compared}")
    if any(bound.times is not None and bound.times > MAX_EQUAL_RATIO for bound in published.bounds):
        yield "our bound uses, for each array, the footprint of one access at a time, not of their union"
    if published.because is not None:
        yield published.because
    for source in dict.fromkeys(f"{bound.by}: {bound.source}" for bound in published.bounds):
        yield _indent_twice(source)


def iterate_optimality_rows(optimality: OptimalityResult) -> Iterator[tuple[str, str]]:
    """Yield the distance of io to the lower bound over all schedules of the same iterations, one line per regime."""
    name = "optimality"
    if optimality.hbl_terms:
        yield name, join_phrases(format_any_schedule_bound(optimality), " for any schedule, and the compulsory misses")
        name = ""
    # The bound of a larger cache may be decided where that of all caches is not.
    for regime in sorted(optimality.regimes, key=lambda regime: regime.factor is None):
        where = join_with_mark(filter(None, (*optimality.under, regime.when)), " and ")
        if regime.factor is not None:
            yield name, join_phrases(regime.text, " where ", where) if where else regime.text
        else:
            yield name, regime.text if name else f"elsewhere {regime.text}"
        name = ""


def format_any_schedule_bound(optimality: OptimalityResult) -> Formula:
    """Return the lower bound on io under any schedule as `Omega(...)`, without the compulsory misses."""
    return make_order_formula("Omega", b.sum_terms((False, term.expr) for term in optimality.hbl_terms))


def iterate_gap_sentences(row: CostRow) -> Iterator[str]:
    """Yield, at sizes, the ratio of the upper bound to the lower one, and to the lower bound for any schedule."""
    if row.values is None or not row.any_order or not row.values.lower:
        return
    upper, lower = Fraction(row.values.upper), Fraction(row.values.lower)
    sentence = f"{row.metric}: the upper bound is {format_ratio(upper / lower)} times the lower one"
    least = Fraction(row.any_order)
    if least != lower:
        any_schedule = f"{format_readable(row.any_order)}, the lower bound for any schedule"
        sentence += f", and {format_ratio(upper / least)} times {any_schedule}"
    yield sentence


def _describe_touched_region(view: CostView, region: TouchedRegion) -> str:
    """Describe a region that each call touches in full."""
    ends = ", ".join(f"{view.text(low)}..{view.text(high + 1)}" for low, high in region.box)
    side = {"lower": " on its diagonal and below it", "upper": " on its diagonal and above it"}
    part = side.get(region.half, "")
    large = view.list_minimum_extents(region)
    where = f" where {' and '.join(large)}" if large else ""
    return f"each call touches all of {region.array}[{ends}]{part}{where}"


def _explain_every_access(view: CostView, row: CostRow) -> Iterator[Part]:
    """Yield the bound that counts every access as a miss."""
    why = "" if row.why is None else f", as accesses cannot be followed: {row.why} ({row.place})"
    yield ""
    yield f"every access is counted as a miss{why}"
    for piece in row.pieces:
        yield f"{piece.where.head}io <= {view.restrict_to(piece.where).text(piece.upper)}"
    less = (
        "at sizes, Z and L: at most the lines of calls whose arrays fit, and those that the other calls' bodies access"
    )
    yield f"{less}, counted once where a loop walks along them"


def _describe_residency(view: CostView, residency: Residency) -> str:
    where = (
        f"line {residency.places[0]}"
        if len(residency.places) == 1
        else f"lines {', '.join(map(str, residency.places))}"
    )
    fetched = f"{view.text(residency.fetched)} fetched"
    if not residency.held:
        return f"{residency.array} ({where}): fetched at every access, {fetched}"
    through = "all through the run" if residency.loop is None else f"through the iterations of {residency.loop}"
    if residency.given_up:
        through += " but not within " + " and ".join(residency.given_up)
    lines = (
        "1 line"
        if residency.held.is_constant and residency.held.constant_term == 1
        else f"{view.text(residency.held)} lines"
    )
    return f"{residency.array} ({where}): {lines} held {through}, {fetched}"


def _indent_twice(line: str) -> Indented:
    return Indented([Indented([line])])


def iterate_schedule_bounds(bounds: Sequence[SchedulerBound]) -> Iterator[str]:
    """Yield the bound on the io of several processors under each schedule, with its source."""
    for bound in bounds:
        yield join_phrases(f"{bound.name}: ", bound.bound, f" ({bound.source})")


MAX_WRITTEN_LENGTH = 60
_SOLUTION_NAMES = {"=": "the solution", ">=": "the lower bound", "<=": "the upper bound"}


def explain_recursion(view: CostView, row: CostRow, recurrence: Recurrence) -> Iterator[Part]:
    """Yield the derivation of one metric of a recursive algorithm."""
    return _RecurrenceWriter(view, row, recurrence).iterate_parts()


class _RecurrenceWriter:
    def __init__(self, view: CostView, row: CostRow, recurrence: Recurrence) -> None:
        self._view, self._row, self._recurrence = view, row, recurrence
        self._function = self._apply_function(recurrence.letter)

    def _apply_function(self, letter: str) -> str:
        """Apply the function with this letter to the algorithm's sizes."""
        sizes = tuple(Poly.symbol(name) for name in self._recurrence.parameters)
        return self._view.text(Poly.of_atom(AppliedFunction(letter, sizes)))

    def iterate_parts(self) -> Iterator[Part]:
        """Yield the whole derivation."""
        row, view = self._row, self._view
        yield f"derivation of the {row.metric} of {view.algorithm}: {self._function} stands for that of a call"
        for name, value in self._recurrence.meanings.items():
            yield f"{name} stands for {view.text(value)}"
        for letter, algorithm in self._recurrence.others.items():
            yield f"{letter} stands for that of a call of {algorithm}"
        yield from self._iterate_section_parts("recurrence, by the first case that holds", self._make_case_rows())
        yield from self._iterate_section_parts("solution", self._make_solution_rows())
        for claim in self._recurrence.claims:
            yield from self._explain_claim(claim)
        if row.growth is not None:
            yield ""
            yield f"{self._function} is {row.growth}"

    def _iterate_section_parts(self, title: str, rows: list[list[str]]) -> Iterator[Part]:
        yield ""
        yield title
        yield from self._make_table(rows)

    def _make_table(self, rows: list[list[str]]) -> Iterator[Part]:
        """Yield the rows in columns, without the first column if it is empty."""
        if not any(row[0] for row in rows):
            rows = [row[1:] for row in rows]
        yield Indented([Columns(rows)])

    def _format_condition(self, when: str) -> str:
        """Return the condition of a case; empty if there is only one."""
        return f"{when or OTHERWISE}:" if len(self._recurrence.cases) > 1 else ""

    # Recurrence and solution
    def _make_case_rows(self) -> list[list[str]]:
        rows: list[list[str]] = []
        for case in self._recurrence.cases:
            rows += self._make_bound_rows(self._format_condition(case.when), case.lower, case.upper)
            rows += [["", "", note] for note in self._iterate_case_notes(case)]
        return rows

    def _iterate_case_notes(self, case: RecurrenceCase) -> Iterator[str]:
        if not case.recursive:
            yield "(no calls)"
        if case.data:
            yield "with " + ", ".join(map(self._format_range, case.data)) + " from the data"

    def _make_solution_rows(self) -> list[list[str]]:
        row = self._row
        if row.lower is None or row.upper is None:
            return [["", "", row.why or "unknown"]]
        heads = [f"{piece.when}:" if piece.when else "" for piece in row.pieces]
        parts = zip(heads, row.pieces, strict=True)
        return [
            line for head, piece in parts for line in self._make_bound_rows(head, piece.lower, piece.upper, piece.where)
        ]

    def _make_bound_rows(self, head: str, lower: Poly, upper: Poly, region: Region = EVERYWHERE) -> list[list[str]]:
        text = self._view.restrict_to(region).text
        if lower == upper:
            return [[head, f"{self._function} =", text(lower)]]
        return [[head, f"{self._function} >=", text(lower)], ["", f"{self._function} <=", text(upper)]]

    # Proofs
    def _explain_claim(self, claim: ProvedClaim) -> Iterator[Part]:
        goal = self._apply_function(claim.letter)
        where = f"where {claim.where}, " if claim.where else ""
        value = "" if self._is_shown(claim) else f", {self._view.text(claim.value)},"
        head = f"{where}{_SOLUTION_NAMES[claim.relation]}{value}"
        yield ""
        if not claim.lines:
            yield f"{head} is known, as {claim.reason}"
            return
        yield f"{head} holds by induction: assuming {goal} for its calls, every case satisfies it"
        yield from self._make_table(
            [[self._format_condition(line.when), self._format_induction_case(line, goal)] for line in claim.lines]
        )

    def _is_shown(self, claim: ProvedClaim) -> bool:
        """Test whether the shown solution has the value of the claim."""
        pieces = [piece for piece in self._row.pieces if piece.when == claim.where] or self._row.pieces[-1:]
        return claim.value == (pieces[0].upper if claim.relation == "<=" else pieces[0].lower)

    def _format_induction_case(self, line: InductionCase, goal: str) -> str:
        parts = [self._view.text(line.calls), f"{line.relation} {goal}"]
        if line.written is not None and len(written := self._view.text(line.written)) <= MAX_WRITTEN_LENGTH:
            parts.insert(1, f"= {written}")
        ranges = [", ".join(map(self._format_range, size_ranges)) for size_ranges in line.sizes]
        return " ".join([*parts, *([f"for {' or '.join(dict.fromkeys(ranges))}"] if ranges else [])])

    def _format_range(self, bounds: ValueRange) -> str:
        name: str = self._view.text(bounds.value)
        name = name[1:-1] if name.startswith("(") else name
        low, high = self._format_range_end("max", bounds.lower), self._format_range_end("min", bounds.upper)
        if low == high and low:
            return f"{name} = {low}"
        if low and high:
            return f"{low} <= {name} <= {high}"
        return f"{name} >= {low}" if low else f"{name} <= {high}" if high else name

    def _format_range_end(self, tightest: str, ends: tuple[Poly, ...]) -> str:
        texts = [self._view.text(end) for end in ends]
        return texts[0] if len(texts) == 1 else f"{tightest}({', '.join(texts)})" if texts else ""
