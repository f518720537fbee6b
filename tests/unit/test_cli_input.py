"""What is wrong with a command's input is told with a code and exit code 2, never with a traceback."""

from __future__ import annotations

import math
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from cli_support import Result, cli, process
from effort import long, some

MATMUL = "dense.matmul::matmul_basic"
HEAD = "algorithm f(x: inout real[n], y: real[n, m]):\n"


def program(tmp_path: Path, body: str, head: str = HEAD) -> str:
    path = tmp_path / "program.algo"
    path.write_text(head + "".join(f"    {line}\n" for line in body.split("\n")), encoding="utf-8")
    return str(path)


# Programs
@pytest.mark.parametrize(
    ("body", "code"),
    [
        ("x[0] = z", "AL201"),
        ("frobnicate(x)", "AL202"),
        ("x[0, 0] = 1", "AL2"),
        ("x[0] = y[0]", "AL2"),
        ("y[0, 0] = 1", "AL2"),
        ("while x[0] < 1 at most n:\n    x[0] += 1", "AL101"),
        ("for i in 0...n:\n    x[i] = 1", "AL101"),
    ],
    ids=[
        "unknown name",
        "unknown function",
        "rank",
        "view as element",
        "assigning in",
        "while without times",
        "three dots",
    ],
)
@pytest.mark.parametrize("command", ["cost", "check", "run"])
def test_wrong_programs(tmp_path: Path, body: str, code: str, command: str) -> None:
    result = cli(command, program(tmp_path, body))
    assert result.code == 2
    assert not result.out.strip()
    assert code in result.err
    assert "program.algo:" in result.err


def test_shape_mismatch_of_a_call(tmp_path: Path) -> None:
    text = "algorithm g(a: real[n, n]):\n    pass\n\nalgorithm f(y: real[n, m]):\n    g(y)\n"
    path = tmp_path / "program.algo"
    path.write_text(text, encoding="utf-8")
    assert cli("cost", str(path)).refused("AL231", "AL230", "AL232", "AL233", "AL240", "AL241", "AL242", "AL243")


def test_several_diagnostics_in_one_run(tmp_path: Path) -> None:
    result = cli("cost", program(tmp_path, "x[0] = z\nx[1] = w"))
    assert result.err.count("AL201") == 2


# Files
def test_missing_file() -> None:
    result = cli("cost", "no/such/file.algo")
    assert result.refused("AL001")


def test_directory(tmp_path: Path) -> None:
    folder = tmp_path / "folder.algo"
    folder.mkdir()
    assert cli("cost", str(folder)).refused("AL002")


def test_unreadable(tmp_path: Path) -> None:
    # A path through a file is refused by the system for every user, root included.
    (tmp_path / "file").write_text("", encoding="utf-8")
    assert cli("cost", str(tmp_path / "file" / "inner.algo")).refused("AL003")
    assert cli("cost", str(tmp_path / ("long" * 200 + ".algo"))).refused("AL003")
    assert cli("cost", "nul\0.algo").refused("AL003")


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"algorithm f(x: inout real[n]):\n    x[0] = \xff\n", "AL006"),
        (b"algorithm f(x: inout real[n]):\n    x[0] = \0\n", "AL005"),
        (b"algorithm f(x: inout real[n]):\n\tx[0] = 1\n", "AL103"),
        (b"algorithm f(x: inout real[n]):\n    if n > 1:\n\t    x[0] = 1\n", "AL103"),
        (b"\xff\xfea\0l\0g\0", "AL005"),
        (b"", "AL109"),
        (b"#" * 10_000_000, "AL004"),
        (b"algorithm f(x: inout real[n]):\n    x[0] = 1\n" * 240_000, "AL004"),
    ],
    ids=["not UTF-8", "NUL", "tab", "tab and spaces", "UTF-16", "empty", "10 MB of comment", "10 MB of program"],
)
def test_unreadable_text(tmp_path: Path, data: bytes, code: str) -> None:
    path = tmp_path / "program.algo"
    path.write_bytes(data)
    for command in ("cost", "check", "run"):
        result = cli(command, str(path))
        assert result.code == 2
        assert f"{code}: " in result.err
    if code != "AL109":
        assert cli("fmt", str(path)).refused(code)
    assert path.read_bytes() == data


