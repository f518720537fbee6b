"""A generated divide-and-conquer program: text, sizes it takes, data for them, and about how long a run is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from programs.choice import Chooser

Sizes = Mapping[str, int]
SMALL_RUN = 6_000
"""About how many steps a run in plain Python may take to be over in some hundredths of a second."""


@dataclass(frozen=True)
class Size:
    """An expression in sizes: its text, and its value."""

    text: str
    value: Callable[[Sizes], int]

    @staticmethod
    def of(name: str) -> Size:
        return Size(name, lambda sizes: sizes[name])

    @staticmethod
    def constant(number: int) -> Size:
        return Size(str(number), lambda sizes: number)


@dataclass(frozen=True)
class Call:
    """A call that a case makes, `times` over: who is called, and its sizes by its own names."""

    target: str
    sizes: Mapping[str, Size]
    times: Size | None = None


@dataclass(frozen=True)
class Case:
    """A way through a body, for the length of runs: when it is taken, its calls, and its loop nests as extents.

    The first of an algorithm's cases whose `when` holds is taken; where the data decides, its calls are all there are.
    """

    when: Callable[[Sizes], bool]
    calls: tuple[Call, ...]
    nests: tuple[tuple[Size, ...], ...]


class _TooLongError(Exception):
    """A run is longer than was allowed."""


@dataclass(frozen=True)
class RecursiveProgram:
    """A program whose entry is recursive. `sizes` are its entry's, in order; `powers` of them are powers of 2.

    `kind` names how it divides; `features` what else it holds. Arrays have `shapes`; sizes that
    no shape binds are `passed`, and so is a real where the program branches on one (`draws`).
    """

    text: str
    entry: str
    kind: str
    features: frozenset[str]
    sizes: tuple[str, ...]
    least: int
    powers: frozenset[str]
    shapes: Mapping[str, tuple[str, ...]]
    passed: tuple[str, ...]
    cases: Mapping[str, tuple[Case, ...]]
    draws: bool

    @property
    def is_range(self) -> bool:
        """Whether the entry takes two ends of a range in place of sizes."""
        return self.sizes == ("lo", "hi")

    @property
    def data(self) -> bool:
        """Whether the data decides part of the cost."""
        return "data" in self.features

    def choose_sizes(self, choose: Chooser, most: int = SMALL_RUN) -> dict[str, int]:
        """Sizes at which a run is short: 1, odd, even, powers of 2, equal and very unequal ones."""
        if self.is_range:
            low = choose.integer(-9, 9)
            width = self._choose(choose, "")
            while self.length({"lo": low, "hi": low + width}, most) > most:
                width = width * 3 // 4
            return {"lo": low, "hi": low + width}
        sizes = {name: self._choose(choose, name) for name in self.sizes}
        while self.length(sizes, most) > most:
            largest = max(sizes, key=lambda name: sizes[name])
            if sizes[largest] <= max(1, self.least):
                break
            sizes[largest] = sizes[largest] // 2 if largest in self.powers else max(1, sizes[largest] * 3 // 4)
        return sizes

    def far_sizes(self, size: int) -> dict[str, int]:
        """Sizes near one that is too large for runs, all different."""
        if self.is_range:
            return {"lo": -3, "hi": size - 3}
        return {
            name: 1 << size.bit_length() if name in self.powers else size + 7 * number
            for number, name in enumerate(self.sizes)
        }

    def _choose(self, choose: Chooser, name: str) -> int:
        if name in self.powers:
            return 2 ** choose.integer(0, 7)
        scale = choose.weighted([(2, 3), (4, 12), (4, 40), (2, 130)])
        value = choose.integer(self.least, scale)
        return 2 ** (value.bit_length() - 1) if value and choose.chance(20) else value

    def length(self, sizes: Sizes, most: int = SMALL_RUN) -> int:
        """About how many steps a run takes; more than `most` where it is longer than that."""
        known: dict[tuple[str, tuple[int, ...]], int] = {}

        def run(name: str, here: Mapping[str, int], depth: int) -> int:
            key = name, tuple(here.values())
            if key not in known:
                if depth > 300:
                    raise _TooLongError
                case = next(case for case in self.cases[name] if case.when(here))
                total = 1 + sum(_nest(nest, here) for nest in case.nests)
                for call in case.calls:
                    times = 1 if call.times is None else call.times.value(here)
                    there = {each: value.value(here) for each, value in call.sizes.items()}
                    total += times * run(call.target, there, depth + 1)
                if total > most:
                    raise _TooLongError
                known[key] = total
            return known[key]

        try:
            return run(self.entry, dict(sizes), 0)
        except _TooLongError:
            return most + 1

    def arguments(self, sizes: Sizes, seed: int = 0) -> dict[str, object]:
        """Data for the entry's parameters: arrays of reals, sizes that no shape binds, one real for branches on data."""
        source = np.random.default_rng(seed)
        found: dict[str, object] = {
            name: source.uniform(0.0, 1.0, tuple(sizes[each] for each in shape)) for name, shape in self.shapes.items()
        }
        found |= {name: sizes[name] for name in self.passed}
        found |= {"d": float(source.uniform(0.0, 1.0))} if self.draws else {}
        return found


def _nest(extents: tuple[Size, ...], sizes: Sizes) -> int:
    total = 1
    for extent in extents:
        total *= max(0, extent.value(sizes)) + 1
    return total
