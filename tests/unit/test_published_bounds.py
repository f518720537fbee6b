"""Published lower bounds on io beside ours: the file, the kernels that it names, and what is said of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from archline.analysis.analyse import derive
from archline.analysis.cache.analyse import derive_io_cost
from archline.claims.published import PublishedComparison, compare_published_bounds, load_published_tables
from archline.language import syntax as s
from archline.language.loader import load_target
from archline.language.parser import parse_expression
from cli_support import cli
from effort import long

ROOT = Path(__file__).resolve().parents[2]
SOURCE = json.loads((ROOT / "tests" / "data" / "published_bounds.json").read_text(encoding="utf-8"))


def beside(target: str) -> PublishedComparison:
    module, algorithm = load_target(target)
    assert algorithm is not None
    costs = derive(module, algorithm)
    found = compare_published_bounds(module, algorithm, costs, derive_io_cost(module, algorithm))
    assert found is not None
    return found


def test_the_file_has_the_published_bounds() -> None:
    assert {key: load_published_tables()[key] for key in SOURCE} == SOURCE


def test_it_is_in_the_wheel() -> None:
    assert '"bounds" = "archline/_data/bounds"' in (ROOT / "pyproject.toml").read_text(encoding="utf-8")


def test_every_expression_is_one_of_the_language() -> None:
    """No text of the file is ever evaluated."""
    for bounds in load_published_tables()["kernels"].values():
        for text in bounds.values():
            assert names(text)
    assert set(load_published_tables()["source"]) >= {
        by for bounds in load_published_tables()["kernels"].values() for by in bounds
    }


def names(text: str) -> set[str]:
    return {node.id for node in s.iterate_nodes(parse_expression(text)) if isinstance(node, s.Name)}


@pytest.mark.parametrize("target", load_published_tables()["algorithms"])
def test_algorithms_have_the_sizes_of_their_kernels(target: str) -> None:
    known = load_published_tables()["algorithms"][target]
    module, algorithm = load_target(target)
    assert algorithm is not None
    theirs = {name for text in load_published_tables()["kernels"][known["kernel"]].values() for name in names(text)} - {
        "S"
    }
    assert theirs <= set(known["sizes"])
    ours = {name for text in known["sizes"].values() for name in names(text)}
    assert ours <= set(module.signatures[algorithm].size_names)


@long
@pytest.mark.parametrize("target", [each for each in load_published_tables()["algorithms"] if "_co" not in each])
def test_a_disagreement_is_explained(target: str) -> None:
    """And nothing is explained where ours grow alike."""
    found = beside(target)
    alike = all(each.relation == "the same" for each in found.bounds)
    assert alike == ("because" not in load_published_tables()["algorithms"][target])
    assert alike == (found.because is None)
    assert all(each.relation in ("the same", "larger") for each in found.bounds)


@pytest.mark.parametrize(
    ("target", "times"),
    [
        # 2*n*m*p/sqrt(S) and n^2/2 are ours as well.
        ("dense.matmul::matmul_ijk", {"iolb": 1, "soap": 1}),
        ("dense.trisolv::trisolv", {"iolb": 1, "soap": 1}),
        # Three places see one matrix: 2/3^(3/2) for 2.
        ("dense.floyd_warshall::floyd_warshall", {"iolb": 3**1.5 / 2, "soap": 3**1.5}),
        ("dense.cholesky::cholesky", {"iolb": 3**1.5 / 2, "soap": 3**1.5}),
    ],
)
def test_leading_terms(target: str, times: dict[str, float]) -> None:
    assert {each.by: each.times for each in beside(target).bounds} == pytest.approx(times, rel=1e-3)


def test_sizes_are_renamed() -> None:
    assert [each.text for each in beside("stencil.jacobi_1d::jacobi_1d").bounds] == ["n*steps/(4*Z)", "2*n*steps/Z"]


def test_reports_show_them() -> None:
    """As text with the derivation of io, and as JSON; other algorithms have none."""
    told = cli("cost", "dense.trmm::trmm", "--explain", "--metric", "io").out
    assert "published for PolyBench's trmm" in told
    assert "larger in growth than ours" in told
    assert "a sum in a register is no access" in told
    io = json.loads(cli("cost", "dense.gemv::gemv", "--format", "json").out)["costs"]["io"]
    assert "published" not in io
    io = json.loads(cli("cost", "dense.trisolv::trisolv", "--format", "json").out)["costs"]["io"]
    assert io["published"]["kernel"] == "trisolv"
    assert [each["growth"] for each in io["published"]["bounds"]] == ["the same", "the same"]
    assert io["any_order"]["regimes"][-1] == {"when": "Z >= 3*L", "factor": "1", "reason": ""}


def test_values_are_compared() -> None:
    """At sizes, also beside the io of several processors, of which nothing is known in any order."""
    sizes = ("dense.matmul::matmul_basic", "--at", "n=64,m=64,p=64", "--cache", "Z=1024,L=8")
    told = cli("cost", *sizes, "--procs", "4")
    assert told.code == 0
    assert "io: the upper bound is 1.18 times the lower one, and 15.77 times 1920" in told.out
    io = json.loads(cli("cost", *sizes, "--procs", "4", "--format", "json").out)["costs"]
    assert io["io"]["any_order"]["value"] == "1920"
    assert "any_order" not in io["io(4)"]
