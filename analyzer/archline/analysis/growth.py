"""How derived costs grow: closed forms as expressions that the growth prover reads, and its answers about claims."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from flint import fmpq

from archline.algebra import atoms as a
from archline.algebra.growth.order import Proved, Refuted, Undecided, is_O
from archline.algebra.growth.order import Verdict as Answer
from archline.algebra.polynomial import Atom, Monomial, Poly
from archline.algebra.printing import to_text
from archline.analysis.costs import Cost, Costs
from archline.language import syntax as s
from archline.language.diagnostics import ArchlineError
from archline.language.parser import parse_expression


@dataclass(frozen=True)
class Piece:
    """A cost where some facts hold: an expression that it is at most, and one that it is at least."""

    when: str
    facts: tuple[s.Fact, ...]
    lower: str
    upper: str


def pieces(costs: Costs, cost: Cost, facts: tuple[s.Fact, ...]) -> list[Piece]:
    """The cost in the growth prover's terms, by regimes where it has them."""
    if not cost.regimes:
        assert cost.lower is not None
        assert cost.upper is not None
        return [Piece("", facts, _text(costs, cost.lower, False), _text(costs, cost.upper, True))]
    return [
        Piece(each.when, (*facts, *each.conditions), _text(costs, each.lower, False), _text(costs, each.upper, True))
        for each in cost.regimes
    ]


Outcome = Literal["holds", "fails", "unknown"]


def decide_growth(relation: str, pieces: Sequence[Piece], bound: s.Expr) -> tuple[Outcome, str]:
    """Whether a cost is O, Omega or Theta of an expression: the outcome, and why."""
    unknown = ""
    for piece in pieces:
        for side in _sides(relation):
            outcome, reason = _one(side, piece, bound)
            place = f"where {piece.when}: " if piece.when and piece.when != "otherwise" else ""
            if outcome == "fails":
                return outcome, place + reason
            if outcome == "unknown":
                unknown = unknown or place + reason
    return ("unknown", unknown) if unknown else ("holds", "proved for all sizes")


def _sides(relation: str) -> tuple[str, ...]:
    return ("O", "Omega") if relation == "Theta" else (relation,)


def _one(side: str, piece: Piece, bound: s.Expr) -> tuple[Outcome, str]:
    """One direction: proved from the bound on that side, refuted from the one on the other side."""
    lower, upper = (parse_expression(each) for each in (piece.lower, piece.upper))
    upwards = side == "O"
    proof = _asked(upper, bound, piece.facts) if upwards else _asked(bound, lower, piece.facts)
    if isinstance(proof, Proved):
        return "holds", ""
    refuted: Answer = proof
    if piece.lower != piece.upper:
        refuted = _asked(lower, bound, piece.facts) if upwards else _asked(bound, upper, piece.facts)
    if isinstance(refuted, Refuted):
        return "fails", _counterexample(refuted, side)
    reason = proof.reason if isinstance(proof, Undecided) else "the derived bounds do not decide it"
    return "unknown", reason


def _asked(f: s.Expr, g: s.Expr, facts: tuple[s.Fact, ...]) -> Answer:
    try:
        return is_O(f, g, facts)
    except ArchlineError as problem:
        return Undecided(problem.diagnostics[0].message)


def _counterexample(refuted: Refuted, side: str) -> str:
    """The sizes at which the ratio passes any constant, as one can check by hand."""
    found = refuted.counterexample
    above, below = ("cost", "claim") if side == "O" else ("claim", "cost")
    if found["kind"] == "point":
        at = ", ".join(f"{name} = {value}" for name, value in found["at"].items())  # type: ignore[attr-defined]
        return f"at {at} the {above} is {found['f']} and the {below} {found['g']}"
    samples: list[dict[str, object]] = found["samples"]  # type: ignore[assignment]
    curve = ", ".join(f"{name} = {value}" for name, value in found["curve"].items())  # type: ignore[attr-defined]
    shown = "; ".join(_sample(each) for each in samples[:3])
    return f"the {above} over the {below} passes every constant along {curve}" + (f": {shown}" if shown else "")


def _sample(sample: dict[str, object]) -> str:
    at = ", ".join(f"{name} = {value}" for name, value in sample["at"].items())  # type: ignore[attr-defined]
    return f"{sample['ratio']} at {at}"


# Closed forms as the prover reads them
def _text(costs: Costs, value: Poly, upper: bool) -> str:
    """An expression that the value is at most (upper) or at least, with powers of logarithms as powers of sizes."""
    parts = []
    for monomial, coefficient in value.terms.items():
        parts.append(_term(costs, monomial, coefficient, upper == (coefficient > 0)))
    return " + ".join(parts).replace("+ -", "- ") or "0"


def _term(costs: Costs, monomial: Monomial, coefficient: fmpq, upper: bool) -> str:
    powers: dict[Poly, dict[int, int]] = {}
    rest: list[tuple[Atom, int]] = []
    for atom, power in monomial:
        exponent = _logarithm(atom)
        if exponent is None:
            rest.append((atom, power))
        else:
            of = powers.setdefault(exponent[0], {})
            of[exponent[1]] = of.get(exponent[1], 0) + power
    scale, factors = coefficient, [] if not rest else [f"({to_text(Poly({tuple(rest): fmpq(1)}), costs.parameters)})"]
    for argument, bases in powers.items():
        ceiled = any(isinstance(atom, a.Exponential) and isinstance(_inner(atom), a.CeilLog2) for atom, _ in monomial)
        base = fmpq(1)
        for number, power in bases.items():
            base *= fmpq(number) ** power
        # b^ceil(log2(x)) lies between x^log2(b) and b*x^log2(b), whichever is larger.
        if ceiled and (base > 1) == upper:
            scale *= base
        exponent_text = " + ".join(f"({power})*log2({number})" for number, power in bases.items())
        factors.append(f"({to_text(argument, costs.parameters)})^({exponent_text})")
    return "*".join((f"({scale})" if scale.q != 1 or scale < 0 else str(scale), *factors))


def _inner(atom: a.Exponential) -> Atom | None:
    atoms = list(atom.exponent.atoms())
    return atoms[0] if len(atoms) == 1 and atom.exponent == Poly.of_atom(atoms[0]) else None


def _logarithm(atom: Atom) -> tuple[Poly, int] | None:
    """The x and b of b^log2(x) or b^ceil(log2(x))."""
    if not isinstance(atom, a.Exponential):
        return None
    match _inner(atom):
        case a.CeilLog2(argument=argument) | a.Function(function="log2", argument=argument):
            return argument, atom.base
    return None
