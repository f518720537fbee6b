"""Write the lines of a generated function, with the names, costs and accesses in it.

Costs are collected while a block of statements is written; the code that is generated adds them once for each execution
of the block, to a counter and to the span variable. A loop whose body is straight-line code counts all its iterations
together, after the loop. Accesses are collected too, and logged together where control flow or a call interrupts them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import groupby

from archline.execution import run_rules as rules
from archline.execution.races import ATOMIC, PARALLEL, READER, SERIAL, WRITER
from archline.execution.slots import FIRST_SITE, FUEL, SHADOW, SITE_FUEL, SITE_RANGE, STEPS
from archline.execution.slots import TRACE as TRACE_SLOT
from archline.expr.tree import Span
from archline.language.diagnostics import Rule, error
from archline.language.metrics import INT_OPERATION
from archline.language.metrics import Event as Counted
from archline.language.model import Module
from archline.records import record

WORK = "work"
READS = "reads"
WRITES = "writes"
EXTERN = "extern"
ITERATIONS = "iterations"
"""The kind of the iterations of a loop without a bound, whose name follows; they are no cost."""


@record(eq=False, slots=True)
class CheckSite:
    """A check that may fail: its rule, span and message, with `{0}` to `{4}` for values at run time.

    `variants` are the messages of a check that can fail for several reasons, which the first value selects.
    """

    rule: Rule
    span: Span
    message: str
    variants: tuple[str, ...] = ()
    hint: str | None = None


@dataclass(eq=False)
class Tables:
    """The places in the source where a generated program may stop (`sites`), and the costs of its blocks, by number."""

    sites: list[CheckSite] = field(default_factory=list)
    blocks: list[Counter[str]] = field(default_factory=list)

    def add_site(self, site: CheckSite) -> int:
        self.sites.append(site)
        return FIRST_SITE + len(self.sites) - 1

    def add_block(self, cost: Counter[str]) -> int:
        """Add a block of straight-line code with a cost; return its number."""
        self.blocks.append(cost)
        return len(self.blocks) - 1


_RACE_CHECKS = {
    "read": ("race_read", READER, (WRITER, ATOMIC)),
    "write": ("race_write", WRITER, (WRITER, READER, ATOMIC)),
    "atomic write": ("race_atomic", ATOMIC, (WRITER, READER)),
}
MAX_NESTED_LOOPS = 18
MAX_INDENT = 80
LRU_BATCH = 64
"""The number of accesses after which the free space in the ring of recent lines is checked again."""


@record(slots=True)
class Options:
    """Options of generated code: compiled or plain Python, and the recording of more than costs."""

    compiled: bool
    trace: bool
    races: bool
    events: bool
    lru: str = ""
    """If LRU is simulated instead of keeping the trace, the operator (`>>` or `//`) for the line of an address."""

    @property
    def streams(self) -> bool:
        """True if accesses are simulated as they happen."""
        return self.compiled and bool(self.lru)


@record(slots=True)
class PendingAccess:
    """An access of an array element that is not yet logged; its address is an expression without side effects."""

    address: str
    kind: str
    site: int
    shadow: str = "S"


@dataclass(slots=True)
class Block:
    """The costs of one execution of a block; it is `straight` if it has no control flow inside."""

    looped: bool
    cost: Counter[str] = field(default_factory=Counter)
    span: int = 0
    straight: bool = True


@record(slots=True)
class Frame:
    """The variables in generated code of the current strand.

    `span` holds its span so far, `pending` the longest path through calls that it has spawned (empty if it spawns
    none), `task` and `bag` its task and its P-bag, `top` the top of the stack of local arrays, `alive` the words alive.
    """

    span: str = "s"
    pending: str = ""
    task: str = "task"
    bag: str = ""
    top: str = "top"
    alive: str = "alive"


@record(slots=True)
class ExitTarget:
    """A loop of the generated code that exits of some `kinds` end.

    `depth` is the number of blocks of costs around its body, `blocks` that of the blocks with local arrays around it.
    """

    kinds: tuple[str, ...]
    depth: int
    blocks: int


class FunctionWriter:
    """Writes one generated function."""

    def __init__(self, module: Module, options: Options, tables: Tables, first_counter: int) -> None:
        self.module = module
        self.options = options
        self.tables = tables
        self.lines: list[str] = []
        self.frame = Frame()
        self.free = False
        self.alone = False
        """True if nothing runs in parallel to this function on its processor."""
        self.grid = False
        """True if this function is a generator for a processor of a grid, whose counters must always be up to date."""
        self.counters: list[str] = []
        self._first_counter = first_counter
        self._indent = 1
        self._loops = 0
        self._names: Counter[str] = Counter()
        self._blocks: list[Block] = [Block(False)]
        self._pending: list[PendingAccess] = []
        self.exits: list[ExitTarget] = []
        """The loops around the current statement that exits may end."""
        self.leaves = False
        """True if a `return` leaves more than one loop of the generated code."""

    # Lines and names
    def emit(self, line: str) -> None:
        self.lines.append(" " * self._indent + line)

    def make_name(self, stem: str) -> str:
        """Return a name that begins with `stem` and is not used before in this function."""
        # A part of a record, `Q.head`, or the register of a parameter, `n'`, is no name in Python.
        stem = stem.replace(".", "_").replace("'", "_")
        self._names[stem] += 1
        return f"{stem}{self._names[stem]}"

    def assign_name(self, text: str, stem: str = "t") -> str:
        """Assign an expression to a new name that begins with `stem`, and return that."""
        name = self.make_name(stem)
        self.emit(f"{name} = {text}")
        return name

    @contextmanager
    def indented(self, header: str, span: Span, loop: bool = False) -> Iterator[None]:
        """Write a header, of a loop if `loop` is set, and indent the lines below; their costs are not separated."""
        self.emit(header)
        self._indent += 1
        self._loops += loop
        # CPython allows 20 nested loops, and 100 levels of indentation.
        if self._loops > MAX_NESTED_LOOPS or self._indent > MAX_INDENT:
            message = f"blocks nest deeper than the executor runs: {MAX_NESTED_LOOPS} loops in one algorithm"
            raise error(rules.TOO_DEEP, message, span=span, hint="move the inner loops into an algorithm of their own")
        mark = len(self.lines)
        yield
        if len(self.lines) == mark:
            self.emit("pass")
        self._indent -= 1
        self._loops -= loop

    # Failures
    def add_site(
        self, rule: Rule, span: Span, message: str, variants: Sequence[str] = (), hint: str | None = None
    ) -> int:
        """Add a place in the source where the run may stop, and its message; return its number, for diagnostics."""
        return self.tables.add_site(CheckSite(rule, span, message, tuple(variants), hint))

    def check(self, failed: str, site: int, *values: str) -> None:
        """Write a check that stops the run if `failed` is true.

        `site` is the number of the place in the source, and its message shows `values`.
        """
        self.emit(f"if {failed}:")
        self.emit(f" fail({', '.join(('K', str(site), *values))})")

    # Costs
    @property
    def block(self) -> Block:
        return self._blocks[-1]

    def count_operation(self, kind: str, real: bool) -> None:
        """Count one operation, on reals or on `int` data, unless inside `uncounted`."""
        if self.free:
            return
        self.block.cost[kind if real else INT_OPERATION.kind] += 1
        self.block.cost[WORK] += 1
        self.block.span += 1

    def count_event(self, event: Counted) -> None:
        """Count one unit of work and span that is not an operation: an iteration, a test, a call."""
        self.block.cost[event.kind] += 1
        self.block.cost[WORK] += 1
        self.block.span += 1

    def update_span(self) -> None:
        """Add the span of the block so far to its variable, before a fork or a join reads that."""
        if self.block.span:
            self.emit(f"{self.frame.span} += {self.block.span}")
            self.block.span = 0
        self.block.straight = False

    def _flush_before_control_flow(self) -> None:
        """Log pending accesses before control flow; if the strand spawns, update the span, as a fork may read it."""
        self.flush()
        if self.frame.pending:
            self.update_span()
        self.block.straight = False

    @contextmanager
    def counted(self, header: str, span: Span) -> Iterator[None]:
        """Open a block of costs under a header, such as that of an `if`, which is executed at most once."""
        self._flush_before_control_flow()
        with self.indented(header, span):
            self._blocks.append(Block(self.block.looped))
            yield
            self.flush()
            self.count_block(self._blocks.pop())

    @contextmanager
    def looped(self, header: str, span: Span) -> Iterator[Block]:
        """Open the body of a loop. If it is straight-line code, the caller has to count it after the loop."""
        self._flush_before_control_flow()
        with self.indented(header, span, loop=True):
            block = Block(True)
            self._blocks.append(block)
            yield block
            self.flush()
            last = self._blocks.pop()
            if not last.straight:
                self.count_block(last)

    @contextmanager
    def open_once(self, span: Span) -> Iterator[None]:
        """Open a loop of one iteration, which `break` ends, with costs of its own."""
        self._flush_before_control_flow()
        with self.indented("while True:", span, loop=True):
            self._blocks.append(Block(self.block.looped, straight=False))
            yield
            self.flush()
            self.count_block(self._blocks.pop())
            self.emit("break")

    @property
    def depth(self) -> int:
        """The number of open blocks of costs, without the innermost one."""
        return len(self._blocks) - 1

    def count_blocks_so_far(self, depth: int) -> None:
        """Write the counting of the costs so far of all blocks inside the outermost `depth`, which control leaves here.

        The innermost block is replaced by an empty one.
        """
        self.flush()
        for block in self._blocks[depth:]:
            block.straight = False
            self.count_block(block)
        self._blocks[-1] = Block(self.block.looped, straight=False)

    def count_block(self, block: Block, times: str = "1") -> None:
        """Write the counting of `times` executions of a block; `times` is an expression without side effects."""
        if block.span:
            amount = str(block.span) if times == "1" else f"{block.span} * {times}"
            self.emit(f"{self.frame.span} += {amount}")
        self.count(block.cost, times, block.looped if times == "1" else self.block.looped)

    def count(self, cost: Counter[str], times: str, looped: bool) -> None:
        """Write the counting of costs other than span, `times` times.

        Inside a loop (`looped`) they are added to a local variable, except on a grid.
        """
        if not cost:
            return
        counter = self._first_counter + self.tables.add_block(Counter(cost))
        if looped and not self.grid:
            self.counters.append(str(counter))
            self.emit(f"x{counter} += {times}")
        else:
            self.emit(f"K[{counter}] += {times}")

    def finish(self) -> None:
        self.flush()
        self.count_block(self._blocks[0])

    def count_steps(self, steps: str) -> None:
        """Write the counting of steps, and the check of their limit."""
        self.emit(f"K[{STEPS}] += {steps}")
        self.check(f"K[{STEPS}] > K[{FUEL}]", SITE_FUEL)

    def leave_compiled_if(self, failed: str) -> None:
        """Write a check that gives up the compiled run, whose integers have 64 bits, if `failed` is true."""
        self.check(failed, SITE_RANGE)

    # Accesses
    def count_access(self, address: str, kind: str, span: Span, what: str) -> None:
        """Count and log an access, whose kind is "read", "write", "update read" or "atomic write"."""
        if self.free:
            return
        self.block.cost[WRITES if kind.endswith("write") else READS] += 1
        self.log_access(address, kind, span, what)

    @property
    def detects_races(self) -> bool:
        return self.options.races and not self.alone

    def log_access(self, address: str, kind: str, span: Span, what: str) -> None:
        """Log an access without counting it."""
        if self.options.trace or self.detects_races:
            self._pending.append(PendingAccess(address, kind, self._add_race_site(span, what)))

    def _add_race_site(self, span: Span, what: str) -> int:
        return self.add_site(rules.RACE, span, what) if self.detects_races else 0

    def check_register_race(self, shadow: str, kind: str, span: Span, what: str) -> None:
        """Write the check for races of an access to a register that iterations of a parallel loop share."""
        self._check_race(PendingAccess("0", kind, self._add_race_site(span, what), shadow))

    def count_block_so_far(self) -> None:
        """Write the counting of the costs of the block so far, as control may leave it here."""
        self.flush()
        block = self._blocks.pop()
        self.count_block(block)
        self._blocks.append(Block(block.looped, straight=False))

    def flush(self) -> None:
        """Write the log of the accesses collected so far."""
        pending, self._pending = self._pending, []
        if not pending:
            return
        if self.detects_races:
            for access in pending:
                self._check_race(access)
        if not self.options.trace:
            return
        if self.options.streams:
            self._write_lru_accesses(pending)
            return
        entries = [f"{access.address} * 2 + {int(access.kind.endswith('write'))}" for access in pending]
        if not self.options.compiled:
            self.emit(f"T += ({', '.join(entries)},)")
            return
        self.emit(f"if now + {len(entries)} <= len(T):")
        for index, entry in enumerate(entries):
            self.emit(f" T[now + {index}] = {entry}")
        self.emit(f"now += {len(entries)}")

    def _write_lru_accesses(self, pending: Sequence[PendingAccess]) -> None:
        """Write the simulation of LRU as in `cache.streamed`; successive accesses of one element are merged."""
        runs = [(address, list(run)) for address, run in groupby(pending, lambda access: access.address)]
        for index, (address, run) in enumerate(runs):
            if index % LRU_BATCH == 0:
                self.emit(f"if now + {min(LRU_BATCH, len(runs) - index)} > len(T):")
                self.emit(" now = lru_tidy(K, Q, T, now)")
            dirty = int(any(access.kind.endswith("write") for access in run))
            line = self.assign_name(f"({address}) {self.options.lru} by", "l")
            self.emit(f"if {line} != last:")
            entry = self.make_name("l")
            self.emit(f" {entry} = Q[{line}]")
            self.emit(f" if {entry} == 0:")
            self.emit("  lru_miss(K, Q, T)")
            self.emit(f" T[now] = last = {line}")
            self.emit(" now += 1")
            self.emit(f" Q[{line}] = 2 * now + {dirty or f'({entry} & 1)'}")
            if dirty:
                self.emit("else:")
                self.emit(f" Q[{line}] |= 1")

    def _check_race(self, access: PendingAccess) -> None:
        if access.kind == "update read":
            return
        function, slot, conflicting = _RACE_CHECKS[access.kind]
        task, shadow = self.frame.task, access.shadow
        arguments = f"K, {shadow}, U, B, {access.address}, {task}, {access.site}"
        # The common cases are inlined: a call would be several times as slow in compiled code.
        entry = self.assign_name(f"{SHADOW} * {access.address}", "h")
        slow = []
        for offset in conflicting:
            last = self.assign_name(f"{shadow}[{entry} + {offset}]", "h")
            root = f"U[{last} - 1]"
            slow.append(f"{last} != 0 and {last} != {task} + 1 and (U[{root}] != {root} or B[{root}] != {SERIAL})")
        if access.kind == "write":
            self._write_inlined_check(f"{shadow}[{entry} + {WRITER}", slow, access, f"{function}({arguments})")
            return
        last = self.assign_name(f"{shadow}[{entry} + {slot}]", "h")
        root = f"U[{last} - 1]"
        slow.append(f"{last} != {task} + 1 and ({last} == 0 or U[{root}] != {root} or B[{root}] != {PARALLEL})")
        self.emit(f"if {' or '.join(slow)}:")
        self.emit(f" {function}({arguments})")

    def _write_inlined_check(self, slot: str, slow: list[str], access: PendingAccess, call: str) -> None:
        self.emit(f"if {' or '.join(slow)}:")
        self.emit(f" {call}")
        self.emit("else:")
        self.emit(f" {slot}] = {self.frame.task} + 1")
        self.emit(f" {slot} + 1] = {access.site}")

    # What callees share
    def save_trace_position(self) -> None:
        """Write the position in the trace to the state, before a call."""
        self.flush()
        if self.options.trace and self.options.compiled:
            self.emit(f"K[{TRACE_SLOT}] = now")

    def load_trace_position(self) -> None:
        """Read the position in the trace from the state, after a call."""
        if self.options.trace and self.options.compiled:
            self.emit(f"now = K[{TRACE_SLOT}]")
        if self.options.streams:
            self.emit("last = -1")

    @property
    def trace_position(self) -> str:
        """The expression for the number of accesses so far, for an event."""
        return "now" if self.options.compiled else "len(T)"

    def write_event(self, kind: int, value: str = "0") -> None:
        if self.options.events:
            self.flush()
            self.emit(f"event(mem, {kind}, {self.trace_position}, {value})")

    @contextmanager
    def strand(self, **changes: str) -> Iterator[None]:
        """Open the code of another strand, with variables of its own."""
        before = self.frame
        self.frame = replace(before, **changes)
        yield
        self.frame = before
