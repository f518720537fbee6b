"""Represent the findings of `archline check`: a level, a rule, a message and a place; some are ignored."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path

from archline.analysis.checks.endless_loops import iterate_endless_loops
from archline.analysis.checks.failures import find_unset_outputs
from archline.analysis.checks.unread_names import iterate_unread_names
from archline.claims import rules
from archline.growth.short_forms import cut_terms
from archline.language import syntax as s
from archline.language.conditions import NEVER_ENDS, NEVER_READ, NEVER_SET
from archline.language.diagnostics import ERROR, NOTE, WARNING, Diagnostic, locate_documentation, suggest_closest
from archline.language.model import Module
from archline.language.suppressions import Suppression, list_suppressions
from archline.numbers import format_point
from archline.records import field, record, replace
from archline.report.view import (
    BaselineEntry,
    CheckView,
    Contract,
    PlacedEdit,
    RelatedPlace,
    SourcePlace,
    make_path_relative,
)

RULES = {
    rule.code: rule
    for rule in (
        rules.FAILS,
        rules.NOT_DECIDED,
        rules.GREW,
        rules.BECAME_UNKNOWN,
        rules.UNNEEDED,
        NEVER_SET,
        NEVER_READ,
        NEVER_ENDS,
    )
}
"""The rules of the findings that can be selected or ignored, by code."""
NON_CLAIM_FINDINGS = {
    (rules.GREW.code, ERROR): ("cost grew", "costs grew"),
    (rules.GREW.code, WARNING): ("bound rose", "bounds rose"),
    (rules.BECAME_UNKNOWN.code, ERROR): ("cost is unknown or not decided", "costs are unknown or not decided"),
    (NEVER_SET.code, WARNING): ("output is not set", "outputs are not set"),
    (NEVER_READ.code, WARNING): ("name is not read", "names are not read"),
    (NEVER_ENDS.code, WARNING): ("loop never ends", "loops never end"),
    (rules.UNNEEDED.code, WARNING): ("unused entry", "unused entries"),
}
"""Findings that are not about a claim, by code and severity, in words: singular and plural."""
OUTCOME_CODES = {"fails": rules.FAILS.code, "unknown": rules.NOT_DECIDED.code}


@record
class CheckFinding:
    """A finding of a check. The place may be a path alone, or empty; `algorithm` is empty outside of algorithms.

    `claim` is a claim that fails or is not decided, a name that no run sets or nothing reads, or a loop. Findings
    without a claim have a `key` that distinguishes them from others of their code and algorithm and does not depend on
    the wording of the message. Errors fail the check, warnings do if it is strict, notes never. `edits` are the
    edits of its hint; they are `safe` if nothing else can be meant. `related` are further places that it mentions.
    """

    code: str
    severity: str
    title: str
    message: str
    place: SourcePlace
    algorithm: str = ""
    claim: str = ""
    key: str = ""
    edits: tuple[PlacedEdit, ...] = ()
    safe: bool = False
    related: tuple[RelatedPlace, ...] = ()

    @property
    def path(self) -> str:
        """The path of the file; empty if it has none."""
        return self.place.path

    @property
    def line(self) -> int | None:
        """The line; None if it is unknown."""
        return self.place.line or None

    @property
    def url(self) -> str:
        """The section of the documentation about the rule, relative to the root of the project."""
        return locate_documentation(self.code)

    @property
    def identity(self) -> tuple[str, ...]:
        """The code, path, algorithm and claim, by which an entry of a baseline accepts the finding."""
        return self.code, self.path, self.algorithm, self.claim


def select_other_findings(findings: Iterable[CheckFinding]) -> list[CheckFinding]:
    """Return the findings that are not about a claim."""
    return [finding for finding in findings if (finding.code, finding.severity) in NON_CLAIM_FINDINGS]


def make_finding(
    code: str, message: str, place: SourcePlace, algorithm: str = "", claim: str = "", key: str = ""
) -> CheckFinding:
    """Make the finding of a code in `RULES`, with the severity and the title of its rule."""
    rule, whole = RULES[code], f"{algorithm}: {message}" if algorithm else message
    return CheckFinding(code, rule.severity, rule.title, whole, place, algorithm, claim, key)


def convert_diagnostic(problem: Diagnostic) -> CheckFinding:
    """Return the finding of a diagnostic of a program."""
    message = problem.message if problem.hint is None else f"{problem.message}\nhint: {problem.hint}"
    if (span := problem.span) is None:
        place, key = SourcePlace(make_path_relative(problem.path or ""), problem.line or 0), ""
    else:
        place = SourcePlace.of(span)
        key = " ".join("".join(span.source.lines[span.line - 1 : span.line]).split())
    finding = CheckFinding(problem.code, problem.severity, problem.rule.title, message, place, key=key)
    return add_places(finding, problem)


def add_places(finding: CheckFinding, problem: Diagnostic) -> CheckFinding:
    """Return a finding with the edits and the related places of a diagnostic, in paths and lines instead of spans."""
    edits = tuple(PlacedEdit(SourcePlace.of(edit.span), edit.text) for edit in problem.edits)
    related = tuple(RelatedPlace(SourcePlace.of(place.span), place.message) for place in problem.related)
    return replace(finding, edits=edits, safe=problem.safe, related=related)


def list_unset_and_unread(module: Module, algorithm: s.Algorithm, heeded: bool = False) -> tuple[CheckFinding, ...]:
    """Return the warnings about outputs that no run sets, names that nothing reads, and loops that never end.

    With `heeded`, warnings that a comment in the source ignores are left out.
    """
    comments = list_suppressions(module.program, {algorithm.name}, whole=False) if heeded else ()
    unset = [(f"{name}: out", warning, warning.span) for name, warning in find_unset_outputs(module, algorithm).items()]
    unset += [(name, warning, warning.span) for name, warning in iterate_unread_names(algorithm)]
    unset += [(name, warning, warning.span) for name, warning in iterate_endless_loops(module, algorithm)]
    return tuple(
        add_places(
            make_finding(
                warning.code, f"{warning.message}\nhint: {warning.hint}", SourcePlace.of(span), algorithm.name, claim
            ),
            warning,
        )
        for claim, warning, span in unset
        if span and not any(comment.covers_finding(warning.code, algorithm.name, span.line) for comment in comments)
    )


HEADER_ADVICE = "move it to the header of the algorithm"


@record
class CheckReport:
    """The result of `archline check`: targets, and the diagnostics of targets that cannot be checked.

    `strict`: warnings fail the check, too; `certificates`: the proofs of growth that holds are shown. Findings are
    made if their code starts with one of `select`, but not with one of `ignore`. `changes` and the `accepted` entries
    are from a baseline, if one was `compared`. Tools name files by their path from `root`. Text omits claims that
    hold if it is `quiet`, and lists every claim, whatever their number, if it is `verbose`.
    """

    targets: tuple[CheckView, ...]
    problems: tuple[Diagnostic, ...] = ()
    strict: bool = False
    certificates: bool = False
    select: tuple[str, ...] = ("AL",)
    ignore: tuple[str, ...] = ()
    changes: tuple[CheckFinding, ...] = ()
    accepted: tuple[BaselineEntry, ...] = ()
    compared: bool = False
    root: Path = field(default_factory=Path.cwd)
    quiet: bool = False
    verbose: bool = False

    @property
    def all(self) -> tuple[Contract, ...]:
        """Every contract and claim of every target."""
        return tuple(contract for view in self.targets for group in view.groups for contract in group.contracts)

    def is_selected(self, code: str) -> bool:
        """Test whether findings of a code are made."""
        return code.startswith(self.select) and not code.startswith(self.ignore)

    @cached_property
    def findings(self) -> tuple[CheckFinding, ...]:
        """Findings of claims, stopped runs, a baseline, comments, and targets that cannot be checked, in that order."""
        counted = [finding_made for finding_made in self._all_findings if finding_made not in self.ignored]
        unneeded = self._iterate_unneeded_ignores() if self.is_selected(rules.UNNEEDED.code) else ()
        return (*counted, *unneeded, *map(convert_diagnostic, self.problems))

    @cached_property
    def ignored(self) -> frozenset[CheckFinding]:
        """Findings that are not selected, or that a comment or the baseline ignores."""
        accepted = {entry.identity for entry in self.accepted}
        return frozenset(
            result
            for result in self._all_findings
            if result.code in RULES
            and (
                not self.is_selected(result.code)
                or result.identity in accepted
                or any(_comment_covers(view, comment, result) for view in self.targets for comment in view.suppressions)
            )
        )

    @property
    def failing(self) -> list[CheckFinding]:
        """Findings for which the check fails."""
        return [item for item in self.findings if item.severity == ERROR or (self.strict and item.severity == WARNING)]

    def mark_claim(self, contract: Contract) -> str:
        """Return the code of the finding at a claim in brackets, and whether it is ignored; empty if there is none."""
        code, ignored = self.find_code(contract)
        return f"[{code}{', ignored' if ignored else ''}]" if code else ""

    def find_code(self, contract: Contract) -> tuple[str, bool]:
        """Return the code of the finding at a claim, empty if there is none, and whether it is ignored."""
        return self._codes_by_claim.get((contract.place, contract.text), ("", False))

    @cached_property
    def _codes_by_claim(self) -> Mapping[tuple[SourcePlace, str], tuple[str, bool]]:
        return {
            (item.place, item.claim): (item.code, item in self.ignored) for item in self._all_findings if item.claim
        }

    @cached_property
    def _all_findings(self) -> tuple[CheckFinding, ...]:
        """All findings that can be ignored, and notes."""
        result: list[CheckFinding] = []
        for view in self.targets:
            for name, contracts in (*((group.name, group.contracts) for group in view.algorithms), ("", view.claims)):
                result += (_convert_contract(name, claim) for claim in contracts if claim.outcome in OUTCOME_CODES)
            result += [warning for group in view.algorithms for warning in group.warnings]
            for name, stop in ((group.name, group.stop) for group in view.algorithms):
                if stop is not None:
                    message = f"{name}: {stop.text}"
                    result.append(
                        CheckFinding(stop.code, NOTE, stop.title, message, stop.place, name, stop.text, stop.code)
                    )
        return (*result, *self.changes)

    def _iterate_unneeded_ignores(self) -> Iterator[CheckFinding]:
        """Yield findings for comments and entries that ignore none of the findings."""
        for view in self.targets:
            for comment in view.suppressions:
                if reason := self._explain_unneeded(view, comment):
                    place = SourcePlace(view.path, comment.line, comment.column, comment.line, comment.column + 1)
                    yield make_finding(
                        rules.UNNEEDED.code, reason, place, comment.algorithm, key=" ".join(comment.codes)
                    )
        names, needed = ({view.path for view in self.targets}, {item.identity for item in self._all_findings})
        for entry in self.accepted:
            if entry.path in names and entry.identity not in needed:
                message = (
                    f"accepts {entry.code} of `{entry.claim}` in {entry.path}, which is not reported: remove the entry"
                )
                place = SourcePlace(entry.baseline, entry.line)
                yield make_finding(rules.UNNEEDED.code, message, place, entry.algorithm, key=" ".join(entry.identity))

    def _explain_unneeded(self, view: CheckView, comment: Suppression) -> str:
        """Return the reason that a comment is unneeded, and advice; empty if it is needed."""
        if comment.alone:
            place = HEADER_ADVICE if NEVER_SET.code in comment.codes else "put it on the line of the claim"
            return f"a comment on its own line suppresses nothing: {place}"
        codes = set(RULES) - {rules.UNNEEDED.code}
        if not comment.codes:
            return f"the comment names no code, such as {rules.NOT_DECIDED.code}: remove the comment"
        for code in comment.codes:
            if code not in codes:
                near = suggest_closest(code, sorted(codes))
                return (
                    f"`{code}` is not the code of a finding that a comment can ignore: {near or 'remove the comment'}"
                )
            # Codes of a baseline count only if one was compared.
            judged = self.compared or code not in (rules.GREW.code, rules.BECAME_UNKNOWN.code)
            if judged and not any(
                _comment_covers(view, comment, item) for item in self._all_findings if item.code == code
            ):
                advice = HEADER_ADVICE if code == NEVER_SET.code and not comment.algorithm else "remove the comment"
                return f"no {code} is found here: {advice}"
        return ""


def _comment_covers(view: CheckView, comment: Suppression, problem: CheckFinding) -> bool:
    """Test whether a comment in a file ignores a finding."""
    return view.path == problem.place.path and comment.covers_finding(
        problem.code, problem.algorithm, problem.place.line
    )


def _convert_contract(algorithm: str, contract: Contract) -> CheckFinding:
    message = "\n".join([f"{contract.outcome}: {contract.text}", *(list_reasons(contract) or [contract.reason])])
    return make_finding(OUTCOME_CODES[contract.outcome], message, contract.place, algorithm, contract.text)


def list_contract_rows(claims: Sequence[Contract]) -> list[list[str]]:
    """Return rows of each `ensures` with its outcome, and the reason if it fails or is not decided."""
    rows: list[list[str]] = []
    for claim in claims:
        rows += [[claim.outcome, claim.text], *(["", line] for line in list_reasons(claim))]
    return rows


_OUTCOME_VERBS = {
    "holds": ("holds", "hold"), "fails": ("fails", "fail"), "unknown": ("is unknown", "are unknown"),
}  # fmt: skip


def summarise_claims(claims: Iterable[Contract]) -> str:
    """Return `4 claims hold, 1 fails`; empty for no claims."""
    counts = Counter(claim.outcome for claim in claims)
    parts = [(count, verbs[count > 1]) for outcome, verbs in _OUTCOME_VERBS.items() if (count := counts[outcome])]
    nouns = ["claims " if count > 1 else "claim " for count, _ in parts[:1]] + [""] * len(parts)
    return ", ".join(f"{count} {noun}{verb}" for (count, verb), noun in zip(parts, nouns, strict=False))


MAX_DERIVED_LENGTH = 180
"""The maximum length of a bound shown next to a claim; a longer one is cut to its terms of the highest degree."""
UPPER_SEPARATOR = ", at most "


def list_reasons(contract: Contract) -> list[str]:
    """Return lines with the derived cost, the reason and a guard of an undecided or false claim, and assumptions."""
    assuming = [f"assuming {', '.join(contract.assumptions)}"] if contract.assumptions else []
    if contract.outcome not in ("fails", "unknown"):
        return assuming
    at = f"at {format_point(contract.point)}: " if contract.point else ""
    bounds = contract.derived.split("\n")
    shown = [
        UPPER_SEPARATOR.join(cut_terms(cost, MAX_DERIVED_LENGTH) for cost in line.split(UPPER_SEPARATOR))
        for line in bounds
    ]
    # With several costs each line names its cost.
    lines = shown if len(shown) > 1 else [f"derived: {cost}" for cost in shown if cost]
    lines.append(at + contract.reason)
    if contract.suggestion:
        lines.append(f"it fails only where {contract.fails_where}; proved to hold: {contract.suggestion}")
    return lines + assuming
