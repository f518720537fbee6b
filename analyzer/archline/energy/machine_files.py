"""Machines are found by name and read from TOML files; each mistake in one is reported with its place."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from archline.energy import rules
from archline.energy.formulas import check_units
from archline.energy.machines import (
    ASSUMED_WORD,
    DERIVED_KIND,
    KINDS,
    Machine,
    Provenance,
    Quantity,
    diagnose_impossible_quantities,
    find_levels_without_capacity,
    override_quantities,
    read_parameter,
    resolve_quantities,
)
from archline.energy.quantities import (
    LEVEL_QUANTITIES,
    LEVELS,
    NUMERAL,
    QUANTITIES,
    find_meant_quantity,
    parse_capacity_unit,
    shorten_text,
    suggest_number,
    suggest_quantity,
    suggest_unit,
)
from archline.energy.units import Unit
from archline.expr.tree import Source, Span
from archline.language import syntax as s
from archline.language.diagnostics import ArchlineError, Diagnostic, Rule, error, find_closest, suggest_closest
from archline.language.parser import parse_expression
from archline.language.source import read_source
from archline.language.toml import TomlPositions, parse_toml
from archline.resources import find_resource

_NUMERAL = re.compile(NUMERAL)
_MACHINE_KEYS = ("title", "processor", "notes", "extends", "year", "default_variant", "quantity", "level", "variant")
_QUANTITY_KEYS = (
    "value", "unit", "kind", "source", "from", "check", "error", "scope", "doubling_years", "halving_years",
)  # fmt: skip
_QUANTITY_FORM = "`value`, `unit`, `kind` and `source`"
_LEVEL_TABLE = "[level.L1.quantity.NAME]"
_LEVEL_PREFIXES = tuple(f"{level}_" for level in LEVELS)
MAX_CANDIDATES = 4
_SOURCE_KEYS = ("document", "place", "quote", "note")
KeyPath = tuple[str, ...]


def read_machine(path: Path, collection: str = "", variant: str = "", above: tuple[Path, ...] = ()) -> Machine:
    """Read and check a machine file, in a variant of it, or in the default one.

    `above` are the files that extend this one. Raises ArchlineError: AL001 to AL006 if it cannot be read as text, AL452
    if it is not TOML, AL453 to AL457 and AL461 to AL463, all together, for mistakes in it, and AL464 for an unknown
    variant.
    """
    shown = str(path)
    # Reading a pipe or a device might never end.
    if os.path.exists(path) and not os.path.isfile(path):
        hint = "name a file of TOML text, such as `server.toml`"
        raise error(rules.NOT_TOML, f"`{shown}` is not a regular file", path=shown, hint=hint)
    source = read_source(path)
    reader = _MachineReader(source, TomlPositions(source))
    data = parse_toml(
        source, rules.NOT_TOML, 'values are in quotes, as in `value = "9.7"`: see `archline explain AL452`'
    )
    base = _read_base(reader, data, (*above, path.resolve()))
    result = reader.build_machine(path.stem, collection, data, variant, base)
    if reader.findings:
        raise ArchlineError(reader.findings)
    assert result is not None
    return result


def _read_base(reader: _MachineReader, data: Mapping[str, Any], above: tuple[Path, ...]) -> Machine | None:
    """Return the machine that a file extends; None if it extends none.

    `above` are the files from the first one read to this one. Raises ArchlineError (AL463, and as reading it does).
    """
    name = data.get("extends")
    if not isinstance(name, str):
        if name is not None:
            reader.report(rules.MACHINE_FORM, "`extends` is not a string", ("extends",))
        return None
    span = reader.places.span(("extends",))
    base_name, variant = split_variant(name)
    if not base_name.endswith(".toml"):
        path, collection = find_machine_file(base_name, span)
    else:
        path, collection = above[-1].parent / base_name, ""
    if not os.path.isfile(path):
        hint = "a path is relative to the folder of this file"
        raise error(rules.UNKNOWN_MACHINE, f"there is no file `{base_name}` to extend", span=span, hint=hint)
    if path.resolve() in above:
        circle = " -> ".join([*(machine_file.stem for machine_file in above[above.index(path.resolve()) :]), path.stem])
        hint = "one of them must not extend another machine"
        raise error(rules.EXTENDS, f"machines extend each other in a circle: {circle}", span=span, hint=hint)
    try:
        return read_machine(path, collection, variant, above)
    except ArchlineError as problem:
        # An unknown variant is a mistake of this file, which names it.
        raise ArchlineError([replace(item, span=item.span or span) for item in problem.diagnostics]) from None


@cache
def load_documents() -> Mapping[str, str]:
    """Return the citations of `machines/documents.toml`, by key."""
    data = tomllib.loads((find_resource("machines") / "documents.toml").read_text(encoding="utf-8"))
    return {key: str(table["citation"]) for key, table in data.items()}


@dataclass
class _MachineReader:
    """Converts parsed TOML to a machine, and collects all mistakes as `findings`."""

    source: Source
    places: TomlPositions
    findings: list[Diagnostic] = field(default_factory=list)

    def build_machine(
        self, name: str, collection: str, data: Mapping[str, Any], variant: str, base: Machine | None
    ) -> Machine | None:
        self.check_keys(data, _MACHINE_KEYS, "the machine", ())
        if "title" not in data and base is None:
            self.report(rules.MACHINE_FORM, "the machine has no `title`", (), 'begin with a line `title = "..."`')
        if base is None and not data.keys() & {"quantity", "level", "variant"}:
            self.report(rules.MACHINE_FORM, "the machine has no table `[quantity.NAME]`", ())
        quantities = self.read_all_quantities(data, ())
        variants = data.get("variant", {})
        if not isinstance(variants, dict) or not all(isinstance(table, dict) for table in variants.values()):
            self.report(
                rules.MACHINE_FORM, "`variant` must consist of tables `[variant.NAME.quantity.NAME]`", ("variant",)
            )
            return None
        chosen = self.select_variant(name, data, variants, variant)
        for label, table in variants.items():
            path = ("variant", label)
            self.check_keys(table, ("quantity", "level"), f"variant `{label}`", path)
            additions = self.read_all_quantities(table, path)
            quantities |= additions if label == chosen else {}
        if base is not None:
            quantities = override_quantities(base.quantities, quantities)
        notes = data.get("notes", [])
        if not isinstance(notes, list) or not all(isinstance(note, str) for note in notes):
            self.report(rules.MACHINE_FORM, "`notes` is not a list of texts", ("notes",))
            notes = []
        year = data.get("year", None if base is None else base.year)
        if year is not None and (isinstance(year, bool) or not isinstance(year, int)):
            self.report(rules.MACHINE_FORM, "`year` is not a whole number", ("year",))
            year = None
        title, processor = (self.read_text(data, key, "the machine", ()) for key in ("title", "processor"))
        if "word" not in quantities and {"bandwidth", "tau_mem"} & quantities.keys():
            quantities["word"] = ASSUMED_WORD
        self.findings += diagnose_impossible_quantities(
            {name: item for name, item in quantities.items() if item.formula is None}
        )
        if self.findings:
            return None
        quantities = dict(resolve_quantities(quantities))
        self.findings += diagnose_impossible_quantities(quantities)
        for level in find_levels_without_capacity(quantities):
            hint = f"write a table `[level.{level}.quantity.capacity]` with {_QUANTITY_FORM}"
            self.report(rules.MACHINE_FORM, f"level `{level}` has no `capacity`", ("level", level), hint)
        return Machine(
            f"{name}@{chosen}" if chosen else name,
            collection,
            title or (base.title if base else ""),
            processor or (base.processor if base else ""),
            (*(base.notes if base else ()), *notes),
            MappingProxyType(quantities),
            tuple(variants),
            year,
        )

    def select_variant(self, name: str, data: Mapping[str, Any], variants: Mapping[str, Any], chosen: str) -> str:
        default = self.read_text(data, "default_variant", "the machine", ())
        if default and default not in variants:
            hint = suggest_closest(default, variants)
            self.report(rules.UNKNOWN_VARIANT, f"there is no variant `{default}`", ("default_variant",), hint)
        if variants and not default:
            self.report(rules.MACHINE_FORM, "a machine with variants needs a `default_variant`", ("variant",))
        if chosen and chosen not in variants:
            hint = "it has " + ", ".join(f"`{name}@{item}`" for item in variants) if variants else "it has none"
            message = f"machine `{name}` has no variant `{chosen}`"
            raise error(rules.UNKNOWN_VARIANT, message, path=self.source.path, hint=hint)
        return chosen or default

    def read_all_quantities(self, data: Mapping[str, Any], path: KeyPath) -> dict[str, Quantity]:
        """Return the quantities of a machine or of a variant, including those of the levels of its caches."""
        result = self.read_quantities(data.get("quantity", {}), (*path, "quantity"))
        levels = data.get("level", {})
        if not isinstance(levels, dict):
            self.report(rules.MACHINE_FORM, f"`level` must consist of tables `{_LEVEL_TABLE}`", (*path, "level"))
            return result
        for level, table in levels.items():
            place = (*path, "level", level)
            if level not in LEVELS:
                hint = (
                    suggest_closest(level.upper(), LEVELS) or f"levels are {', '.join(LEVELS)}, from the processor on"
                )
                self.report(rules.MACHINE_FORM, f"there is no level `{level}`", place, hint)
            elif not isinstance(table, dict):
                self.report(
                    rules.MACHINE_FORM, f"level `{level}` is not a table", place, f"write tables `{_LEVEL_TABLE}`"
                )
            else:
                self.check_keys(table, ("quantity",), f"level `{level}`", place)
                result |= self.read_quantities(table.get("quantity", {}), (*place, "quantity"), f"{level}_")
        return result

    def read_quantities(self, tables: Any, path: KeyPath, level: str = "") -> dict[str, Quantity]:
        if not isinstance(tables, dict):
            self.report(rules.MACHINE_FORM, f"`{'.'.join(path)}` is not a table of quantities", path)
            return {}
        result = {
            f"{level}{name}": self.read_quantity(name, table, (*path, name), level) for name, table in tables.items()
        }
        return {name: entry for name, entry in result.items() if entry is not None}

    def read_quantity(self, name: str, table: Any, path: KeyPath, level: str) -> Quantity | None:
        name, short = f"{level}{name}", name
        where = f"quantity `{name}`"
        if not isinstance(table, dict):
            hint = f"write a table `[{'.'.join(path)}]` with {_QUANTITY_FORM}"
            self.report(rules.MACHINE_FORM, f"{where} is not a table", path, hint)
            return None
        if name not in QUANTITIES:
            hint = suggest_quantity(name) or "docs/reference/machines.md lists the quantities"
            if level:
                hint = (
                    suggest_closest(short, LEVEL_QUANTITIES)
                    or f"a level has {', '.join(f'`{key}`' for key in LEVEL_QUANTITIES)}"
                )
            self.report(rules.MACHINE_FORM, f"there is no {where}", path, hint)
            return None
        if not level and name[:3] in _LEVEL_PREFIXES:
            hint = f"write `[level.{name[:2]}.quantity.{name[3:]}]`"
            self.report(rules.MACHINE_FORM, f"{where} belongs to a level of caches", path, hint)
            return None
        before = len(self.findings)
        self.check_keys(table, _QUANTITY_KEYS, where, path)
        unit = self.read_unit(name, table, where, path)
        derived = "from" in table
        formula = self.read_formula(name, table, "from", where, path) if derived else None
        check = self.read_formula(name, table, "check", where, path) if "check" in table else None
        kind = self.read_kind(table, where, path, derived)
        source = self.read_provenance(table, where, path, derived)
        value = Fraction(0) if derived else self.read_number(table, "value", where, path)
        if derived and "value" in table:
            self.report(rules.MACHINE_FORM, f"{where} has both `value` and `from`", (*path, "from"))
        margin = self.read_number(table, "error", where, path) if "error" in table else None
        doubling = self.read_doubling(table, where, path)
        if derived and doubling is not None:
            self.report(rules.MACHINE_FORM, f"{where} has a trend, but is computed from others", (*path, "from"))
        if len(self.findings) > before or unit is None or value is None:
            return None
        read = "" if derived else parse_capacity_unit(name, table["unit"].strip())[1]
        written = f"{table['from']}" if derived else f"{table['value'].strip()} {read}"
        return Quantity(
            name, value * unit.factor, written.removesuffix(" 1"), kind, source, formula, check,
            None if margin is None else margin * unit.factor, self.read_text(table, "scope", where, path), doubling,
            self.places.span((*path, "from" if derived else "value")),
        )  # fmt: skip

    def read_unit(self, name: str, table: Mapping[str, Any], where: str, path: KeyPath) -> Unit | None:
        written = self.read_text(table, "unit", where, path)
        unit, _ = parse_capacity_unit(name, written)
        base = QUANTITIES[name].unit
        if unit is not None and unit.dimension == QUANTITIES[name].dimension:
            return unit
        rule, problem = rules.UNKNOWN_UNIT, f"has the unknown unit `{written}`" if "unit" in table else "has no unit"
        if unit is not None:
            rule, problem = rules.DIMENSION, f"is in {base}, and `{written}` is not a unit of that dimension"
        self.report(rule, f"{where} {problem}", (*path, "unit"), suggest_unit(written, base))
        return None

    def read_formula(self, name: str, table: Mapping[str, Any], key: str, where: str, path: KeyPath) -> s.Expr | None:
        text = table[key]
        if not isinstance(text, str):
            self.report(rules.MACHINE_FORM, f"`{key}` of {where} is not a string", (*path, key))
            return None
        try:
            expr = parse_expression(text, self.source.path)
            check_units(expr, QUANTITIES[name].dimension)
        except ArchlineError as problem:
            for item in problem.diagnostics:
                span = self.places.span((*path, key), item.span)
                of_units = f"`archline explain {rules.DIMENSION.code}` says how units combine"
                of_formulas = f"`archline explain {rules.FORMULA.code}` says how formulas are written"
                hint = item.hint or (of_units if item.rule is rules.DIMENSION else of_formulas)
                self.findings.append(Diagnostic(item.rule, f"`{key}` of {where}: {item.message}", span, hint=hint))
            return None
        return expr

    def read_kind(self, table: Mapping[str, Any], where: str, path: KeyPath, derived: bool) -> str:
        if derived and "kind" not in table:
            return DERIVED_KIND
        kind = self.read_text(table, "kind", where, path)
        if kind not in KINDS:
            problem = f"has the unknown kind `{kind}`" if "kind" in table else "has no `kind`"
            hint = f"kinds are {', '.join(KINDS)}; a number from a data sheet is `peak`, a power from one `rated`"
            self.report(rules.MACHINE_FORM, f"{where} {problem}", (*path, "kind"), hint)
        return kind

    def read_provenance(self, table: Mapping[str, Any], where: str, path: KeyPath, derived: bool) -> Provenance:
        entries = table.get("source", {})
        if isinstance(entries, str):
            entries = {"note": entries}
        if not isinstance(entries, dict):
            self.report(rules.MACHINE_FORM, f"the source of {where} is not a table", (*path, "source"))
            return Provenance()
        self.check_keys(entries, _SOURCE_KEYS, f"the source of {where}", (*path, "source"))
        texts = {key: self.read_text(entries, key, f"the source of {where}", (*path, "source")) for key in _SOURCE_KEYS}
        key = texts["document"]
        if key and key not in load_documents():
            hint = suggest_closest(key, load_documents()) or "documents are " + ", ".join(load_documents())
            self.report(rules.MACHINE_FORM, f"there is no document `{key}`", (*path, "source"), hint)
        if not derived and not key and not texts["note"].strip():
            hint = 'say where the number is from: `source = "data sheet, page 3"`'
            self.report(rules.MISSING_SOURCE, f"{where} has no source", path, hint)
        return Provenance(citation=load_documents().get(key, ""), **texts)

    def read_doubling(self, table: Mapping[str, Any], where: str, path: KeyPath) -> Fraction | None:
        for key, sign in (("doubling_years", 1), ("halving_years", -1)):
            if key in table:
                years = self.read_number(table, key, where, path)
                if years == 0:
                    self.report(rules.NOT_A_NUMBER, f"`{key}` of {where} is 0", (*path, key))
                return None if years is None else sign * years
        return None

    def read_number(self, table: Mapping[str, Any], key: str, where: str, path: KeyPath) -> Fraction | None:
        value = table.get(key)
        place = (*path, key)
        if value is None:
            self.report(rules.NOT_A_NUMBER, f"{where} has no `{key}`", path, 'write a numeral in quotes, `"1.5e-9"`')
        elif not isinstance(value, str):
            is_number = isinstance(value, int | float) and not isinstance(value, bool)
            hint = f'write it in quotes, so that it is read exactly: `{key} = "{value if is_number else 1.5}"`'
            self.report(rules.NOT_A_NUMBER, f"the `{key}` of {where} is not a string", place, hint)
        elif not _NUMERAL.fullmatch(value.strip()):
            hint = suggest_number(value.strip()) or 'write a numeral such as "9.7" or "1.8e-9", of at most 40 digits'
            self.report(
                rules.NOT_A_NUMBER,
                f"the `{key}` of {where}, `{shorten_text(value)}`, is not a decimal number",
                place,
                hint,
            )
        elif (number := Fraction(value.strip())) < 0:
            message = f"the `{key}` of {where}, {value.strip()}, is negative"
            self.report(rules.IMPOSSIBLE_NUMBER, message, place, "quantities of a machine are 0 or more")
        else:
            return number
        return None

    def read_text(self, table: Mapping[str, Any], key: str, where: str, path: KeyPath) -> str:
        value = table.get(key, "")
        if isinstance(value, str):
            return value
        self.report(rules.MACHINE_FORM, f"`{key}` of {where} is not a string", (*path, key), "write it in quotes")
        return ""

    def check_keys(self, table: Mapping[str, Any], allowed: tuple[str, ...], where: str, path: KeyPath) -> None:
        for key in table:
            if key not in allowed:
                # The key may be that of a table `[quantity.NAME]` whose prefix is missing.
                level = path[-2:-1] == ("level",)
                meant = find_closest(key, LEVEL_QUANTITIES) if level else None
                if not path and not find_closest(key, allowed, 0.75):
                    meant = find_meant_quantity(key)
                place = ".".join((*path, "quantity", meant or ""))
                hint = f"write `[{place}]` with {_QUANTITY_FORM}" if meant else suggest_closest(key, allowed)
                hint = hint or "the keys are " + ", ".join(f"`{entry}`" for entry in allowed)
                self.report(rules.MACHINE_FORM, f"{where} has the unknown key `{key}`", (*path, key), hint)

    def report(self, rule: Rule, message: str, path: KeyPath, hint: str | None = None) -> None:
        span = self.places.span(path) or Span(self.source, 1, 1, 1, len(self.source.lines[0]) + 1)
        hint = hint or f"`archline explain {rule.code}` says what is expected"
        self.findings.append(Diagnostic(rule, message, span, path=self.source.path, hint=hint))


def machine_names() -> tuple[str, ...]:
    """Return the machines that come with archline, as `collection/name`, sorted."""
    return tuple(sorted(f"{path.parent.name}/{path.stem}" for path in find_resource("machines").glob("*/*.toml")))


def machines() -> tuple[Machine, ...]:
    """Return all machines that come with archline, in the order of `machine_names`, in their default variants."""
    return tuple(machine(name) for name in machine_names())


def collect_variant_peaks(of: Machine) -> dict[str, Fraction]:
    """Return the peaks of the other variants of one of archline's own machines."""
    base_name, _, own_variant = of.name.partition("@")
    names = [name for name in of.variants if name != own_variant] if of.collection else []
    peaks = {name: machine(f"{of.collection}/{base_name}@{name}").values.get("peak") for name in names}
    return {name: peak for name, peak in peaks.items() if peak is not None}


