"""Whole programs: a signature, earlier algorithms to call, a body."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import strategies as st

from programs import calls, statements, strands
from programs.choice import Chooser, Drawn, Seeded
from programs.expressions import LITERALS, real_value
from programs.extents import Extent
from programs.model import Facts, GeneratedProgram
from programs.scope import Array, Callee, Context, Index, Offsets, Parameter, Scalar, Scope
from programs.statements import Lines, Maker, indented

# How often a program may use a feature at all: small menus give small programs that still meet in all pairs.
MENU = {
    "triangular": 80, "strided": 50, "guard": 45, "parallel": 55, "spawn": 60, "call": 45, "data_branch": 30,
    "while": 30, "int_data": 40, "local_array": 40, "segment": 34, "atomic": 30, "polynomial": 15, "let": 30,
    "fill": 35, "extern": 7, "costs": 2, "power": 12, "divides": 12, "zero": 8, "layout": 10, "out": 15,
}  # fmt: skip
ENTRY = "main"
BUDGET = 900


def programs() -> st.SearchStrategy[GeneratedProgram]:
    """A strategy for programs; failing ones shrink towards a single assignment."""
    return _programs()


@st.composite
def _programs(draw: st.DrawFn) -> GeneratedProgram:
    return generate(Drawn(draw))


def program_from_seed(seed: int) -> GeneratedProgram:
    """The program of a seed, without Hypothesis."""
    return generate(Seeded(seed))


def generate(choose: Chooser) -> GeneratedProgram:
    """A program, by the choices made."""
    menu = frozenset(feature for feature, share in MENU.items() if choose.chance(share))
    externs: list[str] = []
    lines: Lines = []
    if "extern" in menu:
        externs.append("kernel")
        lines += [f"extern kernel(a: real, b: real) -> real costs {choose.integer(1, 5)} flops", ""]
    callees: list[Callee] = []
    if menu & {"call", "spawn"}:
        for number in range(choose.weighted([(3, 1), (2, 2)])):
            callee, text = _callee(choose, menu, f"part{number}", tuple(callees), tuple(externs))
            callees.append(callee)
            lines += [*text, ""]
    entry, text = _main(choose, menu, tuple(callees), tuple(externs))
    # Definitions may stand in any order.
    lines = [*text, "", *lines] if choose.chance(30) else [*lines, *text]
    return replace(entry, text="\n".join(lines).rstrip("\n") + "\n")


def _makers(ctx: Context, *, top: bool) -> list[tuple[int, Maker]]:
    """The statements this program may hold, with weights; blocks inside choose from the same, with more assignments."""
    inner: list[tuple[int, Maker]] = []
    compound: list[tuple[int, Maker]] = [(15, statements.loop(inner))]
    simple: list[tuple[int, Maker]] = [(14, statements.assign)]
    wanted: list[tuple[str, int, Maker]] = [
        ("parallel", 9, strands.parallel_loop(inner)),
        ("segment", 9, strands.segments(inner)),
        ("guard", 5, statements.guard(inner)),
        ("guard", 3, statements.neighbour),
        ("data_branch", 6, statements.data_branch(inner)),
        ("while", 6, calls.while_loop(inner)),
        ("call", 6, calls.call),
        ("spawn", 9, calls.spawn),
    ]
    compound += [(weight, maker) for feature, weight, maker in wanted if ctx.wants(feature)]
    extras: list[tuple[str, int, Maker]] = [
        ("int_data", 6, statements.assign_int),
        ("int_data", 2, statements.local_scalar),
        ("local_array", 4, statements.local_array),
        ("fill", 4, statements.fill_or_copy),
        ("let", 3, statements.let),
        ("let", 2, statements.let_size),
        ("costs", 3, calls.declared_costs),
    ]
    simple += [(weight, maker) for feature, weight, maker in extras if ctx.wants(feature)]
    simple.append((1, statements.local_scalar))
    inner += simple + compound
    return [*compound, *((max(1, weight // 3), maker) for weight, maker in simple)] if top else inner


def _body(ctx: Context, scope: Scope) -> Lines:
    makers = _makers(ctx, top=True)
    lines: Lines = []
    for _ in range(ctx.choose.weighted([(2, 1), (4, 2), (3, 3), (1, 4)])):
        if ctx.budget > 0:
            lines += ctx.choose.weighted(makers)(ctx, scope) or statements.assign(ctx, scope)
    # The end of an algorithm waits for its spawned calls by itself.
    if lines and lines[-1] == "sync" and ctx.choose.chance(50):
        lines.pop()
        ctx.features.add("implicit_sync")
    return lines


def _callee(
    choose: Chooser, menu: frozenset[str], name: str, earlier: tuple[Callee, ...], externs: tuple[str, ...]
) -> tuple[Callee, Lines]:
    """An algorithm to be called: sizes a and perhaps c, one array it writes, others it reads."""
    a, c = Extent.size("a"), Extent.size("c")
    empty_ok = choose.chance(60)
    tame = choose.chance(50)
    parameters = [Parameter("x", "array", shape=(a,))] if choose.chance(60) else []
    if choose.chance(30):
        parameters.append(Parameter("M", "array", shape=(a, c)))
    result = choose.weighted([(6, None), (2, "real")])
    if result is None or choose.chance(30) or not parameters:
        parameters.insert(choose.integer(0, len(parameters)), Parameter("y", "array", shape=(a,), mode="inout"))
    parameters += [
        parameter
        for parameter, share in (
            (Parameter("f", "real"), 30),
            (Parameter("b", "size"), 25),
            (Parameter("t", "index"), 20),
        )
        if choose.chance(share)
    ]
    if "int_data" in menu and choose.chance(30):
        parameters.append(Parameter("d", "int"))
    ctx = Context(choose, menu - {"segment", "zero"}, 60, earlier, externs, max_depth=2)
    scope = _scope(parameters, frozenset({"c", "b"} if empty_ok else {"a", "b", "c"}), 0 if tame else 1)
    body = calls.spawn(ctx, scope) if "spawn" in menu and choose.chance(40) else []
    body += _body(ctx, scope)
    if result is not None:
        body = _with_result(ctx, scope, body)
    contract = ["where a >= 0"] if empty_ok else []
    header = ", ".join(parameter.text for parameter in parameters)
    arrow = f" -> {result}" if result is not None else ""
    text = [f"algorithm {name}({header}){arrow}:", *indented([*contract, *(body or ["pass"])])]
    if "spawn" in ctx.features:
        ctx.features.add("nested_spawn")
    callee = Callee(
        name, tuple(parameters), result, 61 - ctx.budget, tame, empty_ok, frozenset(ctx.features),
        frozenset(ctx.inexact), frozenset(ctx.irregular), "parallel" in ctx.features,
    )  # fmt: skip
    return callee, text


def _with_result(ctx: Context, scope: Scope, body: Lines) -> Lines:
    name = scope.fresh(("total",))
    i = scope.fresh(("i", "j"))
    inner = scope.child()
    inner.indices.append(Index(i, Extent.size("a"), full=True))
    start = f"local {name}: real = {ctx.choose.pick(('0', *LITERALS))}"
    gather = [f"for {i} in 0..a:", f"    {name} += {real_value(ctx, inner, scope.top_rank() + 1)}"]
    return [start, *body, *gather, f"return {name}"]


def _scope(parameters: list[Parameter], positive: frozenset[str], in_rank: int) -> Scope:
    """The scope of a body. Arrays that are written rank above all that are only read, each above the one before."""
    names = {name for parameter in parameters for extent in parameter.shape for name in extent.names}
    names |= {parameter.name for parameter in parameters}
    plain = {extent for parameter in parameters for extent in parameter.shape if extent.plain}
    plain |= {Extent.size(parameter.name) for parameter in parameters if parameter.kind == "size"}
    scope = Scope(names, sorted(plain, key=lambda extent: extent.text), positive & names)
    rank = in_rank
    for parameter in parameters:
        match parameter.kind:
            case "array" | "index_array":
                element = parameter.element if parameter.kind == "array" else "index"
                written = parameter.mode != "in"
                rank += written
                scope.arrays.append(
                    Array(
                        parameter.name, element, parameter.shape, "rw" if written else "ro", parameter.name,
                        rank if written else (in_rank if element == "real" else 0), below=parameter.below,
                        layout=parameter.layout,
                    )
                )  # fmt: skip
            case "offsets":
                scope.names |= {parameter.longest} if parameter.longest else set()
                scope.names |= parameter.below.names
                if parameter.below not in scope.extents:
                    scope.extents.append(parameter.below)
                scope.offsets.append(
                    Offsets(parameter.name, parameter.shape[0], parameter.below, parameter.longest is not None)
                )
            case "real" | "int":
                scope.scalars.append(Scalar(parameter.name, parameter.kind, 0, writable=False))
            case "index":
                scope.indices.append(Index(parameter.name, None))
    return scope


def _main(
    choose: Chooser, menu: frozenset[str], callees: tuple[Callee, ...], externs: tuple[str, ...]
) -> tuple[GeneratedProgram, Lines]:
    sizes = ["n", "m", "p"][: choose.weighted([(3, 1), (5, 2), (2, 3)])]
    powers = frozenset({"n"} if "power" in menu else ())
    divisors = (("b", "n"),) if "divides" in menu and not powers else ()
    parameters = _parameters(choose, menu, sizes)
    # No index is below 0, and 0 segments hold no entries.
    counted = any(Extent.size("m") in (each.below, *each.shape) for each in parameters if each.below is not None)
    least = {"m": 0} if "zero" in menu and "m" in sizes and not counted else {}
    if "power" not in menu and not divisors and choose.chance(10):
        least["n"] = 2
    shaped = {name for parameter in parameters for extent in parameter.shape for name in extent.names}
    divisors = divisors if "n" in shaped else ()
    if divisors:
        parameters.append(Parameter("b", "size"))
    bound = {extent.plain for parameter in parameters for extent in parameter.shape}
    bound |= {parameter.below.plain for parameter in parameters if parameter.kind == "offsets" and parameter.below}
    used = {name for parameter in parameters for extent in parameter.shape for name in extent.names}
    used |= {name for parameter in parameters if parameter.below for name in parameter.below.names}
    parameters += [Parameter(name, "size") for name in sizes if name in used - bound]
    ctx = Context(choose, menu, BUDGET, callees, externs)
    zero = {name for name, value in least.items() if value == 0}
    positive = frozenset(["n", "m", "p", "b", "nz", "nz2"]) - zero
    scope = _scope(parameters, positive, 0)
    scope.powers, scope.divisors = powers & scope.names, divisors
    _more_extents(ctx, scope)
    body = [f"{each.name} = 0.5" for each in parameters if each.mode == "out"] + _body(ctx, scope)
    contract = _contract(choose, Facts(least, powers & used, divisors), used)
    text = [
        f"algorithm {ENTRY}({', '.join(parameter.text for parameter in parameters)}):",
        *indented([*contract, *(body or ["pass"])]),
    ]
    names = sorted(used | {each.name for each in parameters if each.kind == "size"})
    facts = Facts({k: v for k, v in least.items() if k in used}, powers & used, divisors)
    program = GeneratedProgram(
        "", ENTRY, tuple(parameters), tuple(names), facts, frozenset(ctx.features), frozenset(ctx.inexact),
        frozenset(ctx.irregular),
    )  # fmt: skip
    return program, text


def _contract(choose: Chooser, facts: Facts, used: set[str]) -> Lines:
    parts = [f"{name} >= {value}" for name, value in facts.least.items() if name in used]
    parts += [f"{name} is power of 2" for name in sorted(facts.powers)]
    parts += [f"{divisor} divides {multiple}" for divisor, multiple in facts.divisors]
    lines = ['"Generated."'] if choose.chance(15) else []
    return [*lines, f"where {', '.join(parts)}"] if parts else lines


def _more_extents(ctx: Context, scope: Scope) -> None:
    """Extents for loops beside the plain sizes: sums, and products where the program wants polynomials."""
    plain = [extent for extent in scope.extents if extent.plain in ("n", "m", "p")]
    if not plain:
        return
    first, last = plain[0], plain[-1]
    if ctx.choose.chance(25):
        scope.extents.append(ctx.choose.pick((first + 1, first + last, first * 2)))
    if ctx.wants("polynomial"):
        scope.extents.append(first * last)


def _parameters(choose: Chooser, menu: frozenset[str], sizes: list[str]) -> list[Parameter]:
    plain = [Extent.size(name) for name in sizes]
    n, m = plain[0], plain[-1]
    shapes: list[tuple[int, tuple[Extent, ...]]] = [(9, (n,)), (5, (m,)), (8, (n, m)), (3, (m, n))]
    shapes += [(2, (n + 1,)), (2, (n * 2,)), (1, (n + m,)), (2, (n * m,))]
    shapes += [(3, (plain[0], plain[1], plain[2]))] if len(plain) == 3 else [(2, (n, n))]
    parameters: list[Parameter] = []
    for name in ("y", "A", "z")[: choose.weighted([(3, 1), (4, 2), (2, 3)])]:
        shape = choose.weighted(shapes)
        mode = "out" if "out" in menu and choose.chance(40) else "inout"
        parameters.append(Parameter(name, "array", shape=shape, mode=mode, layout=_layout(choose, menu, shape)))
    for name in ("x", "B")[: choose.weighted([(1, 0), (4, 1), (4, 2)])]:
        shape = choose.weighted(shapes)
        parameters.insert(
            choose.integer(0, len(parameters)),
            Parameter(name, "array", shape=shape, layout=_layout(choose, menu, shape)),
        )
    if "int_data" in menu:
        parameters.append(Parameter("key", "array", "int", (n,)))
        if choose.chance(60):
            parameters.append(Parameter("cell", "array", "int", (m,), "inout"))
        if choose.chance(30):
            parameters.append(Parameter("perm", "index_array", shape=(n,), below=m))
        if choose.chance(20):
            parameters.append(Parameter("d", "int"))
    if choose.chance(15):
        parameters.append(Parameter("f", "real"))
    if "segment" in menu:
        nz = Extent.size("nz")
        longest = "nr" if choose.chance(85) else None
        parameters.insert(0, Parameter("ptr", "offsets", shape=(n,), below=nz, longest=longest))
        parameters.append(Parameter("val", "array", shape=(nz,)))
        if choose.chance(60):
            parameters.append(Parameter("col", "index_array", shape=(nz,), below=m))
        if choose.chance(20):
            parameters.append(Parameter("ptr2", "offsets", shape=(m,), below=Extent.size("nz2"), longest="nr2"))
    return parameters


def _layout(choose: Chooser, menu: frozenset[str], shape: tuple[Extent, ...]) -> str:
    if "layout" in menu and len(shape) == 2 and choose.chance(50):
        return choose.pick(("colmajor", "zmorton"))
    return "rowmajor"
