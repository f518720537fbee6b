"""Builds the transitions of an algorithm: its paths from one body of a loop to the next, on integer registers."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import count, product
from typing import TypeAlias

from archline.algebra import atoms as a
from archline.algebra.polynomial import Poly
from archline.ir.amortised.calls import CallBody
from archline.ir.amortised.elements import Integers, Store, express_facts
from archline.ir.amortised.ghosts import Ghosts, find_items, find_marks, find_row_arrays, read_mark
from archline.ir.amortised.linear import (
    UNIT,
    Column,
    Linear,
    add_forms,
    constant_form,
    constant_part,
    form_to_poly,
    freeze_form,
    has_registers,
    is_constant,
    register_form,
    scale_form,
    shift_form,
    size_form,
    substitute_form,
)
from archline.ir.amortised.proofs import Proof
from archline.ir.amortised.states import ElementKey, PathState, make_element_key
from archline.ir.conditions import MIRRORED_OPERATORS, NEGATED_OPERATORS, negate_condition
from archline.ir.ranges import bound_integer
from archline.ir.scope import Scope, known_value
from archline.language import syntax as s
from archline.language.model import Kind
from archline.numbers import fmpq
from archline.records import record, replace

MAX_TRANSITIONS, MAX_ALTERNATIVES, MAX_CASES, MAX_DIVISORS = 110, 32, 4, 2
"""Limits on the paths of an algorithm, on the alternatives of a condition, on the cases of a loop's test, and on the
divisors by which remainders of a register are followed."""
START, END = "start", "end"


_Key: TypeAlias = "frozenset[tuple[Column, fmpq]]"


class TooManyPathsError(Exception):
    """The algorithm has more paths than are followed."""


@record(eq=False)
class Transition:
    """A path from one node to another: it is taken only where all `constraints` are nonnegative.

    `update` maps each register to its value after it. `entered` are the loops whose iterations it begins, and `lines`
    those of the branches that it takes.
    """

    source: str
    target: str
    constraints: tuple[Linear, ...]
    update: Mapping[str, Linear]
    entered: tuple[s.Loop | s.While, ...]
    lines: tuple[int, ...] = ()


@record(eq=False)
class TransitionSystem:
    """The transitions of a block from START to END; the other nodes are the bodies of its loops, `loops` at each.

    `facts` are forms in sizes that are nonnegative everywhere, `registers` the names that transitions update. `stores`
    are the writes that have to keep facts about arrays, on which constraints rest. `refuted` has the paths that no run
    takes, with the proofs of that; None for paths from nodes that no other path leads to.
    """

    loops: Mapping[str, s.Loop | s.While]
    transitions: tuple[Transition, ...]
    registers: tuple[str, ...]
    facts: tuple[Linear, ...]
    stores: tuple[Store, ...] = ()
    refuted: tuple[tuple[Transition, Proof | None], ...] = ()

    @property
    def nodes(self) -> tuple[str, ...]:
        """The bodies of loops."""
        return tuple(self.loops)


@record(eq=False)
class _Place:
    """A place in a block: the index of the next statement, and the loop or branch that has the block."""

    block: Sequence[s.Stmt]
    index: int
    around: _Around | None
    key: tuple[int, ...] = ()
    """The place of the block in the program."""

    @property
    def after(self) -> _Place:
        return replace(self, index=self.index + 1)

    def enter_block(self, block: Sequence[s.Stmt], number: int, around: _Around) -> _Place:
        """Return the start of a block, by its number, inside the statement before this place."""
        return _Place(block, 0, around, (*self.key, self.index, number))


@record(eq=False)
class _Around:
    statement: s.Stmt
    behind: _Place


def build_transitions(
    body: Sequence[s.Stmt],
    scope: Scope,
    integers: Integers,
    known: Collection[Linear] = (),
    doubled: Collection[s.Loop | s.While] = (),
) -> TransitionSystem:
    """Build the transitions of a block, given its registers and arrays of integers. Raises TooManyPathsError.

    `known` are forms that are nonnegative at its start. A path goes through two iterations of the loops in `doubled`.
    Where there are too many, paths that differ in the case of an expression or condition are taken for one.
    """
    try:
        return _Builder(scope, body, integers, known, doubled, splits=True).build()
    except TooManyPathsError:
        return _Builder(scope, body, integers, known, doubled, splits=False).build()


class _Builder:
    """Follows the paths of a block; if it `splits`, each case of an expression or condition is a path of its own."""

    def __init__(
        self,
        scope: Scope,
        body: Sequence[s.Stmt],
        integers: Integers,
        known: Collection[Linear],
        doubled: Collection[s.Loop | s.While],
        splits: bool,
    ) -> None:
        # What the block sets is no longer what it was in the scope.
        changed = s.find_assigned_names(tuple(body))
        self._scope = replace(
            scope, values={name: value for name, value in scope.values.items() if name not in changed}
        )
        self._known = {name: value for name, value in scope.values.items() if name in changed and a.is_integral(value)}
        self._body = body
        self._integers = integers
        self._fresh = count()
        self._transitions: list[Transition] = []
        self._start, self._doubled, self._splits = known, doubled, splits
        self._stores: list[Store] = []
        self._unbounded: set[Column] = set()
        # Names that stand for other values elsewhere in the text.
        self._mixed: set[str] = set()
        self._elements: dict[tuple[int, ElementKey], Linear] = {}
        self._products: dict[tuple[_Key, _Key], Linear] = {}
        self._nodes: dict[tuple[int | None, ...], str] = {}
        self._around: dict[str, tuple[_Around, int | None]] = {}
        # In the order of the text: a set of names has another order in each process.
        self._registers = dict.fromkeys(self._find_registers())
        self._divisors = self._find_divisors() if splits else {}
        for name, divisors in self._divisors.items():
            self._registers.update(dict.fromkeys(_name_remainder(name, divisor) for divisor in divisors))
        self._ghosts = self._make_ghosts()
        self._registers |= dict.fromkeys(self._ghosts.registers)

    def _make_ghosts(self) -> Ghosts:
        """Make the registers that count remaining elements and rows of the arrays of the block."""
        totals = {
            array: self._scope.segments[array].total
            for array in find_row_arrays(self._body)
            if array in self._scope.segments and array in self._integers.arrays
        }
        marks = find_marks(self._body, self._integers)
        extents: dict[str, Poly] = {}
        for mark in marks:
            extent = known_value(self._integers.arrays[mark.array][0], self._scope)
            if extent is not None and a.is_integral(extent):
                extents[mark.array] = extent
        items = tuple(
            item
            for item in (find_items(self._body, self._integers) if totals else ())
            if item.last in self._registers and (item.first is None or item.first in self._registers)
        )
        return Ghosts(
            tuple(mark for mark in marks if mark.array in extents),
            items,
            totals,
            extents,
            self._read_at,
            self._make_fresh_form,
        )

    def _find_registers(self) -> tuple[str, ...]:
        """Find the integers that vary, and integer parameters, which keep their values."""
        names: dict[str, None] = {}
        for node in s.iterate_nodes(tuple(self._body)):
            match node:
                case s.Loop(variable=variable):
                    names[variable] = names[_name_end(variable)] = names[_name_step(variable)] = None
                case s.Let(name=name, value=value):
                    if self._is_integer(value, names):
                        names[name] = None
                    elif self._scope.module.types.get(value) is not Kind.INT:
                        self._mixed.add(name)
                case s.Name(id=name) if name in self._integers.names:
                    names[name] = None
                case s.Local(name=name):
                    if name in self._integers.names:
                        names[name] = None
                    else:
                        self._mixed.add(name)
                case _:
                    pass
        return tuple(name for name in names if name not in self._scope.values)

    def _find_divisors(self) -> dict[str, tuple[int, ...]]:
        """Map the registers that assignments alone set to the divisors of their remainders in the block."""
        moved = {loop.variable for loop in s.find_nodes(tuple(self._body), s.Loop)}
        divisors: dict[str, dict[int, None]] = {}
        for node in s.find_nodes(tuple(self._body), s.Binary):
            match node:
                case s.Binary(op="%", left=s.Name(id=name), right=s.Integer(value=divisor)) if (
                    name in self._registers and name not in moved and divisor > 1
                ):
                    divisors.setdefault(name, {})[divisor] = None
                case _:
                    pass
        return {name: tuple(found)[:MAX_DIVISORS] for name, found in divisors.items()}

    def _is_integer(self, expr: s.Expr, registers: Collection[str]) -> bool:
        """Test whether an expression has whole values only."""
        match expr:
            case s.Integer():
                return True
            case s.Name(id=name):
                return (name in registers and name not in self._mixed) or name in self._scope.values
            case s.Unary(op="-", operand=operand):
                return self._is_integer(operand, registers)
            case s.Binary(op="+" | "-" | "*" | "//" | "%", left=left, right=right):
                return self._is_integer(left, registers) and self._is_integer(right, registers)
            case s.Call(function="min" | "max" | "abs", arguments=arguments):
                return all(self._is_integer(argument, registers) for argument in arguments)
            case s.Call(function="floor" | "ceil"):
                return True
            case s.Element(array=array):
                return array in self._integers.names or self._scope.module.types.get(expr) is Kind.INT
            case _:
                value = known_value(expr, self._scope)
                return value is not None and a.is_integral(value)

    def build(self) -> TransitionSystem:
        unknown = {
            name: size_form(self._known[name]) if name in self._known else self._make_fresh_form()
            for name in self._registers
        }
        state = self._ghosts.add_start(PathState(START, unknown))
        start = self._read_start(state.values)
        self._follow_path(_Place(self._body, 0, None), state.with_constraints(start))
        done: set[str] = set()
        while pending := [node for node in self._around if node not in done]:
            node = pending[0]
            done.add(node)
            around, case = self._around[node]
            state = PathState(node, {name: register_form(name) for name in self._registers})
            held: list[tuple[Linear, ...]] = [()]
            if isinstance(around.statement, s.While) and case is not None:
                # The test has just held.
                held = self._read_condition(self._list_cases(around.statement.condition)[case], True, state)
            for constraints in held:
                self._follow_path(
                    around.behind.enter_block(_body_of(around.statement), 0, around),
                    state.with_constraints(constraints),
                )
        loops = {node: around.statement for node, (around, _) in self._around.items()}
        # Sizes do not change, so that what is known of them at the start holds everywhere.
        facts = tuple(form for form in start if not has_registers(form))
        return TransitionSystem(
            loops,  # type: ignore[arg-type]
            tuple(self._transitions),
            tuple(self._registers),
            facts,
            tuple(self._stores),
        )

    def _read_start(self, registers: Mapping[str, Linear]) -> tuple[Linear, ...]:
        """Return the known facts at the start, about registers and names with a value; others are fresh registers."""
        values = dict(registers)
        for form in self._start:
            for column in form:
                if isinstance(column, str) and column not in values:
                    value = self._scope.values.get(column)
                    integral = value is not None and a.is_integral(value)
                    values[column] = size_form(value) if value is not None and integral else self._make_fresh_form()
        return tuple(substitute_form(form, values) for form in self._start)

    def _make_fresh_form(self) -> Linear:
        return register_form(f"?{next(self._fresh)}")

    def _emit(self, state: PathState, target: str) -> None:
        if len(self._transitions) >= MAX_TRANSITIONS:
            raise TooManyPathsError
        self._transitions.append(
            Transition(state.source, target, state.constraints, state.values, state.entered, state.lines)
        )

    # Statements
    def _follow_path(self, place: _Place, state: PathState) -> None:
        """Follow a path from a place to the next bodies of loops, or to the end."""
        if _is_impossible(state.constraints):
            return
        while True:
            around = place.around
            if place.index == len(place.block):
                if around is None:
                    self._emit(state, END)
                    return
                if around.statement.iterates:
                    self._end_iteration(around, state)
                    return
                place = around.behind
                continue
            statement = place.block[place.index]
            place = here = place.after
            match statement:
                case s.Simple() if not isinstance(statement, s.Exit | s.Return):
                    state, *more = self._apply(statement, state)
                    for after in more:
                        self._follow_path(here, after)
                    continue
                case s.Loop():
                    self._start_loop(statement, here, state)
                case s.While(tests_last=True):
                    self._enter(_Around(statement, here), state, None)
                case s.While(condition=condition):
                    self._test_condition(condition, _Around(statement, here), state)
                case s.If(branches=branches):
                    self._follow_branches(branches, here, state)
                case s.Split(body=body):
                    self._follow_path(here.enter_block(body, 0, _Around(statement, here)), state)
                case s.Exit(kind=kind):
                    self._leave_loop(kind, around, state)
                case _:
                    self._emit(state, END)
            return

    def _apply(self, statement: s.Simple, state: PathState) -> list[PathState]:
        """Return the states after a statement without blocks."""
        match statement:
            case s.Assume(facts=facts):
                for fact in facts:
                    alternatives = self._read_condition(fact, True, state) if isinstance(fact, s.Expr) else []
                    if len(alternatives) == 1:
                        state = state.with_constraints(alternatives[0])
                return [state]
            case s.Let(name=name, value=value) if name in self._registers:
                return self._assign_register(name, value, state)
            case s.Local(name=name) if name in self._integers.arrays:
                return [self._ghosts.fill_array(name, state.with_write(name, {}))]
            case s.Local(name=name, value=value, when=when) if name in self._registers:
                if value is None or when is not None:
                    return [self._forget_register(name, state)]
                return self._assign_register(name, value, state)
            case s.Assign(target=s.Name(id=name), op=op, value=value, outputs=()) if name in self._registers:
                if op in ("+=", "-=", "*="):
                    value = s.Binary(op[0], s.Name(name, span=value.span), value, span=value.span)
                elif op != "=":
                    return [self._forget_register(name, state)]
                return self._assign_register(name, value, state)
            case s.Assign(target=s.Element(array=array) as place, outputs=()) if array in self._integers.arrays:
                if any(isinstance(part, s.Slice) for part in place.subscripts):
                    return self._fill_array(array, statement.value, state)
                return self._write_element(place, statement.op, statement.value, state)
            case _:
                # Other statements give registers values that nobody knows.
                for name in statement.sets:
                    if name in self._registers:
                        state = self._forget_register(name, state)
                return [state]

    def _forget_register(self, name: str, state: PathState) -> PathState:
        """Return the state in which nobody knows the value of a register."""
        for divisor in self._divisors.get(name, ()):
            state = state.with_value(_name_remainder(name, divisor), self._make_fresh_form())
        return self._set_register(name, self._make_fresh_form(), state)

    def _set_register(self, name: str, form: Linear, state: PathState) -> PathState:
        return self._ghosts.move_register(name, state.values.get(name), state.with_value(name, form))

    def _write_element(self, place: s.Element, op: str, value: s.Expr, state: PathState) -> list[PathState]:
        """Return the states after a write to an element of an array that is followed."""
        if op in ("+=", "-=", "*="):
            value = s.Binary(op[0], place, value, span=value.span)
        return [
            self._store_element(place.array, subscripts, form, ready)
            for form, after in self._read_value(value, op in ("=", "+=", "-=", "*="), state)
            for subscripts, ready in self._read_all(place.subscripts, after)
        ]

    def _read_value(self, value: s.Expr, known: bool, state: PathState) -> list[tuple[Linear, PathState]]:
        """Return the value that is written to an element, which is not known in all cases."""
        if known and self._is_integer(value, self._registers):
            return self._read(value, state)
        return [(self._make_fresh_form(), state)]

    def _store_element(self, array: str, subscripts: tuple[Linear, ...], form: Linear, state: PathState) -> PathState:
        self._need_facts(array, subscripts, form, state)
        state = state.with_constraints(self._list_ends(array, subscripts))
        if len(subscripts) == 1:
            state = self._ghosts.write(array, subscripts[0], form, state)
        return state.with_write(array, {make_element_key(array, subscripts): form})

    def _need_facts(self, array: str, subscripts: tuple[Linear, ...], form: Linear, state: PathState) -> None:
        """Record that a write has to keep the facts about its array."""
        facts = self._integers.facts.get(array, ())
        if facts and not self._integers.proved and not _is_impossible(state.constraints):
            needed = express_facts(facts, form, subscripts)
            self._stores.append(Store(state.source, state.constraints, array, needed))

    def _fill_array(self, array: str, value: s.Expr, state: PathState) -> list[PathState]:
        """Return the states after all elements of an array are set to a value."""
        states: list[PathState] = []
        for form, after in self._read_value(value, True, state):
            subscript = self._make_fresh_form()
            subscripts = (subscript,) * len(self._integers.arrays[array])
            self._need_facts(array, subscripts, form, after.with_constraints((subscript,)))
            states.append(self._ghosts.fill_array(array, after.with_write(array, {(array, ()): form})))
        return states

    def _list_ends(self, array: str, subscripts: Sequence[Linear]) -> tuple[Linear, ...]:
        """List the constraints on the subscript of an element: a run stops where it lies outside of the array."""
        extents = self._integers.arrays[array]
        if len(extents) != 1 or not has_registers(subscripts[0]):
            return ()
        extent = known_value(extents[0], self._scope)
        if extent is None or not a.is_integral(extent):
            return (subscripts[0],)
        return subscripts[0], shift_form(add_forms(size_form(extent), subscripts[0], -1), -1)

    def _assign_register(self, name: str, value: s.Expr, state: PathState) -> list[PathState]:
        states: list[PathState] = []
        for form, after in self._read(value, state):
            moved = add_forms(form, state.values[name], -1)
            ready = [after]
            for divisor in self._divisors.get(name, ()):
                ready = [
                    final for before in ready for final in self._move_remainder(name, divisor, form, moved, before)
                ]
            states += [self._set_register(name, form, final) for final in ready]
        return states

    def _move_remainder(
        self, name: str, divisor: int, form: Linear, moved: Linear, state: PathState
    ) -> list[PathState]:
        """Return the states in which a remainder of a register is that of its new value, which differs by `moved`."""
        remainder = _name_remainder(name, divisor)
        if not is_constant(moved):
            ((rest, state),) = self._combine_forms("%", form, constant_form(divisor), state)
            return [state.with_value(remainder, rest)]
        # A remainder that would be too large starts again from 0.
        ahead = shift_form(state.values[remainder], int(constant_part(moved)) % divisor)
        within = shift_form(scale_form(ahead, -1), divisor - 1)
        beyond = shift_form(scale_form(within, -1), -1)
        return [
            state.with_value(remainder, ahead).with_constraints((within,)),
            state.with_value(remainder, shift_form(ahead, -divisor)).with_constraints((beyond,)),
        ]

    def _leave_loop(self, kind: str, around: _Around | None, state: PathState) -> None:
        def is_left(statement: s.Stmt) -> bool:
            return isinstance(statement, CallBody) if kind == "return" else statement.iterates

        while around is not None and not is_left(around.statement):
            around = around.behind.around
        if around is None:
            self._emit(state, END)
        elif kind == "continue":
            self._end_iteration(around, state)
        else:
            self._follow_path(around.behind, state)

    def _follow_branches(self, branches: tuple[s.Branch, ...], here: _Place, state: PathState) -> None:
        """Follow each branch of an `if`, and the path on which no condition holds."""
        states = [state]
        around = _Around(here.block[here.index - 1], here)
        for number, branch in enumerate(branches):
            inside = here.enter_block(branch.body, number, around)
            condition = branch.condition
            always = condition is None or isinstance(condition, s.Reached)
            remaining: list[PathState] = []
            for before in states:
                if condition is None or isinstance(condition, s.Reached):
                    self._follow_path(inside, before)
                    continue
                lines = (*before.lines, branch.body[0].span.line) if branch.body else before.lines
                for constraints in self._read_condition(condition, True, before):
                    self._follow_path(inside, replace(before.with_constraints(constraints), lines=lines))
                remaining += [
                    before.with_constraints(constraints)
                    for constraints in self._read_condition(condition, False, before)
                ]
            states = [] if always else remaining
            if len(states) > MAX_ALTERNATIVES:
                raise TooManyPathsError
        for rest in states:
            self._follow_path(here, rest)

    # Loops
    def _start_loop(self, loop: s.Loop, here: _Place, state: PathState) -> None:
        for (first, last), after in self._read_all((loop.lo, loop.hi), state):
            end = last if loop.down else shift_form(last, -1)
            started = self._set_register(loop.variable, first, after).with_value(_name_end(loop.variable), end)
            for step, ready in [(None, started)] if loop.step is None else self._read(loop.step, started):
                self._branch_on_range_end(
                    _Around(loop, here),
                    ready if step is None else ready.with_value(_name_step(loop.variable), step),
                )

    def _end_iteration(self, around: _Around, state: PathState) -> None:
        loop = around.statement
        if isinstance(loop, s.While):
            self._test_condition(loop.condition, around, state)
        elif isinstance(loop, s.Loop):
            value = state.values[loop.variable]
            step = constant_form(1) if loop.step is None else state.values[_name_step(loop.variable)]
            op = ("//" if loop.down else "*") if loop.scales else "-" if loop.down else "+"
            for after, moved in self._combine_forms(op, value, step, state):
                self._branch_on_range_end(around, self._set_register(loop.variable, after, moved))

    def _branch_on_range_end(self, around: _Around, state: PathState) -> None:
        loop = around.statement
        assert isinstance(loop, s.Loop)
        ahead = add_forms(state.values[_name_end(loop.variable)], state.values[loop.variable], -1)
        if loop.down:
            ahead = scale_form(ahead, -1)
        self._enter(around, state.with_constraints((ahead,)), None)
        self._follow_path(around.behind, state.with_constraints((shift_form(scale_form(ahead, -1), -1),)))

    def _test_condition(self, condition: s.Expr, around: _Around, state: PathState) -> None:
        loop = around.statement
        assert isinstance(loop, s.While)
        for number, case in enumerate(self._list_cases(condition)):
            for constraints in self._read_condition(case, True, state):
                self._enter(around, state.with_constraints(constraints), None if loop.tests_last else number)
        for constraints in self._read_condition(condition, False, state):
            self._follow_path(around.behind, state.with_constraints(constraints))

    def _list_cases(self, condition: s.Expr) -> list[s.Expr]:
        """List conditions whose disjunction is a condition; an iteration begins in one of its cases."""
        cases = _list_disjuncts(condition) if self._splits else [condition]
        return cases if len(cases) <= MAX_CASES else [condition]

    def _enter(self, around: _Around, state: PathState, case: int | None) -> None:
        """Begin an iteration of a loop, in the case of its condition with a number; None if there is one case."""
        loop = around.statement
        assert isinstance(loop, s.Loop | s.While)
        inside = state.source != START and self._around[state.source][0].statement is loop
        if _is_impossible(state.constraints):
            return
        again = inside and loop in self._doubled and loop not in state.entered
        state = replace(state, entered=(*state.entered, loop))
        if again:
            self._follow_path(around.behind.enter_block(loop.body, 0, around), state)
            return
        # Several loops that stand for one statement have its place in the text.
        place = (*around.behind.key, around.behind.index, case)
        node = self._nodes.setdefault(place, f"body {len(self._nodes)} in line {loop.span.line}")
        self._around.setdefault(node, (around, case))
        self._emit(state, node)

    # Expressions
    def _read_all(
        self, expressions: Sequence[s.Expr | s.Slice], state: PathState
    ) -> list[tuple[tuple[Linear, ...], PathState]]:
        """Return the affine forms of expressions, in each case."""
        read: list[tuple[tuple[Linear, ...], PathState]] = [((), state)]
        for expr in expressions:
            assert not isinstance(expr, s.Slice)
            read = [((*forms, form), after) for forms, before in read for form, after in self._read(expr, before)]
        if len(read) > MAX_ALTERNATIVES:
            raise TooManyPathsError
        return read

    def _read(self, expr: s.Expr, state: PathState) -> list[tuple[Linear, PathState]]:
        """Return the affine form of an expression in each case; other parts are fresh registers with constraints."""
        if not s.find_names(expr) & self._registers.keys() and not any(s.find_nodes(expr, s.Element)):
            value = known_value(expr, self._scope)
            if value is not None and a.is_integral(value):
                return [(size_form(value), state)]
        match expr:
            case s.Name(id=name) if name in state.values:
                return [(state.values[name], state)]
            case s.Unary(op="-", operand=operand):
                return [(scale_form(form, -1), after) for form, after in self._read(operand, state)]
            case s.Binary(op="%", left=s.Name(id=name), right=s.Integer(value=divisor)) if (
                divisor in self._divisors.get(name, ())
            ):
                rest = state.values[_name_remainder(name, divisor)]
                return [(rest, state.with_constraints((rest, shift_form(scale_form(rest, -1), divisor - 1))))]
            case s.Binary(op="+" | "-" | "*" | "//" | "%" as op, left=left, right=right):
                return self._read_operation(op, left, right, state)
            case s.Call(function="min" | "max" as function, arguments=arguments):
                sign = 1 if function == "max" else -1
                return [
                    case
                    for forms, after in self._read_all(arguments, state)
                    for case in self._choose_extreme(forms, sign, after)
                ]
            case s.Call(function="abs", arguments=(operand,)):
                return [
                    case
                    for form, after in self._read(operand, state)
                    for case in self._choose_extreme((form, scale_form(form, -1)), 1, after)
                ]
            case s.Call(function="floor", arguments=(s.Binary(op="/", left=left, right=right),)):
                return self._read_operation("//", left, right, state)
            case s.Element(array=array, subscripts=parts) if array in self._integers.arrays:
                return [
                    self._read_element(expr, subscripts, after) for subscripts, after in self._read_all(parts, state)
                ]
            case s.Element():
                form = self._make_fresh_form()
                return [(form, state.with_constraints(self._list_known(expr, form, ())))]
            case _:
                return [(self._make_fresh_form(), state)]

    def _read_operation(self, op: str, left: s.Expr, right: s.Expr, state: PathState) -> list[tuple[Linear, PathState]]:
        return [
            case
            for (first, second), after in self._read_all((left, right), state)
            for case in self._combine_forms(op, first, second, after)
        ]

    def _choose_extreme(self, forms: Sequence[Linear], sign: int, state: PathState) -> list[tuple[Linear, PathState]]:
        """Return the largest of some forms, with `sign` -1 the smallest one, in each case."""
        if not self._splits:
            result = self._make_fresh_form()
            return [(result, state.with_constraints(scale_form(add_forms(result, form, -1), sign) for form in forms))]
        return [
            (
                form,
                state.with_constraints(
                    # Of equal forms the first one is taken.
                    shift_form(scale_form(add_forms(form, other, -1), sign), -1 if place < number else 0)
                    for place, other in enumerate(forms)
                    if place != number
                ),
            )
            for number, form in enumerate(forms)
        ]

    def _read_at(self, state: PathState, array: str, subscript: Linear) -> tuple[Linear, PathState]:
        """Return the value of an element that the program may not read, by the form of its subscript."""
        key = make_element_key(array, (subscript,))
        form = state.find_stored(key)
        if form is None:
            form = self._elements.setdefault((state.writes.get(array, 0), key), self._make_fresh_form())
        if array in self._scope.segments:
            total = size_form(self._scope.segments[array].total)
            state = state.with_constraints((form, add_forms(total, form, -1)))
        return form, state

    def _read_element(
        self, element: s.Element, subscripts: Sequence[Linear], state: PathState
    ) -> tuple[Linear, PathState]:
        """Return the value of an element of an array that is followed."""
        array, key = element.array, make_element_key(element.array, subscripts)
        stored = state.find_stored(key)
        if stored is not None:
            return stored, state
        # Until the next write it has one value, however often it is read.
        form = self._elements.setdefault((state.writes.get(array, 0), key), self._make_fresh_form())
        facts = express_facts(self._integers.facts.get(array, ()), form, subscripts)
        known = (*self._list_ends(array, subscripts), *self._list_known(element, form, facts))
        return form, state.with_constraints(fact for fact in known if fact not in state.constraints)

    def _list_known(self, element: s.Element, form: Linear, facts: tuple[Linear, ...]) -> tuple[Linear, ...]:
        """List the constraints on an element by the declaration of its array, and by facts about it."""
        ends = bound_integer(element, self._scope)
        if ends is not None and not any(end.names & self._registers.keys() for end in ends):
            facts = (add_forms(form, size_form(ends[0]), -1), add_forms(size_form(ends[1]), form, -1), *facts)
        if not facts:
            self._unbounded.update(form)
        return facts

    def _test_mark(self, condition: s.Binary, holds: bool, state: PathState) -> tuple[Linear, ...]:
        """Return what a test whether an element is equal to a number adds to the constraints."""
        mark = read_mark(condition)
        if mark is None:
            return ()
        array, place, number = mark
        # A subscript that depends on cases belongs to no mark.
        (subscript, _), *others = self._read(place, state)
        return (
            ()
            if others
            else self._ghosts.compare_element(array, number, subscript, (condition.op == "==") == holds, state)
        )

    def _read_square(self, condition: s.Binary, holds: bool, state: PathState) -> list[tuple[Linear, ...]] | None:
        """Return alternatives for a comparison of the square of a register x with a size e; None for others.

        x*x <= e holds exactly if x is between -floor(sqrt(e)) and floor(sqrt(e)).
        """
        parts = _mirror_square(condition)
        if parts is None:
            return None
        register, op, other = parts
        limit = known_value(other, self._scope)
        op = op if holds else NEGATED_OPERATORS[op]
        if limit is None or op not in ("<", "<=", ">", ">=") or not a.is_integral(limit):
            return None
        within = op in ("<", "<=")
        largest = limit - 1 if op in ("<", ">=") else limit
        if not self._scope.facts.nonnegative(largest):
            return None
        ((value, _),) = self._read(register, state)
        root = size_form(a.floor_sqrt(largest))
        below, above = add_forms(root, value, -1), add_forms(root, value)
        if within:
            return [(below, above)]
        return [(shift_form(scale_form(below, -1), -1),), (shift_form(scale_form(above, -1), -1),)]

    def _combine_forms(self, op: str, left: Linear, right: Linear, state: PathState) -> list[tuple[Linear, PathState]]:
        match op:
            case "+" | "-":
                return [(add_forms(left, right, 1 if op == "+" else -1), state)]
            case "*" if is_constant(right):
                return [(scale_form(left, constant_part(right)), state)]
            case "*" if is_constant(left):
                return [(scale_form(right, constant_part(left)), state)]
            case "*" if (dividend := self._find_product(left, right)) is not None:
                return [(dividend, state)]
            case "*" if left == right:
                # The square of a whole number is at least as far from 0.
                square = self._make_fresh_form()
                return [(square, state.with_constraints((add_forms(square, left, -1), add_forms(square, left))))]
            case "*" if self._splits and has_registers(left) and has_registers(right):
                # A product of positive whole numbers is at least each of them.
                result = self._make_fresh_form()
                first, second = shift_form(left, -1), shift_form(right, -1)
                larger = (first, second, add_forms(result, left, -1), add_forms(result, right, -1))
                cases = (larger, (scale_form(left, -1),), (scale_form(right, -1),))
                return [(result, state.with_constraints(forms)) for forms in cases]
            case "//" | "%" if is_constant(right) and constant_part(right) > 0:
                quotient, divisor = self._make_fresh_form(), constant_part(right)
                rest = add_forms(left, quotient, -divisor)
                state = state.with_constraints((rest, shift_form(scale_form(rest, -1), divisor - 1)))
                return [(quotient if op == "//" else rest, state)]
            case "//" | "%" if self._is_positive(right, state):
                return self._divide(op, left, right, state)
            case "//" | "%" if self._splits and has_registers(right):
                # A run does not go on that divides by 0.
                positive = state.with_constraints((shift_form(right, -1),))
                negative = state.with_constraints((shift_form(scale_form(right, -1), -1),))
                return [*self._divide(op, left, right, positive), (self._make_fresh_form(), negative)]
            case _:
                return [(self._make_fresh_form(), state)]

    def _find_product(self, left: Linear, right: Linear) -> Linear | None:
        """Return the product of a quotient and its divisor, which is the dividend without the remainder."""
        keys = freeze_form(left), freeze_form(right)
        return self._products.get(keys, self._products.get(keys[::-1]))

    def _divide(self, op: str, left: Linear, right: Linear, state: PathState) -> list[tuple[Linear, PathState]]:
        """Return a quotient, or a remainder, by a positive form, in each case of a comparison of both."""
        quotient, rest = self._make_fresh_form(), self._make_fresh_form()
        if op == "//":
            self._products[freeze_form(quotient), freeze_form(right)] = add_forms(left, rest, -1)
        beyond, negative = add_forms(left, right, -1), shift_form(scale_form(left, -1), -1)
        bounds = [rest, shift_form(add_forms(right, rest, -1), -1)]
        if not self._splits:
            return [(quotient, state) if op == "//" else (rest, state.with_constraints(bounds))]
        # The quotient is between 1 and left - right + 1, 0, or between left and -1.
        larger = [*bounds, beyond, add_forms(beyond, rest, -1)]
        below = [left, shift_form(scale_form(beyond, -1), -1)]
        opposite = [*bounds, negative]
        if op == "//":
            larger += [shift_form(quotient, -1), shift_form(add_forms(beyond, quotient, -1), 1)]
            opposite += [shift_form(scale_form(quotient, -1), -1), add_forms(quotient, left, -1)]
        zero: Linear = {}
        cases = ((quotient, rest, larger), (zero, left, below), (quotient, rest, opposite))
        return [(first if op == "//" else second, state.with_constraints(forms)) for first, second, forms in cases]

    def _is_positive(self, form: Linear, state: PathState) -> bool:
        """Test whether a form is a positive number, a positive size, or above a constraint of the path."""
        if not has_registers(form):
            return self._scope.facts.positive(form_to_poly(form))
        return state.is_at_least(form, 1)

    # Conditions
    def _read_condition(self, condition: s.Expr, holds: bool, state: PathState) -> list[tuple[Linear, ...]]:
        """Return alternatives of nonnegative forms for a condition that holds, or does not."""
        alternatives = self._list_alternatives(condition, holds, state)
        if self._splits or len(alternatives) == 1:
            return alternatives
        first, *more = alternatives
        return [tuple(form for form in first if all(form in forms for forms in more))]

    def _list_alternatives(self, condition: s.Expr, holds: bool, state: PathState) -> list[tuple[Linear, ...]]:
        match condition:
            case s.Unary(op="not", operand=operand):
                return self._read_condition(operand, not holds, state)
            case s.Binary(op="and" | "or" as op, left=left, right=right):
                first = self._read_condition(left, holds, state)
                if (op == "and") == holds:
                    second = self._read_condition(right, holds, state)
                    joined = [(*former, *latter) for former, latter in product(first, second)]
                else:
                    # The second operand is evaluated only if the first one does not decide.
                    passed = self._read_condition(left, not holds, state)
                    second = self._read_condition(right, holds, state)
                    joined = [*first, *((*former, *latter) for former, latter in product(passed, second))]
                if len(joined) > MAX_ALTERNATIVES:
                    raise TooManyPathsError
                return joined
            case s.Element(array=array) if array in self._integers.arrays:
                # An element of conditions is 0 or 1.
                tested = s.Binary("!=", condition, s.Integer(0, span=condition.span), span=condition.span)
                return self._read_condition(tested, holds, state)
            case s.Binary(op=op) if op in MIRRORED_OPERATORS:
                compared = self._read_comparison(condition, holds, state)
                distinct = self._read_distinct_subscripts(condition, holds, state)
                return [(*former, *latter) for former, latter in product(compared, distinct)]
            case _:
                return [()]

    def _read_distinct_subscripts(self, condition: s.Binary, holds: bool, state: PathState) -> list[tuple[Linear, ...]]:
        """Return alternatives of nonnegative forms if the condition says that two elements of an array differ."""
        op = condition.op if holds else NEGATED_OPERATORS[condition.op]
        match condition.left, condition.right:
            case s.Element(array=first, subscripts=(left,)), s.Element(array=second, subscripts=(right,)) if (
                first == second and not isinstance(left, s.Slice) and not isinstance(right, s.Slice)
            ):
                # A real that is not a number differs from itself, and a comparison with it is false.
                integers = self._scope.module.types.get(condition.left) is Kind.INT
                apart = op in ("<", ">", "!=") if integers else condition.op in ("<", ">") and holds
                distinct = s.Binary("!=", left, right, span=condition.span)
                return self._read_comparison(distinct, True, state) if apart else [()]
            case _:
                return [()]

    def _read_comparison(self, condition: s.Binary, holds: bool, state: PathState) -> list[tuple[Linear, ...]]:
        match condition:
            case s.Binary(op=op, left=left, right=right) if all(
                self._is_integer(side, self._registers) for side in (left, right)
            ):
                squared = self._read_square(condition, holds, state)
                if squared is not None:
                    return squared
                op = op if holds else NEGATED_OPERATORS[op]
                marked = self._test_mark(condition, holds, state)
                return [
                    (*after.constraints[len(state.constraints) :], *marked, *forms)
                    for (former, latter), after in self._read_all((left, right), state)
                    for forms in self._compare_forms(op, add_forms(former, latter, -1))
                ]
            case _:
                return [()]

    def _compare_forms(self, op: str, difference: Linear) -> list[tuple[Linear, ...]]:
        if op == "!=" and any(column in self._unbounded for column in difference):
            # Data may lie on both sides of the other value, whose paths do not differ.
            return [()]
        return _compare(op, difference)


def _is_impossible(constraints: Sequence[Linear]) -> bool:
    """Test whether one of some constraints is false, or contradicts another one."""
    least: dict[frozenset[tuple[Column, fmpq]], fmpq] = {}
    for form in constraints:
        slope, number = {column: factor for column, factor in form.items() if column != UNIT}, constant_part(form)
        opposite = least.get(freeze_form(scale_form(slope, -1)), None if slope else fmpq(0))
        if opposite is not None and number + opposite < 0:
            return True
        key = freeze_form(slope)
        least[key] = min(number, least.get(key, number))
    return False


def _list_disjuncts(condition: s.Expr) -> list[s.Expr]:
    """List conditions without alternatives; exactly one holds if the condition does."""
    match condition:
        case s.Unary(op="not", operand=operand) if not isinstance(negate_condition(operand), s.Unary):
            return _list_disjuncts(negate_condition(operand))
        case s.Binary(op="and" | "or" as op, left=left, right=right):
            first = _list_disjuncts(left)
            others = first if op == "and" else _list_disjuncts(negate_condition(left))
            joined: list[s.Expr] = [
                s.Binary("and", former, latter, span=condition.span)
                for former, latter in product(others, _list_disjuncts(right))
            ]
            return joined if op == "and" else [*first, *joined]
        case s.Binary(op="!=") if not any(s.find_nodes(condition, s.Element)):
            return [replace(condition, op=op) for op in ("<", ">")]
        case _:
            return [condition]


def _mirror_square(condition: s.Binary) -> tuple[s.Expr, str, s.Expr] | None:
    """Return the register, the operator and the other side of a comparison of its square; None for others."""
    for left, op, right in (
        (condition.left, condition.op, condition.right),
        (condition.right, MIRRORED_OPERATORS[condition.op], condition.left),
    ):
        match left:
            case s.Binary(op="*", left=s.Name(id=first) as register, right=s.Name(id=second)) if first == second:
                return register, op, right
            case s.Binary(op="^", left=s.Name() as register, right=s.Integer(value=2)):
                return register, op, right
            case _:
                # Other sides are no squares.
                pass
    return None


def _compare(op: str, difference: Linear) -> list[tuple[Linear, ...]]:
    """Return alternatives of nonnegative forms for a comparison of an integer difference with 0."""
    negated = scale_form(difference, -1)
    match op:
        case "<":
            return [(shift_form(negated, -1),)]
        case "<=":
            return [(negated,)]
        case ">":
            return [(shift_form(difference, -1),)]
        case ">=":
            return [(difference,)]
        case "==":
            return [(difference, negated)]
        case _:
            return [(shift_form(difference, -1),), (shift_form(negated, -1),)]


def _name_end(variable: str) -> str:
    """Return the name of the register for the last value of a loop variable."""
    return f"last {variable}"


def _name_remainder(name: str, divisor: int) -> str:
    """Return the name of the register for the remainder of another one."""
    return f"{name} % {divisor}"


def _name_step(variable: str) -> str:
    """Return the name of the register for the step of a loop variable."""
    return f"step of {variable}"


def _body_of(statement: s.Stmt) -> Sequence[s.Stmt]:
    assert isinstance(statement, s.Loop | s.While)
    return statement.body


def size_columns(system: TransitionSystem) -> Iterator[Poly]:
    """Yield the monomials of sizes in the system."""
    columns: dict[object, None] = {}
    for transition in system.transitions:
        for form in (*transition.constraints, *transition.update.values()):
            columns.update(dict.fromkeys(column for column in form if not isinstance(column, str)))
    for column in columns:
        if column:
            yield Poly({column: fmpq(1)})  # type: ignore[dict-item]
