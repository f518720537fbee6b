"""Sample points: values of the names in sight that satisfy the facts and conditions on a statement's path."""

from __future__ import annotations

import random

from archline.expr.intervals import EvaluationError
from archline.expr.solutions import conjuncts
from archline.expr.values import evaluate_static, holds
from archline.language import syntax as s
from archline.records import record

_TRIES = 300
_MAX_POINTS = 5
_LARGEST, _SMALL = 24, (2, 3, 4, 6)
# Frames visited for one file: a second or two of work.
_EFFORT = 200_000


@record
class Free:
    """A size or machine symbol (`least` says from where), or an index (`least` None: any sign)."""

    name: str
    least: int | None


@record
class BoundedVariable:
    """A loop variable or coordinate: lo, lo + step, ... below hi; with `down`, from lo to hi included."""

    name: str
    lo: s.Expr
    hi: s.Expr
    step: s.Expr | None = None
    down: bool = False


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
class Opaque:
    """Something that samples cannot follow; beyond it there are none."""


Frame = Free | BoundedVariable | LetDefinition | Requirement | Opaque
Path = list[Frame]


class Sampler:
    """Finds points on paths, with a bounded effort for a whole file: after that there are none."""

    def __init__(self) -> None:
        self._effort = _EFFORT
        self._largest = _LARGEST
        self._path: Path = []
        self._points: list[dict[str, int]] = []

    def points(self, path: Path) -> list[dict[str, int]]:
        """Up to a few points on a path; none where it has no points or they are not found."""
        if any(isinstance(frame, Opaque) for frame in path):
            return []
        known = len(self._path)
        if path[:known] == self._path:
            # Most often the path has grown by a few frames since the last question.
            extended = [self._walk(path[known:], dict(point), {}, random.Random(known)) for point in self._points]
            points = [point for point in extended if point is not None]
        else:
            points = []
        if not points:
            points = self._search(path)
        self._path, self._points = list(path), points
        return points

    def small(self, path: Path) -> list[dict[str, int]]:
        """More points on a path, of small sizes."""
        found = []
        for self._largest in _SMALL:
            found += self._search(path, 4 * _MAX_POINTS)
        self._largest = _LARGEST
        return found

    def _search(self, path: Path, most: int = _MAX_POINTS) -> list[dict[str, int]]:
        hints = _hints(path)
        generator = random.Random(len(path))
        points: list[dict[str, int]] = []
        for _ in range(_TRIES):
            point = self._walk(path, {}, hints, generator)
            if point is not None:
                points.append(point)
            if len(points) == most or self._effort <= 0:
                break
        return points

    def _walk(
        self, path: Path, point: dict[str, int], hints: dict[str, list[s.Fact]], generator: random.Random
    ) -> dict[str, int] | None:
        for frame in path:
            self._effort -= 1
            if self._effort <= 0 or not _step(frame, point, hints, generator, self._largest):
                return None
        return point


def _step(
    frame: Frame, point: dict[str, int], hints: dict[str, list[s.Fact]], generator: random.Random, largest: int
) -> bool:
    """Extend a point by a frame; whether it fits."""
    match frame:
        case Free(name=name, least=least):
            drawn = _draw(name, hints.get(name, []), point, generator, largest)
            if least is not None and drawn < least:
                drawn = least
            point[name] = -drawn if least is None and generator.random() < 0.3 else drawn
        case BoundedVariable():
            return _enter(frame, point, generator)
        case LetDefinition(name=name, value=value):
            try:
                point[name] = evaluate_static(value, point)
            except EvaluationError:
                return False
        case Requirement(fact=fact, truth=truth):
            return holds(fact, point) is truth
        case Opaque():
            pass
    return True


def _enter(frame: BoundedVariable, point: dict[str, int], generator: random.Random) -> bool:
    try:
        lo, hi = evaluate_static(frame.lo, point), evaluate_static(frame.hi, point)
        step = 1 if frame.step is None else evaluate_static(frame.step, point)
    except EvaluationError:
        # The bounds are data: the variable stays without a value, and what mentions it is not decided.
        return True
    values = range(lo, hi - 1, -step) if frame.down else range(lo, hi, step) if step > 0 else range(0)
    if step < 1 or not values:
        return False
    # A range as long as a size may be has no len().
    length = (values[-1] - values[0]) // values.step + 1
    point[frame.name] = values[generator.randrange(min(length, 1 << 30))]
    return True


def _draw(name: str, hints: list[s.Fact], point: dict[str, int], generator: random.Random, largest: int) -> int:
    """A value for a size, of the form that a fact about it asks for where one does."""
    for hint in hints:
        try:
            match hint:
                case s.IsPower(base=base):
                    return int(evaluate_static(base, point) ** generator.randrange(4))
                case s.Divides(divisor=divisor, value=s.Name(id=value)) if value == name:
                    return evaluate_static(divisor, point) * generator.randrange(1, 5)
                case s.IsSquare():
                    return int(generator.randrange(1, 6) ** 2)
                case s.Binary(right=right):
                    return evaluate_static(right, point)
                case _:
                    pass
        except EvaluationError:
            continue
    if largest == _LARGEST and generator.random() < 0.3:
        return 1 << generator.randrange(5)
    return generator.randrange(1, largest + (largest < _LARGEST))


def _hints(path: Path) -> dict[str, list[s.Fact]]:
    hints: dict[str, list[s.Fact]] = {}
    for frame in path:
        if isinstance(frame, Requirement) and frame.truth:
            for fact in conjuncts(frame.fact):
                match fact:
                    case s.IsPower(value=s.Name(id=name)) | s.IsSquare(value=s.Name(id=name)):
                        hints.setdefault(name, []).append(fact)
                    case s.Divides(value=s.Name(id=name)) | s.Binary(op="==", left=s.Name(id=name)):
                        hints.setdefault(name, []).append(fact)
                    case _:
                        pass
    return hints
