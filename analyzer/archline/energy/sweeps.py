"""Read the sweeps of sizes, `n=64..8192` by doubling or with a step, and the variables of an optimisation."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from fractions import Fraction

from archline.costs import rules
from archline.costs.sizes import Given
from archline.energy.optimise.constraints import FormulaReader
from archline.energy.optimise.problem import Constraint, Variable
from archline.energy.quantities import QUANTITIES
from archline.energy.subjects import AlgorithmSubject, FormulaSubject, Subject
from archline.energy.targets import SIZE_PREFIX
from archline.expr import build as b
from archline.expr.intervals import EvaluationError, Number
from archline.expr.text import format_fact
from archline.expr.tree import Span
from archline.expr.values import evaluate
from archline.language import syntax as s
from archline.language.diagnostics import ArchlineError, error, suggest_closest
from archline.language.parser import parse_expression
from archline.language.substitution import build_processor_count
from archline.records import record

_SWEEP = re.compile(r"\s*((?:[A-Za-z_][\w.]*\s*=\s*)+)(.+?)\.\.(.+?)(?:\s+step\s+(.+))?\s*")
MAX_POINTS = 1000


@record
class SizeSweep:
    """Values of some sizes that change together; both ends are among the points."""

    names: tuple[str, ...]
    points: tuple[int, ...]

    @property
    def variable(self) -> str:
        """The names as text: `n=m=p`."""
        return "=".join(self.names)

    def assign_value(self, value: int) -> Given:
        return dict.fromkeys(self.names, (value, None))

    def combine_with(self, fixed: Given) -> list[Given]:
        """Return the points of the sweep, with the sizes that stay fixed. Raises ArchlineError (AL403)."""
        for name in self.names:
            if name in fixed:
                message, hint = f"`{name}` is both swept and given by `--at`", f"leave `{name}` out of one of them"
                raise error(rules.REPEATED_SIZE, message, span=fixed[name][1], hint=hint)
        return [{**fixed, **self.assign_value(value)} for value in self.points]

    @staticmethod
    def read(text: str) -> SizeSweep:
        """Read `n=m=p=64..8192`, by doubling, or with a `step`. Raises ArchlineError (AL404, AL411)."""
        match = _SWEEP.fullmatch(text)
        hint = "write n=64..8192 (by doubling), n=m=p=64..8192, or n=100..1000 step 100"
        if re.search(r",\s*[\w.]+\s*=", text):
            swept, others = (part.strip() for part in text.split(",", 1))
            fixed = re.sub(r"\.\..*", "", others.split(",")[0])
            message = f"one size is swept, or several with the same values: `{text[:60]}` has a comma"
            raise error(rules.OPTIONS_CLASH, message, hint=f"sweep `{swept}`, and give the others by `--at {fixed}`")
        if match is None:
            raise error(rules.OPTIONS_CLASH, f"`{text[:60]}` is not a sweep", hint=hint)
        names = tuple(name.strip() for name in match[1].split("=") if name.strip())
        low, high = (_read_integer(part, hint) for part in (match[2], match[3]))
        step = None if match[4] is None else _read_integer(match[4], hint)
        if step is not None and step < 1:
            raise error(rules.OPTIONS_CLASH, f"the step is {step}; it must be at least 1", hint=hint)
        if not 1 <= low <= high:
            raise error(
                rules.OPTIONS_CLASH,
                f"the sweep goes from {low} to {high}: it must start at 1 or more and not decrease",
                hint=hint,
            )
        points = _list_points(low, high, step)
        if len(points) > MAX_POINTS:
            raise error(rules.OPTIONS_CLASH, f"the sweep has more than {MAX_POINTS} points", hint="use a larger step")
        return SizeSweep(names, points)


def _read_integer(text: str, hint: str) -> int:
    try:
        value = evaluate(parse_expression(text.strip(), "--sweep"), {})
    except (EvaluationError, ArchlineError):
        value = None
    if not isinstance(value, int):
        raise error(rules.NOT_A_NUMBER, f"`{text.strip()[:40]}` is not a whole number", hint=hint)
    return value


def _list_points(low: int, high: int, step: int | None) -> tuple[int, ...]:
    points: list[int] = []
    value = low
    while value < high and len(points) <= MAX_POINTS:
        points.append(value)
        value = 2 * value if step is None else value + step
    return (*points, high)


_RANGE = re.compile(r"\s*([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)?)\s*(?:=\s*(.+?)\s*\.\.\s*(.+?)\s*)?")


def read_variables(
    chosen: Subject, sizes: Sequence[str], over: Sequence[str], integer: frozenset[str]
) -> Iterator[Variable]:
    """Yield the variables of `over`: sizes of a target, or quantities. Raises ArchlineError (AL401, AL404, AL411)."""
    for text in (part for entry in over for part in entry.split(",") if part.strip()):
        match = _RANGE.fullmatch(text)
        if match is None:
            name, _, limits = (part.strip() for part in text.partition("="))
            open_end = limits.startswith("..") != limits.endswith("..")
            lacks = f"the range `{limits[:40]}` has no {'end' if limits.endswith('..') else 'start'}"
            message = lacks if open_end else f"`{text.strip()[:40]}` is not the name of a variable"
            hint = f"write --over {name}=1..64" if open_end else "write --over c,P=1..64"
            raise error(rules.OPTIONS_CLASH, message, hint=hint)
        name = match[1]
        low, high = (None if part is None else _read_number(part) for part in (match[2], match[3]))
        if low is not None and high is not None and low > high:
            raise error(rules.OPTIONS_CLASH, f"the range of `{name}` decreases from {low} to {high}")
        if name in sizes:
            is_integer = isinstance(chosen, AlgorithmSubject) or name in integer
            yield Variable(name, f"{SIZE_PREFIX}{name}", is_integer, low, high)
        elif name in QUANTITIES:
            yield Variable(name, name, False, low, high)
        else:
            processors = None if isinstance(chosen, FormulaSubject) else build_processor_count(chosen.algorithm.node)
            if name == "P" and processors is not None:
                axes = ",".join(size for size in sizes if size in s.find_names(processors))
                hint = f'write --over {axes}, and --where "P <= 64" for a range'
                message = f"P follows from the axes of the grid: P = {format_fact(processors)}"
                raise error(rules.OPTIONS_CLASH, message, hint=hint)
            near = suggest_closest(name, [*sizes, *QUANTITIES])
            message = f"`{chosen.name}` has no size `{name}`, and there is no quantity of that name"
            raise error(rules.UNKNOWN_SIZE, message, hint=near)


def _read_number(text: str) -> Fraction:
    try:
        value = evaluate(parse_expression(text, "--over"), {})
    except EvaluationError:
        value = None
    if not isinstance(value, int | Fraction) or value < 0:
        raise error(rules.NOT_A_NUMBER, f"`{text[:40]}` is not a number, 0 or more", hint="write --over P=1..64")
    return Fraction(value)


def iterate_fact_constraints(reading: FormulaReader, fact: s.Fact, whole: bool) -> Iterator[Constraint]:
    """Yield the constraints of a fact about variables of an optimisation, which are all integers if `whole`.

    Facts that are not comparisons give no constraint; unless `whole` they raise ArchlineError (AL411).
    """
    match fact:
        case s.Binary(op="<=" | ">=" | "==" | "<" | ">" as op, left=left, right=right):
            yield from reading.read_comparison(op, left, right, format_fact(fact))
        case _ if not whole:
            message = f"`{format_fact(fact)}` needs variables that are whole numbers"
            raise error(rules.OPTIONS_CLASH, message, span=fact.span, hint="name the variables in --integer")
        case _:
            # Integer points are filtered by this fact later.
            pass


def iterate_size_names(chosen: AlgorithmSubject) -> Iterator[str]:
    """Yield the names of an algorithm that may have values: sizes, indices, amounts, and Z and L or P."""
    names = chosen.names
    yield from (*names.sizes, *names.iterations, *names.indices, *names.amounts)
    if not chosen.on_grid:
        yield from ("Z", "L")
    elif chosen.takes_processors:
        yield "P"


def express_processors(chosen: AlgorithmSubject) -> s.Expr:
    """Return the number of processors of a grid in sizes, or as P."""
    product = build_processor_count(chosen.algorithm.node)
    return s.Name("P", span=b.DERIVED) if product is None else product


def require_number(name: str, value: object, span: Span | None) -> Number:
    """Return a value if it is a number. Raises ArchlineError (AL404)."""
    if not isinstance(value, int | Fraction):
        raise error(rules.NOT_A_NUMBER, f"the value of `{name}` is not a number", span=span)
    return value
