"""The whole program: one Python function for each algorithm and each form of its arguments."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from archline.execution.codegen.algorithms import measured_names, write_algorithm
from archline.execution.codegen.layout import Layout, plan
from archline.execution.codegen.scope import Function
from archline.execution.codegen.sites import Site, Tables
from archline.execution.codegen.writer import Options
from archline.language import syntax as s
from archline.language.call_graph import component, reachable
from archline.language.model import Module


@dataclass(frozen=True, eq=False)
class Generated:
    """Python functions by name, the one to call, and what their numbers mean.

    `generators` are those that run on processors of a grid, which stay plain Python.
    """

    functions: Mapping[str, str]
    generators: frozenset[str]
    entry: str
    layout: Layout
    tables: Tables
    options: Options

    def site(self, number: int) -> Site:
        """The site of a number found in the state."""
        from archline.execution.slots import FIRST_SITE

        return self.tables.sites[number - FIRST_SITE]


def generate(module: Module, algorithm: s.Algorithm, forms: tuple[str, ...], options: Options) -> Generated:
    """Generate the program that runs an algorithm on arguments of these forms.

    Raises ArchlineError for what does not run: blocks nested too deeply.
    """
    called = tuple(dict.fromkeys((algorithm, *reachable(module, algorithm))))
    recursive = tuple(each for each in called if component(module, each))
    measured = {each: len(each.decreases) or len(measured_names(module, each)) for each in recursive}
    layout = plan(module, recursive, measured)
    tables = Tables()
    instances: dict[tuple[s.Algorithm, tuple[str, ...]], str] = {}
    waiting: list[tuple[s.Algorithm, tuple[str, ...]]] = []

    def instance(callee: s.Algorithm, callee_forms: tuple[str, ...]) -> str:
        key = (callee, callee_forms)
        if key not in instances:
            instances[key] = f"f{len(instances)}_{callee.name}"
            waiting.append(key)
        return instances[key]

    # What one processor forks has joined before its program on the grid goes on, unless that forks itself.
    alone = not _forks([each for each in called if each.grid])
    entry = instance(algorithm, forms)
    functions: dict[str, str] = {}
    generators: set[str] = set()
    while waiting:
        key = waiting.pop()
        fn = Function(module, options, tables, layout.first_counter)
        fn.attach(layout, instance)
        fn.alone = alone and bool(key[0].grid)
        name = instances[key]
        functions[name] = write_algorithm(fn, name, *key)
        if key[0].grid:
            generators.add(name)
    return Generated(functions, frozenset(generators), entry, layout, tables, options)


def has_parallelism(module: Module, algorithm: s.Algorithm) -> bool:
    """Whether a run of the algorithm may come to a parallel loop or a spawn."""
    return _forks([algorithm, *reachable(module, algorithm)])


def _forks(algorithms: Iterable[s.Algorithm]) -> bool:
    """Whether some of the algorithms have parallel loops or spawns of their own."""
    return any(
        each.spawned if isinstance(each, s.Invoke) else isinstance(each, s.Loop) and each.parallel
        for each in s.nodes(tuple(each.body for each in algorithms))
    )
