"""Growth of functions of several sizes and machine symbols: the recursion is followed in the sizes' logarithms.

A case either costs something and ends, or costs something and calls the function at sizes cut by constants. From a
region of root sizes the recursion then moves along straight segments, from one event to the next: a cut-off is
reached, or the guards give the turn to another case. What each segment and the leaves cost are products of powers of
the root's sizes; one formula is put together from all regions, or one for each case where the growth jumps between
them (then `regimes` holds all of them and `growth` is that of the recursion). Sizes are real and have no floor.

Before an answer is given the recurrence is evaluated along the corners and through the middle of each region, at sizes
2^s for rising s, and a little off it. The value over the growth may vary within a constant; where it drifts with the
scale, the answer is withdrawn.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import inf, isfinite, log

from archline.algebra.evaluate.formulas import WIDE, CompiledFormula, EvaluationRefusedError, NoValueError, Number
from archline.algebra.reals import OutOfReachError
from archline.expr import build
from archline.expr.text import format_expression
from archline.expr.tree import rewritten, same
from archline.growth.growths import Growth
from archline.ir.conditions import negate_condition
from archline.language import syntax as s
from archline.records import record
from archline.recurrences.asymptotic.evaluate import Evaluator
from archline.recurrences.asymptotic.logspace.compare import Formula, Printer, covered, formula_for, is_theta_of
from archline.recurrences.asymptotic.logspace.cones import RayCone, Vector, approximate, sign, to_integer_vector
from archline.recurrences.asymptotic.logspace.paths import (
    CostTerm,
    Path,
    PathCosts,
    Segment,
    all_paths,
    follow,
    path_costs,
    regions,
)
from archline.recurrences.asymptotic.logspace.system import LogInequality, LogSystem, read_system
from archline.recurrences.asymptotic.problem import (
    Answer,
    EquationCase,
    RealDefinition,
    RealRecurrence,
    Refused,
    SolvedGrowth,
)
from archline.recurrences.asymptotic.theorems import DIGITS, nine_digit_bracket


@record
class GrowthRegime:
    """The growth where one of these cases applies at the root."""

    cases: tuple[int, ...]
    formula: Formula


def regimes(system: LogSystem, found: Sequence[PathCosts]) -> list[GrowthRegime]:
    """One regime where a formula serves everywhere, else several, the recursion's last. Raises OutOfReachError."""
    for piece in found:
        _refuse_thin(system, piece)
    whole = formula_of(found)
    groups: dict[int, list[PathCosts]] = {}
    for piece in found:
        groups.setdefault(root_case(piece), []).append(piece)
    main = _by_case(system, groups) if whole is None else [GrowthRegime(tuple(groups), whole)]
    return [*_boundary_regimes(system, main), *main]


def _refuse_thin(system: LogSystem, piece: PathCosts) -> None:
    """Raise OutOfReachError where a segment shorter than one level may be left out, though its cost would show."""
    # The root itself is never left out, but only one of the cases of a tie applies there.
    at_root = system.rules[piece.path.segments[0].motion.first].terms if piece.path.segments else ()
    short = {i: each.length for i, each in enumerate(piece.path.segments) if i or len(each.motion.cases) > 1}
    for length in short.values():
        edge = piece.region.face(length)
        if not edge.rays:
            continue
        gone = [i for i, each in short.items() if edge.sign(each) == 0]
        kept = tuple(
            dict.fromkeys(
                cost.term
                for cost in piece.costs
                if cost.segment not in gone or (cost.segment == 0 and cost.source in at_root)
            )
        )
        if not all(covered(term, kept, edge) for term in piece.terms):
            text = Printer(system.names.all).equation(length)
            raise OutOfReachError(f"the growth is discontinuous at {text}: expensive levels occur only beyond it")


def root_case(piece: PathCosts) -> int:
    """The case that applies at the root."""
    return piece.path.segments[0].motion.first if piece.path.segments else piece.path.leaf


def formula_of(found: Sequence[PathCosts], others: Sequence[PathCosts] = ()) -> Formula | None:
    """One formula for all pieces. Terms of others may take part in it."""
    terms = [term for piece in others for term in piece.terms]
    return formula_for([(piece.region, piece.terms) for piece in found], terms)


