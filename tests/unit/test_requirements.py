"""The lowest releases that are declared are those that CI tries."""

from __future__ import annotations

import tomllib

import pytest

from cli_support import ROOT

TRIED = ("fast", "isl", "mpi", "plots", "test")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]


def test_the_lowest_releases_that_are_declared_are_tried() -> None:
    declared = {*PROJECT["dependencies"], *(each for extra in TRIED for each in EXTRAS[extra])}
    lines = (ROOT / ".ci" / "lowest.txt").read_text(encoding="utf-8").splitlines()
    tried = {line.replace("==", ">=") for line in lines if not line.startswith("#")}
    assert tried == declared
    assert f"'.[{','.join(TRIED)}]'" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")


@pytest.mark.parametrize("extra", EXTRAS)
def test_the_readme_names_every_extra(extra: str) -> None:
    assert f"`{extra}`" in (ROOT / "README.md").read_text(encoding="utf-8")
