"""The parts of the checker share the context defined here, which has findings, facts and the current algorithm."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice

from archline.expr.tree import Span
from archline.language import name_rules as rules
from archline.language import syntax as s
from archline.language.checking.points import Frame, OpaqueFrame, Path, Requirement, Sampler
from archline.language.checking.scopes import MACHINE_SYMBOLS, Role, SymbolEntry, SymbolTable
from archline.language.diagnostics import Diagnostic, Proposal, Related, Rule, suggest_closest
from archline.language.mistakes import FOREIGN_FUNCTIONS
from archline.language.model import Agreement, Collective, ExprType, Kind, Module, Signature
from archline.language.proposals import propose_definition
from archline.language.rearranging import suggest_renaming
from archline.language.words import NOTHING, RESERVED
from archline.records import record

MAX_FINDINGS = 20


class Findings:
    """The diagnostics found so far, at most MAX_FINDINGS, and the algorithms whose checks found any, also further ones.

    `subject` is the algorithm that is checked now.
    """

    def __init__(self, found: Iterable[Diagnostic] = ()) -> None:
        self.diagnostics = list(found)[:MAX_FINDINGS]
        self.subject: s.Algorithm | None = None
        self.mistaken: set[s.Algorithm | None] = set()

    def add(
        self, rule: Rule, message: str, span: Span, hint: str | None = None, related: tuple[Related, ...] = ()
    ) -> None:
        self.extend([Diagnostic(rule, message, span, hint=hint, related=related)])

    def replace(self, old: Diagnostic, new: Diagnostic) -> None:
        """Replace a diagnostic by another one about the same mistake."""
        self.diagnostics = [new if diagnostic is old else diagnostic for diagnostic in self.diagnostics]

    def suggest_closest(self, name: str, candidates: Iterable[str], span: Span | None = None) -> str | None:
        """Return a hint naming the candidate closest to an unknown name; None if MAX_FINDINGS are reported already."""
        return suggest_closest(name, candidates, span) if len(self.diagnostics) < MAX_FINDINGS else None

    def extend(self, diagnostics: Iterable[Diagnostic]) -> None:
        for diagnostic in diagnostics:
            self.mistaken.add(self.subject)
            if len(self.diagnostics) < MAX_FINDINGS and diagnostic not in self.diagnostics:
                self.diagnostics.append(diagnostic)


@record(eq=False)
class CallSite:
    """A call, the path to it, the values of the callee's sizes, and the names of all integers in scope."""

    caller: s.Algorithm
    callee: s.Algorithm
    call: s.Call
    path: tuple[Frame, ...]
    sizes: Mapping[str, s.Expr]
    integers: frozenset[str]


@dataclass(eq=False)
class CheckedFacts:
    """The checker's facts about expressions, as `Module` has them; `depth` is the nesting of extents that it builds."""

    types: dict[s.Expr, ExprType] = field(default_factory=dict)
    targets: dict[s.Call, s.Algorithm | s.Extern] = field(default_factory=dict)
    shapes: dict[s.Expr, tuple[s.Expr, ...]] = field(default_factory=dict)
    bindings: dict[s.Call, Mapping[str, s.Expr | None]] = field(default_factory=dict)
    collectives: dict[s.Communicate, Collective] = field(default_factory=dict)
    agreements: dict[s.Algorithm, Agreement] = field(default_factory=dict)
    depth: dict[s.Expr, int] = field(default_factory=dict)
    shortfalls: dict[s.Call, tuple[str, ...]] = field(default_factory=dict)
    sites: list[CallSite] = field(default_factory=list)

    def add_facts(self, other: CheckedFacts | Module) -> None:
        """Add the facts about another part of the program, or about a module that it uses."""
        for name, part in vars(self).items():
            if isinstance(part, dict):
                part.update(getattr(other, name, ()))
            else:
                part.extend(getattr(other, name, ()))

    def count_facts(self) -> list[int]:
        """Return the numbers of facts of each kind, for `select_new`."""
        return list(map(len, vars(self).values()))

    def select_new(self, counts: list[int]) -> CheckedFacts:
        """Return the facts that were added since there were as many as `counts` says."""
        selected = CheckedFacts()
        for (name, part), count in zip(vars(self).items(), counts, strict=True):
            new = dict(islice(part.items(), count, None)) if isinstance(part, dict) else part[count:]
            setattr(selected, name, new)
        return selected


