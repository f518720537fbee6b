"""Find defects that the sizes alone show: accesses out of bounds, races, recursion without end.

`follower` walks a program and states the requirements of each step; `runs` follows it at given sizes, and
`conditions` proves the requirements for all sizes. `failures` and `races` report certain defects.
"""
