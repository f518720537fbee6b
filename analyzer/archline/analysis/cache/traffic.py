"""Bound write-backs and bytes: the lines that a run writes back, and all bytes that it moves.

A line that was changed since it was fetched is written back when it leaves the cache, at the end of the run at
the latest. The two metrics are different minima:

* `writebacks` counts write-backs of a replacement that fetches the fewest lines. Upper bound: the misses, less
  the lines fetched of arrays that are never written.
* `bytes` is the minimum that any replacement moves, in words of 8 B. Upper bound: a plan for io writes back
  each line that it changes as often as it fetches it. The replacement that fetches the fewest lines may write
  back more lines than such a plan.

Lower bound of both: any replacement writes back at least as many lines as the writes alone would fetch. In reverse
order, a run fetches the lines that it writes back, and has them at each write.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from fractions import Fraction

from archline.algebra.effort import OutOfBudgetError, TooComplexError, limit_effort
from archline.algebra.evaluate.exact import evaluate
from archline.algebra.polynomial import ZERO, Poly
from archline.analysis.cache.analyse import MAX_TERM_PRODUCTS, RECURSION_FACTOR, derive_io_cost, derive_loop_io_cost
from archline.analysis.cache.lower.recursive_segments import RecursiveSegmentBound
from archline.analysis.cache.lower.segments import bound_compulsory_misses_below, derive_segment_bound
from archline.analysis.cache.recursive.evaluate import RecursiveMissBounds
from archline.analysis.cache.samples import choose_sample_points
from archline.analysis.cache.summaries.must_access import derive_must_access
from archline.analysis.cost import Cost, map_cost
from archline.expr.intervals import EvaluationError, Interval, Point
from archline.ir.factored import UnboundedError
from archline.ir.layout import LINE
from archline.ir.lower import Lowering
from archline.ir.tree import UntracedError, iterate_accesses, require_traceable
from archline.language import syntax as s
from archline.language.call_graph import has_recursion
from archline.language.metrics import BYTES_PER_WORD
from archline.language.model import Module
from archline.records import record, replace

UNFOLLOWED_ACCESS_ERRORS = UntracedError, UnboundedError, TooComplexError, RecursionError
"""Errors of a derivation from accesses, after which bounds on misses are used instead."""


def derive_traffic_cost(module: Module, algorithm: s.Algorithm, metric: str) -> Cost:
    """Derive `writebacks` or `bytes` of one call. Never raises for a program that checks."""
    return derive_bytes_cost(module, algorithm) if metric == "bytes" else derive_writebacks_cost(module, algorithm)


def derive_writebacks_cost(module: Module, algorithm: s.Algorithm) -> Cost:
    """Bound the lines that a replacement with the fewest misses writes back. Never raises for a checked program."""
    least, read = _derive_writeback_bound(module, algorithm), _bound_read_only_lines_below(module, algorithm)

    def enclose_writebacks(point: Point, misses: Interval) -> Interval:
        return Interval(least.at(point), misses.upper - _evaluate_nonnegative_lines(read, point))

    io = derive_io_cost(module, algorithm)
    return replace(
        map_cost(io, lambda _: least.once, lambda most: most - read, enclose_writebacks), metric="writebacks"
    )


def derive_bytes_cost(module: Module, algorithm: s.Algorithm) -> Cost:
    """Bound the minimum of bytes that any replacement moves, at every size, L >= 1 and Z >= L, in words of 8 B.

    Never raises for a program that checks.
    """
    return convert_lines_to_bytes(_derive_line_traffic(module, algorithm))


def convert_lines_to_bytes(lines: Cost) -> Cost:
    """Convert a cost that counts lines to the bytes in them."""

    def enclose_bytes(point: Point, misses: Interval) -> Interval:
        return misses.scale(Fraction(point["L"]) * BYTES_PER_WORD)

    times = (LINE * BYTES_PER_WORD).__mul__
    return replace(map_cost(lines, times, times, enclose_bytes), metric="bytes")


def _derive_line_traffic(module: Module, algorithm: s.Algorithm) -> Cost:
    """Bound the lines fetched and written back by plans of loops, by calls of recursions, or by twice the misses."""
    recursions: RecursiveMissBounds | None = None
    with suppress(*UNFOLLOWED_ACCESS_ERRORS), limit_effort(MAX_TERM_PRODUCTS * RECURSION_FACTOR):
        require_traceable(module, algorithm)
        if not has_recursion(module, algorithm):
            with limit_effort(MAX_TERM_PRODUCTS):
                return derive_loop_io_cost(module, algorithm, traffic=True)
        solved = RecursiveMissBounds(module, algorithm, traffic=True)
        solved.prepare_bodies()
        recursions = solved
    least, read = _derive_writeback_bound(module, algorithm), _bound_read_only_lines_below(module, algorithm)

    def enclose_traffic(point: Point, misses: Interval) -> Interval:
        most = misses.upper * 2 - _evaluate_nonnegative_lines(read, point)
        if recursions is not None:
            with suppress(EvaluationError, OutOfBudgetError):
                most = min(most, Fraction(recursions.at(_convert_to_integer_point(point))))
        return Interval(misses.lower + least.at(point), most)

    return map_cost(
        derive_io_cost(module, algorithm), lambda once: once + least.once, lambda most: most * 2 - read, enclose_traffic
    )


@record(eq=False)
class WritebackBound:
    """A lower bound on write-backs, the larger of two: `once` counts each written line once.

    `windows` sums over windows of the execution, so that it may count a line several times.
    """

    once: Poly = ZERO
    windows: Callable[[Mapping[str, int]], int] = lambda _: 0

    def at(self, point: Point) -> Fraction:
        """Evaluate the bound at sizes, Z and L."""
        return max(
            _evaluate_nonnegative_lines(self.once, point), Fraction(self.windows(_convert_to_integer_point(point)))
        )


def _derive_writeback_bound(module: Module, algorithm: s.Algorithm) -> WritebackBound:
    """Derive a lower bound on write-backs; zero if accesses cannot be followed."""
    with suppress(*UNFOLLOWED_ACCESS_ERRORS), limit_effort(MAX_TERM_PRODUCTS):
        require_traceable(module, algorithm)
        if has_recursion(module, algorithm):
            write_access = derive_must_access(module, algorithm, written=True)
            return WritebackBound(
                write_access.bound_lines_below(algorithm), RecursiveSegmentBound(write_access, algorithm).at
            )
        scope, nodes = Lowering(module).trace(algorithm)
        below = derive_segment_bound(nodes, scope.facts, choose_sample_points(algorithm, scope), written=True)
        return WritebackBound(below.first_touch_bound, below.at)
    return WritebackBound()


def _bound_read_only_lines_below(module: Module, algorithm: s.Algorithm) -> Poly:
    """Bound from below the lines that each run reads of arrays that are never written."""
    constant = frozenset(parameter.name for parameter in algorithm.parameters if parameter.mode == "in")
    with suppress(*UNFOLLOWED_ACCESS_ERRORS), limit_effort(MAX_TERM_PRODUCTS):
        require_traceable(module, algorithm)
        if has_recursion(module, algorithm):
            return derive_must_access(module, algorithm).bound_lines_below(algorithm, of=constant)
        scope, nodes = Lowering(module).trace(algorithm)
        given = (pair for pair in iterate_accesses(nodes) if not pair[0].array.local and pair[0].array.name in constant)
        return bound_compulsory_misses_below(
            given, scope.facts, choose_sample_points(algorithm, scope)
        ).first_touch_bound
    return ZERO


def _convert_to_integer_point(point: Point) -> dict[str, int]:
    return {name: int(value) for name, value in point.items()}


def _evaluate_nonnegative_lines(count: Poly, point: Point) -> Fraction:
    """Evaluate a number of lines; 0 if it is negative, as it can be when loops have no iterations."""
    return max(evaluate(count, point), Fraction(0))
