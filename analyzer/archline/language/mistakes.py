"""Mistakes of people who come from other languages are recognised by the line on which the parser stopped."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

_LOOP = "a loop is written `for i in 0..n:`, with `step 2` or as `n-1 downto 0` if need be"
_SLICE = "a slice is written `x[0..n]`, by length `x[s ..+ n]`, whole `x[:]`"
_COMPARISON = {"EQUAL", "NOT_EQUAL", "LESS", "LESS_EQUAL", "GREATER", "GREATER_EQUAL"}


def suggest_claim(metric: str = "energy", algorithm: str = "f") -> str:
    """Suggest a claim for a bound on a metric of a machine."""
    return f'it is claimed next to the algorithm, in SI units: `claim {metric}({algorithm}) <= 1 on "MACHINE"`'


_LOGARITHM = r"(?:log2?|lg|ln)\b"
_ARGUMENT = r"(\w+|\([^()]*\))"

_AMOUNT, _UNIT = re.compile(r"^\s*claim\b.*[\d)]\s*$"), re.compile(r"([kMGTPmuµμnpf]|[KMGT]i)?(s|J|W|B|Wh)\b")
"""A number in a claim, followed by a unit."""

_PART = r"\s*([^(),]*?[^(),\s])\s*"
_RANGE = r"^\s*((?:parallel\s+)?for\s+\w+)\s+in\s+range\s*\("
_COUNTED = (
    r"^\s*for\s*\(\s*(?:\w+\s+)?(\w+)\s*=\s*([^;]*[^;\s])\s*;\s*\1\s*{}\s*([^;=]*[^;=\s])\s*;"
    r"\s*(?:\1\s*\+\+|\+\+\s*\1)\s*\)"
)
_VALUE = r"\s*=\s*([^;]*[^;\s])"
FOREIGN_FUNCTIONS = {
    "len": "an extent is a size that the type names: `n` of `x: real[n]`",
    "pow": "a power is written `^`",
    "float": "write `real_of(...)`",
    "int": "`floor(...)` rounds a real, which stays one; an `int` is made of integers",
    "print": "a sketch has no output",
    "zeros": "write `local t: real[n] = 0`",
    **dict.fromkeys(
        ("sum", "dot", "norm"), "write a loop: `for i in 0..n: s += ...`, with the body on a line of its own"
    ),
    "swap": "write three lines: `local t: real = a`, `a = b`, `b = t`",
}
"""Corrections for functions of other languages."""

# Patterns are searched in the line without its comment; the first that matches gives the hint, with its groups.
_LINES: tuple[tuple[str, str], ...] = (
    (rf"{_RANGE}{_PART}\)", r"write `\1 in 0..\2:`"),
    (rf"{_RANGE}{_PART},{_PART}\)", r"write `\1 in \2..\3:`"),
    (rf"{_RANGE}{_PART},\s*-1\s*,\s*-1\s*\)", r"write `\1 in \2 downto 0:`"),
    (rf"{_RANGE}{_PART},{_PART},\s*([^(),\s-]+)\s*\)", r"write `\1 in \2..\3 step \4:`"),
    (_COUNTED.format("<"), r"write `for \1 in \2..\3:`"),
    (_COUNTED.format("<="), r"write `for \1 in \2..\3 + 1:`"),
    (r"^\s*(parallel\s+)?for\s+\w+\s+from\b|^\s*(parallel\s+)?for\s+\w+\s+in\s+\w+\s*:|^\s*(repeat|loop)\b", _LOOP),
    (r"\.\.=\s*(\w+)", r"the end of a range is left out: write `..\1 + 1`"),
    (rf"^\s*(?:float|double|real)\s+(\w+){_VALUE}", r"write `local \1: real = \2`"),
    (rf"^\s*(\w+)\s*:\s*(real|int){_VALUE}", r"write `local \1: \2 = \3`"),
    (r"\b(?:math|np|numpy)\.(\w+)\s*\(", r"write `\1(...)`"),
    (r"\.(shape|size|length)\b", FOREIGN_FUNCTIONS["len"]),
    (r"^\s*algorithm\b.*&|\bin\s+out\b", "an array that is read and written is `x: inout real[n]`"),
    (r"->\s*(void|None)\b", r"leave out `-> \1`"),
    (r"^\s*(requires|require|given|suppose)\b", "a fact about sizes is written `where n >= 2`, right below the header"),
    (r"^\s*\S+\[[^\]]*\]\s*,.*=", FOREIGN_FUNCTIONS["swap"]),
    (r"^\s*(//|/\*|--)", "a comment starts with `#`"),
    (r"^\s*(def|fn|func|function|procedure|proc|subroutine)\b", "write `algorithm name(x: real[n]):`"),
    (r"^\s*(import|from|include)\b|^\s*use\b.*[/\"]", "write `use dense.matmul`"),
    (r"^\s*end\w*\s*$|[{}]", "indentation marks a block"),
    (r"^\s*(print|echo|assert)\b", "a sketch has no output; a fact to be checked is written `assume n > 1`"),
    (r"^\s*(parfor|pfor|forall|foreach|prange|doall)\b|^\s*parallel\s+(?!for\b)", "write `parallel for i in 0..n:`"),
    (r"\brange\s*\(|^\s*(parallel\s+)?for\s*\(|^\s*(parallel\s+)?for\s+\w+\s*=", _LOOP),
    (r"^\s*(parallel\s+)?for\s+\w+\s+in\b(.*\b(to|by|until)\b|\s+\w+\s*:\s*\w|.*\bdownto\b.*\.\.)", _LOOP),
    (r"\belse\s+if\b|^\s*(elseif|elsif|elif_)\b", "write `elif`"),
    (r"\bthen\b|\bdo\b", "a block header ends with `:` alone"),
    (r"=.*\bif\b.*\belse\b|\?", "a value has no condition in it: write an `if`, or `min` and `max`"),
    (r"^\s*(if|elif|while)\b[^=]*[^=<>!]=(?!=)", "equality is written `==`"),
    (r"\batmost\b|\bat\s+most\b(?!.*\btimes\b)", "write `while x > 1 at most n times:`"),
    (r"&&|(?<!&)&(?!&)", "write `and`"),
    (r"\|", "write `or`"),
    (r"(\w+|\([^()]*\))!(?!=)", r"factorials are not in the language; the nearest is `\1^\1`, and \1! is at most that"),
    (r"!(?!=)", "write `not`"),
    (r";", "a statement ends with its line"),
    (r"'", "text stands in double quotes; only docstrings, titles and machine names are text"),
    (r"\*\*", "a power is written `^`"),
    (r"^\s*algorithm\b.*\]\s*(inout|out|in)\b", "the mode stands before the type: `A: inout real[n]`"),
    (r"\]\s*\[", "the subscripts of an element stand in one pair of brackets: `A[i, j]`"),
    (r"\)\s*\[", "name the value first: only an array's name is followed by `[`"),
    (r":=|<-", "assignment is written `=`"),
    (r"\+\+|--\s*$", "write `+= 1` or `-= 1`"),
    (r"(\^|%|//|\*\*|<<|>>)=", "the updates are `+=`, `-=`, `*=`, `/=`, `min=` and `max=`"),
    (r"\.\.\.", "a range has two dots: `0..n`"),
    (r"\[\s*\.\.|\.\.\s*[,\]]", _SLICE),
    (r"(?<![\w.)\]])\.\d", "write a digit before the point: `0.5`"),
    (r"\d\.(?![.\d])", "write a digit behind the point: `1.0`"),
    (r"=.*(?<![\w.])\d+(?![eE][-+]?\d)[A-Za-z_]", "a product is written with `*`: `3*x`"),
    (r"^\s*let\s+\w+\s*:", "`let` names a size or a view, without a type; data is `local t: real = 0`"),
    (r"^\s*local\s+\w+\s*=", "a local has a type: `local t: real = 0`"),
    (r"\b(float|float32|float64|double|complex|number)\b", "numbers are `real` or `int`"),
    (r"\b(integer|int32|int64|long|bool|boolean)\b", "numbers are `real` or `int`; a condition stands only in an `if`"),
    (r"^\s*(real|int|var|auto|const|size|index)\s+\w+", "write `local t: real = 0`, or `let h = n//2` for a size"),
    (r"^\s*return\s*$", "an algorithm without a result just ends; `return` gives a value"),
    (r"\bspawn\s+\w+\s*=|=\s*spawn\b", "a spawned call has no result: hand it back through an array of one element"),
    (r"^\s*spawn\b(?!\s+\w+\s*\()", "`spawn` goes before the call of an algorithm: `spawn f(x[0..n//2])`"),
    (r"^\s*(break|exit|last)\s*$", "a loop that ends early is `while i < n and x[i] > 0 at most n times:`"),
    (r"^\s*(continue|next|cycle)\s*$", "put the rest of the loop's body into an `if`"),
    (r"^\s*atomic\b", "`atomic` goes before the update of one element: `atomic y[i] += v`"),
    (r"^\s*ensures\s+\w+\s+(Theta|Omega|O)\b|\bis\s+(theta|omega|o|THETA|OMEGA)\b", "growth is written `is Theta(n)`"),
    (r"^\s*ensures\b.*\b(if|where)\b", "what an `ensures` takes for granted follows `when`"),
    (r"^\s*ensures\s+(energy|power|energy_delay|time)\b\s*[<>=]", suggest_claim()),
    (r"\bpower\s+of\b", "write `n is power of 2`"),
    (r"\bis\s+(even|odd|divisible|a)\b", "facts are comparisons, `n is power of 2`, `n is square` and `2 divides n`"),
)


def suggest_for_line(line: str) -> str | None:
    """Return the hint of the first mistake that the line's code shows; None if it shows none."""
    return next((match.expand(hint) for pattern, hint in _LINES if (match := re.search(pattern, line))), None)


