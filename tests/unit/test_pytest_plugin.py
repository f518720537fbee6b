"""The plugin of pytest, in processes of their own; and the workflow of the documentation, step by step."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest
import yaml

from cli_support import ROOT, cli
from effort import EFFORT, long, some

PROGRAM = """algorithm total(x: real[n], s: inout real[1]):
    ensures flops == n
    ensures flops == n + 1
    for i in 0..n:
        s[0] += x[i]

algorithm chosen(x: inout real[n]):
    ensures flops == n
    for i in 0..n:
        if x[i] < 0.0:
            x[i] += 1.0
"""
HEAVY = "archline.api archline.language lark numpy sympy flint highspy"


@pytest.fixture
def here(tmp_path: Path) -> Path:
    """A folder with the program."""
    (tmp_path / "sums.algo").write_text(PROGRAM, "utf-8")
    return tmp_path


def collected(folder: Path, *arguments: str) -> tuple[int, str]:
    """The exit code of pytest, and what it prints."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "analyzer"), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    command = [sys.executable, "-m", "pytest", "-p", "archline.pytest_plugin", "-p", "no:cacheprovider", *arguments]
    ran = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=300)
    return ran.returncode, ran.stdout + ran.stderr


@long
def test_the_baseline_of_the_project_is_a_test_of_each_file(here: Path) -> None:
    (here / "sums.algo").write_text(PROGRAM.replace("    ensures flops == n + 1\n", ""), "utf-8")
    (here / "pyproject.toml").write_text('[tool.archline]\nbaseline = "costs.baseline"\n', "utf-8")
    with contextlib.chdir(here):
        assert cli("check", "sums.algo", "--write-baseline", "costs.baseline").code == 0
    assert collected(here, "-k", "baseline")[0] == 0
    grown = (here / "sums.algo").read_text("utf-8").replace("s[0] += x[i]", "s[0] += x[i]*2.0")
    (here / "sums.algo").write_text(grown, "utf-8")
    code, out = collected(here, "-k", "baseline")
    assert code == 1
    assert "sums.algo:1: total: flops grew at all sizes: n -> 2*n" in out
    assert "Traceback" not in out


def test_it_is_found_where_archline_is_installed() -> None:
    found = entry_points(group="pytest11", name="archline")
    assert [each.value for each in found] == ["archline.pytest_plugin"]


@long
def test_each_claim_is_a_test(here: Path) -> None:
    code, out = collected(here, "-rs")
    assert code == 1
    assert "1 failed, 1 passed, 1 skipped" in out
    assert "sums.algo:3: fails: flops == n + 1  [AL601]" in out
    assert "at n = 1: derived 1, claimed == 2" in out
    assert "Traceback" not in out
    assert "sums.algo:8: unknown: flops == n  [AL602]" in out


@pytest.mark.parametrize(
    ("arguments", "said"),
    some(
        [
            (["-k", "total and not 1"], "1 passed, 2 deselected"),
            (["sums.algo::total::flops == n + 1"], "1 failed"),
            (["-k", "chosen", "--archline-strict"], "1 failed, 2 deselected"),
        ]
    ),
)
def test_claims_are_selected_and_strict(here: Path, arguments: list[str], said: str) -> None:
    assert said in collected(here, *arguments)[1]


@long
def test_ignored_claims_are_skipped_and_the_configuration_is_read(here: Path) -> None:
    text = PROGRAM.replace("flops == n + 1", "flops == n + 1  # archline: ignore AL601")
    (here / "sums.algo").write_text(text, "utf-8")
    (here / "drafts").mkdir()
    (here / "drafts" / "other.algo").write_text(PROGRAM, "utf-8")
    (here / "pyproject.toml").write_text('[tool.archline]\nexclude = ["drafts"]\nignore = ["AL602"]\n', "utf-8")
    code, out = collected(here, "--archline-strict")
    assert (code, "1 passed, 2 skipped" in out) == (0, True)
    assert "1 failed" in collected(here, "drafts/other.algo::total")[1]


def test_a_file_that_cannot_be_read_is_an_error_of_its_collection(here: Path) -> None:
    (here / "bad.algo").write_text("algorithm f(", "utf-8")
    code, out = collected(here)
    assert code == 2
    assert "bad.algo:1:12: AL101" in out
    assert "Traceback" not in out


