"""Start the ranks of a run under MPI: with the `mpiexec` next to Python, in separate processes.

A temporary folder holds the program with its data and, at the end, the result or the error.
"""

from __future__ import annotations

import importlib.util
import os
import pickle
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from archline.execution import run_rules as rules
from archline.execution.externs import find_extern
from archline.execution.results import Run
from archline.language import syntax as s
from archline.language.diagnostics import error
from archline.language.model import Module

RANK = "import sys, archline.language.loader; from archline.execution.run import run_rank; run_rank(sys.argv[1])"
"""The program of a rank: all rules of the language are loaded before a module that names some is read."""
JOB, OUTCOME = "job", "outcome"
MAX_SHOWN = 12
"""The number of last lines printed by ranks that an error shows."""


def find_rank() -> int | None:
    """Return the rank of this process, None if it was not started under MPI."""
    rank = os.environ.get("PMI_RANK")
    return None if rank is None else int(rank)


def run_on_ranks(
    count: int, module: Module, algorithm: s.Algorithm, arguments: Mapping[str, Any], options: Mapping[str, Any]
) -> Run:
    """Run on `count` ranks, which are started here; `options` are those of `run.execute`.

    Raises ArchlineError as a run does; also without MPI (AL536), if the function of an extern cannot be sent to other
    processes (AL538), or if the ranks end without a result (AL539).
    """
    starter = _find_starter()
    externs = {name: function for name in module.externs if (function := find_extern(name)) is not None}
    job = (module, algorithm, dict(arguments), dict(options), _check_sendable(externs))
    with tempfile.TemporaryDirectory(prefix="archline") as folder:
        Path(folder, JOB).write_bytes(pickle.dumps(job, pickle.HIGHEST_PROTOCOL))
        command = [str(starter), "-n", str(count), sys.executable, "-c", RANK, folder]
        paths = os.pathsep.join(path or os.getcwd() for path in sys.path)
        done = subprocess.run(
            command,
            env={**os.environ, "PYTHONPATH": paths},
            stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            check=False,
        )
        outcome = Path(folder, OUTCOME)
        if not outcome.exists():
            last = "\n".join(done.stderr.splitlines()[-MAX_SHOWN:]) or "they printed nothing"
            raise error(rules.RANK_LOST, f"the ranks ended without a result (exit code {done.returncode}): {last}")
        sys.stderr.write(done.stderr)
        result = pickle.loads(outcome.read_bytes())
    if isinstance(result, Exception):
        raise result
    assert isinstance(result, Run)
    return result


def _find_starter() -> Path:
    starter = Path(sys.executable).with_name("mpiexec")
    present = {"mpi4py": importlib.util.find_spec("mpi4py") is not None, "mpiexec": starter.exists()}
    missing = [name for name, there in present.items() if not there]
    if missing:
        message = f"the engine `mpi` needs the extra mpi: there is no {' and no '.join(missing)} next to Python"
        hint = "pip install 'archline[mpi]'; or start archline itself under the mpiexec of another MPI"
        raise error(rules.NO_MPI, message, hint=hint)
    return starter


def _check_sendable(externs: dict[str, Callable[..., Any]]) -> dict[str, Callable[..., Any]]:
    """Return the functions, if other processes can import them by name. Raises ArchlineError (AL538)."""
    for name, function in externs.items():
        try:
            pickle.dumps(function)
            importable = function.__module__ != "__main__"
        except (pickle.PicklingError, AttributeError, TypeError):
            importable = False
        if not importable:
            message = f"the function registered for the extern `{name}` is not available in other processes"
            hint = "define it at the top level of a module, or start the program itself with `mpiexec`"
            raise error(rules.ENGINE, message, hint=hint)
    return externs
