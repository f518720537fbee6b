"""Growth along curves and constants, held against values far out by mpmath, and against what mathematics says."""

from __future__ import annotations

import re
from typing import Any

import pytest
from flint import arb, ctx, fmpq
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp, mpf

from archline.algebra.reals import Constant, OutOfReachError
from archline.certificates.check import check_counterexample
from archline.growth import hardy_field as scales
from archline.growth.balls import enclose_value_at, format_digits
from archline.growth.hardy_field import Curve, evaluate_along
from archline.growth.is_big_o import Refuted
from archline.growth.normal_form import evaluate_constant
from archline.language.parser import parse_expression
from effort import drawn
from growth_questions import EXPRESSIONS, order_texts
from growth_support import log_of

# n = 8*2^(T/2), m = T^2/3, p = log2(T), q = 5.
CURVE = Curve(
    {"n": (fmpq(1, 2),), "m": (fmpq(0), fmpq(2)), "p": (fmpq(0), fmpq(0), fmpq(1)), "q": ()},
    {"n": fmpq(8), "m": fmpq(1, 3), "q": fmpq(5)},
)
FAR = mpf(2) ** 1000


def point() -> dict[str, mpf]:
    """Logarithms of the sizes at T = FAR."""
    log = mp.log(FAR, 2)
    return {"n": 3 + FAR / 2, "m": 2 * log - mp.log(3, 2), "p": mp.log(log, 2), "q": mp.log(5, 2)}


def near(value: scales.AsymptoticValue) -> mpf:
    """The logarithm of a leading term at T = FAR."""
    levels = [FAR, mp.log(FAR, 2)]
    while len(levels) < scales.LEVEL_COUNT:
        levels.append(mp.log(levels[-1], 2))
    total = mp.log(mpf(value.leading.coefficient.enclose_at_precision(256).mid().str(60, radius=False)), 2)
    for level, power in zip(levels, value.leading.scale, strict=True):
        total += level * mpf(power.enclose_at_precision(4000).mid().str(1100, radius=False))
    return total


@settings(max_examples=drawn(150))
@given(EXPRESSIONS)
def test_leading_terms_are_what_values_come_to(text: str) -> None:
    expr = parse_expression(text)
    with mp.workprec(3000):
        try:
            found = evaluate_along(expr, CURVE)
        except OutOfReachError:
            return
        gap = abs(log_of(expr, point()) - near(found))
    # What is left out of a logarithm's leading term is a constant beside log2(log2(T)), which is 10.
    assert gap < (1e-9 if "log2" not in text and "p" not in text else 2)


def test_the_variable_of_a_curve_has_a_free_name() -> None:
    """Iterations are a size that is called T: `T = 2^T` would say nothing."""
    for f, g, curve in (("n*T^2", "n*T", {"T": "2^t", "n": "1"}), ("T^2*t", "T*t", {"T": "2^s", "t": "1"})):
        answer = order_texts(f, g)
        assert isinstance(answer, Refuted)
        found: Any = answer.counterexample
        assert (found["curve"], found["ratio"]) == (curve, curve["T"])
        assert check_counterexample(f, g, [], found).accepted


def test_counterexamples_are_written_out() -> None:
    """c^3 = P makes c^4/P = c: at c = 16, 65536/4096."""
    answer = order_texts("c^4", "P", "c^3 <= P")
    assert isinstance(answer, Refuted)
    found: Any = answer.counterexample
    assert (found["kind"], found["curve"], found["ratio"]) == ("curve", {"P": "2^T", "c": "2^(T/3)"}, "2^(T/3)")
    assert found["samples"][0] == {"at": {"P": "4096", "c": "16"}, "f": "65536", "g": "4096", "ratio": "16"}
    assert found["samples"][1] == {
        "at": {"P": "2^48", "c": "65536"},
        "f": "1.84467e+19",
        "g": "2.81475e+14",
        "ratio": "65536",
    }
    assert len(found["samples"]) == 3
    slow = order_texts("log2(log2(n))", "1")
    assert isinstance(slow, Refuted)
    shown: Any = slow.counterexample
    assert shown["ratio"] == "log2(T)"
    assert len(shown["samples"]) == 4
    late = order_texts("n^0.01", "log2(n)^100")
    assert isinstance(late, Refuted)
    # 0.01*T is 100*log2(T) at T = 3*10^5; before that the quotient falls.
    far: Any = late.counterexample
    assert [each["at"]["n"] for each in far["samples"]] == ["2^65536", "2^(2^64)", "2^(2^256)"]
    point = order_texts("n^2", "n^2 - n")
    assert isinstance(point, Refuted)
    assert point.counterexample == {"kind": "point", "at": {"n": "1"}, "f": "1", "g": "0"}
    for g in ("max(n, m) - m", "(max(n, m) - m)*log2(n)"):
        nothing = order_texts("n", g, "m >= 2*n")
        assert isinstance(nothing, Refuted)
        assert nothing.counterexample == {"kind": "point", "at": {"m": "2", "n": "1"}, "f": "1", "g": "0"}


