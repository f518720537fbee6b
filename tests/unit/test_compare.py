"""Comparisons: verdicts of hand-made estimates, crossovers, growth, and `archline compare`."""

from __future__ import annotations

import csv
import io
import json
import math
import random
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import archline as al
from archline.certificates.check import check
from archline.compare.growth import decide_growth_relation
from archline.compare.verdicts import (
    DEPENDS,
    EXECUTED,
    OPEN,
    PROVED,
    QUANTITIES,
    THIN,
    Execution,
    decide_by_executions,
    judge_estimates,
)
from archline.energy.estimates import Estimate, estimate_amounts
from archline.energy.machines import Machine
from archline.energy.models import find_model
from archline.energy.sweeps import SizeSweep
from archline.expr.intervals import Interval
from archline.growth.growths import Growth
from archline.language.parser import parse_expression
from cli_support import Result, cli
from effort import drawn, long, some
from energy_support import made, refusal

F = Fraction
XEON = "xeon-e5-2650l-v3"
BASIC, CO, IJK = "dense.matmul::matmul_basic", "dense.matmul::matmul_co", "dense.matmul::matmul_ijk"
ICE = made(eps_op=2, pi_op=3, eps_io=5, pi_io=7, pi0=1)
ROOFLINE = made(tau_flop=1, tau_mem=2, eps_flop=3, eps_mem=5, pi0=7)


def ice(work: Any, io: Any, span: Any = 1, on: Machine = ICE, **more: Any) -> Estimate:
    return estimate_amounts(find_model("ice"), on, {"work": work, "io": io, "span": span, **more})


def roofline(flops: Any, traffic: Any) -> Estimate:
    return estimate_amounts(find_model("roofline"), ROOFLINE, {"flops": flops, "traffic": traffic})


def test_executions_decide_what_bounds_leave_open() -> None:
    verdict = judge_estimates(ice((10, 30), 2), ice(20, (4, 5)), "energy")
    less, more, tie = (Interval.of(F(each)) for each in ("0.5", "2", "1"))
    assert decide_by_executions(verdict, [], "memory") == verdict
    found = decide_by_executions(verdict, [Execution("random", less), Execution("rising", less)], "memory")
    assert (found.verdict, found.less, found.decides) == (EXECUTED, "A", "memory")
    assert found.reason == "with random; rising"
    assert not found.decided
    assert found.ratio == verdict.ratio
    assert decide_by_executions(verdict, [Execution("random", more)], "").less == "B"
    assert decide_by_executions(verdict, [Execution("random", tie)], "").less is None
    both = decide_by_executions(verdict, [Execution("random", less), Execution("rising", more)], "")
    assert (both.verdict, both.less) == (DEPENDS, None)
    assert "0.5 with random" in both.reason
    assert "2 with rising" in both.reason
    assert len(both.executions) == 2


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "AL411"), ("n", "AL411"), ("n=3", "AL411"), ("n=3..", "AL411"), ("=3..4", "AL411"), ("3..4", "AL411"),
        ("n=8..4", "AL411"), ("n=0..4", "AL411"), ("n=-3..4", "AL411"), ("n=1..9 step 0", "AL411"),
        ("n=1..9 step -1", "AL411"), ("n=1..5000 step 1", "AL411"), ("n=1..10^9 step 7", "AL411"),
        ("n=a..4", "AL404"), ("n=1..b", "AL404"), ("n=1.5..4", "AL404"), ("n=1..9 step k", "AL404"),
        ("n=1..2..3", "AL404"), ("n=1..2^(2^99)", "AL404"), ("n=1..sqrt(2)", "AL404"), ("n=1..9 step", "AL404"),
        ("n=1..__import__('os')", "AL404"),
    ],
)  # fmt: skip
def test_what_is_no_sweep(text: str, code: str) -> None:
    found = refusal(lambda: SizeSweep.read(text), code)
    assert found.hint


# The figures of the design note, on the Xeon with an assumed 30 MiB.
SWEEP = ["--sweep", "n=m=p=1024..8192", "--cache", "Z=3932160,L=8"]


@pytest.fixture(scope="module")
def xeon() -> dict[str, Any]:
    return document(cli("compare", BASIC, CO, "--machine", XEON, *SWEEP, "--format", "json"))


