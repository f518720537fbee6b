"""Generated sweeps over grids of two and three dimensions that read neighbours, in any order of the loops."""

from __future__ import annotations

import random

from io_programs import ArrayProgram, Lines, indented

REACH = 2


def stencil_program_from_seed(seed: int) -> ArrayProgram:
    """The program of a seed: arrays with a border of two entries on all sides, swept once or several times."""
    source = random.Random(seed)
    sizes = ("n", "m") if source.random() < 0.7 else ("n", "m", "q")
    shape = tuple(f"{size} + {2 * REACH}" for size in sizes)
    layout = " colmajor" if source.random() < 0.2 else ""
    head = ", ".join(
        [*(f"{name}: inout real[{', '.join(shape)}]{layout}" for name in "AB"), *(f"{s}: size" for s in sizes)]
    )
    body = [line for _ in range(source.choice((1, 1, 2))) for line in _sweep(source, sizes)]
    if source.random() < 0.5:
        body = ["for t in 0..3:", *indented(body)]
    lines = [f"algorithm main({head}):", *indented(body)]
    return ArrayProgram("\n".join(lines) + "\n", dict.fromkeys("AB", shape), sizes)


def _sweep(source: random.Random, sizes: tuple[str, ...]) -> Lines:
    """Loops over all dimensions, and a statement."""
    names = ("i", "j", "k")[: len(sizes)]
    order = list(zip(names, sizes, strict=True))
    if source.random() < 0.2:
        source.shuffle(order)
    low = source.choice((0, REACH, REACH, 1))

    def place() -> str:
        around = [source.choice((0, 0, 0, -1, 1, -2, 2)) for _ in names]
        moved = [f"{name} + {each + REACH - low}" for name, each in zip(names, around, strict=True)]
        return ", ".join(each.replace("+ -", "- ").replace(" + 0", "") for each in moved)

    written = source.choice("AB")
    read = [f"{source.choice('AAB')}[{place()}]" for _ in range(source.choice((1, 2, 3, 5)))]
    lines = [f"{written}[{place()}] {source.choice(('=', '+='))} {' + '.join(read)}"]
    if source.random() < 0.15:
        lines = [f"if {read[0]} > 0.5:", *indented(lines)]
    for name, size in reversed(order):
        up = f"{low}..{size} + {low}", f"{size} + {low - 1} downto {low}"
        lines = [f"for {name} in {source.choice((up[0], up[0], up[0], up[1]))}:", *indented(lines)]
    return lines


# Generated programs that step through rows by strides: those of a size, and those that double or halve from loop to loop


def stride_program_from_seed(seed: int) -> ArrayProgram:
    """The program of a seed: loops over a vector and a matrix of 2^r entries a row."""
    shapes = {"a": ("n",), "b": ("n",), "A": ("m", "n")}
    return ArrayProgram("\n".join(_Strides(random.Random(seed)).text()) + "\n", shapes, ("n", "m"))


class _Strides:
    def __init__(self, source: random.Random) -> None:
        self._source = source

    def text(self) -> Lines:
        body: Lines = []
        for _ in range(self._source.choice((1, 1, 2))):
            body += self._nest()
        return [
            "algorithm main(a: inout real[n], b: inout real[n], A: inout real[m, n]):",
            "    where n is power of 2, n >= 16",
            *indented(body),
        ]

    def _nest(self) -> Lines:
        source = self._source
        if source.random() < 0.3:
            # A stride of a size: parts of m entries each.
            head = source.choice(("for i in 0..n//m - 3:", "for i in n//m - 4 downto 0:"))
            places = [f"i*m + {source.choice(('0', '1', 'm - 1', 'm', '2*m', '2*m', '3*m'))}" for _ in range(3)]
            return [head, *indented(self._body(places))]
        far = source.random() < 0.3
        last = 3 if far else 1
        outer = source.choice((f"for d in 0..log2(n) - {last}:", f"for d in log2(n) - {last + 1} downto 0:"))
        count = f"n/2^(d + {3 if far else 2})"
        head = source.choice((f"for i in 0..{count}:", f"for i in {count} - 1 downto 0:"))
        near = (
            "4*i*2^d", "(4*i + 1)*2^d", "(4*i + 2)*2^d", "(4*i + 3)*2^d", "4*(i + 1)*2^d - 1", "(4*i + 2)*2^d - 1",
            "2*i*2^d", "i*2^d + 1",
        )  # fmt: skip
        places = [source.choice((*near, *(("(4*i + 5)*2^d", "(4*i + 9)*2^d") if far else ()))) for _ in range(3)]
        return [outer, *indented([head, *indented(self._body(places))])]

    def _body(self, places: list[str]) -> Lines:
        source = self._source
        rows = [source.choice(("0", "m - 1", "min(i, m - 1)")) for _ in range(2)]
        names = ("a[{}]",) * 4 + ("b[{}]",) + tuple(f"A[{row}, {{}}]" for row in rows)
        arrays = [source.choice(names if source.random() < 0.7 else names[5:]) for _ in places]
        one, two, three = (array.format(place) for array, place in zip(arrays, places, strict=True))
        lines = [f"{one} += {two}"]
        if source.random() < 0.6:
            lines.append(f"{source.choice((one, two, three))} = {source.choice((two, three))}*0.5")
        if source.random() < 0.2:
            lines = [f"if {three} > 0.5:", *indented(lines)]
        return lines


