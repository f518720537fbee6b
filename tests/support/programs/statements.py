"""Statements: assignments, guards, loops, local data. Each function returns lines, or none where nothing fits."""

from __future__ import annotations

from collections.abc import Callable

from programs.bounds import Bounds, choose_bounds, commit
from programs.expressions import LITERALS, data_condition, factor, int_value, real_value, static_condition
from programs.extents import Extent
from programs.scope import INDEX_NAMES, MAX_WEIGHT, Array, Context, Index, Scalar, Scope
from programs.subscripts import element

Lines = list[str]
Maker = Callable[[Context, Scope], Lines]


def indented(lines: Lines) -> Lines:
    return [f"    {line}" for line in lines]


def block(ctx: Context, scope: Scope, makers: list[tuple[int, Maker]], least: int = 1) -> Lines:
    """A block's statements; `scope` is the block's own."""
    lines: Lines = []
    for _ in range(ctx.choose.weighted([(5, least), (4, least + 1), (1, least + 2)])):
        if ctx.budget < scope.weight:
            break
        made = ctx.choose.weighted(makers)(ctx, scope)
        lines += made or assign(ctx, scope) or local_scalar(ctx, scope)
    return lines or ["pass"]


def assign(ctx: Context, scope: Scope) -> Lines:
    """An assignment to a real element, or to a register."""
    targets: list[tuple[int, Array | Scalar]] = []
    for array in scope.arrays:
        if array.element == "real" and array.access in ("rw", "atomic"):
            targets.append((3, array))
    targets += [(1, each) for each in scope.scalars if each.kind == "real" and each.writable]
    if not targets or not ctx.spend(scope):
        return []
    target = ctx.choose.weighted(targets)
    place = element(ctx, scope, target) if isinstance(target, Array) else target.name
    if place is None:
        return []
    if isinstance(target, Array) and target.access == "atomic":
        ctx.features.add("atomic")
        return [f"atomic {place} {ctx.choose.pick(('+=', '-=', 'min=', 'max='))} {real_value(ctx, scope, target.rank)}"]
    return [_update(ctx, scope, place, target.rank)]


def _update(ctx: Context, scope: Scope, place: str, rank: int) -> str:
    op = ctx.choose.weighted(
        [(8, "+="), (5, "="), (2, "contract"), (2, "-="), (1, "*="), (1, "/="), (1, "min="), (1, "max=")]
    )
    match op:
        case "contract":
            return f"{place} = 0.5*{place} + {real_value(ctx, scope, rank)}"
        case "*=":
            return f"{place} *= cos({factor(ctx, scope, rank)})"
        case "/=":
            return f"{place} /= {ctx.choose.pick(('1.5', '2.0', '1.25'))}"
    return f"{place} {op} {real_value(ctx, scope, rank)}"


def assign_int(ctx: Context, scope: Scope) -> Lines:
    """An assignment to int data."""
    arrays = [each for each in scope.arrays if each.element == "int" and each.access in ("rw", "atomic")]
    registers = [each for each in scope.scalars if each.kind == "int" and each.writable]
    targets: list[Array | Scalar] = [*arrays, *registers]
    if not targets or not ctx.spend(scope):
        return []
    target = ctx.choose.pick(targets)
    place = element(ctx, scope, target, data=False) if isinstance(target, Array) else target.name
    if place is None:
        return []
    ctx.features.add("int_data")
    value = int_value(ctx, scope)
    if isinstance(target, Array) and target.access == "atomic":
        ctx.features.add("atomic")
        return [f"atomic {place} += {value}"]
    match ctx.choose.weighted([(4, "+="), (2, "mix"), (1, "max="), (1, "=")]):
        case "mix":
            return [f"{place} = ({place}*3 + {value}) % 97"]
        case "max=":
            return [f"{place} max= {value}"]
        case "=":
            return [f"{place} = {value}"]
    return [f"{place} += {value}"]


def local_scalar(ctx: Context, scope: Scope) -> Lines:
    """A register, real or int."""
    if not ctx.spend(scope):
        return []
    rank = scope.top_rank() + 1
    if ctx.wants("int_data") and ctx.choose.chance(50):
        value = ctx.choose.pick(["0", int_value(ctx, scope)])
        ctx.features.add("int_data")
        name = scope.fresh(("cnt", "acc"))
        scope.scalars.append(Scalar(name, "int", rank, writable=True))
        return [f"local {name}: int = {value}"]
    value = ctx.choose.pick(["0", real_value(ctx, scope, rank)])
    name = scope.fresh(("s", "t"))
    scope.scalars.append(Scalar(name, "real", rank, writable=True))
    return [f"local {name}: real = {value}"]


