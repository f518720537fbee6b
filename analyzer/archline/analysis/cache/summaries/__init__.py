"""Summarise the array regions that a call touches.

`must_access` finds regions that every call touches, `reach` boxes that contain all accesses of a call by
indices, and `regions` the parts that a sequence of nodes touches in full.
"""
