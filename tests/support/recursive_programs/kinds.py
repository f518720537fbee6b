"""The ways to divide: the body of a recursive algorithm for each."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from programs.choice import Chooser
from recursive_programs import splits
from recursive_programs.algorithm import Header, Maker, Parts, everything
from recursive_programs.model import Call, Case, Size, Sizes
from recursive_programs.nests import Lines, indented
from recursive_programs.splits import Part, Split

Others = Sequence[tuple[Header, Parts]]
Kind = Callable[[Maker, Header, Others], Lines]
LEAVES = ((4, 1), (2, 2), (2, 4), (2, 8))


def _counted(choose: Chooser, split: Split, most: int) -> list[Part]:
    """The parts that are called on: mostly each once, sometimes some of them, or one several times."""
    form = choose.weighted([(6, "each"), (2, "one"), (2, "same"), (2, "some")])
    if form == "each":
        return list(split.parts)
    part = choose.pick(split.parts)
    if form == "one":
        return [part]
    if form == "same":
        return [part] * choose.integer(2, most)
    return [choose.pick(split.parts) for _ in range(choose.integer(2, most))]


def on_axis(header: Header, name: str, parts: Sequence[Part]) -> list[Parts]:
    return [{**everything(header), name: part} for part in parts]


def leaf_size(choose: Chooser, split: Split) -> int:
    return max(choose.weighted(LEAVES), split.above)


def _branches(choose: Chooser, small: tuple[str, str], leaf: Callable[[], Lines], node: Callable[[], Lines]) -> Lines:
    """The leaf and the node, in either order; `small` says when the leaf is taken, and its opposite."""
    first, second = leaf(), node()
    if choose.chance(25):
        return [f"if {small[1]}:", *indented(second), "else:", *indented(first)]
    return [f"if {small[0]}:", *indented(first), "else:", *indented(second)]


def divide(name_of_split: str) -> Kind:
    """The first size by a split, the others as they are; sometimes with a second leaf for middle sizes."""

    def kind(maker: Maker, target: Header, others: Others) -> Lines:
        choose, header = maker.choose, maker.header
        n = header.sizes[0]
        split = getattr(splits, name_of_split)(choose, n)
        low = leaf_size(choose, split)
        most = 2 if name_of_split == "decrease" else 4
        chosen = on_axis(target, n, _counted(choose, split, most))
        if low == 1 and header.least == 1 and choose.chance(30):
            small = f"{n} == 1", f"{n} > 1"
        else:
            small = f"{n} <= {low}", f"{n} > {low}"
        if choose.chance(15):
            maker.features.add("middle leaf")
            high = low + choose.integer(1, 9)
            lines = [f"if {n} <= {low}:", *indented(maker.leaf(lambda sizes: sizes[n] <= low))]
            lines += [f"elif {n} <= {high}:", *indented(maker.leaf(lambda sizes: sizes[n] <= high))]
            return [*lines, "else:", *indented(maker.node(lambda sizes: True, target, chosen, split.lets, others))]
        return _branches(
            choose,
            small,
            lambda: maker.leaf(lambda sizes: sizes[n] <= low),
            lambda: maker.node(lambda sizes: sizes[n] > low, target, chosen, split.lets, others),
        )

    return kind


def argmax(maker: Maker, target: Header, others: Others) -> Lines:
    """The largest size is halved, down to a leaf in which all are small."""
    choose, header = maker.choose, maker.header
    names = header.sizes
    low = max(1, choose.weighted(LEAVES))
    lines = [f"if max({', '.join(names)}) <= {low}:"]
    lines += indented(maker.leaf(lambda sizes: max(sizes[name] for name in names) <= low))
    for number, name in enumerate(names):
        rest = names[number + 1 :] if choose.chance(60) else tuple(each for each in names if each != name)
        last = number == len(names) - 1
        if not last:
            largest = f"max({', '.join(rest)})" if len(rest) > 1 else rest[0]
            lines.append(f"elif {name} >= {largest}:")
        else:
            lines.append("else:")

        def when(sizes: Sizes, name: str = name, rest: tuple[str, ...] = rest, last: bool = last) -> bool:
            return last or sizes[name] >= max(sizes[each] for each in rest)

        lines += indented(_halved(maker, target, name, when, others if number == 0 else ()))
    return lines


def _halved(maker: Maker, target: Header, name: str, when: Callable[[Sizes], bool], others: Others = ()) -> Lines:
    split = splits.halves(maker.choose, name)
    while split.above > 1:
        split = splits.halves(maker.choose, name)
    chosen = on_axis(target, name, split.parts if maker.choose.chance(80) else _counted(maker.choose, split, 3))
    return maker.node(when, target, chosen, split.lets, others)


def cascade(maker: Maker, target: Header, others: Others) -> Lines:
    """One size down to its leaf, then the next."""
    choose, header = maker.choose, maker.header
    lines: Lines = []
    for number, name in enumerate(header.sizes):
        low = choose.weighted(LEAVES)

        def when(sizes: Sizes, name: str = name, low: int = low) -> bool:
            return sizes[name] > low

        lines.append(f"{'elif' if number else 'if'} {name} > {low}:")
        lines += indented(_halved(maker, target, name, when, others if number == 0 else ()))
    return [*lines, "else:", *indented(maker.leaf(lambda sizes: True))]


def quadrants(maker: Maker, target: Header, others: Others) -> Lines:
    """Every size is halved at once, or halved and decreased, as long as all are large."""
    choose, header = maker.choose, maker.header
    n, m = header.sizes[:2]
    first = splits.halves(choose, n)
    second = splits.decrease(choose, m) if choose.chance(15) else splits.halves(choose, m)
    low = max(choose.weighted(LEAVES), first.above, second.above)
    pairs = [(x, y) for x in first.parts for y in second.parts]
    if choose.chance(40):
        pairs = [choose.pick(pairs) for _ in range(choose.integer(1, 4))]
    chosen = [{**everything(target), n: x, m: y} for x, y in pairs]
    lets = (*first.lets, *second.lets)
    text = choose.pick((f"min({n}, {m}) <= {low}", f"{n} <= {low} or {m} <= {low}"))
    opposite = choose.pick((f"min({n}, {m}) > {low}", f"{n} > {low} and {m} > {low}"))
    return _branches(
        choose,
        (text, opposite),
        lambda: maker.leaf(lambda sizes: min(sizes[n], sizes[m]) <= low),
        lambda: maker.node(lambda sizes: min(sizes[n], sizes[m]) > low, target, chosen, lets, others),
    )


def parity(maker: Maker, target: Header, others: Others) -> Lines:
    """An even size is halved, an odd one made even."""
    choose, header = maker.choose, maker.header
    n = header.sizes[0]
    half = splits.halves(choose, n)
    odd = splits.decrease(choose, n)
    less = odd.parts[-1:]
    low = max(2, odd.above, leaf_size(choose, half))
    lines = [f"if {n} <= {low}:", *indented(maker.leaf(lambda sizes: sizes[n] <= low)), f"elif {n} % 2 == 0:"]
    chosen = on_axis(target, n, _counted(choose, half, 2))
    lines += indented(maker.node(lambda sizes: sizes[n] % 2 == 0, target, chosen, half.lets, others))
    return [*lines, "else:", *indented(maker.node(lambda sizes: True, target, on_axis(target, n, less)))]


def swap(maker: Maker, target: Header, others: Others) -> Lines:
    """The longer of two goes first and is halved."""
    choose, header = maker.choose, maker.header
    n, m = header.sizes[:2]
    turned = {n: splits.whole(m), m: splits.whole(n)}
    lines = [f"if {n} < {m}:"]
    arguments = ", ".join(
        [*((m, n) if header.style == "sizes" else (f"x_{m}", f"x_{n}")), *("d" if header.data else ())]
    )
    lines += [f"    {target.name}({arguments})"]
    maker.cases.append(
        Case(
            lambda sizes: sizes[n] < sizes[m],
            (Call(target.name, {name: part.length for name, part in turned.items()}),),
            (),
        )
    )
    low = choose.weighted(LEAVES)
    lines += [f"elif {n} > {low}:", *indented(_halved(maker, target, n, lambda sizes: sizes[n] > low, others))]
    return [*lines, "else:", *indented(maker.leaf(lambda sizes: True))]


def root(maker: Maker, target: Header, others: Others) -> Lines:
    """A power of 2 as a matrix: each of its rows, then each of its columns, which loops call on."""
    choose, header = maker.choose, maker.header
    n = header.sizes[0]
    split = splits.root(n)
    lines = [f"if {n} <= 2:", *indented(maker.leaf(lambda sizes: sizes[n] <= 2)), "else:"]
    body = list(split.lets)
    calls = []
    for length, times in (split.parts, split.parts[::-1]):
        if header.style == "sizes":
            part = Part(length.length)
        else:
            start = f"i*{length.length.text}"
            part = Part(length.length, start, f"{start} + {length.length.text}")
        parallel = "parallel " if choose.chance(50) else ""
        body += [f"{parallel}for i in 0..{times.length.text}:", f"    {target.call({n: part}, header)}"]
        calls.append(Call(target.name, {n: length.length}, times.length))
    text, nests = maker.work()
    maker.cases.append(Case(lambda sizes: True, tuple(calls), tuple(nests)))
    return [*lines, *indented([*body, *text])]


def looped(maker: Maker, target: Header, others: Others) -> Lines:
    """Equal parts, called on by a loop; what is left over is dropped."""
    choose, header = maker.choose, maker.header
    n = header.sizes[0]
    parts = choose.pick((2, 3, 4))
    low = max(parts - 1, choose.weighted(LEAVES))
    length = Size("h", lambda sizes: sizes[n] // parts)
    part = Part(length) if header.style == "sizes" else Part(length, "i*h", "(i + 1)*h")
    parallel = "parallel " if choose.chance(50) else ""
    count = choose.pick((parts, parts, 2))
    lines = [f"if {n} <= {low}:", *indented(maker.leaf(lambda sizes: sizes[n] <= low)), "else:"]
    text, nests = maker.work([length])
    call = Call(target.name, {n: length}, Size.constant(count))
    maker.cases.append(Case(lambda sizes: True, (call,), tuple(nests)))
    body = [f"let h = {n}//{parts}", f"{parallel}for i in 0..{count}:", f"    {target.call({n: part}, header)}", *text]
    return [*lines, *indented(body)]


def between(maker: Maker, target: Header, others: Others) -> Lines:
    """A range of indices, which may lie on both sides of 0, is cut in its middle or near its ends."""
    choose = maker.choose
    low, high = maker.header.sizes
    maker.features.add("indices")
    least = choose.weighted(LEAVES)
    width = Size(f"{high} - {low}", lambda sizes: sizes[high] - sizes[low])
    form = choose.weighted([(4, "middle"), (2, "third"), (1, "step")])
    if form == "step":
        cut = Size(f"{low} + 1", lambda sizes: sizes[low] + 1)
    elif form == "third":
        cut = Size(f"{low} + ({high} - {low})//3", lambda sizes: sizes[low] + (sizes[high] - sizes[low]) // 3)
        least = max(least, 2)
    elif choose.chance(50):
        cut = Size(f"({low} + {high})//2", lambda sizes: (sizes[low] + sizes[high]) // 2)
    else:
        cut = Size(f"{low} + ({high} - {low})//2", lambda sizes: sizes[low] + (sizes[high] - sizes[low]) // 2)
    chosen: list[Parts] = [{low: splits.whole(low), high: Part(cut)}, {low: Part(cut), high: splits.whole(high)}]
    if form == "step":
        chosen = chosen[1:]
    maker.only = (width, Size.constant(3))
    lines = [f"if {high} - {low} <= {least}:", *indented(maker.leaf(lambda s: s[high] - s[low] <= least)), "else:"]
    return [*lines, *indented(maker.node(lambda sizes: True, target, chosen, (), others))]
