"""Build basis terms for calls that halve their sizes, or keep an uneven part of them.

`iterate_master_terms`: for c calls of half the sizes u, v, ..., i in number, the terms are u*v*... * (c/2^i)^log2(w)
with w one of the sizes. Let s and t be the smallest numbers with v' - s <= (v - s)/2 and v' + t >= (v + t)/2 for the
sizes v' of calls. In upper bounds the product of all v - s falls to at most a 2^i-th of it; as c/2^i is below 1, the
power needs a logarithm that falls by at most 1: that of w + t, rounded down. Then the term falls to at most a c-th.
Lower bounds have the product of all v + t and a logarithm that is rounded up, which falls by at least 1 only for sizes
of at least 2. For two sizes, as in LCS by quadrants, m*n*(3/4)^log2(n) is m*n^(log2(3) - 1).

`build_depth_terms`: if the sizes n' of all calls are from floor(n/2) to ceil(n/2), so is the smallest size v. Its
minimum number of halvings, ceil(log2(ceil((v + 1)/(T + 1)))), falls by at most 1, and the maximum one,
ceil(log2(ceil(v/T))), by at least 1 if v > T. At leaves both are 0. For two sizes, 3 calls of half of both reproduce
n*m*(3/4)^k, n*(3/2)^k, m*(3/2)^k and 3^k; one of these is near for any cost of leaves.

`iterate_log_product_sets`: the largest size v is halved until it is as small as another one, w; then both are halved in
turn. If each halving of v adds log2(w), the sum is about log2(v)*log2(min(v, w)) less half of the square of the latter.

`iterate_uneven_split_sets`: a call keeps an uneven part, such as 3/4 of a sum that the data splits. A rounded logarithm
falls there by 1 or not at all, which proves nothing; the real one falls by log2(4/3). Proofs have real logarithms,
which are bounded at every call, and indicators of conditions, which pay for calls that keep the sizes, such as one that
swaps them. In the reported bound each term is rounded to the safe side.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from itertools import combinations

from archline.algebra import atoms as a
from archline.algebra.facts import Facts
from archline.algebra.polynomial import ONE, Poly, product, sum_polynomials
from archline.algebra.prove.logarithms import Logarithm, match_minimum_halvings
from archline.algebra.prove.prover import find_first_true
from archline.numbers import fmpq
from archline.records import record
from archline.recurrences.exact.at_call import (
    bound_log_decrease_above,
    bound_log_decrease_below,
    compute_symbol_values_in_call,
)
from archline.recurrences.exact.basis import BasisTerm, ProofTerm, build_ratio_power, has_data_dependent_values
from archline.recurrences.exact.transitions import Transition, find_proved_minimum
from archline.recurrences.model import SizeFunction

MAX_SIZE_SHIFT = 6
MAX_CALL_COUNT = 64


@record
class HalvedSize:
    """A size that all calls halve: size - above falls to at most half, size + below to at least half."""

    place: int
    size: Poly
    above: int
    below: int

    @property
    def whole(self) -> Poly:
        """The size, or size - above, whose logarithm rounded up falls by at least 1 at each call."""
        return self.size if self.above <= 1 else self.size - self.above

    def halved_expression(self, upper: bool) -> Poly:
        """Return the expression that falls to at most half at a call (for a lower bound, to at least half)."""
        return self.size - self.above if upper else self.size + self.below

    def rounded_logarithm(self, upper: bool) -> Poly:
        """Return the logarithm that falls by at most 1 at a call (for a lower bound, by at least 1)."""
        return a.ceil_log2(self.size + self.below + 1) - 1 if upper else a.ceil_log2(self.whole)

    def is_provable_in(self, step: Transition, upper: bool) -> bool:
        """Test whether size - above >= 0 is proved at all calls of a step; for a lower bound, `whole` >= 2 before them.

        Basis terms with powers of the size require it.
        """
        if not upper:
            return _is_proved_nonnegative(self.whole - 2, step.facts)
        return all(
            _is_proved_nonnegative(call.arguments[self.place] - self.above, step.facts) for _, call in step.calls
        )


def iterate_master_terms(function: SizeFunction, steps: Sequence[Transition], upper: bool) -> Iterator[BasisTerm]:
    """Iterate over terms for c calls that about halve all sizes: a product of i sizes times (c/2^i)^log2(w).

    i is log2(c) rounded up, and w one of the sizes, which is repeated if there are fewer than i. None are yielded for
    other calls, or if a term is not proved to fit an upper (`upper`) or a lower bound.
    """
    halved = find_halved_sizes(function, steps)
    if not all(size.is_provable_in(step, upper) for size in halved for step in steps if step.calls):
        return
    whole = product(size.halved_expression(upper) for size in halved)
    for count in find_call_counts(steps) if halved else ():
        # With w to a power near that of the whole term, rounding the logarithm has the least effect.
        exponent = (count - 1).bit_length()
        if count == 1 << exponent or exponent < len(halved):
            continue
        for size in halved:
            rest = size.halved_expression(upper) ** (exponent - len(halved))
            value = whole * rest * build_ratio_power(count, exponent, size.rounded_logarithm(upper))
            yield BasisTerm(value, sign=1 if upper else -1, parts=count)


def find_halved_sizes(function: SizeFunction, steps: Sequence[Transition]) -> list[HalvedSize]:
    """Return the sizes if all calls about halve all sizes, else an empty list."""
    calling = [step for step in steps if step.calls]
    if not function.sizes or len(function.sizes) != len(function.parameters) or not calling:
        return []
    halved = []
    for place, size in enumerate(map(Poly.symbol, function.parameters)):
        above, below = (_find_shift(size, place, calling, sign) for sign in (1, -1))
        if above is None or below is None:
            return []
        halved.append(HalvedSize(place, size, above, below))
    return halved


def find_call_counts(steps: Sequence[Transition]) -> list[int]:
    """Return the numbers of calls of the steps that make a fixed number from 2 to MAX_CALL_COUNT, sorted."""
    return sorted(
        {int(step.call_count.p) for step in steps if step.call_count.q == 1 and 2 <= step.call_count <= MAX_CALL_COUNT}
    )


def _find_shift(size: Poly, place: int, steps: Sequence[Transition], sign: int) -> int | None:
    """Find the smallest s >= 0 with n' - s <= (n - s)/2 for every call's n' (`sign` 1), or n' + s >= (n + s)/2 (-1).

    None if it is not proved for any s up to MAX_SIZE_SHIFT.
    """
    differences = [(size - call.arguments[place].scaled(2), step.facts) for step in steps for _, call in step.calls]
    return find_first_true(
        MAX_SIZE_SHIFT + 1,
        lambda s: all(_is_proved_nonnegative(value.scaled(sign) + s, facts) for value, facts in differences),
    )


def _is_proved_nonnegative(value: Poly, facts: Facts) -> bool:
    return facts.nonnegative(facts.simplify(value))


MAX_BASE_SIZE = 1 << 10


@record
class HalvingDepth:
    """The minimum and the maximum number of halvings of the smallest size down to a leaf."""

    least: Poly
    most: Poly

    def build_term(self, count: int, sizes: Sequence[HalvedSize], whole: bool) -> BasisTerm:
        """Return a product that is at each of `count` calls at most (`whole`), or at least, 1/count of the caller's."""
        # A power that shrinks needs a level that falls by at most 1 at a call; one that grows, by at least 1.
        shrinks = count < 1 << len(sizes)
        level = self.least if shrinks == whole else self.most
        value = product(size.halved_expression(whole) for size in sizes)
        return BasisTerm(value * build_ratio_power(count, len(sizes), level), sign=1 if whole else -1, parts=count)


