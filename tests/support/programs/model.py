"""A generated program, the sizes it takes, and data for them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

from programs.choice import Chooser, Drawn
from programs.scope import Parameter

LARGEST = 6


@dataclass(frozen=True)
class Facts:
    """What the `where` lines say: least values, powers of 2, (divisor, multiple) pairs."""

    least: Mapping[str, int]
    powers: frozenset[str]
    divisors: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class GeneratedProgram:
    """A program that is well formed, ends, stays in bounds and has no race, at all sizes its facts allow.

    `size_names` are the sizes to choose; those named by `longest` follow from the data (`bindings` gives them all).
    `inexact` says why the cost can only be bounded, `irregular` why no closed form need be expected of an exact cost.
    """

    text: str
    entry: str
    parameters: tuple[Parameter, ...]
    size_names: tuple[str, ...]
    facts: Facts
    features: frozenset[str]
    inexact: frozenset[str]
    irregular: frozenset[str]

    @property
    def has_data_branch(self) -> bool:
        """Whether a branch or loop on data, or anything else, makes bounds the best that can be said."""
        return bool(self.inexact)

    @property
    def closes(self) -> bool:
        """Whether an exact symbolic analysis can be expected to find closed forms."""
        return not self.inexact and not self.irregular

    @property
    def declared(self) -> bool:
        """Whether the cost rests on declared costs."""
        return "declared" in self.features

    def sizes(self) -> st.SearchStrategy[dict[str, int]]:
        """Sizes that satisfy the facts: 1 to 6, odd and even."""

        @st.composite
        def build(draw: st.DrawFn) -> dict[str, int]:
            return self.choose_sizes(Drawn(draw))

        return build()

    def choose_sizes(self, choose: Chooser) -> dict[str, int]:
        """Sizes that satisfy the facts."""
        sizes: dict[str, int] = {}
        for name in self.size_names:
            if name in self.facts.powers:
                sizes[name] = choose.pick((1, 2, 4))
            else:
                sizes[name] = choose.integer(self.facts.least.get(name, 1), 9 if name.startswith("nz") else LARGEST)
        for divisor, multiple in self.facts.divisors:
            sizes[divisor] = choose.integer(1, 3)
            sizes[multiple] = sizes[divisor] * choose.integer(1, LARGEST // sizes[divisor])
        return sizes

    def arguments(self, sizes: Mapping[str, int], seed: int = 0) -> dict[str, object]:
        """Data for the entry's parameters by name: numpy arrays (float64, int64), and Python numbers."""
        source = np.random.default_rng(seed)
        return {parameter.name: _argument(parameter, sizes, source) for parameter in self.parameters}

    def bindings(self, sizes: Mapping[str, int], arguments: Mapping[str, object]) -> dict[str, int]:
        """All sizes by name: the chosen ones, and the longest gaps of the offsets."""
        found = dict(sizes)
        for parameter in self.parameters:
            if parameter.longest is not None:
                gaps = np.diff(np.asarray(arguments[parameter.name]))
                found[parameter.longest] = int(gaps.max())
        return found


def _argument(parameter: Parameter, sizes: Mapping[str, int], source: np.random.Generator) -> object:
    if parameter.kind == "size":
        return sizes[parameter.name]
    if parameter.kind == "real":
        return float(source.uniform(0.1, 1.0))
    if parameter.kind == "int":
        return int(source.integers(0, 9))
    shape = tuple(extent.value(sizes) for extent in parameter.shape)
    if parameter.kind == "array":
        if parameter.element == "real":
            return source.uniform(0.1, 1.0, shape)
        return source.integers(0, 9, shape)
    below = parameter.below.value(sizes)
    if parameter.kind == "index_array":
        return source.integers(0, below, shape)
    cuts = np.sort(source.integers(0, below, shape[0] - 1, endpoint=True))
    return np.concatenate([[0], cuts, [below]]).astype(np.int64)