# Targets
def test_unknown_targets() -> None:
    assert "did you mean `dense.matmul`?" in cli("cost", "dense.matmull").err
    assert "did you mean `matmul_basic`?" in cli("cost", "dense.matmul::matmul_basik").err
    assert cli("cost", "dense.matmul::").code == 2
    assert cli("cost", "").code == 2
    assert cli("cost", "::").code == 2
    assert cli("cost", "dense.no_such").refused("AL001")


def test_one_algorithm_is_wanted() -> None:
    result = cli("run", "dense.matmul", "--at", "n=2,m=2,p=2")
    assert result.refused("AL410")
    assert "dense.matmul::matmul_basic" in result.err


# Sizes
@pytest.mark.parametrize(
    ("at", "code"),
    [
        ("n=0,m=1,p=1", "AL406"),
        ("n=-3,m=1,p=1", "AL406"),
        ("n=7/2,m=1,p=1", "AL405"),
        ("n=1.5,m=1,p=1", "AL405"),
        ("n=log2(3),m=1,p=1", "AL405"),
        ("n=1,m=1", "AL402"),
        ("", "AL101"),
        ("n=1,m=1,p=1,q=1", "AL401"),
        ("n=1,m=1,p=1,n=2", "AL403"),
        ("n=m,m=1,p=1", "AL404"),
        ("n=2^(10^9),m=1,p=1", "AL404"),
        ("n=10^10^10,m=1,p=1", "AL404"),
        ("n=1/0,m=1,p=1", "AL404"),
        ("n=x[0],m=1,p=1", "AL404"),
        ("n=,m=1,p=1", "AL101"),
        ("n=1;m=1", "AL1"),
        ("n", "AL101"),
        ("n=1 m=2", "AL101"),
        ("n=\"a\",m=1,p=1", "AL1"),
        ("n=" + "(" * 10_000 + "1" + ")" * 10_000 + ",m=1,p=1,q=1", "AL4"),
        ("n=" + "9" * 2000 + ",m=1,p=1", "AL106"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("command", [["cost"], ["run"], ["energy", "--machine", "bobcat-e2-1800"]], ids=lambda c: c[0])
def test_wrong_sizes(command: list[str], at: str, code: str) -> None:
    result = cli(command[0], MATMUL, "--at", at, *command[1:])
    assert result.code == 2
    assert not result.out
    assert code in result.err


def test_all_wrong_sizes_are_told_at_once() -> None:
    result = cli("cost", MATMUL, "--at", "n=0,mm=3,p=1/2")
    assert [code in result.err for code in ("AL406", "AL401", "AL405", "AL402")] == [True] * 4
    assert "did you mean `m`?" in result.err


def test_a_run_without_sizes() -> None:
    assert cli("run", MATMUL).refused("AL402")


@long
def test_facts_that_do_not_hold_at_the_sizes() -> None:
    assert cli("cost", "stencil.jacobi_1d", "--at", "n=2,steps=1").refused("AL406")
    assert cli("cost", MATMUL, "--at", "n=4,m=1,p=1", "--where", "n is power of 3").refused("AL407")
    assert cli("cost", MATMUL, "--at", "n=9,m=1,p=1", "--where", "n is power of 3").code == 0


@pytest.mark.parametrize(
    ("facts", "code"),
    [("n >= k", "AL201"), ("n", "AL2"), ("n >=", "AL101"), ("A >= 1", "AL2"), ("n divides", "AL101"), (",", "AL1")],
)
def test_wrong_facts(facts: str, code: str) -> None:
    result = cli("cost", MATMUL, "--where", facts)
    assert result.code == 2
    assert code in result.err


# Caches, schedules, options
@pytest.mark.parametrize(
    ("cache", "code"),
    [
        ("Z=8", "AL408"),
        ("L=8", "AL408"),
        ("Z=4,L=8", "AL408"),
        ("Z=0,L=1", "AL408"),
        ("Z=8,L=0", "AL408"),
        ("Z=8,L=1/2", "AL408"),
        ("Z=8,L=1,W=2", "AL408"),
        ("Z=8,Z=8,L=1", "AL403"),
        ("Z=n,L=1", "AL404"),
        ("big", "AL101"),
    ],
)
def test_wrong_caches(cache: str, code: str) -> None:
    assert cli("run", MATMUL, "--at", "n=2,m=2,p=2", "--cache", cache).refused(code)


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (["--schedule", "static"], "AL409"),
        (["--procs", "2", "--schedule", "dynamic"], "AL409"),
        (["--procs", "2", "--schedule", "chunked"], "AL409"),
        (["--procs", "2", "--schedule", "chunked:0"], "AL409"),
        (["--procs", "2", "--schedule", "stealing:x"], "AL409"),
        (["--procs", "1000000000"], "AL409"),
        (["--block", "2"], "AL411"),
    ],
)
def test_wrong_schedules(options: list[str], code: str) -> None:
    assert cli("run", MATMUL, "--at", "n=2,m=2,p=2", *options).refused(code)


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["no-such-command"],
        ["cost"],
        ["cost", MATMUL, "--format", "xml"],
        ["cost", MATMUL, "--no-such-option"],
        ["cost", MATMUL, "--metric", "time"],
        ["run", MATMUL, "--at", "n=2,m=2,p=2", "--seed", "-1"],
        ["run", MATMUL, "--at", "n=2,m=2,p=2", "--procs", "0"],
        ["run", MATMUL, "--at", "n=2,m=2,p=2", "--policy", "fifo"],
        ["energy", MATMUL, "--at", "n=2,m=2,p=2"],
        ["explain", "AL1000"],
        ["machines", "no-such-machine"],
        ["energy", MATMUL, "--machine", "bobcat-e2-1800", "--model", "icy", "--at", "n=2,m=2,p=2"],
        ["energy", MATMUL, "--machine", "bobcat", "--at", "n=2,m=2,p=2"],
        ["cost", MATMUL, "--explain", "--format", "markdown"],
    ],
    ids=" ".join,
)
def test_wrong_usage(arguments: list[str]) -> None:
    result = cli(*arguments)
    assert result.code == 2
    assert "Traceback" not in result.err
    assert result.err or not arguments


