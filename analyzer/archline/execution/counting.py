"""From the counters of blocks to the counts of a run, by the cost rules of docs/reference/cost-rules.md."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from archline.execution.codegen.writer import EXTERN, READS, WORK, WRITES
from archline.execution.launch import Finished
from archline.execution.results import RunCounts
from archline.execution.slots import MEM_DECLARED, PEAK, SPAN
from archline.language.metrics import CALL, DECLARED, METRICS, SET_APART, STEPS


def block_costs(cost: Counter[str], amounts: Mapping[str, int]) -> tuple[int, int]:
    """The flops and the work of one execution of a block; `amounts` are the declared ones of externs."""
    work = cost[WORK]
    flops = 0
    for kind, times in cost.items():
        if kind.startswith(f"{EXTERN} "):
            owner = kind.removeprefix(f"{EXTERN} ")
            declared = {key.split(" ")[1]: amount for key, amount in amounts.items() if key.split(" ")[0] == owner}
            flops += times * declared.get("flops", 0)
            work += times * sum(declared.get(metric, 0) for metric in ("work", *_WITHIN_WORK))
        elif kind not in _NO_FLOPS:
            flops += times
    return flops, work


_WITHIN_WORK = tuple(name for name, each in METRICS.items() if "work" in each.within)
_NO_FLOPS = frozenset((WORK, READS, WRITES, *(each.kind for each in STEPS)))


def counts_of(finished: Finished) -> RunCounts:
    """What a run that reached its end cost."""
    state, program = finished.memory.state, finished.program
    totals: Counter[str] = Counter()
    for number, cost in enumerate(program.tables.blocks):
        times = int(state[program.layout.first_counter + number])
        for kind, amount in cost.items():
            totals[kind] += amount * times
    # The outermost call counts one.
    work = totals.pop(WORK, 0) + 1
    steps = {each.kind: totals.pop(each.kind, 0) for each in STEPS}
    steps[CALL.kind] += 1
    reads, writes = totals.pop(READS, 0), totals.pop(WRITES, 0)
    declared = dict.fromkeys(SET_APART, 0.0)
    for place, metric in enumerate(SET_APART):
        declared[metric] += float(finished.memory.arrays[MEM_DECLARED][place])
    for name in program.layout.used_externs:
        calls = totals.pop(f"{EXTERN} {name}", 0)
        for key, amount in finished.amounts.items():
            owner, metric = key.split(" ")
            if owner != name:
                continue
            if METRICS[metric].by_kind:
                totals[DECLARED] += calls * amount
            if "work" in (metric, *METRICS[metric].within):
                work += calls * amount
            elif metric in declared:
                declared[metric] += calls * amount
    kinds = {kind: total for kind, total in sorted(totals.items()) if total}
    return RunCounts(
        flops=sum(kinds.values()),
        flops_by_kind=kinds,
        work=work,
        span=int(state[SPAN]) + 1,
        accesses=reads + writes,
        reads=reads,
        writes=writes,
        memory=int(state[PEAK]),
        steps=steps,
        declared={metric: amount for metric, amount in declared.items() if amount},
    )
