"""Growth of io of recursion: the rule of what fits as a recurrence over real sizes, solved as any other.

Where less than a constant number of lines fits, Z >= L^2 keeps Z and L below constants, and io, which is at most a
constant times work, is compared as work.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from math import inf

from flint import fmpq

from archline.algebra import atoms as a
from archline.algebra.evaluation import EvaluationError, evaluate
from archline.algebra.facts import Facts
from archline.algebra.polynomial import ONE, ZERO, Atom, Monomial, Poly, Symbol
from archline.algebra.printing import to_text
from archline.algebra.recurrences.problem import Recurrence, Solved
from archline.algebra.recurrences.reading import parse_recurrence
from archline.algebra.recurrences.solve import solve
from archline.analysis.io.accesses import Branch, contiguous_dimension
from archline.analysis.io.layout import LINE
from archline.analysis.io.product import UnboundedError
from archline.analysis.io.recursion import Called, Chosen, Part, Piece, Recursions, Repeated
from archline.analysis.io.recursion import Solved as Body
from archline.analysis.recursion.conditions import named
from archline.analysis.scope import with_fact
from archline.language import syntax as s
from archline.language.diagnostics import ArchlineError
from archline.language.format_expressions import format_expression
from archline.language.parser import parse_expression
from archline.language.printer import format_fact

FEW = 64
"""Plans that need no more lines than this count as fitting; where they do not, Z and L are below constants."""
SIZE, LENGTH = 2**20, 2**6
"""Sizes and lines at which bounds are compared."""
HALF = fmpq(1, 2)
WORDS = Poly.symbol("Z")
NAME = "io"


class OutOfReachError(Exception):
    """The recursion has a form that is not solved: why."""


@dataclass(frozen=True)
class Order:
    """What io is O of: the recurrence over real sizes, and the growth of its solution by conditions ("": anywhere)."""

    text: str
    regimes: tuple[tuple[str, str], ...]

    @property
    def growth(self) -> str:
        """The growth everywhere. Raises OutOfReachError where it differs between regimes."""
        if len(self.regimes) > 1:
            raise OutOfReachError("the growth of a call differs between regimes")
        return self.regimes[0][1]


def order(recursions: Recursions, facts: Sequence[s.Fact]) -> Order:
    """The growth of the io of a recursive algorithm under facts of sizes, Z and L. Raises OutOfReachError."""
    return _Orders(recursions, tuple(fact for fact in facts if isinstance(fact, s.Binary))).of(recursions.algorithm)


@dataclass(eq=False)
class _Orders:
    recursions: Recursions
    facts: tuple[s.Fact, ...]
    _found: dict[s.Algorithm, Order] = field(default_factory=dict)
    _open: list[s.Algorithm] = field(default_factory=list)

    def of(self, algorithm: s.Algorithm) -> Order:
        if algorithm in self._open:
            raise OutOfReachError(f"`{algorithm.name}` and others call each other in a circle")
        if algorithm not in self._found:
            self._open.append(algorithm)
            self._found[algorithm] = self._solve(algorithm)
            self._open.pop()
        return self._found[algorithm]

    def _solve(self, algorithm: s.Algorithm) -> Order:
        body = self.recursions.solved(algorithm)
        scope = body.body.scope
        known = scope.facts
        # What is said of the outermost call's sizes says nothing of those of others.
        facts = self.facts if algorithm is self.recursions.algorithm else tuple(filter(_of_machine, self.facts))
        for fact in facts:
            known = with_fact(known, fact, scope)
        writer = _Writer(algorithm, body, known.with_nonnegative(WORDS - LINE.scaled(FEW)), self.of)
        text = f"{NAME}({', '.join(writer.sizes)}) = " + "; ".join(writer.cases())
        try:
            problem = parse_recurrence(text)
        except ArchlineError as problem_:
            raise OutOfReachError(problem_.diagnostics[0].message) from None
        answer = solve(Recurrence(problem.definitions, facts))
        if not isinstance(answer, Solved):
            raise OutOfReachError(answer.reason)
        return Order(f"{text}{_under(facts)}", answer.regimes or (("", answer.growth),))


def _of_machine(fact: s.Fact) -> bool:
    return {node.id for node in s.nodes(fact) if isinstance(node, s.Name)} <= {"Z", "L"}


def _under(facts: Sequence[s.Fact]) -> str:
    return f" where {', '.join(map(format_fact, facts))}" if facts else ""


@dataclass(frozen=True)
class _Writer:
    algorithm: s.Algorithm
    body: Body
    facts: Facts
    orders: Callable[[s.Algorithm], Order]

    @property
    def sizes(self) -> tuple[str, ...]:
        """The sizes on which io depends: those of calls that change, and those of arrays."""
        restore = self.facts.restore
        names = restore(self.body.given).names | restore(self.body.made).names
        found = tuple(name for name in self.body.body.scope.values if name in names - {"L"})
        if not found:
            raise OutOfReachError("its arrays have no sizes by themselves")
        return found

    def cases(self) -> Iterator[str]:
        """What fits, then each branch with recursive calls."""
        lines = self._grown(self._smooth_lines())
        words = Poly({term: one for term, one in (lines * LINE).terms.items() if _sized(term)})
        yield f"{to_text(lines)} when {to_text(words)} <= Z"
        *before, last = self.body.parts
        shared = self._cost(before)
        if not isinstance(last, Chosen):
            raise OutOfReachError("its calls stand under no condition on sizes")
        branches = [(branch, parts) for branch, parts in last.branches if any(map(_calls_itself, parts))]
        for place, (branch, parts) in enumerate(branches):
            condition = "" if place == len(branches) - 1 else f" when {self._condition(branch)}"
            yield f"{self._branch(parts, shared)}{condition}"

    def _smooth_lines(self) -> Poly:
        """Lines of all arrays, w words of a row as w/L + 1."""
        total = ZERO
        for array in (*self.body.body.given, *self.body.body.made):
            if array.layout == "zmorton":
                raise OutOfReachError(f"`{array.name}` is in Z-Morton order")
            along = contiguous_dimension(array)
            lines = array.extents[along] if array.strided else array.extents[along] * LINE**-1 + 1
            for dimension, extent in enumerate(array.extents):
                if dimension != along:
                    lines = lines * extent
            total = total + lines
        return total

    def _grown(self, value: Poly) -> Poly:
        """The positive terms without constants and rounding: what grows no less."""
        value = _real(self.facts.restore(value))
        terms = {monomial: ONE.constant_term for monomial, coefficient in value.terms.items() if coefficient > 0}
        sized = {monomial: one for monomial, one in terms.items() if _sized(monomial)}
        return Poly(sized) + ONE if sized else Poly(terms)

    def _condition(self, branch: Branch) -> str:
        if branch.taken is None or branch.condition is None:
            raise OutOfReachError("the data decides which calls are made")
        return format_expression(branch.condition)

    def _branch(self, parts: Sequence[Part], shared: Poly) -> str:
        counts: Counter[str] = Counter()
        others: list[str] = []
        rest: list[Part] = []
        for part in self._plain(parts):
            if isinstance(part, Repeated):
                others.append(self._repeated(part))
            elif not isinstance(part, Called):
                rest.append(part)
            elif part.call.target is self.algorithm:
                counts[self._call(part)] += 1
            else:
                others.append(self._other(part))
        cost = self._grown(self._cost(rest) + shared + ONE)
        terms = [f"{count}*{call}" if count > 1 else call for call, count in counts.items()]
        return " + ".join([*terms, *others, to_text(cost)])

    def _repeated(self, part: Repeated) -> str:
        """Iterations with calls, all of the same sizes."""
        trips = self._grown(part.loop.trips)
        inner: list[str] = []
        rest: list[Part] = []
        for each in self._plain(part.parts):
            if isinstance(each, Repeated):
                raise OutOfReachError("recursive calls stand in loops within loops")
            if isinstance(each, Called):
                if any(part.loop.variable in value.names for value in each.call.sizes.values()):
                    raise OutOfReachError("the sizes of calls vary in a loop")
                inner.append(self._call(each) if each.call.target is self.algorithm else self._other(each))
            else:
                rest.append(each)
        cost = to_text(self._grown(self._cost(rest) + ONE))
        return f"({to_text(trips)})*({' + '.join([*inner, cost])})"

    def _plain(self, parts: Iterable[Part]) -> Iterator[Part]:
        """Parts with the branch that calls most, where the data decides."""
        for part in parts:
            if isinstance(part, Repeated):
                yield part
            elif isinstance(part, Chosen):
                if any(branch.taken is not None and branch.condition is not None for branch, _ in part.branches):
                    raise OutOfReachError("recursive calls stand under further conditions")
                yield from self._plain(max(part.branches, key=lambda each: len(each[1]))[1])
            else:
                yield part

    def _call(self, part: Called) -> str:
        return f"{NAME}({', '.join(to_text(self._size(part, name)) for name in self.sizes)})"

    def _size(self, part: Called, name: str) -> Poly:
        real = _real(self.facts.restore(part.call.sizes[name]))
        if not all(isinstance(atom, Symbol) for atom in real.atoms()):
            raise OutOfReachError("sizes of calls are no shares of the algorithm's own")
        return real - real.constant_term if not real.is_constant else real

    def _other(self, part: Called) -> str:
        """What another recursive algorithm fetches at the sizes of a call."""
        found = self.orders(part.call.target)
        sizes = {name: self._size(part, name) for name in part.call.sizes}
        shown = {name: s.Name(f"{name}_", span=part.call.span) for name in sizes}
        text = format_expression(named(parse_expression(found.growth), shown))
        for name, value in sizes.items():
            text = re.sub(rf"\b{name}_\b", f"({to_text(value)})", text)
        return f"({text})"

    def _cost(self, parts: Iterable[Part]) -> Poly:
        """What parts without recursive calls fetch."""
        total = ZERO
        for part in parts:
            match part:
                case Piece():
                    total = total + self._piece(part)
                case _:
                    raise OutOfReachError("recursive calls stand in loops or under further conditions")
        return total

    def _piece(self, piece: Piece) -> Poly:
        found = []
        for plan in piece.upper.plans:
            try:
                needs, misses = piece.planner.smooth(plan)
            except UnboundedError:
                continue
            if any(all(self.facts.nonnegative(WORDS - LINE * each) for each in way) for way in needs):
                found.append(self._grown(misses))
        if not found:
            raise OutOfReachError("a part without calls has no bound that holds under these facts")
        return min(found, key=_large)


def _calls_itself(part: Part) -> bool:
    match part:
        case Called():
            return True
        case Chosen(branches=branches):
            return any(_calls_itself(each) for _, parts in branches for each in parts)
        case Piece():
            return False
    return any(map(_calls_itself, part.parts))


def _large(value: Poly) -> float:
    """The value where sizes are large and lines are not short; infinite where it has none."""
    point = {**dict.fromkeys(value.names, SIZE), "L": LENGTH}
    try:
        return float(evaluate(value, point))
    except EvaluationError:
        return inf


def _sized(monomial: Monomial) -> bool:
    """Whether a size stands in a term, not only L."""
    return any(atom != Symbol("L") for atom, _ in monomial)


def _real(value: Poly) -> Poly:
    """A value without rounding, and no less beyond: n//2 and n - n//2 are n/2, max(0, n - 1) is n."""

    def unrounded(atom: Atom) -> Poly | None:
        match atom:
            case a.Floor() if atom.modulus.is_constant:
                return _real(atom.argument).scaled(1 / atom.modulus.constant_term)
            case a.Quotient(argument=argument, divisor=divisor) if len(_real(divisor).terms) == 1:
                return _real(argument) * _real(divisor) ** -1
            case a.Exponential(base=2, exponent=exponent):
                return _power_of_two(_real(exponent))
            case a.PositivePart(argument=argument):
                real = _real(argument)
                return Poly({term: share for term, share in real.terms.items() if term and share > 0})
        return None

    return value.map_atoms(unrounded)


def _power_of_two(exponent: Poly) -> Poly | None:
    """sqrt(w) for 2^(log2(w)/2)."""
    match list(exponent.terms.items()):
        case [(((a.Function(function="log2", argument=argument), 1),), share)] if share == HALF:
            return a.sqrt(argument)
    return None
