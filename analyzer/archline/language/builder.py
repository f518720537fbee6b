"""Build the syntax tree from lark's, with a method for each grammar rule whose node is not just its parts in order."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from itertools import chain, count
from typing import Any

from lark import Token, v_args
from lark.tree import Meta
from lark.visitors import Transformer_NonRecursive

from archline.expr.text import format_expression
from archline.expr.tree import MAX_DEPTH, Source, Span, has_same_structure
from archline.language import surface
from archline.language import syntax as s
from archline.language import syntax_rules as rules
from archline.language.diagnostics import Edit, Proposal, error, propose
from archline.language.rearranging import suggest_renaming
from archline.records import record, replace
from archline.resources import find_resource

MAX_DIGITS = 1000
INTRINSICS = {
    "sqrt": 1, "rsqrt": 1, "exp": 1, "log": 1, "log2": 1, "sin": 1, "cos": 1, "abs": 1, "floor": 1, "ceil": 1,
    "real_of": 1, "min": None, "max": None,
}  # fmt: skip
"""The intrinsic functions and the number of arguments of each; None: two or more."""

CONTEXTUAL_WORDS = frozenset(
    {
        "all", "any", "below", "bool", "char", "const", "counts", "def", "div", "do", "each", "function", "grid",
        "in", "index", "inout", "iterations", "longest", "mod", "most", "of", "offsets", "operator", "out", "power",
        "procedure", "reduction", "size", "square", "step", "then", "times", "type", "until", "within",
    }
)  # fmt: skip
"""Words of the language that can be names too: they are its words only at places where no name can stand."""


def _collect_reserved() -> frozenset[str]:
    """Return what cannot be a name: literals of the grammar and choices in its patterns, intrinsics, and pi."""
    text = re.sub(
        r"^//.*", "", (find_resource("grammar") / "archline.lark").read_text(encoding="utf-8"), flags=re.MULTILINE
    )
    choices = "|".join(re.findall(r"\(([a-z_|]+)\)\\b", text)).split("|")
    return frozenset([*choices, *re.findall(r'"([a-z_]+)"', text), *INTRINSICS, "pi"]) - CONTEXTUAL_WORDS


RESERVED = _collect_reserved()
_OPERATORS = {
    "AND": "and", "OR": "or", "NOT_EQUAL": "!=", "LESS_EQUAL": "<=", "GREATER_EQUAL": ">=", "MODULO": "%", "POWER": "^",
    "FLOOR_DIVIDE": "//",
}  # fmt: skip
"""The operator of this language for terminals that have several spellings."""
_COMPARISONS = ("==", "!=", "<", "<=", ">", ">=")
_FOREIGN_TYPES = {"float": "real", "double": "real", "integer": "int", "boolean": "bool"}
"""The types of this language for those of other languages."""
_NAMESPACES = ("math", "Math", "np", "numpy")
"""Names before the functions of other languages, as in `math.sqrt(x)`."""
_UPDATES = {"//=": "FLOOR_DIVIDE", "%=": "MODULO", "<<=": "SHIFT_LEFT", ">>=": "SHIFT_RIGHT", "&=": "BIT_AND"}
_UPDATES |= {"**=": "POWER"}
"""The operators of updates that are read as `x = x op y`."""


@record
class _Choice:
    """`first if condition else second`, which stands only where a statement stores or returns a value."""

    condition: Any
    first: Any
    second: Any


@record
class _Filled:
    """`[value] * n`: an array of these extents whose elements have one value."""

    value: Any
    extents: tuple[Any, ...]
    span: Span


@v_args(meta=True)
class TreeBuilder(Transformer_NonRecursive[Token, Any]):
    """Builds nodes bottom-up. `offset` is added to line numbers, as an item is parsed without the file around it."""

    def __init__(self, source: Source, offset: int) -> None:
        super().__init__()
        self._source = source
        self._offset = offset
        self._depth: dict[s.Node, int] = {}
        self._bits: dict[s.Node, tuple[Any, Any]] = {}
        """For conditions on one bit the number that the bit is, and the power of 2 of its place or None for 1."""
        self.sized: Span | None = None
        """The place of a cost with sizes, such as `work(f, n = 2*n)`, outside of claims, where it is a mistake."""

    # Positions and limits
    def _make_span(self, at: Meta | Token) -> Span:
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

    @staticmethod
    def _check_word(name: str, span: Span) -> str:
        if name in RESERVED:
            hint = f"choose another name, such as `{name}_`"
            if name in INTRINSICS or name == "pi":
                hint = suggest_renaming(span.source, span.line, name, f"{name}_", hint)
            raise error(rules.RESERVED, f"`{name}` is a word of the language", span=span, hint=hint)
        return name

    # Expressions
    def integer(self, meta: Meta, children: list[Token]) -> s.Integer:
        text = str(children[0])
        if len(text) > MAX_DIGITS:
            raise error(rules.NUMBER_TOO_LONG, f"a number of {len(text)} digits", span=self._make_span(meta))
        return s.Integer(int(text), span=self._make_span(meta))

    def group(self, meta: Meta, children: list[Any]) -> Any:
        return children[0]

    target = start = expression = fact_list = group

    def binary(self, meta: Meta, children: list[Any]) -> Any:
        left, op, right = children
        return self._combine(left, op, right, self._make_span(meta))

    def _combine(self, left: Any, op: Token, right: Any, span: Span) -> Any:
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
            hint = "a test of one bit is written `x//2^k % 2 == 1`"
            raise error(rules.UNEXPECTED, "`&` is only read in `x & (1 << k)`", span=span, hint=hint)
        if op.type == "POWER" and any(self._is_shift(operand) for operand in (left, right)):
            hint = self._suggest_reversed_bit(left, right, span)
            raise error(rules.UNEXPECTED, "`^` is the power, not the exclusive or", span=span, hint=hint)
        operator = _OPERATORS.get(op.type) or str(op)
        if operator not in ("and", "or"):
            tested = operator in _COMPARISONS and any(
                isinstance(part, s.Integer) and not part.value for part in (left, right)
            )
            left, right = (self._read_bit(operand, tested) for operand in (left, right))
        return self._make_binary(operator, left, right, span)

    def _test_bit(self, number: Any, power: Any, span: Span) -> Any:
        """Return the condition that `number & power` is not 0, for a power of 2; None stands for the power 1."""
        bit = number if power is None else self._make_binary("//", number, power, span)
        bit = self._make_binary("%", bit, s.Integer(2, span=span), span)
        test = self._make_binary("==", bit, s.Integer(1, span=span), span)
        self._bits[test] = bit, power
        return test

    def _read_bit(self, operand: Any, tested: bool = False) -> Any:
        """Return the number that `x & (1 << k)` is where no condition stands; only whether it is 0 may be `tested`."""
        bit, power = self._bits.get(operand, (operand, None))
        return bit if power is None or tested else self._make_binary("*", bit, self._duplicate(power), operand.span)

    @staticmethod
    def _suggest_reversed_bit(left: Any, right: Any, span: Span) -> str:
        shift = re.fullmatch(r"\(?1 *<< *(\w+|\(.+\))\)?", f"{right.span.text}")
        number, k = left.span.text, shift[1] if shift else "k"
        text = f"{number} + 2^{k} - 2^({k} + 1)*({number}//2^{k} % 2)"
        if shift and re.fullmatch(r"\w+(\[[^\[\]]*\])?", number):
            return propose(span, text)
        return "with the bit k of x reversed, x is `x + 2^k - 2^(k + 1)*(x//2^k % 2)`"

    def _duplicate(self, node: Any) -> Any:
        """Return a copy of an expression, for a second place in the program."""
        if isinstance(node, tuple):
            return tuple(map(self._duplicate, node))
        if not isinstance(node, s.Node):
            return node
        names: tuple[str, ...] = type(node).__match_args__
        parts: dict[str, Any] = {name: self._duplicate(getattr(node, name)) for name in names}
        copy = replace(node, **parts)
        self._depth[copy] = self._depth.get(node, 0)
        return copy

    def _make_binary(self, op: str, left: Any, right: Any, span: Span) -> Any:
        return self._check_depth(s.Binary(op, left, right, span=span), left, right)

    @staticmethod
    def _is_shift(operand: Any) -> bool:
        return isinstance(operand, s.Binary) and "<<" in operand.span.text and "^" not in operand.span.text

    def chain(self, meta: Meta, children: list[Any]) -> Any:
        """Build `a <= x < b` as `a <= x and x < b`."""
        operands, operators = children[::2], children[1::2]
        span = self._make_span(meta)
        for middle in operands[1:-1]:
            if not isinstance(middle, s.Name):
                hint = "write `a < x and x < b`"
                message = "only a name can stand in the middle of a chain of comparisons"
                raise error(rules.UNEXPECTED, message, span=middle.span, hint=hint)
        whole = None
        for left, operator, right in zip(operands, operators, operands[1:], strict=False):
            part = self._combine(
                left,
                operator,
                right,
                Span(self._source, left.span.line, left.span.column, right.span.end_line, right.span.end_column),
            )
            whole = part if whole is None else self._make_binary("and", whole, part, span)
        return whole

    def unary(self, meta: Meta, children: list[Any]) -> s.Unary:
        op, operand = children
        op = "not" if op.type == "NOT" else "-"
        operand = operand if op == "not" else self._read_bit(operand)
        return self._check_depth(s.Unary(op, operand, span=self._make_span(meta)), operand)  # type: ignore[no-any-return]

    def character(self, meta: Meta, children: list[Token]) -> s.Integer:
        return s.Integer(ord(str(children[0])[1]), span=self._make_span(meta))

    def field_of(self, meta: Meta, children: list[Any]) -> s.Name:
        owner, field = children
        return s.Name(f"{owner.id if isinstance(owner, s.Name) else owner}.{field}", span=self._make_span(meta))

    def comprehension(self, meta: Meta, children: list[Any]) -> surface.Comprehension:
        value, variable, _, lo, direction, hi, step, condition = children
        lo, hi = self._make_range(lo, direction, hi)
        if direction.type == "DOWNTO":
            hint = "the order of a sum does not matter: write `0..n`"
            raise error(rules.UNEXPECTED, "a sum has no `downto`", span=self._make_span(direction), hint=hint)
        name = self._check_name(variable)
        node = surface.Comprehension(value, name, lo, hi, step, condition, span=self._make_span(meta))
        return self._check_depth(node, value, lo, hi, *filter(None, (step, condition)))  # type: ignore[no-any-return]

    def comprehension_over(self, meta: Meta, children: list[Any]) -> surface.Comprehension:
        value, variable, _, over, condition = children
        match over:
            case s.Call(function="range", arguments=(hi,)):
                lo, step = s.Integer(0, span=hi.span), None
            case s.Call(function="range", arguments=(lo, hi)):
                step = None
            case s.Call(function="range", arguments=(lo, hi, step)) if not isinstance(step, s.Unary):
                pass
            case _:
                hint = "write `for i in 0..n`, and `x[i]` for an element"
                raise error(rules.UNEXPECTED, "a sum goes over a range", span=over.span, hint=hint)
        node = surface.Comprehension(
            value, self._check_name(variable), lo, hi, step, condition, span=self._make_span(meta)
        )
        return self._check_depth(node, value, lo, hi, *filter(None, (step, condition)))  # type: ignore[no-any-return]

    def call(self, meta: Meta, children: list[Any]) -> s.Call:
        name: Any
        name, parts = children
        as_method = isinstance(name, s.Name)
        if as_method:
            owner, _, method = name.id.rpartition(".")
            as_method = owner not in _NAMESPACES
            parts = (s.Name(owner, span=name.span), *(parts or ())) if as_method else parts
            name = method
        sizes = tuple((part[0], part[1]) for part in parts or () if isinstance(part, tuple))
        arguments = tuple(part for part in parts or () if not isinstance(part, tuple))
        node = s.Call(str(name), arguments, sizes, as_method, span=self._make_span(meta))
        self.sized = node.span if sizes else self.sized
        return self._check_depth(node, *arguments, *(value for _, value in sizes))  # type: ignore[no-any-return]

    def arguments(self, meta: Meta, children: list[Any]) -> tuple[Any, ...]:
        return tuple(children)

    exprs = names = facts = parameters = axes = amounts = settings = parts = arguments

    def statements(self, meta: Meta, children: list[Any]) -> list[Any]:
        """Return the statements of one line, or those that one of another language stands for."""
        return children

    def block(self, meta: Meta, children: list[Any]) -> tuple[Any, ...]:
        return tuple(_flatten(children))

    def element(self, meta: Meta, children: list[Any]) -> s.Element:
        array, *subscripts = children
        match array:
            case s.Element(array=name, subscripts=first):
                # `A[i][j]` is `A[i, j]`.
                array, subscripts = name, [*first, *subscripts]
            case s.Name(id=name):
                array = name
            case _:
                pass
        node = s.Element(str(array), tuple(subscripts), span=self._make_span(meta))
        parts = [part for subscript in subscripts for part in _list_parts(subscript)]
        return self._check_depth(node, *parts)  # type: ignore[no-any-return]

    def slice_to(self, meta: Meta, children: list[Any]) -> s.Slice:
        lo, kind, hi, step = children
        return s.Slice(lo, hi, step, kind.type == "BY_LENGTH", span=self._make_span(meta))

    slice_by = slice_to

    def slice_all(self, meta: Meta, children: list[Any]) -> s.Slice:
        return s.Slice(None, None, children[1], False, span=self._make_span(meta))

    def slice_between(self, meta: Meta, children: list[Any]) -> s.Slice:
        lo, _, hi = children
        return s.Slice(lo, hi, None, False, span=self._make_span(meta))

    def slice_before(self, meta: Meta, children: list[Any]) -> s.Slice:
        end = children[1]
        return s.Slice(s.Integer(0, span=end.span), end, None, False, span=self._make_span(meta))

    # Types and parameters

    def operator_type(self, meta: Meta, _: list[Any]) -> s.OperatorType:
        return s.OperatorType(span=self._make_span(meta))

    def array_type(self, meta: Meta, children: list[Any]) -> s.ArrayType:
        element, *shapes, layout = children
        shape = tuple(extent for part in shapes for extent in part)
        return s.ArrayType(str(element), shape, str(layout or "rowmajor"), span=self._make_span(meta))

    def record_type(self, meta: Meta, children: list[Any]) -> Any:
        name, *shapes = children
        sizes, span = tuple(chain.from_iterable(shapes)), self._make_span(meta)
        element = _FOREIGN_TYPES.get(name)
        if element is None:
            return surface.RecordType(str(name), sizes, span=span)
        return s.ArrayType(element, sizes, "rowmajor", span=span) if sizes else s.ScalarType(element, span=span)

    def record_type_of(self, meta: Meta, children: list[Any]) -> surface.RecordType:
        """Build `stack of int`, a record of the library without a size, as `stack`."""
        return surface.RecordType(str(children[0]), (), span=self._make_span(meta))

    def bounded_integer(self, meta: Meta, _: list[Any]) -> s.ScalarType:
        """Build `index below n` of a single number as `int`: the range of data is left to runs."""
        return s.ScalarType("int", span=self._make_span(meta))

    def parameter(self, meta: Meta, children: list[Any]) -> s.Parameter:
        name, mode, local, type_ = children
        span = self._make_span(meta)
        return s.Parameter(self._check_name(name), str(mode or "in"), local is not None, type_, span=span)

    # Statements
    def local(self, meta: Meta, children: list[Any]) -> Any:
        _, name, type_, value, when = children
        return self._declare(name, type_, value, self._make_span(meta), when)

    def typed_name(self, meta: Meta, children: list[Any]) -> Any:
        name, type_, value = children
        return self._declare(name, type_, value, self._make_span(meta))

    def untyped_local(self, meta: Meta, children: list[Any]) -> Any:
        name, value = children[-2:]
        return self._declare(name, None, value, self._make_span(meta))

    def declared(self, meta: Meta, children: list[Any]) -> tuple[Any, ...]:
        name, type_, _, value = children
        return name, type_, value, self._make_span(meta)

    def declare(self, meta: Meta, children: list[Any]) -> list[Any]:
        """Build `int lo = 0, hi = n`, or with `var` or `auto` a declaration whose type may be missing."""
        word, *declared = children
        found = []
        for name, type_, value, span in declared:
            if type_ is None and word not in ("var", "auto"):
                type_ = s.ScalarType(_FOREIGN_TYPES.get(word, str(word)), span=span)
            found.append(self._declare(name, type_, value, span))
        return found

    def allotted(self, meta: Meta, children: list[Any]) -> s.Local:
        """Build `r[0..n]` of `let r[0..n] be a new array`, with both ends, as `local r: real[n + 1]`."""
        name, *subscripts = children
        ends = (self._add_one(part.hi) if isinstance(part, s.Slice) else part for part in subscripts)
        type_ = s.ArrayType("", tuple(ends), "rowmajor", span=self._make_span(meta))
        return s.Local(self._check_name(name), type_, None, None, span=self._make_span(meta))

    def new_array(self, meta: Meta, children: list[Any]) -> list[Any]:
        return [child for child in children if isinstance(child, s.Local)]

    def _declare(self, token: Token, type_: Any, value: Any, span: Span, when: Any = None) -> Any:
        """Return the definition of a local, without a type the assignment to a name that may be undeclared."""
        name = self._check_name(token)
        if type_ is None:
            if value is None:
                hint = f"write `local {name}: int = 0` or `local {name}: real = 0`"
                raise error(rules.UNEXPECTED, f"`{name}` has no type and no value", span=span, hint=hint)
            return self._store(s.Name(name, span=self._make_span(token)), "=", value, False, span)
        if isinstance(value, _Choice):
            target = s.Name(name, span=self._make_span(token))
            return [s.Local(name, type_, None, when, span=span), self._store(target, "=", value, False, span)]
        value = value.value if isinstance(value, _Filled) else self._read_bit(value)
        return s.Local(name, type_, value, when, span=span)

    def choice(self, meta: Meta, children: list[Any]) -> _Choice:
        return _Choice(children[1], children[0], children[2])

    def choice_by_mark(self, meta: Meta, children: list[Any]) -> _Choice:
        return _Choice(*children)

    def filled(self, meta: Meta, children: list[Any]) -> _Filled:
        value, _, extent = children
        return _Filled(value, (extent,), self._make_span(meta))

    def filled_rows(self, meta: Meta, children: list[Any]) -> _Filled:
        """Build `[[value] * m for i in range(n)]`."""
        row, _, _, over = children
        if not isinstance(over, s.Call) or over.function != "range" or len(over.arguments) != 1:
            raise error(rules.UNEXPECTED, "the rows of an array are counted by `range(n)`", span=over.span)
        return _Filled(row.value, (over.arguments[0], *row.extents), self._make_span(meta))

    def assign(self, meta: Meta, children: list[Any]) -> Any:
        atomic, target, op, value = children
        op = "=" if op.type == "ASSIGN_ARROW" else str(op)
        return self._store(target, op, value, atomic is not None, self._make_span(meta))

    def update(self, meta: Meta, children: list[Any]) -> Any:
        """Build `x //= y` as `x = x//y`."""
        target, op, value = children
        span = self._make_span(meta)
        if isinstance(value, _Choice | _Filled):
            raise error(rules.UNEXPECTED, f"`{op}` takes a single value", span=span, hint="write an `if`")
        if op == "&=" and isinstance(value, s.Binary) and value.op == "-" and has_same_structure(value.left, target):
            place, indent = target.span.text, " " * (span.column - 1)
            lines = ("bit = 1", f"while {place}//bit % 2 == 0:", "    bit *= 2", f"{place} -= bit")
            words = "take the lowest bit with a loop: `bit = 1`, ..."
            hint = propose(span, f"\n{indent}".join(lines), words, safe=False)
            raise error(rules.UNEXPECTED, "`&` is only read in `x & (1 << k)`", span=span, hint=hint)
        value = self._combine(self._duplicate(target), Token(_UPDATES[op], str(op)[:-1]), value, span)
        return s.Assign(target, "=", self._read_bit(value), False, span=span)

    def _store(self, target: Any, op: str, value: Any, atomic: bool, span: Span) -> Any:
        if isinstance(value, _Filled):
            if isinstance(target, s.Name) and op == "=":
                type_ = s.ArrayType("", value.extents, "rowmajor", span=span)
                return s.Local(target.id, type_, value.value, None, span=span)
            hint = "a list is an array: write `local x: int[n] = 0`"
            raise error(rules.UNEXPECTED, "a list can only be given a name", span=value.span, hint=hint)
        return self._branch(
            value, span, lambda chosen: s.Assign(self._duplicate(target), op, chosen, atomic, span=span)
        )

    def _branch(self, value: Any, span: Span, build: Callable[[Any], Any]) -> Any:
        """Return the statement of a value, or of a choice an `if` with one for each value."""
        if not isinstance(value, _Choice):
            return build(self._read_bit(value))
        branches = [s.Branch(value.condition, (self._branch(value.first, span, build),), span=span)]
        other = self._branch(value.second, span, build)
        branches += other.branches if isinstance(other, s.If) else [s.Branch(None, (other,), span=span)]
        return s.If(tuple(branches), span=span)

    def swap(self, meta: Meta, children: list[Any]) -> surface.Multiple:
        first, second = (child for child in children if not isinstance(child, Token))
        values = self._duplicate(second), self._duplicate(first)
        return surface.Multiple((first, second), values, span=self._make_span(meta))

    def increment(self, meta: Meta, children: list[Any]) -> s.Assign:
        target, op = children
        span = self._make_span(meta)
        return s.Assign(target, "+=" if op.type == "INCREMENT" else "-=", s.Integer(1, span=span), False, span=span)

    def multiple(self, meta: Meta, children: list[Any]) -> surface.Multiple:
        position = next(number for number, child in enumerate(children) if isinstance(child, Token))
        targets, values = tuple(children[:position]), tuple(children[position + 1 :])
        span = self._make_span(meta)
        if len(targets) != len(values):
            message = f"{len(targets)} places on the left, {len(values)} values on the right"
            raise error(rules.UNEXPECTED, message, span=span)
        return surface.Multiple(targets, values, span=span)

    def return_(self, meta: Meta, children: list[Any]) -> Any:
        (value,) = children
        span = self._make_span(meta)
        if isinstance(value, _Filled):
            hint = "hand it back through a parameter `x: out int[n]`"
            raise error(rules.UNEXPECTED, "a result is a number", span=value.span, hint=hint)
        if value is None:
            return s.Exit("return", span=span)
        return self._branch(value, span, lambda chosen: s.Return(chosen, span=span))

    def break_(self, meta: Meta, _: list[Any]) -> s.Exit:
        return s.Exit("break", span=self._make_span(meta))

    def continue_(self, meta: Meta, _: list[Any]) -> s.Exit:
        return s.Exit("continue", span=self._make_span(meta))

    def invoke(self, meta: Meta, children: list[Any]) -> s.Invoke:
        spawn, call, _, along = children
        return s.Invoke(call, spawn is not None, along or (), span=self._make_span(meta))

    def amount(self, meta: Meta, children: list[Any]) -> tuple[Any, str]:
        return children[0], str(children[1])

    def transfer(self, meta: Meta, children: list[Any]) -> s.Transfer:
        direction, target, _, value, when = children
        return s.Transfer(str(direction), target, value, when, span=self._make_span(meta))

    def communicate(self, meta: Meta, children: list[Any]) -> Any:
        operation, buffer, *clauses = children
        match operation, buffer, clauses:
            # `exchange x with y` is no message: the processors' exchange has `to` and `from`.
            case "exchange", s.Name() | s.Element(), [s.Clause(keyword="with", values=(other,))]:
                return self.swap(meta, [buffer, other])
            case "exchange", s.Binary(op="and", left=left, right=right), []:
                return self.swap(meta, [left, right])
            case _:
                pass
        return s.Communicate(str(operation), buffer, tuple(clauses), span=self._make_span(meta))

    def clause(self, meta: Meta, children: list[Any]) -> s.Clause:
        keyword, value, *when = children
        values = value if isinstance(value, tuple) else (value,)
        return s.Clause(str(keyword), values, when[0] if when else None, span=self._make_span(meta))

    def with_operator(self, meta: Meta, children: list[Any]) -> s.Clause:
        operator = s.Name(str(children[1]), span=self._make_span(children[1]))
        return s.Clause("with", (operator,), span=self._make_span(meta))

    def with_element(self, meta: Meta, children: list[Any]) -> s.Clause:
        return s.Clause("with", (children[1],), span=self._make_span(meta))

    def using(self, meta: Meta, children: list[Any]) -> s.Clause:
        name = s.Name(str(children[1]), span=self._make_span(children[1]))
        return s.Clause("using", (name,), span=self._make_span(meta))

    def loop(self, meta: Meta, children: list[Any]) -> s.Loop:
        parallel, names, word, lo, direction, hi, step, reduction, iterations, body = children
        loop = self._make_written_loop(meta, parallel, names, word, lo, direction, hi, step, reduction, body)
        return loop if iterations is None else replace(loop, iterations=self._check_name(iterations))

    def _make_written_loop(
        self,
        meta: Meta,
        parallel: Token | None,
        names: Any,
        word: Token,
        lo: Any,
        direction: Token,
        hi: Any,
        step: Any,
        reduction: Any,
        body: Any,
    ) -> s.Loop:
        if word.type in ("ASSIGN_PLAIN", "ASSIGN_ARROW") and direction.type == "UPTO":
            hint = self._suggest_ranges(names[0].id, self._make_span(word), lo, hi)
            message = "`for i = a..b` may mean that b is left out or taken"
            raise error(rules.UNEXPECTED, message, span=self._make_header_span(meta), hint=hint)
        if direction.type == "UPTO" and isinstance(step, s.Unary):
            return self._make_falling_loop(meta, parallel, names, lo, hi, step.operand, body)
        lo, hi = self._make_range(lo, direction, hi)
        loop = self._make_loop(meta, parallel, names, lo, hi, step, body, direction.type == "DOWNTO")
        return self._combine_values(meta, loop, parallel, reduction)

    def _combine_values(self, meta: Meta, loop: s.Loop, parallel: Token | None, reduction: Any) -> s.Loop:
        if reduction is None:
            return loop
        if parallel is None:
            message = "`with ... on` combines the values of parallel iterations"
            parallel_loop = f"write `parallel {self._make_header_span(meta).text}`"
            raise error(rules.UNEXPECTED, message, span=reduction.span, hint=parallel_loop)
        return replace(loop, reduction=reduction)

    def reduction(self, meta: Meta, children: list[Any]) -> s.Reduction:
        op, register = children[-2:]
        return s.Reduction(str(op), register, span=self._make_span(meta))

    def _suggest_ranges(self, variable: str, sign: Span, lo: Any, hi: Any) -> Proposal:
        """Suggest the two ranges that `for i = a..b` may mean: neither edit is safe."""
        ranges = [f"{format_expression(lo)}..{format_expression(end)}" for end in (hi, self._add_one(hi))]
        left_out, taken = (f"for {variable} in {text}:" for text in ranges)
        hint = f"write `{left_out}` without the last value, or `{taken}` with it"
        end = self._source.lines[sign.line - 1].find(hi.span.text, hi.span.column - 1) + len(hi.span.text)
        whole = Span(self._source, sign.line, sign.column, sign.line, end + 1)
        # Brackets around an end are outside of its span.
        whole = replace(whole, end_column=whole.end_column + whole.text.count("(") - whole.text.count(")"))
        return Proposal(hint, [Edit(whole, f"in {text}") for text in ranges], safe=False)

    def _make_falling_loop(
        self, meta: Meta, parallel: Token | None, names: Any, first: Any, end: Any, step: Any, body: Any
    ) -> s.Loop:
        """Build the loop from `first` down to what stands before `end`, which is left out."""
        by = None if isinstance(step, s.Integer) and step.value == 1 else step
        return self._make_loop(meta, parallel, names, first, self._add_one(end), by, body, down=True)

    def _make_loop(
        self, meta: Meta, parallel: Token | None, names: Any, lo: Any, hi: Any, step: Any, body: Any, down: bool = False
    ) -> s.Loop:
        name = self._read_loop_variable(names)
        span = self._make_header_span(meta)
        return s.Loop(name, lo, hi, step, down, parallel is not None, body, span=span)

    def _read_loop_variable(self, names: tuple[s.Name, ...]) -> str:
        first, *others = names
        if others:
            raise error(rules.UNEXPECTED, "a loop has one variable", span=first.span, hint="nest two loops")
        return self._check_word(first.id, first.span)

    def _make_range(self, lo: Any, direction: Token, hi: Any) -> tuple[Any, Any]:
        """Return the ends of a range, whose upper end is left out unless it is a `downto`."""
        if direction.type not in ("UPTO_INCLUDING", "TO"):
            return lo, hi
        return lo, self._add_one(hi)

    def _add_one(self, expr: Any) -> Any:
        """Return an expression plus 1; of `e - 1` it is e."""
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

    def loop_over(self, meta: Meta, children: list[Any]) -> s.Loop | surface.LoopOver:
        parallel, names, _, over, reduction, iterations, body = children
        loop = self._make_loop_over(meta, parallel, names, over, body)
        if isinstance(loop, s.Loop):
            loop = self._combine_values(meta, loop, parallel, reduction)
        elif reduction is not None:
            hint = "write a loop over a range, `parallel for i in 0..n`, and `x[i]` for an element"
            message = "the values of a loop over elements are not combined"
            raise error(rules.UNEXPECTED, message, span=reduction.span, hint=hint)
        return loop if iterations is None else replace(loop, iterations=self._check_name(iterations))

    def _make_loop_over(
        self, meta: Meta, parallel: Token | None, names: Any, over: Any, body: Any
    ) -> s.Loop | surface.LoopOver:
        """Build a loop over consecutive integers, a `range`, or the elements of an array."""
        span = self._make_header_span(meta)
        match over:
            case tuple():
                values = [item.value if isinstance(item, s.Integer) else None for item in over]
                if values[0] is None or values != list(range(values[0], values[0] + len(values))):
                    message = "only consecutive integers can stand in braces"
                    raise error(rules.UNEXPECTED, message, span=span, hint="put the values into an array")
                end = s.Integer(values[0] + len(values), span=over[-1].span)
                return self._make_loop(meta, parallel, names, over[0], end, None, body)
            case s.Call(function="range", arguments=(hi,)):
                return self._make_loop(meta, parallel, names, s.Integer(0, span=hi.span), hi, None, body)
            case s.Call(function="range", arguments=(lo, hi)):
                return self._make_loop(meta, parallel, names, lo, hi, None, body)
            case s.Call(function="range", arguments=(lo, hi, s.Unary(op="-", operand=step))):
                return self._make_falling_loop(meta, parallel, names, lo, hi, step, body)
            case s.Call(function="range", arguments=(lo, hi, step)):
                return self._make_loop(meta, parallel, names, lo, hi, step, body)
            case _:
                pass
        return surface.LoopOver(self._read_loop_variable(names), over, parallel is not None, body, span=span)

    def _make_header_span(self, meta: Meta) -> Span:
        """Return the header's line: a diagnostic about a loop points at it, not at the body."""
        span = self._make_span(meta)
        line = self._source.lines[span.line - 1] if span.line <= len(self._source.lines) else ""
        return Span(self._source, span.line, span.column, span.line, max(len(line.rstrip()), span.column) + 1)

    def while_(self, meta: Meta, children: list[Any]) -> s.While:
        condition, limit, iterations, body = children
        name = None if iterations is None else self._check_name(iterations)
        return s.While(condition, limit, name, False, body, span=self._make_header_span(meta))

    def repeat(self, meta: Meta, children: list[Any]) -> s.While:
        iterations, body, until = children
        name = None if iterations is None else self._check_name(iterations)
        condition = s.Unary("not", until, span=until.span)
        return s.While(condition, None, name, True, body, span=self._make_header_span(meta))

    def repeat_times(self, meta: Meta, children: list[Any]) -> s.Loop:
        """Build `repeat n times` as a loop whose variable has a name that is not in the text."""
        times, body = children
        words = set(re.findall(r"\w+", self._source.text))
        name = next(name for name in chain(("i", "j", "k"), map("i{}".format, count())) if name not in words)
        span = self._make_header_span(meta)
        return s.Loop(name, s.Integer(0, span=times.span), times, None, False, False, body, span=span)

    def if_(self, meta: Meta, children: list[Any]) -> s.If:
        condition, body, *rest = children
        head = self._make_header_span(meta)
        first = s.Branch(condition, body, span=head)
        return s.If((first, *(branch for branch in rest if branch is not None)), span=head)

    def elif_(self, meta: Meta, children: list[Any]) -> s.Branch:
        condition, body = children
        return s.Branch(condition, body, span=self._make_header_span(meta))

    def else_(self, meta: Meta, children: list[Any]) -> s.Branch:
        return s.Branch(None, children[0], span=self._make_header_span(meta))

    # Items
    def abbreviation(self, meta: Meta, children: list[Any]) -> surface.Abbreviation:
        name, parameters, value = children
        return surface.Abbreviation(self._check_name(name), parameters or (), value, span=self._make_span(meta))

    def record_definition(self, meta: Meta, children: list[Any]) -> surface.RecordDefinition:
        name, sizes, doc, *fields = children
        return surface.RecordDefinition(
            self._check_name(name),
            sizes or (),
            doc[1] if doc else None,
            tuple(fields),
            span=self._make_header_span(meta),
        )

    def use(self, meta: Meta, children: list[Any]) -> s.Use:
        return s.Use(tuple(str(part) for part in children), span=self._make_span(meta))

    def extern(self, meta: Meta, children: list[Any]) -> s.Extern:
        name, parameters, result, costs = children
        return s.Extern(
            self._check_name(name), parameters or (), str(result) if result else None, costs, span=self._make_span(meta)
        )

    def claim(self, meta: Meta, children: list[Any]) -> s.Claim:
        title, left, relation, right, *conditions = children
        settings: dict[str, Any] = {}
        for name, value, span in conditions:
            if name in settings:
                raise error(rules.UNEXPECTED, f"a claim has only one `{name}`", span=span, hint="join them with commas")
            settings[name] = value
        self.sized = None
        title, where, on, at = (
            _strip_quotes(title),
            settings.get("where", ()),
            settings.get("on"),
            settings.get("at", ()),
        )
        return s.Claim(title, left, str(relation), right, where, on, at, span=self._make_span(meta))

    def condition(self, meta: Meta, children: list[Any]) -> tuple[str, Any, Span]:
        word, value, *model = children
        span = self._make_span(meta)
        if word == "on":
            value = s.On(str(_strip_quotes(value)), model[-1] if model else None, span=span)
        elif word == "at":
            value = tuple((name, number) for name, number, _ in value)
        return str(word), value, span

    def model(self, meta: Meta, children: list[Any]) -> str:
        return "".join(map(str, children))

    def setting(self, meta: Meta, children: list[Any]) -> tuple[str, Any, Span]:
        return self._make_setting(*children)

    def values(self, meta: Meta, children: list[Any]) -> tuple[tuple[str, Any, Span], ...]:
        *names, value = children
        return tuple(self._make_setting(name, value) for name in names)

    def _make_setting(self, name: Any, value: Any) -> tuple[str, Any, Span]:
        """Return a size with its value and its place; a size of a callee, as `find.T1`, is a name of two words."""
        if isinstance(name, s.Name):
            return name.id, value, name.span
        return str(name), value, self._make_span(name)

    def growth(self, meta: Meta, children: list[Any]) -> str:
        return str(children[0])

    def doc(self, meta: Meta, children: list[Any]) -> tuple[str, str]:
        return ("doc", str(children[0])[1:-1])

    def where(self, meta: Meta, children: list[Any]) -> tuple[str, Any]:
        return ("where", children[0])

    def decreases(self, meta: Meta, children: list[Any]) -> tuple[str, Any]:
        return ("decreases", children[0])

    def ensures(self, meta: Meta, children: list[Any]) -> tuple[str, s.Ensures]:
        metric, processors, relation, bound, when = children
        return (
            "ensures",
            s.Ensures(str(metric), processors, str(relation), bound, when or (), span=self._make_span(meta)),
        )

    growth_ensures = ensures

    def algorithm(self, meta: Meta, children: list[Any]) -> s.Algorithm:
        name, parameters, result, grid, doc, *rest = children
        parts: dict[str, list[Any]] = {"where": [], "ensures": [], "decreases": []}
        body = []
        for child in _flatten(rest):
            if isinstance(child, tuple):
                parts[child[0]].append(child[1])
            else:
                body.append(child)
        return s.Algorithm(
            self._check_name(name),
            parameters or (),
            str(result) if result else None,
            grid or (),
            doc[1] if doc else None,
            tuple(fact for facts in parts["where"] for fact in facts),
            tuple(parts["ensures"]),
            tuple(expr for exprs in parts["decreases"] for expr in exprs),
            _name_elements(tuple(body), parameters or ()),
            self._make_span(name),
            span=self._make_header_span(meta),
        )

    def setting_list(self, meta: Meta, children: list[Any]) -> Any:
        return tuple(chain.from_iterable(children))

    def __default__(self, data: Any, children: list[Any], meta: Meta) -> Any:
        """Build the node of any other rule: the rule names the class, and its children are the fields in order."""
        name = "".join(word.capitalize() for word in data.split("_"))
        kind = getattr(s, name, None) or getattr(surface, name)
        parts = (
            child
            if not isinstance(child, Token)
            else self._check_name(child)
            if part in ("name", "group")
            else str(child)
            for part, child in zip(kind.__match_args__, children, strict=True)
        )
        return kind(*parts, span=self._make_span(meta))


