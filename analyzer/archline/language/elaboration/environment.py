"""The types of names and expressions, as far as elaboration needs them before anything is checked.

What cannot be told has no type (None), and the checker reports it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from archline.expr.tree import Comprehension, Node
from archline.language import surface
from archline.language import syntax as s
from archline.records import field, record, replace

SIZE = "size"
"""The element of values that the analysis knows: sizes, indices and variables of loops."""
_RANKS = {SIZE: 0, "bool": 1, "char": 1, "int": 2, "real": 3}
_COMPARISONS = {"==", "!=", "<", "<=", ">", ">=", "and", "or"}
_REAL_FUNCTIONS = {"exp", "log", "sin", "cos", "rsqrt", "real_of", "sqrt", "log2"}
_CONSTANTS = {"true": "bool", "false": "bool", "inf": "inf", "infinity": "inf", "pi": "real"}


@record
class NameType:
    """The type of a value: `size`, `real`, `int`, `bool` or `char`, or `inf`; with a shape, of an array's elements."""

    element: str
    shape: tuple[s.Expr, ...] | None = None

    @property
    def is_array(self) -> bool:
        """Whether the value is an array or a view."""
        return self.shape is not None


def join_types(types: Iterable[NameType | None]) -> NameType | None:
    """Return the type that can hold values of all types; unknown ones are left out, None if all are unknown."""
    joined: NameType | None = None
    for type_ in types:
        if type_ is None:
            continue
        if joined is None:
            joined = type_
            continue
        shape = joined.shape if joined.shape is not None else type_.shape
        joined = NameType(_join_elements(joined.element, type_.element), shape)
    return joined


def _join_elements(left: str, right: str) -> str:
    if left == right:
        return left
    if "inf" in (left, right):
        return right if left == "inf" else left
    joined = max(left, right, key=lambda element: _RANKS.get(element, 2))
    return "int" if {left, right} <= {"bool", "char", SIZE} and "bool" not in (left, right) else joined


@record(eq=False)
class Environment:
    """The types of visible names, and the results of algorithms.

    `result_of` gives the type of an algorithm's result, None if it has none or if it is not known.
    """

    names: Mapping[str, NameType | None]
    algorithms: Mapping[str, s.Algorithm]
    result_of: Callable[[str], NameType | None]
    abbreviations: Mapping[str, surface.Abbreviation] = field(default_factory=dict)

    def with_names(self, names: Mapping[str, NameType | None]) -> Environment:
        """Return the environment with more names."""
        return replace(self, names={**self.names, **names})

    # Expressions
    def infer(self, expr: Node) -> NameType | None:
        """Return the type of an expression."""
        match expr:
            case s.Integer():
                return NameType(SIZE)
            case s.Real():
                return NameType("real")
            case s.Name(id=name):
                if name in self.names:
                    return self.names[name]
                if name in self.abbreviations:
                    return self.infer(self.abbreviations[name].value)
                return NameType(_CONSTANTS[name]) if name in _CONSTANTS else None
            case s.Unary(op="not"):
                return NameType("bool")
            case s.Unary(operand=operand):
                return self.infer(operand)
            case s.Binary():
                return self._infer_binary(expr)
            case s.Element(array=array, subscripts=subscripts):
                return self._infer_element(array, subscripts)
            case s.Reshape(base=base, shape=shape):
                type_ = self.infer(base)
                return None if type_ is None else NameType(type_.element, shape)
            case s.Call():
                return self._infer_call(expr)
            case Comprehension(value=value, variable=variable):
                return self.with_names({variable: NameType(SIZE)}).infer(value)
            case _:
                return None

    def _infer_binary(self, expr: s.Binary) -> NameType | None:
        if expr.op in _COMPARISONS:
            return NameType("bool")
        left, right = self.infer(expr.left), self.infer(expr.right)
        if expr.op == "@":
            return _multiply_types(left, right)
        if left is None or right is None:
            return None
        element = _join_elements(left.element, right.element)
        return NameType("int" if element in ("bool", "char") else element, left.shape or right.shape)

    def _infer_element(self, array: str, subscripts: tuple[s.Expr | s.Slice, ...]) -> NameType | None:
        base = self.names.get(array)
        if base is None or base.shape is None:
            return None
        shape = list[s.Expr]()
        for number, subscript in enumerate(subscripts):
            if isinstance(subscript, s.Slice):
                extent = base.shape[number] if number < len(base.shape) else subscript.hi
                if extent is None:
                    return None
                shape.append(measure_slice(subscript, extent))
        # Subscripts that are left out stand for whole dimensions.
        shape.extend(base.shape[len(subscripts) :])
        return NameType(base.element, tuple(shape) or None)

    def _infer_call(self, call: s.Call) -> NameType | None:
        name, arguments = call.function, call.arguments
        types = [self.infer(argument) for argument in arguments]
        joined = join_types(types)
        shape = next((type_.shape for type_ in types if type_ is not None and type_.shape is not None), None)
        if name in self.algorithms:
            return self.result_of(name)
        if name in self.abbreviations:
            abbreviation = self.abbreviations[name]
            names = {parameter.id: type_ for parameter, type_ in zip(abbreviation.parameters, types, strict=False)}
            return self.with_names(names).infer(abbreviation.value)
        if name in ("sum", "min", "max") and len(arguments) == 1:
            return None if joined is None else NameType(combine_element(joined, arguments[0]))
        if name in ("dot", "norm"):
            return NameType("real") if name == "norm" or joined is None else NameType(combine_element(joined, call))
        if name == "transpose":
            return None if joined is None or shape is None else NameType(joined.element, shape[::-1])
        if name in ("len", "length"):
            return NameType(SIZE)
        if name in _REAL_FUNCTIONS:
            known = joined is not None and joined.element == SIZE and name in ("sqrt", "log2")
            return NameType(SIZE if known else "real", shape)
        if name in ("abs", "min", "max", "floor", "ceil"):
            return None if None in types else joined
        return None

    # Statements
    def after(self, statement: Node) -> Environment:
        """Return the environment behind a declaration."""
        match statement:
            case s.Let(name=name, value=value):
                return self.with_names({name: self.infer(value)})
            case s.Local(name=name, type=type_):
                return self.with_names({name: read_type(type_)})
            case _:
                return self

    def inside(self, statement: Node) -> Environment:
        """Return the environment in the body of a statement."""
        match statement:
            case s.Loop(variable=variable):
                return self.with_names({variable: NameType(SIZE)})
            case surface.LoopOver(variable=variable, over=over):
                type_ = self.infer(over)
                return self.with_names({variable: None if type_ is None else NameType(type_.element)})
            case _:
                return self


