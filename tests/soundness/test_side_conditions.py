"""Programs whose runs need more than their `where` says: no number without the condition, no refusal of a run."""

from __future__ import annotations

from itertools import product

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from archline.api.algorithms import Algorithm
from archline.api.modules import loads
from archline.execution.data import generate_arguments
from archline.execution.run import execute
from archline.expr.text import format_fact
from archline.language.diagnostics import ArchlineError
from effort import all_of, drawn

HEADER = "algorithm f(x: inout real[n], y: inout real[m], z: out real[n], A: inout real[n, m], b: size):\n"
HELPERS = """
algorithm g(v: inout real[k], a: size):
    for j in 0..a:
        v[j] += 1.0

algorithm whole(v: inout real[k], w: real[k]):
    where k >= 2
    for j in 0..k/2:
        v[j] += w[k - 1 - j]

algorithm halves(v: inout real[k]):
    if k > 1:
        halves(v[0..k/2])
        halves(v[k/2..k])
        v[0] += v[k/2]

algorithm set(v: out real[k]):
    for j in 0..k:
        v[j] = 1.0
"""
BOUNDS = ("n", "m", "b", "n - 1", "n + 1", "n//2", "n/2", "n/b", "min(n, m)", "ceil(n/b)", "n - m", "n//b*b")
PLACES = (
    "i",
    "i + 1",
    "i - 1",
    "2*i",
    "i//2",
    "n - 1 - i",
    "i + b",
    "i*b",
    "(i + b)%n",
    "max(0, i - b)",
    "m - i",
    "i/b",
)
GUARDS = (
    "i > 0",
    "i + 1 < n",
    "i < m",
    "i < n and i < m",
    "b > 2",
    "i == b",
    "i%2 == 0",
    "n > m or i < b",
    "x[0] > 9.0",
)
CALLS = (
    "g(x, b)", "g(y[1..m], m - 1)", "whole(x[0..b], y[0..b])", "whole(x, x)", "halves(x)", "halves(y[0..m//2])",
    "set(z)", "set(z[0..n//2])", "set(z[0..b])", "g(x[b..n], n - b)", "g(x[0..n step 2], ceil(n/2))", "g(x[0..n step b], n//b)",
)  # fmt: skip
PLAIN = (
    "x[b] = 1.0", "z[0] += 1.0", "x[0] += z[n - 1]", "let v = x[0..n/2]\nv[b - 1] += 1.0", "x[0..m] = y[0..m]",
    "local w: real[n - m] = 0", "local w: real[b]\nw[0] = 1.0\nx[0] += w[b - 1]", "local t: real\nt += x[0]",
    "z[0..n] = 0.0", "let v = x[0..b*m] as [b, m]\nv[b - 1, 0] = 1.0", "let r = log2(n)\nx[r] += 1.0", "z[0..m] = y[0..m]",
)  # fmt: skip


@st.composite
def blocks(draw: st.DrawFn, depth: int = 0) -> list[str]:
    """The lines of a few statements."""
    lines: list[str] = []
    for _ in range(draw(st.integers(1, 2))):
        match draw(st.sampled_from(("loop", "loop", "plain", "call") if depth < 2 else ("plain", "call"))):
            case "plain":
                lines += draw(st.sampled_from(PLAIN)).split("\n")
            case "call":
                lines.append(draw(st.sampled_from(CALLS)))
            case _:
                step = draw(st.sampled_from(("", "", " step b", " step 2")))
                lines.append(
                    f"for i in {draw(st.sampled_from(('0', '0', '1', 'b')))}..{draw(st.sampled_from(BOUNDS))}{step}:"
                )
                inner = [f"{draw(accesses())} += {draw(accesses())}"]
                if draw(st.booleans()):
                    inner.append(f"z[i] {draw(st.sampled_from(('=', '+=')))} 1.0")
                if draw(st.integers(0, 2)) == 0:
                    inner = [f"if {draw(st.sampled_from(GUARDS))}:", *("    " + each for each in inner)]
                lines += ["    " + each for each in inner]
    return lines


@st.composite
def accesses(draw: st.DrawFn) -> str:
    place = draw(st.sampled_from(PLACES))
    return draw(st.sampled_from(("x[{}]", "y[{}]", "A[i, {}]", "A[{}, 0]"))).format(place)


@st.composite
def programs(draw: st.DrawFn) -> str:
    """A program that may need anything of its sizes; a `where` may say some of it."""
    where = draw(st.sampled_from(("", "", "m >= n", "2 divides n", "b divides n", "n%2 == 1", "n > m, m > b")))
    head = f"    where {where}\n" if where else ""
    return HEADER + head + "".join(f"    {line}\n" for line in draw(blocks())) + HELPERS


def stops(found: Algorithm, sizes: dict[str, int]) -> str | None:
    """The code with which a run ends, if it fails."""
    try:
        execute(
            found.module,
            found.node,
            generate_arguments(found.module, found.node, sizes),
            compiled=False,
            progress=False,
        )
    except ArchlineError as problem:
        return problem.diagnostics[0].rule.code
    return None


def refuses(found: Algorithm, sizes: dict[str, int]) -> str | None:
    """The code with which a cost at sizes is refused."""
    try:
        found.report().point_of_run({name: (value, None) for name, value in sizes.items()})
    except ArchlineError as problem:
        return problem.diagnostics[0].rule.code
    return None


def assumed(found: Algorithm) -> tuple[set[str], str]:
    """What its costs rest on that its `where` does not say; or the code with which it is refused at all sizes."""
    try:
        return {*found.report().assumptions} - set(map(format_fact, found.node.where)), ""
    except ArchlineError as problem:
        return set(), problem.diagnostics[0].rule.code


