"""Cache simulators count the misses of a fully associative cache of C lines on a recorded access trace.

`optimal` and `lru` simulate one cache and return a `CacheResult`; `stack_distances` gives the misses of LRU caches of
every size; `private_caches` simulates P processors under a schedule of a `StrandLog`. A `CompactTrace` is a trace
prepared for several simulations. `archline.execution.run` and the energy models call them.
"""

from archline.execution.cache.distances import StackDistances, stack_distances
from archline.execution.cache.private import Policy, PrivateCaches, Schedule, private_caches
from archline.execution.cache.replacement import CacheResult, lru, optimal
from archline.execution.cache.schedules import Chunked, StaticSchedule
from archline.execution.cache.stealing import WorkStealing
from archline.execution.cache.strands import StrandLog, TraceEvent
from archline.execution.cache.trace import CompactTrace, compact

__all__ = [
    "CacheResult",
    "Chunked",
    "CompactTrace",
    "Policy",
    "PrivateCaches",
    "Schedule",
    "StackDistances",
    "StaticSchedule",
    "StrandLog",
    "TraceEvent",
    "WorkStealing",
    "compact",
    "lru",
    "optimal",
    "private_caches",
    "stack_distances",
]
