"""Count LRU misses exactly by counting integer points (extra `isl`): stack distances as piecewise polynomials.

`client.derive_lru_counts` returns the `LruCounts` of an algorithm, from which `LruCounts.at` gives a `MissCurve` at
sizes; `api.metrics` calls it. `schedule` translates accesses to isl relations, and `count` runs in a process. T. Gysi,
T. Grosser, L. Brandner, T. Hoefler, A Fast Analytical Model of Fully Associative Caches, PLDI 2019, use this method at
given sizes. Here sizes may stay symbols; lines have a given number of words.
"""

MAX_SECONDS = 60.0
"""The default time limit of a count, in seconds."""
