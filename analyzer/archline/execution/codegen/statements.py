"""Statements of a body."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from archline.execution import run_rules as rules
from archline.execution.codegen.arrays import Allocation, allocate, copy, fill, release
from archline.execution.codegen.calls import call, call_on_grid, synchronise
from archline.execution.codegen.conditions import condition, fact, quantity
from archline.execution.codegen.elements import address, call_extern, load, read_register, store
from archline.execution.codegen.integers import atom, integer
from archline.execution.codegen.loops import loop, while_loop
from archline.execution.codegen.messages import copy_buffer, message, split, transfer
from archline.execution.codegen.messages import load as load_shared
from archline.execution.codegen.reals import KINDS, combine, extreme, real
from archline.execution.codegen.scope import Function, is_extern
from archline.execution.codegen.sites import WORK
from archline.execution.codegen.values import Code, Register, Static, named
from archline.execution.codegen.views import view
from archline.execution.slots import INT_LIMIT, MEM_DECLARED, NO_INT
from archline.language import syntax as s
from archline.language.format_expressions import format_expression, format_fact
from archline.language.metrics import DECLARED, METRICS, SET_APART, TEST
from archline.language.model import Kind


def block(fn: Function, statements: tuple[s.Stmt, ...]) -> None:
    """A block of statements, with its definitions, its local arrays, and the sync before these are released."""
    before = fn.frame
    allocations: list[Allocation] = []
    with fn.scope():
        for each in statements:
            statement(fn, each, allocations)
        end_block(fn, allocations)
    fn.frame = replace(fn.frame, top=before.top, alive=before.alive)


def end_block(fn: Function, allocations: list[Allocation]) -> None:
    """What happens at the end of a block that holds local arrays."""
    if allocations:
        synchronise(fn)
        release(fn, allocations)
    fn.flush()


def statement(fn: Function, node: s.Stmt, allocations: list[Allocation]) -> None:
    """One statement; its local array, if it is one, joins those of the block."""
    match node:
        case s.Let():
            _let(fn, node)
        case s.Local(type=s.ArrayType() as type_) if fn.grid:
            allocations.append(_local_on_grid(fn, node, type_))
        case s.Local(type=s.ArrayType() as type_):
            allocations.append(_local_array(fn, node, type_))
        case s.Local():
            _local(fn, node)
        case s.Assign():
            _assign(fn, node)
        case s.Invoke(call=called, spawned=spawned, along=along):
            if is_extern(fn, called):
                call_extern(fn, called)
            elif _on_grid(fn, called):
                call_on_grid(fn, node, called, along)
            else:
                call(fn, called, spawned)
        case s.Sync():
            synchronise(fn)
        case s.Assume(facts=facts):
            for each in facts:
                _assume(fn, each)
        case s.Costs():
            _costs(fn, node)
        case s.Loop():
            loop(fn, node, block)
        case s.While():
            while_loop(fn, node, block)
        case s.If(branches=branches):
            _branches(fn, branches)
        case s.Communicate():
            _communicate(fn, node)
        case s.Transfer():
            transfer(fn, node)
        case s.Split():
            split(fn, node, block)
        case s.Pass() | s.Return():
            pass
    fn.flush()


def _on_grid(fn: Function, called: s.Call) -> bool:
    callee = fn.module.targets[called]
    return isinstance(callee, s.Algorithm) and bool(callee.grid)


def _communicate(fn: Function, node: s.Communicate) -> None:
    """A message, or the call that a collective stands for; what it makes elsewhere starts there as a copy."""
    collective = fn.module.collectives.get(node)
    if collective is None:
        message(fn, node)
        return
    if collective.into is not None and node.buffer is not None:
        copy_buffer(fn, node, collective.into, node.buffer)
    call_on_grid(fn, node, collective.invoke.call, collective.invoke.along)


def _let(fn: Function, node: s.Let) -> None:
    if fn.module.is_view(node.value):
        fn.define(node.name, view(fn, node.value))
        return
    value = integer(fn, node.value)
    bound = INT_LIMIT if value.bound is None else value.bound
    name = fn.name(f"n_{node.name}_")
    fn.emit(f"{name} = {value.text}")
    fn.define(node.name, Static(name, bound))


def _local_array(fn: Function, node: s.Local, type_: s.ArrayType) -> Allocation:
    """The value is evaluated before the array exists."""
    value = node.value
    if value is not None and fn.module.is_view(value):
        source = view(fn, value)
        made = allocate(fn, node, type_)
        copy(fn, made.view, source, node, value, node.name)
    elif value is not None:
        element = fn.array_kind(type_.element)
        held = fn.temp(scalar(fn, value, element).text, "v")
        fn.flush()
        made = allocate(fn, node, type_)
        fill(fn, made.view, held, node, node.name)
    else:
        made = allocate(fn, node, type_)
    fn.define(node.name, made.view)
    return made


def _local_on_grid(fn: Function, node: s.Local, type_: s.ArrayType) -> Allocation:
    """A local array, which may start as part of a global one, and where a condition holds only."""
    value = node.value
    if value is None or (node.when is None and not (fn.module.is_view(value) and view(fn, value).shared)):
        return _local_array(fn, node, type_)
    shared = fn.module.is_view(value) and view(fn, value).shared
    with fn.uncounted():
        test = condition(fn, node.when) if node.when is not None else "True"
    made = allocate(fn, node, type_)
    fn.settle()
    fn.cut()
    with fn.counted(f"if {test}:", node.span):
        if shared:
            load_shared(fn, made.view, view(fn, value), node, value)
        elif fn.module.is_view(value):
            copy(fn, made.view, view(fn, value), node, value, node.name)
        else:
            fill(fn, made.view, fn.temp(scalar(fn, value, made.view.element).text, "v"), node, node.name)
    fn.define(node.name, made.view)
    return made


def scalar(fn: Function, value: s.Expr, kind: Kind) -> Code:
    """A number of the kind wanted: an expression, or the result of a call."""
    if isinstance(value, s.Call) and isinstance(fn.module.targets.get(value), s.Algorithm):
        return named(call(fn, value), INT_LIMIT)
    return real(fn, value) if kind is Kind.REAL else integer(fn, value)


def _local(fn: Function, node: s.Local) -> None:
    assert isinstance(node.type, s.ScalarType)
    kind = Kind.REAL if node.type.element == "real" else Kind.INT
    name = fn.name(f"r_{node.name}_")
    if node.value is not None and node.when is None:
        value = scalar(fn, node.value, kind)
        fn.emit(f"{name} = {value.text}")
        fn.define(node.name, Register(name, kind))
        return
    fn.emit(f"{name} = {'0.0' if kind is Kind.REAL else '0'}")
    fn.emit(f"{name}set = 0")
    if node.value is not None and node.when is not None:
        with fn.uncounted():
            test = condition(fn, node.when)
        with fn.counted(f"if {test}:", node.span):
            fn.emit(f"{name} = {scalar(fn, node.value, kind).text}")
            fn.emit(f"{name}set = 1")
    fn.define(node.name, Register(name, kind, f"{name}set"))


def _assign(fn: Function, node: s.Assign) -> None:
    target = node.target
    if fn.module.is_view(target):
        _assign_view(fn, node)
    elif isinstance(target, s.Name):
        _assign_register(fn, node, target)
    else:
        _assign_element(fn, node, target)


def _assign_view(fn: Function, node: s.Assign) -> None:
    name = format_expression(node.target)
    if fn.module.is_view(node.value):
        source = view(fn, node.value)
        copy(fn, view(fn, node.target), source, node, node.value, name)
        return
    target = view(fn, node.target)
    held = fn.temp(scalar(fn, node.value, target.element).text, "v")
    fn.flush()
    fill(fn, target, held, node, name)


def _assign_register(fn: Function, node: s.Assign, target: s.Name) -> None:
    register = fn.register(target.id)
    value = scalar(fn, node.value, register.kind)
    if node.op != "=":
        value = _update(fn, node, Code(read_register(fn, target, register)), value, register.kind)
    if register.shadow is not None:
        fn.touch(register.shadow, "write", target.span, f"`{target.id}` is assigned")
    fn.emit(f"{register.code} = {value.text}")
    if register.flag is not None:
        fn.emit(f"{register.flag} = 1")


def _assign_element(fn: Function, node: s.Assign, target: s.Element) -> None:
    place_view = fn.view(target.array)
    value = scalar(fn, node.value, place_view.element)
    place = address(fn, target, place_view)
    text = format_expression(target)
    if node.op != "=":
        # The write that follows races with all that this read would race with.
        fn.access(place, "update read", target.span, f"`{text}` is read")
        before = named(load(fn, target, place_view, place), INT_LIMIT)
        value = _update(fn, node, before, value, place_view.element)
    store(fn, place_view, place, value.text)
    kind = "atomic write" if node.atomic else "write"
    fn.access(place, kind, target.span, f"`{text}` is {'written' if node.op == '=' else 'updated'}")


def _update(fn: Function, node: s.Assign, before: Code, value: Code, kind: Kind) -> Code:
    op = fn.operator(node.op)
    fn.operation(KINDS.get(op, op) if kind is Kind.REAL else op, real=kind is Kind.REAL)
    if kind is Kind.REAL:
        return extreme(fn, op, before, value) if op in ("min", "max") else combine(fn, op, before, value)
    if op in ("min", "max"):
        return Code(f"{op}({before.text}, {value.text})")
    site = fn.site(
        rules.OVERFLOW, node.span, f"the new value of `{format_expression(node.target)}` does not fit 64 bits"
    )
    if fn.options.compiled:
        function = {"+": "add_int", "-": "sub_int", "*": "mul_int"}[op]
        result = fn.temp(f"{function}({before.text}, {value.text})")
        fn.check(f"{result} == {NO_INT}", site)
    else:
        result = fn.temp(f"{before.text} {op} {value.text}")
        fn.check(f"not -{INT_LIMIT} <= {result} <= {INT_LIMIT}", site)
    return named(result, INT_LIMIT)


def _assume(fn: Function, node: s.Fact) -> None:
    with fn.uncounted():
        failed = f"not {fact(fn, node)}"
    fn.check(failed, fn.site(rules.ASSUMPTION, node.span, f"`assume {format_fact(node)}` is false here"))


def _costs(fn: Function, node: s.Costs) -> None:
    """Declared flops are work and span too; declared work and span are themselves; the rest is added up apart."""
    for amount, metric in node.amounts:
        with fn.uncounted():
            if metric in SET_APART:
                value, _ = quantity(fn, amount)
                fn.emit(f"mem[{MEM_DECLARED}][{SET_APART.index(metric)}] += {value.text}")
                continue
            count = atom(fn, integer(fn, amount))
        message = f"`{format_expression(amount)}` {metric} are declared, which is {{0}} here"
        fn.check(f"{count} < 0", fn.site(rules.COST_AMOUNT, amount.span, message), count)
        known = METRICS[metric]
        if "span" in (metric, *known.within):
            fn.emit(f"{fn.frame.span} += {count}")
        kinds = (DECLARED, WORK) if known.by_kind else (WORK,) if metric == "work" else ()
        if kinds:
            fn.count(Counter(kinds), count, fn.block.looped)


def _branches(fn: Function, branches: tuple[s.Branch, ...]) -> None:
    """Each test is reached, and paid for, only where those before it failed."""
    first, *rest = branches
    assert first.condition is not None
    fn.step(TEST)
    test = condition(fn, first.condition)
    with fn.counted(f"if {test}:", first.span):
        block(fn, first.body)
    if not rest:
        return
    with fn.counted("else:", rest[0].span):
        if rest[0].condition is None:
            block(fn, rest[0].body)
        else:
            _branches(fn, tuple(rest))
