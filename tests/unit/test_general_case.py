"""What commands say of grids with several processors along every axis, and that it is said to be of those."""

from __future__ import annotations

import json
from itertools import product

import pytest

import archline as al
from archline.algebra.evaluate.exact import evaluate
from archline.cli.main import main
from archline.expr.text import format_fact
from archline.language.diagnostics import ArchlineError
from effort import long

CARMA, CANNON, REPLICATED = (f"distributed.matmul::{name}" for name in ("carma", "cannon", "matmul_25d"))
CASE = "where g >= 2 and c >= 2; for all sizes see --all"


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main([*arguments, "--machine", "jaketown"]) == 0
    return capsys.readouterr().out


@long
def test_the_energy_is_that_of_several_processors_along_each_axis(capsys: pytest.CaptureFixture[str]) -> None:
    """Solomonik and Demmel (2011): 2.5D moves Theta(n^2/sqrt(c*P)) words, with P = g^2*c."""
    text = printed(capsys, "energy", REPLICATED)
    assert CASE in text
    assert "Theta(n^2/(g*c))" in text
    assert "Theta(g*n^2)" in text
    assert "min(c, 2)" not in text
    assert len(text.splitlines()) < 45


@long
def test_all_sizes_are_those_of_all(capsys: pytest.CaptureFixture[str]) -> None:
    """JSON has no condition, so its forms hold at all sizes: with one layer there are fewer words than the case says."""
    assert "for all sizes" not in printed(capsys, "energy", REPLICATED, "--all")
    (found,) = json.loads(printed(capsys, "energy", REPLICATED, "--format", "json"))["results"]
    assert "min(c, 2)" in found["metrics"]["words"]["upper"]
    assert r"\text{where }" in printed(capsys, "energy", REPLICATED, "--format", "latex")


@long
def test_growth_is_compared_in_the_case(capsys: pytest.CaptureFixture[str]) -> None:
    text = printed(capsys, "compare", REPLICATED, CANNON)
    assert f"growth {CASE}" in text
    found = al.compare(REPLICATED, CANNON).growth
    assert {name: found[name].relation for name in ("flops", "words", "messages")} == dict.fromkeys(
        ("flops", "words", "messages"), "less"
    )


@long
def test_facts_on_processors_hold_of_the_sizes_that_are_compared() -> None:
    """P = g^2*c <= n^2 and c <= g make g^2*c*log2(c) = O(n^5/g^2), what memory takes: latency is of no higher order."""
    found = al.compare(REPLICATED, CANNON).growth
    assert (found["energy"].relation, found["energy"].bound) == ("same", "")
    assert found["energy.leakage"].relation == "same"


@long
@pytest.mark.parametrize(("where", "case"), [("c == 1", ("g >= 2",)), ("g == 1", ()), ("g >= 2, c >= 2", ())])
def test_there_is_no_case_that_the_facts_exclude(where: str, case: tuple[str, ...]) -> None:
    report = al.algorithm(REPLICATED).assuming(where).report()
    assert tuple(map(format_fact, report.case.when)) == case
    for n, g, c in product((4, 12), (1, 2, 4), (1, 2)):
        point = {"n": n, "g": g, "c": c}
        if n % g or g % c or g * g * c > n * n:
            continue
        allowed = {"c == 1": c == 1, "g == 1": g == 1, "g >= 2, c >= 2": g >= 2 and c >= 2}[where]
        if allowed and (g >= 2 or not case):
            words = report.case.costs["words"]
            assert evaluate(words.upper, point) >= al.algorithm(REPLICATED).run(**point).counts.words


@long
@pytest.mark.parametrize(("n", "processors"), [(4, 2), (8, 4), (8, 8), (16, 8)])
def test_facts_of_the_first_call_are_none_of_calls_in_a_split(n: int, processors: int) -> None:
    """Of equal sizes CARMA halves one after the other, so they are equal in the first call only."""
    point = {"n": n, "m": n, "p": n, "P": processors}
    squares = al.algorithm(CARMA).assuming("m == n, p == n")
    counts = al.algorithm(CARMA).run(**point, **dict.fromkeys("stv", n * n // processors)).counts
    for metric in ("flops", "words", "messages"):
        cost = squares.report()[metric]
        found = cost.at(n=n, P=processors)
        low, high = found if isinstance(found, tuple) else (found, found)
        assert low <= getattr(counts, metric) <= high


@long
def test_grids_of_different_kinds_have_as_many_processors() -> None:
    """CARMA has P processors, Cannon g^2: at g = 8 CARMA has 64."""
    given = al.compare(CARMA, CANNON, machine="jaketown", n=1024, m=1024, p=1024, g=8, P=64)
    implied = al.compare(CARMA, CANNON, machine="jaketown", n=1024, m=1024, p=1024, g=8)
    assert given.points[0].verdict == implied.points[0].verdict
    assert "P == g*g" in given.growth["messages"].facts


@long
def test_squares_on_as_many_processors() -> None:
    """Demmel et al. (2013): CARMA moves n^2/P^(2/3) words, Cannon n^2/P^(1/2)."""
    found = al.compare(CARMA, CANNON, where="m == n, p == n").growth
    assert found["flops"].relation == "same"
    assert found["words"].relation == "less"


def test_another_number_of_processors_is_refused() -> None:
    with pytest.raises(ArchlineError) as problem:
        al.energy(CANNON, machine="jaketown", n=1024, g=8, P=32)
    (only,) = problem.value.diagnostics
    assert only.rule.code == "AL411"
    assert "g^2 = 64" in only.message
    assert (
        al.energy(CANNON, machine="jaketown", n=1024, g=8, P=64).total
        == al.energy(CANNON, machine="jaketown", n=1024, g=8).total
    )


@long
def test_sizes_that_follow_are_not_asked_for() -> None:
    """s, t and v follow from n, m, p and P."""
    with pytest.raises(ArchlineError) as problem:
        al.algorithm(CARMA).report().words.at(n=16)
    assert problem.value.diagnostics[0].message == "no value is given for `m`, `p`, `P`"


@long
@pytest.mark.parametrize(
    ("target", "metric", "growth"),
    [
        ("distributed.fft::fft_bruck", "flops", "Theta(n*log2(n)/P)"),
        ("distributed.fft::fft_bruck", "words", "Theta(n*log2(P)/P)"),
        ("distributed.collectives::reduce_naive", "messages", "Theta(P)"),
    ],
)
def test_growth_with_the_number_of_processors(
    target: str, metric: str, growth: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["cost", target, "--metric", metric]) == 0
    assert growth in capsys.readouterr().out


@long
@pytest.mark.parametrize("arguments", [("cost", CARMA, "--explain"), ("check", "distributed.lu")])
def test_what_is_printed_is_short(arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    main(list(arguments))
    text = capsys.readouterr().out
    assert len(text.splitlines()) <= 85
    assert "11 claims hold" in text or "elif n >= max(m, p)" in text


@long
def test_branches_are_said_by_their_conditions(capsys: pytest.CaptureFixture[str]) -> None:
    """In a step of CARMA the copy of b is gathered where n is the largest, which moves its t words."""
    assert main(["cost", CARMA, "--explain", "--metric", "words"]) == 0
    text = capsys.readouterr().out
    row = next(line.split() for line in text.splitlines() if "allgather b along g" in line)
    assert row[-1] == "t"
    assert "elif n >= max(m, p)" in " ".join(row)
