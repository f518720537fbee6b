"""Statements are visited by their kinds: a pass over a program has a method for each kind that matters to it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from archline.language import syntax as s

P = TypeVar("P")
R = TypeVar("R")
METHODS = {
    s.Let: "let",
    s.Local: "local",
    s.Assign: "assign",
    s.Invoke: "invoke",
    s.Sync: "sync",
    s.Costs: "costs",
    s.Assume: "assume",
    s.Transfer: "transfer",
    s.Communicate: "communicate",
    s.Loop: "loop",
    s.While: "while_loop",
    s.Split: "split",
}
"""The method for each kind of statement that a visitor may treat separately."""


class StatementVisitor(ABC, Generic[P, R]):
    """Calls the method for the kind of a statement; `P` is the state before it, `R` the result.

    The method `simple` is for the kinds of statements without blocks that have no method of their own.
    """

    def statement(self, statement: s.Stmt, place: P) -> R:
        """Return the result of one statement."""
        if isinstance(statement, s.If):
            return self.branches(statement.branches, place)
        method: Callable[[Any, P], R] = getattr(self, METHODS.get(type(statement), ""), self.simple)
        return method(statement, place)

    @abstractmethod
    def simple(self, statement: s.SimpleStmt, place: P) -> R: ...

    @abstractmethod
    def loop(self, loop: s.Loop, place: P) -> R:
        """Visit a counted loop."""

    @abstractmethod
    def while_loop(self, loop: s.While, place: P) -> R:
        """Visit a loop whose end is decided by data."""

    @abstractmethod
    def branches(self, branches: tuple[s.Branch, ...], place: P) -> R:
        """Visit an `if`, or the rest of one after its first tests."""

    @abstractmethod
    def split(self, split: s.Split, place: P) -> R:
        """Visit a block that groups of processors run."""
