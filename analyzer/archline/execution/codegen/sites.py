"""The places where a run can stop, and the costs of the blocks whose executions it counts."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from archline.execution.slots import FIRST_SITE
from archline.language.diagnostics import Rule
from archline.language.source import Span

WORK = "work"
READS = "reads"
WRITES = "writes"
EXTERN = "extern"


@dataclass(frozen=True, eq=False, slots=True)
class Site:
    """A check that may fail: its rule, its place, and what is said, with `{0}` to `{4}` for the values at hand.

    `variants` gives, where there are several ways to fail, the text by the first value.
    """

    rule: Rule
    span: Span
    message: str
    variants: tuple[str, ...] = ()
    hint: str | None = None


@dataclass(eq=False)
class Tables:
    """What the generated functions of a program number globally."""

    sites: list[Site] = field(default_factory=list)
    blocks: list[Counter[str]] = field(default_factory=list)

    def site(self, site: Site) -> int:
        """Number a site."""
        self.sites.append(site)
        return FIRST_SITE + len(self.sites) - 1

    def block(self, cost: Counter[str]) -> int:
        """Number a block of straight-line code that costs this much each time."""
        self.blocks.append(cost)
        return len(self.blocks) - 1
