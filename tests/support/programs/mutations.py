"""Damaged programs: what a typing mistake, a bad merge or a broken disk makes of a text."""

from __future__ import annotations

import random
import re
from collections.abc import Callable

_TOKEN = re.compile(r"[A-Za-z_]\w*|\d+(?:\.\d+)?|[-+*/%^=<>!.]+|\s+|.", re.DOTALL)
HUGE = ("0", "1000000007", "1" + "0" * 40, "9" * 1200, "1e308", "1e999", "0.0", "-1", "2^(10^9)", "n^(10^9)")
WORDS = (
    "for", "parallel", "while", "if", "elif", "else", "in", "downto", "step", "at", "most", "times", "let", "local",
    "real", "int", "size", "index", "offsets", "into", "below", "longest", "spawn", "sync", "return", "algorithm",
    "where", "ensures", "is", "power", "of", "divides", "and", "or", "not", "(", ")", "[", "]", ":", ",", "..", "..+",
    "->", "^", "#", '"', "=", "==", "min=", "P", "Z", "L", "K", "pi", "log2", "use", "extern", "claim", "costs", "on",
    "grid", "split", "shift", "atomic",
)  # fmt: skip


def mutate(text: str, source: random.Random, other: str | None = None) -> bytes:
    """The text after one to four damages; `other` is a program to splice parts from.

    Half the texts get mild damage only, which most often leaves them parsing: that is what reaches the later stages.
    """
    if source.random() < 0.5:
        for _ in range(source.randint(1, 3)):
            text = source.choice(_MILD)(text, source)
        return text.encode("utf-8", "surrogatepass")
    for _ in range(source.randint(1, 4)):
        if other is not None and source.random() < 0.15:
            text = _splice(text, other, source)
        else:
            text = source.choice(_DAMAGES)(text, source)
    data = text.encode("utf-8", "surrogatepass")
    return _spoil(data, source) if source.random() < 0.15 else data


def _tokens(text: str, change: Callable[[list[str], int], None], source: random.Random) -> str:
    tokens = _TOKEN.findall(text)
    places = [place for place, token in enumerate(tokens) if not token.isspace()]
    if places:
        change(tokens, source.choice(places))
    return "".join(tokens)


def _delete(text: str, source: random.Random) -> str:
    return _tokens(text, lambda tokens, at: tokens.__setitem__(at, ""), source)


def _duplicate(text: str, source: random.Random) -> str:
    times = source.choice((2, 2, 2, 3, 500))
    return _tokens(text, lambda tokens, at: tokens.__setitem__(at, f"{tokens[at]} " * times), source)


def _swap(text: str, source: random.Random) -> str:
    def change(tokens: list[str], at: int) -> None:
        other = source.randrange(len(tokens))
        tokens[at], tokens[other] = tokens[other], tokens[at]

    return _tokens(text, change, source)


def _replace(text: str, source: random.Random) -> str:
    return _tokens(text, lambda tokens, at: tokens.__setitem__(at, source.choice((*WORDS, *HUGE))), source)


def _rename(text: str, source: random.Random) -> str:
    """One name for another of the same text: most of these still parse."""
    names = [token for token in _TOKEN.findall(text) if token[0].isalpha()]
    return _tokens(text, lambda tokens, at: tokens.__setitem__(at, source.choice(names or ["x"])), source)


def _number(text: str, source: random.Random) -> str:
    numbers = list(re.finditer(r"\d+(\.\d+)?", text))
    if not numbers:
        return text
    found = source.choice(numbers)
    return text[: found.start()] + source.choice(HUGE) + text[found.end() :]


def _digit(text: str, source: random.Random) -> str:
    """A small number for a number."""
    numbers = list(re.finditer(r"\d+(\.\d+)?", text))
    if not numbers:
        return text
    found = source.choice(numbers)
    return text[: found.start()] + source.choice(("0", "1", "2", "3", "7", "64", "(0-1)")) + text[found.end() :]


def _operator(text: str, source: random.Random) -> str:
    """An operator for another of its kind."""
    group = source.choice(_GROUPS)
    places = [
        found for sign in group for found in re.finditer(rf"(?<![-+*/<>=!.]){re.escape(sign)}(?![-+*/<>=!.])", text)
    ]
    if not places:
        return text
    found = source.choice(places)
    return text[: found.start()] + source.choice(group) + text[found.end() :]


def _lines(text: str, source: random.Random) -> str:
    lines = text.split("\n")
    first, second = source.randrange(len(lines)), source.randrange(len(lines))
    match source.randrange(3):
        case 0:
            lines[first], lines[second] = lines[second], lines[first]
        case 1:
            lines.insert(second, lines[first])
        case _:
            del lines[first]
    return "\n".join(lines)


def _indentation(text: str, source: random.Random) -> str:
    lines = text.split("\n")
    at = source.randrange(len(lines))
    match source.randrange(4):
        case 0:
            lines[at] = " " * source.randint(1, 9) + lines[at]
        case 1:
            lines[at] = lines[at].lstrip()
        case 2:
            lines[at] = "\t" + lines[at].lstrip()
        case _:
            lines[at:] = [f"    {line}" for line in lines[at:]]
    return "\n".join(lines)


def _truncate(text: str, source: random.Random) -> str:
    return text[: source.randint(0, len(text))]


def _nest(text: str, source: random.Random) -> str:
    """Many brackets, or a long chain of operators, in place of a name or a number."""
    depth = source.choice((5, 150, 250, 3000))
    forms = (
        "(" * depth + "{}" + ")" * depth,
        "-" * depth + "{}",
        "{}" + " + 1" * depth,
        "{}" + "^2" * depth,
        "abs(" * depth + "{}",
    )
    form = source.choice(forms)
    return _tokens(text, lambda tokens, at: tokens.__setitem__(at, form.replace("{}", tokens[at])), source)


def _characters(text: str, source: random.Random) -> str:
    at = source.randint(0, len(text))
    strange = "".join(
        chr(source.choice((0x00, 0x0B, 0x0C, 0x85, 0xA0, 0x2028, 0xFEFF, 0x1F600, 0x41, 0x22, 0x5C))) for _ in range(3)
    )
    return text[:at] + strange + text[at:]


def _splice(text: str, other: str, source: random.Random) -> str:
    mine, theirs = text.split("\n"), other.split("\n")
    at = source.randint(0, len(mine))
    start = source.randrange(len(theirs))
    return "\n".join([*mine[:at], *theirs[start : start + source.randint(1, 8)], *mine[at:]])


def _spoil(data: bytes, source: random.Random) -> bytes:
    """Random bytes in the middle, or nothing but them."""
    noise = source.randbytes(source.randint(1, 40))
    at = source.randint(0, len(data))
    return noise if source.random() < 0.2 else data[:at] + noise + data[at + source.randint(0, 4) :]


_GROUPS = (
    ("+", "-"),
    ("*", "//", "%", "^"),
    ("==", "<", "<=", ">", ">=", "!="),
    ("+=", "=", "*=", "min="),
    ("for", "parallel for"),
)
_MILD: tuple[Callable[[str, random.Random], str], ...] = (_digit, _digit, _operator, _operator, _rename)
_DAMAGES: tuple[Callable[[str, random.Random], str], ...] = (
    _delete, _duplicate, _swap, _replace, _rename, _rename, _number, _lines, _indentation, _truncate, _nest,
    _characters,
)  # fmt: skip
