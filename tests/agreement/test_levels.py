"""Terms of calls that halve all sizes down to leaves of a fixed size, and the bounds of LCS by quadrants."""

from __future__ import annotations

from itertools import product
from pathlib import Path

from archline.algebra.evaluate.exact import evaluate
from archline.analysis.analyse import derive
from archline.language.loader import load_path

STDLIB = Path(__file__).parents[2] / "stdlib"


def test_bounds_of_lcs_by_quadrants_are_near() -> None:
    module = load_path(STDLIB / "string/lcs.algo")
    cost = derive(module, module.algorithms["lcs_co"])["span"]
    for n, m in product((17, 31, 32, 33, 64, 65, 129, 1000, 1024, 1025), repeat=2):
        at = {"n": n, "m": m}
        low, high = evaluate(cost.lower, at), evaluate(cost.upper, at)
        least, most = cost.ends(at)
        assert low <= least
        assert most <= high
        assert high <= 3 * low
