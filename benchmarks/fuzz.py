"""Fuzz the parser, the checker and the analyser with damaged programs.

    python benchmarks/fuzz.py --count 100000
    python benchmarks/fuzz.py --seconds 600 --stages parse,check

Inputs are programs of the standard library, of the test data and of the tests' generator, damaged by
tests/support/programs/mutations.py, and random bytes. Each runs in a worker process; a worker that takes longer than
the limit on one input is stopped and replaced; the limit counts processor time, whatever else the machine does. Any
exception but ArchlineError is a finding, and so is an input beyond the limit. Findings are written to a folder, with
the seed that makes each again. Exit code 1 where there is any.
"""

from __future__ import annotations

import argparse
import importlib
import multiprocessing as mp
import random
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path

from common import parsed

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "analyzer"), str(ROOT / "tests" / "support")]

LIMIT = 5.0
Stage = Callable[[bytes], None]


def parse_stage(data: bytes) -> None:
    source = importlib.import_module("archline.language.source").decode_source("fuzz.algo", data)
    parsed = importlib.import_module("archline.language.parser").parse(source)
    for diagnostic in parsed.diagnostics:
        diagnostic.render()
    if not parsed.diagnostics:
        importlib.import_module("archline.language.printer").format_program(parsed.program)


def check_stage(data: bytes) -> None:
    _checked(data)


def cost_stage(data: bytes) -> None:
    module = _checked(data)
    derive = importlib.import_module("archline.analysis.analyse").derive
    for algorithm in module.algorithms.values():
        derive(module, algorithm)


def _checked(data: bytes):  # type: ignore[no-untyped-def]
    text = importlib.import_module("archline.language.source").decode_source("fuzz.algo", data).text
    return importlib.import_module("archline.language.loader").load_text(text, "fuzz.algo")


STAGES: dict[str, Stage] = {"parse": parse_stage, "check": check_stage, "cost": cost_stage}


@dataclass(frozen=True)
class Outcome:
    """What came of one input: its seed, the seconds it took, how far it came, and an uncaught exception."""

    seed: int
    seconds: float
    reached: str
    failure: str | None = None


def corpus() -> list[str]:
    """The undamaged programs."""
    files = sorted((ROOT / "stdlib").rglob("*.algo")) + sorted((ROOT / "tests" / "data").rglob("*.algo"))
    return [path.read_text(encoding="utf-8") for path in files]


def build_input(seed: int, texts: list[str]) -> bytes:
    """The input of a seed."""
    programs = importlib.import_module("programs")
    mutations = importlib.import_module("programs.mutations")
    source = random.Random(seed)
    match source.randrange(20):
        case 0:
            return source.randbytes(source.randint(0, 400))
        case kind if kind < 9:
            text = programs.program_from_seed(source.randrange(100_000)).text
        case _:
            text = source.choice(texts)
    return mutations.mutate(text, source, source.choice(texts))


def run_one(seed: int, texts: list[str], stages: list[str]) -> Outcome:
    """Run the stages on one input, as far as it is well formed."""
    error = importlib.import_module("archline.language.diagnostics").ArchlineError
    data = build_input(seed, texts)
    start = time.process_time()
    reached = "none"
    try:
        for name in stages:
            STAGES[name](data)
            reached = name
    except error as problem:
        str(problem)
    except Exception:
        return Outcome(seed, time.process_time() - start, reached, traceback.format_exc(limit=-6))
    return Outcome(seed, time.process_time() - start, reached)


def work(pipe: Connection, stages: list[str]) -> None:
    """A worker: takes seeds, gives outcomes."""
    texts = corpus()
    while True:
        seed = pipe.recv()
        if seed is None:
            return
        pipe.send(run_one(seed, texts, stages))