def local_array(ctx: Context, scope: Scope) -> Lines:
    """A local array, set to zero, copied from another, or filled by a loop of its own."""
    extents = [extent for extent in scope.extents if len(extent.terms) == 1 and len(extent.terms[0][0]) <= 1]
    if not extents or not ctx.spend(scope, 8):
        return []
    ctx.features.add("local_array")
    name = scope.fresh(("W", "V"))
    extent = ctx.choose.pick(extents)
    shape = (extent, ctx.choose.pick(extents)) if ctx.choose.chance(25) and ctx.spend(scope, 20) else (extent,)
    text = ", ".join(each.text for each in shape)
    rank = scope.top_rank() + 1
    sources = [each for each in scope.arrays if each.readable and each.shape == shape and not each.fixed]
    sources = [each for each in sources if each.element == "real" and each.layout == "rowmajor"]
    array = Array(name, "real", shape, "rw", name, rank)
    if sources and ctx.choose.chance(40):
        source = ctx.choose.pick(sources)
        ctx.features.add("copy")
        lines = [f"local {name}: real[{text}] = {source.name}"]
    elif len(shape) == 1 and ctx.choose.chance(25):
        # Not set where it is made: the loop below writes every element before any is read.
        i = scope.fresh(INDEX_NAMES)
        inner = scope.child()
        inner.indices.append(Index(i, extent, full=True))
        lines = [f"local {name}: real[{text}]", f"for {i} in 0..{extent.text}:"]
        lines.append(f"    {name}[{i}] = {real_value(ctx, inner, rank)}")
        scope.names.discard(i)
    else:
        ctx.features.add("fill")
        lines = [f"local {name}: real[{text}] = {ctx.choose.pick(('0', '0.5'))}"]
    scope.arrays.append(array)
    return lines


def fill_or_copy(ctx: Context, scope: Scope) -> Lines:
    """A whole array or a part of it filled with a number or copied from another."""
    targets = [each for each in scope.arrays if each.element == "real" and each.access == "rw" and each.free_dimensions]
    if not targets or not ctx.spend(scope, 12):
        return []
    target = ctx.choose.pick(targets)
    part = _part(ctx, scope, target)
    if part is None:
        return []
    text, extent, cut = part
    sources = [each for each in scope.arrays if each.root != target.root and each.readable and each.element == "real"]
    sources = [each for each in sources if extent in each.shape and not each.fixed and each.rank <= target.rank]
    if sources and ctx.choose.chance(60):
        source = ctx.choose.pick(sources)
        other = _part(ctx, scope, source, extent, cut)
        if other is not None:
            ctx.features.add("copy")
            return [f"{text} = {other[0]}"]
    ctx.features.add("fill")
    registers = [each.name for each in scope.scalars if each.kind == "real" and each.rank < target.rank]
    return [f"{text} = {ctx.choose.pick(['0', '0.25', *registers])}"]


_CUTS = (":", "0..{e}", "0..{a}//2", "{a}//2..{e}", "0..{e} step 2", "1..{e} step 2", "1..{e}")


def _part(
    ctx: Context, scope: Scope, array: Array, extent: Extent | None = None, cut: str | None = None
) -> tuple[str, Extent, str] | None:
    """A one-dimensional view of the array along a dimension of the given extent, cut in the given way."""
    dimensions = [d for d in array.free_dimensions if extent is None or array.shape[d] == extent]
    if not dimensions:
        return None
    along = ctx.choose.pick(dimensions)
    extent = array.shape[along]
    cut = cut or ctx.choose.pick(_CUTS if scope.nonempty(extent) else _CUTS[:4])
    if "step" in cut:
        ctx.features.add("strided_view")
    mine = dict(array.fixed)
    entries: list[str] = []
    for dimension, size in enumerate(array.shape):
        if dimension == along:
            entries.append(cut.format(e=extent.text, a=extent.atom))
        elif dimension in mine:
            entries.append(ctx.choose.pick(mine[dimension]))
        else:
            entry = _static_subscript(ctx, scope, size)
            if entry is None:
                return None
            entries.append(entry)
    if len(entries) == 1 and cut == ":":
        return array.name, extent, cut
    return f"{array.name}[{', '.join(entries)}]", extent, cut


def _static_subscript(ctx: Context, scope: Scope, extent: Extent) -> str | None:
    fitting = [
        index.name for index in scope.indices if index.domain is not None and extent.minus(index.domain) is not None
    ]
    if fitting:
        return ctx.choose.pick(fitting[::-1])
    return "0" if scope.nonempty(extent) else None


def let(ctx: Context, scope: Scope) -> Lines:
    """A `let` of a view of a row or column, which statements below may use."""
    arrays = [each for each in scope.arrays if len(each.shape) == 2 and each.free_dimensions and each.readable]
    arrays = [each for each in arrays if each.element == "real"]
    if not arrays:
        return []
    array = ctx.choose.pick(arrays)
    part = _part(ctx, scope, array, cut=":")
    if part is None:
        return []
    ctx.features.add("let_view")
    name = scope.fresh(("row", "vec"))
    scope.arrays.append(Array(name, "real", (part[1],), array.access, array.root, array.rank))
    return [f"let {name} = {part[0]}"]


