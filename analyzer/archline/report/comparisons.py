"""Render a comparison as text, JSON, CSV, LaTeX and Markdown: points with ratio and verdict, crossovers and growth."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from archline.compare.growth import GrowthRelation
from archline.compare.results import ComparedPoint, CostComparison, Pair
from archline.compare.verdicts import EXECUTED, OPEN, PROVED
from archline.expr.text import join_phrases, join_with_mark
from archline.growth.short_forms import short_growth
from archline.numbers import exact, readable
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
from archline.report.energies.formats import cache, decimal, decimal_ends
from archline.report.growth import proof_text
from archline.report.layout import Indented


def as_text(found: CostComparison, width: int, *, certificates: bool = False, growth: bool = False) -> str:
    """The comparison."""
    return text(document(found, short=False, growth=growth, certificates=certificates), width)


def heading(found: CostComparison) -> str:
    """What is compared."""
    model = "" if found.by == "bytes" else f"model {found.model.name}"
    if not found.points:
        return ", ".join(filter(None, (f"growth of {' and '.join(found.algorithms)}", model)))
    what = found.by.replace("_", "-")
    named = f"{what}({found.algorithms[0]})/{what}({found.algorithms[1]})"
    subject = named if len(found.algorithms) == 2 else f"{what} of {', '.join(found.algorithms)}"
    machines = list(dict.fromkeys(shown.machine_text(each.machine) for each in found.points))
    on = machines[0] if len(machines) == 1 else f"{len(machines)} machines"
    what = ", ".join(filter(None, (subject, model, on)))
    return "; ".join(filter(None, (what, shown.caches_text(found.caches))))


def _varying_parts(found: CostComparison) -> tuple[bool, bool, bool]:
    """Whether there are several machines, several pairs, and processors that the sizes shown do not say."""
    names = found.variable.split("=")
    counted = any(
        {*each.processors} - {each.at.get("P") if not found.variable or "P" in names else 0} for each in found.points
    )
    return len({each.machine.name for each in found.points}) > 1, len(found.growth) > 1, counted


def column_heads(found: CostComparison) -> list[str]:
    """The heads of the columns of points."""
    machines, pairs, processors = _varying_parts(found)
    size = found.variable.replace("=", " = ") or "sizes"
    what = [size, *(["P"] * processors), *(["machine"] * machines), *(["pair"] * pairs)]
    return [*what, "ratio", "verdict", "deciding term"]


def point_cells(found: CostComparison, point: ComparedPoint) -> list[str]:
    """The cells of a point."""
    machines, pairs, processors = _varying_parts(found)
    names = found.variable.split("=")
    size = str(point.at[names[0]]) if found.variable else shown.sizes_text(point.at)
    count = " / ".join(dict.fromkeys(map(readable, point.processors)))
    what = [size, *([count] * processors), *([point.machine.name] * machines), *([" / ".join(point.pair)] * pairs)]
    return [*what, shown.ratio_text(point.verdict.ratio), _verdict(point), point.verdict.decides]


def _verdict(point: ComparedPoint) -> str:
    verdict = point.verdict
    why = f" ({_named(verdict.reason, point.pair)})" if verdict.reason else ""
    if point.winner is not None:
        return f"{point.winner} takes less: {verdict.verdict}{why}"
    if verdict.verdict in (PROVED, EXECUTED):
        why = "" if verdict.verdict == PROVED else f" ({_named(verdict.reason, point.pair)})"
        return f"the same: {verdict.verdict}{why}"
    return f"{verdict.verdict}{why}"


def _named(reason: str, pair: Pair) -> str:
    for letter, name in zip("AB", pair, strict=True):
        reason = re.sub(rf"\bof {letter}\b", f"of {name}", reason)
    return reason


def notes(found: CostComparison) -> Iterable[str]:
    """Crossovers, and what the numbers mean."""
    for each in found.crossovers:
        where = f"at {each.end}" if each.exact else f"between {each.start} and {each.end}"
        on = f" on {each.machine}" if _varying_parts(found)[0] else ""
        ends = f"{each.before} takes less up to {each.start}, {each.after} from {each.end} on"
        yield f"crossover {where} of {each.variable.replace('=', ' = ')}{on}: {ends}"
    yield found.data
    if found.without:
        yield f"by time: {found.without} for an energy"
    if found.by != "bytes":
        yield f"convention: {found.model.convention}"
        yield f"stated error of the model: {found.model.error}"
        yield from beyond_peak(found)
    if any(each.verdict.verdict == OPEN for each in found.points):
        cached = " or another cache" if found.caches else ""
        yield f"undecided: the bounds overlap; runs on generated data (--execute){cached} may decide"


def beyond_peak(found: CostComparison) -> list[str]:
    """A warning where times that are compared are shorter than a machine's peak allows; energy depends on none."""
    if found.by in ("energy", "bytes"):
        return []
    # Without what time is proportional to, it is not known.
    points = [each for each in found.points if each.machine.quantities.keys() >= set(found.model.scale)]
    return shown.beyond_peak(each for point in points for each in (point.first, point.second) if each is not None)


