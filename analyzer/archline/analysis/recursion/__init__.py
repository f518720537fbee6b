"""Recursive algorithms: from a program to recurrences over its integer sizes, and from those to costs."""
