"""The cache of results, and the several processes of `archline check`."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from hashlib import sha256
from itertools import count
from pathlib import Path

import pytest

from archline.algebra import effort
from archline.api import checks, result_cache
from cli_support import ROOT, cli
from effort import long

# One addition an iteration.
SUM = """algorithm total(x: real[n], t: inout real[1]):
    ensures flops == {}
    for i in 0..n:
        t[0] += x[i]
"""
LONG = """algorithm total(x: real[n], t: inout real[1], m: size):
    ensures flops <= 4*n
    for i in 0..n:
        if i < min(m + 1, n - 2):
            t[0] += x[i]
    for i in 0..n:
        if i < min(m + 2, n - 3):
            t[0] += x[i]
    for i in 0..n:
        if i < min(m + 3, n - 4):
            t[0] += x[i]
"""
USING = """use helper

algorithm twice(x: real[n], t: inout real[1]):
    ensures flops == 2*n
    helped(x, t)
    helped(x, t)
"""
HELPER = """algorithm helped(x: real[n], t: inout real[1]):
    for i in 0..n:
        t[0] += {}x[i]
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty current folder, and a cache of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path


def entry(here: Path) -> Path:
    """The only entry of the cache."""
    (found,) = (here / "cache" / "archline" / "results").iterdir()
    return found


def plant(place: Path, old: str, new: str) -> None:
    """Change a valid entry into another valid one."""
    _, _, text = place.read_text().partition("\n")
    assert old in text
    changed = text.replace(old, new)
    place.write_text(f"{sha256(changed.encode()).hexdigest()}\n{changed}")


def test_a_second_run_reads_the_cache_until_the_file_changes(here: Path) -> None:
    file = here / "sum.algo"
    file.write_text(SUM.format("n"))
    first = cli("check", "sum.algo")
    assert "1 claim holds" in first.out
    assert cli("check", "sum.algo") == first
    plant(entry(here), '"holds"', '"unknown"')
    assert "1 claim is unknown" in cli("check", "sum.algo").out
    assert cli("check", "sum.algo", "--no-cache") == first
    file.write_text(SUM.format("2*n"))
    assert "derived: n" in cli("check", "sum.algo").out


MACHINE = """title = "A desktop"

[quantity.peak]
value = "{}"
unit = "Gflop/s"
kind = "peak"
source = {{ note = "an example" }}
"""
COMMANDS = {
    "cost": ("cost", "sum.algo"),
    "cost --at": ("cost", "sum.algo", "--at", "n=8", "--format", "json"),
    "energy": ("energy", "sum.algo", "--machine", "ice/xeon-e5-2650l-v3", "--at", "n=8"),
    "compare": ("compare", "sum.algo", "dense.gemv::gemv"),
    "scale": ("scale", "linear:F=n^3/P,W=n^2/P,S=1,M=n", "--machine", "jaketown", "--at", "n=64", "--vary", "P=2..8"),
    "list": ("list",),
    "machines": ("machines", "desk.toml"),
}


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_what_a_command_prints_is_kept(here: Path, command: tuple[str, ...]) -> None:
    (here / "sum.algo").write_text(SUM.format("n"))
    (here / "desk.toml").write_text(MACHINE.format(100))
    first = cli(*command)
    assert (first.code, first.err) == (0, "")
    assert cli(*command) == first
    entry(here).write_text(planted(["kept", 1]))
    assert (cli(*command).code, cli(*command).out) == (1, "kept")
    assert cli(*command, "--no-cache") == first


def planted(found: object) -> str:
    """An entry that depends on no file."""
    whole = json.dumps({"read": {}, "found": found})
    return f"{sha256(whole.encode()).hexdigest()}\n{whole}"


