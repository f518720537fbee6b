"""What is minimised and what it is subject to, as formulas of metrics, quantities and sizes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from fractions import Fraction

from archline.energy import rules
from archline.energy.estimates import ModelOnMachine
from archline.energy.formulas import check_units, names_in, parsed, same_units, unknown_name
from archline.energy.optimise.problem import Constraint
from archline.energy.quantities import METRICS, NAMES, respelt
from archline.energy.targets import SIZE
from archline.energy.units import NUMBER, Dimension, dimension, parse_unit
from archline.expr import build as b
from archline.expr.intervals import EvaluationError
from archline.expr.text import format_expression
from archline.expr.tree import substituted
from archline.expr.values import evaluate
from archline.language import syntax as s
from archline.language.diagnostics import error
from archline.language.parser import parse_expression, parse_facts
from archline.records import record

UNITS = {"energy": "J", "time": "s", "power": "W", "energy_delay": "J*s", "bytes": "B"}
"""What may be minimised."""
ANSWERS = {**UNITS, "flops_per_joule": "flop/J"}
_COMPARED = re.compile(r"[<>]=|==|[<>](?!=)")
_WITH_UNIT = re.compile(rf"(.*?)({_COMPARED.pattern})\s*(\S+(?=\s)|(?=[\d.])\S*\d)(\s*)([A-Za-zµμ]\S*)\s*")


@record
class Reading:
    """How names are read: sizes first, then what is minimised, letters of the model, metrics and quantities."""

    on: ModelOnMachine
    sizes: tuple[str, ...]

    def formula(self, expr: s.Expr) -> s.Expr:
        """A formula with its names replaced by what they stand for. Raises ArchlineError (AL458, AL462)."""
        held, model = s.names(expr), self.on.model
        own = {name: s.Name(f"{SIZE}{name}", span=expr.span) for name in self.sizes}
        known = {letter: parsed(metric) for letter, metric in model.letters.items()}
        known |= {name: model.answer(name) for name in ANSWERS if name in held - own.keys()}
        for name in held - {*known, *own, *NAMES}:
            raise unknown_name(s.Name(name, span=expr.span), [*known, *ANSWERS, *own, *NAMES])
        return self.on.known(substituted(expr, {**known, **own}))

    @property
    def units(self) -> dict[str, Dimension]:
        """Those of the names that the registry does not have."""
        found = {name: dimension(unit) for name, unit in ANSWERS.items()}
        letters = {letter: METRICS[metric].dimension for letter, metric in self.on.model.letters.items()}
        return {**letters, **found, **dict.fromkeys(self.sizes, NUMBER)}

    def constraints(self, texts: Sequence[str]) -> Iterator[Constraint]:
        """Constraints as typed. Raises ArchlineError (AL461, AL462, AL490)."""
        for text in texts:
            yield from self._constraint(text)

    def _constraint(self, text: str) -> Iterator[Constraint]:
        found = _WITH_UNIT.fullmatch(text)
        unit = None if found is None else parse_unit(found[5])
        if found is not None and (unit is not None or found[4]) and _COMPARED.search(found[1]):
            hint = "--subject may be repeated, with a bound each"
            raise error(rules.CONSTRAINT, f"`{text}` has more than one bound, and a unit", hint=hint)
        if found is not None and unit is None and found[4]:
            meant = respelt(found[5])
            hint = f"did you mean `{meant}`?" if parse_unit(meant) else 'a unit is written as in "time <= 2 ms"'
            raise error(rules.CONSTRAINT, f"`{found[5]}` is not a unit", hint=hint)
        if found is not None and unit is not None:
            left = parse_expression(found[1].strip(), "--subject")
            check_units(left, unit.dimension, self.units)
            try:
                number = evaluate(parse_expression(found[3], "--subject"), {})
            except EvaluationError:
                number = None
            if not isinstance(number, int | Fraction):
                raise error(rules.CONSTRAINT, f"`{found[3]}` is not a number of {found[5]}", span=left.span)
            value = Fraction(number) * unit.factor
            right: s.Expr = b.number(value)
            yield from self.compared(found[2], left, right, text, str(unit.dimension))
            return
        for fact in parse_facts(text, "--subject"):
            match fact:
                case s.Binary(op="<=" | ">=" | "==" | "<" | ">" as op, left=left, right=right):
                    numbers = [each for each in (left, right) if not names_in(each)]
                    same_units([each for each in (left, right) if each not in numbers], self.units)
                    yield from self.compared(op, left, right, text)
                case _:
                    hint = 'write FORMULA <= NUMBER UNIT, such as "time <= 2 ms"'
                    raise error(rules.CONSTRAINT, f"`{text}` compares no formulas", span=fact.span, hint=hint)

    def compared(self, op: str, left: s.Expr, right: s.Expr, text: str, unit: str = "") -> Iterator[Constraint]:
        """The constraints that a comparison is; `<` and `>` count as `<=` and `>=`."""
        one, other = self.formula(left), self.formula(right)
        sides = [each for each in (left, right) if names_in(each)]
        bounded = format_expression(sides[0]) if len(sides) == 1 else ""
        if op in ("<=", "<", "=="):
            yield Constraint(text.strip(), one, other, bounded, unit)
        if op in (">=", ">", "=="):
            yield Constraint(text.strip(), other, one, bounded, unit)
