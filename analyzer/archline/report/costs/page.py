"""The first page of an algorithm's costs: a row a metric, cache misses by regimes, how near they are to a lower bound.

Long forms are given by their leading terms, marked `~`; `archline cost --all` has them in full.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from fractions import Fraction

from archline.algebra.polynomial import Poly
from archline.analysis.cost import ConditionalBound
from archline.claims.communication_bounds import Ends
from archline.claims.optimality import Attained
from archline.growth.leading_terms import grown
from archline.growth.simplify import quotient
from archline.language.metrics import OF_CACHE
from archline.language.parser import parse_expression
from archline.records import record, replace
from archline.report.communication import (
    BoundView,
    CommunicationView,
    amount,
    factor,
    nearness_text,
    on_processors,
    replicated,
)
from archline.report.cost_view import CostRow, CostView
from archline.report.costs.forms import CUT, FULL, LEADING, cut, divisors, lead_of, short_form
from archline.report.costs.regimes import bound, is_constant, point_of, what_fits, words
from archline.report.derivation import COMPULSORY, factors
from archline.report.documents import Document, FormulaText, Phrase, Table, conditions, plain, with_growths
from archline.report.findings import tally
from archline.report.numbers import point_text, readable, short
from archline.report.view import Contract, shown_place

SHORT = 30
"""Characters of a least Z that are shown in full."""
REGIMES = 4
ALIKE = 0.02
"""Regimes whose cache size, or cache misses, differ by at most this share are shown as one."""
IO = "io (cache misses)"
OF_REPLACEMENT = {
    "writebacks": "writebacks: of a replacement with the fewest misses, which need not move the fewest bytes",
    "bytes": "bytes: the fewest that any replacement fetches and writes back, in words of 8 B",
}
"""Which replacement a metric is about."""


@record
class Page:
    """What is shown: the title, the rows of metrics, those of the regimes of io, and sentences below them.

    `least` are the lower bounds on words and messages, with a heading, which is empty where there are none.
    """

    title: str
    doc: str
    place: str
    metrics: tuple[PageRow, ...]
    regimes: tuple[PageRow, ...]
    bound: tuple[Phrase, ...]
    schedules: tuple[Phrase, ...]
    notes: tuple[Phrase, ...]
    least: tuple[PageRow, ...] = ()
    least_heading: Phrase = ()
    least_notes: tuple[Phrase, ...] = ()


def page(view: CostView, metrics: Sequence[str] | None = None) -> Page:
    """The page of derived costs, or of some metrics."""
    hidden = ("span", "io") if view.on_grid and metrics is None else ()
    case = view.case()
    rows = [row for row in (case or view).rows if row.metric in (metrics or (row.metric,)) and row.metric not in hidden]
    lines = [line for row in rows for line in _metric(view, row)]
    if metrics is None and not view.on_grid and (ratio := _parallelism(view)) is not None:
        lines.insert(next((i for i, line in enumerate(lines) if line.label == IO), len(lines)), ratio)
    io = next((row for row in rows if row.metric in OF_CACHE), None)
    regimes = () if io is None or view.at is not None else tuple(_regimes(view, io))
    bound = () if io is None else tuple(_bound(view, io))
    schedules = tuple((each.name, ": ", *with_growths(each.bound), f" ({each.source})") for each in view.schedules)
    notes = list(_notes(view))
    if case is not None:
        notes[:0] = [("where ", *conditions(" and ".join(case.case_when)), "; for all sizes see --all")]
    if any("~" in plain(cell) for line in (*lines, *regimes) for cell in (line.form, line.status)):
        with_lines = ("; of io, for ", FormulaText("L >= 2")) if io is not None and not view.on_grid else ()
        notes.append((LEADING if view.on_grid else f"{LEADING}{_slowly(rows)}", *with_lines))
    doc, place = (view.doc or "", shown_place(view.place)) if view.at is None else ("", "")
    found = Page(_title(view), doc, place, tuple(lines), regimes, bound, schedules, tuple(notes))
    known = view.communication
    if known is None or not known.bounds or not {"words", "messages"} & {*(metrics or ("words",))}:
        return found
    notes_ = tuple(_least_assumptions(known))
    heading = _least_heading(known)
    return replace(found, least=tuple(_least_rows(known)), least_heading=heading, least_notes=notes_)


def _slowly(rows: Sequence[CostRow]) -> str:
    """Which sizes grow more slowly than the others."""
    names = sorted(frozenset().union(*map(_divisors, rows)))
    return f", {', '.join(names)} more slowly than any power of the others" if names else ""


def _divisors(row: CostRow) -> frozenset[str]:
    """The sizes that arrays are cut by."""
    uppers = [row.upper, *(each.upper for each in row.alternatives)]
    return frozenset(name for upper in uppers if upper is not None for name in divisors(upper))


def _title(view: CostView) -> str:
    if view.at is None:
        return view.algorithm
    sizes = {name: value for name, value in view.at.items() if name not in ("Z", "L")}
    at = [point_text(sizes)] if sizes else []
    if {"Z", "L"} <= view.at.keys() and not view.on_grid:
        words, line = view.at["Z"], view.at["L"]
        at.append(f"Z = {readable(words)}, L = {readable(line)} ({readable(words // line)} lines)")
    return f"{view.algorithm} at {'; '.join(at)}"


def _metric(view: CostView, row: CostRow) -> Iterator[PageRow]:
    label = IO if row.metric == "io" else row.metric
    if view.at is not None and (row.values is not None or (row.lower is not None and row.upper is not None)):
        # No growth is shown beside values, so none is searched for.
        yield PageRow(label, (_values(row),), (_tightness(row),))
        return
    growth = with_growths(row.growth or "")
    if row.lower is None or row.upper is None:
        yield PageRow(label, ("unknown",), ("unknown",), growth)
        yield PageRow("", (f"{row.why}{f' ({row.place})' if row.place else ''}",))
        return
    status = ("exact" if row.exact else "bounds",)
    if row.metric in OF_CACHE and row.alternatives:
        yield PageRow(label, ("by the size of the cache, at most",), status, growth)
    elif row.exact:
        yield PageRow(label, (_form(view, row.upper),), status, growth)
        if row.open is not None:
            yield PageRow("", (row.open,))
    elif row.regimes:
        yield from _cases(view, row, label)
    else:
        yield PageRow(label, _bounded("<=", _form(view, row.upper)), status, growth)
        yield PageRow("", _bounded(">=", _form(view, row.lower)))


def _tightness(row: CostRow) -> str:
    """`exact`, `tight` for bounds that are equal at these sizes, `bounds` for others."""
    if row.values is None:
        return ""
    return "exact" if row.exact else "tight" if row.values.lower == row.values.upper else "bounds"


def _cases(view: CostView, row: CostRow, label: str) -> Iterator[PageRow]:
    """The last of the cases, which leaves out small sizes, or all where they are few."""
    shown = row.regimes if len(row.regimes) <= 2 else row.regimes[-1:]
    growth = with_growths(row.growth or "")
    for each in shown:
        where: Phrase = (each.when,) if each.when == "otherwise" else ("where ", *conditions(each.when))
        upper = _form(view, each.upper)
        if each.upper == each.lower:
            yield PageRow(label, (upper,), where, growth)
        else:
            yield PageRow(label, _bounded("<=", upper), where, growth)
            yield PageRow("", _bounded(">=", _form(view, each.lower)))
        label, growth = "", ()


def _form(view: CostView, value: Poly, most: int = FULL) -> str:
    """The form in full where it is short, else its leading terms, or the first ones, which is no formula."""
    return _shown(short_form(value, view.text, most))


def _shown(text: str) -> str:
    return text if text.endswith(CUT) else FormulaText(text)


def _bounded(relation: str, form: str) -> Phrase:
    return (FormulaText(f"{relation} {form}"),) if isinstance(form, FormulaText) else (f"{relation} ", form)


def _values(row: CostRow) -> str:
    if row.values is None:
        return row.why or "unknown"
    low, high = readable(row.values.lower), readable(row.values.upper)
    return low if low == high else f"{low} .. {high}"


def _parallelism(view: CostView) -> PageRow | None:
    """Work over span: its growth, or its value at sizes."""
    rows = {row.metric: row for row in view.rows}
    work, span = rows.get("work"), rows.get("span")
    if work is None or span is None:
        return None
    if view.serial and work.lower is not None and not (work.declared or span.declared):
        everywhere = PageRow("parallelism", (FormulaText("work/span"),), (), with_growths("Theta(1)"))
        return everywhere if view.at is None else PageRow("parallelism", ("1",))
    if view.at is not None:
        if work.values is None or span.values is None or not span.values.lower:
            return None
        ends = [Fraction(work.values.lower) / span.values.upper, Fraction(work.values.upper) / span.values.lower]
        low, high = map(short, ends)
        return PageRow("parallelism", (low if low == high else f"{low} .. {high}",))
    orders = [re.fullmatch(r"Theta\((.*?)\)( where [^()]*)?", each.growth or "") for each in (work, span)]
    if not all(orders) or any("), Theta(" in (each.growth or "") for each in (work, span)):
        return PageRow("parallelism", (FormulaText("work/span"),))
    (above, first), (below, second) = (each.groups("") for each in orders if each is not None)
    where = first if second in ("", first) else second if not first else f"{first} and {second.removeprefix(' where ')}"
    order = quotient(parse_expression(above), parse_expression(below))
    return PageRow("parallelism", (FormulaText("work/span"),), (), with_growths(f"Theta({order}){where}"))


def _regimes(view: CostView, row: CostRow) -> Iterator[PageRow]:
    """Up to four upper bounds, each with the least Z for it; of those whose forms are shown alike, the first."""
    shown: set[str] = set()
    for each in _chosen(row.alternatives):
        form = _form(view, each.upper)
        if form not in shown:
            shown.add(form)
            yield PageRow(what_fits(each), (form,), _bounded("Z >=", _least(view, row, each)))


def _chosen(found: Sequence[ConditionalBound]) -> Sequence[ConditionalBound]:
    """The last whose number of lines is the same for all sizes, the last of all, and those that save most between.

    Of those that need about the same the last, of those that fetch about the same the first.
    """
    point = point_of(found)
    shown: list[ConditionalBound] = []
    for each in found:
        if (
            shown
            and is_constant(shown[-1]) == is_constant(each)
            and (is_constant(each) or words(each, point) <= (1 + ALIKE) * words(shown[-1], point))
        ):
            shown.pop()
        if not shown or bound(each, point) < (1 - ALIKE) * bound(shown[-1], point):
            shown.append(each)
    values = [bound(each, point) for each in shown]
    while len(shown) > REGIMES:
        # The step from the one before that saves the least is left out.
        least = min(range(1, len(shown) - 1), key=lambda index: values[index - 1] / (values[index] or 1))
        del shown[least], values[least]
    return shown


def _least(view: CostView, row: CostRow, each: ConditionalBound) -> str:
    """The least Z of a regime: in full where that is short, else in its leading terms."""
    text = each.when.removeprefix("Z >= ")
    if len(text) <= SHORT:
        return FormulaText(text)
    leads = {lead_of(Poly.symbol("Z") - need, _divisors(row)) for need in each.needs if "Z" in need.names}
    known = [lead for lead in leads if lead is not None]
    if len(known) < len(leads):
        return _shown(cut(text, 2 * SHORT))
    large = grown(frozenset().union(*(lead.names for lead in known)))
    most = [one for one in known if not any(one != other and large.nonnegative(other - one) for other in known)]
    texts = sorted(map(view.text, most))
    short = f"~ {texts[0]}" if len(texts) == 1 else f"~ max({', '.join(texts)})"
    shown = min(short, text, key=len)
    return _shown(cut(shown, 2 * SHORT))


def _bound(view: CostView, row: CostRow) -> Iterator[Phrase]:
    """The lower bound for any schedule, and within which factor of it the upper bounds are."""
    if row.lower is None:
        return
    if view.at is not None:
        yield from ((each,) for each in factors(row))
        return
    found = row.attained
    least = _form(view, row.regimes[-1].lower if row.regimes else row.lower)
    if found is None or not found.floors:
        yield "lower bound: ", least, f", {COMPULSORY[row.metric]}"
    else:
        order = FormulaText(f"Omega({' + '.join(found.floors)})")
        yield "lower bound for any schedule: ", order, ", and the compulsory misses, ", least
    if found is not None:
        yield from _nearness(view, row, found)


def _nearness(view: CostView, row: CostRow, found: Attained) -> Iterator[Phrase]:
    """`asymptotically optimal where ...`, or within which factor of the lower bound."""
    known = [each for each in found.regimes if each.factor is not None]
    bounds = {each.when: each for each in row.alternatives}
    parts: list[str] = []
    for each in known[:-4:-1]:
        near = bounds.get(each.when)
        when = conditions(each.when) if near is None else _bounded("Z >=", _least(view, row, near))
        parts += ["; " * bool(parts), *with_growths(each.text), *((" where ", *when) if each.when else ())]
    if parts:
        yield (*parts, *((", if ", *conditions(" and ".join(found.under))) if found.under else ()))
    elif found.regimes and found.regimes[0].reason:
        yield (f"how near that is to the bounds is not known: {found.regimes[0].reason}",)


def _notes(view: CostView) -> Iterator[Phrase]:
    if view.on_grid and "K" in view.parameters:
        yield ("a message has K words at most, w words are ", FormulaText("ceil(w/K)"), " messages")
    if view.on_grid:
        yield ("each metric on its own critical path through the processors; memory: the most of any processor",)
        yield from _replicated(view)
    elif view.at is not None and view.cache_assumed:
        yield ("Z and L are assumed; --cache Z=..,L=.. gives others",)
    yield from ((OF_REPLACEMENT[row.metric],) for row in view.rows if row.metric in OF_REPLACEMENT)
    if view.assumptions:
        yield "assuming ", *[piece for each in view.assumptions for piece in (", ", *conditions(each))][1:]
    trusted = sorted({name for row in view.rows for name in row.declared})
    if trusted:
        yield (f"uses declared costs: {', '.join(trusted)}",)
    if view.contracts:
        yield from _ensured(view.contracts)


def _ensured(found: Sequence[Contract]) -> Iterator[Phrase]:
    """How many claims hold, and those that do not, with the sizes at which they fail."""
    yield (tally(found),)
    for each in found:
        if each.outcome != "holds":
            at = f"at {point_text(each.point)}: " if each.point else ""
            yield (f"{each.outcome}: {each.text}: {at}{each.reason}",)
    if any(each.outcome == "fails" for each in found):
        yield ("`archline check` shows more, and exits with 1 where a claim fails",)


@record
class PageRow:
    """A row: what it is of, its form or value, its status (or the least Z of a regime), its growth."""

    label: str
    form: Phrase
    status: Phrase = ()
    growth: Phrase = ()


def document(view: CostView, metrics: Sequence[str] | None = None) -> Document:
    """A table of metrics, one of the regimes of io, and what is known of the bounds below them."""
    found = page(view, metrics)
    rows: list[tuple[Phrase, ...]] = [((each.label,), each.form, each.status, each.growth) for each in found.metrics]
    tables = [Table(("metric", "cost", "status", "growth"), tuple(rows))]
    if found.regimes:
        regimes: list[tuple[Phrase, ...]] = [((each.label,), each.form, each.status) for each in found.regimes]
        tables.append(Table(("in the cache", "io at most", "where"), tuple(regimes)))
    if found.least:
        least: list[tuple[Phrase, ...]] = [((each.label,), each.form, each.status, each.growth) for each in found.least]
        tables.append(Table(("lower bound on", "at least", "kind", "derived"), tuple(least)))
    schedules = [("io on several processors, up to constants, ", *each) for each in found.schedules]
    heading = (found.least_heading, *found.least_notes) if found.least else ()
    lru = () if view.lru is None else (("misses of LRU caches: see ", FormulaText("--format json")),)
    return Document(
        found.title, found.doc, found.place, tuple(tables), (*found.bound, *heading, *schedules, *lru, *found.notes)
    )


NOTHING = (Fraction(0), Fraction(0))


def _least_heading(view: CommunicationView) -> Phrase:
    """What the bounds are for."""
    any_ = f"lower bounds for any {view.any}"
    if view.processors is None or view.memory is None:
        where = "" if not view.where else f", {'; '.join(view.where)}"
        return (f"{any_}{where}",)
    return (f"{any_} with {readable(view.memory)} words of memory {on_processors(view.processors)}",)


def _least_rows(view: CommunicationView) -> Iterator[PageRow]:
    """A bound a row; at sizes the larger first, with how near the words are to it."""
    valued = sorted((each for each in view.bounds if each.value is not None), key=_value, reverse=True)
    if valued:
        yield from _least_values(view, valued)
        return
    for each in view.bounds:
        yield from _in_sizes(each)
    if any(each.cases for each in view.bounds):
        yield PageRow("messages", (">= words/M",))


def _value(bound: BoundView) -> Ends:
    assert bound.value is not None
    return bound.value


def _least_values(view: CommunicationView, valued: list[BoundView]) -> Iterator[PageRow]:
    for index, each in enumerate(valued):
        assert each.value is not None
        known = view.words is not None and (index == 0 or each.value[1] < 0)
        near = factor(view.words, each.value) if known and view.words is not None else ""
        least = (FormulaText(f">= {amount(max(each.value, NOTHING))}"),)
        yield PageRow("words" if not index else "", least, (each.kind,), (near,))
    if view.least_messages is not None and view.least_messages[0] > 0:
        near = "" if view.messages is None else factor(view.messages, view.least_messages)
        least = (FormulaText(f">= {amount(view.least_messages)}"),)
        yield PageRow("messages", least, ("words over memory",), (near,))


def _in_sizes(bound: BoundView) -> Iterator[PageRow]:
    near = "; ".join(nearness_text(bound.near))
    if bound.growth is not None:
        yield PageRow("words", (FormulaText(bound.growth),), (bound.kind,), (near,))
    label, kind = "words", bound.kind
    for condition, text in bound.cases:
        where = f"where {condition}" if condition else near
        yield PageRow(label, (FormulaText(f">= {text}"),), (kind,), (where,))
        label, kind = "", ""


def _least_assumptions(view: CommunicationView) -> Iterator[Phrase]:
    """What the bounds take for granted, once each."""
    found = dict.fromkeys(each for bound in view.bounds for each in bound.assumptions)
    yield (f"assuming {'; '.join(found)} (theorems and sources: --all)",)


def _replicated(view: CostView) -> Iterator[Phrase]:
    """That the input is replicated, and that there are no bounds then."""
    if view.replicated is not None:
        yield (replicated(view.replicated, view.communication is not None),)
