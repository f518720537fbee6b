"""Machines: files of quantities, each with a value, a unit and a source."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from types import MappingProxyType

from archline.energy import rules
from archline.energy.units import parse_unit
from archline.language.diagnostics import ArchlineError, Diagnostic, Rule, did_you_mean, error
from archline.language.source import read_source
from archline.resources import resource

_NUMERAL = re.compile(r"[+-]?(?:\d{1,40}(?:\.\d{0,40})?|\.\d{1,40})(?:[eE][+-]?\d{1,2})?", re.ASCII)
_KEYS = ("title", "processor", "notes", "quantity")
_QUANTITY_KEYS = ("value", "unit", "source", "meaning")


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number of a machine: exact `value` in the base unit `unit` (J, s, J/B, ...), and how its file has
    it.
    """

    name: str
    value: Fraction
    unit: str
    as_written: str
    source: str
    meaning: str = ""


@dataclass(frozen=True, slots=True)
class Machine:
    """A machine: its quantities by name, and where its file is from.

    `name` is the file's name without its suffix; `collection` is its folder under `machines/` (the paper), or
    empty for a file of the user's own.
    """

    name: str
    collection: str
    title: str
    processor: str
    notes: tuple[str, ...]
    quantities: Mapping[str, Quantity] = field(hash=False)

    def value(self, name: str, unit: str) -> Fraction:
        """The quantity's exact value in the base unit given.

        Raises ArchlineError (AL458) where the machine has no such quantity, or one of another dimension.
        """
        quantity = self.quantities.get(name)
        if quantity is None:
            raise error(
                rules.UNSUITED_MACHINE,
                f"machine `{self.name}` has no `{name}`",
                hint=did_you_mean(name, self.quantities) or f"add `[quantity.{name}]` in {unit} to its file",
            )
        if quantity.unit != unit:
            message = f"`{name}` of machine `{self.name}` is {quantity.as_written}, not a number of {unit}"
            raise error(rules.UNSUITED_MACHINE, message)
        return quantity.value

    def provides(self, units: Mapping[str, str]) -> bool:
        """Whether the machine has all these quantities (names to base units)."""
        return all(name in self.quantities and self.quantities[name].unit == unit for name, unit in units.items())


def machine_names() -> tuple[str, ...]:
    """The machines that come with archline, as `collection/name`, sorted."""
    return tuple(sorted(f"{path.parent.name}/{path.stem}" for path in resource("machines").glob("*/*.toml")))


def machines() -> tuple[Machine, ...]:
    """All machines that come with archline, in the order of `machine_names`."""
    return tuple(machine(name) for name in machine_names())


def machine(name: str) -> Machine:
    """The machine of this name (`xeon-e5-2650l-v3` or `ice/xeon-e5-2650l-v3`), or read from this `.toml`
    path.

    Raises ArchlineError: AL450 for an unknown name, AL451 for one that several collections have, and as
    `read_machine` does for a file.
    """
    if name.endswith(".toml"):
        return read_machine(Path(name))
    known = machine_names()
    found = [entry for entry in known if name in (entry, entry.partition("/")[2])]
    match found:
        case [entry]:
            return read_machine(resource("machines") / f"{entry}.toml", entry.partition("/")[0])
        case []:
            candidates = [*known, *(entry.partition("/")[2] for entry in known)]
            hint = did_you_mean(name.lower(), candidates) or "`archline machines` lists the machines"
            raise error(rules.UNKNOWN_MACHINE, f"there is no machine `{name}`", hint=hint)
        case _:
            hint = "say which: " + ", ".join(f"`{entry}`" for entry in found)
            raise error(rules.AMBIGUOUS_MACHINE, f"several machines are called `{name}`", hint=hint)


def read_machine(path: Path, collection: str = "") -> Machine:
    """Read and check a machine file.

    Raises ArchlineError: AL001 to AL006 where it cannot be read as text, AL452 where it is not TOML, and
    AL453 to AL457, all of them at once, for what is wrong in it.
    """
    shown = str(path)
    # Reading a pipe or a device might never end.
    if os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path):
        raise error(rules.NOT_TOML, f"`{shown}` is not a regular file", path=shown)
    text = read_source(path).text
    try:
        data = tomllib.loads(text)
    # A numeral or a nesting beyond the interpreter's limits is reported like any other malformed text.
    except (ValueError, RecursionError) as problem:
        reason = str(problem) if isinstance(problem, ValueError) else "it is nested too deeply"
        raise error(rules.NOT_TOML, f"`{shown}` is not TOML: {reason}", path=shown) from None
    checker = _Checker(shown)
    result = checker.machine(path.stem, collection, data)
    if checker.findings:
        raise ArchlineError(checker.findings)
    return result


