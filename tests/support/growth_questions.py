"""Random questions on growth: sums, products, powers, logarithms, minima and maxima of three sizes, and facts on them."""

from __future__ import annotations

from hypothesis import strategies as st

from archline.growth.is_big_o import Verdict, is_O
from archline.language.parser import parse_expression, parse_facts

NAMES = ("n", "m", "p")
FACTS = (
    "", "n >= m", "n >= m^2", "m <= 100", "n <= m + p", "n*m >= p", "n >= 2*m", "n is power of 2", "n >= m, m >= p",
    "n >= m*log2(m)", "p^3 <= n*m", "n >= log2(m)", "n*m <= p^2, p <= n", "m + p <= n", "m == n^2", "n >= 3, m >= n",
)  # fmt: skip
POWERS = st.sampled_from(
    ["2", "3", "1/2", "2/3", "0.05", "1.5", "log2(3)", "log2(7)", "log2(5)/log2(3)", "log2(7)/2 - 1", "sqrt(2)"]
)
NAME = st.sampled_from(NAMES)


def larger(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.builds("({} + {})".format, inner, inner),
        st.builds("{}*{}".format, inner, inner),
        st.builds("{}/({})".format, inner, inner),
        st.builds("({})^({})".format, inner, POWERS),
        st.builds("log2({})".format, inner),
        st.builds("min({}, {})".format, inner, inner),
        st.builds("max({}, {})".format, inner, inner),
    )


EXPRESSIONS = st.recursive(NAME, larger, max_leaves=6)
SLOW = st.sampled_from(["log2({1})/log2({2})", "log2({1})/log2({2})^2", "{1}^0.05", "log2({1})/{2}^0.05", "log2({1})"])


@st.composite
def questions(draw: st.DrawFn) -> tuple[str, str]:
    """Two expressions; often the second is the first, changed a little."""
    f = draw(EXPRESSIONS)
    other, slow = draw(EXPRESSIONS), draw(SLOW).format("", draw(NAME), draw(NAME))
    g = draw(
        st.sampled_from([other, f"({f})*{slow}", f"{other} + {f}", f"max({other}, {f})/{draw(NAME)}^0.1",
                         f"({f})*{slow} + {other}", f"min({f}, {other}*({f}))"])
    )  # fmt: skip
    return (f, g) if draw(st.booleans()) else (g, f)


def order_texts(f: str, g: str, where: str = "") -> Verdict:
    """Whether f = O(g), all in the language's syntax. Raises ArchlineError for text that is no such thing."""
    facts = parse_facts(where) if where.strip() else ()
    return is_O(parse_expression(f), parse_expression(g), facts)
