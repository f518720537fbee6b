"""Expressions as text in the language's own syntax: `2*n*m*p`, `max(0, n - 3)`, `ceil(log2(n))`, `floor((n + 1)/2)`."""

from __future__ import annotations

from collections.abc import Mapping

from flint import fmpq

from archline.algebra import atoms as a
from archline.algebra.polynomial import Atom, Monomial, Poly, Symbol


def to_text(value: Poly, order: tuple[str, ...] = ()) -> str:
    """The expression as text; `order` ranks the symbols, as an algorithm lists its sizes."""
    value = _shorter(value)
    ranks = {name: rank for rank, name in enumerate(order)}
    if not value.terms:
        return "0"
    parts: list[str] = []
    for monomial in sorted(value.terms, key=lambda m: _term_key(m, ranks)):
        coefficient = value.terms[monomial]
        text = _term(monomial, abs(coefficient), ranks)
        if not parts:
            parts.append(f"-{text}" if coefficient < 0 else text)
        else:
            parts.append(f"{'-' if coefficient < 0 else '+'} {text}")
    return " ".join(parts)


class _Shown(Atom):
    """An atom for reading only: min(x, y), max(x, y) or ceil(e/m), which the algebra writes by max(0, e) and floor."""

    __slots__ = ("arguments", "form")

    def __init__(self, form: str, arguments: tuple[Poly, ...]) -> None:
        super().__init__(f"{form}({'|'.join(argument.key for argument in arguments)})")
        self.form, self.arguments = form, arguments

    @property
    def parts(self) -> tuple[Poly, ...]:
        return self.arguments


def _shorter(value: Poly) -> Poly:
    """Write atoms in the form that makes the whole expression shortest."""
    for atom in sorted(value.atoms(), key=str):
        for form in _forms(atom):
            rewritten = value.map_atoms(lambda each, atom=atom, form=form: form if each == atom else None)  # type: ignore[misc]
            if _length(rewritten) < _length(value):
                value = rewritten
                break
    return value


def _length(value: Poly) -> tuple[int, int]:
    return len(value.terms), sum(len(part.terms) for atom in value.atoms() for part in atom.parts)


def _forms(atom: Atom) -> list[Poly]:
    match atom:
        case a.PositivePart():
            above = Poly({m: c for m, c in atom.argument.terms.items() if c > 0})
            below = above - atom.argument
            if not above or not below:
                return []
            least, most = (Poly.of_atom(_Shown(form, (above, below))) for form in ("min", "max"))
            return [above - least, most - below]
        case a.Floor():
            return [Poly.of_atom(_Shown("ceil", (atom.argument + 1, atom.modulus))) - 1]
    return []


def _term_key(monomial: Monomial, ranks: Mapping[str, int]) -> tuple[object, ...]:
    """Higher degrees first, then plain symbols before composites, then the symbols' order."""
    degree = sum(power for _, power in monomial)
    composite = sum(0 if isinstance(atom, Symbol) else 1 for atom, _ in monomial)
    return -degree, composite, [(_atom_key(atom, ranks), -power) for atom, power in _ordered(monomial, ranks)]


def _ordered(monomial: Monomial, ranks: Mapping[str, int]) -> list[tuple[Atom, int]]:
    return sorted(monomial, key=lambda pair: _atom_key(pair[0], ranks))


def _atom_key(atom: Atom, ranks: Mapping[str, int]) -> tuple[int, int, str]:
    plain = isinstance(atom, Symbol)
    return 0 if plain else 1, ranks.get(atom.key, len(ranks)), atom.key


def _term(monomial: Monomial, coefficient: fmpq, ranks: Mapping[str, int]) -> str:
    above = [_power(atom, power, ranks) for atom, power in _ordered(monomial, ranks) if power > 0]
    below = [_power(atom, -power, ranks) for atom, power in _ordered(monomial, ranks) if power < 0]
    if coefficient != 1 or not above:
        above.insert(0, str(coefficient))
    text = "*".join(above)
    for factor in below:
        text += f"/{factor}"
    return text


def _power(atom: Atom, power: int, ranks: Mapping[str, int]) -> str:
    text = _atom(atom, ranks)
    if power == 1:
        return text
    simple = text.replace("_", "").isalnum() or text.endswith(")")
    return f"{text}^{power}" if simple and "^" not in text else f"({text})^{power}"


def _atom(atom: Atom, ranks: Mapping[str, int]) -> str:
    order = tuple(sorted(ranks, key=lambda name: ranks[name]))
    match atom:
        case Symbol():
            return atom.name if atom.name.replace("_", "").isalnum() else f"({atom.name})"
        case a.PositivePart():
            return f"max(0, {to_text(atom.argument, order)})"
        case a.Floor() | a.Quotient():
            top, bottom = (_factor(to_text(part, order)) for part in atom.parts)
            return f"floor({top}/{bottom})" if isinstance(atom, a.Floor) else f"({top}/{bottom})"
        case _Shown(form="ceil"):
            top, bottom = (_factor(to_text(part, order)) for part in atom.arguments)
            return f"ceil({top}/{bottom})"
        case _Shown():
            return f"{atom.form}({', '.join(to_text(part, order) for part in atom.arguments)})"
        case a.CeilLog2():
            return f"ceil(log2({_at_least_one(atom.argument, order)}))"
        case a.Function(function="isqrt"):
            return f"floor(sqrt({to_text(atom.argument, order)}))"
        case a.Function():
            return f"{atom.function}({to_text(atom.argument, order)})"
        case a.Exponential():
            return f"{atom.base}^{_factor(to_text(atom.exponent, order))}"
    return atom.key


def _at_least_one(value: Poly, order: tuple[str, ...]) -> str:
    """ceil(log2) counts as 0 below 1, where sizes and rounded-up quotients of sizes do not get."""
    text = to_text(value, order)
    shown = _shorter(value)
    plain = len(shown.terms) == 1 and all(
        isinstance(atom, Symbol) or (isinstance(atom, _Shown) and atom.form == "ceil") for atom in shown.atoms()
    )
    return text if plain else f"max(1, {text})"


def _factor(text: str) -> str:
    return f"({text})" if any(character in text for character in " */-") and not text.startswith("(") else text
