"""What pages print of drawn programs: claims that `check` does not refute, and values that all commands share."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from contextlib import suppress

import pytest

import archline as al
from archline.claims.decide import decide_claims
from archline.language.diagnostics import ArchlineError
from archline.language.loader import load_text
from case_programs import case_program_from_seed
from effort import drawn
from guard_programs import guarded_program_from_seed
from io_programs import array_program_from_seed
from nest_programs import parity_program_from_seed, stencil_program_from_seed
from page_claims import claims_of, disagreements_at
from printed_claims import pasted
from recursive_programs.program import recursive_program_from_seed
from rotating_programs import rotating_program_from_seed

Make = Callable[[int], str]
DRAWN: dict[str, tuple[Make, Sequence[str]]] = {
    "cases": (case_program_from_seed, ("flops", "work")),
    "recursions": (lambda seed: recursive_program_from_seed(seed).text, ("flops",)),
    "grids": (rotating_program_from_seed, ("words", "messages")),
    "remainders": (lambda seed: parity_program_from_seed(seed).text, ("flops",)),
}
AT_SIZES: dict[str, Make] = {
    "cases": case_program_from_seed,
    "arrays": lambda seed: array_program_from_seed(seed).text,
    "grids": lambda seed: guarded_program_from_seed(3 * seed + 2).guarded,
    "stencils": lambda seed: stencil_program_from_seed(seed).text,
}
SEEDS = range(1, drawn(12, 3))


def refuted(text: str, metrics: Sequence[str], path) -> list[str]:
    """The claims of all pages of a program that `check` refutes."""
    file = path / "program.algo"
    file.write_text(text)
    algorithm = al.algorithm(f"{file}::main")
    report = algorithm.cost()
    claims = claims_of(report, metrics)
    module = load_text(pasted(text, algorithm.node.name_span.line, claims))
    verdicts = decide_claims(module, module.algorithms["main"], report.costs)
    return [f"{claim}: {each.reason}" for claim, each in zip(claims, verdicts, strict=False) if each.outcome == "fails"]


@pytest.mark.parametrize("kind", DRAWN)
@pytest.mark.parametrize("seed", SEEDS)
def test_no_page_prints_what_check_refutes(kind: str, seed: int, tmp_path) -> None:
    make, metrics = DRAWN[kind]
    assert not refuted(make(seed), metrics, tmp_path)


def test_a_case_at_some_remainders_is_not_printed_as_one_everywhere(tmp_path) -> None:
    text = """
algorithm main(x: inout real[n], m: size):
    if m%2 != n:
        for i in 0..n:
            x[0] += 1.0
"""
    # At n = 1 and odd m it is 0.
    assert not refuted(text, ("flops",), tmp_path)


@pytest.mark.parametrize("kind", AT_SIZES)
@pytest.mark.parametrize("seed", SEEDS)
def test_values_of_a_page_are_those_of_all_commands(kind: str, seed: int, tmp_path) -> None:
    source = random.Random(seed)
    file = tmp_path / "program.algo"
    file.write_text(AT_SIZES[kind](seed))
    algorithm = al.algorithm(f"{file}::main")
    for _ in range(2):
        sizes = {name: source.randrange(1, 9) for name in algorithm.report().names.sizes}
        sizes |= {"P": source.randrange(1, 5)} if algorithm.node.grid else {}
        line = source.randrange(1, 5)
        cache = None if algorithm.node.grid else al.Cache(Z=line * source.randrange(1, 10), L=line)
        with suppress(ArchlineError):
            assert not list(disagreements_at(algorithm, sizes, cache))
