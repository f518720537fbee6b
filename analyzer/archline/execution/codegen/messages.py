"""Statements of processors on a grid: messages, collectives, calls along axes, where data starts and ends, splits.

The function of an algorithm on a grid is a generator: it yields each step, and is sent what the step received. Its
counters are up to date whenever it yields, so that the costs of a path can be told.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from archline.execution import run_rules as rules
from archline.execution.codegen.conditions import condition
from archline.execution.codegen.elements import read_register
from archline.execution.codegen.integers import atom, integer
from archline.execution.codegen.scope import Function
from archline.execution.codegen.values import Linear, Register, Static, View
from archline.execution.codegen.views import view
from archline.execution.slots import NAME_LIMIT
from archline.language import syntax as s
from archline.language.format_expressions import format_expression
from archline.language.model import Kind


def number_steps(fn: Function, algorithm: s.Algorithm) -> None:
    """Number what communicates. The k-th `send` in the text has the number of the k-th `receive`."""
    fn.numbers.update(numbered(algorithm))


def numbered(algorithm: s.Algorithm) -> dict[s.Node, int]:
    """The numbers of what communicates in an algorithm; those of calls and of collective operations differ."""
    counts = {"exchange": 0, "send": 0, "receive": 0}
    numbers: dict[s.Node, int] = {}
    for node in s.nodes(algorithm.body):
        if isinstance(node, s.Communicate) and node.operation in counts:
            counts[node.operation] += 1
            numbers[node] = 2 * counts[node.operation] - (node.operation == "exchange")
        elif isinstance(node, s.Communicate | s.Invoke):
            numbers[node] = len(numbers)
    return numbers


def calls_by_number(algorithm: s.Algorithm) -> dict[int, s.Node]:
    """The calls and the collective operations of an algorithm by number."""
    steps = ("exchange", "send", "receive")
    calls = {node: number for node, number in numbered(algorithm).items()
             if not (isinstance(node, s.Communicate) and node.operation in steps)}  # fmt: skip
    return {number: node for node, number in calls.items()}


def define_grid(fn: Function, algorithm: s.Algorithm) -> None:
    """Declare P and the coordinates; the extents of the axes are those of the group given."""
    fn.emit("n_P = grid.size")
    fn.define("P", Static("n_P", NAME_LIMIT, 1))
    for place, axis in enumerate(algorithm.grid):
        fn.axes[axis.name] = place
        fn.emit(f"g{place} = grid.coordinates[{place}]")
        fn.emit(f"e{place} = grid.ranks.shape[{place}]")
        fn.define(axis.name, Static(f"g{place}", NAME_LIMIT, 0, f"e{place}"))


def check_grid(fn: Function, algorithm: s.Algorithm) -> None:
    """Check the extents of the axes, once the sizes are known."""
    for place, axis in enumerate(algorithm.grid):
        wanted = atom(fn, integer(fn, axis.extent))
        text = format_expression(axis.extent)
        message = f"the axis `{axis.name}` of `{algorithm.name}` has {{0}} processors, and `{text}` is {{1}}"
        site = fn.site(rules.GRID, axis.span, message)
        fn.check(f"e{place} != {wanted}", site, f"e{place}", wanted, "call=call")


def message(fn: Function, node: s.Communicate) -> None:
    """An exchange, a send or a receive: one step."""
    clauses = {clause.keyword: clause for clause in node.clauses}
    sent = node.buffer if node.operation != "receive" else None
    received = node.buffer if node.operation == "receive" else None
    if "into" in clauses:
        received = clauses["into"].values[0]
    _settle(fn)
    unset = fn.site(rules.UNSET, node.span, f"`{_shown(sent)}` is sent with words that are not set")
    to, source = fn.temp("None", "to"), fn.temp("None", "of")
    payload, words = fn.temp("None", "x"), fn.temp("None", "w")
    place = ""
    if "to" in clauses:
        with _guarded(fn, clauses["to"]):
            fn.emit(f"{to} = {_partner(fn, clauses['to'])}")
            if sent is not None:
                fn.emit(f"{payload} = {_payload(fn, sent)}")
    if "from" in clauses:
        with _guarded(fn, clauses["from"]):
            fn.emit(f"{source} = {_partner(fn, clauses['from'])}")
            if received is not None:
                place, count = _target(fn, received)
                fn.emit(f"{words} = {count}")
    number = fn.numbers[node]
    # Sends and receives of one processor pair in their order, exchanges within their iteration.
    iteration = tuple_text(fn.iteration if node.operation == "exchange" else ())
    step = f"grid.step({number}, {iteration}, {to}, {payload}, {source}, {words}, {unset})"
    got = fn.temp(f"yield {step}", "y")
    if received is not None:
        with fn.indented(f"if {got} is not None:", node.span):
            _deliver(fn, received, place, got)


def _shown(expr: s.Expr | None) -> str:
    return format_expression(expr) if expr is not None else ""


def _settle(fn: Function) -> None:
    """Make the counters true, since a step may end the path that they belong to."""
    fn.settle()
    fn.cut()


@contextmanager
def _guarded(fn: Function, clause: s.Clause) -> Iterator[None]:
    """Lines under the clause's condition, which costs nothing."""
    with fn.uncounted():
        if clause.when is None:
            yield
        else:
            test = condition(fn, clause.when)
            with fn.indented(f"if {test}:", clause.span):
                yield


