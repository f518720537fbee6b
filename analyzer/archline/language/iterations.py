"""Loops without a bound: the number of iterations of each is a size of the costs, which a run binds.

In the costs of an algorithm, its own loop `while ... iterations T` has the size `T`: all iterations of that loop in one
call of the algorithm. A loop of an algorithm `find` that it calls, directly or not, has the size `find.T`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache

from archline.expr.text import format_expression
from archline.language import syntax as s
from archline.language.call_graph import find_reachable, traverse_reachable
from archline.language.model import Module
from archline.records import record


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
        word = "for" if isinstance(self.loop, s.Loop) else "repeat" if self.loop.tests_last else "while"
        place = f" of `{self.algorithm.name}`" if "." in self.name else ""
        if not is_written(self.loop):
            return f"elements that line {self.loop.span.line}{place} goes through"
        return f"iterations of the {word} in line {self.loop.span.line}{place}"


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


def is_written(loop: s.While | s.Loop) -> bool:
    """Whether a loop stands in the text; else a statement on an array stands for it."""
    return (
        isinstance(loop, s.While)
        or re.match(r"(?:parallel\s+)?(?:for|par)|repeat", loop.span.text.lstrip()) is not None
    )


def suggest_name(loop: s.While | s.Loop) -> str:
    """Suggest the text that names the iterations of a loop, which the elaboration has named."""
    if not is_written(loop):
        return f"write line {loop.span.line} as a loop `for i in ... iterations {loop.iterations}:`"
    if loop.tests_last:
        return f"name it in line {loop.span.line}: `repeat iterations {loop.iterations}:`"
    if isinstance(loop, s.Loop):
        return f"name it in line {loop.span.line}: `for {loop.variable} in ... iterations {loop.iterations}:`"
    condition = format_expression(loop.condition)
    return f"name it in line {loop.span.line}: `while {condition} iterations {loop.iterations}:`"


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
