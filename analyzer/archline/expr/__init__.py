"""Expressions: one tree, its values in several domains of numbers, its text and LaTeX."""
