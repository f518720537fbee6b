"""Derive the growth of functions of several sizes and symbols, by following the recursion in the sizes' logarithms.

A case has a cost, and either ends the recursion or calls the function at sizes divided by constants. From a region of
root sizes the recursion then moves along straight segments, from one event to the next: a cut-off is reached, or the
guards select another case. The costs of each segment and of the leaves are products of powers of the root's sizes. One
formula for all regions is found, or one for each case if the growth jumps between cases (then `regimes` has all of them
and `growth` is that of the recursive cases). Sizes are real numbers and have no minimum.

Before an answer is returned the recurrence is evaluated along the corners and through the middle of each region, at
sizes 2^s for rising s and near these. The ratio of value and growth may vary within constants; if it drifts with the
scale, the answer is refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import inf, isfinite, log

from archline.algebra.evaluate.formulas import (
    BALL_ARITHMETIC,
    CompiledFormula,
    EvaluationRefusedError,
    NoValueError,
    Number,
)
from archline.algebra.reals import OutOfReachError
from archline.expr import build
from archline.expr.text import format_expression
from archline.expr.tree import has_same_structure, rewrite_parts
from archline.growth.growths import Growth
from archline.ir.conditions import negate_condition
from archline.language import syntax as s
from archline.records import record
from archline.recurrences.asymptotic.evaluate import Evaluator
from archline.recurrences.asymptotic.logspace.compare import (
    Formula,
    FormulaPrinter,
    find_formula,
    is_covered,
    is_theta_of,
)
from archline.recurrences.asymptotic.logspace.cones import RayCone, Vector, approximate, prove_sign, to_integer_vector
from archline.recurrences.asymptotic.logspace.paths import (
    CostTerm,
    PathCosts,
    PathSegment,
    RecursionPath,
    build_regions,
    follow_paths,
    iterate_path_costs,
    list_all_paths,
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
from archline.recurrences.asymptotic.theorems import DECIMAL_PATTERN, bracket_nine_digits


@record
class GrowthRegime:
    """The growth at sizes where one of `cases` applies at the root."""

    cases: tuple[int, ...]
    formula: Formula


def find_regimes(system: LogSystem, pieces: Sequence[PathCosts]) -> list[GrowthRegime]:
    """Return one regime if a formula holds everywhere, else several, recursive cases last. Raises OutOfReachError."""
    for piece in pieces:
        _reject_short_segments(system, piece)
    whole = find_common_formula(pieces)
    groups: dict[int, list[PathCosts]] = {}
    for piece in pieces:
        groups.setdefault(get_root_case(piece), []).append(piece)
    main = _find_regimes_by_case(system, groups) if whole is None else [GrowthRegime(tuple(groups), whole)]
    return [*_find_boundary_regimes(system, main), *main]


def _reject_short_segments(system: LogSystem, piece: PathCosts) -> None:
    """Raise OutOfReachError if a segment may be shorter than one level, and so not occur, though its cost matters."""
    # The root always occurs, but only one of the cases of a tie applies there.
    at_root = system.rules[piece.path.segments[0].motion.first].terms if piece.path.segments else ()
    short = {i: segment.length for i, segment in enumerate(piece.path.segments) if i or len(segment.motion.cases) > 1}
    for length in short.values():
        edge = piece.region.compute_face(length)
        if not edge.rays:
            continue
        vanishing = [i for i, short_length in short.items() if edge.compute_sign(short_length) == 0]
        remaining = tuple(
            dict.fromkeys(
                cost.term
                for cost in piece.costs
                if cost.segment not in vanishing or (cost.segment == 0 and cost.source in at_root)
            )
        )
        if not all(is_covered(term, remaining, edge) for term in piece.terms):
            text = FormulaPrinter(system.names.all).format_equation(length)
            raise OutOfReachError(f"the growth is discontinuous at {text}: expensive levels occur only beyond it")


def get_root_case(piece: PathCosts) -> int:
    """Return the number of the case that applies at the root."""
    return piece.path.segments[0].motion.first if piece.path.segments else piece.path.leaf


def find_common_formula(pieces: Sequence[PathCosts], foreign: Sequence[PathCosts] = ()) -> Formula | None:
    """Return one formula for all pieces, or None. Terms of the pieces `foreign` may occur in it."""
    terms = [term for piece in foreign for term in piece.terms]
    return find_formula([(piece.region, piece.terms) for piece in pieces], terms)


def _find_regimes_by_case(system: LogSystem, groups: dict[int, list[PathCosts]]) -> list[GrowthRegime]:
    """Return a regime for each leaf case, and one for all recursive cases, or one for each if no formula is common."""
    leaves = [case for case in sorted(groups) if system.rules[case].step is None]
    inner = [case for case in sorted(groups) if system.rules[case].step is not None]
    result = [_build_regime((case,), groups[case]) for case in leaves]
    ended = [piece for case in leaves for piece in groups[case]]
    whole = find_common_formula([piece for case in inner for piece in groups[case]], ended)
    if whole is not None:
        return [*result, GrowthRegime(tuple(inner), whole)] if inner else result
    return [*result, *(_build_regime((case,), groups[case]) for case in inner)]


def _build_regime(cases: tuple[int, ...], found: Sequence[PathCosts]) -> GrowthRegime:
    formula = find_common_formula(found)
    if formula is None:
        raise OutOfReachError("within one case, the growth is discontinuous between neighbouring sizes")
    return GrowthRegime(cases, formula)


def _find_boundary_regimes(system: LogSystem, main: Sequence[GrowthRegime]) -> list[GrowthRegime]:
    """Return regimes of cases that apply only on an edge of the sizes, such as P <= 1, if their growth differs."""
    formulas = {case: regime.formula for regime in main for case in regime.cases}
    result: dict[int, list[PathCosts]] = {}
    for edge in _iterate_boundary_faces(system):
        for path in follow_paths(system, edge):
            for piece in iterate_path_costs(system, path):
                _reject_short_segments(system, piece)
                case = get_root_case(piece)
                if is_theta_of(formulas.get(case, main[-1].formula), piece.terms, piece.region):
                    continue
                if case in formulas:
                    raise OutOfReachError("the growth jumps at an edge of the sizes, within one case")
                result.setdefault(case, []).append(piece)
    return [_build_regime((case,), result[case]) for case in sorted(result)]


def _iterate_boundary_faces(system: LogSystem) -> Iterator[RayCone]:
    """Iterate over the faces of regions where both sides of a comparison are equal, unless the facts exclude them."""
    rows = [row for rule in system.rules for part in rule.when for row in part]
    facts = [row for fact in system.facts if len(fact) == 1 for row in fact[0]]
    for region in build_regions(system):
        lines: set[Vector] = set()
        for row in rows:
            line = _normalize_row_form(row)
            if line in lines or region.compute_sign(row.form) in (0, None):
                continue
            lines.add(line)
            edge = region.compute_face(row.form)
            reach = max(_measure_shift(other_row) for other_row in rows if _normalize_row_form(other_row) == line)
            kept_off = max(
                (
                    _measure_shift(other_row)
                    for other_row in facts
                    if _normalize_row_form(other_row) == line and other_row.constant_term < 0
                ),
                default=0.0,
            )
            if edge.rays and kept_off <= reach:
                yield edge


def _normalize_row_form(row: LogInequality) -> Vector:
    """Return the form of a row with a standard scale and sign, by which rows of the same line are equal."""
    form = to_integer_vector(row.form)
    return form if prove_sign(next(x for x in form if x)) > 0 else tuple(-x for x in form)


def _measure_shift(row: LogInequality) -> float:
    """Return the magnitude of a row's constant term if its form is scaled to coprime integers."""
    scale = next(
        approximate(y) / approximate(x) for x, y in zip(row.form, to_integer_vector(row.form), strict=True) if x
    )
    return abs(row.constant_term) * scale


