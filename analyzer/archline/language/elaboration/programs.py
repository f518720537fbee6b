"""The passes of the elaboration run over a whole program."""

from __future__ import annotations

from collections.abc import Mapping

from archline.language import surface
from archline.language import syntax as s
from archline.language.diagnostics import Diagnostic
from archline.language.elaboration.iterations import name_iterations
from archline.language.syntax_rules import UNEXPECTED
from archline.records import replace

_SURFACE = (
    surface.Abbreviation,
    surface.Comprehension,
    surface.LoopOver,
    surface.Multiple,
    surface.RecordDefinition,
    surface.RecordType,
)


def elaborate(program: s.Program, visible: Mapping[str, s.Algorithm]) -> tuple[s.Program, tuple[Diagnostic, ...]]:
    """Return the program in the core language and the mistakes found on the way.

    `visible` has the algorithms of the files that it uses.
    """
    items: list[s.Item] = []
    diagnostics: list[Diagnostic] = []
    symbols = s.names(tuple(item.costs for item in program.items if isinstance(item, s.Extern)))
    for item in program.items:
        left = next((node for node in s.nodes(item) if isinstance(node, _SURFACE)), None)
        if left is None and isinstance(item, s.Algorithm):
            item, found = name_iterations(item, symbols)
            diagnostics.extend(found)
            items.append(item)
        elif left is None:
            items.append(item)
        else:
            diagnostics.append(Diagnostic(UNEXPECTED, "this form is not supported", left.span))
    return replace(program, items=tuple(items)), tuple(diagnostics)