# Extreme but legal
def test_deeply_nested_parentheses(tmp_path: Path) -> None:
    result = cli("cost", program(tmp_path, "x[0] = " + "(" * 10_000 + "1" + ")" * 10_000), "--at", "n=1,m=1")
    assert result.code in (0, 2)


@long
@pytest.mark.parametrize(("bound", "asked"), [("n + 1", []), ("previous", ["--metric", "flops"])])
def test_three_hundred_nested_loops(tmp_path: Path, bound: str, asked: list[str]) -> None:
    """Of a simplex of 300 dimensions, io takes minutes where no limit stops it."""
    ranges = ["n" if bound == "previous" else bound, *(f"i{k}" if bound == "previous" else bound for k in range(299))]
    lines = [" " * k + f"for i{k} in 0..{upper}:" for k, upper in enumerate(ranges)]
    path = program(tmp_path, "\n".join([*lines, " " * 300 + "x[0] += 1"]))
    result = cli("cost", path, *asked)
    assert result.code == 0
    assert "flops" in result.out
    assert cli("fmt", path).code == 0


@pytest.mark.parametrize(
    "bound", ["n^(10^9)", "(n + 1)^(10^9)", "2^(10^9)", "n^n^n", "10^10^10", "n - 10^1000", "n^2^2^2^2^2"]
)
def test_extreme_bounds(tmp_path: Path, bound: str) -> None:
    path = program(tmp_path, f"for i in 0..{bound}:\n    pass")
    for at in ("n=1,m=1", "n=3,m=3"):
        assert cli("cost", path, "--at", at).code in (0, 2)


