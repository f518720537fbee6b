"""Numbers of any length in programs, recurrences and comparisons of growth: an answer, or what is missing for one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from archline import recurrence
from cli_support import ROOT, cli
from effort import some

LOOP = """algorithm f(n: size, m: size, x: inout real[m]):
    for i in {}:
        x[0] += 1.0
"""


def program(folder: Path, text: str) -> str:
    path = folder / "p.algo"
    path.write_text(text)
    return str(path)


@pytest.mark.parametrize(
    ("bounds", "flops"),
    [
        ("0..2^64", 2**64),
        ("0..2^63", 2**63),
        ("0..10^400", 10**400),
        ("1..10^100", 10**100 - 1),
        ("0..10^100 step 10^99", 10),
        ("10^400..n", 0),
        ("0..min(n, 2^64)", 7),
    ],
)
def test_ranges_of_any_length(tmp_path: Path, bounds: str, flops: int) -> None:
    file = program(tmp_path, LOOP.format(bounds))
    assert cli("cost", file).code == 0
    found = cli("cost", file, "--at", "n=7,m=1", "--format", "json")
    assert found.code == 0
    assert str(flops) in found.out
    assert cli("check", file).code == 0


def test_a_case_beyond_all_machine_integers(tmp_path: Path) -> None:
    text = """algorithm f(n: size, m: size, x: inout real[m]):
    ensures flops == n when n > 10^100
    ensures flops == 0 when n <= 10^100
    if n > 10^100:
        for i in 0..n:
            x[0] += 1.0
"""
    result = cli("check", program(tmp_path, text))
    assert result.code == 0, result.out
    assert "2 claims hold" in result.out


@pytest.mark.parametrize(
    "range_",
    ["0..max(0, ceil(2/3) - 1)", "0..0", "0..n - n", "1..1"],
)
def test_divisors_of_loops_that_are_never_entered(tmp_path: Path, range_: str) -> None:
    text = f"""algorithm f(n: size, m: size, x: inout real[m]):
    for i in {range_}:
        parallel for k in 0..m step i + 1:
            x[k] += 1.0
        for k in 0..m//(i + 1):
            x[k] += 1.0