def growth_line(found: CostComparison, pair: Pair, relations: Mapping[str, GrowthRelation]) -> str:
    """The relations of growth in a line; `--growth` has them with the growths themselves."""
    kinds: dict[str, list[str]] = {}
    for name, each in relations.items():
        if not name.startswith("energy."):
            kinds.setdefault(_relation(each), []).append(name)
    said = "; ".join(f"{', '.join(names)}: {kind}" for kind, names in kinds.items())
    return f"{_growth_title(found, pair)}: {said} (--growth shows it)"


def _growth_title(found: CostComparison, pair: Pair) -> str:
    facts = dict.fromkeys(fact for each in found.growth[pair].values() for fact in each.facts)
    # The facts of the case are said once, in its note.
    said = {*found.assumptions, *found.implied, *found.when}
    more = [fact for fact in facts if fact not in said]
    return f"growth of {pair[0]} relative to {pair[1]}" + (f" where {' and '.join(more)}" if more else "")


def case_note(found: CostComparison) -> list[str]:
    """That growth is of several processors along each axis, and how many the grids have where they differ."""
    lines = [f"growth where {' and '.join(found.when)}; for all sizes see --all"] if found.when else []
    if len(set(found.processors.values())) > 1:
        lines.append(f"processors: {', '.join(f'{text} of {name}' for name, text in found.processors.items())}")
    return lines


def growth_row(found: CostComparison, name: str, relation: GrowthRelation) -> tuple[str, ...]:
    """A metric, the relation, and the growth of both where they differ."""
    first, second = relation.first or "unknown", relation.second or "unknown"
    alike = first == second and relation.relation == "same"
    if found.shorten:
        first, second = short_growth(first), short_growth(second)
    return name, _relation(relation), first, "" if alike else second


def _relation(relation: GrowthRelation) -> str:
    return {
        "less": "lower order",
        "greater": "higher order",
        "same": "equal" if relation.ratio == "1" else "same order",
        "unknown": {"O": "at most the order", "Omega": "at least the order"}.get(
            relation.bound, relation.bound or "open"
        ),
    }[relation.relation]


MAX_SHORT_POINTS = 12
"""So many points are shown on a short page, from the smallest sizes to the largest."""


