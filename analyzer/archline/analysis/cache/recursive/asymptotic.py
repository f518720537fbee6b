"""Derive the growth of io of a recursion from a recurrence over real sizes.

It assumes that at least FEW_LINES lines fit. If fewer fit, Z >= L^2 bounds Z and L by constants, and callers compare io
as work (`is_valid_in_small_caches`); for other caches nothing is claimed.

In recursion by square roots, as in the six-step FFT, calls have sizes of about the root of n. If a call of size n > Z
makes calls of two sizes whose product is n, and of each size so many that their sizes sum to n, and fetches O(n/L)
lines itself, then each level fetches twice the lines of the level above. Levels halve log2(n) until it is log2(Z), so
that all levels fetch O(log2(n)/log2(Z)) times the lines of the first. Calls that fit fetch their arguments: their local
arrays lie in the same lines of the stack, which stay in cache.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import reduce
from math import inf

from archline.algebra import atoms as a
from archline.algebra.evaluate.exact import evaluate
from archline.algebra.facts import Facts
from archline.algebra.polynomial import ONE, ZERO, Monomial, Poly, Symbol, sum_polynomials
from archline.algebra.printing import to_tree
from archline.algebra.relax import bound_without_rounding, remove_rounding
from archline.analysis.cache.recursive.evaluate import AnalysedBody as Body
from archline.analysis.cache.recursive.evaluate import (
    BodyPart,
    BranchPart,
    CallPart,
    LoopPart,
    RecursiveMissBounds,
    StraightLinePart,
    iterate_all_parts,
)
from archline.analysis.cost import FEW_LINES
from archline.expr import build as b
from archline.expr.intervals import EvaluationError
from archline.expr.tree import find_names, make_structural_key, substitute_names
from archline.growth.growths import Growth
from archline.growth.is_big_o import Proved, is_O
from archline.ir.conditions import equivalent_constraints, negate_condition, with_fact, with_facts
from archline.ir.layout import LINE, WORDS
from archline.ir.recursive import find_recursive_calls
from archline.ir.tree import Array, ChoiceBranch, RecursiveCall, contiguous_dimension
from archline.language import syntax as s
from archline.records import record
from archline.recurrences.asymptotic.problem import EquationCase, RealDefinition, RealRecurrence, SolvedGrowth
from archline.recurrences.asymptotic.solve import solve

SAMPLE_SIZE, SAMPLE_LENGTH = 2**20, 2**6
"""The size and the line length at which bounds are compared."""
MAX_CONSTANT = Poly.constant(1024)
"""Sizes up to this one count as constants."""
RECURRENCE_NAME = "io"
"""The name of the function that the recurrence defines."""
ROOT_CALLS = 2
"""The number of calls, of two sizes whose product is n, that a recursion by square roots makes."""
RELATIONS = frozenset(("<", "<=", "==", "!=", ">=", ">"))


class UnsolvedRecursionError(Exception):
    """The growth of a recursion cannot be derived; the message gives the reason."""


def derive_io_growth(recursions: RecursiveMissBounds, facts: Sequence[s.Fact]) -> tuple[Growth, ...]:
    """Derive upper growth of io under facts about sizes, Z and L. Raises UnsolvedRecursionError."""
    return _GrowthTable(recursions, tuple(fact for fact in facts if isinstance(fact, s.Binary))).derive_growth(
        recursions.algorithm
    )


@dataclass(eq=False)
class _GrowthTable:
    """Derives the growth of io of an algorithm and of its callees, each once, under facts about sizes, Z and L."""

    recursions: RecursiveMissBounds
    facts: tuple[s.Fact, ...]
    _found: dict[s.Algorithm, tuple[Growth, ...]] = field(default_factory=dict)
    _open: list[s.Algorithm] = field(default_factory=list)

    def derive_growth(self, algorithm: s.Algorithm) -> tuple[Growth, ...]:
        if algorithm in self._open:
            raise UnsolvedRecursionError(f"`{algorithm.name}` is mutually recursive with other algorithms")
        if algorithm not in self._found:
            self._open.append(algorithm)
            self._found[algorithm] = self._solve(algorithm)
            self._open.pop()
        return self._found[algorithm]

    def _solve(self, algorithm: s.Algorithm) -> tuple[Growth, ...]:
        body = self.recursions.body_of(algorithm)
        scope = body.body.scope
        # Facts about the sizes of the outermost call do not hold in calls of other algorithms.
        facts = self.facts if algorithm is self.recursions.algorithm else tuple(filter(_is_machine_fact, self.facts))
        assumed = with_facts(scope.facts, facts, scope)
        if not any(assumed.nonnegative(WORDS - least) for least in (LINE * LINE, LINE.scaled(FEW_LINES))):
            raise UnsolvedRecursionError("its growth is derived only for tall caches (Z >= L^2); add that fact")
        others = {call.target for call in find_recursive_calls(body.body.nodes)} - {algorithm}
        if any(self.recursions.body_of(callee).made for callee in others):
            raise UnsolvedRecursionError("algorithms that it calls have local arrays")
        writer = _RecurrenceBuilder(
            algorithm, body, assumed.with_nonnegative(WORDS - LINE.scaled(FEW_LINES)), self.derive_growth
        )
        if not any(call.target is algorithm for call in find_recursive_calls(body.body.nodes)):
            regimes = tuple(writer.iterate_non_recursive_growth(self.recursions))
            # If calls fetch at most the lines of the arrays, one growth holds whether or not these fit.
            below = _is_proved_big_o(_upper_growth(regimes[-1]), _upper_growth(regimes[0]), facts)
            return (Growth(None, regimes[-1].upper),) if below else regimes
        growth = writer.derive_square_root_growth(tuple(filter(_is_machine_fact, facts)))
        if growth is not None:
            return (Growth(None, growth),)
        cases = tuple(writer.iterate_cases())
        writer.require_fixed_sizes(cases)
        answer = solve(RealRecurrence((RealDefinition(RECURRENCE_NAME, writer.sizes, cases),), facts))
        if not isinstance(answer, SolvedGrowth):
            raise UnsolvedRecursionError(answer.reason)
        return answer.growths


def _require_single_growth(growths: Sequence[Growth]) -> s.Expr:
    """Return the only growth of a call. Raises UnsolvedRecursionError if there are several regimes."""
    if len(growths) > 1:
        raise UnsolvedRecursionError("the growth of a call differs between regimes")
    return _upper_growth(growths[0])


def _upper_growth(growth: Growth) -> s.Expr:
    assert growth.upper is not None
    return growth.upper


def _is_machine_fact(fact: s.Fact) -> bool:
    return s.find_names(fact) <= {"Z", "L"}


@record
class _RecurrenceBuilder:
    """Builds the recurrence for the io of one algorithm; `orders` derives the growth of its callees."""

    algorithm: s.Algorithm
    body: Body
    facts: Facts
    orders: Callable[[s.Algorithm], tuple[Growth, ...]]

    @property
    def sizes(self) -> tuple[str, ...]:
        """The sizes that io depends on: those in the extents of arrays."""
        restore = self.facts.restore
        names = restore(self.body.given).names | restore(self.body.made).names
        result = tuple(name for name in self.body.body.scope.values if name in names - {"L"})
        if not result:
            raise UnsolvedRecursionError("its arrays have no independent sizes")
        return result

    # Recursion by square roots.
    def derive_square_root_growth(self, known: Sequence[s.Fact]) -> s.Expr | None:
        """Return the growth of a recursion by square roots under facts about the cache; None for other recursions."""
        *before, last = self.body.parts
        if len(self.sizes) > 1 or not isinstance(last, BranchPart):
            return None
        branches = [parts for _, parts in last.branches if any(map(_contains_call, parts))]
        if len(branches) != 1:
            return None
        self._require_small_leaves(last)
        body, parts = self.body.body, (*before, *branches[0])
        calls, call_count = (
            list(self._iterate_recursive_calls(parts)),
            sum(call.target is self.algorithm for call in find_recursive_calls(body.nodes)),
        )
        if (
            any(isinstance(part, BranchPart) for part in iterate_all_parts(parts))
            or not len(calls) == call_count == ROOT_CALLS
        ):
            return None
        if not all(self._is_square_root_call(*call) for call in calls):
            return None
        n, line = b.name(self.sizes[0]), b.name("L")
        lines, with_large_n = b.binary("/", n, line), (*known, b.binary(">=", n, b.name("Z")))
        argument, held = (
            self._simplify_growth(self._sum_unrounded_lines(arrays)) for arrays in (body.given, body.made)
        )
        if not all(
            _is_proved_big_o(cost, lines, with_large_n)
            for cost in (*self._iterate_misses_outside_calls(parts, b.ONE), to_tree(held + ONE))
        ):
            return None
        if not _is_proved_big_o(to_tree(argument), b.binary("+", b.ONE, lines), known):
            return None
        levels = b.divide_products([n, b.call("log2", n)], [b.product([line, b.call("log2", b.name("Z"))])])
        return b.binary("+", to_tree(self._normalise_roots(argument + held)), levels)

    def _normalise_roots(self, lines: Poly) -> Poly:
        """Drop coefficients, and replace n/sqrt(n) by sqrt(n)."""
        n = Poly.symbol(self.sizes[0])
        ((inverse, _),) = (n * a.sqrt(n) ** -1).terms.items()
        terms = (a.sqrt(n) if term == inverse else Poly({term: ONE.constant_term}) for term in lines.terms)
        return Poly({term: ONE.constant_term for form in terms for term in form.terms})

    def _iterate_recursive_calls(self, parts: Iterable[BodyPart]) -> Iterator[tuple[Poly, RecursiveCall]]:
        """Yield each call of the algorithm itself, with the number of times that it is made."""
        for part in parts:
            match part:
                case CallPart(call=call) if call.target is self.algorithm:
                    yield ONE, call
                case LoopPart(loop=loop, parts=inner):
                    direct = (inner_part.call for inner_part in inner if isinstance(inner_part, CallPart))
                    yield from ((loop.trips, call) for call in direct if call.target is self.algorithm)
                case _:
                    pass

    def _is_square_root_call(self, times: Poly, call: RecursiveCall) -> bool:
        """Test that a call's size is about sqrt(n), `times` such sizes sum to n, and local arrays share one address."""
        restore, n = self.facts.restore, Poly.symbol(self.sizes[0])
        size, times = restore(call.sizes[self.sizes[0]]), restore(times)
        root = remove_rounding(size) in (a.sqrt(n), n * a.sqrt(n) ** -1)
        return root and call.base is not None and restore(times * size) == n

    def _iterate_misses_outside_calls(self, parts: Iterable[BodyPart], times: s.Expr) -> Iterator[s.Expr]:
        """Yield the cache misses of parts other than calls of the algorithm itself, multiplied by `times`."""
        for part in parts:
            match part:
                case StraightLinePart():
                    yield b.binary("*", times, to_tree(self._bound_part_misses_above(part)))
                case CallPart(call=call) if call.target is not self.algorithm:
                    yield b.binary("*", times, self._derive_callee_growth(part))
                case LoopPart(loop=loop, parts=inner):
                    yield from self._iterate_misses_outside_calls(
                        inner, b.binary("*", times, to_tree(remove_rounding(self.facts.restore(loop.trips))))
                    )
                case _:
                    pass

    # Recursion by shares.
    def iterate_non_recursive_growth(self, recursions: RecursiveMissBounds) -> Iterator[Growth]:
        """Yield the growth of an algorithm that does not call itself, for arrays that fit and for others."""
        body = self.body.body
        lines = self._sum_unrounded_lines((*body.given, *body.made))
        words = to_tree(self.facts.restore(lines * LINE))
        bound = self._simplify_growth(
            self._sum_misses(part for part in self.body.parts if not isinstance(part, CallPart)) + ONE
        )
        callees = []
        for part in self.body.parts:
            match part:
                case CallPart(call=call) if recursions.module.signatures[call.target].indices:
                    bound = bound + self._bound_indexed_call_misses(call, recursions.body_of(call.target))
                case CallPart():
                    callees.append(self._derive_callee_growth(part))
                case StraightLinePart() | LoopPart() | BranchPart():
                    pass
        if not body.made:
            yield Growth(None, to_tree(self._simplify_growth(lines)), where=(b.binary(">=", b.name("Z"), words),))
        where = () if body.made else (b.binary("<=", b.name("Z"), words),)
        yield Growth(None, _sum_distinct([to_tree(self._simplify_growth(bound)), *callees]), where=where)

    def _bound_indexed_call_misses(self, call: RecursiveCall, target: Body) -> Poly:
        """Bound the misses of a call of a recursion by indices."""
        if target.potential is None:
            raise UnsolvedRecursionError(f"no bound was found on the cache misses of all calls of `{call.target.name}`")
        forms = [form.substitute(call.sizes) for form in target.potential.forms]
        indices = sorted({name for form in forms for name in form.names} & set(self._indices))
        if indices:
            raise UnsolvedRecursionError(f"the index `{indices[0]}` may be negative")
        return sum_polynomials(map(self._simplify_growth, forms))

    @property
    def _indices(self) -> tuple[str, ...]:
        return self.body.body.scope.module.signatures[self.algorithm].indices

    def iterate_cases(self) -> Iterator[EquationCase]:
        """Yield the case of arrays that fit, then one case for each branch with recursive calls."""
        lines = self._simplify_growth(self._sum_unrounded_lines((*self.body.body.given, *self.body.body.made)))
        words = Poly({term: factor for term, factor in (lines * LINE).terms.items() if _has_size_factor(term)})
        yield EquationCase(to_tree(lines), b.binary("<=", to_tree(words), b.name("Z")))
        *before, last = self.body.parts
        shared = self._sum_misses(before)
        if not isinstance(last, BranchPart):
            raise UnsolvedRecursionError("its recursive calls are not guarded by a condition on sizes")
        branches = [(branch, parts) for branch, parts in last.branches if any(map(_contains_call, parts))]
        self._require_small_leaves(last)
        for place, (branch, parts) in enumerate(branches):
            condition = None if place == len(branches) - 1 else self._require_size_condition(branch)
            yield EquationCase(self._make_branch_cost(parts, shared), condition)

    def _require_small_leaves(self, chosen: BranchPart) -> None:
        """Require that branches without recursive calls have constant sizes, as the recurrence leaves them out.

        Raises UnsolvedRecursionError.
        """
        scope = self.body.body.scope
        facts = scope.facts
        for branch, parts in chosen.branches:
            in_branch = facts
            if branch.condition is not None:
                in_branch = with_fact(facts, branch.condition, scope)
                for need in equivalent_constraints(branch.condition, scope) or ():
                    # max(n, m) <= 16 -> n <= 16 and m <= 16
                    in_branch = reduce(Facts.with_nonnegative, a.split_extremum(need, False), in_branch)
            if not any(map(_contains_call, parts)):
                sizes = sorted(_collect_names(parts) & scope.values.keys())
                large = [name for name in sizes if not in_branch.nonnegative(MAX_CONSTANT - scope.values[name])]
                if large:
                    raise UnsolvedRecursionError(f"`{large[0]}` is not bounded in a branch without recursive calls")
            if branch.condition is not None:
                facts = with_fact(facts, negate_condition(branch.condition), scope)

    def require_fixed_sizes(self, cases: tuple[EquationCase, ...]) -> None:
        """Require that sizes other than the recurrence's parameters are the same in every call.

        Raises UnsolvedRecursionError.
        """
        mentioned = find_names(
            tuple(part for case in cases for part in (case.value, case.condition) if part is not None)
        )
        mentioned -= set(self.sizes)
        for call in find_recursive_calls(self.body.body.nodes):
            sizes = call.sizes if call.target is self.algorithm else {}
            for name in sorted(mentioned & sizes.keys()):
                if sizes[name] != self.body.body.scope.values[name]:
                    raise UnsolvedRecursionError(f"the size `{name}` varies from call to call")

    def _sum_unrounded_lines(self, arrays: Iterable[Array]) -> Poly:
        """Count the lines of arrays without rounding, w words of a row as w/L + 1."""
        total = ZERO
        for array in arrays:
            if array.layout == "zmorton":
                raise UnsolvedRecursionError(f"`{array.name}` is in Z-Morton order")
            along = contiguous_dimension(array)
            lines = array.extents[along] if array.strided else array.extents[along] * LINE**-1 + 1
            for dimension, extent in enumerate(array.extents):
                if dimension != along:
                    lines = lines * extent
            total = total + lines
        return total

    def _simplify_growth(self, value: Poly) -> Poly:
        """Bound the growth of a value: drop rounding, negative terms and coefficients; terms without sizes become 1."""
        value = bound_without_rounding(self.facts.restore(value))
        terms = {monomial: ONE.constant_term for monomial, coefficient in value.terms.items() if coefficient > 0}
        in_sizes = {monomial: factor for monomial, factor in terms.items() if _has_size_factor(monomial)}
        return Poly(in_sizes) + ONE if in_sizes else Poly(terms)

    def _require_size_condition(self, branch: ChoiceBranch) -> s.Fact:
        condition = branch.condition
        if branch.taken is None or condition is None:
            raise UnsolvedRecursionError("which calls are made depends on data")
        if not isinstance(condition, s.Binary) or condition.op not in RELATIONS:
            raise UnsolvedRecursionError("the condition of its recursive calls is not a comparison of sizes")
        return condition

    def _make_branch_cost(self, parts: Sequence[BodyPart], shared: Poly) -> s.Expr:
        """Add the costs of the calls in a branch, and the growth of the misses of its other parts and of `shared`."""
        counts, rest = self._collect_calls(parts)
        terms = [
            b.binary("*", b.number(count), term.tree) if count > 1 else term.tree for term, count in counts.items()
        ]
        return b.sum_terms(
            (False, term) for term in (*terms, to_tree(self._simplify_growth(self._sum_misses(rest) + shared + ONE)))
        )

    def _collect_calls(self, parts: Iterable[BodyPart]) -> tuple[Counter[_SyntacticTerm], list[BodyPart]]:
        """Count calls by their costs, and list other parts; if data selects a branch, take each call's maximum."""
        counts: Counter[_SyntacticTerm] = Counter()
        rest: list[BodyPart] = []
        for part in parts:
            match part:
                case CallPart():
                    is_self = part.call.target is self.algorithm
                    counts[
                        _SyntacticTerm.of(
                            self._make_recursive_term(part) if is_self else self._derive_callee_growth(part)
                        )
                    ] += 1
                case LoopPart():
                    counts[_SyntacticTerm.of(self._make_loop_cost(part))] += 1
                case BranchPart(branches=branches):
                    most: Counter[_SyntacticTerm] = Counter()
                    for branch, inner in branches:
                        if branch.taken is not None and branch.condition is not None:
                            raise UnsolvedRecursionError("recursive calls are under further conditions")
                        made, others = self._collect_calls(inner)
                        most |= made
                        rest += others
                    counts += most
                case StraightLinePart():
                    rest.append(part)
        return counts, rest

    def _make_loop_cost(self, part: LoopPart) -> s.Expr:
        """Multiply the calls in a loop by its trip count. Raises UnsolvedRecursionError unless sizes are equal."""
        if any(
            part.loop.variable in value.names
            for call in find_recursive_calls(part.loop.body)
            for value in call.sizes.values()
        ):
            raise UnsolvedRecursionError("the sizes of the calls in a loop differ between iterations")
        return b.binary("*", to_tree(self._simplify_growth(part.loop.trips)), self._make_branch_cost(part.parts, ZERO))

    def _make_recursive_term(self, part: CallPart) -> s.Expr:
        return b.call(RECURRENCE_NAME, *(to_tree(self._require_fractional_size(part, name)) for name in self.sizes))

    def _require_fractional_size(self, part: CallPart, name: str) -> Poly:
        size = self._compute_real_size(part, name)
        if not all(isinstance(atom, Symbol) for atom in size.atoms()):
            raise UnsolvedRecursionError("the sizes of its calls are not fractions of its own sizes")
        return size

    def _compute_real_size(self, part: CallPart, name: str) -> Poly:
        """Return a size of a call without rounding, and without constant terms unless it is constant."""
        size = remove_rounding(self.facts.restore(part.call.sizes[name]))
        return size - size.constant_term if not size.is_constant else size

    def _derive_callee_growth(self, part: CallPart) -> s.Expr:
        """Return the growth of another recursive algorithm at the sizes of a call."""
        sizes = {name: to_tree(self._compute_real_size(part, name)) for name in part.call.sizes}
        return substitute_names(_require_single_growth(self.orders(part.call.target)), sizes)

    def _sum_misses(self, parts: Iterable[BodyPart]) -> Poly:
        """Return an upper bound on the misses of parts. Raises UnsolvedRecursionError if they have recursive calls."""
        total = ZERO
        for part in parts:
            match part:
                case StraightLinePart():
                    total = total + self._bound_part_misses_above(part)
                case _:
                    raise UnsolvedRecursionError("recursive calls are in loops or under further conditions")
        return total

    def _bound_part_misses_above(self, piece: StraightLinePart) -> Poly:
        bounds = [
            self._simplify_growth(misses)
            for misses in piece.planner.list_unrounded_misses(piece.upper.plans, self.facts)
        ]
        if not bounds:
            raise UnsolvedRecursionError("a part without recursive calls has no bound under these facts")
        return min(bounds, key=_evaluate_at_large_sizes)


