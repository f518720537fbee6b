"""Edits that rearrange the text of an algorithm, which was not parsed, are proposed here.

Several results become parameters, an algorithm inside another one moves out of it, and a name that is a word of the
language is changed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from archline.expr.tree import Source, Span
from archline.language.diagnostics import Edit, Proposal

HEADERS = ("algorithm", "extern", "def", "function", "procedure")
SEVERAL_RESULTS = "an algorithm has one result: hand the others back through parameters, as in `hi: out int`"
NESTED = "an algorithm stands at the top level: move it there, and let it have what it uses as parameters"


def mask_strings_and_comment(line: str) -> str:
    """Return the line without its comment, and with nothing but `_` in its strings: columns stay the same."""
    return re.sub(r'"[^"\n]*"|#.*', lambda found: "" if found[0][0] == "#" else f'"{"_" * (len(found[0]) - 2)}"', line)


class _Algorithm:
    """The lines of the algorithm around a line of a source, as code without comments."""

    def __init__(self, source: Source, number: int) -> None:
        self.source = source
        self.code = [mask_strings_and_comment(line) for line in source.lines]
        starts = [at for at, line in enumerate(self.code) if line[:1].strip() and line[0] not in ")]}"]
        self.start = max((at for at in starts if at < number), default=0)
        self.end = min((at for at in starts if at >= number), default=len(self.code))
        text = "\n".join(self.code[self.start : self.end])
        self.opened, self.closed = _find_brackets(text)
        self.parameters = _split_at_commas(text[self.opened + 1 : self.closed])
        self.header_end = self.start + text.count("\n", 0, self.closed)

    def make_span(self, line: int, start: int, end: int) -> Span:
        """Return the span of a part of a line; all are counted from 0."""
        return Span(self.source, line + 1, start + 1, line + 1, end + 1)

    def find_words(self, pattern: str) -> Iterator[tuple[int, re.Match[str]]]:
        """Yield what a pattern finds in the lines of the algorithm."""
        for number in range(self.start, self.end):
            for found in re.finditer(pattern, self.code[number]):
                yield number, found


def suggest_results(source: Source, number: int) -> str:
    """Propose parameters for the results of the `return a, b` on a line, and of the other ones of its algorithm."""
    whole = _Algorithm(source, number)
    returns = [(at, match) for at, match in whole.find_words(r"^\s*(?P<at>return\b\s*(?P<values>.*\S)?)\s*$")]
    values = [_split_at_commas((match["values"] or "").removeprefix("(").removesuffix(")")) for _, match in returns]
    if len({len(parts) for parts in values}) != 1 or len(values[0]) < 2:
        return SEVERAL_RESULTS
    names = [f"result{position + 1}" for position in range(len(values[0]))]
    given = whole.find_words(r"\b(\w+)\s*:\s*(?:\w+\s+)?real\b|^\s*(\w+)\s*=[^=].*\d\.\d")
    reals = {match[1] or match[2] for _, match in given}
    edits, declared = [], []
    for position, name in enumerate(names):
        parts = [parts[position] for parts in values]
        real = any(re.search(r"\d\.\d|sqrt|/(?!/)", part) or set(re.findall(r"\w+", part)) & reals for part in parts)
        declared.append(f"{name}: out {'real' if real else 'int'}")
    column = whole.closed - "\n".join(whole.code[whole.start : whole.end]).rfind("\n", 0, whole.closed) - 1
    edits.append(Edit(whole.make_span(whole.header_end, column, column), f", {', '.join(declared)}"))
    arrow = re.compile(r"\s*->[^:]*").match(whole.code[whole.header_end], column + 1)
    if arrow is not None:
        edits.append(Edit(whole.make_span(whole.header_end, *arrow.span()), ""))
    for (at, match), parts in zip(returns, values, strict=True):
        edits.append(Edit(whole.make_span(at, *match.span("at")), f"{', '.join(names)} = {', '.join(parts)}; return"))
    return Proposal(SEVERAL_RESULTS, edits, safe=False)


def suggest_moving(source: Source, number: int) -> str:
    """Propose to move the algorithm that begins on a line out of the one around it; names it uses become parameters."""
    whole = _Algorithm(source, number)
    head = re.match(r"(\s+)(?:\w+)\s+(\w+)\s*\(", whole.code[number - 1])
    if head is None or whole.start == number - 1:
        return NESTED
    indent, name = len(head[1]), head[2]
    last = number
    while last < whole.end and (not (code := whole.code[last]).strip() or len(code) - len(code.lstrip(" ")) > indent):
        last += 1
    block = "\n".join(whole.code[number - 1 : last])
    opened, closed = _find_brackets(block)
    parameters = _split_at_commas(block[opened + 1 : closed])
    body = block[closed + 1 :]
    hidden = {_split_parameter(parameter)[0] for parameter in parameters}
    added = {}
    for used, type_ in map(_split_parameter, whole.parameters):
        if used not in hidden and re.search(rf"\b{used}\b", body):
            set_here = rf"(?m)^[^=\n]*\b{used}\b[^=\n]*[^=<>!]=(?!=)|\b(swap|exchange)\b"
            plain = re.sub(r"^(inout|out|in)\s+", "", type_)
            mode = "inout " if "[" in plain and re.search(set_here, body) else ""
            added[used] = f"{used}: {mode}{plain}"
    known = " ".join(added.values())
    shapes = " ".join(re.findall(r"\[[^\]]*\]", " ".join(whole.parameters)))
    for size in dict.fromkeys(re.findall(r"\b[a-zA-Z_]\w*\b", shapes)):
        if size not in hidden and not re.search(rf"\b{size}\b", known) and re.search(rf"\b{size}\b", body):
            added[size] = f"{size}: size"
    typed = [part if ":" in part else f"{part}: {guess_type(part, body)}" for part in parameters]
    moved = f"algorithm {name}({', '.join([*added.values(), *typed])}){body}"
    passed = ", ".join(added)
    moved = _pass_more(_remove_indent(moved, indent), name, passed)
    edits = [Edit(whole.make_span(whole.start, 0, 0), f"{moved.rstrip()}\n\n\n")]
    edits.append(Edit(Span(source, number, 1, last + 1, 1), ""))
    for at, match in whole.find_words(rf"\b{name}\s*\((\s*\))?"):
        if not number - 1 <= at < last and passed:
            end = match.end() - len(match[1] or "")
            edits.append(Edit(whole.make_span(at, end, end), passed if match[1] else f"{passed}, "))
    return Proposal(NESTED, edits, safe=False)


def suggest_definition(source: Source, number: int) -> str:
    """Propose to write the short function `let f(x) = e` on a line before the algorithm around it."""
    whole, words = _Algorithm(source, number), "a short function is written before the algorithms: `let f(x) = x + 1`"
    text = whole.code[number - 1].strip()
    if whole.start == number - 1:
        return words
    text = text if text.startswith("let ") else f"let {text}"
    edits = [
        Edit(whole.make_span(whole.start, 0, 0), f"{text}\n\n\n"),
        Edit(Span(source, number, 1, number + 1, 1), ""),
    ]
    return Proposal(words, edits, safe=False)


def suggest_renaming(source: Source, number: int, name: str, new: str, words: str) -> Proposal:
    """Propose another name in the algorithm around a line; calls of a function of this name stay."""
    whole = _Algorithm(source, number)
    # A dot alone stands before a field, two of them before the end of a range.
    places = whole.find_words(rf"(?<!\w)(?<!(?<!\.)\.){name}(?!\w|\s*\()")
    return Proposal(words, [Edit(whole.make_span(at, *match.span()), new) for at, match in places], safe=False)


def guess_type(name: str, below: str) -> str:
    """Return the type of a parameter without one.

    It is an array if the text below indexes it, `int` if it indexes, bounds or is compared with an index, else `real`.
    """
    indices = "|".join(re.findall(r"\[[^\[\]]*?([A-Za-z_]\w*)", below)) or "0"
    places = [rf"\[[^\]\n]*\b{name}\b", rf"\.\.[^\n]*\b{name}\b", rf"\b{name}\b[^\n]*\.\.", rf"\b{name} *(//|%)"]
    places.append(rf"\b({indices})\b[^\[\]\n<>=]*[<>=]=? *{name}\b")
    places.append(rf"\b{name}\b[^\[\]\n<>=]*[<>=]=? *({indices})\b")
    whole = any(re.search(place, below) for place in places)
    used = re.search(rf"(?<!\w){name}\[([^\[\]]*)\](\[)?", below)
    if not used:
        return "int" if whole else "real"
    written = re.search(rf"(?<!\w){name}\[[^=\n]*\]\s*(?:[-+*/]|<-|:)?=(?!=)", below)
    rank = used[1].count(",") + 1 + bool(used[2])
    return f"{'inout ' if written else ''}real[{', '.join('nmpq'[:rank])}]"


def _pass_more(text: str, name: str, passed: str) -> str:
    """Return the text of an algorithm whose calls of itself pass more arguments first."""
    head, opened, rest = text.partition("(")
    return head + opened + re.sub(rf"\b{name}\s*\(", f"{name}({passed}, ", rest) if passed else text


def _remove_indent(text: str, indent: int) -> str:
    return re.sub(rf"(?m)^ {{{indent}}}", "", text)


def _split_parameter(parameter: str) -> tuple[str, str]:
    name, _, type_ = parameter.partition(":")
    return name.strip(), type_.strip()


def _split_at_commas(text: str) -> list[str]:
    """Return the parts of a text between commas that stand in no brackets."""
    parts, depth = [""], 0
    for character in text:
        depth += (character in "([") - (character in ")]")
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return [" ".join(part.split()) for part in parts if part.strip()]


def _find_brackets(text: str) -> tuple[int, int]:
    """Return the positions of the first round bracket and of the one that closes it; the end of the text if none."""
    depth = 0
    for at, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if character == ")" and depth == 0:
            return text.find("("), at
    return len(text), len(text)
