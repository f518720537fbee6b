"""Lower bounds on cache misses, for the written schedule and for any schedule."""