"""
    file = program(tmp_path, text)
    assert cli("cost", file).code == 0
    ran = cli("run", file, "--at", "n=3,m=4", "--cache", "Z=16,L=4")
    assert ran.code == 0, ran.out


# Programs drawn at random found these.
@pytest.mark.parametrize(
    "text",
    [
        """algorithm f(n: size, m: size, x: inout real[n], y: inout real[1]):
    ensures flops is O(3)
    if n >= 2:
        f(n//2, m, x[0..n//2], y)
    x[0] *= y[0]
""",
        """algorithm f(n: size, m: size, x: inout real[n], y: inout real[1]):
    if max(m, n) != m:
        if n != ceil((2^64)/2):
            if n >= 2^min(min(n, 7), 9):
                y[0] = x[0]
            else:
                x[((m)%3) % n] += 1.0
""",
        """algorithm f(n: size, m: size, x: inout real[n], y: inout real[1]):
    where m == 4
    if n >= 2:
        f(n//2, m, x[0..n//2], y)
    x[(2^31) % n] += 1.0
    if n > n:
        x[0] *= y[0]
""",
    ],
)
def test_programs_that_were_drawn(tmp_path: Path, text: str) -> None:
    file = program(tmp_path, text)
    assert cli("cost", file).code == 0
    assert cli("check", file).code in (0, 1)


DOWN = """algorithm down(n: size, m: size, x: inout real[n], t: inout real[1]):
    where n >= 2
    if n >= 4:
        down(n - 1, m, x[0..n - 1], t)
    for i in {}:
        local V: real[{}] = 0
        t[0] += V[0]
"""


@pytest.mark.parametrize(
    ("range_", "extent", "at"),
    some(
        [
            ("0..m", "i + 1", "n=8,m=1"),
            ("1..m + 1", "m//i", "n=2,m=9"),
            ("0..m", "i + 1", "n=9,m=6"),
            ("0..m", "m - i", "n=9,m=6"),
            ("0..m - 1", "2*i + 1", "n=8,m=1"),
        ],
        5,
    ),
)
def test_local_arrays_sized_by_loops_beside_recursion(tmp_path: Path, range_: str, extent: str, at: str) -> None:
    file = program(tmp_path, DOWN.format(range_, extent))
    for cache in ("Z=8,L=4", "Z=1600,L=2"):
        ran = cli("run", file, "--at", at, "--cache", cache)
        assert ran.code == 0, ran.out


LINES = """algorithm f(n: size, x: inout real[n]):
    ensures flops == n - 1
    for i in 0..n:
        x[i] += 1.0

algorithm g(n: size, b: size, x: inout real[n]):
    where {fact}
    ensures flops == n
    for i in 0..n step b:
        for j in i..min(n, i + b):
            x[j] += 1.0

claim flops(g) <= n*L where b == L
claim flops(g) == n
claim flops(g) == n - 1 where b == 2*L
"""


@pytest.mark.parametrize(
    "fact", some(["b == L", "b == 2*L", "b == L^2", "2*b == L", "Z == b*L", "b == 3*L, Z >= b", "b == Z"])
)
def test_a_block_of_so_many_lines(tmp_path: Path, fact: str) -> None:
    file = program(tmp_path, LINES.format(fact=fact))
    page = cli("cost", f"{file}::g")
    assert page.code == 0, page.err
    assert "2*n + ceil(n/b) + 1" in page.out
    checked = cli("check", file)
    assert checked.code == 1
    assert "p.algo:2: fails" in checked.out
    assert "p.algo:8: holds" in checked.out
    assert "p.algo:14: holds" in checked.out
    assert cli("cost", file, "--where", "n == 2*L").code == 0
    assert cli("diff", file, file, "--where", "n == L").code == 0


@pytest.mark.parametrize("at", [{"n": 20, "b": 4, "L": 4}, {"n": 7, "b": 8, "L": 8}])
def test_blocks_of_a_line_cost_what_runs_do(tmp_path: Path, at: dict[str, int]) -> None:
    file = program(tmp_path, LINES.format(fact="b == L"))
    ran = cli("run", f"{file}::g", "--at", f"n={at['n']},b={at['b']}", "--cache", f"Z=64,L={at['L']}")
    assert ran.code == 0, ran.out


IN_PROCESSES = ("n^(10^9)", "n^(10^20)")


def answer(*arguments: str) -> str:
    """What a command prints; in a process of its own where it may end the interpreter."""
    if arguments[1] not in IN_PROCESSES:
        return cli(*arguments).out
    command = [sys.executable, "-m", "archline", *arguments]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=60, env={"PYTHONPATH": str(ROOT / "analyzer")}
    )
    assert done.returncode in (0, 1, 2), done.stderr
    assert "AL999" not in done.stderr
    return done.stdout + done.stderr


@pytest.mark.parametrize(
    ("f", "g", "verdict"),
    [
        ("n^(10^9)", "n", "fails"),
        ("n^(10^6)", "n", "fails"),
        ("n", "n^(10^9)", "holds"),
        ("n^(10^20)", "n^(10^19)", "fails"),
        ("n^(10^100)", "n", "fails"),
        ("2^(10^9*n)", "3^n", "fails"),
        ("floor(n^(10^9))", "n", "fails"),
        ("(n + 1)^(10^9)", "n", "fails"),
        ("n^(10^9)", "2^n", "holds"),
        ("n/(2^n)^(10^9)", "1/n^10", "holds"),
        ("2^(10^9)*n", "n", "holds"),
    ],
)
def test_growth_of_huge_powers(f: str, g: str, verdict: str) -> None:
    text = answer("order", f, g)
    assert text.startswith(f"{verdict}: ")
    assert " 0e+" not in text


def test_shown_values_of_huge_powers() -> None:
    assert "2^4.00000e+9" in answer("order", "n^(10^9)", "n")
    assert "9.96014e+120411" in answer("order", "n^(10^5)", "n")


@pytest.mark.parametrize("power", ["10^9", "10^4", "10^100"])
def test_recurrences_with_huge_powers(power: str) -> None:
    text = answer("recurrence", f"T(n) = T(n-1) + n^({power}), T(1) = 1")
    assert "refused" in text
    assert "checked" in text or "followed" in text


def test_steps_of_very_different_lengths() -> None:
    assert "steps of very different lengths" in answer("recurrence", "T(n) = T(n-1) + T(n-10^6), T(10^6) = 1")


@pytest.mark.parametrize(
    ("text", "growth"),
    some(
        [
            ("S(n) = S(n/5) + S(7*n/10 + 6) + n, S(60) = 1", "Theta(n)"),
            ("S(n) = S(n/5 + 1) + S(7*n/10 + 6) + n, S(70) = 1", "Theta(n)"),
            ("S(n) = S(n/9) + S(7*n/10 + 600) + n, S(6000) = 1", "Theta(n)"),
            ("S(n) = S(n/5) + S(7*n/10 - 1) + n, S(60) = 1", "Theta(n)"),
            ("S(n) = S(n/5) + S(7*n/10 + 6) + n*log2(n), S(60) = 1", "Theta(n*log2(n))"),
            ("S(n) = S(n/10) + S(9*n/10 + 1) + n, S(60) = 1", "Theta(n*log2(n))"),
            ("S(n) = S(n/3 + 2) + S(2*n/3 + 5) + n, S(100) = 1", "Theta(n*log2(n))"),
            ("S(n) = S(n/2 + 17) + n, S(35) = 1", "Theta(n)"),
            ("S(n) = S(n/2 + 17) + S(n/2 + 4) + n, S(60) = 1", "Theta(n*log2(n))"),
            ("S(n) = S(n/2 + 17) + S(n/3 + 4) + S(n/7 + 1) + n, S(60) = 1", "Theta(n)"),
            ("S(n) = S(n/3) + S(n/3 + 1) + S(n/3 + 2) + n, S(6) = 1", "Theta(n*log2(n))"),
            ("S(n) = S(n/2 + 1) + 7*S(n/2) + n^2, S(10) = 1", "Theta(n^3)"),
        ]
    ),
)
def test_recurrences_with_shifted_sizes(text: str, growth: str) -> None:
    result = cli("recurrence", text)
    assert (result.code, result.out.splitlines()[2].split()) == (0, ["growth", growth])


@pytest.mark.parametrize(
    ("text", "assumed"),
    [
        ("S(n) = S(n/2 + 17) + n, S(34) = 1", "S(n) = 1 for n <= 35"),
        ("S(n) = S(n/5) + S(7*n/10 + 6) + n, S(1) = 1", "S(n) = 1 for n <= 21"),
        ("S(n) = S(n/5) + S(7*n/10 + 6) + n", "S(n) = 1 for n <= 21"),
    ],
)
def test_the_base_of_shifted_sizes_is_where_they_shrink(text: str, assumed: str) -> None:
    out = cli("recurrence", text).out
    assert "Theta(n)" in out
    assert assumed in out


NUMBERS_IN_RECURRENCES = {
    "a long step": ("T(n) = T(n - 10^400) + 1, T(1) = 1", "solved"),
    "two long weights": ("T(n) = 10^400*T(n-1) + 10^400*T(n-2), T(0) = 1", "exponential"),
    "a cubic that grows too fast": ("T(n) = 10^400*T(n-1) + 10^400*T(n-2) + T(n-3), T(0) = 1", "refused"),
    "a short step beside a long one": ("T(n) = T(n-1) + T(n - 1 - 1/10^400) + 1, T(0) = 1", "refused"),
    "a share that is nearly 1": ("T(n) = T(9999999999*n/10000000000) + 1, T(1) = 1", "refused"),
    "a root that is nearly 1": ("T(n) = T(n^(999999/1000000)) + 1, T(2) = 1", "refused"),
    "a high root": ("T(n) = T(n^(1/1000)) + 1, T(2) = 1", "solved"),
    "a root of any length": ("T(n) = T(n^(1/2^1100)) + 1, T(2) = 1", "solved"),
    "a maximum with a branch without calls": ("T(n) = max(T(n-1) + 1, n), T(0) = 1", "refused"),
}
"""Recurrences with numbers that no float and no exponent of a machine holds, and what becomes of them."""


@pytest.mark.parametrize("name", NUMBERS_IN_RECURRENCES)
def test_recurrences_with_numbers_of_any_length(name: str) -> None:
    text, outcome = NUMBERS_IN_RECURRENCES[name]
    assert recurrence(text).outcome == outcome


def test_the_greater_root_of_a_square() -> None:
    # x^2 = 2*x + 5: x = 1 + sqrt(6).
    assert recurrence("T(n) = 2*T(n-1) + 5*T(n-2), T(0) = 1").growth == "(1 + sqrt(6))^n"


HUGE_PARTS = {
    "a step that is 0 at one size": "algorithm f(x: inout real[q], k: size):\n    for i in 0..q step log2(k):\n        x[0] += 1.0\n",
    "a claim on a cost of many digits": "algorithm f(x: inout real[q], n: size, k: size):\n    ensures work <= q\n"
    "    for i in q..2*k:\n        x[n..2^n*k] = 1.0\n",
    "a power of many digits": "algorithm f(x: inout real[q], n: size, k: size):\n    for i in n^2^53 + 1..min(k, q):\n"
    "        x[0] += 1.0\n",
    "an array of any length": "algorithm f(x: inout real[10^400], k: size):\n    ensures span <= k\n    x[0] = x[k*k]\n",
    "an extent of any length": "algorithm f(x: inout real[10^400*k], k: size):\n    local v: real[10^400 - 10^400] = 0\n"
    "    x[0] += v[0]\n",
    "a real of any length": "algorithm f(x: inout real[q], k: size):\n    where min(k, k^10^400) == 3\n"
    "    x[0] += real_of(k*10^400)\n",
}


@pytest.mark.parametrize("part", HUGE_PARTS)
@pytest.mark.parametrize("command", ["cost", "check", "run"])
def test_programs_with_huge_parts_get_an_answer(tmp_path: Path, part: str, command: str) -> None:
    file = program(tmp_path, HUGE_PARTS[part])
    point = [["--at", "q=3,n=2,k=2"], []][command != "run"]
    result = cli(command, file, *point)
    assert result.code in (0, 1, 2)
    assert "AL999" not in result.out + result.err
