"""Registers that count halvings and doublings: rounded logarithms of affine forms that shrink or grow by factors.

    while lo < hi:                 # hi - lo is halved by each path through the body, so that its logarithm falls by 1,
        mid = (lo + hi)//2         # and it is not negative while the loop runs: at most ceil(log2(n + 1)) iterations.
        if a[mid] < key: lo = mid + 1
        else: hi = mid

For a form d, log(d) is floor(log2(d)), and -1 where d is less than 1. It never falls as d grows, so that a relation of
d before and after a path, which constraints prove, is one of the logarithms: if 2*d' <= d, then log(d') <= log(d) - 1.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

from archline.algebra import atoms as a
from archline.ir.amortised.linear import (
    Linear,
    add_forms,
    form_to_poly,
    freeze_form,
    has_registers,
    register_form,
    scale_form,
    shift_form,
    size_form,
    substitute_form,
)
from archline.ir.amortised.paths import START, Transition, TransitionSystem
from archline.ir.amortised.potentials import Invariants, check_refuted, path_constraints
from archline.ir.amortised.proofs import IsWhole, Proof, Prover, is_whole
from archline.records import record, replace

MAX_FORMS = 6
MAX_SHIFT = 2
"""Logarithms of d, d + 1 and d + 2 are followed: with rounding, (d + 2)/2 bounds from below what d/2 does not."""
MAX_NUMBER = 3
"""Values of forms that are compared with numbers up to this one."""


@record(eq=False)
class Logarithm:
    """The register `name` is log(`form`)."""

    name: str
    form: Linear


@record(eq=False)
class Rule:
    """A constraint on logarithms, which is nonnegative on each path where all of `needs` are.

    `factor` tells that it counts a halving or a doubling.
    """

    needs: tuple[Linear, ...]
    constraint: Linear
    factor: bool = False


@record(eq=False)
class Logarithms:
    """The logarithms that extend a system, and for each of its paths the rules on it with the proofs of their needs."""

    base: TransitionSystem
    invariants: Invariants
    registers: tuple[Logarithm, ...]
    rules: tuple[tuple[tuple[Rule, tuple[Proof, ...]], ...], ...]

    def check(self, system: TransitionSystem, whole: IsWhole) -> bool:
        """Check exactly that the paths of the extended system have no other constraints than rules whose needs hold."""
        if not check_refuted(self.base, self.invariants, whole):
            return False
        for transition, extended, rules in zip(self.base.transitions, system.transitions, self.rules, strict=True):
            allowed = {
                (freeze_form(rule.constraint), tuple(map(freeze_form, rule.needs)))
                for logarithm in self.registers
                for rule in _list_rules(self.base, transition, logarithm)
            }
            constraints = path_constraints(self.base, transition, self.invariants)
            for rule, proofs in rules:
                if (freeze_form(rule.constraint), tuple(map(freeze_form, rule.needs))) not in allowed:
                    return False
                if not all(
                    proof.check(need, constraints, whole) for need, proof in zip(rule.needs, proofs, strict=True)
                ):
                    return False
            added = extended.constraints[len(transition.constraints) :]
            if extended.constraints[: len(transition.constraints)] != transition.constraints or list(added) != [
                rule.constraint for rule, _ in rules
            ]:
                return False
        return True


def extend_by_logarithms(
    system: TransitionSystem, invariants: Invariants, whole: IsWhole
) -> tuple[TransitionSystem, Logarithms] | None:
    """Add registers for the logarithms of the forms that a path halves or doubles; None if there are none."""
    provers = [Prover(path_constraints(system, path, invariants), whole) for path in system.transitions]
    logarithms_used: list[Logarithm] = []
    rules: list[list[tuple[Rule, tuple[Proof, ...]]]] = [[] for _ in system.transitions]
    for number, form in enumerate(_list_forms(system, invariants, whole)):
        logarithms = [Logarithm(f"log {number} + {shift}", shift_form(form, shift)) for shift in range(MAX_SHIFT + 1)]
        if not any(
            any(_prove_rules(system, path, logarithms[0], prover, only_factors=True))
            for path, prover in zip(system.transitions, provers, strict=True)
            if path.source == path.target
        ):
            continue
        logarithms_used += logarithms
        for place, (path, prover) in enumerate(zip(system.transitions, provers, strict=True)):
            for logarithm in logarithms:
                rules[place] += _prove_rules(system, path, logarithm, prover)
        if len(logarithms_used) >= MAX_FORMS * (MAX_SHIFT + 1):
            break
    if not logarithms_used:
        return None
    transitions = tuple(
        replace(
            path,
            constraints=(*path.constraints, *(rule.constraint for rule, _ in on_path)),
            update={
                **path.update,
                **{logarithm.name: register_form(_name_value_after(logarithm)) for logarithm in logarithms_used},
            },
        )
        for path, on_path in zip(system.transitions, rules, strict=True)
    )
    extended = replace(
        system,
        transitions=transitions,
        registers=(*system.registers, *(logarithm.name for logarithm in logarithms_used)),
        stores=(),
        refuted=(),
    )
    return extended, Logarithms(system, invariants, tuple(logarithms_used), tuple(map(tuple, rules)))


def _list_forms(system: TransitionSystem, invariants: Invariants, whole: IsWhole) -> Iterator[Linear]:
    """Yield forms of whole values that are at least 1 at some node: invariants plus 1, and registers that scale.

    That such a register is positive may follow from several invariants.
    """
    scaled = [
        register_form(name)
        for name in system.registers
        if any(
            path.source == path.target and has_registers(add_forms(path.update[name], register_form(name), -1))
            for path in system.transitions
        )
    ]
    provers = [Prover(forms, whole) for forms in invariants.values()]
    below = [shift_form(form, -1) for form in scaled]
    positive = [form for form in below if any(prover.prove(form) is not None for prover in provers)]
    keys = set()
    for forms in (*invariants.values(), positive, scaled):
        for form in forms:
            key = freeze_form(form)
            if key not in keys and has_registers(form) and is_whole(form, whole):
                keys.add(key)
                yield shift_form(form, 1)


def _name_value_after(logarithm: Logarithm) -> str:
    """Return the name of the value of a logarithm after a path."""
    return f"?{logarithm.name}"


def _prove_rules(
    system: TransitionSystem, path: Transition, logarithm: Logarithm, prover: Prover, only_factors: bool = False
) -> Iterator[tuple[Rule, tuple[Proof, ...]]]:
    for rule in _list_rules(system, path, logarithm):
        if only_factors and not rule.factor:
            continue
        proofs = tuple(prover.prove(need) for need in rule.needs)
        if None not in proofs:
            yield rule, tuple(proof for proof in proofs if proof is not None)


def _list_rules(system: TransitionSystem, path: Transition, logarithm: Logarithm) -> Iterator[Rule]:
    """Yield the rules that relate a logarithm before and after a path to each other, to sizes and to numbers."""
    later, after = register_form(_name_value_after(logarithm)), substitute_form(logarithm.form, path.update)
    yield Rule((), shift_form(later, 1))
    yield from _compare_with_sizes(system, later, after)
    if path.source == START:
        return
    now, before = register_form(logarithm.name), logarithm.form
    yield from _compare_with_sizes(system, now, before)
    yield Rule((), shift_form(now, 1))
    falls, rises = add_forms(now, later, -1), add_forms(later, now, -1)
    if after == before:
        yield Rule((), falls)
        yield Rule((), rises)
        return
    positive = (shift_form(before, -1),)
    # If d' <= 2^k*d, then log(d') <= log(d) + k; if d <= 2^k*d', then log(d) <= log(d') + k.
    for k in (-1, 0, 1, 2):
        above = add_forms(_scale_by_power(before, k), _scale_by_power(after, -k), -1)
        yield Rule((*positive, above), shift_form(falls, k), k == -1)
        below = add_forms(_scale_by_power(after, k), _scale_by_power(before, -k), -1)
        yield Rule((*positive, below), shift_form(rises, k), k == -1)


def _scale_by_power(form: Linear, exponent: int) -> Linear:
    return scale_form(form, 2 ** max(0, exponent))


def _compare_with_sizes(system: TransitionSystem, logarithm: Linear, form: Linear) -> Iterator[Rule]:
    """Yield rules that bound the logarithm of a form by the logarithms of sizes and numbers."""
    if not has_registers(form):
        level = _size_logarithm(form)
        yield Rule((), add_forms(level, logarithm, -1))
        yield Rule((), add_forms(logarithm, level, -1))
        return
    for number in range(MAX_NUMBER + 1):
        power = number.bit_length() - 1
        yield Rule((shift_form(scale_form(form, -1), number),), shift_form(scale_form(logarithm, -1), power))
        yield Rule((shift_form(form, -number),), shift_form(logarithm, -power))
    for size in _list_sizes(system):
        level = _size_logarithm(size)
        yield Rule((add_forms(size, form, -1),), add_forms(level, logarithm, -1))
        yield Rule((add_forms(form, size, -1),), add_forms(logarithm, level, -1))


@lru_cache(maxsize=4)
def _list_sizes(system: TransitionSystem) -> Sequence[Linear]:
    """List the forms in sizes alone that registers start with, or are compared with."""
    sizes: dict[frozenset[object], Linear] = {}
    facts = set(map(freeze_form, system.facts))
    for path in system.transitions:
        for form in path.constraints:
            size: Linear = {column: number for column, number in form.items() if not isinstance(column, str) and column}
            if not has_registers(form):
                continue
            if len(size) == 1:
                size = {column: abs(number) for column, number in size.items()}
            elif freeze_form(size) not in facts:
                # The difference of two sizes may be negative.
                continue
            sizes.setdefault(frozenset(size.items()), size)
    return tuple(sizes.values())[:2]


def _size_logarithm(form: Linear) -> Linear:
    """Return floor(log2(e)), and -1 where e is less than 1, for an expression e in sizes."""
    return size_form(a.ceil_log2(form_to_poly(form) + 1) - 1)
