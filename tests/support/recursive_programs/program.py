"""Whole programs: an entry of one kind, sometimes with a helper or a second recursive algorithm."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import strategies as st

from programs.choice import Chooser, Drawn, Seeded
from recursive_programs import data_kinds, kinds
from recursive_programs.algorithm import Header, Maker, Parts
from recursive_programs.kinds import Kind
from recursive_programs.model import Case, RecursiveProgram, Size
from recursive_programs.nests import Lines
from recursive_programs.splits import Part

ENTRY = "main"


@dataclass(frozen=True)
class Recipe:
    """A kind of program: how its entry divides, how many sizes it has, and what it may be made of."""

    weight: int
    body: Kind
    sizes: tuple[int, ...] = (1,)
    styles: tuple[str, ...] = ("vectors", "sizes")
    power: bool = False
    data: bool = False
    degree: int = 3
    returns: bool = True
    decreases: str | None = None
    least: int | None = None
    names: tuple[str, ...] = ("n", "m", "p")


KINDS: dict[str, Recipe] = {
    "halves": Recipe(7, kinds.divide("halves")),
    "thirds": Recipe(3, kinds.divide("thirds")),
    "unequal": Recipe(4, kinds.divide("unequal")),
    "decrease": Recipe(3, kinds.divide("decrease")),
    "powers": Recipe(4, kinds.divide("powers"), power=True),
    "rows": Recipe(3, kinds.divide("halves"), (2, 3), ("vectors", "sizes", "matrix")),
    "argmax": Recipe(4, kinds.argmax, (2, 2, 3), ("vectors", "sizes", "matrix")),
    "cascade": Recipe(2, kinds.cascade, (2,), ("vectors", "sizes", "matrix")),
    "quadrants": Recipe(3, kinds.quadrants, (2,), ("vectors", "sizes", "matrix")),
    "swap": Recipe(1, kinds.swap, (2,), returns=False, decreases="n + m, max(0, m - n)"),
    "parity": Recipe(2, kinds.parity),
    "either": Recipe(2, data_kinds.either, data=True),
    "root": Recipe(1, kinds.root, power=True, returns=False, degree=1),
    "looped": Recipe(2, kinds.looped, returns=False),
    "two": Recipe(4, kinds.divide("halves")),
    "two powers": Recipe(1, kinds.divide("powers"), power=True),
    "pivot": Recipe(2, data_kinds.pivot, styles=("vectors",), least=0),
    "narrow": Recipe(2, data_kinds.narrow, styles=("vectors",), data=True),
    "range": Recipe(2, kinds.between, (2,), ("range",), names=("lo", "hi"), decreases="hi - lo"),
    "mutual": Recipe(2, kinds.divide("halves")),
}
"""The kinds of programs by name. "two" call a second recursive algorithm, which in "mutual" calls back."""


def recursive_programs() -> st.SearchStrategy[RecursiveProgram]:
    """A strategy for programs; failing ones shrink towards halves without work."""

    @st.composite
    def build(draw: st.DrawFn) -> RecursiveProgram:
        return generate(Drawn(draw))

    return build()


def recursive_program_from_seed(seed: int, kind: str | None = None) -> RecursiveProgram:
    """The program of a seed, of a kind if one is named, without Hypothesis."""
    return generate(Seeded(seed), kind)


def generate(choose: Chooser, kind: str | None = None) -> RecursiveProgram:
    """A program, by the choices made."""
    kind = kind or choose.weighted([(recipe.weight, name) for name, recipe in KINDS.items()])
    recipe = KINDS[kind]
    sizes = recipe.names[: choose.pick(recipe.sizes)]
    header = Header(
        ENTRY,
        sizes,
        choose.pick([each for each in recipe.styles if each != "matrix" or len(sizes) > 1]),
        recipe.returns and choose.chance(15),
        recipe.least if recipe.least is not None else 0 if not recipe.power and choose.chance(10) else 1,
        recipe.power,
        recipe.data or choose.chance(15),
    )
    features: set[str] = set()
    maker = Maker(choose, header, min(recipe.degree, 3), features)
    texts: list[Lines] = []
    cases = {}
    others: list[tuple[Header, Parts]] = []
    target = header
    if kind in ("two", "two powers", "mutual"):
        second = _second(choose, header, kind == "mutual")
        part = Maker(choose, second, 2, features)
        body = kinds.divide(choose.pick(("halves", "decrease", "unequal")))
        texts.append(part.text(body(part, header if kind == "mutual" else second, ())))
        cases[second.name] = tuple(part.cases)
        if kind != "mutual":
            size = second.sizes[0]
            others.append((second, {size: _of(choose, header)}))
        else:
            target = second
    elif recipe.styles != ("range",) and choose.chance(12):
        helper, lines, found = _helper(choose, header, features)
        texts.append(lines)
        cases[helper.name] = found
        others.append((helper, {helper.sizes[0]: _of(choose, header)}))
    body_lines = recipe.body(maker, target, tuple(others))
    texts.append(maker.text(body_lines, recipe.decreases))
    cases[ENTRY] = tuple(maker.cases)
    return RecursiveProgram(
        "\n\n".join("\n".join(lines) for lines in texts) + "\n",
        ENTRY,
        kind,
        frozenset(features),
        sizes,
        header.least,
        frozenset(sizes) if header.power else frozenset(),
        header.arrays,
        sizes if header.style in ("sizes", "range") else (),
        cases,
        header.data,
    )


def _of(choose: Chooser, header: Header) -> Part:
    """What another algorithm is called on: all of the first size, or where no array is divided, more of it."""
    n = header.sizes[0]
    if header.style != "sizes" or choose.chance(60):
        return Part(Size.of(n))
    return Part(
        choose.pick(
            (
                Size(f"{n} + 2", lambda sizes: sizes[n] + 2),
                Size(f"2*{n}", lambda sizes: 2 * sizes[n]),
                Size(f"({n} + 1)//2", lambda sizes: (sizes[n] + 1) // 2),
            )
        )
    )


def _second(choose: Chooser, entry: Header, mutual: bool) -> Header:
    """Another recursive algorithm; where it calls back, it has the same parameters."""
    sizes = entry.sizes if mutual else ("k",)
    return Header("turn" if mutual else "part", sizes, entry.style, entry.returns, entry.least, False, entry.data)


def _helper(choose: Chooser, entry: Header, features: set[str]) -> tuple[Header, Lines, tuple[Case, ...]]:
    """An algorithm of loops alone."""
    features.add("helper")
    style = "vectors" if entry.style == "vectors" else "sizes"
    header = Header("helper", ("k",), style, False, entry.least, False, entry.data)
    maker = Maker(choose, header, 2, features)
    lines = maker.leaf(lambda sizes: True)
    return header, maker.text(lines), tuple(maker.cases)
