"""Loops in which processors communicate need tests that are equal on the group: all leave in the same iteration.

Values that may differ between processors are followed through the program: those of coordinates, of local parameters
and of received messages differ; those of sizes, and of the results of an `allreduce` along all axes, do not. What
is assigned under a condition that differs, differs behind it. The analysis is that of divergence on GPUs (Coutinho,
Sampaio, Pereira, Meira, Divergence Analysis and Optimizations, PACT 2011), with a set of axes for each value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from typing import Protocol

from archline.language import syntax as s
from archline.language.call_graph import iterate_callees, traverse_reachable
from archline.language.model import Collective, ExprType, Module, ViewType
from archline.language.visitor import StatementVisitor
from archline.records import field, record

Axes = frozenset[str]
"""Axes of the outermost algorithm's grid along which a value may differ, or messages may go."""
EQUAL: Axes = frozenset()
_SPREADING = frozenset(("allreduce", "broadcast", "allgather"))
"""The collectives whose result is the same on all processors of the group."""


class CheckedProgram(Protocol):
    """A program whose expressions have types and whose calls have targets."""

    @property
    def types(self) -> Mapping[s.Expr, ExprType]: ...

    @property
    def targets(self) -> Mapping[s.Call, s.Algorithm | s.Extern]: ...

    @property
    def bindings(self) -> Mapping[s.Call, Mapping[str, s.Expr | None]]: ...

    @property
    def collectives(self) -> Mapping[s.Communicate, Collective]: ...


@record
class Progress:
    """The relative progress of processors through a loop, or code behind an exit, that some may leave early.

    Along the axes `differs` the number of iterations may differ, along `speaks` messages go inside the part, and along
    `around` processors may differ in whether they reach it. `call` is the call of the outermost algorithm that leads
    to it, if any.
    """

    differs: Axes
    speaks: Axes
    around: Axes
    call: s.Node | None

    def join(self, second: Progress) -> Progress:
        """Return the progress through a part of a program that is reached in two contexts, with the axes of both."""
        call = second.call if second.mismatched_axes and not self.mismatched_axes else self.call
        return Progress(self.differs | second.differs, self.speaks | second.speaks, self.around | second.around, call)

    @property
    def mismatched_axes(self) -> Axes:
        """The axes along which messages go although their processors may be in different iterations."""
        return self.differs & self.speaks

    @property
    def is_aligned(self) -> bool:
        """True if all processors of the grid make the same iterations."""
        return not self.differs and not self.around


Part = s.While | s.Loop | s.Branch
"""A loop, or the code behind an exit."""


@lru_cache(maxsize=64)
def find_progress(module: Module, algorithm: s.Algorithm) -> Mapping[Part, Progress]:
    """Map loops without a bound, and loops and code that exits may skip, to the progress of processors in them."""
    return derive_progress(module, algorithm)


def derive_progress(program: CheckedProgram, algorithm: s.Algorithm) -> Mapping[Part, Progress]:
    """Derive the result of `find_progress`; it is empty if neither the algorithm nor a callee has such a part."""
    every = {algorithm, *traverse_reachable(lambda caller: iterate_callees(program, caller.body), algorithm)}
    if not algorithm.grid or not any(_has_parts(member) for member in every):
        return {}
    divergence = _Divergence(program)
    axes = {axis.name: frozenset((axis.name,)) for axis in algorithm.grid}
    everywhere = frozenset(axes)
    values = {parameter.name: everywhere for parameter in algorithm.parameters if parameter.local}
    divergence.follow_call(algorithm, axes, values, EQUAL, None)
    return divergence.parts


def _has_parts(algorithm: s.Algorithm) -> bool:
    return any(
        isinstance(node, s.Exit) or (isinstance(node, s.While) and node.limit is None)
        for node in s.iterate_nodes(algorithm.body)
    )


Context = tuple[s.Algorithm, frozenset[tuple[str, Axes]], frozenset[tuple[str, Axes]], Axes]


@record(eq=False)
class _Outcome:
    """The axes along which parameters may differ at the end of a call, and along which it communicates."""

    values: Mapping[str, Axes]
    speaks: Axes