def test_nothing_heavy_is_imported_without_programs(here: Path) -> None:
    (here / "sums.algo").unlink()
    (here / "test_it.py").write_text(
        "import sys\n\ndef test_it():\n"
        f"    found = [name for name in {HEAVY.split()!r} if name in sys.modules]\n    assert found == []\n",
        "utf-8",
    )
    code, out = collected(here)
    assert (code, "1 passed" in out) == (0, True)


# The workflow of docs/how-to/check-in-ci.md
@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with sketches, one of whose claims fails, and archline in `tools`."""
    (tmp_path / "sketches").mkdir()
    (tmp_path / "sketches" / "sums.algo").write_text(PROGRAM, "utf-8")
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools" / "archline").symlink_to(ROOT)
    author = ["-c", "user.name=A", "-c", "user.email=a@example.org"]
    for command in (
        ["init", "-q", "-b", "main"],
        ["add", "."],
        [*author, "commit", "-q", "-m", "Sums"],
        ["update-ref", "refs/remotes/origin/main", "HEAD"],
    ):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)
    return tmp_path


def step(project: Path, command: str, path: str) -> subprocess.CompletedProcess[str]:
    """A step, as a runner does it."""
    own = "" if EFFORT != "quick" else str(ROOT / "analyzer")
    environment = {**os.environ, "PATH": f"{path}{os.pathsep}{os.environ['PATH']}", "PYTHONPATH": own}
    environment |= {"GITHUB_BASE_REF": "main", "GITHUB_STEP_SUMMARY": str(project / "summary.md")}
    shell = [shutil.which("bash") or "bash", "-e", "-c", command]
    return subprocess.run(shell, cwd=project, env=environment, capture_output=True, text=True, check=False, timeout=900)


@long
def test_the_workflow_does_what_the_page_says(project: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    page = (ROOT / "docs" / "how-to" / "check-in-ci.md").read_text("utf-8")
    (text,) = re.findall(r"^```yaml\n(on: .*?)^```$", page, re.MULTILINE | re.DOTALL)
    # YAML 1.1 reads `on` as true.
    steps = [each for each in yaml.safe_load(text)["jobs"]["costs"]["steps"] if "run" in each]
    commands = [each["run"] for each in steps]
    assert commands[0].startswith("pip install ./tools/archline")
    path = str(Path(sys.executable).parent)
    if EFFORT != "quick":
        folder = tmp_path_factory.mktemp("fresh")
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        path = str(folder / "bin")
        assert step(project, commands[0], path).returncode == 0
    codes = {}
    for command in commands[1:]:
        ran = step(project, command, path)
        assert "Traceback" not in ran.stderr
        codes[command.split()[1]] = ran.returncode
        if "github" in command:
            assert "::error file=sketches/sums.algo,line=3" in ran.stdout
            assert "::warning file=sketches/sums.algo,line=8" in ran.stdout
    # The claim that fails fails every step that decides it.
    assert codes == {"check": 1, "diff": 0}
    assert (project / "archline.sarif").stat().st_size
    assert (project / "summary.md").read_text("utf-8").count("\n") <= 2
    # Claims that hold, and another flop in each iteration.
    changed = PROGRAM.replace("n + 1", "2*n").replace(
        "flops == n\n    ensures flops == 2", "flops <= 2*n\n    ensures flops == 2"
    )
    changed = changed.replace("s[0] += x[i]", "s[0] += 2.0*x[i]")
    (project / "sketches" / "sums.algo").write_text(changed, "utf-8")
    found = {command.split()[1]: step(project, command, path).returncode for command in commands[1:]}
    assert found == {"check": 0, "diff": 1}
    assert "grew" in (project / "summary.md").read_text("utf-8")


def test_the_hooks_of_pre_commit_run(project: Path) -> None:
    hooks = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))
    assert [each["id"] for each in hooks] == ["archline-check", "archline-fmt"]
    path = str(Path(sys.executable).parent)
    for hook in hooks:
        assert re.search(hook["files"], "sketches/sums.algo")
        ran = step(project, f"{hook['entry']} sketches/sums.algo", path)
        assert ran.returncode == (1 if hook["id"] == "archline-check" else 0), ran.stderr
