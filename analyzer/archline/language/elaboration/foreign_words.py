"""Constants and functions of other languages, such as `True` and `maximum`, get the names of this one."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from archline.expr.tree import Comprehension, Node
from archline.language import surface
from archline.language import syntax as s
from archline.language.elaboration.environment import collect_header_types
from archline.language.elaboration.rewriting import rewrite_fields, rewrite_tree
from archline.records import replace

_INFINITE = ("INF", "Inf", "infty", "Infinity", "INFINITY", "math.inf", "np.inf", "numpy.inf")
_CONSTANTS = {
    "True": "true",
    "TRUE": "true",
    "False": "false",
    "FALSE": "false",
    **dict.fromkeys(_INFINITE, "inf"),
    **dict.fromkeys(("PI", "Pi", "M_PI", "math.pi", "np.pi", "numpy.pi"), "pi"),
}

_FUNCTIONS = {
    **dict.fromkeys(("maximum", "amax"), "max"),
    **dict.fromkeys(("minimum", "amin"), "min"),
    **dict.fromkeys(("iand", "bitand", "bitwise_and"), "bit_and"),
    **dict.fromkeys(("ior", "bitor", "bitwise_or"), "bit_or"),
    **dict.fromkeys(("ieor", "bitxor", "bitwise_xor"), "xor"),
    "fabs": "abs",
    "ln": "log",
    "lg": "log2",
    "t": "transpose",
}
_OPERATORS = {
    **dict.fromkeys(("div", "idiv", "floor_div", "floordiv", "fld"), "//"),
    **dict.fromkeys(("mod", "rem", "modulo"), "%"),
}


def rename_foreign_words(
    algorithm: s.Algorithm, records: Mapping[str, surface.RecordDefinition], defined: Collection[str]
) -> s.Algorithm:
    """Return an algorithm with the constants and functions of this language; what the author defines keeps its name.

    `defined` are the names that a program gives outside of algorithms.
    """
    foreign = {name.id for name in s.find_nodes(algorithm, s.Name) if name.id in _CONSTANTS}
    foreign_functions = {*_FUNCTIONS, *_OPERATORS}
    called = {call.function for call in s.find_nodes(algorithm, s.Call)} & foreign_functions - {*defined}
    if not foreign and not called:
        return algorithm
    own_names = {*collect_header_types(algorithm, records), *defined, *s.find_assigned_names(algorithm.body)}
    own_names |= {loop.variable for loop in s.find_nodes(algorithm.body, surface.LoopOver)}
    own_names |= {comprehension.variable for comprehension in s.find_nodes(algorithm.body, Comprehension)}
    renamed, called = foreign - own_names, called - own_names

    def change_node(node: Node) -> Node | None:
        match node:
            case s.Name(id=name) if name in renamed:
                return s.Name(_CONSTANTS[name], span=node.span)
            case s.Call(function=name, arguments=(left, right)) if name in called and name in _OPERATORS:
                left, right = rewrite_tree((left, right), change_node)
                return s.Binary(_OPERATORS[name], left, right, span=node.span)
            case s.Call(function=name) if name in called and name in _FUNCTIONS and not node.sizes:
                return rewrite_fields(replace(node, function=_FUNCTIONS[name]), change_node)  # type: ignore[no-any-return]
            case _:
                return None

    changed: s.Algorithm = rewrite_tree(algorithm, change_node)
    return changed