@record(eq=False)
class _Divergence:
    """The analysis of a program, from the outermost algorithm into its calls, each in each calling context once."""

    program: CheckedProgram
    parts: dict[Part, Progress] = field(default_factory=dict)
    done: dict[Context, _Outcome | None] = field(default_factory=dict)

    def follow_call(
        self,
        algorithm: s.Algorithm,
        axes: Mapping[str, Axes],
        values: Mapping[str, Axes],
        around: Axes,
        call: s.Node | None,
    ) -> _Outcome:
        """Follow a call: `axes` maps the callee's axes to those of the outermost grid, `values` its parameters."""
        key = algorithm, frozenset(axes.items()), frozenset(values.items()), around
        if key not in self.done:
            self.done[key] = None
            body = _Body(self, algorithm, dict(axes), dict(values), around, call)
            body.follow_block(algorithm.body)
            body.mark_assigned_as_differing(body.return_axes)
            self.done[key] = _Outcome(body.values, body.speaks)
        outcome = self.done[key]
        if outcome is None:
            # Of a recursive call nothing is known yet.
            every = frozenset[str]().union(*axes.values(), *values.values(), around)
            names = (*(item.name for item in algorithm.parameters), *(item.register for item in algorithm.outputs))
            return _Outcome(dict.fromkeys(names, every), every)
        return outcome

    def record_progress(self, part: Part, progress: Progress) -> None:
        """Record the progress of processors through a part, in one more context."""
        self.parts[part] = self.parts[part].join(progress) if part in self.parts else progress


def _is_always_set(algorithm: s.Algorithm, output: s.Output) -> bool:
    """Whether a call sets an output on every path: a place keeps its value where the call sets none."""
    simple = (statement for statement in algorithm.body if isinstance(statement, s.Assign))
    return output.parameter.mode == "inout" or any(output.register in statement.sets for statement in simple)


def _has_one_element(type_: s.Type) -> bool:
    return isinstance(type_, s.ArrayType) and all(
        isinstance(extent, s.Integer) and extent.value == 1 for extent in type_.shape
    )


