"""A solver of linear programs that is absent or breaks down is the reason of what is unknown, and prints nothing."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from cli_support import ROOT

BEFORE = """
import os, sys, types
sys.path.insert(0, {analyzer!r})
import highspy

class Broken(highspy.Highs):
    {broken}

fake = types.ModuleType("highspy")
fake.__dict__.update(highspy.__dict__, Highs=Broken)
sys.modules["highspy"] = {module}
from archline.cli.main import main
sys.exit(main(["check", "--no-cache", "--format", "json", "sort.search::binary_search"]))
"""
FAILING = {
    "halted": ("pass", "None"),
    "its status is kSolveError": (
        "def getModelStatus(self): return highspy.HighsModelStatus.kSolveError",
        "fake",
    ),
}
BANNER = """
    seen = []
    def __init__(self):
        Broken.seen or os.write(1, b"Running HiGHS 1.16.0 (git hash: f3f113d)")
        Broken.seen.append(1)
        super().__init__()
"""


def checked(broken: str, module: str) -> list[dict[str, Any]]:
    """The claims that `check` decides, as JSON, where the solver is replaced."""
    program = BEFORE.format(analyzer=str(ROOT / "analyzer"), broken=broken, module=module)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, cwd=ROOT)
    assert not done.stderr
    claims: list[dict[str, Any]] = json.loads(done.stdout)["targets"][0]["algorithms"][0]["ensures"]
    return claims


@pytest.mark.parametrize("text", FAILING)
def test_a_solver_that_fails_is_the_reason(text: str) -> None:
    unknown = [each for each in checked(*FAILING[text]) if each["outcome"] == "unknown"]
    assert len(unknown) == 2
    for each in unknown:
        assert "the solver of linear programs, highspy 1." in each["reason"]
        assert text in each["reason"]


def test_what_a_solver_prints_does_not_reach_json() -> None:
    assert {each["outcome"] for each in checked(BANNER, "fake")} == {"holds"}
