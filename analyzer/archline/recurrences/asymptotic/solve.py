"""Solves recurrences: functions that others call first, each by the way its sizes shrink; then checks the answer."""

from __future__ import annotations

from dataclasses import replace

from archline.algebra.asymptotic.constants import OutOfReachError
from archline.numbers import fmpq
from archline.recurrences.asymptotic.akra_bazzi import rounded
from archline.recurrences.asymptotic.normal_form import (
    Bases,
    Branches,
    CallSum,
    WeightedCall,
    at_argument,
    bases_of,
    branches_of,
    callees,
    check_terms,
    components,
    written_out,
)
from archline.recurrences.asymptotic.problem import Answer, Definition, Exponential, Recurrence, Refused, Solved
from archline.recurrences.asymptotic.terms import Term, summed
from archline.recurrences.asymptotic.text import growth_text, statement
from archline.recurrences.asymptotic.univariate import STEPS, Found, by_matrix, common_factor, gap_of, solve_one
from archline.recurrences.asymptotic.validate import check_answer


def solve(problem: Recurrence) -> Answer:
    """The growth of the asked function, in closed form where there is one; or the reason why there is none.

    An answer has been held against the recurrence itself at many sizes.
    """
    if any(not _is_plain(each) for each in problem.definitions):
        from archline.recurrences.asymptotic.logspace.solve import solve_multi

        return solve_multi(problem)
    try:
        found = _System(problem).solve(problem.asked.name)
        check_answer(problem, found)
    except OutOfReachError as reason:
        return Refused(str(reason))
    return _answer(found, problem.asked)


def _is_plain(definition: Definition) -> bool:
    """Whether a function has one size and no conditions."""
    return len(definition.parameters) == 1 and all(case.condition is None for case in definition.cases)


def _answer(found: Found, asked: Definition) -> Answer:
    (size,) = asked.parameters
    growth = growth_text(found.terms, size) if found.beyond is None else found.growth
    steps = list(found.steps)
    if growth is not None:
        steps.append(f"so {asked.name}({size}) is Theta({growth})")
    if found.exact is not None:
        steps.append(f"exactly {asked.name}({size}) = {found.exact} where {found.domain}")
    if found.beyond is not None:
        return Exponential(growth, found.beyond, tuple(steps), found.exact, found.domain, found.method, found.between)
    assert growth is not None
    lower, upper = (growth_text([rounded(term, up) for term in found.terms], size) for up in (False, True))
    between = None if lower == upper else (lower, upper)
    return Solved(growth, found.method, tuple(steps), found.exact, found.domain, between=between)


class _System:
    """The functions of a problem, with what is known of each."""

    def __init__(self, problem: Recurrence) -> None:
        self._definitions = {each.name: each for each in problem.definitions}
        names = frozenset(self._definitions)
        self._branches = {name: branches_of(each, names) for name, each in self._definitions.items()}
        self._bases = {name: bases_of(each, names) for name, each in self._definitions.items()}
        self._known: dict[str, Found] = {}

    def solve(self, asked: str) -> Found:
        """Solve what the asked function leads to, callees first."""
        groups = components(self._branches, asked)
        wanted = {asked}.union(*(callees(self._branches[name]) for group in groups for name in group))
        for group in groups:
            for name in sorted(group):
                called = any(name in callees(self._branches[each]) for other in groups for each in other - group)
                if name == asked or (name in wanted and called):
                    self._known[name] = self._one(name, group)
        found = self._known[asked]
        if any(each.shrinking == STEPS for each in self._known.values()):
            # Sizes that are tried must be small enough for steps.
            found = replace(found, shrinking=STEPS)
        return replace(found, start=max(each.threshold for each in self._bases.values()))

    def _one(self, name: str, group: frozenset[str]) -> Found:
        size = self._definitions[name].parameters[0]
        beyond = self._beyond(group)
        if beyond is not None:
            stated = statement(name, size, self._branches[name], self._bases[name])
            return Found("growth beyond polynomials", (*stated, beyond), beyond=beyond)
        system = {each: self._without_others(each, group) for each in group}
        if len(group) == 1:
            return self._with_notes(name, solve_one(name, size, system[name], self._bases[name]))
        for each in group:
            check_terms(self._branches[each], max(self._bases[each].threshold, fmpq(1)))
        left = written_out(system, group, name)
        if len(left) > 1:
            return self._by_matrix(name, size, left, group)
        found = solve_one(name, size, left[name], self._common_bases(name, group))
        stated = tuple(line for each in sorted(group) for line in self._statement(each))
        return replace(found, steps=(*stated, "written into one another:", *found.steps), exact=None, domain=None)

    def _beyond(self, group: frozenset[str]) -> str | None:
        for name in sorted(group):
            for callee in sorted(callees(self._branches[name]) - group):
                if self._known[callee].beyond is not None:
                    return f"{name} calls {callee}, which grows faster than every polynomial"
        return None

    def _statement(self, name: str) -> tuple[str, ...]:
        size = self._definitions[name].parameters[0]
        return statement(name, size, self._branches[name], self._bases[name])

    def _with_notes(self, name: str, found: Found) -> Found:
        """The solution behind what is used of other functions."""
        notes = []
        for callee in sorted(callees(self._branches[name]) - {name}):
            notes += [*self._known[callee].steps]
            size = self._definitions[callee].parameters[0]
            notes.append(f"so {callee}({size}) is Theta({growth_text(self._known[callee].terms, size)})")
        if not notes:
            return found
        stated = f"{self._statement(name)[0]}, where {self._definitions[name].parameters[0]} is large:"
        return replace(found, steps=(*notes, stated, *found.steps), exact=None, domain=None)

    def _without_others(self, name: str, group: frozenset[str]) -> Branches:
        """The branches of a function with what it calls outside its group replaced by terms that grow alike."""
        return tuple(self._replaced(branch, group) for branch in self._branches[name])

    def _replaced(self, branch: CallSum, group: frozenset[str]) -> CallSum:
        kept = tuple(call for call in branch.calls if call.function in group)
        terms = list(branch.terms)
        for call in branch.calls:
            if call.function not in group:
                terms += self._amounts(call)
        return CallSum(kept, summed(terms))

    def _amounts(self, call: WeightedCall) -> list[Term]:
        if call.weight.coefficient < 0:
            raise OutOfReachError("a recursive call is subtracted")
        grown = at_argument(self._known[call.function].terms, call.argument)
        return [replace(call.weight.times(term), exact=False) for term in grown]

    def _common_bases(self, name: str, group: frozenset[str]) -> Bases:
        """The bases of a function into which others are written: it grows from them only where all of them count."""
        own = self._bases[name]
        if len({frozenset(term.kind for term in self._bases[each].growing) for each in group}) > 1 and any(
            term.symbols for each in group for term in self._bases[each].growing
        ):
            raise OutOfReachError("functions that call each other, with different symbols in their base values")
        if all(self._bases[each].growing for each in group):
            return own
        return replace(own, growing=())

    def _by_matrix(self, name: str, size: str, left: dict[str, Branches], group: frozenset[str]) -> Found:
        found = by_matrix(left, self._common_bases(name, group))
        stated = [line for each in left for line in self._statement(each)]
        stated.append(f"the spectral radius of the numbers of calls gives p = {found.exponent.text()}")
        branches = [branch for each in left.values() for branch in each]
        factor = common_factor(call.argument.ratio for branch in branches for call in branch.calls)
        gap = gap_of((term.power for branch in branches for term in branch.terms), found.exponent)
        lines = tuple(stated)
        return Found("spectral radius", lines, found.terms, exponent=found.exponent, factor=factor, gap=gap)
