"""What one command, page or hint says, another one says too: projects, comparisons by bytes, machines, and formulas."""

from __future__ import annotations

import contextlib
import importlib
import re
from pathlib import Path

import pytest

import archline as al
from archline.api.configuration import CONFIGURATION
from archline.cli.main import COMMANDS
from cli_support import cli
from effort import long

DFT = """
algorithm dft(x: real[n], y: out real[n]):
    for k in 0..n:
        y[k] = 0.0
        for j in 0..n:
            y[k] += x[j]*cos(2*pi*j*k/n)
"""
BASIC, BLOCKED = "dense.matmul::matmul_basic", "dense.matmul::matmul_blocked"


@pytest.mark.parametrize("key", ["machine", "model", "cache"])
def test_the_page_of_a_project_names_the_commands_that_take_its_entries(key: str) -> None:
    (said,) = re.findall(rf"^ *{key} = .*# (.*)$", CONFIGURATION.explanation, re.MULTILINE)
    named = {re.split(r"\W", part.strip())[0] for part in said.split(",")}
    modules = {command: importlib.import_module(f"archline.cli.{command}") for command in COMMANDS}
    taken = {name for name, module in modules.items() if key in getattr(module, "CONFIGURED", {})}
    assert named == taken


def test_plots_of_machines_take_the_machine_of_a_project(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.archline]\nmachine = "i7-950"\n')
    with contextlib.chdir(tmp_path):
        assert cli("plot", "--kind", "roofline").out == cli("plot", "--kind", "roofline", "--machine", "i7-950").out
        assert "Intel Core i7-950" in cli("plot", "--kind", "roofline").out
        # A plot of io has no machine, and takes none from a project.
        assert cli("plot", "dense.gemv::gemv", "--at", "n=4,m=4").code == 0


@pytest.mark.parametrize("growth", [(), ("--growth",)])
def test_a_comparison_by_bytes_without_sizes_has_bytes(growth: tuple[str, ...]) -> None:
    text = cli("compare", "dense.gemv::gemv", BLOCKED, "--by", "bytes", *growth).out
    assert "model" not in text.splitlines()[0]
    rows = [line.split()[0] for line in text.splitlines()[3:] if line.startswith("    ") and line[4] != " "]
    assert "bytes" in rows
    assert not [row for row in rows if row.startswith("energy")]


@long
@pytest.mark.parametrize("target", ["distributed.matmul::cannon", "roofline:W=n^3,Q=n^2"])
def test_what_has_no_bytes_is_not_compared_by_them(target: str) -> None:
    refused = cli("compare", target, target, "--by", "bytes", "--at", "n=8")
    assert refused.refused("AL411")
    assert "hint: algorithms of shared memory have bytes" in refused.err


@pytest.mark.parametrize("by", ["time", "power", "energy_delay"])
def test_growth_has_the_time_where_it_decides(by: str) -> None:
    assert "time" in al.compare(BASIC, BLOCKED, by=by).growth


def test_elasticities_name_what_is_stated_of_a_machine() -> None:
    """A file that computes tau_mem from the bandwidth says no more than one that leaves that to the model."""
    asked = {"model": "roofline", "at": {"n": 64, "m": 64}}
    for machine in ("i7-950", "a100-sxm4-40gb"):
        elasticities = al.energy("dense.gemv::gemv", machine=machine, **asked).result.elasticities
        assert "bandwidth" in elasticities
        assert not {"tau_mem", "tau_flop"} & elasticities.keys()
    given = al.energy("dense.gemv::gemv", machine="i7-950", parameters={"tau_mem": 1e-10}, **asked)
    assert "tau_mem" in given.result.elasticities


def test_elasticities_are_the_slopes_of_the_energy() -> None:
    asked = {"machine": "i7-950", "model": "roofline", "at": {"n": 64, "m": 64}}
    found = al.energy("dense.gemv::gemv", **asked)
    slope = found.result.elasticities["bandwidth"]
    more = al.energy("dense.gemv::gemv", parameters={"bandwidth": 25.6e9 * 1.001}, **asked)
    ratio = float(more.result.estimate.energy.upper / found.result.estimate.energy.upper)
    assert ratio == pytest.approx(1.001**slope, rel=1e-5)


