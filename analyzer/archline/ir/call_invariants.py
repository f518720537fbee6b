"""Which facts about the sizes of the outermost call hold in all calls that a recursion makes.

`n is power of 2` does where n is halved, `m >= n` where both are, and `n >= 64` does not. What does not hold in a call
says nothing of what that call costs: only of the outermost one. Of each call it is proved from the facts and from what
holds on its way; where that fails the fact is given up, and those that rested on it may be too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce

from archline.algebra.effort import TooComplexError
from archline.algebra.facts import Facts
from archline.algebra.polynomial import ONE, ZERO
from archline.algebra.prove.residues import never_negative
from archline.ir.conditions import difference
from archline.ir.conditions import never_negative as differences
from archline.ir.recursive import OneLevel, TooManyWaysError, calls, ways
from archline.ir.recursive import body as body_of
from archline.ir.scope import Scope
from archline.ir.tree import Recursion, UntracedError
from archline.language import syntax as s
from archline.language.call_graph import component
from archline.language.checking.scopes import machine_symbols
from archline.language.extra_facts import with_where
from archline.language.model import Module

MAX_SHARES = 6
"""A call may take such a power of the base less of a size that is one."""


def inherited(module: Module, algorithm: s.Algorithm, facts: Sequence[s.Fact]) -> tuple[s.Fact, ...]:
    """Those of the facts that hold in all calls, if they hold in the outermost one; all where there are no others."""
    circle = component(module, algorithm)
    if not circle:
        return tuple(facts)
    symbols = set(machine_symbols(module.signatures[algorithm]))
    if any(isinstance(node, s.Split) for node in s.nodes(algorithm.body)):
        # The loop tree has no calls of a part of the processors, which are P there: of them nothing is proved.
        return tuple(fact for fact in facts if s.names(fact) <= symbols - {"P"})
    machine = [fact for fact in facts if s.names(fact) <= symbols]
    kept = [fact for fact in facts if fact not in machine]
    if circle != (algorithm,):
        # Other algorithms in the circle have sizes of their own.
        return tuple(machine)
    while kept:
        holding = _holding(*with_where(module, algorithm, tuple(kept)), kept)
        if len(holding) == len(kept):
            break
        kept = holding
    return tuple(fact for fact in facts if fact in machine or fact in kept)


def _holding(module: Module, algorithm: s.Algorithm, facts: Sequence[s.Fact]) -> list[s.Fact]:
    """Those that hold in each call, if all do in the caller."""
    try:
        body = body_of(module, algorithm, OneLevel())
        every = [(known or (), call) for known, nodes in ways(body.nodes) for call in calls(nodes)]
    except (UntracedError, TooManyWaysError, TooComplexError, RecursionError):
        return []
    own = [(known, call) for known, call in every if call.target is algorithm]
    places = [_Call(body.scope, reduce(Facts.with_nonnegative, known, body.scope.facts), call) for known, call in own]
    return [fact for fact in facts if all(place.holds(fact) for place in places)]


class _Call:
    """A call, and what is known where it is made."""

    def __init__(self, scope: Scope, facts: Facts, call: Recursion) -> None:
        self._scope, self._facts, self._sizes = scope, facts, call.sizes

    def holds(self, fact: s.Fact) -> bool:
        """Whether a fact holds for its sizes."""
        if all(self._same(name) for name in s.names(fact)):
            return True
        there = replace(self._scope, facts=self._facts, values={**self._scope.values, **self._sizes})
        match fact:
            case s.IsPower(value=s.Name(id=name), base=s.Integer(value=base)):
                return self._is_share(name, base)
            case s.Binary(op="and", left=left, right=right):
                return self.holds(left) and self.holds(right)
            case s.Binary(op="<" | "<=" | ">" | ">=" | "==" as op) if (apart := difference(fact, there)) is not None:
                return all(never_negative(value, self._facts) for value in differences(op, apart))
            case _:
                return False

    def _same(self, name: str) -> bool:
        return name not in self._sizes or self._facts.simplify(self._sizes[name] - self._scope.values[name]) == ZERO

    def _is_share(self, name: str, base: int) -> bool:
        """Whether a size is that of the caller, or a power of the base less."""
        own, size = self._scope.values[name], self._sizes[name]
        larger = self._facts.with_nonnegative(own - base)
        shares = (larger.simplify(size.scaled(base**power) - own) for power in range(MAX_SHARES))
        # A call of a size below 1 stops the run.
        single = self._facts.restore(size).substitute({name: ONE})
        return ZERO in shares and single.is_constant and single.constant_term <= 1
