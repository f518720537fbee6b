"""Roundings of logarithms and roots are written with integers: `floor(log2(n/i))`, `floor(i*sqrt(i))`.

The floor of the logarithm or root of a quotient is that of its floor, and so with ceilings; a factor that is not
negative goes into the root as its square. Quotients and roots of sizes alone would have to be integers.
"""

from __future__ import annotations

from functools import reduce
from typing import Any

from archline.expr.tree import Node
from archline.language import syntax as s
from archline.language.elaboration.declare import replace_blocks
from archline.language.elaboration.environment import SIZE, Environment, collect_header_types
from archline.language.elaboration.rewriting import renew_nodes, rewrite_tree
from archline.records import replace


def round_inside(algorithm: s.Algorithm, environment: Environment) -> s.Algorithm:
    """Return an algorithm in which the logarithms and roots that are rounded have whole arguments."""
    if not any(node.function in ("log2", "sqrt") for node in s.find_nodes(algorithm.body, s.Call)):
        return algorithm
    sizes = frozenset(parameter.name for parameter in algorithm.parameters if isinstance(parameter.type, s.SizeType))
    environment = environment.with_names(collect_header_types(algorithm, environment.records))
    return replace(algorithm, body=_round_block(algorithm.body, environment, sizes))


def _round_block(block: tuple[Any, ...], environment: Environment, nonnegative: frozenset[str]) -> tuple[Any, ...]:
    """Rewrite a block; `nonnegative` are the sizes and variables of loops that are never negative."""
    statements: list[Any] = []
    for statement in block:
        inside, signed = environment.enter_body(statement), nonnegative
        if isinstance(statement, s.Loop):
            least = statement.hi if statement.down else statement.lo
            signed = nonnegative - {statement.variable}
            signed |= {statement.variable} if _is_nonnegative(least, nonnegative) else frozenset()
        changed = replace_blocks(
            statement, lambda inner, inside=inside, signed=signed: _round_block(inner, inside, signed)
        )
        statements.append(_round_header(changed, environment, nonnegative))
        environment = environment.add_declared(statement)
    return tuple(statements)


def _round_header(statement: Any, environment: Environment, nonnegative: frozenset[str]) -> Any:
    def change_node(node: Node) -> Node | None:
        if isinstance(node, s.Statement) and node is not statement:
            return node
        match node:
            case s.Call(function="floor" | "ceil", arguments=(inner,)) if _is_size(inner, environment):
                changed = _move_rounding(node, rewrite_tree(inner, change_node), nonnegative)
                return changed if changed is not None else replace(node, arguments=(rewrite_tree(inner, change_node),))
            case _:
                return None

    return rewrite_tree(statement, change_node)


def _is_size(expr: Any, environment: Environment) -> bool:
    """Test whether an expression has only sizes and literals inside."""
    types = [environment.infer(s.Name(name, span=expr.span)) for name in s.find_names(expr)]
    return bool(types) and all(type_ is not None and type_.element == SIZE and type_.shape is None for type_ in types)


def _move_rounding(rounding: s.Call, inner: s.Expr, nonnegative: frozenset[str]) -> s.Expr | None:
    """Return floor(f(x)) or ceil(f(x)) with a whole x; None for other roundings."""
    function = rounding.function

    def call(name: str, argument: s.Expr) -> s.Call:
        return s.Call(name, (argument,), span=inner.span)

    match inner:
        case s.Call(function="log2" | "sqrt" as name, arguments=(s.Binary(op="/") as quotient,)):
            return replace(rounding, arguments=(call(name, call(function, quotient)),))
        case s.Binary(op="/", left=left, right=right) if _is_nonnegative(right, nonnegative):
            whole = _move_rounding(call(function, left), left, nonnegative)
            if whole is None:
                return None
            return replace(rounding, arguments=(replace(inner, left=whole),))
        case s.Binary(op="*"):
            factors = list(_list_factors(inner))
            roots = [factor.arguments[0] for factor in factors if _is_root(factor)]  # type: ignore[union-attr]
            rest = [factor for factor in factors if not _is_root(factor)]
            if not roots or not all(_is_nonnegative(factor, nonnegative) for factor in rest):
                return None
            squares: list[s.Expr] = [*rest, *(renew_nodes(factor) for factor in rest), *roots]
            product = reduce(lambda left, right: s.Binary("*", left, right, span=inner.span), squares)
            return replace(rounding, arguments=(call("sqrt", product),))
        case _:
            return None


def _list_factors(expr: s.Expr) -> tuple[s.Expr, ...]:
    if isinstance(expr, s.Binary) and expr.op == "*":
        return (*_list_factors(expr.left), *_list_factors(expr.right))
    return (expr,)


def _is_root(expr: s.Expr) -> bool:
    return isinstance(expr, s.Call) and expr.function == "sqrt"


def _is_nonnegative(expr: s.Expr | None, names: frozenset[str]) -> bool:
    """Test whether an expression is evidently not negative: a sum or product of literals and such names."""
    match expr:
        case s.Integer(value=value):
            return value >= 0
        case s.Name(id=name):
            return name in names
        case s.Binary(op="+" | "*" | "//" | "^", left=left, right=right):
            return _is_nonnegative(left, names) and _is_nonnegative(right, names)
        case _:
            return False
