"""The growth of two algorithms' metrics and terms of energy compared, with certificates."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from archline.algebra.asymptotic.is_big_o import Proved, Refuted, Verdict, is_O
from archline.algebra.asymptotic.log_domain import Domain
from archline.algebra.asymptotic.simplify import is_number, quotient
from archline.energy.growth import Growth
from archline.language import syntax as s
from archline.language.diagnostics import ArchlineError
from archline.language.format_expressions import format_fact
from archline.records import record, replace

LESS, SAME, GREATER, UNKNOWN = "less", "same", "greater", "unknown"


@record
class Relation:
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


def compared(first: Mapping[str, Growth], second: Mapping[str, Growth]) -> dict[str, Relation]:
    """The relation of each quantity that both have."""
    return {name: relation(each, second[name]) for name, each in first.items() if name in second}


def with_equal(relations: Mapping[str, Relation], equal: Collection[str]) -> dict[str, Relation]:
    """The relations, where those that are `equal` at all sizes are of the same order, whatever that is."""
    return {
        name: replace(each, relation=SAME, ratio="1", bound="") if name in equal else each
        for name, each in relations.items()
    }


def relation(one: Growth, other: Growth) -> Relation:
    """The relation of two growths under the facts of both."""
    facts = tuple(dict.fromkeys((*one.facts, *other.facts)))
    texts = one.text, other.text
    if one.is_zero or other.is_zero:
        # Nothing is of a lower order than whatever is counted.
        which = SAME if one.is_zero and other.is_zero else LESS if one.is_zero else GREATER
        positive = all(
            each.lower is not None and not is_number(each.lower, 0) for each in (one, other) if not each.is_zero
        )
        return Relation(which if positive else UNKNOWN, None, *texts, facts=tuple(map(format_fact, facts)))
    known = tuple(map(format_fact, facts))
    try:
        domain = Domain(facts)
    except ArchlineError:
        return Relation(UNKNOWN, None, *texts, facts=known)
    at_most, at_least = _asked(one.upper, other.lower, domain), _asked(other.upper, one.lower, domain)
    proofs = tuple(each for each in (at_most, at_least) if isinstance(each, Proved))
    ratio = None
    if one.tight and other.tight:
        assert one.upper is not None
        assert other.upper is not None
        ratio = f"Theta({quotient(one.upper, other.upper)})"
    match at_most, at_least:
        case Proved(), Proved():
            return Relation(SAME, "Theta(1)", *texts, facts=known, proofs=proofs)
        case Proved(), _:
            strict = isinstance(_asked(other.lower, one.upper, domain), Refuted)
            return Relation(LESS if strict else UNKNOWN, ratio, *texts, bound="O", facts=known, proofs=proofs)
        case _, Proved():
            strict = isinstance(_asked(one.lower, other.upper, domain), Refuted)
            return Relation(GREATER if strict else UNKNOWN, ratio, *texts, bound="Omega", facts=known, proofs=proofs)
        case _:
            pass
    both = isinstance(at_most, Refuted) and isinstance(at_least, Refuted) and one.tight and other.tight
    return Relation(UNKNOWN, ratio, *texts, bound="incomparable" if both else "", facts=known)


def _asked(f: s.Expr | None, g: s.Expr | None, domain: Domain) -> Verdict | None:
    if f is None or g is None:
        return None
    try:
        return is_O(f, g, domain)
    except ArchlineError:
        return None