def document(
    found: CostComparison, *, short: bool = True, growth: bool = False, certificates: bool = False
) -> Document:
    """A table of points, notes, and tables of how costs grow where they are asked for or there are no points."""
    blocks: list[Sequence[Item]] = []
    if found.points:
        step = -(-len(found.points) // MAX_SHORT_POINTS) if short else 1
        rows = tuple(tuple(point_cells(found, each)) for each in found.points[::step])
        skipped = (f"one point in {step} is shown",) if step > 1 else ()
        blocks += [(Table(tuple(column_heads(found)), rows),), (*skipped, *notes(found))]
    for pair, relations in found.growth.items():
        if growth or certificates or not found.points:
            blocks.append((_growth(found, pair, relations, certificates),))
        else:
            blocks.append((growth_line(found, pair, relations),))
    assumed = (join_phrases("assuming ", join_with_mark(found.assumptions, ", ")),) if found.assumptions else ()
    return Document(heading(found), "", "", (*blocks, (*case_note(found), *assumed)))


def _growth(found: CostComparison, pair: Pair, relations: Mapping[str, GrowthRelation], certificates: bool) -> Section:
    rows = tuple(growth_row(found, name, each) for name, each in relations.items())
    proofs = [(name, each.proofs) for name, each in relations.items()] if certificates else []
    lines = (
        line for name, of in proofs for each in of for line in (f"{name}:", Indented(proof_text(each.certificate)))
    )
    return Section(_growth_title(found, pair), (Table(("metric", "relation", *pair), rows), Verbatim(tuple(lines))))


def as_latex(found: CostComparison, width: int, *, certificates: bool = False, growth: bool = False) -> str:
    """Arrays and sentences, for a paper."""
    return latex(document(found, short=False, growth=growth))


def as_markdown(found: CostComparison, width: int, *, certificates: bool = False, growth: bool = False) -> str:
    """Tables and notes, for a README or a pull request."""
    return markdown(document(found, short=False, growth=growth))


def as_csv(found: CostComparison, width: int, *, certificates: bool = False, growth: bool = False) -> str:
    """The table; numbers are decimals in base units."""
    if not found.points:
        grown = [
            [*pair, name, relation.relation, relation.ratio or ""]
            for pair, relations in found.growth.items()
            for name, relation in relations.items()
        ]
        return json.csv_text([["first", "second", "quantity", "relation", "ratio"], *grown])
    sizes = list(dict.fromkeys(name for each in found.points for name in each.at))
    processors = ["first_P", "second_P"] if any(each.processors for each in found.points) else []
    values = [f"{which}_{end}" for which in ("first", "second", "ratio") for end in ("lower", "upper")]
    named = ["machine", "model", "by", "first", "second"]
    rows = [[*sizes, *named, *processors, *values, "less", "verdict", "decides"]]
    for each in found.points:
        at = [str(each.at.get(name, "")) for name in sizes]
        count = [decimal(one) for one in each.processors] or [""] * len(processors)
        numbers = decimal_ends((*each.amounts(found.by), each.verdict.ratio))
        about = [each.machine.name, found.model.name, found.by, *each.pair]
        rows.append([*at, *about, *count, *numbers, each.winner or "", each.verdict.verdict, each.verdict.decides])
    return json.csv_text(rows)


def as_json(found: CostComparison, width: int, *, certificates: bool = False, growth: bool = False) -> str:
    """The document."""
    pairs = [
        {
            "algorithms": pair,
            "growth": {name: _grows(each, certificates) for name, each in relations.items()},
        }
        for pair, relations in found.growth.items()
    ]
    used = list(dict.fromkeys(found.caches.values()))
    crossover = "variable", "from=start", "to=end", "machine", "pair", "less_before=before", "less_after=after"
    document = {
        "version": json.VERSION,
        **json.pick(found, "algorithms", "model=model.name", "by"),
        "growth": pairs[0]["growth"],
        "pairs": pairs,
        "points": [_point_document(found, each) for each in found.points],
        "crossovers": [json.pick(each, *crossover) for each in found.crossovers],
        "cache": cache(used[0] if len(used) == 1 else None),
        "caches": {name: cache(each) for name, each in found.caches.items()},
        **json.pick(
            found, "assumptions", "growth_when=when", "convention=model.convention", "stated_error=model.error"
        ),
        "notes": [*filter(None, [found.without]), *beyond_peak(found)],
        "data": found.data,
    }
    return json.render(document)


def _grows(relation: GrowthRelation, certificates: bool) -> Mapping[str, Any]:
    document = json.pick(relation, "relation", "ratio", "bound", "first", "second", "facts")
    document["bound"] = relation.bound or None
    if certificates:
        document["certificates"] = [each.certificate for each in relation.proofs]
    return document


def _point_document(found: CostComparison, point: ComparedPoint) -> Mapping[str, Any]:
    verdict = point.verdict
    return {
        "at": json.point(point.at),
        "processors": [exact(each) for each in point.processors],
        "machine": point.machine.name,
        "model": found.model.name,
        "pair": point.pair,
        **json.pick(verdict, "ratio", "less", "verdict", "decides", "reason"),
        "values": point.amounts(found.by),
        "executions": [json.pick(each, "data", "ratio") for each in verdict.executions],
    }
