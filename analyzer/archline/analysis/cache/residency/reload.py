"""Lines that are given up while inner loops run, and fetched again behind those that had an iteration.

Where the data decides how often loops inside run, as over the entries of a sparse row, most may be empty: lines that
the loop around holds stay then, though there is no room for them beside what the inner loops hold. Where they are long,
it may pay to leave them all lines.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

from archline.algebra.polynomial import ONE, ZERO
from archline.analysis.cache.footprint.upper import Reference
from archline.analysis.cache.footprint.windows import is_known
from archline.analysis.cache.residency.base import Resident, known, never, shared
from archline.ir.factored import Product
from archline.ir.tree import Loop


def resumed(reference: Reference, own: Sequence[Resident], others: Sequence[Reference]) -> Iterator[Resident | None]:
    """Those of a reference's own units that hold one line, given up in the loops inside if the data decides these."""
    chain = reference.chain
    inner = (each for each in others if len(each.chain) > len(chain) and shared((reference, each)) == chain)
    loops = tuple(dict.fromkeys(each.chain[len(chain)] for each in inner))
    scratch = next((unit for unit in own if unit.scratch), None)
    if not chain or not loops or scratch is None or all(is_known(each.trips) for each in loops):
        return
    for unit in own:
        if unit.loop in chain and not unit.scratch and unit.space == ONE:
            yield known(replace(unit, measure=partial(_measured, unit, scratch, loops), given_up=loops, fit=never))


def _measured(
    unit: Resident, scratch: Resident, loops: Sequence[Loop], references: tuple[Reference, ...]
) -> tuple[Product, Product]:
    """A line more for each iteration of the loops inside, of which one would do; no more than one for each access."""
    (space, misses), (_, most) = unit.measure(references), scratch.measure(references)
    (reference,) = references
    again = sum((Product((each.trips,)).over(reference.chain).value for each in loops), ZERO)
    return space, Product((reference.facts.minimum(misses.value + again, most.value),))
