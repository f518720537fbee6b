"""The whole program: one Python function for each algorithm and each form of its arguments."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from archline.execution.codegen.algorithms import write_algorithm
from archline.execution.codegen.layout import Layout, plan
from archline.execution.codegen.reach import reachable, recursive_algorithms
from archline.execution.codegen.scope import Function
from archline.execution.codegen.sites import Site, Tables
from archline.execution.codegen.statements import not_yet
from archline.execution.codegen.writer import Options
from archline.language import syntax as s
from archline.language.model import Module


@dataclass(frozen=True, eq=False)
class Generated:
    """Python source, the name of the function to call, and what its numbers mean."""

    source: str
    entry: str
    functions: tuple[str, ...]
    layout: Layout
    tables: Tables
    options: Options

    def site(self, number: int) -> Site:
        """The site of a number found in the state."""
        from archline.execution.slots import FIRST_SITE

        return self.tables.sites[number - FIRST_SITE]


def generate(module: Module, algorithm: s.Algorithm, forms: tuple[str, ...], options: Options) -> Generated:
    """Generate the program that runs an algorithm on arguments of these forms.

    Raises ArchlineError for what does not run: distributed programs, blocks nested too deeply.
    """
    called = reachable(module, algorithm)
    for each in called:
        if each.grid:
            raise not_yet(each)
    recursive = recursive_algorithms(module, called)
    measured = {each: len(each.decreases) or len(module.signatures[each].sizes) for each in recursive}
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
    chunks = []
    while waiting:
        key = waiting.pop()
        fn = Function(module, options, tables, layout.first_counter)
        fn.attach(layout, instance)
        chunks.append(write_algorithm(fn, instances[key], *key))
    return Generated("\n".join(chunks), entry, tuple(instances.values()), layout, tables, options)


def has_parallelism(algorithms: Mapping[s.Algorithm, object] | tuple[s.Algorithm, ...]) -> bool:
    """Whether any of the algorithms has a parallel loop or spawns."""
    return any(_parallel(each.body) for each in algorithms)


def _parallel(statements: tuple[s.Stmt, ...]) -> bool:
    for statement in statements:
        match statement:
            case s.Invoke(spawned=True) | s.Loop(parallel=True):
                return True
            case s.Loop(body=body) | s.While(body=body):
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
                | s.Split()
            ):
                pass
    return False
