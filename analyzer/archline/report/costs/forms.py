"""Build the rows of a page of costs: forms, in full if they are short, the regimes of io, and its lower bounds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import zip_longest
from math import prod
from operator import itemgetter

from archline.algebra.polynomial import Poly
from archline.analysis.bounds import Bound, Piece, Residency
from archline.analysis.cache.chosen_regimes import (
    SAMPLE_LINE_WORDS,
    choose_comparison_point,
    evaluate_needed_words,
    evaluate_or_infinity,
    needs_constant_lines,
    select_regimes,
)
from archline.claims.optimality import OptimalityResult
from archline.expr import build as b
from archline.expr.text import Formula, join_phrases, join_with_mark, prefix_relation
from archline.growth.leading_terms import CACHE_PARAMETERS, assume_large_sizes
from archline.growth.short_forms import cut_terms, find_block_sizes, find_leading_with_slow_divisors, shorten_form
from archline.language import syntax as s
from archline.language.metrics import OF_CACHE
from archline.numbers import format_readable
from archline.records import record
from archline.report.cost_view import CostRow, CostView
from archline.report.derivation import format_any_schedule_bound, iterate_gap_sentences, label_compulsory_misses

IO_LABEL = "io (cache misses)"
LEADING_TERMS_NOTE = "~: leading terms as all sizes grow"


@record
class PageRow:
    """A row of a page of costs: label, form or value, status (or the minimum Z of a regime), and growth."""

    label: str
    form: str
    status: str = ""
    growth: str = ""

    @property
    def cells(self) -> tuple[str, ...]:
        return self.label, self.form, self.status, self.growth


def label_metric(row: CostRow) -> str:
    """Return the label of a row: the name of its metric, and for `io` its meaning too."""
    return IO_LABEL if row.metric == "io" else row.metric


def find_divisors(row: CostRow) -> frozenset[str]:
    """Return the sizes of blocks of arrays, which are divisors in the upper bounds."""
    uppers = [row.upper, *(bound.value for bound in row.by_cache)]
    return frozenset(name for upper in uppers if upper is not None for name in find_block_sizes(upper))


MAX_CONDITION_WIDTH = 30
"""The maximum width of a minimum Z that is shown in full."""
MAX_SHOWN_CASES = 4
"""The maximum number of cases of a recursion that are all shown."""
LINE_LENGTHS = (*range(1, 65), 2**20)
"""The line lengths at which a number of lines is evaluated that depends on the line length alone."""
MIN_NAMED_SHARE = 20
"""Parts of arrays with less than 1/MIN_NAMED_SHARE of the lines of the cache are not named."""
RELATIVE_TOLERANCE, LINE_TOLERANCE = 0.04, 4
"""The difference, as a fraction and in lines, up to which a number of lines is taken for that of a part of an array."""
COUNT_TEMPLATES = ("a {}", "two {}s", "three {}s", "four {}s")


def describe_resident_parts(bound: Bound) -> str:
    """Describe the parts of arrays whose lines stay in the cache for reuse, largest first; or the number of lines."""
    if any(need == Poly.symbol("Z") - Poly.symbol("L") * bound.value for need in bound.where.needs):
        return "all fits"
    if needs_constant_lines(bound):
        return _format_line_count(bound)
    point = choose_comparison_point((bound,))
    parts = [_name_part(lines, residency, point) for lines, residency in _iterate_resident_lines(bound, point)]
    if not parts:
        return "parts of arrays"
    *before, last = (template.format(array) for template, array in parts)
    if any(template != "{}" for template, _ in parts):
        return ", ".join((*before, last))
    return f"{', '.join(before)} and {last} fit" if before else f"{last} fits"


def _format_line_count(bound: Bound) -> str:
    """Describe the number of lines that a bound needs, which depends on the line length alone."""
    counts = {int(evaluate_needed_words(bound, {"L": length, "Z": 0})) // length for length in LINE_LENGTHS}
    least, most = min(counts), max(counts)
    return f"{least} to {most} lines" if least < most else f"{most} lines" if most > 1 else "a line"


def _iterate_resident_lines(bound: Bound, point: Mapping[str, int]) -> Iterator[tuple[float, Residency]]:
    """Yield, in descending order, the lines of each array that a regime keeps resident, with its largest residency.

    The lines are those of all residencies of an array if these fit in the cache together, else of the largest one.
    """
    held: dict[str, list[tuple[float, Residency]]] = {}
    for residency in bound.residencies:
        if not residency.held.names <= CACHE_PARAMETERS:
            held.setdefault(residency.array, []).append((evaluate_or_infinity(residency.held, point), residency))
    left = most = evaluate_needed_words(bound, point) / SAMPLE_LINE_WORDS
    largest = {array: max(entries, key=itemgetter(0)) for array, entries in held.items()}
    of_all = {array: sum(lines for lines, _ in entries) for array, entries in held.items()}
    candidates = [
        (all_ if (all_ := of_all[array]) <= most else lines, residency) for array, (lines, residency) in largest.items()
    ]
    for lines, residency in sorted(candidates, key=itemgetter(0), reverse=True):
        if left >= lines >= most / MIN_NAMED_SHARE:
            left -= lines
            yield lines, residency


def _name_part(lines: float, residency: Residency, point: Mapping[str, int]) -> tuple[str, str]:
    """Return a template for the name of the part of an array that has about `lines` lines, and the array's name."""
    units = {
        name: size
        for name, size in _iterate_part_sizes(residency, point)
        if abs(lines - size) <= max(LINE_TOLERANCE, RELATIVE_TOLERANCE * size)
    }
    return min(units, key=lambda name: abs(lines / units[name] - 1), default="part of {}"), residency.array


