"""Optimise a target on a machine: some sizes are fixed, others vary, and points or real numbers are searched."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import partial, reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from archline.algebra.evaluate.boxes import BoundsOverBoxes, Boxes
from archline.analysis.vectorised import evaluate_lower_at_points, evaluate_upper_at_points
from archline.costs import rules
from archline.costs.sizes import Given, convert_python_values, diagnose_wrong_value, require_known_names
from archline.energy import arrays
from archline.energy import rules as energy_rules
from archline.energy.answers import apply_to_subject, derive_numeric, explain_model_choice, iterate_answer_notes
from archline.energy.caches import CACHE_QUANTITIES, Settings, make_levels_error
from archline.energy.estimates import Estimate, ModelOnMachine, check_amounts, choose_default_model
from archline.energy.formulas import bound_value, names_in
from archline.energy.machines import Machine, read_parameter
from archline.energy.model import Model
from archline.energy.models import find_model as model_of
from archline.energy.optimise.boxes import BoxSearch, BoxSpace, enclose_cost
from archline.energy.optimise.constraints import OBJECTIVE_UNITS, FormulaReader
from archline.energy.optimise.lattice import LIMIT, TooManyError, UnlimitedSizeError, count_points, enumerate_points
from archline.energy.optimise.points import Candidates, ExactValues, bound_at_points_from_below, find_minimal_conflict
from archline.energy.optimise.problem import (
    AMOUNT_PREFIX,
    BRACKETED,
    BRANCHING,
    INFEASIBLE,
    LATTICE,
    OPTIMAL,
    Constraint,
    EnergyOptimum,
    EnergyProblem,
    Optimisation,
    Variable,
)
from archline.energy.optimise.reals import solve_over_reals
from archline.energy.quantities import METRICS, PER_LEVEL
from archline.energy.results import CacheUsed
from archline.energy.subjects import AlgorithmSubject, FormulaSubject, Subject, check_facts, choose_model
from archline.energy.sweeps import (
    express_processors,
    iterate_fact_constraints,
    iterate_size_names,
    read_variables,
    require_number,
)
from archline.energy.targets import SIZE_PREFIX
from archline.energy.units import format_si
from archline.expr import build as b
from archline.expr.intervals import Interval
from archline.expr.text import format_fact
from archline.expr.tree import iterate_defined_sizes, substitute_in_fact
from archline.language import syntax as s
from archline.language.conditions import SIZE_RULES
from archline.language.diagnostics import ArchlineError, error, suggest_closest
from archline.language.metrics import OF_CACHE
from archline.language.parser import parse_facts
from archline.language.substitution import express_facts_in_sizes
from archline.records import replace

HALVINGS_PREFIX = "halvings "
"""The prefix of the names of numbers of halvings in formulas."""
MAX_HALVINGS = 60
_NO_VALUE_RULES = (energy_rules.FORMULA, energy_rules.WRONG_AMOUNT)
NO_RUN_RULES = frozenset((rules.FACT_FAILS, rules.TOO_SMALL, rules.NOT_AN_INTEGER, *_NO_VALUE_RULES, *SIZE_RULES))
"""The rules of the errors about sizes at which an algorithm has no run."""


class OptimisationTask:
    """The optimisation of a target on a machine, with fixed sizes and variables."""

    def __init__(
        self,
        chosen: Subject,
        machine: Machine,
        model: str | None,
        at: Given,
        settings: Settings,
        over: Sequence[str],
        integer: frozenset[str],
        halve: Sequence[str],
        minimise: str,
    ) -> None:
        self.chosen = chosen
        own_sizes = chosen.target.sizes if isinstance(chosen, FormulaSubject) else iterate_size_names(chosen)
        self.sizes = tuple(own_sizes)
        self.halved = {text: tuple(part.strip() for part in text.split("=")) for text in halve}
        max_halvings = min(MAX_HALVINGS, int(LIMIT ** (1 / max(1, len(halve)))) - 1)
        times = (Variable(name, f"{HALVINGS_PREFIX}{name}", True, None, Fraction(max_halvings)) for name in halve)
        self.variables = (*read_variables(chosen, self.sizes, over, integer), *times)
        words = {"Z", "L"} & {*at, *(variable.name for variable in self.variables)}
        usual = choose_default_model([machine], at_sizes=settings.takes_levels(words), asked=minimise)
        self.model: Model = choose_model(chosen, None if model is None else model_of(model), usual)
        require_known_names(at, [chosen.names])
        self.at = {name: require_number(name, *pair) for name, pair in at.items()}
        if isinstance(chosen, AlgorithmSubject):
            wrong = (diagnose_wrong_value(name, value, chosen.names, span) for name, (value, span) in at.items())
            if problems := [problem for problem in wrong if problem is not None]:
                raise ArchlineError(problems)
        for name in (variable.name for variable in self.variables if variable.name in at):
            message, hint = f"`{name}` is both a variable and given by `--at`", f"leave `{name}` out of one of them"
            raise error(rules.REPEATED_SIZE, message, span=at[name][1], hint=hint)
        known = {
            *at,
            *(variable.name for variable in self.variables),
            "Z",
            "L",
            *dict(iterate_defined_sizes(chosen.where)),
        }
        needed = {*chosen.names.needed, *({"P"} & {*self.sizes})}
        missing = [name for name in self.sizes if name in needed - known]
        if missing:
            hint = "give --at " + ",".join(f"{name}=..." for name in dict.fromkeys(missing))
            raise error(rules.MISSING_SIZE, f"no value is given for `{missing[0]}`", hint=hint)
        self.real = {variable.name: variable for variable in self.variables if not variable.integer}
        self.halved_by = {name: halving for halving, names in self.halved.items() for name in names}
        self.moved = [variable.name for variable in self.variables if variable.key == variable.name]
        self.moved += [name for names in self.halved.values() for name in names]
        for name in (name for names in self.halved.values() for name in names if name not in machine.quantities):
            hint = suggest_closest(name, machine.quantities) or f"give --parameter {name}=..."
            raise error(rules.UNKNOWN_SIZE, f"machine `{machine.name}` has no `{name}`", hint=hint)
        more = {name: read_parameter(name, "1") for name in self.moved if name not in machine.quantities}
        self.machine = replace(machine, quantities={**machine.quantities, **more})
        on, _ = apply_to_subject(chosen, self.machine, self.model, Settings())
        self.on: ModelOnMachine = on
        self.settings = settings.with_machine_caches(machine, on.model.levels)
        if on.model.levels and (named := sorted({*words, *self.moved} & {"Z", "L", "word", *CACHE_QUANTITIES})):
            raise make_levels_error(machine, f"{named[0]} {'is given' if named[0] in at else 'varies'}")
        self._words = {level: {"Z": cache.Z, "L": cache.L} for level, cache in self.settings.levels}
        self._names_model = model is not None
        self.held: frozenset[str] = frozenset()
        """The metrics in the formulas of the problem, which the model need not use."""

    # The problem
    def solve(self, minimise: str, subject: Sequence[str], where: str | None, upper: bool) -> Optimisation:
        if minimise not in OBJECTIVE_UNITS:
            raise error(
                rules.OPTIONS_CLASH,
                f"`{minimise}` cannot be minimised",
                hint=f"choose one of {', '.join(OBJECTIVE_UNITS)}",
            )
        check_facts(where, [self.chosen])
        more = parse_facts(where, "--where") if where else ()
        reading = FormulaReader(self.on, self.sizes)
        constraints = [*reading.read_constraints(subject)]
        objective = reading.resolve_formula(s.Name(minimise, span=b.DERIVED))
        sides = [side for constraint in constraints for side in (constraint.left, constraint.right)]
        self.held = frozenset().union(*map(names_in, (objective, *sides))) & METRICS.keys()
        if self.halved:
            counts: list[s.Expr] = [s.Name(variable.key, span=b.DERIVED) for variable in self.variables]
            objective, minimise = (
                reduce(lambda left, right: s.Binary("+", left, right, span=b.DERIVED), counts),
                "halvings",
            )
        only_integers = all(variable.integer for variable in self.variables)
        if isinstance(self.chosen, FormulaSubject):
            constraints += [
                constraint for fact in more for constraint in iterate_fact_constraints(reading, fact, only_integers)
            ]
        problem = self._build_problem(minimise, objective, constraints, upper)
        optimum = self._find_optimum(problem, more)
        if optimum.conflict:
            optimum = replace(
                optimum, attainable=tuple(self._iterate_attainable_bounds(problem, optimum.conflict, more))
            )
        optimum = replace(
            optimum, notes=(*optimum.notes, *self._iterate_estimate_notes(optimum.estimate, problem.minimise))
        )
        assumptions = (*self.chosen.assumptions, *self.machine.assumptions)
        return Optimisation(
            self.chosen.name, self.machine.name, self.model.name, self.at, problem, optimum, assumptions, self._cache
        )

    def _iterate_estimate_notes(self, estimate: Estimate | None, minimised: str) -> Iterator[str]:
        """Yield why the model was chosen, if the user names none, and the warnings on the estimate at the optimum."""
        if estimate is not None:
            yield from () if self._names_model else explain_model_choice(self.chosen, self.model, minimised)
            yield from iterate_answer_notes(self.chosen, estimate, self._cache)

    @property
    def _cache(self) -> CacheUsed | None:
        """The cache that the costs depend on; None if Z or L varies or is given, or if they depend on no cache."""
        settings, named = self.settings, {*self.at, *(variable.name for variable in self.variables)} & {"Z", "L"}
        if named or isinstance(self.chosen, FormulaSubject) or not (self.on.metrics_needed | self.held) & {*OF_CACHE}:
            return None
        cache = settings.cache
        return CacheUsed(cache.Z, cache.L, cache.policy, settings.chosen_cache, settings.of_machine)

    def _find_optimum(self, problem: EnergyProblem, more: Sequence[s.Fact]) -> EnergyOptimum:
        """Return the optimum: over points if all variables, or some of an algorithm, are integers; else over reals."""
        integers = [variable for variable in self.variables if variable.integer]
        if len(integers) == len(self.variables) or (integers and isinstance(self.chosen, AlgorithmSubject)):
            return self._optimise_points(problem, more)
        return self._optimise_reals(problem)

    def _iterate_attainable_bounds(
        self, problem: EnergyProblem, conflict: Sequence[str], more: Sequence[s.Fact]
    ) -> Iterator[str]:
        """Yield for each constraint of a conflict the best bound that is attainable under the rest."""
        places = [index for index, constraint in enumerate(problem.constraints) if constraint.text in conflict]
        for index in places:
            constraint = problem.constraints[index]
            if constraint.bounded:
                kept = [place for place in places if problem.constraints[place].text != constraint.text]
                optimum = self._find_optimum(problem.make_attainment_problem(index, kept), more)
                value, is_lower = optimum.value if problem.upper else optimum.lower, not names_in(constraint.right)
                if value and optimum.status == OPTIMAL:
                    best, unit = value if is_lower else 1 / value, constraint.unit.removeprefix("1")
                    number = format_si(Fraction(best), unit) if unit else f"{best:.12g}"
                    yield f"{constraint.bounded} {'>=' if is_lower else '<='} {number}"

    def _build_problem(
        self, minimise: str, objective: s.Expr, constraints: Sequence[Constraint], upper: bool
    ) -> EnergyProblem:
        formulas = {"objective": objective}
        for index, constraint in enumerate(constraints):
            formulas |= {f"left {index}": constraint.left, f"right {index}": constraint.right}
        if isinstance(self.chosen, FormulaSubject):
            formulas |= {f"{AMOUNT_PREFIX}{name}": s.Name(name, span=b.DERIVED) for name in self.chosen.metrics}
        formulas = {
            name: arrays.expand_quantities(formula, self.machine, self.moved) for name, formula in formulas.items()
        }
        bounds = arrays.bound_formulas(self.chosen, formulas)
        variables = self.variables
        return EnergyProblem(
            minimise, OBJECTIVE_UNITS.get(minimise, ""), objective, tuple(constraints), variables, bounds, upper
        )

    # Sizes
    def _optimise_points(self, problem: EnergyProblem, more: Sequence[s.Fact]) -> EnergyOptimum:
        facts = [*self._collect_facts(), *(self._express_in_sizes(fact) for fact in more)]
        integers = tuple(variable for variable in self.variables if variable.integer)
        fixed, least = self._select_fixed_sizes(), self._get_minimum_sizes()
        allows_reals = isinstance(self.chosen, FormulaSubject) and all(isinstance(fact, s.Binary) for fact in more)
        try:
            start = enumerate_points(fixed, integers, facts, least, wide=True)
        except UnlimitedSizeError as unbounded:
            if allows_reals:
                return self._optimise_reals(problem)
            hint = f"give it a range: --over {unbounded}=1..64"
            raise error(energy_rules.UNBOUNDED, f"no fact bounds `{unbounded}`", hint=hint) from None
        if not count_points(start):
            return EnergyOptimum(INFEASIBLE, LATTICE, conflict=self._find_conflict(fixed, facts, least))
        if not any(" " in name for name in start):
            candidates = self._build_candidates(problem, start)
            if candidates is None:
                raise error(rules.NO_VALUE, "a cost has no value at any point")
            return candidates.find_best()
        if allows_reals:
            return self._optimise_reals(problem)

        def search_boxes(kept: Sequence[int]) -> BoxSearch:
            search = BoxSearch(
                self._build_space(problem.with_constraints(kept), facts, least),
                problem.with_constraints(kept),
                self._build_candidates,
            )
            search.run(start)
            return search

        every = range(len(problem.constraints))
        search = search_boxes(every)
        if search.best < np.inf:
            return search.optimum()
        if not search.exhausted:
            return EnergyOptimum(BRACKETED, BRANCHING, points=search.count)
        left = find_minimal_conflict(
            every, lambda kept: not (tried := search_boxes(kept)).exhausted or tried.best < np.inf
        )
        conflict = tuple(dict.fromkeys(problem.constraints[index].text for index in left))
        return EnergyOptimum(INFEASIBLE, BRANCHING, conflict=conflict, points=search.count)

    def _build_space(self, problem: EnergyProblem, facts: Sequence[s.Fact], least: Mapping[str, int]) -> BoxSpace:
        cache = self.settings.cache
        ends: dict[str, tuple[Any, Any]] = {name: (float(value), float(value)) for name, value in self.at.items()}
        ends |= {"Z": (cache.Z, cache.Z), "L": (cache.L, cache.L)} if "Z" not in ends else {}
        for variable in self.variables:
            if not variable.integer:
                if variable.low is None or variable.high is None:
                    hint = f"give it a range: --over {variable.name}=LO..HI"
                    raise error(energy_rules.UNBOUNDED, f"`{variable.name}` has no range", hint=hint)
                ends[variable.name] = (float(variable.low), float(variable.high))
        integers = tuple(variable for variable in self.variables if variable.integer)
        return BoxSpace(
            integers,
            facts,
            least,
            ends,
            partial(self._enclose_names, self._collect_names(problem)),
            self._is_sharp(problem),
        )

    def _enclose_names(self, names: Iterable[str], boxes: Boxes) -> dict[str, BoundsOverBoxes]:
        enclosures = {}
        for name in names:
            metric = name.removeprefix(arrays.LOWER_PREFIX)
            if name.startswith(SIZE_PREFIX):
                enclosures[name] = boxes.name(name.removeprefix(SIZE_PREFIX))
            elif name in ("Z", "L") or name in self.real:
                enclosures[name] = boxes.name(name)
            elif metric in METRICS and isinstance(self.chosen, AlgorithmSubject):
                words = self._get_level_words(metric)
                enclosures[name] = enclose_cost(self.chosen.cost(metric), boxes, name != metric, words)
            else:
                enclosures[name] = boxes.number(float(self.machine.values[name]))
        return enclosures

    def _get_level_words(self, metric: str) -> Mapping[str, int]:
        """Return the Z and L of the level of a metric; empty for metrics of no level."""
        return self._words.get(PER_LEVEL.get(metric, ("", metric))[0], {})

    def _collect_names(self, problem: EnergyProblem) -> frozenset[str]:
        ends = (end for bound in problem.bounds.values() for end in (bound.lower, bound.upper))
        return frozenset().union(*map(names_in, ends))

    def _is_sharp(self, problem: EnergyProblem) -> bool:
        """Whether no cost in a problem has sharper bounds at single sizes than its closed-form bounds."""
        chosen = self.chosen
        if not isinstance(chosen, AlgorithmSubject):
            return True
        metrics = {name.removeprefix(arrays.LOWER_PREFIX) for name in self._collect_names(problem)} & METRICS.keys()
        costs = [chosen.cost(metric) for metric in metrics - {"Z", "L"}]
        return all(cost.interval_at is None and not cost.plans for cost in costs)

    def _build_candidates(self, problem: EnergyProblem, points: Mapping[str, NDArray[Any]]) -> Candidates | None:
        """Return the candidate points of a problem with bounds on their objective; None if no point has values."""
        if self.real:
            space = self._build_space(problem, (), {})
            rows = {name: values for name, values in points.items() if name not in self.at}
            key, fit = space.bound_boxes_from_below(problem, rows or points)
            return Candidates(problem, points, key, fit, False, self._evaluate_exactly)
        points, columns, sharp = self._build_columns(problem, points)
        length = count_points(points)
        if not length:
            return None
        key, fit = bound_at_points_from_below(problem, columns, length, sharp)
        return Candidates(problem, points, key, fit, sharp, self._evaluate_exactly)

    def _collect_facts(self) -> list[s.Fact]:
        if isinstance(self.chosen, FormulaSubject):
            return []
        facts = list(express_facts_in_sizes(self.chosen.algorithm.node))
        if "P" in self.at and "P" not in self.sizes:
            facts.append(s.Binary("==", express_processors(self.chosen), b.number(self.at["P"]), span=b.DERIVED))
        return facts

    def _express_in_sizes(self, fact: s.Fact) -> s.Fact:
        """Replace P in a fact of `--where` by sizes, if these determine the number of processors."""
        if isinstance(self.chosen, FormulaSubject) or "P" in self.sizes or not self.chosen.on_grid:
            return fact
        return substitute_in_fact(fact, {"P": express_processors(self.chosen)})

    def _select_fixed_sizes(self) -> dict[str, int]:
        return {name: int(value) for name, value in self.at.items() if value == int(value)}

    def _get_minimum_sizes(self) -> dict[str, int]:
        names = self.chosen.names
        return {
            item.name: 0 if item.name in self.halved else names.get_minimum(item.name) or 0 for item in self.variables
        }

    def _find_conflict(
        self, fixed: Mapping[str, int], facts: Sequence[s.Fact], least: Mapping[str, int]
    ) -> tuple[str, ...]:
        """Return facts and ranges that exclude each other."""
        ranges = [item for item in self.variables if item.low is not None or item.high is not None]

        def is_feasible(kept: Sequence[Any]) -> bool:
            free = [item if item in kept else replace(item, low=None, high=None) for item in self.variables]
            try:
                points = enumerate_points(fixed, free, [fact for fact in facts if fact in kept], least)
            except (UnlimitedSizeError, TooManyError):
                return True
            return len(next(iter(points.values()))) > 0

        left = find_minimal_conflict([*facts, *ranges], is_feasible)
        return tuple(item.text if isinstance(item, Variable) else format_fact(item) for item in left)

    def _build_columns(
        self, problem: EnergyProblem, points: Mapping[str, NDArray[Any]]
    ) -> tuple[dict[str, NDArray[Any]], dict[str, Any], bool]:
        """Return the points at which all names have values, these values by name, and whether they are exact."""
        names, sharp, length = self._collect_names(problem), self._is_sharp(problem), count_points(points)
        cache = self.settings.cache
        sizes: dict[str, Any] = {"Z": cache.Z, "L": cache.L, **self.at, **points}
        values: dict[str, Any] = {name: float(value) for name, value in self.machine.values.items()}
        missing = np.zeros(length, bool)
        integer_rows = {
            name: np.broadcast_to(value, (length,)) for name, value in sizes.items() if arrays.is_integer(value)
        }
        for name in names:
            metric = name.removeprefix(arrays.LOWER_PREFIX)
            if name in self.halved_by:
                count = points[self.halved_by[name]]
                values[name] = values[name] * 0.5**count
            elif name.startswith(HALVINGS_PREFIX):
                values[name] = arrays.convert_to_float64(points[name.removeprefix(HALVINGS_PREFIX)])
            elif name.startswith(SIZE_PREFIX):
                values[name] = arrays.convert_to_float64(sizes[name.removeprefix(SIZE_PREFIX)])
            elif name in ("Z", "L"):
                values[name] = arrays.convert_to_float64(sizes[name])
            elif metric in METRICS and isinstance(self.chosen, AlgorithmSubject):
                cost = self.chosen.cost(metric)
                if cost.upper is None:
                    message = f"the {metric} of `{self.chosen.name}` is unknown: {cost.reason}"
                    raise error(rules.NEEDS_BOUND, message)
                words = self._get_level_words(metric)
                if len(integer_rows) < len(sizes):
                    values[name] = arrays.evaluate_bounds(cost, {**sizes, **words}, length, name != metric)
                else:
                    end = evaluate_upper_at_points if name == metric else evaluate_lower_at_points
                    rows = {
                        **integer_rows,
                        **{word: np.broadcast_to(count, (length,)) for word, count in words.items()},
                    }
                    values[name] = end(cost, rows, length, missing).astype(np.float64)
                    if name != metric:
                        arrays.sharpen_lower_bounds(values[name], cost, rows)
        if not missing.any():
            return dict(points), values, sharp
        kept = {name: column[~missing] if np.ndim(column) else column for name, column in values.items()}
        return {name: column[~missing] for name, column in points.items()}, kept, sharp

    def _evaluate_exactly(self, point: Mapping[str, float], problem: EnergyProblem | None = None) -> ExactValues | None:
        """Return the exact values at a point, with optimal real variables for a `problem`; None if no run exists."""
        if problem is not None and self.real:
            exact = self._evaluate_exactly(point)
            if exact is None:
                return None
            optimum = solve_over_reals(
                replace(problem, variables=tuple(self.real.values())), arrays.convert_to_floats(exact)
            )
            best = None if optimum.value is None else self._evaluate_exactly({**point, **optimum.at})
            return None if best is None else replace(best, real=optimum)
        values = {
            item.name: arrays.make_exact_number(point[item.name]) for item in self.variables if item.name in point
        }
        parameters = {name: read_parameter(name, str(values[name])) for name in self.moved if name in values}
        for halving, names in ((halving, names) for halving, names in self.halved.items() if halving in values):
            halved = {name: self.machine.values[name] / 2 ** int(values[halving]) for name in names}
            parameters |= {name: read_parameter(name, str(value)) for name, value in halved.items()}
        at = {**self.at, **{name: value for name, value in values.items() if name in self.sizes}}
        machine = self.machine.with_parameters(parameters, tried=True)
        try:
            if isinstance(self.chosen, FormulaSubject):
                # Processors may be a real number here.
                words = {"Z": self.settings.cache.Z, "L": self.settings.cache.L}
                formula_amounts = self.chosen.target.amounts({**words, **at})
                amounts = {name: Interval.of(value) for name, value in words.items()} | formula_amounts
                check_amounts(amounts)
                estimate = ModelOnMachine(self.on.model, machine, amounts.keys()).estimate(amounts)
            else:
                result = derive_numeric(
                    self.chosen, machine, self.model, convert_python_values(at), self.settings, self.held
                )
                assert result.estimate is not None
                estimate, at = result.estimate, {**at, **(result.at or {})}
        except ArchlineError as problem:
            if problem.diagnostics[0].rule in NO_RUN_RULES:
                return None
            raise
        sizes = {f"{SIZE_PREFIX}{name}": Interval.of(value) for name, value in at.items()}
        constants = {name: Interval.of(value) for name, value in machine.values.items()}
        constants |= {f"{HALVINGS_PREFIX}{name}": Interval.of(values[name]) for name in self.halved if name in values}
        return ExactValues({**constants, **estimate.amounts, **sizes}, estimate)

    def _optimise_reals(self, problem: EnergyProblem) -> EnergyOptimum:
        """Optimise over real numbers: symbols of formulas, or quantities of the machine while all sizes are fixed."""
        if isinstance(self.chosen, AlgorithmSubject):
            start = self._evaluate_exactly({})
            if start is None:
                raise error(rules.FACT_FAILS, f"`{self.chosen.name}` has no run at these sizes")
            values = arrays.convert_to_floats(start)
        else:
            cache = self.settings.cache
            fixed = {"Z": cache.Z, "L": cache.L, **self.at}
            values = {name: float(value) for name, value in self.machine.values.items()}
            values |= {f"{SIZE_PREFIX}{name}": float(value) for name, value in fixed.items()} | {
                "Z": cache.Z,
                "L": cache.L,
            }
        optimum = solve_over_reals(problem, values)
        if optimum.value is None:
            return optimum
        exact = self._evaluate_exactly(optimum.at)
        if exact is None:
            return optimum
        ends = bound_value(problem.objective, exact.values, shared=False)
        value = float(ends.upper if problem.upper else ends.lower)
        bound = min(optimum.bound or 0.0, value)
        return replace(optimum, value=float(ends.upper), lower=float(ends.lower), bound=bound, estimate=exact.estimate)
