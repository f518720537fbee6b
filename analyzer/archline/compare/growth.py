"""Compare the growth of metrics and terms of energy of two algorithms, with certificates."""

from __future__ import annotations

from collections.abc import Mapping

from archline.expr.text import format_fact
from archline.growth.growths import Growth, decide_side, divide_expressions, is_integer_literal, make_order_formula
from archline.growth.is_big_o import Proved
from archline.records import record, replace

LESS_GROWTH, SAME_GROWTH, GREATER_GROWTH, UNKNOWN_GROWTH = "less", "same", "greater", "unknown"


@record
class GrowthRelation:
    """The growth of the first quantity compared with that of the second: less, same, greater or unknown.

    `ratio` is the Theta class of their quotient if both growths are Theta classes, and "1" if the quantities are equal;
    `bound` is O or Omega if only one direction is proved, `incomparable` if both are refuted. The relation holds under
    `facts`; `proofs` show it.
    """

    relation: str
    ratio: str | None
    first: str | None
    second: str | None
    bound: str = ""
    facts: tuple[str, ...] = ()
    proofs: tuple[Proved, ...] = ()


def compare_growths(first: Mapping[str, Growth], second: Mapping[str, Growth]) -> dict[str, GrowthRelation]:
    """Return the relation of each quantity that both mappings have."""
    return {name: decide_growth_relation(growth, second[name]) for name, growth in first.items() if name in second}


def with_equal_ratios(relations: Mapping[str, GrowthRelation], ratios: Mapping[str, str]) -> dict[str, GrowthRelation]:
    """Return the relations, with the same growth for quantities in `ratios`, whose ratio is constant over all sizes."""
    return {
        name: replace(row, relation=SAME_GROWTH, ratio=ratios[name], bound="") if name in ratios else row
        for name, row in relations.items()
    }


def decide_growth_relation(first: Growth, second: Growth) -> GrowthRelation:
    """Return the relation of two growths under the facts of both."""
    facts = tuple(dict.fromkeys((*first.facts, *second.facts)))
    texts = first.text, second.text
    if first.is_zero or second.is_zero:
        # 0 is of a lower order than any positive cost.
        order = SAME_GROWTH if first.is_zero and second.is_zero else LESS_GROWTH if first.is_zero else GREATER_GROWTH
        positive = all(
            g.lower is not None and not is_integer_literal(g.lower, 0) for g in (first, second) if not g.is_zero
        )
        return GrowthRelation(order if positive else UNKNOWN_GROWTH, None, *texts, facts=tuple(map(format_fact, facts)))
    fact_texts = tuple(map(format_fact, facts))
    at_most, at_least = (decide_side(side, first, second, facts) for side in ("O", "Omega"))
    ratio = None
    if first.tight and second.tight:
        assert first.upper is not None
        assert second.upper is not None
        ratio = make_order_formula("Theta", divide_expressions(first.upper, second.upper))
    unknown = GrowthRelation(
        UNKNOWN_GROWTH, ratio, *texts, facts=fact_texts, proofs=(*at_most.proofs, *at_least.proofs)
    )
    match at_most.outcome, at_least.outcome:
        case "holds", "holds":
            return replace(unknown, relation=SAME_GROWTH, ratio="Theta(1)")
        case "holds", strict:
            return replace(unknown, relation=LESS_GROWTH if strict == "fails" else UNKNOWN_GROWTH, bound="O")
        case strict, "holds":
            return replace(unknown, relation=GREATER_GROWTH if strict == "fails" else UNKNOWN_GROWTH, bound="Omega")
        case "fails", "fails" if first.tight and second.tight:
            return replace(unknown, bound="incomparable")
        case _:
            return unknown
