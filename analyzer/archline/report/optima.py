"""Render an optimum as plain text: the objective, the variables with their ranges, what binds, and other answers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

from archline.energy.optimise.problem import BRACKETED, INFEASIBLE, LATTICE, EnergyOptimum, Number, Optimisation, Span
from archline.energy.units import format_amount
from archline.expr.intervals import Interval
from archline.numbers import format_readable
from archline.report import json
from archline.report.energies import shown
from archline.report.energies.formats import make_cache_document
from archline.report.layout import Columns, Indented, render_page

MAX_EXACT_GAP = 1e-9
"""Relative gaps below this are rounding errors."""
MAX_LISTED_VALUES = 6
"""The maximum number of values of a variable that are listed; more are shown by their number and range."""
MAX_EXACT_INTEGER = 10**15
"""Whole numbers up to this are shown with all digits."""


def render_optimum(answer: Optimisation, width: int) -> str:
    """Return the page of an optimum."""
    problem, optimum = answer.problem, answer.found
    given = ", ".join(f"{name} = {format_readable(value)}" for name, value in answer.fixed.items())
    title = f"{answer.target} on {answer.machine}, model {answer.model}: minimum {_spell_name(problem.minimise)}"
    title = "; ".join(filter(None, (title, given, shown.format_cache(answer.cache))))
    constraints = ", ".join(dict.fromkeys(constraint.text for constraint in problem.constraints))
    limits = [Indented([f"subject to {constraints}"])] if constraints else []
    if optimum.value is None:
        return render_page(width, [title, *limits], [_describe_infeasibility(optimum)])
    stated = [] if optimum.estimate is None else [Columns(shown.list_statements(optimum.estimate.model))]
    return render_page(
        width, [title, *limits], [Columns(list(_iterate_rows(answer)))], stated, list(_iterate_notes(answer))
    )


def _describe_infeasibility(optimum: EnergyOptimum) -> str:
    if optimum.status == BRACKETED:
        return "no feasible point was found, and infeasibility is not proved"
    if not optimum.conflict:
        return f"{INFEASIBLE}: no run ends at any of the {optimum.points:,} points"
    end = "exclude each other" if len(optimum.conflict) > 1 else "cannot be satisfied"
    best = f"; attainable: {', '.join(optimum.attainable)}" if optimum.attainable else ""
    return f"{INFEASIBLE}: {' and '.join(optimum.conflict)} {end}{best}"


def _iterate_rows(answer: Optimisation) -> Iterator[list[str]]:
    problem, optimum = answer.problem, answer.found
    assert optimum.value is not None
    assert optimum.lower is not None
    ends = Interval(Fraction(optimum.lower), Fraction(optimum.value))
    yield [_spell_name(problem.minimise), format_amount(ends, problem.unit), _describe_proof(optimum)]
    yield from (_make_variable_row(optimum, variable.name) for variable in problem.variables)
    estimate = optimum.estimate
    if estimate is not None:
        for name, unit in shown.ANSWERS:
            amount = shown.collect_answers(estimate)[name]
            if amount is not None and name != problem.minimise:
                yield [_spell_name(name), format_amount(amount, unit), ""]
        more = [name for name in ("P", "memory") if name in estimate.amounts.keys() - optimum.variables.keys()]
        yield from ([name, _format_count(estimate.amounts[name]), ""] for name in more)
    yield ["binding", "; ".join(optimum.binding) or "nothing", ""]
    yield from ([f"{name} =", text, "closed form"] for name, text in optimum.closed_form.items())


def _make_variable_row(optimum: EnergyOptimum, name: str) -> list[str]:
    """Make the row of a variable: its values at the optimum, and those within 1 % of the optimum."""
    value, near = optimum.variables[name], optimum.ranges.get(name)
    free = " (any of these)" if isinstance(value, tuple) else ""
    around = _format_values(optimum.some_near.get(name, ()), _format_span(near, 4)) if near else ""
    around = "no other value" if near == (value, value) else around
    values = _format_values(optimum.some.get(name, ()), _format_span(value))
    return [name, f"{values}{free}", f"{around} within 1 %" if around else ""]


def _format_count(amount: Interval) -> str:
    ends = dict.fromkeys(_format_number(end) for end in (amount.lower, amount.upper))
    return " .. ".join(ends)


def _describe_proof(optimum: EnergyOptimum) -> str:
    if optimum.status == BRACKETED:
        assert optimum.bound is not None
        return f"lower bound {optimum.bound:.6g}: a gap of {optimum.gap:.2g}"
    if optimum.method == LATTICE:
        return f"the minimum of {optimum.points:,} points"
    return "optimal" if optimum.gap is not None and optimum.gap <= MAX_EXACT_GAP else "optimal up to 1e-6"


def _iterate_notes(answer: Optimisation) -> Iterator[str]:
    optimum = answer.found
    free = [name for name, value in optimum.variables.items() if isinstance(value, tuple)]
    if free:
        yield f"the values above are for {', '.join(f'{name} = {_format_number(optimum.at[name])}' for name in free)}"
    end = "upper" if answer.problem.upper else "lower"
    if optimum.lower != optimum.value:
        yield f"costs known only within bounds count at their {end} bounds"
        if "power" in (answer.problem.minimise, *(constraint.bounded for constraint in answer.problem.constraints)):
            yield "power counts at opposite bounds of energy and time: `archline energy` prints closer bounds"
    yield from _list_optimum_notes(optimum)
    if answer.assumptions:
        yield f"assuming {', '.join(answer.assumptions)}"


def _list_optimum_notes(optimum: EnergyOptimum) -> list[str]:
    return [*optimum.notes, *shown.warn_beyond_peak([] if optimum.estimate is None else [optimum.estimate])]


def _spell_name(name: str) -> str:
    return {"energy_delay": "energy-delay", "flops_per_joule": "flops per joule"}.get(name, name)


def _format_span(value: Number | Span, digits: int = 6) -> str:
    ends = value if isinstance(value, tuple) else (value,)
    return " .. ".join(_format_number(end, digits) for end in ends)


def _format_values(values: Sequence[int], span: str) -> str:
    """Return `span`, or if only some `values` in it are optimal, these values or their number."""
    listed = ", ".join(map(str, values)) if len(values) <= MAX_LISTED_VALUES else f"{len(values)} of the values {span}"
    return listed or span


def _format_number(value: Number | Fraction, digits: int = 6) -> str:
    if isinstance(value, float) and not value.is_integer():
        return f"{value:.{digits}g}"
    number = Fraction(value)
    whole = number.denominator == 1 and abs(number) <= MAX_EXACT_INTEGER
    return str(number) if whole or isinstance(value, int) else shown.format_approximate(number, digits)


def render_json(answer: Optimisation) -> str:
    """Return the answer as JSON; numbers are in base units, rounded as floating-point numbers are."""
    problem, optimum = answer.problem, answer.found
    return json.render(
        {
            "version": 1,
            **json.pick(answer, "status=found.status", "target", "machine", "model", "minimised=problem.minimise"),
            "end": "upper" if problem.upper else "lower",
            "objective": {**json.pick(optimum, "value", "lower"), "unit": problem.unit},
            **json.pick(optimum, "bound", "gap"),
            "variables": {
                name: _make_ends_document(value, optimum.some.get(name, ()))
                for name, value in optimum.variables.items()
            },
            "at": optimum.at,
            "ranges": {
                name: _make_ends_document(value, optimum.some_near.get(name, ()))
                for name, value in optimum.ranges.items()
            },
            **json.pick(optimum, "binding", "conflict", "attainable"),
            "closed_form": optimum.closed_form or None,
            **json.pick(optimum, "method", "points"),
            "notes": _list_optimum_notes(optimum),
            "cache": make_cache_document(answer.cache),
            **({} if optimum.estimate is None else json.pick(optimum.estimate.model, *shown.STATEMENTS)),
            "assumptions": answer.assumptions,
        }
    )


def _make_ends_document(value: Number | Span, some: Sequence[int]) -> Any:
    if not isinstance(value, tuple):
        return value
    return {"from": value[0], "to": value[1], **({"values": some} if some else {})}
