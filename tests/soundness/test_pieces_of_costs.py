"""The pieces of a cost: they cover its sizes once, and their bounds lie within those for all sizes."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from archline.algebra.evaluate.exact import evaluate
from archline.analysis.analyse import derive
from archline.analysis.cache.analyse import derive_io_cost
from archline.analysis.cache.traffic import derive_traffic_cost
from archline.analysis.cost import Cost
from archline.expr.values import evaluate_fact
from archline.language.loader import load_text
from case_programs import SIZES, case_program_from_seed
from effort import drawn
from io_points import load

POINTS = st.fixed_dictionaries({name: st.integers(1, 40) for name in (*SIZES, "p")})
CACHES = st.tuples(st.integers(1, 8), st.integers(1, 200)).map(lambda given: {"L": given[0], "Z": given[0] * given[1]})


def assert_pieces(cost: Cost, point: dict[str, int]) -> None:
    """One piece has the point, the conditions that it shows hold there, and its bounds are as sharp as the cost's."""
    if cost.lower is None or cost.upper is None:
        assert cost.pieces == ()
        return
    having = [piece for piece in cost.pieces if piece.where.contains(point)]
    assert len(having) == 1, (cost.metric, point)
    (piece,) = having
    assert all(evaluate_fact(fact, point) for fact in piece.where.facts)
    low, high = (evaluate(form, point) for form in (cost.lower, cost.upper))
    lowers, uppers = (
        [evaluate(bound.value, point) for bound in bounds if bound.where.contains(point)]
        for bounds in (piece.lowers, piece.uppers)
    )
    assert low <= max(lowers) <= min(uppers) <= high
    assert (lowers[0], uppers[-1]) == (evaluate(piece.lower, point), evaluate(piece.upper, point))


@given(st.integers(0, 10**9), POINTS)
@settings(max_examples=drawn(120), deadline=None)
def test_cases_of_sizes_cover_all_sizes_once(seed: int, sizes: dict[str, int]) -> None:
    module = load_text(case_program_from_seed(seed))
    costs = derive(module, module.algorithms["main"])
    for cost in (*costs, *costs.flops_by_kind.values()):
        assert_pieces(cost, sizes)


@pytest.mark.parametrize("target", ["dense.gemv::gemv", "dense.transpose::transpose", "string.lcs::lcs_length"])
@given(POINTS, CACHES)
@settings(max_examples=drawn(40), deadline=None)
def test_bounds_by_cache_hold_within_the_form_for_all_caches(
    target: str, sizes: dict[str, int], cache: dict[str, int]
) -> None:
    module, algorithm = load(target)
    names = module.signatures[algorithm].size_names
    point = dict(zip(names, sizes.values(), strict=False)) | cache
    for cost in (derive_io_cost(module, algorithm), derive_traffic_cost(module, algorithm, "bytes")):
        assert_pieces(cost, point)


@pytest.mark.parametrize(
    "target", ["sort.mergesort::mergesort", "dense.matmul_recursive::matmul_subtract_co", "scan.recursive::sum_tree"]
)
@given(POINTS)
@settings(max_examples=drawn(40), deadline=None)
def test_cases_of_recurrences_cover_all_sizes_once(target: str, sizes: dict[str, int]) -> None:
    module, algorithm = load(target)
    names = module.signatures[algorithm].size_names
    for cost in derive(module, algorithm):
        assert_pieces(cost, dict(zip(names, sizes.values(), strict=False)))
