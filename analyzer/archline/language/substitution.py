"""Expressions with names replaced."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import reduce

from archline.language import syntax as s
from archline.language.format_expressions import format_expression


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
        case s.Call(arguments=arguments, sizes=sizes):
            changed = tuple((name, rewritten(value, change)) for name, value in sizes)
            return replace(expr, arguments=tuple(rewritten(each, change) for each in arguments), sizes=changed)
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


def divisions_of_runs(algorithm: s.Algorithm) -> tuple[s.Divides, ...]:
    """The exact divisions of sizes that every run on a grid makes beside those of the `where`: c divides P, of `P/c`.

    They stand in the extents of the axes, and in the shapes of arrays and the values of names outside of all blocks.
    """
    if not algorithm.grid:
        return ()
    own = {"P"}.union(*(s.names(each.type) for each in algorithm.parameters if isinstance(each.type, s.ArrayType)))
    own.update(each.name for each in algorithm.parameters if isinstance(each.type, s.SizeType))
    own -= {axis.name for axis in algorithm.grid} | s.set_names(algorithm.body)
    made = [axis.extent for axis in algorithm.grid]
    for statement in algorithm.body:
        match statement:
            case s.Local(type=s.ArrayType(shape=shape)):
                made += shape
            case s.Let(value=value):
                made.append(value)
            case _:
                # What others divide is data, or is left to the checks.
                pass
    # That c*d divides P says more than that c does.
    parts = (each for expr in made for each in reversed(tuple(divisions(expr))))
    quotients = (each for each in parts if isinstance(each, s.Binary) and each.op == "/" and s.names(each) <= own)
    found = [each for each in algorithm.where if isinstance(each, s.Divides)]
    stated = len(found)
    for division in (_division(each.left, each.right) for each in quotients):
        if not any(_implies(each, division) for each in found):
            found.append(division)
    return tuple(found[stated:])


def _implies(one: s.Divides, other: s.Divides) -> bool:
    """Whether the divisor of the one is that of the other, or a product with it, and they divide the same."""
    same = format_expression(one.value) == format_expression(other.value)
    return same and Counter(_factors(one.divisor)) >= Counter(_factors(other.divisor))


def _factors(expr: s.Expr) -> Iterator[str]:
    match expr:
        case s.Binary(op="*", left=left, right=right):
            yield from (*_factors(left), *_factors(right))
        case _:
            yield format_expression(expr)


def divisions(expr: s.Expr, rounded: bool = False) -> Iterator[s.Binary | s.Call]:
    """What has to be an integer in an expression of sizes: `floor` and `ceil` round what they are of."""
    match expr:
        case s.Binary(op=op, left=left, right=right):
            yield from (*divisions(left), *divisions(right))
            if op in ("//", "%") or (op == "/" and not rounded):
                yield expr
        case s.Call(function=function, arguments=arguments):
            for each in arguments:
                yield from divisions(each, function in ("floor", "ceil"))
            if function in ("log2", "sqrt") and not rounded:
                yield expr
        case s.Unary(operand=operand):
            yield from divisions(operand)
        case s.Integer() | s.Real() | s.Name() | s.Element() | s.Reshape():
            pass


def _division(value: s.Expr, divisor: s.Expr) -> s.Divides:
    """That c*d divides P, of `P/c` and d."""
    match value:
        case s.Binary(op="/", left=left, right=right):
            return _division(left, s.Binary("*", right, divisor, span=value.span))
        case _:
            return s.Divides(divisor, value, span=divisor.span)


def facts_in_sizes(algorithm: s.Algorithm) -> tuple[s.Fact, ...]:
    """The facts of an algorithm; on a grid with what they imply: P in sizes, axes of 1 or more, divisors no larger."""
    if not algorithm.grid:
        return algorithm.where
    processors = processors_of(algorithm)
    values = {} if processors is None else {"P": processors}
    facts = [substituted_fact(fact, values) for fact in (*algorithm.where, *divisions_of_runs(algorithm))]
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
