"""Format the sizes, amounts and inputs that all formats of energies print."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction

from archline.energy.estimates import Estimate
from archline.energy.formulas import parse_formula
from archline.energy.machines import Machine
from archline.energy.model import Model
from archline.energy.results import CacheUsed, EnergyResult, Input, SymbolicEnergy
from archline.energy.units import format_amount, format_si
from archline.expr.intervals import Interval, Number
from archline.expr.text import Formula, join_phrases, join_with_mark
from archline.numbers import format_readable
from archline.report.communication import format_ratio_to_bound
from archline.report.costs.forms import LEADING_TERMS_NOTE

STATEMENTS = ("convention", "stated_error=error", "leaves_out")
ANSWERS = (("energy", "J"), ("time", "s"), ("power", "W"), ("flops_per_joule", "flop/J"), ("energy_delay", "J*s"))


def format_approximate(value: Number, digits: int) -> str:
    """Return a number in floating-point notation of any magnitude: `0.00123`, `1.23e+45`."""
    try:
        return f"{float(value):.{digits}g}"
    except OverflowError:
        return format_si(Fraction(value), "", digits)


def build_energy_formula(model: Model) -> Formula:
    """Return the formula of a model's energy: `E = eps_op*work + ...`."""
    return Formula(parse_formula(model.expression), "E <=" if model.at_most else "E =")


def format_ratio(value: Interval | None, digits: int = 4) -> str:
    """Return a dimensionless number with its bounds, each with as many digits as distinguish it from 1."""
    if value is None:
        return "-"
    ends = []
    for end in (value.lower, value.upper):
        texts = (format_approximate(end, more) for more in range(digits, 17))
        near = "< 1" if end < 1 else "> 1"
        ends.append(next((text for text in texts if end == 1 or text != "1"), near))
    return " .. ".join(dict.fromkeys(ends))


def collect_answers(estimate: Estimate) -> dict[str, Interval | None]:
    """Return energy, time, power, flops per joule and energy-delay product by name."""
    costs = {name: estimate.by(name) for name, _ in ANSWERS if name != "flops_per_joule"}
    return {name: costs.get(name, estimate.flops_per_joule) for name, _ in ANSWERS}


def format_sizes(at: Mapping[str, Number]) -> str:
    """Return sizes as text, with the names of equal sizes together: `n = m = p = 64, b = 8`."""
    groups: dict[Number, list[str]] = {}
    for name, value in at.items():
        groups.setdefault(value, []).append(name)
    return ", ".join(" = ".join((*names, format_readable(value))) for value, names in groups.items())


def format_machine(machine: Machine) -> str:
    """Return the machine's title, with its variant."""
    _, _, variant = machine.name.partition("@")
    return f"{machine.title} ({variant})" if variant else machine.title


def format_cache(cache: CacheUsed | None) -> str:
    """Return a cache as text: `Z = 32768, L = 8 (assumed)`; empty for None."""
    if cache is None:
        return ""
    policy = ", LRU replacement" if cache.policy == "lru" else ""
    return f"Z = {cache.words}, L = {cache.line}{policy}{cache.origin and f' ({cache.origin})'}"


def format_caches(caches: Mapping[str, CacheUsed]) -> str:
    """Return the text of the caches: once if all machines have the same one, else for each machine."""
    texts = {machine: format_cache(cache) for machine, cache in caches.items()}
    same = len(set(texts.values())) < 2
    return "; ".join(dict.fromkeys(text if same else f"{machine}: {text}" for machine, text in texts.items()))


def format_heading(result: EnergyResult) -> str:
    """Return the algorithm, machine, model, sizes and cache."""
    on = f"{result.algorithm} on {format_machine(result.machine)}, model {result.model.name}"
    procs = "" if result.processors is None or "P" in (result.at or {}) else f"P = {result.processors}"
    at = "" if not result.at else format_sizes(result.at)
    return "; ".join(filter(None, (on, ", ".join(filter(None, (at, procs))), format_cache(result.cache))))


