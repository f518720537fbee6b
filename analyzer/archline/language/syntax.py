"""The syntax tree of programs has statements, types and items over the expressions of `expr/tree.py`, all of it as `s`.

docs/reference/language.md explains their meaning.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import ClassVar, TypeAlias

from archline.expr.tree import (
    Binary,
    Call,
    Divides,
    Element,
    Expr,
    Fact,
    Integer,
    IsPower,
    IsSquare,
    Name,
    Node,
    Real,
    Reshape,
    Slice,
    Source,
    Span,
    Unary,
    find_names,
    find_nodes,
    iterate_nodes,
    tree_node,
)  # fmt: skip
from archline.language.source import Comment
from archline.language.types import (
    ArrayType,
    Axis,
    IndexArrayType,
    IndexType,
    OffsetsType,
    OperatorType,
    Parameter,
    ScalarType,
    SizeType,
    Type,
)
from archline.records import field, record

__all__ = [
    "ArrayType", "Axis", "Binary", "Call", "Comment", "Divides", "Element", "Expr", "Fact", "IndexArrayType",
    "IndexType", "Integer", "IsPower", "IsSquare", "Name", "Node", "OffsetsType", "OperatorType", "Parameter", "Real",
    "Reshape", "ScalarType", "SizeType", "Slice", "Source", "Span", "Type", "Unary", "find_names", "find_nodes",
    "iterate_nodes", "tree_node",
]  # fmt: skip


# Statements.
@tree_node
class Statement(Node):
    """A statement. Passes that need no method for each kind read these properties and those of `Simple`."""

    @property
    def named_value(self) -> tuple[str, Expr] | None:
        """The size or view that the statement names, and its value; None if it names none."""
        return None

    @property
    def array(self) -> ArrayType | None:
        """The type of the local array that the statement makes; None if it makes none."""
        return None

    @property
    def integer_register(self) -> str | None:
        """The integer register that the statement declares; None if it declares none."""
        return None

    iterates: ClassVar[bool] = False
    """Whether it is a loop."""

    @property
    def parallel_variable(self) -> str | None:
        """The variable of the loop if its iterations run in parallel, else None."""
        return None

    @property
    def assumed(self) -> tuple[Fact, ...]:
        """The facts that the statement adds for the rest of its block."""
        return ()


@tree_node
class Simple(Statement):
    """A statement without blocks inside it."""

    @property
    def reads(self) -> tuple[Expr, ...]:
        """The expressions that the statement evaluates, in order, such as its `value`, or the place that it updates."""
        value: Expr | None = getattr(self, "value", None)
        return () if value is None else (value,)

    @property
    def writes(self) -> tuple[Name | Element, ...]:
        """The places that the statement writes to."""
        return ()

    @property
    def defines(self) -> tuple[str, ...]:
        return ()

    @property
    def sets(self) -> tuple[str, ...]:
        """The names that the statement gives values, without those of arrays whose elements it writes to."""
        return self.defines or tuple(place.id for place in self.writes if isinstance(place, Name))

    @property
    def increment(self) -> int | None:
        """The literal that the statement adds to the integer that it sets; None if it sets it in another way."""
        return None

    @property
    def updates(self) -> tuple[Name | Element, ...]:
        """The places that the statement both reads and writes to."""
        return tuple(place for place in self.writes if place in self.reads)

    @property
    def interrupted_updates(self) -> tuple[Name | Element, ...]:
        """The updated places between whose read and write the statement makes other accesses.

        These are all updates if the statement writes to several places, since it reads before it writes to any.
        """
        return self.updates if len(self.writes) > 1 else ()

    @property
    def calls(self) -> tuple[Call, ...]:
        """The calls that the statement makes whenever it is reached."""
        return tuple(call for expr in self.reads for call in iterate_certain_calls(expr))


def iterate_certain_calls(expr: Node) -> Iterator[Call]:
    """Yield the calls made whenever an expression is evaluated: none on the right of `and` or `or`."""
    pending: list[object] = [expr]
    while pending:
        match pending.pop():
            case Binary(op="and" | "or", left=left):
                pending.append(left)
            case Binary(left=left, right=right):
                pending += (right, left)
            case Unary(operand=operand):
                pending.append(operand)
            case Call(arguments=arguments) as call:
                yield call
                pending += reversed(arguments)
            case Element(subscripts=subscripts):
                pending += reversed(subscripts)
            case Slice(lo=lo, hi=hi, step=step):
                pending += (step, hi, lo)
            case Reshape(base=base, shape=shape):
                pending += (*reversed(shape), base)
            case _:
                # A literal, a name or a missing bound calls nothing.
                pass


@tree_node
class Communication(Simple):
    """A statement by which processors exchange data."""


@tree_node
class Let(Simple):
    """`let name = value`: names a size or a view."""

    name: str
    value: Expr

    @property
    def defines(self) -> tuple[str, ...]:
        return (self.name,)

    @property
    def named_value(self) -> tuple[str, Expr]:
        return self.name, self.value


@tree_node
class Local(Simple):
    """`local name: type = value when condition`: a register or an array that lives to the end of its block.

    An integer register is `constant` if nothing sets it again: then its value may be known, though operations on it
    count.
    """

    name: str
    type: ScalarType | ArrayType
    value: Expr | None
    when: Expr | None
    constant: bool = False

    @property
    def defines(self) -> tuple[str, ...]:
        return (self.name,)

    @property
    def array(self) -> ArrayType | None:
        return self.type if isinstance(self.type, ArrayType) else None

    @property
    def integer_register(self) -> str | None:
        return self.name if isinstance(self.type, ScalarType) and self.type.element in ("int", "char") else None


@tree_node
class Assign(Simple):
    """`target op value`, op one of = += -= *= /= min= max= or `NAME=`, where NAME is a parameter of type operator.

    It may be atomic; a view as target fills or copies.
    """

    target: Name | Element
    op: str
    value: Expr
    atomic: bool
    outputs: tuple[Name | Element, ...] = ()
    """The places of the outputs of an algorithm that the value calls, which are stored before the target."""

    @property
    def reads(self) -> tuple[Expr, ...]:
        return (self.value,) if self.op == "=" else (self.value, self.target)

    @property
    def writes(self) -> tuple[Name | Element, ...]:
        return (*self.outputs, self.target)

    @property
    def increment(self) -> int | None:
        match self.target, self.op, self.value:
            case (Name(id=of), "=", Binary(op="+" | "-" as sign, left=Name(id=left), right=Integer(value=step))) if (
                left == of
            ):
                return step if sign == "+" else -step
            case Name(), "+=" | "-=", Integer(value=step):
                return step if self.op == "+=" else -step
            case _:
                return None


@tree_node
class Invoke(Simple):
    """A call as a statement, or `spawn` of one; `along` are the axes of the grid whose processors it joins."""

    call: Call
    spawned: bool
    along: tuple[Name, ...] = ()
    outputs: tuple[Name | Element, ...] = ()
    """The places of the outputs of the algorithm."""

    @property
    def writes(self) -> tuple[Name | Element, ...]:
        return self.outputs

    @property
    def reads(self) -> tuple[Expr, ...]:
        return (self.call,)


@tree_node
class Sync(Simple):
    """The statement `sync`, which waits for the calls that this body has spawned."""


@tree_node
class Pass(Simple):
    """The statement `pass`, which does nothing."""


@tree_node
class Return(Simple):
    """The statement `return value`, which ends an algorithm with a result."""

    value: Expr


@tree_node
class Exit(Simple):
    """`break`, `continue`, or `return` without a value: leaves the loop, its iteration, or the algorithm."""

    kind: str


@tree_node
class Assume(Simple):
    """`assume facts`: checked by the executor, used by the analysis, reported as declared."""

    facts: tuple[Fact, ...]

    @property
    def assumed(self) -> tuple[Fact, ...]:
        return self.facts


@tree_node
class Costs(Simple):
    """The statement `costs amount metric, ...`, which declares costs."""

    amounts: tuple[tuple[Expr, str], ...]


@tree_node
class Reduction(Node):
    """A reduction `with op on register`: parallel iterations update the register by op alone, in any order."""

    op: str
    register: Name


@tree_node
class Loop(Statement):
    """The loop `for variable in lo..hi step step:`; with `down`, `lo downto hi` with hi inclusive; perhaps parallel.

    If it `scales`, as `step *2` and `downto ... step /2` do, the step is a whole number of at least 2 that multiplies
    the variable, or divides it, down to a whole number.
    The iterations of a parallel loop with a `reduction` combine their values in a register, in a binary tree. If data
    decides the bounds, the size `iterations` counts what a run executes; it is `chosen` by the elaboration if the
    author gave no name.
    """

    tests_last: ClassVar[bool] = False

    variable: str
    lo: Expr
    hi: Expr
    step: Expr | None
    down: bool
    parallel: bool
    body: tuple[Stmt, ...]
    reduction: Reduction | None = None
    iterations: str | None = None
    chosen: bool = False
    scales: bool = False

    iterates: ClassVar[bool] = True

    @property
    def parallel_variable(self) -> str | None:
        return self.variable if self.parallel else None


def list_loop_values(lo: int, hi: int, step: int, down: bool, scales: bool) -> Sequence[int]:
    """List the values of the variable of a loop between numbers; none if its step or its least value is below 1."""
    if step < 1:
        return ()
    if not scales:
        return range(lo, hi - 1, -step) if down else range(lo, hi, step)
    values = []
    while 1 <= hi <= lo if down else 1 <= lo < hi:
        values.append(lo)
        lo = lo // step if down else lo * step
    return values


@tree_node
class While(Statement):
    """The loop `while condition at most limit times:`, or `while condition iterations name:`.

    The `limit` holds at each entry; the `total` of `at most total times in total`, in the sizes of the algorithm, for
    all iterations in one call of it. Without a limit `iterations` is a size: the number of iterations in one call of
    the analysed algorithm. It is `chosen` by the elaboration if the author gave no name. With `tests_last`, the loop is
    `repeat ... until not condition`, whose test follows each iteration.
    """

    condition: Expr
    limit: Expr | None
    iterations: str | None
    tests_last: bool
    body: tuple[Stmt, ...]
    chosen: bool = False
    total: Expr | None = None

    iterates: ClassVar[bool] = True


@tree_node
class Reached(Name):
    """The condition of the code behind a statement that may leave the block: that it did not. It costs nothing.

    It is a name that no program can write, for a value that nobody knows and nobody evaluates: elaboration puts the
    code behind such a statement under this condition, and control does not reach it if the condition is false.
    """

    id: str = "not left"


@tree_node
class Branch(Node):
    """One arm of an `if`: condition (None for `else`) and body."""

    condition: Expr | None
    body: tuple[Stmt, ...]


@tree_node
class If(Statement):
    """The statement `if`, with branches for `elif` and `else`."""

    branches: tuple[Branch, ...]

    def take_later_branches(self, first: int = 1) -> If:
        """Return the `if` of the branches from number `first` on, at the place of that branch."""
        later = self.branches[first:]
        return If(later, span=later[0].span.extend_to(self.span))


@tree_node
class Transfer(Communication):
    """`input local = global when c` (direction "input") or `output global = local when c`."""

    direction: str
    target: Expr
    value: Expr
    when: Expr | None

    @property
    def reads(self) -> tuple[Expr, ...]:
        return ()


@tree_node
class Clause(Node):
    """One clause of a communication: keyword (along, by, into, from, to, onto, with, counts, using) and its values.

    `when` is the condition under which an exchange sends (`to`) or receives (`from`).
    """

    keyword: str
    values: tuple[Expr, ...]
    when: Expr | None = None


@tree_node
class Communicate(Communication):
    """A communication: an exchange, send or receive, or a collective operation."""

    operation: str
    buffer: Expr | None
    clauses: tuple[Clause, ...]

    @property
    def is_message(self) -> bool:
        """Whether the communication is one step, not a collective operation."""
        return self.operation in ("exchange", "send", "receive")

    @property
    def sent_buffer(self) -> Expr | None:
        """The buffer that the communication sends from; None for `receive`, or if there is none."""
        return None if self.operation == "receive" else self.buffer

    @property
    def received(self) -> Expr | None:
        """The buffer that the communication receives into; None if there is none."""
        into = (clause.values[0] for clause in self.clauses if clause.keyword == "into")
        return self.buffer if self.operation == "receive" else next(into, None)


@tree_node
class Split(Statement):
    """The block `split axis by parts as group:`, whose body runs on groups of processors along an axis."""

    axis: str
    parts: Expr
    group: str
    body: tuple[Stmt, ...]


SimpleStmt: TypeAlias = (
    Let | Local | Assign | Invoke | Sync | Pass | Return | Exit | Assume | Costs | Transfer | Communicate
)
Stmt: TypeAlias = SimpleStmt | Loop | While | If | Split


# Contracts and the file's items.
@tree_node
class Ensures(Node):
    """`ensures metric relation bound when facts`; relation is == <= >= Theta O or Omega.

    `processors` is the P of `ensures time(P) ...`.
    """

    metric: str
    processors: Name | None
    relation: str
    bound: Expr
    when: tuple[Fact, ...]

    @property
    def subject(self) -> str:
        """The bounded quantity, as written: `work`, `time(P)`."""
        return self.metric if self.processors is None else f"{self.metric}({self.processors.id})"


@tree_node
class Use(Node):
    """The item `use dense.matmul`, which makes the definitions of another file visible."""

    path: tuple[str, ...]


@tree_node
class Extern(Node):
    """The item `extern name(parameters) -> result costs amounts`, a function with declared costs."""

    name: str
    parameters: tuple[Parameter, ...]
    result: str | None
    costs: tuple[tuple[Expr, str], ...]


@tree_node
class On(Node):
    """The clause `on "machine" with model` of a claim about a cost such as energy."""

    machine: str
    model: str | None


@tree_node
class Claim(Node):
    """`claim "title": left relation right where facts on "machine" with model at name = value, ...`."""

    title: str | None
    left: Expr
    relation: str
    right: Expr
    where: tuple[Fact, ...]
    on: On | None
    at: tuple[tuple[str, Expr], ...]


@tree_node
class Output(Node):
    """A scalar `out` or `inout` parameter, its position in the header as written, and the register of its value."""

    parameter: Parameter
    position: int
    register: str


@tree_node
class Algorithm(Node):
    """An algorithm: header, contract, body. `name_span` is the name alone, for diagnostics.

    `outputs` has the scalar parameters by which it hands back numbers; `parameters` has the `inout` ones too,
    with mode `in`.
    """

    name: str
    parameters: tuple[Parameter, ...]
    result: str | None
    grid: tuple[Axis, ...]
    doc: str | None
    where: tuple[Fact, ...]
    ensures: tuple[Ensures, ...]
    decreases: tuple[Expr, ...]
    body: tuple[Stmt, ...]
    name_span: Span
    outputs: tuple[Output, ...] = ()

    @property
    def header(self) -> tuple[Parameter, ...]:
        """The parameters as written."""
        written = list(self.parameters)
        for output in self.outputs:
            if output.parameter.mode == "out":
                written.insert(output.position, output.parameter)
            else:
                written[output.position] = output.parameter
        return tuple(written)

    def takes_no_value(self, name: str) -> bool:
        """Test whether a parameter is a number that the algorithm hands back, and that no caller gives."""
        return any(output.parameter.name == name and output.parameter.mode == "out" for output in self.outputs)


Item: TypeAlias = Use | Extern | Claim | Algorithm


@record(eq=False)
class Program:
    """A parsed file. `broken` names the algorithms with syntax errors, which were repaired to find further ones.

    `texts` has the text of each item whose tree depends on nothing else.
    """

    source: Source = field(repr=False)
    items: tuple[Item, ...]
    comments: tuple[Comment, ...] = ()
    broken: frozenset[str] = frozenset()
    texts: Mapping[Item, str] = field(default_factory=dict, repr=False)

    @property
    def algorithms(self) -> tuple[Algorithm, ...]:
        return tuple(item for item in self.items if isinstance(item, Algorithm))


def list_blocks(statement: Stmt) -> tuple[tuple[Stmt, ...], ...]:
    """Return the blocks inside a statement."""
    match statement:
        case Loop(body=body) | While(body=body) | Split(body=body):
            return (body,)
        case If(branches=branches):
            return tuple(branch.body for branch in branches)
        case Simple():
            return ()


def list_evaluated(statement: Stmt) -> tuple[Expr, ...]:
    """Return the expressions and places that a statement evaluates first, before inner blocks; each once, in order.

    The condition of a `repeat` is not among them.
    """
    match statement:
        case Simple(reads=reads, writes=writes):
            return tuple(dict.fromkeys((*reads, *writes)))
        case Loop(lo=lo, hi=hi, step=step):
            return (lo, hi) if step is None else (lo, hi, step)
        case While(condition=condition, limit=limit):
            if statement.tests_last:
                return ()
            return (condition,) if limit is None else (condition, limit)
        case If(branches=branches):
            return tuple(branch.condition for branch in branches if branch.condition is not None)
        case Split(parts=parts):
            return (parts,)


_ENDED_BY = {"break", "continue"}


@lru_cache(maxsize=1024)
def find_exit_kinds(statement: Stmt) -> frozenset[str]:
    """Return the kinds of the exits in a statement that leave it: `break`, `continue` and `return`."""
    if isinstance(statement, Exit):
        return frozenset((statement.kind,))
    inside = frozenset[str]().union(*(list_exit_kinds(block) for block in list_blocks(statement)))
    return inside - _ENDED_BY if statement.iterates else inside


def list_exit_kinds(block: tuple[Stmt, ...]) -> frozenset[str]:
    """Return the kinds of the exits in a block that leave it."""
    return frozenset[str]().union(*map(find_exit_kinds, block))


def may_end_early(loop: Loop | While) -> bool:
    """Test whether a loop may end before its last iteration, by `break` or `return`."""
    return not list_exit_kinds(loop.body) <= {"continue"}


@lru_cache(maxsize=256)
def find_assigned_names(value: object) -> frozenset[str]:
    """Return the names that statements in a part of a program give values, including variables of loops."""
    result: set[str] = set()
    for node in iterate_nodes(value):
        if isinstance(node, Simple):
            result.update(node.sets)
        elif isinstance(node, Loop):
            result.add(node.variable)
    return frozenset(result)
