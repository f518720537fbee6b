"""Random recurrences of one to three sizes with cut-offs, solved, and their growth compared with their own values.

Run as a program with two numbers it goes through that range of recurrences and prints what it finds."""

from __future__ import annotations

import random
import sys
from dataclasses import dataclass
from functools import cache
from math import log

import pytest
from flint import arb

from archline.algebra.evaluate.formulas import BALL_ARITHMETIC, EvaluationRefusedError
from archline.expr.text import format_expression
from archline.recurrences.asymptotic.evaluate import Evaluator
from archline.recurrences.asymptotic.logspace.solve import solve_recurrence_in_log_space
from archline.recurrences.asymptotic.problem import Answer, RealRecurrence, Refused, SolvedGrowth
from archline.recurrences.asymptotic.read import parse_recurrence
from archline.recurrences.asymptotic.solve import solve
from effort import drawn
from random_recurrences import disagreement, draw

SCALES = (20, 40, 80, 160)
FURTHER = (320, 640, 1280)
NOISE = 2.0
COUNT = 36


@dataclass(frozen=True)
class Sample:
    """A recurrence as text, with its names."""

    text: str
    where: str
    sizes: tuple[str, ...]
    symbols: tuple[str, ...]


def sample(seed: int, apart: bool = False) -> Sample:
    """Halves and thirds, guards that shrink the greatest size, cut-offs by products, sums and maxima.

    The cases cost the same, unless they are to be set apart.
    """
    draw = random.Random(seed)
    sizes = ("n", "m", "p")[: draw.choice((1, 1, 2, 2, 2, 3, 3))]
    symbols = draw.choice((("Z", "L"), ("Z", "L"), ("Z",), ("L",), ()))
    leaf = "1 + " * (draw.random() < 0.7) + _cost(draw, sizes, symbols, draw.randint(1, 3))
    cases = [f"{leaf} when {_cutoff(draw, sizes, symbols)}"]
    shared, kind = _cost(draw, sizes, symbols, draw.randint(1, 2)), draw.choice(("same", "counts", "counts"))
    if draw.random() < 0.4:
        shared = "1"
    count, cut = draw.choice((1, 2, 2, 3, 4, 7)), draw.choice((2, 2, 3))
    for size in sizes:
        if kind == "counts":
            count, cut = draw.choice((1, 2, 2, 3)), draw.choice((2, 2, 3))
        if apart:
            shared = _cost(draw, sizes, symbols, draw.randint(1, 2))
        arguments = ", ".join(f"{each}/{cut}" if each == size else each for each in sizes)
        others = [each for each in sizes if each != size]
        guard = "" if size == sizes[-1] else f" when {size} >= {_greatest(others)}"
        cases.append(f"{count}*Q({arguments}) + {shared}{guard}")
    tall = "Z >= L^2" if len(symbols) == 2 and draw.random() < 0.6 else ""
    return Sample(f"Q({', '.join(sizes)}) = {'; '.join(cases)}", tall, sizes, symbols)


