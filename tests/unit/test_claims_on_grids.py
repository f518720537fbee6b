"""Claims on the costs of grids hold as the papers state them, and fail with another constant, power or logarithm."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import archline as al
from archline.algebra.polynomial import Poly
from archline.analysis.analyse import derive
from archline.api.algorithms import algorithm
from archline.api.modules import load, loads
from archline.certificates.check import check
from archline.language.extra_facts import add_where_facts
from archline.language.parser import parse_facts
from effort import long, some

STDLIB = Path(al.__file__).parents[2] / "stdlib" / "distributed"


def verdicts(module: str, name: str, claims: list[str], folder: Path) -> list[str]:
    """The outcomes of other claims on an algorithm of the library."""
    text = (STDLIB / f"{module}.algo").read_text(encoding="utf-8")
    start = text.index(f"algorithm {name}(")
    before = text[start:].split("    ensures ", 1)[0]
    rest = re.sub(r"^(    ensures .*\n(?:      .*\n)*)+", "", text[start + len(before) :])
    written = folder / f"{module}.algo"
    others = "".join(f"    ensures {each}\n" for each in claims)
    written.write_text(text[:start] + before + others + rest, encoding="utf-8")
    return [each.outcome for each in load(written)[name].report().ensures]


PUBLISHED = ["nbody::nbody_replicated", "nbody::nbody_two_level", "matmul::matmul_25d", "matmul::cannon_unequal",
             "matmul::summa", "fft::fft_naive", "fft::fft_bruck", "collectives::halve", "collectives::gatherv_naive"]  # fmt: skip


@long
@pytest.mark.parametrize("target", some(PUBLISHED[::-1]))
def test_claims_of_the_library_hold(target: str) -> None:
    found = algorithm(f"distributed.{target}").report().ensures
    assert {each.outcome for each in found} == {"holds"}
    assert all(str(check(proof.certificate)) == "accepted" for each in found for proof in each.proofs)


FALSE = {
    ("nbody", "nbody_replicated"): [
        "words == n + 1 when c == 1, P >= 2",
        "words == n when c == 1",
        "words == n/c + (5*c - 3)*n/P when c >= 2, c^2 < P",
        "words == n/c + (5*c - 4)*n/P when c >= 2",
        "words <= n/c + (5*c - 4)*n/P - 1 when c >= 2, c^2 < P",
        "words is Theta(n/c)",
        "words is Theta(n/c^2) when P >= 2",
        "words is O(n/P) when P >= 2",
        "words is Theta(n/c*log2(P)) when P >= 2",
        "messages == P/c^2 + 4*ceil(log2(c)) when c >= 2, c^2 < P",
        "messages == 2 + 4*ceil(log2(c)) when c >= 2, c^2 == P",
        "messages == P - 1 when c == 1, P >= 2",
        "memory is Theta(n/P)",
        "memory is Omega(c^2*n/P)",
    ],
    ("nbody", "nbody_two_level"): ["flops == f*n^2/P", "flops == (f + 2)*n^2/P"],
    ("matmul", "matmul_25d"): [
        "words is Theta(n^2/sqrt(P)) when g >= 2",
        "words is Theta(n^2/sqrt(c*P))",
        "messages is O(sqrt(P/c^3)) when g >= 2",
        "messages is Omega(sqrt(P/c) + log2(c)) when g >= 2",
        "memory is O(n^2/P^2)",
        "flops is O(n^2/P)",
    ],
    ("matmul", "cannon_unequal"): [
        "flops == 2*n*m*p/P",
        "words == g*ceil(m/g)*(ceil(n/g) + ceil(p/g))",
        "memory == ceil(n/g)*ceil(m/g) + ceil(m/g)*ceil(p/g) + floor(n/g)*ceil(p/g)",
    ],
    ("matmul", "summa"): ["memory == (n*m + m*p + n*p)/P + w*(n/h + p/g)"],
    ("fft", "fft_naive"): ["flops == 15*n*log2(P)/(2*P) + 11*n/P", "messages == P", "words == 2*n*(P - 1)/P"],
    ("sort", "samplesort"): ["messages is Theta(P)", "messages is Theta(log2(P)) when P >= 2"],
}


@long
@pytest.mark.parametrize(("target", "claims"), FALSE.items())
def test_false_claims_fail(target: tuple[str, str], claims: list[str], tmp_path: Path) -> None:
    assert dict(zip(claims, verdicts(*target, claims, tmp_path), strict=True)) == dict.fromkeys(claims, "fails")


UNDECIDED = {
    ("fft", "fft_bruck"): ["messages == P - 1", "messages == log2(P) + 1"],
    ("collectives", "halve"): ["messages == ceil(log2(P))", "messages == ceil(log2(P)) when w >= 1"],
    ("collectives", "gatherv_naive"): ["messages <= P - 2 when P >= 2", "messages == P - 1", "messages <= 1"],
    ("collectives", "alltoallv_naive"): ["messages <= 2*(P - 2) when P >= 3"],
    ("collectives", "broadcast_scatter_allgather"): ["messages == 2*ceil(log2(P)) when w >= P/2"],
    ("collectives", "allreduce_recursive_doubling"): ["words == w*log2(P) when P >= 2"],
}


@long
@pytest.mark.parametrize(("target", "claims"), some(list(UNDECIDED.items())))
def test_false_claims_are_not_taken_for_proved(target: tuple[str, str], claims: list[str], tmp_path: Path) -> None:
    assert "holds" not in verdicts(*target, claims, tmp_path)


REPLICATED = [(64, 16, 2), (64, 16, 4), (16, 4, 2), (162, 81, 3), (200, 100, 5), (50, 25, 5), (72, 36, 6)]


@long
@pytest.mark.parametrize(("n", "P", "c"), some(REPLICATED, len(REPLICATED)))
def test_the_longest_path_goes_on_with_another_processor(n: int, P: int, c: int) -> None:  # noqa: N803
    """A path through the root of the broadcast, then a processor that shifts; both bounds are what runs count."""
    subject = algorithm("distributed.nbody::nbody_replicated")
    ran = subject.run(n=n, P=P, c=c, f=1).counts
    where = f"c >= 2, c^2 {'<' if c * c < P else '=='} P"
    report = subject.report(where)
    for metric in ("words", "messages"):
        assert report[metric].at(n=n, P=P, c=c) == getattr(ran, metric)


UNEVEN = """
algorithm f(w: size) on grid(r: P):
    local x: real[w] = 0
    if r == 0:
        for k in 0..2*w:
            x[0] += 1.0
    {steps}
    if r == P - 1:
        for k in 0..3*w:
            x[0] += 1.0
