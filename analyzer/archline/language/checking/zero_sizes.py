"""Recursive calls may bring sizes down to 0, which then have the fact `n >= 0`, as if a `where` stated it.

The arguments of a call are evaluated at small sizes, and near the numbers of the program, that the conditions on the
path to the call allow. Integers of the data have all values that these allow.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress

from archline.expr import build as b
from archline.expr.intervals import EvaluationError
from archline.expr.tree import find_stated_minima
from archline.expr.values import evaluate_fact, evaluate_static
from archline.language import syntax as s
from archline.language.call_graph import find_components
from archline.language.checking.context import CallSite
from archline.language.checking.points import (
    BoundedVariable,
    Frame,
    FreeVariable,
    LetDefinition,
    OpaqueFrame,
    Requirement,
)
from archline.language.model import Signature
from archline.records import replace

LIMIT_VALUES, LITERAL_VALUES, LOOP_END_VALUES = 5, 2, 3
"""The number of values to try: from a lower limit on, from each literal of the program on, at each end of a loop."""
MAX_VISITS = 20_000
Point = dict[str, int]


def derive_zero_facts(
    sites: Iterable[CallSite], signatures: Mapping[s.Algorithm, Signature]
) -> dict[s.Algorithm, tuple[s.Fact, ...]]:
    """Return the facts `n >= 0` of sizes for which recursive calls pass 0, if no `where` states a lower limit."""
    callees: dict[s.Algorithm, dict[s.Algorithm, None]] = {}
    for site in sites:
        callees.setdefault(site.caller, {})[site.callee] = None
    facts: dict[s.Algorithm, dict[str, s.Fact]] = {}
    for site in sites:
        component = find_components(lambda algorithm: callees.get(algorithm, ()), site.callee)[-1]
        # A recursive call that every run makes never ends.
        always = tuple(part for part in site.caller.body if isinstance(part, s.Simple) and site.caller is site.callee)
        if site.caller not in component or site.callee.grid or site.call in s.iterate_nodes(always):
            continue
        decided = {*find_stated_minima(site.callee.where), *facts.get(site.callee, ())}
        for name, value in site.sizes.items():
            least = signatures[site.callee].at_least[name]
            zero = b.binary("==", value, b.number(0))
            if least > 0 and name not in decided and can_pass(site, zero, site.callee.where):
                fact = replace(*b.lower_bound_facts((name,), 0), span=site.call.span)
                facts.setdefault(site.callee, {})[name] = fact
    return {algorithm: tuple(by_name.values()) for algorithm, by_name in facts.items()}


def iterate_shortfalls(
    sites: Iterable[CallSite],
    signatures: Mapping[s.Algorithm, Signature],
    bindings: Mapping[s.Call, Mapping[str, s.Expr | None]],
) -> Iterator[tuple[s.Call, tuple[str, ...]]]:
    """Yield each call and the callee's sizes whose values, decided by data, may be below their lower limits."""
    for site in sites:
        least = signatures[site.callee].at_least
        less = {name: b.binary("<", value, b.number(least[name])) for name, value in site.sizes.items()}
        data = (name for name in less if bindings[site.call][name] is None and least[name] > 0)
        yield site.call, tuple(name for name in data if can_pass(site, less[name]))


def can_pass(site: CallSite, asked: s.Expr, where: tuple[s.Fact, ...] = ()) -> bool:
    """Whether a call may pass sizes that satisfy `asked` and `where`, given the conditions on the path to the call."""
    asked_names = s.find_names(asked)
    path = [*_select_frames(site, asked_names), Requirement(asked)]
    parts = tuple(part for frame in path for part in _list_parts(frame))
    data = sorted(s.find_names(parts) & site.integers - {getattr(frame, "name", "") for frame in path})
    waiting: list[Frame] = [*(FreeVariable(name, None) for name in data), *path]
    waiting.sort(key=lambda frame: not isinstance(frame, FreeVariable) or frame.name not in asked_names)
    frames: list[Frame] = []
    while waiting:
        # Frames that need no further names come first.
        bound = {getattr(frame, "name", "") for frame in frames}
        ready = (
            frame
            for frame in waiting
            if not isinstance(frame, FreeVariable) and s.find_names(_list_parts(frame)) <= bound
        )
        frames.append(next(ready, waiting[0]))
        waiting.remove(frames[-1])
    numbers = {literal.value for literal in s.find_nodes(parts, s.Integer)}
    left = MAX_VISITS

    def search(place: int, point: Point) -> Iterator[Point]:
        nonlocal left
        left -= 1
        if place == len(frames):
            yield point
        elif left > 0:
            for extended in _iterate_extended_points(point, frames[place], numbers):
                yield from search(place + 1, extended)

    return any(_may_satisfy_where(site, where, point) for point in search(0, {}))


def _iterate_extended_points(point: Point, frame: Frame, numbers: Iterable[int]) -> Iterator[Point]:
    """Yield a point extended by each value that a frame allows for its name; none if its condition is false."""
    values: Iterable[int] = ()
    with suppress(EvaluationError):
        match frame:
            case Requirement(fact=fact, truth=truth):
                if evaluate_fact(fact, point) in (truth, None):
                    yield point
            case FreeVariable(least=least):
                low = -LITERAL_VALUES if least is None else least
                near = (number + more for number in numbers for more in range(LITERAL_VALUES))
                values = dict.fromkeys((*range(low, low + LIMIT_VALUES), *(number for number in near if number >= low)))
            case BoundedVariable():
                lo, hi = evaluate_static(frame.lo, point), evaluate_static(frame.hi, point)
                step = 1 if frame.step is None else evaluate_static(frame.step, point)
                whole = s.list_loop_values(lo, hi, step, frame.down, frame.scales)
                values = dict.fromkeys((*whole[:LOOP_END_VALUES], *whole[-LOOP_END_VALUES:]))
            case LetDefinition():
                values = (evaluate_static(frame.value, point),)
            case OpaqueFrame():
                yield point
    for value in values:
        yield {**point, getattr(frame, "name", ""): value}


def _may_satisfy_where(site: CallSite, where: tuple[s.Fact, ...], point: Point) -> bool:
    """Whether the callee's facts `where` may be true for the sizes that a call passes at a point."""
    sizes: Point = {}
    for name, value in site.sizes.items():
        with suppress(EvaluationError):
            sizes[name] = evaluate_static(value, point)
    return all(evaluate_fact(fact, sizes) is not False for fact in where)


def _select_frames(site: CallSite, names: frozenset[str]) -> list[Frame]:
    """Return the frames of a call's path on which names depend, without conditions on registers changed after them."""
    changes = [(name, change.span.line) for change in s.find_nodes(site.caller.body, s.Assign) for name in change.sets]
    frames: list[tuple[Frame, frozenset[str], frozenset[str]]] = []
    for frame in site.path:
        parts = s.find_names(_list_parts(frame))
        line = frame.fact.span.line if isinstance(frame, Requirement) else 0
        if not line or not any(name in parts and line < later for name, later in changes):
            frames.append((frame, parts if line else frozenset((getattr(frame, "name", ""),)), parts))
    before: frozenset[str] = frozenset()
    while names != before:
        before = names
        names = names.union(*(parts for _, about, parts in frames if about & names))
    return [frame for frame, about, _ in frames if about & names]


def _list_parts(frame: Frame) -> tuple[s.Node, ...]:
    return tuple(part for part in vars(frame).values() if isinstance(part, s.Node))
