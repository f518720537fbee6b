"""Loops without a bound: the number of iterations of each is a size of the costs, which a run binds.

In the costs of an algorithm, its own loop `while ... iterations T` has the size `T`: all iterations of that loop in one
call of the algorithm. A loop of an algorithm `find` that it calls, directly or not, has the size `find.T`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache

from archline.expr.tree import Source, Span
from archline.language import syntax as s
from archline.language.call_graph import find_reachable, traverse_reachable
from archline.language.diagnostics import Edit, Proposal
from archline.language.model import Module
from archline.records import record

UNNAMED = "_unnamed"
"""The end of the name of iterations in a canonical form where the author gave none."""
_HEADER_END = re.compile(r"(\)*(?:\s+with\s+\S+\s+on\s+\w+)?)\s*(?::|do\b|then\b|iterations\b|#|$)")


@record
class IterationCount:
    """The size `name`, which counts the iterations of `loop` of `algorithm`; it is at least `least`.

    `reason` says why the registers of the loop do not bound it, if that was derived.
    """

    name: str
    algorithm: s.Algorithm
    loop: s.While | s.Loop
    least: int
    reason: str | None = None

    @property
    def explained(self) -> str:
        """The description with the reason."""
        return self.described if self.reason is None else f"{self.described}; {self.reason}"

    @property
    def described(self) -> str:
        """The description in reports of the loop whose iterations the size counts."""
        place = f" of `{self.algorithm.name}`" if "." in self.name else ""
        if not is_written_loop(self.loop):
            return f"elements that line {self.loop.span.line}{place} goes through"
        return f"iterations of {describe_loop_in_line(self.loop)}{place}"


@record
class NamedLoop:
    """A loop whose iterations are the size `name` in a result about several programs; `program` names its program."""

    name: str
    counted: IterationCount
    program: str

    @property
    def span(self) -> Span:
        return self.counted.loop.span


def describe_loop_in_line(loop: s.While | s.Loop) -> str:
    """Describe a loop by its keyword and its line."""
    word = "for" if isinstance(loop, s.Loop) else "repeat" if loop.tests_last else "while"
    return f"the {word} in line {loop.span.line}"


def iterate_unbounded_loops(algorithm: s.Algorithm) -> Iterator[s.While | s.Loop]:
    """Yield the loops of an algorithm whose number of iterations is known only in a run, in the order of the text."""
    for loop in s.iterate_nodes(algorithm.body):
        if (isinstance(loop, s.While) and loop.limit is None) or (
            isinstance(loop, s.Loop) and loop.iterations is not None
        ):
            yield loop


def list_iterations(module: Module, algorithm: s.Algorithm) -> tuple[IterationCount, ...]:
    """List the sizes of an algorithm's costs that count iterations, its own first."""
    return tuple(_map_iterations(module, algorithm).values())


@lru_cache(maxsize=256)
def _map_iterations(module: Module, algorithm: s.Algorithm) -> Mapping[str, IterationCount]:
    counts: dict[str, IterationCount] = {}
    for called in dict.fromkeys((algorithm, *find_reachable(module, algorithm))):
        for loop in iterate_unbounded_loops(called):
            own = called.name == algorithm.name
            certain = isinstance(loop, s.While) and loop.tests_last and loop in algorithm.body
            least = int(own and certain)
            name = relative_name(qualified_name(called, loop), algorithm)
            counts.setdefault(name, IterationCount(name, called, loop, least))
    return counts


def find_counted_loops(algorithm: s.Algorithm, visible: Mapping[str, s.Algorithm]) -> dict[str, s.While | s.Loop]:
    """Map the names of iterations in the costs of an algorithm to their loops, before its calls are checked.

    `visible` has the algorithms of the file and of the files that it uses.
    """
    reached = traverse_reachable(
        lambda caller: (
            visible[call.function] for call in s.find_nodes(caller.body, s.Call) if call.function in visible
        ),
        algorithm,
    )
    return {
        relative_name(qualified_name(called, loop), algorithm): loop
        for called in (*reached, algorithm)
        for loop in iterate_unbounded_loops(called)
    }


