"""What a cost is at least at sizes, found without the other end: what a search leaves out points by."""

from __future__ import annotations

import pytest

import archline as al
from archline.analysis.cost import enclose_cost
from archline.energy.optimise.points import Candidates
from effort import long, some

TARGETS = ("dense.transpose::transpose_blocked", "dense.matmul::matmul_blocked", "stencil.jacobi_1d::jacobi_1d")


@pytest.mark.parametrize("metric", ["io", "bytes"])
@pytest.mark.parametrize("target", some([*TARGETS], 3))
@pytest.mark.parametrize("size", some([7, 1, 24]))
def test_the_lower_end_by_itself_is_that_of_both(target: str, size: int, metric: str) -> None:
    report = al.algorithm(target).cost()
    cost = report.cost(metric)
    point = {**dict.fromkeys(report.parameters, size), "b": 5, "L": 4, "Z": 64}
    assert cost.least_at is not None
    assert cost.least_at(point) == enclose_cost(cost, point).lower


@long
def test_of_tiles_few_are_evaluated_exactly(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[int] = []
    evaluated = Candidates._evaluate_uncached

    def counted(self: Candidates, place: int, kept: tuple[int, ...]) -> object:
        tried.append(place)
        return evaluated(self, place, kept)

    monkeypatch.setattr(Candidates, "_evaluate_uncached", counted)
    found = al.optimise(
        "dense.matmul::matmul_blocked",
        machine="xeon-e5-2650l-v3",
        over="b=1..96",
        at={"n": 96, "m": 96, "p": 96},
        cache=al.Cache(1024, 8),
        minimise="bytes",
    )
    assert found.status == "optimal"
    assert 0 < len(set(tried)) < 48