# Values at points.
@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("n + m", "10"), ("n - m", "4"), ("n*m", "21"), ("n/m", "2.33333"), ("n//m", "2"), ("n % m", "1"), ("-n", "-7"),
        ("n^m", "343"), ("n^(-1)", "0.142857"), ("(m - n)^3", "-64"), ("(m - n)^2", "16"), ("(m - n)^(-1)", "-0.250000"), ("(n - 7)^2", "0"), ("2^(m/2)", "2.82843"), ("min(n, m)", "3"), ("max(m, n)", "7"),
        ("sqrt(n + 2)", "3"), ("rsqrt(m + 1)", "0.500000"), ("log2(n - 1)", "3"), ("log(m)", "1.60944"),
        ("floor(n/2)", "3"), ("ceil(n/2)", "4"), ("abs(m - n)", "4"), ("10^11*n", "700000000000"), ("10^12*n/7", "1.00000e+12"), ("(10^12 - 1)*n/7", "999999999999"), ("-10^12*m/3", "-1.00000e+12"), ("10^12*n", "7.00000e+12"),
    ],
)  # fmt: skip
def test_values_at_points(text: str, shown: str) -> None:
    """At n = 7 and m = 3; log2(w) is log2(2 + w)."""
    assert format_digits(enclose_value_at(parse_expression(text), {"n": 7, "m": 3})) == shown


# Constants.
NUMBERS = st.sampled_from(["1", "2", "3", "6", "1/2", "12", "0.75", "log2(3)", "log2(12)", "sqrt(2)", "sqrt(12)",
                           "log2(5)/log2(3)", "2^log2(3)", "3^log2(5)", "1/(1 + sqrt(5))", "log2(1 + sqrt(3))"])  # fmt: skip


def combined(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.builds("({} + {})".format, inner, inner),
        st.builds("({} - {})".format, inner, inner),
        st.builds("{}*{}".format, inner, inner),
        st.builds("{}/({})".format, inner, inner),
        st.builds("({})^2".format, inner),
        st.builds("sqrt({})".format, inner),
        st.builds("log2({})".format, inner),
    )


def valued(text: str) -> mpf:
    functions = {"log2": lambda x: mp.log(x, 2), "sqrt": mp.sqrt, "mpf": mpf}
    return eval(re.sub(r"(?<![\w.])([0-9.]+)", r"mpf('\1')", text.replace("^", "**")), functions)


@settings(max_examples=drawn(400))
@given(st.recursive(NUMBERS, combined, max_leaves=4))
def test_constants_are_what_they_are(text: str) -> None:
    try:
        found = evaluate_constant(parse_expression(text))
        sign, again = found.sign(), evaluate_constant(parse_expression(str(found)))
    except OutOfReachError:
        return
    assert again is not None
    with mp.workprec(500):
        expected = valued(text)
        assert (expected > mpf(2) ** -400) - (expected < -(mpf(2) ** -400)) == sign
        for each in (found, again):
            ball = each.enclose_at_precision(400)
            assert abs(mpf(ball.mid().str(100, radius=False)) - expected) <= mpf(2) ** -300 * (1 + abs(expected))


def test_a_sign_is_told_only_where_enclosures_are_apart() -> None:
    """log2(3) less its convergents: too little for 64 bits, and of either sign in turn."""
    before = ctx.prec
    try:
        ctx.prec = 1_000
        exact = arb(3).log() / arb(2).log()
        older, newer, rest = (1, 0), (int(exact.floor().unique_fmpz()), 1), exact - 1
        for _ in range(60):
            rest = 1 / rest
            digit = int(rest.floor().unique_fmpz())
            rest = rest - digit
            older, newer = newer, (digit * newer[0] + older[0], digit * newer[1] + older[1])
        expected = [1 if exact > arb(p) / arb(q) else -1 for p, q in (older, newer)]
    finally:
        ctx.prec = before
    assert sorted(expected) == [-1, 1]
    found = [(Constant.of(3).log2() - Constant.of(fmpq(p, q))).sign() for p, q in (older, newer)]
    assert found == expected
