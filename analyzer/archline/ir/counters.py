"""Count the iterations of `while` loops whose registers move alike in each iteration: by 3, by factors, by squares.

    i = 1                       # after k iterations i is 2^k,
    while i < n and a[i] > 0:   # so there are at most ceil(log2(n)) of them.
        i *= 2

A counter is an integer register with a known value at the entry of the loop that each iteration moves in one way. Its
value is then an expression in the number k of the iterations before, and a test on counters and sizes alone is one on
k: a threshold counts the iterations. If other tests or an exit may end the loop earlier, the threshold bounds them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, reduce

from archline.algebra import atoms as a
from archline.algebra.effort import OutOfBudgetError, TooComplexError
from archline.algebra.facts import Facts
from archline.algebra.polynomial import ONE, ZERO, Poly
from archline.ir.conditions import MIRRORED_OPERATORS, assume_facts, negate_condition
from archline.ir.factors import ceil_log, count_divisions, count_multiplications
from archline.ir.ranges import IterationRange, segment_range
from archline.ir.scope import Scope, known_value
from archline.language import syntax as s
from archline.language.model import Module
from archline.numbers import fmpq
from archline.records import record, replace


@record
class CountedWhile:
    """The iterations of a `while` by its counters: at most those of `range`, and at least the first `least`.

    `values` are the counters at the start of an iteration, in terms of the variable of the range; `unknown` are the
    other registers that the loop sets. If the counters decide by the first part of the condition alone, that is the
    `guard`: no other part is evaluated more often than the range has iterations.
    """

    range: IterationRange
    values: Mapping[str, Poly]
    unknown: frozenset[str]
    least: Poly
    guard: s.Expr | None
    test: s.Expr | None = None

    @property
    def exact(self) -> bool:
        """True if the loop has all iterations of the range."""
        return self.least == self.range.trips

    @property
    def certain(self) -> IterationRange:
        """The range of the iterations that the loop has at least."""
        return replace(self.range, hi=self.least, _done={})

    def enter(self, scope: Scope) -> Scope:
        """Return the scope at the start of an iteration."""
        inner = self.set_registers(scope, Poly.symbol(self.range.variable)).with_facts(self.range.inside)
        # What the test says is known of the registers as they are now.
        return inner if self.test is None else assume_facts(inner, self.test)

    def set_registers(self, scope: Scope, iterations: Poly) -> Scope:
        """Return the scope with the values of the registers after a number of iterations."""
        for name in self.unknown:
            scope = scope.without_value(name)
        for name, value in self.values.items():
            scope = scope.with_value(name, value.substitute({self.range.variable: iterations}))
        return scope


def count_while(loop: s.While, scope: Scope) -> CountedWhile | None:
    """Count the iterations of a loop by its counters; None if they do not bound them, or if their number has a name."""
    if loop.iterations is not None and not loop.chosen:
        return None
    starts = find_initial_values(scope.module).get(loop)
    if starts is None:
        return None
    try:
        return _count_while(loop, starts, scope)
    except OutOfBudgetError:
        raise
    except TooComplexError:
        return None


def _count_while(loop: s.While, starts: Mapping[str, s.Expr], scope: Scope) -> CountedWhile | None:
    variable = f"iteration in line {loop.span.line}"
    moves = _read_moves(loop)
    changed = s.find_assigned_names(loop.body)
    around = scope
    for name in changed:
        around = around.without_value(name)
    counters = {
        name: counter
        for name, start in starts.items()
        if name in moves and (counter := _make_counter(start, moves[name], scope, around)) is not None
    }
    k = Poly.symbol(variable)
    counters.update(_find_growing_counters(loop, starts, moves, counters, scope, around, k))
    tests = _list_conjuncts(loop.condition)
    facts = scope.facts
    thresholds = [_count_until_false(test, counters, scope, around, k) for test in tests]
    thresholds = [
        _count_segment(test, starts, moves, around) if threshold is None else threshold
        for test, threshold in zip(tests, thresholds, strict=True)
    ]
    decided = [threshold for threshold in thresholds if threshold is not None]
    if not decided:
        return None
    trips = reduce(facts.minimum, (facts.positive_part(facts.simplify(count)) for count in decided))
    least = trips if None not in thresholds and not s.may_end_early(loop) else ZERO
    if loop.tests_last:
        # The test follows the iteration: only if it held before each one, it decides about the next.
        return None
    range_ = IterationRange(variable, ZERO, trips, k, facts, loop.span)
    values = {name: value for name, counter in counters.items() if (value := counter.value_after(k)) is not None}
    guard = tests[0] if len(decided) == 1 and thresholds[0] is not None else None
    return CountedWhile(range_, values, changed - values.keys(), least, guard, loop.condition)


def _count_segment(
    test: s.Expr, starts: Mapping[str, s.Expr], moves: Mapping[str, tuple[Move, ...]], around: Scope
) -> Poly | None:
    """Count the iterations of a register from one entry of an offsets array to a later one; None for others."""
    match test:
        case s.Binary(op="<", left=s.Name(id=name), right=end) if name in starts and _moves_by_one(moves.get(name, ())):
            segment = s.Loop(name, starts[name], end, None, False, False, (), span=test.span)
            range_ = segment_range(segment, around)
            return None if range_ is None else range_.trips
        case _:
            return None


def _moves_by_one(moves: tuple[Move, ...]) -> bool:
    match moves:
        case (Move(kind="+", amount=s.Integer(value=1)),):
            return True
        case _:
            return False


# Moves
@record
class Move:
    """A change of a register x by an iteration: x + amount, factor*x + offset, x//factor, x^2 or floor(sqrt(x))."""

    kind: str
    amount: s.Expr | int
    offset: int = 0


