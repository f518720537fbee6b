"""Calls of earlier algorithms: arguments bound by extents, spawned calls on disjoint parts, externs, `while`."""

from __future__ import annotations

from dataclasses import dataclass

from programs.bounds import typical
from programs.expressions import factor, int_value
from programs.extents import Extent
from programs.scope import INDEX_NAMES, MAX_WEIGHT, Array, Callee, Context, Index, Parameter, Scalar, Scope
from programs.statements import Lines, Maker, assign, block, indented
from programs.strands import settle, share_out
from programs.subscripts import element, subscript

_HOLE = "\0"
_WHOLE = ":"


@dataclass(frozen=True)
class Bound:
    """A call ready to be written: its text with a hole where the cut along the first size goes, and the arrays."""

    text: str
    extent: Extent | None
    written: frozenset[str]
    read: frozenset[str]

    def with_cut(self, cut: str) -> str:
        return self.text.replace(_HOLE, cut)


def bind(ctx: Context, scope: Scope, callee: Callee, *, literals: bool = False) -> Bound | None:
    """Arguments for a call: views whose extents agree wherever the callee has one size. `literals`: numbers only."""
    sizes: dict[str, Extent] = {}
    used: dict[str, bool] = {}
    arguments: list[str] = []
    floor = 0
    for parameter in sorted(callee.parameters, key=lambda each: each.mode != "in"):
        if parameter.kind == "array":
            found = _view(ctx, scope, callee, parameter, sizes, used, floor)
            if found is None:
                return None
            text, array = found
            used[array.root] = used.get(array.root, False) or parameter.mode != "in"
            if parameter.mode == "in":
                floor = max(floor, array.rank)
            arguments.append(text)
        else:
            arguments.append(_literal(parameter) if literals else _scalar(ctx, scope, parameter))
    ordered = sorted(range(len(arguments)), key=lambda k: callee.parameters[k].mode != "in")
    texts = [text for _, text in sorted(zip(ordered, arguments, strict=True))]
    first = next((sizes[name] for name in ("a",) if name in sizes), None)
    written = frozenset(root for root, writes in used.items() if writes)
    return Bound(f"{callee.name}({', '.join(texts)})", first, written, frozenset(used) - written)


def _literal(parameter: Parameter) -> str:
    return "0.75" if parameter.kind == "real" else "2"


def _scalar(ctx: Context, scope: Scope, parameter: Parameter) -> str:
    match parameter.kind:
        case "real":
            return factor(ctx, scope, 0)
        case "int":
            return int_value(ctx, scope)
        case "size":
            return ctx.choose.pick(("2", "3", *(name for name in scope.size_names if name in scope.positive)))
    free = [index.name for index in scope.indices if index.name not in scope.sealed and not index.parallel]
    chosen = ctx.choose.pick(("1", *free))
    if chosen in free:
        ctx.depend(chosen, "case")
    return chosen


def _view(
    ctx: Context,
    scope: Scope,
    callee: Callee,
    parameter: Parameter,
    sizes: dict[str, Extent],
    used: dict[str, bool],
    floor: int,
) -> tuple[str, Array] | None:
    wanted = [extent.plain for extent in parameter.shape]
    fitting: list[tuple[Array, tuple[int, ...]]] = []
    for array in scope.arrays:
        if array.element != parameter.element or not _may_pass(array, callee, parameter, used, floor):
            continue
        for dimensions in _choices(array.free_dimensions, len(wanted)):
            bound = dict(sizes)
            pairs = [(str(name), array.shape[d]) for name, d in zip(wanted, dimensions, strict=True)]
            agrees = all(bound.setdefault(name, extent) == extent for name, extent in pairs)
            if agrees and all((name == "a" and callee.empty_ok) or scope.nonempty(extent) for name, extent in pairs):
                fitting.append((array, dimensions))
    if not fitting:
        return None
    array, dimensions = ctx.choose.pick(fitting)
    text = _written(ctx, scope, array, dimensions, [str(name) for name in wanted])
    if text is None:
        return None
    for name, dimension in zip(wanted, dimensions, strict=True):
        sizes[str(name)] = array.shape[dimension]
    return text, array


def _may_pass(array: Array, callee: Callee, parameter: Parameter, used: dict[str, bool], floor: int) -> bool:
    if array.layout != "rowmajor" and len(parameter.shape) > 1:
        return False
    if parameter.mode == "in":
        return array.readable and not used.get(array.root, False) and (array.rank == 0 or not callee.tame)
    return array.access == "rw" and array.root not in used and array.rank > floor


