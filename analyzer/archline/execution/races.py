"""Find the determinacy races of a program in its serial execution, by SP-bags (Feng and Leiserson, SPAA 1997).

A task is a spawned call or one iteration of a parallel loop; the program itself is task 0. At any moment each task that
began is in one bag: an S-bag, of tasks whose accesses so far precede the running one, or a P-bag, of tasks that are
parallel to it. Bags are disjoint sets, and the root of a set determines its kind. The shadow of an element has the last
task that wrote it, a task that read it and one that accessed it atomically. As in the paper, a reader that is parallel
to the running task is not replaced, since a later writer that is parallel to any reader is parallel to it. The same is
true of atomic accesses, which conflict with reads and writes but not with each other.

An entry of the shadow is task + 1 (0 for no access) and the site of the access.
"""

from __future__ import annotations

from collections.abc import MutableSequence
from typing import Any

import numpy as np

from archline.execution.jit import helper
from archline.execution.slots import MEM_BAGS, MEM_PARENTS, MEM_STATE, OTHER_SITE, SHADOW, SITE_FULL, TASKS
from archline.execution.stops import fail

Words = MutableSequence[Any]

WRITER = 0
READER = 2
ATOMIC = 4
SERIAL = 0
PARALLEL = 1


def make_plain_shadow() -> Words:
    """Return the shadow of a register that iterations of a parallel loop share."""
    return [0] * SHADOW


@helper
def make_compiled_shadow() -> Words:
    """Return the shadow of a shared register for compiled code."""
    return np.zeros(SHADOW, np.int32)  # type: ignore[return-value]


@helper
def find_root(parents: Words, task: int) -> int:
    """Return the root of the task's bag."""
    while parents[task] != task:
        parents[task] = parents[parents[task]]
        task = parents[task]
    return task


def make_plain_task(mem: Any) -> int:
    """Make a task in an S-bag of its own."""
    task = len(mem[MEM_PARENTS])
    mem[MEM_PARENTS].append(task)
    mem[MEM_BAGS].append(SERIAL)
    return task


@helper
def make_compiled_task(mem: Any) -> int:
    """Make a task like `make_plain_task`, in a table of fixed length; stop the run if that is full."""
    state = mem[MEM_STATE]
    state[TASKS] += 1
    task = state[TASKS]
    if task >= len(mem[MEM_PARENTS]):
        fail(state, SITE_FULL, 1, task)
    mem[MEM_PARENTS][task] = task
    mem[MEM_BAGS][task] = SERIAL
    return task  # type: ignore[no-any-return]


@helper
def into_parallel(mem: Any, bag: int, task: int) -> int:
    """Put a task that ended into the P-bag `bag` (-1: an empty one) of its parent; return the bag."""
    parents = mem[MEM_PARENTS]
    root = find_root(parents, task)
    if bag < 0:
        mem[MEM_BAGS][root] = PARALLEL
        return root
    parents[root] = bag
    return bag


@helper
def into_serial(mem: Any, bag: int, task: int) -> int:
    """Empty the P-bag into the S-bag of the running task, which has waited for it; return the empty bag, -1."""
    if bag >= 0:
        mem[MEM_PARENTS][bag] = find_root(mem[MEM_PARENTS], task)
    return -1


@helper
def check_race(state: Words, shadow: Words, parents: Words, bags: Words, entry: int, task: int, site: int) -> None:
    """Stop the run if the access in an entry of the shadow is parallel to the running task.

    `site` is the number of the place in the source, for diagnostics.
    """
    accessor = shadow[entry]
    if accessor > 0 and accessor != task + 1 and bags[find_root(parents, accessor - 1)] == PARALLEL:
        state[OTHER_SITE] = shadow[entry + 1]
        fail(state, site)


@helper
def record_access(shadow: Words, parents: Words, bags: Words, entry: int, task: int, site: int) -> None:
    """Set an entry of the shadow to the running task, unless the task in it is parallel to that.

    `site` is the number of the place in the source, for diagnostics.
    """
    accessor = shadow[entry]
    if accessor != task + 1 and (accessor == 0 or bags[find_root(parents, accessor - 1)] == SERIAL):
        shadow[entry] = task + 1
        shadow[entry + 1] = site


@helper
def race_read(state: Words, shadow: Words, parents: Words, bags: Words, address: int, task: int, site: int) -> None:
    """Stop the run if a read by the running task is a race, else record it in the shadow.

    `site` is the number of the place in the source, for diagnostics.
    """
    entry = SHADOW * address
    check_race(state, shadow, parents, bags, entry + WRITER, task, site)
    check_race(state, shadow, parents, bags, entry + ATOMIC, task, site)
    record_access(shadow, parents, bags, entry + READER, task, site)


@helper
def race_write(state: Words, shadow: Words, parents: Words, bags: Words, address: int, task: int, site: int) -> None:
    """Stop the run if a write by the running task is a race, else record it in the shadow.

    `site` is the number of the place in the source, for diagnostics.
    """
    entry = SHADOW * address
    check_race(state, shadow, parents, bags, entry + WRITER, task, site)
    check_race(state, shadow, parents, bags, entry + READER, task, site)
    check_race(state, shadow, parents, bags, entry + ATOMIC, task, site)
    shadow[entry + WRITER] = task + 1
    shadow[entry + WRITER + 1] = site


@helper
def race_atomic(state: Words, shadow: Words, parents: Words, bags: Words, address: int, task: int, site: int) -> None:
    """Stop the run if an atomic update by the running task is a race, else record it in the shadow.

    `site` is the number of the place in the source, for diagnostics.
    """
    entry = SHADOW * address
    check_race(state, shadow, parents, bags, entry + WRITER, task, site)
    check_race(state, shadow, parents, bags, entry + READER, task, site)
    record_access(shadow, parents, bags, entry + ATOMIC, task, site)
