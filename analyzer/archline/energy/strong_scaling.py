"""Derive the strong scaling of an algorithm on a grid, or of formulas that contain P."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import pairwise

from archline.analysis.analyse import derive
from archline.cost_growth.pieces import build_growth_pieces
from archline.costs import rules
from archline.costs.algorithms import AlgorithmUnderFacts
from archline.costs.sizes import Given, read_settings
from archline.energy.answers import derive_energies, write_growth
from archline.energy.caches import Settings
from archline.energy.estimates import ModelOnMachine
from archline.energy.fixed_memory import FixedMemory, derive_fixed_memory, make_unknown
from archline.energy.fixed_memory import GridSubject as Formulas
from archline.energy.formulas import FormulaBounds, names_in
from archline.energy.growth import derive_growth, require_both_bounds
from archline.energy.machines import Machine
from archline.energy.model import Model
from archline.energy.models import find_model as model_of
from archline.energy.quantities import METRICS
from archline.energy.scaling import PERFECT_FACTOR, ScaleStep, Scaling
from archline.energy.subjects import AlgorithmSubject, Subject, choose_model
from archline.energy.sweeps import SizeSweep
from archline.expr import build as b
from archline.expr.text import format_fact
from archline.growth.growths import Growth
from archline.ir.declarations import declared_scope
from archline.language import syntax as s
from archline.language.conditions import SIZE_RULES
from archline.language.diagnostics import ArchlineError, error
from archline.language.extra_facts import add_where_facts
from archline.language.substitution import express_facts_in_sizes


def derive_scaling(
    chosen: Subject,
    machine: Machine,
    vary: Sequence[str],
    at: Given | str | None = None,
    model: str | None = None,
    factor: Fraction = PERFECT_FACTOR,
    settings: Settings | None = None,
) -> Scaling:
    """Return the scaling of a subject while sizes vary: `["c=1..8"]`, or several together, `["P=16..64", "c=1..4"]`.

    Steps whose sizes break a fact of the `where` have that reason and no result. Raises ArchlineError as `energy` does;
    AL411 if the sweeps differ in length, the model has no number of processors, or that does not grow along the sweep.
    """
    point = read_settings(at, "--at") if isinstance(at, str) else at or {}
    fitted = choose_model(chosen, None if model is None else model_of(model), model_of("linear"))
    if fitted.processors != "P":
        raise error(rules.OPTIONS_CLASH, f"model `{fitted.name}` does not count processors", hint="use model `linear`")
    sweeps = [SizeSweep.read(text) for text in vary]
    if len({len(sweep.points) for sweep in sweeps}) > 1:
        lengths = ", ".join(f"{sweep.variable} has {len(sweep.points)}" for sweep in sweeps)
        raise error(rules.OPTIONS_CLASH, f"sizes that vary together must have the same number of values: {lengths}")
    steps = tuple(_iterate_scale_points(chosen, machine, fitted, point, sweeps, settings or Settings()))
    counts = [step.processors.lower for step in steps if step.result is not None]
    if any(after <= before for before, after in pairwise(counts)):
        hint = "vary the sizes that determine the grid, or P"
        raise error(rules.OPTIONS_CLASH, "the number of processors does not grow along the sweep", hint=hint)
    varied = tuple(dict.fromkeys(name for sweep in sweeps for name in sweep.names))
    growths = _derive_growths(chosen, machine, fitted, varied)
    fixed = _derive_fixed_memory(chosen, machine, fitted)
    return Scaling(chosen.name, fitted, varied, factor, steps, growths, fixed, (*chosen.needed, *machine.assumptions))


def _iterate_scale_points(
    chosen: Subject, machine: Machine, model: Model, at: Given, sweeps: Sequence[SizeSweep], settings: Settings
) -> Iterator[ScaleStep]:
    failed: list[ArchlineError] = []
    points = len(sweeps[0].points)
    for index in range(points):
        sizes = {name: sweep.points[index] for sweep in sweeps for name in sweep.names}
        point = at
        for sweep in sweeps:
            point = sweep.combine_with(point)[index]
        try:
            (result,) = derive_energies([chosen], [machine], model, point, settings)
        except ArchlineError as problem:
            if problem.diagnostics[0].rule not in (rules.FACT_FAILS, *SIZE_RULES):
                raise
            failed.append(problem)
            if len(failed) == points:
                raise failed[0] from None
            yield ScaleStep(sizes, None, problem.diagnostics[0].message.removesuffix(" at these sizes"))
            continue
        if "P" not in result.inputs:
            message = f"`{chosen.name}` does not define its number of processors"
            raise error(rules.OPTIONS_CLASH, message, hint="use an algorithm on a grid, or formulas that contain P")
        yield ScaleStep(sizes, result)


def _derive_growths(
    chosen: Subject, machine: Machine, model: Model, varied: Sequence[str]
) -> dict[str, tuple[str, str]]:
    """Return for each term of the time the growth of P times the term, and how it depends on the varied sizes."""
    on = ModelOnMachine(model, machine, frozenset(chosen.metrics))
    zero = [name for name, value in machine.values.items() if value == 0]
    texts: dict[str, tuple[str, str]] = {}
    growths: dict[str, Growth] = {}
    sizes = chosen.express_in_sizes(everywhere=True)
    for name, text in model.sides.items():
        times = on.replace_unknown_names(model.expand_formula(f"P*({text})"))
        growths |= {item: sizes.growth(item) for item in names_in(times) & METRICS.keys() if item not in growths}
        growth = derive_growth(times, growths, zero)
        texts[name] = (write_growth(growth, sizes) or "unknown", _describe_dependence(growth, varied))
    return texts


def _describe_dependence(growth: Growth, varied: Sequence[str]) -> str:
    if growth.upper is None:
        return ""
    contained = [name for name in varied if name in names_in(growth.upper)]
    if not contained:
        return "scales perfectly"
    return f"{'depends' if growth.tight else 'may depend'} on {', '.join(contained)}"


def _derive_fixed_memory(chosen: Subject, machine: Machine, model: Model) -> FixedMemory | None:
    """Return the growth of the energy in P at constant memory per processor; None unless on a grid of one level."""
    if not isinstance(chosen, AlgorithmSubject) or not chosen.on_grid or model.inputs != model_of("linear").inputs:
        return None
    algorithm = chosen.algorithm
    on, best = ModelOnMachine(model, machine, frozenset(chosen.metrics)), None
    for facts in _iterate_general_facts(algorithm.node):
        try:
            derived = _derive_from_costs(algorithm, facts, on)
        except ArchlineError:
            # No sizes satisfy these facts.
            continue
        if best is None or derived.growth is not None:
            best = derived
        if derived.growth is not None and all(term.upper is not None for term in derived.terms):
            return derived
    return best


def _iterate_general_facts(node: s.Algorithm) -> Iterator[tuple[s.Fact, ...]]:
    """Yield facts that exclude the smallest grids: all axes are at least 2, then also quotients by their divisors."""
    names = dict.fromkeys(name for axis in node.grid for name in sorted(s.find_names(axis.extent)))
    first = b.lower_bound_facts(names, 2)
    yield first
    divided = [fact for fact in node.where if isinstance(fact, s.Divides) and s.find_names(fact) <= {*names, "P"}]
    if divided:
        twice = (b.product([b.number(2), fact.divisor]) for fact in divided)
        yield (*first, *(b.binary(">=", fact.value, minimum) for fact, minimum in zip(divided, twice, strict=True)))


def _derive_from_costs(algorithm: AlgorithmUnderFacts, facts: tuple[s.Fact, ...], on: ModelOnMachine) -> FixedMemory:
    """Derive the growth of the energy at constant memory from the costs of an algorithm under further facts."""
    module, node = add_where_facts(algorithm.module, algorithm.node, facts)
    costs, scope_facts = derive(module, node), declared_scope(module, node).facts
    facts_of_sizes = express_facts_in_sizes(node)
    bounds: dict[str, FormulaBounds[s.Expr]] = {"P": FormulaBounds(b.name("P"), b.name("P"))}
    for name in ("flops", "words", "messages", "memory"):
        cost = costs.metrics[name]
        if cost.lower is None or cost.upper is None:
            return make_unknown(f"the {name} of `{node.name}` is unknown: {cost.reason}")
        (piece,) = build_growth_pieces(costs, cost, facts_of_sizes, scope_facts)
        bounds[name] = require_both_bounds(piece)
    extents = tuple(axis.extent for axis in node.grid)
    return derive_fixed_memory(Formulas(bounds, extents, facts_of_sizes, tuple(map(format_fact, facts))), on)
