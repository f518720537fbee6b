"""Read the rows of papers from TOML and check them, each mistake with its place."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from archline.energy.formulas import bound_value
from archline.energy.machine_files import load_documents, machine, machine_names
from archline.energy.machines import Machine
from archline.energy.quantities import NUMERAL
from archline.energy.units import Dimension, Unit, parse_unit
from archline.expr.intervals import Interval
from archline.expr.tree import Span, find_names, iterate_nodes
from archline.language import syntax as s
from archline.language.diagnostics import ArchlineError, Diagnostic, Rule, error, suggest_closest
from archline.language.parser import parse_expression, parse_facts
from archline.language.source import read_source
from archline.language.toml import TomlPositions, parse_toml
from archline.papers import rules
from archline.papers.forms import substitute_definitions
from archline.records import field, record, replace
from archline.resources import find_resource

_AMOUNT = re.compile(rf"({NUMERAL})\s*(.*)")
_BIT = re.compile(r"\b([kMGTP]?)bit\b")


@record
class PrintedAmount:
    """A printed number: its value in base units, half of its last digit, numeral and unit."""

    value: Fraction
    half: Fraction
    numeral: str
    unit: str
    counted: bool = False

    @property
    def dimension(self) -> Dimension:
        unit = parse_printed_unit(self.unit)
        assert unit is not None
        return unit.dimension

    @property
    def rounded(self) -> Interval:
        """The interval of values that are rounded to the number; a count is exact."""
        return Interval.of(self.value) if self.counted else Interval(self.value - self.half, self.value + self.half)

    def shows(self, value: Fraction) -> bool:
        """Whether a value is this number when rounded to its digits, half up."""
        return -self.half <= value - self.value < self.half or value == self.value

    def format_like(self, value: Fraction) -> str:
        """Format another value with as many digits, in the same unit."""
        printed_unit = parse_printed_unit(self.unit)
        assert printed_unit is not None
        value /= printed_unit.factor
        mantissa, _, exponent = self.numeral.lower().partition("e")
        if exponent:
            digits = len(re.sub(r"\D", "", mantissa).lstrip("0") or "0") - 1
            shown = f"{float(value):.{digits}e}"
        else:
            shown = f"{float(value):.{len(mantissa.partition('.')[2])}f}"
        return f"{shown} {self.unit}".rstrip()


def parse_printed_unit(text: str) -> Unit | None:
    """Parse a unit of machine files, or one of bits; None for other texts."""
    unit = parse_unit(_BIT.sub(r"\1B", text) or "1")
    if unit is None:
        return None
    power = sum(-1 if text[: match.start()].endswith("/") else 1 for match in _BIT.finditer(text))
    return Unit(unit.factor / Fraction(8) ** power, unit.dimension)


def parse_amount(text: str) -> PrintedAmount | None:
    """Parse a printed number with its unit; None for other texts."""
    match = _AMOUNT.fullmatch(text.strip())
    unit = parse_printed_unit(match[2]) if match else None
    if match is None or unit is None:
        return None
    numeral = match[1]
    mantissa, _, exponent = numeral.lower().partition("e")
    last = Fraction(10) ** (int(exponent or 0) - len(mantissa.partition(".")[2]))
    counted = (
        unit.factor == 1 and {*dict(unit.dimension.powers)} <= COUNTED_UNITS and not exponent and "." not in numeral
    )
    return PrintedAmount(Fraction(numeral) * unit.factor, last * unit.factor / 2, numeral, match[2], counted)


PAPER_KEYS = ("title", "document", "numbers", "tables", "row", "figure", "left_out")
PAPERS = ("ice", "roofline", "balance", "scaling")
COMMON_INPUTS = (
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
COUNTED_UNITS = {"flop", "op", "word", "B", "line", "message"}
"""Units whose whole numbers are exact."""
QUANTIFIERS = ("every", "some", "no")
RELATIONS = ("<=", ">=", "==", "<", ">")
MAX_EXPONENT = 1000
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
        """The places at which the form is printed."""
        return self.place.split(", ")

    def with_printed(self, text: str) -> PrintedRow:
        return replace(self, printed=text)

    @property
    def under_reading(self) -> PrintedRow:
        """The row with the inputs that its `reading` replaces; without inputs of its recipe if that is replaced."""
        changes = {key: value for key, value in self.table("reading").items() if key != "says"}
        inputs = {key: value for key, value in self.inputs.items() if key != "reading"}
        if "kind" in changes:
            inputs = {key: value for key, value in inputs.items() if key in COMMON_INPUTS}
        kind, printed = changes.get("kind", self.kind), changes.get("printed", self.printed)
        return replace(self, kind=kind, printed=printed, inputs={**inputs, **changes})

    # The printed text
    @property
    def expr(self) -> s.Expr:
        """The printed form; of `NAME == FORM`, its right side."""
        relation = self.relation
        return relation.right if isinstance(relation, s.Binary) and relation.op in RELATIONS else relation

    @property
    def relation(self) -> s.Expr:
        """The printed form or relation, without its quantifier."""
        match = _QUANTIFIED.fullmatch(self.printed)
        return self.parse_form(match[2] if match else self.printed, "printed")

    @property
    def quantifier(self) -> str:
        """The quantifier before a claim, `every`, `some` or `no`; `every` if there is none."""
        match = _QUANTIFIED.fullmatch(self.printed)
        return match[1] if match else "every"

    @property
    def amount(self) -> PrintedAmount:
        return self.read_amount(self.printed, "printed")

    # Inputs
    def _read_input(self, key: str, kind: type[Input], default: Input | None) -> Input:
        """Return the row's input `key` if it has the type `kind`. Raises ArchlineError (AL612)."""
        value = self.inputs.get(key, default)
        if isinstance(value, kind):
            return value
        expected = {str: "text", list: "list", dict: "table"}[kind]
        message = f"the row has no {expected} `{key}`" if value is None else f"`{key}` is not a {expected}"
        raise self.make_error(rules.ROW_FORM, message, key)

    def has(self, key: str) -> bool:
        return key in self.inputs

    def text(self, key: str, default: str | None = None) -> str:
        """Return an input that is a text. Raises ArchlineError (AL612)."""
        return self._read_input(key, str, default)

    def table(self, key: str) -> Mapping[str, Any]:
        """Return an input that is a table, empty if it is missing. Raises ArchlineError (AL612)."""
        return self._read_input(key, dict, {})

    def texts(self, key: str) -> list[str]:
        """Return an input that is a list of texts, or one text. Raises ArchlineError (AL612)."""
        texts = [self.text(key)] if isinstance(self.inputs.get(key), str) else self._read_input(key, list, [])
        if not all(isinstance(text, str) for text in texts):
            raise self.make_error(rules.ROW_FORM, f"`{key}` is not a list of texts", key)
        return texts

    def read_entries(self, key: str) -> list[PrintedRow]:
        """Return an input that is a list of tables, each read like a row. Raises ArchlineError (AL612)."""
        tables = self._read_input(key, list, [])
        if not all(isinstance(table, dict) for table in tables):
            raise self.make_error(rules.ROW_FORM, f"`{key}` is not a list of tables", key)
        return [replace(self, inputs=table, path=(*self.path, key, str(index))) for index, table in enumerate(tables)]

    def read_named_entries(self, key: str) -> dict[str, PrintedRow]:
        """Return an input that is a table of tables, each read like a row. Raises ArchlineError (AL612)."""
        tables = self.table(key)
        if not all(isinstance(table, dict) for table in tables.values()):
            raise self.make_error(rules.ROW_FORM, f"`{key}` is not a table of tables", key)
        return {name: replace(self, inputs=table, path=(*self.path, key, name)) for name, table in tables.items()}

    def formula(self, key: str) -> s.Expr:
        """Return an input that is a form or a relation, with the row's definitions substituted."""
        return self.parse_form(self.text(key), key)

    def formulas(self, key: str) -> dict[str, s.Expr]:
        """Return an input that is a table of forms."""
        return {name: self.parse_form(text, key) for name, text in self.table(key).items()}

    def parse_form(self, text: str, key: str) -> s.Expr:
        """Parse a form or a relation, with the row's definitions substituted. Raises ArchlineError (AL613)."""
        if not isinstance(text, str):
            raise self.make_error(rules.ROW_FORMULA, f"`{text}` is not a text", key)
        try:
            (fact,) = parse_facts(text, key)
            definitions = {name: parse_expression(value, "define") for name, value in self.table("define").items()}
            form = map_sides(fact, lambda side: substitute_definitions(side, definitions))
        except (ArchlineError, ValueError, AttributeError) as problem:
            reason = problem.diagnostics[0].message if isinstance(problem, ArchlineError) else "it is not one form"
            raise self.make_error(rules.ROW_FORMULA, f"`{text}` cannot be read: {reason}", key) from None
        if _has_large_exponent(form):
            raise self.make_error(rules.ROW_FORMULA, f"`{text}` has an exponent above {MAX_EXPONENT}", key)
        return form

    def read_amount(self, text: str, key: str) -> PrintedAmount:
        """Parse a number with its unit. Raises ArchlineError (AL613)."""
        try:
            amount = parse_amount(text) if isinstance(text, str) else None
        except ArchlineError as problem:
            raise self.make_error(rules.ROW_FORMULA, problem.diagnostics[0].message, key) from None
        if amount is None:
            raise self.make_error(rules.ROW_FORMULA, f"`{text}` is not a number with a unit", key, 'write "25.60 GB/s"')
        return amount

    def read_range(self, key: str) -> tuple[Fraction, Fraction]:
        """Return the two numbers of an input that is a range, the smaller first. Raises ArchlineError (AL612)."""
        match [self.read_amount(number, key).value for number in self.texts(key)]:
            case [low, high] if low < high:
                return low, high
            case _:
                raise self.make_error(rules.ROW_FORM, f"`{key}` takes two numbers, the smaller first", key)

    def read_amounts(self, texts: Mapping[str, str], key: str) -> dict[str, PrintedAmount]:
        return {name: self.read_amount(text, key) for name, text in texts.items()}

    def cases(self) -> Mapping[str, Mapping[str, Any]]:
        """Return the cases of a claim: a table, one of the paper's `[tables]` by name, or one case without a name."""
        cases = self.inputs.get("cases", {"": {}})
        if isinstance(cases, str) and cases not in self.paper.tables:
            hint = suggest_closest(cases, self.paper.tables)
            raise self.make_error(rules.ROW_FORM, f"the paper has no table `{cases}`", "cases", hint)
        return self.paper.tables[cases] if isinstance(cases, str) else self.table("cases") or {"": {}}

    def machines(self) -> list[Machine]:
        """Return the machines that the row names, or those of a folder, `scaling/*`. Raises ArchlineError (AL45x)."""
        result: list[Machine] = []
        for text in self.texts("machines"):
            folder = text.removesuffix("/*")
            names = [name for name in machine_names() if name.startswith(f"{folder}/")] if folder != text else [text]
            result += [self.machine(name, "machines") for name in names]
        excluded = self.texts("without")
        return [candidate for candidate in result if candidate.name not in excluded]

    def machine(self, name: str, key: str) -> Machine:
        """Return a machine by name. Raises ArchlineError, as `machine` does, with the place."""
        try:
            return machine(name)
        except ArchlineError as problem:
            first = problem.diagnostics[0]
            raise self.make_error(first.rule, first.message, key, first.hint) from None

    @cached_property
    def numbers(self) -> Mapping[str, Fraction]:
        """The numbers of the paper, some replaced by numbers of the row."""
        amounts = self.read_amounts(self.table("at"), "at")
        return {**self.paper.numbers, **{name: amount.value for name, amount in amounts.items()}}

    def find_row(self, key: str = "of") -> PrintedRow | None:
        """Return the row whose name or place is the input `key`; None if no row is. Raises ArchlineError (AL612)."""
        text = self.text(key)
        rows = [row for row in self.paper.rows if row.inputs.get("name", row.place) == text]
        if not rows and _PLACE.fullmatch(text):
            raise self.make_error(rules.ROW_FORM, f"no row is called `{text}`", key)
        if len(rows) > 1:
            raise self.make_error(rules.ROW_FORM, f"several rows are called `{text}`", key, "give one of them a `name`")
        return rows[0] if rows else None

    def make_error(self, rule: Rule, message: str, key: str = "", hint: str | None = None) -> ArchlineError:
        """Make an error about the part `key` of the row, with its position in the file."""
        source = self.paper.places.source
        span = self.paper.places.span((*self.path, key)) or Span(source, 1, 1, 1, len(source.lines[0]) + 1)
        hint = hint or f"`archline explain {rule.code}` says how rows are written"
        about = " ".join(filter(None, (self.paper.name, self.place)))
        return error(rule, f"{about}: {message}", span=span, hint=hint)


