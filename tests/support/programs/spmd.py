"""Programs for a grid of processors that run without deadlock, each with sizes to run it at.

Control flow around a step depends on coordinates of axes that the step does not move along, so that partners meet;
where both sides of an exchange have a condition or a number of words, the receiver's is the sender's, with the
sender's coordinate in it. Loops whose bounds differ along an axis exchange with the neighbours that have the iteration.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import prod

from programs.choice import Chooser, Seeded
from programs.spmd_model import (
    COMBINING,
    GRIDS,
    MAX_PROCESSORS,
    METHODS,
    ROOTED,
    Callee,
    Context,
    Grid,
    Lines,
    Point,
    Spmd,
)


def program_from_seed(seed: int) -> Spmd:
    """The program of a seed."""
    return generate(Seeded(seed))


def generate(choose: Chooser) -> Spmd:
    """A program, by the choices made."""
    grid = choose.pick(GRIDS)
    features: set[str] = {f"{len(grid.axes)} axes"} | ({"within"} if grid.within else set())
    lines: Lines = [KERNELS]
    callees = []
    for axes in (1, 2):
        if choose.chance(30) and len(grid.axes) >= axes:
            callee, text = _callee(choose, f"own{axes}", axes, features)
            callees.append(callee)
            lines += [*text, ""]
    extent = grid.axes[0][1]
    rooted = choose.chance(30)
    moved = choose.chance(30)
    parameters = [f"X: real[{prod_text(grid)}*n]", "n: size", *(f"{size}: size" for size in grid.sizes)]
    parameters += ["e: index"] * rooted + ["d: index"] * moved
    facts = [*grid.facts, *([f"e >= 0, e < {extent}"] if rooted else [])]
    ctx = Context(choose, grid.axes, "n", features, grid.square, callees=tuple(callees))
    ctx.roots, ctx.amounts = ("e",) * rooted, ("d",) * moved
    lines.append(f"algorithm main({', '.join(parameters)}) on grid({grid.text}):")
    body = [f"where {', '.join(facts)}"] if facts else []
    body += [*_start(choose, grid), *LOCALS]
    lines += indented(body + _block(ctx, choose.integer(2, 4)) + ["x[0] += s"])
    points = [_point(choose, grid, rooted, moved, first) for first in (True, False, False, False)]
    return Spmd("\n".join(lines) + "\n", tuple(points), frozenset(features))


KERNELS = """
algorithm kernel(v: inout real[m], w: real[m]):
    for p in 0..m:
        for q in 0..p:
            v[p] += w[q]*0.5

algorithm padded(v: inout real[m], f: real):
    where m >= 0
    local h: real[m + 1] = f
    for p in 0..m:
        v[p] = h[p]*f + h[p + 1]
""".lstrip("\n")
LOCALS = (
    "local y: real[n] = 1",
    "local z: real[n, 3] = 2",
    "local g: int[n] = 1",
    "local s: real = 0.5",
    "local o: int = 2",
)


def prod_text(grid: Grid) -> str:
    """The number of processors."""
    return "P" if grid.uses_processors else "*".join(extent for _, extent in grid.axes)


def rank_text(grid: Grid) -> str:
    """A processor's number."""
    rank = ""
    for name, extent in grid.axes:
        rank = f"({rank}*({extent}) + {name})" if rank else name
    return rank


def _start(choose: Chooser, grid: Grid) -> Lines:
    """What brings x in: a copy, one on some processors, or loops of transfers."""
    axis, extent = choose.pick(grid.axes)
    own = f"X[{rank_text(grid)}*n ..+ n]"
    zero = "local x: real[n] = 0"
    return choose.weighted(
        [
            (5, [f"local x: real[n] = {own}"]),
            (1, [f"local x: real[n] = {own} when {axis} == {extent} - 1", f"if {axis} < {extent} - 1:", "    x = 0"]),
            (1, [zero, "for v in 0..n:", f"    input x[v] = X[{rank_text(grid)}*n + v]"]),
            (1, [zero, f"input x[0..n//2] = X[{rank_text(grid)}*n ..+ n//2] when {axis} > 0"]),
        ]
    )


def indented(lines: Lines) -> Lines:
    return [f"    {line}" for line in lines]


