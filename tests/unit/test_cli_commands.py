"""Each command of the command line on good input: what it prints, and its exit code."""

from __future__ import annotations

import json
import os
import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from archline.api.algorithms import algorithm
from cli_support import ROOT, cli, process
from effort import long
from stdlib_targets import MODULES

MATMUL = "dense.matmul::matmul_basic"
MATRICES = ROOT / "tests" / "data" / "matrices"


def document(*arguments: str) -> Any:
    result = cli(*arguments, "--format", "json")
    assert result.code == 0, result.err
    return json.loads(result.out)


def program(tmp_path: Path, text: str) -> str:
    path = tmp_path / "program.algo"
    path.write_text(text, encoding="utf-8")
    return str(path)


# cost
def test_cost_of_one_algorithm() -> None:
    found = document("cost", MATMUL, "--at", "n=3,m=4,p=2^3")
    assert found["version"] == 2
    assert found["algorithm"] == "matmul_basic"
    assert found["parameters"] == ["n", "m", "p"]
    flops = found["costs"]["flops"]
    assert flops["status"] == "exact"
    assert flops["lower"] == flops["upper"] == "2*n*m*p"
    assert flops["growth"] == "Theta(n*m*p)"
    assert flops["regimes"] == []
    assert flops["value"] == {"lower": "192", "upper": "192"}
    assert set(found["flops_by_kind"]) == {"add", "mul"}
    assert found["costs"]["span"]["value"]["lower"] == str(3 * 4 * 8 + 8 + 2 + 2)


def test_cost_of_several_targets_shares_sizes() -> None:
    result = cli("cost", "dense.gemv::gemv", "dense.trmm", "sort.lower_bound", "--at", "n=4,m=5")
    assert result.code == 0
    assert result.out.count("at n = 4") == 3


FORMS = ("text", "json", "latex", "markdown")
# Each module in one format; `test_reports.py` has all formats of all algorithms.
IN_TURN = [*zip(MODULES, 6 * FORMS, strict=True), *(("sort.mergesort", form) for form in FORMS)]


@long
@pytest.mark.parametrize(("module", "form"), IN_TURN)
def test_every_format_of_stdlib_modules(module: str, form: str) -> None:
    result = cli("cost", module, "--format", form)
    assert result.code == 0
    assert not result.err
    assert result.out.endswith("\n")


def test_declared_costs_are_told(tmp_path: Path) -> None:
    text = (
        "extern f(a: real) -> real costs c flops\n\n"
        "algorithm g(x: inout real[n]):\n    assume n >= 2\n    for i in 0..n:\n        x[i] = f(x[i])\n"
    )
    path = program(tmp_path, text)
    found = document("cost", f"{path}::g", "--at", "n=3,c=7/2")
    assert found["symbols"] == ["c"]
    assert found["costs"]["flops"]["declared"] == ["extern f"]
    assert found["costs"]["flops"]["value"]["lower"] == "21/2"
    shown = cli("cost", path).out
    assert "uses declared costs: extern f" in shown
    assert "n >= 2 (assumed at line 4)" in shown
    assert cli("cost", path, "--at", "n=3").refused("AL402")


def test_unknown_costs_have_a_reason_and_a_place(tmp_path: Path) -> None:
    text = "algorithm f(x: inout real[n]):\n    while x[0] < 1.0 at most n^n times:\n        x[0] += 1.0\n"
    path = program(tmp_path, text)
    cost = document("cost", f"{path}::f")["costs"]["work"]
    assert (cost["status"], cost["lower"], cost["upper"]) == ("unknown", None, None)
    assert cost["reason"]
    assert re.fullmatch(r".*program\.algo:\d+", cost["place"])
    for form in ("text", "latex", "markdown"):
        assert "unknown" in cli("cost", path, "--format", form, "--at", "n=3").out


def test_explain_shows_each_statement() -> None:
    result = cli("cost", MATMUL, "--explain", "--metric", "span")
    assert "parallel for i in 0..n:" in result.out
    assert "span = 3*m " in result.out
    assert "together: span = 3*m*p + p + ceil(log2(n)) + 2; 1 is the call itself" in result.out


