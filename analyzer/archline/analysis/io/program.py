"""From an algorithm to its accesses in serial order: loops stay loops, calls of algorithms are followed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from archline.algebra import atoms as a
from archline.algebra.facts import Facts
from archline.algebra.polynomial import ONE, ZERO, Poly, TooComplexError
from archline.analysis.data_loops import data_range, extent, extent_range, int_range, rises
from archline.analysis.io.accesses import Access, Array, Loop, Node, View, contiguous_dimension
from archline.analysis.io.conditions import negated, wanted
from archline.analysis.io.streams import Around, stream
from archline.analysis.loops import static_range
from archline.analysis.recursion.graph import component
from archline.analysis.scope import (
    NotStaticError,
    Scope,
    declared,
    floor_of_bound,
    static_value,
    with_fact,
    without_condition,
)
from archline.language import syntax as s
from archline.language.model import BoundBy, Module, ViewType
from archline.language.source import Span

MAX_ACCESSES = 400
LINE = Poly.symbol("L")


Iteration = tuple[Poly, Poly, Poly, Poly, Facts, bool]
"""The least counter, the greatest one and 1, the most iterations, the loop variable's value, what holds inside, and
whether every counter of the range has its iteration."""


class UntracedError(Exception):
    """Accesses that this version cannot follow: why, and where."""

    def __init__(self, reason: str, span: Span) -> None:
        super().__init__(reason)
        self.reason, self.span = reason, span


@dataclass(frozen=True, eq=False)
class Place:
    """Where in the program we are: what names mean, the loops around, and the lines of local arrays below.

    Where `certain`, every iteration of the loops comes here in which all of `when` are at least 0.
    """

    scope: Scope
    views: Mapping[str, View]
    loops: tuple[str, ...] = ()
    stack: Poly = ZERO
    algorithm: str = ""
    depth: int = 0
    around: tuple[Around, ...] = ()
    locals: tuple[Array, ...] = ()
    certain: bool = True
    when: tuple[Poly, ...] = ()

    @property
    def algorithm_top(self) -> bool:
        """Whether no loop or call lies between here and the algorithm that is followed."""
        return not self.loops and not self.depth

    def inside(self, scope: Scope, loop: s.Loop | s.While, variable: str, certain: bool) -> Place:
        """In the body of a loop."""
        around, certain = (*self.around, (loop, variable)), self.certain and certain
        return replace(self, scope=scope, loops=(*self.loops, variable), around=around, certain=certain)

    def under(self, conditions: tuple[Poly, ...] | None) -> Place:
        """Where conditions hold; None where more than sizes and loop variables decide."""
        if conditions is None:
            return replace(self, certain=False)
        return replace(self, when=(*self.when, *conditions))


@dataclass(eq=False)
class Program:
    """Follows an algorithm; `calls` are the algorithms that are being followed."""

    module: Module
    names: dict[str, int] = field(default_factory=dict)
    _count: int = 0

    def trace(self, algorithm: s.Algorithm) -> tuple[Scope, tuple[Node, ...]]:
        """The scope of the algorithm's body and its accesses. Raises UntracedError."""
        scope = declared(self.module, algorithm)
        if algorithm.grid:
            raise UntracedError("the costs of algorithms on a grid are not derived in this version", algorithm.span)
        views: dict[str, View] = {}
        for parameter in algorithm.parameters:
            shape, layout = shape_of(parameter.type)
            if shape is not None:
                extents = tuple(self.extent(each, scope) for each in shape)
                views[parameter.name] = whole_view(Array(parameter.name, extents, layout))
        self.names = dict.fromkeys(scope.values, 1)
        place = Place(scope, views, algorithm=algorithm.name)
        return scope, tuple(self.block(algorithm.body, place))

    def made(self, array: Array) -> None:
        """A local array is declared."""

    # Statements
    def block(self, body: tuple[s.Stmt, ...], place: Place) -> Iterator[Node]:
        """The accesses of statements in order."""
        for statement in body:
            after = self._after(statement, place)
            yield from self._statement(statement, place, after)
            place = after

    def _statement(self, statement: s.Stmt, place: Place, after: Place) -> Iterator[Node]:
        match statement:
            case s.Let(value=value) if not self.is_view(value):
                yield from self.reads(value, place)
            case s.Let(value=value):
                yield from self._bounds_of(value, place)
            case s.Return(value=value):
                yield from self.reads(value, place)
            case s.Local(type=type, value=value):
                if value is not None and isinstance(type, s.ArrayType):
                    yield from self._filled(after.views[statement.name], value, place, statement)
                elif value is not None:
                    yield from self.reads(value, place)
            case s.Assign():
                yield from self._assign(statement, place)
            case s.Invoke(call=call):
                yield from self.reads(call, place)
            case s.Loop():
                yield from self._loop(statement, place)
            case s.While():
                yield from self._while(statement, place)
            case s.If(branches=branches):
                yield from self._if(branches, place)
            case s.Sync() | s.Pass() | s.Assume():
                pass
            case s.Costs(amounts=amounts):
                if any(metric == "io" for _, metric in amounts):
                    raise UntracedError("declared io is not added up in this version", statement.span)
            case s.Transfer() | s.Communicate() | s.Split():
                raise UntracedError("the costs of communication are not derived in this version", statement.span)

    def _after(self, statement: s.Stmt, place: Place) -> Place:
        """The place behind a statement: what it names, declares and assumes."""
        match statement:
            case s.Let(name=name, value=value) if self.is_view(value):
                return replace(place, views={**place.views, name: self.view(value, place)})
            case s.Let(name=name, value=value):
                try:
                    found = place.scope.facts.simplify(static_value(value, place.scope))
                except NotStaticError:
                    return replace(place, scope=place.scope.without_value(name))
                return replace(place, scope=place.scope.with_value(name, found))
            case s.Local(name=name, type=s.ArrayType(shape=shape, layout=layout)):
                return self._declare(name, shape, layout, place)
            case s.Local(name=name):
                return replace(place, scope=place.scope.without_value(name))
            case s.Assume(facts=assumed):
                facts = place.scope.facts
                for fact in assumed:
                    facts = with_fact(facts, fact, place.scope)
                return replace(place, scope=place.scope.with_facts(facts))
        return place

    def _declare(self, name: str, shape: tuple[s.Expr, ...], layout: str, place: Place) -> Place:
        """The place behind the declaration of a local array."""
        extents = tuple(self.extent(each, place.scope) for each in shape)
        exact = all(_is_exact(each, place.scope) for each in shape)
        loops = frozenset(place.loops)
        moves = _placing(extents, place) & loops
        varies = any(each.names & loops for each in extents) or any(each.within for each in place.locals)
        within = loops if moves or varies or not exact else frozenset()
        array = Array(name, extents, layout, True, place.stack, moves, within=within, beneath=place.locals)
        self.made(array)
        views = {**place.views, name: replace(whole_view(array), exact=exact)}
        return replace(place, views=views, stack=place.stack + _rows(array), locals=(*place.locals, array))

    def _assign(self, assign: s.Assign, place: Place) -> Iterator[Node]:
        target, value = assign.target, assign.value
        if self.is_view(target):
            yield from self._bounds_of(target, place)
            yield from self._filled(self.view(target, place), value, place, assign)
            return
        yield from self.reads(value, place)
        if isinstance(target, s.Element):
            yield from self._element(target, place)

    def _filled(self, target: View, value: s.Expr, place: Place, node: s.Node) -> Iterator[Node]:
        """The loop nest over the elements of a view that is filled or copied to."""
        source = None
        if self.is_view(value):
            yield from self._bounds_of(value, place)
            source = self.view(value, place)
        else:
            yield from self.reads(value, place)
        facts = place.scope.facts
        opened: list[tuple[str, Poly]] = []
        for extent_ in target.extents:
            name = self._fresh("e")
            opened.append((name, facts.positive_part(extent_)))
            facts = facts.with_symbol(name, (ZERO,), (extent_ - 1,))
        subscripts = tuple(Poly.symbol(name) for name, _ in opened)
        here = replace(place, certain=place.certain and target.exact)
        body: tuple[Node, ...] = tuple(
            self._access(view, subscripts, node.span, here) for view in (source, target) if view is not None
        )
        around = place.scope.facts
        chain = []
        for name, count in opened:
            inner = around.with_symbol(name, (ZERO,), (count - 1,))
            chain.append((name, count, around, inner))
            around = inner
        for name, count, outer, inner in reversed(chain):
            body = (Loop(name, ZERO, count, count, outer, inner, body, node.span),)
        yield from body

    # Loops and branches
    def _loop(self, loop: s.Loop, place: Place) -> Iterator[Node]:
        for part in (loop.lo, loop.hi, loop.step):
            if part is not None:
                yield from self.reads(part, place)
        name = self._fresh(loop.variable)
        scope = place.scope
        lo, hi, trips, value, inside, certain = self._range(replace(loop, variable=name), scope)
        inner = replace(scope.with_facts(inside), values={**scope.values, loop.variable: value})
        body = tuple(self.block(loop.body, place.inside(inner, loop, name, certain)))
        if body:
            yield Loop(name, lo, hi, trips, scope.facts, inside, body, loop.span)

    def _range(self, loop: s.Loop, scope: Scope) -> Iteration:
        """The range of the counter, the most iterations, the variable's value, and what is known inside."""
        try:
            found = static_range(loop, scope)
            return found.lo, found.hi, found.trips, found.value, found.inside, True
        except NotStaticError as problem:
            segment = None if loop.down or loop.step is not None else self._segment(loop, scope)
            if segment is not None:
                return segment
            known = data_range(loop, scope)
            if known is None:
                raise UntracedError(f"the bounds of this loop: {problem.reason}", loop.span) from None
            lo, hi = known.first, known.last + 1
            inside = scope.facts.with_symbol(loop.variable, (lo,), (known.last,))
            counter = Poly.symbol(loop.variable)
            return lo, hi, known.trips.upper, lo + known.last - counter if loop.down else counter, inside, False

    def _segment(self, loop: s.Loop, scope: Scope) -> Iteration | None:
        """A range between two entries of an offsets array, the second no less than the first."""
        reading = replace(scope, reads_offsets=True)
        try:
            lo, hi = static_value(loop.lo, reading), static_value(loop.hi, reading)
        except NotStaticError:
            return None
        trips = a.as_gaps(hi - lo)
        if not rises(hi - lo, scope.facts) and not scope.facts.nonnegative(trips):
            return None
        inside = scope.facts.with_symbol(loop.variable, (lo,), (hi - 1,))
        return lo, hi, trips, Poly.symbol(loop.variable), inside, True

    def _while(self, loop: s.While, place: Place) -> Iterator[Node]:
        try:
            limit = floor_of_bound(static_value(loop.limit, place.scope), place.scope.facts)
        except NotStaticError as problem:
            raise UntracedError(f"the bound of this while: {problem.reason}", loop.span) from None
        name = self._fresh("while")
        trips = place.scope.facts.positive_part(limit) + 1
        inside = place.scope.facts.with_symbol(name, (ZERO,), (trips - 1,))
        inner = place.inside(place.scope.with_facts(inside), loop, name, False)
        body = (*self.reads(loop.condition, inner), *self.block(loop.body, inner))
        if body:
            # The condition is tested once more than the body runs.
            yield Loop(name, ZERO, trips, trips, place.scope.facts, inside, body, loop.span)

    def _if(self, branches: tuple[s.Branch, ...], place: Place) -> Iterator[Node]:
        for branch in branches:
            scope = place.scope
            if branch.condition is None:
                yield from self.block(branch.body, place)
                return
            yield from self.reads(branch.condition, place)
            taken = scope.with_facts(with_fact(scope.facts, branch.condition, scope))
            held = place.under(wanted(branch.condition, scope))
            yield from self.block(branch.body, replace(held, scope=taken))
            left = scope.with_facts(without_condition(scope.facts, branch.condition, scope))
            place = replace(place.under(wanted(negated(branch.condition), scope)), scope=left)

    # Expressions
    def reads(self, expr: s.Expr, place: Place) -> Iterator[Node]:
        """What evaluating an expression reads, calls of algorithms included."""
        match expr:
            case s.Element():
                yield from self._element(expr, place)
            case s.Unary(operand=operand):
                yield from self.reads(operand, place)
            case s.Binary(op=op, left=left, right=right):
                yield from self.reads(left, place)
                yield from self.reads(right, place.under(None) if op in ("and", "or") else place)
            case s.Call(arguments=arguments):
                for argument in arguments:
                    yield from (
                        self._bounds_of(argument, place) if self.is_view(argument) else self.reads(argument, place)
                    )
                target = self.module.targets.get(expr)
                if isinstance(target, s.Algorithm):
                    yield from self.call(expr, target, place)

    def _bounds_of(self, expr: s.Expr, place: Place) -> Iterator[Node]:
        """What the bounds of a view read."""
        match expr:
            case s.Element(subscripts=subscripts):
                for each in subscripts:
                    parts = (each.lo, each.hi, each.step) if isinstance(each, s.Slice) else (each,)
                    for part in parts:
                        if part is not None:
                            yield from self.reads(part, place)
            case s.Reshape(base=base, shape=shape):
                yield from self._bounds_of(base, place)
                for part in shape:
                    yield from self.reads(part, place)

    def _element(self, expr: s.Element, place: Place) -> Iterator[Node]:
        subscripts: list[Poly | None] = []
        for each in expr.subscripts:
            assert not isinstance(each, s.Slice)
            yield from self.reads(each, place)
            subscripts.append(_static(each, place.scope))
        view = place.views[expr.array]
        access = self._access(view, tuple(subscripts), expr.span, place)
        yield replace(access, stream=self._stream(expr, subscripts, place))

    def _stream(self, expr: s.Element, subscripts: Sequence[Poly | None], place: Place) -> str | None:
        """The loop in which an element of a row that the data picks moves one way."""
        view, along = place.views[expr.array], 0
        (*rows, last) = range(len(subscripts))
        if view.array.layout == "colmajor" and rows:
            last, *rows = range(len(subscripts))
        free = [each for each in rows if subscripts[each] is None]
        along = contiguous_dimension(view.array)
        if subscripts[last] is not None or free or not view.axes or view.axes[last] != (along, ONE):
            return None
        subscript = expr.subscripts[last]
        assert not isinstance(subscript, s.Slice)
        found = stream(expr.array, subscript, place.around, place.scope.fixed)
        moved = {name for each in subscripts if each is not None for name in each.names}
        names = [variable for _, variable in place.around]
        if found is None or moved & set(names[names.index(found) :]):
            return None
        return found

    def _access(self, view: View, subscripts: tuple[Poly | None, ...], span: Span, place: Place) -> Access:
        self._count += 1
        if self._count > MAX_ACCESSES:
            raise UntracedError(f"more than {MAX_ACCESSES} places of the program access arrays", span)
        certain = place.certain and view.exact
        return Access(view.array, view.place(subscripts), span, certain=certain, when=place.when)

    # Views
    def is_view(self, expr: s.Expr) -> bool:
        return isinstance(self.module.types.get(expr), ViewType)

    def view(self, expr: s.Expr, place: Place) -> View:
        """The view that an expression is."""
        match expr:
            case s.Name(id=name):
                return place.views[name]
            case s.Element(array=name):
                return self._sliced(expr, place.views[name], place.scope)
            case s.Reshape(base=base, shape=shape):
                return self._reshaped(self.view(base, place), shape, place.scope)
        raise AssertionError(f"not a view: {expr}")

    def _sliced(self, expr: s.Element, base: View, scope: Scope) -> View:
        starts: list[Poly | None] = list(base.starts)
        axes: list[tuple[int, Poly]] = []
        extents: list[Poly] = []
        exact = base.exact
        shape = iter(self.module.shapes[expr])
        for piece, (dimension, step), extent_ in zip(expr.subscripts, base.axes, base.extents, strict=True):
            begin = piece.lo if isinstance(piece, s.Slice) else piece
            first = ZERO if begin is None else _static(begin, scope)
            start = starts[dimension]
            starts[dimension] = None if start is None or first is None else start + step * first
            if isinstance(piece, s.Slice):
                own = ONE if piece.step is None else _static(piece.step, scope)
                written = next(shape)
                length = extent_
                if piece.lo is not None or piece.hi is not None:
                    length, exact = self.extent(written, scope), exact and _is_exact(written, scope)
                if own is None:
                    starts[dimension], own = None, ONE
                elif piece.step is not None and length is extent_:
                    length = a.ceil_div(extent_, own)
                axes.append((dimension, step * own))
                extents.append(length)
        return View(base.array, tuple(starts), tuple(axes), tuple(extents), exact)

    def _reshaped(self, base: View, shape: tuple[s.Expr, ...], scope: Scope) -> View:
        ((dimension, step),) = base.axes
        extents = tuple(self.extent(each, scope) for each in shape)
        axes: list[tuple[int, Poly]] = []
        for each in reversed(extents):
            axes.append((dimension, step))
            step = step * each
        exact = base.exact and all(_is_exact(each, scope) for each in shape)
        return View(base.array, base.starts, tuple(reversed(axes)), extents, exact)

    def extent(self, expr: s.Expr, scope: Scope) -> Poly:
        """An extent, or the most that it can be."""
        try:
            return extent(expr, scope)
        except NotStaticError as problem:
            known = int_range(expr, scope)
            if known is None:
                raise UntracedError(f"an extent: {problem.reason}", expr.span) from None
            return scope.facts.positive_part(known[1])

    # Calls
    def call(self, call: s.Call, target: s.Algorithm, place: Place) -> Iterator[Node]:
        if component(self.module, target):
            raise UntracedError(f"io of recursion (`{target.name}`) is not derived in this version", call.span)
        views = {
            parameter.name: self.view(argument, place)
            for parameter, argument in zip(target.parameters, call.arguments, strict=True)
            if self.is_view(argument)
        }
        scope, given = self.callee(call, target, place)
        loops = (*place.loops, *(each.variable for each in given))
        # What is passed by value does not change in the callee's loops: only those count there.
        inner = replace(
            place,
            scope=scope,
            views=views,
            loops=loops,
            algorithm=target.name,
            depth=place.depth + 1,
            around=(),
            certain=place.certain and not given,
        )
        body = tuple(self.block(target.body, inner))
        yield from self.sized(given, body)

    def sized(self, given: Sequence[Loop], body: tuple[Node, ...]) -> tuple[Node, ...]:
        """A body under sizes that the data gives: each is the counter of a loop of one iteration."""
        for loop in reversed(given if body else ()):
            body = (replace(loop, body=body),)
        return body

    def callee(self, call: s.Call, target: s.Algorithm, place: Place) -> tuple[Scope, tuple[Loop, ...]]:
        """What names mean in an algorithm that is called, and the sizes that the data gives."""
        own, outer = declared(self.module, target), place.scope
        values = {name: outer.values[name] for name in ("P", "Z", "L", "K")}
        given: list[Loop] = []
        for name, bound in self.module.bindings[call].items():
            found = None if bound is None else _static(bound, replace(outer, reads_offsets=True))
            if found is None:
                facts = given[-1].inside if given else outer.facts
                given.append(self._given(name, call, target, outer.with_facts(facts)))
                found = Poly.symbol(given[-1].variable)
            values[name] = found
        below = {name: bound.substitute(values) for name, bound in own.below.items()}
        self._require_constant_offsets(call, target, own, place)
        segments = {name: self._segments(each, call, values) for name, each in own.segments.items()}
        facts = given[-1].inside if given else outer.facts
        return replace(outer.with_facts(facts), values=values, below=below, segments=segments), tuple(given)

    def _given(self, name: str, call: s.Call, target: s.Algorithm, outer: Scope) -> Loop:
        """A size that the data gives, as a loop of one iteration whose counter it is."""
        signature = self.module.signatures[target]
        for binding in signature.sizes:
            if binding.name == name and binding.by is BoundBy.EXTENT:
                extent = self.module.shapes[call.arguments[binding.parameter]][binding.dimension]
                known = extent_range(extent, outer)
                if known is not None:
                    variable = self._fresh(name)
                    least = Poly.constant(signature.at_least.get(name, 1))
                    inside = outer.facts.with_symbol(variable, (known.lower, least), (known.upper,))
                    return Loop(variable, known.lower, known.upper + 1, ONE, outer.facts, inside, (), call.span)
        raise UntracedError(f"only the data tells the size `{name}` of `{target.name}`", call.span)

    def _require_constant_offsets(self, call: s.Call, target: s.Algorithm, own: Scope, place: Place) -> None:
        """Entries of offsets stand for one value each, whatever loops do: arrays of ints may hold others each time."""
        for parameter, argument in zip(target.parameters, call.arguments, strict=True):
            known = isinstance(argument, s.Name) and argument.id in place.scope.segments
            if parameter.name in own.segments and place.loops and not known:
                raise UntracedError("offsets that may be others in each iteration", argument.span)

    def _segments(self, known: a.Segments, call: s.Call, values: Mapping[str, Poly]) -> a.Segments:
        """What is known of offsets in an algorithm that is called: another array each time."""
        moved = known.rebuilt(tuple(part.substitute(values) for part in known.parts))
        return replace(moved, array=f"{known.array} at {call.span}")

    def _fresh(self, name: str) -> str:
        """A name that no other loop has."""
        self.names[name] = self.names.get(name, 0) + 1
        return name if self.names[name] == 1 else f"{name}'{self.names[name]}"


