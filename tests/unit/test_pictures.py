"""Pictures of machines and comparisons: their data against the papers' formulas by hand, and how they look."""

from __future__ import annotations

import csv
import json
import sys
from dataclasses import replace
from functools import cache
from io import StringIO
from itertools import combinations
from math import isclose, log2, sqrt
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

import archline as al
from archline.api import pictures
from archline.api.comparisons import Compared, compare
from archline.report.pictures import PictureView
from archline.report.pictures.comparison import make_view as compared_view
from cli_support import cli
from effort import long

NEEDS = "pictures need matplotlib (pip install 'archline[plots]')"
BASIC, CO, IKJ = (f"dense.matmul::matmul_{each}" for each in ("basic", "co", "ikj"))
XEON = "xeon-e5-2650l-v3"
CACHE = al.Cache(Z=3932160, L=8)
POINT = {"n": 4096, "m": 4096, "p": 4096}
# flop/s, B/s, J/flop, J/B, W: Tables II, III and IV of the roofline paper.
MACHINES = {
    "gtx-580@single": (1581.06e9, 192.4e9, 99.7e-12, 513e-12, 122.0),
    "gtx-580@double": (197.63e9, 192.4e9, 212e-12, 513e-12, 122.0),
    "i7-950@single": (106.56e9, 25.6e9, 371e-12, 795e-12, 122.0),
    "i7-950@double": (53.28e9, 25.6e9, 670e-12, 795e-12, 122.0),
    "fermi-keckler": (515e9, 144e9, 25e-12, 360e-12, 0.0),
}
GREENUPS = [
    ("gtx-580@double", 4), ("gtx-580@double", 0.5), ("gtx-580@single", 2), ("gtx-580@single", 16),
    ("i7-950@double", 1), ("i7-950@double", 8), ("fermi-keckler", 1), ("fermi-keckler", 8),
]  # fmt: skip


@cache
def swept(*targets: str) -> Compared:
    return compare(*targets, machine=XEON, sweep="n=m=p=1024..8192", cache=CACHE)


@cache
def at_a_point(
    *machines: str, model: str = "ice", by: str = "energy", targets: tuple[str, ...] = (BASIC, CO)
) -> Compared:
    return compare(*targets, machine=machines, at=POINT, cache=CACHE, model=model, by=by)


# Data
def balances(machine: str) -> tuple[float, float, float, float]:
    """B_tau, B_eps, eps_hat and eta, by (3) to (5)."""
    peak, bandwidth, eps_flop, eps_mem, pi0 = MACHINES[machine]
    eps_hat = eps_flop + pi0 / peak
    return peak / bandwidth, eps_mem / eps_flop, eps_hat, eps_flop / eps_hat


@pytest.mark.parametrize("machine", MACHINES)
def test_roofline_and_arch_line_are_those_of_the_paper(machine: str) -> None:
    b_tau, b_eps, _, eta = balances(machine)
    points = pictures.roofline(machine).points
    assert len(points) > 30
    for each in points:
        x = each["intensity"]
        b_hat = eta * b_eps + (1 - eta) * max(0, b_tau - x)
        assert isclose(each["roofline"], min(1, x / b_tau))
        assert isclose(each["arch line"], 1 / (1 + b_hat / x))
        peak, _, eps_flop, _, _ = MACHINES[machine]
        # (7), with pi_flop = eps_flop/tau_flop.
        power = eps_flop * peak / eta * (min(x, b_tau) / b_tau + b_hat / max(x, b_tau))
        assert isclose(each["power"], power)
        assert isclose(each["constant"] + each["memory"] + each["computation"], power)
        assert isclose(each["constant"], MACHINES[machine][4])
    marked = {each["at"]: each for each in points if each["at"]}
    assert isclose(marked["B_tau"]["intensity"], b_tau)
    assert isclose(marked["B_eps"]["intensity"], b_eps)
    assert isclose(marked["y = 1/2"]["arch line"], 0.5)
    assert min(each["intensity"] for each in points) < min(b_tau, b_eps) / 4
    assert max(each["intensity"] for each in points) > max(b_tau, b_eps) * 4


