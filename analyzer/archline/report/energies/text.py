"""Make the page of an energy, at sizes or in symbols, and the table of several energies at sizes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from archline.energy.estimates import Estimate
from archline.energy.formulas import parse_formula
from archline.energy.levels import iterate_levels
from archline.energy.model import Model
from archline.energy.quantities import CONSTANTS, PER_LEVEL
from archline.energy.results import EnergyResult, SymbolicEnergy, SymbolicMetric
from archline.energy.units import format_amount, format_binary
from archline.expr.build import ONE
from archline.expr.intervals import Interval
from archline.expr.text import Formula, join_phrases, join_with_mark, prefix_relation
from archline.expr.tree import substitute_names
from archline.growth.growths import simplify_with_unit_constants
from archline.language import syntax as s
from archline.report.documents import CodeText, Document, Item, Section, Table, text
from archline.report.energies import shown
from archline.report.layout import Columns, render_page

BAR_WIDTH = 30
LABELS = {
    "energy": "energy", "time": "time", "power": "power", "flops_per_joule": "flops per joule",
    "energy_delay": "energy-delay",
}  # fmt: skip


def as_text(results: Sequence[EnergyResult], width: int) -> str:
    """Return a single result in full; else the results at sizes as a table, and each result in symbols."""
    if len(results) == 1:
        return text(make_page(results[0]), width)
    numbers = [result for result in results if result.estimate is not None]
    shown_parts = [_render_results_table(numbers, width)] if numbers else []
    shown_parts += [text(make_page(result), width) for result in results if result.estimate is None]
    return "\n".join(shown_parts)


def make_page(result: EnergyResult) -> Document:
    """Return the page of an estimated energy, at sizes or in symbols."""
    blocks = (
        _iterate_numeric_blocks(result)
        if result.symbolic is None
        else _iterate_symbolic_blocks(result, result.symbolic)
    )
    return Document(shown.format_heading(result), "", "", tuple(blocks))


# At sizes
def _iterate_numeric_blocks(result: EnergyResult) -> Iterator[Sequence[Item]]:
    estimate = result.estimate
    assert estimate is not None
    amounts = shown.collect_answers(estimate)
    rows: list[tuple[str, ...]] = []
    for name, unit in shown.ANSWERS:
        amount = amounts[name]
        if amount is not None:
            rows.append((LABELS[name], format_amount(amount, unit), _select_formula(result, name)))
            if name == "energy":
                rows += _iterate_term_rows(estimate)
    executed = any(value.origin == "executed" for value in result.inputs.values())
    rests = f"{shown.describe_origins(result.inputs)}; {result.data}" if executed else result.data
    yield (Table(("", "amount", "formula or share"), tuple(rows), headed=False),)
    if estimate.model.levels:
        first, *rest = _make_level_rows(estimate)
        yield (Table(tuple(first), tuple(map(tuple, rest))),)
    yield (_make_labelled_table([*_iterate_facts(result, estimate), *shown.list_statements(result.model)]),)
    yield tuple(filter(None, (rests, _describe_width(estimate), *shown.list_notes(result))))


def _select_formula(result: EnergyResult, name: str) -> str:
    formulas = {"energy": shown.build_energy_formula, "time": _build_time_formula}
    return formulas[name](result.model) if name in formulas else ""


def _build_time_formula(model: Model) -> Formula:
    """Return the model's formula of time, with its definitions expanded and without factors that convert units."""
    return Formula(_remove_constants(model.formula("time")), "T =")


def _remove_constants(formula: s.Expr) -> s.Expr:
    return simplify_with_unit_constants(substitute_names(formula, dict.fromkeys(CONSTANTS, ONE)))


def _iterate_term_rows(estimate: Estimate) -> Iterator[tuple[str, ...]]:
    for name, share in shown.compute_shares(estimate.terms).items():
        bar = "#" * round(BAR_WIDTH * share) or ("." if share else "")
        yield f"  {name}", format_amount(estimate.terms[name], "J"), f"{float(100 * share):5.1f} %  {bar}"


