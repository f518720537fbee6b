"""Represents every derived cost as a polynomial with exact rational coefficients over atoms.

An atom is anything that is not a sum, product or power of others: a size, a loop variable, `max(0, e)`, `floor(e/m)`,
`ceil(log2(e))` and so on (`archline.algebra.atoms` makes them). Sums and products are in normal form, so two
polynomials over the same atoms are equal exactly when their terms are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, KeysView, Mapping
from fractions import Fraction
from itertools import islice
from typing import Any, ClassVar, TypeAlias
from weakref import WeakValueDictionary

from archline.algebra.effort import TooComplexError, spend_effort
from archline.numbers import fmpq

Number: TypeAlias = int | Fraction | fmpq
Monomial: TypeAlias = "tuple[tuple[Atom, int], ...]"
ONE_MONOMIAL: Monomial = ()
RATIONAL_ZERO, RATIONAL_ONE = fmpq(0), fmpq(1)
MAX_EXPONENT = 1 << 64
MAX_POWER = 64
MAX_NUMBER_POWER = 100_000


class _InternedType(type):
    """Interns atoms: those of a class with the same key are one object, so comparing and hashing are cheap."""

    def __init__(cls, *args: Any) -> None:
        super().__init__(*args)
        cls._made: WeakValueDictionary[str, Atom] = WeakValueDictionary()

    def __call__(cls, *args: Any) -> Any:
        atom = super().__call__(*args)
        return cls._made.setdefault(atom.key, atom)


class Atom(metaclass=_InternedType):
    """An indivisible factor. `key` identifies it and orders it; `parts` are the polynomials it is made of."""

    __slots__ = ("__weakref__", "_names", "key", "parts")
    divides = False
    """Whether exact quotients may have the atom in the denominator, as they may have powers of numbers."""
    quotient: ClassVar[Callable[[Poly, Poly], Poly]]
    """Divides exactly, with an atom where the result is not a polynomial; set by `archline.algebra.atoms`."""

    def __init__(self, key: str, *parts: Poly) -> None:
        self.key, self.parts = key, parts
        self._names: frozenset[str] | None = None

    def rebuild(self, parts: tuple[Poly, ...]) -> Poly:
        """Return this kind of atom over other parts, normalised: max(0, n) with the part 2*m gives 2*max(0, m)."""
        return Poly.of_atom(self)

    @property
    def names(self) -> frozenset[str]:
        """The symbols that occur inside."""
        if self._names is None:
            self._names = frozenset().union(*(part.names for part in self.parts))
        return self._names

    def __repr__(self) -> str:
        return self.key


class Symbol(Atom):
    """A size, a loop variable, or a machine symbol; it stands for an integer."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name
        self._names = frozenset((name,))