class _Checker:
    """Turns parsed TOML into a machine and keeps all that is wrong with it."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.findings: list[Diagnostic] = []

    def machine(self, name: str, collection: str, data: Mapping[str, object]) -> Machine:
        self.check_keys(data, _KEYS, "the machine")
        if "title" not in data:
            self.report(rules.MACHINE_FORM, "the machine has no `title`")
        tables = data.get("quantity", {})
        if not isinstance(tables, dict) or not tables:
            self.report(rules.MACHINE_FORM, "the machine has no table `[quantity.NAME]`")
            tables = {}
        quantities = {key: self.quantity(key, table) for key, table in tables.items()}
        notes = data.get("notes", [])
        if not isinstance(notes, list) or not all(isinstance(note, str) for note in notes):
            self.report(rules.MACHINE_FORM, "`notes` is not a list of texts")
            notes = []
        return Machine(
            name,
            collection,
            self.text(data, "title", "the machine"),
            self.text(data, "processor", "the machine"),
            tuple(notes),
            MappingProxyType({key: quantity for key, quantity in quantities.items() if quantity is not None}),
        )

    def quantity(self, name: str, table: object) -> Quantity | None:
        where = f"quantity `{name}`"
        if not isinstance(table, dict):
            hint = f"write a table `[quantity.{name}]` with `value`, `unit` and `source`"
            self.report(rules.MACHINE_FORM, f"{where} is not a table", hint)
            return None
        before = len(self.findings)
        self.check_keys(table, _QUANTITY_KEYS, where)
        written_unit = self.text(table, "unit", where)
        source = self.text(table, "source", where)
        meaning = self.text(table, "meaning", where)
        if not source.strip():
            self.report(rules.MISSING_SOURCE, f"{where} has no source", "say where the number is from")
        unit = parse_unit(written_unit)
        if unit is None:
            problem = f"has the unknown unit `{written_unit}`" if "unit" in table else "has no unit"
            self.report(rules.UNKNOWN_UNIT, f"{where} {problem}", "units are like `nJ`, `pJ/B`, `GHz`, `s/flop`")
        value = self.number(table.get("value"), where)
        if value is None or unit is None or len(self.findings) > before:
            return None
        written = f"{str(table['value']).strip()} {written_unit.strip()}"
        return Quantity(name, value * unit.factor, unit.base, written, source, meaning)

    def number(self, value: object, where: str) -> Fraction | None:
        if value is None:
            self.report(rules.NOT_A_NUMBER, f"{where} has no value")
        elif not isinstance(value, str):
            hint = "write the numeral in quotes, so that it is read exactly"
            self.report(rules.NOT_A_NUMBER, f"the value of {where} is not a text", hint)
        elif not _NUMERAL.fullmatch(value.strip()):
            shown = value if len(value) <= 40 else value[:40] + "..."
            self.report(rules.NOT_A_NUMBER, f"the value of {where}, `{shown}`, is not a decimal number")
        elif (number := Fraction(value.strip())) < 0:
            self.report(rules.NEGATIVE_NUMBER, f"the value of {where}, {value.strip()}, is negative")
        else:
            return number
        return None

    def text(self, table: Mapping[str, object], key: str, where: str) -> str:
        value = table.get(key, "")
        if isinstance(value, str):
            return value
        self.report(rules.MACHINE_FORM, f"`{key}` of {where} is not a text")
        return ""

    def check_keys(self, table: Mapping[str, object], allowed: tuple[str, ...], where: str) -> None:
        for key in table:
            if key not in allowed:
                hint = did_you_mean(key, allowed) or "the keys are " + ", ".join(f"`{entry}`" for entry in allowed)
                self.report(rules.MACHINE_FORM, f"{where} has the unknown key `{key}`", hint)

    def report(self, rule: Rule, message: str, hint: str | None = None) -> None:
        self.findings.append(Diagnostic(rule, message, path=self.path, hint=hint))