def test_a_size_of_ten_to_the_thirty() -> None:
    result = cli("cost", MATMUL, "--at", "n=10^30,m=10^30,p=10^30", "--format", "json")
    # 2*n*m*p of the three sizes.
    assert f'"{2 * 10**90}"' in result.out
    assert cli("run", MATMUL, "--at", "n=10^30,m=10^30,p=10^30").code == 2


def test_sizes_of_many_digits() -> None:
    result = cli("cost", MATMUL, "--at", "n=2^30000,m=2^30000,p=2^30000")
    assert result.code == 0
    # 2*n*m*p is 2^90001 there.
    assert f"({int(90001 * math.log10(2)) + 1} digits)" in result.out


def test_no_nonzeros_and_empty_ranges(tmp_path: Path) -> None:
    assert cli("cost", "sparse.csr", "--at", "n=3,m=3,nz=0,nr=0").code == 0
    path = program(tmp_path, "for i in n..n:\n    x[i] = 1\nfor i in 5..2:\n    x[i] = 1")
    result = cli("cost", path, "--at", "n=2,m=2")
    assert result.code == 0
    assert re.search(r"work +1 +exact\n", result.out)


# Real processes
def test_a_process_tells_one_line_and_exits() -> None:
    result = process("cost", "no_such.algo")
    assert result.refused("AL001")
    assert process("--version").out.startswith("archline ")
    assert process("--help").code == 0


def test_a_closed_pipe_is_quiet() -> None:
    shell = os.popen("exec 2>&1; " + _archline("explain") + " | head -1")
    assert shell.read() == "AL001  no such file\n"
    assert shell.close() is None


def test_a_full_disk_is_told() -> None:
    shell = os.popen(_archline("explain") + " 2>&1 >/dev/full")
    assert shell.read() == "archline: No space left on device\n"
    status = shell.close()
    assert status is not None
    assert os.waitstatus_to_exitcode(status) == 2


def _archline(command: str) -> str:
    import shlex

    from cli_support import ROOT

    return f"PYTHONPATH={shlex.quote(str(ROOT / 'analyzer'))} {shlex.quote(sys.executable)} -m archline {command}"


@pytest.mark.skipif(sys.platform == "win32", reason="closes streams by a shell")
@pytest.mark.parametrize(
    ("streams", "command", "code"),
    some(
        [
            (">&-", "cost dense.gemv", 0),
            (">&-", "check dense.gemv", 0),
            (">&- 2>&-", "cost dense.gemv", 0),
            ("2>&-", "cost nowhere.algo", 2),
            ("2>/dev/full", "cost nowhere.algo", 2),
            ("<&-", "check -", 2),
            (">&- 2>&- <&-", "order n n^2", 0),
            ("2> >(true)", "bogus", 2),
        ],
        3,
    ),
)
def test_closed_streams(streams: str, command: str, code: int, tmp_path: Path) -> None:
    line = f"{_archline(command)} {streams}"
    done = subprocess.run(["bash", "-c", line], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == code
    assert "AL999" not in done.stdout + done.stderr
    # A diagnostic takes the way of no other stream.
    assert streams == "<&-" or "AL0" not in done.stdout


def test_a_defect_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(options: object) -> int:
        raise ZeroDivisionError("deliberate")

    monkeypatch.setattr("archline.cli.explain.execute", broken)
    result: Result = cli("explain")
    assert result.code == 3
    assert result.err.startswith("AL999: ")
    assert result.err.count("\n") == 1


def test_an_interrupt_is_told_by_the_exit_code(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(options: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr("archline.cli.explain.execute", interrupted)
    assert cli("explain").code == 130
