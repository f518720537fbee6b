"""Track contexts of the lowering: scopes, views traced back to arrays, and bindings of callees.

Integer subscripts that are monotone in a loop pass each line of an array once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from archline.algebra import atoms as a
from archline.algebra.effort import TooComplexError
from archline.algebra.facts import Facts
from archline.algebra.polynomial import ONE, ZERO, Poly
from archline.ir.declarations import declared_scope
from archline.ir.ranges import extent_range, extent_value, int_range
from archline.ir.scope import NotStaticError, Scope, static_value
from archline.ir.tree import Array, Loop, Node, UntracedError, View
from archline.language import syntax as s
from archline.language.checking.scopes import MACHINE_SYMBOLS
from archline.language.model import BoundBy, Module
from archline.records import field, record

OPPOSITE_DIRECTION = {"rises": "falls", "falls": "rises"}
Terms = tuple[tuple[str, bool], ...]
"""Names, each with True if it is added and False if it is subtracted."""


@record(eq=False)
class EnclosingLoop:
    """A loop of the program, its variable in the loop tree, and the facts where it begins."""

    loop: s.Stmt
    variable: str
    facts: Facts = field(repr=False)
    integers: Mapping[str, Poly] = field(repr=False)


@record
class Stream:
    """A subscript that `rises`, `falls` or `stays` throughout a loop: a sum of names and a number.

    `first` is its initial value; None if data decides.
    """

    around: EnclosingLoop
    terms: Terms
    shift: int
    way: str
    first: Poly | None

    def within(self, extent: Poly) -> tuple[Poly, Poly]:
        """Bound the subscript in an extent; the interval may be empty, but not less than empty."""
        low, high = ZERO, extent - 1
        if self.first is not None:
            ends = (low if self.way == "falls" else self.first), (high if self.way == "rises" else self.first)
            if self.around.facts.nonnegative(ends[1] - ends[0] + 1):
                return ends
        return low, high


def monotone_stream(
    view: str, subscript: s.Expr, around: Sequence[EnclosingLoop], fixed: frozenset[str], values: Mapping[str, Poly]
) -> Stream | None:
    """Find the outermost loop in which a subscript of a view is monotone; None if there is none.

    A loop that recreates the view or its array does not count, as the subscript may restart. `fixed` are names
    that no loop changes, `values` those of names that do not depend on data.
    """
    parts = list(signed_terms(subscript))
    names = tuple(sorted(part for part in parts if isinstance(part, tuple)))
    if any(isinstance(part, s.Node) for part in parts):
        return None
    result: tuple[EnclosingLoop, set[str]] | None = None
    for enclosing in reversed(around):
        ways = {
            way if added else OPPOSITE_DIRECTION.get(way, way)
            for name, added in names
            if name not in fixed
            for way in (_direction_of_change(name, enclosing.loop),)
        }
        one_way = ways <= {"rises", "stays"} or ways <= {"falls", "stays"}
        if not one_way or _direction_of_change(view, enclosing.loop) != "stays":
            break
        result = enclosing, ways
    if result is None:
        return None
    outermost, ways = result
    (way,) = ways - {"stays"} or {"stays"}
    shift = sum(part for part in parts if isinstance(part, int))
    return Stream(outermost, names, shift, way, _initial_value(names, shift, outermost, values))


def _initial_value(names: Terms, shift: int, around: EnclosingLoop, values: Mapping[str, Poly]) -> Poly | None:
    """The value of a subscript at the beginning of a loop; None if data decides."""
    first = ZERO + shift
    for name, added in names:
        value = values.get(name) if _direction_of_change(name, around.loop) == "stays" else None
        value = around.integers.get(name) if value is None else value
        if value is None:
            return None
        first = first + value if added else first - value
    return first


def assigned_names(node: s.Node) -> Iterator[str]:
    """Yield the integers of the data that a statement assigns."""
    # The names of a `let` and of a loop are not data-dependent integers.
    return (name for statement in s.find(node, s.Simple) if not statement.named for name in statement.sets)


def signed_terms(expr: s.Expr, added: bool = True) -> Iterator[tuple[str, bool] | int | s.Expr]:
    """Yield the names that a sum adds and subtracts, its numbers, and its other terms."""
    match expr:
        case s.Integer(value=value):
            yield value if added else -value
        case s.Name(id=name):
            yield name, added
        case s.Binary(op="+" | "-" as op, left=left, right=right):
            yield from signed_terms(left, added)
            yield from signed_terms(right, added == (op == "+"))
        case _:
            yield expr


def _direction_of_change(name: str, loop: s.Stmt) -> str:
    """Tell how a loop changes an integer: rises, falls, stays, or set."""
    # A statement without a known increment may assign any value.
    steps = (statement.increment for statement in s.find(loop, s.Simple) if name in statement.sets)
    ways = {"set" if step is None else "rises" if step >= 0 else "falls" for step in steps}
    for inner in s.find(loop, s.Loop):
        if inner.variable == name:
            ways.add("set" if inner is not loop else "falls" if inner.down else "rises")
    return ways.pop() if len(ways) == 1 else "set" if ways else "stays"


def is_constant_in(names: Iterable[str], loop: s.Stmt) -> bool:
    """Whether a loop changes none of the names."""
    return all(_direction_of_change(name, loop) == "stays" for name in names)


def view_of(module: Module, expr: s.Expr, views: Mapping[str, View], scope: Scope) -> View:
    """Return the view that an expression denotes. Raises UntracedError."""
    match expr:
        case s.Name(id=name):
            return views[name]
        case s.Element(array=name):
            return _slice_view(expr, views[name], module.shapes[expr], scope)
        case s.Reshape(base=base, shape=shape):
            return _reshape_view(view_of(module, base, views, scope), shape, scope)
        case s.Integer() | s.Real() | s.Unary() | s.Binary() | s.Call():
            raise AssertionError(f"not a view: {expr}")


def _slice_view(expr: s.Element, base: View, shape: Sequence[s.Expr], scope: Scope) -> View:
    starts: list[Poly | None] = list(base.starts)
    axes: list[tuple[int, Poly]] = []
    extents: list[Poly] = []
    exact = base.exact
    own_extents = iter(shape)
    for piece, (dimension, step), extent_ in zip(expr.subscripts, base.axes, base.extents, strict=True):
        begin = piece.lo if isinstance(piece, s.Slice) else piece
        first = ZERO if begin is None else static_value_or_none(begin, scope)
        start = starts[dimension]
        starts[dimension] = None if start is None or first is None else start + step * first
        if isinstance(piece, s.Slice):
            stride = ONE if piece.step is None else static_value_or_none(piece.step, scope)
            written = next(own_extents)
            length = extent_
            if piece.lo is not None or piece.hi is not None:
                length, exact = max_extent(written, scope), exact and is_exact(written, scope)
            if stride is None:
                starts[dimension], stride = None, ONE
            elif piece.step is not None and length is extent_:
                length = a.ceil_div(extent_, stride)
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
    exact = base.exact and all(is_exact(extent, scope) for extent in shape)
    return View(base.array, base.starts, tuple(reversed(axes)), extents, exact)


def max_extent(expr: s.Expr, scope: Scope) -> Poly:
    """Evaluate an extent, or its upper bound. Raises UntracedError."""
    try:
        return extent_value(expr, scope)
    except NotStaticError as problem:
        interval = int_range(expr, scope)
        if interval is None:
            raise UntracedError(f"an extent: {problem.reason}", expr.span) from None
        return scope.facts.positive_part(interval[1])


def is_exact(expr: s.Expr, scope: Scope) -> bool:
    """Test whether an extent is known exactly."""
    try:
        extent_value(expr, scope)
    except NotStaticError:
        return False
    return True


def static_value_or_none(expr: s.Expr, scope: Scope) -> Poly | None:
    """Evaluate an expression; None if data decides it."""
    try:
        return static_value(expr, scope)
    except (NotStaticError, TooComplexError):
        return None


def shape_of(type: s.Type) -> tuple[tuple[s.Expr, ...] | None, str]:
    """The extents of an array type and its layout; None and "" for other types."""
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


def whole_view(array: Array) -> View:
    """Return the view of a whole array."""
    zeros = tuple(ZERO for _ in array.extents)
    return View(array, zeros, tuple((dimension, ONE) for dimension in range(len(zeros))), array.extents)


@record(eq=False)
class LoweringContext:
    """The context of a statement: names, enclosing loops, and the stack lines of local arrays below.

    If `certain`, every iteration of the loops executes the statement in which all of `when` are nonnegative.
    `integers` are data-dependent variables whose values are known here. No integer was assigned since the loop
    `rested` ended.
    """

    scope: Scope
    views: Mapping[str, View]
    loops: tuple[str, ...] = ()
    stack: Poly = ZERO
    algorithm: str = ""
    depth: int = 0
    around: tuple[EnclosingLoop, ...] = ()
    locals: tuple[Array, ...] = ()
    certain: bool = True
    when: tuple[Poly, ...] = ()
    integers: Mapping[str, Poly] = field(default_factory=dict)
    rested: EnclosingLoop | None = None

    @property
    def algorithm_top(self) -> bool:
        """True outside of loops and calls in the algorithm that is followed."""
        return not self.loops and not self.depth

    @property
    def always(self) -> bool:
        """True if every run executes the statement, for all sizes."""
        return self.certain and not self.when and not self.loops

    @property
    def knowing(self) -> Scope:
        """The scope with the known data-dependent integers."""
        return replace(self.scope, values={**self.integers, **self.scope.values}) if self.integers else self.scope

    def inside(self, scope: Scope, loop: s.Loop | s.While, variable: str, certain: bool) -> LoweringContext:
        """Return the context in the body of a loop."""
        around = (*self.around, EnclosingLoop(loop, variable, self.scope.facts, self.integers))
        loops, certain = (*self.loops, variable), self.certain and certain
        inner = replace(self, scope=scope, loops=loops, around=around, certain=certain)
        return replace(inner.after(loop), rested=None)

    def after(self, statement: s.Stmt) -> LoweringContext:
        """Return the context after a statement, or in a loop, without integers that it assigns."""
        changed, rested = set(assigned_names(statement)), self.rested
        if statement.iterates:
            rested = EnclosingLoop(statement, "", self.scope.facts, self.integers)
        elif changed:
            rested = None
        if rested is self.rested and not self.integers.keys() & changed:
            return self
        integers = {name: value for name, value in self.integers.items() if name not in changed}
        return replace(self, integers=integers, rested=rested)

    def under(self, conditions: tuple[Poly, ...] | None) -> LoweringContext:
        """Return the context under conditions; None for conditions on data."""
        if conditions is None:
            return replace(self, certain=False)
        return replace(self, when=(*self.when, *conditions))


# Calls
def bind_data_sizes(given: Sequence[Loop], body: tuple[Node, ...]) -> tuple[Node, ...]:
    """Wrap a body in one-iteration loops whose counters are data-dependent sizes."""
    for loop in reversed(given if body else ()):
        body = (replace(loop, body=body),)
    return body


def bind_call(
    call: s.Call, target: s.Algorithm, place: LoweringContext, fresh: Callable[[str], str]
) -> tuple[Scope, tuple[Loop, ...]]:
    """Return the scope of a callee, and loops for the sizes that data determines."""
    module, outer = place.scope.module, place.scope
    callee = declared_scope(module, target)
    values = {name: outer.values[name] for name in MACHINE_SYMBOLS if name in outer.values}
    size_loops: list[Loop] = []
    for name, bound in module.bindings[call].items():
        size = None if bound is None else static_value_or_none(bound, replace(outer, reads_offsets=True))
        if size is None:
            facts = size_loops[-1].inside if size_loops else outer.facts
            size_loops.append(_data_size_loop(name, call, target, outer.with_facts(facts), fresh))
            size = Poly.symbol(size_loops[-1].variable)
        values[name] = size
    below = {name: bound.substitute(values) for name, bound in callee.below.items()}
    for parameter, argument in zip(target.parameters, call.arguments, strict=True):
        known = isinstance(argument, s.Name) and argument.id in outer.segments
        # An entry of an offsets array stands for one value in all iterations; other int arrays may change.
        if parameter.name in callee.segments and place.loops and not known:
            raise UntracedError("array offsets that may change between iterations", argument.span)
    segments = {name: _rename_segments(segment, call, values) for name, segment in callee.segments.items()}
    facts = size_loops[-1].inside if size_loops else outer.facts
    return replace(outer.with_facts(facts), values=values, below=below, segments=segments), tuple(size_loops)


def _data_size_loop(name: str, call: s.Call, target: s.Algorithm, outer: Scope, fresh: Callable[[str], str]) -> Loop:
    """Build a one-iteration loop whose counter is a data-dependent size."""
    signature = outer.module.signatures[target]
    for binding in signature.sizes:
        if binding.name == name and binding.by is BoundBy.EXTENT:
            shape = outer.module.shapes[call.arguments[binding.parameter]]
            interval = extent_range(shape[binding.dimension], outer)
            if interval is not None:
                variable = fresh(name)
                least = Poly.constant(signature.at_least.get(name, 1))
                # If no size is allowed, the call is not made, and no fact may follow from it.
                most = outer.facts.maximum(interval.upper, least)
                inside = outer.facts.with_symbol(variable, (interval.lower, least), (most,))
                return Loop(variable, interval.lower, most + 1, ONE, outer.facts, inside, (), call.span)
    raise UntracedError(f"the data decides the size `{name}` of `{target.name}`", call.span)


def _rename_segments(segments: a.Segments, call: s.Call, values: Mapping[str, Poly]) -> a.Segments:
    """Rename the segments of a callee's offsets array for a call."""
    moved = segments.rebuilt(tuple(part.substitute(values) for part in segments.parts))
    return replace(moved, array=f"{segments.array} at {call.span}")
