"""A naive interpreter: walks the tree, counts by the cost table, and checks bounds, unset elements and races.

It shares nothing with the executor, is made to be read beside docs/reference/cost-rules.md, and is slow. A generated program
that it runs is in bounds and race-free; its counts are a third witness beside the executor's and the analyser's.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import count
from typing import Any

import numpy as np

from archline.language import syntax as s
from programs.machine import Counts, Data, Frame, IllFormedError, Label, View, parallel

_UNARY = {
    "sqrt": math.sqrt, "exp": math.exp, "log": math.log, "log2": math.log2, "sin": math.sin, "cos": math.cos,
    "rsqrt": lambda x: 1 / math.sqrt(x), "abs": abs,
}  # fmt: skip
_COMPARE = {
    "==": lambda a, b: a == b, "!=": lambda a, b: a != b, "<": lambda a, b: a < b, "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b, ">=": lambda a, b: a >= b,
}  # fmt: skip
_ARITHMETIC = {
    "+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b, "//": lambda a, b: a // b,
    "%": lambda a, b: a % b, "^": lambda a, b: a**b, "/": lambda a, b: a / b, "min": min, "max": max,
}  # fmt: skip


class Interpreter:
    """Runs algorithms of one program."""

    def __init__(self, program: s.Program) -> None:
        self._algorithms = {item.name: item for item in program.items if isinstance(item, s.Algorithm)}
        self._externs = {item.name: item for item in program.items if isinstance(item, s.Extern)}
        self._counts = Counts()
        self._numbers = count(1)
        self._elements = count()
        self._history: dict[int, dict[Label, str]] = {}
        self._frame = Frame(())

    def run(self, entry: str, arguments: Mapping[str, object]) -> Counts:
        """Run an algorithm on arguments by name (numpy arrays are changed in place) and return the counts."""
        algorithm = self._algorithms[entry]
        values = [self._incoming(each, arguments[each.name]) for each in algorithm.parameters]
        self._step(1)
        self._call(algorithm, values)
        for parameter, value in zip(algorithm.parameters, values, strict=True):
            given = arguments[parameter.name]
            if isinstance(value, View) and isinstance(given, np.ndarray):
                given[...] = value.values
        self._counts.span = self._frame.now
        return self._counts

    def _incoming(self, parameter: s.Parameter, value: object) -> object:
        if isinstance(value, np.ndarray):
            element = "real" if value.dtype.kind == "f" else "int"
            view = self._array(value.shape, element)
            if parameter.mode != "out":
                flat = [float(x) if element == "real" else Data(x) for x in value.ravel()]
                view.values[...] = np.array([*flat, None], dtype=object)[:-1].reshape(value.shape)
            return view
        return Data(value) if isinstance(parameter.type, s.ScalarType) and isinstance(value, int) else value

    def _array(self, shape: tuple[int, ...], element: str) -> View:
        size = math.prod(shape)
        ids = np.array([next(self._elements) for _ in range(size)], dtype=np.int64).reshape(shape)
        return View(np.full(shape, None, dtype=object), ids, element)

    # Costs
    def _step(self, amount: int) -> None:
        self._counts.work += amount
        self._frame.now += amount

    def _operation(self, kind: str, *operands: object) -> None:
        if any(isinstance(each, float) for each in operands):
            self._counts.flops[kind] += 1
            self._step(1)
        elif any(isinstance(each, Data) for each in operands):
            self._step(1)

    # Races
    def _touch(self, view: View, at: tuple[int, ...], kind: str) -> None:
        seen = self._history.setdefault(int(view.ids[at]), {})
        label = self._frame.label
        for other, kinds in seen.items():
            conflict = not (kind == "r" and kinds == "r") and not (kind == "a" and kinds == "a")
            if conflict and parallel(label, other):
                raise IllFormedError(f"race: {kind} against {kinds}")
        seen[label] = "".join(sorted(set(seen.get(label, "") + kind)))

    # Calls
    def _call(self, algorithm: s.Algorithm, values: Sequence[object]) -> object:
        scope: dict[str, object] = {}
        for parameter, value in zip(algorithm.parameters, values, strict=True):
            scope[parameter.name] = value
            self._bind_sizes(parameter, value, scope)
        outer, self._frame = self._frame, Frame(self._frame.label, self._frame.now, block=next(self._numbers))
        label = outer.label
        try:
            result = self._block(algorithm.body, scope)
            self._sync()
        finally:
            inner, self._frame = self._frame, outer
        self._frame.now, self._frame.label = inner.now, label
        return result

    @staticmethod
    def _bind_sizes(parameter: s.Parameter, value: object, scope: dict[str, object]) -> None:
        if not isinstance(value, View):
            return
        match parameter.type:
            case s.ArrayType(shape=shape) | s.IndexArrayType(shape=shape):
                for extent, length in zip(shape, value.values.shape, strict=True):
                    if isinstance(extent, s.Name) and scope.setdefault(extent.id, length) != length:
                        raise IllFormedError(f"{extent.id} is {scope[extent.id]} and {length}")
            case s.OffsetsType(count=rows, into=total):
                for expr, length in ((rows, len(value.values) - 1), (total, int(value.values[-1]))):
                    if isinstance(expr, s.Name) and scope.setdefault(expr.id, length) != length:
                        raise IllFormedError(f"{expr.id} is {scope[expr.id]} and {length}")

    def _invoke(self, call: s.Call, scope: dict[str, object], spawned: bool) -> object:
        values = [self._value(argument, scope) for argument in call.arguments]
        # An extern costs what it declares and no more; only calls of algorithms cost 1 themselves.
        if call.function in self._externs:
            amount, _ = self._externs[call.function].costs[0]
            cost = int(self._value(amount, scope))
            self._counts.flops["declared"] += cost
            self._step(cost)
            return math.cos(sum(place * float(value) for place, value in enumerate(values, 1)))
        self._step(1)
        algorithm = self._algorithms[call.function]
        values = [_passed(parameter, value) for parameter, value in zip(algorithm.parameters, values, strict=True)]
        if not spawned:
            return self._call(algorithm, values)
        frame = self._frame
        start = frame.now
        before = frame.label
        base = before[:-1] if before and before[-1][0] == -frame.block else before
        frame.label = (*base, (-frame.block, frame.spawned, True))
        self._call(algorithm, values)
        frame.pending = max(frame.pending, frame.now)
        frame.now = start
        frame.spawned += 1
        frame.label = (*base, (-frame.block, frame.spawned, False))
        return None

    def _sync(self) -> None:
        frame = self._frame
        frame.now = max(frame.now, frame.pending)
        frame.pending = 0
        if frame.label and frame.label[-1][0] == -frame.block:
            frame.label = frame.label[:-1]
        frame.block, frame.spawned = next(self._numbers), 0

    # Statements
    def _block(self, body: Sequence[s.Stmt], outer: dict[str, object]) -> object:
        scope = dict(outer)
        result: object = None
        for statement in body:
            match statement:
                case s.Return(value=value):
                    result = self._value(value, scope)
                case _:
                    self._statement(statement, scope)
        if any(isinstance(each, s.Local) and isinstance(each.type, s.ArrayType) for each in body):
            self._sync()
        # Registers of the enclosing block that were assigned here keep their value.
        outer.update((name, scope[name]) for name in outer)
        return result

    def _statement(self, statement: s.Stmt, scope: dict[str, object]) -> None:
        match statement:
            case s.Let(name=name, value=value):
                scope[name] = self._value(value, scope)
            case s.Local():
                self._local(statement, scope)
            case s.Assign():
                self._assign(statement, scope)
            case s.Invoke(call=call, spawned=spawned):
                self._invoke(call, scope, spawned)
            case s.Sync():
                self._sync()
            case s.Costs(amounts=amounts):
                for amount, _ in amounts:
                    cost = int(self._value(amount, scope))
                    self._counts.flops["declared"] += cost
                    self._step(cost)
            case s.Loop():
                self._loop(statement, scope)
            case s.While():
                self._while(statement, scope)
            case s.If(branches=branches):
                for branch in branches:
                    if branch.condition is not None:
                        self._step(1)
                    if branch.condition is None or self._value(branch.condition, scope):
                        self._block(branch.body, scope)
                        break

    def _local(self, statement: s.Local, scope: dict[str, object]) -> None:
        if isinstance(statement.type, s.ScalarType):
            assert statement.value is not None
            scope[statement.name] = self._as(statement.type.element, self._value(statement.value, scope))
            return
        shape = tuple(int(self._value(extent, scope)) for extent in statement.type.shape)
        view = self._array(shape, statement.type.element)
        if statement.value is not None:
            self._fill(view, self._value(statement.value, scope))
        scope[statement.name] = view

    @staticmethod
    def _as(element: str, value: object) -> object:
        return float(value) if element == "real" else Data(value)  # type: ignore[arg-type]

    def _fill(self, target: View, value: object) -> None:
        if isinstance(value, View) and value.values.shape != target.values.shape:
            raise IllFormedError(f"copy of {value.values.shape} into {target.values.shape}")
        amount = 0
        for length in reversed(target.values.shape):
            amount = length * (1 + amount)
        self._step(amount)
        for at in np.ndindex(target.values.shape):
            source = self._read(value, at) if isinstance(value, View) else self._as(target.element, value)
            self._touch(target, at, "w")
            target.values[at] = source

    def _assign(self, statement: s.Assign, scope: dict[str, object]) -> None:
        value = self._value(statement.value, scope)
        target = statement.target
        op = statement.op[:-1]
        if isinstance(target, s.Name):
            held = scope[target.id]
            if isinstance(held, View):
                self._fill(held, value)
                return
            scope[target.id] = self._updated(op, held, value, "real" if isinstance(held, float) else "int")
            return
        if any(isinstance(each, s.Slice) for each in target.subscripts):
            place = self._value(target, scope)
            assert isinstance(place, View)
            self._fill(place, value)
            return
        view = scope[target.array]
        assert isinstance(view, View)
        at = self._subscripts(target, view, scope)
        if op and not statement.atomic:
            self._touch(view, at, "r")
        if op and view.values[at] is None:
            raise IllFormedError(f"{target.array}{list(at)} is not set")
        result = self._updated(op, view.values[at], value, view.element)
        self._touch(view, at, "a" if statement.atomic else "w")
        view.values[at] = result

    def _updated(self, op: str, held: object, value: object, element: str) -> object:
        if not op:
            return self._as(element, value)
        self._operation(op, held)
        return self._as(element, _ARITHMETIC[op](held, value))

    def _loop(self, loop: s.Loop, scope: dict[str, object]) -> None:
        lo, hi = int(self._value(loop.lo, scope)), int(self._value(loop.hi, scope))
        step = int(self._value(loop.step, scope)) if loop.step is not None else 1
        values = range(lo, hi - 1, -step) if loop.down else range(lo, hi, step)
        if loop.parallel:
            self._parallel_loop(loop, values, scope)
            return
        for value in values:
            self._step(1)
            scope[loop.variable] = value
            self._block(loop.body, scope)
        scope.pop(loop.variable, None)

    def _parallel_loop(self, loop: s.Loop, values: range, scope: dict[str, object]) -> None:
        outer = self._frame
        number = next(self._numbers)
        longest = 0
        for value in values:
            label = (*outer.label, (number, value, True))
            self._frame = Frame(label, block=next(self._numbers))
            self._step(1)
            self._block(loop.body, {**scope, loop.variable: value})
            self._sync()
            longest = max(longest, self._frame.now)
        self._frame = outer
        if values:
            outer.now += (len(values) - 1).bit_length() + longest

    def _while(self, loop: s.While, scope: dict[str, object]) -> None:
        limit = self._free(loop.limit, scope)
        rounds = 0
        while True:
            self._step(1)
            if not self._value(loop.condition, scope):
                return
            rounds += 1
            if rounds > limit:  # type: ignore[operator]
                raise IllFormedError("more rounds than `at most` allows")
            self._step(1)
            self._block(loop.body, scope)

    # Expressions
    def _free(self, expr: s.Expr, scope: dict[str, object]) -> object:
        """A value in sizes alone, which costs nothing though a log2 in it may be a fraction."""
        counts, self._counts = self._counts, Counts()
        now = self._frame.now
        try:
            return self._value(expr, scope)
        finally:
            self._counts, self._frame.now = counts, now

    def _value(self, expr: s.Expr, scope: dict[str, object]) -> object:
        match expr:
            case s.Integer(value=value):
                return value
            case s.Real(text=text):
                return float(text)
            case s.Name(id=name):
                return math.pi if name == "pi" else scope[name]
            case s.Unary(op=op, operand=operand):
                inner = self._value(operand, scope)
                return not inner if op == "not" else -inner  # type: ignore[operator]
            case s.Binary(op="and", left=left, right=right):
                return self._value(left, scope) and self._value(right, scope)
            case s.Binary(op="or", left=left, right=right):
                return self._value(left, scope) or self._value(right, scope)
            case s.Binary():
                return self._binary(expr, scope)
            case s.Call():
                return self._intrinsic(expr, scope)
            case s.Element():
                return self._element(expr, scope)
        raise AssertionError(f"{type(expr).__name__} is not generated")

    def _binary(self, expr: s.Binary, scope: dict[str, object]) -> object:
        left, right = self._value(expr.left, scope), self._value(expr.right, scope)
        self._operation(expr.op, left, right)
        if expr.op in _COMPARE:
            return _COMPARE[expr.op](left, right)
        if expr.op == "/" and not isinstance(left, float) and not isinstance(right, float):
            if left % right:  # type: ignore[operator]
                raise IllFormedError(f"{right} does not divide {left}")
            return left // right  # type: ignore[operator]
        return self._kept(_ARITHMETIC[expr.op](left, right), left, right)

    @staticmethod
    def _kept(result: object, *operands: object) -> object:
        if isinstance(result, int) and any(isinstance(each, Data) for each in operands):
            return Data(result)
        return result

    def _intrinsic(self, call: s.Call, scope: dict[str, object]) -> object:
        name = call.function
        if name in self._externs or name in self._algorithms:
            return self._invoke(call, scope, False)
        if name in ("floor", "ceil"):
            return self._rounded(name, call.arguments[0], scope)
        values = [self._value(argument, scope) for argument in call.arguments]
        if name == "real_of":
            return float(values[0])  # type: ignore[arg-type]
        if name in ("min", "max"):
            result = values[0]
            for value in values[1:]:
                self._operation(name, result, value)
                result = self._kept(_ARITHMETIC[name](result, value), result, value)
            return result
        self._operation(name, *values)
        if name == "log2" and isinstance(values[0], int):
            return math.log2(values[0]) if values[0] & (values[0] - 1) else values[0].bit_length() - 1
        return _UNARY[name](values[0])  # type: ignore[operator]

    def _rounded(self, name: str, inner: s.Expr, scope: dict[str, object]) -> object:
        """Generated programs round quotients, roots and logarithms of sizes alone."""
        match inner:
            case s.Binary(op="/", left=left, right=right):
                exact: Any = Fraction(self._value(left, scope), self._value(right, scope))  # type: ignore[arg-type]
            case s.Call(function="log2", arguments=(argument,)):
                value: Any = self._value(argument, scope)
                exact = value.bit_length() - 1 + (value & (value - 1) > 0) / 2
            case s.Call(function="sqrt", arguments=(argument,)):
                value = self._value(argument, scope)
                exact = math.isqrt(value) + (math.isqrt(value) ** 2 < value) / 2
            case _:
                raise AssertionError(f"{type(inner).__name__} is not generated")
        return math.floor(exact) if name == "floor" else math.ceil(exact)

    def _element(self, expr: s.Element, scope: dict[str, object]) -> object:
        view = scope[expr.array]
        assert isinstance(view, View)
        if not any(isinstance(each, s.Slice) for each in expr.subscripts):
            return self._read(view, self._subscripts(expr, view, scope))
        parts: list[int | slice] = []
        for each, length in zip(expr.subscripts, view.values.shape, strict=True):
            parts.append(
                self._slice(each, length, scope) if isinstance(each, s.Slice) else self._index(each, length, scope)
            )
        return View(view.values[tuple(parts)], view.ids[tuple(parts)], view.element)

    def _slice(self, part: s.Slice, length: int, scope: dict[str, object]) -> slice:
        lo = int(self._value(part.lo, scope)) if part.lo is not None else 0
        hi = int(self._value(part.hi, scope)) if part.hi is not None else length
        step = int(self._value(part.step, scope)) if part.step is not None else 1
        if not 0 <= lo <= hi <= length:
            raise IllFormedError(f"slice {lo}..{hi} of {length}")
        return slice(lo, hi, step)

    def _index(self, expr: s.Expr, length: int, scope: dict[str, object]) -> int:
        value = self._value(expr, scope)
        if not isinstance(value, int) or not 0 <= value < length:
            raise IllFormedError(f"subscript {value} of {length}")
        return value

    def _subscripts(self, expr: s.Element, view: View, scope: dict[str, object]) -> tuple[int, ...]:
        pairs = zip(expr.subscripts, view.values.shape, strict=True)
        return tuple(self._index(each, length, scope) for each, length in pairs)  # type: ignore[arg-type]

    def _read(self, view: View, at: tuple[int, ...]) -> object:
        self._touch(view, at, "r")
        if view.values[at] is None:
            raise IllFormedError("an element is read that is not set")
        return view.values[at]


def _passed(parameter: s.Parameter, value: object) -> object:
    """An argument as the callee has it: a number becomes data of the parameter's type."""
    if not isinstance(parameter.type, s.ScalarType):
        return value
    return float(value) if parameter.type.element == "real" else Data(value)  # type: ignore[arg-type]
