"""What is known of the symbols, and proofs that an expression is nonnegative under it.

Symbols are ordered by age: sizes first, then loop variables from the outermost in. Each has lower and upper bounds in
older symbols only, so that eliminating the youngest symbol first always ends. A proof replaces a symbol by a bound
that can only make the expression smaller; what remains at the end is a constant. No proof found means only that.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from operator import attrgetter

from archline.algebra import atoms as a
from archline.algebra.bounds import (
    NO_BOUNDS,
    Bounds,
    Power,
    common_factor,
    common_multiple,
    of_exponent,
    of_leaves,
    scaled_to_one,
    tightened,
)
from archline.algebra.effort import Clock, late
from archline.algebra.polynomial import (
    NOTHING,
    ONE,
    ONE_MONOMIAL,
    UNIT,
    ZERO,
    Atom,
    Poly,
    Symbol,
)
from archline.algebra.prove.eliminate import APART, CORNER, EliminationSearch, Known, Witness, split_power
from archline.numbers import fmpq
from archline.records import field, record

_PARTS = attrgetter("parts")
MORE_STEPS = 100
"""Steps of a proof by integrality: those that succeed take a quarter of these."""
FEW_STEPS = 20
"""Those of a proof where the time of a command is up."""


class _Ages(dict[Atom, tuple[int, int, str]]):
    """The ages of atoms, each found once."""

    def __init__(self, symbols: Iterable[str]) -> None:
        super().__init__()
        self._symbols = {name: age for age, name in enumerate(symbols)}

    def __missing__(self, atom: Atom) -> tuple[int, int, str]:
        inside = max((self._symbols.get(name, len(self._symbols)) for name in atom.names), default=-1)
        self[atom] = found = inside, 0 if isinstance(atom, Symbol) else 1 + len(atom.key), atom.key
        return found


@record(eq=False)
class Facts:
    """Symbols from the oldest to the youngest with their bounds, and divisibility.

    `rewrites` maps a size n that b divides to b*`n/b`, a symbol for the quotient; `quotients` maps that symbol back.
    `powers` lists the sizes that are powers of 2.
    """

    bounds: dict[str, Bounds] = field(default_factory=dict)
    rewrites: dict[str, Poly] = field(default_factory=dict)
    quotients: dict[str, Poly] = field(default_factory=dict)
    powers: tuple[Power, ...] = ()
    # What was proved under these facts, and the facts made from them: derivations ask the same again and again.
    proved: dict[Poly, bool] = field(default_factory=dict, repr=False)
    # The same as it was asked, which is found without scaling it first.
    _asked: dict[Poly, bool] = field(default_factory=dict, repr=False)
    _extended: dict[tuple[str, tuple[Poly, ...], tuple[Poly, ...]], Facts] = field(default_factory=dict, repr=False)
    _taught: dict[Poly, Facts] = field(default_factory=dict, repr=False)
    _simplified: dict[Atom, Poly] = field(default_factory=dict, repr=False)
    # What else was found under these facts, by what asks: it is freed with them, whatever it refers to.
    found: dict[object, object] = field(default_factory=dict, repr=False)
    # The youngest symbol, and the facts before it was added: they decide the same about all that it is not in.
    _before: tuple[str, Facts] | None = field(default=None, repr=False)

    def unused(self, name: str) -> str:
        """The name, primed until no symbol has it."""
        while name in self.bounds:
            name += "'"
        return name

    # Extension
    def with_symbol(self, name: str, lower: Iterable[Poly] = (), upper: Iterable[Poly] = ()) -> Facts:
        """Add the youngest symbol with its bounds (both inclusive)."""
        key = name, tuple(lower), tuple(upper)
        known = self._extended.get(key)
        if known is None:
            added = {old: each for old, each in self.bounds.items() if old != name}
            added[name] = Bounds(*key[1:])
            before = None if name in self.bounds else (name, self)
            known = Facts(added, self.rewrites, self.quotients, self.powers, _before=before)
            self._extended[key] = known
        return known

    def with_bounds(self, bounds: dict[str, Bounds]) -> Facts:
        """The same divisibility under other bounds, of symbols from the oldest to the youngest."""
        return Facts(bounds, self.rewrites, self.quotients, self.powers)

    def oldest(self, names: frozenset[str]) -> Facts:
        """The facts without the youngest symbols, as far as none of the names is among them: they decide the same."""
        facts = self
        while facts._before is not None and facts._before[0] not in names:
            facts = facts._before[1]
        return facts

    def unproved(self) -> Facts:
        """The same, nothing kept of what was proved under them."""
        before = self._before and (self._before[0], self._before[1].unproved())
        return Facts(self.bounds, self.rewrites, self.quotients, self.powers, _before=before)

    def _rewriting(self, rewrites: dict[str, Poly], quotients: dict[str, Poly], powers: tuple[Power, ...]) -> Facts:
        return Facts(self.bounds, rewrites, quotients, powers)

    def with_nonnegative(self, value: Poly) -> Facts:
        """Add the fact value >= 0, as a bound on the youngest symbol in it; dropped where it gives none."""
        known = self._taught.get(value)
        if known is None:
            known = self._taught[value] = self._with_nonnegative(value)
        return known

    def _with_nonnegative(self, value: Poly) -> Facts:
        young = self._youngest(value)
        if isinstance(young, a.Exponential):
            bound = of_exponent(value, young)
            return self if bound is None else self.with_nonnegative(bound)
        if isinstance(young, a.CeilLog2) and (bound := of_leaves(value, young)) is not None:
            return self.with_nonnegative(bound)
        if not isinstance(young, Symbol) or young.name not in self.bounds or value.degree(young) != 1:
            return self
        parts = value.coefficients(young)
        slope, rest = parts[1], parts.get(0, ZERO)
        known = self.bounds[young.name]
        if slope.is_constant:
            bound = tightened(rest.scaled(-1 / slope.constant_term), slope.constant_term > 0)
            changed = (
                Bounds((*known.lower, bound), known.upper)
                if slope.constant_term > 0
                else Bounds(known.lower, (*known.upper, bound))
            )
        elif self.nonnegative(slope - 1):
            # slope*v >= -rest: an integer v is at least ceil(-rest/slope).
            changed = Bounds((*known.lower, -a.floor_div(rest, slope)), known.upper)
        elif self.nonnegative(-slope - 1):
            changed = Bounds(known.lower, (*known.upper, a.floor_div(rest, -slope)))
        else:
            return self
        return self.with_bounds({**self.bounds, young.name: changed})._passed_on(changed)

    def _passed_on(self, bounds: Bounds) -> Facts:
        """Where a symbol is 2 at least, so is an older one that it never exceeds."""
        facts, least = self, bounds.numbers[False]
        if least is not None:
            for end in bounds.upper:
                older = a.single_atom(end)
                if isinstance(older, Symbol) and not facts.nonnegative(end - least):
                    facts = facts.with_nonnegative(end - least)
        return facts

    def with_nonnegative_in_any_order(self, value: Poly) -> Facts:
        """Add the fact value >= 0, such as m^2 - c >= 0, which bounds c but not m.

        Then c becomes the youngest, if no other symbol is bounded in terms of it.
        """
        young = self._youngest(value)
        if not isinstance(young, Symbol) or young.name not in self.bounds or value.degree(young) == 1:
            return self.with_nonnegative(value)
        common = common_factor(value)
        if common and all(self.positive(Poly.of_atom(atom)) for atom, _ in common):
            without = Poly({tuple((atom, -power) for atom, power in common): UNIT})
            return self.with_nonnegative_in_any_order(value * without)
        if not all(isinstance(atom, Symbol) and atom.name in self.bounds for atom in value.atoms()):
            return self
        for atom in sorted(value.atoms(), key=self.ages.__getitem__, reverse=True):
            slope = value.coefficients(atom).get(1, ZERO)
            bounded = (end for name, each in self.bounds.items() for end in (*each.lower, *each.upper))
            if value.degree(atom) == 1 and slope.is_constant and not any(atom.key in end.names for end in bounded):
                rest = {name: each for name, each in self.bounds.items() if name != atom.key}
                return self.with_bounds({**rest, atom.key: self.bounds[atom.key]}).with_nonnegative(value)
        return self

    # Proofs
    def nonnegative(self, value: Poly) -> bool:
        """Whether value >= 0 is proved."""
        known = self.at_once(value)
        if known is None:
            known = self._asked.get(value)
        if known is None:
            known = self._nonnegative(scaled_to_one(value))
            if known or not Clock.late:
                self._asked[value] = known
        return known

    def _nonnegative(self, value: Poly) -> bool:
        facts = self.oldest(value.names)
        known = facts.proved.get(value)
        if known is None:
            known = not facts._corner.refutes(value)
            if known and late():
                return EliminationSearch(facts, FEW_STEPS).holds(value)
            known = known and (EliminationSearch(facts).holds(value) or facts._by_integrality(value))
            facts.proved[value] = known
        return known

    def at_once(self, value: Poly) -> bool | None:
        """Whether d >= 0 or c*v + d >= 0, for a symbol v and numbers: most of what proofs ask. None: not decided."""
        terms = value.terms
        rest = terms.get(ONE_MONOMIAL, NOTHING)
        if len(terms) != (2 if rest else 1):
            return rest.p >= 0 if len(terms) == bool(rest) else None
        for monomial, number in terms.items():
            if len(monomial) == 1 and monomial[0][1] == 1 and isinstance(monomial[0][0], Symbol):
                return self._between_numbers(monomial[0][0].name, number, rest)
        return None

    def _between_numbers(self, name: str, factor: fmpq, rest: fmpq) -> bool | None:
        """Whether the numbers that bound a symbol imply factor*symbol + rest >= 0; None where other bounds may."""
        bounds, falls = self.bounds.get(name, NO_BOUNDS), factor.p < 0
        end = bounds.numbers[falls]
        if end is not None and (factor * end + rest).p >= 0:
            return True
        return False if bounds.plain[falls] else None

    def refutes(self, value: Poly) -> bool:
        """Whether the value is below 0 somewhere: no proof of anything else is to be looked for."""
        facts = self.oldest(value.names)
        return facts._corner.refutes(value) or any(each.refutes(value) for each in facts._apart)

    @cached_property
    def _corner(self) -> Witness:
        """Where all symbols are the least that they may be: the older ones as they are without the youngest."""
        if self._before is not None:
            name, facts = self._before
            known: Witness | None = vars(facts).get("_corner")
            if known is not None:
                return known.beside((name, self.bounds[name].lower, self.bounds[name].upper))
        return Witness(CORNER, self._known)

    @cached_property
    def _apart(self) -> tuple[Witness, ...]:
        return tuple(Witness(offsets, self._known) for offsets in APART)

    @property
    def _known(self) -> Iterator[Known]:
        return ((name, each.lower, each.upper) for name, each in self.bounds.items())

    def _by_integrality(self, value: Poly) -> bool:
        """An integer is at least 0 where it is above -1; floors lose less than 1 each to their fractions."""
        moduli = {atom.modulus for atom in value.atoms() if isinstance(atom, a.Floor)}
        if not moduli or not a.is_integral(value):
            return False
        symbolic = [each for each in moduli if not each.is_constant]
        number = Poly.constant(common_multiple(each.constant_term for each in moduli if each.is_constant))
        if len(symbolic) < len(moduli) and EliminationSearch(self, MORE_STEPS).holds(value + 1 - number**-1):
            return True
        if len(symbolic) != 1 or not self.positive(symbolic[0]):
            return False
        # Times what all floors are divided by, which their fractions are free of.
        scale = number * symbolic[0]
        return EliminationSearch(self, MORE_STEPS).holds(value * scale + scale - 1)

    def positive(self, value: Poly) -> bool:
        """Whether the integer `value` is proved to be at least 1."""
        return self.nonnegative(value - 1)

    @cached_property
    def ages(self) -> Mapping[Atom, tuple[int, int, str]]:
        """Youngest symbol inside an atom, then depth: a composite is younger than what it is made of."""
        return _Ages(self.bounds)

    def _youngest(self, value: Poly) -> Atom | None:
        return max(value.atoms(), key=self.ages.__getitem__, default=None)

    # Simplification
    def positive_part(self, value: Poly) -> Poly:
        """max(0, value), without the max where the sign is known."""
        if self.nonnegative(value):
            return value
        if self.nonnegative(-value):
            return ZERO
        whole = self.multiplied_out(value)
        if whole != value and self.nonnegative(whole):
            return value
        return ZERO if whole != value and self.nonnegative(-whole) else a.positive_part(value)

    def multiplied_out(self, value: Poly) -> Poly:
        """The value times what its terms are divided by, as far as that is known to be positive: its sign is the same.

        1 - 1/p becomes p - 1.
        """
        powers: dict[Atom, int] = {}
        for monomial in value.terms:
            for atom, power in monomial:
                if power < powers.get(atom, 0):
                    powers[atom] = power
        for atom, power in powers.items():
            if self.positive(Poly.of_atom(atom)):
                value = value * Poly.of_atom(atom) ** -power
        return value

    def maximum(self, left: Poly, right: Poly) -> Poly:
        """max(left, right), decided where it can be."""
        return right + self.positive_part(left - right)

    def minimum(self, left: Poly, right: Poly) -> Poly:
        """min(left, right), decided where it can be."""
        return left - self.positive_part(left - right)

    def simplify(self, value: Poly) -> Poly:
        """Resolve every max, floor and the like that the facts decide."""
        return value.map_atoms(self._resolve) if any(map(_PARTS, value.atoms())) else value

    def _resolve(self, atom: Atom) -> Poly | None:
        known = self._simplified.get(atom)
        if known is None:
            if not atom.parts:
                return None
            facts = self.oldest(atom.names)
            known = self._resolved(atom) if facts is self else facts._resolve(atom)
            assert known is not None
            self._simplified[atom] = known
        return known

    def _resolved(self, atom: Atom) -> Poly:
        parts = tuple(self.simplify(part) for part in atom.parts)
        if isinstance(atom, a.PositivePart):
            return self.positive_part(parts[0])
        if isinstance(atom, a.Floor) and self._is_fraction(parts[0], parts[1]):
            return ZERO
        if isinstance(atom, a.Floor) and self._is_negative_fraction(parts[0], parts[1]):
            return -ONE
        if isinstance(atom, a.Floor) and (quotients := self.divided(parts[0], parts[1]))[0]:
            return quotients[0] + self.simplify(a.floor_div(quotients[1], parts[1]))
        if isinstance(atom, a.Floor) and (power := self._power_quotient(parts[0], parts[1])) is not None:
            return power
        if isinstance(atom, a.Floor) and (taken := self._without_integers(parts[0], parts[1])) is not None:
            return taken
        if isinstance(atom, a.CeilLog2) and self.nonnegative(ONE - parts[0]):
            return ZERO
        if isinstance(atom, a.CeilLog2) and (level := self._level_beside_power(parts[0])) is not None:
            return level
        return atom.rebuild(parts)

    def _power_quotient(self, value: Poly, modulus: Poly) -> Poly | None:
        """Terms c*2^x of a value divided by 2^y need no floor where x >= y is known."""
        below = a.exponent_of_two(modulus)
        if below is None:
            return None
        whole, rest = ZERO, ZERO
        for monomial, coefficient in value.terms.items():
            exponent, others = split_power(monomial)
            factor = Poly({others: coefficient})
            if not exponent.is_constant and a.is_integral(factor) and self.nonnegative(exponent - below):
                whole = whole + factor * a.exponential(2, exponent - below)
            else:
                rest = rest + Poly({monomial: coefficient})
        return whole + self.simplify(a.floor_div(rest, modulus)) if whole else None

    def _without_integers(self, value: Poly, modulus: Poly) -> Poly | None:
        """Terms that a modulus such as p divides, w*2^x/2*p with x >= 1 among them, need no floor."""
        if len(modulus.terms) != 1 or modulus.is_constant:
            return None
        whole, rest = ZERO, ZERO
        for monomial, coefficient in value.terms.items():
            term = Poly({monomial: coefficient})
            quotient = term * modulus**-1
            if any(isinstance(each, a.Exponential) for each, _ in monomial) and self.integral(quotient):
                whole = whole + quotient
            else:
                rest = rest + term
        return whole + self.simplify(a.floor_div(rest, modulus)) if whole else None

    def _level_beside_power(self, value: Poly) -> Poly | None:
        """ceil(log2(2^x + c)) for an integer c: x + 1 where 1 <= c <= 2^x, and x where 0 <= -c < 2^(x - 1)."""
        more = value.constant_term
        exponent = a.exponent_of_two(value - more) if more and more.q == 1 else None
        if exponent is None or not a.is_integral(exponent):
            return None
        if more > 0:
            return exponent + 1 if self.nonnegative(exponent - (int(more.p) - 1).bit_length()) else None
        return exponent if self.nonnegative(exponent - 1 - int(-more.p).bit_length()) else None

    def integral(self, value: Poly) -> bool:
        """Whether the value is known to be an integer: by its form, or from the exponents of its powers of 2."""
        for monomial, coefficient in value.terms.items():
            term = Poly({monomial: coefficient})
            exponent, others = split_power(monomial)
            twos = int(coefficient.q).bit_length() - 1
            if not a.is_integral(term) and not (
                int(coefficient.q) == 1 << twos
                and a.is_integral(Poly({others: fmpq(1)}))
                and self.nonnegative(exponent - twos)
            ):
                return False
        return True

    def _is_fraction(self, value: Poly, modulus: Poly) -> bool:
        return self.nonnegative(value) and self.nonnegative(modulus - 1 - value)

    def _is_negative_fraction(self, value: Poly, modulus: Poly) -> bool:
        return all(c < 0 for c in value.terms.values()) and self._is_fraction(-value - 1, modulus)

    def rewritten(self, name: str) -> Poly:
        """The symbol, or what it is rewritten to."""
        return self.rewrites.get(name) or Poly.symbol(name)

    def with_quotient(self, name: str, divisor: Poly, least: int) -> Facts:
        """Know that `divisor` divides the size `name`: name becomes divisor*`name/divisor`, an integer >= least."""
        written = a.symbol_of(divisor) or (divisor.constant_term if divisor.is_constant else divisor.key)
        ((monomial, coefficient),) = divisor.terms.items()
        inverse = tuple((atom, -power) for atom, power in monomial)
        pairs = sorted((*inverse, (Symbol(name), 1)), key=lambda pair: pair[0].key)
        quotient = Poly({tuple(pairs): 1 / coefficient})
        label = a.spelled(f"{name}/{written}", quotient)
        replaced = divisor.substitute(self.rewrites) * Poly.symbol(label)
        extended = self.with_symbol(label, (Poly.constant(least),))
        rewrites = {old: value.substitute({name: replaced}) for old, value in self.rewrites.items()}
        quotients = {**self.quotients, label: quotient}
        return extended._rewriting({**rewrites, name: replaced}, quotients, self.powers)

    def with_whole(self, value: Poly, divisor: Poly, least: int = 1) -> Facts:
        """Know that `divisor` divides `value`, products of sizes; their quotient is a symbol of at least `least`."""
        quotient = value * divisor**-1
        rational = quotient.substitute(self.rewrites)
        extended = self.with_symbol(
            quotient.key, (Poly.constant(least), rational), (rational, value.substitute(self.rewrites))
        )
        quotients = {**self.quotients, a.spelled(quotient.key, quotient): quotient}
        return extended._rewriting(self.rewrites, quotients, self.powers)

    def divided(self, value: Poly, divisor: Poly) -> tuple[Poly, Poly]:
        """The sum of the terms that are multiples of quotients known to be integers, divided; and the other terms."""
        whole, rest = ZERO, ZERO
        if not self.quotients or len(divisor.terms) != 1:
            return whole, value
        for monomial, coefficient in value.terms.items():
            term = Poly({monomial: coefficient})
            known = self._multiple(term * divisor**-1)
            whole, rest = (whole, rest + term) if known is None else (whole + known, rest)
        return whole, rest

    def _multiple(self, share: Poly) -> Poly | None:
        """A quotient of products as an integer times a quotient that is known to be one."""
        for label, known in self.quotients.items():
            times = share * known.substitute(self.rewrites) ** -1
            if self.integral(times):
                return times * Poly.symbol(label)
        return None

    def with_value(self, name: str, value: Poly) -> Facts:
        """Know that a size is always an expression in others, which takes its place."""
        rewrites = {old: each.substitute({name: value}) for old, each in self.rewrites.items()}
        return self._rewriting({**rewrites, name: value}, self.quotients, self.powers)

    def with_power_of_two(self, name: str, every: int, least: int) -> Facts:
        """Know that the size `name` is 2^(every*k) for an integer k: k becomes the symbol `log2(name)`, the oldest.

        What relates other sizes to the power then bounds those sizes: r <= 2^k is a bound of r.
        """
        logarithm = Poly.of_atom(a.RealFunction("log2", Poly.symbol(name)))
        label = a.spelled(f"log2({name})", logarithm)
        exponent = Poly.symbol(label).scaled(every)
        replaced = a.exponential(2, exponent)
        extended = self.with_bounds({label: Bounds((Poly.constant(least),)), **self.bounds})
        rewrites = {old: value.substitute({name: replaced}) for old, value in self.rewrites.items()}
        quotients = {**self.quotients, label: logarithm / every}
        powers = (*self.powers, Power(name, label, every))
        return extended._rewriting({**rewrites, name: replaced}, quotients, powers)

    def restore(self, value: Poly) -> Poly:
        """Write sizes again for the symbols that `with_quotient` and `with_power_of_two` put in their place."""
        for power in self.powers:
            value = power.restored(value)
        return value.substitute(self.quotients) if self.quotients else value