def _read_moves(loop: s.While) -> dict[str, tuple[Move, ...]]:
    """Map the registers that each whole iteration moves to their moves, which stand outside of its branches."""
    moves: dict[str, list[Move]] = {}
    counted: dict[str, int] = {}
    for statement in _iterate_certain_statements(loop.body):
        if isinstance(statement, s.Simple):
            for name in statement.sets:
                counted[name] = counted.get(name, 0) + 1
                if (move := read_move(name, statement)) is not None:
                    moves.setdefault(name, []).append(move)
    everywhere = [name for node in s.find_nodes(loop.body, s.Simple) for name in node.sets]
    variables = {inner.variable for inner in s.find_nodes(loop.body, s.Loop)}
    return {
        name: tuple(all_moves)
        for name, all_moves in moves.items()
        if len(all_moves) == everywhere.count(name) and name not in variables
    }


def _iterate_certain_statements(block: Sequence[s.Stmt]) -> Iterator[s.Stmt]:
    """Yield the statements that each iteration executes which does not leave the loop."""
    for statement in block:
        match statement:
            case s.If(branches=(s.Branch(condition=s.Reached(), body=body),)):
                yield from _iterate_certain_statements(body)
            case s.If(branches=(*others, s.Branch(condition=None, body=body))) if all(
                _leaves_loop(branch.body) for branch in others
            ):
                yield from _iterate_certain_statements(body)
            case _:
                # What stands in branches and in inner loops is not looked at.
                yield statement


def _leaves_loop(block: Sequence[s.Stmt]) -> bool:
    """Test whether a block ends with `break` or `return`."""
    return bool(block) and isinstance(block[-1], s.Exit) and block[-1].kind != "continue"


def read_move(name: str, statement: s.Simple) -> Move | None:
    """Return how a statement moves a register; None if it sets it in another way."""
    match statement:
        case s.Assign(target=s.Name(), op="+=", value=value):
            return Move("+", value)
        case s.Assign(target=s.Name(), op="-=", value=value):
            return Move("+", s.Unary("-", value, span=value.span))
        case s.Assign(target=s.Name(), op="*=", value=s.Integer(value=factor)) if factor > 1:
            return Move("*", factor)
        case s.Assign(target=s.Name(id=target), op="*=", value=s.Name(id=other)) if target == other:
            return Move("square", 2)
        case s.Assign(target=s.Name(), op="=", value=value):
            return _read_assigned_move(name, value)
        case _:
            # Any other statement moves a register in a way that is not followed.
            return None