def _by_case(system: LogSystem, groups: dict[int, list[PathCosts]]) -> list[GrowthRegime]:
    """The leaves each by themselves, and the recursion as a whole if it has one formula."""
    leaves = [case for case in sorted(groups) if system.rules[case].step is None]
    inner = [case for case in sorted(groups) if system.rules[case].step is not None]
    result = [_regime((case,), groups[case]) for case in leaves]
    ended = [piece for case in leaves for piece in groups[case]]
    whole = formula_of([piece for case in inner for piece in groups[case]], ended)
    if whole is not None:
        return [*result, GrowthRegime(tuple(inner), whole)] if inner else result
    return [*result, *(_regime((case,), groups[case]) for case in inner)]


def _regime(cases: tuple[int, ...], found: Sequence[PathCosts]) -> GrowthRegime:
    formula = formula_of(found)
    if formula is None:
        raise OutOfReachError("within one case, the growth is discontinuous between neighbouring sizes")
    return GrowthRegime(cases, formula)


def _boundary_regimes(system: LogSystem, main: Sequence[GrowthRegime]) -> list[GrowthRegime]:
    """Cases that apply on an edge of the sizes alone, as P <= 1 does, where they differ from the growth next to it."""
    formulas = {case: regime.formula for regime in main for case in regime.cases}
    result: dict[int, list[PathCosts]] = {}
    for edge in _edges(system):
        for path in follow(system, edge):
            for piece in path_costs(system, path):
                _refuse_thin(system, piece)
                case = root_case(piece)
                if is_theta_of(formulas.get(case, main[-1].formula), piece.terms, piece.region):
                    continue
                if case in formulas:
                    raise OutOfReachError("the growth jumps at an edge of the sizes, within one case")
                result.setdefault(case, []).append(piece)
    return [_regime((case,), result[case]) for case in sorted(result)]


def _edges(system: LogSystem) -> Iterator[RayCone]:
    """The faces of the regions where the row of some condition is just equal, unless the facts keep away from them."""
    rows = [row for rule in system.rules for part in rule.when for row in part]
    facts = [row for fact in system.facts if len(fact) == 1 for row in fact[0]]
    for region in regions(system):
        seen: set[Vector] = set()
        for row in rows:
            line = _line(row)
            if line in seen or region.sign(row.form) in (0, None):
                continue
            seen.add(line)
            edge = region.face(row.form)
            reach = max(_distance(each) for each in rows if _line(each) == line)
            kept_off = max((_distance(each) for each in facts if _line(each) == line and each.shift < 0), default=0.0)
            if edge.rays and kept_off <= reach:
                yield edge


def _line(row: LogInequality) -> Vector:
    """A row's form up to its scale and sign."""
    form = to_integer_vector(row.form)
    return form if sign(next(x for x in form if x)) > 0 else tuple(-x for x in form)


def _distance(row: LogInequality) -> float:
    """How far from equality of its form a comparison changes, in units of the small whole numbers."""
    scale = next(
        approximate(y) / approximate(x) for x, y in zip(row.form, to_integer_vector(row.form), strict=True) if x
    )
    return abs(row.shift) * scale


SCALES = (24.0, 48.0, 96.0)
DRIFT_SCALES = (192.0, 384.0, 768.0)
"""Where a ratio drifts, it is followed further: exponents that are nearly equal part late."""
NUDGES = (0.0, 0.83, -0.47, 0.29, -0.91, 0.61, -0.23, 0.44)
MAX_DIRECTIONS = 48
STEPS = 30_000
STEADY = 0.75
"""A logarithm too many or too few adds 1 to the ratio's logarithm with every doubling of the scale."""
SLACK = 3.0
SPREAD = 16.0
Point = tuple[float, ...]


