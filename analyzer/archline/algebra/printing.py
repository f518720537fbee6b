"""Writes polynomials as trees and as text of the language: `2*n*m*p`, `ceil(log2(n))`, `floor((n + 1)/2)`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from archline.algebra import atoms as a
from archline.algebra.factors import divide_terms, factor_into_extents
from archline.algebra.polynomial import ONE, ZERO, Atom, Monomial, Poly, Symbol
from archline.expr import build as b
from archline.expr import tree as s
from archline.expr.text import format_expression
from archline.numbers import fmpq
from archline.records import record

MACHINE_SIZES = frozenset(("Z", "L", "P"))
"""Sizes of the machine, which are at least 1."""


@lru_cache(maxsize=4096)
def to_text(value: Poly, order: tuple[str, ...] = (), may_vanish: frozenset[str] = frozenset()) -> str:
    """Write an expression as text; `order` and `may_vanish` as for `to_tree`."""
    return format_expression(to_tree(value, order, may_vanish))


def to_tree(value: Poly, order: tuple[str, ...] = (), may_vanish: frozenset[str] = frozenset()) -> s.Expr:
    """Write an expression as a tree; `order` ranks the symbols, as an algorithm lists its sizes.

    Symbols in `order` count as at least 1, so that their logarithms need no guard; those in `may_vanish` do not.
    """
    return _Writer(order, may_vanish).write_tree(value)


@record
class _Writer:
    """Writes expressions; `order` and `may_vanish` as in `to_tree`."""

    order: tuple[str, ...]
    may_vanish: frozenset[str]

    @lru_cache(maxsize=4096)  # noqa: B019 - a writer is small, and parts repeat
    def write_tree(self, value: Poly) -> s.Expr:
        """Write the whole expression, its terms from the highest degree down.

        If it would begin with a minus sign, subtracted terms come last where possible.
        """
        value = shorten_expression(value)
        if (product := factor_into_extents(value) or _factor_shared_atoms(value)) is not None:
            return self._write_product(*product)
        ordered = sorted(value.terms, key=self._term_key)
        if ordered and value.terms[ordered[0]] < 0:
            ordered.sort(key=lambda monomial: value.terms[monomial] < 0)
        terms = (
            (value.terms[monomial] < 0, self._write_term(monomial, abs(value.terms[monomial]))) for monomial in ordered
        )
        return b.sum_terms(terms)

    def _write_product(self, number: fmpq, factors: Sequence[tuple[Poly, int]]) -> s.Expr:
        """Write a product: sizes first, then sums in brackets."""

        def sort_key(factor: tuple[Poly, int]) -> tuple[bool, list[int], str]:
            ranks = sorted(self.order.index(name) for name in factor[0].names if name in self.order)
            return len(factor[0].terms) > 1, ranks, to_text(factor[0], self.order, self.may_vanish)

        powers = [b.power(self.write_tree(base), b.number(power)) for base, power in sorted(factors, key=sort_key)]
        return b.product([*([b.number(number)] if number != 1 else []), *powers])

    def _term_key(self, monomial: Monomial) -> tuple[object, ...]:
        """Return a sort key: higher degrees first, then plain symbols before composites, then the symbols' order."""
        degree = sum(power for _, power in monomial)
        composite = sum(0 if isinstance(atom, Symbol) else 1 for atom, _ in monomial)
        return -degree, composite, [(self._atom_key(atom), -power) for atom, power in self._sort_factors(monomial)]

    def _sort_factors(self, monomial: Monomial) -> list[tuple[Atom, int]]:
        return sorted(monomial, key=lambda pair: self._atom_key(pair[0]))

    def _atom_key(self, atom: Atom) -> tuple[int, int, str]:
        rank = self.order.index(atom.key) if atom.key in self.order else len(self.order)
        # A common divisor is usually subtracted, so it comes later: min(b, n) - gcd(b, L).
        return 0 if isinstance(atom, Symbol) else 1 + isinstance(atom, a.CommonDivisor), rank, atom.key

    def _write_term(self, monomial: Monomial, coefficient: fmpq) -> s.Expr:
        above, below = self._write_factors(monomial)
        if coefficient != 1 or not above:
            above.insert(0, b.number(coefficient))
        return b.divide_products(above, below)

    def _write_factors(self, monomial: Monomial) -> tuple[list[s.Expr], list[s.Expr]]:
        """Return the factors of numerator and denominator; powers of equal exponent are one power of a fraction."""
        bases: dict[Poly, fmpq] = {}
        for atom, power in monomial:
            if isinstance(atom, a.Exponential):
                bases[atom.exponent] = bases.get(atom.exponent, fmpq(1)) * fmpq(atom.base) ** power
        above: list[s.Expr] = []
        below: list[s.Expr] = []
        for atom, power in self._sort_factors(monomial):
            if not isinstance(atom, a.Exponential):
                (above if power > 0 else below).append(b.power(self._write_atom(atom), b.number(abs(power))))
            elif (base := bases.pop(atom.exponent, None)) is not None:
                whole = base if base.p != 1 else 1 / base
                (above if base.p != 1 else below).append(self._write_exponential(whole, atom.exponent))
        return above, below

    def _write_exponential(self, base: fmpq, exponent: Poly) -> s.Expr:
        """Write base^exponent; 7^(log2(n)/2) -> n^(log2(7)/2)."""
        ((monomial, coefficient),) = exponent.terms.items()
        logs = [atom for atom, power in monomial if power == 1 and isinstance(atom, a.RealFunction)]
        if len(logs) != 1 or logs[0].function != "log2" or len(logs[0].argument.terms) != 1:
            return b.power(b.number(base), self.write_tree(exponent))
        rest = Poly({tuple(pair for pair in monomial if pair[0] is not logs[0]): fmpq(coefficient.p)})
        power = self.write_tree(rest * a.log2(Poly.constant(base)))
        if coefficient.q != 1:
            power = b.binary("/", power, b.number(int(coefficient.q)))
        return b.power(self.write_tree(logs[0].argument), power)

    def _write_atom(self, atom: Atom) -> s.Expr:
        match atom:
            case Symbol(name=name):
                if name.replace("_", "").isalnum() or name in self.order:
                    return b.name(name)
                return self.write_tree(a.SPELLINGS[name]) if name in a.SPELLINGS else b.name(f"({name})")
            case a.PositivePart():
                return b.call("max", b.ZERO, self.write_tree(atom.argument))
            case a.Floor():
                return b.call("floor", self._write_quotient(atom))
            case a.Quotient():
                return self._write_quotient(atom)
            case DisplayAtom(form="ceil"):
                return b.call("ceil", self._write_quotient(atom))
            case DisplayAtom(form="%"):
                return b.binary("%", *map(self.write_tree, atom.parts))
            case DisplayAtom(form=form):
                return b.call(form, *map(self.write_tree, atom.parts))
            case a.CommonDivisor():
                return b.call("gcd", *map(self.write_tree, atom.parts))
            case a.CeilLog2():
                return b.call("ceil", b.call("log2", self._write_at_least_one(atom.argument)))
            case a.RealFunction(function="isqrt"):
                return b.call("floor", b.call("sqrt", self.write_tree(atom.argument)))
            case a.Sequence(name=name):
                return b.call(name, *map(self.write_tree, atom.parts))
            case a.RealFunction(function=function):
                return b.call(function, self.write_tree(atom.argument))
            case a.Exponential():
                return self._write_exponential(fmpq(atom.base), atom.exponent)
            case a.Offset():
                return self._write_offset(atom.segments.array, atom.index)
            case a.AppliedFunction():
                return b.call(atom.function, *map(self._write_argument, atom.arguments))
            case a.Gap():
                array = atom.segments.array
                return b.binary("-", self._write_offset(array, atom.index + 1), self._write_offset(array, atom.index))
            case _:
                # `data` is not defined in any evaluator.
                return b.call("data", b.name(atom.key))

    def _write_quotient(self, atom: Atom) -> s.Expr:
        """Write the quotient of both parts; (8*n/b)/L -> 8*n/(b*L)."""
        above, below = atom.parts
        divided = any(power < 0 for monomial in above.terms for _, power in monomial)
        if divided and len(above.terms) == len(below.terms) == 1:
            return self.write_tree(above * below**-1)
        return b.binary("/", *map(self.write_tree, atom.parts))

    def _write_offset(self, array: str, index: Poly) -> s.Expr:
        return s.Element(array, (self.write_tree(index),), span=b.DERIVED)

    def _write_argument(self, value: Poly) -> s.Expr:
        """Write an argument of a function: half of n is n/2, as in recurrences."""
        match list(value.terms.items()):
            case [(monomial, coefficient)] if monomial and coefficient > 0 and coefficient.q != 1:
                return b.binary("/", self._write_term(monomial, fmpq(coefficient.p)), b.number(int(coefficient.q)))
            case _:
                return self.write_tree(value)

    def _write_at_least_one(self, value: Poly) -> s.Expr:
        """Write the argument of a logarithm as max(1, e) unless e >= 1 is evident: logarithms of e < 1 count as 0."""
        argument = self.write_tree(value)
        return argument if self._is_at_least_one(shorten_expression(value)) else b.call("max", b.ONE, argument)

    def _is_at_least_one(self, value: Poly) -> bool:
        """Test whether the form shows value >= 1: positive multiples of nonnegative atoms that add up to 1."""
        terms = value.terms.items()
        if not all(coefficient > 0 for _, coefficient in terms) or not all(map(self._is_nonnegative, value.atoms())):
            return False
        minimum = sum(
            coefficient
            for monomial, coefficient in terms
            if all(power > 0 and self._is_atom_at_least_one(atom) for atom, power in monomial)
        )
        return bool(minimum >= 1)

    def _is_atom_at_least_one(self, atom: Atom) -> bool:
        match atom:
            case Symbol(name=name):
                return (name in self.order or name in MACHINE_SIZES) and name not in self.may_vanish
            case DisplayAtom(form="ceil" | "min", arguments=arguments):
                return all(map(self._is_at_least_one, arguments))
            case DisplayAtom(form="max", arguments=arguments):
                return any(map(self._is_at_least_one, arguments))
            case _:
                return False

    def _is_nonnegative(self, atom: Atom) -> bool:
        logarithm = isinstance(atom, a.RealFunction) and atom.function == "log2"
        return self._is_atom_at_least_one(atom) or (logarithm and self._is_at_least_one(atom.parts[0]))


