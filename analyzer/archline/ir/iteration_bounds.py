"""Bounds on the iterations of the loops whose number data decides, over one call of their algorithm."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache

from archline.algebra.polynomial import ZERO
from archline.ir.amortised import totals
from archline.ir.amounts import KnownAmount
from archline.ir.declarations import bound_declared_iterations, declared_scope
from archline.language import syntax as s
from archline.language.call_graph import find_reachable, has_recursion
from archline.language.iterations import find_algorithms_of_loops, iterate_unbounded_loops, name_unbounded_loops
from archline.language.model import Module
from archline.records import field, record


@record(eq=False)
class IterationBounds:
    """Bounds on the iterations of loops in one call of their algorithm: of each loop, and of all together.

    `reasons` say why loops have none.
    """

    loops: Mapping[s.While | s.Loop, KnownAmount] = field(default_factory=dict)
    together: KnownAmount | None = None
    reasons: Mapping[s.While | s.Loop, str] = field(default_factory=dict)


@lru_cache(maxsize=256)
def derive_iteration_bounds(module: Module, algorithm: s.Algorithm) -> IterationBounds:
    """Bound the iterations of the loops of an algorithm that have no name from its author.

    The bounds are derived from the registers, or declared by `at most ... times in total`. Loops on a grid have only
    declared ones. Loops of the algorithms that it calls are among them, as several calls may share a bound, except
    loops with a known least number of iterations in one call.
    """
    if not name_unbounded_loops(module):
        return IterationBounds()
    loops = tuple(loop for loop in iterate_unbounded_loops(algorithm) if loop.chosen)
    if not has_recursion(module, algorithm):
        for called in find_reachable(module, algorithm):
            if chosen := [loop for loop in iterate_unbounded_loops(called) if loop.chosen]:
                bounded = bound_iterations(module, called)
                loops += tuple(loop for loop in chosen if not (loop in bounded and bounded[loop].lower))
    bounds, together = dict[s.While | s.Loop, KnownAmount](), None
    reasons: Mapping[s.While | s.Loop, str] = {}
    if loops and not algorithm.grid:
        derived = totals.bound_totals(module, algorithm, loops)
        bounds, together, reasons = dict(derived.loops), derived.together, derived.reasons
    facts = declared_scope(module, algorithm).facts
    for loop, total in bound_declared_iterations(module, algorithm).items():
        amount = bounds.get(loop)
        if amount is None or not facts.nonnegative(total.upper - amount.upper):
            bounds[loop] = KnownAmount(ZERO if amount is None else amount.lower, total.upper)
            together = None
    return IterationBounds(bounds, together, reasons)


def bound_iterations(module: Module, algorithm: s.Algorithm) -> Mapping[s.While | s.Loop, KnownAmount]:
    """Map loops of an algorithm to bounds of their iterations in one call of it, in its sizes."""
    return derive_iteration_bounds(module, algorithm).loops


def make_iteration_counts(module: Module, algorithm: s.Algorithm) -> Callable[[str], KnownAmount | None]:
    """Return a function from the qualified names of iterations to their bounds; it returns None for names without."""
    names = name_unbounded_loops(module)
    bounds = {names[loop]: amount for loop, amount in bound_iterations(module, algorithm).items()}
    return bounds.get


def explain_missing_bound(module: Module, algorithm: s.Algorithm, loop: s.Loop | s.While) -> str | None:
    """Say why the iterations of a loop have no bound in sizes; None if they have one, or if none was looked for."""
    return derive_iteration_bounds(module, algorithm).reasons.get(loop)


def find_owner(module: Module, loop: s.Loop | s.While) -> s.Algorithm | None:
    """Return the algorithm that a loop without a bound stands in; None for other loops."""
    return find_algorithms_of_loops(module).get(loop)


def is_bounded_in_calls(module: Module, loop: s.Loop | s.While) -> bool:
    """Test whether the iterations of a loop have a bound in one call of its algorithm."""
    owner = find_owner(module, loop)
    return owner is not None and loop in bound_iterations(module, owner)


def has_declared_total(module: Module, loop: s.Loop | s.While) -> bool:
    """Test whether `at most ... times in total` declares a bound in sizes."""
    owner = find_owner(module, loop)
    return owner is not None and loop in bound_declared_iterations(module, owner)
