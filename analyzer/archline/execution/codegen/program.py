"""The whole program: one Python function for each algorithm and each form of its arguments."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from archline.execution.codegen.algorithms import measured_names, write_algorithm
from archline.execution.codegen.layout import Layout, plan
from archline.execution.codegen.reach import reachable, recursive_algorithms
from archline.execution.codegen.scope import Function
from archline.execution.codegen.sites import Site, Tables
from archline.execution.codegen.writer import Options
from archline.language import syntax as s
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
    called = reachable(module, algorithm)
    recursive = recursive_algorithms(module, called)
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

    entry = instance(algorithm, forms)
    functions: dict[str, str] = {}
    generators: set[str] = set()
    while waiting:
        key = waiting.pop()
        fn = Function(module, options, tables, layout.first_counter)
        fn.attach(layout, instance)
        name = instances[key]
        functions[name] = write_algorithm(fn, name, *key)
        if key[0].grid:
            generators.add(name)
    return Generated(functions, frozenset(generators), entry, layout, tables, options)


def has_parallelism(algorithms: Mapping[s.Algorithm, object] | tuple[s.Algorithm, ...]) -> bool:
    """Whether any of the algorithms has a parallel loop or spawns."""
    return any(_parallel(each.body) for each in algorithms)


def _parallel(statements: tuple[s.Stmt, ...]) -> bool:
    for statement in statements:
        match statement:
            case s.Invoke(spawned=True) | s.Loop(parallel=True):
                return True
            case s.Loop(body=body) | s.While(body=body) | s.Split(body=body):
                if _parallel(body):
                    return True
            case s.If(branches=branches):
                if any(_parallel(branch.body) for branch in branches):
                    return True
            case (
                s.Let()
                | s.Local()
                | s.Assign()
                | s.Invoke()
                | s.Sync()
                | s.Pass()
                | s.Return()
                | s.Assume()
                | s.Costs()
                | s.Transfer()
                | s.Communicate()
            ):
                pass
    return False
