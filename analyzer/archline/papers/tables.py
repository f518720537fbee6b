"""Derive the rows of tables by the recipes `cell`, `units` and `crossing`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from fractions import Fraction
from itertools import pairwise, product

from archline.energy.formulas import bound_value, dimension_of, names_in
from archline.energy.machines import Machine
from archline.energy.quantities import CONSTANTS, QUANTITIES
from archline.energy.units import BASE_UNITS, Dimension, parse_dimension
from archline.expr.intervals import EvaluationError, Interval
from archline.expr.text import format_expression
from archline.language import syntax as s
from archline.language.diagnostics import ArchlineError
from archline.papers import forms, rules
from archline.papers.findings import DIFFERS, EQUAL, READING, UNDECIDED, RowVerdict, SeparatingPoint, format_short
from archline.papers.rows import PrintedAmount, PrintedRow, parse_printed_unit
from archline.records import replace

SIMPLE_FACTORS = [factor for k in range(2, 17) for factor in (Fraction(k), Fraction(1, k))]
"""Factors by which a printed number may be wrong."""
MAX_CHANCE_LENGTH = 5
"""Numerals of at most this many characters may agree with those of another quantity by chance."""
CROSSING_SAMPLES = 64
"""The number of parts of a range that are examined for several crossings of two curves."""
BASE_SCALES = dict(zip(BASE_UNITS, (2, 3, 5, 7, 11, 13, 17, 19), strict=True))


def check_cell(row: PrintedRow) -> RowVerdict:
    """Derive a number of a table by the rule of its column, and compare it after rounding to the printed digits."""
    rule, printed = row.formula("rule"), row.amount
    numbers = collect_inputs(row, names_in(rule))
    exact = _evaluate_rule(row, rule, numbers).middle
    allowed = _evaluate_rule(row, rule, {name: number.rounded for name, number in numbers.items()})
    derived, factor = (
        printed.format_like(exact),
        printed.value / Fraction(printed.numeral) if printed.value else Fraction(1),
    )
    low, high = (format_short(bound / factor) for bound in (allowed.lower, allowed.upper))
    named = ", ".join(f"{name} = {number.numeral} {number.unit}".rstrip() for name, number in numbers.items())
    steps = (f"{format_expression(rule)} with {named}", f"values before rounding that allow this: {low} .. {high}")
    needed = _derive_dimension(row, rule, {name: number.dimension for name, number in numbers.items()})
    if needed != printed.dimension:
        return _make_unit_verdict(row, exact, needed, row.text("rule"), steps)
    if printed.shows(exact):
        return RowVerdict(row, EQUAL, derived, "", steps)
    within = allowed.upper >= printed.value - printed.half and allowed.lower <= printed.value + printed.half
    values = {name: number.value for name, number in numbers.items()}
    witness = SeparatingPoint(forms.parse_form(str(printed.value)), rule, values, printed.half)
    times = f"{format_short(printed.value / exact)} times that" if exact else "not 0"
    times = next((text for text, value in _iterate_possible_slips(row, rule, numbers) if printed.shows(value)), times)
    reason = f"{derived} follows; the print is {times} ({row.text('rule')})"
    return RowVerdict(row, READING if within else DIFFERS, derived, reason, steps, within, witness)


def _iterate_possible_slips(
    row: PrintedRow, rule: s.Expr, numbers: Mapping[str, PrintedAmount]
) -> Iterator[tuple[str, Fraction]]:
    """Yield printing errors to test: exchanged digits, wrong units, another quantity's number, a simple factor."""
    printed = row.amount
    derived = printed.format_like(_evaluate_rule(row, rule, numbers).middle).split()[0]
    unequal = sum(a != b for a, b in zip(printed.numeral, derived, strict=False))
    if unequal == 2 and sorted(printed.numeral) == sorted(derived):
        yield "that with two digits exchanged", printed.value
    exact, terms = (
        _evaluate_rule(row, rule, numbers).middle,
        map(forms.format_form, forms.iterate_terms(forms.build_form(rule))),
    )
    for machine in row.machines():
        for name, number in numbers.items():
            if number.unit == "word" and "word" in machine.values:
                in_bytes = replace(number, value=number.value / machine.values["word"])
                yield (
                    f"that with {name} = {number.numeral} B",
                    _evaluate_rule(row, rule, {**numbers, name: in_bytes}).middle,
                )
    for name, number in numbers.items():
        for unit in (number.unit.replace("bit", "B"), re.sub(r"([MGT])(bit|B)\b", r"\1iB", number.unit)):
            confused = row.read_amount(f"{number.numeral} {unit}", "inputs")
            yield (
                f"that with {name} = {number.numeral} {unit}",
                _evaluate_rule(row, rule, {**numbers, name: confused}).middle,
            )
    for machine, name in [(owner, name) for owner in row.machines() for name in owner.quantities]:
        alike = (
            len(row.amount.numeral) > MAX_CHANCE_LENGTH
            and format_as_printed(machine, name).split()[0] == row.amount.numeral
        )
        if alike and name != row.inputs.get("quantity"):
            yield f"{row.amount.numeral}, as that of {name}", row.amount.value
    parts = [("", exact), *((term, _evaluate_rule(row, forms.parse_form(term), numbers).middle) for term in terms)]
    for share, (term, value) in product(SIMPLE_FACTORS, parts):
        yield f"that with {share} times {term}" if term else f"{share} times that", exact + (share - 1) * value


