"""Growth of powers with sizes in base and exponent: by their exponents, each answer checked by the other witness."""

from __future__ import annotations

import math

import pytest

from archline.certificates.check import check, check_counterexample
from archline.growth.is_big_o import Proved, Refuted, Undecided, Verdict, is_O
from archline.language.parser import parse_expression, parse_facts
from effort import some

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
        # (1 + 1/n)^n is bounded, (1 + 2/n)^(n^2) is not: neither is known of sums and of logarithms read as log2(2 + n).
        ("(n + 1)^n", "n^n"),
        ("n^(n^2)", "2^(n^2*log2(n))"),
        # The logarithm of 2^(1/n) is 1, not 1/n; that of m^n is at least 1 where m is 1, whatever n is.
        ("log2(2^(1/n))", "1/n"),
        ("n*log2(m)", "log2(m^n)"),
    ],
)
def test_what_is_not_known_of_powers(f: str, g: str) -> None:
    assert not isinstance(verdict(f, g), Proved)


def test_a_sum_to_a_size_is_out_of_reach_for_a_reason() -> None:
    found = verdict("(n + 1)^n", "n^n")
    assert isinstance(found, Undecided)
    assert found.reason == "a sum is raised to the power `n`, which is not constant"


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