@record(eq=False)
class Library:
    """The possible targets of a file's calls and claims.

    `collectives` are the algorithms of `distributed.collectives`, if the file communicates. `lost` names algorithms in
    the text that could not be read: their calls are not reported. `machine_costs` are the machine symbols in declared
    costs and facts of any algorithm. `complete` is false if a used file could not be loaded, so that an unknown name
    may be one of its.
    """

    visible: Mapping[str, s.Algorithm]
    collectives: Mapping[str, s.Algorithm]
    externs: Mapping[str, s.Extern]
    signatures: Mapping[s.Algorithm, Signature]
    cost_symbols: Mapping[str, Span]
    machine_costs: frozenset[str]
    lost: frozenset[str]
    complete: bool
    program: s.Program


@dataclass(eq=False)
class BodyContext:
    """The algorithm being checked: its names, and the path of loops and conditions to the current statement."""

    algorithm: s.Algorithm
    library: Library
    findings: Findings
    facts: CheckedFacts
    sampler: Sampler
    check_call: Callable[[BodyContext, s.Call, s.Algorithm], None]
    """Checks a call of an algorithm, and notes its target."""
    scope: SymbolTable = field(default_factory=SymbolTable)
    path: Path = field(default_factory=list)
    on_data: Path = field(default_factory=list)
    """The conditions on data on the path, which samples do not follow."""
    axes: dict[str, s.Expr] = field(default_factory=dict)
    """The extents of the grid's axes, and of the groups of the surrounding splits."""
    sharing: bool = False
    integers: bool = False
    """Whether the current expression has to be an integer, as a bound or an extent."""
    free: str = ""
    """What the current expression belongs to, if its evaluation is not counted."""
    quotients: dict[s.Binary, Diagnostic] = field(default_factory=dict)
    """The reported quotients of integers for whose values no place is known yet."""
    _reported: set[str] = field(default_factory=set)

    @property
    def distributed(self) -> bool:
        """Whether every processor of a grid runs this algorithm."""
        return bool(self.algorithm.grid)

    def report(
        self, rule: Rule, message: str, span: Span, hint: str | None = None, related: tuple[Related, ...] = ()
    ) -> None:
        self.findings.add(rule, message, span, hint, related)

    def is_first_report(self, unknown: str) -> bool:
        """Whether an unknown name has not been reported before; it counts as reported from now on."""
        if unknown in self._reported:
            return False
        self._reported.add(unknown)
        return True

    def sample_points(self) -> list[dict[str, int]]:
        """Return sample points of the path to the current statement."""
        return self.sampler.sample_points(self.path)

    def define(self, symbol: SymbolEntry) -> None:
        """Define a name; report it if it hides another."""
        check_definition(self, symbol)
        self.scope.define(symbol)

    @contextmanager
    def block(self, condition: s.Expr | None = None, truth: bool = True) -> Iterator[None]:
        """Open a nested scope, whose path has `condition`, if any, as true, or as false if `truth` is False."""
        depth, data_depth = len(self.path), len(self.on_data)
        self.scope.enter()
        if condition is not None:
            self.assume(condition, truth)
        try:
            yield
        finally:
            self.scope.leave()
            del self.path[depth:], self.on_data[data_depth:]

    def assume(self, fact: s.Fact, truth: bool = True) -> None:
        """Add a fact, or with `truth` false its negation, to the path; one with an unknown name is ignored."""
        static = data = False
        for expr in iterate_leaves(fact):
            if isinstance(expr, s.Name) and self.scope.find(expr.id) is None:
                return
            kind = self.facts.types.get(expr)
            static |= isinstance(expr, s.Name) and kind is Kind.STATIC
            data |= isinstance(expr, s.Name | s.Element) and kind is not Kind.STATIC
        # A condition on data may still relate sizes, in a way that no sample of sizes shows.
        if static:
            self.path.append(OpaqueFrame() if data else Requirement(fact, truth))
        if data:
            self.on_data.append(Requirement(fact, truth))

    @contextmanager
    def allow_shared_arrays(self) -> Iterator[None]:
        """Allow an algorithm on a grid to access its global arrays."""
        before, self.sharing = self.sharing, True
        try:
            yield
        finally:
            self.sharing = before

    @contextmanager
    def expect_integers(self, integers: bool) -> Iterator[None]:
        """Set, for the enclosed code, whether checked expressions must be integers, as bounds and extents must."""
        before, self.integers = self.integers, integers
        try:
            yield
        finally:
            self.integers = before

    @contextmanager
    def expect_uncounted(self, what: str) -> Iterator[None]:
        """Refuse calls of algorithms in the enclosed checks, of an expression that is free; reports call it `what`."""
        before, self.free = self.free, what
        try:
            yield
        finally:
            self.free = before

    def lookup(self, name: str, span: Span, advice: str = "") -> SymbolEntry | None:
        """Return the symbol of a name; None for an unknown name, which is reported at its first use.

        The report has `advice` as hint if no known name is similar.
        """
        symbol = self.scope.find(name)
        if symbol is not None or not self.is_first_report(name):
            return symbol
        hint: str | None
        if name in MACHINE_SYMBOLS:
            if name == "P":
                message = "`P` can only be computed with in an algorithm `on grid`"
            else:
                message = f"an algorithm cannot compute with the machine symbol `{name}`"
            hint = f"pass what depends on the machine as a parameter, and name `{name}` in the contract"
            self.report(rules.MACHINE_SYMBOL, message, span, hint)
        elif name in self.scope.ended:
            hint = f"`{name}` was defined in a block that has ended; define it before that block"
            self.report(rules.UNKNOWN_NAME, f"`{name}` is not known here", span, hint)
        else:
            if name in NOTHING:
                words = "a number that is no index stands for it: define `{}` before the algorithms"
                advice = propose_definition(self.library.program, f"let {name} = -1", words, safe=False)
            number = f"define it first, such as `local {name}: real = 0`, or make it a parameter"
            size = f"make it a parameter, `{name}: size`, or define it first, as in `let {name} = n//2`"
            owner, _, field = name.rpartition(".")
            is_plain = bool(owner) and self.scope.find(owner) is not None
            if is_plain:
                known = field in ("size", "len", "length", "shape", "n", "rows", "cols", "ndim")
                advice = FOREIGN_FUNCTIONS["len"] if known else f"`{owner}` is no record, so it has no fields"
            closest = (
                None if name in NOTHING or is_plain else self.findings.suggest_closest(name, self.scope.names(), span)
            )
            hint = closest or advice or (size if self.integers else number)
            if not isinstance(hint, Proposal) and span.source.lines[span.line - 1][: span.column - 1].rstrip().endswith(
                "//"
            ):
                hint = f"{hint}; a comment begins with `#`"
            self.report(rules.UNKNOWN_NAME, f"unknown name `{name}`", span, hint)
        return None


