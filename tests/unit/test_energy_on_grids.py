"""Energies of algorithms on grids from derived costs, by hand from the equations of Demmel et al. (2013)."""

from __future__ import annotations

from fractions import Fraction

import pytest

import archline as al
from archline.language.diagnostics import ArchlineError
from effort import long
from energy_support import made

F = Fraction
LINEAR = made(gamma_t=1, beta_t=2, alpha_t=3, gamma_e=5, beta_e=7, alpha_e=11, delta_e="1/2", eps_e=13)
TWO = made(
    {
        **LINEAR.values,
        "node_beta_t": 17,
        "node_alpha_t": 19,
        "node_beta_e": 23,
        "node_alpha_e": 29,
        "node_delta_e": "1/3",
    }
)


def cannon(n: int, g: int) -> tuple[Fraction, Fraction]:
    """Time and energy of Cannon's algorithm by (1) and (2).

    F = 2*n^3/P, M = 3*n^2/P; g + 1 shifts of each of two blocks of n^2/P words.
    """
    p, b = g * g, n // g
    f, w, s, m = 2 * b**3 * g, 2 * (g + 1) * b * b, 2 * (g + 1), 3 * b * b
    time = Fraction(f + 2 * w + 3 * s)
    return time, p * (5 * f + 7 * w + 11 * s + F(1, 2) * m * time + 13 * time)


@pytest.mark.parametrize(("n", "g"), [(8, 2), (64, 4), (1024, 16)])
def test_cannon_by_the_equations(n: int, g: int) -> None:
    found = al.energy("distributed.matmul::cannon", machine=LINEAR, n=n, g=g)
    assert found.result.model.name == "linear"
    assert (found.time, found.total) == cannon(n, g)
    assert found.result.inputs["P"].amount.lower == g * g


def test_two_levels_of_a_run_by_hand() -> None:
    """2 by 2 nodes of 2 by 2 cores, n = 8, blocks of 4 words: F = 64, M = 12.

    Between nodes 2*(2 + 1)*4 = 24 words in 6 messages of a core, 4 times that over the link of a node; within them
    2*(2*2 + 1)*4 = 40 words in 10 messages.
    """
    found = al.energy("distributed.matmul::matmul_two_level", machine=TWO, n=8, g=2, h=2)
    assert found.result.model.name == "two_level"
    time = 64 + 4 * (2 * 24 + 3 * 6) + 17 * 40 + 19 * 10
    assert found.time == time
    memory = (16 * F(1, 2) * 12 + 4 * F(1, 3) * 4 * 12) * time
    assert found.parts == {
        "computation": 16 * 5 * 64,
        "between nodes": 16 * (7 * 24 + 11 * 6),
        "within nodes": 16 * (23 * 40 + 29 * 10),
        "memory": memory,
        "leakage": 16 * 13 * time,
    }


def test_two_levels_of_n_bodies_by_equation_17() -> None:
    """Equation (17) but for pl*betan_e/Mn, which is betan_e/Mn by the definitions of the model, and as in (12)."""
    n, f, pn, pl, mn, ml = 96, 10, 4, 3, 48, 12
    p = pn * pl
    gt, bt, blt, ge, be, ble, dn, dl, eps = 1, 2, 17, 5, 7, 23, F(1, 3), F(1, 2), 13
    time = F(f * n**2 * gt, p) + F(bt * n**2, mn * pn) + F(blt * n**2, ml * p)
    energy = n**2 * (
        f * ge + f * gt * eps + dn * bt + dl * blt + F(be + eps * pl * bt, mn) + F(ble + eps * blt, ml)
        + F(dn, pl) * f * gt * mn + dl * f * gt * ml + dn * blt * F(mn, pl * ml) + dl * pl * bt * F(ml, mn)
    )  # fmt: skip
    formulas = "F=f*n^2/P,W=n^2/(P*Mn),S=0,Wl=n^2/(P*M),Sl=0,pn=pn"
    found = al.energy(f"two_level:{formulas}", machine=TWO, at={"n": n, "f": f, "P": p, "pn": pn, "M": ml, "Mn": mn})
    assert (found.time, found.total) == (time, energy)


@long
def test_in_symbols_with_growth() -> None:
    found = al.energy(al.load("distributed.matmul")["cannon"].assuming("g >= 2"), machine=LINEAR).result.symbolic
    assert {each.name for each in found.metrics} == {"flops", "words", "messages", "memory", "P"}
    assert found.growth["bandwidth"] == "Theta(g*n^2)"


@long
def test_inputs_of_a_run_lie_within_those_derived() -> None:
    sizes = {"n": 16, "g": 4, "c": 2}
    derived, measured = (
        al.energy("distributed.matmul::matmul_25d", machine=LINEAR, measured=each, at=sizes) for each in (False, True)
    )
    low, high = derived.total
    assert low <= measured.total <= high
    assert measured.result.inputs["words"].origin == "executed"


@long
@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"model": "roofline", "machine": "i7-950", "n": 8, "g": 2}, "AL460"),
        ({"n": 8, "g": 2, "procs": 4}, "AL411"),
        ({"n": 8, "g": 2, "P": 3}, "AL411"),
        ({"n": 9, "g": 2}, "AL407"),
    ],
)
def test_what_is_refused(given: dict[str, int | str], code: str) -> None:
    with pytest.raises(ArchlineError) as refused:
        al.energy("distributed.matmul::cannon", **{"machine": LINEAR, **given})  # type: ignore[arg-type]
    assert refused.value.diagnostics[0].rule.code == code


def test_more_memory_than_there_is_is_said() -> None:
    small = made({**LINEAR.values, "memory_max": 40})
    found = al.energy("distributed.matmul::cannon", machine=small, n=8, g=2)
    assert "48 words of memory" in found.result.notes[0]
    assert not al.energy("distributed.matmul::cannon", machine=small, n=8, g=4).result.notes


@long
def test_grids_are_compared_by_their_model() -> None:
    # Eight layers have an eighth of the flops of each processor, 2*64^3/512, and flops lead.
    compared = al.compare(
        "distributed.matmul::cannon", "distributed.matmul::matmul_25d", machine=LINEAR, by="time", n=64, g=8, c=8
    )
    assert "model linear" in str(compared)
    assert "takes less: proved" in str(compared)