def collect_inputs(row: PrintedRow, names: frozenset[str], unknown: str = "") -> dict[str, PrintedAmount]:
    """Return the numbers of all `names` except `unknown`: from the row, its machines, and constants."""
    numbers = {name: PrintedAmount(Fraction(1), Fraction(0), "1", "", True) for name in CONSTANTS}
    texts = dict(row.table("inputs"))
    for machine in row.machines():
        texts |= row.table("by_machine").get(machine.name, {})
        numbers |= {
            name: row.read_amount(format_as_printed(machine, name), "machines")
            for name in machine.quantities
            if name in names
        }
    numbers |= row.read_amounts(texts, "inputs")
    if lacking := sorted(names - {*numbers, unknown}):
        raise row.make_error(rules.ROW_FORM, f"`{lacking[0]}` is in neither `inputs` nor the machine", "rule")
    return {name: numbers[name] for name in sorted(names - {unknown})}


def format_as_printed(machine: Machine, name: str) -> str:
    """Return a quantity of a machine with its unit as written in its file; a derived one in base units."""
    quantity, unit = machine.quantities[name], QUANTITIES[name].unit.removeprefix("1")
    if quantity.formula is not None:
        return f"{float(quantity.value)!r} {unit}"
    printed_unit = quantity.as_written.partition(" of ")[0].partition(" ")[2]
    return quantity.as_written if parse_printed_unit(printed_unit or unit) else f"{quantity.as_written} {unit}"


def expand_column(row: PrintedRow) -> Iterator[PrintedRow]:
    """Yield a row for each machine if `quantity` of a cell names a column; else the row itself."""
    if row.kind != "cell" or not row.has("quantity"):
        yield row
        return
    quantity = row.text("quantity")
    for machine in row.machines():
        if quantity in machine.quantities:
            values = {**row.inputs, "machines": f"{machine.collection}/{machine.name}".lstrip("/")}
            yield replace(
                row,
                printed=format_as_printed(machine, quantity),
                inputs=values,
                subject=f"{quantity}, {machine.title}",
            )


def _evaluate_rule(row: PrintedRow, rule: s.Expr, known: Mapping[str, Interval | PrintedAmount]) -> Interval:
    ends = {
        name: Interval.of(value.value) if isinstance(value, PrintedAmount) else value for name, value in known.items()
    }
    try:
        return bound_value(rule, ends)
    except (EvaluationError, ArchlineError) as problem:
        raise row.make_error(rules.ROW_FORMULA, f"it has no value: {problem}", "rule") from None


