"""Read the listings that `lscpu` and `nvidia-smi` print of a machine: rows of a key and a value."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

from archline.energy import rules
from archline.expr.tree import Source, Span
from archline.language.diagnostics import error
from archline.language.source import read_source
from archline.records import field, record

LISTING_COMMANDS = {
    "lscpu": "`LC_ALL=C lscpu -B > FILE` makes one, and `LC_ALL=C lscpu -C >> FILE` adds the lines of its caches",
    "nvidia-smi": "`nvidia-smi -q > FILE` makes one",
}
"""The commands whose listings are read, with how to make one."""
_NO_VALUES = ("", "-", "N/A", "[N/A]", "[Not Supported]", "None", "Unknown")
_OTHER_TEXT_PATTERNS = {
    r"\s*processor\s*:\s*\d": "it is /proc/cpuinfo",
    r"# The following is the parsable|\s*CPU NODE ": "it is a table of `lscpu -e` or `lscpu -p`",
    r"\s*\|\s*NVIDIA-SMI": "it is the table of `nvidia-smi` without `-q`",
    r"NVIDIA-SMI has failed|No devices were found|.*command not found": "it is an error message",
}


@record
class ListedRow:
    """A row: its key, which begins with its sections (`Max Clocks/SM`), its value, place and device number."""

    key: str
    value: str
    span: Span
    device: int = 0

    def __str__(self) -> str:
        return f"line {self.span.line}, {self.key}: {self.value}"

    def parse_number(self, unit: str = "") -> Fraction:
        """Return the value as a number above 0, which `unit` may follow in the text. Raises ArchlineError (AL493)."""
        match = re.fullmatch(rf"(\d{{1,15}}(?:[.,]\d{{1,6}})?)\s*(?:{unit})?", self.value)
        if match is None or not (number := Fraction(match[1].replace(",", "."))):
            raise self.make_error(f"a number above 0{unit and f' of {unit}'}")
        return number

    def make_error(self, expected: str) -> Exception:
        """Return the error for a value that differs from the expected form."""
        hint = "use the listing as it was printed, or delete this row"
        message = f"`{self.key}` is `{self.value[:40]}`, which is not {expected}"
        return error(rules.LISTING, message, span=self.span, hint=hint)


@record
class Listing:
    """A listing of a command: its rows that have a value, by their keys."""

    command: str
    source: Source
    rows: dict[str, list[ListedRow]] = field(hash=False)

    def make_error(self, reason: str, line: int = 1) -> Exception:
        """Return the error for a file that is not a listing of the command."""
        span = Span(self.source, line, 1, line, len(self.source.lines[line - 1]) + 1)
        message = f"`{self.source.path}` is not a listing of `{self.command}`: {reason}"
        return error(rules.LISTING, message, span=span, hint=LISTING_COMMANDS[self.command])


def read_listing(path: Path, command: str) -> Listing:
    """Read a listing of a command. Raises ArchlineError: AL493 for another text, AL001 to AL006 for no text."""
    source = read_source(path)
    listing = Listing(command, source, {})
    for number, line in enumerate(source.lines, 1):
        for pattern, what in _OTHER_TEXT_PATTERNS.items():
            if re.match(pattern, line):
                raise listing.make_error(what, number)
    if command == "lscpu":
        rows = _read_lscpu_json(source) if source.text.lstrip().startswith("{") else _read_lscpu_text(source)
    else:
        rows = _read_sections(source) if re.search(r" : |<\w", source.text) else _read_csv(source)
    for row in rows:
        if row.value not in _NO_VALUES:
            listing.rows.setdefault(row.key, []).append(row)
    if not listing.rows:
        raise listing.make_error("it has no rows of a name and a value")
    return listing


def _make_row(source: Source, line: int, key: str, value: str, device: int = 0) -> ListedRow:
    column = max(source.lines[line - 1].rfind(value), 0) + 1
    return ListedRow(key, value, Span(source, line, column, line, column + max(len(value), 1)), device)


def _read_lscpu_text(source: Source) -> Iterator[ListedRow]:
    """Yield the rows of `lscpu`, and of the table of `lscpu -C`: `L1d ONE-SIZE`, ..."""
    columns: list[str] = []
    for number, line in enumerate(source.lines, 1):
        key, colon, value = (part.strip() for part in line.partition(":"))
        if "ONE-SIZE" in line:
            columns = line.split()
        elif colon:
            yield _make_row(source, number, key, value)
        elif len(cells := line.split()) == len(columns):
            yield from (
                _make_row(source, number, f"{cells[0]} {name}", cell) for name, cell in zip(columns, cells, strict=True)
            )
        elif cells:
            # Flags continue in lines without a key.
            yield _make_row(source, number, "Flags", line.strip())


def _read_lscpu_json(source: Source) -> Iterator[ListedRow]:
    """Yield the rows of `lscpu -J` and `lscpu -C -J`."""
    name = ""
    for match in re.finditer(r'"([\w-]+)"\s*:\s*(?:"([^"\n]*)"|([\w.]+))', source.text):
        key, value = match[1], match[2] or match[3] or ""
        if key in ("field", "name"):
            name = value.removesuffix(":")
        else:
            number = source.text.count("\n", 0, match.start()) + 1
            yield _make_row(source, number, name if key == "data" else f"{name} {key.upper()}", value)


def _read_sections(source: Source) -> Iterator[ListedRow]:
    """Yield the rows of `nvidia-smi -q`, also with `-x`: sections by indentation, an outermost one for each device."""
    above: list[tuple[int, str]] = []
    device = 0
    for number, line in enumerate(source.lines, 1):
        depth, text = len(line) - len(line.lstrip()), line.strip()
        above = [section for section in above if section[0] < depth]
        if match := re.fullmatch(r"<(\w+)>(.*)</\w+>|(.+?)\s* : (.*)", text):
            key, value = match[1] or match[3], match[2] or match[4] or ""
            yield _make_row(source, number, "/".join([*(title for _, title in above), key]), value.strip(), device)
        elif text and not text.startswith("</"):
            above.append((depth, text.strip("<>")))
            device += text.startswith(("GPU ", "<gpu "))


def _read_csv(source: Source) -> Iterator[ListedRow]:
    """Yield the rows of `nvidia-smi --query-gpu=... --format=csv`; a unit may follow the name of a column."""
    head, *rows = ([cell.strip() for cell in line.split(",")] for line in source.lines)
    names = [heading.partition(" [")[0] for heading in head]
    for number, cells in enumerate(rows, 2):
        yield from (_make_row(source, number, name, cell, number) for name, cell in zip(names, cells, strict=False))
