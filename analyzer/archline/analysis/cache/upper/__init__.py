"""Bound cache misses of loops from above.

Allocation plans decide which lines the cache holds during which loops; `evaluate` takes the best plan that
fits at a point, `cold` counts the total footprint, and `split_outer` bounds two halves of a loop separately.
"""
