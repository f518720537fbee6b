"""What a case of the standard library is, and the sizes that cases are drawn at."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
from hypothesis import strategies as st

Arguments = dict[str, Any]
Results = dict[str, Any]
Random = np.random.Generator
Build = Callable[..., Arguments]
Expected = Callable[[Any], Results]

SIZE = st.integers(1, 9)
GRID = st.integers(3, 9)


@dataclass(frozen=True)
class Case:
    """An algorithm: the sizes to draw for it, arguments made from them, and what its outputs must hold.

    `build` gives every parameter but the `out` ones; `expected` the `out` and `inout` ones, and `RETURNED`.
    """

    sizes: Mapping[str, st.SearchStrategy[int]]
    build: Build
    expected: Expected

    @property
    def arguments(self) -> st.SearchStrategy[Arguments]:
        """The arguments at drawn sizes, filled from a drawn seed."""
        return st.builds(self.at, st.integers(0, 2**32 - 1), **self.sizes)

    def at(self, seed: int, **sizes: int) -> Arguments:
        """The arguments at these sizes, filled from this seed."""
        return self.build(np.random.default_rng(seed), **sizes)

    def results(self, arguments: Arguments) -> Results:
        """What must come out for these arguments."""
        return self.expected(SimpleNamespace(**arguments))


def dominant(rng: Random, n: int) -> Arguments:
    """A matrix whose diagonal outweighs its rows and columns: every leading block of it is regular."""
    return {"A": rng.uniform(-1, 1, size=(n, n)) + 2 * n * np.eye(n)}
