"""An algorithm under further facts, as `--where` states them."""

from __future__ import annotations

from dataclasses import replace

from archline.expr.tree import Source
from archline.language import syntax as s
from archline.language.checking import check
from archline.language.checking.communication import MODULE as COLLECTIVES
from archline.language.model import Module


def with_where(module: Module, algorithm: s.Algorithm, facts: tuple[s.Fact, ...]) -> tuple[Module, s.Algorithm]:
    """The module with the facts added to the `where` of one of its own algorithms, checked anew.

    Raises ArchlineError where a fact is not one about sizes of the algorithm.
    """
    if not facts:
        return module, algorithm
    narrowed = replace(algorithm, where=(*algorithm.where, *facts))
    items = tuple(narrowed if item is algorithm else item for item in module.program.items)
    used = _used(module)
    waiting = [used]

    def resolve(use: s.Use) -> Module:
        if use.path == COLLECTIVES and not any(isinstance(each, s.Use) and each.path == use.path for each in items):
            return replace(used, algorithms=_collectives(module))
        # What the file uses is loaded already: the first `use` brings all of it in, the others nothing more.
        return waiting.pop() if waiting else replace(used, program=s.Program(used.program.source, ()), algorithms={})

    return check(replace(module.program, items=items), resolve), narrowed


def _collectives(module: Module) -> dict[str, s.Algorithm]:
    """The algorithms of the library that the file's collective operations stand for."""
    nodes = s.find(module.program.items, s.Communicate)
    own = [module.collectives[node] for node in nodes if node in module.collectives]
    called = [module.targets[each.invoke.call] for each in own]
    return {each.name: each for each in called if isinstance(each, s.Algorithm) and each.name not in module.visible}


def _used(module: Module) -> Module:
    """Everything the module's file uses, as one module."""
    own = set(module.program.items)
    algorithms = {name: each for name, each in module.visible.items() if each not in own}
    externs = [each for each in module.externs.values() if each not in own]
    source = Source(module.program.source.path, "")
    return replace(module, program=s.Program(source, (*algorithms.values(), *externs)), algorithms=algorithms)
