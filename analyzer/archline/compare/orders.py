"""Whether a formula of costs is at most another, less, or equal: at all sizes, by bounds, or at sizes, by values.

Where a cost has several bounds under several conditions, each case is decided by itself. What both sides share cancels:
the difference of the formulas is taken in the costs, then each cost is replaced by the bound that makes it least.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from fractions import Fraction
from functools import cached_property, partial
from itertools import islice

from archline.algebra.atoms import PositivePart
from archline.algebra.effort import TooComplexError, budget
from archline.algebra.evaluate.boxes import Boxes
from archline.algebra.expand import as_fractions
from archline.algebra.facts import Facts
from archline.algebra.polynomial import ZERO, Atom, Monomial, Poly, Symbol
from archline.algebra.prove.prover import never_negative
from archline.analysis.cost import Cost, Costs, cost_text
from archline.claims.growth import facts_of_case
from archline.compare.sizes import MAX_SIZES, InSymbols, OpenError, Point, SizedCost, Sizes
from archline.energy.formulas import fold, names_in, value_of
from archline.expr.intervals import EvaluationError, Interval
from archline.expr.tree import rewritten, substituted_fact
from archline.expr.values import ends, evaluate
from archline.growth.balls import exact_text
from archline.growth.growths import Outcome
from archline.growth.is_big_o import Refuted
from archline.ir.conditions import never_negative as signs
from archline.ir.conditions import some_fact_excluded, with_all
from archline.ir.scope import NotStaticError, static_value
from archline.language import syntax as s
from archline.numbers import digits, fmpq, point_text
from archline.records import record

MAX_TERM_PRODUCTS = 500_000
MAX_CASES = 64
"""In more cases together the bounds of several costs are not compared."""
SEEN = 400
"""The last of so many sizes shows what leaves a comparison open."""
MAX_ZEROS = 100
"""At so many sizes it is looked whether one side is 0 and the other is not."""
UNDECIDED = "no proof, and no counterexample at the sizes checked"
NO_VALUE = (EvaluationError, OverflowError, ZeroDivisionError)


@record
class OrderVerdict:
    """Whether a comparison holds, why, and where it fails; of what is not decided, the `bounds` of its costs."""

    outcome: Outcome
    reason: str
    point: Point | None = None
    bounds: str = ""


_Ends = tuple[list[Poly], list[Poly]]
"""Lower bounds, and upper ones."""
_Case = tuple[Facts, dict[str, _Ends]]
"""What holds at some of the sizes, and the bounds of each amount there."""


@record(eq=False)
class CostOrder:
    """`left relation right`, two formulas of amounts and of `parts`, expressions and numbers, in `units` if known."""

    left: s.Expr
    relation: str
    right: s.Expr
    amounts: Mapping[str, SizedCost]
    parts: Mapping[str, s.Expr | Fraction]
    sizes: Sizes
    units: tuple[str, str] = ("", "")

    def decided(self) -> OrderVerdict:
        """The verdict: by the values where the sizes are few, else by bounds at all sizes, refuted by values."""
        unknown = next((each for each in self.amounts.values() if each.cost.lower is None), None)
        if unknown is not None:
            return OrderVerdict("unknown", f"{unknown.text} is unknown: {unknown.cost.reason}")
        few, why = self.sizes.all, UNDECIDED
        best = next(
            (each for each in self.amounts.values() if each.cost.ends is not None and not each.cost.exact), None
        )
        if few is None and self.sizes.box is not None and best is not None:
            why = f"{UNDECIDED}: {best.text} is known best size by size, and there are more than {MAX_SIZES:,} sizes"
        if few is None and next(self.sizes.points(), None) is None:
            # Whatever is said of no sizes can be proved.
            return OrderVerdict("unknown", "no sizes were found that satisfy the facts")
        if few is None or len(few) > 1:
            try:
                with budget(MAX_TERM_PRODUCTS):
                    if self._proved(self._cases(apart=False)) or self._proved(self._cases(apart=True)):
                        return self._holding("proved for all sizes")
                    boxes = None if few is not None else self._by_boxes()
                if boxes is not None:
                    return boxes
            except (OpenError, NotStaticError, TooComplexError) as problem:
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
            # Following a run takes longer than evaluating: samples are followed only where they decide something.
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
                return OrderVerdict("unknown", "no sizes satisfy the facts, or no run terminates at them")
            case [(_, OrderVerdict(reason=reason))]:
                return self._holding(f"at these sizes {reason}")
            case _:
                return self._holding(f"evaluated at all {len(found):,} sizes")

    def values(self, point: Point) -> tuple[Interval, Interval] | None:
        """The values of both sides at a point; None where one has none."""
        try:
            values = {name: each.ends(point) for name, each in self.amounts.items()}
            for name, part in self.parts.items():
                value = part if isinstance(part, Fraction) else evaluate(part, point)
                values[name] = Interval(*ends(value))
            return value_of(self.left, values), value_of(self.right, values)
        except NO_VALUE:
            return None

    def _at(self, point: Point) -> OrderVerdict | None:
        """The verdict at a point; None where a side has no value."""
        values = self.values(point)
        if values is None:
            return None
        one, other = values
        more = one - other if self.relation in (">", ">=") else other - one
        match self.relation:
            case "==":
                holds, fails = more.lower == more.upper == 0, more.lower > 0 or more.upper < 0
            case "<" | ">":
                holds, fails = more.lower > 0, more.upper <= 0
            case _:
                holds, fails = more.lower >= 0, more.upper < 0
        shown = [f"{_shown(each)} {unit}".rstrip() for each, unit in zip(values, self.units, strict=True)]
        said = f"the left side is {shown[0]}, the right side {shown[1]}"
        if one != other and shown[0] == shown[1]:
            said += f"; their difference is {_shown(one - other)} {self.units[0]}".rstrip()
        return OrderVerdict("holds" if holds else "fails" if fails else "unknown", said, point)

    def refutation(self, side: str, refuted: Refuted | None) -> str:
        """What refutes O or Omega, in values of both sides: along a curve, or at a size at which one of them is 0.

        Empty where the sides have no values there.
        """
        if refuted is None or not refuted.curve:
            return self._zero(side, 0)
        above, below = _sides(side)
        found = []
        for at in refuted.points[:3]:
            values = self._ratio(side, at)
            if values is not None:
                bounds = "" if values[0].exact and values[1].exact else "at least "
                sizes = _named({name: exact_text(size) for name, size in at.items()})
                found.append(f"{bounds}{digits(values[0].lower)}/{digits(values[1].upper)} at {sizes}")
        along = f"({above} side)/({below} side) is unbounded along {_named(refuted.curve)}"
        return f"{along}: {'; '.join(found)}" if found else ""

    def vanishing(self, side: str) -> str:
        """The sizes from 1 on, with values, at which the costs that bound the other side are 0 alone; empty if none.

        Growth reads log2(w), which is 0 at 1, as log2(2 + w), so that it proves what is refuted there.
        """
        below = self.right if side == "O" else self.left
        held = [self.amounts[name] for name in names_in(below) if name in self.amounts]
        return "" if all(map(self._is_positive, held)) else self._zero(side, 1)

    def _is_positive(self, amount: SizedCost) -> bool:
        """Whether a cost is known to be above 0 at all sizes."""
        scope = self.sizes.scope
        try:
            return amount.cost.lower is not None and scope.facts.positive(amount.in_sizes(amount.cost.lower, scope))
        except NotStaticError:
            return False

    def _zero(self, side: str, start: int) -> str:
        """Values at sizes from `start` on of which only the one that is to be the larger is 0; empty where none are."""
        above, below = _sides(side)
        points = (each for each in self.sizes.points() if min(each.values(), default=start) >= start)
        for point in islice(points, MAX_ZEROS):
            values = self._ratio(side, point)
            if values is not None and values[0].lower > 0 == values[1].upper and self._has_runs(point):
                return f"at {point_text(point)} the {above} side is {_shown(values[0])}, the {below} side 0"
        return ""

    def _ratio(self, side: str, point: Point) -> tuple[Interval, Interval] | None:
        """The values of the side that is to be the smaller, and of the other."""
        values = self.values(point)
        return values if values is None or side == "O" else values[::-1]

    def _has_runs(self, point: Point) -> bool:
        try:
            return all(each.has_runs(each.at(point)) for each in self.amounts.values())
        except EvaluationError:
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
    def _symbols(self) -> InSymbols:
        """Amounts as symbols, parts as expressions. Raises NotStaticError."""
        facts, found, same = self.sizes.scope.facts, dict[str, Poly](), dict[Poly, Poly]()
        for name, each in self.amounts.items():
            facts, found[name] = facts.with_symbol(name, (ZERO,)), Poly.symbol(name)
            if each.cost.exact and each.cost.lower is not None and not each.cost.by_case:
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
                        raise OpenError("a divisor is not known to be positive")
                    found[name] = as_fractions(static_value(part, self.sizes.scope))
        return InSymbols(found, facts)

    @cached_property
    def _margins(self) -> tuple[Poly, ...]:
        """What is never negative where it holds, and positive where that is strict, if all divisors are."""
        one, other = fold(self.left, self._symbols).over(fold(self.right, self._symbols))
        return {"<": (other - one,), ">": (one - other,), "=": (other - one, one - other)}[self.relation[0]]

    def _proved(self, cases: Iterable[_Case]) -> bool:
        """Whether bounds show it at all sizes, case by case. Raises OpenError, NotStaticError, TooComplexError."""
        strict = self.relation in ("<", ">")
        return all(
            all(self._at_least(each, case, strict) for each in self._margins)
            and all(self._at_least(each, case, True) for each in self._symbols.divisors)
            for case in cases
        )

    def _at_least(self, value: Poly, case: _Case, strict: bool) -> bool:
        """Whether a polynomial of amounts and their maxima is never negative, or always positive."""
        facts, ends = case
        exact, known = _exact(ends), facts
        put = {name: each for name, each in ends.items() if name not in exact}
        whole = {name: each for name, each in put.items() if self.amounts[name].whole}
        for name, (lowers, uppers) in whole.items():
            known = known.with_symbol(name, (ZERO, *lowers), uppers)
        maxima = {each: value.coefficients(each) for each in value.atoms() if _is_maximum(each, self.amounts)}
        shows = _positive if strict else never_negative
        # What is known of symbols is known of integers; what it does not show may follow from one bound of each amount.
        for under, rest in ((known, put.keys() - whole.keys()), (facts, put.keys())):
            for parts in () if maxima and rest else ([value],) if strict else ([value], list(_alike(value))):
                bounds = {name: each for name, each in put.items() if name in rest}
                with suppress(OpenError):
                    if all(shows(self._least(each.substitute(exact), bounds), under) for each in parts):
                        return True
        if not maxima:
            return False
        # A maximum is one of its values, and no less than either: what is so for each of them comes first.
        sign = self._symbols.facts.nonnegative
        rising = {each for each, parts in maxima.items() if parts.keys() <= {0, 1} and sign(parts[1])}
        atom = min(maxima, key=lambda each: each in rising)
        ways = (self._at_least(_put(value, atom, each), case, strict) for each in (ZERO, atom.parts[0]))
        return any(ways) if atom in rising else all(ways)

    def _cases(self, apart: bool) -> list[_Case]:
        """All cases together of the bounds of all amounts, at most MAX_CASES. Raises OpenError where there are more.

        With `apart` conditions under which there are other bounds make cases of their own.
        """
        found: list[_Case] = [(self.sizes.scope.facts, {})]
        for name, each in self.amounts.items():
            several = (
                (more, {**known, name: ends})
                for case, known in found
                for more, ends in _cases(each, case, self.sizes, apart)
            )
            found = list(islice(several, MAX_CASES + 1))
            if len(found) > MAX_CASES:
                raise OpenError("their bounds have too many combined cases")
        return found

    def _by_boxes(self) -> OrderVerdict | None:
        """The verdict on a finite range, by bounds over boxes of sizes that are halved until these decide."""
        import numpy as np

        box, ((_, ends), *others) = self.sizes.box, self._cases(apart=False)
        values = [*self._margins, *self._symbols.divisors]
        maxima = any(_is_maximum(atom, self.amounts) for each in values for atom in each.atoms())
        if box is None or others or maxima or self.relation == "==":
            return None
        values = [self._least(each.substitute(_exact(ends)), ends) for each in values]
        strict = [self.relation in ("<", ">")] * len(self._margins) + [True] * len(self._symbols.divisors)
        left, asked, names = np.array([list(zip(*box.values(), strict=True))]), 0, list(box)
        while len(left) and asked + len(left) <= MAX_SIZES:
            asked += len(left)
            lows, highs = (dict(zip(names, left[:, side].T, strict=True)) for side in (0, 1))
            boxes = Boxes(lows, highs, names)
            least = [boxes.ends(partial(Boxes.of, value=each))[0] for each in values]
            shown = [low > 0 if positive else low >= 0 for low, positive in zip(least, strict, strict=True)]
            left = left[~np.all(shown, axis=0)]
            whole = np.all(left[:, 0] == left[:, 1], axis=1)
            for point in (dict(zip(names, row, strict=True)) for row in left[whole][:, 0].tolist()):
                found = self._at(point) if self.sizes.allowed(point) and self._has_runs(point) else None
                if found is not None and found.outcome != "holds":
                    return found if found.outcome == "fails" else None
            left = left[~whole]
            rows, widest = np.arange(len(left)), (left[:, 1] - left[:, 0]).argmax(axis=1)
            lower, upper = left.copy(), left.copy()
            lower[rows, 1, widest] = left[rows, :, widest].sum(axis=1) // 2
            upper[rows, 0, widest] = lower[rows, 1, widest] + 1
            left = np.concatenate([lower, upper])
        return None if len(left) else self._holding(f"decided by {asked:,} boxes of sizes")

    def _least(self, value: Poly, amounts: Mapping[str, _Ends]) -> Poly:
        """What a polynomial without maxima of amounts is at least: each by the bound that makes it less.

        Raises OpenError.
        """
        for name, (lowers, uppers) in amounts.items():
            factors = [each for power, each in value.coefficients(Symbol(name)).items() if power]
            if all(map(self._symbols.facts.nonnegative, factors)):
                value = value.substitute({name: lowers[0]})
            elif all(self._symbols.facts.nonnegative(-each) for each in factors):
                value = value.substitute({name: uppers[0]})
            else:
                raise OpenError("the sign of one factor of a cost is unknown")
        return value


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
def _cases(amount: SizedCost, facts: Facts, sizes: Sizes, apart: bool) -> Iterator[tuple[Facts, _Ends]]:
    """The bounds of an amount where some facts hold, by its pieces and by conditions on the cache."""
    scope, plans = sizes.scope, amount.cost.plans[::-1]
    needs = {plan: [facts.simplify(amount.in_sizes(need, scope)) for need in plan.where.needs] for plan in plans}
    shown = [needs[plan] for plan in plans if plan.shown == "page"] if apart else []
    for piece, own in amount.cost.facts_by_piece:
        more = [] if own is None else [substituted_fact(fact, amount.sizes) for fact in facts_of_case(own)]
        if own is not None and some_fact_excluded(more, scope.with_facts(facts)):
            continue
        for case in _parts(with_all(facts, more, scope), shown):
            low, high = (
                [
                    as_fractions(amount.in_sizes(bound.value, scope))
                    for bound in bounds
                    if all(map(case.nonnegative, needs.get(bound, ())))
                ]
                for bounds in (piece.lowers, piece.uppers)
            )
            yield case, (low, high)


def _parts(facts: Facts, conditions: Sequence[Sequence[Poly]]) -> Iterator[Facts]:
    """All sizes, in parts: where the first condition holds, and where one of its values is below 0, by the others."""
    for value in conditions[0] if conditions else ():
        if not facts.nonnegative(value):
            yield from _parts(facts.with_nonnegative(-value), conditions[1:])
            facts = facts.with_nonnegative(value)
    yield facts


def _exact(amounts: Mapping[str, _Ends]) -> dict[str, Poly]:
    """The values of amounts of which a lower bound is an upper one."""
    return {name: each for name, (lowers, uppers) in amounts.items() for each in lowers if each in uppers}


def _is_maximum(atom: Atom, amounts: Container[str]) -> bool:
    """Whether an atom is a maximum of amounts."""
    return isinstance(atom, PositivePart) and any(name in amounts for name in atom.names)


def _put(value: Poly, atom: Atom, other: Poly) -> Poly:
    """A value with another one for an atom."""
    return value.map_atoms(lambda each: other if each == atom else None)


def _alike(value: Poly) -> Iterator[Poly]:
    """The parts of a value with the same factors, but for their signs: of an energy those of each quantity."""
    parts: dict[object, dict[Monomial, fmpq]] = {}
    for monomial, coefficient in value.terms.items():
        parts.setdefault(abs(coefficient), {})[monomial] = coefficient
    return map(Poly, parts.values())


def _positive(value: Poly, facts: Facts) -> bool:
    """Whether a value is more than 0 by the least that such values differ by; of roots and logarithms none is known."""
    (margin,) = signs(">", value)
    return margin != value and never_negative(margin, facts)


def at_most(one: SizedCost, other: SizedCost, sizes: Sizes, relation: str = "<=") -> OrderVerdict:
    """Whether a cost is at most another (or `==` and so on) at all sizes: proved, refuted at a point, or unknown."""
    left, right = (s.Name(name, span=sizes.algorithm.span) for name in ("the one", "the other"))
    return CostOrder(left, relation, right, {left.id: one, right.id: other}, {}, sizes).decided()


def _bounds_text(amount: SizedCost, sizes: Sizes) -> str:
    """The bounds of an amount, in the sizes of the claim where it sets some."""
    cost = amount.cost
    if amount.sizes and cost.lower is not None and cost.upper is not None:
        low, high = (sizes.scope.facts.restore(amount.in_sizes(each, sizes.scope)) for each in (cost.lower, cost.upper))
        cost = Cost(cost.metric, cost.status, low, high)
    names = (each.names for each in (cost.lower, cost.upper) if each is not None)
    return cost_text(Costs("", tuple(sorted(frozenset().union(*names))), (), {}, {}), cost)


def _sides(side: str) -> tuple[str, str]:
    """The side that is to be the smaller by O or Omega, and the other."""
    return ("left", "right") if side == "O" else ("right", "left")


def _named(texts: Mapping[str, str]) -> str:
    """`n = 2^T, m = 1`."""
    return ", ".join(f"{name} = {text}" for name, text in texts.items())


def _shown(value: Interval) -> str:
    return " to ".join(map(digits, dict.fromkeys((value.lower, value.upper))))
