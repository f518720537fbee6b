"""An expression in a function's sizes at the sizes of a call, with its logarithms in terms of the caller's.

A size v is halved at least ceil(log2(floor(v/k) + 1)) times until it is below k, a term of lower bounds. At floor(v/2)
that is one less where v >= k, and so at least that at either half of v. Until it is at most k, it is halved
ceil(log2(ceil(v/k))) times at most, a term of upper bounds: one less at ceil(v/2) where v > k.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache

from archline.algebra import atoms as a
from archline.algebra.facts import Facts
from archline.algebra.polynomial import ONE, Atom, Poly, total
from archline.algebra.prove.logarithms import (
    Logarithm,
    LogarithmOrder,
    counted,
    counted_at_most,
    counts_halvings,
    symbol_name,
)
from archline.algebra.prove.prover import never_negative
from archline.numbers import fmpq
from archline.recurrences.model import SizeFunction


def halvings(size: Poly, end: Poly) -> Poly:
    """How often a size is halved until it is below `end`, at least."""
    return a.ceil_log2(a.floor_div(size, end) + 1)


def most_halvings(size: Poly, end: Poly) -> Poly:
    """How often a size is halved until it is at most `end`, at most."""
    return a.ceil_log2(a.ceil_div(size, end))


def without_halvings(value: Poly, facts: Facts) -> Poly:
    """What a value is at least, with ceil(log2(v + 1)) less a number in the place of what it grows with."""
    less = {atom: _less_halvings(floor.argument, floor.modulus) for atom, floor in _grows_with(value, facts)}
    return value.map_atoms(less.get) if less else value


def _less_halvings(size: Poly, end: Poly) -> Poly:
    return a.positive_part(a.ceil_log2(size + 1) - a.ceil_log2(end))


def in_logarithms(value: Poly, facts: Facts) -> Poly:
    """What a value is at least, with ceil(log2(v + 1))/(d + 1) where v >= k is known, d = ceil(log2(k)).

    That is at most 1 up to d + 1, and above that at most ceil(log2(v + 1)) - d; it grows as the number of halvings.
    """
    less = {
        atom: a.ceil_log2(floor.argument + 1) / (a.ceil_log2(floor.modulus).constant_term + 1)
        for atom, floor in _grows_with(value, facts)
        if facts.nonnegative(floor.argument.substitute(facts.rewrites) - floor.modulus)
    }
    return value.map_atoms(less.get) if less else value


def at_halves(value: Poly, facts: Facts, given: Mapping[str, Poly], there: Facts) -> Poly:
    """What a value is at least at the sizes of a call from another function, of which `there` is known.

    Of a part of a size that has about half of it, the number of halvings is that of the size less 1 at least; of other
    sizes what stands for it is taken.
    """
    found = dict(_grows_with(value, facts))
    names = {atom: f"halvings {index}" for index, atom in enumerate(found)}
    less = {
        names[atom]: _of_half(there.simplify(floor.argument.substitute(given)), floor.modulus, there)
        for atom, floor in found.items()
    }
    symbols = {atom: Poly.symbol(name) for atom, name in names.items()}
    return value.map_atoms(symbols.get).substitute({**given, **less})


def _of_half(size: Poly, end: Poly, facts: Facts) -> Poly:
    for whole in map(Poly.symbol, sorted(size.names)):
        if size != whole and facts.nonnegative(whole - end) and facts.nonnegative(size.scaled(2) - whole + 1):
            return halvings(whole, end) - 1
    return _less_halvings(size, end)


def _grows_with(value: Poly, facts: Facts) -> Iterator[tuple[Atom, a.Floor]]:
    """The numbers of halvings all of whose powers have factors that are known to be at least 0."""
    for atom in sorted(value.atoms(), key=lambda each: each.key):
        floor = counted(atom)
        if floor is None:
            continue
        parts = value.coefficients(atom)
        slopes = [part.substitute(facts.rewrites) for power, part in parts.items() if power]
        if min(parts) >= 0 and slopes and all(map(facts.nonnegative, slopes)):
            yield atom, floor


def halvings_at_call(atom: Atom, given: Mapping[str, Poly], facts: Facts) -> Poly | None:
    """What a number of halvings is at least, or at most, at the sizes of a call; None where that is not known."""
    number = Poly.of_atom(atom)
    least, most = counted(atom), counted_at_most(atom)
    if least is not None:
        size = least.argument
        there = facts.simplify(size.substitute(given))
        if there == size:
            return number
        return number - 1 if facts.nonnegative(there.scaled(2) - size + 1) else None
    if most is not None:
        size, end = most.argument + 1 - most.modulus, most.modulus
        there = facts.simplify(size.substitute(given))
        if facts.nonnegative(size + 1 - there.scaled(2)) and facts.nonnegative(size - end - 1):
            return number - 1
        return number if facts.nonnegative(size - there) else None
    return None


TWO = Poly.constant(2)
MAX_HALVINGS, MAX_RESOLVED = 4, 2


MAX_DENOMINATOR = 32
"""The largest denominator."""
SHARES = tuple(
    fmpq(part, whole)
    for part, whole in (
        *((1, 16), (1, 8), (1, 4), (1, 3), (2, 5), (1, 2), (3, 5), (2, 3), (3, 4)),
        *((4, 5), (5, 6), (7, 8), (9, 10), (15, 16), (31, 32), (1, 1)),
    )
)


def log2_lower_fraction(number: fmpq) -> fmpq:
    """The greatest fraction with a small denominator that is at most log2(number), for a number >= 1."""
    # 2^p <= x^q just if 2^p is at most the integer part of x^q.
    tried = (fmpq(int((number**q).floor()).bit_length() - 1, q) for q in range(1, MAX_DENOMINATOR + 1))
    return max(tried)


def log2_upper_fraction(number: fmpq) -> fmpq:
    """The least fraction with a small denominator that is at least log2(number), for a number >= 1."""
    tried = (fmpq((int((number**q).ceil()) - 1).bit_length(), q) for q in range(1, MAX_DENOMINATOR + 1))
    return min(tried)


def least_fall(whole: Poly, part: Poly, facts: Facts) -> fmpq | None:
    """What log2(whole) - log2(part) is proved to be at least, of two values above 0; None where it may be below 0."""
    share = next((each for each in SHARES if never_negative(whole.scaled(each) - part, facts)), None)
    return None if share is None else log2_lower_fraction(1 / share)


def most_fall(whole: Poly, part: Poly, facts: Facts) -> fmpq | None:
    """What it is proved to be at most."""
    share = next((each for each in reversed(SHARES) if never_negative(part - whole.scaled(each), facts)), None)
    return None if share is None else log2_upper_fraction(1 / share)


class NotComparableError(Exception):
    """The sizes of a call are not of the form that the function's sizes have."""


