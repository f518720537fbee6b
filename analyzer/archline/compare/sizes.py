"""Costs of algorithms at sizes that they share, and what is known of these wherever all of them have runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cached_property, reduce
from itertools import chain

from archline.algebra.bounds import Bounds
from archline.algebra.effort import LazyList
from archline.algebra.facts import Facts
from archline.algebra.polynomial import ONE, Poly
from archline.analysis.cost import Cost, whole_ends_at
from archline.analysis.sampling import points, search_of
from archline.energy.optimise.lattice import TooManyError, UnlimitedSizeError, lattice, size
from archline.energy.optimise.problem import Variable
from archline.expr.intervals import Interval
from archline.expr.text import format_fact
from archline.expr.values import evaluate_static
from archline.ir.declarations import declared_scope
from archline.ir.scope import Scope, static_value
from archline.language import syntax as s
from archline.language.checking.scopes import MACHINE_SYMBOLS
from archline.language.loader import load_text
from archline.language.metrics import WHOLE
from archline.records import field, record

MAX_SIZES = 10_000
"""A finite range of so many sizes is decided by all of them."""
Point = Mapping[str, int]


@record(eq=False)
class SizedCost:
    """A cost of an algorithm, `text` as it is written; `sizes` gives some names of the cost by other sizes.

    `has_runs` says whether a run may end where the names of the cost have values.
    """

    text: str
    cost: Cost
    sizes: Mapping[str, s.Expr]
    has_runs: Callable[[Point], bool] = lambda _: True

    @property
    def whole(self) -> bool:
        """Whether it is an integer; a declared cost may be a fraction."""
        return self.cost.metric in WHOLE and self.cost.status != "declared"

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
    """Sizes and machine symbols, `names`, with the facts that all costs need, read as those of one algorithm.

    Costs are tried at sizes of `interest` first, and near the `constants` of their programs.
    """

    algorithm: s.Algorithm
    scope: Scope
    names: tuple[str, ...]
    facts: tuple[s.Fact, ...]
    constants: frozenset[int] = frozenset()
    interest: tuple[Point, ...] = ()

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
        return cls(algorithm, declared_scope(module, algorithm), names, algorithm.where)

    def points(self) -> Iterator[Point]:
        """Sizes that satisfy the facts: those of interest, all small ones, then larger and larger."""
        return iter(self._points)

    @cached_property
    def _points(self) -> LazyList[Point]:
        """The points, which several comparisons ask for."""
        found = points(self.algorithm, self.scope, self.names, constants=self.constants)
        return LazyList(chain(filter(self.allowed, self.interest), found))

    @cached_property
    def allowed(self) -> Callable[[Point], bool]:
        """Whether the facts allow a point."""
        return search_of(self.algorithm, self.scope, self.names, self.facts).allows

    @property
    def box(self) -> dict[str, tuple[int, int]] | None:
        """The range of each size by itself; None where one has no end."""
        ends = {name: (bounds.least, bounds.most) for name, bounds in self._bounds.items()}
        found = {name: (low, high) for name, (low, high) in ends.items() if low is not None and high is not None}
        return found if len(found) == len(ends) else None

    @property
    def _bounds(self) -> dict[str, Bounds]:
        return {name: self.scope.facts.bounds[name] for name in self.names}

    @cached_property
    def all(self) -> tuple[Point, ...] | None:
        """All sizes that satisfy the facts, small ones first; None where they are not known to be few."""
        least = {name: bounds.least for name, bounds in self._bounds.items() if bounds.least is not None}
        if len(least) < len(self.names):
            return None
        ends = {name: (least[name], bounds.most) for name, bounds in self._bounds.items()}
        variables = [
            Variable(name, name, True, Fraction(low), None if high is None else Fraction(high))
            for name, (low, high) in ends.items()
        ]
        try:
            found = lattice({}, variables, self.facts, least)
        except (TooManyError, UnlimitedSizeError):
            return None
        if size(found) > MAX_SIZES:
            return None
        rows = zip(*(found[name].tolist() for name in self.names), strict=True) if self.names else [()]
        points = (dict(zip(self.names, row, strict=True)) for row in rows)
        return tuple(
            filter(self.allowed, sorted(points, key=lambda each: (max(each.values(), default=0), sum(each.values()))))
        )


class OpenError(Exception):
    """What has no bounds to compare, and why."""


@record
class _Quotient:
    """`above` over `below`, which is positive."""

    above: Poly
    below: Poly = ONE

    def __add__(self, other: _Quotient) -> _Quotient:
        one, two = self.over(other)
        return _Quotient(one + two, self.below if self.below == other.below else self.below * other.below)

    def __mul__(self, other: _Quotient) -> _Quotient:
        above, below = self.above * other.above, self.below * other.below
        if len(below.terms) == 1:
            # Without the divisor where that goes.
            whole, divisors = above * below**-1, below.atoms()
            if all(power > 0 or atom not in divisors for monomial in whole.terms for atom, power in monomial):
                return _Quotient(whole)
        return _Quotient(above, below)

    def over(self, other: _Quotient) -> tuple[Poly, Poly]:
        """Both over one divisor."""
        same = self.below == other.below
        return (self.above, other.above) if same else (self.above * other.below, other.above * self.below)


@record
class InSymbols:
    """Formulas in symbols for amounts, which are 0 at least; what they divide by is added to the `divisors`."""

    values: Mapping[str, Poly]
    facts: Facts
    divisors: list[Poly] = field(default_factory=list)

    def number(self, value: int | Fraction, expr: s.Expr) -> _Quotient:
        return _Quotient(Poly.constant(value))

    def name(self, name: s.Name) -> _Quotient:
        return _Quotient(self.values[name.id])

    def negated(self, value: _Quotient, expr: s.Unary) -> _Quotient:
        return _Quotient(-value.above, value.below)

    def binary(self, op: str, left: _Quotient, right: _Quotient, expr: s.Binary) -> _Quotient:
        match op:
            case "+":
                return left + right
            case "-":
                return left + _Quotient(-right.above, right.below)
            case "*":
                return left * right
            case "/":
                self.divisors.append(right.above)
                return left * _Quotient(right.below, right.above)
            case _:
                power = right.above.constant_term
                if right.below != ONE or not right.above.is_constant or power.q != 1 or power < 0:
                    raise OpenError("a power of a cost that is not a whole number")
                return reduce(_Quotient.__mul__, [left] * int(power.p), _Quotient(ONE))

    def call(self, function: str, values: Sequence[_Quotient], expr: s.Call) -> _Quotient:
        if function not in ("min", "max"):
            raise OpenError(f"`{function}` of a cost")

        def chosen(one: _Quotient, other: _Quotient) -> _Quotient:
            ends = one.over(other)
            found = self.facts.maximum(*ends) if function == "max" else self.facts.minimum(*ends)
            return _Quotient(found, (one + other).below)

        return reduce(chosen, values)
