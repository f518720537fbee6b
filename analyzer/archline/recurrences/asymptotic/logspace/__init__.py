"""Recurrences in several sizes, solved in the logarithms of the sizes."""
