"""Rows of papers: read from TOML and checked, each mistake with its place."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from archline.energy.formulas import value_of
from archline.energy.machine_files import documents, machine, machine_names
from archline.energy.machines import Machine
from archline.energy.quantities import NUMERAL
from archline.energy.units import Dimension, Unit, parse_unit
from archline.expr.intervals import Interval
from archline.expr.tree import Span, names, nodes
from archline.language import syntax as s
from archline.language.diagnostics import ArchlineError, Diagnostic, Rule, did_you_mean, error
from archline.language.parser import parse_expression, parse_facts
from archline.language.source import read_source
from archline.language.toml import TomlPositions, parsed
from archline.papers import rules
from archline.papers.forms import names_within
from archline.records import field, record, replace
from archline.resources import resource

_AMOUNT = re.compile(rf"({NUMERAL})\s*(.*)")
_BIT = re.compile(r"\b([kMGTP]?)bit\b")


@record
class Printed:
    """A number as it is printed: its value in base units, half of its last digit, numeral and unit."""

    value: Fraction
    half: Fraction
    numeral: str
    unit: str
    counted: bool = False

    @property
    def dimension(self) -> Dimension:
        """The dimension of the number, by its unit."""
        unit = parsed_unit(self.unit)
        assert unit is not None
        return unit.dimension

    @property
    def rounded(self) -> Interval:
        """What the number may have been before it was rounded; a count was not."""
        return Interval.of(self.value) if self.counted else Interval(self.value - self.half, self.value + self.half)

    def shows(self, value: Fraction) -> bool:
        """Whether a value has these digits when it is rounded to them, half a digit upwards."""
        return -self.half <= value - self.value < self.half or value == self.value

    def like(self, value: Fraction) -> str:
        """Another value with as many digits, in the same unit."""
        own = parsed_unit(self.unit)
        assert own is not None
        value /= own.factor
        mantissa, _, exponent = self.numeral.lower().partition("e")
        if exponent:
            digits = len(re.sub(r"\D", "", mantissa).lstrip("0") or "0") - 1
            shown = f"{float(value):.{digits}e}"
        else:
            shown = f"{float(value):.{len(mantissa.partition('.')[2])}f}"
        return f"{shown} {self.unit}".rstrip()


def parsed_unit(text: str) -> Unit | None:
    """A unit of machine files, or one of bits."""
    unit = parse_unit(_BIT.sub(r"\1B", text) or "1")
    if unit is None:
        return None
    power = sum(-1 if text[: found.start()].endswith("/") else 1 for found in _BIT.finditer(text))
    return Unit(unit.factor / Fraction(8) ** power, unit.dimension)


def read_amount(text: str) -> Printed | None:
    """A printed number with its unit; None where it is none."""
    found = _AMOUNT.fullmatch(text.strip())
    unit = parsed_unit(found[2]) if found else None
    if found is None or unit is None:
        return None
    numeral = found[1]
    mantissa, _, exponent = numeral.lower().partition("e")
    last = Fraction(10) ** (int(exponent or 0) - len(mantissa.partition(".")[2]))
    counted = unit.factor == 1 and {*dict(unit.dimension.powers)} <= COUNTED and not exponent and "." not in numeral
    return Printed(Fraction(numeral) * unit.factor, last * unit.factor / 2, numeral, found[2], counted)


KEYS = ("title", "document", "numbers", "tables", "row", "figure", "left_out")
PAPERS = ("ice", "roofline", "balance", "scaling")
COMMON = (
    "place",
    "kind",
    "printed",
    "quote",
    "subject",
    "name",
    "assumes",
    "remark",
    "reading",
    "define",
    "at",
    "widest",
)
COUNTED = {"flop", "op", "word", "B", "line", "message"}
"""Units whose whole numbers are exact."""
QUANTIFIERS = ("every", "some", "no")
RELATIONS = ("<=", ">=", "==", "<", ">")
MOST_EXPONENT = 1000
"""The largest exponent of a printed form: powers of numbers are evaluated exactly."""
Input = TypeVar("Input", str, list[Any], dict[str, Any])
_PLACE = re.compile(r"\(\d+\w?\)|section .*|Table .*", re.IGNORECASE)
_QUANTIFIED = re.compile(rf"({'|'.join(QUANTIFIERS)}):\s*(.*)", re.DOTALL)


@record(eq=False)
class PrintedRow:
    """A printed form, and the inputs of the recipe that derives it; a row holds no verdict."""

    paper: Paper
    place: str
    kind: str
    printed: str
    inputs: Mapping[str, Any]
    path: tuple[str, ...]
    subject: str = ""
    quote: str = ""
    assumes: tuple[str, ...] = ()

    @property
    def places(self) -> list[str]:
        """The places of what is printed more than once."""
        return self.place.split(", ")

    def printing(self, text: str) -> PrintedRow:
        """The row with another text in place of the printed one."""
        return replace(self, printed=text)

    @property
    def read_otherwise(self) -> PrintedRow:
        """The row under its `reading`, whose inputs replace its kept; those are dropped for another recipe."""
        changes = {key: value for key, value in self.table("reading").items() if key != "says"}
        kept = {key: value for key, value in self.inputs.items() if key != "reading"}
        if "kind" in changes:
            kept = {key: value for key, value in kept.items() if key in COMMON}
        kind, printed = changes.get("kind", self.kind), changes.get("printed", self.printed)
        return replace(self, kind=kind, printed=printed, inputs={**kept, **changes})

    # The printed text
    @property
    def expr(self) -> s.Expr:
        """The printed form; of `NAME == FORM`, its right side."""
        relation = self.relation
        return relation.right if isinstance(relation, s.Binary) and relation.op in RELATIONS else relation

    @property
    def relation(self) -> s.Expr:
        """The printed form or relation, without its quantifier."""
        found = _QUANTIFIED.fullmatch(self.printed)
        return self.parsed(found[2] if found else self.printed, "printed")

    @property
    def quantifier(self) -> str:
        """`every`, `some` or `no`, which stands before a claim; `every` where none does."""
        found = _QUANTIFIED.fullmatch(self.printed)
        return found[1] if found else "every"

    @property
    def amount(self) -> Printed:
        """The printed number with its unit."""
        return self.read_amount(self.printed, "printed")

    # Inputs
    def _given(self, key: str, kind: type[Input], default: Input | None) -> Input:
        """An input of a type. Raises ArchlineError (AL612)."""
        value = self.inputs.get(key, default)
        if isinstance(value, kind):
            return value
        expected = {str: "text", list: "list", dict: "table"}[kind]
        message = f"the row has no {expected} `{key}`" if value is None else f"`{key}` is not a {expected}"
        raise self.wrong(rules.ROW_FORM, message, key)

    def has(self, key: str) -> bool:
        """Whether the row gives an input."""
        return key in self.inputs

    def text(self, key: str, default: str | None = None) -> str:
        """An input that is a text. Raises ArchlineError (AL612), as the others do."""
        return self._given(key, str, default)

    def table(self, key: str) -> Mapping[str, Any]:
        """An input that is a table, empty where there is none."""
        return self._given(key, dict, {})

    def listed(self, key: str) -> list[str]:
        """An input that is a list, or one text."""
        return [self.text(key)] if isinstance(self.inputs.get(key), str) else self._given(key, list, [])

    def formula(self, key: str) -> s.Expr:
        """An input that is a form or a relation, with the row's definitions put in."""
        return self.parsed(self.text(key), key)

    def formulas(self, key: str) -> dict[str, s.Expr]:
        """An input that is a table of forms."""
        return {name: self.parsed(text, key) for name, text in self.table(key).items()}

    def parsed(self, text: str, key: str) -> s.Expr:
        """A form or a relation, with the row's definitions put in. Raises ArchlineError (AL613)."""
        try:
            (found,) = parse_facts(text, key)
            defined = {name: parse_expression(each, "define") for name, each in self.table("define").items()}
            form = both_sides(found, lambda each: names_within(each, defined))
        except (ArchlineError, ValueError, AttributeError) as problem:
            reason = problem.diagnostics[0].message if isinstance(problem, ArchlineError) else "it is not one form"
            raise self.wrong(rules.ROW_FORMULA, f"`{text}` cannot be read: {reason}", key) from None
        if _too_large(form):
            raise self.wrong(rules.ROW_FORMULA, f"`{text}` has an exponent above {MOST_EXPONENT}", key)
        return form

    def read_amount(self, text: str, key: str) -> Printed:
        """A number with its unit. Raises ArchlineError (AL613)."""
        try:
            found = read_amount(text) if isinstance(text, str) else None
        except ArchlineError as problem:
            raise self.wrong(rules.ROW_FORMULA, problem.diagnostics[0].message, key) from None
        if found is None:
            raise self.wrong(rules.ROW_FORMULA, f"`{text}` is not a number with a unit", key, 'write "25.60 GB/s"')
        return found

    def ends(self, key: str) -> tuple[Fraction, Fraction]:
        """The two numbers of a range. Raises ArchlineError (AL612)."""
        match [self.read_amount(each, key).value for each in self.listed(key)]:
            case [low, high] if low < high:
                return low, high
            case _:
                raise self.wrong(rules.ROW_FORM, f"`{key}` takes two numbers, the smaller first", key)

    def amounts(self, texts: Mapping[str, str], key: str) -> dict[str, Printed]:
        """Printed numbers by name."""
        return {name: self.read_amount(text, key) for name, text in texts.items()}

    def cases(self) -> Mapping[str, Mapping[str, Any]]:
        """The cases of a claim: a table, or one of the paper's `[tables]` by name; else one without a name."""
        own = self.inputs.get("cases", {"": {}})
        if isinstance(own, str) and own not in self.paper.tables:
            hint = did_you_mean(own, self.paper.tables)
            raise self.wrong(rules.ROW_FORM, f"the paper has no table `{own}`", "cases", hint)
        return self.paper.tables[own] if isinstance(own, str) else self.table("cases") or {"": {}}

    def machines(self) -> list[Machine]:
        """The machines that the row names, or those of a folder, `scaling/*`. Raises ArchlineError (AL45x)."""
        found: list[Machine] = []
        for each in self.listed("machines"):
            folder = each.removesuffix("/*")
            names = [name for name in machine_names() if name.startswith(f"{folder}/")] if folder != each else [each]
            found += [self.machine(name, "machines") for name in names]
        left = self.listed("without")
        return [each for each in found if each.name not in left]

    def machine(self, name: str, key: str) -> Machine:
        """A machine by name. Raises ArchlineError, as `machine` does, with the place."""
        try:
            return machine(name)
        except ArchlineError as problem:
            first = problem.diagnostics[0]
            raise self.wrong(first.rule, first.message, key, first.hint) from None

    @cached_property
    def numbers(self) -> Mapping[str, Fraction]:
        """The paper's own numbers, and those that the row has for them."""
        own = self.amounts(self.table("at"), "at")
        return {**self.paper.numbers, **{name: each.value for name, each in own.items()}}

    def other(self, key: str = "of") -> PrintedRow | None:
        """The row whose name or place an input is."""
        text = self.text(key)
        found = [each for each in self.paper.rows if each.inputs.get("name", each.place) == text]
        if not found and _PLACE.fullmatch(text):
            raise self.wrong(rules.ROW_FORM, f"no row is called `{text}`", key)
        if len(found) > 1:
            raise self.wrong(rules.ROW_FORM, f"several rows are called `{text}`", key, "give one of them a `name`")
        return found[0] if found else None

    def wrong(self, rule: Rule, message: str, key: str = "", hint: str | None = None) -> ArchlineError:
        """The error about a part of the row, with its place."""
        source = self.paper.places.source
        span = self.paper.places.span((*self.path, key)) or Span(source, 1, 1, 1, len(source.lines[0]) + 1)
        hint = hint or f"`archline explain {rule.code}` says how rows are written"
        about = " ".join(filter(None, (self.paper.name, self.place)))
        return error(rule, f"{about}: {message}", span=span, hint=hint)