def check_units(row: PrintedRow) -> RowVerdict:
    """Compare a printed unit with the dimension of a formula."""
    rule = row.formula("rule")
    unit = parse_printed_unit(row.printed)
    if unit is None:
        raise row.make_error(rules.ROW_FORMULA, f"`{row.printed}` is not a unit", "printed")
    needed = _derive_dimension(row, rule, {name: parse_dimension(text) for name, text in row.table("units").items()})
    step = f"{format_expression(rule)} is in {needed}"
    if unit.dimension == needed:
        return RowVerdict(row, EQUAL, row.printed, "", (step,))
    witness = SeparatingPoint(_build_scale_factor(row, unit.dimension), _build_scale_factor(row, needed), {})
    return RowVerdict(row, DIFFERS, str(needed), f"{step}, and {row.printed} is printed", (step,), witness=witness)


def _derive_dimension(row: PrintedRow, rule: s.Expr, known: Mapping[str, Dimension]) -> Dimension:
    try:
        return dimension_of(rule, known)
    except ArchlineError as problem:
        raise row.make_error(rules.ROW_FORMULA, problem.diagnostics[0].message, "rule") from None


def _build_scale_factor(row: PrintedRow, found: Dimension) -> s.Expr:
    """Return the factor by which a number of a dimension grows if each base unit shrinks by a different prime."""
    return row.parse_form("*".join(f"{BASE_SCALES[base]}^({power})" for base, power in found.powers) or "1", "printed")


def check_crossing(row: PrintedRow) -> RowVerdict:
    """Find where two curves cross, to the printed digits, and compare; undecided if a curve jumps or has a pole."""
    over, printed, left, right = row.text("over"), row.amount, row.formula("left"), row.formula("right")
    numbers = {
        name: number.value for name, number in collect_inputs(row, names_in(left) | names_in(right), over).items()
    }

    def gap_at(at: Fraction) -> Fraction | None:
        difference = forms.evaluate_at(s.Binary("-", left, right, span=left.span), {**numbers, over: at})
        return None if difference is None else difference.middle

    (low, high), equation = row.read_range("between"), f"{format_expression(left)} == {format_expression(right)}"
    sampled = [
        (at, gap_at(at))
        for at in (low + (high - low) * step / CROSSING_SAMPLES for step in range(CROSSING_SAMPLES + 1))
    ]
    gaps = [(at, value) for at, value in sampled if value is not None]
    turns = [pair for pair in pairwise(gaps) if (pair[0][1] > 0) != (pair[1][1] > 0)]
    if len(turns) != 1:
        many = "cross more than once" if turns else "do not cross"
        reason = f"the curves {many} between {format_short(low)} and {format_short(high)}, at the points tried"
        return RowVerdict(row, UNDECIDED, "", reason, (equation,))
    (low, first), (high, last) = turns[0]
    widest, ends = max(abs(first), abs(last)), [first, last]
    for _ in range(60):
        middle = (low + high) / 2
        value = gap_at(middle)
        if value is None:
            break
        if (value > 0) == (first > 0):
            low, ends[0] = middle, value
        else:
            high, ends[1] = middle, value
    if max(map(abs, ends)) * 2**10 > widest:
        return RowVerdict(
            row, UNDECIDED, "", f"at {over} = {format_short(low)} a curve jumps or has a pole", (equation,)
        )
    derived, steps = printed.format_like(low), (equation, f"they meet at {over} = {format_short(low)}")
    needed = row.read_amount(row.texts("between")[0], "between").dimension
    if printed.dimension != needed:
        return _make_unit_verdict(row, low, needed, over, steps)
    if printed.shows(low):
        return RowVerdict(row, EQUAL, derived, "", steps)
    relation = s.Binary("==", left, right, span=left.span)
    witness = SeparatingPoint(left, right, {**numbers, over: printed.value}, relations=(("", relation),))
    return RowVerdict(row, DIFFERS, derived, f"the curves meet at {over} = {derived}", steps, witness=witness)


def _make_unit_verdict(
    row: PrintedRow, exact: Fraction, needed: Dimension, about: str, steps: tuple[str, ...]
) -> RowVerdict:
    """Return the verdict on a number that is printed in a unit of another dimension."""
    witness = SeparatingPoint(_build_scale_factor(row, row.amount.dimension), _build_scale_factor(row, needed), {})
    reason = f"{about} is in {needed}, and {row.amount.unit or 'no unit'} is printed"
    return RowVerdict(row, DIFFERS, f"{float(exact):.6g} {needed}", reason, steps, witness=witness)
