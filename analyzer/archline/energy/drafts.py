"""Drafts of machine files from listings: the numbers that a listing has, and which ones are still to be looked up."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from pathlib import Path

from archline.energy import rules
from archline.energy.listings import MAKES, ListedRow, Listing, read_listing
from archline.language.diagnostics import error
from archline.records import record

_CPU = ("cores", "frequency", "simd", "flop_per_cycle", "peak", "bandwidth", "line", "L1_capacity", "L2_capacity")
_WANTED = {"lscpu": (*_CPU, "power_rated"), "nvidia-smi": ("peak", "bandwidth", "L2_capacity", "line", "power_rated")}
Rows = Mapping[str, Sequence[ListedRow]]


@record
class Stated:
    """A number that a listing has, and the rows that it is in."""

    quantity: str
    value: Fraction
    unit: str
    kind: str
    place: str


@record
class Draft:
    """What a listing says of a machine, and the quantities of a machine file that it leaves out."""

    listing: str
    processor: str
    notes: tuple[str, ...]
    stated: tuple[Stated, ...]
    lacking: tuple[str, ...]


def read_draft(path: Path, command: str) -> Draft:
    """The draft that a listing of `lscpu` or `nvidia-smi` gives. Raises ArchlineError (AL493, as reading it does)."""
    if command not in MAKES:
        hint = f"write --from {' FILE, or --from '.join(MAKES)} FILE"
        raise error(rules.LISTING, f"listings of `{command}` are not read", hint=hint)
    processor, *found = (_lscpu if command == "lscpu" else _nvidia_smi)(read_listing(path, command))
    stated = tuple(each for each in found if isinstance(each, Stated))
    lacking = tuple(name for name in _WANTED[command] if name not in {each.quantity for each in stated})
    notes = tuple(each for each in found if isinstance(each, str))
    return Draft(f"{path.name}, a listing of {command}", str(processor), notes, stated, lacking)


# lscpu
_CLOCK = re.compile(r".*@\s*(\d+(?:\.\d+)?)\s*GHz.*")
_VECTORS = {"avx512f": 16, "avx": 8, "sse2": 4, "asimd": 4}
_SIZE = re.compile(r"(\d+(?:[.,]\d+)?)\s*([KMG]?)(i?B?)(?:\s*\((\d+) instances?\))?")
_KIB = {"": Fraction(1, 1024), "K": Fraction(1), "M": Fraction(1024), "G": Fraction(1024**2)}
_PAGE = 4


def _lscpu(listing: Listing) -> Iterator[Stated | str]:
    """The name of the processor, then numbers and notes."""
    rows = listing.rows
    if "CPU(s)" in rows and "Architecture" not in rows:
        raise listing.refused(f"its rows, such as `{next(iter(rows))}`, are not in English")
    if "CPU(s)" not in rows and not any(key.endswith(" ONE-SIZE") for key in rows):
        raise listing.refused("it has no row `CPU(s)`")
    names = dict.fromkeys(row.value for row in rows.get("Model name", ()))
    yield " and ".join(names) or "a processor without a name"
    cores = _cores(rows)
    caches = list(_caches(rows))
    count, threads = (rows[key][0].number() if key in rows else None for key in ("CPU(s)", "Thread(s) per core"))
    uneven = cores is not None and (
        any(instances and cores.value % instances for _, instances in caches)
        or (count is not None and threads is not None and count != threads * cores.value)
    )
    if cores is not None:
        yield cores
    if uneven or len(names) > 1:
        yield "Its cores differ, or some are offline: which has which clock and cache is not in the listing."
        caches = [(each, instances) for each, instances in caches if instances == 1]
    else:
        yield from _clock(rows)
    flags = rows.get("Flags", [])
    # Lines of flags end within a word, or between two.
    words = {word for end in (" ", "") for word in end.join(row.value for row in flags).split()}
    width = next((name for name in _VECTORS if name in words), None)
    if "sve" in words:
        yield "It has SVE, whose vectors may be of any length: no flag says which."
    elif width is not None:
        place = f"line {flags[0].span.line}, Flags: {width}"
        yield Stated("simd", Fraction(_VECTORS[width]), "1", "inferred", place)
    for each, instances in caches:
        yield each
        if cores is not None and instances:
            shared = each.quantity.replace("capacity", "shared")
            yield Stated(shared, cores.value / instances, "1", "inferred", f"{each.place}; {cores.place}")
    for row in [found[-1] for key, found in rows.items() if key.endswith(" COHERENCY-SIZE")][-1:]:
        yield Stated("line", row.number(), "B/line", "rated", str(row))
    if "Hypervisor vendor" in rows:
        yield "A virtual machine: cores and caches are those that it is shown; others may share them."
    if "Socket(s)" in rows and (sockets := rows["Socket(s)"][0].number()) > 1:
        yield f"All {sockets} sockets together: give bandwidth and power of all of them too."


def _cores(rows: Rows) -> Stated | None:
    """The cores of all sockets, or clusters, which some processors of Arm have instead."""
    pairs = [
        pair
        for each in ("socket", "cluster")
        for pair in zip(rows.get(f"Core(s) per {each}", ()), rows.get(f"{each.title()}(s)", ()), strict=False)
    ]
    total = sum((each.number() * groups.number() for each, groups in pairs), Fraction(0))
    place = "; ".join(str(row) for pair in pairs for row in pair)
    return Stated("cores", total, "1", "rated", place) if pairs else None


def _clock(rows: Rows) -> Iterator[Stated]:
    for row in (*rows.get("Model name", ()), *rows.get("BIOS Model name", ())):
        if clock := _CLOCK.fullmatch(row.value):
            yield Stated("frequency", Fraction(clock[1]), "GHz", "rated", f"base clock: {row}")
            return
    for row in rows.get("CPU max MHz", ()):
        place = f"highest clock, which all cores together may not reach: {row}"
        yield Stated("frequency", row.number("MHz"), "MHz", "rated", place)


def _caches(rows: Rows) -> Iterator[tuple[Stated, Fraction | None]]:
    """One cache of each level, and how many there are, where the listing determines that."""
    for name in ("L1d", "L1", "L2", "L3"):
        here = [rows[f"{name}{end}"][0] for end in ("", " cache", " ONE-SIZE") if f"{name}{end}" in rows]
        found = [each for row in here for each in _cache(row)]
        # What is no whole number of pages is rounded to tenths. A level may have caches of two sizes.
        if found and len({one for one, _ in found}) == 1 and not found[0][0] % _PAGE:
            one, instances = found[0]
            kind, place = "inferred" if instances else "rated", "; ".join(map(str, here))
            yield Stated(f"{name[:2]}_capacity", one, "KiB", kind, place), instances


def _cache(row: ListedRow) -> Iterator[tuple[Fraction, Fraction | None]]:
    """KiB of one cache, and how many there are, where a row has that."""
    found = _SIZE.fullmatch(row.value)
    if found is None:
        raise row.refused("a size such as `32K` or `256 KiB (8 instances)`")
    number, prefix, unit, count = found.groups()
    size = Fraction(number.replace(",", ".")) * _KIB[prefix]
    # Up to release 2.33 `lscpu` prints one cache (`32K`), since then all together (`256 KiB`).
    if count is not None and int(count):
        yield size / int(count), Fraction(count)
    elif row.key.endswith("ONE-SIZE") or (prefix and not unit):
        yield size, None


# nvidia-smi
_ROWS = {
    ("frequency", "MHz"): ("Max Clocks/SM", "max_clocks/sm_clock", "clocks.max.sm"),
    ("power_rated", "W"): (
        *("Power Readings/Default Power Limit", "power_readings/default_power_limit"),
        "power.default_limit",
    ),
    ("power_limit", "W"): (
        *("Power Readings/Current Power Limit", "power_readings/current_power_limit", "power.limit"),
        *("Power Readings/Power Limit", "power_readings/power_limit"),
    ),
    ("memory_max", "MiB"): ("FB Memory Usage/Total", "fb_memory_usage/total", "memory.total"),
}
"""The ends of the keys of a quantity: in the text, in XML and in CSV."""


def _nvidia_smi(listing: Listing) -> Iterator[Stated | str]:
    """The name of the first device, then its numbers and notes."""
    rows = listing.rows
    named = ("Product Name", "product_name", "name", "gpu_name")
    names = [row for key, found in rows.items() if key.rpartition("/")[2] in named for row in found]
    device = min(row.device for found in rows.values() for row in (names or found))
    yield names[0].value if names else "a GPU without a name"
    known = False
    for (name, unit), ends in _ROWS.items():
        found = [row for end in ends for key in rows if key.endswith(end) for row in rows[key] if row.device == device]
        for row in found[:1]:
            known, number = True, row.number(unit)
            words = (number * 1024**2 / 8, "word") if unit == "MiB" else (number, unit)
            yield Stated(name, *words, "rated", str(row))
    if not known:
        raise listing.refused("it has no clock, no power limit and no memory")
    if len(names) > 1:
        yield f"The first of {len(names)} devices: `nvidia-smi -q -i 1` lists the second."
