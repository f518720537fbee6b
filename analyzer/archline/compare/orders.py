"""Decide how two formulas of costs compare (<=, <, ==, >=, >): at all sizes by bounds, at given sizes by values.

If costs have several bounds under conditions, each combined case is decided separately. Shared terms cancel: the
difference of the formulas is taken first, then each cost in it is replaced by the bound that minimises the difference.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from fractions import Fraction
from functools import cached_property, partial
from itertools import islice

from archline.algebra.atoms import PositivePart
from archline.algebra.effort import TooComplexError, limit_effort
from archline.algebra.evaluate.boxes import Boxes
from archline.algebra.expand import write_quotients_as_fractions
from archline.algebra.facts import Facts
from archline.algebra.polynomial import ZERO, Atom, Monomial, Poly, Symbol
from archline.algebra.prove.prover import prove_never_negative
from archline.analysis.cost import Cost, Costs, format_cost
from archline.compare.sizes import MAX_SIZES, OpenError, Point, QuotientEvaluator, SizedCost, Sizes
from archline.cost_growth.pieces import list_case_facts
from archline.energy.formulas import bound_value, fold, names_in
from archline.expr.intervals import EvaluationError, Interval
from archline.expr.tree import rewrite_parts, substitute_in_fact
from archline.expr.values import bounds_of_value, evaluate
from archline.growth.balls import format_integer
from archline.growth.growths import Outcome
from archline.growth.is_big_o import Refuted
from archline.ir.conditions import comparison_constraints as signs
from archline.ir.conditions import has_false_fact, with_facts
from archline.ir.scope import NotStaticError, static_value
from archline.language import syntax as s
from archline.numbers import fmpq, format_nine_digits, format_point
from archline.records import record

MAX_TERM_PRODUCTS = 500_000
MAX_CASES = 64
"""The maximum number of combined cases in which the bounds of several costs are compared."""
OPEN_SAMPLE_NUMBER = 400
"""The sample, counted from 1, at which an open comparison shows its widest cost; or the last one of fewer samples."""
MAX_ZEROS = 100
"""The maximum number of points at which a side that is 0 is looked for."""
UNDECIDED = "no proof, and no counterexample at the sizes checked"
NO_VALUE = (EvaluationError, OverflowError, ZeroDivisionError)


@record
class OrderVerdict:
    """The verdict on a comparison, its reason, and a point where it fails; if unknown, the `bounds` of the costs."""

    outcome: Outcome
    reason: str
    point: Point | None = None
    bounds: str = ""


_AmountBounds = tuple[list[Poly], list[Poly]]
"""Lower and upper bounds."""
_Case = tuple[Facts, dict[str, _AmountBounds]]
"""A case: the facts of some sizes, and the bounds of each amount there."""


@record(eq=False)
class CostOrder:
    """The claim `left relation right` on formulas of amounts, which are costs, and of `parts`, expressions or numbers.

    `units` are the units of both sides, for texts.
    """

    left: s.Expr
    relation: str
    right: s.Expr
    amounts: Mapping[str, SizedCost]
    parts: Mapping[str, s.Expr | Fraction]
    sizes: Sizes
    units: tuple[str, str] = ("", "")

    def decide(self) -> OrderVerdict:
        """Decide the claim by values if the sizes are few, else by bounds for all sizes; values may still refute it."""
        unknown = next((amount for amount in self.amounts.values() if amount.cost.lower is None), None)
        if unknown is not None:
            return OrderVerdict("unknown", f"{unknown.text} is unknown: {unknown.cost.reason}")
        few, why = self.sizes.all, UNDECIDED
        pointwise = next(
            (
                amount
                for amount in self.amounts.values()
                if amount.cost.interval_at is not None and not amount.cost.exact
            ),
            None,
        )
        if few is None and self.sizes.box is not None and pointwise is not None:
            why = (
                f"{UNDECIDED}: {pointwise.text} has its sharpest bounds at single sizes, "
                f"and there are more than {MAX_SIZES:,} sizes"
            )
        if few is None and next(self.sizes.points(), None) is None:
            # Without sizes every claim would hold.
            return OrderVerdict("unknown", "no sizes were found that satisfy the facts")
        if few is None or len(few) > 1:
            try:
                with limit_effort(MAX_TERM_PRODUCTS):
                    if self._is_proved(self._combine_cases(apart=False)) or self._is_proved(
                        self._combine_cases(apart=True)
                    ):
                        return self._make_holding_verdict("proved for all sizes")
                    boxes = None if few is not None else self._decide_by_boxes()
                if boxes is not None:
                    return boxes
            except (OpenError, NotStaticError, TooComplexError) as problem:
                why = str(problem)
        return self._decide_by_values(few, why)

    def _make_holding_verdict(self, reason: str) -> OrderVerdict:
        """Return the verdict `holds`, whose reason names the declared costs on which it depends."""
        declared = dict.fromkeys(name for amount in self.amounts.values() for name in amount.cost.declared)
        return OrderVerdict("holds", reason + (f", given what {', '.join(declared)} declares" if declared else ""))

    def _make_open_verdict(self, why: str, point: Point | None) -> OrderVerdict:
        """Return the verdict `unknown` with the bounds of all costs; its reason is `why`, and the widest cost."""
        bounds = "\n".join(f"{amount.text}: {_format_bounds(amount, self.sizes)}" for amount in self.amounts.values())
        return OrderVerdict("unknown", why if point is None else why + self._describe_widest_cost(point), bounds=bounds)

    # By values
    def _decide_by_values(self, few: Sequence[Point] | None, why: str) -> OrderVerdict:
        """Decide the claim by values at all points `few`; if `few` is None, search a point at which the claim fails.

        If no such point is found, the verdict is unknown, for the reason `why`.
        """
        verdicts: list[tuple[Point, OrderVerdict | None]] = []
        for point in self.sizes.points() if few is None else few:
            verdict = self._decide_at_point(point)
            fails = verdict is not None and verdict.outcome == "fails"
            # Following a run takes longer than evaluation, and is done only at points that decide something.
            if (fails or few is not None) and not self._has_runs(point):
                continue
            verdicts.append((point, verdict))
            if verdict is not None and fails:
                return verdict
        if few is None:
            return self._make_open_verdict(
                why, verdicts[min(len(verdicts), OPEN_SAMPLE_NUMBER) - 1][0] if verdicts else None
            )
        for point, verdict in verdicts:
            if verdict is None or verdict.outcome != "holds":
                return self._make_open_verdict("a side has no value" if verdict is None else verdict.reason, point)
        match verdicts:
            case []:
                return OrderVerdict("unknown", "no sizes satisfy the facts, or no run terminates at them")
            case [(_, OrderVerdict(reason=reason))]:
                return self._make_holding_verdict(f"at these sizes {reason}")
            case _:
                return self._make_holding_verdict(f"evaluated at all {len(verdicts):,} sizes")

    def evaluate_sides(self, point: Point) -> tuple[Interval, Interval] | None:
        """Evaluate both sides at a point; None if one has no value."""
        try:
            values = {name: amount.enclose_value(point) for name, amount in self.amounts.items()}
            for name, part in self.parts.items():
                value = part if isinstance(part, Fraction) else evaluate(part, point)
                values[name] = Interval(*bounds_of_value(value))
            return bound_value(self.left, values), bound_value(self.right, values)
        except NO_VALUE:
            return None

    def _decide_at_point(self, point: Point) -> OrderVerdict | None:
        """Decide the claim at a point; None if a side has no value."""
        values = self.evaluate_sides(point)
        if values is None:
            return None
        left, right = values
        more = left - right if self.relation in (">", ">=") else right - left
        match self.relation:
            case "==":
                holds, fails = more.lower == more.upper == 0, more.lower > 0 or more.upper < 0
            case "<" | ">":
                holds, fails = more.lower > 0, more.upper <= 0
            case _:
                holds, fails = more.lower >= 0, more.upper < 0
        shown = [f"{_format_interval(value)} {unit}".rstrip() for value, unit in zip(values, self.units, strict=True)]
        text = f"the left side is {shown[0]}, the right side {shown[1]}"
        if left != right and shown[0] == shown[1]:
            text += f"; their difference is {_format_interval(left - right)} {self.units[0]}".rstrip()
        return OrderVerdict("holds" if holds else "fails" if fails else "unknown", text, point)

    def explain_refutation(self, side: str, refuted: Refuted | None) -> str:
        """Explain why O or Omega (`side`) is refuted, by values of both sides: along a curve, or where one side is 0.

        Empty if the sides have no values there.
        """
        if refuted is None or not refuted.curve:
            return self._describe_zero(side, 0)
        above, below = _order_side_names(side)
        texts = []
        for at in refuted.points[:3]:
            values = self._evaluate_ordered_sides(side, at)
            if values is not None:
                bounds = "" if values[0].exact and values[1].exact else "at least "
                sizes = _format_assignments({name: format_integer(size) for name, size in at.items()})
                texts.append(
                    f"{bounds}{format_nine_digits(values[0].lower)}/{format_nine_digits(values[1].upper)} at {sizes}"
                )
        along = f"({above} side)/({below} side) is unbounded along {_format_assignments(refuted.curve)}"
        return f"{along}: {'; '.join(texts)}" if texts else ""

    def describe_vanishing_costs(self, side: str) -> str:
        """Describe a point, with sizes from 1 on, at which the side that should be larger is 0 and the other is not.

        Empty without such a point. The growth prover reads log2(w), which is 0 at 1, as log2(2 + w), and so proves
        claims that fail there.
        """
        below = self.right if side == "O" else self.left
        amounts = [self.amounts[name] for name in names_in(below) if name in self.amounts]
        return "" if all(map(self._is_positive, amounts)) else self._describe_zero(side, 1)

    def _is_positive(self, amount: SizedCost) -> bool:
        """Test whether a cost is proved to be above 0 at all sizes; False if it may be 0 or this is unknown."""
        scope = self.sizes.scope
        try:
            return amount.cost.lower is not None and scope.facts.positive(
                amount.express_in_sizes(amount.cost.lower, scope)
            )
        except NotStaticError:
            return False

    def _describe_zero(self, side: str, start: int) -> str:
        """Describe a point, with sizes from `start` on, where only the side that should be larger is 0; else empty."""
        above, below = _order_side_names(side)
        points = (point for point in self.sizes.points() if min(point.values(), default=start) >= start)
        for point in islice(points, MAX_ZEROS):
            values = self._evaluate_ordered_sides(side, point)
            if values is not None and values[0].lower > 0 == values[1].upper and self._has_runs(point):
                return f"at {format_point(point)} the {above} side is {_format_interval(values[0])}, the {below} side 0"
        return ""

    def _evaluate_ordered_sides(self, side: str, point: Point) -> tuple[Interval, Interval] | None:
        """Evaluate the side that should be smaller by `side`, O or Omega, then the larger; None if one has no value."""
        values = self.evaluate_sides(point)
        return values if values is None or side == "O" else values[::-1]

    def _has_runs(self, point: Point) -> bool:
        try:
            return all(amount.has_runs(amount.evaluate_sizes(point)) for amount in self.amounts.values())
        except EvaluationError:
            return False

    def _describe_widest_cost(self, point: Point) -> str:
        """Describe the cost with the widest bounds at a point, in proportion to its value; empty if all are exact."""
        widths = {}
        for amount in self.amounts.values():
            try:
                interval = amount.enclose_value(point)
            except NO_VALUE as problem:
                return f"; {amount.text}: {problem}"
            widths[amount.text] = (interval.width / max(Fraction(1), interval.upper), interval)
        text = max(widths, key=lambda name: widths[name][0], default="")
        if not text or not widths[text][0]:
            return ""
        return f"; widest: {text}, {_format_interval(widths[text][1])} at {format_point(point)}"

    # By bounds
    @cached_property
    def _symbols(self) -> QuotientEvaluator:
        """Evaluates formulas to polynomials in which amounts are symbols. Raises NotStaticError, OpenError."""
        facts, polynomials, symbols = self.sizes.scope.facts, dict[str, Poly](), dict[Poly, Poly]()
        for name, amount in self.amounts.items():
            facts, polynomials[name] = facts.with_symbol(name, (ZERO,)), Poly.symbol(name)
            if amount.cost.exact and amount.cost.lower is not None and not amount.cost.by_case:
                # Equal costs are one symbol: span/work of a serial algorithm is 1.
                polynomials[name] = symbols.setdefault(
                    amount.express_in_sizes(amount.cost.lower, self.sizes.scope), polynomials[name]
                )
        for name, part in self.parts.items():
            match part:
                case Fraction():
                    polynomials[name] = Poly.constant(part)
                case s.Real():
                    polynomials[name] = Poly.constant(Fraction(evaluate(part, {})))  # type: ignore[arg-type]
                case _:
                    divisors = (
                        node.right for node in s.iterate_nodes(part) if isinstance(node, s.Binary) and node.op == "/"
                    )
                    if not all(
                        _has_positive_margin(static_value(divisor, self.sizes.scope), facts) for divisor in divisors
                    ):
                        raise OpenError("a divisor is not known to be positive")
                    polynomials[name] = write_quotients_as_fractions(static_value(part, self.sizes.scope))
        return QuotientEvaluator(polynomials, facts)

    @cached_property
    def _margins(self) -> tuple[Poly, ...]:
        """The polynomials that must be nonnegative for the claim to hold, or positive if it is strict.

        That requires positive divisors.
        """
        left, right = fold(self.left, self._symbols).get_common_numerators(fold(self.right, self._symbols))
        return {"<": (right - left,), ">": (left - right,), "=": (right - left, left - right)}[self.relation[0]]

    def _is_proved(self, cases: Iterable[_Case]) -> bool:
        """Test whether bounds prove the claim in all cases. Raises OpenError, NotStaticError, TooComplexError."""
        strict = self.relation in ("<", ">")
        return all(
            all(self._is_nonnegative(margin, case, strict) for margin in self._margins)
            and all(self._is_nonnegative(divisor, case, True) for divisor in self._symbols.divisors)
            for case in cases
        )

    def _is_nonnegative(self, value: Poly, case: _Case, strict: bool) -> bool:
        """Test whether a polynomial of amounts and their maxima is never negative, or always positive if `strict`."""
        facts, case_bounds = case
        exact, integer_facts = _select_exact_amounts(case_bounds), facts
        inexact = {name: amount_bounds for name, amount_bounds in case_bounds.items() if name not in exact}
        whole = {name: amount_bounds for name, amount_bounds in inexact.items() if self.amounts[name].whole}
        for name, (lowers, uppers) in whole.items():
            integer_facts = integer_facts.with_symbol(name, (ZERO, *lowers), uppers)
        maxima = {atom: value.coefficients(atom) for atom in value.atoms() if _is_maximum(atom, self.amounts)}
        is_shown = _has_positive_margin if strict else prove_never_negative
        # First with integer amounts as symbols between their bounds, then with one bound of each amount.
        for under, rest in ((integer_facts, inexact.keys() - whole.keys()), (facts, inexact.keys())):
            for parts in (
                () if maxima and rest else ([value],) if strict else ([value], list(_split_by_coefficient(value)))
            ):
                bounds = {name: amount_bounds for name, amount_bounds in inexact.items() if name in rest}
                with suppress(OpenError):
                    if all(
                        is_shown(self._substitute_lower_bounds(part.substitute(exact), bounds), under) for part in parts
                    ):
                        return True
        if not maxima:
            return False
        # max(x, 0) is x or 0: both cases must be proved; if the value rises with the maximum, one is enough.
        sign = self._symbols.facts.nonnegative
        rising = {atom for atom, parts in maxima.items() if parts.keys() <= {0, 1} and sign(parts[1])}
        atom = min(maxima, key=lambda atom: atom in rising)
        results = (
            self._is_nonnegative(_substitute_atom(value, atom, branch), case, strict)
            for branch in (ZERO, atom.parts[0])
        )
        return any(results) if atom in rising else all(results)

    def _combine_cases(self, apart: bool) -> list[_Case]:
        """Combine the cases of the bounds of all amounts, at most `MAX_CASES`. Raises OpenError for more.

        With `apart` the conditions on the cache of bounds make separate cases, too.
        """
        combined: list[_Case] = [(self.sizes.scope.facts, {})]
        for name, amount in self.amounts.items():
            several = (
                (more, {**bounds, name: ends})
                for case, bounds in combined
                for more, ends in _iterate_bound_cases(amount, case, self.sizes, apart)
            )
            combined = list(islice(several, MAX_CASES + 1))
            if len(combined) > MAX_CASES:
                raise OpenError("their bounds have too many combined cases")
        return combined

    def _decide_by_boxes(self) -> OrderVerdict | None:
        """Decide the claim on a finite range, by bounds over boxes of sizes, which are halved until they decide.

        None if the range is not finite, or boxes do not decide.
        """
        import numpy as np

        box, ((_, ends), *rest) = self.sizes.box, self._combine_cases(apart=False)
        values = [*self._margins, *self._symbols.divisors]
        maxima = any(_is_maximum(atom, self.amounts) for value in values for atom in value.atoms())
        if box is None or rest or maxima or self.relation == "==":
            return None
        values = [
            self._substitute_lower_bounds(value.substitute(_select_exact_amounts(ends)), ends) for value in values
        ]
        strict = [self.relation in ("<", ">")] * len(self._margins) + [True] * len(self._symbols.divisors)
        left, asked, names = np.array([list(zip(*box.values(), strict=True))]), 0, list(box)
        while len(left) and asked + len(left) <= MAX_SIZES:
            asked += len(left)
            lows, highs = (dict(zip(names, left[:, side].T, strict=True)) for side in (0, 1))
            boxes = Boxes(lows, highs, names)
            least = [boxes.bound_formula(partial(Boxes.bound_expression, value=value))[0] for value in values]
            proved = [low > 0 if positive else low >= 0 for low, positive in zip(least, strict, strict=True)]
            left = left[~np.all(proved, axis=0)]
            whole = np.all(left[:, 0] == left[:, 1], axis=1)
            for point in (dict(zip(names, row, strict=True)) for row in left[whole][:, 0].tolist()):
                verdict = (
                    self._decide_at_point(point) if self.sizes.is_allowed(point) and self._has_runs(point) else None
                )
                if verdict is not None and verdict.outcome != "holds":
                    return verdict if verdict.outcome == "fails" else None
            left = left[~whole]
            rows, widest = np.arange(len(left)), (left[:, 1] - left[:, 0]).argmax(axis=1)
            lower, upper = left.copy(), left.copy()
            lower[rows, 1, widest] = left[rows, :, widest].sum(axis=1) // 2
            upper[rows, 0, widest] = lower[rows, 1, widest] + 1
            left = np.concatenate([lower, upper])
        return None if len(left) else self._make_holding_verdict(f"decided by {asked:,} boxes of sizes")

    def _substitute_lower_bounds(self, value: Poly, amounts: Mapping[str, _AmountBounds]) -> Poly:
        """Return a lower bound on a polynomial without maxima: each amount is replaced by its lower or upper bound.

        Raises OpenError if the sign of a factor is unknown.
        """
        for name, (lowers, uppers) in amounts.items():
            factors = [factor for power, factor in value.coefficients(Symbol(name)).items() if power]
            if all(map(self._symbols.facts.nonnegative, factors)):
                value = value.substitute({name: lowers[0]})
            elif all(self._symbols.facts.nonnegative(-factor) for factor in factors):
                value = value.substitute({name: uppers[0]})
            else:
                raise OpenError("the sign of one factor of a cost is unknown")
        return value


def separate_parts(sides: Iterable[s.Expr], held: Set[str]) -> tuple[tuple[s.Expr, ...], dict[str, s.Expr]]:
    """Replace in formulas each part without `held` names by a new name; return the formulas, and the parts by name.

    The literals of reals are parts, too.
    """
    parts: dict[str, s.Expr] = {}

    def name_part(part: s.Expr) -> s.Expr | None:
        if isinstance(part, s.Name) and part.id in held:
            return part
        reals = not isinstance(part, s.Real) and any(isinstance(node, s.Real) for node in s.iterate_nodes(part))
        if names_in(part) & held or reals:
            return None
        parts[name := f"part {len(parts)}"] = part
        return s.Name(name, span=part.span)

    return tuple(rewrite_parts(side, name_part) for side in sides), parts


# The bounds of amounts
def _iterate_bound_cases(
    amount: SizedCost, facts: Facts, sizes: Sizes, apart: bool
) -> Iterator[tuple[Facts, _AmountBounds]]:
    """Yield facts and bounds for each case of an amount: its pieces, and if `apart` also conditions on the cache."""
    scope, plans = sizes.scope, amount.cost.plans[::-1]
    needs = {
        plan: [facts.simplify(amount.express_in_sizes(need, scope)) for need in plan.where.needs] for plan in plans
    }
    conditions = [needs[plan] for plan in plans if plan.shown == "page"] if apart else []
    for piece, stated in amount.cost.facts_by_piece:
        more = [substitute_in_fact(fact, amount.sizes) for fact in (() if stated is None else list_case_facts(stated))]
        if has_false_fact(more, scope.with_facts(facts)):
            continue
        for case in _split_by_conditions(with_facts(facts, more, scope), conditions):
            low, high = (
                [
                    write_quotients_as_fractions(amount.express_in_sizes(bound.value, scope))
                    for bound in bounds
                    if all(map(case.nonnegative, needs.get(bound, ())))
                ]
                for bounds in (piece.lowers, piece.uppers)
            )
            yield case, (low, high)


def _split_by_conditions(facts: Facts, conditions: Sequence[Sequence[Poly]]) -> Iterator[Facts]:
    """Split sizes into disjoint cases, by which of the conditions holds first, and yield the facts of each case.

    A condition is a list of values that must all be nonnegative.
    """
    for value in conditions[0] if conditions else ():
        if not facts.nonnegative(value):
            yield from _split_by_conditions(facts.with_nonnegative(-value), conditions[1:])
            facts = facts.with_nonnegative(value)
    yield facts


def _select_exact_amounts(amounts: Mapping[str, _AmountBounds]) -> dict[str, Poly]:
    """Return the values of the amounts that are exact: one of their lower bounds is an upper bound, too."""
    return {name: bound for name, (lowers, uppers) in amounts.items() for bound in lowers if bound in uppers}


def _is_maximum(atom: Atom, amounts: Container[str]) -> bool:
    return isinstance(atom, PositivePart) and any(name in amounts for name in atom.names)


def _substitute_atom(value: Poly, atom: Atom, other: Poly) -> Poly:
    return value.map_atoms(lambda part: other if part == atom else None)


def _split_by_coefficient(value: Poly) -> Iterator[Poly]:
    """Yield parts of a polynomial, each the terms whose coefficients are equal up to sign, as for one quantity."""
    parts: dict[object, dict[Monomial, fmpq]] = {}
    for monomial, coefficient in value.terms.items():
        parts.setdefault(abs(coefficient), {})[monomial] = coefficient
    return map(Poly, parts.values())


def _has_positive_margin(value: Poly, facts: Facts) -> bool:
    """Test whether a value is proved positive by a margin, such as 1 for integers; False for roots and logarithms."""
    (margin,) = signs(">", value)
    return margin != value and prove_never_negative(margin, facts)


def decide_cost_order(one: SizedCost, other: SizedCost, sizes: Sizes, relation: str = "<=") -> OrderVerdict:
    """Decide whether `one relation other` holds for two costs at all sizes: proved, refuted at a point, or unknown."""
    left, right = (s.Name(name, span=sizes.algorithm.span) for name in ("the one", "the other"))
    return CostOrder(left, relation, right, {left.id: one, right.id: other}, {}, sizes).decide()


def _format_bounds(amount: SizedCost, sizes: Sizes) -> str:
    """Format the bounds of an amount, in the sizes of the claim if the claim sets sizes."""
    cost = amount.cost
    if amount.sizes and cost.lower is not None and cost.upper is not None:
        low, high = (
            sizes.scope.facts.restore(amount.express_in_sizes(end, sizes.scope)) for end in (cost.lower, cost.upper)
        )
        cost = Cost(cost.metric, cost.status, low, high)
    names = (end.names for end in (cost.lower, cost.upper) if end is not None)
    return format_cost(Costs("", tuple(sorted(frozenset().union(*names))), (), {}, {}), cost)


def _order_side_names(side: str) -> tuple[str, str]:
    """Return the names of the side that should be smaller by `side`, O or Omega, and of the larger one."""
    return ("left", "right") if side == "O" else ("right", "left")


def _format_assignments(texts: Mapping[str, str]) -> str:
    """Format texts as `n = 2^T, m = 1`."""
    return ", ".join(f"{name} = {text}" for name, text in texts.items())


def _format_interval(value: Interval) -> str:
    return " to ".join(map(format_nine_digits, dict.fromkeys((value.lower, value.upper))))
