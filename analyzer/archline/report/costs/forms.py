"""Rows of a page of costs: forms, in full where they are short; the regimes of io, and its lower bounds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import zip_longest
from math import prod
from operator import itemgetter

from archline.algebra.polynomial import Poly
from archline.analysis.bounds import Bound, Piece, Residency
from archline.analysis.cache.chosen_regimes import (
    LINE,
    comparison_point,
    is_constant,
    select_regimes,
    value_at,
    words_needed,
)
from archline.claims.optimality import OptimalityResult
from archline.expr import build as b
from archline.expr.text import Formula, join_phrases, join_with_mark, prefix_relation
from archline.growth.leading_terms import CACHE, assume_large_sizes
from archline.growth.short_forms import cut_terms, find_block_sizes, find_leading_with_slow_divisors, short_form
from archline.language import syntax as s
from archline.language.metrics import OF_CACHE
from archline.numbers import readable
from archline.records import record
from archline.report.cost_view import CostRow, CostView
from archline.report.derivation import any_schedule_bound_text, compulsory_label, gap_lines

IO = "io (cache misses)"
LEADING = "~: leading terms as all sizes grow"


@record
class PageRow:
    """A row: what it is of, its form or value, its status (or the least Z of a regime), its growth."""

    label: str
    form: str
    status: str = ""
    growth: str = ""

    @property
    def cells(self) -> tuple[str, ...]:
        """The cells of its row."""
        return self.label, self.form, self.status, self.growth


def label_of(row: CostRow) -> str:
    """Name a row."""
    return IO if row.metric == "io" else row.metric


def divisors_of(row: CostRow) -> frozenset[str]:
    """The sizes that arrays are cut by."""
    uppers = [row.upper, *(bound.value for bound in row.by_cache)]
    return frozenset(name for upper in uppers if upper is not None for name in find_block_sizes(upper))


MAX_CONDITION_WIDTH = 30
"""Characters of a least Z that are shown in full."""
CASES = 4
"""Up to so many cases of the sizes are all shown."""
LENGTHS = (*range(1, 65), 2**20)
"""Lengths of lines at which numbers of lines that depend on them alone are looked at."""
MIN_NAMED_SHARE = 20
"""What is less than this part of the largest is not named."""
NEARLY, LINE_TOLERANCE = 0.04, 4
"""So near are lines to those of a part that they are the same."""
COUNTS = ("a {}", "two {}s", "three {}s", "four {}s")


def what_fits(bound: Bound) -> str:
    """The parts of arrays whose lines stay in the cache for reuse, the largest first; or how many lines there are."""
    if any(need == Poly.symbol("Z") - Poly.symbol("L") * bound.value for need in bound.where.needs):
        return "all fits"
    if is_constant(bound):
        return _counted(bound)
    point = comparison_point((bound,))
    parts = [_part_name(lines, kept, point) for lines, kept in _resident_lines_by_array(bound, point)]
    if not parts:
        return "parts of arrays"
    *before, last = (template.format(array) for template, array in parts)
    if any(template != "{}" for template, _ in parts):
        return ", ".join((*before, last))
    return f"{', '.join(before)} and {last} fit" if before else f"{last} fits"


def _counted(bound: Bound) -> str:
    """Numbers of lines, for lines of all lengths."""
    found = {int(words_needed(bound, {"L": length, "Z": 0})) // length for length in LENGTHS}
    least, most = min(found), max(found)
    return f"{least} to {most} lines" if least < most else f"{most} lines" if most > 1 else "a line"


def _resident_lines_by_array(bound: Bound, point: Mapping[str, int]) -> Iterator[tuple[float, Residency]]:
    """The lines of each array that a regime keeps resident, in descending order; the largest where units differ."""
    held: dict[str, list[tuple[float, Residency]]] = {}
    for each in bound.kept:
        if not each.held.names <= CACHE:
            held.setdefault(each.array, []).append((value_at(each.held, point), each))
    left = most = words_needed(bound, point) / LINE
    largest = {array: max(own, key=itemgetter(0)) for array, own in held.items()}
    of_all = {array: sum(lines for lines, _ in own) for array, own in held.items()}
    found = [(all_ if (all_ := of_all[array]) <= most else lines, kept) for array, (lines, kept) in largest.items()]
    for lines, kept in sorted(found, key=itemgetter(0), reverse=True):
        if left >= lines >= most / MIN_NAMED_SHARE:
            left -= lines
            yield lines, kept


def _part_name(lines: float, kept: Residency, point: Mapping[str, int]) -> tuple[str, str]:
    """What part of an array so many lines are, and the array."""
    units = {
        name: size for name, size in _parts(kept, point) if abs(lines - size) <= max(LINE_TOLERANCE, NEARLY * size)
    }
    return min(units, key=lambda name: abs(lines / units[name] - 1), default="part of {}"), kept.array


def _parts(kept: Residency, point: Mapping[str, int]) -> Iterator[tuple[str, float]]:
    """Parts of an array that have a name, with their lines."""
    extents = [value_at(extent, point) for extent in kept.extents]
    row = -(-extents.pop(kept.along) // LINE)
    yield "{}", prod(extents) * row
    yield "half of {}", prod(extents) * row / 2
    # Of k*b rows, b may be those of a block.
    whole = {name for extent in kept.extents for name in extent.names if extent.names == {name}}
    blocks = sorted(kept.held.names - CACHE - whole)
    sides = [(name, point[name], -(-point[name] // LINE)) for name in blocks]
    if not extents:
        yield from (("a block of {}", wide) for _, _, wide in sides)
        return
    for number, text in enumerate(() if blocks else COUNTS, start=1):
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
        yield from (("a block of {}", other * wide) for _, other, _ in sides)


def regime_rows(view: CostView, row: CostRow) -> Iterator[PageRow]:
    """Up to four upper bounds, each with the least Z for it; of those whose forms are shown alike, the first."""
    shown: set[str] = set()
    for bound in select_regimes(row.by_cache):
        form = short_form(bound.value, view.text)
        if form not in shown:
            shown.add(form)
            yield PageRow(what_fits(bound), form, prefix_relation("Z >=", least_cache(view, row, bound)))


def least_cache(view: CostView, row: CostRow, bound: Bound) -> str:
    """The least Z of a regime: in full where that is short, else in its leading terms."""
    (condition,) = bound.where.facts
    match condition:
        case s.Binary(op=">=", left=s.Name(id="Z"), right=least):
            text = Formula(least)
        case _:
            text = Formula(condition)
    if len(text) <= MAX_CONDITION_WIDTH:
        return text
    leads = {
        find_leading_with_slow_divisors(Poly.symbol("Z") - need, divisors_of(row))
        for need in bound.where.needs
        if "Z" in need.names
    }
    known = [lead for lead in leads if lead is not None]
    if len(known) < len(leads):
        return cut_terms(text, 2 * MAX_CONDITION_WIDTH)
    large = assume_large_sizes(frozenset().union(*(lead.names for lead in known)))
    most = [one for one in known if not any(one != other and large.nonnegative(other - one) for other in known)]
    texts = sorted(map(view.text, most))
    short = Formula(texts[0].tree if len(texts) == 1 else b.call("max", *(each.expr for each in texts)), "~")
    return cut_terms(min(short, text, key=len), 2 * MAX_CONDITION_WIDTH)


IN_ALL_CASES = " in all cases"
"""Stands behind a growth beside the first of several cases that is not of this case alone."""


def metric_rows(view: CostView, row: CostRow, growth: str, why: str | None) -> Iterator[PageRow]:
    """The rows of a metric, with its growth, and why it has no Theta."""
    label = label_of(row)
    if view.at is not None and (row.values is not None or (row.lower is not None and row.upper is not None)):
        # Values are shown without growth, so none is derived.
        yield PageRow(label, _values(row), _tightness(row))
        return
    if row.lower is None or row.upper is None:
        yield PageRow(label, "unknown", "unknown", growth)
        yield PageRow("", f"{row.why}{f' ({row.place})' if row.place else ''}")
        return
    status = "exact" if row.exact else "bounds"
    if row.metric in OF_CACHE and row.by_cache:
        yield PageRow(label, "upper bound by cache size", status, growth)
    elif row.by_case and (not row.exact or _shorter_by_cases(view, row)):
        yield from _cases(view, row, label, growth)
    elif row.exact:
        yield PageRow(label, short_form(row.upper, view.text), status, growth)
        if why is not None:
            yield PageRow("", why)
    else:
        yield PageRow(label, prefix_relation("<=", short_form(row.upper, view.text)), status, growth)
        yield PageRow("", prefix_relation(">=", short_form(row.lower, view.text)))


def _tightness(row: CostRow) -> str:
    """`exact`, `tight` for bounds that are equal at these sizes, `bounds` for others."""
    if row.values is None:
        return ""
    return "exact" if row.exact else "tight" if row.values.lower == row.values.upper else "bounds"


def _shorter_by_cases(view: CostView, row: CostRow) -> bool:
    """Whether the forms of its cases are shorter together than the one form for all sizes."""
    assert row.upper is not None
    lengths = (len(view.restrict_to(piece.where).text(piece.upper)) for piece in row.pieces)
    return sum(lengths) < len(view.text(row.upper))


def _cases(view: CostView, row: CostRow, label: str, growth: str) -> Iterator[PageRow]:
    """All cases of the sizes, each with its growth; of many that a recursion begins with only the last one."""
    many = len(row.pieces) > CASES and not all(piece.by_sizes for piece in row.pieces)
    shown = row.pieces[-1:] if many else row.pieces
    growths = row.growths_by_case if growth and not many else ()
    of_all = join_phrases(growth, IN_ALL_CASES) if growth and len(shown) > 1 and " where " not in growth else growth
    for piece, own in zip_longest(shown, growths or (of_all,), fillvalue=""):
        assert isinstance(piece, Piece)
        lower, upper = (short_form(end, view.restrict_to(piece.where).text) for end in (piece.lower, piece.upper))
        yield PageRow(label, upper if piece.exact else prefix_relation("<=", upper), piece.where.label, own)
        if not piece.exact:
            yield PageRow("", prefix_relation(">=", lower))
        label = ""
    if many:
        yield PageRow("", f"{len(row.pieces) - 1} other cases: --all")


def _values(row: CostRow) -> str:
    if row.values is None:
        return row.why or "unknown"
    low, high = readable(row.values.lower), readable(row.values.upper)
    return low if low == high else f"{low} .. {high}"


def bound_sentences(view: CostView, row: CostRow) -> Iterator[str]:
    """The lower bound for any schedule, and within which factor of it the upper bounds are."""
    if row.lower is None:
        return
    if view.at is not None:
        yield from gap_lines(row)
        return
    found = row.attained
    last = row.pieces[-1]
    least, kind = short_form(last.lower, view.restrict_to(last.where).text), compulsory_label(row, last.lower)
    if len(row.pieces) > 1:
        kind = f"{kind}, in the last case"
    if found is None or not found.floors:
        yield join_phrases("lower bound: ", least, f", {kind}")
    else:
        yield join_phrases("lower bound for any schedule: ", any_schedule_bound_text(found), f", and {kind}, ", least)
    if found is not None:
        yield from _nearness(view, row, found)


def _nearness(view: CostView, row: CostRow, found: OptimalityResult) -> Iterator[str]:
    """`asymptotically optimal where ...`, or within which factor of the lower bound."""
    known = [each for each in found.regimes if each.factor is not None]
    bounds = {bound.where.when: bound for bound in row.by_cache}
    parts: list[str] = []
    for each in known[:-4:-1]:
        near = bounds.get(each.when)
        when = each.when if near is None else prefix_relation("Z >=", least_cache(view, row, near))
        parts.append(join_phrases(each.text, *((" where ", when) if when else ())))
    if parts:
        yield join_phrases(
            join_with_mark(parts, "; "), *((", if ", join_with_mark(found.under, " and ")) if found.under else ())
        )
    elif found.regimes and found.regimes[0].reason:
        yield f"distance to the lower bound is unknown: {found.regimes[0].reason}"
