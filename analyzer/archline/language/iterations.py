"""Loops without a bound: the number of iterations of each is a size of the costs, which a run binds.

In the costs of an algorithm, its own loop `while ... iterations T` has the size `T`: all iterations of that loop in one
call of the algorithm. A loop of an algorithm `find` that it calls, directly or not, has the size `find.T`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache

from archline.expr.text import format_expression
from archline.expr.tree import Source, Span
from archline.language import syntax as s
from archline.language.call_graph import find_reachable, traverse_reachable
from archline.language.diagnostics import Edit, Proposal
from archline.language.model import Module
from archline.records import record

_HEADER_END = re.compile(r"(\)*(?:\s+with\s+\S+\s+on\s+\w+)?)\s*(?::|do\b|then\b|#|$)")


@record
class IterationCount:
    """The size `name`, which counts the iterations of `loop` of `algorithm`; it is at least `least`."""

    name: str
    algorithm: s.Algorithm
    loop: s.While | s.Loop
    least: int

    @property
    def described(self) -> str:
        """The loop that the size counts, as pages describe it."""
        place = f" of `{self.algorithm.name}`" if "." in self.name else ""
        return f"iterations of {describe_loop_in_line(self.loop)}{place}"


@record
class NamedLoop:
    """A loop whose iterations have the size `name` in a result about several programs; `program` tells which one."""

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
    """Yield the loops of an algorithm whose number of iterations only a run may tell, in the order of the text."""
    for loop in s.nodes(algorithm.body):
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


def suggest_name(loop: s.While | s.Loop, name: str, near: Source, safe: bool = True) -> str:
    """Suggest the text that names the iterations of a loop; as an edit if the loop is in the source `near`.

    The clause follows the condition or the range, as they stand in the source. The edit is `safe` if nothing but these
    iterations can be meant.
    """
    line = loop.span.source.lines[loop.span.line - 1] if 0 < loop.span.line <= len(loop.span.source.lines) else ""
    clause = f" iterations {name}"
    match loop:
        case s.While(tests_last=True):
            text, place = f"repeat{clause}:", _find_header_end(line, loop.span.column - 1 + len("repeat"))
        case s.While(condition=condition):
            text = f"while {format_expression(condition)}{clause}:"
            place = _find_end_in_line(line, loop, (condition,))
        case s.Loop(variable=variable, lo=lo, hi=hi, step=step):
            text = f"for {variable} in ...{clause}:"
            place = _find_end_in_line(line, loop, (lo, hi, step))
    words = f"name it in line {loop.span.line}: `{text}`"
    if place is None or loop.span.source != near:
        return words
    before = line[:place]
    span = Span(near, loop.span.line, place + 1, loop.span.line, place + 1)
    return Proposal(f"name it in line {loop.span.line}: `{before.strip()}{clause}:`", (Edit(span, clause),), safe)


def _find_end_in_line(line: str, loop: s.While | s.Loop, parts: tuple[s.Expr | None, ...]) -> int | None:
    """Find the place in the header of a loop behind its condition or its range; None if they are not in that line."""
    spans = [part.span for part in parts if part is not None]
    inside = [span.end_column - 1 for span in spans if span.line == span.end_line == loop.span.line]
    return _find_header_end(line, max(inside)) if len(inside) == len(spans) else None


def _find_header_end(line: str, start: int) -> int | None:
    """Find the end of a header that has ended at `start` but for brackets and a reduction; None if it has not."""
    match = _HEADER_END.match(line, start)
    return None if match is None else match.end(1)


def qualified_name(algorithm: s.Algorithm, loop: s.While | s.Loop) -> str:
    """Return the name of the iterations of a loop that is the same in the costs of all algorithms."""
    return f"{algorithm.name}.{loop.iterations}"


def relative_name(qualified: str, algorithm: s.Algorithm) -> str:
    """Return the name of iterations in the costs of an algorithm: without its own name."""
    return qualified.removeprefix(f"{algorithm.name}.")


@lru_cache(maxsize=16)
def name_unbounded_loops(module: Module) -> Mapping[s.While | s.Loop, str]:
    """Map the unbounded loops of all algorithms of a module, used ones included, to their qualified names."""
    return {
        loop: qualified_name(algorithm, loop)
        for algorithm in module.signatures
        for loop in iterate_unbounded_loops(algorithm)
    }
