"""Ranges of perfect strong scaling against those of Demmel et al. (2013), and by hand on derived costs."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest

import archline as al
from archline.certificates.check import check
from archline.cli.main import main
from archline.energy.caches import Settings
from archline.energy.fixed_memory import FixedMemory
from archline.energy.machines import Machine
from archline.energy.scaling import Scaling
from archline.energy.strong_scaling import derive_scaling
from archline.energy.subjects import make_subject
from archline.language.diagnostics import ArchlineError
from effort import long
from energy_support import made

F = Fraction
NEARLY = F(101, 100)
NETWORK = made(gamma_t=0, beta_t=1, alpha_t=0, gamma_e=5, beta_e=7, alpha_e=0, delta_e="1/2", eps_e=0)
ALL = made(gamma_t=1, beta_t=2, alpha_t=3, gamma_e=5, beta_e=7, alpha_e=11, delta_e="1/2", eps_e=13)


def scaled(target: str, *vary: str, at: str, on: Machine = NETWORK, factor: Fraction = NEARLY) -> Scaling:
    return derive_scaling(make_subject(target), on, vary, at, factor=factor)


def ends(found: Scaling, quantity: str) -> tuple[int, int]:
    """The numbers of processors from and to which a quantity scales perfectly."""
    (chosen,) = (each for each in found.ranges if each.quantity == quantity)
    return int(chosen.first.processors.lower), int(chosen.last.processors.lower)


def test_matrix_products_scale_perfectly_up_to_n3_over_m32() -> None:
    """Figure 3: bandwidth times P is flat up to P = n^3/M^(3/2), then rises as P^(1/3)."""
    target = "linear:F=0,W=max(n^3/(P*sqrt(M)),n^2/P^(2/3)),S=0"
    found = scaled(target, "P=256..32768", at="n=4096,M=65536")
    assert ends(found, "time*P") == (4096**2 // 65536, 4096**3 // 256**3)
    assert found.ratio(found.steps[-1], "time*P").lower == pytest.approx(2)  # type: ignore[union-attr]
    assert "at P = 8192; bandwidth grows most" in found.ranges[0].above
    assert found.growth["computation"] == ("0", "scales perfectly")
    assert found.growth["bandwidth"][1] == "depends on P"


def test_n_bodies_scale_perfectly_up_to_the_two_dimensional_limit() -> None:
    """Equation (15): n/M <= P <= n^2/M^2; the time is exactly as (15) has it, and the energy constant."""
    target = "linear:F=f*n^2/P,W=max(n^2/(P*M),n/sqrt(P)),S=0"
    found = scaled(target, "P=64..16384", at="n=4096,M=64,f=0")
    assert ends(found, "time*P") == ends(found, "energy") == (4096 // 64, 4096**2 // 64**2)
    assert found.steps[0].quantity("time*P").lower == 4096**2 // 64  # type: ignore[union-attr]


@long
def test_layers_of_matrix_products_by_derived_costs() -> None:
    """P = g^2*c with blocks of n^2/g^2 words: flops times P stay 2*n^3, c divides g ends it, at P = g^3."""
    found = scaled("distributed.matmul::matmul_25d", "c=1..16", at="n=512,g=8", on=ALL, factor=F(3))
    assert [each.result is not None for each in found.steps] == [True] * 4 + [False]
    assert [each.processors.lower for each in found.steps[:4]] == [64, 128, 256, 512]
    assert ends(found, "time*P") == (64, 512)
    assert found.ranges[0].below == "the sweep starts here"
    assert found.ranges[0].above == "c = 16: `c divides g` does not hold"


def test_the_memory_of_a_processor_ends_it_below() -> None:
    # Three blocks of n^2/P words: 3*16, 3*64, ... words with n = 32; room for 200.
    machine = made({**ALL.values, "memory_max": 200})
    found = scaled("distributed.matmul::cannon", "g=2..8", at="n=32", on=machine, factor=F(10))
    assert ends(found, "time*P") == (16, 64)
    assert found.ranges[0].below == "g = 2: a processor needs 768 words, but memory_max is 200"
    assert found.growth["computation"] == ("Theta(n^3)", "scales perfectly")


def test_nothing_has_room() -> None:
    found = scaled("distributed.matmul::cannon", "g=2..4", at="n=32", on=made({**ALL.values, "memory_max": 2}))
    assert [(each.first, each.last) for each in found.ranges] == [(None, None)] * 2


def test_the_ratio_is_exact() -> None:
    # By (1): F = 2*n^3/P, W = 2*(g + 1)*n^2/P, S = 2*(g + 1); n = 16.
    found = scaled("distributed.matmul::cannon", "g=2..4", at="n=16", on=ALL)
    times = [2 * 16**3 + 2 * 2 * (g + 1) * 256 + 3 * 2 * (g + 1) * g * g for g in (2, 4)]
    assert found.ratio(found.steps[1], "time*P").lower == F(times[1], times[0])  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("target", "vary", "at", "code"),
    [
        ("distributed.matmul::cannon", ["g=3..3"], "n=16", "AL407"),
        ("distributed.matmul::cannon", ["n=16..64"], "g=4", "AL411"),
        ("distributed.matmul::cannon", ["g=2..4"], "g=4,n=16", "AL403"),
        ("distributed.nbody::nbody_replicated", ["P=4..16", "c=1..2"], "n=64,f=1", "AL411"),
        ("dense.matmul::matmul_basic", ["n=16..64"], "m=4,p=4", "AL411"),
    ],
)
def test_what_is_refused(target: str, vary: list[str], at: str, code: str) -> None:
    with pytest.raises(ArchlineError) as refused:
        scaled(target, *vary, at=at, on=ALL)
    assert refused.value.diagnostics[0].rule.code == code


RING = """
algorithm ring(X: real[n], Y: out real[n]) on grid(r: P):
    where P divides n
    let s = n/P
    local x: real[s] = X[r*s ..+ s]
    for t in 1..P:
        shift x along r by 1
    output Y[r*s ..+ s] = x
