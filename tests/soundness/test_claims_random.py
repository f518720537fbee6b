"""Claims of random formulas that are said to hold do so for every value of their costs, at small and large sizes."""

from __future__ import annotations

import random
from fractions import Fraction
from itertools import islice, product

import pytest

from archline.api.claims import decide_file_claims
from archline.compare.claims import ClaimedAlgorithms, ClaimOfCosts
from archline.compare.orders import CostOrder, separate_parts
from archline.energy.formulas import bound_value
from archline.expr.intervals import EvaluationError, Interval
from archline.expr.values import evaluate
from archline.language import syntax as s
from archline.language.loader import load_text
from claimed_programs import PROGRAM
from effort import drawn

COSTS = (
    "flops(line)", "work(line)", "flops(some)", "work(some)", "work(table)", "span(table)", "work(halves)",
    "flops(some, n = 2*n)", "work(line, n = n + m)", "flops(table, n = m)", "io(line)", "io(some, n = m)", "io(table)",
)  # fmt: skip
SIZES = ("n", "m", "n/2", "n//3", "log2(n)", "sqrt(m)", "7", "1", "1.5", "n*m")
RELATIONS = ("<=", "<", ">=", ">", "==")
PLACES = 60


def _formula(source: random.Random, depth: int) -> str:
    if depth == 0 or source.random() < 0.25:
        return source.choice(COSTS if source.random() < 0.65 else SIZES)
    one, other = _formula(source, depth - 1), _formula(source, depth - 1)
    match source.randrange(8):
        case 0 | 1 | 2:
            return f"({one} + {other})"
        case 3:
            return f"({one} - {other})"
        case 4:
            return f"({one})*({other})"
        case 5:
            return f"({one})/({other})"
        case 6:
            return f"max({one}, {other})"
        case _:
            return f"min({one}, {other})"


def _claim(source: random.Random) -> str:
    left = _formula(source, 2)
    # Both sides share something, so that some claims hold.
    more = _formula(source, 1)
    right = source.choice((f"{left} + {more}", f"2*({left})", f"max({left}, {more})", _formula(source, 2)))
    if source.random() < 0.3:
        one, other = _formula(source, 0), _formula(source, 0)
        left, right = (f"{source.choice(COSTS)} - {function}({one}, {other})" for function in ("min", "max"))
    where = source.choice(
        ("", " where n >= 3", " where 2 divides n, m <= n", " where n <= 30, m <= 5, Z == 64, L == 4")
    )
    return f"claim {left} + 0*flops(table) {source.choice(RELATIONS)} {right}{where}"


ROWS = """
algorithm rows(A: real[n, m], x: real[m], y: inout real[n]):
    for i in 0..n:
        for j in 0..m:
            y[i] += A[i, j]*x[j]
"""
OF_CACHES = ("n", "m", "n*m", "2*n*m", "n*ceil(m/L)", "n*m*L/Z", "n*m*m*L/Z", "Z/L")


def _claim_of_caches(source: random.Random) -> str:
    """A bound that may hold by different upper bounds of io in caches of different sizes."""
    parts = [f"{source.randint(1, 3)}*{source.choice(OF_CACHES)}" for _ in range(source.randint(2, 4))]
    where = source.choice(("", " where Z >= 2*L", " where Z >= 3*L, n >= 2"))
    return f"claim io({source.choice(('rows', 'rows', 'table'))}) + 0*flops(table) <= {' + '.join(parts)}{where}"


@pytest.mark.parametrize("seed", range(4))
def test_no_claim_that_holds_is_false_anywhere(seed: int) -> None:
    source = random.Random(seed)
    assert _held([_claim(source) for _ in range(drawn(120, 20))]) >= 3


def test_no_bound_under_a_condition_is_taken_elsewhere() -> None:
    source = random.Random(7)
    assert _held([_claim_of_caches(source) for _ in range(drawn(150, 12))]) >= 3


def _held(lines: list[str]) -> int:
    """How many of the claims are said to hold, each of which is confirmed at sizes, for every value of its costs."""
    module = load_text(PROGRAM + ROWS + "\n".join(lines) + "\n")
    known, held = ClaimedAlgorithms(module), 0
    for claim in (each for each in module.program.items if isinstance(each, s.Claim)):
        about = ClaimOfCosts(claim, known)
        if about.decide().outcome != "holds":
            continue
        held += 1
        (left, right), parts = separate_parts(
            (about.build_formula(claim.left), about.build_formula(claim.right)), about.amounts.keys()
        )
        order = CostOrder(left, claim.relation, right, about.amounts, parts, about.build_sizes())
        for point in islice(order.sizes.points(), PLACES):
            ends = {name: each.enclose_value(point) for name, each in about.amounts.items()}
            known_parts = {name: evaluate(each, point) for name, each in parts.items()}
            if any(not isinstance(each, int | Fraction) for each in known_parts.values()):
                continue
            for corner in product(*({each.lower, each.upper} for each in ends.values())):
                values = {
                    name: Interval.of(each)
                    for name, each in {**known_parts, **dict(zip(ends, corner, strict=True))}.items()
                }  # type: ignore[arg-type]
                try:
                    one, other = bound_value(left, values), bound_value(right, values)
                except EvaluationError:
                    continue
                if one.exact and other.exact:
                    compared = {
                        "<=": one.lower <= other.lower, "<": one.lower < other.lower, "==": one == other,
                        ">=": one.lower >= other.lower, ">": one.lower > other.lower,
                    }  # fmt: skip
                    assert compared[claim.relation], (claim, point, values)
    return held


def test_growth_of_products_is_decided_as_their_exponents_say() -> None:
    """n^a*m^b is O(n^c*m^d) iff a <= c and b <= d; where m <= n iff a <= c and a + b <= c + d."""
    source = random.Random(5)
    sides = {"flops(line)": (1, 0), "flops(table)": (1, 1), "work(table, m = n)": (2, 0), "flops(table)*m": (1, 2)}
    lines, expected = [], []
    for _ in range(drawn(80, 20)):
        (left, (a, b)), (right, (c, d)) = (source.choice(list(sides.items())) for _ in range(2))
        i, j, bounded = source.randrange(2), source.randrange(2), source.random() < 0.5
        c, d = c + i, d + j

        def at_most(one: tuple[int, int], other: tuple[int, int], bounded: bool = bounded) -> bool:
            both = sum(one) <= sum(other) if bounded else one[1] <= other[1]
            return one[0] <= other[0] and both

        relation = source.choice(("O", "Omega", "Theta"))
        above, below = at_most((a, b), (c, d)), at_most((c, d), (a, b))
        expected.append({"O": above, "Omega": below, "Theta": above and below}[relation])
        where = " where m <= n" if bounded else " where m >= 1"
        lines.append(f"claim {left} + 0*flops(table) is {relation}({right}*n^{i}*m^{j}){where}")
    for text, truth, found in zip(
        lines, expected, decide_file_claims(load_text(PROGRAM + "\n".join(lines) + "\n")), strict=True
    ):
        assert found.outcome == ("holds" if truth else "fails"), (text, found)
