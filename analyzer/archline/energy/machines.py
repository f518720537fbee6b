"""Machines have quantities, each with a value, a unit, a kind and a source; parameters of a command set some."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from types import MappingProxyType

from archline.energy import rules
from archline.energy.formulas import bound_value, names_in
from archline.energy.quantities import (
    AMOUNT,
    CONSTANTS,
    LEVEL_QUANTITIES,
    LEVELS,
    QUANTITIES,
    parse_capacity_unit,
    shorten_text,
    suggest_number,
    suggest_quantity,
    suggest_unit,
)
from archline.energy.units import format_si
from archline.expr.intervals import EvaluationError, Interval
from archline.expr.text import format_expression
from archline.expr.tree import Span
from archline.expr.values import evaluate
from archline.language import syntax as s
from archline.language.diagnostics import ArchlineError, Diagnostic, error, suggest_closest
from archline.language.parser import parse_expression
from archline.records import field, record, replace

KINDS = ("peak", "measured", "fitted", "rated", "inferred", "assumed", "definition")
DERIVED_KIND, GIVEN_KIND = "derived", "given"
"""The kinds of quantities that a formula gives, and that the command line gives."""


@record(slots=True)
class Provenance:
    """The source of a number: a document (its key and its citation), a place in it, the quoted text, a remark."""

    document: str = ""
    citation: str = ""
    place: str = ""
    quote: str = ""
    note: str = ""

    def __str__(self) -> str:
        cited = ", ".join(filter(None, (self.citation, self.place)))
        quoted = f'"{self.quote}"' if self.quote else ""
        return "; ".join(filter(None, (cited, quoted, self.note)))


@record(slots=True)
class Quantity:
    """A number of a machine: its exact `value` in the base unit of the registry, and `as_written` in its file.

    `formula` gives it from other quantities; `check` is a formula that should give the same number. `doubling` is in
    years, below 0 if the number halves instead.
    """

    name: str
    value: Fraction
    as_written: str
    kind: str
    source: Provenance
    formula: s.Expr | None = None
    check: s.Expr | None = None
    error: Fraction | None = None
    scope: str = ""
    doubling: Fraction | None = None
    span: Span | None = field(default=None, compare=False)

    @property
    def unit(self) -> str:
        return QUANTITIES[self.name].unit

    @property
    def meaning(self) -> str:
        return QUANTITIES[self.name].meaning


ASSUMED_WORD = Quantity(
    "word", Fraction(8), "8 B/word", "assumed", Provenance(note="the file has no word: a real in double precision")
)


@record
class Machine:
    """A machine: its quantities by name, and where its file is from.

    `name` is the file's name without its suffix, with `@VARIANT` if it has variants; `collection` is its folder under
    `machines/` (the paper), or empty for a file of the user's own.
    """

    name: str
    collection: str
    title: str
    processor: str
    notes: tuple[str, ...]
    quantities: Mapping[str, Quantity] = field(hash=False)
    variants: tuple[str, ...] = ()
    year: int | None = None

    def __repr__(self) -> str:
        return f"<machine {self.name}: {self.title}>"

    @cached_property
    def values(self) -> Mapping[str, Fraction]:
        """The value of each quantity, and of the constants, in base units."""
        constants = {name: constant.value for name, constant in CONSTANTS.items() if constant.value is not None}
        return {**constants, **{name: quantity.value for name, quantity in self.quantities.items()}}

    @property
    def assumptions(self) -> tuple[str, ...]:
        """Assumptions about quantities that the machine's file leaves out."""
        if self.quantities.get("word") != ASSUMED_WORD:
            return ()
        return (f"words of 8 B, as `{self.name}` does not define them (--parameter word=4: single precision)",)

    def with_parameters(self, parameters: Mapping[str, Quantity], *, tried: bool = False) -> Machine:
        """Return the machine with these quantities set, and all formulas evaluated again.

        Raises ArchlineError (AL457) for numbers that no machine has, unless they are values `tried` by an optimisation
        over real numbers.
        """
        quantities = {**self.quantities, **parameters}
        if not tried and (problems := diagnose_impossible_quantities(quantities, parameters)):
            raise ArchlineError(problems)
        return replace(self, quantities=resolve_quantities(quantities)) if parameters else self

    def in_year(self, year: int) -> Machine:
        """Return the machine with the quantities that have a doubling time extrapolated to a year.

        See Czechowski et al. 2011, Table 1. The powers are in floating point. Raises ArchlineError (AL458)
        if the machine has no `year`.
        """
        if self.year is None:
            hint = "a machine with trends has a `year`, and a `doubling_years` or `halving_years` for each quantity"
            raise error(rules.UNSUITED_MACHINE, f"machine `{self.name}` has no `year`, so no trends", hint=hint)
        try:
            extrapolated = {
                name: self._extrapolate_quantity(
                    item, item.value * Fraction(2.0 ** ((year - self.year) / float(item.doubling)))
                )
                for name, item in self.quantities.items()
                if item.doubling is not None
            }
        except OverflowError:
            message = f"the trends of machine `{self.name}` give no number for the year {year}"
            raise error(rules.UNSUITED_MACHINE, message, hint=f"name a year closer to {self.year}") from None
        return replace(self, quantities=resolve_quantities({**self.quantities, **extrapolated}), year=year)

    def _extrapolate_quantity(self, quantity: Quantity, value: Fraction) -> Quantity:
        shown = format_si(value, "" if quantity.unit == "1" else quantity.unit)
        return replace(quantity, value=value, as_written=f"{shown} ({self.year}: {quantity.as_written})")

    def checked(self) -> Mapping[str, Fraction]:
        """Evaluate the `check` of each quantity that has one. Raises ArchlineError (AL462)."""
        values = {name: Interval.of(value) for name, value in self.values.items()}
        return {
            name: _evaluate_formula(item, item.check, values)
            for name, item in self.quantities.items()
            if item.check is not None
        }