class Poly:
    """A polynomial; immutable. `terms` maps monomials to nonzero coefficients."""

    __slots__ = ("_atoms", "_hash", "_key", "_names", "terms")

    def __init__(self, terms: dict[Monomial, fmpq]) -> None:
        self.terms = terms
        self._atoms: KeysView[Atom] | None = None
        self._hash: int | None = None
        self._key: str | None = None
        self._names: frozenset[str] | None = None

    # Construction
    @staticmethod
    def constant(value: Number) -> Poly:
        coefficient = to_rational(value)
        return Poly({ONE_MONOMIAL: coefficient} if coefficient else {})

    @staticmethod
    def of_atom(atom: Atom, exponent: int = 1) -> Poly:
        return Poly({((atom, exponent),): RATIONAL_ONE}) if exponent else ONE

    @staticmethod
    def symbol(name: str) -> Poly:
        interned = Symbol._made.get(name)
        return Poly.of_atom(Symbol(name) if interned is None else interned)

    # Queries
    @property
    def is_constant(self) -> bool:
        return not self.terms or (len(self.terms) == 1 and ONE_MONOMIAL in self.terms)

    @property
    def constant_term(self) -> fmpq:
        """The coefficient of the monomial 1."""
        return self.terms.get(ONE_MONOMIAL, RATIONAL_ZERO)

    @property
    def names(self) -> frozenset[str]:
        """The symbols that occur, inside atoms too."""
        if self._names is None:
            self._names = frozenset().union(*[atom.names for atom in self.atoms()])
        return self._names

    def atoms(self) -> KeysView[Atom]:
        """Return the atoms of the monomials, not those inside other atoms; their order is fixed, as results must be."""
        if self._atoms is None:
            self._atoms = dict.fromkeys([atom for monomial in self.terms for atom, _ in monomial]).keys()
        return self._atoms

    def atoms_within(self) -> Iterator[Atom]:
        """Yield the atoms of the monomials and those inside other atoms, at any depth."""
        for atom in self.atoms():
            yield atom
            for part in atom.parts:
                yield from part.atoms_within()

    def has_more_atoms_than(self, most: int) -> bool:
        """Test whether more than `most` atoms occur, at any depth."""
        return next(islice(self.atoms_within(), most, None), None) is not None

    def degree(self, atom: Atom) -> int:
        """Return the highest exponent of an atom."""
        return max((e for monomial in self.terms for a, e in monomial if a == atom), default=0)

    def coefficients(self, atom: Atom) -> dict[int, Poly]:
        """Return the coefficients as a polynomial in `atom`, by exponent (free of the atom at this level)."""
        result: dict[int, dict[Monomial, fmpq]] = {}
        for monomial, coefficient in self.terms.items():
            exponent = 0
            rest = monomial
            for index, (candidate, power) in enumerate(monomial):
                if candidate is atom:
                    exponent = power
                    rest = monomial[:index] + monomial[index + 1 :]
                    break
            if exponent in result:
                result[exponent][rest] = coefficient
            else:
                result[exponent] = {rest: coefficient}
        return {exponent: Poly(terms) for exponent, terms in result.items()}

    # Arithmetic
    def __add__(self, other: Poly | Number) -> Poly:
        if not isinstance(other, Poly):
            return self._add_number(to_rational(other))
        if not other.terms:
            return self
        if not self.terms:
            return other
        terms = dict(self.terms)
        _add_terms(terms, other.terms)
        return Poly(terms)

    __radd__ = __add__

    def _add_number(self, number: fmpq) -> Poly:
        if not number:
            return self
        terms = dict(self.terms)
        total = terms.get(ONE_MONOMIAL, RATIONAL_ZERO) + number
        if total:
            terms[ONE_MONOMIAL] = total
        else:
            del terms[ONE_MONOMIAL]
        return Poly(terms)

    def __neg__(self) -> Poly:
        return Poly({monomial: -coefficient for monomial, coefficient in self.terms.items()})

    def __sub__(self, other: Poly | Number) -> Poly:
        if not isinstance(other, Poly):
            return self._add_number(-to_rational(other))
        if not other.terms:
            return self
        terms = dict(self.terms)
        for monomial, coefficient in other.terms.items():
            total = terms.get(monomial)
            total = -coefficient if total is None else total - coefficient
            if total:
                terms[monomial] = total
            else:
                del terms[monomial]
        return Poly(terms)

    def __rsub__(self, other: Number) -> Poly:
        return Poly.constant(other) + (-self)

    def __mul__(self, other: Poly | Number) -> Poly:
        if not isinstance(other, Poly):
            return self.scaled(other)
        if len(other.terms) <= 1 and other.is_constant:
            return self.scaled(other.constant_term)
        if len(self.terms) <= 1 and self.is_constant:
            return other.scaled(self.constant_term)
        spend_effort(len(self.terms) * len(other.terms))
        terms: dict[Monomial, fmpq] = {}
        reducible = False
        for left, a in self.terms.items():
            for right, b in other.terms.items():
                monomial, again = _multiply_monomials(left, right)
                reducible = reducible or again
                total = terms.get(monomial)
                terms[monomial] = a * b if total is None else total + a * b
        result = Poly({monomial: value for monomial, value in terms.items() if value})
        return _reduce_squares(result) if reducible else result

    __rmul__ = __mul__

    def positive_terms(self) -> Poly:
        return Poly({monomial: coefficient for monomial, coefficient in self.terms.items() if coefficient > 0})

    def scaled(self, factor: Number) -> Poly:
        constant = factor if isinstance(factor, fmpq) else to_rational(factor)
        if constant == 1:
            return self
        if not constant:
            return ZERO
        return Poly({monomial: coefficient * constant for monomial, coefficient in self.terms.items()})

    def times_plus(self, factor: fmpq, other: Poly) -> Poly:
        """Return self*factor + other for a factor that is not 0, the operation that proofs use most."""
        terms = {monomial: coefficient * factor for monomial, coefficient in self.terms.items()}
        _add_terms(terms, other.terms)
        return Poly(terms)

    def split_linear_term(self, atom: Atom) -> tuple[fmpq, Poly] | None:
        """Return (c, rest) for c*atom + rest if the rest is free of the atom at this level, else None."""
        linear = ((atom, 1),)
        factor = self.terms.get(linear)
        if factor is None:
            return None
        rest = dict(self.terms)
        del rest[linear]
        for monomial in rest:
            for factored, _ in monomial:
                if factored is atom:
                    return None
        return factor, Poly(rest)

    def __truediv__(self, other: Number) -> Poly:
        return self.scaled(1 / to_rational(other))

    def __pow__(self, exponent: int) -> Poly:
        if exponent == 1:
            return self
        if exponent == 0:
            return ONE
        is_single_term = len(self.terms) == 1 and not any(map(has_reducible_powers, self.atoms()))
        if exponent < 0 and not is_single_term:
            # n/b with b = k + 1 is n/(k + 1), which only a quotient atom expresses.
            return Atom.quotient(ONE, self**-exponent)
        if is_single_term:
            ((monomial, coefficient),) = self.terms.items()
            if any(abs(power * exponent) > MAX_EXPONENT for _, power in monomial):
                raise TooComplexError("a size is raised to a power above 2^64")
            raised = _number_power(coefficient, exponent)
            return Poly({tuple((atom, power * exponent) for atom, power in monomial): raised})
        if exponent > MAX_POWER:
            raise TooComplexError(f"a sum is raised to a power above {MAX_POWER}")
        result = ONE
        for _ in range(exponent):
            result = result * self
        return result

    # Substitution
    def map_atoms(self, replace: Callable[[Atom], Poly | None]) -> Poly:
        """Replace atoms of the monomials; an atom stays if `replace` returns None for it."""
        changed = {atom: new for atom in self.atoms() if (new := replace(atom)) is not None}
        if not changed:
            return self
        spend_effort(len(self.terms))
        untouched: dict[Monomial, fmpq] = {}
        total: dict[Monomial, fmpq] = {}
        for monomial, coefficient in self.terms.items():
            factors = [changed[atom] ** power for atom, power in monomial if atom in changed]
            if not factors:
                untouched[monomial] = coefficient
                continue
            first, *remaining = factors
            rest = tuple([pair for pair in monomial if pair[0] not in changed])
            product = Poly({rest: coefficient}) * first if rest else first.scaled(coefficient)
            for factor in remaining:
                product = product * factor
            _add_terms(total, product.terms)
        _add_terms(untouched, total)
        return Poly(untouched)

    def map_within(self, replace: Callable[[Atom], Poly | None]) -> Poly:
        """Replace atoms at any depth, outermost first; if `replace` returns None, the parts are mapped."""

        def map_atom(atom: Atom) -> Poly | None:
            replacement = replace(atom)
            if replacement is not None or not atom.parts:
                return replacement
            parts = tuple(part.map_within(replace) for part in atom.parts)
            return None if parts == atom.parts else atom.rebuild(parts)

        return self.map_atoms(map_atom)

    def replace_atom(self, atom: Atom, new: Poly) -> Poly:
        """Replace an atom by a polynomial, at any depth."""
        return self.map_within(lambda candidate: new if candidate == atom else None)

    def substitute(self, values: Mapping[str, Poly]) -> Poly:
        """Replace symbols everywhere, inside atoms too, and normalise."""
        done: dict[Atom, Poly] = {}

        def replace(atom: Atom) -> Poly | None:
            if isinstance(atom, Symbol):
                return values.get(atom.name)
            if atom.names.isdisjoint(values):
                return None
            if atom not in done:
                done[atom] = atom.rebuild(tuple(substitute_within(part) for part in atom.parts))
            return done[atom]

        def substitute_within(value: Poly) -> Poly:
            return value if value.names.isdisjoint(values) else value.map_atoms(replace)

        return substitute_within(self)

    # Identity
    @property
    def key(self) -> str:
        """A canonical text, for ordering and identity, not for display."""
        if self._key is None:
            rows = sorted(
                ("*".join([f"{atom.key}^{power}" for atom, power in monomial]), str(coefficient))
                for monomial, coefficient in self.terms.items()
            )
            self._key = "+".join([f"{coefficient}*{monomial}" for monomial, coefficient in rows]) or "0"
        return self._key

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Poly):
            return self is other or self.terms == other.terms
        return NotImplemented

    def __hash__(self) -> int:
        if self._hash is None:
            # Coefficients hash slowly; their sum distinguishes most polynomials of the same monomials.
            self._hash = hash((frozenset(self.terms), sum(self.terms.values(), RATIONAL_ZERO).p))
        return self._hash

    def __bool__(self) -> bool:
        return bool(self.terms)

    def __repr__(self) -> str:
        return f"Poly({self.key})"