@record
class _SyntacticTerm:
    """A term of a sum, which is equal to terms that are written in the same way."""

    key: object
    tree: s.Expr = field(compare=False)

    @classmethod
    def of(cls, tree: s.Expr) -> _SyntacticTerm:
        return cls(make_structural_key(tree), tree)


def _sum_distinct(sums: Iterable[s.Expr]) -> s.Expr:
    """Add the terms of several sums, each distinct term once."""
    terms = (_SyntacticTerm.of(term) for expr in sums for term in _iterate_sum_terms(expr))
    return b.sum_terms((False, term.tree) for term in dict.fromkeys(terms))


def _is_proved_big_o(left: s.Expr, right: s.Expr, facts: Sequence[s.Fact]) -> bool:
    return isinstance(is_O(left, right, facts), Proved)


def _iterate_sum_terms(expr: s.Expr) -> Iterator[s.Expr]:
    match expr:
        case s.Binary(op="+", left=left, right=right):
            yield from _iterate_sum_terms(left)
            yield from _iterate_sum_terms(right)
        case _:
            yield expr


def _collect_names(parts: Iterable[BodyPart]) -> set[str]:
    """Collect the names in loop bounds, trip counts and call sizes of some parts."""
    result: set[str] = set()
    for part in iterate_all_parts(parts):
        match part:
            case StraightLinePart(planner=planner):
                for reference in planner.references:
                    values = [end for loop in reference.chain for end in (loop.lo, loop.hi, loop.trips)]
                    result |= {name for value in values for name in reference.facts.restore(value).names}
            case CallPart(call=call):
                result |= {name for value in call.sizes.values() for name in value.names}
            case LoopPart(loop=loop):
                result |= loop.lo.names | loop.hi.names
            case BranchPart():
                pass
    return result


def _contains_call(part: BodyPart) -> bool:
    return any(isinstance(inner, CallPart) for inner in iterate_all_parts((part,)))


def _evaluate_at_large_sizes(value: Poly) -> float:
    """Evaluate at large sizes and a long line; infinity if the value is undefined."""
    point = {**dict.fromkeys(value.names, SAMPLE_SIZE), "L": SAMPLE_LENGTH}
    try:
        return float(evaluate(value, point))
    except EvaluationError:
        return inf


def _has_size_factor(monomial: Monomial) -> bool:
    """Test whether a symbol other than L occurs in a term."""
    return any(atom != Symbol("L") for atom, _ in monomial)
