"""Mistakes of people who come from other languages are recognised by the line on which the parser stopped."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Collection, Sequence

from archline.expr.tree import Source, Span
from archline.language.collective_calls import COLLECTIVE_CALL, suggest_collective
from archline.language.diagnostics import Edit, Proposal, propose_text
from archline.language.foreign_headers import C_HEADER, TYPED_HEADER, suggest_header
from archline.language.metrics import DECLARABLE, DERIVABLE
from archline.language.rearranging import (
    ARRAY_RESULT,
    HEADERS,
    infer_types,
    mask_strings_and_comment,
    suggest_array_result,
    suggest_definition,
    suggest_moving,
    suggest_results,
)
from archline.language.words import RESERVED
from archline.records import record

_LOOP = "a loop is written `for i in 0..n:`, with `step 2` or as `n-1 downto 0` if need be"
_SLICE = "a slice is written `x[0..n]`, by length `x[s ..+ n]`, whole `x[:]`"
_FOREIGN_COMPARISONS = {"===": "==", "!==": "!=", "=>": ">=", "=<": "<=", "=!": "!=", "<>": "!="}
_COMPARISON = {"EQUAL", "NOT_EQUAL", "LESS", "LESS_EQUAL", "GREATER", "GREATER_EQUAL"}


@record
class CodeLine:
    """A line of a source; `code` is its text without the comment and with masked strings."""

    source: Source
    number: int
    code: str

    def make_span(self, start: int, end: int) -> Span:
        """Return the span from a position up to another one, counted from 0."""
        return Span(self.source, self.number, start + 1, self.number, end + 1)

    def propose_text(self, start: int, end: int, text: str, words: str = "write `{}`", safe: bool = True) -> Proposal:
        """Return the hint to replace the text between two positions; the new text stands for `{}` in `words`."""
        return propose_text(self.make_span(start, end), text, words, safe)


@record
class _Form:
    """A rule of replacement: each match of a pattern in a line, or its group `at`, becomes `text`.

    In the words of the hint, `{}` stands for the first new text.
    """

    pattern: str
    text: str
    words: str = "write `{}`"
    safe: bool = True

    def suggest_form(self, line: CodeLine) -> str | None:
        """Return the hint with its edits; None if the pattern finds nothing."""
        matches = list(re.finditer(self.pattern, line.code))
        if not matches:
            return None
        group = "at" if "at" in matches[0].groupdict() else 0
        edits = [Edit(line.make_span(*match.span(group)), match.expand(self.text)) for match in matches]
        words = matches[0].expand(self.words).replace("{}", edits[0].text.strip())
        # The text of strings is not known here.
        return words if any('"' in edit.text for edit in edits) else Proposal(words, edits, self.safe)


def suggest_claim(metric: str = "energy", algorithm: str = "f") -> str:
    """Suggest a claim for a bound on a metric of a machine."""
    return f'it is claimed next to the algorithm, in SI units: `claim {metric}({algorithm}) <= 1 on "MACHINE"`'


_LOGARITHM = r"(?:log2?|lg|ln)\b"
_ARGUMENT = r"(\w+|\([^()]*\))"

_OPERAND = r"\d+(?:\.\d+)?|[A-Za-z_]\w*(?:\[(?:[^\[\]]|\[[^\[\]]*\])*\]|\([^()]*\))?"
"""A number, a name, an element or a call."""

_AMOUNT, _UNIT = re.compile(r"^\s*claim\b.*[\d)]\s*$"), re.compile(r"([kMGTPmuµμnpf]|[KMGT]i)?(s|J|W|B|Wh)\b")
"""A number in a claim, followed by a unit."""

_LET = "`let` names a size or a view, without a type; data is `local t: real = 0`"

_KIND = r"(real|int|float|double)"
REDUCTIONS = ("sum", "dot", "norm")
"""What is known by these names where it is taken of arrays, or of a range."""
FOREIGN_FUNCTIONS = {
    "len": "an extent is a size that the type names: `n` of `x: real[n]`",
    "pow": "a power is written `^`",
    "float": "write `real_of(...)`",
    "int": "`floor(...)` rounds a real, which stays one; an `int` is made of integers",
    "print": "a sketch has no output",
    **dict.fromkeys(
        REDUCTIONS, "it takes arrays, as `dot(x, y)` does, or for a sum a range: `sum(x[i] for i in 0..n)`"
    ),
    "swap": "write three lines: `local t: real = a`, `a = b`, `b = t`",
}
"""Corrections for functions of other languages."""
_POSITION = (
    "the place of the {1} is found by a loop: `place = 0`, then `for i in 1..n:` with `if x[i] {0} x[place]: place = i`"
)
FOREIGN_FUNCTIONS |= {
    name: _POSITION.format(sign, word)
    for sign, word, names in (
        ("<", "minimum", ("argmin", "index_of_min")),
        (">", "maximum", ("argmax", "index_of_max")),
    )
    for name in names
}
FOREIGN_METHODS = {
    **dict.fromkeys(("append", "push_back", "enqueue", "add", "addLast", "put_back"), "push"),
    **dict.fromkeys(("pop_front", "popleft", "pop_back", "dequeue", "poll", "removeFirst"), "pop"),
    **dict.fromkeys(("is_empty", "isEmpty"), "empty"),
    "top": "peek",
}
"""The names that the library's records have for operations of other languages."""
SAME_OPERATIONS = tuple(
    frozenset(group.split())
    for group in (
        "push append push_back enqueue add add_last put_back insert addLast offer",
        "pop pop_front popleft pop_back dequeue poll remove extract_min delete_min pop_min extractMin",
        "peek top front first min find_min minimum head",
        "length size count len",
        "empty is_empty isEmpty",
        "has contains contains_key containsKey includes member",
        "put set insert add",
        "find find_set root",
        "union unite join merge",
        "decrease_key decrease update change_key",
    )
)
"""Names that libraries and textbooks give to the same operation."""

