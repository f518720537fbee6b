"""Count the element accesses of a program, as runs count them, and as upper bounds on io.

For io, accesses are weighted in words, L for a line: accesses of a loop that walks along a row share lines, and each
other access costs a line. Lines that the innermost loop walks along stay in cache while it runs, one for each row.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from enum import Enum, auto
from fractions import Fraction
from functools import lru_cache, reduce
from math import prod
from operator import mul
from typing import TypeGuard

from archline.algebra.facts import Facts
from archline.algebra.polynomial import ZERO, Poly
from archline.analysis.cost import Cost, build_cost
from archline.analysis.metrics.derivation import Derivation
from archline.analysis.metrics.operations import CostModel
from archline.analysis.metrics.solution import add_amount_to_solution
from archline.analysis.metrics.tally import FREE, DerivationStep, Tally, make_unknown_tally, repeat_tally
from archline.analysis.regimes import split_into_regimes
from archline.expr.intervals import Interval
from archline.expr.text import format_expression
from archline.ir.amounts import Amount, KnownAmount, UnknownAmount, exact_amount
from archline.ir.declarations import declared_scope
from archline.ir.places import read_array_type, split_signed_terms
from archline.ir.scope import NotStaticError, Scope, static_value
from archline.ir.tree import require_traceable
from archline.language import syntax as s
from archline.language.call_graph import find_recursive_component, has_recursion, iterate_local_arrays
from archline.language.metrics import METRICS
from archline.language.model import Module
from archline.records import memoised, record

METRIC = "accesses"
LOGICAL = ("and", "or")
MAX_CACHED_ANSWERS = 64
"""The number of access counts that are cached, as bounds on io may ask for them again."""


@lru_cache(maxsize=MAX_CACHED_ANSWERS)
def bound_accesses(module: Module, algorithm: s.Algorithm, updates: int = 1) -> Cost:
    """Bound the element accesses of one call from above; the lower bound is 0 unless `updates` is 2.

    Both sides of `and` and `or` count, and all tests of `elif`. An update such as `+=` counts `updates` accesses
    of its target: with 1, the second access finds the element in the cache. Raises UntracedError, if io is declared
    or words are moved in other ways than by accesses, and TooComplexError.
    """
    return derive_accesses(module, algorithm, updates)[0]


def derive_accesses(module: Module, algorithm: s.Algorithm, updates: int) -> tuple[Cost, tuple[DerivationStep, ...]]:
    """Derive the number of accesses and its steps; if `updates` is 2, as runs count them, with a lower bound too."""
    require_traceable(module, algorithm)
    statements = Derivation(module, coarse=False, model=AccessModel(module, updates))
    tally, steps = statements.derive_total(algorithm)
    amount = tally.amount(METRIC)
    both = updates > 1
    if isinstance(amount, UnknownAmount):
        cost = build_cost(METRIC, amount, frozenset(), algorithm)
        if both and find_recursive_component(module, algorithm):
            rounds = Tally(rounds=statements.recursions.derive_iteration_costs(algorithm)).fold_iterations(
                statements.iteration_symbols(algorithm)
            )
            closed = statements.recursions.solve_metric(algorithm, METRIC)
            cost = replace(cost, interval_at=add_amount_to_solution(closed, rounds.amount(METRIC))[1])
        return cost, steps
    cost = build_cost(METRIC, amount, frozenset(), algorithm) if both else Cost(METRIC, "bounded", ZERO, amount.upper)
    if METRIC in tally.names and find_recursive_component(module, algorithm):
        rounds = Tally(rounds=statements.recursions.derive_iteration_costs(algorithm)).fold_iterations(
            statements.iteration_symbols(algorithm)
        )
        bounds, interval_at = add_amount_to_solution(
            statements.recursions.solve_metric(algorithm, METRIC), rounds.amount(METRIC)
        )
        if not both:
            bounds = tuple(replace(bound, value=ZERO) if bound.side == "lower" else bound for bound in bounds)
        enclose = (
            interval_at
            if both or interval_at is None
            else lambda point: Interval(Fraction(0), interval_at(point).upper)
        )
        return replace(cost, bounds=bounds, interval_at=enclose), steps
    return split_into_regimes(
        cost, declared_scope(module, algorithm).facts, module.signatures[algorithm].size_names
    ), steps


class WordModel(CostModel):
    """Counts words of accesses; calls are counted too, so that every recursion has a recurrence."""

    upper_only = True

    def __init__(self, module: Module) -> None:
        super().__init__((METRICS[METRIC],), auxiliary=(METRICS["calls"],))
        self._module = module

    def build_word_tally(self, count: Poly | int) -> Tally:
        """Return the tally of a number of words, or accesses."""
        value = Poly.constant(count) if isinstance(count, int) else count
        return self.build_tally({METRIC: exact_amount(value)}) if value else FREE

    def list_accesses(self, part: object) -> list[s.Element]:
        """List the element accesses in one or several expressions."""
        return [element for element in s.find_nodes(part, s.Element) if not self._module.is_view(element)]


class AccessModel(WordModel):
    """Counts the elements that are read and written."""

    def __init__(self, module: Module, updates: int = 1) -> None:
        super().__init__(module)
        self._updates = updates
        self.upper_only = updates == 1

    def count_statement(self, statement: s.Stmt, scope: Scope) -> Tally:
        return self._count_statement(statement)

    @memoised
    def _count_statement(self, statement: s.Stmt) -> Tally:
        again = 0
        if isinstance(statement, s.Simple):
            updates = statement.updates if self._updates > 1 else statement.interrupted_updates
            again = sum(isinstance(update, s.Element) for update in updates)
        tests = s.list_evaluated(statement)
        maybe = tests[1:] if isinstance(statement, s.If) else ()
        if isinstance(statement, s.While) and statement.limit is None and s.may_end_early(statement):
            # No test follows an iteration that an exit ends: the tests are those of the iterations, or one more.
            maybe = tests
        return self._count_accesses(tests, maybe, again)

    def _count_accesses(self, evaluated: object, maybe: object, again: int = 0) -> Tally:
        """Count the accesses in `evaluated` and `again` more, between bounds.

        The lower bound leaves out accesses in `maybe` and in right sides of `and` and `or`.
        """
        most = len(self.list_accesses(evaluated)) + again
        right = tuple(operation.right for operation in s.find_nodes(evaluated, s.Binary) if operation.op in LOGICAL)
        least = max(0, most - len(self.list_accesses((maybe, right))))
        if least == most:
            return self.build_word_tally(most)
        return self.build_tally({METRIC: KnownAmount(Poly.constant(least), Poly.constant(most))})

    def count_iteration(self, loop: s.Loop | s.While) -> Tally:
        """Count the accesses in the test of a `while` or `repeat`; from 0 on if an exit may skip a `repeat`'s test."""
        if not isinstance(loop, s.While):
            return FREE
        return self._count_accesses(loop.condition, loop.condition if loop.tests_last and s.may_end_early(loop) else ())

    def count_fill(self, statement: s.Local | s.Assign, extents: Sequence[Amount], facts: Facts) -> Tally:
        """Count a write of each element, and a read if a view is copied."""
        copied = statement.value is not None and self._module.is_view(statement.value)
        return reduce(repeat_tally, extents, self.build_word_tally(2 if copied else 1))