def check_definition(body: BodyContext, symbol: SymbolEntry) -> None:
    """Report a definition that shadows a name in scope, or takes the name of a machine symbol that is needed."""
    name, span = symbol.name, symbol.span
    before = body.scope.find(name)
    needed = _explain_need(body, symbol) if name in MACHINE_SYMBOLS else None
    if needed is not None:
        words = {node.id for node in s.find_nodes(body.algorithm, s.Name)} | s.find_assigned_names(body.algorithm.body)
        words |= {parameter.name for parameter in body.algorithm.parameters} | RESERVED
        new = next(new for new in (name.lower(), f"size_{name}", f"{name}_size") if new not in words)
        hint: str | None = f"choose another name, such as `{new}`"
        if symbol.type is Kind.STATIC:
            hint = suggest_renaming(span.source, span.line, name, new, str(hint))
        message = f"{symbol.role.described} cannot be called `{name}` here: {needed}"
        body.report(rules.MACHINE_SYMBOL, message, span, hint)
    elif before is not None:
        message = f"`{name}` is already {before.role.described} here (line {before.span.line})"
        hint = None
        if symbol.role is Role.LOOP and before.role in (Role.REGISTER, Role.LET, Role.SCALAR):
            hint = f"the loop leaves that value as it is, and statements behind it read `{name}`: choose another name"
        body.report(rules.SHADOWING, message, span, hint, (Related(before.span.head, f"`{name}` is defined here"),))
    elif name in body.library.cost_symbols:
        place = body.library.cost_symbols[name]
        message = f"`{name}` is already a cost symbol of an extern (line {place.line})"
        body.report(rules.SHADOWING, message, span, None, (Related(place, f"`{name}` is a cost symbol here"),))


def _explain_need(body: BodyContext, symbol: SymbolEntry) -> str | None:
    """Explain the need for a machine symbol that a definition would hide; None if it is not needed."""
    name = symbol.name
    if body.distributed:
        return "on a grid it means the machine's"
    if name in _collect_contract_names(body.algorithm):
        return f"a contract or cost of `{body.algorithm.name}` speaks of the machine's"
    if symbol.type is not Kind.STATIC:
        return None
    if name in ("Z", "L"):
        return f"io is in {name}, the words of {'fast memory' if name == 'Z' else 'a line'}"
    return "declared costs or facts speak of the machine's" if name in body.library.machine_costs else None


