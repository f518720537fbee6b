"""The slots of the state that depend on the program: amounts of externs, cost symbols, measures of recursion."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from archline.execution.slots import FIRST_FREE, SYMBOLS
from archline.language import syntax as s
from archline.language.model import Module


@dataclass(eq=False)
class Layout:
    """Where the state holds what, and which externs and symbols the generated code turned out to need.

    `measures` gives each recursive algorithm its first slot: 1 if it is active, then what must decrease.
    """

    externs: dict[str, int]
    symbols: dict[str, int]
    measures: dict[s.Algorithm, int]
    first_counter: int
    used_externs: dict[str, s.Extern] = field(default_factory=dict)
    used_symbols: set[str] = field(default_factory=set)

    def extern(self, extern: s.Extern) -> int:
        """The slot that holds what a call of the extern adds to the span."""
        self.used_externs[extern.name] = extern
        return self.externs[extern.name]

    def symbol(self, name: str) -> int:
        """The slot of a cost symbol or machine symbol."""
        self.used_symbols.add(name)
        return self.symbols[name]


def plan(module: Module, recursive: Sequence[s.Algorithm], measured: dict[s.Algorithm, int]) -> Layout:
    """Lay the state out; `measured` says how many numbers each recursive algorithm must decrease."""
    slot = FIRST_FREE
    externs = {}
    for name in module.externs:
        externs[name] = slot
        slot += 1
    symbols = dict(SYMBOLS)
    for name in cost_symbols(module.externs.values()):
        if name not in symbols:
            symbols[name] = slot
            slot += 1
    measures = {}
    for algorithm in recursive:
        measures[algorithm] = slot
        slot += 1 + measured[algorithm]
    return Layout(externs, symbols, measures, slot)


def cost_symbols(externs: Iterable[s.Extern]) -> list[str]:
    """The names in the declared costs of externs, in order of appearance."""
    found: dict[str, None] = {}
    for extern in externs:
        for amount, _ in extern.costs:
            found.update(dict.fromkeys(names_in(amount)))
    return list(found)


def names_in(expr: s.Expr) -> list[str]:
    """The names in an expression in sizes."""
    match expr:
        case s.Name(id=name):
            return [] if name == "pi" else [name]
        case s.Unary(operand=operand):
            return names_in(operand)
        case s.Binary(left=left, right=right):
            return names_in(left) + names_in(right)
        case s.Call(arguments=arguments):
            return [name for argument in arguments for name in names_in(argument)]
        case s.Integer() | s.Real() | s.Element() | s.Reshape():
            return []


def names_in_fact(fact: s.Fact) -> list[str]:
    """The names in a fact about sizes."""
    match fact:
        case s.IsPower(value=a, base=b) | s.Divides(divisor=a, value=b):
            return names_in(a) + names_in(b)
        case s.IsSquare(value=a):
            return names_in(a)
        case _:
            return names_in(fact)
