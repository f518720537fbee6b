"""Headers of C, Java, Go, Julia, Rust and Python are proposed as headers of this language.

Types that say no extents, such as pointers, leave them open: a proposal takes sizes that are named, and says so.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from archline.expr.tree import Source, Span
from archline.language.diagnostics import Edit, Proposal
from archline.language.rearranging import (
    HEADERS,
    find_closing_bracket,
    guess_type,
    mask_strings_and_comment,
    split_at_commas,
)
from archline.records import record

_REALS = "real|double|float|float32|float64|f32|f64|Float32|Float64|number|num|T|Number"
_INTEGERS = (
    "int|integer|long|short|unsigned|size_t|ssize_t|uint|u?int\\d+(?:_t)?|usize|isize|[iu](?:8|16|32|64)|Int|Integer"
    "|Int32|Int64|index"
)
_BOOLEANS = "bool|boolean|Bool|_Bool"
_ELEMENTS = {"real": re.compile(_REALS), "int": re.compile(_INTEGERS), "bool": re.compile(_BOOLEANS)}
_ELEMENT = rf"\b(?P<element>(?:{_REALS}|{_INTEGERS}|{_BOOLEANS}|char))\b"
_SEQUENCES = (
    "vector|Vec|Vector|Array|AbstractArray|AbstractVector|List|list|array|ArrayList|Sequence|ndarray|slice|span"
)
_MATRICES = "Matrix|AbstractMatrix|matrix"
SEQUENCES = frozenset((*_SEQUENCES.split("|"), *_MATRICES.split("|")))
"""The names of other languages for types of arrays."""
_MAX_LINES = 12
"""The lines that a header may have."""
_SUBSCRIPT = r"[^\[\]\n]*(?:\[[^\[\]\n]*\][^\[\]\n]*)*"
_WORDS = r"(?:(?:static|public|private|inline|extern|constexpr|__global__|__device__|template\s*<[^>]*>)\s+)*"
C_HEADER = rf"^{_WORDS}(?:const\s+)?(?:std::)?(?:void|{_REALS}|{_INTEGERS}|{_BOOLEANS}|char|vector)\b[^=;()]*\("
"""The beginning of a function of C and its kin: the type of the result stands before the name."""
TYPED_HEADER = (
    rf"^(?!extern\b)(?:{'|'.join(HEADERS)}|fn|func|fun)\b.*"
    rf"(?:::|&\s*(?:mut\s+)?\[|\[\]|\b(?:{_SEQUENCES}|{_MATRICES})\b[{{<\[]|\b(?:const|double|float)\b)"
)
"""A header of another language with types that this one does not have."""
_C_PARAMETER = re.compile(
    rf"(?P<const>const\s+)?(?:std::)?(?:unsigned\s+|long\s+)*(?:(?:{_SEQUENCES})\s*<\s*)*{_ELEMENT}[\s>]*"
    r"(?P<empty>(?:\[\s*\])*)(?P<marks>(?:\s|\*|&|\b(?:const|restrict|__restrict__|__restrict)\b)*)"
    r"(?P<name>[A-Za-z_]\w*)\s*(?P<shape>(?:\[[^\]]*\])*)$"
)
_TYPED_PARAMETER = re.compile(r"(?P<name>[A-Za-z_]\w*)\s*(?:::|:)?\s*(?P<type>.*)$")


@record
class _Parameter:
    """A parameter of a foreign header; unknown extents are None, and `may_be_set` is false if it is read-only."""

    name: str
    element: str
    extents: tuple[str | None, ...]
    may_be_set: bool


def suggest_header(source: Source, number: int) -> str | None:
    """Propose the header of this language for that of another one on a line.

    For a header that is not understood: words alone if it is one of C, else None.
    """
    code = "\n".join(map(mask_strings_and_comment, source.lines[number - 1 : number + _MAX_LINES]))
    words = "write `algorithm name(x: real[n]):`" if re.match(C_HEADER, code) else None
    opened = code.find("(")
    closed = None if opened < 0 else find_closing_bracket(code, opened)
    name = re.search(r"([A-Za-z_]\w*)\s*(?:\{[^}]*\})?\s*$", code[: max(opened, 0)])
    if closed is None or name is None:
        return words
    parts = split_at_commas(re.sub(r"\{([^{}]*)\}", lambda found: f"[{found[1]}]", code[opened + 1 : closed]))
    is_typed_first = re.match(C_HEADER, code) is not None
    body = "\n".join(_iterate_body(source, number + code.count("\n", 0, closed)))
    parameters = [_read_parameter(part, is_typed_first, body) for part in parts if part != "void"]
    typed = [parameter for parameter in parameters if parameter is not None]
    if len(typed) < len(parameters):
        return words
    sizes = _choose_size_names(typed)
    open_ = [f"`{parameter.name}`" for parameter in typed if None in parameter.extents]
    declared = ", ".join(_write_parameter(parameter, sizes, body) for parameter in typed)
    result, end = _read_result(code, opened, closed, is_typed_first)
    text = f"algorithm {name[1]}({declared}){result}"
    hint = f"write `{text}:`"
    if open_:
        hint += f", with the extents of {', '.join(open_)}"
    last = code.count("\n", 0, end)
    at = Span(source, number, 1, number + last, end - (code.rfind("\n", 0, end) + 1) + 1)
    return Proposal(hint, [Edit(at, text)], safe=not open_)


def translate_scalar_type(name: str) -> str | None:
    """Return `real`, `int` or `bool` for a scalar type of another language, such as `float64`; None for other names."""
    return next((element for element, names in _ELEMENTS.items() if names.fullmatch(name)), None)


def _iterate_body(source: Source, number: int) -> Iterator[str]:
    """Yield the code below a header, up to the next item."""
    for line in source.lines[number:]:
        code = mask_strings_and_comment(line)
        if code and not code[0].isspace() and code[0] not in "{}:" and not code.startswith("end"):
            return
        yield code


def _read_parameter(text: str, is_typed_first: bool, body: str) -> _Parameter | None:
    """Read a parameter of a foreign header, whose type stands before its name if `is_typed_first`."""
    match = _C_PARAMETER.match(text) if is_typed_first else _TYPED_PARAMETER.match(text)
    if match is None:
        return None
    if is_typed_first:
        marks, shape = match["marks"], re.findall(r"\[([^\]]*)\]", match["shape"])
        dimensions = (
            marks.count("*") + match["empty"].count("[") + len(re.findall(_SEQUENCES, text[: match.start("element")]))
        )
        extents = (*[None] * dimensions, *(extent.strip() or None for extent in shape))
        return _Parameter(match["name"], translate_scalar_type(match["element"]) or "char", extents, not match["const"])
    type_ = match["type"]
    mode = re.match(r"(inout|out|in)\s+", type_)
    element = re.search(_ELEMENT, type_)
    if element is None and not re.search(rf"\b(?:{_SEQUENCES}|{_MATRICES})\b", type_):
        # What has no type is guessed, as in a header without types.
        return _guess_parameter(match["name"], body) if not type_ else None
    kind = "real" if element is None else translate_scalar_type(element["element"]) or "char"
    shaped = re.search(r"\b(?:real|int|bool|char|float|double)((?:\[[^\[\]]+\])+)$", type_)
    if shaped is not None:
        return _Parameter(match["name"], kind, tuple(re.findall(r"\[([^\]]+)\]", shaped[1])), mode is not None)
    fixed = re.search(r"[;,]\s*(\d+)\s*[>\]]", type_)
    dimensions = len(re.findall(rf"\b(?:{_SEQUENCES})\b|\[\s*\]|&\s*(?:mut\s*)?\[", type_))
    if re.search(rf"\b(?:{_MATRICES})\b", type_):
        dimensions = 2
    elif fixed is not None and dimensions:
        dimensions = int(fixed[1]) if fixed[1] in ("1", "2", "3") else dimensions
    may_be_set = not (type_.startswith("&") and "mut" not in type_)
    return _Parameter(match["name"], kind, (None,) * dimensions, may_be_set)


def _guess_parameter(name: str, body: str) -> _Parameter:
    type_ = guess_type(name, body)
    rank = type_.count(",") + 1 if "[" in type_ else 0
    return _Parameter(name, "int" if "int" in type_.replace("inout", "") else "real", (None,) * rank, True)


def _choose_size_names(parameters: Sequence[_Parameter]) -> list[str]:
    """Return names for extents that are unknown: those of integers with short names, then letters."""
    integers = [part.name for part in parameters if part.element == "int" and not part.extents and len(part.name) < 3]
    names = {part.name for part in parameters}
    sizes = [name for name in integers if name[0] in "nmpqNMrclkw"] or [
        letter for letter in "nmpq" if letter not in names
    ]
    return [*sizes, *(letter for letter in "nmpqrs" if letter not in (*sizes, *names))]


def _write_parameter(parameter: _Parameter, sizes: Sequence[str], body: str) -> str:
    if not parameter.extents:
        return f"{parameter.name}: {parameter.element}"
    element = rf"(?<![\w.]){parameter.name}(?:\s*\[{_SUBSCRIPT}\])+"
    is_set = parameter.may_be_set and re.search(
        rf"{element}\s*(?:\+\+|--|(?:[-+*/%&|^:]|<<|>>|//)?=(?!=))|(?:\+\+|--)\s*{element}"
        rf"|\b(?:swap|exchange)\b[^\n]*(?<!\w){parameter.name}\b",
        body,
    )
    # A matrix whose rows stand one after the other is an array of all its elements.
    row = re.search(rf"(?<![\w.]){parameter.name}\s*\[[^\[\]\n]*\*\s*([A-Za-z_]\w*)\s*\+[^\[\]\n]*\](?!\s*\[)", body)
    if row is not None and parameter.extents == (None,):
        sizes = [f"{sizes[0]}*{row[1]}"]
    extents = ", ".join(extent or sizes[place] for place, extent in enumerate(parameter.extents))
    return f"{parameter.name}: {'inout ' if is_set else ''}{parameter.element}[{extents}]"


def _read_result(code: str, opened: int, closed: int, is_typed_first: bool) -> tuple[str, int]:
    """Return the result in this language, such as ` -> real`, and the position at which the foreign header ends."""
    after = re.compile(r"[ ]*(?:->|::|:)?[ ]*([A-Za-z_]\w*)?[ ]*").match(code, closed + 1)
    if is_typed_first:
        type_ = re.search(_ELEMENT, code[:opened])
        element = translate_scalar_type(type_["element"]) if type_ is not None else None
        return ("" if element is None else f" -> {element}"), closed + 1
    element = translate_scalar_type(after[1]) if after is not None and after[1] else None
    if element is None or after is None:
        return "", closed + 1
    return f" -> {element}", after.end(1)