CHECKED_SCALES = (24.0, 48.0, 96.0)
DRIFT_SCALES = (192.0, 384.0, 768.0)
"""Larger scales for ratios that drift: nearly equal exponents differ visibly only there."""
POINT_SHIFTS = (0.0, 0.83, -0.47, 0.29, -0.91, 0.61, -0.23, 0.44)
MAX_DIRECTIONS = 48
MAX_EVALUATED_SIZES = 30_000
MAX_STEADY_DRIFT = 0.75
"""The drift above which a ratio is not steady: a wrong logarithm adds 1 with each doubling of the scale."""
MAX_BASE_VARIATION = 3.0
MAX_LOG_RATIO = 16.0
Point = tuple[float, ...]


def check_numerically(
    problem: RealRecurrence, system: LogSystem, found: Sequence[GrowthRegime], pieces: Sequence[PathCosts]
) -> int:
    """Check the growth of regimes by values of the recurrence; return the number of values. Raises OutOfReachError."""
    witness = _GrowthChecker(problem, system, found)
    noise = _estimate_cutoff_variation(system)
    count = 0
    for number, direction in enumerate(_iterate_directions(pieces)):
        for scales in (CHECKED_SCALES, DRIFT_SCALES):
            drifts = []
            for nudged in (False, True):
                points = [_choose_point(direction, scale, number, nudged) for scale in scales]
                ratios = [ratio for point in points if (ratio := witness.compute_log_ratio(point)) is not None]
                count += len(ratios)
                drifts.append(_measure_drift(ratios, noise))
            if max(drifts) < inf and min(drifts) <= MAX_STEADY_DRIFT:
                break
        else:
            where = witness.format_sizes(points[-1])
            raise OutOfReachError(f"the growth found does not agree with the recurrence's own values near {where}")
    if not count:
        raise OutOfReachError("the recurrence could not be evaluated at any of the sizes checked, to check the answer")
    return count


