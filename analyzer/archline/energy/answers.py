"""Derive the energy, time and power of algorithms and of formulas, on machines, by models: at sizes or in symbols."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction

from archline.algebra.polynomial import ZERO
from archline.costs import rules
from archline.costs.communication import describe_replication
from archline.costs.sizes import Given, require_known_names
from archline.energy.caches import CACHE_QUANTITIES, Settings, make_levels_error
from archline.energy.estimates import TIME_DEPENDENT, Estimate, ModelOnMachine, check_amounts, choose_default_model
from archline.energy.formulas import FormulaBounds, bound_formula, names_in, parse_formula
from archline.energy.growth import derive_term_growths
from archline.energy.in_sizes import CostsInSizes
from archline.energy.machines import GIVEN_KIND, Machine, read_parameter
from archline.energy.model import Model
from archline.energy.quantities import CONSTANTS, METRICS, PER_LEVEL, QUANTITIES
from archline.energy.results import CacheUsed, EnergyResult, SymbolicEnergy, SymbolicMetric, TextBounds
from archline.energy.rules import PARAMETER
from archline.energy.subjects import (
    DERIVED_NOTE,
    AlgorithmSubject,
    Basis,
    FormulaSubject,
    Subject,
    check_facts,
    choose_model,
    derive_energy_floor,
    has_only_numbers,
    select_values,
)
from archline.energy.units import format_si
from archline.expr import build as b
from archline.expr.build import ONE
from archline.expr.text import Formula, format_expression, join_phrases, join_with_mark
from archline.expr.tree import MAX_DEPTH, measure_nesting_depth, substitute_names
from archline.growth.growths import Growth, simplify_with_unit_constants
from archline.growth.short_forms import shorten_growth
from archline.language import syntax as s
from archline.language.diagnostics import error
from archline.language.metrics import OF_CACHE, ON_REQUEST
from archline.records import replace


def derive_energies(
    subjects: Sequence[Subject],
    machines: Sequence[Machine],
    model: Model | None,
    at: Given | None,
    settings: Settings,
    where: str | None = None,
    *,
    everywhere: bool = False,
) -> list[EnergyResult]:
    """Return the energy of each subject on each machine: at the sizes `at` that the subject has, or in symbols if None.

    Symbolic energies of algorithms on a grid assume several processors along each axis, or hold on all grids with
    `everywhere`. Raises ArchlineError as `energy` does.
    """
    check_facts(where, subjects)
    if at is None and settings.runs:
        raise error(rules.OPTIONS_CLASH, "a run requires sizes", hint="give --at")
    if at is not None:
        require_known_names(at, [subject.names for subject in subjects])
    results: list[EnergyResult] = []
    for subject in subjects:
        point = {} if at is None and has_only_numbers([subject]) else at
        for machine in machines:
            chosen = choose_model(
                subject,
                model,
                choose_default_model([machine], at_sizes=point is not None and settings.takes_levels(point)),
            )
            result = (
                derive_symbolic(subject, machine, chosen, everywhere=everywhere)
                if point is None
                else derive_numeric(subject, machine, chosen, select_values(point, subject), settings)
            )
            why = explain_model_choice(subject, chosen) if model is None else ()
            results.append(replace(result, notes=(*why, *result.notes)))
    return results


def explain_model_choice(chosen: Subject, model: Model, asked: str = "energy") -> tuple[str, ...]:
    """Return a note that says why a roofline is the default model; empty if it is the first choice for `asked`."""
    levels = "+" in model.name
    if (
        not model.name.startswith("roofline")
        or isinstance(chosen, FormulaSubject)
        or (asked in TIME_DEPENDENT and not levels)
    ):
        return ()
    why = "has levels of caches" if levels else "lacks quantities that ice needs"
    return (f"no model is given, and the machine {why}: {model.name} is used",)


def apply_to_subject(
    chosen: Subject, machine: Machine, model: Model, settings: Settings
) -> tuple[ModelOnMachine, Machine]:
    """Combine model and machine for a subject; return that and the machine with `settings.procs` processors.

    Raises ArchlineError for quantities that are missing, or given but not used.
    """
    metrics = {*chosen.metrics, "Z", "L"}
    if settings.procs is not None and settings.runs:
        raise error(rules.OPTIONS_CLASH, "runs count one processor; `--procs` is for derived inputs and formulas")
    if settings.procs is not None:
        machine = with_processor_count(chosen, machine, model, settings.procs)
    model = model.with_machine_formulas(machine)
    if not isinstance(chosen, FormulaSubject):
        metrics -= set(ON_REQUEST) - model.formula_names
    on_machine = ModelOnMachine(model, machine, frozenset(metrics))
    on_machine.require_inputs()
    # Notes compare the power, and the memory of a processor, with its limit.
    read = on_machine.quantities_read | {"power_rated"} | ({"memory_max"} if "memory" in model.inputs else set())
    own_cache = on_machine.model.levels or not settings.chosen_cache
    of_caches = CACHE_QUANTITIES - {"fast_memory"} if on_machine.model.levels else CACHE_QUANTITIES
    read |= of_caches if own_cache and on_machine.metrics_needed & {*OF_CACHE} else set()
    unread = [name for name, quantity in machine.quantities.items() if quantity.kind == GIVEN_KIND and name not in read]
    if unread:
        message = f"model `{model.name}` on machine `{machine.name}` does not use `{unread[0]}`"
        raise error(
            PARAMETER, message, hint=f"it reads {', '.join(f'`{name}`' for name in sorted(on_machine.quantities_read))}"
        )
    return on_machine, machine


def with_processor_count(chosen: Subject, machine: Machine, model: Model, procs: int) -> Machine:
    """Return the machine, with `procs` cores if the model counts cores.

    Raises ArchlineError (AL411) if neither the model nor the subject uses a number of processors.
    """
    takes_procs = model.processors == "span" if not isinstance(chosen, FormulaSubject) else "P" in chosen.names.needed
    if model.processors == "cores":
        # Each core keeps its rate, also if the machine defines that as its peak over its cores.
        rates = {name: replace(item, formula=None) for name, item in machine.quantities.items() if name == "core_rate"}
        return machine.with_parameters({**rates, "cores": read_parameter("cores", str(procs))})
    if isinstance(chosen, AlgorithmSubject) and chosen.on_grid:
        hint = "give its sizes: --at " + ",".join(f"{name}=..." for name in chosen.names.sizes)
        raise error(rules.OPTIONS_CLASH, f"the grid of `{chosen.name}` determines the number of processors", hint=hint)
    if not takes_procs:
        subject_kind = "formulas without P" if isinstance(chosen, FormulaSubject) else "shared-memory programs"
        hint = "its rates are those of the whole device" if not model.processors else "give formulas that contain P"
        raise error(rules.OPTIONS_CLASH, f"model `{model.name}` does not use `--procs` for {subject_kind}", hint=hint)
    return machine


def derive_numeric(
    chosen: Subject, machine: Machine, model: Model, at: Given, settings: Settings, more: frozenset[str] = frozenset()
) -> EnergyResult:
    """Return the energy at the sizes `at`, with `more` metrics among its inputs. Raises ArchlineError."""
    if (
        settings.procs is None
        and not isinstance(chosen, FormulaSubject)
        and "P" in at
        and "P" not in (*chosen.names.sizes, *chosen.names.indices)
        and not chosen.takes_processors
    ):
        if chosen.on_grid:
            at = _drop_processors(chosen, at, settings)
        elif model.processors in ("cores", "span"):
            settings = replace(settings, procs=_check_processors(at["P"][0]))
        else:
            message = f"model `{model.name}` does not use P for `{chosen.name}`, a shared-memory program"
            raise error(rules.OPTIONS_CLASH, message, hint="give P only for algorithms on grids, or use another model")
    on, machine = apply_to_subject(chosen, machine, model, settings)
    model = on.model
    settings = settings.with_machine_caches(machine, model.levels)
    if model.levels and (named := {"Z", "L"} & at.keys()):
        raise make_levels_error(machine, f"{sorted(named)[0]} is given")
    procs = settings.procs if model.processors == "span" else None
    more |= {name for name, (level, _) in PER_LEVEL.items() if level in model.levels}
    asked = settings if isinstance(chosen, FormulaSubject) else replace(settings, procs=procs)
    basis = chosen.basis(at, on.metrics_needed | {"flops", *_find_coarser_metrics(on), *more}, asked)
    amounts = basis.amounts()
    check_amounts(amounts)
    # The metrics that are known now: sizes may give P, which is not in a formula.
    on = ModelOnMachine(model, machine, amounts.keys())
    estimate = on.estimate(amounts)
    floor = derive_energy_floor(chosen.report, on, amounts, basis.at) if isinstance(chosen, AlgorithmSubject) else None
    return EnergyResult(
        chosen.name, machine, model, basis.at, basis.inputs, basis.cache, _describe_sources(on, basis), estimate,
        elasticities=on.derive_elasticities(estimate), processors=settings.procs, converted=on.converted,
        notes=tuple(iterate_answer_notes(chosen, estimate, basis.cache)), floor=floor,
    )  # fmt: skip


def _describe_sources(on: ModelOnMachine, basis: Basis) -> str:
    """Describe how the numbers were obtained, and the assumptions on the word size that they depend on."""
    of_machine = basis.cache is not None and basis.cache.of_machine
    assumed = on.machine.assumptions if of_machine or "word" in on.quantities_read else ()
    return "; ".join((basis.data, *(f"assuming {assumption}" for assumption in assumed)))


def _drop_processors(chosen: AlgorithmSubject, at: Given, settings: Settings) -> Given:
    """Drop P from sizes that determine the grid. Raises ArchlineError (AL411) if the grid has another P."""
    rest = {name: value for name, value in at.items() if name != "P"}
    asked, number = _check_processors(at["P"][0]), chosen.processors(rest, settings.option)
    if number != asked:
        product = chosen.report.write(chosen.cost("P").upper or ZERO)
        message = f"P is {asked}, but the grid of `{chosen.name}` has {product} = {number} processors at these sizes"
        raise error(rules.OPTIONS_CLASH, message, hint=f"give sizes with {product} = {asked}, or no P")
    return rest


def _check_processors(value: object) -> int:
    if not isinstance(value, int) or value < 1:
        raise error(rules.TOO_SMALL, f"P is {value}; it must be a positive integer", hint="give `P=1` or more")
    return value


def iterate_answer_notes(chosen: Subject, estimate: Estimate, cache: CacheUsed | None) -> Iterator[str]:
    """Yield warnings on an estimate: too little memory, a line that is not the machine's, too much power, copies."""
    constants, model = estimate.machine.values, estimate.model
    limit, needed = constants.get("memory_max"), estimate.amounts.get("memory")
    if limit is not None and needed is not None and needed.lower > limit:
        yield f"a processor needs {float(needed.lower):.4g} words of memory, but the machine's has {float(limit):.4g}"
    word, line = (constants.get(name) for name in ("word", "line"))
    if cache is not None and word and line and word * cache.line != line:
        yield f"the cache has lines of {word * cache.line} B, but the machine has {line} B: use L = {line / word}"
    limit, power = constants.get("power_limit"), estimate.power
    if model.name.startswith("roofline") and limit and power and power.lower > limit:
        yield f"the power is above the machine's limit, {format_si(limit, 'W')}: see `roofline+cap`"
    elif (rated := constants.get("power_rated")) and power:
        count = int(estimate.amounts["P"].upper) if "P" in estimate.amounts else 1
        if power.upper > count * rated:
            says = "is" if power.lower > count * rated else "may be"
            of = f" of {count} processors" * (count > 1)
            yield f"the power {says} above the thermal design power{of}, {format_si(count * rated, 'W')}"
    if isinstance(chosen, AlgorithmSubject) and chosen.report.replicated is not None:
        yield describe_replication(chosen.report.replicated, problem=False)