@long
def test_explain_speaks_of_the_variables_that_the_program_has(tmp_path: Path) -> None:
    """A loop down or in strides is derived by the number of its iteration, which its reader never sees."""
    text = "algorithm f(x: inout real[n], b: size):\n    where b divides n\n    for i in n-1 downto 0 step 2:\n"
    text += "        for j in 0..n step b:\n            for k in i..i+j:\n                x[k % n] += 1\n"
    shown = cli("cost", program(tmp_path, text), "--explain").out
    # Each of the j iterations of k costs itself and an addition.
    assert "work = 2*j  (sum over k of" in shown
    text = "algorithm f(x: inout real[n]):\n    for i in n-1 downto 0 step 2:\n        for j in i..n:\n            x[j] += 1\n"
    assert "work = 2*n - 2*i  (sum over j of" in cli("cost", program(tmp_path, text), "--explain").out


def test_where_adds_a_fact(tmp_path: Path) -> None:
    path = program(tmp_path, "algorithm f(x: inout real[n]):\n    for i in 5..n:\n        x[i] = 1\n")
    assert re.search(r"work +max\(0, n - 5\) \+ 1 +exact", cli("cost", path).out)
    narrowed = cli("cost", path, "--where", "n >= 5")
    assert re.search(r"work +n - 4 +exact", narrowed.out)
    assert "assuming n >= 5" in narrowed.out


@long
def test_output_fits_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    for columns in ("60", "80", "120"):
        monkeypatch.setenv("COLUMNS", columns)
        for module in (*MODULES[::4], "dense.transpose_recursive", "arithmetic.karatsuba"):
            found = cli("cost", module)
            assert found.code == 0, found.err
            assert all(len(line) <= int(columns) for line in found.out.splitlines()), (module, columns)


# run
def test_run_shows_executed_between_derived() -> None:
    result = cli("run", MATMUL, "--at", "n=3,m=4,p=5", "--cache", "Z=64,L=4")
    table = result.out.split("\n\n")[1]
    rows = {line.split()[0]: line.split()[1:] for line in table.splitlines()}
    # 2*n*m*p flops; three reads and a write for each product; C, A and B fit 16 lines of 4 words.
    assert rows["flops"] == ["120", "120", "120", "exact"]
    assert rows["accesses"] == ["240", "240", "240", "exact"]
    assert rows["io"] == [*[str(3 * 1 + 4 * 2 + 3 * 2)] * 3, "bounded"]
    assert "io is counted for Z = 64 words, L = 4 words a line (16 lines), optimal replacement" in result.out
    assert result.code == 0


def test_run_says_when_the_cache_is_the_default() -> None:
    shown = " ".join(cli("run", MATMUL, "--at", "n=2,m=2,p=2").out.split())
    assert "L = 8 words a line (4096 lines), optimal replacement; the default, as --cache is not given" in shown
    found = document("run", MATMUL, "--at", "n=2,m=2,p=2")
    assert found["cache"] == {
        "Z": 32768, "L": 8, "policy": "optimal", "default": True, "processors": 1, "schedule": None,
    }  # fmt: skip


def test_run_as_json() -> None:
    found = document("run", "sort.merge", "--at", "n=5,m=6", "--seed", "3")
    assert found["version"] == 2
    assert found["checked"] is True
    assert found["outside"] == []
    assert found["at"] == {"n": "5", "m": "6"}
    counts = found["counts"]
    assert set(counts) == {"flops", "work", "span", "accesses", "io", "writebacks", "bytes", "memory"}
    # Two sorted halves and the result, one word an element.
    assert counts["memory"] == 22
    assert int(found["derived"]["flops"]["lower"]) <= counts["flops"] <= int(found["derived"]["flops"]["upper"])


@pytest.mark.parametrize(
    ("target", "options"),
    [("sparse.csr", []), ("sparse.csc", []), ("sparse.block", ["--block", "64"]), ("sparse.csr", ["--plain"])],
)
def test_run_on_a_matrix(target: str, options: list[str]) -> None:
    # The file's header says 479 rows, 479 columns, 1910 entries; 12 and 35 by counting its lines.
    path = MATRICES / "west0479.mtx"
    found = document("run", target, "--matrix", str(path), *options)
    entries = [line.split() for line in path.read_text().splitlines() if not line.startswith("%")][1:]
    rows, columns = [row for row, *_ in entries], [column for _, column, *_ in entries]
    matrix = found["matrix"]
    assert (matrix["n"], matrix["m"], matrix["nz"]) == (479, 479, len(entries))
    assert matrix["nr"] == max(rows.count(row) for row in set(rows))
    assert matrix["nc"] == max(columns.count(column) for column in set(columns))
    assert found["counts"]["flops"] == 2 * len(entries)
    assert found["checked"]


