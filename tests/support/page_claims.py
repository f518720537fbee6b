"""Claims that the pages of an algorithm's costs make, read from what the formats print."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import archline as al
from archline.api.algorithms import Algorithm
from archline.api.costs import CostReport
from archline.costs.sizes import convert_python_values
from archline.expr.values import bounds_of_value, evaluate, evaluate_fact
from archline.language.metrics import METRICS
from archline.language.parser import parse_expression
from archline.report import documents
from archline.report.costs import full, page
from archline.report.json import render
from page_tables import COSTS, Rows, of_latex, of_markdown, of_text
from printed_claims import GROWTH

OTHERWISE, IN_ALL_CASES = "otherwise", "in all cases"
CACHE_METRICS = ("io", "writebacks", "bytes")


@dataclass(frozen=True)
class PageClaim:
    """What a page says of a metric: `relation` to an expression, or a growth, where all conditions hold."""

    metric: str
    relation: str
    text: str
    where: tuple[str, ...] = ()

    @property
    def written(self) -> str:
        """The claim as an `ensures`."""
        when = f" when {', '.join(self.where)}" if self.where else ""
        return f"ensures {self.metric} {self.relation} {self.text}{when}"


@dataclass
class MetricRows:
    """The rows of one metric, by the conditions of their cases."""

    metric: str
    cases: list[tuple[str, list[tuple[str, str]], str]]

    @property
    def claims(self) -> Iterator[PageClaim]:
        """All of them; of cases of the sizes the first whose condition holds applies."""
        exclusive = any(when == OTHERWISE for when, *_ in self.cases)
        before: list[str] = []
        for when, bounds, growth in self.cases:
            where = (*before, *([when] if when not in ("", OTHERWISE) else []))
            yield from (PageClaim(self.metric, relation, text, where) for relation, text in bounds)
            yield from _growths(self.metric, growth, where if exclusive and IN_ALL_CASES not in growth else ())
            if exclusive and when not in ("", OTHERWISE):
                before.append(f"not ({when})")


def _growths(metric: str, growth: str, where: tuple[str, ...]) -> Iterator[PageClaim]:
    for each in GROWTH.findall(growth):
        order, _, when = each.removesuffix(f" {IN_ALL_CASES}").partition(" where ")
        own = (*where, *([when] if when else []))
        yield PageClaim(metric, "==", "0", own) if order == "0" else PageClaim(metric, "is", order, own)


def of_json(text: str) -> Iterator[PageClaim]:
    """Those of `--format json`."""
    for metric, cost in json.loads(text)["costs"].items():
        if cost["lower"] is None:
            continue
        whole = [(relation, text) for relation, text in _ends(cost["lower"], cost["upper"])]
        yield from MetricRows(metric, [("", [] if metric in CACHE_METRICS and cost["regimes"] else whole, "")]).claims
        cases = [(each["when"], list(_ends(each["lower"], each["upper"])), "") for each in cost["regimes"]]
        yield from MetricRows(metric, cases).claims
        yield from _growths(metric, cost["growth"] or "", ())
        yield from (PageClaim(metric, ">=", each["lower"]) for each in cost["lowers"])


def _ends(lower: str, upper: str) -> Iterator[tuple[str, str]]:
    yield from [("==", lower)] if lower == upper else [(">=", lower), ("<=", upper)]


def of_page(tables: Iterable[Rows]) -> Iterator[PageClaim]:
    """Those of the first page: of its rows, and of the bounds by the size of the cache."""
    for head, *rows in tables:
        if tuple(head) == COSTS:
            yield from _of_first_table(rows)
        elif head[0] == "in the cache":
            metric = head[1].split()[0]
            known = ((form, where) for _, form, where in rows if not re.search(r"~|\.\.\.", form + where))
            yield from (PageClaim(metric, "<=", form, (where,)) for form, where in known)


def _of_first_table(rows: Sequence[Sequence[str]]) -> Iterator[PageClaim]:
    metrics: list[MetricRows] = []
    for label, form, status, growth in rows:
        if label:
            metrics.append(MetricRows(label.split()[0], []))
        cases = metrics[-1].cases
        where = status.removeprefix("where ") if status.startswith(("where ", OTHERWISE)) else ""
        if label or where:
            cases.append((where, [], growth))
        relation, text = re.match(r"(<=|>=)?\s*(.*)", form).groups()
        plain = (
            not any(mark in form for mark in ("~", "work/span", "by cache size", "--all", "see ", "..."))
            and status != "unknown"
        )
        if plain and (relation or label or where):
            cases[-1][1].append((relation or "==", text))
    yield from (claim for each in metrics if each.metric not in ("parallelism",) for claim in each.claims)


def of_full_page(tables: Iterable[Rows]) -> Iterator[PageClaim]:
    """Those of `--all`."""
    for head, *rows in tables:
        if head != ["metric", "status", "", "cost"]:
            continue
        metrics: list[MetricRows] = []
        growths: list[PageClaim] = []
        for label, status, relation, text in rows:
            if label:
                metrics.append(MetricRows(label, [("", [], "")]))
            name, cases = metrics[-1].metric, metrics[-1].cases
            if status == "growth":
                growths += _growths(name, text, ())
            elif relation in ("=", "<=", ">="):
                cases[-1][1].append(("==" if relation == "=" else relation, text))
            elif text.endswith(":") and not text.startswith("by "):
                cases.append((text[:-1].removeprefix("where "), [], ""))
        # Below the flops those of each kind stand.
        yield from (claim for each in metrics if each.metric in METRICS for claim in each.claims)
        yield from growths


FORMATS: dict[str, Callable[[documents.Document], Iterator[Rows]]] = {
    "markdown": lambda shown: of_markdown(documents.markdown(shown)),
    "latex": lambda shown: of_latex(documents.latex(shown)),
    "text": lambda shown: of_text(documents.text(shown, 160)),
    "narrow text": lambda shown: of_text(documents.text(shown, 72)),
}


def claims_by_format(report: CostReport, metrics: Sequence[str] | None = None) -> dict[tuple[str, str], list[str]]:
    """What each page of an algorithm's costs prints in each format, of some metrics or all, as `ensures`."""
    view = report.view(without_io=metrics is not None and not {*CACHE_METRICS} & {*metrics})
    shown = view.select_metrics(metrics)
    case = view.case()
    # Where every axis of a grid has several processors, the first page is of these.
    under = () if case is None else (case.case_when,)
    first, whole = page.make_page(view, metrics), full.make_page(shown)
    found = {("all", "json"): of_json(render(full.make_json_document(shown)))}
    for name, tables in FORMATS.items():
        found["first", name] = (replace(each, where=(*each.where, *under)) for each in of_page(tables(first)))
        found["all", name] = of_full_page(tables(whole))
    return {place: list(dict.fromkeys(each.written for each in claims)) for place, claims in found.items()}


