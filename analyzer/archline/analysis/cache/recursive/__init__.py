"""Upper bounds on cache misses of recursive algorithms."""
