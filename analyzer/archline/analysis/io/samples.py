"""Sizes and lines at which ways to use the cache are compared, to find those that are worth telling."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, product
from math import log2

from archline.analysis.points import assumed, offsets_rules
from archline.analysis.scope import Scope
from archline.language import syntax as s
from archline.language.evaluate import holds

SCALES = (12, 40, 300)
OTHERS = (1, 2, 4, 8, 16, 24, 64, 100, 256, 1000, 4096, 16384)
LINES = (16, 4, 1)
MAX_TRIED = 4_000
ENOUGH = 2
"""For each scale and line."""


def samples(algorithm: s.Algorithm, scope: Scope) -> Iterator[dict[str, int]]:
    """A few sizes that the `where` allows, with lines of two lengths."""
    signature = scope.module.signatures[algorithm]
    names = (*signature.size_names, *signature.indices)
    facts = (*algorithm.where, *assumed(algorithm))
    rules = offsets_rules(scope)

    def allowed(point: Mapping[str, int]) -> bool:
        return all(holds(fact, point) is not False for fact in facts) and all(rule(point) for rule in rules)

    for scale in SCALES:
        for line in LINES:
            machine = {"L": line, "Z": 64 * line, "P": 1, "K": 1}
            tried = ({**dict(zip(names, sizes, strict=True)), **machine} for sizes in _near(scale, len(names)))
            yield from islice(filter(allowed, tried), 1)


def _near(scale: int, count: int) -> Iterator[Sequence[int]]:
    """All sizes of one scale, then those of other scales too, the nearest first."""
    yield (scale,) * count
    near = sorted(OTHERS, key=lambda other: abs(log2(other / scale)))
    yield from ((other,) * count for other in near)
    yield from islice(product((scale, *near), repeat=count), MAX_TRIED)
