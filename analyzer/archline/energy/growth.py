"""Derive the growth of metrics and of terms of a model: between expressions in sizes, up to constant factors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from archline.energy.estimates import ModelOnMachine
from archline.energy.formulas import FormulaBounds, bound_formula, names_in
from archline.energy.quantities import CONSTANTS, QUANTITIES
from archline.expr.build import ONE, ZERO
from archline.expr.tree import substitute_names
from archline.growth.growths import (
    Growth,
    is_integer_literal,
    reduce_sum_by_order,
    simplify_growth,
    simplify_with_unit_constants,
)
from archline.growth.log_domain import Domain
from archline.language import syntax as s
from archline.language.diagnostics import ArchlineError
from archline.records import replace


def derive_growth(
    formula: s.Expr, metrics: Mapping[str, Growth], zero: Iterable[str] = (), *, coarse: bool = False
) -> Growth:
    """Return the growth of a formula of metrics; quantities of the machine are constants, those in `zero` are 0.

    If bounds are tight and a simpler expression is proved to be of the same order, that one is returned. With `coarse`,
    a term min(1, e) is bounded by 0 and 1, which has no effect where other terms dominate.
    """
    constants: dict[str, s.Expr] = dict.fromkeys((*QUANTITIES, *CONSTANTS), ONE)
    zeros = [*zero, *(name for name, growth in metrics.items() if growth.is_zero)]
    simplified = simplify_with_unit_constants(substitute_names(formula, {**constants, **dict.fromkeys(zeros, ZERO)}))
    if is_integer_literal(simplified, 0):
        return Growth(ZERO, ZERO)
    highest, lowest = _relax_differences(simplified, upper=True), _relax_differences(simplified, upper=False)
    used = names_in(simplified) & metrics.keys()
    facts = tuple(dict.fromkeys(fact for name in sorted(used) for fact in metrics[name].facts))
    growths = [metrics[name] for name in sorted(used)]
    if any(growth.lower is None or growth.upper is None for growth in growths):
        return Growth(None, None, facts)
    metric_bounds = {name: require_both_bounds(metrics[name]) for name in used}
    bounds = FormulaBounds(bound_formula(lowest, metric_bounds).lower, bound_formula(highest, metric_bounds).upper)
    try:
        domain = Domain(facts)
    except ArchlineError:
        return Growth(bounds.lower, bounds.upper, facts)
    lower = reduce_sum_by_order(bounds.lower, domain, ZERO if coarse else None) or simplify_with_unit_constants(
        bounds.lower
    )
    upper = reduce_sum_by_order(bounds.upper, domain, ONE if coarse else None) or simplify_with_unit_constants(
        bounds.upper
    )
    candidates = dict.fromkeys((*_collect_bounds(growths), *_sum_pairs(growths), upper, lower))
    simplest = simplify_growth(Growth(lower, upper, facts), candidates, domain)
    vacuous = not simplest.tight and simplest.lower is not None and is_integer_literal(simplest.lower, 0)
    return replace(simplest, lower=None) if vacuous else simplest


def _relax_differences(expr: s.Expr, *, upper: bool) -> s.Expr:
    """Relax a - b, which is at least 0: to a for an upper bound, to 0 for a lower one; growth cannot subtract."""
    match expr:
        case s.Binary(op="-", left=left):
            return _relax_differences(left, upper=upper) if upper else ZERO
        case s.Binary(op=op, left=left, right=right):
            first, second = (_relax_differences(side, upper=upper) for side in (left, right))
            return simplify_with_unit_constants(s.Binary(op, first, second, span=expr.span))
        case s.Call(function=function, arguments=arguments):
            without = tuple(_relax_differences(argument, upper=upper) for argument in arguments)
            return simplify_with_unit_constants(s.Call(function, without, span=expr.span))
        case _:
            return expr


def require_both_bounds(growth: Growth) -> FormulaBounds[s.Expr]:
    """Return the bounds of a growth that has both a lower and an upper one."""
    assert growth.lower is not None
    assert growth.upper is not None
    return FormulaBounds(growth.lower, growth.lower if growth.tight else growth.upper)


def _collect_bounds(growths: Iterable[Growth]) -> list[s.Expr]:
    return [end for growth in growths for end in (growth.upper, growth.lower) if end is not None]


def _sum_pairs(growths: list[Growth]) -> list[s.Expr]:
    ends = [growth.upper for growth in growths if growth.upper is not None]
    return [
        s.Binary("+", left, right, span=left.span) for index, left in enumerate(ends) for right in ends[index + 1 :]
    ]


def derive_term_growths(applied: ModelOnMachine, metrics: Mapping[str, Growth]) -> dict[str, Growth]:
    """Return the growth of each energy term, and of the energy, on a machine."""
    zero = [name for name, value in applied.machine.values.items() if value == 0]
    names = list(applied.model.energy)
    growths = {name: derive_growth(applied.formula(name), metrics, zero) for name in names}
    total = applied.replace_unknown_names(applied.model.expand_formula(applied.model.expression))
    return {**growths, "energy": derive_growth(total, metrics, zero, coarse=True)}
