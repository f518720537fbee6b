"""Render a comparison as text, JSON, CSV, LaTeX and Markdown: points with ratio and verdict, crossovers and growth."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from archline.compare.growth import GrowthRelation
from archline.compare.results import ComparedPoint, CostComparison, Pair
from archline.compare.verdicts import EXECUTED, OPEN, PROVED
from archline.expr.text import join_phrases, join_with_mark
from archline.growth.short_forms import shorten_growth
from archline.numbers import format_exact, format_readable
from archline.report import json
from archline.report.documents import (
    Document,
    Item,
    Section,
    Table,
    Verbatim,
    latex,
    markdown,
    text,
)
from archline.report.energies import shown
from archline.report.energies.formats import format_decimal, iterate_decimal_ends, make_cache_document
from archline.report.growth import describe_certificate
from archline.report.layout import Indented
from archline.report.view import SourcePlace


def as_text(comparison: CostComparison, width: int, *, certificates: bool = False, growth: bool = False) -> str:
    """Return the comparison as plain text in lines of `width`; with `certificates` the proofs of growths are listed.

    With `growth` or `certificates`, growths are tables; else a sentence for each pair, if there are points.
    """
    return text(make_page(comparison, short=False, growth=growth, certificates=certificates), width)


def format_heading(comparison: CostComparison) -> str:
    """Describe the subject of the comparison: the metric, the algorithms, the model, machines and caches."""
    model = "" if comparison.by == "bytes" else f"model {comparison.model.name}"
    if not comparison.points:
        return ", ".join(filter(None, (f"growth of {' and '.join(comparison.algorithms)}", model)))
    what = comparison.by.replace("_", "-")
    named = f"{what}({comparison.algorithms[0]})/{what}({comparison.algorithms[1]})"
    subject = named if len(comparison.algorithms) == 2 else f"{what} of {', '.join(comparison.algorithms)}"
    machines = list(dict.fromkeys(shown.format_machine(point.machine) for point in comparison.points))
    on = machines[0] if len(machines) == 1 else f"{len(machines)} machines"
    what = ", ".join(filter(None, (subject, model, on)))
    return "; ".join(filter(None, (what, shown.format_caches(comparison.caches))))


def _test_what_varies(comparison: CostComparison) -> tuple[bool, bool, bool]:
    """Test whether there are several machines, several pairs, and processor counts that differ from the P shown."""
    names = comparison.variable.split("=")
    counted = any(
        {*point.processors} - {point.at.get("P") if not comparison.variable or "P" in names else 0}
        for point in comparison.points
    )
    return len({point.machine.name for point in comparison.points}) > 1, len(comparison.growth) > 1, counted


def list_column_heads(comparison: CostComparison) -> list[str]:
    """Return the heads of the columns of the table of points."""
    machines, pairs, processors = _test_what_varies(comparison)
    size = comparison.variable.replace("=", " = ") or "sizes"
    what = [size, *(["P"] * processors), *(["machine"] * machines), *(["pair"] * pairs)]
    return [*what, "ratio", "verdict", "deciding term"]


def list_point_cells(comparison: CostComparison, point: ComparedPoint) -> list[str]:
    """Return the cells of a point in the table of points, one for each column."""
    machines, pairs, processors = _test_what_varies(comparison)
    names = comparison.variable.split("=")
    size = str(point.at[names[0]]) if comparison.variable else shown.format_sizes(point.at)
    count = " / ".join(dict.fromkeys(map(format_readable, point.processors)))
    what = [size, *([count] * processors), *([point.machine.name] * machines), *([" / ".join(point.pair)] * pairs)]
    return [*what, shown.format_ratio(point.verdict.ratio), _format_verdict(point), point.verdict.decides]


def list_comparison_sentences(comparison: CostComparison) -> list[dict[str, str]]:
    """Return what the comparison says, a sentence for each point and each pair, and how sure it is."""
    by = comparison.by.replace("_", "-")
    model = "" if comparison.by == "bytes" else f", model {comparison.model.name}"
    points = [
        {
            "metric": by,
            "text": f"{by}{model}, at {shown.format_sizes(point.at)}: ratio {shown.format_ratio(point.verdict.ratio)}, "
            f"{_format_verdict(point)}",
            "certainty": point.verdict.verdict,
        }
        for point in comparison.points
    ]
    growth = [
        {
            "metric": "growth",
            "text": format_growth_line(comparison, pair, relations),
            "certainty": PROVED if all(map(_is_known, relations.values())) else "",
        }
        for pair, relations in comparison.growth.items()
    ]
    return [*points, *growth]


def _format_verdict(point: ComparedPoint) -> str:
    verdict = point.verdict
    why = f" ({_name_algorithms(verdict.reason, point.pair)})" if verdict.reason else ""
    if point.winner is not None:
        return f"{point.winner} takes less: {verdict.verdict}{why}"
    if verdict.verdict in (PROVED, EXECUTED):
        why = "" if verdict.verdict == PROVED else f" ({_name_algorithms(verdict.reason, point.pair)})"
        return f"the same: {verdict.verdict}{why}"
    return f"{verdict.verdict}{why}"


def _name_algorithms(reason: str, pair: Pair) -> str:
    """Replace `of A` and `of B` in a reason by the names of the algorithms."""
    for letter, name in zip("AB", pair, strict=True):
        reason = re.sub(rf"\bof {letter}\b", f"of {name}", reason)
    return reason


def iterate_notes(comparison: CostComparison) -> Iterable[str]:
    """Yield the crossovers, and notes on the meaning of the numbers."""
    for crossover in comparison.crossovers:
        where = f"at {crossover.end}" if crossover.exact else f"between {crossover.start} and {crossover.end}"
        on = f" on {crossover.machine}" if _test_what_varies(comparison)[0] else ""
        ends = f"{crossover.before} takes less up to {crossover.start}, {crossover.after} from {crossover.end} on"
        yield f"crossover {where} of {crossover.variable.replace('=', ' = ')}{on}: {ends}"
    yield comparison.data
    if comparison.without:
        yield f"by time: {comparison.without} for an energy"
    if comparison.by != "bytes":
        yield f"convention: {comparison.model.convention}"
        yield f"stated error of the model: {comparison.model.error}"
        yield from warn_beyond_peak(comparison)
    if any(point.verdict.verdict == OPEN for point in comparison.points):
        cached = " or another cache" if comparison.caches else ""
        yield f"undecided: the bounds overlap; runs on generated data (--execute){cached} may decide"


def warn_beyond_peak(comparison: CostComparison) -> list[str]:
    """Warn if compared times are shorter than the peak of a machine allows; an energy does not depend on the peak."""
    if comparison.by in ("energy", "bytes"):
        return []
    # A peak is known only if the machine has the quantities that time is proportional to.
    points = [point for point in comparison.points if point.machine.quantities.keys() >= set(comparison.model.scale)]
    return shown.warn_beyond_peak(run for point in points for run in (point.first, point.second) if run is not None)


def format_growth_line(comparison: CostComparison, pair: Pair, relations: Mapping[str, GrowthRelation]) -> str:
    """Return the relations of growth in a line."""
    kinds: dict[str, list[str]] = {}
    for name, relation in relations.items():
        if not name.startswith("energy."):
            kinds.setdefault(_describe_relation(relation), []).append(name)
    text_of_kinds = "; ".join(f"{', '.join(names)}: {kind}" for kind, names in kinds.items())
    return f"{_format_growth_title(comparison, pair)}: {text_of_kinds}"


def _format_growth_title(comparison: CostComparison, pair: Pair) -> str:
    facts = dict.fromkeys(fact for relation in comparison.growth[pair].values() for fact in relation.facts)
    # The facts of the case are stated once, in its note.
    stated = {*comparison.assumptions, *comparison.implied, *comparison.when}
    more = [fact for fact in facts if fact not in stated]
    return f"growth of {pair[0]} relative to {pair[1]}" + (f" where {' and '.join(more)}" if more else "")


def list_case_notes(comparison: CostComparison) -> list[str]:
    """State the facts under which growth was derived, and the numbers of processors if the grids differ."""
    lines = [f"growth where {' and '.join(comparison.when)}; for all sizes see --all"] if comparison.when else []
    if len(set(comparison.processors.values())) > 1:
        lines.append(f"processors: {', '.join(f'{text} of {name}' for name, text in comparison.processors.items())}")
    return lines


def make_growth_row(comparison: CostComparison, name: str, relation: GrowthRelation) -> tuple[str, ...]:
    """Return a metric, the relation, and the growth of both algorithms if they differ."""
    first, second = relation.first or "unknown", relation.second or "unknown"
    alike = first == second and relation.relation == "same"
    if comparison.shorten:
        first, second = shorten_growth(first), shorten_growth(second)
    return name, _describe_relation(relation), first, "" if alike else second


def _is_known(relation: GrowthRelation) -> bool:
    return relation.relation != "unknown" or bool(relation.bound)


def _describe_relation(relation: GrowthRelation) -> str:
    return {
        "less": "lower order",
        "greater": "higher order",
        "same": "equal" if relation.ratio == "1" else "same order",
        "unknown": {"O": "at most the order", "Omega": "at least the order"}.get(
            relation.bound, relation.bound or "open"
        ),
    }[relation.relation]


MAX_SHORT_POINTS = 12
"""The maximum number of points on a short page, from the smallest sizes to the largest."""


def make_page(
    comparison: CostComparison, *, short: bool = True, growth: bool = False, certificates: bool = False
) -> Document:
    """Return the page of a comparison: a table of points, notes, and the growth of each pair.

    The growth is a table with `growth` or `certificates`, which adds the proofs, or if the points are missing; else a
    sentence. With `short` at most about MAX_SHORT_POINTS points are listed.
    """
    blocks: list[Sequence[Item]] = []
    if comparison.points:
        step = -(-len(comparison.points) // MAX_SHORT_POINTS) if short else 1
        rows = tuple(tuple(list_point_cells(comparison, point)) for point in comparison.points[::step])
        skipped = (f"one point in {step} is shown",) if step > 1 else ()
        blocks += [(Table(tuple(list_column_heads(comparison)), rows),), (*skipped, *iterate_notes(comparison))]
    for pair, relations in comparison.growth.items():
        if growth or certificates or not comparison.points:
            blocks.append((_make_growth_section(comparison, pair, relations, certificates),))
        else:
            blocks.append((f"{format_growth_line(comparison, pair, relations)} (--growth shows it)",))
    assumed = (
        (join_phrases("assuming ", join_with_mark(comparison.assumptions, ", ")),) if comparison.assumptions else ()
    )
    counted = describe_iterations(comparison)
    return Document(format_heading(comparison), "", "", (*blocks, (*list_case_notes(comparison), *counted, *assumed)))


def describe_iterations(comparison: CostComparison) -> Iterator[str]:
    """Yield the loops whose iterations a size counts, and a note on sizes that count those of a single loop."""
    named: dict[str, list[str]] = {}
    for loop in comparison.iterations:
        named.setdefault(loop.name, []).append(str(SourcePlace.of(loop.span)))
    for name, places in named.items():
        yield f"{name}: iterations of the {'loops' if len(places) > 1 else 'loop'} in {' and '.join(places)}"
    if apart := [name for name, places in named.items() if len(places) == 1]:
        yield f"growth in {', '.join(apart)} is compared only as far as it holds for any numbers of iterations"


def _make_growth_section(
    comparison: CostComparison, pair: Pair, relations: Mapping[str, GrowthRelation], certificates: bool
) -> Section:
    rows = tuple(make_growth_row(comparison, name, relation) for name, relation in relations.items())
    proofs = [(name, relation.proofs) for name, relation in relations.items()] if certificates else []
    lines = (
        line
        for name, of_metric in proofs
        for proof in of_metric
        for line in (f"{name}:", Indented(describe_certificate(proof.certificate)))
    )
    return Section(
        _format_growth_title(comparison, pair), (Table(("metric", "relation", *pair), rows), Verbatim(tuple(lines)))
    )


def as_latex(comparison: CostComparison, width: int, *, certificates: bool = False, growth: bool = False) -> str:
    """Return the comparison in LaTeX: the title, each table as a displayed `array`, each sentence as a paragraph.

    `width` and `certificates` have no effect; with `growth`, growths are tables even if there are points.
    """
    return latex(make_page(comparison, short=False, growth=growth))


def as_markdown(comparison: CostComparison, width: int, *, certificates: bool = False, growth: bool = False) -> str:
    """Return the comparison in Markdown: tables, and sentences as bullets.

    `width` and `certificates` have no effect; with `growth`, growths are tables even if there are points.
    """
    return markdown(make_page(comparison, short=False, growth=growth))


def as_csv(comparison: CostComparison, width: int, *, certificates: bool = False, growth: bool = False) -> str:
    """Return the table of points as CSV, or of growths if there are none; numbers are decimals in base units.

    `width`, `certificates` and `growth` have no effect.
    """
    if not comparison.points:
        grown = [
            [*pair, name, relation.relation, relation.ratio or ""]
            for pair, relations in comparison.growth.items()
            for name, relation in relations.items()
        ]
        return json.format_csv([["first", "second", "quantity", "relation", "ratio"], *grown])
    sizes = list(dict.fromkeys(name for point in comparison.points for name in point.at))
    processors = ["first_P", "second_P"] if any(point.processors for point in comparison.points) else []
    values = [f"{which}_{end}" for which in ("first", "second", "ratio") for end in ("lower", "upper")]
    named = ["machine", "model", "by", "first", "second"]
    rows = [[*sizes, *named, *processors, *values, "less", "verdict", "decides"]]
    for point in comparison.points:
        at = [str(point.at.get(name, "")) for name in sizes]
        count = [format_decimal(processor_count) for processor_count in point.processors] or [""] * len(processors)
        numbers = iterate_decimal_ends((*point.amounts(comparison.by), point.verdict.ratio))
        about = [point.machine.name, comparison.model.name, comparison.by, *point.pair]
        rows.append([*at, *about, *count, *numbers, point.winner or "", point.verdict.verdict, point.verdict.decides])
    return json.format_csv(rows)


def as_json(comparison: CostComparison, width: int, *, certificates: bool = False, growth: bool = False) -> str:
    """Return the comparison as JSON, exact, with the proofs if `certificates`; `width` and `growth` have no effect."""
    pairs = [
        {
            "algorithms": pair,
            "growth": {name: _make_growth_document(relation, certificates) for name, relation in relations.items()},
        }
        for pair, relations in comparison.growth.items()
    ]
    used = list(dict.fromkeys(comparison.caches.values()))
    crossover = "variable", "from=start", "to=end", "machine", "pair", "less_before=before", "less_after=after"
    document = {
        "version": json.COSTS_VERSION,
        **json.pick(comparison, "algorithms", "model=model.name", "by"),
        "growth": pairs[0]["growth"],
        "pairs": pairs,
        "points": [_make_verdict_document(comparison, point) for point in comparison.points],
        "crossovers": [json.pick(crossing, *crossover) for crossing in comparison.crossovers],
        "cache": make_cache_document(used[0] if len(used) == 1 else None),
        "caches": {name: make_cache_document(name_of_cache) for name, name_of_cache in comparison.caches.items()},
        **json.pick(
            comparison, "assumptions", "growth_when=when", "convention=model.convention", "stated_error=model.error"
        ),
        "notes": [*filter(None, [comparison.without]), *warn_beyond_peak(comparison)],
        "data": comparison.data,
        "iterations": [
            {**json.make_iterations_document(loop.counted, loop.name), "subject": loop.program}
            for loop in comparison.iterations
        ],
    }
    return json.render(document)


def _make_growth_document(relation: GrowthRelation, certificates: bool) -> Mapping[str, Any]:
    document = json.pick(relation, "relation", "ratio", "bound", "first", "second", "facts")
    document["bound"] = relation.bound or None
    if certificates:
        document["certificates"] = [proof.certificate for proof in relation.proofs]
    return document


def _make_verdict_document(comparison: CostComparison, point: ComparedPoint) -> Mapping[str, Any]:
    verdict = point.verdict
    return {
        "at": json.make_point_document(point.at),
        "processors": [format_exact(processor_count) for processor_count in point.processors],
        "machine": point.machine.name,
        "model": comparison.model.name,
        "pair": point.pair,
        **json.pick(verdict, "ratio", "less", "verdict", "decides", "reason"),
        "values": point.amounts(comparison.by),
        "executions": [json.pick(execution, "data", "ratio") for execution in verdict.executions],
    }
