"""Draft a machine file from a listing: the numbers that the listing has, and those that are still to be looked up."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

from archline.energy import rules
from archline.energy.listings import LISTING_COMMANDS, ListedRow, Listing, read_listing
from archline.language.diagnostics import error
from archline.records import record

_CPU_QUANTITIES = (
    "cores",
    "frequency",
    "simd",
    "flop_per_cycle",
    "peak",
    "bandwidth",
    "line",
    "L1_capacity",
    "L2_capacity",
)
_EXPECTED_QUANTITIES = {
    "lscpu": (*_CPU_QUANTITIES, "power_rated"),
    "nvidia-smi": ("peak", "bandwidth", "L2_capacity", "line", "power_rated"),
}
Rows = Mapping[str, Sequence[ListedRow]]
Table = Mapping[str, str]
DraftItems = Iterator[str | tuple[str, Table]]
"""The name of a processor, then tables by quantities, and notes."""


@record
class Draft:
    """The content of a listing: a table of a machine file for each quantity, and the quantities that are missing."""

    listing: str
    processor: str
    notes: tuple[str, ...]
    stated: Mapping[str, Table]
    lacking: tuple[str, ...]


def read_draft(path: Path, command: str) -> Draft:
    """Return the draft of a machine file from a listing of `lscpu` or `nvidia-smi`. Raises ArchlineError (AL493)."""
    if command not in LISTING_COMMANDS:
        hint = f"write --from {' FILE, or --from '.join(LISTING_COMMANDS)} FILE"
        raise error(rules.LISTING, f"listings of `{command}` cannot be read", hint=hint)
    name = f"{path.name}, a listing of {command}"
    processor, *items = (_draft_lscpu if command == "lscpu" else _draft_nvidia_smi)(read_listing(path, command))
    notes = tuple(item for item in items if isinstance(item, str))
    tables = dict(item for item in items if not isinstance(item, str))
    stated = {entry: {**table, "source.note": name} for entry, table in tables.items()}
    return Draft(
        name,
        str(processor),
        notes,
        stated,
        tuple(entry for entry in _EXPECTED_QUANTITIES[command] if entry not in stated),
    )


def _make_table(quantity: str, value: Fraction, unit: str, place: object, kind: str = "rated") -> tuple[str, Table]:
    number = f"{Decimal(value.numerator) / value.denominator:f}"
    return quantity, {"value": number, "unit": unit, "kind": kind, "source.place": str(place)}


# lscpu
_CLOCK = re.compile(r".*@\s*(\d+(?:\.\d+)?)\s*GHz.*")
_VECTOR_LANES = {"avx512f": 16, "avx": 8, "sse2": 4, "asimd": 4}
_CACHE_SIZE = re.compile(r"(\d+(?:[.,]\d+)?)\s*([KMG]?)(i?B?)(?:\s*\((\d+) instances?\))?")
_KIB_PER_UNIT = {"": Fraction(1, 1024), "K": Fraction(1), "M": Fraction(1024), "G": Fraction(1024**2)}
_PAGE_KIB = 4


def _draft_lscpu(listing: Listing) -> DraftItems:
    rows = listing.rows
    if "CPU(s)" in rows and "Architecture" not in rows:
        raise listing.make_error(f"its rows, such as `{next(iter(rows))}`, are not in English")
    if "CPU(s)" not in rows and not any(key.endswith(" ONE-SIZE") for key in rows):
        raise listing.make_error("it has no row `CPU(s)`")
    names = dict.fromkeys(row.value for row in rows.get("Model name", ()))
    yield " and ".join(names) or "a processor without a name"
    groups = [
        pair
        for word in ("socket", "cluster")
        for pair in zip(rows.get(f"Core(s) per {word}", ()), rows.get(f"{word.title()}(s)", ()), strict=False)
    ]
    cores = sum((per_group.parse_number() * number.parse_number() for per_group, number in groups), Fraction(0))
    core_rows = "; ".join(str(row) for pair in groups for row in pair)
    if cores:
        yield _make_table("cores", cores, "1", core_rows)
    caches = list(_iterate_cache_levels(rows))
    threads = [rows[key][0].parse_number() for key in ("CPU(s)", "Thread(s) per core") if key in rows]
    uneven = any(number and cores % number for _, _, number, _ in caches)
    if len(names) > 1 or (cores and (uneven or (len(threads) == 2 and threads[0] != threads[1] * cores))):
        yield "Its cores differ, or some are offline: the listing does not show the clock and the caches of each."
        caches = [cache for cache in caches if cache[2] == 1]
    else:
        yield from _draft_clock(rows)
    flags = rows.get("Flags", [])
    # Lines of flags end within a word, or between two.
    words = {word for end in (" ", "") for word in end.join(row.value for row in flags).split()}
    width = next((name for name in _VECTOR_LANES if name in words), None)
    if "sve" in words:
        yield "It has SVE, whose vector length depends on the processor: no flag gives it."
    elif width is not None:
        place = f"line {flags[0].span.line}, Flags: {width}"
        yield _make_table("simd", Fraction(_VECTOR_LANES[width]), "1", place, "inferred")
    for level, size, number, place in caches:
        yield _make_table(f"{level}_capacity", size, "KiB", place, "inferred" if number else "rated")
        if cores and number:
            yield _make_table(f"{level}_shared", cores / number, "1", f"{place}; {core_rows}", "inferred")
    for row in [entries[-1] for key, entries in rows.items() if key.endswith(" COHERENCY-SIZE")][-1:]:
        yield _make_table("line", row.parse_number(), "B/line", row)
    if "Hypervisor vendor" in rows:
        yield "A virtual machine: cores and caches are as presented to it; other machines may share them."
    if "Socket(s)" in rows and (sockets := rows["Socket(s)"][0].parse_number()) > 1:
        yield f"All {sockets} sockets together: give their total bandwidth and power too."


def _draft_clock(rows: Rows) -> DraftItems:
    for row in (*rows.get("Model name", ()), *rows.get("BIOS Model name", ())):
        if (clock := _CLOCK.fullmatch(row.value)) and Fraction(clock[1]):
            yield _make_table("frequency", Fraction(clock[1]), "GHz", f"base clock: {row}")
            return
    for row in rows.get("CPU max MHz", ()):
        place = f"highest clock, which all cores together may not reach: {row}"
        yield _make_table("frequency", row.parse_number("MHz"), "MHz", place)


def _iterate_cache_levels(rows: Rows) -> Iterator[tuple[str, Fraction, Fraction | None, str]]:
    """Yield each level that the listing determines: its name, KiB of one cache, number of caches, and rows as text."""
    for name in ("L1d", "L1", "L2", "L3"):
        level_rows = [rows[f"{name}{end}"][0] for end in ("", " cache", " ONE-SIZE") if f"{name}{end}" in rows]
        entries = [entry for row in level_rows for entry in _read_cache(row)]
        # A size that is not a whole number of pages is rounded to tenths. A level may have caches of two sizes.
        if entries and len({size for size, _ in entries}) == 1 and not entries[0][0] % _PAGE_KIB:
            yield name[:2], *entries[0], "; ".join(map(str, level_rows))


def _read_cache(row: ListedRow) -> Iterator[tuple[Fraction, Fraction | None]]:
    """Yield the KiB of one cache and the number of caches (None if unknown); nothing if a row has only a total."""
    match_size = _CACHE_SIZE.fullmatch(row.value)
    if match_size is None or not float(match_size[1].replace(",", ".")):
        raise row.make_error("a size such as `32K` or `256 KiB (8 instances)`")
    number, prefix, unit, count = match_size.groups()
    size = Fraction(number.replace(",", ".")) * _KIB_PER_UNIT[prefix]
    # Up to release 2.33 `lscpu` prints one cache (`32K`), since then all together (`256 KiB`).
    if count is not None and int(count):
        yield size / int(count), Fraction(count)
    elif row.key.endswith("ONE-SIZE") or (prefix and not unit):
        yield size, None


# nvidia-smi
_NAME_KEYS = ("product_name", "name", "gpu_name")
_KEY_SUFFIXES = {
    "frequency": ("MHz", "max_clocks/sm", "max_clocks/sm_clock", "clocks.max.sm"),
    "power_rated": ("W", "power_readings/default_power_limit", "power.default_limit"),
    "power_limit": ("W", "/power_limit", "/current_power_limit", "power.limit"),
    "memory_max": ("MiB", "fb_memory_usage/total", "memory.total"),
}
"""For each quantity its unit in the listing, and suffixes of its keys: in text and XML, and in CSV."""


def _normalise_key(row: ListedRow) -> str:
    return row.key.lower().replace(" ", "_")


def _draft_nvidia_smi(listing: Listing) -> DraftItems:
    rows = [row for group in listing.rows.values() for row in group]
    names = [row for row in rows if _normalise_key(row).rpartition("/")[2] in _NAME_KEYS]
    device = min(row.device for row in names or rows)
    yield names[0].value if names else "a GPU without a name"
    row_of_quantity = {
        quantity: next(
            (row for row in rows if row.device == device and _normalise_key(row).endswith(tuple(ends))), None
        )
        for quantity, (_, *ends) in _KEY_SUFFIXES.items()
    }
    if not any(row_of_quantity.values()):
        raise listing.make_error("it has no clock, no power limit and no memory")
    for quantity, row in row_of_quantity.items():
        if row is not None:
            unit = _KEY_SUFFIXES[quantity][0]
            amount = (row.parse_number(unit) * 1024**2 / 8, "word") if unit == "MiB" else (row.parse_number(unit), unit)
            yield _make_table(quantity, *amount, row)
    if len(names) > 1:
        yield f"The first of {len(names)} devices: `nvidia-smi -q -i 1` lists the second."
