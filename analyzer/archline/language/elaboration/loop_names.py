"""A loop whose variable has the name of a register gets a variable of its own, where nothing reads the register after.

After such a loop the name is that of the register, whose value the loop did not change. A loop whose variable has a
name that is read after it keeps the name, and the checker reports it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from archline.expr.tree import Comprehension, Node
from archline.language import surface
from archline.language import syntax as s
from archline.language.elaboration.declare import find_mentioned_names, replace_blocks
from archline.language.elaboration.rewriting import rewrite_tree
from archline.language.elaboration.scalars import make_register_name
from archline.records import replace

Block = tuple[Any, ...]


def separate_loop_variables(algorithm: s.Algorithm) -> s.Algorithm:
    """Return an algorithm in which no variable of a loop has the name of a register, where that is possible."""
    numbers = [part for part in algorithm.parameters if isinstance(part.type, s.ScalarType)]
    outputs = frozenset(part.name for part in numbers if part.mode != "in")
    body = _Separator(algorithm.body, outputs).separate_block(algorithm.body, frozenset(part.name for part in numbers))
    return replace(algorithm, body=body)


@dataclass
class _Separator:
    """Renames the variables of loops in a body; `outputs` are read when it ends."""

    body: Block
    outputs: frozenset[str]
    lives: dict[str, _Liveness] = field(default_factory=dict)

    def separate_block(self, block: Block, visible: frozenset[str]) -> Block:
        """Return a block whose loop variables have names of their own; `visible` are registers declared before it."""
        statements = []
        for statement in block:
            inside = visible
            changed = replace_blocks(statement, lambda inner, inside=inside: self.separate_block(inner, inside))
            if isinstance(statement, s.Loop | surface.LoopOver) and self._needs_renaming(statement, visible):
                changed = _rename_variable(changed, make_register_name(statement.variable))
            statements.append(changed)
            if isinstance(statement, s.Local | s.Let):
                visible |= {statement.name}
        return tuple(statements)

    def _needs_renaming(self, loop: s.Loop | surface.LoopOver, visible: frozenset[str]) -> bool:
        """Whether the variable of a loop has the name of a register that is not read after the loop."""
        name = loop.variable
        if name not in visible or _is_set_inside(loop.body, name):
            return False
        if name not in self.lives:
            self.lives[name] = _Liveness(name, name in self.outputs)
            self.lives[name].is_live_before_block(self.body, _Flow(name in self.outputs))
        return not self.lives[name].read_after[id(loop)]


def _is_set_inside(body: Block, name: str) -> bool:
    """Whether the body of a loop sets the name of a variable, or has a loop over it."""
    for node in s.iterate_nodes(body):
        if isinstance(node, s.Simple) and name in node.sets:
            return True
        if isinstance(node, s.Loop | surface.LoopOver) and name == node.variable:
            return True
    return False


def _rename_variable(loop: Any, name: str) -> Any:
    """Return a loop with its variable renamed."""
    old = loop.variable

    def change_node(node: Node) -> Node | None:
        match node:
            case s.Name(id=used) if used == old:
                return replace(node, id=name)
            case Comprehension(variable=variable) if variable == old:
                ends = rewrite_tree((node.lo, node.hi, node.step), change_node)
                return replace(node, lo=ends[0], hi=ends[1], step=ends[2])
            case _:
                return None

    return replace(loop, variable=name, body=rewrite_tree(loop.body, change_node))


@dataclass(frozen=True)
class _Flow:
    """Whether a name is read after a block, after a `break`, and after a `continue`, before it is set again."""

    after: bool
    leaving: bool = False
    again: bool = False


@dataclass
class _Liveness:
    """Liveness of a name: `read_after` has, by id of each loop over that name, whether it is read after the loop."""

    name: str
    at_end: bool
    read_after: dict[int, bool] = field(default_factory=dict)

    def is_live_before_block(self, block: Block, flow: _Flow) -> bool:
        """Return whether a block, or what follows it, reads the name before it is set."""
        for statement in reversed(block):
            flow = _with_after(flow, self._is_live_before_statement(statement, flow))
        return flow.after

    def _is_live_before_statement(self, statement: Any, flow: _Flow) -> bool:
        match statement:
            case s.Exit(kind=kind):
                return {"break": flow.leaving, "continue": flow.again}.get(kind, self.at_end)
            case s.Return():
                return self.at_end or self._is_read(statement)
            case s.If(branches=branches):
                ends = [self.is_live_before_block(branch.body, flow) for branch in branches]
                return (
                    self._is_read(tuple(branch.condition for branch in branches))
                    or any(ends)
                    or (branches[-1].condition is not None and flow.after)
                )
            case s.Loop() | surface.LoopOver() | s.While():
                return self._is_live_before_loop(statement, flow.after)
            case s.Split(body=body, parts=parts):
                return self._is_read(parts) or self.is_live_before_block(body, flow)
            case s.Local(name=name, value=value) | s.Let(name=name, value=value) if name == self.name:
                return value is not None and self._is_read(value)
            case s.Assign(target=s.Name(id=name), op="=", value=value) if name == self.name:
                return self._is_read(value)
            case surface.Multiple(targets=targets, values=values) if self.name in [
                target.id for target in targets if isinstance(target, s.Name)
            ]:
                elements = tuple(target for target in targets if isinstance(target, s.Element))
                return self._is_read((elements, values))
            case _:
                # Other statements set no register for certain.
                return self._is_read(statement) or flow.after

    def _is_live_before_loop(self, loop: Any, after: bool) -> bool:
        match loop:
            case s.While(condition=condition, limit=limit):
                before, test = self._is_read(limit), self._is_read(condition)
            case s.Loop(lo=lo, hi=hi, step=step):
                before, test = self._is_read((lo, hi, step)), False
            case _:
                # The loop goes over elements.
                before, test = self._is_read(loop.over), False
        if getattr(loop, "variable", None) == self.name:
            self.read_after[id(loop)] = self.read_after.get(id(loop), False) or after
            return before or after
        start = test or after
        # The second round knows what the next iteration reads.
        for _ in range(2):
            start |= self.is_live_before_block(loop.body, _Flow(start, after, start))
        return before or start

    def _is_read(self, part: Any) -> bool:
        return self.name in find_mentioned_names(part)


def _with_after(flow: _Flow, after: bool) -> _Flow:
    """Return a flow with another `after`: whether the name is read after the block."""
    return _Flow(after, flow.leaving, flow.again)
