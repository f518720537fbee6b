"""Certificates of growth that `archline check` gives: each is verified by the checker, which knows nothing of the prover."""

from __future__ import annotations

import json

import pytest

from archline.certificates.check import check
from archline.cli.main import main
from effort import some

TARGETS = [
    "dense.matmul",
    "dense.lu_recursive",
    "sparse.csr",
    "sparse.csc",
    "sort.mergesort",
    "fft.fft",
    "stencil.trapezoid",
    "string.lcs",
    "dense.transpose_recursive",
]


@pytest.mark.parametrize("target", some(TARGETS))
def test_growth_that_holds_has_certificates(target: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", target, "--certificates", "--format", "json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)["targets"]
    proved = 0
    for algorithm in found["algorithms"]:
        for contract in algorithm["ensures"]:
            growth = any(f" is {name}(" in contract["text"] for name in ("O", "Omega", "Theta"))
            assert bool(contract["certificates"]) == (growth and contract["outcome"] == "holds"), contract["text"]
            for certificate in contract["certificates"]:
                assert check(certificate).accepted, contract["text"]
                proved += 1
    assert proved


def test_the_square_product_is_certified_both_ways(capsys: pytest.CaptureFixture[str]) -> None:
    """Frigo, Leiserson, Prokop, Ramachandran (FOCS 1999), theorem 1."""
    assert main(["check", "dense.matmul::matmul_co", "--certificates", "--format", "json"]) == 0
    ((algorithm,),) = [each["algorithms"] for each in json.loads(capsys.readouterr().out)["targets"]]
    (contract,) = [each for each in algorithm["ensures"] if "is Theta(n + n^2/L + n^3/(L*sqrt(Z)))" in each["text"]]
    sides = [(each["f"], each["g"]) for each in contract["certificates"]]
    claimed = "n + n^2/L + n^3/(L*sqrt(Z))"
    assert len(sides) == 2
    assert sides[0][0] == claimed == sides[1][1]
    assert all("Z >= L^2" in each["facts"] for each in contract["certificates"])


def test_proofs_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "sparse.csr::spmv_csr", "--certificates"]) == 0
    shown = capsys.readouterr().out
    assert "is O(n/L + nz + 1) where" in " ".join(shown.split())
    assert main(["check", "sparse.csr::spmv_csr"]) == 0
    assert "where nz" not in capsys.readouterr().out