def _factor_shared_atoms(value: Poly) -> tuple[fmpq, tuple[tuple[Poly, int], ...]] | None:
    """Factor a difference whose terms share a composite atom, into a number and powers: 5*max(0, e)*(n - 2).

    None if no term is subtracted, if only symbols are shared, or if the other factor would have negative powers.
    """
    powers = [dict(monomial) for monomial in value.terms] if len(value.terms) > 1 else [{}]
    common = {atom: min(monomial.get(atom, 0) for monomial in powers) for atom in powers[0]}
    shared = sorted(((atom, power) for atom, power in common.items() if power > 0), key=lambda pair: pair[0].key)
    rest = divide_terms(value, Poly({tuple(shared): fmpq(1)}), exact=True)
    if rest is None or min(value.terms.values(), default=1) > 0 or all(isinstance(atom, Symbol) for atom, _ in shared):
        return None
    if any(power < 0 for monomial in rest[0].terms for _, power in monomial):
        # Fractions in the other factor would be harder to read than two quotients.
        return None
    number = a.compute_content(rest[0])
    product = factor_into_extents(rest[0]) or (number, ((rest[0] / number, 1),))
    return product[0], (*((Poly.of_atom(atom), power) for atom, power in shared), *product[1])


class DisplayAtom(Atom):
    """An atom for display only: min(x, y), max(x, y), ceil(e/m), e%m. The algebra has max(0, e) and floor for them."""

    __slots__ = ("arguments", "form")

    def __init__(self, form: str, arguments: tuple[Poly, ...]) -> None:
        super().__init__(f"{form}({'|'.join(argument.key for argument in arguments)})", *arguments)
        self.form, self.arguments = form, arguments