def values_of_page(markdown: str) -> dict[str, tuple[Fraction, Fraction]]:
    """The values of the first page at sizes, by metric."""
    found = {}
    for head, *rows in of_markdown(markdown):
        if tuple(head) == COSTS:
            shown = {
                label.split()[0]: form.split(" .. ") for label, form, *_ in rows if label not in ("", "parallelism")
            }
            known = {metric: each for metric, each in shown.items() if re.fullmatch(r"-?[\d/]+", each[0])}
            found |= {metric: (Fraction(each[0]), Fraction(each[-1])) for metric, each in known.items()}
    return found


def disagreements_at(algorithm: Algorithm, sizes: Mapping[str, int], cache: al.Cache | None) -> Iterator[str]:
    """Where a page at sizes says other than JSON, the API and `run` say, or than forms do at these sizes."""
    report = algorithm.cost()
    metrics = [] if report.on_grid else ["accesses", *(["writebacks", "bytes"] if cache is not None else [])]
    for metric in metrics:
        report = report.including(metric)
    of_cache = {} if cache is None else {"Z": cache.Z, "L": cache.L}
    point = report.point_of_run(convert_python_values({**sizes, **of_cache}))
    view = report.view(point)
    shown = values_of_page(documents.markdown(page.make_page(view, report.metrics)))
    written = json.loads(render(full.make_json_document(view)))["costs"]
    counts = algorithm.run(sizes, cache=cache, compiled=False).view.counts
    for metric, (low, high) in shown.items():
        where = f"{metric} at {sizes}, {of_cache}: {low} .. {high}"
        value = written[metric]["value"]
        if (low, high) != (Fraction(value["lower"]), Fraction(value["upper"])):
            yield f"{where}, JSON has {value}"
        called = report[metric].at(dict(point))
        if (low, high) != (called if isinstance(called, tuple) else (called, called)):
            yield f"{where}, the API has {called}"
        executed = counts.executed.get(metric)
        if executed is not None and not within(metric, executed, low, high):
            yield f"{where}, a run has {executed}"
        if written[metric]["lower"] is None:
            continue
        least, most = form_ends(written[metric], point)
        if high < least or most < low or (executed is not None and not within(metric, executed, least, most)):
            yield f"{where}, the forms are {least} .. {most}; a run has {executed}"
    yield from (f"{metric} of a run is outside" for metric in counts.outside)


def within(metric: str, executed: Fraction, low: Fraction, high: Fraction) -> bool:
    """Whether bounds admit a count of a run, whose replacement has the fewest misses and may move more bytes."""
    return low <= executed and (executed <= high or metric == "bytes")


def form_ends(cost: Mapping[str, Any], point: Mapping[str, Fraction]) -> tuple[Fraction, Fraction]:
    """The values of the forms of a cost in JSON: those of the first case that applies, or the least upper bound."""

    def value(text: str) -> Fraction:
        return bounds_of_value(evaluate(parse_expression(text), point))[0]

    def applies(entry: Mapping[str, str]) -> bool:
        return entry["when"] == OTHERWISE or bool(evaluate_fact(parse_expression(entry["when"]), point))

    # Cases of the sizes end with `otherwise`, and bounds by the cache follow.
    conditions = [entry["when"] for entry in cost["regimes"]]
    count = conditions.index(OTHERWISE) + 1 if OTHERWISE in conditions else 0
    case = next(filter(applies, cost["regimes"][:count]), cost)
    by_cache = (entry["upper"] for entry in filter(applies, cost["regimes"][count:]))
    return value(case["lower"]), min(map(value, (case["upper"], *by_cache)))