def _add_terms(terms: dict[Monomial, fmpq], more: Mapping[Monomial, fmpq]) -> None:
    """Add terms to a dictionary of terms in place; terms that cancel are removed."""
    for monomial, coefficient in more.items():
        total = terms.get(monomial)
        total = coefficient if total is None else total + coefficient
        if total:
            terms[monomial] = total
        else:
            del terms[monomial]


def _number_power(base: fmpq, exponent: int) -> fmpq:
    """Return a power of a number, also huge ones of 1 and -1. Raises TooComplexError above MAX_NUMBER_POWER."""
    if abs(base) == 1:
        return base if exponent % 2 else fmpq(1)
    if abs(exponent) > MAX_NUMBER_POWER:
        raise TooComplexError("a constant power is too large")
    return base**exponent


def to_rational(value: Number) -> fmpq:
    """Convert a number to an exact rational of python-flint."""
    if isinstance(value, fmpq):
        return value
    # `isinstance(integer, Fraction)` is slow.
    return fmpq(value) if isinstance(value, int) else fmpq(value.numerator, value.denominator)


def has_reducible_powers(atom: Atom) -> bool:
    """Test whether powers of the atom rewrite to lower ones: max(0, e)^2 -> e*max(0, e)."""
    return getattr(atom, "square", None) is not None


