"""Values and conditions. Real values stay small by construction, so that no run overflows."""

from __future__ import annotations

from programs.scope import Context, Scope
from programs.subscripts import element

LITERALS = ("0.5", "1.25", "0.75", "2.0")
UNARY = ("sin({})", "cos({})", "abs({})", "exp(-abs({}))", "sqrt(abs({}))", "log(1.5 + abs({}))", "log2(1.5 + abs({}))")
PAIRS = ("min({}, {})", "max({}, {})")


def real_value(ctx: Context, scope: Scope, rank: int) -> str:
    """A real expression to be stored in something of this rank."""
    terms = [_term(ctx, scope, rank)]
    for _ in range(ctx.choose.weighted([(5, 0), (3, 1), (1, 2)])):
        terms.append(_term(ctx, scope, rank))
    text = terms[0]
    for term in terms[1:]:
        text += (" - " if ctx.choose.chance(35) else " + ") + term
    return text


def _term(ctx: Context, scope: Scope, rank: int) -> str:
    if ctx.choose.chance(20):
        plain = _read(ctx, scope, rank, factor=False)
        if plain is not None:
            return plain
    text = factor(ctx, scope, rank)
    match ctx.choose.weighted([(5, "alone"), (5, "*"), (1, "/"), (1, "/ data")]):
        case "*":
            return f"{text}*{factor(ctx, scope, rank)}"
        case "/":
            return f"{text}/1.5"
        case "/ data":
            return f"{text}/(1.5 + abs({factor(ctx, scope, rank)}))"
    return text


def factor(ctx: Context, scope: Scope, rank: int) -> str:
    """A real expression of small value: at most some tens."""
    kind = ctx.choose.weighted(
        [
            (9, "read"),
            (3, "literal"),
            (2, "unary"),
            (1, "pair"),
            (1, "index"),
            (1, "power"),
            (1, "minus"),
            (1, "extern"),
        ]
    )
    if kind == "literal":
        return ctx.choose.pick(LITERALS)
    base = _read(ctx, scope, rank, factor=True)
    if base is None:
        base = ctx.choose.pick(LITERALS)
    match kind:
        case "unary":
            return ctx.choose.pick(UNARY).format(base)
        case "pair":
            return ctx.choose.pick(PAIRS).format(base, ctx.choose.pick(LITERALS))
        case "index" if scope.indices:
            return f"real_of({ctx.choose.pick(scope.indices).name})"
        case "power":
            return f"({base})^2" if "-" in base or "*" in base else f"{base}^2"
        case "minus":
            return f"(-{base})"
        case "extern" if ctx.externs:
            ctx.features.update({"extern", "declared"})
            return f"{ctx.choose.pick(ctx.externs)}({base}, {ctx.choose.pick(LITERALS)})"
    return base


def _read(ctx: Context, scope: Scope, rank: int, *, factor: bool) -> str | None:
    """A read of a real. What could grow is bare only as a term of something of higher rank; else it is wrapped."""
    candidates: list[tuple[int, str]] = []
    for array in scope.arrays:
        if array.element == "real" and array.readable:
            candidates.append((3 if array.rank == 0 else 1, array.name))
    candidates += [(1, scalar.name) for scalar in scope.scalars if scalar.kind == "real"]
    if not candidates:
        return None
    name = ctx.choose.weighted(candidates)
    known = {array.name: array for array in scope.arrays}
    if name in known:
        text = element(ctx, scope, known[name])
        source = known[name].rank
    else:
        text = name
        source = next(scalar.rank for scalar in scope.scalars if scalar.name == name)
    if text is None or source == 0 or (source < rank and not factor):
        return text
    return ctx.choose.pick(("sin({})", "cos({})")).format(text)


def int_value(ctx: Context, scope: Scope) -> str:
    """A small int expression with data in it where there is any."""
    base = _int_read(ctx, scope)
    if base is None:
        return "1"
    ctx.features.add("int_data")
    other = _int_read(ctx, scope) or "2"
    forms = [
        "{a}", "{a} + 1", "{a}*2", "({a} + {b}) % 5", "{a}//2", "{a}*3 % 7", "min({a}, {b})", "{a} - {b}",
        "max({a}, 2)",
    ]  # fmt: skip
    if scope.indices:
        forms.append("{a} + " + scope.indices[-1].name)
    return ctx.choose.pick(forms).format(a=base, b=other)