def _iterate_part_sizes(residency: Residency, point: Mapping[str, int]) -> Iterator[tuple[str, float]]:
    """Yield templates for the names of parts of an array, each with the number of lines of the part."""
    extents = [evaluate_or_infinity(extent, point) for extent in residency.extents]
    row = -(-extents.pop(residency.along) // SAMPLE_LINE_WORDS)
    yield "{}", prod(extents) * row
    yield "half of {}", prod(extents) * row / 2
    # Names in the held lines that are not extents of the array are block sizes.
    whole = {name for extent in residency.extents for name in extent.names if extent.names == {name}}
    blocks = sorted(residency.held.names - CACHE_PARAMETERS - whole)
    sides = [(name, point[name], -(-point[name] // SAMPLE_LINE_WORDS)) for name in blocks]
    if not extents:
        yield from (("a block of {}", wide) for _, _, wide in sides)
        return
    for number, text in enumerate(() if blocks else COUNT_TEMPLATES, start=1):
        yield text.format("row") + " of {}", number * row
        for extent in extents:
            yield "a column and a row of {}", extent + row
            yield text.format("column") + " of {}", number * extent
            if len(extents) > 1:
                yield text.format("plane") + " of {}", number * extent * row
    for name, side, wide in sides:
        yield f"{name} rows of {{}}", side * row
        yield "a row of a block of {}", wide
        yield "a column of a block of {}", side
        yield from ((f"{name} columns of {{}}", extent * wide) for extent in extents)
        yield from (("a block of {}", height * wide) for _, height, _ in sides)


def iterate_regime_rows(view: CostView, row: CostRow) -> Iterator[PageRow]:
    """Yield up to four upper bounds, each with its minimum Z; of several with the same short form only the first."""
    shown: set[str] = set()
    for bound in select_regimes(row.by_cache):
        form = shorten_form(bound.value, view.text)
        if form not in shown:
            shown.add(form)
            yield PageRow(
                describe_resident_parts(bound), form, prefix_relation("Z >=", format_minimum_cache(view, row, bound))
            )


def format_minimum_cache(view: CostView, row: CostRow, bound: Bound) -> str:
    """Return the minimum Z of a regime: in full if that is short, else in its leading terms."""
    (condition,) = bound.where.facts
    match condition:
        case s.Binary(op=">=", left=s.Name(id="Z"), right=least):
            text = Formula(least)
        case _:
            text = Formula(condition)
    if len(text) <= MAX_CONDITION_WIDTH:
        return text
    leads = {
        find_leading_with_slow_divisors(Poly.symbol("Z") - need, find_divisors(row))
        for need in bound.where.needs
        if "Z" in need.names
    }
    leading = [lead for lead in leads if lead is not None]
    if len(leading) < len(leads):
        return cut_terms(text, 2 * MAX_CONDITION_WIDTH)
    large = assume_large_sizes(frozenset().union(*(lead.names for lead in leading)))
    most = [lead for lead in leading if not any(lead != rival and large.nonnegative(rival - lead) for rival in leading)]
    texts = sorted(map(view.text, most))
    short = Formula(texts[0].tree if len(texts) == 1 else b.call("max", *(part.expr for part in texts)), "~")
    return cut_terms(min(short, text, key=len), 2 * MAX_CONDITION_WIDTH)


IN_ALL_CASES = " in all cases"
"""The text after a growth that stands in the row of the first case, and is that of all cases."""


def iterate_metric_rows(view: CostView, row: CostRow, growth: str, why: str | None) -> Iterator[PageRow]:
    """Yield the rows of a metric, with its growth, and `why` it has no Theta if it has none."""
    label = label_metric(row)
    if view.at is not None and (row.values is not None or (row.lower is not None and row.upper is not None)):
        # Values are shown without growth, so none is derived.
        yield PageRow(label, _format_values(row), _choose_status(row))
        return
    if row.lower is None or row.upper is None:
        yield PageRow(label, "unknown", "unknown", growth)
        yield PageRow("", f"{row.why}{f' ({row.place})' if row.place else ''}")
        return
    status = "exact" if row.exact else "bounds"
    if row.metric in OF_CACHE and row.by_cache:
        yield PageRow(label, "upper bound by cache size", status, growth)
    elif row.by_case and (not row.exact or _is_shorter_by_cases(view, row)):
        yield from _iterate_case_rows(view, row, label, growth)
    elif row.exact:
        yield PageRow(label, shorten_form(row.upper, view.text), status, growth)
        if why is not None:
            yield PageRow("", why)
    else:
        yield PageRow(label, prefix_relation("<=", shorten_form(row.upper, view.text)), status, growth)
        yield PageRow("", prefix_relation(">=", shorten_form(row.lower, view.text)))


def _choose_status(row: CostRow) -> str:
    """Return `exact`, `tight` for bounds that are equal at these sizes, else `bounds`."""
    if row.values is None:
        return ""
    return "exact" if row.exact else "tight" if row.values.lower == row.values.upper else "bounds"


def _is_shorter_by_cases(view: CostView, row: CostRow) -> bool:
    """Test whether the forms of a cost by cases are shorter together than its one form for all sizes."""
    assert row.upper is not None
    lengths = (len(view.restrict_to(piece.where).text(piece.upper)) for piece in row.pieces)
    return sum(lengths) < len(view.text(row.upper))


def _iterate_case_rows(view: CostView, row: CostRow, label: str, growth: str) -> Iterator[PageRow]:
    """Yield all cases of the sizes, each with its growth; of many cases that come from a recursion only the last."""
    many = len(row.pieces) > MAX_SHOWN_CASES and not all(piece.is_split_by_sizes for piece in row.pieces)
    shown = row.pieces[-1:] if many else row.pieces
    growths = row.growths_by_case if growth and not many else ()
    of_all = join_phrases(growth, IN_ALL_CASES) if growth and len(shown) > 1 and " where " not in growth else growth
    for piece, case_growth in zip_longest(shown, growths or (of_all,), fillvalue=""):
        assert isinstance(piece, Piece)
        lower, upper = (shorten_form(end, view.restrict_to(piece.where).text) for end in (piece.lower, piece.upper))
        yield PageRow(label, upper if piece.exact else prefix_relation("<=", upper), piece.where.label, case_growth)
        if not piece.exact:
            yield PageRow("", prefix_relation(">=", lower))
        label = ""
    if many:
        yield PageRow("", f"{len(row.pieces) - 1} other cases: --all")


def _format_values(row: CostRow) -> str:
    if row.values is None:
        return row.why or "unknown"
    low, high = format_readable(row.values.lower), format_readable(row.values.upper)
    return low if low == high else f"{low} .. {high}"


def iterate_bound_sentences(view: CostView, row: CostRow) -> Iterator[str]:
    """Yield the lower bound, for any schedule if known, and the factors between the upper bounds and it."""
    if row.lower is None:
        return
    if view.at is not None:
        yield from iterate_gap_sentences(row)
        return
    optimality = row.attained
    last = row.pieces[-1]
    least, kind = shorten_form(last.lower, view.restrict_to(last.where).text), label_compulsory_misses(row, last.lower)
    if len(row.pieces) > 1:
        kind = f"{kind}, in the last case"
    if optimality is None or not optimality.hbl_terms:
        yield join_phrases("lower bound: ", least, f", {kind}")
    else:
        yield join_phrases(
            "lower bound for any schedule: ", format_any_schedule_bound(optimality), f", and {kind}, ", least
        )
    if optimality is not None:
        yield from _describe_nearness(view, row, optimality)


def _describe_nearness(view: CostView, row: CostRow, optimality: OptimalityResult) -> Iterator[str]:
    """Yield where upper bounds are asymptotically optimal, or their factors over the lower bound, by regime."""
    decided = [regime for regime in optimality.regimes if regime.factor is not None]
    bounds = {bound.where.when: bound for bound in row.by_cache}
    texts: dict[str, str] = {}
    for regime in decided[:-4:-1]:
        near = bounds.get(regime.when)
        when = regime.when if near is None else prefix_relation("Z >=", format_minimum_cache(view, row, near))
        # Conditions may differ in terms that a short form leaves out: the sharper factor is shown for both.
        texts.setdefault(when, join_phrases(regime.text, *((" where ", when) if when else ())))
    parts = [*texts.values()]
    if parts:
        yield join_phrases(
            join_with_mark(parts, "; "),
            *((", if ", join_with_mark(optimality.under, " and ")) if optimality.under else ()),
        )
    elif optimality.regimes and optimality.regimes[0].reason:
        yield f"distance to the lower bound is unknown: {optimality.regimes[0].reason}"
