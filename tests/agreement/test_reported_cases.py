"""Small programs that were once answered wrongly, refused or answered too weakly, each with its right answer.

Values were counted by separate programs or by hand. `tests/data/reports/cases.json` says what each program's answers
have to be: values at points (the derived bounds enclose them), how far a bound may lie from a value, forms, growth,
claims, and with which code a program is refused. A case that does not hold yet is in `OPEN`, and expected to fail.
"""

from __future__ import annotations

import json
import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import archline as al
from cli_support import cli

REPORTS = Path(__file__).parent.parent / "data" / "reports"
CASES: list[dict[str, Any]] = json.loads((REPORTS / "cases.json").read_text())
OPEN: frozenset[str] = frozenset()


def _program(case: dict[str, Any], folder: Path, ensures: tuple[str, ...] = ()) -> str:
    """The target of the case's algorithm in a file of its own, with those that it calls; `ensures` are added to it."""
    text = (REPORTS / case["file"]).read_text()
    parts = re.split(r"^algorithm (\w+)", text, flags=re.M)[1:]
    algorithms = {name: f"algorithm {name}{rest}" for name, rest in zip(parts[::2], parts[1::2], strict=True)}
    wanted = [case["algorithm"]]
    for name in wanted:
        wanted += [
            other for other in algorithms if other not in wanted and re.search(rf"\b{other}\(", algorithms[name])
        ]
    parts = [algorithms[name] for name in wanted]
    if ensures:
        head, body = re.match(
            r"(algorithm .*?:\n(?:    \"[^\n]*\n)?(?:    where [^\n]*\n)?)(.*)", parts[0], flags=re.S
        ).groups()
        parts[0] = head + "".join(f"    ensures {each}\n" for each in ensures) + body
    file = folder / f"{case['algorithm']}.algo"
    file.write_text("".join(parts))
    return f"{file}::{case['algorithm']}"


def _ends(target: str, metric: str, at: dict[str, int]) -> tuple[Fraction, Fraction]:
    """The metric between its derived bounds at the sizes."""
    value = al.algorithm(target).report()[metric].at(**at)
    return value if isinstance(value, tuple) else (value, value)


def _check_growth(case: dict[str, Any], target: str, metric: str, wanted: str, both: bool) -> None:
    cost = json.loads(cli("cost", target, "--format", "json").out)["costs"][metric]
    growth = cost["growth"] or ""
    found = re.match(r"(Theta|O)\((.*?)\)(?:, Omega\(.*\))?(?: where (.*))?$", growth)
    assert found, growth
    assert not both or found[1] == "Theta", growth
    facts = " , ".join(filter(None, (case["expect"].get("facts", ""), found[3] or "")))
    orders = [(found[2], wanted)] + ([(wanted, found[2])] if both else [])
    for left, right in orders:
        arguments = ["order", left, right, "--format", "json"] + (["--where", facts] if facts else [])
        assert json.loads(cli(*arguments).out)["holds"] is True, (growth, wanted)


def _check_order(f: str, g: str, compare: str) -> None:
    compared = al.order(f, g, relation="compare", verify=True)
    assert compared.order == {"same": "equal"}.get(compare, compare)
    assert compared.verified


def _check_recurrence(text: str, growth: str, facts: str = "") -> None:
    solution = al.recurrence(text, facts)
    assert solution.growth is not None, solution.reason
    compared = al.order(solution.growth, growth, facts, "Theta", verify=True)
    assert compared.holds is True, solution.growth
    assert compared.verified, compared.checks


def _check(case: dict[str, Any], folder: Path) -> None:
    expect = case["expect"]
    if "order" in expect:
        _check_order(**expect["order"])
        return
    if "recurrence" in expect:
        _check_recurrence(**expect["recurrence"])
        return
    target = _program(case, folder)
    for each in expect.get("values", ()):
        lower, upper = _ends(target, each["metric"], each["at"])
        value = Fraction(each["value"])
        assert lower <= value <= upper, (each, lower, upper)
        assert not each.get("exact") or lower == upper, (each, lower, upper)
    for each in expect.get("upper_at_most", ()):
        assert _ends(target, each["metric"], each["at"])[1] <= Fraction(each["value"]), each
    for each in expect.get("lower_at_least", ()):
        assert _ends(target, each["metric"], each["at"])[0] >= Fraction(each["value"]), each
    when = f" when {expect['facts']}" if "facts" in expect else ""
    for metric, form in expect.get("exact", {}).items():
        cost = json.loads(cli("cost", target, "--format", "json").out)["costs"][metric]
        assert cost["status"] == "exact"
        assert set(re.findall(r"[A-Za-z_]\w*", cost["upper"])) <= set(re.findall(r"[A-Za-z_]\w*", form)), cost["upper"]
        assert cost["growth"].startswith("Theta("), cost["growth"]
        claimed = cli("check", _program(case, folder, (f"{metric} == {form}{when}",)))
        assert claimed.code == 0, claimed
        assert "unknown" not in claimed.out, claimed.out
    for metric, wanted in expect.get("growth", {}).items():
        _check_growth(case, target, metric, wanted, both=True)
    for metric, wanted in expect.get("growth_at_most", {}).items():
        _check_growth(case, target, metric, wanted, both=False)
    for claim, holds in [(c, True) for c in expect.get("holds", ())] + [(c, False) for c in expect.get("fails", ())]:
        text = claim.replace(f"({case['algorithm']})", "").replace(" where ", " when ")
        claimed = cli("check", _program(case, folder, (text,)))
        assert claimed.code == (0 if holds else 1), claimed
        assert "unknown" not in claimed.out, claimed.out
    target = _program(case, folder)
    for each in expect.get("refused", ()):
        at = ["--at", ",".join(f"{name}={value}" for name, value in each["at"].items())] if "at" in each else []
        for command in ["cost"] if at else each.get("by", ["check", "cost"]):
            shown = cli(command, target, *at)
            text = shown.out + shown.err
            assert shown.code != 0, text
            assert re.search(each["code"], text), text
            assert re.search(each.get("message", ""), text), text
            assert "message_not" not in each or not re.search(each["message_not"], text), text
    if expect.get("not_refused"):
        for command in ("cost", "check"):
            shown = cli(command, target)
            assert shown.code == 0, shown
    page = cli("cost", target).out
    for pattern in expect.get("assumes", ()):
        assert re.search(pattern, page), page
    assert not expect.get("no_long") or "(long: see --all)" not in page, page


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, id=case["id"], marks=[pytest.mark.xfail(strict=True)] if case["id"] in OPEN else [])
        for case in CASES
    ],
)
def test_a_reported_case_has_its_right_answer(case: dict[str, Any], tmp_path: Path) -> None:
    _check(case, tmp_path)
