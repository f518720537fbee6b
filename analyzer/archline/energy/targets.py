"""Read targets that are formulas: `"linear:F=f*n^2/P,W=n^2/(P*M),S=n^2/(P*M*m)"`, or `"n-body=linear:F=..."`."""

from __future__ import annotations

import re
from collections.abc import Mapping

from archline.energy import rules
from archline.energy.formulas import bound_value, check_units, names_in
from archline.energy.model import Model
from archline.energy.models import find_model
from archline.energy.quantities import METRICS
from archline.energy.units import DIMENSIONLESS
from archline.expr.intervals import EvaluationError, Interval, Number
from archline.expr.text import format_expression
from archline.expr.tree import Source, Span, substitute_names
from archline.language import syntax as s
from archline.language.diagnostics import error, suggest_closest
from archline.language.parser import parse_settings
from archline.records import field, record

_TARGET = re.compile(r"(?:([\w. -]+?)\s*=\s*)?([a-z_]+(?:\+[a-z_]+)*):(?!:)\s*(.*=.*)", re.DOTALL)
SIZE_PREFIX = "size "
"""The prefix of names of sizes, in formulas that contain names of quantities too."""
SIZE_SYMBOLS = ("P", "Z", "L")
"""Metrics that formulas may contain as sizes, and that are then known."""


@record
class FormulaTarget:
    """Metrics as formulas of sizes; `name` is the given one, else the text; `model` defines letters for metrics."""

    name: str
    model: Model
    formulas: Mapping[str, s.Expr] = field(hash=False)

    @property
    def sizes(self) -> tuple[str, ...]:
        """The names that formulas contain, in the order of their appearance by metric."""
        return tuple(dict.fromkeys(name for formula in self.formulas.values() for name in sorted(names_in(formula))))

    def amounts(self, point: Mapping[str, Number]) -> dict[str, Interval]:
        """Return the metrics at sizes. Raises ArchlineError (AL462) if a formula does not give a number."""
        sizes = {name: Interval.of(value) for name, value in point.items()}
        # P is the model's number of processors, even if no formula contains it.
        values = {"P": sizes["P"]} if "P" in sizes and self.model.processors == "P" else {}
        for name, expr in self.formulas.items():
            try:
                values[name] = bound_value(expr, sizes)
            except EvaluationError as problem:
                message = f"`{format_expression(expr)}`, the {name}, has no value at these sizes: {problem}"
                raise error(rules.FORMULA, message, span=expr.span) from None
        return values


def is_formula(text: str) -> bool:
    """Whether the text of a target consists of formulas, and does not name an algorithm."""
    return _TARGET.fullmatch(text.strip()) is not None


def read_target(text: str) -> FormulaTarget:
    """Parse a target that consists of formulas: a text for which `is_formula` is true.

    Raises ArchlineError: AL459 for an unknown model, AL101 for a syntax error, AL466 for an unknown metric.
    """
    groups = _TARGET.fullmatch(text.strip())
    assert groups is not None
    chosen = find_model(groups[2])
    offset = groups.start(3) + len(text) - len(text.lstrip())
    # Spaces precede the formulas, so that columns are those of the whole text.
    formulas: dict[str, s.Expr] = {}
    for letter, expr, span in parse_settings(" " * offset + groups[3], "target"):
        metric = chosen.letters.get(letter, letter)
        place = Span(Source("target", text), 1, span.column, 1, span.end_column)
        if metric not in METRICS:
            known_names = [*chosen.letters, *METRICS]
            hint = suggest_closest(letter, known_names) or "metrics are " + ", ".join(
                f"`{name}`" for name in known_names
            )
            raise error(rules.TARGET, f"model `{chosen.name}` does not take `{letter}`", span=place, hint=hint)
        if metric in formulas:
            raise error(rules.TARGET, f"the {metric} is given twice", span=place)
        # What is not a formula is refused here, even if no sizes are given later.
        check_units(expr, DIMENSIONLESS, dict.fromkeys(names_in(expr), DIMENSIONLESS))
        formulas[metric] = expr
    letters = {**dict(zip(SIZE_SYMBOLS, SIZE_SYMBOLS, strict=True)), **chosen.letters}
    formulas = _expand_metrics(formulas, letters)
    used = frozenset().union(*map(names_in, formulas.values()))
    for letter, metric in letters.items():
        if letter in used and metric not in formulas:
            formulas[metric] = s.Name(letter, span=Span(Source("target", text), 1, 1, 1, 2))
    return FormulaTarget(groups[1] or text.strip(), chosen, formulas)


def _expand_metrics(formulas: Mapping[str, s.Expr], letters: Mapping[str, str]) -> dict[str, s.Expr]:
    """Replace metrics in formulas by their own formulas: `W` in `S=W/m`. Raises ArchlineError (AL466).

    A metric that is its own letter, `W=W`, is a size.
    """

    def expand(metric: str, path: tuple[str, ...]) -> s.Expr:
        expr = formulas[metric]
        held = {name: letters.get(name, name) for name in sorted(names_in(expr))}
        if isinstance(expr, s.Name) and held[expr.id] == metric:
            return expr
        if metric in path:
            circle = " -> ".join((*path[path.index(metric) :], metric))
            raise error(rules.TARGET, f"formulas use each other in a circle: {circle}", span=expr.span)
        expanded = {name: expand(part, (*path, metric)) for name, part in held.items() if part in formulas}
        return substitute_names(expr, expanded)

    return {metric: expand(metric, ()) for metric in formulas}