def compared(text: str) -> None:
    """What runs need is told, and where they end there are numbers."""
    try:
        found = loads(text)["f"]
    except ArchlineError:
        # The checker has found it.
        return
    points = [dict(zip(found.sizes, each, strict=True)) for each in product((1, 2, 3, 4, 7), repeat=len(found.sizes))]
    stopped = [(at, stops(found, at)) for at in points]
    stated, certain = assumed(found)
    if certain:
        # Where all sizes are large no run ends; an argument that fits at some sizes only is refused too.
        assert certain in ("AL232", "AL303", "AL503", "AL504", "AL505", "AL506", "AL507", "AL515")
        assert all(code is not None for at, code in stopped if min(at.values()) == 7 and certain != "AL232")
        return
    for at, code in stopped:
        refused = refuses(found, at)
        if code is None:
            assert refused is None, (at, refused)
        elif code != "AL506" or refused != "AL407":
            assert refused is not None or stated, (at, code)
            assert refused in (None, code), (at, code, refused)


@settings(max_examples=all_of(200, 72), deadline=None, suppress_health_check=list(HealthCheck))
@given(programs())
def test_planted_conditions(text: str) -> None:
    compared(text)


# Grids: the conditions of what is called, and of the algorithms of collectives
GRID = "algorithm f(x: inout local real[n], y: inout local real[m], k: size, g: size) on grid(i: g, j: g):\n"
ON_GRID = """
algorithm put(v: inout local real[w], e: index) on grid(q: P):
    v[e] = 1.0
    shift v along q by 1

algorithm line(v: inout local real[w], e: size) on grid(q: e):
    v[q] = 1.0
    shift v along q by 1

algorithm corners(v: inout local real[w], h: size) on grid(r: h, c: h):
    where h <= w
    put(v, r) along c
    v[c*h + r] += 1.0
"""
TOGETHER = (
    "put(x, k)", "put(y, i) along j", "put(x, k - 1) along i", "line(x, g) along i", "line(y, k) along j", "line(x, g*g)",
    "corners(x, g)", "corners(y[0..k], g)", "broadcast x along i from k", "broadcast x along i, j from k using chain",
    "alltoall x along i into y", "allgather x along i into y", "reduce_scatter x along j into y with +",
    "exchange x to ((i + k/2)%g, j) into x from ((i - k/2)%g, j)",
    "exchange x to (i, j) into x from (i, j) when m/n > 1", "let v = x[0..k]\nput(v, 0)", "reduce_scatter x[0..g] along j into y[0..1] with +",
)  # fmt: skip


@st.composite
def programs_on_grids(draw: st.DrawFn) -> str:
    lines: list[str] = []
    for _ in range(draw(st.integers(1, 2))):
        inner = draw(st.sampled_from(TOGETHER)).split("\n")
        around = draw(st.sampled_from(("", "", "for t in 0..k:", "if k < n:", "if g > 1:", "if m > n:")))
        lines += [around, *("    " + each for each in inner)] if around else inner
    return GRID + "".join(f"    {line}\n" for line in lines) + ON_GRID


@settings(max_examples=drawn(60), deadline=None, suppress_health_check=list(HealthCheck))
@given(programs_on_grids())
def test_conditions_of_what_is_called_on_grids(text: str) -> None:
    try:
        found = loads(text)["f"]
    except ArchlineError as problem:
        if problem.diagnostics[0].rule.code in ("AL232", "AL276", "AL277"):
            # The checker has found it.
            return
        raise
    points = [dict(zip("nmkg", each, strict=True)) for each in product((1, 2, 4), (1, 3, 4), (1, 2, 3), (1, 2))]
    points = [at | {"P": at["g"] ** 2} for at in points]
    stated, certain = assumed(found)
    stopped = {tuple(at.values()): stops(found, at) for at in points}
    if certain:
        assert certain in ("AL232", "AL303", *stopped.values())
        assert all(code is not None for at, code in stopped.items() if certain != "AL232" and min(at[:4]) > 1)
        return
    for at in points:
        code, refused = stopped[tuple(at.values())], refuses(found, at)
        # Of several processors that fail, no rule says which is the first.
        assert refused in (None, code) or (code is not None and at["g"] > 1), (at, code, refused)
        assert code is None or refused is not None or stated, (at, code)


def test_messages_about_what_is_called_name_the_sizes_of_the_run() -> None:
    for body, sizes, code, message in (
        ("put(x, k)", (2, 1, 2, 1), "AL501", "`v[e]` is outside `v: real[w]` (index 2, extent 2), in a run of `f` at "),
        ("broadcast x along i from k", (2, 1, 2, 2), "AL506", "`where root < P` of `broadcast_tree` is false in this "),
        ("line(x, k) along j", (4, 1, 3, 2), "AL530", "the axis `q` of `line` has 2 processors, and `e` is 3, at "),
    ):
        found = loads(f"{GRID}    {body}\n{ON_GRID}")["f"]
        at = dict(zip("nmkg", sizes, strict=True)) | {"P": sizes[-1] ** 2}
        assert stops(found, at) == code
        try:
            found.report().require_runs(at)
        except ArchlineError as problem:
            (refused,) = problem.diagnostics
            assert refused.rule.code == code
            assert refused.message.startswith(message)
            assert f"n = {sizes[0]}, m = {sizes[1]}, k = {sizes[2]}, g = {sizes[3]}" in refused.message
        else:
            raise AssertionError(body)
