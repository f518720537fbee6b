"""One recursive algorithm: its header, a base case or several, and calls on parts with work around them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from programs.choice import Chooser
from recursive_programs.model import Call, Case, Size, Sizes
from recursive_programs.nests import Lines, Nest, indented, work
from recursive_programs.splits import Part, whole

Parts = Mapping[str, Part]


@dataclass(frozen=True)
class Header:
    """What a call needs to know: the parameters' style ("vectors", "matrix", "sizes"), and whether a value comes back.

    Of "vectors" each size has its own array; "sizes" are passed as they are.
    """

    name: str
    sizes: tuple[str, ...]
    style: str
    returns: bool
    least: int
    power: bool
    data: bool

    @property
    def arrays(self) -> dict[str, tuple[str, ...]]:
        """The shapes of the arrays, by name."""
        if self.style in ("sizes", "range"):
            return {}
        if self.style == "matrix":
            return {"A": self.sizes}
        return {f"x_{size}": (size,) for size in self.sizes}

    @property
    def parameters(self) -> str:
        """The parameters as text."""
        arrays = [f"{name}: real[{', '.join(shape)}]" for name, shape in self.arrays.items()]
        passed = [f"{name}: {'size' if self.style == 'sizes' else 'index'}" for name in self.sizes if not arrays]
        return ", ".join([*arrays, *passed, *(["d: real"] if self.data else [])])

    @property
    def facts(self) -> list[str]:
        """The `where` line, if there is one."""
        if self.style == "range":
            return [f"where {self.sizes[0]} {'<=' if self.least == 0 else '<'} {self.sizes[1]}"]
        facts = [f"{size} >= 0" for size in self.sizes] if self.least == 0 else []
        facts += [f"{size} is power of 2" for size in self.sizes] if self.power else []
        return [f"where {', '.join(facts)}"] if facts else []

    def call(self, parts: Parts, caller: Header) -> str:
        """A call from `caller` on parts of its sizes, given for each of this algorithm's sizes."""
        if self.style in ("sizes", "range"):
            arguments = [parts[size].length.text for size in self.sizes]
        elif self.style == "matrix":
            subscripts = [parts[size].subscript for size in self.sizes]
            arguments = ["A" if set(subscripts) == {":"} else f"A[{', '.join(subscripts)}]"]
        else:
            arguments = [self._vector(parts[size], size, caller) for size in self.sizes]
        return f"{self.name}({', '.join([*arguments, *(['d'] if self.data else [])])})"

    def _vector(self, part: Part, size: str, caller: Header) -> str:
        name = f"x_{size}" if size in caller.sizes else f"x_{caller.sizes[0]}"
        return name if part.subscript == ":" else f"{name}[{part.subscript}]"


@dataclass
class Maker:
    """What is written so far of an algorithm, and what is known of its cases."""

    choose: Chooser
    header: Header
    degree: int
    features: set[str]
    cases: list[Case] = field(default_factory=list)
    only: tuple[Size, ...] = ()

    def extents(self, more: Sequence[Size] = ()) -> list[Size]:
        """Extents of loops: sizes above all, lengths of parts, sums and minima; or those alone that the kind gives."""
        if self.only:
            return list(self.only)
        names = self.header.sizes
        plain = [Size.of(name) for name in names]
        extents = [*plain, *plain, *more, Size.constant(3)]
        if len(names) > 1:
            first, second = names[:2]
            extents.append(Size(f"{first} + {second}", lambda sizes: sizes[first] + sizes[second]))
            extents.append(Size(f"min({first}, {second})", lambda sizes: min(sizes[first], sizes[second])))
        return extents

    def work(self, more: Sequence[Size] = ()) -> tuple[Lines, list[Nest]]:
        """Loop work."""
        condition = "d < 0.5" if self.header.data else None
        return work(self.choose, self.extents(more), self.degree, condition, self.features)

    def leaf(self, when: Callable[[Sizes], bool]) -> Lines:
        """A case without calls."""
        lines, nests = self.work() if self.choose.chance(75) else (["pass"], [])
        self.cases.append(Case(when, (), tuple(nests)))
        return lines

    def node(
        self,
        when: Callable[[Sizes], bool],
        target: Header,
        chosen: Sequence[Parts],
        lets: Sequence[str] = (),
        others: Sequence[tuple[Header, Parts]] = (),
    ) -> Lines:
        """A case with calls of `target` on each of `chosen`, and of others, with work before, between and after."""
        lengths = [part.length for parts in chosen[:1] for part in parts.values() if part.start is not None]
        calls = [Call(target.name, {name: part.length for name, part in parts.items()}) for parts in chosen]
        calls += [Call(each.name, {name: part.length for name, part in parts.items()}) for each, parts in others]
        lines, nests = [*lets], []
        for place in range(2):
            if self.choose.chance((35, 20)[place]):
                text, found = self.work(lengths)
                lines += text
                nests += found
            if place == 0:
                lines += self.group(target, chosen)
        for each, parts in others:
            lines += self.group(each, [parts])
        if self.choose.chance(45):
            text, found = self.work(lengths)
            lines += text
            nests += found
        self.cases.append(Case(when, tuple(calls), tuple(nests)))
        return lines

    def group(self, target: Header, chosen: Sequence[Parts]) -> Lines:
        """Calls one after the other or at once, sometimes in two groups."""
        if target.returns:
            return [line for number, parts in enumerate(chosen) for line in self._value(target, parts, number)]
        form = self.choose.weighted([(4, "serial"), (5, "spawn"), (2, "beside"), (1, "groups")])
        calls = [target.call(parts, self.header) for parts in chosen]
        if form == "serial" or (form == "groups" and len(calls) < 3):
            return calls
        self.features.add("spawn")
        if form == "groups":
            half = len(calls) // 2
            first, second = ([f"spawn {call}" for call in part] for part in (calls[:half], calls[half:]))
            return [*first, "sync", *second, "sync"]
        last = calls[-1] if form == "beside" else f"spawn {calls[-1]}"
        # Sometimes what follows runs beside, up to the end of the algorithm.
        return [*(f"spawn {call}" for call in calls[:-1]), last, *(["sync"] if self.choose.chance(85) else [])]

    def _value(self, target: Header, parts: Parts, number: int) -> Lines:
        self.features.add("returns")
        name = f"v{number}{target.name[0]}"
        call = target.call(parts, self.header)
        return [f"s = {call}"] if self.choose.chance(40) else [f"local {name}: real = {call}", f"s += {name}"]

    def text(self, body: Lines, decreases: str | None = None) -> Lines:
        """The whole algorithm."""
        arrow = " -> real" if self.header.returns else ""
        lines = [*self.header.facts, *([f"decreases {decreases}"] if decreases else []), "local s: real = 0"]
        if self.choose.chance(15):
            text, nests = self.work()
            lines += text
            self.cases = [Case(case.when, case.calls, (*case.nests, *nests)) for case in self.cases]
        lines += body
        if self.choose.chance(15):
            text, nests = self.work()
            lines += text
            self.cases = [Case(case.when, case.calls, (*case.nests, *nests)) for case in self.cases]
        lines += ["return s"] if self.header.returns else []
        return [f"algorithm {self.header.name}({self.header.parameters}){arrow}:", *indented(lines)]


def everything(header: Header) -> dict[str, Part]:
    """All of each size."""
    return {name: whole(name) for name in header.sizes}
