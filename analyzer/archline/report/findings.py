"""The findings of `archline check`: a level, a rule, a message and a place, without those that are ignored."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path

from archline.analysis.checks.failures import unset_outputs
from archline.claims import rules
from archline.growth.short_forms import cut_terms
from archline.language import syntax as s
from archline.language.conditions import NEVER_SET
from archline.language.diagnostics import Diagnostic, Rule, did_you_mean
from archline.language.model import Module
from archline.language.suppressions import Suppression, list_suppressions
from archline.numbers import point_text
from archline.records import field, record
from archline.report.view import BaselineEntry, CheckView, Contract, SourcePlace, relative

ERROR, WARNING, NOTE = "error", "warning", "note"
RULES: Mapping[str, tuple[str, Rule]] = {
    rule.code: (level, rule)
    for level, rule in (
        (ERROR, rules.FAILS),
        (WARNING, rules.NOT_DECIDED),
        (ERROR, rules.GREW),
        (ERROR, rules.BECAME_UNKNOWN),
        (WARNING, rules.UNNEEDED),
        (WARNING, NEVER_SET),
    )
}
"""The level of each finding that can be selected or ignored, and its rule."""
OF_ENTRIES = {
    (rules.GREW.code, ERROR): ("cost grew", "costs grew"),
    (rules.GREW.code, WARNING): ("bound rose", "bounds rose"),
    (rules.BECAME_UNKNOWN.code, ERROR): ("cost became unknown", "costs became unknown"),
    (NEVER_SET.code, WARNING): ("output is not set", "outputs are not set"),
    (rules.UNNEEDED.code, WARNING): ("unused entry", "unused entries"),
}
"""Those that are about no claim, by code and level, in words: one, and several."""
OUTCOMES = {"fails": rules.FAILS.code, "unknown": rules.NOT_DECIDED.code}


@record
class CheckFinding:
    """What a check found. The place may be a path alone, or none; `algorithm` is empty for what is not in one.

    `claim` is what fails or is not decided, or the `out` of a header that no run keeps. Findings without a claim have a
    `key` that distinguishes them from others of their code and algorithm and does not depend on the wording of the
    message. Errors fail the check, warnings do where it is strict, notes never.
    """

    code: str
    level: str
    title: str
    message: str
    place: SourcePlace
    algorithm: str = ""
    claim: str = ""
    key: str = ""

    @property
    def path(self) -> str:
        """The file; empty where there is none."""
        return self.place.path

    @property
    def line(self) -> int | None:
        """The line; None where none is known."""
        return self.place.line or None

    @property
    def about(self) -> tuple[str, ...]:
        """What an entry of a baseline that takes it over has in common with it."""
        return self.code, self.path, self.algorithm, self.claim


def finding(
    code: str, message: str, place: SourcePlace, algorithm: str = "", claim: str = "", key: str = ""
) -> CheckFinding:
    """A finding that can be selected and ignored."""
    level, rule = RULES[code]
    return CheckFinding(
        code, level, rule.title, f"{algorithm}: {message}" if algorithm else message, place, algorithm, claim, key
    )


def of_diagnostic(problem: Diagnostic) -> CheckFinding:
    """What is wrong with a program as a finding."""
    message = problem.message if problem.hint is None else f"{problem.message}\nhint: {problem.hint}"
    if (span := problem.span) is None:
        place, key = SourcePlace(relative(problem.path or ""), problem.line or 0), ""
    else:
        place = SourcePlace.of(span)
        key = " ".join("".join(span.source.lines[span.line - 1 : span.line]).split())
    return CheckFinding(problem.rule.code, ERROR, problem.rule.title, message, place, key=key)


def unset_findings(module: Module, algorithm: s.Algorithm, heeded: bool = False) -> tuple[CheckFinding, ...]:
    """The warnings about outputs of an algorithm; comments in the program are `heeded` or not."""
    comments = list_suppressions(module.program, {algorithm.name}, whole=False) if heeded else ()
    found = ((f"{name}: out", warning, warning.span) for name, warning in unset_outputs(module, algorithm).items())
    return tuple(
        finding(warning.code, f"{warning.message}\nhint: {warning.hint}", SourcePlace.of(span), algorithm.name, claim)
        for claim, warning, span in found
        if span and not any(comment.covers(warning.code, algorithm.name, span.line) for comment in comments)
    )


ON_HEADER = "move it to the header of the algorithm"


@record
class CheckReport:
    """What `archline check` found: targets, and the diagnostics of those that cannot be checked.

    `strict`: warnings fail the check, too; `certificates`: the proofs of growth that holds are shown. Findings of a
    code that starts with one of `select` are made, but for those of `ignore`. `changes` and what is `accepted`
    are those of a baseline, if one was `compared`. Tools name files by their path from `root`. Text shows what does not
    hold alone where it is `quiet`, and all that holds, however much, where it is `verbose`.
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

    def selected(self, code: str) -> bool:
        """Whether findings of a code are made."""
        return code.startswith(self.select) and not code.startswith(self.ignore)

    @cached_property
    def findings(self) -> tuple[CheckFinding, ...]:
        """Those of claims, runs that stop, a baseline, comments, and targets that cannot be checked, in that order."""
        counted = [each for each in self._made if each not in self.ignored]
        unneeded = self._unneeded() if self.selected(rules.UNNEEDED.code) else ()
        return (*counted, *unneeded, *map(of_diagnostic, self.problems))

    @cached_property
    def ignored(self) -> frozenset[CheckFinding]:
        """Those that are not selected, or that a comment or the baseline ignores."""
        taken = {each.about for each in self.accepted}
        return frozenset(
            each
            for each in self._made
            if each.code in RULES
            and (
                not self.selected(each.code)
                or each.about in taken
                or any(_comment_covers(view, comment, each) for view in self.targets for comment in view.suppressions)
            )
        )

    @property
    def failing(self) -> list[CheckFinding]:
        """Those for which the check fails."""
        return [each for each in self.findings if each.level == ERROR or (self.strict and each.level == WARNING)]

    def of(self, contract: Contract) -> tuple[str, bool]:
        """The code of the finding at a claim, empty where there is none, and whether it is ignored."""
        return self._of_claims.get((contract.place, contract.text), ("", False))

    @cached_property
    def _of_claims(self) -> Mapping[tuple[SourcePlace, str], tuple[str, bool]]:
        return {(each.place, each.claim): (each.code, each in self.ignored) for each in self._made if each.claim}

    @cached_property
    def _made(self) -> tuple[CheckFinding, ...]:
        """All that can be ignored, and notes."""
        found: list[CheckFinding] = []
        for view in self.targets:
            for name, contracts in (*((each.name, each.contracts) for each in view.algorithms), ("", view.claims)):
                found += (_of_contract(name, each) for each in contracts if each.outcome in OUTCOMES)
            found += [warning for group in view.algorithms for warning in group.warnings]
            for name, stop in ((each.name, each.stop) for each in view.algorithms):
                if stop is not None:
                    message = f"{name}: {stop.text}"
                    found.append(
                        CheckFinding(stop.code, NOTE, stop.title, message, stop.place, name, stop.text, stop.code)
                    )
        return (*found, *self.changes)

    def _unneeded(self) -> Iterator[CheckFinding]:
        """Comments and entries that ignore none of the findings."""
        for view in self.targets:
            for comment in view.suppressions:
                if reason := self._reason(view, comment):
                    place = SourcePlace(view.path, comment.line, comment.column, comment.line, comment.column + 1)
                    yield finding(rules.UNNEEDED.code, reason, place, comment.algorithm, key=" ".join(comment.codes))
        names, found = {each.path for each in self.targets}, {each.about for each in self._made}
        for entry in self.accepted:
            if entry.path in names and entry.about not in found:
                message = (
                    f"accepts {entry.code} of `{entry.claim}` in {entry.path}, which is not found: remove the entry"
                )
                place = SourcePlace(entry.baseline, entry.line)
                yield finding(rules.UNNEEDED.code, message, place, entry.algorithm, key=" ".join(entry.about))

    def _reason(self, view: CheckView, comment: Suppression) -> str:
        """Why nothing needs a comment, and what to do about it; empty where something does."""
        if comment.alone:
            place = ON_HEADER if NEVER_SET.code in comment.codes else "put it on the line of the claim"
            return f"a comment on its own line suppresses nothing: {place}"
        known = set(RULES) - {rules.UNNEEDED.code}
        if not comment.codes:
            return f"the comment names no code, such as {rules.NOT_DECIDED.code}: remove the comment"
        for code in comment.codes:
            if code not in known:
                near = did_you_mean(code, sorted(known))
                return f"`{code}` is not the code of a finding that a comment ignores: {near or 'remove the comment'}"
            # Those about a baseline count only where there is one.
            judged = self.compared or code not in (rules.GREW.code, rules.BECAME_UNKNOWN.code)
            if judged and not any(_comment_covers(view, comment, each) for each in self._made if each.code == code):
                advice = ON_HEADER if code == NEVER_SET.code and not comment.algorithm else "remove the comment"
                return f"no {code} is found here: {advice}"
        return ""


