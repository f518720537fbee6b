"""Statements on whole arrays become nests of parallel loops over the elements of their targets.

In `A[i, :] -= u[i]*v` the operations are done element by element; what is a number, `u[i]`, is evaluated once before
the nest. A product `L @ R` is a nest that sums into a register, straight into the target or into a local array, where
it is part of a larger expression or an operand overlaps the target. Fills and copies of views stay as they are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from archline.expr.text import format_expression
from archline.expr.tree import Comprehension, Node, Span, has_same_structure
from archline.language import syntax as s
from archline.language import type_rules as rules
from archline.language.call_rules import ARGUMENT_KIND
from archline.language.diagnostics import Diagnostic, propose_text
from archline.language.elaboration.declare import list_surface_blocks, replace_blocks
from archline.language.elaboration.environment import SIZE, Environment, NameType, collect_header_types, measure_slice
from archline.language.elaboration.rewriting import (
    NameMaker,
    make_name_maker,
    place_before_tests,
    rewrite_fields,
    rewrite_tree,
)
from archline.language.elaboration.views import (
    Names,
    complete_slices,
    find_base,
    find_difference,
    find_falling_dimensions,
    has_wrong_rank,
    is_rearranged,
    is_view,
    locate_entry,
    may_conflict,
    mentions_arrays,
    select_element,
)
from archline.language.name_rules import UNKNOWN_NAME
from archline.language.proposals import propose_operator
from archline.records import replace

_OPERATORS = ("+", "-", "*", "/", "//", "%", "^")
_FUNCTIONS = ("sqrt", "rsqrt", "exp", "log", "log2", "sin", "cos", "abs", "floor", "ceil", "real_of")
_REDUCTIONS = {"sum": 1, "min": 1, "max": 1, "argmin": 1, "argmax": 1, "dot": 2}
Shape = tuple[s.Expr, ...]
Indices = tuple[s.Expr, ...]


def expand_whole_arrays(algorithm: s.Algorithm, environment: Environment) -> tuple[s.Algorithm, list[Diagnostic]]:
    """Return an algorithm without operations on whole arrays, and the mistakes found on the way."""
    expansion = _Expansion(algorithm)
    environment = environment.with_names(collect_header_types(algorithm, environment.records))
    body = expansion.expand_block(algorithm.body, environment, {})
    return replace(algorithm, body=body), expansion.diagnostics


class _MistakeError(Exception):
    """A mistake in a statement on whole arrays."""

    def __init__(self, diagnostic: Diagnostic) -> None:
        super().__init__(diagnostic.message)
        self.diagnostic = diagnostic


class _UnknownTypeError(Exception):
    """An expression has no known type; the checker reports the reason."""


class _Expansion:
    def __init__(self, algorithm: s.Algorithm) -> None:
        self.diagnostics: list[Diagnostic] = []
        self._make_name: NameMaker = make_name_maker(algorithm)

    def expand_block(
        self, block: tuple[Any, ...], environment: Environment, names: Names, mentioned: frozenset[str] = frozenset()
    ) -> tuple[Any, ...]:
        """Return the statements of a block.

        `names` are the values of the names that `let` gives, and `mentioned` the names in these values.
        """
        statements: list[Any] = []
        for statement in block:
            inside = environment.enter_body(statement)
            bodies = iter(
                [self.expand_block(inner, inside, names, mentioned) for inner in list_surface_blocks(statement)]
            )
            header = replace_blocks(statement, lambda inner: ())
            uses_arrays = mentions_arrays(header, environment)
            if uses_arrays:
                header = complete_slices(header, environment)
            wrong = uses_arrays and has_wrong_rank(header, environment)
            changed = replace_blocks(header, lambda inner, bodies=bodies: next(bodies))
            if uses_arrays and not wrong:
                statements += self._expand_statement(changed, environment, names)
            else:
                statements.append(changed)
            environment = environment.add_declared(changed)
            if isinstance(changed, s.Let) and changed.name not in mentioned:
                names = {**names, changed.name: changed.value}
                mentioned |= s.find_names(changed.value)
        return tuple(statements)

    def _expand_statement(self, statement: Any, environment: Environment, names: Names) -> tuple[Any, ...]:
        writer = _NestWriter(self._make_name, environment, names, statement.head)
        try:
            try:
                return writer.expand(statement)
            except _UnknownTypeError:
                return writer.isolate_unknown_name(statement)
        except _MistakeError as mistake:
            self.diagnostics.append(mistake.diagnostic)
            return (replace(statement, value=None) if isinstance(statement, s.Local) else s.Pass(span=statement.head),)


class _NestWriter:
    """Writes the loops and other core statements for one statement on whole arrays."""

    def __init__(self, make_name: NameMaker, environment: Environment, names: Names, span: Span) -> None:
        self._make_name = make_name
        self._environment = environment
        self._names = names
        self._span = span
        self._statements: list[Any] = []

    def expand(self, statement: Any) -> tuple[Any, ...]:
        """Return core statements for a statement, whose inner blocks are expanded already."""
        match statement:
            case s.Assign(target=target, op=op, value=value, atomic=False) if self._is_array(target):
                self._store_elements(target, op, value, statement)
            case s.Let(name=name, value=value) if is_rearranged(value) and self._is_array(value):
                # The core language has no such views.
                type_ = self._infer(value)
                self._emit(self._declare_array(name, type_.element, self._get_shape(value), None))
                self._store_elements(s.Name(name, span=statement.span), "=", value, statement)
            case s.Local(type=s.ArrayType(), value=value, when=None) if (
                value is not None and self._is_array(value) and not self._is_plain_view(value)
            ):
                self._emit(replace(statement, value=None))
                self._store_elements(s.Name(statement.name, span=statement.span), "=", value, statement)
            case s.Local() | s.Assign() | s.Invoke() | s.Return() | s.Loop():
                header = self._lift_arrays(replace_blocks(statement, lambda inner: ()))
                bodies = iter(s.list_blocks(statement))
                self._emit(replace_blocks(header, lambda inner: next(bodies)))
            case s.If(branches=(first, *rest)):
                condition = self._lift_arrays(first.condition)
                if rest and rest[0].condition is not None:
                    rest = self._expand_elif(statement.take_later_branches())
                self._emit(replace(statement, branches=(replace(first, condition=condition), *rest)))
            case s.While(condition=condition):
                self._emit_while(statement, self._lift_arrays(condition))
            case _:
                # Other statements hold no operation on arrays.
                self._emit(statement)
        return tuple(self._statements)

    def _expand_elif(self, statement: s.If) -> list[s.Branch]:
        """Return the branches after the first one; operations on arrays in their tests are done in an `else`."""
        inner = _NestWriter(self._make_name, self._environment, self._names, statement.span)
        statements = inner.expand(statement)
        if len(statements) == 1:
            return list(statements[0].branches)
        return [s.Branch(None, statements, span=statement.span)]

    def _emit_while(self, loop: s.While, condition: Any) -> None:
        """Write a `while`; the statements written so far compute values in its condition, and run before each test."""
        if any(isinstance(statement, s.Let) for statement in self._statements):
            self._refuse_shape("slices by data cannot stand in the condition of a `while`", loop.condition, None)
        self._statements = list(place_before_tests(loop, condition, self._statements))

    def isolate_unknown_name(self, statement: Any) -> tuple[Any, ...]:
        """Return a statement that only uses the unknown name in another one, so that the checker reports just that."""
        known = self._environment.names.keys() | self._environment.abbreviations.keys()
        unknown = next((node for node in s.find_nodes(statement, s.Name) if node.id not in known), None)
        if unknown is None or any(s.list_blocks(statement)):
            return (statement,)
        if isinstance(statement, s.Assign) and statement.value is unknown and unknown.id == "I":
            shape = self._get_shape(statement.target)
            if len(shape) == 2:
                text = f"eye({format_expression(shape[0])})"
                hint = propose_text(unknown.span, text, "the identity matrix is `{}`")
                raise _MistakeError(Diagnostic(UNKNOWN_NAME, "unknown name `I`", unknown.span, hint=hint))
        register = s.ScalarType("real", span=unknown.span)
        return (s.Local(self._make_name("number"), register, unknown, None, span=statement.span),)

    # Types
    def _infer(self, expr: Any) -> NameType:
        type_ = self._environment.infer(expr)
        if type_ is None:
            raise _UnknownTypeError
        return type_

    def _is_array(self, expr: Any) -> bool:
        type_ = self._environment.infer(expr)
        return type_ is not None and type_.is_array

    def _get_shape(self, expr: Any) -> Shape:
        shape = self._infer(expr).shape
        if shape is None:
            raise _UnknownTypeError
        return shape

    def _is_plain_view(self, expr: Any) -> bool:
        """Whether an array expression is a view other than `transpose(A)` and `diag(A)`."""
        return is_view(expr) and not is_rearranged(expr)

    def _have_equal_extents(self, left: Shape, right: Shape) -> bool:
        return all(find_difference(one, two, self._names) == 0 for one, two in zip(left, right, strict=True))

    def _has_shape(self, view: Any, shape: Shape) -> bool:
        extents = self._get_shape(view)
        return len(extents) == len(shape) and self._have_equal_extents(extents, shape)

    # Statements
    def _emit(self, statement: Any) -> None:
        self._statements.append(statement)
        self._environment = self._environment.add_declared(statement)

    def _make_array(self, element: str, shape: Shape, value: s.Expr | None = None) -> s.Name:
        """Declare a local array, and return its name."""
        name = self._make_name("array")
        self._emit(self._declare_array(name, element, shape, value))
        return s.Name(name, span=self._span)

    def _declare_array(self, name: str, element: str, shape: Shape, value: s.Expr | None) -> s.Local:
        type_ = s.ArrayType("int" if element == SIZE else element, shape, "rowmajor", span=self._span)
        return s.Local(name, type_, value, None, span=self._span)

    def _make_register(self, element: str, value: s.Expr, name: str | None = None) -> s.Name:
        name = name or self._make_name("number")
        type_ = s.ScalarType("real" if element.startswith("real") else "int", span=self._span)
        self._emit(s.Local(name, type_, value, None, span=self._span))
        return s.Name(name, span=value.span)

    def _emit_nest(
        self,
        shape: Shape,
        make_body: Callable[[Indices], tuple[Any, ...]],
        parallel: bool = True,
        falling: tuple[bool, ...] = (),
    ) -> None:
        """Write a nest of loops over all indices of a shape, which count down in the dimensions that are `falling`."""
        indices = tuple(s.Name(self._make_name("at"), span=self._span) for _ in shape)
        body = make_body(indices)
        falling = falling or (False,) * len(shape)
        for index, extent, down in zip(reversed(indices), reversed(shape), reversed(falling), strict=True):
            body = (self._make_loop(index, extent, body, parallel, down),)
        self._statements += body

    def _make_loop(
        self, index: s.Name, extent: s.Expr, body: tuple[Any, ...], parallel: bool, down: bool = False
    ) -> s.Loop:
        zero, one = (s.Integer(value, span=self._span) for value in (0, 1))
        lo, hi = (s.Binary("-", extent, one, span=self._span), zero) if down else (zero, extent)
        return s.Loop(index.id, lo, hi, None, down, parallel, body, span=self._span)

    def _store_elements(self, target: s.Name | s.Element, op: str, value: Any, statement: Any) -> None:
        """Write the statements that set each element of a view, or update it by `op`."""
        shape = self._get_shape(target)
        if self._environment.infer(value) is None:
            self._lift_arrays(value)
            raise _UnknownTypeError
        if op == "=" and self._store_data_slice(target, value):
            return
        if op == "=" and not self._is_array(value):
            self._emit(replace(statement, value=self._lift_arrays(value)))
            return
        if op == "=" and self._store_whole(target, value):
            return
        if op == "=" and self._is_plain_view(value):
            if not may_conflict(target, value, self._names) or not self._have_equal_extents(
                shape, self._require_rank(value, shape)
            ):
                self._emit(statement)
                return
            falling = find_falling_dimensions(target, value, self._names)
            if falling is not None:
                # Each element is read before it is set.
                self._emit_updates(target, op, self._prepare_value(value), parallel=False, falling=falling)
                return
        if op in ("*=", "/=") and self._is_array(value):
            self._require_same_rank(s.Binary(op[0], target, value, span=statement.span))
        plain = self._is_plain_view(value)
        expr = self._prepare_value(value, self._infer(target).element)
        if op == "=" and not plain and self._is_plain_view(expr):
            self._emit(s.Assign(target, op, expr, False, span=self._span))
            return
        self._emit_updates(target, op, self._conform_views(expr, shape, target))

    def _store_data_slice(self, target: s.Name | s.Element, value: Any) -> bool:
        """Write a fill or copy of a slice whose ends are data as a loop with counted iterations, else return False.

        The loop costs as much as the statement. A copy between slices with different ends is not written as a loop.
        """
        if not isinstance(target, s.Element) or not any(map(self._ends_at_data, target.subscripts)):
            return False
        slices = [part for part in target.subscripts if isinstance(part, s.Slice)]
        ends = [end for part in slices if self._ends_at_data(part) for end in (part.lo, part.hi)]
        if self._is_array(value):
            # Other ends are evaluated for each view of a copy.
            if not all(isinstance(end, s.Name | s.Integer) for end in ends):
                return False
            if not self._has_matching_ends(target, value):
                return False
        target = replace(target, subscripts=tuple(map(self._hoist_ends, target.subscripts)))
        if not self._is_array(value):
            value = self._hoist_number(value, self._infer(target).element)
        # The run checks that the slice lies in its array.
        self._emit(s.Let(self._make_name("view"), target, span=target.span))
        loops: list[tuple[s.Name, Any, Any]] = []
        places, sources = list[Any](), list[Any]()
        parts: tuple[Any, ...] = value.subscripts if isinstance(value, s.Element) else target.subscripts
        shape = self._environment.names[target.array].shape or ()  # type: ignore[union-attr]
        for part, source, extent in zip(target.subscripts, parts, shape, strict=True):
            if not isinstance(part, s.Slice):
                places.append(part)
                sources.append(self._hoist_number(source, "int") if parts is not target.subscripts else source)
                continue
            index = s.Name(self._make_name("at"), span=self._span)
            if self._ends_at_data(part):
                loops.append((index, part.lo, part.hi))
                places.append(index)
                sources.append(index)
            else:
                loops.append((index, s.Integer(0, span=part.span), measure_slice(part, extent)))
                assert isinstance(source, s.Slice)
                places.append(locate_entry(part, index))
                sources.append(locate_entry(source, index))
        copied = replace(value, subscripts=tuple(sources)) if self._is_array(value) else value
        body: tuple[Any, ...] = (
            s.Assign(replace(target, subscripts=tuple(places)), "=", copied, False, span=self._span),
        )
        for index, lo, hi in reversed(loops):
            body = (s.Loop(index.id, lo, hi, None, False, True, body, span=self._span),)
        self._statements += body
        return True

    def _hoist_ends(self, part: Any) -> Any:
        """Return a subscript whose data-dependent index or ends are stored in registers before the statement."""
        if not isinstance(part, s.Slice):
            return self._hoist_number(part, "int")
        if not self._ends_at_data(part):
            return part
        ends = {"start": part.lo, "end": part.hi}
        lo, hi = (self._hoist_number(end, "int", self._make_name(name, numbered=False)) for name, end in ends.items())
        return replace(part, lo=lo, hi=hi)

    def _ends_at_data(self, part: Any) -> bool:
        if not isinstance(part, s.Slice) or part.step is not None or part.by_length or None in (part.lo, part.hi):
            return False
        return any(map(self._has_free_data, (part.lo, part.hi)))

    def _has_free_data(self, expr: Any) -> bool:
        """Whether an expression has data that no declaration bounds."""
        if self._infer(expr).element == SIZE:
            return False
        arrays = (self._environment.names.get(node.array) for node in s.find_nodes(expr, s.Element))
        return (
            any(s.find_nodes(expr, s.Call))
            or any(self._infer(name).element != SIZE for name in s.find_nodes(expr, s.Name))
            or not all(array is not None and array.bounded for array in arrays)
        )

    def _has_matching_ends(self, target: s.Element, value: Any) -> bool:
        """Whether a copy is from another array, and its slices on both sides have equal ends where these are data."""
        if not isinstance(value, s.Element) or len(value.subscripts) != len(target.subscripts):
            return False
        if may_conflict(target, value, self._names) or find_base(target, self._names) == find_base(value, self._names):
            return False
        return all(
            isinstance(source, s.Slice) == isinstance(part, s.Slice)
            and (not self._ends_at_data(part) or (has_same_structure(part, source)))
            and (not isinstance(source, s.Slice) or self._ends_at_data(part) or not self._ends_at_data(source))
            for part, source in zip(target.subscripts, value.subscripts, strict=True)
        )

    def _emit_updates(
        self, target: Any, op: str, expr: Any, parallel: bool = True, falling: tuple[bool, ...] = ()
    ) -> None:
        """Write the nest of loops that sets each element of a view, or updates it by `op`."""
        if isinstance(target, s.Element):
            target = self._name_view_with_data(target)

        def make_body(at: Indices) -> tuple[Any, ...]:
            place: Any = select_element(target, at)
            return (s.Assign(place, op, self._select_element(expr, at), False, span=self._span),)

        self._emit_nest(self._get_shape(target), make_body, parallel, falling)

    def _store_whole(self, target: s.Name | s.Element, value: Any) -> bool:
        """Write a product, fill or call into the target itself if no operand overlaps it; False for other values."""
        operands = self._find_operands(value)
        if operands is None:
            return False
        base = find_base(target, self._names)
        separate = all(find_base(part, self._names) != base for part in operands if self._is_array(part))
        result = self._emit_whole_array(value, operands, target if separate else None)
        if result is not target:
            self._require_rank(result, self._get_shape(target))
            self._emit(s.Assign(target, "=", result, False, span=self._span))
        return True

    def _find_operands(self, expr: Any) -> list[Any] | None:
        """Return the operands, as views and numbers, of a product or of a call that makes an array; else None."""
        match expr:
            case s.Binary(op="@", left=left, right=right):
                return [self._prepare_operand(part) for part in (left, right)]
            case s.Call(arguments=arguments) if self._environment.infer_output(expr) is not None:
                return [self._lift_argument(part) for part in arguments]
            case s.Call() if self._environment.infer_filled(expr) is not None:
                return []
            case _:
                return None

    def _emit_whole_array(self, expr: Any, operands: list[Any], target: Any) -> Any:
        """Write a product, fill or call into the target, or a local array if that is None; return the array."""
        if isinstance(expr, s.Binary):
            return self._emit_product(operands[0], operands[1], expr, target)
        if self._environment.infer_output(expr) is not None:
            return self._emit_call(replace(expr, arguments=tuple(operands)), target)
        return self._fill_array(expr, target)

    def _fill_array(self, call: s.Call, target: Any) -> Any:
        """Write `zeros(n, m)`, `ones(n)` or `eye(n)`."""
        shape = self._get_shape(call)
        if target is None or not self._has_shape(target, shape):
            target = self._make_array("real", shape)
        number, one = s.Integer(int(call.function == "ones"), span=call.span), s.Integer(1, span=call.span)
        self._emit(s.Assign(target, "=", number, False, span=self._span))
        if call.function == "eye":

            def make_body(at: Indices) -> tuple[Any, ...]:
                place: Any = select_element(target, (*at, *at))
                return (s.Assign(place, "=", one, False, span=self._span),)

            self._emit_nest(shape[:1], make_body)
        return target

    def _emit_call(self, call: s.Call, target: Any) -> Any:
        """Write the call of an algorithm whose last parameter is the array that it sets; return that array."""
        type_ = self._environment.infer_output(call)
        if type_ is None or type_.shape is None:
            raise _UnknownTypeError
        place = self._make_array(type_.element, type_.shape) if target is None else target
        self._emit(s.Invoke(replace(call, arguments=(*call.arguments, place)), False, span=self._span))
        return place

    # Products
    def _prepare_operand(self, expr: Any) -> Any:
        """Return a view of an operand of a product."""
        self._require_array(expr)
        return self._materialise_view(self._prepare_value(expr))

    def _require_array(self, expr: Any) -> Shape:
        shape = self._infer(expr).shape
        if shape is None:
            self._refuse_shape(f"`@` multiplies arrays, and `{format_expression(expr)}` is a number", expr, "write `*`")
        return shape

    def _emit_product(self, left: Any, right: Any, product: s.Binary, target: Any) -> Any:
        """Write the product of two views into the target, or a local array where that is None; return the array."""
        first, second = self._get_shape(left), self._get_shape(right)
        if not (len(first) <= 2 and len(second) <= 2 and len(first) + len(second) > 2):
            ranks = f"arrays of {len(first)} and {len(second)} dimensions"
            self._refuse_shape(f"`@` multiplies matrices and vectors, not {ranks}", product, None)
        if not self._have_equal_extents(first[-1:], second[:1]):
            # The copy makes the checker and the run compare the extents.
            right = self._copy(right, (*first[-1:], *second[1:]))
        shape = (*first[:-1], *second[1:])
        element = self._infer(product).element
        if target is not None and not self._has_shape(target, shape):
            target = None
        place = self._make_array(element, shape) if target is None else target
        span = self._span

        def make_body(at: Indices) -> tuple[Any, ...]:
            inner = s.Name(self._make_name("at"), span=span)
            total = s.Name(self._make_name("sum"), span=span)
            rows, columns = at[: len(first) - 1], at[len(first) - 1 :]
            factors = select_element(left, (*rows, inner)), select_element(right, (inner, *columns))
            update = s.Assign(total, "+=", s.Binary("*", *factors, span=product.span), False, span=span)
            number = s.ScalarType("real" if element.startswith("real") else "int", span=span)
            return (
                s.Local(total.id, number, s.Integer(0, span=span), None, span=span),
                self._make_loop(inner, first[-1], (update,), parallel=False),
                s.Assign(select_element(place, at), "=", total, False, span=span),  # type: ignore[arg-type]
            )

        self._emit_nest(shape, make_body)
        return place

    # Operations element by element
    def _prepare_value(self, expr: Any, element: str = "real") -> Any:
        """Return an array expression whose operands are views and evaluated numbers; sizes are stored as `element`."""
        type_ = self._infer(expr)
        if not type_.is_array:
            return self._hoist_number(expr, element)
        operands = self._find_operands(expr)
        if operands is not None:
            return self._emit_whole_array(expr, operands, None)
        match expr:
            case s.Element():
                return self._name_view_with_data(expr)
            case s.Name() | s.Reshape():
                return expr
            case s.Call(arguments=(argument,)) if self._is_rearranged(expr):
                if len(self._infer(argument).shape or ()) != 2:
                    self._refuse_shape(
                        "only an array of two dimensions is transposed",
                        expr,
                        "the product of two vectors is `dot(x, y)`",
                    )
                return replace(expr, arguments=(self._materialise_view(self._prepare_value(argument)),))
            case s.Binary(op=op) if op in _OPERATORS:
                prepared = self._change_operands(expr, lambda part: self._prepare_value(part, element))
                self._require_same_rank(expr)
                return prepared
            case s.Call() if not self._works_by_elements(expr):
                raise _UnknownTypeError
            case _:
                pass
        return self._change_operands(expr, lambda part: self._prepare_value(part, element))

    def _is_rearranged(self, call: s.Call) -> bool:
        return is_rearranged(call) and self._environment.infer_output(call) is None

    def _works_by_elements(self, call: s.Call) -> bool:
        """Whether a call applies a function of numbers to the elements of arrays."""
        called = self._environment.algorithms.get(call.function)
        if called is None:
            return call.function in _FUNCTIONS or (call.function in ("min", "max") and len(call.arguments) > 1)
        return self._environment.maps_elements(call)

    def _require_same_rank(self, expr: s.Binary) -> None:
        left, right = (len(self._infer(part).shape or ()) for part in (expr.left, expr.right))
        if expr.op == "*" and min(left, right) > 0 and max(left, right) > 1:
            text = format_expression(replace(expr, op="@"))
            if left != right:
                message = "`*` is element by element; for the matrix product write `@`"
                self._refuse_shape(message, expr, propose_operator(expr.left, "*", " @ ", f"write `{text}`"))
            message = "`*` of two matrices may mean their product or the products of their elements"
            hint = propose_text(expr.span, text, "write `{}`, or multiply row by row in a loop", safe=False)
            self._refuse_shape(message, expr, hint)
        if expr.op == "^" and max(left, right) > 1:
            self._refuse_shape("`^` is the power of a number, not of a matrix", expr, "multiply by `@`")
        if min(left, right) > 0 and left != right:
            first, second = format_expression(expr.left), format_expression(expr.right)
            dimensions = [f"{rank} dimension{'s' * (rank > 1)}" for rank in (left, right)]
            self._refuse_shape(f"`{first}` has {dimensions[0]}, and `{second}` has {dimensions[1]}", expr, None)

    def _hoist_number(self, expr: Any, element: str, name: str | None = None) -> Any:
        """Return a number whose use is free, such as a name, or else a register that holds it, set before the nest."""
        expr = self._lift_arrays(expr)
        type_ = self._infer(expr)
        free = all(
            isinstance(node, s.Name | s.Integer | s.Real | s.Unary)
            or (isinstance(node, s.Binary) and type_.element == SIZE and node.op != "/")
            for node in s.iterate_nodes(expr)
        )
        if free:
            return expr
        return self._make_register(element if type_.element in (SIZE, "inf") else type_.element, expr, name)

    def _name_view_with_data(self, view: s.Element) -> Any:
        """Return a view whose bounds are sizes; one with bounds from data gets a name, so that these are read once."""
        parts = [part for part in view.subscripts if not isinstance(part, s.Slice)]
        for part in view.subscripts:
            if isinstance(part, s.Slice):
                parts += [bound for bound in (part.lo, part.hi, part.step) if bound is not None]
        if all(isinstance(part, s.Name) or self._infer(part).element == SIZE for part in parts):
            return view
        name = self._make_name("view")
        self._emit(s.Let(name, view, span=view.span))
        self._names = {**self._names, name: view}
        return s.Name(name, span=view.span)

    def _materialise_view(self, expr: Any, rearranged: bool = True) -> Any:
        """Return a prepared expression as a view: one with operations is stored in a local array.

        With `rearranged` it may be a transposed view or a diagonal.
        """
        if is_view(expr) and (rearranged or not is_rearranged(expr)):
            return expr
        place = self._make_array(self._infer(expr).element, self._get_shape(expr))
        self._emit_updates(place, "=", self._conform_views(expr, self._get_shape(expr), place))
        return place

    def _conform_views(self, expr: Any, shape: Shape, target: Any) -> Any:
        """Return a prepared expression whose views have a shape, and do not change while the target is set.

        Other views are copied first, to an array of that shape: the checker and the run compare the extents.
        """
        if is_view(expr) and self._is_array(expr):
            equal = self._have_equal_extents(shape, self._require_rank(expr, shape))
            return expr if equal and not may_conflict(target, expr, self._names) else self._copy(expr, shape)
        return self._change_operands(expr, lambda part: self._conform_views(part, shape, target))

    def _change_operands(self, expr: Any, change: Callable[[Any], Any]) -> Any:
        """Return an operation on arrays with `change` applied to its operands; a number stays unchanged."""
        match expr:
            case _ if not self._is_array(expr):
                return expr
            case s.Unary(operand=operand):
                return replace(expr, operand=change(operand))
            case s.Binary(left=left, right=right):
                return replace(expr, left=change(left), right=change(right))
            case s.Call(arguments=arguments):
                return replace(expr, arguments=tuple(map(change, arguments)))
            case _:
                raise _UnknownTypeError

    def _require_rank(self, view: Any, shape: Shape) -> Shape:
        """Return the shape of a view, which must have as many dimensions as another one."""
        extents = self._get_shape(view)
        if len(extents) != len(shape):
            message = f"an array of {len(extents)} dimensions cannot be stored in one of {len(shape)}"
            self._refuse_shape(message, view, None)
        return extents

    def _copy(self, view: Any, shape: Shape) -> Any:
        if is_rearranged(view) and view.function == "diag":
            return self._materialise_view(view, rearranged=False)
        if is_rearranged(view):
            return replace(view, arguments=(self._copy(view.arguments[0], shape[::-1]),))
        return self._make_array(self._infer(view).element, shape, view)

    def _select_element(self, expr: Any, at: Indices) -> Any:
        """Return the element of a prepared expression at some indices."""
        if is_view(expr) and self._is_array(expr):
            return select_element(expr, at)
        return self._change_operands(expr, lambda part: self._select_element(part, at))

    # Arrays in expressions of numbers
    def _lift_arrays(self, value: Any) -> Any:
        """Return a statement or an expression of numbers in which each array is a view."""

        def change_node(node: Node) -> Any:
            match node:
                case Comprehension():
                    return node
                case s.Binary(op="@", left=left, right=right):
                    ranks = [len(self._require_array(part)) for part in (left, right)]
                    return self._lift_arrays(s.Call("dot", (left, right), span=node.span)) if ranks == [1, 1] else None
                case s.Call(arguments=arguments):
                    if _REDUCTIONS.get(node.function) == len(arguments) and self._can_fuse(node):
                        return self._fuse_reduction(node)
                    self._require_writable_arguments(node)
                    lifted = rewrite_fields(replace(node, arguments=()), change_node)
                    return replace(lifted, arguments=tuple(self._lift_argument(part) for part in arguments))
                case _:
                    return None

        return rewrite_tree(value, change_node)

    def _require_writable_arguments(self, call: s.Call) -> None:
        """Refuse a computed array as an argument that the called algorithm writes to."""
        called = self._environment.algorithms.get(call.function)
        for parameter, argument in zip(() if called is None else called.parameters, call.arguments, strict=False):
            if parameter.mode != "in" and self._is_array(argument) and not self._is_plain_view(argument):
                what = f"`{call.function}` writes to `{parameter.name}`"
                message = f"{what}, and `{format_expression(argument)}` is not a part of an array"
                hint = "store it in a local array, and pass that"
                raise _MistakeError(Diagnostic(ARGUMENT_KIND, message, argument.span, hint=hint))

    def _lift_argument(self, argument: Any) -> Any:
        """Return an argument of a call as a number or a view; a computed array is stored in a local one before."""
        if not self._is_array(argument):
            return self._lift_arrays(argument)
        if self._is_plain_view(argument):
            return argument
        return self._materialise_view(self._prepare_value(argument), rearranged=False)

    def _can_fuse(self, call: s.Call) -> bool:
        """Whether a reduction over vectors has computed elements, or vectors whose extents have to be compared."""
        types = [self._environment.infer(part) for part in call.arguments]
        shapes = [type_.shape for type_ in types if type_ is not None and type_.shape is not None]
        if call.function in self._environment.algorithms or len(shapes) < len(types):
            return False
        if len({len(shape) for shape in shapes}) > 1:
            self._refuse_shape("`dot` takes two arrays of one shape", call, None)
        computed = not all(map(self._is_plain_view, call.arguments))
        return len(shapes[0]) == 1 and (computed or not self._have_equal_extents(shapes[0], shapes[-1]))

    def _fuse_reduction(self, call: s.Call) -> s.Call:
        """Return `sum(x - y)` as the sum of the differences of elements, without an array for these."""
        views = [self._prepare_value(part) for part in call.arguments]
        expr = views[0] if len(views) == 1 else s.Binary("*", views[0], views[1], span=call.span)
        shape = self._get_shape(views[0])
        index = s.Name(self._make_name("at"), span=call.span)
        unset = s.Name("", span=call.span)
        value = self._select_element(self._conform_views(expr, shape, unset), (index,))
        zero = s.Integer(0, span=call.span)
        elements = Comprehension(value, index.id, zero, shape[0], None, None, span=call.span)
        return s.Call("sum" if call.function == "dot" else call.function, (elements,), span=call.span)  # type: ignore[arg-type]

    def _refuse_shape(self, message: str, at: Any, hint: str | None) -> NoReturn:
        raise _MistakeError(Diagnostic(rules.SHAPE, message, at.span, hint=hint))