# Generated nests by tiles: loops that step by a size or a number, and loops within a tile, cut short at the edges


STEPS = ("b", "b", "b", "c", "2*b", "4", "8")


def tile_program_from_seed(seed: int) -> ArrayProgram:
    """The program of a seed: matrices of n by n, one or two nests over tiles of some of their rows or columns."""
    source = random.Random(seed)
    layout = " colmajor" if source.random() < 0.2 else ""
    head = ", ".join([*(f"{name}: inout real[n, n]{layout}" for name in "AB"), "n: size", "b: size", "c: size"])
    body = [line for _ in range(source.choice((1, 1, 2))) for line in _nest(source)]
    lines = [f"algorithm main({head}):", *indented(body)]
    return ArrayProgram("\n".join(lines) + "\n", dict.fromkeys("AB", ("n", "n")), ("n", "b", "c"))


WHOLE = {
    "b divides n, and tiles are counted": ("b divides n", "0..n//b", "{0}{0}*b + {0}", "0..b"),
    "b divides n, and loops step by b": ("b divides n", "0..n step b", "{0}", "{0}{0}..{0}{0} + b"),
    "n is k tiles": ("n == k*b", "0..k", "{0}{0}*b + {0}", "0..b"),
}
"""How whole tiles are written: the facts, the loops over tiles, a subscript, and the loops within tiles."""


def product_by_whole_tiles(
    way: str, inner: str = "ijq", layouts: tuple[str, str, str] = ("", "", ""), ensures: str = ""
) -> ArrayProgram:
    """C += A B of n by n by tiles of b by b, with the loops within tiles in some order."""
    facts, tiles, subscript, within = WHOLE[way]
    i, j, q = (subscript.format(name) for name in "ijq")
    loops = [f"for {name}{name} in {tiles}:" for name in "ijq"]
    loops += [f"for {name} in {within.format(name)}:" for name in inner]
    body = [f"C[{i}, {j}] += A[{i}, {q}]*B[{q}, {j}]"]
    for line in reversed(loops):
        body = [line, *indented(body)]
    arrays = [f"{name}: inout real[n, n]{layout}" for name, layout in zip("ABC", layouts, strict=True)]
    sizes = ["b", *(["k"] if "k*b" in facts else [])]
    head = ", ".join([*arrays, *(f"{name}: size" for name in sizes)])
    given = [f"where {facts}", *([f"ensures {ensures}"] if ensures else [])]
    lines = [f"algorithm main({head}):", *indented([*given, *body])]
    return ArrayProgram("\n".join(lines) + "\n", dict.fromkeys("ABC", ("n", "n")), ("n", *sizes))


def _nest(source: random.Random) -> Lines:
    """Loops over tiles, then loops within them, some of them over all, in any order."""
    names = ["i", "j", "k"][: source.choice((2, 2, 3))]
    outer: Lines = []
    inner: Lines = []
    for name in names:
        if source.random() < 0.7:
            step = source.choice(STEPS)
            first = source.choice(("0", "0", "0", "1", step))
            outer.append(f"for {name * 2} in {first}..n step {step}:")
            inner.append(f"for {name} in {name * 2}..min({name * 2} + {source.choice((step, step, '3'))}, n):")
        else:
            inner.append(source.choice((f"for {name} in 0..n:", f"for {name} in n - 1 downto 0:")))
    source.shuffle(inner)
    loops = [*outer, *inner]
    tiles = [line[4:6] for line in outer]
    body = _statement(source, names, tiles)
    for line in reversed(loops):
        body = [line, *indented(body)]
    return body


