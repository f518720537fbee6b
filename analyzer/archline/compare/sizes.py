"""Represent the costs of algorithms at shared sizes, and the facts under which all these algorithms have runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cached_property, reduce
from itertools import chain

from archline.algebra.bounds import Bounds
from archline.algebra.effort import LazyList
from archline.algebra.facts import Facts
from archline.algebra.polynomial import ONE, Poly
from archline.analysis.cost import Cost, enclose_count
from archline.analysis.sampling import build_size_search, iterate_valid_sizes
from archline.energy.optimise.lattice import TooManyError, UnlimitedSizeError, count_points, enumerate_points
from archline.energy.optimise.problem import Variable
from archline.expr.intervals import Interval
from archline.expr.text import format_fact
from archline.expr.tree import Source
from archline.expr.values import evaluate_static
from archline.ir.declarations import declared_scope
from archline.ir.scope import Scope, static_value
from archline.language import syntax as s
from archline.language.checking import check
from archline.language.checking.scopes import MACHINE_SYMBOLS
from archline.language.metrics import WHOLE_METRICS
from archline.language.model import Module
from archline.language.parser import parse
from archline.records import field, record, replace

MAX_SIZES = 10_000
"""The maximum number of points in a finite range for which a comparison is decided by evaluation at all points."""
Point = Mapping[str, int]


@record(eq=False)
class SizedCost:
    """A cost of an algorithm, written as `text`; `sizes` gives values, in shared sizes, to some of its names.

    `has_runs` tests whether a run may end at values of the names.
    """

    text: str
    cost: Cost
    sizes: Mapping[str, s.Expr]
    has_runs: Callable[[Point], bool] = lambda _: True

    @property
    def whole(self) -> bool:
        """Whether the cost is an integer; a declared cost may be a fraction."""
        return self.cost.metric in WHOLE_METRICS and self.cost.status != "declared"

    def evaluate_sizes(self, point: Point) -> dict[str, int]:
        """Return the values of the names in the cost at a point of the shared sizes. Raises EvaluationError."""
        return {**point, **{name: evaluate_static(value, point) for name, value in self.sizes.items()}}

    def enclose_value(self, point: Point) -> Interval:
        """Return the interval of the cost's values at a point. Raises EvaluationError."""
        return enclose_count(self.cost, self.evaluate_sizes(point))

    def express_in_sizes(self, value: Poly, scope: Scope) -> Poly:
        """Express a bound of the cost in the shared sizes, those of the scope. Raises NotStaticError."""
        values = {name: static_value(expr, scope) for name, expr in self.sizes.items() if name in value.names}
        return value.substitute({**scope.facts.rewrites, **values})


