"""Colour the text that commands print on terminals, and show control characters there instead of sending them.

Reports and messages are made as plain text. Patterns here find the words in their lines that have a role, such as a
verdict, and each role has a colour; at worst a text of the user that looks like such a line is coloured too.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    import argparse

BAD, DOUBTFUL, GOOD, REMARK, STRONG = "1;31", "33", "32", "36", "1"
"""The roles; each is the parameter of its escape sequence (SGR)."""
CLAIM_VERDICTS = {GOOD: ("holds",), BAD: ("fails",), DOUBTFUL: ("unknown",)}
CHANGE_VERDICTS = {
    GOOD: ("shrank", "bound fell", "became known"),
    BAD: ("grew", "became unknown"),
    DOUBTFUL: ("bound rose", "differs", "bounds differ", "not decided"),
}
"""The verdicts on claims and on changes of costs; others have no colour."""
_SUMMARIES = {
    GOOD: "holds?|shrank|became known",
    BAD: "fails?|do(?:es)? not hold|grew|became unknown|(?:is|are) unknown or not decided",
    DOUBTFUL: "(?:is|are) unknown|undecided",
}
_PLACE = r"\S.*?:\d+(?::\d+)?: +"
_CELL = r"  +[A-Za-z_](?:[\w:*]| (?! ))*"
_MESSAGES: tuple[tuple[str, str], ...] = (
    # Each pattern has two groups: the text before, and the words that are coloured.
    (BAD, r"^((?:\S.*?: )?)(AL\d{3})(?=: )"),
    (BAD, rf"^({_PLACE})(error)(?=: )"),
    (DOUBTFUL, rf"^((?:  )?{_PLACE})(warning)(?=: )"),
    (REMARK, rf"^((?:  )?{_PLACE})(note)(?=: )"),
    (BAD, r"^( +\| +)(\^+)$"),
    (REMARK, r"^( +)(hint)(?=: )"),
    (STRONG, r"(\[)(AL\d{3})(?=(?:, ignored)?\]$)"),
)
_REPORTS = (
    *_MESSAGES,
    *((role, rf"^({_PLACE}|(?:  ){{0,2}})({'|'.join(words)})(?=:|  )") for role, words in CLAIM_VERDICTS.items()),
    *((role, rf"^(  \S.*? +)({'|'.join(words)})(?= at | where |  |:|$)") for role, words in CHANGE_VERDICTS.items()),
    *((role, rf"(\b\d+ (?:claims? |costs? )?)({words})(?=[,;]|$)") for role, words in _SUMMARIES.items()),
    (DOUBTFUL, r"^( +)(assuming)(?= )"),
    # Headings at the start of a block: of a page, of lines with places or indented ones, of a page with a docstring.
    (
        STRONG,
        r"(\A|(?<=\n\n))(# .*|\S+(?=\n(?:  \S|\S+:\d+: )|  +\S.*\n\n  \S)"
        r"|\S+(?: \S+)*(?:\n  \S.*)?(?=\n\n +\S))",
    ),
    (STRONG, rf"^( *)((?:metric|machine|quantity|level|sizes|line|from Z|Z|P)(?:{_CELL})+)$"),
)
# Controls, and marks that change the direction of text; not tabs and line ends.
_UNSAFE = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


def escape_controls(text: str) -> str:
    r"""Return a text with control characters as `\u001b`, which JSON reads too; a first `\r` is harmless."""
    start = text[:1] if text.startswith("\r") else ""
    return start + _UNSAFE.sub(lambda match: f"\\u{ord(match[0]):04x}", text[len(start) :])


def colour_words(text: str, is_report: bool) -> str:
    """Return a text, a report or messages, with the words in colour that have a role."""
    for role, pattern in _REPORTS if is_report else _MESSAGES:
        text = re.sub(rf"(?m){pattern}", f"\\1\x1b[{role}m\\2\x1b[0m", text)
    return text


def is_coloured(stream: TextIO, choice: str, environment: Mapping[str, str] = os.environ) -> bool:
    """Test whether text to a stream is coloured: by the option `--color`, else by variables, else on terminals.

    NO_COLOR comes first, then FORCE_COLOR and CLICOLOR_FORCE if they are not 0, then TERM=dumb.
    """
    if choice != "auto":
        return choice == "always"
    if environment.get("NO_COLOR"):
        return False
    if any(environment.get(name, "0") not in ("", "0") for name in ("FORCE_COLOR", "CLICOLOR_FORCE")):
        return True
    return stream.isatty() and environment.get("TERM") != "dumb"


class TerminalStream:
    """A stream of text to a terminal: control characters are escaped, and words coloured if `colours` says so."""

    def __init__(self, stream: TextIO, colours: bool, is_report: bool) -> None:
        self._stream, self._colours, self._is_report = stream, colours, is_report

    def write(self, text: str) -> int:
        safe = escape_controls(text)
        self._stream.write(colour_words(safe, self._is_report) if self._colours else safe)
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def replace_streams(options: argparse.Namespace) -> None:
    """Let standard streams that are terminals, or are to be coloured, be TerminalStreams.

    Messages are coloured, and reports whose format is text.
    """
    choice = getattr(options, "color", "auto")
    for name, is_report in (("stdout", True), ("stderr", False)):
        stream = getattr(sys, name)
        is_text = not is_report or getattr(options, "format", "") in ("text", None)
        colours = is_text and is_coloured(stream, choice)
        if colours or stream.isatty():
            setattr(sys, name, TerminalStream(stream, colours, is_report))
