"""The parts of the solver of several sizes: cones, numbers, comparisons of terms, and the check that may veto."""

from __future__ import annotations

import math
import random
from itertools import combinations, product

import pytest
from flint import fmpq, fmpq_mat
from hypothesis import given
from hypothesis import strategies as st

from archline.algebra.reals import OutOfReachError
from archline.language.parser import parse_expression
from archline.recurrences.asymptotic.logspace.compare import Printer, covered, equals, formula_for, prune, simplified
from archline.recurrences.asymptotic.logspace.cones import (
    Cone,
    Irrational,
    Number,
    Vector,
    approximate,
    dot,
    logarithm,
    orthant,
    rational,
    sign,
    whole,
)
from archline.recurrences.asymptotic.logspace.paths import paths, pieces
from archline.recurrences.asymptotic.logspace.solve import GrowthRegime, check, regimes
from archline.recurrences.asymptotic.logspace.system import read_system
from archline.recurrences.asymptotic.logspace.terms import LogMonomial, Names
from archline.recurrences.asymptotic.read import parse_recurrence

XYZ = Names(("x", "y", "z"), 3)


def terms(text: str) -> tuple[LogMonomial, ...]:
    return XYZ.terms(parse_expression(text))


def term(text: str) -> LogMonomial:
    (found,) = terms(text)
    return found.normal()


def form(*parts: int) -> Vector:
    return tuple(fmpq(each) for each in parts)


# Cones.
def corners(rows: list[Vector], dimension: int) -> set[Vector]:
    """Extreme rays by trying all sets of rows whose edges meet in a line."""
    found = set()
    for chosen in combinations(rows, dimension - 1):
        matrix, rank = fmpq_mat([list(row) for row in chosen]).rref()  # type: ignore[arg-type]
        if rank < dimension - 1:
            continue
        free = next(j for j in range(dimension) if all(_pivot(matrix, i) != j for i in range(rank)))
        line = [fmpq(0)] * dimension
        line[free] = fmpq(1)
        for i in range(rank):
            line[_pivot(matrix, i)] = -matrix[i, free]
        for sense in (1, -1):
            ray = tuple(sense * x for x in line)
            if all(dot(row, ray) >= 0 for row in rows):  # type: ignore[operator]
                found.add(whole(ray))
    return found


def _pivot(matrix: fmpq_mat, row: int) -> int:
    return next(j for j in range(matrix.ncols()) if matrix[row, j])


small = st.integers(-2, 2)


@pytest.mark.parametrize("dimension", [2, 3, 4])
@given(data=st.data())
def test_cuts_leave_the_extreme_rays(dimension: int, data: st.DataObject) -> None:
    cuts = [form(*each) for each in data.draw(st.lists(st.tuples(*[small] * dimension), min_size=1, max_size=4))]
    cone = orthant(dimension)
    for cut in cuts:
        cone = cone.cut(cut)
    assert set(cone.rays) == corners([*orthant(dimension).rows, *cuts], dimension)


def test_signs_on_a_cone() -> None:
    ordered = orthant(3).cut(form(1, -1, 0)).cut(form(0, 1, -1))
    assert ordered.sign(form(1, 0, -1)) == 1
    assert ordered.sign(form(-1, 0, 1)) == -1
    assert ordered.sign(form(0, 0, 0)) == 0
    assert ordered.sign(form(1, -2, 0)) is None
    assert set(ordered.facets()) == {form(1, -1, 0), form(0, 1, -1), form(0, 0, 1)}


def test_a_face_has_one_dimension_less() -> None:
    face = orthant(3).face(form(1, -1, 0))
    assert set(face.rays) == {form(1, 1, 0), form(0, 0, 1)}


# Numbers.
def test_logarithms_are_rational_where_they_are() -> None:
    assert logarithm(fmpq(8), fmpq(4)) == fmpq(3, 2)
    assert logarithm(fmpq(1, 9), fmpq(27)) == fmpq(-2, 3)
    assert logarithm(fmpq(9, 4), fmpq(3, 2)) == 2
    assert logarithm(fmpq(1), fmpq(3, 2)) == 0


