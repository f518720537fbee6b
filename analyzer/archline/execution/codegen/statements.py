"""Write the code for the statements of a body: declarations, assignments, loops and branches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from archline.execution import run_rules as rules
from archline.execution import slots
from archline.execution.cache.strands import TraceEvent
from archline.execution.codegen.arrays import (
    Allocation,
    has_spawns,
    write_allocation,
    write_copy,
    write_fill,
    write_release,
    write_step,
    write_view,
)
from archline.execution.codegen.calls import Places, write_call, write_call_on_grid, write_sync
from archline.execution.codegen.conditions import write_condition, write_fact, write_quantity
from archline.execution.codegen.expressions import (
    OPERATION_KINDS,
    combine_reals,
    make_atom,
    write_address,
    write_extern_call,
    write_extreme,
    write_infinite_sum,
    write_integer,
    write_load,
    write_real,
    write_register,
    write_store,
)
from archline.execution.codegen.messages import (
    copy_buffer,
    is_only_transfer,
    write_loop_record,
    write_message,
    write_split,
    write_transfer,
)
from archline.execution.codegen.messages import write_shared_load as load_shared
from archline.execution.codegen.scope import AlgorithmWriter, is_extern
from archline.execution.codegen.values import Atom, Code, IntegerValue, Register, make_primary_code
from archline.execution.codegen.writer import ITERATIONS, WORK, ExitTarget
from archline.execution.slots import INT_LIMIT, MAX_UNCHECKED_SIZE, MEM_DECLARED, NO_INT
from archline.expr.text import format_expression, format_fact
from archline.expr.tree import Span
from archline.language import syntax as s
from archline.language.conditions import SCALED_HINT
from archline.language.format_statements import format_limit, format_step
from archline.language.iterations import name_unbounded_loops
from archline.language.metrics import DECLARED, ITERATION, METRICS, SEPARATE_METRICS, TEST
from archline.language.model import Kind

BlockWriter = Callable[[AlgorithmWriter, tuple[s.Stmt, ...]], None]
_MAX_LOOP_BOUND = 2**62


def write_loop(fn: AlgorithmWriter, node: s.Loop, block: BlockWriter) -> None:
    """Write a `for` loop. Its bounds are evaluated once: `lo` first, then `hi`, then the step."""
    lo_code, hi_code = write_integer(fn, node.lo), None
    lo = make_atom(fn, lo_code, "w")
    hi_code = write_integer(fn, node.hi)
    hi = make_atom(fn, hi_code, "w")
    step = "1" if node.step is None else write_step(fn, node.step)
    if node.scales:
        _write_positive_end(fn, node, hi if node.down else lo)
    if fn.options.compiled:
        for value, code in ((lo, lo_code), (hi, hi_code)):
            if code.bound is None or code.bound > MAX_UNCHECKED_SIZE**2:
                fn.leave_compiled_if(f"{value} > {_MAX_LOOP_BOUND} or {value} < -{_MAX_LOOP_BOUND}")
    fn.flush()
    trips = _write_trip_count(fn, node, lo, hi, step)
    if not s.may_end_early(node):
        fn.count_steps(trips)
    variable = fn.make_name(f"n_{node.variable}_")
    header: tuple[str, ...]
    if node.scales:
        following = fn.assign_name(lo, "f")
        advance = f"{following} = {variable} {'//' if node.down else '*'} {step}"
        header = f"for {fn.make_name('i')} in range({trips}):", f"{variable} = {following}", advance
    elif node.down:
        header = (f"for {variable} in range({lo}, {hi} - 1, -{step}):",)
    else:
        header = (f"for {variable} in range({lo}, {hi}{'' if step == '1' else f', {step}'}):",)
    index = IntegerValue(
        variable, _bound_variable_from_above(lo_code, hi_code), _find_lower_limit(fn, node), None if node.down else hi
    )
    begun = write_loop_record(fn, node)
    with fn.scope(), fn.loop_body(variable):
        fn.define(node.variable, index)
        if node.parallel:
            _write_parallel_loop(fn, node, header, trips, block)
        else:
            _write_serial_loop(fn, node, header, trips, begun, block)


def _write_positive_end(fn: AlgorithmWriter, node: s.Loop, end: Atom) -> None:
    """Write the check that the smaller end of a loop by factors is positive; from 0 on no factor moves."""
    part = node.hi if node.down else node.lo
    message = f"`{format_expression(part)}` is {{0}}, but a loop with `{format_step(node)}` has values of at least 1"
    fn.check(f"{end} < 1", fn.add_site(rules.BAD_STEP, part.span, message, hint=SCALED_HINT), end)


def _write_trip_count(fn: AlgorithmWriter, node: s.Loop, lo: Atom, hi: Atom, step: Atom) -> Atom:
    if node.scales:
        largest = f"{lo} // {hi}" if node.down else f"({hi} - 1) // {lo}"
        return fn.assign_name(f"count_digits({largest}, {step})", "w")
    upwards = hi if lo == "0" else f"{hi} - {lo}"
    length = f"{lo} - {hi} + 1" if node.down else upwards
    if step != "1":
        length = f"({length} + {step} - 1) // {step}"
    return fn.assign_name(f"max({length}, 0)", "w")


def _bound_variable_from_above(lo: Code, hi: Code) -> int:
    bounds = (lo.bound, hi.bound)
    return max(INT_LIMIT if bound is None else bound for bound in bounds)


def _find_lower_limit(fn: AlgorithmWriter, node: s.Loop) -> int | None:
    """Return a number that the loop variable is never below, None if that is not obvious from its bound."""
    match node.hi if node.down else node.lo:
        case s.Integer(value=value):
            return value
        case s.Name(id=name) if isinstance(fn.names.get(name), IntegerValue):
            return fn.get_integer(name).least
        case _:
            return None


def _write_serial_loop(
    fn: AlgorithmWriter, node: s.Loop, header: tuple[str, ...], trips: Atom, begun: str, block: BlockWriter
) -> None:
    """Write a serial loop; `begun` is the name of its record of `write_loop_record`, or empty."""
    counts_steps = s.may_end_early(node)
    with fn.looped(header[0], node.span) as account, open_leavable(fn, "break", "continue"):
        for line in header[1:]:
            fn.emit(line)
        if begun:
            fn.emit(f"{begun}[0] += 1")
        if counts_steps:
            fn.count_steps("1")
        if not (fn.grid and is_only_transfer(node.body)):
            fn.count_event(ITERATION)
        if node.iterations is not None:
            fn.block.cost[f"{ITERATIONS} {name_unbounded_loops(fn.module)[node]}"] += 1
        block(fn, node.body)
    if account.straight:
        fn.count_block(account, trips)
    if begun:
        fn.emit(f"{begun}[1] = 1")
    if "return" in s.find_exit_kinds(node):
        _write_passing_exit(fn, "return", node.span)


def _write_parallel_loop(
    fn: AlgorithmWriter, node: s.Loop, header: tuple[str, ...], trips: Atom, block: BlockWriter
) -> None:
    fn.update_span()
    outer = fn.frame
    if node.reduction is not None:
        _begin_reduction(fn, node.reduction.register)
    _share_registers(fn, node.body, node.reduction)
    longest = fn.assign_name("0", "m")
    bag = fn.assign_name("-1", "bag") if fn.options.races else ""
    fn.write_event(TraceEvent.PARALLEL, trips)
    forks = has_spawns(node.body)
    variables = {"span": fn.make_name("s"), "pending": fn.make_name("q") if forks else ""}
    if fn.options.races:
        variables |= {"task": fn.make_name("task"), "bag": fn.make_name("bag") if forks else ""}
    with fn.strand(**variables), fn.looped(header[0], node.span) as account:
        for line in header[1:]:
            fn.emit(line)
        fn.write_event(TraceEvent.ITERATION)
        _begin_iteration(fn)
        fn.count_event(ITERATION)
        if node.iterations is not None:
            fn.block.cost[f"{ITERATIONS} {name_unbounded_loops(fn.module)[node]}"] += 1
        write_leavable(fn, node.body, "continue", block)
        if forks:
            write_sync(fn)
        fn.flush()
        if not account.straight:
            fn.count_block_so_far()
        fn.emit(f"if {fn.frame.span} > {longest}:")
        fn.emit(f" {longest} = {fn.frame.span}")
        if fn.options.races:
            fn.emit(f"{bag} = into_parallel(mem, {bag}, {fn.frame.task})")
    fn.write_event(TraceEvent.PARALLEL_END)
    if fn.options.races:
        fn.emit(f"into_serial(mem, {bag}, {outer.task})")
    if account.straight:
        fn.count(account.cost, trips, fn.block.looped)
    fixed = f" + {account.span}" if account.straight and account.span else ""
    fn.emit(f"if {trips} > 0:")
    depth = "ceil_log2({trips})" if node.reduction is None else "2 * ceil_log2({trips})"
    fn.emit(f" {outer.span} += {depth.format(trips=trips)} + {longest}{fixed}")


def _begin_reduction(fn: AlgorithmWriter, name: s.Name) -> None:
    """Write the access of a whole reduction to its register, on which its iterations do not race."""
    register = fn.get_register(name.id)
    if register.shadow is not None and fn.detects_races:
        fn.check_register_race(register.shadow, "write", name.span, f"`{name.id}` is updated")
    fn.define(name.id, replace(register, shadow=None))


def _begin_iteration(fn: AlgorithmWriter) -> None:
    """Write the initial values of the variables of an iteration's strand."""
    fn.emit(f"{fn.frame.span} = 0")
    if fn.frame.pending:
        fn.emit(f"{fn.frame.pending} = 0")
    if fn.options.races:
        fn.emit(f"{fn.frame.task} = new_task(mem)")
        if fn.frame.bag:
            fn.emit(f"{fn.frame.bag} = -1")


