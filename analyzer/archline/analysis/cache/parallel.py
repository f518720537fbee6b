"""io of P processors with a cache of Z words each: Q_P <= P*Q_1 where each keeps the serial order.

Lemma 2.1 of V. N. N. Tran, P. H. Ha, ICE: A General and Validated Energy Complexity Model (ICPADS 2016), in the case
where it is true: under optimal replacement, if every processor runs a part of the serial order (static and chunked
schedules), as removing accesses from a trace never increases its minimum of misses. For work stealing and depth-first
schedulers, which do not keep the serial order, bounds are known up to constants.
"""

from __future__ import annotations

from archline.algebra.evaluate.exact import evaluate
from archline.algebra.polynomial import Poly
from archline.analysis.cost import Cost, map_cost
from archline.expr import build as b
from archline.expr.intervals import Interval, Point
from archline.expr.text import join_phrases
from archline.growth.growths import make_order_formula
from archline.language import syntax as s
from archline.language.call_graph import iterate_local_arrays
from archline.language.model import Module
from archline.records import record, replace

SERIAL_ORDER_ASSUMPTION = "every processor runs its part in serial order, with optimal replacement"


def derive_parallel_io_cost(module: Module, algorithm: s.Algorithm, io: Cost, processors: int | str) -> Cost:
    """Bound the io of all processors under `SERIAL_ORDER_ASSUMPTION`; `processors` is a number or a size name."""
    metric = f"io({processors})"
    if io.upper is None:
        return replace(io, metric=metric)
    local = next(iterate_local_arrays(module, algorithm), None)
    if local is not None:
        reason = f"the local array `{local.name}` has other addresses on the processors' stacks than in a serial run"
        return Cost(metric, "unknown", None, None, reason, local.span)
    count = Poly.symbol(processors) if isinstance(processors, str) else Poly.constant(processors)

    def enclose_io(point: Point, misses: Interval) -> Interval:
        assert io.lower is not None
        return Interval(evaluate(io.lower, point), misses.upper * evaluate(count, point))

    # Each line that is touched is fetched by at least one processor, but bounds by loop do not hold.
    together = map_cost(io, lambda once: once, lambda most: most * count, enclose_io)
    return replace(
        together,
        metric=metric,
        status=io.status if io.status == "declared" or processors == 1 else "bounded",
        bounds=tuple(replace(bound, keeping=tuple) for bound in together.bounds if not bound.by),
        least_at=None,
    )


@record
class SchedulerBound:
    """A bound on the io of several processors under a scheduler, up to constants, with the source of its proof."""

    name: str
    bound: str
    source: str


def list_scheduler_bounds(
    module: Module, algorithm: s.Algorithm, io: Cost, processors: int | str, span: s.Expr
) -> tuple[SchedulerBound, ...]:
    """List published bounds on the io of several processors, from `io` on one processor and the algorithm's span.

    Empty if io is unknown or there are local arrays, which have other addresses on the stacks of several
    processors.
    """
    if io.upper is None or any(iterate_local_arrays(module, algorithm)):
        return ()
    count = [] if processors == 1 else [b.name(processors) if isinstance(processors, str) else b.number(processors)]
    stolen = b.divide_products([*count, b.name("Z"), span], [b.name("L")])
    lines = b.product([*count, b.name("L"), span])
    io_of_one = b.name("io")
    return (
        SchedulerBound(
            "work stealing",
            join_phrases(
                make_order_formula("O", b.binary("+", io_of_one, stolen)), " expected, a cache of Z words each"
            ),
            "Acar, Blelloch, Blumofe, The Data Locality of Work Stealing, SPAA 2000",
        ),
        SchedulerBound(
            "depth first",
            join_phrases(
                make_order_formula("O", io_of_one), " in one cache of Z + ", make_order_formula("O", lines), " words"
            ),
            "Blelloch, Gibbons, Effectively Sharing a Cache Among Threads, SPAA 2004",
        ),
    )