def _estimate_cutoff_variation(system: LogSystem) -> float:
    """Estimate the variation of the last level's cost, in bits, as its sizes are within one level of the cut-off."""
    cuts = [max(map(abs, rule.step.log2_decreases)) for rule in system.rules if rule.step is not None]
    degrees = [sum(abs(approximate(x)) for x in term.powers) for rule in system.rules for term in rule.terms]
    return MAX_BASE_VARIATION + max(cuts) * max(degrees, default=0.0)


def _measure_drift(ratios: list[float], noise: float) -> float:
    """Return the change of log ratios that persists with each doubling of the scale; infinite if one is too large."""
    moves = [after - before for before, after in pairwise(ratios)]
    if any(not isfinite(ratio) or abs(ratio) > MAX_LOG_RATIO + noise for ratio in ratios):
        return inf
    if any(abs(move) > noise for move in moves):
        return inf
    if len(ratios) < len(CHECKED_SCALES):
        return 0.0
    return max(min(moves), -max(moves))


def _choose_point(direction: Point, scale: float, number: int, nudged: bool) -> Point:
    """Return the root sizes in a direction at a scale; if `nudged`, they are not quite powers of 2."""
    if not nudged:
        return tuple(scale * x for x in direction)
    shifts = [POINT_SHIFTS[(number + i) % len(POINT_SHIFTS)] if x else 0.0 for i, x in enumerate(direction)]
    return tuple(max(0.0, scale * x + shift) for x, shift in zip(direction, shifts, strict=True))


def _iterate_directions(pieces: Sequence[PathCosts]) -> Iterator[Point]:
    """Iterate over middles and corners of the regions, scaled to a greatest coordinate of 1."""
    visited: set[Point] = set()
    middles = [piece.region.interior_point() for piece in pieces]
    corners = [ray for piece in pieces for ray in piece.region.rays]
    for vector in (*middles, *corners):
        values = [approximate(x) for x in vector]
        point = tuple(round(x / max(values), 9) for x in values)
        if point not in visited and len(visited) < MAX_DIRECTIONS:
            visited.add(point)
            yield point


class _GrowthChecker:
    """Computes the ratios of values of the recurrence and the growth found for them."""

    def __init__(self, problem: RealRecurrence, system: LogSystem, found: Sequence[GrowthRegime]) -> None:
        self._problem = problem
        self._names = system.names.all
        self._sorter = _build_case_selector(problem, system)
        self._evaluators: dict[int, Evaluator] = {}
        orders = [FormulaPrinter(self._names).build_formula(regime.formula) for regime in found]
        growths = [CompiledFormula(order, BALL_ARITHMETIC, exact_logs=False) for order in orders]
        self._growths = {case: growth for regime, growth in zip(found, growths, strict=True) for case in regime.cases}
        self._other = growths[-1]

    def compute_log_ratio(self, point: Point) -> float | None:
        """Return about log2(value/growth) at sizes 2^point; None if it has no value or facts exclude the sizes."""
        sizes = {name: 2.0**x for name, x in zip(self._names, point, strict=True)}
        try:
            case = int(float(self._evaluate(self._sorter, sizes))) - 1
            if case < 0:
                return None
            value = _compute_log2(self._evaluate(self._problem, sizes))
            expected = _compute_log2(self._growths.get(case, self._other).at(sizes))
        except (EvaluationRefusedError, NoValueError, OverflowError):
            return None
        if value is None or expected is None:
            return 0.0 if value is expected else inf
        return value - expected

    def _evaluate(self, problem: RealRecurrence, sizes: dict[str, float]) -> Number:
        """Return the value of a recurrence at sizes; each recurrence is compiled once."""
        if id(problem) not in self._evaluators:
            self._evaluators[id(problem)] = Evaluator(problem, sizes, BALL_ARITHMETIC, limit=MAX_EVALUATED_SIZES)
        self._evaluators[id(problem)].set_symbols(sizes)
        return self._evaluators[id(problem)].evaluate_at(sizes)

    def format_sizes(self, point: Point) -> str:
        """Return the sizes as text."""
        return ", ".join(f"{name} = 2^{x:.4g}" for name, x in zip(self._names, point, strict=True))


