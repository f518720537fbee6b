"""Follow `archline cost` through the package: each step's file and function, and what it hands on, as it is executed.

python examples/follow_cost.py dense.matmul::matmul_basic
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import archline
from archline.algebra.printing import to_text
from archline.analysis.analyse import derive
from archline.analysis.cache.analyse import io_cost
from archline.analysis.cache.lower.segments import segment_lower_bound
from archline.analysis.cache.upper.allocation import AllocationPlanner
from archline.claims.decide import decide_claims
from archline.cli.main import main
from archline.cost_growth.growth_of_cost import growth_of_cost
from archline.ir.lower import Lowering
from archline.ir.tree import Access, Loop
from archline.language.loader import load_target
from archline.report.cost_view import page_view
from archline.report.costs.page import document
from archline.report.documents import text

PACKAGE = Path(archline.__file__).parent
WIDTH = 100


def format_tree(nodes: Any) -> str:
    """The nodes of a loop tree on one line."""
    return ", ".join(map(_format_node, nodes))


def _format_node(node: Any) -> str:
    match node:
        case Loop():
            return f"for {node.variable} in {to_text(node.lo)}..{to_text(node.hi)}: ({format_tree(node.body)})"
        case Access():
            return f"{node.array.name}[{', '.join(map(to_text, node.place))}]{' written' if node.written else ''}"
        case _:
            return type(node).__name__


def format_bound(bound: Any) -> str:
    """A bound with the condition on the cache under which it holds."""
    return f"{to_text(bound.value)} where {bound.where.when}"


STEPS: dict[Callable[..., Any], Callable[[Any], list[str]]] = {
    load_target: lambda pair: [f"a module of {len(pair[0].algorithms)} algorithms, the tree of `{pair[1].name}`"],
    derive: lambda costs: [f"Costs: {cost.metric} {to_text(cost.lower)}, {cost.status}" for cost in costs],
    Lowering.trace: lambda pair: [f"loop tree: {format_tree(pair[1])}"],
    segment_lower_bound: lambda bound: [f"lower bound: the first touch of {to_text(bound.first_touch_bound)} lines"],
    AllocationPlanner.plans: lambda plans: [
        f"{len(plans)} allocation plans, of which those that are best in some cache are kept"
    ],
    io_cost: lambda cost: ["Cost of io, upper bounds:", *map(format_bound, cost.by_cache)],
    growth_of_cost: lambda growth: [f"CostGrowth: {growth.text}"],
    decide_claims: lambda verdicts: [f"verdicts: {', '.join(verdict.outcome for verdict in verdicts)}"],
    page_view: lambda view: [f"CostView with rows for {', '.join(row.metric for row in view.rows)}"],
    document: lambda page: [f"Document `{page.title}`"],
    text: lambda page: [f"a page of {len(page.splitlines())} lines"],
}
"""The functions that are followed, each with what is said of its result."""


def follow(target: str) -> list[str]:
    """The steps in the order in which they first return."""
    codes = {getattr(step, "__wrapped__", step).__code__: step for step in STEPS}
    lines: list[str] = []

    def note(frame: FrameType, event: str, result: Any) -> None:
        step = codes.get(frame.f_code) if event == "return" and result is not None else None
        if step is not None:
            del codes[frame.f_code]
            sys.setprofile(None)
            place = Path(frame.f_code.co_filename).relative_to(PACKAGE)
            lines.extend(
                [f"{place.as_posix()}: {step.__qualname__}", *(f"    {x}"[:WIDTH] for x in STEPS[step](result))]
            )
            sys.setprofile(note)

    sys.setprofile(note)
    try:
        main(["cost", target, "--no-cache"])
    finally:
        sys.setprofile(None)
    return lines


if __name__ == "__main__":
    import contextlib
    import io

    with contextlib.redirect_stdout(io.StringIO()):
        steps = follow(sys.argv[1])
    print("\n".join(steps))
