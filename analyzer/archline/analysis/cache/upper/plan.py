"""Plans: units that hold every reference, and what lines that they leave free could do."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from itertools import zip_longest

from archline.algebra.polynomial import Poly
from archline.analysis.cache.footprint.upper import Reference
from archline.analysis.cache.residency.base import Resident
from archline.analysis.cache.upper.spare import Functions, Machine, Used
from archline.records import record


@record(eq=False)
class Spending:
    """A way to use spare lines for references; `make` has it from their set and its expressions as functions."""

    references: tuple[Reference, ...]
    values: tuple[Poly, ...]
    make: Callable[[frozenset[Reference], Functions], Used]

    def used(self, machine: Machine) -> Used:
        """The way as a function of sizes."""
        return self.make(frozenset(self.references), machine.of(self.values))


@record(eq=False)
class Plan:
    """Units that hold every reference: where the cache has the lines that each region needs, io is at most `misses`.

    A region is the loops around some references: lines that are held there take room from each other. `mixing` and
    `parting` find what spare lines could do, which only values at sizes need.
    """

    units: tuple[Resident, ...]
    needs: tuple[Poly, ...]
    misses: Poly
    mixing: Callable[[], Iterable[tuple[Spending, ...]]] = tuple
    parting: Callable[[], Iterable[tuple[Spending, ...]]] = tuple

    @property
    def values(self) -> tuple[Poly, ...]:
        """What it fetches, and needs."""
        return self.misses, *self.needs

    @cached_property
    def mixtures(self) -> tuple[tuple[Spending, ...], ...]:
        """For each array what spare lines could do for all rows alike."""
        return tuple(self.mixing())

    @cached_property
    def partings(self) -> tuple[tuple[Spending, ...], ...]:
        """For each array what they could do for some rows; found later, as it takes far longer."""
        return tuple(self.parting())

    def ways(self, parted: bool) -> Iterator[tuple[Spending, ...]]:
        """For each array what spare lines could do, for some rows too or not."""
        for alike, some in zip_longest(self.mixtures, self.partings if parted else (), fillvalue=()):
            yield alike + some
