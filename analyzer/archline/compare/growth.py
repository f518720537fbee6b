"""The growth of two algorithms' metrics and terms of energy compared, with certificates."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from archline.claims.growth import Outcome, counterexample
from archline.expr.text import format_fact
from archline.growth.growths import Growth, dominated, is_number, quotient
from archline.growth.is_big_o import Proved, Refuted
from archline.growth.log_domain import Domain
from archline.language import syntax as s
from archline.language.diagnostics import ArchlineError
from archline.records import field, record, replace

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
    at_most, at_least = (half(side, one, other, facts) for side in ("O", "Omega"))
    ratio = None
    if one.tight and other.tight:
        assert one.upper is not None
        assert other.upper is not None
        ratio = f"Theta({quotient(one.upper, other.upper)})"
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


@record
class OneSidedVerdict:
    """Whether one quantity is O of another, or Omega: the outcome, why, and the proofs where it holds.

    `shown` has the counterexample where the growths refute it.
    """

    outcome: Outcome
    reason: str
    proofs: tuple[Proved, ...] = ()
    shown: Mapping[str, Any] = field(default_factory=dict)


def half(side: str, one: Growth, other: Growth, facts: tuple[s.Fact, ...]) -> OneSidedVerdict:
    """Whether the first is O (or Omega) of the second where the facts hold, by their growths."""
    less, more = (one, other) if side == "O" else (other, one)
    try:
        domain = Domain(facts)
    except ArchlineError as problem:
        return OneSidedVerdict("unknown", problem.diagnostics[0].message)
    match dominated(less, more, domain):
        case Proved() as proof:
            return OneSidedVerdict("holds", "proved for all sizes", (proof,))
        case Refuted() as refuted:
            return OneSidedVerdict("fails", counterexample(refuted, side), shown=refuted.counterexample)
        case _:
            return OneSidedVerdict("unknown", "what is known of their growth does not decide it")


def together(halves: Mapping[str, OneSidedVerdict]) -> OneSidedVerdict:
    """The verdict on a claim of both halves, or of one: of two it is said which is open."""
    for side, each in halves.items():
        if each.outcome == "fails":
            return replace(each, reason=f"{side} is refuted: {each.reason}" if len(halves) > 1 else each.reason)
    undecided = {side: each for side, each in halves.items() if each.outcome != "holds"}
    proofs = tuple(proof for each in halves.values() for proof in each.proofs)
    if not undecided:
        return replace(next(iter(halves.values())), proofs=proofs)
    side, first = next(iter(undecided.items()))
    known = [f"{name} is proved, " for name in halves if name not in undecided]
    reason = f"{''.join(known)}{' and '.join(undecided)} is open: {first.reason}" if len(halves) > 1 else first.reason
    return OneSidedVerdict("unknown", reason)