"""
BACK = "exchange x to ((r + 1)%P) into x from ((r - 1)%P)"
WHOLE = "double(x, 0)"


@pytest.mark.parametrize(
    ("steps", "least"), [(BACK, 3), (WHOLE, 5)], ids=["one step reaches one processor", "a dissemination reaches all"]
)
def test_paths_change_processors_behind_disseminations_only(steps: str, least: int) -> None:
    """2*w flops of the first processor, then 3*w of the last: one path where the first reaches the last between."""
    subject = loads("use distributed.collectives\n" + UNEVEN.format(steps=steps))["f"]
    costs = derive(*add_where_facts(subject.module, subject.node, parse_facts("P divides w, P >= 3")))
    w = Poly.symbol("w")
    assert (costs["flops"].lower, costs["flops"].upper) == (w.scaled(least), w.scaled(5))
    assert [subject.run(w=w, P=P).counts.flops for w, P in ((8, 4), (10, 5), (12, 3))] == [
        least * 8,
        least * 10,
        least * 12,
    ]


def test_a_case_that_fails_names_its_sizes() -> None:
    text = """
algorithm f(w: size, g: size) on grid(i: g, j: P/g):
    where g divides P
    ensures words is Theta(w)
    local x: real[w] = 0
    shift x along i by 1
"""
    (verdict,) = loads(text)["f"].report().ensures
    assert verdict.outcome == "fails"


AT_LEAST_TWO = """
algorithm f(x: inout local real[s], g: size, h: size) on grid(i: g, j: h):
    where P >= 2, s >= 1
    ensures words is Theta(s)
    ensures words >= s
    ensures messages >= 1
    ensures messages >= 2
    shift x along i by 1
    shift x along j by 1
"""


def test_facts_on_processors_restrict_the_axes_whose_product_they_are() -> None:
    """Where P >= 2 one of the axes has two processors or more: one shift at least moves s words, not always two."""
    found = loads(AT_LEAST_TWO)["f"].report().ensures
    assert [each.outcome for each in found] == ["holds", "holds", "holds", "fails"]
    place = found[-1].point
    assert place["g"] * place["h"] >= 2


NO_SIZES = """
algorithm g(x: inout local real[s], k: index) on grid(i: P):
    where k >= 0
    ensures memory is Omega(s^5) when k == 0
    ensures memory == s when k == 0
    ensures words is Theta(s) when P >= 4, P <= 3
    shift x along i by k

algorithm h(x: inout local real[s]) on grid(i: P):
    ensures words is Omega(s)
    ensures words is Omega(s) when P >= 2
    broadcast x along i from 0 using tree
"""


def test_no_claim_holds_for_want_of_sizes() -> None:
    """No P is 4 at least and 3 at most; growth says nothing where k is 0; at P = 1 a tree sends nothing."""
    found = loads("use distributed.collectives" + NO_SIZES)
    outcomes = {name: [each.outcome for each in found[name].report().ensures] for name in "gh"}
    assert outcomes == {"g": ["unknown", "holds", "unknown"], "h": ["fails", "holds"]}
