"""Forms with several spellings, in this language or in others, are built as the one form that the language has.

`TreeBuilder` inherits from `SpellingBuilder`, and builds all nodes whose rules have one spelling.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain, count
from typing import Any

from archline.expr.tree import MAX_DEPTH, Source, Span, has_same_structure
from archline.language import surface
from archline.language import syntax as s
from archline.language import syntax_rules as rules
from archline.language.diagnostics import Proposal, error, make_insertion, propose_text
from archline.language.rearranging import suggest_renaming
from archline.language.tokens import Part, Token
from archline.language.words import REAL_FUNCTIONS, RESERVED, SHADOWABLE
from archline.records import record, replace

_OPERATORS = {
    "AND": "and", "OR": "or", "NOT_EQUAL": "!=", "LESS_EQUAL": "<=", "GREATER_EQUAL": ">=", "MODULO": "%", "POWER": "^",
    "FLOOR_DIVIDE": "//", "MATRIX": "@", "TIMES": "*", "DIVIDE": "/",
}  # fmt: skip
"""The operator of this language for terminals that have several spellings."""
_COMPARISONS = ("==", "!=", "<", "<=", ">", ">=")
_FOREIGN_TYPES = {
    **dict.fromkeys(["float", "double", "f32", "f64", "float32", "float64", "Float", "Double"], "real"),
    **dict.fromkeys(
        [
            "integer",
            "long",
            "short",
            "unsigned",
            "size_t",
            "usize",
            "i32",
            "i64",
            "u32",
            "u64",
            "int32",
            "int64",
            "Int",
            "Integer",
        ],
        "int",
    ),
    **dict.fromkeys(["boolean", "Bool"], "bool"),
}
"""The types of this language for those of other languages."""
_UPDATES = {
    "//=": "FLOOR_DIVIDE", "%=": "MODULO", "<<=": "SHIFT_LEFT", ">>=": "SHIFT_RIGHT", "&=": "BIT_AND", "**=": "POWER",
    "||=": "OR", "&&=": "AND",
}  # fmt: skip
"""The operators of updates that are read as `x = x op y`."""


@record
class Choice:
    """`first if condition else second`, which stands only where a statement stores or returns a value."""

    condition: Any
    first: Any
    second: Any


@record
class FilledArray:
    """`[value] * n`: an array whose elements have one value."""

    value: Any
    extents: tuple[Any, ...]
    span: Span


@record
class ArrayOfElements:
    """`[a, b]` or `[[a, b], [c, d]]`: an array by its elements."""

    rows: tuple[tuple[Any, ...], ...]
    two_dimensional: bool
    span: Span


@record
class ArrayByRange:
    """`[e for i in lo..hi]`: an array whose elements a range gives."""

    comprehension: surface.Comprehension
    span: Span


_Array = FilledArray | ArrayOfElements | ArrayByRange


class SpellingBuilder:
    """Builds nodes of forms with several spellings.

    `offset` is added to line numbers, as an item is parsed without the file around it.
    """

    def __init__(self, source: Source, offset: int) -> None:
        self._source = source
        self._offset = offset
        self._depth: dict[s.Node, int] = {}
        self._bits: dict[s.Node, tuple[Any, Any]] = {}
        """For conditions on one bit the number that the bit is, and the power of 2 of its place or None for 1."""
        self._increments: dict[s.Name, tuple[str, bool]] = {}
        """For names in subscripts `i++` and `--i` the update, and whether it is before the use."""
        self._made_names: set[str] = set()
        """Names of registers that hold the values of `a = b = e`."""
        self._counted: dict[s.Loop, Any] = {}
        """For loops that were written in three parts what these are."""
        self._bounds: dict[s.ScalarType, s.Expr] = {}
        """The bounds of numbers that are declared as `index below bound`."""
        self.depends_on_file = False
        """Whether the tree depends on text of the file outside of the item."""
        self.sized: Span | None = None
        """The place of a cost with sizes, such as `work(f, n = 2*n)`, outside of claims, where it is a mistake."""

    # Positions and limits
    def _make_span(self, at: Part | Token) -> Span:
        line, column = at.line or 1, at.column or 1
        end_line, end_column = at.end_line or line, at.end_column or column
        return Span(self._source, line + self._offset, column, end_line + self._offset, end_column)

    def _check_depth(self, node: Any, *children: Any) -> Any:
        depth = 1 + max((self._depth.get(child, 0) for child in children), default=0)
        if depth > MAX_DEPTH:
            message = f"this expression nests deeper than {MAX_DEPTH} levels"
            raise error(rules.TOO_DEEP, message, span=node.span, hint="name parts of it with `let` or `local`")
        self._depth[node] = depth
        return node

    def _check_name(self, token: Token) -> str:
        return self._check_word(str(token), self._make_span(token))

    def _read_inner_name(self, token: Token) -> str:
        """Return the name of a register, a `let` or a variable of a loop; it may be that of an intrinsic function."""
        name = str(token)
        return name if name in SHADOWABLE else self._check_name(token)

    @staticmethod
    def _check_word(name: str, span: Span) -> str:
        if name in RESERVED:
            hint = f"choose another name, such as `{name}_`"
            if name == "pi":
                hint = f"`pi` is the number 3.14159...; {hint}"
            if name in SHADOWABLE:
                hint = suggest_renaming(span.source, span.line, name, f"{name}_", hint)
            raise error(rules.RESERVED, f"`{name}` is a word of the language", span=span, hint=hint)
        return name

    def _make_block_span(self, meta: Part) -> Span:
        """Return the span of a statement with a body, or of an algorithm."""
        return self._make_header_span(meta).extend_to(self._make_span(meta))

    def _make_header_span(self, meta: Part) -> Span:
        """Return the span of the header's line of a statement with a body, for diagnostics."""
        span = self._make_span(meta)
        line = self._source.lines[span.line - 1] if span.line <= len(self._source.lines) else ""
        return Span(self._source, span.line, span.column, span.line, max(len(line.rstrip()), span.column) + 1)

    # Operators
    def _make_binary(self, op: str, left: Any, right: Any, span: Span) -> Any:
        return self._check_depth(s.Binary(op, left, right, span=span), left, right)

    def _combine_operands(self, left: Any, op: Token, right: Any, span: Span) -> Any:
        """Return `left op right`, with the operators of other languages replaced by those of this one."""
        if op.type in ("SHIFT_LEFT", "SHIFT_RIGHT"):
            power = self._make_binary("^", s.Integer(2, span=span), right, span)
            return self._make_binary("*" if op.type == "SHIFT_LEFT" else "//", left, power, span)
        if op.type == "BIT_AND":
            match right:
                case s.Integer(value=1):
                    return self._test_bit(left, None, span)
                case s.Binary(op="*", left=s.Integer(value=1), right=s.Binary(op="^") as power):
                    return self._test_bit(left, power, span)
                case s.Binary(op=comparison) if comparison in _COMPARISONS and getattr(left, "op", "") in _COMPARISONS:
                    return self._make_binary("and", left, right, span)
                case _:
                    pass
            common = s.Call("bit_and", (left, right), span=span)
            test = self._make_binary("!=", common, s.Integer(0, span=span), span)
            self._bits[test] = common, None
            return test
        if op.type == "POWER" and any(self._is_mask(operand) for operand in (left, right)):
            # Nobody raises a mask to a power, or a number to one.
            return s.Call("xor", (self._read_bit(left), self._read_bit(right)), span=span)
        if op.type == "POWER" and any(self._is_shift(operand) for operand in (left, right)):
            hint = propose_text(span, f"xor({left.span.text}, {right.span.text})")
            raise error(rules.UNEXPECTED, "`^` is the power, not the exclusive or", span=span, hint=hint)
        operator = _OPERATORS.get(op.type) or str(op)
        if operator not in ("and", "or"):
            tested = operator in _COMPARISONS and any(
                isinstance(part, s.Integer) and not part.value for part in (left, right)
            )
            left, right = (self._read_bit(operand, tested) for operand in (left, right))
        return self._make_binary(operator, left, right, span)

    @staticmethod
    def _is_shift(operand: Any) -> bool:
        return isinstance(operand, s.Binary) and "<<" in operand.span.text and "^" not in operand.span.text

    @staticmethod
    def _is_mask(operand: Any) -> bool:
        return isinstance(operand, s.Integer) and operand.span.text.startswith("0x")

    def _test_bit(self, number: Any, power: Any, span: Span) -> Any:
        """Return the condition that `number & power` is not 0, for a power of 2; None stands for the power 1."""
        bit = number if power is None else self._make_binary("//", number, power, span)
        bit = self._make_binary("%", bit, s.Integer(2, span=span), span)
        test = self._make_binary("==", bit, s.Integer(1, span=span), span)
        self._bits[test] = bit, power
        return test

    def _read_bit(self, operand: Any, tested: bool = False) -> Any:
        """Return the number `x & (1 << k)` for an operand read as a bit test; if `tested`, one that is 0 if it is."""
        bit, power = self._bits.get(operand, (operand, None))
        return bit if power is None or tested else self._make_binary("*", bit, self._copy_node(power), operand.span)

    def _copy_node(self, node: Any) -> Any:
        """Return a copy of an expression, for a second place in the program."""
        if isinstance(node, tuple):
            return tuple(map(self._copy_node, node))
        if not isinstance(node, s.Node):
            return node
        names: tuple[str, ...] = type(node).__match_args__
        parts: dict[str, Any] = {name: self._copy_node(getattr(node, name)) for name in names}
        copy = replace(node, **parts)
        self._depth[copy] = self._depth.get(node, 0)
        return copy

    def comparison_chain(self, meta: Part, children: list[Any]) -> Any:
        """Build `a <= x < b` as `a <= x and x < b`."""
        operands, operators = children[::2], children[1::2]
        span = self._make_span(meta)
        for middle, operator in zip(operands[1:-1], operators[1:], strict=True):
            if not isinstance(middle, s.Name):
                edit = make_insertion(self._make_span(operator), f"and {middle.span.text} ")
                hint = Proposal("write `a < x and x < b`", [edit], safe=False)
                message = "only a name can stand in the middle of a chain of comparisons"
                raise error(rules.UNEXPECTED, message, span=middle.span, hint=hint)
        whole = None
        for left, operator, right in zip(operands, operators, operands[1:], strict=False):
            place = Span(self._source, left.span.line, left.span.column, right.span.end_line, right.span.end_column)
            part = self._combine_operands(left, operator, right, place)
            whole = part if whole is None else self._make_binary("and", whole, part, span)
        return whole

    def character_literal(self, meta: Part, children: list[Token]) -> s.Integer:
        return s.Integer(ord(str(children[0])[1]), span=self._make_span(meta))

    def _add_one(self, expr: Any) -> Any:
        """Return an expression plus 1, simplified: `e - 1` becomes e."""
        one = s.Integer(1, span=expr.span)
        match expr:
            case s.Integer(value=value):
                return s.Integer(value + 1, span=expr.span)
            case s.Unary(op="-", operand=s.Integer(value=1)):
                return s.Integer(0, span=expr.span)
            case s.Binary(op="-", left=rest, right=s.Integer(value=1)):
                return rest
            case s.Binary(op="-", left=rest, right=s.Integer(value=value)) if value > 1:
                return self._make_binary("-", rest, s.Integer(value - 1, span=expr.span), expr.span)
            case _:
                return self._make_binary("+", expr, one, expr.span)

    def _subtract_one(self, expr: Any) -> Any:
        """Return an expression minus 1, simplified: `e + 1` becomes e."""
        match expr:
            case s.Integer(value=value) if value:
                return s.Integer(value - 1, span=expr.span)
            case s.Binary(op="+", left=rest, right=s.Integer(value=1)):
                return rest
            case _:
                return self._make_binary("-", expr, s.Integer(1, span=expr.span), expr.span)

    # Types and declarations
    def record_type(self, meta: Part, children: list[Any]) -> Any:
        name, *shapes = children
        sizes, span = tuple(chain.from_iterable(shapes)), self._make_span(meta)
        element = _FOREIGN_TYPES.get(name)
        if element is None:
            return surface.RecordType(str(name), sizes, span=span)
        return s.ArrayType(element, sizes, "rowmajor", span=span) if sizes else s.ScalarType(element, span=span)

    def record_type_of(self, meta: Part, children: list[Any]) -> surface.RecordType:
        """Build `stack of int`, a record of the library without a size, as `stack`."""
        return surface.RecordType(str(children[0]), (), span=self._make_span(meta))

    def bounded_integer(self, meta: Part, children: list[Any]) -> s.ScalarType:
        """Build `index below n` of a single number as `int`, with an `assume` where the number has its first value."""
        type_ = s.ScalarType("int", span=self._make_span(meta))
        self._bounds[type_] = children[-1]
        return type_

    def assume_bounds(self, declared: Iterable[s.Parameter | s.Local]) -> list[s.Assume]:
        """Return an `assume` for each parameter or local that is declared as `index below n`."""
        statements = []
        for name, type_ in ((item.name, item.type) for item in declared):
            if isinstance(type_, s.ScalarType) and type_ in self._bounds:
                value, zero = s.Name(name, span=type_.span), s.Integer(0, span=type_.span)
                least = s.Binary("<=", zero, value, span=type_.span)
                below = s.Binary("<", value, self._bounds[type_], span=type_.span)
                statements.append(s.Assume((least, below), span=type_.span))
        return statements

    def typed_name(self, meta: Part, children: list[Any]) -> Any:
        name, type_, value = children
        if value is not None and isinstance(type_, s.SizeType | s.IndexType):
            return s.Let(self._read_inner_name(name), value, span=self._make_span(meta))
        return self._declare_local(name, type_, value, self._make_span(meta))

    def declared_array(self, meta: Part, children: list[Any]) -> tuple[Any, ...]:
        """Return the parts of `table[n]` in `int table[n]`: name, type with unknown elements, value and span."""
        name, *shapes, value = children
        shapes = [shape for shape in shapes if isinstance(shape, tuple)]
        span = self._make_span(meta)
        return name, s.ArrayType("", tuple(chain.from_iterable(shapes)), "rowmajor", span=span), value, span

    def constant_declarations(self, meta: Part, children: list[Any]) -> list[Any]:
        """Return the statements of `const a = 1, b = 2`."""
        return children

    def constant_declaration(self, meta: Part, children: list[Any]) -> Any:
        name, type_, value = children
        return self._declare_local(name, type_, value, self._make_span(meta))

    def untyped_local(self, meta: Part, children: list[Any]) -> Any:
        name, value = children[-2:]
        return self._declare_local(name, None, value, self._make_span(meta))

    def declared_name(self, meta: Part, children: list[Any]) -> tuple[Any, ...]:
        name, type_, _, value = children
        return name, type_, value, self._make_span(meta)

    def typed_declaration(self, meta: Part, children: list[Any]) -> list[Any]:
        """Build the declarations `int lo = 0, hi = n`; those with `var` or `auto` may have no type.

        An `int` with a value is like a name without a declaration: it may be a size.
        """
        word, *declared = children
        locals_ = []
        for name, type_, value, span in declared:
            element = _FOREIGN_TYPES.get(word, str(word))
            if isinstance(type_, s.ArrayType) and not type_.element:
                type_ = replace(type_, element="" if word in ("var", "auto") else element)
            elif type_ is None and word not in ("var", "auto") and (element != "int" or value is None):
                type_ = s.ScalarType(element, span=span)
            locals_.append(self._declare_local(name, type_, value, span))
        return locals_

    def allotted_array(self, meta: Part, children: list[Any]) -> s.Local:
        """Build `r[0..n]` in `let r[0..n] be a new array` as `local r` of extent n + 1, with both ends."""
        name, *subscripts = children
        ends = (self._add_one(part.hi) if isinstance(part, s.Slice) else part for part in subscripts)
        type_ = s.ArrayType("", tuple(ends), "rowmajor", span=self._make_span(meta))
        return s.Local(self._read_inner_name(name), type_, None, None, span=self._make_span(meta))

    def new_array(self, meta: Part, children: list[Any]) -> list[Any]:
        return [child for child in children if isinstance(child, s.Local)]

    def _declare_local(self, token: Token, type_: Any, value: Any, span: Span, when: Any = None) -> Any:
        """Return the declaration of a local, or without a type an assignment, which elaboration makes a declaration."""
        name = self._read_inner_name(token)
        if isinstance(value, ArrayOfElements | ArrayByRange):
            stored = self._store_elements(s.Name(name, span=self._make_span(token)), value, span)
            return stored if type_ is None else [s.Local(name, type_, None, when, span=span), *stored[1:]]
        if type_ is None:
            if value is None:
                hint = f"write `local {name}: int = 0` or `local {name}: real = 0`"
                raise error(rules.UNEXPECTED, f"`{name}` has no type and no value", span=span, hint=hint)
            return self._store_value(s.Name(name, span=self._make_span(token)), "=", value, False, span)
        if isinstance(value, Choice):
            target = s.Name(name, span=self._make_span(token))
            return [s.Local(name, type_, None, when, span=span), self._store_value(target, "=", value, False, span)]
        value = value.value if isinstance(value, FilledArray) else self._read_bit(value)
        local = s.Local(name, type_, value, when, span=span)
        assumed = [] if value is None else self.assume_bounds([local])
        return [local, *assumed] if assumed else local

    # Values and assignments
    def value_choice(self, meta: Part, children: list[Any]) -> Choice:
        return Choice(children[1], children[0], children[2])

    def choice_by_mark(self, meta: Part, children: list[Any]) -> Choice:
        return Choice(*children)

    def filled_array(self, meta: Part, children: list[Any]) -> FilledArray:
        value, _, extent = children
        return FilledArray(value, (extent,), self._make_span(meta))

    def filled_rows(self, meta: Part, children: list[Any]) -> FilledArray:
        """Build the array of n rows `[[value] * m for i in range(n)]`."""
        row, _, _, over = children
        if not isinstance(over, s.Call) or over.function != "range" or len(over.arguments) != 1:
            raise error(rules.UNEXPECTED, "the rows of an array are counted by `range(n)`", span=over.span)
        return FilledArray(row.value, (over.arguments[0], *row.extents), self._make_span(meta))

    def array_of_elements(self, meta: Part, children: list[Any]) -> ArrayOfElements:
        return ArrayOfElements((tuple(children),), False, self._make_span(meta))

    def array_of_rows(self, meta: Part, children: list[Any]) -> ArrayOfElements:
        lengths = {len(row) for row in children}
        span = self._make_span(meta)
        if len(lengths) > 1:
            message = f"rows of {' and '.join(map(str, sorted(lengths)))} elements"
            raise error(rules.UNEXPECTED, message, span=span, hint="the rows of an array have equal lengths")
        return ArrayOfElements(tuple(children), True, span)

    def row_of_elements(self, meta: Part, children: list[Any]) -> tuple[Any, ...]:
        return tuple(children)

    def array_by_range(self, meta: Part, children: list[Any]) -> ArrayByRange:
        (comprehension,) = children
        span = self._make_span(meta)
        if not isinstance(comprehension, surface.Comprehension):
            raise error(rules.UNEXPECTED, "an array by two ranges", span=span, hint="write two loops that set it")
        if comprehension.condition is not None or comprehension.step is not None:
            hint = "write a loop that counts the elements it keeps"
            raise error(rules.UNEXPECTED, "the range of an array has no step and no condition", span=span, hint=hint)
        return ArrayByRange(comprehension, span)

    def _store_elements(self, target: Any, value: ArrayOfElements | ArrayByRange, span: Span) -> list[Any]:
        """Return the statements that set an array or a row element by element; a name is declared first."""
        declared, stores, place = list[Any](), list[Any](), getattr(target, "subscripts", None)
        array = target.id if place is None else target.array
        slices = 0 if place is None else sum(isinstance(part, s.Slice) for part in place)
        dimensions = 2 if isinstance(value, ArrayOfElements) and value.two_dimensional else 1
        if place is not None and slices != dimensions:
            raise error(rules.UNEXPECTED, "an array cannot be stored in an element", span=value.span)

        def locate_target(*indices: Any) -> Any:
            if place is None:
                return s.Element(array, indices, span=target.span)
            rest, parts = iter(indices), list[Any]()
            for part in self._copy_node(place):
                if isinstance(part, s.Slice):
                    index = next(rest)
                    part = index if part.lo is None else self._make_binary("+", part.lo, index, index.span)
                parts.append(part)
            return s.Element(array, tuple(parts), span=target.span)

        def make_number(position: int) -> s.Integer:
            return s.Integer(position, span=span)

        parts = value.comprehension if isinstance(value, ArrayByRange) else value.rows
        read = array in {element.array for element in s.find_nodes(parts, s.Element)} | s.find_names(parts)
        if isinstance(value, ArrayByRange):
            if read:
                hint = "copy it first, into an array with another name"
                raise error(rules.UNEXPECTED, f"`{array}` is set from itself", span=span, hint=hint)
            items = value.comprehension
            extent = items.hi
            if not (isinstance(items.lo, s.Integer) and items.lo.value == 0):
                extent = self._make_binary("-", items.hi, self._copy_node(items.lo), span)
            index: Any = s.Name(items.variable, span=span)
            if extent is not items.hi:
                index = self._make_binary("-", index, self._copy_node(items.lo), span)
            store = self._store_value(locate_target(index), "=", items.value, False, span)
            body = tuple(store) if isinstance(store, list) else (store,)
            loop = s.Loop(items.variable, items.lo, self._copy_node(items.hi), None, False, True, body, span=span)
            extents, stores = [extent], [loop]
        else:
            rows = value.rows
            numbers: list[Any] = [make_number(len(rows)), make_number(len(rows[0]))]
            extents = numbers if value.two_dimensional else numbers[1:]
            stores = [
                s.Assign(
                    locate_target(*([make_number(i), make_number(j)] if value.two_dimensional else [make_number(j)])),
                    "=",
                    self._read_bit(element),
                    False,
                    span=span,
                )
                for i, row in enumerate(rows)
                for j, element in enumerate(row)
            ]
        if read:
            # All elements are read before any is set.
            targets, values = zip(*((store.target, store.value) for store in stores), strict=True)
            stores = [surface.Multiple(targets, values, span=span)]
        if place is None:
            declared.append(
                s.Local(array, s.ArrayType("", tuple(extents), "rowmajor", span=span), None, None, span=span)
            )
        return [*declared, *stores]

    def update(self, meta: Part, children: list[Any]) -> Any:
        """Build `x //= y` as `x = x//y`."""
        target, op, value = children
        span = self._make_span(meta)
        if isinstance(value, Choice | _Array):
            raise error(rules.UNEXPECTED, f"`{op}` takes a single value", span=span, hint="write an `if`")
        if op == "^=":
            place, power = target.span.text, value.span.text
            words = "write `{}`, or `" + f"{place} = {place}^({power})` for the power"
            hint = propose_text(span, f"{place} = xor({place}, {power})", words, safe=False)
            raise error(rules.UNEXPECTED, "`^=` may be an exclusive or or a power", span=span, hint=hint)
        if op in ("|=", "&=") and self._may_be_condition(value):
            value = self._make_binary("or" if op == "|=" else "and", self._copy_node(target), value, span)
            return s.Assign(target, "=", value, False, span=span)
        if op == "|=":
            value = s.Call("bit_or", (self._copy_node(target), self._read_bit(value)), span=span)
            return s.Assign(target, "=", value, False, span=span)
        value = self._combine_operands(self._copy_node(target), Token(_UPDATES[op], str(op)[:-1]), value, span)
        return s.Assign(target, "=", self._read_bit(value), False, span=span)

    @staticmethod
    def _may_be_condition(value: Any) -> bool:
        """Whether a value may be a condition, by its form."""
        if isinstance(value, s.Binary | s.Unary):
            return value.op in ("and", "or", "not", *_COMPARISONS)
        return isinstance(value, s.Name | s.Element | s.Call)

    def _store_value(self, target: Any, op: str, value: Any, atomic: bool, span: Span) -> Any:
        if isinstance(value, ArrayOfElements | ArrayByRange) and op == "=":
            return self._store_elements(target, value, span)
        if isinstance(value, FilledArray):
            if isinstance(target, s.Name) and op == "=":
                type_ = s.ArrayType("", value.extents, "rowmajor", span=span)
                return s.Local(target.id, type_, value.value, None, span=span)
            hint = "a list is an array: write `local x: int[n] = 0`"
            raise error(rules.UNEXPECTED, "a list can only be given a name", span=value.span, hint=hint)
        if isinstance(value, _Array):
            raise error(rules.UNEXPECTED, f"`{op}` takes a single value", span=value.span, hint="write a loop")
        if atomic and op == "=" and (update := read_update(target, value)) is not None:
            op, value = update
        return self._branch_choice(
            value, span, lambda chosen: s.Assign(self._copy_node(target), op, chosen, atomic, span=span)
        )

    def _branch_choice(self, value: Any, span: Span, build: Callable[[Any], Any]) -> Any:
        """Return the statement that `build` makes of a value; for `a if c else b` an `if` with one in each branch."""
        if not isinstance(value, Choice):
            return build(self._read_bit(value))
        branches = [s.Branch(value.condition, (self._branch_choice(value.first, span, build),), span=span)]
        last = self._branch_choice(value.second, span, build)
        branches += last.branches if isinstance(last, s.If) else [s.Branch(None, (last,), span=span)]
        return s.If(tuple(branches), span=span)

    def swap_values(self, meta: Part, children: list[Any]) -> surface.Multiple:
        first, second = (child for child in children if not isinstance(child, Token))
        values = self._copy_node(second), self._copy_node(first)
        return surface.Multiple((first, second), values, span=self._make_span(meta))

    def increment_after_use(self, meta: Part, children: list[Token]) -> s.Name:
        name, op = children if children[0].type == "NAME" else children[::-1]
        node = s.Name(str(name), span=self._make_span(meta))
        self._increments[node] = ("+=" if op.type.startswith("INCREMENT") else "-=", op.type.endswith("BEFORE"))
        return node

    increment_before_use = increment_after_use

    def _order_increments(self, parts: tuple[Any, ...], span: Span) -> tuple[list[Any], list[Any]]:
        """Return the updates before and after a statement for `i++` and `--i` in subscripts of its parts."""
        before, after = list[Any](), list[Any]()
        nodes = list(s.find_nodes(parts, s.Name)) if self._increments else []
        for node in nodes:
            if node not in self._increments:
                continue
            op, first = self._increments.pop(node)
            if sum(name.id == node.id for name in nodes) > 1:
                hint = f"write `{node.id} {op} 1` on a line of its own"
                message = f"`{node.id}` is used and changed in one statement"
                raise error(rules.UNEXPECTED, message, span=node.span, hint=hint)
            name = s.Name(node.id, span=node.span)
            update = s.Assign(name, op, s.Integer(1, span=node.span), False, span=span)
            (before if first else after).append(update)
        return before, after

    def _refuse_increments(self) -> None:
        """Report an `i++` in a subscript that is not part of an assignment. Raises ArchlineError."""
        for node, (op, _) in self._increments.items():
            hint = f"write `{node.id} {op} 1` on a line of its own"
            message = "a counter changes in the subscripts of an assignment alone"
            raise error(rules.UNEXPECTED, message, span=node.span, hint=hint)

    def unit_increment(self, meta: Part, children: list[Any]) -> s.Assign:
        target, op = children
        span = self._make_span(meta)
        return s.Assign(target, "+=" if op.type == "INCREMENT" else "-=", s.Integer(1, span=span), False, span=span)

    def increment_before(self, meta: Part, children: list[Any]) -> s.Assign:
        op, target = children
        span = self._make_span(meta)
        sign = "+=" if op.type == "INCREMENT_BEFORE" else "-="
        return s.Assign(target, sign, s.Integer(1, span=span), False, span=span)

    def multiple_assignment(self, meta: Part, children: list[Any]) -> surface.Multiple:
        position = next(number for number, child in enumerate(children) if isinstance(child, Token))
        return self._assign_several(meta, tuple(children[:position]), tuple(children[position + 1 :]))

    def names_of_type(self, meta: Part, children: list[Any]) -> list[Any]:
        """Return the declarations of the names in `r, p: real[n]`."""
        *names, type_ = children
        for name in names:
            if not isinstance(name, s.Name):
                raise error(rules.UNEXPECTED, f"`{name.span.text}` is no name to declare", span=name.span)
        return [self._declare_local(Token("NAME", name.id), type_, None, name.span) for name in names]

    def assigned_chain(self, meta: Part, children: list[Any]) -> list[Any]:
        """Build `a = b = e` as a register with the value, which is then stored from left to right."""
        *targets, value = (child for child in children if not isinstance(child, Token))
        span = self._make_span(meta)
        if isinstance(value, _Array):
            hint = "write an assignment for each"
            raise error(rules.UNEXPECTED, "one array cannot have several names", span=value.span, hint=hint)
        first: list[Any] = []
        if not isinstance(value, s.Integer | s.Real | s.Name):
            register = s.Name(self._find_free_name("value"), span=span)
            self._made_names.add(register.id)
            first, value = [self._store_value(register, "=", value, False, span)], register
        stores = [s.Assign(target, "=", self._copy_node(value), False, span=span) for target in targets]
        return [*first, *stores]

    def _find_free_name(self, *names: str) -> str:
        """Return the first of `names`, then of `name1`, `name2`, ..., that is not a word of the source."""
        self.depends_on_file = True
        words = {*re.findall(r"\w+", self._source.text), *self._made_names}
        return next(name for name in chain(names, map(f"{names[0]}{{}}".format, count(1))) if name not in words)

    def values_of_tuple(self, meta: Part, children: list[Any]) -> tuple[Any, ...]:
        return tuple(children)

    def assigned_tuple(self, meta: Part, children: list[Any]) -> surface.Multiple:
        *targets, _, values = children
        return self._assign_several(meta, tuple(targets), values)

    def let_tuple(self, meta: Part, children: list[Any]) -> surface.Multiple:
        """Build `let (a, b) = (c, d)` as an assignment of several values."""
        *names, values = (child for child in children if child is not None)
        targets = tuple(s.Name(self._read_inner_name(name), span=self._make_span(name)) for name in names)
        return self._assign_several(meta, targets, values)

    def _assign_several(self, meta: Part, targets: tuple[Any, ...], values: tuple[Any, ...]) -> surface.Multiple:
        span = self._make_span(meta)
        if len(targets) != len(values):
            message = f"{len(targets)} places on the left, {len(values)} values on the right"
            raise error(rules.UNEXPECTED, message, span=span)
        return surface.Multiple(targets, values, span=span)