def _flatten(statements: Iterable[Any]) -> Iterable[Any]:
    for statement in statements:
        if isinstance(statement, list):
            yield from _flatten(statement)
        else:
            yield statement


def _name_elements(body: tuple[Any, ...], parameters: tuple[s.Parameter, ...]) -> tuple[Any, ...]:
    """Return a body in which arrays filled by `x = [v] * n` have an element type: `real` if any element is set to one.

    Where x is a parameter, the statement fills it.
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
    changed: dict[s.Local, Any] = {}
    for local in unknown:
        if local.name in given and local.value is not None:
            target = s.Name(local.name, span=local.span)
            changed[local] = s.Assign(target, "=", local.value, False, span=local.span)
        else:
            type_ = replace(local.type, element="real" if local.name in reals else "int")
            changed[local] = replace(local, type=type_)
    return tuple(_replace_statements(statement, changed) for statement in body)


def _has_reals(value: Any, reals: set[str]) -> bool:
    arrays = {element.array for element in s.find_nodes(value, s.Element)}
    return bool((s.names(value) | arrays) & reals) or any(s.find_nodes(value, s.Real))


def _replace_statements(value: Any, changed: dict[s.Local, Any]) -> Any:
    if isinstance(value, tuple):
        return tuple(_replace_statements(item, changed) for item in value)
    if isinstance(value, s.Local):
        return changed.get(value, value)
    if isinstance(value, s.If):
        return replace(value, branches=_replace_statements(value.branches, changed))
    return replace(value, body=_replace_statements(value.body, changed)) if hasattr(value, "body") else value


def _list_parts(subscript: s.Expr | s.Slice) -> list[s.Expr]:
    if isinstance(subscript, s.Slice):
        return [part for part in (subscript.lo, subscript.hi, subscript.step) if part is not None]
    return [subscript]


def _strip_quotes(token: Token | None) -> str | None:
    return str(token)[1:-1] if token is not None else None
