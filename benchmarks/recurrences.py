"""How long recurrences take to solve, beside `sympy.rsolve` where that answers at all.

    python benchmarks/recurrences.py                        # target: 3 ms in the median, once imported

Ours is the time from text to an answer that has been checked: reading, solving, and following the recurrence at
several sizes. `sympy.rsolve` knows sequences alone: a recurrence by equal parts is given to it in k for n = b^k, one
by steps as it is, both with their first values; it is given what it needs ready-made, and its caches are emptied.
Where it has no answer, or one that is not a closed form with the right values, there is no time.
"""

from __future__ import annotations

import argparse
import json
import statistics
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from common import ROOT, machine, parsed, times

from archline.cli.main import reduce_garbage_collection
from archline.recurrences.asymptotic.read import parse_recurrence
from archline.recurrences.asymptotic.solve import solve

TARGET = 0.003


def rows() -> list[str]:
    """The recurrences of one size in the tests' corpus."""
    corpus = json.loads((ROOT / "tests" / "data" / "recurrences.json").read_text(encoding="utf-8"))
    texts = [row["recurrence"] for row in corpus]
    return [text for text in texts if " when " not in text and "," not in text.partition("=")[0]]


@dataclass(frozen=True)
class Sequence:
    """T[k] = sum of weight*T[k - step] + forcing(k), with first values."""

    calls: tuple[tuple[int, int], ...]
    forcing: Callable[[Any], Any]
    first: tuple[int, ...]


# What rsolve is asked: the recurrence on n = b^k, or by steps.
SEQUENCES = {
    "T(n) = 2*T(n/2) + n, T(1) = 1": Sequence(((2, 1),), lambda k: 2**k, (1,)),
    "T(n) = 3*T(n/2) + n, T(1) = 1": Sequence(((3, 1),), lambda k: 2**k, (1,)),
    "T(n) = 7*T(n/2) + n^2, T(1) = 1": Sequence(((7, 1),), lambda k: 4**k, (1,)),
    "T(n) = 16*T(n/4) + n^2, T(1) = 1": Sequence(((16, 1),), lambda k: 16**k, (1,)),
    "T(n) = T(n/2) + 1, T(1) = 1": Sequence(((1, 1),), lambda k: 1, (1,)),
    "S(n) = S(n/2) + log2(n), S(1) = 1": Sequence(((1, 1),), lambda k: k, (1,)),
    "T(n) = 2*T(n/4) + T(n/2) + n*log2(n)": Sequence(((2, 2), (1, 1)), lambda k: k * 2**k, (1, 5)),
    "T(n) = T(n-1) + n, T(0) = 0": Sequence(((1, 1),), lambda k: k, (0,)),
    "T(n) = T(n-1) + 1/n, T(0) = 0": Sequence(((1, 1),), lambda k: 1 / k, (0,)),
    "T(n) = 2*T(n-1) + 1, T(0) = 0": Sequence(((2, 1),), lambda k: 1, (0,)),
    "T(n) = T(n-1) + T(n-2) + 1": Sequence(((1, 1), (1, 2)), lambda k: 1, (1, 1)),
}


def asked_of_sympy(sequence: Sequence) -> Callable[[], Any]:
    """The call of rsolve, ready to be timed."""
    import sympy
    from sympy.core.cache import clear_cache

    k = sympy.Symbol("k", integer=True)
    f = sympy.Function("f")
    forcing = sympy.sympify(sequence.forcing(k))
    equation = f(k) - sum(weight * f(k - step) for weight, step in sequence.calls) - forcing
    first = {f(at): value for at, value in enumerate(sequence.first)}

    def run() -> Any:
        clear_cache()
        return sympy.rsolve(equation, f(k), first)

    return run


def values(sequence: Sequence, count: int) -> list[Any]:
    """The first values, one from the other."""
    import sympy

    found: list[Any] = [sympy.Integer(value) for value in sequence.first]
    while len(found) < count:
        at = len(found)
        calls = sum(weight * found[at - step] for weight, step in sequence.calls)
        found.append(sympy.nsimplify(calls + sequence.forcing(sympy.Integer(at))))
    return found


def is_right(answer: Any, sequence: Sequence) -> bool:
    """Whether an answer of rsolve has the sequence's values."""
    import sympy

    if answer is None or answer.has(sympy.Sum, sympy.Product):
        return False
    k = sympy.Symbol("k", integer=True)
    return all(
        abs(sympy.N(answer.subs(k, at) - value)) < 1e-6 for at, value in enumerate(values(sequence, 7)) if at > 0
    )


def against_sympy(repeat: int) -> None:
    """Time ours and rsolve on the same recurrences."""
    print("closed forms: ours from text, checked; sympy.rsolve on the sequence in k")
    for text, sequence in SEQUENCES.items():
        ours = times(lambda text=text: solve(parse_recurrence(text)), repeat)[0]
        ask = asked_of_sympy(sequence)
        try:
            right = is_right(ask(), sequence)
        except Exception as problem:
            print(f"  {text:40} {ours * 1e3:7.2f} ms   sympy fails: {type(problem).__name__}")
            continue
        if not right:
            print(f"  {text:40} {ours * 1e3:7.2f} ms   sympy has no closed form")
            continue
        theirs = times(ask, repeat)[0]
        print(f"  {text:40} {ours * 1e3:7.2f} ms   sympy {theirs * 1e3:7.1f} ms, ratio {theirs / ours:.0f}")


def main() -> None:
    """Read the options and print the report."""
    reduce_garbage_collection()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=5, help="runs, of which the fastest counts")
    options = parsed(parser, repeat=1)
    print(machine())
    spent = {text: times(lambda text=text: solve(parse_recurrence(text)), options.repeat)[0] for text in rows()}
    median = statistics.median(spent.values())
    print(
        f"{len(spent)} recurrences of one size, best of {options.repeat}, target {TARGET * 1e3:.0f} ms in the median:"
    )
    print(f"  median {median * 1e3:.2f} ms; the slowest:")
    for text, best in sorted(spent.items(), key=lambda pair: -pair[1])[:5]:
        print(f"  {text:55} {best * 1e3:7.2f} ms")
    against_sympy(options.repeat)


if __name__ == "__main__":
    main()