def _find_coarser_metrics(on: ModelOnMachine) -> frozenset[str]:
    """Return the metrics in the coarser formulas of a model, which test how robust a comparison is."""
    return frozenset().union(*(names_in(parse_formula(text)) & METRICS.keys() for text in on.model.coarser.values()))


# In symbols
def derive_symbolic(chosen: Subject, machine: Machine, model: Model, *, everywhere: bool = False) -> EnergyResult:
    """Return the energy as formulas: in metrics, and in sizes with the machine's numbers. Raises ArchlineError.

    Formulas of an algorithm on a grid assume several processors along each axis, unless `everywhere`.
    """
    in_sizes = chosen.express_in_sizes(everywhere=everywhere)
    on, machine = apply_to_subject(chosen, machine, model, Settings(chosen_cache=True))
    model = on.model
    if model.levels and not isinstance(chosen, FormulaSubject):
        message = f"model `{model.name}` needs the misses of each cache level, which are derived at given sizes only"
        hint = "give --at " + ",".join(f"{name}=..." for name in chosen.names.sizes)
        raise error(rules.NEEDS_BOUND, message, hint=hint)
    names = [name for name in METRICS if name in on.metrics_needed and name in {*chosen.metrics, "Z", "L"}]
    metrics = tuple(in_sizes.make_symbolic_metric(name) for name in names)
    unknown = [metric for metric in metrics if metric.bounds is None]
    if unknown:
        message = f"the {unknown[0].name} of `{chosen.name}` could not be derived: {unknown[0].reason}"
        raise error(rules.NEEDS_BOUND, message)
    bounds = {metric.name: _metric_bounds(metric) for metric in metrics}
    numbers = {name: _make_numeral(value) for name, value in machine.values.items()}
    terms = {
        name: _format_bounds_in_sizes(on.formula(name), numbers, bounds)
        for name in model.energy
        if not _lacks_quantity(on, name)
    }
    if model.at_most:
        terms = {name: replace(end, lower="0") for name, end in terms.items()}
    total = on.replace_unknown_names(model.expand_formula(model.expression))
    shown = SymbolicEnergy(
        tuple(metric for metric in metrics if metric.name not in ("Z", "L")),
        _write_formula_with_units(total, machine),
        None if _lacks_quantity(on, "time") else _format_bounds_in_sizes(on.formula("time"), numbers, bounds),
        terms,
        _derive_growths(on, in_sizes, names) if len(terms) == len(model.energy) and not model.at_most else {},
        tuple(map(Formula, in_sizes.when)),
        chosen.assumptions,
    )
    data = DERIVED_NOTE if not isinstance(chosen, FormulaSubject) else ""
    return EnergyResult(
        chosen.name, machine, model, None, {}, None, data, symbolic=shown, converted=on.converted
    )  # fmt: skip


