"""Races that are certain from the text: two iterations of a parallel loop touch one element, and one writes it.

Judged where subscripts are affine and nothing guards the accesses; the executor finds the rest on data.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from archline.algebra.polynomial import Poly, Symbol
from archline.ir.scope import NotStaticError, Scope, behind, declared, static_value
from archline.language import syntax as s
from archline.language.diagnostics import Diagnostic, Rule
from archline.language.model import Module

RACE = Rule(
    "AL301",
    "race between iterations of a parallel loop",
    """
    Two iterations of a `parallel for` touch the same element (or register) and at least one writes it, so the result
    depends on their order.

    ```
    parallel for i in 0..n:
        total[0] += x[i]         # every iteration writes total[0]
    ```

    Make the update `atomic`, give each iteration an element of its own and combine them afterwards, or drop
    `parallel`. Races that depend on the data are found when the program runs.
    """,
)
MAX_DISTANCE = 4


@dataclass(frozen=True)
class _Access:
    """An access in the body of a parallel loop: `subscripts` is empty for a register."""

    name: str
    subscripts: tuple[Poly, ...]
    writes: bool
    atomic: bool
    node: s.Node


def certain_races(module: Module, algorithm: s.Algorithm) -> tuple[Diagnostic, ...]:
    """A diagnostic for each parallel loop of the algorithm whose iterations certainly race."""
    scope = declared(module, algorithm)
    return tuple(_in_block(algorithm.body, scope))


def _in_block(body: tuple[s.Stmt, ...], scope: Scope) -> Iterator[Diagnostic]:
    for statement in body:
        entered, found = scope, None
        if isinstance(statement, s.Loop):
            entered = scope.with_value(statement.variable, Poly.symbol(statement.variable))
            found = _race(statement, entered) if statement.parallel else None
        if found is not None:
            yield found
            continue
        for inner in s.blocks(statement):
            yield from _in_block(inner, entered)
        scope = behind(statement, scope)


def _race(loop: s.Loop, scope: Scope) -> Diagnostic | None:
    accesses = list(_accesses(loop.body, loop.variable, scope, frozenset()))
    for write in accesses:
        if not write.writes:
            continue
        for other in accesses:
            if other.name == write.name and not (write.atomic and other.atomic) and _meet(write, other, loop.variable):
                verb = "writes" if other.writes else "reads"
                message = f"iterations of `parallel for {loop.variable}` race on `{write.name}`"
                if other.node is not write.node:
                    message += f": another iteration {verb} what this one writes (line {other.node.span.line})"
                hint = "make the update atomic, or let each iteration write an element of its own"
                return Diagnostic(RACE, message, write.node.span, hint=hint)
    return None


def _meet(write: _Access, other: _Access, variable: str) -> bool:
    """Whether iteration v of the one and some iteration v + d of the other, d not 0, touch one element."""
    if len(write.subscripts) != len(other.subscripts):
        return False
    now = Poly.symbol(variable)
    for distance in range(-MAX_DISTANCE, MAX_DISTANCE + 1):
        moved = [each.substitute({variable: now + distance}) for each in other.subscripts]
        if distance and all(x == y for x, y in zip(write.subscripts, moved, strict=True)):
            return True
    return False


def _accesses(body: tuple[s.Stmt, ...], variable: str, scope: Scope, own: frozenset[str]) -> Iterator[_Access]:
    """Accesses that every iteration makes: none under a guard or a loop whose range differs between iterations."""
    for statement in body:
        match statement:
            case s.Simple():
                if isinstance(statement, s.Let | s.Local):
                    own = own | {statement.name}
                yield from _of_simple(statement, scope, own)
            case s.Loop():
                inner = scope.with_value(statement.variable, Poly.symbol(statement.variable))
                if _same_for_all(statement, variable, scope):
                    yield from _accesses(statement.body, variable, inner, own)
            case s.While() | s.If() | s.Split():
                pass
        scope = behind(statement, scope)


def _of_simple(statement: s.Simple, scope: Scope, own: frozenset[str]) -> Iterator[_Access]:
    """What a statement reads, then what it writes; the read of an update races with what its write does."""
    for part in statement.reads:
        if part not in statement.writes:
            yield from _reads(part, scope, own)
    atomic = isinstance(statement, s.Assign) and statement.atomic
    for target in statement.writes:
        access = _access(target, scope, own, writes=True, atomic=atomic)
        if access is not None:
            yield access


def _same_for_all(loop: s.Loop, variable: str, scope: Scope) -> bool:
    """Whether an inner loop runs over the same range, known not to be empty, in every iteration."""
    if loop.step is not None:
        return False
    try:
        lo, hi = static_value(loop.lo, scope), static_value(loop.hi, scope)
    except NotStaticError:
        return False
    trips = lo - hi + 1 if loop.down else hi - lo
    return variable not in lo.names | hi.names and scope.facts.positive(trips)


def _reads(expr: s.Expr, scope: Scope, own: frozenset[str]) -> Iterator[_Access]:
    match expr:
        case s.Name() | s.Element():
            access = _access(expr, scope, own, writes=False, atomic=False)
            if access is not None:
                yield access
        case s.Unary(operand=operand):
            yield from _reads(operand, scope, own)
        case s.Binary(op="and" | "or", left=left):
            # The right side may not be evaluated.
            yield from _reads(left, scope, own)
        case s.Binary(left=left, right=right):
            yield from _reads(left, scope, own)
            yield from _reads(right, scope, own)
        case s.Call(arguments=arguments):
            for argument in arguments:
                yield from _reads(argument, scope, own)
        case s.Integer() | s.Real() | s.Reshape():
            pass


def _access(
    target: s.Name | s.Element, scope: Scope, own: frozenset[str], *, writes: bool, atomic: bool
) -> _Access | None:
    if isinstance(target, s.Name):
        if scope.module.is_view(target) or target.id in own or target.id in scope.values:
            return None
        return _Access(target.id, (), writes, atomic, target)
    if target.array in own or scope.module.is_view(target):
        return None
    try:
        subscripts = tuple(static_value(each, scope) for each in target.subscripts if not isinstance(each, s.Slice))
    except NotStaticError:
        return None
    plain = all(isinstance(atom, Symbol) for each in subscripts for atom in each.atoms())
    return _Access(target.array, subscripts, writes, atomic, target) if plain else None
