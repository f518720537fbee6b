"""The ICE model: values by hand, the laws it obeys, and bounds against points within them."""

import itertools
from fractions import Fraction

import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st

from archline.energy.ice import (
    BALANCED,
    CPU_BOUND,
    MEMORY_BOUND,
    UNDECIDED,
    IceParameters,
    ice_energy,
    ice_energy_bounds,
    ice_terms,
)
from archline.energy.machines import machine, machines
from archline.energy.model import Interval
from archline.energy.models import MODELS, model
from archline.language.diagnostics import ArchlineError

# eps_op, pi_op, eps_io, pi_io: small whole numbers of joules, so that the values can be done in the head.
SIMPLE = IceParameters(Fraction(2), Fraction(3), Fraction(5), Fraction(7))

amounts = st.integers(1, 60)
factors = st.fractions(min_value=0, max_value=20, max_denominator=12)
parameter_sets = st.builds(IceParameters, factors, factors, factors, factors)
triples = st.tuples(amounts, amounts, st.integers(0, 60)).map(lambda t: (max(t[:2]), min(t[:2]), t[2]))


def test_memory_bound_by_hand() -> None:
    # T_mem side: 7*6*4/12 = 14; T_comp side: 3*4 = 12; 2*12 = 24; 5*6 = 30.
    energy = ice_energy(SIMPLE, work=12, span=4, io=6)
    assert (energy.static, energy.computation, energy.memory) == (14, 24, 30)
    assert energy.total == 68
    assert energy.bound == MEMORY_BOUND


def test_cpu_bound_by_hand() -> None:
    # T_comp side: 3*4 = 12; T_mem side: 7*3*4/12 = 7.
    energy = ice_energy(SIMPLE, work=12, span=4, io=3)
    assert (energy.static, energy.computation, energy.memory) == (12, 24, 15)
    assert energy.bound == CPU_BOUND


def test_a_tie_is_said() -> None:
    # 7*3 = 3*7.
    energy = ice_energy(SIMPLE, work=7, span=2, io=3)
    assert energy.static == 6
    assert energy.bound == BALANCED


def test_a_matrix_vector_product_on_the_xeon_by_hand() -> None:
    """CSR with nz = 10^6 and the growth terms of Table 5 taken as counts: work nz, io nz, span nr + log2 n
    = 100.

    Static 23.29 nJ * 100, computation 0.263 nJ * 10^6, memory 8.86 nJ * 10^6.
    """
    energy = ice_energy(IceParameters.of(machine("xeon-e5-2650l-v3")), 10**6, 100, 10**6)
    assert energy.static == Fraction(2329, 10**9)
    assert energy.computation == Fraction(263, 10**6)
    assert energy.memory == Fraction(886, 10**5)
    assert energy.bound == MEMORY_BOUND


def test_the_verdict_depends_on_the_machine() -> None:
    # 100 operations a line: above the GTX 680's 26.90/0.452, below the Xeon Phi's 64.40/0.078.
    verdicts = {
        name: ice_energy(IceParameters.of(machine(name)), 10**6, 1000, 10**4).bound
        for name in ("kepler-gtx-680", "xeon-phi-31s1p")
    }
    assert verdicts == {"kepler-gtx-680": CPU_BOUND, "xeon-phi-31s1p": MEMORY_BOUND}


@given(st.builds(IceParameters, *[factors.filter(bool)] * 4), triples)
def test_the_terms_follow_from_times_and_powers(parameters: IceParameters, point: tuple[int, int, int]) -> None:
    """Equation (6) with (7) to (10): any clock, F and static power that give these parameters give this
    energy.
    """
    work, span, io = point
    clock, cycles = Fraction(2), Fraction(3)
    static_power = parameters.pi_op * clock / cycles
    line_cycles = parameters.pi_io * clock / static_power
    computing = span * cycles / clock
    transferring = Fraction(io) / Fraction(work, span) * line_cycles / clock
    expected = static_power * max(computing, transferring) + parameters.eps_op * work + parameters.eps_io * io
    energy = ice_energy(parameters, work, span, io)
    assert energy.total == expected
    relation = (transferring > computing) - (transferring < computing)
    assert energy.bound == {1: MEMORY_BOUND, 0: BALANCED, -1: CPU_BOUND}[relation]


@given(parameter_sets, triples, st.integers(0, 9), st.integers(0, 9))
def test_energy_grows_with_span_and_io(
    parameters: IceParameters, point: tuple[int, int, int], longer: int, more: int
) -> None:
    work, span, io = point
    longer = min(longer, work - span)
    before, after = (
        ice_energy(parameters, work, span, io),
        ice_energy(parameters, work, span + longer, io + more),
    )
    assert before.total <= after.total
    assert before.static <= after.static


def test_energy_may_fall_as_work_rises() -> None:
    # 7*100*1/w + 2*w: at w = 1, 702; at w = 10, 90.
    assert ice_energy(SIMPLE, 1, 1, 100).total == 702 + 500
    assert ice_energy(SIMPLE, 10, 1, 100).total == 90 + 500


def test_symbols_in_symbols_out() -> None:
    work, span, io = sympy.symbols("W S Q", positive=True)
    terms = ice_terms(SIMPLE, work, span, io)
    assert sympy.simplify(terms.static_memory - 7 * io * span / work) == 0
    assert (terms.static_cpu, terms.computation, terms.memory) == (3 * span, 2 * work, 5 * io)