def document(ran: Result) -> dict[str, Any]:
    assert ran.code == 0, ran.err
    found: dict[str, Any] = json.loads(ran.out)
    return found


@long
def test_matrix_products_on_the_xeon(xeon: dict[str, Any]) -> None:
    by_size = {each["at"]["n"]: each for each in xeon["points"]}
    assert list(by_size) == ["1024", "2048", "4096", "8192"]
    small, large = by_size["1024"], by_size["8192"]
    assert (small["verdict"], small["less"]) == (THIN, "A")
    assert "flops instead of work" in small["reason"]
    assert round(float(F(small["ratio"]["upper"])), 3) == 0.979
    assert (large["verdict"], large["less"], large["decides"]) == (PROVED, "B", "memory")
    assert 2.26 <= float(F(large["ratio"]["lower"])) <= float(F(large["ratio"]["upper"])) < 2.27
    assert by_size["4096"]["less"] == by_size["2048"]["less"] == "B"
    (only,) = xeon["crossovers"]
    assert (only["from"], only["to"], only["variable"]) == (1996, 2001, "n=m=p")
    assert (only["less_before"], only["less_after"]) == ("matmul_basic", "matmul_co")
    text = cli("compare", BASIC, CO, "--machine", XEON, "--sweep", "n=m=p=1990..2005 step 15", *SWEEP[2:]).out
    assert "between 1996 and 2001" in text
    assert "matmul_basic takes less up to 1996, matmul_co from 2001 on" in " ".join(text.split())


@long
def test_the_ratio_is_that_of_the_energies(xeon: dict[str, Any]) -> None:
    for each in xeon["points"]:
        at = {name: int(value) for name, value in each["at"].items()}
        cache = al.Cache(3932160, 8)
        one, other = (al.energy(target, machine=XEON, at=at, cache=cache) for target in (BASIC, CO))
        values = [value if isinstance(value, tuple) else (value, value) for value in (one.total, other.total)]
        assert [(F(v["lower"]), F(v["upper"])) for v in each["values"]] == values
        (a, b), (c, d) = values
        assert (F(each["ratio"]["lower"]), F(each["ratio"]["upper"])) == (a / d, b / c)  # type: ignore[operator]


@pytest.mark.parametrize("n", [64, 200, 1000])
@pytest.mark.parametrize("words", some([256, 4096, 3932160], 3))
def test_transposes_are_decided(n: int, words: int) -> None:
    found = al.compare(
        "dense.transpose::transpose", "dense.transpose_recursive::transpose_co",
        machine=XEON, at={"n": n, "m": n}, cache=al.Cache(words, 8),
    )  # fmt: skip
    assert found.points[0].verdict.decided


# The command.
def test_the_document_of_a_comparison() -> None:
    found = document(
        cli(
            "compare",
            BASIC,
            CO,
            "--machine",
            XEON,
            "--machine",
            "gtx-580",
            "--at",
            "n=30,m=20,p=10",
            "--format",
            "json",
        )
    )
    assert (found["version"], found["algorithms"], found["model"]) == (2, ["matmul_basic", "matmul_co"], "ice")
    assert set(found["growth"]) >= {"flops", "work", "span", "io", "energy"}
    for each in found["growth"].values():
        assert each["relation"] in ("less", "same", "greater", "unknown")
        assert set(each) >= {"relation", "ratio"}
    assert [each["machine"] for each in found["points"]] == [XEON, "gtx-580@double"]
    for each in found["points"]:
        assert set(each) >= {"at", "machine", "model", "ratio", "less", "verdict", "decides"}
        assert each["at"] == {"n": "30", "m": "20", "p": "10"}
        assert each["verdict"] in (PROVED, THIN, DEPENDS, EXECUTED, OPEN)
        assert each["less"] in ("A", "B", None)
        F(each["ratio"]["lower"])
    assert found["crossovers"] == []
    assert found["cache"]["assumed"] is True
    assert [*found["caches"].values()] == [found["cache"]] * 2


