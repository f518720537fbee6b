"""Cache misses (io): bounds from both sides for an ideal cache of Z words in lines of L words."""
