"""Print the steps of a derivation as a textbook does: each statement, its rule, and its cost when it is reached."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

from archline.algebra.atoms import Applied
from archline.algebra.polynomial import Poly
from archline.analysis.bounds import EVERYWHERE, OTHERWISE, Region, Residency
from archline.analysis.cache.parallel import ScheduleBound
from archline.analysis.cost import FEW_LINES, AnyScheduleBound, ReachedRegion, TouchedRegion
from archline.analysis.metrics.tally import DerivationStep
from archline.claims.io_growth import per_line
from archline.claims.optimality import OptimalityResult
from archline.claims.published import Published
from archline.expr import build as b
from archline.expr.text import Formula, format_expression, join_phrases, join_with_mark
from archline.growth.growths import make_order_formula
from archline.ir.amounts import UnknownAmount, map_known
from archline.language.metrics import CALL, ITERATION, METRICS, OF_CACHE, Composition, Event
from archline.numbers import ratio, readable
from archline.records import replace
from archline.recurrences.model import Case, InductionCase, ProvedClaim, Range, Recurrence
from archline.report.cost_view import CostRow, CostView
from archline.report.layout import Columns, Indented, Part, block_lines, wrap


def text(view: CostView, metric: str, width: int) -> str:
    """The derivation of one metric (flops, work, span or io)."""
    row = next(row for row in view.rows if row.metric == metric)
    of_cache = metric in OF_CACHE and row.lower is not None
    recurrence = None if of_cache or row.explain is None else row.explain()
    if of_cache:
        parts = io_text(view, row)
    elif recurrence is not None:
        parts = recursion_text(view, row, recurrence)
    elif not view.derivation and row.lower is None:
        parts = iter([f"the {metric} of {view.algorithm} is unknown: {row.why}"])
    else:
        parts = _by_statements(view, row, width)
    return "\n".join(block_lines(parts, width)) + "\n"


def _by_statements(view: CostView, row: CostRow, width: int) -> Iterator[Part]:
    metric = row.metric
    yield [f"derivation of the {metric} of {view.algorithm}: the cost of one execution of each statement", ""]
    yield [line for step in view.derivation for line in _step(view, step, metric, 0, width, ())]
    call = "; 1 is the call itself" if _counted(metric, CALL) else ""
    yield ""
    if not row.by_case:
        yield f"together: {metric} {_amount(view, row.lower, row.upper, row.why)}{call}"
        return
    yield f"together{call}:"
    for where, lower, upper in row.cases:
        amount = _amount(replace(view, text=view.restrict_to(where).text), lower, upper, None)
        yield _below(f"{where.head}{metric} {amount}")


def _step(
    view: CostView, step: DerivationStep, metric: str, depth: int, width: int, counters: tuple[tuple[str, Poly], ...]
) -> Iterator[str]:
    """`counters`: what stands for the variables of the loops around, from the innermost out."""
    if step.counter is not None:
        counters = (step.counter, *counters)
    source = step.span.source.lines[step.span.line - 1].strip()
    indent = " " * (4 * depth)
    yield f"{step.span.line:>5} | {indent}{source}"
    # A step of operators alone costs what its line shows; the cost still says how many.
    amount = map_known(step.tally.whole(metric), lambda value: _in_source_terms(value, counters))
    cost = (
        _amount(view, None, None, amount.reason)
        if isinstance(amount, UnknownAmount)
        else _amount(view, amount.lower, amount.upper, None)
    )
    of_path = METRICS[metric].composition is Composition.MAX_PLUS
    rule = step.span_rule if of_path and step.span_rule is not None else step.rule
    if not _counted(metric, ITERATION):
        rule = rule.replace("(1 + body)", "body").replace("1 + body", "body")
    margin = "      | " + indent + "    "
    for line in wrap(f"{metric} {cost}  ({rule})", max(30, width - len(margin))):
        yield margin + line
    for child in step.children:
        yield from _step(view, child, metric, depth + 1, width, counters)


def _counted(metric: str, event: Event) -> bool:
    counts = METRICS[metric].counts
    return counts is not None and counts(event)


def _in_source_terms(value: Poly, counters: tuple[tuple[str, Poly], ...]) -> Poly:
    for name, number in counters:
        value = value.substitute({name: number})
    return value


def _amount(view: CostView, lower: Poly | None, upper: Poly | None, reason: str | None) -> str:
    if lower is None or upper is None:
        return f"is unknown: {reason}"
    if lower == upper:
        return f"= {view.text(lower)}"
    return f">= {view.text(lower)} and <= {view.text(upper)}"


NEARLY = 1.05
"""Leading terms closer than this count as equal."""
COMPULSORY = {
    "io": "the compulsory misses",
    "writebacks": "each line that is written, once",
    "bytes": "each line once, and twice if it is written",
}
"""What bounds a metric of the cache from below."""
CERTAIN = "compulsory misses of accesses made in every run"


def compulsory_label(row: CostRow, lower: Poly) -> str:
    """What a lower bound counts: all compulsory misses if a cache fetches no more, else those that are certain."""
    uppers = (row.upper, *(bound.value for bound in row.by_cache), *(piece.upper for piece in row.by_case))
    return COMPULSORY[row.metric] if row.metric != "io" or lower in uppers else CERTAIN


def io_text(view: CostView, row: CostRow) -> Iterator[Part]:
    """Each upper bound with what is held and fetched for it, then the lower bounds."""
    yield f"derivation of the {row.metric} of {view.algorithm}: which references stay resident in cache"
    if not row.by_cache:
        yield from _accessed(view, row)
    for bound in row.by_cache:
        yield ""
        yield f"{bound.where.head}{row.metric} <= {view.text(bound.value)}"
        for kept in bound.kept:
            yield _below(_residency_text(view, kept))
    for found in () if row.reached is None else row.reached():
        yield ""
        yield from _reached_parts(view, found)
    assert row.lower is not None
    yield ""
    yield f"{row.metric} >= {view.text(row.lower)}, {compulsory_label(row, row.lower)}"
    for part in row.touched:
        yield _below(_in_full(view, part))
    if row.touched:
        fetched = "its footprint less Z/L lines, or what its calls and the loops between them fetch"
        yield f"at sizes: a call fetches {fetched}"
    if row.orderless is not None:
        yield from _any_schedule(view, row.orderless)
    for bound in row.by_loop:
        yield f"{row.metric} >= {view.text(bound.value)}, by {bound.by}: each fetches its footprint less Z/L lines"
    if row.published is not None:
        yield ""
        yield from _published(row.published)


def _reached_parts(view: CostView, found: ReachedRegion) -> Iterator[Part]:
    """What a call by indices reaches, and what pays for it."""
    for array, box in found.parts:
        ends = ", ".join(f"{view.text(low)}..{view.text(high + 1)}" for low, high in box)
        yield f"a call of `{found.algorithm}` accesses {array}[{ends}] at most, and fetches that where it fits"
    if found.most is not None:
        where = f"where Z >= {FEW_LINES}*L"
        yield f"{where}: its io <= {view.text(found.most)}, with that of all calls in it"


def _any_schedule(view: CostView, found: AnyScheduleBound) -> Iterator[Part]:
    """What any order of the same iterations has to fetch."""
    for each in found.floors:
        count = view.text(each.iterations)
        growth = format_expression(per_line(view.tree(each.iterations), each.power))
        yield f"io is Omega({growth}) under any schedule: {count} iterations and the data they access (HBL bound)"
    if not found.floors and found.reason:
        yield f"no lower bound for every schedule: {found.reason}"


_RELATIONS = {
    "the same": "of the same growth as ours",
    "larger": "larger in growth than ours",
    "smaller": "smaller in growth than ours",
    "unknown": "it is not known whether the growth is the same",
}


def _published(found: Published) -> Iterator[Part]:
    """Bounds of the literature, and how ours compare."""
    yield f"published for PolyBench's {found.kernel}, in leading order, lines of one word (L = 1):"
    for each in found.bounds:
        compared = _RELATIONS[each.relation]
        if each.times is not None:
            compared += f", its leading term is {ratio(each.times)} times ours"
        yield _below(f"io >= {each.text} ({each.by}): {compared}")
    if any(each.times is not None and each.times > NEARLY for each in found.bounds):
        yield "our bound uses, for each array, the footprint of one access at a time, not of their union"
    if found.because is not None:
        yield found.because
    for source in dict.fromkeys(f"{each.by}: {each.source}" for each in found.bounds):
        yield _below(source)


def attained(found: OptimalityResult) -> Iterator[tuple[str, str]]:
    """How close io is to the lower bound over all schedules of the same iterations, one line per regime."""
    name = "optimality"
    if found.floors:
        yield name, join_phrases(any_schedule_bound_text(found), " for any schedule, and the compulsory misses")
        name = ""
    for each in found.regimes:
        where = join_with_mark(filter(None, (*found.under, each.when)), " and ")
        yield name, join_phrases(each.text, " where ", where) if where and each.factor is not None else each.text
        name = ""


def any_schedule_bound_text(found: OptimalityResult) -> Formula:
    """What any schedule fetches up to constants, in addition to the compulsory misses."""
    return make_order_formula("Omega", b.sum_terms((False, each.expr) for each in found.floors))


def gap_lines(row: CostRow) -> Iterator[str]:
    """The factors between the values of bounds, and to the lower bound for any schedule."""
    if row.values is None or not row.any_order or not row.values.lower:
        return
    upper, lower = Fraction(row.values.upper), Fraction(row.values.lower)
    said = f"{row.metric}: the upper bound is {ratio(upper / lower)} times the lower one"
    least = Fraction(row.any_order)
    if least != lower:
        said += f", and {ratio(upper / least)} times {readable(row.any_order)}, the lower bound for any schedule"
    yield said


def _in_full(view: CostView, found: TouchedRegion) -> str:
    """What each call touches in full."""
    ends = ", ".join(f"{view.text(low)}..{view.text(high + 1)}" for low, high in found.box)
    side = {"lower": " on its diagonal and below it", "upper": " on its diagonal and above it"}
    part = side.get(found.half, "")
    large = view.large(found)
    where = f" where {' and '.join(large)}" if large else ""
    return f"each call touches all of {found.array}[{ends}]{part}{where}"


def _accessed(view: CostView, row: CostRow) -> Iterator[Part]:
    """By the number of accesses."""
    why = "" if row.why is None else f", as they cannot be followed: {row.why} ({row.place})"
    yield ""
    yield f"every access is counted as a miss{why}"
    for piece in row.pieces:
        yield f"{piece.where.head}io <= {view.restrict_to(piece.where).text(piece.upper)}"
    less = "at sizes, Z and L: no more than the lines of calls whose arrays fit, and what the others access themselves"
    yield f"{less}, where loops share the lines that they walk along"


def _residency_text(view: CostView, kept: Residency) -> str:
    where = f"line {kept.places[0]}" if len(kept.places) == 1 else f"lines {', '.join(map(str, kept.places))}"
    fetched = f"{view.text(kept.fetched)} fetched"
    if not kept.held:
        return f"{kept.array} ({where}): fetched at every access, {fetched}"
    through = "all through the run" if kept.loop is None else f"through the iterations of {kept.loop}"
    if kept.given_up:
        through += " but not within " + " and ".join(kept.given_up)
    lines = "1 line" if kept.held.is_constant and kept.held.constant_term == 1 else f"{view.text(kept.held)} lines"
    return f"{kept.array} ({where}): {lines} held {through}, {fetched}"


def _below(line: str) -> Indented:
    return Indented([Indented([line])])


def schedules(known: Sequence[ScheduleBound]) -> Iterator[str]:
    """What io is on several processors, by schedule."""
    for each in known:
        yield join_phrases(f"{each.name}: ", each.bound, f" ({each.source})")


MAX_WRITTEN = 60
_NAMES = {"=": "the solution", ">=": "the lower bound", "<=": "the upper bound"}


def recursion_text(view: CostView, row: CostRow, recurrence: Recurrence) -> Iterator[Part]:
    """The derivation of one metric."""
    return _Writer(view, row, recurrence).lines()


class _Writer:
    def __init__(self, view: CostView, row: CostRow, recurrence: Recurrence) -> None:
        self._view, self._row, self._recurrence = view, row, recurrence
        self._function = self._applied(recurrence.letter)

    def _applied(self, letter: str) -> str:
        """The function of the algorithm's own sizes."""
        sizes = tuple(Poly.symbol(name) for name in self._recurrence.parameters)
        return self._view.text(Poly.of_atom(Applied(letter, sizes)))

    def lines(self) -> Iterator[Part]:
        """The whole derivation."""
        row, view = self._row, self._view
        yield f"derivation of the {row.metric} of {view.algorithm}: {self._function} stands for that of a call"
        for name, value in self._recurrence.meanings.items():
            yield f"{name} stands for {view.text(value)}"
        for letter, algorithm in self._recurrence.others.items():
            yield f"{letter} stands for that of a call of {algorithm}"
        yield from self._section("recurrence, by the first case that holds", self._cases())
        yield from self._section("solution", self._solution())
        for claim in self._recurrence.claims:
            yield from self._claim(claim)
        if row.growth is not None:
            yield ""
            yield f"{self._function} is {row.growth}"

    def _section(self, title: str, rows: list[list[str]]) -> Iterator[Part]:
        yield ""
        yield title
        yield from self._table(rows)

    def _table(self, rows: list[list[str]]) -> Iterator[Part]:
        """The rows in columns, without a first one that is empty."""
        if not any(row[0] for row in rows):
            rows = [row[1:] for row in rows]
        yield Indented([Columns(rows)])

    def _where(self, when: str) -> str:
        """The condition of a case; nothing where there is only one."""
        return f"{when or OTHERWISE}:" if len(self._recurrence.cases) > 1 else ""

    # Recurrence and solution
    def _cases(self) -> list[list[str]]:
        rows: list[list[str]] = []
        for case in self._recurrence.cases:
            rows += self._between(self._where(case.when), case.lower, case.upper)
            rows += [["", "", note] for note in self._notes(case)]
        return rows

    def _notes(self, case: Case) -> Iterator[str]:
        if not case.recursive:
            yield "(no calls)"
        if case.data:
            yield "with " + ", ".join(map(self._range, case.data)) + ", which the data gives"

    def _solution(self) -> list[list[str]]:
        row = self._row
        if row.lower is None or row.upper is None:
            return [["", "", row.why or "unknown"]]
        heads = [f"{piece.when}:" if piece.when else "" for piece in row.pieces]
        parts = zip(heads, row.pieces, strict=True)
        return [line for head, piece in parts for line in self._between(head, piece.lower, piece.upper, piece.where)]

    def _between(self, head: str, lower: Poly, upper: Poly, region: Region = EVERYWHERE) -> list[list[str]]:
        text = self._view.restrict_to(region).text
        if lower == upper:
            return [[head, f"{self._function} =", text(lower)]]
        return [[head, f"{self._function} >=", text(lower)], ["", f"{self._function} <=", text(upper)]]

    # Proofs
    def _claim(self, claim: ProvedClaim) -> Iterator[Part]:
        goal = self._applied(claim.letter)
        where = f"where {claim.where}, " if claim.where else ""
        head = f"{where}{_NAMES[claim.relation]}{'' if self._is_shown(claim) else f', {self._view.text(claim.value)},'}"
        yield ""
        if not claim.lines:
            yield f"{head} is known, as {claim.reason}"
            return
        yield f"{head} holds by induction: assuming {goal} for its calls, every case satisfies it"
        yield from self._table([[self._where(line.when), self._line(line, goal)] for line in claim.lines])

    def _is_shown(self, claim: ProvedClaim) -> bool:
        """Whether the solution has the value as it is."""
        pieces = [piece for piece in self._row.pieces if piece.when == claim.where] or self._row.pieces[-1:]
        return claim.value == (pieces[0].upper if claim.relation == "<=" else pieces[0].lower)

    def _line(self, line: InductionCase, goal: str) -> str:
        parts = [self._view.text(line.calls), f"{line.relation} {goal}"]
        if line.written is not None and len(written := self._view.text(line.written)) <= MAX_WRITTEN:
            parts.insert(1, f"= {written}")
        ways = [", ".join(map(self._range, way)) for way in line.sizes]
        return " ".join([*parts, *([f"for {' or '.join(dict.fromkeys(ways))}"] if ways else [])])

    def _range(self, known: Range) -> str:
        name: str = self._view.text(known.value)
        name = name[1:-1] if name.startswith("(") else name
        low, high = self._end("max", known.lower), self._end("min", known.upper)
        if low == high and low:
            return f"{name} = {low}"
        if low and high:
            return f"{low} <= {name} <= {high}"
        return f"{name} >= {low}" if low else f"{name} <= {high}" if high else name

    def _end(self, tightest: str, ends: tuple[Poly, ...]) -> str:
        texts = [self._view.text(each) for each in ends]
        return texts[0] if len(texts) == 1 else f"{tightest}({', '.join(texts)})" if texts else ""
