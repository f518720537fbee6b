"""Cache I/O: lines fetched into an ideal cache of Z words in lines of L words, bounded from both sides."""