def _multiply_monomials(left: Monomial, right: Monomial) -> tuple[Monomial, bool]:
    """Return the product of two monomials, and whether a power in it can be reduced."""
    if not left:
        return right, False
    if not right:
        return left, False
    result: list[tuple[Atom, int]] = []
    again = False
    i = j = 0
    while i < len(left) and j < len(right):
        a, b = left[i], right[j]
        atom = a[0]
        if atom is b[0]:
            power = a[1] + b[1]
            if power:
                result.append((atom, power))
            again = again or has_reducible_powers(atom)
            i += 1
            j += 1
        elif atom.key < b[0].key:
            result.append(a)
            i += 1
        else:
            result.append(b)
            j += 1
    return (*result, *left[i:], *right[j:]), again


def _reduce_squares(poly: Poly) -> Poly:
    """Rewrite powers of atoms with a square: atom^power -> square^(power - 1)*atom."""
    total = ZERO
    for monomial, coefficient in poly.terms.items():
        product = Poly({ONE_MONOMIAL: coefficient})
        for atom, power in monomial:
            square = getattr(atom, "square", None)
            if power >= 2 and square is not None:
                # max(0, e)^3 -> e^2*max(0, e)
                product = product * square ** (power - 1) * Poly.of_atom(atom)
            else:
                product = product * Poly({((atom, power),): RATIONAL_ONE})
        total = total + product
    return total


ZERO = Poly({})
ONE = Poly.constant(1)


def sum_polynomials(values: Iterable[Poly]) -> Poly:
    """Return the sum of polynomials."""
    terms: dict[Monomial, fmpq] = {}
    for value in values:
        _add_terms(terms, value.terms)
    return Poly(terms)


def linear_combination(values: Iterable[Poly], factors: Iterable[fmpq], first: Poly = ZERO) -> Poly:
    """Return `first` plus multiples of polynomials, summed in one pass."""
    terms = dict(first.terms)
    for value, factor in zip(values, factors, strict=True):
        if factor:
            _add_terms(terms, {monomial: coefficient * factor for monomial, coefficient in value.terms.items()})
    return Poly(terms)


def product(values: Iterable[Poly], factor: Number = 1) -> Poly:
    """Return the product of polynomials and a constant."""
    result = Poly.constant(factor)
    for value in values:
        result = result * value
    return result
