"""Finds sizes that satisfy facts, nearest to requested sizes.

The sizes are chosen one after the other, each after those by which facts bound it. For each the requested value is
tried first, then values near it, then smaller and larger ones, starting with the closest that the facts allow. If none
is left, the search backtracks to the previous size.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache, cached_property
from itertools import chain
from math import ceil, floor, inf, isqrt, lcm, log
from types import MappingProxyType

from archline.expr import tree as s
from archline.expr.intervals import EvaluationError
from archline.expr.values import bounds_of_value, evaluate, evaluate_fact, evaluate_static
from archline.records import memoised, record

MAX_VISITS, MAX_MISSES = 800, 12
"""The number of values tried for one solution, and of failures in a row after which a search for points ends."""
NEAREST_VALUES, MAX_LINEAR_STEPS = 3, 40
"""The number of values on each side of a requested one that are tried first, and the number tried last."""
MAX_DOUBLINGS, MAX_EXPONENT_DOUBLINGS = 70, 5
"""How often the distance is doubled; for powers the distance of exponents."""
Point = Mapping[str, int]
Test = Callable[[Point], bool]
Draw = Callable[[str, int | None, int | None], int]
"""The value of a name to try first, given its lower and upper bound, each None if unknown."""
_SWAPPED = {"<=": ">=", "<": ">", ">=": "<=", ">": "<", "==": "=="}


@record
class _SizeRestriction:
    """A restriction of a size by a `value` in one fact; `relation` is the operator of a comparison, or `|` or `^`.

    `|`: the size less `rest` is a multiple of the value; `^`: it is a power of the value, or a square if that is 0.
    """

    relation: str
    value: s.Expr
    rest: s.Expr | None = None


def _find_size_restrictions(fact: s.Fact) -> Iterator[tuple[str, _SizeRestriction]]:
    """Yield each name that is one side of a fact, and how the fact restricts it."""
    match fact:
        case s.Binary(op=op, left=left, right=right) if op in _SWAPPED:
            for side, opposite, relation in ((left, right, op), (right, left, _SWAPPED[op])):
                if isinstance(side, s.Name) and side.id not in s.find_names(opposite):
                    yield side.id, _SizeRestriction(relation, opposite)
        case s.Divides(divisor=divisor, value=s.Name(id=name)) if name not in s.find_names(divisor):
            yield name, _SizeRestriction("|", divisor)
        case s.Divides(divisor=divisor, value=s.Binary(op="-", left=s.Name(id=name), right=rest)):
            yield name, _SizeRestriction("|", divisor, rest)
        case s.IsPower(value=s.Name(id=name), base=base):
            yield name, _SizeRestriction("^", base)
        case s.IsSquare(value=s.Name(id=name)):
            yield name, _SizeRestriction("^", s.Integer(0, span=fact.span))
        case _:
            # Other facts are tried, not solved.
            pass


def find_fixed_sizes(facts: Iterable[s.Fact]) -> dict[str, int]:
    """Return the sizes that facts set, such as `n == 64`."""
    sizes: dict[str, int] = {}
    for name, bound in (
        pair for fact in facts for part in s.iterate_conjuncts(fact) for pair in _find_size_restrictions(part)
    ):
        if bound.relation == "==":
            with suppress(EvaluationError):
                sizes[name] = evaluate_static(bound.value, sizes)
    return sizes


@record(eq=False)
class SizeSearch:
    """A search for values of names at which facts hold; names without a `least` value may have any sign.

    `on_path`: names are chosen in the given order, and a fact fails if it is undecided although all its names have
    values; otherwise only if all its names are in `names`. `tests` are further conditions on some of the names.
    """

    names: Sequence[str]
    facts: Sequence[s.Fact]
    least: Mapping[str, int]
    on_path: bool = False
    tests: Sequence[tuple[frozenset[str], Test]] = ()

    @cached_property
    def _parts(self) -> list[s.Fact]:
        return [part for fact in self.facts for part in s.iterate_conjuncts(fact)]

    @cached_property
    def _tests(self) -> list[tuple[frozenset[str], Test]]:
        return [
            *(
                (s.find_names(part), _make_test(part, self.on_path or s.find_names(part) <= set(self.names)))
                for part in self._parts
            ),
            *self.tests,
        ]

    @memoised
    def _choose_order(self, known: frozenset[str]) -> list[tuple[str, list[_SizeRestriction], list[Test]]]:
        """Return the unknown names in the order of choice, with the bounds of each and the tests possible then."""
        bounds: dict[str, list[_SizeRestriction]] = {name: [] for name in self.names}
        for part in self._parts:
            for name, bound in _find_size_restrictions(part):
                bounds.get(name, []).append(bound)
        names = self.names if self.on_path else sorted(self.names, key=lambda name: (name != "L", name == "Z"))
        left = [name for name in names if name not in known]
        order = []
        while left:

            def is_ready(name: str, relations: str) -> bool:
                return all(
                    s.find_names(bound.value).isdisjoint(left) for bound in bounds[name] if bound.relation in relations
                )

            equal = (size for size in left if any(b.relation == "==" for b in bounds[size]) and is_ready(size, "=="))
            ready = [size for size in left if is_ready(size, ">=|^==")] if not self.on_path else []
            bounded = (size for size in ready if any(s.find_names(b.value).isdisjoint(left) for b in bounds[size]))
            name = next(chain(equal, bounded, ready, left))
            usable = [bound for bound in bounds[name] if s.find_names((bound.value, bound.rest)).isdisjoint(left)]
            left.remove(name)
            order.append((name, usable, [test for used, test in self._tests if name in used and used.isdisjoint(left)]))
        return order

    def is_allowed(self, point: Point) -> bool:
        """Test whether no fact is false at a point; sizes may be missing there."""
        return all(test(point) for _, test in self._tests)

    def find_nearest(self, asked: Point, start: Point = MappingProxyType({})) -> dict[str, int] | None:
        """Return the solution nearest to a point, which is the point if the facts allow it; None if none is found.

        Sizes in `start` are fixed unless the point is allowed itself.
        """
        allowed = all(asked[name] >= self.least.get(name, -inf) for name in self.names) and self.is_allowed(asked)
        return dict(asked) if allowed else self.solve(lambda name, low, high: asked[name], start)

    def iterate_solutions(
        self, asked: Iterable[Point], start: Point = MappingProxyType({})
    ) -> Iterator[dict[str, int]]:
        """Yield the distinct solutions nearest to points; ends after many points in a row without one."""
        yielded: set[tuple[int, ...]] = set()
        misses = 0
        for requested in asked:
            point = self.find_nearest(requested, start)
            misses = misses + 1 if point is None else -MAX_MISSES
            if point is not None and (key := tuple(point[name] for name in self.names)) not in yielded:
                yielded.add(key)
                yield {name: point[name] for name in self.names}
            if misses > MAX_MISSES:
                return

    def solve(self, draw: Draw, start: Point = MappingProxyType({})) -> dict[str, int] | None:
        """Return a solution near values that are drawn one after the other; sizes of `start` are fixed.

        None if none is found.
        """
        order, visits = self._choose_order(frozenset(start)), MAX_VISITS

        def extend(place: int, point: dict[str, int]) -> dict[str, int] | None:
            if place == len(order):
                return point if self.is_allowed(point) else None
            name, bounds, tests = order[place]

            def is_consistent(value: int) -> bool:
                nonlocal visits
                visits -= 1
                return visits >= 0 and all(test({**point, name: value}) for test in tests)

            values = _ValueRange.of(bounds, point, self.least.get(name))
            for value in values.iterate_near(draw(name, values.low, values.high), is_consistent):
                if (solution := extend(place + 1, {**point, name: value})) is not None:
                    return solution
            return None

        return extend(0, dict(start))


@record
class _ValueRange:
    """The values of a size: integers in steps from an offset, powers of a `base`, or squares (base 0)."""

    low: int | None
    high: int | None
    step: int
    offset: int
    base: int | None

    @classmethod
    def of(cls, bounds: Sequence[_SizeRestriction], point: Point, least: int | None) -> _ValueRange:
        """Return the values that `bounds` allow at a point of the sizes chosen before."""
        lows, highs = [] if least is None else [least], list[int]()
        step, offset, base = 1, 0, None
        for bound in bounds:
            with suppress(EvaluationError):
                low, high = bounds_of_value(evaluate(bound.value, point))
                if bound.relation in (">=", ">", "=="):
                    lows.append(floor(low) + 1 if bound.relation == ">" else ceil(low))
                if bound.relation in ("<=", "<", "=="):
                    highs.append(ceil(high) - 1 if bound.relation == "<" else floor(high))
                if bound.relation == "|":
                    step = lcm(step, max(1, int(low)))
                    offset = offset if bound.rest is None else int(bounds_of_value(evaluate(bound.rest, point))[0])
                base = int(low) if bound.relation == "^" else base
        return cls(max(lows, default=None), min(highs, default=None), step, offset, base)

    def iterate_near(self, first: int, fits: Callable[[int], bool]) -> Iterator[int]:
        """Yield the values that fit: near the first one, then smaller and larger ones, nearest first."""
        low, high = -inf if self.low is None else self.low, inf if self.high is None else self.high
        if low > high:
            return
        first = int(min(max(first, low), high))
        start, minimum, maximum, at = self._index_values(first, low, high)

        def fit(number: int) -> bool:
            return minimum <= number <= maximum and low <= at(number) <= high and fits(at(number))

        def values_at(steps: range) -> Iterator[int]:
            numbers = dict.fromkeys(start + sign * step for step in steps for sign in (1, -1))
            return (at(number) for number in numbers if fit(number))

        any_found = False
        for value in values_at(range(NEAREST_VALUES)):
            any_found = True
            yield value
        for sign, limit in ((-1, start - minimum), (1, maximum - start)):
            before = NEAREST_VALUES - 1
            for level in range(MAX_DOUBLINGS if self.base is None else MAX_EXPONENT_DOUBLINGS):
                beyond = after = int(min(NEAREST_VALUES << level, limit))
                if beyond <= before:
                    break
                if fit(start + sign * beyond):
                    while not any_found and after - before > 1:
                        middle = (before + after) // 2
                        before, after = (before, middle) if fit(start + sign * middle) else (middle, after)
                    any_found = True
                    yield at(start + sign * after)
                before = beyond
        yield from values_at(range(NEAREST_VALUES, MAX_LINEAR_STEPS))

    def _index_values(self, first: int, low: float, high: float) -> tuple[int, float, float, Callable[[int], int]]:
        """Return the index of a value near `first`, the minimum and maximum index, and the map from index to value."""
        match self.base:
            case None:
                minimum = low if self.low is None else -((self.offset - self.low) // self.step)
                maximum = high if self.high is None else (self.high - self.offset) // self.step
                start = -((self.offset - first) // self.step)
                return int(min(start, maximum)), minimum, maximum, lambda number: number * self.step + self.offset
            case 0:
                maximum = high if self.high is None else isqrt(max(self.high, 0))
                return isqrt(max(first, 0)), 0, maximum, lambda number: number**2
            case base:
                level = round(log(max(first, 1), base)) if base > 1 else 0
                return level, 0, inf if base > 1 else 0, lambda number: base**number


def _make_test(fact: s.Fact, decided: bool) -> Test:
    """Return a test whether a fact holds at a point, evaluated once for all points with the same sizes in it.

    `decided`: the fact must be known to hold if all its sizes are given; otherwise it must not be known to be false.
    """
    names = sorted(s.find_names(fact))

    @cache
    def is_possible(*values: int | None) -> bool:
        truth = evaluate_fact(
            fact, {name: value for name, value in zip(names, values, strict=True) if value is not None}
        )
        return truth is True or (truth is None and not (decided and None not in values))

    return lambda point: is_possible(*map(point.get, names))
