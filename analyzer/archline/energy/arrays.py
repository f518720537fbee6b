"""Energies at many sizes and machine parameters are computed together, in floating point."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from archline.algebra.effort import is_out_of_time
from archline.analysis.cost import Cost, enclose_count
from archline.costs import rules
from archline.costs.arrays import evaluate_upper_bound
from archline.costs.sizes import convert_python_values, require_known_names
from archline.energy.caches import DEFAULT_CACHE, select_machine_cache
from archline.energy.estimates import ModelOnMachine
from archline.energy.formulas import FormulaBounds, bound_formula, names_in
from archline.energy.machines import Machine, read_parameter
from archline.energy.optimise.points import ExactValues
from archline.energy.quantities import METRICS, QUANTITIES
from archline.energy.results import EnergyResult
from archline.energy.subjects import AlgorithmSubject, Subject, require_one_cache
from archline.energy.targets import SIZE_PREFIX
from archline.expr import build as b
from archline.expr.arrays import compile_formulas
from archline.expr.intervals import EvaluationError, Number
from archline.expr.tree import substitute_names
from archline.language import syntax as s
from archline.language.diagnostics import error, suggest_closest
from archline.language.metrics import OF_CACHE

MAX_SHARPENED = 20_000
"""For more points than this, lower bounds are those of closed forms alone."""
LOWER_PREFIX = "least "
"""The prefix of the names of lower bounds on metrics."""


def upper_at(
    subject: Subject, result: EnergyResult, sizes: Mapping[str, Any], parameters: Mapping[str, Any]
) -> dict[str, NDArray[Any]]:
    """Return upper bounds on time, energy and its terms at arrays of sizes and of machine parameters.

    Formulas typed by hand are substituted in those of the model; metrics of algorithms are evaluated first. An amount
    that lowers a term (work in ICE's memory time) enters by its lower bound. Raises ArchlineError (AL401 to AL407,
    AL465).
    """
    require_one_cache(result.model, "`upper_at`")
    for name in parameters:
        if name not in QUANTITIES:
            raise error(rules.UNKNOWN_SIZE, f"there is no quantity `{name}`", hint=suggest_closest(name, QUANTITIES))
    metrics = frozenset({*subject.metrics, "Z", "L"})
    machine = result.machine
    given = {name: read_parameter(name, "1") for name in parameters if name not in machine.quantities}
    on = ModelOnMachine(result.model, replace(machine, quantities={**machine.quantities, **given}), metrics)
    formulas = {name: on.formula(name) for name in ("time", *result.model.energy)}
    formulas["energy"] = on.replace_unknown_names(result.model.expand_formula(result.model.expression))
    formulas = {name: expand_quantities(expr, machine, parameters) for name, expr in formulas.items()}
    available = {*machine.values, *parameters}
    formulas = {name: expr for name, expr in formulas.items() if not (names_in(expr) & QUANTITIES.keys()) - available}
    values: dict[str, Any] = {**{name: float(value) for name, value in machine.values.items()}, **parameters}
    formulas = {name: bound.upper for name, bound in bound_formulas(subject, formulas).items()}
    default_cache = select_machine_cache(machine) or DEFAULT_CACHE
    words = {name: sizes.get(name, getattr(default_cache, name)) for name in ("Z", "L")}
    if isinstance(subject, AlgorithmSubject):
        subject_sizes = {name: value for name, value in sizes.items() if name not in words}
        for name in frozenset().union(*map(names_in, formulas.values())) - words.keys():
            metric = name.removeprefix(LOWER_PREFIX)
            if metric in METRICS:
                cost = subject.cost(metric)
                lower = replace(cost, upper=cost.lower, bounds=(), at_most=())
                values[name] = _evaluate_upper(subject, cost if name == metric else lower, subject_sizes, words)
        values |= words
    else:
        require_known_names(convert_python_values(sizes), [subject.names])
        values |= {**words, **{f"{SIZE_PREFIX}{name}": value for name, value in {**words, **sizes}.items()}}
    evaluate_all = compile_formulas(formulas)
    missing = [name for name in evaluate_all.names if name not in values]
    if missing:
        raise error(rules.MISSING_SIZE, f"no value is given for `{missing[0].removeprefix(SIZE_PREFIX)}`")
    return evaluate_all(values)


def expand_quantities(expr: s.Expr, machine: Machine, parameters: Collection[str]) -> s.Expr:
    """Replace quantities that the machine computes from other ones by their formulas, if any `parameters` vary."""
    rules = {name: item.formula for name, item in machine.quantities.items() if item.formula and name not in parameters}
    while parameters and (computed := names_in(expr) & rules.keys()):
        expr = substitute_names(expr, {name: rules[name] for name in computed})
    return expr


def bound_formulas(subject: Subject, formulas: Mapping[str, s.Expr]) -> dict[str, FormulaBounds[s.Expr]]:
    """Return bounds on formulas of metrics and quantities, in names that have a number at each point.

    For an algorithm the names are its metrics, "flops", and "least flops" for a lower bound that differs; for formulas
    typed by hand their sizes, "size n", which may have the name of a quantity.
    """
    if isinstance(subject, AlgorithmSubject):
        metrics = (frozenset().union(*map(names_in, formulas.values())) & METRICS.keys()) - {"Z", "L"}
        inexact = [name for name in metrics if not subject.cost(name).exact]
        bounds = {name: FormulaBounds(b.name(f"{LOWER_PREFIX}{name}"), b.name(name)) for name in inexact}
        return {name: bound_formula(formula, bounds) for name, formula in formulas.items()}
    size_names = {name: b.name(f"{SIZE_PREFIX}{name}") for name in subject.target.sizes}
    targets = {name: substitute_names(formula, size_names) for name, formula in subject.target.formulas.items()}
    expanded = {name: substitute_names(formula, targets) for name, formula in formulas.items()}
    return {name: FormulaBounds(formula, formula) for name, formula in expanded.items()}


def _evaluate_upper(subject: AlgorithmSubject, cost: Cost, sizes: Mapping[str, Any], words: Mapping[str, Any]) -> Any:
    return evaluate_upper_bound(subject.report, cost, {**sizes, **words} if cost.metric in OF_CACHE else sizes)


def convert_to_floats(known: ExactValues) -> dict[str, float]:
    """Return the values at a point as floats: upper bounds by name, lower bounds by LOWER_PREFIX and name."""
    values = {name: float(interval.upper) for name, interval in known.values.items()}
    return values | {f"{LOWER_PREFIX}{name}": float(interval.lower) for name, interval in known.values.items()}


def make_exact_number(value: float) -> Number:
    """Return the exact value of a floating-point number, as an integer if it is one."""
    exact = Fraction(value)
    return int(exact) if exact.denominator == 1 else exact


def is_integer(value: Any) -> bool:
    """Whether a number is an integer; True for every array, since only arrays of integers are given."""
    return np.ndim(value) > 0 or value == int(value)


def convert_to_float64(value: Any) -> Any:
    """Return a number, or an array, in floating point."""
    return value.astype(np.float64) if isinstance(value, np.ndarray) else float(value)


def sharpen_lower_bounds(bounds: NDArray[Any], cost: Cost, points: Mapping[str, Any]) -> None:
    """Replace lower bounds on a cost by the sharper ones for each integer point, in place, until time runs out."""
    for index in range(len(bounds) if cost.least_at is not None and len(bounds) <= MAX_SHARPENED else 0):
        if index % 64 == 0 and is_out_of_time():
            break
        with suppress(EvaluationError):
            assert cost.least_at is not None
            sharper = cost.least_at({name: int(values[index]) for name, values in points.items()})
            bounds[index] = max(bounds[index], float(sharper))


def evaluate_bounds(cost: Any, sizes: Mapping[str, Any], length: int, lower: bool) -> NDArray[Any]:
    """Return the `lower` or the upper bound of a cost at points with fractional sizes; NaN where it has none."""
    bounds = np.full(length, np.nan)
    for index in range(length):
        point = {name: Fraction(int(value[index])) if np.ndim(value) else value for name, value in sizes.items()}
        try:
            bounds[index] = enclose_count(cost, point).ends[0 if lower else 1]
        except EvaluationError:
            continue
    return bounds
