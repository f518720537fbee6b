"""Failures that are certain at some sizes, whatever the data: runs are followed as far as the sizes decide them.

Of a loop the first and the last iteration are followed, of what the data decides nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from archline.analysis.sampling import offsets_rules
from archline.ir.scope import declared
from archline.language import syntax as s
from archline.language.call_graph import component, reachable, recurses
from archline.language.checking.points import Frame, Free, Requirement, Sampler
from archline.language.diagnostics import Diagnostic, Rule
from archline.language.evaluate import EvaluationError, evaluate_static, holds
from archline.language.format_expressions import format_expression, format_type
from archline.language.model import Module
from archline.language.type_rules import SHAPE

ENDLESS = Rule(
    "AL302",
    "recursion that does not end",
    """
    Every run makes the call, or no size is smaller in a call that runs of some sizes make whatever the data, so that
    these runs never end and have no cost.

    ```
    algorithm f(x: inout real[n]):
        f(x)                     # write: f(x[0..n//2]), under a condition such as `if n > 1:`
    ```

    Some size becomes smaller in every recursive call, or the header says what does: `decreases n + m, k`.
    """,
)
OUTSIDE = Rule(
    "AL303",
    "access outside an array",
    """
    A subscript or slice certainly lies outside its array, at the sizes that the message names and at all larger ones
    that were examined. A run at these sizes was executed and stopped there. Accesses that depend on the data, or are
    outside at some sizes only, are found when the program runs (AL501, AL502).

    ```
    for i in 0..n:
        y[i] = x[i + 1]          # the last i reads x[n]
    ```
    """,
)
SCALES = (1, 2, 3, 4, 5, 6, 8, 9, 12, 16, 17, 24, 32, 33, 64, 65)
ENOUGH = 6
"""So many of the larger sizes must fail alike before a failure at small sizes is reported."""
MAX_STATEMENTS, MAX_DEPTH = 2_000, 50
Extents = tuple[int | None, ...]


@dataclass(frozen=True, eq=False)
class Failure:
    """What stops a run of an algorithm at sizes."""

    rule: Rule
    node: s.Node
    message: str
    hint: str
    sizes: Mapping[str, int]

    @property
    def diagnostic(self) -> Diagnostic:
        """The failure as it is reported."""
        return Diagnostic(self.rule, self.message, self.node.span, hint=self.hint)


class _StopError(Exception):
    """A followed run ends: by a failure of the kinds above, or (None) by another or where it is too long to follow."""

    def __init__(self, failure: Failure | None = None) -> None:
        super().__init__()
        self.failure = failure


def endless_recursion(module: Module, algorithm: s.Algorithm) -> Diagnostic | None:
    """The recursive call for which runs do not end: every run, or those at some sizes."""
    if not recurses(module, algorithm):
        return None
    call = _always_made(module, algorithm)
    if call is not None:
        message = "every run makes this recursive call, so that none ends"
        return Diagnostic(ENDLESS, message, call.span, hint="add a case that ends the recursion, such as `if n <= 1:`")
    runs = _Runs(module, algorithm)
    failures = (runs.at(point)[0] for point in _points(module, algorithm))
    return next((each.diagnostic for each in failures if each is not None and each.rule is ENDLESS), None)


def misplaced_accesses(module: Module, algorithm: s.Algorithm) -> tuple[Failure, ...]:
    """The accesses outside arrays, or arguments of other shapes, that stop all runs of large sizes, smallest first.

    All are at one place of the program. None where there are `index` parameters, which callers may restrict as they
    like.
    """
    signature = module.signatures[algorithm]
    if signature.indices or algorithm.grid:
        return ()
    runs = _Runs(module, algorithm)
    found: list[Failure] = []
    for point in reversed(_points(module, algorithm)):
        failure, complete = runs.at(point)
        if failure is not None and failure.rule is not ENDLESS and (not found or failure.node is found[0].node):
            found.append(failure)
        elif complete or failure is not None:
            break
    return tuple(reversed(found)) if len(found) >= ENOUGH or not signature.sizes else ()


def _always_made(module: Module, algorithm: s.Algorithm) -> s.Call | None:
    """The recursive call that every run comes to, where every run of what is called then goes on likewise."""
    endless = {algorithm, *reachable(module, algorithm)}
    while ended := [each for each in endless if _next(module, each.body, endless) is None]:
        endless.difference_update(ended)
    call = _next(module, algorithm.body, endless)
    while call is not None and not component(module, algorithm):
        target = module.targets[call]
        assert isinstance(target, s.Algorithm)
        algorithm, call = target, _next(module, target.body, endless)
    return call


def _next(module: Module, body: tuple[s.Stmt, ...], endless: set[s.Algorithm]) -> s.Call | None:
    """The first call of one of the algorithms that is made however the body is run; of branches one in each."""
    for statement in body:
        match statement:
            case s.Simple():
                found = next((each for each in statement.calls if module.targets.get(each) in endless), None)
            case s.If(branches=branches) if branches[-1].condition is None:
                calls = [_next(module, branch.body, endless) for branch in branches]
                found = None if None in calls else calls[0]
            case _:
                # What is run by a loop, a spawn or one branch only need not be made.
                continue
        if found is not None:
            return found
    return None


# Sizes
def _points(module: Module, algorithm: s.Algorithm) -> list[Mapping[str, int]]:
    """Sizes that the `where` allows, the smallest first; equal ones come before those that differ."""
    signature = module.signatures[algorithm]
    names = (*signature.size_names, *signature.indices)
    implied = offsets_rules(declared(module, algorithm))

    def allowed(values: tuple[int, ...]) -> bool:
        point = dict(zip(names, values, strict=True))
        return (
            all(point[name] >= least for name, least in signature.at_least.items())
            and all(holds(fact, point) is not False for fact in algorithm.where)
            and all(rule(point) for rule in implied)
        )

    frames: list[Frame] = [Free(name, signature.at_least.get(name)) for name in names]
    frames += [Requirement(fact) for fact in algorithm.where]
    drawn = (tuple(point[name] for name in names) for point in Sampler().points(frames))
    candidates = dict.fromkeys((*_ladder(len(names)), *drawn))
    chosen = sorted(filter(allowed, candidates), key=lambda each: (len(set(each)), max(each, default=0), sum(each)))
    return [dict(zip(names, values, strict=True)) for values in chosen]


def _ladder(count: int) -> Iterator[tuple[int, ...]]:
    """Sizes of one magnitude: equal, rising, falling and doubling."""
    for scale in SCALES:
        yield (scale,) * count
        yield tuple(scale + place for place in range(count))
        yield tuple(scale + place for place in reversed(range(count)))
        yield tuple(scale << place for place in range(count))


# Runs
@dataclass
class _Frame:
    """The names of a block whose values, or extents, the sizes decide."""

    values: dict[str, int]
    extents: dict[str, Extents] = field(default_factory=dict)

    def inside(self) -> _Frame:
        """A block within this one."""
        return _Frame(dict(self.values), dict(self.extents))

    def value(self, expr: s.Expr) -> int | None:
        """The value; None where the data decides it. A run stops where it has none."""
        for node in s.nodes(expr):
            if isinstance(node, s.Element) or (isinstance(node, s.Name) and node.id not in self.values):
                return None
        try:
            return evaluate_static(expr, self.values)
        except EvaluationError:
            raise _StopError from None

    def all(self, exprs: Iterable[s.Expr]) -> Extents:
        """The values of several expressions."""
        return tuple(map(self.value, exprs))

    def define(self, name: str, value: int | None) -> None:
        """Give a name a value; None where the data decides it."""
        self.values.pop(name, None)
        if value is not None:
            self.values[name] = value


class _Runs:
    """Runs of an algorithm at several sizes; calls that several of them make are followed once."""

    def __init__(self, module: Module, outermost: s.Algorithm) -> None:
        self._module, self._outermost = module, outermost
        self._sizes: Mapping[str, int] = {}
        self._left = MAX_STATEMENTS
        self._active: list[tuple[s.Algorithm, Mapping[str, int]]] = []
        self._done: set[tuple[s.Algorithm, tuple[tuple[str, int], ...]]] = set()

    def at(self, sizes: Mapping[str, int]) -> tuple[Failure | None, bool]:
        """The failure of the run at sizes; and whether it was followed to its end."""
        self._sizes = sizes
        self._active.clear()
        try:
            self._follow(self._outermost, sizes)
        except _StopError as stopped:
            return stopped.failure, False
        return None, True

    def _follow(self, algorithm: s.Algorithm, sizes: Mapping[str, int]) -> None:
        key = algorithm, tuple(sizes.items())
        if key in self._done or algorithm.grid:
            return
        if len(self._active) == MAX_DEPTH:
            raise _StopError
        self._active.append((algorithm, sizes))
        frame = _Frame(dict(sizes))
        frame.extents = {each.name: frame.all(_shape(each)) for each in algorithm.parameters}
        self._block(algorithm.body, frame)
        self._active.pop()
        self._done.add(key)

    def _fail(self, rule: Rule, node: s.Node, message: str, hint: str) -> None:
        sizes = ", ".join(f"{name} = {value}" for name, value in self._sizes.items())
        own = self._active[-1][0] is self._outermost
        place = f"at {sizes}" if own else f"in a run of `{self._outermost.name}` at {sizes}"
        raise _StopError(Failure(rule, node, f"{message}, {place}" if sizes else message, hint, self._sizes))

    def _block(self, body: tuple[s.Stmt, ...], outer: _Frame) -> None:
        frame = outer.inside()
        for statement in body:
            self._left -= 1
            if self._left < 0:
                raise _StopError
            self._statement(statement, frame)

    def _statement(self, statement: s.Stmt, frame: _Frame) -> None:
        match statement:
            case s.Let(name=name, value=value):
                self._evaluate(value, frame)
                if self._module.is_view(value):
                    frame.extents[name] = self._extents(value, frame)
                else:
                    frame.define(name, frame.value(value))
            case s.Local(name=name, type=type_, value=value):
                self._evaluate(value, frame)
                frame.define(name, None)
                frame.extents[name] = frame.all(type_.shape) if isinstance(type_, s.ArrayType) else ()
            case s.While(condition=condition):
                # Whether it goes on is for the data to say: no iteration is certain.
                self._evaluate(condition, frame)
            case s.Assume(facts=facts):
                if any(holds(fact, frame.values) is False for fact in facts):
                    raise _StopError
            case s.Loop():
                self._loop(statement, frame)
            case s.If(branches=branches):
                self._if(branches, frame)
            case s.Simple():
                for each in s.evaluated(statement):
                    self._evaluate(each, frame)
            case s.Split():
                # Nothing here is evaluated by one processor alone.
                pass

    def _loop(self, loop: s.Loop, frame: _Frame) -> None:
        self._evaluate(loop.lo, frame)
        self._evaluate(loop.hi, frame)
        lo, hi = frame.value(loop.lo), frame.value(loop.hi)
        step = 1 if loop.step is None else frame.value(loop.step)
        if lo is None or hi is None or step is None:
            return
        if step < 1:
            raise _StopError
        values = range(lo, hi - 1, -step) if loop.down else range(lo, hi, step)
        for value in dict.fromkeys((*values[:1], *values[-1:])):
            inner = frame.inside()
            inner.define(loop.variable, value)
            self._block(loop.body, inner)

    def _if(self, branches: tuple[s.Branch, ...], frame: _Frame) -> None:
        for branch in branches:
            taken: bool | None = True
            if branch.condition is not None:
                self._evaluate(branch.condition, frame)
                taken = holds(branch.condition, frame.values)
            if taken:
                self._block(branch.body, frame)
            if taken is not False:
                # Either it is taken, or the data decides it.
                return

    # Expressions
    def _evaluate(self, expr: s.Expr | None, frame: _Frame) -> None:
        """The accesses and calls of an evaluation."""
        match expr:
            case s.Unary(operand=inner) | s.Reshape(base=inner) | s.Binary(op="and" | "or", left=inner):
                # The right side of `and` and `or` may not be evaluated.
                self._evaluate(inner, frame)
            case s.Binary(left=left, right=right):
                self._evaluate(left, frame)
                self._evaluate(right, frame)
            case s.Call(arguments=arguments):
                for argument in arguments:
                    self._evaluate(argument, frame)
                target = self._module.targets.get(expr)
                if isinstance(target, s.Algorithm):
                    self._call(expr, target, frame)
            case s.Element(subscripts=subscripts):
                extents = frame.extents.get(expr.array, ())
                for subscript, extent in zip(subscripts, extents, strict=False):
                    self._subscript(expr, subscript, extent, frame)
            case s.Integer() | s.Real() | s.Name() | None:
                pass

    def _subscript(self, access: s.Element, subscript: s.Expr | s.Slice, extent: int | None, frame: _Frame) -> None:
        if not isinstance(subscript, s.Slice):
            self._evaluate(subscript, frame)
            lo = frame.value(subscript)
            hi, found = None if lo is None else lo + 1, f"index {lo}"
        elif subscript.hi is not None:
            lo = 0 if subscript.lo is None else frame.value(subscript.lo)
            hi = frame.value(subscript.hi)
            if subscript.by_length and hi is not None:
                hi = None if lo is None else lo + hi
            found = f"{lo}..{hi}"
        else:
            return
        if lo is None or hi is None or extent is None or 0 <= lo <= hi <= extent:
            return
        message = f"`{format_expression(access)}` is outside `{self._declaration(access.array)}`"
        hint = "subscripts are at least 0 and below the extent; a slice ends there at the latest"
        self._fail(OUTSIDE, subscript, f"{message} ({found}, extent {extent})", hint)

    def _declaration(self, array: str) -> str:
        """The array with its type, where it is a parameter."""
        parameters = self._active[-1][0].parameters
        return next((f"{each.name}: {format_type(each.type)}" for each in parameters if each.name == array), array)

    def _extents(self, view: s.Expr, frame: _Frame) -> Extents:
        if isinstance(view, s.Name):
            return frame.extents.get(view.id, ())
        return frame.all(self._module.shapes.get(view, ()))

    # Calls
    def _call(self, call: s.Call, callee: s.Algorithm, frame: _Frame) -> None:
        bindings = self._module.bindings[call]
        sizes = {name: value for name, expr in bindings.items() if expr and (value := frame.value(expr)) is not None}
        if len(sizes) < len(bindings):
            return
        least = self._module.signatures[callee].at_least
        if any(sizes[name] < value for name, value in least.items()):
            raise _StopError
        if any(holds(fact, sizes) is False for fact in callee.where):
            raise _StopError
        self._check_shapes(call, callee, sizes, frame)
        self._check_decrease(call, callee, sizes)
        self._follow(callee, sizes)

    def _check_shapes(self, call: s.Call, callee: s.Algorithm, sizes: dict[str, int], frame: _Frame) -> None:
        for parameter, argument in zip(callee.parameters, call.arguments, strict=True):
            expected, found = _Frame(sizes).all(_shape(parameter)), self._extents(argument, frame)
            for one, other in zip(expected, found, strict=False):
                if one is not None and other is not None and one != other:
                    shown = f"`{parameter.name}: {format_type(parameter.type)}` of `{callee.name}`"
                    message = f"`{format_expression(argument)}` does not fit {shown} (extent {other} for {one})"
                    self._fail(SHAPE, argument, message, "pass a slice that fits, or state a `where` about the sizes")

    def _check_decrease(self, call: s.Call, callee: s.Algorithm, sizes: dict[str, int]) -> None:
        before = next((values for each, values in reversed(self._active) if each is callee), None)
        if before is None or self._decreases(callee, sizes, before):
            return
        hint = "pass less in the call, such as the slice `x[0..n//2]`, or say in the header what `decreases`"
        self._fail(ENDLESS, call, f"no size of `{callee.name}` is smaller in this recursive call", hint)

    def _decreases(self, callee: s.Algorithm, sizes: Mapping[str, int], before: Mapping[str, int]) -> bool:
        """Whether a call may be one of a recursion that ends, by what the header declares, or else by its sizes."""
        if callee.decreases:
            pairs = zip(*(_Frame(dict(each)).all(callee.decreases) for each in (sizes, before)), strict=True)
            differ = next(((x, y) for x, y in pairs if x is None or y is None or x != y), (0, 0))
            return differ[0] is None or differ[1] is None or differ[0] < differ[1]
        signature = self._module.signatures[callee]
        smaller = any(sizes[name] < before[name] for name in signature.size_names)
        # A changed index may decrease by a measure that no header declares.
        return smaller or any(sizes[name] != before[name] for name in signature.indices)


def _shape(parameter: s.Parameter) -> tuple[s.Expr, ...]:
    match parameter.type:
        case s.ArrayType(shape=shape) | s.IndexArrayType(shape=shape):
            return shape
        case s.OffsetsType(count=count):
            return (s.Binary("+", count, s.Integer(1, span=count.span), span=count.span),)
        case s.SizeType() | s.IndexType() | s.ScalarType() | s.OperatorType():
            return ()
