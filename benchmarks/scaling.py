"""How derivations grow with the program, and what `archline check` takes: each beside a named alternative.

    python benchmarks/scaling.py             # minutes; --no-check leaves `archline check` of the library out

- A chain of calls (each algorithm has a loop and calls the next): 1,000 beside 100; linear is 10.
- LU decompositions in a row: 40 calls beside 10; linear is 4. The memory is that of the process at its end.
- `archline check` of the standard library: one process without the cache, all processors, and again with the cache.

Derivations are timed in processes of their own, by processor time, importing and reading the program included.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from common import ROOT, machine, parsed

LU = (ROOT / "stdlib" / "dense" / "lu.algo").read_text(encoding="utf-8").split("\nalgorithm lu_parallel")[0]


def chain(count: int) -> str:
    """Algorithms of which each calls the next."""
    body = "algorithm a{}(x: inout real[n]):\n    for i in 0..n:\n        x[i] += 1.0\n"
    return "\n".join(body.format(each) + (f"    a{each + 1}(x)\n" if each + 1 < count else "") for each in range(count))


def decompositions(count: int) -> str:
    """An algorithm that calls LU so many times."""
    return f"{LU}\nalgorithm a0(A: inout real[n, n]):\n" + "    lu(A)\n" * count


def derived(text: str) -> tuple[float, float]:
    """Seconds of processor time, and megabytes, of `archline cost` of the algorithm a0."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "program.algo")
        file.write_text(text, encoding="utf-8")
        code = (
            "import resource, sys; from archline.cli.main import main;"
            f"code = main(['cost', {f'{file}::a0'!r}]); used = resource.getrusage(resource.RUSAGE_SELF);"
            "print(used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, file=sys.stderr); sys.exit(code)"
        )
        ran = _run([sys.executable, "-c", code])
        seconds, megabytes = ran.stderr.split()[-2:]
        return float(seconds), float(megabytes)


def checked(cache: str, *options: str) -> float:
    """Seconds on the wall of `archline check` of the standard library."""
    begin = time.perf_counter()
    _run([sys.executable, "-m", "archline", "check", str(ROOT / "stdlib"), *options], XDG_CACHE_HOME=cache)
    return time.perf_counter() - begin


def _run(command: list[str], **more: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "analyzer"), **more}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True)


def growth(name: str, few: tuple[int, str], many: tuple[int, str]) -> None:
    """Print how much longer the larger program takes than the smaller one."""
    (small, _), (large, memory) = derived(few[1]), derived(many[1])
    times = f"{few[0]}: {small:.2f} s, {many[0]}: {large:.2f} s"
    print(f"{name}: {times}, ratio {large / small:.1f} (linear {many[0] / few[0]:.0f}), {memory:.0f} MB")


def main() -> None:
    """Read the options and print the report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--no-check", action="store_true", help="leave out `archline check` of the library")
    options = parsed(parser, no_check=True)
    print(machine())
    derived(chain(1))
    few = 10 if options.smallest else 1
    growth("a chain of calls", (100 // few, chain(100 // few)), (1000 // few, chain(1000 // few)))
    growth("LU in a row", (10 // few, decompositions(10 // few)), (40 // few, decompositions(40 // few)))
    if not options.no_check:
        with tempfile.TemporaryDirectory() as cache:
            alone, shared, again = checked(cache, "-j", "1", "--no-cache"), checked(cache), checked(cache)
        print(f"archline check stdlib: one process {alone:.1f} s, all processors {shared:.1f} s, cached {again:.2f} s")
        print(f"  ratios to one process: {alone / shared:.1f} and {alone / again:.0f}")


if __name__ == "__main__":
    main()
