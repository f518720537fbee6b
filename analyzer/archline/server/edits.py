"""Documents are edited here: all safe fixes of their findings are made, and derived costs are added as claims."""

from __future__ import annotations

from archline.api.fixes import MAX_ROUNDS
from archline.api.modules import loads
from archline.language import syntax as s
from archline.language.diagnostics import ArchlineError
from archline.language.edits import apply_edits, choose_edits
from archline.server.derivation import Answer
from archline.server.documents import Analysis


def fix_text(analysis: Analysis) -> str:
    """Return the text of a document with all safe edits of its findings, repeatedly, as one can uncover the next."""
    text, diagnostics = analysis.text, analysis.diagnostics
    for _ in range(MAX_ROUNDS):
        safe = [diagnostic for diagnostic in diagnostics if diagnostic.safe]
        sources = (edit.span.source for diagnostic in safe for edit in diagnostic.edits)
        source = next((source for source in sources if source.path == analysis.path), None)
        if source is None:
            break
        text = apply_edits(text, choose_edits(safe, source))
        try:
            loads(text, path=analysis.path, overlay=analysis.overlay)
            break
        except ArchlineError as problem:
            diagnostics = problem.diagnostics
    return text


def propose_ensures(algorithm: s.Algorithm, answer: Answer) -> tuple[int, str]:
    """Return the lines of `ensures` for the exact costs that no claim of an algorithm gives, and where to insert them.

    The place is a line, from 0: behind the clauses of the algorithm, before its first statement and comments on it.
    """
    claimed = {claim.metric for claim in algorithm.ensures if claim.relation == "=="}
    lines = algorithm.span.source.lines
    # Registers of parameters are declared at their places in the header.
    first = min(line for node in algorithm.body if (line := node.span.line) > algorithm.head.end_line) - 1
    margin = lines[first][: len(lines[first]) - len(lines[first].lstrip())]
    while lines[first - 1].strip() == "" or lines[first - 1].lstrip().startswith("#"):
        first -= 1
    new = {metric: cost.text for metric, cost in answer.costs.items() if cost.exact and metric not in claimed}
    return first, "".join(f"{margin}ensures {metric} == {text}\n" for metric, text in new.items())