@given(st.integers(1, 60), st.integers(2, 60))
def test_logarithms_are_close_to_those_of_floats(value: int, base: int) -> None:
    assert approximate(logarithm(fmpq(value), fmpq(base))) == pytest.approx(math.log(value, base), abs=1e-12)


def test_signs_of_numbers_that_nearly_cancel() -> None:
    log3 = logarithm(fmpq(3), fmpq(2))
    # Convergents of log2(3), one above and one below, so near that floating point does not tell.
    for top, bottom in ((176251, 111202), (301994, 190537)):
        expected = 1 if 3**bottom > 2**top else -1
        assert sign(log3 - fmpq(top, bottom)) == expected
        assert sign(fmpq(top, bottom) - log3) == -expected
    assert sign(log3 - log3) == 0
    assert isinstance(log3, Irrational)
    assert sign(logarithm(fmpq(2), fmpq(3)) * log3 - fmpq(1)) == 0


KNOWN = [
    fmpq(2),
    fmpq(-3, 4),
    fmpq(0),
    *(logarithm(fmpq(a), fmpq(b)) for a, b in ((3, 2), (5, 2), (5, 3), (7, 4), (9, 10), (2, 3), (6, 5))),
]
NUMBERS = st.sampled_from(KNOWN)


def floating(text: str) -> float:
    return float(eval(text.replace("^", "**"), {"log2": math.log2}))


@given(NUMBERS, NUMBERS, NUMBERS, NUMBERS)
def test_arithmetic_of_numbers_is_that_of_their_values(a: Number, b: Number, c: Number, d: Number) -> None:
    values = [approximate(each) for each in (a, b, c, d)]
    found, expected = a * b - c * d, values[0] * values[1] - values[2] * values[3]
    assert approximate(found) == pytest.approx(expected, abs=1e-9)
    assert floating(str(found)) == pytest.approx(expected, abs=1e-9)
    assert sign(found) == (expected > 1e-9) - (expected < -1e-9)
    assert sign(-found) == -sign(found)
    assert -found + found == 0
    assert found == -(c * d - a * b)
    if sign(found):
        quotient = (a + d) / found
        assert approximate(quotient) == pytest.approx((values[0] + values[3]) / expected, rel=1e-6, abs=1e-9)
        assert floating(str(quotient)) == pytest.approx((values[0] + values[3]) / expected, rel=1e-6, abs=1e-9)
        assert quotient * found == a + d
        assert fmpq(1) / (fmpq(1) / found) == found
        assert hash(quotient * found) == hash(a + d)


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (logarithm(fmpq(6), fmpq(2)), "1 + log2(3)"), (logarithm(fmpq(4, 3), fmpq(2)), "2 - log2(3)"), (logarithm(fmpq(5), fmpq(3)), "log2(5)/log2(3)"),
        (logarithm(fmpq(9), fmpq(4)), "log2(3)"), (logarithm(fmpq(27), fmpq(4)), "3*log2(3)/2"), (logarithm(fmpq(5), fmpq(3)) / 2, "log2(5)/2/log2(3)"),
        (logarithm(fmpq(5), fmpq(6)), "log2(5)/(log2(3) + 1)"), (-logarithm(fmpq(3), fmpq(2)), "-log2(3)"), (fmpq(1) / logarithm(fmpq(3), fmpq(2)), "1/log2(3)"),
        (logarithm(fmpq(3), fmpq(2)) * logarithm(fmpq(3), fmpq(2)), "log2(3)^2"), (logarithm(fmpq(3), fmpq(5)) - fmpq(1, 2), "(log2(3) - log2(5)/2)/log2(5)"),
        (fmpq(1, 3) - logarithm(fmpq(3), fmpq(2)) / 2, "1/3 - log2(3)/2"), (logarithm(fmpq(3, 25), fmpq(2)), "log2(3) - 2*log2(5)"),
    ],
)  # fmt: skip
def test_numbers_in_words(number: Number, text: str) -> None:
    assert floating(str(number)) == pytest.approx(floating(text), rel=1e-12)
    assert len(str(number)) <= len(text) + 2
    # What is subtracted comes last.
    assert str(number).startswith("-") == text.startswith("-")


