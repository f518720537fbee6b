"""The costs of an algorithm in full, with all regimes and lower bounds, as text, Markdown, LaTeX and JSON."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from archline.algebra.polynomial import ZERO
from archline.analysis.cost import FEW_LINES, ReachedRegion, TouchedRegion
from archline.claims.optimality import Attained
from archline.claims.published import Published
from archline.costs.communication import replicated
from archline.numbers import exact, point_text, readable
from archline.report import derivation, lru
from archline.report.communication import block, bound_sentences
from archline.report.communication import document as bounds_document
from archline.report.cost_view import CostRow, CostView, relations
from archline.report.documents import Document, FormulaText, Phrase, Table, markdown, parts
from archline.report.findings import contracts
from archline.report.json import VERSION, contract, ends, plain, point
from archline.report.latex import RELATIONS, condition, escaped, expression
from archline.report.layout import Columns, Inside, Part, page
from archline.report.lru import document as lru_document
from archline.report.view import Number, ValueRange


def as_text(view: CostView, width: int) -> str:
    """The table of an algorithm's derived costs, its values at the point, its assumptions and contracts."""
    known, trusted = view.communication, sorted({name for row in view.rows for name in row.declared})
    assumed = ", the default cache" if view.cache_assumed else ""
    bounds = block(known) if known is not None and known.bounds else []
    values: list[Part] = []
    if view.at is not None:
        near = (factor for row in view.rows for factor in derivation.factors(row))
        values = [f"at {point_text(view.at)}{assumed}", _value_table(view), *near]
    schedules = list(derivation.schedules(view.schedules))
    return page(
        width,
        f"{view.algorithm}: {view.doc}" if view.doc else view.algorithm,
        [_cost_table(view)],
        values,
        bounds,
        [] if view.replicated is None else [replicated(view.replicated, known is not None)],
        ["io on several processors, up to constants", *schedules] if schedules else [],
        [] if view.lru is None else [*parts(lru.items(view, view.lru), width)],
        ["assuming", Inside(view.assumptions)] if view.assumptions else [],
        ["uses declared costs: " + ", ".join(trusted)] if trusted else [],
        ["ensures", Inside([Columns(contracts(view.contracts))])] if view.contracts else [],
    )


def _cost_table(view: CostView) -> Columns:
    rows = [["metric", "status", "", "cost"]]
    for row in view.rows:
        rows.extend(_bounds(view, row, row.metric))
        if row.growth is not None:
            rows.append(["", "growth", "", ", ".join(filter(None, (row.growth, row.open)))])
        if row.attained is not None:
            rows.extend(["", name, "", factor] for name, factor in derivation.attained(row.attained))
        # The kinds say nothing new of a total that is nothing, unknown, or all of one kind.
        if row.metric == "flops" and len(view.kinds) > 1 and row.lower is not None:
            for kind in view.kinds:
                rows.extend(_bounds(view, kind, f"  {kind.metric}"))
    return Columns(rows)


def _bounds(view: CostView, row: CostRow, name: str) -> Iterator[list[str]]:
    if row.lower is None or row.upper is None:
        place = f" ({row.place})" if row.place else ""
        yield [name, row.status, "?", f"{row.why}{place}"]
    status: str = row.status
    for when, lower, upper in row.cases:
        if when:
            label = f"{when}:" if when == "otherwise" else f"where {when}:"
            yield [name, row.status if lower is not None else "", "", label]
            name = status = ""
        for relation, value in relations(lower, upper):
            yield [name, status, relation, view.text(value)]
            name = status = ""
        for looked, least in row.lowers if upper is None else ():
            yield ["", "", "", f"by {looked}:"]
            yield ["", "", ">=", view.text(least)]


def _value_table(view: CostView) -> Columns:
    single = all(row.values is None or row.values.lower == row.values.upper for row in view.rows)
    rows = [["metric", "value"] if single else ["metric", "lower", "upper"]]
    for row in view.rows:
        shown = _value_cells(row.values, row.why)
        rows.append([row.metric, *(shown[:1] if single else shown)])
    return Columns(rows, (1, 2) if all(row.values is not None for row in view.rows) else ())