_LANGUAGE_MODULES = (
    r"^\s*(?:import|from|using|include|open)\s+(?:static\s+|namespace\s+)?"
    r"(?:math|cmath|numpy|np|scipy|heapq|collections|typing|itertools|functools|sys|random|bisect|operator|__future__|numba"
    r"|queue|dataclasses|time|java|javax|std|LinearAlgebra|Base|System|Data|fmt)\b"
)
"""A line that makes names of another language's library known."""


def _suggest_range(source: Source, number: int) -> Proposal | None:
    """Propose a range for `1:n`, which has both ends where arrays begin at 1, and perhaps only one elsewhere."""
    code = mask_strings_and_comment(source.lines[number - 1])
    written = re.search(r"\bfor\s+(\w+)\s*(?P<at>(?:in|=)\s*(\w+)\s*:\s*(\w+))", code)
    if written is None:
        return None
    _, _, lo, hi = written.groups()
    after = str(int(hi) + 1) if hi.isdigit() else f"{hi} + 1"
    ranges = [f"in {lo}..{after}", f"in {lo}..{hi}"]
    words = "the end of a range is left out: write `for {0} {1}:`, or `for {0} {2}:` without the last value"
    if lo == "1":
        words = (
            "the end of a range is left out: write `for {0} {1}:`, with subscripts `x[{0} - 1]` as arrays begin at 0"
        )
        ranges[1] = f"in 0..{hi}"
        words += "; with subscripts `x[{0}]` it is `for {0} {2}:`"
        if re.search(
            rf"\[(?:[^\[\]]*,)?\s*{written[1]}\s*[\],]", source.lines[number] if number < len(source.lines) else ""
        ):
            words = "arrays begin at 0: write `for {0} {1}:` with subscripts `x[{0}]`"
            words += "; the same numbers have `for {0} {2}:`, with subscripts `x[{0} - 1]`"
            ranges.reverse()
    elif lo == "0":
        ranges.reverse()
        words = "a range has two dots: write `for {0} {1}:` without the last value, or `for {0} {2}:` with it"
    at = Span(source, number, written.start("at") + 1, number, written.end("at") + 1)
    return Proposal(words.format(written[1], *ranges), [Edit(at, text) for text in ranges], safe=False)


def _suggest_removing_import(source: Source, number: int) -> Proposal:
    """Propose to delete a line that imports a library of another language."""
    words = "functions such as `sqrt` need no import: leave this line out; `use` names a file of algorithms"
    return Proposal(words, [Edit(Span(source, number, 1, number + 1, 1), "")])


