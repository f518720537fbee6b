"""Compare published lower bounds on io with the derived ones; `bounds/published.json` has them by kernel.

The published bounds are leading terms, for lines of one word (L = 1) and a fast memory of S words. Their expressions
are read by the parser of the language.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from archline.analysis.cost import Cost, Costs
from archline.analysis.sampling import assumed
from archline.cost_growth.any_schedule import above_one, io_growth_lower_bound
from archline.expr import build as b
from archline.expr.intervals import EvaluationError
from archline.expr.text import format_expression
from archline.expr.tree import substitute_names
from archline.expr.values import bounds_of_value, evaluate
from archline.growth.is_big_o import Proved, Refuted, is_O
from archline.ir.conditions import with_all_facts
from archline.ir.declarations import declared_scope
from archline.language import syntax as s
from archline.language.diagnostics import ArchlineError
from archline.language.model import Module
from archline.language.parser import parse_expression
from archline.records import record
from archline.resources import resource

COMPARISON_SIZE, WORDS = 2**40, 2**24
"""The size and the words of fast memory at which leading coefficients are compared."""


@record
class PublishedBound:
    """A published bound in the algorithm's sizes, its authors `by`, and its relation to the derived bound.

    `relation` compares the growth of the published bound with that of the derived one: "the same", "larger", "smaller"
    or "unknown"; `times` is their ratio at large sizes, if the growth is the same.
    """

    by: str
    source: str
    text: str
    relation: str
    times: float | None


@record
class Published:
    """The published bounds of one kernel; `because` explains why a bound differs in growth from the derived one."""

    kernel: str
    bounds: tuple[PublishedBound, ...]
    because: str | None


@lru_cache(maxsize=1)
def published_tables() -> dict[str, Any]:
    """Load `source`, `kernels`, and `algorithms` with `kernel`, `sizes` and `because` from the data file."""
    tables: dict[str, Any] = json.loads((resource("bounds") / "published.json").read_text(encoding="utf-8"))
    return tables


def target_of(algorithm: s.Algorithm) -> str | None:
    """Return the name of a library algorithm, as `dense.matmul::matmul_basic`; None for other algorithms."""
    root, path = resource("stdlib").resolve(), Path(str(algorithm.span.source.path))
    try:
        inside = path.resolve().relative_to(root)
    except (OSError, ValueError):
        return None
    return f"{'.'.join(inside.with_suffix('').parts)}::{algorithm.name}"


def published_bounds(module: Module, algorithm: s.Algorithm, costs: Costs, cost: Cost) -> Published | None:
    """Compare the published bounds of a library algorithm with the derived one; None for other algorithms."""
    entry = published_tables()["algorithms"].get(target_of(algorithm))
    if entry is None or cost.orderless is None:
        return None
    sizes = {name: parse_expression(value) for name, value in (entry["sizes"] | {"S": "Z"}).items()}
    ours = _DerivedBound.of(module, algorithm, costs, cost)
    result = []
    for by, text in published_tables()["kernels"][entry["kernel"]].items():
        theirs = substitute_names(parse_expression(text), sizes)
        relation = ours.relation(theirs)
        times = ours.times(theirs) if relation == "the same" else None
        result.append(PublishedBound(by, published_tables()["source"][by], format_expression(theirs), relation, times))
    because = entry.get("because") if any(published.relation != "the same" for published in result) else None
    return Published(entry["kernel"], tuple(result), because)


@record
class _DerivedBound:
    """The derived bound at L = 1: its growth, that of its compulsory misses, and the facts about the sizes."""

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
        known = with_all_facts(scope.facts, facts, scope)
        whole, touched = (io_growth_lower_bound(costs, cost, known, touched=only) for only in (False, True))
        return _DerivedBound(cost, sizes, _of_words(whole), _of_words(touched), facts)

    def relation(self, theirs: s.Expr) -> str:
        """Compare the growth of a published bound, `theirs`, with that of the derived one; see `PublishedBound`.

        Published bounds omit lower-order terms, so the compulsory misses are added to them.
        """
        if self.growth is None:
            return "larger"
        both = theirs if self.touched is None else s.Binary("+", theirs, self.touched, span=theirs.span)
        try:
            below, above = is_O(theirs, self.growth, self.facts), is_O(self.growth, both, self.facts)
        except ArchlineError:
            return "unknown"
        match below, above:
            case Proved(), Proved():
                return "the same"
            case Refuted(), _:
                return "larger"
            case Proved(), Refuted():
                return "smaller"
            case _:
                return "unknown"

    def times(self, theirs: s.Expr) -> float | None:
        """Return the ratio of a published bound to the derived one at large sizes; None without values."""
        assert self.cost.orderless is not None
        point = {**dict.fromkeys(self.sizes, COMPARISON_SIZE), "Z": WORDS, "L": 1}
        try:
            value, derived = evaluate(theirs, point), self.cost.orderless.at(point)
        except EvaluationError:
            return None
        return round(float(sum(bounds_of_value(value)) / 2 / derived), 3) if derived else None


def _of_words(lines: s.Expr | None) -> s.Expr | None:
    """Substitute L = 1 in an expression; None stays None."""
    return None if lines is None else substitute_names(lines, {"L": b.ONE})
