"""Choose sample sizes and line lengths at which allocation plans are compared, so that only good plans are listed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from math import isqrt
from operator import eq
from random import Random

from archline.algebra.evaluate.compiled import Compiler
from archline.algebra.evaluate.exact import evaluate
from archline.algebra.facts import Facts
from archline.algebra.polynomial import Poly
from archline.analysis.cache.footprint.windows import is_data_independent
from archline.analysis.sampling import build_size_search, list_assumed_facts
from archline.expr.intervals import EvaluationError, Number
from archline.ir.declarations import read_index_properties
from archline.ir.scope import Scope
from archline.language import syntax as s
from archline.language.checking.scopes import list_machine_symbols
from archline.language.iterations import list_iterations
from archline.language.model import BoundBy
from archline.records import field, memoised, record

SAMPLE_SIZES = (12, 40, 300)
"""The sample values of sizes."""
SPARSE_SIZE = 64
"""The sample value of sizes that are not the total of a sparse array's segments."""
SAMPLE_LINE_WORDS, SAMPLE_CACHE_LINES = (16, 4, 1), 64
"""The sample values of L, and of Z/L."""


def choose_sample_points(algorithm: s.Algorithm, scope: Scope) -> list[dict[str, int]]:
    """Choose sizes that the `where` clauses allow, with lines of several lengths; small block sizes come last.

    If no sizes are found that satisfy the clauses, they are chosen without them: plans found there are valid bounds,
    but perhaps not the best ones.
    """
    signature = scope.module.signatures[algorithm]
    iterations = [counted.name for counted in list_iterations(scope.module, algorithm)]
    names = (*signature.size_names, *iterations, *signature.indices, *list_machine_symbols(signature))
    asked = [
        {
            "L": line,
            "Z": SAMPLE_CACHE_LINES * line,
            "P": 1,
            "K": 1,
            **dict.fromkeys(iterations, max(sizes.values(), default=SAMPLE_SIZES[1])),
            **sizes,
        }
        for sizes in _iterate_scaled_sizes(algorithm, scope)
        for line in SAMPLE_LINE_WORDS
    ]
    for facts in ((*algorithm.where, *list_assumed_facts(algorithm)), ()):
        result = list(build_size_search(algorithm, scope, names, facts).iterate_solutions(asked))
        if result:
            break
    return result


def _iterate_scaled_sizes(algorithm: s.Algorithm, scope: Scope) -> Iterator[Mapping[str, int]]:
    """Yield values of all sizes and indices at several scales, which may violate the `where` clauses."""
    signature = scope.module.signatures[algorithm]
    names = (*signature.size_names, *signature.indices)
    if signature.indices:
        # Indices are drawn from their declared ranges.
        index = read_index_properties(algorithm, scope)
        for scale in SAMPLE_SIZES:
            search = build_size_search(algorithm, scope, names, algorithm.where)
            yield index.draw(search, signature.size_names, Random(scale), (scale,), (scale,)) or dict.fromkeys(names, 0)
        return
    extents = s.find_names(tuple(parameter.type for parameter in algorithm.parameters))
    declared = {binding.name for binding in signature.sizes if binding.by is BoundBy.VALUE} - extents
    offsets = [parameter.type for parameter in algorithm.parameters if isinstance(parameter.type, s.OffsetsType)]
    totals = s.find_names(tuple(offset.into for offset in offsets)) | s.find_names(
        tuple(offset.longest for offset in offsets)
    )
    for total in (SPARSE_SIZE // 8, SPARSE_SIZE * 8) if totals & set(names) else ():
        # Most segments are empty, or all are long.
        yield {name: total if name in totals else SPARSE_SIZE for name in names}
    for scale in SAMPLE_SIZES:
        yield dict.fromkeys(names, scale)
    for scale in SAMPLE_SIZES[1:] if declared else ():
        yield {name: isqrt(scale) if name in declared else scale for name in names}


@record(eq=False)
class BoundComparison:
    """Compares bounds on the lines of windows at sample points.

    `whole` maps symbols in these bounds that describe a window, such as the iterations in a group, to values in
    sizes.
    """

    facts: Facts = field(repr=False)
    points: Sequence[Mapping[str, int]]
    whole: Mapping[str, Poly]

    def select_largest(self, values: Sequence[Poly], every: bool = False) -> tuple[Poly, ...]:
        """Select the bounds that are largest at some point, the most frequent winners first; all bounds if `every`.

        Bounds that depend on data are left out.
        """
        evaluated = {value: numbers for value in values if (numbers := self._evaluate_cached(value)) is not None}
        if len(evaluated) < 2:
            return tuple(evaluated)
        largest = [max(numbers) for numbers in zip(*evaluated.values(), strict=True)]
        wins = {value: sum(map(eq, numbers, largest)) for value, numbers in evaluated.items()}
        order = sorted(evaluated, key=lambda value: (-wins[value], -evaluated[value][-1]))
        return tuple(value for value in order if every or wins[value])

    @memoised
    def _evaluate_cached(self, value: Poly) -> list[Number] | None:
        return self._evaluate_at_points(value) if is_data_independent(value) else None

    @cached_property
    def _extended_points(self) -> list[dict[str, Number]]:
        """The sample points, extended by the values of the window symbols that can be evaluated."""
        extended: list[dict[str, Number]] = [dict(point) for point in self.points]
        for name, value in self.whole.items():
            with suppress(EvaluationError):
                restored = self.facts.restore(value)
                for extended_point, number in zip(
                    extended, [evaluate(restored, point) for point in self.points], strict=True
                ):
                    extended_point[name] = number
        return extended

    @cached_property
    def _compiler(self) -> Compiler:
        return Compiler(dict.fromkeys(name for point in self._extended_points for name in point))

    def _evaluate_at_points(self, value: Poly) -> list[Number]:
        """Evaluate an amount at every point; -1 where it has no value."""
        unevaluated = {
            name: definition
            for name, definition in self.whole.items()
            if any(name not in point for point in self._extended_points)
        }
        compute = self._compiler.compile_expression(self.facts.restore(value.substitute(unevaluated)))
        result: list[Number] = []
        for point in self._extended_points:
            try:
                result.append(compute(self._compiler.make_environment_at(point)))
            except EvaluationError:
                result.append(-1)
        return result
