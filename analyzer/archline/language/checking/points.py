"""Sample points give values to the names in scope that satisfy the facts and conditions on a statement's path."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Self

from archline.expr import build as b
from archline.expr.solutions import SizeSearch
from archline.language import syntax as s
from archline.records import record

_EMPTY_POINTS: Sequence[dict[str, int]] = 5 * ({},)
"""The points from which a sample is searched: without values, and as many as a sample has."""
_MAX_VALUE, _SMALL_LIMITS = 24, (2, 3, 4, 6)
# The maximum effort for a file, in frames of points, which is a second or two of work; the effort of an attempt without
# a point; the maximum number of such attempts.
_MAX_EFFORT, _MISS_EFFORT, _MAX_MISSES = 200_000, 500, 3


@record
class FreeVariable:
    """A size or machine symbol, whose minimum is `least`, or an index of any sign (`least` None)."""

    name: str
    least: int | None


@record
class BoundedVariable:
    """A loop variable or coordinate: lo, lo + step, ... below hi; with `down`, from lo to hi included.

    If it `scales`, the step multiplies it, or divides it with `down`.
    """

    name: str
    lo: s.Expr
    hi: s.Expr
    step: s.Expr | None = None
    down: bool = False
    scales: bool = False

    @classmethod
    def of_loop(cls, loop: s.Loop) -> Self:
        return cls(loop.variable, loop.lo, loop.hi, loop.step, loop.down, loop.scales)


@record
class LetDefinition:
    """A `let` name of an integer."""

    name: str
    value: s.Expr


@record
class Requirement:
    """A fact or condition, true or false on this path."""

    fact: s.Fact
    truth: bool = True


@record
class OpaqueFrame:
    """A part of a path that sample points cannot evaluate, such as a condition on data: a path with it has none."""


Frame = FreeVariable | BoundedVariable | LetDefinition | Requirement | OpaqueFrame
Path = list[Frame]


def make_search(path: Path) -> SizeSearch | None:
    """Return the search for sample points of a path; None if the path has an `OpaqueFrame`.

    Loop variables with bounds in data get no value, and no points satisfy conditions on them.
    """
    names: list[str] = []
    facts: list[s.Fact] = []
    least: dict[str, int] = {}
    for frame in path:
        match frame:
            case OpaqueFrame():
                return None
            case FreeVariable(name=name):
                names.append(name)
                if frame.least is not None:
                    least[name] = frame.least
            case BoundedVariable(scales=True, down=True):
                # No fact says which quotients the variable is.
                pass
            case BoundedVariable(name=name, lo=lo, hi=hi, step=step, down=down) if s.find_names((lo, hi, step)) <= set(
                names
            ):
                names.append(name)
                value, (first, last) = b.name(name), (hi, lo) if down else (lo, hi)
                facts += [b.binary(">=", value, first), b.binary("<=" if down else "<", value, last)]
                if frame.scales and step is not None:
                    factor = b.binary("//", value, lo)
                    facts += [s.Divides(lo, value, span=lo.span), s.IsPower(factor, step, span=lo.span)]
                elif step is not None:
                    facts += [
                        b.binary(">=", step, b.number(1)),
                        s.Divides(step, b.binary("-", value, lo), span=lo.span),
                    ]
            case LetDefinition(name=name, value=value):
                names.append(name)
                facts.append(b.binary("==", b.name(name), value))
            case Requirement(fact=fact, truth=truth):
                facts.append(fact if truth else s.Unary("not", fact, span=fact.span))  # type: ignore[arg-type]
            case BoundedVariable():
                pass
    return SizeSearch(names, facts, least, on_path=True)


class Sampler:
    """Finds sample points of paths, with a bounded effort for each file: once it is spent, no points are found."""

    def __init__(self, file: Sampler | None = None) -> None:
        self._file = file or self
        self.effort = 0
        self._path: Path = []
        self._points: Sequence[dict[str, int]] = _EMPTY_POINTS

    def start_algorithm(self) -> Sampler:
        """Return a sampler for an algorithm of the file: its points do not depend on what was asked for others."""
        return Sampler(self)

    @property
    def is_strained(self) -> bool:
        """Whether much of the effort for the file is spent: findings may depend on the order of the checks."""
        return self.effort > _MAX_EFFORT // 2

    def sample_points(self, path: Path) -> list[dict[str, int]]:
        """Return a few points that satisfy the conditions of a path; empty if none are found."""
        length = len(self._path)
        # Most often the path has grown by a few frames since the last question.
        points = self._find_points(path, self._points, length) if path[:length] == self._path else []
        points = points or self._find_points(path, _EMPTY_POINTS, 0)
        self._path, self._points = list(path), points
        return points

    def sample_small_points(self, path: Path) -> list[dict[str, int]]:
        """Return further points that satisfy the conditions of a path, at small sizes."""
        return [point for most in _SMALL_LIMITS for point in self._find_points(path, 4 * [*_EMPTY_POINTS], 0, most)]

    def _find_points(
        self, path: Path, starts: Sequence[dict[str, int]], seed: int, most: int = 0
    ) -> list[dict[str, int]]:
        search, generator = make_search(path), random.Random(seed)
        points: list[dict[str, int]] = []

        def draw(name: str, low: int | None, high: int | None) -> int:
            if low is not None and high is not None:
                # A range as long as a size may be has no len().
                return low + generator.randrange(max(1, min(high - low + 1, most or 1 << 30)))
            value = 1 << generator.randrange(5) if generator.random() < 0.3 else generator.randrange(1, _MAX_VALUE)
            value = 1 + value % most if most else value
            return -value if low is None and generator.random() < 0.3 else value

        for attempt, start in enumerate(starts):
            if search is None or self._file.effort >= _MAX_EFFORT or attempt - len(points) > _MAX_MISSES:
                break
            point = search.solve(draw, start)
            self._file.effort += len(path) if point is not None else _MISS_EFFORT
            if point is not None:
                points.append(point)
        return points
