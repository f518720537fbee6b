"""Recurrences: their model, exact bounds on their integer solutions, and the growth of their real ones."""
