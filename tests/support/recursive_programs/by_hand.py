"""Recursions written by hand: the sizes of their runs, what is exact, and what comes of their claims."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from recursive_programs.agreement import Sizes


@dataclass(frozen=True)
class Program:
    """A recursion, by the name `main` unless it has another; of the `claims` in its text what comes of each, in order."""

    text: str
    runs: Sequence[Sizes]
    exact: str = ""
    claims: str = ""
    far: Sequence[Sizes] = ()
    name: str = "main"


def of_n(*sizes: int) -> list[Sizes]:
    return [{"n": n} for n in sizes]


# One size
HALVES = """
algorithm main(x: inout real[n]):
    if n > 1:
        for i in 0..n:
            x[i] += 1.0
        main(x[0..n//2])
        main(x[n//2..n])
"""
POWERS = """
algorithm main(x: inout real[n]):
    where n is power of 2
    if n > 1:
        for i in 0..n:
            for j in 0..n:
                x[i] += 1.0
        main(x[0..n//2])
        main(x[0..n//2])
        main(x[n//2..n])
"""
CUT = """
algorithm main(x: real[n], d: real):
    local s: real = 0
    if n > 8:
        local q: int = n//3
        if d < 0.5:
            q += 1
        assume {}
        main(x[0..q], d)
        main(x[q..n], d)
    else:
        for i in 0..n:
            s += x[i]
"""
UNEVEN = """
algorithm main(x: inout real[n]):
    where n >= 0
    ensures span is {claim}
    if n > 4:
        {body}
        {calls}
"""
PARTS = "spawn main(x[0..{k}])\n        spawn main(x[{k}..n])\n        sync"
SHRINKING_BY_ONE = """
algorithm main(x: inout real[n]):
    where n >= 0
    ensures span is O(log2(n)^2)
    if n > 1:
        x[0] += 1.0
        main(x[1..n])
"""
# A guard in an algorithm that calls back, whose call is not made where it fails: no case of the recursion.
GUARDED_BACK = """
algorithm turn(n: size):
    local s: real = 0
    if n <= 40:
        for i in 0..n*n:
            s += 1.0
    else:
        main(n - 40)

algorithm main(n: size):
    local s: real = 0
    if n > 1:
        turn(n)
    s += 1.0
"""
EMPTY_BACK = """
algorithm turn(n: size):
    local s: real = 0
    if n <= 1:
        s += 1.0
    else:
        main(n - ceil(n/2))

algorithm main(n: size):
    local s: real = 0
    if n > 1:
        turn(n//2)
    s += 1.0
"""
# The loops may take longer than the calls beside them, and so bound the span alone.
LOOPS_BESIDE = """
algorithm main(n: size):
    local s: real = 0
    if n > 1:
        spawn main(n//2)
        spawn main(n - n//2)
        for i in 0..n//2:
            s += 1.0
            s += 1.0
        for i in 0..n:
            s += 1.0
    else:
        for i in 0..6:
            s += 1.0
"""
# Floors by numbers whose product is large, and a floor of a floor.
MANY_FLOORS = """
algorithm main(n: size):
    local s: real = 0
    if n > 6:
        main(n//5)
        main(n//7)
        for i in 0..ceil(n/2)//2:
            s += 1.0
    s += 1.0
"""
DOUBLED = """
algorithm main(n: size):
    local s: real = 0
    if n > 1:
        spawn main(n - 1)
        spawn main(n - 1)
    s += 1.0
"""
PIVOT = """
algorithm main(x: real[n]):
    where n >= 0
    if n > 1:
        local q: int = 0
        for i in 0..n - 1:
            if x[i] < x[n - 1]:
                q += 1
        main(x[0..q])
        main(x[q + 1..n])
"""
# Exponents of a power of 2 in two parts of about half of it, as the six-step Fourier transform has them.
EXPONENTS = """
algorithm main(x: inout real[n]):
    where n is power of 2
    ensures work is Theta({})
    ensures work is Theta({})
    if n > 2:
        let p = 2^(log2(n)//2)
        let q = n/p
        {}
"""
# Three of four quadrants are on the longest path; what is narrow is cut across. `leaf` is what a leaf does.
QUADRANTS = """
algorithm leaf(x: inout real[n, m]):
    for i in 0..n:
        for j in 0..m:
            x[i, j] += 1.0

algorithm main(x: inout real[n, m]):
    ensures flops == n*m
    ensures work is Theta(n*m)
    ensures span is Theta({growth})
    let h = n//2
    let g = m//2
    if max(n, m) <= {most}:
        leaf(x)
    elif n <= {most}:
        main(x[:, 0..g])
        main(x[:, g..m])
    elif m <= {most}:
        main(x[0..h, :])
        main(x[h..n, :])
    else:
        main(x[0..h, 0..g])
        spawn main(x[0..h, g..m])
        spawn main(x[h..n, 0..g])
        sync
        main(x[h..n, g..m])

algorithm twice(x: inout real[n, m]):
    ensures work is Theta(n*m)
    ensures span is Theta({growth})
    main(x)
    main(x)
"""
THREE = "max(n, m)*min(n, m)^(log2(3) - 1)"
# Leaves of a fixed size: min and max with numbers keep their sums over halves.
OUTER = """
algorithm main(X: inout real[n, m]):
    if max(n, m) <= 6:
        for i in 0..n:
            for j in 0..m:
                X[i, j] += 1.0
    elif n >= m:
        spawn main(X[0..n//2, :])
        spawn main(X[n//2..n, :])
        sync
    else:
        main(X[:, 0..m//2])
        main(X[:, m//2..m])
"""
# Ranges of indices, whose cost depends on their length alone.
RANGE = """
algorithm main(x: inout real[n], lo: index, hi: index):
    where 0 <= lo, lo {least} hi, hi <= n
    decreases hi - lo
    {body}
"""
RANGES = {
    "range in halves": (
        "<",
        "if hi - lo > 1:\n        let mid = (lo + hi)//2\n        spawn main(x, lo, mid)\n        spawn main(x, mid, hi)\n"
        "        sync\n        for i in lo..hi:\n            x[i] += 1.0",
        "flops",
    ),
    "range in thirds": (
        "<=",
        "if hi - lo >= 3:\n        main(x, lo, lo + (hi - lo)//3)\n        main(x, hi - (hi - lo)//3, hi)\n"
        "        for i in lo..hi:\n            x[i] += 1.0",
        "",
    ),
    "range less the last": ("<=", "if hi > lo:\n        main(x, lo, hi - 1)\n        x[hi - 1] += 1.0", "flops"),
    "range from the start": (
        "<=",
        "if hi - lo > 1:\n        main(x, lo, (lo + hi)//2)\n        for i in 0..lo:\n            x[i] += 1.0",
        "",
    ),
    "range of a tree": (
        "<",
        "if hi - lo == 1:\n        x[lo] += 1.0\n    else:\n        main(x, lo, (lo + hi)//2)\n        main(x, (lo + hi)//2, hi)",
        "flops work",
    ),
    "range of stairs": (
        "<=",
        "if hi > lo:\n        for i in lo..hi:\n            x[i] += 1.0\n        main(x, lo + 1, hi)",
        "flops work",
    ),
}
TWICE = RANGE.format(
    least="<", body="x[lo] += 1.0\n    if hi - lo >= 2:\n        main(x, lo, hi - 1)\n        main(x, lo, hi - 1)"
)
RECTANGLE = """
algorithm main(x: inout real[n, n], lo: index, hi: index, left: index, right: index):
    where hi > lo, right > left
    if hi - lo == 1 and right - left == 1:
        x[lo, left] += 1.0
    elif hi - lo >= right - left:
        main(x, lo, (lo + hi)//2, left, right)
        main(x, (lo + hi)//2, hi, left, right)
    else:
        main(x, lo, hi, left, (left + right)//2)
        main(x, lo, hi, (left + right)//2, right)
"""
PLACES = [(0, 1), (3, 4), (0, 2), (5, 8), (0, 7), (2, 33), (11, 75), (0, 64)]
IN_RANGES = [{"n": high + 2, "lo": low, "hi": high} for low, high in PLACES]
FEW = of_n(*range(1, 14), 31, 32, 33, 39, 40, 41, 64, 80, 100)
MATRICES = [{"n": n, "m": m} for n, m in [(1, 1), (4, 4), (1, 7), (7, 1), (5, 3), (8, 9), (13, 40), (40, 13), (33, 32)]]
FAR = [{"n": n, "m": m} for n, m in [(1, 4096), (4097, 2), (999, 1001), (1024, 31), (5, 3000), (64, 64), (5000, 8)]]
FAR_EXPONENTS = of_n(*(2**k for k in (16, 31, 32, 33, 100, 255, 1000)))
PROGRAMS = {
    "halves": Program(HALVES, of_n(1, 2, 3, 5, 17, 64), "flops"),
    "powers": Program(POWERS, of_n(1, 2, 8, 32), "flops"),
    **{
        f"cut where {assumed}": Program(
            CUT.format(assumed), [{"n": n, "d": d} for n in (1, 7, 9, 10, 26, 100) for d in (0, 1)]
        )
        for assumed in ("q >= n//3, q <= n//3 + 1", "3*q >= n - 2, 3*q <= n + 3", "q >= 1, q < n")
    },
    **{
        f"uneven {number}": Program(
            UNEVEN.format(calls=calls, body=body, claim=claim), of_n(0, 1, 5, 12, 60), "", "holds"
        )
        for number, (calls, body, claim) in enumerate(
            [
                (PARTS.format(k="n//3"), "parallel for i in 0..n:\n            x[i] += 1.0", "O(log2(n)^2)"),
                (PARTS.format(k="n//4"), "x[0] += 1.0", "O(log2(n))"),
                ("main(x[n//4..n])", "x[0] += 1.0", "Theta(log2(n))"),
            ]
        )
    },
    "a size less 1 is no share": Program(SHRINKING_BY_ONE, of_n(0, 1, 9), "", "fails"),
    "guarded back": Program(GUARDED_BACK, FEW),
    "empty back": Program(EMPTY_BACK, FEW),
    "loops beside": Program(LOOPS_BESIDE, FEW),
    "many floors": Program(MANY_FLOORS, FEW),
    "doubled": Program(DOUBLED, FEW[:13]),
    "pivot": Program(PIVOT, of_n(0, 1, 2, 3, 10, 33)),
    **{
        f"exponents {name}": Program(
            EXPONENTS.format(right, wrong, body), of_n(*(2**k for k in range(12))), "", "holds !holds", FAR_EXPONENTS
        )
        for name, body, right, wrong in [
            ("one", "main(x[0..p])", "log2(log2(n))", "log2(n)"),
            ("both", "main(x[0..p])\n        main(x[0..q])", "log2(n)", "log2(n)*log2(log2(n))"),
            (
                "level",
                "main(x[0..p])\n        main(x[0..q])\n        for i in 0..log2(n):\n            x[0] += 1.0",
                "log2(n)*log2(log2(n))",
                "log2(n)",
            ),
        ]
    },
    "quadrants of 1": Program(QUADRANTS.format(most=1, growth=THREE), MATRICES, "flops", "", FAR),
    "quadrants of 4": Program(QUADRANTS.format(most=4, growth=THREE), MATRICES, "flops", "holds holds holds", FAR),
    "quadrants twice": Program(QUADRANTS.format(most=4, growth=THREE), MATRICES, "flops", "holds holds", (), "twice"),
    "leaves of 6": Program(OUTER, [{"n": 7, "m": 1}, *MATRICES], "flops"),
    **{
        name: Program(RANGE.format(least=least, body=body), IN_RANGES, exact)
        for name, (least, body, exact) in RANGES.items()
    },
    "range twice": Program(TWICE, IN_RANGES[:5], "flops"),
    "rectangle": Program(
        RECTANGLE, [{**each, "left": 1, "right": 1 + each["hi"] - each["lo"]} for each in IN_RANGES[:5]], "flops work"
    ),
}