def _value_cells(values: ValueRange | None, reason: str | None) -> list[str]:
    if values is None:
        return [reason or "unknown", ""]
    return [readable(values.lower), readable(values.upper)]


def as_markdown(view: CostView) -> str:
    """The costs of an algorithm as a heading and a table."""
    at = [f"at {point_text(view.at)}"] if view.at is not None else []
    rows = tuple(cells for row in view.rows for cells in _rows(view, row))
    sentences: list[Phrase] = [*bound_sentences(view)]
    sentences += [("assuming ", FormulaText(each)) for each in view.assumptions]
    sentences += [(f"{each.outcome}: ", FormulaText(each.text)) for each in view.contracts]
    table = Table(("metric", "status", "lower", "upper", *at), rows)
    return markdown(Document(view.algorithm, view.doc or "", "", ((table, *sentences),)))


def _rows(view: CostView, row: CostRow) -> Iterator[tuple[Phrase, ...]]:
    """A metric, and beneath it what bounds it where conditions hold."""
    cases = list(row.cases)
    bounds: list[Phrase] = [(), ()] if cases else [(row.why or "unknown",), ()]
    if cases and not cases[0][0]:
        bounds = [_form(view, each) for each in cases.pop(0)[1:]]
    lower, upper = ("", "") if row.values is None else (readable(row.values.lower), readable(row.values.upper))
    value = "unknown" if row.values is None else lower if lower == upper else f"{lower} to {upper}"
    yield (row.metric,), (row.status,), *bounds, *(((value,),) if view.at is not None else ())
    for when, *both in cases:
        where: Phrase = (when,) if when == "otherwise" else ("where ", FormulaText(when))
        yield (), where, *(_form(view, each) for each in both), *(((),) if view.at is not None else ())


def _form(view: CostView, bound: Any) -> Phrase:
    return () if bound is None else (FormulaText(view.text(bound)),)


def as_latex(view: CostView) -> str:
    """The costs of an algorithm as an aligned display."""
    rows = [line for row in view.rows for line in _row(row, view)]
    rows += _any_algorithm(view)
    comments = [] if view.replicated is None else [f"% {replicated(view.replicated, view.communication is not None)}"]
    display = " \\\\\n".join(rows)
    return "\n".join([f"% {view.algorithm}", *comments, r"\begin{align*}", display, r"\end{align*}"]) + "\n"


def _any_algorithm(view: CostView) -> list[str]:
    """Lower bounds on words for any algorithm of the same problem."""
    found = view.communication
    lines = []
    for bound in () if found is None else found.bounds:
        of = rf"\quad \text{{for any {escaped(found.any if found is not None else '')}, {bound.kind}}}"
        if bound.growth is not None:
            inner = expression(bound.growth.removeprefix("Omega(").removesuffix(")"))
            lines.append(rf"  \mathrm{{words}} &= \Omega\left({inner}\right) {of}")
        for when, text in bound.cases:
            lines.append(rf"  \mathrm{{words}} &\ge {expression(text)} {of} {condition(when) if when else ''}".rstrip())
    return lines


def _row(row: CostRow, view: CostView) -> list[str]:
    name = rf"\mathrm{{{row.metric}}}(\text{{{escaped(view.algorithm)}}}) "
    if row.lower is None or row.upper is None:
        return [rf"  {name}&\quad \text{{unknown: {escaped(row.why or '')}}}"]
    if row.exact:
        value = f" = {exact(row.values.lower)}" if row.values is not None else ""
        return [f"  {name}&= {expression(view.tree(row.lower))}{value}"]
    found: list[str] = []
    for when, lower, upper in row.cases:
        where = condition(when) if when else ""
        for relation, bound in relations(lower, upper):
            found.append(rf"  {name}&{RELATIONS[relation]} {expression(view.tree(bound))} {where}".rstrip())
            name = ""
    return [*found, *(rf"  &{value} \quad \text{{at these sizes}}" for value in _values(row))]


def _values(row: CostRow) -> list[str]:
    """The bounds at sizes, which may be tighter than their closed forms."""
    if row.values is None:
        return []
    lower, upper = exact(row.values.lower), exact(row.values.upper)
    return [f"= {lower}"] if lower == upper else [rf"\ge {lower}", rf"\le {upper}"]


