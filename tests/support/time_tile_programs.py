"""Generated sweeps of a line in time: by tiles that lean, by skewed loops, in blocks of steps, some under guards."""

from __future__ import annotations

import random

from io_programs import ArrayProgram, Lines, indented

TILED = ("for w in 0..ceil((n + T)/W):", "for t in 0..T:", "for i in max(1, w*W - t)..min(n - 1, (w + 1)*W - t):")
LOOPS: tuple[Lines, ...] = (
    TILED,
    (TILED[0], TILED[1], "for i in min(n - 1, (w + 1)*W - t) - 1 downto max(1, w*W - t):"),
    ("for t in 0..T:", "for w in 0..ceil(n/W):", "for i in max(1, w*W)..min(n - 1, (w + 1)*W):"),
    ("for t in 0..T:", "for j in t + 1..t + n - 1:", "let i = j - t"),
    (TILED[0], TILED[1], "for j in max(t + 1, w*W)..min(t + n - 1, (w + 1)*W):", "let i = j - t"),
    (
        "for b in 0..ceil(T/B):",
        "for w in 0..ceil((n + B)/W):",
        "for t in b*B..min(T, (b + 1)*B):",
        "for i in max(1, w*W - t + b*B)..min(n - 1, (w + 1)*W - t + b*B):",
    ),
    ("for b in 0..ceil(T/B):", "for t in b*B..min(T, (b + 1)*B):", "for i in 1..n - 1:"),
)
STATEMENTS = (
    "a[(t + 1)%2, i] = a[t%2, i - 1] + a[t%2, i + 1]",
    "a[(t + 1)%2, i] = a[t%2, i - 1] + a[t%2, i] + a[t%2, i + 1]",
    "a[t%2, i] += a[t%2, i - 1]",
    "a[0, i] = a[0, i - 1] + a[0, i + 1]",
    "a[0, i] += a[1, n - 1 - i]",
)
GUARDS = ("i != t", "i >= 2 and i != n - 2", "i != 1 or t > 0", "not (i == 3 or t == 1)", "i < 4 or i > 7", "t != 1")


def time_tile_program_from_seed(seed: int) -> tuple[ArrayProgram, bool]:
    """The program of a seed, and whether it has a guard: without one all of 1..n - 1 is swept where n >= 3, T >= 1."""
    source = random.Random(seed)
    body: Lines = [source.choice(STATEMENTS)]
    guarded = source.random() < 0.5
    if guarded:
        body = [f"if {source.choice(GUARDS)}:", *indented(body)]
    for line in reversed(source.choice(LOOPS)):
        body = [line, *(body if line.startswith("let") else indented(body))]
    text = "algorithm main(a: inout real[2, n], T: size, W: size, B: size):\n    where n >= 3, W >= 2, B >= 1, T >= 1\n"
    return ArrayProgram(text + "\n".join(indented(body)) + "\n", {"a": ("2", "n")}, ("n", "T", "W", "B")), guarded
