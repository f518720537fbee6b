"""Bound the io of recursions whose call sizes depend on data, by the volume that is divided among calls.

`divided` extracts the cases of an algorithm, `cases` solves them for concave functions of the volume, and
`analyse` combines these with the calls around the recursion.
"""
