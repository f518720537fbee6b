"""From a system of equations and the proof of its solution to what a reader is shown of them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from archline.algebra import atoms as a
from archline.algebra.effort import TooComplexError
from archline.algebra.facts import Facts
from archline.algebra.polynomial import ONE, Poly, total
from archline.algebra.prove.logarithms import counted
from archline.language.metrics import METRICS
from archline.recurrences.exact.at_call import CallContext, NotComparableError, log_references, sizes_of_call
from archline.recurrences.exact.constraints import InductionProof
from archline.recurrences.exact.transitions import Transition
from archline.recurrences.model import (
    Case,
    Equation,
    InductionCase,
    ProvedClaim,
    Range,
    Recurrence,
    SizeFunction,
    System,
    in_order,
    with_calls,
)

CLAIMS = {"=": "C", ">=": "B", "<=": "U"}


def explain_recurrence(
    system: System, lower: SizeFunction, upper: SizeFunction, proofs: tuple[InductionProof, ...], more: int
) -> Recurrence:
    """The recurrence of a metric; `more` is what a call adds to its body: 1 where calls count."""
    writer = _RecurrenceWriter(upper, METRICS[system.metric.partition(".")[0]].letter, more)
    own = {function.name for function in (lower, upper)}
    cases = tuple(writer.case(*each, own) for each in zip(lower.equations, upper.equations, strict=True))
    return Recurrence(
        writer.letter, upper.parameters, cases, writer.others, tuple(writer.claim(proof) for proof in proofs)
    )


@dataclass
class _RecurrenceWriter:
    """Writes one metric of one algorithm; `others` and `names` fill as letters and names are given."""

    function: SizeFunction
    base: str
    more: int
    others: dict[str, str] = field(default_factory=dict)
    _names: dict[str, str] = field(default_factory=dict)

    @property
    def letter(self) -> str:
        return self._free(self.base)

    def _free(self, letter: str) -> str:
        """A letter that names no size."""
        return f"{letter}_" if letter in self.function.parameters else letter

    # Cases
    def case(self, least: Equation, most: Equation, own: set[str]) -> Case:
        low, high = (self._whole(each.value, own, each.facts) for each in (least, most))
        names = dict.fromkeys((*least.data, *most.data))
        data = tuple(self._range(name, least.facts) for name in names)
        return Case(in_order(least.decisions), low, high, least.recursive or most.recursive, data)

    def _whole(self, value: Poly, own: set[str], facts: Facts) -> Poly:
        """The cost of the body as that of a call, in terms of that of calls."""
        called = with_calls(value, lambda call: Poly.of_atom(self._lettered(call, own)) - self.more)
        return self._readable(called + self.more, facts)

    def _lettered(self, call: a.Applied, own: set[str]) -> a.Applied:
        if call.function in own:
            return a.Applied(self.letter, call.arguments)
        *_, algorithm = call.function.split(" of ")
        letter = f"{self.letter}_{algorithm}"
        self.others[letter] = algorithm
        return a.Applied(letter, call.arguments)

    # Names
    def _readable(self, value: Poly, facts: Facts) -> Poly:
        """In the sizes, with names for what the program has no name for."""
        return facts.restore(value.substitute({name: Poly.symbol(self._name(name)) for name in value.names}))

    def _name(self, name: str) -> str:
        """A symbol that stands for a value of the data is called after what it is a value of: `n at ...` is n1."""
        if name in self.function.facts.quotients or name.isidentifier():
            return name
        if name not in self._names:
            ((stem,),) = [re.findall(r"\w+", name.removeprefix("data("))[:1]]
            taken = {*self.function.parameters, *self._names.values()}
            self._names[name] = next(new for count in range(1, 1000) if (new := f"{stem}{count}") not in taken)
        return self._names[name]

    def _range(self, name: str, facts: Facts) -> Range:
        known = facts.bounds[name]
        lower, upper = ([self._readable(each, facts) for each in ends] for ends in (known.lower, known.upper))
        return Range(self._readable(Poly.symbol(name), facts), tuple(dict.fromkeys(lower)), tuple(dict.fromkeys(upper)))

    # Proofs
    def claim(self, proof: InductionProof) -> ProvedClaim:
        letter = self._free(CLAIMS[proof.relation])
        value = self.function.facts.restore(proof.value) + self.more
        lines = tuple(self._lines(proof, letter))
        return ProvedClaim(proof.relation, letter, value, lines, proof.reason, proof.where)

    def _lines(self, proof: InductionProof, letter: str) -> Iterator[InductionCase]:
        for group in _alike(proof.steps):
            step = group[0]
            relation = "=" if step in proof.equal else "<=" if proof.relation == "=" else proof.relation
            added = step.forcing + self.more * (ONE - total(factor for factor, _ in step.calls))
            claimed = total(factor * Poly.of_atom(a.Applied(letter, call.arguments)) for factor, call in step.calls)
            yield InductionCase(
                in_order(step.equation.decisions),
                relation,
                self._readable(added + claimed, step.facts),
                self._written(step, proof.value, added),
                () if step.calls and not self.function.shared_exponents else self._sizes(group),
            )

    def _sizes(self, steps: Sequence[Transition]) -> tuple[tuple[Range, ...], ...]:
        """What calls imply of their sizes in a case, one way or another; nothing where they may have any."""
        ways = [_sizes_restricted_by_calls(step, self.function) for step in steps]
        if not all(ways):
            return ()
        widest = [
            way for index, way in enumerate(ways) if not any(_is_wider(o, way, i < index) for i, o in enumerate(ways))
        ]
        return tuple(
            tuple(self._between(name, limits, steps[0].facts) for name, limits in way.items()) for way in widest
        )

    def _between(self, name: str, limits: Limits, facts: Facts) -> Range:
        ends = (() if end is None else (Poly.constant(end),) for end in limits)
        return Range(self._readable(Poly.symbol(name), facts), *ends)

    def _written(self, step: Transition, value: Poly, added: Poly) -> Poly | None:
        """The case with the claim put in for its calls, where logarithms of their sizes are exact."""
        if any(counted(atom) is not None for atom in value.atoms()):
            # Of a number of halvings it is known what it is at least.
            return None
        caller = CallContext(step.facts, log_references(self.function))
        result = added
        try:
            for factor, call in step.calls:
                there = caller.at(value, sizes_of_call(self.function, call.arguments))
                result = result + factor * (there + self.more)
        except (NotComparableError, TooComplexError):
            return None
        if not step.calls or not result.names <= step.facts.bounds.keys():
            return None
        return self._readable(result, step.facts)


Limits = tuple[int | None, int | None]


def _sizes_restricted_by_calls(step: Transition, function: SizeFunction) -> dict[str, Limits]:
    """The sizes that calls restrict more than the case does, with these limits, or both ends where these meet."""
    found: dict[str, Limits] = {}
    for name in (*function.parameters, *function.facts.quotients):
        both = (facts.bounds[name] for facts in (step.equation.facts, step.facts))
        before, (low, high) = ((each.least, each.most) for each in both)
        if (low, high) != before:
            meet = low == high
            found[name] = low if meet or low != before[0] else None, high if meet or high != before[1] else None
    return found


def _is_wider(wide: Mapping[str, Limits], narrow: Mapping[str, Limits], first: bool) -> bool:
    """Whether one holds wherever the other does; of two that are the same, whether it is the first."""
    if wide == narrow:
        return first
    for name, (low, high) in wide.items():
        least, most = narrow.get(name, (None, None))
        if (low is not None and (least is None or least < low)) or (high is not None and (most is None or most > high)):
            return False
    return True


def _alike(steps: Sequence[Transition]) -> list[list[Transition]]:
    """The steps; those of a case without calls together, which differ in the sizes that calls have."""
    groups: dict[object, list[Transition]] = {}
    for step in steps:
        key = step if step.calls else (step.equation, step.forcing)
        groups.setdefault(key, []).append(step)
    return list(groups.values())
