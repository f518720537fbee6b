"""What a generated statement may use: indices, arrays, scalars, and how strands may touch them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from programs.choice import Chooser
from programs.extents import Extent

INDEX_NAMES = ("i", "j", "k", "l", "u", "v", "q", "r")
MAX_DEPTH = 4
MAX_WEIGHT = 700
TYPICAL = 5


@dataclass(frozen=True)
class Index:
    """A loop variable: 0 <= name < domain (no domain: only not negative).

    `full`: it takes each value of its domain once. `free`: its bounds depend on no other variable.
    """

    name: str
    domain: Extent | None
    full: bool = False
    free: bool = True
    parallel: bool = False


@dataclass(frozen=True)
class Array:
    """An array or a view in scope.

    access: "ro", "rw", "atomic" (only atomic updates) or "none" (another strand's). `fixed` gives, by dimension, the
    subscripts that belong to this strand. Views of one array share its `root`. Values of an array of rank r may
    depend on those of lower ranks without growing; rank 0 holds small values that never change.
    """

    name: str
    element: str
    shape: tuple[Extent, ...]
    access: str
    root: str
    rank: int
    fixed: tuple[tuple[int, tuple[str, ...]], ...] = ()
    below: Extent | None = None
    layout: str = "rowmajor"

    @property
    def readable(self) -> bool:
        return self.access in ("ro", "rw")

    @property
    def free_dimensions(self) -> list[int]:
        taken = {dimension for dimension, _ in self.fixed}
        return [dimension for dimension in range(len(self.shape)) if dimension not in taken]


@dataclass(frozen=True)
class Offsets:
    """An `offsets` parameter: `count` segments, `total` entries, and whether its longest gap has a name."""

    name: str
    count: Extent
    total: Extent
    longest: bool


@dataclass(frozen=True)
class Scalar:
    """A register, or a parameter passed by value (then not writable, rank 0)."""

    name: str
    kind: str
    rank: int
    writable: bool


@dataclass
class Scope:
    """The names in sight. `weight` estimates how often this place runs; `sealed` indices stay out of bounds."""

    names: set[str]
    extents: list[Extent]
    positive: frozenset[str]
    indices: list[Index] = field(default_factory=list)
    arrays: list[Array] = field(default_factory=list)
    offsets: list[Offsets] = field(default_factory=list)
    scalars: list[Scalar] = field(default_factory=list)
    weight: int = 1
    depth: int = 0
    sealed: frozenset[str] = frozenset()
    guarded: bool = False
    powers: frozenset[str] = frozenset()
    divisors: tuple[tuple[str, str], ...] = ()

    def child(self) -> Scope:
        """A scope for a block inside."""
        return replace(
            self,
            names=set(self.names),
            extents=list(self.extents),
            indices=list(self.indices),
            arrays=list(self.arrays),
            offsets=list(self.offsets),
            scalars=list(self.scalars),
        )

    def fresh(self, pool: Iterable[str]) -> str:
        """A name of the pool that is not in scope, numbered if all are."""
        pool = tuple(pool)
        number = 0
        while True:
            for name in pool:
                candidate = name if number == 0 else f"{name}{number}"
                if candidate not in self.names:
                    self.names.add(candidate)
                    return candidate
            number += 1

    def nonempty(self, extent: Extent) -> bool:
        """Whether the extent is known to be at least 1 here."""
        running = {index.domain.plain for index in self.indices if index.domain is not None}
        known = self.positive | running
        return any(all(name in known for name in names) for names, _ in extent.terms)

    @property
    def size_names(self) -> list[str]:
        """The sizes that stand for themselves in some extent, but for the totals of offsets."""
        names = {extent.plain for extent in self.extents}
        return sorted(name for name in names if name is not None and not name.startswith("nz"))

    def top_rank(self) -> int:
        return max((each.rank for each in (*self.arrays, *self.scalars)), default=0)

    def without(self, roots: Iterable[str], access: str) -> None:
        """Change the access of all views of some arrays."""
        roots = set(roots)
        self.arrays = [replace(each, access=access) if each.root in roots else each for each in self.arrays]


@dataclass
class Context:
    """The state of one algorithm's generation."""

    choose: Chooser
    menu: frozenset[str]
    budget: int
    callees: tuple[Callee, ...] = ()
    externs: tuple[str, ...] = ()
    features: set[str] = field(default_factory=set)
    # Why the cost can only be bounded, and why a closed form is not to be expected though the cost is exact.
    inexact: set[str] = field(default_factory=set)
    irregular: set[str] = field(default_factory=set)
    # How loop counts and guards move with an index, and the offsets whose segments it picks, by its name.
    moves: dict[str, set[str]] = field(default_factory=dict)
    segments: dict[str, set[str]] = field(default_factory=dict)
    max_depth: int = MAX_DEPTH

    def depend(self, index: str, direction: str) -> None:
        self.moves.setdefault(index, set()).add(direction)

    def wants(self, feature: str) -> bool:
        return feature in self.menu

    def spend(self, scope: Scope, cost: int = 1) -> bool:
        """Take the cost of running something here off the budget; False where it does not fit."""
        if self.budget < cost * scope.weight:
            return False
        self.budget -= cost * scope.weight
        return True


@dataclass(frozen=True)
class Parameter:
    """A parameter: its kind is size, index, real, int, array, index_array or offsets."""

    name: str
    kind: str
    element: str = "real"
    shape: tuple[Extent, ...] = ()
    mode: str = "in"
    layout: str = "rowmajor"
    below: Extent | None = None
    longest: str | None = None

    @property
    def text(self) -> str:
        mode = f"{self.mode} " if self.mode != "in" else ""
        layout = f" {self.layout}" if self.layout != "rowmajor" else ""
        shape = ", ".join(extent.text for extent in self.shape)
        match self.kind:
            case "array":
                return f"{self.name}: {mode}{self.element}[{shape}]{layout}"
            case "index_array":
                return f"{self.name}: index[{shape}] below {self.below.text}"
            case "offsets":
                tail = f" longest {self.longest}" if self.longest else ""
                return f"{self.name}: offsets[{shape}] into {self.below.text}{tail}"
            case _:
                return f"{self.name}: {self.kind}"


@dataclass(frozen=True)
class Callee:
    """An algorithm that later ones may call. `tame`: its `in` arrays must hold small values (rank 0)."""

    name: str
    parameters: tuple[Parameter, ...]
    result: str | None
    cost: int
    tame: bool
    empty_ok: bool
    features: frozenset[str]
    inexact: frozenset[str]
    irregular: frozenset[str]
    parallel: bool
