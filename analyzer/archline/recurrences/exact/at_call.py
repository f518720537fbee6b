"""Evaluate an expression in a function's sizes at the sizes of a call, with logarithms in terms of the caller's.

Lower bounds have the minimum number of halvings of a size v until it is below k, ceil(log2(floor(v/k) + 1)): for
v >= k it is one less at floor(v/2), and so at least one less at either half of v. Upper bounds have the maximum number
of halvings until v is at most k, ceil(log2(ceil(v/k))): for v > k it is one less at ceil(v/2).
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from archline.algebra import atoms as a
from archline.algebra.polynomial import ONE, Poly, sum_polynomials
from archline.algebra.prove.logarithms import (
    LogarithmOrder,
    is_halving_count,
    make_log_symbol_name,
    match_maximum_halvings,
    match_minimum_halvings,
)
from archline.algebra.prove.prover import prove_never_negative
from archline.numbers import fmpq

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from archline.algebra.facts import Facts
    from archline.algebra.polynomial import Atom
    from archline.algebra.prove.logarithms import (
        Logarithm,
    )
    from archline.recurrences.model import SizeFunction


def build_min_halvings(size: Poly, end: Poly) -> Poly:
    """Return the minimum number of halvings of a size until it is below `end`."""
    return a.ceil_log2(a.floor_div(size, end) + 1)


def build_max_halvings(size: Poly, end: Poly) -> Poly:
    """Return the maximum number of halvings of a size until it is at most `end`."""
    return a.ceil_log2(a.ceil_div(size, end))


def replace_halvings_by_logs(value: Poly, facts: Facts) -> Poly:
    """Return a lower bound of a value: max(0, ceil(log2(v + 1)) - d) replaces halvings of v with factors >= 0."""
    replacements = {
        atom: _bound_halvings_by_log_below(floor.argument, floor.modulus)
        for atom, floor in _iterate_rising_halvings(value, facts)
    }
    return value.map_atoms(replacements.get) if replacements else value


def _bound_halvings_by_log_below(size: Poly, end: Poly) -> Poly:
    return a.positive_part(a.ceil_log2(size + 1) - a.ceil_log2(end))


def replace_halvings_by_ratio(value: Poly, facts: Facts) -> Poly:
    """Return a lower bound of a value: ceil(log2(v + 1))/(d + 1) replaces halvings of v >= k, for d = ceil(log2(k)).

    With x = ceil(log2(v + 1)) it is at most 1 for x <= d + 1 and at most x - d above, and grows as the number does.
    """
    replacements = {
        atom: a.ceil_log2(floor.argument + 1) / (a.ceil_log2(floor.modulus).constant_term + 1)
        for atom, floor in _iterate_rising_halvings(value, facts)
        if facts.nonnegative(floor.argument.substitute(facts.rewrites) - floor.modulus)
    }
    return value.map_atoms(replacements.get) if replacements else value


def bound_below_at_foreign_call(value: Poly, facts: Facts, sizes: Mapping[str, Poly], caller_facts: Facts) -> Poly:
    """Return a lower bound of a value at the sizes of a call from another function, under `caller_facts`.

    If an argument is about half of a size or more, its number of halvings is at least that of the size less 1; for
    other arguments a lower bound by logarithms replaces it.
    """
    halvings_of = dict(_iterate_rising_halvings(value, facts))
    names = {atom: f"halvings {index}" for index, atom in enumerate(halvings_of)}
    bounds = {
        names[atom]: _bound_halvings_of_part_below(
            caller_facts.simplify(floor.argument.substitute(sizes)), floor.modulus, caller_facts
        )
        for atom, floor in halvings_of.items()
    }
    symbols = {atom: Poly.symbol(name) for atom, name in names.items()}
    return value.map_atoms(symbols.get).substitute({**sizes, **bounds})


def _bound_halvings_of_part_below(size: Poly, end: Poly, facts: Facts) -> Poly:
    for whole in map(Poly.symbol, sorted(size.names)):
        if size != whole and facts.nonnegative(whole - end) and facts.nonnegative(size.scaled(2) - whole + 1):
            return build_min_halvings(whole, end) - 1
    return _bound_halvings_by_log_below(size, end)


def _iterate_rising_halvings(value: Poly, facts: Facts) -> Iterator[tuple[Atom, a.Floor]]:
    """Iterate over the minimum numbers of halvings in a value whose factors are proved to be at least 0."""
    for atom in sorted(value.atoms(), key=lambda candidate: candidate.key):
        floor = match_minimum_halvings(atom)
        if floor is None:
            continue
        parts = value.coefficients(atom)
        slopes = [part.substitute(facts.rewrites) for power, part in parts.items() if power]
        if min(parts) >= 0 and slopes and all(map(facts.nonnegative, slopes)):
            yield atom, floor


def bound_halvings_at_call(atom: Atom, sizes: Mapping[str, Poly], facts: Facts) -> Poly | None:
    """Bound a number of halvings at a call: a minimum one from below, a maximum one from above; None if unknown."""
    number = Poly.of_atom(atom)
    lower_floor, upper_floor = match_minimum_halvings(atom), match_maximum_halvings(atom)
    if lower_floor is not None:
        size = lower_floor.argument
        size_at_call = facts.simplify(size.substitute(sizes))
        if size_at_call == size:
            return number
        return number - 1 if facts.nonnegative(size_at_call.scaled(2) - size + 1) else None
    if upper_floor is not None:
        size, end = upper_floor.argument + 1 - upper_floor.modulus, upper_floor.modulus
        size_at_call = facts.simplify(size.substitute(sizes))
        if facts.nonnegative(size + 1 - size_at_call.scaled(2)) and facts.nonnegative(size - end - 1):
            return number - 1
        return number if facts.nonnegative(size - size_at_call) else None
    return None


TWO = Poly.constant(2)
MAX_COMPARED_HALVINGS, MAX_FULLY_PROVED_HALVINGS = 4, 2


MAX_DENOMINATOR = 32
"""The largest denominator of a fraction that approximates a logarithm."""
LOGARITHM_SHARES = tuple(
    fmpq(part, whole)
    for part, whole in (
        *((1, 16), (1, 8), (1, 4), (1, 3), (2, 5), (1, 2), (3, 5), (2, 3), (3, 4)),
        *((4, 5), (5, 6), (7, 8), (9, 10), (15, 16), (31, 32), (1, 1)),
    )
)


def bound_log2_below(number: fmpq) -> fmpq:
    """Return the largest fraction with a small denominator that is at most log2(number), for a number >= 1."""
    # 2^p <= x^q if and only if 2^p is at most the integer part of x^q.
    candidates = (fmpq(int((number**q).floor()).bit_length() - 1, q) for q in range(1, MAX_DENOMINATOR + 1))
    return max(candidates)


def bound_log2_above(number: fmpq) -> fmpq:
    """Return the smallest fraction with a small denominator that is at least log2(number), for a number >= 1."""
    candidates = (fmpq((int((number**q).ceil()) - 1).bit_length(), q) for q in range(1, MAX_DENOMINATOR + 1))
    return min(candidates)


def bound_log_decrease_below(whole: Poly, part: Poly, facts: Facts) -> fmpq | None:
    """Return a proved lower bound of log2(whole) - log2(part), of two values above 0; None if it may be below 0."""
    share = next((share for share in LOGARITHM_SHARES if prove_never_negative(whole.scaled(share) - part, facts)), None)
    return None if share is None else bound_log2_below(1 / share)


def bound_log_decrease_above(whole: Poly, part: Poly, facts: Facts) -> fmpq | None:
    """Return a proved upper bound of log2(whole) - log2(part), of two values above 0; None if there is none."""
    share = next(
        (share for share in reversed(LOGARITHM_SHARES) if prove_never_negative(part - whole.scaled(share), facts)), None
    )
    return None if share is None else bound_log2_above(1 / share)


class NotComparableError(Exception):
    """Raised if an expression at the sizes of a call cannot be written in terms of the caller's sizes."""