def _evaluate_formula(quantity: Quantity, formula: s.Expr, known: Mapping[str, Interval]) -> Fraction:
    try:
        return bound_value(formula, known).middle
    except EvaluationError as problem:
        message = f"a formula of `{quantity.name}`, `{format_expression(formula)}`, has no value: {problem}"
        raise error(rules.FORMULA, message, span=quantity.span, hint="a quantity that it divides by is 0") from None


def override_quantities(quantities: Mapping[str, Quantity], overrides: Mapping[str, Quantity]) -> dict[str, Quantity]:
    """Override quantities; a number whose `check` uses an overridden one is computed by its check instead."""
    changed = overrides.keys()
    follow = {
        name: replace(item, formula=item.check, kind=DERIVED_KIND, as_written=format_expression(item.check))
        for name, item in quantities.items()
        if item.check is not None and name not in overrides and names_in(item.check) & changed
    }
    return {**quantities, **follow, **overrides}


def resolve_quantities(quantities: Mapping[str, Quantity]) -> Mapping[str, Quantity]:
    """Return the quantities with formulas evaluated. Raises ArchlineError (AL457, AL462) for one without a value."""
    done: dict[str, Quantity] = {}

    def value(name: str, path: tuple[str, ...]) -> Interval:
        if name not in done:
            done[name] = evaluate_quantity(quantities[name], path)
        return Interval.of(done[name].value)

    def evaluate_quantity(item: Quantity, path: tuple[str, ...]) -> Quantity:
        used = {name for formula in (item.formula, item.check) if formula is not None for name in names_in(formula)}
        missing = sorted(used - quantities.keys() - CONSTANTS.keys())
        if missing:
            message = f"a formula of `{item.name}` uses `{missing[0]}`, which the machine does not have"
            hint = suggest_closest(missing[0], quantities) or f"add a table `[quantity.{missing[0]}]`"
            raise error(rules.FORMULA, message, span=item.span, hint=hint)
        if item.formula is None:
            return item
        if item.name in path:
            circle = " -> ".join((*path[path.index(item.name) :], item.name))
            hint = "one of them needs a `value`"
            raise error(rules.FORMULA, f"formulas use each other in a circle: {circle}", span=item.span, hint=hint)
        inputs = {name: value(name, (*path, item.name)) for name in names_in(item.formula) if name not in CONSTANTS}
        inputs |= {name: Interval.of(item.value) for name, item in CONSTANTS.items() if item.value is not None}
        result = _evaluate_formula(item, item.formula, inputs)
        if result < 0:
            message = f"the formula of `{item.name}`, `{format_expression(item.formula)}`, gives a number below 0"
            hint = "quantities of a machine are 0 or more"
            raise error(rules.IMPOSSIBLE_NUMBER, message, span=item.span, hint=hint)
        return replace(item, value=result)

    for name in quantities:
        value(name, ())
    return MappingProxyType({name: done[name] for name in quantities})


_INTEGER_QUANTITIES = (
    "word",
    "line",
    "cores",
    "simd",
    "dimms",
    *(f"{level}_{name}" for level in LEVELS for name in ("line", "shared")),
)


