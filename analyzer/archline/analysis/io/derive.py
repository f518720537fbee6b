"""The io of an algorithm as a cost: bounds at sizes, Z and L, and the regimes of Z that they come from."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from fractions import Fraction

from archline.algebra.polynomial import ZERO, Poly, TooComplexError, budget
from archline.algebra.printing import to_text
from archline.analysis.costs import Alternative, Cost
from archline.analysis.io.accesses import accesses
from archline.analysis.io.footprint import LINE, references
from archline.analysis.io.plans import Plan, Planner
from archline.analysis.io.product import UnboundedError
from archline.analysis.io.program import Program, UntracedError
from archline.analysis.io.samples import samples
from archline.analysis.io.upper import Upper
from archline.language import syntax as s
from archline.language.model import Module

MAX_TERM_PRODUCTS = 400_000
MAX_SOLVED = 256
WORDS = Poly.symbol("Z")

_solved: OrderedDict[tuple[Module, s.Algorithm], Cost] = OrderedDict()


def io_cost(module: Module, algorithm: s.Algorithm) -> Cost:
    """Lines fetched by one call under optimal replacement: bounds that hold at every size, L >= 1 and Z >= L.

    Unknown with a reason where accesses cannot be followed. Never raises for a program that checks.
    """
    key = module, algorithm
    if key not in _solved:
        _solved[key] = _derive(module, algorithm)
        if len(_solved) > MAX_SOLVED:
            _solved.popitem(last=False)
    return _solved[key]


def _derive(module: Module, algorithm: s.Algorithm) -> Cost:
    try:
        with budget(MAX_TERM_PRODUCTS):
            scope, nodes = Program(module).trace(algorithm)
            found = references(accesses(nodes), scope.facts)
            if not found:
                return Cost("io", "exact", ZERO, ZERO, ends=lambda _: (Fraction(0), Fraction(0)))
            planner = Planner(found, scope.facts, list(samples(algorithm, scope)))
            upper = Upper(planner.plans(), scope.facts)
    except UntracedError as problem:
        return Cost("io", "unknown", None, None, problem.reason, problem.span)
    except UnboundedError:
        return _unknown("no closed form was found for the lines that are touched", algorithm)
    except TooComplexError as problem:
        return _unknown(str(problem), algorithm)
    except RecursionError:
        return _unknown("its closed form is nested too deeply to derive", algorithm)
    if not upper.plans:
        return _unknown("no closed form was found for the lines that are touched", algorithm)

    def ends(point: Mapping[str, int | Fraction]) -> tuple[Fraction, Fraction]:
        return Fraction(0), Fraction(upper.at(point))

    told = planner.told(upper.plans)
    others = [plan for plan in upper.plans if plan not in told]
    alternatives = tuple(_alternative(plan, planner, plan in told) for plan in (*others, *told))
    some = scope.facts.with_nonnegative(WORDS - LINE)
    known = [each for each in alternatives if each.told and all(map(some.nonnegative, each.needs))]
    best = known[-1] if known else alternatives[-1]
    return Cost("io", "bounded", ZERO, best.upper, alternatives=alternatives, ends=ends)


def _alternative(plan: Plan, planner: Planner, told: bool) -> Alternative:
    restore = planner.facts.restore

    def room(lines: Poly) -> Poly:
        return restore(WORDS - LINE * lines)

    def smooth() -> tuple[tuple[Poly, ...], Poly] | None:
        try:
            needs, misses = planner.smooth(plan)
        except (UnboundedError, TooComplexError):
            return None
        return tuple(map(room, needs)), restore(misses)

    kept = tuple(
        (unit.name, len(unit.references), "" if unit.loop is None else unit.loop.variable) for unit in plan.units
    )
    when = _when(plan, planner) if told else ""
    return Alternative(when, tuple(map(room, plan.needs)), restore(plan.misses), smooth, told, kept)


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
