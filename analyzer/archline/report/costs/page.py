"""Render the first page of costs: a row for each metric, cache misses by regimes, and their distance to lower bounds.

Long forms are given by their leading terms, marked `~`; `archline cost --all` has them in full.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import chain
from typing import TYPE_CHECKING

from archline.costs import communication as grid_notes
from archline.expr import build as b
from archline.expr.build import ONE
from archline.expr.text import Formula, format_conjunction, format_fact, join_phrases, join_with_mark, prefix_relation
from archline.growth.growths import divide_expressions, make_order_formula
from archline.language.metrics import OF_CACHE
from archline.numbers import format_point, format_readable, format_short
from archline.records import replace
from archline.report import communication as communication_page
from archline.report import derivation, lru
from archline.report.cost_view import CostRow, CostView
from archline.report.costs.forms import (
    IO_LABEL,
    LEADING_TERMS_NOTE,
    PageRow,
    find_divisors,
    iterate_bound_sentences,
    iterate_metric_rows,
    iterate_regime_rows,
    label_metric,
)
from archline.report.documents import Document, Section, Table, text
from archline.report.findings import summarise_claims
from archline.report.view import Contract, format_location

if TYPE_CHECKING:
    from archline.claims.communication_bounds import Ends
    from archline.report.communication import BoundView, CommunicationView

REPLACEMENT_NOTES = {
    "writebacks": "writebacks: under a replacement policy with the fewest misses, which need not minimise bytes",
    "bytes": "bytes: the minimum over all replacement policies of fetches plus writebacks, in words of 8 B",
}
"""The notes on the replacement policy that metrics assume."""
_LOG_OF_QUOTIENT = re.compile(r"log2\([^()]*/")
PARALLELISM = Formula(b.binary("/", b.name("work"), b.name("span")))
"""The parallelism."""


def make_page(view: CostView, metrics: Sequence[str] | None = None) -> Document:
    """Return the first page of costs: tables of all or some metrics and of the regimes of io, and lower bounds."""
    case = view.case()
    grown = (case or view).list_growths(metrics, without=("span", "io") if view.on_grid and metrics is None else ())
    rows = [row for row, *_ in grown]
    lines: list[PageRow] = []
    for row, growth, why in grown:
        # A reason that several metrics share is stated once.
        stated = {line.form for line in lines if not line.label}
        lines += [x for x in iterate_metric_rows(view, row, growth, why) if row.why is None or x.form not in stated]
    if metrics is None and not view.on_grid and (ratio := _make_parallelism_row(view)) is not None:
        lines.insert(next((i for i, line in enumerate(lines) if line.label == IO_LABEL), len(lines)), ratio)
    of_cache = [row for row in rows if row.metric in OF_CACHE]
    regimes = [[] if view.at is not None else list(iterate_regime_rows(view, row)) for row in of_cache]
    titles = [label_metric(row) if view.at is None and len(of_cache) > 1 else "" for row in of_cache]
    by_cache = [
        Section(title, (_make_regime_table(row, regime), *iterate_bound_sentences(view, row)))
        for title, row, regime in zip(titles, of_cache, regimes, strict=True)
    ]
    notes = list(_iterate_notes(view))
    if case is not None:
        notes.insert(0, join_phrases("where ", case.case_when, "; for all sizes see --all"))
    if any("~" in line.form + line.status for line in (*lines, *chain(*regimes))):
        names = " and ".join(", ".join(row.metric for row in of_cache).rsplit(", ", 1))
        with_lines = (
            (f"; of {names}, for ", Formula(b.lower_bound_facts(("L",), 2)[0])) if names and not view.on_grid else ()
        )
        notes.append(
            join_phrases(
                LEADING_TERMS_NOTE if view.on_grid else f"{LEADING_TERMS_NOTE}{_describe_slow_sizes(rows)}", *with_lines
            )
        )
    if any(_LOG_OF_QUOTIENT.search(growth) for _, growth, _ in grown):
        notes.append("inside growth orders log2(w) stands for log2(2 + w), so that it is at least 1")
    costs = Table(
        ("metric", "cost", "status", "growth"), tuple(line.cells for line in lines), headed=False, below=(2, 3)
    )
    communication = view.communication
    shown = communication is not None and communication.bounds and {"words", "messages"} & {*(metrics or ("words",))}
    doc, place = (view.doc or "", format_location(view.place)) if view.at is None else ("", "")
    return Document(
        _format_title(view),
        doc,
        place,
        (
            (costs, *by_cache),
            (_make_bounds_section(communication),) if shown and communication is not None else (),
            list_schedule_sections(view),
            () if view.lru is None else tuple(lru.iterate_page_items(view, view.lru)),
            notes,
        ),
    )


def _make_regime_table(row: CostRow, rows: Sequence[PageRow]) -> Table:
    head = ("in the cache", f"{row.metric} at most", "where")
    return Table(head, tuple(row_of_regime.cells[:3] for row_of_regime in rows), headed=False, below=(2,))


def list_schedule_sections(view: CostView) -> tuple[Section, ...]:
    """Return a section with the bounds on the io on several processors; none if they are not known."""
    lines = tuple(derivation.iterate_schedule_bounds(view.schedules))
    return (Section("io on several processors, up to constants", (Section("", lines),)),) if lines else ()


def iterate_warning_notes(view: CostView) -> Iterator[str]:
    """Yield a note for each finding about the algorithm."""
    for warning in view.warnings:
        yield f"{warning.place}: {warning.severity}: {warning.message} [{warning.code}]".replace("\n", "; ")


def _describe_slow_sizes(rows: Sequence[CostRow]) -> str:
    """State that block sizes grow more slowly than any power of the other sizes; empty if there are none."""
    names = sorted(frozenset().union(*map(find_divisors, rows)))
    return f", with {', '.join(names)} growing more slowly than any power of the others" if names else ""


def _format_title(view: CostView) -> str:
    if view.at is None:
        return view.algorithm
    sizes = {name: value for name, value in view.at.items() if name not in ("Z", "L")}
    at = [format_point(sizes)] if sizes else []
    if {"Z", "L"} <= view.at.keys() and not view.on_grid:
        words, line = view.at["Z"], view.at["L"]
        at.append(f"Z = {format_readable(words)}, L = {format_readable(line)} ({format_readable(words // line)} lines)")
    return f"{view.algorithm} at {'; '.join(at)}"


def _make_parallelism_row(view: CostView) -> PageRow | None:
    """Return the row of work over span: its growth, or its value at sizes; None if it has none."""
    rows = {row.metric: row for row in view.rows}
    work, span = rows.get("work"), rows.get("span")
    if work is None or span is None:
        return None
    if view.serial and work.lower is not None and not (work.declared or span.declared):
        return (
            PageRow("parallelism", PARALLELISM, "", make_order_formula("Theta", ONE))
            if view.at is None
            else PageRow("parallelism", "1")
        )
    if view.at is not None:
        if work.values is None or span.values is None or not span.values.lower:
            return None
        ends = [Fraction(work.values.lower) / span.values.upper, Fraction(work.values.upper) / span.values.lower]
        low, high = map(format_short, ends)
        return PageRow("parallelism", low if low == high else f"{low} .. {high}")
    bounds = [(order.upper, order) for row in (work, span) for order in row.growths]
    match [(upper, order) for upper, order in bounds if upper is not None and order.tight and not order.is_zero]:
        case [(above, first), (below, second)] if len(bounds) == 2:
            where = format_conjunction({format_fact(fact): fact for fact in (*first.where, *second.where)}.values())
            growth = join_phrases(
                make_order_formula("Theta", divide_expressions(above, below)), *((" where ", where) if where else ())
            )
            return PageRow("parallelism", PARALLELISM, "", growth)
        case _:
            return PageRow("parallelism", PARALLELISM)


def _iterate_notes(view: CostView) -> Iterator[str]:
    yield from iterate_warning_notes(view)
    if view.on_grid and "K" in view.parameters:
        count = Formula(b.call("ceil", b.binary("/", b.name("w"), b.name("K"))))
        yield join_phrases("a message has K words at most, w words are ", count, " messages")
    if view.on_grid:
        yield "each metric is along its own critical path; memory is the maximum over the processors"
        yield from _iterate_replication_notes(view)
    elif view.at is not None and view.cache_assumed:
        yield "Z and L are assumed; --cache Z=..,L=.. gives others"
    yield from (f"{counted.name}: {counted.explained}" for counted in view.iterations)
    yield from view.meanings
    yield from (REPLACEMENT_NOTES[row.metric] for row in view.rows if row.metric in REPLACEMENT_NOTES)
    if view.assumptions:
        yield join_phrases("assuming ", join_with_mark(view.assumptions, ", "))
    if view.divides:
        yield "`/` divides exactly; `//` rounds down"
    trusted = sorted({name for row in view.rows for name in row.declared})
    if trusted:
        yield f"uses declared costs: {', '.join(trusted)}"
    if view.contracts:
        yield from _summarise_claims(view.contracts)


def _summarise_claims(claims: Sequence[Contract]) -> Iterator[str]:
    """Yield the numbers of claims by outcome, and the claims that do not hold, with the sizes at which they fail."""
    yield summarise_claims(claims)
    for claim in claims:
        if claim.outcome != "holds":
            at = f"at {format_point(claim.point)}: " if claim.point else ""
            yield f"{claim.outcome}: {claim.text}: {at}{claim.reason}"
    if any(claim.outcome == "fails" for claim in claims):
        yield "`archline check` shows more, and exits with 1 if a claim fails"


ZERO_ENDS = (Fraction(0), Fraction(0))


def _make_bounds_section(view: CommunicationView) -> Section:
    """Return the lower bounds on words and messages, with their assumptions."""
    rows = tuple(row.cells for row in _iterate_bound_rows(view))
    table = Table(("lower bound on", "at least", "kind", "derived"), rows, headed=False, below=(3,))
    return Section(_format_bounds_heading(view), (table, *_iterate_bound_assumptions(view)))


def _format_bounds_heading(view: CommunicationView) -> str:
    """Describe the problem, and the memory and processors, that the bounds are for."""
    any_ = f"lower bounds for any {view.any}"
    if view.processors is None or view.memory is None:
        where = "" if not view.where else f", {'; '.join(view.where)}"
        return f"{any_}{where}"
    processors = communication_page.format_processor_count(view.processors)
    return f"{any_} with {format_readable(view.memory)} words of memory {processors}"


def _iterate_bound_rows(view: CommunicationView) -> Iterator[PageRow]:
    """Yield a row for each lower bound; at sizes in descending order, with the ratio of the words to it."""
    valued = sorted((bound for bound in view.bounds if bound.value is not None), key=_require_value, reverse=True)
    if valued:
        yield from _iterate_evaluated_bound_rows(view, valued)
        return
    for bound in view.bounds:
        yield from _iterate_symbolic_rows(bound)
    if any(bound.cases for bound in view.bounds):
        yield PageRow("messages", ">= words/M")


def _require_value(bound: BoundView) -> Ends:
    assert bound.value is not None
    return bound.value


def _iterate_evaluated_bound_rows(view: CommunicationView, valued: list[BoundView]) -> Iterator[PageRow]:
    for index, bound in enumerate(valued):
        assert bound.value is not None
        shown = view.words is not None and (index == 0 or bound.value[1] < 0)
        near = (
            communication_page.format_ratio_to_bound(view.words, bound.value)
            if shown and view.words is not None
            else ""
        )
        yield PageRow(
            "words" if not index else "",
            communication_page.make_bound_formula(max(bound.value, ZERO_ENDS)),
            bound.kind,
            near,
        )
    if view.least_messages is not None and view.least_messages[0] > 0:
        near = (
            ""
            if view.messages is None
            else communication_page.format_ratio_to_bound(view.messages, view.least_messages)
        )
        yield PageRow("messages", communication_page.make_bound_formula(view.least_messages), "words over memory", near)


def _iterate_symbolic_rows(bound: BoundView) -> Iterator[PageRow]:
    near = join_with_mark(communication_page.describe_nearness(bound.near), "; ")
    if bound.growth is not None:
        yield PageRow("words", bound.growth, bound.kind, near)
    label, kind = "words", bound.kind
    for condition, least in bound.cases:
        where = join_phrases("where ", condition) if condition else near
        yield PageRow(label, prefix_relation(">=", least), kind, where)
        label, kind = "", ""


def _iterate_bound_assumptions(view: CommunicationView) -> Iterator[str]:
    """Yield the assumptions of all bounds, without repetition."""
    assumptions = dict.fromkeys(assumption for bound in view.bounds for assumption in bound.assumptions)
    yield f"assuming {'; '.join(assumptions)} (theorems and sources: --all)"


def _iterate_replication_notes(view: CostView) -> Iterator[str]:
    """State that the input is replicated, so that the lower bounds do not apply."""
    if view.replicated is not None:
        yield grid_notes.describe_replication(view.replicated, view.communication is not None)


def render_first_page(view: CostView, width: int, metrics: Sequence[str] | None = None) -> str:
    """Return the page as text, with a line on further options."""
    page = make_page(view, metrics)
    *blocks, notes = page.blocks
    more = f"more: --all, --explain{'' if view.at is not None else ', --at'}"
    return text(replace(page, blocks=(*blocks, [*notes, more])), width)