def test_power_is_the_greatest_at_the_time_balance() -> None:
    """Without constant power that of (8), pi_flop*(1 + B_eps/B_tau): 12.875 W + 360 pJ/B * 144 GB/s."""
    points = pictures.roofline("fermi-keckler").points
    most = max(points, key=lambda each: each["power"])
    assert isclose(most["power"], 25e-12 * 515e9 + 360e-12 * 144e9)
    assert most["at"] == "B_tau"
    assert isclose(next(each for each in points if each["at"] == "y = 1/2")["intensity"], 14.4)


def test_under_the_limit_a_run_takes_no_more_power() -> None:
    """The GTX 580 in single precision: 244 W bind from I = 1.2 on, and allow (244 - 122)/99.7 pJ flop/s at most."""
    peak, bandwidth, eps_flop, eps_mem, pi0 = MACHINES["gtx-580@single"]
    for each in pictures.roofline("gtx-580@single").points:
        x = each["intensity"]
        flops = min(peak, x * bandwidth, (244 - pi0) / (eps_flop + eps_mem / x))
        assert isclose(each["roofline under the limit"], flops / peak)
        assert (flops < min(peak, x * bandwidth)) == (each["power"] > 244)
        assert flops < 1224e9
    assert "roofline under the limit" not in pictures.roofline("i7-950").points[0]
    shown = str(pictures.roofline(al_machine("gtx-580", power_limit="100")))
    assert "nothing can run under it" in shown


def al_machine(name: str, **given: str) -> Any:
    from archline.energy.machine_files import machine
    from archline.energy.machines import read_parameter

    return machine(name).with_parameters({each: read_parameter(each, value) for each, value in given.items()})


def test_algorithms_are_at_their_intensity() -> None:
    """matmul_basic has 2nmp flops, and moves as many bytes as the derived bounds have."""
    size = {"n": 64, "m": 64, "p": 64}
    picture = pictures.roofline("gtx-580@double", BASIC, "roofline:W=6*n,Q=n", at=size, cache=al.Cache(Z=512, L=8))
    low, high = al.algorithm(BASIC).cost()["bytes"].at({**size, "Z": 512, "L": 8})
    found = {each["at"]: each["intensity"] for each in picture.points if each["at"]}
    assert isclose(found["matmul_basic, least"], 2 * 64**3 / high)
    assert isclose(found["matmul_basic, most"], 2 * 64**3 / low)
    assert isclose(found["roofline:W=6*n,Q=n"], 6)
    assert "Z = 512, L = 8" in str(picture)
    none = pictures.roofline("gtx-580", "dense.transpose::transpose", at={"n": 9, "m": 9})
    assert "transpose has no flops" in str(none)


def greenup_by_hand(machine: str, intensity: float, m: float) -> float:
    """The f below which f*W flops and Q/m bytes take less energy, from (2): E is piecewise linear in f."""
    peak, bandwidth, eps_flop, eps_mem, pi0 = MACHINES[machine]
    base = intensity * eps_flop + eps_mem + pi0 * max(intensity / peak, 1 / bandwidth)
    left = base - eps_mem / m
    return max(0, min(left / (eps_flop + pi0 / peak), (left - pi0 / bandwidth / m) / eps_flop) / intensity)


@pytest.mark.parametrize(("machine", "intensity"), GREENUPS)
def test_greenup_is_that_of_the_energies(machine: str, intensity: float) -> None:
    b_tau = balances(machine)[0]
    for each in pictures.greenup(machine, intensity).points:
        m = each["m"]
        # T = max(f*W*tau_flop, Q*tau_mem/m) < T(1, 1).
        fast = max(1, b_tau / intensity) if m > b_tau / max(intensity, b_tau) else 0
        assert isclose(each["f for speedup"], fast, rel_tol=1e-6)
        assert isclose(each["f for greenup"], greenup_by_hand(machine, intensity, m), rel_tol=1e-6, abs_tol=1e-9)