@record(eq=False)
class Paper:
    """A paper: its own numbers, its rows in order, and what is no row, with the reason."""

    name: str
    title: str
    citation: str
    places: TomlPositions
    numbers: Mapping[str, Fraction] = field(default_factory=dict)
    rows: list[PrintedRow] = field(default_factory=list)
    tables: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    left_out: tuple[tuple[str, str], ...] = ()
    figures: Sequence[Mapping[str, Any]] = ()


def read_paper(name: str, keys: Mapping[str, tuple[Sequence[str], Sequence[str]]]) -> Paper:
    """Read a paper by name, or by the path of its file; `keys` are the inputs that each recipe needs and may have.

    Raises ArchlineError: AL610 for an unknown name, AL611 where the file is not TOML, AL612 and AL613 for its rows.
    """
    path = Path(name) if name.endswith(".toml") else resource("papers") / f"{name}.toml"
    if not os.path.isfile(path):
        hint = did_you_mean(name, PAPERS) or f"the papers are {', '.join(PAPERS)}"
        raise error(rules.UNKNOWN_PAPER, f"there is no paper `{name}`", hint=hint)
    source = read_source(path)
    data = parsed(source, rules.NOT_TOML, "texts are in quotes: see `archline explain AL611`")
    paper = Paper(path.stem, "", "", TomlPositions(source))
    head = PrintedRow(paper, "", "", "", data, ())
    for key in set(data) - {*KEYS}:
        raise head.wrong(rules.ROW_FORM, f"a paper has no `{key}`", key, f"its keys are {', '.join(KEYS)}")
    given = dict(head.table("numbers"))
    own = head.machine(given.pop("machine"), "numbers").values if "machine" in given else {}
    paper = replace(
        paper,
        title=head.text("title", path.stem),
        citation=documents().get(head.text("document", ""), ""),
        numbers={**own, **{key: each.value for key, each in head.amounts(given, "numbers").items()}},
        tables=head.table("tables"),
        left_out=tuple((each["place"], each["reason"]) for each in data.get("left_out", [])),
        figures=data.get("figure", []),
    )
    if not data.get("row"):
        raise head.wrong(rules.ROW_FORM, "the paper has no table `[[row]]`")
    problems: list[Diagnostic] = []
    for position, table in enumerate(data.get("row", [])):
        try:
            for each in each_of(table):
                paper.rows.append(read_row(paper, each, ("row", str(position)), keys))
        except ArchlineError as problem:
            problems += problem.diagnostics
    if problems:
        raise ArchlineError(problems)
    return paper


