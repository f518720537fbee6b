"""Forms with several spellings, in this language or in others, are built as the one form that the language has.

`TreeBuilder` inherits from `SpellingBuilder`, and builds all nodes whose rules have one spelling.
"""

from __future__ import annotations

import re
from collections.abc import Callable
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
from archline.language.diagnostics import Edit, Proposal, error, propose_text
from archline.language.rearranging import suggest_renaming
from archline.language.words import INTRINSICS, RESERVED
from archline.records import record, replace

_OPERATORS = {
    "AND": "and", "OR": "or", "NOT_EQUAL": "!=", "LESS_EQUAL": "<=", "GREATER_EQUAL": ">=", "MODULO": "%", "POWER": "^",
    "FLOOR_DIVIDE": "//",
}  # fmt: skip
"""The operator of this language for terminals that have several spellings."""
_COMPARISONS = ("==", "!=", "<", "<=", ">", ">=")
_FOREIGN_TYPES = {"float": "real", "double": "real", "integer": "int", "boolean": "bool"}
"""The types of this language for those of other languages."""
_UPDATES = {
    "//=": "FLOOR_DIVIDE", "%=": "MODULO", "<<=": "SHIFT_LEFT", ">>=": "SHIFT_RIGHT", "&=": "BIT_AND", "**=": "POWER",
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


@v_args(meta=True)
class SpellingBuilder(Transformer_NonRecursive[Token, Any]):
    """Builds nodes of forms with several spellings.

    `offset` is added to line numbers, as an item is parsed without the file around it.
    """

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

    def _make_header_span(self, meta: Meta) -> Span:
        """Return the header's line: a diagnostic about a loop points at it, not at the body."""
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

    @staticmethod
    def _is_shift(operand: Any) -> bool:
        return isinstance(operand, s.Binary) and "<<" in operand.span.text and "^" not in operand.span.text

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
        return bit if power is None or tested else self._make_binary("*", bit, self._copy_node(power), operand.span)

    @staticmethod
    def _suggest_reversed_bit(left: Any, right: Any, span: Span) -> str:
        shift = re.fullmatch(r"\(?1 *<< *(\w+|\(.+\))\)?", f"{right.span.text}")
        number, k = left.span.text, shift[1] if shift else "k"
        text = f"{number} + 2^{k} - 2^({k} + 1)*({number}//2^{k} % 2)"
        if shift and re.fullmatch(r"\w+(\[[^\[\]]*\])?", number):
            return propose_text(span, text)
        return "with the bit k of x reversed, x is `x + 2^k - 2^(k + 1)*(x//2^k % 2)`"

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

    def comparison_chain(self, meta: Meta, children: list[Any]) -> Any:
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
            place = Span(self._source, left.span.line, left.span.column, right.span.end_line, right.span.end_column)
            part = self._combine_operands(left, operator, right, place)
            whole = part if whole is None else self._make_binary("and", whole, part, span)
        return whole

    def character_literal(self, meta: Meta, children: list[Token]) -> s.Integer:
        return s.Integer(ord(str(children[0])[1]), span=self._make_span(meta))

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

    # Types and declarations
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

    def typed_name(self, meta: Meta, children: list[Any]) -> Any:
        name, type_, value = children
        return self._declare_local(name, type_, value, self._make_span(meta))

    def untyped_local(self, meta: Meta, children: list[Any]) -> Any:
        name, value = children[-2:]
        return self._declare_local(name, None, value, self._make_span(meta))

    def declared_name(self, meta: Meta, children: list[Any]) -> tuple[Any, ...]:
        name, type_, _, value = children
        return name, type_, value, self._make_span(meta)

    def typed_declaration(self, meta: Meta, children: list[Any]) -> list[Any]:
        """Build `int lo = 0, hi = n`, or with `var` or `auto` a declaration whose type may be missing."""
        word, *declared = children
        locals_ = []
        for name, type_, value, span in declared:
            if type_ is None and word not in ("var", "auto"):
                type_ = s.ScalarType(_FOREIGN_TYPES.get(word, str(word)), span=span)
            locals_.append(self._declare_local(name, type_, value, span))
        return locals_

    def allotted_array(self, meta: Meta, children: list[Any]) -> s.Local:
        """Build `r[0..n]` of `let r[0..n] be a new array`, with both ends, as `local r: real[n + 1]`."""
        name, *subscripts = children
        ends = (self._add_one(part.hi) if isinstance(part, s.Slice) else part for part in subscripts)
        type_ = s.ArrayType("", tuple(ends), "rowmajor", span=self._make_span(meta))
        return s.Local(self._check_name(name), type_, None, None, span=self._make_span(meta))

    def new_array(self, meta: Meta, children: list[Any]) -> list[Any]:
        return [child for child in children if isinstance(child, s.Local)]

    def _declare_local(self, token: Token, type_: Any, value: Any, span: Span, when: Any = None) -> Any:
        """Return the definition of a local, without a type the assignment to a name that may be undeclared."""
        name = self._check_name(token)
        if type_ is None:
            if value is None:
                hint = f"write `local {name}: int = 0` or `local {name}: real = 0`"
                raise error(rules.UNEXPECTED, f"`{name}` has no type and no value", span=span, hint=hint)
            return self._store_value(s.Name(name, span=self._make_span(token)), "=", value, False, span)
        if isinstance(value, Choice):
            target = s.Name(name, span=self._make_span(token))
            return [s.Local(name, type_, None, when, span=span), self._store_value(target, "=", value, False, span)]
        value = value.value if isinstance(value, FilledArray) else self._read_bit(value)
        return s.Local(name, type_, value, when, span=span)

    # Values and assignments
    def value_choice(self, meta: Meta, children: list[Any]) -> Choice:
        return Choice(children[1], children[0], children[2])

    def choice_by_mark(self, meta: Meta, children: list[Any]) -> Choice:
        return Choice(*children)

    def filled_array(self, meta: Meta, children: list[Any]) -> FilledArray:
        value, _, extent = children
        return FilledArray(value, (extent,), self._make_span(meta))

    def filled_rows(self, meta: Meta, children: list[Any]) -> FilledArray:
        """Build `[[value] * m for i in range(n)]`."""
        row, _, _, over = children
        if not isinstance(over, s.Call) or over.function != "range" or len(over.arguments) != 1:
            raise error(rules.UNEXPECTED, "the rows of an array are counted by `range(n)`", span=over.span)
        return FilledArray(row.value, (over.arguments[0], *row.extents), self._make_span(meta))

    def update(self, meta: Meta, children: list[Any]) -> Any:
        """Build `x //= y` as `x = x//y`."""
        target, op, value = children
        span = self._make_span(meta)
        if isinstance(value, Choice | FilledArray):
            raise error(rules.UNEXPECTED, f"`{op}` takes a single value", span=span, hint="write an `if`")
        if op == "&=" and isinstance(value, s.Binary) and value.op == "-" and has_same_structure(value.left, target):
            place, indent = target.span.text, " " * (span.column - 1)
            lines = ("bit = 1", f"while {place}//bit % 2 == 0:", "    bit *= 2", f"{place} -= bit")
            words = "take the lowest bit with a loop: `bit = 1`, ..."
            hint = propose_text(span, f"\n{indent}".join(lines), words, safe=False)
            raise error(rules.UNEXPECTED, "`&` is only read in `x & (1 << k)`", span=span, hint=hint)
        if op == "|=" or (op == "&=" and self._may_be_condition(value)):
            value = self._make_binary("or" if op == "|=" else "and", self._copy_node(target), value, span)
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
        if isinstance(value, FilledArray):
            if isinstance(target, s.Name) and op == "=":
                type_ = s.ArrayType("", value.extents, "rowmajor", span=span)
                return s.Local(target.id, type_, value.value, None, span=span)
            hint = "a list is an array: write `local x: int[n] = 0`"
            raise error(rules.UNEXPECTED, "a list can only be given a name", span=value.span, hint=hint)
        return self._branch_choice(
            value, span, lambda chosen: s.Assign(self._copy_node(target), op, chosen, atomic, span=span)
        )

    def _branch_choice(self, value: Any, span: Span, build: Callable[[Any], Any]) -> Any:
        """Return the statement of a value, or of a choice an `if` with one for each value."""
        if not isinstance(value, Choice):
            return build(self._read_bit(value))
        branches = [s.Branch(value.condition, (self._branch_choice(value.first, span, build),), span=span)]
        last = self._branch_choice(value.second, span, build)
        branches += last.branches if isinstance(last, s.If) else [s.Branch(None, (last,), span=span)]
        return s.If(tuple(branches), span=span)

    def swap_values(self, meta: Meta, children: list[Any]) -> surface.Multiple:
        first, second = (child for child in children if not isinstance(child, Token))
        values = self._copy_node(second), self._copy_node(first)
        return surface.Multiple((first, second), values, span=self._make_span(meta))

    def unit_increment(self, meta: Meta, children: list[Any]) -> s.Assign:
        target, op = children
        span = self._make_span(meta)
        return s.Assign(target, "+=" if op.type == "INCREMENT" else "-=", s.Integer(1, span=span), False, span=span)

    def multiple_assignment(self, meta: Meta, children: list[Any]) -> surface.Multiple:
        position = next(number for number, child in enumerate(children) if isinstance(child, Token))
        targets, values = tuple(children[:position]), tuple(children[position + 1 :])
        span = self._make_span(meta)
        if len(targets) != len(values):
            message = f"{len(targets)} places on the left, {len(values)} values on the right"
            raise error(rules.UNEXPECTED, message, span=span)
        return surface.Multiple(targets, values, span=span)

    # Loops
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

    def repeat_times(self, meta: Meta, children: list[Any]) -> s.Loop:
        """Build `repeat n times` as a loop whose variable has a name that is not in the text."""
        times, body = children
        words = set(re.findall(r"\w+", self._source.text))
        name = next(name for name in chain(("i", "j", "k"), map("i{}".format, count())) if name not in words)
        span = self._make_header_span(meta)
        return s.Loop(name, s.Integer(0, span=times.span), times, None, False, False, body, span=span)


def name_elements(body: tuple[Any, ...], parameters: tuple[s.Parameter, ...]) -> tuple[Any, ...]:
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
