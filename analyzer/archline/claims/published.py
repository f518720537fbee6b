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
from archline.analysis.sampling import list_assumed_facts
from archline.cost_growth.any_schedule import find_any_schedule_growth, list_facts_above_one
from archline.expr import build as b
from archline.expr.intervals import EvaluationError
from archline.expr.text import format_expression
from archline.expr.tree import substitute_names
from archline.expr.values import bounds_of_value, evaluate
from archline.growth.is_big_o import Proved, Refuted, is_O
from archline.ir.conditions import with_facts
from archline.ir.declarations import declared_scope
from archline.language import syntax as s
from archline.language.diagnostics import ArchlineError
from archline.language.model import Module
from archline.language.parser import parse_expression
from archline.records import record
from archline.resources import find_resource

COMPARISON_SIZE, COMPARISON_WORDS = 2**40, 2**24
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
class PublishedComparison:
    """The published bounds of one kernel; `because` explains why a bound differs in growth from the derived one."""

    kernel: str
    bounds: tuple[PublishedBound, ...]
    because: str | None


@lru_cache(maxsize=1)
def load_published_tables() -> dict[str, Any]:
    """Load `source`, `kernels`, and `algorithms` with `kernel`, `sizes` and `because` from the data file."""
    tables: dict[str, Any] = json.loads((find_resource("bounds") / "published.json").read_text(encoding="utf-8"))
    return tables


def name_library_algorithm(algorithm: s.Algorithm) -> str | None:
    """Return the name of a library algorithm, as `dense.matmul::matmul_basic`; None for other algorithms."""
    root, path = find_resource("stdlib").resolve(), Path(str(algorithm.span.source.path))
    try:
        inside = path.resolve().relative_to(root)
    except (OSError, ValueError):
        return None
    return f"{'.'.join(inside.with_suffix('').parts)}::{algorithm.name}"


def compare_published_bounds(
    module: Module, algorithm: s.Algorithm, costs: Costs, cost: Cost
) -> PublishedComparison | None:
    """Compare the published bounds of a library algorithm with the derived one.

    None for other algorithms, or if no bound for any schedule is derived.
    """
    entry = load_published_tables()["algorithms"].get(name_library_algorithm(algorithm))
    if entry is None or cost.any_schedule_bound is None:
        return None
    sizes = {name: parse_expression(value) for name, value in (entry["sizes"] | {"S": "Z"}).items()}
    ours = _DerivedBound.derive(module, algorithm, costs, cost)
    result = []
    for by, text in load_published_tables()["kernels"][entry["kernel"]].items():
        theirs = substitute_names(parse_expression(text), sizes)
        relation = ours.compare_growth(theirs)
        times = ours.compute_ratio(theirs) if relation == "the same" else None
        result.append(
            PublishedBound(by, load_published_tables()["source"][by], format_expression(theirs), relation, times)
        )
    because = entry.get("because") if any(published.relation != "the same" for published in result) else None
    return PublishedComparison(entry["kernel"], tuple(result), because)


@record
class _DerivedBound:
    """The derived bound at L = 1: its growth, that of its compulsory misses, and the facts about the sizes."""

    cost: Cost
    sizes: Sequence[str]
    growth: s.Expr | None
    touched: s.Expr | None
    facts: tuple[s.Fact, ...]

    @staticmethod
    def derive(module: Module, algorithm: s.Algorithm, costs: Costs, cost: Cost) -> _DerivedBound:
        assert cost.any_schedule_bound is not None
        sizes = module.signatures[algorithm].size_names
        scope = declared_scope(module, algorithm)
        facts = (
            *algorithm.where,
            *list_assumed_facts(algorithm),
            *list_facts_above_one(cost.any_schedule_bound, sizes, scope.facts),
        )
        known = with_facts(scope.facts, facts, scope)
        whole, touched = (find_any_schedule_growth(costs, cost, known, touched=only) for only in (False, True))
        return _DerivedBound(cost, sizes, _substitute_one_word_lines(whole), _substitute_one_word_lines(touched), facts)

    def compare_growth(self, theirs: s.Expr) -> str:
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

    def compute_ratio(self, theirs: s.Expr) -> float | None:
        """Return the ratio of a published bound to the derived one at large sizes; None if a bound has no value."""
        assert self.cost.any_schedule_bound is not None
        point = {**dict.fromkeys(self.sizes, COMPARISON_SIZE), "Z": COMPARISON_WORDS, "L": 1}
        try:
            value, derived = evaluate(theirs, point), self.cost.any_schedule_bound.evaluate(point)
        except EvaluationError:
            return None
        return round(float(sum(bounds_of_value(value)) / 2 / derived), 3) if derived else None


def _substitute_one_word_lines(lines: s.Expr | None) -> s.Expr | None:
    """Substitute L = 1 in an expression; None stays None."""
    return None if lines is None else substitute_names(lines, {"L": b.ONE})
