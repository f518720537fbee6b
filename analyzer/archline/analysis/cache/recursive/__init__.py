"""Bound cache misses of recursive algorithms.

`evaluate` follows the calls at given sizes, `asymptotic` solves a recurrence for the growth of io, and
`potential` finds closed forms for recursions whose calls are selected by indices.
"""