def _point(choose: Chooser, grid: Grid, rooted: bool, moved: bool, first: bool) -> Point:
    """Sizes: the first of them on one processor."""
    while True:
        point = {size: 1 if first else choose.integer(1, 5) for size in grid.sizes}
        if grid.uses_processors:
            divisor = prod(point.values())
            point["P"] = 1 if first else divisor * choose.integer(1, 11)
        processors = point.get("P") or prod(point[extent] for _, extent in grid.axes)
        if processors <= MAX_PROCESSORS:
            break
    point["n"] = choose.pick((1, 2, 3, 4, 5, 7, 12))
    extent = {"P": point.get("P", 0), "P/c": point.get("P", 0) // point.get("c", 1)}.get(grid.axes[0][1])
    if rooted:
        point["e"] = choose.integer(0, (extent or point["a"]) - 1)
    if moved:
        point["d"] = choose.integer(-4, 6)
    return point


def _callee(choose: Chooser, name: str, axes: int, features: set[str]) -> tuple[Callee, Lines]:
    shifted = choose.chance(50)
    names = (("r", "P"),) if axes == 1 else (("r", "a"), ("q", "b"))
    given = ["x: inout local real[n]", "f: real"] + ["a: size", "b: size"] * (axes == 2) + ["d: index"] * shifted
    grid = ", ".join(f"{axis}: {extent}" for axis, extent in names)
    ctx = Context(choose, names, "n", features, amounts=("d",) * shifted)
    header = f"algorithm {name}({', '.join(given)}) on grid({grid}):"
    return Callee(name, axes, shifted), [header, *indented([*LOCALS, "y[0] = f", *_block(ctx, choose.integer(1, 3))])]


Maker = Callable[[Context], Lines]


def _block(ctx: Context, count: int) -> Lines:
    lines: Lines = []
    for _ in range(count):
        lines += _statement(ctx)
    return lines or ["pass"]


def _statement(ctx: Context) -> Lines:
    makers: list[tuple[int, Maker]] = [(5, _compute)]
    if ctx.free():
        makers += [(5, _collective), (4, _shift), (8, _exchange), (2, _barrier), (2, _neighbours)]
        makers += [(4, _call)] * bool(ctx.callees)
        if ctx.square and len(ctx.free()) == 2:
            makers.append((3, _transposed))
    if ctx.depth < 3:
        makers += [(6, _loop), (5, _if)]
    return ctx.choose.weighted(makers)(ctx)


def _inside(ctx: Context, count: int, taken: str = "", variable: str = "") -> Lines:
    """The lines of a block inside."""
    inner = replace(
        ctx,
        taken=ctx.taken | ({taken} if taken else set()),
        variables=(*ctx.variables, variable) if variable else ctx.variables,
        depth=ctx.depth + 1,
    )
    return indented(_block(inner, count))


# Between steps
def _compute(ctx: Context) -> Lines:
    axis, _ = ctx.choose.pick(ctx.axes)
    u, n = ctx.fresh("u"), ctx.size
    options: list[Lines] = [
        [f"for {u} in 0..{n}:", f"    x[{u}] += y[{u}]*0.5"],
        [f"for {u} in 0..{axis}:", "    s += 1.0"],
        [f"for {u} in {axis}..{ctx.extent()}:", "    s += y[0]", "    o += 1"],
        [f"for {u} in {axis} downto 0 step 2:", "    s = max(s, 1.0)"],
        [f"if {axis} >= 2:", "    kernel(x, y)"],
        [f"if {axis}%2 == 0:", "    padded(y, s)", "else:", "    s += 2.0"],
        [f"padded(x[0..{n}//2], s*0.5)"],
        ["z[:, 1] = x"],
        [f"y[0..{n}//2] = x[0..{n}//2]"],
        ["if s > 1.0:", "    o += 2", "    s -= 1.0"],
        [f"let {u} = ({axis} + 1)%{_extent_of(ctx, axis)}", f"if {u} == 0:", "    kernel(y, x)"],
        [f"for {u} in 0..{n}:", f"    if {u} < {axis}:", f"        g[{u}] += o"],
        [f"local {u}: real[{n}, {ctx.extent()} + 1] = 0", "s += 1.0"],
        [f"parallel for {u} in 0..{n}:", f"    y[{u}] = x[{u}]/2.0"],
    ]
    return ctx.choose.pick(options)


def _extent_of(ctx: Context, axis: str) -> str:
    return f"({dict(ctx.axes)[axis]})"


def _loop(ctx: Context) -> Lines:
    ctx.features.add("loop")
    k = ctx.fresh("k")
    axis, extent = ctx.choose.pick(ctx.axes)
    differs = ctx.choose.chance(35)
    if differs:
        ctx.features.add("loop by coordinate")
        header = ctx.choose.pick(
            (f"0..{axis}", f"{axis}..{extent}", f"{axis}..{axis}+3", f"{axis} downto 0", f"0..2*{axis}+1 step 2",
             f"{axis}..{axis}+5 step 2", f"{axis}+2 downto {axis}")
        )  # fmt: skip
    else:
        header = ctx.choose.pick(
            ("0..2", "0..3", f"0..{ctx.size}", f"1..{extent}", f"0..{ctx.size} step 2", "2 downto 0",
             f"0..ceil(log2({extent}))", f"{ctx.size}//2..{ctx.size}", f"0..{extent}-2", *(f"0..{v}" for v in ctx.variables))
        )  # fmt: skip
    return [f"for {k} in {header}:", *_inside(ctx, ctx.choose.integer(1, 2), axis if differs else "", k)]


def _if(ctx: Context) -> Lines:
    kind = ctx.choose.weighted([(5, "coordinate"), (3, "size"), (2, "data"), (2, "variable")])
    axis, extent = ctx.choose.pick(ctx.axes)
    taken = ""
    match kind:
        case "coordinate":
            taken = axis
            condition = ctx.choose.pick(
                (f"{axis} == 0", f"{axis} >= 2", f"{axis}%2 == 1", f"{axis} == {extent} - 1", f"{axis} < {ctx.size}",
                 f"{axis} > 0 and {axis} < 3", f"{axis} >= {ctx.size}")
            )  # fmt: skip
        case "variable" if ctx.variables:
            variable = ctx.choose.pick(ctx.variables)
            condition = ctx.choose.pick((f"{variable} > 0", f"{variable}%2 == 0", f"{variable} < {extent} - 1"))
        case "data":
            # No processor ever changes it: all take the same branch.
            name = ctx.fresh("f")
            before = [f"local {name}: int = {ctx.choose.integer(0, 1)}"]
            ctx.features.add("if data")
            return [*before, f"if {name} == 0:", *_inside(ctx, 1), "else:", *_inside(ctx, 1)]
        case _:
            condition = ctx.choose.pick(
                (f"{ctx.size} > 2", f"{extent} >= 3", f"{ctx.size} < {extent}", f"{extent} == 1")
            )
    ctx.features.add(f"if {kind}")
    lines = [f"if {condition}:", *_inside(ctx, ctx.choose.integer(1, 2), taken)]
    return lines + (["else:", *_inside(ctx, 1, taken)] if ctx.choose.chance(40) else [])


# Steps
def _shift(ctx: Context) -> Lines:
    ctx.features.add("shift")
    axis, _ = ctx.choose.pick(ctx.free())
    return [f"shift {_buffer(ctx)} along {axis} by {ctx.uniform(axis)}"]


def _buffer(ctx: Context) -> str:
    """A buffer of as many words on all processors."""
    n = ctx.size
    options = [
        "x",
        "y",
        "z",
        "g",
        "s",
        f"x[0..{n}//2]",
        "z[:, 1]",
        f"z[0..{n}//2, 0..2]",
        f"x[0..{n} step 2]",
        "y[0..0]",
    ]
    options += [f"x[0..min({n}, {variable})]" for variable in ctx.variables]
    return ctx.choose.pick(options)


def _barrier(ctx: Context) -> Lines:
    axis, _ = ctx.choose.pick(ctx.free())
    ctx.features.add("barrier")
    return [f"barrier along {axis}"]


def _collective(ctx: Context) -> Lines:
    operation = ctx.choose.pick(sorted(METHODS))
    ctx.features.add(operation)
    free = ctx.free()
    joined = [free[at] for at in _chosen(ctx, len(free))]
    names = [name for name, _ in joined]
    extent = "*".join(f"({extent})" for _, extent in joined)
    buffer, lines, into = _buffers(ctx, operation, extent)
    clauses = f" along {', '.join(names)}"
    if operation in ROOTED:
        roots = ["0", f"{extent} - 1", f"{extent}//2"]
        roots += [f"{variable}%({extent})" for variable in ctx.variables]
        roots += [f"{name}%({extent})" for name, _ in ctx.axes if name not in names]
        roots += [root for root in ctx.roots if names == [ctx.axes[0][0]]]
        clauses += f" {ROOTED[operation]} {ctx.choose.pick(roots)}"
    if operation in COMBINING:
        clauses += f" with {ctx.choose.pick(('+', 'max', 'min'))}"
    if ctx.choose.chance(70):
        clauses += f" using {ctx.choose.pick(METHODS[operation])}"
    return [*lines, f"{operation} {buffer}{into}{clauses}"]


def _chosen(ctx: Context, count: int) -> list[int]:
    """One or two of so many, in any order."""
    first = ctx.choose.integer(0, count - 1)
    if count > 1 and ctx.choose.chance(25):
        ctx.features.add("along two axes")
        second = ctx.choose.integer(0, count - 2)
        return [first, second + (second >= first)]
    return [first]


def _buffers(ctx: Context, operation: str, extent: str) -> tuple[str, Lines, str]:
    """The buffer, what declares others, and the clause `into`."""
    n, more, whole = ctx.size, ctx.fresh("h"), ctx.fresh("h")
    length = ctx.choose.pick((n, "1", f"{n}//2 + 1"))
    one, all_of = f"local {more}: real[{length}] = 1", f"local {whole}: real[{extent}*({length})] = 0.5"
    match operation:
        case "gather" | "allgather":
            return more, [one, all_of], f" into {whole}"
        case "scatter" | "reduce_scatter":
            return whole, [one, all_of], f" into {more}"
        case "alltoall":
            other = ctx.fresh("h")
            return whole, [all_of, f"local {other}: real[{extent}*({length})] = 0"], f" into {other}"
        case "broadcast":
            return _buffer(ctx), [], ""
        case _:
            return (_buffer(ctx), [], "") if ctx.choose.chance(70) else ("x", [], " into y")


def _words(ctx: Context, sender: str, extent: str) -> str:
    """How many words a sender sends, in terms of its coordinate: from 0 to all of a vector."""
    n = ctx.size
    options = [n, "1", f"{n}//2", f"min({n}, {sender} + 1)", f"({sender} + 1)*{n}//({extent}) - {sender}*{n}//({extent})",
               f"max(0, {n} - {sender})", f"min({n}, max(0, {sender} - 2))", f"{n} - {n}//2"]  # fmt: skip
    options += [f"min({n}, {variable} + 1)" for variable in ctx.variables]
    return ctx.choose.pick(options)


def _condition(ctx: Context, extent: str) -> Callable[[str], str]:
    """Whether a sender sends, in terms of its coordinate; mostly without a condition."""
    bounds = ["1", "2", f"{ctx.size}", *ctx.variables, *ctx.amounts]
    bound = ctx.choose.pick(bounds)
    options: list[tuple[int, Callable[[str], str]]] = [
        (6, lambda v: ""),
        (1, lambda v: f"{v}%2 == 0"),
        (1, lambda v: f"{v} < {bound}"),
        (1, lambda v: f"{v} >= {bound}"),
        (1, lambda v: f"{v} == {bound}"),
        (1, lambda v: f"{bound} > 1"),
        (1, lambda v: f"{v} == {extent} - 1 or {v} == 0"),
    ]
    return ctx.choose.weighted(options)


def _exchange(ctx: Context) -> Lines:
    """A step around an axis, or along it and not around, or of pairs."""
    ctx.features.add("exchange")
    axis, extent = ctx.choose.pick(ctx.free())
    by = ctx.uniform(axis)
    kind = ctx.choose.weighted([(5, "around"), (4, "open"), (1, "pairs")])
    holds = _condition(ctx, f"({extent})")
    match kind:
        case "around":
            to, source = f"({axis} + {by})%({extent})", f"({axis} - ({by}))%({extent})"
            sends, receives = holds(axis), holds(f"({source})")
        case "open":
            by = ctx.choose.pick(["1", "2", *(f"({variable} + 1)" for variable in ctx.variables)])
            to, source = f"{axis} + {by}", f"{axis} - {by}"
            sends, receives = f"{axis} + {by} < {extent}", f"{axis} >= {by}"
            if holds("v"):
                sends, receives = f"{sends} and ({holds(axis)})", f"{receives} and ({holds(f'({source})')})"
        case _:
            to = source = f"{axis} + 1 - 2*({axis}%2)"
            sends = receives = f"{to} < {extent}"
    buffers = _both(ctx, axis, source, extent)
    return [_exchanged(ctx, axis, (to, sends), (source, receives), buffers)]


def _both(ctx: Context, axis: str, source: str, extent: str) -> tuple[str, str]:
    """What is sent, and where it is received."""
    kind = ctx.choose.integer(0, 4)
    if kind == 0:
        return "", ""
    if kind == 1:
        same = _buffer(ctx)
        return same, same
    if kind == 2:
        return "z[:, 0]", "y"
    state = ctx.names[0]
    words = _words(ctx, "SENDER", extent)
    ctx.names[0] = state
    here, there = words.replace("SENDER", axis), words.replace("SENDER", f"({source})")
    ctx.features.add("words by coordinate" if here != there else "words alike")
    return ctx.choose.pick(((f"x[0..{here}]", f"y[0..{there}]"), (f"z[0..{here}, 0..2]", f"z[0..{there}, 1..3]")))


def _exchanged(ctx: Context, axis: str, to: tuple[str, str], source: tuple[str, str], buffers: tuple[str, str]) -> str:
    def coordinates(value: str) -> str:
        return ", ".join(value if name == axis else name for name, _ in ctx.axes)

    sent, received = buffers
    sends = f" when {to[1]}" if to[1] else ""
    receives = f" when {source[1]}" if source[1] else ""
    ctx.features.add("when" if sends else "always")
    into = f" into {received}" if received else ""
    return f"exchange {sent}{' ' * bool(sent)}to ({coordinates(to[0])}){sends}{into} from ({coordinates(source[0])}){receives}"


def _transposed(ctx: Context) -> Lines:
    ctx.features.add("transposed")
    (one, _), (two, _) = ctx.axes
    when = ctx.choose.pick(("", f" when {one} != {two}"))
    return [f"exchange x to ({two}, {one}){when} into x from ({two}, {one}){when}"]


def _neighbours(ctx: Context) -> Lines:
    """A loop over other iterations at each coordinate, with messages between those neighbours that have one alike."""
    ctx.features.add("wandering")
    axis, extent = ctx.choose.pick(ctx.free())
    k = ctx.fresh("k")
    step, trips = ctx.choose.pick(((1, 3), (2, 3), (3, 2), (1, 5))), 0
    pace = ctx.choose.pick((1, 2, 3))
    down = ctx.choose.chance(30)
    by, trips = step
    low = lambda v: f"{pace}*{v}"  # noqa: E731
    length = by * trips

    def has(v: str) -> str:
        return f"{k} >= {low(v)} and {k} < {low(v)} + {length} and ({k} - {low(v)})%{by} == 0"

    first, last = f"{low(axis)} + {length - by}", low(axis)
    header = f"{first} downto {last}" if down else f"{last}..{last} + {length}"
    header += f" step {by}" if by > 1 else ""
    away = -1 if down else 1
    to, source = f"{axis} + {away}", f"{axis} - {away}"
    inside = (lambda v: f"{v} >= 0") if down else (lambda v: f"{v} < {extent}")
    outside = (lambda v: f"{v} < {extent}") if down else (lambda v: f"{v} >= 0")
    sends, receives = f"{inside(to)} and {has(f'({to})')}", f"{outside(source)} and {has(f'({source})')}"
    step_line = _exchanged(ctx, axis, (to, sends), (source, receives), ("x", "x"))
    return [f"for {k} in {header}:", f"    {step_line}", *indented(["s += 1.0"] * ctx.choose.integer(0, 2))]


def _call(ctx: Context) -> Lines:
    free = ctx.free()
    options = [callee for callee in ctx.callees if callee.axes <= len(free)]
    if not options:
        return ["pass"]
    callee = ctx.choose.pick(options)
    ctx.features.add("call on a grid")
    first = ctx.choose.integer(0, len(free) - 1)
    joined = [free[first]]
    if callee.axes == 2:
        second = ctx.choose.integer(0, len(free) - 2)
        joined.append(free[second + (second >= first)])
    names = {name for name, _ in joined}
    shifts = ["1", "-2", *ctx.amounts, *ctx.variables, *(name for name, _ in ctx.axes if name not in names)]
    given = [ctx.choose.pick(("x", "y", "x[0..1]", f"y[{ctx.size}//2..{ctx.size}]"))]
    given.append(ctx.choose.pick(("1.0", "s*2.0", "s + x[o - o]*0.5")))
    given += [extent for _, extent in joined] * (callee.axes == 2)
    given += [ctx.choose.pick(shifts)] * callee.shifted
    return [f"{callee.name}({', '.join(given)}) along {', '.join(name for name, _ in joined)}"]
