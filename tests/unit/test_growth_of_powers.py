"""Growth of powers with sizes in base and exponent: by their exponents, each answer checked by the other witness."""

from __future__ import annotations

import itertools
import math
import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import archline as al
from archline.certificates.check import check, check_counterexample
from archline.growth.is_big_o import Proved, Refuted, Undecided, Verdict, is_O
from archline.language.parser import parse_expression, parse_facts
from effort import drawn, some

# From the slowest to the fastest: each is O of all that follow, and none of them is O of it.
RISING = {
    "log2(n)": lambda n: math.log2(math.log2(n)),
    "n": lambda n: math.log2(n),
    "n^3": lambda n: 3 * math.log2(n),
    "log2(n)^log2(n)": lambda n: math.log2(n) * math.log2(math.log2(n)),
    "n^log2(n)": lambda n: math.log2(n) ** 2,
    "2^sqrt(n)": lambda n: math.sqrt(n),
    "n^sqrt(n)": lambda n: math.sqrt(n) * math.log2(n),
    "2^(n/log2(n))": lambda n: n / math.log2(n),
    "2^n": lambda n: n,
    "3^n": lambda n: n * math.log2(3),
    "log2(n)^n": lambda n: n * math.log2(math.log2(n)),
    "n^(n/2)": lambda n: n / 2 * math.log2(n),
    "n^n": lambda n: n * math.log2(n),
    "(2*n)^n": lambda n: n * math.log2(2 * n),
    "n^(2*n)": lambda n: 2 * n * math.log2(n),
    "2^(n^2)": lambda n: n**2,
    "2^(n^2*log2(n))": lambda n: n**2 * math.log2(n),
    "2^(2^n)": lambda n: 2.0 ** min(n, 1000),
}


def verdict(f: str, g: str, *facts: str) -> Verdict:
    found = is_O(parse_expression(f), parse_expression(g), [fact for each in facts for fact in parse_facts(each)])
    if isinstance(found, Proved):
        assert check(found.certificate).accepted, check(found.certificate)
    if isinstance(found, Refuted):
        checked = check_counterexample(f, g, list(facts), found.counterexample)
        assert checked.accepted, checked
    return found


@pytest.mark.parametrize("slower", some([*RISING], 3))
def test_powers_are_ordered_as_their_logarithms_are(slower: str) -> None:
    names = list(RISING)
    for faster in names[names.index(slower) + 1 :]:
        assert isinstance(verdict(slower, faster), Proved), (slower, faster)
        assert isinstance(verdict(faster, slower), Refuted), (faster, slower)
        gaps = [RISING[faster](n) - RISING[slower](n) for n in (2.0**40, 2.0**80, 2.0**120)]
        if "2^(2^n)" not in (slower, faster):
            assert gaps[0] < gaps[1] < gaps[2], (slower, faster)


@pytest.mark.parametrize(
    ("f", "g", "of", "omega"),
    [
        ("2^(n*log2(n))", "n^n", True, True),
        ("2^(log2(n)^2)", "n^log2(n)", True, True),
        ("sqrt(n)^n", "n^(n/2)", True, True),
        ("n^n + 2^n + n^5", "n^n", True, True),
        ("max(n^n, 2^(n^2))", "2^(n^2)", True, True),
        ("log2(n^n)", "n*log2(n)", True, True),
        ("n^n", "n^(n + 1)", True, False),
        ("n^n/2^n", "n^n", True, False),
        ("2^n", "2^(n*m)", True, False),
        ("n^n", "n^n*m", True, False),
        # At m = 1 the one is 1, at n = 1 the other is bounded.
        ("m^n", "2^n", False, False),
        ("m^n", "n^m", False, False),
        ("2^(n*m)", "n^n", False, False),
    ],
)
def test_powers_beside_each_other(f: str, g: str, of: bool, omega: bool) -> None:
    assert isinstance(verdict(f, g), Proved if of else Refuted)
    assert isinstance(verdict(g, f), Proved if omega else Refuted)


