"""Lower bounds on words and messages on the first page: a heading, a row a bound, and sentences."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from archline.claims.communication_bounds import Ends
from archline.report.communication import (
    BoundView,
    CommunicationView,
    amount,
    factor,
    nearness,
    on_processors,
    replicated,
)
from archline.report.cost_view import CostView
from archline.report.costs.page import Line
from archline.report.documents.model import Formula, Phrase
from archline.report.numbers import readable

NOTHING = (Fraction(0), Fraction(0))


def heading(view: CommunicationView) -> Phrase:
    """What the bounds are for."""
    any_ = f"lower bounds for any {view.any}"
    if view.processors is None or view.memory is None:
        where = "" if not view.where else f", {'; '.join(view.where)}"
        return (f"{any_}{where}",)
    return (f"{any_} with {readable(view.memory)} words of memory {on_processors(view.processors)}",)


def rows(view: CommunicationView) -> Iterator[Line]:
    """A bound a row; at sizes the larger first, with how near the words are to it."""
    valued = sorted((each for each in view.bounds if each.value is not None), key=_value, reverse=True)
    if valued:
        yield from _values(view, valued)
        return
    for each in view.bounds:
        yield from _in_sizes(each)
    if any(each.cases for each in view.bounds):
        yield Line("messages", (">= words/M",))


def _value(bound: BoundView) -> Ends:
    assert bound.value is not None
    return bound.value


def _values(view: CommunicationView, valued: list[BoundView]) -> Iterator[Line]:
    for index, each in enumerate(valued):
        assert each.value is not None
        known = view.words is not None and (index == 0 or each.value[1] < 0)
        near = factor(view.words, each.value) if known and view.words is not None else ""
        least = (Formula(f">= {amount(max(each.value, NOTHING))}"),)
        yield Line("words" if not index else "", least, (each.kind,), (near,))
    if view.least_messages is not None and view.least_messages[0] > 0:
        near = "" if view.messages is None else factor(view.messages, view.least_messages)
        least = (Formula(f">= {amount(view.least_messages)}"),)
        yield Line("messages", least, ("words over memory",), (near,))


def _in_sizes(bound: BoundView) -> Iterator[Line]:
    near = "; ".join(nearness(bound.near))
    if bound.growth is not None:
        yield Line("words", (Formula(bound.growth),), (bound.kind,), (near,))
    label, kind = "words", bound.kind
    for condition, text in bound.cases:
        where = near if not condition else f"where {condition}"
        yield Line(label, _at_least(text), (kind,), (where,))
        label, kind = "", ""


def _at_least(text: str) -> Phrase:
    return (Formula(f">= {text}"),)


def assumptions(view: CommunicationView) -> Iterator[Phrase]:
    """What the bounds take for granted, once each."""
    found = dict.fromkeys(each for bound in view.bounds for each in bound.assumptions)
    yield (f"assuming {'; '.join(found)} (theorems and sources: --all)",)


def sentences(view: CostView) -> Iterator[Phrase]:
    """That the input is replicated, and that there are no bounds then."""
    if view.replicated is not None:
        yield (replicated(view.replicated, view.communication is not None),)