def ranges(least: int) -> st.SearchStrategy[tuple[int, int]]:
    ends = st.integers(least, 40)
    return st.tuples(ends, ends).map(lambda pair: (min(pair), max(pair)))


@given(parameter_sets, ranges(1), ranges(1), ranges(0))
def test_bounds_hold_at_every_point_and_are_reached(
    parameters: IceParameters, works: tuple[int, int], spans: tuple[int, int], ios: tuple[int, int]
) -> None:
    if spans[0] > works[1]:
        with pytest.raises(ArchlineError):
            ice_energy_bounds(parameters, works, spans, ios)
        return
    bounds = ice_energy_bounds(parameters, works, spans, ios)
    quarter = Fraction(works[1] - works[0], 4)
    inner = {works[0] + quarter * step for step in range(5)} | set(range(works[0], works[1] + 1))
    chosen_spans = {*spans, (spans[0] + spans[1]) // 2} | {work for work in works if spans[0] <= work <= spans[1]}
    points = [
        ice_energy(parameters, work, span, io)
        for work, span, io in itertools.product(inner, chosen_spans, {*ios, sum(ios) // 2})
        if span <= work
    ]
    totals = [point.total for point in points]
    assert bounds.total.lower <= min(totals)
    assert bounds.total.upper == max(totals)
    assert bounds.static == Interval(min(p.static for p in points), max(p.static for p in points))
    assert bounds.memory == Interval(min(p.memory for p in points), max(p.memory for p in points))
    assert bounds.computation == Interval(min(p.computation for p in points), max(p.computation for p in points))
    if bounds.bound != UNDECIDED:
        assert {point.bound for point in points} <= {bounds.bound, BALANCED}


@given(parameter_sets, ranges(1), st.integers(1, 40), st.integers(0, 40))
def test_the_lower_bound_is_the_minimum_up_to_rounding(
    parameters: IceParameters, works: tuple[int, int], span: int, io: int
) -> None:
    """A dense grid around the least value of the convex function comes within its curvature of the bound."""
    works = (max(works[0], span), max(works[1], span))
    bound = ice_energy_bounds(parameters, works, span, io).total.lower
    steps = 400
    grid = [works[0] + Fraction(works[1] - works[0], steps) * step for step in range(steps + 1)]
    least = min(ice_energy(parameters, work, span, io).total for work in grid)
    slope = parameters.eps_op + parameters.pi_io * io * span / Fraction(works[0]) ** 2
    assert bound <= least <= bound * (1 + Fraction(1, 2**50)) + slope * Fraction(works[1] - works[0], steps)


def test_a_point_as_bounds_is_exact() -> None:
    bounds = ice_energy_bounds(SIMPLE, 12, 4, 6)
    assert bounds.total == Interval(Fraction(68), Fraction(68))
    assert bounds.bound == MEMORY_BOUND


@pytest.mark.parametrize(("io", "verdict"), [((3, 6), UNDECIDED), ((6, 9), MEMORY_BOUND), ((0, 3), CPU_BOUND)])
def test_the_verdict_over_bounds_on_io(io: tuple[int, int], verdict: str) -> None:
    # With work 12, 7*io against 3*12.
    assert ice_energy_bounds(SIMPLE, 12, 4, io).bound == verdict


@pytest.mark.parametrize(("work", "span", "io"), [(0, 0, 0), (1, 0, 1), (1, 2, 1), (1, 1, -1), (-1, -1, 1)])
def test_amounts_that_no_execution_has(work: int, span: int, io: int) -> None:
    with pytest.raises(ArchlineError) as problem:
        ice_energy(SIMPLE, work, span, io)
    assert problem.value.diagnostics[0].rule.code == "AL460"


def test_ends_in_the_wrong_order() -> None:
    with pytest.raises(ArchlineError) as problem:
        Interval.of((3, 2))
    assert problem.value.diagnostics[0].rule.code == "AL460"


def test_every_ice_machine_suits_the_model() -> None:
    ice = model("ice")
    assert ice in MODELS
    for found in machines():
        if found.collection == "ice":
            estimate = ice(found, {"work": 1000, "span": (10, 20), "io": 5, "flops": 7})
            assert estimate.total.amount.lower > 0
            assert [part.unit for part in estimate.parts] == ["J", "J", "J"]


def test_an_estimate_in_words() -> None:
    estimate = model("ice")(machine("xeon-e5-2650l-v3"), {"work": 10**6, "span": 100, "io": 10**6})
    texts = {part.name: (part.amount.text(part.unit), part.formula) for part in estimate.parts}
    assert texts == {
        "static": ("2.329 uJ", "pi_io*io*span/work"),
        "computation": ("263.0 uJ", "eps_op*work"),
        "memory": ("8.860 mJ", "eps_io*io"),
    }
    assert estimate.total.formula == "equation (14)"
    assert estimate.reason == "pi_io*io = 23.29 mJ >= pi_op*work = 108.0 uJ"


def test_unknown_models_and_missing_amounts() -> None:
    with pytest.raises(ArchlineError) as problem:
        model("icy")
    assert problem.value.diagnostics[0].rule.code == "AL459"
    assert "`ice`" in (problem.value.diagnostics[0].hint or "")
    with pytest.raises(ArchlineError) as problem:
        model("ice")(machine("xeon-phi-31s1p"), {"work": 1, "span": 1})
    assert problem.value.diagnostics[0].rule.code == "AL460"
