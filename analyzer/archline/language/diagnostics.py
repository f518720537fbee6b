"""Rules and diagnostics are defined here, and the error that carries them.

A `Rule` is a code with its documentation, defined next to the check that reports it; `archline explain CODE` prints it.
A `Diagnostic` is one finding: a rule, a message, a place, a hint. A hint that says what to write in whose place is a
`Proposal`: its words and its edits are made together.
"""

from __future__ import annotations

import difflib
import os
import re
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager

from archline.expr.tree import Span
from archline.records import record

ERROR, WARNING, NOTE = "error", "warning", "note"
"""The severities of findings: errors fail a check, warnings do if it is strict, notes never."""
_REGISTRY: dict[str, Rule] = {}


@record
class Rule:
    """A kind of finding: its code, a short title, the text `archline explain` prints (Markdown), and its severity."""

    code: str
    title: str
    explanation: str
    severity: str = ERROR

    def __post_init__(self) -> None:
        # Another process may have sent it before its module is imported here.
        if _REGISTRY.get(self.code, self) != self:
            raise ValueError(f"two rules are called {self.code}")
        _REGISTRY[self.code] = self

    def __reduce__(self) -> tuple[Callable[..., Rule], tuple[str, ...]]:
        return _restore_rule, (self.code, self.title, self.explanation, self.severity)

    @property
    def url(self) -> str:
        """The section of the documentation about the rule, relative to the root of the project."""
        return locate_documentation(self.code)

    @property
    def documentation(self) -> str:
        """The rule's page: a heading and the explanation."""
        return f"# {self.code}: {self.title}\n\n{textwrap.dedent(self.explanation).strip()}\n"


def locate_documentation(code: str) -> str:
    """Return the section of the documentation about the rule of a code, relative to the root of the project."""
    return f"docs/reference/rules.md#{code.lower()}"


def _restore_rule(code: str, *text: str) -> Rule:
    """Return the registered rule of a code that another process sent, or register it: codes are unique."""
    return _REGISTRY.get(code) or Rule(code, *text)


def get_rules_by_code() -> dict[str, Rule]:
    """Return the rules defined by the modules imported so far, by code."""
    return dict(sorted(_REGISTRY.items()))


@record
class Edit:
    """A replacement of the text of a span, which is empty where text is inserted."""

    span: Span
    text: str


def make_insertion(at: Span, text: str) -> Edit:
    """Return the edit that inserts a text before a span."""
    return Edit(Span(at.source, at.line, at.column, at.line, at.column), text)


class Proposal(str):
    """A hint with the edits that it proposes; edits that overlap are alternatives, and the first is taken.

    It is `safe` if nothing else can be meant, so that `archline check --fix` may apply the edits.
    """

    edits: tuple[Edit, ...]
    safe: bool

    def __new__(cls, words: str, edits: Iterable[Edit] = (), safe: bool = True) -> Proposal:
        proposal = super().__new__(cls, words)
        proposal.edits, proposal.safe = tuple(edits), safe
        return proposal


def propose_text(span: Span, text: str, words: str = "write `{}`", safe: bool = True) -> Proposal:
    """Return the hint to replace a span by a text, which stands for `{}` in `words`."""
    return Proposal(words.replace("{}", text.strip()), (Edit(span, text),), safe)


@record
class Related:
    """A place that a finding mentions, such as that of an earlier definition, with a message about it."""

    span: Span
    message: str


@record
class Diagnostic:
    """One finding. `span` is its position in a source; else `path`, and `line` if known."""

    rule: Rule
    message: str
    span: Span | None = None
    path: str | None = None
    line: int | None = None
    hint: str | None = None
    related: tuple[Related, ...] = ()

    def __post_init__(self) -> None:
        # A finding about a block is shown at its header.
        object.__setattr__(self, "span", self.span and self.span.head)

    @property
    def code(self) -> str:
        return self.rule.code

    @property
    def severity(self) -> str:
        """The severity of the rule: `error`, `warning` or `note`."""
        return self.rule.severity

    @property
    def url(self) -> str:
        """The section of the documentation about the rule, relative to the root of the project."""
        return self.rule.url

    @property
    def edits(self) -> tuple[Edit, ...]:
        """The edits that the hint proposes."""
        return self.hint.edits if isinstance(self.hint, Proposal) else ()

    @property
    def safe(self) -> bool:
        """Whether `archline check --fix` may apply the edits."""
        return isinstance(self.hint, Proposal) and self.hint.safe

    @property
    def place(self) -> str:
        """The position as `file:line:column`, without unknown parts."""
        if self.span is not None:
            return str(self.span)
        return ":".join(str(part) for part in (self.path, self.line) if part is not None)

    def render(self) -> str:
        """Return the finding as text: position, code, message, the source line with a caret, the hint."""
        head = f"{self.place}: " if self.place else ""
        parts = [f"{head}{self.rule.code}: {self.message}"]
        if self.span is not None:
            parts.append(_format_excerpt(self.span))
        if self.hint is not None:
            parts.append(f"  hint: {self.hint}")
        return "\n".join(parts)


