"""Claims on costs: whether they hold, how costs grow, and how far upper bounds are from lower ones."""