def build_depth_terms(function: SizeFunction, steps: Sequence[Transition]) -> tuple[BasisTerm, ...]:
    """Return the terms for halving depths, for upper and for lower bounds; none unless calls halve several sizes."""
    sizes = find_halved_sizes(function, steps)
    levels = None if len(sizes) < 2 else find_halving_depth(sizes, [step for step in steps if step.calls])
    if levels is None:
        return ()
    return tuple(
        levels.build_term(count, subset, whole)
        for count in find_call_counts(steps)
        # Products of all sizes, then of some, then of none.
        for number in range(len(sizes), -1, -1)
        for subset in combinations(sizes, number)
        if count != 1 << len(subset)
        for whole in (True, False)
    )


def find_halving_depth(sizes: Sequence[HalvedSize], calling: Sequence[Transition]) -> HalvingDepth | None:
    """Find the depth for steps with calls; None if a size n' of a call may be outside of floor(n/2) to ceil(n/2)."""
    smallest = min(find_proved_minimum(size.size, step.facts) or 0 for size in sizes for step in calling)
    if not 1 < smallest <= MAX_BASE_SIZE or any(size.above > 1 or size.below > 1 for size in sizes):
        return None
    end = Poly.constant(smallest)
    low, high = (reduce(a.minimum, (a.floor_div(s.size - e, end - e) for s in sizes)) for e in (0, 1))
    return HalvingDepth(a.ceil_log2(low + 1), a.ceil_log2(high + 1))


