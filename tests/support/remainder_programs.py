"""Generated loops in which remainders decide: where they begin, what is guarded, which places are accessed."""

from __future__ import annotations

import random

HEAD = "algorithm main(w: real[n], x: inout real[n + 60, n + 70], z: inout real[n + 80]):"


def remainder_program_from_seed(seed: int) -> str:
    """The program of a seed; sizes from 1 on have runs."""
    source = random.Random(seed)
    lines, space, names = [HEAD, "    where n >= 1"], "    ", list[str]()
    for name in ("t", "i", "j")[source.randrange(2) : source.choice((2, 3, 3))]:
        others = [f"({each} + 1) % 2" for each in names] + [f"{each} % 3" for each in names]
        lo = source.choice(("0", "1", "2", *names, *others))
        hi = source.choice(("n", "n", "n + 3", "12", *(f"{each} + 4" for each in names)))
        lines.append(f"{space}for {name} in {lo}..{hi}{source.choice(('', '', '', ' step 2', ' step 3'))}:")
        names.append(name)
        space += "    "
    guard = source.random() < 0.8
    if guard:
        lines.append(f"{space}if {_guard(source, names)}{f' and {_guard(source, names)}' * (source.random() < 0.3)}:")
    for _ in range(source.randint(1, 2)):
        lines.append(f"{space}{'    ' * guard}{_place(source, names)} += 1.0")
    if guard and source.random() < 0.3:
        lines += [f"{space}else:", f"{space}    {_place(source, names)} += 1.0"]
    return "\n".join(lines) + "\n"


def _guard(source: random.Random, names: list[str]) -> str:
    one, other = source.choice(names), source.choice(names)
    parity = source.choice((f"{one} % 2 == 0", f"{one} % 2 == 1", f"({one} + {other}) % 2 == 1"))
    others = f"{one} % 3 != 0", f"{one} % 4 == 2", f"(2*{one} + 1) % 4 == 3", f"({one} + {other}) % 3 < 2"
    return source.choice((parity, *others, f"{one} > 2", f"{one} + {other} < n"))


def _place(source: random.Random, names: list[str]) -> str:
    def subscript() -> str:
        one = source.choice(names)
        return source.choice((one, one, f"{one} + 1", f"2*{one}", f"{one} % 5", f"{one} % n", f"({one} + 3) % n"))

    return source.choice((f"x[{subscript()}, {subscript()}]", f"x[{names[0]}, {names[-1]}]", f"z[{subscript()}]"))