def _is_exact(expr: s.Expr, scope: Scope) -> bool:
    """Whether an extent is known, not only the most that it can be."""
    try:
        extent(expr, scope)
    except NotStaticError:
        return False
    return True


def _static(expr: s.Expr, scope: Scope) -> Poly | None:
    try:
        return static_value(expr, scope)
    except (NotStaticError, TooComplexError):
        return None


def shape_of(type: s.Type) -> tuple[tuple[s.Expr, ...] | None, str]:
    """The extents of an array and its layout; None and "" where the type is none of an array."""
    match type:
        case s.ArrayType(shape=shape, layout=layout):
            return shape, layout
        case s.IndexArrayType(shape=shape):
            return shape, "rowmajor"
        case s.OffsetsType(count=count):
            one = s.Integer(1, span=count.span)
            return (s.Binary("+", count, one, span=count.span),), "rowmajor"
    return None, ""


def whole_view(array: Array) -> View:
    """All of an array."""
    zeros = tuple(ZERO for _ in array.extents)
    return View(array, zeros, tuple((dimension, ONE) for dimension in range(len(zeros))), array.extents)


def _placing(extents: tuple[Poly, ...], place: Place) -> frozenset[str]:
    """What decides where the rows of a local array lie: what is below, and how long rows are."""
    names = place.stack.names
    if len(extents) > 1:
        names = names.union(*(each.names for each in extents))
    return names


def _rows(array: Array) -> Poly:
    """The lines of a local array: rows of whole lines."""
    *rows, words = array.extents if array.layout != "colmajor" else reversed(array.extents)
    lines = a.ceil_div(words, LINE)
    for each in rows:
        lines = lines * each
    return lines
