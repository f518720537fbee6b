"""The result contract: for each metric a `Cost` with bounds, a status, and what it rests on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from archline.algebra.polynomial import Poly
from archline.algebra.printing import to_text
from archline.analysis.derivation import Step
from archline.language.source import Span

Status = Literal["exact", "bounded", "declared", "unknown"]
METRICS = ("flops", "work", "span")


@dataclass(frozen=True)
class Cost:
    """One metric of one algorithm: lower <= count <= upper at every size that satisfies its `where`.

    `lower` and `upper` are None exactly where the status is "unknown"; then `reason` says why and `span` where.
    A "declared" cost rests on what `declared` names (externs, `costs` statements); it is as exact as they are.
    """

    metric: str
    status: Status
    lower: Poly | None
    upper: Poly | None
    reason: str | None = None
    span: Span | None = None
    declared: tuple[str, ...] = ()

    @property
    def exact(self) -> bool:
        """Whether both bounds are the same expression."""
        return self.lower is not None and self.lower == self.upper


@dataclass(frozen=True, eq=False)
class Costs:
    """The derived costs of an algorithm, the 1 of the outermost call included.

    `parameters` are the symbols costs may hold, in the order of the algorithm, `may_vanish` those that may be 0;
    `assumptions` the facts they rest on (`where` and `assume`), as text; `flops_by_kind` splits flops into add, mul,
    and so on; `derivation` holds the steps.
    """

    algorithm: str
    parameters: tuple[str, ...]
    assumptions: tuple[str, ...]
    metrics: Mapping[str, Cost]
    flops_by_kind: Mapping[str, Cost]
    derivation: tuple[Step, ...] = field(repr=False, default=())
    may_vanish: frozenset[str] = frozenset()

    def text(self, value: Poly) -> str:
        """An expression in the algorithm's sizes, in the language's syntax."""
        return to_text(value, self.parameters, self.may_vanish)

    def __getitem__(self, metric: str) -> Cost:
        return self.metrics[metric]

    def __iter__(self) -> Iterator[Cost]:
        return iter(self.metrics.values())
