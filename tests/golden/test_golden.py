"""No bound of the standard library becomes weaker, and no exact form changes.

`--refresh-golden` writes what is derived now. A quick run looks at the first algorithm of every sixth module;
`ARCHLINE_TESTS=deep` compares io at every point recorded.
"""

from __future__ import annotations

import pytest

import golden_costs as golden
from archline.language.loader import list_stdlib_modules
from effort import EFFORT, long, some

# The trapezoids take minutes at these points.
MODULES = [each for each in list_stdlib_modules() if each != "stencil.trapezoid"]
# They take as long as all others of a quick run.
SLOW = ("dense.lu", "polybench.nussinov")


@pytest.mark.parametrize(
    "module", [pytest.param(each, marks=long if at % 6 or each in SLOW else ()) for at, each in enumerate(MODULES)]
)
def test_derived_costs_are_those_of_the_snapshot(module: str, request: pytest.FixtureRequest) -> None:
    before, names = golden.recorded(module), golden.algorithms(module)
    if request.config.getoption("--refresh-golden"):
        now = {name: golden.taken(module, name, before.get(name)) for name in names}
        golden.path(module).write_text(golden.written(now), encoding="utf-8")
        return
    assert before.keys() == set(names), "--refresh-golden records new algorithms"
    before = {name: golden.sampled(before[name], EFFORT) for name in some(names, len(names))}
    now = {name: golden.taken(module, name, entry) for name, entry in before.items()}
    assert not [each for name, entry in before.items() for each in golden.worse(name, entry, now[name])]


ENTRY = {
    **{key: {"status": "exact", "lower": "n", "upper": "n", "growth": "Theta(n)"} for key in ("flops", "work", "span")},
    "io": {"status": "bounded", "lower": "n/L", "upper": "n", "growth": "O(n), Omega(n/L)"},
    "at": {"n = 8": {"flops": "8", "work": "8", "span": "8", "io, L = 4": {"4": "2 8", "8": None}}},
}


@pytest.mark.parametrize(
    ("metric", "changed"),
    [
        ("flops", {"status": "bounded"}),
        ("io", {"status": "unknown"}),
        ("work", {"growth": "O(n)"}),
        ("work", {"growth": "Theta(n^2)"}),
        ("io", {"growth": "O(n*log2(n)), Omega(n/L)"}),
        ("io", {"growth": "O(n), Omega(n/L^2)"}),
        ("io", {"growth": None}),
    ],
)
def test_weaker_forms_are_noticed(metric: str, changed: dict[str, str]) -> None:
    assert list(golden.worse("f", ENTRY, {**ENTRY, metric: {**ENTRY[metric], **changed}}))


@pytest.mark.parametrize("growth", ["O(n), Omega(n)", "Theta(n)", "O(n + 1), Omega(n/L)", "O(n), Omega(n/L + 1)"])
def test_equal_and_sharper_growth_is_accepted(growth: str) -> None:
    assert not list(golden.worse("f", ENTRY, {**ENTRY, "io": {**ENTRY["io"], "growth": growth}}))


@pytest.mark.parametrize(
    ("value", "fine"),
    [("2 8", True), ("3 8", True), ("2 5", True), ("4", True), ("1 8", False), ("2 9", False), (None, False)],
)
def test_wider_bounds_are_noticed(value: str | None, fine: bool) -> None:
    values = {**ENTRY["at"]["n = 8"], "io, L = 4": {"4": value, "8": "1 9"}}
    assert fine == (not list(golden.worse("f", ENTRY, {**ENTRY, "at": {"n = 8": values}})))


def test_another_exact_value_is_noticed() -> None:
    values = {**ENTRY["at"]["n = 8"], "work": "7"}
    assert list(golden.worse("f", ENTRY, {**ENTRY, "at": {"n = 8": values}})) == ["f at n = 8, work: was 8, is 7"]