def each_of(table: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The rows or figures that a table stands for: one for each of its `each`, with the keys around these."""
    around = {key: value for key, value in table.items() if key != "each"}
    return [{**around, **each} for each in table.get("each", [{}])]


def read_row(paper: Paper, table: Mapping[str, Any], path: tuple[str, ...], keys: Mapping[str, Any]) -> PrintedRow:
    """A row, or a figure, with the inputs that its kind needs. Raises ArchlineError (AL612)."""
    read = PrintedRow(paper, "", "", "", table, path)
    place, kind = read.text("place"), read.text("kind")
    printed, subject, quote = (read.text(key, "") for key in ("printed", "subject", "quote"))
    row = PrintedRow(paper, place, kind, printed, table, path, subject, quote, tuple(read.listed("assumes")))
    _check_inputs(row, keys)
    if row.has("reading"):
        if not isinstance(row.table("reading").get("says"), str):
            raise row.wrong(rules.ROW_FORM, "a reading says in `says` how the print is taken", "reading")
        _check_inputs(row.read_otherwise, keys)
    return row


def _check_inputs(row: PrintedRow, keys: Mapping[str, Any]) -> None:
    """Raise ArchlineError (AL612) for an unknown recipe, or for inputs that it lacks or does not have."""
    if row.kind not in keys:
        hint = did_you_mean(row.kind, keys) or f"the recipes are {', '.join(keys)}"
        raise row.wrong(rules.ROW_FORM, f"there is no recipe `{row.kind}`", "kind", hint)
    needed, more = keys[row.kind]
    for key in needed:
        if key not in row.inputs:
            raise row.wrong(rules.ROW_FORM, f"recipe `{row.kind}` lacks the input `{key}`", "kind")
    for key in row.inputs:
        if key not in (*COMMON, *needed, *more):
            hint = did_you_mean(key, (*needed, *more, *COMMON)) or f"its inputs are {', '.join((*needed, *more))}"
            raise row.wrong(rules.ROW_FORM, f"recipe `{row.kind}` has no input `{key}`", key, hint)


def _too_large(form: s.Expr) -> bool:
    """Whether a power in a form has a number of more than MOST_EXPONENT for its exponent."""
    exponents = [each.right for each in nodes(form) if isinstance(each, s.Binary) and each.op == "^"]
    # Those of exponents first, so that none is evaluated which has too large a one itself.
    return any(
        not names(each) and (_too_large(each) or abs(value_of(each, {}).middle) > MOST_EXPONENT) for each in exponents
    )


def both_sides(expr: s.Fact, change: Callable[[s.Expr], s.Expr]) -> s.Expr:
    """A form changed, or both sides of a relation. Raises ValueError for what is neither."""
    match expr:
        case s.Binary(op=op, left=left, right=right) if op in RELATIONS:
            return replace(expr, left=change(left), right=change(right))
        case s.IsPower() | s.IsSquare() | s.Divides():
            raise ValueError
        case _:
            return change(expr)