def _statement(source: random.Random, names: list[str], tiles: list[str]) -> Lines:
    def place() -> str:
        row, column = (source.choice(names + (tiles if source.random() < 0.2 else [])) for _ in range(2))
        return f"{source.choice('AAB')}[{row}, {column}]"

    read = [place() for _ in range(source.choice((1, 2, 2)))]
    return [f"{place()} {source.choice(('=', '+='))} {' + '.join(read)}"]


# Generated nests over triangles of matrices, as factorisations have them: ranges that begin or end at other counters


Ranges = tuple[tuple[str, str], ...]


def triangle_program_from_seed(seed: int) -> ArrayProgram:
    """The program of a seed: two square matrices and one or two nests of two or three loops."""
    source = random.Random(seed)
    layout = " colmajor" if source.random() < 0.2 else ""
    shape = ("n", "n")
    head = ", ".join([*(f"{name}: inout real[n, n]{layout}" for name in "AB"), "n: size"])
    body = [line for _ in range(source.choice((1, 1, 1, 2))) for line in _nest_of_triangle(source)]
    lines = [f"algorithm main({head}):", *indented(body)]
    return ArrayProgram("\n".join(lines) + "\n", dict.fromkeys("AB", shape), ("n",))


def _nest_of_triangle(source: random.Random) -> Lines:
    """A loop over all rows, and in it one or two nests whose ranges depend on the row."""
    inner: Lines = []
    for _ in range(source.choice((1, 1, 2))):
        if source.random() < 0.3:
            inner += _statement_of_triangle(source, ["i"])
        inner += _triangle(source)
    return [f"for i in {_range(source, ('0', 'n'))}:", *indented(inner)]


def _triangle(source: random.Random) -> Lines:
    """A loop from or to the row, with statements and mostly another loop in it."""
    rows = source.choice((("0", "i"), ("0", "i"), ("i + 1", "n"), ("i", "n"), ("0", "i + 1"), ("0", "n")))
    ranges: Ranges = (("0", "i"), ("i + 1", "n"), ("0", "j"), ("j + 1", "n"), ("j", "n"), ("0", "n"), ("0", "j + 1"))
    if rows[0].startswith("i"):
        ranges = (*ranges, ("i", "j"), ("i", "j + 1"))
    body: Lines = []
    if source.random() < 0.3:
        body += _statement_of_triangle(source, ["i", "j"])
    if source.random() < 0.8:
        innermost = _statement_of_triangle(source, ["i", "j", "k"])
        body += [f"for k in {_range(source, source.choice(ranges))}:", *indented(innermost)]
    if not body or source.random() < 0.2:
        body += _statement_of_triangle(source, ["i", "j"])
    return [f"for j in {_range(source, rows)}:", *indented(body)]


def _range(source: random.Random, ends: tuple[str, str]) -> str:
    low, high = ends
    if source.random() < 0.15:
        return f"{high} - 1 downto {low}"
    return f"{low}..{high}"


def _statement_of_triangle(source: random.Random, counters: list[str]) -> Lines:
    def place() -> str:
        row, column = source.choice(counters), source.choice(counters)
        turned = f"n - 1 - {row}" if source.random() < 0.08 else row
        return f"{source.choice('AAB')}[{turned}, {column}]"

    read = [place() for _ in range(source.choice((1, 2, 2, 3)))]
    return [f"{place()} {source.choice(('=', '+=', '-='))} {' + '.join(read)}"]


# Generated sweeps of a line in time: by tiles that lean, by skewed loops, in blocks of steps, some under guards


TILED = ("for w in 0..ceil((n + T)/W):", "for t in 0..T:", "for i in max(1, w*W - t)..min(n - 1, (w + 1)*W - t):")
LOOPS: tuple[Lines, ...] = (
    TILED,
    (TILED[0], TILED[1], "for i in min(n - 1, (w + 1)*W - t) - 1 downto max(1, w*W - t):"),
    ("for t in 0..T:", "for w in 0..ceil(n/W):", "for i in max(1, w*W)..min(n - 1, (w + 1)*W):"),
    ("for t in 0..T:", "for j in t + 1..t + n - 1:", "let i = j - t"),
    (TILED[0], TILED[1], "for j in max(t + 1, w*W)..min(t + n - 1, (w + 1)*W):", "let i = j - t"),
    (
        "for b in 0..ceil(T/B):",
        "for w in 0..ceil((n + B)/W):",
        "for t in b*B..min(T, (b + 1)*B):",
        "for i in max(1, w*W - t + b*B)..min(n - 1, (w + 1)*W - t + b*B):",
    ),
    ("for b in 0..ceil(T/B):", "for t in b*B..min(T, (b + 1)*B):", "for i in 1..n - 1:"),
)
STATEMENTS = (
    "a[(t + 1)%2, i] = a[t%2, i - 1] + a[t%2, i + 1]",
    "a[(t + 1)%2, i] = a[t%2, i - 1] + a[t%2, i] + a[t%2, i + 1]",
    "a[t%2, i] += a[t%2, i - 1]",
    "a[0, i] = a[0, i - 1] + a[0, i + 1]",
    "a[0, i] += a[1, n - 1 - i]",
)
GUARDS = ("i != t", "i >= 2 and i != n - 2", "i != 1 or t > 0", "not (i == 3 or t == 1)", "i < 4 or i > 7", "t != 1")


