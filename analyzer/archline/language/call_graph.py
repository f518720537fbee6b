"""The call graph of a module: what an algorithm may call, and which algorithms call each other in a circle."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Protocol, TypeVar

from archline.language import syntax as s
from archline.language.model import Collective, Module
from archline.records import memoised

T = TypeVar("T")
MAX_MODULES = 16
"""Graphs that are kept, the latest: a derivation asks at every call."""
MAX_KNOWN = 256
"""Answers of `reachable` that are kept: each is as long as what is called."""


class CallTargets(Protocol):
    """What a module, or its checker, knows of calls."""

    @property
    def targets(self) -> Mapping[s.Call, s.Algorithm | s.Extern]: ...
    @property
    def collectives(self) -> Mapping[s.Communicate, Collective]: ...


Components = tuple[tuple[s.Algorithm, ...], ...]


def component(module: Module, algorithm: s.Algorithm) -> tuple[s.Algorithm, ...]:
    """The algorithms that `algorithm` calls, directly or not, and that call it, itself first; none if not recursive."""
    circle = _graph(module).circle(algorithm)
    if not circle:
        return ()
    return (algorithm, *(each for each in reachable(module, algorithm) if each in circle and each is not algorithm))


def recurses(module: Module, algorithm: s.Algorithm) -> bool:
    """Whether the algorithm is recursive, or calls one that is, directly or not."""
    return _graph(module).recurses(algorithm)


@lru_cache(maxsize=MAX_KNOWN)
def reachable(module: Module, algorithm: s.Algorithm) -> Mapping[s.Algorithm, None]:
    """What a call of the algorithm may call, directly or not, in order of discovery."""
    return reached(_graph(module).callees, algorithm)


def has_parallelism(module: Module, algorithm: s.Algorithm) -> bool:
    """Whether a run of the algorithm may come to a parallel loop or a spawn."""
    return forks([algorithm, *reachable(module, algorithm)])


def forks(algorithms: Iterable[s.Algorithm]) -> bool:
    """Whether some of the algorithms have parallel loops or spawns of their own."""
    bodies = tuple(each.body for each in algorithms)
    return any(each.parallel for each in s.find(bodies, s.Loop)) or any(
        each.spawned for each in s.find(bodies, s.Invoke)
    )


def local_arrays(module: Module, algorithm: s.Algorithm) -> Iterator[s.Local]:
    """The arrays that an algorithm makes itself, or lets what it calls make."""
    for each in dict.fromkeys((algorithm, *reachable(module, algorithm))):
        yield from (made for made in s.find(each.body, s.Local) if made.array)


def callees_first(module: Module, algorithm: s.Algorithm) -> Components:
    """What a call may execute, itself included: each component after those that it calls."""
    return components(_graph(module).callees, algorithm)


@lru_cache(maxsize=MAX_MODULES)
def _graph(module: Module) -> _Graph:
    return _Graph(module)


class _Graph:
    """Callees, and components with what is known of them, found once for each algorithm that is asked for."""

    def __init__(self, module: Module) -> None:
        self._module = module
        self._circle: dict[s.Algorithm, frozenset[s.Algorithm]] = {}
        self._recurses: dict[s.Algorithm, bool] = {}

    @memoised
    def callees(self, algorithm: s.Algorithm) -> tuple[s.Algorithm, ...]:
        """The algorithms that one calls itself, each once, in order of appearance."""
        return tuple(dict.fromkeys(called(self._module, algorithm)))

    def circle(self, algorithm: s.Algorithm) -> frozenset[s.Algorithm]:
        """The component of an algorithm that calls itself, directly or not; else nothing."""
        self._find(algorithm)
        return self._circle[algorithm]

    def recurses(self, algorithm: s.Algorithm) -> bool:
        self._find(algorithm)
        return self._recurses[algorithm]

    def _find(self, algorithm: s.Algorithm) -> None:
        if algorithm in self._circle:
            return
        for together in components(self._unknown, algorithm):
            called = {target for each in together for target in self.callees(each)}
            circle = frozenset(together) if called & set(together) else frozenset[s.Algorithm]()
            recursive = bool(circle) or any(self._recurses[each] for each in called)
            self._circle |= dict.fromkeys(together, circle)
            self._recurses |= dict.fromkeys(together, recursive)

    def _unknown(self, algorithm: s.Algorithm) -> Iterator[s.Algorithm]:
        """Of what is known already, all that it calls is."""
        return (each for each in self.callees(algorithm) if each not in self._circle)


def reached(callees: Callable[[T], Iterable[T]], start: T) -> dict[T, None]:
    """What something leads to, directly or not, in order of discovery."""
    found: dict[T, None] = {}
    pending = [start]
    while pending:
        for target in callees(pending.pop()):
            if target not in found:
                found[target] = None
                pending.append(target)
    return found


def components(callees: Callable[[T], Iterable[T]], start: T) -> tuple[tuple[T, ...], ...]:
    """Strongly connected components, callees first (R. E. Tarjan, 1972), without recursion: chains may be long."""
    found: list[tuple[T, ...]] = []
    number, low = {start: 0}, {start: 0}
    stack: dict[T, None] = {start: None}
    path = [(start, iter(callees(start)))]
    while path:
        node, targets = path[-1]
        target = next(targets, None)
        if target is None:
            path.pop()
            if path:
                above = path[-1][0]
                low[above] = min(low[above], low[node])
            if low[node] == number[node]:
                found.append(_popped(stack, node))
        elif target not in number:
            number[target] = low[target] = len(number)
            stack[target] = None
            path.append((target, iter(callees(target))))
        elif target in stack:
            low[node] = min(low[node], number[target])
    return tuple(found)


def _popped(stack: dict[T, None], last: T) -> tuple[T, ...]:
    """Takes all off the stack that came after one, and that one."""
    found = []
    while last in stack:
        found.append(stack.popitem()[0])
    return tuple(reversed(found))


def called(known: CallTargets, part: object) -> Iterator[s.Algorithm]:
    """The algorithms that a part of a program calls itself, those that stand for collective operations among them."""
    for node in s.nodes(part):
        call = node
        if isinstance(node, s.Communicate) and node in known.collectives:
            call = known.collectives[node].invoke.call
        if isinstance(call, s.Call) and isinstance(target := known.targets.get(call), s.Algorithm):
            yield target


def declared_costs(known: CallTargets, part: object) -> Iterator[tuple[s.Node, s.Expr, str]]:
    """Each amount that a part of a program declares, itself or by an extern that it calls: where, how much, of what."""
    for costs in s.find(part, s.Costs):
        yield from ((costs, amount, metric) for amount, metric in costs.amounts)
    for call in s.find(part, s.Call):
        if isinstance(target := known.targets.get(call), s.Extern):
            yield from ((call, amount, metric) for amount, metric in target.costs)
