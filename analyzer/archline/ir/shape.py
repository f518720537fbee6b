"""Compute shapes of loop nests: keys that are equal for nests which differ only in the names of counters.

A shape is a hashable value of everything that io bounds depend on, with counters named by their depths. Nests of
equal shape have equal bounds, if the bounds contain no counters.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from functools import lru_cache

from archline.algebra.facts import Facts
from archline.algebra.polynomial import Poly
from archline.ir.tree import Access, Chain, Choice, Loop, Node, RecursiveCall

CounterNames = Mapping[str, Poly]
Shape = tuple[Hashable, ...]


def name_counters(chain: Chain, outside: int = 0) -> dict[str, Poly]:
    """Map the counters of loops to symbols by depth; the first `outside` loops keep their names."""
    return {loop.variable: Poly.symbol(f"counter {depth}") for depth, loop in enumerate(chain) if depth >= outside}


def loop_shape(loop: Loop, names: CounterNames, base: Facts) -> Shape:
    """Return the shape of a loop without its body; bounds of symbols that are the same in `base` are left out."""
    ends = _rename_all((loop.lo, loop.hi, loop.trips, *loop.holds), names)
    return (*ends, _facts_shape(loop.facts, names, base), _facts_shape(loop.inside, names, base))


@lru_cache(maxsize=32)
def chain_shape(chain: Chain, base: Facts) -> Shape:
    """Return the shape of a chain of loops; cached, as many references share chains."""
    names = name_counters(chain)
    return tuple(loop_shape(loop, names, base) for loop in chain)


def access_shape(access: Access, names: CounterNames) -> Shape:
    """Return the shape of an access; an access with a monotone walk has a shape equal to no other."""
    parts = tuple(None if part is None else _rename_all(part, names) for part in access.parts)
    shared = None if access.shared is None else _rename_all(access.shared, names)
    when = _rename_all(access.when, names)
    walk = None if access.walk is None else access
    steady = frozenset(names[name] for name in access.steady & names.keys())
    return (
        access.array,
        _rename_all(access.place, names),
        parts,
        walk,
        access.certain,
        when,
        shared,
        access.times,
        steady,
    )


def nest_shape(loop: Loop, outside: Chain, base: Facts) -> Shape:
    """Return the shape of a loop with its body; counters of the loops `outside` are not renamed."""
    return (*outside, _node_shape(loop, outside, len(outside), base))


def _node_shape(node: Node, chain: Chain, outside: int, base: Facts) -> Hashable:
    match node:
        case Access():
            return access_shape(node, name_counters(chain, outside))
        case Loop():
            inside = (*chain, node)
            body = tuple(_node_shape(child, inside, outside, base) for child in node.body)
            return node.span, *loop_shape(node, name_counters(inside, outside), base), body
        case RecursiveCall() | Choice():
            return node


def _rename_all(values: Sequence[Poly | None], names: CounterNames) -> tuple[Poly | None, ...]:
    return tuple(None if value is None else value.substitute(names) for value in values)


def _facts_shape(facts: Facts, names: CounterNames, base: Facts) -> Shape:
    """Return the bounds of symbols that differ from those of `base`, and the facts on divisibility and powers."""
    bounds = tuple(
        (names.get(name, name), _rename_all(bound.lower, names), _rename_all(bound.upper, names))
        for name, bound in facts.bounds.items()
        if base.bounds.get(name) is not bound
    )
    rewrites, quotients = (tuple(mapping.items()) for mapping in (facts.rewrites, facts.quotients))
    return bounds, rewrites, quotients, facts.powers
