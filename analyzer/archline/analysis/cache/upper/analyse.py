"""The plans of a program, and which are told: of its references as they are, and of easier ones if there are such."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from archline.algebra.evaluate.exact import EvaluationError, evaluate
from archline.algebra.facts import Facts
from archline.analysis.cache.footprint.upper import Reference
from archline.analysis.cache.upper.allocation import Planner
from archline.analysis.cache.upper.evaluate import Plan
from archline.analysis.cache.upper.relax_modulo import without_remainders
from archline.records import record, replace


@record(eq=False)
class Planned:
    """Plans with the planners that found them, those of the program as it stands first; some are `told`."""

    planner: Planner
    by: Mapping[Plan, Planner]
    told: Sequence[Plan]

    @property
    def plans(self) -> list[Plan]:
        """All plans."""
        return list(self.by)

    @property
    def others(self) -> list[Plan]:
        """Those that are not told."""
        return [plan for plan in self.by if plan not in self.told]

    def lean(self) -> Iterator[Plan]:
        """Those of use to claims on growth alone."""
        return self.planner.lean(plan for plan in self.told if self.by[plan] is self.planner)


def planned(references: Sequence[Reference], facts: Facts, points: Sequence[Mapping[str, int]]) -> Planned:
    """The plans of all references."""
    planner = Planner(references, facts, points)
    plans = planner.plans()
    found = Planned(planner, dict.fromkeys(plans, planner), planner.told(plans))
    easier = without_remainders(references)
    if easier is None:
        return found
    other = Planner(easier, facts, points)
    more = other.plans()
    told = list(_nearest([*found.told, *other.told(more)], facts, points))
    return replace(found, by={**found.by, **dict.fromkeys(more, other)}, told=told)


def _nearest(plans: Sequence[Plan], facts: Facts, points: Sequence[Mapping[str, int]]) -> Iterator[Plan]:
    """Those that no other one betters at a large sample, from few lines to many."""
    large = next((each for each in reversed(points) if each["L"] > 1), points[-1])
    known = []
    for plan in plans:
        try:
            misses, *needs = (evaluate(facts.restore(value), large) for value in plan.values)
        except EvaluationError:
            continue
        known.append((max(needs), misses, plan))
    least = None
    for _, misses, plan in sorted(known, key=lambda each: each[:2]):
        if least is None or misses < least:
            least = misses
            yield plan
