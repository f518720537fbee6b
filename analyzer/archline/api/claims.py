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


def decide_file_claims(
    module: Module,
    where: str | None = None,
    defects: list[str] | None = None,
    *,
    certificates: bool = False,
    seconds: int = 0,
) -> tuple[Contract, ...]:
    """Decide the claims of a file, in order, under further facts `where`; each takes at most `seconds` (0: no limit).

    With `certificates` the proofs of growth are added. A defect of archline in a claim is added to `defects` if that is
    given. Raises ArchlineError (AL45x) for machines and models that are unknown or do not fit.
    """
    algorithms, contracts = ClaimedAlgorithms(module), list[Contract]()
    for item in module.program.items:
        if isinstance(item, s.Claim):
            set_time_limit(seconds)
            with note_defects(defects, f"`{format_claim(item)}`"):
                contracts.append(_decide_contract(item, algorithms, where, certificates))
    return tuple(contracts)


def _decide_contract(claim: s.Claim, algorithms: ClaimedAlgorithms, where: str | None, certificates: bool) -> Contract:
    more = parse_facts(where, "where") if where else ()
    about = ClaimOfCosts(claim, algorithms, more)
    verdict = about.decide()
    shown = [proof.certificate for proof in about.proofs] if certificates and verdict.outcome == "holds" else []
    return Contract(
        format_claim(claim), verdict.outcome, verdict.reason, verdict.point, SourcePlace.of(claim.span), tuple(shown),
        verdict.bounds, assumptions=tuple(about.assumed),
    )  # fmt: skip