@long
def test_three_algorithms_make_three_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "140")
    arguments = ["compare", BASIC, CO, IJK, "--machine", XEON, "--at", "n=30,m=20,p=10"]
    found = document(cli(*arguments, "--format", "json"))
    pairs = [["matmul_basic", "matmul_co"], ["matmul_basic", "matmul_ijk"], ["matmul_co", "matmul_ijk"]]
    assert [each["pair"] for each in found["points"]] == pairs
    assert [each["algorithms"] for each in found["pairs"]] == pairs
    text = cli(*arguments).out
    assert all(" / ".join(pair) in text for pair in pairs)
    rows = list(csv.DictReader(io.StringIO(cli(*arguments, "--format", "csv").out)))
    assert [[row["first"], row["second"]] for row in rows] == pairs
    for row, each in zip(rows, found["points"], strict=True):
        assert row["verdict"] == each["verdict"]
        assert row["less"] == {"A": row["first"], "B": row["second"], None: ""}[each["less"]]
        assert float(row["ratio_upper"]) == float(F(each["ratio"]["upper"]))
    # The span of ijk is its work.
    assert found["points"][1]["less"] == "A"


def test_formulas_are_compared() -> None:
    found = document(
        cli("compare", "ice:work=n^2,span=n,io=0", "ice:work=9*n,span=n,io=0", "--machine", XEON, "--sweep", "n=2..1000",
            "--format", "json")
    )  # fmt: skip
    (only,) = found["crossovers"]
    assert (only["from"], only["to"]) == (8, 10)
    assert found["growth"]["work"]["relation"] == "greater"
    assert found["growth"]["energy"]["relation"] == "greater"
    equal = al.compare("ice:work=n^2,span=n,io=0", "ice:work=9*n,span=n,io=0", machine=XEON, at={"n": 9})
    assert equal.points[0].verdict.reason == "equal"


@long
@pytest.mark.parametrize("by", QUANTITIES)
def test_each_quantity_is_compared(by: str) -> None:
    arguments = ["compare", BASIC, IJK, "--machine", "gtx-580", "--machine", XEON, "--by", by, "--at", "n=30,m=20,p=10"]
    known, lacking = document(cli(*arguments, "--format", "json"))["points"]
    one, other = (al.energy(target, machine="gtx-580", at={"n": 30, "m": 20, "p": 10}) for target in (BASIC, IJK))
    name = {"energy": "total"}.get(by, by)
    # Rows of 20 and of 10 words are 3 and 2 lines of 64 B; A and B are read once, C is read and written back.
    bytes_ = 64 * (30 * 3 + 20 * 2 + 2 * 30 * 2)
    amounts = [bytes_, bytes_] if by == "bytes" else [getattr(one, name), getattr(other, name)]
    values = [each if isinstance(each, tuple) else (each, each) for each in amounts]
    assert [(F(v["lower"]), F(v["upper"])) for v in known["values"]] == values
    # Where the static power is not known the ratio is, and numbers of it are not.
    assert lacking["ratio"] is not None
    assert (lacking["values"] == [None, None]) == (by not in ("energy", "bytes"))


@long
def test_without_an_energy_times_are_compared(tmp_path: Path) -> None:
    sheet = "".join(
        f'[quantity.{name}]\nvalue = "{value}"\nunit = "{unit}"\nkind = "peak"\nsource = "data sheet"\n'
        for name, value, unit in [("peak", "100", "Gflop/s"), ("bandwidth", "10", "GB/s"), ("word", "8", "B/word")]
    )
    (tmp_path / "mine.toml").write_text('title = "Mine"\n' + sheet)
    mine = ["--machine", str(tmp_path / "mine.toml")]
    command = ["compare", BASIC, IJK, "--model", "roofline", "--at", "n=30,m=20,p=10"]
    ran = cli(*command, *mine)
    assert ran.out.startswith("time(matmul_basic)/time(matmul_ijk), model roofline, Mine")
    assert ran.out.count("by time: machine `mine` lacks `eps_flop` (J/flop), `eps_mem` (J/B), `pi0` (W)") == 1
    assert document(cli(*command, *mine, "--format", "json"))["by"] == "time"
    # Another machine that has one does not change it; what is asked for is what is answered.
    assert document(cli(*command, *mine, "--machine", "gtx-580", "--format", "json"))["by"] == "time"
    assert document(cli(*command, "--machine", "gtx-580", "--format", "json"))["by"] == "energy"
    asked = cli(*command, *mine, "--by", "energy")
    assert asked.out.startswith("energy(")
    assert "by time" not in asked.out
    # A model that needs an energy says which others the machine can feed.
    refused = cli("energy", BASIC, *mine, "--at", "n=30,m=20,p=10", "--model", "ice")
    assert refused.refused("AL458")
    assert "or use --model roofline, for which the machine has all quantities" in refused.err
    assert "has all quantities" not in cli("energy", "ice:work=9,span=1,io=1", *mine).err


