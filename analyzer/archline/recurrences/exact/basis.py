"""What a closed form may be made of: products of sizes, their logarithms, and powers that a recursion multiplies up."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import combinations_with_replacement
from itertools import product as pairs

from archline.algebra import atoms as a
from archline.algebra.bounds import Power
from archline.algebra.evaluate.exact import evaluate
from archline.algebra.polynomial import ONE, Monomial, Poly, Symbol, product, rational, total
from archline.algebra.prove.logarithms import Logarithm
from archline.numbers import fmpq
from archline.records import record
from archline.recurrences.exact.at_call import (
    CallContext,
    NotComparableError,
    log2_lower_fraction,
    log2_upper_fraction,
    sizes_of_call,
)
from archline.recurrences.model import SizeFunction, calls


@record
class ProofTerm:
    """A product that is never negative: of sizes, logarithms of values >= 1, real or rounded, and an indicator."""

    plain: Poly = ONE
    logs: tuple[Logarithm, ...] = ()
    indicator: Poly = ONE

    @property
    def value(self) -> Poly:
        """The product itself."""
        return self.plain * self.indicator * product(map(Poly.of_atom, self.logs))

    def __mul__(self, other: ProofTerm) -> ProofTerm:
        return ProofTerm(self.plain * other.plain, (*self.logs, *other.logs), self.indicator * other.indicator)

    def here(self, caller: CallContext) -> Poly:
        """The product in symbols of the caller, for its own sizes."""
        return self.plain * caller.indicator(self.indicator) * product(map(caller.falling, self.logs))

    def at_call(self, caller: CallContext, given: Mapping[str, Poly]) -> Poly:
        """The product in symbols of the caller, for the sizes of a call. Raises NotComparableError."""
        logs = product(caller.falling_at(each, given) for each in self.logs)
        return caller.at(self.plain, given) * caller.indicator(self.indicator.substitute(given)) * logs

    def number(self, point: Mapping[str, int | Fraction], most: bool) -> fmpq:
        """At a point, a number that the product is at most, or at least."""
        found = rational(evaluate(self.plain * self.indicator, point))
        for log in self.logs:
            argument = rational(evaluate(log.argument, point))
            if isinstance(log, a.CeilLog2):
                found *= log2_upper_fraction(argument).ceil()
            else:
                found *= log2_upper_fraction(argument) if most else log2_lower_fraction(argument)
        return found


MAX_ELEMENTS = 40
MAX_COUNT = 64
MAX_SIZES = 3
MAX_POWER = 3
"""Up to which power logarithms are tried."""


@record
class BasisTerm:
    """A term of a closed form. `sign` is that of its coefficient in an upper bound, 0 for either.

    `parts`: a call is known to have at most (in a lower bound at least) that share of it, whatever its value; 0: it is
    not.
    `leaf`: what it is in cases without calls, where the calls of the others are known to have all of it together.
    `inner` stands for it in proofs: what it is at most in an upper bound, at least in a lower one, for coefficients of
    the sign.
    `smooth` names the size v of v*ceil(log2(v)) - 2^ceil(log2(v)).
    That function of v is piecewise linear and continuous: where 2^(l - 1) <= v <= 2^l it is v*l - 2^l, ends included.
    So its value at either half of v, rounded up or down, is half*(l - 1) - 2^(l - 1) with l = ceil(log2(v)).
    """

    value: Poly
    smooth: str | None = None
    sign: int = 0
    parts: int = 0
    leaf: Poly | None = None
    inner: ProofTerm | None = None

    @property
    def degree(self) -> int:
        """How fast it grows with the sizes; logarithms count as 0, powers of them as 2."""
        return max(map(_growth, self.value.terms), default=0)

    @property
    def proved(self) -> ProofTerm:
        """What it is in proofs."""
        return ProofTerm(self.value) if self.inner is None else self.inner

    def at_call(self, function: SizeFunction, call: a.Applied, caller: CallContext) -> Poly:
        """The element at the sizes of a call. Raises NotComparableError."""
        given = sizes_of_call(function, call.arguments)
        if self.inner is not None:
            return self.inner.at_call(caller, given)
        if self.smooth is None:
            return caller.at(self.value, given)
        size, argument = Poly.symbol(self.smooth), given[self.smooth]
        half = a.floor_div(size, Poly.constant(2))
        facts = caller.facts
        if not (
            facts.nonnegative(size - 2)
            and facts.nonnegative(argument - half)
            and facts.nonnegative(size - half - argument)
        ):
            if argument == size:
                return self.value
            raise NotComparableError
        level = a.ceil_log2(size) - 1
        return argument * level - a.exponential(2, level)


def bases(function: SizeFunction, inner: Sequence[Poly], outer: Sequence[Poly]) -> Iterator[tuple[BasisTerm, ...]]:
    """Sets of elements to try, from the plain to the rich: `inner` is added where calls are made, `outer` elsewhere."""
    few = sorted(_monomials(function, inner), key=monomial_sort_key)
    monomials = sorted(_monomials(function, [*inner, *outer, _all_sizes(function)]), key=monomial_sort_key)
    plain, low = list(map(_term, monomials)), list(map(_term, few))
    names = function.sizes
    logs = list(_logarithms(function))
    multiplied = [BasisTerm(each) for each in products(function)]
    if multiplied:
        yield distinct([*low, *multiplied])
    if len(few) < len(monomials):
        yield distinct(low)
        yield distinct([*low, *logs])
    richer = [*plain, *map(_real_logarithm, names), *logs]
    powers = [BasisTerm(each) for each in _powers(function, max(sum(power for _, power in each) for each in monomials))]
    yield distinct(plain)
    shared = [BasisTerm(each) for each in shared_size_terms(function)]
    if shared:
        yield distinct([*low, *shared])
    yield distinct([*plain, *logs] if len(names) > 1 else richer)
    if len(names) > 1:
        return
    if powers:
        yield distinct([*plain, *logs, *powers])
    yield distinct([*plain, *logs, *(BasisTerm(x.value * y.value) for i, x in enumerate(logs) for y in logs[i:])])
    yield distinct([*richer, *(BasisTerm(x.value * y.value) for x in plain for y in logs if x.value != ONE)])
    exponentials = [BasisTerm(each) for each in _exponentials(function)]
    if exponentials:
        yield distinct([*plain, *exponentials])
    if names:
        # Sizes that shrink by a constant: as many steps as the size, each with what is added.
        yield distinct([*plain, *(BasisTerm(x.value * Poly.symbol(names[0])) for x in plain)])


def logarithmic(function: SizeFunction) -> Iterator[tuple[BasisTerm, ...]]:
    """What a path costs on which every call halves a size: sets of powers of logarithms, from the plain to the rich."""
    found = layer = [BasisTerm(ONE)]
    logs = list(signed_logarithms(function))
    for _ in range(MAX_POWER if logs else 0):
        layer = [times(x, y) for x in layer for y in logs if x.sign in (0, y.sign)]
        found = [*found, *layer]
        yield distinct(found)


def families(function: SizeFunction, inner: Sequence[Poly], outer: Sequence[Poly]) -> Iterator[tuple[BasisTerm, ...]]:
    """Sets of elements with few logarithms, each with a side, from the plain to the rich."""
    few, all_ = (
        list(map(_term, sorted(_monomials(function, forcing), key=monomial_sort_key)))
        for forcing in (inner, [*inner, *outer, _all_sizes(function)])
    )
    logs = list(signed_logarithms(function))
    some = [each for each in few if each.degree <= 1]
    sizes = [BasisTerm(Poly.symbol(name)) for name in function.sizes]
    if function.shared_exponents:
        # log2(log2(n)) shows so little in values that what lacks it may seem good enough.
        yield distinct([*some, *logs, *(times(x, y) for x in some for y in logs if x.degree)])
    yield distinct(few)
    yield distinct([*few, *logs])
    # Most searches end before there are products of logarithms.
    squares = [times(x, y) for x, y in combinations_with_replacement(logs, 2) if x.sign == y.sign]
    yield distinct([*some, *logs, *squares])
    yield distinct([*some, *logs, *(times(x, y) for x in few for y in logs if x.degree)])
    yield distinct(all_)
    # As many calls in a row as the size, each with what is added.
    yield distinct([*all_, *(times(x, size) for x in few for size in sizes)])
    # As many leaves as the size.
    yield distinct([*all_, *(times(x, size) for x in all_ for size in sizes if x not in few)])
    yield distinct([*all_, *logs])
    cubes = [times(x, y) for x, y in pairs(logs, squares) if x.sign == y.sign]
    yield distinct([*some, *logs, *squares, *cubes])
    yield distinct([*some, *logs, *squares, *(times(x, y) for x in few for y in (*logs, *squares) if x.degree)])


def signed_logarithms(function: SizeFunction) -> Iterator[BasisTerm]:
    """Logarithms of the sizes, and of their sum where data splits them, each with the side that its coefficient needs.

    ceil(log2(v)) is for what grows with v and ceil(log2(v + 1)) for what falls: the one loses at least 1 at ceil(v/2),
    and so at both halves, the other at most 1 at floor(v/2).
    """
    yield from (BasisTerm(Poly.symbol(power.exponent)) for power in function.facts.powers)
    sizes = [Poly.symbol(name) for name in function.sizes or function.shared_exponents]
    if len(sizes) > 1 and split_by_data(function):
        sizes.append(total(sizes))
    yield from (BasisTerm(a.ceil_log2(each + more), sign=1 - 2 * more) for each in sizes for more in (0, 1))


def split_by_data(function: SizeFunction) -> bool:
    """Whether an integer that only the data gives occurs."""
    return any(equation.data for equation in function.equations)


def _term(monomial: Monomial) -> BasisTerm:
    return BasisTerm(Poly({monomial: fmpq(1)}))


def times(left: BasisTerm, right: BasisTerm) -> BasisTerm:
    """The product, with the side of either, and with what stands for either in proofs."""
    both = None if left.inner is right.inner is None else left.proved * right.proved
    return BasisTerm(left.value * right.value, sign=left.sign or right.sign, inner=both)


def _all_sizes(function: SizeFunction) -> Poly:
    """The product of two or three sizes: splits along each multiply the leaves."""
    return product(map(Poly.symbol, function.sizes)) if 2 <= len(function.sizes) <= MAX_SIZES else ONE


def distinct(elements: list[BasisTerm]) -> tuple[BasisTerm, ...]:
    """Each value once, and no more than can be tried."""
    seen: dict[Poly, BasisTerm] = {}
    for each in elements:
        seen.setdefault(each.value, each)
    return tuple(seen.values())[:MAX_ELEMENTS]


def monomial_sort_key(monomial: Monomial) -> tuple[int, str]:
    """What products of sizes are sorted by."""
    return sum(power for _, power in monomial), str(monomial)


def _monomials(function: SizeFunction, forcing: Iterable[Poly]) -> set[Monomial]:
    """The products of sizes in what is added at each step, with all their divisors."""
    found: set[Monomial] = {()}
    for value in forcing:
        for monomial in sizes_in(value, function).terms:
            found |= set(divisors(monomial))
    steps = [next(iter(a.exponential(2, Poly.symbol(power.exponent)).atoms())) for power in function.facts.powers]
    return found | {((atom, 1),) for atom in (*map(Symbol, function.sizes), *steps)}


def divisors(monomial: Monomial) -> Iterator[Monomial]:
    """The products that divide it, itself included."""
    if not monomial:
        yield ()
        return
    (atom, power), *rest = monomial
    for others in divisors(tuple(rest)):
        for less in range(max(power, 0) + 1):
            yield ((atom, less), *others) if less else others


def sizes_in(value: Poly, function: SizeFunction) -> Poly:
    """A value without calls, floors and maxima, as far as its monomials matter."""

    def plain(atom: object) -> Poly | None:
        match atom:
            case a.Applied() | a.CeilLog2() | a.RealFunction() | a.Quotient():
                return ONE
            case a.Floor():
                return sizes_in(atom.argument, function) + 1
            case a.PositivePart():
                return sizes_in(absolute(atom.argument), function) + 1
            case Symbol() if atom.name not in function.parameters and atom.name not in function.facts.quotients:
                return ONE
            case _:
                return None

    return value.map_atoms(plain)


def absolute(value: Poly) -> Poly:
    """The same monomials, none of which cancels another."""
    return Poly({monomial: abs(coefficient) for monomial, coefficient in value.terms.items()})


def _logarithms(function: SizeFunction) -> Iterator[BasisTerm]:
    """Logarithms of the sizes; of one size also of the next ones, of those that data splits of the next one alone."""
    sizes = [Poly.symbol(name) for name in function.sizes]
    if len(sizes) > 1 and not split_by_data(function):
        yield from signed_logarithms(function)
        return
    yield from (BasisTerm(Poly.symbol(power.exponent)) for power in function.facts.powers)
    if len(sizes) == 1:
        yield from (BasisTerm(a.ceil_log2(sizes[0] + more)) for more in range(3))
    elif sizes:
        yield from (BasisTerm(a.ceil_log2(each + 1)) for each in (*sizes, total(sizes)))


def _real_logarithm(name: str) -> BasisTerm:
    size = Poly.symbol(name)
    level = a.ceil_log2(size)
    return BasisTerm(size * level - a.exponential(2, level), name)


def _powers(function: SizeFunction, degree: int) -> list[Poly]:
    """What c calls of half the size reproduce: c^k for n = 2^k, and v^i*(c/2^i)^log2(n) with v one of n - 1, n, n + 1.

    ceil(n/2) - 1 is at most (n - 1)/2 and floor(n/2) + 1 at least (n + 1)/2, so that rounding is on the safe side.
    """
    counts = sorted(_counts(function))
    found = [a.exponential(count, Poly.symbol(power.exponent)) for power in function.facts.powers for count in counts]
    if len(function.sizes) == 1:
        size = Poly.symbol(function.sizes[0])
        for count in counts:
            for more in (0, 1):
                level = a.ceil_log2(size + more)
                for i in range(degree + 1):
                    shifts = (more - 1, more) if i else (0,)
                    found.extend((size + shift) ** i * ratio_power(count, i, level) for shift in shifts)
    return found


def ratio_power(count: int, exponent: int, logarithm: Poly) -> Poly:
    """(count/2^exponent)^logarithm."""
    return a.exponential(count, logarithm) * a.exponential(2, logarithm) ** -exponent


def _exponentials(function: SizeFunction) -> Iterator[Poly]:
    """c^n, where c calls are of a size that is less by a number."""
    sizes = [Poly.symbol(name) for name in function.sizes]
    arguments = [call.arguments for equation in function.equations for call in calls(equation.value)]
    if len(sizes) == len(function.parameters) == 1 and all((each[0] - sizes[0]).is_constant for each in arguments):
        yield from (a.exponential(count, sizes[0]) for count in sorted(_counts(function)))


def _counts(function: SizeFunction) -> set[int]:
    """How many calls a case makes, where that does not depend on the sizes."""
    counts: set[int] = set()
    for equation in function.equations:
        terms = equation.value.terms.items()
        coefficients = [c for m, c in terms if len(m) == 1 and isinstance(m[0][0], a.Applied)]
        count = sum(coefficients, fmpq(0))
        if count.q == 1 and 2 <= count <= MAX_COUNT:
            counts.add(int(count.p))
    return counts


def _growth(monomial: Monomial) -> int:
    return sum(
        power if isinstance(atom, Symbol) else 2 * abs(power) if isinstance(atom, a.Exponential) else 0
        for atom, power in monomial
    )


def products(function: SizeFunction) -> tuple[Poly, ...]:
    """A power that all calls keep, times sizes: q pieces of b each."""
    powers = [_of(power) for power in function.facts.powers if _is_preserved_by_calls(function, power)]
    return tuple(size * power for power in powers for size in _data_independent_sizes(function))


def shared_size_terms(function: SizeFunction) -> Iterator[Poly]:
    """Sizes over a power that calls halve: r/d and r*log2(d)/d, where calls share r out.

    r/d doubles with each level, and is still at most r: it pays for what a level adds while r is more than d.
    """
    for power in function.facts.powers:
        if _is_preserved_by_calls(function, power):
            continue
        exponent = Poly.symbol(power.exponent)
        yield exponent
        for name in function.sizes:
            share = Poly.symbol(name) * a.exponential(2, -exponent)
            yield share
            yield share * exponent


def shallow(function: SizeFunction) -> Iterator[tuple[Poly, ...]]:
    """What a path through the calls costs where the data may split sizes in any way, in sets to try before others.

    1, log2(d) and d of a power d that halves; of one that stays also its product with the depth that the sizes give.
    """
    if len(function.facts.powers) != 1 or not function.sizes:
        return
    (power,) = function.facts.powers
    size = _of(power)
    if not _is_preserved_by_calls(function, power):
        yield ONE, Poly.symbol(power.exponent), size
    elif sure := _data_independent_sizes(function):
        others = (each for each in map(Poly.symbol, function.sizes) if each not in sure)
        logs = tuple(map(a.ceil_log2, sure))
        yield ONE, size, *others, *logs, *(log * size for log in logs)


def _of(power: Power) -> Poly:
    return a.exponential(2, Poly.symbol(power.exponent))


def _is_preserved_by_calls(function: SizeFunction, power: Power) -> bool:
    """Whether every call of the function by itself has the power that its caller has."""
    size = function.facts.rewritten(power.name)
    return all(given[power.name] == size for _, given in function.own_calls)


def _data_independent_sizes(function: SizeFunction) -> list[Poly]:
    """The sizes of which the calls' are known without the data."""
    data = {each for equation in function.equations for each in equation.data}
    return [
        Poly.symbol(name)
        for name in function.sizes
        if all(given[name].names.isdisjoint(data) for _, given in function.own_calls)
    ]
