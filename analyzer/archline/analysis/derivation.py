"""The steps of a derivation, as `--explain` prints them."""

from __future__ import annotations

from dataclasses import dataclass

from archline.analysis.tally import Tally
from archline.language.source import Span


@dataclass(frozen=True)
class Step:
    """One statement, what it costs each time it is reached, and the steps inside it.

    `rule` says how its counts come about, `span_rule` how its span does where that differs.
    """

    span: Span
    rule: str
    tally: Tally
    children: tuple[Step, ...] = ()
    span_rule: str | None = None
