"""Claims between algorithms of the library: those that hold do so in runs, those that fail do so where it is said."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import cache

import pytest

import archline as al
from archline.api.claims import decide_file_claims
from archline.execution.results import Cache
from archline.expr.intervals import Interval
from archline.expr.tree import rewrite_parts
from archline.expr.values import evaluate, evaluate_fact, evaluate_static
from archline.language import syntax as s
from archline.language.checking.contracts import list_costs
from archline.language.diagnostics import ArchlineError
from archline.language.loader import load_text
from archline.language.metrics import METRICS
from archline.report.view import Contract
from effort import drawn, some

USED = """
use dense.matmul
use dense.matmul_recursive
use distributed.collectives
use distributed.matmul
use distributed.nbody
use scan.prefix_sum
use scan.reduce
use sort.insertion_sort
use sort.mergesort
use sparse.csc
use sparse.csr
"""
HOLD = """
claim flops(matmul_co) == flops(matmul_basic)
claim work(matmul_parallel) <= work(matmul_co)
claim span(matmul_parallel) < 2*span(matmul_basic)
claim span(matmul_parallel) <= span(matmul_basic)
claim work(matmul_basic, n = 2*n) <= 2*work(matmul_basic)
claim work(matmul_basic, n = 2*n) <= 4*work(matmul_basic) at m = 3 where p <= 5
claim work(matmul_basic, n = 2*n, m = 2*m, p = 2*p) >= 4*work(matmul_basic)
claim flops(matmul_basic, n = m, p = m) == 2*m^3
claim flops(matmul_blocked) == flops(matmul_co_serial)
claim flops(matmul_basic, n = 3*k) - flops(matmul_basic, n = k) == 4*k*m*p
claim max(work(matmul_basic), span(matmul_basic)) <= 2*work(matmul_co)
claim work(matmul_basic)/span(matmul_basic) >= 1
claim calls(matmul_co) <= work(matmul_co)
claim flops(spmv_csr) <= flops(spmv_csc)
claim work(spmv_csr) >= 2*nz
claim flops(prefix_sum) <= flops(prefix_sum_blocked)
claim flops(prefix_sum_blocked) <= 2*flops(prefix_sum) + 2*n
claim span(sum) >= span(sum_blocked) where n >= 64, b == 8, n <= 300
claim flops(dot) == 2*flops(sum, n = n)
claim work(insertion_sort) <= 5*n^2 + 4
claim words(cannon) <= 4*n^2/sqrt(P)
claim words(cannon, g = h) >= words(cannon, g = 2*h) where h >= 2
claim words(allreduce_ring, w = 2*w) <= 4*w + 2*P where P >= 2
claim messages(broadcast_tree) <= messages(broadcast_naive)
claim io(matmul_basic) <= 3*n*m*p + 1 where Z >= 2*L*(m + 2)
claim io(mergesort, Z = 2*Z) <= io(insertion_sort)*20 where n >= 2, n <= 12, Z == 64, L == 4
"""
FAIL = """
claim work(matmul_basic, n = 2*n) <= work(matmul_basic)
claim words(matmul_25d, g = h) <= words(cannon, g = h*c) where c >= 2
claim flops(matmul_basic) == flops(matmul_temporary) + 1
claim work(matmul_co) <= work(matmul_basic)
claim span(matmul_basic) < span(matmul_parallel) where p >= 2
claim messages(broadcast_naive) <= messages(broadcast_tree)
claim work(mergesort) <= 3*n where n <= 1000
claim io(mergesort) <= io(insertion_sort) where n >= 2, n <= 12, Z == 64, L == 4
"""
SIZES = drawn(34)
"""Runs at so many sizes confirm a claim: 20 of them in CI."""
LARGEST = {"P": 9, "Z": 200, "L": 8, "g": 4, "h": 4, "c": 3, "nz": 60}


@cache
def _decided(lines: str) -> list[tuple[s.Claim, Contract]]:
    module = load_text(USED + lines)
    found = [each for each in module.program.items if isinstance(each, s.Claim)]
    return list(zip(found, decide_file_claims(module), strict=True))


def _one(lines: str, index: int) -> tuple[s.Claim, Contract]:
    (found,) = _decided(lines.strip().split("\n")[index] + "\n")
    return found


@cache
def _modules() -> list[al.Module]:
    return [al.load(line.split()[1]) for line in USED.split("\n") if line]


def _executed(side: s.Expr, claim: s.Claim, point: Mapping[str, int], seed: int) -> Fraction:
    """A side with what runs count for its costs."""

    def counted(part: s.Expr) -> s.Expr | None:
        if not isinstance(part, s.Call) or part not in list_costs(claim):
            return None
        (name,) = part.arguments
        assert isinstance(name, s.Name)
        algorithm = next(each for each in _modules() if name.id in each)[name.id]
        at = {**point, **{size: evaluate_static(value, point) for size, value in part.sizes}}
        own = {size: at[size] for size in (*algorithm.sizes, *algorithm.signature.indices, "P") if size in at}
        own = own if "P" in s.find_names(algorithm.node.grid) else {size: own[size] for size in own if size != "P"}
        chosen = Cache(at["Z"], at["L"]) if part.function == "io" else None
        counts = algorithm.run(own, cache=chosen, seed=seed).counts
        number = counts.counted(METRICS["calls"]) if part.function == "calls" else getattr(counts, part.function)
        return s.Integer(number, span=part.span)

    value = evaluate(rewrite_parts(side, counted), point)
    assert not isinstance(value, Interval)
    return Fraction(value)


COMPARED: dict[str, Callable[[Fraction, Fraction], bool]] = {
    "<=": lambda one, other: one <= other,
    "<": lambda one, other: one < other,
    ">=": lambda one, other: one >= other,
    ">": lambda one, other: one > other,
    "==": lambda one, other: one == other,
}


def _names(claim: s.Claim) -> set[str]:
    algorithms = {each.arguments[0].id for each in list_costs(claim)}  # type: ignore[union-attr]
    held = {name for name in s.find_names((claim.left, claim.right, claim.where)) if name not in algorithms}
    for cost in list_costs(claim):
        algorithm = next(each for each in _modules() if cost.arguments[0].id in each)[cost.arguments[0].id]  # type: ignore[union-attr]
        held |= {*algorithm.sizes, *algorithm.signature.indices} - {name for name, _ in cost.sizes}
        held |= {"P"} if "P" in s.find_names(algorithm.node.grid) else {"Z", "L"} if cost.function == "io" else set()
    return held


@pytest.mark.parametrize("index", some(range(len(HOLD.strip().split("\n")))))
def test_what_holds_is_so_in_runs(index: int) -> None:
    claim, found = _one(HOLD, index)
    assert found.outcome == "holds", found
    source, names = random.Random(index), sorted(_names(claim))
    fixed = {name: evaluate_static(value, {}) for name, value in claim.at}
    confirmed = 0
    for _ in range(20_000):
        point = {name: source.randint(1, LARGEST.get(name, 24)) for name in names} | fixed
        point |= {"P": point["g"] ** 2} if {"P", "g"} <= point.keys() else {}
        point |= {"P": point["h"] ** 2} if {"P", "h"} <= point.keys() else {}
        if any(n in point for n in "gh") and source.random() < 0.9:
            point["n"] = 12 * source.randint(1, 3)
        for fact in claim.where:
            # The sizes that a fact gives; of others a few are tried.
            if isinstance(fact, s.Binary) and fact.op == "==" and isinstance(fact.left, s.Name):
                point[fact.left.id] = evaluate_static(fact.right, point)
            if isinstance(fact, s.Binary) and fact.op == ">=" and isinstance(fact.left, s.Name):
                point[fact.left.id] += evaluate_static(fact.right, point)
        if not all(evaluate_fact(fact, point) for fact in claim.where):
            continue
        try:
            sides = [_executed(side, claim, point, confirmed) for side in (claim.left, claim.right)]
        except ArchlineError:
            # A fact of an algorithm is broken there.
            continue
        assert COMPARED[claim.relation](*sides), (found.text, point, sides)
        confirmed += 1
        if confirmed == SIZES:
            break
    assert confirmed == SIZES, (found.text, names)


@pytest.mark.parametrize("index", some(range(len(FAIL.strip().split("\n")))))
def test_what_fails_does_so_where_it_is_said(index: int) -> None:
    claim, found = _one(FAIL, index)
    assert found.outcome == "fails", found
    point = {name: int(value) for name, value in found.point.items()}
    for seed in range(3):
        sides = [_executed(side, claim, point, seed) for side in (claim.left, claim.right)]
        assert not COMPARED[claim.relation](*sides), (found.text, point, sides)


def test_energies_that_are_decided_are_those_of_runs() -> None:
    """On a machine, at sizes: the side that is said to be less is so with what runs count."""
    lines = "".join(
        f'claim energy({one}) <= energy({other}) on "{machine}" with {model} at n = {n}, m = {n}, p = {n}, Z = 512, L = 8\n'
        for one, other in (("matmul_co", "matmul_basic"), ("matmul_ijk", "matmul_ikj"), ("matmul_ikj", "matmul_ijk"))
        for machine, model in (("xeon-e5-2650l-v3", "ice"), ("gtx-580@double", "roofline"), ("i7-950@double", "linear"))
        for n in (12, 17)
    )
    decided = 0
    for claim, found in _decided(lines):
        if found.outcome == "unknown":
            continue
        decided += 1
        at = {name: evaluate_static(value, {}) for name, value in claim.at}
        cache_ = Cache(at.pop("Z"), at.pop("L"))
        energies = [
            al.energy(f"dense.matmul::{side.arguments[0].id}", machine=claim.on.machine, model=claim.on.model,  # type: ignore[union-attr]
                      cache=cache_, measured=True, at=at).result.estimate.energy  # type: ignore[union-attr]
            for side in (claim.left, claim.right)
        ]  # fmt: skip
        one, other = energies
        assert (one.lower <= other.upper) if found.outcome == "holds" else (one.upper > other.lower), found
    assert decided >= 6
