"""References of which a loop runs through part of its range: the iterations before an end, or those from it on.

Both parts are references by themselves (index set splitting: M. Griebl, P. Feautrier, C. Lengauer, Index set
splitting, IJPP 2000): what units hold and fetch of them is counted as of any other, in terms of a symbol for the end.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from archline.algebra.bounds import Bounds
from archline.algebra.facts import Facts
from archline.algebra.polynomial import Poly
from archline.analysis.cache.footprint.upper import Reference
from archline.ir.tree import Loop
from archline.records import record


@record(eq=False)
class Rule:
    """Iterations of a loop on one side: those `below` an end, or those from it on."""

    loop: Loop
    end: Poly
    below: bool

    def range(self, facts: Facts) -> tuple[Poly, Poly]:
        """From where to where the loop runs."""
        lo, hi = self.loop.lo, self.loop.hi
        # Where nothing is left, both are at the end: then the smallest range around several is not larger.
        if self.below:
            hi = facts.minimum(hi, self.end)
            return facts.minimum(lo, hi), hi
        lo = facts.maximum(lo, self.end)
        return lo, facts.maximum(hi, lo)

    def bounds(self, bounds: Bounds) -> Bounds:
        """What is known of the counter inside."""
        if self.below:
            return Bounds(bounds.lower, (*bounds.upper, self.end - 1))
        return Bounds((*bounds.lower, self.end), bounds.upper)


@dataclass(eq=False)
class Cutter:
    """Parts of references by rules whose ends are in terms of a `symbol` within bounds; they share loops as before."""

    symbol: str
    within: Bounds
    _loops: dict[tuple[Loop, Rule | None], Loop] = field(default_factory=dict)
    _facts: dict[tuple[int, Rule | None], tuple[Facts, Facts]] = field(default_factory=dict)

    def clip(self, reference: Reference, dimension: int, below: bool) -> Reference | None:
        """What a reference may access before the symbol in a dimension, or from there on; None where that is all."""
        twin, entry = self.cut(reference, None), reference.place[dimension]
        if entry is None:
            return None
        (low, high), end = entry, Poly.symbol(self.symbol)
        # Of places that are all on the other side none is left.
        if below:
            high = twin.facts.minimum(high, end - 1)
        else:
            low, high = twin.facts.maximum(low, end), twin.facts.maximum(high, end - 1)
        place = (*reference.place[:dimension], (low, high), *reference.place[dimension + 1 :])
        return replace(twin, place=place)

    def cut(self, reference: Reference, rule: Rule | None) -> Reference:
        """What a reference accesses on the rule's side; all of it without a rule, with what is known of the symbol."""
        first = reference.chain[0].variable if reference.chain else None
        chain = tuple(self._loop(loop, rule, first) for loop in reference.chain)
        facts = self.facts(reference.facts, rule, first)
        return replace(reference, chain=chain, facts=facts, _lines={}, _hulls={})

    def facts(self, facts: Facts, rule: Rule | None, first: str | None) -> Facts:
        """Facts with what is known of the symbol, which is older than the `first` counter, and of the rule's loop."""
        within = rule if rule is not None and rule.loop.variable in facts.bounds else None
        key = id(facts), within
        if key not in self._facts:
            found: dict[str, Bounds] = {}
            for name, bounds in facts.bounds.items():
                if name == first:
                    # Bounds of all counters may be in terms of the symbol.
                    found[self.symbol] = self.within
                found[name] = within.bounds(bounds) if within and name == within.loop.variable else bounds
            found.setdefault(self.symbol, self.within)
            # The facts are kept with what was found: another object may not have their identity.
            self._facts[key] = facts, facts.with_bounds(found)
        return self._facts[key][1]

    def _loop(self, loop: Loop, rule: Rule | None, first: str | None) -> Loop:
        key = loop, rule if rule is not None and rule.loop.variable in loop.inside.bounds else None
        if key not in self._loops:
            facts, within = (self.facts(each, rule, first) for each in (loop.facts, loop.inside))
            twin = replace(loop, facts=facts, inside=within)
            if rule is not None and loop is rule.loop:
                lo, hi = rule.range(facts)
                counter = Poly.symbol(loop.variable)
                ends = counter - loop.lo, loop.hi - 1 - counter
                twin = replace(twin, lo=lo, hi=hi, trips=hi - lo, holds=ends)
            self._loops[key] = twin
        return self._loops[key]
