"""The growth of two algorithms' metrics and terms of energy compared, with certificates."""

from __future__ import annotations

from collections.abc import Mapping

from archline.expr.text import format_fact
from archline.growth.growths import Growth, decide_side, is_number, order, quotient
from archline.growth.is_big_o import Proved
from archline.records import record, replace

LESS, SAME, GREATER, UNKNOWN = "less", "same", "greater", "unknown"


@record
class GrowthRelation:
    """The growth of the first against that of the second: less, same, greater or unknown.

    `ratio` is what their quotient is Theta of, where both are known tightly, and "1" where they are equal; `bound` is O
    or Omega where one direction alone is proved, `incomparable` where both are refuted. `facts` are those that it
    depends on, `proofs` show it.
    """

    relation: str
    ratio: str | None
    first: str | None
    second: str | None
    bound: str = ""
    facts: tuple[str, ...] = ()
    proofs: tuple[Proved, ...] = ()


def compared(first: Mapping[str, Growth], second: Mapping[str, Growth]) -> dict[str, GrowthRelation]:
    """The relation of each quantity that both have."""
    return {name: relation(each, second[name]) for name, each in first.items() if name in second}


def with_ratios(relations: Mapping[str, GrowthRelation], ratios: Mapping[str, str]) -> dict[str, GrowthRelation]:
    """The relations, where those with the same ratio at all sizes are of the same order, whatever that is."""
    return {
        name: replace(each, relation=SAME, ratio=ratios[name], bound="") if name in ratios else each
        for name, each in relations.items()
    }


def relation(one: Growth, other: Growth) -> GrowthRelation:
    """The relation of two growths under the facts of both."""
    facts = tuple(dict.fromkeys((*one.facts, *other.facts)))
    texts = one.text, other.text
    if one.is_zero or other.is_zero:
        # Nothing is of a lower order than whatever is counted.
        which = SAME if one.is_zero and other.is_zero else LESS if one.is_zero else GREATER
        positive = all(
            each.lower is not None and not is_number(each.lower, 0) for each in (one, other) if not each.is_zero
        )
        return GrowthRelation(which if positive else UNKNOWN, None, *texts, facts=tuple(map(format_fact, facts)))
    known = tuple(map(format_fact, facts))
    at_most, at_least = (decide_side(side, one, other, facts) for side in ("O", "Omega"))
    ratio = None
    if one.tight and other.tight:
        assert one.upper is not None
        assert other.upper is not None
        ratio = order("Theta", quotient(one.upper, other.upper))
    found = GrowthRelation(UNKNOWN, ratio, *texts, facts=known, proofs=(*at_most.proofs, *at_least.proofs))
    match at_most.outcome, at_least.outcome:
        case "holds", "holds":
            return replace(found, relation=SAME, ratio="Theta(1)")
        case "holds", strict:
            return replace(found, relation=LESS if strict == "fails" else UNKNOWN, bound="O")
        case strict, "holds":
            return replace(found, relation=GREATER if strict == "fails" else UNKNOWN, bound="Omega")
        case "fails", "fails" if one.tight and other.tight:
            return replace(found, bound="incomparable")
        case _:
            return found