@record(eq=False)
class Paper:
    """A paper: its numbers, its rows in order, and the places that are `left_out`, each with the reason."""

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
    path = Path(name) if name.endswith(".toml") else find_resource("papers") / f"{name}.toml"
    if not os.path.isfile(path):
        hint = suggest_closest(name, PAPERS) or f"the papers are {', '.join(PAPERS)}"
        raise error(rules.UNKNOWN_PAPER, f"there is no paper `{name}`", hint=hint)
    source = read_source(path)
    data = parse_toml(source, rules.NOT_TOML, "texts are in quotes: see `archline explain AL611`")
    paper = Paper(path.stem, "", "", TomlPositions(source))
    head = PrintedRow(paper, "", "", "", data, ())
    for key in set(data) - {*PAPER_KEYS}:
        raise head.make_error(rules.ROW_FORM, f"a paper has no `{key}`", key, f"its keys are {', '.join(PAPER_KEYS)}")
    numbers = dict(head.table("numbers"))
    machine_numbers = head.machine(numbers.pop("machine"), "numbers").values if "machine" in numbers else {}
    paper = replace(
        paper,
        title=head.text("title", path.stem),
        citation=load_documents().get(head.text("document", ""), ""),
        numbers={
            **machine_numbers,
            **{key: amount.value for key, amount in head.read_amounts(numbers, "numbers").items()},
        },
        tables=head.table("tables"),
        left_out=tuple((entry.text("place"), entry.text("reason")) for entry in head.read_entries("left_out")),
        figures=[entry.inputs for entry in _check_entries(head, "figure")],
    )
    if not _check_entries(head, "row"):
        raise head.make_error(rules.ROW_FORM, "the paper has no table `[[row]]`")
    problems: list[Diagnostic] = []
    for position, table in enumerate(data.get("row", [])):
        try:
            for row_table in expand_each(table):
                paper.rows.append(read_row(paper, row_table, ("row", str(position)), keys))
        except ArchlineError as problem:
            problems += problem.diagnostics
    if problems:
        raise ArchlineError(problems)
    return paper