def _read_assigned_move(name: str, value: s.Expr) -> Move | None:
    def is_register(expr: s.Expr) -> bool:
        return isinstance(expr, s.Name) and expr.id == name

    match value:
        case s.Binary(op="*", left=left, right=right) if is_register(left) and is_register(right):
            return Move("square", 2)
        case s.Binary(op="^", left=left, right=s.Integer(value=2)) if is_register(left):
            return Move("square", 2)
        case s.Binary(op="+", left=left, right=right) if is_register(left) and is_register(right):
            return Move("*", 2)
        case (
            s.Binary(op="*", left=s.Integer(value=factor), right=other)
            | s.Binary(op="*", left=other, right=s.Integer(value=factor))
        ) if is_register(other) and factor > 1:
            return Move("*", factor)
        case s.Binary(op="+" | "-" as op, left=inner, right=s.Integer(value=offset)) if (
            scaled := _read_assigned_move(name, inner)
        ) is not None and scaled.kind == "*":
            return Move("*", scaled.amount, offset if op == "+" else -offset)
        case s.Binary(op="+", left=left, right=right) if is_register(left):
            return Move("+", right)
        case s.Binary(op="+", left=left, right=right) if is_register(right):
            return Move("+", left)
        case s.Binary(op="-", left=left, right=right) if is_register(left):
            return Move("+", s.Unary("-", right, span=right.span))
        case s.Binary(op="//", left=left, right=divisor) if is_register(left) and (factor := _read_number(divisor)) > 1:
            return Move("//", factor)
        case s.Call(function="floor", arguments=(s.Call(function="sqrt", arguments=(operand,)),)) if is_register(
            operand
        ):
            return Move("root", 2)
        case s.Call(function="floor", arguments=(s.Binary(op="/", left=left, right=divisor),)) if (
            is_register(left) and (factor := _read_number(divisor)) > 1
        ):
            return Move("//", factor)
        case _:
            return None


def _read_number(expr: s.Expr) -> int:
    """Return the number that an expression such as 2 or 2^3 is; 0 for others."""
    match expr:
        case s.Integer(value=value):
            return value
        case s.Binary(op="^", left=s.Integer(value=base), right=s.Integer(value=exponent)) if 0 <= exponent < 64:
            return int(base**exponent)
        case _:
            return 0


# Counters
@record
class _Counter:
    """A register with the value `start` at the entry of a loop, that each iteration moves.

    `amount` is the number that it adds, or its factor or divisor; with `kind` "*", x becomes factor*x + offset. What
    it adds grows by `growth` in each iteration.
    """

    start: Poly
    kind: str
    amount: Poly
    offset: int = 0
    growth: Poly = ZERO

    @property
    def factor(self) -> int:
        return int(self.amount.constant_term.p)

    @property
    def shift(self) -> Poly:
        """The number b for which x + b is multiplied by the factor, where x becomes factor*x + offset."""
        return Poly.constant(fmpq(self.offset, self.factor - 1))

    def value_after(self, iterations: Poly) -> Poly | None:
        """Return the value after a number of iterations; None if no expression gives it."""
        match self.kind:
            case "+":
                pairs = (iterations * (iterations - 1)).scaled(fmpq(1, 2))
                return self.start + self.amount * iterations + self.growth * pairs
            case "*":
                return (self.start + self.shift) * a.exponential(self.factor, iterations) - self.shift
            case "//":
                return a.floor_div(self.start, a.exponential(self.factor, iterations))
            case _:
                return None