def _share_registers(fn: AlgorithmWriter, body: tuple[s.Stmt, ...], reduction: s.Reduction | None) -> None:
    """Give a shadow, for races, to the registers that iterations share and the loop's body assigns."""
    if not fn.options.races:
        return
    combined = frozenset[str]() if reduction is None else frozenset((reduction.register.id,))
    for name in sorted(s.find_assigned_names(body) - combined):
        register = fn.names.get(name)
        if isinstance(register, Register) and register.shadow is None:
            fn.define(name, replace(register, shadow=fn.assign_name("new_shadow()", "shadow")))


def write_while_loop(fn: AlgorithmWriter, node: s.While, block: BlockWriter) -> None:
    """Write a `while` or `repeat` loop. Its bound is evaluated once, on entry, at no cost; every test is counted."""
    limit = f"read_now(K, {slots.ITERATION_LIMIT})"
    if node.limit is not None:
        with fn.uncounted():
            value, _ = write_quantity(fn, node.limit)
            limit = fn.assign_name(value.text, "m")
    iterations = fn.assign_name("0", "w")
    counter = iterations
    if node.total is not None:
        counter, limit = fn.totals[node]
    site = _make_limit_site(fn, node)
    kinds = ("break",) if node.tests_last else ("break", "continue")
    begun = write_loop_record(fn, node)
    with fn.loop_body(iterations), fn.looped("while True:", node.span), open_leavable(fn, *kinds):
        if not node.tests_last:
            _write_loop_test(fn, node)
        fn.emit(f"{iterations} += 1")
        if counter != iterations:
            fn.emit(f"{counter} += 1")
        if begun:
            fn.emit(f"{begun}[0] += 1")
        fn.check(f"not {counter} <= {limit}", site, counter)
        fn.count_steps("1")
        fn.count_event(ITERATION)
        if node.limit is None:
            fn.block.cost[f"{ITERATIONS} {name_unbounded_loops(fn.module)[node]}"] += 1
        if node.tests_last:
            write_leavable(fn, node.body, "continue", block)
            _write_loop_test(fn, node)
        else:
            block(fn, node.body)
    if begun:
        fn.emit(f"{begun}[1] = 1")
    if "return" in s.find_exit_kinds(node):
        _write_passing_exit(fn, "return", node.span)