def check_numerically(
    problem: RealRecurrence, system: LogSystem, found: Sequence[GrowthRegime], pieces: Sequence[PathCosts]
) -> int:
    """Compare the regimes' growth with the recurrence's own values, and count at how many. Raises OutOfReachError."""
    witness = _Witness(problem, system, found)
    noise = _cutoff_noise(system)
    count = 0
    for number, direction in enumerate(_directions(pieces)):
        for scales in (SCALES, DRIFT_SCALES):
            drifts = []
            for nudged in (False, True):
                points = [_point(direction, scale, number, nudged) for scale in scales]
                ratios = [ratio for point in points if (ratio := witness.ratio(point)) is not None]
                count += len(ratios)
                drifts.append(_drift(ratios, noise))
            if max(drifts) < inf and min(drifts) <= STEADY:
                break
        else:
            where = witness.shown(points[-1])
            raise OutOfReachError(f"the growth found does not agree with the recurrence's own values near {where}")
    if not count:
        raise OutOfReachError("the recurrence could not be evaluated at any of the sizes checked, to check the answer")
    return count


def _cutoff_noise(system: LogSystem) -> float:
    """How much the last level's cost varies as its sizes lie anywhere within one cut of the cut-off, in bits."""
    cuts = [max(map(abs, rule.step.strides)) for rule in system.rules if rule.step is not None]
    degrees = [sum(abs(approximate(x)) for x in term.powers) for rule in system.rules for term in rule.terms]
    return SLACK + max(cuts) * max(degrees, default=0.0)


def _drift(ratios: list[float], noise: float) -> float:
    """How much the ratio moves the same way with each doubling of the scale; infinite where it leaves every bound."""
    moves = [after - before for before, after in pairwise(ratios)]
    if any(not isfinite(ratio) or abs(ratio) > SPREAD + noise for ratio in ratios):
        return inf
    if any(abs(move) > noise for move in moves):
        return inf
    if len(ratios) < len(SCALES):
        return 0.0
    return max(min(moves), -max(moves))


def _point(direction: Point, scale: float, number: int, nudged: bool) -> Point:
    """The root at a scale; nudged, it stands a little off the grid of powers of 2."""
    if not nudged:
        return tuple(scale * x for x in direction)
    shifts = [NUDGES[(number + i) % len(NUDGES)] if x else 0.0 for i, x in enumerate(direction)]
    return tuple(max(0.0, scale * x + shift) for x, shift in zip(direction, shifts, strict=True))


def _directions(pieces: Sequence[PathCosts]) -> Iterator[Point]:
    """Corners and middles of the regions, the greatest coordinate 1."""
    seen: set[Point] = set()
    middles = [piece.region.inner() for piece in pieces]
    corners = [ray for piece in pieces for ray in piece.region.rays]
    for vector in (*middles, *corners):
        values = [approximate(x) for x in vector]
        point = tuple(round(x / max(values), 9) for x in values)
        if point not in seen and len(seen) < MAX_DIRECTIONS:
            seen.add(point)
            yield point


class _Witness:
    """Values of the recurrence relative to the growth claimed for them."""

    def __init__(self, problem: RealRecurrence, system: LogSystem, found: Sequence[GrowthRegime]) -> None:
        self._problem = problem
        self._names = system.names.all
        self._sorter = _sorter(problem, system)
        self._evaluators: dict[int, Evaluator] = {}
        orders = [Printer(self._names).formula(regime.formula) for regime in found]
        growths = [CompiledFormula(order, WIDE, exact_logs=False) for order in orders]
        self._growths = {case: own for regime, own in zip(found, growths, strict=True) for case in regime.cases}
        self._other = growths[-1]

    def ratio(self, point: Point) -> float | None:
        """log2 of the value over the growth at sizes 2^point; None where it cannot be had or the facts exclude it."""
        sizes = {name: 2.0**x for name, x in zip(self._names, point, strict=True)}
        try:
            case = int(float(self._at(self._sorter, sizes))) - 1
            if case < 0:
                return None
            value = _log2(self._at(self._problem, sizes))
            expected = _log2(self._growths.get(case, self._other).at(sizes))
        except (EvaluationRefusedError, NoValueError, OverflowError):
            return None
        if value is None or expected is None:
            return 0.0 if value is expected else inf
        return value - expected

    def _at(self, problem: RealRecurrence, sizes: dict[str, float]) -> Number:
        """The value of a recurrence, which is compiled once."""
        if id(problem) not in self._evaluators:
            self._evaluators[id(problem)] = Evaluator(problem, sizes, WIDE, limit=STEPS)
        self._evaluators[id(problem)].give(sizes)
        return self._evaluators[id(problem)].at(sizes)

    def shown(self, point: Point) -> str:
        """The sizes in words."""
        return ", ".join(f"{name} = 2^{x:.4g}" for name, x in zip(self._names, point, strict=True))


