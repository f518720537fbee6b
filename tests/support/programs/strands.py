"""Parallel loops and segment loops: what each strand may touch, and when the cost stays exact."""

from __future__ import annotations

from dataclasses import replace

from programs.bounds import choose_bounds, commit
from programs.extents import Extent
from programs.scope import INDEX_NAMES, MAX_WEIGHT, Array, Context, Index, Offsets, Scope
from programs.statements import Lines, Maker, block, enter, forget, indented


def parallel_loop(makers: list[tuple[int, Maker]]) -> Maker:
    """A `parallel for`: each array is one strand's own along a dimension, read-only, or only updated atomically."""

    def make(ctx: Context, scope: Scope) -> Lines:
        if scope.depth >= ctx.max_depth:
            return []
        bounds = choose_bounds(ctx, scope, parallel=True)
        if bounds is None or not ctx.spend(scope, bounds.trips):
            return []
        name, inner = enter(scope, bounds, parallel=True)
        if not share_out(ctx, inner, name, bounds.domain):
            scope.names.discard(name)
            return []
        commit(ctx, scope, bounds, parallel=True)
        ctx.features.add("parallel")
        if any(index.parallel for index in scope.indices):
            ctx.features.add("nested_parallel")
        body = block(ctx, inner, makers)
        scope.names.discard(name)
        settle(ctx, name)
        return [f"parallel for {name} in {bounds.text}:", *indented(body)]

    return make


def settle(ctx: Context, name: str) -> None:
    """At the end of a parallel loop: whether the longest of its iterations is plain to see."""
    moves, segments = forget(ctx, name)
    if len(moves) > 1 or "case" in moves:
        ctx.irregular.add("parallel iterations that differ in more than one way")
    if "unnamed" in segments:
        ctx.inexact.add("span over segments whose longest has no name")
    if len(segments) > 1 or (segments and moves):
        ctx.inexact.add("longest iteration depends on several amounts")


def share_out(ctx: Context, inner: Scope, name: str, domain: Extent) -> bool:
    """Give the strands of a loop over `name` their parts of the arrays. False: nothing would be left to write."""
    writable = False
    arrays: list[Array] = []
    for root in dict.fromkeys(array.root for array in inner.arrays):
        views = [array for array in inner.arrays if array.root == root]
        shared = _share(ctx, views, name, domain)
        writable = writable or any(array.access in ("rw", "atomic") for array in shared)
        arrays += shared
    inner.arrays = arrays
    inner.scalars = [replace(scalar, writable=False) for scalar in inner.scalars]
    return writable


def _share(ctx: Context, views: list[Array], name: str, domain: Extent) -> list[Array]:
    """The views of one array in a strand: one of them owned or atomic and the others out of reach, or all read."""
    if not any(view.access == "rw" for view in views):
        return views
    owned = [each for each in (_own(view, name, domain) for view in views if view.access == "rw") if each is not None]
    options: list[tuple[int, str]] = [(1, "read")]
    if owned:
        options.insert(0, (8, "own"))
    if ctx.wants("atomic"):
        options.append((4, "atomic"))
    match ctx.choose.weighted(options):
        case "own":
            chosen = ctx.choose.pick(owned)
            return [chosen if view.name == chosen.name else replace(view, access="none") for view in views]
        case "atomic":
            first = next(view for view in views if view.access == "rw")
            return [replace(view, access="atomic" if view is first else "none") for view in views]
    return [replace(view, access="ro" if view.access == "rw" else view.access) for view in views]


def _own(view: Array, name: str, domain: Extent) -> Array | None:
    for dimension in view.free_dimensions:
        extent = view.shape[dimension]
        room = extent.minus(domain)
        if extent.minus(domain * 2) is not None:
            mine: tuple[str, ...] = (f"2*{name}", f"2*{name} + 1")
        elif room is not None and room.offset >= 1:
            mine = (f"{name} + 1",)
        elif room is not None:
            mine = (name,)
        else:
            continue
        return replace(view, fixed=(*view.fixed, (dimension, mine)))
    return None


def segments(makers: list[tuple[int, Maker]]) -> Maker:
    """A loop over a segment of an offsets array, under a loop over its rows that may be parallel."""

    def make(ctx: Context, scope: Scope) -> Lines:
        if not scope.offsets or scope.depth >= ctx.max_depth:
            return []
        offsets = ctx.choose.pick(scope.offsets)
        rows = [index for index in scope.indices if index.domain == offsets.count]
        clean = not scope.guarded and all(index.free for index in scope.indices)
        if not ctx.choose.chance(8):
            # Sums over all rows, and only they, come to the total.
            if not clean:
                return []
            rows = [index for index in rows if index.full and index.name not in scope.sealed]
        if rows:
            return _segment(ctx, scope, offsets, ctx.choose.pick(rows[::-1]), makers)
        return _rows(ctx, scope, offsets, makers)

    return make


def _rows(ctx: Context, scope: Scope, offsets: Offsets, makers: list[tuple[int, Maker]]) -> Lines:
    if scope.depth + 1 >= ctx.max_depth or not ctx.spend(scope, 6):
        return []
    name = scope.fresh(INDEX_NAMES)
    inner = scope.child()
    inner.weight = min(scope.weight * 5, MAX_WEIGHT)
    inner.depth += 1
    parallel = ctx.wants("parallel") and ctx.choose.chance(50)
    row = Index(name, offsets.count, full=True, parallel=parallel)
    inner.indices.append(row)
    # The name is free again after the loop, also where nothing came of it.
    scope.names.discard(name)
    if parallel and not share_out(ctx, inner, name, offsets.count):
        return []
    segment = _segment(ctx, inner, offsets, row, makers)
    if not segment:
        forget(ctx, name)
        return []
    after = block(ctx, inner, makers) if ctx.choose.chance(30) else []
    down = "downto" if not parallel and ctx.choose.chance(15) else ""
    if parallel:
        ctx.features.add("parallel")
        settle(ctx, name)
    else:
        forget(ctx, name)
    bounds = f"{offsets.count.text} - 1 downto 0" if down else f"0..{offsets.count.text}"
    return [f"{'parallel ' if parallel else ''}for {name} in {bounds}:", *indented(segment + after)]


def _segment(ctx: Context, scope: Scope, offsets: Offsets, row: Index, makers: list[tuple[int, Maker]]) -> Lines:
    if not ctx.spend(scope, 3):
        return []
    name = scope.fresh(INDEX_NAMES)
    inner = scope.child()
    inner.indices.append(Index(name, offsets.total, free=False))
    inner.weight = min(scope.weight * 2, MAX_WEIGHT)
    inner.depth += 1
    ctx.features.add("segment")
    exact = row.full and not scope.guarded and all(index.free for index in scope.indices)
    exact = exact and offsets.count == row.domain and row.name not in scope.sealed
    if ctx.choose.chance(8):
        ctx.inexact.add("count that moves with a segment")
    else:
        inner.sealed = scope.sealed | {name} | {index.name for index in scope.indices}
    if not exact:
        ctx.inexact.add("segments of some rows only")
    ctx.segments.setdefault(row.name, set()).add(offsets.name if offsets.longest else "unnamed")
    body = block(ctx, inner, makers)
    scope.names.discard(name)
    forget(ctx, name)
    return [f"for {name} in {offsets.name}[{row.name}]..{offsets.name}[{row.name}+1]:", *indented(body)]
