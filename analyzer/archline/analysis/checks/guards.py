"""Guards for claims of growth that fail at small sizes only: the `when` under which such a claim holds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from archline.expr import build as b
from archline.language import syntax as s
from archline.records import record, replace

LEAST, MOST = 2, 5
"""Guards ask for sizes that are at least one of these numbers."""


@record
class Guarded:
    """A claim under a further condition, and where alone it fails without that: `n < 2`."""

    ensures: s.Ensures
    fails_where: str


def guard(ensures: s.Ensures, sizes: Sequence[str], proved: Callable[[s.Ensures], bool]) -> Guarded | None:
    """The claim with the first guard under which it is proved: one size is large, or all are."""
    # Most claims that fail do so at large sizes as well, and one question finds them out.
    if not proved(_guarded(ensures, MOST, sizes).ensures):
        return None
    candidates = (_guarded(ensures, least, names) for least, names in guards(sizes))
    return next((each for each in candidates if proved(each.ensures)), None)


def guards(sizes: Sequence[str]) -> Iterator[tuple[int, Sequence[str]]]:
    """The least number and the sizes of each guard to try: one of them, then all."""
    for least in range(LEAST, MOST + 1):
        yield from ((least, (name,)) for name in sizes)
    yield from ((least, sizes) for least in (LEAST, MOST))


def at_least(least: int, names: Sequence[str]) -> list[str]:
    """The facts of a guard."""
    return [f"{name} >= {least}" for name in names]


def _guarded(ensures: s.Ensures, least: int, names: Sequence[str]) -> Guarded:
    fails_where = " or ".join(f"{name} < {least}" for name in names)
    return Guarded(replace(ensures, when=(*ensures.when, *b.least(names, least))), fails_where)
