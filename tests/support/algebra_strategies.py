"""Random expressions with the direct evaluation they must agree with."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import strategies as st

from archline.algebra import atoms as a
from archline.algebra.evaluate.exact import evaluate
from archline.algebra.facts import Facts
from archline.algebra.polynomial import ONE, Poly

SIZES = ("n", "m")
N, M = (Poly.symbol(name) for name in SIZES)
FACTS = Facts().with_symbol("n", (ONE,)).with_symbol("m", (ONE,))
POINTS = [{"n": n, "m": m} for n in range(1, 6) for m in range(1, 6)]
small = st.integers(-3, 3)


@st.composite
def linear(draw: st.DrawFn, names: tuple[str, ...] = SIZES) -> Poly:
    """A linear expression with small integer coefficients."""
    total = Poly.constant(draw(small))
    for name in names:
        total = total + Poly.symbol(name) * draw(st.integers(-2, 2))
    return total


moduli = st.sampled_from((*(Poly.constant(k) for k in (2, 3, 30)), M, N + M, M * 2))


def window(value: Poly, modulus: Poly, limit: Poly) -> Poly:
    """1 where value mod modulus < limit, else 0."""
    width = FACTS.minimum(FACTS.maximum(limit, Poly.constant(0)), modulus)
    return a.floor_div(value, modulus) - a.floor_div(value - width, modulus)


def expressions(names: tuple[str, ...], depth: int = 2) -> st.SearchStrategy[Poly]:
    """Integer-valued expressions: products and compositions of every atom a loop nest gives rise to."""
    base = linear(names)
    if depth == 0:
        return base
    inner = expressions(names, depth - 1)
    return st.one_of(
        base,
        inner.map(a.positive_part),
        st.builds(a.floor_div, inner, moduli),
        st.builds(window, base, moduli, linear(SIZES)),
        base.map(a.nonnegative_indicator),
        base.map(a.ceil_log2),
        base.map(lambda each: a.make_sequence_term("ceil_log", each, Poly.constant(3))),
        st.builds(a.floor_div, inner.map(a.positive_part), base.map(lambda each: a.positive_part(each - 1) + 1)),
        st.builds(a.common_divisor, base.map(lambda each: a.positive_part(each) + 1), moduli),
        base.map(a.positive_part).map(a.floor_sqrt),
        st.builds(a.maximum, inner, inner),
        st.builds(a.minimum, inner, inner),
        st.builds(lambda x, y: x * y, inner, inner),
    )


def values(value: Poly, variable: str, lo: Poly, hi: Poly, point: dict[str, int]) -> list[Fraction]:
    """The expression at each value of the variable in the range."""
    first, last = int(evaluate(lo, point)), int(evaluate(hi, point))
    return [evaluate(value, {**point, variable: k}) for k in range(first, last)]