def _sorter(problem: RealRecurrence, system: LogSystem) -> RealRecurrence:
    """A function that is 0 where a fact fails, else 1 + the number of the case that applies."""
    asked = problem.asked
    cases = [
        EquationCase(build.ZERO, s.Unary("not", fact, span=fact.span))
        for fact in problem.facts
        if isinstance(fact, s.Binary)
    ]
    cases += [EquationCase(build.number(place), rule.condition) for place, rule in enumerate(system.rules, 1)]
    return RealRecurrence((RealDefinition("case", asked.parameters, tuple(cases)),))


def _log2(value: Number) -> float | None:
    """log2 of a value, None where it is 0."""
    if not value.is_finite():
        raise EvaluationRefusedError("a value beyond all numbers")
    return float(value.log()) / log(2) if value > 0 else None


_WHERE = {
    "first": "decreases geometrically over the levels: the first level dominates",
    "last": "increases geometrically over the levels: the last level dominates",
    "each": "is equal on every level: multiply by the number of levels",
}


class _Explanation:
    """The steps of a solution, as text."""

    def __init__(self, system: LogSystem, pieces: Sequence[PathCosts], parts: Sequence[GrowthRegime]) -> None:
        self._system = system
        self._pieces = pieces
        self._parts = parts
        self._printer = Printer(system.names.all)

    def lines(self) -> Iterator[str]:
        """All of them."""
        # The simplest of the longest.
        piece = min(
            self._pieces,
            key=lambda each: (-len(each.path.segments), [one.motion.cases for one in each.path.segments]),
        )
        path = piece.path
        where, number = self._region(path), len(self._pieces)
        among = f" (one of {number} regions of sizes)" if number > 1 else ""
        yield f"Where {where}{among}:" if where else f"For all sizes{among}:"
        for index, segment in enumerate(path.segments):
            yield self._segment(segment)
            yield from (self._cost(cost) for cost in _distinct(piece.costs) if cost.segment == index)
        yield self._leaves(path)
        yield from (self._cost(cost) for cost in _distinct(piece.costs) if cost.segment is None)
        yield f"The maximum of these: {format_expression(self._printer.total(piece.terms))}."
        yield from self._together()

    def _region(self, path: Path) -> str:
        """The comparisons that bound a region, those that always hold left out."""
        names = range(len(self._system.names.all))
        given = [row.form for fact in self._system.facts if len(fact) == 1 for row in fact[0]]
        rows = [row for row in path.region.facets() if row not in given and len([i for i in names if row[i]]) > 1]
        return ", ".join(self._printer.comparison(row) for row in rows)

    def _segment(self, segment: Segment) -> str:
        names = self._system.names.all
        steps = [self._system.rules[case].step for case in segment.motion.cases]
        calls = " and ".join(step.text for step in steps if step is not None)
        moved = [
            f"{name} goes from {self._printer.monomial(segment.state[i])} to {self._printer.monomial(segment.end[i])}"
            for i, name in enumerate(names)
            if segment.motion.direction[i]
        ]
        turns = " in turn, held at a tie" if len(steps) > 1 else ""
        levels, count = (
            self._printer.monomial(to_integer_vector(segment.length)),
            self._printer.monomial(segment.end_nodes),
        )
        nodes = "is 1 node" if count == "1" else f"are {count} nodes"
        return f"{calls}{turns}: {', '.join(moved)} in Theta(log2({levels})) levels, at whose end there {nodes}."

    def _cost(self, cost: CostTerm) -> str:
        source, term = self._printer.term(cost.source), self._printer.term(cost.term)
        if cost.segment is None:
            return f"  {source} a leaf: {term} together."
        return f"  {source} a node {_WHERE[cost.place]}: {term}."

    def _leaves(self, path: Path) -> str:
        names = self._system.names
        sizes = [
            f"{name} = {self._printer.monomial(path.state[i])}" for i, name in enumerate(names.all[: names.parameters])
        ]
        return f"Leaves: {self._printer.monomial(path.nodes)} of {', '.join(sizes)}."

    def _together(self) -> Iterator[str]:
        formula = format_expression(self._printer.formula(self._parts[-1].formula))
        if len(self._parts) > 1:
            yield "The growth jumps between cases, so that each has its own."
        elif len(self._pieces) > 1:
            yield f"The growth is Theta of {formula} in every region: no term dominates it, and none can be dropped."