def _make_counter(start: s.Expr, moves: tuple[Move, ...], scope: Scope, around: Scope) -> _Counter | None:
    first = known_value(start, scope)
    if first is None or not a.is_integral(first):
        return None
    if all(move.kind == "+" for move in moves):
        amounts = [known_value(move.amount, around) for move in moves if isinstance(move.amount, s.Expr)]
        if None in amounts:
            return None
        step = sum((amount for amount in amounts if amount is not None), ZERO)
        return _Counter(first, "+", scope.facts.simplify(step)) if step and a.is_integral(step) else None
    if len(moves) != 1 or not isinstance(moves[0].amount, int):
        return None
    return _Counter(first, moves[0].kind, Poly.constant(moves[0].amount), moves[0].offset)


def _find_growing_counters(
    loop: s.While,
    starts: Mapping[str, s.Expr],
    moves: Mapping[str, tuple[Move, ...]],
    counters: Mapping[str, _Counter],
    scope: Scope,
    around: Scope,
    k: Poly,
) -> Mapping[str, _Counter]:
    """Find the registers that add up counters: their increments grow linearly with the number k of the iteration."""
    (atom,) = k.atoms()
    inside = around
    added: dict[str, Poly | None] = {}
    for name, counter in counters.items():
        if counter.kind == "+":
            inside = inside.with_value(name, counter.start + counter.amount * k)
    simple = (statement for statement in _iterate_certain_statements(loop.body) if isinstance(statement, s.Simple))
    for statement in simple:
        for name in statement.sets:
            move = read_move(name, statement) if name in moves else None
            amount = known_value(move.amount, inside) if move and isinstance(move.amount, s.Expr) else None
            if name in inside.values and name in counters:
                value = None if amount is None else inside.values[name] + amount
                inside = inside.without_value(name) if value is None else inside.with_value(name, value)
            elif name in starts:
                total = added.get(name, ZERO)
                added[name] = None if amount is None or total is None else total + amount
    growing: dict[str, _Counter] = {}
    for name, total in added.items():
        first = known_value(starts[name], scope)
        if name in counters or name not in moves or total is None or first is None:
            continue
        parts = total.coefficients(atom)
        linear = set(parts) <= {0, 1} and not any(k.names & part.names for part in parts.values())
        if linear and a.is_integral(first) and all(map(a.is_integral, parts.values())):
            growing[name] = _Counter(first, "+", parts.get(0, ZERO), growth=parts.get(1, ZERO))
    return growing


# Thresholds
def _list_conjuncts(condition: s.Expr) -> list[s.Expr]:
    match condition:
        case s.Binary(op="and", left=left, right=right):
            return [*_list_conjuncts(left), *_list_conjuncts(right)]
        case s.Unary(op="not", operand=s.Unary() | s.Binary() as operand):
            negated = negate_condition(operand)
            return [negated] if isinstance(negated, s.Unary) else _list_conjuncts(negated)
        case _:
            return [condition]


