"""Lower bounds on communication: their values by hand, what reports say, replicated input, and bad requests."""

from __future__ import annotations

import json
import math
from fractions import Fraction

import pytest

import archline as al
from archline.claims.communication_bounds import (
    derive_communication_bounds,
    find_library_problem,
    load_problem_tables,
    parse_problem,
)
from archline.language import syntax as s
from archline.language.diagnostics import ArchlineError
from cli_support import cli
from effort import long

PROGRAMS = """
use dense.matmul

algorithm ring(A: real[n, m], B: real[m, p], C: out real[n, p]) on grid(r: P):
    "C = A B by rows of A; each gathers all of B."
    where P divides n, P divides m
    let s = n/P
    let h = m/P
    local a: real[s, m] = A[r*s ..+ s, :]
    local mine: real[h, p] = B[r*h ..+ h, :]
    local b: real[m, p]
    allgather mine along r into b
    local c: real[s, p] = 0
    matmul_basic(a, b, c)
    output C[r*s ..+ s, :] = c

algorithm all_read(A: real[n, n], B: real[n, n], C: out real[n, n]) on grid(r: P):
    "C = A B by rows of A; each reads all of B."
    where P divides n
    let s = n/P
    local a: real[s, n] = A[r*s ..+ s, :]
    local b: real[n, n] = B
    local c: real[s, n] = 0
    matmul_basic(a, b, c)
    output C[r*s ..+ s, :] = c

algorithm dot(x: real[s, s], y: real[s, s], z: inout real[s, s]):
    for i in 0..s:
        for j in 0..s:
            local t: real = 0.0
            for k in 0..s:
                t += x[i, k]*y[k, j]
            z[i, j] += t

algorithm with_register(A: real[n, n], B: real[n, n], C: out real[n, n], g: size) on grid(i: g, j: g):
    where g divides n
    let b = n/g
    local x: real[b, b] = A[i*b ..+ b, j*b ..+ b]
    local y: real[b, b] = B[i*b ..+ b, j*b ..+ b]
    local z: real[b, b] = 0
    shift x along j by -i
    shift y along i by -j
    for t in 0..g:
        dot(x, y, z)
        shift x along j by -1
        shift y along i by -1
    output C[i*b ..+ b, j*b ..+ b] = z
"""

ALONE = """
use dense.matmul

algorithm alone(A: real[n, n], B: real[n, n], C: out real[n, n]) on grid(r: P):
    "One processor does all."
    if r == 0:
        local a: real[n, n]
        local b: real[n, n]
        local c: real[n, n] = 0
        input a = A
        input b = B
        matmul_basic(a, b, c)
        output C = c
"""


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    found = tmp_path_factory.mktemp("bounds") / "own.algo"
    found.write_text(PROGRAMS)
    return str(found)


def values(view):
    return {each.kind: None if each.value is None else tuple(map(float, each.value)) for each in view.bounds}


@long
def test_cannon_by_hand():
    """n = 12 on 3 by 3 processors with 3*16 words each: 2*12^3/(9*sqrt(48)) - 3*144/9 and 3*144/9^(2/3) - 3*144/9."""
    view = al.algorithm("distributed.matmul::cannon").cost().lower_bounds(n=12, g=3)
    found = values(view)
    assert found["memory-dependent"] == pytest.approx([2 * 1728 / (9 * math.sqrt(48)) - 48] * 2)
    assert found["memory-independent"] == pytest.approx([3 * 144 / 9 ** (2 / 3) - 48] * 2)
    assert view.words == (128, 128)
    # 51.8 words are more than the 48 that a message may have.
    assert view.least_messages == (2, 2)


def test_three_regimes_by_hand():
    """The matrices of Al Daas et al. (section 5): 9600 by 2400 by 600 has m/n = 4 and mn/k^2 = 64."""
    ring = al.loads(PROGRAMS)["ring"]
    m, n, k = 9600, 2400, 600
    held = m * n + m * k + n * k
    by_regime = {
        3: (m * n + m * k) / 3 + n * k,
        36: 2 * math.sqrt(m * n * k * k / 36) + m * n / 36,
        512: 3 * (m * n * k / 512) ** (2 / 3),
    }
    for sizes in ((m, n, k), (k, m, n), (n, k, m)):
        solved = parse_problem("matmul(n, m, p)", ring.sizes)
        bounds = derive_communication_bounds(ring.module, ring.node, solved)
        for processors, lead in by_regime.items():
            at = dict(zip("nmp", sizes, strict=True)) | {"P": processors}
            low, high = bounds.evaluate_bounds(at, None)["memory-independent"]
            assert float(low) <= float(high)
            assert float(low) == pytest.approx(lead - held / processors)