def test_numbers_out_of_reach() -> None:
    with pytest.raises(OutOfReachError, match="too large"):
        logarithm(fmpq((1 << 97) + 1), fmpq(2))
    assert str(logarithm(fmpq(97), fmpq(2))) == "log2(97)"
    with pytest.raises(OutOfReachError, match="irrational"):
        rational(logarithm(fmpq(3), fmpq(2)))
    assert rational(logarithm(fmpq(8), fmpq(2))) == 3


# Terms on cones.
@pytest.mark.parametrize(
    ("small_one", "others", "holds"),
    [
        ("x", "x*y", True),
        ("x*y", "x", False),
        ("x*y", "x^2 + y^2", True),
        ("(x*y*z)^(2/3)", "x*y + y*z + x*z", True),
        ("x^log2(3)*y^(2 - log2(3))", "x^2 + y^2", True),
        ("x^log2(3)*y^(2 - log2(3))*z", "x^2 + y^2", False),
        ("x*log2(x)", "x^2", True),
        ("x*log2(y)", "x^2", False),
        ("x*log2(y)", "x^2 + y", True),
        ("x*log2(x)", "x + y", False),
        ("log2(x*y)", "log2(x) + log2(y)", True),
        ("log2(x)*log2(y)", "log2(x)^2 + log2(y)^2", True),
        ("log2(x)", "log2(x/y) + log2(y)", True),
        ("log2(x/y)", "log2(x)", True),
        ("log2(x)", "log2(x/y)", False),
        ("x/log2(y)", "x", True),
        ("x", "x/log2(y)", False),
        ("x/log2(x)", "x/log2(x*y)", False),
        ("x/log2(x*y)", "x/log2(x)", True),
        ("y*log2(y/x)", "y", False),
    ],
)
def test_what_covers_what(small_one: str, others: str, holds: bool) -> None:
    others_ = tuple(each.normal() for each in terms(others))
    assert covered(term(small_one), others_, orthant(3)) is holds


def test_terms_are_compared_on_their_cone_only() -> None:
    below = orthant(3).cut(form(1, -1, 0))
    assert covered(term("y"), (term("x"),), below)
    assert covered(term("y*log2(y/x)"), (term("y"),), below)
    assert not covered(term("x"), (term("y"),), below)


def value(each: LogMonomial, point: list[float]) -> float:
    """The powers' part of a term's logarithm."""
    return sum(approximate(p) * x for p, x in zip(each.powers, point, strict=True))


@given(
    st.tuples(*[st.tuples(*[st.integers(0, 3)] * 3)] * 3),
    st.lists(st.tuples(*[st.integers(0, 3)] * 3), min_size=1, max_size=4),
)
def test_covering_agrees_with_points(rays: tuple[tuple[int, ...], ...], powers: list[tuple[int, ...]]) -> None:
    cone = orthant(3)
    for each in rays:
        cone = cone.cut(form(each[0] - 1, each[1] - 1, each[2] - 1))
    first, *others = (LogMonomial(form(*each)) for each in powers)
    if not others or not cone.rays:
        return
    draw = random.Random(1)
    points = []
    for _ in range(60):
        weights = [draw.random() ** 3 for _ in cone.rays]
        points.append(
            [sum(w * approximate(ray[i]) for w, ray in zip(weights, cone.rays, strict=True)) for i in range(3)]
        )
    exceeds = any(value(first, p) > max(value(each, p) for each in others) + 1e-9 for p in points)
    if covered(first, others, cone):
        assert not exceeds
    else:
        # What is not covered exceeds along some direction: a corner where the cone is cut by all comparisons.
        for each in others:
            cone = cone.cut(tuple(a - b for a, b in zip(first.powers, each.powers, strict=True)))
        point = [approximate(x) for x in cone.inner()]
        assert value(first, point) > max(value(each, point) for each in others)


def test_terms_that_others_cover_are_left_out() -> None:
    assert set(prune(terms("x + x*y + y + x*y*log2(x)"), orthant(3))) == {term("x*y*log2(x)")}


ORDERED = orthant(3).cut(form(1, -1, 0)).cut(form(0, 1, -1))