def test_greenup_by_the_papers_conditions() -> None:
    """Compute-bound before and after: f < 1 + (1 - 1/m)*eps_mem/(eps_hat*I); memory-bound: with eps_mem + pi0*tau_mem."""
    peak, bandwidth, eps_flop, eps_mem, pi0 = MACHINES["gtx-580@double"]
    for each in pictures.greenup("gtx-580@double", 8).points:
        if each["m"] >= 1:
            assert isclose(each["f for greenup"], 1 + (1 - 1 / each["m"]) * eps_mem / (eps_flop + pi0 / peak) / 8)
    for each in pictures.greenup("gtx-580@double", 1 / 64).points:
        if each["m"] >= 1 and each["f for greenup"] * each["m"] / 64 < peak / bandwidth:
            bound = 1 + (1 - 1 / each["m"]) * (eps_mem + pi0 / bandwidth) * 64 / eps_flop
            assert isclose(each["f for greenup"], bound)


def test_balance_is_that_of_table_1() -> None:
    picture = pictures.balance("fermi-c2050", (2010, 2025))
    assert [each["year"] for each in picture.points] == list(range(2010, 2026))
    for each in picture.points:
        years = each["year"] - 2010
        left = 1.03e12 * 2 ** (years / 1.7) / (144e9 * 2 ** (years / 2.8))
        words = 2.7e6 / 4 * 2 ** (years / 2.0) / (448 * 2 ** (years / 1.87))
        assert isclose(each["p*C0/beta in op/B"], left)
        assert isclose(each["p*C0/beta in op/word"], 4 * left)
        assert isclose(each["sqrt(Z/p)"], sqrt(words))
        assert isclose(each["log2(Z/p)"], log2(words))
    # log2 of either side of (5) is linear in the years: where they are equal.
    slope = 1 / 1.7 - 1 / 2.8 - (1 / 2.0 - 1 / 1.87) / 2
    root = log2(sqrt(2.7e6 / 4 / 448))
    as_printed, in_words = ((root - log2(each)) / slope for each in (1.03e12 / 144e9, 4 * 1.03e12 / 144e9))
    assert f"op/B passes sqrt(Z/p) in {2010 + as_printed:.1f}" in str(picture).replace("\n    ", " ")
    assert f"op/word passes sqrt(Z/p) in {2010 + in_words:.1f}" in str(picture).replace("\n    ", " ")
    assert len(pictures.balance("fermi-c2050").points) == 16


@long
def test_comparisons_draw_the_estimates() -> None:
    found = swept(BASIC, CO)
    shown = compared_view(found.result)
    assert {(each["size"], each["algorithm"]) for each in shown.points} == {
        (size, name) for size in (1024, 2048, 4096, 8192) for name in ("matmul_basic", "matmul_co")
    }
    for point in found.points:
        low, high = (each["lower ratio"] for each in shown.points if each["size"] == point.at["n"])
        assert low == 1
        assert isclose(high, 1 / point.verdict.ratio.upper)
        for name, estimate in zip(point.pair, (point.first, point.second), strict=True):
            (row,) = (each for each in shown.points if (each["size"], each["algorithm"]) == (point.at["n"], name))
            assert (row["lower"], row["upper"]) == (float(estimate.energy.lower), float(estimate.energy.upper))
    bars = compared_view(at_a_point(XEON, "xeon-phi-31s1p").result)
    assert [(each["algorithm"], each["machine"]) for each in bars.points] == [
        (name, machine) for machine in (XEON, "xeon-phi-31s1p") for name in ("matmul_basic", "matmul_co")
    ]