def shorten_expression(value: Poly, blocks: bool = True) -> Poly:
    """Write atoms in the form that makes the whole expression shortest; without `blocks` b*floor(e/b) stays."""
    value = _rewrite_floors_of_one(value)
    for atom in sorted(value.atoms(), key=lambda piece: (not isinstance(piece, a.PositivePart), str(piece))):
        for form in _list_display_forms(atom) if blocks or not _occurs_times_modulus(value, atom) else ():
            rewritten = value.map_atoms(lambda piece, atom=atom, form=form: form if piece == atom else None)  # type: ignore[misc]
            if _measure_length(rewritten) < _measure_length(value):
                value = rewritten
                break
    return value.map_atoms(_floor_to_ceil)


def _floor_to_ceil(atom: Atom) -> Poly | None:
    """Return -ceil(e/m) for floor((-e)/m), else None."""
    if not isinstance(atom, a.Floor) or any(number > 0 for number in atom.argument.terms.values()):
        return None
    return -Poly.of_atom(DisplayAtom("ceil", (-atom.argument, atom.modulus)))


def _occurs_times_modulus(value: Poly, atom: Atom) -> bool:
    """Test whether m*floor(e/m) occurs in a value, for a size m."""
    size = a.find_single_atom(atom.modulus) if isinstance(atom, a.Floor) else None
    return any({atom, size} <= {factor for factor, _ in monomial} for monomial in value.terms)


