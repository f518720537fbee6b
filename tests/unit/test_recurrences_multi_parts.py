"""The parts of the solver of several sizes: cones, numbers, comparisons of terms, and the check that may veto."""

from __future__ import annotations

import pytest

from archline.algebra.reals import OutOfReachError
from archline.language.parser import parse_expression
from archline.recurrences.asymptotic.logspace.paths import paths, pieces
from archline.recurrences.asymptotic.logspace.solve import GrowthRegime, check, regimes
from archline.recurrences.asymptotic.logspace.system import read_system
from archline.recurrences.asymptotic.read import parse_recurrence

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
