"""The io of an algorithm as a cost: bounds at sizes, Z and L, and the regimes of Z that they come from."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

from archline.algebra.evaluation import EvaluationError
from archline.algebra.polynomial import ZERO, Poly, TooComplexError, budget
from archline.algebra.printing import to_text
from archline.analysis.analyse import derive
from archline.analysis.costs import Alternative, Cost, Kept
from archline.analysis.io.accesses import accesses
from archline.analysis.io.footprint import references
from archline.analysis.io.layout import LINE
from archline.analysis.io.lower import lower_bound
from archline.analysis.io.orders import OutOfReachError, order
from archline.analysis.io.plans import Plan, Planner
from archline.analysis.io.product import UnboundedError
from archline.analysis.io.program import Program, UntracedError
from archline.analysis.io.recursion import Recursions
from archline.analysis.io.samples import samples
from archline.analysis.io.units import Unit
from archline.analysis.io.upper import Upper
from archline.analysis.recursion.graph import recurses
from archline.language import syntax as s
from archline.language.model import Module

MAX_TERM_PRODUCTS, RECURSION_FACTOR = 400_000, 20
MAX_SOLVED = 256
WORDS = Poly.symbol("Z")

_solved: OrderedDict[tuple[Module, s.Algorithm], Cost] = OrderedDict()


def io_cost(module: Module, algorithm: s.Algorithm, work: Cost | None = None) -> Cost:
    """Lines fetched by one call under optimal replacement: bounds that hold at every size, L >= 1 and Z >= L.

    The closed form of recursion rests on `work`, which is derived where it is not given. Unknown with a reason where
    accesses cannot be followed. Never raises for a program that checks.
    """
    key = module, algorithm
    if key not in _solved:
        _solved[key] = _derive(module, algorithm, work)
        if len(_solved) > MAX_SOLVED:
            _solved.popitem(last=False)
    return _solved[key]


def _derive(module: Module, algorithm: s.Algorithm, work: Cost | None) -> Cost:
    try:
        if recurses(module, algorithm):
            work = work or derive(module, algorithm)["work"]
            with budget(MAX_TERM_PRODUCTS * RECURSION_FACTOR):
                return _of_recursion(module, algorithm, work)
        with budget(MAX_TERM_PRODUCTS):
            return _of_loops(module, algorithm)
    except UntracedError as problem:
        return Cost("io", "unknown", None, None, problem.reason, problem.span)
    except UnboundedError:
        return _unknown("no closed form was found for the lines that are touched", algorithm)
    except TooComplexError as problem:
        return _unknown(str(problem), algorithm)
    except RecursionError:
        return _unknown("its closed form is nested too deeply to derive", algorithm)


def _of_loops(module: Module, algorithm: s.Algorithm) -> Cost:
    scope, nodes = Program(module).trace(algorithm)
    found = references(accesses(nodes), scope.facts)
    if not found:
        return Cost("io", "exact", ZERO, ZERO, ends=lambda _: (Fraction(0), Fraction(0)))
    planner = Planner(found, scope.facts, list(samples(algorithm, scope)))
    upper = Upper(planner.plans(), scope.facts)
    lower = lower_bound(nodes, scope.facts, planner.points)
    if not upper.plans:
        raise UnboundedError

    def ends(point: Mapping[str, int | Fraction]) -> tuple[Fraction, Fraction]:
        whole = _integers(point)
        return Fraction(lower.at(whole)), Fraction(upper.at(whole))

    told = planner.told(upper.plans)
    others = [plan for plan in upper.plans if plan not in told]
    alternatives = tuple(_alternative(plan, planner, plan in told) for plan in (*others, *told))
    some = scope.facts.with_nonnegative(WORDS - LINE)
    known = [each for each in alternatives if each.told and all(map(some.nonnegative, each.needs))]
    best = known[-1] if known else alternatives[-1]
    levels = tuple((name, scope.facts.restore(value)) for name, value in lower.levels)
    compulsory = levels[0][1] if levels else ZERO
    return Cost("io", "bounded", compulsory, best.upper, alternatives=alternatives, lowers=levels[1:], ends=ends)


def _of_recursion(module: Module, algorithm: s.Algorithm, work: Cost) -> Cost:
    if work.upper is None:
        return Cost("io", "unknown", None, None, work.reason, work.span)
    recursions = Recursions(module, algorithm)
    recursions.solve()
    body = recursions.solved(algorithm)
    restore = body.body.scope.facts.restore

    def ends(point: Mapping[str, int | Fraction]) -> tuple[Fraction, Fraction]:
        return Fraction(0), Fraction(recursions.at(_integers(point)))

    def orders(facts: Sequence[s.Fact]) -> tuple[tuple[str, str], ...] | str:
        try:
            return order(recursions, facts).regimes
        except OutOfReachError as problem:
            return str(problem)

    # Every iteration and every call counts 1 work, and makes so many accesses beside those of what it holds.
    upper = work.upper.scaled(recursions.accesses)
    told = [Alternative("Z >= L", (WORDS - LINE,), upper, lambda: None, told=False)]
    if not recursions.makes:
        told.append(_fitting(restore(body.given)))
    return Cost(
        "io",
        "declared" if work.declared else "bounded",
        ZERO,
        upper,
        declared=work.declared,
        alternatives=tuple(told),
        orders=orders,
        ends=ends,
    )


def _fitting(lines: Poly) -> Alternative:
    """All arrays fit."""
    return Alternative(f"Z >= {_times_line(lines)}", (WORDS - LINE * lines,), lines, lambda: None)


def _integers(point: Mapping[str, int | Fraction]) -> dict[str, int]:
    missing = [name for name in ("Z", "L") if name not in point]
    if missing:
        raise EvaluationError(f"`{missing[0]}` has no value; --cache gives Z and L")
    if point["Z"] < point["L"]:
        raise EvaluationError("Z holds no line of L words")
    return {name: int(value) for name, value in point.items()}


def _alternative(plan: Plan, planner: Planner, told: bool) -> Alternative:
    restore = planner.facts.restore

    def room(lines: Poly) -> Poly:
        return restore(WORDS - LINE * lines)

    def smooth() -> tuple[list[list[Poly]], Poly] | None:
        try:
            needs, misses = planner.smooth(plan)
        except (UnboundedError, TooComplexError):
            return None
        return [list(map(room, each)) for each in needs], restore(misses)

    kept = tuple(_kept(unit, restore) for unit in plan.units) if told else ()
    when = _when(plan, planner) if told else ""
    return Alternative(when, tuple(map(room, plan.needs)), restore(plan.misses), smooth, told, kept)


def _kept(unit: Unit, restore: Callable[[Poly], Poly]) -> Kept:
    places = sorted({access.span.line for each in unit.references for access in each.accesses})
    loop = None if unit.loop is None else unit.loop.variable.partition("'")[0]
    return Kept(unit.name, tuple(places), loop, ZERO if unit.scratch else restore(unit.space), restore(unit.misses))


def _unknown(reason: str, algorithm: s.Algorithm) -> Cost:
    return Cost("io", "unknown", None, None, reason, algorithm.span)


def _when(plan: Plan, planner: Planner) -> str:
    """The least Z at which a plan fits, as a condition."""
    needs: list[Poly] = []
    for each in plan.needs:
        if not any(planner.facts.nonnegative(other - each) for other in needs):
            needs = [other for other in needs if not planner.facts.nonnegative(each - other)]
            needs.append(each)
    needs = list(map(planner.facts.restore, needs))
    if len(needs) == 1:
        return f"Z >= {_times_line(needs[0])}"
    return "Z >= max(" + ", ".join(_times_line(each) for each in needs) + ")"


def _times_line(lines: Poly) -> str:
    if lines.is_constant:
        return to_text(LINE * lines)
    return f"L*({to_text(lines)})"
