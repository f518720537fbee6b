"""The types of names and expressions, as far as elaboration needs them before anything is checked.

What cannot be told has no type (None), and the checker reports it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import groupby
from typing import Any

from archline.expr.tree import Comprehension, Node, substitute_names
from archline.language import surface
from archline.language import syntax as s
from archline.language.elaboration.rewriting import renew_nodes
from archline.language.words import BIT_FUNCTIONS, NOTHING
from archline.records import field, record, replace

SIZE = "size"
"""The element of values that the analysis knows: sizes, indices and variables of loops."""
_RANKS = {SIZE: 0, "bool": 1, "char": 1, "int": 2, "real": 3}
_COMPARISONS = {"==", "!=", "<", "<=", ">", ">=", "and", "or"}
_REAL_FUNCTIONS = {"exp", "log", "sin", "cos", "rsqrt", "real_of", "sqrt", "log2"}
_CONSTANTS = {
    **dict.fromkeys(NOTHING, "int"),
    "true": "bool",
    "false": "bool",
    "inf": "inf",
    "infinity": "inf",
    "pi": "real",
}


@record
class NameType:
    """The type of a value: `element` is `size`, `real`, `int`, `bool`, `char` or `inf`; an array has a `shape`.

    For a record, `element` is the name of its type and `record` the type itself. `bounded` is true for arrays of
    offsets and indices, whose declarations bound their elements.
    """

    element: str
    shape: tuple[s.Expr, ...] | None = None
    record: surface.RecordType | None = None
    bounded: bool = False

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
    records: Mapping[str, surface.RecordDefinition] = field(default_factory=dict)
    externs: Mapping[str, s.Extern] = field(default_factory=dict)

    def with_names(self, names: Mapping[str, NameType | None]) -> Environment:
        """Return the environment with more names, and with the fields of records among these."""
        parts: dict[str, NameType | None] = {}
        for name, type_ in names.items():
            if type_ is not None and type_.record is not None:
                parts |= collect_name_types(name, type_.record, self.records)
        return replace(self, names={**self.names, **names, **parts})

    def find_record(self, expr: Node) -> surface.RecordType | None:
        """Return the type of a record that an expression names; None if it names none."""
        type_ = self.names.get(expr.id) if isinstance(expr, s.Name) else None
        return None if type_ is None else type_.record

    def find_called_name(self, call: s.Call) -> str:
        """Return the name of the called algorithm, `queue.push` for an operation on the type of the first argument."""
        record = self.find_record(call.arguments[0]) if call.arguments else None
        operation = "" if record is None else f"{record.name}.{call.function}"
        return operation if operation in self.algorithms else call.function

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
                if name.endswith(".T"):
                    return self.infer(make_transposed(expr))
                if (array := find_measured_array(name)) is not None:
                    type_ = self.names.get(array)
                    return NameType(SIZE) if type_ is not None and len(type_.shape or ()) == 1 else None
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
        ranks = {len(type_.shape or ()) for type_ in (left, right) if type_ is not None}
        if expr.op == "@" or (expr.op == "*" and ranks == {1, 2}):
            # `A*x` is refused where it stands; that the product is meant keeps further mistakes out.
            return _multiply_types(left, right)
        if left is None or right is None:
            # What is unknown may be the result that is being inferred; beside a real it makes a real.
            side = left or right
            return side if side is not None and side.element == "real" else None
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
                shape.append(measure_slice(resolve_negative_subscripts(subscript, extent), extent))
        # Subscripts that are left out stand for whole dimensions.
        shape.extend(base.shape[len(subscripts) :])
        return NameType(base.element, tuple(shape) or None)

    def _infer_call(self, call: s.Call) -> NameType | None:
        name, arguments = self.find_called_name(call), call.arguments
        types = [self.infer(argument) for argument in arguments]
        joined = join_types(types)
        shape = next((type_.shape for type_ in types if type_ is not None and type_.shape is not None), None)
        if name in self.algorithms:
            result = self.result_of(name)
            if result is None:
                return self.infer_output(call)
            return replace(result, shape=shape) if self.maps_elements(call) else result
        if name in self.externs:
            declared = self.externs[name].result
            return None if declared is None else NameType(declared)
        if name in self.records:
            return read_type(surface.RecordType(name, arguments, span=call.span))
        if name in self.abbreviations:
            abbreviation = self.abbreviations[name]
            names = {parameter.id: type_ for parameter, type_ in zip(abbreviation.parameters, types, strict=False)}
            return self.with_names(names).infer(abbreviation.value)
        if name in ("sum", "min", "max") and len(arguments) == 1:
            return None if joined is None else NameType(combine_element(joined, arguments[0]))
        if name in ("argmin", "argmax"):
            return NameType("int")
        if name == "mean":
            return NameType("real")
        if name in ("all", "any", "count") and len(arguments) == 1:
            return NameType("int" if name == "count" else "bool")
        if name in ("dot", "norm"):
            return NameType("real") if name == "norm" or joined is None else NameType(combine_element(joined, call))
        if (filled := self.infer_filled(call)) is not None:
            return filled
        if name == "diag":
            is_matrix = joined is not None and shape is not None and len(shape) == 2
            return NameType(joined.element, shape[:1]) if joined and shape and is_matrix else None
        if name == "transpose":
            return None if joined is None or shape is None else NameType(joined.element, shape[::-1])
        if name in ("len", "length", "size"):
            return NameType(SIZE)
        if name in _REAL_FUNCTIONS:
            is_size = joined is not None and joined.element == SIZE and name in ("sqrt", "log2")
            return NameType(SIZE if is_size else "real", shape)
        if name in BIT_FUNCTIONS:
            return NameType("int", shape)
        if name in ("abs", "min", "max", "floor", "ceil"):
            rounded = name in ("floor", "ceil") and joined is not None and joined.element == "real"
            return None if None in types else NameType("int", shape) if rounded else joined
        return None

    def maps_elements(self, call: s.Call) -> bool:
        """Whether a call passes arrays to an algorithm of numbers, which it applies to each of their elements."""
        called = self.algorithms.get(call.function)
        if called is None or len(called.parameters) != len(call.arguments):
            return False
        types = [self.infer(argument) for argument in call.arguments]
        numbers = all(isinstance(parameter.type, s.ScalarType) for parameter in called.parameters)
        return numbers and any(type_ is not None and type_.is_array for type_ in types)

    def infer_filled(self, call: s.Call) -> NameType | None:
        """Return the type of `zeros(n, m)`, `ones(n)` and `eye(n)`; None for other calls."""
        name, arguments = call.function, call.arguments
        if name in self.algorithms or name not in ("zeros", "ones", "eye") or not arguments:
            return None
        return NameType("real", (*arguments, *arguments) if name == "eye" else arguments)

    def infer_output(self, call: s.Call) -> NameType | None:
        """Return the type of the array that a call gives which omits its last argument, the only `out` array.

        None for other calls, and if the arguments do not determine the shape.
        """
        called = self.algorithms.get(call.function)
        if called is None or called.result is not None or len(called.parameters) != len(call.arguments) + 1:
            return None
        *inputs, last = called.parameters
        if not isinstance(last.type, s.ArrayType) or last.mode != "out":
            return None
        if any(parameter.mode == "out" and isinstance(parameter.type, s.ArrayType) for parameter in inputs):
            return None
        sizes: dict[str, s.Expr] = {}
        for parameter, argument in zip(inputs, call.arguments, strict=True):
            type_, declared = self.infer(argument), read_type(parameter.type)
            if isinstance(parameter.type, s.SizeType):
                sizes[parameter.name] = argument
            elif type_ is not None and type_.shape is not None and declared is not None and declared.shape is not None:
                for entry, extent in zip(declared.shape, type_.shape, strict=False):
                    sizes |= _read_size(entry, extent)
        if not s.find_names(last.type.shape) <= sizes.keys():
            return None
        return NameType(last.type.element, tuple(substitute_names(extent, sizes) for extent in last.type.shape))

    # Statements
    def add_declared(self, statement: Node) -> Environment:
        """Return the environment after a statement, with the name that it declares."""
        match statement:
            case s.Let(name=name, value=value):
                return self.with_names({name: self.infer(value)})
            case s.Local(name=name, type=type_):
                return self.with_names({name: read_type(type_)})
            case _:
                # Other statements declare nothing.
                return self

    def enter_body(self, statement: Node) -> Environment:
        """Return the environment in the body of a statement, with the variable of a loop."""
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


def make_transposed(name: s.Name) -> s.Call:
    """Return `transpose(A)` for the name `A.T`."""
    return s.Call("transpose", (s.Name(name.id.removesuffix(".T"), span=name.span),), span=name.span)


def measure_slice(part: s.Slice, extent: s.Expr) -> s.Expr:
    """Return the number of elements in a slice of a dimension of the given extent."""
    if part.by_length and part.hi is not None:
        return part.hi
    hi = extent if part.hi is None else part.hi
    zero = part.lo is None or (isinstance(part.lo, s.Integer) and part.lo.value == 0)
    length = hi if zero or part.lo is None else s.Binary("-", hi, part.lo, span=part.span)
    if part.step is None:
        return length
    quotient = s.Binary("/", length, part.step, span=part.span)
    return s.Call("ceil", (quotient,), span=part.span)


def resolve_negative_subscripts(part: Any, extent: s.Expr) -> Any:
    """Return a subscript or a slice in which a negative literal -k is replaced by `extent - k`."""
    if isinstance(part, s.Slice):
        lo = None if part.lo is None else resolve_negative_subscripts(part.lo, extent)
        # A length does not count from the end.
        hi = part.hi if part.hi is None or part.by_length else resolve_negative_subscripts(part.hi, extent)
        return part if lo is part.lo and hi is part.hi else replace(part, lo=lo, hi=hi)
    match part:
        case s.Unary(op="-", operand=s.Integer(value=value)) if value > 0:
            return _subtract(renew_nodes(extent), value, part)
        case _:
            return part


def _subtract(expr: Any, number: int, at: Node) -> Any:
    """Return `expr - number`, combined with a number that the expression ends with: n + 2 - 1 -> n + 1."""
    match expr:
        case s.Integer(value=value) if value >= number:
            return s.Integer(value - number, span=at.span)
        case s.Binary(op="+" | "-" as op, left=left, right=s.Integer(value=value)):
            rest = (value if op == "+" else -value) - number
            if rest == 0:
                return left
            return s.Binary("+" if rest > 0 else "-", left, s.Integer(abs(rest), span=at.span), span=at.span)
        case _:
            return s.Binary("-", expr, s.Integer(number, span=at.span), span=at.span)


def _read_size(entry: s.Expr, extent: s.Expr) -> dict[str, s.Expr]:
    """Return the size that an entry of a declared shape, `n` or `n + 1`, has in an array of this extent there."""
    match entry:
        case s.Name(id=name):
            return {name: extent}
        case s.Binary(op="+", left=s.Name(id=name), right=s.Integer(value=more)):
            return {name: _subtract(extent, more, extent)}
        case _:
            return {}


def read_type(type_: Node) -> NameType | None:
    """Convert a declared type to a `NameType`; None for other types, such as operators."""
    match type_:
        case surface.RecordType(name=name):
            return NameType(name, None, type_)
        case s.SizeType() | s.IndexType():
            return NameType(SIZE)
        case s.ScalarType(element=element):
            return NameType(element)
        case s.ArrayType(element=element, shape=shape):
            return NameType(element, shape)
        case s.IndexArrayType(shape=shape):
            return NameType("int", shape, bounded=True)
        case s.OffsetsType(count=count):
            one = s.Integer(1, span=count.span)
            return NameType("int", (s.Binary("+", count, one, span=count.span),), bounded=True)
        case _:
            return None


def find_measured_array(name: str) -> str | None:
    """Return the array of `x.length`, `x.size` or `x.len`; None for other names."""
    array, _, word = name.rpartition(".")
    return array if array and word in ("length", "size", "len") else None


def collect_name_types(
    name: str, type_: Node, records: Mapping[str, surface.RecordDefinition]
) -> dict[str, NameType | None]:
    """Return the type of a declared name and, if it is a record, those of its fields, such as `Q.head`."""
    names = {name: read_type(type_)}
    if isinstance(type_, surface.RecordType) and type_.name in records:
        for part in records[type_.name].fields:
            names |= collect_name_types(f"{name}.{part.name}", part.type, records)
    return names


def group_parts(header: Iterable[s.Parameter]) -> list[tuple[s.Parameter, ...]]:
    """Group the parameters of an algorithm by the arguments of its calls: the parts of a record are one argument."""
    return [tuple(parts) for _, parts in groupby(header, key=lambda parameter: parameter.name.partition(".")[0])]


def collect_header_types(
    algorithm: s.Algorithm, records: Mapping[str, surface.RecordDefinition]
) -> dict[str, NameType | None]:
    """Return the types of the names that a header declares or binds, and of the sizes of its records."""
    names: dict[str, NameType | None] = {name: NameType(SIZE) for name in s.find_names(algorithm.parameters)}
    names |= {axis.name: NameType(SIZE) for axis in algorithm.grid}
    if algorithm.grid:
        names |= {"P": NameType(SIZE)} | {
            name: NameType(SIZE) for axis in algorithm.grid for name in s.find_names(axis)
        }
    for parameter in algorithm.parameters:
        names |= collect_name_types(parameter.name, parameter.type, records)
        type_: Node = parameter.type
        if isinstance(type_, surface.RecordType) and type_.name in records and not type_.sizes:
            # A bare `graph` has the names of its sizes.
            names |= {size.id: NameType(SIZE) for size in records[type_.name].sizes}
    return names
