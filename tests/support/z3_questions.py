"""What the prover of the package answers with yes, asked again of z3: is there a counterexample?"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from math import lcm
from typing import Any

import pytest

from archline.algebra import atoms as a
from archline.algebra.facts import Facts
from archline.algebra.polynomial import Atom, Poly, Symbol
from archline.algebra.prove.enumerate import prove_by_enumeration, prove_in_binades
from archline.algebra.prove.prover import prove_never_negative

MILLISECONDS = 1000
"""How long z3 may look for one counterexample."""
PROVERS = (prove_by_enumeration, prove_in_binades, prove_never_negative)


class UntranslatableError(Exception):
    """An atom that is no integer function of z3's arithmetic: a logarithm, a root, data."""


@dataclass(frozen=True)
class Proved:
    """A value that was proved to be at least 0 under facts."""

    value: Poly
    facts: Facts

    @property
    def key(self) -> str:
        """The same for two questions that are the same."""
        bounds = ((name, each.lower, each.upper) for name, each in self.facts.bounds.items())
        return f"{self.value.key} {[(n, [x.key for x in low], [x.key for x in high]) for n, low, high in bounds]}"


def logged(monkeypatch: pytest.MonkeyPatch) -> dict[str, Proved]:
    """Where all proofs that are found from now on are written down."""
    found: dict[str, Proved] = {}

    def logging(prover: Callable[..., bool], value_first: bool) -> Callable[..., bool]:
        def asked(one: Any, other: Any, *tactics: Any) -> bool:
            answer = prover(one, other, *tactics)
            if answer:
                proved = Proved(*((one, other) if value_first else (other, one)))
                if len(proved.value.atoms()) > 0:
                    found.setdefault(proved.key, proved)
            return answer

        return asked

    monkeypatch.setattr(Facts, "_prove_nonnegative", logging(Facts._prove_nonnegative, value_first=False))
    for prover in PROVERS:
        wrapped = logging(prover, value_first=True)
        for module in [each for name, each in sys.modules.items() if name.startswith("archline.")]:
            if vars(module).get(prover.__name__) is prover:
                monkeypatch.setattr(module, prover.__name__, wrapped)
    return found


class _Question:
    """A translation: z3's unknowns for symbols and atoms, and what defines them."""

    def __init__(self, z3: Any) -> None:
        self.z3 = z3
        self.known: dict[str, Any] = {}
        self.definitions: list[Any] = []

    def sign(self, poly: Poly) -> Any:
        """The value times a positive integer, in integers."""
        divisors: dict[Atom, int] = {}
        for monomial in poly.terms:
            for atom, power in monomial:
                divisors[atom] = max(divisors.get(atom, 0), -power)
        # An even power of what a value is divided by is positive.
        raised = {atom: power + power % 2 for atom, power in divisors.items() if power}
        for atom in raised:
            self.definitions.append(self.atom(atom) != 0)
        whole = poly
        for atom, power in raised.items():
            whole *= Poly.of_atom(atom, power)
        if any(power < 0 for monomial in whole.terms for _, power in monomial):
            raise UntranslatableError
        scale = lcm(*(int(each.q) for each in whole.terms.values()), 1)
        return self.sum_of(whole, scale)

    def sum_of(self, poly: Poly, scale: int) -> Any:
        """A polynomial without divisions, times a number that makes its coefficients whole."""
        result = self.z3.IntVal(0)
        for monomial, number in poly.terms.items():
            term = self.z3.IntVal(int(number.p) * scale // int(number.q))
            for atom, power in monomial:
                if power < 0:
                    raise UntranslatableError
                for _ in range(power):
                    term = term * self.atom(atom)
            result = result + term
        return result

    def whole(self, *polys: Poly) -> list[Any]:
        """Polynomials times one positive integer."""
        scale = lcm(*(int(number.q) for poly in polys for number in poly.terms.values()), 1)
        return [self.sum_of(poly, scale) for poly in polys]

    def atom(self, atom: Atom) -> Any:
        """An unknown for an atom, defined by what the atom is."""
        if atom.key in self.known:
            return self.known[atom.key]
        made = self.known[atom.key] = self.z3.Int(f"x{len(self.known)}")
        match atom:
            case Symbol():
                pass
            case a.PositivePart(argument=argument) if a.is_integral(argument):
                (value,) = self.whole(argument)
                scaled = self.whole(argument, Poly.constant(1))[1]
                self.definitions.append(made * scaled == self.z3.If(value >= 0, value, 0))
            case a.Floor(argument=argument, modulus=modulus):
                value, by = self.whole(argument, modulus)
                self.definitions += [by > 0, made * by <= value, value < made * by + by]
            case a.Quotient(argument=argument, divisor=divisor):
                value, by = self.whole(argument, divisor)
                self.definitions += [by != 0, made * by == value]
            case _:
                raise UntranslatableError
        return made

    def premises(self, facts: Facts) -> tuple[list[Any], bool]:
        """The bounds of all symbols, and whether each of them was translated."""
        found, all_of_them = [], not facts.powers
        for name, ends in facts.bounds.items():
            symbol = Poly.symbol(name)
            for value in (*(symbol - each for each in ends.lower), *(each - symbol for each in ends.upper)):
                try:
                    found.append(self.sign(value) >= 0)
                except UntranslatableError:
                    all_of_them = False
        for name, factors in facts.rewrites.items():
            try:
                found.append(self.sign(Poly.symbol(name) - factors) == 0)
            except UntranslatableError:
                all_of_them = False
        return found, all_of_them


def asked_of_z3(proved: Proved) -> str:
    """`proved`, `unknown`, `refuted`, or `untranslated`: a value that is none of z3's integer arithmetic, or one with a
    counterexample to facts of which some are none, which says nothing.
    """
    z3 = pytest.importorskip("z3", reason="the extra `verify` is not installed: no second witness of proofs by z3")
    question, facts = _Question(z3), proved.facts.without_younger_symbols(proved.value.names)
    try:
        below = question.sign(proved.value) < 0
    except UntranslatableError:
        return "untranslated"
    premises, complete = question.premises(facts)
    solver = z3.Solver()
    solver.set("timeout", MILLISECONDS)
    solver.add(below, *premises, *question.definitions)
    answer = solver.check()
    if answer == z3.unsat:
        return "proved"
    if answer == z3.unknown:
        return "unknown"
    return "refuted" if complete else "untranslated"


def spread(found: Mapping[str, Proved], count: int) -> Iterator[Proved]:
    """The questions, so that the first ones are of all derivations."""
    every, questions = max(1, len(found) // count), list(found.values())
    for first in range(every):
        yield from questions[first::every]
