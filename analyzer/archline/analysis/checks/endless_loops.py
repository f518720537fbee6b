"""A loop never ends once it is entered if each of its iterations keeps its condition true, and nothing leaves it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from archline.expr.text import format_expression
from archline.expr.tree import substitute_names
from archline.ir.counters import Move, find_initial_values, read_move
from archline.ir.declarations import declared_scope
from archline.ir.scope import Scope, known_value
from archline.language import syntax as s
from archline.language.conditions import NEVER_ENDS
from archline.language.diagnostics import Diagnostic
from archline.language.model import Module

_PURE_FUNCTIONS = {"abs", "ceil", "floor", "log2", "max", "min", "sqrt"}


def iterate_endless_loops(module: Module, algorithm: s.Algorithm) -> Iterator[tuple[str, Diagnostic]]:
    """Yield a warning for each loop of an algorithm that no run leaves once it has entered it, with its line."""
    loops = [] if algorithm.grid else [x for x in s.find_nodes(algorithm.body, s.While) if not s.may_end_early(x)]
    if not loops:
        return
    scope, starts_of = declared_scope(module, algorithm), find_initial_values(module)
    constants = {
        let.name: let.value
        for let in s.find_nodes(algorithm.body, s.Let)
        if s.find_names(let.value) <= scope.values.keys()
    }
    for loop in loops:
        starts = {} if loop.tests_last else {**constants, **starts_of.get(loop, {})}
        if not _LoopBody(loop, algorithm, scope, starts).keeps_true(loop.condition):
            continue
        condition = format_expression(loop.condition)
        first = format_expression(substitute_names(loop.condition, dict(starts)))
        entered = f", where `{first}`" if starts and first not in (condition, "true") else ""
        reason = f"its body never makes `{condition}` false"
        if isinstance(loop.condition, s.Integer):
            reason = "its condition is true, and its body does not leave it"
        message = f"no run leaves this loop once it enters it{entered}: {reason}"
        hint = "change in its body what the condition tests, or leave the loop by `break`"
        yield f"while in line {loop.span.line}", Diagnostic(NEVER_ENDS, message, loop.condition.span, hint=hint)


class _LoopBody:
    """The body of a loop, with what an iteration does to the names that its condition tests."""

    def __init__(self, loop: s.While, algorithm: s.Algorithm, scope: Scope, starts: Mapping[str, s.Expr]) -> None:
        self._scope, self._starts = scope, starts
        self._assigned = s.find_assigned_names(loop.body)
        self._simple = list(s.find_nodes(loop.body, s.Simple))
        self._sizes = frozenset(scope.module.signatures[algorithm].size_names)
        writes = (place for statement in self._simple for place in statement.writes)
        calls = (call for call in s.find_nodes(loop.body, s.Call) if call.function not in _PURE_FUNCTIONS)
        tasks = (x for x in s.find_nodes(algorithm.body, s.Invoke) if x.spawned)
        parallel = (x for x in s.find_nodes(algorithm.body, s.Loop) if x.parallel)
        self._keeps_arrays = all(isinstance(place, s.Name) for place in writes) and not any((*calls, *tasks, *parallel))

    def keeps_true(self, condition: s.Expr) -> bool:
        """Test whether a condition that is true before an iteration is certainly true after it."""
        match condition:
            case s.Binary(op="and" | "or", left=left, right=right):
                return self.keeps_true(left) and self.keeps_true(right)
            case s.Binary(op="<" | "<=" | ">" | ">=" | "!=" as op, left=left, right=right):
                # How the left side less the right one moves.
                moves = self._find_moves(left, 1) | self._find_moves(right, -1)
                if len(moves) == 1 and op == "!=":
                    return self._begins_beyond(left, right, moves)
                return not moves or moves == ({-1} if op in ("<", "<=") else {1})
            case _:
                return not self._find_moves(condition, 1)

    def _find_moves(self, value: s.Expr, sign: int) -> frozenset[int]:
        """Return 1 if an iteration may raise a value and -1 if it may lower it, each times a sign."""
        match value:
            case s.Integer() | s.Real():
                return frozenset()
            case s.Name(id=name):
                return frozenset(sign * move for move in self._find_moves_of_register(name))
            case s.Unary(op="-", operand=operand):
                return self._find_moves(operand, -sign)
            case s.Binary(op="+" | "-" as op, left=left, right=right):
                return self._find_moves(left, sign) | self._find_moves(right, sign if op == "+" else -sign)
            case s.Binary(op="*", left=s.Integer(value=factor), right=operand) if factor >= 0:
                return self._find_moves(operand, sign)
            case s.Binary(op="*", left=operand, right=s.Integer(value=factor)) if factor >= 0:
                return self._find_moves(operand, sign)
            case _:
                arrays = {element.array for element in s.find_nodes(value, s.Element)}
                calls = (call for call in s.find_nodes(value, s.Call) if call.function not in _PURE_FUNCTIONS)
                stays = (s.find_names(value) | arrays).isdisjoint(self._assigned) and not any(calls)
                return frozenset() if stays and (self._keeps_arrays or not arrays) else frozenset({-1, 1})

    def _find_moves_of_register(self, name: str) -> Iterator[int]:
        if name in self._assigned - {x for statement in self._simple for x in statement.sets}:
            # It is the variable of a loop.
            yield from (-1, 1)
        for statement in self._simple:
            if name not in statement.sets:
                continue
            match read_move(name, statement):
                case Move(kind="+", amount=s.Unary(op="-", operand=amount)) if self._is_positive(amount):
                    yield -1
                case Move(kind="+", amount=s.Integer() | s.Name() as amount) if self._is_positive(amount):
                    yield 1
                case _:
                    # Any other statement may set the register to any value.
                    yield from (-1, 1)

    def _is_positive(self, amount: s.Expr) -> bool:
        match amount:
            case s.Integer(value=value):
                return value > 0
            case _:
                return isinstance(amount, s.Name) and amount.id in self._sizes

    def _begins_beyond(self, left: s.Expr, right: s.Expr, moves: frozenset[int]) -> bool:
        """Test whether the left side begins at or beyond the right one in the direction in which it moves away."""
        sides = [known_value(substitute_names(side, dict(self._starts)), self._scope) for side in (left, right)]
        first, end = sides
        if first is None or end is None or not self._assigned & s.find_names((left, right)) <= self._starts.keys():
            return False
        (move,) = moves
        return self._scope.facts.nonnegative((first - end).scaled(move))
