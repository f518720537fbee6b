"""Values of `[tool.archline]` that no command could use, and how sizes of caches are read."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest

from archline.energy.machines import read_parameter
from archline.language.diagnostics import ArchlineError
from cli_support import cli

LOOP = "algorithm f(x: inout real[n]):\n    ensures flops == n\n    for i in 0..n:\n        x[i] += 1.0\n"
BLOCKS = "algorithm g(x: inout real[n], b: size):\n    x[0] = 1.0\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "f.algo").write_text(LOOP, encoding="utf-8")
    return tmp_path


def checked(project: Path, entry: str, *arguments: str) -> tuple[int, str]:
    """The exit code of a check of `f.algo` in a project with an entry on line 2, and all that is printed."""
    (project / "pyproject.toml").write_text(f"[tool.archline]\n{entry}\n", encoding="utf-8")
    with contextlib.chdir(project):
        ran = cli("check", "f.algo", *arguments)
    return ran.code, ran.out + ran.err


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ('machine = "zeon"', "2:11: AL450: there is no machine `zeon`"),
        ('machine = ["xeon-e5-2650l-v3", "no.toml"]', "2:11: AL001"),
        ('machine = "gtx-580@triple"', "2:11: AL464"),
        ('model = "icy"', "2:9: AL459"),
        ('cache = "Z=32k"', "2:9: AL101: unexpected `k`"),
        ('cache = "Z=32768"', "2:9: AL408"),
        ('cache = "Z=4, L=8"', "2:9: AL408"),
        ('cache = "S=4, L=8"', "2:9: AL408"),
        ('tolerance = "2"', "2:13: AL404"),
        ('sizes = ["n=x"]', "2:9: AL404"),
        ('where = "zz >= 2"', "2:10: AL401: there is no size `zz`"),
        ('where = "zz >= 2"', "hint: the sizes are n"),
        ('where = "N >= 2"', "hint: did you mean `n`?"),
        ('where = "K >= 2"', "2:10: AL401: there is no size `K`"),
        ('where = "n >= 2, P >= 2"', "2:18: AL401: there is no size `P`"),
        ('where = "k >= 2"', "hint: the sizes are n"),
        ("paths = []", "2:9: AL440: `paths` is empty"),
        ('where = ["n >= 2", "Z >= L, nn >= 2"]', "2:29: AL401: there is no size `nn`"),
    ],
)
def test_what_no_command_could_use_is_an_error_at_its_place(project: Path, entry: str, said: str) -> None:
    (project / "sketches" / "old").mkdir(parents=True)
    (project / "sketches" / "old" / "g.algo").write_text(LOOP, encoding="utf-8")
    code, printed = checked(project, entry)
    assert code == 2
    assert (said if said.startswith("hint") else f"pyproject.toml:{said}") in printed
    assert "--cache" not in printed


@pytest.mark.parametrize(
    "entry",
    [
        'machine = "gtx-580@single"',
        'cache = "Z=32768, L=8"',
        'model = "roofline"',
        'sizes = "n=64, Z=2^15"',
        'tolerance = "2%"',
        'where = "Z >= 4*L"',
        'where = "n >= 2"',
    ],
)
def test_what_commands_can_use_is_none(project: Path, entry: str) -> None:
    assert checked(project, entry)[0] == 0


@pytest.mark.parametrize(
    ("entry", "missing", "near"),
    [
        ('["sketch"]', "sketch", "sketches"),
        ('["sketches", "sketches/old/g.alg"]', "sketches/old/g.alg", "sketches/old/g.algo"),
        ('["nowhere/near"]', "nowhere/near", ""),
    ],
)
def test_paths_that_are_checked_exist(project: Path, entry: str, missing: str, near: str) -> None:
    (project / "sketches" / "old").mkdir(parents=True)
    (project / "sketches" / "old" / "g.algo").write_text(LOOP, encoding="utf-8")
    (project / "pyproject.toml").write_text(f"[tool.archline]\npaths = {entry}\n", encoding="utf-8")
    with contextlib.chdir(project / "sketches"):
        ran = cli("check")
        assert cli("check", "old").code == 0
    assert (ran.code, f"pyproject.toml:2:9: AL440: `{missing}` does not exist" in ran.err) == (2, True)
    assert f"did you mean `{near}`?" in ran.err if near else "hint" not in ran.err


def test_the_grid_and_messages_are_those_of_programs_on_grids(project: Path) -> None:
    grid = "algorithm g(X: inout real[n]) on grid(r: P):\n    where n == P\n    local x: real[1]\n    input x = X[r ..+ 1]\n"
    (project / "g.algo").write_text(grid, encoding="utf-8")
    assert checked(project, 'where = "P >= 2, K >= 2"')[0] == 0


SPARSE = """algorithm g(ptr: offsets[n] into nz, adj: index[nz] below m, x: real[m], y: inout real[n], b: size):
    for i in 0..n:
        for k in ptr[i]..ptr[i + 1]:
            y[i] += x[adj[k]]