def _count_until_false(
    test: s.Expr, counters: Mapping[str, _Counter], scope: Scope, around: Scope, k: Poly
) -> Poly | None:
    """Count the iterations that begin while a test holds; None if the counters do not decide it."""
    if not isinstance(test, s.Binary):
        return None
    if test.op in ("and", "or") and not _has_inequality(test):
        # Each side holds in the first iterations, and then in none.
        sides = [_count_until_false(side, counters, scope, around, k) for side in (test.left, test.right)]
        counts = [scope.facts.positive_part(scope.facts.simplify(side)) for side in sides if side is not None]
        choose = scope.facts.minimum if test.op == "and" else scope.facts.maximum
        return reduce(choose, counts) if len(counts) == len(sides) else None
    if test.op not in MIRRORED_OPERATORS:
        return None
    for name, op, side in ((test.left, test.op, test.right), (test.right, MIRRORED_OPERATORS[test.op], test.left)):
        match name:
            case s.Name(id=register) if register in counters and counters[register].kind != "+":
                limit = known_value(side, around)
                return None if limit is None else _count_geometric(counters[register], op, limit, scope.facts)
            case s.Binary(op="*", left=s.Integer(value=factor), right=s.Name(id=register)) if (
                factor > 0 and op in ("<", "<=", ">", ">=") and register in counters and counters[register].kind != "+"
            ):
                # 2*x <= n is x <= floor(n/2), and 2*x < n is x < ceil(n/2).
                limit = known_value(side, around)
                if limit is not None and a.is_integral(limit):
                    limit = (a.ceil_div if op in ("<", ">=") else a.floor_div)(limit, Poly.constant(factor))
                return None if limit is None else _count_geometric(counters[register], op, limit, scope.facts)
            case _:
                pass
    inside = around
    for register, counter in counters.items():
        value = counter.value_after(k)
        if counter.kind == "+" and value is not None:
            inside = inside.with_value(register, value)
    first, second = known_value(test.left, inside), known_value(test.right, inside)
    if first is None or second is None:
        return None
    return _count_polynomial(first - second, test.op, scope.facts, k)


def _count_polynomial(difference: Poly, op: str, facts: Facts, k: Poly) -> Poly | None:
    """Count the k from 0 on for which an expression, linear or quadratic in k, compares with 0 as `op` says."""
    (atom,) = k.atoms()
    match op:
        case "<" | "<=":
            difference, op = -difference, ">" if op == "<" else ">="
        case "!=":
            start = difference.coefficients(atom).get(0, ZERO)
            if facts.nonnegative(-start):
                difference, start = -difference, -start
            slope = difference.coefficients(atom).get(1, ZERO)
            # It passes 0 without being 0, unless each step is 1 or divides the distance.
            divided = facts.simplify(a.exact_quotient(start, -slope)) if facts.positive(-slope) else start
            if not facts.nonnegative(start) or not facts.positive(-slope) or not facts.integral(divided):
                return None
            op = ">"
        case ">" | ">=":
            pass
        case _:
            return None
    parts = difference.coefficients(atom)
    if set(parts) <= {0, 1, 2} and 2 in parts:
        return _count_quadratic(difference - 1 if op == ">" else difference, facts, k)
    if set(parts) - {0, 1} or not a.is_integral(difference):
        return None
    start, step = parts.get(0, ZERO), -parts.get(1, ZERO)
    if any(atom in inner.atoms() or k.names & inner.names for inner in (start, step)) or not facts.positive(step):
        return None
    count = start if op == ">" else start + 1
    return count if step == ONE else a.ceil_div(count, step)


def _count_quadratic(difference: Poly, facts: Facts, k: Poly) -> Poly | None:
    """Count the k from 0 on for which a whole expression, quadratic in k, is nonnegative; it must fall from 0 on.

    -A*k^2 - B*k + C >= 0 exactly if (2*A*k + B)^2 <= B^2 + 4*A*C, whose root is rounded.
    """
    (atom,) = k.atoms()
    parts = difference.coefficients(atom)
    square, slope, start = -parts[2], -parts.get(1, ZERO), parts.get(0, ZERO)
    # With these it has whole values at all k.
    whole = all(map(a.is_integral, (start, square + slope, square + square)))
    falls = square.is_constant and square.constant_term > 0 and facts.nonnegative(square + slope)
    if not whole or not falls or any(k.names & part.names for part in (slope, start)):
        return None
    half = slope.scaled(1 / (2 * square.constant_term))
    if a.is_integral(half):
        # (k + B/2A)^2 is at most this number. As B >= -A, the half is not negative.
        limit = half * half + a.floor_div(
            start.scaled(int(square.constant_term.q)), square.scaled(int(square.constant_term.q))
        )
        return a.floor_sqrt(limit) - half + 1 if facts.nonnegative(limit) else None
    square, slope, start = square + square, slope + slope, start + start
    limit = slope * slope + 4 * square * start
    # If B is negative, the root of a smaller number than B^2 would count k = 0.
    if not facts.nonnegative(limit) or not (facts.nonnegative(slope) or facts.nonnegative(start)):
        return None
    return a.floor_div(a.floor_sqrt(limit) - slope, 2 * square) + 1


