"""Bound the io of recursion by indices with a potential, which callers pass on to their calls.

A call that fits fetches the lines that it reaches, any other call what its parts fetch (the rule of `evaluate`). A
potential is a sum of forms, such as a volume over Z, for which

- a call that does not fit passes on at most its own potential, less its own misses, to its calls, and
- each call made by a call that does not fit has a potential of at least the lines that it reaches.

The volume alone seldom suffices: it bounds the misses if calls are as high as Z, but a wide call that does not
fit is cut until its parts are low. So the search has phases. In each, further facts hold in all calls, for example that
calls are at least as wide as high, or as high as Z; a fact that begins to hold is true of all further calls.
(M. Frigo, V. Strumpen, Cache Oblivious Stencil Computations, ICS 2005, have the bound for trapezoids.)
Nonnegativity is proved by sums of products of facts; indices of few values are enumerated.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import combinations

import numpy as np

from archline.algebra import atoms as a
from archline.algebra.evaluate.exact import evaluate
from archline.algebra.evaluate.vectors import Array as Weights
from archline.algebra.polynomial import ONE, ZERO, Poly, sum_polynomials
from archline.algebra.prove.farkas import Situation
from archline.algebra.prove.handelman import ConeConstraint, Goal, ProductCone, Proposal, propose_coefficients
from archline.algebra.prove.prover import bounds_of_floor
from archline.analysis.cache.footprint.references import build_references
from archline.analysis.cache.samples import choose_sample_points
from archline.analysis.cache.summaries.reach import AccessPath, ReachedBoxes
from archline.analysis.cache.upper.allocation import AllocationPlanner
from archline.analysis.cost import FEW_LINES
from archline.expr.intervals import EvaluationError
from archline.ir.layout import LINE, WORDS
from archline.ir.tree import Array, contiguous_dimension
from archline.numbers import fmpq
from archline.records import memoised, record
from archline.recurrences.exact.indexed import (
    CaseCalls,
    build_products,
    find_preserved_forms,
    iterate_weakened_conditions,
)

CONE_DEGREE = 2
"""The maximum number of facts in a product."""
HEIGHT_DIVISORS = (4, 16, 64, 256)
"""Divisors of Z that are tried: calls are at least Z divided by it high."""
MAX_PHASES, MAX_VOLUMES = 16, 4
ROUNDING_DENOMINATORS = (1, 4, 60, 1_000)
"""The denominators to which coefficients are rounded up, in the order in which they are tried."""
ROUNDING_MARGIN = 1.01
"""The factor by which coefficients are increased before they are rounded."""
TALL_CACHE_FACTS = (WORDS - LINE.scaled(FEW_LINES), LINE - 1)
Numbers = Mapping[str, Poly]
Phase = frozenset[Poly]
"""Values that are nonnegative in all calls of a phase."""


class NoPotentialError(Exception):
    """The search finds no potential."""


@record(eq=False)
class NonFittingCase:
    """A case of a call that does not fit, if `known` are nonnegative; `fetched` is L times its own misses."""

    case: AccessPath
    known: tuple[Poly, ...]
    fetched: Poly


@record
class Potential:
    """An upper bound on io, in indices, where FEW_LINES lines fit; `forms` are its terms without coefficients."""

    most: Poly
    forms: tuple[Poly, ...]


@dataclass(eq=False)
class PotentialSearch:
    """Searches a potential that bounds the io of all calls of an algorithm. Raises NoPotentialError."""

    reach: ReachedBoxes
    pays: dict[Phase, Poly] = field(default_factory=dict)
    """Z*L times the potential of each phase, once it is found."""

    @cached_property
    def potential(self) -> Potential:
        """The potential of the outermost call."""
        phases, used = self.phases, tuple[int, ...]()
        for phase in sorted(phases, key=lambda candidate: -len(candidate)):
            used = self._solve_phase(phase, phases[phase])
        share = LINE**-1 * WORDS**-1
        return Potential(self.pays[frozenset()] * share, tuple(self.template_terms[index] * share for index in used))

    # Facts and forms
    @cached_property
    def reached_words(self) -> Poly:
        """An upper bound on L times the lines that a call reaches."""
        if self.reach.body.made:
            raise NoPotentialError
        return sum_polynomials(map(self._bound_reached_words_above, self.reach.body.given))

    def _bound_reached_words_above(self, array: Array) -> Poly:
        box = self.reach.boxes.get(array) or tuple((ZERO, extent - 1) for extent in array.extents)
        along, count = contiguous_dimension(array), ONE
        for dimension, (low, high) in enumerate(box):
            if dimension != along:
                count = count * (high - low + 1)
        width = box[along][1] - box[along][0] + 1
        if (
            not count.is_constant
            or array.strided
            or array.layout == "zmorton"
            or not self.reach.build_situation(()).proves(width)
        ):
            raise NoPotentialError
        return count * (width + LINE.scaled(2))

    @cached_property
    def steps(self) -> tuple[NonFittingCase, ...]:
        """The cases of the recursion, under the assumption that the call does not fit in the cache."""
        beyond = self.reached_words - WORDS
        return tuple(
            NonFittingCase(case, (*case.known, beyond), self._bound_own_misses_above(case)) for case in self.reach.cases
        )

    def _bound_own_misses_above(self, case: AccessPath) -> Poly:
        """Bound L times the misses of the accesses of a case, for a cache of at least FEW_LINES lines."""
        body = self.reach.body
        facts = body.scope.facts
        references = build_references(iter(case.accesses), facts)
        if not references:
            return ZERO
        planner = AllocationPlanner(references, facts, choose_sample_points(body.algorithm, body.scope))
        tall = facts.with_nonnegative(TALL_CACHE_FACTS[0])
        bounds = [misses * LINE for misses in planner.list_unrounded_misses(planner.derive_plans(), tall)]
        if not bounds:
            raise NoPotentialError
        # Few proofs succeed for floors and other composite atoms.
        return min(
            bounds,
            key=lambda value: (_count_composite_atoms(value), sum(evaluate(value, point) for point in planner.points)),
        )

    @cached_property
    def template_terms(self) -> tuple[Poly, ...]:
        """The terms of the template times Z*L: Z*L, Z times quantities, and volumes that are preserved by calls."""
        quantities = self.reach.declaration.quantities
        cuts = [CaseCalls(ZERO, tuple((1, call) for call in case.calls), {}) for case in self.reach.cases]
        preserved = [self._make_nonnegative(form) for form in find_preserved_forms(cuts, build_products(quantities))]
        unbounded = [quantity for quantity in quantities if quantity.names.isdisjoint(self.reach.declaration.ranges)]
        volumes = sorted((form for form in preserved if form), key=_compute_degree)[:MAX_VOLUMES]
        return (WORDS * LINE, *(WORDS * quantity for quantity in unbounded), *volumes)

    def _make_nonnegative(self, form: Poly) -> Poly:
        """Return a form or its negation, whichever is nonnegative at all samples; 0 if none is, or it is constant."""
        values = [evaluate(form, point) for point in self.reach.samples.points]
        if form.is_constant or not values or min(values) < 0 < max(values):
            return ZERO
        return form if max(values) > 0 else -form

    # Phases
    def _build_situation(self, step: NonFittingCase, phase: Iterable[Poly]) -> Situation:
        return self.reach.build_situation((*step.known, *phase, *TALL_CACHE_FACTS))

    @cached_property
    def _invariants(self) -> tuple[Poly, ...]:
        """Facts that hold in all calls of some case, and that all further calls inherit."""
        result: dict[Poly, None] = {}
        for step in self.steps:
            for condition in step.case.known if step.case.calls else ():
                weaker = filter(
                    self._is_plausible, iterate_weakened_conditions(condition, self.reach.declaration.quantities)
                )
                first = next((fact for fact in weaker if self._is_inductive(fact, step)), None)
                if first is not None:
                    result[first] = None
        for quantity in self.reach.declaration.quantities:
            heights = (quantity.scaled(share) - WORDS for share in HEIGHT_DIVISORS)
            first = next((fact for fact in heights if any(self._is_inductive(fact, step) for step in self.steps)), None)
            if first is not None:
                result[first] = None
        return tuple(result)

    def _is_plausible(self, value: Poly) -> bool:
        """Test on samples that calls inherit a fact from their caller, and that some sample violates the fact."""
        is_violated, samples = False, self.reach.samples
        for point in samples.points:
            try:
                holds = evaluate(value, point) >= 0
                is_violated = is_violated or not holds
                if holds and any(evaluate(value, call) < 0 for call in samples.find_case_and_calls(point)[1]):
                    return False
            except EvaluationError:
                continue
        return is_violated

    def _is_inductive(self, value: Poly, step: NonFittingCase) -> bool:
        """Test whether it is proved that a fact holds in all calls of a case, and that further calls inherit it."""
        return (
            bool(step.case.calls)
            and self._holds_in_calls(value, step, ())
            and all(self._holds_in_calls(value, any_step, (value,)) for any_step in self.steps)
        )

    def _holds_in_calls(self, value: Poly, step: NonFittingCase, phase: Iterable[Poly]) -> bool:
        situation = self._build_situation(step, phase)
        return all(situation.proves(value.substitute(call)) for call in step.case.calls)

    @cached_property
    def phases(self) -> dict[Phase, tuple[Phase, ...]]:
        """All phases, the initial one first, each with the phases that follow in the calls of each case."""
        result: dict[Phase, tuple[Phase, ...]] = {}
        pending: list[Phase] = [frozenset()]
        while pending:
            phase = pending.pop()
            if phase in result:
                continue
            if len(result) > MAX_PHASES:
                raise NoPotentialError
            result[phase] = tuple(self._derive_next_phase(phase, step) for step in self.steps)
            pending += [successor for successor, step in zip(result[phase], self.steps, strict=True) if step.case.calls]
        return result

    def _derive_next_phase(self, phase: Phase, step: NonFittingCase) -> Phase:
        """Add to a phase the invariants that begin to hold in the calls of a case."""
        inherited = (
            invariant
            for invariant in self._invariants
            if invariant not in phase and self._holds_in_calls(invariant, step, phase)
        )
        return phase | frozenset(inherited)

    # Coefficients
    def _solve_phase(self, phase: Phase, after: Sequence[Phase]) -> tuple[int, ...]:
        """Find the potential of a phase, and return the numbers of its template terms.

        `after` has the phase of the calls of each case, whose potentials are known up to a common factor.
        """
        parts = [
            list(self._iterate_cone_constraints(phase, after, numbers))
            for numbers in self.reach.build_situation(()).iterate_choices()
        ]

        def find_coefficients(used: Sequence[int]) -> tuple[fmpq, ...] | None:
            return _solve_coefficients(
                [[_restrict_to_terms(part, used) for part in constraints] for constraints in parts], 1 + len(used)
            )

        all_terms = range(len(self.template_terms))
        small_choices = (used for count in (1, 2) for used in combinations(all_terms, count))
        used, numbers = next(
            ((choice, trial) for choice in small_choices if (trial := find_coefficients(choice)) is not None),
            (tuple(all_terms), None),
        )
        if numbers is None:
            numbers = find_coefficients(used)
            for form in reversed(all_terms) if numbers is not None else ():
                fewer = tuple(index for index in used if index != form)
                trial = find_coefficients(fewer)
                used, numbers = (used, numbers) if trial is None else (fewer, trial)
        if numbers is None:
            raise NoPotentialError
        increase, *coefficients = numbers
        self.pays = {key: value.scaled(1 + increase) for key, value in self.pays.items()}
        self.pays[phase] = sum_polynomials(
            self.template_terms[index].scaled(number) for index, number in zip(used, coefficients, strict=True)
        )
        return used

    def _iterate_cone_constraints(
        self, phase: Phase, after: Sequence[Phase], numbers: Numbers
    ) -> Iterator[ConeConstraint]:
        """Yield the constraints on the coefficients, with the indices in `numbers` replaced by numbers.

        The first coefficient is the relative increase of the potentials of later phases.
        """
        declared, forms, zeros = (
            self.reach.declaration.facts,
            self.template_terms,
            tuple(ZERO for _ in self.template_terms),
        )

        def build_constraint(facts: Iterable[Poly], later: Poly, gains: Iterable[Poly], due: Poly) -> ConeConstraint:
            first, *rest = (value.substitute(numbers) for value in (later - due, later, *gains))
            return ConeConstraint(
                self._build_cone(tuple(fact.substitute(numbers) for fact in facts)), tuple(rest), first
            )

        if not phase:
            # The outermost call may fit.
            yield build_constraint((*declared, *TALL_CACHE_FACTS), ZERO, forms, self.reached_words * WORDS)
        for step, next_phase in zip(self.steps, after, strict=True):
            facts, calls = (*declared, *step.known, *phase, *TALL_CACHE_FACTS), step.case.calls
            if Situation(tuple(fact.substitute(numbers) for fact in facts), {}, {}).proves(-ONE):
                # The facts contradict each other: the case does not occur.
                continue
            is_same, paid = next_phase == phase, self.pays.get(next_phase, ZERO)
            at_calls = [zeros if not is_same else tuple(form.substitute(call) for form in forms) for call in calls]
            later = [ZERO if is_same else paid.substitute(call) for call in calls]
            gains = [form - sum_polynomials(images) for form, *images in zip(forms, *at_calls, strict=True)]
            yield build_constraint(facts, -sum_polynomials(later), gains, step.fetched * WORDS)
            for call, before, images in zip(calls, later, at_calls, strict=True):
                call_facts = (value.substitute(call) for value in (*declared, *next_phase))
                yield build_constraint(
                    (*facts, *call_facts), before, images, (self.reached_words * WORDS).substitute(call)
                )

    @memoised
    def _build_cone(self, known: tuple[Poly, ...]) -> ProductCone:
        """Build the cone of products of at most two facts: those `known`, and the bounds of floors in them."""
        floors = sorted({atom for fact in known for atom in fact.atoms() if isinstance(atom, a.Floor)}, key=str)
        facts = dict.fromkeys((*known, *(fact for atom in floors for fact in bounds_of_floor(atom))))
        varied = tuple(fact for fact in facts if not fact.is_constant)
        return ProductCone(varied, CONE_DEGREE, frozenset(), len(varied))


def _compute_degree(value: Poly) -> int:
    return max(sum(power for _, power in monomial) for monomial in value.terms)


def _count_composite_atoms(value: Poly) -> int:
    return sum(1 for atom in value.atoms() if atom.parts)


def _restrict_to_terms(part: ConeConstraint, used: Sequence[int]) -> ConeConstraint:
    """Restrict a constraint to the terms `used` and the increase of later phases."""
    return ConeConstraint(part.cone, (part.gains[0], *(part.gains[1 + index] for index in used)), part.rest)


def _solve_coefficients(parts: Sequence[Sequence[ConeConstraint]], count: int) -> tuple[fmpq, ...] | None:
    """Find `count` coefficients for which all constraints are in their cones; None if the search fails.

    `parts` has the constraints for each choice of index values.
    """
    # If one choice of index values is infeasible, the other ones need not be tried.
    if _propose_coefficients(parts[-1], count) is None:
        return None
    nontrivial = [part for constraints in parts for part in constraints if any(part.gains) or part.rest]
    proposal = _propose_coefficients(nontrivial, count)
    if proposal is None:
        return None
    for denominator in ROUNDING_DENOMINATORS:
        numbers = tuple(
            fmpq(math.ceil(value * ROUNDING_MARGIN * denominator), denominator)
            for value in proposal.coefficients.tolist()
        )
        if all(_is_in_cone(part, numbers, weights) for part, weights in zip(nontrivial, proposal.weights, strict=True)):
            return numbers
    return None


def _propose_coefficients(parts: Sequence[ConeConstraint], count: int) -> Proposal | None:
    if not parts:
        return Proposal(np.zeros(count), (), Fraction(0))
    return propose_coefficients(parts, Goal(np.ones(count), np.array([])), [1] * count)


def _is_in_cone(part: ConeConstraint, numbers: Sequence[fmpq], weights: Weights) -> bool:
    margin = part.rest + sum_polynomials(gain.scaled(factor) for gain, factor in zip(part.gains, numbers, strict=True))
    return part.cone.proves(margin, weights)
