"""Costs of recursion on a grid against formulas by hand: CAPS, CARMA, and small recursions of one case."""

from __future__ import annotations

from fractions import Fraction
from math import log2

import pytest

import archline as al
from archline.algebra.evaluate.exact import evaluate
from archline.algebra.printing import to_text
from archline.analysis.analyse import derive
from archline.claims.decide import decide_claims
from archline.expr.intervals import EvaluationError
from archline.language.loader import load_text
from effort import long, some

MATMUL = "distributed.matmul"


def text_of(program: str, metric: str) -> str:
    """A cost of the last algorithm of a program."""
    module = load_text(program)
    costs = derive(module, list(module.algorithms.values())[-1])
    lower, upper = costs[metric].lower, costs[metric].upper
    assert lower is not None
    assert lower == upper, costs[metric]
    return costs.text(lower)


@long
@pytest.mark.parametrize("levels", some([2, 0, 1, 3, 10], 2))
@pytest.mark.parametrize("depth", some([1, 0, 4]))
def test_caps_moves_what_its_paper_says(levels: int, depth: int) -> None:
    """6*(7/4)^d*(n^2/P^(2/w) - n^2/P), w = log2(7): a breadth-first step moves 18/4 of what a processor has."""
    cost = al.algorithm(f"{MATMUL}::caps_strassen").cost()
    n, m, processors = 7 * 2 ** (levels + depth), 7, 7**levels
    at = {"n": n, "m": m, "d": depth, "P": processors}
    own, expected = Fraction(n * n, processors), Fraction(0)
    calls = 7**depth
    own /= 4**depth
    for _ in range(levels):
        expected += calls * own * 18 / 4
        own *= Fraction(7, 4)
    if processors <= 49:
        assert cost.words.at(**at) == expected
    found = evaluate(cost.words._cost.upper, at)  # type: ignore[arg-type]
    assert found == expected
    assert abs(
        float(found) - 6 * (7 / 4) ** depth * (n**2 / processors ** (2 / log2(7)) - n**2 / processors)
    ) <= 1e-9 * (1 + float(found))


