"""Energies at many sizes and machine parameters at once, in floating point."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from archline.algebra.effort import late
from archline.analysis.cost import Cost, whole_ends_at
from archline.costs import rules
from archline.costs.arrays import upper_of
from archline.costs.sizes import Number, check_known, from_python
from archline.energy.caches import DEFAULT_CACHE, cache_of
from archline.energy.estimates import ModelOnMachine
from archline.energy.formulas import FormulaBounds, bounds_of, names_in
from archline.energy.machines import Machine, parameter
from archline.energy.optimise.points import ExactValues
from archline.energy.quantities import METRICS, QUANTITIES
from archline.energy.results import EnergyResult
from archline.energy.subjects import AlgorithmSubject, Subject, refuse_levels
from archline.energy.targets import SIZE
from archline.expr import build as b
from archline.expr.arrays import compiled
from archline.expr.intervals import EvaluationError
from archline.expr.tree import substituted
from archline.language import syntax as s
from archline.language.diagnostics import did_you_mean, error
from archline.language.metrics import OF_CACHE

MOST_SHARPENED = 20_000
"""Of more points bounds from below are those of closed forms alone."""
LEAST = "least "
"""What the names of lower bounds on metrics begin with."""


def upper_at(
    subject: Subject, result: EnergyResult, sizes: Mapping[str, Any], parameters: Mapping[str, Any]
) -> dict[str, NDArray[Any]]:
    """Upper bounds on time, energy and its terms; formulas are substituted, metrics of algorithms evaluated first.

    Of an amount that lowers a term (work in ICE's memory time) the lower bound is taken. Raises ArchlineError (AL401 to
    AL407, AL465).
    """
    refuse_levels(result.model, "`upper_at`")
    for name in parameters:
        if name not in QUANTITIES:
            raise error(rules.UNKNOWN_SIZE, f"there is no quantity `{name}`", hint=did_you_mean(name, QUANTITIES))
    metrics = frozenset({*subject.metrics, "Z", "L"})
    machine = result.machine
    given = {name: parameter(name, "1") for name in parameters if name not in machine.quantities}
    on = ModelOnMachine(result.model, replace(machine, quantities={**machine.quantities, **given}), metrics)
    formulas = {name: on.formula(name) for name in ("time", *result.model.energy)}
    formulas["energy"] = on.complete(result.model.expanded(result.model.expression))
    formulas = {name: following(each, machine, parameters) for name, each in formulas.items()}
    known = {*machine.values, *parameters}
    formulas = {name: each for name, each in formulas.items() if not (names_in(each) & QUANTITIES.keys()) - known}
    values: dict[str, Any] = {**{name: float(each) for name, each in machine.values.items()}, **parameters}
    formulas = {name: each.upper for name, each in in_names(subject, formulas).items()}
    usual = cache_of(machine) or DEFAULT_CACHE
    words = {name: sizes.get(name, getattr(usual, name)) for name in ("Z", "L")}
    if isinstance(subject, AlgorithmSubject):
        own = {name: each for name, each in sizes.items() if name not in words}
        for name in frozenset().union(*map(names_in, formulas.values())) - words.keys():
            metric = name.removeprefix(LEAST)
            if metric in METRICS:
                cost = subject.cost(metric)
                lower = replace(cost, upper=cost.lower, bounds=(), at_most=())
                values[name] = _upper(subject, cost if name == metric else lower, own, words)
        values |= words
    else:
        check_known(from_python(sizes), [subject.names])
        values |= {**words, **{f"{SIZE}{name}": each for name, each in {**words, **sizes}.items()}}
    run = compiled(formulas)
    missing = [name for name in run.names if name not in values]
    if missing:
        raise error(rules.MISSING_SIZE, f"no value is given for `{missing[0].removeprefix(SIZE)}`")
    return run(values)


def following(expr: s.Expr, machine: Machine, parameters: Collection[str]) -> s.Expr:
    """A formula with quantities that the machine computes from others as these formulas, if parameters change them."""
    rules = {name: each.formula for name, each in machine.quantities.items() if each.formula and name not in parameters}
    while parameters and (held := names_in(expr) & rules.keys()):
        expr = substituted(expr, {name: rules[name] for name in held})
    return expr


def in_names(subject: Subject, formulas: Mapping[str, s.Expr]) -> dict[str, FormulaBounds[s.Expr]]:
    """Bounds on formulas of metrics and quantities, in names that have numbers at points.

    Of an algorithm these are its metrics, "flops", and "least flops" for a lower bound that is another; of formulas
    typed by hand their sizes, "size n", which may have the name of a quantity.
    """
    if isinstance(subject, AlgorithmSubject):
        held = (frozenset().union(*map(names_in, formulas.values())) & METRICS.keys()) - {"Z", "L"}
        inexact = [name for name in held if not subject.cost(name).exact]
        ends = {name: FormulaBounds(b.name(f"{LEAST}{name}"), b.name(name)) for name in inexact}
        return {name: bounds_of(each, ends) for name, each in formulas.items()}
    own_names = {name: b.name(f"{SIZE}{name}") for name in subject.target.sizes}
    targets = {name: substituted(each, own_names) for name, each in subject.target.formulas.items()}
    found = {name: substituted(each, targets) for name, each in formulas.items()}
    return {name: FormulaBounds(each, each) for name, each in found.items()}


def _upper(subject: AlgorithmSubject, cost: Cost, sizes: Mapping[str, Any], words: Mapping[str, Any]) -> Any:
    return upper_of(subject.report, cost, {**sizes, **words} if cost.metric in OF_CACHE else sizes)


def numbers_of(known: ExactValues) -> dict[str, float]:
    """Numbers for names of formulas."""
    values = {name: float(each.upper) for name, each in known.values.items()}
    return values | {f"{LEAST}{name}": float(each.lower) for name, each in known.values.items()}


def exact_number(value: float) -> Number:
    """The exact value of a number of floating point, whole where it is."""
    found = Fraction(value)
    return int(found) if found.denominator == 1 else found


def is_whole(value: Any) -> bool:
    """Whether values are whole numbers."""
    return np.ndim(value) > 0 or value == int(value)


def as_floats(value: Any) -> Any:
    """Values in floating point."""
    return value.astype(np.float64) if isinstance(value, np.ndarray) else float(value)


def sharpen_one_by_one(bounds: NDArray[Any], cost: Cost, points: Mapping[str, Any]) -> None:
    """Raise bounds from below at points of whole numbers to those by windows, as far as time allows."""
    for place in range(len(bounds) if cost.least_at is not None and len(bounds) <= MOST_SHARPENED else 0):
        if place % 64 == 0 and late():
            break
        with suppress(EvaluationError):
            assert cost.least_at is not None
            sharper = cost.least_at({name: int(values[place]) for name, values in points.items()})
            bounds[place] = max(bounds[place], float(sharper))


def ends_one_by_one(cost: Any, sizes: Mapping[str, Any], length: int, lower: bool) -> NDArray[Any]:
    """An end of a cost at points of which some value is no whole number; not a number where it has none."""
    found = np.full(length, np.nan)
    for place in range(length):
        point = {name: Fraction(int(each[place])) if np.ndim(each) else each for name, each in sizes.items()}
        try:
            found[place] = whole_ends_at(cost, point)[0 if lower else 1]
        except EvaluationError:
            continue
    return found
