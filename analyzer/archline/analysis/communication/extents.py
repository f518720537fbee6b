"""How many processors and nodes a grid has."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from archline.algebra.polynomial import ONE, Poly
from archline.analysis.cost import Cost
from archline.ir.declarations import declared
from archline.ir.scope import Scope, static_value
from archline.language import syntax as s
from archline.language.model import Module


def grid_extents(module: Module, algorithm: s.Algorithm) -> dict[str, Cost]:
    """P, the product of all axes, and the `nodes`, that of those which are not within one; exact, in the sizes."""
    scope = declared(module, algorithm)
    nodes = [axis for axis in algorithm.grid if axis.within is None]
    found = {"P": _product(algorithm.grid, scope), "nodes": _product(nodes, scope)}
    if any("P" in s.names(axis.extent) for axis in algorithm.grid):
        # What is cut up is P, whatever its parts.
        found["P"] = Poly.symbol("P")
        if len(nodes) == len(algorithm.grid):
            found["nodes"] = found["P"]
    return {name: Cost(name, "exact", value, value) for name, value in found.items()}


def _product(axes: Sequence[s.Axis], scope: Scope) -> Poly:
    extents = prod((static_value(axis.extent, scope) for axis in axes), start=ONE)
    return scope.facts.restore(scope.facts.simplify(extents))
