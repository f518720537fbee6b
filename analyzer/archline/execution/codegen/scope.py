"""Write a function with a scope of names, and assign the slots of the program's state."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from archline.execution.codegen.values import ArrayValue, IntegerValue, Meaning, Operator, Register
from archline.execution.codegen.writer import FunctionWriter
from archline.execution.slots import FIRST_PROGRAM_SLOT, SYMBOLS
from archline.language import syntax as s
from archline.language.lockstep import Part, Progress
from archline.language.model import Kind, Module, ViewType


@dataclass(eq=False)
class Layout:
    """The slots of the state, and the externs and symbols that the generated code has used.

    `measures` gives each recursive algorithm its first slot: 1 if it is active, then the values that must decrease.
    """

    externs: dict[str, int]
    symbols: dict[str, int]
    measures: dict[s.Algorithm, int]
    first_counter: int
    used_externs: dict[str, s.Extern] = field(default_factory=dict)
    used_symbols: set[str] = field(default_factory=set)

    def use_extern(self, extern: s.Extern) -> int:
        """Record that an extern is used; return the slot of the amount that a call of it adds to the span."""
        self.used_externs[extern.name] = extern
        return self.externs[extern.name]

    def use_symbol(self, name: str) -> int:
        """Record that a cost symbol or machine symbol is used; return its slot."""
        self.used_symbols.add(name)
        return self.symbols[name]


def plan_layout(module: Module, recursive: Sequence[s.Algorithm], measured: dict[s.Algorithm, int]) -> Layout:
    """Assign the slots of the state; `measured` has the number of values that are compared in calls of a recursion."""
    slot = FIRST_PROGRAM_SLOT
    externs = {}
    for name in module.externs:
        externs[name] = slot
        slot += 1
    symbols = dict(SYMBOLS)
    for name in list_cost_symbols(module.externs.values()):
        if name not in symbols:
            symbols[name] = slot
            slot += 1
    measures = {}
    for algorithm in recursive:
        measures[algorithm] = slot
        slot += 1 + measured[algorithm]
    return Layout(externs, symbols, measures, slot)


def list_cost_symbols(externs: Iterable[s.Extern]) -> list[str]:
    """Return the names in the declared costs of externs, in order of appearance."""
    names: dict[str, None] = {}
    for extern in externs:
        for amount, _ in extern.costs:
            names.update(dict.fromkeys(list_names(amount)))
    return list(names)


def list_names(expr: s.Expr) -> list[str]:
    """Return the names in an expression in sizes, in order and with repetitions."""
    match expr:
        case s.Name(id=name):
            return [] if name == "pi" else [name]
        case s.Unary(operand=operand):
            return list_names(operand)
        case s.Binary(left=left, right=right):
            return list_names(left) + list_names(right)
        case s.Call(arguments=arguments):
            return [name for argument in arguments for name in list_names(argument)]
        case s.Integer() | s.Real() | s.Element() | s.Reshape():
            return []


def list_names_in_fact(fact: s.Fact) -> list[str]:
    """Return the names in a fact about sizes."""
    match fact:
        case s.IsPower(value=a, base=b) | s.Divides(divisor=a, value=b):
            return list_names(a) + list_names(b)
        case s.IsSquare(value=a):
            return list_names(a)
        case _:
            return list_names(fact)


class AlgorithmWriter(FunctionWriter):
    """Writes the function of an algorithm, with a scope of names; functions of callees are requested by `instance`."""

    layout: Layout
    names: dict[str, Meaning]
    instance: Callable[[s.Algorithm, tuple[str, ...]], str]
    """Returns the name of the Python function that runs an algorithm on arguments of given forms."""
    write_call: Callable[[AlgorithmWriter, s.Call], str]
    """Writes a call of an algorithm in an expression, and returns the name that holds its result."""
    element: Kind
    """The kind of the elements of `any` arrays."""
    algorithm_axes: tuple[str, ...]
    """The axes of the grid as the algorithm declares them."""
    progress: Mapping[Part, Progress]
    """How processors go through the loops that some may leave earlier than others."""
    axes: dict[str, int]
    """The numbers in `group` of the axes of the grid and of the surrounding splits."""
    totals: dict[s.While, tuple[str, str]]
    """The counters and the bounds of the loops whose iterations in a whole call are bounded."""
    infinite: bool
    """Whether the program has `inf` among its integers, so that sums with it have to stay infinite."""
    group: str
    """The variable in generated code that holds the group of processors."""
    iteration: tuple[str, ...]
    """The variables in generated code of the surrounding loops."""
    numbers: dict[s.Node, int]
    """The numbers of the statements that communicate."""
    open_blocks: list[list[Any]]
    """The local arrays so far of each block around the current statement."""

    def attach(
        self,
        layout: Layout,
        instance: Callable[[s.Algorithm, tuple[str, ...]], str],
        write_call: Callable[[AlgorithmWriter, s.Call], str],
    ) -> None:
        """Set the layout, the provider of callees, the writer of calls and an empty scope, before writing anything."""
        self.layout = layout
        self.names = {}
        self.instance = instance
        self.write_call = write_call
        self.element = Kind.REAL
        self.algorithm_axes = ()
        self.progress = {}
        self.axes = {}
        self.totals = {}
        self.infinite = False
        self.group = "grid"
        self.iteration = ()
        self.numbers = {}
        self.open_blocks = []

    def _flush_before_control_flow(self) -> None:
        """Count the costs so far before control flow: on a grid, steps inside of it read them."""
        if self.algorithm_axes:
            self.update_span()
            self.count_block_so_far()
        super()._flush_before_control_flow()

    def array_kind(self, element: str) -> Kind:
        return {"real": Kind.REAL, "any": self.element}.get(element, Kind.INT)

    def get_integer(self, name: str) -> IntegerValue:
        meaning = self.names[name]
        assert isinstance(meaning, IntegerValue)
        return meaning

    def get_register(self, name: str) -> Register:
        meaning = self.names[name]
        assert isinstance(meaning, Register)
        return meaning

    def get_view(self, name: str) -> ArrayValue:
        meaning = self.names[name]
        assert isinstance(meaning, ArrayValue)
        return meaning

    def resolve_operator(self, assignment: str) -> str:
        """Return the operator of an assignment such as `+=`, or of `op=` with an operator parameter."""
        name = assignment[:-1]
        meaning = self.names.get(name)
        return meaning.symbol if isinstance(meaning, Operator) else name

    def define(self, name: str, meaning: Meaning) -> None:
        """Add a name to the scope; the checker has ensured that it shadows no other."""
        self.names[name] = meaning

    @contextmanager
    def scope(self) -> Iterator[None]:
        before = dict(self.names)
        yield
        self.names = before

    @contextmanager
    def loop_body(self, variable: str) -> Iterator[None]:
        """Open the body of a loop with a variable in generated code."""
        before, self.iteration = self.iteration, (*self.iteration, variable)
        yield
        self.iteration = before

    @contextmanager
    def uncounted(self) -> Iterator[None]:
        """Write expressions without counting or logging, such as those of `assume`, `at most` and contracts."""
        before, self.free = self.free, True
        yield
        self.free = before

    def get_expression_kind(self, expr: s.Expr) -> Kind:
        result = get_kind(self.module, expr)
        assert result is not None
        return result


def is_extern(fn: AlgorithmWriter, expr: s.Call) -> bool:
    """Test whether a call is that of an extern."""
    return isinstance(fn.module.targets.get(expr), s.Extern)


def get_kind(module: Module, expr: s.Expr) -> Kind | None:
    """Return the kind of a scalar expression; None for a view. Expressions without a type are in sizes."""
    type_ = module.types.get(expr, Kind.STATIC)
    return None if isinstance(type_, ViewType) else type_
