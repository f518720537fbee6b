"""What is derived of compressed sparse blocks: everything that is ensured holds, and runs lie within the bounds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from archline.claims.decide import decide
from recursive_programs.agreement import disagreements, executed
from stdlib_cases import derived, execute_case, load
from stdlib_csb_cases import by_quadrants
from stdlib_recursive_cases import RECURSIVE

BLOCK = "sparse.csb::csb_block"


@pytest.mark.parametrize("target", [target for target in RECURSIVE if target.startswith("sparse.csb::")])
def test_all_that_is_ensured_holds(target: str) -> None:
    verdicts = decide(*load(target), derived(target))
    assert verdicts
    assert {each.outcome for each in verdicts} == {"holds"}


def places(side: int, shape: str) -> Any:
    """Entries of a block by their places: where quadrants fill as far as they can, or all but one stay empty."""
    everything = np.arange(side * side)
    row, col = everything // side, everything % side
    match shape:
        case "full":
            return everything
        case "corner":
            return everything[(row < max(2, side // 4)) & (col < max(2, side // 4))]
        case "row":
            return everything[row < 2]
        case "diagonals":
            return everything[(row == col) | (row == side - 1 - col)]
    return everything[: side + 1]


@pytest.mark.parametrize("side", [2, 4, 8, 32, 64])
@pytest.mark.parametrize("shape", ["full", "corner", "row", "diagonals", "one more than the side"])
def test_blocks_at_their_dearest(side: int, shape: str) -> None:
    chosen = by_quadrants(places(side, shape), side)
    entries = {"row": chosen // side, "col": chosen % side, "val": np.ones(len(chosen))}
    arguments = {**entries, "x": np.ones(side), "y": np.zeros(side)}
    ran = execute_case(BLOCK, arguments, RECURSIVE[BLOCK].results(arguments), compiled=False)
    assert not list(disagreements(derived(BLOCK), executed(ran.counts), ran.sizes))


def test_the_product_rests_on_what_is_assumed_of_chunks_and_in_them() -> None:
    assumed = [each.split(" (assumed")[0] for each in derived("sparse.csb::spmv_csb").assumptions if "assumed" in each]
    assert assumed == ["c >= 1", "c <= nb", "(c - 1)*b <= 2*(blk[i*nb + nb] - blk[i*nb])", "r <= b"]
