"""Convert a system of equations and the proof of its solution to the recurrence that pages and commands print."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from archline.algebra import atoms as a
from archline.algebra.effort import TooComplexError
from archline.algebra.facts import Facts
from archline.algebra.polynomial import ONE, Poly, sum_polynomials
from archline.algebra.prove.logarithms import match_minimum_halvings
from archline.language.metrics import METRICS
from archline.recurrences.exact.at_call import (
    CallContext,
    NotComparableError,
    build_reference_arguments,
    compute_symbol_values_in_call,
)
from archline.recurrences.exact.constraints import InductionProof
from archline.recurrences.exact.transitions import Transition
from archline.recurrences.model import (
    Equation,
    InductionCase,
    ProvedClaim,
    Recurrence,
    RecurrenceCase,
    RecurrenceSystem,
    SizeFunction,
    ValueRange,
    format_case_condition,
    replace_calls,
)

CLAIM_LETTERS = {"=": "C", ">=": "B", "<=": "U"}


def explain_recurrence(
    system: RecurrenceSystem, lower: SizeFunction, upper: SizeFunction, proofs: tuple[InductionProof, ...], more: int
) -> Recurrence:
    """Return the recurrence of a metric; `more` is the cost of a call beyond its body: 1 if the metric counts calls."""
    writer = _RecurrenceWriter(upper, METRICS[system.metric.partition(".")[0]].letter, more)
    names = {function.name for function in (lower, upper)}
    cases = tuple(writer.write_case(*pair, names) for pair in zip(lower.equations, upper.equations, strict=True))
    return Recurrence(
        writer.letter, upper.parameters, cases, writer.others, tuple(writer.write_claim(proof) for proof in proofs)
    )


@dataclass
class _RecurrenceWriter:
    """Writes one metric of one algorithm; letters of other costs and names of data values are added on first use."""

    function: SizeFunction
    base: str
    more: int
    others: dict[str, str] = field(default_factory=dict)
    _names: dict[str, str] = field(default_factory=dict)

    @property
    def letter(self) -> str:
        return self._make_free_letter(self.base)

    def _make_free_letter(self, letter: str) -> str:
        """Return the letter, with `_` appended if a parameter has that name."""
        return f"{letter}_" if letter in self.function.parameters else letter

    # Cases
    def write_case(self, least: Equation, most: Equation, functions: set[str]) -> RecurrenceCase:
        low, high = (self._write_cost(equation.value, functions, equation.facts) for equation in (least, most))
        names = dict.fromkeys((*least.data, *most.data))
        data = tuple(self._write_range(name, least.facts) for name in names)
        return RecurrenceCase(
            format_case_condition(least.decisions), low, high, least.recursive or most.recursive, data
        )

    def _write_cost(self, value: Poly, functions: set[str], facts: Facts) -> Poly:
        """Rewrite an equation of the costs C of bodies as one of the costs C + `more` of calls."""
        called = replace_calls(value, lambda call: Poly.of_atom(self._write_call(call, functions)) - self.more)
        return self._write_value(called + self.more, facts)

    def _write_call(self, call: a.AppliedFunction, functions: set[str]) -> a.AppliedFunction:
        if call.function in functions:
            return a.AppliedFunction(self.letter, call.arguments)
        *_, algorithm = call.function.split(" of ")
        letter = f"{self.letter}_{algorithm}"
        self.others[letter] = algorithm
        return a.AppliedFunction(letter, call.arguments)

    # Names
    def _write_value(self, value: Poly, facts: Facts) -> Poly:
        """Rewrite a value in the sizes, with names for data values that the program does not name."""
        return facts.restore(value.substitute({name: Poly.symbol(self._choose_name(name)) for name in value.names}))

    def _choose_name(self, name: str) -> str:
        """Return a name for the symbol of a data value, from the first word of its source: `n at ...` becomes n1."""
        if name in self.function.facts.quotients or name.isidentifier():
            return name
        if name not in self._names:
            ((stem,),) = [re.findall(r"\w+", name.removeprefix("data("))[:1]]
            used = {*self.function.parameters, *self._names.values()}
            self._names[name] = next(new for count in range(1, 1000) if (new := f"{stem}{count}") not in used)
        return self._names[name]

    def _write_range(self, name: str, facts: Facts) -> ValueRange:
        bounds = facts.bounds[name]
        lower, upper = (
            [self._write_value(limit, facts) for limit in limits] for limits in (bounds.lower, bounds.upper)
        )
        return ValueRange(
            self._write_value(Poly.symbol(name), facts), tuple(dict.fromkeys(lower)), tuple(dict.fromkeys(upper))
        )

    # Proofs
    def write_claim(self, proof: InductionProof) -> ProvedClaim:
        letter = self._make_free_letter(CLAIM_LETTERS[proof.relation])
        value = self.function.facts.restore(proof.value) + self.more
        lines = tuple(self._write_induction_cases(proof, letter))
        return ProvedClaim(proof.relation, letter, value, lines, proof.reason, proof.where)

    def _write_induction_cases(self, proof: InductionProof, letter: str) -> Iterator[InductionCase]:
        for group in _group_leaf_steps(proof.steps):
            step = group[0]
            relation = "=" if step in proof.equal else "<=" if proof.relation == "=" else proof.relation
            added = step.forcing + self.more * (ONE - sum_polynomials(factor for factor, _ in step.calls))
            claimed = sum_polynomials(
                factor * Poly.of_atom(a.AppliedFunction(letter, call.arguments)) for factor, call in step.calls
            )
            yield InductionCase(
                format_case_condition(step.equation.decisions),
                relation,
                self._write_value(added + claimed, step.facts),
                self._substitute_claim(step, proof.value, added),
                () if step.calls and not self.function.shared_exponents else self._find_call_sizes(group),
            )

    def _find_call_sizes(self, steps: Sequence[Transition]) -> tuple[tuple[ValueRange, ...], ...]:
        """Return the alternative ranges of the sizes that calls have in a case; empty if calls may have all sizes."""
        boxes = [_find_restricted_sizes(step, self.function) for step in steps]
        if not all(boxes):
            return ()
        widest = [
            box
            for i, box in enumerate(boxes)
            if not any(_contains_limits(wide, box, j < i) for j, wide in enumerate(boxes))
        ]
        return tuple(
            tuple(self._write_limits(name, limits, steps[0].facts) for name, limits in box.items()) for box in widest
        )

    def _write_limits(self, name: str, limits: Limits, facts: Facts) -> ValueRange:
        limit_values = (() if limit is None else (Poly.constant(limit),) for limit in limits)
        return ValueRange(self._write_value(Poly.symbol(name), facts), *limit_values)

    def _substitute_claim(self, step: Transition, value: Poly, added: Poly) -> Poly | None:
        """Return the case with the claim substituted for its calls; None if that has no exact form in the sizes."""
        if any(match_minimum_halvings(atom) is not None for atom in value.atoms()):
            # Only a lower bound of a number of halvings is available at a call.
            return None
        caller = CallContext(step.facts, build_reference_arguments(self.function))
        result = added
        try:
            for factor, call in step.calls:
                claimed = caller.express_at_call(value, compute_symbol_values_in_call(self.function, call.arguments))
                result = result + factor * (claimed + self.more)
        except (NotComparableError, TooComplexError):
            return None
        if not step.calls or not result.names <= step.facts.bounds.keys():
            return None
        return self._write_value(result, step.facts)


Limits = tuple[int | None, int | None]


def _find_restricted_sizes(step: Transition, function: SizeFunction) -> dict[str, Limits]:
    """Return the sizes' limits that are tighter in calls than in the case; None for a limit that is not.

    If both limits of such a size are equal, both are returned.
    """
    restricted: dict[str, Limits] = {}
    for name in (*function.parameters, *function.facts.quotients):
        pair = (facts.bounds[name] for facts in (step.equation.facts, step.facts))
        before, (low, high) = ((bounds.minimum, bounds.maximum) for bounds in pair)
        if (low, high) != before:
            are_equal = low == high
            restricted[name] = (
                low if are_equal or low != before[0] else None,
                high if are_equal or high != before[1] else None,
            )
    return restricted


def _contains_limits(wide: Mapping[str, Limits], narrow: Mapping[str, Limits], first: bool) -> bool:
    """Test whether the limits `wide` contain `narrow`; if both are equal, return `first`."""
    if wide == narrow:
        return first
    for name, (low, high) in wide.items():
        least, most = narrow.get(name, (None, None))
        if (low is not None and (least is None or least < low)) or (high is not None and (most is None or most > high)):
            return False
    return True


def _group_leaf_steps(steps: Sequence[Transition]) -> list[list[Transition]]:
    """Group the steps of base cases that differ only in the sizes that calls have; a step with calls is a group."""
    groups: dict[object, list[Transition]] = {}
    for step in steps:
        key = step if step.calls else (step.equation, step.forcing)
        groups.setdefault(key, []).append(step)
    return list(groups.values())
