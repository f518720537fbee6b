"""Verdicts on `ensures`: what holds is proved, what fails has a counterexample, the rest is left open."""

from __future__ import annotations

import pytest

import archline as al
from archline.analysis.analyse import derive
from archline.claims.decide import decide_claims
from archline.claims.verdicts import Verdict
from archline.language.diagnostics import ArchlineError
from archline.language.loader import load_text
from effort import long

LOOP = "for i in 0..n:\n        x[0] += 1.0"
"""n flops, work and span 1 + 2n."""


def verdicts(
    ensures: str, body: str = LOOP, where: str = "", header: str = "x: inout real[n], m: size"
) -> list[Verdict]:
    clauses = [f"where {where}"] if where else []
    clauses += [f"ensures {each}" for each in ensures.split("; ")]
    lines = "".join(f"    {each}\n" for each in [*clauses, body])
    return decided(f"extern g(a: real) -> real costs c flops\nalgorithm f({header}):\n{lines}")


def decided(text: str) -> list[Verdict]:
    """The verdicts on the algorithm f of a program."""
    module = load_text(text)
    algorithm = module.algorithms["f"]
    return list(decide_claims(module, algorithm, derive(module, algorithm)))


def verdict(ensures: str, body: str = LOOP, where: str = "", **options: str) -> Verdict:
    (found,) = verdicts(ensures, body, where, **options)
    return found


@pytest.mark.parametrize(
    ("ensures", "where"),
    [
        # Decimals are exact fractions, exponents may be halves.
        ("work <= 2.5*n", "n >= 2"),
        ("work == 2.0*n + 1", ""),
        ("flops >= 0.1*n + 0.2*n + 0.7*n", ""),
        ("flops >= n^0.5", ""),
        # By products of facts: (n - 1)*(100 - n) >= 0.
        ("work >= 0.001*n^2", "n <= 100"),
        ("work >= n^2/1000 - m when n <= 2*m and m <= 50", ""),
    ],
)
def test_numerals_and_products_of_facts(ensures: str, where: str) -> None:
    found = verdict(ensures, where=where)
    assert (found.outcome, found.reason) == ("holds", "proved for all sizes")


