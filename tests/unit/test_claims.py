"""Claims of files: what they may say, how each is decided, and what reports show of it."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path

import pytest

import archline as al
from archline.api.claims import decide_file_claims
from archline.energy.caches import select_machine_cache
from archline.energy.machine_files import machine
from archline.language import syntax as s
from archline.language.diagnostics import ArchlineError
from archline.language.format_statements import format_claim
from archline.language.loader import load_text
from archline.language.printer import format_program
from archline.report.view import Contract
from claimed_programs import PROGRAM as SERIAL
from cli_support import cli
from effort import long

PROGRAM = f"""{SERIAL}
algorithm ring(x: inout local real[w]) on grid(r: P):
    shift x along r by 1

algorithm under(x: inout real[n], i: index):
    for k in i..0:
        x[0] += 1

algorithm rows(A: real[n, m], y: inout real[n]):
    for i in 0..n:
        for j in 0..m:
            y[i] += A[i, j]

algorithm levels(x: inout real[n], k: size):
    for t in 0..ceil(log2(n)):
        for i in 0..k:
            x[0] += 1

algorithm square_grid(x: inout local real[w], g: size) on grid(i: g, j: g):
    shift x along j by 1
"""


@cache
def decided(text: str) -> Contract:
    (found,) = decide_file_claims(load_text(f"{PROGRAM}\nclaim {text}\n"))
    return found


HOLDS = """
flops(line) <= work(line)
flops(some) <= 2*flops(line)
flops(some) <= flops(some) + 1
work(some)/work(some) == 1
flops(table, n = m, m = m) == m^2
flops(table, n = 2*n) == 2*flops(table)
span(table) <= work(table)
2*span(table) < 3*work(table) + 2
max(flops(line), span(line)) <= work(line)
min(flops(line), span(line)) <= flops(line)
flops(line)^2 <= flops(table, m = n)
max(flops(some), work(line)) + min(flops(some), work(line)) == flops(some) + work(line)
work(table)/max(work(line), flops(table)) <= 3 + m
flops(under) <= 5 where i >= -5
Z*io(rows) <= Z*n*(ceil(m/L) + 1) + n*m*L*3 where Z >= 2*L
1.5*flops(line) <= 2*n
flops(line, n = n/2) <= flops(line)
io(line) >= n/L
io(line, Z = 2*Z) <= io(line)
words(ring) <= w
words(square_grid) <= words(ring) where P >= 4, w >= 1
calls(halves) <= 2*n
energy(line) <= energy(line, n = 2*n) on "xeon-e5-2650l-v3"
time(line) <= time(table, n = n) on "gtx-580@double" with roofline where m >= 2, L == 8, 8 divides n
power(line) > 0 on "gtx-580@double" with roofline
energy_delay(line) <= 1 on "gtx-580@double" with roofline at n = 1000
words(ring) <= w at P = 4 where w >= 2
messages(ring) <= 1
messages(ring) <= ceil(w/K) where P >= 2
messages(ring, K = 4) <= messages(ring, K = 2) where w >= 1
work(line) is Theta(flops(line) + 1)
flops(some) is Theta(flops(line))
work(halves) is Theta(n)
span(table) is O(span(line) + m)
energy(line) is Theta(n) on "gtx-580@double" with roofline at L = 1
""".strip().split("\n")


@pytest.mark.parametrize("text", HOLDS)
def test_what_holds(text: str) -> None:
    found = decided(text)
    assert found.outcome == "holds", found


@pytest.mark.parametrize(
    ("text", "n", "reason"),
    [
        ("work(line) <= 2*n", 1, "the left side is 3, the right side 2"),
        ("flops(line) < flops(line)", 1, "the left side is 1, the right side 1"),
        ("messages(ring, w = n) <= 1 at n = 10, P = 3, K = 2", 10, "the left side is 5, the right side 1"),
        ("flops(line) <= 40*n - n^2 + 1000 where n <= 60", 57, "the left side is 57, the right side 31"),
        ("flops(line) <= (n - 17)^2*1000000 + n - 1/2", 17, "the left side is 17, the right side 16.5"),
        ("flops(under, n = m) <= m", None, "the left side is 2, the right side 1"),
        ("flops(under) <= 4 where i >= -5, n == 2", 2, "the left side is 5, the right side 4"),
        (
            "40001*flops(line) <= flops(table, m = n) + 400019999 where n <= 10^6",
            20000,
            "the left side is 800020000, the right side 800019999",
        ),
    ],
)
def test_what_fails_is_shown_at_a_size(text: str, n: int | None, reason: str) -> None:
    found = decided(text)
    assert found.outcome == "fails"
    assert found.point.get("n") == n
    assert found.reason == reason


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("flops(some) <= flops(line)", "widest: flops(some), "),
        ("flops(line) == flops(some)", "no proof, and no counterexample at the sizes checked"),
        ("work(line) >= 0 where n == 0", "no sizes"),
        ("work(line) >= 0 where n >= 3, n <= 2", "no sizes"),
        ("work(table) >= 0 where n == m, m == n + 1", "no sizes"),
        ("io(ring) >= 0", "io(ring) is unknown"),
        ("power(line) <= 300 on \"xeon-e5-2650l-v3\"", "needs: `pi0` (W)"),
    ],
)  # fmt: skip
def test_what_is_not_decided_has_a_reason(text: str, reason: str) -> None:
    found = decided(text)
    assert found.outcome == "unknown", found
    assert reason in found.reason


def test_few_sizes_are_all_evaluated() -> None:
    """(n - 5)*(n - 6) is below 0 between whole numbers alone."""
    found = decided("11*flops(line) <= flops(table, m = n) + 30 where n <= 300")
    assert (found.outcome, found.reason) == ("holds", "evaluated at all 300 sizes")
    chained = decided("11*flops(table) <= flops(table)*n + 30*m where m <= n, n <= 100")
    assert (chained.outcome, chained.reason) == ("holds", "evaluated at all 5,050 sizes")
    divided = decided("11*flops(line, n = b) - 30 <= flops(table, n = b, m = n)*b/n where b divides n, n <= 100")
    pairs = sum(100 // b for b in range(1, 101))
    assert (divided.outcome, divided.reason) == ("holds", f"evaluated at all {pairs} sizes")


def test_a_large_range_is_decided_by_boxes() -> None:
    """(n - 20000)*(n - 20001) is below 0 between whole numbers alone, and at none of a million."""
    found = decided("40001*flops(line) <= flops(table, m = n) + 400020000 where n <= 10^6")
    assert found.outcome == "holds"
    assert found.reason.startswith("decided by ")
    falling = decided(
        "flops(table, m = k) + (flops(line) - 20000)*(flops(line) - 20001) >= n*k where n <= 10^6, k <= 5"
    )
    assert falling.outcome == "holds"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("flops(table)*n is O(100*flops(table))", "(left side)/(right side) is unbounded along m = 1, n = 2^T: 256/1600 at"),
        ("flops(line) is Omega(n^2)", "(right side)/(left side) is unbounded along n = 2^T: 256/16 at n = 16; "),
        ("flops(some)*n is O(100)", "/(right side) is unbounded along n = 2^T: at least 256/100 at"),
        ("flops(levels) is Omega(work(levels))", "at n = 1, k = 1 the right side is 1, the left side 0"),
        ("work(levels) is O(flops(levels))", "at n = 1, k = 1 the left side is 1, the right side 0"),
        ("flops(halves) is Theta(n)", "Omega is refuted: at n = 1 the right side is 1, the left side 0"),
        ("n is O(flops(halves))", "at n = 1 the left side is 1, the right side 0"),
    ],
)  # fmt: skip
def test_growth_is_refuted_by_values_of_both_sides(text: str, reason: str) -> None:
    found = decided(text)
    assert found.outcome == "fails"
    assert reason in found.reason


def test_growth_is_refuted_and_halves_are_named() -> None:
    assert decided("work(line) is Omega(work(table))").outcome == "fails"
    assert decided("work(table) is O(work(line))").outcome == "fails"
    half = decided("flops(some)*n is Theta(flops(line))")
    assert half.outcome == "fails"
    assert half.reason.startswith("O is refuted")


def test_of_a_theta_the_half_that_is_open_is_named() -> None:
    """Insertion sort does between n and n^2 comparisons."""
    (found,) = decide_file_claims(load_text("use sort.insertion_sort\nclaim work(insertion_sort) is Theta(n^2)\n"))
    assert found.outcome == "unknown"
    assert found.reason.startswith("O is proved, Omega is open: ")


def test_one_bound_of_each_cost_may_show_what_all_of_them_do_not() -> None:
    (found,) = decide_file_claims(load_text("use dense.matmul\nclaim work(matmul_co) <= 3*work(matmul_basic)\n"))
    assert found.outcome == "holds"


def test_the_cache_that_is_taken_is_said() -> None:
    found = decided('energy(line) <= 1 on "xeon-e5-2650l-v3" at n = 1000')
    cache = "Z = 32768, L = 8, as the claim names no cache"
    assert found.assumptions == ("model ice (the claim names none)", cache)
    chosen = decided('energy(line) <= 1 on "xeon-e5-2650l-v3" with ice at n = 1000, Z = 64, L = 8')
    assert chosen.outcome == "holds"
    assert chosen.assumptions == ()
    # A machine that has a cache is meant with it at all sizes, too; one without is any.
    known = select_machine_cache(machine("grace-superchip"))
    own = f"Z = {known.Z}, L = {known.L}, the machine's, as the claim names no cache"
    found = decided('bytes(line) <= 16*n + 128 on "grace-superchip"')
    assert (found.outcome, found.assumptions) == ("holds", (own,))
    for free in ('on "gtx-580@double"', 'where Z >= 2*L on "grace-superchip"'):
        assert decided(f"bytes(line) <= 16*n + 16*L {free}").assumptions == ()


def test_the_time_of_a_claim_is_that_of_a_finite_machine(tmp_path: Path) -> None:
    """208 ps for 32 M words are those of unlimited cores: 16 B a word at 1555 GB/s take 345 us."""
    on = 'on "a100-sxm4-40gb" at n = 2^24'
    found = decided(f"time(line) <= 10^-9 {on}")
    assert found.outcome == "fails"
    assert found.assumptions[0] == "model roofline+levels (the claim names none)"
    # One model gives all costs of a claim.
    both = decided('energy(line) == power(line)*time(line) on "gtx-580@double" at n = 8')
    assert (both.outcome, both.assumptions[0]) == ("holds", "model roofline (the claim names none)")
    of_ice = 'title = "M"\nextends = "ice/fermi-gtx-580"\n[quantity.pi0]\nvalue = "1"\nunit = "W"\nkind = "assumed"\n'
    (tmp_path / "m.toml").write_text(of_ice + 'source = "data sheet"\n', encoding="utf-8")
    unlimited = decided(f'time(line) <= 1 on "{tmp_path}/m.toml" at n = 8').assumptions
    assert unlimited[0] == "model ice (the claim names none; its time assumes unlimited cores)"


@pytest.mark.parametrize(
    ("text", "units"),
    [
        ("2*time(line) <= 0", ("s", "s")),
        ("0 >= -(3/4)*energy(line) + 2*energy(line)", ("J", "J")),
        ("power(line)/3 <= flops(table, m = 1, n = 1) - 1", ("W", "")),
        ("energy_delay(line) < 0", ("J*s", "J*s")),
        ("bytes(line) <= 0", ("B", "B")),
        ("time(line)/time(line) <= 0", ("", "")),
        ("time(line)*power(line) <= energy(line)*0", ("", "J")),
        ("energy(line) + time(line) <= 0", ("", "")),
        ("max(time(line), 2*time(line)) <= 0", ("", "")),
        ("flops(line) <= 0", ("", "")),
    ],
)
def test_values_have_the_unit_of_their_cost(text: str, units: tuple[str, str]) -> None:
    found = decided(f'{text} on "gtx-580@double" with roofline at n = 8, Z = 64, L = 8')
    assert found.outcome == "fails"
    shown = re.fullmatch(r"the left side is \S+ ?(\S*), the right side [^ ;]+ ?([^;]*).*", found.reason)
    assert shown.groups() == units


def test_conditions_stand_in_any_order() -> None:
    parts = ['on "gtx-580@double" with roofline+cap', "where n >= 2, m >= 2", "at p = 3, L = 8"]
    program = "use dense.matmul\n"
    texts = set()
    for order in ((0, 1, 2), (2, 1, 0), (1, 0, 2)):
        source = f'{program}\nclaim "t": power(matmul_co, n = 2*n) <= 300 {" ".join(parts[each] for each in order)}\n'
        (claim,) = (each for each in load_text(source).program.items if isinstance(each, s.Claim))
        texts.add(format_claim(claim))
        assert format_claim(claim) in format_program(load_text(source).program)
    assert texts == {
        'claim "t": power(matmul_co, n = 2*n) <= 300 where n >= 2, m >= 2 on "gtx-580@double" with roofline+cap '
        "at p = 3, L = 8"
    }


@pytest.mark.parametrize(
    ("text", "code", "caret"),
    [
        ("energy(line) <= 1", "AL262", "energy(line)"),
        ("work(line, m = 2) <= 1", "AL201", "work(line, m = 2)"),
        ("work(line) <= 1 at n = 1 at n = 2", "AL101", "at n = 2"),
        ('energy(line) <= 1 on "no-machine"', "AL450", 'on "no-machine"'),
        ('energy(line) <= 1 on "gtx-580@double" with icy', "AL459", 'on "gtx-580@double" with icy'),
        ("work(lines) <= 1", "AL202", "work(lines)"),
        ("work(line) % 2 == 1", "AL462", "work(line) % 2"),
        ('energy(line)//2 <= n on "xeon-e5-2650l-v3"', "AL462", "energy(line)//2"),
    ],
)
def test_mistakes_have_a_place_and_a_hint(text: str, code: str, caret: str) -> None:
    with pytest.raises(ArchlineError) as problem:
        decide_file_claims(load_text(f"{PROGRAM}\nclaim {text}\n"))
    (found,) = problem.value.diagnostics
    assert found.code == code
    assert found.hint
    line = found.span.source.lines[found.span.line - 1]
    assert line[found.span.column - 1 : found.span.end_column - 1] == caret
    assert found.code != "AL462" or found.message.startswith(f"`{caret}` does not")


@pytest.mark.parametrize("line", ["    let h = abs(n, m = 2)", "    x[0] = sqrt(x[0], n = 3)", "    f(x, n = 2)"])
def test_sizes_are_set_in_claims_alone(line: str) -> None:
    with pytest.raises(ArchlineError) as problem:
        load_text(f"algorithm f(x: inout real[n]):\n{line}\n")
    assert problem.value.diagnostics[0].code == "AL101"


def test_a_file_of_claims_alone(tmp_path: Path) -> None:
    path = tmp_path / "only.algo"
    path.write_text("use dense.matmul\n\nclaim flops(matmul_basic) <= work(matmul_ijk) where n >= 2\n")
    shown = cli("check", str(path), "--no-cache")
    assert shown.code == 0
    assert "holds  claim flops(matmul_basic) <= work(matmul_ijk) where n >= 2" in shown.out
    first, again = (json.loads(cli("check", str(path), "--format", "json").out) for _ in range(2))
    assert first == again
    (found,) = first["targets"][0]["claims"]
    assert (found["outcome"], found["text"]) == (
        "holds", "claim flops(matmul_basic) <= work(matmul_ijk) where n >= 2"
    )  # fmt: skip
    assert cli("cost", str(path)).code == 2
    assert "AL109" in cli("cost", str(path)).err


HALVES = """
algorithm halves(x: inout real[n]):
    where n is power of 2
    ensures work is O(n)
    ensures work <= 8*n
    ensures accesses <= 4*n
    if n >= 2:
        halves(x[0..n//2])
        halves(x[n//2..n])
        x[0] += 1
"""


@pytest.mark.parametrize("where", ["n >= 2", "2 divides n", "n >= 16"])
def test_claims_of_recursions_that_hold_do_so_under_facts_of_the_first_call(where: str) -> None:
    """The facts are false of the last calls, so that nothing may be derived of the calls under them."""
    plain = al.loads(HALVES)["halves"]
    values = {n: plain.run(n=n).counts.work for n in (2, 16, 64)}
    assert all(value <= 8 * n for n, value in values.items())
    for subject in (plain, al.algorithm("sort.mergesort::mergesort")):
        for each in (subject, subject.assuming(where)):
            assert {found.outcome for found in each.report().ensures} == {"holds"}
    assert plain.assuming(where).report().including("accesses")["accesses"].at(n=16) == plain.cost().including(
        "accesses"
    )["accesses"].at(n=16)


def test_claims_under_further_facts_say_so() -> None:
    module = load_text(
        f"{PROGRAM}\nclaim 2*flops(line) <= n^2\nclaim flops(line) is O(n)\nclaim flops(line) <= n where n >= 2\n"
        "claim flops(line, n = k) <= k\n"
    )
    assert [(each.outcome, each.assumptions) for each in decide_file_claims(module, "n >= 2")] == [
        ("holds", ("n >= 2",)), ("holds", ("n >= 2",)), ("holds", ()), ("holds", ())
    ]  # fmt: skip
    assert decide_file_claims(module)[0].outcome == "fails"


def test_the_path_of_a_machine_is_that_from_the_file_of_its_claim(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file beside the claim's comes before one in the current folder, which is taken where there is no other."""
    (tmp_path / "own").mkdir()
    (tmp_path / "elsewhere").mkdir()
    program = tmp_path / "own" / "f.algo"
    program.write_text(f'{PROGRAM}\nclaim energy(line) <= 1 on "m.toml" with ice at n = 1\n')

    def written(folder: str, joules: int) -> None:
        quantities = {"eps_op": (joules, "J/op"), "eps_io": (0, "J/line"), "pi_op": (0, "J/op"), "pi_io": (0, "J/line")}
        tables = (
            f'[quantity.{name}]\nvalue = "{value}"\nunit = "{unit}"\nkind = "assumed"\nsource = {{ note = "x" }}\n'
            for name, (value, unit) in quantities.items()
        )
        (tmp_path / folder / "m.toml").write_text('title = "mine"\n' + "".join(tables))

    monkeypatch.chdir(tmp_path / "elsewhere")
    assert "AL001" in cli("check", str(program)).err
    written("elsewhere", 0)
    assert "1 claim holds" in cli("check", str(program)).out
    written("own", 5)
    assert "1 claim fails" in cli("check", str(program)).out


@long
def test_values_beyond_all_floats_and_equal_digits_are_shown(tmp_path: Path) -> None:
    path = tmp_path / "powers.algo"
    path.write_text(
        """algorithm linear(x: inout real[n]):
    for i in 0..n:
        x[i] += 1.0

algorithm doubled(n: size, x: inout real[2^n]):
    for i in 0..2^n:
        x[i] += 1.0

claim flops(linear)^2 <= flops(doubled) where n >= 4
claim flops(linear) <= 999999999999/1000000000000*n
""",
        encoding="utf-8",
    )
    result = cli("check", str(path))
    assert result.code == 1
    assert "; their difference is 1e-12" in result.out


def test_an_open_claim_under_a_large_cache_shows_the_bound_of_that_cache() -> None:
    text = """
algorithm f(u: real[n, n, n], v: out real[n, n, n]):
    where n >= 3
    ensures io <= n^2*ceil(n/L) when Z >= 3*L*n*ceil(n/L)
    for i in 1..n-1:
        for j in 1..n-1:
            for k in 1..n-1:
                v[i, j, k] = u[i-1, j, k] + u[i+1, j, k] + u[i, j-1, k] + u[i, j+1, k] + u[i, j, k]
"""
    (verdict,) = al.loads(text)["f"].cost().ensures
    # Where few lines fit, bounds have n^3; two planes of u fit here, so that each line of both arrays is fetched once.
    assert verdict.outcome != "holds"
    assert "n^3" not in verdict.derived.partition("at most")[2]
