"""Invariants of the nodes of a transition system, and potentials that bound how often loops iterate.

A potential has an affine form at each node. For a bound from above, each path from a node to another gives up at least
what it costs: `phi(source) - cost - phi(target after the path)` is nonnegative wherever the constraints of the path and
the invariants of its source are; then `phi(START)` is at least the total. From below the sign changes, nothing else.
By Farkas' lemma each of these conditions is linear in the coefficients of the potential and in multipliers of the
constraints, so that one linear program gives the coefficients, whatever the sizes are; it is solved for a few points of
sizes, and each solution is a bound.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache

import numpy as np

from archline.algebra.effort import spend_effort
from archline.algebra.lp.highs import FREE, NONNEGATIVE, LinearProgram, Matrix, SolverError, index_array
from archline.algebra.polynomial import to_rational
from archline.ir.amortised.elements import Store
from archline.ir.amortised.linear import (
    UNIT,
    Column,
    Linear,
    add_forms,
    constant_form,
    freeze_form,
    register_form,
    scale_form,
    shift_form,
    substitute_form,
)
from archline.ir.amortised.paths import END, START, Transition, TransitionSystem
from archline.ir.amortised.proofs import IsWhole, Proof, Prover
from archline.language import syntax as s
from archline.numbers import fmpq
from archline.records import record, replace

MAX_CANDIDATES = 160
MAX_SLACK = 3
EFFORT_OF_POTENTIAL = 4000

Invariants = Mapping[str, tuple[Linear, ...]]


@record(eq=False)
class StoreProof:
    """Proofs that a write to an array keeps its facts: one for each, or one that no run reaches the write."""

    kept: tuple[Proof | None, ...]
    refuted: Proof | None = None

    def check(self, store: Store, constraints: Sequence[Linear], whole: IsWhole) -> bool:
        """Check the proofs in exact arithmetic."""
        if self.refuted is not None:
            return self.refuted.check(constant_form(-1), constraints, whole)
        proofs = zip(store.needed, self.kept, strict=True)
        return all(proof is not None and proof.check(form, constraints, whole) for form, proof in proofs)


@record(eq=False)
class Induction:
    """Invariants of the nodes of a system, with a proof `kept` of each invariant after each path into its node.

    `stored` proves that each write keeps the facts about its array; None at nodes that no path leads to.
    """

    system: TransitionSystem
    invariants: Invariants
    kept: tuple[tuple[Proof, ...], ...]
    stored: tuple[StoreProof | None, ...] = ()

    def check(self, whole: IsWhole) -> bool:
        """Check all proofs in exact arithmetic."""
        if not check_refuted(self.system, self.invariants, whole):
            return False
        reached = _find_reached(self.system)
        for store, stored in zip(self.system.stores, self.stored, strict=True):
            constraints = _store_constraints(self.system, store, self.invariants)
            if store.source in reached and (stored is None or not stored.check(store, constraints, whole)):
                return False
        for transition, proofs in zip(self.system.transitions, self.kept, strict=True):
            constraints = path_constraints(self.system, transition, self.invariants)
            claims = self.invariants.get(transition.target, ())
            if len(proofs) != len(claims):
                return False
            for invariant, proof in zip(claims, proofs, strict=True):
                if not proof.check(substitute_form(invariant, transition.update), constraints, whole):
                    return False
        return True


@record(eq=False)
class Balance:
    """A potential of a system, with the proofs that it pays for the iterations of some loops on every path.

    `steps` proves the condition of the potential on each path, with `sign` 1 for a bound from above, -1 for one from
    below.
    """

    induction: Induction
    loops: frozenset[s.Loop | s.While]
    sign: int
    potentials: Mapping[str, Linear]
    steps: tuple[Proof, ...]

    @property
    def bound(self) -> Linear:
        """The bound on the number of all iterations, in sizes."""
        return self.potentials[START]

    def check(self, whole: IsWhole) -> bool:
        """Check all proofs in exact arithmetic."""
        return self.induction.check(whole) and self.check_steps(whole)

    def check_steps(self, whole: IsWhole) -> bool:
        """Check exactly that the potential pays on each path, if the invariants hold."""
        if any(isinstance(column, str) for column in self.bound) or self.potentials[END]:
            return False
        system, invariants = self.induction.system, self.induction.invariants
        return all(
            step.check(
                _state_condition(transition, self.potentials, self.loops, self.sign),
                path_constraints(system, transition, invariants),
                whole,
            )
            for transition, step in zip(system.transitions, self.steps, strict=True)
        )


def path_constraints(system: TransitionSystem, transition: Transition, invariants: Invariants) -> tuple[Linear, ...]:
    """Return the forms that are nonnegative on a path; the invariants come last."""
    return (*transition.constraints, *system.facts, *invariants.get(transition.source, ()))


def _store_constraints(system: TransitionSystem, store: Store, invariants: Invariants) -> tuple[Linear, ...]:
    """Return the forms that are nonnegative where a path writes to an element."""
    return (*store.constraints, *system.facts, *invariants.get(store.source, ()))


def _find_reached(system: TransitionSystem) -> set[str]:
    """Find the nodes that paths lead to."""
    return {START, *(transition.target for transition in system.transitions)}


def find_lost_facts(system: TransitionSystem, stored: Sequence[StoreProof | None]) -> set[tuple[str, int]]:
    """Find the facts about arrays, by their numbers, that a write may not keep: those without a proof in `stored`."""
    return {
        (store.array, number)
        for store, proofs in zip(system.stores, stored, strict=True)
        if proofs is not None and proofs.refuted is None
        for number, proof in enumerate(proofs.kept)
        if proof is None
    }


def prove_stores(system: TransitionSystem, invariants: Invariants, whole: IsWhole) -> tuple[StoreProof | None, ...]:
    """Return, for each write to an array, proofs that it keeps the facts; None at nodes that no path leads to."""
    reached = _find_reached(system)

    def prove_store(store: Store) -> StoreProof | None:
        if store.source not in reached:
            return None
        prover = Prover(_store_constraints(system, store, invariants), whole)
        proofs = tuple(map(prover.prove, store.needed))
        return StoreProof(proofs, prover.refute() if None in proofs else None)

    return tuple(map(prove_store, system.stores))


def check_refuted(system: TransitionSystem, invariants: Invariants, whole: IsWhole) -> bool:
    """Check exactly that no run takes a path that is left out: its constraints are contradictory, or none enters it."""
    reached = _find_reached(system)
    return all(
        transition.source not in reached
        if proof is None
        else proof.check(constant_form(-1), path_constraints(system, transition, invariants), whole)
        for transition, proof in system.refuted
    )


def _state_condition(
    transition: Transition, potentials: Mapping[str, Linear], loops: frozenset[s.Loop | s.While], sign: int
) -> Linear:
    """Return the form that is nonnegative on a path exactly if the potential pays for it."""
    after = substitute_form(potentials[transition.target], transition.update)
    paid = add_forms(potentials[transition.source], after, -1)
    return scale_form(shift_form(paid, -_count_entries(transition, loops)), sign)


def _count_entries(transition: Transition, loops: frozenset[s.Loop | s.While]) -> int:
    """Count the iterations of some loops that a path begins."""
    return sum(loop in loops for loop in transition.entered)


# Invariants
def find_invariants(system: TransitionSystem, whole: IsWhole) -> tuple[TransitionSystem, Invariants]:
    """Find invariants of the nodes: the candidates that every path keeps. Paths that none can take are left out.

    Candidates that some path does not keep are dropped until none is (C. Flanagan, K. Leino, Houdini, 2001).
    """
    system = _drop_infeasible(system, {}, whole)
    candidates = tuple(_list_candidates(system))[:MAX_CANDIDATES]
    invariants: dict[str, tuple[Linear, ...]] = {}
    # For each path and each form that it keeps: the invariants of its source that the proof uses.
    uses: dict[tuple[int, int], frozenset[int]] = {}
    changed = {START}
    while changed:
        sources, changed = changed, set()
        for place, transition in enumerate(system.transitions):
            target = transition.target
            if transition.source not in sources or (target in invariants and not invariants[target]):
                continue
            prover = Prover(path_constraints(system, transition, invariants), whole)
            claims = invariants.get(target, candidates if target != END else ())
            held = list(map(id, invariants.get(transition.source, ())))
            first = len(prover.constraints) - len(held)
            proved: tuple[Linear, ...] = ()
            for form in claims:
                used = uses.get((place, id(form)))
                if used is None or not used <= set(held):
                    proof = prover.prove(substitute_form(form, transition.update))
                    if proof is None:
                        continue
                    uses[place, id(form)] = frozenset(
                        held[index - first] for index in proof.multipliers if index >= first
                    )
                proved = (*proved, form)
            # Where constraints contradict each other, all forms hold.
            if (target not in invariants or len(proved) < len(claims)) and prover.refute() is None:
                invariants[target] = proved
                changed.add(target)
    thin = {node: _drop_implied(forms, system, whole) for node, forms in invariants.items()}
    return _drop_unreached(_drop_infeasible(system, thin, whole)), thin


def _drop_unreached(system: TransitionSystem) -> TransitionSystem:
    """Leave out the nodes that no path from START leads to, and the paths from them."""
    reached = {START}
    while more := {path.target for path in system.transitions if path.source in reached} - reached:
        reached |= more
    return replace(
        system,
        loops={node: loop for node, loop in system.loops.items() if node in reached},
        transitions=tuple(path for path in system.transitions if path.source in reached),
        refuted=(*system.refuted, *((path, None) for path in system.transitions if path.source not in reached)),
    )


def _drop_infeasible(system: TransitionSystem, invariants: Invariants, whole: IsWhole) -> TransitionSystem:
    """Leave out the paths whose constraints contradict each other, and keep the proofs of that."""
    feasible: list[Transition] = []
    refuted = list(system.refuted)
    for transition in system.transitions:
        proof = Prover(path_constraints(system, transition, invariants), whole).refute()
        if proof is None:
            feasible.append(transition)
        else:
            refuted.append((transition, proof))
    return replace(system, transitions=tuple(feasible), refuted=tuple(refuted))


def _drop_implied(forms: tuple[Linear, ...], system: TransitionSystem, whole: IsWhole) -> tuple[Linear, ...]:
    remaining = list(forms)
    for form in forms:
        rest = [member for member in remaining if member is not form]
        if Prover((*rest, *system.facts), whole).prove(form) is not None:
            remaining = rest
    return tuple(remaining)


def _list_candidates(system: TransitionSystem) -> Iterator[Linear]:
    """Yield forms that may be invariants: tests, near or opposite ones, and differences of registers and sizes."""
    keys: set[frozenset[tuple[Column, fmpq]]] = set()
    used = {column for transition in system.transitions for form in transition.constraints for column in form}
    registers = [name for name in system.registers if name in used]
    for form in _generate_candidates(system, registers):
        key = freeze_form(form)
        if key not in keys and any(isinstance(column, str) for column in form):
            keys.add(key)
            yield form


def _generate_candidates(system: TransitionSystem, registers: Sequence[str]) -> Iterator[Linear]:
    tests = [
        form
        for transition in system.transitions
        if transition.source != START
        for form in transition.constraints
        if all(not isinstance(column, str) or not column.startswith("?") for column in form)
    ]
    for form in tests:
        for slack in range(MAX_SLACK + 1):
            yield shift_form(form, slack)
    starts = [
        form
        for transition in system.transitions
        if transition.source == START
        for form in transition.update.values()
        if not any(isinstance(column, str) for column in form)
    ]
    sizes = {column: None for form in tests for column in form if not isinstance(column, str) and column != UNIT}
    size_forms: list[Linear] = [{column: fmpq(1)} for column in sizes]
    tops: list[Linear] = [{}, constant_form(1), *starts, *size_forms]
    for name in registers:
        for top in tops:
            yield add_forms(register_form(name), top, -1)
            yield add_forms(top, register_form(name), -1)
    for first in registers:
        for second in registers:
            if first != second:
                difference = add_forms(register_form(first), register_form(second), -1)
                yield difference
                yield shift_form(difference, -1)
                yield shift_form(difference, 1)
    yield from _compare_multiplied(system, tests, registers)
    for form in tests:
        for slack in range(MAX_SLACK):
            yield shift_form(scale_form(form, -1), slack - 1)


def _compare_multiplied(
    system: TransitionSystem, tests: Sequence[Linear], registers: Sequence[str]
) -> Iterator[Linear]:
    """Yield c*y - x, and slightly more, where x becomes c*x, and tests compare it with y: a table that doubles."""
    factors = {
        (name, form[name])
        for transition in system.transitions
        for name, form in transition.update.items()
        if name in registers and form.get(name, 1) > 1 and form.keys() <= {name, UNIT}
    }
    for multiplied, factor in sorted(factors):
        compared = {name for form in tests if multiplied in form for name in registers if name in form}
        for name in sorted(compared - {multiplied}):
            for slack in range(MAX_SLACK):
                least = add_forms(scale_form(register_form(name), factor), register_form(multiplied), -1)
                yield shift_form(least, slack)


def prove_induction(
    system: TransitionSystem, invariants: Invariants, stored: tuple[StoreProof | None, ...], whole: IsWhole
) -> Induction | None:
    """Return the proofs that every path keeps the invariants, with those about writes; None if one is missing."""
    proofs: list[tuple[Proof, ...]] = []
    for transition in system.transitions:
        prover = Prover(path_constraints(system, transition, invariants), whole)
        claims = (substitute_form(form, transition.update) for form in invariants.get(transition.target, ()))
        proofs.append(tuple(proof for proof in map(prover.prove, claims) if proof is not None))
    induction = Induction(system, invariants, tuple(proofs), stored)
    return induction if induction.check(whole) else None


# Potentials
def find_balances(
    induction: Induction,
    loops: Iterable[s.Loop | s.While],
    sign: int,
    points: Sequence[Mapping[Column, float]],
    whole: IsWhole,
) -> Iterator[Balance]:
    """Yield balances for the iterations of some loops, one for each point of sizes; each gives a valid bound."""
    counted = frozenset(loops)
    system, invariants = induction.system, induction.invariants
    program = _PotentialProgram(system, invariants, counted, sign)
    provers = _make_provers(induction, whole)
    bounds_found: set[frozenset[tuple[Column, fmpq]]] = set()
    for point in points:
        for potentials in program.propose_potentials(point):
            key = freeze_form(potentials[START])
            if key in bounds_found:
                break
            steps = [
                prover.prove(_state_condition(transition, potentials, counted, sign))
                for transition, prover in zip(system.transitions, provers, strict=True)
            ]
            if None in steps:
                continue
            balance = Balance(induction, counted, sign, potentials, tuple(step for step in steps if step is not None))
            if balance.check_steps(whole):
                bounds_found.add(key)
                yield balance
                break


@lru_cache(maxsize=4)
def _make_provers(induction: Induction, whole: IsWhole) -> tuple[Prover, ...]:
    """Make the provers of the paths, whose programs serve for all loops."""
    system = induction.system
    return tuple(Prover(path_constraints(system, path, induction.invariants), whole) for path in system.transitions)


def find_stuck_path(induction: Induction, loop: s.Loop | s.While) -> Transition | None:
    """Return the first path through an iteration of a loop on which no nonnegative potential falls; None if none is."""
    system = induction.system
    for path in system.transitions:
        if path.source != path.target or system.loops[path.source] is not loop:
            continue
        # On a path to the end the potential is not negative.
        alone = replace(system, transitions=(path, replace(path, target=END, entered=(), update={})))
        program = _PotentialProgram(alone, induction.invariants, frozenset((loop,)), 1)
        if not any(program.propose_potentials({})):
            return path
    return None


def move_to_feasible(system: TransitionSystem, point: Mapping[Column, float]) -> Mapping[Column, float]:
    """Return a point of sizes near another one where the facts and all that is known at START may hold.

    Elsewhere no bound is the sharpest: what the facts say is less than 0 could be added any number of times.
    """
    starts = [path.constraints for path in system.transitions if path.source == START]
    known = [form for form in starts[0] if all(form in forms for forms in starts)] if starts else []
    forms = (*system.facts, *known)
    columns = list(dict.fromkeys(column for form in (point, *forms) for column in form if column != UNIT))
    entries: list[tuple[int, int, float]] = []
    low: list[float] = []
    for form in forms:
        entries += [(len(low), columns.index(column), float(n)) for column, n in form.items() if column != UNIT]
        low.append(-float(form.get(UNIT, 0)))
    if not entries:
        return point
    width = len(columns)
    for place, column in enumerate(columns):
        if column in point:
            # The distance in this column is at least the difference, and its opposite.
            for sign in (1.0, -1.0):
                entries += [(len(low), width + place, 1.0), (len(low), place, sign)]
                low.append(sign * point[column])
    rows, places, numbers = zip(*entries, strict=True)
    matrix = Matrix(index_array(rows), index_array(places), np.array(numbers), (len(low), 2 * width))
    aim = np.concatenate([np.zeros(width), np.ones(width)])
    try:
        ends = [FREE] * width + [NONNEGATIVE] * width
        solution = LinearProgram(aim, matrix, np.array(low), np.full(len(low), np.inf), ends).solve()
    except (SolverError, OverflowError):
        return point
    if solution is None:
        return point
    return {column: float(solution[columns.index(column)]) if column != UNIT else 1.0 for column in point}


class _PotentialProgram:
    """The linear program whose solutions are potentials: their coefficients, and multipliers for each path."""

    def __init__(
        self, system: TransitionSystem, invariants: Invariants, loops: frozenset[s.Loop | s.While], sign: int
    ) -> None:
        self._system, self._sign = system, sign
        self._places: dict[tuple[str, Column], int] = {}
        sizes: dict[Column, None] = {UNIT: None}
        for transition in system.transitions:
            for form in (*path_constraints(system, transition, invariants), *transition.update.values()):
                sizes.update(dict.fromkeys(column for column in form if not isinstance(column, str)))
        registers = _used_registers(system)
        for node in (START, *system.nodes):
            for column in (*sizes, *(registers if node != START else ())):
                self._places[node, column] = len(self._places)
        rows: list[int] = []
        columns: list[int] = []
        numbers: list[float] = []
        right: list[float] = []
        width = len(self._places)
        for transition in system.transitions:
            # The condition of the potential, column by column, is a sum of constraints times multipliers.
            entries: dict[Column, dict[int, fmpq]] = {}
            for node, factor, update in ((transition.source, sign, {}), (transition.target, -sign, transition.update)):
                for (owner, column), place in self._places.items():
                    if owner != node:
                        continue
                    form = update.get(column, {column: fmpq(1)}) if isinstance(column, str) else {column: fmpq(1)}
                    for inner, number in form.items():
                        entry = entries.setdefault(inner, {})
                        entry[place] = entry.get(place, fmpq(0)) + factor * number
            constraints = path_constraints(system, transition, invariants)
            for index, form in enumerate((*constraints, constant_form(1))):
                for column, number in form.items():
                    entries.setdefault(column, {})[width + index] = -number
            width += len(constraints) + 1
            for column, entry in entries.items():
                for place, number in entry.items():
                    rows.append(len(right))
                    columns.append(place)
                    numbers.append(float(number))
                right.append(float(sign * _count_entries(transition, loops)) if column == UNIT else 0.0)
        self._matrix = Matrix(
            index_array(rows), index_array(columns), np.array(numbers, dtype=float), (len(right), width)
        )
        self._right = np.array(right)
        self._width = width
        self._program: LinearProgram | None = None

    def propose_potentials(self, point: Mapping[Column, float]) -> Iterator[Mapping[str, Linear]]:
        """Yield roundings of the potential that gives the sharpest bound at a point of sizes; none if there is none."""
        spend_effort(EFFORT_OF_POTENTIAL)
        aim = np.zeros(self._width)
        for (node, column), place in self._places.items():
            if node == START:
                aim[place] = self._sign * point.get(column, 1.0)
        free = len(self._places)
        ends = [FREE] * free + [NONNEGATIVE] * (self._width - free)
        try:
            if self._program is None:
                self._program = LinearProgram(aim, self._matrix, self._right, self._right, ends)
            self._program.set_objective(aim)
        except (SolverError, OverflowError):
            return
        solution = self._program.solve()
        if solution is None:
            return
        for denominator in (12, 1000):
            potentials: dict[str, Linear] = {node: {} for node in (START, *self._system.nodes, END)}
            for (node, column), place in self._places.items():
                coefficient = to_rational(Fraction(float(solution[place])).limit_denominator(denominator))
                if coefficient:
                    potentials[node][column] = coefficient
            yield potentials


def _used_registers(system: TransitionSystem) -> tuple[str, ...]:
    """Return the registers that tests or updates of others read."""
    used = {
        column
        for transition in system.transitions
        for form in (
            *transition.constraints,
            *(form for name, form in transition.update.items() if form != register_form(name)),
        )
        for column in form
    }
    return tuple(name for name in system.registers if name in used)
