"""How near io is to any schedule's, by the size of the cache: a factor may get worse and better again as caches grow."""

from __future__ import annotations

import archline as al
from effort import long


def test_the_smallest_cache_of_each_factor_is_found() -> None:
    found = al.algorithm("polybench.fdtd_2d::fdtd_2d").cost().attained
    assert found is not None
    assert [(regime.when, regime.text) for regime in found.regimes] == [
        ("", "within a factor O(L*steps)"),
        ("Z >= 4*L", "within a factor O(steps)"),
        ("Z >= L*(nx*ceil(ny/L) + 2)", "within a factor O(Z)"),
        ("Z >= L*(3*nx*ceil(ny/L) + 1)", "asymptotically optimal"),
    ]


@long
def test_trials_suffice_for_many_plans() -> None:
    found = al.algorithm("polybench.adi::adi").cost().attained
    assert found is not None
    assert found.regimes[0].text == "within a factor O(L*steps)"