@pytest.mark.parametrize(
    ("f", "g"),
    [
        # (1 + 2/n)^(n^2) is unbounded, so that it matters here that log2(n) is read as log2(2 + n).
        ("n^(n^2)", "2^(n^2*log2(n))"),
        # The logarithm of 2^(1/n) is 1, not 1/n; that of m^n is at least 1 where m is 1, whatever n is.
        ("log2(2^(1/n))", "1/n"),
        ("n*log2(m)", "log2(m^n)"),
    ],
)
def test_what_is_not_known_of_powers(f: str, g: str) -> None:
    assert not isinstance(verdict(f, g), Proved)


def test_a_sum_to_a_size_is_out_of_reach_for_a_reason() -> None:
    found = verdict("(n + 1)^m", "n^m")
    assert isinstance(found, Undecided)
    assert found.reason == "a sum is raised to the power `m`, which is not constant"


@pytest.mark.parametrize("rule", [{"power": "0"}, {"power": "-1"}])
def test_a_forged_power_is_rejected(rule: dict[str, str]) -> None:
    found = verdict("2^n", "n^n")
    assert isinstance(found, Proved)
    certificate = found.certificate
    (use,) = certificate["bounds"][0]["proof"]["uses"][:1]  # type: ignore[index]
    assert use["because"]["rule"] == "powers"
    small, large = use["small"], use["large"]
    use["small"], use["large"] = dict.fromkeys(large, "1"), dict.fromkeys(small, rule["power"])
    assert not check(certificate).accepted


# Functions of a well-known exercise, from the fastest to the slowest; those in one line have the same order.
FALLING = (
    ("2^(2^(n + 1))",), ("2^(2^n)",), ("(n + 1)!",), ("n!",), ("exp(n)",), ("n*2^n",), ("2^n",), ("(3/2)^n",),
    ("lg(n)^lg(n)", "n^lg(lg(n))"), ("(lg n)!",), ("n^3",), ("n^2", "4^lg(n)"), ("n*lg(n)", "lg(n!)"),
    ("n", "2^lg(n)"), ("sqrt(2)^lg(n)",), ("2^sqrt(2*lg(n))",), ("lg(n)^2",), ("ln n",), ("sqrt(lg n)",), ("ln ln n",),
    ("2^(lg* n)",), ("lg* n", "lg*(lg n)"), ("lg(lg* n)",), ("n^(1/lg(n))", "1"),
)  # fmt: skip
RANKED = [(rank, text) for rank, texts in enumerate(FALLING) for text in texts]


@pytest.mark.parametrize("start", some(range(len(RANKED) - 1), 3))
def test_functions_of_a_well_known_exercise_are_ordered(start: int) -> None:
    (rank, f), *others = RANKED[start:]
    for other, g in [others[0], *some(others[1:], 7)]:
        compared = al.order(f, g, relation="compare", verify=True)
        assert compared.order == ("equal" if rank == other else "larger"), (f, g)
        assert compared.verified, (f, g, compared.checks)