# The command
@pytest.mark.parametrize(
    "options",
    [
        ("--kind", "roofline", "--machine", "gtx-580@single"),
        ("--kind", "roofline", "--machine", "gtx-580", "roofline:W=6*n,Q=n+1", "--at", "n=9", "--cache", "Z=64,L=8"),
        ("--kind", "greenup", "--machine", "gtx-580", "--intensity", "1/3"),
        ("--kind", "balance", "--machine", "fermi-c2050", "--years", "2010..2012"),
    ],
)
def test_formats_show_the_same_points(options: tuple[str, ...]) -> None:
    document = json.loads(cli("plot", *options, "--format", "json").out)
    rows = list(csv.DictReader(StringIO(cli("plot", *options, "--format", "csv").out)))
    assert rows == [{name: str(value) for name, value in each.items()} for each in document["points"]]
    assert document["kind"] == options[1]
    text = cli("plot", *options).out
    assert text.startswith(document["title"])
    assert all(name in text for name in rows[0])


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (("--kind", "roofline"), "AL411"),
        (("--kind", "roofline", "--machine", "gtx-580", "--machine", "i7-950"), "AL411"),
        (("--kind", "roofline", "--machine", "gtx-580", "--intensity", "4"), "AL411"),
        (("--kind", "roofline", "--machine", "gtx-580", "--at", "n=4"), "AL411"),
        (("--kind", "roofline", "--machine", "gtx-580", "--cache", "Z=64,L=8"), "AL411"),
        (("--kind", "roofline", "--machine", "gtx-580", "--seed", "1"), "AL411"),
        (("--kind", "roofline", "--machine", "gtx-580", BASIC, "--at", "n=4,q=1"), "AL401"),
        (("--kind", "roofline", "--machine", "gtx-580", BASIC, "--at", "n=4"), "AL402"),
        (("--kind", "roofline", "--machine", "gtx-580", BASIC, "--at", "n=4,m=4,p=4", "--cache", "L=8"), "AL408"),
        (("--kind", "roofline", "--machine", XEON), "AL458"),
        (("--kind", "roofline", "--machine", "gtx-580", "--parameter", "eps_mem=0"), "AL458"),
        (("--kind", "greenup", "--machine", "gtx-580"), "AL411"),
        (("--kind", "greenup", "--machine", "gtx-580", "--intensity", "4", BASIC), "AL411"),
        (("--kind", "greenup", "--machine", "gtx-580", "--intensity", "4", "--years", "2010..2012"), "AL411"),
        (("--kind", "greenup", "--machine", XEON, "--intensity", "4"), "AL458"),
        (("--kind", "balance", "--machine", "fermi-c2050", "--plain"), "AL411"),
        (("--kind", "balance", "--machine", "fermi-c2050", "--years", "2012..2010"), "AL411"),
        (("--kind", "balance", "--machine", "gtx-580"), "AL458"),
        (("--kind", "balance", "--machine", "fermi-c2050", "--metric", "io"), "AL411"),
        (("--kind", "balance", "--machine", "fermi-c2050", "--out", "b.gif"), "AL418"),
        ((), "AL411"),
        ((BASIC, CO, "--at", "n=4,m=4,p=4"), "AL411"),
        ((BASIC, "--at", "n=4,m=4,p=4", "--machine", "gtx-580"), "AL411"),
        ((BASIC, "--at", "n=4,m=4,p=4", "--parameter", "pi0=1"), "AL411"),
    ],
)
def test_options_that_clash_are_refused(options: tuple[str, ...], code: str) -> None:
    assert cli("plot", *options).refused(code)


@pytest.mark.parametrize(("name", "value"), [("--intensity", each) for each in ("0", "0.0", "1/0", "-1", "1e9", "x")])
def test_wrong_numbers_are_refused(name: str, value: str) -> None:
    ran = cli("plot", "--kind", "greenup", "--machine", "gtx-580", f"{name}={value}")
    assert (ran.code, ran.out) == (2, "")
    with pytest.raises(al.ArchlineError, match="AL411"):
        pictures.greenup("gtx-580", float("nan"))


def test_a_machine_without_a_balance_is_refused() -> None:
    with pytest.raises(al.ArchlineError, match="AL458"):
        pictures.balance(replace(al_machine("gtx-580"), year=2011), (2011, 2015))


