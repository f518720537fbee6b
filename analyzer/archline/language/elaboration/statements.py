"""Statements of the surface are rewritten in the core: several values at once, exchanges, loops over elements."""

from __future__ import annotations

from typing import Any

from archline.expr.tree import Node, has_same_structure
from archline.language import surface
from archline.language import syntax as s
from archline.language.elaboration.declare import rewrite_block
from archline.language.elaboration.environment import (
    SIZE,
    Environment,
    NameType,
    collect_header_types,
    find_measured_array,
)
from archline.language.elaboration.reductions import locate_element
from archline.language.elaboration.rewriting import make_name_maker, rewrite_tree
from archline.records import replace


def simplify_statements(algorithm: s.Algorithm, environment: Environment) -> s.Algorithm:
    """Return an algorithm whose statements are of the core language."""
    environment = environment.with_names(collect_header_types(algorithm, environment.records))
    simplifier = _Simplifier(algorithm, environment)
    return replace(algorithm, body=rewrite_block(algorithm.body, environment, simplifier.simplify_statement))


class _Simplifier:
    def __init__(self, algorithm: s.Algorithm, environment: Environment) -> None:
        self._make_name = make_name_maker(algorithm)

    def simplify_statement(self, statement: Any, environment: Environment) -> tuple[Any, ...]:
        """Return statements of the core language for one statement, whose inner blocks are simplified already."""
        statement = _replace_words(statement, environment)
        match statement:
            case s.Invoke(call=s.Call(function="swap", arguments=(left, right)), spawned=False) if (
                "swap" not in environment.algorithms
            ):
                return self._store_values((left, right), (right, left), statement, environment)
            case surface.Multiple(targets=targets, values=values):
                return self._store_values(targets, values, statement, environment)
            case surface.LoopOver():
                return self._loop_over_elements(statement, environment)
            case _:
                return (statement,)

    def _store_values(
        self, targets: tuple[Any, ...], values: tuple[Any, ...], statement: Node, environment: Environment
    ) -> tuple[Any, ...]:
        """Evaluate all values, then store them from left to right; copies between registers are free."""
        span = statement.span
        before: list[Any] = []
        stores: list[Any] = []
        for number, (target, value) in enumerate(zip(targets, values, strict=True)):
            last = number == len(targets) - 1
            # The last value, and one that no store before it changes, needs no register.
            type_ = environment.infer(value) or environment.infer(target) or NameType("real")
            if last and not stores and not before:
                stores.append(s.Assign(target, "=", value, False, span=span))
                continue
            name = self._make_name("value") if type_.shape is None else self._name_copy(value)
            element = "int" if type_.element in (SIZE, "inf") else type_.element
            declared: s.ScalarType | s.ArrayType = s.ScalarType(element, span=span)
            if type_.shape is not None:
                declared = s.ArrayType(element, type_.shape, "rowmajor", span=span)
            before.append(s.Local(name, declared, value, None, span=span))
            stores.append(s.Assign(target, "=", s.Name(name, span=span), False, span=span))
        return (*before, *stores)

    def _name_copy(self, value: Any) -> str:
        """Return a name, such as old_x, for a copy of an array that a later store changes."""
        base = value.id if isinstance(value, s.Name) else getattr(value, "array", "array")
        return self._make_name(f"old_{base}", numbered=False)

    def _loop_over_elements(self, loop: surface.LoopOver, environment: Environment) -> tuple[Any, ...]:
        """Return a loop over the subscripts of a view, whose body begins with a register for the element."""
        type_ = environment.infer(loop.over)
        if type_ is None or type_.shape is None or len(type_.shape) != 1:
            return (loop,)
        span = loop.head
        name = self._make_name("position")
        ends: tuple[s.Expr, s.Expr] = (s.Integer(0, span=span), type_.shape[0])
        subscript = s.Name(name, span=span)
        match loop.over:
            case s.Element(array=array, subscripts=(s.Slice(lo=s.Node() as lo, hi=s.Node() as hi) as part,)) if (
                part.step is None and not part.by_length
            ):
                element: s.Expr | None = s.Element(array, (subscript,), span=loop.over.span)
                ends = (lo, hi)
            case _:
                element = locate_element(loop.over, subscript)
        if element is None:
            return (loop,)
        register = s.Local(loop.variable, s.ScalarType(type_.element, span=span), element, None, span=span)
        body = (register, *loop.body)
        return (s.Loop(name, *ends, None, False, loop.parallel, body, iterations=loop.iterations, span=loop.span),)


def _replace_words(statement: Any, environment: Environment) -> Any:
    """Replace `true`, `false`, `inf` and `mean(x)` by their values, and `len(x)` and `x.length` by an extent."""

    def find_length(array: Node) -> s.Expr | None:
        type_ = environment.infer(array)
        return type_.shape[0] if type_ is not None and type_.shape is not None and len(type_.shape) == 1 else None

    def change_node(node: Node) -> Node | None:
        match node:
            case s.Call(function="len" | "length" | "size", arguments=(array,)) if (
                node.function not in environment.algorithms
            ):
                return find_length(array)
            case s.Call(function="min", arguments=(s.Call(), *_) as lengths) if len(lengths) > 1:
                changed = tuple(rewrite_tree(length, change_node) for length in lengths)
                if all(has_same_structure(changed[0], other) for other in changed[1:]):
                    return changed[0]  # type: ignore[no-any-return]
                return replace(node, arguments=changed)
            case s.Call(function="mean", arguments=(values,)) if "mean" not in environment.algorithms:
                return _expand_mean(values, environment, node)
            case s.Name(id="true" | "false" as name) if name not in environment.names:
                return s.Integer(int(name == "true"), span=node.span)
            case s.Name(id="inf" | "infinity" as name) if name not in environment.names:
                return s.Real("inf", span=node.span)
            case s.Name(id=name) if name not in environment.names and (owner := find_measured_array(name)):
                return find_length(s.Name(owner, span=node.span))
            case s.If() | s.Loop() | s.While() | s.Split() | surface.LoopOver() if node is not statement:
                return node
            case _:
                return None

    return rewrite_tree(statement, change_node)


def _expand_mean(values: s.Expr, environment: Environment, call: Node) -> s.Expr | None:
    """Return the sum of the elements of an array, divided by their number; None if it is not an array."""
    type_ = environment.infer(values)
    if type_ is None or not type_.shape:
        return None
    total: s.Expr = s.Call("sum", (values,), span=call.span)
    if type_.element != "real":
        total = s.Call("real_of", (total,), span=call.span)
    number = type_.shape[0]
    for extent in type_.shape[1:]:
        number = s.Binary("*", number, extent, span=call.span)
    return s.Binary("/", total, number, span=call.span)
