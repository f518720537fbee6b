"""Sweeps over a size: `n=64..8192` by doubling, `n=m=p=64..8192` for several together, `n=10..90 step 20`."""

from __future__ import annotations

import re

from archline.api import rules
from archline.api.settings import Given
from archline.expr.values import EvaluationError, evaluate
from archline.language.diagnostics import ArchlineError, error
from archline.language.parser import parse_expression
from archline.records import record

_SWEEP = re.compile(r"\s*((?:[A-Za-z_]\w*\s*=\s*)+)(.+?)\.\.(.+?)(?:\s+step\s+(.+))?\s*")
MOST = 1000


@record
class Sweep:
    """Values of some sizes that change together; both ends are among them."""

    names: tuple[str, ...]
    points: tuple[int, ...]

    @property
    def variable(self) -> str:
        """`n=m=p`."""
        return "=".join(self.names)

    def at(self, value: int) -> Given:
        """The sizes at one of the values."""
        return dict.fromkeys(self.names, (value, None))

    def points_with(self, given: Given) -> list[Given]:
        """The points of the sweep, with the sizes that stay the same. Raises ArchlineError (AL403)."""
        for name in self.names:
            if name in given:
                raise error(rules.REPEATED_SIZE, f"`{name}` is swept, and given by `--at` too", span=given[name][1])
        return [{**given, **self.at(value)} for value in self.points]

    @staticmethod
    def read(text: str) -> Sweep:
        """Read `n=m=p=64..8192`, by doubling, or with a `step`. Raises ArchlineError (AL404, AL411)."""
        found = _SWEEP.fullmatch(text)
        hint = "write n=64..8192 (by doubling), n=m=p=64..8192, or n=100..1000 step 100"
        if found is None:
            raise error(rules.OPTIONS_CLASH, f"`{text[:60]}` is no sweep", hint=hint)
        names = tuple(name.strip() for name in found[1].split("=") if name.strip())
        low, high = (_whole(part, hint) for part in (found[2], found[3]))
        step = None if found[4] is None else _whole(found[4], hint)
        if step is not None and step < 1:
            raise error(rules.OPTIONS_CLASH, f"the step is {step}; it is at least 1", hint=hint)
        if not 1 <= low <= high:
            raise error(rules.OPTIONS_CLASH, f"the sweep goes from {low} to {high}", hint=hint)
        points = _points(low, high, step)
        if len(points) > MOST:
            raise error(rules.OPTIONS_CLASH, f"the sweep has more than {MOST} points", hint="take a larger step")
        return Sweep(names, points)


def _whole(text: str, hint: str) -> int:
    try:
        value = evaluate(parse_expression(text.strip(), "--sweep"), {})
    except (EvaluationError, ArchlineError):
        value = None
    if not isinstance(value, int):
        raise error(rules.NOT_A_NUMBER, f"`{text.strip()[:40]}` is not a whole number", hint=hint)
    return value


def _points(low: int, high: int, step: int | None) -> tuple[int, ...]:
    found: list[int] = []
    value = low
    while value < high and len(found) <= MOST:
        found.append(value)
        value = 2 * value if step is None else value + step
    return (*found, high)
