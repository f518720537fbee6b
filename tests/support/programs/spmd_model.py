"""What generated programs for a grid of processors are made of: grids, callees, and the place of a statement."""

from __future__ import annotations

from dataclasses import dataclass, field

from programs.choice import Chooser

Lines = list[str]
Point = dict[str, int]
MAX_PROCESSORS = 24
METHODS = {
    "broadcast": ("tree", "naive", "chain", "scatter_allgather"),
    "reduce": ("tree", "naive", "reduce_scatter_gather"),
    "allreduce": ("recursive_doubling", "reduce_scatter_allgather", "ring", "tree"),
    "scan": ("recursive_doubling", "chain"),
    "gather": ("tree", "naive"),
    "scatter": ("tree", "naive"),
    "allgather": ("bruck", "recursive_doubling", "ring", "naive"),
    "reduce_scatter": ("recursive_halving", "ring", "naive"),
    "alltoall": ("naive", "bruck"),
}
ROOTED = {"broadcast": "from", "reduce": "onto", "gather": "onto", "scatter": "from"}
COMBINING = frozenset(("reduce", "allreduce", "scan", "reduce_scatter"))


@dataclass(frozen=True)
class Spmd:
    """The text of a program whose last algorithm is run, the points to run it at, and what it uses."""

    text: str
    points: tuple[Point, ...]
    features: frozenset[str]


@dataclass(frozen=True)
class Grid:
    """Axes with their extents; the sizes these take, the facts they need, and the coordinates that trade places."""

    axes: tuple[tuple[str, str], ...]
    sizes: tuple[str, ...] = ()
    facts: tuple[str, ...] = ()
    square: bool = False
    within: str = ""

    @property
    def text(self) -> str:
        return ", ".join(f"{name}: {extent}{' within node' * (name == self.within)}" for name, extent in self.axes)

    @property
    def uses_processors(self) -> bool:
        return any("P" in extent for _, extent in self.axes)


GRIDS = (
    Grid((("t", "P"),)),
    Grid((("t", "a"),), ("a",)),
    Grid((("i", "a"), ("j", "b")), ("a", "b")),
    Grid((("i", "a"), ("j", "a")), ("a",), square=True),
    Grid((("t", "P/c"), ("k", "c")), ("c",), ("c divides P",)),
    Grid((("i", "a"), ("j", "b"), ("k", "c")), ("a", "b", "c")),
    Grid((("i", "a"), ("u", "b")), ("a", "b"), within="u"),
    Grid((("i", "a"), ("u", "c"), ("j", "b")), ("a", "b", "c"), within="u"),
)


@dataclass(frozen=True)
class Callee:
    """An algorithm on a grid of one axis, or of two whose extents are arguments, that updates a vector."""

    name: str
    axes: int
    shifted: bool


@dataclass
class Context:
    """What statements are made from. `taken` are the axes that control flow depends on here."""

    choose: Chooser
    axes: tuple[tuple[str, str], ...]
    size: str
    features: set[str]
    square: bool = False
    roots: tuple[str, ...] = ()
    amounts: tuple[str, ...] = ()
    callees: tuple[Callee, ...] = ()
    variables: tuple[str, ...] = ()
    taken: frozenset[str] = frozenset()
    depth: int = 0
    names: list[int] = field(default_factory=lambda: [0])

    def fresh(self, stem: str) -> str:
        self.names[0] += 1
        return f"{stem}{self.names[0]}"

    def free(self) -> list[tuple[str, str]]:
        """The axes along which all processors are here."""
        return [axis for axis in self.axes if axis[0] not in self.taken]

    def uniform(self, axis: str) -> str:
        """An integer that is the same all along an axis."""
        options = ["1", "2", "3", *self.amounts, *self.variables, self.size]
        options += [name for name, _ in self.axes if name != axis]
        chosen = self.choose.pick(options)
        return self.choose.weighted([(6, chosen), (2, f"-{chosen}"), (1, f"2*{chosen} + 1")])

    def extent(self) -> str:
        return self.choose.pick([self.size, "3", f"{self.size}//2", *(extent for _, extent in self.axes)])
