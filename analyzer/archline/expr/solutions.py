"""Sizes that satisfy facts: those nearest to sizes that are asked for.

The sizes are chosen one after the other, each after those by which facts bound it. Of each the value asked for comes
first, then ones near it, then smaller and larger ones, the least of them that the facts allow. Where none is left, the
size before is chosen anew.
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
from archline.expr.values import ends, evaluate, evaluate_static, holds
from archline.records import memoised, record

MAX_VISITS, MAX_MISSES = 800, 12
"""How many values are tried for one solution, and how many solutions before there are taken to be none."""
NEAREST_VALUES, STEPS = 3, 40
"""How many values on each side of one are tried first, and in the end."""
DOUBLINGS, LEVELS = 70, 5
"""How often the distance is doubled, of powers the exponent's."""
Point = Mapping[str, int]
Test = Callable[[Point], bool]
Draw = Callable[[str, int | None, int | None], int]
"""The value to try first of a name, which lies between two numbers as far as facts say so."""
_SWAPPED = {"<=": ">=", "<": ">", ">=": "<=", ">": "<", "==": "=="}


@record
class _Bound:
    """What a fact says of a size by itself: `>=`, `<=`, `>`, `<` or `==` a value, `|`: it less `rest` is a multiple.

    `^`: it is a power of the value, of 0 a square.
    """

    relation: str
    value: s.Expr
    rest: s.Expr | None = None


def _bounds(fact: s.Fact) -> Iterator[tuple[str, _Bound]]:
    """The names that stand alone in a fact, and how it bounds each."""
    match fact:
        case s.Binary(op=op, left=left, right=right) if op in _SWAPPED:
            for one, other, relation in ((left, right, op), (right, left, _SWAPPED[op])):
                if isinstance(one, s.Name) and one.id not in s.names(other):
                    yield one.id, _Bound(relation, other)
        case s.Divides(divisor=divisor, value=s.Name(id=name)) if name not in s.names(divisor):
            yield name, _Bound("|", divisor)
        case s.Divides(divisor=divisor, value=s.Binary(op="-", left=s.Name(id=name), right=rest)):
            yield name, _Bound("|", divisor, rest)
        case s.IsPower(value=s.Name(id=name), base=base):
            yield name, _Bound("^", base)
        case s.IsSquare(value=s.Name(id=name)):
            yield name, _Bound("^", s.Integer(0, span=fact.span))
        case _:
            # Other facts are tried, not solved.
            pass


def fixed_sizes(facts: Iterable[s.Fact]) -> dict[str, int]:
    """The sizes that facts give, as `n == 64` does."""
    sizes: dict[str, int] = {}
    for name, bound in (pair for fact in facts for part in s.conjuncts(fact) for pair in _bounds(part)):
        if bound.relation == "==":
            with suppress(EvaluationError):
                sizes[name] = evaluate_static(bound.value, sizes)
    return sizes


@record(eq=False)
class SizeSearch:
    """Values of names at which facts hold; names that have no `least` value are of any sign.

    `on_path`: the names are chosen as they are ordered, and facts on other names do not hold. `tests` are further
    conditions on some of the names.
    """

    names: Sequence[str]
    facts: Sequence[s.Fact]
    least: Mapping[str, int]
    on_path: bool = False
    tests: Sequence[tuple[frozenset[str], Test]] = ()

    @cached_property
    def _parts(self) -> list[s.Fact]:
        return [part for fact in self.facts for part in s.conjuncts(fact)]

    @cached_property
    def _tests(self) -> list[tuple[frozenset[str], Test]]:
        return [
            *((s.names(part), _test(part, self.on_path or s.names(part) <= set(self.names))) for part in self._parts),
            *self.tests,
        ]

    @memoised
    def _order(self, known: frozenset[str]) -> list[tuple[str, list[_Bound], list[Test]]]:
        """The other names in the order in which they are chosen, with what bounds each, and what can be tested then."""
        bounds: dict[str, list[_Bound]] = {name: [] for name in self.names}
        for part in self._parts:
            for name, bound in _bounds(part):
                bounds.get(name, []).append(bound)
        names = self.names if self.on_path else sorted(self.names, key=lambda name: (name != "L", name == "Z"))
        left = [name for name in names if name not in known]
        order = []
        while left:

            def given(name: str, relations: str) -> bool:
                """Whether what bounds a name in some ways has names that are chosen."""
                return all(s.names(each.value).isdisjoint(left) for each in bounds[name] if each.relation in relations)

            equal = (each for each in left if any(b.relation == "==" for b in bounds[each]) and given(each, "=="))
            others = [each for each in left if given(each, ">=|^==")] if not self.on_path else []
            bounded = (each for each in others if any(s.names(b.value).isdisjoint(left) for b in bounds[each]))
            name = next(chain(equal, bounded, others, left))
            own = [each for each in bounds[name] if s.names((each.value, each.rest)).isdisjoint(left)]
            left.remove(name)
            order.append((name, own, [test for names, test in self._tests if name in names and names.isdisjoint(left)]))
        return order

    def allows(self, point: Point) -> bool:
        """Whether the facts hold at a point, as far as its sizes are given there."""
        return all(test(point) for _, test in self._tests)

    def nearest(self, asked: Point, start: Point = MappingProxyType({})) -> dict[str, int] | None:
        """The solution that is nearest to a point, which is that itself where the facts allow it."""
        plain = all(asked[name] >= self.least.get(name, -inf) for name in self.names) and self.allows(asked)
        return dict(asked) if plain else self.solve(lambda name, low, high: asked[name], start)

    def points(self, asked: Iterable[Point], start: Point = MappingProxyType({})) -> Iterator[dict[str, int]]:
        """The solutions nearest to points, each once; none once many in a row have had none."""
        known: set[tuple[int, ...]] = set()
        misses = 0
        for each in asked:
            point = self.nearest(each, start)
            misses = misses + 1 if point is None else -MAX_MISSES
            if point is not None and (key := tuple(point[name] for name in self.names)) not in known:
                known.add(key)
                yield {name: point[name] for name in self.names}
            if misses > MAX_MISSES:
                return

    def solve(self, draw: Draw, start: Point = MappingProxyType({})) -> dict[str, int] | None:
        """A solution near values that are drawn one after the other; those of the `start` are as they are there."""
        order, visits = self._order(frozenset(start)), MAX_VISITS

        def extend(place: int, point: dict[str, int]) -> dict[str, int] | None:
            if place == len(order):
                return point if self.allows(point) else None
            name, bounds, tests = order[place]

            def fits(value: int) -> bool:
                nonlocal visits
                visits -= 1
                return visits >= 0 and all(test({**point, name: value}) for test in tests)

            values = _Range.of(bounds, point, self.least.get(name))
            for value in values.near(draw(name, values.low, values.high), fits):
                if (found := extend(place + 1, {**point, name: value})) is not None:
                    return found
            return None

        return extend(0, dict(start))