def read_update(target: Any, value: Any) -> tuple[str, Any] | None:
    """Return the operator and the operand of `x = x + e` or `x = max(x, e)` as an update; None for other values."""
    match value:
        case s.Binary(op="+" | "*" as op, left=left, right=right):
            pass
        case s.Call(function="min" | "max" as op, arguments=(left, right)):
            pass
        case _:
            return None
    if has_same_structure(target, left):
        return f"{op}=", right
    return (f"{op}=", left) if has_same_structure(target, right) else None


def infer_element_types(body: tuple[Any, ...], parameters: tuple[s.Parameter, ...]) -> tuple[Any, ...]:
    """Return a body in which arrays made by `x = [v] * n` have an element type.

    It is `real` if any element is set to one, and `bool` if all are set to truth values. Where x is a parameter or has
    been made before, the statement only fills it.
    """
    locals_: list[Any] = list(s.find_nodes(body, s.Local))
    unknown = [local for local in locals_ if getattr(local.type, "element", None) == ""]
    if not unknown:
        return body
    given = {parameter.name for parameter in parameters}
    reals = {item.name for item in (*parameters, *locals_) if getattr(item.type, "element", "") == "real"}
    stored = [(local.name, local.value) for local in locals_]
    for node in s.find_nodes(body, s.Assign):
        stored.append((getattr(node.target, "array", getattr(node.target, "id", "")), node.value))
    while found := {name for name, value in stored if name not in reals and _has_reals(value, reals)}:
        reals |= found
    changed: dict[s.Node, Any] = {}
    for local in _iterate_redeclared(body, given):
        target = s.Name(local.name, span=local.span)
        fill = [] if local.value is None else [s.Assign(target, "=", local.value, False, span=local.span)]
        changed[local] = fill
    for local in unknown:
        if local not in changed:
            values = [value for name, value in stored if name == local.name and value is not None]
            other = "bool" if values and all(map(_is_truth_value, values)) else "int"
            type_ = replace(local.type, element="real" if local.name in reals else other)
            changed[local] = replace(local, type=type_)
    return tuple(replace_statements(body, changed))


