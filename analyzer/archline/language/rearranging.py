"""Edits that rearrange the text of an algorithm, which was not parsed, are proposed here.

Several results become parameters, an algorithm inside another one moves out of it, and a name that is a word of the
language is changed.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import product

from archline.expr.tree import Source, Span
from archline.language.diagnostics import Edit, Proposal

HEADERS = ("algorithm", "extern", "def", "function", "procedure")
_NESTED_HEADERS = "algorithm|def|fn|func|function|procedure|proc|subroutine"
_DECLARED = r"^\s*(?:local\s+)?(\w+)\s*:\s*((?:real|int|bool)\b(?:\[[^\]]*\])*)"
SEVERAL_RESULTS = "an algorithm has one result: hand the others back through parameters, as in `hi: out int`"
ARRAY_RESULT = "a result is a number: an array or a record is a parameter that is `out`, such as `Q: out queue[n]`"
NESTED = "an algorithm stands at the top level: move it there, and let it have what it uses as parameters"


def mask_strings_and_comment(line: str) -> str:
    """Return the line without its comment, and with nothing but `_` in its strings: columns stay the same."""
    return re.sub(r'"[^"\n]*"|#.*', lambda found: "" if found[0][0] == "#" else f'"{"_" * (len(found[0]) - 2)}"', line)


class _AlgorithmText:
    """The lines of the algorithm around a line of a source, as code without comments."""

    def __init__(self, source: Source, number: int) -> None:
        self.source = source
        self.code = [mask_strings_and_comment(line) for line in source.lines]
        starts = [at for at, line in enumerate(self.code) if line[:1].strip() and line[0] not in ")]}"]
        self.start = max((at for at in starts if at < number), default=0)
        self.end = min((at for at in starts if at >= number), default=len(self.code))
        text = "\n".join(self.code[self.start : self.end])
        self.opened, self.closed = _find_brackets(text)
        self.parameters = split_at_commas(text[self.opened + 1 : self.closed])
        self.header_end = self.start + text.count("\n", 0, self.closed)

    def make_span(self, line: int, start: int, end: int) -> Span:
        """Return the span of a part of a line; all are counted from 0."""
        return Span(self.source, line + 1, start + 1, line + 1, end + 1)

    def find_matches(self, pattern: str) -> Iterator[tuple[int, re.Match[str]]]:
        """Yield the line number and match of each occurrence of a pattern in the algorithm."""
        for number in range(self.start, self.end):
            for found in re.finditer(pattern, self.code[number]):
                yield number, found


def suggest_results(source: Source, number: int) -> str:
    """Propose `out` parameters for the results of an algorithm that returns several, on a line `return a, b`."""
    whole = _AlgorithmText(source, number)
    returns = [(at, match) for at, match in whole.find_matches(r"^\s*(?P<at>return\b\s*(?P<values>.*\S)?)\s*$")]
    values = [split_at_commas((match["values"] or "").removeprefix("(").removesuffix(")")) for _, match in returns]
    if len({len(parts) for parts in values}) != 1 or len(values[0]) < 2:
        return SEVERAL_RESULTS
    names = [f"result{position + 1}" for position in range(len(values[0]))]
    given = whole.find_matches(r"\b(\w+)\s*:\s*(?:\w+\s+)?real\b|^\s*(\w+)\s*=[^=].*\d\.\d")
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


def suggest_array_result(source: Source, number: int, type_: str = "") -> str:
    """Propose a parameter for the array that the algorithm around a line returns; its header may say the type."""
    whole = _AlgorithmText(source, number)
    header = whole.code[whole.header_end]
    column = whole.closed - "\n".join(whole.code[whole.start : whole.end]).rfind("\n", 0, whole.closed) - 1
    arrow = re.compile(r"\s*->\s*(\w+)\s*((?:\[[^\]]*\]\s*)+)").match(header, column + 1)
    returns = [(at, match) for at, match in whole.find_matches(r"(?<!\w)return\s+(?P<value>[^;]*\S)\s*;?\s*$")]
    if arrow is not None:
        element = arrow[1] if arrow[1] in ("int", "bool", "char") else "real"
        type_ = element + arrow[2].strip()
    if not type_ or not returns:
        return ARRAY_RESULT
    words = {word for code in whole.code for word in re.findall(r"\w+", code)}
    name = next(name for name in ("result", "output_array", "returned") if name not in words)
    edits = [Edit(whole.make_span(whole.header_end, column, column), f", {name}: out {type_}")]
    if arrow is not None:
        edits.append(Edit(whole.make_span(whole.header_end, arrow.start(), arrow.end(2)), ""))
    last = max(at for at in range(whole.start, whole.end) if whole.code[at].strip(" };"))
    for at, match in returns:
        leave = "" if at == last and whole.code[at].strip().startswith("return") else "; return"
        edits.append(
            Edit(whole.make_span(at, match.start(), match.end("value")), f"{name}[:] = {match['value']}{leave}")
        )
    return Proposal(f"{ARRAY_RESULT}; here `{name}: out {type_}`", edits, safe=False)


class _NestedAlgorithm:
    """An algorithm that is written inside another one: its lines, counted from 0, and the parts of its text."""

    def __init__(self, whole: _AlgorithmText, start: int, head: re.Match[str]) -> None:
        self.start, self.indent, self.name = start, len(head[1]), head[2]
        self.end = start + 1
        while self.end < whole.end and self._contains(whole.code[self.end]):
            self.end += 1
        block = "\n".join(whole.code[start : self.end])
        opened, closed = _find_brackets(block)
        self.parameters = split_at_commas(block[opened + 1 : closed])
        self.names = [_split_parameter(parameter)[0] for parameter in self.parameters]
        self.body = block[closed + 1 :]
        self.captured: dict[str, str] = {}
        """The declarations of the names that it takes from the algorithm around it."""

    def _contains(self, code: str) -> bool:
        return not code.strip() or len(code) - len(code.lstrip(" ")) > self.indent

    def capture_names(self, declared: Mapping[str, str]) -> None:
        """Find the names of the algorithm around it, `declared` with types and modes, and sizes that the body uses."""
        set_here = set(re.findall(r"(?m)^\s*(\w+)\s*(?:[-+*/]|//)?=(?!=)|\bfor\s+(\w+)", self.body))
        local = {*self.names, *(name for pair in set_here for name in pair)}
        for used, type_ in declared.items():
            if used in self.names or not re.search(rf"\b{used}\b", self.body):
                continue
            plain = _remove_mode(type_)
            written = rf"(?m)^[^=\n]*\b{used}\b[^=\n]*[^=<>!]=(?!=)|\b(swap|exchange)\b"
            if "[" in plain:
                mode = "inout " if re.search(written, self.body) else ""
                self.captured[used] = f"{used}: {mode}{plain}"
            elif used not in local:
                self.captured[used] = f"{used}: {plain}"
        captured = " ".join(self.captured.values())
        shapes = " ".join(re.findall(r"\[[^\]]*\]", " ".join(declared.values())))
        for size in dict.fromkeys(re.findall(r"\b[a-zA-Z_]\w*\b", shapes)):
            if size not in local and not re.search(rf"\b{size}\b", captured) and re.search(rf"\b{size}\b", self.body):
                self.captured[size] = f"{size}: size"


def suggest_moving(source: Source, number: int) -> str:
    """Propose to move the algorithms inside the one around a line out of it; names they use become parameters."""
    whole = _AlgorithmText(source, number)
    parts: list[_NestedAlgorithm] = []
    for at in range(whole.start + 1, whole.end):
        head = re.match(rf"(\s+)(?:{_NESTED_HEADERS})\s+(\w+)\s*\(", whole.code[at])
        if head is not None and not any(part.start <= at < part.end for part in parts):
            parts.append(_NestedAlgorithm(whole, at, head))
    if not parts:
        return NESTED
    declared = dict(map(_split_parameter, whole.parameters))
    for at, local in whole.find_matches(_DECLARED):
        if not any(part.start <= at < part.end for part in parts):
            declared.setdefault(local[1], local[2])
    for at, listed in whole.find_matches(r"^\s*(?:const\s+|let\s+|local\s+)?(\w+)\s*=\s*[\[{]([^\[\]{};]+)[\]}]\s*$"):
        if not any(part.start <= at < part.end for part in parts):
            kind = "real" if "." in listed[2] else "int"
            declared.setdefault(listed[1], f"{kind}[{len(split_at_commas(listed[2]))}]")
    for part in parts:
        part.capture_names(declared)
    for _, part, called in product(parts, parts, parts):
        if re.search(rf"\b{called.name}\s*\(", part.body):
            # What it calls uses names that it has to pass on.
            for used, text in called.captured.items():
                if used not in part.names and (used not in part.captured or ": inout " in text):
                    part.captured[used] = text
    moved, edits = [], []
    for part in parts:
        types = infer_types(source, part.name, part.parameters, part.body)
        header = ", ".join([*part.captured.values(), *types])
        text = _remove_indent(f"algorithm {part.name}({header}){part.body}".rstrip(), part.indent)
        head_end = text.find(")") + 1
        moved.append(text[:head_end] + _pass_captured_names(text[head_end:], parts))
        edits.append(Edit(Span(source, part.start + 1, 1, part.end + 1, 1), ""))
    for part in parts:
        for at, match in whole.find_matches(rf"\b{part.name}\s*\((\s*\))?"):
            if part.captured and not any(moved_part.start <= at < moved_part.end for moved_part in parts):
                passed, end = ", ".join(part.captured), match.end() - len(match[1] or "")
                edits.append(Edit(whole.make_span(at, end, end), passed if match[1] else f"{passed}, "))
    edits.insert(0, Edit(whole.make_span(whole.start, 0, 0), "".join(f"{text}\n\n\n" for text in moved)))
    return Proposal(NESTED, edits, safe=False)


def suggest_definition(source: Source, number: int) -> str:
    """Propose to write the short function `let f(x) = e` on a line before the algorithm around it."""
    whole, words = (
        _AlgorithmText(source, number),
        "a short function is written before the algorithms: `let f(x) = x + 1`",
    )
    text = whole.code[number - 1].strip()
    if whole.start == number - 1:
        return words
    text = text if text.startswith("let ") else f"let {text}"
    edits = [
        Edit(whole.make_span(whole.start, 0, 0), f"{text}\n\n\n"),
        Edit(Span(source, number, 1, number + 1, 1), ""),
    ]
    return Proposal(words, edits, safe=False)


def infer_types(source: Source, name: str, parameters: list[str], body: str) -> list[str]:
    """Return the parameters of an algorithm with types, inferred from its calls, or from its body."""
    names = [_split_parameter(parameter)[0] for parameter in parameters]
    passed = _find_passed_types(source, name, names)
    whole = "int" in passed.values() and not re.search(r"\d\.\d|\b(sqrt|exp|log|sin|cos)\b|/(?!/)", body)
    result = []
    for parameter, bare_name in zip(parameters, names, strict=True):
        guessed = guess_type(bare_name, body)
        if ":" in parameter:
            result.append(parameter)
            continue
        type_ = passed.get(bare_name)
        if type_ is None or ("[" in guessed) != ("[" in type_):
            type_ = "int" if guessed == "real" and whole and "real" not in passed.values() else guessed
        elif guessed.startswith("inout"):
            type_ = f"inout {type_}"
        result.append(f"{bare_name}: {type_}")
    return result


def _find_passed_types(source: Source, name: str, parameters: list[str]) -> dict[str, str]:
    """Return the plain types, without modes, that calls of an algorithm pass to its parameters."""
    passed: dict[str, str] = {}
    for number, line in enumerate(source.lines, 1):
        code = mask_strings_and_comment(line)
        for call in re.finditer(rf"\b{name}\s*\(", code):
            if re.match(rf"\s*(?:{_NESTED_HEADERS})\s+$", code[: call.start()]):
                continue
            text = code[call.start() :]
            opened, closed = _find_brackets(text)
            types = _read_declared_types(_AlgorithmText(source, number))
            for parameter, argument in zip(parameters, split_at_commas(text[opened + 1 : closed]), strict=False):
                type_ = _find_argument_type(argument, types, parameters)
                if type_ is not None and (parameter not in passed or type_ == "real"):
                    passed[parameter] = type_
    return passed


def _read_declared_types(caller: _AlgorithmText) -> dict[str, str]:
    """Return the types of names in an algorithm that are declared, or set to a literal."""
    types = {name: _remove_mode(type_) for name, type_ in map(_split_parameter, caller.parameters) if type_}
    for _, declared in caller.find_matches(_DECLARED):
        types.setdefault(declared[1], declared[2])
    for _, declared in caller.find_matches(r"\bfor\s+(\w+)|^\s*(\w+)\s*=\s*\d+\s*$"):
        types.setdefault(declared[1] or declared[2], "int")
    return types


def _find_argument_type(argument: str, declared: Mapping[str, str], reserved: Collection[str]) -> str | None:
    """Return the type of an argument of a call, with sizes whose names are not `reserved`; None if it is unknown."""
    element = re.fullmatch(r"(\w+)\[([^\[\]]*)\]", argument)
    if element is not None and element[1] in declared and not re.search(r"[:]|\.\.", element[2]):
        return re.sub(r"^index\b.*", "int", declared[element[1]]).partition("[")[0]
    type_ = declared.get(argument)
    if type_ is not None and "[" in type_:
        kind, _, shape = type_.partition("[")
        sizes = set(re.findall(r"[A-Za-z_]\w*", shape))
        if kind not in ("real", "int", "bool") or sizes & {*reserved}:
            fresh = (letter for letter in "nmpqrst" if letter not in reserved)
            extents = ", ".join(next(fresh) for _ in split_at_commas(shape.rstrip("]")))
            return f"{kind if kind in ('real', 'bool') else 'int'}[{extents}]"
        return type_
    if type_ is not None:
        return "int" if type_.split()[0] in ("size", "index", "int") else type_
    tokens = re.findall(r"[A-Za-z_]\w*(?:\[[^\[\]]*\])?|\d+\.\d+|\d+", argument)
    types = {_find_token_type(token, declared) for token in tokens}
    if "real" in types:
        return "real"
    return "int" if types == {"int"} and re.fullmatch(r"[\w\s+*%\[\]-]+", argument) else None


def _find_token_type(token: str, declared: Mapping[str, str]) -> str | None:
    """Return the type of a literal, a name, or an element of an array; None if it is unknown."""
    if token[0].isdigit():
        return "real" if "." in token else "int"
    type_ = declared.get(token.partition("[")[0])
    return None if type_ is None else "real" if type_.startswith("real") else "int"


def _remove_mode(type_: str) -> str:
    return re.sub(r"^(inout|out|in)\s+", "", type_)


def suggest_renaming(source: Source, number: int, name: str, new: str, words: str) -> Proposal:
    """Propose to rename a variable in the algorithm around a line; calls of a function of its name stay."""
    whole = _AlgorithmText(source, number)
    # A dot alone stands before a field, two of them before the end of a range.
    places = whole.find_matches(rf"(?<!\w)(?<!(?<!\.)\.){name}(?!\w|\s*\()")
    return Proposal(words, [Edit(whole.make_span(at, *match.span()), new) for at, match in places], safe=False)


def guess_type(name: str, below: str) -> str:
    """Return the type of a parameter without one.

    It is an array if the text below indexes it, `int` if it indexes, bounds or is compared with an index, else `real`.
    """
    name = re.escape(name)  # A text with mistakes may have anything there.
    indices = "|".join(re.findall(r"\[[^\[\]]*?([A-Za-z_]\w*)", below)) or "0"
    places = [
        rf"\[[^\]\n]*\b{name}\b",
        rf"\.\.[^\n]*\b{name}\b",
        rf"\b{name}\b[^\n]*\.\.",
        rf"\b{name} *(//|%)",
        rf"% *{name}\b",
    ]
    places.append(rf"\b({indices})\b[^\[\]\n<>=]*[<>=]=? *{name}\b")
    places.append(rf"\b{name}\b[^\[\]\n<>=]*[<>=]=? *({indices})\b")
    whole = any(re.search(place, below) for place in places)
    used = re.search(rf"(?<!\w){name}\[([^\[\]]*)\](\[)?", below)
    if not used:
        return "int" if whole else "real"
    written = re.search(
        rf"(?<!\w){name}\[[^=\n]*\]\s*(?:[-+*/]|<-|:)?=(?!=)|\b(?:swap|exchange)\b[^\n]*(?<!\w){name}\[", below
    )
    rank = used[1].count(",") + 1 + bool(used[2])
    return f"{'inout ' if written else ''}real[{', '.join('nmpq'[:rank])}]"


def _pass_captured_names(text: str, parts: Iterable[_NestedAlgorithm]) -> str:
    """Return a text in which calls of the nested algorithms `parts` pass the names that these capture, first."""
    for part in parts:
        if part.captured:
            text = re.sub(rf"\b{part.name}\s*\(", f"{part.name}({', '.join(part.captured)}, ", text)
    return text


def _remove_indent(text: str, indent: int) -> str:
    return re.sub(rf"(?m)^ {{{indent}}}", "", text)


def _split_parameter(parameter: str) -> tuple[str, str]:
    name, _, type_ = parameter.partition(":")
    return name.strip(), type_.strip()


def split_at_commas(text: str) -> list[str]:
    """Split a text at the commas that are not in brackets."""
    parts, depth = [""], 0
    for character in text:
        depth += (character in "([") - (character in ")]")
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return [" ".join(part.split()) for part in parts if part.strip()]


def find_closing_bracket(code: str, opened: int) -> int | None:
    """Return the position of the bracket that closes the round one at a position; None if the code has none."""
    depth = 0
    for position in range(opened, len(code)):
        depth += (code[position] == "(") - (code[position] == ")")
        if not depth:
            return position
    return None


def _find_brackets(text: str) -> tuple[int, int]:
    """Return the positions of the first round bracket and of the one that closes it; the end of the text if none."""
    opened = text.find("(")
    closed = None if opened < 0 else find_closing_bracket(text, opened)
    return (len(text), len(text)) if closed is None else (opened, closed)


def iterate_indentation(source: Source, first: int, lines: Sequence[str]) -> Iterator[tuple[Span, int, list[int]]]:
    """Yield each line with code: its span, its indentation, and the indentations of the blocks open before it.

    The first of `lines` is line `first` of the source.
    """
    stack = [0]
    for number, line in enumerate(lines, first):
        if line.strip() and not line.lstrip().startswith("#"):
            indent = measure_indent(line)
            yield Span(source, number, indent + 1, number, len(line) + 1), indent, stack
            stack = [*(level for level in stack if level < indent), indent]


def measure_indent(line: str) -> int:
    """Return the number of spaces before the code of a line."""
    return len(line) - len(line.lstrip(" "))
