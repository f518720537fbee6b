"""The solution as a textbook would tell it: one way down in full, then how all ways make one formula."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from archline.recurrences.asymptotic.logspace.cones import whole
from archline.recurrences.asymptotic.logspace.costs import Cost, PathCosts
from archline.recurrences.asymptotic.logspace.paths import Path, Segment
from archline.recurrences.asymptotic.logspace.regimes import GrowthRegime
from archline.recurrences.asymptotic.logspace.system import System
from archline.recurrences.asymptotic.logspace.text import Printer

_WHERE = {
    "first": "falls from level to level: the first counts",
    "last": "rises from level to level: the last counts",
    "each": "is the same on every level: it counts as often as there are levels",
}


def story(system: System, pieces: Sequence[PathCosts], parts: Sequence[GrowthRegime]) -> tuple[str, ...]:
    """The lines of the solution."""
    return tuple(_Teller(system, pieces, parts).lines())


class _Teller:
    """Puts a solution into words."""

    def __init__(self, system: System, pieces: Sequence[PathCosts], parts: Sequence[GrowthRegime]) -> None:
        self._system = system
        self._pieces = pieces
        self._parts = parts
        self._printer = Printer(system.names.all)

    def lines(self) -> Iterator[str]:
        """All of them."""
        piece = min(self._pieces, key=_simplest_of_the_longest)
        path = piece.path
        where, number = self._region(path), len(self._pieces)
        among = f" (one of {number} regions of sizes)" if number > 1 else ""
        yield f"Where {where}{among}:" if where else f"For all sizes{among}:"
        for index, segment in enumerate(path.segments):
            yield self._segment(segment)
            yield from (self._cost(cost) for cost in _distinct(piece.costs) if cost.segment == index)
        yield self._leaves(path)
        yield from (self._cost(cost) for cost in _distinct(piece.costs) if cost.segment is None)
        yield f"The greatest of these there: {self._printer.total(piece.terms)}."
        yield from self._together()

    def _region(self, path: Path) -> str:
        """The comparisons that bound a region, those that always hold left out."""
        names = range(len(self._system.names.all))
        given = [row.form for fact in self._system.facts if len(fact) == 1 for row in fact[0]]
        rows = [row for row in path.region.facets() if row not in given and len([i for i in names if row[i]]) > 1]
        return ", ".join(self._printer.comparison(row) for row in rows)

    def _segment(self, segment: Segment) -> str:
        names = self._system.names.all
        steps = [self._system.rules[case].step for case in segment.motion.cases]
        calls = " and ".join(step.text for step in steps if step is not None)
        moved = [
            f"{name} goes from {self._printer.monomial(segment.state[i])} to {self._printer.monomial(segment.end[i])}"
            for i, name in enumerate(names)
            if segment.motion.direction[i]
        ]
        turns = " in turn, held at a tie" if len(steps) > 1 else ""
        levels = self._printer.monomial(whole(segment.length))
        return (
            f"{calls}{turns}: {', '.join(moved)} in Theta(log2({levels})) levels, "
            f"at whose end there {_nodes(self._printer.monomial(segment.end_nodes))}."
        )

    def _cost(self, cost: Cost) -> str:
        source, term = self._printer.term(cost.source), self._printer.term(cost.term)
        if cost.segment is None:
            return f"  {source} a leaf: {term} together."
        return f"  {source} a node {_WHERE[cost.place]}: {term}."

    def _leaves(self, path: Path) -> str:
        names = self._system.names
        sizes = [
            f"{name} = {self._printer.monomial(path.state[i])}" for i, name in enumerate(names.all[: names.parameters])
        ]
        return f"Leaves: {self._printer.monomial(path.nodes)} of {', '.join(sizes)}."

    def _together(self) -> Iterator[str]:
        formula = self._printer.formula(self._parts[-1].formula)
        if len(self._parts) > 1:
            yield "The growth jumps between cases, so that each has its own."
        elif len(self._pieces) > 1:
            yield f"In every region the growth is that of {formula}: no term is too large in one, and all are needed."


def _simplest_of_the_longest(piece: PathCosts) -> tuple[int, list[tuple[int, ...]]]:
    segments = piece.path.segments
    return -len(segments), [each.motion.cases for each in segments]


def _nodes(count: str) -> str:
    return "is 1 node" if count == "1" else f"are {count} nodes"


def _distinct(costs: Sequence[Cost]) -> list[Cost]:
    """One cost of each source and place."""
    return list({(cost.segment, cost.source, cost.term): cost for cost in costs}.values())