@long
def test_processors_stand_in_each_row() -> None:
    grids = ["compare", "distributed.matmul::cannon", "distributed.matmul::summa", "--machine", "jaketown"]
    at = ["--sweep", "n=m=p=64..128", "--at", "g=4,h=2,w=4"]
    rows = [line.split() for line in cli(*grids, *at).out.splitlines()[2:5]]
    assert [row[:4] for row in rows[1:]] == [[n, "16", "/", "8"] for n in ("64", "128")]
    assert rows[0][:6] == ["n", "=", "m", "=", "p", "P"]
    assert [each["processors"] for each in document(cli(*grids, *at, "--format", "json"))["points"]] == [
        ["16", "8"]
    ] * 2
    lines = list(csv.DictReader(io.StringIO(cli(*grids, *at, "--format", "csv").out)))
    assert [(float(each["first_P"]), float(each["second_P"])) for each in lines] == [(16, 8)] * 2
    # Where the sizes say it, it is said once; programs of shared memory have none.
    both = [f"linear:F=n/P,W=n/P,S={messages}" for messages in (1, 2)]
    assert cli("compare", *both, "--machine", "jaketown", "--at", "n=64,P=4").out.count("P = 4") == 1
    assert cli("compare", *both, "--machine", "jaketown", "--at", "n=64", "--sweep", "P=4..8").out.count(" P ") == 1
    assert " P " not in cli("compare", BASIC, IJK, "--machine", XEON, "--at", "n=3,m=3,p=3").out


def test_what_is_refused() -> None:
    on = ["--machine", XEON]
    assert cli("compare", BASIC).refused("AL411")
    assert cli("compare", BASIC, CO, "--at", "n=3,m=3,p=3").refused("AL411")
    assert cli("compare", BASIC, CO, *on, "--at", "n=3,m=3,p=3,k=1").refused("AL401")
    assert cli("compare", BASIC, CO, *on, "--sweep", "k=3..9").refused("AL401")
    assert cli("compare", BASIC, CO, *on, "--at", "n=3").refused("AL402")
    assert cli("compare", BASIC, CO, *on, "--sweep", "n=9..3").refused("AL411")
    several = cli("compare", BASIC, CO, *on, "--sweep", "n=64..256,T=10..40")
    assert several.refused("AL411")
    assert "hint: sweep `n=64..256`, and give the others by `--at T=10`" in several.err
    assert cli("compare", BASIC, CO, *on, "--model", "icy", "--at", "n=3").refused("AL459")
    assert cli("compare", BASIC, CO, *on, "--model", "roofline", "--at", "n=3,m=3,p=3").refused("AL458")
    assert cli("compare", BASIC, CO, "--where", "k >= 3").refused("AL401")
    assert cli("compare", BASIC, "dense.matmul::matmul_bsic").refused("AL211")
    refusal(lambda: al.compare(BASIC, CO, machine=XEON, by="beauty"), "AL411")


def test_sizes_that_one_of_them_has_are_enough() -> None:
    found = document(
        cli(
            "compare",
            "dense.gemv::gemv",
            "scan.reduce::sum",
            "--machine",
            XEON,
            "--at",
            "n=30,m=20",
            "--format",
            "json",
        )
    )
    assert found["points"][0]["at"] == {"n": "30", "m": "20"}
    assert found["points"][0]["less"] == "B"


