"""io against Z: the points against bounds and runs by themselves, pictures against their formats' readers."""

from __future__ import annotations

import csv
import json
import sys
from dataclasses import replace
from io import BytesIO, StringIO
from pathlib import Path
from xml.etree import ElementTree

import pytest

import archline as al
from archline.api import plots
from archline.api.plots import IoPlot
from archline.report.pictures.io import IoPoint, select_labelled_regimes
from cli_support import cli, process
from effort import long, some

MATMUL, AT = "dense.matmul::matmul_basic", "n=12,m=10,p=9"
SIZES = {"n": 12, "m": 10, "p": 9}
UNKNOWN = """
algorithm main(y: inout real[n], m: size):
    for i in 0..n:
        for k in 0..m^n:
            atomic y[i] += 1.0
"""
CASES = [
    (MATMUL, SIZES, 4),
    (MATMUL, SIZES, 3),
    ("dense.trmm::trmm", {"n": 7, "m": 9}, 2),
    ("stencil.jacobi_2d::jacobi_2d", {"n": 9, "m": 20, "steps": 2}, 8),
    ("dense.transpose_recursive::transpose_co", {"n": 40, "m": 30}, 8),
    ("sparse.csr::spmv_csr", {"n": 20, "m": 30, "nz": 60, "nr": 7}, 4),
    ("scan.reduce::sum", {"n": 20}, 4),
    ("string.lcs::lcs", {"n": 12, "m": 9}, 1),
]


@pytest.fixture(scope="module")
def drawn() -> IoPlot:
    pytest.importorskip("matplotlib", reason="pictures need matplotlib (pip install 'archline[plots]')")
    return al.plot_io(al.algorithm(MATMUL), SIZES, L=4)


@pytest.mark.parametrize(("target", "sizes", "line"), some(CASES, 3))
def test_points_lie_between_the_bounds_and_are_those_of_single_calls(
    target: str, sizes: dict[str, int], line: int
) -> None:
    algorithm = al.algorithm(target)
    plot = al.plot_io(algorithm, sizes, L=line)
    report = algorithm.cost()
    words = [each.words for each in plot.points]
    assert plot.view.skipped is None
    assert plot.outside == ()
    assert words == sorted(set(words))
    assert words[0] == line
    for each in plot.points:
        assert each.lower <= each.simulated <= each.upper
    for each in plot.points[::4]:
        assert bounds(report, {**sizes, "Z": each.words, "L": line}) == (each.lower, each.upper)
    simulated = [each.simulated for each in plot.points]
    assert simulated == sorted(simulated, reverse=True)
    # At the right everything fits: the lines are fetched once, and more words change nothing.
    assert bounds(report, {**sizes, "Z": 10**9, "L": line}) == (plot.points[-1].lower, plot.points[-1].upper)


def bounds(report: al.CostReport, point: dict[str, int]) -> tuple[object, object]:
    value = report.io.at(point)
    return value if isinstance(value, tuple) else (value, value)


@pytest.mark.parametrize("words", [4, 8, 64, 128])
def test_simulated_points_are_those_of_runs(words: int) -> None:
    plot = al.plot_io(al.algorithm(MATMUL), SIZES, L=4)
    (point,) = [each for each in plot.points if each.words == words]
    ran = cli("run", MATMUL, "--at", AT, "--cache", f"Z={words},L=4", "--format", "json")
    assert json.loads(ran.out)["counts"]["io"] == point.simulated
    derived = json.loads(ran.out)["derived"]["io"]
    assert derived == {"lower": str(point.lower), "upper": str(point.upper)}


def test_regimes_begin_where_they_first_hold() -> None:
    """docs/explanation/cache-upper-bounds.md's table for matmul_basic: Z >= L*(m + 2) and so on, at m = 10, p = 9, L = 4."""
    plot = al.plot_io(al.algorithm(MATMUL), SIZES, L=4)
    starts = {each.when: each.words for each in plot.view.regimes}
    assert starts == {
        "Z >= L": 4,
        "Z >= 2*L": 8,
        "Z >= 3*L": 12,
        "Z >= L*(ceil(m/L) + 2)": 4 * (3 + 2),
        "Z >= L*(m + 2)": 4 * (10 + 2),
        "Z >= L*(m + ceil(m/L) + 1)": 4 * (10 + 3 + 1),
        "Z >= L*(m*ceil(p/L) + ceil(m/L) + 1)": 4 * (10 * 3 + 3 + 1),
    }
    words = {each.words for each in plot.points}
    assert all({start, start - 4} - {0} <= words for start in starts.values())