def write_totals(fn: AlgorithmWriter, algorithm: s.Algorithm) -> None:
    """Write the bounds of loops in a whole call, at no cost, and the counters of their iterations in it."""
    with fn.uncounted():
        for loop in s.find_nodes(algorithm.body, s.While):
            if loop.total is not None:
                value, _ = write_quantity(fn, loop.total)
                fn.totals[loop] = fn.assign_name("0", "w"), fn.assign_name(value.text, "m")


def _write_loop_test(fn: AlgorithmWriter, node: s.While) -> None:
    """Write the test of a loop, and its end if that is false."""
    fn.count_event(TEST)
    test = write_condition(fn, node.condition)
    fn.count_block_so_far()
    fn.emit(f"if not {test}:")
    fn.emit(" break")


def _make_limit_site(fn: AlgorithmWriter, loop: s.While) -> int:
    if loop.limit is None and loop.total is None:
        return fn.add_site(
            rules.TOO_MANY_ITERATIONS,
            loop.span,
            "the run stops in this loop, which has not ended after {0:,} iterations",
            hint=rules.ENDLESS_HINT,
        )
    which = "iteration {0}" if loop.total is None else "iteration {0} of this call"
    message = f"{which} begins, but `{format_limit(loop).removesuffix(' times')}` allows fewer"
    return fn.add_site(rules.TOO_MANY_ITERATIONS, loop.span, message)


