"""Runs of the standard library: results are those of numpy and scipy, counts those that are derived and ensured."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import scipy.io
from hypothesis import given, settings
from hypothesis import strategies as st

from archline.algebra.evaluate.exact import evaluate
from archline.claims.decide import decide_claims
from archline.execution.matrix_market import read_matrix
from archline.expr.values import evaluate_fact
from archline.language import syntax as s
from archline.language.call_graph import has_recursion
from archline.language.loader import list_stdlib_modules, load_target
from effort import drawn
from recursive_programs.agreement import disagreements, executed
from stdlib_cases import CASES, Ran, derived, execute_case, load
from stdlib_recursive_cases import HELPERS, RECURSIVE
from stdlib_structures_cases import STRUCTURES
from stdlib_targets import ALL, BOUNDED

METRICS = ("flops", "work", "span")
COMPARISONS = ("==", "<=", ">=")


def compared(target: str) -> list[s.Ensures]:
    """The `ensures` that compare a counted metric with an expression."""
    return [each for each in load(target)[1].ensures if each.metric in METRICS and each.relation in COMPARISONS]


@pytest.mark.parametrize("target", CASES)
def test_every_cost_is_ensured(target: str) -> None:
    assert load(target)[1].doc
    relations = {metric: {e.relation for e in compared(target) if e.metric == metric} for metric in METRICS}
    bounded = BOUNDED.get(target, set())
    for metric, found in relations.items():
        assert ("<=" in found and "==" not in found) if metric in bounded else found == {"=="}, metric


@pytest.mark.parametrize("target", ALL)
@settings(max_examples=drawn(15), deadline=None)
@given(data=st.data())
def test_runs(target: str, data: st.DataObject) -> None:
    case = {**CASES, **RECURSIVE}[target]
    arguments = data.draw(case.arguments)
    expected = case.results(arguments)
    ran = execute_case(target, arguments, expected)
    assert set(ran.results) == set(expected)
    for name, value in expected.items():
        np.testing.assert_allclose(ran.results[name], value, rtol=1e-9, atol=1e-9, err_msg=name)
    assert_ensured(target, ran)
    assert not list(disagreements(derived(target), executed(ran.counts), ran.sizes))


def assert_ensured(target: str, ran: Ran) -> None:
    """What the algorithm requires of its sizes and ensures of its costs is so in this run."""
    assert all(evaluate_fact(fact, ran.sizes) for fact in load(target)[1].where)
    for each in compared(target):
        count = s.Integer(value=getattr(ran.counts, each.metric), span=each.span)
        claim = s.Binary(op=each.relation, left=count, right=each.bound, span=each.span)
        assert evaluate_fact(claim, ran.sizes), (each.metric, each.relation, count.value, ran.sizes)


# The standard library: costs are exact unless the data decides, everything it ensures is decided, no sum is left


@pytest.mark.parametrize("target", CASES)
def test_costs_are_exact_unless_the_data_decides(target: str) -> None:
    costs = derived(target)
    assert {cost.metric for cost in costs if not cost.exact} == BOUNDED.get(target, set())


@pytest.mark.parametrize("target", CASES)
def test_everything_derived_is_decided(target: str) -> None:
    for verdict in decide_claims(*load(target), derived(target)):
        if verdict.ensures.metric not in ("flops", "work", "span", "time"):
            assert verdict.outcome == "unknown", verdict
        else:
            assert verdict.outcome == "holds", verdict


@pytest.mark.parametrize(
    ("target", "flops"),
    [
        # Textbook counts: Golub and Van Loan, Matrix Computations (4th ed.), sections 3.1, 3.2, 4.2; multiplications,
        # divisions, additions and square roots one each.
        ("dense.lu::lu", lambda n: sum(n - k - 1 + 2 * (n - k - 1) ** 2 for k in range(n))),
        ("dense.cholesky::cholesky", lambda n: sum(1 + 2 * j + (n - j - 1) * (2 * j + 1) for j in range(n))),
        ("dense.trisolv::trisolv", lambda n: sum(2 * i + 1 for i in range(n))),
    ],
)
def test_kernels_that_others_leave_as_sums(target: str, flops: object) -> None:
    costs = derived(target)
    for n in (1, 2, 3, 10, 101):
        assert evaluate(costs["flops"].lower, {"n": n}) == flops(n)  # type: ignore[operator]


def test_exact_at_a_size_of_thirty_digits() -> None:
    costs = derived("dense.lu::lu")
    n = 10**30
    assert evaluate(costs["flops"].lower, {"n": n}) == n * (n - 1) * (4 * n + 1) // 6


# The standard library computes what it says: the sparse products of real matrices against scipy


MATRICES = sorted((Path(__file__).parents[1] / "data" / "matrices").glob("*.mtx*"))


def test_every_algorithm_has_a_case() -> None:
    # What runs on grids has its cases in test_distributed_algorithms and test_collectives.
    names = [name for name in list_stdlib_modules() if not name.startswith("distributed.")]
    modules = {name: load_target(name)[0] for name in names}
    assert {*ALL, *STRUCTURES} == {f"{name}::{each}" for name, module in modules.items() for each in module.algorithms}
    assert {each for each in ALL if has_recursion(*load(each))} == RECURSIVE.keys() - HELPERS


@pytest.mark.parametrize("path", MATRICES, ids=lambda path: path.name.partition(".")[0])
@pytest.mark.parametrize("form", ["csr", "csc", "block"])
def test_real_matrices(path: Path, form: str) -> None:
    read = read_matrix(path)
    reference = scipy.io.mmread(path, spmatrix=False).tocsr()
    x = np.random.default_rng(1).normal(size=read.m)
    b = 64
    if form == "csr":
        rowptr, col, val = read.build_csr()
        arguments = {"rowptr": rowptr, "col": col, "val": val, "x": x}
    elif form == "csc":
        colptr, row, val = read.build_csc()
        arguments = {"colptr": colptr, "row": row, "val": val, "x": x, "y": np.zeros(read.n)}
    else:
        cut = read.blocks(b, square=True)
        padded = {"x": np.zeros(cut.block_rows * b), "y": np.zeros(cut.block_rows * b)}
        padded["x"][: read.m] = x
        entries = {"blk": cut.offsets, "row": cut.row, "col": cut.col, "val": cut.val}
        arguments = {**entries, **padded, "nb": cut.block_rows, "b": b}
    ran = execute_case(f"sparse.{form}::spmv_{form}", arguments, {"y": np.zeros(read.n)})
    assert ran.counts.flops == 2 * reference.nnz
    # Sums of at most 1000 products in another order: each rounding is below 2^-53 of the sum of magnitudes.
    slack = 1e-12 * (abs(reference) @ abs(x))
    assert (abs(ran.results["y"][: read.n] - reference @ x) <= slack).all()
