"""Holds what is known of the symbols, and proves that expressions are nonnegative under it.

Symbols are ordered by age: sizes first, then loop variables from the outermost in. Each has lower and upper bounds in
older symbols only, so that eliminating the youngest symbol first always ends. A proof replaces a symbol by a bound
that can only make the expression smaller; what remains at the end is a constant. A failed proof refutes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from itertools import islice, takewhile
from operator import attrgetter

from archline.algebra import atoms as a
from archline.algebra.bounds import (
    NO_BOUNDS,
    Bounds,
    PowerOfTwoSize,
    common_symbol_powers,
    derive_exponent_bound,
    derive_leaf_bound,
    least_common_multiple,
    make_primitive,
    round_bound_inward,
)
from archline.algebra.effort import Clock, is_out_of_time
from archline.algebra.polynomial import (
    ONE,
    ONE_MONOMIAL,
    RATIONAL_ONE,
    RATIONAL_ZERO,
    ZERO,
    Atom,
    Poly,
    Symbol,
)
from archline.algebra.prove.eliminate import (
    CORNER_OFFSETS,
    SPREAD_OFFSETS,
    EliminationSearch,
    SymbolBounds,
    Witness,
    split_power,
)
from archline.numbers import fmpq
from archline.records import field, record

_PARTS = attrgetter("parts")
MAX_INTEGRALITY_STEPS = 100
"""Steps of a proof by integrality; successful ones take a quarter of these."""
MAX_OVERTIME_STEPS = 20
"""Steps of a proof once the time of a command is up."""


class _AtomAges(dict[Atom, tuple[int, int, str]]):
    """A dictionary that computes the age of an atom, the sort key of `Facts.ages`, when it is first looked up."""

    def __init__(self, symbols: Iterable[str]) -> None:
        super().__init__()
        self._symbols = {name: index for index, name in enumerate(symbols)}

    def __missing__(self, atom: Atom) -> tuple[int, int, str]:
        youngest = max((self._symbols.get(name, len(self._symbols)) for name in atom.names), default=-1)
        self[atom] = age = youngest, 0 if isinstance(atom, Symbol) else 1 + len(atom.key), atom.key
        return age


@record(eq=False)
class Facts:
    """Facts about symbols: their bounds, in the order from the oldest symbol to the youngest, and divisibility.

    `rewrites` maps a size n that b divides to b*`n/b`, a symbol for the quotient; `quotients` maps that symbol back.
    `powers` lists the sizes that are powers of 2.
    """

    bounds: dict[str, Bounds] = field(default_factory=dict)
    rewrites: dict[str, Poly] = field(default_factory=dict)
    quotients: dict[str, Poly] = field(default_factory=dict)
    powers: tuple[PowerOfTwoSize, ...] = ()
    # Results of proofs and facts made from these facts, cached because derivations repeat queries.
    proved: dict[Poly, bool] = field(default_factory=dict, repr=False)
    # Results of proofs by the value before scaling, which saves scaling it.
    _asked: dict[Poly, bool] = field(default_factory=dict, repr=False)
    _extended: dict[tuple[str, tuple[Poly, ...], tuple[Poly, ...]], Facts] = field(default_factory=dict, repr=False)
    _taught: dict[Poly, Facts] = field(default_factory=dict, repr=False)
    _simplified: dict[Atom, Poly] = field(default_factory=dict, repr=False)
    # Results of other modules under these facts, by their keys; freed with the facts even if they refer to them.
    found: dict[object, object] = field(default_factory=dict, repr=False)
    # The youngest symbol, and the facts before it, which decide the same about values without it.
    _before: tuple[str, Facts] | None = field(default=None, repr=False)

    def make_unused_name(self, name: str) -> str:
        """Return the name, primed until no symbol has it."""
        while name in self.bounds:
            name += "'"
        return name

    # Extension
    def with_symbol(self, name: str, lower: Iterable[Poly] = (), upper: Iterable[Poly] = ()) -> Facts:
        """Add the youngest symbol with its bounds (both inclusive)."""
        key = name, tuple(lower), tuple(upper)
        facts = self._extended.get(key)
        if facts is None:
            bounds = {old: bound for old, bound in self.bounds.items() if old != name}
            bounds[name] = Bounds(*key[1:])
            before = None if name in self.bounds else (name, self)
            facts = Facts(bounds, self.rewrites, self.quotients, self.powers, _before=before)
            self._extended[key] = facts
        return facts

    def with_bounds(self, bounds: dict[str, Bounds]) -> Facts:
        """Return facts of the same divisibility with other bounds, of symbols from the oldest to the youngest.

        They share the proofs about the symbols before the first one that differs.
        """
        pairs = zip(self.bounds.items(), bounds.items(), strict=False)
        common = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
        facts = self
        while facts._before is not None and len(facts.bounds) > common:
            facts = facts._before[1]
        if len(facts.bounds) > common:
            return Facts(bounds, self.rewrites, self.quotients, self.powers)
        for name, ends in islice(bounds.items(), len(facts.bounds), None):
            facts = facts.with_symbol(name, ends.lower, ends.upper)
        return facts

    def without_younger_symbols(self, names: frozenset[str]) -> Facts:
        """Return the facts up to the youngest symbol in `names`; they decide the same about expressions in `names`."""
        facts = self
        while facts._before is not None and facts._before[0] not in names:
            facts = facts._before[1]
        return facts

    def without_cached_proofs(self) -> Facts:
        """Return equal facts without cached results of proofs."""
        before = self._before and (self._before[0], self._before[1].without_cached_proofs())
        return Facts(self.bounds, self.rewrites, self.quotients, self.powers, _before=before)

    def _with_rewrites(
        self, rewrites: dict[str, Poly], quotients: dict[str, Poly], powers: tuple[PowerOfTwoSize, ...]
    ) -> Facts:
        return Facts(self.bounds, rewrites, quotients, powers)

    def with_nonnegative(self, value: Poly) -> Facts:
        """Add the fact value >= 0 as a bound on its youngest symbol; if no bound follows, the facts are unchanged."""
        facts = self._taught.get(value)
        if facts is None:
            facts = self._taught[value] = self._with_nonnegative(value)
        return facts

    def _with_nonnegative(self, value: Poly) -> Facts:
        youngest = self._youngest_atom(value)
        if isinstance(youngest, a.Exponential):
            bound = derive_exponent_bound(value, youngest)
            return self if bound is None else self.with_nonnegative(bound)
        if isinstance(youngest, a.CeilLog2) and (bound := derive_leaf_bound(value, youngest)) is not None:
            return self.with_nonnegative(bound)
        if not isinstance(youngest, Symbol) or youngest.name not in self.bounds or value.degree(youngest) != 1:
            return self
        parts = value.coefficients(youngest)
        slope, rest = parts[1], parts.get(0, ZERO)
        bounds = self.bounds[youngest.name]
        if slope.is_constant:
            bound = round_bound_inward(rest.scaled(-1 / slope.constant_term), slope.constant_term > 0)
            changed = (
                Bounds((*bounds.lower, bound), bounds.upper)
                if slope.constant_term > 0
                else Bounds(bounds.lower, (*bounds.upper, bound))
            )
        elif self.nonnegative(slope - 1):
            # slope*v >= -rest -> v >= ceil(-rest/slope) for an integer v
            changed = Bounds((*bounds.lower, -a.floor_div(rest, slope)), bounds.upper)
        elif self.nonnegative(-slope - 1):
            changed = Bounds(bounds.lower, (*bounds.upper, a.floor_div(rest, -slope)))
        else:
            return self
        return self.with_bounds({**self.bounds, youngest.name: changed})._propagate_minimum(changed)

    def _propagate_minimum(self, bounds: Bounds) -> Facts:
        """Apply the constant lower bound of a symbol to older symbols that bound it from above."""
        facts, minimum = self, bounds.constant_bounds[False]
        if minimum is not None:
            for end in bounds.upper:
                older = a.find_single_atom(end)
                if isinstance(older, Symbol) and not facts.nonnegative(end - minimum):
                    facts = facts.with_nonnegative(end - minimum)
        return facts

    def with_nonnegative_in_any_order(self, value: Poly) -> Facts:
        """Add the fact value >= 0, even if it bounds only an older symbol: m^2 - c >= 0 bounds c but not m.

        Then c becomes the youngest, if no other symbol is bounded in terms of it.
        """
        youngest = self._youngest_atom(value)
        if not isinstance(youngest, Symbol) or youngest.name not in self.bounds or value.degree(youngest) == 1:
            return self.with_nonnegative(value)
        common = common_symbol_powers(value)
        if common and all(self.positive(Poly.of_atom(atom)) for atom, _ in common):
            without = Poly({tuple((atom, -power) for atom, power in common): RATIONAL_ONE})
            return self.with_nonnegative_in_any_order(value * without)
        if not all(isinstance(atom, Symbol) and atom.name in self.bounds for atom in value.atoms()):
            return self
        for atom in sorted(value.atoms(), key=self.ages.__getitem__, reverse=True):
            slope = value.coefficients(atom).get(1, ZERO)
            bounded = (end for name, bounds in self.bounds.items() for end in (*bounds.lower, *bounds.upper))
            if value.degree(atom) == 1 and slope.is_constant and not any(atom.key in end.names for end in bounded):
                rest = {name: bounds for name, bounds in self.bounds.items() if name != atom.key}
                return self.with_bounds({**rest, atom.key: self.bounds[atom.key]}).with_nonnegative(value)
        return self

    # Proofs
    def nonnegative(self, value: Poly) -> bool:
        """Test whether value >= 0 is proved."""
        proved = self.decide_sign_by_constants(value)
        if proved is None:
            proved = self._asked.get(value)
        if proved is None:
            proved = self._prove_nonnegative(make_primitive(value))
            if proved or not Clock.late:
                self._asked[value] = proved
        return proved

    def learn_nonnegative(self, value: Poly) -> None:
        """Record that value >= 0 holds under these facts, where that is known from how the value arose."""
        # Not for facts without the youngest symbols: that these have values at all may imply it.
        self._asked[value] = True

    def _prove_nonnegative(self, value: Poly) -> bool:
        facts = self.without_younger_symbols(value.names)
        proved = facts.proved.get(value)
        if proved is None:
            proved = not facts._corner.refutes(value)
            if proved and is_out_of_time():
                return EliminationSearch(facts, MAX_OVERTIME_STEPS).prove_nonnegative(value)
            proved = proved and (
                EliminationSearch(facts).prove_nonnegative(value) or facts._prove_by_integrality(value)
            )
            facts.proved[value] = proved
        return proved

    def decide_sign_by_constants(self, value: Poly) -> bool | None:
        """Decide d >= 0 or c*v + d >= 0 for numbers c, d and a symbol v, the most frequent queries; else None."""
        terms = value.terms
        rest = terms.get(ONE_MONOMIAL, RATIONAL_ZERO)
        if len(terms) != (2 if rest else 1):
            return rest.p >= 0 if len(terms) == bool(rest) else None
        for monomial, number in terms.items():
            if len(monomial) == 1 and monomial[0][1] == 1 and isinstance(monomial[0][0], Symbol):
                return self._decide_linear_by_constants(monomial[0][0].name, number, rest)
        return None

    def _decide_linear_by_constants(self, name: str, factor: fmpq, rest: fmpq) -> bool | None:
        """Decide factor*symbol + rest >= 0 by the constant bounds; None if other bounds may prove it."""
        bounds, falls = self.bounds.get(name, NO_BOUNDS), factor.p < 0
        end = bounds.constant_bounds[falls]
        if end is not None and (factor * end + rest).p >= 0:
            return True
        return False if bounds.all_constant[falls] else None

    def refutes(self, value: Poly) -> bool:
        """Test whether the value is negative at a sample point, so that no proof of value >= 0 exists."""
        facts = self.without_younger_symbols(value.names)
        return facts._corner.refutes(value) or any(witness.refutes(value) for witness in facts._offset_witnesses)

    @cached_property
    def _corner(self) -> Witness:
        """The point where all symbols are minimal, extended from the point of the facts without the youngest."""
        if self._before is not None:
            name, facts = self._before
            witness: Witness | None = vars(facts).get("_corner")
            if witness is not None:
                return witness.with_symbol((name, self.bounds[name].lower, self.bounds[name].upper))
        return Witness(CORNER_OFFSETS, self._symbol_bounds)

    @cached_property
    def _offset_witnesses(self) -> tuple[Witness, ...]:
        return tuple(Witness(offsets, self._symbol_bounds) for offsets in SPREAD_OFFSETS)

    @property
    def _symbol_bounds(self) -> Iterator[SymbolBounds]:
        return ((name, bounds.lower, bounds.upper) for name, bounds in self.bounds.items())

    def _prove_by_integrality(self, value: Poly) -> bool:
        """Prove that an integer is >= 0 by proving that it is > -1; each floor is less than 1 below its fraction."""
        moduli = {atom.modulus for atom in value.atoms() if isinstance(atom, a.Floor)}
        if not moduli or not a.is_integral(value):
            return False
        symbolic = [modulus for modulus in moduli if not modulus.is_constant]
        number = Poly.constant(
            least_common_multiple(modulus.constant_term for modulus in moduli if modulus.is_constant)
        )
        if len(symbolic) < len(moduli) and EliminationSearch(self, MAX_INTEGRALITY_STEPS).prove_nonnegative(
            value + 1 - number**-1
        ):
            return True
        if len(symbolic) != 1 or not self.positive(symbolic[0]):
            return False
        # Multiplied by the common modulus, the fractions become integers.
        scale = number * symbolic[0]
        return EliminationSearch(self, MAX_INTEGRALITY_STEPS).prove_nonnegative(value * scale + scale - 1)

    def positive(self, value: Poly) -> bool:
        """Test whether the integer `value` is proved to be at least 1."""
        return self.nonnegative(value - 1)

    @cached_property
    def ages(self) -> Mapping[Atom, tuple[int, int, str]]:
        """Sort keys of atoms: the youngest symbol inside, then depth; a composite is younger than its parts."""
        return _AtomAges(self.bounds)

    def _youngest_atom(self, value: Poly) -> Atom | None:
        return max(value.atoms(), key=self.ages.__getitem__, default=None)

    # Simplification
    def positive_part(self, value: Poly) -> Poly:
        """Return max(0, value), without the maximum where the sign is known."""
        if self.nonnegative(value):
            return value
        if self.nonnegative(-value):
            return ZERO
        cleared = self.clear_denominators(value)
        if cleared != value and self.nonnegative(cleared):
            return value
        return ZERO if cleared != value and self.nonnegative(-cleared) else a.positive_part(value)

    def clear_denominators(self, value: Poly) -> Poly:
        """Return the value times its denominators that are known to be positive, which keeps its sign.

        1 - 1/p -> p - 1
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
        """Return max(left, right), resolved if the facts decide it."""
        return right + self.positive_part(left - right)

    def minimum(self, left: Poly, right: Poly) -> Poly:
        """Return min(left, right), resolved if the facts decide it."""
        return left - self.positive_part(left - right)

    def simplify(self, value: Poly) -> Poly:
        """Resolve every maximum, floor and rounded logarithm that the facts decide."""
        return value.map_atoms(self._simplify_cached) if any(map(_PARTS, value.atoms())) else value

    def _simplify_cached(self, atom: Atom) -> Poly | None:
        simplified = self._simplified.get(atom)
        if simplified is None:
            if not atom.parts:
                return None
            facts = self.without_younger_symbols(atom.names)
            simplified = self._simplify_atom(atom) if facts is self else facts._simplify_cached(atom)
            assert simplified is not None
            self._simplified[atom] = simplified
        return simplified

    def _simplify_atom(self, atom: Atom) -> Poly:
        parts = tuple(self.simplify(part) for part in atom.parts)
        if isinstance(atom, a.PositivePart):
            return self.positive_part(parts[0])
        if isinstance(atom, a.Floor) and self._is_proper_fraction(parts[0], parts[1]):
            # floor(e/m) -> 0 for 0 <= e < m
            return ZERO
        if isinstance(atom, a.Floor) and self._is_negative_fraction(parts[0], parts[1]):
            # floor(-e/m) -> -1 for 1 <= e <= m
            return -ONE
        if isinstance(atom, a.Floor) and (quotients := self.split_known_multiples(parts[0], parts[1]))[0]:
            # floor((n + c)/b) -> `n/b` + floor(c/b) where b divides n
            return quotients[0] + self.simplify(a.floor_div(quotients[1], parts[1]))
        if isinstance(atom, a.Floor) and (power := self._divide_powers_of_two(parts[0], parts[1])) is not None:
            return power
        if isinstance(atom, a.Floor) and (taken := self._take_out_integers(parts[0], parts[1])) is not None:
            return taken
        if isinstance(atom, a.CeilLog2) and self.nonnegative(ONE - parts[0]):
            return ZERO
        if isinstance(atom, a.CeilLog2) and (level := self._resolve_log2_near_power(parts[0])) is not None:
            return level
        return atom.rebuild(parts)

    def _divide_powers_of_two(self, value: Poly, modulus: Poly) -> Poly | None:
        """Take terms c*2^x with a known x >= y out of a floor: floor((c*2^x + e)/2^y) -> c*2^(x - y) + floor(e/2^y).

        None if no term is of this form, or if `modulus` is not a power 2^y.
        """
        below = a.find_exponent_of_two(modulus)
        if below is None:
            return None
        whole, rest = ZERO, ZERO
        for monomial, coefficient in value.terms.items():
            exponent, cofactor = split_power(monomial)
            factor = Poly({cofactor: coefficient})
            if not exponent.is_constant and a.is_integral(factor) and self.nonnegative(exponent - below):
                whole = whole + factor * a.exponential(2, exponent - below)
            else:
                rest = rest + Poly({monomial: coefficient})
        return whole + self.simplify(a.floor_div(rest, modulus)) if whole else None

    def _take_out_integers(self, value: Poly, modulus: Poly) -> Poly | None:
        """Take terms that the modulus divides out of a floor, such as w*2^x/2*p with x >= 1 for a modulus p.

        None if no term with a power is divisible, or if the modulus is a number or a sum.
        """
        if len(modulus.terms) != 1 or modulus.is_constant:
            return None
        whole, rest = ZERO, ZERO
        for monomial, coefficient in value.terms.items():
            term = Poly({monomial: coefficient})
            quotient = term * modulus**-1
            if any(isinstance(atom, a.Exponential) for atom, _ in monomial) and self.integral(quotient):
                whole = whole + quotient
            else:
                rest = rest + term
        return whole + self.simplify(a.floor_div(rest, modulus)) if whole else None

    def _resolve_log2_near_power(self, value: Poly) -> Poly | None:
        """Resolve ceil(log2(2^x + c)) for an integer c: x + 1 if 1 <= c <= 2^x, x if 0 <= -c < 2^(x - 1).

        None if `value` is not such a sum 2^x + c, or if neither condition is proved.
        """
        offset = value.constant_term
        exponent = a.find_exponent_of_two(value - offset) if offset and offset.q == 1 else None
        if exponent is None or not a.is_integral(exponent):
            return None
        if offset > 0:
            return exponent + 1 if self.nonnegative(exponent - (int(offset.p) - 1).bit_length()) else None
        return exponent if self.nonnegative(exponent - 1 - int(-offset.p).bit_length()) else None

    def integral(self, value: Poly) -> bool:
        """Test whether the value is known to be an integer, by its form or from exponents of its powers of 2."""
        for monomial, coefficient in value.terms.items():
            term = Poly({monomial: coefficient})
            exponent, cofactor = split_power(monomial)
            twos = int(coefficient.q).bit_length() - 1
            if not a.is_integral(term) and not (
                int(coefficient.q) == 1 << twos
                and a.is_integral(Poly({cofactor: fmpq(1)}))
                and self.nonnegative(exponent - twos)
            ):
                return False
        return True

    def _is_proper_fraction(self, value: Poly, modulus: Poly) -> bool:
        return self.nonnegative(value) and self.nonnegative(modulus - 1 - value)

    def _is_negative_fraction(self, value: Poly, modulus: Poly) -> bool:
        return all(c < 0 for c in value.terms.values()) and self._is_proper_fraction(-value - 1, modulus)

    def rewrite_symbol(self, name: str) -> Poly:
        """Return the expression that a symbol is rewritten to, by default the symbol."""
        return self.rewrites.get(name) or Poly.symbol(name)

    def with_quotient(self, name: str, divisor: Poly, least: int) -> Facts:
        """Assume that `divisor` divides the size `name`; a new symbol >= `least` stands for the quotient."""
        written = a.find_single_symbol_name(divisor) or (divisor.constant_term if divisor.is_constant else divisor.key)
        ((monomial, coefficient),) = divisor.terms.items()
        inverse = tuple((atom, -power) for atom, power in monomial)
        pairs = sorted((*inverse, (Symbol(name), 1)), key=lambda pair: pair[0].key)
        quotient = Poly({tuple(pairs): 1 / coefficient})
        label = a.record_spelling(f"{name}/{written}", quotient)
        replacement = divisor.substitute(self.rewrites) * Poly.symbol(label)
        extended = self.with_symbol(label, (Poly.constant(least),))
        rewrites = {old: value.substitute({name: replacement}) for old, value in self.rewrites.items()}
        quotients = {**self.quotients, label: quotient}
        return extended._with_rewrites({**rewrites, name: replacement}, quotients, self.powers)

    def with_divisible_product(self, value: Poly, divisor: Poly, least: int = 1) -> Facts:
        """Assume that `divisor` divides `value`, products of sizes; their quotient is a symbol >= `least`."""
        quotient = value * divisor**-1
        rational = quotient.substitute(self.rewrites)
        extended = self.with_symbol(
            quotient.key, (Poly.constant(least), rational), (rational, value.substitute(self.rewrites))
        )
        quotients = {**self.quotients, a.record_spelling(quotient.key, quotient): quotient}
        return extended._with_rewrites(self.rewrites, quotients, self.powers)

    def split_known_multiples(self, value: Poly, divisor: Poly) -> tuple[Poly, Poly]:
        """Return the quotient of the terms that are multiples of known integer quotients, and the remaining terms."""
        whole, rest = ZERO, ZERO
        if not self.quotients or len(divisor.terms) != 1:
            return whole, value
        for monomial, coefficient in value.terms.items():
            term = Poly({monomial: coefficient})
            multiple = self._find_multiple(term * divisor**-1)
            whole, rest = (whole, rest + term) if multiple is None else (whole + multiple, rest)
        return whole, rest

    def _find_multiple(self, share: Poly) -> Poly | None:
        """Write `share`, a quotient of products, as an integer times a known integer quotient; else return None."""
        for label, quotient in self.quotients.items():
            factor = share * quotient.substitute(self.rewrites) ** -1
            if self.integral(factor):
                return factor * Poly.symbol(label)
        return None

    def with_value(self, name: str, value: Poly) -> Facts:
        """Assume that the size `name` always equals `value`, an expression in other sizes that then replaces it."""
        rewrites = {old: rewritten.substitute({name: value}) for old, rewritten in self.rewrites.items()}
        return self._with_rewrites({**rewrites, name: value}, self.quotients, self.powers)

    def with_power_of_two(self, name: str, every: int, least: int) -> Facts:
        """Assume that the size `name` is 2^(every*k) for an integer k >= `least`, the new oldest symbol `log2(name)`.

        Relations of other sizes to the power then bound these sizes: r <= 2^k is a bound of r.
        """
        logarithm = Poly.of_atom(a.RealFunction("log2", Poly.symbol(name)))
        label = a.record_spelling(f"log2({name})", logarithm)
        exponent = Poly.symbol(label).scaled(every)
        replacement = a.exponential(2, exponent)
        extended = self.with_bounds({label: Bounds((Poly.constant(least),)), **self.bounds})
        rewrites = {old: value.substitute({name: replacement}) for old, value in self.rewrites.items()}
        quotients = {**self.quotients, label: logarithm / every}
        powers = (*self.powers, PowerOfTwoSize(name, label, every))
        return extended._with_rewrites({**rewrites, name: replacement}, quotients, powers)

    def restore(self, value: Poly) -> Poly:
        """Replace the symbols that `with_quotient` and `with_power_of_two` introduced by the sizes."""
        for power in self.powers:
            value = power.restore_size(value)
        return value.substitute(self.quotients) if self.quotients else value
