"""Terms and formulas as text in the language's syntax."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from archline.algebra.product_text import power_text, quotient_text
from archline.records import record
from archline.recurrences.asymptotic.logspace.compare import Formula, weight
from archline.recurrences.asymptotic.logspace.cones import Vector, approximate, sign, whole
from archline.recurrences.asymptotic.logspace.terms import LogMonomial


@record
class Printer:
    """Writes forms in the names' logarithms as products of the names."""

    names: Sequence[str]

    def monomial(self, powers: Vector) -> str:
        """exp(powers . y)."""
        return self.term(LogMonomial(powers))

    def term(self, term: LogMonomial) -> str:
        """A product with at most one quotient."""
        above, below = self._parts(term)
        return quotient_text(above, below)

    def equation(self, form: Vector) -> str:
        """Where a form is zero."""
        above, below = self._sides(form)
        return f"{above} = {below}"

    def comparison(self, form: Vector) -> str:
        """Where a form is nonnegative."""
        above, below = self._sides(form)
        return f"{above} >= {below}"

    def _sides(self, form: Vector) -> tuple[str, str]:
        form = whole(form)
        above = tuple(x if sign(x) > 0 else x - x for x in form)
        below = tuple(-x if sign(x) < 0 else x - x for x in form)
        return self.monomial(above), self.monomial(below)

    def total(self, terms: Iterable[LogMonomial]) -> str:
        """A sum; terms over one denominator are brought together."""
        groups: dict[tuple[str, ...], list[Sequence[str]]] = {}
        for term in sorted(terms, key=_place):
            above, below = self._parts(term)
            key = (*below, *(each for each in above if each.startswith("log2(")))
            groups.setdefault(key if below else (), []).append(above)
        shown = []
        for key, members in groups.items():
            logs = [each for each in key if each.startswith("log2(") and any(each in above for above in members)]
            below = [each for each in key if each not in logs]
            if len(members) == 1:
                shown.append(quotient_text(members[0], below))
            elif not below:
                shown.append(" + ".join(quotient_text(above, ()) for above in members))
            else:
                inner = " + ".join(quotient_text([x for x in above if x not in logs], ()) for above in members)
                shown.append(quotient_text([f"({inner})", *logs], below))
        return " + ".join(shown) or "0"

    def formula(self, formula: Formula) -> str:
        """The sum of the groups' least terms."""
        single = [group[0] for group in formula if len(group) == 1]
        parts = [self.total(single)] if single or not formula else []
        for group in formula:
            if len(group) > 1:
                parts.append(f"min({', '.join(self.term(each) for each in sorted(group, key=_place))})")
        return " + ".join(parts)

    def _parts(self, term: LogMonomial) -> tuple[list[str], list[str]]:
        above: list[str] = []
        below: list[str] = []
        for name, power in zip(self.names, term.powers, strict=True):
            if power:
                rising = sign(power) > 0
                (above if rising else below).append(power_text(name, str(power if rising else -power)))
        for form, power in term.logs:
            text = f"log2({self.monomial(form)})"
            (above if power > 0 else below).append(power_text(text, str(abs(power))))
        return above, below


def _place(term: LogMonomial) -> tuple[object, ...]:
    return (*weight(term)[:-2], [-approximate(x) for x in term.powers])