def _lacks_quantity(on: ModelOnMachine, name: str) -> bool:
    return bool((names_in(on.formula(name)) & QUANTITIES.keys()) - on.machine.values.keys())


def _derive_growths(on: ModelOnMachine, chosen: CostsInSizes | FormulaSubject, names: Sequence[str]) -> dict[str, str]:
    growths = {name: chosen.growth(name) for name in names if name not in ("Z", "L")}
    term_growths = derive_term_growths(on, growths)
    texts = {name: write_growth(growth, chosen) or "unknown" for name, growth in term_growths.items()}
    return {name: shorten_growth(text) for name, text in texts.items()} if chosen.shorten else texts


def write_growth(growth: Growth, chosen: CostsInSizes | FormulaSubject) -> str | None:
    """Return a growth as text, with the facts it needs beyond those of the algorithm; None if it has no text."""
    more = [Formula(fact) for fact in growth.facts if fact not in chosen.where]
    text = growth.text
    return text if text is None or not more else join_phrases(text, " where ", join_with_mark(more, ", "))


def _metric_bounds(metric: SymbolicMetric) -> FormulaBounds[s.Expr]:
    assert metric.ends is not None
    if max(map(measure_nesting_depth, metric.ends)) > MAX_DEPTH:
        # The formula is longer than an expression may be: the metric's name replaces it.
        name = b.name(metric.name)
        return FormulaBounds(name, name)
    return FormulaBounds(*metric.ends)


