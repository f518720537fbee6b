"""Expressions with names replaced."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import reduce

from archline.expr.text import format_expression
from archline.expr.tree import divisions, stated_least, substituted, substituted_fact
from archline.language import syntax as s


def processors_of(algorithm: s.Algorithm) -> s.Expr | None:
    """The number of processors of a grid in sizes; None where the extents of the axes are in terms of P."""
    if not algorithm.grid or any("P" in s.names(axis.extent) for axis in algorithm.grid):
        return None
    extents = [axis.extent for axis in algorithm.grid]
    return reduce(lambda left, right: s.Binary("*", left, right, span=algorithm.name_span), extents)


def divisions_of_runs(algorithm: s.Algorithm) -> tuple[s.Divides, ...]:
    """The exact divisions of sizes that every run on a grid makes besides those of the `where`: c divides P, of `P/c`.

    They stand in the extents of the axes, and in the shapes of arrays and the values of names outside of all blocks.
    """
    if not algorithm.grid:
        return ()
    own = {"P"}.union(*(s.names(each.type) for each in algorithm.parameters if isinstance(each.type, s.ArrayType)))
    own.update(each.name for each in algorithm.parameters if isinstance(each.type, s.SizeType))
    own -= {axis.name for axis in algorithm.grid} | s.set_names(algorithm.body)
    made = [axis.extent for axis in algorithm.grid]
    # What others divide is data, or is left to the checks.
    plain = tuple(each for each in algorithm.body if isinstance(each, s.Simple))
    made += [extent for each in s.find(plain, s.ArrayType) for extent in each.shape]
    made += [each.value for each in s.find(plain, s.Let)]
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