def _greatest(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"max({', '.join(names)})"


def _cost(draw: random.Random, sizes: tuple[str, ...], symbols: tuple[str, ...], terms: int) -> str:
    return " + ".join(dict.fromkeys(_product(draw, sizes, symbols) for _ in range(terms)))


def _product(draw: random.Random, sizes: tuple[str, ...], symbols: tuple[str, ...]) -> str:
    factors = [draw.choice(("1", "1", each, each, f"{each}^2", f"sqrt({each})")) for each in sizes]
    text = "*".join(each for each in factors if each != "1") or "1"
    if draw.random() < 0.15:
        text += f"*log2({draw.choice(sizes + symbols)})"
    if symbols and draw.random() < 0.5:
        divisor = draw.choice(symbols)
        text += f"/{draw.choice((divisor, divisor, f'sqrt({divisor})'))}"
    return text


def _cutoff(draw: random.Random, sizes: tuple[str, ...], symbols: tuple[str, ...]) -> str:
    pairs = [f"{a}*{b}" for i, a in enumerate(sizes) for b in sizes[i + 1 :]]
    left = draw.choice(
        ("*".join(sizes), " + ".join(sizes), " + ".join(pairs or [f"{sizes[0]}^2"]), _greatest(list(sizes)))
    )
    return f"{left} <= {draw.choice(symbols) if symbols else 1}"


def claimed(answer: SolvedGrowth, sizes: tuple[str, ...]) -> RealRecurrence:
    """The growth as a function to be evaluated, by regimes where there are several."""
    cases = [f"{format_expression(each.upper)} when {each.when}" for each in answer.regimes[:-1]]
    # A condition that always holds: without any, a function would be 1 up to size 1.
    cases += [f"{format_expression(answer.growth)} when {sizes[0]} > 0", "1"]
    return parse_recurrence(f"G({', '.join(sizes)}) = {'; '.join(cases)}")


def ratio(problem: RealRecurrence, growth: RealRecurrence, point: dict[str, float]) -> float:
    """log2 of the recurrence's value over the growth claimed."""
    value, other = (arb(Evaluator(each, point, BALL_ARITHMETIC).evaluate_at(point)) for each in (problem, growth))
    assert value > 0
    assert other > 0
    return float((value / other).log()) / log(2)


def drift(found: Sample, answer: SolvedGrowth, seed: int, directions: int = 5) -> tuple[float, dict[str, float]]:
    """How far the ratio moves as the sizes grow at random rates, at worst, and the rates.

    Sizes that are no powers of the factors make it vary within a constant; what moves on steadily is wrong.
    """
    problem, growth = parse_recurrence(found.text, found.where), claimed(answer, found.sizes)
    draw = random.Random(seed)
    worst: tuple[float, dict[str, float]] = (0.0, {})
    for _ in range(directions):
        rates = {name: _rate(draw) for name in found.sizes + found.symbols}
        moved = _moved(problem, growth, found, rates, SCALES, draw)
        if moved > NOISE:
            moved = min(moved, _moved(problem, growth, found, rates, FURTHER, draw))
        worst = max(worst, (moved, rates), key=lambda pair: pair[0])
    return worst


def _rate(draw: random.Random) -> float:
    return draw.choice((0.0, 0.5, 1.0, draw.uniform(0.15, 1), draw.uniform(0.15, 1)))


def _moved(
    problem: RealRecurrence,
    growth: RealRecurrence,
    found: Sample,
    rates: dict[str, float],
    scales: tuple[int, ...],
    draw: random.Random,
) -> float:
    means = []
    for scale in scales:
        points = [_point(found, rates, scale, draw) for _ in range(3)]
        try:
            means.append(sum(ratio(problem, growth, point) for point in points) / len(points))
        except EvaluationRefusedError:
            break
    return abs(means[-1] - means[-2]) if len(means) > 2 else 0.0


def _point(found: Sample, rates: dict[str, float], scale: int, draw: random.Random) -> dict[str, float]:
    logs = {name: scale * rate + (draw.uniform(0, 2) if rate else 0) for name, rate in rates.items()}
    if {"Z", "L"} <= logs.keys():
        logs["L"] = min(logs["L"], logs["Z"] / (2 if found.where else 1))
    return {name: 2.0 ** min(each, 1000) for name, each in logs.items()}


@pytest.mark.parametrize("seed", range(COUNT))
def test_the_growth_agrees_with_the_recurrence_over_four_scales(seed: int) -> None:
    found = sample(seed)
    answer = solve_recurrence_in_log_space(parse_recurrence(found.text, found.where))
    assert isinstance(answer, SolvedGrowth), f"{found.text} {found.where}: {answer}"
    moved, rates = drift(found, answer, seed)
    assert moved <= NOISE, f"{found.text} {found.where} -> {answer.growth} {answer.regimes} drifts at {rates}"


@pytest.mark.parametrize("seed", range(1000, 1016))
def test_cases_of_different_costs_agree_too_or_jump(seed: int) -> None:
    found = sample(seed, apart=True)
    answer = solve_recurrence_in_log_space(parse_recurrence(found.text, found.where))
    if isinstance(answer, Refused):
        assert answer.reason.startswith("the growth is discontinuous at"), found.text
    else:
        assert isinstance(answer, SolvedGrowth)
        moved, rates = drift(found, answer, seed)
        assert moved <= NOISE, f"{found.text} {found.where} -> {answer.growth} {answer.regimes} drifts at {rates}"


def survey(first: int, last: int) -> None:
    """Go through a range of recurrences and print what is refused and what drifts."""
    refused = 0
    for seed in range(first, last):
        found = sample(seed)
        answer = solve_recurrence_in_log_space(parse_recurrence(found.text, found.where))
        if isinstance(answer, Refused):
            refused += 1
            print(f"{seed} refused: {answer.reason}: {found.text} {found.where}")
        elif isinstance(answer, SolvedGrowth):
            moved, rates = drift(found, answer, seed, 12)
            if moved > NOISE:
                print(f"{seed} drifts by {moved:.2f} at {rates}: {found.text} {found.where} -> {answer.growth}")
    print(f"{refused} of {last - first} refused")


if __name__ == "__main__":
    survey(int(sys.argv[1]), int(sys.argv[2]))


# Random recurrences of one size: none answered wrongly, few refused


BATCH = 50
COUNT_RECURRENCE_RANDOM = drawn(200, least=BATCH)


@cache
def solved(seed: int) -> tuple[str, RealRecurrence, Answer]:
    text = draw(seed)
    problem = parse_recurrence(text)
    return text, problem, solve(problem)


@pytest.mark.parametrize("first", range(0, COUNT_RECURRENCE_RANDOM, BATCH))
def test_answers_agree_with_the_recurrences(first: int) -> None:
    for text, problem, found in map(solved, range(first, first + BATCH)):
        if isinstance(found, Refused) or found.growth is None:
            continue
        try:
            wrong = disagreement(problem, format_expression(found.growth))
        except EvaluationRefusedError:
            continue
        assert wrong is None, (text, found.growth)


def test_few_are_refused() -> None:
    refused = [text for text, _, found in map(solved, range(COUNT_RECURRENCE_RANDOM)) if isinstance(found, Refused)]
    assert len(refused) < COUNT_RECURRENCE_RANDOM / 10, refused


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("T(n) = 2*T(n/2) + n", "n"),
        ("T(n) = 2*T(n/2) + n", "n*log2(n)^2"),
        ("T(n) = 2*T(n/2) + n/log2(n)^2", "n*log2(n)"),
        ("T(n) = T(n/3) + T(3*n/4) + n", "n^1.25"),
        ("T(n) = T(n-1) + n", "n^2*log2(n)"),
        ("T(n) = 2*T(sqrt(n)) + log2(n)", "log2(n)^2"),
    ],
)
def test_wrong_answers_would_be_seen(text: str, wrong: str) -> None:
    assert disagreement(parse_recurrence(text), wrong) is not None
