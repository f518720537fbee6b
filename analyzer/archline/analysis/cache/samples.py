"""Sizes and lines at which ways to use the cache are compared, to find those that are worth listing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from itertools import islice, product
from math import isqrt, log2
from operator import eq
from random import Random

from archline.algebra.evaluate.compiled import Compiler, Number
from archline.algebra.evaluate.exact import evaluate
from archline.algebra.facts import Facts
from archline.algebra.polynomial import Poly
from archline.analysis.cache.footprint.windows import is_known
from archline.analysis.sampling import assumed, search_of
from archline.expr.intervals import EvaluationError
from archline.expr.values import holds
from archline.ir.declarations import index_declaration
from archline.ir.scope import Scope
from archline.language import syntax as s
from archline.language.checking.scopes import machine_symbols
from archline.language.model import BoundBy
from archline.records import field, memoised, record

SCALES = (12, 40, 300)
OTHERS = (1, 2, 4, 8, 16, 24, 64, 100, 256, 1000, 4096, 16384)
SPARSE = 64
LINES = (16, 4, 1)
OTHER_LINES = (8, 2, 32, 64, 3, 128, 256, 5, 7, 512, 1024)
MAX_TRIED = 4_000
TRIES = 400


def sample_sizes(algorithm: s.Algorithm, scope: Scope) -> list[dict[str, int]]:
    """A few sizes that the `where` allows, with lines of several lengths; at last those that no array has are small.

    Where none are found that it allows, others have to do: what is best there may not be best elsewhere, but holds.
    """
    facts = (*algorithm.where, *assumed(algorithm))
    machine = machine_symbols(scope.module.signatures[algorithm])
    of_sizes = tuple(fact for fact in facts if s.names(fact).isdisjoint(machine))
    lines = [each for each in (*LINES, *OTHER_LINES) if _allows_line_length(facts, each)][: len(LINES)] or LINES
    found = list(_draw_sizes(algorithm, scope, of_sizes, lines))
    return found or list(_draw_sizes(algorithm, scope, (), lines))


def _allows_line_length(facts: Sequence[s.Fact], line: int) -> bool:
    """Whether lines may be so long, as far as facts of that alone decide."""
    return all(holds(fact, {"L": line}) is not False for fact in facts if s.names(fact) == {"L"})


def _draw_sizes(
    algorithm: s.Algorithm, scope: Scope, facts: Sequence[s.Fact], lines: Sequence[int]
) -> Iterator[dict[str, int]]:
    signature = scope.module.signatures[algorithm]
    names = (*signature.size_names, *signature.indices)
    extents = s.names(tuple(parameter.type for parameter in algorithm.parameters))
    declared = {binding.name for binding in signature.sizes if binding.by is BoundBy.VALUE} - extents
    allowed = search_of(algorithm, scope, names, facts).allows

    def near(scales: Mapping[str, int]) -> Iterator[dict[str, int]]:
        tried = (dict(zip(names, sizes, strict=True)) for sizes in _nearby_sizes([scales[name] for name in names]))
        for found in islice(filter(allowed, tried), 1):
            yield from ({**_cache_parameters(line), **found} for line in lines)

    def among(scale: int) -> Iterator[dict[str, int]]:
        """Indices are where the declaration allows them."""
        known, random = index_declaration(algorithm, scope), Random(scale)
        for line in lines:
            drawn = (
                known.drawn(names, signature.size_names, scope.facts, random, (scale,), (scale,)) for _ in range(TRIES)
            )
            yield from islice(filter(allowed, ({**each, **_cache_parameters(line)} for each in drawn)), 1)

    if signature.indices:
        for scale in SCALES:
            yield from among(scale)
        return
    offsets = [each.type for each in algorithm.parameters if isinstance(each.type, s.OffsetsType)]
    totals = s.names(tuple(each.into for each in offsets)) | s.names(tuple(each.longest for each in offsets))
    for total in (SPARSE // 8, SPARSE * 8) if totals & set(names) else ():
        # Most segments are empty, or all are long.
        yield from near({name: total if name in totals else SPARSE for name in names})
    for scale in SCALES:
        yield from near(dict.fromkeys(names, scale))
    for scale in SCALES[1:] if declared else ():
        yield from near({name: isqrt(scale) if name in declared else scale for name in names})


def _cache_parameters(line: int) -> dict[str, int]:
    return {"L": line, "Z": 64 * line, "P": 1, "K": 1}


def _nearby_sizes(scales: Sequence[int]) -> Iterator[Sequence[int]]:
    """Sizes of given scales, then others, the nearest first: powers of 2 divide each other."""
    yield scales
    yield [2 ** round(log2(scale)) for scale in scales]
    middle = max(scales, default=1)
    others = sorted(OTHERS, key=lambda other: abs(log2(other / middle)))
    yield from ((other,) * len(scales) for other in others)
    yield from islice(product(*((scale, *others) for scale in scales)), MAX_TRIED)


@record(eq=False)
class SampledAmounts:
    """Amounts of windows at points, where symbols of windows are as in `whole`: put in as numbers, as only those count.

    None stands for what is not known.
    """

    facts: Facts = field(repr=False)
    points: Sequence[Mapping[str, int]]
    whole: Mapping[str, Poly]

    def best(self, values: Sequence[Poly], every: bool = False) -> tuple[Poly, ...]:
        """The bounds that are greatest at some point, or every one; those that most often are first."""
        plain = {value: found for value in values if (found := self._at_points(value)) is not None}
        if len(plain) < 2:
            return tuple(plain)
        tops = [max(found) for found in zip(*plain.values(), strict=True)]
        wins = {value: sum(map(eq, found, tops)) for value, found in plain.items()}
        order = sorted(plain, key=lambda value: (-wins[value], -plain[value][-1]))
        return tuple(value for value in order if every or wins[value])

    @memoised
    def _at_points(self, value: Poly) -> list[Number] | None:
        return self._evaluated(value) if is_known(value) else None

    @cached_property
    def _places(self) -> list[dict[str, Number]]:
        """The points, with the numbers there of those symbols of windows that have some."""
        found: list[dict[str, Number]] = [dict(point) for point in self.points]
        for name, value in self.whole.items():
            with suppress(EvaluationError):
                restored = self.facts.restore(value)
                for place, number in zip(found, [evaluate(restored, point) for point in self.points], strict=True):
                    place[name] = number
        return found

    @cached_property
    def _compiler(self) -> Compiler:
        return Compiler(dict.fromkeys(name for place in self._places for name in place))

    def _evaluated(self, value: Poly) -> list[Number]:
        left = {name: each for name, each in self.whole.items() if any(name not in place for place in self._places)}
        compute = self._compiler.of(self.facts.restore(value.substitute(left)))
        found: list[Number] = []
        for place in self._places:
            try:
                found.append(compute(self._compiler.at(place)))
            except EvaluationError:
                found.append(-1)
        return found