def _choices(dimensions: list[int], count: int) -> list[tuple[int, ...]]:
    if count == 1:
        return [(dimension,) for dimension in dimensions]
    return [(a, b) for a in dimensions for b in dimensions if a < b]


def _written(ctx: Context, scope: Scope, array: Array, dimensions: tuple[int, ...], names: list[str]) -> str | None:
    mine = dict(array.fixed)
    entries: list[str] = []
    for dimension, extent in enumerate(array.shape):
        if dimension in dimensions:
            entries.append(_HOLE if names[dimensions.index(dimension)] == "a" else _WHOLE)
        elif dimension in mine:
            entries.append(ctx.choose.pick(mine[dimension]))
        else:
            entry = subscript(ctx, scope, extent, data=False)
            if entry is None:
                return None
            entries.append(entry)
    return f"{array.name}[{', '.join(entries)}]"


def _plain(text: str) -> str:
    """Drop the slices that take everything: `x[:]` is `x`."""
    for whole in ("[:]", "[:, :]"):
        text = text.replace(whole, "")
    return text


def take(ctx: Context, scope: Scope, callee: Callee, times: int = 1) -> bool:
    """Account for a call: budget, features, and what keeps the callee's cost from being exact or closed."""
    if not ctx.spend(scope, (callee.cost + 1) * times):
        return False
    ctx.features |= callee.features | {"call"}
    ctx.inexact |= callee.inexact
    ctx.irregular |= callee.irregular
    return True


def call(ctx: Context, scope: Scope) -> Lines:
    """A call as a statement, or of an algorithm with a result, at times on a part that depends on an index."""
    if not ctx.callees:
        return []
    callee = ctx.choose.pick(ctx.callees)
    bound = bind(ctx, scope, callee)
    if bound is None or not take(ctx, scope, callee):
        return []
    text = _plain(bound.with_cut(_cut(ctx, scope, callee, bound)))
    if callee.result is None:
        return [text]
    ctx.features.add("result")
    rank = scope.top_rank() + 1
    targets = [each for each in scope.arrays if each.element == callee.result and each.access == "rw"]
    roots = bound.written | bound.read
    ranks = [each.rank for each in scope.arrays if each.root in roots]
    targets = [each for each in targets if each.root not in roots and each.rank > max(ranks, default=0)]
    if targets and ctx.choose.chance(40):
        place = element(ctx, scope, ctx.choose.pick(targets))
        if place is not None:
            return [f"{place} = {text}"]
    name = scope.fresh(("res",))
    scope.scalars.append(Scalar(name, callee.result, rank, writable=True))
    return [f"local {name}: {callee.result} = {text}"]


def _cut(ctx: Context, scope: Scope, callee: Callee, bound: Bound) -> str:
    """The part of the first size's dimension that is passed: all of it, half, or a triangular part."""
    if bound.extent is None or not ctx.choose.chance(45):
        return _WHOLE
    e, a = bound.extent.text, bound.extent.atom
    options = [(1, f"0..{e}")]
    if callee.empty_ok:
        options += [(2, f"0..{a}//2"), (2, f"{a}//2..{e}")]
    fitting = [index for index in scope.indices if index.domain == bound.extent and index.name not in scope.sealed]
    if callee.parallel or callee.irregular:
        fitting = [index for index in fitting if index.parallel and not callee.irregular]
    chosen = None
    if fitting and ctx.wants("triangular"):
        chosen = ctx.choose.pick(fitting)
        options += [(3, f"0..{chosen.name}+1"), (3, f"{chosen.name}..{e}")]
        if callee.empty_ok:
            options.append((3, f"0..{chosen.name}"))
    cut = ctx.choose.weighted(options)
    if chosen is not None and chosen.name in cut:
        ctx.features.update({"triangular", "triangular_call"})
        ctx.depend(chosen.name, "down" if cut.startswith(chosen.name) else "up")
    elif "//" in cut:
        ctx.features.add("floor")
    return cut


def spawn(ctx: Context, scope: Scope) -> Lines:
    """Spawned calls and a `sync`: on two halves, on different arrays, or one for each iteration of a loop."""
    callees = [callee for callee in ctx.callees if callee.result is None]
    kinds = [_spawn_two, _spawn_halves, _spawn_loop]
    first = ctx.choose.integer(0, 2)
    for kind in kinds[first:] + kinds[:first] if callees else []:
        lines = kind(ctx, scope, ctx.choose.pick(callees))
        if lines:
            ctx.features.add("spawn")
            return lines
    return []


