"""The call graph of a module has its algorithms as nodes; algorithms that call each other are a component."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Protocol, TypeVar

from archline.language import syntax as s
from archline.language.model import Collective, Module
from archline.records import memoised

T = TypeVar("T")
MAX_CACHED_GRAPHS = 16
"""The number of call graphs that are cached, the latest ones: a derivation asks for them at every call."""
MAX_CACHED_SETS = 256
"""The number of cached sets of reachable algorithms, each as large as all callees."""


class CallTargets(Protocol):
    """A program whose calls and collectives are resolved: a checked module, or the facts of its checker."""

    @property
    def targets(self) -> Mapping[s.Call, s.Algorithm | s.Extern]: ...
    @property
    def collectives(self) -> Mapping[s.Communicate, Collective]: ...


Components = tuple[tuple[s.Algorithm, ...], ...]


def find_recursive_component(module: Module, algorithm: s.Algorithm) -> tuple[s.Algorithm, ...]:
    """Return the algorithms that `algorithm` is mutually recursive with, itself first; empty if it is not recursive."""
    component = _get_graph(module).find_recursive_component(algorithm)
    if not component:
        return ()
    return (
        algorithm,
        *(item for item in find_reachable(module, algorithm) if item in component and item is not algorithm),
    )


def has_recursion(module: Module, algorithm: s.Algorithm) -> bool:
    """Whether the algorithm is recursive, or calls one that is, directly or not."""
    return _get_graph(module).has_recursion(algorithm)


@lru_cache(maxsize=MAX_CACHED_SETS)
def find_reachable(module: Module, algorithm: s.Algorithm) -> Mapping[s.Algorithm, None]:
    """Return the algorithms that a run of `algorithm` may call, directly or not, in order of discovery."""
    return traverse_reachable(_get_graph(module).list_callees, algorithm)


def has_parallelism(module: Module, algorithm: s.Algorithm) -> bool:
    """Whether a run of the algorithm may reach a parallel loop or a spawn."""
    return has_forks([algorithm, *find_reachable(module, algorithm)])


def has_forks(algorithms: Iterable[s.Algorithm]) -> bool:
    """Whether some of the algorithms contain parallel loops or spawns."""
    bodies = tuple(algorithm.body for algorithm in algorithms)
    return any(loop.parallel for loop in s.find_nodes(bodies, s.Loop)) or any(
        invoke.spawned for invoke in s.find_nodes(bodies, s.Invoke)
    )


def iterate_local_arrays(module: Module, algorithm: s.Algorithm) -> Iterator[s.Local]:
    """Yield the declarations of local arrays in an algorithm and in its callees, direct or not."""
    for callee in dict.fromkeys((algorithm, *find_reachable(module, algorithm))):
        yield from (local for local in s.find_nodes(callee.body, s.Local) if local.array)


def list_components(module: Module, algorithm: s.Algorithm) -> Components:
    """Return the strongly connected components of the call graph below `algorithm`, its own included: callees first."""
    return find_components(_get_graph(module).list_callees, algorithm)


@lru_cache(maxsize=MAX_CACHED_GRAPHS)
def _get_graph(module: Module) -> _CallGraph:
    return _CallGraph(module)


class _CallGraph:
    """The call graph of a module: the callees of each algorithm, and its strongly connected component, memoised."""

    def __init__(self, module: Module) -> None:
        self._module = module
        self._circle: dict[s.Algorithm, frozenset[s.Algorithm]] = {}
        self._recurses: dict[s.Algorithm, bool] = {}

    @memoised
    def list_callees(self, algorithm: s.Algorithm) -> tuple[s.Algorithm, ...]:
        """Return the algorithms that `algorithm` calls directly, each once, in order of appearance."""
        return tuple(dict.fromkeys(iterate_callees(self._module, algorithm)))

    def find_recursive_component(self, algorithm: s.Algorithm) -> frozenset[s.Algorithm]:
        """Return the component of an algorithm that calls itself, directly or not; else an empty set."""
        self._classify_reachable(algorithm)
        return self._circle[algorithm]

    def has_recursion(self, algorithm: s.Algorithm) -> bool:
        self._classify_reachable(algorithm)
        return self._recurses[algorithm]

    def _classify_reachable(self, algorithm: s.Algorithm) -> None:
        """Find the components of the algorithms reachable from one, and whether each may reach a recursion."""
        if algorithm in self._circle:
            return
        for component in find_components(self._iterate_unresolved_callees, algorithm):
            called = {target for member in component for target in self.list_callees(member)}
            circle = frozenset(component) if called & set(component) else frozenset[s.Algorithm]()
            recursive = bool(circle) or any(self._recurses[callee] for callee in called)
            self._circle |= dict.fromkeys(component, circle)
            self._recurses |= dict.fromkeys(component, recursive)

    def _iterate_unresolved_callees(self, algorithm: s.Algorithm) -> Iterator[s.Algorithm]:
        """Return the callees of an algorithm that have not been assigned to a component yet."""
        return (callee for callee in self.list_callees(algorithm) if callee not in self._circle)


def traverse_reachable(callees: Callable[[T], Iterable[T]], start: T) -> dict[T, None]:
    """Return the nodes that can be reached from `start` in one step or more, in order of discovery."""
    discovered: dict[T, None] = {}
    pending = [start]
    while pending:
        for target in callees(pending.pop()):
            if target not in discovered:
                discovered[target] = None
                pending.append(target)
    return discovered


def find_components(callees: Callable[[T], Iterable[T]], start: T) -> tuple[tuple[T, ...], ...]:
    """Find strongly connected components, callees first (R. E. Tarjan, 1972), without recursion: chains may be long."""
    finished: list[tuple[T, ...]] = []
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
                finished.append(_pop_component(stack, node))
        elif target not in number:
            number[target] = low[target] = len(number)
            stack[target] = None
            path.append((target, iter(callees(target))))
        elif target in stack:
            low[node] = min(low[node], number[target])
    return tuple(finished)


def _pop_component(stack: dict[T, None], last: T) -> tuple[T, ...]:
    """Pop the nodes of a component from Tarjan's stack, from its top down to `last`, and return them."""
    members = []
    while last in stack:
        members.append(stack.popitem()[0])
    return tuple(reversed(members))


def iterate_callees(program: CallTargets, part: object) -> Iterator[s.Algorithm]:
    """Yield the algorithms that a part of a program calls directly, including those of collective operations."""
    for node in s.iterate_nodes(part):
        call = node
        if isinstance(node, s.Communicate) and node in program.collectives:
            call = program.collectives[node].invoke.call
        if isinstance(call, s.Call) and isinstance(target := program.targets.get(call), s.Algorithm):
            yield target


def iterate_declared_costs(known: CallTargets, part: object) -> Iterator[tuple[s.Node, s.Expr, str]]:
    """Yield the amounts declared by the `costs` in a part of a program and by the externs that it calls.

    Each is a triple of the node (`costs` or call), the amount and the metric.
    """
    for costs in s.find_nodes(part, s.Costs):
        yield from ((costs, amount, metric) for amount, metric in costs.amounts)
    for call in s.find_nodes(part, s.Call):
        if isinstance(target := known.targets.get(call), s.Extern):
            yield from ((call, amount, metric) for amount, metric in target.costs)