class _Body(StatementVisitor[None, None]):
    """Follows the body of one algorithm.

    `levels` has, for the body and each loop around a statement, the axes along which processors may differ in whether
    they reach the statement; `exits` those along which they may differ in leaving the loops, or the body.
    """

    def __init__(
        self,
        divergence: _Divergence,
        algorithm: s.Algorithm,
        axes: dict[str, Axes],
        values: dict[str, Axes],
        around: Axes,
        call: s.Node | None,
    ) -> None:
        self._all = divergence
        self._program = divergence.program
        self._axes = axes
        self._declared = tuple(axis.name for axis in algorithm.grid)
        self._grid = frozenset[str]().union(*axes.values())
        self._around = around
        self._call = call
        self._bases: dict[str, str] = {}
        self._split: Axes = EQUAL
        self._levels: list[Axes] = [EQUAL]
        self._exits: list[Axes] = [EQUAL]
        self.values = values
        self._assigned: set[str] = set()
        declared: list[s.Parameter | s.Local] = [*algorithm.parameters, *s.find_nodes(algorithm.body, s.Local)]
        self._single = {item.name for item in declared}.difference(
            item.name for item in declared if not _has_one_element(item.type)
        )
        self.speaks: Axes = EQUAL
        # Processors may output different elements at different times.
        shared = (item for item in algorithm.parameters if not item.local and algorithm.grid and item.mode != "in")
        self.values |= {item.name: self._grid for item in shared}

    # Values
    def find_axes(self, *parts: object) -> Axes:
        """Return the axes along which expressions may differ."""
        axes: Axes = EQUAL
        for node in s.iterate_nodes(parts):
            match node:
                case s.Name(id=name) | s.Element(array=name):
                    base = self._bases.get(name, name)
                    axes |= self._axes.get(name, EQUAL) | self.values.get(name, EQUAL) | self.values.get(base, EQUAL)
                case _:
                    pass
        return axes

    @property
    def control_axes(self) -> Axes:
        """The axes along which processors may differ in whether they reach this statement."""
        return self._around.union(*self._levels, self._exits[0])

    @property
    def return_axes(self) -> Axes:
        """The axes along which processors may differ in returning before the end."""
        return self._exits[0]

    def mark_assigned_as_differing(self, axes: Axes) -> None:
        """Mark assigned names as different along axes, along which processors took different branches."""
        for name in self._assigned if axes else ():
            self.values[name] = self.values.get(name, EQUAL) | axes

    def assign_place(self, place: s.Expr, axes: Axes, whole: bool = True) -> None:
        """Note that a place is set to a value that may differ along `axes`; `whole` if it is set as a whole."""
        while isinstance(place, s.Reshape):
            place = place.base
        if not isinstance(place, s.Name | s.Element):
            return
        name = place.id if isinstance(place, s.Name) else place.array
        base = self._bases.get(name, name)
        part = isinstance(place, s.Element) and name not in self._single
        if not whole or part or base != name:
            axes |= self.find_axes(place) | self.values.get(base, EQUAL)
        self.values[base] = axes
        self._assigned.add(base)

    # Blocks
    def follow_block(self, body: tuple[s.Stmt, ...]) -> None:
        for statement in body:
            self.statement(statement, None)

    def let(self, let: s.Let, place: None = None) -> None:
        self.values[let.name] = self.find_axes(let.value)
        self._bases.pop(let.name, None)
        if isinstance(self._program.types.get(let.value), ViewType):
            base: s.Expr = let.value
            while isinstance(base, s.Reshape):
                base = base.base
            if isinstance(base, s.Name | s.Element):
                name = base.id if isinstance(base, s.Name) else base.array
                self._bases[let.name] = self._bases.get(name, name)

    def simple(self, statement: s.SimpleStmt, place: None = None) -> None:
        if isinstance(statement, s.Exit):
            self._take_exit(statement.kind)
            return
        read = self.find_axes(statement.reads)
        self._write_arguments(statement)
        for name in statement.defines:
            self._bases.pop(name, None)
            self.values[name] = read
        for target in statement.writes:
            self.assign_place(target, read)

    def local(self, local: s.Local, place: None = None) -> None:
        self._write_arguments(local)
        self._bases.pop(local.name, None)
        self.values[local.name] = self.find_axes(local.value, local.when)

    def transfer(self, transfer: s.Transfer, place: None = None) -> None:
        if transfer.direction == "input":
            self.assign_place(
                transfer.target, self.find_axes(transfer.value, transfer.when), whole=transfer.when is None
            )

    # Calls and messages
    def invoke(self, invoke: s.Invoke, place: None = None) -> None:
        target = self._program.targets.get(invoke.call)
        if isinstance(target, s.Algorithm) and target.grid:
            outcome = self._follow_callee(invoke.call, target, invoke.along)
            self.speaks |= outcome.speaks
            for parameter, argument in zip(target.parameters, invoke.call.arguments, strict=True):
                if parameter.mode != "in" and parameter.local:
                    self.assign_place(argument, outcome.values.get(parameter.name, EQUAL))
            for output, result in zip(target.outputs, invoke.outputs, strict=True):
                self.assign_place(
                    result, outcome.values.get(output.register, EQUAL), whole=_is_always_set(target, output)
                )
            return
        read = self.find_axes(invoke.call.arguments, invoke.outputs)
        self._write_arguments(invoke)
        for result in invoke.outputs:
            self.assign_place(result, read)

    def _write_arguments(self, statement: s.Stmt) -> None:
        """Note what calls of algorithms on one processor, in a statement, write to their arguments."""
        for call in s.find_nodes(statement, s.Call):
            target = self._program.targets.get(call)
            for parameter, argument in zip(() if target is None else target.parameters, call.arguments, strict=False):
                if parameter.mode != "in":
                    self.assign_place(argument, self.find_axes(call.arguments), whole=False)

    def _join_axes(self, along: tuple[s.Name, ...]) -> Axes:
        names = [name.id for name in along] or self._declared
        return frozenset[str]().union(*(self._axes.get(name, EQUAL) for name in names))

    def _follow_callee(self, call: s.Call, callee: s.Algorithm, along: tuple[s.Name, ...]) -> _Outcome:
        group = [name.id for name in along] or list(self._declared)
        if len(callee.grid) == len(group):
            axes = {axis.name: self._axes[name] for axis, name in zip(callee.grid, group, strict=True)}
        else:
            axes = {axis.name: self._join_axes(along) for axis in callee.grid}
        values = {
            parameter.name: self.find_axes(argument)
            for parameter, argument in zip(callee.parameters, call.arguments, strict=True)
        }
        for name, bound in self._program.bindings.get(call, {}).items():
            if name != "P":
                values[name] = self._grid if bound is None else self.find_axes(bound)
        differing = {name: differs for name, differs in values.items() if differs}
        return self._all.follow_call(callee, axes, differing, self.control_axes, self._call or call)

    def communicate(self, statement: s.Communicate, place: None = None) -> None:
        clauses = {clause.keyword: clause for clause in statement.clauses}
        collective = self._program.collectives.get(statement)
        if collective is None:
            for keyword in ("to", "from"):
                for axis, at in zip(
                    self._declared, clauses[keyword].values if keyword in clauses else (), strict=False
                ):
                    if not isinstance(at, s.Name) or at.id != axis:
                        self.speaks |= self._axes[axis]
            if statement.received is not None:
                self.assign_place(statement.received, self._grid, whole=False)
            return
        joined = self._join_axes(collective.invoke.along)
        self.speaks |= joined
        target = clauses["into"].values[0] if "into" in clauses else statement.buffer
        if target is None:
            return
        places = [clause.values for keyword, clause in clauses.items() if keyword in ("from", "onto", "by", "counts")]
        sent = self.find_axes(statement.buffer, *places)
        if statement.operation in _SPREADING:
            # In a split each of the groups has a result of its own.
            self.assign_place(target, sent - (joined - self._split))
        else:
            self.assign_place(target, sent | joined, whole=False)
        for count in clauses["into"].values[1:] if "into" in clauses else ():
            self.assign_place(count, sent | joined, whole=False)

    def split(self, split: s.Split, place: None = None) -> None:
        before, axes = self._split, self._axes
        whole = axes.get(split.axis, EQUAL)
        self._split, self._axes = before | whole, {**axes, split.group: whole}
        self.follow_block(split.body)
        self._split, self._axes = before, axes

    # Control
    def _take_exit(self, kind: str) -> None:
        """Note for an exit the axes along which processors may differ in taking it."""
        level = len(self._levels) - 1
        inner: Axes = EQUAL
        for number in range(level, -1, -1):
            inner |= self._levels[number]
            if number == level or kind == "return":
                self._exits[number] |= inner

    @contextmanager
    def _diverge_along(self, axes: Axes) -> Iterator[None]:
        """Follow, as enclosed code, statements that not all processors along `axes` execute; mark names they set."""
        before, assigned = self._levels[-1], self._assigned
        self._levels[-1], self._assigned = before | axes, set()
        yield
        self.mark_assigned_as_differing(axes)
        self._levels[-1], self._assigned = before, self._assigned | assigned

    def branches(self, branches: tuple[s.Branch, ...], place: None = None) -> None:
        first, *rest = branches
        if first.condition is None:
            self.follow_block(first.body)
            return
        skips = isinstance(first.condition, s.Reached)
        axes = self._exits[-1] if skips else self.find_axes(first.condition)
        with self._diverge_along(axes):
            before = dict(self.values)
            self._follow_part(first if skips else None, axes, lambda: self.follow_block(first.body))
            after, self.values = self.values, before
            if rest:
                self.branches(tuple(rest))
            self._join_values(after)

    def _join_values(self, values: Mapping[str, Axes]) -> None:
        for name, axes in values.items():
            self.values[name] = self.values.get(name, EQUAL) | axes

    def _follow_part(self, part: Part | None, differs: Axes, follow: Callable[[], None]) -> None:
        """Run `follow` on a loop or branch, and record the axes along which processors communicate in it."""
        before, self.speaks = self.speaks, EQUAL
        follow()
        if part is not None:
            around = self._around.union(*self._levels[:-1], self.return_axes)
            self._all.record_progress(part, Progress(differs, self.speaks, around, self._call))
        self.speaks |= before

    def loop(self, loop: s.Loop, place: None = None) -> None:
        ends = (loop.lo, loop.hi, loop.step)

        def follow_body() -> None:
            self.values[loop.variable] = self.find_axes(*ends)
            self.follow_block(loop.body)

        self._repeat_part(
            loop if s.list_exit_kinds(loop.body) else None, lambda: self.find_axes(*ends), follow_body, counted=True
        )

    def while_loop(self, loop: s.While, place: None = None) -> None:
        part = loop if loop.limit is None or s.list_exit_kinds(loop.body) else None
        self._repeat_part(
            part,
            lambda: self.find_axes(loop.condition, loop.limit),
            lambda: self.follow_block(loop.body),
            counted=loop.limit is not None,
        )

    def _repeat_part(
        self, part: Part | None, test: Callable[[], Axes], body: Callable[[], None], counted: bool
    ) -> None:
        """Follow a loop to a fixpoint; its exits leave it, and its test does unless its iterations are `counted`."""
        exits, settled = EQUAL, False
        while not settled:
            before, left, tested = dict(self.values), exits, test()
            with self._diverge_along(tested | exits):
                self._levels.append(EQUAL)
                self._exits.append(exits)
                self._follow_part(part, exits if counted else exits | tested, body)
                exits = self._exits.pop()
                self._levels.pop()
                tested |= test()
                self.mark_assigned_as_differing(exits | tested)
            self._join_values(before)
            settled = self.values == before and exits == left
