"""Random recurrences of one size: none answered wrongly, few refused."""

from __future__ import annotations

from functools import cache

import pytest

from archline.recurrences.asymptotic.evaluate import EvaluationRefusedError
from archline.recurrences.asymptotic.problem import Answer, Recurrence, Refused
from archline.recurrences.asymptotic.read import parse_recurrence
from archline.recurrences.asymptotic.solve import solve
from effort import drawn
from random_recurrences import disagreement, draw

BATCH = 50
COUNT = drawn(200, least=BATCH)


@cache
def solved(seed: int) -> tuple[str, Recurrence, Answer]:
    text = draw(seed)
    problem = parse_recurrence(text)
    return text, problem, solve(problem)


@pytest.mark.parametrize("first", range(0, COUNT, BATCH))
def test_answers_agree_with_the_recurrences(first: int) -> None:
    for text, problem, found in map(solved, range(first, first + BATCH)):
        if isinstance(found, Refused) or found.growth is None:
            continue
        try:
            wrong = disagreement(problem, found.growth)
        except EvaluationRefusedError:
            continue
        assert wrong is None, (text, found.growth)


def test_few_are_refused() -> None:
    refused = [text for text, _, found in map(solved, range(COUNT)) if isinstance(found, Refused)]
    assert len(refused) < COUNT / 10, refused


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