# Patterns are searched in the line without its comment; the first that matches gives the hint, with its groups.
_LINES: tuple[tuple[str, str | Callable[[Source, int], str | None]] | _Form, ...] = (
    (COLLECTIVE_CALL, suggest_collective),
    _Form(r"\(\s*([^()]+?)\s*\.\.=\s*([^()]+?)\s*\)\.rev\(\)", r"\2 downto \1"),
    _Form(r"\(\s*([^()]+?)\s*\.\.\s*([^()]+?)\s*\)\.rev\(\)", r"\2 - 1 downto \1"),
    _Form(r"^\s*(?P<at>(?:for|forall)\s+(.*?)\s+(?:do\s+)?in\s+parallel\b(?:\s+do\b)?)", r"parallel for \2"),
    (r"^\s*(?:parallel\s+)?for\s+\w+\s*(?:in|=)\s*\w+\s*:\s*\w+\s*(?::|do\b|$)", _suggest_range),
    _Form(r"^\s*(?P<at>(?:loop|forever|repeat\s+forever)\s*:?)\s*$", "while true:"),
    (r"^\s*(parallel\s+)?for\s+\w+\s+from\b|^\s*(parallel\s+)?for\s+\w+\s+in\s+\w+\s*:|^\s*(repeat|loop)\b", _LOOP),
    _Form(r"\.\.=\s*(\w+)", r"..\1 + 1", "the end of a range is left out: write `{}`"),
    _Form(r"\b(?:(?:np|numpy)\.)?(zeros|ones)\(\s*\(([^()]*?),?\s*\)\s*\)", r"\1(\2)"),
    (r"\b(?:np|numpy)\.empty\b", "an array without values is declared: `local A: real[n, n]`"),
    _Form(r"\b(?:math|np|numpy)\.(?=\w+\s*\()", "", "functions have no module before their names"),
    (r"\.(shape|size|length)\b", FOREIGN_FUNCTIONS["len"]),
    # Headers
    (C_HEADER, suggest_header),
    (TYPED_HEADER, suggest_header),
    _Form(r"\bin\s+out\b", "inout", "an array that is read and written is `x: inout real[n]`"),
    _Form(
        r"^\s*algorithm\b.*?(?P<at>&(?:mut\s+)?)(?=\w)",
        "inout ",
        "an array that is read and written is `x: inout real[n]`",
    ),
    _Form(r"(?<=[(,])\s*(?P<at>(?:var|ref|inout)\s+(\w+)\s*:)(?!:)", r"\2: inout"),
    _Form(r"(?<=[(,])\s*(?P<at>out\s+(\w+)\s*:)", r"\2: out"),
    _Form(rf"(?<=[(,])\s*(?P<at>{_KIND}\s+(\w+)((?:\[[^\]]*\])*))(?=\s*[,)])", r"\3: \2\4"),
    _Form(rf"(?<=[(,])\s*(?P<at>{_KIND}((?:\[[^\]]*\])+)\s+(\w+))(?=\s*[,)])", r"\4: \2\3"),
    _Form(
        r"(?P<at>\b((?:real|int)\[[^\]]*\])\s*\b(inout|out|in))\b(?!\s*\w)",
        r"\3 \2",
        "the mode stands before the type: `A: inout real[n]`",
    ),
    _Form(r"\s*->\s*(void|None)\b", "", r"leave out `-> \1`"),
    (r"->\s*\(?\s*\w+\s*,", suggest_results),
    _Form(r"->\s*(?P<at>float|double|number)\b", "real"),
    _Form(r"->\s*(?P<at>integer|long|size_t)\b", "int"),
    (r"->\s*[A-Za-z_]\w*\s*\[[^\]]*\]\s*(?:\[[^\]]*\]\s*)*:?\s*$", suggest_array_result),
    (
        r"->\s*(?!(?:real|int|bool)\b)[A-Za-z_]\w*\s*(?:\[[^\]]*\])?\s*:?\s*$",
        ARRAY_RESULT,
    ),
    (r"\]\.[A-Za-z_]", "there are no arrays of records: a record has arrays as its fields, as in `P.x[i]`"),
    _Form(r"\breturns\s+(?=(?:real|int|bool)\b)", "-> "),
    _Form(r"^\s*algorithm\b.*\)(?P<at>\s*:\s*(real|int|bool)\s*:?)\s*$", r" -> \2:"),
    _Form(
        r"^\s*(?P<at>requires|require|given|suppose)\b",
        "where",
        "a fact about sizes is written `where n >= 2`, right below the header",
    ),
    (r"^\s+(algorithm|def|fn|func|function|procedure|proc|subroutine)\b", suggest_moving),
    _Form(r"^(?P<at>fn|func|fun|proc|subroutine|void)\b", "algorithm", "write `algorithm name(x: real[n]):`"),
    (r"^\s*(def|function|procedure)\b", "write `algorithm name(x: real[n]):`"),
    _Form(r"^use\s+(?P<at>(\w+)/(\w+)(?:\.algo)?)\s*$", r"\2.\3", r"write `use {}`"),
    (_LANGUAGE_MODULES, _suggest_removing_import),
    (r"^\s*(import|from|include)\b|^\s*use\b.*[/\"]", "write `use dense.matmul`"),
    # Blocks and comments
    (r"\s//\s+[A-Za-z]", "a comment starts with `#`"),
    _Form(r"^\s*(?P<at>(?:end\w*|begin|fi|od|done)(?:\s+\w+)?)\s*$", "", "indentation marks a block: leave this out"),
    (r"[{}]", "indentation marks a block"),
    _Form(r"^\s*(?P<at>assert)\b", "assume", "a fact to be checked is written `assume n > 1`"),
    _Form(
        r"^\s*(?P<at>(?:print|println|printf|echo|puts|write|writeln)\b.*\S)",
        "pass",
        "a sketch has no output: write `{}`",
    ),
    _Form(
        r"^\s*(?P<at>parfor|pfor|prange|doall|parallel_for|forall|foreach)\b(?=\s+\w+\s+(?:in|from|=))",
        "parallel for",
        "write `parallel for i in 0..n:`",
    ),
    (r"^\s*(parfor|pfor|forall|foreach|prange|doall)\b|^\s*parallel\s+(?!for\b)", "write `parallel for i in 0..n:`"),
    (r"\brange\s*\(|^\s*(parallel\s+)?for\s*\(|^\s*(parallel\s+)?for\s+\w+\s*=", _LOOP),
    (
        r"^\s*(parallel\s+)?for\s+\w+\s*,",
        "a loop has one variable: write `for i in 0..n:`, and elements such as `x[i]` and `y[i]`",
    ),
    (r"^\s*(parallel\s+)?for\s+\w+\s+in\b(.*\b(to|by|until)\b|\s+\w+\s*:\s*\w|.*\bdownto\b.*\.\.)", _LOOP),
    # Data structures
    _Form(r"\b(\w+)\s+(?:is\s+)?not\s+empty\b(?:\s*\(\s*\))?", r"not \1.empty()"),
    _Form(r"\b(\w+)\s*(?:!=|≠)\s*(?:∅|empty\b|\{\s*\}|\[\s*\])", r"not \1.empty()"),
    _Form(r"\b(\w+)\s+is\s+empty\b(?:\s*\(\s*\))?", r"\1.empty()"),
    _Form(
        r":\s*(?P<at>\w*(?:[Dd]eque|[Qq]ueue)\s*<\s*\w+\s*>(?:\s*=.*)?)\s*$",
        "queue",
        "a queue of the library is `local Q: queue`",
    ),
    _Form(
        r":\s*(?P<at>\w*(?:[Ss]tack|[Ll]ist|[Vv]ector?)\s*<\s*\w+\s*>(?:\s*=.*)?)\s*$",
        "stack",
        "a stack of the library is `local S: stack`",
    ),
    (
        r"\bheap\s+of\b|\bpriority\s+queue\s+of\b",
        "a heap of the library has numbers from 0 on with keys: `local H: heap[n]`",
    ),
    _Form(
        r"^\s*(?:\w*[Qq]ueue\w*|\w*fifo\w*|\w*frontier\w*|[Qq])\s*=\s*(?P<at>\[\s*\])\s*$",
        "queue()",
        "a list that grows at its end and shrinks at its start is a `queue` of the library: write `{}`",
        False,
    ),
    _Form(r"=\s*(?P<at>\[\s*\])\s*$", "stack()", "a list that grows is a `stack` of the library: write `{}`", False),
    (r"=\s*\[|\(\s*\[|\bin\s*\[", "a list is an array: `local x: int[n] = 0`, or a `stack` of the library if it grows"),
    (r"\(\s*\([^()]*,[^()]*\)", "a pair is two numbers: keep them in two arrays, or as one number, `row*n + column`"),
    _Form(r"^\s*(?P<at>\(([^()]*,[^()]*)\))\s*=(?!=)", r"\2"),
    (r"^\s+(?:let\s+)?\w+\s*\(\s*\w+\s*(?:,\s*\w+\s*)*\)\s*=(?!=)", suggest_definition),
    (r"\blambda\b|=>", "a short function is written before the algorithms: `let f(x) = x + 1`"),
    (r"^\s*return\b.*,", suggest_results),
    (r"^\s*(class|struct|record)\b", "a record is written `type point:`, with a field such as `x: real` on each line"),
    (r"^\s*(try|except|catch|raise|throw|with|yield|global|del)\b", "a sketch has loops, branches and calls alone"),
    (
        r"^\s*(\w+\s*(?:,\s*\w+\s*)+)=\s*(\w+\.\w+)\s*\(.*\)\s*;?\s*$",
        r"`\2()` gives one number: write `u = \2()`, and a statement for each other name, as `d = H.key[u]` of a heap",
    ),
    (
        r"^\s*(\w+\s*(?:,\s*\w+\s*)+)=\s*(\w+)\s*\(.*\)\s*;?\s*$",
        r"a call gives one number: `\2` hands others back through parameters, as in `hi: out int`",
    ),
    (
        r"^\s*(?:switch|match|select|case)\b(?!\s*=)",
        "a choice between values is written `if k == 0:`, `elif k == 1:` and `else:`",
    ),
    # Statements
    _Form(r"^\s*(?P<at>set\s+(\w+(?:\[[^\]]*\])?)\s+to)\s", r"\2 ="),
    _Form(r"^\s*(?P<at>(?:increment|\+\+)\s*(\w+(?:\[[^\]]*\])?))\s*$", r"\2 += 1"),
    _Form(r"^\s*(?P<at>(?:decrement|--)\s*(\w+(?:\[[^\]]*\])?))\s*$", r"\2 -= 1"),
    _Form(r"^\s*(?P<at>(\w+)\s*=\s*(\w+)\s*=\s*(-?[\d.]+|inf|true|false))\s*$", r"\2, \3 = \4, \4"),
    (r"^\s*(break|continue|return\b.*)\s+(if|when|unless)\b", "the `if` stands before it: `if x > 0: break`"),
    (r"\bthen\b|\bdo\b", "a block header ends with `:` alone"),
    (
        r"=.*\bif\b.*\belse\b|\?|\bif\b.*\belse\b",
        "a value has no condition in it, unless it is the whole right side: `t = a if c else b`",
    ),
    _Form(r"\batmost\b", "at most", "write `while x > 1 at most n times:`"),
    _Form(r"\bat\s+most\b(?!.*\btimes\b)[^:]*?(?P<at>\s*(?::|$))", " times:", "write `while x > 1 at most n times:`"),
    (r"(?<!&)&(?!&)", "write `and`"),
    _Form(
        r"(?:^|[-+*/%^(,=<>:\[]|\b(?:return|if|elif|while|until|and|or|not|for|in)\b)\s*"
        r"(?P<at>(?<!\|)\|(?!\|)\s*([^|]*[^|\s+*/^,(-])\s*\|(?!\|))",
        r"abs(\2)",
    ),
    (r"\|", "write `or`"),
    (r"(\w+|\([^()]*\))!(?!=)", r"claims and growths have `factorial(\1)`; the language has no factorials"),
    (r"!(?!=)", "write `not`"),
    (r";", "a statement ends with its line"),
    (r"'", "text stands in double quotes; only docstrings, titles and machine names are text"),
    # Signs of mathematics
    _Form(r"[×·⋅∙]", "*"),
    _Form(r"[−–]", "-"),
    _Form(r"∞", "inf"),
    _Form(r"∧", "and"),
    _Form(r"∨", "or"),
    _Form(r"¬\s*", "not "),
    _Form(rf"√\s*(?:\(((?:[^()]|\([^()]*\))*)\)|({_OPERAND})(?![\w.\[(^²]))", r"sqrt(\1\2)"),
    (r"√", "a root is written `sqrt(...)`"),
    _Form(r"²", "^2"),
    _Form(r"∈", "in"),
    _Form(r"…", ".."),
    _Form(r"⌊\s*(\w+|\([^()]*\))\s*/\s*(\w+)\s*⌋", r"\1//\2"),
    _Form(r"⌊([^⌊⌋]*)⌋", r"floor(\1)"),
    _Form(r"⌈([^⌈⌉]*)⌉", r"ceil(\1)"),
    (r"\)\s*\[", "name the value first: only an array's name is followed by `[`"),
    (r":=|<-", "assignment is written `=`"),
    (r"\+\+|--\s*$", "write `+= 1` or `-= 1`"),
    _Form(r"^\s*(?P<at>(\w+(?:\[[^\]]*\])?)\s*\|\|=)", r"\2 = \2 or"),
    _Form(r"^\s*(?P<at>(\w+(?:\[[^\]]*\])?)\s*&&=)", r"\2 = \2 and"),
    (r"[\^|&]=", "the updates are `+=`, `-=`, `*=`, `/=`, `//=`, `%=`, `min=` and `max=`; `^` is the power"),
    _Form(
        r"(?<![=<>!])=\+(?!\+)\s*(?P<operand>\w+)?",
        r"+= \g<operand>",
        r"an update is written `{}`, a value without its sign `= \g<operand>`",
        False,
    ),
    _Form(r"\.\.\.", "..", "a range has two dots: `0..n`", False),
    _Form(r"\[\s*(?P<at>\.\.)\s*(?=\w)", "0..", _SLICE),
    _Form(r"(?P<at>\.\.)\s*[,\]]", ":", _SLICE),
    _Form(r"(?<![\w.)\]])(?P<at>\.)\d", "0.", "write a digit before the point: `0.5`"),
    _Form(r"\d(?P<at>\.)(?![.\d])", ".0", "write a digit behind the point: `1.0`"),
    _Form(
        r"(?<==).*(?<![\w.])(?<![/^%])(?<![/^%] )(?P<at>(\d+)(?![eE][-+]?\d)([A-Za-z_]\w*))",
        r"\2*\3",
        "a product is written with `*`: `3*x`",
    ),
    _Form(
        r"^\s*(?P<at>(?:long\s+long|long|short|unsigned(?:\s+int)?|size_t|u?int\d+(?:_t)?|usize)\s+(\w+)\s*=)",
        r"local \2: int =",
    ),
    _Form(rf"^\s*(?P<at>{_KIND}\s+(\w+)((?:\[[^\]]*\])+))", r"local \3: \2\4"),
    (r"\b(float|float32|float64|double|complex|number)\b", "numbers are `real` or `int`"),
    (r"\b(integer|int32|int64|long|bool|boolean)\b", "numbers are `real` or `int`; a condition stands only in an `if`"),
    (r"^\s*(real|int|var|auto|const|size|index)\s+\w+", "write `local t: real = 0`, or `let h = n//2` for a size"),
    (
        r"\bspawn\s+\w+\s*=|=\s*spawn\b",
        "a spawned call has no result: call without `spawn`, or let the algorithm write it to an array of one element",
    ),
    (r"^\s*spawn\b(?!\s+\w+\s*\()", "`spawn` goes before the call of an algorithm: `spawn f(x[0..n//2])`"),
    (r"^\s*atomic\b", "`atomic` goes before the update of one element: `atomic y[i] += v`"),
    # Claims and facts
    _Form(r"\bis\s+(?P<at>theta|THETA)\b", "Theta", "growth is written `is Theta(n)`"),
    _Form(r"\bis\s+(?P<at>OMEGA)\b", "Omega", "growth is written `is Theta(n)`"),
    # These say more than `O` and `Omega` do.
    (
        r"\bis\s+(o|omega|ω)(?!\w)",
        r"growth is `O`, `Theta` or `Omega`, which say less than `\1` would",
    ),
    _Form(r"^\s*ensures\s+\w+\s+(?P<at>)(?:Theta|Omega|O)\b", "is ", "growth is written `is Theta(n)`"),
    _Form(
        r"^\s*ensures\s+\w+(?:\(\w+\))?\s*(?P<at>[~∼≈∝]\s*(.*?))\s*(?:\bwhen\b.*)?$",
        r"is Theta(\2)",
        "growth is written `{}`",
        False,
    ),
    _Form(r"^\s*ensures\b.*\b(?P<at>if|where)\b", "when", "what an `ensures` takes for granted follows `when`"),
    (r"^\s*ensures\s+(energy|power|energy_delay|time)\b\s*[<>=]", suggest_claim()),
    _Form(r"\bis\s+(?P<at>a\s+)power\s+of\b", "", "write `n is power of 2`"),
    _Form(r"(?<!\bis)\s(?P<at>power\s+of)\b", "is power of", "write `n is power of 2`"),
    _Form(r"\b(\w+)\s+is\s+even\b", r"2 divides \1"),
    _Form(r"\b(\w+)\s+is\s+odd\b", r"\1 % 2 == 1"),
    _Form(r"\b(\w+)\s+is\s+divisible\s+by\s+(\w+)", r"\2 divides \1"),
    (r"\bis\s+(odd|a)\b", "facts are comparisons, `n is power of 2`, `n is square` and `2 divides n`"),
)


