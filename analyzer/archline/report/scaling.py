"""Render the strong scaling of a program as text and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from archline.energy.fixed_memory import FixedMemory
from archline.energy.scaling import PerfectRange, ScaleStep, Scaling
from archline.expr.intervals import Interval
from archline.numbers import format_exact
from archline.report import json
from archline.report.energies import shown
from archline.report.energies.formats import make_amount_document, make_floor_document
from archline.report.layout import Columns, Indented, Part, render_page

QUANTITY_LABELS = {"time*P": "in time", "energy": "in energy"}


def render_scaling(scaling: Scaling, width: int) -> str:
    """Return a row for each number of processors, the ranges, and the growth of P times each term of the time."""
    solved = [step for step in scaling.steps if step.result is not None]
    varied = scaling.varied
    some = solved[0].result
    assert some is not None
    at = {name: value for name, value in (some.at or {}).items() if name not in (*varied, "P")}
    on = f"{scaling.algorithm} on {shown.format_machine(some.machine)}, model {scaling.model.name}"
    names = [name for name in varied if name != "P"]
    # A step without a result has its reason below.
    head = [*names, "P", "memory", "time", "time*P: ratio", "energy", "energy: ratio", "bound by"]
    base = scaling.base("energy")
    least = "" if base is None else f" of what it is on {shown.format_count(base.processors)} processors"
    perfect = f"perfect strong scaling, time*P or energy within a factor {float(scaling.factor):.4g}{least}"
    moved = [] if scaling.moved is None else [f"P*words is {_format_ratio(scaling.moved)} times as much"]
    return render_page(
        width,
        "; ".join(filter(None, (on, shown.format_sizes(at)))),
        [Columns([head, *(_make_step_row(scaling, step) for step in scaling.steps)])],
        [perfect, Indented([Columns([row for part in scaling.ranges for row in _make_range_rows(part)]), *moved])],
        _compare_with_lower_bounds(solved),
        [
            "growth of P times each term of the time",
            Indented([Columns([[name, *cells] for name, cells in scaling.growth.items()])]),
        ],
        [] if scaling.fixed_memory is None else _describe_fixed_memory(scaling.fixed_memory),
        [f"assuming {', '.join(scaling.assumptions)}"] if scaling.assumptions else [],
    )


def _describe_fixed_memory(fixed: FixedMemory) -> Iterator[Part]:
    """Yield the growth of the energy in P while M, the memory of a processor, is fixed."""
    title = "growth of the energy in P, for M words of memory per processor"
    if not fixed.sizes:
        yield f"{title}: {fixed.reason}"
        return
    yield f"{title}: {', '.join(f'{name} = {value}' for name, value in fixed.sizes.items())}"
    ends = " <= ".join(filter(None, (_format_extremum(fixed.least, "max"), "M", _format_extremum(fixed.most, "min"))))
    verdict = fixed.reason if fixed.growth is None else f"Theta({fixed.growth}), free of P: Theta(1) in P, proved"
    rows = [["within", f"{ends} up to constants, for {', '.join(fixed.facts)}"], ["energy", verdict]]
    rows += [[term.name, "unknown" if term.upper is None else f"O({term.text})"] for term in fixed.terms]
    if fixed.beyond is not None:
        grows = f"{fixed.beyond.term} is Omega({fixed.beyond.lower}) and grows with P"
        rows.append(["beyond", f"M has to fall as {fixed.beyond.memory} does: {grows}"])
    yield Indented([Columns(rows)])


def _format_extremum(ends: Sequence[str], function: str) -> str:
    return ends[0] if len(ends) == 1 else f"{function}({', '.join(ends)})" if ends else ""


def _compare_with_lower_bounds(steps: Sequence[ScaleStep]) -> list[str]:
    """Compare the energies of the steps with the lower bound for any algorithm; empty if a step has no bound."""
    ratios = []
    for step in steps:
        floor = None if step.result is None else step.result.floor
        energy = None if step.result is None or step.result.estimate is None else step.result.estimate.energy
        least = None if floor is None else floor.estimate.energy
        if floor is None or energy is None or least is None or not least.lower:
            return []
        ratios.append((energy.upper / least.lower, floor))
    if not ratios:
        return []
    low, high = (f"{float(pick(ratio for ratio, _ in ratios)):.4g}" for pick in (min, max))
    floor = ratios[0][1]
    within = f"a factor {high}" if low == high else f"factors {low} .. {high}"
    return [f"energy within {within} of the lower bound for any {floor.any} with the same memory on as many processors"]


def _make_step_row(scaling: Scaling, step: ScaleStep) -> list[str]:
    sizes = [str(value) for name, value in step.sizes.items() if name != "P"]
    if step.result is None:
        return [*sizes, str(step.sizes.get("P", "-")), *["-"] * 6]
    estimate = step.result.estimate
    assert estimate is not None
    memory = "-" if "memory" not in step.result.inputs else shown.format_approximate(step.amount("memory").upper, 4)
    return [
        *sizes,
        shown.format_count(step.processors),
        memory if step.fits else f"{memory} (no room)",
        shown.format_amount_or_dash(estimate.time, "s"),
        _format_ratio(scaling.ratio(step, "time*P")),
        shown.format_amount_or_dash(estimate.energy, "J"),
        _format_ratio(scaling.ratio(step, "energy")),
        estimate.binds,
    ]


def _format_ratio(ratio: Interval | None) -> str:
    if ratio is None:
        return "-"
    return " .. ".join(dict.fromkeys(f"{float(end):.3f}" for end in (ratio.lower, ratio.upper)))


def _make_range_rows(perfect: PerfectRange) -> list[list[str]]:
    name = QUANTITY_LABELS[perfect.quantity]
    if perfect.first is None or perfect.last is None:
        return [[name, "nowhere"], ["  below", perfect.below]]
    span = f"P = {shown.format_count(perfect.first.processors)} .. {shown.format_count(perfect.last.processors)}"
    return [[name, span], ["  below", perfect.below], ["  above", perfect.above]]


def render_json(scaling: Scaling) -> str:
    """Return the scaling as a JSON document; numbers are exact strings in base units."""
    return json.render(
        {
            **json.pick(scaling, "algorithm", "model=model.name", "varied"),
            "factor": format_exact(scaling.factor),
            "steps": [_make_step_document(scaling, step) for step in scaling.steps],
            "ranges": {perfect.quantity: _make_range_document(perfect) for perfect in scaling.ranges},
            "moved_words_ratio": scaling.moved,
            "energy_at_fixed_memory": None
            if scaling.fixed_memory is None
            else _make_fixed_memory_document(scaling.fixed_memory),
            "assumptions": scaling.assumptions,
            "growth": {
                name: {"of_P_times_term": growth, "verdict": verdict}
                for name, (growth, verdict) in scaling.growth.items()
            },
        }
    )


def _make_range_document(perfect: PerfectRange) -> Mapping[str, Any]:
    steps = {"first": perfect.first, "last": perfect.last}
    lowest = {name: None if step is None else format_exact(step.processors.lower) for name, step in steps.items()}
    return {**lowest, **json.pick(perfect, "below", "above")}


def _make_fixed_memory_document(fixed: FixedMemory) -> Mapping[str, Any]:
    beyond = fixed.beyond
    return {
        **json.pick(fixed, "sizes", "facts", "memory_at_least=least", "memory_at_most=most"),
        "energy": None if fixed.growth is None else f"Theta({fixed.growth})",
        "free_of_P": fixed.growth is not None,
        "reason": fixed.reason,
        "terms": {term.name: None if term.upper is None else f"O({term.text})" for term in fixed.terms},
        "certificates": [proof.certificate for proof in fixed.proofs],
        "beyond": None
        if beyond is None
        else {
            **json.pick(beyond, "memory", "term"),
            "grows": f"Omega({beyond.lower})",
            "certificate": beyond.proof.certificate,
        },
    }


def _make_step_document(scaling: Scaling, step: ScaleStep) -> Mapping[str, Any]:
    sizes = {name: str(value) for name, value in step.sizes.items()}
    if step.result is None:
        return {"sizes": sizes, "reason": step.reason}
    estimate, floor = step.result.estimate, step.result.floor
    assert estimate is not None
    return {
        "sizes": sizes,
        "inputs": {name: value.amount for name, value in step.result.inputs.items()},
        "fits": step.fits,
        "time": make_amount_document(estimate.time, "s"),
        "energy": make_amount_document(estimate.energy, "J"),
        "ratios": {name: scaling.ratio(step, name) for name in QUANTITY_LABELS},
        "binds": estimate.binds,
        **({} if floor is None else {"lower_bound": make_floor_document(floor)}),
    }
