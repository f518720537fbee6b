"""Bound the io of every schedule of a loop body's iterations from below (the HBL bound).

Each access of a body selects elements by some of the loop variables. A segment of the run that fetches T lines
finds at most C more in the cache, so it accesses at most (C + T)*L words. The iterations that access at most
w words are bounded by a product of powers of w, by the inequality of Loomis and Whitney (1949) for any
projections whose exponents cover every variable (Finner 1992; for io Irony, Toledo and Tiskin 2004, and
Christ, Demmel, Knight, Scanlon and Yelick 2013). So there are many segments. Lower-order terms are kept: the
bound holds at every size. In leading order it is 2*n*m*p/(L*sqrt(Z)) for the product of matrices; if a body
accesses one array with several subscripts, its constant is weaker than the best known.

In growth it is Omega(I/(L*Z^(s - 1))) for I iterations and exponents of sum s, at every size and Z >= L >= 1,
small ones too. Let M, at most c*(2*C*L)^s, be the maximum of iterations of a segment that fetches T = C =
floor(Z/L) lines. If I > M, the C + C*(ceil((I + 1)/(M + 1)) - 1) lines are at least C*(I + 1)/(M + 1), C is at
least Z/(2*L), and M + 1 is at most (c*2^s + 1)*Z^s. If I <= M, the whole run, which misses Q times and accesses
at most Q*L words, has I <= c*(Q*L)^s, so that Q is at least (I/c)^(1/s)/L; and I^(1/s) = I/I^(1 - 1/s) is at
least I/(c*2^s*Z^s)^(1 - 1/s).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from math import lcm

from archline.algebra import atoms as a
from archline.algebra.effort import TooComplexError
from archline.algebra.evaluate.compiled import Compiler, Compute
from archline.algebra.facts import Facts
from archline.algebra.lp.exact import Optimum, maximise
from archline.algebra.polynomial import ONE, Poly
from archline.algebra.sums.summation import UnresolvedError, sum_over
from archline.analysis.cache.footprint.windows import find_coefficient, is_data_independent
from archline.ir.tree import Access, Array, Chain, Node, iterate_accesses
from archline.records import memoised, record

SEGMENT_SIZE_RATIOS = (Fraction(1, 4), Fraction(1, 2), Fraction(1), Fraction(2), Fraction(4), Fraction(16))
"""The segment sizes that are tried: lines that a segment fetches, divided by the lines of the cache."""


@record(eq=False)
class HblBody:
    """The iterations of a loop body and the HBL exponents of its accesses, from which its bound is evaluated.

    There is one exponent for each array and subscript of the body (a projection). `times` has, for each
    projection, how many projections of the same array have a nonzero exponent.
    """

    iterations: Poly
    exponents: tuple[Fraction, ...]
    times: tuple[int, ...]

    @memoised
    def max_iterations(self, words: int) -> int:
        """Bound the iterations that access at most `words` elements of all arrays together.

        The product of x_j^s_j, subject to sum of x_j/r_j <= w (an array with r_j projections counts once), is
        greatest at x_j = r_j*s_j*w/s with s the sum of exponents; its q-th power is rational, q a common
        denominator of the exponents.
        """
        total = sum(self.exponents)
        denominator = lcm(*(exponent.denominator for exponent in self.exponents))
        power = Fraction(1)
        for exponent, times in zip(self.exponents, self.times, strict=True):
            if exponent:
                power *= (Fraction(words) * times * exponent / total) ** int(exponent * denominator)
        return _integer_root(power.numerator // power.denominator, denominator)

    @property
    def leading_constant(self) -> float:
        """The factor of iterations/(L*Z^(s - 1)) in the leading order, with s the sum of exponents."""
        total = float(sum(self.exponents))
        constant = 1 / (total - 1) * ((total - 1) / total) ** total if total > 1 else 1.0
        for exponent, times in zip(self.exponents, self.times, strict=True):
            if exponent:
                constant /= (times * exponent / total) ** float(exponent)
        return float(constant)

    def min_words(self, iterations: int) -> int:
        """Bound from below the words that any `iterations` iterations access."""
        low, high = 0, 1
        while self.max_iterations(high) < iterations:
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self.max_iterations(middle) < iterations else (low, middle)
        return high if iterations > 0 else 0

    @property
    def cache_exponent(self) -> Fraction:
        """The power of Z in the order of the bound, iterations/(L*Z^power)."""
        return Fraction(sum(self.exponents) - 1)


@record(eq=False)
class HblBound:
    """A lower bound on io for any schedule: the maximum over the loop bodies."""

    bodies: tuple[HblBody, ...]

    @cached_property
    def _compiled_iteration_counts(self) -> tuple[Compiler, list[Compute]]:
        values = [body.iterations for body in self.bodies]
        compiler = Compiler(sorted({name for value in values for name in value.names}))
        return compiler, [compiler.compile_expression(value) for value in values]

    def at(self, point: Mapping[str, int]) -> int:
        """Evaluate the bound at sizes, Z and L; Z >= L. Raises EvaluationError."""
        compiler, iterations = self._compiled_iteration_counts
        environment = compiler.make_environment_at(point)
        line, capacity = point["L"], point["Z"] // point["L"]
        misses = [
            _evaluate_body_bound(body, int(count(environment)), capacity, line)
            for body, count in zip(self.bodies, iterations, strict=True)
        ]
        return max(misses, default=0)


def _evaluate_body_bound(body: HblBody, iterations: int, capacity: int, line: int) -> int:
    """Bound the misses of `iterations` of a body from below, in a cache of `capacity` lines of `line` words.

    Segments fetch T lines each, but the first C + T, as the cache is empty, and the last perhaps fewer. At
    most one iteration lies across the end of a segment. A single segment fetches all words that the run accesses.
    """
    best = 0
    for segment_lines in {max(1, int(capacity * share)) for share in SEGMENT_SIZE_RATIOS}:
        max_iterations = body.max_iterations((capacity + segment_lines) * line)
        segments = -(-(iterations + 1) // (max_iterations + 1))
        if segments > 1:
            best = max(best, capacity + segment_lines * (segments - 1))
    if not best or body.cache_exponent == 0:
        best = max(best, -(-body.min_words(iterations) // line))
    return best


def derive_hbl_bound(nodes: tuple[Node, ...], facts: Facts) -> HblBound:
    """Derive the HBL bound of all loop bodies whose accesses together contain all loop variables."""
    bodies = [
        body
        for chain, accesses in group_certain_accesses(nodes)
        if (body := _derive_nest_body(chain, accesses, facts)) is not None
    ]
    return HblBound(tuple(bodies))


def group_certain_accesses(nodes: tuple[Node, ...]) -> Iterator[tuple[Chain, list[Access]]]:
    """Yield each nest of two or more loops, with the accesses that each of its iterations is certain to make."""
    certain = ((access, chain) for access, chain in iterate_accesses(nodes) if access.sufficient_conditions == ())
    groups: dict[Chain, list[Access]] = {}
    for access, chain in certain:
        groups.setdefault(chain, []).append(access)
    yield from ((chain, accesses) for chain, accesses in groups.items() if len(chain) > 1)


def has_certain_access(nodes: tuple[Node, ...]) -> bool:
    """Test whether at least one access is certain to be made at all sizes."""
    return any(
        access.sufficient_conditions == () and all(loop.facts.positive(loop.hi - loop.lo) for loop in chain)
        for access, chain in iterate_accesses(nodes)
    )


def _derive_nest_body(chain: Chain, own: Sequence[Access], facts: Facts) -> HblBody | None:
    decided = find_tiling_loops(chain)
    free = [depth for depth in range(len(chain)) if depth not in decided.values()]
    seen = {
        (access.array, access.place): _find_determined_loops(access, chain, decided)
        for access in own
        if not access.array.local
    }
    return solve_hbl_body(seen, free, count_iterations(chain), facts)


def solve_hbl_body(
    seen: Mapping[tuple[Array, tuple[Poly | None, ...]], frozenset[int]],
    free: Sequence[int],
    iterations: Poly | None,
    facts: Facts,
) -> HblBody | None:
    """Find the HBL exponents of a body; None if its accesses do not determine all `free` loops.

    `seen` maps each array and subscript to the depths of the loops that its element determines. Returns None also
    if `iterations` is None.
    """
    exponents = _solve_hbl_exponents(list(seen.values()), free)
    if iterations is None or exponents is None or sum(exponents) < 1:
        return None
    arrays = [array for array, _ in seen]
    weighted_arrays = [array for array, exponent in zip(arrays, exponents, strict=True) if exponent]
    times = tuple(sum(array is weighted for weighted in weighted_arrays) for array in arrays)
    return HblBody(facts.restore(facts.simplify(iterations)), exponents, times)


def count_iterations(chain: Chain) -> Poly | None:
    """Count the iterations of a loop nest; None if no closed form exists."""
    total = ONE
    try:
        for loop in reversed(chain):
            total = sum_over(a.as_gaps(total), loop.variable, loop.lo, loop.hi, loop.facts)
    except (UnresolvedError, TooComplexError):
        return None
    return total if is_data_independent(total) else None


def find_tiling_loops(chain: Chain) -> dict[int, int]:
    """Find the loops that run over tiles: map the depth of each to that of the outer loop that selects the tile.

    The ranges of an inner loop are consecutive tiles if each begins at or after the end of the previous one.
    """
    result: dict[int, int] = {}
    for inner, loop in enumerate(chain):
        for outer in range(inner):
            variable = chain[outer].variable
            if variable not in loop.lo.names & loop.hi.names or outer in result.values():
                continue
            facts = chain[outer].facts.with_symbol(variable, (chain[outer].lo,), (chain[outer].hi - 2,))
            next_lo = loop.lo.substitute({variable: Poly.symbol(variable) + 1})
            other_variables = (loop.lo.names | loop.hi.names) & {around.variable for around in chain} - {variable}
            if not other_variables and facts.nonnegative(facts.simplify(next_lo - loop.hi)):
                result[inner] = outer
    return result


def _find_determined_loops(access: Access, chain: Chain, decided: Mapping[int, int]) -> frozenset[int]:
    """Find the depths of the loops whose variables are functions of the accessed element.

    `decided` maps inner loops over tiles to the outer loops that the inner variable determines too.
    """
    depths = {loop.variable: depth for depth, loop in enumerate(chain)}
    result: set[int] = set()
    for subscript in access.place:
        variables = [] if subscript is None else [name for name in subscript.names if name in depths]
        if subscript is None or len(variables) != 1:
            continue
        (variable,) = variables
        slope, facts = find_coefficient(subscript, variable), chain[depths[variable]].facts
        if slope is not None and (facts.positive(slope) or facts.positive(-slope)):
            result.add(depths[variable])
    return frozenset(result | {decided[depth] for depth in result if depth in decided})


def _solve_hbl_exponents(determined: Sequence[frozenset[int]], loops: Sequence[int]) -> tuple[Fraction, ...] | None:
    """Find exponents of minimal sum, one for each access, so that the bound covers all `loops`.

    For each loop, the exponents of the accesses that determine it sum to at least 1; `determined` has the loops of
    each access. Returns None if no access determines some loop.
    """
    if not determined:
        return None
    cover = [[-int(loop in subset) for subset in determined] for loop in loops]
    optimum = maximise([-1] * len(determined), cover, [-1] * len(loops))
    if not isinstance(optimum, Optimum):
        return None
    return tuple(Fraction(int(exponent.p), int(exponent.q)) for exponent in optimum.point)


def _integer_root(value: int, degree: int) -> int:
    """Return the largest integer whose power of `degree` is at most `value`."""
    low, high = 0, 1 << (value.bit_length() // degree + 1)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if middle**degree <= value else (low, middle)
    return low
