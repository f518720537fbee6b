"""The parts of the solver of several sizes: cones, numbers, comparisons of terms, and the check that may veto."""

from __future__ import annotations

from itertools import combinations

import pytest
from flint import fmpq, fmpq_mat
from hypothesis import given
from hypothesis import strategies as st

from archline.algebra.reals import OutOfReachError
from archline.language.parser import parse_expression
from archline.recurrences.asymptotic.logspace.compare import covered
from archline.recurrences.asymptotic.logspace.cones import (
    Irrational,
    LogMonomial,
    LogNames,
    Vector,
    dot,
    logarithm,
    orthant,
    sign,
    whole,
)
from archline.recurrences.asymptotic.logspace.paths import paths, pieces
from archline.recurrences.asymptotic.logspace.solve import GrowthRegime, check, regimes
from archline.recurrences.asymptotic.logspace.system import read_system
from archline.recurrences.asymptotic.read import parse_recurrence

XYZ = LogNames(("x", "y", "z"), 3)


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
