"""Track contexts of the lowering: scopes, views as parts of arrays, and arguments of calls.

The module also finds data-dependent subscripts that are monotone in a loop, which pass over each line of a row once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from archline.algebra import atoms as a
from archline.algebra.effort import TooComplexError
from archline.algebra.facts import Facts
from archline.algebra.polynomial import ONE, ZERO, Poly
from archline.ir.declarations import declared_scope
from archline.ir.ranges import bound_extent, bound_integer, evaluate_extent
from archline.ir.scope import NotStaticError, Scope, static_value
from archline.ir.tree import Array, InlinedCall, Loop, Node, UntracedError, View
from archline.language import syntax as s
from archline.language.checking.scopes import MACHINE_SYMBOLS
from archline.language.model import BoundBy, Module
from archline.records import field, record

OPPOSITE_DIRECTION = {"rises": "falls", "falls": "rises"}
SignedNames = tuple[tuple[str, bool], ...]
"""Names, each with True if it is added and False if it is subtracted."""


@record(eq=False)
class EnclosingLoop:
    """A loop of the program, its variable in the loop tree, and the facts and the known integers where it begins."""

    loop: s.Stmt
    variable: str
    facts: Facts = field(repr=False)
    integers: Mapping[str, Poly] = field(repr=False)


@record
class MonotoneSubscript:
    """A subscript, the sum of `terms` and `shift`, that is monotone in a loop: its `way` is rises, falls or stays.

    `first` is its value when the loop begins, None if that depends on data.
    """

    around: EnclosingLoop
    terms: SignedNames
    shift: int
    way: str
    first: Poly | None

    def bound_subscript(self, extent: Poly) -> tuple[Poly, Poly]:
        """Bound the subscript in a row of the given extent; the interval has a length >= 0."""
        low, high = ZERO, extent - 1
        if self.first is not None:
            ends = (low if self.way == "falls" else self.first), (high if self.way == "rises" else self.first)
            if self.around.facts.nonnegative(ends[1] - ends[0] + 1):
                return ends
        return low, high


def find_monotone_subscript(
    view: str, subscript: s.Expr, around: Sequence[EnclosingLoop], fixed: frozenset[str], values: Mapping[str, Poly]
) -> MonotoneSubscript | None:
    """Find the outermost loop in which a subscript of a view is monotone; None if there is none.

    A loop that recreates the view or its array ends the search. `fixed` are names that no loop changes, `values`
    the expressions of names that do not depend on data.
    """
    parts = list(split_signed_terms(subscript))
    names = tuple(sorted(part for part in parts if isinstance(part, tuple)))
    if any(isinstance(part, s.Node) for part in parts):
        return None
    result: tuple[EnclosingLoop, set[str]] | None = None
    for enclosing in reversed(around):
        directions = {
            way if added else OPPOSITE_DIRECTION.get(way, way)
            for name, added in names
            if name not in fixed
            for way in (_find_direction_of_change(name, enclosing.loop),)
        }
        monotone = directions <= {"rises", "stays"} or directions <= {"falls", "stays"}
        if not monotone or _find_direction_of_change(view, enclosing.loop) != "stays":
            break
        result = enclosing, directions
    if result is None:
        return None
    outermost, directions = result
    (way,) = directions - {"stays"} or {"stays"}
    shift = sum(part for part in parts if isinstance(part, int))
    return MonotoneSubscript(outermost, names, shift, way, _evaluate_initial_subscript(names, shift, outermost, values))


def _evaluate_initial_subscript(
    names: SignedNames, shift: int, around: EnclosingLoop, values: Mapping[str, Poly]
) -> Poly | None:
    """Evaluate a subscript at the beginning of a loop; None if it depends on data."""
    first = ZERO + shift
    for name, added in names:
        value = values.get(name) if _find_direction_of_change(name, around.loop) == "stays" else None
        value = around.integers.get(name) if value is None else value
        if value is None:
            return None
        first = first + value if added else first - value
    return first


def find_assigned_integers(node: s.Node) -> Iterator[str]:
    """Yield the names of the data-dependent integers that a statement assigns."""
    # The names of a `let` and of a loop are not data-dependent integers.
    return (name for statement in s.find_nodes(node, s.Simple) if not statement.named_value for name in statement.sets)


def split_signed_terms(expr: s.Expr, added: bool = True) -> Iterator[tuple[str, bool] | int | s.Expr]:
    """Yield the terms of a sum: names with True if added, False if subtracted; signed numbers; other expressions."""
    match expr:
        case s.Integer(value=value):
            yield value if added else -value
        case s.Name(id=name):
            yield name, added
        case s.Binary(op="+" | "-" as op, left=left, right=right):
            yield from split_signed_terms(left, added)
            yield from split_signed_terms(right, added == (op == "+"))
        case _:
            yield expr


def _find_direction_of_change(name: str, loop: s.Stmt) -> str:
    """Return how a loop changes an integer: "rises", "falls", "stays", or "set" for all else."""
    # A statement without a known increment may assign any value.
    steps = (statement.increment for statement in s.find_nodes(loop, s.Simple) if name in statement.sets)
    ways = {"set" if step is None else "rises" if step >= 0 else "falls" for step in steps}
    for inner in s.find_nodes(loop, s.Loop):
        if inner.variable == name:
            ways.add("set" if inner is not loop else "falls" if inner.down else "rises")
    return ways.pop() if len(ways) == 1 else "set" if ways else "stays"


def is_constant_in(names: Iterable[str], loop: s.Stmt) -> bool:
    """Test whether a loop changes none of the names."""
    return all(_find_direction_of_change(name, loop) == "stays" for name in names)


def resolve_view(module: Module, expr: s.Expr, views: Mapping[str, View], scope: Scope) -> View:
    """Return the view that an expression denotes. Raises UntracedError."""
    match expr:
        case s.Name(id=name):
            return views[name]
        case s.Element(array=name):
            return _slice_view(expr, views[name], module.shapes[expr], scope)
        case s.Reshape(base=base, shape=shape):
            return _reshape_view(resolve_view(module, base, views, scope), shape, scope)
        case s.Integer() | s.Real() | s.Unary() | s.Binary() | s.Call():
            raise AssertionError(f"not a view: {expr}")


def _slice_view(expr: s.Element, base: View, shape: Sequence[s.Expr], scope: Scope) -> View:
    starts: list[Poly | None] = list(base.starts)
    axes: list[tuple[int, Poly]] = []
    extents: list[Poly] = []
    exact = base.exact
    slice_extents = iter(shape)
    for subscript, (dimension, step), base_extent in zip(expr.subscripts, base.axes, base.extents, strict=True):
        begin = subscript.lo if isinstance(subscript, s.Slice) else subscript
        first = ZERO if begin is None else static_value_or_none(begin, scope)
        start = starts[dimension]
        starts[dimension] = None if start is None or first is None else start + step * first
        if isinstance(subscript, s.Slice):
            stride = ONE if subscript.step is None else static_value_or_none(subscript.step, scope)
            slice_extent = next(slice_extents)
            length = base_extent
            if subscript.lo is not None or subscript.hi is not None:
                length, exact = max_extent(slice_extent, scope), exact and has_exact_extent(slice_extent, scope)
            if stride is None:
                starts[dimension], stride = None, ONE
            elif subscript.step is not None and length is base_extent:
                length = a.ceil_div(base_extent, stride)
            axes.append((dimension, step * stride))
            extents.append(length)
    return View(base.array, tuple(starts), tuple(axes), tuple(extents), exact)


def _reshape_view(base: View, shape: tuple[s.Expr, ...], scope: Scope) -> View:
    ((dimension, step),) = base.axes
    extents = tuple(max_extent(extent, scope) for extent in shape)
    axes: list[tuple[int, Poly]] = []
    for extent in reversed(extents):
        axes.append((dimension, step))
        step = step * extent
    exact = base.exact and all(has_exact_extent(extent, scope) for extent in shape)
    return View(base.array, base.starts, tuple(reversed(axes)), extents, exact)


def max_extent(expr: s.Expr, scope: Scope) -> Poly:
    """Evaluate an extent, or its upper bound. Raises UntracedError."""
    try:
        return evaluate_extent(expr, scope)
    except NotStaticError as problem:
        interval = bound_integer(expr, scope)
        if interval is None:
            raise UntracedError(f"an extent: {problem.reason}", expr.span) from None
        return scope.facts.positive_part(interval[1])


def has_exact_extent(expr: s.Expr, scope: Scope) -> bool:
    """Test whether an array extent has an exact value in sizes; else `max_extent` gives only an upper bound."""
    try:
        evaluate_extent(expr, scope)
    except NotStaticError:
        return False
    return True


def static_value_or_none(expr: s.Expr, scope: Scope) -> Poly | None:
    """Evaluate an expression; None if it depends on data or is too complex."""
    try:
        return static_value(expr, scope)
    except (NotStaticError, TooComplexError):
        return None


def read_array_type(type: s.Type) -> tuple[tuple[s.Expr, ...] | None, str]:
    """Return the extents and the layout of an array type; None and "" for other types."""
    match type:
        case s.ArrayType(shape=shape, layout=layout):
            return shape, layout
        case s.IndexArrayType(shape=shape):
            return shape, "rowmajor"
        case s.OffsetsType(count=count):
            one = s.Integer(1, span=count.span)
            return (s.Binary("+", count, one, span=count.span),), "rowmajor"
        case s.SizeType() | s.IndexType() | s.ScalarType() | s.OperatorType():
            return None, ""


def make_whole_view(array: Array) -> View:
    """Return the view of a whole array."""
    zeros = tuple(ZERO for _ in array.extents)
    return View(array, zeros, tuple((dimension, ONE) for dimension in range(len(zeros))), array.extents)


@record(eq=False)
class LoweringContext:
    """The context of a statement: its names, the loops around it, and the lines of the local arrays on the stack.

    The statement is executed in every iteration of the loops in which all of `when` and of `sure` are nonnegative, and
    in no iteration in which one of `when` is negative; if `sure` is None, data may skip it anywhere. `integers` maps
    data-dependent variables to their values where these are known. `rested` is the last loop before the statement, if
    no integer was assigned after it.
    """

    scope: Scope
    views: Mapping[str, View]
    loops: tuple[str, ...] = ()
    stack: Poly = ZERO
    called: InlinedCall | None = None
    around: tuple[EnclosingLoop, ...] = ()
    locals: tuple[Array, ...] = ()
    sure: tuple[Poly, ...] | None = ()
    when: tuple[Poly, ...] = ()
    integers: Mapping[str, Poly] = field(default_factory=dict)
    rested: EnclosingLoop | None = None

    @property
    def is_top_level(self) -> bool:
        """True in the body of the lowered algorithm itself, outside of its loops and of inlined calls."""
        return not self.loops and self.called is None

    @property
    def certain(self) -> bool:
        """True if every iteration in which all of `when` are nonnegative executes the statement."""
        return self.sure == ()

    @property
    def is_unconditional(self) -> bool:
        """True if every run executes the statement, for all sizes."""
        return self.certain and not self.when and not self.loops

    @property
    def known_scope(self) -> Scope:
        """The scope extended by the data-dependent integers whose values are known."""
        return replace(self.scope, values={**self.integers, **self.scope.values}) if self.integers else self.scope

    def inside_loop(
        self, scope: Scope, loop: s.Loop | s.While, variable: str, sure: tuple[Poly, ...] | None
    ) -> LoweringContext:
        """Return the context in the body of a loop, executed for certain where all of `sure` are nonnegative."""
        around = (*self.around, EnclosingLoop(loop, variable, self.scope.facts, self.integers))
        inner = replace(self, scope=scope, loops=(*self.loops, variable), around=around)
        return replace(inner.with_sure_conditions(sure).after(loop), rested=None)

    def with_sure_conditions(self, sure: tuple[Poly, ...] | None) -> LoweringContext:
        """Return the context of code that is certain to run where all of `sure` are nonnegative; None for nowhere."""
        return replace(self, sure=None if self.sure is None or sure is None else (*self.sure, *sure))

    def after(self, statement: s.Stmt) -> LoweringContext:
        """Return the context after a statement, or in the body of a loop, without the integers that it assigns."""
        changed, rested = set(find_assigned_integers(statement)), self.rested
        if statement.iterates:
            rested = EnclosingLoop(statement, "", self.scope.facts, self.integers)
        elif changed:
            rested = None
        if rested is self.rested and not self.integers.keys() & changed:
            return self
        integers = {name: value for name, value in self.integers.items() if name not in changed}
        return replace(self, integers=integers, rested=rested)

    def with_conditions(self, conditions: tuple[Poly, ...] | None) -> LoweringContext:
        """Return the context in which all of `conditions` are nonnegative; None stands for a condition on data."""
        if conditions is None:
            return self.with_sure_conditions(None)
        return replace(self, when=(*self.when, *conditions))


# Calls
def wrap_in_size_loops(given: Sequence[Loop], body: tuple[Node, ...]) -> tuple[Node, ...]:
    """Wrap a body in the loops `given`, of one iteration each, whose counters stand for data-dependent sizes."""
    for loop in reversed(given if body else ()):
        body = (replace(loop, body=body),)
    return body


def bind_call(
    call: s.Call, target: s.Algorithm, context: LoweringContext, fresh: Callable[[str], str]
) -> tuple[Scope, tuple[Loop, ...]]:
    """Return the scope of a callee in terms of its caller, and one-iteration loops for data-dependent sizes.

    Raises UntracedError.
    """
    module, outer = context.scope.module, context.scope
    callee = declared_scope(module, target)
    values = {name: outer.values[name] for name in MACHINE_SYMBOLS if name in outer.values}
    size_loops: list[Loop] = []
    for name, bound in module.bindings[call].items():
        size = None if bound is None else static_value_or_none(bound, replace(outer, reads_offsets=True))
        if size is None:
            facts = size_loops[-1].inside if size_loops else outer.facts
            size_loops.append(
                _build_data_size_loop(name, call, target, replace(context, scope=outer.with_facts(facts)), fresh)
            )
            size = Poly.symbol(size_loops[-1].variable)
        values[name] = size
    below = {name: bound.substitute(values) for name, bound in callee.below.items()}
    for parameter, argument in zip(target.parameters, call.arguments, strict=True):
        known = isinstance(argument, s.Name) and argument.id in outer.segments
        # An entry of an offsets array stands for one value in all iterations; other int arrays may change.
        if parameter.name in callee.segments and context.loops and not known:
            raise UntracedError("array offsets passed to a call in a loop may change between iterations", argument.span)
    segments = {name: _rename_segments(segment, call, values) for name, segment in callee.segments.items()}
    facts = size_loops[-1].inside if size_loops else outer.facts
    return replace(outer.with_facts(facts), values=values, below=below, segments=segments), tuple(size_loops)


def _build_data_size_loop(
    name: str, call: s.Call, target: s.Algorithm, context: LoweringContext, fresh: Callable[[str], str]
) -> Loop:
    """Build a loop of one iteration whose counter is a data-dependent size, with its bounds. Raises UntracedError."""
    outer = context.scope
    signature = outer.module.signatures[target]
    for binding in signature.sizes:
        if binding.name == name and binding.by is BoundBy.EXTENT and not binding.offset:
            shape = outer.module.shapes[call.arguments[binding.parameter]]
            interval = bound_extent(shape[binding.dimension], outer)
            if interval is not None:
                variable = fresh(name)
                minimum = Poly.constant(signature.at_least.get(name, 1))
                # If the interval has no allowed size, the call is not made, and its facts must not contradict.
                maximum = outer.facts.maximum(interval.upper, minimum)
                inside = outer.facts.with_symbol(variable, (interval.lower, minimum), (maximum,))
                bounds = interval.lower, maximum + 1
                return Loop(variable, *bounds, ONE, outer.facts, inside, (), call.span, called=context.called)
    raise UntracedError(f"the size `{name}` of `{target.name}` depends on data", call.span)


def _rename_segments(segments: a.Segments, call: s.Call, values: Mapping[str, Poly]) -> a.Segments:
    """Return the segments of a callee's offsets array in terms of its caller, under a name unique to the call."""
    substituted = segments.rebuilt(tuple(part.substitute(values) for part in segments.parts))
    return replace(substituted, array=f"{segments.array} at {call.span}")
