"""An interpreter of drafts that counts for each line what its statements execute, calls of other algorithms included."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any

from lark import Tree

from draft_interpreter import Algorithm, Interpreter

COUNTED = ("executions", "flops", "work")


class LineInterpreter(Interpreter):
    """Runs one algorithm, and counts by line; lines of algorithms that it calls count at the line of the call."""

    def __init__(self, text: str, name: str) -> None:
        super().__init__(text)
        self.by_line: dict[int, Counter[str]] = defaultdict(Counter)
        self._name = name
        self._line = self._outer = 0
        self._seen = (0, 0)

    def _charge(self) -> None:
        """Charge what was counted since the last call to the current line."""
        flops, work = self._seen
        self.by_line[self._line].update(flops=self.flops - flops, work=self.work - work)
        self._seen = self.flops, self.work

    def _run_block(self, block: list[Tree[Any]], frame: dict[str, Any], algorithm: Algorithm) -> None:
        outer, self._outer = self._outer, 0 if block is algorithm.body else self._line
        try:
            super()._run_block(block, frame, algorithm)
        finally:
            self._outer = outer

    def _run_statement(self, statement: Tree[Any], frame: dict[str, Any], algorithm: Algorithm) -> None:
        if algorithm.name != self._name:
            super()._run_statement(statement, frame, algorithm)
            return
        self._charge()
        outer, self._line = self._line, statement.meta.line
        declares = (
            statement.data == "local" and statement.children[3] is None and statement.children[2].data != "record_type"
        )
        self.by_line[self._line]["executions"] += self._line != self._outer and not declares
        try:
            super()._run_statement(statement, frame, algorithm)
        finally:
            self._charge()
            self._line = outer

    def _enter_branch(self, branch: Tree[Any], algorithm: Algorithm) -> None:
        if algorithm.name != self._name or branch.data != "elif_":
            return
        self._charge()
        self.by_line[branch.meta.line]["executions"] += self._line != branch.meta.line
        self._line = branch.meta.line