def suggest_for_line(line: CodeLine) -> str | None:
    """Return the hint of the first mistake that the line's code shows; None if it shows none."""
    for mistake in _LINES:
        if isinstance(mistake, _Form):
            hint = mistake.suggest_form(line)
        else:
            pattern, words = mistake
            match = re.search(pattern, line.code)
            hint = match and (match.expand(words) if isinstance(words, str) else words(line.source, line.number))
        if hint is not None:
            return hint
    return None


def suggest_at_location(kind: str, line: CodeLine, column: int, accepted: Collection[str]) -> str | None:
    """Return a hint for an unexpected terminal `kind` at `column` (from 1), where `accepted` ones are allowed."""
    code, at = line.code, column - 1
    before, rest = code[:at], code[at:]
    words = before.split()
    if kind == "NAME" and _AMOUNT.search(before) and _UNIT.match(code, at):
        return "a claim is in s, J, W, J*s or B, and its numbers have no unit: 1 ms is written `0.001` or `10^-3`"
    if "LAYOUT" in accepted and re.match(r"(?!(in|out|inout)\b)[A-Za-z]\w*+(?!\s*:)", rest):
        return "a layout is `rowmajor`, `colmajor` or `zmorton`"
    if kind in ("NAME", "INTEGER") and (left_out := _suggest_omitted_sign(line, before, rest)) is not None:
        return left_out
    if kind in ("ASSIGN_PLAIN", "EQUAL") and (power := suggest_power(line)) is not None:
        return power
    # The signs of an operator of another language are several tokens here, and are replaced together.
    start, end = len(before.rstrip("=<>!")), len(code) - len(rest.lstrip("=<>!"))
    # An equality that stands between other signs, or before a sign of its right side, is left to the reader.
    signs, alone = code[start:end], not re.search(r"[=<>!] *$", code[:start]) and not re.match(r" *[=<>!]", code[end:])
    tests = "EQUAL" in accepted or words[:1] in (["if"], ["elif"], ["while"], ["until"], ["else"])
    if set(signs) == {"="} and len(signs) > 1 and not tests and (kind == "ASSIGN_PLAIN" or "ASSIGN_PLAIN" in accepted):
        return line.propose_text(start, end, "=", "assignment is written `{}`")
    if signs in _FOREIGN_COMPARISONS and (tests or signs == "<>"):
        return line.propose_text(start, end, _FOREIGN_COMPARISONS[signs])
    if signs == "=" and tests and alone:
        plus = len(code[end:]) - len(code[end:].lstrip("+"))
        return line.propose_text(start, end + plus, "==", "equality is written `{}`")
    if kind == "LESS" and rest.startswith("<-") and "ASSIGN_PLAIN" in accepted:
        text = f"{before.strip()} = {rest[2:].strip()}"
        return line.propose_text(len(before) - len(before.lstrip()), len(code.rstrip()), text)
    if kind in _COMPARISON and not _COMPARISON & set(accepted) and not re.search(r":\s*\w+\s*<", code):
        return "comparisons do not chain: write `0 < n and n < 3`"
    if kind in ("LESS", "GREATER") and f"{kind}_EQUAL" in accepted:
        hint = "a bound is written with `<=`, `>=` or `==`"
        return line.propose_text(at, column, f"{rest[0]}=", hint, safe=False)
    if kind == "STRING" and words[:1] != ["use"]:
        if not before.strip():
            return "a docstring stands right below the header, before `where` and `ensures`"
        return "data are numbers: give each text a number of its own, such as `let red = 0`"
    if before.rstrip().endswith(":") and set(accepted) <= {"_NEWLINE"}:
        return "a block stands on the lines below its header, indented"
    if kind == "AT" and "ITERATIONS" in accepted and re.match(r"at\s+most\b", rest):
        header = f"`{before.strip()} iterations T:`"
        return f"a `for` takes no bound: name its iterations, {header}, and claim costs in T, or `when T <= ...`"
    if words and words[0] in HEADERS and set(accepted) == {"COLON"}:
        form = suggest_for_line(line)
        return form if isinstance(form, Proposal) else _suggest_types(line)
    if words and words[0] in ("where", "ensures", "decreases") and "ASSIGN_PLAIN" in accepted:
        return f"`{words[0]}` stands at the top of an algorithm, before its statements"
    return None