@contextmanager
def open_leavable(fn: AlgorithmWriter, *kinds: str) -> Iterator[None]:
    """Open a loop in generated code that exits of some kinds end: `break`, `continue` or `return`."""
    fn.exits.append(ExitTarget(kinds, fn.depth, len(fn.open_blocks)))
    yield
    fn.exits.pop()


@contextmanager
def open_block(fn: AlgorithmWriter, allocations: list[Allocation]) -> Iterator[None]:
    """Open a block whose local arrays an exit releases."""
    fn.open_blocks.append(allocations)
    yield
    fn.open_blocks.pop()


def write_leavable(fn: AlgorithmWriter, body: tuple[s.Stmt, ...], kind: str, block: BlockWriter) -> None:
    """Write a block that `continue` or `return`, given as `kind`, may leave; the code after the block is executed."""
    if kind not in s.list_exit_kinds(body):
        block(fn, body)
        return
    with fn.open_once(body[0].span), open_leavable(fn, kind):
        block(fn, body)
    for other in sorted(s.list_exit_kinds(body) - {kind}):
        _write_passing_exit(fn, other, body[0].span)


def write_exit(fn: AlgorithmWriter, kind: str) -> None:
    """Write an exit, which first counts the costs so far and releases the local arrays of the blocks that it leaves.

    After each loop of the generated code that it leaves, `_write_passing_exit` continues an exit from further loops.
    """
    target = fn.exits[-1]
    passes = kind not in target.kinds
    left = fn.open_blocks[target.blocks :]
    fn.count_blocks_so_far(target.depth)
    for allocations in reversed(left):
        if allocations:
            write_sync(fn)
            write_release(fn, allocations)
    fn.flush()
    if passes:
        fn.leaves = True
        fn.emit(f"left = {_PASSING[kind]}")
    elif kind != "return" and fn.leaves:
        fn.emit("left = 0")
    fn.emit("continue" if kind == "continue" and "break" in target.kinds else "break")


_PASSING = {"return": 1, "break": 2}


def _write_passing_exit(fn: AlgorithmWriter, kind: str, span: Span) -> None:
    """Write the rest of an exit that has left one loop of the generated code and leaves the next."""
    fn.flush()
    with fn.counted(f"if left == {_PASSING[kind]}:", span):
        write_exit(fn, kind)


def write_block(fn: AlgorithmWriter, statements: tuple[s.Stmt, ...]) -> None:
    """Write a block of statements with a scope of its own; its local arrays are released at the end, after a sync."""
    before = fn.frame
    allocations: list[Allocation] = []
    with fn.scope(), open_block(fn, allocations):
        for node in statements:
            write_statement(fn, node, allocations)
        write_block_end(fn, allocations)
    fn.frame = replace(fn.frame, top=before.top, alive=before.alive)