@long
def test_without_sizes_growth_alone_is_compared() -> None:
    found = document(cli("compare", BASIC, CO, "--format", "json"))
    assert (found["points"], found["crossovers"], found["cache"]) == ([], [], None)
    assert found == document(cli("compare", BASIC, CO, "--machine", XEON, "--format", "json"))
    rows = list(csv.DictReader(io.StringIO(cli("compare", BASIC, CO, "--format", "csv").out)))
    assert {row["quantity"]: row["relation"] for row in rows} == {
        name: each["relation"] for name, each in found["growth"].items()
    }
    assert "higher order" in cli("compare", BASIC, CO).out


# Growth.
KNOWN = [
    ("sparse.csr::spmv_csr", "sparse.csc::spmv_csc", {"flops": "same", "work": "unknown", "io": "unknown"}),
    ("sparse.csc::spmv_csc", "sparse.csb::spmv_csb", {"flops": "same", "work": "unknown"}),
    (BASIC, CO, {"flops": "same", "work": "same", "span": "greater", "energy": "same"}),
    (BASIC, IJK, {"flops": "same", "work": "same", "span": "less", "energy": "same", "energy.static": "less"}),
    ("sort.mergesort::mergesort", "sort.mergesort::mergesort_parallel", {"work": "same", "span": "greater"}),
    ("scan.reduce::sum", "scan.recursive::sum_tree", {"work": "same", "span": "greater"}),
    ("dense.gemv::gemv", "scan.reduce::sum", {"work": "greater"}),
    ("dense.transpose::transpose", "dense.transpose_recursive::transpose_co", {"work": "same", "span": "same"}),
    ("sort.insertion_sort::insertion_sort", "sort.mergesort::mergesort", {"work": "unknown", "energy": "unknown"}),
]


@pytest.mark.parametrize(("first", "second", "known"), some(KNOWN), ids=some([f"{a} {b}" for a, b, _ in KNOWN]))
def test_growth_that_is_known(first: str, second: str, known: dict[str, str]) -> None:
    found = al.compare(first, second).growth
    assert {name: found[name].relation for name in known} == known
    mirrored = al.compare(second, first).growth
    turned = {"less": "greater", "greater": "less", "same": "same", "unknown": "unknown"}
    assert {name: each.relation for name, each in mirrored.items()} == {
        name: turned[each.relation] for name, each in found.items()
    }


PROVEN = [each for each in KNOWN if each[0] != "sort.insertion_sort::insertion_sort"]


@pytest.mark.parametrize(
    ("first", "second"), some([each[:2] for each in PROVEN]), ids=some([f"{a} {b}" for a, b, _ in PROVEN])
)
def test_growth_is_proved_by_certificates(first: str, second: str) -> None:
    found = document(cli("compare", first, second, "--certificates", "--format", "json"))
    checked = 0
    for name, each in found["growth"].items():
        certificates = each["certificates"]
        for certificate in certificates:
            assert check(certificate).accepted, name
            checked += 1
        if each["relation"] == "same" and each["first"] != "0":
            assert len(certificates) == 2
        if each["relation"] in ("less", "greater") and each["first"] != "0" != each["second"]:
            assert certificates
    assert checked or found["growth"]["work"]["relation"] == "unknown"


Term = tuple[int, int, int]


def written(terms: list[Term]) -> str:
    """A sum of n^(a/2)*log2(n)^b*m^c."""
    return " + ".join(f"n^({a}/2)*log2(n)^{b}*m^{c}" for a, b, c in terms)


def magnitude(terms: list[Term], n: int, m: int) -> float:
    """The binary logarithm of its value at n = 2^n, m = 2^m."""
    each = [a * n / 2 + b * math.log2(n) + c * m for a, b, c in terms]
    return max(each) + math.log2(sum(2 ** (one - max(each)) for one in each))