def _has_inequality(test: s.Expr) -> bool:
    """Test whether a condition has a comparison by `!=`, which may hold again after it does not."""
    return any(node.op == "!=" for node in s.find_nodes(test, s.Binary))


def _count_geometric(counter: _Counter, op: str, limit: Poly, facts: Facts) -> Poly | None:
    """Count the iterations while a counter that grows, or falls, by factors compares with a limit."""
    if not a.is_integral(limit):
        return None
    start = counter.start
    falls = counter.kind in ("//", "root")
    if falls and op == "!=" and not limit and counter.kind == "//":
        op = ">"
    if op not in ((">", ">=") if falls else ("<", "<=")):
        return None
    # From here on the loop runs while x >= limit, or while x < limit.
    limit = limit + int(op in (">", "<="))
    match counter.kind:
        case "*":
            base, limit = start + counter.shift, limit + counter.shift
            scale = Poly.constant(int(a.compute_content(base).q))
            base, limit = base * scale, limit * scale
            if not facts.positive(base) or not a.is_integral(limit):
                return None
            return count_multiplications(base, limit, counter.factor, facts)
        case "//":
            if not facts.positive(limit):
                return None
            return count_divisions(start, limit, counter.factor, facts)
        case "square" if start.is_constant and start.constant_term >= 2:
            return count_multiplications(ONE, ceil_log(start, limit, facts), 2, facts)
        case "root" if limit.is_constant and limit.constant_term >= 2:
            return count_multiplications(ONE, ceil_log(limit, start + 1, facts), 2, facts)
        case _:
            return None


# Initial values
@lru_cache(maxsize=16)
def find_initial_values(module: Module) -> Mapping[s.While, Mapping[str, s.Expr]]:
    """Map the loops of a module to the registers that they set, with the expressions of their values at the entry."""
    result: dict[s.While, Mapping[str, s.Expr]] = {}
    for algorithm in module.signatures:
        integers = frozenset(node.name for node in s.find_nodes(algorithm.body, s.Local) if node.integer_register)
        _follow_block(algorithm.body, {}, integers, result)
    return result


def _follow_block(
    block: Sequence[s.Stmt],
    before: Mapping[str, s.Expr],
    integers: frozenset[str],
    result: dict[s.While, Mapping[str, s.Expr]],
) -> dict[str, s.Expr]:
    """Follow the values of integer registers through a block; record them at loops, and return those after it."""
    values = dict(before)
    for statement in block:
        match statement:
            case s.Local(name=name, value=s.Node() as value, when=None) if name in integers:
                _set_register(values, name, value)
            case s.Assign(target=s.Name(id=name), op="=", value=value, outputs=()) if name in integers:
                _set_register(values, name, value)
            case s.Simple(sets=names):
                _drop_values(values, names)
            case _:
                changed = s.find_assigned_names(statement)
                inside = dict(values)
                if isinstance(statement, s.While):
                    result[statement] = {name: value for name, value in values.items() if name in changed}
                if statement.iterates:
                    _drop_values(inside, changed)
                for inner in s.list_blocks(statement):
                    _follow_block(inner, inside, integers, result)
                _drop_values(values, changed)
    return values


def _set_register(values: dict[str, s.Expr], name: str, value: s.Expr) -> None:
    reads_itself = name in s.find_names(value)
    _drop_values(values, (name,))
    if not reads_itself:
        values[name] = value


def _drop_values(values: dict[str, s.Expr], names: Iterable[str]) -> None:
    """Drop the values of registers that are set, and values that are expressions in such registers."""
    changed = frozenset(names)
    for name in [name for name, value in values.items() if name in changed or s.find_names(value) & changed]:
        del values[name]
