"""Expressions with names replaced."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import reduce

from archline.language import syntax as s


def rewritten(expr: s.Expr, change: Callable[[s.Expr], s.Expr | None]) -> s.Expr:
    """The expression with what `change` gives in place of its parts, from the outside in; None where one stays."""
    found = change(expr)
    if found is not None:
        return found
    match expr:
        case s.Unary(operand=operand):
            return replace(expr, operand=rewritten(operand, change))
        case s.Binary(left=left, right=right):
            return replace(expr, left=rewritten(left, change), right=rewritten(right, change))
        case s.Call(arguments=arguments):
            return replace(expr, arguments=tuple(rewritten(each, change) for each in arguments))
        case s.Integer() | s.Real() | s.Name() | s.Element() | s.Reshape():
            return expr


def substituted(expr: s.Expr, values: Mapping[str, s.Expr]) -> s.Expr:
    """The expression with values in place of names."""
    return rewritten(expr, lambda part: values.get(part.id) if isinstance(part, s.Name) else None)


def substituted_fact(fact: s.Fact, values: Mapping[str, s.Expr]) -> s.Fact:
    """The fact with values in place of names."""
    match fact:
        case s.IsPower(value=value, base=base):
            return replace(fact, value=substituted(value, values), base=substituted(base, values))
        case s.IsSquare(value=value):
            return replace(fact, value=substituted(value, values))
        case s.Divides(divisor=divisor, value=value):
            return replace(fact, divisor=substituted(divisor, values), value=substituted(value, values))
        case _:
            return substituted(fact, values)


def defined_sizes(facts: Iterable[s.Fact]) -> Iterator[tuple[str, s.Expr]]:
    """The sizes that facts give by others, and what by, as s == n*m/P does."""
    for fact in facts:
        match fact:
            case s.Binary(op="==", left=s.Name(id=name), right=right):
                yield name, right
            case _:
                # Other facts give no size.
                pass


def stated_least(facts: Iterable[s.Fact]) -> dict[str, int]:
    """The least values of sizes, of those that facts compare with a number."""
    said: dict[str, int] = {}
    for fact in facts:
        match fact:
            case s.Binary(op=">=" | ">" | "==" as op, left=s.Name(id=name), right=s.Integer(value=value)):
                said[name] = max(said.get(name, 0), value + (op == ">"))
            case s.Binary(op="<=" | "<" | "==" as op, left=s.Integer(value=value), right=s.Name(id=name)):
                said[name] = max(said.get(name, 0), value + (op == "<"))
            case _:
                # Other facts state no least value.
                pass
    return said


def processors_of(algorithm: s.Algorithm) -> s.Expr | None:
    """The number of processors of a grid in sizes; None where the extents of the axes are in terms of P."""
    if not algorithm.grid or any("P" in s.names(axis.extent) for axis in algorithm.grid):
        return None
    extents = [axis.extent for axis in algorithm.grid]
    return reduce(lambda left, right: s.Binary("*", left, right, span=algorithm.name_span), extents)


def divisions_of_axes(algorithm: s.Algorithm) -> tuple[s.Divides, ...]:
    """The exact divisions in the extents of the axes that the `where` does not state: c divides P, of `P/c`."""
    extents = (node for axis in algorithm.grid for node in s.nodes(axis.extent))
    quotients = (node for node in extents if isinstance(node, s.Binary) and node.op == "/")
    found = dict.fromkeys(s.Divides(each.right, each.left, span=each.span) for each in quotients)
    return tuple(each for each in found if each not in algorithm.where)


def facts_in_sizes(algorithm: s.Algorithm) -> tuple[s.Fact, ...]:
    """The facts of an algorithm; on a grid with what they imply: P in sizes, axes of 1 or more, divisors no larger."""
    if not algorithm.grid:
        return algorithm.where
    processors = processors_of(algorithm)
    values = {} if processors is None else {"P": processors}
    facts = [substituted_fact(fact, values) for fact in (*algorithm.where, *divisions_of_axes(algorithm))]
    for axis in algorithm.grid:
        one = s.Integer(1, span=axis.span)
        if not isinstance(axis.extent, s.Name | s.Integer):
            facts.append(s.Binary(">=", substituted(axis.extent, values), one, span=axis.span))
    # What may be 0 is divided by all.
    zero = {name for name, least in stated_least(algorithm.where).items() if least <= 0}
    zero |= {each.name for each in algorithm.parameters if isinstance(each.type, s.IndexType)}
    larger = [
        s.Binary(">=", fact.value, fact.divisor, span=fact.span)
        for fact in facts
        if isinstance(fact, s.Divides) and not s.names(fact.value) & zero
    ]
    return (*facts, *larger)