def _rewrite_floors_of_one(value: Poly) -> Poly:
    """Write floor(1/m) as ceil(2/m) - 1 and its cofactors at m = 1, since floor(1/m) is 0 for every m > 1."""
    for atom in value.atoms():
        name = a.find_single_symbol_name(atom.modulus) if isinstance(atom, a.Floor) and atom.argument == ONE else None
        parts = value.coefficients(atom) if name is not None else {}
        if name is not None and min(parts) >= 0:
            whole = sum((part for power, part in parts.items() if power), ZERO)
            indicator = Poly.of_atom(DisplayAtom("ceil", (ONE + ONE, Poly.symbol(name)))) - 1
            value = parts.get(0, ZERO) + indicator * whole.substitute({name: ONE})
    return value


def _measure_length(value: Poly) -> tuple[int, int]:
    return len(value.terms), sum(len(part.terms) for atom in value.atoms() for part in atom.parts)


def _list_display_forms(atom: Atom) -> list[Poly]:
    match atom:
        case a.PositivePart():
            # The unshortened form may share floors with other terms: min(floor(n/k), floor(m/k)) + 1.
            arguments = dict.fromkeys((shorten_expression(atom.argument), atom.argument))
            return [form for argument in arguments for form in _write_maximum_by_operands(argument)]
        case a.Floor():
            above, whole = atom.argument + 1, 0
            if atom.modulus.is_constant:
                whole = int((above.constant_term / atom.modulus.constant_term).floor())
                above = above - atom.modulus * whole
            forms = [Poly.of_atom(DisplayAtom("ceil", (above, atom.modulus))) + (whole - 1)]
            if len(atom.modulus.terms) > 1:
                # floor((e + m - 1)/m) -> ceil(e/m), m a sum such as ceil(n/N)
                forms.append(Poly.of_atom(DisplayAtom("ceil", (above - atom.modulus, atom.modulus))))
            if atom.modulus == Poly.constant(2):
                forms.append(atom.argument - Poly.of_atom(DisplayAtom("ceil", (atom.argument, atom.modulus))))
            if len(atom.modulus.terms) == 1:
                # m*floor(e/m) -> e - e%m
                remainder = Poly.of_atom(DisplayAtom("%", (atom.argument, atom.modulus)))
                forms.insert(0, (atom.argument - remainder) * atom.modulus**-1)
            return forms
        case _:
            return []


def _write_maximum_by_operands(argument: Poly) -> list[Poly]:
    """Return max(0, x - y) as x - min(x, y) and as max(x, y) - y."""
    above = argument.positive_terms()
    below = above - argument
    if not above or not below:
        return []
    minimum, maximum = (Poly.of_atom(DisplayAtom(form, (above, below))) for form in ("min", "max"))
    return [above - minimum, maximum - below]