def _comment_covers(view: CheckView, comment: Suppression, found: CheckFinding) -> bool:
    """Whether a comment in a file ignores a finding."""
    return view.path == found.place.path and comment.covers(found.code, found.algorithm, found.place.line)


def _of_contract(algorithm: str, contract: Contract) -> CheckFinding:
    message = "\n".join([f"{contract.outcome}: {contract.text}", *(reasons(contract) or [contract.reason])])
    return finding(OUTCOMES[contract.outcome], message, contract.place, algorithm, contract.text)


def contracts(found: Sequence[Contract]) -> list[list[str]]:
    """Rows of each `ensures` with its outcome, and why it fails or is not decided."""
    rows: list[list[str]] = []
    for each in found:
        rows += [[each.outcome, each.text], *(["", line] for line in reasons(each))]
    return rows


_OUTCOMES = {
    "holds": ("holds", "hold"), "fails": ("fails", "fail"), "unknown": ("is unknown", "are unknown"),
}  # fmt: skip


def tally(found: Iterable[Contract]) -> str:
    """`4 claims hold, 1 fails`; empty for no claims."""
    counts = Counter(each.outcome for each in found)
    parts = [(count, said[count > 1]) for each, said in _OUTCOMES.items() if (count := counts[each])]
    nouns = ["claims " if count > 1 else "claim " for count, _ in parts[:1]] + [""] * len(parts)
    return ", ".join(f"{count} {noun}{verb}" for (count, verb), noun in zip(parts, nouns, strict=False))


MAX_DERIVED = 180
"""Characters of a bound that are shown next to a claim; of longer ones the first terms, those of the highest degree."""
AT_MOST = ", at most "


def reasons(contract: Contract) -> list[str]:
    """Why a contract fails or is not decided, and the guard under which it holds."""
    assuming = [f"assuming {', '.join(contract.assumptions)}"] if contract.assumptions else []
    if contract.outcome not in ("fails", "unknown"):
        return assuming
    at = f"at {point_text(contract.point)}: " if contract.point else ""
    bounds = contract.derived.split("\n")
    shown = [AT_MOST.join(cut_terms(each, MAX_DERIVED) for each in line.split(AT_MOST)) for line in bounds]
    # Of several costs each says which it is.
    lines = shown if len(shown) > 1 else [f"derived: {each}" for each in shown if each]
    lines.append(at + contract.reason)
    if contract.suggestion:
        lines.append(f"it fails only where {contract.fails_where}; proved to hold: {contract.suggestion}")
    return lines + assuming
