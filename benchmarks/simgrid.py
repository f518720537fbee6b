"""Times of paths through many processors, and the clock of SimGrid that replays the same messages.

    apt-get install libsimgrid-dev g++
    python benchmarks/simgrid.py              # a minute; ends with 1 where a clock differs by more than 1e-6

`archline run --machine` follows the time gamma F + beta W + alpha S along the path that takes longest, by maxima and
sums. Here each processor's steps are recorded (what it computes, to whom it sends how many words, what it receives;
no times, no costs), and replayed by SimGrid's model CM02 without its corrections for TCP: hosts of 1/gamma flops a
second, a link for each ordered pair of them with latency alpha and a word in beta seconds, and no contention.

The clock of `eager` must be T. That of `rendezvous`, where a sender too waits until its message is received, as MPI
does with large messages, is for information.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

from common import ROOT, parsed

import archline as al
from archline.api.running import run_at
from archline.costs.sizes import read_settings
from archline.energy.caches import Settings
from archline.energy.machine_files import machine
from archline.energy.machines import Machine, read_parameters
from archline.execution import simulated

TOLERANCE = 1e-6
TICK = 1e-9
"""SimGrid's clock has a fixed precision, 1e-9; its second is our nanosecond."""
CM02 = ("network/model:CM02", "cpu/model:Cas01", "network/crosstraffic:0", "network/TCP-gamma:0",
        "network/latency-factor:1", "network/bandwidth-factor:1", "network/weight-S:0")  # fmt: skip
MACHINES = (
    ("gamma_t=1e-9", "beta_t=3e-9", "alpha_t=7e-9"),  # the one whose times the table shows
    ("gamma_t=1e-9", "beta_t=1e-9", "alpha_t=1e-6"),
    ("gamma_t=1e-7", "beta_t=1e-10", "alpha_t=1e-9"),
)
"""Parameters of machines on which flops, words and messages weigh differently, so that other paths take longest."""
COLLECTIVES = "distributed.collectives::"
PROGRAMS: dict[str, Sequence[str]] = {
    "distributed.matmul::cannon": ("n=12,g=3", "n=16,g=4", "n=15,g=5"),
    "distributed.matmul::matmul_25d": ("n=12,g=4,c=2", "n=12,g=3,c=3", "n=12,g=6,c=2"),
    "distributed.nbody::nbody_replicated": ("n=36,c=1,f=20,P=6", "n=36,c=2,f=20,P=12", "n=36,c=3,f=20,P=18"),
    "distributed.fft::fft_naive": ("n=64,P=8", "n=256,P=16"),
    "distributed.fft::fft_bruck": ("n=64,P=8", "n=256,P=16"),
    "distributed.qr::tsqr": ("n=30,m=3,P=5", "n=64,m=4,P=8", "n=66,m=3,P=11"),
    "distributed.lu::lu_25d": ("n=16,g=2,c=2,b=2",),
    "distributed.stencil::jacobi_walls": ("n=12,m=16,g=3,h=4,steps=3",),
    COLLECTIVES + "broadcast_tree": ("w=100,root=2,P=5", "w=100,root=0,P=8", "w=7,root=1,P=23"),
    COLLECTIVES + "broadcast_naive": ("w=10,root=1,P=6",),
    COLLECTIVES + "broadcast_pipeline": ("w=23,root=1,m=4,P=7",),
    COLLECTIVES + "allgather_ring": ("w=100,P=5", "w=3,P=8", "w=1,P=12"),
    COLLECTIVES + "allreduce_ring": ("w=7,P=5", "w=100,P=7", "w=5,P=12"),
    COLLECTIVES + "allreduce_recursive_doubling": ("w=10,P=6", "w=10,P=13"),
    COLLECTIVES + "gather_tree": ("w=10,root=1,P=6", "w=3,root=5,P=13"),
}
BEGIN, END = simulated.begin_step, simulated.end_step


