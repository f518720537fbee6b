"""io of P processors with a cache of Z words each: Q_P <= P*Q_1 where each keeps the serial order.

Lemma 2.1 of V. N. N. Tran, P. H. Ha, ICE: A General and Validated Energy Complexity Model (ICPADS 2016), where it is
true: under optimal replacement, where every processor runs a part of the serial order (static and chunked schedules),
taking accesses out of a trace never makes its optimum dearer. Work stealing needs another bound, Q_1 + O(P*span*Z/L)
in expectation (U. A. Acar, G. E. Blelloch, R. D. Blumofe, The Data Locality of Work Stealing, SPAA 2000).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction

from archline.algebra.polynomial import Poly
from archline.analysis.costs import Cost
from archline.analysis.recursion.graph import reachable
from archline.language import syntax as s
from archline.language.model import Module

CONDITION = "every processor runs its part in serial order, with optimal replacement"


def io_on(module: Module, algorithm: s.Algorithm, io: Cost, processors: int | str) -> Cost:
    """The io of all processors together, beside `io` of one; `processors` is a number or the name of one."""
    metric = f"io({processors})"
    if io.upper is None:
        return replace(io, metric=metric)
    local = next(_local_arrays(module, algorithm), None)
    if local is not None:
        reason = f"the stacks of processors give `{local.name}` other lines than the serial one"
        return Cost(metric, "unknown", None, None, reason, local.span)
    count = Poly.symbol(processors) if isinstance(processors, str) else Poly.constant(processors)

    def ends(point: Mapping[str, int | Fraction]) -> tuple[Fraction, Fraction]:
        assert io.ends is not None
        _, most = io.ends(point)
        return Fraction(0), most * (point[processors] if isinstance(processors, str) else processors)

    alternatives = tuple(replace(each, upper=each.upper * count, kept=()) for each in io.alternatives)
    # A line that is touched is fetched by one processor at least.
    return replace(
        io,
        metric=metric,
        status="declared",
        upper=io.upper * count,
        declared=(*io.declared, CONDITION),
        alternatives=alternatives,
        lowers=(),
        ends=None if io.ends is None else ends,
    )


def _local_arrays(module: Module, algorithm: s.Algorithm) -> Iterator[s.Local]:
    for each in (algorithm, *reachable(module, algorithm)):
        for node in s.nodes(each.body):
            if isinstance(node, s.Local) and isinstance(node.type, s.ArrayType):
                yield node
