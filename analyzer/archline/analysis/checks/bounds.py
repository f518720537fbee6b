"""Bounds of a `while` that runs of small sizes pass whatever the data."""

from __future__ import annotations

from collections.abc import Iterator

from archline.analysis.checks.following import Follower, Frame, Sizes, StoppedError, at, small
from archline.analysis.checks.runs import Failure
from archline.ir.views import shape_of
from archline.language import syntax as s
from archline.language.call_graph import reachable
from archline.language.call_rules import TOO_MANY_ITERATIONS
from archline.language.evaluate import holds
from archline.language.format_expressions import format_expression
from archline.language.model import Module

EVERY = 9
"""More iterations than loops of short runs mostly have."""
MAX_STATEMENTS, MAX_DEPTH = 2_000, 50


def passed_bounds(module: Module, algorithm: s.Algorithm) -> Iterator[Failure]:
    """Bounds of a `while` that runs of small sizes pass whatever the data, and whatever an `index` is."""
    every = (algorithm, *reachable(module, algorithm))
    if any(isinstance(node, s.While) for each in every for node in s.nodes(each.body)):
        runs = _Bounds(module, algorithm)
        yield from (each for sizes in small(module, algorithm) if (each := runs.at(sizes)) is not None)


class _PassedError(StoppedError):
    """A followed run ends by a bound that is passed."""

    def __init__(self, failure: Failure) -> None:
        super().__init__()
        self.failure = failure


class _Bounds(Follower):
    """Runs of an algorithm at several sizes; calls that several of them make are followed once."""

    def __init__(self, module: Module, outermost: s.Algorithm) -> None:
        super().__init__(module, MAX_STATEMENTS, EVERY)
        self._outermost = outermost
        self._sizes: Sizes = {}
        self._active: list[s.Algorithm] = []
        self._done: set[tuple[s.Algorithm, tuple[tuple[str, int], ...]]] = set()

    def at(self, sizes: Sizes) -> Failure | None:
        """The failure of the run at sizes."""
        self._sizes = sizes
        self._active.clear()
        try:
            self._follow(self._outermost, sizes)
        except _PassedError as stopped:
            return stopped.failure
        except StoppedError:
            return None
        return None

    def _follow(self, algorithm: s.Algorithm, sizes: Sizes) -> None:
        key = algorithm, tuple(sizes.items())
        if key in self._done or (algorithm.grid and self._active):
            return
        if len(self._active) == MAX_DEPTH:
            raise StoppedError
        self._active.append(algorithm)
        frame = Frame(dict(sizes))
        frame.extents = {each.name: frame.all(shape_of(each.type)[0] or ()) for each in algorithm.parameters}
        self.block(algorithm.body, frame)
        self._active.pop()
        self._done.add(key)

    def passed(self, loop: s.While, iteration: int) -> None:
        limit = f"`at most {format_expression(loop.limit)}` allows fewer"
        hint = "the sizes alone decide the condition; declare what the loop needs at all sizes, or let it end"
        own = self._active[-1] is self._outermost
        place = f"at {at(self._sizes)}" if own else f"in a run of `{self._outermost.name}` at {at(self._sizes)}"
        message = f"iteration {iteration} begins, and {limit}"
        message = f"{message}, {place}" if self._sizes else message
        raise _PassedError(Failure(TOO_MANY_ITERATIONS, loop, message, hint, self._sizes))

    def call(self, call: s.Call, callee: s.Algorithm, frame: Frame) -> None:
        bindings = self.module.bindings[call]
        sizes = {name: value for name, expr in bindings.items() if expr and (value := frame.value(expr)) is not None}
        if len(sizes) < len(bindings):
            return
        least = self.module.signatures[callee].at_least
        if any(sizes[name] < value for name, value in least.items()):
            raise StoppedError
        if any(holds(fact, sizes) is False for fact in callee.where):
            raise StoppedError
        self._follow(callee, sizes)