def test_regimes_that_fetch_no_less_are_left_out() -> None:
    """At m = 1: 3np, 2np + 3n, then with 3 lines the least of 2np + 3n, np + n + 3n, 3n + np + 3n and 3n + n + 3n."""
    plot = al.plot_io(al.algorithm(MATMUL), n=12, m=1, p=9, L=4)
    assert {each.when: each.words for each in plot.view.regimes} == {
        "Z >= L": 4,
        "Z >= 2*L": 8,
        "Z >= L*(m + ceil(m/L) + 1)": 12,
        "Z >= L*(m*ceil(p/L) + ceil(m/L) + 1)": 4 * (3 + 1 + 1),
    }


def test_facts_of_the_cache_limit_the_points() -> None:
    plot = al.plot_io(al.algorithm(MATMUL).assuming("Z >= L^2"), SIZES, L=4)
    assert plot.points[0].words == 16
    refused = cli("plot", MATMUL, "--at", AT, "--where", "Z < L")
    assert refused.refused("AL407")


@long
def test_a_long_run_is_left_out_with_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = cli("plot", MATMUL, "--at", "n=10^6,m=10^6,p=10^6", "--format", "json")
    document = json.loads(shown.out)
    assert shown.code == 0
    # 3nmp + np + n + 1 work.
    assert f"a run takes up to {3 * 10**18 + 10**12 + 10**6 + 1} work" in document["skipped"]
    assert all(each["simulated"] is None for each in document["points"])
    assert all(int(each["lower"]) <= int(each["upper"]) for each in document["points"])
    monkeypatch.setattr(plots, "MAX_PLAIN_WORK", 3)
    assert "above 3" in cli("plot", "scan.reduce::sum", "--at", "n=9", "--plain").out


def test_formats_show_the_same_points() -> None:
    options = ("plot", MATMUL, "--at", AT, "--cache", "L=4")
    plot = al.plot_io(al.algorithm(MATMUL), SIZES, L=4)
    document = json.loads(cli(*options, "--format", "json").out)
    rows = list(csv.DictReader(StringIO(cli(*options, "--format", "csv").out)))
    assert document["points"] == rows
    assert [{name: int(value) for name, value in row.items()} for row in rows] == [
        {"Z": each.words, "lower": each.lower, "simulated": each.simulated, "upper": each.upper} for each in plot.points
    ]
    assert document["at"] == {name: str(size) for name, size in SIZES.items()}
    assert document["L"] == 4
    table = [line.split() for line in cli(*options).out.splitlines()]
    assert all([row[name] for name in ("Z", "lower", "simulated", "upper")] in table for row in rows)


@long
def test_an_svg_shows_what_was_computed(drawn: IoPlot, tmp_path: Path) -> None:
    drawn.save(tmp_path / "io.svg")
    root = ElementTree.fromstring((tmp_path / "io.svg").read_text(encoding="utf-8"))
    assert root.tag.endswith("}svg")
    texts = [each.text for each in root.iter() if each.tag.endswith("}text")]
    assert "io of matmul_basic at n = 12, m = 10, p = 9, L = 4" in texts
    assert {"upper bound", "lower bound", "simulated, optimal replacement", "io, lines fetched"} <= set(texts)
    numbers = [each for text in texts if text and set(text) <= set("123456789, ") for each in text.split(", ")]
    assert [each for each in numbers if each in set("123456789")] == list("123456")
    assert any(each is not None and "Z >= L*(m + 2), here 48: io <= " in each for each in texts)
    assert "regimes not shown, as they save less: 1 (see --format text)" in texts
    drawn.save(tmp_path / "again.svg")
    assert (tmp_path / "again.svg").read_bytes() == (tmp_path / "io.svg").read_bytes()


@long
def test_a_png_and_a_pdf_can_be_read(drawn: IoPlot, tmp_path: Path) -> None:
    from matplotlib.image import imread

    ran = cli("plot", MATMUL, "--at", AT, "--cache", "L=4", "--out", str(tmp_path / "io.PNG"))
    assert (ran.code, ran.err) == (0, "")
    assert "io of matmul_basic" in ran.out
    pixels = imread(BytesIO((tmp_path / "io.PNG").read_bytes()), "png")
    assert pixels.shape[0] > 500
    assert pixels.shape[1] > 1000
    # Red, blue and black: the bounds and the points are there.
    red, green, blue = pixels[..., 0], pixels[..., 1], pixels[..., 2]
    assert ((red > 0.6) & (blue < 0.3)).sum() > 300
    assert ((blue > 0.6) & (red < 0.3)).sum() > 300
    assert ((red < 0.15) & (green < 0.15) & (blue < 0.15)).sum() > 300
    drawn.save(tmp_path / "io.pdf")
    document = (tmp_path / "io.pdf").read_bytes()
    assert document.startswith(b"%PDF")
    assert document.rstrip().endswith(b"%%EOF")


