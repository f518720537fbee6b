"""Further facts, as `--where` states them, are added to an algorithm here."""

from __future__ import annotations

from dataclasses import replace

from archline.expr.tree import Source
from archline.language import syntax as s
from archline.language.checking import check_elaborated
from archline.language.checking.communication import COLLECTIVES_MODULE as COLLECTIVES
from archline.language.model import Module


def add_where_facts(module: Module, algorithm: s.Algorithm, facts: tuple[s.Fact, ...]) -> tuple[Module, s.Algorithm]:
    """Return the module with the facts added to the `where` of one of its own algorithms, checked again.

    Raises ArchlineError if a fact is not one about sizes of the algorithm.
    """
    if not facts:
        return module, algorithm
    narrowed = replace(algorithm, where=(*algorithm.where, *facts))
    items = tuple(narrowed if item is algorithm else item for item in module.program.items)
    used = _merge_used(module)
    waiting = [used]

    def resolve(use: s.Use) -> Module:
        if use.path == COLLECTIVES and not any(isinstance(item, s.Use) and item.path == use.path for item in items):
            return replace(used, algorithms=_find_collectives(module))
        # The modules that the file uses are loaded already: the first `use` brings all of it in, later ones nothing
        # more.
        return waiting.pop() if waiting else replace(used, program=s.Program(used.program.source, ()), algorithms={})

    return check_elaborated(replace(module.program, items=items), resolve), narrowed


def _find_collectives(module: Module) -> dict[str, s.Algorithm]:
    """Return the algorithms of the library for the file's collective operations."""
    nodes = s.find_nodes(module.program.items, s.Communicate)
    collectives = [module.collectives[node] for node in nodes if node in module.collectives]
    called = [module.targets[collective.invoke.call] for collective in collectives]
    return {item.name: item for item in called if isinstance(item, s.Algorithm) and item.name not in module.visible}


def _merge_used(module: Module) -> Module:
    """Return a module that defines what the file uses of all other files."""
    own_items = set(module.program.items)
    algorithms = {name: algorithm for name, algorithm in module.visible.items() if algorithm not in own_items}
    externs = [extern for extern in module.externs.values() if extern not in own_items]
    source = Source(module.program.source.path, "")
    return replace(module, program=s.Program(source, (*algorithms.values(), *externs)), algorithms=algorithms)