def suggest_iterations_name(loop: s.While | s.Loop, name: str, near: Source, safe: bool = True) -> str:
    """Suggest to write `iterations NAME` in the header of a loop; as an edit if the loop is in the source `near`.

    The clause follows the condition or the range, as they stand in the source. The edit is `safe` if nothing but these
    iterations can be meant.
    """
    if not is_written_loop(loop):
        return f"write line {loop.span.line} as a loop `for i in ... iterations {name}:`"
    clause = f" iterations {name}"
    header = quote_header(loop, clause)
    if header is None:
        return f"name it in line {loop.span.line}: its header ends with `{clause.strip()}:`"
    words = f"name it in line {loop.span.line}: `{header}`"
    if loop.span.source != near:
        return words
    place = _find_place_of_clause(loop)
    assert place is not None
    span = Span(near, loop.span.line, place + 1, loop.span.line, place + 1)
    return Proposal(words, (Edit(span, clause),), safe)


def quote_header(loop: s.While | s.Loop, clause: str) -> str | None:
    """Return the header of a loop from the source, with a clause added; None if it is longer than a line."""
    place = _find_place_of_clause(loop)
    return None if place is None else f"{_get_line(loop)[:place].strip()}{clause}:"


def _get_line(loop: s.While | s.Loop) -> str:
    """Return the line that a loop begins in."""
    lines = loop.span.source.lines
    return lines[loop.span.line - 1] if 0 < loop.span.line <= len(lines) else ""


def _find_place_of_clause(loop: s.While | s.Loop) -> int | None:
    """Find the position in a loop's line after its condition or range; None if they are not in that line."""
    line, start = _get_line(loop), loop.span.column - 1
    if isinstance(loop, s.While) and loop.tests_last:
        return _find_header_end(line, start + len("repeat"))
    parts = (loop.condition,) if isinstance(loop, s.While) else (loop.lo, loop.hi, loop.step)
    spans = [part.span for part in parts if part is not None]
    if all(span.source == loop.span.source and span.line == span.end_line == loop.span.line for span in spans):
        place = _find_header_end(line, max(span.end_column for span in spans) - 1)
        if place is not None:
            return place
    # The loop goes over what a call or a name stands for, which may be defined elsewhere.
    depth = 0
    for place, sign in enumerate(f"{line} "):
        depth += (sign in "([") - (sign in ")]")
        inside = place <= start or depth or sign.isalnum() or sign == "_"
        if not inside and (found := _find_header_end(line, place)) is not None:
            return found
    return None


def _find_header_end(line: str, start: int) -> int | None:
    """Return the position after brackets and a reduction at `start`, if a loop's header ends there; else None."""
    match = _HEADER_END.match(line, start)
    return None if match is None else match.end(1)


def is_written_loop(loop: s.While | s.Loop) -> bool:
    """Whether the author wrote a loop; else elaboration made it from a statement on an array."""
    return (
        isinstance(loop, s.While)
        or re.match(r"(?:parallel\s+)?(?:for|par)|repeat", loop.span.text.lstrip()) is not None
    )


def qualified_name(algorithm: s.Algorithm, loop: s.While | s.Loop) -> str:
    """Return the name of a loop's iterations with that of its algorithm, `find.T`: the same in the costs of all."""
    return f"{algorithm.name}.{loop.iterations}"


def relative_name(qualified: str, algorithm: s.Algorithm) -> str:
    """Return the name of iterations in the costs of an algorithm: without `algorithm.` if the loop is its own."""
    return qualified.removeprefix(f"{algorithm.name}.")


@lru_cache(maxsize=16)
def find_algorithms_of_loops(module: Module) -> Mapping[s.While | s.Loop, s.Algorithm]:
    """Map the unbounded loops of all algorithms of a module, used ones included, to the algorithms they stand in."""
    return {loop: algorithm for algorithm in module.signatures for loop in iterate_unbounded_loops(algorithm)}


@lru_cache(maxsize=16)
def name_unbounded_loops(module: Module) -> Mapping[s.While | s.Loop, str]:
    """Map the unbounded loops of all algorithms of a module, used ones included, to their qualified names."""
    return {loop: qualified_name(algorithm, loop) for loop, algorithm in find_algorithms_of_loops(module).items()}
