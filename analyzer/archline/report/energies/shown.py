"""What the formats of energies have in common: sizes, amounts and inputs as text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction

from archline.energy.estimates import Estimate
from archline.energy.formulas import parse_formula
from archline.energy.machines import Machine
from archline.energy.model import Model
from archline.energy.results import CacheUsed, EnergyResult, Input, SymbolicEnergy
from archline.energy.units import format_amount, format_si
from archline.expr.intervals import Interval
from archline.expr.text import Formula, join_phrases, join_with_mark
from archline.numbers import readable
from archline.report.communication import factor_text
from archline.report.costs.forms import LEADING
from archline.report.view import Number

STATEMENTS = ("convention", "stated_error=error", "leaves_out")
ANSWERS = (("energy", "J"), ("time", "s"), ("power", "W"), ("flops_per_joule", "flop/J"), ("energy_delay", "J*s"))


def approximate(value: Number, digits: int) -> str:
    """A number in floating-point notation, however large: `0.00123`, `1.23e+45`."""
    try:
        return f"{float(value):.{digits}g}"
    except OverflowError:
        return format_si(Fraction(value), "", digits)


def energy_formula(model: Model) -> Formula:
    """`E = eps_op*work + ...`."""
    return Formula(parse_formula(model.expression), "E <=" if model.at_most else "E =")


def ratio_text(value: Interval | None, digits: int = 4) -> str:
    """A number without unit between bounds, each with as many digits as distinguish it from 1."""
    if value is None:
        return "-"
    ends = []
    for each in (value.lower, value.upper):
        texts = (approximate(each, more) for more in range(digits, 17))
        near = "< 1" if each < 1 else "> 1"
        ends.append(next((text for text in texts if each == 1 or text != "1"), near))
    return " .. ".join(dict.fromkeys(ends))


def answers(estimate: Estimate) -> dict[str, Interval | None]:
    """Energy, time, power, flops per joule and energy-delay product."""
    found = {name: estimate.by(name) for name, _ in ANSWERS if name != "flops_per_joule"}
    return {name: found.get(name, estimate.flops_per_joule) for name, _ in ANSWERS}


def sizes_text(at: Mapping[str, Number]) -> str:
    """`n = m = p = 64, b = 8`: names of one value together."""
    groups: dict[Number, list[str]] = {}
    for name, value in at.items():
        groups.setdefault(value, []).append(name)
    return ", ".join(" = ".join((*names, readable(value))) for value, names in groups.items())


def machine_text(machine: Machine) -> str:
    """The machine's title, with its variant."""
    _, _, variant = machine.name.partition("@")
    return f"{machine.title} ({variant})" if variant else machine.title


def cache_text(cache: CacheUsed | None) -> str:
    """`Z = 32768, L = 8 (assumed)`."""
    if cache is None:
        return ""
    policy = ", LRU replacement" if cache.policy == "lru" else ""
    return f"Z = {cache.words}, L = {cache.line}{policy}{cache.origin and f' ({cache.origin})'}"


def caches_text(caches: Mapping[str, CacheUsed]) -> str:
    """The cache of all machines, or that of each."""
    texts = {machine: cache_text(each) for machine, each in caches.items()}
    same = len(set(texts.values())) < 2
    return "; ".join(dict.fromkeys(text if same else f"{machine}: {text}" for machine, text in texts.items()))


def heading(result: EnergyResult) -> str:
    """Algorithm, machine, model, sizes and cache."""
    on = f"{result.algorithm} on {machine_text(result.machine)}, model {result.model.name}"
    procs = "" if result.processors is None or "P" in (result.at or {}) else f"P = {result.processors}"
    at = "" if not result.at else sizes_text(result.at)
    return "; ".join(filter(None, (on, ", ".join(filter(None, (at, procs))), cache_text(result.cache))))


def beyond_peak(estimates: Iterable[Estimate]) -> list[str]:
    """A warning where the time is shorter than the machine's peak allows, since the model has unlimited cores."""
    found = [(times, each.model.name) for each in estimates if (times := each.times_peak) is not None]
    if not found:
        return []
    most, model = max(found)
    end = "up to " if len({each for each, _ in found}) > 1 else ""
    return [
        f"{end}{float(most):.3g} times the machine's peak flop/s: model {model} counts unlimited cores, so time is too "
        "short and power too high (the model roofline is bounded by the peak)"
    ]


def of_forms(symbolic: SymbolicEnergy) -> Iterable[str]:
    """Where forms and growth hold, and what marks those that are shortened."""
    if symbolic.when:
        yield join_phrases("where ", join_with_mark(symbolic.when, " and "), "; for all sizes see --all")
    if symbolic.assumptions:
        yield join_phrases("assuming ", join_with_mark(symbolic.assumptions, ", "))
    ends = [each.shown for each in symbolic.metrics if each.shown is not None]
    if any(each.startswith("~") for both in ends for each in (both.lower, both.upper)):
        yield LEADING


def list_statements(model: Model) -> list[list[str]]:
    """Rows for the convention of a model, the error that its source states, and its omissions."""
    return [
        ["convention", model.convention],
        ["stated error", model.error],
        ["leaves out", "; ".join(model.leaves_out)],
    ]


def notes(result: EnergyResult) -> list[str]:
    """What to know of an answer."""
    return [*result.notes, *beyond_peak([result.estimate] if result.estimate is not None else [])]


def known_text(amount: Interval | None, unit: str) -> str:
    """`4.213 mJ`, or a dash for what is not known."""
    return "-" if amount is None else format_amount(amount, unit)


def whole(amount: Interval) -> str:
    """A count: all digits, `71794688 .. 202899456`."""
    ends = [readable(each if each.denominator == 1 else round(each, 3)) for each in (amount.lower, amount.upper)]
    return ends[0] if amount.exact else " .. ".join(ends)


def origins(inputs: Mapping[str, Input]) -> str:
    """Where the inputs are from, in a line: `all inputs derived`."""
    found = sorted({each.origin for each in inputs.values() if each.origin != "given"})
    names = {origin: [name for name, each in inputs.items() if each.origin == origin] for origin in found}
    if len(found) == 1:
        return f"all inputs {found[0]}"
    return "; ".join(f"{', '.join(names[origin])} {origin}" for origin in found)


def shares(terms: Mapping[str, Interval]) -> dict[str, Fraction]:
    """The share of each term in the sum, at the midpoints of their bounds."""
    total = sum((each.middle for each in terms.values()), Fraction(0))
    return {name: each.middle / total if total else Fraction(0) for name, each in terms.items()}


def floor(result: EnergyResult) -> list[str]:
    """What any algorithm of the same problem takes at least, and how near this one is; empty where it is not known."""
    least, estimate = result.floor, result.estimate
    if least is None or estimate is None:
        return []
    found = []
    for name, unit in (("energy", "J"), ("time", "s")):
        bound, own = least.estimate.by(name), estimate.by(name)
        if bound is not None and own is not None and bound.lower:
            near = factor_text((own.lower, own.upper), (bound.lower, bound.lower))
            found.append(f"{name} >= {format_si(bound.lower, unit)}: {near}")
    if not found:
        return []
    head = f"for any {least.any} with this memory, from lower bounds on words and messages"
    return [head, *found, f"assuming {'; '.join(least.assumptions)}"]
