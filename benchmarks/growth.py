"""How long questions of growth take, beside sympy's limits where those answer.

    python benchmarks/growth.py                     # targets: median below 2 ms, none above 100 ms

Every expression of a corpus is compared with itself and with the others over the same sizes and facts, both ways.
Expressions are parsed before, imports are done, and nothing is kept from one question to the next. For one size,
`sympy.limit(f/g, n, oo)` is asked the same, logarithms as they stand, in a process that is ended after some seconds.
"""

from __future__ import annotations

import argparse
import multiprocessing
import statistics
import time
from typing import Any

from common import machine, parsed

import archline as al
from archline.growth.is_big_o import Proved, Refuted, Undecided, is_O
from archline.language import syntax as s
from archline.language.parser import parse_expression, parse_facts

MEDIAN_TARGET, WORST_TARGET = 0.002, 0.1
LIMIT_SECONDS = 5
ONE_SIZE = (
    "1", "log2(log2(n))", "log2(n)", "log2(n)*log2(log2(n))", "log2(n)^2", "n^0.694241914", "sqrt(n)",
    "sqrt(n)*log2(n)", "n/log2(n)", "n", "n*log2(log2(n))", "n*log2(n)", "n*log2(n)^2", "n^1.15196237",
    "n^(log2(5)/log2(4))", "n^(log2(4)/log2(3))", "n^log2(3)", "n^2", "n^2*log2(log2(n))", "n^2*log2(n)", "n^(5/2)",
    "n^log2(7)", "n^3", "n^4", "log2(n)/n",
)  # fmt: skip
SEVERAL_SIZES = (
    ("Z >= L^2", (
        "n + m + p + (n*m + m*p + n*p)/L + n*m*p/(L*sqrt(Z))", "n + m + n*m/L", "1 + n/L", "1 + n/L + n^2/(L*Z)",
        "n + n^2/L + n^log2(7)/(L*Z^(log2(7)/2 - 1))", "1 + n/L + n^log2(3)/(L*Z^(log2(3) - 1))",
        "n + n^2/L + n^3/(L*sqrt(Z))",
    )),
    ("Z >= L^2, n >= Z", ("n/L*log2(n/Z)", "n/L + n/sqrt(Z)", "n/L*log2(n)/log2(Z)", "n/L")),
    ("Z >= L^2, n >= m, n >= Z", ("n*m/L*log2(m) + n*m^2/(L*sqrt(Z))", "n*m/L + n*m^2/(L*sqrt(Z))")),
    ("Z >= L^2, n^2 >= Z", (
        "n + n^2/L*log2(n) + n^log2(7)/(L*Z^(log2(7)/2 - 1))*log2(Z)", "n^2/L*log2(n)*log2(n/sqrt(Z)) + n^2/sqrt(Z)",
        "n + n^2/L + n^3/(L*sqrt(Z))",
    )),
    ("m >= n, n >= k, m*n*k >= P, P >= 2", (
        "min(n*k, sqrt(m*n*k^2/P), (m*n*k/P)^(2/3))", "n*k", "sqrt(m*n*k^2/P)", "(m*n*k/P)^(2/3)",
    )),
)  # fmt: skip

Pair = tuple[str, str, str]


def corpus() -> list[Pair]:
    """Pairs of expressions with the facts they are compared under."""
    groups = [("", ONE_SIZE), *SEVERAL_SIZES]
    return [(f, g, facts) for facts, texts in groups for f in texts for g in texts]


def ask(pairs: list[Pair], repeat: int) -> list[tuple[float, Pair, str]]:
    """The fastest time of each question and its answer."""
    found = []
    for f, g, facts in pairs:
        left, right = parse_expression(f), parse_expression(g)
        known: tuple[s.Fact, ...] = parse_facts(facts) if facts else ()
        best, answer = float("inf"), ""
        for _ in range(repeat):
            start = time.perf_counter()
            verdict = is_O(left, right, known)
            best = min(best, time.perf_counter() - start)
            answer = {Proved: "holds", Refuted: "fails", Undecided: "unknown"}[type(verdict)]
        found.append((best, (f, g, facts), answer))
    return found