def _make_level_rows(estimate: Estimate) -> list[list[str]]:
    """Return a row for each level of caches, and for slow memory."""
    rows = [["level", "capacity", "line", "serves", "misses", "time", "of T", "energy"]]
    for level in iterate_levels(estimate):
        size, line = ("" if amount is None else format_binary(amount) for amount in (level.capacity, level.line))
        share = "" if level.share is None else f"{float(100 * level.share):.1f} %"
        few = level.misses is not None and level.misses.upper < 10**6
        misses = (
            "" if level.misses is None else shown.format_count(level.misses) if few else format_amount(level.misses, "")
        )
        times = (shown.format_amount_or_dash(level.time, "s"), share, shown.format_amount_or_dash(level.energy, "J"))
        rows.append([level.name, size, line, format_amount(level.served, "B"), misses, *times])
    return _drop_unknown_columns(rows)


def _drop_unknown_columns(rows: Sequence[Sequence[str]]) -> list[list[str]]:
    """Return the rows without the columns whose values are all unknown; the first row is the head."""
    columns = [index for index, column in enumerate(zip(*rows, strict=True)) if {*column[1:]} != {"-"}]
    return [[row[index] for index in columns] for row in rows]


def _iterate_facts(result: EnergyResult, estimate: Estimate) -> Iterator[list[str]]:
    """Yield labels and facts: the binding side, the inputs, definitions, figures, bounds and elasticities."""
    if estimate.binds:
        following = " or ".join(estimate.next_sides)
        margin = "" if estimate.margin is None else f", {shown.format_ratio(estimate.margin, 3)} times {following}"
        yield ["bound by", f"{estimate.binds}{margin}"]
    for name, value in result.inputs.items():
        if value.origin != "given" and name not in PER_LEVEL:
            provenance = ", ".join(filter(None, (value.origin, value.status)))
            yield ["inputs", f"{name} = {shown.format_count(value.amount)} ({provenance})"]
    if result.converted:
        yield ["where", _format_definitions(result)]
    for name, amount in estimate.figures.items():
        figure = estimate.model.figures[name]
        unit = "" if figure.unit == "1" else f" {figure.unit}"
        yield [name, f"{shown.format_ratio(amount, 3)}{unit}{f'   {figure.source}' if figure.source else ''}"]
    yield from (["lower bound", line] for line in shown.list_lower_bounds(result))
    for name in ("time", "energy"):
        if name in estimate.reasons:
            yield [f"no {LABELS[name]}", f"{estimate.reasons[name]} (--parameter gives it)"]
    exact = all(amount.exact for amount in estimate.amounts.values())
    large = [f"{name} {value:.3f}" for name, value in result.elasticities.items() if abs(value) >= 0.0005]
    yield [f"elasticities{'' if exact else ' (upper bounds)'}", ", ".join(large) or "none"]


def _format_definitions(result: EnergyResult) -> str:
    values = {name: _remove_constants(parse_formula(text)) for name, text in result.converted.items()}
    return join_with_mark((Formula(value, f"{name} =") for name, value in values.items()), ", ")


def _make_labelled_table(rows: Sequence[Sequence[str]]) -> Table:
    """Return a table of labels and values; only the first of successive rows with the same label shows it."""
    once = (("" if at and rows[at - 1][0] == row[0] else row[0], row[1]) for at, row in enumerate(rows))
    return Table(("", ""), tuple(once), headed=False)


def _describe_width(estimate: Estimate) -> str:
    energy = estimate.energy
    if energy is None or energy.exact or not energy.upper:
        return ""
    widest = max(estimate.terms, key=lambda name: estimate.terms[name].width)
    if 2 * energy.lower < energy.upper:
        apart = f"a factor of {float(energy.upper / energy.lower):.3g}" if energy.lower else "any factor"
        return f"the bounds on the energy are {apart} apart; the widest term is {widest}"
    return f"the energy is known within {float(100 * energy.width / energy.upper):.2g} %; the widest term is {widest}"


