"""Statements by their kinds: whatever follows a program says in one method what each kind of statement means to it."""

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
"""The method for each kind of statement that a walk may treat in particular."""


class StatementVisitor(ABC, Generic[P, R]):
    """Finds the method of a statement; `P` is what is known where it stands, `R` what it comes to.

    Statements without blocks of which nothing is said in particular are `simple`.
    """

    def statement(self, statement: s.Stmt, place: P) -> R:
        """What one statement comes to."""
        if isinstance(statement, s.If):
            return self.branches(statement.branches, place)
        method: Callable[[Any, P], R] = getattr(self, METHODS.get(type(statement), ""), self.simple)
        return method(statement, place)

    @abstractmethod
    def simple(self, statement: s.SimpleStmt, place: P) -> R:
        """A statement without blocks inside it."""

    @abstractmethod
    def loop(self, loop: s.Loop, place: P) -> R:
        """A counted loop."""

    @abstractmethod
    def while_loop(self, loop: s.While, place: P) -> R:
        """A loop of which the data says whether it goes on."""

    @abstractmethod
    def branches(self, branches: tuple[s.Branch, ...], place: P) -> R:
        """An `if`, or what is left of one behind its first tests."""

    @abstractmethod
    def split(self, split: s.Split, place: P) -> R:
        """A block that groups of processors run."""