def _check_entries(head: PrintedRow, key: str) -> list[PrintedRow]:
    """Return the tables of rows or figures of a paper. Raises ArchlineError (AL612) for other values."""
    entries = head.read_entries(key)
    for entry in entries:
        entry.read_entries("each")
    return entries


def expand_each(table: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return a table for each entry of the key `each`, with the other keys added; without `each`, one table."""
    shared = {key: value for key, value in table.items() if key != "each"}
    return [{**shared, **keys} for keys in table.get("each", [{}])]


def read_row(paper: Paper, table: Mapping[str, Any], path: tuple[str, ...], keys: Mapping[str, Any]) -> PrintedRow:
    """Read a row, or a figure, with the inputs that its kind needs. Raises ArchlineError (AL612)."""
    head = PrintedRow(paper, "", "", "", table, path)
    place, kind = head.text("place"), head.text("kind")
    printed, subject, quote = (head.text(key, "") for key in ("printed", "subject", "quote"))
    row = PrintedRow(paper, place, kind, printed, table, path, subject, quote, tuple(head.texts("assumes")))
    _check_inputs(row, keys)
    if row.has("reading"):
        if not isinstance(row.table("reading").get("says"), str):
            raise row.make_error(rules.ROW_FORM, "a `reading` needs `says`, how the print is read in words", "reading")
        _check_inputs(row.under_reading, keys)
    return row


def _check_inputs(row: PrintedRow, keys: Mapping[str, Any]) -> None:
    """Raise ArchlineError (AL612) for an unknown recipe, or for missing or unknown inputs."""
    if row.kind not in keys:
        hint = suggest_closest(row.kind, keys) or f"the recipes are {', '.join(keys)}"
        raise row.make_error(rules.ROW_FORM, f"there is no recipe `{row.kind}`", "kind", hint)
    needed, more = keys[row.kind]
    for key in needed:
        if key not in row.inputs:
            raise row.make_error(rules.ROW_FORM, f"recipe `{row.kind}` lacks the input `{key}`", "kind")
    for key in row.inputs:
        if key not in (*COMMON_INPUTS, *needed, *more):
            hint = (
                suggest_closest(key, (*needed, *more, *COMMON_INPUTS))
                or f"its inputs are {', '.join((*needed, *more))}"
            )
            raise row.make_error(rules.ROW_FORM, f"recipe `{row.kind}` has no input `{key}`", key, hint)


def _has_large_exponent(form: s.Expr) -> bool:
    """Whether a power in a form has an exponent of more than MAX_EXPONENT."""
    exponents = [node.right for node in iterate_nodes(form) if isinstance(node, s.Binary) and node.op == "^"]
    # Nested exponents first, so that no exponent is evaluated with a large exponent inside.
    return any(
        not find_names(power) and (_has_large_exponent(power) or abs(bound_value(power, {}).middle) > MAX_EXPONENT)
        for power in exponents
    )


def map_sides(expr: s.Fact, change: Callable[[s.Expr], s.Expr]) -> s.Expr:
    """Change a form, or both sides of a relation. Raises ValueError for other facts."""
    match expr:
        case s.Binary(op=op, left=left, right=right) if op in RELATIONS:
            return replace(expr, left=change(left), right=change(right))
        case s.IsPower() | s.IsSquare() | s.Divides():
            raise ValueError
        case _:
            return change(expr)