def find_foreign_name(code: str, at: int) -> tuple[int, int] | None:
    """Return the ends of the name around a letter that is not ASCII, at a position; None for other characters."""
    if code[at].isascii() or not _is_name_character(code[at]):
        return None
    start, end = at, at + 1
    while start and _is_name_character(code[start - 1]):
        start -= 1
    while end < len(code) and _is_name_character(code[end]):
        end += 1
    # A number may stand right before a name.
    return end - len(code[start:end].lstrip("0123456789")), end


def _is_name_character(character: str) -> bool:
    is_exponent = unicodedata.decomposition(character).startswith("<super>")
    return (character == "_" or character.isalnum() or unicodedata.combining(character) > 0) and not is_exponent


def suggest_ascii_name(line: CodeLine, start: int, end: int) -> Proposal | None:
    """Return the hint to write a name in ASCII: `Delta`, `grosse`; None for a name of other scripts."""
    text = ""
    for character in unicodedata.normalize("NFKD", line.code[start:end]).replace("ß", "ss"):
        called = unicodedata.name(character, "").replace("LAMDA", "LAMBDA")
        greek = re.fullmatch(r"GREEK (SMALL|CAPITAL) LETTER (?:FINAL )?([A-Z]+)", called)
        if greek is not None:
            text += greek[2].lower() if greek[1] == "SMALL" else greek[2].capitalize()
        elif not unicodedata.combining(character):
            text += character
    is_name = re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", text) and (text == "pi" or text not in RESERVED)
    return line.propose_text(start, end, text, safe=False) if is_name else None