@pytest.mark.parametrize(
    ("text", "cone", "plain"),
    [
        # What log2(x/y) lacks of log2(x), the other term has; log2(x*y) is at most twice log2(x) where x >= y.
        ("x*log2(x/y) + x*log2(y)", orthant(3), "x*log2(x) + x*log2(y)"), ("x*log2(x/y) + x*log2(y)^2", ORDERED, "x*log2(x) + x*log2(y)^2"),
        ("x*log2(x*y)", ORDERED, "x*log2(x)"), ("x*log2(x*y/z)", ORDERED, "x*log2(x)"), ("x*log2(x*y)", orthant(3), "x*log2(x*y)"),
        # x >= x^2/y*y/x and x^2/y >= x: both logarithms together, and the first alone.
        ("log2(x/y) + log2(y/z)", ORDERED, "log2(x/z)"), ("log2(x/y)^2 + log2(y/z)^2", ORDERED, "log2(x/z)^2"), ("log2(x^2/y) + log2(y/z^2)", ORDERED, "log2(x)"),
        ("log2(x/y) + log2(y^2/z)", ORDERED, "log2(x)"), ("y*log2(y/z) + y*log2(x/y) + z", ORDERED, "y*log2(x/z) + z"),
        # x/z may stay where x/y grows; y log2 y hides nothing of x log2(x/y); two powers are no one power.
        ("log2(x/y) + log2(y/z)", orthant(3), "log2(x/y) + log2(y/z)"), ("x*log2(x/y) + y*log2(y)", ORDERED, "x*log2(x/y) + y*log2(y)"),
        ("x*log2(x/y) + y*log2(y/z)", ORDERED, "x*log2(x/y) + y*log2(y/z)"), ("log2(x/y) + log2(y/z)^2", ORDERED, "log2(x/y) + log2(y/z)^2"),
    ],
)  # fmt: skip
def test_logarithms_are_made_plain(text: str, cone: Cone, plain: str) -> None:
    found = simplified(tuple(each.normal() for each in terms(text)), cone)
    assert {Printer(XYZ.all).total([each]) for each in found} >= {
        each.strip() for each in plain.split(" + ") if "log2" in each
    }
    assert set(prune(found, cone)) == set(prune([each.normal() for each in terms(plain)], cone))


# Formulas for several cones.
def halves(row: Vector) -> tuple[Cone, Cone]:
    return orthant(3).cut(row), orthant(3).cut(tuple(-x for x in row))


def formula_text(parts: list[tuple[Cone, tuple[LogMonomial, ...]]]) -> str | None:
    found = formula_for(parts)
    return None if found is None else Printer(XYZ.all).formula(found)


def test_a_maximum_of_two_sides() -> None:
    above, below = halves(form(1, -1, 0))
    assert formula_text([(above, terms("x")), (below, terms("y"))]) == "x + y"
    # sqrt(x*y) is between x and y, and so no more than the greater of them.
    assert formula_text([(above, terms("x")), (below, terms("y + sqrt(x*y)"))]) == "x + y"


def test_a_minimum_of_two_sides() -> None:
    above, below = halves(form(1, -1, 0))
    assert formula_text([(above, terms("y")), (below, terms("x"))]) == "min(x, y)"


def test_a_jump_has_no_formula() -> None:
    above, below = halves(form(1, -1, 0))
    assert formula_text([(above, terms("x*y")), (below, terms("y"))]) is None


def test_a_jump_by_a_logarithm_has_no_formula() -> None:
    above, below = halves(form(1, -1, 0))
    assert formula_text([(above, terms("x*log2(x)")), (below, terms("y"))]) is None


def test_a_logarithm_that_begins_at_the_wall_is_no_jump() -> None:
    above, below = halves(form(1, -1, 0))
    parts = [(above, (term("x*log2(x/y)"),)), (below, terms("x"))]
    assert formula_text(parts) == "x*log2(x/y)"


def test_a_formula_that_is_too_large_is_not_equal() -> None:
    above, _ = halves(form(1, -1, 0))
    assert equals(((term("x"), term("x*z")),), terms("x"), above)
    assert not equals(((term("x*z"),),), terms("x"), above)
    assert not equals(((term("y"), term("x*z")),), terms("x"), above)


