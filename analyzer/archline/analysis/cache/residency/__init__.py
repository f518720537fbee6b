"""Sets of lines that stay in the cache over the iterations of a loop."""
