"""Statements by their kinds: whatever follows a program says in one method what each kind of statement means to it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Generic, TypeVar

from archline.language import syntax as s

P = TypeVar("P")
R = TypeVar("R")


class StatementVisitor(ABC, Generic[P, R]):
    """Finds the method of a statement; `P` is what is known where it stands, `R` what it comes to.

    Statements without blocks of which nothing is said in particular are `simple`.
    """

    def statement(self, statement: s.Stmt, place: P) -> R:
        """What one statement comes to."""
        match statement:
            case s.Let():
                return self.let(statement, place)
            case s.Local():
                return self.local(statement, place)
            case s.Assign():
                return self.assign(statement, place)
            case s.Invoke():
                return self.invoke(statement, place)
            case s.Sync():
                return self.sync(statement, place)
            case s.Costs():
                return self.costs(statement, place)
            case s.Assume():
                return self.assume(statement, place)
            case s.Transfer():
                return self.transfer(statement, place)
            case s.Communicate():
                return self.communicate(statement, place)
            case s.Simple():
                return self.simple(statement, place)
            case s.Loop():
                return self.loop(statement, place)
            case s.While():
                return self.while_loop(statement, place)
            case s.If():
                return self.branches(statement.branches, place)
            case s.Split():
                return self.split(statement, place)

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

    def let(self, let: s.Let, place: P) -> R:
        """A name for a size or a view."""
        return self.simple(let, place)

    def local(self, local: s.Local, place: P) -> R:
        """A register or a local array."""
        return self.simple(local, place)

    def assign(self, assign: s.Assign, place: P) -> R:
        """An assignment or an update."""
        return self.simple(assign, place)

    def invoke(self, invoke: s.Invoke, place: P) -> R:
        """A call as a statement."""
        return self.simple(invoke, place)

    def sync(self, sync: s.Sync, place: P) -> R:
        """The end of all spawned calls."""
        return self.simple(sync, place)

    def costs(self, costs: s.Costs, place: P) -> R:
        """Declared costs."""
        return self.simple(costs, place)

    def assume(self, assume: s.Assume, place: P) -> R:
        """Facts that hold from here on."""
        return self.simple(assume, place)

    def transfer(self, transfer: s.Transfer, place: P) -> R:
        """The start or the end of data on a grid."""
        return self.simple(transfer, place)

    def communicate(self, statement: s.Communicate, place: P) -> R:
        """Messages, or a collective operation."""
        return self.simple(statement, place)
