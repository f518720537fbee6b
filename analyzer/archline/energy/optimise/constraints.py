"""Read the objective and the constraints as formulas of metrics, quantities and sizes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from fractions import Fraction

from archline.energy import rules
from archline.energy.estimates import ModelOnMachine
from archline.energy.formulas import check_units, make_name_error, names_in, parse_formula, require_same_units
from archline.energy.optimise.problem import Constraint
from archline.energy.quantities import FORMULA_NAMES, METRICS, correct_unit
from archline.energy.targets import SIZE_PREFIX
from archline.energy.units import DIMENSIONLESS, Dimension, parse_dimension, parse_unit
from archline.expr import build as b
from archline.expr.intervals import EvaluationError
from archline.expr.text import format_expression
from archline.expr.tree import substitute_names
from archline.expr.values import evaluate
from archline.language import syntax as s
from archline.language.diagnostics import error
from archline.language.parser import parse_expression, parse_facts
from archline.records import record

OBJECTIVE_UNITS = {"energy": "J", "time": "s", "power": "W", "energy_delay": "J*s", "bytes": "B"}
"""The answers that can be minimised, with their units."""
ANSWER_UNITS = {**OBJECTIVE_UNITS, "flops_per_joule": "flop/J"}
_COMPARED = re.compile(r"[<>]=|==|[<>](?!=)")
_WITH_UNIT = re.compile(rf"(.*?)({_COMPARED.pattern})\s*(\S+(?=\s)|(?=[\d.])\S*\d)(\s*)([A-Za-zµμ]\S*)\s*")


@record
class FormulaReader:
    """Resolves names in formulas: a size, else an objective, a letter of the model, a metric or a quantity."""

    on: ModelOnMachine
    sizes: tuple[str, ...]

    def resolve_formula(self, expr: s.Expr) -> s.Expr:
        """Replace the names of a formula by their meanings. Raises ArchlineError (AL458, AL462)."""
        used, model = s.find_names(expr), self.on.model
        sizes = {name: s.Name(f"{SIZE_PREFIX}{name}", span=expr.span) for name in self.sizes}
        meanings = {letter: parse_formula(metric) for letter, metric in model.letters.items()}
        meanings |= {name: model.answer_formula(name) for name in ANSWER_UNITS if name in used - sizes.keys()}
        for name in used - {*meanings, *sizes, *FORMULA_NAMES}:
            raise make_name_error(s.Name(name, span=expr.span), [*meanings, *ANSWER_UNITS, *sizes, *FORMULA_NAMES])
        return self.on.require_known(substitute_names(expr, {**meanings, **sizes}))

    @property
    def units(self) -> dict[str, Dimension]:
        """The dimensions of names that the registry does not have."""
        answers = {name: parse_dimension(unit) for name, unit in ANSWER_UNITS.items()}
        letters = {letter: METRICS[metric].dimension for letter, metric in self.on.model.letters.items()}
        return {**letters, **answers, **dict.fromkeys(self.sizes, DIMENSIONLESS)}

    def read_constraints(self, texts: Sequence[str]) -> Iterator[Constraint]:
        """Yield the constraints that a user typed. Raises ArchlineError (AL461, AL462, AL490)."""
        for text in texts:
            yield from self._read_constraint(text)

    def _read_constraint(self, text: str) -> Iterator[Constraint]:
        match_unit = _WITH_UNIT.fullmatch(text)
        unit = None if match_unit is None else parse_unit(match_unit[5])
        if match_unit is not None and (unit is not None or match_unit[4]) and _COMPARED.search(match_unit[1]):
            hint = "repeat --subject, with one bound each"
            raise error(rules.CONSTRAINT, f"`{text}` has more than one bound, and a unit", hint=hint)
        if match_unit is not None and unit is None and match_unit[4]:
            meant = correct_unit(match_unit[5])
            hint = f"did you mean `{meant}`?" if parse_unit(meant) else 'a unit is written as in "time <= 2 ms"'
            raise error(rules.CONSTRAINT, f"`{match_unit[5]}` is not a unit", hint=hint)
        if match_unit is not None and unit is not None:
            left = parse_expression(match_unit[1].strip(), "--subject")
            check_units(left, unit.dimension, self.units)
            try:
                number = evaluate(parse_expression(match_unit[3], "--subject"), {})
            except EvaluationError:
                number = None
            if not isinstance(number, int | Fraction):
                raise error(rules.CONSTRAINT, f"`{match_unit[3]}`, in {match_unit[5]}, is not a number", span=left.span)
            value = Fraction(number) * unit.factor
            right: s.Expr = b.number(value)
            yield from self.read_comparison(match_unit[2], left, right, text, str(unit.dimension))
            return
        for fact in parse_facts(text, "--subject"):
            match fact:
                case s.Binary(op="<=" | ">=" | "==" | "<" | ">" as op, left=left, right=right):
                    numbers = [side for side in (left, right) if not names_in(side)]
                    require_same_units([side for side in (left, right) if side not in numbers], self.units)
                    yield from self.read_comparison(op, left, right, text)
                case _:
                    hint = 'write FORMULA <= NUMBER UNIT, such as "time <= 2 ms"'
                    raise error(rules.CONSTRAINT, f"`{text}` does not compare formulas", span=fact.span, hint=hint)

    def read_comparison(self, op: str, left: s.Expr, right: s.Expr, text: str, unit: str = "") -> Iterator[Constraint]:
        """Yield the constraints of a comparison; `<` and `>` count as `<=` and `>=`."""
        smaller, larger = self.resolve_formula(left), self.resolve_formula(right)
        sides = [side for side in (left, right) if names_in(side)]
        bounded = format_expression(sides[0]) if len(sides) == 1 else ""
        if op in ("<=", "<", "=="):
            yield Constraint(text.strip(), smaller, larger, bounded, unit)
        if op in (">=", ">", "=="):
            yield Constraint(text.strip(), larger, smaller, bounded, unit)
