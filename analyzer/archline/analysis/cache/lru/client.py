"""Run exact LRU counts in a worker process with limits of time and memory."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from signal import Signals

from archline.analysis.cache.lru import MAX_SECONDS
from archline.analysis.cache.lru.distribution import LruCounts
from archline.analysis.cache.lru.schedule import Problem, build_problem
from archline.expr.tree import Span
from archline.ir.tree import UntracedError
from archline.language import syntax as s
from archline.language.model import Module
from archline.records import record

MAX_BYTES = 4 << 30
"""The default memory limit of a count, in bytes."""
WORKER = "archline.analysis.cache.lru.count"


class MissingExtraError(Exception):
    """The extra `isl` is not installed."""


@record
class LruUnavailable:
    """The reason why a count is missing, with the place in the program that it concerns, if any."""

    reason: str
    span: Span | None = None


def is_installed() -> bool:
    """Test whether the extra `isl` can be found; importing it may still fail."""
    return find_spec("islpy") is not None


def lru_counts(
    module: Module,
    algorithm: s.Algorithm,
    point: Mapping[str, int],
    seconds: float = MAX_SECONDS,
    memory: int = MAX_BYTES,
) -> LruCounts | LruUnavailable:
    """Count the accesses of one call by stack distance.

    `point` has L and may have sizes; other sizes stay symbols. `seconds` and `memory` (in bytes) limit the count.
    Raises MissingExtraError.
    """
    if not is_installed():
        raise MissingExtraError
    try:
        asked = build_problem(module, algorithm, point)
    except UntracedError as found:
        return LruUnavailable(found.reason, found.span)
    if not asked.references:
        return LruCounts(point["L"], asked.sizes, (), (), (), (), ())
    answer = _ask_worker(asked, seconds, memory)
    return LruUnavailable(answer) if isinstance(answer, str) else answer


def _ask_worker(asked: Problem, seconds: float, memory: int) -> LruCounts | str:
    """Run the worker and return its counts, or the reason for its failure. Raises MissingExtraError."""
    # The worker imports from the same folders; -P leaves out the current folder.
    path = os.pathsep.join(folder for folder in sys.path if folder)
    try:
        worker = subprocess.run(
            [sys.executable, "-P", "-m", WORKER],
            input=pickle.dumps((asked, memory)),
            capture_output=True,
            timeout=seconds,
            env={**os.environ, "PYTHONPATH": path},
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"the count takes more than {seconds:g} seconds"
    if worker.returncode < 0:
        # Parts of isl do not check whether an allocation failed.
        return f"isl was stopped by {Signals(-worker.returncode).name}; its memory limit is {memory >> 20} MB"
    problem = worker.stderr.decode(errors="replace")
    if worker.returncode and "MemoryError" in problem:
        return f"the count takes more than {memory >> 20} MB of memory"
    if worker.returncode and "ImportError" not in problem:
        raise RuntimeError(f"the process that counts failed:\n{problem}")
    answer: LruCounts | str | None = None if worker.returncode else pickle.loads(worker.stdout)
    if answer is None:
        raise MissingExtraError
    return answer
