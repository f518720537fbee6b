"""Random programs whose loops are driven by integer registers, with an interpreter of their own that counts."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass

MAX_STEPS = 3000
SIZES = ("n", "m")
INDENT = "    "


class EndlessError(Exception):
    """A run took more steps than any run of a program that ends should."""


@dataclass(frozen=True)
class LoopProgram:
    """A program `loops(n, m, a, t)` as text, and the body that the interpreter executes."""

    text: str
    body: str

    def count(self, sizes: dict[str, int], draw: Callable[[], float]) -> int:
        """Return how often a run adds to `t`, once in each iteration; `draw` gives the data. Raises EndlessError."""
        count = 0

        def tick() -> None:
            nonlocal count
            count += 1
            if count > MAX_STEPS:
                raise EndlessError

        def powers(first: int, last: int, factor: int) -> Iterator[int]:
            while first < last:
                yield first
                first *= factor

        exec(self.body, {"tick": tick, "draw": draw, "powers": powers, **sizes})
        return count


def loop_program_from_seed(seed: int) -> LoopProgram:
    """Return a random program: whiles and fors over registers that move by constants, factors and each other."""
    source = random.Random(seed)
    registers = ["x", "y", "z"][: source.randrange(2, 4)]
    lines = [f"{name}: int = {source.choice(['0', '1', 'n', 'm', 'n + m', '2'])}" for name in registers]
    while not any(line.lstrip().startswith("while") for line in lines):
        _append_block(lines, "", 0, registers, source)
    return make_program(lines)


def nest_program_from_seed(seed: int) -> LoopProgram:
    """Return a random nest: a counter that moves first or last in its loop, and an inner loop that starts from it."""
    source = random.Random(seed)
    rising = [("i < n", "i += 1"), ("i <= m", "i += 2"), ("i < n + m", "i += 3"), ("i*i <= n", "i += 1")]
    rising += [("i < n", "i = 2*i + 1"), ("i <= n", "i += 1"), ("i != n", "i += 2")]
    falling = [("i > 0", "i -= 1"), ("i >= 1", "i = i//2"), ("i > 0", "i -= 2"), ("i > 1", "i = i//3")]
    start = source.choice(["0", "1", "2", "n", "m"])
    test, move = source.choice(rising if start in "012" else falling)
    first = source.random() < 0.5
    body = [move] if first else []
    body.append(f"j = {source.choice(['i', 'i + 1', 'n', '0', 'm', '2*i', 'x', 'i//2'])}")
    body += _inner_loop(source)
    if source.random() < 0.3:
        body += [f"for k in 0..{source.choice(['i', 'j', '3', 'x'])}:", f"{INDENT}tick"]
    body += [] if first else [move]
    lines = [f"i: int = {start}", "j: int = 0", "x: int = 0", f"while {test}:", f"{INDENT}tick"]
    lines += [INDENT + line for line in body]
    if source.random() < 0.3:
        lines += ["while x > 0:", f"{INDENT}tick", f"{INDENT}x -= 1"]
    return make_program(lines)


def _inner_loop(source: random.Random) -> list[str]:
    """Return the lines of a loop on j or x, perhaps in a loop or a branch of its own."""
    moves = [("j > 0", "j -= 1"), ("j > 0", "j = j//2"), ("j < n", "j += 1"), ("j < i", "j += 1"), ("j < m", "j += 2")]
    moves += [("j > i", "j -= 1"), ("j < n and draw < 0.7", "j += 1"), ("j > 0 and draw < 0.7", "j -= 1")]
    moves += [("x < n and draw < 0.6", "x += 1"), ("j*j < n", "j += 1"), ("j < i and draw < 0.7", "j += 1")]
    test, move = source.choice(moves)
    body = ["tick"]
    if source.random() < 0.3:
        body += ["if draw < 0.3:", INDENT + source.choice(["break", "x += 1", "x = 0"])]
    body = [move, *body] if source.random() < 0.4 else [*body, move]
    lines = [f"while {test}:", *(INDENT + line for line in body)]
    if source.random() < 0.4:
        around = source.choice(["for q in 0..2:", "for q in 0..m:", "if draw < 0.5:", "for q in 1..n step *2:"])
        lines = [around, *(INDENT + line for line in lines)]
    return lines


def amortised_program_from_seed(seed: int) -> LoopProgram:
    """Return a random program whose inner loop gives back what the outer one adds, with guards, exits and cases."""
    source = random.Random(seed)
    outer = ["for i in 0..n:", "while i < n:", "while i < n or j < m:", "while i != n:", "while i < min(n, m):"]
    outer += ["while i*i < n + m:", "while s < n:", "while i < n and draw < 0.95:", "while i % 5 != 4:"]
    head = source.choice(outer)
    moves = ["i += 1", "i += 1", "i = min(i + 2, n)", "i = max(i, j) + 1", "i = i + 1 + i//2", "i += 1"]
    lines = [f"i: int = {source.choice(['0', '0', '1'])}", "j: int = 0", "x: int = 0", "s: int = 0", "g: int = m"]
    lines += [f"{name}: int = 0" for name in ("lo", "hi", "p", "q", "r")]
    body = ["tick", *_amortised_step(source)]
    for _ in range(source.randrange(0, 2)):
        body += _amortised_step(source)
    if head.startswith("while"):
        move = [source.choice(moves), *(["s += i"] if "s <" in head else []), *(["j += 1"] if "or j" in head else [])]
        body = [*move, *body] if source.random() < 0.4 else [*body, *move]
    lines += [head, *(INDENT + line for line in body)]
    if source.random() < 0.3:
        lines += [f"while {source.choice(['x > 0', 'j > 0', 'j < n or x > 0'])}:", f"{INDENT}tick"]
        lines += [f"{INDENT}x -= 1", f"{INDENT}j = {source.choice(['j - 1', 'max(j - 3, 0)', 'j + 1', '(j + 1)//2'])}"]
    return make_program(lines)


def _amortised_step(source: random.Random) -> list[str]:
    """Return lines that add to a register and perhaps take from it in a loop, or a loop that shrinks by factors."""
    step = source.random()
    if step < 0.6:
        name, test, move = source.choice(
            [
                ("x", "x > 0", "x -= 1"), ("x", "x > 1 and draw < 0.7", "x -= 2"), ("j", "j < i", "j += 1"),
                ("j", "j < i and draw < 0.6", "j = min(j + 2, i)"), ("j", "j < n and draw < 0.6", "j += 1"),
                ("x", "x > 0 and j < n", "x -= 1"), ("x", "x % 3 != 0", "x -= 1"), ("x", "x > 0", "x = x//2"),
                ("x", "x > j or x > 3", "x -= 1"), ("j", "j + x < n", "j += 1"),
            ]
        )  # fmt: skip
        inner = [move, "tick"] if source.random() < 0.4 else ["tick", move]
        if source.random() < 0.3:
            inner = [*inner, f"if {source.choice(['draw < 0.2', 'x > 4', f'{name} == 2'])}:", f"{INDENT}break"]
        lines = [f"while {test}:", *(INDENT + line for line in inner)]
        added = source.choice(["x += 1", "x += 2", "x = max(x - 1, 0)", "x += 1"])
        lines = [added, *lines] if source.random() < 0.6 else [*lines, added]
    elif step < 0.8:
        lines = ["lo = 0", f"hi = {source.choice(['n', 'x', 'i', 'j + m'])}", "while lo < hi:"]
        halves = ["tick", "if draw < 0.5:", f"{INDENT}lo = (lo + hi)//2 + 1", "else:", f"{INDENT}hi = (lo + hi)//2"]
        lines += [INDENT + line for line in halves]
    else:
        lines = ["p = n", f"q = {source.choice(['m', 'g', 'n + m'])}", "while q > 0:"]
        lines += [f"{INDENT}{line}" for line in ("tick", "r = p % q", "p = q", "q = r")]
    if source.random() < 0.3:
        lines = [f"if {source.choice(['draw < 0.6', 'i % 2 == 0', 'x < 5'])}:", *(INDENT + line for line in lines)]
    if source.random() < 0.15:
        lines += ["if draw < 0.1:", f"{INDENT}break"]
    return lines


def make_program(lines: list[str]) -> LoopProgram:
    """Return the program of lines in which `tick` counts an iteration and `draw` stands for data."""
    text, body = [], []
    for line in lines:
        stripped = line.lstrip()
        indent = line[: len(line) - len(stripped)]
        if ": int =" in stripped:
            text.append(f"{indent}local {stripped}")
            body.append(indent + stripped.replace(": int", ""))
        elif stripped == "tick":
            text.append(f"{indent}t[0] += 1.0")
            body.append(f"{indent}tick()")
        else:
            text.append(line.replace("draw", "a[0]"))
            body.append(_to_python(line))
    header = "algorithm loops(n: size, m: size, a: real[1], t: inout real[1]):\n"
    return LoopProgram(header + "".join(f"{INDENT}{line}\n" for line in text), "\n".join(body) + "\n")


def _to_python(line: str) -> str:
    stripped = line.lstrip()
    indent = line[: len(line) - len(stripped)]
    if stripped.startswith("for "):
        name, bounds = stripped[4:-1].split(" in ")
        low, high = bounds.split("..")
        if " step *" in high:
            high, factor = high.split(" step *")
            return f"{indent}for {name} in powers({low}, {high}, {factor}):"
        return f"{indent}for {name} in range({low}, {high}):"
    return line.replace("draw", "draw()")


def _append_block(lines: list[str], indent: str, depth: int, registers: list[str], source: random.Random) -> None:
    for _ in range(source.randrange(1, 4)):
        kind = source.random()
        if kind < 0.3 and depth < 2:
            lines.append(f"{indent}while {_test(registers, source)}:")
            lines.append(f"{indent}{INDENT}tick")
            _append_block(lines, indent + INDENT, depth + 1, registers, source)
        elif kind < 0.4 and depth < 2:
            lines.append(f"{indent}for {'ij'[depth]} in 0..{source.choice(['n', 'm', registers[0], '5'])}:")
            lines.append(f"{indent}{INDENT}tick")
            _append_block(lines, indent + INDENT, depth + 1, registers, source)
        elif kind < 0.55:
            lines.append(f"{indent}if {source.choice(['draw < 0.5', 'x < y', 'y > 2'])}:")
            lines.append(f"{indent}{INDENT}{_move(registers, source)}")
            if source.random() < 0.5:
                lines.append(f"{indent}else:")
                lines.append(f"{indent}{INDENT}{_move(registers, source)}")
            if depth and source.random() < 0.2:
                lines[-1] = f"{indent}{INDENT}break"
        else:
            lines.append(indent + _move(registers, source))


def _move(registers: list[str], source: random.Random) -> str:
    name, other = source.choice(registers), source.choice(registers)
    return source.choice(
        [
            f"{name} += {source.randrange(1, 4)}",
            f"{name} -= {source.randrange(1, 4)}",
            f"{name} *= 2",
            f"{name} = {name}//2",
            f"{name} += {other}",
            f"{name} = {other}",
            f"{name} = 0",
            f"{name} = n",
            f"{name} = {name}//3",
            f"{name} += 1",
            f"{name} -= 1",
            f"{name} = ({name} + {other})//2",
            f"{name} = {name} - {name}//2",
            f"{name} = {other} % 5",
            f"{name} = 2*{name} + 1",
        ]
    )


def _test(registers: list[str], source: random.Random) -> str:
    name, other = source.choice(registers), source.choice(registers)
    test = source.choice(
        [
            f"{name} < n",
            f"{name} > 0",
            f"{name} < {other}",
            f"{name} <= m",
            f"{name} != n",
            f"{name} >= 1",
            f"{name}*{name} <= n",
            f"2*{name} < {other}",
            f"{name} + {other} < n + m",
        ]
    )
    return test + source.choice(["", "", "", " and draw < 0.8", f" and {source.choice(registers)} < m"])