@pytest.mark.parametrize(
    ("f", "g", "order"),
    [
        ("lg(n)^10", "n^0.01", "smaller"), ("n^5", "1.01^n", "smaller"), ("2^n", "2^(n/2)", "larger"),
        ("n^lg(5)", "5^lg(n)", "equal"), ("lg(n!)", "lg(n^n)", "equal"), ("n^2 - n", "n^2", "equal"),
        ("n - log2(n)", "n", "equal"), ("2^n - n", "2^n", "equal"), ("2^ceil(log2(n))", "n", "equal"),
        ("n^(1 + 1/log2(n))", "n", "equal"), ("(n + 1)^n", "n^n", "equal"), ("(n + 1)^(n^2)", "n^(n^2)", "larger"),
        ("2^(n + sqrt(n))", "2^n*n^9", "larger"), ("n!/n^3", "(n - 3)!", "equal"), ("2^2^lg* n", "2^2^lg*(lg n)", "larger"),
        ("2^2^lg* n", "lg lg n", "smaller"), ("lg lg lg lg lg n", "lg* n", "larger"), ("lg(lg* n)", "lg lg lg lg n", "smaller"),
        ("(2*n)!/(n!)^2", "4^n/sqrt(n)", "equal"), ("n^n/n!", "exp(n)/sqrt(n)", "equal"),
        ("arrangements(n)", "n!", "equal"), ("fibonacci(n)", "2^n", "smaller"), ("n - 1", "n - 2", "equal"),
        ("2^ceil(log2(n))", "3^ceil(log2(n))", "smaller"), ("2^(2^ceil(log2(n)))", "2^(n^2)", "smaller"),
    ],
)  # fmt: skip
def test_logarithms_decide_orders(f: str, g: str, order: str) -> None:
    mirrored = {"smaller": "larger", "larger": "smaller"}
    for left, right, wanted in ((f, g, order), (g, f, mirrored.get(order, order))):
        compared = al.order(left, right, relation="compare", verify=True)
        assert compared.order == wanted
        assert compared.verified, compared.checks


@pytest.mark.parametrize(
    ("f", "g", "reason"),
    [
        ("2^(2^ceil(log2(n)))", "2^n", "leading terms cancel"),
        ("log2(n)^(log2(n)^2)", "2^(log2(n)^2*log2(log2(n)))", "whether log2"),
        ("log_star(log_star(n))", "1", "`log_star` of `log_star`"),
        ("exp(n % 7)", "n", "may be|scale"),
    ],
)
def test_an_order_that_logarithms_do_not_decide_is_unknown_for_a_reason(f: str, g: str, reason: str) -> None:
    compared = al.order(f, g, relation="compare")
    assert compared.order == "unknown"
    assert re.search(reason, str(compared))


def test_what_holds_from_some_size_on_only_is_no_relation_at_all_sizes() -> None:
    assert al.order("n^2", "n^2 - n", relation="O").holds is False
    assert al.order("2", "log_star(n)", relation="O").holds is None
    assert al.order("2", "log_star(n)", relation="compare").order == "smaller"


ATOMS = (
    "n",
    "n^2",
    "sqrt(n)",
    "log2(n)",
    "log2(log2(n))",
    "n*log2(n)",
    "2",
    "n^(1/3)",
    "n + 1",
    "log_star(n)",
    "n - 1",
)
GROWING = st.recursive(
    st.sampled_from(ATOMS),
    lambda inner: st.one_of(
        st.builds("({} {} {})".format, inner, st.sampled_from("+*/^"), inner),
        st.builds("{}({})".format, st.sampled_from(("log2", "sqrt", "exp", "factorial", "2^ceil")), inner),
    ),
    max_leaves=3,
)


@settings(deadline=None, max_examples=drawn(150), suppress_health_check=[HealthCheck.too_slow])
@given(st.tuples(GROWING, GROWING, GROWING))
def test_orders_are_transitive_and_agree_with_values(texts: tuple[str, str, str]) -> None:
    signs = {"smaller": -1, "equal": 0, "larger": 1}
    found = {}
    for f, g in itertools.permutations(range(3), 2):
        try:
            compared = al.order(texts[f], texts[g], relation="compare", verify=f < g)
        except al.ArchlineError:
            continue
        if compared.order in signs:
            found[f, g] = signs[compared.order]
            assert all(
                check.accepted or "does not grow" not in check.reason for check in (compared.checks or {}).values()
            ), (texts[f], texts[g], compared.checks)
    for (f, g), sign in found.items():
        assert found.get((g, f), -sign) == -sign, texts
        for h in {0, 1, 2} - {f, g}:
            if found.get((g, h)) == sign and (f, h) in found:
                assert found[f, h] == sign, texts
