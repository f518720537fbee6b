"""The time along one path that weighs flops, words and messages, in runs on grids."""

from __future__ import annotations

from fractions import Fraction

import pytest

import archline as al
from archline.api.caches import Settings
from archline.api.running import Run, run_at
from archline.api.settings import unplaced
from archline.energy.machines import Machine
from archline.language.diagnostics import ArchlineError
from effort import some
from energy_support import made

SLOW_LINKS = made(gamma_t=1, beta_t=2, alpha_t=3, node_beta_t="1/3", node_alpha_t=5)
UNEVEN = """
algorithm uneven(x: real[n], y: out real[P, n]) on grid(r: P):
    local v: real[n] = 0
    if r == 0:
        for i in 0..n:
            for j in 0..3:
                v[i] += 1
    exchange v to (r + 1) when r == 1 into v from (r - 1) when r == 2
    output y[r, :] = v
"""


def timed(algorithm: al.Algorithm, on: Machine = SLOW_LINKS, **sizes: int) -> Run:
    return run_at(algorithm, unplaced(sizes), None, Settings(machine=on))


@pytest.mark.parametrize(("gamma", "time"), [(1, 2 * 10 + 3), (100, 100 * 30)])
def test_the_longer_of_two_paths(gamma: int, time: int) -> None:
    """Processor 0 computes 30 flops, and processor 1 sends 10 words: no path has both."""
    machine = made({**SLOW_LINKS.values, "gamma_t": gamma})
    done = timed(al.loads(UNEVEN)["uneven"], machine, n=10, P=3)
    assert done.counts.time == (max(time, gamma * 30), gamma * 30 + 2 * 10 + 3)
    assert done.time == max(time, gamma * 30)


def test_cores_of_a_node_take_turns_on_its_link() -> None:
    # n = 8: F = 64, of a core 24 words and 6 messages between nodes of 4 cores, 40 and 10 within; all cores alike.
    done = timed(al.load("distributed.matmul")["matmul_two_level"], n=8, g=2, h=2)
    assert done.time == 64 + 4 * (2 * 24 + 3 * 6) + Fraction(40, 3) + 5 * 10
    model = al.energy("distributed.matmul::matmul_two_level", machine=SLOW_LINKS.with_parameters({}), **ENERGIES)
    assert model.time == done.time


ENERGIES = {
    "n": 8, "g": 2, "h": 2,
    "parameters": {"gamma_e": 1, "beta_e": 1, "alpha_e": 1, "delta_e": 1, "eps_e": 1},
}  # fmt: skip


@pytest.mark.parametrize(
    ("target", "sizes"),
    [
        ("distributed.matmul::cannon", {"n": 16, "g": 4}),
        ("distributed.matmul::matmul_25d", {"n": 16, "g": 4, "c": 2}),
        ("distributed.matmul::summa", {"n": 12, "m": 12, "p": 12, "g": 2, "h": 3, "w": 2}),
        ("distributed.nbody::nbody_replicated", {"n": 24, "P": 12, "c": 2, "f": 3}),
    ],
)
@pytest.mark.parametrize("prices", some([(1, 2, 3), (1, 50, 0), (0, 1, 100), (100, 0, 1)]))
def test_one_path_takes_at_most_each_of_three_and_at_least_a_third(
    target: str, sizes: dict[str, int], prices: tuple[int, int, int]
) -> None:
    module, _, name = target.partition("::")
    machine = made(dict(zip(("gamma_t", "beta_t", "alpha_t"), prices, strict=True)))
    done = timed(al.load(module)[name], machine, **sizes)
    assert done.counts.time is not None
    time, apart = done.counts.time
    flops, words, messages = done.counts.flops, done.counts.words, done.counts.messages
    assert apart == prices[0] * flops + prices[1] * words + prices[2] * messages
    assert time <= apart <= 3 * time
    assert f"{float(time / apart):.4g} times that of F, W and S" in " ".join(str(done).split())


def test_without_a_machine_there_is_no_time() -> None:
    done = al.load("distributed.matmul")["cannon"].run(n=8, g=2)
    assert (done.time, done.counts.time, done.view.timed) == (None, None, None)


def test_what_has_no_paths() -> None:
    with pytest.raises(ArchlineError) as refused:
        timed(al.load("dense.matmul")["matmul_basic"], n=4, m=4, p=4)
    assert refused.value.diagnostics[0].rule.code == "AL411"
    with pytest.raises(ArchlineError) as refused:
        timed(al.load("distributed.matmul")["cannon"], made(gamma_t=1), n=8, g=2)
    assert refused.value.diagnostics[0].rule.code == "AL458"
