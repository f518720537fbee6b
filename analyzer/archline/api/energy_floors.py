"""The energy that lower bounds on communication imply, for any algorithm of the same problem with the same memory.

The models of a grid, (1) and (2) of Demmel, Gearhart, Lipshitz and Schwartz (IPDPS 2013), grow with each of the flops,
words and messages of the critical path. These are at least the flops of the problem over P, and the lower bounds on
communication. So is the energy at least that of the bounds.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from archline.api.costs import CostReport
from archline.energy.intervals import Interval
from archline.energy.model import Applied
from archline.energy.results import EnergyFloor

KEPT = ("memory", "node_memory", "P", "nodes")
"""Amounts that are those of the algorithm."""
Number = int | Fraction


def energy_floor(report: CostReport, on: Applied, amounts: Mapping[str, Interval], at: Mapping[str, Number]) -> (
    EnergyFloor | None
):  # fmt: skip
    """The least energy, for the memory that an algorithm on a grid has at sizes; None where no bounds are known."""
    known = report.communication
    memory, processors = amounts.get("memory"), amounts.get("P")
    if on.model.processors != "P" or known is None or memory is None or processors is None or not memory.lower:
        return None
    bounds = known.bounds
    flops = None if bounds is None else bounds.flops(at)
    if bounds is None or flops is None or known.replicated is not None:
        return None
    values = [low for low, _ in bounds.at(at, memory.upper).values()]
    words = max([Fraction(0), *values])
    least = {name: Interval.of(0) for name in amounts}
    least |= {name: Interval.of(amounts[name].lower) for name in KEPT if name in amounts}
    least |= {"flops": Interval.of(flops / processors.upper), "words": Interval.of(words)}
    least["messages"] = Interval.of(words / memory.upper)
    estimate = on.estimate(least)
    if estimate.energy is None and estimate.time is None:
        return None
    assumptions = dict.fromkeys(each for bound in bounds.bounds for each in bound.assumptions)
    return EnergyFloor(str(bounds.solved.problem["any"]), estimate, tuple(assumptions))