def _format_bounds_in_sizes(
    formula: s.Expr, numbers: Mapping[str, s.Expr], bounds: Mapping[str, FormulaBounds[s.Expr]]
) -> TextBounds:
    ends = bound_formula(substitute_names(formula, numbers), bounds)
    return TextBounds(format_expression(ends.lower), format_expression(ends.upper))


def _make_numeral(value: Fraction) -> s.Expr:
    text = write_decimal(value)
    return s.Real(text, span=b.DERIVED) if "." in text else b.number(value)


def write_decimal(value: Fraction) -> str:
    """Return an exact decimal numeral if one of at most 24 digits exists; else a quotient of integers."""
    if value.denominator == 1 and abs(value) < 10**12:
        return str(value.numerator)
    rest, exponent = value, 0
    while rest.denominator != 1 and exponent > -40:
        rest, exponent = rest * 10, exponent - 1
    if rest.denominator != 1 or abs(rest) >= 10**24:
        return f"{value.numerator}/{value.denominator}"
    digits = str(rest.numerator)
    trimmed = digits.rstrip("0")
    exponent += len(digits) - len(trimmed)
    point = f"{trimmed[0]}.{trimmed[1:] or '0'}"
    return f"{point}e{exponent + len(trimmed) - 1}"


def _write_formula_with_units(expr: s.Expr, machine: Machine) -> str:
    """Write a formula with the machine's numbers and their units in place of their names."""
    text = format_expression(simplify_with_unit_constants(substitute_names(expr, dict.fromkeys(CONSTANTS, ONE))))

    def write_quantity(match: re.Match[str]) -> str:
        quantity = machine.quantities.get(match[0])
        if quantity is None:
            return match[0]
        return format_si(quantity.value, "" if quantity.unit == "1" else quantity.unit)

    return re.sub(r"[A-Za-z_]\w*", write_quantity, text)