def sizes_of_call(function: SizeFunction, arguments: tuple[Poly, ...]) -> Mapping[str, Poly]:
    """What the function's symbols stand for in a call: its sizes, and the quotients and exponents it is written in.

    Raises NotComparableError where an argument is not known to be the multiple or power that the declaration promises.
    """
    given = dict(zip(function.parameters, arguments, strict=True))
    facts = function.facts
    for power in facts.powers:
        exponent = a.exponent_of_two(given[power.name])
        if exponent is None:
            raise NotComparableError
        given[power.exponent] = exponent / power.every
    for label, quotient in facts.quotients.items():
        if label not in given:
            given[label] = quotient.substitute(given)
    return given


class CallContext(LogarithmOrder):
    """Writes expressions at calls from one case; logarithms that it cannot place exactly become symbols with bounds."""

    def __init__(self, facts: Facts, references: tuple[Poly, ...], tangents: bool = False) -> None:
        super().__init__(facts, tangents)
        self._references = references
        self._bounded, self._known, self._signs = set[str](), dict[str, Poly](), dict[Poly, Poly]()
        self._place = cache(self._there)

    def at(self, value: Poly, given: Mapping[str, Poly]) -> Poly:
        """The value with the sizes of the call; numbers of halvings as what they are at least, or at most.

        Those at least are in lower bounds alone, those at most in upper ones, and their factors are never negative.
        Raises NotComparableError where a call may have less than half.
        """
        found = [atom for atom in value.atoms() if counts_halvings(atom)]
        if not found or not given:
            # Most sizes stay as they are, and so does what is made of these alone.
            moved = {name: there for name, there in given.items() if a.symbol_of(there) != name}
            return self._placed(self.facts.simplify(value.substitute(moved)))
        names = {atom: f"halvings {index}" for index, atom in enumerate(found)}
        numbers = {names[atom]: halvings_at_call(atom, given, self.facts) for atom in found}
        if any(each is None for each in numbers.values()):
            raise NotComparableError
        symbols = {atom: Poly.symbol(name) for atom, name in names.items()}
        there = self._placed(self.facts.simplify(value.map_atoms(symbols.get).substitute(given)))
        return there.substitute({name: each for name, each in numbers.items() if each is not None})

    def _placed(self, value: Poly) -> Poly:
        return value.map_atoms(self._place)

    def _there(self, atom: Atom) -> Poly | None:
        if isinstance(atom, a.CeilLog2):
            return None if atom.argument in self._references else self._logarithm(atom)
        if not atom.parts:
            return None
        parts = tuple(self._placed(part) for part in atom.parts)
        if isinstance(atom, a.Exponential) and parts != atom.parts and not parts[0].names.isdisjoint(self._bounded):
            # A bound of the exponent says too little of the power.
            raise NotComparableError
        if isinstance(atom, a.PositivePart):
            return self._positive(parts[0])
        return None if parts == atom.parts else atom.rebuild(parts)

    def _positive(self, value: Poly) -> Poly:
        """max(0, value), decided by remainders too: ceil(n/2) is at least 9 where n is at least 17."""
        if value not in self._signs:
            low, high = (never_negative(each, self.facts) for each in (value, -value))
            self._signs[value] = value if low else Poly.constant(0) if high else a.positive_part(value)
        return self._signs[value]

    # Logarithms that fall by an uneven part
    def falling(self, atom: Logarithm) -> Poly:
        """A symbol for the logarithm of an integer >= 1. Raises NotComparableError where that may be less."""
        if isinstance(atom, a.CeilLog2):
            return self._reference(atom)
        argument = atom.argument
        if symbol_name(atom) not in self.facts.bounds:
            if not self.facts.nonnegative(argument - 1):
                raise NotComparableError
            lower, upper = [Poly.constant(max(0, self._least(argument + 1) - 1))], [argument - 1]
            if (most := self._most(argument)) is not None:
                upper.append(Poly.constant(most))
            self._with_ordered(atom, lower, upper)
        return Poly.symbol(symbol_name(atom))

    def falling_at(self, atom: Logarithm, given: Mapping[str, Poly]) -> Poly:
        """The same at the sizes of a call: a symbol between what the caller's own loses at least and at most."""
        argument, own = atom.argument, self.falling(atom)
        there = self.facts.simplify(argument.substitute(given))
        if there == argument:
            return own
        name = f"{atom.key} at {there.key}"
        if name not in self.facts.bounds:
            if not never_negative(there - 1, self.facts):
                raise NotComparableError
            least, most = (fall(argument, there, self.facts) for fall in (least_fall, most_fall))
            if least is None:
                raise NotComparableError
            if isinstance(atom, a.CeilLog2):
                # With x <= y/2^s for an integer s, ceil(log2(x)) <= ceil(log2(y)) - s.
                least, most = fmpq(least.floor()), None if most is None else fmpq(most.ceil())
            lower = [Poly.constant(0), *([] if most is None else [own - most])]
            self.facts = self.facts.with_symbol(name, lower, [own - least])
        return Poly.symbol(name)

    def indicator(self, value: Poly) -> Poly:
        """1 or 0 where the facts decide an indicator, else a symbol for it."""
        value = self.facts.simplify(value)
        if value.is_constant:
            return value
        name = f"is({value.key})"
        if name not in self.facts.bounds:
            self.facts = self.facts.with_symbol(name, [Poly.constant(0)], [Poly.constant(1)])
        return Poly.symbol(name)

    def _logarithm(self, atom: a.CeilLog2) -> Poly:
        name = symbol_name(atom)
        if name in self._known:
            return self._known[name]
        if name not in self.facts.bounds:
            whole = self._halved(atom.argument)
            lower, upper = [Poly.constant(0)], []
            for reference in (*self._references, *_powers_in(atom.argument)):
                above, below = (
                    self._halvings(atom.argument, reference) if whole is None else self._beside(whole, reference)
                )
                logarithm = self.facts.simplify(a.ceil_log2(reference))
                if above is not None and above == below:
                    self._known[name] = logarithm - above
                    return self._known[name]
                if above is not None:
                    upper.append(logarithm - above)
                if below is not None:
                    lower.append(logarithm - below)
            # As they are, and in the symbols that `ordered` writes.
            lower, upper = ([*ends, *map(self.ordered, ends)] for ends in (lower, upper))
            self.facts = self.facts.with_symbol(name, lower, upper)
            self._bounded.add(name)
        return Poly.symbol(name)

    def _halved(self, value: Poly) -> Poly | None:
        """The x of a value ceil(x/2), x a size and a number, at least 2: its logarithm is then that of x less 1."""
        floors = [atom for atom in value.atoms() if isinstance(atom, a.Floor)]
        if len(floors) != 1 or floors[0].modulus != TWO:
            return None
        (floor,) = floors
        parts = value.coefficients(floor)
        inside, sign, rest = floor.argument, parts[1], parts.get(0, Poly.constant(0))
        if set(parts) - {0, 1} or not sign.is_constant or abs(sign.constant_term) != 1:
            return None
        # floor(y/2) + t is ceil((y - 1)/2 + t), and v - floor(y/2) + t is ceil((2*v - y)/2 + t).
        whole = inside - 1 + rest.scaled(2) if sign == ONE else rest.scaled(2) - inside
        plain = whole - whole.constant_term
        return whole if a.symbol_of(plain) and self.facts.nonnegative(whole - 2) else None

    def _beside(self, whole: Poly, reference: Poly) -> tuple[int | None, int | None]:
        """Numbers j with ceil(log2(whole)) - 1 at most, and at least, that of the reference less j."""
        apart = whole - reference
        if not apart.is_constant:
            return None, None
        facts = self.facts
        if not apart:
            return 1, 1
        if apart.constant_term < 0:
            return 1, 2 if facts.nonnegative(whole.scaled(2) - reference) else None
        return 0 if facts.nonnegative(reference.scaled(2) - whole) else None, 1

    def _halvings(self, value: Poly, reference: Poly) -> tuple[int | None, int | None]:
        """The most j with value <= ceil(reference/2^j), where that has at least 2 halves, and the least with >=."""
        facts = self.facts
        above = below = None
        smaller = True
        for count in range(MAX_HALVINGS + 1):
            part = facts.simplify(a.ceil_div(reference, Poly.constant(1 << count)))
            proved = never_negative if count <= MAX_RESOLVED else lambda value, facts: facts.nonnegative(value)
            # What is more than some part is more than all further ones.
            smaller = smaller and (count == 0 or facts.nonnegative(reference - (1 << (count - 1)) - 1))
            smaller = smaller and proved(part - value, facts)
            if smaller:
                above = count
            if below is None and proved(value - part, facts):
                below = count
            if below is not None and not smaller:
                break
        return above, below


def _powers_in(value: Poly) -> Iterator[Poly]:
    """The powers of two in a value, of whose exponents nothing is a reference, and larger ones with these exponents."""
    for power in map(Poly.of_atom, value.atoms_within()):
        if a.exponent_of_two(power) is not None:
            yield from (power, power.scaled(1 << MAX_HALVINGS))


def log_references(function: SizeFunction) -> tuple[Poly, ...]:
    """What logarithms are taken of, and one more: each size that is no power, their sum where data splits it.

    Where calls share out the exponents of powers, those are in the place of sizes.
    """
    plain = [Poly.symbol(name) for name in function.sizes or function.shared_exponents]
    if len(plain) > 1 and any(equation.data for equation in function.equations):
        plain.append(total(plain))
    most = 2 if len(plain) == 1 else 1
    return tuple(each + more for each in plain for more in range(most + 1))
