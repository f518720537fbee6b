"""Bound cache misses of loops from above.

An `AllocationPlanner` derives each `AllocationPlan`, which decides which lines the cache holds during which loops,
and a `PlanUpperBound` takes the best plan that fits at a point; `cache.analyse` and `recursive` call them.
`pareto` selects choices of residencies, `evaluate` uses spare lines to retain parts of arrays, `cold` counts the
total footprint, and `split_outer` bounds two halves of a loop separately.
"""

from archline.lazy_modules import load_on_use

load_on_use(__name__)
