"""The algorithms of the standard library as targets; those that recurse take long to derive."""

from __future__ import annotations

from archline.language.call_graph import recurses
from archline.language.loader import load_target, stdlib_modules

QUICK = (
    "scan.recursive::sum_tree",
    "fft.fft::fft",
    "sort.mergesort::mergesort",
    "dense.transpose_recursive::transpose_co",
)
"""Recursive ones that stand for all where every format or size is tried."""


def _recurses(target: str) -> bool:
    module, algorithm = load_target(target)
    assert algorithm is not None
    return recurses(module, algorithm)


def _algorithms(module: str) -> list[str]:
    loaded, _ = load_target(module)
    return [f"{module}::{name}" for name in loaded.algorithms]


ALL = [target for module in stdlib_modules() for target in _algorithms(module)]
TRIED = [target for target in ALL if target in QUICK or not _recurses(target)]
"""All that do not recurse, and a few that do."""
_POLYBENCH = {"polybench.correlation", "polybench.deriche", "polybench.durbin"}
MODULES = [
    module
    for module in stdlib_modules()
    if set(_algorithms(module)) <= set(TRIED) and (module in _POLYBENCH or not module.startswith("polybench."))
]
"""Modules of nothing else; three kernels of PolyBench stand for all where every format is tried."""
