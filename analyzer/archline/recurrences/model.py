"""Model recurrences over integer sizes: a metric of algorithms that call each other, as equations by cases.

A `Recurrence` is the form that a textbook has: cases, with the proof of its solution.
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
from archline.expr.text import format_conjunction
from archline.ir.conditions import negate_condition
from archline.language import syntax as s
from archline.numbers import fmpq
from archline.records import field, record


@record
class Decision:
    """An `if` on sizes and its outcome; `indicator` is 1 where the condition holds.

    `condition` is that of the branch in terms of the parameters: the definition of each `let` replaces its name.
    """

    branch: s.Branch
    taken: bool
    indicator: Poly
    condition: s.Expr


@record(eq=False)
class Equation:
    """The value of a function in one case; its recursive calls are `AppliedFunction` atoms.

    `data` names the integers in it that only the data determines: the function lies between the values for these.
    `known` are expressions that the decisions imply to be >= 0. `exits`: data may end the case before it makes its
    calls, so that these may have sizes that are not allowed, at which the function counts as 0.
    """

    decisions: tuple[Decision, ...]
    facts: Facts
    value: Poly
    data: tuple[str, ...]
    known: tuple[Poly, ...] = ()
    exits: bool = False

    @cached_property
    def recursive(self) -> bool:
        """Whether the value contains a call."""
        return bool(find_calls(self.value))


@record(eq=False)
class SizeFunction:
    """One metric of one algorithm, or a bound of it: parameters in order, facts about them, and equations.

    `least` are the minimum values of the sizes, and `where` the facts of the header, which restrict the parameters;
    these imply that the values `promised` are >= 0.
    """

    name: str
    algorithm: s.Algorithm
    parameters: tuple[str, ...]
    least: Mapping[str, int]
    facts: Facts
    equations: tuple[Equation, ...]
    where: tuple[s.Fact, ...] = ()
    promised: tuple[Poly, ...] = ()
    metric: str = ""

    @property
    def sizes(self) -> tuple[str, ...]:
        """The parameters that are sizes, not indices, and that no fact expresses as powers or multiples of others."""
        return tuple(name for name in self.least if name not in self.facts.rewrites)

    @cached_property
    def own_calls(self) -> tuple[tuple[Equation, dict[str, Poly]], ...]:
        """The calls of the function by itself: the case that makes each, and its arguments by parameter."""
        return tuple(
            (equation, dict(zip(self.parameters, call.arguments, strict=True)))
            for equation in self.equations
            for call in find_calls(equation.value)
            if call.function == self.name
        )

    @cached_property
    def shared_exponents(self) -> tuple[str, ...]:
        """The exponents k of sizes 2^k that calls split, as in 2^floor(k/2), if all sizes are such powers.

        The function is then a function of k, as other functions are of their sizes.
        """
        shared = []
        for power in self.facts.powers if not self.sizes else ():
            exponents = (a.find_exponent_of_two(arguments[power.name]) for _, arguments in self.own_calls)
            if any(isinstance(atom, a.Floor) for part in exponents if part is not None for atom in part.atoms()):
                shared.append(power.exponent)
        return tuple(shared)


@record(eq=False)
class RecurrenceSystem:
    """The functions of one metric by name. `exact`: they are the metric itself, not its lower and upper bounds."""

    metric: str
    functions: Mapping[str, SizeFunction]
    exact: bool


@record(eq=False)
class IntegerRecurrence:
    """A metric of a recursion that is proved to end: at least `least` and at most `most`, which may be one function.

    With `indices` they are functions of the length of a range. `foreign` returns closed upper bounds (True) or lower
    ones of the other recursive algorithms that are called, by name; each maps arguments and facts to a value. `scales`:
    calls multiply sizes by constants. `more` is a cost of the outermost call alone.
    """

    least: SizeFunction
    most: SizeFunction
    indices: IndexRange | None
    foreign: Callable[[bool], Mapping[str, Callable[[tuple[Poly, ...], Facts], Poly]]]
    scales: bool = False
    more: Poly = ZERO


def find_calls(value: Poly) -> tuple[a.AppliedFunction, ...]:
    """Return the recursive calls in an expression, each once, including those inside a max."""
    applied: dict[a.AppliedFunction, None] = {}
    for atom in value.atoms():
        if isinstance(atom, a.AppliedFunction):
            applied[atom] = None
        for part in atom.parts:
            applied |= dict.fromkeys(find_calls(part))
    return tuple(applied)


def replace_calls(value: Poly, change: Callable[[a.AppliedFunction], Poly | None]) -> Poly:
    """Replace the calls of a value, including those inside a max; `change` returns None to leave a call unchanged."""

    def change_atom(atom: Atom) -> Poly | None:
        if isinstance(atom, a.AppliedFunction):
            return change(atom)
        if not any(map(find_calls, atom.parts)):
            return None
        return atom.rebuild(tuple(replace_calls(part, change) for part in atom.parts))

    return value.map_atoms(change_atom)


def split_value_by_call(value: Poly) -> tuple[Poly, dict[a.AppliedFunction, Poly]]:
    """Return the value without its calls, and the factor of each call; calls inside a max stay there.

    Raises TooComplexError if calls are multiplied with each other.
    """
    rest: dict[Monomial, fmpq] = {}
    factors: dict[a.AppliedFunction, Poly] = {}
    for monomial, coefficient in value.terms.items():
        applied = [pair for pair in monomial if isinstance(pair[0], a.AppliedFunction)]
        match applied:
            case []:
                rest[monomial] = coefficient
            case [(a.AppliedFunction() as atom, 1)]:
                factor = tuple(pair for pair in monomial if pair not in applied)
                factors[atom] = factors.get(atom, ZERO) + Poly({factor: coefficient})
            case _:
                raise TooComplexError("the costs of recursive calls are multiplied with each other")
    return Poly(rest), factors


class SizeDecision(Protocol):
    """A condition on sizes, and whether it holds; `branch` distinguishes it from other conditions of the same text."""

    @property
    def branch(self) -> s.Branch: ...
    @property
    def taken(self) -> bool: ...
    @property
    def condition(self) -> s.Expr: ...


Path = Sequence[SizeDecision]


def format_case_condition(path: Path) -> str:
    """Return the condition of a case, if the first case whose condition holds applies; empty if it has none.

    Cases are in the order in which the body tests their conditions, and cases in which a condition holds come before
    those in which it fails. So only the conditions that hold in a case are needed: the cases before it exclude the
    failing ones.
    """
    return format_conjunction(decision.condition for decision in path if decision.taken)


def list_case_conditions(path: Path, skipped: Iterable[Path]) -> tuple[s.Expr, ...]:
    """Return the conditions of a case in a list that omits the `skipped` cases; the first case that holds applies.

    A condition that fails in the case is negated; it is needed only to exclude a skipped case.
    """
    skipped = list(skipped)
    return tuple(
        decision.condition if decision.taken else negate_condition(decision.condition)
        for index, decision in enumerate(path)
        if decision.taken
        or any(_has_opposite_outcome(skipped_path, path[:index], decision) for skipped_path in skipped)
    )


def _has_opposite_outcome(path: Path, before: Path, decision: SizeDecision) -> bool:
    """Test whether a path begins with the decisions `before`, followed by the opposite outcome of `decision`."""
    decisions = [(x.branch, x.taken) for x in path[: len(before) + 1]]
    opposite = [*((x.branch, x.taken) for x in before), (decision.branch, not decision.taken)]
    return decisions == opposite


class BoundSide(Enum):
    """The relation of a closed form to the function: a bound of it, or equal to it."""

    LOWER = "lower bound"
    UPPER = "upper bound"
    EXACT = "closed form"


Relation = Literal["=", ">=", "<="]


@record(eq=False)
class ValueRange:
    """The range of a size, or of an integer that only the data determines: its lower and upper bounds."""

    value: Poly
    lower: tuple[Poly, ...]
    upper: tuple[Poly, ...]


@record(eq=False)
class RecurrenceCase:
    """A case of a recurrence: the function's value, or bounds of it, in terms of itself at the sizes of calls.

    The first case that holds applies; `when` is its condition, empty if it always holds. `data` are the ranges of the
    integers in it that only the data determines.
    """

    when: str
    lower: Poly
    upper: Poly
    recursive: bool
    data: tuple[ValueRange, ...]


@record(eq=False)
class InductionCase:
    """An inequality of a proof by induction: a case with the claim at its calls, and the claim itself.

    `calls` has the claim at the calls as applications of its letter, `written` as an expression in the sizes; None if
    there is none. `sizes` are alternative ranges of the sizes that calls have in a base case; empty if unlimited.
    """

    when: str
    relation: Relation
    calls: Poly
    written: Poly | None
    sizes: tuple[tuple[ValueRange, ...], ...]


@record(eq=False)
class ProvedClaim:
    """An equation or a bound of the function in its recursive cases; `letter` names it in the lines of its proof.

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
    """A recurrence for display; if the metric counts calls, the 1 of the call is included.

    `letter` names the function. `others` maps the letters of costs of other recursive algorithms to these. `meanings`
    defines a parameter that the algorithm does not name, the distance of its indices.
    """

    letter: str
    parameters: tuple[str, ...]
    cases: tuple[RecurrenceCase, ...]
    others: dict[str, str]
    claims: tuple[ProvedClaim, ...]
    meanings: Mapping[str, Poly] = field(default_factory=dict)
