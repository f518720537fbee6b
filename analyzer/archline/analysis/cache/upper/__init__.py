"""Upper bounds on cache misses of loops: which working sets the cache holds."""
