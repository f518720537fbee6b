"""Asks a process of its own for exact counts, and gives it so much time and memory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import asdict
from functools import partial
from importlib.util import find_spec
from signal import Signals
from typing import Any

from archline.analysis.cache.lru.distribution import DistanceRange, LruCounts, Row
from archline.analysis.cache.lru.schedule import problem
from archline.analysis.cache.lru.wire import Problem, read, read_pieces
from archline.expr.tree import Span
from archline.ir.tree import UntracedError
from archline.language import syntax as s
from archline.language.model import Module
from archline.records import record

SECONDS = 60.0
BYTES = 4 << 30
WORKER = "archline.analysis.cache.lru.worker"


class MissingExtraError(Exception):
    """The extra `isl` is not installed."""


@record
class Uncounted:
    """Why there is no count, and the place in the program that is the reason, if one is."""

    reason: str
    span: Span | None = None


def installed() -> bool:
    """Whether the extra may be there; whether it can count is seen when it does."""
    return find_spec("islpy") is not None


def lru_counts(
    module: Module, algorithm: s.Algorithm, point: Mapping[str, int], seconds: float = SECONDS, memory: int = BYTES
) -> LruCounts | Uncounted:
    """The stack distances of one call: `point` has the L of lines and perhaps sizes; those it lacks stay symbols.

    Raises MissingExtraError.
    """
    if not installed():
        raise MissingExtraError
    try:
        asked = problem(module, algorithm, point)
    except UntracedError as found:
        return Uncounted(found.reason, found.span)
    if not asked.references:
        return LruCounts(point["L"], asked.sizes, (), (), (), (), ())
    answer = _ask(asked, seconds, memory)
    if isinstance(answer, str):
        return Uncounted(answer)
    return read_answer(asked, answer, point["L"])


def request(asked: Problem) -> dict[str, Any]:
    """What the process that counts is told."""
    return {"context": asked.context, "references": [asdict(each) for each in asked.references]}


def _ask(asked: Problem, seconds: float, memory: int) -> dict[str, Any] | str:
    """The process's answer, or why there is none. Raises MissingExtraError."""
    message = {**request(asked), "memory": memory}
    # What this process can import, that one can; the folder where it is started has no say.
    path = os.pathsep.join(each for each in sys.path if each)
    try:
        done = subprocess.run(
            [sys.executable, "-P", "-m", WORKER],
            input=json.dumps(message),
            capture_output=True,
            text=True,
            timeout=seconds,
            env={**os.environ, "PYTHONPATH": path},
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"the count takes more than {seconds:g} seconds"
    if done.returncode < 0:
        # Not all of isl looks whether it got the memory that it asked for.
        return f"isl was stopped by {Signals(-done.returncode).name}; it may use {memory >> 20} MB of memory"
    if done.returncode and "MemoryError" in done.stderr:
        return f"the count takes more than {memory >> 20} MB of memory"
    if done.returncode:
        raise RuntimeError(f"the process that counts failed:\n{done.stderr}")
    answer: dict[str, Any] = json.loads(done.stdout)
    if "missing" in answer:
        raise MissingExtraError
    return str(answer["failed"]) if "failed" in answer else answer


def read_answer(asked: Problem, answer: dict[str, Any], line: int) -> LruCounts:
    """The counts that it tells, in sizes and loop variables."""
    sizes = {f"p{place}": name for place, name in enumerate(asked.sizes)}
    pieces = partial(read_pieces, names=sizes)

    def rows(found: list[Any]) -> tuple[Row, ...]:
        return tuple(Row(read(distance, sizes), pieces(count)) for distance, count in found)

    def opened(distance: Any, reference: int, count: Any) -> Row:
        columns = enumerate(asked.references[reference].time)
        values = {f"x{place}": column.value(line) for place, column in columns}
        return Row(read(distance, sizes).substitute(values), pieces(count))

    return LruCounts(
        line,
        asked.sizes,
        pieces(answer["accesses"]),
        pieces(answer["first"]),
        rows(answer["settled"]),
        tuple(DistanceRange(read(least, sizes), scale, pieces(count)) for least, scale, count in answer["ranged"]),
        tuple(opened(*each) for each in answer["open"]),
    )