def test_without_matplotlib_the_extra_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in [each for each in sys.modules if each.startswith(("matplotlib", "archline.report.pictures.drawing"))]:
        monkeypatch.delitem(sys.modules, name)
    for name in ("matplotlib", "matplotlib.figure"):
        monkeypatch.setitem(sys.modules, name, None)
    options = ("plot", "--kind", "greenup", "--machine", "gtx-580", "--intensity", "4")
    assert cli(*options, "--out", str(tmp_path / "g.svg")).refused("AL417")
    assert cli(*options, "--format", "csv").code == 0
    assert pictures.greenup("gtx-580", 4)._repr_svg_() is None


# How they look
def formulas(*targets: str) -> PictureView:
    return compared_view(compare(*targets, machine="gtx-580", sweep="n=4..4096", model="roofline").result)


VIEWS = {
    **{f"roofline {name}": lambda name=name: pictures.roofline(name).view for name in MACHINES},
    "algorithms": lambda: pictures.roofline("gtx-580@double", BASIC, CO, at={"n": 99, "m": 99, "p": 99}).view,
    **{f"greenup {name} {i}": lambda name=name, i=i: pictures.greenup(name, i).view for name, i in GREENUPS},
    "balance": lambda: pictures.balance("fermi-c2050", (2010, 2025)).view,
    "two swept": lambda: compared_view(swept(BASIC, CO).result),
    "three swept": lambda: compared_view(swept(BASIC, CO, IKJ).result),
    "six swept": lambda: formulas(*(f"roofline:W={each}*n^3,Q=8*n^2*{each * (7 - each)}" for each in range(1, 7))),
    "three crossing": lambda: formulas("roofline:W=n^3,Q=n^2", "roofline:W=99*n^2,Q=n^2", "roofline:W=400*n,Q=n^2*4000"),
    "flat": lambda: formulas("roofline:W=9*n,Q=n", "roofline:W=8*n,Q=n", "roofline:W=7*n,Q=n"),
    "two on two machines": lambda: compared_view(at_a_point(XEON, "xeon-phi-31s1p").result),
    "three at a point": lambda: compared_view(at_a_point(XEON, targets=(BASIC, CO, IKJ)).result),
    "time": lambda: compared_view(at_a_point(XEON, by="time").result),
    "six": lambda: compared_view(at_a_point("gtx-580", "i7-950", "fermi-keckler", model="roofline").result),
}  # fmt: skip


@long
@pytest.mark.parametrize("name", VIEWS)
def test_no_text_lies_on_another_or_leaves_the_figure(name: str) -> None:
    pytest.importorskip("matplotlib", reason=NEEDS)
    from matplotlib.text import Text

    from archline.report.pictures.drawing import make_figure

    made = make_figure(VIEWS[name]())
    made.canvas.draw()
    renderer = made.canvas.get_renderer()
    boxes = {each: Text.get_window_extent(each, renderer) for each in in_sight(made)}
    assert len(boxes) > 10
    for one, other in combinations(boxes, 2):
        assert not boxes[one].overlaps(boxes[other]), (one, other)
    for text, box in boxes.items():
        assert made.bbox.x0 <= box.x0 < box.x1 <= made.bbox.x1, text
        assert made.bbox.y0 <= box.y0 < box.y1 <= made.bbox.y1, text
    for axes in made.axes:
        if axes.get_legend() is not None:
            assert not axes.bbox.overlaps(axes.get_legend().get_window_extent(renderer))


def in_sight(figure: Any) -> list[Any]:
    """The texts of a figure: titles, notes, legends, names and ticks of axes that are in view."""
    found = [*figure.texts, figure._suptitle, figure._supxlabel]
    every = [*figure.axes, *(child for axes in figure.axes for child in axes.child_axes)]
    for axes in every:
        ticks = [each for axis in (axes.xaxis, axes.yaxis) for each in axis._update_ticks()]
        labels = [label for each in ticks for label in (each.label1, each.label2)]
        found += [*axes.texts, axes.xaxis.label, axes.yaxis.label, *labels]
        found += [] if axes.get_legend() is None else axes.get_legend().get_texts()
    unlike = {id(each): each for each in found if each.get_visible() and each.get_text().strip()}
    return list(unlike.values())


