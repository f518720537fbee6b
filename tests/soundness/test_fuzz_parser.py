"""Damaged programs never break the parser: a share for CI of what benchmarks/fuzz.py does at length, and with a limit of time."""

from __future__ import annotations

import random
from contextlib import suppress
from pathlib import Path

import pytest

from archline.language.diagnostics import ArchlineError
from archline.language.parser import parse
from archline.language.printer import format_program
from archline.language.source import decode_source
from effort import drawn
from programs import program_from_seed
from programs.mutations import mutate

DATA = Path(__file__).parents[1] / "data"
TEXTS = [path.read_text(encoding="utf-8") for path in sorted(DATA.glob("**/*.algo"))]
SHARE = drawn(100)


@pytest.mark.parametrize("part", range(8))
def test_mutated_programs(part: int) -> None:
    source = random.Random(part)
    for number in range(SHARE):
        text = program_from_seed(part * SHARE + number).text if number % 2 else source.choice(TEXTS)
        data = mutate(text, source, source.choice(TEXTS))
        # Bytes that are no text are refused by decoding, with a diagnostic like any other.
        with suppress(ArchlineError):
            parsed = parse(decode_source("mutated.algo", data))
            assert all(diagnostic.render() for diagnostic in parsed.diagnostics)
            if not parsed.diagnostics:
                format_program(parsed.program)