def write_block_end(fn: AlgorithmWriter, allocations: list[Allocation]) -> None:
    """Write the end of a block: local arrays are released after a sync."""
    if allocations:
        write_sync(fn)
        write_release(fn, allocations)
    fn.flush()


def write_statement(fn: AlgorithmWriter, node: s.Stmt, allocations: list[Allocation]) -> None:
    """Write a statement; a local array that it declares is appended to `allocations`."""
    match node:
        case s.Let():
            _write_let(fn, node)
        case s.Local(type=s.ArrayType() as type_) if fn.grid:
            allocations.append(_write_local_on_grid(fn, node, type_))
        case s.Local(type=s.ArrayType() as type_):
            allocations.append(_write_local_array(fn, node, type_))
        case s.Local():
            _write_local_register(fn, node)
        case s.Assign():
            _write_assignment(fn, node)
        case s.Invoke(call=called, spawned=spawned, along=along, outputs=outputs):
            if is_extern(fn, called):
                write_extern_call(fn, called)
            elif _is_on_grid(fn, called):
                write_call_on_grid(fn, node, called, along, outputs)
            else:
                write_call(fn, called, outputs, spawned)
        case s.Sync():
            write_sync(fn)
        case s.Assume(facts=facts):
            for assumed in facts:
                _write_assumption(fn, assumed)
        case s.Costs():
            _write_costs(fn, node)
        case s.Loop():
            write_loop(fn, node, write_block)
        case s.While():
            write_while_loop(fn, node, write_block)
        case s.If(branches=branches):
            _write_branches(fn, branches)
        case s.Communicate():
            _write_communication(fn, node)
        case s.Transfer():
            write_transfer(fn, node)
        case s.Split():
            write_split(fn, node, write_block)
        case s.Exit(kind=kind):
            write_exit(fn, kind)
        case s.Pass() | s.Return():
            pass
    fn.flush()


def _is_on_grid(fn: AlgorithmWriter, called: s.Call) -> bool:
    callee = fn.module.targets[called]
    return isinstance(callee, s.Algorithm) and bool(callee.grid)


def _write_communication(fn: AlgorithmWriter, node: s.Communicate) -> None:
    """Write a message, or the call that a collective stands for; its buffer is first copied to `into`, if given."""
    collective = fn.module.collectives.get(node)
    if collective is None:
        write_message(fn, node)
        return
    if collective.into is not None and node.buffer is not None:
        copy_buffer(fn, node, collective.into, node.buffer)
    write_call_on_grid(fn, node, collective.invoke.call, collective.invoke.along)


def _write_let(fn: AlgorithmWriter, node: s.Let) -> None:
    if fn.module.is_view(node.value):
        fn.define(node.name, write_view(fn, node.value))
        return
    value = write_integer(fn, node.value)
    bound = INT_LIMIT if value.bound is None else value.bound
    name = fn.make_name(f"n_{node.name}_")
    fn.emit(f"{name} = {value.text}")
    fn.define(node.name, IntegerValue(name, bound))


def _write_local_array(fn: AlgorithmWriter, node: s.Local, type_: s.ArrayType) -> Allocation:
    """Write a local array; its initial value is evaluated before it is allocated."""
    value = node.value
    if value is not None and fn.module.is_view(value):
        source = write_view(fn, value)
        allocation = write_allocation(fn, node, type_)
        write_copy(fn, allocation.view, source, node, value, node.name)
    elif value is not None:
        element = fn.array_kind(type_.element)
        atom_of_value = fn.assign_name(write_scalar(fn, value, element).text, "v")
        fn.flush()
        allocation = write_allocation(fn, node, type_)
        write_fill(fn, allocation.view, atom_of_value, node, node.name)
    else:
        allocation = write_allocation(fn, node, type_)
    fn.define(node.name, allocation.view)
    return allocation


