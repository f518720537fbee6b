"""The words that the language reserves, and its intrinsic functions, are names that a program cannot give."""

from __future__ import annotations

import re

from archline.resources import find_resource

INTRINSICS = {
    "sqrt": 1, "rsqrt": 1, "exp": 1, "log": 1, "log2": 1, "sin": 1, "cos": 1, "abs": 1, "floor": 1, "ceil": 1,
    "real_of": 1, "min": None, "max": None, "bit_and": 2, "bit_or": 2, "xor": 2,
}  # fmt: skip
"""The intrinsic functions and the number of arguments of each; None: two or more."""

SHADOWABLE = frozenset({*INTRINSICS, "pi"})
"""Names that registers and variables can have: they are renamed."""
BIT_FUNCTIONS = frozenset({"bit_and", "bit_or", "xor"})
"""The intrinsic functions of the bits of two integers, of which negative ones are in two's complement."""
REAL_FUNCTIONS = frozenset({"sqrt", "rsqrt", "exp", "log", "sin", "cos", "real_of"})
"""The intrinsic functions whose values are real for integers too."""

NOTHING = ("NIL", "Nil", "nil", "NULL", "null", "None", "nullptr")
"""Names that other languages give to no object; here one stands for a number that is no index."""

CONTEXTUAL_WORDS = frozenset(
    {
        "all", "any", "barrier", "below", "bool", "broadcast", "char", "const", "counts", "def", "div", "do",
        "each", "every", "exchange", "function", "gather", "grid", "in", "index", "inout", "input",
        "iterations", "longest", "mod", "most", "of", "offsets", "operator", "out", "output", "power",
        "procedure", "receive", "reduce", "scan", "scatter", "send", "shift", "size", "square", "step", "then",
        "times", "total", "until", "use", "within",
    }
)  # fmt: skip
"""Words of the language that can be names too: they are its words only at places where no name can stand."""


def read_grammar() -> str:
    """Return the grammar without comments."""
    text = (find_resource("grammar") / "archline.lark").read_text(encoding="utf-8")
    return re.sub(r"^//.*", "", text, flags=re.MULTILINE)


def _collect_reserved(text: str) -> frozenset[str]:
    """Return the words that cannot be names: keywords of the grammar, intrinsics and `pi`."""
    choices = "|".join(re.findall(r"\(([a-z_|]+)\)\\b", text)).split("|")
    return frozenset([*choices, *re.findall(r'"([a-z_]+)"', text), *INTRINSICS, "pi"]) - CONTEXTUAL_WORDS


RESERVED = _collect_reserved(read_grammar())