def compute_symbol_values_in_call(function: SizeFunction, arguments: tuple[Poly, ...]) -> Mapping[str, Poly]:
    """Return the values in a call of the function's symbols: sizes, and the quotients and exponents that express them.

    Raises NotComparableError if the argument for a size that is declared to be a power of 2 does not have that form.
    """
    sizes = dict(zip(function.parameters, arguments, strict=True))
    facts = function.facts
    for power in facts.powers:
        exponent = a.find_exponent_of_two(sizes[power.name])
        if exponent is None:
            raise NotComparableError
        sizes[power.exponent] = exponent / power.every
    for label, quotient in facts.quotients.items():
        if label not in sizes:
            sizes[label] = quotient.substitute(sizes)
    return sizes


class CallContext(LogarithmOrder):
    """Writes expressions in the sizes at a recursive call in symbols of the caller.

    Bounded symbols replace logarithms that have no exact form.
    """

    def __init__(self, facts: Facts, references: tuple[Poly, ...], tangents: bool = False) -> None:
        super().__init__(facts, tangents)
        self._references = references
        self._bounded, self._known, self._signs = set[str](), dict[str, Poly](), dict[Poly, Poly]()
        self._place = cache(self._replace_atom)

    def express_at_call(self, value: Poly, sizes: Mapping[str, Poly]) -> Poly:
        """Return the value at the sizes of a call; numbers of halvings are replaced by lower or upper bounds.

        Only lower bounds have minimum numbers of halvings, and only upper bounds maximum ones; their factors are never
        negative. Raises NotComparableError if the number of halvings at the call has no proved bound.
        """
        halvings_atoms = [atom for atom in value.atoms() if is_halving_count(atom)]
        if not halvings_atoms or not sizes:
            # Most sizes are unchanged, and so are expressions of these.
            moved = {name: result for name, result in sizes.items() if a.find_single_symbol_name(result) != name}
            return self._replace_atoms(self.facts.simplify(value.substitute(moved)))
        names = {atom: f"halvings {index}" for index, atom in enumerate(halvings_atoms)}
        numbers = {names[atom]: bound_halvings_at_call(atom, sizes, self.facts) for atom in halvings_atoms}
        if any(bound is None for bound in numbers.values()):
            raise NotComparableError
        symbols = {atom: Poly.symbol(name) for atom, name in names.items()}
        result = self._replace_atoms(self.facts.simplify(value.map_atoms(symbols.get).substitute(sizes)))
        return result.substitute({name: bound for name, bound in numbers.items() if bound is not None})

    def _replace_atoms(self, value: Poly) -> Poly:
        return value.map_atoms(self._place)

    def _replace_atom(self, atom: Atom) -> Poly | None:
        if isinstance(atom, a.CeilLog2):
            return None if atom.argument in self._references else self._express_logarithm(atom)
        if not atom.parts:
            return None
        parts = tuple(self._replace_atoms(part) for part in atom.parts)
        if isinstance(atom, a.Exponential) and parts != atom.parts and not parts[0].names.isdisjoint(self._bounded):
            # A bound of the exponent is too weak for the power.
            raise NotComparableError
        if isinstance(atom, a.PositivePart):
            return self._decide_maximum(parts[0])
        return None if parts == atom.parts else atom.rebuild(parts)

    def _decide_maximum(self, value: Poly) -> Poly:
        """Return max(0, value), decided if its sign is proved, by remainders too: n >= 17 implies ceil(n/2) >= 9."""
        if value not in self._signs:
            low, high = (prove_never_negative(difference, self.facts) for difference in (value, -value))
            self._signs[value] = value if low else Poly.constant(0) if high else a.positive_part(value)
        return self._signs[value]

    # Logarithms of sizes that calls do not halve
    def write_logarithm(self, atom: Logarithm) -> Poly:
        """Return a symbol for the logarithm of an integer >= 1. Raises NotComparableError if it may be less than 1."""
        if isinstance(atom, a.CeilLog2):
            return self._make_log_symbol(atom)
        argument = atom.argument
        if make_log_symbol_name(atom) not in self.facts.bounds:
            if not self.facts.nonnegative(argument - 1):
                raise NotComparableError
            lower, upper = [Poly.constant(max(0, self._find_minimum_level(argument + 1) - 1))], [argument - 1]
            if (maximum := self._find_maximum_level(argument)) is not None:
                upper.append(Poly.constant(maximum))
            self._add_ordered(atom, lower, upper)
        return Poly.symbol(make_log_symbol_name(atom))

    def write_logarithm_at_call(self, atom: Logarithm, sizes: Mapping[str, Poly]) -> Poly:
        """Return a symbol for a logarithm at a call, bounded by the caller's logarithm. Raises NotComparableError."""
        argument, logarithm = atom.argument, self.write_logarithm(atom)
        argument_at_call = self.facts.simplify(argument.substitute(sizes))
        if argument_at_call == argument:
            return logarithm
        name = f"{atom.key} at {argument_at_call.key}"
        if name not in self.facts.bounds:
            if not prove_never_negative(argument_at_call - 1, self.facts):
                raise NotComparableError
            low, high = (
                fall(argument, argument_at_call, self.facts)
                for fall in (bound_log_decrease_below, bound_log_decrease_above)
            )
            if low is None:
                raise NotComparableError
            if isinstance(atom, a.CeilLog2):
                # With x <= y/2^s for an integer s, ceil(log2(x)) <= ceil(log2(y)) - s.
                low, high = fmpq(low.floor()), None if high is None else fmpq(high.ceil())
            lower = [Poly.constant(0), *([] if high is None else [logarithm - high])]
            self.facts = self.facts.with_symbol(name, lower, [logarithm - low])
        return Poly.symbol(name)

    def write_indicator(self, value: Poly) -> Poly:
        """Return a symbol for an indicator, or its value if the facts decide it."""
        value = self.facts.simplify(value)
        if value.is_constant:
            return value
        name = f"is({value.key})"
        if name not in self.facts.bounds:
            self.facts = self.facts.with_symbol(name, [Poly.constant(0)], [Poly.constant(1)])
        return Poly.symbol(name)

    def _express_logarithm(self, atom: a.CeilLog2) -> Poly:
        name = make_log_symbol_name(atom)
        if name in self._known:
            return self._known[name]
        if name not in self.facts.bounds:
            halved = self._find_halved_size(atom.argument)
            lower, upper = [Poly.constant(0)], []
            for reference in (*self._references, *_iterate_comparison_powers(atom.argument)):
                above, below = (
                    self._compare_halvings(atom.argument, reference)
                    if halved is None
                    else self._bound_halved_logarithm(halved, reference)
                )
                logarithm = self.facts.simplify(a.ceil_log2(reference))
                if above is not None and above == below:
                    self._known[name] = logarithm - above
                    return self._known[name]
                if above is not None:
                    upper.append(logarithm - above)
                if below is not None:
                    lower.append(logarithm - below)
            # Each bound is added with the logarithms themselves, and with the symbols of `ordered` for them.
            lower, upper = ([*bounds, *map(self.replace_logarithms, bounds)] for bounds in (lower, upper))
            self.facts = self.facts.with_symbol(name, lower, upper)
            self._bounded.add(name)
        return Poly.symbol(name)

    def _find_halved_size(self, value: Poly) -> Poly | None:
        """Return x if the value is ceil(x/2), x >= 2 a size plus a number; its logarithm is that of x less 1.

        None if the value is of another form, or if x >= 2 is not proved.
        """
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
        return whole if a.find_single_symbol_name(plain) and self.facts.nonnegative(whole - 2) else None

    def _bound_halved_logarithm(self, whole: Poly, reference: Poly) -> tuple[int | None, int | None]:
        """Return j and i, or None, with log(reference) - i <= log(whole) - 1 <= log(reference) - j, log rounded up."""
        difference = whole - reference
        if not difference.is_constant:
            return None, None
        facts = self.facts
        if not difference:
            return 1, 1
        if difference.constant_term < 0:
            return 1, 2 if facts.nonnegative(whole.scaled(2) - reference) else None
        return 0 if facts.nonnegative(reference.scaled(2) - whole) else None, 1

    def _compare_halvings(self, value: Poly, reference: Poly) -> tuple[int | None, int | None]:
        """Return the largest j with value <= ceil(reference/2^j) proved, and the smallest j with value >= it proved.

        Each is None if nothing is proved.
        """
        facts = self.facts
        above = below = None
        smaller = True
        for count in range(MAX_COMPARED_HALVINGS + 1):
            part = facts.simplify(a.ceil_div(reference, Poly.constant(1 << count)))
            proved = (
                prove_never_negative
                if count <= MAX_FULLY_PROVED_HALVINGS
                else lambda value, facts: facts.nonnegative(value)
            )
            # A value that is above one part is above all smaller ones.
            smaller = smaller and (count == 0 or facts.nonnegative(reference - (1 << (count - 1)) - 1))
            smaller = smaller and proved(part - value, facts)
            if smaller:
                above = count
            if below is None and proved(value - part, facts):
                below = count
            if below is not None and not smaller:
                break
        return above, below


def _iterate_comparison_powers(value: Poly) -> Iterator[Poly]:
    """Iterate over the powers of 2 in a value, and their multiples by 2^MAX_COMPARED_HALVINGS, to compare with."""
    for power in map(Poly.of_atom, value.atoms_within()):
        if a.find_exponent_of_two(power) is not None:
            yield from (power, power.scaled(1 << MAX_COMPARED_HALVINGS))


def build_reference_arguments(function: SizeFunction) -> tuple[Poly, ...]:
    """Return the arguments of the logarithms that bound others: sizes, and their sum if data splits it, plus constants.

    If calls split exponents of powers, these replace the sizes.
    """
    plain = [Poly.symbol(name) for name in function.sizes or function.shared_exponents]
    if len(plain) > 1 and any(equation.data for equation in function.equations):
        plain.append(sum_polynomials(plain))
    maximum_offset = 2 if len(plain) == 1 else 1
    return tuple(size + offset for size in plain for offset in range(maximum_offset + 1))
