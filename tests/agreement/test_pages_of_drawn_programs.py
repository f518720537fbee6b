"""What pages print of drawn programs: claims that `check` does not refute, and values that all commands share."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

import archline as al
from archline.api.costs import CostReport
from archline.claims.decide import decide_claims
from archline.language.diagnostics import ArchlineError
from archline.language.loader import load_text
from archline.report.view import format_contract
from case_programs import case_program_from_seed
from effort import all_of, drawn, long
from guard_programs import guarded_program_from_seed
from io_programs import array_program_from_seed
from nest_programs import parity_program_from_seed, stencil_program_from_seed, stride_program_from_seed
from page_claims import claims_by_format, disagreements_at
from printed_claims import pasted
from programs.spmd_recursion import recursion_from_seed
from recursive_programs.program import recursive_program_from_seed
from rotating_programs import rotating_program_from_seed

Make = Callable[[int], str]


def grid_recursion(seed: int) -> str:
    """The program of a seed; what calls its recursion comes last."""
    before, last, after = recursion_from_seed(seed).text.rpartition("algorithm ")
    return f"{before}{last}main{after[after.index('(') :]}"


DRAWN: dict[str, tuple[Make, Sequence[str]]] = {
    "cases": (case_program_from_seed, ("flops", "work", "span")),
    "recursions": (lambda seed: recursive_program_from_seed(seed).text, ("flops", "span")),
    "rotations": (rotating_program_from_seed, ("words", "messages", "work")),
    "guards on grids": (lambda seed: guarded_program_from_seed(3 * seed + 2).guarded, ("words", "messages", "memory")),
    "recursions on grids": (grid_recursion, ("words", "messages")),
    "remainders": (lambda seed: parity_program_from_seed(seed).text, ("flops", "accesses")),
    "arrays": (lambda seed: array_program_from_seed(seed).text, ("io", "writebacks", "bytes")),
    "steps": (lambda seed: stride_program_from_seed(seed).text, ("work", "io")),
}
"""Programs of a kind, and the metrics that their pages are asked for."""
AT_SIZES: dict[str, Make] = {
    "cases": case_program_from_seed,
    "arrays": lambda seed: array_program_from_seed(seed).text,
    "grids": lambda seed: guarded_program_from_seed(3 * seed + 2).guarded,
    "recursions on grids": grid_recursion,
    "steps": lambda seed: stride_program_from_seed(seed).text,
    "stencils": lambda seed: stencil_program_from_seed(seed).text,
    "recursions": lambda seed: recursive_program_from_seed(seed).text,
}
SEEDS = range(1, 1 + max(all_of(4, 2), drawn(8, 2)))
LONG_SUM = 150
"""Sums of more terms are left out: a program's expressions nest no deeper than 200 levels."""


def kinds(programs: Iterable[str]) -> list[Any]:
    """The kinds of programs; the caches of recursions take long, and loops with steps stand for them."""
    return [pytest.param(kind, marks=[long] if kind == "arrays" else []) for kind in programs]


def refuted(text: str, metrics: Sequence[str] | None, path: Path) -> list[str]:
    """The claims of all pages of a program that `check` refutes, and those that not all formats of a page make."""
    file = path / "program.algo"
    file.write_text(text)
    algorithm = al.algorithm(f"{file}::main")
    # Without those that are derived on request a page would not have them, and no claim on them would be decided.
    report = reduce(CostReport.including, metrics or (), algorithm.cost())
    by_format = claims_by_format(report, metrics)
    printed = dict.fromkeys(chain.from_iterable(by_format.values()))
    claims = [claim for claim in printed if len(re.findall(r" [+-] ", claim)) <= LONG_SUM]
    place = algorithm.node.name_span.line
    read = load_text(pasted(text, place, claims)).algorithms["main"].ensures
    # Formats have brackets of their own: what they mean alike is decided once.
    meant = {claim: format_contract(each) for claim, each in zip(claims, read, strict=False)}
    once = {meaning: claim for claim, meaning in meant.items()}
    module = load_text(pasted(text, place, list(once.values())))
    verdicts = decide_claims(module, module.algorithms["main"], report.costs)
    found = [f"{claim}: {each.reason}" for claim, each in zip(once, verdicts, strict=False) if each.outcome == "fails"]
    said = {page: {meant[each] for each in made if each in meant} for page, made in by_format.items()}
    for (page, form), made in said.items():
        if form != "json":
            found += [f"{page} page, {form} or markdown only: {each}" for each in made ^ said[page, "markdown"]]
    return found