# The first point in the order of the largest size, then of the sum, at which the claim is wrong.
FAILS = [
    ("flops == n + 1", LOOP, "", {"n": 1, "m": 1}, "derived 1, claimed == 2"),
    ("flops == 2*n - 1", LOOP, "", {"n": 2, "m": 1}, "derived 2, claimed == 3"),
    ("flops <= n - 1", LOOP, "", {"n": 1, "m": 1}, "derived 1, claimed <= 0"),
    ("flops >= n + 1", LOOP, "", {"n": 1, "m": 1}, "derived 1, claimed >= 2"),
    ("flops <= 3", LOOP, "", {"n": 4, "m": 1}, "derived 4, claimed <= 3"),
    ("flops >= 2", LOOP, "", {"n": 1, "m": 1}, "derived 1, claimed >= 2"),
    ("work <= 2.5*n", LOOP, "", {"n": 1, "m": 1}, "derived 3, claimed <= 2.5"),
    ("flops <= 2*n^0.5", LOOP, "", {"n": 5, "m": 1}, "derived 5, claimed <= 4.47213595"),
    ("flops <= m", LOOP, "", {"n": 2, "m": 1}, "derived 2, claimed <= 1"),
    ("flops <= m", LOOP, "n >= 3", {"n": 3, "m": 1}, "derived 3, claimed <= 1"),
    ("flops == m", LOOP, "n >= m", {"n": 2, "m": 1}, "derived 2, claimed == 1"),
    # Half of nothing is nothing, and 1 is a power of 2.
    ("flops >= 2", LOOP, "n >= 0, 2 divides n", {"n": 0, "m": 1}, "derived 0, claimed >= 2"),
    ("span >= 4", "parallel " + LOOP, "n is power of 2", {"n": 1, "m": 1}, "derived 3, claimed >= 4"),
    ("span >= 5", "parallel " + LOOP, "n is power of 2, n >= 2", {"n": 2, "m": 1}, "derived 4, claimed >= 5"),
    # A `where` says no more than it says.
    ("flops <= m - 2", LOOP, "n < m", {"n": 1, "m": 2}, "derived 1, claimed <= 0"),
    ("flops >= m + 2", LOOP, "n > m", {"n": 2, "m": 1}, "derived 2, claimed >= 3"),
    ("flops <= m - 1", LOOP, "n <= m", {"n": 1, "m": 1}, "derived 1, claimed <= 0"),
    ("flops >= m + 1", LOOP, "n >= m", {"n": 1, "m": 1}, "derived 1, claimed >= 2"),
    ("flops >= m + 1", LOOP, "n == m", {"n": 1, "m": 1}, "derived 1, claimed >= 2"),
    ("flops <= m - 1", LOOP, "n == m", {"n": 1, "m": 1}, "derived 1, claimed <= 0"),
    ("flops <= 4 when n >= m and m >= 3", LOOP, "", {"n": 5, "m": 3}, "derived 5, claimed <= 4"),
    ("flops <= 2*(n//2)", LOOP, "", {"n": 1, "m": 1}, "derived 1, claimed <= 0"),
    ("flops <= 3", LOOP, "2 divides n", {"n": 4, "m": 1}, "derived 4, claimed <= 3"),
    # n % 2 is 1 at n = 1 already.
    ("flops >= 3*(n - 2*(n//2))", LOOP, "", {"n": 1, "m": 1}, "derived 1, claimed >= 3"),
    ("flops >= 3", LOOP, "2 divides n", {"n": 2, "m": 1}, "derived 2, claimed >= 3"),
    ("flops <= (n//2 + m//3)//2", LOOP, "", {"n": 1, "m": 1}, "derived 1, claimed <= 0"),
    # Both ends of what the data leaves open lie on one side of the claim.
    (
        "flops == 3*n", "for i in 0..n:\n        if x[i] < 0.0:\n            x[i] += 1.0", "", {"n": 1, "m": 1},
        "derived between 1 and 2, claimed == 3",
    ),
    (
        "flops >= 2*n + 1", "for i in 0..n:\n        if x[i] < 0.0:\n            x[i] += 1.0", "", {"n": 1, "m": 1},
        "derived between 1 and 2, claimed >= 3",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("ensures", "body", "where", "point", "reason"), FAILS)
def test_fails_at_the_smallest_sizes(ensures: str, body: str, where: str, point: dict[str, int], reason: str) -> None:
    found = verdict(ensures, body, where)
    assert found.outcome == "fails"
    assert found.point is not None
    assert (dict(found.point), found.reason) == (point, reason)


def test_a_machine_has_a_processor() -> None:
    """2^P - 1 is at least 1 from P = 1 on."""
    assert verdict("flops <= n*2^P - n when n >= P").outcome != "fails"
    failed = verdict("flops <= n*2^P - n - 1 when n >= P")
    assert failed.point is not None
    assert dict(failed.point) == {"n": 1, "m": 1, "P": 1}


@long
def test_a_claim_too_large_to_compare_is_unknown() -> None:
    header = "x: inout real[n], o: size, p: size, q: size, r: size, s: size"
    found = verdict("flops <= (n + o + p + q + r + s)^40", header=header)
    assert (found.outcome, found.reason) == ("unknown", "its closed form is too large to derive")


def test_a_claim_that_has_no_closed_form_is_unknown() -> None:
    found = verdict("flops == n^m")
    assert (found.outcome, found.point) == ("unknown", None)
    assert found.reason == "the claim: a power with a symbolic base and exponent"
    found = verdict("flops >= n^0.99")
    assert (
        found.reason
        == "the claim: a power whose exponent is negative or not a multiple of 1/2, or a root of a base that may be negative"
    )
    found = verdict("flops <= n + 1e400000")
    assert found.reason == "the claim: the number is too large or too small"


def test_every_ensures_has_its_verdict_in_order() -> None:
    found = verdicts("flops == n; work is O(n); span == 7")
    assert [each.outcome for each in found] == ["holds", "holds", "fails"]
    assert [each.ensures.metric for each in found] == ["flops", "work", "span"]


@pytest.mark.parametrize(
    ("where", "argument"), [("where p >= 2", "x"), ("where 2 divides p", "x"), ("pass", "x[1..n]")]
)
def test_the_least_sizes_that_a_callee_takes_are_counterexamples_too(where: str, argument: str) -> None:
    text = (
        f"algorithm g(y: inout real[p]):\n    {where}\n    y[0] += 1.0\n"
        f"algorithm f(x: inout real[n]):\n    ensures flops <= 0\n    g({argument})\n"
    )
    (failed,) = decided(text)
    assert failed.point == {"n": 2}


OFFSETS = "ptr: offsets[n] into nz longest nr, x: inout real[n]"
ROWS = "parallel for i in 0..n:\n        for e in ptr[i]..ptr[i + 1]:\n            x[i] += 1.0"


def test_points_at_which_the_claim_has_no_value_are_passed_over() -> None:
    """At m = 0 there is no logarithm; at m = 1 it is 0, and n = 6 is the first above 5."""
    found = verdict("flops <= n*log2(m) + 5", where="m >= 0")
    assert found.outcome == "fails"
    assert found.point is not None
    assert dict(found.point) == {"n": 6, "m": 1}


def test_what_offsets_imply() -> None:
    """nr <= nz <= n*nr for the offsets of an array, whose longest segment has nr entries."""
    assert verdict("flops == nz", ROWS, "nz >= 0, nr >= 0", header=OFFSETS).outcome == "holds"
    assert verdict("flops >= nr", ROWS, "nz >= 0, nr >= 0", header=OFFSETS).outcome == "holds"
    failed = verdict("flops <= nr", ROWS, "nz >= 0, nr >= 0", header=OFFSETS)
    assert failed.outcome == "fails"
    n, nz, nr = (failed.point[name] for name in ("n", "nz", "nr"))
    assert nr < nz <= n * nr
    # Empty segments, all of the same length, and one segment, are among the sizes.
    for claim, point in (
        ("flops >= nz + 1", {"n": 1, "nz": 0, "nr": 0}),
        ("flops <= n*nr - 1", {"n": 1, "nz": 0, "nr": 0}),
        ("flops <= n*nr - 1 when nz >= 1 and n >= 2", {"n": 2, "nz": 2, "nr": 1}),
    ):
        failed = verdict(claim, ROWS, "nz >= 0, nr >= 0", header=OFFSETS)
        assert failed.point is not None, claim
        assert dict(failed.point) == point
    # No point contradicts nz <= n*nr, whether it is proved or not.
    assert verdict("flops <= n*nr", ROWS, "nz >= 0, nr >= 0", header=OFFSETS).outcome != "fails"


def test_calls_in_loops_refuse_no_sizes_that_only_the_loop_decides() -> None:
    text = (
        "algorithm g(y: inout real[p]):\n    where 2 divides p\n    y[0] += 1.0\n"
        "algorithm f(x: inout real[2*n], n: size):\n    ensures flops <= 2\n    for i in 1..n:\n        g(x[0..2*i])\n"
    )
    (failed,) = decided(text)
    assert failed.point == {"n": 4}


def test_no_counterexample_has_sizes_without_runs() -> None:
    (found,) = decided(
        "algorithm f(x: inout real[n]):\n    ensures flops <= 2\n    for i in 1..n:\n        x[2*i] += 1.0\n"
    )
    # From n = 2 on the last iteration is outside; flops are n - 1 at all sizes.
    assert found.outcome == "holds"


def test_large_sizes_are_tried_where_small_ones_satisfy_a_claim() -> None:
    failed = verdict("flops <= 10^6 + m")
    assert failed.outcome == "fails"
    assert failed.point["n"] > 10**6 + failed.point["m"]


def test_a_declared_cost_that_is_always_below_zero_is_unknown() -> None:
    module = load_text(
        "extern h(a: real) -> real costs 0 - c flops\nalgorithm f(x: inout real[n]):\n    x[0] = h(x[0])\n"
    )
    costs = derive(module, module.algorithms["f"])
    assert costs["flops"].lower is not None
    module = load_text(
        "extern h(a: real) -> real costs (0-1) flops\nalgorithm f(x: inout real[n]):\n    x[0] = h(x[0])\n"
    )
    assert all("below 0" in str(cost.reason) for cost in derive(module, module.algorithms["f"]))


def test_what_fails_at_one_size_between_others_is_refuted_there() -> None:
    (found,) = verdicts("flops <= 1000*(n - 17)^2*(n - 18)^2 + n - 1", header="x: inout real[n]")
    assert found.outcome == "fails"
    assert found.deciding == {"n": 17}


@pytest.mark.parametrize(
    ("claim", "problem"),
    [
        ("flops <= 1/(n - 1)", "division by zero"),
        ("flops <= n*log2(n - 1) + 5", "logarithm of a number that is not positive"),
        ("flops <= n + sqrt(n - 2)", "square root of a negative number"),
    ],
)
def test_a_claim_fails_where_its_right_side_has_no_value(claim: str, problem: str) -> None:
    found = verdict(claim)
    assert (found.outcome, found.reason) == ("fails", f"the right side has no value: {problem}")
    assert found.point is not None
    assert found.point["n"] == 1
    assert (
        verdict(f"{claim} when n >= 3").outcome != "fails" or "no value" not in verdict(f"{claim} when n >= 3").reason
    )


@pytest.mark.parametrize("bound", ["1/0", "n + log2(1 - 1)", "sqrt(2 - 3)", "2 % 0"])
def test_numbers_without_a_value_are_wrong_input(bound: str) -> None:
    with pytest.raises(ArchlineError, match="has no value"):
        verdict(f"flops <= {bound}")


@pytest.mark.parametrize(
    "where", ["n >= 5, n <= 4", "n >= m + 1, m >= n", "n == 2*m, n == 2*m + 1", "n > 3*m and m >= n", "3 <= 2"]
)
def test_facts_that_contradict_each_other_are_an_error(where: str) -> None:
    text = f"algorithm f(x: inout real[n], m: size):\n    where {where}\n    x[0] += 1.0\n"
    algorithm = al.loads(text)["f"]
    for asked in (algorithm.cost, lambda: algorithm.run(n=4, m=4)):
        with pytest.raises(ArchlineError) as refused:
            asked()
        (found,) = refused.value.diagnostics
        assert found.rule.code == "AL483"
        assert found.span is not None
        assert found.span.line == 2


def test_what_results_assume_is_known_to_the_derivation() -> None:
    """A step that is assumed to be positive: s >= 4."""
    text = "algorithm f(x: inout real[n], s: size):\n    for i in 0..n step s - 3:\n        x[i] += 1.0\n"
    algorithm = al.loads(text)["f"]
    plain, given = algorithm.cost(), algorithm.cost("s >= 4")
    for metric in ("flops", "work", "span", "io"):
        assert str(plain[metric]) == str(given[metric])
        assert plain[metric].growth == given[metric].growth


SPAWNING = (
    "algorithm g(x: real[n], r: inout real[k]):\n    r[0] += x[0]\n\nalgorithm f(x: real[n], y: inout real[n]):\n"
)
NOT_ORDERED = {
    "a block with a register, which has no sync": "if n > 0:\n        local t: real = 1.0\n        spawn g(x, y)\n    g(x, y)\n    sync",
    "a spawn and a call": "spawn g(x, y)\n    g(x, y)\n    sync",
    "two spawns": "spawn g(x, y)\n    spawn g(x, y)\n    sync",
    "a read of what is written": "spawn g(x, y)\n    let v = y[0..1]\n    spawn g(v, y[0..1])\n    sync",
    "iterations": "for i in 0..2:\n        spawn g(x, y)\n    sync",
    "a write of what is read": "spawn g(y, y)\n    y[0] = 1.0\n    sync",
}
ORDERED = {
    "a sync": "spawn g(x, y)\n    sync\n    g(x, y)",
    "halves": "if n > 1:\n        spawn g(x, y[0..n//2])\n        g(x, y[n//2..n])\n        sync",
    "the sync of a block with a local array": "for i in 0..2:\n        local t: real[1] = 0\n        spawn g(t, y)",
    "another array": "local t: real[1] = 0\n    spawn g(x, y)\n    g(x, t)\n    sync",
    "reads": "local t: real[1] = 0\n    spawn g(x, t)\n    g(x, y)\n    sync",
}


@pytest.mark.parametrize("body", NOT_ORDERED.values(), ids=NOT_ORDERED)
def test_calls_that_no_sync_orders_are_an_error(body: str) -> None:
    algorithm = al.loads(f"{SPAWNING}    {body}\n")["f"]
    with pytest.raises(ArchlineError) as refused:
        algorithm.cost()
    assert [each.rule.code for each in refused.value.diagnostics] == ["AL304"]


@pytest.mark.parametrize("body", ORDERED.values(), ids=ORDERED)
def test_calls_that_a_sync_orders_have_a_cost(body: str) -> None:
    algorithm = al.loads(f"{SPAWNING}    {body}\n")["f"]
    assert algorithm.cost().work.upper is not None
    algorithm.run(n=4)


@long
def test_accesses_have_values_where_only_their_recurrence_is_known() -> None:
    """Those of a recursion without a closed form agree with an execution."""
    text = (
        "algorithm f(n: size, r: out real[1]):\n    local a: real[1]\n    local b: real[1]\n    if n <= 2:\n        r[0] = 1\n"
        "    else:\n        f(n - 1, a)\n        f(n - 2, b)\n        r[0] = a[0] + b[0]\n"
    )
    algorithm = al.loads(text)["f"]
    for n in (1, 2, 9):
        accesses = algorithm.cost()["accesses"].at(n=n)
        executed = algorithm.run(n=n).counts.accesses
        assert accesses in (executed, (executed, executed))


def test_the_least_of_equal_growths_is_one_of_them() -> None:
    text = (
        "algorithm f(x: inout real[n], y: inout real[m]):\n    for i in 0..n step 2:\n        x[i] += 1.0\n"
        "    for j in 0..m + n//2:\n        x[0] *= 2.0\n"
    )
    assert "min(n, n)" not in str(al.loads(text)["f"].cost().io.growth)


def test_io_on_processors_assumes_a_schedule_and_declares_no_cost() -> None:
    algorithm = al.loads("algorithm f(x: inout real[n]):\n    for i in 0..n:\n        x[i] += 1.0\n")["f"]
    assert algorithm.cost().io_on(4).declared == ()
    assert algorithm.cost().io_on("P").status == "bounded"
    assert algorithm.cost().io_on(1).status == algorithm.cost().io.status