"""
MAY_BE_NOTHING = """
algorithm f(x: inout local real[n], j: local int[n]) on grid(r: P):
    for i in 0..n:
        if j[i] > 0:
            x[i] += 1.0
"""


def test_what_is_nothing_on_one_processor_is_compared_with_two(tmp_path: Path) -> None:
    """P - 1 steps of n/P words: of 4 processors n*(P - 1) is three times that of 2."""
    (tmp_path / "ring.algo").write_text(RING)
    found = derive_scaling(make_subject(str(tmp_path / "ring.algo")), ALL, ["P=1..16"], "n=4800")
    words = [each.amount("words").lower * each.processors.lower for each in found.steps]
    assert words == [0, 4800, 14400, 33600, 72000]
    assert ends(found, "energy") == (2, 2)
    ratios = [found.ratio(each, "energy") for each in found.steps]
    assert [each.lower if each else None for each in ratios[:2]] == [0, 1]
    assert ratios[2].lower > F(3, 2)


def test_a_bound_of_nothing_decides_nothing(tmp_path: Path) -> None:
    (tmp_path / "f.algo").write_text(MAY_BE_NOTHING)
    found = derive_scaling(make_subject(str(tmp_path / "f.algo")), ALL, ["P=2..8"], "n=8")
    assert found.steps[0].quantity("time*P").lower == 0  # type: ignore[union-attr]
    assert [found.verdict(each, "time*P") for each in found.steps[1:]] == ["open", "open"]


@long
def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    command = ["scale", "distributed.matmul::cannon", "--machine", "jaketown", "--at", "n=64", "--vary", "g=2..8"]
    assert main([*command, "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert [each["inputs"]["P"]["lower"] for each in document["steps"]] == ["4", "16", "64"]
    assert document["ranges"]["energy"]["last"] == "64"
    assert main(command) == 0
    assert "perfect strong scaling" in capsys.readouterr().out
    assert main([*command, "--factor", "1"]) == 2
    assert main([*command, "--machine", "atom-d2500"]) == 2


def fixed(target: str, *, on: Machine = ALL) -> FixedMemory:
    found = derive_scaling(make_subject(f"distributed.{target}"), on, *SWEEPS[target])
    assert found.fixed_memory is not None
    return found.fixed_memory


SWEEPS = {
    "matmul::matmul_25d": (["c=1..4"], "n=64,g=4"),
    "nbody::nbody_replicated": (["P=16..64", "c=1..4"], "n=256,f=20"),
    "matmul::cannon": (["g=2..4"], "n=64"),
}


@long
def test_energy_of_matrix_products_at_fixed_memory_is_free_of_p() -> None:
    """Equation (10) and its range: n^2/P <= M <= n^2/P^(2/3); (11): beyond it the bandwidth rises as P^(1/3)."""
    found = fixed("matmul::matmul_25d")
    assert (found.least, found.most) == (("n^2/P",), ("n^2/P^(2/3)",))
    assert found.growth == "M*n^3"
    upper = {each.name: each.text for each in found.terms}
    assert upper["computation"] == "n^3"
    assert upper["bandwidth"] == "n^3/sqrt(M)"
    assert not any(each.depends for each in found.terms if each.name in ("computation", "bandwidth", "memory"))
    assert (found.beyond.memory, found.beyond.term) == ("n^2/P^(2/3)", "bandwidth")
    assert found.beyond.lower == "P^(1/3)*n^2"
    assert [str(check(each.certificate)) for each in (*found.proofs, found.beyond.proof)] == ["accepted"] * 3


@long
def test_energy_of_n_bodies_at_fixed_memory_is_free_of_p() -> None:
    """Equation (16) and its range, n/P <= M <= n/P^(1/2)."""
    found = fixed("nbody::nbody_replicated")
    assert (found.least, found.most) == (("n/P",), ("n/sqrt(P)",))
    assert found.growth == "M*n^2*f"
    assert {each.name: each.text for each in found.terms}["bandwidth"] == "n^2/M"
    assert (found.beyond.term, found.beyond.lower) == ("bandwidth", "sqrt(P)*n")


@long
def test_without_storage_energy_the_memory_does_not_count() -> None:
    assert fixed("matmul::matmul_25d", on=made(gamma_t=1, beta_t=2, alpha_t=3, gamma_e=5, beta_e=7, alpha_e=11,
                                               delta_e=0, eps_e=0)).growth == "n^3"  # fmt: skip


def test_without_copies_memory_is_tied_to_p() -> None:
    found = fixed("matmul::cannon")
    assert found.growth is None
    assert found.reason == "no size of the grid relates the memory of a processor to the number of processors"


@long
def test_words_of_all_processors_in_the_range_by_simulated_counts() -> None:
    """Within the range P*words stays below 5 times what it is without copies: 2*n^2*g + 2*n^2 for c = 1."""
    found = derive_scaling(
        make_subject("distributed.matmul::matmul_25d"), ALL, ["c=1..8"], "n=64,g=8", settings=Settings(measured=True)
    )
    first = found.steps[0]
    assert first.amount("words").lower == 2 * 64**2 // 8 + 2 * 64**2 // 64
    assert found.moved.lower == 1
    assert found.moved.upper < 5


@long
def test_python_gives_what_the_command_prints(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["scale", "distributed.matmul::matmul_25d", "--machine", "jaketown", "--at", "n=64,g=4", "--vary", "c=1..4"]
    assert main([*asked, "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    found = al.scale("distributed.matmul::matmul_25d", machine="jaketown", vary="c=1..4", at={"n": 64, "g": 4})
    assert found.document == document
    assert main(asked) == 0
    assert str(found) == capsys.readouterr().out
