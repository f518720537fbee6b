"""The values that the page of a report computes from its data are those of `archline cost --at`."""

from __future__ import annotations

import json
import math
import random
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import archline as al
from archline.algebra.evaluate.exact import evaluate
from archline.analysis.cost import enclose_count, evaluate_formulas
from archline.api.reports import HtmlReport
from archline.costs.sizes import Point, convert_python_values
from archline.expr.intervals import EvaluationError
from archline.language.diagnostics import ArchlineError
from effort import drawn, long

TEMPLATE = Path(al.__file__).parent / "report" / "html" / "page.html"
NODE = shutil.which("node")
PLAIN = (
    "arithmetic.polynomial::polynomial",
    "arithmetic.karatsuba::convolve",
    "dense.gemv::gemv",
    "scan.prefix_sum::prefix_sum_blocked",
    "scan.reduce::dot",
    "sort.insertion_sort::insertion_sort",
    "sort.lower_bound::lower_bound",
    "sort.merge::merge",
    "sparse.block::spmv_block",
    "sparse.csc::spmv_csc",
    "sparse.csr::spmv_csr",
    "stencil.jacobi_1d::jacobi_1d",
    "distributed.matmul::cannon",
    "scan.recursive::sum_tree",
)
SLOW = (
    "dense.lu::lu",
    "dense.matmul::matmul_basic",
    "graph.bfs::bfs",
    "stencil.jacobi_2d::jacobi_2d",
    "fft.fft::fft",
    "sort.mergesort::mergesort",
    "dense.transpose_recursive::transpose_co",
    "scan.recursive::prefix_sum_pairs",
)
ALGORITHMS = [*PLAIN, *(pytest.param(target, marks=long) for target in SLOW)]
UNKNOWN: dict[tuple[str, str], str] = {}
"""Exact metrics for which the page says "?", each with the reason."""
SIZES = (*range(1, 34), 64, 100, 127, 128, 256, 1000, 1024)
CACHES = ((8, 1), (64, 4), (128, 8), (256, 8), (1024, 8), (4096, 16), (32768, 8))
LARGEST_VOLUME = 10**9
"""The largest product of sizes of a drawn point."""
CLOSE, SLACK = 1e-12, 1e-9
READER = """
const describe = () => "";
VALUES
const { target, points } = JSON.parse(require("fs").readFileSync(0, "utf8"));
const pick = (amount) => amount && { lower: amount.lower, upper: amount.upper, exact: amount.exact };
const answers = points.map((point) => {
  const values = new Map(Object.entries(point)), keys = target.metrics.map((each) => each.metric);
  return {
    fits: fits(target, values),
    metrics: Object.fromEntries(keys.map((key) => [key, pick(evaluateMetric(target, key, values))])),
    io: target.io && pick(evaluateIo(target, values)),
    bytes: target.bytes && pick(evaluateIo(target, values, target.bytes)),
    lines: target.lines.map((line) => Object.fromEntries(["executions", "flops", "work"].map((key) =>
      [key, line[key] && pick(evaluateAmount(line[key], target, values))]))),
  };
});
console.log(JSON.stringify(answers));
"""


@cache
def report(target: str) -> HtmlReport:
    """Return a report, with a machine where that does not take long."""
    return HtmlReport([al.algorithm(target)], machines=[al.machine("i7-950")] if target in PLAIN else [])


def evaluate_in_page(target: Mapping[str, Any], points: list[Point]) -> list[dict[str, Any]]:
    """Return what the page's script computes of a target at points."""
    if NODE is None:
        pytest.skip("no node")
    text = TEMPLATE.read_text(encoding="utf-8")
    evaluator = text.partition("// evaluator\n")[2].partition("// end of evaluator")[0]
    values = text.partition("\nfunction holdAll")[2].partition("\nconst nearest =")[0]
    assert evaluator
    assert values
    script = evaluator + READER.replace("VALUES", f"function holdAll{values}")
    given = json.dumps(
        {"target": target, "points": [{name: int(value) for name, value in at.items()} for at in points]}
    )
    run = subprocess.run([NODE, "-e", script], input=given, capture_output=True, text=True, check=True, timeout=600)
    return json.loads(run.stdout)


def draw_points(target: str, count: int) -> Iterator[Point]:
    """Yield points that the header allows, with a cache each."""
    costs, draw = report(target).reports[0], random.Random(target)
    needed = [*costs.names.needed, *(["P"] if "P" in costs.parameters else [])]
    found = 0
    for _ in range(200 * count):
        alike, (words, line) = draw.choice(SIZES), draw.choice(CACHES)
        pick = draw.choice([lambda alike=alike: alike, lambda: draw.choice(SIZES)])
        sizes = {name: pick() for name in needed if name not in ("Z", "L", "K")}
        if math.prod(sizes.values()) > LARGEST_VOLUME:
            continue
        try:
            point = costs.point(convert_python_values({**sizes, "Z": words, "L": line}))
        except ArchlineError:
            continue
        if all(value == int(value) for value in point.values()):
            found += 1
            yield point
        if found == count:
            return


