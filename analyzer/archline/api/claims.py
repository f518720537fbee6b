"""Decide the claims of a file, and list the verdicts."""

from __future__ import annotations

from archline.algebra.effort import set_time_limit
from archline.compare.claims import ClaimedAlgorithms, ClaimOfCosts
from archline.language import syntax as s
from archline.language.diagnostics import note_defects
from archline.language.format_statements import format_claim
from archline.language.model import Module
from archline.language.parser import parse_facts
from archline.report.view import Contract, SourcePlace


def claims(
    module: Module,
    where: str | None = None,
    defects: list[str] | None = None,
    *,
    certificates: bool = False,
    seconds: int = 0,
) -> tuple[Contract, ...]:
    """The verdicts on the claims of a file, in order, each in so many seconds (0: as long as it takes).

    Raises ArchlineError (AL45x) for machines and models that are unknown or do not fit.
    """
    known, found = ClaimedAlgorithms(module), list[Contract]()
    for each in module.program.items:
        if isinstance(each, s.Claim):
            set_time_limit(seconds)
            with note_defects(defects, f"`{format_claim(each)}`"):
                found.append(_contract(each, known, where, certificates))
    return tuple(found)


def _contract(claim: s.Claim, known: ClaimedAlgorithms, where: str | None, certificates: bool) -> Contract:
    more = parse_facts(where, "where") if where else ()
    about = ClaimOfCosts(claim, known, more)
    found = about.decided()
    shown = [each.certificate for each in about.proofs] if certificates and found.outcome == "holds" else []
    return Contract(
        format_claim(claim), found.outcome, found.reason, found.point, SourcePlace.of(claim.span), tuple(shown),
        found.bounds, assumptions=tuple(about.assumed),
    )  # fmt: skip
