"""Render the strong scaling of a program as text and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from archline.energy.fixed_memory import FixedMemory
from archline.energy.scaling import PerfectRange, ScaleStep, Scaling
from archline.expr.intervals import Interval
from archline.numbers import exact
from archline.report import json
from archline.report.energies import shown
from archline.report.energies.formats import floor_document, with_unit
from archline.report.layout import Columns, Indented, Part, page

QUANTITIES = {"time*P": "in time", "energy": "in energy"}


def text(scaling: Scaling, width: int) -> str:
    """A row for each number of processors, the ranges, and how P times each term of the time grows."""
    known = [each for each in scaling.steps if each.result is not None]
    varied = scaling.varied
    some = known[0].result
    assert some is not None
    at = {name: value for name, value in (some.at or {}).items() if name not in (*varied, "P")}
    on = f"{scaling.algorithm} on {shown.machine_text(some.machine)}, model {scaling.model.name}"
    own = [name for name in varied if name != "P"]
    # What has no result has its reason below.
    head = [*own, "P", "memory", "time", "time*P: ratio", "energy", "energy: ratio", "bound by"]
    base = scaling.base("energy")
    least = "" if base is None else f" of what it is on {shown.whole(base.processors)} processors"
    perfect = f"perfect strong scaling, time*P or energy within a factor {float(scaling.factor):.4g}{least}"
    moved = [] if scaling.moved is None else [f"P*words is {_ratio(scaling.moved)} times as much"]
    return page(
        width,
        "; ".join(filter(None, (on, shown.sizes_text(at)))),
        [Columns([head, *(_row(scaling, each) for each in scaling.steps)])],
        [perfect, Indented([Columns([row for each in scaling.ranges for row in _range(each)]), *moved])],
        _floors(known),
        [
            "growth of P times each term of the time",
            Indented([Columns([[name, *each] for name, each in scaling.growth.items()])]),
        ],
        [] if scaling.fixed_memory is None else _fixed_memory(scaling.fixed_memory),
        [f"assuming {', '.join(scaling.assumptions)}"] if scaling.assumptions else [],
    )


def _fixed_memory(found: FixedMemory) -> Iterator[Part]:
    """How the energy grows in P where M, the memory of a processor, stays."""
    title = "growth of the energy in P, M words of memory a processor fixed"
    if not found.sizes:
        yield f"{title}: {found.reason}"
        return
    yield f"{title}: {', '.join(f'{name} = {value}' for name, value in found.sizes.items())}"
    ends = " <= ".join(filter(None, (_either(found.least, "max"), "M", _either(found.most, "min"))))
    verdict = found.reason if found.growth is None else f"Theta({found.growth}), free of P: Theta(1) in P, proved"
    rows = [["within", f"{ends} up to constants, for {', '.join(found.facts)}"], ["energy", verdict]]
    rows += [[each.name, "unknown" if each.upper is None else f"O({each.text})"] for each in found.terms]
    if found.beyond is not None:
        grows = f"{found.beyond.term} is Omega({found.beyond.lower}) and grows with P"
        rows.append(["beyond", f"M has to fall as {found.beyond.memory} does: {grows}"])
    yield Indented([Columns(rows)])


def _either(ends: Sequence[str], function: str) -> str:
    return ends[0] if len(ends) == 1 else f"{function}({', '.join(ends)})" if ends else ""


def _floors(steps: Sequence[ScaleStep]) -> list[str]:
    """How near the energy of each step is to that of any algorithm of the problem, where that is known."""
    ratios = []
    for each in steps:
        floor = None if each.result is None else each.result.floor
        own = None if each.result is None or each.result.estimate is None else each.result.estimate.energy
        least = None if floor is None else floor.estimate.energy
        if floor is None or own is None or least is None or not least.lower:
            return []
        ratios.append((own.upper / least.lower, floor))
    if not ratios:
        return []
    low, high = (f"{float(pick(ratio for ratio, _ in ratios)):.4g}" for pick in (min, max))
    floor = ratios[0][1]
    within = f"a factor {high}" if low == high else f"factors {low} .. {high}"
    return [f"energy within {within} of the lower bound for any {floor.any} with the same memory on as many processors"]


def _row(scaling: Scaling, step: ScaleStep) -> list[str]:
    own = [str(value) for name, value in step.sizes.items() if name != "P"]
    if step.result is None:
        return [*own, str(step.sizes.get("P", "-")), *["-"] * 6]
    estimate = step.result.estimate
    assert estimate is not None
    memory = "-" if "memory" not in step.result.inputs else shown.approximate(step.amount("memory").upper, 4)
    return [
        *own,
        shown.whole(step.processors),
        memory if step.fits else f"{memory} (no room)",
        shown.known_text(estimate.time, "s"),
        _ratio(scaling.ratio(step, "time*P")),
        shown.known_text(estimate.energy, "J"),
        _ratio(scaling.ratio(step, "energy")),
        estimate.binds,
    ]


def _ratio(ratio: Interval | None) -> str:
    if ratio is None:
        return "-"
    return " .. ".join(dict.fromkeys(f"{float(each):.3f}" for each in (ratio.lower, ratio.upper)))


def _range(found: PerfectRange) -> list[list[str]]:
    name = QUANTITIES[found.quantity]
    if found.first is None or found.last is None:
        return [[name, "nowhere"], ["  below", found.below]]
    span = f"P = {shown.whole(found.first.processors)} .. {shown.whole(found.last.processors)}"
    return [[name, span], ["  below", found.below], ["  above", found.above]]


def json_text(scaling: Scaling) -> str:
    """The same as a document; numbers are exact strings in base units."""
    return json.render(
        {
            **json.pick(scaling, "algorithm", "model=model.name", "varied"),
            "factor": exact(scaling.factor),
            "steps": [_step(scaling, each) for each in scaling.steps],
            "ranges": {each.quantity: _ends(each) for each in scaling.ranges},
            "moved_words_ratio": scaling.moved,
            "energy_at_fixed_memory": None if scaling.fixed_memory is None else _in_json(scaling.fixed_memory),
            "assumptions": scaling.assumptions,
            "growth": {
                name: {"of_P_times_term": growth, "verdict": verdict}
                for name, (growth, verdict) in scaling.growth.items()
            },
        }
    )


def _ends(found: PerfectRange) -> Mapping[str, Any]:
    steps = {"first": found.first, "last": found.last}
    lowest = {name: None if each is None else exact(each.processors.lower) for name, each in steps.items()}
    return {**lowest, **json.pick(found, "below", "above")}


def _in_json(found: FixedMemory) -> Mapping[str, Any]:
    beyond = found.beyond
    return {
        **json.pick(found, "sizes", "facts", "memory_at_least=least", "memory_at_most=most"),
        "energy": None if found.growth is None else f"Theta({found.growth})",
        "free_of_P": found.growth is not None,
        "reason": found.reason,
        "terms": {each.name: None if each.upper is None else f"O({each.text})" for each in found.terms},
        "certificates": [each.certificate for each in found.proofs],
        "beyond": None
        if beyond is None
        else {
            **json.pick(beyond, "memory", "term"),
            "grows": f"Omega({beyond.lower})",
            "certificate": beyond.proof.certificate,
        },
    }


def _step(scaling: Scaling, step: ScaleStep) -> Mapping[str, Any]:
    sizes = {name: str(value) for name, value in step.sizes.items()}
    if step.result is None:
        return {"sizes": sizes, "reason": step.reason}
    estimate, floor = step.result.estimate, step.result.floor
    assert estimate is not None
    return {
        "sizes": sizes,
        "inputs": {name: each.amount for name, each in step.result.inputs.items()},
        "fits": step.fits,
        "time": with_unit(estimate.time, "s"),
        "energy": with_unit(estimate.energy, "J"),
        "ratios": {name: scaling.ratio(step, name) for name in QUANTITIES},
        "binds": estimate.binds,
        **({} if floor is None else {"lower_bound": floor_document(floor)}),
    }
