"""Whether a formula of costs is at most another, less, or equal: at all sizes, by bounds, or at sizes, by values.

Where a cost has several bounds under several conditions, each case is decided by itself. What both sides share cancels:
the difference of the formulas is taken in the costs, then each cost is replaced by the bound that makes it least.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from fractions import Fraction
from functools import cached_property, reduce
from itertools import chain, islice, product

from archline.algebra.effort import TooComplexError, budget
from archline.algebra.evaluate.exact import EvaluationError
from archline.algebra.expand import as_fractions
from archline.algebra.facts import Facts
from archline.algebra.polynomial import ONE, ZERO, Monomial, Poly, Symbol
from archline.algebra.prove.residues import never_negative
from archline.analysis.cost import Costs, cost_text
from archline.claims.growth import facts_of_case
from archline.claims.verdict import Outcome
from archline.compare.sizes import Amount, Point, Sizes
from archline.energy.formulas import fold, names_in, value_of
from archline.energy.intervals import Interval, UndefinedError
from archline.ir.indicators import excluded
from archline.ir.scope import NotStaticError, static_value, with_all
from archline.ir.scope import never_negative as signs
from archline.language import syntax as s
from archline.language.evaluate import Enclosure, evaluate
from archline.language.evaluate import EvaluationError as NoValueError
from archline.language.substitution import rewritten, substituted_fact
from archline.records import record

MAX_TERM_PRODUCTS = 500_000
MAX_CASES = 64
"""In more cases together the bounds of several costs are not compared."""
SEEN = 400
"""The last of so many sizes shows what leaves a comparison open."""
MAX_WAYS = 32
"""So many choices of bounds are tried in a case."""
OPPOSITE = {"<=": ">=", "<": ">", ">=": "<=", ">": "<", "==": "=="}
NO_VALUE = (EvaluationError, NoValueError, UndefinedError, OverflowError, ZeroDivisionError)


@record
class OrderVerdict:
    """Whether a comparison holds, why, and where it fails; of what is not decided, the `bounds` of both sides."""

    outcome: Outcome
    reason: str
    point: Point | None = None
    bounds: str = ""


class _OpenError(Exception):
    """What has no bounds to compare, and why."""


@record(eq=False)
class CostOrder:
    """`left relation right`, two formulas of amounts, of constants (of a machine) and of sizes."""

    left: s.Expr
    relation: str
    right: s.Expr
    amounts: Mapping[str, Amount]
    constants: Mapping[str, Fraction]
    sizes: Sizes

    def decided(self) -> OrderVerdict:
        """The verdict: by the values where the sizes are few, else by bounds at all sizes, refuted by values."""
        unknown = next((each for each in self.amounts.values() if each.cost.lower is None), None)
        if unknown is not None:
            return OrderVerdict("unknown", f"{unknown.text} is unknown: {unknown.cost.reason}")
        few = self.sizes.all
        if few is not None and not few:
            return OrderVerdict("unknown", "no sizes satisfy the facts")
        if few is not None and len(few) == 1:
            return self._at_all(few)
        reason = ""
        try:
            with budget(MAX_TERM_PRODUCTS):
                if self._proved:
                    return OrderVerdict("holds", "proved for all sizes" + self._trust)
        except (_OpenError, NotStaticError, TooComplexError) as problem:
            reason = str(problem)
        if few is not None:
            return self._at_all(few)
        for point in self.sizes.points():
            found = self._at(point)
            if found is not None and found.outcome == "fails" and self._has_runs(point):
                return found
        return self._open(reason)

    @property
    def _trust(self) -> str:
        """What a proof rests on beside the programs."""
        declared = dict.fromkeys(name for each in self.amounts.values() for name in each.cost.declared)
        return f", given what {', '.join(declared)} declares" if declared else ""

    # By values
    def _at_all(self, points: Sequence[Point]) -> OrderVerdict:
        """The verdict by the values at all sizes."""
        found = [(point, self._at(point)) for point in points if self._has_runs(point)]
        if not found:
            return OrderVerdict("unknown", "no run ends at these sizes")
        for _, each in found:
            if each is not None and each.outcome == "fails":
                return each
        undecided = next(((point, each) for point, each in found if each is None or each.outcome != "holds"), None)
        if undecided is None:
            if len(found) == 1:
                assert found[0][1] is not None
                return OrderVerdict("holds", f"at these sizes {found[0][1].reason}{self._trust}")
            return OrderVerdict("holds", f"evaluated at all {len(found):,} sizes{self._trust}")
        point, each = undecided
        reason = "there is no value" if each is None else each.reason
        return OrderVerdict("unknown", f"{reason}{self._widest(point)}", point)

    def _at(self, point: Point) -> OrderVerdict | None:
        """The verdict at a point; None where a side has no value."""
        try:
            one, other = self._values(point)
        except NO_VALUE:
            return None
        said = f"the left side is {_shown(one)}, the right side {_shown(other)}"
        holds = {
            "<=": one.upper <= other.lower,
            "<": one.upper < other.lower,
            ">=": one.lower >= other.upper,
            ">": one.lower > other.upper,
            "==": one.exact and one == other,
        }[self.relation]
        if holds:
            return OrderVerdict("holds", said)
        fails = {
            "<=": one.lower > other.upper,
            "<": one.lower >= other.upper,
            ">=": one.upper < other.lower,
            ">": one.upper <= other.lower,
            "==": one.lower > other.upper or one.upper < other.lower,
        }[self.relation]
        return OrderVerdict("fails", said, point) if fails else OrderVerdict("unknown", said)

    def _has_runs(self, point: Point) -> bool:
        try:
            return all(each.has_runs(each.at(point)) for each in self.amounts.values())
        except NoValueError:
            return False

    def _values(self, point: Point) -> tuple[Interval, Interval]:
        values = {name: each.ends(point) for name, each in self.amounts.items()}
        values |= {name: Interval.of(each) for name, each in self.constants.items()}
        values |= {name: _interval(evaluate(each, point)) for name, each in self._parts.items()}
        one, other = self._formulas
        return value_of(one, values), value_of(other, values)

    def _widest(self, point: Point) -> str:
        """What leaves a comparison open at a point: the cost whose bounds are the furthest apart, for its size."""
        widths = {}
        for each in self.amounts.values():
            try:
                ends = each.ends(point)
            except NO_VALUE as problem:
                return f"; {each.text}: {problem}"
            widths[each.text] = (ends.width / max(Fraction(1), ends.upper), ends)
        text = max(widths, key=lambda name: widths[name][0], default="")
        return f"; widest: {text}, {_shown(widths[text][1])}" if text and widths[text][0] else ""

    def _open(self, reason: str) -> OrderVerdict:
        """That nothing decides, with the bounds, and the cost whose bounds are the furthest apart at the last sizes."""
        tried = list(islice(self.sizes.points(), SEEN))
        point = tried[-1] if tried else None
        exact = all(each.cost.exact for each in self.amounts.values())
        why = "no counterexample at the sizes checked, and no proof" if exact else "the bounds do not decide it"
        widest = "" if point is None or exact else self._widest(point)
        bounds = "; ".join(f"{each.text}: {bounds_text(each)}" for each in self.amounts.values())
        return OrderVerdict("unknown", f"{why}{': ' if reason else ''}{reason}{widest}", bounds=bounds)

    # By bounds
    @property
    def _formulas(self) -> tuple[s.Expr, ...]:
        return self._apart[0]

    @property
    def _parts(self) -> Mapping[str, s.Expr]:
        return self._apart[1]

    @cached_property
    def _apart(self) -> tuple[tuple[s.Expr, ...], Mapping[str, s.Expr]]:
        return apart((self.left, self.right), self.amounts.keys() | self.constants.keys())

    @property
    def _proved(self) -> bool:
        """Whether bounds show it at all sizes. Raises _OpenError, NotStaticError, TooComplexError."""
        facts = self.sizes.scope.facts
        for name in self.amounts:
            facts = facts.with_symbol(name, (ZERO,))
        symbols = _Symbols({**{name: Poly.symbol(name) for name in self.amounts}, **self._known}, facts)
        one, other = (fold(each, symbols) for each in self._formulas)
        ways = {"<=": [(one, other)], ">=": [(other, one)], "==": [(one, other), (other, one)]}
        strict = self.relation in ("<", ">")
        pairs = ways[self.relation + "=" * strict]
        return all(
            any(
                all(_least(top, bottom, bounds, case, strict) for top in above for bottom in below)
                for above, below in product(more.lowers, less.uppers)
                for bounds in _ways(bounds_by_name)
            )
            for case, bounds_by_name in self._cases(facts)
            for less, more in pairs
        )

    @property
    def _known(self) -> dict[str, Poly]:
        """Constants and parts of the formulas as expressions."""
        found = {name: Poly.constant(value) for name, value in self.constants.items()}
        for name, part in self._parts.items():
            if isinstance(part, s.Real):
                found[name] = Poly.constant(Fraction(evaluate(part, {})))  # type: ignore[arg-type]
            else:
                found[name] = as_fractions(static_value(part, self.sizes.scope))
        return found

    def _cases(self, facts: Facts) -> Iterator[tuple[Facts, dict[str, _Bounds]]]:
        """All cases together of the bounds of all amounts. Raises _OpenError where there are too many."""
        found: list[tuple[Facts, dict[str, _Bounds]]] = [(facts, {})]
        for name, each in self.amounts.items():
            found = [
                (more, {**known, name: bounds})
                for case, known in found
                for more, bounds in _cases(each, case, self.sizes)
            ]
            if len(found) > MAX_CASES:
                raise _OpenError("their bounds have too many cases together")
        return iter(found)


def apart(sides: Iterable[s.Expr], held: Set[str]) -> tuple[tuple[s.Expr, ...], Mapping[str, s.Expr]]:
    """Formulas in the names that are `held` and names of their parts in sizes alone, and these; reals are parts too."""
    found: dict[str, s.Expr] = {}

    def named(part: s.Expr) -> s.Expr | None:
        reals = not isinstance(part, s.Real) and any(isinstance(each, s.Real) for each in s.nodes(part))
        if names_in(part) & held or reals:
            return None
        found[name := f"part {len(found)}"] = part
        return s.Name(name, span=part.span)

    def written(part: s.Expr) -> s.Expr | None:
        return part if isinstance(part, s.Name) and part.id in held else named(part)

    return tuple(rewritten(each, written) for each in sides), found


# The bounds of amounts
@record(eq=False)
class _Bounds:
    """Lower and upper bounds of an amount, any of which may be taken."""

    lowers: tuple[Poly, ...]
    uppers: tuple[Poly, ...]


def _cases(amount: Amount, facts: Facts, sizes: Sizes) -> Iterator[tuple[Facts, _Bounds]]:
    """The bounds of an amount where some facts hold, by the cases of its regimes."""
    cost, scope = amount.cost, sizes.scope
    assert cost.lower is not None
    assert cost.upper is not None

    def written(*values: Poly) -> tuple[Poly, ...]:
        return tuple(as_fractions(amount.in_sizes(each, scope)) for each in values)

    if cost.regimes and not cost.alternatives:
        for regime in cost.regimes:
            for case in regime.cases:
                more = [substituted_fact(each, amount.sizes) for each in facts_of_case(case)]
                if not excluded(more, scope.with_facts(facts)):
                    yield with_all(facts, more, scope), _Bounds(written(regime.lower), written(regime.upper))
        return
    lowers = written(cost.lower, *(value for _, value in cost.lowers))
    holding = [
        each.upper
        for each in reversed(cost.alternatives)
        if all(facts.nonnegative(facts.simplify(need)) for need in written(*each.needs))
    ]
    yield facts, _Bounds(lowers, written(*holding, cost.upper))


def _ways(bounds: Mapping[str, _Bounds]) -> Iterator[dict[str, tuple[Poly, Poly]]]:
    """The choices of a lower and an upper bound of each amount."""
    choices = ([(low, high) for high in each.uppers for low in each.lowers] for each in bounds.values())
    return (dict(zip(bounds, each, strict=True)) for each in islice(product(*choices), MAX_WAYS))


def _least(more: _Ratio, less: _Ratio, bounds: Mapping[str, tuple[Poly, Poly]], facts: Facts, strict: bool) -> bool:
    """Whether one fraction of amounts is at least another, or greater, by one choice of their bounds."""
    value = more.above - less.above if more.below == less.below else more.above * less.below - less.above * more.below
    for divisor in {more.below, less.below} - {ONE}:
        if not _positive(_bounded(divisor, bounds, facts), facts):
            return False
    found = _bounded(value, bounds, facts)
    return _positive(found, facts) if strict else never_negative(found, facts)


def _positive(value: Poly, facts: Facts) -> bool:
    """Whether a value is more than 0 by the least that such values differ by; of roots and logarithms none is known."""
    (margin,) = signs(">", value)
    return margin != value and never_negative(margin, facts)


def _bounded(value: Poly, bounds: Mapping[str, tuple[Poly, Poly]], facts: Facts) -> Poly:
    """What a polynomial of amounts is at least: each by the bound that makes it less."""
    parts: dict[Monomial, dict[Monomial, object]] = {}
    for monomial, coefficient in value.terms.items():
        amounts = tuple(each for each in monomial if isinstance(each[0], Symbol) and each[0].name in bounds)
        rest = tuple(each for each in monomial if each not in amounts)
        parts.setdefault(amounts, {})[rest] = coefficient
    found = ZERO
    for amounts, terms in parts.items():
        factor = Poly(terms)  # type: ignore[arg-type]
        ends = [(bounds[atom.key], power) for atom, power in amounts]
        if any(power < 0 for _, power in ends):
            raise _OpenError("a quotient of costs")
        low, high = (reduce(Poly.__mul__, (pair[side] ** power for pair, power in ends), ONE) for side in (0, 1))
        several = sum(power for _, power in ends) > 1
        if several and not all(facts.nonnegative(pair[0]) for pair, _ in ends):
            low = ZERO
        found += sum((end * part for part, end in _by_sign(factor, low, high, facts)), ZERO)
    return found


def _by_sign(factor: Poly, low: Poly, high: Poly, facts: Facts) -> Iterator[tuple[Poly, Poly]]:
    """The parts of a factor with the bound to take for each: the lower one where it is positive."""
    if low == high or facts.nonnegative(factor):
        yield factor, low
    elif facts.nonnegative(-factor):
        yield factor, high
    else:
        for monomial, coefficient in factor.terms.items():
            if not facts.nonnegative(Poly({monomial: coefficient}).scaled(1 if coefficient > 0 else -1)):
                raise _OpenError("the sign of a factor of a cost is not known")
            yield Poly({monomial: coefficient}), low if coefficient > 0 else high


# Formulas of amounts
@record
class _Ratio:
    """`above` over `below`, which is positive."""

    above: Poly
    below: Poly = ONE


_All = tuple[_Ratio, ...]


@record
class _Ends:
    """Bounds of a formula: it is at least the least of each of the `lowers`, at most the largest of each `uppers`."""

    lowers: tuple[_All, ...]
    uppers: tuple[_All, ...]

    @property
    def exact(self) -> _Ratio | None:
        """The formula itself, where it has no maximum or minimum in it."""
        same = self.lowers == self.uppers and len(self.lowers) == 1 and len(self.lowers[0]) == 1
        return self.lowers[0][0] if same else None

    @classmethod
    def of(cls, value: _Ratio) -> _Ends:
        """One that is known."""
        return cls(((value,),), ((value,),))


def _each(one: tuple[_All, ...], other: tuple[_All, ...], op: str) -> tuple[_All, ...]:
    return tuple(tuple(_combined(op, a, b) for a in x for b in y) for x in one for y in other)


def _combined(op: str, one: _Ratio, other: _Ratio) -> _Ratio:
    match op:
        case "*":
            return _Ratio(one.above * other.above, one.below * other.below)
        case "/":
            return _Ratio(one.above * other.below, one.below * other.above)
        case _:
            sign = 1 if op == "+" else -1
            if one.below == other.below:
                return _Ratio(one.above + other.above.scaled(sign), one.below)
            above = one.above * other.below + (other.above * one.below).scaled(sign)
            return _Ratio(above, one.below * other.below)


@record
class _Symbols:
    """Formulas in symbols for amounts, which are 0 at least."""

    values: Mapping[str, Poly]
    facts: Facts

    def number(self, value: Fraction, expr: s.Expr) -> _Ends:
        return _Ends.of(_Ratio(Poly.constant(value)))

    def name(self, name: s.Name) -> _Ends:
        return _Ends.of(_Ratio(self.values[name.id]))

    def negated(self, value: _Ends) -> _Ends:
        def minus(ends: tuple[_All, ...]) -> tuple[_All, ...]:
            return tuple(tuple(_Ratio(-each.above, each.below) for each in every) for every in ends)

        return _Ends(minus(value.uppers), minus(value.lowers))

    def binary(self, op: str, left: _Ends, right: _Ends, expr: s.Binary) -> _Ends:
        match op:
            case "+":
                return _Ends(_each(left.lowers, right.lowers, op), _each(left.uppers, right.uppers, op))
            case "-":
                return _Ends(_each(left.lowers, right.uppers, op), _each(left.uppers, right.lowers, op))
            case "*":
                return self._product(left, right)
            case "/":
                self._require(right, "a divisor is not known to be positive")
                if right.exact is None:
                    self._require(left, "the sign of what is divided is not known")
                return _Ends(_each(left.lowers, right.uppers, op), _each(left.uppers, right.lowers, op))
            case _:
                exponent = right.exact
                power = None if exponent is None or not exponent.above.is_constant else exponent.above.constant_term
                if power is None or power.q != 1 or power < 0:
                    raise _OpenError("a power of a cost that is no whole number")
                return reduce(self._product, [left] * int(power.p), _Ends.of(_Ratio(ONE)))

    def _product(self, left: _Ends, right: _Ends) -> _Ends:
        if left.exact is not None and right.exact is not None:
            return _Ends.of(_combined("*", left.exact, right.exact))
        for one, other in ((left, right), (right, left)):
            if one.exact is not None and self.facts.nonnegative(-one.exact.above):
                return self.negated(self._product(self.negated(one), other))
        for each in (left, right):
            self._require(each, "the sign of a factor is not known")
        return _Ends(_each(left.lowers, right.lowers, "*"), _each(left.uppers, right.uppers, "*"))

    def _require(self, value: _Ends, reason: str) -> None:
        """Raise _OpenError unless a value is 0 at least; of divisors bounds show later that they are not 0."""
        if not any(all(self.facts.nonnegative(each.above) for each in every) for every in value.lowers):
            raise _OpenError(reason)

    def call(self, function: str, values: Sequence[_Ends], expr: s.Call) -> _Ends:
        lowers, uppers = [each.lowers for each in values], [each.uppers for each in values]
        match function:
            case "max":
                return _Ends(tuple(chain(*lowers)), tuple(tuple(chain(*each)) for each in product(*uppers)))
            case "min":
                return _Ends(tuple(tuple(chain(*each)) for each in product(*lowers)), tuple(chain(*uppers)))
            case _:
                raise _OpenError(f"`{function}` of a cost")


def at_most(one: Amount, other: Amount, sizes: Sizes, relation: str = "<=") -> OrderVerdict:
    """Whether a cost is at most another (or `==` and so on) at all sizes: proved, refuted at a point, or unknown."""
    left, right = (s.Name(name, span=sizes.algorithm.span) for name in ("the one", "the other"))
    return CostOrder(left, relation, right, {left.id: one, right.id: other}, {}, sizes).decided()


def bounds_text(amount: Amount) -> str:
    """The bounds of an amount in the names of its algorithm."""
    names = tuple(sorted(frozenset().union(*(each.names for each in (amount.cost.lower, amount.cost.upper) if each))))
    return cost_text(Costs("", names, (), {}, {}), amount.cost)


def _interval(value: int | Fraction | Enclosure) -> Interval:
    return Interval(value.lo, value.hi) if isinstance(value, Enclosure) else Interval.of(value)


def _shown(value: Interval) -> str:
    ends = dict.fromkeys(map(_number, (value.lower, value.upper)))
    return " to ".join(ends)


def _number(value: Fraction) -> str:
    return str(value) if value.denominator == 1 and abs(value) < 10**15 else f"{float(value):.6g}"