def _build_case_selector(problem: RealRecurrence, system: LogSystem) -> RealRecurrence:
    """Return a recurrence with value 0 if a fact fails, else 1 plus the number of the case that applies."""
    asked = problem.asked
    cases = [
        EquationCase(build.ZERO, s.Unary("not", fact, span=fact.span))
        for fact in problem.facts
        if isinstance(fact, s.Binary)
    ]
    cases += [EquationCase(build.number(place), rule.condition) for place, rule in enumerate(system.rules, 1)]
    return RealRecurrence((RealDefinition("case", asked.parameters, tuple(cases)),))


def _compute_log2(value: Number) -> float | None:
    """Return log2 of a value in floating point, None if it is 0. Raises EvaluationRefusedError if it is infinite."""
    if not value.is_finite():
        raise EvaluationRefusedError("a value is infinite")
    return float(value.log()) / log(2) if value > 0 else None


_COST_TEXTS = {
    "first": "decreases geometrically over the levels: the first level dominates",
    "last": "increases geometrically over the levels: the last level dominates",
    "each": "is equal on all levels: multiply by their number",
}


class _SolutionPrinter:
    """Prints the steps of a solution."""

    def __init__(self, system: LogSystem, pieces: Sequence[PathCosts], parts: Sequence[GrowthRegime]) -> None:
        self._system = system
        self._pieces = pieces
        self._parts = parts
        self._printer = FormulaPrinter(system.names.all)

    def iterate_lines(self) -> Iterator[str]:
        """Iterate over the lines of the solution."""
        # The example is a path with the most segments; of several, that whose cases come first.
        piece = min(
            self._pieces,
            key=lambda candidate: (
                -len(candidate.path.segments),
                [segment.motion.cases for segment in candidate.path.segments],
            ),
        )
        path = piece.path
        where, number = self._describe_region(path), len(self._pieces)
        among = f" (one of {number} regions of sizes)" if number > 1 else ""
        yield f"Where {where}{among}:" if where else f"For all sizes{among}:"
        for index, segment in enumerate(path.segments):
            yield self._describe_segment(segment)
            yield from (self._describe_cost(cost) for cost in _select_distinct(piece.costs) if cost.segment == index)
        yield self._describe_leaves(path)
        yield from (self._describe_cost(cost) for cost in _select_distinct(piece.costs) if cost.segment is None)
        yield f"The maximum of these: {format_expression(self._printer.build_sum(piece.terms))}."
        yield from self._describe_growth()

    def _describe_region(self, path: RecursionPath) -> str:
        """Return the comparisons of several names that bound a region, except for known facts."""
        names = range(len(self._system.names.all))
        fact_rows = [row.form for fact in self._system.facts if len(fact) == 1 for row in fact[0]]
        rows = [
            row for row in path.region.find_facets() if row not in fact_rows and len([i for i in names if row[i]]) > 1
        ]
        return ", ".join(self._printer.format_comparison(row) for row in rows)

    def _describe_segment(self, segment: PathSegment) -> str:
        names = self._system.names.all
        steps = [self._system.rules[case].step for case in segment.motion.cases]
        calls = " and ".join(step.text for step in steps if step is not None)
        write = self._printer.format_monomial
        moved = [
            f"{name} goes from {write(segment.state[i])} to {write(segment.end[i])}"
            for i, name in enumerate(names)
            if segment.motion.direction[i]
        ]
        turns = " in turn, at a tie of the guards" if len(steps) > 1 else ""
        levels, count = (
            self._printer.format_monomial(to_integer_vector(segment.length)),
            self._printer.format_monomial(segment.end_nodes),
        )
        nodes = "1 node" if count == "1" else f"{count} nodes"
        return f"{calls}{turns}: {', '.join(moved)} in Theta(log2({levels})) levels, with {nodes} at the end."

    def _describe_cost(self, cost: CostTerm) -> str:
        source, term = self._printer.format_term(cost.source), self._printer.format_term(cost.term)
        if cost.segment is None:
            return f"  {source} per leaf: {term} in total."
        return f"  {source} per node {_COST_TEXTS[cost.place]}: {term}."

    def _describe_leaves(self, path: RecursionPath) -> str:
        names = self._system.names
        sizes = [
            f"{name} = {self._printer.format_monomial(path.state[i])}"
            for i, name in enumerate(names.all[: names.parameters])
        ]
        return f"Leaves: {self._printer.format_monomial(path.nodes)} with {', '.join(sizes)}."

    def _describe_growth(self) -> Iterator[str]:
        formula = format_expression(self._printer.build_formula(self._parts[-1].formula))
        if len(self._parts) > 1:
            yield "The growth jumps between cases, so that each case has its own."
        elif len(self._pieces) > 1:
            yield f"The growth is Theta({formula}) in every region; no term can be dropped."