class Worker:
    """A process at work on one seed at a time."""

    def __init__(self, stages: list[str]) -> None:
        self._stages = stages
        self._start()

    def _start(self) -> None:
        self.pipe, child = mp.Pipe()
        self.process = mp.Process(target=work, args=(child, self._stages), daemon=True)
        self.process.start()
        child.close()
        self.seed: int | None = None
        self.since = 0.0

    def set_symbols(self, seed: int) -> None:
        self.seed, self.since = seed, time.monotonic()
        self.pipe.send(seed)

    def outcome(self, patience: float) -> Outcome | None:
        """The outcome if there is one; a worker that hangs or died is replaced, and that is its outcome."""
        assert self.seed is not None
        seed, spent = self.seed, time.monotonic() - self.since
        try:
            if self.pipe.poll(0):
                found: Outcome = self.pipe.recv()
                self.seed = None
                return found
            reason = f"no end after {spent:.0f} s"
        except EOFError:
            reason, spent = "the process died", patience
        if spent < patience:
            return None
        self.process.kill()
        self.process.join()
        self._start()
        return Outcome(seed, spent, "none", reason)


def fuzz(args: argparse.Namespace) -> list[Outcome]:
    """Run all inputs; the findings."""
    stages = args.stages.split(",")
    workers = [Worker(stages) for _ in range(args.jobs)]
    reached: Counter[str] = Counter()
    findings: list[Outcome] = []
    slowest = Outcome(0, 0.0, "none")
    start = shown = time.monotonic()
    given = done = 0
    while True:
        over = given >= args.count or time.monotonic() - start > args.seconds
        if over and done == given:
            break
        for worker in workers:
            if worker.seed is None:
                if not over and given < args.count:
                    worker.set_symbols(args.seed + given)
                    given += 1
                continue
            # Twice the limit leaves a slow input time to say where it ends; beyond it counts as a hang.
            outcome = worker.outcome(2 * LIMIT + 5)
            if outcome is None:
                continue
            done += 1
            reached[outcome.reached] += 1
            slowest = max(slowest, outcome, key=lambda each: each.seconds)
            if outcome.failure is not None or outcome.seconds > LIMIT:
                findings.append(outcome)
                place = f"seed {outcome.seed}, {outcome.seconds:.1f} s, after stage {outcome.reached}"
                print(f"finding: {place}: {brief(outcome)}", flush=True)
        time.sleep(0.0005)
        if time.monotonic() - shown > 10:
            shown = time.monotonic()
            print(f"{done} inputs, {len(findings)} findings, {done / (shown - start):.0f} a second", flush=True)
    print(f"{done} inputs; last stage passed: {dict(reached.most_common())}")
    print(f"slowest: seed {slowest.seed}, {slowest.seconds:.2f} s")
    return findings


def brief(finding: Outcome) -> str:
    """What is wrong, in a line."""
    if finding.failure is None:
        return f"slower than {LIMIT:.0f} s"
    return finding.failure.strip().splitlines()[-1][:120]


def report(findings: list[Outcome], folder: Path) -> None:
    """Write the findings, one of each kind to the terminal."""
    if not findings:
        print("no uncaught exception, none too slow")
        return
    folder.mkdir(parents=True, exist_ok=True)
    texts = corpus()
    kinds: Counter[str] = Counter()
    for finding in findings:
        kind = brief(finding)
        kinds[kind] += 1
        (folder / f"{finding.seed}.algo").write_bytes(build_input(finding.seed, texts))
        if kinds[kind] == 1:
            print(f"seed {finding.seed}, {finding.seconds:.2f} s, after stage {finding.reached}:")
            print(finding.failure or kind)
    for kind, count in kinds.most_common():
        print(f"{count:6} {kind}")
    print(f"inputs in {folder}")


def main() -> int:
    parser = argparse.ArgumentParser(description="fuzz the parser, the checker and the analyser")
    parser.add_argument("--count", type=int, default=100_000, help="how many inputs (default 100,000)")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after this time")
    parser.add_argument("--seed", type=int, default=0, help="the first input's seed")
    parser.add_argument("--jobs", type=int, default=2, help="worker processes (default 2)")
    parser.add_argument("--stages", default=",".join(STAGES), help="of parse, check, cost, in order")
    parser.add_argument("--findings", type=Path, default=Path("fuzz-findings"), help="folder for inputs that fail")
    args = parsed(parser, count=20, jobs=1)
    unknown = set(args.stages.split(",")) - set(STAGES)
    if unknown:
        parser.error(f"no such stage: {', '.join(sorted(unknown))}")
    findings = fuzz(args)
    report(findings, args.findings)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