def _int_read(ctx: Context, scope: Scope) -> str | None:
    options: list[str] = []
    for array in scope.arrays:
        if array.element != "real" and array.readable:
            found = element(ctx, scope, array, data=False)
            if found is not None:
                options.append(found if array.rank == 0 else f"{found} % 7")
    options += [f"{each.name} % 9" if each.rank else each.name for each in scope.scalars if each.kind == "int"]
    if not options:
        return None
    found = ctx.choose.pick(options)
    return f"({found})" if "%" in found else found


def data_condition(ctx: Context, scope: Scope) -> str | None:
    """A condition on data, at times after one on indices that guards it."""
    if ctx.wants("int_data") and ctx.choose.chance(30):
        read = _int_read(ctx, scope)
        if read is not None:
            ctx.features.add("int_data")
            return ctx.choose.pick(("{} % 2 == 0", "{} < 3", "{} > 1 and {} != 4")).format(read, read)
    read = _read(ctx, scope, 1 << 30, factor=False)
    if read is None:
        return None
    text = f"{read} {ctx.choose.pick(('<', '>', '<=', '>='))} {factor(ctx, scope, 1 << 30)}"
    match ctx.choose.weighted([(6, "plain"), (1, "and"), (1, "or"), (1, "not"), (2, "guarded")]):
        case "and":
            return f"{text} and {factor(ctx, scope, 1 << 30)} < 0.9"
        case "or":
            return f"{text} or {factor(ctx, scope, 1 << 30)} > 0.4"
        case "not":
            return f"not {text}"
        case "guarded" if scope.indices:
            return f"{ctx.choose.pick(scope.indices).name} > 0 and {text}"
    return text


def static_condition(ctx: Context, scope: Scope) -> str:
    """A condition on indices and sizes."""
    text = _comparison(ctx, scope)
    match ctx.choose.weighted([(7, "plain"), (1, "and"), (1, "or"), (1, "not")]):
        case "and":
            return f"{text} and {_comparison(ctx, scope)}"
        case "or":
            return f"{text} or {_comparison(ctx, scope)}"
        case "not":
            return f"not {text}"
    return text


def _comparison(ctx: Context, scope: Scope) -> str:
    usable = [index for index in scope.indices if index.name not in scope.sealed]
    # A guard on a parallel index makes the span a maximum over cases: kept, but seldom.
    if not ctx.choose.chance(12):
        usable = [index for index in usable if not index.parallel]
    sizes = scope.size_names
    if not usable or (sizes and ctx.choose.chance(12)):
        return _size_comparison(ctx, sizes)
    first = ctx.choose.pick(usable)
    names = [first.name]
    forms = ["{i} > 0", "{i} % 2 == 0", "{i} % 3 == 1", "{i} == 0", "{i} < 3", "{i} % 3 != 0", "{i} >= 2"]
    extent = first.domain.text if first.domain is not None else "4"
    forms += [f"{{i}} < {extent} - 1", f"{{i}} < ({extent})//2", f"2*{{i}} < {extent}"]
    forms += ["{i}//2 % 2 == 0", "{i} % 30 < 7"]
    if sizes:
        size = ctx.choose.pick(sizes)
        forms += [
            f"{{i}} % {size} == 0",
            f"{{i}} % {size} < 2",
            f"{{i}}//{size} % 2 == 0",
            f"{{i}} % (2*{size}) != {size}",
        ]
    if len(usable) > 1:
        second = ctx.choose.pick([index for index in usable if index is not first])
        names.append(second.name)
        pair = [
            "{i} < {j}",
            "{i} == {j}",
            "{i} <= {j}",
            "{i} != {j}",
            "({i} + {j}) % 2 == 0",
            f"{{i}} + {{j}} < {extent}",
        ]
        forms = pair if ctx.choose.chance(60) else forms
    text = ctx.choose.pick(forms)
    if ctx.choose.chance(2):
        text = f"{{i}}*{{i}} < {extent}"
        ctx.irregular.add("guard that is not affine")
    text = text.format(i=names[0], j=names[-1])
    for name in names:
        if name in text:
            ctx.depend(name, "case")
            if any(index.name == name and index.parallel for index in usable):
                ctx.irregular.add("guard on a parallel index")
    return text


def _size_comparison(ctx: Context, sizes: list[str]) -> str:
    first = ctx.choose.pick(sizes)
    forms = [f"{first} > 2", f"{first} % 2 == 0", f"{first} == 1"]
    if len(sizes) > 1:
        second = ctx.choose.pick([name for name in sizes if name != first])
        forms += [f"{first} < {second}", f"{first} == {second}"]
    return ctx.choose.pick(forms)