def combine_element(type_: NameType, value: Node) -> str:
    """Return the element type of a sum, minimum or maximum of values; a sum of quotients of sizes is real."""
    if type_.element == SIZE:
        quotients = any(part.op == "/" for part in s.find_nodes(value, s.Binary))
        roots = any(part.function in ("sqrt", "log2") for part in s.find_nodes(value, s.Call))
        return "real" if quotients or roots else "int"
    return "real" if type_.element == "real" else "int"


def _multiply_types(left: NameType | None, right: NameType | None) -> NameType | None:
    """Return the type of a product of matrices, or of a matrix and a vector."""
    if left is None or right is None or left.shape is None or right.shape is None:
        return None
    shape = (*left.shape[:-1], *right.shape[1:])
    return NameType(_join_elements(left.element, right.element), shape or None)


def measure_slice(part: s.Slice, extent: s.Expr) -> s.Expr:
    """Return the number of elements that a slice takes of a dimension of some extent."""
    if part.by_length and part.hi is not None:
        return part.hi
    hi = extent if part.hi is None else part.hi
    zero = part.lo is None or (isinstance(part.lo, s.Integer) and part.lo.value == 0)
    length = hi if zero or part.lo is None else s.Binary("-", hi, part.lo, span=part.span)
    if part.step is None:
        return length
    quotient = s.Binary("/", length, part.step, span=part.span)
    return s.Call("ceil", (quotient,), span=part.span)


def read_type(type_: Node) -> NameType | None:
    """Return what a declared type says; records have none."""
    match type_:
        case s.SizeType() | s.IndexType():
            return NameType(SIZE)
        case s.ScalarType(element=element):
            return NameType(element)
        case s.ArrayType(element=element, shape=shape):
            return NameType(element, shape)
        case s.IndexArrayType(shape=shape):
            return NameType("int", shape)
        case s.OffsetsType(count=count):
            one = s.Integer(1, span=count.span)
            return NameType("int", (s.Binary("+", count, one, span=count.span),))
        case _:
            return None


def read_header(algorithm: s.Algorithm) -> dict[str, NameType | None]:
    """Return the types of the names that a header declares or binds."""
    names: dict[str, NameType | None] = {name: NameType(SIZE) for name in s.names(algorithm.parameters)}
    names |= {axis.name: NameType(SIZE) for axis in algorithm.grid}
    if algorithm.grid:
        names |= {"P": NameType(SIZE)} | {name: NameType(SIZE) for axis in algorithm.grid for name in s.names(axis)}
    names |= {parameter.name: read_type(parameter.type) for parameter in algorithm.parameters}
    return names