def _write_local_on_grid(fn: AlgorithmWriter, node: s.Local, type_: s.ArrayType) -> Allocation:
    """Write a local array on a grid, whose initial value may be global, or be set only under a condition."""
    value = node.value
    if value is None or (node.when is None and not (fn.module.is_view(value) and write_view(fn, value).shared)):
        return _write_local_array(fn, node, type_)
    shared = fn.module.is_view(value) and write_view(fn, value).shared
    with fn.uncounted():
        test = write_condition(fn, node.when) if node.when is not None else "True"
    allocation = write_allocation(fn, node, type_)
    fn.update_span()
    fn.count_block_so_far()
    with fn.counted(f"if {test}:", node.span):
        if shared:
            load_shared(fn, allocation.view, write_view(fn, value), node, value)
        elif fn.module.is_view(value):
            write_copy(fn, allocation.view, write_view(fn, value), node, value, node.name)
        else:
            write_fill(
                fn,
                allocation.view,
                fn.assign_name(write_scalar(fn, value, allocation.view.element).text, "v"),
                node,
                node.name,
            )
    fn.define(node.name, allocation.view)
    return allocation


def write_scalar(fn: AlgorithmWriter, value: s.Expr, kind: Kind, places: Places = ()) -> Code:
    """Write a scalar of the given kind; a condition is stored as 1 or 0.

    If the value is a call, its outputs are stored in `places`.
    """
    if places and isinstance(value, s.Call):
        return make_primary_code(write_call(fn, value, places), INT_LIMIT)
    if fn.get_expression_kind(value) is Kind.BOOL:
        return make_primary_code(fn.assign_name(f"1 if {write_condition(fn, value)} else 0"), 1)
    return write_real(fn, value) if kind is Kind.REAL else write_integer(fn, value)


def _write_local_register(fn: AlgorithmWriter, node: s.Local) -> None:
    assert isinstance(node.type, s.ScalarType)
    kind = Kind.REAL if node.type.element == "real" else Kind.INT
    name = fn.make_name(f"r_{node.name}_")
    if node.value is not None and node.when is None:
        value = write_scalar(fn, node.value, kind)
        fn.emit(f"{name} = {value.text}")
        fn.define(node.name, Register(name, kind))
        return
    fn.emit(f"{name} = {'0.0' if kind is Kind.REAL else '0'}")
    fn.emit(f"{name}set = 0")
    if node.value is not None and node.when is not None:
        with fn.uncounted():
            test = write_condition(fn, node.when)
        with fn.counted(f"if {test}:", node.span):
            fn.emit(f"{name} = {write_scalar(fn, node.value, kind).text}")
            fn.emit(f"{name}set = 1")
    fn.define(node.name, Register(name, kind, f"{name}set"))


def _write_assignment(fn: AlgorithmWriter, node: s.Assign) -> None:
    target = node.target
    if fn.module.is_view(target):
        _write_view_assignment(fn, node)
    elif isinstance(target, s.Name):
        _write_register_assignment(fn, node, target)
    else:
        _write_element_assignment(fn, node, target)


def _write_view_assignment(fn: AlgorithmWriter, node: s.Assign) -> None:
    name = format_expression(node.target)
    if fn.module.is_view(node.value):
        source = write_view(fn, node.value)
        write_copy(fn, write_view(fn, node.target), source, node, node.value, name)
        return
    target = write_view(fn, node.target)
    atom_of_value = fn.assign_name(write_scalar(fn, node.value, target.element).text, "v")
    fn.flush()
    write_fill(fn, target, atom_of_value, node, name)


def _write_register_assignment(fn: AlgorithmWriter, node: s.Assign, target: s.Name) -> None:
    register = fn.get_register(target.id)
    value = write_scalar(fn, node.value, register.kind, node.outputs)
    if node.op != "=":
        value = _write_update(fn, node, Code(write_register(fn, target, register)), value, register.kind)
    if register.shadow is not None:
        fn.check_register_race(register.shadow, "write", target.span, f"`{target.id}` is assigned")
    fn.emit(f"{register.code} = {value.text}")
    if register.flag is not None:
        fn.emit(f"{register.flag} = 1")