def suggest_power(line: CodeLine) -> str | None:
    """Return the hint for `where n = 2^k` with a k that nothing declares; None for other lines."""
    pattern = r"(?:^\s*(?:where|assume)\b|,)\s*(?P<at>(\w+)\s*={1,2}\s*(\d+)\s*(?:\^|\*\*)\s*([A-Za-z_]\w*))"
    power = re.search(pattern, line.code)
    if power is None:
        return None
    text = "\n".join(line.source.lines[: line.number - 1])
    begun = text.rfind("\nalgorithm ")
    if re.search(rf"\b{power[4]}\b", text[max(begun, 0) :]):
        return None
    return line.propose_text(*power.span("at"), f"{power[2]} is power of {power[3]}")


def _suggest_types(line: CodeLine) -> str:
    """Suggest types for the parameters of a header that have none."""
    hint = "a parameter is written `x: real[n]`; a size that stands in a shape needs none"
    below = "\n".join(line.source.lines[line.number :])
    header = re.search(rf"^(?:{'|'.join(HEADERS)})\b", below, re.MULTILINE)
    below = below if header is None else below[: header.start()]
    start, end, edits = line.code.find("("), line.code.rfind(")"), list[Edit]()
    name = re.search(r"\w+\s*$", line.code[:start])
    parameters = [part.strip() for part in line.code[start + 1 : end].split(",")]
    typed = dict(
        zip(parameters, infer_types(line.source, name[0].strip() if name else "", parameters, below), strict=True)
    )
    for match in re.finditer(r"(?:(?<=\()|(?<=,))\s*(?P<name>[A-Za-z_]\w*)\s*(?=[,)])", line.code[: end + 1]):
        if match.start() > start:
            edits.append(Edit(line.make_span(*match.span("name")), typed[match["name"]]))
    return Proposal(hint, edits, safe=False)