@record(eq=False)
class Sizes:
    """Shared sizes and machine symbols `names`, and the facts that all costs need, declared in a dummy `algorithm`.

    Costs are evaluated at the points of `interest` first, and near the `constants` of their programs.
    """

    algorithm: s.Algorithm
    scope: Scope
    names: tuple[str, ...]
    facts: tuple[s.Fact, ...]
    constants: frozenset[int] = frozenset()
    interest: tuple[Point, ...] = ()

    @classmethod
    def of(cls, names: Iterable[str], indices: Iterable[str], facts: Iterable[s.Fact]) -> Sizes:
        """Build shared sizes from names and facts; `indices` may be negative. Raises ArchlineError if they conflict."""
        names, facts = tuple(dict.fromkeys(names)), tuple(facts)
        kinds = {name: "index" if name in indices else "size" for name in names if name not in MACHINE_SYMBOLS}
        axis = "r"
        while axis in names:
            axis += "r"
        grid = f" on grid({axis}: P)" if "P" in names else ""
        texts = dict.fromkeys(map(format_fact, facts))
        where = f"    where {', '.join(texts)}\n" if texts else ""
        # The iterations of a callee, such as `find.T`, are no name of a parameter in a text.
        header = ", ".join(f"{name.replace('.', '_')}: {kind}" for name, kind in kinds.items())
        text = f"algorithm sizes({header}){grid}:\n{where}    pass\n"
        parsed = parse(Source("<claim>", text))
        program = parsed.program
        if any("." in name for name in kinds):
            (written,) = program.algorithms
            parameters = (
                replace(parameter, name=name) for parameter, name in zip(written.parameters, kinds, strict=True)
            )
            program = replace(program, items=(replace(written, parameters=tuple(parameters)),))
        module = check(program, _resolve_nothing, parsed.diagnostics)
        algorithm = module.algorithms["sizes"]
        return cls(algorithm, declared_scope(module, algorithm), names, algorithm.where)

    def points(self) -> Iterator[Point]:
        """Iterate over the points that satisfy the facts: those of interest, then small ones, then larger ones."""
        return iter(self._points)

    @cached_property
    def _points(self) -> LazyList[Point]:
        """The points that satisfy the facts, searched on demand and cached."""
        searched = iterate_valid_sizes(self.algorithm, self.scope, self.names, constants=self.constants)
        return LazyList(chain(filter(self.is_allowed, self.interest), searched))

    @cached_property
    def is_allowed(self) -> Callable[[Point], bool]:
        """The function that tests whether the facts allow a point."""
        return build_size_search(self.algorithm, self.scope, self.names, self.facts).is_allowed

    @property
    def box(self) -> dict[str, tuple[int, int]] | None:
        """The range of each size; None if one is unlimited."""
        ends = {name: (bounds.minimum, bounds.maximum) for name, bounds in self._bounds.items()}
        finite = {name: (low, high) for name, (low, high) in ends.items() if low is not None and high is not None}
        return finite if len(finite) == len(ends) else None

    @property
    def _bounds(self) -> dict[str, Bounds]:
        return {name: self.scope.facts.bounds[name] for name in self.names}

    @cached_property
    def all(self) -> tuple[Point, ...] | None:
        """All points that satisfy the facts, small ones first; None if there may be more than `MAX_SIZES`."""
        least = {name: bounds.minimum for name, bounds in self._bounds.items() if bounds.minimum is not None}
        if len(least) < len(self.names):
            return None
        ends = {name: (least[name], bounds.maximum) for name, bounds in self._bounds.items()}
        variables = [
            Variable(name, name, True, Fraction(low), None if high is None else Fraction(high))
            for name, (low, high) in ends.items()
        ]
        try:
            grid = enumerate_points({}, variables, self.facts, least)
        except (TooManyError, UnlimitedSizeError):
            return None
        if count_points(grid) > MAX_SIZES:
            return None
        rows = zip(*(grid[name].tolist() for name in self.names), strict=True) if self.names else [()]
        points = (dict(zip(self.names, row, strict=True)) for row in rows)
        return tuple(
            filter(self.is_allowed, sorted(points, key=lambda at: (max(at.values(), default=0), sum(at.values()))))
        )


def _resolve_nothing(use: s.Use) -> Module:
    raise AssertionError("an algorithm of sizes uses no file")


class OpenError(Exception):
    """The bounds of a formula cannot be compared; the message is the reason."""


@record
class _Quotient:
    """The quotient of `above` and a positive `below`."""

    above: Poly
    below: Poly = ONE

    def __add__(self, other: _Quotient) -> _Quotient:
        left, right = self.get_common_numerators(other)
        return _Quotient(left + right, self.below if self.below == other.below else self.below * other.below)

    def __mul__(self, other: _Quotient) -> _Quotient:
        above, below = self.above * other.above, self.below * other.below
        if len(below.terms) == 1:
            # Divide exactly if possible: (a*b)/b -> a.
            whole, divisors = above * below**-1, below.atoms()
            if all(power > 0 or atom not in divisors for monomial in whole.terms for atom, power in monomial):
                return _Quotient(whole)
        return _Quotient(above, below)

    def get_common_numerators(self, operand: _Quotient) -> tuple[Poly, Poly]:
        """Return the numerators of two quotients over a common divisor."""
        same = self.below == operand.below
        return (self.above, operand.above) if same else (self.above * operand.below, operand.above * self.below)


@record
class QuotientEvaluator:
    """Folds formulas of nonnegative amounts into quotients of polynomials in symbols, and collects the `divisors`."""

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
                    raise OpenError("the exponent of a cost is not a whole number")
                return reduce(_Quotient.__mul__, [left] * int(power.p), _Quotient(ONE))

    def call(self, function: str, values: Sequence[_Quotient], expr: s.Call) -> _Quotient:
        if function not in ("min", "max"):
            raise OpenError(f"`{function}` of a cost cannot be bounded")

        def take_extremum(first: _Quotient, second: _Quotient) -> _Quotient:
            ends = first.get_common_numerators(second)
            extremum = self.facts.maximum(*ends) if function == "max" else self.facts.minimum(*ends)
            return _Quotient(extremum, (first + second).below)

        return reduce(take_extremum, values)
