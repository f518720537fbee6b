"""Ranks of MPI against simulated processors: the same outputs, counts and errors."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import mpi_programs
from archline.execution.externs import register_extern
from archline.execution.run import execute
from archline.language.diagnostics import ArchlineError
from archline.language.loader import load_text
from mpi_programs import FAILURES, RING, jobs, outcomes

SUPPORT = Path(mpi_programs.__file__)
MPIEXEC = Path(sys.executable).with_name("mpiexec")
installed = find_spec("mpi4py") is not None and MPIEXEC.exists()
needs_mpi = pytest.mark.skipif(not installed, reason="the extra `mpi` (mpi4py, mpich) is not installed")


def started(ranks: int, arguments: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """Python on so many ranks, started as a user does."""
    paths = os.pathsep.join(path or os.getcwd() for path in (*sys.path, str(SUPPORT.parent)))
    command = [str(MPIEXEC), "-n", str(ranks), sys.executable, *arguments]
    return subprocess.run(
        command, env={**os.environ, "PYTHONPATH": paths}, capture_output=True, text=True, timeout=600, check=False
    )


def executed(text: str, arguments: dict[str, object], **options: object):
    module = load_text(text)
    return execute(module, list(module.algorithms.values())[-1], arguments, **{"compiled": False, **options})


def refusal(text: str, arguments: dict[str, object], **options: object) -> str:
    with pytest.raises(ArchlineError) as problem:
        executed(text, arguments, **options)
    return str(problem.value)


@needs_mpi
@pytest.mark.parametrize("processors", [1, 3, 4, 8, 16])
def test_ranks_do_and_count_what_simulated_processors_do(
    processors: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("archline.execution.distributed.PLAIN_STEPS", mpi_programs.PLAIN_STEPS)
    some = jobs(processors)
    (tmp_path / "jobs").write_bytes(pickle.dumps(some))
    ran = started(processors, [str(SUPPORT), str(tmp_path / "jobs"), str(tmp_path / "found")])
    assert (ran.returncode, ran.stderr) == (0, "")
    found, expected = pickle.loads((tmp_path / "found").read_bytes()), outcomes(some)
    assert [ours for ours, theirs in zip(found, expected, strict=True) if ours != theirs] == []
    # An outcome of two parts is an error.
    failed = {outcome[0] for outcome in found if len(outcome) == 2}
    assert failed == (set(load_text(FAILURES).algorithms) if processors == 4 else set())


@needs_mpi
def test_python_starts_the_ranks() -> None:
    data = {"X": np.arange(8.0), "R": np.zeros(4), "P": 4}
    ours, theirs = executed(RING, data, engine="mpi"), executed(RING, data)
    assert (ours.outputs["R"].tolist(), ours.counts) == ([28.0] * 4, theirs.counts)
    twice = {"X": np.zeros(3), "P": 3}
    assert refusal(TWICE, twice, engine="mpi") == refusal(TWICE, twice)


UNTIL_ALL_AGREE = """
algorithm allreduce_none(x: inout local any[w], op: operator) on grid(r: P):
    where w >= 0
    pass

algorithm f(X: real[P], S: out real[P], agree: int) on grid(r: P):
    local x: real = 0.0
    input x = X[r]
    local s: real = x
    if agree > 0:
        allreduce s with max
    allreduce s with max using none
    while s > 1.0 iterations T:
        s = s/2.0
        shift x along r by 1
    output S[r] = x
"""


@needs_mpi
@pytest.mark.parametrize("processors", [1, 3])
def test_ranks_leave_a_loop_together(processors: int) -> None:
    data = {"X": np.arange(processors) * 3.0 + 2, "S": np.zeros(processors), "P": processors}
    ours, theirs = (executed(UNTIL_ALL_AGREE, {**data, "agree": 1}, **engine) for engine in ({"engine": "mpi"}, {}))
    assert (ours.outputs["S"].tolist(), ours.counts) == (theirs.outputs["S"].tolist(), theirs.counts)
    assert ours.iterations == theirs.iterations == {"T": 1 if processors == 1 else 3}
    if processors > 1:
        apart = {**data, "agree": 0}
        found = refusal(UNTIL_ALL_AGREE, apart, engine="mpi")
        assert "AL540: processor 0 leaves the loop after 1 iteration, and processor 1 goes on" in found
        assert found == refusal(UNTIL_ALL_AGREE, apart)


TWICE = """
algorithm output_twice(X: out real[P]) on grid(t: P):
    local x: real = 0
    output X[t//2] = x
"""
CALLING = """
extern f(a: real) -> real costs 1 flops

algorithm called(X: out real[P]) on grid(t: P):
    local x: real = f(real_of(t))
    shift x along t by 1
    output X[t] = x
"""


@needs_mpi
def test_functions_of_externs_are_known_to_ranks(monkeypatch: pytest.MonkeyPatch) -> None:
    data = {"X": np.zeros(2), "P": 2}
    try:
        register_extern("f", mpi_programs.plus_a_half)
        assert executed(CALLING, data, engine="mpi").outputs["X"].tolist() == [1.5, 0.5]
        register_extern("f", mpi_programs.fails_on_one)
        with pytest.raises(ZeroDivisionError):
            executed(CALLING, data, engine="mpi")
        register_extern("f", mpi_programs.dies_on_one)
        assert "AL539" in refusal(CALLING, data, engine="mpi")
        register_extern("f", lambda a: a)
        assert "AL538: the function registered for the extern `f`" in refusal(CALLING, data, engine="mpi")
    finally:
        register_extern("f", None)


@needs_mpi
def test_the_command_prints_once_under_mpiexec(tmp_path: Path) -> None:
    program = tmp_path / "ring.algo"
    program.write_text(RING, encoding="utf-8")
    command = ["-m", "archline", "run", str(program), "--at", "n=6,P=3", "--plain"]
    alone = subprocess.run([sys.executable, *command], env=_environment(), capture_output=True, text=True, check=False)
    assert "words         " in alone.stdout
    for ran in (started(1, [*command, "--engine", "simulated"]), started(3, [*command, "--engine", "mpi"])):
        assert (ran.returncode, ran.stdout, ran.stderr) == (0, alone.stdout, "")
    few = started(2, [*command, "--engine", "mpi"])
    assert (few.returncode, few.stdout) == (2, "")
    assert few.stderr == "AL537: the grid has 3 processors, but MPI has 2 ranks\n  hint: start it with `mpiexec -n 3`\n"


def _environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join(path or os.getcwd() for path in sys.path)}


def test_without_mpi_the_extra_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    text = refusal(RING, {"X": np.zeros(2), "R": np.zeros(2), "P": 2}, engine="mpi")
    assert text.startswith("AL536: the engine `mpi` needs the extra mpi: there is no ")
    assert "pip install 'archline[mpi]'" in text


def test_engines_that_do_not_fit() -> None:
    one = "algorithm f(x: inout real[n]):\n    x[0] = 1.0\n"
    assert "AL538: `f` runs on one processor" in refusal(one, {"x": np.zeros(1)}, engine="mpi")
    assert 'AL538: there is no engine "mpich"' in refusal(one, {"x": np.zeros(1)}, engine="mpich")
