"""The algorithms of the standard library as targets; those that recurse take long to derive.

Read from the cases, so that collecting tests loads no module; `test_stdlib_runs` compares with the library.
"""

from __future__ import annotations

from functools import cache

import archline as al
from stdlib_cases import CASES
from stdlib_recursive_cases import HELPERS, RECURSIVE

QUICK = (
    "scan.recursive::sum_tree",
    "fft.fft::fft",
    "sort.mergesort::mergesort",
    "dense.transpose_recursive::transpose_co",
)
"""Recursive ones that stand for all where every format or size is tried."""

BOUNDED = {
    "sort.lower_bound::lower_bound": {"flops", "work", "span"},
    "sort.insertion_sort::insertion_sort": {"flops", "work", "span"},
    "sort.merge::merge": {"flops", "work", "span"},
    "nbody.fmm_u::fmm_u": {"flops", "work", "span"},
    "sparse.block::spmv_block": {"span"},
}
"""What depends on the data of those that do not recurse; everything else is ensured, and derived, exactly."""

ALL = sorted((*CASES, *RECURSIVE))
TRIED = sorted((*CASES, *HELPERS, *QUICK))
"""All that do not recurse, and a few that do."""
_LONG = {target.partition("::")[0] for target in ALL if target not in TRIED}
_POLYBENCH = {"polybench.correlation", "polybench.deriche", "polybench.durbin"}
MODULES = [
    module
    for module in sorted({target.partition("::")[0] for target in TRIED} - _LONG)
    if module in _POLYBENCH or not module.startswith("polybench.")
]
"""Modules of nothing else; three kernels of PolyBench stand for all where every format is tried."""


@cache
def report(target: str) -> al.CostReport:
    """The costs of a target as the Python API has them, derived once."""
    return al.algorithm(target).cost()