def test_numbers_of_a_fitted_machine_are_shown_as_everywhere(tmp_path: Path) -> None:
    entry = 'value = "1.10111836e-11"\nunit = "J/flop"\nkind = "fitted"\nerror = "2.5e-13"\nsource = "a test"\n'
    (tmp_path / "fitted.toml").write_text(f'title = "Fitted"\n[quantity.eps_flop]\n{entry}')
    page = cli("machines", str(tmp_path / "fitted.toml")).out
    assert "11.01 pJ/flop +- 0.25 pJ/flop (standard error)" in " ".join(page.split())
    assert "e-11" not in page


def test_the_error_that_a_table_states_has_a_subject() -> None:
    table = cli(
        "energy", BASIC, "dense.matmul::matmul_co", "--machine", "i7-950", "--power", "tdp", "--at", "n=8,m=8,p=8"
    )
    assert "stated error of roofline+tdp: 33 % too low" in " ".join(table.out.split())


def test_integers_beside_reals_need_no_conversion(tmp_path: Path) -> None:
    (tmp_path / "dft.algo").write_text(DFT)
    assert cli("cost", str(tmp_path / "dft.algo")).code == 0
    (tmp_path / "dft.algo").write_text(DFT.replace("j*k/n", "real_of(j)*real_of(k)/real_of(n)"))
    assert cli("cost", str(tmp_path / "dft.algo")).code == 0


def test_the_hint_for_a_size_of_a_grid_names_an_array(tmp_path: Path) -> None:
    (tmp_path / "f.algo").write_text("algorithm f(x: real[n]) on grid(i: g, j: g):\n    let k = 1\n")
    assert (
        "hint: declare it, `g: size`, or use it alone as an extent of an array: `x: real[g]`"
        in cli("cost", str(tmp_path / "f.algo")).err
    )


def test_a_factorial_has_a_hint_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "f.algo").write_text("algorithm f(n: size):\n    ensures work is O(n!)\n    pass\n")
    ran = cli("check", str(tmp_path / "f.algo"))
    assert "hint: claims and growths have `factorial(n)`; the language has no factorials" in ran.err
    assert "Theta(factorial(n))" in cli("recurrence", "T(n) = 16*T(n/4) + n!").out
    assert "holds: 2^n is O(factorial(n))" in cli("order", "2^n", "n!").out
    assert cli("order", "n^n", "2^n").code in (0, 1)


def test_cases_of_a_recurrence_have_a_hint() -> None:
    refused = cli("recurrence", "Q(n) = 2*Q(n/2) + n/L, Q(n) = n/L when n <= Z")
    assert refused.refused("AL472")
    assert "hint: write all cases after one `=`: Q(n) = ... when ...; ..." in refused.err
    assert cli("recurrence", "Q(n) = n/L when n <= Z; 2*Q(n/2) + n/L").code == 0


@pytest.mark.parametrize(
    ("formula", "code", "rule"), [("1/peak", "AL461", "of units"), ("1/bandwidth if", "AL462", "")]
)
def test_the_page_that_a_hint_names_has_the_rules(tmp_path: Path, formula: str, code: str, rule: str) -> None:
    peak = 'value = "1"\nunit = "Gflop/s"\nkind = "assumed"\nsource = "a test"\n'
    text = f'title = "T"\n[quantity.peak]\n{peak}[quantity.tau_mem]\nfrom = "{formula}"\nunit = "s/B"\n'
    (tmp_path / "t.toml").write_text(text)
    assert f"hint: `archline explain {code}` says how" in cli("machines", str(tmp_path / "t.toml")).err
    page = cli("explain", code).out
    assert "Units multiply and divide" in page if rule else "are written in the language's" in page
