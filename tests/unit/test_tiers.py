"""Each test lies in the folder of its tier: unit and golden are quick, agreement and soundness take longer."""

from __future__ import annotations

from pathlib import Path

TESTS = Path(__file__).parents[1]
TIERS = {"unit", "golden", "agreement", "soundness"}


def test_each_file_of_tests_lies_in_the_folder_of_a_tier() -> None:
    folders = {path.parent.relative_to(TESTS).as_posix() for path in TESTS.rglob("test_*.py")}
    assert folders == TIERS
