"""A collective that is written as a call, such as `x = allreduce(x, max)`, is proposed as the statement that it is."""

from __future__ import annotations

import re

from archline.expr.tree import Source, Span
from archline.language.diagnostics import propose_text
from archline.language.rearranging import mask_strings_and_comment, split_at_commas

_SPELLINGS = {"bcast": "broadcast", "all_reduce": "allreduce", "all_gather": "allgather", "all_to_all": "alltoall"}
_FORMS = {
    "allreduce": "allreduce x with +",
    "reduce": "reduce x onto 0 with +",
    "scan": "scan x with +",
    "reduce_scatter": "reduce_scatter x into y with +",
    "broadcast": "broadcast x from 0",
    "gather": "gather x onto 0 into y",
    "scatter": "scatter x from 0 into y",
    "allgather": "allgather x into y",
    "alltoall": "alltoall x into y",
    "shift": "shift x along r by 1",
    "barrier": "barrier",
}
"""The shortest statement of each collective."""
COLLECTIVES = frozenset((*_FORMS, *_SPELLINGS))
OPERATOR_WORDS = {
    **dict.fromkeys(("+", "sum", "add", "plus"), "+"),
    **dict.fromkeys(("*", "prod", "product"), "*"),
    **dict.fromkeys(("max", "maximum"), "max"),
    **dict.fromkeys(("min", "minimum"), "min"),
}
"""The operators of collectives for the words that other languages have for them."""
COLLECTIVE_CALL = (
    rf"^\s*(?:(?P<target>[A-Za-z_]\w*(?:\[[^=]*\])?)\s*=\s*)?(?P<name>{'|'.join(sorted(COLLECTIVES))})\s*"
    r"\((?P<arguments>.*)\)[\s;]*$"
)
"""A line that has such a call alone, perhaps with a place for its value."""
_ROOTS = {"reduce": "onto", "gather": "onto", "broadcast": "from", "scatter": "from", "shift": "by"}


def suggest_collective(source: Source, number: int) -> str | None:
    """Propose the statement for a collective written as a call on a line; None for other lines and without grids."""
    code = mask_strings_and_comment(source.lines[number - 1])
    call = re.match(COLLECTIVE_CALL, code)
    # Elsewhere `reduce` and `scan` are functions that nobody defines.
    if call is None or "on grid" not in source.text:
        return None
    name = _SPELLINGS.get(call["name"], call["name"])
    words = f"a collective is a statement: `{_FORMS[name]}`, perhaps `along` an axis"
    written = split_at_commas(re.sub(r"\b(?:op|root|along|axis|by)\s*=\s*", "", call["arguments"]))
    operators = [OPERATOR_WORDS[part] for part in written if part in OPERATOR_WORDS]
    buffers = [part for part in written if part not in OPERATOR_WORDS]
    if len(operators) > 1 or bool(buffers) == (name == "barrier"):
        return words
    text, complete = " ".join([name, *buffers[:1]]), True
    places_or_root = buffers[1:]
    if name == "shift":
        axes = _find_axes(source, number)
        if len(axes) != 1:
            return words
        text += f" along {axes[0]}"
    if name in _ROOTS:
        roots = [part for part in places_or_root if re.fullmatch(r"\d+|-?[\w+*/% -]+", part)]
        # The last of several is the root: the one before it may be a place for the result.
        is_place = name in ("gather", "scatter") and len(places_or_root) == 1 and not places_or_root[0].isdigit()
        root = roots[-1] if roots and not is_place else None
        places_or_root = [part for part in places_or_root if part != root]
        complete = root is not None
        text += f" {_ROOTS[name]} {root or ('1' if name == 'shift' else '0')}"
    places = [*places_or_root, *([call["target"]] if call["target"] else [])]
    places = [place for place in places if place != buffers[0]] if buffers else places
    needs_place = "into" in _FORMS[name]
    if len(places) > 1 or (needs_place and not places) or (places and name in ("broadcast", "shift", "barrier")):
        return words
    if places:
        text += f" into {places[0]}"
    if "with" in _FORMS[name]:
        complete = complete and bool(operators)
        text += f" with {operators[0] if operators else '+'}"
    at = Span(source, number, len(code) - len(code.lstrip()) + 1, number, len(code.rstrip()) + 1)
    return propose_text(at, text, "a collective is a statement: write `{}`", safe=complete)


def _find_axes(source: Source, number: int) -> list[str]:
    """Return the axes of the grid of the algorithm around a line."""
    above = "\n".join(source.lines[:number])
    grid = above.rpartition("on grid")[2].partition("(")[2].partition(")")[0]
    return re.findall(r"(\w+)\s*:", grid)