# The check.
TAMPERED = [
    ("Q(n) = 1 + n/L when n <= Z; 2*Q(n/2) + 1 + n/L", "n/L"),
    ("Q(n) = 1 + n/L when n <= Z; 2*Q(n/2) + 1 + n/L", "1 + n/L*log2(n)"),
    ("Q(n) = 1 + n when n <= Z; 7*Q(n/2) + n^2", "n + n^2.8/Z^1.8"),
    ("Q(n, m) = 1 when n*m <= Z; 2*Q(n/2, m) + 1 when n >= m; 2*Q(n, m/2) + 1", "1 + n*m/Z*log2(n)"),
    ("Q(n, m) = 1 when n*m <= Z; 2*Q(n/2, m) + 1 when n >= m; 2*Q(n, m/2) + 1", "1 + n/Z"),
    ("Q(n, m) = m when n <= 1; Q(n/2, m) + m", "m"),
    ("Q(n, m) = m when n <= 1; Q(n/2, m) + m", "m*log2(n*m)"),
]


@pytest.mark.parametrize(("text", "wrong"), TAMPERED)
def test_a_wrong_growth_is_caught_by_the_recurrence_itself(text: str, wrong: str) -> None:
    problem = parse_recurrence(text)
    system = read_system(problem)
    found = [piece for path in paths(system) for piece in pieces(system, path)]
    right = regimes(system, found)
    assert check(problem, system, right, found)
    formula = tuple((each,) for each in system.names.terms(parse_expression(wrong)))
    everywhere = [GrowthRegime(tuple(range(len(system.rules))), formula)]
    with pytest.raises(OutOfReachError):
        check(problem, system, everywhere, found)


# Text.
@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("x*y/(z*sqrt(x))", "sqrt(x)*y/z"),
        ("x^(3/2)/y^2", "x^(3/2)/y^2"),
        ("x/z + y/z + 1", "1 + (x + y)/z"),
        ("1/x", "1/x"),
        ("x^log2(7)", "x^log2(7)"),
        ("x*log2(x^2/y)^2/y", "x*log2(x^2/y)^2/y"),
        ("x*y*z/log2(x)", "x*y*z/log2(x)"),
    ],
)
def test_terms_in_words(text: str, printed: str) -> None:
    assert Printer(XYZ.all).total(terms(text)) == printed


@given(st.lists(st.tuples(*[st.integers(-3, 3)] * 3), min_size=1, max_size=4))
def test_what_is_printed_reads_back(powers: list[tuple[int, int, int]]) -> None:
    given_ = {LogMonomial(tuple(fmpq(x, 2) for x in each)) for each in powers}
    assert set(terms(Printer(XYZ.all).total(given_))) == given_


def test_constants_are_read_exactly() -> None:
    (found,) = terms("x^(log2(9)/log2(3))*y^0.25")
    assert found.powers == (fmpq(2), fmpq(1, 4), fmpq(0))


@pytest.mark.parametrize(
    ("exponent", "value"),
    [("2^2", 4), ("2^(-1)", fmpq(1, 2)), ("3 - 2*2 + 5/2", fmpq(3, 2)), ("1.25e1", fmpq(25, 2)), ("-0.5", fmpq(-1, 2)), ("(2/3)^3", fmpq(8, 27)),
     ("log2(8)", 3), ("log2(27)/log2(9)", fmpq(3, 2)), ("(-2)^3", -8)],
)  # fmt: skip
def test_constant_exponents(exponent: str, value: fmpq | int) -> None:
    (found,) = terms(f"x^({exponent})")
    assert found.powers == (fmpq(value), fmpq(0), fmpq(0))


@pytest.mark.parametrize("text", ["x - y", "x^y", "1/(x + y)", "-x", "log2(log2(x))", "min(x, y)", "floor(x)", "x % 2"])
def test_what_is_no_sum_of_terms_is_refused(text: str) -> None:
    with pytest.raises(OutOfReachError):
        terms(text)


def test_products_of_sums_are_multiplied_out() -> None:
    wanted = {term(f"{a}*{b}") for a, b in product("xy", "yz")}
    assert set(terms("(x + y)*(y + z)")) == wanted