def _is_truth_value(value: Any) -> bool:
    match value:
        case s.Integer(span=span) | s.Name(span=span):
            return span.text.lower() in ("true", "false")
        case s.Binary(op=op) | s.Unary(op=op):
            return op in ("and", "or", "not", *_COMPARISONS)
        case _:
            return False


def _iterate_redeclared(body: tuple[Any, ...], visible: set[str]) -> Iterator[s.Local]:
    """Yield declarations of arrays without an element type whose names have been declared before."""
    visible = set(visible)
    for statement in body:
        match statement:
            case s.Local(name=name, type=type_):
                if name in visible and getattr(type_, "element", None) == "":
                    yield statement
                visible.add(name)
            case s.If(branches=branches):
                for branch in branches:
                    yield from _iterate_redeclared(branch.body, visible)
            case _:
                # Loops hold blocks, and simple statements none.
                yield from _iterate_redeclared(getattr(statement, "body", ()), visible)


def _has_reals(value: Any, reals: set[str]) -> bool:
    arrays = {element.array for element in s.find_nodes(value, s.Element)}
    functions = {call.function for call in s.find_nodes(value, s.Call)}
    divided = any(node.op == "/" for node in s.find_nodes(value, s.Binary))
    return (
        divided
        or bool((s.find_names(value) | arrays) & reals or functions & REAL_FUNCTIONS)
        or any(s.find_nodes(value, s.Real))
    )


