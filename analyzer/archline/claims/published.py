"""Published lower bounds on io next to ours: `bounds/published.json` has them by kernels, and whose kernels are whose.

They are leading terms, for lines of one word (L = 1) and a fast memory of S words. Every expression of the file is read
by the language's own parser.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from archline.analysis.cost import Cost, Costs
from archline.analysis.sampling import assumed
from archline.claims.io_growth import above_one, io_growth_lower_bound
from archline.expr import build as b
from archline.expr.intervals import EvaluationError
from archline.expr.text import format_expression
from archline.expr.tree import substituted
from archline.expr.values import ends, evaluate
from archline.growth.is_big_o import Proved, Refuted, is_O
from archline.ir.conditions import with_all
from archline.ir.declarations import declared_scope
from archline.language import syntax as s
from archline.language.diagnostics import ArchlineError
from archline.language.model import Module
from archline.language.parser import parse_expression
from archline.records import record
from archline.resources import resource

COMPARISON_SIZE, WORDS = 2**40, 2**24
"""Sizes and words of fast memory at which leading coefficients are compared."""


@record
class PublishedBound:
    """A published bound in the algorithm's sizes, by whom, and how it compares with ours.

    `relation` is "the same", "larger" or "smaller" in growth (theirs than ours), or "unknown"; `times` is how many
    times ours it is at large sizes, where the two grow alike.
    """

    by: str
    source: str
    text: str
    relation: str
    times: float | None


@record
class Published:
    """The bounds of one kernel; `because` explains why ours grow otherwise, where they do."""

    kernel: str
    bounds: tuple[PublishedBound, ...]
    because: str | None


@lru_cache(maxsize=1)
def published_tables() -> dict[str, Any]:
    """What the file has: `source`, `kernels`, and `algorithms` with their `kernel`, `sizes` and `because`."""
    found: dict[str, Any] = json.loads((resource("bounds") / "published.json").read_text(encoding="utf-8"))
    return found


def target_of(algorithm: s.Algorithm) -> str | None:
    """The name of an algorithm of the library, as `dense.matmul::matmul_basic`; None for others."""
    root, path = resource("stdlib").resolve(), Path(str(algorithm.span.source.path))
    try:
        inside = path.resolve().relative_to(root)
    except (OSError, ValueError):
        return None
    return f"{'.'.join(inside.with_suffix('').parts)}::{algorithm.name}"


def published_bounds(module: Module, algorithm: s.Algorithm, costs: Costs, cost: Cost) -> Published | None:
    """The published bounds of an algorithm of the library that is one of the kernels."""
    known = published_tables()["algorithms"].get(target_of(algorithm))
    if known is None or cost.orderless is None:
        return None
    sizes = {name: parse_expression(value) for name, value in (known["sizes"] | {"S": "Z"}).items()}
    ours = _DerivedBound.of(module, algorithm, costs, cost)
    found = []
    for by, text in published_tables()["kernels"][known["kernel"]].items():
        theirs = substituted(parse_expression(text), sizes)
        relation = ours.relation(theirs)
        times = ours.times(theirs) if relation == "the same" else None
        found.append(PublishedBound(by, published_tables()["source"][by], format_expression(theirs), relation, times))
    because = known.get("because") if any(each.relation != "the same" for each in found) else None
    return Published(known["kernel"], tuple(found), because)


@record
class _DerivedBound:
    """Our bound at L = 1: its growth, that of its compulsory part, and the facts of the sizes."""

    cost: Cost
    sizes: Sequence[str]
    growth: s.Expr | None
    touched: s.Expr | None
    facts: tuple[s.Fact, ...]

    @staticmethod
    def of(module: Module, algorithm: s.Algorithm, costs: Costs, cost: Cost) -> _DerivedBound:
        assert cost.orderless is not None
        sizes = module.signatures[algorithm].size_names
        scope = declared_scope(module, algorithm)
        facts = (*algorithm.where, *assumed(algorithm), *above_one(cost.orderless, sizes, scope.facts))
        known = with_all(scope.facts, facts, scope)
        whole, touched = (io_growth_lower_bound(costs, cost, known, touched=only) for only in (False, True))
        return _DerivedBound(cost, sizes, _of_words(whole), _of_words(touched), facts)

    def relation(self, theirs: s.Expr) -> str:
        """How theirs grows relative to ours.

        Theirs leaves lower-order terms out: ours is compared with theirs and the compulsory misses.
        """
        if self.growth is None:
            return "larger"
        both = theirs if self.touched is None else s.Binary("+", theirs, self.touched, span=theirs.span)
        try:
            above, under = is_O(theirs, self.growth, self.facts), is_O(self.growth, both, self.facts)
        except ArchlineError:
            return "unknown"
        match above, under:
            case Proved(), Proved():
                return "the same"
            case Refuted(), _:
                return "larger"
            case Proved(), Refuted():
                return "smaller"
            case _:
                return "unknown"

    def times(self, theirs: s.Expr) -> float | None:
        """How many times ours theirs is at large sizes."""
        assert self.cost.orderless is not None
        point = {**dict.fromkeys(self.sizes, COMPARISON_SIZE), "Z": WORDS, "L": 1}
        try:
            value, own = evaluate(theirs, point), self.cost.orderless.at(point)
        except EvaluationError:
            return None
        return round(float(sum(ends(value)) / 2 / own), 3) if own else None


def _of_words(lines: s.Expr | None) -> s.Expr | None:
    """An expression for lines of one word."""
    return None if lines is None else substituted(lines, {"L": b.ONE})