def as_document(view: CostView) -> dict[str, Any]:
    """`archline cost`."""
    document: dict[str, Any] = {
        "version": VERSION,
        "algorithm": view.algorithm,
        "parameters": view.parameters,
        "symbols": view.symbols,
        "assumptions": view.assumptions,
    }
    if view.at is not None:
        document["at"] = point(view.at)
        document["cache_assumed"] = view.cache_assumed
    if view.on_grid:
        document["replicated_input"] = None if view.replicated is None else point(view.replicated)
    if view.communication is not None:
        document["communication_bounds"] = bounds_document(view.communication)
    document["costs"] = {row.metric: _cost(view, row) for row in view.rows}
    document["flops_by_kind"] = {row.metric: _cost(view, row) for row in view.kinds}
    document["ensures"] = list(map(contract, view.contracts))
    if view.schedules:
        document["schedules"] = [
            {"schedule": each.name, "bound": each.bound, "source": each.source} for each in view.schedules
        ]
    if view.lru is not None:
        document["lru"] = lru_document(view, view.lru)
    found: dict[str, Any] = plain(document, view.text)
    return found


def _cost(view: CostView, row: CostRow) -> dict[str, Any]:
    cost: dict[str, Any] = {
        "status": row.status,
        "lower": row.lower,
        "upper": row.upper,
        "growth": row.growth,
        "regimes": [
            *({"when": each.when, "lower": each.lower, "upper": each.upper} for each in row.regimes),
            *({"when": each.when, "lower": row.lower or ZERO, "upper": each.upper} for each in row.alternatives),
        ],
        "lowers": [{"by": looked, "lower": lower} for looked, lower in row.lowers],
        "reason": row.why,
        "place": row.place,
        "declared": row.declared,
    }
    if view.at is not None:
        cost["value"] = None if row.values is None else ends(row.values)
    if row.attained is not None:
        cost["any_order"] = _any_order(row, row.attained)
    if row.published is not None:
        cost["published"] = _published(row.published)
    reached = () if row.reached is None else row.reached()
    if reached:
        cost["reached"] = [_reached(each) for each in reached]
    if row.touched:
        cost["touched"] = [_in_full(view, each) for each in row.touched]
    return cost


def _in_full(view: CostView, found: TouchedRegion) -> dict[str, Any]:
    """What each call touches in full, half open."""
    box = [{"from": low, "to": high + 1} for low, high in found.box]
    sides = {half: found.half == half for half in ("lower", "upper")}
    return {"array": found.array, "box": box, "when": view.large(found), **sides}


def _reached(found: ReachedRegion) -> dict[str, Any]:
    """What calls by indices work on, half open, and their io at most where few lines fit."""
    arrays = {array: [{"from": low, "to": high + 1} for low, high in box] for array, box in found.parts}
    return {"algorithm": found.algorithm, "arrays": arrays, "lines": FEW_LINES, "upper": found.most}


def _published(found: Published) -> dict[str, Any]:
    """Lower bounds of the literature, for lines of one word."""
    bounds = [
        {"by": each.by, "source": each.source, "bound": each.text, "growth": each.relation, "times": each.times}
        for each in found.bounds
    ]
    return {"kernel": found.kernel, "bounds": bounds, "because": found.because}


def _any_order(row: CostRow, attained: Attained) -> dict[str, Any]:
    """How close the bounds are to the lower bound over all schedules, and to each other."""
    found: dict[str, Any] = {
        "omega": attained.floors,
        "under": attained.under,
        "regimes": [{"when": each.when, "factor": each.factor, "reason": each.reason} for each in attained.regimes],
    }
    if row.any_order is not None and row.values is not None:
        found["value"] = exact(row.any_order)
        found["factor"] = _ratio(row.values.upper, row.any_order)
        found["factor_between_bounds"] = _ratio(row.values.upper, row.values.lower)
    return found


def _ratio(upper: Number, lower: Number) -> str | None:
    return exact(Fraction(upper) / Fraction(lower)) if lower else None