def enclose(cost: Any, point: Point) -> tuple[float, float] | None:
    """Return the bounds that `--at` prints; None if no run of these sizes ends."""
    try:
        return tuple(map(float, enclose_count(cost, point).ends))  # type: ignore[return-value]
    except EvaluationError:
        return None


def holds(outer: Mapping[str, Any], inner: tuple[float, float]) -> bool:
    """Test whether the page's interval, with ends that may be unknown, contains another one."""
    low, high = outer["lower"], outer["upper"]
    above = low is None or low <= inner[0] + SLACK * max(1, abs(inner[0]))
    return above and (high is None or high >= inner[1] - SLACK * max(1, abs(inner[1])))


def is_close(page: Mapping[str, Any], value: tuple[float, float]) -> bool:
    ends = page["lower"], page["upper"]
    return all(x is not None and math.isclose(x, y, rel_tol=CLOSE) for x, y in zip(ends, value, strict=True))


@pytest.mark.parametrize("target", ALGORITHMS)
def test_values_of_the_page_are_those_at_sizes(target: str) -> None:
    made = report(target)
    data, costs = made.data["targets"][0], made.reports[0].costs.metrics
    if data["bytes"] is not None:
        costs = {**costs, "bytes": made.reports[0].including("bytes").costs["bytes"]}
    points = list(draw_points(target, drawn(40)))
    assert points
    compared = 0
    for point, page in zip(points, evaluate_in_page(data, points), strict=True):
        assert page["fits"], point
        for metric, found in {**page["metrics"], "io": page["io"], "bytes": page["bytes"]}.items():
            expected = None if metric not in costs else enclose(costs[metric], point)
            if expected is None or (metric in ("io", "bytes") and found is None):
                continue
            compared += 1
            place = f"{metric} at {point}: page {found}, --at {expected}"
            if costs[metric].exact and (target, metric) not in UNKNOWN:
                assert found is not None and is_close(found, expected), place  # noqa: PT018
            else:
                assert found is not None and holds(found, expected), place  # noqa: PT018
    assert compared >= len(points)


@pytest.mark.parametrize("target", ALGORITHMS)
def test_values_at_sizes_of_the_scale_are_equal(target: str) -> None:
    made = report(target)
    data, costs = made.data["targets"][0], made.reports[0].costs.metrics
    scale = [{name: int(value) for name, value in sizes.items()} for sizes in data["scale"]]
    assert scale
    for sizes, page in zip(scale, evaluate_in_page(data, scale), strict=True):
        for metric in data["metrics"]:
            expected = enclose(costs[metric["metric"]], sizes)
            if expected is not None and any(case["amount"]["grid"] for case in metric["cases"]):
                assert is_close(page["metrics"][metric["metric"]], expected), (metric["metric"], sizes)
    grid = data["io"] and data["io"]["grid"]
    for i, sizes in enumerate(scale if grid else []):
        for j, line in enumerate(grid["L"]):
            for k, words in enumerate(grid["Z"]):
                expected = enclose(costs["io"], {**sizes, "Z": words, "L": line})
                page = {"lower": grid["lower"][i][j][k], "upper": grid["upper"][i][j][k]}
                assert expected is None or is_close(page, expected), (sizes, words, line)


@pytest.mark.parametrize("target", ALGORITHMS)
def test_the_bounds_on_io_are_the_sharpest_forms(target: str) -> None:
    made = report(target)
    data, costs = made.data["targets"][0], made.reports[0].costs.metrics
    points = list(draw_points(target, drawn(40)))
    for point, page in zip(points, evaluate_in_page(data, points), strict=True):
        if page["io"] is None:
            continue
        forms = evaluate_formulas(costs["io"], point)
        lower = max([0, forms.lower, *(evaluate(bound.value, point) for bound in costs["io"].by_loop)])
        assert is_close(page["io"], (float(lower), float(forms.upper))), (page["io"], forms, lower, point)


@pytest.mark.parametrize("target", ALGORITHMS)
def test_lines_and_the_call_sum_to_the_metric(target: str) -> None:
    made = report(target)
    data, costs = made.data["targets"][0], made.reports[0].costs.metrics
    if data["lines_note"] is not None:
        assert all(line[metric] is None for line in data["lines"] for metric in ("executions", "flops", "work"))
        return
    points = list(draw_points(target, drawn(40)))
    for point, page in zip(points, evaluate_in_page(data, points), strict=True):
        for metric in ("flops", "work"):
            amounts = [line[metric] for line in page["lines"] if line[metric] is not None]
            outside, expected = data["outside"].get(metric, 0), enclose(costs[metric], point)
            if expected is None:
                continue
            total = {
                end: None if any(amount[end] is None for amount in amounts) else outside + sum(a[end] for a in amounts)
                for end in ("lower", "upper")
            }
            place = f"{metric} at {point}: lines {total}, --at {expected}"
            if all(amount["exact"] for amount in amounts):
                assert is_close(total, expected), place
            else:
                assert holds(total, expected), place