def strassen(n: int, m: int) -> int:
    """Flops of Strassen's algorithm down to products of m by m."""
    return 2 * m**3 if n == m else 18 * (n // 2) ** 2 + 7 * strassen(n // 2, m)


@long
@pytest.mark.parametrize(("n", "m"), [(14, 14), (28, 14), (56, 7), (112, 7), (21, 21)])
def test_caps_does_the_flops_of_strassen(n: int, m: int) -> None:
    cost = al.algorithm(f"{MATMUL}::caps_strassen").cost()
    for processors, least in ((1, 0), (7, 1), (49, 2)):
        for depth in (0, 1):
            if n >= m * 2 ** (least + depth):
                assert cost.flops.at(n=n, m=m, d=depth, P=processors) == Fraction(strassen(n, m), processors)


@long
def test_carma_of_cubes_attains_the_bound_that_no_memory_helps() -> None:
    """3*(n^2/P^(2/3) - n^2/P): Al Daas et al., SPAA 2022, theorem 3."""
    cost = al.algorithm(f"{MATMUL}::carma").cost()
    for k in range(6):
        n, processors = 2 ** (k + 2), 8**k
        own = n * n // processors
        if own:
            at = {"n": n, "m": n, "p": n, "P": processors, "s": own, "t": own, "v": own}
            words = 3 * (n * n // 4**k - own)
            assert cost.words.at(**at) == (words, words)
            assert cost.messages.at(**at) == 3 * k


HALVES = """
algorithm f(a: inout local real[s]) on grid(r: P):
    where P is power of 2
    decreases P
    if P == 1:
        a[0] += 1.0
    else:
        split r by 2 as g:
            shift a along g by 1
            f(a)
"""


def test_the_same_on_every_level_counts_levels() -> None:
    assert text_of(HALVES, "words") == "s*log2(P)"
    assert text_of(HALVES, "messages") == "log2(P)"
    assert text_of(HALVES, "flops") == "1"
    assert text_of(HALVES, "memory") == "s"


@long
def test_what_doubles_is_a_geometric_sum() -> None:
    doubled = HALVES.replace(
        "shift a along g by 1", "local y: real[2*s]\n            allgather a along g into y"
    ).replace("            f(a)", "            f(y)")
    assert text_of(doubled, "words") == "s*P - s"
    # Each level keeps its array of twice as many words, and Bruck's algorithm one more of that size at the last.
    assert text_of(doubled, "flops") == "1"


def test_two_calls_a_level_are_followed() -> None:
    twice = HALVES.replace("            f(a)", "            f(a)\n            f(a)")
    # T(P) = s + 2*T(P/2), T(1) = 0.
    assert text_of(twice, "words") == "s*P - s"
    assert text_of(twice, "flops") == "P"


def test_what_is_not_a_sum_of_levels_is_unknown_with_its_line() -> None:
    other = HALVES.replace("            f(a)", "            f(a[0..(s + 1)//2])")
    module = load_text(other)
    cost = derive(module, module.algorithms["f"])["words"]
    assert cost.status == "unknown"
    assert cost.reason is not None
    assert "no closed form" in cost.reason


def test_a_recursion_that_shrinks_nothing_is_no_cost() -> None:
    endless = """
algorithm f(a: inout local real[s]) on grid(r: P):
    if s == 0:
        pass
    else:
        shift a along r by 1
        f(a)
"""
    module = load_text(endless)
    assert derive(module, module.algorithms["f"])["words"].status == "unknown"


def test_sizes_that_differ_between_processors_are_no_level() -> None:
    program = HALVES.replace("f(a)\n", "f(a[0..s - g])\n").replace(
        "where P is power of 2", "where P is power of 2, s >= 9"
    )
    module = load_text(program)
    reason = derive(module, module.algorithms["f"])["words"].reason
    assert reason is None or "differ between processors" in reason


@pytest.mark.parametrize(
    ("claim", "outcome"),
    [
        ("words == s*log2(P)", "holds"),
        ("words == s*log2(P) + 1", "fails"),
        ("words <= s*log2(P) - 1 when P >= 2", "fails"),
        ("words is Theta(s*log2(P)) when P >= 2", "holds"),
        ("words is O(s)", "fails"),
        ("messages is O(log2(log2(P)))", "fails"),
    ],
)
def test_claims_on_recursion_are_decided(claim: str, outcome: str) -> None:
    module = load_text(HALVES.replace("    decreases P", f"    decreases P\n    ensures {claim}"))
    algorithm = module.algorithms["f"]
    (verdict,) = decide_claims(module, algorithm, derive(module, algorithm))
    assert verdict.outcome == outcome, verdict


@long
@pytest.mark.parametrize(
    ("claim", "outcome"),
    some(
        [
            ("words is Theta(n^2/P^(2/3)) when n == m, m == p, P >= 2", "holds"),
            ("words is O(n^2/P^(3/4)) when n == m, m == p, P >= 2", "unknown or fails"),
            ("words is O(n^2/P) when n == m, m == p, P >= 2", "unknown or fails"),
            ("words is Omega(n^2/sqrt(P)) when n == m, m == p, P >= 2", "unknown or fails"),
            ("flops is O(n^2*m/P) when n == m", "unknown or fails"),
            ("words == 3*(n^2/P^(2/3) - n^2/P) when n == m, m == p, P is power of 8", "holds"),
            ("words <= 3*(n^2/P^(2/3) - n^2/P) + 5 when n == m, m == p, P is power of 8", "holds"),
            ("words >= 2*(n^2/P^(2/3) - n^2/P) when n == m, m == p, P is power of 8", "holds"),
            ("words == 3*(n^2/P^(2/3) - n^2/P) + 1 when n == m, m == p, P is power of 8", "unknown or fails"),
            ("words == 3*(n^2/P^(2/3) - 1) when n == m, m == p, P is power of 8", "unknown or fails"),
            ("words >= 4*(n^2/P^(2/3) - n^2/P) when n == m, m == p, P is power of 8", "unknown or fails"),
            ("words <= 2*n^2/P^(2/3) when n == m, m == p, P is power of 8", "unknown or fails"),
            ("words == 3*(n^2/P^(2/3) - n^2/P) when n == m, P is power of 8", "unknown or fails"),
            ("words == 3*(n^2/P^(2/3) - n^2/P) when n == m, m == p, P is power of 4", "unknown or fails"),
            ("work == 1 when n == m, m == p, P is power of 8", "unknown or fails"),
        ],
        9,
    ),
)
def test_claims_on_carma(claim: str, outcome: str) -> None:
    program = f"""
use dense.matmul

algorithm mine(a: local real[s], b: local real[t], c: out local real[v], n: size, m: size, p: size) on grid(r: P):
    where P is power of 2, s == n*m/P, t == m*p/P, v == n*p/P
    decreases P
    ensures {claim}
    if P == 1:
        c = 0
        matmul_basic(a as [n, m], b as [m, p], c as [n, p])
    elif n >= max(m, p):
        split r by 2 as g:
            local both: real[2*t]
            allgather b along g into both
            mine(a, both, c, n/2, m, p)
    elif p >= m:
        split r by 2 as g:
            local both: real[2*s]
            allgather a along g into both
            mine(both, b, c, n, m, p/2)
    else:
        split r by 2 as g:
            local both: real[2*v]
            mine(a, b, both, n, m/2, p)
            reduce_scatter both along g into c with +
"""
    module = load_text(program)
    algorithm = module.algorithms["mine"]
    (verdict,) = decide_claims(module, algorithm, derive(module, algorithm))
    assert verdict.outcome in outcome.split(" or "), verdict


@long
def test_powers_with_logarithms_are_exact() -> None:
    cost = al.algorithm(f"{MATMUL}::caps").cost().words._cost.upper
    assert evaluate(cost, {"s": 16, "m": 1, "d": 0, "P": 49}) == 6 * 16 * (Fraction(49, 16) - 1)
    with pytest.raises(EvaluationError, match="log2"):
        evaluate(cost, {"s": 16, "m": 1, "d": 0, "P": 48})
    assert to_text(cost, ("s", "m", "d", "P")) == "6*s*P*(7/4)^d/P^(2/log2(7)) - 6*s*(7/4)^d"


@long
def test_sizes_that_where_gives_need_not_be_given() -> None:
    cost = al.algorithm(f"{MATMUL}::carma").cost()
    assert cost.words.at(n=16, m=16, p=16, P=8) == cost.words.at(n=16, m=16, p=16, P=8, s=32, t=32, v=32) == (96, 96)
    with pytest.raises(al.ArchlineError, match="does not hold"):
        cost.words.at(n=16, m=16, p=16, P=8, s=31, t=32, v=32)


DECLARED = """
extern f(x: real) -> real costs 3 flops

algorithm halve(A: inout local real[n]) on grid(r: P):
    where P is power of 2
    decreases P
    for i in 0..n:
        A[i] = f(A[i])
    if P == 1:
        pass
    else:
        split r by 2 as g:
            halve(A)

algorithm outer(A: inout local real[n]) on grid(r: P):
    where P is power of 2
    halve(A)
"""


@pytest.mark.parametrize("name", ["halve", "outer"])
def test_declared_costs_in_a_recursion_are_told(name: str) -> None:
    """log2(P) + 1 levels, each of n calls of 3 flops."""
    flops = al.loads(DECLARED)[name].cost().flops
    assert (flops.status, flops.declared) == ("declared", ("extern f",))
    assert flops.at(n=5, P=8) == 4 * 5 * 3


@pytest.mark.parametrize("where", ["where P is power of 2", "where n >= 1"])
@pytest.mark.parametrize("condition", ["P > 1", "P >= 2", "P != 1", "1 < P", "not P == 1"])
def test_the_last_level_may_be_a_branch_that_is_not_written(condition: str, where: str) -> None:
    text = f"""
algorithm f(a: inout local real[n]) on grid(r: P):
    {where}
    decreases P
    if {condition}:
        split r by 2 as g:
            shift a along g by 1
            f(a)
"""
    assert text_of(text, "words") == "n*log2(P)"


@pytest.mark.parametrize(
    ("sizes", "runs"),
    [
        ({"n": 14, "m": 14, "P": 7, "d": 0}, False),
        ({"n": 28, "m": 14, "P": 7, "d": 0}, True),
        ({"n": 28, "m": 14, "P": 7, "d": 1}, False),
        ({"n": 42, "m": 14, "P": 7, "d": 0}, False),
        ({"n": 56, "m": 14, "P": 7, "d": 1}, True),
    ],
)
def test_caps_has_costs_where_it_can_run(sizes: dict[str, int], runs: bool) -> None:
    """Every step halves n, down to products of m by m: n = m*2^k for at least d + log_7(P) steps."""
    cost, caps = al.algorithm(f"{MATMUL}::caps_strassen").cost(), al.algorithm(f"{MATMUL}::caps_strassen")
    if runs:
        assert cost.flops.at(sizes) == caps.run(sizes).counts.flops
        return
    with pytest.raises(al.ArchlineError, match="AL407"):
        cost.flops.at(sizes)
    with pytest.raises(al.ArchlineError, match="AL407"):
        caps.run(sizes)


@long
def test_messages_that_are_unknown_where_their_words_are_bounded_have_no_value() -> None:
    messages = al.algorithm(f"{MATMUL}::carma").cost().messages
    with pytest.raises(al.ArchlineError, match="AL414"):
        messages.at(n=8, m=8, p=8, s=8, t=8, v=8, P=8, K=4)


LOCAL = """
algorithm sort(a: inout real[n]):
    where n >= 0
    decreases n
    if n > 3:
        let h = n//3
        sort(a[0..h])
        sort(a[h..n])
        local t: real[n, 2] = 0
        {after}
    {leaf}

algorithm f(a: inout local real[n]) on grid(r: P):
    where n >= 1
    sort(a)
"""


@pytest.mark.parametrize("leaf", ["a[:] = a", "if n >= 1 and n <= 3:\n        local u: real[7] = 0"])
@pytest.mark.parametrize("after", some(["pass", "local u: real[n] = 0"]))
def test_what_calls_need_is_free_again_when_they_return(leaf: str, after: str) -> None:
    """The peak of a recursion is at one of its levels, or at its end."""
    found = al.loads(LOCAL.format(after=after, leaf=leaf))["f"]
    cost = found.cost().memory
    assert cost.status != "unknown"
    for n in (1, 2, 3, 4, 5, 9, 10, 27, 50):
        executed = found.run(n=n, P=2).counts.memory
        value = cost.at(n=n, P=2)
        lower, upper = value if isinstance(value, tuple) else (value, value)
        assert lower <= executed <= upper


def test_the_peak_of_mergesort_is_that_of_its_last_merge() -> None:
    """The merge of n words needs a buffer of n words; a single word is sorted in place."""
    found = al.loads("use sort.mergesort\nalgorithm f(a: inout local real[n]) on grid(r: P):\n    mergesort(a)\n")["f"]
    cost = found.cost().memory
    assert cost.status == "exact"
    for n in (1, 2, 3, 7, 16, 33):
        assert cost.at(n=n, P=3) == found.run(n=n, P=3).counts.memory == (2 * n if n > 1 else 1)


def test_sizes_that_facts_give_are_integers_or_an_error_says_which_is_none() -> None:
    """s == n*m/P is 9/8 for n = m = 3 and P = 8."""
    cost = al.algorithm(f"{MATMUL}::carma").cost()
    with pytest.raises(al.ArchlineError, match=r"AL407: `s` is n\*m/P, which is not an integer"):
        cost.words.at(n=3, m=3, p=3, P=8)
    with pytest.raises(al.ArchlineError, match="AL402: no value is given for `P`"):
        cost.words.at(n=8, m=8, p=8)
    with pytest.raises(al.ArchlineError, match="AL402: no value is given for `p`"):
        cost.words.at(n=3, m=3, P=8)