_GROWTH_CLAIM = re.compile(
    r"(?P<metric>\w+(?:\(\w+\))?) *(?P<relation>[=<>]=?|[~:]|\bin\b|\bis\b) *"
    r"(?P<bound>(?=.*\b(?:O|Theta|Omega)\b(?! *=))[^=<>,]*?)\s*(?=\b(?:when|where|on|at|if)\b|[,\s]*$)"
)


def suggest_growth(line: CodeLine) -> str | None:
    """Return the hint for a growth after a relation, as in `work = n + O(n log n)`; None for other lines."""
    claimed = _GROWTH_CLAIM.search(line.code)
    if claimed is None:
        return None
    metric, bound = claimed["metric"], claimed["bound"]
    kinds = set(re.findall(r"\b(O|Theta|Omega)\b", bound))
    if not kinds:
        # The growth is behind the bound, as in `x = n on O`.
        return None
    terms = [re.sub(r"^(?:O|Theta|Omega) *\((.*)\)$", r"\1", term) for term in _split_terms(bound)]
    formula = " + ".join(map(_write_formula, terms))
    # Growths add up; they do not in a difference or a product.
    if len(kinds) > 1 or re.search(r"\b(?:O|Theta|Omega)\b|\w +\w", formula) or count_brackets(bound):
        return f"growth is written `{metric} is {min(kinds)}(...)`"
    text = f"{metric} is {min(kinds)}({formula})"
    if claimed["relation"] == "is" and formula == bound[len(min(kinds)) + 1 : -1]:
        return None
    return line.propose_text(*claimed.span(), text, "growth is written `{}`")


_ENSURED = "|".join(sorted({*DECLARABLE, *DERIVABLE, "time"}, key=len, reverse=True))
_TURNED_BOUND = re.compile(
    rf"^\s*ensures\s+(?P<at>(?P<bound>[^<>=]+?)\s*(?P<sign>==|<=|>=)\s*(?P<metric>{_ENSURED}))\s*(?:$|when\b)"
)
_TURNED_SIGNS = {"==": "==", "<=": ">=", ">=": "<="}
_NEXT_BOUND = re.compile(rf"\s*(?:,|\band\b|&&)\s*(?=(?:{_ENSURED})\s*(?:==|<=|>=|is\b))")


def suggest_ensures(line: CodeLine) -> str | None:
    """Return the hint for an `ensures` with the metric after the relation, or with several metrics; else None."""
    if turned := _TURNED_BOUND.search(line.code):
        text = f"{turned['metric']} {_TURNED_SIGNS[turned['sign']]} {turned['bound']}"
        return line.propose_text(*turned.span("at"), text, "the metric stands first: `ensures {}`")
    claim = re.match(r"(?P<head>\s*ensures\s+)(?P<bounds>.*?)(?P<when>\s+when\b.*)?$", line.code.rstrip())
    if claim is None or not (found := list(_NEXT_BOUND.finditer(line.code, 0, claim.end("bounds")))):
        return None
    text = f"{claim['when'] or ''}\n{claim['head']}"
    bounds = ", ".join(f"`ensures {bound}`" for bound in _NEXT_BOUND.split(claim["bounds"]))
    words = f"each metric has a line of its own: {bounds}"
    return Proposal(words, [Edit(line.make_span(*match.span()), text) for match in found])


def _split_terms(code: str) -> list[str]:
    """Return the terms of a sum that stand in no brackets."""
    terms = [""]
    for character in code:
        if character == "+" and count_brackets("+".join(terms)) == 0:
            terms.append("")
        else:
            terms[-1] += character
    return [term.strip() for term in terms]