@long
def test_run_on_a_compressed_symmetric_matrix(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(MATRICES)
    result = cli("run", "sparse.csr", "--matrix", "bcsstk16.mtx.gz")
    assert "n = 4884, m = 4884, nz = 290378" in result.out


@pytest.mark.parametrize("schedule", ["static", "chunked:2", "stealing", "stealing:5"])
@pytest.mark.parametrize("policy", ["optimal", "lru"])
def test_run_on_processors(schedule: str, policy: str) -> None:
    found = document(
        "run", MATMUL, "--at", "n=8,m=4,p=4", "--procs", "3", "--schedule", schedule, "--cache", "Z=32,L=4",
        "--policy", policy,
    )  # fmt: skip
    assert len(found["processor_io"]) == 3
    assert sum(found["processor_io"]) == found["counts"]["io"]
    assert found["cache"]["policy"] == policy
    assert found["cache"]["schedule"] is not None


def test_a_planted_race_is_found(tmp_path: Path) -> None:
    path = program(tmp_path, "algorithm f(x: inout real[n]):\n    parallel for i in 0..n:\n        x[0] += 1\n")
    # From the text where it is certain, else from the execution.
    assert cli("run", path, "--at", "n=4").refused("AL301", "AL516")


def test_a_count_outside_its_bounds_is_loud(monkeypatch: pytest.MonkeyPatch) -> None:
    from archline.execution import run as execution

    honest = execution.compute_counts

    def dishonest(finished: Any) -> Any:
        from dataclasses import replace

        counts = honest(finished)
        return replace(counts, work=counts.work + 1)

    monkeypatch.setattr(execution, "compute_counts", dishonest)
    result = cli("run", MATMUL, "--at", "n=2,m=2,p=2")
    assert result.code == 1
    assert "OUTSIDE" in result.out
    assert "AL999: the executed work lies outside the derived bounds" in result.out
    tampered = cli("run", MATMUL, "--at", "n=2,m=2,p=2", "--format", "json")
    assert tampered.code == 1
    assert json.loads(tampered.out)["outside"] == ["work"]
    assert json.loads(tampered.out)["checked"] is False


# energy
def test_energy_follows_the_equations() -> None:
    arguments = (MATMUL, "--at", "n=16,m=16,p=16", "--cache", "Z=256,L=8")
    (found,) = document("energy", *arguments, "--machine", "xeon-e5-2650l-v3", "--model", "ice", "--measured")[
        "results"
    ]
    ran = document("run", *arguments)["counts"]
    assert found["inputs"]["io"] == {"lower": str(ran["io"]), "upper": str(ran["io"]), "from": "executed"}
    # Table 3 of the paper, in nanojoules; equations (12) and (14).
    eps_op, pi_op, eps_io, pi_io = (Fraction(x) / 10**9 for x in ("0.263", "0.108", "8.86", "23.29"))
    work, span, io = ran["work"], ran["span"], ran["io"]
    static = max(pi_op * span, pi_io * io * span / work)
    expected = {"static": static, "computation": eps_op * work, "memory": eps_io * io}
    for name, value in expected.items():
        term = found["energy"]["terms"][name]
        assert Fraction(term["lower"]) == Fraction(term["upper"]) == value
    assert Fraction(found["energy"]["lower"]) == sum(expected.values())
    assert found["binds"] == ("memory" if pi_io * io > pi_op * work else "computation")


def test_energy_says_what_it_rests_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(MATRICES)
    matrix = "west0479.mtx"
    result = cli("energy", "sparse.csr", "--machine", "bobcat-e2-1800", "--matrix", matrix)
    assert result.code == 0
    shown = " ".join(result.out.split())
    assert re.search(r"io = \d+ \.\. \d+ \(derived, bounded\)", shown)
    measured = cli("energy", "sparse.csr", "--machine", "bobcat-e2-1800", "--matrix", matrix, "--measured")
    assert re.search(r"io = \d+ \(executed\)", measured.out)
    assert "all inputs executed" in measured.out
    assert "n = m = 479, nz = 1910" in shown
    assert matrix in shown
    assert "Z = 32768, L = 8 (assumed)" in shown
    assert "the vectors were generated (seed 0)" in shown


# check
def test_check_holds() -> None:
    result = cli("check", MATMUL, "sort.merge")
    assert result.code == 0
    assert "holds  flops == 2*n*m*p" in result.out
    assert "fail" not in result.out


def test_check_fails_with_a_counterexample(tmp_path: Path) -> None:
    text = "algorithm f(x: inout real[n]):\n    ensures flops == n\n    for i in 1..n:\n        x[i] += 1\n"
    path = program(tmp_path, text)
    result = cli("check", path)
    assert result.code == 1
    assert re.search(
        r"fails  flops == n  \[AL601\]\n\s+derived: n - 1\n\s+at n = 1: derived 0, claimed == 1", result.out
    )
    assert "1 claim fails" in result.out
    failing = json.loads(cli("check", path, "--format", "json").out)["targets"][0]["algorithms"][0]["ensures"][0]
    assert failing["outcome"] == "fails"
    assert failing["at"] == {"n": "1"}


def test_check_decides_claims(tmp_path: Path) -> None:
    text = (
        "algorithm f(x: inout real[n]):\n    x[0] = 1\n\n"
        'claim "small": work(f) <= n\nclaim span(f) is O(n)\nclaim work(f) <= n/2 at n = 8 where n >= 4\n'
    )
    result = cli("check", program(tmp_path, text))
    assert result.code == 0
    assert 'holds  claim "small": work(f) <= n\n' in result.out
    assert "holds  claim span(f) is O(n)\n" in result.out
    assert "holds  claim work(f) <= n/2 where n >= 4 at n = 8\n" in result.out
    assert "3 claims hold" in result.out


# fmt
UGLY = "algorithm f( x:inout real[n] ):   # a comment\n      x[0]=1+2*n\n"
PRETTY = "algorithm f(x: inout real[n]):  # a comment\n    x[0] = 1 + 2*n\n"


def test_fmt_rewrites_in_place(tmp_path: Path) -> None:
    path = tmp_path / "f.algo"
    path.write_text(UGLY, encoding="utf-8")
    path.chmod(0o640)
    link = tmp_path / "link.algo"
    link.symlink_to(path)
    assert cli("fmt", str(link)).code == 0
    assert path.read_text(encoding="utf-8") == PRETTY
    assert path.stat().st_mode & 0o777 == 0o640
    assert link.is_symlink()
    assert sorted(os.listdir(tmp_path)) == ["f.algo", "link.algo"]


def test_fmt_check_and_diff_write_nothing(tmp_path: Path) -> None:
    path = tmp_path / "f.algo"
    path.write_text(UGLY, encoding="utf-8")
    checked = cli("fmt", "--check", str(path))
    assert (checked.code, checked.out) == (1, "")
    assert f"would reformat {path}" in checked.err
    shown = cli("fmt", "--diff", str(path))
    assert shown.code == 1
    assert "+    x[0] = 1 + 2*n\n" in shown.out
    assert path.read_text(encoding="utf-8") == UGLY
    path.write_text(PRETTY, encoding="utf-8")
    assert cli("fmt", "--check", "--diff", str(path)).code == 0


def test_fmt_leaves_alone_what_it_cannot_read(tmp_path: Path) -> None:
    broken, fine = tmp_path / "broken.algo", tmp_path / "fine.algo"
    broken.write_text("algorithm f(:\n", encoding="utf-8")
    fine.write_text(UGLY, encoding="utf-8")
    result = cli("fmt", str(broken), str(fine))
    assert result.code == 2
    assert "AL101" in result.err
    assert broken.read_text(encoding="utf-8") == "algorithm f(:\n"
    assert fine.read_text(encoding="utf-8") == PRETTY


def test_fmt_loses_nothing_when_it_cannot_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "f.algo"
    path.write_text(UGLY, encoding="utf-8")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    assert cli("fmt", str(path)).refused("AL413")
    assert path.read_text(encoding="utf-8") == UGLY
    assert os.listdir(tmp_path) == ["f.algo"]


def test_fmt_refuses_a_printer_that_changes_the_meaning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "f.algo"
    path.write_text(UGLY, encoding="utf-8")
    monkeypatch.setattr("archline.api.texts.format_program", lambda _: PRETTY.replace("2", "3"))
    result = cli("fmt", str(path))
    assert result.code == 3
    assert "AL999" in result.err
    assert path.read_text(encoding="utf-8") == UGLY


def test_fmt_of_standard_input() -> None:
    result = process("fmt", "-", stdin=UGLY.encode())
    assert (result.code, result.out) == (0, PRETTY)
    assert process("fmt", "--check", "-", stdin=UGLY.encode()).code == 1
    assert process("fmt", "-", stdin=b"\xff").refused("AL006")


# explain, machines
@long
def test_explain_documents_every_rule() -> None:
    listed = cli("explain").out.splitlines()
    codes = [line.split()[0] for line in listed]
    assert codes == sorted(set(codes))
    assert {"AL001", "AL101", "AL201", "AL401", "AL420", "AL450", "AL501", "AL999"} <= set(codes)
    for code in codes:
        assert cli("explain", code).out.startswith(f"# {code}: ")
    assert cli("explain", "al201").code == 0
    assert "did you mean `AL999`?" in cli("explain", "AL9999").err


def test_every_rule_in_the_source_is_explained() -> None:
    found = set()
    for file in (ROOT / "analyzer" / "archline").rglob("*.py"):
        found |= set(re.findall(r'Rule\(\s*"(AL\d+)"', file.read_text(encoding="utf-8")))
    assert {line.split()[0] for line in cli("explain").out.splitlines()} == found


def test_machines() -> None:
    listed = cli("machines").out
    assert listed.startswith("machine ")
    one = cli("machines", "xeon-e5-2650l-v3").out
    assert "0.263 nJ" in one
    assert "arXiv 1605.08222, Table 3" in one
    found = document("machines", "ice/xeon-e5-2650l-v3")
    assert found["quantities"]["eps_op"]["value"] == str(Fraction(263, 10**12))
    assert found["quantities"]["eps_op"]["unit"] == "J/op"
    names = {each["machine"] for each in document("machines") if each["collection"] == "ice"}
    assert len(names) == 11
    assert all(name in listed for name in names)


def test_help_of_every_command() -> None:
    for command in ("cost", "run", "check", "fmt", "explain", "machines", "energy", "compare", "plot"):
        result = cli(command, "--help")
        assert result.code == 0
        assert f"usage: archline {command}" in result.out


def test_a_mistyped_command() -> None:
    result = cli("cots", MATMUL)
    assert (result.code, result.out) == (2, "")
    assert "there is no command `cots` (did you mean `cost`?)" in result.err
    assert "commands are list, cost" in cli("frobnicate").err


NUMBERS = """
algorithm gcd(a: int, b: int) -> int:
    x = a
    y = b
    while y != 0:
        x, y = y, x % y
    return x

algorithm newton(a: real, tol: real) -> real:
    x = a
    while abs(x*x - a) > tol:
        x = (x + a/x)/2
    return x

algorithm place(x: real[n], key: real) -> int:
    for i in 0..n:
        if x[i] == key:
            return i
    return n
"""


def test_a_run_takes_numbers(tmp_path: Path) -> None:
    file = tmp_path / "numbers.algo"
    file.write_text(NUMBERS)
    done = cli("run", f"{file}::gcd", "--at", "a=48,b=18")
    assert done.code == 0, done.err
    assert "T1 = 3" in done.out
    assert "a = 48, b = 18; the other data was generated" in done.out
    assert "tol = 0.001" in cli("run", f"{file}::newton", "--at", "a=2,tol=0.001").out
    for at, code, text in (
        ("a=48/5,b=18", "AL405", "`a` is 9.6, and its type is `int`"),
        ("c=3", "AL401", "a run takes `a`, `b`"),
    ):
        refused = cli("run", f"{file}::gcd", "--at", at)
        assert refused.refused(code)
        assert text in refused.err
    # No cost depends on data.
    derived = cli("cost", f"{file}::gcd", "--at", "a=48")
    assert derived.refused("AL401")
    assert "`archline run --at` takes it" in derived.err
    ran = algorithm(f"{file}::place").run(n=5, key=7)
    assert (ran.value, ran.sizes) == (5, {"n": 5})
