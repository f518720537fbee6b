"""Closed forms of generated divide-and-conquer programs against their runs, and their recurrences at large sizes.

    python benchmarks/divide_and_conquer.py                             # 500 programs, an hour on one core
    python benchmarks/divide_and_conquer.py --first 500 --count 50

The suite checks the recurrences of as many programs at every run, and the closed forms of one of each kind, since a
derivation takes seconds. One beyond the limit of processor time is counted apart. Prints every disagreement; exit code
1 where there is any.
"""

from __future__ import annotations

import argparse
import signal
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from common import ROOT, machine, parsed

sys.path.insert(0, str(ROOT / "tests" / "support"))

from programs.choice import Seeded
from recursive_programs import recursive_program_from_seed
from recursive_programs.closed_forms import derived, wrong_costs


class BeyondLimitError(Exception):
    """A derivation took longer than it may."""


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Raises BeyondLimitError after so much processor time."""

    def stop(*_: object) -> None:
        raise BeyondLimitError

    signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)


def check(number: int, limit: float) -> tuple[str, Counter[str], list[str]]:
    """The kind of a program, how many of its metrics are exact, bounded and unknown, and what is wrong."""
    program = recursive_program_from_seed(number)
    try:
        with limited(limit):
            module, costs = derived(program)
    except BeyondLimitError:
        return program.kind, Counter({"beyond the limit": 1}), []
    found = Counter(cost.status for cost in costs)
    return program.kind, found, list(wrong_costs(program, module, costs, Seeded(number)))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--limit", type=float, default=60.0, help="seconds of processor time for one derivation")
    arguments = parsed(parser, count=1)
    print(machine())
    kinds: dict[str, Counter[str]] = {}
    wrong = 0
    for number in range(arguments.first, arguments.first + arguments.count):
        kind, found, disagreements = check(number, arguments.limit)
        kinds.setdefault(kind, Counter()).update({"programs": 1, **found})
        for text in disagreements:
            print(f"program {number} ({kind}): {text}", flush=True)
        wrong += len(disagreements)
    for kind, found in sorted(kinds.items()):
        print(f"{kind:12}" + "".join(f"  {name} {count}" for name, count in sorted(found.items())))
    print(f"{arguments.count} programs, {wrong} disagreements")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