def _partner(fn: Function, clause: s.Clause) -> str:
    coordinates = [atom(fn, integer(fn, value)) for value in clause.values]
    text = "a partner's coordinate is {0}, and the axis has {1} processors"
    site = fn.site(rules.PARTNER, clause.span, text)
    axes = ", ".join(str(place) for place in _own_axes(fn))
    return f"{fn.group}.partner(({', '.join(coordinates)},), ({axes},), {site})"


def _own_axes(fn: Function) -> list[int]:
    """The places of the grid's own axes, without the groups of splits."""
    return [fn.axes[axis] for axis in fn.algorithm_axes]


def _payload(fn: Function, sent: s.Expr) -> str:
    if fn.module.is_view(sent):
        return place_text(view(fn, sent))
    register, name = _register(fn, sent)
    return f"grid.processor.word({read_register(fn, name, register)}, {int(register.kind is Kind.REAL)})"


def _register(fn: Function, expr: s.Expr) -> tuple[Register, s.Name]:
    assert isinstance(expr, s.Name)
    return fn.register(expr.id), expr


def _target(fn: Function, received: s.Expr) -> tuple[str, str]:
    """The buffer that a message is received into, and its words."""
    if not fn.module.is_view(received):
        return "", "1"
    given = view(fn, received)
    return fn.temp(place_text(given), "z"), " * ".join(given.extents)


def _deliver(fn: Function, received: s.Expr, place: str, got: str) -> None:
    if fn.module.is_view(received):
        fn.emit(f"grid.processor.write({place}, {got})")
        return
    register, _ = _register(fn, received)
    fn.emit(f"{register.code} = grid.processor.number({got}, {int(register.kind is Kind.REAL)})")
    if register.flag is not None:
        fn.emit(f"{register.flag} = 1")


def tuple_text(parts: Iterable[str]) -> str:
    """A tuple, written."""
    return f"({''.join(f'{part}, ' for part in parts)})"


def place_text(given: View) -> str:
    """A view as `grid.Place`."""
    extents = ", ".join(given.extents)
    match given.place:
        case Linear(strides):
            by = ", ".join(strides)
        case where:
            by = ", ".join((where.row, where.column, *where.rows, *where.columns))
    return f"({int(given.element is Kind.REAL)}, {given.base}, ({extents},), ({by},))"