def test_two_levels_bound_the_words_of_a_core_between_nodes():
    """Nodes of h^2 cores as processors: a node moves 3*(n^2/N^(2/3) - n^2/N) words, a core 1/h^2 of it at least."""
    view = al.algorithm("distributed.matmul::matmul_two_level").cost().lower_bounds(n=24, g=3, h=2)
    nodes = 9
    found = values(view)
    assert found["memory-independent"][0] == pytest.approx(3 * (24**2 / nodes ** (2 / 3) - 24**2 / nodes) / 4)
    memory = 4 * 3 * 24**2 / 36
    assert found["memory-dependent"][0] == pytest.approx(
        (2 * 24**3 / (nodes * math.sqrt(memory)) - 3 * 24**2 / nodes) / 4
    )


@pytest.mark.parametrize("name", ["cannon", "matmul_two_level"])
def test_ratios_are_those_of_large_sizes(name):
    algorithm = al.algorithm(f"distributed.matmul::{name}")
    cost = algorithm.cost()
    near = {each.kind: each.near for each in cost.lower_bounds().bounds}
    g = 10**9
    at = {"n": 4 * g, "g": g} | ({"h": 2} if name == "matmul_two_level" else {})
    words = cost["words"].at(at)
    found = values(cost.lower_bounds(at))
    assert words / found["memory-dependent"][0] == pytest.approx(float(near["memory-dependent"].ratio), rel=0.01)
    # 0.667*g^(1/3)
    factor, _, rest = near["memory-independent"].ratio.partition("*")
    assert rest == "g^(1/3)"
    assert words / found["memory-independent"][0] == pytest.approx(float(factor) * g ** (1 / 3), rel=0.01)
    # 3 times n^2/P is more than 2*n^3/(P*sqrt(M)) up to g = 2, and less from g = 3 on.
    assert near["memory-dependent"].vacuous == "g <= 2"
    signs = [values(cost.lower_bounds({**at, "n": 12, "g": each}))["memory-dependent"][1] > 0 for each in (2, 3)]
    assert signs == [False, True]


def test_naive_transform_attains_its_bound_as_an_expression():
    found = al.algorithm("distributed.fft::fft_naive").cost().lower_bounds()
    assert [each.near.attained for each in found.bounds] == [True]


def test_registers_count_as_memory(path):
    """Two matrices as in Cannon's algorithm: M is 3*b^2 and the register in which products are summed."""
    algorithm = al.load(path)["with_register"]
    solved = parse_problem("matmul(n, n, n)", algorithm.sizes)
    bounds = derive_communication_bounds(algorithm.module, algorithm.node, solved)
    assert bounds.registers == 1
    low, _ = bounds.evaluate_bounds({"n": 16, "g": 8}, Fraction(12))["memory-dependent"]
    assert float(low) == pytest.approx(2 * 16**3 / (64 * math.sqrt(13)) - 3 * 16**2 / 64)


NAMES = """
algorithm named(A: real[M, M], B: real[M, M], C: out real[M, M], m: size, n: size) on grid(i: n, u: m within node):
    local x: real = 0.0
    if i == 0 and u == 0:
        output C[0, 0] = x
"""


