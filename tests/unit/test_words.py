"""Plain words of the field in what users read: outputs, `--help` and docs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from archline.api.explaining import all_rules
from archline.cli.main import COMMANDS
from cli_support import cli

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
PHRASES = [
    *(
        r"\b(is|are|was|were|be) told\b",
        r"\bonly the data tells\b",
        r"\btells? apart\b",
        r"\btells more\b",
        r"\bheld against\b",
    ),
    *(
        r"\bholds? (the one|one|the counts) against\b",
        r"\boff by\b",
        r"\bbeside (sympy|ours|those|what|its)\b",
        r"\beased\b",
    ),
    *(
        r"\bany order fetches\b",
        r"\bof any order\b",
        r"\bfor any order\b",
        r"\bstands on\b",
        r"\brests? on\b",
        r"\bresting on\b",
    ),
    *(r"\bwhen it is reached\b", r"\bpays for\b", r"\bspare lines\b", r"\b(is|are) wanted\b", r"\btake turns\b"),
    *(r"\band the lines touched\b", r"\bgrows? alike\b", r"\bby what they see\b", r"\bnearer\b", r"\bsights\b"),
]
"""The clear-cut ones among home-made words; others depend on what they are said of."""
FOUND = re.compile("|".join(PHRASES))
OUTPUTS = [
    ("cost", "dense.lu::lu", "--all", "--explain", "--metric", "io"),
    ("cost", "sparse.csr::spmv_csr", "--all", "--at", "n=4,m=4,nz=8,nr=2,nc=2"),
    ("cost", "sort.select::select", "--all", "--explain", "--metric", "io"),
    ("cost", "stencil.trapezoid::trapezoid", "--explain", "--metric", "io"),
    ("cost", "dense.trmm", "--explain", "--procs", "4"),
    ("run", "dense.gemv::gemv", "--at", "n=4,m=4"),
    ("check", "dense.gemv"),
    ("energy", "dense.gemv::gemv", "--machine", "xeon-e5-2650l-v3", "--at", "n=4,m=4"),
    ("energy", "dense.gemv::gemv", "--machine", "xeon-e5-2650l-v3"),
    ("compare", "dense.gemv::gemv", "dense.gemv::gemv_transposed", "--growth"),
    ("list",),
    ("machines",),
    ("machines", "xeon-e5-2650l-v3"),
    ("order", "n^2", "n", "--explain"),
    ("recurrence", "T(n) = 2*T(n/2) + n, T(1) = 1"),
    ("explain",),
]


def check(text: str) -> None:
    found = FOUND.search(" ".join(text.split()))
    assert found is None, f"`{found and found[0]}`"


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_docs(path: Path) -> None:
    check(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_help(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    check(cli(*filter(None, [command]), "--help").out)


@pytest.mark.parametrize("arguments", OUTPUTS, ids=" ".join)
def test_outputs(arguments: tuple[str, ...]) -> None:
    check(cli(*arguments).out)


def test_explanations() -> None:
    """What `archline explain CODE` prints."""
    for rule in all_rules().values():
        check(rule.documentation)