def time_tile_program_from_seed(seed: int) -> ArrayProgram:
    """The program of a seed."""
    source = random.Random(seed)
    body: Lines = [source.choice(STATEMENTS)]
    if source.random() < 0.5:
        body = [f"if {source.choice(GUARDS)}:", *indented(body)]
    for line in reversed(source.choice(LOOPS)):
        body = [line, *(body if line.startswith("let") else indented(body))]
    text = "algorithm main(a: inout real[2, n], T: size, W: size, B: size):\n    where n >= 3, W >= 2, B >= 1, T >= 1\n"
    return ArrayProgram(text + "\n".join(indented(body)) + "\n", {"a": ("2", "n")}, ("n", "T", "W", "B"))


# Generated loops in which remainders decide: where they begin, what is guarded, which places are accessed


HEAD = "algorithm main(w: real[n], x: inout real[n + 60, n + 70], z: inout real[n + 80]):"


def remainder_program_from_seed(seed: int) -> ArrayProgram:
    """The program of a seed; sizes from 1 on have runs."""
    source = random.Random(seed)
    lines, space, names = [HEAD, "    where n >= 1"], "    ", list[str]()
    for name in ("t", "i", "j")[source.randrange(2) : source.choice((2, 3, 3))]:
        others = [f"({each} + 1) % 2" for each in names] + [f"{each} % 3" for each in names]
        lo = source.choice(("0", "1", "2", *names, *others))
        hi = source.choice(("n", "n", "n + 3", "12", *(f"{each} + 4" for each in names)))
        lines.append(f"{space}for {name} in {lo}..{hi}{source.choice(('', '', '', ' step 2', ' step 3'))}:")
        names.append(name)
        space += "    "
    guard = source.random() < 0.8
    if guard:
        lines.append(f"{space}if {_guard(source, names)}{f' and {_guard(source, names)}' * (source.random() < 0.3)}:")
    for _ in range(source.randint(1, 2)):
        lines.append(f"{space}{'    ' * guard}{_place(source, names)} += 1.0")
    if guard and source.random() < 0.3:
        lines += [f"{space}else:", f"{space}    {_place(source, names)} += 1.0"]
    return ArrayProgram("\n".join(lines) + "\n", {}, ("n",))


def _guard(source: random.Random, names: list[str]) -> str:
    one, other = source.choice(names), source.choice(names)
    parity = source.choice((f"{one} % 2 == 0", f"{one} % 2 == 1", f"({one} + {other}) % 2 == 1"))
    others = f"{one} % 3 != 0", f"{one} % 4 == 2", f"(2*{one} + 1) % 4 == 3", f"({one} + {other}) % 3 < 2"
    return source.choice((parity, *others, f"{one} > 2", f"{one} + {other} < n"))


def _place(source: random.Random, names: list[str]) -> str:
    def subscript() -> str:
        one = source.choice(names)
        return source.choice((one, one, f"{one} + 1", f"2*{one}", f"{one} % 5", f"{one} % n", f"({one} + 3) % n"))

    return source.choice((f"x[{subscript()}, {subscript()}]", f"x[{names[0]}, {names[-1]}]", f"z[{subscript()}]"))


# Generated loops that begin or end at a remainder of the counters around them, as those of red and black points


MARGIN = 3
"""Places lie so far from the ends of arrays, or farther."""