# Calls
def group_of(fn: Function, node: s.Node, callee: s.Algorithm, along: tuple[s.Name, ...]) -> str:
    """The group of processors that a call joins: along some axes, else all of the caller's."""
    places = [fn.axes[axis.id] for axis in along] if along else _own_axes(fn)
    flat = int(len(callee.grid) == 1)
    return f"{fn.group}.enter({fn.numbers[node]}, {tuple_text(fn.iteration)}, {tuple_text(map(str, places))}, {flat})"


def buffer(fn: Function, argument: s.Expr, written: bool) -> tuple[View, Callable[[], None]]:
    """An argument for a parameter `any[w]`: a vector, and what is to be done after the call."""
    if not fn.module.is_view(argument):
        return _register_buffer(fn, argument, written)
    given = view(fn, argument)
    if len(given.extents) == 1 and isinstance(given.place, Linear):
        return given, lambda: None
    place = fn.temp(place_text(given), "z")
    base, stride, top = fn.name("b"), fn.name("s"), fn.name("top")
    fn.emit(f"{base}, {stride}, {top} = grid.flat({place}, {fn.frame.top})")
    fn.frame = replace(fn.frame, top=top)
    words = fn.temp(" * ".join(given.extents), "w")
    after = (lambda: fn.emit(f"grid.unflat({place}, {base})")) if written else lambda: None
    return View(given.element, base, (words,), Linear((stride,))), after


def _register_buffer(fn: Function, argument: s.Expr, written: bool) -> tuple[View, Callable[[], None]]:
    """A register stands in a word on top of the stack during the call."""
    register, _ = _register(fn, argument)
    real = int(register.kind is Kind.REAL)
    pool = "R" if real else "I"
    base = fn.frame.top
    top = fn.temp(f"grid.processor.reserve({base}, 1)", "top")
    fn.frame = replace(fn.frame, top=top)
    fn.emit(f"I[{base}] = grid.processor.unset({real})")
    if register.flag is None:
        fn.emit(f"{pool}[{base}] = {register.code}")
    else:
        fn.emit(f"if {register.flag}:")
        fn.emit(f" {pool}[{base}] = {register.code}")

    def after() -> None:
        if written:
            fn.emit(f"if I[{base}] != grid.processor.unset({real}):")
            fn.emit(f" {register.code} = {pool}[{base}]")
            if register.flag is not None:
                fn.emit(f" {register.flag} = 1")

    return View(register.kind, base, ("1",), Linear(("1",))), after


def copy_buffer(fn: Function, node: s.Communicate, target: s.Expr, source: s.Expr) -> None:
    """Copy one buffer to another before a collective works there, at no cost.

    Where that is written is evaluated once more, and counted, for the call of the collective.
    """
    _settle(fn)
    text = f"`{_shown(source)}` is sent with words that are not set"
    payload = fn.temp(_payload(fn, source), "x")
    if fn.module.is_view(source):
        fn.emit(f"{payload} = grid.processor.read({payload}, {fn.site(rules.UNSET, node.span, text)})")
    with fn.uncounted():
        place, count = _target(fn, target)
    size = "the buffer has {0} words, and the one that the result goes into has {1}"
    site = fn.site(rules.MESSAGE_SIZE, node.span, size)
    fn.check(f"len({payload}) != {count}", site, f"len({payload})", count)
    _deliver(fn, target, place, payload)


# Where data starts and ends
def transfer(fn: Function, node: s.Transfer) -> None:
    """`input` and `output`, which cost nothing."""
    clause = s.Clause("", (), node.when, span=node.span)
    _settle(fn)
    with _guarded(fn, clause):
        if fn.module.is_view(node.target):
            target, source = view(fn, node.target), view(fn, node.value)
            same_extents(fn, target, source, node)
            _move(fn, node, place_text(target), place_text(source))
        else:
            # A register is in the stack's memory while it is sent or received.
            before = fn.frame
            _move_word(fn, node)
            fn.frame = before