def let_size(ctx: Context, scope: Scope) -> Lines:
    """A `let` of a size, for the loop below it."""
    plain = [extent for extent in scope.extents if extent.plain and extent.plain not in scope.powers]
    if not plain or not ctx.spend(scope, 4) or scope.depth > 2:
        return []
    extent = ctx.choose.pick(plain)
    name = scope.fresh(("h", "g"))
    index = scope.fresh(INDEX_NAMES)
    inner = scope.child()
    inner.indices.append(Index(index, extent))
    inner.weight *= 3
    form = ctx.choose.pick(("{e}//2", "({e} + 1)//2", "{e} - {e}//2"))
    ctx.features.update({"let_size", "floor"})
    body = assign(ctx, inner) or ["pass"]
    scope.names.discard(index)
    return [f"let {name} = {form.format(e=extent.text)}", f"for {index} in 0..{name}:", *indented(body)]


def guard(makers: list[tuple[int, Maker]]) -> Maker:
    """An `if` on indices and sizes, perhaps with `elif` and `else`."""

    def make(ctx: Context, scope: Scope) -> Lines:
        if not scope.size_names or not ctx.spend(scope):
            return []
        ctx.features.add("guard")
        return _arms(ctx, scope, makers, static_condition(ctx, scope), static_condition)

    return make


def data_branch(makers: list[tuple[int, Maker]]) -> Maker:
    """An `if` on data."""

    def make(ctx: Context, scope: Scope) -> Lines:
        if not scope.size_names or not ctx.spend(scope):
            return []
        first = data_condition(ctx, scope)
        if first is None:
            return []
        ctx.features.add("data_branch")
        ctx.inexact.add("branch on data")
        return _arms(ctx, scope, makers, first, lambda c, at: data_condition(c, at) or static_condition(c, at))

    return make


def _arms(
    ctx: Context, scope: Scope, makers: list[tuple[int, Maker]], first: str, condition: Callable[[Context, Scope], str]
) -> Lines:
    lines = [f"if {first}:", *_arm(ctx, scope, makers)]
    if ctx.choose.chance(25):
        ctx.features.add("elif")
        lines += [f"elif {condition(ctx, scope)}:", *_arm(ctx, scope, makers)]
    if ctx.choose.chance(40):
        lines += ["else:", *_arm(ctx, scope, makers)]
    return lines


def _arm(ctx: Context, scope: Scope, makers: list[tuple[int, Maker]]) -> Lines:
    inner = scope.child()
    inner.guarded = True
    return indented(block(ctx, inner, makers))


def neighbour(ctx: Context, scope: Scope) -> Lines:
    """A guard that keeps a shifted subscript in range."""
    targets = [each for each in scope.arrays if each.element == "real" and each.access == "rw"]
    indices = [
        each
        for each in scope.indices
        if each.domain is not None and each.name not in scope.sealed and not each.parallel
    ]
    if not targets or not indices or not ctx.wants("guard") or not ctx.spend(scope):
        return []
    index = ctx.choose.pick(indices[::-1])
    sources = [each for each in scope.arrays if each.access == "ro" and each.rank == 0 and each.element == "real"]
    sources = [each for each in sources if not each.fixed and each.shape == (index.domain,)]
    target = ctx.choose.pick(targets)
    place = element(ctx, scope, target)
    if not sources or place is None:
        return []
    ctx.features.update({"guard", "neighbour"})
    ctx.depend(index.name, "case")
    source, i = ctx.choose.pick(sources), index.name
    assert index.domain is not None
    if ctx.choose.chance(50):
        return [f"if {i} > 0:", f"    {place} += {source.name}[{i} - 1]*{ctx.choose.pick(LITERALS)}"]
    inner = f"{source.name}[{i} - 1] + {source.name}[{i} + 1]"
    return [f"if {i} > 0 and {i} < {index.domain.text} - 1:", f"    {place} += 0.25*({inner})"]


def loop(makers: list[tuple[int, Maker]]) -> Maker:
    """A serial loop."""

    def make(ctx: Context, scope: Scope) -> Lines:
        if scope.depth >= ctx.max_depth:
            return []
        bounds = choose_bounds(ctx, scope, parallel=False)
        if bounds is None or not ctx.spend(scope, bounds.trips):
            return []
        commit(ctx, scope, bounds, parallel=False)
        name, inner = enter(scope, bounds)
        body = block(ctx, inner, makers)
        scope.names.discard(name)
        forget(ctx, name)
        return [f"for {name} in {bounds.text}:", *indented(body)]

    return make


def enter(scope: Scope, bounds: Bounds, *, parallel: bool = False) -> tuple[str, Scope]:
    """The scope of a loop's body, and its variable."""
    name = scope.fresh(INDEX_NAMES)
    inner = scope.child()
    inner.indices.append(Index(name, bounds.domain, bounds.full, not bounds.moves, parallel))
    inner.weight = min(scope.weight * max(1, bounds.trips), MAX_WEIGHT)
    inner.depth += 1
    return name, inner


def forget(ctx: Context, name: str) -> tuple[set[str], set[str]]:
    """At the end of a loop: how its body moved with its variable, and the offsets it took segments of."""
    return ctx.moves.pop(name, set()), ctx.segments.pop(name, set())
