"""A metric of a recursive algorithm as a textbook sets it out: the recurrence by cases, the proof of its solution."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from archline.algebra.polynomial import Poly
from archline.records import field, record

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
class Line:
    """One inequality of a proof by induction: a case with the claim at its calls, beside the claim itself.

    `calls` has the claim at the calls by its letter; `written` the same in the sizes, None where that has no form.
    `sizes` limits a case without calls to the sizes that calls have, one way or another; none: to no sizes.
    """

    when: str
    relation: Relation
    calls: Poly
    written: Poly | None
    sizes: tuple[tuple[Range, ...], ...]


@record(eq=False)
class Claim:
    """What the function is, is at least or at most, where it makes calls; `letter` names it in the lines of its proof.

    Without lines it holds for the `reason`. `where` tells the cases that it is about, if not all.
    """

    relation: Relation
    letter: str
    value: Poly
    lines: tuple[Line, ...]
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
    claims: tuple[Claim, ...]
    meanings: Mapping[str, Poly] = field(default_factory=dict)