def load(fn: Function, target: View, source: View, node: s.Local, value: s.Expr) -> None:
    """A local array that starts as part of a global one."""
    same_extents(fn, target, source, node)
    text = f"`{format_expression(value)}` is read before it is assigned"
    fn.emit(f"grid.load({place_text(target)}, {place_text(source)}, {fn.site(rules.UNSET, value.span, text)})")


def same_extents(fn: Function, target: View, source: View, at: s.Node) -> None:
    """Check that two views have the same extents."""
    for dimension, (ours, theirs) in enumerate(zip(target.extents, source.extents, strict=True)):
        if ours != theirs:
            text = f"extent {dimension + 1} is {{0}} on the left and {{1}} on the right"
            fn.check(f"{ours} != {theirs}", fn.site(rules.SHAPE, at.span, text), ours, theirs)


def _move(fn: Function, node: s.Transfer, target: str, source: str) -> None:
    text = f"`{format_expression(node.value)}` is read before it is assigned"
    unset = fn.site(rules.UNSET, node.value.span, text)
    if node.direction == "input":
        fn.emit(f"grid.load({target}, {source}, {unset})")
        return
    twice = fn.site(rules.OUTPUT_TWICE, node.span, f"an element of `{format_expression(node.target)}` is output twice")
    fn.emit(f"grid.store({target}, {source}, {unset}, {twice})")


def _move_word(fn: Function, node: s.Transfer) -> None:
    """A transfer of one number, of an element or a register."""
    sides = []
    for side in (node.target, node.value):
        if isinstance(side, s.Element):
            sides.append(place_text(element_view(fn, side)))
        else:
            given, after = buffer(fn, side, written=side is node.target)
            sides.append(place_text(given))
            if side is node.target:
                _move(fn, node, sides[0], place_text(element_view(fn, node.value)))
                after()
                return
    _move(fn, node, *sides)


def element_view(fn: Function, expr: s.Expr) -> View:
    """One element as a view of one."""
    from archline.execution.codegen.elements import address

    assert isinstance(expr, s.Element)
    whole = fn.view(expr.array)
    return View(whole.element, address(fn, expr, whole), ("1",), Linear(("1",)), shared=whole.shared)


def is_transfer(statements: tuple[s.Stmt, ...]) -> bool:
    """Whether statements only say where data starts and ends, which makes the loops around them free."""
    return all(
        isinstance(each, s.Transfer | s.Let | s.Pass) or (isinstance(each, s.Loop) and is_transfer(each.body))
        for each in statements
    ) and any(isinstance(each, s.Transfer | s.Loop) for each in statements)


# Splits
def split(fn: Function, node: s.Split, block: Callable[[Function, tuple[s.Stmt, ...]], None]) -> None:
    """The block of a split: one axis is two, the group's and the rest; P counts the processors of the rest."""
    parts = atom(fn, integer(fn, node.parts))
    text = f"`{node.axis}` has {{0}} processors, and is split by {{1}}"
    site = fn.site(rules.GRID, node.span, text)
    place = fn.axes[node.axis]
    group = fn.temp(f"{fn.group}.split({place}, {parts}, {site})", "grid")
    with fn.scope():
        before = (fn.group, dict(fn.axes))
        fn.group = group
        fn.axes = {name: at + (at > place) for name, at in fn.axes.items()} | {node.axis: place + 1}
        fn.axes[node.group] = place
        own = " * ".join(f"{group}.ranks.shape[{at}]" for at in _own_axes(fn))
        fn.define("P", Static(fn.temp(own, "n_P"), NAME_LIMIT, 1))
        for name in (node.axis, node.group):
            code = fn.temp(f"{group}.coordinates[{fn.axes[name]}]", "g")
            extent = fn.temp(f"{group}.ranks.shape[{fn.axes[name]}]", "e")
            fn.names[name] = Static(code, NAME_LIMIT, 0, extent)
        block(fn, node.body)
        fn.group, fn.axes = before
