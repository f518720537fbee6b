"""Upper bounds with room for proofs: such a bound times a factor is one as well, as what is added is never negative.

Where U(x) >= f(x) + sum of U over the calls and f >= 0, the same holds of c*U for c >= 1, with (c - 1)*f to spare.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from flint import fmpq

ROOM = (fmpq(1, 8), fmpq(1, 3))
UNITS = (fmpq(1), fmpq(4))


def scaled(coefficients: Sequence[fmpq]) -> Iterator[tuple[fmpq, ...]]:
    """All coefficients times a factor, to the nearest multiple of a unit or as they are."""
    for room in ROOM:
        moved = tuple(each * (1 + room) for each in coefficients)
        for unit in UNITS:
            yield tuple((each * unit + fmpq(1, 2)).floor() / unit for each in moved)
        yield moved
