"""Plans: units that hold every reference, and what lines that they leave free could do."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from itertools import zip_longest

from archline.algebra.polynomial import Poly
from archline.analysis.cache.footprint.upper import Reference
from archline.analysis.cache.residency.base import Resident
from archline.analysis.cache.residency.row_split import Split
from archline.analysis.cache.upper.retained import Growing
from archline.records import record


@record(eq=False)
class Plan:
    """Units that hold every reference: where the cache has the lines that each region needs, io is at most `misses`.

    A region is the loops around some references: lines that are held there take room from each other. `mixing` and
    `parting` find what spare lines could do, which only values at sizes need.
    """

    units: tuple[Resident, ...]
    needs: tuple[Poly, ...]
    misses: Poly
    mixing: Callable[[], Iterable[tuple[Way, ...]]] = tuple
    parting: Callable[[], Iterable[tuple[Way, ...]]] = tuple

    @property
    def values(self) -> tuple[Poly, ...]:
        """What it fetches, and needs."""
        return self.misses, *self.needs

    @cached_property
    def mixtures(self) -> tuple[tuple[Way, ...], ...]:
        """For each array what spare lines could do for all rows alike."""
        return tuple(self.mixing())

    @cached_property
    def partings(self) -> tuple[tuple[Way, ...], ...]:
        """For each array what they could do for some rows; found later, as it takes far longer."""
        return tuple(self.parting())

    def ways(self, parted: bool) -> Iterator[tuple[Way, ...]]:
        """For each array what spare lines could do, for some rows too or not."""
        for alike, some in zip_longest(self.mixtures, self.partings if parted else (), fillvalue=()):
            yield alike + some


@record(eq=False)
class Mixture:
    """Spare lines of a plan keep some classes of lines as `coarse` does, the others stay with units of the plan.

    Of f classes, those that gain most, the share of what both fetch is f of all classes at least.
    """

    references: tuple[Reference, ...]
    fine: Poly
    coarse: Poly
    each: Poly
    once: Poly
    classes: Poly
    regions: tuple[int, ...]

    @property
    def values(self) -> tuple[Poly, ...]:
        """All its expressions."""
        return self.fine, self.coarse, self.each, self.once, self.classes


@record(eq=False)
class Staying:
    """Spare lines hold what stays from each iteration of a loop to the next: so many units need not fetch it.

    `references` are all that those units hold.
    """

    references: tuple[Reference, ...]
    growing: Growing
    times: int
    regions: tuple[int, ...]

    @property
    def values(self) -> tuple[Poly, ...]:
        """Between which iterations it is chosen what stays, the lines of that, and what they save."""
        held = self.growing
        return held.first, held.last, held.lines, held.saved


@record(eq=False)
class Parting:
    """Some rows are kept by another unit than the others; where each half of the split takes room."""

    split: Split
    regions: tuple[tuple[int, ...], ...]

    @property
    def references(self) -> tuple[Reference, ...]:
        """All of which rows are parted."""
        return self.split.references

    @property
    def values(self) -> tuple[Poly, ...]:
        """The steps and the end of `TURN`, what was fetched, and of each half what it holds, held and fetches."""
        split = self.split
        halves = (value for half in split.halves for value in (half.lines, half.instead, half.misses))
        return split.step, split.last, split.fetched, *halves


Way = Mixture | Staying | Parting