def _distinct(costs: Sequence[CostTerm]) -> list[CostTerm]:
    """One cost of each source and place."""
    return list({(cost.segment, cost.source, cost.term): cost for cost in costs}.values())


METHOD = "recursion followed in log space"


def solve_multi(problem: RealRecurrence) -> Answer:
    """Theta of a function of several sizes, or of one with cut-offs by other symbols."""
    try:
        system = read_system(problem)
        found = [piece for path in all_paths(system) for piece in path_costs(system, path)]
        if not found:
            raise OutOfReachError("no sizes satisfy the facts")
        parts = regimes(system, found)
        steps = tuple(_Explanation(system, found, parts).lines())
        count = check_numerically(problem, system, parts, found)
        answer = _solved(system, parts, steps, count)
        if answer.regimes and answer.between:
            raise OutOfReachError("the nodes multiply by a power that has no closed form, and the growth jumps")
    except OutOfReachError as problem_:
        return Refused(str(problem_))
    return answer


def _solved(system: LogSystem, parts: list[GrowthRegime], steps: tuple[str, ...], count: int) -> SolvedGrowth:
    printer = Printer(system.names.all)
    checked = f"The recurrence itself, evaluated at {count} sizes over several scales, agrees."
    orders = [printer.formula(part.formula) for part in parts]
    shown = (Growth(each, each, where=_where(system, part, parts)) for each, part in zip(orders, parts, strict=True))
    growth = orders[-1]
    return SolvedGrowth(
        growth=growth,
        method=METHOD,
        steps=(*steps, checked),
        regimes=tuple(shown) if len(parts) > 1 else (),
        between=_between(growth, system),
    )


def _between(growth: s.Expr, system: LogSystem) -> tuple[s.Expr, s.Expr] | None:
    """The growth with less and with more nodes, where they multiply by a power that is known to nine digits."""
    low = high = growth
    for step in (rule.step for rule in system.rules if rule.step is not None):
        digits = str(step.nodes).removeprefix("-")
        if DIGITS.fullmatch(digits):
            less, more = nine_digit_bracket(digits) if sign(step.nodes) > 0 else nine_digit_bracket(digits)[::-1]
            low, high = (_with_digits(end, digits, other) for end, other in ((low, less), (high, more)))
    return None if same(low, high) else (low, high)


def _with_digits(expr: s.Expr, digits: str, other: str) -> s.Expr:
    """An expression with other digits for a number."""
    number = s.Real(other, span=build.DERIVED)
    return rewritten(expr, lambda part: number if isinstance(part, s.Real) and part.text == digits else None)


def _where(system: LogSystem, part: GrowthRegime, parts: list[GrowthRegime]) -> tuple[s.Fact, ...]:
    """Where a regime holds."""
    own = [system.rules[case].condition for case in part.cases]
    others = [system.rules[case].condition for each in parts if each is not part for case in each.cases]
    excluded = [negate_condition(each) for each in others if each is not None]  # type: ignore[arg-type]
    if all(each is not None for each in own) and (part is not parts[-1] or not excluded):
        (*known,) = (each for each in own if each is not None)
        return (build.joined("or", known),)  # type: ignore[arg-type]
    return tuple(excluded)