def report(found: list[tuple[float, Pair, str]]) -> None:
    spent = sorted(seconds for seconds, _, _ in found)
    unknown = [pair for _, pair, answer in found if answer == "unknown"]
    held = sum(answer == "holds" for _, _, answer in found)
    print(f"{len(found)} questions: {held} hold, {len(found) - held - len(unknown)} fail, {len(unknown)} unknown")
    print(f"  median {statistics.median(spent) * 1e3:.2f} ms (target {MEDIAN_TARGET * 1e3:.0f}), ", end="")
    print(f"99 in 100 below {spent[int(0.99 * len(spent))] * 1e3:.1f} ms, ", end="")
    print(f"worst {spent[-1] * 1e3:.1f} ms (target {WORST_TARGET * 1e3:.0f})")
    for seconds, (f, g, facts), answer in sorted(found, key=lambda each: -each[0])[:3]:
        print(f"  {seconds * 1e3:6.1f} ms  {answer:7} {f}  against  {g}{f'  where {facts}' if facts else ''}")
    for pair in unknown:
        print("  unknown:", *pair)


def sympy_limit(f: str, g: str, answers: Any) -> None:
    import sympy

    n = sympy.Symbol("n", positive=True)
    names = {"n": n, "log2": lambda x: sympy.log(x, 2), "sqrt": sympy.sqrt}

    def value(text: str) -> Any:
        # The texts are those of this file.
        return eval(text.replace("^", "**"), {"__builtins__": {}}, names)

    start = time.perf_counter()
    limit = sympy.limit(sympy.nsimplify(value(f) / value(g)), n, sympy.oo)
    answers.put(("fails" if limit == sympy.oo else "holds", time.perf_counter() - start))


def against_sympy(found: list[tuple[float, Pair, str]], count: int) -> None:
    """Ask sympy some of the questions in one size."""
    single = [each for each in found if not each[1][2]]
    chosen = single[:: max(1, len(single) // count)]
    ours, theirs, differ, silent = [], [], [], 0
    for seconds, (f, g, _), answer in chosen:
        answers: Any = multiprocessing.Queue()
        process = multiprocessing.Process(target=sympy_limit, args=(f, g, answers))
        process.start()
        process.join(LIMIT_SECONDS)
        if process.is_alive() or answers.empty():
            process.kill()
            silent += 1
            continue
        said, taken = answers.get()
        ours.append(seconds)
        theirs.append(taken)
        if said != answer:
            differ.append((f, g, answer, said))
    print(f"sympy.limit on {len(chosen)} of them in one size: {silent} without an answer in {LIMIT_SECONDS} s")
    if ours:
        middle = statistics.median(theirs), statistics.median(ours)
        print(f"  where it answers: median {middle[0] * 1e3:.1f} ms, worst {max(theirs) * 1e3:.0f} ms; ", end="")
        print(f"archline's median there {middle[1] * 1e3:.2f} ms, ratio {middle[0] / middle[1]:.0f}")
    for f, g, answer, said in differ:
        print(f"  {f} against {g}: archline {answer}, sympy {said}")


def in_many_sizes(counts: tuple[int, ...] = (2, 4, 8, 12)) -> None:
    """How long it takes to find from which sizes on a cost is Theta, of a program with more and more of them."""
    for count in counts:
        sizes = [f"n{number}" for number in range(count)]
        loops = (f"    for i in 0..{a} - 1:\n        for j in 0..{b} - 1:\n            t[0] += 1.0\n"
                 for a, b in zip(sizes[::2], sizes[1::2], strict=True))  # fmt: skip
        parameters = ", ".join(f"{size}: size" for size in sizes)
        program = al.loads(f"algorithm rows({parameters}, t: inout real[1]):\n{''.join(loops)}")
        report = program["rows"].cost()
        start = time.process_time()
        found = report.flops.growth
        print(f"from which of {count:2} sizes on: {time.process_time() - start:.2f} s: {found}")


def main() -> None:
    """Read the options and print the report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=3, help="times each question is asked; the fastest counts")
    parser.add_argument("--limits", type=int, default=30, help="questions that sympy is asked")
    options = parsed(parser, repeat=1, limits=1)
    print(machine())
    found = ask(corpus(), options.repeat)
    report(found)
    in_many_sizes()
    if options.limits:
        against_sympy(found, options.limits)


if __name__ == "__main__":
    main()