def texts(path: Path) -> str:
    root = ElementTree.fromstring(path.read_text(encoding="utf-8"))
    return "\n".join(each.text or "" for each in root.iter() if each.tag.endswith("}text"))


@long
def test_an_svg_says_what_it_shows_and_is_the_same_again(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason=NEEDS)
    for options, said in {
        ("roofline", "--machine", "gtx-580@single"): ("(gtx-580@single)", "roofline (3)", "arch line (5)", "power (7)",
            "B_tau = 8.22 flop/B", "B_eps = 5.15 flop/B", "limit 244 W", "constant, at most 122 W", "intensity I = W/Q, flop/B"),
        ("greenup", "--machine", "gtx-580@double", "--intensity", "4"): ("section II-E", "speedup and greenup", "neither",
            "speedup, no greenup", "greenup, no speedup", "base, I = 4 flop/B"),
        ("balance", "--machine", "fermi-c2050"): ("left side of (5) and (6)", "right side of (5)", "2019.8", "2011.8"),
    }.items():  # fmt: skip
        for name in ("one.svg", "two.svg"):
            ran = cli("plot", "--kind", *options, "--out", str(tmp_path / name))
            assert (ran.code, ran.err) == (0, "")
            assert "model " in ran.out
        assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "two.svg").read_bytes()
        found = texts(tmp_path / "one.svg")
        assert all(each in found for each in said), found


@long
def test_compare_draws(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason=NEEDS)
    options = ("--machine", XEON, "--cache", "Z=3932160,L=8")
    ran = cli("compare", BASIC, CO, *options, "--sweep", "n=m=p=1024..8192", "--out", str(tmp_path / "c.svg"))
    assert ran.code == 0
    found = texts(tmp_path / "c.svg")
    assert "matmul_basic takes less up to 1996," in found
    assert "matmul_co from 2001 on" in found
    at_a_point(XEON, "xeon-phi-31s1p").save(tmp_path / "bars.svg")
    found = texts(tmp_path / "bars.svg")
    assert "times matmul_co: proved" in found
    assert "computation" in found
    (tmp_path / "bars.png").touch()
    at_a_point(XEON).save(tmp_path / "bars.png")
    assert (tmp_path / "bars.png").read_bytes().startswith(b"\x89PNG")


@long
def test_long_names_and_six_series_can_be_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason=NEEDS)
    formulas = [f"roofline:W={each}*n^3,Q=8*n^2*{each}" for each in range(1, 8)]
    compare(*formulas[:6], machine="gtx-580", sweep="n=4..4096", model="roofline").save(tmp_path / "c.svg")
    compare(*formulas[:2], machine="gtx-580", sweep="n=9..10 step 1", model="roofline").save(tmp_path / "c.svg")
    with pytest.raises(al.ArchlineError, match="AL418"):
        compare(*formulas, machine="gtx-580", sweep="n=4..64", model="roofline").save(tmp_path / "d.svg")
    with pytest.raises(al.ArchlineError, match="AL418"):
        compare(*formulas[:2]).save(tmp_path / "d.svg")
    assert not (tmp_path / "d.svg").exists()


def test_places_that_cannot_be_written(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason=NEEDS)
    (tmp_path / "folder.svg").mkdir()
    for name, code in {"missing/g.svg": "AL413", "folder.svg": "AL413", "g": "AL418", "g.jpg": "AL418"}.items():
        with pytest.raises(al.ArchlineError, match=code):
            pictures.greenup("gtx-580", 4).save(tmp_path / name)
    assert isinstance(pictures.greenup("gtx-580", 4).view, PictureView)
    assert pictures.greenup("gtx-580", 4)._repr_svg_().startswith("<?xml")
