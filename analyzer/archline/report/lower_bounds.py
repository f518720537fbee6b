"""Lower bounds on communication in full: each with its theorem, its source and what it assumes."""

from __future__ import annotations

from collections.abc import Iterator

from archline.report.communication import BoundView, CommunicationView, amount, factor, nearness, replicated
from archline.report.cost_view import CostView
from archline.report.layout import indented, wrap


def block(view: CommunicationView, width: int) -> list[str]:
    """The bounds, with values where there are some."""
    head = f"lower bounds on communication, for any {view.any}: {view.title}"
    lines = [*wrap(head, width), *indented([line for each in view.where for line in wrap(each, width - 2)])]
    if view.replicated is not None:
        return [*lines, *wrap(replicated(view.replicated, True), width)]
    for bound in view.bounds:
        lines += ["", *indented([line for each in _bound(view, bound) for line in wrap(each, width - 2)])]
    lines += ["", *indented([line for each in _messages(view) for line in wrap(each, width - 2)])]
    return lines


def _bound(view: CommunicationView, bound: BoundView) -> Iterator[str]:
    if bound.growth is not None:
        yield f"words are {bound.growth}, {bound.kind}"
    for condition, text in bound.cases:
        where = f" where {condition}" if condition else " otherwise" if len(bound.cases) > 1 else ""
        yield f"words >= {text}{where}, {bound.kind}"
    if bound.value is not None:
        near = "" if view.words is None else f": {factor(view.words, bound.value)}"
        yield f"at these sizes words >= {amount(bound.value)}{near}"
    yield from nearness(bound.near)
    yield f"since {bound.theorem}"
    yield f"source: {bound.source}"
    yield f"assumes {'; '.join(bound.assumptions)}"


def _messages(view: CommunicationView) -> Iterator[str]:
    yield "messages >= words/M, as a message has M words at most: Demmel et al., IPDPS 2013, equation (4)"
    if view.least_messages is not None:
        near = "" if view.messages is None else f": {factor(view.messages, view.least_messages)}"
        yield f"at these sizes messages >= {amount(view.least_messages)}{near}"
    yield (
        "words are those that some processor receives; the derived words, on the critical path, where a step has the "
        "larger of what is sent and received, are no fewer"
    )


def of_run(view: CommunicationView) -> Iterator[str]:
    """How near the counts of a run are to the largest bound: a sentence each for words and messages."""
    if view.best is None or view.words is None or view.memory is None:
        return
    kind = next(each.kind for each in view.bounds if each.value == view.best)
    with_ = f"any {view.any} with these {view.memory} words of memory"
    if view.best[1] <= 0:
        near = "attained" if view.words == view.best else "vacuous at these sizes"
        yield f"lower bounds for {with_} are {near}: words >= 0"
        return
    yield f"lower bound for {with_}: words >= {amount(view.best)}, {factor(view.words, view.best)} ({kind})"
    if view.least_messages is not None and view.messages is not None:
        near = factor(view.messages, view.least_messages)
        yield f"lower bound for its messages: {amount(view.least_messages)}, {near}"


def sentences(view: CostView) -> Iterator[str]:
    """The bounds with their sources, and that the input is replicated: a sentence each, formulas as code."""
    found = view.communication
    if view.replicated is not None:
        yield replicated(view.replicated, found is not None)
    if found is None or not found.bounds:
        return
    yield f"lower bounds for any {found.any}: {', '.join(found.where)}"
    for bound in found.bounds:
        forms = [f"words are `{bound.growth}`"] if bound.growth is not None else []
        forms += [f"words >= `{text}`{f' where `{when}`' if when else ''}" for when, text in bound.cases]
        near = [] if bound.value is None else [f"at these sizes words >= {amount(bound.value)}"]
        yield f"{'; '.join([*forms, *near, *nearness(bound.near)])} ({bound.kind}; {bound.source})"
