"""Each benchmark runs to its end on its smallest input."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

from cli_support import ROOT

SCRIPTS = sorted(path.stem for path in (ROOT / "benchmarks").glob("*.py") if path.stem != "common")
EXTRA = re.compile(
    r"No module named '(cachesim|kerncraft|cosmic_ray)|kerncraft is not installed|^skipped: ", re.MULTILINE
)


@pytest.mark.parametrize("name", SCRIPTS)
def test_the_smallest_input(name: str) -> None:
    # All tests of a part are run before its first mutant.
    option = "--help" if name == "mutation" else "--smallest"
    ran = subprocess.run(
        [sys.executable, str(ROOT / "benchmarks" / f"{name}.py"), option],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT / "analyzer")},
        timeout=600,
        check=False,
    )
    printed = ran.stdout + ran.stderr
    absent = EXTRA.search(printed)
    if absent:
        pytest.skip(f"{name}: {printed[absent.start() :].splitlines()[0]}")
    assert ran.returncode == 0, printed
