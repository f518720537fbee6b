"""Write a function, with a scope of names and the slots of the program's state."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from archline.execution.codegen.values import ArrayValue, IntegerValue, Meaning, Operator, Register
from archline.execution.codegen.writer import FunctionWriter
from archline.execution.slots import FIRST_FREE, SYMBOLS
from archline.language import syntax as s
from archline.language.model import Kind, Module, ViewType


@dataclass(eq=False)
class Layout:
    """The slots of the state, and the externs and symbols that the generated code turned out to need.

    `measures` gives each recursive algorithm its first slot: 1 if it is active, then the values that must decrease.
    """

    externs: dict[str, int]
    symbols: dict[str, int]
    measures: dict[s.Algorithm, int]
    first_counter: int
    used_externs: dict[str, s.Extern] = field(default_factory=dict)
    used_symbols: set[str] = field(default_factory=set)

    def extern(self, extern: s.Extern) -> int:
        """Return the slot of the amount that a call of the extern adds to the span."""
        self.used_externs[extern.name] = extern
        return self.externs[extern.name]

    def symbol(self, name: str) -> int:
        """Return the slot of a cost symbol or machine symbol."""
        self.used_symbols.add(name)
        return self.symbols[name]


def plan_layout(module: Module, recursive: Sequence[s.Algorithm], measured: dict[s.Algorithm, int]) -> Layout:
    """Lay the state out; `measured` has the number of values that each recursive algorithm must decrease."""
    slot = FIRST_FREE
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
            names.update(dict.fromkeys(names_in(amount)))
    return list(names)


def names_in(expr: s.Expr) -> list[str]:
    """Return the names in an expression in sizes."""
    match expr:
        case s.Name(id=name):
            return [] if name == "pi" else [name]
        case s.Unary(operand=operand):
            return names_in(operand)
        case s.Binary(left=left, right=right):
            return names_in(left) + names_in(right)
        case s.Call(arguments=arguments):
            return [name for argument in arguments for name in names_in(argument)]
        case s.Integer() | s.Real() | s.Element() | s.Reshape():
            return []


def names_in_fact(fact: s.Fact) -> list[str]:
    """Return the names in a fact about sizes."""
    match fact:
        case s.IsPower(value=a, base=b) | s.Divides(divisor=a, value=b):
            return names_in(a) + names_in(b)
        case s.IsSquare(value=a):
            return names_in(a)
        case _:
            return names_in(fact)


class AlgorithmWriter(FunctionWriter):
    """A writer that knows the names of the algorithm it writes, and the forms of the callees it needs."""

    layout: Layout
    names: dict[str, Meaning]
    instance: Callable[[s.Algorithm, tuple[str, ...]], str]
    """The Python function that runs an algorithm on arguments of the given forms."""
    element: Kind
    """The kind of the elements of `any` arrays."""
    algorithm_axes: tuple[str, ...]
    """The axes of the grid as the algorithm declares them."""
    axes: dict[str, int]
    """The axes of the grid, and of the surrounding splits, by their place in `group`."""
    group: str
    """The variable that holds the group of processors."""
    iteration: tuple[str, ...]
    """The variables of the surrounding loops."""
    numbers: dict[s.Node, int]
    """The numbers of the statements that communicate."""

    def attach(self, layout: Layout, instance: Callable[[s.Algorithm, tuple[str, ...]], str]) -> None:
        """Start writing, with an empty scope."""
        self.layout = layout
        self.names = {}
        self.instance = instance
        self.element = Kind.REAL
        self.algorithm_axes = ()
        self.axes = {}
        self.group = "grid"
        self.iteration = ()
        self.numbers = {}

    def _interrupt_block(self) -> None:
        """Settle the costs so far, since on a grid a path may leave inside of the control flow."""
        if self.algorithm_axes:
            self.settle()
            self.cut()
        super()._interrupt_block()

    def array_kind(self, element: str) -> Kind:
        return {"real": Kind.REAL, "int": Kind.INT, "any": self.element}[element]

    def static(self, name: str) -> IntegerValue:
        meaning = self.names[name]
        assert isinstance(meaning, IntegerValue)
        return meaning

    def register(self, name: str) -> Register:
        meaning = self.names[name]
        assert isinstance(meaning, Register)
        return meaning

    def view(self, name: str) -> ArrayValue:
        meaning = self.names[name]
        assert isinstance(meaning, ArrayValue)
        return meaning

    def operator(self, assignment: str) -> str:
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
    def inside(self, variable: str) -> Iterator[None]:
        """Open the body of a loop."""
        before, self.iteration = self.iteration, (*self.iteration, variable)
        yield
        self.iteration = before

    @contextmanager
    def uncounted(self) -> Iterator[None]:
        """Check expressions without cost or log: those of `assume`, `at most`, contracts."""
        before, self.free = self.free, True
        yield
        self.free = before

    def kind(self, expr: s.Expr) -> Kind:
        result = find_kind(self.module, expr)
        assert result is not None
        return result


def is_extern(fn: AlgorithmWriter, expr: s.Call) -> bool:
    """Whether a call is one of an extern."""
    return isinstance(fn.module.targets.get(expr), s.Extern)


def find_kind(module: Module, expr: s.Expr) -> Kind | None:
    """Return the kind of a scalar expression; None for a view. Expressions without a type are in sizes."""
    type_ = module.types.get(expr, Kind.STATIC)
    return None if isinstance(type_, ViewType) else type_