def _write_element_assignment(fn: AlgorithmWriter, node: s.Assign, target: s.Element) -> None:
    place_view = fn.get_view(target.array)
    value = write_scalar(fn, node.value, place_view.element, node.outputs)
    place = write_address(fn, target, place_view)
    text = format_expression(target)
    if node.op != "=":
        # The read needs no check for races: the write that follows is in all of them.
        fn.count_access(place, "update read", target.span, f"`{text}` is read")
        before = make_primary_code(write_load(fn, target, place_view, place), INT_LIMIT)
        value = _write_update(fn, node, before, value, place_view.element)
    write_store(fn, place_view, place, value.text)
    kind = "atomic write" if node.atomic else "write"
    fn.count_access(place, kind, target.span, f"`{text}` is {'written' if node.op == '=' else 'updated'}")


def _write_update(fn: AlgorithmWriter, node: s.Assign, before: Code, value: Code, kind: Kind) -> Code:
    op = fn.resolve_operator(node.op)
    fn.count_operation(OPERATION_KINDS.get(op, op) if kind is Kind.REAL else op, real=kind is Kind.REAL)
    if kind is Kind.REAL:
        return write_extreme(fn, op, before, value) if op in ("min", "max") else combine_reals(fn, op, before, value)
    if op in ("min", "max"):
        return Code(f"{op}({before.text}, {value.text})")
    site = fn.add_site(
        rules.OVERFLOW, node.span, f"the new value of `{format_expression(node.target)}` does not fit 64 bits"
    )
    if fn.infinite and op in ("+", "-"):
        result = write_infinite_sum(fn, op, before.text, value.text)
        fn.check(f"{result} == {NO_INT}", site)
    elif fn.options.compiled:
        function = {"+": "add_int", "-": "sub_int", "*": "mul_int"}[op]
        result = fn.assign_name(f"{function}({before.text}, {value.text})")
        fn.check(f"{result} == {NO_INT}", site)
    else:
        result = fn.assign_name(f"{before.text} {op} {value.text}")
        fn.check(f"not -{INT_LIMIT} <= {result} <= {INT_LIMIT}", site)
    return make_primary_code(result, INT_LIMIT)


def _write_assumption(fn: AlgorithmWriter, node: s.Fact) -> None:
    with fn.uncounted():
        failed = f"not {write_fact(fn, node)}"
    fn.check(failed, fn.add_site(rules.ASSUMPTION, node.span, f"`assume {format_fact(node)}` is false here"))


def _write_costs(fn: AlgorithmWriter, node: s.Costs) -> None:
    """Add declared costs to their metrics and to the metrics that contain them, as flops to work and span."""
    for amount, metric in node.amounts:
        with fn.uncounted():
            if metric in SEPARATE_METRICS:
                value, _ = write_quantity(fn, amount)
                fn.emit(f"mem[{MEM_DECLARED}][{SEPARATE_METRICS.index(metric)}] += {value.text}")
                continue
            count = make_atom(fn, write_integer(fn, amount))
        message = f"`{format_expression(amount)}` {metric} are declared, but this is {{0}}"
        fn.check(f"{count} < 0", fn.add_site(rules.COST_AMOUNT, amount.span, message), count)
        definition = METRICS[metric]
        if "span" in (metric, *definition.within):
            fn.emit(f"{fn.frame.span} += {count}")
        kinds = (DECLARED, WORK) if definition.by_kind else (WORK,) if metric == "work" else ()
        if kinds:
            fn.count(Counter(kinds), count, fn.block.looped)


def _write_branches(fn: AlgorithmWriter, branches: tuple[s.Branch, ...]) -> None:
    """Write an `if` with its branches: a test is executed, and counted, only if the tests before it have failed."""
    first, *rest = branches
    if first.condition is None or isinstance(first.condition, s.Reached):
        write_block(fn, first.body)
        return
    fn.count_event(TEST)
    test = write_condition(fn, first.condition)
    with fn.counted(f"if {test}:", first.span):
        write_block(fn, first.body)
    if not rest:
        return
    with fn.counted("else:", rest[0].span):
        if rest[0].condition is None:
            write_block(fn, rest[0].body)
        else:
            _write_branches(fn, tuple(rest))
