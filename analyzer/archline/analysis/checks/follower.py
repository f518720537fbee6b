"""Follow the statements of an algorithm, and state the requirements of each step; a run that violates one stops.

`_ConditionCollector` follows all runs together, and proves the requirements; `FollowedRuns` follows one run at
given sizes. Subclasses define values, the iterations to follow, and the treatment of requirements.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from archline.expr.text import format_expression
from archline.ir.places import read_array_type
from archline.language import conditions as rules
from archline.language import syntax as s
from archline.language.diagnostics import Rule
from archline.language.format_statements import format_step, format_type
from archline.language.model import Kind, Module, is_buffer
from archline.language.visitor import StatementVisitor

B = TypeVar("B", bound="Environment")
Explanation = Callable[[], tuple[str, str]]
"""A function that returns the requirement as text, and the message if it is violated."""


class Environment:
    """The names of a block: `extents` maps arrays and views to their extents; None for an extent that depends on data.

    `axes` has the known numbers of processors along the axes of the grid.
    """

    algorithm: s.Algorithm
    extents: dict[str, tuple[Any, ...]]
    axes: dict[str, Any]

    def define(self, name: str, value: Any) -> None:
        """Bind a name to a value; None for a value that depends on data."""
        raise NotImplementedError


class StatementFollower(StatementVisitor[B, None]):
    """Follows statements in order, with values that support + and -; None for values that depend on data."""

    def __init__(self, module: Module) -> None:
        self.module = module

    @abstractmethod
    def evaluate_integer(self, expr: s.Expr, block: B) -> Any:
        """Evaluate an expression of sizes and indices, which must be an integer."""

    @abstractmethod
    def bound_subscript(self, expr: s.Expr, block: B) -> tuple[Any, Any]:
        """Return the minimum and the maximum value of a subscript; None for unknown ones."""

    @abstractmethod
    def require_nonnegative(
        self, rule: Rule, node: s.Node, values: Sequence[Any], block: B, explanation: Explanation, hint: str = ""
    ) -> None:
        """Require that all values are nonnegative; otherwise the rule is violated at `node`."""

    @abstractmethod
    def require_fact(self, fact: s.Fact, call: s.Call, callee: B) -> None:
        """Require that a call satisfies a fact of its callee."""

    @abstractmethod
    def nested_block(self, block: B) -> B:
        """Return a block for statements nested in this one."""

    @abstractmethod
    def enter_iterations(self, loop: s.Loop, lo: Any, hi: Any, step: Any, block: B) -> Iterable[B]:
        """Yield a block for each followed iteration of a loop."""

    @abstractmethod
    def split_block_by_condition(self, condition: s.Expr, block: B) -> tuple[B | None, B | None] | None:
        """Return the blocks in which a condition holds and in which it does not; None if it depends on data.

        One of both is None if the condition always, or never, holds.
        """

    @abstractmethod
    def handle_uncertain_blocks(self, bodies: Iterable[tuple[s.Stmt, ...]], block: B) -> None:
        """Handle blocks that are executed or not depending on data."""

    @abstractmethod
    def enter_callee(self, callee: s.Algorithm, values: dict[str, Any], block: B) -> B | None:
        """Return the initial block of a callee with the values of its names; None if it cannot be followed."""

    @abstractmethod
    def follow_call(self, call: s.Call, callee: s.Algorithm, inner: B, block: B) -> None:
        """Follow a call whose sizes and shapes were checked."""

    def read(self, expr: s.Expr, block: B) -> None:
        """Read an element or a register, or all elements of a view."""

    def write(self, target: s.Expr, block: B) -> None:
        """Write an element or a register, or all elements of a view."""

    def forget(self, node: s.Node, block: B) -> None:
        """Remove the knowledge about values and elements that a node may set."""

    # Statements
    def begin(self, algorithm: s.Algorithm, block: B) -> None:
        """Begin the outermost call: its arguments have the shapes of its parameters, whose extents must be valid."""
        for parameter in algorithm.parameters:
            entries = read_array_type(parameter.type)[0] or ()
            block.extents[parameter.name] = tuple(self.evaluate_integer(entry, block) for entry in entries)
            self._require_extents(rules.BAD_SIZE, entries, block.extents[parameter.name], block)

    def follow_block(self, body: tuple[s.Stmt, ...], block: B) -> None:
        """Follow statements in order, in a block of names that no other statements use."""
        for statement in body:
            self.statement(statement, block)

    def let(self, let: s.Let, block: B) -> None:
        if self.module.is_view(let.value):
            self.follow_expression(let.value, block)
            block.extents[let.name] = self.find_extents(let.value, block)
        else:
            block.define(let.name, self.evaluate_integer(let.value, block))

    def assign(self, assign: s.Assign, block: B) -> None:
        target, value = assign.target, assign.value
        self.follow_expression(value, block)
        self._follow_outputs(assign, block)
        if self.module.is_view(value):
            self.read(value, block)
        if isinstance(target, s.Element):
            self._follow_subscripts(target, block)
        if assign.op != "=":
            self.read(target, block)
        self.write(target, block)
        if self.module.is_view(target) and self.module.is_view(value):
            self._require_same_extents(
                value, self.find_extents(value, block), self.find_extents(target, block), block, lambda: "its target"
            )

    def invoke(self, invoke: s.Invoke, block: B) -> None:
        self._check_and_follow_call(invoke.call, block, invoke.along)
        self._follow_outputs(invoke, block)

    def _follow_outputs(self, statement: s.Invoke | s.Assign, block: B) -> None:
        """Follow the places in which a call stores numbers, if the callee sets them."""
        if not statement.outputs:
            return
        call = statement.call if isinstance(statement, s.Invoke) else statement.value
        callee = self.module.targets.get(call) if isinstance(call, s.Call) else None
        assert isinstance(callee, s.Algorithm)
        stored = {name for part in callee.body if isinstance(part, s.Assign) for name in part.sets}
        for place, output in zip(statement.outputs, callee.outputs, strict=True):
            if isinstance(place, s.Element):
                self._follow_subscripts(place, block)
            if output.register in stored:
                # The callee sets it in every run.
                self.write(place, block)
            self.forget(place, block)

    def simple(self, statement: s.SimpleStmt, block: B) -> None:
        for expr in s.list_evaluated(statement):
            self.follow_expression(expr, block)

    def split(self, split: s.Split, block: B) -> None:
        self.follow_expression(split.parts, block)
        self.handle_uncertain_blocks((split.body,), block)

    def local(self, local: s.Local, block: B) -> None:
        inner = self._guarded_block(local.when, block)
        if local.value is not None and inner is not None:
            self.follow_expression(local.value, inner)
            if self.module.is_view(local.value):
                self.read(local.value, inner)
        block.define(local.name, None)
        shape = local.type.shape if isinstance(local.type, s.ArrayType) else ()
        block.extents[local.name] = tuple(self.evaluate_integer(extent, block) for extent in shape)
        self._require_extents(rules.SIZE_TOO_SMALL, shape, block.extents[local.name], block)

    def _require_extents(self, rule: Rule, entries: Sequence[s.Expr], extents: tuple[Any, ...], block: B) -> None:
        for entry, extent in zip(entries, extents, strict=True):
            if extent is not None:
                self._require_minimum(rule, entry, f"the extent `{format_expression(entry)}`", extent, 0, block)

    def _require_minimum(
        self, rule: Rule, node: s.Node, about: str, value: Any, least: int, block: B, hint: str = ""
    ) -> None:
        explanation = lambda: (f"{about} is at least {least}", f"{about} is {value}, and must be at least {least}")  # noqa: E731
        self.require_nonnegative(rule, node, (None if value is None else value - least,), block, explanation, hint)

    def while_loop(self, loop: s.While, block: B) -> None:
        # The body of a `repeat` may set elements that its condition reads, which is evaluated after it.
        if not loop.tests_last:
            self.follow_expression(loop.condition, block)
        self.handle_uncertain_blocks((loop.body,), block)
        if loop.tests_last:
            self.follow_expression(loop.condition, block)

    def loop(self, loop: s.Loop, block: B) -> None:
        for bound in (loop.lo, loop.hi):
            self.follow_expression(bound, block)
        lo, hi, step = (
            self.evaluate_integer(loop.lo, block),
            self.evaluate_integer(loop.hi, block),
            self._evaluate_step(loop.step, block),
        )
        if loop.scales:
            part, least = (loop.hi, hi) if loop.down else (loop.lo, lo)
            about = f"the least value `{format_expression(part)}` of a loop with `{format_step(loop)}`"
            self._require_minimum(rules.BAD_STEP, part, about, least, 1, block, rules.SCALED_HINT)
        for iteration in self.enter_iterations(loop, lo, hi, step, block):
            self.follow_block(loop.body, iteration)

    def _evaluate_step(self, step: s.Expr | None, block: B) -> Any:
        if step is None:
            return 1
        value = self.evaluate_integer(step, block)
        if value is not None:
            self._require_minimum(rules.BAD_STEP, step, f"the step `{format_expression(step)}`", value, 1, block)
        return value

    def branches(self, branches: tuple[s.Branch, ...], block: B) -> None:
        around: B | None = self.nested_block(block)
        for place, branch in enumerate(branches):
            if around is None:
                return
            if branch.condition is None:
                self.follow_block(branch.body, around)
                return
            self.follow_expression(branch.condition, around)
            blocks = self.split_block_by_condition(branch.condition, around)
            if blocks is None:
                self.handle_uncertain_blocks(self._possible_bodies(branches[place:], around), block)
                return
            inner, around = blocks
            if inner is not None:
                self.follow_block(branch.body, inner)

    def _possible_bodies(self, branches: Sequence[s.Branch], block: B) -> list[tuple[s.Stmt, ...]]:
        result = []
        for branch in branches:
            blocks = None if branch.condition is None else self.split_block_by_condition(branch.condition, block)
            if blocks is None or blocks[0] is not None:
                result.append(branch.body)
            if blocks is not None and blocks[1] is None:
                break
        return result

    def transfer(self, transfer: s.Transfer, block: B) -> None:
        self._evaluate_side(transfer.when, (), (transfer.value, transfer.target), block)
        self.forget(transfer, block)

    def communicate(self, statement: s.Communicate, block: B) -> None:
        """Evaluate each side under its guard; elements of buffers are treated as possibly set."""
        collective = self.module.collectives.get(statement)
        if collective is not None:
            self.invoke(collective.invoke, block)
        buffers = {} if collective is not None else {"to": statement.sent_buffer, "from": statement.received}
        for clause in statement.clauses:
            if clause.keyword in buffers:
                self._evaluate_side(clause.when, clause.values, (buffers[clause.keyword],), block)
        self.forget(statement, block)

    def _evaluate_side(
        self, when: s.Expr | None, partner: tuple[s.Expr, ...], parts: tuple[s.Expr | None, ...], block: B
    ) -> None:
        """Evaluate the partner and the buffer of one side of a communication where its guard `when` holds."""
        inner = self._guarded_block(when, block)
        if inner is not None:
            for coordinate in partner:
                self.follow_expression(coordinate, inner)
            for part in parts:
                if isinstance(part, s.Element):
                    self._follow_subscripts(part, inner)

    def _guarded_block(self, when: s.Expr | None, block: B) -> B | None:
        """Return the block in which a guard holds; None if it never holds or depends on data."""
        if when is None:
            return block
        self.follow_expression(when, block)
        return (self.split_block_by_condition(when, block) or (None, None))[0]

    # Expressions
    def follow_expression(self, expr: s.Expr, block: B) -> None:
        """Follow the accesses and calls in the evaluation of an expression."""
        if self.module.types.get(expr) is Kind.STATIC:
            self.evaluate_integer(expr, block)
            return
        match expr:
            case s.Unary(operand=inner):
                self.follow_expression(inner, block)
            case s.Reshape(base=base, shape=shape):
                self.follow_expression(base, block)
                for extent in shape:
                    self.evaluate_integer(extent, block)
            case s.Binary(op="and" | "or" as op, left=left, right=right):
                self.follow_expression(left, block)
                blocks = self.split_block_by_condition(left, block)
                right_block = None if blocks is None else blocks[op == "or"]
                if right_block is not None:
                    self.follow_expression(right, right_block)
            case s.Binary(left=left, right=right):
                self.follow_expression(left, block)
                self.follow_expression(right, block)
            case s.Call():
                self._check_and_follow_call(expr, block)
            case s.Element():
                self._follow_subscripts(expr, block)
                if not self.module.is_view(expr):
                    self.read(expr, block)
            case s.Name():
                if not self.module.is_view(expr):
                    self.read(expr, block)
            case s.Integer() | s.Real():
                pass

    def find_extents(self, view: s.Expr, block: B) -> tuple[Any, ...]:
        """Return the extents of an array or view."""
        if isinstance(view, s.Name):
            return block.extents.get(view.id, (None,) if self.module.is_view(view) else ())
        return tuple(self.evaluate_integer(extent, block) for extent in self.module.shapes.get(view, ()))

    def _follow_subscripts(self, access: s.Element, block: B) -> None:
        for part, extent in zip(access.subscripts, block.extents.get(access.array, ()), strict=False):
            if not isinstance(part, s.Slice):
                self.follow_expression(part, block)
                low, high = self.bound_subscript(part, block)
                values: tuple[Any, ...] = (low, None if high is None or extent is None else extent - 1 - high)
                self._require_inside(
                    rules.OUT_OF_BOUNDS, part, access, values, _defer_text("index {}", low), extent, block
                )
            elif part.hi is not None:
                low = 0 if part.lo is None else self.evaluate_integer(part.lo, block)
                high = self.evaluate_integer(part.hi, block)
                if part.by_length and high is not None:
                    high = None if low is None else low + high
                length = None if high is None or low is None else high - low
                left = None if high is None or extent is None else extent - high
                values = (length, left) if part.lo is None else (low, length, left)
                self._require_inside(
                    rules.SLICE_OUT_OF_BOUNDS, part, access, values, _defer_text("{}..{}", low, high), extent, block
                )
            if isinstance(part, s.Slice):
                self._evaluate_step(part.step, block)

    def _require_inside(
        self,
        rule: Rule,
        part: s.Node,
        access: s.Element,
        values: tuple[Any, ...],
        found: Callable[[], str],
        extent: Any,
        block: B,
    ) -> None:
        def explain_outside() -> tuple[str, str]:
            about = f"`{format_expression(access)}`"
            place = f"is outside `{_describe_array(access.array, block)}` ({found()}, extent {extent})"
            return f"{about} lies inside `{access.array}`", f"{about} {place}"

        hint = "a subscript must be at least 0 and less than the extent; a slice must not end after it"
        self.require_nonnegative(rule, part, values, block, explain_outside, hint)

    # Calls
    def _check_and_follow_call(self, call: s.Call, block: B, along: tuple[s.Name, ...] = ()) -> None:
        for argument in call.arguments:
            self.follow_expression(argument, block)
        callee = self.module.targets.get(call)
        if not isinstance(callee, s.Algorithm):
            return
        bound = self.module.bindings[call].items()
        sizes = {name: None if expr is None else self.evaluate_integer(expr, block) for name, expr in bound}
        group = self._group_axes(callee, along, block)
        values = {**sizes, **{name: place for name, (place, _) in group.items()}}
        if callee.grid:
            values["P"] = multiply_known(extent for _, extent in group.values())
        for name in self.module.shortfalls.get(call, ()):
            least = self.module.signatures[callee].at_least[name]
            self._require_minimum(
                rules.SIZE_TOO_SMALL, call, f"the size `{name}` of `{callee.name}`", None, least, block
            )
        inner = self.enter_callee(callee, values, block)
        if inner is None:
            self.forget(call, block)
            return
        inner.axes = {name: extent for name, (_, extent) in group.items()}
        for name, least in self.module.signatures[callee].at_least.items():
            if sizes.get(name) is not None:
                self._require_minimum(
                    rules.SIZE_TOO_SMALL, call, f"the size `{name}` of `{callee.name}`", sizes[name], least, block
                )
        for axis in callee.grid:
            self._require_same_axis(axis, call, inner)
        for parameter, argument in zip(callee.parameters, call.arguments, strict=True):
            entries = read_array_type(parameter.type)[0]
            if entries is not None:
                needed = tuple(self.evaluate_integer(entry, inner) for entry in entries)
                inner.extents[parameter.name] = needed
                actual = self.find_extents(argument, block)
                # A buffer is a view of any rank, or a register.
                actual = (multiply_known(actual),) if is_buffer(parameter) else actual
                shown = _defer_text("`{}: {}` of `{}`", parameter.name, format_type(parameter.type), callee.name)
                self._require_same_extents(argument, actual, needed, block, shown)
        for fact in callee.where:
            self.require_fact(fact, call, inner)
        self.follow_call(call, callee, inner, block)

    def _group_axes(self, callee: s.Algorithm, along: tuple[s.Name, ...], block: B) -> dict[str, tuple[Any, Any]]:
        """Return the coordinate and the extent of each axis of a callee, from the axes of the call; None if unknown."""
        if not callee.grid:
            return {}
        names = along or tuple(s.Name(axis.name, span=axis.span) for axis in block.algorithm.grid)
        places = [(self.evaluate_integer(name, block), block.axes.get(name.id)) for name in names]
        if len(callee.grid) == 1:
            # The axes of the call are joined to one in row-major order.
            place: Any = 0
            for coordinate, extent in places:
                known = None not in (place, coordinate, extent)
                place = place * extent + coordinate if known else None
            places = [(place, multiply_known(extent for _, extent in places))]
        return {axis.name: position for axis, position in zip(callee.grid, places, strict=True)}

    def _require_same_axis(self, axis: s.Axis, call: s.Call, inner: B) -> None:
        needed, actual = self.evaluate_integer(axis.extent, inner), inner.axes[axis.name]
        if needed is not None and actual is not None:
            text = f"the axis `{axis.name}` of `{inner.algorithm.name}`"

            def explain_axis() -> tuple[str, str]:
                extent = f"`{format_expression(axis.extent)}`"
                return f"{text} has {extent} processors", f"{text} has {actual} processors, and {extent} is {needed}"

            self.require_nonnegative(rules.GRID, call, (needed - actual, actual - needed), inner, explain_axis)

    def _require_same_extents(
        self, view: s.Expr, found: tuple[Any, ...], needed: tuple[Any, ...], block: B, shown: Callable[[], str]
    ) -> None:
        for wanted, actual in zip(needed, found, strict=False):
            if wanted is not None and actual is not None:

                def explain_misfit(wanted: Any = wanted, actual: Any = actual) -> tuple[str, str]:
                    about = f"`{format_expression(view)}`"
                    return f"{about} fits {shown()}", f"{about} does not fit {shown()} (extent {actual} for {wanted})"

                hint = "pass a slice that fits, or add a `where` that relates the sizes"
                self.require_nonnegative(
                    rules.SHAPE, view, (wanted - actual, actual - wanted), block, explain_misfit, hint
                )


def multiply_known(values: Iterable[Any]) -> Any:
    """Multiply values; None if one is unknown."""
    total: Any = 1
    for value in values:
        total = None if total is None or value is None else total * value
    return total


def _defer_text(form: str, *values: Any) -> Callable[[], str]:
    return lambda: form.format(*values)


def _describe_array(array: str, block: Environment) -> str:
    """Return the array with its type if it is a parameter, else its name."""
    parameters = block.algorithm.parameters
    return next(
        (f"{parameter.name}: {format_type(parameter.type)}" for parameter in parameters if parameter.name == array),
        array,
    )
