"""Bound the iterations of the loops of an algorithm in a whole call, in its sizes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import reduce
from itertools import product

from archline.algebra import atoms as a
from archline.algebra.effort import OutOfBudgetError, TooComplexError, limit_effort
from archline.algebra.evaluate.exact import evaluate
from archline.algebra.facts import Facts
from archline.algebra.polynomial import ONE, ZERO, Poly
from archline.expr.intervals import EvaluationError
from archline.ir.amortised.calls import iterate_loops, replace_calls
from archline.ir.amortised.elements import Integers, find_integers, list_candidates
from archline.ir.amortised.linear import UNIT, Column, Linear, form_to_poly, freeze_form, size_form
from archline.ir.amortised.logarithms import Logarithms, extend_by_logarithms
from archline.ir.amortised.paths import TooManyPathsError, TransitionSystem, build_transitions, size_columns
from archline.ir.amortised.potentials import (
    Balance,
    Induction,
    find_balances,
    find_invariants,
    find_lost_facts,
    find_stuck_path,
    move_to_feasible,
    prove_induction,
    prove_stores,
)
from archline.ir.amounts import KnownAmount, exact_amount, scale_amount
from archline.ir.conditions import scope_after
from archline.ir.counters import count_while
from archline.ir.declarations import declared_scope
from archline.ir.ranges import IterationRange, static_range
from archline.ir.scope import NotStaticError, Scope
from archline.language import syntax as s
from archline.language.model import Module
from archline.numbers import fmpq
from archline.records import field, record, replace

MAX_EFFORT = 1_000_000
"""The effort, in term products, for the loops of an algorithm."""
LARGE_SIZE, SMALL_SIZE, LEAST_SIZE = 1000, 40, 3
"""The sizes for which bounds are minimised: all large, one large or small, all near their least."""
TRIED_SIZES = (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 16, 31, 100)
"""Sizes at which a bound from below is compared with one from above."""


@record(eq=False)
class TotalBounds:
    """Bounds of the iterations of loops in a whole call: of each loop, and of all together, with their certificates.

    `held` are forms that are nonnegative at the start of each iteration of a loop; all writes to an array keep its
    `facts`; `inductions` prove both. `reasons` say why loops have no bound.
    """

    loops: Mapping[s.Loop | s.While, KnownAmount]
    together: KnownAmount | None
    balances: tuple[Balance, ...]
    held: Mapping[s.Loop | s.While, tuple[Linear, ...]] = field(default_factory=dict)
    facts: Mapping[str, tuple[Linear, ...]] = field(default_factory=dict)
    inductions: tuple[Induction, ...] = ()
    reasons: Mapping[s.Loop | s.While, str] = field(default_factory=dict)


NO_BOUNDS = TotalBounds({}, None, ())
OUT_OF_EFFORT = "the effort to derive a bound was used up"
UNPROVED = "a proof of what holds in its iterations was not found"
TOO_MANY_PATHS = "its algorithm has more paths than are followed"


def bound_totals(module: Module, algorithm: s.Algorithm, loops: Iterable[s.Loop | s.While]) -> TotalBounds:
    """Bound the iterations of some loops of an algorithm; loops without a bound from above are left out."""
    scope = declared_scope(module, algorithm)
    inlined = replace_calls(module, algorithm)
    covered = set(loops) - {loop for target in inlined.uncovered for loop in iterate_loops(target.body)}
    derived = _bound_in_body(algorithm, inlined.body, scope, inlined.origins, covered)
    if not derived.loops and inlined.body != algorithm.body:
        # With the paths through the algorithms that it calls there may be too many.
        derived = _bound_in_body(algorithm, algorithm.body, scope, {}, covered)
    return derived


def _bound_in_body(
    algorithm: s.Algorithm,
    body: Sequence[s.Stmt],
    scope: Scope,
    origins: Mapping[s.Loop | s.While, s.Loop | s.While],
    loops: Collection[s.Loop | s.While],
) -> TotalBounds:
    """Bound the iterations of loops in a body in which `origins` maps copies to the loops that they stand for."""
    copies = tuple(loop for loop in iterate_loops(body) if origins.get(loop, loop) in loops)
    with limit_effort(MAX_EFFORT, own=True):
        integers = find_integers(algorithm, body)
        integers = replace(integers, facts=list_candidates(algorithm, body, integers), proved=False)
        derived = _bound_in_block(body, scope, integers, copies)
        derived = replace(derived, loops={**derived.loops, **_find_smaller_sums(body, scope, derived.loops)})
    totals: dict[s.Loop | s.While, KnownAmount] = {}
    for loop in loops:
        amounts = [derived.loops.get(copy) for copy in copies if origins.get(copy, copy) is loop]
        bounded = [amount for amount in amounts if amount is not None]
        if bounded and len(bounded) == len(amounts):
            totals[loop] = KnownAmount(
                sum((amount.lower for amount in bounded), ZERO), sum((amount.upper for amount in bounded), ZERO)
            )
    reasons = {origins.get(copy, copy): reason for copy, reason in derived.reasons.items()}
    return replace(derived, loops=totals, reasons=reasons)


def _find_smaller_sums(
    body: Sequence[s.Stmt], scope: Scope, loops: Mapping[s.Loop | s.While, KnownAmount]
) -> dict[s.Loop | s.While, KnownAmount]:
    """Return sums of the bounds by counters on each execution of a loop, where they are less than those in `loops`.

    An inner loop from i that doubles up to n has log2(n/i) iterations, in all at most 2*n.
    """
    logarithmic = {loop: amount for loop, amount in loops.items() if _is_logarithmic(amount)}
    smaller: dict[s.Loop | s.While, KnownAmount] = {}
    if not logarithmic:
        return smaller
    with suppress(OutOfBudgetError, TooComplexError):
        for loop, upper in _iterate_sums_of_counts(body, scope):
            if (amount := logarithmic.get(loop)) is not None:
                sizes = dict.fromkeys(upper.names | amount.upper.names, LARGE_SIZE)
                with suppress(OverflowError, EvaluationError):
                    if evaluate(upper, sizes) < evaluate(amount.upper, sizes):
                        smaller[loop] = KnownAmount(amount.lower, upper)
    return smaller


def _iterate_sums_of_counts(body: Sequence[s.Stmt], scope: Scope) -> Iterator[tuple[s.While, Poly]]:
    """Yield the loops in a block, inside loops with ranges, with the sums of their bounds by counters."""
    for outer, _, around in _iterate_outer_loops(body, scope):
        range_, inner, _ = _enter_loop(outer, around)
        if range_ is not None:
            if isinstance(outer, s.While):
                yield outer, range_.trips
            for loop, upper in _iterate_sums_of_counts(outer.body, inner):
                if isinstance(total := range_.sum(exact_amount(upper)), KnownAmount):
                    yield loop, scope.facts.simplify(total.upper)


def _try_derivation(derive: Callable[[], TotalBounds], loops: Iterable[s.Loop | s.While]) -> TotalBounds:
    """Derive bounds on the iterations of some loops; if that fails, there are none, for a reason."""
    try:
        return derive()
    except TooManyPathsError:
        reason = TOO_MANY_PATHS
    except (TooComplexError, OutOfBudgetError):
        reason = OUT_OF_EFFORT
    return replace(NO_BOUNDS, reasons=dict.fromkeys(loops, reason))


def _bound_in_block(
    body: Sequence[s.Stmt],
    scope: Scope,
    integers: Integers,
    loops: tuple[s.Loop | s.While, ...],
    known: tuple[Linear, ...] = (),
) -> TotalBounds:
    """Bound the iterations of loops in one execution of a block, by potentials, or by the loops around them.

    `known` are forms that are nonnegative where it begins.
    """
    derived = _try_derivation(lambda: _bound_by_potentials(body, scope, integers, loops, known), loops)
    amounts, reasons = dict(derived.loops), dict(derived.reasons)
    # Facts that are not proved here are not to be used inside.
    integers = integers if integers.proved else replace(integers, facts=derived.facts, proved=True)
    outermost = list(_iterate_outer_loops(body, scope))
    if doubled := tuple(
        loop for loop, _, _ in outermost if loop in loops and _may_shrink_in_two(loop, amounts.get(loop))
    ):
        twice = _try_derivation(lambda: _bound_by_potentials(body, scope, integers, doubled, known, doubled), doubled)
        amounts |= {
            loop: amount for loop, amount in twice.loops.items() if loop not in amounts or _is_logarithmic(amount)
        }
        derived = replace(derived, balances=(*derived.balances, *twice.balances))
    balances, inductions = list(derived.balances), list(derived.inductions)
    for outer, certain, around in outermost:
        if outer in loops and outer not in amounts and isinstance(outer, s.While):
            with suppress(OutOfBudgetError):
                if (counted := count_while(outer, around)) is not None:
                    amounts[outer] = KnownAmount(counted.least if certain else ZERO, counted.range.trips)
        inside = tuple(loop for loop in loops if loop not in amounts and loop in s.iterate_nodes(outer.body))
        if inside:
            held = derived.held.get(outer, ())

            def bound_inside(
                outer: s.Loop | s.While = outer,
                certain: bool = certain,
                around: Scope = around,
                inside: tuple[s.Loop | s.While, ...] = inside,
                held: tuple[Linear, ...] = held,
            ) -> TotalBounds:
                return _bound_in_loop(outer, certain, around, integers, inside, amounts, held)

            nested = _try_derivation(bound_inside, inside)
            amounts.update(nested.loops)
            reasons.update(nested.reasons)
            balances += nested.balances
            inductions += nested.inductions
    together = derived.together if amounts == derived.loops else None
    reasons = {loop: reason for loop, reason in reasons.items() if loop not in amounts}
    return TotalBounds(amounts, together, tuple(balances), derived.held, derived.facts, tuple(inductions), reasons)


def _may_shrink_in_two(loop: s.Loop | s.While, amount: KnownAmount | None) -> bool:
    """Test whether two iterations of a loop may do what one does not: halve a value that passes through registers."""
    if not isinstance(loop, s.While) or (amount is not None and _is_logarithmic(amount)):
        return False
    return not any(isinstance(inner, s.Loop | s.While) for inner in s.iterate_nodes(loop.body)) and _scales_registers(
        loop
    )


def _scales_registers(loop: s.While) -> bool:
    """Test whether a loop may halve or double registers from outside: it moves them by more than numbers."""
    inside = {node.name for node in s.find_nodes(loop.body, s.Local)}
    changed = s.find_assigned_names(loop.body) | inside
    return any(
        isinstance(node.target, s.Name)
        and node.target.id not in inside
        and (
            any(part.op in ("*", "//", "%") for part in s.find_nodes(node.value, s.Binary))
            or node.op not in ("=", "+=", "-=")
            or s.find_names(node.value) & changed - ({node.target.id} if node.op == "=" else set())
        )
        for node in s.find_nodes(loop.body, s.Assign)
    )


def _has_only_logarithms(value: Poly) -> bool:
    return all(isinstance(atom, a.CeilLog2) for atom in value.atoms()) and any(value.atoms())


def _is_logarithmic(amount: KnownAmount) -> bool:
    return any(isinstance(atom, a.CeilLog2) for atom in amount.upper.atoms())


def _iterate_outer_loops(
    body: Sequence[s.Stmt], scope: Scope, certain: bool = True
) -> Iterator[tuple[s.Loop | s.While, bool, Scope]]:
    """Yield the loops of a block that are in no other loop of it, whether they are certain, and the scope at each."""
    for statement in body:
        if isinstance(statement, s.Loop | s.While):
            yield statement, certain, scope
        else:
            for block in s.list_blocks(statement):
                yield from _iterate_outer_loops(block, scope, False)
        if not isinstance(statement, s.Let | s.Assign):
            for name in s.find_assigned_names((statement,)):
                scope = scope.without_value(name)
        scope = scope_after(statement, scope)


def _bound_in_loop(
    outer: s.Loop | s.While,
    certain: bool,
    scope: Scope,
    integers: Integers,
    loops: tuple[s.Loop | s.While, ...],
    known: Mapping[s.Loop | s.While, KnownAmount],
    held: tuple[Linear, ...],
) -> TotalBounds:
    """Bound the iterations of loops inside another one: those in one iteration of it, summed over its iterations."""
    range_, inner, exact = _enter_loop(outer, scope)
    if range_ is None and outer not in known:
        return NO_BOUNDS
    once = _bound_in_block(outer.body, inner, integers, loops, held)
    totals: dict[s.Loop | s.While, KnownAmount] = {}
    for loop, amount in once.loops.items():
        total = scale_amount(amount, known[outer]) if range_ is None else range_.sum(amount)
        if range_ is not None and not isinstance(total, KnownAmount):
            total = scale_amount(range_.bound_amount(amount), exact_amount(range_.trips))
        if isinstance(total, KnownAmount):
            lower = total.lower if certain and exact and not s.may_end_early(outer) else ZERO
            totals[loop] = KnownAmount(lower, scope.facts.simplify(total.upper))
    return replace(once, loops=totals, together=None)


def _enter_loop(loop: s.Loop | s.While, scope: Scope) -> tuple[IterationRange | None, Scope, bool]:
    """Return the range of a loop, None if it is not known, the scope in its body, and if it is certain."""
    inner = scope
    for name in s.find_assigned_names((loop,)):
        inner = inner.without_value(name)
    if isinstance(loop, s.While):
        counted = count_while(loop, scope)
        return (None, inner, False) if counted is None else (counted.range, counted.enter(inner), counted.exact)
    try:
        range_ = static_range(loop, scope)
    except NotStaticError:
        return None, inner, False
    return range_, inner.with_facts(range_.inside).with_value(loop.variable, range_.value), True


def _is_whole(column: Column) -> bool:
    return isinstance(column, str) or a.is_integral(Poly({column: fmpq(1)}))


def _build_induction(
    body: Sequence[s.Stmt],
    scope: Scope,
    integers: Integers,
    known: tuple[Linear, ...],
    doubled: tuple[s.Loop | s.While, ...],
) -> tuple[Induction | None, Mapping[str, tuple[Linear, ...]]]:
    """Return proofs of the invariants of a block, None if one is missing, and the facts that all writes keep."""
    while True:
        system = build_transitions(body, scope, integers, known, doubled)
        system = replace(system, facts=_list_distinct((*system.facts, *_list_facts(system, scope.facts))))
        system, invariants = find_invariants(system, _is_whole)
        stored = prove_stores(system, invariants, _is_whole)
        lost = find_lost_facts(system, stored)
        if not lost:
            return prove_induction(system, invariants, stored, _is_whole), integers.facts
        facts = {
            array: tuple(fact for index, fact in enumerate(facts) if (array, index) not in lost)
            for array, facts in integers.facts.items()
        }
        integers = replace(integers, facts=facts)


def _bound_by_potentials(
    body: Sequence[s.Stmt],
    scope: Scope,
    integers: Integers,
    loops: tuple[s.Loop | s.While, ...],
    known: tuple[Linear, ...],
    doubled: tuple[s.Loop | s.While, ...] = (),
) -> TotalBounds:
    induction, facts_kept = _build_induction(body, scope, integers, known, doubled)
    if induction is None:
        # In floating point a proof may not be found again.
        return replace(NO_BOUNDS, reasons=dict.fromkeys(loops, UNPROVED))
    system, invariants = induction.system, induction.invariants
    # A loop inside another one has a logarithm in all only if the outer one has.
    scaled = any(
        isinstance(loop, s.While) and _scales_registers(loop) for loop, _, _ in _iterate_outer_loops(body, scope)
    )
    extended = extend_by_logarithms(system, invariants, _is_whole) if scaled else None
    systems: list[tuple[Induction, Logarithms | None]] = [(induction, None)]
    if extended is not None:
        with_logarithms, logarithms = extended
        facts = _list_distinct((*system.facts, *_list_facts(with_logarithms, scope.facts)))
        with_logarithms = replace(with_logarithms, facts=facts)
        extended_induction = prove_induction(with_logarithms, invariants, (), _is_whole)
        if extended_induction is not None and logarithms.check(with_logarithms, _is_whole):
            systems.insert(0, (extended_induction, logarithms))
    balances: list[Balance] = []

    def prove(counted: tuple[s.Loop | s.While, ...], sign: int) -> list[Poly]:
        """Return bounds on the iterations of some loops, by logarithms if these are of use."""
        for tried, logarithms in systems:
            points = list(_list_points(tried.system, small=logarithms is None))
            proved = list(find_balances(tried, counted, sign, points, _is_whole))
            values = [scope.facts.simplify(form_to_poly(balance.bound)) for balance in proved]
            if logarithms is None or any(isinstance(atom, a.CeilLog2) for value in values for atom in value.atoms()):
                balances.extend(proved)
                return values
        return []

    def bound_iterations_of(counted: tuple[s.Loop | s.While, ...]) -> KnownAmount | None:
        above = prove(counted, 1)
        if not above:
            return None
        facts = scope.facts
        # Beyond small sizes, linear bounds are of no use beside logarithms.
        above = [value for value in above if _has_only_logarithms(value)] or above
        upper = reduce(facts.minimum, (facts.positive_part(_round_inwards(value, False)) for value in above))
        below = prove(counted, -1)
        lower = reduce(facts.maximum, (facts.positive_part(_round_inwards(value, True)) for value in below), ZERO)
        # Where no run ends, bounds may contradict each other.
        return KnownAmount(lower if _is_below(lower, upper, facts, system.facts) else ZERO, upper)

    amounts, reasons = dict[s.Loop | s.While, KnownAmount](), dict[s.Loop | s.While, str]()
    together: KnownAmount | None = None
    missing = dict.fromkeys(loops)
    try:
        for loop in loops:
            amount = bound_iterations_of((loop,))
            if amount is not None:
                amounts[loop] = amount
            elif not doubled:
                reasons[loop] = _explain_missing_bound(induction, loop)
            del missing[loop]
        if len(loops) > 1 and len(amounts) == len(loops):
            together = bound_iterations_of(loops)
    except OutOfBudgetError:
        reasons |= dict.fromkeys(missing, OUT_OF_EFFORT)
    held = _find_held_forms(induction)
    return TotalBounds(amounts, together, tuple(balances), held, facts_kept, (induction,), reasons)


def _explain_missing_bound(induction: Induction, loop: s.Loop | s.While) -> str:
    """Say why the iterations of a loop have no bound."""
    if isinstance(loop, s.Loop):
        return "its ends are values of registers or data, and no bound of them all was found"
    stuck = find_stuck_path(induction, loop)
    if stuck is None:
        return "no bound of them all in sizes was found"
    if not stuck.lines:
        return "no expression of its registers is known to fall in each iteration"
    *first, last = map(str, stuck.lines)
    lines = f"lines {', '.join(first)} and {last}" if first else f"line {last}"
    return f"no expression of its registers is known to fall in an iteration through {lines}"


def _find_held_forms(induction: Induction) -> Mapping[s.Loop | s.While, tuple[Linear, ...]]:
    """Map loops to the invariants of all nodes of their bodies, and to facts about sizes."""
    held: dict[s.Loop | s.While, list[Linear]] = {}
    for node, loop in induction.system.loops.items():
        forms = induction.invariants.get(node, ())
        held[loop] = [form for form in held.get(loop, forms) if form in forms]
    return {loop: _list_distinct((*forms, *induction.system.facts)) for loop, forms in held.items()}


def _list_distinct(forms: Iterable[Linear]) -> tuple[Linear, ...]:
    return tuple({freeze_form(form): form for form in forms}.values())


def _is_below(lower: Poly, upper: Poly, facts: Facts, forms: Sequence[Linear]) -> bool:
    """Test whether a bound is at most another one, by a proof or at small and a few large sizes.

    `forms` are nonnegative at sizes that are possible.
    """
    if facts.nonnegative(upper - lower):
        return True
    names = sorted(lower.names | upper.names)
    if len(names) > 2:
        return False
    points = (dict(zip(names, sizes, strict=True)) for sizes in product(TRIED_SIZES, repeat=len(names)))
    known = [value for form in forms if (value := form_to_poly(form)).names <= set(names)]
    with suppress(EvaluationError):
        return all(
            evaluate(upper - lower, point) >= 0
            for point in points
            if all(evaluate(value, point) >= 0 for value in known)
        )
    return False


def _round_inwards(value: Poly, up: bool) -> Poly:
    """Round a bound on a whole number inwards: from above down, from below up."""
    denominator = Poly.constant(int(a.compute_content(value).q)) if value else ONE
    whole = value * denominator
    if denominator == ONE or not a.is_integral(whole):
        return value
    return a.ceil_div(whole, denominator) if up else a.floor_div(whole, denominator)


def _list_facts(system: TransitionSystem, facts: Facts) -> Iterable[Linear]:
    """List forms in sizes that are nonnegative: sizes, differences of two sizes, quotients beyond their floors.

    The positive part of a difference is at least the difference.
    """
    sizes = list(size_columns(system))
    for size in sizes:
        for atom in size.atoms():
            if isinstance(atom, a.Floor):
                sizes += [Poly({m: fmpq(1)}) for m in atom.argument.terms if m and Poly({m: fmpq(1)}) not in sizes]
    for size in sizes:
        for value in (size - 1, size):
            if facts.nonnegative(value):
                yield size_form(value)
                break
    for size in sizes:
        positive = a.find_single_atom(size)
        if isinstance(positive, a.PositivePart):
            yield size_form(size - positive.argument)
    for first in sizes:
        for second in sizes:
            if first != second and facts.nonnegative(first - second):
                yield size_form(first - second)


def _list_points(system: TransitionSystem, small: bool) -> Iterable[Mapping[Column, float]]:
    """List sizes at which bounds are minimised."""
    sizes = list(size_columns(system))
    for form in system.facts:
        sizes += [Poly({column: fmpq(1)}) for column in form if not isinstance(column, str) and column != UNIT]
    sizes = list(dict.fromkeys(sizes))
    names = sorted(frozenset[str]().union(*(size.names for size in sizes)))
    environments = [dict.fromkeys(names, LARGE_SIZE)]
    if len(names) > 1:
        for single, rest in ((LARGE_SIZE, SMALL_SIZE), (SMALL_SIZE, LARGE_SIZE)):
            environments += [{name: single if name == chosen else rest for name in names} for chosen in names]
    if small:
        environments.append(dict.fromkeys(names, LEAST_SIZE))
    for environment in environments:
        # Powers of large sizes may be beyond floating point.
        with suppress(OverflowError, EvaluationError):
            point: Mapping[Column, float] = {
                column: float(evaluate(size, environment)) for size in sizes for column in size.terms
            }
            yield move_to_feasible(system, point)