def parity_program_from_seed(seed: int) -> ArrayProgram:
    """The program of a seed: sweeps over a matrix, each row of which begins and ends elsewhere."""
    source = random.Random(seed)
    layout = source.choice(("", "", " colmajor"))
    first = source.choice(("i", "i + t", "2*i + t", "i + 1", "3*i"))
    least, modulus, step = source.randrange(3), source.choice((2, 2, 3, 4)), source.choice(("", " step 2", " step 3"))
    lo = f"{MARGIN + least} + ({first}) % {modulus}"
    hi = f"m - {MARGIN}" if source.random() < 0.7 else f"m - {MARGIN} - ({first}) % {modulus}"
    body: Lines = []
    for _ in range(source.randint(1, 3)):
        body.append(
            f"            {_target(source)} += {' + '.join(_place_of_parity(source) for _ in range(source.randint(1, 3)))}"
        )
    lines = [
        f"algorithm main(A: inout real[n, m]{layout}, B: inout real[n, m], y: inout real[m], steps: size):",
        f"    where n >= {2 * MARGIN + 1}, m >= {2 * MARGIN + 8}",
        "    for t in 0..steps:",
        f"        for i in {MARGIN}..n - {MARGIN}:",
        f"            for j in {lo}..{hi}{step}:",
        *(f"    {each}" for each in body),
    ]
    shapes = {"A": ("n", "m"), "B": ("n", "m"), "y": ("m",)}
    return ArrayProgram("\n".join(lines) + "\n", shapes, ("n", "m", "steps"))


def _target(source: random.Random) -> str:
    return source.choice(("A[i, j]", "A[i, j]", "B[i, j]", "y[j]"))


def _place_of_parity(source: random.Random) -> str:
    def near(name: str) -> str:
        return name + source.choice(("", "", " - 1", " + 1", " + 2"))

    return source.choice((f"A[{near('i')}, {near('j')}]", f"B[{near('i')}, {near('j')}]", f"y[{near('j')}]"))


# Generated programs of affine loop nests: triangular, strided, guarded, one behind the other, with local arrays


LOOPS_AFFINE = ("0..n", "0..n", "1..n", "n - 1 downto 0", "0..n step 2", "0..{outer} + 1", "{outer}..n", "0..3")
PLACES = ("{0}", "{0}", "{0} + 1", "n + 3 - {0}", "2*{0}", "{0} + {1}", "n - {0} + {1}", "0", "{0}//2")
GUARDS_AFFINE = ("{0} % 2 == 0", "{0} + {1} >= n", "{0} >= 1", "{0} <= {1}", "{0} > 0 and {1} < n - 1")


def affine_program(seed: int) -> str:
    """An algorithm `main` of the size n >= 3; counters are below n, so that subscripts lie between 0 and 2*n + 7."""
    source = random.Random(seed)
    layout = source.choice(("", "", " colmajor"))
    head = f"algorithm main(A: inout real[2*n + 8, 2*n + 8]{layout}, x: inout real[2*n + 8], n: size):"
    body: list[str] = ["where n >= 3"]
    for _ in range(source.choice((1, 1, 2))):
        body += _nest_of_affine(source, [], source.choice((1, 2, 2, 3)), ["A", "x"])
    if source.random() < 0.2:
        body = [body[0], "for t in 0..2:", *indented(body[1:])]
    return "\n".join([head, *indented(body)]) + "\n"


def _nest_of_affine(source: random.Random, around: list[str], depth: int, arrays: list[str]) -> list[str]:
    if not depth:
        return _statements(source, around, arrays)
    variable = "ijk"[len(around)]
    range_ = source.choice(LOOPS_AFFINE).format(outer=around[-1] if around else "1")
    body: list[str] = []
    if source.random() < 0.2 and "W" not in arrays and "W2" not in arrays:
        extent = source.choice(("2*n + 8", "2*n + 9", "2*n + 8, 2"))
        body.append(f"local W: real[{extent}] = 0.5")
        arrays = [*arrays, "W" if "," not in extent else "W2"]
    if source.random() < 0.3:
        body += _statements(source, [*around, variable], arrays)
    body += _nest_of_affine(source, [*around, variable], depth - 1, arrays)
    return [f"for {variable} in {range_}:", *indented(body)]


def _statements(source: random.Random, around: list[str], arrays: list[str]) -> list[str]:
    op = source.choice(("=", "+=", "+="))
    line = f"{_element(source, around, arrays)} {op} {_element(source, around, arrays)}"
    if source.random() < 0.5:
        line += f"*{_element(source, around, arrays)}"
    if source.random() < 0.25:
        guard = source.choice(GUARDS_AFFINE).format(source.choice(around), source.choice(around))
        return [f"if {guard}:", *indented([line])]
    return [line]


def _element(source: random.Random, around: list[str], arrays: list[str]) -> str:
    def place() -> str:
        return source.choice(PLACES).format(source.choice(around), source.choice(around))

    array = source.choice(arrays)
    if array == "A":
        return f"A[{place()}, {place()}]"
    return f"W[{place()}, {source.choice((0, 1))}]" if array == "W2" else f"{array}[{place()}]"
