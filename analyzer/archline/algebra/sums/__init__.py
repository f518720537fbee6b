"""Sums of expressions over ranges, in closed form."""