"""


@pytest.mark.parametrize("array", ["adj", "ptr", "x"])
def test_arrays_are_no_sizes(project: Path, array: str) -> None:
    (project / "f.algo").write_text(SPARSE, encoding="utf-8")
    code, printed = checked(project, f'where = "{array} >= 4"')
    assert (code, f"2:10: AL401: there is no size `{array}`" in printed) == (2, True)
    assert "hint: the sizes are b, m, n, nz\n" in printed or "did you mean" in printed
    with contextlib.chdir(project):
        for command in (("cost", "f.algo::g"), ("diff", "f.algo", "f.algo"), ("diff", ".", ".")):
            assert f"AL401: there is no size `{array}`" in cli(*command).err
        # A size that no extent has is one, too, of files that are the same.
        assert cli("diff", ".", ".", "--isolated", "--where", "b >= 4").code == 0
        assert cli("diff", ".", ".", "--isolated", "--where", "adj >= 4").refused("AL401")


def test_facts_may_be_about_other_programs_of_the_project(project: Path) -> None:
    (project / "g.algo").write_text(BLOCKS, encoding="utf-8")
    assert checked(project, 'where = "b >= 2"')[0] == 0
    # Those that it leaves out are none.
    assert checked(project, 'where = "b >= 2"\nexclude = ["g.algo"]')[0] == 2
    assert checked(project, 'where = "b >= 2"\npaths = ["f.algo"]')[0] == 2
    # What the command line says takes their place.
    assert checked(project, 'where = "b >= 2"\npaths = ["f.algo"]', "--where", "n >= 2")[0] == 0


@pytest.mark.parametrize(
    ("written", "size"),
    [
        ("32 KB", 2**15),
        ("32 kB", 2**15),
        ("32KB", 2**15),
        ("32 MB", 2**25),
        ("1 GB", 2**30),
        ("32 KiB", 2**15),
        ("32 MiB", 2**25),
        ("32000 B", 32000),
    ],
)
def test_capacities_of_caches_are_in_powers_of_two(written: str, size: int) -> None:
    for name in ("fast_memory", "L1_capacity", "L3_capacity"):
        found = read_parameter(name, written)
        assert found.value == size
        assert (" of 2^" in found.as_written) == written.endswith(("KB", "kB", "MB", "GB"))


@pytest.mark.parametrize(
    ("written", "said"),
    [
        *((f"32 {unit}", "write KiB") for unit in ("K", "k", "kb", "kib", "KIB", "Kib")),
        *((f"1 {unit}", "write MiB") for unit in ("M", "mb", "mib")),
        *((f"1 {unit}", "write GiB") for unit in ("G", "gb")),
        *((f"4096 {unit}", "multiply by the number of bytes in a word") for unit in ("word", "words", "w")),
    ],
)
def test_units_that_are_none_have_a_hint(written: str, said: str) -> None:
    with pytest.raises(ArchlineError, match=said):
        read_parameter("fast_memory", written)
    unit = said.removeprefix("write ")
    assert " " in unit or read_parameter("fast_memory", f"{written.split()[0]} {unit}").value in (2**15, 2**20, 2**30)


def test_other_units_are_in_powers_of_ten() -> None:
    assert read_parameter("bandwidth", "1 GB/s").value == 10**9
    with pytest.raises(ArchlineError):
        read_parameter("bandwidth", "1 KB/s")


@pytest.mark.parametrize("where", ["n >= 2, n <= 9", "n >= 2 and n <= 9", "(n >= 2 and n <= 9)"])
def test_facts_of_a_project_stand_beside_each_other_with_a_comma_or_and(project: Path, where: str) -> None:
    (project / "f.algo").write_text(LOOP.replace("flops == n", "flops <= 9"), encoding="utf-8")
    assert checked(project, f'where = "{where}"')[0] == 0
    assert checked(project, 'where = "n >= 2"')[0] == 1


def test_the_cache_of_a_named_machine_is_not_that_of_the_project(project: Path) -> None:
    (project / "pyproject.toml").write_text('[tool.archline]\ncache = "Z=64, L=8"\n', encoding="utf-8")
    asked = ("energy", "f.algo", "--at", "n=1000", "--machine", "epyc-7763")
    with contextlib.chdir(project):
        inside = cli(*asked)
    (project / "pyproject.toml").unlink()
    with contextlib.chdir(project):
        assert cli(*asked).out == inside.out


@pytest.mark.parametrize("command", [["cost", "f.algo"], ["diff", "f.algo", "f.algo"], ["check", "f.algo"]])
def test_facts_name_sizes_for_every_command_that_takes_them(project: Path, command: list[str]) -> None:
    (project / "pyproject.toml").write_text('[tool.archline]\nwhere = "n >= 2 and nn >= 3"\n', encoding="utf-8")
    with contextlib.chdir(project):
        ran = cli(*command)
        assert (ran.code, "pyproject.toml:2:21: AL401: there is no size `nn`" in ran.err) == (2, True)
        # Another program of the project may have it.
        (project / "g.algo").write_text(BLOCKS.replace("b: size", "nn: size"), encoding="utf-8")
        assert cli(*command).code == 0


def test_a_baseline_that_does_not_exist_is_an_error_at_its_line(project: Path) -> None:
    code, printed = checked(project, 'baseline = "costs"')
    assert (code, "pyproject.toml:2:12: AL442: `costs` does not exist" in printed) == (2, True)
    code, printed = checked(project, "", "--baseline", "costs")
    assert (code, "costs: AL442" in printed) == (2, True)
