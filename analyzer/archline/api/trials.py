"""Trial runs at a few small sizes: whether a program whose claims hold can be stopped by a fault of its own."""

from __future__ import annotations

from collections.abc import Mapping

from archline.algebra.evaluate.exact import EvaluationError
from archline.analysis.cost import Cost
from archline.api.algorithms import Algorithm
from archline.execution import run_rules as stops
from archline.execution.run import tried
from archline.language import syntax as s
from archline.language.diagnostics import Diagnostic
from archline.report.cost_view import values_at
from archline.report.view import Place, Stop

SIZES = (1, 2, 3, 5, 10)
MAX_WORK = 10_000
FAULTS = (
    stops.OUT_OF_BOUNDS,
    stops.SLICE_OUT_OF_BOUNDS,
    stops.UNSET,
    stops.SIZE_TOO_SMALL,
    stops.SHAPE,
    stops.WHERE,
    stops.TOO_MANY_ITERATIONS,
    stops.NOT_DECREASING,
    stops.TOO_DEEP_RECURSION,
    stops.BAD_STEP,
    stops.RACE,
)
"""What stops a run and is neither a size that does not divide nor data that an `assume` or a type excludes."""


def stop(algorithm: Algorithm) -> Stop | None:
    """The first trial run that a fault stops, with all sizes the same where the algorithm takes that.

    Algorithms that take `int` data or indices are left out: which values of these they are meant for is not declared.
    """
    if any(_is_open(each.type) for each in algorithm.node.parameters):
        return None
    work = algorithm.cost().without_io["work"]
    for size in SIZES:
        sizes = {name: max(size, least) for name, least in algorithm.signature.at_least.items()}
        if not _is_short(work, sizes):
            break
        found = tried(*algorithm.executed, sizes)
        if isinstance(found, Diagnostic) and found.rule in FAULTS and found.span is not None:
            return Stop(found.rule.code, found.rule.title, found.message, Place.of(found.span), sizes)
    return None


def _is_open(kind: s.Type) -> bool:
    match kind:
        case s.IndexType() | s.ScalarType(element="int") | s.ArrayType(element="int"):
            return True
        case _:
            return False


def _is_short(work: Cost, sizes: Mapping[str, int]) -> bool:
    """Whether a run is known to take little work; one of which that is unknown is tried at the least sizes."""
    try:
        known = values_at(work, sizes)
    except EvaluationError:
        known = None
    return max(sizes.values(), default=0) <= SIZES[1] if known is None else known.upper <= MAX_WORK