MAX_CACHED_LINES = 8
"""The maximum number of lines of a call that stay in cache."""
ContiguousArrays = Mapping[s.Algorithm, frozenset[str]]
"""The arrays of each algorithm in which neighbours in a row are neighbours in memory."""


WHOLE_ARRAY_NODES = (s.Call, s.Slice, s.ArrayType, s.Reshape)
"""Calls and expressions of whole arrays: a loop that contains them does not keep lines."""


class LineSharing(Enum):
    """Selects the loops that hold a cache line from one iteration to the next while an access advances along it.

    NONE: no loops; INNER: innermost ones; NESTED: outer ones too (without a step and without operations on whole
    arrays).
    """

    NONE = auto()
    INNER = auto()
    NESTED = auto()


@record
class _RowWalk:
    """The words by which an access moves in each iteration of a loop, and additional words of the first iteration."""

    words: int
    first: int


class StreamedWordModel(WordModel):
    """Counts L words for an access, but 1 if a loop advances it along a row, plus 2*L - 2 for both ends of the advance.

    `sharing` selects the loops that hold lines. `lines` is the maximum number of lines held at a time, and `nested` is
    true if a loop with inner loops holds lines.
    """

    def __init__(
        self, module: Module, algorithms: Iterable[s.Algorithm], line: int, rows: ContiguousArrays, sharing: LineSharing
    ) -> None:
        super().__init__(module)
        self.lines = 1
        self.nested = False
        self._line = line
        self._sharing, self._nesting = sharing is not LineSharing.NONE, sharing is LineSharing.NESTED
        self._before: dict[s.Stmt, int] = {}
        self._each: dict[s.Loop | s.While, int] = {}
        self._fills: dict[s.Stmt, tuple[int, int]] = {}
        self._instead: dict[s.Call, int] = {}
        self._walked: frozenset[str] = frozenset()
        self._on: Mapping[s.Loop, frozenset[str]] = {}
        self._held = 1
        for algorithm in algorithms:
            self._own = rows[algorithm]
            self._offsets = frozenset(x.name for x in algorithm.parameters if isinstance(x.type, s.OffsetsType))
            self._prepare_block(algorithm.body)

    # Costs that the derivation asks for
    def count_statement(self, statement: s.Stmt, scope: Scope) -> Tally:
        return self.build_word_tally(self._before.get(statement, 0))

    def count_iteration(self, loop: s.Loop | s.While) -> Tally:
        return self.build_word_tally(self._each.get(loop, 0))

    def count_call(self, call: s.Call) -> Tally | None:
        """Count the words of a call so small that its lines stay in cache; None for any other call."""
        return self.build_word_tally(self._instead[call]) if call in self._instead else None

    def count_fill(self, statement: s.Local | s.Assign, extents: Sequence[Amount], facts: Facts) -> Tally:
        """Count the words of each row of a filled array: the words of its entries, and more for its two ends."""
        words, ends = self._fills[statement]
        *outer, row = extents
        row_cost = repeat_tally(self.build_word_tally(words), row).then(self.build_word_tally(ends), facts)
        return reduce(repeat_tally, outer, row_cost)

    # Costs of statements, prepared for each algorithm before the derivation
    def _prepare_block(self, body: tuple[s.Stmt, ...]) -> None:
        for statement in body:
            self._prepare_statement(statement)

    def _prepare_statement(self, statement: s.Stmt) -> None:
        again = statement.interrupted_updates if isinstance(statement, s.Simple) else ()
        self._before[statement] = self._count_unwalked_words((*s.list_evaluated(statement), *again))
        match statement:
            case s.Loop() if self._keeps_lines(statement):
                self._prepare_walks(statement)
            case s.Invoke(call=call) if self._sharing and (words := self._count_small_call_words(call)) is not None:
                self.lines = max(self.lines, -(-words // self._line))
                self._instead[call] = words
            case s.Local() | s.Assign() if self._module.find_filled_extents(statement) is not None:
                self._prepare_fill(statement)
            case _:
                # This statement keeps no lines: each access costs a line.
                if isinstance(statement, s.While):
                    self._each[statement] = self._count_unwalked_words(statement.condition)
                for block in s.list_blocks(statement):
                    self._prepare_block(block)

    def _keeps_lines(self, loop: s.Loop) -> bool:
        """Test whether a loop holds a line from one iteration to the next while an access advances along it."""
        nested = self._nesting and loop.step is None and not any(s.find_nodes(loop.body, *WHOLE_ARRAY_NODES))
        return nested or (self._sharing and _is_innermost(loop))

    def _count_unwalked_words(self, part: object) -> int:
        return self._line * sum(
            1 for element in self.list_accesses(part) if format_expression(element) not in self._walked
        )

    def _prepare_fill(self, statement: s.Local | s.Assign) -> None:
        views = filter(self._module.is_view, s.list_evaluated(statement))
        walked = [has_contiguous_rows(view, self._own) for view in views]
        if isinstance(statement, s.Local):
            walked.append(_has_contiguous_layout(statement.type))
        along = sum(walked) if self._sharing else 0
        self.lines = max(self.lines, along + 1)
        self._fills[statement] = along + (len(walked) - along) * self._line, along * (2 * self._line - 2)

    def _count_small_call_words(self, call: s.Call) -> int | None:
        """Count the words of the lines that a call touches, if its arrays have small constant extents; else None."""
        target = self._module.targets.get(call)
        if not isinstance(target, s.Algorithm) or target.result is not None or has_recursion(self._module, target):
            return None
        if any(iterate_local_arrays(self._module, target)):
            return None
        total = 0
        for argument in filter(self._module.is_view, call.arguments):
            shape = self._module.shapes.get(argument, ())
            extents = [extent.value for extent in shape if isinstance(extent, s.Integer)]
            if not extents or len(extents) < len(shape):
                return None
            *outer, row = extents
            total += prod(outer) * (
                row + 2 * self._line - 2 if has_contiguous_rows(argument, self._own) else row * self._line
            )
        return total if total <= MAX_CACHED_LINES * self._line else None

    def _prepare_walks(self, loop: s.Loop) -> None:
        """Compute and store the words of a loop that holds lines, and of the statements in it.

        Advances along rows that an outer loop began continue in this loop. Advances of inner loops that continue from
        one iteration of this loop to the next begin with this loop.
        """
        new, going, walked = self._find_row_walks(loop), self._on, self._walked
        before = going.get(loop, frozenset())
        on = {inner: self._find_row_walks(inner, loop) for inner in loop.body if self._continues_walk(inner, loop)}
        begun = [new[name] for name in new.keys() - before] + [walk for walks in on.values() for walk in walks.values()]
        self.nested = self.nested or (bool(begun) and not _is_innermost(loop))
        self._on = {**going, **{inner: frozenset(walks) for inner, walks in on.items()}}
        self._walked = walked.union(new)
        held = len(new) - len(before) + sum(map(len, on.values()))
        self._held += held
        self.lines = max(self.lines, self._held)
        self._before[loop] += sum(walk.first + 2 * self._line - 2 for walk in begun)
        self._each[loop] = sum(walk.words for walk in new.values())
        self._prepare_block(loop.body)
        self._held -= held
        self._on, self._walked = going, walked

    def _continues_walk(self, inner: s.Stmt, loop: s.Loop) -> TypeGuard[s.Loop]:
        """Test whether an inner loop runs over the next segment of an offsets array in each outer iteration."""
        if (
            not isinstance(inner, s.Loop)
            or not _is_innermost(inner)
            or inner.down
            or loop.down
            or s.may_end_early(inner)
        ):
            return False
        match inner.lo, inner.hi:
            case (
                s.Element(array=first, subscripts=(s.Name(id=start),)),
                s.Element(array=second, subscripts=(s.Binary(op="+", left=s.Name(id=end), right=s.Integer(value=1)),)),
            ):
                return first == second and first in self._offsets and start == end == loop.variable
            case _:
                return False

    def _find_row_walks(self, loop: s.Loop, around: s.Loop | None = None) -> dict[str, _RowWalk]:
        """Find the accesses of a loop at the same element as in the previous iteration, or at a neighbour in its row.

        `around` is the outer loop, if the advance along a row continues through all its iterations.
        """
        changing = s.find_assigned_names(around or loop)
        inner = (child for child in loop.body if isinstance(child, s.Loop))
        parts = (
            *_iterate_always_evaluated(loop.body),
            *(part for child in inner for part in (child.lo, child.hi, *_iterate_always_evaluated(child.body))),
        )
        steady = [node for part in parts for node in s.iterate_nodes(part)]
        counters = {} if around or not _is_innermost(loop) else _find_unit_counters(loop.body)
        result: dict[str, _RowWalk] = {}
        for element, counter in self._find_moved_accesses(loop, changing):
            if counter == loop.variable and element in steady:
                result[format_expression(element)] = _RowWalk(1, 0)
            elif counter in counters:
                # In an iteration the position moves at most as far as the counter, even if the element is not accessed.
                result[format_expression(element)] = _RowWalk(counters[counter], 1)
        return result

    def _find_moved_accesses(self, loop: s.Loop, changing: frozenset[str]) -> Iterator[tuple[s.Element, str]]:
        """Yield the accesses in rows whose position depends on a single changing integer, with its name."""
        for element in s.find_nodes(loop.body, s.Element):
            if element.array in self._own - changing:
                counter = _find_moving_integer(element, changing)
                if counter is not None:
                    yield element, counter


class LocalArrayWordModel(WordModel):
    """Counts the words of local arrays, each rounded up to whole lines, and nothing else.

    An array that is declared in a loop counts once for all iterations if the loop does not change its shape.
    """

    def __init__(self, module: Module, algorithms: Iterable[s.Algorithm], line: int) -> None:
        super().__init__(module)
        self._line = line
        self._at: dict[s.Stmt, list[s.ArrayType]] = {}
        for algorithm in algorithms:
            self._assign_arrays_to_loops(algorithm.body, frozenset())

    def _assign_arrays_to_loops(self, body: tuple[s.Stmt, ...], before: frozenset[s.Local]) -> None:
        """Assign each array to the outermost loop that does not change its shape, or else to its declaration."""
        for statement in body:
            inside = before
            match statement:
                case s.Local(type=s.ArrayType() as type_) if statement not in before:
                    self._at[statement] = [type_]
                case s.Loop() | s.While():
                    changing = s.find_assigned_names(statement)
                    declared = s.find_nodes(statement.body, s.Local)
                    arrays = {local: local.type for local in declared if isinstance(local.type, s.ArrayType)}
                    fixed = {local: of for local, of in arrays.items() if changing.isdisjoint(s.find_names(of.shape))}
                    self._at[statement] = [of for local, of in fixed.items() if local not in before]
                    inside = before.union(fixed)
                case _:
                    # No other statement creates an array itself or repeats its body.
                    pass
            for block in s.list_blocks(statement):
                self._assign_arrays_to_loops(block, inside)

    def count_statement(self, statement: s.Stmt, scope: Scope) -> Tally:
        total = FREE
        for type_ in self._at.get(statement, ()):
            try:
                words = reduce(mul, (static_value(extent, scope) for extent in type_.shape))
            except NotStaticError as problem:
                return make_unknown_tally(f"the extent of a local array: {problem.reason}", statement.span)
            total = total.then(self.build_word_tally(words + (self._line - 1)), scope.facts)
        return total

    def count_fill(self, statement: s.Local | s.Assign, extents: Sequence[Amount], facts: Facts) -> Tally:
        return FREE


def find_contiguous_arrays(module: Module, reached: Sequence[s.Algorithm]) -> ContiguousArrays:
    """Find, for each reached algorithm, its parameters and local arrays whose rows are contiguous in memory.

    The rows of a parameter are contiguous if those of its arguments in all calls are. The arguments of the first
    algorithm, which no other one calls, are whole arrays.
    """
    dense = {algo: frozenset(_iterate_row_major_arrays(algo)) for algo in reached}
    while True:
        strided = {
            (target, parameter.name)
            for algo in reached
            for call in s.find_nodes(algo.body, s.Call)
            if isinstance(target := module.targets.get(call), s.Algorithm)
            for parameter, argument in zip(target.parameters, call.arguments, strict=True)
            if parameter.name in dense[target] and not has_contiguous_rows(argument, dense[algo])
        }
        if not strided:
            return dense
        dense = {
            algo: frozenset(name for name in names if (algo, name) not in strided) for algo, names in dense.items()
        }


def has_contiguous_rows(view: s.Expr, names: frozenset[str]) -> bool:
    """Test whether a view consists of contiguous rows of one of the arrays `names`."""
    match view:
        case s.Name(id=name):
            return name in names
        case s.Element(array=name, subscripts=(*_, s.Slice(step=None))):
            return name in names
        case s.Reshape(base=base):
            return has_contiguous_rows(base, names)
        case _:
            return False


def _iterate_row_major_arrays(algorithm: s.Algorithm) -> Iterator[str]:
    """Yield the parameters and local arrays of an algorithm that are stored by rows."""
    for node in (*algorithm.parameters, *s.iterate_nodes(algorithm.body)):
        if isinstance(node, s.Parameter | s.Local) and _has_contiguous_layout(node.type):
            yield node.name


def _has_contiguous_layout(type_: s.Type) -> bool:
    shape, layout = read_array_type(type_)
    return shape is not None and (layout == "rowmajor" or len(shape) == 1)


def _is_innermost(loop: s.Loop) -> bool:
    """Test whether a loop steps by 1 and contains neither loops, calls nor whole arrays."""
    return loop.step is None and not any(s.find_nodes(loop.body, s.Loop, s.While, *WHOLE_ARRAY_NODES))


def _iterate_always_evaluated(body: tuple[s.Stmt, ...]) -> Iterator[s.Node]:
    """Yield expressions of a body that are evaluated in each of its executions."""
    for statement in body:
        # Leaving an access out only weakens the bound.
        if isinstance(statement, s.Simple):
            yield from s.list_evaluated(statement)
        elif isinstance(statement, s.If) and (condition := statement.branches[0].condition) is not None:
            yield _take_always_evaluated_part(condition)


def _take_always_evaluated_part(condition: s.Node) -> s.Node:
    """Return the part of a condition that is always evaluated: the leftmost operand of its `and` and `or`."""
    match condition:
        case s.Binary(op="and" | "or", left=left):
            return _take_always_evaluated_part(left)
        case s.Unary(operand=operand):
            return _take_always_evaluated_part(operand)
        case _:
            return condition


def _find_unit_counters(body: tuple[s.Stmt, ...]) -> dict[str, int]:
    """Map the integers that a body changes by 1 in a single direction to the maximum number of changes."""
    moves: dict[str, list[int | None]] = {}
    for statement in s.find_nodes(body, s.Simple):
        for name in statement.sets:
            moves.setdefault(name, []).append(statement.increment)
    return {name: len(steps) for name, steps in moves.items() if set(steps) in ({1}, {-1})}


def _find_moving_integer(element: s.Element, changing: frozenset[str]) -> str | None:
    """Return the only changing integer in an element, if it is a summand of the last subscript; else None."""
    *outer, last = element.subscripts
    if (
        isinstance(last, s.Slice)
        or any(s.find_nodes(element.subscripts, s.Element))
        or changing & s.find_names(tuple(outer))
    ):
        return None
    parts = split_signed_terms(last)
    moved = [part for part in parts if changing & ({part[0]} if isinstance(part, tuple) else s.find_names(part))]
    match moved:
        case [(str(name), True)]:
            return name
        case _:
            return None