def rename_shadowed(body: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return a body in which registers and variables with the name of an intrinsic function, or pi, are renamed.

    `min` becomes `min_`, also where it is read; calls of the function stay.
    """
    shadowed = {name for name in s.find_assigned_names(body) if name in SHADOWABLE}
    shadowed |= {getattr(node, "variable", "") for node in s.iterate_nodes(body)} & SHADOWABLE
    if not shadowed:
        return body
    new = {name: f"{name}_" for name in shadowed}

    def rename_parts(value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(map(rename_parts, value))
        if not isinstance(value, s.Node):
            return value
        fields: tuple[str, ...] = type(value).__match_args__
        parts: dict[str, Any] = {field: rename_parts(getattr(value, field)) for field in fields}
        for field in ("id", "array", "variable") + (("name",) if isinstance(value, s.Local | s.Let) else ()):
            if field in parts:
                parts[field] = new.get(parts[field], parts[field])
        return replace(value, **parts)

    return tuple(map(rename_parts, body))


def replace_statements(value: Any, changed: Mapping[s.Node, Any]) -> Any:
    """Replace the statements that are keys of `changed`, each by a statement or a list of statements."""
    if isinstance(value, tuple):
        parts = (replace_statements(item, changed) for item in value)
        return tuple(chain.from_iterable(part if isinstance(part, list) else [part] for part in parts))
    if value in changed:
        value = changed[value]
        if isinstance(value, list):
            return [replace_statements(item, changed) for item in value]
    if isinstance(value, s.If):
        return replace(value, branches=tuple(replace_statements(branch, changed) for branch in value.branches))
    return replace(value, body=replace_statements(value.body, changed)) if hasattr(value, "body") else value
