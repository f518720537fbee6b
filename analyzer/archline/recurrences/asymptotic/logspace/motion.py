"""Which way the sizes move from where they are: one case's step, or several in turn where guards hold them at a tie.

Where n >= m halves n and otherwise m is halved, the sizes meet and then shrink together. Which cases take part in such
a tie is seen by following the steps a while from near it; their exact shares are then the solution of a linear system.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from archline.algebra.asymptotic.constants import OutOfReachError
from archline.numbers import fmpq
from archline.recurrences.asymptotic.logspace.cones import Cone, Vector, dot, plus, reduced
from archline.recurrences.asymptotic.logspace.numbers import ONE, ZERO, Number, approximate, sign
from archline.recurrences.asymptotic.logspace.system import Alternatives, CaseRule, LogInequality
from archline.recurrences.asymptotic.logspace.terms import at_state

ROUNDS = 240
_AHEAD = 2.3
_STILL = 0.06
_CLOSE = 1e-7


class SplitError(Exception):
    """The region has to be split by the sign of a form first."""

    def __init__(self, form: Vector) -> None:
        super().__init__()
        self.form = form


@dataclass(frozen=True)
class Motion:
    """The cases in force with their shares; `direction` is what the sizes lose in a unit of time, in logarithms.

    A single leaf has no shares. `watched` are the rows that decide that these cases are in force; `first` is the case
    that applies at the very start.
    """

    first: int
    cases: tuple[int, ...]
    shares: tuple[Number, ...]
    direction: Vector
    nodes: Number
    watched: tuple[LogInequality, ...]

    @property
    def is_leaf(self) -> bool:
        """Whether the recursion ends here."""
        return not self.shares


class RecursionState:
    """A state of the recursion for all roots in a region: the sizes' logarithms as forms in the root's."""

    def __init__(self, rules: Sequence[CaseRule], region: Cone, state: tuple[Vector, ...]) -> None:
        self._rules = rules
        self._region = region
        self._state = state
        self._signs: dict[LogInequality, int | None] = {}
        self._floats: dict[LogInequality, tuple[float, ...]] = {}
        self._used: dict[LogInequality, None] = {}

    def sign(self, row: LogInequality) -> int | None:
        """The sign of the row's form here, on the whole region."""
        if row not in self._signs:
            self._signs[row] = self._region.sign(at_state(row.form, self._state))
        return self._signs[row]

    def motion(self, before: Vector) -> Motion:
        """The motion from here for sizes that came by the direction `before`. Raises SplitError."""
        offset = [_AHEAD * approximate(x) for x in before]
        visits: list[tuple[int, tuple[LogInequality, ...]]] = []
        seen: dict[tuple[float, ...], int] = {}
        begin = ROUNDS // 2
        for turn in range(ROUNDS):
            self._used = {}
            index = self._case(offset)
            step = self._rules[index].step
            if step is None:
                return Motion(index, (index,), (), (ZERO,) * len(before), ZERO, ())
            if turn == 0 and all(self.sign(row) for row in self._used):
                return self._single(index)
            where = self._where(offset)
            if where in seen:
                begin = seen[where]
                break
            seen[where] = turn
            visits.append((index, tuple(self._used)))
            offset = [x - d for x, d in zip(offset, step.strides, strict=True)]
        late = [index for index, _ in visits[begin:]]
        self._used = {row: None for _, used in visits[begin:] for row in used}
        cases = sorted(set(late))
        if len(cases) == 1:
            return self._single(cases[0])
        return self._tied(visits[0][0], cases, [late.count(each) for each in cases])

    def _where(self, offset: Sequence[float]) -> tuple[float, ...]:
        """The place relative to the ties: steps that come back to it go on in circles."""
        return tuple(
            round(sum(a * b for a, b in zip(form, offset, strict=True) if a), 6) for form in self._floats.values()
        )

    def _single(self, index: int) -> Motion:
        step = self._rules[index].step
        assert step is not None
        return Motion(index, (index,), (ONE,), step.direction, step.nodes, tuple(self._used))

    def _case(self, offset: Sequence[float]) -> int:
        """The first case that applies at a small distance from here."""
        for index, rule in enumerate(self._rules):
            if self._holds(rule.when, offset):
                return index
        raise OutOfReachError("no case applies to some of the sizes")

    def _holds(self, when: Alternatives, offset: Sequence[float]) -> bool:
        """Whether a condition holds; the rows it rests on are noted."""
        witnesses = []
        undecided: list[LogInequality] = []
        for rows in when:
            truths = [self._truth(row, offset) for row in rows]
            if all(truths):
                self._used.update(dict.fromkeys(rows))
                return True
            failed = [row for row, truth in zip(rows, truths, strict=True) if truth is False]
            if failed:
                witnesses.append(self._strongest(failed))
            else:
                undecided.extend(row for row, truth in zip(rows, truths, strict=True) if truth is None)
                break
        if undecided:
            raise SplitError(self._dividing(undecided))
        self._used.update(dict.fromkeys(witnesses))
        return False

    def _truth(self, row: LogInequality, offset: Sequence[float]) -> bool | None:
        sign = self.sign(row)
        if sign:
            return sign > 0
        if sign is None:
            return None
        if row not in self._floats:
            self._floats[row] = tuple(approximate(x) for x in row.form)
        return sum(a * b for a, b in zip(self._floats[row], offset, strict=True) if a) + row.shift >= -_CLOSE

    def _strongest(self, failed: list[LogInequality]) -> LogInequality:
        """The row that is furthest from holding: the last to change its sign, as a rule."""
        if len(failed) == 1:
            return failed[0]
        inner = self._region.inner()
        return min(failed, key=lambda row: approximate(dot(at_state(row.form, self._state), inner)))

    def _dividing(self, rows: list[LogInequality]) -> Vector:
        """The form to split by: where several rows may fail, which of them is the last to hold comes first."""
        first, *others = [at_state(row.form, self._state) for row in rows]
        for other in others:
            difference = plus(first, other, fmpq(-1))
            order = self._region.sign(difference)
            if order is None:
                return difference
            if order > 0:
                first = other
        return first

    def _tied(self, first: int, cases: list[int], counts: list[int]) -> Motion:
        steps = [step for each in cases if (step := self._rules[each].step) is not None]
        weights = [count * step.length for count, step in zip(counts, steps, strict=True)]
        seen = [weight / sum(weights) for weight in weights]
        ties = [row for row in self._used if self.sign(row) == 0]
        speeds = [[dot(row.form, step.direction) for step in steps] for row in ties]
        kept = [
            speed
            for speed in speeds
            if abs(sum(approximate(x) * share for x, share in zip(speed, seen, strict=True))) < _STILL
        ]
        shares = _solved(kept, len(cases))
        if any(abs(approximate(a) - b) > _STILL for a, b in zip(shares, seen, strict=True)):
            raise OutOfReachError("a tie of guards whose cases alternate in no fixed proportion")
        direction: Vector = (ZERO,) * len(self._state)
        nodes: Number = ZERO
        for share, step in zip(shares, steps, strict=True):
            direction = plus(direction, step.direction, share)
            nodes = nodes + share * step.nodes
        return Motion(first, tuple(cases), shares, direction, nodes, tuple(self._used))


def _solved(rows: list[list[Number]], count: int) -> tuple[Number, ...]:
    """The shares, all positive and 1 together, that keep the rows still."""
    table: list[Vector] = [(*row, ZERO) for row in rows]
    found = reduced([*table, (ONE,) * (count + 1)])
    if len(found) != count or any(found[i][i] != 1 for i in range(count)):
        raise OutOfReachError("a tie of guards that does not fix how the cases alternate")
    shares = tuple(row[count] for row in found)
    if any(sign(share) <= 0 for share in shares):
        raise OutOfReachError("a tie of guards whose cases alternate in no fixed proportion")
    return shares
