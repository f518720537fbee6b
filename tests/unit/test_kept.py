"""What an iterator gives is found once, as far as it is asked for."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from archline.algebra.lazy_list import LazyList


def test_values_are_found_once_and_no_farther_than_asked() -> None:
    made = []

    def source() -> Iterator[int]:
        for each in range(5):
            made.append(each)
            yield each

    kept = LazyList(source())
    assert not made
    assert list(islice(kept, 2)) == [0, 1]
    assert made == [0, 1]
    # One asks on while another asks again.
    first, second = iter(kept), iter(kept)
    assert [next(first), next(first), next(first), next(second)] == [0, 1, 2, 0]
    assert list(second) == [1, 2, 3, 4]
    assert list(kept) == [0, 1, 2, 3, 4] == made