def test_a_page_is_made_anew_once_a_file_that_it_read_changes(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (here / "using.algo").write_text(USING)
    (here / "helper.algo").write_text(HELPER.format(""))
    assert "2*n" in cli("cost", "using.algo", "--metric", "flops").out
    (here / "helper.algo").write_text(HELPER.format("2.0*"))
    assert "4*n" in cli("cost", "using.algo", "--metric", "flops").out
    (here / "desk.toml").write_text(MACHINE.format(100))
    assert "100 Gflop/s" in cli("machines", "desk.toml").out
    (here / "desk.toml").write_text(MACHINE.format(300))
    assert "300 Gflop/s" in cli("machines", "desk.toml").out
    wide = cli("cost", "using.algo").out
    monkeypatch.setenv("COLUMNS", "40")
    assert cli("cost", "using.algo").out != wide


@long
def test_a_page_says_that_the_time_was_up_and_is_not_kept(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (here / "sum.algo").write_text(LONG)
    whole = cli("cost", "sum.algo", "--no-cache")
    assert "Theta(min(n, m))" in whole.out
    assert "1 claim holds" in whole.out
    monkeypatch.setattr(effort, "process_time", count(0, 9).__next__)
    short = cli("cost", "sum.algo", "--time-limit", "5")
    assert "the time limit of 5 s was reached" in short.out
    assert "Theta(min(n, m))" not in short.out
    assert "unknown: flops <= 4*n: the time limit was reached" in short.out
    assert "the time limit was reached" in cli("check", "sum.algo", "--time-limit", "5").out
    assert not (here / "cache" / "archline" / "results").exists()
    assert cli("cost", "sum.algo") == whole


def test_what_is_wrong_is_not_kept(here: Path) -> None:
    assert cli("cost", "sum.algo").refused("AL001")
    (here / "sum.algo").write_text(SUM.format("n"))
    assert cli("cost", "sum.algo").code == 0
    assert cli("cost", "sum.algo", "--at", "m=1").code == 2
    assert cli("cost", "sum.algo", "--at", "m=1").code == 2


def test_options_and_the_current_folder_have_entries_of_their_own(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (here / "sum.algo").write_text(SUM.format("n"))
    cli("check", "sum.algo")
    plant(entry(here), '"holds"', '"unknown"')
    assert "1 claim holds" in cli("check", "sum.algo", "--where", "n >= 2").out
    assert "1 claim holds" in cli("check", "sum.algo::total").out
    other = here / "other"
    other.mkdir()
    (other / "sum.algo").write_text(SUM.format("3*n"))
    monkeypatch.chdir(other)
    assert "1 claim fails" in cli("check", "sum.algo").out


def test_what_a_file_uses_counts_too(here: Path) -> None:
    (here / "using.algo").write_text(USING)
    helper = here / "helper.algo"
    helper.write_text(HELPER.format(""))
    assert "1 claim holds" in cli("check", "using.algo").out
    helper.write_text(HELPER.format("2.0*"))
    assert "derived: 4*n" in cli("check", "using.algo").out


def test_a_file_that_appears_before_the_one_used_counts_too(here: Path) -> None:
    program = "use dense.lu\n\nalgorithm run(A: inout real[n, n]):\n    ensures work <= n^3 + n + 2\n    lu(A)\n"
    (here / "run.algo").write_text(program)
    assert "1 claim holds" in cli("check", "run.algo").out
    (here / "dense").mkdir()
    (here / "dense" / "lu.algo").write_text("algorithm other(x: inout real[n]):\n    x[0] = 1.0\n")
    assert cli("check", "run.algo").code == 2


@pytest.mark.parametrize(
    "damage", [lambda text: text[:-9], lambda text: text.replace('"holds"', '"fails"'), lambda _: ""]
)
def test_a_damaged_entry_is_ignored(here: Path, damage) -> None:
    (here / "sum.algo").write_text(SUM.format("n"))
    first = cli("check", "sum.algo")
    place = entry(here)
    whole = place.read_text()
    place.write_text(damage(whole))
    assert cli("check", "sum.algo") == first
    assert place.read_text() == whole


def test_an_entry_of_another_form_or_program_is_ignored(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (here / "sum.algo").write_text(SUM.format("n"))
    first = cli("check", "sum.algo")
    plant(entry(here), '"contracts"', '"treaties"')
    assert cli("check", "sum.algo") == first
    plant(entry(here), '"holds"', '"fails"')
    monkeypatch.setattr(result_cache, "_compute_program_digest", lambda: "changed")
    assert cli("check", "sum.algo") == first


def test_a_cache_that_cannot_be_written_is_no_error(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (here / "sum.algo").write_text(SUM.format("n"))
    (here / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(here / "file"))
    result = cli("check", "sum.algo")
    assert "1 claim holds" in result.out
    assert (result.code, result.err) == (0, "")


def test_certificates_and_stops_are_the_same_from_the_cache(here: Path) -> None:
    text = (
        "algorithm first(x: inout real[n]):\n    ensures flops is Theta(n)\n    for i in 0..n:\n        x[i] += 1.0\n"
    )
    stopped = "algorithm last(x: inout real[n]):\n    ensures flops == 1\n    x[(n + 1)//2] += 1.0\n"
    (here / "both.algo").write_text(f"{text}\n{stopped}")
    for options in (["--format", "json"], ["--certificates"], ["--certificates", "--format", "json"]):
        assert cli("check", "both.algo", *options) == cli("check", "both.algo", *options)
    document = json.loads(cli("check", "both.algo", "--certificates", "--format", "json").out)
    assert "certificates" in json.dumps(document)
    assert "stops here" in cli("check", "both.algo").out


def test_few_entries_are_left_where_there_are_many(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(result_cache, "MAX_ENTRIES", 4)
    for number in range(9):
        (here / f"s{number}.algo").write_text(SUM.format("n"))
        assert cli("check", f"s{number}.algo").code == 0
    assert 1 <= len(list((here / "cache" / "archline" / "results").iterdir())) <= 4


def test_the_order_is_that_of_the_targets_whatever_the_processes(here: Path) -> None:
    for number in range(6):
        (here / f"s{number}.algo").write_text(SUM.format(f"{number}*n") if number != 3 else "algorithm\n")
    one = cli("check", ".", "-j", "1", "--no-cache")
    assert one.code == 2
    assert [line.split(":")[0] for line in one.out.splitlines() if ":2:" in line] == [
        f"s{number}.algo" for number in (0, 1, 2, 4, 5)
    ]
    assert cli("check", ".", "-j", "3", "--no-cache") == one
    assert cli("check", ".", "--no-cache") == one


FORKS = multiprocessing.get_start_method() == "fork"


@pytest.mark.skipif(not FORKS, reason="the fault is planted in this process")
def test_a_process_that_crashes_leaves_no_hang(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(4):
        (here / f"s{number}.algo").write_text(SUM.format("n"))
    group = checks._check_algorithm
    monkeypatch.setattr(
        checks, "_check_algorithm", lambda each, task: os._exit(1) if "s1" in task.target else group(each, task)
    )
    result = cli("check", ".", "-j", "2", "--no-cache")
    assert result.code == 3
    assert "AL999" in result.err
    assert not multiprocessing.active_children()


@pytest.mark.skipif(not FORKS, reason="the fault is planted in this process")
def test_a_defect_in_a_process_is_reported(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(4):
        (here / f"s{number}.algo").write_text(SUM.format("n"))
    monkeypatch.setattr(checks, "_check_algorithm", lambda each, task: 1 // 0)
    result = cli("check", ".", "-j", "2", "--no-cache")
    assert result.code == 3
    assert "ZeroDivisionError" in result.err


def _heeding_interrupts() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@long
@pytest.mark.skipif(os.name == "nt", reason="signals are others there")
def test_an_interrupt_ends_all_processes(here: Path) -> None:
    command = [sys.executable, "-m", "archline", "check", str(ROOT / "stdlib"), "-j", "2", "--no-cache"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "analyzer")}
    pipe = subprocess.PIPE
    # Processes in the background of a shell ignore interrupts, and hand that on.
    with subprocess.Popen(
        command, env=environment, stdout=pipe, stderr=pipe, text=True, preexec_fn=_heeding_interrupts
    ) as run:
        children = Path(f"/proc/{run.pid}/task/{run.pid}/children")
        started: list[str] = []
        for _ in range(6000):
            time.sleep(0.1)
            started = children.read_text().split() if children.exists() else []
            if len(started) == 2:
                break
        # Python loses an interrupt that comes in the hooks of a fork.
        time.sleep(2)
        run.send_signal(signal.SIGINT)
        _, err = run.communicate(timeout=600)
        assert run.returncode == 130
        assert err == "interrupted\n"
        assert not [each for each in started if Path(f"/proc/{each}").exists()]
