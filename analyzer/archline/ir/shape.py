"""Compute shapes of loop nests, which are equal for nests that differ only in the names of counters.

A shape is a hashable value of everything that io bounds depend on, with counters named by their depths. Two
nests of one shape have the same bounds if no counter is left in these.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from functools import lru_cache

from archline.algebra.facts import Facts
from archline.algebra.polynomial import Poly
from archline.ir.tree import Access, Chain, Choice, Loop, Node, RecursiveCall

Names = Mapping[str, Poly]
Shape = tuple[Hashable, ...]


def named(chain: Chain, outside: int = 0) -> dict[str, Poly]:
    """Map the counters of loops to symbols by depth; the first `outside` loops keep their names."""
    return {loop.variable: Poly.symbol(f"counter {depth}") for depth, loop in enumerate(chain) if depth >= outside}


def of_loop(loop: Loop, names: Names, base: Facts) -> Shape:
    """The range of a loop, and the facts inside it that differ from `base`."""
    ends = _all((loop.lo, loop.hi, loop.trips, *loop.holds), names)
    return (*ends, _of_facts(loop.facts, names, base), _of_facts(loop.inside, names, base))


@lru_cache(maxsize=32)
def of_chain(chain: Chain, base: Facts) -> Shape:
    """The shape of a chain of loops, cached as many references share chains."""
    names = named(chain)
    return tuple(of_loop(loop, names, base) for loop in chain)


def of_access(access: Access, names: Names) -> Shape:
    """The shape of an access; a walking access is equal only to itself."""
    parts = tuple(None if part is None else _all(part, names) for part in access.parts)
    shared = None if access.shared is None else _all(access.shared, names)
    when = _all(access.when, names)
    walk = None if access.walk is None else access
    steady = frozenset(names[name] for name in access.steady & names.keys())
    return access.array, _all(access.place, names), parts, walk, access.certain, when, shared, access.times, steady


def of_nest(loop: Loop, outside: Chain, base: Facts) -> Shape:
    """The shape of a loop with its body; the loops `outside` are not renamed."""
    return (*outside, _of_node(loop, outside, len(outside), base))


def _of_node(node: Node, chain: Chain, outside: int, base: Facts) -> Hashable:
    match node:
        case Access():
            return of_access(node, named(chain, outside))
        case Loop():
            inside = (*chain, node)
            body = tuple(_of_node(each, inside, outside, base) for each in node.body)
            return node.span, *of_loop(node, named(inside, outside), base), body
        case RecursiveCall() | Choice():
            return node


def _all(values: Sequence[Poly | None], names: Names) -> tuple[Poly | None, ...]:
    return tuple(None if value is None else value.substitute(names) for value in values)


def _of_facts(facts: Facts, names: Names, base: Facts) -> Shape:
    """The bounds that differ from those of `base`, and the facts about divisibility."""
    bounds = tuple(
        (names.get(name, name), _all(bound.lower, names), _all(bound.upper, names))
        for name, bound in facts.bounds.items()
        if base.bounds.get(name) is not bound
    )
    rewrites, quotients = (tuple(each.items()) for each in (facts.rewrites, facts.quotients))
    return bounds, rewrites, quotients, facts.powers