def test_sizes_may_have_the_names_of_the_problem_and_of_its_letters():
    """M rows on n nodes of m cores: a core receives a node's share, (3*(M^2/n^(2/3) - M^2/n))/m."""
    algorithm = al.loads(NAMES)["named"]
    solved = parse_problem("matmul(M, M, M)", algorithm.sizes)
    bounds = derive_communication_bounds(algorithm.module, algorithm.node, solved)
    found = bounds.evaluate_bounds({"M": 24, "n": 8, "m": 2}, Fraction(99))
    assert found["memory-independent"] == (3 * (24**2 // 4 - 24**2 // 8) / 2,) * 2
    node = 2 * (99 + 1)
    assert float(found["memory-dependent"][0]) == pytest.approx((2 * 24**3 / (8 * math.sqrt(node)) - 3 * 24**2 / 8) / 2)
    assert bounds.letter == "memory"
    assert "sqrt(memory)" in bounds.bounds[0].cases[0].bound


@pytest.mark.parametrize("target", load_problem_tables()["algorithms"])
def test_every_algorithm_of_the_file_has_bounds(target):
    algorithm = al.algorithm(target)
    solved = find_library_problem(algorithm.node)
    bounds = derive_communication_bounds(algorithm.module, algorithm.node, solved).bounds
    assert bounds
    assert all(each.cases or each.growth for each in bounds)
    assert {name for value in solved.sizes.values() for name in s.find_names(value)} <= {*algorithm.sizes, "f"}


@long
def test_strassen_in_growth_beside_whatever_is_derived():
    shown = cli("cost", "distributed.matmul::caps_strassen").out
    assert "Omega(n^log2(7)/(P*M^(log2(7)/2 - 1)))" in shown
    assert "Omega(n^2/P^(2/log2(7)))" in shown


def test_first_page_of_cannon():
    shown = cli("cost", "distributed.matmul::cannon").out
    assert "lower bounds for any classical matrix product, P = g^2; M = memory" in shown
    assert ">= 2*n^3/(P*sqrt(M)) - 3*n^2/P" in shown
    assert ">= 3*n^2/P^(2/3) - 3*n^2/P" in shown
    assert "words tend to 1.73 times the" in shown
    assert "all processors perform the same number of products" in " ".join(shown.split())


@long
def test_first_page_at_sizes_says_what_is_vacuous():
    shown = cli("cost", "distributed.matmul::cannon", "--at", "n=12,g=2").out
    assert "with 108 words of memory on 4 processors" in shown
    assert "vacuous: at most 0" in shown
    one = cli("cost", "distributed.matmul::cannon", "--at", "n=12,g=1").out
    assert "on 1 processor" in one
    assert "attained" in one


def test_all_has_theorem_source_and_assumptions():
    shown = " ".join(cli("cost", "distributed.matmul::cannon", "--all").out.split())
    for text in (
        "Loomis-Whitney",
        "Al Daas, Ballard, Grigori, Kumar and Rouse, SPAA 2022",
        "assumes one copy of input",
    ):
        assert text in shown


@long
def test_json(path):
    target = f"{path}::ring"
    document = json.loads(
        cli("cost", target, "--problem", "matmul(n, m, p)", "--at", "n=64,m=8,p=4,P=8", "--format", "json").out
    )
    assert document["replicated_input"] is None
    found = document["communication_bounds"]
    assert found["words"] == {"at_least": "28", "vacuous": False, "factor": "1"}
    by_kind = {each["kind"]: each for each in found["bounds"]}
    assert by_kind["memory-independent"]["value"] == {"lower": "28", "upper": "28"}
    assert by_kind["memory-dependent"]["vacuous"]
    assert [each["when"] for each in by_kind["memory-independent"]["cases"]] == ["P <= a/b", "P <= a*b/c^2", ""]


@long
def test_input_that_several_read_is_said_and_has_no_bounds(path):
    target = f"{path}::all_read"
    shown = " ".join(cli("cost", target, "--problem", "matmul(n, n, n)").out.split())
    assert "replicated input: in a run at P = 2, n = 2 several processors read one element of the input" in shown
    assert "assume one copy, so none is given" in shown
    assert ">=" not in shown
    without = " ".join(cli("cost", target).out.split())
    assert "replicated input" in without
    document = json.loads(cli("cost", target, "--problem", "matmul(n, n, n)", "--format", "json").out)
    assert document["replicated_input"] == {"P": "2", "n": "2"}
    assert document["communication_bounds"]["bounds"] == []
    ran = " ".join(cli("run", target, "--at", "n=4,P=2").out.split())
    assert "replicated input" in ran
    alone = " ".join(cli("run", target, "--at", "n=4,P=1").out.split())
    assert "replicated input" not in alone


@long
def test_data_that_no_other_reads_is_not_replicated():
    assert al.algorithm("distributed.matmul::matmul_25d").cost().replicated is None
    assert al.algorithm("distributed.sparse::spmv_rows").cost().replicated is not None


@long
def test_runs_are_compared_with_the_bound_of_their_memory():
    run = al.algorithm("distributed.matmul::carma").run({"n": 8, "m": 8, "p": 8, "P": 8, "s": 8, "t": 8, "v": 8})
    assert run.lower_bounds.best == (24, 24)
    assert "words >= 24, attained (memory-independent)" in " ".join(str(run).split())


def test_energy_of_any_algorithm_by_hand():
    """E >= P*(gamma_e*F + beta_e*W + alpha_e*S + (delta_e*M + eps_e)*T) for the bounds on F, W and S."""
    n, g = 64, 16
    found = al.energy("distributed.matmul::cannon", machine="jaketown", model="linear", n=n, g=g)
    quantity = {name: float(value) for name, value in found.result.machine.values.items()}
    memory, processors = 3 * n**2 // g**2, g**2
    flops = (2 * n**3 - n**2) / processors
    words = max(
        2 * n**3 / (processors * math.sqrt(memory)) - 3 * n**2 / processors,
        3 * n**2 / processors ** (2 / 3) - 3 * n**2 / processors,
    )
    messages = words / memory
    time = quantity["gamma_t"] * flops + quantity["beta_t"] * words + quantity["alpha_t"] * messages
    energy = quantity["gamma_e"] * flops + quantity["beta_e"] * words + quantity["alpha_e"] * messages
    energy += (quantity["delta_e"] * memory + quantity["eps_e"]) * time
    assert float(found.lower_bound) == pytest.approx(processors * energy)
    assert found.lower_bound <= found.total
    assert "energy >= " in str(found)


def test_energy_has_no_bound_where_input_is_replicated(path):
    assert al.energy(f"{path}::all_read", machine="jaketown", model="linear", n=8, P=2).lower_bound is None


def test_scale_says_how_near_energy_is():
    ran = cli("scale", "distributed.matmul::cannon", "--machine", "jaketown", "--at", "n=64", "--vary", "g=2..8")
    shown = " ".join(ran.out.split())
    assert "of the lower bound for any classical matrix product with the same memory" in shown


@pytest.mark.parametrize(
    ("problem", "message"),
    [
        ("matmul(n, m)", "has 3 sizes, but 2 are given"),
        ("matmal(n, m, p)", "did you mean `matmul`"),
        ("matmul", "needs its sizes"),
        ("matmul(n, m, q)", "no size `q`"),
        ("fft()", "has 1 size, but 0 are given"),
    ],
)
def test_bad_problems(path, problem, message):
    found = cli("cost", f"{path}::ring", "--problem", problem)
    assert found.code == 2
    assert "AL419" in found.err
    assert message in found.err


def test_problems_are_for_grids():
    with pytest.raises(ArchlineError, match="not on a grid"):
        al.algorithm("dense.matmul::matmul_basic").cost(problem="matmul(n, m, p)")


def test_unequal_blocks_have_the_bound_of_the_busiest_processor():
    """7 by 50 by 9 on 4 by 4: the busiest has 2*3 sums of 50 products, 3150/300 = 10.5 times which all are.

    50 >= 9 >= 7, and 10.5 is more than 50*9/49 = 9.18, so that it is the third case, 3*300^(2/3) elements of it.
    """
    found = values(al.algorithm("distributed.matmul::cannon_unequal").cost().lower_bounds(n=7, m=50, p=9, g=4))
    expected = 10.5 / 16 * 3 * 300 ** (2 / 3) - (7 * 50 + 50 * 9 + 7 * 9) / 16
    assert found["memory-independent"][0] == pytest.approx(expected)


@long
def test_words_whose_form_is_long_are_compared_by_growth():
    """2.5D: n^2/(g*c) over n^2/(g^2*c)^(2/3) is (g/c)^(1/3), no more than P^(1/6) = (g^2*c)^(1/6)."""
    found = al.algorithm("distributed.matmul::matmul_25d").cost().lower_bounds()
    near = {each.kind: each.near for each in found.bounds}["memory-independent"]
    assert (near.factor, near.where) == ("P^(1/6)", "")


@long
def test_a_factor_is_no_smaller_than_what_large_sizes_need():
    """Without replication, c = 2 and g large, the ratio grows as g^(1/3): no constant, no logarithm."""
    cost = al.algorithm("distributed.matmul::matmul_25d").cost()
    ratios = []
    for g in (2**10, 2**20):
        at = {"n": 4 * g, "g": g, "c": 2}
        words = cost["words"].at(at)
        ratios.append(
            (words[0] if isinstance(words, tuple) else words) / values(cost.lower_bounds(at))["memory-independent"][1]
        )
    assert ratios[1] / ratios[0] > 2


@long
def test_every_format_has_the_bounds(path):
    target = "distributed.matmul::cannon"
    latex = cli("cost", target, "--format", "latex", "--all").out
    assert r"\mathit{words} \ge \frac{2\,n^{3}}{P\,\sqrt{M}} - \frac{3\,n^{2}}{P}" in latex
    assert r"\Omega\left(" in cli("cost", "distributed.matmul::caps_strassen", "--format", "latex", "--all").out
    assert "`words >= 3*n^2/P^(2/3) - 3*n^2/P`" in cli("cost", target, "--format", "markdown", "--all").out
    assert "`>= 3*n^2/P^(2/3) - 3*n^2/P`" in cli("cost", target, "--format", "markdown").out
    for form in ("latex", "markdown"):
        for more in ((), ("--all",)):
            assert "replicated input" in cli("cost", f"{path}::all_read", "--format", form, *more).out


def test_words_below_a_bound_show_that_its_assumptions_do_not_hold():
    cost = al.loads(ALONE)["alone"].cost(problem="matmul(n, n, n)")
    shown = " ".join(str(cost.lower_bounds(n=8, P=4)).split())
    assert "below the bound, whose assumptions do not hold" in shown
    # 3*64/4^(2/3) - 48 is more than nothing, which is what moves.
    assert values(cost.lower_bounds(n=8, P=4))["memory-independent"][0] == pytest.approx(3 * 64 / 4 ** (2 / 3) - 48)
    assert cost["words"].upper == 0
