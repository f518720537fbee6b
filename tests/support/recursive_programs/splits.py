"""How a size is divided: parts of 0..n with their lengths, and what n must be for each part to be shorter than n."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import isqrt

from programs.choice import Chooser
from recursive_programs.model import Size, Sizes


@dataclass(frozen=True)
class Part:
    """A stretch of 0..n. `start` and `end` are None where it is all of it."""

    length: Size
    start: str | None = None
    end: str | None = None
    step: int = 1

    @property
    def subscript(self) -> str:
        """The part as a subscript."""
        if self.start is None:
            return ":"
        return f"{self.start}..{self.end}" + (f" step {self.step}" if self.step > 1 else "")


@dataclass(frozen=True)
class Split:
    """Parts of a size, and the `let` lines before them. Every part is at least 1 and shorter where n > `above`."""

    lets: tuple[str, ...]
    parts: tuple[Part, ...]
    above: int


def whole(name: str) -> Part:
    """All of it."""
    return Part(Size.of(name))


def _cut(choose: Chooser, name: str, cut: str, value: Callable[[int], int], above: int) -> Split:
    """Two parts at a cut, whose text is in terms of n; sometimes the cut has a name."""
    text = cut.replace("n", name)
    lets: tuple[str, ...] = ()
    if choose.chance(50):
        lets, text = (f"let h_{name} = {text}",), f"h_{name}"

    def low(sizes: Sizes) -> int:
        return value(sizes[name])

    parts = (
        Part(Size(text, low), "0", text),
        Part(Size(f"{name} - {text}", lambda sizes: sizes[name] - low(sizes)), text, name),
    )
    return Split(lets, parts, above)


def halves(choose: Chooser, name: str) -> Split:
    """Two halves, rounded either way, or the elements at even and at odd places."""
    form = choose.weighted([(6, "down"), (3, "up"), (2, "strided"), (1, "overlapping")])
    if form == "strided":
        even = Part(Size(f"ceil({name}/2)", lambda sizes: -(-sizes[name] // 2)), "0", name, 2)
        odd = Part(Size(f"{name}//2", lambda sizes: sizes[name] // 2), "1", name, 2)
        return Split((), (even, odd), 1)
    if form == "overlapping":
        more = Size(f"{name}//2 + 1", lambda sizes: sizes[name] // 2 + 1)
        start = f"{name} - {name}//2 - 1"
        return Split((), (Part(more, "0", more.text), Part(more, start, name)), 2)
    if form == "up":
        return _cut(choose, name, "ceil(n/2)", lambda n: -(-n // 2), 1)
    return _cut(choose, name, "n//2", lambda n: n // 2, 1)


def thirds(choose: Chooser, name: str) -> Split:
    """Three thirds, of which the last is what is left."""
    third = Size(f"{name}//3", lambda sizes: sizes[name] // 3)
    rest = Size(f"{name} - 2*({name}//3)", lambda sizes: sizes[name] - 2 * (sizes[name] // 3))
    cuts = f"{name}//3", f"2*({name}//3)"
    lets: tuple[str, ...] = ()
    if choose.chance(50):
        lets, cuts = (f"let h_{name} = {name}//3",), (f"h_{name}", f"2*h_{name}")
        third = Size(f"h_{name}", third.value)
        rest = Size(f"{name} - 2*h_{name}", rest.value)
    return Split(lets, (Part(third, "0", cuts[0]), Part(third, *cuts), Part(rest, cuts[1], name)), 2)


def unequal(choose: Chooser, name: str) -> Split:
    """A part and the larger rest."""
    if choose.chance(30):
        return _cut(choose, name, "2*n//3", lambda n: 2 * n // 3, 1)
    divisor = choose.pick((3, 4, 5))
    return _cut(choose, name, f"n//{divisor}", lambda n: n // divisor, divisor - 1)


def decrease(choose: Chooser, name: str) -> Split:
    """All but the first few, or all but the last."""
    less = choose.weighted([(3, 1), (2, 2), (1, 3), (1, 10), (1, 25)])

    def shorter(less: int) -> Size:
        return Size(f"{name} - {less}", lambda sizes: sizes[name] - less)

    first = Part(shorter(less), str(less), name)
    last = Part(shorter(1), "0", f"{name} - 1")
    return Split((), (first, last) if choose.chance(40) else (first,), less)


def powers(choose: Chooser, name: str) -> Split:
    """Equal parts of a power of 2."""
    divisor = choose.weighted([(4, 2), (1, 4)])
    divide = choose.pick((f"{name}//{divisor}", f"{name}/{divisor}"))
    length = Size(f"h_{name}", lambda sizes: sizes[name] // divisor)
    ends = ["0", *(f"{k}*h_{name}" if k > 1 else f"h_{name}" for k in range(1, divisor)), name]
    parts = tuple(Part(length, ends[k], ends[k + 1]) for k in range(divisor))
    return Split((f"let h_{name} = {divide}",), parts, divisor - 1)


def root(name: str) -> Split:
    """A power of 2 as a product of two that are as equal as can be: lengths, whose starts depend on a loop."""

    def small(sizes: Sizes) -> int:
        return isqrt(sizes[name]) if isqrt(sizes[name]) ** 2 == sizes[name] else isqrt(sizes[name] // 2)

    p, q = Size("side", small), Size("rest", lambda sizes: sizes[name] // small(sizes))
    return Split((f"let side = 2^(log2({name})//2)", f"let rest = {name}/side"), (Part(p), Part(q)), 2)
