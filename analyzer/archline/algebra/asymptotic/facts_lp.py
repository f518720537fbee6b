"""What is known of the sizes in one case of a proof, as inequalities; those about logarithms are derived here."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from archline.algebra.asymptotic.constants import UNITY, Constant
from archline.algebra.asymptotic.direction_lp import Proof, order_of_powers, solve
from archline.algebra.asymptotic.inequalities import Inequality
from archline.algebra.asymptotic.tropical import ONE, GrowthAtom, Monomial
from archline.numbers import fmpq
from archline.records import record


@record
class Rows:
    """The inequalities that bear on some monomials, and the logarithms whose argument is not known to be large."""

    inequalities: tuple[Inequality, ...]
    open_logs: tuple[GrowthAtom, ...]
    logs: tuple[GrowthAtom, ...]


class Cone:
    """Facts and assumptions. Logarithms are at most `slow`, a small power, of what they are of."""

    def __init__(self, base: Sequence[Inequality], slow: fmpq) -> None:
        self.base = tuple(base)
        self.slow = slow
        self._growth: dict[GrowthAtom, Inequality | None] = {}
        self._order: dict[tuple[GrowthAtom, GrowthAtom], Inequality | None] = {}

    def assuming(self, more: Iterable[Inequality]) -> Cone:
        """With the inequalities of a case added."""
        return Cone((*self.base, *more), self.slow)

    def rows(self, monomials: Iterable[Monomial]) -> Rows:
        """The inequalities that may matter for a comparison of monomials."""
        atoms = dict.fromkeys(atom for each in monomials for atom in each.powers)
        touched = self._reach(atoms)
        logs = sorted((atom for atom in atoms if atom.argument is not None), key=_depth)
        found = list(touched)
        open_logs = []
        for each in logs:
            growth = self._growth_of(each)
            if growth is None:
                open_logs.append(each)
            else:
                found.append(growth)
        # An order of logarithms of logarithms rests on that of the logarithms.
        for small in logs:
            for large in logs:
                if small is not large:
                    order = self._order_of(small, large, found)
                    if order is not None:
                        found.append(order)
        return Rows(tuple(found), tuple(open_logs), tuple(logs))

    def _reach(self, atoms: dict[GrowthAtom, None]) -> list[Inequality]:
        """The facts connected with the atoms, to which theirs are added."""
        waiting = list(self.base)
        found: list[Inequality] = []
        grown = True
        while grown:
            _add_arguments(atoms)
            near = [each for each in waiting if any(atom in atoms for atom in each.gap.powers)]
            for each in near:
                atoms.update(dict.fromkeys(each.gap.powers))
            found += near
            waiting = [each for each in waiting if each not in near]
            grown = bool(near)
        return found

    def _growth_of(self, atom: GrowthAtom) -> Inequality | None:
        if atom not in self._growth:
            self._growth[atom] = self._find_growth(atom)
        return self._growth[atom]

    def _find_growth(self, atom: GrowthAtom) -> Inequality | None:
        """log(w) <= C*w^slow where w is at least a constant, log(w) <= C where it is at most one."""
        argument, own = atom.argument, Monomial({atom: UNITY})
        assert argument is not None
        large = self._bounded_below(argument)
        if large is not None:
            power = argument.power(Constant(self.slow))
            return Inequality(own, power, {"rule": "log below power", "power": str(self.slow)}, large.uses)
        small = self._bounded_below(argument.inverse())
        return None if small is None else Inequality(own, ONE, {"rule": "log of bounded"}, small.uses)

    def _bounded_below(self, monomial: Monomial) -> Proof | None:
        answer = solve([ONE], [monomial], self.base)
        return answer if isinstance(answer, Proof) else None

    def _order_of(self, small: GrowthAtom, large: GrowthAtom, rows: Sequence[Inequality]) -> Inequality | None:
        if (small, large) not in self._order:
            self._order[small, large] = self._find_order(small, large, rows)
        return self._order[small, large]

    def _find_order(self, small: GrowthAtom, large: GrowthAtom, rows: Sequence[Inequality]) -> Inequality | None:
        """log(v) <= C*log(w) where v <= C*w^k."""
        v, w = small.argument, large.argument
        assert v is not None
        assert w is not None
        if not self.base and v.never_shrinks and w.never_shrinks and not set(v.powers) <= set(w.powers):
            return None
        known = order_of_powers(v, w, [row for row in rows if row.because["rule"] != "log below power"])
        if known is None:
            return None
        rule = {"rule": "order of logs", "power": str(known[0])}
        return Inequality(Monomial({small: UNITY}), Monomial({large: UNITY}), rule, known[1])


def _add_arguments(atoms: dict[GrowthAtom, None]) -> None:
    """Add what the logarithms are of, and the logarithms in that."""
    waiting = [atom for atom in atoms if atom.argument is not None]
    while waiting:
        argument = waiting.pop().argument
        assert argument is not None
        new = [atom for atom in argument.powers if atom not in atoms]
        atoms.update(dict.fromkeys(new))
        waiting += [atom for atom in new if atom.argument is not None]


def _depth(atom: GrowthAtom) -> tuple[int, str]:
    depth, inner = 0, atom.argument
    while inner is not None:
        depth += 1
        inner = next((each.argument for each in inner.powers if each.argument is not None), None)
    return depth, atom.key
