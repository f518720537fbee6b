"""An optimum as plain text: the objective, the variables with their ranges, what binds, and the other answers there."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from archline.energy.optimise.problem import BRACKETED, INFEASIBLE, LATTICE, EnergyOptimum, Number, Optimisation, Span
from archline.energy.units import amount_text
from archline.expr.intervals import Interval
from archline.numbers import readable
from archline.report import json
from archline.report.energies import shown
from archline.report.layout import Columns, Indented, page

EXACT = 1e-9
"""Gaps below this are those of rounding."""
LARGEST_EXACT = 10**15
"""Whole numbers up to this are shown with all digits."""


def text(answer: Optimisation, width: int) -> str:
    """The answer."""
    problem, found = answer.problem, answer.found
    given = ", ".join(f"{name} = {readable(value)}" for name, value in answer.fixed.items())
    title = f"{answer.target} on {answer.machine}, model {answer.model}: least {_named(problem.minimise)}"
    title = "; ".join(filter(None, (title, given, shown.cache_text(answer.cache))))
    constraints = ", ".join(dict.fromkeys(each.text for each in problem.constraints))
    limits = [Indented([f"subject to {constraints}"])] if constraints else []
    blocks = [[_none(found)]] if found.value is None else [[Columns(list(_rows(answer)))], list(_notes(answer))]
    return page(width, [title, *limits], *blocks)


def _none(found: EnergyOptimum) -> str:
    if found.status == BRACKETED:
        return "no feasible point was found, and infeasibility is not proved"
    if not found.conflict:
        return f"{INFEASIBLE}: no run ends at any of the {found.points:,} points"
    end = "exclude each other" if len(found.conflict) > 1 else "cannot hold"
    best = f"; attainable: {', '.join(found.attainable)}" if found.attainable else ""
    return f"{INFEASIBLE}: {' and '.join(found.conflict)} {end}{best}"


def _rows(answer: Optimisation) -> Iterator[list[str]]:
    problem, found = answer.problem, answer.found
    assert found.value is not None
    assert found.lower is not None
    ends = Interval(Fraction(found.lower), Fraction(found.value))
    yield [_named(problem.minimise), amount_text(ends, problem.unit), _proved(found)]
    for each in problem.variables:
        value, near = found.variables[each.name], found.ranges.get(each.name)
        free = " (any of these)" if isinstance(value, tuple) else ""
        alone = near is not None and near == (value, value)
        around = "" if near is None else f"{'alone' if alone else _span(near, 4)} within 1 %"
        yield [each.name, f"{_span(value)}{free}", around]
    estimate = found.estimate
    if estimate is not None:
        for name, unit in shown.ANSWERS:
            amount = shown.answers(estimate)[name]
            if amount is not None and name != problem.minimise:
                yield [_named(name), amount_text(amount, unit), ""]
        more = [name for name in ("P", "memory") if name in estimate.amounts.keys() - found.variables.keys()]
        yield from ([name, _count(estimate.amounts[name]), ""] for name in more)
    yield ["binding", "; ".join(found.binding) or "nothing", ""]
    yield from ([f"{name} =", text, "closed form"] for name, text in found.closed_form.items())


def _count(amount: Interval) -> str:
    ends = dict.fromkeys(_number(end) for end in (amount.lower, amount.upper))
    return " .. ".join(ends)


def _proved(found: EnergyOptimum) -> str:
    if found.status == BRACKETED:
        assert found.bound is not None
        return f"lower bound {found.bound:.6g}: a gap of {found.gap:.2g}"
    if found.method == LATTICE:
        return f"the least of {found.points:,} points"
    return "optimal" if found.gap is not None and found.gap <= EXACT else "optimal up to 1e-6"


def _notes(answer: Optimisation) -> Iterator[str]:
    found = answer.found
    free = [name for name, value in found.variables.items() if isinstance(value, tuple)]
    if free:
        yield f"the values above are those at {', '.join(f'{name} = {_number(found.at[name])}' for name in free)}"
    end = "upper" if answer.problem.upper else "lower"
    if found.lower != found.value:
        yield f"costs that are only bounded count at their {end} ends"
        if "power" in (answer.problem.minimise, *(each.bounded for each in answer.problem.constraints)):
            yield "power counts with its energy and time at opposite ends: `energy` has closer bounds on it"
    yield from found.notes
    if answer.assumptions:
        yield f"assuming {', '.join(answer.assumptions)}"


def _named(name: str) -> str:
    return {"energy_delay": "energy-delay", "flops_per_joule": "flops per joule"}.get(name, name)


def _span(value: Number | Span, digits: int = 6) -> str:
    ends = value if isinstance(value, tuple) else (value,)
    return " .. ".join(_number(each, digits) for each in ends)


def _number(value: Number | Fraction, digits: int = 6) -> str:
    if isinstance(value, float) and not value.is_integer():
        return f"{value:.{digits}g}"
    number = Fraction(value)
    whole = number.denominator == 1 and abs(number) <= LARGEST_EXACT
    return str(number) if whole or isinstance(value, int) else shown.approximate(number, digits)


def document(answer: Optimisation) -> str:
    """The answer as JSON; numbers are in base units, rounded as floating-point numbers are."""
    problem, found = answer.problem, answer.found
    return json.render(
        {
            "version": 1,
            **json.pick(answer, "status=found.status", "target", "machine", "model", "minimised=problem.minimise"),
            "end": "upper" if problem.upper else "lower",
            "objective": {**json.pick(found, "value", "lower"), "unit": problem.unit},
            **json.pick(found, "bound", "gap"),
            "variables": {name: _ends(value) for name, value in found.variables.items()},
            "at": found.at,
            "ranges": {name: _ends(value) for name, value in found.ranges.items()},
            **json.pick(found, "binding", "conflict", "attainable"),
            "closed_form": found.closed_form or None,
            **json.pick(found, "method", "points", "notes"),
            "assumptions": answer.assumptions,
        }
    )


def _ends(value: Number | Span) -> Any:
    return {"from": value[0], "to": value[1]} if isinstance(value, tuple) else value
