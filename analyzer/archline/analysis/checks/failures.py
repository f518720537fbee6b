"""Failures that are certain at some sizes, whatever the data: runs are followed as far as the sizes decide them.

Of a loop the first and the last iteration are followed, of what the data decides nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from archline.analysis.checks.following import Follower, Frame, Sizes, StoppedError, at, points, shape_of, small
from archline.language import syntax as s
from archline.language.call_graph import component, reachable, recurses
from archline.language.call_rules import TOO_MANY_ITERATIONS
from archline.language.diagnostics import Diagnostic, Rule
from archline.language.evaluate import holds
from archline.language.format_expressions import format_expression, format_type
from archline.language.model import Module
from archline.language.type_rules import SHAPE

ENDLESS = Rule(
    "AL302",
    "recursion that does not end",
    """
    Every run makes the call, or no size is smaller in a call that runs of some sizes make whatever the data, so that
    these runs never end and have no cost.

    ```
    algorithm f(x: inout real[n]):
        f(x)                     # write: f(x[0..n//2]), under a condition such as `if n > 1:`
    ```

    Some size becomes smaller in every recursive call, or the header says what does: `decreases n + m, k`.
    """,
)
OUTSIDE = Rule(
    "AL303",
    "access outside an array",
    """
    A subscript or slice certainly lies outside its array, at the sizes that the message names and at all larger ones
    that were examined. A run at these sizes was executed and stopped there. Accesses that depend on the data, or are
    outside at some sizes only, are found when the program runs (AL501, AL502).

    ```
    for i in 0..n:
        y[i] = x[i + 1]          # the last i reads x[n]
    ```
    """,
)
ENOUGH = 6
"""So many of the larger sizes must fail alike before a failure at small sizes is reported."""
EVERY = 9
"""More iterations than loops of short runs mostly have."""
MAX_STATEMENTS, MAX_DEPTH = 2_000, 50


@dataclass(frozen=True, eq=False)
class Failure:
    """What stops a run of an algorithm at sizes."""

    rule: Rule
    node: s.Node
    message: str
    hint: str
    sizes: Mapping[str, int]

    @property
    def diagnostic(self) -> Diagnostic:
        """The failure as it is reported."""
        return Diagnostic(self.rule, self.message, self.node.span, hint=self.hint)


def endless_recursion(module: Module, algorithm: s.Algorithm) -> Diagnostic | None:
    """The recursive call for which runs do not end: every run, or those at some sizes."""
    if not recurses(module, algorithm):
        return None
    call = _always_made(module, algorithm)
    if call is not None:
        message = "every run makes this recursive call, so that none ends"
        return Diagnostic(ENDLESS, message, call.span, hint="add a case that ends the recursion, such as `if n <= 1:`")
    if algorithm.grid:
        return None
    runs = _Runs(module, algorithm)
    failures = (runs.at(point)[0] for point in points(module, algorithm))
    return next((each.diagnostic for each in failures if each is not None and each.rule is ENDLESS), None)


def misplaced_accesses(module: Module, algorithm: s.Algorithm) -> tuple[Failure, ...]:
    """The accesses outside arrays, or arguments of other shapes, that stop all runs of large sizes, smallest first.

    All are at one place of the program. None where there are `index` parameters, which callers may restrict as they
    like.
    """
    signature = module.signatures[algorithm]
    if signature.indices or algorithm.grid:
        return ()
    runs = _Runs(module, algorithm)
    found: list[Failure] = []
    for point in reversed(points(module, algorithm)):
        failure, complete = runs.at(point)
        if failure is not None and failure.rule in (OUTSIDE, SHAPE) and (not found or failure.node is found[0].node):
            found.append(failure)
        elif complete or failure is not None:
            break
    return tuple(reversed(found)) if len(found) >= ENOUGH or not signature.sizes else ()


def passed_bounds(module: Module, algorithm: s.Algorithm) -> Iterator[Failure]:
    """Bounds of a `while` that runs of small sizes pass whatever the data, and whatever an `index` is."""
    every = (algorithm, *reachable(module, algorithm))
    if any(isinstance(node, s.While) for each in every for node in s.nodes(each.body)):
        runs = _Runs(module, algorithm, EVERY)
        found = (runs.at(point)[0] for point in small(module, algorithm))
        yield from (each for each in found if each is not None and each.rule is TOO_MANY_ITERATIONS)


def _always_made(module: Module, algorithm: s.Algorithm) -> s.Call | None:
    """The recursive call that every run comes to, where every run of what is called then goes on likewise."""
    endless = {algorithm, *reachable(module, algorithm)}
    while ended := [each for each in endless if _next(module, each.body, endless) is None]:
        endless.difference_update(ended)
    call = _next(module, algorithm.body, endless)
    while call is not None and not component(module, algorithm):
        target = module.targets[call]
        assert isinstance(target, s.Algorithm)
        algorithm, call = target, _next(module, target.body, endless)
    return call


def _next(module: Module, body: tuple[s.Stmt, ...], endless: set[s.Algorithm]) -> s.Call | None:
    """The first call of one of the algorithms that is made however the body is run; of branches one in each."""
    for statement in body:
        match statement:
            case s.Simple():
                found = next((each for each in statement.calls if module.targets.get(each) in endless), None)
            case s.If(branches=branches) if branches[-1].condition is None:
                calls = [_next(module, branch.body, endless) for branch in branches]
                found = None if None in calls else calls[0]
            case _:
                # What is run by a loop, a spawn or one branch only need not be made.
                continue
        if found is not None:
            return found
    return None


# Runs
class _FailedError(StoppedError):
    """A followed run ends by a failure of the kinds above."""

    def __init__(self, failure: Failure) -> None:
        super().__init__()
        self.failure = failure


class _Runs(Follower):
    """Runs of an algorithm at several sizes; calls that several of them make are followed once."""

    def __init__(self, module: Module, outermost: s.Algorithm, first: int = 1) -> None:
        super().__init__(module, MAX_STATEMENTS, first)
        self._outermost = outermost
        self._sizes: Sizes = {}
        self._active: list[tuple[s.Algorithm, Sizes]] = []
        self._done: set[tuple[s.Algorithm, tuple[tuple[str, int], ...]]] = set()

    def at(self, sizes: Sizes) -> tuple[Failure | None, bool]:
        """The failure of the run at sizes; and whether it was followed to its end."""
        self._sizes = sizes
        self._active.clear()
        try:
            self._follow(self._outermost, sizes)
        except _FailedError as stopped:
            return stopped.failure, False
        except StoppedError:
            return None, False
        return None, True

    def _follow(self, algorithm: s.Algorithm, sizes: Sizes) -> None:
        key = algorithm, tuple(sizes.items())
        if key in self._done or (algorithm.grid and self._active):
            return
        if len(self._active) == MAX_DEPTH:
            raise StoppedError
        self._active.append((algorithm, sizes))
        frame = Frame(dict(sizes))
        frame.extents = {each.name: frame.all(shape_of(each)) for each in algorithm.parameters}
        self.block(algorithm.body, frame)
        self._active.pop()
        self._done.add(key)

    def _fail(self, rule: Rule, node: s.Node, message: str, hint: str) -> None:
        own = self._active[-1][0] is self._outermost
        place = f"at {at(self._sizes)}" if own else f"in a run of `{self._outermost.name}` at {at(self._sizes)}"
        raise _FailedError(Failure(rule, node, f"{message}, {place}" if self._sizes else message, hint, self._sizes))

    def passed(self, loop: s.While, iteration: int) -> None:
        limit = f"`at most {format_expression(loop.limit)}` allows fewer"
        hint = "the sizes alone decide the condition; declare what the loop needs at all sizes, or let it end"
        self._fail(TOO_MANY_ITERATIONS, loop, f"iteration {iteration} begins, and {limit}", hint)

    def outside(self, access: s.Element, subscript: s.Expr | s.Slice, found: str, extent: int) -> None:
        message = f"`{format_expression(access)}` is outside `{self._declaration(access.array)}`"
        hint = "subscripts are at least 0 and below the extent; a slice ends there at the latest"
        self._fail(OUTSIDE, subscript, f"{message} ({found}, extent {extent})", hint)

    def _declaration(self, array: str) -> str:
        """The array with its type, where it is a parameter."""
        parameters = self._active[-1][0].parameters
        return next((f"{each.name}: {format_type(each.type)}" for each in parameters if each.name == array), array)

    # Calls
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
        self._check_shapes(call, callee, sizes, frame)
        self._check_decrease(call, callee, sizes)
        self._follow(callee, sizes)

    def _check_shapes(self, call: s.Call, callee: s.Algorithm, sizes: dict[str, int], frame: Frame) -> None:
        for parameter, argument in zip(callee.parameters, call.arguments, strict=True):
            expected, found = Frame(sizes).all(shape_of(parameter)), self.shape(argument, frame)
            for one, other in zip(expected, found, strict=False):
                if one is not None and other is not None and one != other:
                    shown = f"`{parameter.name}: {format_type(parameter.type)}` of `{callee.name}`"
                    message = f"`{format_expression(argument)}` does not fit {shown} (extent {other} for {one})"
                    self._fail(SHAPE, argument, message, "pass a slice that fits, or state a `where` about the sizes")

    def _check_decrease(self, call: s.Call, callee: s.Algorithm, sizes: dict[str, int]) -> None:
        before = next((values for each, values in reversed(self._active) if each is callee), None)
        if before is None or self._decreases(callee, sizes, before):
            return
        hint = "pass less in the call, such as the slice `x[0..n//2]`, or say in the header what `decreases`"
        self._fail(ENDLESS, call, f"no size of `{callee.name}` is smaller in this recursive call", hint)

    def _decreases(self, callee: s.Algorithm, sizes: Mapping[str, int], before: Mapping[str, int]) -> bool:
        """Whether a call may be one of a recursion that ends, by what the header declares, or else by its sizes."""
        if callee.decreases:
            pairs = zip(*(Frame(dict(each)).all(callee.decreases) for each in (sizes, before)), strict=True)
            differ = next(((x, y) for x, y in pairs if x is None or y is None or x != y), (0, 0))
            return differ[0] is None or differ[1] is None or differ[0] < differ[1]
        signature = self.module.signatures[callee]
        smaller = any(sizes[name] < before[name] for name in signature.size_names)
        # A changed index may decrease by a measure that no header declares.
        return smaller or any(sizes[name] != before[name] for name in signature.indices)
