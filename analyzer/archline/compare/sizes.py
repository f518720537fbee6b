"""Costs of algorithms at sizes that they share, and what is known of these wherever all of them have runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cached_property
from itertools import islice

from archline.algebra.polynomial import Poly
from archline.analysis.cost import Cost, Costs, whole_ends_at
from archline.analysis.sampling import Allowed, fixed_sizes, points
from archline.energy.intervals import Interval
from archline.ir.scope import Scope, declared, static_value
from archline.language import syntax as s
from archline.language.checking.scopes import MACHINE_SYMBOLS
from archline.language.evaluate import EvaluationError, evaluate_static
from archline.language.format_expressions import format_fact
from archline.language.loader import load_text
from archline.language.parser import parse_expression
from archline.records import record

MAX_SIZES = 10_000
"""A finite range of so many sizes is decided by all of them."""
MAX_TRIED = 200_000
"""So many combinations of sizes are looked at for those that satisfy the facts."""
Point = Mapping[str, int]


@record(eq=False)
class Amount:
    """A cost of an algorithm, `text` as it is written; `sizes` gives some names of the cost by other sizes.

    `has_runs` tells whether a run may end where the names of the cost have values.
    """

    text: str
    cost: Cost
    sizes: Mapping[str, s.Expr]
    has_runs: Callable[[Point], bool] = lambda _: True

    def at(self, point: Point) -> dict[str, int]:
        """The values of the cost's own names. Raises EvaluationError."""
        return {**point, **{name: evaluate_static(value, point) for name, value in self.sizes.items()}}

    def ends(self, point: Point) -> Interval:
        """The least and the greatest value at a point. Raises an EvaluationError."""
        return Interval(*whole_ends_at(self.cost, self.at(point)))

    def in_sizes(self, value: Poly, scope: Scope) -> Poly:
        """A bound of the cost in the sizes of the scope. Raises NotStaticError."""
        own = {name: static_value(each, scope) for name, each in self.sizes.items()}
        return value.substitute({**scope.facts.rewrites, **own})


@record(eq=False)
class Sizes:
    """Sizes and machine symbols, `names`, with the facts that all costs need, read as those of one algorithm."""

    algorithm: s.Algorithm
    scope: Scope
    names: tuple[str, ...]
    facts: tuple[s.Fact, ...]

    @classmethod
    def of(cls, names: Iterable[str], indices: Iterable[str], facts: Iterable[s.Fact]) -> Sizes:
        """The sizes of such names, of which the `indices` have any sign. Raises ArchlineError."""
        names, facts = tuple(dict.fromkeys(names)), tuple(facts)
        kinds = {name: "index" if name in indices else "size" for name in names if name not in MACHINE_SYMBOLS}
        axis = "r"
        while axis in names:
            axis += "r"
        grid = f" on grid({axis}: P)" if "P" in names else ""
        texts = dict.fromkeys(map(format_fact, facts))
        where = f"    where {', '.join(texts)}\n" if texts else ""
        header = ", ".join(f"{name}: {kind}" for name, kind in kinds.items())
        module = load_text(f"algorithm sizes({header}){grid}:\n{where}    pass\n", "<claim>")
        algorithm = module.algorithms["sizes"]
        return cls(algorithm, declared(module, algorithm), names, algorithm.where)

    def points(self) -> Iterator[Point]:
        """Sizes that satisfy the facts: all small ones, then larger and larger."""
        span = self.algorithm.span
        none = s.Ensures("work", None, "<=", s.Integer(0, span=span), (), span=span)
        return points(self.algorithm, self.scope, Costs("", self.names, (), {}, {}), none)

    @cached_property
    def allowed(self) -> Allowed:
        """Whether the facts allow a point."""
        return Allowed.of(self.scope, self.facts)

    @cached_property
    def all(self) -> tuple[Point, ...] | None:
        """All sizes that satisfy the facts; None where they are not known to be few."""
        try:
            found = tuple(islice(filter(self.allowed, self._every({}, [0])), MAX_SIZES + 1))
        except OverflowError:
            return None
        return found if len(found) <= MAX_SIZES else None

    @property
    def box(self) -> dict[str, tuple[int, int]] | None:
        """The range of each size by itself; None where one has no end."""
        ranges = {name: self._range(name, {}) for name in self.names}
        found = {name: (least, most) for name, (least, most) in ranges.items() if None not in (least, most)}
        return found if len(found) == len(ranges) else None  # type: ignore[return-value]

    def _every(self, known: dict[str, int], tried: list[int]) -> Iterator[Point]:
        """The points with some sizes known, the next one in its range. Raises OverflowError where that has no end."""
        left = [name for name in self.names if name not in known]
        if not left:
            yield known
            return
        ranges = ((name, *self._range(name, known)) for name in left)
        name, least, most = next((each for each in ranges if None not in each), ("", None, None))
        if least is None or most is None or tried[0] + most - least > MAX_TRIED:
            raise OverflowError
        tried[0] += max(0, most - least + 1)
        for value in range(least, most + 1):
            yield from self._every({**known, name: value}, tried)

    def _range(self, name: str, known: Point) -> tuple[int | None, int | None]:
        """What the facts say of one size where some others are known."""
        fixed = fixed_sizes(self.facts).get(name)
        if fixed is not None:
            return fixed, fixed
        bounds = self.scope.module.signatures[self.algorithm].at_least
        lowest, highest = [bounds.get(name, 1)] if name in bounds or name in MACHINE_SYMBOLS else [], list[int]()
        for fact in self.facts:
            match fact:
                case s.Binary(op="<=" | "<" | ">=" | ">" | "==" as op, left=left, right=right):
                    sides = ((left, right, op), (right, left, op.translate(_TURNED)))
                    for _, other, way in (each for each in sides if isinstance(each[0], s.Name) and each[0].id == name):
                        with suppress(EvaluationError):
                            value = evaluate_static(other, known)
                            lowest += [value + (way == ">")] if way in (">=", ">", "==") else []
                            highest += [value - (way == "<")] if way in ("<=", "<", "==") else []
                case _:
                    # Other facts give no range.
                    pass
        return max(lowest, default=None), min(highest, default=None)


_TURNED = str.maketrans("<>", "><")


def point_text(point: Point) -> str:
    """Sizes with their values."""
    return ", ".join(f"{name} = {value}" for name, value in point.items())


def fact(text: str) -> s.Expr:
    """A comparison that archline itself writes."""
    return parse_expression(text, "claim")
