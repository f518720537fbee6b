"""The steps of a derivation, as `--explain` prints them."""

from __future__ import annotations

from dataclasses import dataclass

from archline.analysis.tally import Tally
from archline.language.source import Span


@dataclass(frozen=True)
class Step:
    """One statement, what it costs each time it is reached, and the steps inside it."""

    span: Span
    rule: str
    tally: Tally
    children: tuple[Step, ...] = ()