@pytest.mark.parametrize("kind", kinds(DRAWN))
@pytest.mark.parametrize("seed", SEEDS)
def test_no_page_prints_what_check_refutes(kind: str, seed: int, tmp_path) -> None:
    make, metrics = DRAWN[kind]
    assert not refuted(make(seed), metrics, tmp_path)


@pytest.mark.parametrize(
    ("kind", "seed"),
    [
        ("cases", 1014),  # a growth where n <= 11, and 0 elsewhere
        ("cases", 1045),
        ("cases", 1057),  # O(n*m) in all cases
        ("recursions", 1039),  # n*log2(n)^2
        ("recursions", 1055),
        ("guards on grids", 1054),  # a condition that wraps on a narrow page
        ("rotations", 1032),
        ("arrays", 1039),
        ("arrays", 1061),
    ],
)
def test_growths_are_read_with_their_conditions_from_each_format(kind: str, seed: int, tmp_path) -> None:
    make, metrics = DRAWN[kind]
    assert not refuted(make(seed), metrics, tmp_path)


@pytest.mark.parametrize("guard", ["y[i] > 0.5", "i == j", "i == j or i + 1 == j", "i < m"])
@pytest.mark.parametrize("element", ["A[i, j]", "A[j, i]", "A[0, i]"])
def test_bytes_behind_a_guard_grow_with_the_line(guard: str, element: str, tmp_path) -> None:
    text = f"""
algorithm main(A: inout real[n, n], y: real[n], m: size):
    for i in 0..n:
        for j in 0..n:
            if {guard}:
                {element} += 1.0
"""
    # An access moves a line of L words: at n = 1 a program that touches an element moves 8*L bytes, not 8.
    assert not refuted(text, ("io", "writebacks", "bytes"), tmp_path)


def test_a_case_at_some_remainders_is_not_printed_as_one_everywhere(tmp_path) -> None:
    text = """
algorithm main(x: inout real[n], m: size):
    if m%2 != n:
        for i in 0..n:
            x[0] += 1.0
"""
    # At n = 1 and odd m it is 0.
    assert not refuted(text, ("flops",), tmp_path)


POINTS, TRIED = 2, 12
"""A page is compared at so many sizes, of so many that are drawn at most."""


@pytest.mark.parametrize("kind", kinds(AT_SIZES))
@pytest.mark.parametrize("seed", SEEDS)
def test_values_of_a_page_are_those_of_all_commands(kind: str, seed: int, tmp_path) -> None:
    source = random.Random(seed)
    file = tmp_path / "program.algo"
    file.write_text(AT_SIZES[kind](seed))
    algorithm = al.algorithm(f"{file}::main")
    names = algorithm.report().names
    asked = [name for name in names.needed if name not in ("Z", "L")]
    compared, refusals = 0, []
    for attempt in range(TRIED):
        least = {name: max(1, names.sizes.get(name, 1)) for name in asked}
        sizes = {name: low + source.randrange(8) for name, low in least.items()}
        if attempt % 2:
            sizes = {name: max(low, 2 ** source.randrange(4)) for name, low in least.items()}
        sizes |= {"P": source.choice((1, 2, 3, 4, 8, 9, 16))} if algorithm.node.grid else {}
        line = source.randrange(1, 5)
        cache = None if algorithm.node.grid else al.Cache(Z=line * source.randrange(1, 10), L=line)
        try:
            found = list(disagreements_at(algorithm, sizes, cache))
        except ArchlineError as refusal:
            refusals.append(str(refusal))
            # What a page refuses a run refuses too.
            with pytest.raises(ArchlineError):
                algorithm.run(sizes, cache=cache, compiled=False)
            continue
        assert not found
        compared += 1
        if compared == POINTS:
            break
    assert compared, "\n".join(refusals)
    print(f"{compared} points compared, {len(refusals)} refused: {refusals}")


@pytest.mark.parametrize(
    ("seed", "sizes", "cache"),
    [
        (1014, {"n": 1}, al.Cache(Z=10, L=2)),
        (1014, {"n": 8}, al.Cache(Z=4, L=2)),
        (1034, {"n": 1, "m": 2}, al.Cache(Z=2, L=1)),
        pytest.param(1049, {"n": 8, "m": 1}, al.Cache(Z=16, L=2), marks=long),
    ],
)
def test_a_run_lies_within_the_forms_of_the_case_that_applies(seed: int, sizes, cache, tmp_path) -> None:
    file = tmp_path / "program.algo"
    file.write_text(AT_SIZES["arrays"](seed))
    assert not list(disagreements_at(al.algorithm(f"{file}::main"), sizes, cache))
