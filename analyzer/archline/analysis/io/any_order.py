"""io from below for any order of a loop body's iterations, from how few lines they can share.

Each access of a body picks elements by some of the loop variables. A stretch of the run that fetches T lines finds at
most C more, so it sees at most (C + T)*L words; iterations that see no more words than that are at most a product of
powers of them, by the inequality of Loomis and Whitney (1949) for any projections whose exponents cover every variable
(Finner 1992; for io Irony, Toledo and Tiskin 2004, and Christ, Demmel, Knight, Scanlon and Yelick 2013). So there are
many stretches. Lower-order terms are kept: the bound holds at every size. In leading order it is 2*n*m*p/(L*sqrt(Z))
for the product of matrices; where a body sees one array in several places its constant is weaker than the best known.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import lcm

from archline.algebra import atoms as a
from archline.algebra.compiled import Compiler, Compute
from archline.algebra.evaluation import EvaluationError
from archline.algebra.facts import Facts
from archline.algebra.growth.simplex import Optimum, maximise
from archline.algebra.polynomial import ONE, Poly, TooComplexError
from archline.algebra.printing import to_text
from archline.algebra.summation import UnresolvedError, sum_over
from archline.analysis.io.accesses import Access, Array, Chain, Node, accesses
from archline.analysis.io.windows import is_known, slope_of

SHARES = (Fraction(1, 4), Fraction(1, 2), Fraction(1), Fraction(2), Fraction(4), Fraction(16))
"""Lines that a stretch fetches, as multiples of the lines of the cache."""


@dataclass(frozen=True, eq=False)
class Body:
    """`iterations` that see arrays in places with these exponents; `times` counts the places in the same array."""

    iterations: Poly
    exponents: tuple[Fraction, ...]
    times: tuple[int, ...]

    def most(self, words: int) -> int:
        """At most so many iterations see no more than so many words, all arrays together.

        The product of x_j^s_j, where the sum of x_j/r_j is at most w (an array with r_j projections counts once), is
        greatest at x_j = r_j*s_j*w/s with s the sum of exponents; its q-th power is rational, q a denominator of all.
        """
        together = sum(self.exponents)
        denominator = lcm(*(exponent.denominator for exponent in self.exponents))
        power = Fraction(1)
        for exponent, times in zip(self.exponents, self.times, strict=True):
            if exponent:
                power *= (Fraction(words) * times * exponent / together) ** int(exponent * denominator)
        return _root(power.numerator // power.denominator, denominator)

    @property
    def constant(self) -> float:
        """The bound is about so many times iterations/(L*Z^(s - 1)), with s the sum of exponents, where io is large."""
        together = sum(self.exponents)
        power = 1 / (together - 1) * ((together - 1) / together) ** together
        for exponent, times in zip(self.exponents, self.times, strict=True):
            if exponent:
                power /= (times * exponent / together) ** float(exponent)
        return float(power)

    @property
    def growth(self) -> str:
        """The order of the bound, as `n*m*p/(L*sqrt(Z))`."""
        power = sum(self.exponents) - 1
        written = {"1": "Z", "1/2": "sqrt(Z)"}.get(str(power), f"Z^({power})")
        count = to_text(self.iterations)
        return f"{count if len(self.iterations.terms) == 1 else f'({count})'}/(L*{written})"


@dataclass(frozen=True, eq=False)
class AnyOrder:
    """io >= `at(point)` in whatever order the iterations of each body are run."""

    bodies: tuple[Body, ...]

    @cached_property
    def _compiled(self) -> tuple[tuple[str, ...], Compiler, list[Compute]]:
        values = [body.iterations for body in self.bodies]
        names = tuple(sorted({name for value in values for name in value.names}))
        compiler = Compiler(names)
        return names, compiler, [compiler.of(value) for value in values]

    def at(self, point: Mapping[str, int]) -> int:
        """The bound at sizes, Z and L; Z >= L."""
        names, compiler, iterations = self._compiled
        missing = [name for name in names if name not in point]
        if missing:
            raise EvaluationError(f"`{missing[0]}` has no value")
        environment = compiler.environment([point[name] for name in names])
        line, capacity = point["L"], point["Z"] // point["L"]
        found = [
            _fetched(body, int(count(environment)), capacity, line)
            for body, count in zip(self.bodies, iterations, strict=True)
        ]
        return max(found, default=0)


def _fetched(body: Body, iterations: int, capacity: int, line: int) -> int:
    """Lines fetched by stretches of T lines each, the first of C + T, as the cache is empty; the last may be short.

    No more than one iteration lies across the end of a stretch.
    """
    best = 0
    for fetched in {max(1, int(capacity * share)) for share in SHARES}:
        most = body.most((capacity + fetched) * line)
        stretches = -(-(iterations + 1) // (most + 1))
        if stretches > 1:
            best = max(best, capacity + fetched * (stretches - 1))
    return best


def any_order(nodes: tuple[Node, ...], facts: Facts) -> AnyOrder:
    """The bodies whose iterations see elements by projections that cover all loop variables."""
    found = [body for chain, own in _bodies(nodes) if (body := _body(chain, own, facts)) is not None]
    return AnyOrder(tuple(found))


def _bodies(nodes: tuple[Node, ...]) -> Iterator[tuple[Chain, list[Access]]]:
    """What is accessed in all iterations of the same loops for certain."""
    certain = ((access, chain) for access, chain in accesses(nodes) if access.certain and not access.when)
    groups: dict[Chain, list[Access]] = {}
    for access, chain in certain:
        groups.setdefault(chain, []).append(access)
    yield from ((chain, own) for chain, own in groups.items() if len(chain) > 1)


def _body(chain: Chain, own: Sequence[Access], facts: Facts) -> Body | None:
    decided = _decided(chain)
    free = [place for place in range(len(chain)) if place not in decided.values()]
    seen: dict[tuple[Array, tuple[Poly | None, ...]], frozenset[int]] = {}
    for access in own:
        if not access.array.local:
            seen[access.array, access.place] = _picked(access, chain, decided)
    exponents = _exponents(list(seen.values()), free)
    if exponents is None or sum(exponents) <= 1:
        return None
    iterations = _iterations(chain)
    if iterations is None:
        return None
    arrays = [array for array, _ in seen]
    used = [array for array, exponent in zip(arrays, exponents, strict=True) if exponent]
    times = tuple(sum(array is other for other in used) for array in arrays)
    return Body(facts.restore(facts.simplify(iterations)), exponents, times)


def _iterations(chain: Chain) -> Poly | None:
    total = ONE
    try:
        for loop in reversed(chain):
            total = sum_over(a.as_gaps(total), loop.variable, loop.lo, loop.hi, loop.facts)
    except (UnresolvedError, TooComplexError):
        return None
    return total if is_known(total) else None


def _decided(chain: Chain) -> dict[int, int]:
    """For loops whose ranges, from iteration to iteration of an outer loop, lie one behind the other, that one."""
    found: dict[int, int] = {}
    for inner, loop in enumerate(chain):
        for outer in range(inner):
            variable = chain[outer].variable
            if variable not in loop.lo.names & loop.hi.names or outer in found.values():
                continue
            facts = chain[outer].facts.with_symbol(variable, (chain[outer].lo,), (chain[outer].hi - 2,))
            after = loop.lo.substitute({variable: Poly.symbol(variable) + 1})
            others = (loop.lo.names | loop.hi.names) & {each.variable for each in chain} - {variable}
            if not others and facts.nonnegative(facts.simplify(after - loop.hi)):
                found[inner] = outer
    return found


def _picked(access: Access, chain: Chain, decided: Mapping[int, int]) -> frozenset[int]:
    """The loops whose variables an element tells."""
    names = {loop.variable: place for place, loop in enumerate(chain)}
    found: set[int] = set()
    for subscript in access.place:
        inside = [] if subscript is None else [name for name in subscript.names if name in names]
        if subscript is None or len(inside) != 1:
            continue
        (name,) = inside
        slope, facts = slope_of(subscript, name), chain[names[name]].facts
        if slope is not None and (facts.positive(slope) or facts.positive(-slope)):
            found.add(names[name])
    return frozenset(found | {decided[place] for place in found if place in decided})


def _exponents(seen: Sequence[frozenset[int]], loops: Sequence[int]) -> tuple[Fraction, ...] | None:
    """Exponents of least sum that add up to 1 at least for each loop."""
    if not seen:
        return None
    cover = [[-int(loop in each) for each in seen] for loop in loops]
    found = maximise([-1] * len(seen), cover, [-1] * len(loops))
    if not isinstance(found, Optimum):
        return None
    return tuple(Fraction(int(each.p), int(each.q)) for each in found.point)


def _root(value: int, degree: int) -> int:
    """The greatest integer whose power is at most a value."""
    low, high = 0, 1 << (value.bit_length() // degree + 1)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if middle**degree <= value else (low, middle)
    return low