def suggest_at_location(kind: str, line: str, column: int, accepted: Collection[str]) -> str | None:
    """Return a hint on a terminal `kind` at `column` (from 1), where `accepted` ones may be; None if there is none."""
    before = line[: column - 1]
    if kind == "NAME" and _AMOUNT.search(before) and _UNIT.match(line, column - 1):
        return "a claim is in s, J, W, J*s or B, and its numbers have no unit: 1 ms is written `0.001` or `10^-3`"
    shape = re.search(r"(\w+\[[^\[\]]*)\]\[([^\[\]]*\])", line)
    if "LAYOUT" in accepted and shape is not None and shape.start(2) == column:
        return f"write `{shape[1]}, {shape[2]}`"
    if "LAYOUT" in accepted and re.match(r"(?!(in|out|inout)\b)[A-Za-z]\w*+(?!\s*:)", line[column - 1 :]):
        return "a layout is `rowmajor`, `colmajor` or `zmorton`"
    if kind in ("NAME", "INTEGER") and (left_out := _suggest_left_out(before, line[column - 1 :])) is not None:
        return left_out
    if kind == "ASSIGN_PLAIN" and "EQUAL" in accepted:
        return "equality is written `==`"
    if kind == "EQUAL" and "ASSIGN_PLAIN" in accepted:
        return "assignment is written `=`"
    if kind == "LESS" and line[column:].startswith("-") and "ASSIGN_PLAIN" in accepted:
        return "assignment is written `=`"
    if kind in _COMPARISON and not _COMPARISON & set(accepted):
        return "comparisons do not chain: write `0 < n and n < 3`"
    if kind in ("LESS", "GREATER") and f"{kind}_EQUAL" in accepted:
        return "a bound is written with `<=`, `>=` or `==`"
    if kind == "COLON" and "BY_LENGTH" in accepted:
        return _SLICE
    if kind == "STRING" and not before.strip():
        return "a docstring stands right below the header, before `where` and `ensures`"
    if before.rstrip().endswith(":") and set(accepted) <= {"_NEWLINE"}:
        return "a block stands on the lines below its header, indented"
    words = before.split()
    if words and words[0] in ("algorithm", "extern") and set(accepted) == {"COLON"}:
        return "a parameter is written `x: real[n]`; a size that stands in a shape needs none"
    if words and words[0] in ("where", "ensures", "decreases") and "ASSIGN_PLAIN" in accepted:
        return f"`{words[0]}` stands at the top of an algorithm, before its statements"
    return None


