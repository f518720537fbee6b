"""Follow runs at given sizes as far as they depend on sizes alone: what stops such a run stops it for any data."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import dataclass, field, replace
from itertools import pairwise, product
from math import prod
from typing import Any

from archline.analysis.checks.follower import Environment, Explanation, StatementFollower
from archline.expr.intervals import EvaluationError
from archline.expr.text import format_expression, format_fact, format_list
from archline.expr.values import evaluate, evaluate_fact, evaluate_static
from archline.ir.places import read_array_type
from archline.language import conditions as rules
from archline.language import syntax as s
from archline.language.call_graph import find_recursive_component
from archline.language.call_rules import TOO_MANY_ITERATIONS
from archline.language.diagnostics import Diagnostic, Rule
from archline.language.format_statements import format_limit
from archline.language.model import Kind, Module, is_buffer
from archline.language.proposals import propose_mode, suggest_division
from archline.language.substitution import build_processor_count
from archline.numbers import format_point
from archline.records import record

MAX_STATEMENTS, MAX_POSSIBLE_STATEMENTS, MAX_DEPTH, MAX_ELEMENTS = 2_000, 1_000, 50, 10_000
EXACT_OPERATIONS = ("/", "//", "%", "^", "log2", "sqrt")


@record(eq=False)
class Failure:
    """The reason why a run stops at sizes; `about` is the requirement that is not met, as text.

    `zero` has the algorithm and the sizes of the recursive call at size 0 in which the run stops, if any.
    """

    rule: Rule
    node: s.Node
    message: str
    hint: str
    sizes: Mapping[str, int]
    about: str
    statement: s.Stmt | None
    zero: tuple[s.Algorithm, Mapping[str, int]] | None = None
    unset: tuple[TrackedArray, int] | None = None
    """The array and the place of the element that is read before it is set; None for other failures."""

    @property
    def diagnostic(self) -> Diagnostic:
        """The failure as a diagnostic."""
        return Diagnostic(self.rule, self.message, self.node.span, hint=self.hint or None)


@record(eq=False)
class Outcome:
    """The outcome of a followed run: its failure, or whether it is known to end, and the statements that it reached.

    Arrays in `unset` have elements that the run does not set, for any data; for a run that stops where it reads such
    an element, that array alone is listed.
    """

    failure: Failure | None
    ends: bool
    reached: set[s.Stmt]
    unset: tuple[TrackedArray, ...] = ()


@dataclass(eq=False)
class TrackedArray:
    """An array or a register.

    `elements` are the positions, in row-major order, of elements that may be set; None if all may be.
    """

    name: str
    extents: tuple[Any, ...]
    elements: set[int] | None

    def format_element(self, place: int) -> str:
        """Return the text of the element at a position in row-major order, such as x[0, 1]."""
        subscripts = self.compute_subscripts(place)
        return f"{self.name}[{', '.join(map(str, subscripts))}]" if subscripts else self.name

    @property
    def first_unset(self) -> int | None:
        """The position of the first element that is certainly not set; None if there is none, or for large arrays."""
        size = prod(self.extents) if None not in self.extents else MAX_ELEMENTS + 1
        if self.elements is None or size > MAX_ELEMENTS:
            return None
        return next((place for place in range(size) if place not in self.elements), None)

    def is_in_unset_border(self, place: int) -> bool:
        """Test whether no element is set in some first or last row that contains a position, but elsewhere some are."""
        filled = [*map(self.compute_subscripts, self.elements or ())]
        rows = enumerate(zip(self.compute_subscripts(place), self.extents, strict=True))
        ends = [(axis, index) for axis, (index, extent) in rows if index in (0, extent - 1)]
        return bool(filled) and any(all(subscripts[axis] != index for subscripts in filled) for axis, index in ends)

    def compute_subscripts(self, place: int) -> tuple[int, ...]:
        inner: list[int] = []
        for extent in reversed(self.extents[1:]):
            place, last = divmod(place, extent)
            inner.insert(0, last)
        return (place, *inner) if self.extents else ()


@record(eq=False)
class _View:
    """A view of an array: the position of its first element in row-major order, and a stride for each axis."""

    array: TrackedArray
    start: int
    strides: tuple[Any, ...]

    def locate_element(self, subscripts: Sequence[int]) -> int:
        """Return the position of an element of the view in the array, in row-major order."""
        steps: list[int] = [stride * index for stride, index in zip(self.strides, subscripts, strict=True)]
        return self.start + sum(steps)


@dataclass(eq=False)
class RunBlock(Environment):
    """The names of a block whose values, extents or elements depend on sizes alone."""

    algorithm: s.Algorithm
    values: dict[str, Any]
    extents: dict[str, tuple[Any, ...]] = field(default_factory=dict)
    axes: dict[str, Any] = field(default_factory=dict)
    views: dict[str, _View] = field(default_factory=dict)
    registers: dict[str, str] = field(default_factory=dict)
    iterations: dict[s.While, int] = field(default_factory=dict)

    def define(self, name: str, value: Any) -> None:
        self.values.pop(name, None)
        self.extents.pop(name, None)
        self.views.pop(name, None)
        if value is not None:
            self.values[name] = value


class StopError(Exception):
    """Raised when a followed run stops: by a failure, or (None) because it is too long or violates an assumption."""

    def __init__(self, failure: Failure | None = None) -> None:
        super().__init__()
        self.failure = failure


class FollowedRuns(StatementFollower[RunBlock]):
    """Follows runs of an algorithm at several sizes, up to `left` more statements.

    With `every`, all iterations are followed, and set elements are tracked; without, only the first and the last
    iteration of each loop are followed, and equal calls once.
    """

    def __init__(self, module: Module, outermost: s.Algorithm, every: bool = False) -> None:
        super().__init__(module)
        self.outermost, self._every = outermost, every
        self.sizes: Mapping[str, int] = {}
        self.left = MAX_STATEMENTS
        self._supposed: int | None = MAX_POSSIBLE_STATEMENTS
        self._now: s.Stmt | None = None
        self._reached: set[s.Stmt] = set()
        self._active: list[tuple[s.Algorithm, Mapping[str, int]]] = []
        self._entered: tuple[tuple[s.Algorithm, Mapping[str, int]], ...] = ()
        self._done: set[tuple[s.Algorithm, tuple[tuple[str, int], ...]]] = set()

    def follow_run(self, sizes: Mapping[str, int]) -> Outcome:
        """Follow the run at sizes, and return its outcome."""
        self.sizes, self._reached, self._now = sizes, set(), None
        self._active = [(self.outermost, sizes)]
        arrays: list[TrackedArray] = []
        try:
            for frame in self._make_initial_blocks(sizes):
                self._begin_run(frame)
                for parameter in self.outermost.parameters:
                    if parameter.mode != "in":
                        self._track_elements(parameter.name, parameter.mode == "out" and not parameter.local, frame)
                arrays = [view.array for view in frame.views.values()]
                self.follow_block(self.outermost.body, frame)
        except StopError as stopped:
            read = stopped.failure and stopped.failure.unset
            outputs = (read[0],) if read and read[0] in arrays and not self.outermost.grid else ()
            return Outcome(stopped.failure, False, self._reached, outputs)
        unset = tuple(array for array in arrays if array.first_unset is not None)
        return Outcome(None, True, self._reached, () if self.outermost.grid else unset)

    def _begin_run(self, frame: RunBlock) -> None:
        """Begin a run; a failure in the shape of a parameter becomes BAD_SIZE, as no argument has such a shape."""
        try:
            self.begin(self.outermost, frame)
        except StopError as stopped:
            failure = stopped.failure
            raise StopError(failure and replace(failure, rule=rules.BAD_SIZE)) from None

    def _make_initial_blocks(self, sizes: Mapping[str, int]) -> Iterator[RunBlock]:
        """Yield the initial block of a run, on a grid that of each followed processor."""
        grid = self.outermost.grid
        frame = RunBlock(self.outermost, dict(sizes))
        if not grid:
            yield frame
            return
        processors = build_processor_count(self.outermost)
        if processors is not None:
            frame.values["P"] = self.evaluate_integer(processors, frame) or 0
        if "P" not in frame.values:
            raise StopError
        extents = [self.evaluate_integer(axis.extent, frame) or 0 for axis in grid]
        if prod(extents) != frame.values["P"]:
            raise StopError
        names = [axis.name for axis in grid]
        for place in self.choose_processors(extents):
            values = {**frame.values, **dict(zip(names, place, strict=True))}
            yield RunBlock(self.outermost, values, axes=dict(zip(names, extents, strict=True)))

    def choose_processors(self, extents: Sequence[int]) -> Iterable[tuple[int, ...]]:
        """Choose the processors of a grid that are followed: its corners."""
        return product(*({0, extent - 1} for extent in extents))

    # Values
    def evaluate_integer(self, expr: s.Expr, block: RunBlock) -> int | None:
        # A fast path: most expressions are short, and there are many.
        match expr:
            case s.Integer(value=number):
                return number
            case s.Name(id=name):
                return block.values.get(name)
            case s.Binary(op="+" | "-" | "*" as op, left=left, right=right):
                x, y = self.evaluate_integer(left, block), self.evaluate_integer(right, block)
                if x is None or y is None:
                    return None
                return x + y if op == "+" else x - y if op == "-" else x * y
            case _:
                return self._evaluate_or_stop(expr, block)

    def _evaluate_or_stop(self, expr: s.Expr, block: RunBlock) -> int | None:
        for node in s.iterate_nodes(expr):
            if isinstance(node, s.Element) or (isinstance(node, s.Name) and node.id not in block.values):
                return None
        try:
            return evaluate_static(expr, block.values)
        except EvaluationError as problem:
            part = problem.expr or expr
            name = part.op if isinstance(part, s.Binary) else part.function if isinstance(part, s.Call) else ""
            if name not in EXACT_OPERATIONS or "bits" in str(problem):
                raise StopError from None
            text = f"`{format_expression(part)}`"
            raise StopError(
                self._build_failure(
                    rules.NOT_EXACT,
                    part,
                    f"{text} is an integer",
                    f"{text} has no value: {problem}",
                    suggest_division(part) or "",
                )
            ) from None

    def bound_subscript(self, expr: s.Expr, block: RunBlock) -> tuple[int | None, int | None]:
        value = self.evaluate_integer(expr, block)
        return value, value

    # Needs
    def require_nonnegative(
        self, rule: Rule, node: s.Node, values: Sequence[Any], block: RunBlock, explanation: Explanation, hint: str = ""
    ) -> None:
        if any(value is not None and value < 0 for value in values):
            raise StopError(self._build_failure(rule, node, *explanation(), hint))

    def require_fact(self, fact: s.Fact, call: s.Call, callee: RunBlock) -> None:
        if evaluate_fact(fact, callee.values) is False:
            text = f"`where {format_fact(fact)}` of `{callee.algorithm.name}`"
            raise StopError(
                self._build_failure(rules.WHERE, call, f"{text} holds", f"{text} is false in this call", "")
            )

    def _build_failure(self, rule: Rule, node: s.Node, about: str, message: str, hint: str) -> Failure:
        sizes = format_point(self.sizes)
        in_outermost = self._active[-1][0] is self.outermost
        place = f"at {sizes}" if in_outermost else f"in a run of `{self.outermost.name}` at {sizes}"
        message = f"{message}, {place}" if sizes else message
        return Failure(rule, node, message, hint, self.sizes, about, self._now, self._find_call_at_zero())

    def _find_call_at_zero(self) -> tuple[s.Algorithm, Mapping[str, int]] | None:
        """Return the outermost active recursive call with a size of at most 0, and its sizes; None if there is none."""
        for (caller, _), (callee, sizes) in pairwise((*self._active, *self._entered)):
            names = self.module.signatures[callee].size_names
            if any(sizes[name] <= 0 for name in names) and caller in find_recursive_component(self.module, callee):
                return callee, {name: sizes[name] for name in names}
        return None

    # Statements
    def statement(self, statement: s.Stmt, block: RunBlock) -> None:
        self.left -= 1
        if self.left < 0:
            raise StopError
        if isinstance(statement, s.Assume) and any(
            evaluate_fact(fact, block.values) is False for fact in statement.facts
        ):
            raise StopError
        self._now = statement
        self._reached.add(statement)
        super().statement(statement, block)

    def let(self, let: s.Let, block: RunBlock) -> None:
        super().let(let, block)
        if self.module.is_view(let.value):
            view = self._resolve_bound_view(let.value, block)
            block.views.pop(let.name, None)
            if view is not None:
                block.views[let.name] = view

    def local(self, local: s.Local, block: RunBlock) -> None:
        super().local(local, block)
        self._track_elements(local.name, local.value is None, block)
        if isinstance(local.type, s.ScalarType):
            block.registers[local.name] = local.type.element
            self._assign_register(local.name, local.value, block)

    def assign(self, assign: s.Assign, block: RunBlock) -> None:
        super().assign(assign, block)
        target, op, value = assign.target, assign.op, assign.value
        if isinstance(target, s.Name) and target.id in block.registers:
            if op in ("min=", "max="):
                value = s.Call(op[:-1], (target, value), span=assign.span)
            elif op != "=":
                value = s.Binary(op[:-1], target, value, span=assign.span)
            self._assign_register(target.id, value, block)

    def _assign_register(self, name: str, value: s.Expr | None, block: RunBlock) -> None:
        """Set the value of a register in the block, or remove it if it depends on data."""
        number = None
        with suppress(StopError, EvaluationError):
            if value is not None and block.registers[name] == "real":
                number = evaluate(value, block.values, self._is_real)
            elif value is not None:
                number = self.evaluate_integer(value, block)
        block.values.pop(name, None)
        if number is not None:
            block.values[name] = number

    def _follow_outputs(self, statement: s.Invoke | s.Assign, block: RunBlock) -> None:
        super()._follow_outputs(statement, block)
        self._forget_registers(frozenset(place.id for place in statement.outputs if isinstance(place, s.Name)), block)

    def _is_real(self, expr: s.Expr) -> bool:
        """Test whether an expression is real, so that runs round it; one built from an update such as `+=` is real."""
        return self.module.types.get(expr, Kind.REAL) is Kind.REAL

    def _condition_value(self, condition: s.Expr, block: RunBlock) -> bool | None:
        return evaluate_fact(condition, block.values, self._is_real)

    def nested_block(self, block: RunBlock) -> RunBlock:
        # Names are unique, so that nested blocks can share one.
        return block

    def while_loop(self, loop: s.While, block: RunBlock) -> None:
        number = 0
        while True:
            if number or not loop.tests_last:
                self.follow_expression(loop.condition, block)
                goes_on = self._condition_value(loop.condition, block)
                if goes_on and s.may_end_early(loop):
                    goes_on = None
                if goes_on is None:
                    self.handle_uncertain_blocks((loop.body,), block)
                if not goes_on:
                    return
            number += 1
            block.iterations[loop] = block.iterations.get(loop, 0) + 1
            bound, count = (loop.limit, number) if loop.total is None else (loop.total, block.iterations[loop])
            if bound is None:
                self.follow_block(loop.body, block)
                continue
            begun = s.Integer(count, span=loop.span)
            if evaluate_fact(s.Binary("<=", begun, bound, span=loop.span), block.values) is False:
                limit = f"`{format_limit(loop).removesuffix(' times')}`"
                explanation = f"{limit} is enough", f"iteration {count} begins, but {limit} allows fewer"
                hint = "the condition depends on sizes alone: declare a bound that holds at all sizes, or end the loop"
                raise StopError(self._build_failure(TOO_MANY_ITERATIONS, loop, *explanation, hint))
            self.follow_block(loop.body, block)

    def enter_iterations(self, loop: s.Loop, lo: Any, hi: Any, step: Any, block: RunBlock) -> Iterable[RunBlock]:
        if lo is None or hi is None or step is None or s.may_end_early(loop):
            block.define(loop.variable, None)
            self.handle_uncertain_blocks((loop.body,), block)
            return
        values = s.list_loop_values(lo, hi, step, loop.down, loop.scales)
        for value in values if self._every else dict.fromkeys((*values[:1], *values[-1:])):
            if value != values[0] and not self._every and values[1:-1]:
                self._forget_registers(s.find_assigned_names(loop.body), block)
            block.define(loop.variable, value)
            yield block

    def split_block_by_condition(
        self, condition: s.Expr, block: RunBlock
    ) -> tuple[RunBlock | None, RunBlock | None] | None:
        match self._condition_value(condition, block):
            case None:
                return None
            case taken:
                return (block, None) if taken else (None, block)

    def handle_uncertain_blocks(self, bodies: Iterable[tuple[s.Stmt, ...]], block: RunBlock) -> None:
        for body in bodies:
            self._forget_registers(s.find_assigned_names(body), block)
            if self._every and self._follow_possible_block(body, block):
                self._forget_registers(s.find_assigned_names(body), block)
            else:
                self.forget_blocks((body,), block)

    def forget_blocks(self, bodies: Iterable[tuple[s.Stmt, ...]], block: RunBlock) -> None:
        """Remove the knowledge about values and elements that blocks may set, without following them."""
        for body in bodies:
            self._forget_registers(s.find_assigned_names(body), block)
            for statement in body:
                self.forget(statement, block)

    def _follow_possible_block(self, body: tuple[s.Stmt, ...], block: RunBlock) -> bool:
        """Follow a block that may be executed, to find elements that it may set; False if it is too long."""
        inner, outermost = copy(self), self._supposed is not None
        inner.left, inner._supposed = (self._supposed or 0) if outermost else self.left, None
        inner._reached, inner._active = set(), list(self._active)
        followed = True
        try:
            inner.follow_block(body, block)
        except StopError as stopped:
            # No run continues after a failure.
            followed = stopped.failure is not None
        if outermost:
            self._supposed = max(inner.left, 0)
        else:
            self.left = max(inner.left, 0)
        return followed

    def _forget_registers(self, names: frozenset[str], block: RunBlock) -> None:
        for name in names & block.registers.keys():
            block.values.pop(name, None)

    # Elements
    def _track_elements(self, name: str, unset: bool, block: RunBlock) -> None:
        """Track the elements of an array or register: initially all `unset`, or else all possibly set."""
        extents = block.extents.get(name, ())
        strides = _compute_row_major_strides(extents)
        if self._every and None not in strides:
            block.views[name] = _View(TrackedArray(name, extents, set() if unset else None), 0, strides)

    def forget(self, node: s.Node, block: RunBlock) -> None:
        for part in s.iterate_nodes(node):
            if isinstance(part, s.Communication | s.Call):
                # A register may be a buffer.
                self._forget_registers(s.find_names(part), block)
            name = part.array if isinstance(part, s.Element) else part.id if isinstance(part, s.Name) else ""
            if name in block.views:
                block.views[name].array.elements = None

    def _resolve_bound_view(self, expr: s.Expr, block: RunBlock) -> _View | None:
        """Return the view to bind to a name; None if it is unknown: then all elements of its array may be set later."""
        view = self._resolve_view(expr, block)
        if view is None:
            self.forget(expr, block)
        return view

    def _resolve_view(self, expr: s.Expr, block: RunBlock) -> _View | None:
        """Return the part of an array that an expression denotes, as a view; None if it is unknown."""
        match expr:
            case s.Name(id=name):
                return block.views.get(name)
            case s.Element(array=name) if name in block.views:
                base = block.views[name]
                start, strides = base.start, []
                for piece, stride in zip(expr.subscripts, base.strides, strict=True):
                    first = piece.lo if isinstance(piece, s.Slice) else piece
                    low = 0 if first is None else self.evaluate_integer(first, block)
                    step = (
                        1
                        if not isinstance(piece, s.Slice) or piece.step is None
                        else self.evaluate_integer(piece.step, block)
                    )
                    if low is None or step is None:
                        return None
                    start += stride * low
                    if isinstance(piece, s.Slice):
                        strides.append(stride * step)
                return _View(base.array, start, tuple(strides))
            case s.Reshape(base=inner):
                whole, strides = (
                    self._resolve_view(inner, block),
                    list(_compute_row_major_strides(self.find_extents(expr, block))),
                )
                if whole is None or None in strides:
                    return None
                return _View(whole.array, whole.start, tuple(stride * whole.strides[0] for stride in strides))
            case _:
                return None

    def locate_elements(self, expr: s.Expr, block: RunBlock) -> tuple[TrackedArray, Iterable[int]] | None:
        """Return the array of an element, register or view, and the positions in it; None if these are unknown."""
        view = self._resolve_view(expr, block)
        if view is None:
            return None
        if not view.strides:
            return view.array, (view.start,)
        extents = self.find_extents(expr, block)
        if None in extents or prod(extents) > MAX_ELEMENTS:
            return None
        return view.array, map(view.locate_element, product(*map(range, extents)))

    def read(self, expr: s.Expr, block: RunBlock) -> None:
        array, places = self.locate_elements(expr, block) or (None, ())
        elements = None if array is None else array.elements
        first = None if elements is None else next((place for place in places if place not in elements), None)
        if array is not None and first is not None:
            text = f"`{format_expression(expr)}`"
            hint = self._suggest_value(expr, block)
            explanation = f"{text} is set before it is read", f"{text} is read before it is set"
            raise StopError(replace(self._build_failure(rules.UNSET, expr, *explanation, hint), unset=(array, first)))

    @staticmethod
    def _suggest_value(expr: s.Expr, block: RunBlock) -> str:
        hint = "give it a value first, such as 0"
        for parameter in block.algorithm.parameters:
            if parameter.mode == "out" and parameter.name == getattr(expr, "array", ""):
                return propose_mode(parameter, "inout", f"{hint}, or let callers do so: `{{}}`")
        return hint

    def write(self, target: s.Expr, block: RunBlock) -> None:
        array, places = self.locate_elements(target, block) or (None, ())
        if array is None:
            self.forget(target, block)
        elif array.elements is not None:
            array.elements.update(places)

    # Calls
    def enter_callee(self, callee: s.Algorithm, values: dict[str, Any], block: RunBlock) -> RunBlock | None:
        self._entered = () if None in values.values() else ((callee, values),)
        return RunBlock(callee, values) if self._entered else None

    def follow_call(self, call: s.Call, callee: s.Algorithm, inner: RunBlock, block: RunBlock) -> None:
        sizes, self._entered = dict(inner.values), ()
        self._require_decrease(call, callee, sizes)
        for parameter, argument in zip(callee.parameters, call.arguments, strict=True):
            if is_buffer(parameter):
                self.forget(argument, block)
            elif (
                read_array_type(parameter.type)[0] is not None
                and (view := self._resolve_bound_view(argument, block)) is not None
            ):
                inner.views[parameter.name] = view
        key = callee, tuple(sizes.items())
        if key in self._done:
            return
        if len(self._active) == MAX_DEPTH:
            raise StopError
        self._active.append((callee, sizes))
        self.follow_block(callee.body, inner)
        self._active.pop()
        if not self._every:
            self._done.add(key)

    def _require_decrease(self, call: s.Call, callee: s.Algorithm, sizes: dict[str, int]) -> None:
        before = next((values for algorithm, values in reversed(self._active) if algorithm is callee), None)
        if before is not None and not self._may_decrease(callee, sizes, before):
            hint = "pass smaller sizes, such as the slice `x[0..n//2]`, or declare in the header what `decreases`"
            about = f"`{callee.name}` ends"
            message = f"no size of `{callee.name}` is smaller in this recursive call"
            if callee.decreases:
                hint = "declare in the header what is smaller in every recursive call"
                message = (
                    f"`decreases {format_list(callee.decreases)}` of `{callee.name}` does not decrease in this call"
                )
            raise StopError(self._build_failure(rules.NOT_DECREASING, call, about, message, hint))

    def _may_decrease(self, callee: s.Algorithm, sizes: Mapping[str, int], before: Mapping[str, int]) -> bool:
        """Test whether a recursive call may decrease: by the declared measures, else by some size or index."""
        if callee.decreases:
            measures = (
                [self.evaluate_integer(measure, RunBlock(callee, dict(values))) for measure in callee.decreases]
                for values in (sizes, before)
            )
            differ = next(((x, y) for x, y in zip(*measures, strict=True) if x is None or y is None or x != y), (0, 0))
            return differ[0] is None or differ[1] is None or differ[0] < differ[1]
        signature = self.module.signatures[callee]
        smaller = any(sizes[name] < before[name] for name in signature.size_names)
        # A changed index may decrease in a measure that is not declared.
        return smaller or any(sizes[name] != before[name] for name in signature.indices)


def _compute_row_major_strides(extents: Sequence[Any]) -> tuple[Any, ...]:
    """Return the strides of an array in row-major order; None for unknown ones."""
    strides: list[Any] = [1][: len(extents)]
    for extent in reversed(extents[1:]):
        strides.insert(0, None if None in (extent, strides[0]) else extent * strides[0])
    return tuple(strides)


def follow_run_at(module: Module, algorithm: s.Algorithm, sizes: Mapping[str, int]) -> Outcome:
    """Follow the run at sizes in all iterations, or, if that takes too long, only in the first and last ones."""
    outcome = FollowedRuns(module, algorithm, every=True).follow_run(sizes)
    if outcome.failure is not None or outcome.ends:
        return outcome
    return replace(FollowedRuns(module, algorithm).follow_run(sizes), ends=False)
