"""`archline energy`: its formats, what its inputs rest on, and that symbols and numbers agree."""

from __future__ import annotations

import csv
import io
import json
import random
from fractions import Fraction
from math import ceil
from pathlib import Path
from typing import Any

import pytest

import archline as al
from archline.api import running
from archline.cli.main import main
from archline.expr.intervals import Interval
from archline.expr.values import evaluate
from archline.language.parser import parse_expression
from cli_support import cli
from effort import long

F = Fraction
MACHINE = "xeon-e5-2650l-v3"
FORMATS = ("text", "json", "csv", "latex", "markdown")
MATRICES = Path(__file__).parents[1] / "data" / "matrices"
BASIC, CO, GEMV, SUM = ("dense.matmul::matmul_basic", "dense.matmul::matmul_co", "dense.gemv::gemv", "scan.reduce::sum")


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    assert main([*arguments, "--format", "json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def results(*arguments: str) -> list[dict[str, Any]]:
    """The results of `archline energy`."""
    ran = cli("energy", *arguments, "--format", "json")
    assert ran.code == 0, ran.err
    document = json.loads(ran.out)
    assert document["version"] == 2
    found: list[dict[str, Any]] = document["results"]
    return found


def result(*arguments: str) -> dict[str, Any]:
    (only,) = results(*arguments)
    return only


def ends(found: dict[str, str]) -> tuple[Fraction, Fraction]:
    return F(found["lower"]), F(found["upper"])


# JSON.
def test_the_document_by_hand() -> None:
    """A linear program of numbers that can be done in the head."""
    parameters = [
        "gamma_t=1",
        "beta_t=2",
        "alpha_t=3",
        "gamma_e=5",
        "beta_e=7",
        "alpha_e=11",
        "delta_e=1/2",
        "eps_e=13",
    ]
    given = [part for each in parameters for part in ("--parameter", each)]
    target = "linear:F=n,W=4,S=2,M=6,P=3"
    found = result(target, "--machine", "jaketown", *given, "--at", "n=10")
    assert (found["algorithm"], found["machine"], found["model"]) == (target, "jaketown", "linear")
    assert found["at"] == {"n": "10"}
    assert found["time"] == {"lower": "24", "upper": "24", "unit": "s"}
    assert {name: found["energy"][name] for name in ("lower", "upper", "unit")} == {
        "lower": "1452", "upper": "1452", "unit": "J",
    }  # fmt: skip
    assert {name: each["lower"] for name, each in found["energy"]["terms"].items()} == {
        "computation": "150", "bandwidth": "84", "latency": "66", "memory": "216", "leakage": "936",
    }  # fmt: skip
    assert found["energy"]["terms"]["memory"]["formula"] == "P*delta_e*memory*time"
    assert found["power"] == {"lower": "121/2", "upper": "121/2", "unit": "W"}
    assert found["flops_per_joule"] == {"lower": "5/242", "upper": "5/242", "unit": "flop/J"}
    assert found["energy_delay"] == {"lower": "34848", "upper": "34848", "unit": "J*s"}
    # Of 10 flops on each of 3 processors.
    assert found["binds"] == "computation"
    assert found["inputs"]["flops"] == {"lower": "10", "upper": "10", "from": "declared"}
    assert {each["from"] for each in found["inputs"].values()} == {"declared"}
    assert sorted(found["inputs"]) == ["P", "flops", "memory", "messages", "words"]


CONTRACT = {
    "algorithm",
    "machine",
    "model",
    "at",
    "time",
    "energy",
    "power",
    "flops_per_joule",
    "binds",
    "expression",
    "inputs",
}


@pytest.mark.parametrize("name", ["ice", "roofline", "roofline+cap", "roofline+cache", "linear", "linear+overlap"])
def test_numbers_are_exact_and_follow_from_the_inputs(name: str) -> None:
    given = {"power_limit": "300 W"} if "cap" in name else {}
    more = [part for key, value in given.items() for part in ("--parameter", f"{key}={value}")]
    for found in results(
        BASIC, "sort.mergesort::mergesort", "--machine", "gtx-580", "--model", name, "--at", "n=17,m=6,p=9", *more
    ):
        assert found.keys() >= CONTRACT
        assert (found["machine"], found["model"]) == ("gtx-580@double", name)
        terms = found["energy"]["terms"]
        for end in (0, 1):
            assert ends(found["energy"])[end] == sum(ends(each)[end] for each in terms.values())
        assert all(set(each) == {"formula", "lower", "upper"} for each in terms.values())
        assert all(each["from"] in ("derived", "given") for each in found["inputs"].values())
        low, high = ends(found["energy"])
        # Energy and time are those of the same misses, and flops and energy those of the same flops.
        flops, time = ends(found["inputs"]["flops"]), ends(found["time"])
        for key, (top, bottom) in {"power": ((low, high), time), "flops_per_joule": (flops, (low, high))}.items():
            least, most = ends(found[key])
            assert top[0] / bottom[1] <= least <= most <= top[1] / bottom[0]
        assert [found[key]["unit"] for key in ("time", "energy", "power", "flops_per_joule")] == [
            "s",
            "J",
            "W",
            "flop/J",
        ]
        same = al.energy(
            BASIC if found["algorithm"] == "matmul_basic" else "sort.mergesort::mergesort",
            machine="gtx-580", model=name, parameters=given,
            at={key: int(value) for key, value in found["at"].items()},
        )  # fmt: skip
        assert same.total == (low if low == high else (low, high))


# Several targets, machines and formats.
@long
@pytest.mark.parametrize("at", [["--at", "n=17,m=6,p=9"], []])
@pytest.mark.parametrize("form", FORMATS)
def test_several_targets_on_several_machines(form: str, at: list[str]) -> None:
    ran = cli("energy", BASIC, CO, "--machine", MACHINE, "--machine", "gtx-580", *at, "--format", form)
    assert (ran.code, ran.err) == (0, "")
    for name in ("matmul_basic", "matmul_co"):
        assert name in ran.out
    if not at or form == "markdown":
        # Each in full, in the order of targets.
        assert (
            ran.out.index("matmul_basic on") < ran.out.index("matmul_co on") if form in ("text", "markdown") else True
        )


def test_numbers_beyond_floating_point_are_printed() -> None:
    target = "roofline:W=n^2,Q=7"
    for form in FORMATS:
        ran = cli("energy", target, "--machine", "gtx-580", "--at", "n=10^300", "--format", form)
        assert (ran.code, ran.err) == (0, "")
    csv_text = cli("energy", target, "--machine", "gtx-580", "--at", "n=10^300", "--format", "csv").out
    row = next(csv.DictReader(io.StringIO(csv_text)))
    # 212 pJ for each of 10^600 flops.
    assert row["computation_upper"] == "2.1200000000000000e+590"


# In symbols.
SYMBOLIC = [
    (BASIC, "ice"), (CO, "ice"), (BASIC, "linear"), (BASIC, "roofline"), (GEMV, "roofline+cache"),
    ("sort.insertion_sort::insertion_sort", "ice"), ("sort.mergesort::mergesort", "linear"),
    ("sparse.csr::spmv_csr", "roofline"), ("dense.matmul::matmul_blocked", "ice"), ("dense.transpose::transpose", "linear+overlap"),
    ("ice:work=3*n^3,span=n + log2(n),io=n^3/(L*sqrt(Z))", "ice"),
]  # fmt: skip


@long
@pytest.mark.parametrize(("target", "name"), SYMBOLIC, ids=[f"{t} {m}" for t, m in SYMBOLIC])
def test_bounds_in_symbols_hold_at_sizes(target: str, name: str) -> None:
    """At random sizes the symbolic bounds, evaluated by the language, contain the numeric ones."""
    source = random.Random(target)
    symbols = result(target, "--machine", "gtx-580", "--model", name)
    assert symbols["at"] is None
    names = sorted(set(al.algorithm(target).cost().names.sizes) if "=" not in target else {"n"})
    for _ in range(3):
        at: dict[str, int] = {each: source.randint(1, 60) for each in names}
        if "nz" in at:
            at["nr"] = min(at["nr"], at["nz"], at["m"])
            at["n"] = at["nz"] // at["nr"] + 1
        line = source.choice([1, 2, 8])
        words = line * source.randint(3, 100)
        settings = ",".join(f"{key}={value}" for key, value in at.items())
        found = result(
            target, "--machine", "gtx-580", "--model", name, "--at", settings, "--cache", f"Z={words},L={line}"
        )
        point = {**at, "Z": words, "L": line}
        pairs = [(symbols["energy"], found["energy"]), (symbols["time"], found["time"])]
        pairs += [(each, found["energy"]["terms"][key]) for key, each in symbols["energy"]["terms"].items()]
        for text, numbers in pairs:
            low, high = (_value(text[end], point) for end in ("lower", "upper"))
            assert low[0] <= F(numbers["lower"]) <= F(numbers["upper"]) <= high[1]
        for key, each in symbols["metrics"].items():
            low, high = (_value(each[end], point) for end in ("lower", "upper"))
            if key in found["inputs"]:
                assert low[0] <= F(found["inputs"][key]["lower"]) <= F(found["inputs"][key]["upper"]) <= high[1]
            for regime in each["regimes"]:
                condition = parse_expression(
                    f"max(0, {regime['when'].partition(' >= ')[0]} - ({regime['when'].partition(' >= ')[2]}) + 1)"
                )
                if " and " not in regime["when"] and _number(evaluate(condition, point))[0] > 0:
                    assert F(found["inputs"][key]["upper"]) <= _value(regime["upper"], point)[1]


def _value(text: str, point: dict[str, int]) -> tuple[Fraction, Fraction]:
    return _number(evaluate(parse_expression(text), point))


def _number(value: Any) -> tuple[Fraction, Fraction]:
    return (value.lower, value.upper) if isinstance(value, Interval) else (F(value), F(value))


# What the inputs rest on.
UPDATES = """algorithm main(A: real[n, n], x: inout real[n], y: inout real[n]):
    y[:] = 1.0
    for i in 0..n:
        for j in 0..n:
            x[i] min= A[i, j]
            y[i] *= 2.0
            y[i] = y[i] + A[j, i]
    y[:] = x
"""


def test_accesses_are_counted_as_runs_count_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An update reads and writes its target: n + 8*n^2 + 2*n of this program."""
    path = tmp_path / "updates.algo"
    path.write_text(UPDATES)
    found = result(str(path), "--machine", "gtx-580", "--model", "roofline+cache", "--at", "n=5")
    assert ends(found["inputs"]["accesses"]) == (5 + 8 * 25 + 10, 5 + 8 * 25 + 10)
    assert printed(capsys, "run", str(path), "--at", "n=5")["counts"]["accesses"] == 215


def test_accesses_that_cannot_be_followed_are_unknown(tmp_path: Path) -> None:
    path = tmp_path / "declared.algo"
    path.write_text(
        "extern far(a: real) -> real costs 3 flops, 5 io\n\nalgorithm main(x: inout real[n]):\n"
        "    for i in 0..n:\n        x[i] = far(x[i])\n"
    )
    assert cli("energy", str(path), "--machine", "gtx-580", "--model", "roofline+cache").refused("AL414")


COUNTED = [
    (BASIC, "n=12,m=7,p=9"), ("sort.mergesort::mergesort", "n=37"), ("sort.insertion_sort::insertion_sort", "n=23"),
    (CO, "n=12,m=7,p=9"), (GEMV, "n=20,m=20"), ("sparse.csr::spmv_csr", "n=6,m=9,nz=31,nr=9"),
]  # fmt: skip


@long
@pytest.mark.parametrize(("target", "at"), COUNTED, ids=[t for t, _ in COUNTED])
@pytest.mark.parametrize("name", ["ice", "roofline+cache", "linear"])
def test_measured_inputs_are_those_of_a_run(
    target: str, at: str, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    common = ["--at", at, "--cache", "Z=64,L=8", "--seed", "3"]
    (found,) = printed(capsys, "energy", target, "--machine", "gtx-580", "--model", name, "--measured", *common)[
        "results"
    ]
    counts = printed(capsys, "run", target, *common)["counts"]
    kinds = {name: each["from"] for name, each in found["inputs"].items()}
    assert {each for metric, each in kinds.items() if metric not in ("Z", "L")} == {"executed"}
    for metric, each in found["inputs"].items():
        if metric not in ("Z", "L"):
            assert each["lower"] == each["upper"] == str(counts[metric])
    # Each of them lies within the derived bounds.
    (derived,) = printed(capsys, "energy", target, "--machine", "gtx-580", "--model", name, *common)["results"]
    for metric, each in derived["inputs"].items():
        if metric in found["inputs"] and metric not in ("Z", "L"):
            assert F(each["lower"]) <= F(found["inputs"][metric]["lower"]) <= F(each["upper"])


@pytest.mark.parametrize("name", ["west0479.mtx", "arc130.mtx"])
def test_a_matrix_is_run(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(MATRICES / name)
    (found,) = printed(capsys, "energy", "sparse.csr::spmv_csr", "--machine", MACHINE, "--matrix", path)["results"]
    run = printed(capsys, "run", "sparse.csr::spmv_csr", "--matrix", path)
    assert name in found["data"]
    low, high = ends(found["inputs"]["io"])
    assert low <= run["counts"]["io"] <= high
    more = ["--matrix", path, "--measured"]
    (measured,) = printed(capsys, "energy", "sparse.csr::spmv_csr", "--machine", MACHINE, *more)["results"]
    for metric in ("work", "span", "io", "flops"):
        assert measured["inputs"][metric] == {
            "lower": str(run["counts"][metric]), "upper": str(run["counts"][metric]), "from": "executed",
        }  # fmt: skip


# Processors.
@pytest.mark.parametrize("procs", [1, 3, 24, 10**6])
def test_processors_bound_the_span_by_brent(procs: int) -> None:
    """Between max(span, work/P) and span + work/P; the misses of P caches are at most P times those of one."""
    at = ["--at", "n=24,m=7,p=9", "--cache", "Z=64,L=8"]
    one = result(BASIC, "--machine", MACHINE, *at)["inputs"]
    many = result(BASIC, "--machine", MACHINE, *at, "--procs", str(procs))
    work, span = F(one["work"]["lower"]), F(one["span"]["lower"])
    low, high = ends(many["inputs"]["span"])
    assert max(span, ceil(work / procs)) == low
    assert low <= high <= span + work / procs
    assert many["processors"] == procs
    assert ends(many["inputs"]["io"])[1] <= procs * ends(one["io"])[1]
    assert ends(many["inputs"]["io"])[1] >= ends(one["io"])[0]


def test_processors_of_other_models() -> None:
    at = ["--at", "n=24,m=7,p=9"]
    assert cli("energy", BASIC, "--machine", "gtx-580", "--model", "roofline", *at, "--procs", "2").refused("AL411")
    assert cli("energy", BASIC, "--machine", "gtx-580", "--model", "linear", *at, "--procs", "2").refused("AL411")
    assert cli("energy", "ice:work=n,span=1,io=1", "--machine", MACHINE, "--at", "n=9", "--procs", "2").refused("AL411")
    body = "linear:F=n^2/P,W=n,S=1,M=n"
    found = result(body, "--machine", "jaketown", "--at", "n=12", "--procs", "3")
    assert found["inputs"]["P"]["lower"] == "3"
    assert found["inputs"]["flops"]["lower"] == "48"
    assert found == {**result(body, "--machine", "jaketown", "--at", "n=12,P=3"), "at": found["at"], "processors": 3}
    few, many = (
        result(BASIC, "--machine", "fermi-c2050", "--model", "balance", *at, "--procs", procs) for procs in ("2", "4")
    )
    # (1): (D + W/p)/C0 with twice the cores.
    work, span = (F(few["inputs"][name]["lower"]) for name in ("work", "span"))
    ratio = (span + work / 2) / (span + work / 4)
    if few["binds"] == many["binds"] == "computation":
        assert F(few["time"]["lower"]) / F(many["time"]["lower"]) == ratio
    balances = [F(each["figures"]["machine balance"]["lower"]) for each in (few, many)]
    assert balances == [2 * F("1.03e12") / 448 / 36 / 10**9, 4 * F("1.03e12") / 448 / 36 / 10**9]


# Parameters.
def test_parameters_have_units_and_move_what_follows() -> None:
    at = ["--machine", "gtx-580", "--model", "roofline", "--at", "n=24,m=7,p=9"]
    plain = result(BASIC, *at)
    by_base = result(BASIC, *at, "--parameter", "eps_flop=0.000000000424")
    by_unit = result(BASIC, *at, "--parameter", "eps_flop=424 pJ/flop")
    assert by_base["energy"] == by_unit["energy"]
    terms = [each["energy"]["terms"]["computation"]["lower"] for each in (plain, by_unit)]
    assert F(terms[1]) == 2 * F(terms[0])
    # tau_flop follows from the peak, and a time balance from both.
    half = result(BASIC, *at, "--parameter", "peak=98.815 Gflop/s")
    assert F(half["figures"]["time balance"]["lower"]) * 2 == F(plain["figures"]["time balance"]["lower"])
    # All that is given is written in the document's expressions.
    static = ["--machine", MACHINE, "--at", "n=9", "--parameter", "pi0=30 W", SUM]
    assert result(*static)["time"]["unit"] == "s"


@pytest.mark.parametrize(
    "given",
    ["eps_flop", "eps_flop=", "eps_flop=n", "eps_flop=-1", "eps_flop=3 pJ/B", "eps_flop=3 parsec", "eps_flip=3",
     "eps_flop=1e9999999", "eps_flop=sqrt(2)", "=3", "flops=3", "eps_flop=3 pJ/flop more", "eps_flop=1/0"],
)  # fmt: skip
def test_wrong_parameters(given: str) -> None:
    assert cli("energy", SUM, "--machine", "gtx-580", "--at", "n=9", "--parameter", given).refused("AL465")


def test_parameters_given_twice_or_missing() -> None:
    twice = ["--parameter", "pi0=3", "--parameter", "pi0=3"]
    assert cli("energy", SUM, "--machine", "gtx-580", "--at", "n=9", *twice).refused("AL465")
    ran = cli("energy", SUM, "--machine", MACHINE, "--model", "roofline", "--at", "n=9")
    assert ran.refused("AL458")
    assert "--parameter bandwidth=... --parameter peak=..." in ran.err
    ran = cli(
        "energy",
        SUM,
        "--machine",
        "gtx-580",
        "--model",
        "roofline+cap",
        "--at",
        "n=9",
        "--parameter",
        "power_limit=100",
    )
    assert ran.refused("AL458")


# The cache.
def test_the_cache_is_said_to_be_assumed() -> None:
    assumed = result(SUM, "--machine", MACHINE, "--at", "n=99")
    assert assumed["cache"] == {"Z": 32768, "L": 8, "policy": "optimal", "assumed": True}
    text = cli("energy", SUM, "--machine", MACHINE, "--at", "n=99").out
    assert "Z = 32768, L = 8 (assumed)" in text
    chosen = cli("energy", SUM, "--machine", MACHINE, "--at", "n=99", "--cache", "Z=32768,L=8").out
    assert "Z = 32768, L = 8" in chosen
    assert "(assumed)" not in chosen
    # Formulas that name no cache have none.
    assert result("ice:work=n,span=1,io=1", "--machine", MACHINE, "--at", "n=9")["cache"] is None
    assert result("ice:work=n,span=1,io=n/L", "--machine", MACHINE, "--at", "n=9")["cache"]["assumed"] is True


@pytest.mark.parametrize(
    "command", [["run"], ["energy", "--machine", MACHINE], ["energy", "--machine", MACHINE, "--measured"]]
)
def test_the_cache_may_be_given_among_the_sizes(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    name, *options = command
    target = BASIC
    one = printed(capsys, name, target, *options, "--at", "n=20,m=20,p=20,Z=64,L=8")
    other = printed(capsys, name, target, *options, "--at", "n=20,m=20,p=20", "--cache", "Z=64,L=8")
    one, other = (each["results"][0] if name == "energy" else each for each in (one, other))
    assert one["cache"] == other["cache"]
    assert one["cache"]["Z"] == 64
    for key in ("counts", "energy", "inputs"):
        assert one.get(key) == other.get(key)


@pytest.mark.parametrize(
    "arguments",
    [
        ["run", SUM, "--at", "n=9,Z=64"],
        ["run", SUM, "--at", "n=9,Z=4,L=8"],
        ["run", SUM, "--at", "n=9,Z=64,L=8", "--cache", "Z=64,L=8"],
        ["cost", SUM, "--at", "n=9,Z=4,L=8"],
        ["energy", SUM, "--machine", MACHINE, "--at", "n=9,L=8"],
        ["energy", SUM, "--machine", MACHINE, "--at", "n=9", "--cache", "Z=4,L=8"],
        ["energy", SUM, "--machine", MACHINE, "--at", "n=9", "--cache", "Z=64"],
        ["energy", "ice:work=n,span=1,io=n/L", "--machine", MACHINE, "--at", "n=9,Z=4,L=8"],
    ],
)
def test_a_cache_that_cannot_be_is_refused(arguments: list[str]) -> None:
    ran = cli(*arguments)
    if arguments[1].startswith("ice:"):
        # Z is not one of its sizes.
        assert ran.code == 2 or "L = 8" in ran.out
        return
    assert ran.refused("AL408")


# Wrong sizes and names.
def test_wrong_sizes_and_names() -> None:
    assert cli("energy", SUM, "--machine", MACHINE, "--at", "k=9").refused("AL401")
    assert cli("energy", SUM, GEMV, "--machine", MACHINE, "--at", "n=9,m=3,k=9").refused("AL401")
    assert cli("energy", SUM, "--machine", MACHINE, "--at", "n=0.5").refused("AL404", "AL405")
    assert cli("energy", SUM, "--machine", MACHINE, "--at", "n=-1").refused("AL406")
    assert cli("energy", SUM, "--machine", MACHINE, "--at", "n=9,n=9").refused("AL403")
    assert cli("energy", GEMV, "--machine", MACHINE, "--at", "n=9").refused("AL402")
    assert cli("energy", SUM, "--machine", "xeon", "--at", "n=9").refused("AL450")
    assert cli("energy", SUM, "--machine", "gtx-580@half", "--at", "n=9").refused("AL464")
    assert cli("energy", SUM, "--machine", MACHINE, "--model", "icy", "--at", "n=9").refused("AL459")
    assert cli("energy", SUM, "--machine", MACHINE, "--at", "n=9", "--block", "3").refused("AL411")
    assert cli("energy", SUM, "--machine", MACHINE, "--at", "n=9", "--where", "k >= 3").refused("AL401")


# Several processors of a run.
@pytest.mark.parametrize("schedule", ["static", "chunked:2"])
def test_io_of_several_caches_is_within_its_bound(schedule: str, capsys: pytest.CaptureFixture[str]) -> None:
    at = ["--at", "n=24,m=24,p=24", "--cache", "Z=128,L=8", "--procs", "3", "--schedule", schedule]
    document = printed(capsys, "run", BASIC, *at)
    derived = document["derived"]["io"]
    assert int(derived["lower"]) <= document["counts"]["io"] <= int(derived["upper"])
    one = al.algorithm(BASIC).cost().io.at(n=24, m=24, p=24, Z=128, L=8)
    assert isinstance(one, tuple)
    assert int(derived["upper"]) == 3 * one[1]


@pytest.mark.parametrize("more", [["--procs", "3", "--schedule", "stealing"], ["--policy", "lru"]])
def test_what_is_not_derived_says_why(more: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    at = ["--at", "n=24,m=24,p=24", "--cache", "Z=128,L=8"]
    document = printed(capsys, "run", BASIC, *at, *more)
    assert "io" not in document["derived"]
    assert document["unchecked"]["io"].startswith("the derived bounds assume")


def test_latex_tells_closed_forms_from_values(capsys: pytest.CaptureFixture[str]) -> None:
    """At sizes bounds are nearer than their closed forms: none is set equal to a value."""
    at = ["--at", "n=64,m=64,p=64", "--cache", "Z=1024,L=8"]
    assert main(["cost", BASIC, *at, "--all", "--format", "latex"]) == 0
    found = capsys.readouterr().out.partition(r"\text{io} ")[2]
    assert r"\text{where } Z \ge L\,\left(m + 2\right)" in found
    assert "& = &" not in found
    lower, upper = al.algorithm(BASIC).cost().io.at(n=64, m=64, p=64, Z=1024, L=8)  # type: ignore[misc]
    assert rf"\text{{io}} & {lower} & {upper}" in found


def test_p_of_at_is_the_number_of_processors_where_no_formula_holds_it() -> None:
    """Four processors of 1000 flops and one word each, by (2); nothing is said of P = 1."""
    energy = al.energy("linear:F=n,W=1,S=1,M=1", machine="jaketown", at={"n": 1000, "P": 4})
    assert energy.result.converted == {}
    q = energy.result.machine.values
    time = 1000 * q["gamma_t"] + q["beta_t"] + q["alpha_t"]
    one = 1000 * q["gamma_e"] + q["beta_e"] + q["alpha_e"] + q["delta_e"] * time + q["eps_e"] * time
    assert energy.total == 4 * one
    assert energy.flops_per_joule == 4 * 1000 / (4 * one)


def test_measured_inputs_need_no_values_of_derived_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """The values of derived bounds take far longer than runs, and a measured energy has none of them."""
    monkeypatch.setattr(running, "evaluate_costs", lambda *_: pytest.fail("bounds are evaluated"))
    result = al.energy("dense.gemv::gemv", machine="bobcat-e2-1800", n=9, m=7, measured=True).result
    assert {each.origin for each in result.inputs.values()} == {"executed"}