class Recorder:
    """The steps of all processors, written down as the simulation begins and ends them; its own costs are not read."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.flops: dict[int, int] = {}
        self._messages: dict[int, tuple[int, Any]] = {}
        self._begun: dict[int, str] = {}

    def simulate(self, processors: Sequence[simulated.RunningProcessor], links: Any, places: Any) -> list[Any]:
        with patch.object(simulated, "begin", self._begin), patch.object(simulated, "end", self._format_range_end):
            results = simulated.simulate(processors, links, places)
        self.lines += [f"{each.rank} {self._computed(each)} -1 0 -1 -1 -1" for each in processors]
        return results

    def _begin(self, running: simulated.RunningProcessor, step: Any, links: Any) -> Any:
        letter, sent = BEGIN(running, step, links)
        line = f"{running.rank} {self._computed(running)}"
        if _counts(running.rank, step.to, step.payload):
            line += f" {step.to} {0 if step.payload is None else len(step.payload)} {len(self._messages)}"
            self._messages[id(letter)] = (len(self._messages), letter)  # kept, so that no other has its id
        else:
            line += " -1 0 -1"
        self._begun[running.rank] = line
        return letter, sent

    def _format_range_end(self, running: simulated.RunningProcessor, step: Any, letter: Any, *others: Any) -> Any:
        received = letter is not None and _counts(running.rank, step.source, letter[0])
        source = f"{step.source} {self._messages[id(letter)][0]}" if received else "-1 -1"
        self.lines.append(f"{self._begun[running.rank]} {source}")
        return END(running, step, letter, *others)

    def _computed(self, running: simulated.RunningProcessor) -> int:
        flops = running.done()[0]
        before, self.flops[running.rank] = self.flops.get(running.rank, 0), flops
        return flops - before


def _counts(rank: int, partner: int | None, payload: Any) -> bool:
    """Whether a message moves: not to oneself, and not without words; one without a buffer does."""
    return partner not in (None, rank) and (payload is None or len(payload) > 0)


def recorded(target: str, at: str, on: Machine) -> tuple[float, int, list[str]]:
    """T of a run in seconds, the number of processors, and the trace."""
    recorder = Recorder()
    module, _, name = target.partition("::")
    with patch("archline.execution.distributed.simulate", recorder.simulate):
        run = run_at(al.load(module)[name], read_settings(at, "--at"), None, Settings(compiled=False, machine=on))
    assert run.time is not None
    return float(run.time), len(recorder.flops), recorder.lines


def built(folder: str) -> Path:
    """The replaying program. Ends the process, saying why, where SimGrid or a compiler is missing."""
    program, source = Path(folder, "replay"), ROOT / "benchmarks" / "replay.cpp"
    command = ["g++", "-O1", "-std=c++17", str(source), "-o", str(program), "-lsimgrid"]
    ran = None if shutil.which("g++") is None else subprocess.run(command, capture_output=True, text=True, check=False)
    if ran is None or "simgrid/s4u.hpp: No such file" in ran.stderr:
        print(f"skipped: there is no {'g++' if ran is None else 'SimGrid'} (apt-get install libsimgrid-dev g++)")
        sys.exit(0)
    if ran.returncode:
        raise SystemExit(ran.stderr)
    return program


def clock(program: Path, rule: str, trace: str) -> float:
    """The seconds on SimGrid's clock at the end of a replay."""
    options = [f"--cfg={option}" for option in CM02]
    ran = subprocess.run(
        [program, rule, "--log=root.thresh:error", *options], input=trace, capture_output=True, text=True, check=True
    )
    return float(ran.stdout) * TICK


def compared(program: Path, target: str, at: str) -> float:
    """Print a row; the largest difference from 1 of a ratio, on any of the machines."""
    found = []
    for parameters in MACHINES:
        on = machine("jaketown").with_parameters(read_parameters(parameters))
        time, processors, lines = recorded(target, at, on)
        prices = [float(on.values[name]) / TICK for name in ("gamma_t", "beta_t", "alpha_t")]
        trace = "\n".join([" ".join(map(str, (processors, *prices))), *lines])
        found.append((time, processors, clock(program, "eager", trace), clock(program, "rendezvous", trace)))
    ratios = [eager / time for time, _, eager, _ in found]
    furthest = max(ratios, key=lambda ratio: abs(ratio - 1))
    time, processors, eager, rendezvous = found[0]
    columns = f"{processors:3} {time * 1e6:11.6f} {eager * 1e6:11.6f} {furthest:12.9f} {rendezvous / time:11.4f}"
    print(f"{target.partition('::')[2]:29} {at.partition(',P=')[0]:26} {columns}", flush=True)
    return abs(furthest - 1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options = parsed(parser)
    programs = dict(list(PROGRAMS.items())[: 1 if options.smallest else None])
    with tempfile.TemporaryDirectory() as folder:
        program = built(folder)
        print("T and SimGrid's clock in us; the ratio is the one furthest from 1, on machines with")
        print("\n".join(f"  {', '.join(parameters)}" for parameters in MACHINES))
        print(f"{'program':29} {'sizes':26} {'P':>3} {'T':>11} {'SimGrid':>11} {'ratio':>12} {'rendezvous':>11}")
        worst = max(compared(program, target, at) for target, points in programs.items() for at in points)
    print(f"largest difference of a ratio from 1: {worst:.1e} ({TOLERANCE:g} is allowed)")
    sys.exit(worst > TOLERANCE)


if __name__ == "__main__":
    main()
