"""The function being generated: a writer, and what the names in sight stand for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from archline.execution.codegen.layout import Layout
from archline.execution.codegen.values import Meaning, Operator, Register, Static, View
from archline.execution.codegen.writer import Writer
from archline.language import syntax as s
from archline.language.model import Kind, Module, ViewType


class Function(Writer):
    """A writer that knows the names of the algorithm it writes, and the forms of the callees it needs."""

    layout: Layout
    names: dict[str, Meaning]
    instance: Callable[[s.Algorithm, tuple[str, ...]], str]
    """The Python function that runs an algorithm on arguments of the given forms."""
    element: Kind
    """What the elements of `any` arrays are here."""
    algorithm_axes: tuple[str, ...]
    """The axes of the grid as the algorithm declares them."""
    axes: dict[str, int]
    """The axes of the grid, and of the splits around, by their place in `group`."""
    group: str
    """The variable that holds the group of processors."""
    iteration: tuple[str, ...]
    """The variables of the loops around."""
    numbers: dict[s.Node, int]
    """The numbers of the statements that communicate."""

    def attach(self, layout: Layout, instance: Callable[[s.Algorithm, tuple[str, ...]], str]) -> None:
        """Start writing, with no names in sight."""
        self.layout = layout
        self.names = {}
        self.instance = instance
        self.element = Kind.REAL
        self.algorithm_axes = ()
        self.axes = {}
        self.group = "grid"
        self.iteration = ()
        self.numbers = {}

    def _interrupt(self) -> None:
        """On a grid a path may leave inside of the control flow, with what was spent before."""
        if self.algorithm_axes:
            self.settle()
            self.cut()
        super()._interrupt()

    def array_kind(self, element: str) -> Kind:
        """The kind of the elements of a declared array."""
        return {"real": Kind.REAL, "int": Kind.INT, "any": self.element}[element]

    def static(self, name: str) -> Static:
        """The integer a name stands for."""
        meaning = self.names[name]
        assert isinstance(meaning, Static)
        return meaning

    def register(self, name: str) -> Register:
        """The register a name stands for."""
        meaning = self.names[name]
        assert isinstance(meaning, Register)
        return meaning

    def view(self, name: str) -> View:
        """The view a name stands for."""
        meaning = self.names[name]
        assert isinstance(meaning, View)
        return meaning

    def operator(self, assignment: str) -> str:
        """The operator of an assignment such as `+=`, or `op=` where a parameter holds it."""
        name = assignment[:-1]
        meaning = self.names.get(name)
        return meaning.symbol if isinstance(meaning, Operator) else name

    def define(self, name: str, meaning: Meaning) -> None:
        """Put a name in sight; the checker has made sure that it hides no other."""
        self.names[name] = meaning

    @contextmanager
    def scope(self) -> Iterator[None]:
        """A block of definitions."""
        before = dict(self.names)
        yield
        self.names = before

    @contextmanager
    def inside(self, variable: str) -> Iterator[None]:
        """The body of a loop."""
        before, self.iteration = self.iteration, (*self.iteration, variable)
        yield
        self.iteration = before

    @contextmanager
    def uncounted(self) -> Iterator[None]:
        """Where expressions are checked but cost nothing and are not logged: `assume`, `at most`, contracts."""
        before, self.free = self.free, True
        yield
        self.free = before

    def kind(self, expr: s.Expr) -> Kind:
        """The kind of a scalar expression."""
        found = kind_of(self.module, expr)
        assert found is not None
        return found


def is_extern(fn: Function, expr: s.Call) -> bool:
    """Whether a call is one of an extern."""
    return isinstance(fn.module.targets.get(expr), s.Extern)


def kind_of(module: Module, expr: s.Expr) -> Kind | None:
    """The kind of a scalar expression; None for a view. What the checker did not type is in sizes."""
    found = module.types.get(expr, Kind.STATIC)
    return None if isinstance(found, ViewType) else found
