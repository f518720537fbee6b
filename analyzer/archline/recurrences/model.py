"""Recurrences over integer sizes: a metric of algorithms that call each other, as equations by cases.

A `Recurrence` is one as a textbook sets it out: by cases, with the proof of its solution.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum
from functools import cached_property
from typing import Literal, Protocol

from archline.algebra import atoms as a
from archline.algebra.effort import TooComplexError
from archline.algebra.facts import Facts
from archline.algebra.index_range import IndexRange
from archline.algebra.polynomial import ZERO, Atom, Monomial, Poly
from archline.expr.text import conjunction
from archline.ir.conditions import negate_condition
from archline.language import syntax as s
from archline.numbers import fmpq
from archline.records import field, record


@record
class Decision:
    """An `if` on sizes and its outcome; `indicator` is 1 where the condition holds.

    `condition` is that of the branch in terms of what a caller knows: for each `let` stands what it names.
    """

    branch: s.Branch
    taken: bool
    indicator: Poly
    condition: s.Expr


@record(eq=False)
class Equation:
    """What a function equals in one case, in terms of itself at smaller sizes, which are `Applied` atoms.

    `data` names the integers in it that only the data gives: the function lies between its values for those. `known`
    are values that the decisions make >= 0.
    """

    decisions: tuple[Decision, ...]
    facts: Facts
    value: Poly
    data: tuple[str, ...]
    known: tuple[Poly, ...] = ()

    @cached_property
    def recursive(self) -> bool:
        """Whether a call occurs."""
        return bool(calls(self.value))


@record(eq=False)
class SizeFunction:
    """One metric of one algorithm, or one end of it: parameters in order, what is promised of them, and equations.

    `where` is the part of the promise that restricts the parameters.
    """

    name: str
    algorithm: s.Algorithm
    parameters: tuple[str, ...]
    least: Mapping[str, int]
    facts: Facts
    equations: tuple[Equation, ...]
    where: tuple[s.Fact, ...] = ()

    @property
    def sizes(self) -> tuple[str, ...]:
        """The sizes that are written as they are: those that are no indices, powers or multiples of another."""
        return tuple(name for name in self.least if name not in self.facts.rewrites)

    @cached_property
    def own_calls(self) -> tuple[tuple[Equation, dict[str, Poly]], ...]:
        """The calls of the function by itself: the case that makes each, and its arguments by parameter."""
        return tuple(
            (equation, dict(zip(self.parameters, call.arguments, strict=True)))
            for equation in self.equations
            for call in calls(equation.value)
            if call.function == self.name
        )

    @cached_property
    def shared_exponents(self) -> tuple[str, ...]:
        """The exponents of sizes that are powers of 2, where a call has a part of one: with n = 2^k, of 2^floor(k/2).

        The function is then one of k as others are of their sizes.
        """
        found = []
        for power in self.facts.powers if not self.sizes else ():
            exponents = (a.exponent_of_two(given[power.name]) for _, given in self.own_calls)
            if any(isinstance(atom, a.Floor) for each in exponents if each is not None for atom in each.atoms()):
                found.append(power.exponent)
        return tuple(found)


@record(eq=False)
class System:
    """The functions by name. `exact`: each is one function of its sizes, and not a pair of bounds."""

    metric: str
    functions: Mapping[str, SizeFunction]
    exact: bool


@record(eq=False)
class IntegerRecurrence:
    """A metric of a recursion that is proved to end: functions that it lies between, one and the same if it is exact.

    With `indices` they are functions of the length of a range. `foreign` gives closed upper bounds (True) or lower ones
    of the other recursive algorithms that are called, by name, from arguments and facts. `scales`: calls multiply sizes
    by constants. The first call costs `more`.
    """

    least: SizeFunction
    most: SizeFunction
    indices: IndexRange | None
    foreign: Callable[[bool], Mapping[str, Callable[[tuple[Poly, ...], Facts], Poly]]]
    scales: bool = False
    more: Poly = ZERO


def calls(value: Poly) -> tuple[a.Applied, ...]:
    """The recursive calls in an expression, each once, those inside a max too."""
    found: dict[a.Applied, None] = {}
    for atom in value.atoms():
        if isinstance(atom, a.Applied):
            found[atom] = None
        for part in atom.parts:
            found |= dict.fromkeys(calls(part))
    return tuple(found)


def with_calls(value: Poly, change: Callable[[a.Applied], Poly | None]) -> Poly:
    """The value with something else for its calls, those inside a max too; None for what stays as it is."""

    def changed(atom: Atom) -> Poly | None:
        if isinstance(atom, a.Applied):
            return change(atom)
        if not any(map(calls, atom.parts)):
            return None
        return atom.rebuild(tuple(with_calls(part, change) for part in atom.parts))

    return value.map_atoms(changed)


def by_call(value: Poly) -> tuple[Poly, dict[a.Applied, Poly]]:
    """The value without its calls, and the factor of each; calls inside a max stay where they are.

    Raises TooComplexError where calls are multiplied with each other.
    """
    rest: dict[Monomial, fmpq] = {}
    factors: dict[a.Applied, Poly] = {}
    for monomial, coefficient in value.terms.items():
        applied = [pair for pair in monomial if isinstance(pair[0], a.Applied)]
        match applied:
            case []:
                rest[monomial] = coefficient
            case [(a.Applied() as atom, 1)]:
                others = tuple(pair for pair in monomial if pair not in applied)
                factors[atom] = factors.get(atom, ZERO) + Poly({others: coefficient})
            case _:
                raise TooComplexError("the costs of recursive calls are multiplied with each other")
    return Poly(rest), factors


class SizeDecision(Protocol):
    """A condition on sizes, and whether it holds; `branch` identifies it among conditions of the same text."""

    @property
    def branch(self) -> s.Branch: ...
    @property
    def taken(self) -> bool: ...
    @property
    def condition(self) -> s.Expr: ...


Path = Sequence[SizeDecision]


def in_order(path: Path) -> str:
    """The condition of a case where it is the first that holds of all cases; empty where it asks for nothing.

    Cases come as their conditions are met on the way through the body, those with a condition that holds first. So
    where one fails, all cases in which it holds have been ruled out, and what holds in a case is enough.
    """
    return conjunction(each.condition for each in path if each.taken)


def among(path: Path, skipped: Iterable[Path]) -> tuple[s.Expr, ...]:
    """The conditions of a case where it is the first that holds of the cases that are not skipped."""
    skipped = list(skipped)
    return tuple(
        each.condition if each.taken else negate_condition(each.condition)
        for index, each in enumerate(path)
        if each.taken or any(_holds_in(other, path[:index], each) for other in skipped)
    )


def _holds_in(path: Path, before: Path, decision: SizeDecision) -> bool:
    """Whether a case has the same decisions before this one, and the opposite outcome here."""
    own = [(each.branch, each.taken) for each in path[: len(before) + 1]]
    other = [*((each.branch, each.taken) for each in before), (decision.branch, not decision.taken)]
    return own == other


class BoundSide(Enum):
    """What a closed form is to a function."""

    LOWER = "lower bound"
    UPPER = "upper bound"
    EXACT = "closed form"


Relation = Literal["=", ">=", "<="]


@record(eq=False)
class Range:
    """A size, or an integer that only the data gives, and what it lies between."""

    value: Poly
    lower: tuple[Poly, ...]
    upper: tuple[Poly, ...]


@record(eq=False)
class Case:
    """One case of a recurrence: what the function is, or lies between, in terms of itself at the sizes of calls.

    `when` is the condition under which it is the first case that holds, empty where it always does. `data` are the
    integers in it that only the data gives.
    """

    when: str
    lower: Poly
    upper: Poly
    recursive: bool
    data: tuple[Range, ...]


@record(eq=False)
class InductionCase:
    """One inequality of a proof by induction: a case with the claim at its calls, and the claim itself.

    `calls` has the claim at the calls by its letter; `written` the same in the sizes, None where that has no form.
    `sizes` limits a case without calls to the sizes that calls have, one way or another; none: to no sizes.
    """

    when: str
    relation: Relation
    calls: Poly
    written: Poly | None
    sizes: tuple[tuple[Range, ...], ...]


@record(eq=False)
class ProvedClaim:
    """What the function is, is at least or at most, where it makes calls; `letter` names it in the lines of its proof.

    Without lines it holds for the `reason`. `where` restricts it to some cases.
    """

    relation: Relation
    letter: str
    value: Poly
    lines: tuple[InductionCase, ...]
    reason: str
    where: str


@record(eq=False)
class Recurrence:
    """The recurrence, the 1 of the call included where the metric counts calls.

    `letter` is what the function is called, `others` what the costs of other recursive algorithms are, by letter, and
    `meanings` what parameters are that the algorithm does not name: the distance of its indices.
    """

    letter: str
    parameters: tuple[str, ...]
    cases: tuple[Case, ...]
    others: dict[str, str]
    claims: tuple[ProvedClaim, ...]
    meanings: Mapping[str, Poly] = field(default_factory=dict)