@record
class _Range:
    """The values of a size: between two numbers, steps after an offset, or powers of a `base`, or squares (base 0)."""

    low: int | None
    high: int | None
    step: int
    offset: int
    base: int | None

    @classmethod
    def of(cls, bounds: Sequence[_Bound], point: Point, least: int | None) -> _Range:
        """Those that bounds leave at a point."""
        lows, highs = [] if least is None else [least], list[int]()
        step, offset, base = 1, 0, None
        for bound in bounds:
            with suppress(EvaluationError):
                low, high = ends(evaluate(bound.value, point))
                if bound.relation in (">=", ">", "=="):
                    lows.append(floor(low) + 1 if bound.relation == ">" else ceil(low))
                if bound.relation in ("<=", "<", "=="):
                    highs.append(ceil(high) - 1 if bound.relation == "<" else floor(high))
                if bound.relation == "|":
                    step = lcm(step, max(1, int(low)))
                    offset = offset if bound.rest is None else int(ends(evaluate(bound.rest, point))[0])
                base = int(low) if bound.relation == "^" else base
        return cls(max(lows, default=None), min(highs, default=None), step, offset, base)

    def near(self, first: int, fits: Callable[[int], bool]) -> Iterator[int]:
        """The values that fit: near a first one, then smaller and larger ones, first those that are nearest."""
        low, high = -inf if self.low is None else self.low, inf if self.high is None else self.high
        if low > high:
            return
        first = int(min(max(first, low), high))
        start, least, most, at = self._numbered(first, low, high)

        def fit(number: int) -> bool:
            return least <= number <= most and low <= at(number) <= high and fits(at(number))

        def near(steps: range) -> Iterator[int]:
            numbers = dict.fromkeys(start + sign * step for step in steps for sign in (1, -1))
            return (at(number) for number in numbers if fit(number))

        found = False
        for value in near(range(NEAREST_VALUES)):
            found = True
            yield value
        for sign, limit in ((-1, start - least), (1, most - start)):
            before = NEAREST_VALUES - 1
            for level in range(DOUBLINGS if self.base is None else LEVELS):
                beyond = after = int(min(NEAREST_VALUES << level, limit))
                if beyond <= before:
                    break
                if fit(start + sign * beyond):
                    while not found and after - before > 1:
                        middle = (before + after) // 2
                        before, after = (before, middle) if fit(start + sign * middle) else (middle, after)
                    found = True
                    yield at(start + sign * after)
                before = beyond
        yield from near(range(NEAREST_VALUES, STEPS))

    def _numbered(self, first: int, low: float, high: float) -> tuple[int, float, float, Callable[[int], int]]:
        """The number of the value at a first one, the least and the greatest, and the values by number."""
        match self.base:
            case None:
                least = low if self.low is None else -((self.offset - self.low) // self.step)
                most = high if self.high is None else (self.high - self.offset) // self.step
                start = -((self.offset - first) // self.step)
                return int(min(start, most)), least, most, lambda number: number * self.step + self.offset
            case 0:
                most = high if self.high is None else isqrt(max(self.high, 0))
                return isqrt(max(first, 0)), 0, most, lambda number: number**2
            case base:
                level = round(log(max(first, 1), base)) if base > 1 else 0
                return level, 0, inf if base > 1 else 0, lambda number: base**number


def _test(fact: s.Fact, decided: bool) -> Test:
    """Whether a fact holds at a point, which is asked once for all points with the same sizes in it.

    `decided`: it has to be known where these are all given; otherwise it suffices that it is not known to be false.
    """
    names = sorted(s.names(fact))

    @cache
    def known(*values: int | None) -> bool:
        found = holds(fact, {name: value for name, value in zip(names, values, strict=True) if value is not None})
        return found is True or (found is None and not (decided and None not in values))

    return lambda point: known(*map(point.get, names))
