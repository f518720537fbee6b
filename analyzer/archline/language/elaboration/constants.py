"""Constants that other languages write in their own way, `True` and `INFINITY`, get the names of this language."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from archline.expr.tree import Comprehension, Node
from archline.language import surface
from archline.language import syntax as s
from archline.language.elaboration.environment import read_header
from archline.language.elaboration.rewriting import rewrite_tree

_INFINITE = ("INF", "Inf", "infty", "Infinity", "INFINITY", "math.inf", "np.inf", "numpy.inf")
_CONSTANTS = {
    "True": "true",
    "TRUE": "true",
    "False": "false",
    "FALSE": "false",
    **dict.fromkeys(_INFINITE, "inf"),
    **dict.fromkeys(("PI", "Pi", "M_PI", "math.pi", "np.pi", "numpy.pi"), "pi"),
}


def rename_constants(
    algorithm: s.Algorithm, records: Mapping[str, surface.RecordDefinition], abbreviations: Collection[str]
) -> s.Algorithm:
    """Return an algorithm with the constants of this language; a name that stands for something else stays."""
    foreign = {name.id for name in s.find_nodes(algorithm, s.Name) if name.id in _CONSTANTS}
    if not foreign:
        return algorithm
    given = {*read_header(algorithm, records), *abbreviations, *s.find_assigned_names(algorithm.body)}
    given |= {loop.variable for loop in s.find_nodes(algorithm.body, surface.LoopOver)}
    given |= {comprehension.variable for comprehension in s.find_nodes(algorithm.body, Comprehension)}
    renamed = foreign - given

    def change_node(node: Node) -> Node | None:
        if isinstance(node, s.Name) and node.id in renamed:
            return s.Name(_CONSTANTS[node.id], span=node.span)
        return None

    changed: s.Algorithm = rewrite_tree(algorithm, change_node)
    return changed
