"""The steps of a derivation, as a textbook sets them out: each statement, its rule, what it costs when reached."""

from __future__ import annotations

from collections.abc import Iterator

from archline.algebra.polynomial import Poly
from archline.analysis.metrics.tally import Step
from archline.ir.amounts import Unknown, map_known
from archline.language.metrics import CALL, ITERATION, METRICS, OF_CACHE, Composition, Event
from archline.report import io, recursion
from archline.report.cost_view import CostView
from archline.report.layout import wrap


def text(view: CostView, metric: str, width: int) -> str:
    """The derivation of one metric (flops, work, span or io)."""
    row = next(row for row in view.rows if row.metric == metric)
    if metric in OF_CACHE and row.lower is not None:
        return "\n".join(io.text(view, row, width)) + "\n"
    recurrence = None if row.tell is None else row.tell()
    if recurrence is not None:
        return "\n".join(recursion.text(view, row, recurrence, width)) + "\n"
    if not view.derivation and row.lower is None:
        return "\n".join(wrap(f"the {metric} of {view.algorithm} is unknown: {row.why}", width)) + "\n"
    lines = [f"derivation of the {metric} of {view.algorithm}: the cost of one execution of each statement", ""]
    for step in view.derivation:
        lines.extend(_step(view, step, metric, 0, width, ()))
    call = "; 1 is the call itself" if _counted(metric, CALL) else ""
    total = _amount(view, row.lower, row.upper, row.why)
    lines += ["", *wrap(f"together: {metric} {total}{call}", width)]
    return "\n".join(lines) + "\n"


def _step(
    view: CostView, step: Step, metric: str, depth: int, width: int, counters: tuple[tuple[str, Poly], ...]
) -> Iterator[str]:
    """`counters`: what stands for the variables of the loops around, from the innermost out."""
    if step.counter is not None:
        counters = (step.counter, *counters)
    source = step.span.source.lines[step.span.line - 1].strip()
    indent = " " * (4 * depth)
    yield f"{step.span.line:>5} | {indent}{source}"
    # A step of operators alone costs what its line shows; the cost still says how many.
    amount = map_known(step.tally.whole(metric), lambda value: _in_source_terms(value, counters))
    cost = (
        _amount(view, None, None, amount.reason)
        if isinstance(amount, Unknown)
        else _amount(view, amount.lower, amount.upper, None)
    )
    of_path = METRICS[metric].composition is Composition.MAX_PLUS
    rule = step.span_rule if of_path and step.span_rule is not None else step.rule
    if not _counted(metric, ITERATION):
        rule = rule.replace("(1 + body)", "body").replace("1 + body", "body")
    margin = "      | " + indent + "    "
    for line in wrap(f"{metric} {cost}  ({rule})", max(30, width - len(margin))):
        yield margin + line
    for child in step.children:
        yield from _step(view, child, metric, depth + 1, width, counters)


def _counted(metric: str, event: Event) -> bool:
    counts = METRICS[metric].counts
    return counts is not None and counts(event)


def _in_source_terms(value: Poly, counters: tuple[tuple[str, Poly], ...]) -> Poly:
    for name, number in counters:
        value = value.substitute({name: number})
    return value


def _amount(view: CostView, lower: Poly | None, upper: Poly | None, reason: str | None) -> str:
    if lower is None or upper is None:
        return f"is unknown: {reason}"
    if lower == upper:
        return f"= {view.text(lower)}"
    return f">= {view.text(lower)} and <= {view.text(upper)}"