_EXCERPT_WIDTH = 100


def _format_excerpt(span: Span) -> str:
    lines = span.source.written_lines
    text = lines[span.line - 1] if 0 < span.line <= len(lines) else ""
    start = min(span.column - 1, len(text))
    width = (span.end_column - span.column) if span.end_line == span.line else len(text) - start
    offset = 0
    # A long line is shown around the place, so that the caret stays in sight.
    if len(text) > _EXCERPT_WIDTH:
        offset = max(0, start - _EXCERPT_WIDTH // 2)
        text = text[offset : offset + _EXCERPT_WIDTH]
    shown = "".join(character if character.isprintable() else " " for character in text)
    carets = "^" * max(1, min(width, len(text) - (start - offset)))
    gutter = f"{span.line:>5} | "
    return f"{gutter}{shown}\n{' ' * (len(gutter) - 2)}| {' ' * (start - offset)}{carets}"


class ArchlineError(Exception):
    """Input that cannot be worked with: one or more diagnostics. The command line prints them and exits with 2."""

    def __init__(self, diagnostics: Sequence[Diagnostic]) -> None:
        super().__init__("\n".join(diagnostic.render() for diagnostic in diagnostics))
        self.diagnostics = tuple(diagnostics)

    def __reduce__(self) -> tuple[type[ArchlineError], tuple[tuple[Diagnostic, ...]]]:
        return ArchlineError, (self.diagnostics,)


def describe_defect(problem: Exception) -> str:
    """Describe an unexpected exception in one line; raise it if the variable `ARCHLINE_TRACEBACK` is set."""
    if os.environ.get("ARCHLINE_TRACEBACK"):
        raise problem
    return f"{type(problem).__name__}: {' '.join(str(problem).split())[:200]}"


@contextmanager
def note_defects(defects: list[str] | None, about: str) -> Iterator[None]:
    """Catch an unexpected exception of the enclosed code and add its description, after `about`, to `defects`.

    Without a list the exception is raised, and an ArchlineError, which does not count as a defect, always is.
    """
    try:
        yield
    except Exception as problem:
        if defects is None or isinstance(problem, ArchlineError):
            raise
        defects.append(f"{about}: {describe_defect(problem)}")


def error(
    rule: Rule,
    message: str,
    *,
    span: Span | None = None,
    path: str | None = None,
    line: int | None = None,
    hint: str | None = None,
    related: tuple[Related, ...] = (),
) -> ArchlineError:
    """Return an ArchlineError with a single diagnostic, to be raised."""
    return ArchlineError([Diagnostic(rule, message, span, path, line, hint, related)])


def find_closest(name: str, candidates: Iterable[str], cutoff: float = 0.6) -> str | None:
    """Return the closest of the candidates; None if none has a similarity of `cutoff` or more (1: equal texts).

    A candidate that differs only in upper and lower case is always close.
    """
    names = list(candidates)
    matches = [candidate for candidate in names if candidate.lower() == name.lower()]
    return next(iter(matches or difflib.get_close_matches(name, names, n=1, cutoff=cutoff)), None)


def suggest_closest(name: str, candidates: Iterable[str], span: Span | None = None) -> str | None:
    """Return a hint that names the closest of the candidates; None if none is close.

    It proposes to write that in place of the first such name in the span, if one is given.
    """
    match = find_closest(name, candidates)
    hint = f"did you mean `{match}`?" if match else None
    at = None if span is None else find_in_span(span, name)
    return hint if match is None or at is None else propose_text(at, match, f"{hint}", safe=False)


def find_in_span(span: Span, word: str) -> Span | None:
    """Return the span of the first occurrence of a word in the first line of a span; None if there is none."""
    match = re.search(rf"(?<!\w){re.escape(word)}(?!\w)", span.text)
    if match is None:
        return None
    start = span.column + match.start()
    return Span(span.source, span.line, start, span.line, start + len(word))


def format_count(number: int, noun: str) -> str:
    """Format a count: `1 argument`, `2 arguments`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
