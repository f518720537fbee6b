"""Levels of caches: how machine files have them, and what is wrong with those that are refused."""

from pathlib import Path

import pytest

from archline.api.caches import cache_of, level_caches
from archline.energy.machines import Machine, machine
from archline.energy.models import models
from archline.execution.results import Cache
from archline.language.diagnostics import ArchlineError
from archline.report.machines import one
from cli_support import cli

SHEET = """\
title = "Two levels"
[quantity]
peak = { value = "100", unit = "Gflop/s", kind = "peak", source = "sheet" }
bandwidth = { value = "20", unit = "GB/s", kind = "peak", source = "sheet" }
line = { value = "64", unit = "B/line", kind = "rated", source = "sheet" }
word = { value = "8", unit = "B/word", kind = "definition", source = "sheet" }
[level.L1.quantity]
capacity = { value = "1", unit = "KiB", kind = "rated", source = "sheet, page 2" }
bandwidth = { value = "400", unit = "GB/s", kind = "peak", source = "sheet" }
shared = { value = "1", unit = "1", kind = "rated", source = "sheet" }
[level.L2.quantity.capacity]
value = "16"
unit = "KiB"
kind = "rated"
source = "sheet"
[level.L2.quantity.line]
from = "2*line"
unit = "B/line"
"""


def of_text(folder: Path, text: str, variant: str = "") -> Machine:
    path = folder / "two.toml"
    path.write_text(text, encoding="utf-8")
    return machine(f"{path}{variant}")


def test_levels_are_quantities_like_others(tmp_path: Path) -> None:
    found = of_text(tmp_path, SHEET)
    assert found.values["L1_capacity"] == 1024
    assert found.values["L1_bandwidth"] == 400 * 10**9
    assert found.values["L2_line"] == 128
    assert str(found.quantities["L1_capacity"].source) == "sheet, page 2"
    assert found.quantities["L2_line"].kind == "derived"
    assert level_caches(found) == (("L1", Cache(128, 8)), ("L2", Cache(2048, 16)))
    assert cache_of(found) == Cache(2048, 16)


def test_levels_in_variants(tmp_path: Path) -> None:
    half = '[variant.half.level.L1.quantity.bandwidth]\nvalue = "200"\nunit = "GB/s"\nkind = "peak"\nsource = "x"\n'
    text = f'default_variant = "whole"\n{SHEET}[variant.whole]\n{half}'
    assert of_text(tmp_path, text).values["L1_bandwidth"] == 400 * 10**9
    found = of_text(tmp_path, text, "@half")
    assert found.values["L1_bandwidth"] == 200 * 10**9
    assert found.values["L1_capacity"] == 1024


def test_fast_memory_goes_before_levels(tmp_path: Path) -> None:
    fast = 'fast_memory = { value = "1", unit = "MiB", kind = "rated", source = "sheet" }\n'
    assert cache_of(of_text(tmp_path, SHEET.replace("[quantity]\n", f"[quantity]\n{fast}"))) == Cache(131072, 8)


# What is replaced by what, the line of the report, its code, and what message and hint say.
WRONG = [
    ("[level.L2.quantity.capacity]", "[level.l2.quantity.capacity]", 11, "AL453", "no level `l2`", "did you mean `L2`?"),
    ("[level.L2.quantity.capacity]", "[level.DRAM.quantity.capacity]", 11, "AL453", "no level `DRAM`", "L1, L2, L3, L4"),
    ("[level.L2.quantity.capacity]", "[level.L2.capacity]", 11, "AL453", "unknown key `capacity`", "[level.L2.quantity.capacity]"),
    ("[level.L2.quantity.capacity]", "[level.L2.quantity.size]", 11, "AL453", "no quantity `L2_size`", "a level has `capacity`"),
    ("[level.L2.quantity.capacity]", "[quantity.L2_capacity]", 11, "AL453", "is one of a level", "[level.L2.quantity.capacity]"),
    ("[level.L2.quantity.capacity]", "[level.L2.quantity.peak]", 11, "AL453", "no quantity `L2_peak`", "a level has `capacity`"),
    ("[level.L1.quantity]", "[level]\nL1 = 3\n[nothing]", 8, "AL453", "`L1` is not a table", "[level.L1.quantity.NAME]"),
    ('"1", unit = "KiB"', '"1", unit = "KB"', 8, "AL454", "unknown unit `KB`", "write kB"),
    ('"1", unit = "KiB"', '"0", unit = "KiB"', 8, "AL457", "`L1_capacity` is 0", "whole lines"),
    ('"1", unit = "KiB"', '"1000", unit = "B"', 8, "AL457", "not a whole number of lines of 64 B/line", "whole lines"),
    ('"1", unit = "KiB"', '"64", unit = "KiB"', 12, "AL457", "`L2` of 16 KiB is smaller than level `L1` of 64 KiB", "from the processor on"),
    ('"400", unit = "GB/s"', '"400", unit = "GB"', 9, "AL461", "no unit of that dimension", "write GB/s"),
    ('"400", unit = "GB/s"', '"0", unit = "GB/s"', 9, "AL457", "`L1_bandwidth` is 0", "numbered"),
    ('"1", unit = "1"', '"1.5", unit = "1"', 10, "AL457", "`L1_shared`, 1.5, is not a whole number", "numbered"),
    ('capacity = { value = "1"', 'energy = { value = "1"', 8, "AL461", "`L1_energy` is in J/B", "J/B"),
    ('capacity = { value = "1", unit = "KiB"', 'energy = { value = "1", unit = "J/B"', 7, "AL453", "`L1` has no `capacity`", "[level.L1.quantity.capacity]"),
    ('"2*line"', '"2.5*line"', 12, "AL457", "not a whole number of lines of 2.5*line", "whole lines"),
    ('"2*line"', '"2*L1_bandwidth"', 17, "AL461", "and B/line is needed", "AL461"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "line", "code", "message", "hint"), WRONG)
def test_what_is_wrong_with_levels(
    tmp_path: Path, old: str, new: str, line: int, code: str, message: str, hint: str
) -> None:
    assert SHEET.count(old) == 1
    with pytest.raises(ArchlineError) as problem:
        of_text(tmp_path, SHEET.replace(old, new))
    first = next(each for each in problem.value.diagnostics if message in each.message)
    assert (first.rule.code, first.span and first.span.line) == (code, line)
    assert hint in str(first.hint)


def test_the_page_of_a_machine_has_a_row_for_each_level(tmp_path: Path) -> None:
    shown = one(of_text(tmp_path, SHEET), models(), 200)
    rows = [line.split("  ") for line in shown.splitlines() if line.startswith(("  level", "  L"))]
    assert [[cell.strip() for cell in row if cell] for row in rows] == [
        ["level", "capacity", "line", "bandwidth", "energy", "shared by cores"],
        ["L1", "1 KiB (rated) [2]", "-", "400 GB/s (peak) [1]", "-", "1 (rated) [1]"],
        ["L2", "16 KiB (rated) [1]", "128.0 B/line = 2*line (derived)", "-", "-", "-"],
    ]


def test_parameters_of_levels(tmp_path: Path) -> None:
    of_text(tmp_path, SHEET)
    on = ("energy", "roofline:W=1e9,Q=1e6", "--machine", str(tmp_path / "two.toml"), "--model", "roofline")
    result = cli(*on, "--parameter", "L1_capacity=1000B")
    assert result.code == 2
    assert "not a whole number of lines" in result.err