def suggest_growth(line: str) -> str | None:
    """Return the hint for a growth after a relation, as in `work = O(n)`; None if there is none."""
    growth = r"(O|Theta|Omega)\b(?! *=) *(\((?:[^()]|\([^()]*\))*\))?"
    claimed = re.search(rf"(\w+(?:\(\w+\))?) *(?:[=<>]=?|[~:]|\bin\b) *{growth}", line)
    fine = claimed and claimed[3] and not re.search(r"\w +\w", claimed[3])
    return f"growth is written `{claimed[1]} is {claimed[2]}{claimed[3] if fine else '(...)'}`" if claimed else None


def _suggest_left_out(before: str, rest: str) -> str | None:
    """Return the hint for a `*` or for brackets that mathematics omits, as in `2T(n/2)`, `n log n` and `log n`.

    None if the text, cut into `before` and `rest` at the mistake, has no such form.
    """
    number, factor = re.search(r"(?<![\w.])\d+(\.\d+)?$", before), re.match(r"[A-Za-z_]\w*(\([^()]*\))?", rest)
    if number is not None and factor is not None and factor[0] != "e":
        return f"a product is written with `*`: `{number[0]}*{factor[0]}`"
    left, logarithm = re.search(r"(\w+) +$|\) *$", before), re.match(rf"{_LOGARITHM} *{_ARGUMENT}", rest)
    if left is not None and logarithm is not None:
        of = logarithm[1].strip("()")
        return f"a product is written with `*`, a logarithm with brackets: `{left[1] or '(...)'}*log2({of})`"
    argument = re.match(_ARGUMENT, rest)
    if re.search(rf"\b{_LOGARITHM} +$", before) and argument is not None:
        return f"a logarithm is written with brackets: `log2({argument[1]})`"
    return None


def mask_strings_and_comment(line: str) -> str:
    """Return the line without its comment, and with nothing but `_` in its strings: columns stay the same."""
    return re.sub(r'"[^"\n]*"|#.*', lambda found: "" if found[0][0] == "#" else f'"{"_" * (len(found[0]) - 2)}"', line)


def count_brackets(code: str) -> int:
    """Return the number of opened brackets less that of closed ones in a line of code."""
    return sum((character in "([") - (character in ")]") for character in code)


def find_unclosed_bracket(lines: Sequence[str], number: int, column: int) -> tuple[int, int, str] | None:
    """Return the innermost bracket open before a place: its line and column (from 1) and itself; None if none is."""
    stack: list[tuple[int, int, str]] = []
    for line_number, line in enumerate(lines[:number], 1):
        end = column - 1 if line_number == number else len(line)
        for place, character in enumerate(mask_strings_and_comment(line)[:end], 1):
            if character in "([":
                stack.append((line_number, place, character))
            elif character in ")]" and stack:
                stack.pop()
    return stack[-1] if stack else None
