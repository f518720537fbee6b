"""The search for sizes that satisfy facts: it finds those nearest to sizes that are asked for."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from archline.expr.solutions import SizeSearch
from archline.expr.values import evaluate_fact
from archline.language.loader import load_text


def search(names: str, facts: str) -> SizeSearch:
    sizes = ", ".join(f"{name}: size" for name in names)
    where = load_text(f"algorithm f({sizes}):\n    where {facts}\n    pass\n").algorithms["f"].where
    return SizeSearch(tuple(names), where, dict.fromkeys(names, 1))


@pytest.mark.parametrize(
    ("names", "facts", "asked", "found"),
    [
        ("bnm", "m >= 3*b^2, b divides n", 8, {"b": 8, "n": 8, "m": 192}),
        ("bm", "m - 3*b^2 >= 0", 64, {"b": 64, "m": 12288}),
        ("nm", "n*n <= m, m <= 10", 8, {"n": 2, "m": 8}),
        ("nmk", "n + m == k, k % 7 == 3, n > m", 64, {"n": 65, "m": 64, "k": 129}),
        ("nm", "n^2 >= m^3, m >= 1000", 8, {"n": 31623, "m": 1000}),
        ("nk", "n == 2^k, k >= 3", 1, {"n": 8, "k": 3}),
        ("nm", "n is square, m is power of 3, m >= 10^20", 10, {"n": 9, "m": 3**42}),
        ("n", "n <= 10, n > 10", 8, None),
        ("nm", "n*m == 7, n >= 2, m >= 2", 8, None),
    ],
)
def test_solutions_are_near_what_is_asked_for(names: str, facts: str, asked: int, found: dict[str, int] | None) -> None:
    assert search(names, facts).find_nearest(dict.fromkeys(names, asked)) == found


FACTS = (
    "n >= 3*m",
    "m divides n",
    "n*m <= 5000",
    "k >= n^2",
    "n % 3 == 1",
    "k is power of 2",
    "m is square",
    "n > m + k",
)


@given(st.sets(st.sampled_from(FACTS), max_size=4), st.tuples(*[st.integers(1, 10**6)] * 3))
def test_solutions_satisfy_all_facts(facts: set[str], asked: tuple[int, int, int]) -> None:
    sizes = search("nmk", ", ".join(sorted(facts)) or "n >= 1")
    point = dict(zip("nmk", asked, strict=True))
    found = sizes.find_nearest(point)
    assert found is None or all(evaluate_fact(fact, found) for fact in sizes.facts)
    if all(evaluate_fact(fact, point) for fact in sizes.facts):
        assert found == point