def _spawn_two(ctx: Context, scope: Scope, callee: Callee) -> Lines:
    first = bind(ctx, scope, callee)
    if first is None or not take(ctx, scope, callee):
        return []
    lines = [f"spawn {_plain(first.with_cut(_WHOLE))}"]
    rest = scope.child()
    rest.without(first.written, "none")
    rest.without((root for root in first.read if _writable(scope, root)), "ro")
    other = ctx.choose.pick([each for each in ctx.callees if each.result is None])
    second = bind(ctx, rest, other)
    if second is not None and take(ctx, rest, other):
        lines.append(f"{ctx.choose.pick(('spawn ', ''))}{_plain(second.with_cut(_WHOLE))}")
        rest.without(second.written, "none")
        rest.without((root for root in second.read if _writable(scope, root)), "ro")
    if ctx.choose.chance(40):
        lines += assign(ctx, rest)
    return [*lines, "sync"]


def _writable(scope: Scope, root: str) -> bool:
    return any(array.root == root and array.access == "rw" for array in scope.arrays)


def _spawn_halves(ctx: Context, scope: Scope, callee: Callee) -> Lines:
    # The second call's numbers are computed while the first runs: they must not read what it writes.
    bound = bind(ctx, scope, callee, literals=True)
    if bound is None or bound.extent is None or not callee.empty_ok or not _all_cut(callee):
        return []
    if not take(ctx, scope, callee, 2):
        return []
    ctx.features.update({"spawn_halves", "floor"})
    e, half = bound.extent.text, f"{bound.extent.atom}//2"
    halves = [f"spawn {_plain(bound.with_cut(f'0..{half}'))}", f"spawn {_plain(bound.with_cut(f'{half}..{e}'))}"]
    return [*halves, "sync"]


def _all_cut(callee: Callee) -> bool:
    """Whether everything the callee writes has the first size for an extent, so that halves are disjoint."""
    return all(Extent.size("a") in each.shape for each in callee.parameters if each.mode != "in")


def _spawn_loop(ctx: Context, scope: Scope, callee: Callee) -> Lines:
    extents = [extent for extent in scope.extents if extent.plain and scope.nonempty(extent)]
    if not extents or scope.depth >= ctx.max_depth:
        return []
    extent = ctx.choose.pick(extents)
    name = scope.fresh(INDEX_NAMES)
    inner = scope.child()
    scope.names.discard(name)
    inner.indices.append(Index(name, extent, full=True, parallel=True))
    inner.weight = min(scope.weight * typical(extent), MAX_WEIGHT)
    inner.depth += 1
    if not share_out(ctx, inner, name, extent):
        return []
    bound = bind(ctx, inner, callee)
    if bound is None or not take(ctx, inner, callee):
        return []
    ctx.features.add("spawn_loop")
    text = _plain(bound.with_cut(_cut(ctx, inner, callee, bound)))
    settle(ctx, name)
    return [f"for {name} in 0..{extent.text}:", f"    spawn {text}", "sync"]


def while_loop(makers: list[tuple[int, Maker]]) -> Maker:
    """A `while` that counts up, halves a number, or stops early on data."""

    def make(ctx: Context, scope: Scope) -> Lines:
        if scope.depth >= ctx.max_depth or not ctx.spend(scope, 8):
            return []
        ctx.features.update({"while", "int_data"})
        ctx.inexact.add("while")
        extent = ctx.choose.pick([each for each in scope.extents if typical(each) <= 10] or [Extent.constant(3)])
        name = scope.fresh(("t", "c"))
        inner = scope.child()
        inner.scalars.append(Scalar(name, "int", 1, writable=False))
        inner.weight = min(scope.weight * 4, MAX_WEIGHT)
        inner.depth += 1
        inner.guarded = True
        body = indented(block(ctx, inner, makers))
        scope.names.discard(name)
        scope.scalars.append(Scalar(name, "int", 1, writable=True))
        scope.names.add(name)
        e = extent.text
        if ctx.choose.chance(35):
            head = f"while {name} > 0 at most log2({e} + 1) + 1 times:"
            return [f"local {name}: int = {e}", head, *body, f"    {name} = {name}//2"]
        arrays = [
            each for each in scope.arrays if each.shape == (extent,) and each.element == "real" and not each.fixed
        ]
        arrays = [each for each in arrays if each.readable]
        early = f" and {ctx.choose.pick(arrays).name}[{name}] < 0.9" if arrays and ctx.choose.chance(60) else ""
        head = f"while {name} < {e}{early} at most {e} times:"
        return [f"local {name}: int = 0", head, *body, f"    {name} += 1"]

    return make


def declared_costs(ctx: Context, scope: Scope) -> Lines:
    """A `costs` statement."""
    if not ctx.spend(scope):
        return []
    ctx.features.update({"costs", "declared"})
    return [f"costs {ctx.choose.pick(('1', '3'))} flops"]
