"""Defects that the sizes alone show: accesses out of bounds, races, recursion without end."""