def _collect_contract_names(algorithm: s.Algorithm) -> frozenset[str]:
    """Return the names in an algorithm's contract and declared costs that its parameters do not define."""
    own_names = s.find_names(algorithm.parameters) | {parameter.name for parameter in algorithm.parameters}
    costs = tuple(s.find_nodes(algorithm.body, s.Costs))
    return frozenset(s.find_names((algorithm.where, algorithm.ensures, costs)) - own_names)


def find_needed_machine_symbols(algorithms: Iterable[s.Algorithm], externs: Iterable[s.Extern]) -> frozenset[str]:
    """Return the machine symbols (P, Z, L, K) in the contracts and declared costs of algorithms and externs."""
    spoken = [_collect_contract_names(algorithm) for algorithm in algorithms]
    return frozenset(MACHINE_SYMBOLS) & s.find_names(tuple(extern.costs for extern in externs)).union(*spoken)


def iterate_leaves(fact: s.Fact) -> Iterator[s.Expr]:
    """Yield the names, literals and array elements in a fact or expression."""
    match fact:
        case s.IsPower(value=a, base=b) | s.Divides(divisor=a, value=b) | s.Binary(left=a, right=b):
            yield from iterate_leaves(a)
            yield from iterate_leaves(b)
        case s.IsSquare(value=a) | s.Unary(operand=a):
            yield from iterate_leaves(a)
        case s.Call(arguments=arguments):
            for argument in arguments:
                yield from iterate_leaves(argument)
        case _:
            yield fact


def depends_on_data(facts: CheckedFacts, fact: s.Fact, data: frozenset[str]) -> bool:
    """Whether data decides the value of a fact or expression; `data` are the registers that data decides."""
    if any(isinstance(node, s.Call) and node in facts.targets for node in s.iterate_nodes(fact)):
        return True
    for leaf in iterate_leaves(fact):
        static = facts.types.get(leaf) is Kind.STATIC or isinstance(leaf, s.Integer)
        if not static and not (isinstance(leaf, s.Name) and facts.types.get(leaf) is Kind.INT and leaf.id not in data):
            return True
    return False


def iterate_buffers(statement: s.Communicate) -> Iterator[s.Expr]:
    """Yield the buffers that a statement sends from, and those it receives into."""
    if statement.buffer is not None:
        yield statement.buffer
    for clause in statement.clauses:
        if clause.keyword == "into":
            yield from clause.values


def find_changed_registers(algorithm: s.Algorithm) -> frozenset[str]:
    """Return the names that assignments set, and those passed to calls or messages, which may set them."""
    body = algorithm.body
    written = (name for statement in s.find_nodes(body, s.Assign, s.Invoke) for name in statement.sets)
    # Names in calls and communications may be buffers that these write to.
    passed = (name_node.id for name_node in s.find_nodes(tuple(s.find_nodes(body, s.Communicate, s.Call)), s.Name))
    return frozenset((*written, *passed))


def find_data_registers(facts: CheckedFacts, algorithm: s.Algorithm) -> frozenset[str]:
    """Return the registers, and `int` parameters, whose values data may decide."""
    registers = {parameter.name for parameter in algorithm.parameters if isinstance(parameter.type, s.ScalarType)}
    received = [
        buffer for statement in s.find_nodes(algorithm.body, s.Communicate) for buffer in iterate_buffers(statement)
    ]
    passed = [item for call in s.find_nodes(algorithm.body, s.Call) if call in facts.targets for item in call.arguments]
    registers |= {expr.id for expr in (*received, *passed) if isinstance(expr, s.Name)}

    def collect_registers(body: tuple[s.Stmt, ...], data: bool) -> None:
        for statement in body:
            within = data or isinstance(statement, s.While)
            if isinstance(statement, s.Simple):
                for name in statement.sets:
                    if data or any(depends_on_data(facts, expr, frozenset(registers)) for expr in statement.reads):
                        registers.add(name)
            else:
                within |= any(
                    depends_on_data(facts, expr, frozenset(registers)) for expr in s.list_evaluated(statement)
                )
            for block in s.list_blocks(statement):
                collect_registers(block, within)

    before = -1
    while before != len(registers):
        before = len(registers)
        collect_registers(algorithm.body, False)
    return frozenset(registers)
