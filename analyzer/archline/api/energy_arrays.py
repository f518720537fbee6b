"""Energies at many sizes and machine parameters at once, in floating point."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from numpy.typing import NDArray

from archline.analysis.cost import Cost
from archline.api import rules
from archline.api.caches import DEFAULT_CACHE
from archline.api.costs import Metric
from archline.api.settings import check_known, unplaced
from archline.api.subjects import AlgorithmSubject, Subject
from archline.energy.arrays import compiled
from archline.energy.formulas import FormulaBounds, bounds_of, names_in, parsed
from archline.energy.machines import Machine, parameter
from archline.energy.model import Applied
from archline.energy.quantities import METRICS, QUANTITIES
from archline.energy.results import EnergyResult
from archline.language import syntax as s
from archline.language.diagnostics import did_you_mean, error
from archline.language.substitution import substituted

NAME = s.Name("", span=parsed("n").span)


def upper_at(
    subject: Subject, result: EnergyResult, sizes: Mapping[str, Any], parameters: Mapping[str, Any]
) -> dict[str, NDArray[Any]]:
    """Upper bounds on time, energy and its terms; formulas are substituted, metrics of algorithms evaluated first.

    Of an amount that lowers a term (work in ICE's memory time) the lower bound is taken. Raises ArchlineError (AL401 to
    AL407, AL465).
    """
    for name in parameters:
        if name not in QUANTITIES:
            raise error(rules.UNKNOWN_SIZE, f"there is no quantity `{name}`", hint=did_you_mean(name, QUANTITIES))
    metrics = frozenset({*subject.metrics, "Z", "L"})
    machine = result.machine
    given = {name: parameter(name, "1") for name in parameters if name not in machine.quantities}
    on = Applied(result.model, replace(machine, quantities={**machine.quantities, **given}), metrics)
    formulas = {name: on.formula(name) for name in ("time", *result.model.energy)}
    formulas["energy"] = on.complete(result.model.expanded(result.model.expression))
    formulas = {name: _following(each, machine, parameters) for name, each in formulas.items()}
    known = {*machine.values, *parameters}
    formulas = {name: each for name, each in formulas.items() if not (names_in(each) & QUANTITIES.keys()) - known}
    values: dict[str, Any] = {**{name: float(each) for name, each in machine.values.items()}, **parameters}
    if isinstance(subject, AlgorithmSubject):
        words = {name: sizes.get(name, getattr(DEFAULT_CACHE, name)) for name in ("Z", "L")}
        own = {name: each for name, each in sizes.items() if name not in words}
        held = (frozenset().union(*map(names_in, formulas.values())) & METRICS.keys()) - words.keys()
        costs = {name: subject.cost(name) for name in held}
        ends = {name: FormulaBounds(_least(name), parsed(name)) for name, cost in costs.items() if not cost.exact}
        formulas = {name: bounds_of(each, ends).upper for name, each in formulas.items()}
        values |= words
        for name in frozenset().union(*map(names_in, formulas.values())) & costs.keys():
            values[name] = _upper(subject, costs[name], own, words)
        for name in ends:
            if any(_least(name).id in names_in(formula) for formula in formulas.values()):
                lower = replace(costs[name], upper=costs[name].lower, alternatives=())
                values[_least(name).id] = _upper(subject, lower, own, words)
    else:
        check_known(unplaced(sizes), [subject.names])
        # A size may have the name of one of the machine's quantities.
        own_names = {name: replace(NAME, id=f"size {name}") for name in subject.target.sizes}
        targets = {name: substituted(each, own_names) for name, each in subject.target.formulas.items()}
        formulas = {name: substituted(each, targets) for name, each in formulas.items()}
        given_sizes = {"Z": DEFAULT_CACHE.Z, "L": DEFAULT_CACHE.L, **sizes}
        values |= {name: given_sizes[name] for name in ("Z", "L")}
        values |= {f"size {name}": each for name, each in given_sizes.items()}
    run = compiled(formulas)
    missing = [name for name in run.names if name not in values]
    if missing:
        raise error(rules.MISSING_SIZE, f"no value is given for `{missing[0].removeprefix('size ')}`")
    return run(values)


def _following(expr: s.Expr, machine: Machine, parameters: Mapping[str, Any]) -> s.Expr:
    """A formula with quantities that the machine computes from others as these formulas, if parameters change them."""
    rules = {name: each.formula for name, each in machine.quantities.items() if each.formula and name not in parameters}
    while parameters and (held := names_in(expr) & rules.keys()):
        expr = substituted(expr, {name: rules[name] for name in held})
    return expr


def _least(metric: str) -> s.Name:
    """The name of a metric's lower bound."""
    return replace(NAME, id=f"least {metric}")


def _upper(subject: AlgorithmSubject, cost: Cost, sizes: Mapping[str, Any], words: Mapping[str, Any]) -> Any:
    return Metric(subject.report, cost).upper_at({**sizes, **words} if cost.metric == "io" else sizes)
