"""Comments, braces, brackets around conditions and ends of blocks of other languages are masked line by line.

A masked text has the lines of what was written, and its code the columns: places in it are places in the file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import get_close_matches

from archline.expr.tree import Source, Span
from archline.language.diagnostics import Diagnostic, propose_text
from archline.language.rearranging import HEADERS, find_closing_bracket, mask_strings_and_comment
from archline.language.syntax_rules import UNEXPECTED

_FOREIGN = re.compile(
    r"//|/\*|^\s*(?:--|[%!*]) |\s! |▷|[{}]\s*;?\s*(?:$|[#/])|^\s*(?:\}|end|fi\b|od\b|done\b|begin\b)"
    r"|\"{3}|'{3}|^\s*\}?\s*else\s+[a-z]"
    r"|\b(?:if|elseif|elsif|elif|while|until|for)\s*\(",
    re.MULTILINE,
)
"""What every text has that a mask may change."""
_COMPLETE = re.compile(r"(?:[:;{}]|\+\+|--|\b(?:break|return|continue|sync|pass|else|do|then|end\w*))\s*$")
"""The end of code that no operator can follow."""
_INFIX_WORDS = (
    "along|and|as|at|below|by|div|do|divides|downto|else|for|from|if|in|into|is|iterations|longest|mod|most|not|of|on|or"
    "|power|reduction|step|then|times|to|using|when|where|with|within"
)
_PROSE = re.compile(
    rf"\s*$|(?=[^:;=<>\[\]{{}}+*/^%]*$).*(?:\b(?!(?:{_INFIX_WORDS})\b)\w+\)?\s+(?!(?:{_INFIX_WORDS})\b)[A-Za-z_]|[A-Za-z]'[a-z]|[.?!]$)"
)
"""A text that is no part of an expression or a header: two words side by side, and no operator."""
_LINE_COMMENT = re.compile(r"\s*(//+|--|[%!](?= )|▷)")
_LONG_STRING = re.compile(r"\s*[rRuU]?(?P<quotes>\"{3}|'{3})")
_HEADER = re.compile(rf"(?:{'|'.join(HEADERS)})\b")
_ELSE = re.compile(
    r"\s*else(?P<gap>\s)\s*(?!(?:if|then|do)\b)"
    r"(?=\w.*(?:=|\)|\+\+|--|\b(?:break|continue|return|pass|next|exit)\b))"
)
"""An `else` with a statement on its line."""
_BRACES = re.compile(
    r"\s*(?:if|else|elif|elseif|elsif|while|until|for|parallel|do)\b.*?(?<![=,(\[{])(?<!\bin)\s*"
    r"(?P<open>\{)[^{}]*(?P<close>\})[\s;]*$"
)
"""A header with its whole block in braces on one line."""
_END = re.compile(r"(?:(?:end|fi|od|done|begin)|end[ ]?(?:if|for|while|do|loop|function|procedure|algorithm))\s*;?\s*$")
_BRACKETED = re.compile(r"\s*(?:parallel\s+)?(?P<word>if|else\s+if|elseif|elsif|elif|while|until|for)\s*(?P<open>\()")


def mask_foreign_lines(source: Source) -> tuple[Source, tuple[Diagnostic, ...]]:
    """Return the source with forms of other languages masked, the same one if it has none, and mistakes in them."""
    if not _FOREIGN.search(source.text):
        return source, ()
    lines = _mask_comments(_mask_long_strings(source.lines))
    mistakes = tuple(_diagnose_bodies(source, lines))
    lines = [_mask_code(line) for line in lines]
    masked = source if lines == source.lines else Source(source.path, "\n".join(lines), source.text)
    return masked, mistakes


def _diagnose_bodies(source: Source, lines: Sequence[str]) -> Iterator[Diagnostic]:
    """Report a statement after the body of a header on one line, as in `if (c) a; b;`, and an empty body `;`."""
    for number, line in enumerate(lines, 1):
        code = mask_strings_and_comment(line).rstrip()
        opened, alone = _BRACKETED.match(code), _ELSE.match(code)
        if opened is not None:
            word, start = opened["word"], (find_closing_bracket(code, opened.start("open")) or len(code)) + 1
        elif alone is not None:
            word, start = "else", alone.end("gap")
        else:
            continue
        body = code[start:].strip()
        if body == ";" and word in ("if", "for"):
            at = Span(source, number, len(code), number, len(code) + 1)
            message = f"`;` ends the `{word}` here, with an empty body"
            yield Diagnostic(UNEXPECTED, message, at, hint="leave the `;` out, or write `pass` for the body")
        first = re.match(r"(?!(?:then|do|and|or)\b)(?:[A-Za-z_]|\+\+|--)[^;]*(?P<end>;)\s*(?=[^;\s])", body)
        if first is not None:
            place = code.index(body, start)
            end = Span(source, number, place + first.start("end") + 1, number, place + first.end() + 1)
            indent = " " * (len(code) - len(code.lstrip()))
            hint = propose_text(end, f"\n{indent}", f"the body of the `{word}` ends at `;`: begin a line after it")
            yield Diagnostic(UNEXPECTED, f"a statement follows the body of the `{word}`", end, hint=hint)


def _mask_long_strings(lines: list[str]) -> list[str]:
    """Return the lines with texts in triple quotes replaced by docstrings of one line, or by comments.

    They stay as they are if a text does not end, or code follows it on its line.
    """
    masked, quotes, documents = list[str](), "", False
    for line in lines:
        opened = None if quotes else _LONG_STRING.match(line)
        if not quotes and opened is None:
            masked.append(line)
            continue
        indent, body = len(line) - len(line.lstrip()), line
        if opened is not None:
            quotes, documents = opened["quotes"], _ends_with_header(masked)
            body = line[opened.end() :]
        text, closed, rest = body.partition(quotes)
        if mask_strings_and_comment(rest).strip():
            return lines
        text = text.strip()
        if text and documents:
            mark = '"'
            masked.append(f'{" " * indent}"{text.replace(mark, chr(39))}"')
            documents = False
        else:
            masked.append(f"{' ' * indent}# {text}" if text else "")
        quotes = "" if closed else quotes
    return lines if quotes else masked


def _ends_with_header(lines: Sequence[str]) -> bool:
    """Whether the last line with code ends the header of an algorithm."""
    code = [mask_strings_and_comment(line).rstrip() for line in lines]
    code = [line for line in code if line]
    start = max((number for number, line in enumerate(code) if not line[0].isspace()), default=len(code))
    depth = sum(line.count("(") - line.count(")") for line in code[start:-1])
    return bool(code[start:]) and bool(_HEADER.match(code[start])) and (depth > 0 or start == len(code) - 1)


def _mask_comments(lines: Sequence[str]) -> list[str]:
    """Return the lines with the comments of other languages, such as `//` and `/*`, begun with `#`."""
    masked, ambiguous, inside = list[str](), dict[int, int](), False
    for number, line in enumerate(lines):
        if inside:
            inside = "*/" not in line
            indent = len(line) - len(line.lstrip())
            body = line.replace("*/", "").strip().removeprefix("*").strip()
            masked.append(f"{' ' * indent}# {body}" if body else "")
            continue
        if (sign := _LINE_COMMENT.match(line)) and not line.lstrip().startswith("#"):
            masked.append(_replace_comment_sign(line, sign.start(1), sign.end(1)))
            continue
        code = mask_strings_and_comment(line)
        if (start := code.find("/*")) >= 0:
            inside = "*/" not in line[start:]
            line = _replace_comment_sign(line.replace("*/", "  "), start, start + 2)
        elif sign := re.search(r"▷|(?<=[\w\])])\s+(?P<at>!) ", code):
            place = sign.span("at") if sign["at"] else sign.span()
            line = _replace_comment_sign(line, *place)
        elif (start := code.find("//")) >= 0:
            if _COMPLETE.search(code[:start]) or _is_prose(code[start + 2 :]):
                line = _replace_comment_sign(line, start, start + 2)
            else:
                ambiguous[number] = start
        masked.append(line)
    # A word behind `//` is a comment where the text has such comments, or a gap, and gives the word to nothing.
    if ambiguous:
        commented = any(before != after for before, after in zip(lines, masked, strict=True))
        words = " ".join(mask_strings_and_comment(line).partition("//")[0] for line in masked)
        for number, start in ambiguous.items():
            first = re.match(r"\s*([A-Za-z_]\w*)", masked[number][start + 2 :])
            if first is None or re.search(rf"\b{first[1]}\b", words):
                continue
            # Two blanks are a gap too, unless the word is likely to be a name of the text with a slip.
            wide = re.search(r" (  ?)$", masked[number][:start])
            gap = wide and (
                wide[1] == "  " or not get_close_matches(first[1], re.findall(r"[A-Za-z_]\w*", words), cutoff=0.75)
            )
            if commented or (gap and masked[number][:start].count("(") == masked[number][:start].count(")")):
                masked[number] = _replace_comment_sign(masked[number], start, start + 2)
    return masked


def _is_prose(text: str) -> bool:
    return bool(_PROSE.match(text.rstrip())) and text.count("(") == text.count(")")


def _replace_comment_sign(line: str, start: int, end: int) -> str:
    """Return a line with the comment sign from `start` to `end` replaced by `#`."""
    return f"{line[:start]}{' ' * (end - start - 1)}#{line[end:]}"


def _mask_code(line: str) -> str:
    """Return a line without braces and ends of blocks, and with `:` for the bracket that ends a condition."""
    code = mask_strings_and_comment(line)
    body, indent = code.strip(), len(code) - len(code.lstrip())
    # A brace on a line of its own begins a block whose header needs no colon, or ends one.
    if body == "{" or _END.fullmatch(body.lstrip("}; ")) or (body and not body.strip("}; ")):
        return " " * len(code) + line[len(code) :]
    if body.startswith("}"):
        start = len(code) - len(code.lstrip("}; "))
        line = f"{' ' * indent}{line[start : len(code)]}{' ' * (start - indent)}{line[len(code) :]}"
        code = mask_strings_and_comment(line)
        body = code.strip()
    signs = list(line)
    if body.endswith("{") and not body.endswith(("= {", "={")):
        brace = code.rindex("{")
        signs[brace] = " " if code[:brace].rstrip().endswith(":") else ":"
    if braces := _BRACES.match(code):
        signs[braces.start("open")] = " " if code[: braces.start("open")].rstrip().endswith(":") else ":"
        signs[braces.start("close")] = " "
    if (alone := _ELSE.match(code)) and not body.endswith((":", "{")) and code.count("(") == code.count(")"):
        signs[alone.start("gap")] = ":"
    opened = _BRACKETED.match(code)
    if opened and (closed := find_closing_bracket(code, opened.start("open"))):
        rest = "".join(signs[closed + 1 : len(code)]).strip()
        # `if (a) or (b):` has no bracket around the whole, and `if (a):` needs no mask.
        if re.match(rf"(?!(?:{_INFIX_WORDS})\b)[A-Za-z_]|\+\+|--", rest) or (
            opened["word"] == "for" and not rest.strip(":;")
        ):
            signs[opened.start("open")] = " "
            signs[closed] = " " if rest.startswith(":") else ":"
    return "".join(signs)