def _select_distinct(costs: Sequence[CostTerm]) -> list[CostTerm]:
    """Return one cost for each segment, source and term."""
    return list({(cost.segment, cost.source, cost.term): cost for cost in costs}.values())


METHOD_NAME = "recursion followed in log space"


def solve_recurrence_in_log_space(problem: RealRecurrence) -> Answer:
    """Return the growth of a function of several sizes, or of one size with conditions on symbols, or a refusal."""
    try:
        system = read_system(problem)
        pieces = [piece for path in list_all_paths(system) for piece in iterate_path_costs(system, path)]
        if not pieces:
            raise OutOfReachError("no sizes satisfy the facts")
        parts = find_regimes(system, pieces)
        steps = tuple(_SolutionPrinter(system, pieces, parts).iterate_lines())
        count = check_numerically(problem, system, parts, pieces)
        answer = _build_answer(system, parts, steps, count)
        if answer.regimes and answer.between:
            raise OutOfReachError("the number of nodes is a power without closed form, and the growth jumps")
    except OutOfReachError as problem_:
        return Refused(str(problem_))
    return answer


def _build_answer(system: LogSystem, parts: list[GrowthRegime], steps: tuple[str, ...], count: int) -> SolvedGrowth:
    printer = FormulaPrinter(system.names.all)
    checked = f"The values of the recurrence at {count} sizes of several magnitudes agree with it."
    orders = [printer.build_formula(part.formula) for part in parts]
    regimes = (
        Growth(order, order, where=_build_conditions(system, part, parts))
        for order, part in zip(orders, parts, strict=True)
    )
    growth = orders[-1]
    return SolvedGrowth(
        growth=growth,
        method=METHOD_NAME,
        steps=(*steps, checked),
        regimes=tuple(regimes) if len(parts) > 1 else (),
        between=_bracket_growth(growth, system),
    )


def _bracket_growth(growth: s.Expr, system: LogSystem) -> tuple[s.Expr, s.Expr] | None:
    """Return bounds of the growth with exponents of nodes rounded down and up, if these are known to nine digits.

    None if no exponent was rounded.
    """
    low = high = growth
    for step in (rule.step for rule in system.rules if rule.step is not None):
        digits = str(step.nodes).removeprefix("-")
        if DECIMAL_PATTERN.fullmatch(digits):
            fewer, more = (
                bracket_nine_digits(digits) if prove_sign(step.nodes) > 0 else bracket_nine_digits(digits)[::-1]
            )
            low, high = (_replace_number(end, digits, bracketed) for end, bracketed in ((low, fewer), (high, more)))
    return None if has_same_structure(low, high) else (low, high)


def _replace_number(expr: s.Expr, digits: str, other: str) -> s.Expr:
    number = s.Real(other, span=build.DERIVED)
    return rewrite_parts(expr, lambda part: number if isinstance(part, s.Real) and part.text == digits else None)


def _build_conditions(system: LogSystem, part: GrowthRegime, parts: list[GrowthRegime]) -> tuple[s.Fact, ...]:
    """Return the conditions under which a regime applies."""
    own_conditions = [system.rules[case].condition for case in part.cases]
    other_conditions = [system.rules[case].condition for x in parts if x is not part for case in x.cases]
    excluded = [negate_condition(condition) for condition in other_conditions if condition is not None]  # type: ignore[arg-type]
    if all(condition is not None for condition in own_conditions) and (part is not parts[-1] or not excluded):
        (*conditions,) = (condition for condition in own_conditions if condition is not None)
        return (build.join_conditions("or", conditions),)  # type: ignore[arg-type]
    return tuple(excluded)