def split_variant(name: str) -> tuple[str, str]:
    """Split `NAME@VARIANT` in its two parts; the folders of a path may contain an `@` too."""
    if name.endswith(".toml"):
        return name, ""
    base_name, at, variant = name.rpartition("@")
    return (base_name, variant) if at else (name, "")


def machine(name: str) -> Machine:
    """Return the machine of a name (`xeon-e5-2650l-v3`, `ice/xeon-e5-2650l-v3`, `gtx-580@single`), or of a `.toml`
    path.

    Raises ArchlineError: AL450 for an unknown name, AL451 for a name in several collections, AL464 for an unknown
    variant, and as `read_machine` does for a file.
    """
    plain, variant = split_variant(name)
    if plain.endswith(".toml"):
        return read_machine(Path(plain), variant=variant)
    path, collection = find_machine_file(plain)
    return read_machine(path, collection, variant)


def find_machine_file(name: str, span: Span | None = None) -> tuple[Path, str]:
    """Return the file and the collection of one of archline's own machines. Raises ArchlineError (AL450, AL451)."""
    names = machine_names()
    matches = [entry for entry in names if name in (entry, entry.partition("/")[2])]
    match matches:
        case [entry]:
            return find_resource("machines") / f"{entry}.toml", entry.partition("/")[0]
        case [] if os.path.isdir(name):
            message = f"`{name}` is a folder; a machine is a name or a `.toml` file"
            hint = "name a file in it; `archline machines` lists the names"
        case []:
            message = f"there is no machine `{name}`"
            hint = _suggest_names(name.lower(), names) or "`archline machines` lists the machines"
        case _:
            hint = "say which: " + ", ".join(f"`{entry}`" for entry in matches)
            raise error(rules.AMBIGUOUS_MACHINE, f"several machines are called `{name}`", span=span, hint=hint)
    raise error(rules.UNKNOWN_MACHINE, message, span=span, hint=hint)


def _suggest_names(name: str, names: Sequence[str]) -> str | None:
    """Suggest the machines whose names contain a text, else one with a similar name; None if there is none."""
    holding = [f"`{entry.partition('/')[2]}`" for entry in names if name and name in entry]
    if not holding:
        return suggest_closest(name, [*names, *(entry.partition("/")[2] for entry in names)])
    more = len(holding) - MAX_CANDIDATES
    *before, last = [*holding[:MAX_CANDIDATES], *([f"{more} more, which `archline machines` lists"] * (more > 0))]
    return f"did you mean {', '.join(before)}{' or ' * bool(before)}{last}?"


def adjust_machine(chosen: str | Machine, parameters: Mapping[str, str | float] | None = None) -> Machine:
    """Return a machine, given or by name, with its quantities overridden by `parameters`. Raises ArchlineError."""
    base = chosen if isinstance(chosen, Machine) else machine(chosen)
    return base.with_parameters({name: read_parameter(name, str(value)) for name, value in (parameters or {}).items()})
