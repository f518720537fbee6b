"""Functions that call each other: which depend on which, and one written into another."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from archline.algebra.asymptotic.constants import OutOfReachError
from archline.numbers import fmpq
from archline.recurrences.asymptotic.normal_form import (
    MAX_BRANCHES,
    Argument,
    Branches,
    CallSum,
    WeightedCall,
    gathered_calls,
)
from archline.recurrences.asymptotic.terms import Term, summed

System = Mapping[str, Branches]


def callees(branches: Branches) -> frozenset[str]:
    """The functions that are called."""
    return frozenset(call.function for branch in branches for call in branch.calls)


def components(system: System, asked: str) -> list[frozenset[str]]:
    """Groups of functions that call each other, those asked for by others first; only what `asked` leads to."""
    reach = {name: _reached(system, name) for name in _reached(system, asked) | {asked}}
    groups: list[frozenset[str]] = []
    for name in reach:
        group = frozenset([name]) | {each for each in reach[name] if name in reach[each]}
        if group not in groups:
            groups.append(group)
    return sorted(groups, key=lambda group: len(group.union(*(reach[name] for name in group))))


def _reached(system: System, name: str) -> frozenset[str]:
    found: set[str] = set()
    waiting = [name]
    while waiting:
        for each in callees(system[waiting.pop()]) - found:
            found.add(each)
            waiting.append(each)
    return frozenset(found)


def written_out(system: System, group: frozenset[str], target: str) -> dict[str, Branches]:
    """The group with every function but the target that does not call itself written into those that call it."""
    left = {name: system[name] for name in sorted(group)}
    while True:
        name = next((each for each in left if each != target and each not in callees(left[each])), None)
        if name is None:
            return left
        body = left.pop(name)
        left = {each: _with(branches, name, body) for each, branches in left.items()}


def _with(branches: Branches, name: str, body: Branches) -> Branches:
    """The branches with every call of `name` replaced by its body."""
    found: list[CallSum] = []
    for branch in branches:
        rest = tuple(call for call in branch.calls if call.function != name)
        made = [CallSum(rest, branch.terms)]
        for call in branch.calls:
            if call.function == name:
                made = [_joined(each, call, part) for each in made for part in body]
        found.extend(made)
    if len(found) > MAX_BRANCHES:
        raise OutOfReachError("the maxima in it have too many alternatives")
    return tuple(found)


def _joined(branch: CallSum, call: WeightedCall, body: CallSum) -> CallSum:
    calls = tuple(
        WeightedCall(
            each.function,
            call.weight.times(_weight_at(each.weight, call.argument)),
            composed(call.argument, each.argument),
        )
        for each in body.calls
    )
    terms = at_argument(body.terms, call.argument)
    return CallSum(
        gathered_calls(branch.calls + calls), summed((*branch.terms, *(call.weight.times(term) for term in terms)))
    )


def composed(outer: Argument, inner: Argument) -> Argument:
    """The size inner(outer(n)): the size of a call made at the size `outer`."""
    if outer.is_same or inner.is_same:
        return inner if outer.is_same else outer
    if outer.is_root and inner.is_root:
        return Argument(fmpq(1), fmpq(0), outer.root * inner.root)
    if outer.is_root or inner.is_root:
        raise OutOfReachError("functions that call each other at roots and at parts of the size")
    return Argument(outer.ratio * inner.ratio, inner.ratio * outer.offset + inner.offset, fmpq(1))


def _weight_at(weight: Term, argument: Argument) -> Term:
    if not weight.varies or argument.is_same:
        return weight
    if argument.is_root and weight.log.is_zero and not weight.loglog:
        return replace(weight, power=weight.power.times(argument.root))
    raise OutOfReachError("functions that call each other with weights that vary")


def at_argument(terms: Iterable[Term], argument: Argument) -> tuple[Term, ...]:
    """The terms at another size: exactly where that is simple, else in growth, which takes that none has a minus."""
    return summed(_at(term, argument) for term in terms)


def _at(term: Term, argument: Argument) -> Term:
    if argument.is_same or not term.varies:
        return term
    plain = term.log.is_zero and not term.loglog and term.power.is_rational
    if plain and argument.is_split and argument.offset == 0 and term.power.rational.q == 1:
        return replace(term, coefficient=term.coefficient * argument.ratio ** int(term.power.rational.p))
    if term.coefficient < 0:
        raise OutOfReachError("the terms without calls may be negative")
    if argument.is_root:
        return replace(term, power=term.power.times(argument.root), exact=False)
    return replace(term, exact=False)


def matrix_of(system: System) -> tuple[list[list[fmpq]], fmpq]:
    """How often each function calls each, and the share of the size, which all calls have in common."""
    names = list(system)
    shares = {call.argument for branches in system.values() for branch in branches for call in branch.calls}
    if any(len(branches) > 1 for branches in system.values()):
        raise OutOfReachError("functions that call each other, with a maximum")
    share = next(iter(shares))
    if len(shares) > 1 or not share.is_split or share.offset != 0 or share.ratio >= 1:
        raise OutOfReachError("functions that call each other and themselves at different shares of the size")
    matrix = [[fmpq(0)] * len(names) for _ in names]
    for row, name in enumerate(names):
        for call in system[name][0].calls:
            if call.weight.varies or call.weight.symbols or not call.weight.exact:
                raise OutOfReachError("functions that call each other with weights that vary")
            matrix[row][names.index(call.function)] += call.weight.coefficient
    return matrix, share.ratio
