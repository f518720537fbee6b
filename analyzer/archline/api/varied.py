"""What varies in an optimisation: sizes of a target and quantities of machines, with their ranges."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from fractions import Fraction

from archline.api import rules
from archline.api.subjects import AlgorithmSubject, FormulaSubject, Subject
from archline.energy.optimise.problem import Variable
from archline.energy.quantities import QUANTITIES
from archline.energy.targets import SIZE
from archline.expr.values import EvaluationError, evaluate
from archline.language import syntax as s
from archline.language.diagnostics import did_you_mean, error
from archline.language.parser import parse_expression
from archline.language.printer import format_fact
from archline.language.substitution import processors_of

_RANGE = re.compile(r"\s*([A-Za-z_]\w*)\s*(?:=\s*(.+?)\s*\.\.\s*(.+?)\s*)?")


def variables(
    chosen: Subject, sizes: Sequence[str], over: Sequence[str], integer: frozenset[str]
) -> Iterator[Variable]:
    """What `over` names: sizes of a target, or quantities. Raises ArchlineError (AL401, AL404, AL411)."""
    for text in (part for each in over for part in each.split(",") if part.strip()):
        found = _RANGE.fullmatch(text)
        if found is None:
            name, _, limits = (part.strip() for part in text.partition("="))
            open_end = limits.startswith("..") != limits.endswith("..")
            lacks = f"the range `{limits[:40]}` has no {'end' if limits.endswith('..') else 'start'}"
            message = lacks if open_end else f"`{text.strip()[:40]}` names nothing that varies"
            hint = f"write --over {name}=1..64" if open_end else "write --over c,P=1..64"
            raise error(rules.OPTIONS_CLASH, message, hint=hint)
        name = found[1]
        low, high = (None if part is None else _number(part) for part in (found[2], found[3]))
        if low is not None and high is not None and low > high:
            raise error(rules.OPTIONS_CLASH, f"the range of `{name}` goes from {low} to {high}")
        if name in sizes:
            whole = isinstance(chosen, AlgorithmSubject) or name in integer
            yield Variable(name, f"{SIZE}{name}", whole, low, high)
        elif name in QUANTITIES:
            yield Variable(name, name, False, low, high)
        else:
            processors = None if isinstance(chosen, FormulaSubject) else processors_of(chosen.algorithm.node)
            if name == "P" and processors is not None:
                axes = ",".join(each for each in sizes if each in s.names(processors))
                hint = f'write --over {axes}, and --where "P <= 64" for a range'
                message = f"P follows from the axes of the grid: P = {format_fact(processors)}"
                raise error(rules.OPTIONS_CLASH, message, hint=hint)
            near = did_you_mean(name, [*sizes, *QUANTITIES])
            message = f"`{chosen.name}` has no size `{name}`, and there is no quantity of that name"
            raise error(rules.UNKNOWN_SIZE, message, hint=near)


def _number(text: str) -> Fraction:
    try:
        value = evaluate(parse_expression(text, "--over"), {})
    except EvaluationError:
        value = None
    if not isinstance(value, int | Fraction) or value < 0:
        raise error(rules.NOT_A_NUMBER, f"`{text[:40]}` is not a number, 0 or more", hint="write --over P=1..64")
    return Fraction(value)
