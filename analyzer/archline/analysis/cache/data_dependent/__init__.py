"""Cache misses of recursion whose parts only the data gives."""
