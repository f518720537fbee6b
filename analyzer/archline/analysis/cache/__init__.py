"""Derive bounds on cache misses (io), for an ideal cache of Z words in lines of L words.

`analyse.derive_io_cost` returns the io of an algorithm as a `Cost`, and `traffic.derive_traffic_cost` its write-backs
or bytes; `archline.costs` calls both. The accesses of loops become `Reference` objects, an `AllocationPlan` bounds
their misses from above, and a `SegmentBound` from below. `footprint`, `residency`, `upper` and `lower` treat loops,
`recursive`, `summaries` and `data_dependent` treat calls, and `lru` counts misses of LRU replacement.
"""

from archline.lazy_modules import load_on_use

load_on_use(__name__)