ALLOWED_SIZE_COUNTS = 2, 3


def iterate_log_product_sets(function: SizeFunction, steps: Sequence[Transition]) -> Iterator[tuple[BasisTerm, ...]]:
    """Yield one set of terms, the sizes' logarithms and their products, if steps that halve a size cost logarithms."""
    if len(function.sizes) not in ALLOWED_SIZE_COUNTS or len(function.sizes) != len(function.parameters):
        return
    # Steps that cost logarithms of sizes, not only numbers of halvings down to leaves.
    log_steps = [
        step
        for step in steps
        if any(isinstance(atom, a.CeilLog2) and match_minimum_halvings(atom) is None for atom in step.forcing.atoms())
    ]
    arguments = [call.arguments for step in log_steps for _, call in step.calls]
    place = function.parameters.index
    halved = [name for name in function.sizes if any(values[place(name)] != Poly.symbol(name) for values in arguments)]
    if not halved:
        return
    terms = [BasisTerm(ONE), *(BasisTerm(a.ceil_log2(Poly.symbol(name))) for name in function.sizes)]
    for name in halved:
        terms.extend(_iterate_minimum_log_products(function, name))
    yield tuple({term.value: term for term in terms}.values())


def _iterate_minimum_log_products(function: SizeFunction, name: str) -> Iterator[BasisTerm]:
    """Iterate over products of log(n) and log(min(n, m)), n the named size; proofs have min(log(n), log(m)) instead."""
    size = Poly.symbol(name)
    log = a.ceil_log2(size)
    for other_size in (Poly.symbol(other_name) for other_name in function.sizes if other_name != name):
        limit, compared = a.ceil_log2(a.minimum(size, other_size)), a.minimum(log, a.ceil_log2(other_size))
        yield BasisTerm(limit, inner=ProofTerm(compared))
        yield BasisTerm(log * limit, inner=ProofTerm(log * compared))
        yield BasisTerm(limit * limit, inner=ProofTerm(compared * compared))


LOGARITHM_SHIFTS = (1, 2, 3)
MAX_LOGARITHM_POWER = 3
MAX_HALF_EXCESS = 2
"""A size of a call counts as half of the caller's if it exceeds that by at most this number."""


