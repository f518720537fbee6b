"""Processors of a group must agree on calls: that they reach them, roots, distances, and sizes of buffers.

The dependences of such a value are followed through `let` names, loops, registers that are set once, and arguments of
calls. Differences of guards and sizes are reported if they occur at sample sizes; decisions by data are left to runs.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import islice, product
from pathlib import PurePath

from archline.expr.intervals import EvaluationError
from archline.expr.tree import Span, substitute_names
from archline.expr.values import evaluate_fact, evaluate_static
from archline.language import call_rules as rules
from archline.language import syntax as s
from archline.language.call_graph import iterate_callees, traverse_reachable
from archline.language.checking.context import (
    CheckedFacts,
    Findings,
    depends_on_data,
    find_changed_registers,
    find_data_registers,
    iterate_buffers,
)
from archline.language.checking.points import (
    BoundedVariable,
    Frame,
    FreeVariable,
    LetDefinition,
    OpaqueFrame,
    Path,
    Requirement,
    Sampler,
)
from archline.language.lockstep import derive_progress
from archline.language.model import Agreement, RequiredEquality, Signature
from archline.language.substitution import build_processor_count
from archline.language.visitor import StatementVisitor
from archline.records import record

MAX_EXPRESSION_NODES = 200
"""The maximum number of nodes of an expression that is followed through names."""
MAX_GROUP_SIZE = 64
Point = Mapping[str, int]


@record(eq=False)
class WholeFile:
    """The algorithms of a file, and facts about all that they may call; exits of `settled` ones are checked.

    `efforts` has the effort of the samples for each algorithm, and for its callees if they were not checked before it.
    """

    algorithms: Mapping[s.Algorithm, None]
    signatures: Mapping[s.Algorithm, Signature]
    facts: CheckedFacts
    findings: Findings
    sampler: Sampler
    settled: Container[s.Algorithm]
    efforts: dict[s.Algorithm, int] = field(default_factory=dict)


def check_agreement(program: WholeFile) -> None:
    """Check that groups of processors agree on guards, roots and sizes of collectives; note what callers must grant."""
    for algorithm in program.algorithms:
        _derive_processor_agreement(program, algorithm)
    if not program.findings.diagnostics:
        for algorithm in program.algorithms:
            if algorithm not in program.settled:
                program.findings.subject = algorithm
                _check_exits(program, algorithm)


def _check_exits(program: WholeFile, algorithm: s.Algorithm) -> None:
    """Report loops, and code behind exits, in which processors communicate although some may have left it."""
    for part, progress in derive_progress(program.facts, algorithm).items():
        if not progress.mismatched_axes:
            continue
        axes = " and ".join(f"`{axis.name}`" for axis in algorithm.grid if axis.name in progress.mismatched_axes)
        at: s.Node = part
        inside = ""
        if progress.call is not None:
            at, inside = progress.call, f" of line {part.span.line} of what it calls"
        if isinstance(part, s.Branch):
            what = f"the code behind an exit{inside}, which some processors may take and others not"
        else:
            what = f"the loop{inside}, which processors may leave after different iterations"
        message = f"processors communicate along {axes} in {what}"
        program.findings.add(rules.UNEQUAL_TEST, message, at.span, _UNEQUAL_TEST_HINT)


_UNEQUAL_TEST_HINT = "let the condition depend on what all of them have, such as the result of an `allreduce`"


def _derive_processor_agreement(program: WholeFile, algorithm: s.Algorithm) -> Agreement:
    """Derive, once for each algorithm, the values that must be equal on the processors that call it."""
    agreements = program.facts.agreements
    if algorithm not in agreements:
        # A recursive call requires no agreement that the first one does not.
        axes = frozenset(axis.name for axis in algorithm.grid if _is_communicating(program, algorithm))
        agreements[algorithm] = Agreement((), axes, None)
        if algorithm.grid and algorithm in program.algorithms:
            effort, caller = program.sampler.effort, program.findings.subject
            program.findings.subject = algorithm
            agreements[algorithm] = _AgreementPass(program, algorithm, program.sampler.start_algorithm()).run()
            program.findings.subject = caller
            program.efforts[algorithm] = program.sampler.effort - effort
    return agreements[algorithm]


def _is_communicating(program: WholeFile, algorithm: s.Algorithm) -> bool:
    every = (algorithm, *traverse_reachable(partial(iterate_callees, program.facts), algorithm))
    return any(s.find_nodes(tuple(member.body for member in every), s.Communicate))


@record(eq=False)
class _Guard:
    """A condition or a loop on the path to a statement; `others` are the statements of the other branches.

    `reached` is a condition and its truth, or a loop with its `bounds`; None if data decides (`data`) or it is unknown.
    """

    reached: tuple[s.Expr, bool] | s.Loop | None
    bounds: tuple[s.Expr, ...] = ()
    others: tuple[s.Stmt, ...] = ()
    data: bool = False

    @property
    def parts(self) -> tuple[s.Expr, ...]:
        """The expressions that the guard depends on."""
        return self.reached[:1] if isinstance(self.reached, tuple) else self.bounds

    @property
    def value(self) -> s.Expr | None:
        """The value that decides whether a processor passes the guard; equal values decide alike. None if unknown."""
        reached = self.reached
        if isinstance(reached, tuple):
            return reached[0]
        if reached is None or reached.down or not isinstance(reached.lo, s.Integer):
            return None
        # Loops that end before they begin are equal.
        return s.Call("max", self.bounds[:2], span=reached.span)

    def admits_point(self, point: Point) -> bool:
        """Whether the processor at a point passes the guard. Raises EvaluationError if that is unknown."""
        match self.reached:
            case (condition, truth):
                decided = evaluate_fact(condition, point)
                if decided is None:
                    raise EvaluationError("not decided", condition)
                return decided is truth
            case s.Loop(variable=variable, down=down, scales=scales):
                lo, hi, step = (evaluate_static(bound, point) for bound in self.bounds)
                return point[variable] in s.list_loop_values(lo, hi, step, down, scales)
            case None:
                return True


@dataclass(eq=False)
class _AgreementPass(StatementVisitor[None, None]):
    """Checks the agreement of processors in an algorithm on a grid.

    `names` has the values of visible names, `path` the conditions and variables on the path to the current statement,
    `splits` has the axis of each group of a surrounding split, `along` the axes along which messages go.
    """

    program: WholeFile
    algorithm: s.Algorithm
    sampler: Sampler
    names: dict[str, s.Expr] = field(default_factory=dict)
    path: Path = field(default_factory=list)
    guards: list[_Guard] = field(default_factory=list)
    splits: dict[str, str] = field(default_factory=dict)
    along: set[str] = field(default_factory=set)
    needs: list[RequiredEquality] = field(default_factory=list)
    data: Span | None = None
    output: Span | None = None

    def run(self) -> Agreement:
        signature = self.program.signatures[self.algorithm]
        self._axes = {axis.name: axis.extent for axis in self.algorithm.grid}
        self._data = find_data_registers(self.program.facts, self.algorithm)
        self._changed = find_changed_registers(self.algorithm)
        of_axes = s.find_names(tuple(self._axes.values()))
        names = (*signature.size_names, *signature.indices)
        self._free = frozenset(names)
        free = {name: FreeVariable(name, signature.at_least.get(name)) for name in names}
        processors = build_processor_count(self.algorithm)
        self.path += [free[name] for name in names if name in of_axes]
        self.path.append(FreeVariable("P", 1) if processors is None else LetDefinition("P", processors))
        self.path += [free[name] for name in names if name not in of_axes]
        self.path += [Requirement(fact) for fact in self.algorithm.where]
        zero = s.Integer(0, span=self.algorithm.name_span)
        self.path += [BoundedVariable(axis.name, zero, axis.extent) for axis in self.algorithm.grid]
        self._check_block(self.algorithm.body)
        return Agreement(tuple(self.needs), frozenset(self.along), self.data, self.output)

    # Statements
    @contextmanager
    def _enter_block(self) -> Iterator[None]:
        """Restore the names, the guards and the path at the end of a block of the program."""
        before = dict(self.names), list(self.guards), list(self.path)
        try:
            yield
        finally:
            self.names, self.guards, self.path = before

    def _add_guard(self, guard: _Guard, frame: Frame) -> None:
        """Add a guard to the rest of the current block of the program, and its frame to the path."""
        self.guards.append(guard)
        self.path.append(frame)

    def _check_block(self, body: tuple[s.Stmt, ...]) -> None:
        for statement in body:
            self.statement(statement, None)

    def let(self, let: s.Let, place: None = None) -> None:
        self._define_name(let.name, let.value)

    def while_loop(self, loop: s.While, place: None = None) -> None:
        with self._enter_block():
            self._add_guard(_Guard(None, data=True), OpaqueFrame())
            self._check_block(loop.body)

    def assume(self, assume: s.Assume, place: None = None) -> None:
        self.path += [OpaqueFrame() if self._depends_on_data(fact) else Requirement(fact) for fact in assume.facts]

    def transfer(self, transfer: s.Transfer, place: None = None) -> None:
        if transfer.direction == "output":
            places = transfer.target.subscripts if isinstance(transfer.target, s.Element) else ()
            ends = (end for piece in places if isinstance(piece, s.Slice) for end in (piece.lo, piece.hi, piece.step))
            if self._is_decided_by_data(
                transfer.when, *ends, *(piece for piece in places if not isinstance(piece, s.Slice))
            ):
                self.output = self.output or transfer.span

    def invoke(self, invoke: s.Invoke, place: None = None) -> None:
        self._check_call(invoke.span, invoke.call, invoke.along, None)

    def simple(self, statement: s.SimpleStmt, place: None = None) -> None:
        for call in statement.calls:
            self._check_call(call.span, call, (), None)

    def local(self, local: s.Local, place: None = None) -> None:
        self.simple(local)
        # A register that is set once is equivalent to a `let`.
        if local.integer_register and local.name not in self._changed:
            self._define_name(local.name, local.value)

    def _define_name(self, name: str, value: s.Expr | None) -> None:
        """Define a name by its value, if sizes and coordinates alone decide that."""
        if value is not None and not self._depends_on_data(value):
            self.names[name] = self._inline_names(value)
            self.path.append(LetDefinition(name, value))

    def loop(self, loop: s.Loop, place: None = None) -> None:
        step = s.Integer(1, span=loop.span) if loop.step is None else loop.step
        bounds = (loop.lo, loop.hi, step)
        with self._enter_block():
            if any(map(self._depends_on_data, bounds)):
                self._add_guard(_Guard(None, data=True), OpaqueFrame())
            else:
                guard = _Guard(loop, tuple(map(self._inline_names, bounds)))
                self._add_guard(guard, BoundedVariable.of_loop(loop))
            self._check_block(loop.body)

    def branches(self, branches: tuple[s.Branch, ...], place: None = None) -> None:
        with self._enter_block():
            for branch in branches:
                siblings = tuple(inner for sibling in branches if sibling is not branch for inner in sibling.body)
                with self._enter_block():
                    self._enter_branch(branch, True, siblings)
                    self._check_block(branch.body)
                self._enter_branch(branch, False, siblings)

    def _enter_branch(self, branch: s.Branch, truth: bool, siblings: tuple[s.Stmt, ...]) -> None:
        """Add the condition of a branch, or with `truth` false its negation, to the guards of the rest of the block."""
        condition = branch.condition
        if condition is None:
            return
        if self._depends_on_data(condition):
            self._add_guard(_Guard(None, others=siblings, data=True), OpaqueFrame())
        else:
            guard = _Guard((self._inline_names(condition), truth), others=siblings)
            self._add_guard(guard, Requirement(condition, truth))

    def split(self, split: s.Split, place: None = None) -> None:
        """Check the block of a `split`, where the axis and P have other values than in expressions from outside.

        `place` has no effect, as in the other methods: this visitor has no state before a statement.
        """
        before = {name: s.Name(f"{name}'", span=split.span) for name in (*self._axes, "P")}
        with self._enter_block():
            self.guards = [_Guard(None, data=guard.data) for guard in self.guards]
            self.names = {name: substitute_names(value, before) for name, value in self.names.items()}
            self.path.append(OpaqueFrame())
            self.splits[split.group] = self.splits.get(split.axis, split.axis)
            self._check_block(split.body)
            del self.splits[split.group]

    # Communication
    def communicate(self, statement: s.Communicate, place: None = None) -> None:
        facts = self.program.facts
        if statement in facts.collectives:
            invoke = facts.collectives[statement].invoke
            self._check_call(statement.span, invoke.call, invoke.along, statement)
            return
        sizes = [extent for buffer in iterate_buffers(statement) for extent in facts.shapes.get(buffer, ())]
        partners = [clause for clause in statement.clauses if clause.keyword != "into"]
        conditions = [clause.when for clause in partners if clause.when is not None]
        self._record_data_dependence(
            statement.span, *sizes, *conditions, *(value for clause in partners for value in clause.values)
        )
        for clause in partners:
            for axis, at in zip(self._axes, clause.values, strict=False):
                if not isinstance(at, s.Name) or at.id != axis:
                    self.along.add(axis)

    def _record_data_dependence(self, span: Span, *values: s.Expr, certain: bool = False) -> None:
        """Note the span of the first statement whose messages depend on data.

        They do if data decides one of `values` or whether the statement is executed, and in any case if `certain`.
        """
        if self.data is None and (certain or self._is_decided_by_data(*values)):
            self.data = span

    def _is_decided_by_data(self, *values: s.Expr | None) -> bool:
        """Whether the data decides one of the values, or whether the current statement is reached."""
        return any(guard.data for guard in self.guards) or any(
            self._depends_on_data(item) for item in values if item is not None
        )

    def _check_call(
        self, span: Span, call: s.Call, along: tuple[s.Name, ...], collective: s.Communicate | None
    ) -> None:
        callee = self.program.facts.targets.get(call)
        if not isinstance(callee, s.Algorithm) or not callee.grid:
            return
        agreement = _derive_processor_agreement(self.program, callee)
        if self.output is None and (agreement.output is not None or self._is_decided_by_data()):
            self.output = span
        if not agreement.axes:
            return
        passed = self.program.facts.bindings.get(call, {})
        needed = s.find_names(tuple(need.value for need in agreement.needs))
        moved = [value for name, value in passed.items() if value is not None and name != "P"]
        self._record_data_dependence(span, *moved, certain=agreement.data is not None or None in passed.values())
        group = tuple(name.id for name in along) or tuple(self._axes)
        what = f"`{callee.name}`" if collective is None else f"`{collective.operation}`"
        same = len(callee.grid) == len(group)
        at = {axis.name: (group[place],) if same else group for place, axis in enumerate(callee.grid)}
        joined = tuple(axis for callee_axis in at if callee_axis in agreement.axes for axis in at[callee_axis])
        self.along |= {self.splits.get(axis, axis) for axis in joined}
        if not self._check_participation(span, joined, what):
            return
        inlined = {name: self._inline_names(value) for name, value in passed.items() if value is not None}
        self._check_arguments(span, callee, inlined, group, collective)
        for place, axis in enumerate(callee.grid):
            inlined[axis.name] = s.Name(group[place] if same else f"{axis.name}'", span=span)
        inlined |= {name: s.Name(f"{name}'", span=span) for name in needed - inlined.keys() - {"P"}}
        for need in agreement.needs:
            axes = tuple(axis for callee_axis in need.axes for axis in at[callee_axis])
            what = need.what if need.what.startswith("in `") else f"in `{callee.name}` {need.what}"
            self._check_equality(RequiredEquality(substitute_names(need.value, inlined), axes, need.rule, what), span)

    def _check_arguments(
        self, span: Span, callee: s.Algorithm, passed: Mapping[str, s.Expr], group: tuple[str, ...],
        collective: s.Communicate | None,
    ) -> None:  # fmt: skip
        """Check the root or distance of a collective, and the sizes of its buffers."""
        name, where = callee.name, " and ".join(f"`{axis}`" for axis in group)
        values: list[tuple[s.Expr, Span]] = []
        if collective is not None:
            name = collective.operation
            clauses = [clause for clause in collective.clauses if clause.keyword in ("by", "from", "onto")]
            values = [(self._inline_names(clause.values[0]), clause.span) for clause in clauses]
            if all(clause.keyword != "counts" for clause in collective.clauses):
                for size in self.program.signatures[callee].size_names:
                    if size in passed:
                        what = f"{_with_article(name)} along {where} cannot have a buffer of a size"
                        self._check_equality(RequiredEquality(passed[size], group, rules.UNEQUAL_BUFFERS, what), span)
        elif PurePath(callee.span.source.path).parts[-2:] == ("distributed", "collectives.algo"):
            values = [(passed[index], span) for index in self.program.signatures[callee].indices if index in passed]
        for value, at in values:
            shifts = name.startswith("shift")
            rule, text = (rules.SHIFT_BY, "be by an amount") if shifts else (rules.ROOT, "have a root")
            self._check_equality(
                RequiredEquality(value, group, rule, f"{_with_article(name)} along {where} cannot {text}"), at
            )

    def _check_equality(self, need: RequiredEquality, span: Span) -> None:
        """Report a value that differs within a group; if it depends on parameters, note it as a need of callers."""
        depends = [axis for axis in need.axes if axis in s.find_names(need.value)]
        certain = need.rule in (rules.SHIFT_BY, rules.ROOT)
        if depends:
            where = "" if certain else self._describe_difference(need)
            if where is not None:
                self.program.findings.add(need.rule, f"{need.what} that depends on `{depends[0]}`{where}", span)
        elif s.find_names(need.value) & self._free and not self.splits and (certain or not self.guards):
            loops = {
                loop.variable
                for loop in (guard.reached for guard in self.guards)
                if loop and not isinstance(loop, tuple)
            }
            apart = {name: s.Name(f"{name}'", span=span) for name in loops}
            self.needs.append(RequiredEquality(substitute_names(need.value, apart), need.axes, need.rule, need.what))

    def _check_participation(self, span: Span, group: tuple[str, ...], what: str) -> bool:
        """Report a collective that only a part of a group reaches; return False if it is reported."""
        where = " and ".join(f"`{axis}`" for axis in group)
        text = f"{what} along {where} cannot be reached under a condition"
        for number, guard in enumerate(self.guards):
            depends = [axis for axis in group if axis in s.find_names(guard.parts)]
            if depends:
                difference = self._describe_missing(group, number)
                if difference is not None:
                    mixed = any(self._has_collective(sibling) for sibling in guard.others)
                    rule = rules.MIXED if mixed else rules.PARTICIPATION
                    self.program.findings.add(rule, f"{text} that depends on `{depends[0]}`{difference}", span)
                    return False
            elif len(self.guards) == 1 and not self.splits and s.find_names(guard.parts) & self._free:
                value = guard.value
                if value is not None:
                    self.needs.append(RequiredEquality(value, group, rules.PARTICIPATION, text))
        return True

    def _has_collective(self, statement: s.Stmt) -> bool:
        callees = iterate_callees(self.program.facts, statement)
        return any(callee.grid and _derive_processor_agreement(self.program, callee).axes for callee in callees)

    # Samples
    def _sample_groups(self, group: tuple[str, ...], points: Iterable[Point]) -> Iterator[list[Point]]:
        """Yield for each sample point of the path to the current statement the points of all processors of a group."""
        for point in sorted(points, key=lambda candidate: (candidate["P"], sum(candidate.values()))):
            extents = [range(evaluate_static(self._axes[axis], point)) for axis in group if axis in self._axes]
            members = islice(product(*extents), MAX_GROUP_SIZE)
            yield [{**point, **dict(zip(group, at, strict=True))} for at in members]

    def _find_different_values(
        self, group: tuple[str, ...], guards: Sequence[_Guard], value: Callable[[Point], object]
    ) -> dict[object, Point]:
        """Return the different values of processors of a group that pass the guards, with points; empty if equal."""
        differing = self._compare_members(group, guards, value, self.sampler.sample_points(self.path))
        # If they differ at some sizes, the smallest are reported.
        return differing and (
            self._compare_members(group, guards, value, self.sampler.sample_small_points(self.path)) or differing
        )

    def _compare_members(
        self,
        group: tuple[str, ...],
        guards: Sequence[_Guard],
        value: Callable[[Point], object],
        points: Iterable[Point],
    ) -> dict[object, Point]:
        try:
            for members in self._sample_groups(group, points):
                values: dict[object, Point] = {}
                for member in members:
                    if all(guard.admits_point(member) for guard in guards):
                        values.setdefault(value(member), member)
                if len(values) > 1:
                    return values
        except EvaluationError:
            pass
        return {}

    def _describe_missing(self, group: tuple[str, ...], number: int) -> str | None:
        """Describe two processors that pass all guards before guard `number`, which one passes and one does not.

        None if no such processors are found.
        """
        points = self._find_different_values(group, self.guards[:number], self.guards[number].admits_point)
        if not points:
            return None
        yes, no = (_format_point(points[passes], group) for passes in (True, False))
        return f": {yes} reaches it, {no} does not{self._format_sizes(points[True])}"

    def _describe_difference(self, need: RequiredEquality) -> str | None:
        """Describe two processors at which the value differs; None if no such are found."""
        points = self._find_different_values(need.axes, self.guards, lambda point: _evaluate_value(need.value, point))
        if not points:
            return None
        # Truth is written in lower case, as programs have it.
        shown = [(str(value).lower(), _format_point(point, need.axes)) for value, point in islice(points.items(), 2)]
        values = [f"{value} at {place}" for value, place in shown]
        return f": {', '.join(values)}{self._format_sizes(next(iter(points.values())))}"

    def _format_sizes(self, point: Point) -> str:
        return f" (at {_format_point(point, [name for name in point if name in self._free or name == 'P'])})"

    # Expressions
    def _inline_names(self, expr: s.Expr) -> s.Expr:
        result = substitute_names(expr, self.names)
        return (
            result
            if sum(1 for _ in s.iterate_nodes(result)) <= MAX_EXPRESSION_NODES
            else s.Name("...'", span=expr.span)
        )

    def _depends_on_data(self, fact: s.Fact) -> bool:
        return depends_on_data(self.program.facts, fact, self._data)


def _format_point(point: Point, names: Iterable[str]) -> str:
    return ", ".join(f"{name} = {point[name]}" for name in names)


def _with_article(name: str) -> str:
    return f"{'an' if name[0] == 'a' else 'a'} {name}"


def _evaluate_value(expr: s.Expr, point: Point) -> object:
    """Return the value of a size, or the truth of a condition."""
    if isinstance(expr, s.Binary | s.Unary) and expr.op in ("not", "and", "or", "==", "!=", "<", "<=", ">", ">="):
        return evaluate_fact(expr, point)
    return evaluate_static(expr, point)
