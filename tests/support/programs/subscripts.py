"""Subscripts that are in range by construction, and elements made of them."""

from __future__ import annotations

from itertools import pairwise

from programs.extents import Extent
from programs.scope import Array, Context, Scope


def subscript(ctx: Context, scope: Scope, extent: Extent, *, data: bool = True) -> str | None:
    """An expression with a value in [0, extent), or None where nothing in scope is known to be."""
    options = _indices(scope, extent) + _sums(scope, extent)
    if scope.nonempty(extent):
        options.append((1, "0"))
        options.extend((1, f"{affine} % {extent.atom}") for affine in _affine(scope))
    if data and ctx.wants("int_data") and ctx.choose.chance(25):
        options = _data(ctx, scope, extent) or options
    if not options:
        return None
    return ctx.choose.weighted(options)


def element(ctx: Context, scope: Scope, array: Array, *, data: bool = True) -> str | None:
    """An element of the array that this strand may touch."""
    mine = dict(array.fixed)
    subscripts: list[str] = []
    for dimension, extent in enumerate(array.shape):
        if dimension in mine:
            subscripts.append(ctx.choose.pick(mine[dimension]))
            continue
        found = subscript(ctx, scope, extent, data=data)
        if found is None:
            return None
        subscripts.append(found)
    return f"{array.name}[{', '.join(subscripts)}]"


def _indices(scope: Scope, extent: Extent) -> list[tuple[int, str]]:
    options: list[tuple[int, str]] = []
    for index in reversed(scope.indices):
        if index.domain is None:
            continue
        room = extent.minus(index.domain)
        if room is not None:
            options.append((14, index.name))
            options.append((1, f"{extent.text} - 1 - {index.name}"))
            options.append((1, f"{index.name}//2"))
            if room.offset >= 1:
                options.append((6, f"{index.name} + 1"))
        if extent.minus(index.domain * 2) is not None:
            options.extend([(3, f"2*{index.name}"), (3, f"2*{index.name} + 1")])
    return options


def _sums(scope: Scope, extent: Extent) -> list[tuple[int, str]]:
    options: list[tuple[int, str]] = []
    for first in scope.indices:
        for second in scope.indices:
            if first is second or first.domain is None or second.domain is None:
                continue
            if first.name < second.name and extent.minus(first.domain + second.domain) is not None:
                options.append((5, f"{first.name} + {second.name}"))
            if second.domain.plain and extent == first.domain * second.domain:
                options.append((8, f"{first.name}*{second.domain.text} + {second.name}"))
    return options


def _affine(scope: Scope) -> list[str]:
    """Some expressions in indices that are not negative, to be reduced by a modulus."""
    names = [index.name for index in scope.indices]
    options = [f"({name} + 1)" for name in names] + [f"({name}*3)" for name in names]
    for first, second in pairwise(names):
        options += [f"({first} + 2*{second})", f"({first}*{second})"]
    return options


def _data(ctx: Context, scope: Scope, extent: Extent) -> list[tuple[int, str]]:
    """Subscripts read from data: entries of an index array, or data reduced by a size."""
    options: list[tuple[int, str]] = []
    for array in scope.arrays:
        if array.element == "real" or not array.readable or not ctx.choose.chance(60):
            continue
        found = element(ctx, scope, array, data=False)
        if found is None:
            continue
        if array.below is not None and extent.minus(array.below) is not None:
            options.append((4, found))
        elif scope.nonempty(extent):
            options.append((2, f"{found} % {extent.atom}"))
            options.append((1, f"({found} + 1) % {extent.atom}"))
    for scalar in scope.scalars:
        if scalar.kind == "int" and scope.nonempty(extent):
            options.append((1, f"{scalar.name} % {extent.atom}"))
    if options:
        ctx.features.update({"int_data", "data_subscript"})
    return options
