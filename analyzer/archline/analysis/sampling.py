"""Find sizes for tests of claims and runs: the `where` allows them, and arrays of offsets can be filled."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from fractions import Fraction
from functools import lru_cache, partial
from itertools import chain, islice, permutations, product

from archline.algebra.evaluate.exact import evaluate
from archline.algebra.polynomial import Poly
from archline.expr import build as b
from archline.expr.intervals import EvaluationError
from archline.expr.solutions import Point, SizeSearch, find_fixed_sizes
from archline.expr.values import evaluate_static
from archline.ir.declarations import declared_scope
from archline.ir.scope import Scope
from archline.language import syntax as s
from archline.language.call_graph import find_reachable, iterate_declared_costs
from archline.language.checking.scopes import MACHINE_SYMBOLS, list_machine_symbols
from archline.language.model import Module
from archline.language.substitution import express_facts_in_sizes
from archline.records import record

MAX_VALUES_OF_EACH_SIZE = 12
MAX_VALUES_OF_SINGLE_SIZE = 40
"""The number of smallest values that are tried for a single size; for each of several sizes at most MAX_WIDTH."""
MAX_CANDIDATES = 20_000
MAX_POINTS = 400
MAX_POINTS_NEAR_CONSTANTS = 200
"""The maximum number of points near constants of a program that are tried."""
USUAL_SIZES_AND_CACHES = ((8, 16, 1024), (8, 64, 2**15), (4, 4, 1), (2, 2, 1), (1, 1, 1))
"""Triples of L, the value of all sizes, and Z; the most usual ones first."""
SCALES = (16, 30, 64, 100, 256, 1000, 4096, 10**4, 2**16, 10**6, 2**24, 10**8)

CHECK_SCALES = (1, 2, 3, 4, 5, 6, 8, 9, 12, 16, 17, 24, 32, 33, 64, 65)
MAX_SMALL_SIZE, MAX_SMALL_POINTS = 8, 24
"""The largest size of a short run, and the maximum number of short runs."""
MAX_ENUMERATED_SIZES = 5
"""The maximum number of sizes for which all choices of small values are tried."""


def iterate_valid_sizes(
    algorithm: s.Algorithm,
    scope: Scope,
    names: Iterable[str],
    facts: Iterable[s.Fact] = (),
    branches: bool = True,
    constants: Iterable[int] = (),
) -> Iterator[Point]:
    """Yield sizes that satisfy the `where`, `facts`, and the rules of offsets: all small ones, then larger ones.

    In between are sizes near `constants` and those of the program, and usual sizes. With `branches`, declared costs
    in all branches are nonnegative at the sizes.
    """
    signature = scope.module.signatures[algorithm]
    facts = (*express_facts_in_sizes(algorithm), *facts, *list_assumed_facts(algorithm))
    names = list(
        dict.fromkeys((*names, *(name for name in list_machine_symbols(signature) if name in s.find_names(facts))))
    )
    if not names:
        yield {}
        return
    search = build_size_search(algorithm, scope, names, facts)
    fixed = find_fixed_sizes(facts)
    given, names = (
        {name: fixed[name] for name in names if name in fixed},
        [name for name in names if name not in fixed],
    )
    starts = [search.least.get(name, 0) for name in names]
    declared = [amount for _, amount, _ in iterate_declared_costs(scope.module, algorithm.body)]

    def has_valid_costs(point: Point) -> bool:
        # A run stops at a negative cost, unless it is in a branch that is not taken at these sizes.
        return not branches or all(_is_nonnegative_cost(amount, point) for amount in declared)

    def make_points(drawn: Iterable[tuple[int, ...]]) -> Iterator[Point]:
        # Indices have either sign.
        signs = [(1, -1) if name in signature.indices else (1,) for name in names]
        for values in drawn:
            choices = (dict.fromkeys(sign * value for sign in both) for both, value in zip(signs, values, strict=True))
            yield from ({**given, **dict(zip(names, signed, strict=True))} for signed in product(*choices))

    near = make_points(
        _sizes_near_constants(
            starts, {*constants, *find_constants(algorithm, *find_reachable(scope.module, algorithm))}
        )
    )
    large = make_points(chain.from_iterable(_sizes_at_scale(starts, scale) for scale in SCALES) if starts else ())
    few = islice(filter(search.is_allowed, make_points(_list_small_choices(starts))), MAX_POINTS)
    sources = [
        few,
        islice(filter(search.is_allowed, near), MAX_POINTS_NEAR_CONSTANTS),
        _draw_usual_sizes(search),
        search.iterate_solutions(large),
    ]
    if {"Z", "L"} & s.find_names(facts):
        # If facts are about the cache, usual sizes come first; else the smallest.
        sources.insert(0, sources.pop(2))
    yield from filter(has_valid_costs, chain.from_iterable(sources))


def build_size_search(
    algorithm: s.Algorithm, scope: Scope, names: Sequence[str], facts: Iterable[s.Fact]
) -> SizeSearch:
    """Build the search for values of `names` that satisfy facts and for which arrays of offsets can exist."""
    least = {**dict.fromkeys(MACHINE_SYMBOLS, 1), **scope.module.signatures[algorithm].at_least}
    rules = [(rule.low.names | rule.high.names, rule) for rule in list_offsets_rules(scope)]
    return SizeSearch(names, tuple(facts), least, tests=rules)


def _draw_usual_sizes(search: SizeSearch) -> Iterator[Point]:
    """Yield points with usual sizes and caches, then small ones; each is followed by points with one size enlarged.

    If facts require a size above the usual ones, the last point has that value for all sizes.
    """

    def draw_value(
        usual: Mapping[str, int], changed: Mapping[str, tuple[int, int]], name: str, low: int | None, _: object
    ) -> int:
        factor, more = changed.get(name, (1, 0))
        return max(usual[name], low or 0) * factor + more

    least = search.find_nearest(dict.fromkeys(search.names, 1)) or {}
    largest = max((value for name, value in least.items() if name not in MACHINE_SYMBOLS), default=0)
    for line, size, words in (
        *USUAL_SIZES_AND_CACHES,
        *([(8, largest, 2**15)] if largest > USUAL_SIZES_AND_CACHES[1][1] else []),
    ):
        usual = {**dict.fromkeys(search.names, size), "L": line, "Z": words, "P": 1, "K": 1}
        for changed in ({}, *({name: change} for change in ((4, 0), (64, 0), (1, 1)) for name in search.names)):
            if (point := search.solve(partial(draw_value, usual, changed))) is not None:
                yield point


def _list_small_choices(starts: list[int]) -> list[tuple[int, ...]]:
    """List every choice of small sizes, the smallest first."""
    most = MAX_VALUES_OF_SINGLE_SIZE if len(starts) == 1 else MAX_VALUES_OF_EACH_SIZE
    width = max(2, min(most, int(MAX_CANDIDATES ** (1 / max(1, len(starts))))))
    ranges = [range(start, start + width) for start in starts]
    return sorted(islice(product(*ranges), MAX_CANDIDATES), key=lambda values: (max(values, default=0), sum(values)))


def find_constants(*programs: s.Node) -> frozenset[int]:
    """Return the integers that are written in programs."""
    return frozenset(integer.value for integer in s.iterate_nodes(programs) if isinstance(integer, s.Integer))


def _sizes_near_constants(starts: list[int], constants: Set[int]) -> Iterator[tuple[int, ...]]:
    """Yield sizes at which a case of a program may begin: constants, small multiples, products, and their neighbours.

    In the first choices one size, or every size, has such a value and the rest are minimal; later choices combine the
    smallest values.
    """
    bases = sorted(constant for constant in constants if 2 < constant <= SCALES[-1])
    multiples = [base * multiplier for base in bases for multiplier in (2, 3, *bases)]
    values = list(dict.fromkeys(value + step for group in (bases, multiples) for value in group for step in (0, 1, -1)))
    for value in values[: MAX_POINTS_NEAR_CONSTANTS // 2]:
        yield from _sizes_at_scale(starts, value)
    width = int(MAX_POINTS_NEAR_CONSTANTS ** (1 / max(1, len(starts))))
    yield from product(*([*values[:width], start] for start in starts))


def _sizes_at_scale(starts: list[int], scale: int) -> Iterator[tuple[int, ...]]:
    """Yield sizes with one at `scale` and the rest minimal, then sizes that are all at `scale`."""
    for place in range(len(starts)):
        yield (*starts[:place], max(starts[place], scale), *starts[place + 1 :])
    yield tuple(max(start, scale) for start in starts)


def list_assumed_facts(algorithm: s.Algorithm) -> list[s.Fact]:
    """List the facts of each `assume` outside of branches and loops, which every run satisfies."""
    assumed = (fact for statement in algorithm.body if isinstance(statement, s.Assume) for fact in statement.facts)
    # Elements of arrays are no sizes.
    return [fact for fact in assumed if not any(s.find_nodes(fact, s.Element))]


def _is_nonnegative_cost(amount: s.Expr, point: Point) -> bool:
    """Test whether a declared cost is at least 0; True if it has no value at these sizes."""
    try:
        return evaluate_static(amount, point) >= 0
    except EvaluationError:
        return True


@record(eq=False)
class OffsetsRule:
    """A relation between the sizes of an offsets array, `low` <= `high`, without which the array cannot exist."""

    array: str
    low: Poly
    high: Poly

    def __call__(self, point: Mapping[str, int | Fraction]) -> bool:
        """Test whether the relation holds at a point; True if a size is missing there."""
        try:
            return evaluate(self.low, point) <= evaluate(self.high, point)
        except EvaluationError:
            return True


def list_offsets_rules(scope: Scope) -> list[OffsetsRule]:
    """List the rules of each offsets array: longest <= total <= count*longest, and no entries without segments."""
    restore = scope.facts.restore
    rules = []
    for segments in scope.segments.values():
        longest = segments.total if segments.longest is None else segments.longest
        pairs = [(segments.total, segments.count * longest)]
        if segments.longest is not None and segments.attained:
            pairs.append((segments.longest, segments.total))
        rules += [OffsetsRule(segments.array, restore(low), restore(high)) for low, high in pairs]
    return rules


# Checks
@lru_cache(maxsize=64)
def list_check_sizes(module: Module, algorithm: s.Algorithm, indices: bool = True) -> tuple[Point, ...]:
    """List sizes that the `where` allows: points with fewer distinct values first, among these the smallest.

    With `indices` they have values of `index` parameters too; on a grid P is the product of the extents.
    """
    signature = module.signatures[algorithm]
    names = (*signature.size_names, *(signature.indices if indices else ()), *(("P",) if algorithm.grid else ()))
    search = build_size_search(
        algorithm, declared_scope(module, algorithm), names, (*algorithm.where, *build_grid_facts(algorithm))
    )
    few = product((1, 2, 3), repeat=len(names)) if len(names) <= MAX_ENUMERATED_SIZES else ()
    # Some conditions hold only where one size is well above the others: `if i > P + 1` in a loop to n.
    single = (tuple(MAX_SMALL_SIZE if name == large else 1 for name in names) for large in names)
    asked = (dict(zip(names, values, strict=True)) for values in (*_sizes_by_magnitude(len(names)), *few, *single))

    def rank(point: Point) -> tuple[int, int, int]:
        return len(set(point.values())), max(point.values(), default=0), sum(point.values())

    return tuple(sorted(search.iterate_solutions(asked), key=rank))


def build_grid_facts(algorithm: s.Algorithm) -> tuple[s.Fact, ...]:
    """Return the facts that the extents of a grid's axes are integers with product P; empty without a grid."""
    extents = [axis.extent for axis in algorithm.grid]
    whole = (s.Divides(b.number(1), extent, span=extent.span) for extent in extents)
    return (b.binary("==", b.name("P"), b.product(extents)), *whole) if extents else ()


def list_short_run_sizes(module: Module, algorithm: s.Algorithm, indices: bool = False) -> tuple[Point, ...]:
    """List the sizes of short runs, or the first point if no short run is allowed.

    With `indices`, they have values of `index` parameters too.
    """
    candidates = list_check_sizes(module, algorithm, indices)
    small = tuple(point for point in candidates if max(point.values(), default=0) <= MAX_SMALL_SIZE)
    return small[:MAX_SMALL_POINTS] or candidates[:1]


def _sizes_by_magnitude(count: int) -> Iterator[tuple[int, ...]]:
    """Yield `count` sizes: equal, rising, falling or doubling from one scale on, then one size unlike the rest."""
    for scale in CHECK_SCALES:
        yield (scale,) * count
        yield tuple(scale + place for place in range(count))
        yield tuple(scale + place for place in reversed(range(count)))
        yield tuple(scale << place for place in range(count))
    for single, rest in permutations((1, *CHECK_SCALES[-6:]), 2):
        yield from (tuple(single if position == place else rest for position in range(count)) for place in range(count))