# Several
def _render_results_table(results: Sequence[EnergyResult], width: int) -> str:
    cells = list(map(_make_result_cells, results))
    shared = {name: value for name, value in cells[0].items() if all(row[name] == value for row in cells)}
    columns = [name for name in cells[0] if name not in shared]
    rows = [[*columns, "energy", "time", "power", "Gflop/J", "bound by"]]
    for named, result in zip(cells, results, strict=True):
        estimate = result.estimate
        assert estimate is not None
        amounts = shown.collect_answers(estimate)
        numbers = [shown.format_amount_or_dash(amounts[name], unit) for name, unit in shown.ANSWERS[:3]]
        rows.append(
            [*(named[name] for name in columns), *numbers, _format_giga(amounts["flops_per_joule"]), estimate.binds]
        )
    heading = [f"model {value}" if name == "model" else value for name, value in shared.items()]
    caches = {result.machine.name: shown.format_cache(result.cache) for result in results if result.cache is not None}
    common = dict.fromkeys(caches.values())
    by_machine = [f"{name}: {text}" for name, text in caches.items()] if len(common) > 1 else []
    notes = dict.fromkeys([*(result.data for result in results), *by_machine, *_iterate_notes(results)])
    reasons = dict.fromkeys(f"-: {reason}" for result in results for reason in _iterate_reasons(result))
    title = "; ".join([*filter(None, heading), *(common if len(common) == 1 else ())])
    return render_page(width, title, [Columns(_drop_unknown_columns(rows))], (*reasons, *notes))


def _iterate_notes(results: Sequence[EnergyResult]) -> Iterable[str]:
    """Yield the notes of all results, with the machine if there are several; one warning of times beyond the peak."""
    several = len({result.machine.name for result in results}) > 1
    for result in results:
        yield from (f"{result.machine.name}: {note}" if several else note for note in result.notes)
        if result.model.at_most:
            yield f"stated error of {result.model.name}: {result.model.error}"
    yield from shown.warn_beyond_peak(result.estimate for result in results if result.estimate is not None)


def _iterate_reasons(result: EnergyResult) -> Iterable[str]:
    estimate = result.estimate
    assert estimate is not None
    return [f"{name} is unknown: {reason}" for name, reason in estimate.reasons.items() if name in LABELS]


def _make_result_cells(result: EnergyResult) -> dict[str, str]:
    at = shown.format_sizes(result.at or {})
    return {"algorithm": result.algorithm, "machine": result.machine.name, "model": result.model.name, "at": at}


def _format_giga(amount: Interval | None) -> str:
    if amount is None:
        return "-"
    return shown.format_ratio(Interval(amount.lower / 10**9, amount.upper / 10**9), 3)


# In symbols
def _iterate_symbolic_blocks(result: EnergyResult, symbolic: SymbolicEnergy) -> Iterator[Sequence[Item]]:
    model = result.model
    where = (join_phrases("where ", _format_definitions(result)),) if result.converted else ()
    yield (
        shown.build_energy_formula(model),
        CodeText(f"= {symbolic.coefficients}"),
        _build_time_formula(model),
        *where,
    )
    metrics = tuple(row for metric in symbolic.metrics for row in _make_metric_rows(metric))
    yield (Table(("metric", "status", "bounds", "growth"), metrics, headed=False),)
    yield tuple(shown.iterate_form_notes(symbolic))
    if symbolic.growth:
        grown = tuple(symbolic.growth.items())
        yield (Section("growth of the energy and of its terms", (Table(("", ""), grown, headed=False),)),)
    yield (_make_labelled_table(shown.list_statements(model)),)


def _make_metric_rows(metric: SymbolicMetric) -> Iterator[tuple[str, ...]]:
    growth = metric.growth or ""
    bounds, exact = metric.shown, metric.bounds
    assert bounds is not None
    assert exact is not None
    if exact.lower == exact.upper:
        yield metric.name, metric.status, prefix_relation("=", bounds.upper), growth
        return
    yield metric.name, metric.status, prefix_relation(">=", bounds.lower), growth
    if not metric.regimes:
        yield "", "", prefix_relation("<=", bounds.upper), ""
    for when, upper in metric.chosen:
        yield "", "", prefix_relation("<=", upper), join_phrases("where ", when)