def _write_formula(text: str) -> str:
    """Return a formula with the brackets and signs that mathematics omits, as in `n log log n` and `log^2 n`."""
    power = rf"\b{_LOGARITHM} *\^ *(\d+) *{_ARGUMENT}"
    text = re.sub(power, lambda found: f"log2({found[2].strip('()')})^{found[1]}", text)
    text = re.sub(rf"\b{_LOGARITHM}(?= *\()", "log2", text)
    argument = rf"(?!{_LOGARITHM}[ \d])\w+(?:\((?:[^()]|\([^()]*\))*\))?"
    before = ""
    while text != before:
        before, text = text, re.sub(rf"\b{_LOGARITHM} +({argument})", r"log2(\1)", text)
    text = re.sub(r"(?<![\w.])(\d+)(?=[A-Za-z_(])(?![eE][-+\d])", r"\1*", text)
    return re.sub(r"(?<=[\w)]) +(?=[\w(])", "*", text)


def _suggest_omitted_sign(line: CodeLine, before: str, rest: str) -> str | None:
    """Return the hint for a `*` or for brackets that mathematics omits, as in `2T(n/2)`, `n log n` and `log n`.

    None if the text, cut into `before` and `rest` at the mistake, has no such form.
    """
    at = len(before)
    number, factor = re.search(r"(?<![\w.])\d+(\.\d+)?$", before), re.match(r"[A-Za-z_]\w*(\([^()]*\))?", rest)
    if number is not None and factor is not None and factor[0] != "e":
        text = f"{number[0]}*{factor[0]}"
        # In mathematics the product binds closer than what stands before it, as in `1/2x` and `2^2n`.
        safe = not re.search(r"[/^%] *$", before[: number.start()])
        words = "a product is written with `*`: `{}`"
        return line.propose_text(number.start(), at + factor.end(), text, words, safe)
    left, logarithm = re.search(r"(\w+) +$|\) *$", before), re.match(rf"{_LOGARITHM} *{_ARGUMENT}", rest)
    if left is not None and logarithm is not None:
        of = logarithm[1].strip("()")
        text = f"*{_name_logarithm(line, rest)}({of})"
        words = f"a product is written with `*`, a logarithm with brackets: `{left[1] or '(...)'}{text}`"
        return line.propose_text(len(before.rstrip()), at + logarithm.end(), text, words)
    argument, name = re.match(_ARGUMENT, rest), re.search(rf"\b{_LOGARITHM} +$", before)
    if name is not None and argument is not None:
        text = f"{_name_logarithm(line, name[0])}({argument[1].strip('()')})"
        return line.propose_text(name.start(), at + argument.end(), text, "a logarithm is written with brackets: `{}`")
    return None


_OPEN_END = re.compile(r"(?:(?<!\+)\+|(?<!-)-|[*/%^=<]|(?<!-)>|&&|\|\||\\|\b(?:and|or|not))$")
"""The end of a line whose statement goes on: an operator without its right side, or a backslash."""
_OPEN_START = re.compile(r"\s*(?:(?:and|or)\b|&&|\|\||\+(?!\+)|-(?!-)|[*/%^<>=])")


def find_continued_lines(lines: Sequence[str], at: int) -> range:
    """Return the lines, counted from 0, of the statement on line `at` if operators continue it; else that line."""
    codes = [mask_strings_and_comment(line).rstrip() for line in lines]

    def is_continued(line: int) -> bool:
        """Whether the statement of a line goes on in the next one."""
        if not 0 <= line < len(codes) - 1 or not codes[line].strip() or not codes[line + 1].strip():
            return False
        if count_brackets(codes[line]) > 0 or codes[line].endswith((":", ";", "{", "}")):
            return False
        return bool(_OPEN_END.search(codes[line]) or _OPEN_START.match(codes[line + 1]))

    first = last = at
    while is_continued(first - 1):
        first -= 1
    while is_continued(last):
        last += 1
    return range(first, last + 1)


def suggest_joining(source: Source, numbers: range) -> str:
    """Propose to join the lines of a statement, without edits if a comment is between them."""
    words, edits = "a statement is one line, unless it goes on in brackets: join the lines", list[Edit]()
    for number in numbers[:-1]:
        line, below = source.lines[number - 1], source.lines[number]
        code = mask_strings_and_comment(line).rstrip()
        kept = code.rstrip("\\").rstrip()
        if line.rstrip() != line[: len(code)]:
            return words
        edits.append(Edit(Span(source, number, len(kept) + 1, number + 1, len(below) - len(below.lstrip()) + 1), " "))
    return Proposal(words, edits)


def _name_logarithm(line: CodeLine, written: str) -> str:
    """Return `log2` for a logarithm in costs and bounds; in values `log` if that or `ln` is `written`."""
    value = re.match(r"\s+(?:local\b.*|return\b|[\w\[\],. ]+[-+*/]?)(?:(?<![<>=!])=(?!=)|(?<=return))", line.code)
    clause = re.match(r"\s*(?:where|ensures|decreases|claim|let)\b", line.code)
    return "log" if value and not clause and re.match(r"(?:log|ln)\b", written) else "log2"


def count_brackets(code: str) -> int:
    """Return the number of opened brackets less that of closed ones in a line of code."""
    return sum((character in "([") - (character in ")]") for character in code)


def find_unclosed_bracket(lines: Sequence[str], number: int, column: int) -> tuple[int, int, str] | None:
    """Return line, column (from 1) and text of the innermost bracket that is open at a place; None if none is."""
    stack: list[tuple[int, int, str]] = []
    for line_number, line in enumerate(lines[:number], 1):
        end = column - 1 if line_number == number else len(line)
        for place, character in enumerate(mask_strings_and_comment(line)[:end], 1):
            if character in "([":
                stack.append((line_number, place, character))
            elif character in ")]" and stack:
                stack.pop()
    return stack[-1] if stack else None
