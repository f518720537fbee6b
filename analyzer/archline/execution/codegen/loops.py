"""`for`, `parallel for` and `while`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from archline.execution import run_rules as rules
from archline.execution.cache.strands import Event
from archline.execution.codegen.arrays import spawns
from archline.execution.codegen.calls import synchronise
from archline.execution.codegen.conditions import condition, quantity
from archline.execution.codegen.integers import atom, integer
from archline.execution.codegen.messages import is_transfer
from archline.execution.codegen.scope import Function
from archline.execution.codegen.values import Atom, Code, Register, Static
from archline.execution.codegen.views import positive
from archline.execution.slots import INT_LIMIT, NAME_LIMIT
from archline.language import syntax as s
from archline.language.format_expressions import format_expression
from archline.language.metrics import ITERATION, TEST
from archline.language.source import Span

BodyOf = Callable[[Function, tuple[s.Stmt, ...]], None]
_WIDE = 2**62


def loop(fn: Function, node: s.Loop, block: BodyOf) -> None:
    """A counted loop. Its bounds are evaluated once, `lo` first, then `hi`, then the step."""
    lo_code, hi_code = integer(fn, node.lo), None
    lo = atom(fn, lo_code, "w")
    hi_code = integer(fn, node.hi)
    hi = atom(fn, hi_code, "w")
    step = "1" if node.step is None else positive(fn, node.step)
    if fn.options.compiled:
        for value, code in ((lo, lo_code), (hi, hi_code)):
            if code.bound is None or code.bound > NAME_LIMIT**2:
                fn.wide(f"{value} > {_WIDE} or {value} < -{_WIDE}")
    fn.flush()
    trips = _trips(fn, node.down, lo, hi, step)
    fn.fuel(trips)
    variable = fn.name(f"n_{node.variable}_")
    if node.down:
        header = f"for {variable} in range({lo}, {hi} - 1, -{step}):"
    else:
        header = f"for {variable} in range({lo}, {hi}{'' if step == '1' else f', {step}'}):"
    index = Static(variable, _bound(lo_code, hi_code), _least(fn, node), None if node.down else hi)
    with fn.scope(), fn.inside(variable):
        fn.define(node.variable, index)
        if node.parallel:
            _parallel(fn, node, header, trips, block)
        else:
            _serial(fn, node, header, trips, block)


def _trips(fn: Function, down: bool, lo: Atom, hi: Atom, step: Atom) -> Atom:
    upwards = hi if lo == "0" else f"{hi} - {lo}"
    length = f"{lo} - {hi} + 1" if down else upwards
    if step != "1":
        length = f"({length} + {step} - 1) // {step}"
    return fn.temp(f"max({length}, 0)", "w")


def _bound(lo: Code, hi: Code) -> int:
    bounds = (lo.bound, hi.bound)
    return max(INT_LIMIT if bound is None else bound for bound in bounds)


def _least(fn: Function, node: s.Loop) -> int | None:
    """A lower limit of the loop variable that needs no arithmetic to see."""
    match node.hi if node.down else node.lo:
        case s.Integer(value=value):
            return value
        case s.Name(id=name) if isinstance(fn.names.get(name), Static):
            return fn.static(name).least
        case _:
            return None


def _serial(fn: Function, node: s.Loop, header: str, trips: Atom, block: BodyOf) -> None:
    with fn.looped(header, node.span) as account:
        if not (fn.grid and is_transfer(node.body)):
            fn.step(ITERATION)
        block(fn, node.body)
    if account.straight:
        fn.close(account, trips)


def _parallel(fn: Function, node: s.Loop, header: str, trips: Atom, block: BodyOf) -> None:
    fn.settle()
    outer = fn.frame
    _share(fn, node.body)
    longest = fn.temp("0", "m")
    bag = fn.temp("-1", "bag") if fn.options.races else ""
    fn.event(Event.PARALLEL, trips)
    forks = spawns(node.body)
    own = {"span": fn.name("s"), "pending": fn.name("q") if forks else ""}
    if fn.options.races:
        own |= {"task": fn.name("task"), "bag": fn.name("bag") if forks else ""}
    with fn.strand(**own), fn.looped(header, node.span) as account:
        fn.event(Event.ITERATION)
        _begin(fn)
        fn.step(ITERATION)
        block(fn, node.body)
        if forks:
            synchronise(fn)
        fn.flush()
        if not account.straight:
            fn.cut()
        fn.emit(f"if {fn.frame.span} > {longest}:")
        fn.emit(f" {longest} = {fn.frame.span}")
        if fn.options.races:
            fn.emit(f"{bag} = into_parallel(mem, {bag}, {fn.frame.task})")
    fn.event(Event.PARALLEL_END)
    if fn.options.races:
        fn.emit(f"into_serial(mem, {bag}, {outer.task})")
    if account.straight:
        fn.count(account.cost, trips, fn.block.looped)
    fixed = f" + {account.span}" if account.straight and account.span else ""
    fn.emit(f"if {trips} > 0:")
    fn.emit(f" {outer.span} += ceil_log2({trips}) + {longest}{fixed}")


def _begin(fn: Function) -> None:
    """The variables of an iteration's own strand."""
    fn.emit(f"{fn.frame.span} = 0")
    if fn.frame.pending:
        fn.emit(f"{fn.frame.pending} = 0")
    if fn.options.races:
        fn.emit(f"{fn.frame.task} = new_task(mem)")
        if fn.frame.bag:
            fn.emit(f"{fn.frame.bag} = -1")


def _share(fn: Function, body: tuple[s.Stmt, ...]) -> None:
    """Give registers that iterations share, since the loop's body assigns them, a shadow to find races by."""
    if not fn.options.races:
        return
    for name in sorted(s.set_names(body)):
        register = fn.names.get(name)
        if isinstance(register, Register) and register.shadow is None:
            fn.define(name, replace(register, shadow=fn.temp("new_shadow()", "shadow")))


def while_loop(fn: Function, node: s.While, block: BodyOf) -> None:
    """A loop on data. The bound is evaluated once, on entry, and costs nothing; every test is paid for."""
    with fn.uncounted():
        value, _ = quantity(fn, node.limit)
        limit = fn.temp(value.text, "m")
    rounds = fn.temp("0", "w")
    site = _limit_site(fn, node.limit, node.span)
    with fn.inside(rounds), fn.looped("while True:", node.span):
        fn.step(TEST)
        test = condition(fn, node.condition)
        fn.cut()
        fn.emit(f"if not {test}:")
        fn.emit(" break")
        fn.emit(f"{rounds} += 1")
        fn.check(f"not {rounds} <= {limit}", site, rounds)
        fn.fuel("1")
        fn.step(ITERATION)
        block(fn, node.body)


def _limit_site(fn: Function, limit: s.Expr, span: Span) -> int:
    message = f"iteration {{0}} begins, and `at most {format_expression(limit)}` allows fewer"
    return fn.site(rules.TOO_MANY_ITERATIONS, span, message)
