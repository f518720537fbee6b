"""Expressions of a grid are derived here: its processors, exact divisions and facts in sizes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import reduce

from archline.expr.text import format_expression
from archline.expr.tree import find_divisions, find_stated_minima, substitute_in_fact, substitute_names
from archline.language import syntax as s


def build_processor_count(algorithm: s.Algorithm) -> s.Expr | None:
    """Return the number of processors of a grid in sizes; None if the extents of the axes are in terms of P."""
    if not algorithm.grid or any("P" in s.find_names(axis.extent) for axis in algorithm.grid):
        return None
    extents = [axis.extent for axis in algorithm.grid]
    return reduce(lambda left, right: s.Binary("*", left, right, span=algorithm.name_span), extents)


def find_exact_divisions(algorithm: s.Algorithm) -> tuple[s.Divides, ...]:
    """Return the facts `c divides P` that divisions `P/c` of every run on a grid need, except those of the `where`.

    They are in the extents of the axes, and in the shapes of arrays and the values of names outside of all blocks.
    """
    if not algorithm.grid:
        return ()
    sizes = {"P"}.union(
        *(s.find_names(item.type) for item in algorithm.parameters if isinstance(item.type, s.ArrayType))
    )
    sizes.update(item.name for item in algorithm.parameters if isinstance(item.type, s.SizeType))
    sizes -= {axis.name for axis in algorithm.grid} | s.find_assigned_names(algorithm.body)
    exprs = [axis.extent for axis in algorithm.grid]
    # Divisions of other values are data, or are left to the checks.
    plain = tuple(statement for statement in algorithm.body if isinstance(statement, s.Simple))
    exprs += [extent for type_ in s.find_nodes(plain, s.ArrayType) for extent in type_.shape]
    exprs += [let.value for let in s.find_nodes(plain, s.Let)]
    # The fact that c*d divides P implies that c does.
    parts = (part for expr in exprs for part in reversed(tuple(find_divisions(expr))))
    quotients = (
        part for part in parts if isinstance(part, s.Binary) and part.op == "/" and s.find_names(part) <= sizes
    )
    facts = [fact for fact in algorithm.where if isinstance(fact, s.Divides)]
    stated = len(facts)
    for division in (_combine_divisions(quotient.left, quotient.right) for quotient in quotients):
        if not any(_implies_division(fact, division) for fact in facts):
            facts.append(division)
    return tuple(facts[stated:])


def _implies_division(first: s.Divides, second: s.Divides) -> bool:
    """Whether one divisibility implies another: same dividend, and a divisor with all factors of the other."""
    same = format_expression(first.value) == format_expression(second.value)
    return same and Counter(_iterate_factors(first.divisor)) >= Counter(_iterate_factors(second.divisor))


def _iterate_factors(expr: s.Expr) -> Iterator[str]:
    match expr:
        case s.Binary(op="*", left=left, right=right):
            yield from (*_iterate_factors(left), *_iterate_factors(right))
        case _:
            yield format_expression(expr)


def _combine_divisions(value: s.Expr, divisor: s.Expr) -> s.Divides:
    """Return the fact `divisor divides value`, where nested quotients are joined: (P/c)/d -> c*d divides P."""
    match value:
        case s.Binary(op="/", left=left, right=right):
            return _combine_divisions(left, s.Binary("*", right, divisor, span=value.span))
        case _:
            return s.Divides(divisor, value, span=divisor.span)


def express_facts_in_sizes(algorithm: s.Algorithm) -> tuple[s.Fact, ...]:
    """Return the facts of an algorithm; on a grid with those implied: P in sizes, axes >= 1, divisors no larger."""
    if not algorithm.grid:
        return algorithm.where
    processors = build_processor_count(algorithm)
    values = {} if processors is None else {"P": processors}
    facts = [substitute_in_fact(fact, values) for fact in (*algorithm.where, *find_exact_divisions(algorithm))]
    for axis in algorithm.grid:
        one = s.Integer(1, span=axis.span)
        if not isinstance(axis.extent, s.Name | s.Integer):
            facts.append(s.Binary(">=", substitute_names(axis.extent, values), one, span=axis.span))
    # Every divisor divides a value that may be 0.
    zero = {name for name, least in find_stated_minima(algorithm.where).items() if least <= 0}
    zero |= {parameter.name for parameter in algorithm.parameters if isinstance(parameter.type, s.IndexType)}
    larger = [
        s.Binary(">=", fact.value, fact.divisor, span=fact.span)
        for fact in facts
        if isinstance(fact, s.Divides) and not s.find_names(fact.value) & zero
    ]
    return (*facts, *larger)
