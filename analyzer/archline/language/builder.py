"""Build the syntax tree from lark's, with a method for each grammar rule whose node is not just its parts in order."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from typing import Any

from archline.expr.tree import Span
from archline.language import surface
from archline.language import syntax as s
from archline.language import syntax_rules as rules
from archline.language.diagnostics import error
from archline.language.loop_spellings import LoopBuilder
from archline.language.spellings import ArrayByRange, ArrayOfElements, FilledArray, infer_element_types, rename_shadowed
from archline.language.tokens import Part, Token
from archline.records import record, replace

MAX_DIGITS = 1000
_NAMESPACES = ("math", "Math", "np", "numpy")
"""Names before the functions of other languages, as in `math.sqrt(x)`."""


@record
class NestedRanges:
    """A comprehension over several ranges, `e for i in a, j in b if c`; `ranges` has (name, lo, hi) of each."""

    value: Any
    ranges: tuple[tuple[str, Any, Any], ...]
    condition: Any
    span: Span


class TreeBuilder(LoopBuilder):
    """Builds the syntax tree from lark's parse tree, bottom-up: a method for each grammar rule builds its node."""

    # Expressions
    def integer(self, meta: Part, children: list[Token]) -> s.Integer:
        text = str(children[0])
        if len(text) > MAX_DIGITS:
            raise error(rules.NUMBER_TOO_LONG, f"a number of {len(text)} digits", span=self._make_span(meta))
        return s.Integer(int(text, 16 if text.startswith("0x") else 10), span=self._make_span(meta))

    def group(self, meta: Part, children: list[Any]) -> Any:
        return children[0]

    target = start = expression = fact_list = group

    def binary(self, meta: Part, children: list[Any]) -> Any:
        left, op, right = children
        return self._combine_operands(left, op, right, self._make_span(meta))

    def unary(self, meta: Part, children: list[Any]) -> s.Unary:
        op, operand = children
        op = "not" if op.type == "NOT" else "-"
        operand = operand if op == "not" else self._read_bit(operand)
        node = s.Unary(op, operand, span=self._make_span(meta))
        return self._check_depth(node, operand)  # type: ignore[no-any-return]

    def field_of(self, meta: Part, children: list[Any]) -> s.Name:
        owner, field = children
        return s.Name(f"{owner.id if isinstance(owner, s.Name) else owner}.{field}", span=self._make_span(meta))

    def range_comprehension(self, meta: Part, children: list[Any]) -> surface.Comprehension:
        value, variable, _, lo, direction, hi, step, condition = children
        lo, hi = self._make_range(lo, direction, hi)
        if direction.type == "DOWNTO":
            hint = "the order of a sum does not matter: write `0..n`"
            raise error(rules.UNEXPECTED, "a sum has no `downto`", span=self._make_span(direction), hint=hint)
        name = self._read_inner_name(variable)
        node = surface.Comprehension(value, name, lo, hi, step, condition, span=self._make_span(meta))
        return self._check_depth(node, value, lo, hi, *filter(None, (step, condition)))  # type: ignore[no-any-return]

    def nested_comprehension(self, meta: Part, children: list[Any]) -> NestedRanges:
        value, variable, _, lo, direction, hi, *inner, condition = children
        names = (s.Name(str(variable), span=self._make_span(variable)),)
        ranges = []
        for loop_names, _, first, kind, last in [(names, None, lo, direction, hi), *inner]:
            ranges.append((self._read_loop_variable(loop_names), *self._make_range(first, kind, last)))
        return NestedRanges(value, tuple(ranges), condition, self._make_span(meta))

    def _nest_ranges(self, function: str, nested: NestedRanges) -> surface.Comprehension:
        """Build `sum(e for i in a, j in b if c)` as `sum(sum(e for j in b if c) for i in a)`."""
        value, condition = nested.value, nested.condition
        for number, (name, lo, hi) in enumerate(reversed(nested.ranges)):
            if number:
                value, condition = s.Call(function, (value,), span=nested.span), None
            value = surface.Comprehension(value, name, lo, hi, None, condition, span=nested.span)
        return value  # type: ignore[no-any-return]

    def comprehension_over(self, meta: Part, children: list[Any]) -> surface.Comprehension:
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
            value, self._read_inner_name(variable), lo, hi, step, condition, span=self._make_span(meta)
        )
        return self._check_depth(node, value, lo, hi, *filter(None, (step, condition)))  # type: ignore[no-any-return]

    def transposed_name(self, meta: Part, children: list[Any]) -> s.Name:
        """Build the transposed array `A'` as the name `A.T`."""
        return s.Name(f"{children[0]}.T", span=self._make_span(meta))

    def call(self, meta: Part, children: list[Any]) -> s.Call:
        name: Any
        name, parts = children
        as_method = isinstance(name, s.Name)
        if as_method:
            owner, _, method = name.id.rpartition(".")
            as_method = owner not in _NAMESPACES
            parts = (s.Name(owner, span=name.span), *(parts or ())) if as_method else parts
            name = method
        sizes = tuple((part[0], part[1]) for part in parts or () if isinstance(part, tuple))
        arguments = tuple(self._read_bit(part) for part in parts or () if not isinstance(part, tuple))
        arguments = tuple(
            self._nest_ranges(str(name), part) if isinstance(part, NestedRanges) else part for part in arguments
        )
        node = s.Call(str(name), arguments, sizes, as_method, span=self._make_span(meta))
        self.sized = node.span if sizes else self.sized
        return self._check_depth(node, *arguments, *(value for _, value in sizes))  # type: ignore[no-any-return]

    def arguments(self, meta: Part, children: list[Any]) -> tuple[Any, ...]:
        return tuple(children)

    exprs = names = facts = parameters = axes = amounts = settings = parts = arguments

    def statement_line(self, meta: Part, children: list[Any]) -> list[Any]:
        """Return the statements of one line, separated by `;` or `,`."""
        return children

    def statement_block(self, meta: Part, children: list[Any]) -> tuple[Any, ...]:
        return tuple(_flatten_statements(children))

    def element(self, meta: Part, children: list[Any]) -> s.Element:
        array, *subscripts = children
        subscripts = list(map(self._read_bit, subscripts))
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

    def slice_to(self, meta: Part, children: list[Any]) -> s.Slice:
        lo, kind, hi, step = children
        return s.Slice(lo, hi, step, kind.type == "BY_LENGTH", span=self._make_span(meta))

    slice_by = slice_to

    def slice_all(self, meta: Part, children: list[Any]) -> s.Slice:
        return s.Slice(None, None, children[1], False, span=self._make_span(meta))

    def slice_between(self, meta: Part, children: list[Any]) -> s.Slice:
        lo, _, hi = children
        return s.Slice(lo, hi, None, False, span=self._make_span(meta))

    def slice_before(self, meta: Part, children: list[Any]) -> s.Slice:
        end = children[1]
        return s.Slice(s.Integer(0, span=end.span), end, None, False, span=self._make_span(meta))

    # Types and parameters
    def operator_type(self, meta: Part, _: list[Any]) -> s.OperatorType:
        return s.OperatorType(span=self._make_span(meta))

    def array_type(self, meta: Part, children: list[Any]) -> s.ArrayType:
        element, *shapes, layout = children
        shape = tuple(extent for part in shapes for extent in part)
        return s.ArrayType(str(element), shape, str(layout or "rowmajor"), span=self._make_span(meta))

    def parameter(self, meta: Part, children: list[Any]) -> s.Parameter:
        name, mode, local, type_ = children
        span = self._make_span(meta)
        return s.Parameter(self._check_name(name), str(mode or "in"), local is not None, type_, span=span)

    # Statements
    def local(self, meta: Part, children: list[Any]) -> Any:
        _, name, type_, value, when = children
        return self._declare_local(name, type_, value, self._make_span(meta), when)

    def local_list(self, meta: Part, children: list[Any]) -> list[Any]:
        """Return the declarations of `local a: real[n], b: real[n]`."""
        return children[1:]

    def assign(self, meta: Part, children: list[Any]) -> Any:
        atomic, target, op, value = children
        op = "=" if op.type == "ASSIGN_ARROW" else str(op)
        span = self._make_span(meta)
        before, after = self._order_increments((target, value), span)
        stored = self._store_value(target, op, value, atomic is not None, span)
        return [*before, stored, *after] if before or after else stored

    def return_exit(self, meta: Part, children: list[Any]) -> Any:
        (value,) = children
        span = self._make_span(meta)
        if isinstance(value, FilledArray | ArrayOfElements | ArrayByRange):
            hint = "hand it back through a parameter `x: out int[n]`"
            raise error(rules.UNEXPECTED, "a result is a number", span=value.span, hint=hint)
        if value is None:
            return s.Exit("return", span=span)
        return self._branch_choice(value, span, lambda chosen: s.Return(chosen, span=span))

    def break_exit(self, meta: Part, _: list[Any]) -> s.Exit:
        return s.Exit("break", span=self._make_span(meta))

    def continue_exit(self, meta: Part, _: list[Any]) -> s.Exit:
        return s.Exit("continue", span=self._make_span(meta))

    def invoke(self, meta: Part, children: list[Any]) -> s.Invoke:
        spawn, call, _, along = children
        return s.Invoke(call, spawn is not None, along or (), span=self._make_span(meta))

    def invoke_by_call(self, meta: Part, children: list[Any]) -> s.Invoke:
        """Build `call f(x)`, another spelling of the statement `f(x)`."""
        return self.invoke(meta, [None, *children])

    def amount(self, meta: Part, children: list[Any]) -> tuple[Any, str]:
        return children[0], str(children[1])

    def transfer(self, meta: Part, children: list[Any]) -> s.Transfer:
        direction, target, _, value, when = children
        return s.Transfer(str(direction), target, value, when, span=self._make_span(meta))

    def communicate(self, meta: Part, children: list[Any]) -> Any:
        operation, buffer, *clauses = children
        match operation, buffer, clauses:
            # `exchange x with y` is no message: the processors' exchange has `to` and `from`.
            case "exchange", s.Name() | s.Element(), [s.Clause(keyword="with", values=(other,))]:
                return self.swap_values(meta, [buffer, other])
            case "exchange", s.Binary(op="and", left=left, right=right), []:
                return self.swap_values(meta, [left, right])
            case _:
                pass
        return s.Communicate(str(operation), buffer, tuple(clauses), span=self._make_span(meta))

    def clause(self, meta: Part, children: list[Any]) -> s.Clause:
        keyword, value, *when = children
        values = value if isinstance(value, tuple) else (value,)
        return s.Clause(str(keyword), values, when[0] if when else None, span=self._make_span(meta))

    def with_operator(self, meta: Part, children: list[Any]) -> s.Clause:
        operator = s.Name(str(children[1]), span=self._make_span(children[1]))
        return s.Clause("with", (operator,), span=self._make_span(meta))

    def with_element(self, meta: Part, children: list[Any]) -> s.Clause:
        return s.Clause("with", (children[1],), span=self._make_span(meta))

    def using(self, meta: Part, children: list[Any]) -> s.Clause:
        name = s.Name(str(children[1]), span=self._make_span(children[1]))
        return s.Clause("using", (name,), span=self._make_span(meta))

    def loop(self, meta: Part, children: list[Any]) -> s.Loop:
        parallel, names, word, lo, direction, hi, sign, step, reduction, iterations, body = children
        if sign is not None:
            self._check_factor(sign, step, direction)
        loop = self._make_written_loop(meta, parallel, names, word, lo, direction, hi, step, reduction, body)
        loop = loop if sign is None else replace(loop, scales=True)
        return loop if iterations is None else replace(loop, iterations=self._check_name(iterations))

    def loop_reduction(self, meta: Part, children: list[Any]) -> s.Reduction:
        op, register = children[-2:]
        return s.Reduction(str(op), register, span=self._make_span(meta))

    def while_(self, meta: Part, children: list[Any]) -> s.While:
        condition, bound, in_total, iterations, body = children
        name = None if iterations is None else self._check_name(iterations)
        limit, total = (bound, None) if in_total is None else (None, bound)
        return s.While(condition, limit, name, False, body, total=total, span=self._make_block_span(meta))

    def in_total(self, meta: Part, children: list[Any]) -> str:
        return "in total"

    def repeat_until(self, meta: Part, children: list[Any]) -> s.While:
        iterations, body, until = children
        name = None if iterations is None else self._check_name(iterations)
        return s.While(self._negate(until), None, name, True, body, span=self._make_block_span(meta))

    def if_(self, meta: Part, children: list[Any]) -> s.If:
        condition, body, *rest = children
        span = self._make_block_span(meta)
        first = s.Branch(condition, body, span=span.extend_to(body[-1].span))
        return s.If((first, *(branch for branch in rest if branch is not None)), span=span)

    def elif_(self, meta: Part, children: list[Any]) -> s.Branch:
        condition, body = children
        return s.Branch(condition, body, span=self._make_block_span(meta))

    def else_(self, meta: Part, children: list[Any]) -> s.Branch:
        return s.Branch(None, children[0], span=self._make_block_span(meta))

    def split(self, meta: Part, children: list[Any]) -> s.Split:
        axis, parts, group, body = children
        return s.Split(str(axis), parts, self._check_name(group), body, span=self._make_block_span(meta))

    # Items
    def abbreviation_definition(self, meta: Part, children: list[Any]) -> surface.Abbreviation:
        name, parameters, value = children
        return surface.Abbreviation(self._check_name(name), parameters or (), value, span=self._make_span(meta))

    def record_definition(self, meta: Part, children: list[Any]) -> surface.RecordDefinition:
        name, sizes, doc, *fields = children
        text, span = doc[1] if doc else None, self._make_block_span(meta)
        return surface.RecordDefinition(self._check_name(name), sizes or (), text, tuple(fields), span=span)

    def record_line(self, meta: Part, children: list[Any]) -> surface.RecordDefinition:
        name, sizes, *fields = children
        return self.record_definition(meta, [name, sizes, None, *fields])

    def use(self, meta: Part, children: list[Any]) -> s.Use:
        return s.Use(tuple(str(part) for part in children), span=self._make_span(meta))

    def extern(self, meta: Part, children: list[Any]) -> s.Extern:
        name, parameters, result, costs = children
        return s.Extern(
            self._check_name(name), parameters or (), str(result) if result else None, costs, span=self._make_span(meta)
        )

    def claim(self, meta: Part, children: list[Any]) -> s.Claim:
        title, left, relation, right, *conditions = children
        settings: dict[str, Any] = {}
        for name, value, span in conditions:
            if name in settings:
                raise error(rules.UNEXPECTED, f"a claim has only one `{name}`", span=span, hint="join them with commas")
            settings[name] = value
        self.sized = None
        where, on, at = settings.get("where", ()), settings.get("on"), settings.get("at", ())
        span = self._make_span(meta)
        return s.Claim(_strip_quotes(title), left, str(relation), right, where, on, at, span=span)

    def condition(self, meta: Part, children: list[Any]) -> tuple[str, Any, Span]:
        word, value, *model = children
        span = self._make_span(meta)
        if word == "on":
            value = s.On(str(_strip_quotes(value)), model[-1] if model else None, span=span)
        elif word == "at":
            value = tuple((name, number) for name, number, _ in value)
        return str(word), value, span

    def model(self, meta: Part, children: list[Any]) -> str:
        return "".join(map(str, children))

    def setting(self, meta: Part, children: list[Any]) -> tuple[str, Any, Span]:
        return self._make_setting(*children)

    def values(self, meta: Part, children: list[Any]) -> tuple[tuple[str, Any, Span], ...]:
        *names, value = children
        return tuple(self._make_setting(name, value) for name in names)

    def _make_setting(self, name: Any, value: Any) -> tuple[str, Any, Span]:
        """Return the name, value and position of a setting `n = 64`; sizes of callees have names such as `find.T1`."""
        if isinstance(name, s.Name):
            return name.id, value, name.span
        return str(name), value, self._make_span(name)

    def growth(self, meta: Part, children: list[Any]) -> str:
        return str(children[0])

    def doc(self, meta: Part, children: list[Any]) -> tuple[str, str]:
        return ("doc", str(children[0])[1:-1])

    def where(self, meta: Part, children: list[Any]) -> tuple[str, Any]:
        return ("where", children[0])

    def decreases(self, meta: Part, children: list[Any]) -> tuple[str, Any]:
        return ("decreases", children[0])

    def ensures(self, meta: Part, children: list[Any]) -> tuple[str, s.Ensures]:
        metric, processors, relation, bound, when = children
        span = self._make_span(meta)
        return "ensures", s.Ensures(str(metric), processors, str(relation), bound, when or (), span=span)

    growth_ensures = ensures

    def algorithm(self, meta: Part, children: list[Any]) -> s.Algorithm:
        name, parameters, result, grid, doc, *rest = children
        parts: dict[str, list[Any]] = {"where": [], "ensures": [], "decreases": []}
        body: list[Any] = self.assume_bounds(parameter for parameter in parameters or () if parameter.mode != "out")
        for child in _flatten_statements(rest):
            if isinstance(child, tuple):
                parts[child[0]].append(child[1])
            else:
                body.append(child)
        self._refuse_increments()
        return s.Algorithm(
            self._check_name(name),
            parameters or (),
            str(result) if result else None,
            grid or (),
            doc[1] if doc else None,
            tuple(fact for facts in parts["where"] for fact in facts),
            tuple(parts["ensures"]),
            tuple(expr for exprs in parts["decreases"] for expr in exprs),
            rename_shadowed(infer_element_types(self._resolve_counted_loops(tuple(body)), parameters or ())),
            self._make_span(name),
            span=self._make_block_span(meta),
        )

    def setting_list(self, meta: Part, children: list[Any]) -> Any:
        return tuple(chain.from_iterable(children))

    def __default__(self, data: Any, children: list[Any], meta: Part) -> Any:
        """Build the node of a rule without a method: the class has the rule's name, its fields are the children."""
        name = "".join(word.capitalize() for word in data.split("_"))
        kind = getattr(s, name, None) or getattr(surface, name)
        parts = (
            child
            if not isinstance(child, Token)
            else (self._read_inner_name if kind is s.Let else self._check_name)(child)
            if part in ("name", "group")
            else str(child)
            for part, child in zip(kind.__match_args__, children, strict=True)
        )
        return kind(*parts, span=self._make_span(meta))


def _flatten_statements(statements: Iterable[Any]) -> Iterable[Any]:
    for statement in statements:
        if isinstance(statement, list):
            yield from _flatten_statements(statement)
        else:
            yield statement


def _list_parts(subscript: s.Expr | s.Slice) -> list[s.Expr]:
    if isinstance(subscript, s.Slice):
        return [part for part in (subscript.lo, subscript.hi, subscript.step) if part is not None]
    return [subscript]


def _strip_quotes(token: Token | None) -> str | None:
    return str(token)[1:-1] if token is not None else None
