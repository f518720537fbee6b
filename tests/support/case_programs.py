"""Generated programs whose sizes choose what is done: branches of several conditions, with loops in them and around."""

from __future__ import annotations

import random

SIZES = ("n", "m", "k")
CHANGES = ("x[0] += 1.0", "x[0] = x[0]*y[0] + 2.0", "x[0] = y[0]", "x[n - 1] = sqrt(y[0])", "x[n//2] -= 1.0")


def case_program_from_seed(seed: int) -> str:
    """The program of a seed, called `main`."""
    source = random.Random(seed)
    sizes = SIZES[: source.choice((1, 2, 2, 3))]
    extra = "".join(f", {name}: size" for name in sizes[1:])
    body = _branches(source, sizes, 1)
    return "\n".join([f"algorithm main(x: inout real[n], y: in real[n]{extra}):", *_indented(body)]) + "\n"


def _indented(lines: list[str]) -> list[str]:
    return [f"    {line}" for line in lines]


def _branches(source: random.Random, sizes: tuple[str, ...], depth: int) -> list[str]:
    lines = []
    for word in ("if", "elif", "elif", "elif")[: source.choice((1, 1, 2, 3) if depth else (1, 1, 2))]:
        lines += [f"{word} {_condition(source, sizes)}:", *_indented(_block(source, sizes, depth))]
    return [*lines, "else:", *_indented(_block(source, sizes, depth))] if source.random() < 0.7 else lines


def _block(source: random.Random, sizes: tuple[str, ...], depth: int) -> list[str]:
    kind = source.choice(("loop", "loop", "loop", "nest", "nest", "change", "branches"))
    if kind == "branches" and depth:
        return _branches(source, sizes, depth - 1)
    lines = [source.choice(CHANGES)]
    for name in ("i", "j")[: {"loop": 1, "nest": 2}.get(kind, 0)]:
        lines = [f"for {name} in {_range(source, sizes)}:", *_indented(lines)]
    return lines


def _range(source: random.Random, sizes: tuple[str, ...]) -> str:
    size = source.choice(sizes)
    return source.choice(("0..{}", "0..{}", "1..{}", "0..{} + 2", "0..{} - 1", "0..{}//2", "0..2*{}")).format(size)


def _condition(source: random.Random, sizes: tuple[str, ...]) -> str:
    parts = [_comparison(source, sizes) for _ in range(source.choice((1, 1, 1, 2)))]
    joined = f" {source.choice(('and', 'or'))} ".join(parts)
    return f"not ({joined})" if source.random() < 0.1 else joined


def _comparison(source: random.Random, sizes: tuple[str, ...]) -> str:
    one, other = source.choice(sizes), source.choice((*sizes, "number"))
    left = source.choice(("{}", "{}", "2*{}", "{}//2", "{} + 3", "{}%2")).format(one)
    right = str(source.randrange(6)) if other in ("number", one) else source.choice((other, other, f"3*{other}"))
    return f"{left} {source.choice(('<', '<=', '>', '>=', '==', '==', '!=', '!='))} {right}"