@long
def test_relations_agree_with_numbers() -> None:
    """Against values at sizes from 2^100 to 2^100000: never less where the ratio grows, never same where it moves."""
    source = random.Random(5)
    sizes = [(n, m) for n in (100, 10**3, 10**5) for m in (0, 7, 100, 10**3, 10**5, 10**7)]
    counts = dict.fromkeys(("less", "same", "greater", "unknown"), 0)
    for _ in range(300):
        f, g = (
            [(source.randint(0, 3), source.randint(0, 2), source.randint(0, 2)) for _ in range(source.randint(1, 3))]
            for _ in range(2)
        )
        if source.random() < 0.3:
            g = [*f, f[0]]
            source.shuffle(g)
        one, other = (Growth(expr, expr) for expr in map(parse_expression, map(written, (f, g))))
        found = decide_growth_relation(one, other)
        counts[found.relation] += 1
        ratios = [magnitude(f, n, m) - magnitude(g, n, m) for n, m in sizes]
        match found.relation:
            case "less":
                assert max(ratios) <= 2
                assert min(ratios) < -5
            case "greater":
                assert min(ratios) >= -2
                assert max(ratios) > 5
            case "same":
                assert max(map(abs, ratios)) <= 2
            case _:
                # Where both are sums of known order, nothing decides only if the ratio goes both ways.
                assert max(ratios) > 2 or found.bound != ""
                if found.bound == "incomparable":
                    assert max(ratios) > 2
                    assert min(ratios) < -2
    assert all(count > 15 for count in counts.values())


COUNTED = """algorithm least(x: real[n], y: inout real[n], n: size, m: size):
    for i in 0..n:
        for j in 0..min(i, {c}*m):
            y[i] += x[j]

algorithm guarded(x: real[n], y: inout real[n], n: size, m: size):
    for k in 0..n:
        for j in 0..n:
            if j < k and j < {c}*m:
                y[k] {op}= x[j]
"""


@long
@given(st.integers(1, 3), st.sampled_from("+-*"), st.integers(1, 9), st.integers(1, 5))
@settings(max_examples=drawn(8, 2), deadline=None)
def test_exact_forms_that_are_equal_are_equal_in_growth(c: int, op: str, n: int, m: int) -> None:
    """Two ways to count one sum: `equal` where runs count the same, whatever growth says of a form that may be 0."""
    module = al.loads(COUNTED.format(c=c, op=op))
    found = al.compare(module["least"], module["guarded"]).growth
    assert (found["flops"].relation, found["flops"].ratio) == ("same", "1")
    assert found["work"].ratio != "1"
    data = {"x": [1.0] * n, "y": [1.0] * n, "n": n, "m": m}
    counts = [module[name].run(**data).counts.flops for name in ("least", "guarded")]
    assert counts[0] == counts[1]


# Executions.
def test_a_verdict_that_depends_on_the_data() -> None:
    found = document(
        cli("compare", "sort.insertion_sort::insertion_sort", "sort.mergesort::mergesort", "--machine", XEON, "--at", "n=120",
            "--execute", "--format", "json")
    )  # fmt: skip
    (only,) = found["points"]
    assert (only["verdict"], only["less"]) == (DEPENDS, None)
    ratios = {each["data"]: F(each["ratio"]["lower"]) for each in only["executions"]}
    # Insertion sort is quick on rising keys, slow on falling ones.
    assert ratios["rising data"] < 1 < ratios["falling data"]
    for each in ratios.values():
        assert F(only["ratio"]["lower"]) <= each <= F(only["ratio"]["upper"])
    without = al.compare(
        "sort.insertion_sort::insertion_sort", "sort.mergesort::mergesort", machine=XEON, at={"n": 120}
    ).points[0]
    assert without.verdict.verdict == OPEN


def test_what_bounds_decide_is_not_executed() -> None:
    found = al.compare(BASIC, IJK, machine=XEON, at={"n": 30, "m": 20, "p": 10}, execute=True).points[0]
    assert found.verdict.decided
    assert found.verdict.executions == ()


def test_runs_that_would_take_too_long_are_not_made() -> None:
    found = al.compare(
        "sort.insertion_sort::insertion_sort", "sort.mergesort::mergesort",
        machine=XEON, at={"n": 10**7}, execute=True,
    ).points[0]  # fmt: skip
    assert found.verdict.verdict == OPEN
    assert "not executed" in found.verdict.reason


def test_formulas_are_not_executed() -> None:
    target = "ice:work=n*log2(n),span=n,io=n"
    found = al.compare(target, "sort.insertion_sort::insertion_sort", machine=XEON, at={"n": 64}, execute=True).points[
        0
    ]
    assert found.verdict.verdict == OPEN
    assert found.verdict.executions == ()
