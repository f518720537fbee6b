"""Sizes at which checks follow runs: small ones, and some of each magnitude, that the `where` allows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import product

from archline.analysis.sampling import search_of
from archline.expr import build as b
from archline.ir.declarations import declared_scope
from archline.language import syntax as s
from archline.language.model import Module
from archline.records import record, replace

SCALES = (1, 2, 3, 4, 5, 6, 8, 9, 12, 16, 17, 24, 32, 33, 64, 65)
SMALL, MAX_SMALL = 8, 24
"""Short runs have sizes up to this, and so many of them are tried."""
MAX_FREE = 5
"""Of so many sizes, all that are small are tried."""
Sizes = Mapping[str, int]


@lru_cache(maxsize=64)
def points(module: Module, algorithm: s.Algorithm, indices: bool = True) -> tuple[Sizes, ...]:
    """Sizes that the `where` allows, the smallest first; equal ones come before those that differ.

    With `indices` they have values of `index` parameters too; on a grid P is the product of the extents.
    """
    signature = module.signatures[algorithm]
    names = (*signature.size_names, *(signature.indices if indices else ()), *(("P",) if algorithm.grid else ()))
    search = search_of(algorithm, declared_scope(module, algorithm), names, (*algorithm.where, *grid_facts(algorithm)))
    few = product((1, 2, 3), repeat=len(names)) if len(names) <= MAX_FREE else ()
    asked = (dict(zip(names, values, strict=True)) for values in (*_ladder(len(names)), *few))

    def rank(point: Sizes) -> tuple[int, int, int]:
        return len(set(point.values())), max(point.values(), default=0), sum(point.values())

    return tuple(sorted(search.points(asked), key=rank))


def grid_facts(algorithm: s.Algorithm) -> tuple[s.Fact, ...]:
    """That the extents of the axes of a grid are integers and their product is P; none of other algorithms."""
    extents = [axis.extent for axis in algorithm.grid]
    whole = (s.Divides(b.number(1), extent, span=extent.span) for extent in extents)
    return (b.binary("==", b.name("P"), b.product(extents)), *whole) if extents else ()


def small(module: Module, algorithm: s.Algorithm, indices: bool = False) -> tuple[Sizes, ...]:
    """Sizes of short runs."""
    every = points(module, algorithm, indices)
    return tuple(each for each in every if max(each.values(), default=0) <= SMALL)[:MAX_SMALL] or every[:1]


def _ladder(count: int) -> Iterator[tuple[int, ...]]:
    """Sizes of one magnitude: equal, rising, falling and doubling; and one that is not of that of the others."""
    for scale in SCALES:
        yield (scale,) * count
        yield tuple(scale + place for place in range(count))
        yield tuple(scale + place for place in reversed(range(count)))
        yield tuple(scale << place for place in range(count))
    for one, others in product((1, *SCALES[-6:]), repeat=2):
        for place in range(count if one != others else 0):
            yield tuple(one if each == place else others for each in range(count))


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


def _guarded(ensures: s.Ensures, least: int, names: Sequence[str]) -> Guarded:
    fails_where = " or ".join(f"{name} < {least}" for name in names)
    return Guarded(replace(ensures, when=(*ensures.when, *b.least(names, least))), fails_where)