def warn_beyond_peak(estimates: Iterable[Estimate]) -> list[str]:
    """Warn if the time is shorter than the machine's peak allows, since the model has unlimited cores."""
    violations = [(times, estimate.model.name) for estimate in estimates if (times := estimate.times_peak) is not None]
    if not violations:
        return []
    most, model = max(violations)
    end = "up to " if len({ratio for ratio, _ in violations}) > 1 else ""
    return [
        f"{end}{float(most):.3g} times the machine's peak flop/s: model {model} counts unlimited cores, so time is too "
        "short and power too high (the model roofline is bounded by the peak)"
    ]


def iterate_form_notes(symbolic: SymbolicEnergy) -> Iterable[str]:
    """Yield the conditions under which forms and growth hold, and the legend of shortened forms."""
    if symbolic.when:
        yield join_phrases("where ", join_with_mark(symbolic.when, " and "), "; for all sizes see --all")
    if symbolic.assumptions:
        yield join_phrases("assuming ", join_with_mark(symbolic.assumptions, ", "))
    ends = [metric.shown for metric in symbolic.metrics if metric.shown is not None]
    if any(end.startswith("~") for both in ends for end in (both.lower, both.upper)):
        yield LEADING_TERMS_NOTE


def list_statements(model: Model) -> list[list[str]]:
    """Return rows for the convention of a model, the error that its source states, and its omissions."""
    return [
        ["convention", model.convention],
        ["stated error", model.error],
        ["leaves out", "; ".join(model.leaves_out)],
    ]


def list_notes(result: EnergyResult) -> list[str]:
    """Return the notes of a result, with a warning if its time is beyond the peak."""
    return [*result.notes, *warn_beyond_peak([result.estimate] if result.estimate is not None else [])]


def format_amount_or_dash(amount: Interval | None, unit: str) -> str:
    """Return an amount with its unit, `4.213 mJ`; a dash if it is unknown."""
    return "-" if amount is None else format_amount(amount, unit)


def format_count(amount: Interval) -> str:
    """Return a count with all digits, `71794688 .. 202899456`."""
    ends = [format_readable(end if end.denominator == 1 else round(end, 3)) for end in (amount.lower, amount.upper)]
    return ends[0] if amount.exact else " .. ".join(ends)


def describe_origins(inputs: Mapping[str, Input]) -> str:
    """State in a line whether inputs were derived, executed or declared: `all inputs derived`."""
    used = sorted({value.origin for value in inputs.values() if value.origin != "given"})
    names = {origin: [name for name, value in inputs.items() if value.origin == origin] for origin in used}
    if len(used) == 1:
        return f"all inputs {used[0]}"
    return "; ".join(f"{', '.join(names[origin])} {origin}" for origin in used)


def compute_shares(terms: Mapping[str, Interval]) -> dict[str, Fraction]:
    """Return the share of each term in the sum, with the midpoints of their bounds as values."""
    total = sum((term.middle for term in terms.values()), Fraction(0))
    return {name: term.middle / total if total else Fraction(0) for name, term in terms.items()}


def list_lower_bounds(result: EnergyResult) -> list[str]:
    """Return lines with the lower bounds for any algorithm of the problem, and the factors of the costs over these."""
    least, estimate = result.floor, result.estimate
    if least is None or estimate is None:
        return []
    lines = []
    for name, unit in (("energy", "J"), ("time", "s")):
        bound, cost = least.estimate.by(name), estimate.by(name)
        if bound is not None and cost is not None and bound.lower:
            near = format_ratio_to_bound((cost.lower, cost.upper), (bound.lower, bound.lower))
            lines.append(f"{name} >= {format_si(bound.lower, unit)}: {near}")
    if not lines:
        return []
    head = f"for any {least.any} with this memory, from lower bounds on words and messages"
    return [head, *lines, f"assuming {'; '.join(least.assumptions)}"]
