"""Lines that the iterations of a loop access in turn, k of them that are never the same: windows of k - 1 accesses.

The line that was accessed last is in the cache, and is none of the next k - 1, so that these find C - 1 lines at most.
An iteration by itself finds C of its k lines, which bounds io k/(k - 1) times less: of one line in the cache, and two
arrays that are accessed in turn, it leaves half of all accesses.
"""

from __future__ import annotations

from collections.abc import Iterable

from archline.algebra.facts import Facts
from archline.analysis.cache.footprint.windows import is_known
from archline.ir.tree import Access, Chain, Loop, contiguous_dimension


def in_turn(found: Iterable[tuple[Access, Chain]], chain: Chain, facts: Facts) -> list[Access]:
    """Accesses of each iteration of the last loop: to other arrays, and to other rows as long as the loop runs.

    `facts` hold in each iteration.
    """
    chosen: list[Access] = []
    for access, around in found:
        always = around == chain and access.certain and not access.when and access.array.aligned
        if always and all(_apart(access, each, chain[-1], facts) for each in chosen):
            chosen.append(access)
    return chosen


def _apart(one: Access, other: Access, loop: Loop, facts: Facts) -> bool:
    array = one.array
    if array is not other.array:
        # Local arrays may lie in the same place, one after the other.
        return not (array.local and other.array.local)
    if array.layout == "zmorton" or array.within:
        return False
    for dimension, (first, second) in enumerate(zip(one.place, other.place, strict=True)):
        if first is None or second is None or dimension == contiguous_dimension(array):
            continue
        # Where one of the two stays as it is, what holds in each iteration holds of any two.
        if loop.variable in first.names & second.names or not is_known(first - second):
            continue
        if facts.nonnegative(first - second - 1) or facts.nonnegative(second - first - 1):
            return True
    return False