def diagnose_impossible_quantities(
    quantities: Mapping[str, Quantity], of: Collection[str] = QUANTITIES
) -> list[Diagnostic]:
    """Return an error (AL457) for each impossible quantity: a rate of 0, half a core, a line of 1.5 words."""
    wrong: dict[str, str] = {}
    for name in (candidate for candidate in quantities if candidate in of):
        # Times, energies and powers may be 0.
        if quantities[name].value == 0 and QUANTITIES[name].unit[0] not in "JsW":
            wrong[name] = f"`{name}` is 0"
        elif name in _INTEGER_QUANTITIES and quantities[name].value.denominator != 1:
            wrong[name] = f"`{name}`, {quantities[name].as_written}, is not a whole number"
    word, line, fast = (quantities.get(name) for name in ("word", "line", "fast_memory"))
    for name in ("line", *(f"{level}_line" for level in LEVELS)):
        quantity = quantities.get(name)
        if quantity and word and word.value and quantity.value % word.value and {"word", name} & set(of):
            wrong[name] = f"a line of {quantity.as_written} is not a whole number of words of {word.as_written}"
    if line and fast and 0 < fast.value < line.value and {"fast_memory", "line"} & set(of):
        wrong["fast_memory"] = f"a fast memory of {fast.as_written} is smaller than a line of {line.as_written}"
    wrong |= dict(_iterate_level_problems(quantities))
    hint = "rates and sizes are above 0, such as a word of 8 B or a line of 64 B; leave out what is unknown"
    of_level = "a capacity is that of one cache and a whole number of lines; level L1 is next to the processor"
    return [
        Diagnostic(rules.IMPOSSIBLE_NUMBER, text, quantities[name].span, hint=of_level if name[:2] in LEVELS else hint)
        for name, text in wrong.items()
    ]


def _iterate_level_problems(quantities: Mapping[str, Quantity]) -> Iterator[tuple[str, str]]:
    """Yield capacities of levels that are not multiples of the line, or smaller than that of the level before."""
    before: Quantity | None = None
    for level in LEVELS:
        size, line = quantities.get(f"{level}_capacity"), quantities.get(f"{level}_line", quantities.get("line"))
        if size is None:
            continue
        if line and line.value and size.value % line.value:
            yield (
                size.name,
                f"a capacity of {size.as_written} is not a whole number of lines of {line.as_written}",
            )
        if before is not None and size.value < before.value:
            text = (
                f"level `{level}` of {size.as_written} is smaller than level `{before.name[:2]}` of {before.as_written}"
            )
            yield size.name, f"{text} before it"
        before = size


def find_levels_without_capacity(quantities: Collection[str]) -> list[str]:
    """Return the levels that have some quantity, but not a capacity."""
    used = {name[:2] for name in quantities if name[3:] in LEVEL_QUANTITIES}
    return [level for level in LEVELS if level in used and f"{level}_capacity" not in quantities]


def read_parameters(texts: Sequence[str]) -> dict[str, Quantity]:
    """Read the quantities of `--parameter` options: `gamma_t=2.5e-12`, or `"gamma_t=2.5 ps/flop"`.

    Raises ArchlineError (AL465) with all mistakes.
    """
    quantities: dict[str, Quantity] = {}
    problems: list[Diagnostic] = []
    for text in texts:
        name, _, value = (part.strip() for part in text.partition("="))
        try:
            if name in quantities:
                raise error(rules.PARAMETER, f"`{name}` is given twice")
            quantities[name] = read_parameter(name, value)
        except ArchlineError as problem:
            problems.extend(problem.diagnostics)
    if problems:
        raise ArchlineError(problems)
    return quantities


def read_parameter(name: str, value: str) -> Quantity:
    """Return a quantity from the text of its value, in its base unit or with a unit. Raises ArchlineError (AL465)."""
    if name not in QUANTITIES:
        hint = suggest_quantity(name) or "write NAME=VALUE with a quantity that `archline machines NAME` shows"
        raise error(rules.PARAMETER, f"there is no quantity `{name}`", hint=hint)
    base = QUANTITIES[name].unit
    with_unit = AMOUNT.fullmatch(value)
    number, written = with_unit.groups() if with_unit else (value, base)
    unit, read = parse_capacity_unit(name, written)
    if unit is None or unit.dimension != QUANTITIES[name].dimension:
        message = f"`{name}` is in {base}, and `{written}` is not a unit of that dimension"
        raise error(rules.PARAMETER, message, hint=suggest_unit(written, base))
    try:
        amount = evaluate(parse_expression(number, f"--parameter {name}"), {})
    except (EvaluationError, ArchlineError):
        amount = None
    if amount is None or isinstance(amount, Interval) or amount < 0:
        message = f"`{shorten_text(value)}` is not a number in {base} that is 0 or more"
        raise error(rules.PARAMETER, message, hint=suggest_number(value.partition(" ")[0]) or "write NAME=1.5e-9")
    source = Provenance(note="given by --parameter")
    return Quantity(name, Fraction(amount) * unit.factor, f"{number} {read}", GIVEN_KIND, source)