def iterate_uneven_split_sets(
    function: SizeFunction, steps: Sequence[Transition], upper: bool
) -> Iterator[tuple[BasisTerm, ...]]:
    """Iterate over sets of logarithms for single calls that pass on uneven parts of the sizes; none for other calls."""
    calling = [step for step in steps if step.calls]
    plain = len(function.sizes) == len(function.parameters) and not function.facts.powers
    if (
        not plain
        or not has_single_calls(calling)
        or (len(function.sizes) > 1 and not has_data_dependent_values(function))
    ):
        return
    size = sum_polynomials(map(Poly.symbol, function.sizes))
    if all(
        # At most about half of the caller's size.
        step.facts.nonnegative(size + 2 * MAX_HALF_EXCESS - part.scaled(2))
        for step in calling
        for part in _iterate_sizes_at_calls(size, function, step)
    ):
        return
    log = _find_decreasing_logarithm(size, function, calling, upper)
    if log is None:
        return
    value = Poly.of_atom(log)
    if isinstance(log, a.RealFunction):
        # The logarithm rounded up, or down, of an integer.
        value = a.ceil_log2(log.argument) if upper else a.ceil_log2(log.argument + 1) - 1
    sign = 1 if upper else -1
    logs = [BasisTerm(value**k, sign=sign, inner=ProofTerm(logs=(log,) * k)) for k in range(1, MAX_LOGARITHM_POWER + 1)]
    swaps = list(_iterate_indicator_terms(calling)) if upper else []
    for power in range(1, MAX_LOGARITHM_POWER + 1):
        yield (BasisTerm(ONE), *swaps, *logs[:power])


def has_single_calls(calling: Sequence[Transition]) -> bool:
    """Test whether each step makes exactly one call, so that costs add up along a path and may be logarithmic."""
    return bool(calling) and all(len(step.calls) == 1 and step.calls[0][0] == ONE for step in calling)


def _iterate_indicator_terms(steps: Sequence[Transition]) -> Iterator[BasisTerm]:
    """Iterate over basis terms of value 1, for which proofs have the indicator of a condition before a call."""
    indicators = {
        decision.indicator if decision.taken else ONE - decision.indicator: None
        for step in steps
        for decision in step.equation.decisions
    }
    yield from (BasisTerm(ONE, sign=1, inner=ProofTerm(indicator=indicator)) for indicator in indicators)


def _iterate_sizes_at_calls(size: Poly, function: SizeFunction, step: Transition) -> Iterator[Poly]:
    for _, call in step.calls:
        yield step.facts.simplify(size.substitute(compute_symbol_values_in_call(function, call.arguments)))


def _find_decreasing_logarithm(
    size: Poly, function: SizeFunction, steps: Sequence[Transition], upper: bool
) -> Logarithm | None:
    """Find the logarithm of the size plus a number that falls most from caller to call, or least for a lower bound.

    It is rounded if it falls by integers, as then the proof loses nothing; None if no decrease is proved.
    """
    best: tuple[fmpq, Logarithm] | None = None
    for shift in LOGARITHM_SHIFTS:
        whole = size + shift
        decreases = _bound_logarithm_decreases(whole, function, steps, upper)
        if not decreases:
            continue
        rank = min(decreases) if upper else -max(decreases)
        if (rank > 0 or not upper) and (best is None or rank > best[0]):
            even = all(decrease.q == 1 for decrease in decreases)
            best = rank, a.CeilLog2(whole) if even else a.RealFunction("log2", whole)
    return None if best is None else best[1]


def _bound_logarithm_decreases(
    whole: Poly, function: SizeFunction, steps: Sequence[Transition], upper: bool
) -> list[fmpq]:
    """Return proved bounds on the decreases of log2(whole) from a caller to each call that changes the size.

    Lower bounds if `upper`, as an upper bound of the function needs these, else upper ones; empty if one is unknown.
    """
    decreases = []
    for step in steps:
        for part in _iterate_sizes_at_calls(whole, function, step):
            if part == whole:
                continue
            decrease = (bound_log_decrease_below if upper else bound_log_decrease_above)(whole, part, step.facts)
            if decrease is None:
                return []
            decreases.append(decrease)
    return decreases