def test_between_the_points_steps_are_bounds_too(drawn: IoPlot) -> None:
    """The lines that matplotlib is given, at every Z: the upper one holds to the right, the lower one to the left."""
    from archline.report.pictures.drawing import make_figure

    (axes,) = make_figure(drawn.view).axes
    upper, lower = axes.lines[:2]
    assert (upper.get_drawstyle(), lower.get_drawstyle()) == ("steps-post", "steps-pre")
    assert [float(each.upper) for each in drawn.points] == list(upper.get_ydata())
    assert [float(each.lower) for each in drawn.points] == list(lower.get_ydata())
    marks = [line.get_xdata()[0] for line in axes.lines if line.get_linestyle() == ":"]
    assert marks == [each.words for each in select_labelled_regimes(drawn.view)]


@pytest.mark.parametrize(
    ("target", "at"), [("dense.transpose_recursive::transpose_co", "n=9,m=9"), ("scan.reduce::sum", "n=1")]
)
def test_flat_and_empty_lines_can_be_drawn(drawn: IoPlot, target: str, at: str, tmp_path: Path) -> None:
    assert cli("plot", target, "--at", at, "--out", str(tmp_path / "io.svg")).code == 0


def test_programs_that_fetch_nothing_can_be_drawn(drawn: IoPlot, tmp_path: Path) -> None:
    nothing = al.loads("algorithm none(n: size):\n    for i in 0..n:\n        local s: real = 1.0")["none"]
    plot = al.plot_io(nothing, n=3)
    assert {(each.lower, each.simulated, each.upper) for each in plot.points} == {(0, 0, 0)}
    plot.save(tmp_path / "io.svg")


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (("--at", "n=5"), "AL402"),
        ((), "AL402"),
        (("--at", "n=5,m=5,p=5,k=1"), "AL401"),
        (("--at", "n=5,m=5,p=5,Z=64"), "AL408"),
        (("--at", AT, "--cache", "Z=64,L=4"), "AL408"),
        (("--at", AT, "--cache", "L=0"), "AL408"),
        (("--at", AT, "--cache", "L=1/2"), "AL408"),
        (("--at", AT, "--cache", "M=2"), "AL408"),
        (("--at", AT, "--out", "io.gif"), "AL418"),
        (("--at", AT, "--out", "io"), "AL418"),
    ],
)
def test_wrong_requests_are_refused(options: tuple[str, ...], code: str) -> None:
    assert cli("plot", MATMUL, *options).refused(code)


def test_unknown_io_is_refused_with_its_reason(tmp_path: Path) -> None:
    (tmp_path / "unknown.algo").write_text(UNKNOWN, encoding="utf-8")
    ran = cli("plot", f"{tmp_path / 'unknown.algo'}", "--at", "n=5,m=2")
    assert ran.refused("AL414")
    assert "a power with a symbolic base and exponent" in ran.err


def test_places_that_cannot_be_written(drawn: IoPlot, tmp_path: Path) -> None:
    (tmp_path / "folder.svg").mkdir()
    for name in ("missing/io.svg", "folder.svg"):
        assert cli("plot", MATMUL, "--at", AT, "--out", str(tmp_path / name)).refused("AL413")
    with pytest.raises(al.ArchlineError, match="cannot be drawn"):
        IoPlot(replace(drawn.view, rows=(IoPoint(8, 1, None, 10**301),))).save(tmp_path / "io.svg")


def test_without_matplotlib_the_extra_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    ran = cli("plot", MATMUL, "--at", AT, "--out", str(tmp_path / "io.svg"))
    assert ran.refused("AL417")
    assert "the extra `plots`" in ran.err
    assert cli("plot", MATMUL, "--at", AT, "--format", "csv").code == 0
    assert al.plot_io(al.algorithm("scan.reduce::sum"), n=5)._repr_svg_() is None


def test_help() -> None:
    ran = process("plot", "--help")
    assert ran.code == 0
    assert "--out FILE" in ran.out
