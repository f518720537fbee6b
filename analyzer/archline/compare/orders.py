"""Whether a formula of costs is at most another, less, or equal: at all sizes, by bounds, or at sizes, by values.

Where a cost has several bounds under several conditions, each case is decided by itself. What both sides share cancels:
the difference of the formulas is taken in the costs, then each cost is replaced by the bound that makes it least.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from fractions import Fraction
from functools import cached_property, reduce
from itertools import chain, islice, product
from math import floor, log10

from archline.algebra.effort import TooComplexError, budget
from archline.algebra.evaluate.exact import EvaluationError
from archline.algebra.evaluate.exact import evaluate as evaluated
from archline.algebra.expand import as_fractions
from archline.algebra.facts import Facts
from archline.algebra.polynomial import ONE, ZERO, Monomial, Poly, Symbol
from archline.algebra.prove.residues import never_negative
from archline.analysis.cost import Cost, Costs, cost_text
from archline.claims.growth import facts_of_case
from archline.claims.verdict import Outcome
from archline.compare.sizes import MAX_SIZES, Amount, Point, Sizes, point_text
from archline.energy.formulas import fold, names_in, value_of
from archline.energy.intervals import Interval, UndefinedError
from archline.ir.indicators import excluded
from archline.ir.scope import NotStaticError, static_value, with_all
from archline.ir.scope import never_negative as signs
from archline.language import syntax as s
from archline.language.evaluate import Enclosure, evaluate
from archline.language.evaluate import EvaluationError as NoValueError
from archline.language.substitution import rewritten, substituted_fact
from archline.numbers import fmpq
from archline.records import record

MAX_TERM_PRODUCTS = 500_000
MAX_CASES = 64
"""In more cases together the bounds of several costs are not compared."""
SEEN = 400
"""The last of so many sizes shows what leaves a comparison open."""
MAX_WAYS = 32
"""So many choices of bounds are tried in a case."""
NO_VALUE = (EvaluationError, NoValueError, UndefinedError, OverflowError, ZeroDivisionError)


@record
class OrderVerdict:
    """Whether a comparison holds, why, and where it fails; of what is not decided, the `bounds` of its costs."""

    outcome: Outcome
    reason: str
    point: Point | None = None
    bounds: str = ""


class _OpenError(Exception):
    """What has no bounds to compare, and why."""


Choices = list[tuple[Poly, Poly]]
"""Pairs of a lower and an upper bound, any of which may be taken."""


@record(eq=False)
class CostOrder:
    """`left relation right`, two formulas of amounts and of `parts`: expressions in sizes, and numbers."""

    left: s.Expr
    relation: str
    right: s.Expr
    amounts: Mapping[str, Amount]
    parts: Mapping[str, s.Expr | Fraction]
    sizes: Sizes

    def decided(self) -> OrderVerdict:
        """The verdict: by the values where the sizes are few, else by bounds at all sizes, refuted by values."""
        unknown = next((each for each in self.amounts.values() if each.cost.lower is None), None)
        if unknown is not None:
            return OrderVerdict("unknown", f"{unknown.text} is unknown: {unknown.cost.reason}")
        few = self.sizes.all
        why = "no counterexample at the sizes checked, and no proof"
        if few is None and next(self.sizes.points(), None) is None:
            # Whatever is said of no sizes can be proved.
            return OrderVerdict("unknown", "no sizes were found that satisfy the facts")
        if few is None or len(few) > 1:
            try:
                with budget(MAX_TERM_PRODUCTS):
                    if self._proved:
                        return self._holding("proved for all sizes")
                    boxes = None if few is not None else self._by_boxes()
                if boxes is not None:
                    return boxes
            except (_OpenError, NotStaticError, TooComplexError) as problem:
                why = str(problem)
        return self._tried(few, why)

    def _holding(self, reason: str) -> OrderVerdict:
        """The verdict `holds`, with the declared costs on which it rests."""
        declared = dict.fromkeys(name for each in self.amounts.values() for name in each.cost.declared)
        return OrderVerdict("holds", reason + (f", given what {', '.join(declared)} declares" if declared else ""))

    def _open(self, why: str, point: Point | None) -> OrderVerdict:
        """That nothing decides, with the bounds, and the cost whose bounds are the furthest apart at a point."""
        bounds = "\n".join(f"{each.text}: {_bounds_text(each, self.sizes)}" for each in self.amounts.values())
        return OrderVerdict("unknown", why if point is None else why + self._widest(point), bounds=bounds)

    # By values
    def _tried(self, few: Sequence[Point] | None, why: str) -> OrderVerdict:
        """The verdict by the values: at all sizes where they are few, else that of one where it fails."""
        found: list[tuple[Point, OrderVerdict | None]] = []
        for point in self.sizes.points() if few is None else few:
            verdict = self._at(point)
            fails = verdict is not None and verdict.outcome == "fails"
            # Following a run takes longer than evaluating: of samples it is asked only where they tell something.
            if (fails or few is not None) and not self._has_runs(point):
                continue
            found.append((point, verdict))
            if verdict is not None and fails:
                return verdict
        if few is None:
            return self._open(why, found[min(len(found), SEEN) - 1][0] if found else None)
        for point, each in found:
            if each is None or each.outcome != "holds":
                return self._open("there is no value" if each is None else each.reason, point)
        match found:
            case []:
                return OrderVerdict("unknown", "no sizes satisfy the facts, or no run ends at them")
            case [(_, OrderVerdict(reason=reason))]:
                return self._holding(f"at these sizes {reason}")
            case _:
                return self._holding(f"evaluated at all {len(found):,} sizes")

    def _at(self, point: Point) -> OrderVerdict | None:
        """The verdict at a point; None where a side has no value."""
        try:
            values = {name: each.ends(point) for name, each in self.amounts.items()}
            for name, part in self.parts.items():
                value = part if isinstance(part, Fraction) else evaluate(part, point)
                values[name] = Interval(value.lo, value.hi) if isinstance(value, Enclosure) else Interval.of(value)
            one, other = (value_of(each, values) for each in (self.left, self.right))
        except NO_VALUE:
            return None
        less, more = (other, one) if self.relation in (">", ">=") else (one, other)
        match self.relation:
            case "==":
                holds, fails = one.exact and one == other, one.lower > other.upper or one.upper < other.lower
            case "<" | ">":
                holds, fails = less.upper < more.lower, less.lower >= more.upper
            case _:
                holds, fails = less.upper <= more.lower, less.lower > more.upper
        said = f"the left side is {_shown(one)}, the right side {_shown(other)}"
        if one != other and _shown(one) == _shown(other):
            said += f"; their difference is {_shown(one - other)}"
        return OrderVerdict("holds" if holds else "fails" if fails else "unknown", said, point)

    def _has_runs(self, point: Point) -> bool:
        try:
            return all(each.has_runs(each.at(point)) for each in self.amounts.values())
        except NoValueError:
            return False

    def _widest(self, point: Point) -> str:
        """The cost whose bounds are the furthest apart, for its size."""
        widths = {}
        for each in self.amounts.values():
            try:
                ends = each.ends(point)
            except NO_VALUE as problem:
                return f"; {each.text}: {problem}"
            widths[each.text] = (ends.width / max(Fraction(1), ends.upper), ends)
        text = max(widths, key=lambda name: widths[name][0], default="")
        if not text or not widths[text][0]:
            return ""
        return f"; widest: {text}, {_shown(widths[text][1])} at {point_text(point)}"

    # By bounds
    @cached_property
    def _symbols(self) -> _Symbols:
        """Amounts as symbols, parts as expressions. Raises NotStaticError."""
        facts, found, same = self.sizes.scope.facts, dict[str, Poly](), dict[Poly, Poly]()
        for name, each in self.amounts.items():
            facts, found[name] = facts.with_symbol(name, (ZERO,)), Poly.symbol(name)
            if each.cost.exact and each.cost.lower is not None and not each.cost.regimes:
                # Equal costs are one symbol: the span over the work of what is serial is 1.
                found[name] = same.setdefault(each.in_sizes(each.cost.lower, self.sizes.scope), found[name])
        for name, part in self.parts.items():
            match part:
                case Fraction():
                    found[name] = Poly.constant(part)
                case s.Real():
                    found[name] = Poly.constant(Fraction(evaluate(part, {})))  # type: ignore[arg-type]
                case _:
                    divisors = (each.right for each in s.nodes(part) if isinstance(each, s.Binary) and each.op == "/")
                    if not all(_positive(static_value(each, self.sizes.scope), facts) for each in divisors):
                        raise _OpenError("a divisor is not known to be positive")
                    found[name] = as_fractions(static_value(part, self.sizes.scope))
        return _Symbols(found, facts)

    @property
    def _proved(self) -> bool:
        """Whether bounds show it at all sizes. Raises _OpenError, NotStaticError, TooComplexError."""
        one, other = (fold(each, self._symbols) for each in (self.left, self.right))
        ways = {"<=": [(one, other)], ">=": [(other, one)], "==": [(one, other), (other, one)]}
        strict = self.relation in ("<", ">")

        def above(less: _Ratio, more: tuple[_All, ...], case: Facts, choices: dict[str, Choices]) -> bool:
            found = (all(_least(each, less, choices, case, strict) for each in every) for every in more)
            return any(found)

        return all(
            any(all(above(each, more.lowers, case, choices) for each in every) for every in less.uppers)
            for case, choices in self._cases
            for less, more in ways[self.relation + "=" * strict]
        )

    @cached_property
    def _cases(self) -> list[tuple[Facts, dict[str, Choices]]]:
        """All cases together of the bounds of all amounts. Raises _OpenError where there are too many."""
        found: list[tuple[Facts, dict[str, Choices]]] = [(self._symbols.facts, {})]
        for name, each in self.amounts.items():
            found = [
                (more, {**known, name: choices})
                for case, known in found
                for more, choices in _cases(each, case, self.sizes)
            ]
            if len(found) > MAX_CASES:
                raise _OpenError("their bounds have too many cases together")
        return found

    def _by_boxes(self) -> OrderVerdict | None:
        """The verdict on a finite range where bounds of both sides rise with each size: by the corners of boxes."""
        box, case = self.sizes.box, self._cases
        sides = [fold(each, self._symbols).exact for each in (self.left, self.right)]
        plain = len(case) == 1 and all(each is not None and each.below == ONE for each in sides)
        if box is None or self.relation not in ("<=", ">=") or not plain:
            return None
        facts = Facts()
        for name, (least, _) in box.items():
            facts = facts.with_symbol(name, (Poly.constant(least),))
        less, more = (each.above for each in (sides if self.relation == "<=" else sides[::-1]) if each is not None)
        ((_, choices),) = case
        bounds = next(_ways(choices))
        upper, lower = -_bounded(-less, bounds, case[0][0]), _bounded(more, bounds, case[0][0])
        for name, value in product(box, (upper, lower)):
            after = value.substitute({name: Poly.symbol(name) + 1})
            if not value.names <= box.keys() or not never_negative(after - value, facts):
                return None
        pending, asked = [box], 0
        while pending and asked < MAX_SIZES:
            part, asked = pending.pop(), asked + 1
            first, last = ({name: ends[side] for name, ends in part.items()} for side in (0, 1))
            if first == last:
                found = self._at(first) if self.sizes.allowed(first) and self._has_runs(first) else None
                if found is not None and found.outcome != "holds":
                    return found if found.outcome == "fails" else None
            elif evaluated(upper, last) > evaluated(lower, first):
                name = max(part, key=lambda each: last[each] - first[each])
                middle = (first[name] + last[name]) // 2
                pending += [{**part, name: (middle + 1, last[name])}, {**part, name: (first[name], middle)}]
        return (
            None if pending else self._holding(f"both sides rise with each size; decided by {asked:,} boxes of sizes")
        )


def apart(sides: Iterable[s.Expr], held: Set[str]) -> tuple[tuple[s.Expr, ...], dict[str, s.Expr]]:
    """Formulas in the names that are `held` and names of their parts in sizes alone, and these; reals are parts too."""
    found: dict[str, s.Expr] = {}

    def named(part: s.Expr) -> s.Expr | None:
        if isinstance(part, s.Name) and part.id in held:
            return part
        reals = not isinstance(part, s.Real) and any(isinstance(each, s.Real) for each in s.nodes(part))
        if names_in(part) & held or reals:
            return None
        found[name := f"part {len(found)}"] = part
        return s.Name(name, span=part.span)

    return tuple(rewritten(each, named) for each in sides), found


# The bounds of amounts
def _cases(amount: Amount, facts: Facts, sizes: Sizes) -> Iterator[tuple[Facts, Choices]]:
    """The bounds of an amount where some facts hold, by the cases of its regimes."""
    cost, scope = amount.cost, sizes.scope
    assert cost.lower is not None
    assert cost.upper is not None

    def choices(lowers: Iterable[Poly], uppers: Iterable[Poly]) -> Choices:
        ends = ([as_fractions(amount.in_sizes(each, scope)) for each in side] for side in (lowers, uppers))
        return [(low, high) for low, high in product(*ends)]

    if cost.regimes and not cost.alternatives:
        for regime in cost.regimes:
            for case in regime.cases:
                more = [substituted_fact(each, amount.sizes) for each in facts_of_case(case)]
                if not excluded(more, scope.with_facts(facts)):
                    yield with_all(facts, more, scope), choices([regime.lower], [regime.upper])
        return
    needs = {each: [facts.simplify(amount.in_sizes(need, scope)) for need in each.needs] for each in cost.alternatives}
    holding = [each.upper for each in reversed(cost.alternatives) if all(map(facts.nonnegative, needs[each]))]
    yield facts, choices([cost.lower, *(value for _, value in cost.lowers)], [*holding, cost.upper])


def _ways(choices: Mapping[str, Choices]) -> Iterator[dict[str, tuple[Poly, Poly]]]:
    """A pair of bounds for each amount, in each way."""
    return (dict(zip(choices, each, strict=True)) for each in islice(product(*choices.values()), MAX_WAYS))


def _least(more: _Ratio, less: _Ratio, choices: Mapping[str, Choices], facts: Facts, strict: bool) -> bool:
    """Whether one fraction of amounts is at least another, or greater, by some of their bounds."""
    value = more.above - less.above if more.below == less.below else more.above * less.below - less.above * more.below
    for bounds in _ways(choices):
        divisors = (_bounded(each, bounds, facts) for each in {more.below, less.below} - {ONE})
        if all(_positive(each, facts) for each in divisors):
            found = _bounded(value, bounds, facts)
            if _positive(found, facts) if strict else never_negative(found, facts):
                return True
            parts = [] if strict else [_bounded(each, bounds, facts) for each in _alike(value)]
            if parts and all(never_negative(each, facts) for each in parts):
                return True
    return False


def _alike(value: Poly) -> Iterator[Poly]:
    """The parts of a value with the same factors, but for their signs: of an energy those of each quantity."""
    parts: dict[object, dict[Monomial, fmpq]] = {}
    for monomial, coefficient in value.terms.items():
        parts.setdefault(abs(coefficient), {})[monomial] = coefficient
    return map(Poly, parts.values()) if len(parts) > 1 else iter(())


def _positive(value: Poly, facts: Facts) -> bool:
    """Whether a value is more than 0 by the least that such values differ by; of roots and logarithms none is known."""
    (margin,) = signs(">", value)
    return margin != value and never_negative(margin, facts)


def _bounded(value: Poly, bounds: Mapping[str, tuple[Poly, Poly]], facts: Facts) -> Poly:
    """What a polynomial of amounts is at least: each by the bound that makes it less."""
    parts: dict[Monomial, dict[Monomial, fmpq]] = {}
    for monomial, coefficient in value.terms.items():
        amounts = tuple(each for each in monomial if isinstance(each[0], Symbol) and each[0].name in bounds)
        rest = tuple(each for each in monomial if each not in amounts)
        parts.setdefault(amounts, {})[rest] = coefficient
    found = ZERO
    for amounts, terms in parts.items():
        factor = Poly(terms)
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
            return _reduced(one.above * other.above, one.below * other.below)
        case "/":
            return _reduced(one.above * other.below, one.below * other.above)
        case _:
            sign = 1 if op == "+" else -1
            if one.below == other.below:
                return _Ratio(one.above + other.above.scaled(sign), one.below)
            above = one.above * other.below + (other.above * one.below).scaled(sign)
            return _Ratio(above, one.below * other.below)


def _reduced(above: Poly, below: Poly) -> _Ratio:
    """A fraction, without its divisor where that goes."""
    if len(below.terms) == 1:
        whole, divisors = above * below**-1, below.atoms()
        if all(power > 0 or atom not in divisors for monomial in whole.terms for atom, power in monomial):
            return _Ratio(whole)
    return _Ratio(above, below)


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


def _bounds_text(amount: Amount, sizes: Sizes) -> str:
    """The bounds of an amount, in the sizes of the claim where it sets some."""
    cost = amount.cost
    if amount.sizes and cost.lower is not None and cost.upper is not None:
        low, high = (sizes.scope.facts.restore(amount.in_sizes(each, sizes.scope)) for each in (cost.lower, cost.upper))
        cost = Cost(cost.metric, cost.status, low, high)
    names = (each.names for each in (cost.lower, cost.upper) if each is not None)
    return cost_text(Costs("", tuple(sorted(frozenset().union(*names))), (), {}, {}), cost)


def _shown(value: Interval) -> str:
    return " to ".join(map(_digits, dict.fromkeys((value.lower, value.upper))))


def _digits(value: Fraction) -> str:
    """A number exactly if it is whole and short, else with nine digits; powers of ten beyond all floats."""
    if value.denominator == 1 and abs(value) < 10**15:
        return str(value)
    try:
        return f"{float(value):.9g}"
    except OverflowError:
        exponent = floor(log10(abs(value.numerator)) - log10(value.denominator))
        return f"{'-' if value < 0 else ''}{float(abs(value) / 10**exponent):.9g}e+{exponent}"
