"""Caches are levels of the energy roofline: each serves the accesses that miss in the levels before it.

Each level is a separate ideal cache: of Z = capacity/word words, fully associative, with optimal replacement, in the
serial order. The first serves every access, the next one what the first fetches and writes back, and slow memory what
the last one does: L(k+1) serves `bytes` at the Z and L of Lk. Optimal replacement and LRU keep in a smaller cache a
part of what they keep in a larger one of the same lines (Mattson, Gecsei, Slutz and Traiger, Evaluation techniques for
storage hierarchies, IBM Systems Journal 9(2), 1970), so that caches simulated separately are an inclusive hierarchy
too; Frigo, Leiserson, Prokop and Ramachandran, Cache-oblivious algorithms, FOCS 1999, reduce such a hierarchy of LRU
caches to one ideal cache for each level.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from archline.energy import rules
from archline.energy.estimates import Estimate
from archline.energy.machines import Machine, find_levels_without_capacity
from archline.energy.model import Model
from archline.energy.quantities import LEVELS
from archline.expr.intervals import Interval
from archline.language.diagnostics import error
from archline.records import record, replace

WORD_CONVERSION = "*word/(8*byte_per_word)"
"""The factor, as text, that converts `bytes`, which count words of 8 B, to bytes of the machine's words."""
MEMORY = "memory"
TWO_TERM_FIGURE = "effective energy balance"
"""The figure that gives the energy if computation and slow memory are its only terms."""


def with_cache_levels(model: Model, machine: Machine) -> Model:
    """Return the roofline with a machine's levels of caches. Raises ArchlineError (AL458) if the machine has none.

    A level without a bandwidth does not enter the time.
    """
    quantities = machine.quantities
    levels = tuple(level for level in LEVELS if f"{level}_capacity" in quantities)
    unknown = find_levels_without_capacity(quantities)
    if unknown or not levels:
        missing = f"{(*unknown, LEVELS[0])[0]}_capacity"
        message = f"machine `{machine.name}` lacks `{missing}` (B), which model `{model.name}` needs"
        hint = f"add `[level.{missing[:2]}.quantity.capacity]` to its file, or give --parameter {missing}=32KiB"
        raise error(rules.UNSUITED_MACHINE, message, hint=hint)
    served = ["accesses*word", *(f"{level}_bytes{WORD_CONVERSION}" for level in levels[:-1])]
    energy = {level: f"{level}_energy*{amount}" for level, amount in zip(levels, served, strict=True)}
    times = {level: f"{amount}/{level}_bandwidth" for level, amount in zip(levels, served, strict=True)}
    first = {"computation": model.sides["computation"]}
    sides = {
        **first,
        **{level: time for level, time in times.items() if f"{level}_bandwidth" in quantities},
        **model.sides,
    }
    return replace(
        model,
        time=f"max({', '.join(sides.values())})",
        energy=model.energy
        if model.at_most
        else {"computation": model.energy["computation"], **energy, **model.energy},
        sides=sides,
        figures={name: figure for name, figure in model.figures.items() if name != TWO_TERM_FIGURE},
        definitions={**model.definitions, "cache_energy": " + ".join(energy.values())},
        levels=levels,
        completed=None,
    )


@record
class Level:
    """A level of caches in an answer, or slow memory, the last one.

    `served` are the bytes that it serves, `misses` the lines and `bytes` the bytes that it fetches and writes back.
    `time` is None if the bandwidth is unknown, `energy` if the energy per byte is, `misses` for slow memory.
    """

    name: str
    capacity: Fraction | None
    line: Fraction | None
    served: Interval
    misses: Interval | None
    bytes: Interval | None
    time: Interval | None
    share: Fraction | None
    energy: Interval | None


def iterate_levels(estimate: Estimate) -> Iterator[Level]:
    """Yield the levels of an answer by a model with levels, from the processor to slow memory."""
    quantities, amounts = estimate.machine.values, estimate.amounts
    word, served = quantities["word"], amounts["accesses"].scale(quantities["word"])
    for name in (*estimate.model.levels, MEMORY):
        time, moved = estimate.sides.get(name), amounts.get(f"{name}_bytes")
        share = time.middle / estimate.time.middle if time and estimate.time and estimate.time.middle else None
        line = None if name == MEMORY else quantities.get(f"{name}_line", quantities.get("line"))
        yield Level(
            name, quantities.get(f"{name}_capacity"), line, served,
            amounts.get(f"{name}_io"), moved, time, share, estimate.terms.get(name),
        )  # fmt: skip
        # Formulas typed by hand may have the traffic itself.
        moved = moved or amounts.get("bytes")
        served = amounts["traffic"] if moved is None else moved.scale(word / 8)
